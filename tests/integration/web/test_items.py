"""Items: the list and its search, one item, what it rests on, and what people say of it."""

import csv
import datetime as dt
import io
import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

import pytest
from lxml import etree
from selectolax.lexbor import LexborHTMLParser

from monitor.db import fulltext
from monitor.db.tables.collection import Item, Run, Source
from monitor.db.tables.evidence import Claim, ClaimKind, ClaimUpdate, ItemSnapshot, Revision
from monitor.evidence.records import EvidenceArchive
from monitor.evidence.storage import FileStorage
from monitor.fetch.result import FetchResult
from monitor.page import ChangeKind, PageSnapshot
from monitor.services.audit import COMMAND_LINE
from monitor.services.briefings import BriefingQuery
from monitor.urls import url_key
from monitor.vocabulary import DateSource, FetchMode, ItemType, JudgedBy, MarkAction, RunStatus, SummaryBy, Verdict

NOW = dt.datetime.now(dt.UTC) - dt.timedelta(minutes=2)
TODAY = NOW.astimezone(ZoneInfo("Asia/Shanghai")).date()  # in the service's own time zone
PAGE = """<html><head><title>通知</title><meta name="PubDate" content="2026-11-20"></head><body>
<ul><li>2026-11-20</li><li><a href="/tz/9.html">另一则</a> 2026-11-20</li></ul>
<p>首页 要闻 政务公开 互动交流</p><h1>关于光伏发电的通知（1）</h1><p>发布日期：2026-11-20</p>
<p>全省共有光伏电站一百二十座，<b>总装机</b>容量3.5万千瓦。</p><script>alert(1)</script>
<p>&lt;img src=x onerror=alert(2)&gt; 请于月底前报送。</p></body></html>"""


@dataclass
class Shelf:
    """Items of two sources, the newest with a saved page behind it."""

    desk: Any
    ids: list[int]

    @property
    def first(self) -> int:
        return self.ids[0]


@pytest.fixture
async def shelf(desk: Any) -> Shelf:
    store = desk.app.store
    ids = []
    for name, tags in (("示例部", ["能源"]), ("乙委", [])):
        source = await store.sources.add(Source(name=name, url=f"https://{name}.example/", tags=tags, created_at=NOW))
        await store.runs.create(
            Run(id=f"run-{name}", source_id=source.id, source=name, status=RunStatus.SUCCEEDED, planned_at=NOW)
        )
        for number in (1, 2, 3):
            url = f"https://{name}.example/tz/{number}.html"
            item = Item(
                source_id=source.id,
                run_id=f"run-{name}",
                source=name,
                section="通知公告",
                url=url,
                url_key=url_key(url),
                title=f"关于{'光伏发电' if number == 1 else '储能'}的通知（{number}）",
                date=dt.date(2026, 11, 21 - number),
                date_source=DateSource.LISTED,
                type=ItemType.NOTICE,
                summary="部署<b>专项</b>检查。",
                summary_by=SummaryBy.EXTRACT,
                rank=number,
                tier=4,
                language="zh",
                document_number="示发〔2026〕7号" if number == 1 else None,
                first_seen=NOW,
                late=number == 3,
            )
            saved, _ = await store.items.save(item)
            await store.items.update(saved.id, text=f"正文第{number}篇：分布式电站并网。")
            ids.append(saved.id)
    return Shelf(desk, ids)


async def keep(shelf: Shelf, claims: list[tuple[ClaimKind, str, str]], body: bytes | None = None) -> str:
    """A record of the first item's page, with claims on it."""
    app = shelf.desk.app
    records = EvidenceArchive(store=app.store, storage=FileStorage(str(app.settings.data_dir)))
    recorder = records.create_recorder("run-示例部", attempt=1)
    result = FetchResult(
        url="https://示例部.example/tz/1.html",
        mode=FetchMode.HTTP,
        at=NOW,
        final_url="https://示例部.example/tz/1.html",
        status=200,
        headers={"content-type": "text/html; charset=utf-8"},
        body=body or PAGE.encode(),
    )
    record = await recorder.keep(result)
    await app.store.items.update(shelf.first, evidence=[record])
    rows = [
        Claim(item_id=shelf.first, kind=kind, claim=claim, passage=passage, record_id=record)
        for kind, claim, passage in claims
    ]
    run = "run-示例部"
    snapshot = ItemSnapshot.from_page(shelf.first, run, PageSnapshot(url="https://x.example", seen_at=NOW))
    await app.store.revisions.save(snapshot, claims=ClaimUpdate({shelf.first: rows}, replaced_kinds=frozenset()))
    return record


async def titles(browser: Any, query: str) -> list[int]:
    answer = await browser.get(f"/api/v1/items?{query}")
    assert answer.status_code == 200, answer.text
    return [item["id"] for item in answer.json()["items"]]


async def test_a_search_that_stopped_early_says_how_far_it_read_and_goes_on(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fulltext, "MAX_PAGE_TEXTS", 1)
    browser = await shelf.desk.sign_in("reader")
    first = (await browser.get("/api/v1/items", params={"q": "正文第3篇"})).json()
    second = (await browser.get("/api/v1/items", params={"q": "正文第3篇", "cursor": first["next"]})).json()
    assert first["searched_since"] == "2026-11-18"
    assert [item["id"] for item in [*first["items"], *second["items"]]] == [shelf.ids[5], shelf.ids[2]]
    shown = (await browser.get("/items", params={"q": "正文第3篇"})).text
    assert "2026-11-18 so far" in shown or "目前已查找到 2026-11-18" in shown
    assert 'rel="next"' in shown


async def test_the_list_is_narrowed_by_every_filter(shelf: Shelf) -> None:
    browser = await shelf.desk.sign_in("reader")
    ids = shelf.ids
    assert await titles(browser, "") == [ids[3], ids[0], ids[4], ids[1], ids[5], ids[2]]
    assert await titles(browser, "source=乙委") == ids[3:]
    assert await titles(browser, "tag=能源") == ids[:3]
    assert await titles(browser, "type=规划") == []
    assert await titles(browser, "since=2026-11-20") == [ids[3], ids[0]]
    assert await titles(browser, "until=2026-11-18") == [ids[5], ids[2]]
    assert await titles(browser, "section=公告&document_number=示发[2026]7号") == [ids[3], ids[0]]
    assert await titles(browser, "section=没有") == []
    assert await titles(browser, "language=zh&late=true") == [ids[5], ids[2]]
    assert await titles(browser, "language=en") == []
    assert await titles(browser, "q=光伏发电") == [ids[3], ids[0]]
    assert await titles(browser, "q=并网 第2篇") == [ids[4], ids[1]]


@pytest.mark.parametrize("fewest", [1, 2, 2000])
async def test_many_marked_items_are_listed_as_few_are(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, fewest: int
) -> None:
    monkeypatch.setattr("monitor.db.queries.items._MIN_SCANNED_IDS", fewest)
    browser, ids = await shelf.desk.sign_in("reader"), shelf.ids
    await shelf.desk.app.store.marks.mark(MarkAction.STAR, ids[1:5], person="reader", at=NOW)
    await shelf.desk.app.store.marks.mark(MarkAction.LATER, [ids[4]], person="reader", at=NOW)
    await shelf.desk.app.store.marks.mark(MarkAction.HIDE, [ids[2]], person="editor", at=NOW)
    assert await titles(browser, "starred=true") == [ids[3], ids[4], ids[1]]
    assert await titles(browser, "starred=true&source=乙委") == [ids[3], ids[4]]
    assert await titles(browser, "starred=true&later=true") == [ids[4]]
    assert (await browser.get("/api/v1/items?starred=true")).json()["total"] == 3


async def test_figures_of_one_sentence_share_its_passage(shelf: Shelf) -> None:
    sentence = "全省共有光伏电站一百二十座，总装机 容量3.5万千瓦。"
    figures = [(ClaimKind.FIGURE, figure, sentence) for figure in ("一百二十座", "3.5万千瓦")]
    await keep(shelf, [*figures, (ClaimKind.DATE, "2026-11-20", "发布时间 2026-11-20")])
    page = LexborHTMLParser((await (await shelf.desk.sign_in("reader")).get(f"/items/{shelf.first}")).text)
    rows = [
        (row.css_first("p.claim > span:not([class])"), row.css_first("blockquote"))
        for row in page.css("ul.claims > li")
    ]
    assert [said.text() for said, _ in rows] == ["一百二十座", "3.5万千瓦", "2026-11-20"]
    assert [passage and passage.text() for _, passage in rows] == [None, sentence, "发布时间 2026-11-20"]


async def test_a_list_goes_on_where_its_cursor_says(shelf: Shelf) -> None:
    browser = await shelf.desk.sign_in("reader")
    for query in ("", "&q=通知"):
        seen, address = [], f"/api/v1/items?limit=4{query}"
        answer = (await browser.get(address)).json()
        seen += [item["id"] for item in answer["items"]]
        assert answer["total"] in (6, None)
        answer = (await browser.get(f"{address}&cursor={answer['next']}")).json()
        seen += [item["id"] for item in answer["items"]]
        assert answer["next"] is None
        assert sorted(seen) == sorted(shelf.ids)
        assert len(seen) == 6
    for wrong in ("x", "WyJ4Iiw3XQ", "WzcsIngiXQ"):
        assert (await browser.get(f"/api/v1/items?cursor={wrong}")).status_code == 400
    assert (await browser.get("/api/v1/items?q=。")).status_code == 400
    assert (await browser.get("/api/v1/items?source=never")).status_code == 404
    for wrong in ("since=2026-02-30", "since=0", "seen_since=0", "seen_since=2026-02-03T08:00:00"):
        assert (await browser.get(f"/api/v1/items?{wrong}")).status_code == 422
    seen = NOW.astimezone(ZoneInfo("Asia/Shanghai"))
    assert len(await titles(browser, f"seen_since={quote(seen.isoformat())}")) == 6
    assert await titles(browser, f"seen_since={quote((seen + dt.timedelta(seconds=1)).isoformat())}") == []


async def test_the_page_marks_what_was_searched_for_and_nothing_of_it_is_markup(shelf: Shelf) -> None:
    browser = await shelf.desk.sign_in("reader")
    page = await browser.get("/items?q=光伏发电&source=&since=")
    assert "关于<mark>光伏发电</mark>的通知" in page.text
    assert "示例部" in page.text
    assert "&lt;b&gt;专项&lt;/b&gt;" in (await browser.get("/items")).text
    assert "没有" in (await browser.get("/items?q=风电")).text
    assert (await browser.get("/items?since=yesterday")).status_code == 400
    wrong = await browser.get("/items?q=。", headers={"Accept-Language": "en"})
    assert wrong.status_code == 200
    assert "nothing to search for" in wrong.text


async def test_a_star_is_given_and_taken_with_and_without_a_script(shelf: Shelf) -> None:
    browser, other = await shelf.desk.sign_in("reader"), await shelf.desk.sign_in("editor")
    assert (await browser.send("PUT", f"/api/v1/items/{shelf.first}/star")).status_code == 204
    assert await titles(browser, "starred=true") == [shelf.first]
    assert await titles(other, "starred=true") == []
    page = (await browser.get("/items?starred=true")).text
    assert 'aria-pressed="true"' in page
    answer = await browser.post("/items/marks", {"do": f"unstar-{shelf.first}", "back": "/items?starred=true"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/items?starred=true")
    answer = await browser.post("/items/marks", {"do": f"star-{shelf.first}", "back": "//evil.example/"})
    assert answer.headers["location"] == "/"
    assert (await browser.send("DELETE", f"/api/v1/items/{shelf.first}/star")).status_code == 204
    assert await titles(browser, "starred=true") == []
    assert (await browser.send("PUT", "/api/v1/items/999/star")).status_code == 404


async def test_a_hidden_item_leaves_lists_feeds_exports_and_briefings_until_it_is_shown(shelf: Shelf) -> None:
    reader, editor = await shelf.desk.sign_in("reader"), await shelf.desk.sign_in("editor")
    path = f"/api/v1/items/{shelf.first}"
    assert (await reader.send("PUT", f"{path}/hidden", json={"reason": "重复"})).status_code == 403
    assert (await reader.post("/items/marks", {"do": f"hide-{shelf.first}"})).status_code == 403
    assert (await reader.send("POST", "/api/v1/items/marks", json={"action": "hide", "items": [1]})).status_code == 403
    hidden = await editor.send("PUT", f"{path}/hidden", json={"reason": "重复"})
    assert hidden.json() | {"at": ""} == {"person": "editor", "reason": "重复", "at": ""}
    assert shelf.first not in await titles(reader, "")
    assert await titles(reader, "hidden=only") == [shelf.first]
    assert shelf.first in await titles(reader, "hidden=both")
    assert "https://示例部.example/tz/1.html" not in (await reader.get("/feeds/items.atom")).text
    assert "https://示例部.example/tz/1.html" not in (await reader.get("/api/v1/items/export")).text
    page = (await editor.get(f"/items/{shelf.first}")).text
    assert "重复" in page
    assert (await editor.post("/items/marks", {"do": f"unhide-{shelf.first}"})).status_code == 303
    assert shelf.first in await titles(reader, "")
    actions = [(entry.person, entry.action, entry.detail) for entry in await shelf.desk.app.audit.list_entries()]
    assert ("editor", "item.show", {"before": "重复"}) in actions
    assert ("editor", "item.hide", {"after": "重复"}) in actions


async def mark(browser: Any, action: str, *items: int) -> list[int]:
    answer = await browser.send("POST", "/api/v1/items/marks", json={"action": action, "items": list(items)})
    assert answer.status_code == 200, answer.text
    changed: list[int] = answer.json()["changed"]
    return changed


async def test_marking_names_what_it_changed_so_that_the_opposite_undoes_just_that(shelf: Shelf) -> None:
    editor, other = await shelf.desk.sign_in("editor"), await shelf.desk.sign_in("reader")
    one, two, three = shelf.ids[:3]
    for action, opposite, filters in (
        ("star", "unstar", "starred=true"),
        ("later", "not_later", "later=true"),
        ("hide", "unhide", "hidden=only"),
    ):
        assert await mark(editor, action, two) == [two]
        assert await mark(editor, action, two, three, 9999) == [three]
        assert set(await titles(editor, filters)) == {two, three}
        assert set(await titles(other, filters)) == ({two, three} if action == "hide" else set())
        assert await mark(editor, opposite, three) == [three]
        assert await titles(editor, filters) == [two]
        assert await mark(editor, opposite, one, two) == [two]
        assert await titles(editor, filters) == []


async def test_an_item_is_unread_until_somebody_reads_it_or_all(shelf: Shelf) -> None:
    browser, other = await shelf.desk.sign_in("reader"), await shelf.desk.sign_in("editor")
    assert set(await titles(browser, "unread=true")) == set(shelf.ids)
    assert await mark(browser, "read", shelf.first) == [shelf.first]
    assert await mark(browser, "read", shelf.first) == []
    assert set(await titles(browser, "unread=true")) == {*shelf.ids[1:]}
    assert set(await titles(other, "unread=true")) == set(shelf.ids)
    listed = (await browser.get("/api/v1/items")).json()["items"]
    assert [entry["id"] for entry in listed if not entry["unread"]] == [shelf.first]

    earlier = (NOW - dt.timedelta(hours=1)).isoformat()
    assert (await browser.send("PUT", "/api/v1/items/read-until", json={"until": earlier})).status_code == 204
    assert len(await titles(browser, "unread=true")) == 5
    answer = await browser.post("/items/read-all", {"until": NOW.isoformat(), "back": "/items"})
    assert answer.status_code == 303
    assert await titles(browser, "unread=true") == []
    assert await mark(browser, "unread", shelf.ids[2]) == [shelf.ids[2]]
    assert await titles(browser, "unread=true") == [shelf.ids[2]]


async def test_the_order_of_importance_goes_on_where_its_cursor_says(shelf: Shelf) -> None:
    store, browser = shelf.desk.app.store, await shelf.desk.sign_in("reader")
    for item_id, tier in zip(shelf.ids, (3, 1, None, 2, 1, 3), strict=True):
        await store.items.update(item_id, tier=tier)
    one, two, three, four, five, six = shelf.ids
    cursor, found = "", []
    for _ in range(6):
        answer = (await browser.get(f"/api/v1/items?sort=importance&limit=1&cursor={cursor}")).json()
        found += [entry["id"] for entry in answer["items"]]
        cursor = answer["next"] or ""
    assert found == [five, two, four, one, six, three]
    assert cursor == ""
    assert set(await titles(browser, "tier=1&tier=2")) == {two, four, five}
    assert (await browser.get("/api/v1/items?sort=importance&cursor=WyIyMDI2LTExLTIwIiwxXQ")).status_code == 400


async def test_a_view_keeps_filters_under_a_name_with_its_count(shelf: Shelf) -> None:
    browser, other = await shelf.desk.sign_in("reader"), await shelf.desk.sign_in("editor")
    saved = await browser.post("/items/views", {"name": " 储能 ", "filters": "source=示例部&q=储能&tier=4"})
    assert saved.status_code == 303
    views = (await browser.get("/api/v1/items/views")).json()["views"]
    assert views == [{"name": "储能", "filters": {"q": "储能", "source": ["示例部"], "tier": [4]}}]
    page = (await browser.get("/items")).text
    assert re.search(r">储能 <span class=\"soft\">2</span>", page)
    assert "储能 <span" not in (await other.get("/items")).text
    assert (await browser.post("/items/views", {"name": " ", "filters": "tier=4"})).status_code == 400
    assert (await browser.post("/items/views", {"name": "x", "filters": "tier=9"})).status_code == 400
    for flag in ("late", "changed", "unread", "later", "starred"):
        number = await browser.send("PUT", "/api/v1/items/views/x", json={"filters": {flag: 0}})
        assert number.status_code == 422, flag
        word = await browser.send("PUT", "/api/v1/items/views/x", json={"filters": {flag: False}})
        assert word.status_code == 200, flag
    for name in ("x", "储能"):
        assert (await browser.send("DELETE", f"/api/v1/items/views/{name}")).status_code == 204
    assert (await browser.get("/api/v1/items/views")).json()["views"] == []


async def test_items_are_put_into_a_briefing_by_importance_and_taken_out_again(shelf: Shelf) -> None:
    store, editor = shelf.desk.app.store, await shelf.desk.sign_in("editor")
    one, two, three = shelf.ids[:3]
    for item_id, tier in ((one, 3), (two, 1), (three, 2)):
        await store.items.update(item_id, tier=tier)
    answer = await editor.send("POST", "/api/v1/briefings/blank", json={"language": "zh"})
    assert answer.status_code == 201, answer.text
    made = answer.json()
    path = f"/api/v1/briefings/{made['id']}"

    async def shown() -> list[int]:
        return [item["id"] for item in (await editor.get(path)).json()["briefing"]["items"]]

    assert await shown() == []
    for item_id in (one, two, three):
        answer = await editor.send("POST", f"{path}/items", json={"items": [item_id, 9999]})
        assert answer.json()["added"] == [item_id]
    assert await shown() == [two, three, one]
    assert (await editor.send("POST", f"{path}/items", json={"items": [two]})).json()["added"] == []
    assert (await editor.send("POST", f"{path}/items/remove", json={"items": [two]})).status_code == 204
    assert await shown() == [three, one]
    document = (await editor.get(f"{path}/export?format=md")).text
    assert "关于储能的通知（3）" in document
    assert "关于储能的通知（2）" not in document
    answer = await editor.post("/items/marks", {"do": "collect", "items": str(two), "briefing": str(made["id"])})
    assert answer.status_code == 303
    assert await shown() == [two, three, one]
    page = (await editor.get(f"/briefings/{made['id']}/edit")).text
    assert page.index("关于储能的通知（2）") < page.index("关于储能的通知（3）")
    reader = await shelf.desk.sign_in("reader")
    assert (await reader.send("POST", f"{path}/items", json={"items": [one]})).status_code == 403


async def test_notes_are_for_everybody_and_only_their_writer_removes_them(shelf: Shelf) -> None:
    reader, editor = await shelf.desk.sign_in("reader"), await shelf.desk.sign_in("editor")
    path = f"/api/v1/items/{shelf.first}"
    note = (await reader.send("POST", f"{path}/notes", json={"text": "看\u0000第三条 <i>"})).json()
    assert (note["person"], note["text"]) == ("reader", "看第三条 <i>")
    assert "看第三条 &lt;i&gt;" in (await editor.get(f"/items/{shelf.first}")).text
    assert (await editor.send("DELETE", f"{path}/notes/{note['id']}")).status_code == 400
    assert (await reader.send("DELETE", f"{path}/notes/999")).status_code == 404
    assert (await reader.send("POST", f"{path}/notes", json={"text": ""})).status_code == 422
    assert (await reader.post(f"/items/{shelf.first}/notes", {"text": "二"})).status_code == 303
    assert (await reader.send("DELETE", f"{path}/notes/{note['id']}")).status_code == 204
    assert [note["text"] for note in (await reader.get(path)).json()["notes"]] == ["二"]


async def test_feedback_says_what_the_next_ranking_will_do(shelf: Shelf) -> None:
    reader = await shelf.desk.sign_in("reader")
    path = f"/api/v1/items/{shelf.first}"
    assert (await reader.send("PUT", f"{path}/feedback", json={"wish": "sideways"})).status_code == 422
    assert (await reader.send("PUT", f"{path}/feedback", json={"wish": "higher"})).status_code == 204
    detail = (await reader.get(path)).json()
    assert (detail["lift"], [feedback["wish"] for feedback in detail["feedback"]]) == ("higher", ["higher"])
    like = (await reader.get(f"/api/v1/items/{shelf.ids[1]}")).json()
    assert (like["lift"], like["feedback"], [like_feedback["item"] for like_feedback in like["like_feedback"]]) == (
        "higher",
        [],
        [shelf.first],
    )
    assert (await reader.get(f"/api/v1/items/{shelf.ids[3]}")).json()["lift"] is None
    assert (await reader.post(f"/items/{shelf.first}/feedback", {"wish": "none"})).status_code == 303
    assert (await reader.get(path)).json()["feedback"] == []


async def test_evidence_leads_to_the_passage_on_the_saved_page(shelf: Shelf) -> None:
    reader, admin = await shelf.desk.sign_in("reader"), await shelf.desk.sign_in("admin")
    record = await keep(
        shelf,
        [
            (ClaimKind.FIGURE, "3.5万千瓦", "全省共有光伏电站一百二十座，总装机 容量3.5万千瓦。"),
            (ClaimKind.DATE, "2026-11-20", "2026-11-20"),
            (ClaimKind.PAGE, "https://示例部.example/tz/1.html", ""),
            (ClaimKind.ATTACHMENT, "https://示例部.example/tz/9.html", "/tz/9.html"),
            (ClaimKind.SUMMARY, "没有的话。", "这句话不在页面上。"),
        ],
    )
    proof = (await reader.get(f"/api/v1/items/{shelf.first}/evidence")).json()
    assert [claim["kind"] for claim in proof["claims"]] == ["figure", "date", "page", "attachment", "summary"]
    assert [record["file"] for record in proof["records"]] == [None]
    admins = (await admin.get(f"/api/v1/items/{shelf.first}/evidence")).json()
    assert admins["records"][0]["file"].endswith(".warc.gz")
    page = (await reader.get(f"/items/{shelf.first}")).text
    assert f"/items/{shelf.first}/saved?claim=1#passage" in page
    saved = await reader.get(f"/items/{shelf.first}/saved?claim=1")
    assert '<mark id="passage">全省共有光伏电站一百二十座，总装机容量3.5万千瓦。</mark>' in saved.text
    assert record in saved.text
    assert "<script>alert" not in saved.text
    assert "&lt;img src=x onerror=alert(2)&gt;" in saved.text
    answer = (await reader.get(f"/api/v1/items/{shelf.first}/saved?claim=2")).json()
    assert answer["text"][answer["start"] : answer["end"]] == "2026-11-20"
    assert answer["text"][: answer["start"]].endswith(
        "发布日期："
    )  # the one beside the title, not the first on the page
    whole = (await reader.get(f"/api/v1/items/{shelf.first}/saved?claim=3")).json()
    assert (whole["start"], whole["text"].count("2026-11-20")) == (None, 3)
    source = (await reader.get(f"/api/v1/items/{shelf.first}/saved?claim=4")).json()
    assert source["is_source"]
    assert source["text"][source["start"] : source["end"]] == "/tz/9.html"
    lost = await reader.get(f"/items/{shelf.first}/saved?claim=5")
    assert "<mark" not in lost.text
    assert "这句话不在页面上" in lost.text
    assert (await reader.get(f"/api/v1/items/{shelf.first}/saved?claim=6")).status_code == 404
    assert (await reader.get(f"/api/v1/items/{shelf.ids[1]}/saved")).status_code == 404


async def test_a_record_that_was_altered_proves_nothing_and_that_is_said(shelf: Shelf) -> None:
    reader = await shelf.desk.sign_in("reader")
    await keep(shelf, [(ClaimKind.FIGURE, "3.5万千瓦", "总装机容量3.5万千瓦")])
    (file,) = shelf.desk.app.settings.data_dir.rglob("*.warc.gz")
    file.write_bytes(b"something else")
    answer = (await reader.get(f"/api/v1/items/{shelf.first}/saved?claim=1")).json()
    assert (answer["text"], answer["start"]) == ("", None)
    assert answer["problem_code"] == "record.altered"
    for path in (f"/items/{shelf.first}", f"/items/{shelf.first}/saved?claim=1"):
        page = await reader.get(path)
        assert page.status_code == 200
        assert "证明" in page.text


async def test_changes_are_shown_as_a_difference(shelf: Shelf) -> None:
    reader = await shelf.desk.sign_in("reader", language="en")
    store = shelf.desk.app.store
    edit = {
        "op": "changed",
        "part": "article",
        "article": "第三条",
        "before": "补贴每瓦3元。",
        "after": "补贴每瓦5元<b>。",
    }
    revision = Revision(
        item_id=shelf.first, run_id="run-示例部", seen_at=NOW, kind=ChangeKind.CHANGED, edits=[edit], more_edits=2
    )
    snapshot = ItemSnapshot.from_page(shelf.first, "run-示例部", PageSnapshot(url="https://x.example", seen_at=NOW))
    await store.revisions.save(snapshot, revision=revision)
    page = (await reader.get(f"/items/{shelf.first}")).text
    assert '<del><span class="unseen">removed: </span>3</del>' in page
    assert '<ins><span class="unseen">added: </span>5</ins>' in page
    assert "&lt;b&gt;" in page
    assert "第三条 changed." in page
    assert "and 2 more changes" in page


async def test_copies_of_a_document_name_each_other(shelf: Shelf) -> None:
    reader = await shelf.desk.sign_in("reader")
    detail = (await reader.get(f"/api/v1/items/{shelf.first}")).json()
    assert [copy["id"] for copy in detail["copies"]] == [shelf.ids[3]]
    assert (await reader.get(f"/api/v1/items/{shelf.ids[1]}")).json()["interpretations"] == []
    assert f'href="/items/{shelf.ids[3]}"' in (await reader.get(f"/items/{shelf.first}")).text


async def test_exports_and_the_feed_hold_what_the_filters_leave(shelf: Shelf) -> None:
    reader = await shelf.desk.sign_in("reader")
    answer = await reader.get("/api/v1/items/export?format=csv&source=乙委")
    assert 'filename="items.csv"' in answer.headers["content-disposition"]
    assert len(list(csv.DictReader(io.StringIO(answer.text.removeprefix("\ufeff"))))) == 3
    assert len(json.loads((await reader.get("/api/v1/items/export?format=json&q=光伏")).text)["items"]) == 2
    assert (await reader.get("/api/v1/items/export?format=xlsx")).content.startswith(b"PK")
    assert (await reader.get("/api/v1/items/export?format=pdf")).status_code == 422
    feed = await reader.get("/feeds/items.atom?type=通知&limit=2")
    assert feed.headers["content-type"].startswith("application/atom+xml")
    root = etree.fromstring(feed.content)
    assert len(root.findall("{http://www.w3.org/2005/Atom}entry")) == 2


async def test_feed_readers_sign_in_with_a_token_as_their_password(shelf: Shelf) -> None:
    token = await shelf.desk.app.tokens.create("reader-program", "reader", scopes=["read"], by=COMMAND_LINE)
    nobody = await shelf.desk.client()
    assert (await nobody.get("/feeds/items.atom")).status_code == 401
    assert (await nobody.get("/feeds/items.atom", auth=("any", token))).status_code == 200
    assert (await nobody.get("/feeds/items.atom", auth=("any", "wrong"))).status_code == 401
    assert (await nobody.get(f"/feeds/items.atom?token={token}")).status_code == 401


async def test_no_item_is_no_page(shelf: Shelf) -> None:
    reader = await shelf.desk.sign_in("reader")
    for path in (
        "/items/999",
        "/items/999/saved",
        "/api/v1/items/999",
        "/api/v1/items/999/evidence",
        "/api/v1/items/999/saved",
    ):
        assert (await reader.get(path)).status_code == 404
    assert (await reader.get("/api/v1/items/0")).status_code == 422


async def judge(shelf: Shelf, rows: list[tuple[str, Verdict, JudgedBy, str, list[dict[str, Any]]]]) -> None:
    """Verdicts on the sentences of the first item's summary, as a run stores them."""
    record = await keep(shelf, [(ClaimKind.PAGE, "https://示例部.example/tz/1.html", "")])
    claims = [
        Claim(
            item_id=shelf.first,
            kind=ClaimKind.SUMMARY,
            claim=sentence,
            passage=passage,
            record_id=record,
            verdict=verdict,
            judged_by=by,
            reasons=reasons,
        )
        for sentence, verdict, by, passage, reasons in rows
    ]
    snapshot = ItemSnapshot.from_page(shelf.first, "run-示例部", PageSnapshot(url="https://x.example", seen_at=NOW))
    await shelf.desk.app.store.revisions.save(
        snapshot, claims=ClaimUpdate({shelf.first: claims}, replaced_kinds=frozenset({ClaimKind.SUMMARY}))
    )


SENTENCES = ("总装机容量3.5万千瓦。", "检查<b>覆盖</b>全省。", "材料月底前报送。")


@pytest.fixture
async def judged_shelf(shelf: Shelf) -> Shelf:
    await judge(
        shelf,
        [
            (SENTENCES[0], Verdict.SUPPORTED, JudgedBy.CODE, "总装机容量3.5万千瓦", []),
            (SENTENCES[1], Verdict.UNCHECKED, JudgedBy.CODE, "", [{"code": "quantifier", "args": {"said": "<i>全省"}}]),
            (SENTENCES[2], Verdict.SUPPORTED, JudgedBy.MODEL, "请于月底前报送。", []),
        ],
    )
    counts = {"supported_by_code": 1, "supported_by_model": 1, "unchecked": 1, "contradicted": 1, "unsupported": 0}
    await shelf.desk.app.store.items.update(
        shelf.first, summary="".join(SENTENCES), summary_by=SummaryBy.MODEL, statements=counts
    )
    return shelf


@pytest.mark.parametrize(
    ("language", "verdicts", "reason", "counts"),
    [
        (
            "zh",
            ["有依据 · 程序核对", "未核实", "有依据 · 模型复查"],
            "“&lt;i&gt;全省”",
            "共 3 句：1 句经程序核对有依据、1 句经模型复查有依据、1 句未核实、1 句与原文矛盾已删",
        ),
        (
            "en",
            ["supported · by code", "not verified", "supported · by a second reader"],
            "so many, or so few: &lt;i&gt;全省",
            (
                "3 sentences: 1 supported by code, 1 supported by a second reader, 1 not verified, "
                "1 dropped as contradicted"
            ),
        ),
    ],
)
async def test_the_page_has_the_verdict_and_its_passage_beside_each_sentence(
    judged_shelf: Shelf, language: str, verdicts: list[str], reason: str, counts: str
) -> None:
    browser = await judged_shelf.desk.sign_in("reader", language=language)
    page = (await browser.get(f"/items/{judged_shelf.first}")).text
    tree = etree.HTML(page)
    sentences = tree.xpath("//ul[@class='statements']/li")
    assert [sentence.find("span").text for sentence in sentences] == list(SENTENCES)
    said = [" ".join("".join(sentence.xpath("details/summary//text()")).split()) for sentence in sentences]
    assert [words[2:] for words in said] == verdicts
    assert [words[0] for words in said] == ["✓", "†", "✓"]
    passages = [sentence.xpath("string(details/blockquote)") for sentence in sentences]
    assert passages == ["总装机容量3.5万千瓦", "", "请于月底前报送。"]
    links = [sentence.xpath("details//a/@href")[0] for sentence in sentences]
    assert links == [f"/items/{judged_shelf.first}/saved?claim={number}" + tail for number, tail in NUMBERED]
    assert (await browser.get(links[0])).status_code == 200
    assert reason in page
    assert counts in page
    claims = tree.xpath("//ul[@class='claims']//span[not(@class)]/text()")
    assert not set(claims) & set(SENTENCES), "each sentence is shown once"


NUMBERED = ((2, "#passage"), (3, ""), (4, "#passage"))


async def test_an_item_that_nothing_judged_is_shown_as_ever(shelf: Shelf) -> None:
    await keep(shelf, [(ClaimKind.SUMMARY, "部署<b>专项</b>检查。", "总装机容量3.5万千瓦")])
    browser = await shelf.desk.sign_in("reader")
    page = (await browser.get(f"/items/{shelf.first}")).text
    assert '<p class="summary" lang="zh">部署&lt;b&gt;专项&lt;/b&gt;检查。</p>' in page
    assert 'class="verdict"' not in page
    assert "未核实" not in page
    assert (await browser.get(f"/api/v1/items/{shelf.first}")).json()["statements"] is None


async def test_programs_get_verdicts_and_counts(judged_shelf: Shelf) -> None:
    browser = await judged_shelf.desk.sign_in("reader")
    whole = (await browser.get(f"/api/v1/items/{judged_shelf.first}")).json()
    assert (whole["statements"]["supported_by_model"], whole["statements"]["unchecked"]) == (1, 1)
    claims = (await browser.get(f"/api/v1/items/{judged_shelf.first}/evidence")).json()["claims"]
    assert [(claim["verdict"], claim["judged_by"]) for claim in claims] == [
        (None, None),
        ("supported", "code"),
        ("unchecked", "code"),
        ("supported", "model"),
    ]
    assert claims[2]["reasons"] == [{"code": "quantifier", "args": {"said": "<i>全省"}}]
    exported = (await browser.get("/api/v1/items/export?format=csv&q=光伏发电&source=示例部")).text
    row = next(csv.DictReader(io.StringIO(exported.removeprefix("\ufeff"))))
    assert json.loads(row["statements"])["unchecked"] == 1
    assert "近 7 天的摘要： 共 3 句" in " ".join((await browser.get("/health")).text.split())
    assert (await browser.get("/api/v1/health")).json()["machine"]["statements"]["supported_by_model"] == 1
    metrics = (await browser.get("/metrics")).text
    assert 'monitor_statements_total{by="code",verdict="supported"} 1.0' in metrics
    assert 'monitor_statements_total{by="",verdict="contradicted"} 1.0' in metrics


async def test_lists_and_briefings_mark_what_nothing_could_verify(judged_shelf: Shelf) -> None:
    browser = await judged_shelf.desk.sign_in("reader")
    assert "摘要中有未能核实的句子" in (await browser.get("/items?q=光伏发电&source=示例部")).text
    assert "摘要中有未能核实的句子" not in (await browser.get("/items?source=乙委")).text
    feed = etree.fromstring((await browser.get("/feeds/items.atom?lang=zh&q=光伏发电&source=示例部")).content)
    assert feed.xpath("//*[local-name()='summary']/text()") == [f"{''.join(SENTENCES)}（† 1 句未核实）"]
    briefing = await judged_shelf.desk.app.briefings.compose(BriefingQuery(day=TODAY, sources=["示例部"]))
    [item] = [item for item in briefing.items if item.id == judged_shelf.first]
    assert item.unchecked == ["检查<b>覆盖</b>全省。"]
    assert (briefing.statements.unchecked, briefing.statements.shown) == (1, 3)
