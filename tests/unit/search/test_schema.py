import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from monitor.search.bundles.bundle import (
    BUNDLE_SCHEMA,
    ItemStatus,
    SearchResultBundle,
    SearchResultItem,
    compute_stats,
    serialize_document,
)
from monitor.search.bundles.reader import CURSOR_SCHEMA, SCHEMAS, SearchReadCursor, render_schema

DOCS = Path(__file__).resolve().parents[3] / "docs" / "schemas"

# The protocol's names in its order, with its types; `?` marks what may be absent.
PROTOCOL = {
    "SearchResultBundle": "task_id:string query_id:string query_text:string query_intent:string provider:string"
    " executed_at:string results:array stats:object",
    "SearchResultItem": "source_id:string rank:integer url:string title:string snippet?:string content_text?:string"
    " language?:string published_at?:string captured_at:string http_status?:integer score_relevance:number"
    " score_freshness:number score_authority:number score_final:number status:string error_code?:string",
    "SearchResultStats": "total_returned:integer kept_after_filter:integer failed_count:integer dedup_count:integer",
    "SearchReadCursor": "task_id:string last_query_id:string last_source_id:string consumed_count:integer"
    " updated_at:string",
}


def schema(name: str) -> dict[str, Any]:
    return json.loads((DOCS / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_published_schema_is_that_of_the_program(name: str) -> None:
    assert (DOCS / f"{name}.json").read_text(encoding="utf-8") == render_schema(name), (
        f"write it anew: .venv/bin/python -m monitor.search.bundles.reader {name} > docs/schemas/{name}.json"
    )


@pytest.mark.parametrize("name", PROTOCOL)
def test_the_names_are_the_protocols_to_the_letter(name: str) -> None:
    schemas = {
        section["title"]: (section, whole) for whole in map(schema, SCHEMAS) for section in (whole, *_inner(whole))
    }
    report, whole = schemas[name]
    fields = []
    for field, kind in report["properties"].items():
        resolved = whole["$defs"][kind["$ref"].rpartition("/")[2]] if "$ref" in kind else kind
        fields.append(f"{field}{'' if field in report['required'] else '?'}:{resolved['type']}")
    assert fields == PROTOCOL[name].split()


def _inner(whole: dict[str, Any]) -> list[dict[str, Any]]:
    return list(whole.get("$defs", {}).values())


def test_the_constraints_stand_in_the_schema_too() -> None:
    definitions = schema("bundle")["$defs"]
    item = definitions["SearchResultItem"]
    assert definitions["ItemStatus"]["enum"] == ["ok", "filtered", "failed"]
    for score in ("relevance", "freshness", "authority", "final"):
        assert (item["properties"][f"score_{score}"]["minimum"], item["properties"][f"score_{score}"]["maximum"]) == (
            0,
            1,
        )
    assert item["if"]["properties"]["status"] == {"const": "failed"}
    assert item["then"] == {"required": ["error_code"]}


INSTANTS = st.datetimes(timezones=st.just(dt.UTC))
SCORES = st.floats(0, 1)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10)
ITEMS = st.builds(
    SearchResultItem,
    source_id=NAMES,
    rank=st.integers(1, 10**9),
    captured_at=INSTANTS,
    status=st.sampled_from(ItemStatus),
    published_at=st.none() | st.dates(),
    http_status=st.none() | st.integers(100, 999),
    error_code=st.just("Timeout"),
    score_relevance=SCORES,
    score_freshness=SCORES,
    score_authority=SCORES,
    score_final=SCORES,
)
BUNDLES = st.builds(
    SearchResultBundle,
    task_id=NAMES,
    query_id=NAMES,
    executed_at=INSTANTS,
    results=st.lists(ITEMS, max_size=3),
    stats=st.builds(compute_stats, st.lists(ITEMS, max_size=2), removed=st.integers(0, 9)),
)
CURSORS = st.builds(
    SearchReadCursor,
    task_id=NAMES,
    last_query_id=NAMES,
    last_source_id=NAMES,
    consumed_count=st.integers(0),
    updated_at=INSTANTS,
)


@given(st.tuples(st.just("bundle"), BUNDLES) | st.tuples(st.just("cursor"), CURSORS))
@limits(max_examples=60)
def test_what_is_written_is_as_the_published_schema_says(one: tuple[str, Any]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    name, document = one
    validator = _validator(jsonschema, name)
    urn = {"bundle": BUNDLE_SCHEMA, "cursor": CURSOR_SCHEMA}[name]
    written = json.loads(serialize_document(document, urn))
    validator.validate(written)
    assert written["$schema"] == schema(name)["$id"]
    assert type(document).model_validate(written) == document
    for field in schema(name)["required"]:
        assert not validator.is_valid({key: value for key, value in written.items() if key != field})


def test_the_schema_refuses_what_the_program_refuses() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    item = {
        "source_id": "a",
        "rank": 1,
        "url": "",
        "title": "",
        "captured_at": "2026-02-06T10:00:00Z",
        "status": "ok",
        "score_relevance": 0,
        "score_freshness": 0,
        "score_authority": 0,
        "score_final": 1,
    }
    bundle = {
        "task_id": "t",
        "query_id": "q1",
        "query_text": "",
        "query_intent": "",
        "provider": "",
        "executed_at": "2026-02-06T10:00:00Z",
        "stats": {"total_returned": 1, "kept_after_filter": 1, "failed_count": 0, "dedup_count": 0},
    }
    validator = _validator(jsonschema, "bundle")
    validator.validate({**bundle, "results": [item]})
    for wrong in ({"status": "failed"}, {"score_final": 1.1}, {"rank": 0}, {"status": "new"}):
        assert not validator.is_valid({**bundle, "results": [{**item, **wrong}]}), wrong
        with pytest.raises(ValueError, match="validation error"):
            SearchResultBundle.model_validate({**bundle, "results": [{**item, **wrong}]})


def _validator(jsonschema: Any, name: str) -> Any:
    kind = jsonschema.Draft202012Validator
    kind.check_schema(schema(name))
    return kind(schema(name), format_checker=kind.FORMAT_CHECKER)
