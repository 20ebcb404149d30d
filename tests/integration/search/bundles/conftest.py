"""Bundles for readers: `bundle_of("q1", [(source_id, score), (source_id, score, status)])`."""

import datetime as dt
import resource
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from monitor.search.bundles.bundle import ItemStatus, SearchResultBundle, SearchResultItem, compute_stats

TASK = "task-1"
AT = dt.datetime(2026, 11, 21, 8, 0, tzinfo=dt.UTC)

BundleOf = Callable[..., SearchResultBundle]


def make_item(rank: int, source_id: str, score: float, status: ItemStatus = ItemStatus.OK) -> SearchResultItem:
    return SearchResultItem(
        source_id=source_id,
        rank=rank,
        url=f"https://example.org/{source_id}",
        title=f"标题 {source_id}",
        captured_at=AT,
        score_relevance=score,
        score_freshness=score,
        score_authority=score,
        score_final=score,
        status=status,
        error_code="Timeout" if status is ItemStatus.FAILED else None,
    )


def make_bundle(
    query_id: str, results: Iterable[tuple[str, float] | tuple[str, float, ItemStatus]], *, task_id: str = TASK
) -> SearchResultBundle:
    items = [make_item(rank, *result) for rank, result in enumerate(results, start=1)]
    return SearchResultBundle(
        task_id=task_id,
        query_id=query_id,
        query_text="光伏 补贴",
        query_intent="policy",
        provider="archive",
        executed_at=AT,
        results=items,
        stats=compute_stats(items, removed=0),
    )


@pytest.fixture(scope="session")
def bundle_of() -> BundleOf:
    return make_bundle


@pytest.fixture
def no_file_over() -> Callable[[int], AbstractContextManager[None]]:
    """As on a full disk: a file takes so many bytes and no more."""

    @contextmanager
    def limited(size: int) -> Iterator[None]:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limited
