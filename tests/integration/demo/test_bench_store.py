"""The large archive, made small: what is asked of it is answered as looking into every item would answer it."""

import datetime as dt
import random
from collections.abc import AsyncIterator, Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchmarks.archive_data import DAYS, SampleItem, SampleVocabulary, fill_archive, format_source_name
from benchmarks.store import _list_queries, _open_client
from monitor.bootstrap import App, open_app
from monitor.config.model import Settings
from monitor.db.fulltext import FullTextScope
from monitor.db.queries.filters import ItemFilter
from monitor.db.terms import TextQuery, fold_text
from monitor.web.app import create_web_app

TODAY = dt.date(2026, 11, 22)
ITEMS = 2500


@pytest.fixture(params=["sqlite_url", pytest.param("postgres_url", marks=pytest.mark.soak)])
async def app(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[App]:
    url = request.getfixturevalue(request.param)
    fill_archive(url, ITEMS, today=TODAY, workers=1)
    async with open_app(Settings(data_dir=tmp_path, database_url=url)) as app:
        yield app


@pytest.fixture(scope="module")
def stock() -> SampleVocabulary:
    return SampleVocabulary()


@pytest.fixture(scope="module")
def samples(stock: SampleVocabulary) -> list[SampleItem]:
    return sorted(
        stock.generate_items(range(ITEMS), today=TODAY, total=ITEMS, days=DAYS),
        key=lambda item: (item.day, item.number),
        reverse=True,
    )


async def test_a_large_archive_answers_as_looking_into_every_item_would(
    app: App, stock: SampleVocabulary, samples: list[SampleItem]
) -> None:
    await searched(app, stock, samples)
    await searched_and_filtered(app, stock, samples)
    await asked_as_the_benchmark_asks(app)


async def searched(app: App, stock: SampleVocabulary, samples: list[SampleItem]) -> None:
    chance = random.Random(1)  # noqa: S311
    queries = [
        stock.chinese[0],
        stock.chinese[300],
        stock.english[1],
        stock.english[400],
        samples[9].text[-3:-1],
        str(ITEMS // 2),
        stock.pick_phrase(chance, is_english=False),
        f'"{stock.pick_phrase(chance, is_english=True)}"',
        f"{stock.chinese[3]} {stock.chinese[200]}",
        "nowhere",
    ]
    for text in queries:
        await compared(app, samples, text, limit=None)
        await compared(app, samples, text, limit=50)
        await compared(app, samples, text, limit=50, after=(samples[700].day, samples[700].number + 1))


async def searched_and_filtered(app: App, stock: SampleVocabulary, samples: list[SampleItem]) -> None:
    names = [format_source_name(number) for number in range(0, 1000, 7)]
    chosen = set(range(0, 1000, 7))
    since, until = TODAY - dt.timedelta(days=900), TODAY - dt.timedelta(days=500)
    for text in (stock.chinese[0], stock.chinese[300], stock.english[1]):
        await compared(app, samples, text, meant=lambda item: item.source in chosen, sources=names)
        await compared(app, samples, text, meant=lambda entry: entry.source % 50 == 3, tags=["tag3"])
        await compared(app, samples, text, meant=lambda item: item.language == "en", language="en")
        await compared(app, samples, text, meant=lambda item: since <= item.day <= until, since=since, until=until)


async def asked_as_the_benchmark_asks(app: App) -> None:
    chance = random.Random(2)  # noqa: S311
    async with _open_client(app, create_web_app) as client:
        found = {name: await ask(chance) for name, ask in _list_queries(app, client, TODAY)}
    assert found["list: all"] == found["search: a frequent Chinese word"] == 50
    assert found["page: the list"] > 0
    assert len(found) == 27


async def compared(
    app: App,
    samples: list[SampleItem],
    text: str,
    *,
    limit: int | None = None,
    meant: Callable[[SampleItem], bool] = lambda _: True,
    **narrowing: Any,
) -> None:
    """Compare a search with looking into every item, of which there are few enough for the search to do so too."""
    query, wanted = TextQuery.parse(text), ItemFilter.model_validate(narrowing)
    after = wanted.after or (dt.date.max, 0)
    there = [
        sample.number + 1
        for sample in samples
        if meant(sample)
        and (sample.day, sample.number + 1) < after
        and all(holds(sample, clause) for clause in query.clauses)
    ]
    found = await app.store.fulltext.find(query, FullTextScope(items=wanted), limit=limit)
    assert [match.item.id for match in found] == there[:limit], (text, narrowing)
    count = await app.store.fulltext.count(query, FullTextScope(items=wanted), cap=300)
    assert count in (None, min(len(there), 300)), (text, narrowing)


def holds(sample: SampleItem, clause: Any) -> bool:
    return any(clause.pattern.search(text) for text in texts_of(sample))


@cache
def texts_of(sample: SampleItem) -> tuple[str, str]:
    return fold_text(sample.title), fold_text(f"{sample.summary}\n{sample.text}")
