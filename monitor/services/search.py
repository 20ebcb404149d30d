"""The use case of searching: web.search with the backends that are set."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from monitor.clock import Clock
from monitor.config.model import BACKENDS, Settings
from monitor.db.database import Store
from monitor.errors import RecordLost
from monitor.i18n.message import Message
from monitor.pages.loader import PageLoader
from monitor.search.bundles.bundle import BundleDamaged, BundleFolder
from monitor.search.bundles.packing import build_bundle
from monitor.search.bundles.scoring import ResultScorer
from monitor.search.contract import (
    MAX_LIMIT,
    MAX_RESULTS,
    SEARCH_TOOL_NAME,
    SearchError,
    SearchErrorCode,
    SearchQuery,
    ToolResult,
    WebSearch,
)
from monitor.search.registry import (
    ARCHIVE_BACKEND,
    STUB_BACKEND,
    BackendSelection,
    describe_unknown_backend,
    select_backends,
    select_content_backends,
)
from monitor.search.responses import build_failure
from monitor.search.tools import FETCH_TOOL_NAME, FetchToolResult, SearchTool, WebFetchTool, build_refusal
from monitor.sweep.query import QueryResult, build_query_url


@dataclass(frozen=True, slots=True)
class ConfiguredSearch:
    """A search whose results may become items, notes or sources, and what should be said about it."""

    search: WebSearch
    warnings: Sequence[Message]


@dataclass(kw_only=True)
class SearchService:
    settings: Settings
    new_search: Callable[[Sequence[str]], WebSearch]
    new_loader: Callable[[], PageLoader]

    def list_warnings(self) -> Sequence[Message]:
        return select_backends(self.settings.search).warnings

    def list_engines(self) -> list[str]:
        """Return the backends that can be wished for: those that are set up, and the archive."""
        search = self.settings.search
        set_up = {*search.backend_names, *search.backends, ARCHIVE_BACKEND} - {STUB_BACKEND}
        return [name for name in BACKENDS if name in set_up]

    async def search(self, arguments: Any, *, backend: str | None = None, tool: str = SEARCH_TOOL_NAME) -> ToolResult:
        """The answer of the tool, by the backends that are set, or by those that are named with commas between."""
        if backend is None:
            choice = select_backends(self.settings.search)
        else:
            names = list(dict.fromkeys(name.strip() for name in backend.split(",")))
            unknown = next((name for name in names if name not in BACKENDS), None)
            if unknown is not None:
                return build_refusal(build_failure(SearchErrorCode.INVALID_INPUT, describe_unknown_backend(unknown)))
            choice = BackendSelection(names)
        defaults = [self.settings.search.get_backend(name).max_results or MAX_RESULTS for name in choice.names]
        return await SearchTool(self.new_search(choice.names), default_results=max(defaults)).call(tool, arguments)

    async def fetch(self, url: str) -> FetchToolResult:
        """Read one page; a failure is among the `errors` of the result."""
        return await WebFetchTool(self.new_loader()).call(FETCH_TOOL_NAME, {"url": url})

    def build_source_search(self) -> ConfiguredSearch:
        """The search for `query` sources: never the stub; the archive alone where nothing else is set."""
        choice = select_content_backends(self.settings.search)
        return ConfiguredSearch(search=self.new_search(choice.names), warnings=choice.warnings)

    def build_research_search(self, engines: Sequence[str] = ()) -> ConfiguredSearch:
        """Search the archive and the backends that are set, or the real ones of those named; unknown names are told."""
        code = "search.unknown_backend_left_out"
        unknown = [describe_unknown_backend(name, code) for name in engines if name not in BACKENDS]
        named = [name for name in dict.fromkeys(engines) if name in BACKENDS and name != STUB_BACKEND]
        if named:
            return ConfiguredSearch(search=self.new_search(named), warnings=unknown)
        choice = select_content_backends(self.settings.search)
        names = [*choice.names, *([] if ARCHIVE_BACKEND in choice.names else [ARCHIVE_BACKEND])]
        return ConfiguredSearch(search=self.new_search(names), warnings=[*unknown, *choice.warnings])


_INTENT = "standing"


@dataclass(kw_only=True)
class SavedSearch:
    """Makes the searches of runs. `gather` gives the search whose results may become items."""

    build_search: Callable[[], ConfiguredSearch]
    folder: BundleFolder
    new_scoring: Callable[[], ResultScorer]
    clock: Clock

    def for_run(self, run_id: str, *, is_trial: bool) -> "RunSearch":
        return RunSearch(self.build_search, None if is_trial else self.folder, self.new_scoring(), self.clock, run_id)

    def for_recorded_run(self, run_id: str, store: Store) -> "RecordedSearch":
        return RecordedSearch(self.folder, store, run_id)


@dataclass
class RunSearch:
    """Answers the queries of a run that is under way (`sweep.query.QueryResults`)."""

    build_search: Callable[[], ConfiguredSearch]
    folder: BundleFolder | None
    scoring: ResultScorer
    clock: Clock
    run_id: str

    async def run_query(self, query_id: str, query: SearchQuery) -> QueryResult:
        if self.folder is not None:
            try:
                return QueryResult(bundle=await asyncio.to_thread(self.folder.read, self.run_id, query_id))
            except BundleDamaged:
                pass  # there is none yet, or none that can be read: the search is made, and its bundle put in place
        gathering = self.build_search()
        answer = await gathering.search.search(query, MAX_LIMIT)
        if answer.errors and not answer.items:
            first, *others = answer.errors
            return QueryResult(notes=[*gathering.warnings, *map(_build_note, others)], error=first)
        bundle = build_bundle(
            answer,
            task_id=self.run_id,
            query_id=query_id,
            query=query,
            intent=_INTENT,
            scoring=self.scoring,
            executed_at=self.clock.now(),
        )
        if self.folder is not None:
            await asyncio.to_thread(self.folder.write, bundle)
        return QueryResult(bundle=bundle, notes=[*gathering.warnings, *map(_build_note, answer.errors)])


@dataclass
class RecordedSearch:
    """Answers the queries of an earlier run from its bundles (`sweep.query.QueryResults`)."""

    folder: BundleFolder
    store: Store
    run_id: str

    async def run_query(self, query_id: str, query: SearchQuery) -> QueryResult:
        try:
            bundle = await asyncio.to_thread(self.folder.read, self.run_id, query_id)
        except BundleDamaged as damage:
            raise RecordLost("replay.search_lost", query=query.text, reason=damage.message) from None
        return QueryResult(bundle=bundle, notes=await self._list_notes(query))

    async def _list_notes(self, query: SearchQuery) -> list[Message]:
        return [
            fallback.reason
            for fallback in await self.store.runs.list_fallbacks(self.run_id)
            if fallback.where == build_query_url(query.text)
        ]


def _build_note(error: SearchError) -> Message:
    return Message.of("page.search_error", kind=str(error.type), error=error.message)
