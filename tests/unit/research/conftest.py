"""What a node needs of the parts of a research when it asks no model."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from monitor.config.model import ResearchSettings
from monitor.research.dependencies import ResearchDependencies


class Noon:
    def now(self) -> dt.datetime:
        return dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)


@pytest.fixture(scope="session")
def parts_of_noon() -> ResearchDependencies:
    return _parts()


@pytest.fixture
def parts_of() -> Callable[..., ResearchDependencies]:
    return _parts


def _parts(language: str = "zh", **limits: Any) -> ResearchDependencies:
    world: Any = None
    return ResearchDependencies(
        task_id="t1",
        query="q",
        language=language,
        model=None,
        search=world,
        pages=world,
        notebook=world,
        bundles=world,
        scoring=world,
        clock=Noon(),
        limits=ResearchSettings(**limits),
        kept_text=world,
    )
