"""The search backends: which of them the settings choose, what each of them lacks, and how they are built.

A backend stands in `BACKENDS` of the settings and in the module of its name in `monitor.search.backends`.
"""

import datetime as dt
import difflib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import import_module

from pydantic import TypeAdapter

from monitor.clock import Clock
from monitor.config.model import BACKENDS, SHARED_VARIABLES, SearchSettings, Settings
from monitor.db.queries.usage import SearchStore
from monitor.db.sessions import sanitize_text
from monitor.db.tables.research import SearchAnswer
from monitor.fetch.client import HttpClient
from monitor.fetch.politeness import Politeness
from monitor.i18n.message import Message
from monitor.search.backends.archive import ArchiveBackend, ArchiveSearch
from monitor.search.backends.stub import StubBackend
from monitor.search.contract import SearchBackend, SearchQuery, SearchResults, WebSearch
from monitor.search.merge import BackendSearch, MergedSearch
from monitor.search.service import ServiceBackend, ServiceDependencies

STUB_BACKEND = "stub"
ARCHIVE_BACKEND = "archive"
ARCHIVE_ONLY_WARNING = Message.of("search.archive_only")


@dataclass(frozen=True, slots=True)
class BackendSelection:
    """The backends that are asked, and warnings about how they were chosen."""

    names: Sequence[str]
    warnings: Sequence[Message] = ()


def select_backends(settings: SearchSettings) -> BackendSelection:
    """Return the known backends of the settings, or the stub without any; each unknown name gives a warning."""
    known = [name for name in settings.backend_names if name in BACKENDS]
    unknown = [name for name in settings.backend_names if name not in BACKENDS]
    code = "search.unknown_backend_left_out" if known else "search.unknown_backend_replaced"
    return BackendSelection(known or [STUB_BACKEND], [describe_unknown_backend(name, code) for name in unknown])


def select_content_backends(settings: SearchSettings) -> BackendSelection:
    """Return the backends whose results may become items, notes or sources: the archive where only the stub is set."""
    choice = select_backends(settings)
    real = [name for name in choice.names if name != STUB_BACKEND]
    if real:
        return BackendSelection(real, choice.warnings)
    return BackendSelection([ARCHIVE_BACKEND], [*choice.warnings, ARCHIVE_ONLY_WARNING])


def find_missing_setting(settings: SearchSettings, name: str) -> Message | None:
    """Return what a backend needs and does not have, and where to set it; None where nothing is missing."""
    info = BACKENDS[name]
    if info.key != "none" and (problem := settings.describe_key_problem(name)):
        return problem
    if info.key == "required" and settings.get_key(name) is None:
        return Message.of("search.backend_without_key", backend=name, variable=settings.get_key_variable(name))
    if info.is_service and settings.get_base_url(name) is None:
        path = ("backends", name, "base_url")
        variables = [variable for variable, target in SHARED_VARIABLES.items() if target == path]
        return Message.of("search.backend_without_address", backend=name, variables=variables)
    return None


def describe_unknown_backend(name: str, code: str = "search.unknown_backend") -> Message:
    near = difflib.get_close_matches(name, BACKENDS, n=1)
    hint = (
        Message.of("search.did_you_mean", backend=near[0])
        if near
        else Message.of("search.known_backends", backends=list(BACKENDS))
    )
    return Message.of(code, backend=name, hint=hint)


def load_service_backend(name: str) -> type[ServiceBackend]:
    """Return the `BACKEND` that the module of a service declares, which is imported when it is first asked for."""
    backend: type[ServiceBackend] = import_module(f"monitor.search.backends.{name}").BACKEND
    return backend


_FINDINGS_ADAPTER = TypeAdapter(SearchResults)
_UNCACHED_FIELDS = {"trace_id", "budget_ms"}  # they do not change the answer


@dataclass(frozen=True)
class CachingBackend:
    """A backend whose complete answers are cached; errors and partial answers are not.

    `base_url` is part of the cache key, so that an answer is not used for another address.
    """

    backend: SearchBackend
    base_url: str
    cache: SearchStore
    lifetime: dt.timedelta
    clock: Clock

    @property
    def name(self) -> str:
        return self.backend.name

    async def search(self, query: SearchQuery, limit: int) -> SearchResults:
        key = self.build_key(query, limit)
        kept = await self.cache.get_answer(key, not_before=self.clock.now() - self.lifetime)
        if kept is not None:
            return _FINDINGS_ADAPTER.validate_python(kept)
        findings = await self.backend.search(query, limit)
        if findings.cut_short is None:
            now = self.clock.now()
            serialized = json.loads(
                sanitize_text(json.dumps(_FINDINGS_ADAPTER.dump_python(findings, mode="json"), ensure_ascii=False))
            )
            answer = SearchAnswer(key=key, at=now, findings=serialized)
            await self.cache.save_answer(answer, not_before=now - self.lifetime)
        return findings

    def build_key(self, query: SearchQuery, limit: int) -> str:
        """Return the cache key, made of everything that changes the answer."""
        asked = query.model_dump(mode="json", exclude=_UNCACHED_FIELDS)
        document = [self.name, self.base_url, limit, asked]
        return sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


@dataclass(kw_only=True)
class SearchBackends:
    """Builds searches from the settings of the moment. Connections are opened when a service is first asked."""

    settings: Settings
    searches: SearchStore
    archive: ArchiveSearch
    new_client: Callable[[], HttpClient]
    clock: Clock
    _clients: list[HttpClient] = field(init=False, default_factory=list)
    _client_settings: object = field(init=False, default=None)
    _politeness: Politeness = field(init=False, repr=False)

    def build_search(self, names: Sequence[str]) -> WebSearch:
        settings = self.settings
        searches = [
            BackendSearch(
                self.build_backend(name), timeout_s=settings.search.get_timeout_s(name) or settings.network.timeout_s
            )
            for name in names
        ]
        return searches[0] if len(searches) == 1 else MergedSearch(searches)

    def build_backend(self, name: str) -> SearchBackend:
        """Return a backend; the answers of services are cached for `search.cache_s`."""
        if name == STUB_BACKEND:
            return StubBackend()
        if name == ARCHIVE_BACKEND:
            return ArchiveBackend(archive=self.archive, clock=self.clock)
        backend = load_service_backend(name)(self._build_service_dependencies())
        search = self.settings.search
        if not search.cache_s:
            return backend
        return CachingBackend(
            backend,
            base_url=search.get_base_url(name) or "",
            cache=self.searches,
            lifetime=dt.timedelta(seconds=search.cache_s),
            clock=self.clock,
        )

    async def close(self) -> None:
        for client in self._clients:
            await client.close()

    def _build_service_dependencies(self) -> ServiceDependencies:
        """Return the connections by the settings of the moment; a search under way keeps those that it began with."""
        settings = self.settings
        if self._client_settings != (settings.pages, settings.network):
            self._client_settings = (settings.pages, settings.network)
            self._clients.append(self.new_client())
            # robots.txt is for crawlers; a person's query is sent at a person's pace.
            pages = settings.pages.model_copy(update={"respect_robots": False})
            self._politeness = Politeness(client=self._clients[-1], pages=pages)
        return ServiceDependencies(
            settings=settings.model_copy(),
            client=self._clients[-1],
            politeness=self._politeness,
            ledger=self.searches,
            clock=self.clock,
        )
