"""Opening the store: what is made, what is refused, and what people are told."""

import asyncio
import gc
import socket
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, text

from monitor.db import migrate
from monitor.db.database import Store
from monitor.db.tables.collection import Item, Source
from monitor.errors import DatabaseError


async def test_a_migrated_database_passes_the_check(store: Store) -> None:
    await store.check()


async def test_a_new_sqlite_database_is_created_and_migrated(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'deep' / 'monitor.db'}"
    async with Store.open(url) as store:
        await store.check()
        assert await store.sources.list() == []
    assert migrate.get_current_revision(url) == migrate.get_head_revision()


def test_opening_touches_nothing(tmp_path: Path) -> None:
    Store.open(f"sqlite:///{tmp_path / 'deep' / 'monitor.db'}")
    assert not list(tmp_path.iterdir())


async def test_an_empty_sqlite_file_is_migrated(tmp_path: Path) -> None:
    (tmp_path / "monitor.db").touch()
    async with Store.open(f"sqlite:///{tmp_path / 'monitor.db'}") as store:
        await store.check()


async def test_several_stores_may_create_one_database_at_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'monitor.db'}"
    async with Store.open(url) as one, Store.open(url) as other:
        await asyncio.gather(one.check(), other.check())


async def test_a_database_without_our_tables_names_the_command_that_makes_them(empty_url: str, kind: str) -> None:
    if kind == "sqlite":
        migrate.upgrade(empty_url)
        migrate.downgrade(empty_url, "base")
    async with Store.open(empty_url) as store:
        with pytest.raises(DatabaseError, match="monitor db upgrade"):
            await store.check()
        with pytest.raises(DatabaseError, match="monitor db upgrade"):
            await store.sources.list()


async def test_a_server_that_does_not_answer_is_told_in_one_sentence_without_its_password() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound, not listening: nobody answers here
        url = f"postgresql://monitor:s3cret@127.0.0.1:{held.getsockname()[1]}/monitor?password=s3cret"
        async with Store.open(url) as store:
            for asked in (store.check, store.sources.list):
                with pytest.raises(DatabaseError, match="cannot be used") as reported:
                    await asked()
                assert "postgresql://monitor:***@127.0.0.1" in str(reported.value)
                assert "s3cret" not in str(reported.value)
                assert "\n" not in str(reported.value)


async def test_a_file_that_is_no_database_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "monitor.db").write_text("no database at all, but long enough to be looked at" * 40)
    async with Store.open(f"sqlite:///{tmp_path / 'monitor.db'}") as store:
        with pytest.raises(DatabaseError, match="not a database"):
            await store.check()


async def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    async with Store.open(f"sqlite:///{tmp_path / 'file' / 'monitor.db'}") as store:
        with pytest.raises(DatabaseError, match="cannot be used"):
            await store.check()


@pytest.mark.parametrize(
    ("url", "reported"),
    [
        ("nonsense", "not a database url"),
        ("mysql://root:s3cret@host/name", "kind 'mysql'"),
        ("sqlite://", "no file"),
        ("sqlite:///:memory:", "no file"),
        ("postgresql://host:port/name", "not a database url"),
    ],
)
def test_a_url_that_names_no_database_of_ours_is_refused_at_once(url: str, reported: str) -> None:
    with pytest.raises(DatabaseError, match=reported) as error:
        Store.open(url)
    assert "s3cret" not in str(error.value)


async def test_two_stores_write_one_after_the_other_and_neither_fails(url: str, source: Source) -> None:
    assert source.id is not None

    def item(number: int) -> Item:
        address = f"https://example.gov/{number}.html"
        return Item(
            source_id=source.id,
            run_id="run-1",
            source=source.name,
            section="通知",
            url=address,
            url_key=address,
            title=str(number),
            first_seen=source.created_at,
        )

    async with Store.open(url) as one, Store.open(url) as other:
        saved = await asyncio.gather(*(store.items.save(item(n)) for n in range(20) for store in (one, other)))
    assert sum(is_new for _, is_new in saved) == 20
    assert len({stored.id for stored, _ in saved}) == 20


async def test_whoever_goes_away_within_a_query_takes_no_lock_along_and_leaves_no_task(url: str) -> None:
    """As when a reader closes a page: their request is cancelled again and again until it ends."""
    tasks_before = asyncio.all_tasks()
    late_rows = text(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)"
        " SELECT i FROM n WHERE i > 90000"
    )

    async def write(store: Store, is_asked: asyncio.Event) -> None:
        async with store.sessions.begin_write() as session:
            await session.execute(delete(Source))
            is_asked.set()
            await session.execute(late_rows)

    gc.disable()
    try:
        async with Store.open(url) as store:
            for _ in range(10):
                is_asked = asyncio.Event()
                request = asyncio.create_task(write(store, is_asked))
                await is_asked.wait()
                await asyncio.sleep(0.005)  # the rows are being looked for
                while not request.done():
                    request.cancel()
                    await asyncio.sleep(0)
                async with asyncio.timeout(10):
                    await write(store, asyncio.Event())
            async with asyncio.timeout(10):  # else the process would wait for them when it ends
                await asyncio.gather(*asyncio.all_tasks() - tasks_before)
    finally:
        gc.enable()


def test_a_loop_that_ends_while_it_connects_leaves_no_thread_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a command is interrupted. A thread that dies of it prints a traceback over what the command says."""
    died: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", died.append)
    threads_before = set(threading.enumerate())
    is_asked, is_over, connect = threading.Event(), threading.Event(), sqlite3.connect

    def connect_late(*args: Any, **options: Any) -> sqlite3.Connection:
        is_asked.set()
        is_over.wait(30)
        return connect(*args, **options)

    monkeypatch.setattr(sqlite3, "connect", connect_late)

    async def leave() -> None:
        request = asyncio.create_task(Store.open("sqlite:////nowhere/monitor.db").sources.list())
        await asyncio.to_thread(is_asked.wait, 30)
        while not request.done():
            request.cancel()
            await asyncio.sleep(0)

    asyncio.run(leave())
    is_over.set()
    for thread in set(threading.enumerate()) - threads_before:
        thread.join(10)
        assert not thread.is_alive()
    assert not died
