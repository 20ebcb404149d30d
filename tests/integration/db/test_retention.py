"""What runs share is stored once and goes with the last of them; what is old goes step by step, oldest first."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import event, func, select
from sqlmodel import SQLModel

from monitor.db.database import Store
from monitor.db.queries.evidence import save_claims
from monitor.db.reading import LedgerEntry, SectionPlan, SectionReading
from monitor.db.tables.collection import CandidateRecord, Item, Reading, Run, Source
from monitor.db.tables.evidence import Claim, ClaimKind, ClaimUpdate, EvidenceRecord, ManifestPart
from monitor.db.tables.research import RunEvent
from monitor.page import Candidate
from monitor.urls import url_key
from monitor.vocabulary import Disposition, EventKind, FetchMode, RunStatus, SectionEnd

NOON = datetime(2026, 2, 3, 12, tzinfo=UTC)
DAY = timedelta(days=1)
PLAN = SectionPlan(ordinal=0, name="通知", url="https://example.gov/tzgg/")


class Runs:
    """Runs of one source, each on a day of its own, that read one section."""

    def __init__(self, store: Store, source: Source) -> None:
        self.store, self.source_id = store, source.id or 0

    async def read(self, day: int, *titles: str, disposition: Disposition = Disposition.KNOWN) -> str:
        run_id, at = f"run-{day}", NOON + day * DAY
        run = Run(id=run_id, source_id=self.source_id, source="示例部", planned_at=at, status=RunStatus.SUCCEEDED)
        await self.store.runs.create(run)
        entries = [
            LedgerEntry(
                candidate=Candidate(title=title, url=f"https://example.gov/{title}", date=date(2026, 2, 1)),
                page_url=PLAN.url,
                position=position,
                disposition=disposition,
            )
            for position, title in enumerate(titles)
        ]
        reading = SectionReading(plan=PLAN, ended=SectionEnd.KNOWN, pages=1, entries=entries)
        await self.store.runs.save_reading(run_id, self.source_id, reading, on=at.date(), at=at)
        return run_id

    async def titles(self, run_id: str) -> list[str]:
        return [row.title for row in await self.store.runs.load_ledger(run_id)]

    async def count(self, table: type[SQLModel]) -> int:
        async with self.store.sessions.begin_read() as session:
            return await session.scalar(select(func.count()).select_from(table)) or 0


@pytest.fixture
def runs(store: Store, source: Source) -> Runs:
    return Runs(store, source)


async def test_a_ledger_like_an_earlier_one_of_the_source_is_not_stored_again(runs: Runs, store: Store) -> None:
    first, second = await runs.read(0, "a", "b"), await runs.read(1, "a", "b")
    other = await runs.read(2, "a", "c")
    assert (await runs.count(Reading), await runs.count(CandidateRecord)) == (2, 4)
    assert await runs.titles(first) == await runs.titles(second) == ["a", "b"]
    assert await runs.titles(other) == ["a", "c"]
    details = await store.history.load_details([first, second, other])
    assert [details[run_id].coverage.known for run_id in (first, second, other)] == [2, 2, 2]


@pytest.mark.parametrize("change", ["order", "disposition"])
async def test_a_ledger_that_differs_in_anything_is_another_one(runs: Runs, change: str) -> None:
    await runs.read(0, "a", "b")
    titles = ("b", "a") if change == "order" else ("a", "b")
    disposition = Disposition.LEFT if change == "disposition" else Disposition.KNOWN
    await runs.read(1, *titles, disposition=disposition)
    assert await runs.count(Reading) == 2


async def test_a_section_without_candidates_has_no_reading(runs: Runs) -> None:
    run_id = await runs.read(0)
    assert await runs.count(Reading) == 0
    assert await runs.titles(run_id) == []


async def test_a_shared_ledger_stays_for_as_long_as_a_run_refers_to_it(runs: Runs, store: Store) -> None:
    first, last = await runs.read(0, "a"), await runs.read(9, "a")
    assert (await store.retention.prune(NOON + 5 * DAY)).runs == 1
    assert (await runs.titles(first), await runs.titles(last)) == ([], ["a"])
    await store.retention.prune(NOON + 12 * DAY)
    assert (await runs.count(Reading), await runs.count(CandidateRecord)) == (0, 0)
    again = await runs.read(20, "a")
    assert await runs.titles(again) == ["a"]


async def test_a_ledger_of_a_source_that_is_gone_stays_with_its_runs(runs: Runs, store: Store) -> None:
    run_id = await runs.read(0, "a")
    await store.sources.remove("示例部")
    assert await runs.titles(run_id) == ["a"]


async def test_parts_of_manifests_are_stored_once_and_go_when_no_run_needs_them(runs: Runs, store: Store) -> None:
    large, other = {"source": {"name": "示例部", "rules": "标" * 99}}, {"limits": {"max_items": 20}}
    for day in (0, 9):
        run_id = await runs.read(day)
        await store.evidence.save_manifest(run_id, {"at": day}, [large, other], at=NOON + day * DAY)
    assert await runs.count(ManifestPart) == 2
    await store.evidence.save_feedback("run-9", [])
    await store.retention.prune(NOON + 5 * DAY)
    assert await store.evidence.get_manifest("run-0") is None
    assert await store.evidence.get_manifest("run-9") == {"at": 9, **large, **other}
    await store.retention.prune(NOON + 12 * DAY)
    assert await runs.count(ManifestPart) == 0


async def test_an_item_goes_on_naming_the_records_of_later_runs(runs: Runs, store: Store) -> None:
    values = {"source": "示例部", "section": "通知", "title": "a", "url": "https://a.example/1"}
    item = Item(**values, source_id=runs.source_id, run_id="run-0", first_seen=NOON, url_key=url_key(values["url"]))
    kept, _ = await store.items.save(item)
    for day in (0, 9):
        run_id = await runs.read(day)
        record = {"url": "u", "final_url": "u", "way": FetchMode.HTTP, "fetched_at": NOON + day * DAY}
        await store.captures.add([], [EvidenceRecord(id=f"record-{day}", run_id=run_id, attempt=1, number=1, **record)])
        claim = Claim(item_id=0, kind=ClaimKind.PAGE, claim=f"{day}", record_id=f"record-{day}")
        async with store.sessions.begin_write() as session:
            await save_claims(session, ClaimUpdate({kept.id or 0: [claim]}, frozenset()))
    assert (await store.retention.prune(NOON + 5 * DAY)).records == 1
    after = await store.items.get(kept.id or 0)
    assert after is not None
    assert after.evidence == ["record-9"]


async def test_events_of_a_quiet_run_go_first(runs: Runs, store: Store) -> None:
    phase = {"kind": EventKind.PHASE, "data": {}}
    for day in (0, 1, 9):
        await runs.read(day)
    await store.runs.update("run-1", status=RunStatus.DEGRADED)
    await store.run_events.add([RunEvent(run_id=f"run-{day}", at=NOON + day * DAY, **phase) for day in (0, 1, 9)])
    before = NOON - 5 * DAY
    assert await store.retention.prune_events(before, quiet_before=NOON + 5 * DAY) == 1
    assert [await store.run_events.count(f"run-{day}") for day in (0, 1, 9)] == [0, 1, 1]
    assert await store.retention.prune_events(NOON + 5 * DAY, quiet_before=NOON + 5 * DAY) == 1


async def test_each_search_for_old_runs_goes_on_where_the_last_one_ended(runs: Runs, store: Store, kind: str) -> None:
    for number in range(70):
        planned_at = NOON - DAY + timedelta(minutes=number)
        await store.runs.create(
            Run(id=f"r{number}", source_id=runs.source_id, source="s", planned_at=planned_at, status=RunStatus.FAILED)
        )
    engine = store.sessions._readers.kw["bind"].sync_engine
    searches: list[tuple[str, Any]] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if statement.startswith("SELECT run.planned_at, run.id"):
            searches.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", note)
    assert (await store.retention.prune(NOON)).runs == 70
    event.remove(engine, "before_cursor_execute", note)
    assert len(searches) >= 2
    assert all(">" in statement.partition("ORDER BY")[0] for statement, _ in searches[1:])
    if kind == "sqlite":
        async with store.sessions.begin_read() as session:
            connection = await session.connection()
            plan = await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {searches[1][0]}", searches[1][1])
            steps = [row[-1] for row in plan]
        assert steps[0].startswith("SEARCH run USING INDEX ix_run_planned_at"), steps


def test_every_reference_to_rows_that_are_pruned_has_an_index() -> None:
    pruned = {"run", "record", "reading", "research", "alarm", "delivery"}
    missing = []
    for table in SQLModel.metadata.sorted_tables:
        leading = {next(iter(index.columns)).name for index in table.indexes} | {next(iter(table.primary_key)).name}
        missing += [
            f"{table.name}.{key.parent.name}"
            for key in table.foreign_keys
            if key.column.table.name in pruned and key.parent.name not in leading
        ]
    assert missing == []


async def test_earlier_readings_are_those_of_the_latest_runs(runs: Runs, store: Store) -> None:
    for day in range(6):
        await runs.read(day, "a")
    readings = await store.sections.load_earlier_readings(runs.source_id, "run-5", limit=2, begins={})
    assert [row.run_id for row in readings[PLAN.url]] == ["run-4", "run-3"]
