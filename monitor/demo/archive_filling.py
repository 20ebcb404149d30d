"""Fills an empty database with a large archive as fast as it takes it: past the desks, table by table."""

import datetime as dt
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from typing import Any

from sqlalchemy import Connection, insert
from sqlmodel import SQLModel

from monitor.demo.archive_sample import SOURCES, Sample, Stock
from monitor.domain.fulltext import ItemTerms
from monitor.domain.tables import Item, ItemText, Run, Source
from monitor.domain.urls import url_key
from monitor.domain.words import DateSource, RunStatus, SummaryBy
from monitor.store import migrate
from monitor.store.address import DatabaseAddress
from monitor.store.engines import open_migration_engine
from monitor.store.indexing import marked
from monitor.store.sessions import batches
from monitor.store.term_index import make_index, take_index

TAGS = 50
_BATCH = 2_000
_AT_ONCE = 8
_ITEMS_A_RUN = 20

Rows = tuple[type[SQLModel], list[dict[str, Any]]]


def fill(url: str, items: int, *, today: dt.date, workers: int = 2) -> None:
    """Migrate the database and put so many items into it, with their sources, runs, texts and index."""
    migrate.upgrade(url)
    engine = open_migration_engine(DatabaseAddress.parse(url))
    ranges = [range(start, min(start + _BATCH, items)) for start in range(0, items, _BATCH)]
    runs = range(-(-items // SOURCES // _ITEMS_A_RUN))
    try:
        with engine.begin() as connection:
            take_index(connection)
            _write(connection, (Source, [_source(number, today) for number in range(SOURCES)]))
            for made in batches(_run(source, run, today) for source in range(SOURCES) for run in runs):
                _write(connection, (Run, made))
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as makers:
            for some in batches(ranges, _AT_ONCE):
                for tables in makers.map(partial(_rows, today=today, of=items), some):
                    with engine.begin() as connection:
                        _write(connection, *tables)
        with engine.begin() as connection:
            _prepare(connection)
            make_index(connection)
        with engine.begin() as connection:
            connection.exec_driver_sql("ANALYZE")
    finally:
        engine.dispose()


def _write(connection: Connection, *tables: Rows) -> None:
    for table, rows in tables:
        connection.execute(insert(table), rows)


def _prepare(connection: Connection) -> None:
    """Give the making of the index more memory than a database takes by itself."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA cache_size = -500000")
    else:
        connection.exec_driver_sql("SET LOCAL maintenance_work_mem = '2GB'")


def _source(number: int, today: dt.date) -> dict[str, Any]:
    created_at = dt.datetime.combine(today, dt.time(), dt.UTC) - dt.timedelta(days=2000)
    tags = [f"tag{number % TAGS}"]
    name, url = source_name(number), f"https://s{number}.example.gov/"
    return Source(id=number + 1, name=name, url=url, tags=tags, created_at=created_at).model_dump()


def source_name(number: int) -> str:
    """What a made-up source is called."""
    return f"示例部 {number:04d}"


def _run(source: int, run: int, today: dt.date) -> dict[str, Any]:
    at = dt.datetime.combine(today, dt.time(8), dt.UTC) - dt.timedelta(days=run)
    return Run(
        id=_run_id(source, run),
        source_id=source + 1,
        source=source_name(source),
        status=RunStatus.SUCCEEDED,
        planned_at=at,
        started_at=at,
        ended_at=at,
    ).model_dump()


def _run_id(source: int, run: int) -> str:
    return f"bench-{source}-{run}"


@cache
def _stock() -> Stock:
    return Stock()


def _rows(numbers: range, *, today: dt.date, of: int) -> list[Rows]:
    """What is written of these items; in a process of its own."""
    samples = list(_stock().samples(numbers, today=today, of=of))
    return [
        (Item, [_item(sample) for sample in samples]),
        (ItemText, [{"item_id": sample.number + 1, "text": sample.text} for sample in samples]),
        (ItemTerms, [_terms(sample) for sample in samples]),
    ]


def _terms(sample: Sample) -> dict[str, Any]:
    return {"item_id": sample.number + 1, "terms": marked(sample.terms, sample.day, sample.source + 1)}


@cache
def _blank() -> dict[str, Any]:
    """The columns of which all items say the same."""
    noon = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
    return Item(run_id="", source="", section="", url="", url_key="", title="", first_seen=noon).model_dump()


def _item(sample: Sample) -> dict[str, Any]:
    url = f"https://s{sample.source}.example.gov/{sample.number}.html"
    return _blank() | {
        "id": sample.number + 1,
        "source_id": sample.source + 1,
        "run_id": _run_id(sample.source, sample.number // SOURCES // _ITEMS_A_RUN),
        "source": source_name(sample.source),
        "section": sample.section,
        "url": url,
        "url_key": url_key(url),
        "title": sample.title,
        "day": sample.day,
        "date": sample.day if sample.has_date else None,
        "date_source": DateSource.LISTED if sample.has_date else DateSource.UNKNOWN,
        "type": sample.type,
        "summary": sample.summary,
        "summary_by": SummaryBy.EXTRACT,
        "rank": sample.number % _ITEMS_A_RUN + 1,
        "tier": sample.number % 5 + 1,
        "document_number": sample.document_number,
        "language": sample.language,
        "first_seen": sample.first_seen,
    }
