"""The contract of the tool, and its schemas as they are published."""

import datetime as dt
import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from monitor.search.contract import (
    DateRange,
    ProviderMeta,
    Recency,
    SearchError,
    SearchErrorCode,
    SearchFailed,
    SearchItem,
    ToolResult,
    parse_input,
)
from monitor.search.tools import render_tool_schema

SCHEMAS = Path(__file__).resolve().parents[3] / "docs" / "schemas"


@pytest.mark.parametrize("name", ["web-search-input", "web-search-output"])
def test_the_published_schema_is_the_one_of_this_version(name: str) -> None:
    published = (SCHEMAS / f"{name}.json").read_text(encoding="utf-8")
    assert published == render_tool_schema(name), (
        f"write it anew: .venv/bin/python -m monitor.search.tools {name} > docs/schemas/{name}.json"
    )


def test_the_names_on_the_wire_are_those_of_the_contract() -> None:
    given = json.loads(render_tool_schema("web-search-input"))
    assert set(given["properties"]) == {
        "query",
        "max_results",
        "lang",
        "locale",
        "time_range",
        "site_filter",
        "need_summary",
        "trace_id",
        "budget_ms",
    }
    assert given["required"] == ["query"]
    report = json.loads(render_tool_schema("web-search-output"))
    assert list(report["properties"]) == report["required"] == ["items", "provider_meta", "errors"]
    parts = report["$defs"]
    assert parts["SearchItem"]["required"] == ["title", "url", "snippet", "provider", "rank"]
    assert set(parts["SearchItem"]["properties"]) - set(parts["SearchItem"]["required"]) == {"source", "published_at"}
    assert parts["ProviderMeta"]["required"] == ["provider_name", "latency_ms", "request_id"]
    assert parts["SearchError"]["required"] == ["type", "message", "retryable"]
    assert parts["SearchErrorCode"]["enum"] == [str(code) for code in SearchErrorCode]


def test_the_locale_is_another_name_of_the_language_and_must_not_differ_from_it() -> None:
    assert parse_input({"query": "x", "locale": "zh-CN"}).to_query().lang == "zh-CN"
    assert parse_input({"query": "x", "locale": "zh-cn", "lang": "zh-CN"}).to_query().lang == "zh-CN"
    with pytest.raises(SearchFailed) as refused:
        parse_input({"query": "x", "locale": "en", "lang": "zh"})
    assert refused.value.error.message.code == "search.invalid_argument"


def test_what_is_not_known_is_left_out_of_the_wire() -> None:
    meta = ProviderMeta(provider_name="brave", latency_ms=3, request_id="r")
    item = SearchItem(title="", url="https://a.example/", snippet="", provider="brave", rank=1)
    error = SearchError(type=SearchErrorCode.TIMEOUT, message="late", retryable=True)
    answer = ToolResult(items=[item], provider_meta=meta, errors=[error]).to_json()
    assert answer == {
        "items": [{"title": "", "url": "https://a.example/", "snippet": "", "provider": "brave", "rank": 1}],
        "provider_meta": {"provider_name": "brave", "latency_ms": 3, "request_id": "r"},
        "errors": [{"type": "Timeout", "message": "late", "retryable": True}],
    }
    with pytest.raises(ValidationError):
        SearchItem(title="", url="javascript:x", snippet="", provider="brave", rank=1)


def test_arguments_become_a_query() -> None:
    span = {"start": "2026-01-01"}
    query = parse_input(
        {
            "query": "  光伏\n 装机 ",
            "max_results": 5,
            "lang": "zh-CN",
            "time_range": span,
            "site_filter": "GOV.cn",
            "trace_id": "t",
            "budget_ms": 900,
        }
    ).to_query()
    assert (query.text, query.site_filter, query.lang, query.budget_ms) == ("光伏 装机", "gov.cn", "zh-CN", 900)
    assert query.time_range == DateRange(start=dt.date(2026, 1, 1))
    assert parse_input({"query": "x", "time_range": "week"}).to_query().time_range is Recency.WEEK
