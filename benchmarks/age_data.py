"""Fills an empty database with a history: what one source left behind is made, and repeated for the others."""

import datetime as dt
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement, Connection, String, cast, func, insert, literal, select
from sqlmodel import SQLModel

from monitor.db import migrate
from monitor.db.engines import DatabaseAddress, open_migration_engine
from monitor.db.sessions import split_batches
from monitor.db.tables.collection import Fallback, Item, ModelCall, Run, RunSection, Source, SourceSection, Unseen
from monitor.db.tables.delivery import Alarm, AlarmKind, BriefingRecord, Delivery, DeliveryStatus
from monitor.db.tables.evidence import EvidenceRecord
from monitor.db.tables.people import AuditEntry
from monitor.db.tables.research import Research, ResearchStatus, RunEvent, SearchCall
from monitor.i18n.message import Message
from monitor.urls import url_key
from monitor.vocabulary import DateSource, EventKind, FetchMode, ItemType, Phase, RunStatus, SectionEnd, SummaryBy

NEW_ITEMS = 100
"""So many items were first seen in the newest runs, whatever went before."""

TARGET = "bench"

_RUNS_A_DAY = 4

_EVENT_DAYS = 14

_FIRST = 1
"""The number of the source whose rows are made; those of the others are made of them."""

_BLOCKED = Message.of("cause.page_blocked", detail="http_403")

_UNREAD = Message("cause.not_reached")

_COLUMNS = {"where": "place"}
"""Fields whose columns are called otherwise."""

_Rows = Iterator[SQLModel]


def fill_history(url: str, *, sources: int, runs: int, now: dt.datetime, zone: str) -> None:
    """Migrate the database and give each of so many sources so many runs, four a day, the last one just over."""
    migrate.upgrade(url)
    engine = open_migration_engine(DatabaseAddress.parse(url))
    try:
        with engine.begin() as connection:
            insert_rows(connection, (_build_source(number, now) for number in range(1, sources + 1)))
            insert_rows(connection, (_build_section(number, now) for number in range(1, sources + 1)))
            for rows in (_list_runs(runs, now), _list_run_rows(runs, now), _list_items(runs, now)):
                insert_rows(connection, rows)
            _repeat_for_all(connection)
            insert_rows(connection, _list_new_items(sources, now))
            insert_rows(connection, _list_service_rows(runs, now))
            fill_daily_totals(connection, zone)
        with engine.begin() as connection:
            connection.exec_driver_sql("ANALYZE")
    finally:
        engine.dispose()


def format_run_id(source: int, run: int) -> str:
    """The id of the run of that number of a source, 0 the newest."""
    return f"bench-{source}-{run}"


def format_source_name(number: int) -> str:
    return f"示例部 {number:04d}"


def insert_rows(connection: Connection, rows: _Rows) -> None:
    for batch in split_batches(rows, 5000):
        by_table: dict[type[SQLModel], list[dict[str, Any]]] = {}
        for row in batch:
            made = {_COLUMNS.get(name, name): value for name, value in row.model_dump().items()}
            if made.get("id", 0) is None:
                del made["id"]
            by_table.setdefault(type(row), []).append(made)
        for table, values in by_table.items():
            connection.execute(insert(table), values)


def fill_daily_totals(connection: Connection, zone: str) -> None:
    """Count what was made, by the days of the zone, as the migration counts what it finds."""
    script = next((Path(__file__).parents[1] / "migrations" / "versions").glob("0019_*.py"))
    runpy.run_path(str(script))["fill_totals"](connection, ZoneInfo(zone))


def _repeat_for_all(connection: Connection) -> None:
    """Repeat the rows of the first source for every other one, a run of each source after another, as they came."""
    other = SQLModel.metadata.tables["source"]
    number = cast(other.c.id, String)

    def rename(column: ColumnElement[Any], prefix: str) -> ColumnElement[Any]:
        return func.replace(column, f"{prefix}{_FIRST}-", literal(prefix) + number + "-")

    for table in (Run, RunSection, EvidenceRecord, Fallback, Unseen, Item, ModelCall, RunEvent, Alarm):
        origin = SQLModel.metadata.tables[str(table.__tablename__)]
        made: dict[str, ColumnElement[Any]] = {column.name: column for column in origin.c}
        key, owner = made["id"], made["id" if table is Run else "run_id"]
        if table is EvidenceRecord:
            made["id"] = rename(key, "r")
        elif table is not Run:
            del made["id"]
        made["id" if table is Run else "run_id"] = rename(owner, "bench-")
        if table in (Run, Item, Alarm):
            made["source_id"] = other.c.id
        if table in (Run, Item):
            made["source"] = other.c.name
        if table is Item:
            made |= {name: rename(made[name], "s") for name in ("url", "url_key")}
        rows = select(*made.values()).select_from(origin.join(other, other.c.id > _FIRST)).order_by(key, other.c.id)
        connection.execute(insert(origin).from_select(list(made), rows))


def _build_source(number: int, now: dt.datetime) -> Source:
    return Source(
        id=number,
        name=format_source_name(number),
        url=f"https://s{number}.example.gov/",
        tags=[f"tag{number % 50}"],
        schedule="0 */6 * * *",
        created_at=now - dt.timedelta(days=800),
        last_run_at=_get_time(0, now),
        last_success_at=_get_time(0, now),
        last_new_item_at=_get_time(0, now),
    )


def _build_section(number: int, now: dt.datetime) -> SourceSection:
    url = f"https://s{number}.example.gov/list/"
    arrivals = [(now.date() - dt.timedelta(days=back)).isoformat() for back in range(60, 0, -5)]
    return SourceSection(
        source_id=number, name="通知公告", url=url, url_key=url_key(url), last_complete_on=now.date(), arrivals=arrivals
    )


def _get_time(run: int, now: dt.datetime) -> dt.datetime:
    return now - dt.timedelta(minutes=10, hours=24 // _RUNS_A_DAY * run)


def _list_runs(runs: int, now: dt.datetime) -> _Rows:
    """Most succeed; one in eleven falls back, one in fifty fails. The oldest is made first."""
    for run in reversed(range(runs)):
        at = _get_time(run, now)
        status = RunStatus.FAILED if run % 50 == 7 else RunStatus.DEGRADED if run % 11 == 3 else RunStatus.SUCCEEDED
        yield Run(
            id=format_run_id(_FIRST, run),
            source_id=_FIRST,
            source=format_source_name(_FIRST),
            status=status,
            planned_at=at,
            started_at=at,
            ended_at=at + dt.timedelta(seconds=20),
            since=at.date() - dt.timedelta(days=6),
            until=at.date(),
            enqueued_at=at,
            error=_UNREAD if status is RunStatus.FAILED else None,
        )


def _list_run_rows(runs: int, now: dt.datetime) -> _Rows:
    """What each run leaves behind: a section, a record, and now and then a fallback, an unread place, two calls."""
    url = "https://example.gov/list/"
    for run in reversed(range(runs)):
        run_id, at = format_run_id(_FIRST, run), _get_time(run, now)
        counts: dict[str, Any] = {"ordinal": 0, "pages": 1, "candidates": 20, "listed": 20, "listed_dated": 20}
        yield RunSection(run_id=run_id, name="通知公告", url=url, ended=SectionEnd.KNOWN, **counts)
        request: dict[str, Any] = {
            "url": url,
            "final_url": url,
            "way": FetchMode.HTTP,
            "attempt": 1,
            "number": 1,
            "status": 304,
        }
        yield EvidenceRecord(id=f"r{_FIRST}-{run}", run_id=run_id, fetched_at=at, status=304, **request)
        if run % 11 == 3:
            reason = _BLOCKED if run % 3 == 0 else _UNREAD
            yield Fallback(run_id=run_id, phase=Phase.SUMMARISE, where=f"{url}{run}.html", reason=reason, at=at)
        if run % 50 == 7:
            yield Unseen(run_id=run_id, section="通知公告", url=url, reason=_BLOCKED)
        if run % 10 == 0:
            for phase in (Phase.SUMMARISE, Phase.RANK):
                yield ModelCall(run_id=run_id, phase=phase, model="m", prompt_tokens=900, at=at, cost=0.01)
        if run < _EVENT_DAYS * _RUNS_A_DAY:
            for kind in (EventKind.PHASE, EventKind.PHASE, EventKind.PHASE):
                yield RunEvent(run_id=run_id, at=at, kind=kind, data={"phase": "crawl", "done": 1, "total": 1})
        if run % 200 == 150:
            silent = Message.of("alarm.silent", since="2026-01-01", days="5")
            raised: dict[str, Any] = {"raised_at": at, "cleared_at": at + dt.timedelta(days=1), "notified_at": at}
            yield Alarm(source_id=_FIRST, kind=AlarmKind.SILENCE, message=silent, run_id=run_id, **raised)


def _list_items(runs: int, now: dt.datetime) -> _Rows:
    for run in reversed(range(10, runs, 20)):
        yield _build_item(_FIRST, run, now)


def _list_new_items(sources: int, now: dt.datetime) -> _Rows:
    for number in range(NEW_ITEMS):
        yield _build_item(1 + number % sources, 0, now, number=number)


def _build_item(source: int, run: int, now: dt.datetime, *, number: int = 0) -> Item:
    at, url = _get_time(run, now), f"https://s{source}-/{run}-{number}.html"
    subject = ("光伏", "风电", "储能", "碳市场", "电价")[(run + number) % 5]
    return Item(
        source_id=source,
        run_id=format_run_id(source, run),
        source=format_source_name(source),
        section="通知公告",
        url=url,
        url_key=url_key(url),
        title=f"关于{subject}第{run * NEW_ITEMS + number}号项目有关事项的通知",
        day=at.date(),
        date=at.date(),
        date_source=DateSource.LISTED,
        type=list(ItemType)[number % 5],
        summary=f"{subject}项目有关事项。",
        summary_by=SummaryBy.EXTRACT,
        statements={"supported_by_code": 1},
        rank=number + 1,
        tier=number % 5 + 1,
        document_number=f"示发〔{at.year}〕{run * NEW_ITEMS + number}号",
        language="zh",
        first_seen=at,
        evidence=[],
    )


def _list_service_rows(runs: int, now: dt.datetime) -> _Rows:
    """What the service leaves behind by itself: deliveries twice a day, searches, acts, and a research every day."""
    for run in reversed(range(runs)):
        at = _get_time(run, now)
        for number in range(5):
            yield SearchCall(backend="searxng", route="direct", at=at + dt.timedelta(seconds=number), cost=0.001)
            person: dict[str, Any] = {
                "person": "bench",
                "action": "source.edit",
                "subject": format_source_name(1 + number),
            }
            yield AuditEntry(at=at, detail={}, **person)
        if run % 2 == 0:
            name = f"{TARGET}-{at:%Y%m%dT%H%M%SZ}"
            keys: dict[str, Any] = {"id": name, "key": name, "message_id": f"<{name}@bench>", "day": at.date()}
            yield Delivery(target=TARGET, status=DeliveryStatus.SENT, planned_at=at, sent_at=at, attempts=1, **keys)
            yield BriefingRecord(delivery_id=name, composed_at=at, briefing={"text": "要闻" * 5000})
        if run % _RUNS_A_DAY == 0:
            ended: dict[str, Any] = {
                "created_at": at,
                "started_at": at,
                "ended_at": at,
                "status": ResearchStatus.SUCCEEDED,
            }
            outputs: dict[str, Any] = {"reporting": {"score": {}, "content": "研究" * 5000}}
            yield Research(
                id=f"bench-research-{run}", query="储能", language="zh", outputs=outputs, created_at=at, **ended
            )
            yield ModelCall(run_id=f"bench-research-{run}", phase=Phase.REPORT, model="m", prompt_tokens=9000, at=at)
