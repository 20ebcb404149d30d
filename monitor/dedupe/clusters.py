"""Groups items to documents: candidate pairs, clusters in which every two are one, interpretations below policies."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from monitor.db.tables.collection import Item
from monitor.dedupe.identity import DocumentIdentity, build_identity, count_days_between, is_same_office
from monitor.dedupe.pairs import DocumentRelation, classify_relation
from monitor.dedupe.texts import MAX_READ_CHARS
from monitor.dedupe.titles import strip_document_form
from monitor.isolation.pool import IsolatedWorkFailed, WorkerLimits, WorkerPool
from monitor.logs import get_logger

_MAX_BLOCK_ITEMS = 40
_MAX_NEIGHBOURS = 10
_PREFIX_CHARS = 14
_SUFFIX_CHARS = 12
_ANCHOR_CHARS = 12
_ANCHOR_EVERY, _ANCHOR_EVERY_SHORT = 16, 4  # the anchors of a long text are among those that a short one would have
_SHORT_TEXT_CHARS = 150
_MAX_ANCHORED_CHARS = 600
_LIMITS = WorkerLimits(timeout_s=120.0, cpu_s=60.0)  # a briefing may have a thousand items
IndexPair = tuple[int, int]


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

    def pick(self, items: Sequence[Item]) -> DocumentCluster:
        lead, *places = (items[place] for place in self.places)
        return DocumentCluster(lead, tuple(places), tuple(each.pick(items) for each in self.interpretations))


def cluster_items(items: Sequence[Item], texts: Mapping[int, str] | None = None) -> list[DocumentCluster]:
    """Return the documents that these items are, each once; `texts` are the pages' texts by the items' ids.

    In a cluster every two items are one document, whatever third is like both. An interpretation is below its policy if
    that is among the items. The documents are in the order of the first of their items or interpretations; what is
    clustered does not depend on the order.
    """
    return [plan.pick(items) for plan in plan_clusters(items, texts)]


async def cluster_in_workers(
    items: Sequence[Item], texts: Mapping[int, str], workers: WorkerPool
) -> list[DocumentCluster]:
    """Do the same in a worker process; where that takes too long, each item is a document of its own."""
    openings = {item_id: text[:MAX_READ_CHARS] for item_id, text in texts.items()}
    try:
        plans = await workers.run_limited(_LIMITS, plan_clusters, items, openings)
    except IsolatedWorkFailed as error:
        get_logger("dedupe").warning("not clustered", items=len(items), reason=str(error))
        return [DocumentCluster(item) for item in items]
    return [plan.pick(items) for plan in plans]


def plan_clusters(items: Sequence[Item], texts: Mapping[int, str] | None = None) -> list[ClusterPlan]:
    """Return the clusters of `cluster_items` by the places of their items."""
    known = texts or {}
    identities = [build_identity(item, known.get(item.id) if item.id is not None else None) for item in items]
    relations = _RelationCache(identities)
    pairs = list(iter_candidate_pairs(identities))
    clusters = _build_clusters(
        len(items), [pair for pair in pairs if relations.get(*pair) is DocumentRelation.SAME], relations
    )
    parents = _assign_parents(
        clusters, [pair for pair in pairs if relations.get(*pair) is DocumentRelation.INTERPRETATION], relations
    )
    children: defaultdict[int, list[int]] = defaultdict(list)
    for child, parent in parents.items():
        children[parent].append(child)

    def built(number: int) -> tuple[int, ClusterPlan]:
        below = sorted((built(child) for child in children[number]), key=_get_first) if children[number] else []
        members = sorted(clusters[number], key=lambda index: _build_lead_key(items[index], identities[index]))
        plan = ClusterPlan(tuple(members), tuple(each for _, each in below))
        return min([*members, *(first for first, _ in below)]), plan

    roots = (built(number) for number in range(len(clusters)) if number not in parents)
    return [each for _, each in sorted(roots, key=_get_first)]


def _get_first(built: tuple[int, ClusterPlan]) -> int:
    return built[0]


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


def iter_candidate_pairs(identities: Sequence[DocumentIdentity]) -> Iterator[IndexPair]:
    """Yield the pairs that may be one document, or a policy and its interpretation: those that share a key, each once.

    Words of a text that very many share are a form's and no key. Of any other key that very many share, only items
    published one after the other are compared.
    """
    blocks: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for index, identity in enumerate(identities):
        for key in set(_iter_blocking_keys(identity)):
            blocks[key].append(index)
    seen: set[IndexPair] = set()
    for (kind, _), members in blocks.items():
        if len(members) < 2 or (kind == "text" and len(members) > _MAX_BLOCK_ITEMS):
            continue
        if kind == "start" and not any(identities[index].title.is_truncated for index in members):
            continue
        pairs = list(dict.fromkeys(_iter_block_pairs(members, identities)))
        yield from (pair for pair in pairs if pair not in seen)
        seen.update(pairs)


def _iter_block_pairs(members: Sequence[int], identities: Sequence[DocumentIdentity]) -> Iterator[IndexPair]:
    if len(members) <= _MAX_BLOCK_ITEMS:
        yield from combinations(members, 2)
        return
    in_time = sorted(members, key=lambda index: _build_time_key(identities[index]))
    for place, first in enumerate(in_time):
        for other in in_time[place + 1 : place + 1 + _MAX_NEIGHBOURS]:
            yield (first, other) if first < other else (other, first)


def _build_time_key(identity: DocumentIdentity) -> tuple[dt.date, str, str, str]:
    return identity.day or dt.date.min, identity.title.full, identity.address, identity.text[:200]


def _iter_blocking_keys(identity: DocumentIdentity) -> Iterator[tuple[str, str]]:
    title = identity.title
    yield "address", identity.address
    for body in (title.body, title.full, identity.subject, strip_document_form(title.body)):
        yield "body", body
    yield "start", title.full[:_PREFIX_CHARS]
    yield "start", title.head[:_PREFIX_CHARS]
    yield "end", title.full[-_SUFFIX_CHARS:]
    if identity.number:
        yield "number", f"{identity.number.year} {identity.number.serial}"
    opening = identity.text[:_MAX_ANCHORED_CHARS]
    every = _ANCHOR_EVERY_SHORT if len(opening) < _SHORT_TEXT_CHARS else _ANCHOR_EVERY
    for place in [place for place, char in enumerate(opening) if ord(char) % every == 0]:
        yield "text", opening[place : place + _ANCHOR_CHARS]


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


def _build_lead_key(item: Item, identity: DocumentIdentity) -> tuple[bool, bool, dt.datetime, dt.date, str]:
    issuer = identity.title.issuer or identity.issuer
    is_own = bool(issuer and identity.source) and is_same_office(issuer, identity.source)
    first_seen = item.first_seen if item.first_seen.tzinfo else item.first_seen.replace(tzinfo=dt.UTC)
    return not is_own, item.is_repost, first_seen, item.date or dt.date.max, identity.address
