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

from monitor.domain.tables import Item
from monitor.domain.terms import TextQuery, folded
from monitor.store.fulltext import FullText, Match, Scope, Seen

Weigh = Callable[[float, dt.date, str], float]
"""The score, 0 to 1, of what fits a query so well, is of that day and stands at that url."""

SNIPPET_CHARS = 200
_LEAD_CHARS = 40
_SCORED = 200
_K1, _B, _USUAL_CHARS = 1.2, 0.75, 2000


@dataclass(frozen=True, kw_only=True)
class FoundItem:
    """An item with its score and the place where the query stands in it, as plain text."""

    item: Item
    score: float
    snippet: str


class ArchiveSearch:
    """Searches the items and the texts of their pages."""

    def __init__(self, *, fulltext: FullText, weigh: Weigh) -> None:
        self._fulltext = fulltext
        self._weigh = weigh

    async def search(self, text: str, scope: Scope, *, limit: int, is_loose: bool = False) -> list[FoundItem]:
        """The best items in which all words of the query stand; `UsageError` for a query that is too long.

        `is_loose`: where there are fewer, those with at least a third of the words follow; what is withdrawn from its
        address, and so cannot be read there, is left out.
        """
        query = TextQuery.parse(text)
        found = await self._ranked(query, scope, limit, is_loose=is_loose)
        if is_loose and len(found) < limit and not (looser := query.loosened()).is_strict:
            there = {one.item.id for one in found}
            more = await self._ranked(looser, scope, limit, is_loose=True)
            found += [one for one in more if one.item.id not in there]
        return found[:limit]

    def _score_of(self, seen: Seen) -> float:
        return self._weigh(relevance(seen), seen.day, seen.url)

    async def _ranked(self, query: TextQuery, scope: Scope, limit: int, *, is_loose: bool) -> list[FoundItem]:
        best = await self._fulltext.best(
            query, scope, self._score_of, of=max(limit, _SCORED), limit=limit, is_there=is_loose
        )
        return [FoundItem(item=match.item, score=score, snippet=snippet_of(match.body, query)) for match, score in best]


def relevance(match: Match | Seen) -> float:
    """How well an item fits the query, 0 to 1, by the formula above."""
    usual = _K1 * (1 - _B + _B * len(match.body) / _USUAL_CHARS)
    each = [
        (in_title + count / (count + usual)) / 2 for in_title, count in zip(match.in_title, match.in_body, strict=True)
    ]
    return sum(each) / len(each) if each else 0.0


def snippet_of(body: str, query: TextQuery) -> str:
    """What stands around the first place of the query, on one line and cut short; else how the text begins."""
    text = folded(body)
    places = [found.start() for clause in query.clauses if (found := clause.pattern.search(text))]
    start = max(min(places, default=0) - _LEAD_CHARS, 0)
    cut = re.sub(r"\s+", " ", body[start : start + SNIPPET_CHARS]).strip()
    return f"{'…' if start else ''}{cut}{'…' if start + SNIPPET_CHARS < len(body) else ''}"
