"""Whatever a service answers, there come checked results or an error of the contract."""

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.search_services import SIMULATED_BACKENDS, SimulatedResult
from monitor.fetch.result import Response
from monitor.search.backends import baidu_html, bocha, brave, ddg_html, searxng, tavily
from monitor.search.contract import SearchFailed, SearchHit, SearchItem, SearchQuery
from monitor.search.responses import clean_hits

Read = Callable[[Response], Sequence[SearchHit]]
READERS: dict[str, Read] = {
    "ddg_html": lambda response: ddg_html.parse_result_page(response, base_url="https://html.duckduckgo.com/html/")[0],
    "baidu_html": lambda response: baidu_html.parse_result_page(response, base_url="https://www.baidu.com/s").hits,
    "searxng": lambda response: searxng.parse_results(response, SearchQuery(text="x")).hits,
    "bocha": lambda response: bocha.parse_results(response).hits,
    "brave": lambda response: brave.parse_results(response).hits,
    "tavily": lambda response: tavily.parse_results(response).hits,
}
NAMES = [
    "results",
    "web",
    "data",
    "webPages",
    "value",
    "url",
    "title",
    "name",
    "content",
    "description",
    "snippet",
    "code",
    "msg",
    "query",
    "error",
    "detail",
    "engine",
    "unresponsive_engines",
    "page_age",
    "published_date",
]
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.just("²") | st.just("200"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=12,
)
ATTACKS = [
    "<script>alert(1)</script>",
    "</div></a>",
    "<b",
    "javascript:",
    "&lt;i&gt;",
    "\x1b",
    "\u202e",
    "光伏",
    '"',
    "'>",
]
hostile = st.lists(st.sampled_from(ATTACKS) | st.text(max_size=4), max_size=5).map("".join)
results = st.lists(
    st.builds(SimulatedResult, title=hostile, url=hostile | hostile.map("https://".__add__), snippet=hostile),
    max_size=4,
)


def is_clean(item: SearchItem) -> bool:
    texts = f"{item.title} {item.snippet}"
    is_text = not re.search(r"<[A-Za-z/!?]|(?i:javascript:)|[\x00-\x1f\x7f-\x9f]", texts)
    return is_text and all(url.startswith(("http://", "https://")) for url in (item.url, item.source) if url)


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=60)
@given(document=values, status=st.sampled_from([200, 200, 200, 301, 403, 422, 500]))
def test_any_document_is_read_or_refused(name: str, document: Any, status: int) -> None:
    body = json.dumps(document).encode("utf-8", "replace")
    response = Response(url="https://a/", final_url="https://a/", status=status, headers={}, body=body)
    with suppress(SearchFailed):
        assert all(is_clean(item) for item in clean_hits(READERS[name](response), backend=name, limit=20))


@pytest.mark.parametrize("service", SIMULATED_BACKENDS, ids=lambda service: service.name)
@settings(max_examples=60)
@given(found=results)
def test_what_is_hostile_in_an_answer_does_not_get_through(service: Any, found: list[SimulatedResult]) -> None:
    answer = service.build_response(found)
    headers = {"content-type": answer.content_type}
    response = Response(url="https://a/", final_url="https://a/", status=200, headers=headers, body=answer.body)
    with suppress(SearchFailed):
        items = clean_hits(READERS[service.name](response), backend=service.name, limit=20)
        assert all(is_clean(item) for item in items)
