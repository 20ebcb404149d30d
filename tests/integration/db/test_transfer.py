"""Backups, restoring, copying to another database, and forgetting what is old."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from monitor.db import maintenance as backup
from monitor.db import migrate
from monitor.db.database import Store
from monitor.db.maintenance import transfer_database
from monitor.db.queries.filters import ItemFilter
from monitor.db.reading import LedgerEntry, SectionPlan, SectionReading
from monitor.db.tables.collection import Item, ModelCall, Run, Source
from monitor.db.tables.delivery import AlarmFinding, AlarmKind, BriefingRecord, Delivery, DeliveryStatus
from monitor.db.tables.evidence import ItemSnapshot, Revision
from monitor.db.tables.research import Executor
from monitor.errors import DatabaseError, UsageError, WorkFailed
from monitor.page import Candidate, ChangeKind, EditOperation, PageEdit, PagePart, PageSnapshot
from monitor.urls import url_key
from monitor.vocabulary import DateSource, Disposition, Phase, RunStatus, SectionEnd

AT = datetime(2026, 2, 3, 8, tzinfo=UTC)
PLAN = SectionPlan(ordinal=0, name="新闻", url="https://example.gov/news/")


async def fill(store: Store, *, at: datetime = AT, number: int = 1) -> Source:
    """A source with a run, an item, its text, a revision of it, a ledger, a model call and an alarm that is over."""
    name = f"示例部 {number}"
    source = await store.sources.add(Source(name=name, url="https://example.gov/", tags=["能源"], created_at=at))
    run = Run(
        id=f"run-{number}", source_id=source.id, source=name, planned_at=at, status=RunStatus.SUCCEEDED, since=at.date()
    )
    await store.runs.create(run)
    url = f"https://example.gov/news/{number}.html"
    item, _ = await store.items.save(
        Item(
            source_id=source.id,
            run_id=run.id,
            source=name,
            section="新闻",
            url=url,
            url_key=url_key(url),
            title="关于开展工作的通知",
            date=date(2026, 2, 3),
            first_seen=at,
            attachments=[{"title": "附件", "url": url}],
        )
    )
    await store.items.update(item.id or 0, text="正文")
    snapshot = ItemSnapshot.from_page(
        item.id or 0, run.id, PageSnapshot(url=url, seen_at=at, title="关于开展工作的通知")
    )
    edit = PageEdit(op=EditOperation.CHANGED, part=PagePart.ARTICLE, article="第七条", before="一万元", after="二万元")
    revision = Revision(
        item_id=item.id or 0, run_id=run.id, seen_at=at, kind=ChangeKind.CHANGED, edits=[edit.model_dump(mode="json")]
    )
    await store.revisions.save(snapshot, revision=revision)
    candidate = Candidate(title=item.title, url=url, date=item.date, date_source=DateSource.LISTED)
    entry = LedgerEntry(
        candidate=candidate, page_url=PLAN.url, position=0, disposition=Disposition.SAVED, item_id=item.id
    )
    reading = SectionReading(plan=PLAN, ended=SectionEnd.END, pages=1, entries=[entry], listed=1)
    await store.runs.save_reading(run.id, source.id or 0, reading, on=at.date(), at=at)
    await store.usage.add(ModelCall(run_id=run.id, phase=Phase.RANK, model="m", prompt_tokens=7, at=at, cost=0.5))
    finding = AlarmFinding(kind=AlarmKind.STRUCTURE, message="没有列表", section="新闻", section_key="k")
    judged = {"k": frozenset({AlarmKind.STRUCTURE})}
    await store.alarms.reconcile(source.id or 0, run_id=run.id, findings=[finding], judged_kinds=judged, at=at)
    await store.alarms.reconcile(source.id or 0, run_id=run.id, findings=[], judged_kinds=judged, at=at)
    delivery = Delivery(
        id=f"partners-{number}",
        target="partners",
        status=DeliveryStatus.SENT,
        planned_at=at,
        key=f"k{number}",
        message_id=f"<k{number}@x>",
        accepted=["a@x"],
    )
    await store.deliveries.create(delivery)
    record = BriefingRecord(delivery_id=delivery.id, composed_at=at, briefing={"title": "简报"}, unfinished=["甲"])
    await store.deliveries.save_briefing(record)
    return source


async def image(store: Store) -> dict[str, Any]:
    """What a person could see of a database."""
    return {
        "sources": [source.model_dump() for source in await store.sources.list()],
        "runs": [run.model_dump() for run in await store.runs.list()],
        "items": [item.model_dump() for item in await store.items.list(ItemFilter(), limit=None)],
        "texts": [
            await store.items.get_text(entry.id or 0) for entry in await store.items.list(ItemFilter(), limit=None)
        ],
        "ledger": [candidate._asdict() for candidate in await store.runs.load_ledger("run-1")],
        "revisions": [revision.model_dump() for revision in await store.revisions.list_for_item(1)],
        "sight": await store.revisions.get_snapshot(1),
        "usage": await store.usage.load_run_usage("run-1"),
        "alarms": await store.alarms.list(),
        "deliveries": [delivery.model_dump() for delivery in await store.deliveries.list()],
        "briefing": await store.deliveries.get_last_briefing("partners"),
        "sections": [section.model_dump() for section in await store.sections.list_for_source(1)],
    }


async def test_a_backup_brings_everything_back(store: Store, url: str, tmp_path: Path) -> None:
    await fill(store)
    before = await image(store)
    size = await asyncio.to_thread(backup.create_backup, url, tmp_path / "kept" / "monitor.bak")
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["monitor.bak"]
    assert size == (tmp_path / "kept" / "monitor.bak").stat().st_size > 0
    await store.sources.remove("示例部 1")
    assert await image(store) != before
    rows = await asyncio.to_thread(backup.restore_backup, tmp_path / "kept" / "monitor.bak", url, is_replacing=True)
    assert (rows["source"], rows["item"], rows["candidate"], rows["known_url"]) == (1, 1, 1, 1)
    assert await image(store) == before
    # Numbers go on where they were: a new row does not collide with one that was restored.
    assert (await fill(store, number=2)).id == 2


async def test_a_backup_is_of_one_moment_while_others_write(store: Store, url: str, tmp_path: Path) -> None:
    source = await fill(store)
    is_done = asyncio.Event()

    async def write() -> int:
        count = 0
        while not is_done.is_set():
            count += 1
            await fill(store, number=count + 1)
        return count

    writing = asyncio.create_task(write())
    await asyncio.to_thread(backup.create_backup, url, tmp_path / "b1")
    is_done.set()
    assert await writing > 0
    async with Store.open(f"sqlite:///{tmp_path / 'b1'}") as kept:
        names = {entry.name for entry in await kept.sources.list()}
        assert source.name in names
        assert {item.source for item in await kept.items.list(ItemFilter(), limit=None)} <= names


async def test_a_database_that_holds_something_is_not_overwritten_unasked(
    store: Store, url: str, tmp_path: Path
) -> None:
    await fill(store)
    await asyncio.to_thread(backup.create_backup, url, tmp_path / "b")
    with pytest.raises(UsageError, match="not empty"):
        await asyncio.to_thread(backup.restore_backup, tmp_path / "b", url)
    with pytest.raises(UsageError, match="already"):
        await asyncio.to_thread(backup.create_backup, url, tmp_path / "b")


async def test_everything_moves_to_the_other_kind_of_database(
    store: Store, url: str, kind: str, postgres: Any, tmp_path: Path
) -> None:
    await fill(store)
    running = Run(
        id="run-2",
        source_id=1,
        source="示例部 1",
        planned_at=AT - timedelta(1),
        status=RunStatus.RUNNING,
        executor="w1",
    )
    await store.runs.create(running)
    await store.executors.record_heartbeat(
        Executor(id="w1", kind="worker", host="h", pid=1, token="t", started_at=AT, seen_at=AT)  # noqa: S106
    )
    before = await image(store)
    name = postgres.create(template="template1")
    other = postgres.url(name) if kind == "sqlite" else f"sqlite:///{tmp_path / 'other.db'}"
    try:
        await asyncio.to_thread(transfer_database, url, other)
        async with Store.open(other) as there:
            after = await image(there)
            moved, *rest = sorted(after.pop("runs"), key=lambda run: str(run["status"]))
            assert (moved["id"], moved["status"], moved["error"]) == (
                "run-2",
                RunStatus.FAILED,
                backup.INTERRUPTED_RUN_ERROR,
            )
            assert rest == [run for run in before.pop("runs") if run["id"] == "run-1"]
            assert after == before
            assert await there.executors.list_all() == []
            assert (await fill(there, number=3)).id == 2
    finally:
        postgres.drop(name)


async def test_a_copy_that_breaks_off_leaves_the_target_as_it_was(store: Store, url: str, tmp_path: Path) -> None:
    await fill(store)
    other = f"sqlite:///{tmp_path / 'other.db'}"
    async with Store.open(other) as there:
        await there.check()
        await fill(there, number=5)
        before = await image(there)
        with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
            connection.execute("CREATE TRIGGER broken BEFORE INSERT ON item BEGIN SELECT RAISE(FAIL, 'disk full'); END")
            connection.commit()
        with pytest.raises(Exception, match="disk full"):
            await asyncio.to_thread(transfer_database, url, other, is_replacing=True)
        assert await image(there) == before


def test_a_database_is_not_copied_onto_itself(url: str) -> None:
    with pytest.raises(UsageError, match="same database"):
        transfer_database(url, url)


@pytest.mark.parametrize("harm", ["cut", "text", "other", "newer", "none"])
async def test_a_file_that_is_no_whole_backup_is_refused_and_nothing_changes(
    store: Store, url: str, tmp_path: Path, harm: str
) -> None:
    await fill(store)
    before = await image(store)
    file = tmp_path / "b"
    if harm != "none":
        await asyncio.to_thread(backup.create_backup, url, file)
    if harm == "cut":
        file.write_bytes(file.read_bytes()[:40_000])
    elif harm == "text":
        file.write_text("no database at all, but long enough to be read as one" * 100)
    elif harm == "other":
        file.unlink()
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("CREATE TABLE recipes (id INTEGER)")
    elif harm == "newer":
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("UPDATE alembic_version SET version_num = '9999'")
            connection.commit()
    with pytest.raises((DatabaseError, UsageError)):
        await asyncio.to_thread(backup.restore_backup, file, url, is_replacing=True)
    assert await image(store) == before


async def test_a_backup_of_the_first_version_is_brought_up_and_stays_as_it_is(
    store: Store, url: str, tmp_path: Path
) -> None:
    old = tmp_path / "old.db"
    migrate.upgrade(f"sqlite:///{old}", "0001")
    with closing(sqlite3.connect(old)) as connection:
        connection.execute(
            "INSERT INTO source (id, name, url, kind, focus_areas, rules, sections, keywords_include, keywords_exclude,"
            " allow_other_hosts, tags, summary_language, enabled, created_at, consecutive_failures) VALUES"
            " (7, '旧部', 'https://example.gov/', 'site', '[]', '', '[]', '[]', '[]', 1, '[]', 'zh', 1,"
            " '2026-01-01 00:00:00', 0)"
        )
        connection.execute(
            "INSERT INTO section (id, source_id, name, url, url_key, is_unfinished) VALUES (1, 7, 'a', 'u', 'k', 0)"
        )
        connection.execute(
            "INSERT INTO model_call (run_id, phase, place, model, prompt_tokens, completion_tokens, context_chars,"
            " latency_ms, outcome, at) VALUES ('r', 'rank', '', 'm', 1, 2, 3, 4, 'ok', '2026-01-01 00:00:00')"
        )
        connection.commit()
    shutil.copy(old, tmp_path / "twin.db")
    await asyncio.to_thread(backup.restore_backup, old, url)
    assert old.read_bytes() == (tmp_path / "twin.db").read_bytes()
    (source,) = await store.sources.list()
    (section,) = await store.sections.list_for_source(7)
    assert (source.name, source.id, section.head, section.arrivals) == ("旧部", 7, [], [])
    assert (await store.usage.load_run_usage("r")).cost is None


async def test_a_backup_that_cannot_be_written_says_so_and_leaves_nothing(
    store: Store, url: str, tmp_path: Path
) -> None:
    await fill(store)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WorkFailed, match="cannot be written"):
        await asyncio.to_thread(backup.create_backup, url, tmp_path / "file" / "b")


async def test_pruning_forgets_texts_and_records_but_no_item_and_no_known_url(store: Store) -> None:
    await fill(store, at=AT - timedelta(days=500))
    await fill(store, at=AT, number=2)
    old = Run(id="stuck", source_id=1, source="s", planned_at=AT - timedelta(500), status=RunStatus.RUNNING)
    await store.runs.create(old)
    pruned = await store.retention.prune(AT - timedelta(days=400))
    counts = {
        "runs": 1,
        "researches": 0,
        "records": 0,
        "files": 0,
        "texts": 1,
        "revisions": 1,
        "model_calls": 1,
        "alarms": 1,
    }
    assert pruned.model_dump() == {**counts, "deliveries": 1, "audit_entries": 0}
    assert [delivery.id for delivery in await store.deliveries.list()] == ["partners-2"]
    assert await store.deliveries.get_briefing("partners-1") is None
    assert [run.id for run in await store.runs.list()] == ["run-2", "stuck"]
    assert (await store.runs.load_ledger("run-1"), len(await store.runs.load_ledger("run-2"))) == ([], 1)
    items = await store.items.list(ItemFilter(), limit=None)
    assert sorted(item.run_id for item in items) == ["run-1", "run-2"]
    assert [await store.items.get_text(item.id or 0) for item in sorted(items, key=lambda entry: entry.id or 0)] == [
        None,
        "正文",
    ]
    known = await store.sections.find_known(1, ["https://example.gov/news/1.html"])
    assert [candidate.item_id is not None for candidate in known.values()] == [True]
    assert (await store.retention.prune(AT - timedelta(days=400))).model_dump() == dict.fromkeys(pruned.model_dump(), 0)


async def test_pruning_takes_away_more_than_one_batch(store: Store, source: Source) -> None:
    for number in range(45):
        at = AT - timedelta(days=500, minutes=number)
        await store.runs.create(
            Run(id=f"r{number}", source_id=source.id, source="s", planned_at=at, status=RunStatus.FAILED)
        )
    assert (await store.retention.prune(AT)).runs == 45
