"""What every backend promises, each against a server that speaks its wire format."""

import datetime as dt
from typing import Any

import pytest

from monitor.config.model import BACKENDS
from monitor.i18n.catalogue import render
from monitor.search.contract import ToolResult
from monitor.search.tools import SearchTool


def results(result: Any, count: int) -> list[Any]:
    day = dt.date(2026, 11, 20)
    return [
        result(f"光伏新闻第 {n} 条 & more", f"https://news.example/a/{n}.html?id={n}", f"光伏装机第 {n} 次增长", day)
        for n in range(1, count + 1)
    ]


@pytest.fixture(params=BACKENDS)
async def backend(
    request: pytest.FixtureRequest, searching: Any, services: dict[str, Any], site: Any, send: Any, result: Any
) -> str:
    """The name of a backend that has forty results, as many on a page as its service shows."""
    name = str(request.param)
    if name == "archive":
        await searching.gather(results(result, 40))
    elif name != "stub":
        service, report = services[name], results(result, 40)

        def page(asked: Any) -> Any:
            at = (service.get_page_number(asked) - 1) * service.per_page
            page_number = service.get_page_number(asked)
            return send(service.build_response(report[at : at + service.per_page], page=page_number, has_more=True))

        searching.asked_at(name, site.on(service.path, page))
    return name


@pytest.mark.parametrize("limit", [1, 5, 10, 20])
async def test_no_more_results_come_than_are_asked_for_and_ranks_have_no_gaps(
    searching: Any, backend: str, limit: int
) -> None:
    found = await searching.found(backend, limit=limit)
    assert found.errors == []
    assert len(found.items) == (min(3, limit) if backend == "stub" else limit)
    assert [item.rank for item in found.items] == list(range(1, len(found.items) + 1))
    assert len({item.url for item in found.items}) == len(found.items)


async def test_a_result_is_what_the_service_tells(searching: Any, backend: str) -> None:
    found = await searching.found(backend, limit=10)
    if backend == "stub":
        assert all(item.url.startswith("https://example.com/") for item in found.items)
        return
    for number, item in enumerate(found.items, start=1):
        assert item.title == f"光伏新闻第 {number} 条 & more"
        assert (item.source or item.url) == f"https://news.example/a/{number}.html?id={number}"
        assert f"光伏装机第 {number} 次增长" in item.snippet
        assert item.published_at == dt.date(2026, 11, 20)
        assert item.provider == ("bing" if backend == "searxng" else backend)
    is_redirected = backend == "baidu_html"
    assert all(("baidu.com/link?" in item.url) == is_redirected for item in found.items)


async def test_the_answer_has_the_one_shape_and_tells_who_gave_it(searching: Any, backend: str) -> None:
    found = await searching.found(backend, limit=3, trace_id="trace-7")
    assert ToolResult.model_validate(found.to_json()) == found
    assert set(found.to_json()) == {"items", "provider_meta", "errors"}
    assert found.provider_meta.provider_name == backend
    assert found.provider_meta.request_id == "trace-7"
    assert (await searching.found(backend, limit=3)).provider_meta.request_id


async def test_nothing_found_is_an_empty_answer_without_an_error(
    searching: Any, services: dict[str, Any], backend: str, site: Any, send: Any
) -> None:
    if backend == "stub":
        return
    if backend != "archive":
        site.on(services[backend].path, send(services[backend].build_response([])))
    found = await searching.found(backend, text="不会有的词语")
    assert (found.items, found.errors) == ([], [])


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": ""},
        {"query": " \t\n"},
        {"query": "x", "max_results": 0},
        {"query": "x", "max_results": 11},
        {"query": "x", "max_results": "5"},
        {"query": "x", "max_results": True},
        {"query": "x", "time_range": "decade"},
        {"query": "x", "time_range": {"start": "2026-02-03", "end": "2026-01-01"}},
        {"query": "x", "time_range": {}},
        {"query": "x", "site_filter": "https://gov.cn/a"},
        {"query": "x", "lang": "中文"},
        {"query": "x", "budget_ms": 0},
        {"query": "x", "maximum": 3},
        ["x"],
        "x",
        None,
    ],
)
async def test_arguments_that_break_the_contract_ask_nobody(searching: Any, site: Any, arguments: Any) -> None:
    searching.asked_at("ddg_html", site.url("/html/"))
    tool = SearchTool(searching.open().build_search(["ddg_html"]))
    refused = await tool.call("web.search", arguments)
    assert refused.items == []
    assert [(error.type, error.retryable) for error in refused.errors] == [("InvalidInput", False)]
    assert "\n" not in render(refused.errors[0].message, "en")
    assert site.asked == []


async def test_another_tool_is_not_found(searching: Any, backend: str) -> None:
    refused = await SearchTool(searching.open().build_search([backend])).call("web.fetch", {"query": "x"})
    assert [error.type for error in refused.errors] == ["ToolNotFound"]
