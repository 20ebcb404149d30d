"""The tool web.search: arguments in, one shape of answer out, whatever happens."""

import json
import sys
import uuid
from typing import Any

from monitor.search.contract import (
    MAX_RESULTS,
    SEARCH_TOOL_NAME,
    ProviderMeta,
    SearchErrorCode,
    SearchFailed,
    SearchInput,
    ToolResult,
    WebSearch,
    parse_input,
)
from monitor.search.responses import build_failure


class SearchTool:
    """web.search for whoever calls tools by name, a model or a program."""

    def __init__(self, search: WebSearch, *, default_results: int = MAX_RESULTS) -> None:
        self._search = search
        self._default_results = default_results

    async def call(self, tool: str, arguments: Any) -> ToolResult:
        """The answer to a call; a wrong name or wrong arguments are errors of the answer."""
        try:
            if tool != SEARCH_TOOL_NAME:
                raise build_failure(
                    SearchErrorCode.TOOL_NOT_FOUND, f"There is no tool {tool[:100]!r} here, only {SEARCH_TOOL_NAME}."
                )
            given = parse_input(arguments)
        except SearchFailed as failed:
            return build_refusal(failed)
        return await self._search.search(given.to_query(), given.max_results or self._default_results)


def build_refusal(failed: SearchFailed) -> ToolResult:
    """The answer to a call that asked no backend."""
    meta = ProviderMeta(provider_name=SEARCH_TOOL_NAME, latency_ms=0, request_id=uuid.uuid4().hex)
    return ToolResult(items=[], provider_meta=meta, errors=[failed.error])


def render_search_schema(part: str) -> str:
    """What goes into the tool or comes out of it, as docs/schemas/web-search-input.json and -output.json keep it."""
    schema = SearchInput.model_json_schema() if part == "input" else ToolResult.model_json_schema(mode="serialization")
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(render_search_schema(sys.argv[1]))
