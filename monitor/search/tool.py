"""The tool web.search: arguments in, one shape of answer out, whatever happens."""

import uuid
from typing import Any

from monitor.domain.searching import (
    MAX_RESULTS,
    ProviderMeta,
    SearchErrorCode,
    SearchFailed,
    ToolResult,
)
from monitor.ports import WebSearch
from monitor.search.contract import TOOL, checked_input
from monitor.search.failures import failure


class SearchTool:
    """web.search for whoever calls tools by name, a model or a program."""

    def __init__(self, search: WebSearch, *, default_results: int = MAX_RESULTS) -> None:
        self._search = search
        self._default_results = default_results

    async def call(self, tool: str, arguments: Any) -> ToolResult:
        """The answer to a call; a wrong name or wrong arguments are errors of the answer."""
        try:
            if tool != TOOL:
                raise failure(SearchErrorCode.TOOL_NOT_FOUND, f"There is no tool {tool[:100]!r} here, only {TOOL}.")
            given = checked_input(arguments)
        except SearchFailed as failed:
            return refusal(failed)
        return await self._search.search(given.as_query(), given.max_results or self._default_results)


def refusal(failed: SearchFailed) -> ToolResult:
    """The answer to a call that asked no backend."""
    meta = ProviderMeta(provider_name=TOOL, latency_ms=0, request_id=uuid.uuid4().hex)
    return ToolResult(items=[], provider_meta=meta, errors=[failed.error])
