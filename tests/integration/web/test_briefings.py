"""Briefings on the pages and over HTTP: composed, kept, put in order by two people, exported, sent."""

import datetime as dt
import io
import re
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from docx import Document
from openpyxl import load_workbook

from monitor.bootstrap import App
from monitor.config.model import Settings
from monitor.config.targets import TargetSettings
from monitor.db.tables.collection import Item, Run, Source
from monitor.services.audit import COMMAND_LINE
from monitor.vocabulary import ItemType, RunStatus

TITLES = ["中华人民共和国能源法", "关于举办培训班的通知", "2026年1月份能源生产情况"]
TYPES = [ItemType.LAW, ItemType.NOTICE, ItemType.DATA]

Fill = Callable[..., Awaitable[list[int]]]


@pytest.fixture
def desk_settings() -> Callable[[Settings], Settings]:
    """A target that goes to a mail server which nobody started, on a port that nobody listens on."""
    target = TargetSettings(name="weekly", url="smtp://127.0.0.1:9", sender="m@example.org", to=["a@example.org"])

    def change(settings: Settings) -> Settings:
        settings.deliver.targets = [target]
        settings.network.allowed_private_hosts = ["127.0.0.1:9"]
        return settings

    return change


@pytest.fixture
def fill(desk: Any) -> Fill:
    """Puts three items of a source on record, first seen now."""
    return lambda **fields: filled(desk.app, **fields)


async def filled(app: App, name: str = "能源局") -> list[int]:
    now = dt.datetime.now(dt.UTC)
    source = await app.store.sources.add(Source(name=name, url="https://gov.example/", created_at=now, tags=["能源"]))
    run = Run(id=f"run-{name}", source_id=source.id, source=name, status=RunStatus.SUCCEEDED, planned_at=now)
    await app.store.runs.create(run)
    items = [
        Item(
            source_id=source.id,
            source=name,
            run_id=run.id,
            url=f"https://gov.example/{place}",
            url_key=str(place),
            title=title,
            type=kind,
            date=now.date(),
            first_seen=now,
            section="通知",
            summary=f"{title}的摘要。",
            rank=place,
        )
        for place, (title, kind) in enumerate(zip(TITLES, TYPES, strict=True), start=1)
    ]
    return [item.id or 0 for item, _ in await app.store.items.save_all(items)]


async def saved(desk: Any, **wanted: Any) -> dict[str, Any]:
    editor = await desk.sign_in("editor")
    answer = await editor.send("POST", "/api/v1/briefings", json=wanted)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def composed_page(desk: Any, person: Any, **wanted: str) -> str:
    """The page of a briefing after somebody had it composed."""
    answer = await person.post("/briefings/now", _defaults() | wanted)
    assert answer.status_code == 303, answer.text
    await desk.app.kept_briefings.wait()
    return str((await person.get(answer.headers["location"])).text)


async def test_a_briefing_is_composed_when_somebody_asks_and_only_looked_at_from_then_on(desk: Any, fill: Fill) -> None:
    await fill()
    reader = await desk.sign_in("reader")
    address = f"/briefings/now?{urlencode(_defaults())}"
    before = (await reader.get(address)).text
    assert "这份简报还没有生成过" in before
    assert TITLES[0] not in before
    assert (await reader.get(address)).text.count('action="/briefings/now"') == 1
    page = await composed_page(desk, reader)
    assert [page.index(title) for title in TITLES] == sorted(page.index(title) for title in TITLES)
    assert "生成于" in page
    assert 'action="/briefings/new"' not in page
    assert "还没有保存的简报" in (await reader.get("/briefings")).text
    await filled(desk.app, "发改委")
    later = (await reader.get(address)).text
    assert "发改委" not in later
    assert "此后新增：3" in later
    assert "发改委" in await composed_page(desk, reader)


async def test_over_http_a_briefing_is_composed_in_the_background_and_looked_at(desk: Any, fill: Fill) -> None:
    await fill()
    reader = await desk.sign_in("reader")
    wanted = {"days": 1, "language": "en"}
    assert (await reader.send("POST", "/api/v1/briefings/kept/state", json=wanted)).status_code == 404
    begun = await reader.send("POST", "/api/v1/briefings/kept", json=wanted)
    assert (begun.status_code, begun.json()["briefing"]) == (202, None)
    await desk.app.kept_briefings.wait()
    state = (await reader.send("POST", "/api/v1/briefings/kept/state", json=wanted)).json()
    assert (state["stage"], state["is_composing"], state["new_items"]) == ("done", False, 0)
    assert [item["title"] for item in state["briefing"]["items"]] == TITLES
    assert state["briefing"]["headlines"][0]["rank"] == 1


async def test_what_is_sent_is_looked_at_first_tested_and_confirmed(desk: Any, fill: Fill) -> None:
    await fill()
    number = (await saved(desk))["id"]
    editor = await desk.sign_in("editor")
    page = (await editor.get(f"/briefings/{number}/send", params={"target": "weekly"})).text
    assert "a@example.org" in page
    assert "未能看到的内容</h2>" in page
    client = (await editor.get(f"/briefings/{number}/send", params={"target": "weekly", "gaps": "false"})).text
    assert "未能看到的内容</h2>" not in client
    assert await desk.app.deliveries.list(by=COMMAND_LINE) == []
    form = {"target": "weekly", "include_gaps": "false", "test_to": "me@example.org", "is_test": "true"}
    await editor.post(f"/briefings/{number}/send", form)
    (test,) = await desk.app.deliveries.list(by=COMMAND_LINE)
    assert test.test_to == "me@example.org"
    sent = await desk.app.deliveries.get_sent_briefing(test.id, by=COMMAND_LINE)
    assert not sent.include_gaps
    refused = await editor.send(
        "POST", f"/api/v1/briefings/{number}/send", json={"target": "weekly", "test_to": "nobody"}
    )
    assert refused.status_code == 400


async def test_what_cannot_be_composed_is_said_beside_the_form_with_what_was_typed(desk: Any) -> None:
    reader = await desk.sign_in("reader")
    answer = await reader.get(
        "/briefings/now",
        params={"source": "无此来源", "keyword": "碳，电力", "days": "7"},
        headers={"Accept-Language": "en"},
    )
    assert answer.status_code == 400
    assert "There is no source" in answer.text
    assert 'value="碳、电力"' in answer.text
    wrong = await reader.get("/briefings/now", params={"days": "many"})
    assert wrong.status_code == 400
    assert "请填写 1 到 366 之间的整数。" in wrong.text


async def test_what_is_saved_is_the_briefing_that_was_seen(desk: Any, fill: Fill) -> None:
    await fill()
    editor = await desk.sign_in("editor")
    page = await composed_page(desk, editor)
    seen = re.search(r'name="composed_at" value="([^"]+)"', page)
    assert seen
    await filled(desk.app, "发改委")
    answer = await editor.post("/briefings/new", {"composed_at": seen[1]} | _defaults())
    assert "发改委" not in (await editor.get(answer.headers["location"])).text
    await composed_page(desk, editor)
    again = await editor.post("/briefings/new", {"composed_at": seen[1]} | _defaults())
    assert "发改委" in (await editor.get(again.headers["location"])).text


def _defaults() -> dict[str, str]:
    return {"days": "1", "top": "20", "language": "zh", "group": "theme"}


async def test_the_saved_page_shows_overview_order_tier_and_the_way_to_the_evidence(desk: Any, fill: Fill) -> None:
    ids = await fill()
    number = (await saved(desk, group="none"))["id"]
    reader = await desk.sign_in("reader")
    page = (await reader.get(f"/briefings/{number}")).text
    assert f'href="/items/{ids[0]}"' in page
    assert ">全局</span>" in page
    assert "来源情况" in page
    assert f'action="/briefings/{number}/send"' not in page


async def test_an_item_is_moved_by_a_plain_form_and_what_was_typed_stays(desk: Any, fill: Fill) -> None:
    first, second, third = await fill()
    number = (await saved(desk, group="none"))["id"]
    editor = await desk.sign_in("editor")
    form = {
        "version": "1",
        "title": "本周要点",
        "note": "请看第一条",
        "group": "none",
        "has_overview": "true",
        "order": f"top:{first},{second},{third};more:;out:;",
        f"note-{third}": "与我方有关",
    }
    page = await editor.post(f"/briefings/{number}/edit", {**form, "do": f"up-{third}"})
    assert page.status_code == 200
    assert f"top:{first},{third},{second};" in page.text
    assert "与我方有关" in page.text
    assert f'id="up-{third}"' in page.text
    assert "尚未保存" in page.text
    assert (await desk.app.drafts.get(number)).row.version == 1
    again = {**form, "order": f"top:{third},{first};more:;out:{second};", "do": "save"}
    assert (await editor.post(f"/briefings/{number}/edit", again)).status_code == 303
    draft = await desk.app.drafts.get(number)
    shown = draft.briefing
    assert ([item.id for item in shown.items], shown.left_out, shown.title) == ([third, first], 1, "本周要点")
    assert (shown.items[0].note, shown.note) == (
        type(shown.note)(text="与我方有关", by="editor"),
        type(shown.note)(text="请看第一条", by="editor"),
    )


async def test_of_two_who_edit_the_second_loses_nothing_and_sees_the_others_version(desk: Any, fill: Fill) -> None:
    first, second, third = await fill()
    number = (await saved(desk, group="none"))["id"]
    editor, admin = await desk.sign_in("editor"), await desk.sign_in("admin")
    order = f"top:{first},{second},{third};more:;out:;"
    form = {"version": "1", "group": "none", "order": order, "do": "save", "has_overview": "true"}
    await editor.post(f"/briefings/{number}/edit", {**form, "title": "甲的版本", "note": ""})
    page = await admin.post(f"/briefings/{number}/edit", {**form, "title": "乙的版本", f"note-{second}": "乙的批注"})
    assert page.status_code == 409
    assert "其间有人编辑了这份简报：editor" in page.text
    for words in ("甲的版本", "乙的版本", "乙的批注", 'name="version" value="2"'):
        assert words in page.text
    assert (await desk.app.drafts.get(number)).row.title == "甲的版本"
    await admin.post(
        f"/briefings/{number}/edit", {**form, "version": "2", "title": "乙的版本", f"note-{second}": "乙的批注"}
    )
    assert (await desk.app.drafts.get(number)).row.title == "乙的版本"


async def test_over_http_a_briefing_is_put_in_order_by_version(desk: Any, fill: Fill) -> None:
    first, second, third = await fill()
    made = await saved(desk, top=2)
    assert ([item["id"] for item in made["briefing"]["items"]], len(made["briefing"]["more"])) == ([first, second], 1)
    editor = await desk.sign_in("editor")
    wanted = {
        "version": 1,
        "group": "none",
        "items": [{"id": third, "standing": "top", "note": "要点"}, {"id": second, "standing": "out"}],
    }
    answer = await editor.send("PATCH", f"/api/v1/briefings/{made['id']}", json=wanted)
    body = answer.json()
    assert ([item["id"] for item in body["briefing"]["items"]], body["left_out"], body["version"]) == (
        [third, first],
        [second],
        2,
    )
    assert body["briefing"]["items"][0]["note"] == {"text": "要点", "by": "editor"}
    late = await editor.send("PATCH", f"/api/v1/briefings/{made['id']}", json=wanted)
    assert late.status_code == 409
    assert late.json()["code"] == "briefing.edited_since"
    entries = await desk.app.audit.list_entries(action="briefing")
    assert [entry.action for entry in entries] == ["briefing.edit", "briefing.save"]


async def test_the_list_pages_on_and_an_archived_briefing_stays_readable_but_not_to_be_edited(
    desk: Any, fill: Fill
) -> None:
    await fill()
    numbers = [(await saved(desk))["id"] for _ in range(3)]
    editor = await desk.sign_in("editor")
    page = (await editor.get("/api/v1/briefings", params={"limit": 2})).json()
    rest = (await editor.get("/api/v1/briefings", params={"limit": 2, "cursor": page["next"]})).json()
    assert [briefing["id"] for briefing in page["briefings"] + rest["briefings"]] == numbers[::-1]
    assert rest["next"] is None
    assert (await editor.get("/api/v1/briefings", params={"cursor": "none of ours"})).status_code == 400
    assert (await editor.send("DELETE", f"/api/v1/briefings/{numbers[0]}")).json()["archived_at"]
    assert f'href="/briefings/{numbers[0]}"' in (await editor.get("/briefings?state=archived")).text
    refused = await editor.send("PATCH", f"/api/v1/briefings/{numbers[0]}", json={"version": 1, "title": "x"})
    assert refused.status_code == 409
    await editor.post(f"/briefings/{numbers[0]}/unarchive")
    assert len((await editor.get("/api/v1/briefings")).json()["briefings"]) == 3


async def test_an_export_is_a_file_with_the_order_and_the_notes_of_the_edit(desk: Any, fill: Fill) -> None:
    first, second, third = await fill()
    desk.app.settings.web.public_url = "http://desk.example/m/"
    number = (await saved(desk, group="none"))["id"]
    editor = await desk.sign_in("editor")
    items = [{"id": third, "note": "与我方有关"}, {"id": first}, {"id": second}]
    await editor.send("PATCH", f"/api/v1/briefings/{number}", json={"version": 1, "items": items})
    for form in ("md", "html", "docx", "xlsx", "json", "csv", "atom"):
        answer = await editor.get(f"/briefings/{number}/export", params={"format": form})
        assert answer.status_code == 200
        assert answer.headers["content-disposition"].startswith("attachment; filename=")
        text = {"docx": _docx, "xlsx": _xlsx}.get(form, bytes.decode)(answer.content)
        assert text.rindex(TITLES[2]) < text.rindex(TITLES[0]) < text.rindex(TITLES[1]), form
        assert "与我方有关" in text, form
        assert form not in ("md", "html") or f"http://desk.example/m/briefings/{number}" in text
    unknown = await editor.get(f"/briefings/{number}/export", params={"format": "exe"})
    assert unknown.status_code == 400


async def test_the_feed_has_the_saved_briefings_with_their_notes_but_not_the_archived_ones(
    desk: Any, fill: Fill
) -> None:
    await fill()
    numbers = [(await saved(desk))["id"] for _ in range(2)]
    editor = await desk.sign_in("editor")
    wanted = {"version": 1, "title": "本周要点", "note": "请看第一条"}
    await editor.send("PATCH", f"/api/v1/briefings/{numbers[0]}", json=wanted)
    program = await desk.program("reader", scopes=["read"])
    feed = (await program.get("/feeds/briefings.atom")).text
    assert feed.count("<entry>") == 2
    for words in ("本周要点", "请看第一条", TITLES[0]):
        assert words in feed
    await editor.send("DELETE", f"/api/v1/briefings/{numbers[0]}")
    assert "本周要点" not in (await program.get("/feeds/briefings.atom")).text


def _docx(content: bytes) -> str:
    return "\n".join(paragraph.text for paragraph in Document(io.BytesIO(content)).paragraphs)


def _xlsx(content: bytes) -> str:
    rows = load_workbook(io.BytesIO(content)).worksheets[0].iter_rows(values_only=True)
    return "\n".join(" ".join(str(cell) for cell in row) for row in rows)


async def test_one_edition_goes_to_several_targets_each_by_a_delivery_of_its_own(desk: Any, fill: Fill) -> None:
    await fill()
    number = (await saved(desk))["id"]
    weekly = desk.app.settings.deliver.targets[0]
    desk.app.settings.deliver.targets.append(weekly.model_copy(update={"name": "client", "include_gaps": False}))
    editor = await desk.sign_in("editor", language="en")
    profile = {"name": "North", "targets": ["client"]}
    made = (await editor.send("POST", "/api/v1/briefings/profiles", json=profile)).json()
    page = (await editor.get(f"/briefings/{number}?profile={made['id']}")).text
    assert re.findall(r'name="target" value="(\w+)"( checked)?', page) == [("weekly", ""), ("client", " checked")]
    none = await editor.get(f"/briefings/{number}/send")
    assert none.headers["location"] == f"/briefings/{number}"
    both = {"target": ["weekly", "client"]}
    page = (await editor.get(f"/briefings/{number}/send", params=both)).text
    assert page.count("a copy for a client") == 1, "each target has its own version"
    assert await desk.app.deliveries.list(by=COMMAND_LINE) == []
    assert (await editor.post(f"/briefings/{number}/send", both)).status_code == 303
    sent = {row.target: row for row in await desk.app.deliveries.list(by=COMMAND_LINE)}
    briefings = {
        name: await desk.app.deliveries.get_sent_briefing(row.id, by=COMMAND_LINE) for name, row in sent.items()
    }
    assert {name: briefing.include_gaps for name, briefing in briefings.items()} == {"weekly": True, "client": False}
    assert briefings["weekly"].item_ids == briefings["client"].item_ids
    address = f"/api/v1/briefings/{number}/deliveries"
    unknown = await editor.send("POST", address, json={"targets": ["weekly", "nowhere"]})
    assert (unknown.status_code, len(await desk.app.deliveries.list(by=COMMAND_LINE))) == (404, 2), "nothing is sent"
    answer = await editor.send("POST", address, json={"targets": ["client", "weekly", "client"]})
    assert answer.status_code == 202, answer.text
    rows = answer.json()["deliveries"]
    assert [(row["target"], row["saved_id"]) for row in rows] == [("client", number), ("weekly", number)]
    assert all(row["last_error"] for row in rows), "the answer says of each what happened"


async def test_a_delivery_that_fails_says_why_in_chinese_and_is_tried_again_with_the_edited_briefing(
    desk: Any, fill: Fill
) -> None:
    first, second, third = await fill()
    number = (await saved(desk, group="none"))["id"]
    editor, admin = await desk.sign_in("editor"), await desk.sign_in("admin")
    await editor.send("PATCH", f"/api/v1/briefings/{number}", json={"version": 1, "items": [{"id": third}]})
    assert (await editor.post(f"/briefings/{number}/send", {"target": "weekly"})).status_code == 303
    page = (await editor.get("/deliveries")).text
    assert "无法连接邮件服务器 127.0.0.1:9" in page
    (row,) = (await editor.get("/api/v1/deliveries")).json()["deliveries"]
    assert (row["saved_id"], row["kind"], row["status"]) == (number, "typed", "queued")
    kept = await desk.app.deliveries.get_sent_briefing(row["id"], by=COMMAND_LINE)
    assert [item.id for item in kept.items] == [third, first, second]
    assert kept.edited_by == "editor"
    refused = await editor.send("POST", f"/api/v1/deliveries/{row['id']}/retry")
    assert refused.status_code == 409
    assert "待发送" in (await editor.get(f"/briefings/{number}")).text
    targets = (await admin.get("/settings/targets")).text
    assert "smtp://127.0.0.1:9" in targets
    assert (await admin.post("/settings/targets/weekly/test")).status_code == 303
    assert "测试没有发送成功" in (await admin.get("/settings/targets")).text
    assert (await editor.get("/settings/targets")).status_code == 403


async def test_a_target_shows_no_secret_of_its_address(desk: Any) -> None:
    desk.app.settings.deliver.targets = [
        TargetSettings(name="hook", url="https://u:secret@hook.example/in/token-0123456789abcdef")
    ]
    admin = await desk.sign_in("admin")
    text = (await admin.get("/api/v1/targets")).text
    assert "https://hook.example" in text
    assert "secret" not in text
    assert "token-0123456789abcdef" not in text


async def test_a_reader_may_look_and_export_but_neither_keep_nor_edit_nor_send(desk: Any, fill: Fill) -> None:
    await fill()
    number = (await saved(desk))["id"]
    reader = await desk.sign_in("reader")
    assert (await reader.send("POST", "/api/v1/briefings/preview", json={"days": 2})).status_code == 200
    for method, path in [
        ("POST", "/api/v1/briefings"),
        ("PATCH", f"/api/v1/briefings/{number}"),
        ("DELETE", f"/api/v1/briefings/{number}"),
        ("POST", f"/api/v1/briefings/{number}/send"),
        ("POST", "/api/v1/targets/weekly/test"),
    ]:
        assert (await reader.send(method, path, json={"version": 1, "target": "weekly"})).status_code == 403, path
    assert (await reader.get(f"/briefings/{number}/edit")).status_code == 403
