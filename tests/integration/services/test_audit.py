"""Who changed what: kept as it was, found again by person, action and subject."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from monitor.bootstrap import open_app
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.tables.people import AuditEntry
from monitor.errors import UsageError
from monitor.services.audit import COMMAND_LINE, Actor, AuditAction, AuditService
from monitor.vocabulary import Role


@pytest.fixture
def audit(either_store: Store, turned_clock: Any) -> AuditService:
    return AuditService(store=either_store, clock=turned_clock, timezone="Asia/Shanghai")


async def test_changes_are_found_by_person_action_and_subject(
    audit: AuditService, either_store: Store, turned_clock: Any
) -> None:
    await audit.record(
        Actor("anna", Role.EDITOR),
        AuditAction.SOURCE_EDIT,
        "国家能源局",
        before={"max_items": 20},
        after={"max_items": 30},
    )
    await either_store.audit.add(AuditEntry(at=turned_clock.now(), person="anna", action="sourcery.x", subject="100%"))
    await audit.record(Actor("bert", Role.EDITOR), AuditAction.SOURCE_ADD, "Energy Agency")
    entries = await audit.list_entries()
    assert [entry.action for entry in entries] == ["source.add", "sourcery.x", "source.edit"]
    assert entries[2].detail == {"before": {"max_items": 20}, "after": {"max_items": 30}}

    async def found(**asked: Any) -> list[str]:
        return [entry.action for entry in await audit.list_entries(**asked)]

    assert await found(person="anna", action="source") == ["source.edit"]
    assert await found(action="source") == ["source.add", "source.edit"]
    assert await found(subject="能源") == ["source.edit"]
    assert await found(subject="energy a") == ["source.add"]
    assert await found(subject="%") == ["sourcery.x"]
    assert await found(person="\x00") == []
    assert await found(limit=1, before_id=entries[0].id) == ["sourcery.x"]
    assert await audit.list_people() == ["anna", "bert"]
    assert await audit.list_actions() == ["source.add", "source.edit", "sourcery.x"]


async def test_what_a_database_refuses_does_not_lose_an_entry(audit: AuditService, turned_clock: Any) -> None:
    day = dt.date(2026, 2, 3)
    await audit.record(
        Actor("a", Role.EDITOR),
        AuditAction.SOURCE_EDIT,
        "sub\x00ject\ud800",
        after={"k\x00": ["v\x00", day, {1}, None, 1.5, True]},
    )
    (entry,) = await audit.list_entries()
    assert entry.subject == "subject?"
    assert entry.detail == {"after": {"k": ["v", "2026-02-03", [1], None, 1.5, True]}}
    assert entry.at == turned_clock.now()


async def test_the_audit_is_kept_for_a_time_of_its_own(tmp_path: Path, sqlite_url: str) -> None:
    settings = Settings(data_dir=tmp_path, database_url=sqlite_url, work={"retention_days": 30})
    async with open_app(settings) as app:
        now = app.clock.now()
        for days in (1099, 1101, 2000):
            at = now - dt.timedelta(days=days)
            await app.store.audit.add(AuditEntry(at=at, person="anna", action="source.edit", subject=f"{days}"))
        for _ in range(600):
            await app.store.audit.add(AuditEntry(at=now - dt.timedelta(days=3000), person="b", action="x", subject=""))
        assert (await app.retention.prune(1, by=COMMAND_LINE)).audit_entries == 602
        assert [entry.subject for entry in await app.audit.list_entries()] == ["storage", "1099"]
        assert (await app.retention.prune_expired()).audit_entries == 0


async def test_the_desk_changes_nothing_about_how_it_is_watched(tmp_path: Path, sqlite_url: str) -> None:
    async with open_app(Settings(data_dir=tmp_path, database_url=sqlite_url)) as app:
        for path, value in (
            ("work.audit_retention_days", 1),
            ("logs.syslog", None),
            ("web.trusted_proxies", ["0.0.0.0/0"]),
        ):
            with pytest.raises(UsageError):
                await app.settings_service.update({path: value}, by=COMMAND_LINE)
