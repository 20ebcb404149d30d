"""The run history: pages of runs, candidates and calls, each row once, in order, and no ledger for a list of runs."""

from datetime import UTC, date, datetime, timedelta

import pytest

from monitor.db.database import Store
from monitor.db.queries.history import CandidateFilter, RunFilter
from monitor.db.reading import Coverage, LedgerEntry, SectionPlan, SectionReading, UnseenPlace
from monitor.db.tables.collection import ModelCall, Run, Source
from monitor.errors import ModelFailed
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.page import Candidate
from monitor.vocabulary import DateSource, Disposition, Phase, RunStatus, SectionEnd

NOON = datetime(2026, 2, 3, 12, tzinfo=UTC)
PLAN = SectionPlan(ordinal=0, name="通知公告", url="https://example.gov/notices/")


async def add_run(store: Store, source: Source, run_id: str, *, hours: int = 0) -> Run:
    run = Run(id=run_id, source_id=source.id, source=source.name, planned_at=NOON + timedelta(hours=hours))
    await store.runs.create(run)
    return run


def entry(number: int, disposition: Disposition, *, title: str = "") -> LedgerEntry:
    candidate = Candidate(
        title=title or f"第 {number} 号通知",
        url=f"https://example.gov/n/{number}.html",
        date=date(2026, 2, 1),
        date_source=DateSource.LISTED,
    )
    return LedgerEntry(candidate=candidate, page_url=PLAN.url, position=number, disposition=disposition)


@pytest.fixture
async def read_run(store: Store, source: Source) -> Run:
    """A run with two sections, 30 candidates, a fallback, an unseen place and three model calls."""
    run = await add_run(store, source, "read")
    for ordinal in range(2):
        plan = PLAN.model_copy(update={"ordinal": ordinal, "url": f"https://example.gov/{ordinal}/"})
        entries = [
            entry(n + 100 * ordinal, Disposition.LEFT if n % 3 else Disposition.KNOWN, title="100%_a" if n == 7 else "")
            for n in range(15)
        ]
        unseen = (
            [UnseenPlace(section=plan.name, url=plan.url + "2", reason=Message("cause.ended_max_pages"))]
            if ordinal
            else []
        )
        reading = SectionReading(plan=plan, ended=SectionEnd.END, pages=1, entries=entries, unseen=unseen)
        await store.runs.save_reading(run.id, source.id or 0, reading, on=date(2026, 2, 3), at=NOON)
    await store.runs.add_fallback(run.id, Phase.RANK, "部门", ModelFailed("gone", outcome="network").reason, NOON)
    for number, phase in enumerate((Phase.SUMMARISE, Phase.NAVIGATE, Phase.SUMMARISE)):
        call = ModelCall(
            run_id=run.id, phase=phase, model="m", prompt_tokens=100, completion_tokens=number, context_chars=9, at=NOON
        )
        await store.usage.add(call)
    return run


async def test_pages_of_runs_hand_out_every_run_once_latest_first(store: Store, source: Source) -> None:
    for number in range(7):
        await add_run(store, source, f"r{number}", hours=number // 3)
    found: list[str] = []
    after = None
    for _ in range(4):
        rows = await store.history.list_rows(RunFilter(), after=after, limit=2)
        found += [row.run.id for row in rows]
        after = (rows[-1].run.planned_at, rows[-1].run.id)
    assert found == ["r6", "r5", "r4", "r3", "r2", "r1", "r0"]
    assert await store.history.list_rows(RunFilter(), after=after, limit=2) == []


async def test_runs_are_found_by_source_status_and_span(store: Store, source: Source) -> None:
    other = await store.sources.add(Source(name="other", url="https://o.gov/", created_at=NOON))
    await add_run(store, source, "a")
    await add_run(store, other, "b", hours=1)
    await store.runs.end("b", None, status=RunStatus.FAILED, at=NOON)

    async def ids(**wanted: object) -> list[str]:
        return [run.id for run in await store.history.list_runs(RunFilter.model_validate(wanted))]

    assert await ids() == ["b", "a"]
    assert await ids(source_id=source.id) == ["a"]
    assert await ids(source="other") == [], "it is there, and has a number"
    await store.sources.remove("other")
    assert await ids(source="other\x00") == ["b"], "what no database takes is no part of a name"
    assert await ids(status=RunStatus.FAILED) == ["b"]
    assert await ids(planned_from=NOON + timedelta(minutes=1)) == ["b"]
    assert await ids(planned_before=NOON + timedelta(minutes=1)) == ["a"]
    assert await store.history.list_sources() == ["other", source.name]


async def test_a_row_counts_what_a_run_brought_and_spent(store: Store, source: Source, read_run: Run) -> None:
    await add_run(store, source, "empty", hours=-1)
    row, empty = await store.history.list_rows(RunFilter())
    assert (row.run.id, row.candidates, row.fallbacks, row.saved, row.tokens) == ("read", 30, 1, 0, 303)
    assert (empty.candidates, empty.fallbacks, empty.saved, empty.tokens) == (0, 0, 0, 0)


async def test_the_details_are_those_that_each_run_has_by_itself(store: Store, source: Source, read_run: Run) -> None:
    await add_run(store, source, "empty")
    details = await store.history.load_details(["read", "empty"])
    assert details["read"].coverage == (await store.history.load_details(["read"]))["read"].coverage
    assert details["read"].coverage != Coverage()
    assert details["read"].usage == await store.usage.load_run_usage("read")
    assert list(details["read"].usage.by_phase) == ["navigate", "summarise"]
    assert [render(fallback.reason, "en") for fallback in details["read"].fallbacks] == ["network: gone"]
    assert details["empty"].coverage == Coverage()
    assert not details["empty"].fallbacks


async def test_candidates_come_in_the_order_of_the_pages_each_once(store: Store, read_run: Run) -> None:
    whole = await store.history.list_candidates("read", CandidateFilter(), limit=None)
    assert [(row.section, row.position) for row in whole] == [(s, n + 100 * s) for s in range(2) for n in range(15)]
    found, after = [], None
    while rows := await store.history.list_candidates("read", CandidateFilter(), after=after, limit=7):
        found += [row.id for row in rows]
        after = (rows[-1].section, rows[-1].position, rows[-1].id)
    assert found == [row.id for row in whole]


async def test_candidates_are_found_by_disposition_section_and_text(store: Store, read_run: Run) -> None:
    async def count(**wanted: object) -> int:
        return len(await store.history.list_candidates("read", CandidateFilter.model_validate(wanted), limit=None))

    assert await count(disposition=Disposition.KNOWN) == 10
    assert await count(disposition=Disposition.KNOWN, section=1) == 5
    assert await count(text="第 3 号") == 1
    assert await count(text="N/103.HTML\x00") == 1
    assert await count(text="0%_A") == 2, "signs of the database's patterns are letters like any other"
    assert await count(text="0%a") == 0
    assert await store.history.list_candidates("another", CandidateFilter()) == []


async def test_calls_go_on_after_the_one_that_was_handed_out_last(store: Store, read_run: Run) -> None:
    first, second, third = await store.history.list_calls("read")
    assert [call.id for call in await store.history.list_calls("read", after=first.id or 0, limit=1)] == [second.id]
    assert [call.id for call in await store.history.list_latest_calls("read", limit=2)] == [second.id, third.id]
