"""The items whose meaning is nearest to a query, by the vectors of an embedding model.

All vectors are compared by the signs of their numbers, which are kept in memory: how many differ tells the angle
between two of them. The nearest are then compared exactly, by the floats in the database.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from monitor.db.fulltext import FullTextScope
from monitor.db.queries.filters import ItemFilter
from monitor.db.tables.collection import Item
from monitor.db.vectors import NearVector, VectorStore
from monitor.errors import ModelFailed
from monitor.i18n.message import Message
from monitor.llm.embeddings import Vector

_LOADED_AT_ONCE = 20_000
_CANDIDATES, _CANDIDATES_IN_SCOPE = 400, 4000
_MIN_SHARE_OF_BEST = 0.5
"""How far a hit stands above the archive's average, against the best one; what lies lower has another subject."""
_RANK_CONSTANT = 60
"""As in the paper on reciprocal rank fusion by Cormack, Clarke and Büttcher (2009)."""


@dataclass(frozen=True, slots=True)
class MeaningHit:
    """An item near to a query; `body` is its summary and the text of its page."""

    item: Item
    body: str
    similarity: float


@dataclass(frozen=True, slots=True)
class MeaningHits:
    """The nearest items first; `warning` says why they could not be asked for."""

    hits: Sequence[MeaningHit] = ()
    warning: Message | None = None


@dataclass
class _Signs:
    """The signs of all vectors of one model, as far as an id."""

    model: str
    items: list[int] = field(default_factory=list)
    signs: list[int] = field(default_factory=list)
    last_id: int = 0

    def add(self, rows: Sequence[tuple[int, int, bytes]]) -> None:
        self.items += [item for _, item, _ in rows]
        self.signs += [int.from_bytes(signs) for _, _, signs in rows]
        self.last_id = rows[-1][0] if rows else self.last_id

    def find_nearest(self, query: int, count: int) -> tuple[list[int], float]:
        """Return the items whose signs differ least, nearest first, and how many signs differ on average."""
        differing = [(signs ^ query).bit_count() for signs in self.signs]
        farthest = _find_smallest(differing, count)
        near = [place for place, number in enumerate(differing) if number <= farthest]
        nearest = sorted(near, key=differing.__getitem__)[:count]
        return [self.items[place] for place in nearest], sum(differing) / max(len(differing), 1)


def _find_smallest(numbers: Sequence[int], count: int) -> int:
    """Return the number up to which `numbers` has so many; a heap takes three times as long for thousands."""
    counts, found = [0] * (max(numbers, default=0) + 1), 0
    for number in numbers:
        counts[number] += 1
    for number, some in enumerate(counts):
        found += some
        if found >= count:
            return number
    return len(counts)


@dataclass(kw_only=True)
class MeaningSearch:
    """Finds items by meaning.

    `embed_query` gives the vector of a query and the name under which vectors of its model are stored, or None where no
    model is set; it raises `ModelFailed`.
    """

    vectors: VectorStore
    embed_query: Callable[[str], Awaitable[tuple[str, Vector] | None]]
    _known: _Signs | None = field(default=None, init=False)
    _loading: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def search(
        self, text: str, scope: FullTextScope, *, limit: int, excludes_withdrawn: bool = False
    ) -> MeaningHits:
        try:
            asked = await self.embed_query(text)
        except ModelFailed as error:
            return MeaningHits(warning=Message.of("search.embeddings_failed", reason=error.message))
        if asked is None:
            return MeaningHits()
        model, query = asked
        known = await self._load(model)
        wanted = _CANDIDATES if scope == FullTextScope(items=ItemFilter()) else _CANDIDATES_IN_SCOPE
        numbers, differing = await asyncio.to_thread(known.find_nearest, query.signs, max(limit, wanted))
        compared = max(limit, _CANDIDATES)
        near = await self.vectors.load_vectors(
            model, numbers, scope, limit=compared, excludes_withdrawn=excludes_withdrawn
        )
        average = math.cos(math.pi * differing / len(query.values))
        best = await asyncio.to_thread(_compare, query, near, average, limit)
        bodies = await self.vectors.load_bodies([number for number, _ in best])
        return MeaningHits([MeaningHit(*bodies[number], similarity) for number, similarity in best if number in bodies])

    async def _load(self, model: str) -> _Signs:
        """Return the signs of all vectors, of which only the new ones are read; all of them where some are gone."""
        async with self._loading:
            count, last_id = await self.vectors.count(model)
            known = self._known
            if known is None or known.model != model or len(known.items) > count:
                known = self._known = _Signs(model)
            await self._read_new(known, last_id)
            if len(known.items) != count:
                known = self._known = _Signs(model)
                await self._read_new(known, last_id)
            return known

    async def _read_new(self, known: _Signs, last_id: int) -> None:
        while known.last_id < last_id:
            rows = await self.vectors.load_signs(known.model, after=known.last_id, limit=_LOADED_AT_ONCE)
            if not rows:
                return
            known.add(rows)


def _compare(query: Vector, near: Sequence[NearVector], average: float, limit: int) -> list[tuple[int, float]]:
    """Return the ids of the most similar items, the best first, each with its similarity."""
    vectors = [(found, Vector.from_bytes(found.vector)) for found in near]
    hits = [
        (query.compute_similarity(vector), found.day, found.item_id)
        for found, vector in vectors
        if len(vector.values) == len(query.values)
    ]
    hits.sort(reverse=True)
    least = average + _MIN_SHARE_OF_BEST * (hits[0][0] - average) if hits else 0.0
    return [(number, similarity) for similarity, _, number in hits[:limit] if similarity >= least]


def fuse_ranks(*orders: Sequence[int]) -> list[int]:
    """Return the ids of several orders, best first, by the sum of 1 / (60 + rank) over the orders that have them."""
    scores: dict[int, float] = {}
    for order in orders:
        for rank, number in enumerate(order, 1):
            scores[number] = scores.get(number, 0.0) + 1 / (_RANK_CONSTANT + rank)
    return sorted(scores, key=lambda number: -scores[number])
