"""People and the model show which list of a page is a section's; it is read so until the page is rebuilt."""

import datetime as dt
from collections.abc import Sequence
from typing import Any

import pytest

from monitor.config.model import Settings
from monitor.db.tables.collection import Source
from monitor.db.tables.delivery import AlarmKind
from monitor.errors import Forbidden, NotFound, UsageError, WorkFailed
from monitor.i18n.catalogue import render
from monitor.pages.loader import Loader
from monitor.recipe import Teacher
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.services.sources.exchange import SourceListFormat
from monitor.services.sources.service import SourceService
from monitor.services.sources.teaching import TeachingService
from monitor.vocabulary import RunStatus
from tests.integration.sweep.conftest import Row, article_html

NOTICES = range(100, 108)
FORMS = range(300, 304)
REBUILT = '<div class="portal-2027"><section class="downloads-box">{}</section></div>'


def rows_of(numbers: Sequence[int], days: Sequence[dt.date | None]) -> list[Row]:
    return [Row(number, day) for number, day in zip(numbers, days, strict=True)]


@pytest.fixture
def desk(bureau: Any) -> Any:
    return bureau


def publish(bureau: Any, forms: Sequence[Row], *, box: str = '<div class="side"><h3>表格下载</h3><ul>{}</ul></div>', tag: str = "li") -> None:
    """A page with a list of notices, dated, and beside it the short list that a client cares about, undated."""
    today = bureau.clock.today
    notices = rows_of(NOTICES, [today - dt.timedelta(1 + place) for place in range(len(NOTICES))])
    listed = "".join(f'<li><a href="{row.path}">{row.text}</a><span>{row.day}</span></li>' for row in notices)
    shown = "".join(f'<{tag}><a href="/files/{row.number}.html">{row.text}</a></{tag}>' for row in forms)
    page = f'<div class="main"><h2>通知公告</h2><ul class="list">{listed}</ul></div>{box.format(shown)}'
    bureau.site.on("/news/", f"<html><head><title>通知公告</title></head><body>{page}</body></html>")
    for row in notices:
        bureau.site.on(row.path, article_html(row))
    for row in forms:
        bureau.site.on(f"/files/{row.number}.html", article_html(row))


@pytest.fixture
def forms(bureau: Any) -> list[Row]:
    today = bureau.clock.today
    return rows_of(FORMS, [today - dt.timedelta(place) for place in range(len(FORMS))])


@pytest.fixture
async def teaching(bureau: Any, tmp_path: Any) -> Any:
    settings: Settings = bureau.settings
    async with Loader.from_settings(
        pages=settings.pages, network=settings.network, clock=bureau.clock, workers=bureau.workers
    ) as loader:
        yield TeachingService(store=bureau.store, clock=bureau.clock, new_loader=loader.for_run)


async def add_source(bureau: Any) -> Source:
    section = {"name": "通知公告", "url": bureau.site.url("/news/")}
    values = {"name": bureau.name, "url": bureau.site.url("/"), "sections": [section]}
    return await bureau.store.sources.add(Source(**values, created_at=bureau.clock.now()))


async def test_explore(bureau: Any, teaching: Any, forms: list[Row]) -> None:
    publish(bureau, forms)
    source = await add_source(bureau)
    look = await teaching.look(source.id, bureau.site.url("/news/"), by=COMMAND_LINE)
    for found in look.lists:
        print(found.score, found.is_current, len(found.rows), found.examples)
    taught = await teaching.teach(source.id, bureau.site.url("/news/"), [bureau.site.url("/files/301.html")], by=COMMAND_LINE, save=True)
    print([row.url for row in taught.rows], [row.date for row in taught.rows])
    print((await bureau.store.sources.get_by_id(source.id)).recipes)
    run = await bureau.sweep()
    print([i.url for i in run.items], run.fallbacks)
    publish(bureau, forms, box=REBUILT, tag="p")
    run = await bureau.sweep()
    print([i.url for i in run.items], run.fallbacks, (await bureau.health.get_report()).alarms)
    publish(bureau, rows_of(range(400,404), [bureau.clock.today]*4), box=REBUILT.replace("2027", "2028"), tag="dd")
    run = await bureau.sweep()
    print([i.url for i in run.items], run.fallbacks, (await bureau.health.get_report()).alarms)
    look = await teaching.look(source.id, bureau.site.url("/news/"), by=COMMAND_LINE)
    print(look.recipe_fit)
