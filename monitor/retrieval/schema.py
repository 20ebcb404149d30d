"""The published JSON Schemas of bundles and cursors. `python -m monitor.retrieval.schema bundle` prints one."""

import json
import sys

from pydantic import BaseModel

from monitor.retrieval.bundle import SearchResultBundle
from monitor.retrieval.cursor import CURSOR_SCHEMA, SearchReadCursor
from monitor.retrieval.folder import BUNDLE_SCHEMA

SCHEMAS: dict[str, tuple[type[BaseModel], str]] = {
    "bundle": (SearchResultBundle, BUNDLE_SCHEMA),
    "cursor": (SearchReadCursor, CURSOR_SCHEMA),
}
"""What is published: the documents, each with the name that its files carry under `$schema`."""


def published_schema(name: str) -> str:
    """What the files of one kind look like in this version, as docs/schemas keeps it."""
    document, urn = SCHEMAS[name]
    schema = document.model_json_schema(mode="serialization")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": urn}
    return json.dumps({**head, **schema}, ensure_ascii=False, indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(published_schema(sys.argv[1]))
