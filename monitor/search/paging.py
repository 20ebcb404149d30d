"""More results than a service shows on one page: asked page by page, within the time of the whole."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from monitor.domain.searching import Findings, SearchErrorCode, SearchFailed, SearchHit, SearchQuery
from monitor.search.failures import failure

PER_PAGE = 10
"""Results on a page: what services show, more or less."""

_PART_OF_TIME = 0.9  # what is left is for handing the results on


def time_for(query: SearchQuery, timeout_s: float) -> float:
    """Seconds that a backend has for a query: its own time, or nearly all of the budget where that is less."""
    return min(timeout_s, query.budget_ms / 1000 * _PART_OF_TIME) if query.budget_ms else timeout_s


async def paged(ask: Callable[[int], Awaitable[Sequence[SearchHit]]], *, limit: int, time_s: float) -> Findings:
    """Up to `limit` results of as many pages as should hold them, `ask` giving those of one (from 1).

    A failure on the first page is the failure of the search; on a later one, what was found stays found.
    """
    hits: list[SearchHit] = []
    loop = asyncio.get_running_loop()
    deadline = loop.time() + time_s * _PART_OF_TIME
    for page in range(1, -(-limit // PER_PAGE) + 1):
        try:
            async with asyncio.timeout_at(deadline if page > 1 else None):
                found = await ask(page)
        except SearchFailed as failed:
            if page == 1:
                raise
            return Findings(hits=hits, cut_short=failed.error)
        except TimeoutError:
            late = failure(SearchErrorCode.TIMEOUT, f"There was no time for page {page} of the results.")
            return Findings(hits=hits, cut_short=late.error)
        hits += found
        if not found or len(hits) >= limit:
            break
    return Findings(hits=hits[:limit])
