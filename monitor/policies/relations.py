"""Reads what a document does to others: what it repeals, replaces, amends, rests on, explains and carries out."""

import re
from collections.abc import Sequence

from monitor.document import Relation
from monitor.policies import chinese_relations, english_relations
from monitor.policies.document_text import DocumentText, Sentence
from monitor.vocabulary import PolicyStage, RelationType

_MAX_RELATIONS = 60
_ISSUED = re.compile(r"(?:印发|发布|公布)[〈《<]([^〈〉《》<>]{4,80})[〉》>]的?(?:通知|公告|通告|决定|令)$")
"""The document that another one only issues: 关于印发〈…〉的通知 and what it issues are one."""


def read_relations(
    document: DocumentText, sentences: Sequence[Sentence], *, stage: PolicyStage | None, number: str | None
) -> list[Relation]:
    """Return what a document does to those that it names, each once, the strongest relation of each.

    `number` is its own. A document without a stage, news or data, does nothing to others.
    """
    if stage is None:
        return []
    rules = chinese_relations if document.is_chinese else english_relations
    own = {_fold(number)} if number else set()
    kept: dict[tuple[RelationType, str], Relation] = {}
    for relation in rules.iter_relations(document, sentences, stage, number):
        key = _fold(relation.number or "") or _fold(relation.title or "")
        if key and key not in own and (relation.type, key) not in kept and len(kept) < _MAX_RELATIONS:
            kept[relation.type, key] = relation
    return _merge(list(kept.values()))


def _fold(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def _merge(relations: Sequence[Relation]) -> list[Relation]:
    """Return the relations without those that say the same of the same document with less."""
    merged: list[Relation] = []
    for relation in relations:
        same = next((known for known in merged if _is_same(known, relation)), None)
        if same is None:
            merged.append(relation)
            continue
        at = merged.index(same)
        better = _STRENGTH.index(relation.type) < _STRENGTH.index(same.type)
        winner, other = (relation, same) if better else (same, relation)
        merged[at] = winner.model_copy(
            update={"number": winner.number or other.number, "title": winner.title or other.title}
        )
    return merged


_STRENGTH = (
    RelationType.REPLACES,
    RelationType.REPEALS,
    RelationType.AMENDS,
    RelationType.INTERPRETS,
    RelationType.IMPLEMENTS,
    RelationType.BASED_ON,
)


def _is_same(one: Relation, other: Relation) -> bool:
    if one.number and other.number:
        return _fold(one.number) == _fold(other.number)
    if one.title and other.title:
        titles = _fold(one.title), _fold(other.title)
        return titles[0] == titles[1] or any(
            _fold(inner) in titles for title in (one.title, other.title) for inner in _ISSUED.findall(title)
        )
    return False
