"""`monitor sources catalogue` as typed, and the tools of assistants; sites are reached by a proxy of the test."""

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

ROWS = "".join(
    f'<li><a href="/ywgz/{n}.htm">关于第{n}批援助项目实施情况的通知公告</a><span>2026-11-{n:02}</span></li>'
    for n in range(1, 13)
)


@pytest.fixture
def program(monitor: Any, site: Any) -> Any:
    """The program behind a proxy, where www.cidca.gov.cn has its one section, and the other hosts have nothing."""
    page = "<html><head><title>{0}</title></head><body><h1>{0}</h1><ul>{1}</ul></body></html>"
    site.on("http://www.cidca.gov.cn/ywgz.htm", page.format("业务工作", ROWS))
    monitor.environment |= {
        "MONITOR_NETWORK__PROXY": site.url("").rstrip("/"),
        "MONITOR_NETWORK__PROXY_SUFFIXES": json.dumps(["gov.cn"]),
        "MONITOR_PAGES__RENDER": "never",
    }
    return monitor


def test_it_is_searched_and_narrowed(typed: Callable[[list[str]], Any]) -> None:
    assert typed(["init"]).code == 0
    found = typed(["sources", "catalogue", "证监会", "--country", "china"])
    assert "cn-csrc" in found.out.splitlines()[1]
    document = typed(
        ["sources", "catalogue", "--topic", "能源与电力", "--country", "JP", "--limit", "2", "--json"]
    ).document
    assert len(document["bodies"]) == 2 < document["total"]
    assert all("energy" in body["topics"] and body["country"] == "JP" for body in document["bodies"])
    assert "No bodies match" in typed(["sources", "catalogue", "zzzzzz"]).err
    assert "the best 20 of 1,730" in typed(["sources", "catalogue"]).err.replace("The", "the")
    wrong = typed(["sources", "catalogue", "--topic", "gardening"])
    assert (wrong.code, "gardening" in wrong.complaint) == (2, True)


async def test_bodies_are_added_with_what_works_and_the_reasons_for_the_rest(program: Any) -> None:
    words = ("--add", "cn-cidca", "--add", "cn-nopss", "--schedule", "0 7 * * 1-5")
    added = await program("sources", "catalogue", *words)
    assert added.code == 1, "one of them was not added"
    assert "国家国际发展合作署: added" in added.out
    assert ": 12 entries" in added.out
    assert "not read, NotFound: There is no such page (404)." in added.out
    assert "1 of 2 bodies were not added" in added.err
    (source,) = (await program("sources", "list", "--json")).document["sources"]
    assert (source["schedule"], [section["url"] for section in source["sections"]]) == (
        "0 7 * * 1-5",
        ["http://www.cidca.gov.cn/ywgz.htm"],
    )
    again = await program("sources", "catalogue", "--add", "cn-cidca", "--json")
    assert (again.code, again.document["bodies"][0]["state"]) == (0, "taken")


async def test_an_assistant_finds_a_body_and_has_it_watched(program: Any) -> None:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "monitor", "mcp"], env=program.environment, cwd=program.folder
    )
    async with Client(stdio_client(server)) as client:
        found = await client.call_tool("search_catalogue", {"query": "国际发展合作署"})
        (body,) = found.structured_content["bodies"]
        assert (body["id"], body["source_id"]) == ("cn-cidca", None)
        begun = (await client.call_tool("add_from_catalogue", {"ids": [body["id"], "cn-nopss"]})).structured_content
        ended = await client.call_tool("addition_status", {"addition_id": begun["addition_id"], "wait_s": 60})
        whole, gone = ended.structured_content["bodies"]
        assert (ended.structured_content["state"], whole["state"], gone["state"]) == ("done", "added", "failed")
        assert whole["sections_read"][0].endswith(": 12 entries")
        assert "404" in gone["sections_not_read"][0]
        assert "not read" in ended.content[0].text
        sources = (await client.call_tool("list_sources", {})).structured_content["sources"]
        assert [source["name"] for source in sources] == ["国家国际发展合作署"]
        unknown = await client.call_tool("add_from_catalogue", {"ids": ["nowhere"]})
        assert unknown.is_error
        assert "nowhere" in unknown.content[0].text
