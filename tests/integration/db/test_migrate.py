"""The schema goes up, down and up again on both databases, and is the one that the tables describe."""

import asyncio
import datetime as dt
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Engine, MetaData, Table, inspect
from sqlmodel import SQLModel, select

from monitor.db import migrate, tables
from monitor.db.database import Store
from monitor.db.engines import DatabaseAddress, open_migration_engine
from monitor.db.fulltext import FullTextScope
from monitor.db.fulltext_index import INDEX_NAME
from monitor.db.queries.filters import ItemFilter
from monitor.db.tables.collection import DailyTotal, Item, ModelCall, Run, Source
from monitor.db.tables.delivery import Delivery, DeliveryOutcome, DeliveryStatus
from monitor.db.tables.people import StoredSetting
from monitor.db.tables.research import Research, SearchCall
from monitor.db.terms import TextQuery
from monitor.errors import DatabaseError
from monitor.vocabulary import Phase, RunStatus

NOW = dt.datetime(2026, 2, 3, tzinfo=dt.UTC)


def engine_of(url: str) -> Engine:
    return open_migration_engine(DatabaseAddress.parse(url))


def test_migrations_run_up_down_to_nothing_and_up_again(empty_url: str) -> None:
    migrate.upgrade(empty_url)
    assert migrate.get_current_revision(empty_url) == migrate.get_head_revision()
    migrate.downgrade(empty_url, "base")
    assert migrate.get_current_revision(empty_url) is None
    assert inspect(engine_of(empty_url)).get_table_names() == ["alembic_version"]
    migrate.upgrade(empty_url)
    assert migrate.get_current_revision(empty_url) == migrate.get_head_revision()


def test_the_migrated_schema_is_the_one_that_the_tables_describe(empty_url: str) -> None:
    for module in pkgutil.iter_modules(tables.__path__, f"{tables.__name__}."):
        importlib.import_module(module.name)
    migrate.upgrade(empty_url)
    with engine_of(empty_url).connect() as connection:
        # The full-text index is no table of ours: each database has it in its own way (migration 0008).
        options = {"include_name": lambda name, *_: not (name or "").startswith(INDEX_NAME)}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, SQLModel.metadata) == []


def test_constraints_that_a_later_migration_may_change_have_names(empty_url: str) -> None:
    migrate.upgrade(empty_url)
    tables = inspect(engine_of(empty_url))
    names = [
        constraint["name"] for table in tables.get_table_names() for constraint in tables.get_unique_constraints(table)
    ]
    assert names
    assert None not in names


def test_two_programs_that_migrate_at_once_do_so_one_after_the_other(empty_url: str) -> None:
    program = "import sys; from monitor.db import migrate; migrate.upgrade(sys.argv[1])"
    command = [sys.executable, "-c", program, empty_url]
    started = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[1] for process in started] == ["", ""]
    assert migrate.get_current_revision(empty_url) == migrate.get_head_revision()


def test_migrating_prints_nothing(empty_url: str, capfd: pytest.CaptureFixture[str]) -> None:
    migrate.upgrade(empty_url)
    migrate.get_current_revision(empty_url)
    migrate.downgrade(empty_url, "base")
    assert capfd.readouterr().out == ""


def test_a_migration_that_breaks_off_leaves_nothing_behind(empty_url: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with engine_of(empty_url).begin() as connection:
        connection.exec_driver_sql("CREATE TABLE unseen (id INTEGER)")
    with pytest.raises(DatabaseError, match=r"cannot be used .*already exists"):
        migrate.upgrade(empty_url)
    assert inspect(engine_of(empty_url)).get_table_names() == ["unseen"]


def test_a_user_of_the_server_without_the_right_to_make_tables_is_told_so(postgres: Any) -> None:
    url = postgres.url(postgres.create(template="template1"))
    with engine_of(url).begin() as connection:
        connection.exec_driver_sql("CREATE ROLE guest LOGIN")
    with pytest.raises(DatabaseError, match="permission denied"):
        migrate.upgrade(url.replace("postgres@", "guest@"))


def test_a_database_of_a_newer_version_is_left_alone(empty_url: str) -> None:
    migrate.upgrade(empty_url)
    with engine_of(empty_url).begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(DatabaseError, match=r"cannot be migrated .*9999.*newer"):
        migrate.upgrade(empty_url)


def test_a_database_that_was_never_made_stands_at_no_revision(tmp_path: Path) -> None:
    assert migrate.get_current_revision(f"sqlite:///{tmp_path / 'none.db'}") is None
    assert not list(tmp_path.iterdir())


def test_items_that_are_there_are_indexed_in_batches(empty_url: str) -> None:
    migrate.upgrade(empty_url, "0007")
    with engine_of(empty_url).begin() as connection:
        item = Table("item", MetaData(), autoload_with=connection)
        text = Table("item_text", MetaData(), autoload_with=connection)
        row = Item(run_id="r", source="s", section="s", url="", url_key="", title="", first_seen=NOW).model_dump()
        row = {name: value for name, value in row.items() if name in item.c}
        rows = [{**row, "id": number, "url_key": str(number), "title": f"光伏 {number}"} for number in range(1, 1202)]
        connection.execute(item.insert(), rows)
        connection.execute(text.insert(), [{"item_id": 1201, "text": "正文说到储能"}])
    migrate.upgrade(empty_url)

    async def found(query: str) -> list[int | None]:
        async with Store.open(empty_url) as store:
            matches = await store.fulltext.find(TextQuery.parse(query), FullTextScope(items=ItemFilter()), limit=None)
            return [match.item.id for match in matches]

    assert asyncio.run(found("光伏")) == list(range(1201, 0, -1))
    assert asyncio.run(found("储能")) == [1201]


def test_what_is_on_record_is_counted_by_the_days_of_the_stored_zone(empty_url: str) -> None:
    """Version 0.1.0 had no totals: the migration makes those that this version would have made."""
    migrate.upgrade(empty_url)
    late = dt.datetime(2026, 2, 3, 15, tzinfo=dt.UTC)  # the next day in Kiritimati, 14 hours ahead

    async def book() -> None:
        async with Store.open(empty_url) as store:
            store.sessions.timezone = "Pacific/Kiritimati"
            await store.settings.change([StoredSetting(path="timezone", value="Pacific/Kiritimati", by="ada", at=NOW)])
            source = await store.sources.add(Source(name="s", url="https://s.gov/", created_at=NOW))
            await store.runs.create(Run(id="r", source_id=source.id, source="s", planned_at=late))
            await store.runs.end("r", source.id, status=RunStatus.DEGRADED, at=late)
            item = {"run_id": "r", "source": "s", "section": "", "url": "u", "url_key": "u", "title": "t"}
            await store.items.save(Item(first_seen=late, statements={"unchecked": 2}, **item))
            research = Research(id="q", query="?", language="zh", created_at=late)
            await store.research.create(research)
            for owner, phase, cost in (
                ("r", Phase.CRAWL, 0.5),
                ("r", Phase.VERIFY, None),
                ("q", Phase.VERIFY, 0.25),
                ("?", Phase.RANK, 1),
            ):
                spent = {"prompt_tokens": 3, "completion_tokens": 4, "at": late, "cost": cost}
                await store.usage.add(ModelCall(run_id=owner, phase=phase, model="m", **spent))
            for outcome in ("ok", "Timeout"):
                await store.searches.add(SearchCall(backend="b", route="", at=late, outcome=outcome, cost=0.5))
            delivery = {"id": "d", "target": "t", "key": "k", "message_id": "m", "planned_at": late}
            await store.deliveries.create(Delivery(**delivery))
            await store.deliveries.record_attempt("d", 0, DeliveryOutcome(status=DeliveryStatus.SENT, sent_at=late))

    async def list_totals() -> list[tuple[object, ...]]:
        async with Store.open(empty_url) as store, store.sessions.begin_read() as session:
            rows = await session.scalars(select(DailyTotal))
            return sorted((str(row.kind), row.day, row.name, row.count, row.amount) for row in rows)

    asyncio.run(book())
    booked = asyncio.run(list_totals())
    assert {day for _, day, *_ in booked} == {dt.date(2026, 2, 4)}
    assert len(booked) == 24
    migrate.downgrade(empty_url, "0018")
    migrate.upgrade(empty_url)
    assert asyncio.run(list_totals()) == booked
