"""The tool web.search, called by name with JSON arguments; it always answers with one shape."""

import json
import sys
import uuid
from typing import Any

from pydantic import BaseModel

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
    def __init__(self, search: WebSearch, *, default_results: int = MAX_RESULTS) -> None:
        self._search = search
        self._default_results = default_results

    async def call(self, tool: str, arguments: Any) -> ToolResult:
        """Answer a call; a wrong name or wrong arguments are errors of the answer."""
        try:
            if tool != SEARCH_TOOL_NAME:
                raise build_failure(
                    SearchErrorCode.TOOL_NOT_FOUND, "search.no_such_tool", tool=tool[:100], known=SEARCH_TOOL_NAME
                )
            given = parse_input(arguments)
        except SearchFailed as failed:
            return build_refusal(failed)
        return await self._search.search(given.to_query(), given.max_results or self._default_results)


def build_refusal(failed: SearchFailed) -> ToolResult:
    """Return the answer to a call that asked no backend."""
    meta = ProviderMeta(provider_name=SEARCH_TOOL_NAME, latency_ms=0, request_id=uuid.uuid4().hex)
    return ToolResult(items=[], provider_meta=meta, errors=[failed.error])


def render_tool_schema(model: type[BaseModel], *, is_output: bool) -> str:
    """Return the JSON Schema of a tool's input or output, as docs/schemas keeps it."""
    schema = model.model_json_schema(mode="serialization" if is_output else "validation")
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def render_search_schema(part: str) -> str:
    return render_tool_schema(SearchInput if part == "input" else ToolResult, is_output=part != "input")


if __name__ == "__main__":
    sys.stdout.write(render_search_schema(sys.argv[1]))
