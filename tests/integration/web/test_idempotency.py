"""`Idempotency-Key`: what is sent twice is done once, whichever process gets it, and nobody else learns of it."""

import asyncio
import datetime as dt
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest
from sqlalchemy import text
from sqlmodel import col, select, update

from monitor.bootstrap import open_app
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.tables.idempotency import IdempotentRequest
from monitor.services.audit import COMMAND_LINE
from monitor.web.app import create_web_app
from tests.integration.web.conftest import Desk

KEY = {"Idempotency-Key": "0f0c5bd4-6a3e-4c0d-9f3c-2f0a51c7a111"}
TOPIC = {"name": "储能", "words": ["储能"]}


async def test_what_is_sent_again_is_not_done_again(desk: Desk) -> None:
    client = await desk.program("editor")
    first = await client.post("/api/v1/topics", json=TOPIC, headers=KEY)
    again = await client.post("/api/v1/topics", json=TOPIC, headers=KEY)
    unversioned = await client.post("/api/topics", json=TOPIC, headers=KEY)
    assert (first.status_code, again.status_code, unversioned.status_code) == (201, 201, 201)
    assert again.json() == unversioned.json() == first.json()
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert again.headers["content-type"] == first.headers["content-type"]
    assert len((await client.get("/api/v1/topics")).json()["topics"]) == 1


async def test_another_process_gives_the_same_answer_after_the_first_one_was_killed(
    desk: Desk, tmp_path: Path, sqlite_url: str
) -> None:
    client = await desk.program("admin")
    first = await client.post("/api/v1/tokens", json={"name": "grafana"}, headers=KEY)
    async with AsyncExitStack() as stack:
        other_app = await stack.enter_async_context(open_app(Settings(data_dir=tmp_path, database_url=sqlite_url)))
        other = Desk(other_app, create_web_app(other_app), stack)
        again = await (await other.client(headers=client.headers)).post(
            "/api/v1/tokens", json={"name": "grafana"}, headers=KEY
        )
    assert again.json() == first.json()
    assert first.status_code == again.status_code == 201


async def test_the_database_alone_shows_neither_the_key_nor_the_secret_in_the_answer(desk: Desk) -> None:
    client = await desk.program("admin")
    made = (await client.post("/api/v1/tokens", json={"name": "grafana"}, headers=KEY)).json()["token"]
    async with desk.app.store.sessions.begin_read() as session:
        rows = str((await session.execute(text("SELECT * FROM idempotent_request"))).all())
    assert rows != "[]"
    assert all(word not in rows for word in (made, "grafana", KEY["Idempotency-Key"], "admin-program"))


async def test_a_key_is_that_of_one_request(desk: Desk) -> None:
    client = await desk.program("editor")
    await client.post("/api/v1/topics", json=TOPIC, headers=KEY)
    for answer in (
        await client.post("/api/v1/topics", json={**TOPIC, "name": "光伏"}, headers=KEY),
        await client.post("/api/v1/briefings/blank", json={}, headers=KEY),
    ):
        assert (answer.status_code, answer.json()["code"]) == (422, "idempotency.key_reused")


async def test_a_key_is_that_of_one_caller(desk: Desk) -> None:
    editor, admin = await desk.program("editor"), await desk.program("admin")
    await editor.post("/api/v1/topics", json=TOPIC, headers=KEY)
    other = await admin.post("/api/v1/topics", json={**TOPIC, "name": "光伏"}, headers=KEY)
    assert other.status_code == 201
    nobody = await (await desk.client()).post("/api/v1/topics", json=TOPIC, headers=KEY)
    assert nobody.status_code == 401


async def test_a_refusal_did_nothing_and_frees_the_key(desk: Desk) -> None:
    client = await desk.program("editor")
    refused = await client.post("/api/v1/topics", json={}, headers=KEY)
    assert refused.status_code == 422
    assert (await client.post("/api/v1/topics", json=TOPIC, headers=KEY)).status_code == 201


@pytest.mark.parametrize("key", ["", "short", "with spaces in its midst", "x" * 256])
async def test_a_key_that_others_could_guess_is_refused(desk: Desk, key: str) -> None:
    client = await desk.program("editor")
    answer = await client.post("/api/v1/topics", json=TOPIC, headers={"Idempotency-Key": key})
    assert (answer.status_code, answer.json()["code"]) == (400, "idempotency.key_invalid")


async def test_of_requests_at_once_one_is_carried_out(desk: Desk) -> None:
    client = await desk.program("editor")
    answers = await asyncio.gather(*(client.post("/api/v1/briefings/blank", json={}, headers=KEY) for _ in range(5)))
    codes = {answer.status_code for answer in answers}
    assert codes <= {201, 409}
    assert 201 in codes
    assert all(answer.json()["code"] == "idempotency.in_progress" for answer in answers if answer.status_code == 409)
    assert len((await client.get("/api/v1/briefings")).json()["briefings"]) == 1


async def test_a_request_that_was_cut_off_is_not_carried_out_again(desk: Desk) -> None:
    client = await desk.program("editor")
    await client.post("/api/v1/topics", json=TOPIC, headers=KEY)
    now = desk.app.clock.now()

    async def change(**values: object) -> httpx.Response:
        async with desk.app.store.sessions.begin_write() as session:
            await session.execute(update(IdempotentRequest).values(**values))
        return await client.post("/api/v1/topics", json=TOPIC, headers=KEY)

    in_progress = await change(answer=None, seen_at=now)
    assert (in_progress.status_code, in_progress.json()["code"]) == (409, "idempotency.in_progress")
    assert in_progress.headers["retry-after"] == "5"
    killed = await change(seen_at=now - dt.timedelta(minutes=3))
    assert (killed.status_code, killed.json()["code"]) == (409, "idempotency.interrupted")
    over = await change(created_at=now - dt.timedelta(hours=25))
    assert (over.status_code, over.json()["code"]) == (409, "topic.name_taken"), "after a day the key is free"


async def test_housekeeping_forgets_answers_after_a_day(desk: Desk) -> None:
    client = await desk.program("editor")
    await client.post("/api/v1/topics", json=TOPIC, headers=KEY)
    await desk.app.retention.prune_expired()
    assert await _count(desk.app.store) == 1
    async with desk.app.store.sessions.begin_write() as session:
        old = desk.app.clock.now() - dt.timedelta(hours=25)
        await session.execute(update(IdempotentRequest).values(created_at=old))
    await desk.app.retention.prune(400, by=COMMAND_LINE)
    assert await _count(desk.app.store) == 0


async def test_on_postgresql_one_of_two_processes_gets_a_request(postgres_url: str) -> None:
    now = dt.datetime(2026, 2, 3, tzinfo=dt.UTC)
    async with Store.open(postgres_url) as first, Store.open(postgres_url) as second:
        claims = [
            store.idempotency.claim(
                IdempotentRequest(id="a" * 64, fingerprint="b" * 64, created_at=now, seen_at=now), expired_before=now
            )
            for store in (first, second) * 3
        ]
        assert (await asyncio.gather(*claims)).count(None) == 1


async def _count(store: Store) -> int:
    async with store.sessions.begin_read() as session:
        return len((await session.scalars(select(col(IdempotentRequest.id)))).all())
