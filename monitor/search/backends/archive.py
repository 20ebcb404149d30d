"""The collected items as a search backend, ranked by relevance, freshness and authority.

The score, 0 to 1, weighs relevance, the freshness of the publication date (or of the first fetch, where that is
unknown) and the authority of the host like those of any result (`bundles.scoring`). Relevance is the mean, over the
words and phrases of the query, of two halves: whether the title has it, and f / (f + 1.2 (0.25 + 0.75 n / 2000)), the
BM25 score of one word, where f counts it in summary and text of n characters. Rarity plays no part: all hits have it.

Equal scores are ordered newest first. Only the 200 newest items with the query in their title and the 200 newest with
it anywhere are scored, so that a frequent word costs no more than another; where there are more, the day up to which
they were compared is returned too.
"""

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from monitor.clock import Clock
from monitor.db.fulltext import FullTextHit, FullTextMatch, FullTextQueries, FullTextScope
from monitor.db.queries.filters import ItemFilter
from monitor.db.tables.collection import Item
from monitor.db.terms import TextQuery, fold_text
from monitor.errors import UsageError
from monitor.i18n.message import Message
from monitor.search.contract import (
    SearchError,
    SearchErrorCode,
    SearchFailed,
    SearchHit,
    SearchQuery,
    SearchResults,
    resolve_time_range,
)
from monitor.search.meaning import MeaningHit, MeaningSearch, fuse_ranks

ItemScoreFunction = Callable[[float, dt.date, str], float]  # score, 0 to 1, for a relevance, a day and a url

MAX_ARCHIVE_SNIPPET_CHARS = 200
_SNIPPET_LEAD_CHARS = 40
_MAX_SCORED_ITEMS = 200
_K1, _B, _AVERAGE_TEXT_CHARS = 1.2, 0.75, 2000


@dataclass(frozen=True, kw_only=True)
class FoundItem:
    item: Item
    score: float
    snippet: str


@dataclass(frozen=True, kw_only=True)
class FoundItems:
    """The best items first; of those before `ranked_since` only some were compared, where it is not None.

    `warning` says why they were found by words alone although an embedding model is set.
    """

    items: list[FoundItem]
    ranked_since: dt.date | None = None
    warning: Message | None = None


@dataclass(frozen=True, kw_only=True)
class ArchiveSearch:
    fulltext: FullTextQueries
    score_item: ItemScoreFunction
    meaning: MeaningSearch | None = None

    async def search(
        self, text: str, scope: FullTextScope, *, limit: int, allow_partial_match: bool = False
    ) -> FoundItems:
        """Return the best items with all words of the query; raise `UsageError` for a query that is too long.

        Where an embedding model is set, items that mean the same without its words are among them: the two orders are
        joined by the ranks that an item has in each. With `allow_partial_match`, items with at least a third of the
        words follow where there are fewer, and items withdrawn from their address are left out.
        """
        query = TextQuery.parse(text)
        found = await self._search_words(query, scope, limit, allow_partial_match=allow_partial_match)
        if self.meaning is None or not query.clauses:
            return found
        near = await self.meaning.search(text, scope, limit=limit, excludes_withdrawn=allow_partial_match)
        by_id = {hit.item.id or 0: self._build_near_item(hit, query) for hit in near.hits}
        order = fuse_ranks([hit.item.id or 0 for hit in found.items], list(by_id))
        by_id |= {hit.item.id or 0: hit for hit in found.items}
        return replace(found, items=[by_id[number] for number in order[:limit]], warning=near.warning)

    def _build_near_item(self, hit: MeaningHit, query: TextQuery) -> FoundItem:
        score = self.score_item(min(max(hit.similarity, 0.0), 1.0), hit.item.day, hit.item.url)
        return FoundItem(item=hit.item, score=score, snippet=build_snippet(hit.body, query))

    async def _search_words(
        self, query: TextQuery, scope: FullTextScope, limit: int, *, allow_partial_match: bool
    ) -> FoundItems:
        best = await self._rank_items(query, scope, limit, allow_partial_match=allow_partial_match)
        if not allow_partial_match or len(best.items) >= limit or (looser := query.loosen()).is_strict:
            return best
        known = {hit.item.id for hit in best.items}
        more = await self._rank_items(looser, scope, limit, allow_partial_match=True)
        others = [hit for hit in more.items if hit.item.id not in known]
        return FoundItems(items=[*best.items, *others][:limit], ranked_since=best.ranked_since)

    async def _rank_items(
        self, query: TextQuery, scope: FullTextScope, limit: int, *, allow_partial_match: bool
    ) -> FoundItems:
        best = await self.fulltext.find_best(
            query,
            scope,
            lambda match: self.score_item(compute_item_relevance(match), match.day, match.url),
            max_scored=max(limit, _MAX_SCORED_ITEMS),
            limit=limit,
            excludes_withdrawn=allow_partial_match,
        )
        items = [
            FoundItem(item=match.item, score=score, snippet=build_snippet(match.body, query))
            for match, score in best.matches
        ]
        return FoundItems(items=items, ranked_since=best.ranked_since)


def compute_item_relevance(match: FullTextMatch | FullTextHit) -> float:
    """Return the relevance of an item, 0 to 1, by the formula above."""
    usual = _K1 * (1 - _B + _B * len(match.body) / _AVERAGE_TEXT_CHARS)
    each = [
        (in_title + count / (count + usual)) / 2 for in_title, count in zip(match.in_title, match.in_body, strict=True)
    ]
    return sum(each) / len(each) if each else 0.0


def build_snippet(body: str, query: TextQuery) -> str:
    """Return the text around the first match as one short line; without a match, the start of the text."""
    text = fold_text(body)
    places = [found.start() for clause in query.clauses if (found := clause.pattern.search(text))]
    start = max(min(places, default=0) - _SNIPPET_LEAD_CHARS, 0)
    cut = re.sub(r"\s+", " ", body[start : start + MAX_ARCHIVE_SNIPPET_CHARS]).strip()
    return f"{'…' if start else ''}{cut}{'…' if start + MAX_ARCHIVE_SNIPPET_CHARS < len(body) else ''}"


@dataclass(frozen=True, kw_only=True)
class ArchiveBackend:
    """Returns items with all words of the query, then those with at least a third of them."""

    archive: ArchiveSearch
    clock: Clock
    name: ClassVar[str] = "archive"

    async def search(self, query: SearchQuery, limit: int) -> SearchResults:
        days = resolve_time_range(query.time_range, self.clock.now().date())
        items = ItemFilter(since=days.start, until=days.end)
        scope = FullTextScope(items=items, site=query.site_filter, language=query.lang)
        try:
            found = await self.archive.search(query.text, scope, limit=limit, allow_partial_match=True)
        except UsageError as error:
            wrong = SearchError(type=SearchErrorCode.INVALID_INPUT, message=error.message, retryable=False)
            raise SearchFailed(wrong) from None
        warning = None
        if found.warning is not None:
            warning = SearchError(type=SearchErrorCode.PROVIDER, message=found.warning, retryable=True)
        return SearchResults(
            cut_short=warning,
            hits=[
                SearchHit(title=hit.item.title, url=hit.item.url, snippet=hit.snippet, published_at=hit.item.date)
                for hit in found.items
            ],
        )
