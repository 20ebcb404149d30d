"""`monitor sources catalogue` as typed; sites are reached by a proxy of the test."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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


def test_sources_are_added_for_a_team(typed: Callable[[list[str]], Any], tmp_path: Path) -> None:
    typed(["users", "teams", "add", "Energy"])
    file = tmp_path / "list.yaml"
    file.write_text("- name: many\n  url: https://many.example.org/\n")
    assert typed(["sources", "import", str(file), "--team", "Energy"]).code == 0
    added = typed(["sources", "add", "储能", "--name", "query", "--kind", "query", "--team", "Energy"])
    assert added.code == 0, added.err
    wrong = typed(["sources", "add", "储能", "--name", "x", "--kind", "query", "--team", "Water"])
    assert (wrong.code, "Water" in wrong.err) == (2, True)
    (team,) = json.loads(typed(["users", "teams", "list", "--json"]).out)["teams"]
    assert team["owned"]["source"] == 2
