"""Feeds and calendars for other programs: their rules, what is not sent again, and private addresses."""

import datetime as dt
import re
from pathlib import Path
from typing import Any

import feedparser
import httpx
import pytest
from icalendar import Calendar
from lxml import etree

from monitor.db.tables.collection import Item, Run, Source
from monitor.db.tables.policies import Deadline
from monitor.errors import Conflict, UsageError
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.services.briefings import BriefingQuery
from monitor.services.feed_keys import MAX_FEED_KEYS
from monitor.services.topic_form import TopicForm
from monitor.urls import url_key
from monitor.vocabulary import DateSource, DeadlineKind, ItemType, Role, RunStatus, SummaryBy
from tests.integration.web.conftest import Desk

ATOM = "{http://www.w3.org/2005/Atom}"
ATOM_SCHEMA = etree.RelaxNG(etree.parse(Path(__file__).parents[2] / "unit" / "exports" / "atom.rng"))
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)")


@pytest.fixture
async def shelf(desk: Desk) -> Desk:
    """Two sources that found the same page, one of them another page too, with a deadline and a saved briefing."""
    store, now = desk.app.store, desk.app.clock.now()
    for name, paths in (("甲部", ("/1", "/2")), ("乙委", ("/1",))):
        source = await store.sources.add(Source(name=name, url="https://gov.example/", created_at=now))
        run = Run(id=name, source_id=source.id, source=name, status=RunStatus.SUCCEEDED, planned_at=now)
        await store.runs.create(run)
        for path in paths:
            url = f"https://gov.example{path}"
            item = Item(
                source_id=source.id,
                run_id=name,
                source=name,
                section="通知",
                url=url,
                url_key=url_key(url),
                title=f"关于<储能>的通知 {path} & 附件",
                date=now.date(),
                date_source=DateSource.LISTED,
                type=ItemType.NOTICE,
                summary="部署专项检查。",
                summary_by=SummaryBy.EXTRACT,
                language="zh",
                first_seen=now,
                attachments=[{"title": "附件", "url": f"{url}.pdf", "type": "pdf"}],
            )
            async with store.sessions.begin_write() as session:
                session.add(item)
    due = Deadline(item_id=1, kind=DeadlineKind.COMMENTS_UNTIL, day=now.date() + dt.timedelta(days=9), seen_at=now)
    await store.deadlines.save([(due, None)])
    await desk.app.drafts.save(BriefingQuery(days=3), by=COMMAND_LINE)
    return desk


async def make_key(desk: Desk, language: str = "zh") -> dict[str, Any]:
    """The private addresses of a reader who follows a topic and keeps a view."""
    browser = await desk.sign_in("reader", language=language)
    topic = await desk.app.topics.create(TopicForm(name="储能 & 风电", words=["储能"]), by=COMMAND_LINE)
    reader = Actor("reader", Role.READER)
    await desk.app.topics.follow(topic.id, by=reader)
    await desk.app.marks.save_view("未读", {"unread": True, "type": ["通知"]}, by=reader)
    answer = await browser.send("POST", "/api/v1/me/feed-keys", json={"label": "Miniflux"})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def check_atom(root: Any, *, address: str) -> list[str]:
    """Check the rules of RFC 4287 for a feed, and return the ids of its entries."""
    for element in (root, *root.findall(f"{ATOM}entry")):
        for name in ("id", "title", "updated"):
            assert len(element.findall(ATOM + name)) == 1, (name, etree.tostring(element))
        assert all(
            INSTANT.fullmatch(day.text) for name in ("updated", "published") for day in element.findall(ATOM + name)
        )
        assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", element.findtext(f"{ATOM}id"))
        assert all(author.findtext(f"{ATOM}name") for author in element.findall(f"{ATOM}author"))
        links = element.findall(f"{ATOM}link")
        assert all(httpx.URL(link.get("href")).is_absolute_url for link in links)
        assert sum(link.get("rel") == "alternate" for link in links) <= 1
    assert root.find(f"{ATOM}author") is not None, "else every entry has to name its own"
    assert [link.get("href") for link in root.findall(f"{ATOM}link[@rel='self']")] == [address]
    for entry in root.findall(f"{ATOM}entry"):
        has_link = entry.find(f"{ATOM}link[@rel='alternate']") is not None
        assert has_link or entry.find(f"{ATOM}content") is not None
        assert len(entry.findall(f"{ATOM}summary")) <= 1
    return [entry.findtext(f"{ATOM}id") for entry in root.findall(f"{ATOM}entry")]


def check_json_feed(feed: dict[str, Any], *, address: str) -> list[str]:
    """Check the rules of JSON Feed 1.1, and return the ids of its items."""
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    assert feed["title"]
    assert feed["feed_url"] == address
    for item in feed["items"]:
        assert isinstance(item["id"], str)
        assert isinstance(item["content_text"], str)
        assert all(INSTANT.fullmatch(item[name]) for name in ("date_published", "date_modified") if name in item)
        assert all({"url", "mime_type"} <= set(attachment) for attachment in item.get("attachments", []))
        assert all(author.get("name") for author in item.get("authors", []))
    return [item["id"] for item in feed["items"]]


async def test_every_feed_of_the_list_is_valid_and_is_not_sent_a_second_time(shelf: Desk) -> None:
    made, nobody = await make_key(shelf), await shelf.client()
    outlines = etree.fromstring((await nobody.get(made["opml"])).content).findall("body/outline")
    addresses = [outline.get("xmlUrl") or outline.get("url") for outline in outlines]
    assert addresses == [feed["url"] for feed in made["feeds"]]
    assert [outline.get("text") for outline in outlines] == ["条目", "简报", "期限", "储能 & 风电", "未读"]
    counts = []
    for address in (*addresses, made["opml"]):
        answer = await nobody.get(address)
        assert answer.status_code == 200
        again = await nobody.get(address, headers={"If-None-Match": f'"x", W/{answer.headers["etag"]}'})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", answer.headers["etag"])
        assert (await nobody.get(address)).content == answer.content
        if ".ics" in address:
            calendar = Calendar.from_ical(answer.content)
            assert calendar["VERSION"] == "2.0"
            assert all({"UID", "DTSTAMP", "DTSTART"} <= set(event) for event in calendar.walk("VEVENT"))
            counts.append(len(calendar.walk("VEVENT")))
        elif ".atom" in address:
            root = etree.fromstring(answer.content)
            ATOM_SCHEMA.assertValid(root)
            ids = check_atom(root, address=address)
            parsed = feedparser.parse(answer.content)
            assert (parsed.bozo, parsed.version, [entry.id for entry in parsed.entries]) == (False, "atom10", ids)
            assert all(entry.title and entry.link and entry.updated_parsed for entry in parsed.entries)
            twin = address.replace(".atom", ".json")
            shown = await nobody.get(twin)
            assert check_json_feed(shown.json(), address=twin) == ids
            again = await nobody.get(twin, headers={"If-None-Match": shown.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
            assert len(set(ids)) == len(ids), "the page that two sources found is one entry"
            counts.append(len(ids))
            assert ("last-modified" in answer.headers) is bool(ids)
    assert counts == [2, 1, 1, 2, 2]


async def test_a_reader_gets_what_is_new_and_what_another_choice_of_items_holds_under_another_id(shelf: Desk) -> None:
    program = await shelf.program("reader", scopes=["read"])
    first = await program.get("/feeds/items.atom?source=甲部")
    other = await program.get("/feeds/items.atom?source=乙委")
    ids = [etree.fromstring(answer.content).findtext(f"{ATOM}id") for answer in (first, other)]
    assert ids[0] != ids[1]
    named = {"If-None-Match": first.headers["etag"], "If-Modified-Since": first.headers["last-modified"]}
    assert (await program.get("/feeds/items.atom?source=甲部", headers=named)).status_code == 304
    await shelf.app.marks.hide(1, "", by=COMMAND_LINE)
    answer = await program.get("/feeds/items.atom?source=甲部", headers=named)
    assert (answer.status_code, len(etree.fromstring(answer.content).findall(f"{ATOM}entry"))) == (200, 1)


async def test_a_key_opens_feeds_alone_until_it_is_revoked_or_its_person_is_shut_out(shelf: Desk) -> None:
    made, nobody = await make_key(shelf), await shelf.client()
    browser = await shelf.sign_in("reader")
    key = made["opml"].split("/")[-2]
    (kept,) = (await browser.get("/api/v1/me/feed-keys")).json()["feed_keys"]
    assert (kept["label"], kept["last_used_at"], key in str(kept)) == ("Miniflux", None, False)
    assert (await nobody.get(made["opml"])).status_code == 200
    assert (await browser.get("/api/v1/me/feed-keys")).json()["feed_keys"][0]["last_used_at"] is not None
    for headers in ({"Authorization": f"Bearer {key}"}, {"Cookie": f"monitor_session={key}"}):
        assert (await nobody.get("/api/v1/items", headers=headers)).status_code == 401
    assert (await nobody.get(made["opml"].replace(key, "x" * 43))).status_code == 404
    for block, status in ((shelf.app.people.block_sign_in, 404), (shelf.app.people.allow_sign_in, 200)):
        await block("reader", by=COMMAND_LINE)
        assert (await nobody.get(made["opml"])).status_code == status
    editor = await shelf.sign_in("editor")
    assert (await editor.send("DELETE", f"/api/v1/me/feed-keys/{kept['id']}")).status_code == 404
    browser = await shelf.sign_in("reader")
    assert (await browser.send("DELETE", f"/api/v1/me/feed-keys/{kept['id']}")).status_code == 204
    assert (await nobody.get(made["opml"])).status_code == 404


async def test_a_person_has_so_many_keys_and_names_each(desk: Desk) -> None:
    await desk.sign_in("reader")
    reader = Actor("reader", Role.READER)
    with pytest.raises(UsageError):
        await desk.app.feed_keys.create(" \u200b", by=reader)
    for number in range(MAX_FEED_KEYS):
        await desk.app.feed_keys.create(f"r{number}", by=reader)
    with pytest.raises(Conflict):
        await desk.app.feed_keys.create("more", by=reader)


async def test_the_page_shows_new_addresses_once_and_revokes_them(shelf: Desk) -> None:
    browser = await shelf.sign_in("reader", language="en")
    assert "/account/feeds" in (await browser.get("/account")).text
    refused = await browser.post("/account/feeds", {"label": " "})
    assert (refused.status_code, "Say which reader" in refused.text) == (400, True)
    page = (await browser.post("/account/feeds", {"label": "phone"})).text
    found = re.search(r"http://monitor\.test/feeds/private/([\w-]{43})/all\.opml", page)
    assert found
    page = (await browser.get("/account/feeds")).text
    assert found[1] not in page
    number = re.search(r"/account/feeds/(\d+)/revoke", page)
    assert number
    assert (await browser.post(number[0])).status_code == 303
    assert (await (await shelf.client()).get(found[0])).status_code == 404
