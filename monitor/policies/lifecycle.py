"""Which documents belong to one policy: a link between two of them holds or not, and the strongest decides."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from monitor.dedupe.identity import is_same_office
from monitor.dedupe.numbers import compare_numbers, keep_alphanumerics, normalize_text
from monitor.document import DocumentFacts, Relation
from monitor.i18n.message import Message
from monitor.policies.names import Reference, build_number_key, fold_name, list_references, parse_number, split_words
from monitor.vocabulary import DocumentKind, JoinedBy, KeyRole, PolicyStage, RelationType

_STARTING_STAGES = frozenset(
    {
        PolicyStage.PLAN,
        PolicyStage.DRAFT,
        PolicyStage.CONSULTATION,
        PolicyStage.FINAL,
        PolicyStage.PILOT,
        PolicyStage.AMENDMENT,
    }
)
_STARTING_KINDS = frozenset({DocumentKind.POLICY, DocumentKind.CONSULTATION, DocumentKind.STANDARD})
_LIFE = (
    PolicyStage.PLAN,
    PolicyStage.DRAFT,
    PolicyStage.CONSULTATION,
    PolicyStage.PILOT,
    PolicyStage.FINAL,
    PolicyStage.AMENDMENT,
    PolicyStage.REPEAL,
)
"""The stages that a policy itself goes through, in their order; the others accompany it."""

_NAMING_ORDER = (
    PolicyStage.FINAL,
    PolicyStage.PILOT,
    PolicyStage.CONSULTATION,
    PolicyStage.DRAFT,
    PolicyStage.PLAN,
    PolicyStage.AMENDMENT,
    PolicyStage.REPEAL,
)
_BEFORE_FINAL = frozenset({PolicyStage.DRAFT, PolicyStage.CONSULTATION, PolicyStage.PLAN})
_ABOUT_ANOTHER = frozenset(set(PolicyStage) - set(_LIFE)) | {PolicyStage.AMENDMENT, PolicyStage.REPEAL}
_ACTING_RELATIONS = frozenset(set(RelationType) - {RelationType.BASED_ON})
_SLACK = dt.timedelta(days=10)  # by which a document may have been posted before the one that it refers to
_MAX_RECURRING = dt.timedelta(days=60)
_MAX_SIMILAR = dt.timedelta(days=1500)
_MIN_UNSIGNED_CHARS = 8
_LASTING_FORM = re.compile(r"(?:办法|规定|条例|规则|细则|准则|标准|目录|指引|制度|法|规程|限量|规范|要求)$")
_LOCAL = re.compile(r"省|市(?!场)|县|区|州|旗|盟")


class LinkStrength(IntEnum):
    """How sure a link is; of several policies the one with the strongest is joined."""

    SIMILAR = 1
    MENTIONED_NAME = 2
    MENTIONED_NUMBER = 3
    NAME = 4
    RELATION = 5
    TITLE = 6
    NUMBER = 7
    FILE = 8


_JOINED_BY = {
    LinkStrength.SIMILAR: JoinedBy.NAME,
    LinkStrength.MENTIONED_NAME: JoinedBy.NAME,
    LinkStrength.MENTIONED_NUMBER: JoinedBy.NUMBER,
    LinkStrength.NAME: JoinedBy.NAME,
    LinkStrength.RELATION: JoinedBy.RELATION,
    LinkStrength.TITLE: JoinedBy.TITLE,
    LinkStrength.NUMBER: JoinedBy.NUMBER,
    LinkStrength.FILE: JoinedBy.NUMBER,
}


@dataclass(frozen=True)
class FiledDocument:
    """A document with what it is found by; `policies` are those that it is in, `day` when it was published or made."""

    item_id: int
    title: str
    facts: DocumentFacts
    references: tuple[Reference, ...]
    day: dt.date | None = None
    policies: frozenset[int] = frozenset()

    @property
    def offices(self) -> frozenset[str]:
        return frozenset(keep_alphanumerics(normalize_text(name)) for name in self.facts.issuers)

    def get_written(self, key: str) -> str:
        return next((reference.written for reference in self.references if reference.key == key), "")


class DocumentLink(NamedTuple):
    """Why two documents belong together; `written` is the name or number that one has of the other."""

    strength: LinkStrength
    written: str
    relation: RelationType | None = None


@dataclass(frozen=True)
class JoinProposal:
    """A policy that a document belongs to, and the document in it, `item_id`, that says so."""

    policy_id: int
    item_id: int
    joined_by: JoinedBy
    reason: Message


def read_document(
    title: str, text: str, *, published_on: dt.date | None = None, issuer: str | None = None
) -> tuple[DocumentFacts, list[Reference]]:
    """Return what a text says of itself and what it is found by: for a worker, since texts come from outside."""
    from monitor.policies.facts import read_facts  # what only joins documents reads none

    facts = read_facts(title, text, published_on=published_on, issuer=issuer)
    return facts, list_references(title, text, facts)


def may_start_policy(facts: DocumentFacts) -> bool:
    return facts.stage in _STARTING_STAGES and facts.kind in _STARTING_KINDS


def find_policy(document: FiledDocument, candidates: Iterable[FiledDocument]) -> JoinProposal | None:
    """Return the policy of one of the candidates that the document belongs to; None where none or several may be."""
    return next(iter(find_policies(document, candidates)), None)


def find_policies(document: FiledDocument, candidates: Iterable[FiledDocument]) -> list[JoinProposal]:
    """Return the policies that a document belongs to: several where it repeals or amends several, else one at most."""
    best: dict[int, tuple[DocumentLink, FiledDocument]] = {}
    for candidate in candidates:
        link = find_link(document, candidate) if candidate.policies else None
        if link is None:
            continue
        for policy_id in candidate.policies:
            known = best.get(policy_id)
            if known is None or (link.strength, _order_days(candidate)) > (known[0].strength, _order_days(known[1])):
                best[policy_id] = link, candidate
    if not best:
        return []
    strongest = max(link.strength for link, _ in best.values())
    chosen = {key: found for key, found in best.items() if found[0].strength == strongest}
    acting = {key: found for key, found in best.items() if found[0].relation in _ACTING_RELATIONS}
    is_about_several = document.facts.stage in (PolicyStage.REPEAL, PolicyStage.AMENDMENT) and len(acting) > 1
    if is_about_several:
        chosen = acting
    elif len(chosen) > 1:
        chosen = _choose_one(document, chosen, strongest)
    return [_propose(policy_id, *chosen[policy_id]) for policy_id in sorted(chosen)]


def _choose_one(
    document: FiledDocument, chosen: Mapping[int, tuple[DocumentLink, FiledDocument]], strength: LinkStrength
) -> dict[int, tuple[DocumentLink, FiledDocument]]:
    """Return the policy of the document that this one explains or carries out, else the latest; none where in doubt."""
    acting = {key: found for key, found in chosen.items() if found[0].relation in _ACTING_RELATIONS}
    if len(acting) == 1:
        return acting
    if strength <= LinkStrength.MENTIONED_NUMBER or document.facts.stage is PolicyStage.ENFORCEMENT:
        return {}
    latest = max(acting or chosen, key=lambda key: (_order_days(chosen[key][1]), key))
    return {latest: chosen[latest]}


def _order_days(document: FiledDocument) -> dt.date:
    return document.day or dt.date.min


def _propose(policy_id: int, link: DocumentLink, candidate: FiledDocument) -> JoinProposal:
    code = f"policy.relation_{link.relation}" if link.relation else f"policy.by_{link.strength.name.lower()}"
    reason = Message.of(code, name=link.written, title=candidate.title)
    return JoinProposal(policy_id, candidate.item_id, _JOINED_BY[link.strength], reason)


def find_link(one: FiledDocument, other: FiledDocument) -> DocumentLink | None:
    """Return the strongest link of two documents that holds, whichever of them refers to the other."""
    links = [link for link in _iter_links(one, other) if link is not None]
    return max(links, key=lambda link: link.strength, default=None)


def _iter_links(one: FiledDocument, other: FiledDocument) -> Iterator[DocumentLink | None]:
    theirs = {reference.key: reference for reference in other.references}
    alike = 0
    for mine in one.references:
        its = theirs.get(mine.key)
        if its is None:
            continue
        if mine.key.startswith("like:"):
            alike += 1
        elif mine.role is KeyRole.OWN and its.role is KeyRole.OWN:
            yield _link_equals(one, other, mine, its)
        elif its.role is KeyRole.OWN:
            yield _link_citation(one, other, mine, its)
        elif mine.role is KeyRole.OWN:
            yield _link_citation(other, one, its, mine)
    if alike:
        yield _link_similar(one, other)


# Two documents of one name or number.


def _link_equals(one: FiledDocument, other: FiledDocument, mine: Reference, its: Reference) -> DocumentLink | None:
    kind = mine.key.partition(":")[0]
    if kind == "file":
        return DocumentLink(LinkStrength.FILE, mine.written)
    if kind == "number":
        is_one = _have_one_series(mine.written, its.written) and _may_be_one_office(one, other)
        return DocumentLink(LinkStrength.NUMBER, mine.written) if is_one else None
    return DocumentLink(LinkStrength.NAME, mine.written) if _may_share_name(one, other, mine.key) else None


def _have_one_series(one: str, other: str) -> bool:
    a, b = parse_number(one), parse_number(other)
    if a is None or b is None or not (a.year or a.series):
        return True  # their keys are the whole numbers
    return compare_numbers(a, b) is True


def _may_share_name(one: FiledDocument, other: FiledDocument, key: str) -> bool:
    """Whether one name is that of one policy: not of two places, and not of what is issued each year anew."""
    a, b = one.offices, other.offices
    if a and b and not _share_office(a, b):
        places = [office for office in a | b if _LOCAL.search(office)]
        if places or not {one.facts.stage, other.facts.stage} & _BEFORE_FINAL:
            return False
    if len(key) - len("name:") < _MIN_UNSIGNED_CHARS and not (a and b):
        return False
    if _name_different_years(one.title, other.title) and one.facts.stage is other.facts.stage:
        return False
    stages = {one.facts.stage, other.facts.stage}
    if stages == {PolicyStage.FINAL} and not _LASTING_FORM.search(key):
        gap = _measure_gap(one, other)
        return gap is None or gap <= _MAX_RECURRING
    return True


def _name_different_years(one: str, other: str) -> bool:
    a, b = (set(re.findall(r"(?<!\d)(?:19|20)\d\d(?!\d)", title)) for title in (one, other))
    return bool(a and b and a.isdisjoint(b))


def _measure_gap(one: FiledDocument, other: FiledDocument) -> dt.timedelta | None:
    return abs(one.day - other.day) if one.day and other.day else None


def _may_be_one_office(one: FiledDocument, other: FiledDocument) -> bool:
    a, b = one.offices, other.offices
    return not a or not b or _share_office(a, b)


def _share_office(a: Iterable[str], b: Iterable[str]) -> bool:
    others = list(b)
    return any(name == other or _is_one_office(name, other) for name in a for other in others)


def _is_one_office(one: str, other: str) -> bool:
    """Whether two names are of one office, or of an office and a department of it."""
    if one.isascii() or other.isascii():
        return one in other or other in one
    return is_same_office(one, other) or one.startswith(other) or other.startswith(one)


# A document that refers to another one.


def _link_citation(citing: FiledDocument, cited: FiledDocument, its: Reference, own: Reference) -> DocumentLink | None:
    """Return the link of a document that writes the name or number of the other."""
    if cited.facts.stage is None or (citing.day and cited.day and cited.day > citing.day + _SLACK):
        return None
    is_number = its.key.startswith("number:")
    if is_number and not _have_one_series(its.written, own.written):
        return None
    if its.key.startswith("file:"):
        return DocumentLink(LinkStrength.MENTIONED_NUMBER, its.written)
    relation = _find_relation(citing.facts.relations, its.key)
    if its.role is KeyRole.MENTIONED:
        if not _may_mention(citing, cited):
            return None
        return DocumentLink(LinkStrength.MENTIONED_NUMBER if is_number else LinkStrength.MENTIONED_NAME, its.written)
    kind = relation.type if relation else None
    if not _may_cite(citing, cited, kind, is_number=is_number):
        return None
    if is_number:
        return DocumentLink(LinkStrength.NUMBER, its.written, kind)
    return DocumentLink(LinkStrength.TITLE if relation is None else LinkStrength.RELATION, its.written, kind)


def _find_relation(relations: Sequence[Relation], key: str) -> Relation | None:
    kind, _, words = key.partition(":")
    for relation in relations:
        if kind == "number" and relation.number and build_number_key(relation.number) == key:
            return relation
        if kind == "name" and relation.title and fold_name(relation.title) == words:
            return relation
    return None


def _may_cite(citing: FiledDocument, cited: FiledDocument, kind: RelationType | None, *, is_number: bool) -> bool:
    """Whether what a document says of another one makes it part of the other's policy.

    A document that explains, carries out, amends or repeals another one belongs to it. A final one belongs to the draft
    that it is based on, not to the law; one that also repeals older ones in passing is a policy of its own.
    """
    stage, target = citing.facts.stage, cited.facts.stage
    if kind in (RelationType.INTERPRETS, RelationType.AMENDS):
        return True
    if kind in (RelationType.REPEALS, RelationType.REPLACES):
        acts = [relation for relation in citing.facts.relations if relation.type is kind]
        return stage is PolicyStage.REPEAL or len(acts) == 1 or _have_similar_names(citing, cited)
    if kind is RelationType.IMPLEMENTS:
        return stage in (PolicyStage.IMPLEMENTATION, PolicyStage.PILOT, None) or target in _BEFORE_FINAL
    if target in _BEFORE_FINAL and target is not PolicyStage.PLAN:
        return _may_be_one_office(citing, cited) or is_number
    if kind is RelationType.BASED_ON:
        return stage in (PolicyStage.ENFORCEMENT, PolicyStage.IMPLEMENTATION)
    return stage in _ABOUT_ANOTHER


def _may_mention(citing: FiledDocument, cited: FiledDocument) -> bool:
    """Whether a document that only mentions another one belongs to its policy."""
    stage, target = citing.facts.stage, cited.facts.stage
    if stage is None or target is PolicyStage.PLAN:
        return False
    if not _may_be_one_office(citing, cited):
        return stage is PolicyStage.ENFORCEMENT and target in (PolicyStage.FINAL, PolicyStage.AMENDMENT)
    return stage in _ABOUT_ANOTHER or target in _BEFORE_FINAL


# Names that are nearly one.


def _link_similar(one: FiledDocument, other: FiledDocument) -> DocumentLink | None:
    """Return the link of two documents of one office with nearly one name.

    They are a draft and what came of it, or change and explain one and the same document.
    """
    if not (one.offices and other.offices) or not _share_office(one.offices, other.offices):
        return None
    gap = _measure_gap(one, other)
    if (gap is not None and gap > _MAX_SIMILAR) or _name_different_years(one.title, other.title):
        return None
    stages = (one.facts.stage, other.facts.stage)
    if None in stages:
        return None
    if sum(stage in _BEFORE_FINAL for stage in stages) == 1:
        is_one = _have_similar_names(one, other)
    else:
        is_one = bool(_list_objects(one) & _list_objects(other)) and _have_similar_names(one, other, 0.6, 0.4)
    return DocumentLink(LinkStrength.SIMILAR, other.title) if is_one else None


def _list_objects(document: FiledDocument) -> set[str]:
    """Return the names of the documents that this one changes or explains."""
    relations = document.facts.relations
    return {fold_name(found.title) for found in relations if found.title and found.type in _ACTING_RELATIONS}


def _have_similar_names(one: FiledDocument, other: FiledDocument, least: float = 0.8, most: float = 0.6) -> bool:
    """Whether names of both have at least these shares of the shorter and of the longer one's words in common."""
    objects = _list_objects(one) & _list_objects(other)
    names, others = (
        {split_words(name) for name in _iter_close_names(document) if name not in objects} for document in (one, other)
    )
    for a in names:
        for b in others:
            shared = len(a & b)
            if shared >= 3 and shared >= least * min(len(a), len(b)) and shared >= most * max(len(a), len(b)):
                return True
    return False


def _iter_close_names(document: FiledDocument) -> Iterator[str]:
    for reference in document.references:
        if reference.key.startswith("name:") and reference.role is not KeyRole.MENTIONED:
            yield reference.key.removeprefix("name:")


# The policy as a whole.


def choose_stage(documents: Iterable[FiledDocument]) -> tuple[PolicyStage | None, dt.date | None]:
    """Return the furthest stage that a policy has reached, and the day of the first document of that stage.

    Interpretations, answers, local rules and penalties do not change where a policy stands; of these alone, the last.
    """
    reached = [(document.facts.stage, document.day) for document in documents if document.facts.stage is not None]
    own = [(stage, day) for stage, day in reached if stage in _LIFE]
    if not own:
        return max(reached, key=lambda found: found[1] or dt.date.min, default=(None, None))
    stage = max((stage for stage, _ in own), key=_LIFE.index)
    return stage, min((day for reached, day in own if reached is stage and day), default=None)


def choose_title(documents: Iterable[FiledDocument]) -> str:
    """Return the title that names a policy: that of its first final document, else of one that comes nearest to it."""

    def order(document: FiledDocument) -> tuple[int, dt.date, int]:
        stage = document.facts.stage
        place = _NAMING_ORDER.index(stage) if stage in _NAMING_ORDER else len(_NAMING_ORDER)
        return place, document.day or dt.date.max, document.item_id

    return min(documents, key=order).title
