"""Several backends at once: one answer, whatever becomes of each."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from monitor.i18n.catalogue import render


@pytest.fixture
async def sites(open_site: Any) -> AsyncIterator[list[Any]]:
    async with open_site() as one, open_site() as another, open_site() as third:
        yield [one, another, third]


async def test_a_dead_and_a_slow_backend_do_not_keep_the_answer_of_a_good_one(
    searching: Any, services: dict[str, Any], sites: list[Any], send: Any, result: Any, free_port: int
) -> None:
    good, slow, _ = sites
    released = asyncio.Event()
    was_left_alone = asyncio.Event()

    async def wait(writer: asyncio.StreamWriter) -> None:
        try:
            await released.wait()
        except asyncio.CancelledError:
            was_left_alone.set()
            raise
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")

    searching.asked_at(
        "brave",
        good.on(services["brave"].path, send(services["brave"].build_response([result("A", "https://a/", "")]))),
    )
    searching.asked_at("tavily", slow.on(services["tavily"].path, lambda _: wait))
    searching.asked_at("searxng", f"http://127.0.0.1:{free_port}/")
    found = await searching.found("brave", "tavily", "searxng", budget_ms=1500)
    assert not released.is_set()
    released.set()
    assert [item.title for item in found.items] == ["A"]
    assert [(error.type, render(error.message, "en").split(":")[0]) for error in found.errors] == [
        ("Timeout", "tavily"),
        ("NetworkError", "searxng"),
    ]
    assert found.provider_meta.provider_name == "brave+tavily+searxng"
    assert found.provider_meta.latency_ms <= 1500


async def test_a_backend_that_is_slower_than_its_own_time_is_left_before_the_budget_ends(
    searching: Any, services: dict[str, Any], sites: list[Any], send: Any, result: Any
) -> None:
    good, slow, _ = sites

    async def never(writer: asyncio.StreamWriter) -> None:
        del writer
        await asyncio.Event().wait()

    searching.asked_at(
        "brave",
        good.on(services["brave"].path, send(services["brave"].build_response([result("A", "https://a/", "")]))),
    )
    searching.asked_at("tavily", slow.on(services["tavily"].path, lambda _: never), timeout_ms=300)
    found = await searching.found("brave", "tavily", budget_ms=60_000)
    assert [item.title for item in found.items] == ["A"]
    assert [error.type for error in found.errors] == ["Timeout"]
    assert found.provider_meta.latency_ms < 30_000


async def test_all_are_asked_at_the_same_time(
    searching: Any, services: dict[str, Any], sites: list[Any], send: Any, result: Any
) -> None:
    barrier = asyncio.Barrier(3)
    names = ("brave", "tavily", "bocha")

    def answering(name: str) -> Any:
        answer = services[name].build_response([result(name, f"https://{name}.example/", "")])

        async def write(writer: asyncio.StreamWriter) -> None:
            await barrier.wait()  # nobody is answered before all three have asked
            body = answer.body
            writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
            await writer.drain()

        return lambda _: write

    for name, site in zip(names, sites, strict=True):
        searching.asked_at(name, site.on(services[name].path, answering(name)))
    found = await searching.found(*names)
    assert {item.provider for item in found.items} == set(names)
    assert found.errors == []


async def test_one_document_is_shown_once_by_its_real_address_and_higher_for_it(
    searching: Any, services: dict[str, Any], sites: list[Any], send: Any, result: Any
) -> None:
    baidu, brave, _ = sites
    shared = result("两家都有", "https://gov.example/policy/1.html", "百度的摘要")
    from_baidu = [result(f"B{n}", f"https://b.example/{n}", "") for n in range(2)] + [shared]
    from_brave = [
        result("R0", "https://r.example/0", ""),
        result("", "http://www.gov.example/policy/1.html?utm_source=x", ""),
    ]
    searching.asked_at("baidu_html", baidu.on("/s", send(services["baidu_html"].build_response(from_baidu))))
    searching.asked_at("brave", brave.on(services["brave"].path, send(services["brave"].build_response(from_brave))))
    found = await searching.found("baidu_html", "brave")
    assert [item.title for item in found.items] == ["两家都有", "B0", "R0", "B1"]
    first = found.items[0]
    assert (first.url, first.source, first.snippet) == ("http://www.gov.example/policy/1.html", None, "百度的摘要")
    assert [item.rank for item in found.items] == [1, 2, 3, 4]


async def test_all_backends_failing_is_an_answer_without_items(searching: Any, free_port: int) -> None:
    for name in ("brave", "bocha"):
        searching.asked_at(name, f"http://127.0.0.1:{free_port}/")
    found = await searching.found("brave", "bocha")
    assert found.items == []
    assert [error.type for error in found.errors] == ["NetworkError", "NetworkError"]


async def test_a_merged_answer_has_no_more_results_than_asked_for(
    searching: Any, services: dict[str, Any], sites: list[Any], send: Any, result: Any
) -> None:
    for name, site in zip(("brave", "tavily"), sites, strict=False):
        results = [result(f"{name} {n}", f"https://{name}.example/{n}", "") for n in range(10)]
        searching.asked_at(name, site.on(services[name].path, send(services[name].build_response(results))))
    found = await searching.found("brave", "tavily", limit=5)
    assert [item.title for item in found.items] == ["brave 0", "tavily 0", "brave 1", "tavily 1", "brave 2"]
