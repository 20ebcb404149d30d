"""Pages that cannot be parsed within the limits are unseen, with the reason; the rest of the run goes on."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from monitor.i18n.message import Message
from monitor.isolation.pool import WorkerLimits, WorkerPool

MAX_INPUT_BYTES = 30_000
FILLING = f"<!-- {'x' * MAX_INPUT_BYTES} -->"


@pytest.fixture
def workers() -> Iterator[WorkerPool]:
    pool = WorkerPool(WorkerLimits(max_input_bytes=MAX_INPUT_BYTES), 1, preload=["monitor.extract.parse"])
    yield pool
    asyncio.run(pool.close())


def named(reason: Message) -> tuple[str, str]:
    """The kind of a page's error and the code of what it says."""
    return reason.args["kind"], reason.args["error"].code


async def test_a_section_whose_page_was_not_parsed_is_unseen(bureau: Any, reply: Any) -> None:
    bureau.show(bureau.rows(1, 2))
    bureau.site.on("/news/", reply(f"<html><body>{FILLING}</body></html>", headers={"content-type": "text/html"}))
    run = await bureau.sweep()
    assert run.status == "failed"
    (unseen,) = run.coverage.unseen
    assert named(unseen.reason) == ("ParseError", "isolation.too_large")


async def test_an_article_that_was_not_parsed_is_kept_by_what_its_list_says(bureau: Any, reply: Any) -> None:
    first, second = rows = bureau.rows(1, 2)
    bureau.show(rows)
    html = f"<html><body>{FILLING}</body></html>"
    bureau.site.on(first.path, reply(html, headers={"content-type": "text/html"}))
    run = await bureau.sweep()
    assert run.status == "degraded"
    assert run.coverage.saved == 2
    (fallback,) = run.fallbacks
    assert fallback.where == bureau.site.url(first.path)
    assert second.path not in fallback.where
