"""A real PostgreSQL and SQLite files: every test of the store runs on both, each on a fresh, migrated database."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from monitor.db.database import Store
from monitor.db.tables.collection import Run, Source


@pytest.fixture(params=["sqlite", "postgresql"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def empty_url(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database without any table."""
    if kind == "sqlite":
        yield f"sqlite:///{tmp_path / 'data' / 'monitor.db'}"
    else:
        yield from _database(request.getfixturevalue("postgres"), template="template1")


@pytest.fixture
def url(kind: str, request: pytest.FixtureRequest) -> str:
    """A migrated database without any row."""
    return str(request.getfixturevalue("sqlite_url" if kind == "sqlite" else "postgres_url"))


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    async with Store.open(url) as store:
        yield store


@pytest.fixture
async def source(store: Store) -> Source:
    created_at = datetime(2026, 1, 1, tzinfo=UTC)
    return await store.sources.add(Source(name="示例部", url="https://example.gov/", created_at=created_at))


@pytest.fixture
async def run(store: Store, source: Source) -> Run:
    run = Run(id="run-1", source_id=source.id, source=source.name, planned_at=datetime(2026, 2, 3, 8, tzinfo=UTC))
    assert await store.runs.create(run)
    return run


def _database(server: Any, *, template: str) -> Iterator[str]:
    name = server.create(template=template)
    yield server.url(name)
    server.drop(name)
