"""How well facts of documents are read by rule: recall and precision by field over a folder of labelled documents."""

import datetime as dt
import re
import time
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import BaseModel, Field

from monitor.document import DocumentFacts
from monitor.policies.facts import read_facts

DAY_FIELDS = ("made_on", "in_force", "valid_until", "comments_until", "apply_by", "comply_by")


class LabelledRelation(BaseModel):
    type: str
    number: str | None = None
    title: str | None = None


class LabelledDeadline(BaseModel):
    kind: str
    day: dt.date
    subject: str = ""


class FactLabels(BaseModel):
    """What is right of a document; a stage of None is one that has no stage."""

    kind: str | None = None
    stage: str | None = None
    issuers: list[str] = Field(default_factory=list)
    number: str | None = None
    made_on: dt.date | None = None
    in_force: dt.date | None = None
    valid_until: dt.date | None = None
    comments_until: dt.date | None = None
    apply_by: dt.date | None = None
    comply_by: dt.date | None = None
    deadlines: list[LabelledDeadline] = Field(default_factory=list)
    relations: list[LabelledRelation] = Field(default_factory=list)


class LabelledFacts(BaseModel):
    """A document with the facts that a person reads in it."""

    id: str
    language: str
    title: str
    text: str
    published: dt.date | None = None
    issuer: str | None = None
    gold: FactLabels


class FieldFigures(BaseModel):
    """How many values of a field are in the labels, how many were read, and how many of those are right."""

    field: str
    labelled: int
    read: int
    right: int
    recall: float
    precision: float


class FactFigures(BaseModel):
    documents: int
    fields: list[FieldFigures]
    documents_a_second: float


def load_labels(folder: Path) -> list[LabelledFacts]:
    return [LabelledFacts.model_validate_json(path.read_text("utf-8")) for path in sorted(folder.rglob("*.json"))]


def _fold(text: str) -> str:
    """Return the letters and digits of a name, so that names compare in any typography."""
    return "".join(char for char in unicodedata.normalize("NFKC", text).casefold() if char.isalnum())


def _name_document(number: str | None, title: str | None) -> tuple[str, str]:
    return _fold(number or ""), _fold(title or "")


def _is_same_document(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two names may be of one document: a number that agrees, or a title that one writes longer."""
    if one[0] and other[0]:
        return one[0] == other[0] or one[0].endswith(other[0]) or other[0].endswith(one[0])
    if one[1] and other[1]:
        return one[1] == other[1] or (
            min(len(one[1]), len(other[1])) > 3 and (one[1] in other[1] or other[1] in one[1])
        )
    return False


def list_values(facts: DocumentFacts | FactLabels, field: str) -> Sequence[object]:
    """Return the values of a field in the form in which they are compared."""
    if field == "stage":
        return [str(facts.stage)]
    if field == "number":
        return [_fold(facts.number)] if facts.number else []
    if field == "issuers":
        return [_fold(re.sub("^the ", "", name, flags=re.IGNORECASE)) for name in facts.issuers]
    if field == "relations":
        return [(str(each.type), *_name_document(each.number, each.title)) for each in facts.relations]
    if field == "deadlines":
        return sorted({(str(each.kind), each.day) for each in facts.deadlines})
    value = getattr(facts, field)
    return [] if value is None else [value]


def count_right(field: str, labelled: Sequence[object], read: Sequence[object]) -> int:
    """Return how many values that were read are in the labels, each label counted once."""
    rest, right = list(labelled), 0
    for value in read:
        same = next((label for label in rest if _agree(field, label, value)), None)
        if same is not None:
            rest.remove(same)
            right += 1
    return right


def _agree(field: str, label: object, value: object) -> bool:
    if field == "number":
        one, other = str(label), str(value)
        return one == other or one.endswith(other) or other.endswith(one)
    if field == "relations" and isinstance(label, tuple) and isinstance(value, tuple):
        return label[0] == value[0] and _is_same_document(label[1:], value[1:])
    return label == value


FIELDS = ("stage", "number", "issuers", *DAY_FIELDS, "deadlines", "relations")


def measure(folder: Path, *, on_miss: Callable[[str, str, object, object], None] | None = None) -> FactFigures:
    """Read each document of a folder of labels and return how much of it agrees."""
    documents = load_labels(folder)
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    began = time.process_time()
    for document in documents:
        facts = read_facts(document.title, document.text, published_on=document.published, issuer=document.issuer)
        for field in FIELDS:
            labelled, read = list_values(document.gold, field), list_values(facts, field)
            right = count_right(field, labelled, read)
            counts[field] = [
                total + more for total, more in zip(counts[field], (len(labelled), len(read), right), strict=True)
            ]
            if on_miss is not None and not len(labelled) == len(read) == right:
                on_miss(document.id, field, labelled, read)
    elapsed = time.process_time() - began
    return FactFigures(
        documents=len(documents),
        fields=[_to_figures(field, *counts[field]) for field in FIELDS],
        documents_a_second=round(len(documents) / elapsed, 1) if documents else 0.0,
    )


def _to_figures(field: str, labelled: int, read: int, right: int) -> FieldFigures:
    return FieldFigures(
        field=field,
        labelled=labelled,
        read=read,
        right=right,
        recall=round(right / labelled, 4) if labelled else 1.0,
        precision=round(right / read, 4) if read else 1.0,
    )
