"""What is private stays with whoever made it, on every route; what was erased names nobody."""

import datetime as dt
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from monitor.briefing.editing import BriefingEditPatch
from monitor.db.tables.collection import Item, Run
from monitor.db.tables.research import ResearchStatus
from monitor.errors import Conflict
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.services.briefings import BriefingQuery
from monitor.services.runtime import WORKER_KIND
from monitor.vocabulary import MarkAction, Role, RunStatus, Visibility
from tests.integration.web import researches

NOON = dt.datetime(2026, 2, 3, 12, tzinfo=dt.UTC)
PRIVATE = "客户甲收购乙公司的反垄断风险"
ADMIN_MAY = {("DELETE", "/api/v1/research/{task_id}"), ("POST", "/research/{task_id}/cancel")}
ADMIN_MAY |= {("POST", "/research/{task_id}/delete")}


def iter_routes(web: FastAPI) -> Iterator[tuple[str, str]]:
    for route in iter_route_contexts(web.routes):
        yield from ((method, route.path) for method in sorted(route.methods or ()))


async def put_private(desk: Any, task_id: str = "r", **more: Any) -> None:
    await researches.put(desk.app, task_id, at=NOON, query=PRIVATE, visibility=Visibility.PRIVATE, **more)


async def test_a_private_research_is_not_there_for_anybody_else_on_any_route(
    desk: Any, subtests: pytest.Subtests
) -> None:
    await put_private(desk, status=ResearchStatus.SUCCEEDED)
    outsiders = {role: await desk.sign_in(role) for role in ("reader", "admin")}
    routes = [(method, template) for method, template in iter_routes(desk.web) if "{task_id}" in template]
    assert len(routes) >= 12
    for method, template in routes:
        path = template.format(task_id="r", index=0, note_index=0, number=1, form="md")
        for role, browser in outsiders.items():
            if role == "admin" and (method, template) in ADMIN_MAY:
                continue
            with subtests.test(f"{role} {method} {template}"):
                fields: dict[str, Any] = {"paragraphs": [{"title": "a"}], "text": "a", "visibility": "open"}
                fields |= {"question": "a", "schedule": "off", "version": 0, "markdown": "# a"}
                body = {name: fields[name] for name in wanted_fields(path, method)}
                answer = await (
                    browser.send(method, path, json=body)
                    if path.startswith("/api/") or method == "GET"
                    else browser.post(path, {"text": "a", "is_open": "true", "question": "a"})
                )
                assert answer.status_code in ({403, 404} if role == "reader" else {404}), answer.text
                assert PRIVATE not in answer.text
    owner = await desk.sign_in("editor")
    assert PRIVATE in (await owner.get("/research/r")).text


def wanted_fields(path: str, method: str) -> list[str]:
    by_end = {"remarks": ["text"], "questions": ["question"], "schedule": ["schedule"], "text": ["version", "markdown"]}
    wanted = by_end.get(path.rpartition("/")[2], [])
    return {"PUT": wanted or ["paragraphs"], "PATCH": ["visibility"], "POST": wanted}.get(method, [])


async def test_lists_show_ones_own_and_what_is_open(desk: Any) -> None:
    await put_private(desk)
    await researches.put(desk.app, "o", at=NOON, query="公开的问题")
    reader, owner = await desk.sign_in("reader"), await desk.sign_in("editor")
    for path in ("/research", "/api/v1/research", f"/api/v1/research?q={PRIVATE[:4]}"):
        assert PRIVATE not in (await reader.get(path)).text
        assert PRIVATE in (await owner.get(path)).text
    assert "公开的问题" in (await reader.get("/api/v1/research")).text


async def test_its_owner_opens_it_closes_it_and_deletes_it(desk: Any, tmp_path: Path) -> None:
    await put_private(desk)
    reader, owner = await desk.sign_in("reader"), await desk.sign_in("editor")
    assert (await owner.post("/research/r/share", {"is_open": "true"})).status_code == 303
    assert PRIVATE in (await reader.get("/research/r")).text
    assert (await owner.send("PATCH", "/api/v1/research/r", json={"visibility": "private"})).json()[
        "visibility"
    ] == "private"
    assert (await reader.get("/research/r")).status_code == 404
    bundles = tmp_path / "bundles" / "r"
    bundles.mkdir(parents=True)
    assert (await owner.send("DELETE", "/api/v1/research/r?permanently=true")).status_code == 200
    assert (await owner.get("/research/r")).status_code == 404
    with closing(sqlite3.connect(tmp_path / "monitor.db")) as database:
        left = "\n".join(database.iterdump())
    assert PRIVATE not in left
    assert json.dumps(PRIVATE)[1:-1] not in left


async def test_one_that_goes_on_is_not_deleted_and_one_of_another_not_shared(desk: Any) -> None:
    await put_private(desk, status=ResearchStatus.RUNNING, steps=1)
    await researches.put(desk.app, "o", at=NOON)
    owner, admin = await desk.sign_in("editor"), await desk.sign_in("admin")
    assert (await owner.send("DELETE", "/api/v1/research/r?permanently=true")).status_code == 409
    assert (await admin.send("PATCH", "/api/v1/research/o", json={"visibility": "private"})).status_code == 403


async def test_what_is_asked_is_private_unless_said_otherwise_and_a_tokens_belongs_to_its_maker(desk: Any) -> None:
    owner = await desk.sign_in("editor")
    token = (await owner.send("POST", "/api/v1/me/tokens", json={"name": "script", "role": "editor"})).json()["token"]
    program = await desk.client(headers={"Authorization": f"Bearer {token}"})
    async with desk.app.presence.register(WORKER_KIND):
        mine = (await program.post("/api/v1/research", json={"query": PRIVATE})).json()["taskId"]
        shared = (await program.post("/api/v1/research", json={"query": PRIVATE, "visibility": "open"})).json()[
            "taskId"
        ]
    assert (await owner.get(f"/api/v1/research/{mine}")).json()["askedBy"] == "editor"
    reader = await desk.sign_in("reader")
    assert (await reader.get(f"/api/v1/research/{mine}")).status_code == 404
    assert (await reader.get(f"/api/v1/research/{shared}")).status_code == 200
    entries = await desk.app.audit.list_entries(action="research")
    assert PRIVATE not in json.dumps([entry.detail for entry in entries], ensure_ascii=False)


async def save_item(desk: Any) -> int:
    now = desk.app.clock.now()
    await desk.app.store.runs.create(Run(id="run", source="a", planned_at=now, status=RunStatus.SUCCEEDED))
    item = Item(
        source="a",
        run_id="run",
        section="s",
        title="关于绿电交易的通知",
        url="https://a.example/1",
        url_key="a.example/1",
        first_seen=now,
        date=now.date(),
    )
    return (await desk.app.store.items.save(item))[0].id or 0


async def test_a_private_note_is_read_and_counted_for_its_writer_alone(desk: Any) -> None:
    item = await save_item(desk)
    owner, reader = await desk.sign_in("editor"), await desk.sign_in("reader")
    await owner.post(f"/items/{item}/notes", {"text": PRIVATE, "is_private": "true"})
    await owner.post(f"/items/{item}/notes", {"text": "给大家看的"})
    for path in (f"/items/{item}", f"/api/v1/items/{item}"):
        assert PRIVATE in (await owner.get(path)).text
        assert PRIVATE not in (page := (await reader.get(path)).text)
        assert "给大家看的" in page
    counts = [(await who.get("/api/v1/items")).json()["items"][0]["notes"] for who in (owner, reader)]
    assert counts == [2, 1]
    (private,) = [note for note in await desk.app.store.marks.list_notes("editor", item) if note.text == PRIVATE]
    assert (await reader.send("DELETE", f"/api/v1/items/{item}/notes/{private.id}")).status_code == 404
    assert PRIVATE not in str([entry.detail for entry in await desk.app.audit.list_entries(action="item")])


@pytest.mark.parametrize("name", ["hanmeimei", "韩梅梅"])
async def test_an_erased_person_is_named_nowhere_and_what_they_shared_stays(
    desk: Any, tmp_path: Path, name: str
) -> None:
    by, item = Actor(name, Role.EDITOR), await save_item(desk)
    await desk.app.people.add(name, "editor", by=COMMAND_LINE)
    await desk.app.people.set_password(name, "床前明月光疑是地上霜举头望明月", by=by)
    await desk.app.tokens.create("script", "reader", by=by)
    await desk.app.marks.add_note(item, "公开的批注", by=by)
    await desk.app.marks.add_note(item, PRIVATE, visibility=Visibility.PRIVATE, by=by)
    await desk.app.marks.mark_one(MarkAction.STAR, item, by=by)
    await desk.app.marks.hide(item, "重复", by=by)
    draft = await desk.app.drafts.save(BriefingQuery(days=3000), by=by)
    await desk.app.drafts.update(
        draft.row.id, BriefingEditPatch(title="x", note="按语"), version=draft.row.version, by=by
    )
    await researches.put(desk.app, "open", at=NOON)
    await put_private(desk, "private")
    with closing(sqlite3.connect(tmp_path / "monitor.db")) as database, database:
        database.execute("UPDATE research SET asked_by = ?", (name,))
    admin = await desk.sign_in("admin")
    page = await admin.post(f"/settings/people/{name}/erase", {"repeated": "somebody"})
    assert (page.status_code, name in page.text) == (400, True)
    assert (await admin.post(f"/settings/people/{name}/erase", {"repeated": name})).status_code == 303
    with closing(sqlite3.connect(tmp_path / "monitor.db")) as database:
        left = "\n".join(database.iterdump())
    for gone in (name, json.dumps(name)[1:-1], PRIVATE, json.dumps(PRIVATE)[1:-1]):
        assert gone not in left
    assert (await admin.get("/api/v1/research/open")).json()["askedBy"] == "erased-1"
    notes = await desk.app.store.marks.list_notes("", item)
    assert [(note.person, note.text) for note in notes] == [("erased-1", "公开的批注")]
    saved = await desk.app.drafts.get(draft.row.id)
    assert (saved.row.created_by, saved.edit.note.by) == ("erased-1", "erased-1")
    assert {entry.person for entry in await desk.app.audit.list_entries(action="briefing")} == {"erased-1"}


async def test_nobody_erases_themselves_or_the_last_administrator_or_who_is_at_work(desk: Any) -> None:
    admin = await desk.sign_in("admin")
    await desk.sign_in("editor")
    assert (await admin.send("DELETE", "/api/v1/people/admin")).status_code == 409
    with pytest.raises(Conflict, match="last administrator"):
        await desk.app.erasure.erase("admin", by=COMMAND_LINE)
    await put_private(desk, status=ResearchStatus.RUNNING, steps=1)
    assert (await admin.send("DELETE", "/api/v1/people/editor")).status_code == 409
    assert (await admin.send("DELETE", "/api/v1/people/nobody")).status_code == 404
