"""Lists of the API that grow: page by page, each row once, also where rows come in between."""

import datetime as dt
from typing import Any

import httpx

from monitor.services.audit import COMMAND_LINE
from tests.integration.web import researches
from tests.integration.web.conftest import Desk


async def read_pages(client: httpx.AsyncClient, path: str, name: str, *, limit: int = 2) -> list[list[Any]]:
    pages: list[list[Any]] = []
    cursor = None
    while cursor is not None or not pages:
        asked = {"limit": limit} | ({"cursor": cursor} if cursor else {})
        answer = (await client.get(path, params=asked)).raise_for_status().json()
        pages.append(answer[name])
        cursor = answer["next"]
    return pages


async def test_people_teams_tokens_and_topics_come_page_by_page(desk: Desk) -> None:
    admin = await desk.program("admin")
    for name in ("ada", "bob", "李雷", "eve", "dan"):
        await desk.app.people.add(name, "reader", by=COMMAND_LINE)
        await desk.app.teams.create(f"team {name}", by=COMMAND_LINE)
        await desk.app.tokens.create(f"of-{name}", "reader", by=COMMAND_LINE)
        (await admin.post("/api/v1/topics", json={"name": name, "words": [name]})).raise_for_status()
    names = ["ada", "bob", "dan", "eve", "李雷"]
    people = await read_pages(admin, "/api/v1/people", "people")
    assert [[person["name"] for person in page] for page in people] == [names[:2], names[2:4], names[4:]]
    teams = await read_pages(admin, "/api/v1/teams", "teams")
    assert [team["name"] for page in teams for team in page] == [f"team {name}" for name in names]
    topics = await read_pages(admin, "/api/v1/topics", "topics", limit=4)
    assert [topic["name"] for page in topics for topic in page] == names
    tokens = await read_pages(admin, "/api/v1/tokens", "tokens")
    shown = [token["name"] for page in tokens for token in page]
    assert shown == ["of-dan", "of-eve", "of-李雷", "of-bob", "of-ada", "admin-program"]


async def test_a_row_that_comes_in_between_moves_no_other(desk: Desk) -> None:
    admin = await desk.program("admin")
    for name in ("b", "d", "f"):
        await desk.app.people.add(name, "reader", by=COMMAND_LINE)
    first = (await admin.get("/api/v1/people", params={"limit": 2})).json()
    for name in ("a", "c", "e"):
        await desk.app.people.add(name, "reader", by=COMMAND_LINE)
    rest = (await admin.get("/api/v1/people", params={"cursor": first["next"]})).json()
    assert [person["name"] for person in first["people"] + rest["people"]] == ["b", "d", "e", "f"]


async def test_questions_and_links_come_page_by_page(desk: Desk) -> None:
    editor = await desk.program("editor")
    briefing = (await editor.post("/api/v1/briefings/blank", json={})).json()["id"]
    for number in range(3):
        link = await editor.post(f"/api/v1/briefings/{briefing}/shares", json={"label": f"{number}"})
        assert link.status_code == 201
        (await editor.post("/api/v1/ask", json={"question": f"第{number}条？"})).raise_for_status()
    shares = await read_pages(editor, f"/api/v1/briefings/{briefing}/shares", "shares")
    assert [[share["label"] for share in page] for page in shares] == [["2", "1"], ["0"]]
    questions = await read_pages(editor, "/api/v1/ask", "questions")
    assert [[asked["text"] for asked in page] for page in questions] == [["第2条？", "第1条？"], ["第0条？"]]


async def test_editions_come_page_by_page_each_page_with_the_schedule_and_the_news(desk: Desk) -> None:
    reader, begun = await desk.program("reader"), dt.datetime(2026, 2, 2, 8, tzinfo=dt.UTC)
    await researches.put(desk.app, "weekly", at=begun)
    for week in (1, 2, 3):
        at = begun + dt.timedelta(weeks=week)
        await researches.put(desk.app, f"weekly-{week}", at=at, edition_of="weekly", url=f"https://o.gov/n/{week}")
    path = "/api/v1/research/weekly-3/editions"
    pages = await read_pages(reader, path, "editions")
    shown = [[edition["taskId"] for edition in page] for page in pages]
    assert shown == [["weekly-3", "weekly-2"], ["weekly-1", "weekly"]]
    first = (await reader.get(path, params={"limit": 1})).json()
    await researches.put(desk.app, "weekly-4", at=begun + dt.timedelta(weeks=4), edition_of="weekly")
    rest = (await reader.get(path, params={"cursor": first["next"]})).json()
    assert [edition["taskId"] for edition in rest["editions"]] == ["weekly-2", "weekly-1", "weekly"]
    assert [source["url"] for source in rest["news"]["sources"]] == ["https://o.gov/n/3"]
    for asked, status in (("limit=0", 422), ("limit=201", 422), ("cursor=Zm9v", 400)):
        assert (await reader.get(f"{path}?{asked}")).status_code == status, asked


async def test_a_limit_or_cursor_that_cannot_be_is_refused(desk: Desk) -> None:
    admin = await desk.program("admin")
    for name in ("people", "tokens", "sessions", "teams", "topics", "hosts", "blocks", "evaluations", "ask"):
        for asked, status in (("limit=0", 422), ("limit=201", 422), ("cursor=Zm9v", 400)):
            assert (await admin.get(f"/api/v1/{name}?{asked}")).status_code == status, (name, asked)
