"""The use case of searching: web.search with the backends that are set."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from monitor.domain.searching import MAX_RESULTS, SearchErrorCode, ToolResult
from monitor.ports import WebSearch
from monitor.search.choosing import ARCHIVE, STUB, Choice, chosen, for_gathering, unknown_backend
from monitor.search.contract import TOOL
from monitor.search.failures import failure
from monitor.search.tool import SearchTool, refusal
from monitor.settings import Settings
from monitor.settings.search import BACKENDS


@dataclass(frozen=True, slots=True)
class Gathering:
    """A search whose results may become items, notes or sources, and what should be said about it."""

    search: WebSearch
    notes: Sequence[str]


class SearchDesk:
    """Searches the web and the archive; `over` gives web.search over some backends."""

    def __init__(self, *, settings: Settings, over: Callable[[Sequence[str]], WebSearch]) -> None:
        self._settings = settings
        self._over = over

    def warnings(self) -> Sequence[str]:
        """What is wrong with the choice of backends."""
        return chosen(self._settings.search).warnings

    async def search(self, arguments: Any, *, backend: str | None = None, tool: str = TOOL) -> ToolResult:
        """The answer of the tool, by the backends that are set or by one that is named."""
        if backend is None:
            choice = chosen(self._settings.search)
        elif backend in BACKENDS:
            choice = Choice([backend])
        else:
            return refusal(failure(SearchErrorCode.INVALID_INPUT, f"{unknown_backend(backend)}."))
        return await self._tool(choice).call(tool, arguments)

    def for_gathering(self) -> Gathering:
        """The search for `query` sources: never the stub; the archive alone where nothing else is set."""
        choice = for_gathering(self._settings.search)
        return Gathering(search=self._over(choice.names), notes=choice.warnings)

    def for_research(self, engines: Sequence[str] = ()) -> Gathering:
        """The search for a research: the archive beside the backends that are set, or the real ones of those named.

        Names that are unknown are told, and left out.
        """
        unknown = [f"{unknown_backend(name)}; it is left out." for name in engines if name not in BACKENDS]
        named = [name for name in dict.fromkeys(engines) if name in BACKENDS and name != STUB]
        if named:
            return Gathering(search=self._over(named), notes=unknown)
        choice = for_gathering(self._settings.search)
        names = [*choice.names, *([] if ARCHIVE in choice.names else [ARCHIVE])]
        return Gathering(search=self._over(names), notes=[*unknown, *choice.warnings])

    def _tool(self, choice: Choice) -> SearchTool:
        defaults = [self._settings.search.of(name).max_results or MAX_RESULTS for name in choice.names]
        return SearchTool(self._over(choice.names), default_results=max(defaults))
