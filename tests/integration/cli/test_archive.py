"""Searching what was gathered, and standing searches, as typed."""

import asyncio
import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from monitor.db.database import Store
from monitor.db.tables.collection import Item


@pytest.fixture
def program(typed: Callable[[list[str]], Any], tmp_path: Path) -> Callable[..., Any]:
    """The program, with an archive of two items."""
    assert typed(["init"]).code == 0

    async def gathered() -> None:
        async with Store.open(f"sqlite:///{tmp_path / 'data' / 'monitor.db'}") as store:
            for number, title in enumerate(["分布式光伏发电通知", "储能与光伏"]):
                item = Item(
                    source="部",
                    run_id="r",
                    section="s",
                    url=f"https://a{number}.gov/1",
                    url_key="",
                    title=title,
                    date=dt.date(2020, 1, 1 + number),
                    first_seen=dt.datetime(2020, 1, 2, tzinfo=dt.UTC),
                )
                saved, _ = await store.items.save(item)
                await store.items.update(saved.id or 0, text="正文。" * 100 + "关于容量电价的规定")

    asyncio.run(gathered())
    return lambda *words: typed(list(words))


def test_items_are_found_by_words_within_longer_ones(program: Callable[..., Any]) -> None:
    found = program("items", "search", "光伏 容量电价", "--json").document["items"]
    assert [entry["title"] for entry in found] == ["储能与光伏", "分布式光伏发电通知"]
    assert all("容量电价" in entry["snippet"] and 0 <= entry["score"] <= 1 for entry in found)
    narrowed = program("items", "search", "光伏", "--site", "a0.gov", "--until", "2020-01-01", "--json")
    assert [item["title"] for item in narrowed.document["items"]] == ["分布式光伏发电通知"]
    assert "容量电价" in program("items", "search", "容量电价").out
    listed = program("items", "list", "--text", '"储能与"', "--json").document["items"]
    assert [entry["title"] for entry in listed] == ["储能与光伏"]


@pytest.mark.parametrize("query", ["", "。", '"', "光" * 10_000])
def test_what_cannot_be_searched_for_is_told_in_one_line(program: Callable[..., Any], query: str) -> None:
    said = program("items", "search", query)
    assert said.code == 2
    assert "search" in said.complaint


@pytest.mark.parametrize("query", ["NEAR(a b", "光伏*", "x OR 1=1", "title:"])
def test_no_query_is_an_order_to_the_database(program: Callable[..., Any], query: str) -> None:
    said = program("items", "search", query, "--json")
    assert said.code == 0
    assert len(said.document["items"]) == (2 if query == "光伏*" else 0)


def test_a_standing_search_is_added_shown_and_swept(program: Callable[..., Any]) -> None:
    assert "no word to search for" in program("sources", "add", "。", "--kind", "query").complaint
    assert program("sources", "add", "光伏 电价", "--kind", "query").code == 0
    shown = program("sources", "show", "光伏 电价", "--json").document
    assert (shown["kind"], shown["url"]) == ("query", "光伏 电价")
    tried = program("sources", "try", "光伏", "--kind", "query", "--json")
    assert (tried.code, tried.document["would_save"]) == (0, 0)
    swept = program("sweep", "光伏 电价", "--json")
    assert swept.code == 0
    (run,) = json.loads(swept.out)["runs"]
    assert run["status"] == "degraded"
    assert "only what was collected" in run["fallbacks"][0]["reason"]
    assert [(section["name"], section["ended"]) for section in run["sections"]] == [("光伏 电价", "known")]
