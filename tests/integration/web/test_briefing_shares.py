"""Links to briefings and texts of editors over HTTP and in the service."""

import datetime as dt
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from monitor.db.tables.people import BriefingShare
from monitor.errors import Conflict, NotFound, UsageError
from monitor.services.audit import Actor
from monitor.services.briefings import BriefingQuery
from monitor.services.shares import BriefingShareService
from monitor.vocabulary import Role
from tests.integration.web.test_briefings import TITLES, filled

WRITER = Actor("editor", Role.EDITOR)
Save = Callable[[], Awaitable[int]]


@pytest.fixture
def save(desk: Any) -> Save:
    async def save() -> int:
        await filled(desk.app)
        return int((await desk.app.drafts.save(BriefingQuery(group="none", top=20), by=WRITER)).row.id)

    return save


class SetClock:
    def __init__(self, at: dt.datetime) -> None:
        self.at = at

    def now(self) -> dt.datetime:
        return self.at


async def test_a_link_is_made_listed_read_and_revoked_over_http(desk: Any, save: Save) -> None:
    number, editor = await save(), await desk.sign_in("editor")
    answer = await editor.send("POST", f"/api/v1/briefings/{number}/shares", json={"days": 7, "label": "甲"})
    assert answer.status_code == 201, answer.text
    made = answer.json()
    stranger = await desk.client()
    page = await stranger.get(made["url"])
    assert page.status_code == 200
    assert TITLES[0] in page.text
    assert page.headers["X-Robots-Tag"].startswith("noindex")
    listed = (await editor.get(f"/api/v1/briefings/{number}/shares")).json()["shares"]
    assert [(share["label"], share["is_open"], "url" in share) for share in listed] == [("甲", True, False)]
    assert (await editor.send("DELETE", f"/api/v1/briefings/{number}/shares/{made['id']}")).status_code == 204
    ended = await stranger.get(made["url"])
    assert ended.status_code == 410
    assert TITLES[0] not in ended.text
    assert (await editor.send("DELETE", f"/api/v1/briefings/{number + 1}/shares/{made['id']}")).status_code == 404


async def test_the_secret_part_of_a_link_is_not_on_record(desk: Any, save: Save) -> None:
    share, token = await desk.app.shares.create(await save(), by=WRITER)
    assert token not in share.model_dump_json()
    entries = await desk.app.audit.list_entries(action="briefing.share")
    assert len(entries) == 1
    assert token not in entries[0].to_json()


async def test_a_shared_page_shows_the_latest_edit_and_nothing_of_the_operators(desk: Any, save: Save) -> None:
    number = await save()
    _, token = await desk.app.shares.create(number, by=WRITER)
    editor, stranger = await desk.sign_in("editor"), await desk.client()
    body = {"version": 1, "title": "最新的标题"}
    assert (await editor.send("PATCH", f"/api/v1/briefings/{number}", json=body)).status_code == 200
    text = (await stranger.get(f"/shared/{token}")).text
    assert "最新的标题" in text
    for operators in ("未能看到的内容", "来源情况", "/briefings/", "monitor_session"):
        assert operators not in text


async def test_an_archived_briefing_and_an_unknown_link_show_nothing(desk: Any, save: Save) -> None:
    number = await save()
    _, token = await desk.app.shares.create(number, by=WRITER)
    await desk.app.drafts.set_archived(number, by=WRITER)
    stranger = await desk.client()
    assert (await stranger.get(f"/shared/{token}")).status_code == 410
    assert (await stranger.get("/shared/nothing")).status_code == 404
    with pytest.raises(Conflict):
        await desk.app.shares.create(number, by=WRITER)
    with pytest.raises(NotFound):
        await desk.app.shares.open("nothing")


@pytest.mark.parametrize("days", [0, 91])
async def test_a_link_without_a_fair_end_is_refused(desk: Any, save: Save, days: int) -> None:
    with pytest.raises(UsageError, match="1 to 90 days"):
        await desk.app.shares.create(await save(), days=days, by=WRITER)


async def test_an_address_that_asks_too_often_waits_a_minute_and_others_do_not(desk: Any) -> None:
    clock = SetClock(dt.datetime(2026, 2, 3, tzinfo=dt.UTC))
    shares = BriefingShareService(store=desk.app.store, clock=clock, drafts=desk.app.drafts)
    assert [shares.is_held_off("192.0.2.1") for _ in range(61)] == [False] * 60 + [True]
    assert not shares.is_held_off("192.0.2.2")
    clock.at += dt.timedelta(minutes=1)
    assert not shares.is_held_off("192.0.2.1")


async def test_a_link_ends_with_its_day(desk: Any, save: Save) -> None:
    clock = SetClock(dt.datetime(2026, 2, 3, tzinfo=dt.UTC))
    shares = BriefingShareService(store=desk.app.store, clock=clock, drafts=desk.app.drafts)
    number = await save()
    share, token = await shares.create(number, days=2, by=WRITER)
    clock.at = share.expires_at - dt.timedelta(seconds=1)
    assert (await shares.open(token)).briefing is not None
    clock.at = share.expires_at
    assert (await shares.open(token)).briefing is None


async def test_an_erased_person_is_named_by_no_link(desk: Any, save: Save) -> None:
    number = await save()
    await desk.app.shares.create(number, by=WRITER)
    await desk.app.store.erasure.erase_person("editor")
    (share,) = await desk.app.shares.list(number, by=WRITER)
    assert isinstance(share, BriefingShare)
    assert share.created_by.startswith("erased-")


async def test_over_http_a_text_is_changed_and_restored_and_the_verified_one_stays(desk: Any, save: Save) -> None:
    number, editor = await save(), await desk.sign_in("editor")
    first = (await editor.get(f"/api/v1/briefings/{number}")).json()["briefing"]["items"][0]
    change = {"id": first["id"], "title": "新的说法", "summary": f"{first['summary']}补充的一句。"}
    answer = await editor.send("PATCH", f"/api/v1/briefings/{number}", json={"version": 1, "items": [change]})
    assert answer.status_code == 200, answer.text
    shown = answer.json()["briefing"]["items"][0]
    assert (shown["title"], shown["summary"]) == (first["title"], first["summary"])
    assert shown["editor_title"] == {"text": "新的说法", "by": "editor", "own": ["新的说法"]}
    assert shown["editor_summary"]["own"] == ["补充的一句。"]
    restored = {"version": 2, "items": [{"id": first["id"], "title": "", "summary": ""}]}
    answer = await editor.send("PATCH", f"/api/v1/briefings/{number}", json=restored)
    assert answer.json()["briefing"]["items"][0] == first


async def test_of_two_who_add_items_the_second_is_told(desk: Any, save: Save) -> None:
    number, editor = await save(), await desk.sign_in("editor")
    form = {"version": "1", "group": "none", "do": "save", "has_overview": "true", "note": "甲"}
    assert (await editor.post(f"/briefings/{number}/edit", form)).status_code == 303
    late = await editor.post(f"/briefings/{number}/edit", {**form, "do": "add", "add": "1", "note": "乙"})
    assert late.status_code == 409
    assert "乙" in late.text
    assert (await desk.app.drafts.get(number)).briefing.note.text == "甲"


async def test_a_preview_saves_nothing_and_runs_nothing(desk: Any, save: Save) -> None:
    number, editor = await save(), await desk.sign_in("editor")
    for kind in ("page", "mail", "phone", "word"):
        form = {"version": "1", "as": kind, "note": "只看一看", "group": "none"}
        answer = await editor.post(f"/briefings/{number}/preview", form)
        assert answer.status_code == 200, answer.text
        assert "只看一看" in answer.text
        assert "sandbox" in answer.headers["Content-Security-Policy"]
        assert (await editor.get(f"/briefings/{number}/preview?as={kind}")).status_code == 200
    assert (await desk.app.drafts.get(number)).row.version == 1
