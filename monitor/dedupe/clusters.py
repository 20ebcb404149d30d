"""Groups items to documents: candidate pairs, clusters in which every two are one, interpretations below policies."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from monitor.db.tables.collection import Item
from monitor.dedupe.candidates import IndexPair, find_candidate_pairs
from monitor.dedupe.identity import DocumentFeatures, DocumentIdentity, count_days_between, parse_identities
from monitor.dedupe.pairs import DocumentRelation, classify_relation
from monitor.isolation.pool import IsolatedWorkFailed, WorkerLimits, WorkerPool
from monitor.logs import get_logger

# One chain of pairs may hold most items of a briefing: 50,000 with texts as long as any is compared.
_LIMITS = WorkerLimits(timeout_s=120.0, cpu_s=60.0, max_input_bytes=2**28)
_BATCH_ITEMS = 500  # that one piece of work reads
_BATCH_PAIRS = 5000  # that one piece of work compares


@dataclass(frozen=True, slots=True)
class DocumentCluster:
    """One document: the lead, on the issuer's own site or else seen first, the other places, the interpretations."""

    lead: Item
    places: tuple[Item, ...] = ()
    interpretations: tuple["DocumentCluster", ...] = ()

    @property
    def items(self) -> tuple[Item, ...]:
        """The document's items, the lead first, without its interpretations."""
        return (self.lead, *self.places)


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """A cluster by the places of its items, the lead first, with its interpretations."""

    places: tuple[int, ...]
    interpretations: tuple["ClusterPlan", ...] = ()

    def get_first(self) -> int:
        """The first item's place, of the cluster or of what is below it."""
        return min(self.list_places())

    def list_places(self) -> list[int]:
        return [*self.places, *(place for below in self.interpretations for place in below.list_places())]

    def renumber(self, numbers: Sequence[int]) -> "ClusterPlan":
        """Return the plan with these numbers in place of the places among them."""
        below = tuple(each.renumber(numbers) for each in self.interpretations)
        return ClusterPlan(tuple(numbers[place] for place in self.places), below)

    def pick(self, items: Sequence[Item]) -> DocumentCluster:
        lead, *places = (items[place] for place in self.places)
        return DocumentCluster(lead, tuple(places), tuple(each.pick(items) for each in self.interpretations))


def cluster_items(items: Sequence[Item], texts: Mapping[int, str] | None = None) -> list[DocumentCluster]:
    """Return the documents that these items are, each once; `texts` are the pages' texts by the items' ids.

    In a cluster every two items are one document, whatever third is like both. An interpretation is below its policy if
    that is among the items. The documents are in the order of the first of their items or interpretations; what is
    clustered does not depend on the order.
    """
    identities = parse_identities(_list_facts(items, texts or {}))
    plans = plan_clusters(identities, find_candidate_pairs(identities))
    return [plan.pick(items) for plan in sorted(plans, key=ClusterPlan.get_first)]


async def cluster_in_workers(
    items: Sequence[Item], texts: Mapping[int, str], workers: WorkerPool
) -> list[DocumentCluster]:
    """Do the same in worker processes, in pieces; items of a piece that takes too long are documents of their own.

    Reading an item and comparing two have to do with what pages say, and are left to the workers. Which items are
    compared is found here: items that no chain of pairs joins go to different workers.
    """
    facts = _list_facts(items, texts)
    batches = [facts[start : start + _BATCH_ITEMS] for start in range(0, len(facts), _BATCH_ITEMS)]
    parsed = await asyncio.gather(*(_parse_in_worker(batch, workers) for batch in batches))
    known = {index: identity for index, identity in enumerate(each for batch in parsed for each in batch) if identity}
    pieces = await asyncio.to_thread(_split_into_pieces, known)
    planned = await asyncio.gather(*(_plan_in_worker(piece, known, workers) for piece in pieces))
    plans = [plan for some in planned for plan in some]
    alone = set(range(len(items))).difference(*map(ClusterPlan.list_places, plans))
    plans.extend(ClusterPlan((index,)) for index in alone)
    return [plan.pick(items) for plan in sorted(plans, key=ClusterPlan.get_first)]


def _list_facts(items: Sequence[Item], texts: Mapping[int, str]) -> list[DocumentFeatures]:
    return [DocumentFeatures.of(item, texts.get(item.id) if item.id is not None else None) for item in items]


async def _parse_in_worker(facts: Sequence[DocumentFeatures], workers: WorkerPool) -> Sequence[DocumentIdentity | None]:
    try:
        return await workers.run_limited(_LIMITS, parse_identities, facts)
    except IsolatedWorkFailed as error:
        get_logger("dedupe").warning("not clustered", items=len(facts), reason=str(error))
        return [None] * len(facts)


async def _plan_in_worker(
    piece: "_Piece", known: Mapping[int, DocumentIdentity], workers: WorkerPool
) -> list[ClusterPlan]:
    try:
        plans = await workers.run_limited(
            _LIMITS, plan_clusters, [known[index] for index in piece.members], piece.pairs
        )
    except IsolatedWorkFailed as error:
        get_logger("dedupe").warning("not clustered", items=len(piece.members), reason=str(error))
        return []
    return [plan.renumber(piece.members) for plan in plans]


@dataclass(frozen=True, slots=True)
class _Piece:
    """Items to be compared by themselves: their numbers, and the pairs by their places among these."""

    members: list[int]
    pairs: list[IndexPair]


def _split_into_pieces(identities: Mapping[int, DocumentIdentity]) -> list[_Piece]:
    """Return the items that have candidates, in pieces which share none."""
    numbers = list(identities)
    pairs = find_candidate_pairs([identities[number] for number in numbers])
    root = list(range(len(numbers)))

    def find(index: int) -> int:
        while root[index] != index:
            root[index] = root[root[index]]
            index = root[index]
        return index

    for first, other in pairs:
        root[find(first)] = find(other)
    chains: defaultdict[int, list[IndexPair]] = defaultdict(list)
    for pair in pairs:
        chains[find(pair[0])].append(pair)
    pieces, some = [], list[IndexPair]()
    for chain in chains.values():
        some += chain
        if len(some) >= _BATCH_PAIRS:
            pieces.append(_build_piece(some, numbers))
            some = []
    return [*pieces, _build_piece(some, numbers)] if some else pieces


def _build_piece(pairs: Sequence[IndexPair], numbers: Sequence[int]) -> _Piece:
    members = sorted({index for pair in pairs for index in pair})
    place = {index: place for place, index in enumerate(members)}
    return _Piece([numbers[index] for index in members], [(place[first], place[other]) for first, other in pairs])


def plan_clusters(identities: Sequence[DocumentIdentity], pairs: Sequence[IndexPair]) -> list[ClusterPlan]:
    """Return the clusters of `cluster_items` by the places of their items, in any order."""
    relations = _RelationCache(identities)
    clusters = _build_clusters(
        len(identities), [pair for pair in pairs if relations.get(*pair) is DocumentRelation.SAME], relations
    )
    parents = _assign_parents(
        clusters, [pair for pair in pairs if relations.get(*pair) is DocumentRelation.INTERPRETATION], relations
    )
    children: defaultdict[int, list[int]] = defaultdict(list)
    for child, parent in parents.items():
        children[parent].append(child)

    def build(number: int) -> ClusterPlan:
        below = sorted(map(build, children[number]), key=ClusterPlan.get_first) if children[number] else []
        members = sorted(clusters[number], key=lambda index: identities[index].precedence)
        return ClusterPlan(tuple(members), tuple(below))

    return [build(number) for number in range(len(clusters)) if number not in parents]


class _RelationCache:
    """The relation of each two items, each decided once."""

    def __init__(self, identities: Sequence[DocumentIdentity]) -> None:
        self.identities = identities
        self._known: dict[IndexPair, DocumentRelation] = {}

    def get(self, one: int, other: int) -> DocumentRelation:
        pair = (one, other) if one < other else (other, one)
        if pair not in self._known:
            self._known[pair] = classify_relation(self.identities[pair[0]], self.identities[pair[1]])
        return self._known[pair]

    def build_closeness_key(self, pair: IndexPair) -> tuple[bool, int, list[tuple[str, str, str]]]:
        """What to join first, whatever the order of the items: one address, then days, then the names."""
        one, other = (self.identities[index] for index in pair)
        gap = count_days_between(one, other)
        names = sorted((each.address, each.title.full, each.text[:200]) for each in (one, other))
        return one.address != other.address, 10**6 if gap is None else gap, names


def _build_clusters(count: int, edges: Iterable[IndexPair], relations: _RelationCache) -> list[list[int]]:
    clusters: dict[int, list[int]] = {index: [index] for index in range(count)}
    cluster_of = list(range(count))
    for first, other in sorted(edges, key=relations.build_closeness_key):
        a, b = cluster_of[first], cluster_of[other]
        if a == b or any(
            relations.get(*pair) is not DocumentRelation.SAME for pair in product(clusters[a], clusters[b])
        ):
            continue
        for index in clusters[b]:
            cluster_of[index] = a
        clusters[a] += clusters.pop(b)
    return list(clusters.values())


def _assign_parents(
    clusters: Sequence[Sequence[int]], edges: Iterable[IndexPair], relations: _RelationCache
) -> dict[int, int]:
    """Return for each cluster of interpretations the policy's cluster that most of its items explain, if any."""
    cluster_of = {index: number for number, members in enumerate(clusters) for index in members}
    readings = {
        number
        for number, members in enumerate(clusters)
        if all(relations.identities[index].is_interpretation for index in members)
    }
    votes: defaultdict[int, defaultdict[int, list[IndexPair]]] = defaultdict(lambda: defaultdict(list))
    for pair in edges:
        a, b = (cluster_of[index] for index in pair)
        if (a in readings) != (b in readings):
            child, parent = (a, b) if a in readings else (b, a)
            votes[child][parent].append(pair)

    def weight(pairs: Sequence[IndexPair]) -> tuple[int, tuple[bool, int, list[tuple[str, str, str]]]]:
        return -len(pairs), min(map(relations.build_closeness_key, pairs))

    return {child: min(parents, key=lambda parent: weight(parents[parent])) for child, parents in votes.items()}
