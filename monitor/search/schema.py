"""The published JSON Schemas of web.search. `python -m monitor.search.schema input|output` prints one."""

import json
import sys

from monitor.domain.searching import ToolResult
from monitor.search.contract import SearchInput


def search_schema(part: str) -> str:
    """What goes into the tool or comes out of it, as docs/schemas/web-search-input.json and -output.json keep it."""
    schema = SearchInput.model_json_schema() if part == "input" else ToolResult.model_json_schema(mode="serialization")
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(search_schema(sys.argv[1]))
