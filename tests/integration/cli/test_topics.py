"""`monitor topics` as typed."""

import asyncio
import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from monitor.db.database import Store
from monitor.db.tables.collection import Item


@pytest.fixture
def program(typed: Callable[[list[str]], Any], tmp_path: Path) -> Callable[..., Any]:
    """The program, with an archive of two items of today."""
    assert typed(["init"]).code == 0

    async def gather() -> None:
        now = dt.datetime.now(dt.UTC)
        async with Store.open(f"sqlite:///{tmp_path / 'data' / 'monitor.db'}") as store:
            for number, title in enumerate(["Grid fees for storage", "光伏通知"]):
                url = f"https://a.example/{number}"
                item = Item(run_id="r", source="部", section="s", url=url, url_key=url, title=title, first_seen=now)
                await store.items.save(item)

    asyncio.run(gather())
    return lambda *words: typed(list(words))


def test_a_topic_is_kept_and_shows_what_fits_it_and_why(program: Callable[..., Any]) -> None:
    assert "No topics yet" in program("topics", "list").err
    added = program("topics", "add", "storage", "--word", "grid fee", "--without", "household", "--json").document
    assert (added["matches"], added["words"], added["exclusions"]) == (1, ["grid fee"], ["household"])
    shown = program("topics", "show", "storage")
    assert "Grid fees for storage" in shown.out
    assert "70 %  Found in its title: grid fee." in shown.out
    (entry,) = program("topics", "show", "1", "--json").document["items"]
    assert entry["fit"]["reason_code"] == "topic.found"
    assert "calendar_key" not in program("topics", "show", "1", "--json").document
    assert "storage, 70 %: Found in its title: grid fee." in program("items", "show", str(entry["item"]["id"])).out
    edited = program(
        "topics", "edit", "storage", "--name", "solar", "--word", "光伏", "--clear", "exclusions", "--json"
    )
    assert (edited.document["name"], edited.document["exclusions"], edited.document["matches"]) == ("solar", [], 1)
    assert [row["name"] for row in program("topics", "list", "--json").document["topics"]] == ["solar"]
    assert "solar" in program("topics", "list").out
    assert program("topics", "remove", "solar").code == 0
    assert program("topics", "list", "--json").document == {"topics": []}


def test_somebody_follows_a_topic(program: Callable[..., Any]) -> None:
    program("users", "add", "lilei")
    program("topics", "add", "storage", "--word", "grid fee")
    key = program("topics", "follow", "storage", "--person", "lilei").out.strip()
    assert len(key) >= 32
    assert program("topics", "show", "storage", "--json").document["followers"] == ["lilei"]
    assert program("topics", "follow", "storage", "--person", "lilei", "--stop").code == 0
    assert program("topics", "show", "storage", "--json").document["followers"] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "nobody"], "There is no topic 'nobody'"),
        (["add", "empty"], "needs words, a sentence or sources"),
        (["add", "a", "--word", "x" * 200], "The field 'words' of a topic is wrong"),
        (["add", "a", "--word", "x", "--target", "nobody"], "no target 'nobody'"),
        (["edit", "a", "--clear", "name"], "cannot be cleared"),
        (["follow", "a", "--person", "nobody"], "There is no topic 'a'"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(program: Callable[..., Any], words: list[str], said: str) -> None:
    result = program("topics", *words)
    assert result.code == 2
    assert said in result.complaint
