"""Topics over HTTP: added, followed, marked, and what fits them in lists, feeds and items."""

import datetime as dt
from typing import Any

import pytest

from monitor.db.tables.collection import Item

WANTED = {"name": "储能开发商", "words": ["储能", "容量电价"], "exclusions": ["抽水蓄能"]}


@pytest.fixture
async def items(desk: Any) -> list[int]:
    """Two items of which one fits, of today."""
    now: dt.datetime = desk.app.clock.now()
    numbers = []
    for number, title in enumerate(["关于新型储能的通知", "人事任免"]):
        url = f"https://a.example/{number}"
        row = Item(
            run_id="r",
            source="部",
            section="s",
            url=url,
            url_key=url,
            title=title,
            date=now.date() - dt.timedelta(days=number),
            first_seen=now,
        )
        saved, _ = await desk.app.store.items.save(row)
        await desk.app.store.items.update(saved.id, text="储能电站按容量电价结算。" if not number else "任命某人。")
        numbers.append(saved.id)
    return numbers


async def test_an_editor_keeps_a_topic_and_everybody_sees_what_fits_it(desk: Any, items: list[int]) -> None:
    editor, reader = await desk.sign_in("editor", language="en"), await desk.sign_in("reader", language="zh")
    added = await editor.send("POST", "/api/v1/topics", json=WANTED)
    assert added.status_code == 201, added.text
    topic = added.json()
    assert (topic["matches"], topic["alerts"], topic["weights"]) == (1, "briefing", {})
    found = (await reader.get(f"/api/v1/topics/{topic['id']}/items")).json()
    (entry,) = found["items"]
    assert (entry["item"]["id"], found["next"]) == (items[0], None)
    assert entry["fit"]["reason"] == "标题中有“储能”、开头有“容量电价”。"
    assert entry["fit"]["passage"] == "储能电站按容量电价结算。"
    one = (await editor.get(f"/api/v1/items/{items[0]}")).json()["topics"]
    assert [(fit["name"], fit["reason"], fit["reason_code"]) for fit in one] == [
        ("储能开发商", "Found in its title: 储能, at its beginning: 容量电价.", "topic.found")
    ]
    assert (await reader.get(f"/api/v1/items/{items[1]}")).json()["topics"] == []
    changed = await editor.send("PATCH", f"/api/v1/topics/{topic['id']}", json={"words": ["任免"]})
    assert (changed.json()["words"], changed.json()["exclusions"]) == (["任免"], ["抽水蓄能"])
    listed = (await reader.get("/api/v1/topics")).json()["topics"]
    assert [(row["name"], row["matches"]) for row in listed] == [("储能开发商", 1)]
    assert (await editor.send("DELETE", f"/api/v1/topics/{topic['id']}")).status_code == 204
    assert (await reader.get("/api/v1/topics")).json() == {"topics": [], "next": None}


async def test_lists_exports_and_feeds_are_filtered_by_topic(desk: Any, items: list[int]) -> None:
    editor = await desk.sign_in("editor", language="en")
    number = (await editor.send("POST", "/api/v1/topics", json=WANTED)).json()["id"]
    for name in ("储能开发商", str(number)):
        listed = (await editor.get("/api/v1/items", params={"topic": name})).json()
        assert ([row["id"] for row in listed["items"]], listed["total"]) == ([items[0]], 1)
        assert [fit["id"] for fit in listed["items"][0]["topics"]] == [number]
    searched = (await editor.get("/api/v1/items", params={"topic": "储能开发商", "q": "任命"})).json()
    assert searched["items"] == []
    feed = (await editor.get("/feeds/items.atom", params={"topic": "储能开发商"})).text
    assert "关于新型储能的通知" in feed
    assert "人事任免" not in feed
    assert (await editor.get("/items", params={"topic": "储能开发商"})).status_code == 200
    unknown = await editor.get("/api/v1/items", params={"topic": "nobody's"})
    assert (unknown.status_code, "储能开发商" in unknown.json()["detail"]) == (404, True)


async def test_a_reader_follows_a_topic_and_says_what_is_none_of_it(desk: Any, items: list[int]) -> None:
    editor, reader = await desk.sign_in("editor"), await desk.sign_in("reader")
    number = (await editor.send("POST", "/api/v1/topics", json=WANTED)).json()["id"]
    mine = (await reader.send("PUT", f"/api/v1/topics/{number}/follow")).json()
    assert (mine["person"], len(mine["calendar_key"]) >= 32) == ("reader", True)
    assert (await reader.get(f"/api/v1/topics/{number}")).json()["calendar_key"] == mine["calendar_key"]
    theirs = (await editor.get(f"/api/v1/topics/{number}")).json()
    assert (theirs["followers"], theirs["calendar_key"]) == (["reader"], None)
    marked = await reader.send("PUT", f"/api/v1/topics/{number}/feedback", json={"item": items[0], "wish": "lower"})
    assert marked.json()["fit"]["wish"] == "lower"
    assert (await reader.get(f"/api/v1/topics/{number}/items")).json()["items"] == []
    undone = await reader.send("PUT", f"/api/v1/topics/{number}/feedback", json={"item": items[0], "wish": None})
    assert undone.json()["fit"]["wish"] is None
    assert len((await reader.get(f"/api/v1/topics/{number}/items")).json()["items"]) == 1
    assert (await reader.send("DELETE", f"/api/v1/topics/{number}/follow")).status_code == 204
    assert (await reader.get(f"/api/v1/topics/{number}")).json()["followers"] == []


@pytest.mark.parametrize(
    ("wanted", "status"),
    [
        ({"name": "a"}, 422),
        ({"name": " ", "words": ["a"]}, 422),
        ({"name": "a", "words": ["a"], "colour": "red"}, 422),
        ({"name": "a", "words": ["a"], "sources": ["never"]}, 404),
        ({"name": "a", "words": ["a"], "targets": ["never"]}, 404),
    ],
)
async def test_a_topic_that_cannot_be_is_refused(desk: Any, wanted: dict[str, Any], status: int) -> None:
    editor = await desk.sign_in("editor")
    assert (await editor.send("POST", "/api/v1/topics", json=wanted)).status_code == status
