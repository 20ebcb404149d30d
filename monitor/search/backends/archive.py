"""The archive as a search backend: what the service gathered itself, so that a research starts from there."""

import datetime as dt

from monitor.domain.searching import (
    DateRange,
    Findings,
    Recency,
    SearchError,
    SearchErrorCode,
    SearchFailed,
    SearchHit,
    SearchQuery,
)
from monitor.errors import UsageError
from monitor.ports import Clock
from monitor.search.archive_search import ArchiveSearch, FoundItem
from monitor.store.filters import ItemFilter
from monitor.store.fulltext import Scope

_DAYS = {Recency.DAY: 1, Recency.WEEK: 7, Recency.MONTH: 31, Recency.YEAR: 366}


class ArchiveBackend:
    """Finds items (`ports.SearchBackend`): those with all words of the query, then those with a third of them."""

    name = "archive"

    def __init__(self, *, search: ArchiveSearch, clock: Clock) -> None:
        self._search = search
        self._clock = clock

    async def search(self, query: SearchQuery, limit: int) -> Findings:
        """The best items; each day, site and language that is asked for holds."""
        since, until = self._days(query.time_range)
        scope = Scope(items=ItemFilter(since=since, until=until), site=query.site_filter, language=query.lang)
        try:
            found = await self._search.search(query.text, scope, limit=limit, is_loose=True)
        except UsageError as error:
            wrong = SearchError(type=SearchErrorCode.INVALID_INPUT, message=str(error), retryable=False)
            raise SearchFailed(wrong) from None
        return Findings(hits=[_hit(one) for one in found])

    def _days(self, span: Recency | DateRange | None) -> tuple[dt.date | None, dt.date | None]:
        if isinstance(span, DateRange):
            return span.start, span.end
        return (None if span is None else self._clock.now().date() - dt.timedelta(days=_DAYS[span]), None)


def _hit(found: FoundItem) -> SearchHit:
    item = found.item
    return SearchHit(title=item.title, url=item.url, snippet=found.snippet, published_at=item.date)
