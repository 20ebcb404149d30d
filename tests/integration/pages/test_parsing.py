"""What is read from a page: in one call of a worker, and for a list that has not changed in none."""

import asyncio
import datetime as dt
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from monitor.fetch.result import FetchResult
from monitor.isolation.pool import WorkerPool
from monitor.page import NO_HINTS, Page, PageErrorCode, PageHints
from monitor.pages.parsing import ParsedPages, ParsedResponse, parse_result
from monitor.site_memory import SiteRepeats
from monitor.vocabulary import FetchMode

URL = "https://example.gov/list"
AT = dt.datetime(2026, 11, 23, 6, tzinfo=dt.UTC)
ROWS = "".join(
    f"<li><a href='/{number}.html'>关于开展第{number}批试点工作的通知公告</a><span>2026-11-{number:02}</span></li>"
    for number in range(1, 13)
)
LIST = f"<html><head><title>通知公告</title></head><body><ul class=list>{ROWS}</ul></body></html>"
ARTICLE = f"<html><body><h1>通知</h1><p>{'现将有关事项通知如下，请认真贯彻执行。' * 20}</p></body></html>"
HEADERS = {"content-type": "text/html; charset=utf-8"}


def build_result(html: str, *, at: dt.datetime = AT, record: str = "first") -> FetchResult:
    return FetchResult(
        url=URL,
        mode=FetchMode.HTTP,
        at=at,
        final_url=URL,
        status=200,
        headers=HEADERS,
        body=html.encode(),
        record=record,
    )


@pytest.fixture(scope="module")
def reading_workers() -> Iterator[WorkerPool]:
    """Workers that know the tasks of this module: behind their walls they import nothing more."""
    pool = WorkerPool(size=1, preload=["monitor.extract.parse", __name__])
    yield pool
    asyncio.run(pool.close())


@dataclass(frozen=True)
class Measure:
    """Reads from a page how long it is; where `ends_worker`, it never gets so far."""

    ends_worker: bool = False

    def __call__(self, page: Page, result: FetchResult) -> str:
        if self.ends_worker:
            os._exit(1)
        return f"{len(page.candidates)} rows, {len(result.body or b'')} bytes"


async def read(result: FetchResult, workers: WorkerPool, folder: Path, hints: PageHints = NO_HINTS) -> ParsedResponse:
    """As a process does that has just started."""
    parsed = ParsedPages(folder)
    try:
        return await parse_result(result, workers, parsed=parsed, hints=hints)
    finally:
        await parsed.close()


def list_files(folder: Path, pattern: str) -> list[Path]:
    return list(folder.glob(pattern))


def was_refused(parsed: ParsedResponse) -> bool:
    """Whether a worker was asked: here none takes any work."""
    return parsed.page.error is not None and parsed.page.error.code is PageErrorCode.PARSE


async def test_an_unchanged_list_is_not_parsed_again_on_its_day(
    workers: WorkerPool, refusing_workers: WorkerPool, tmp_path: Path
) -> None:
    first = await read(build_result(LIST), workers, tmp_path)
    later = AT + dt.timedelta(hours=3)
    again = await read(build_result(LIST, at=later, record="second"), refusing_workers, tmp_path)
    assert len(again.page.candidates) == 12
    assert again.page.fetched_at == later
    assert {again.page.record, *(candidate.record for candidate in again.page.candidates)} == {"second"}
    candidates = [candidate.model_copy(update={"record": "first"}) for candidate in again.page.candidates]
    as_before = {"fetched_at": AT, "record": "first", "candidates": candidates, "lists": first.page.lists}
    assert replace(again, page=again.page.model_copy(update=as_before)) == first


@pytest.mark.parametrize(
    "changes", [{"at": AT + dt.timedelta(days=1)}, {"html": LIST.replace("第3批", "第30批")}], ids=["day", "bytes"]
)
async def test_another_day_and_other_bytes_are_read_anew(
    changes: dict[str, object], workers: WorkerPool, refusing_workers: WorkerPool, tmp_path: Path
) -> None:
    await read(build_result(LIST), workers, tmp_path)
    assert was_refused(await read(build_result(**{"html": LIST, **changes}), refusing_workers, tmp_path))


async def test_a_list_is_read_anew_once_something_else_repeats_on_its_site(
    workers: WorkerPool, refusing_workers: WorkerPool, tmp_path: Path
) -> None:
    first, same, other = (PageHints(memory=SiteRepeats(shares=shares)) for shares in ({1: 0.75}, {1: 0.75}, {2: 0.75}))
    await read(build_result(LIST), workers, tmp_path, first)
    assert not was_refused(await read(build_result(LIST), refusing_workers, tmp_path, same))
    assert was_refused(await read(build_result(LIST), refusing_workers, tmp_path, other))
    assert was_refused(await read(build_result(LIST), refusing_workers, tmp_path))


async def test_a_day_removes_what_was_kept_for_earlier_days(workers: WorkerPool, tmp_path: Path) -> None:
    for days in range(3):
        await read(build_result(LIST, at=AT + dt.timedelta(days=days)), workers, tmp_path)
    assert not list_files(tmp_path, "parsed-2026-11-2[34].db*")
    assert list_files(tmp_path, "parsed-2026-11-25.db*")


async def test_articles_are_not_kept(workers: WorkerPool, refusing_workers: WorkerPool, tmp_path: Path) -> None:
    assert (await read(build_result(ARTICLE), workers, tmp_path)).page.candidates == []
    assert was_refused(await read(build_result(ARTICLE), refusing_workers, tmp_path))


async def test_a_broken_file_costs_time_alone(workers: WorkerPool, tmp_path: Path) -> None:
    (tmp_path / "parsed-2026-11-23.db").write_bytes(b"not a database" * 1000)
    for _ in range(2):
        assert len((await read(build_result(LIST), workers, tmp_path)).page.candidates) == 12


async def test_a_task_is_done_where_the_page_is_parsed(reading_workers: WorkerPool) -> None:
    result = build_result(LIST)
    page = (await parse_result(result, reading_workers, task=Measure())).page
    assert page.reading == f"12 rows, {len(LIST.encode())} bytes"
    assert page.model_copy(update={"reading": None}) == (await parse_result(result, reading_workers)).page


async def test_a_page_is_read_without_its_task_where_that_ends_the_worker(reading_workers: WorkerPool) -> None:
    page = (await parse_result(build_result(LIST), reading_workers, task=Measure(ends_worker=True))).page
    assert (page.error, page.reading, len(page.candidates)) == (None, None, 12)
