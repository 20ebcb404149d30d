"""Exports, and what programs read of reports and evidence, are on record: by whom and from where."""

import datetime as dt
from typing import Any

import httpx
import pytest

from monitor.db.tables.collection import Item, Run
from monitor.services.audit import COMMAND_LINE, AuditAction
from monitor.services.briefings import BriefingQuery
from tests.integration.services.test_audit_of_acts import RECORDED_READS
from tests.integration.web import researches

NOON = dt.datetime(2026, 2, 3, 12, tzinfo=dt.UTC)
QUOTE = "2026年1月绿电交易量为3亿元"


@pytest.fixture
async def paths(desk: Any) -> dict[AuditAction, list[tuple[str, str]]]:
    """What is read and exported by which address, and under which subject that is on record."""
    app = desk.app
    await app.sources.add({"name": "a", "url": "https://a.example/"}, by=COMMAND_LINE)
    await app.store.runs.create(Run(id="run", source="a", planned_at=NOON))
    row = Item(
        source="a",
        run_id="run",
        section="s",
        title="t",
        url="https://a.example/1",
        url_key="a.example/1",
        first_seen=NOON,
    )
    item = (await app.store.items.save(row))[0].id
    briefing = (await app.drafts.save(BriefingQuery(), by=COMMAND_LINE)).row.id
    await researches.put(app, "r", at=NOON, quote=QUOTE)
    return {
        AuditAction.ITEM_EXPORT: [("/api/v1/items/export?source=a&format=json", "items")],
        AuditAction.EVIDENCE_READ: [(f"/api/v1/items/{item}/evidence", f"{item}"), ("/api/v1/research/r/notes/0", "r")],
        AuditAction.BRIEFING_EXPORT: [
            (f"/api/v1/briefings/{briefing}/export?format=md", f"{briefing}"),
            (f"/briefings/{briefing}/export?format=csv", f"{briefing}"),
        ],
        AuditAction.SOURCE_EXPORT: [("/api/v1/sources/export", "sources"), ("/sources/export?format=csv", "sources")],
        AuditAction.RESEARCH_READ: [("/api/v1/research/r", "r")],
        AuditAction.RESEARCH_EXPORT: [("/api/v1/research/r/report.md", "r")],
        AuditAction.AUDIT_EXPORT: [("/api/v1/audit/export", "audit")],
    }


async def program(desk: Any, address: str) -> httpx.AsyncClient:
    token = await desk.app.tokens.create("robot", "admin", by=COMMAND_LINE)
    transport = httpx.ASGITransport(app=desk.web, client=(address, 4711))
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.AsyncClient(transport=transport, base_url="http://monitor.test", headers=headers)


async def entries(desk: Any, action: AuditAction) -> list[tuple[str, str, str]]:
    found = await desk.app.audit.list_entries(action=action, limit=100)
    return [(entry.person, entry.address, entry.subject) for entry in found]


async def test_every_export_and_every_read_by_a_program_is_on_record(
    desk: Any, paths: dict[AuditAction, list[tuple[str, str]]], subtests: pytest.Subtests
) -> None:
    assert set(paths) == RECORDED_READS
    async with await program(desk, "192.0.2.44") as robot:
        for action, requests in paths.items():
            for path, subject in requests:
                with subtests.test(path):
                    before = len(await entries(desk, action))
                    answer = await robot.get(path)
                    assert answer.status_code == 200, answer.text
                    recorded = await entries(desk, action)
                    assert recorded[: len(recorded) - before] == [("robot", "192.0.2.44", subject)]


async def test_what_people_read_is_not_on_record_but_what_they_export_is(
    desk: Any, paths: dict[AuditAction, list[tuple[str, str]]]
) -> None:
    admin = await desk.sign_in("admin")
    for requests in paths.values():
        for path, _ in requests:
            assert (await admin.get(path)).status_code == 200
    for action, requests in paths.items():
        is_read = action in (AuditAction.RESEARCH_READ, AuditAction.EVIDENCE_READ)
        assert len(await entries(desk, action)) == (0 if is_read else len(requests)), action
    (entry,) = await desk.app.audit.list_entries(action=AuditAction.ITEM_EXPORT)
    assert entry.detail == {"source": ["a"], "format": "json"}


async def test_a_program_that_asks_again_and_again_is_on_record_once_an_hour(
    desk: Any, paths: dict[AuditAction, list[tuple[str, str]]]
) -> None:
    async with await program(desk, "192.0.2.44") as robot:
        for _ in range(5):
            await robot.get("/api/v1/research/r")
        assert len(await entries(desk, AuditAction.RESEARCH_READ)) == 1
        assert (await robot.get("/api/v1/research/nothing")).status_code == 404
        assert len(await entries(desk, AuditAction.RESEARCH_READ)) == 1, "nothing was read"
