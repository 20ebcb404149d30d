"""The archive, asked like a search service: what was gathered, ranked by fit, age and publisher.

A found item's score, 0 to 1, weighs its relevance, the freshness of its publication date (or of its first sight, where
that is unknown) and the authority of its host, as those of any search result are weighed (monitor/retrieval/scoring).
Its relevance is the mean, over the words and phrases of the query, of half for standing in the title and half for
f / (f + 1.2 (0.25 + 0.75 n / 2000)), where f is how often it stands in the summary and the text, of n characters. That
half is BM25's measure of one word; how rare the word is plays no part, for all found items have it.

Equal scores stand newest first. Only the 200 newest items with the query in their title and the 200 newest with it
anywhere are scored, so that a word that stands everywhere costs no more than another one.
"""

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass

from monitor.clock import Clock
from monitor.db.fulltext import FullTextHit, FullTextMatch, FullTextQueries, FullTextScope
from monitor.db.queries.filters import ItemFilter
from monitor.db.tables.collection import Item
from monitor.db.terms import TextQuery, fold_text
from monitor.errors import UsageError
from monitor.search.contract import (
    DateRange,
    Recency,
    SearchError,
    SearchErrorCode,
    SearchFailed,
    SearchHit,
    SearchQuery,
    SearchResults,
)

ItemScoreFunction = Callable[[float, dt.date, str], float]
"""The score, 0 to 1, of what fits a query so well, is of that day and stands at that url."""

MAX_ARCHIVE_SNIPPET_CHARS = 200
_SNIPPET_LEAD_CHARS = 40
_MAX_SCORED_ITEMS = 200
_K1, _B, _AVERAGE_TEXT_CHARS = 1.2, 0.75, 2000


@dataclass(frozen=True, kw_only=True)
class FoundItem:
    """An item with its score and the place where the query stands in it, as plain text."""

    item: Item
    score: float
    snippet: str


class ArchiveSearch:
    """Searches the items and the texts of their pages."""

    def __init__(self, *, fulltext: FullTextQueries, score_item: ItemScoreFunction) -> None:
        self._fulltext = fulltext
        self._score_item = score_item

    async def search(
        self, text: str, scope: FullTextScope, *, limit: int, allow_partial_match: bool = False
    ) -> list[FoundItem]:
        """The best items in which all words of the query stand; `UsageError` for a query that is too long.

        `is_loose`: where there are fewer, those with at least a third of the words follow; what is withdrawn from its
        address, and so cannot be read there, is left out.
        """
        query = TextQuery.parse(text)
        found = await self._rank_items(query, scope, limit, allow_partial_match=allow_partial_match)
        if allow_partial_match and len(found) < limit and not (looser := query.loosen()).is_strict:
            there = {one.item.id for one in found}
            more = await self._rank_items(looser, scope, limit, allow_partial_match=True)
            found += [one for one in more if one.item.id not in there]
        return found[:limit]

    def _score_match(self, match: FullTextHit) -> float:
        return self._score_item(compute_item_relevance(match), match.day, match.url)

    async def _rank_items(
        self, query: TextQuery, scope: FullTextScope, limit: int, *, allow_partial_match: bool
    ) -> list[FoundItem]:
        best = await self._fulltext.find_best(
            query,
            scope,
            self._score_match,
            max_scored=max(limit, _MAX_SCORED_ITEMS),
            limit=limit,
            excludes_withdrawn=allow_partial_match,
        )
        return [
            FoundItem(item=match.item, score=score, snippet=build_snippet(match.body, query)) for match, score in best
        ]


def compute_item_relevance(match: FullTextMatch | FullTextHit) -> float:
    """How well an item fits the query, 0 to 1, by the formula above."""
    usual = _K1 * (1 - _B + _B * len(match.body) / _AVERAGE_TEXT_CHARS)
    each = [
        (in_title + count / (count + usual)) / 2 for in_title, count in zip(match.in_title, match.in_body, strict=True)
    ]
    return sum(each) / len(each) if each else 0.0


def build_snippet(body: str, query: TextQuery) -> str:
    """What stands around the first place of the query, on one line and cut short; else how the text begins."""
    text = fold_text(body)
    places = [found.start() for clause in query.clauses if (found := clause.pattern.search(text))]
    start = max(min(places, default=0) - _SNIPPET_LEAD_CHARS, 0)
    cut = re.sub(r"\s+", " ", body[start : start + MAX_ARCHIVE_SNIPPET_CHARS]).strip()
    return f"{'…' if start else ''}{cut}{'…' if start + MAX_ARCHIVE_SNIPPET_CHARS < len(body) else ''}"


_DAYS = {Recency.DAY: 1, Recency.WEEK: 7, Recency.MONTH: 31, Recency.YEAR: 366}


class ArchiveBackend:
    """Finds items (`ports.SearchBackend`): those with all words of the query, then those with a third of them."""

    name = "archive"

    def __init__(self, *, search: ArchiveSearch, clock: Clock) -> None:
        self._search = search
        self._clock = clock

    async def search(self, query: SearchQuery, limit: int) -> SearchResults:
        """The best items; each day, site and language that is asked for holds."""
        since, until = self._resolve_range(query.time_range)
        scope = FullTextScope(items=ItemFilter(since=since, until=until), site=query.site_filter, language=query.lang)
        try:
            found = await self._search.search(query.text, scope, limit=limit, allow_partial_match=True)
        except UsageError as error:
            wrong = SearchError(type=SearchErrorCode.INVALID_INPUT, message=str(error), retryable=False)
            raise SearchFailed(wrong) from None
        return SearchResults(hits=[_build_hit(one) for one in found])

    def _resolve_range(self, span: Recency | DateRange | None) -> tuple[dt.date | None, dt.date | None]:
        if isinstance(span, DateRange):
            return span.start, span.end
        return (None if span is None else self._clock.now().date() - dt.timedelta(days=_DAYS[span]), None)


def _build_hit(found: FoundItem) -> SearchHit:
    item = found.item
    return SearchHit(title=item.title, url=item.url, snippet=found.snippet, published_at=item.date)
