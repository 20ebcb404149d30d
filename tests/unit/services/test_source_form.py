"""A source as people write it: what is wrong with it is said in one sentence."""

from typing import Any

import pytest

from monitor.errors import UsageError
from monitor.services.sources.form import SourceForm, validate_form
from monitor.sweep.query import list_queries


def form(**values: Any) -> SourceForm:
    return validate_form({"name": "n", **values}, timezone="UTC")


@pytest.mark.parametrize(
    ("values", "queries"),
    [
        ({"url": "  储能   补贴 "}, ["储能 补贴"]),
        ({"focus_areas": ["储能", " ", "光伏", "储能"]}, ["储能", "光伏"]),
        ({"url": "储能", "focus_areas": ["光伏"]}, ["储能", "光伏"]),
        ({"url": "https://WWW.example.gov", "focus_areas": ["光伏"]}, ["光伏"]),
    ],
)
def test_a_query_source_says_what_to_search_for(values: dict[str, Any], queries: list[str]) -> None:
    source = form(kind="query", **values)
    assert list_queries(source.url, source.focus_areas) == queries


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"kind": "query"}, "nothing to search for; write the query as its url"),
        ({"kind": "query", "url": "https://example.gov/"}, "nothing to search for"),
        ({"kind": "query", "url": "。？"}, "no word to search for in '。？'"),
        ({"kind": "query", "url": "光" * 1001}, "1001 characters; the limit is 1000"),
        ({"kind": "query", "url": "光伏", "focus_areas": ["光 " * 600]}, "the limit is 1000"),
        ({"kind": "query", "url": "ftp://example.gov/"}, "'ftp://example.gov/' is not a web address"),
        ({"kind": "site", "url": "光伏"}, "'光伏' is not a web address"),
        ({"kind": "feed"}, "'' is not a web address"),
        ({}, "'' is not a web address"),
    ],
)
def test_what_cannot_be_watched_is_told_in_one_sentence(values: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=r"The source 'n' has a wrong url: .*\.$") as wrong:
        form(**values)
    assert complaint in str(wrong.value)
