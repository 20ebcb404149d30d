"""What a node needs of the parts of a research when it asks no model."""

import datetime as dt
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from monitor.config.model import ResearchSettings
from monitor.isolation.pool import WorkerPool
from monitor.research.dependencies import ResearchDependencies


class Noon:
    def now(self) -> dt.datetime:
        return dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)


@pytest.fixture(scope="session")
def parts_of_noon(workers: WorkerPool) -> ResearchDependencies:
    return _parts(workers)


@pytest.fixture
def parts_of(workers: WorkerPool) -> Callable[..., ResearchDependencies]:
    return partial(_parts, workers)


def _parts(workers: WorkerPool, language: str = "zh", **limits: Any) -> ResearchDependencies:
    world: Any = None
    return ResearchDependencies(
        task_id="t1",
        query="q",
        language=language,
        model=None,
        search=world,
        pages=world,
        notebook=world,
        workers=workers,
        bundles=world,
        scoring=world,
        clock=Noon(),
        limits=ResearchSettings(**limits),
        kept_text=world,
    )
