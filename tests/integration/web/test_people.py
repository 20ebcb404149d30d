"""The account, Settings › People and Tokens, and the audit, by page and by API."""

import json
import re
from typing import Any

from monitor.services.audit import Actor, AuditAction
from monitor.vocabulary import Role
from monitor.web.auth import SESSION_COOKIE
from tests.integration.web.conftest import PASSWORD


def secret_in(page: Any) -> str:
    found = re.search(r'<code class="secret">([^<]+)</code>', page.text)
    assert found, page.text
    return found[1]


async def actions(desk: Any) -> list[tuple[str, str, str]]:
    """What was done but for signing in."""
    entries = [(entry.person, entry.action, entry.subject) for entry in await desk.app.audit.list_entries()]
    return [entry for entry in entries if not entry[1].startswith("session.")]


async def test_an_administrator_adds_somebody_and_gives_and_takes_what_they_may(desk: Any) -> None:
    admin = await desk.sign_in("admin")
    made = await admin.post("/settings/people", {"name": "李雷", "role": "editor"})
    password = secret_in(made)
    assert password not in (await admin.get("/settings/people")).text
    theirs = await desk.client()
    assert (await theirs.post("/sign-in", data={"name": "李雷", "password": password})).status_code == 303
    assert "李雷" in (await admin.get("/settings/people/李雷")).text
    await admin.post("/settings/people/李雷/role", {"role": "reader"})
    assert (await desk.app.people.get("李雷")).role == "reader"
    reset = secret_in(await admin.post("/settings/people/李雷/reset"))
    assert (await theirs.get("/account")).status_code == 303
    assert (await theirs.post("/sign-in", data={"name": "李雷", "password": reset})).status_code == 303
    await admin.post("/settings/people/李雷/shut-out")
    assert (await theirs.get("/account")).status_code == 303
    assert (await theirs.post("/sign-in", data={"name": "李雷", "password": reset})).status_code == 403
    await admin.post("/settings/people/李雷/let-in")
    assert (await theirs.post("/sign-in", data={"name": "李雷", "password": reset})).status_code == 403, "used before"
    assert "已用过或已过期" in (await admin.get("/settings/people/李雷")).text
    done = ["person.let_in", "person.shut_out", "person.reset", "person.role", "person.add"]
    assert await actions(desk) == [("admin", action, "李雷") for action in done]
    everything = str([entry.detail for entry in await desk.app.audit.list_entries()])
    assert password not in everything
    assert reset not in everything


async def test_what_cannot_be_added_comes_back_with_its_reason(desk: Any) -> None:
    admin = await desk.sign_in("admin")
    page = await admin.post("/settings/people", {"name": "<b>x", "role": "reader"}, headers={"Accept-Language": "en"})
    assert page.status_code == 400
    assert "cannot be a name for signing in" in page.text
    assert "<b>x" not in page.text
    assert (await admin.post("/settings/people", {"name": "x", "role": "king"})).status_code == 400
    assert (await admin.post("/settings/people/admin/shut-out")).status_code == 409
    assert (await admin.get("/settings/people/nobody")).status_code == 404
    assert await actions(desk) == []


async def test_everybody_ends_their_own_sessions_and_an_administrator_anybodys(desk: Any) -> None:
    here, there, third = [await desk.sign_in("reader") for _ in range(3)]
    admin = await desk.sign_in("admin")
    ids = {session.id: session for session in await desk.app.people.list_sessions("reader")}
    of_there = await desk.app.people.authenticate(there.client.cookies[SESSION_COOKIE])
    page = await here.get("/account")
    assert sum(f"/account/sessions/{number}/end" in page.text for number in ids) == 2, (
        "this session cannot end itself here"
    )
    assert f"/account/sessions/{of_there[1].id}/end" in page.text
    await here.post(f"/account/sessions/{of_there[1].id}/end")
    assert (await there.get("/account")).status_code == 303
    await here.post("/account/sessions/end-others")
    assert (await third.get("/account")).status_code == 303
    (left,) = await desk.app.people.list_sessions("reader")
    (of_admin,) = await desk.app.people.list_sessions("admin")
    assert (await here.post(f"/account/sessions/{of_admin.id}/end")).status_code == 404
    assert (await here.send("DELETE", f"/api/v1/me/sessions/{of_admin.id}")).status_code == 404
    assert (await admin.post(f"/settings/people/sessions/{left.id}/end")).status_code == 303
    assert (await here.get("/account")).status_code == 303


async def test_a_password_is_changed_with_the_old_one(desk: Any) -> None:
    browser = await desk.sign_in("reader", language="en")
    asked = {"old": "wrong", "new": "another long sentence", "again": "another long sentence"}
    page = await browser.post("/account/password", asked)
    assert page.status_code == 400
    assert "The old password is wrong." in page.text
    assert (await browser.post("/account/password", asked | {"old": PASSWORD})).status_code == 303
    assert (await browser.get("/account")).status_code == 200
    changed = {"old": "another long sentence", "new": PASSWORD}
    assert (await browser.send("PUT", "/api/v1/me/password", json=changed)).status_code == 204
    assert await actions(desk) == [("reader", "person.password", "reader")] * 2
    failed, *_ = await desk.app.audit.list_entries(action=AuditAction.SIGN_IN_FAILED)
    assert (failed.person, failed.address, failed.detail) == ("reader", "127.0.0.1", {"reason": "wrong_old"})


async def test_a_token_is_shown_once_and_does_what_its_maker_may(desk: Any) -> None:
    reader, admin = await desk.sign_in("reader"), await desk.sign_in("admin")
    page = await reader.post("/account/tokens", {"name": "laptop", "role": "reader", "scope": ["read"], "days": "30"})
    token = secret_in(page)
    assert token not in (await reader.get("/account")).text
    greater = await reader.post("/account/tokens", {"name": "more", "role": "admin", "days": ""})
    assert greater.status_code == 400
    program = await desk.client(headers={"Authorization": f"Bearer {token}"})
    assert (await program.get("/api/v1/me")).json() == {"name": "laptop", "role": "reader"}
    assert (await program.post("/api/v1/me/tokens", json={"name": "child"})).status_code == 403
    assert (await program.get("/account")).status_code == 403
    assert "laptop" in (await admin.get("/settings/tokens")).text
    await admin.post("/settings/tokens/laptop/revoke")
    assert (await program.get("/api/v1/me")).status_code == 401
    made = secret_in(await admin.post("/settings/tokens", {"name": "metrics", "role": "reader", "days": ""}))
    assert (await (await desk.client(headers={"Authorization": f"bearer {made}"})).get("/metrics")).status_code == 200
    assert (await reader.post("/account/tokens/metrics/revoke")).status_code == 404


async def test_the_api_does_what_the_pages_do(desk: Any) -> None:
    admin = await desk.sign_in("admin")
    made = await admin.send("POST", "/api/v1/people", json={"name": "anna", "role": "editor"})
    assert (made.status_code, made.json()["name"]) == (201, "anna")
    assert (await admin.send("POST", "/api/v1/people", json={"name": "ANNA"})).status_code == 409
    changed = await admin.send("PATCH", "/api/v1/people/anna", json={"role": "reader", "is_shut_out": True})
    assert (changed.json()["role"], changed.json()["is_shut_out"]) == ("reader", True)
    assert (await admin.send("POST", "/api/v1/people/anna/reset")).json()["password"] != made.json()["password"]
    people = (await admin.get("/api/v1/people")).json()
    assert [person["name"] for person in people["people"]] == ["admin", "anna"]
    assert people["next"] is None
    token = await admin.send("POST", "/api/v1/tokens", json={"name": "t", "scopes": ["read"], "days": 1})
    assert token.status_code == 201
    (row,) = (await admin.get("/api/v1/tokens")).json()["tokens"]
    assert (row["name"], row["scopes"], row["created_by"]) == ("t", ["read"], "admin")
    assert "hash" not in row
    assert (await admin.send("DELETE", "/api/v1/tokens/t")).status_code == 204
    assert (await admin.send("DELETE", "/api/v1/tokens/t")).status_code == 404
    (session,) = (await admin.get("/api/v1/sessions", params={"person": "admin"})).json()["sessions"]
    assert session["is_this"]
    assert (await admin.get("/api/v1/people/nobody")).headers["content-type"] == "application/problem+json"


async def test_the_audit_is_paged_filtered_and_shows_what_was_before_and_after(desk: Any) -> None:
    admin = await desk.sign_in("admin")
    admin_actor = Actor("admin", Role.ADMIN)
    for number in range(52):
        await desk.app.audit.record(
            admin_actor, AuditAction.SOURCE_EDIT, f"来源-{number}", before={"n": number}, after={"n": "<i>"}
        )
    await desk.app.audit.record(
        Actor("root", Role.ADMIN), AuditAction.PERSON_ADD, "x", after={"role": "reader"}, reason="new here"
    )
    page = (await admin.get("/audit")).text
    assert "来源-51" in page
    assert "来源-2<" not in page
    assert "<del>51</del> → <ins>&lt;i&gt;</ins>" in page
    assert "new here" in page
    older = re.search(r'rel="next" href="([^"]+)"', page)
    assert older
    assert "来源-2<" in (await admin.get(older[1].replace("&amp;", "&"))).text
    assert "来源-51" not in (await admin.get("/audit", params={"action": "person"})).text
    first = (await admin.get("/api/v1/audit", params={"action": "source.edit", "limit": 50})).json()
    rest = (await admin.get("/api/v1/audit", params={"action": "source.edit", "cursor": first["next"]})).json()
    assert [len(first["entries"]), len(rest["entries"]), rest["next"]] == [50, 2, None]
    assert (await admin.get("/api/v1/audit", params={"cursor": "!"})).status_code == 400


async def test_the_audit_is_exported_as_lines_and_that_is_on_record(desk: Any) -> None:
    admin = await desk.sign_in("admin")
    by = Actor("anna", Role.EDITOR, address="192.0.2.7")
    for number in range(1001):
        await desk.app.audit.record(by, AuditAction.SOURCE_EDIT, f"来源-{number}", after={"n": number})
    answer = await admin.get("/api/v1/audit/export")
    assert answer.headers["content-disposition"] == 'attachment; filename="audit.jsonl"'
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [line["subject"] for line in lines] == ["admin", *(f"来源-{number}" for number in range(1001)), "audit"]
    assert (lines[1]["person"], lines[1]["address"], lines[1]["detail"]) == ("anna", "192.0.2.7", {"after": {"n": 0}})
    assert (lines[-1]["person"], lines[-1]["action"], lines[-1]["address"]) == ("admin", "audit.export", "127.0.0.1")
    assert (await admin.get("/api/v1/audit/export", params={"until": "2026-01-01"})).text == ""
    assert (await admin.get("/api/v1/audit/export", params={"until": "9999-12-31"})).status_code == 400
    assert (await (await desk.sign_in("editor")).get("/api/v1/audit/export")).status_code == 403


async def test_the_audit_is_found_by_where_it_came_from(desk: Any) -> None:
    admin = await desk.sign_in("admin", language="en")
    for address in ("192.0.2.7", "198.51.100.3"):
        by = Actor("anna", Role.EDITOR, address=address)
        await desk.app.audit.record(by, AuditAction.SOURCE_EDIT, f"from {address}")
    page = (await admin.get("/audit", params={"address": " 192.0.2.7 "})).text
    assert "from 192.0.2.7" in page
    assert "from 198.51.100.3" not in page
    (entry,) = (await admin.get("/api/v1/audit", params={"address": "198.51.100.3"})).json()["entries"]
    assert entry["subject"] == "from 198.51.100.3"
    assert "kept for 1100 days" in page
