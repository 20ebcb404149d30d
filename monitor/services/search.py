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


class SearchService:
    """The tools web.search, over the web and the archive, and web.fetch."""

    def __init__(
        self,
        *,
        settings: Settings,
        new_search: Callable[[Sequence[str]], WebSearch],
        new_loader: Callable[[], PageLoader],
    ) -> None:
        self._settings = settings
        self._new_search = new_search
        self._new_loader = new_loader

    def list_warnings(self) -> Sequence[Message]:
        """Return what is wrong with the choice of backends."""
        return select_backends(self._settings.search).warnings

    async def search(self, arguments: Any, *, backend: str | None = None, tool: str = SEARCH_TOOL_NAME) -> ToolResult:
        """The answer of the tool, by the backends that are set or by one that is named."""
        if backend is None:
            choice = select_backends(self._settings.search)
        elif backend in BACKENDS:
            choice = BackendSelection([backend])
        else:
            return build_refusal(build_failure(SearchErrorCode.INVALID_INPUT, describe_unknown_backend(backend)))
        return await self._build_tool(choice).call(tool, arguments)

    async def fetch(self, url: str) -> FetchToolResult:
        """Read one page; a failure is among the `errors` of the result."""
        return await WebFetchTool(self._new_loader()).call(FETCH_TOOL_NAME, {"url": url})

    def build_source_search(self) -> ConfiguredSearch:
        """The search for `query` sources: never the stub; the archive alone where nothing else is set."""
        choice = select_content_backends(self._settings.search)
        return ConfiguredSearch(search=self._new_search(choice.names), warnings=choice.warnings)

    def build_research_search(self, engines: Sequence[str] = ()) -> ConfiguredSearch:
        """The search for a research: the archive beside the backends that are set, or the real ones of those named.

        Names that are unknown are told, and left out.
        """
        unknown = [
            describe_unknown_backend(name, "search.unknown_backend_left_out")
            for name in engines
            if name not in BACKENDS
        ]
        named = [name for name in dict.fromkeys(engines) if name in BACKENDS and name != STUB_BACKEND]
        if named:
            return ConfiguredSearch(search=self._new_search(named), warnings=unknown)
        choice = select_content_backends(self._settings.search)
        names = [*choice.names, *([] if ARCHIVE_BACKEND in choice.names else [ARCHIVE_BACKEND])]
        return ConfiguredSearch(search=self._new_search(names), warnings=[*unknown, *choice.warnings])

    def _build_tool(self, choice: BackendSelection) -> SearchTool:
        defaults = [self._settings.search.get_backend(name).max_results or MAX_RESULTS for name in choice.names]
        return SearchTool(self._new_search(choice.names), default_results=max(defaults))


_INTENT = "standing"


class SavedSearch:
    """Makes the searches of runs. `gather` gives the search whose results may become items."""

    def __init__(
        self,
        *,
        build_search: Callable[[], ConfiguredSearch],
        folder: BundleFolder,
        new_scoring: Callable[[], ResultScorer],
        clock: Clock,
    ) -> None:
        self._build_search = build_search
        self._folder = folder
        self._new_scoring = new_scoring
        self._clock = clock

    def for_run(self, run_id: str, *, is_trial: bool) -> "RunSearch":
        """The searches of one run; those of a trial are not kept."""
        return RunSearch(
            self._build_search, None if is_trial else self._folder, self._new_scoring(), self._clock, run_id
        )

    def for_recorded_run(self, run_id: str, store: Store) -> "RecordedSearch":
        """The searches of an earlier run as they were answered then."""
        return RecordedSearch(self._folder, store, run_id)


class RunSearch:
    """Answers the queries of a run that is under way (`sweep.query.QueryResults`)."""

    def __init__(
        self,
        build_search: Callable[[], ConfiguredSearch],
        folder: BundleFolder | None,
        scoring: ResultScorer,
        clock: Clock,
        run_id: str,
    ) -> None:
        self._build_search = build_search
        self._folder = folder
        self._scoring = scoring
        self._clock = clock
        self._run_id = run_id

    async def run_query(self, query_id: str, query: SearchQuery) -> QueryResult:
        """What came of the query: what this run found before it was interrupted, or finds now."""
        if self._folder is not None:
            try:
                return QueryResult(bundle=await asyncio.to_thread(self._folder.read, self._run_id, query_id))
            except BundleDamaged:
                pass  # there is none yet, or none that can be read: the search is made, and its bundle put in place
        gathering = self._build_search()
        answer = await gathering.search.search(query, MAX_LIMIT)
        if answer.errors and not answer.items:
            first, *others = answer.errors
            return QueryResult(notes=[*gathering.warnings, *map(_build_note, others)], error=first)
        bundle = build_bundle(
            answer,
            task_id=self._run_id,
            query_id=query_id,
            query=query,
            intent=_INTENT,
            scoring=self._scoring,
            executed_at=self._clock.now(),
        )
        if self._folder is not None:
            await asyncio.to_thread(self._folder.write, bundle)
        return QueryResult(bundle=bundle, notes=[*gathering.warnings, *map(_build_note, answer.errors)])


class RecordedSearch:
    """Answers the queries of an earlier run from its bundles (`sweep.query.QueryResults`)."""

    def __init__(self, folder: BundleFolder, store: Store, run_id: str) -> None:
        self._folder = folder
        self._store = store
        self._run_id = run_id

    async def run_query(self, query_id: str, query: SearchQuery) -> QueryResult:
        """What came of the query then; `RecordLost` where that was not kept, or a search that failed."""
        try:
            bundle = await asyncio.to_thread(self._folder.read, self._run_id, query_id)
        except BundleDamaged as damage:
            raise RecordLost("replay.search_lost", query=query.text, reason=damage.message) from None
        return QueryResult(bundle=bundle, notes=await self._list_notes(query))

    async def _list_notes(self, query: SearchQuery) -> list[Message]:
        """What the run said about this search."""
        return [
            fallback.reason
            for fallback in await self._store.runs.list_fallbacks(self._run_id)
            if fallback.where == build_query_url(query.text)
        ]


def _build_note(error: SearchError) -> Message:
    return Message.of("page.search_error", kind=str(error.type), error=error.message)
