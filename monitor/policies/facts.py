"""Reads the facts of a document by rule: what it is, who made it when, what is due when, what it does to others."""

import datetime as dt
import re
from dataclasses import replace

from monitor.document import DocumentFacts, Relation
from monitor.policies.chinese_relations import list_titles
from monitor.policies.day_mentions import DayBase
from monitor.policies.day_rules import DayReading
from monitor.policies.days import read_days
from monitor.policies.document_text import DocumentText
from monitor.policies.issuers import read_signature
from monitor.policies.numbers import find_own_number
from monitor.policies.particulars import find_bound, find_figures, find_submit_to
from monitor.policies.relations import read_relations
from monitor.policies.stages import asks_for_comments, classify_document_text
from monitor.vocabulary import DeadlineKind, PolicyStage, Verdict

_EXPLAINING = (PolicyStage.INTERPRETATION, PolicyStage.QA)
_ASKING = (PolicyStage.CONSULTATION, PolicyStage.DRAFT, PolicyStage.PILOT, PolicyStage.FINAL)
_SINGLE_DAYS = {kind: str(kind) for kind in DeadlineKind}


def read_facts(
    title: str, text: str, *, published_on: dt.date | None = None, issuer: str | None = None
) -> DocumentFacts:
    """Return what a document says of itself; what it does not say is None or empty.

    `published_on` and `issuer` are those that its page states: days count from the one where the document has no day of
    its own, and the other stands in where nobody signed. The text is read up to `MAX_CHARS`.
    """
    document = DocumentText(title, text, published_on=published_on)
    classification = classify_document_text(document)
    stage = classification.stage
    signature = read_signature(document, issuer=issuer, is_issued=_is_issued(document, stage))
    has_number = stage is not None or document.is_chinese
    number = find_own_number(document, explains=stage in _EXPLAINING) if has_number else None
    base = DayBase(signature.made_on, published_on)
    sentences = document.read_sentences(base)
    reading = DayReading(
        asks_comments=stage is PolicyStage.CONSULTATION or (stage is PolicyStage.DRAFT and asks_for_comments(document)),
        explains=stage in _EXPLAINING,
        is_order=stage is PolicyStage.ENFORCEMENT,
        is_plan=stage is PolicyStage.PLAN,
        is_news=stage is None,
        published_on=published_on,
        own_titles=_list_own_titles(document),
    )
    days = read_days(document, sentences, base, reading, stage)
    if (in_force := days.get_first(DeadlineKind.IN_FORCE)) and document.counts_from_force:
        base = replace(base, in_force=in_force.day)
        days = read_days(document, document.read_sentences(base), base, reading, stage)
    relations = read_relations(document, sentences, stage=stage, number=number.number if number else None)
    facts = DocumentFacts(
        kind=classification.kind,
        stage=stage,
        issuers=signature.issuers,
        number=number.number if number else None,
        made_on=signature.made_on,
        published_on=published_on,
        relations=relations,
        deadlines=days.deadlines,
        submit_to=find_submit_to(document, sentences) if stage in _ASKING else None,
        bound=find_bound(document, sentences) if stage is not None else [],
        figures=find_figures(document, sentences) if stage is not None and stage not in _EXPLAINING else [],
    )
    for kind, name in _SINGLE_DAYS.items():
        if deadline := days.get_first(kind):
            setattr(facts, name, deadline.day)
            facts.evidence[name] = deadline.passage
    _add_evidence(
        facts, document, signature.made_at, signature.issuers_at, (number.start, number.end) if number else None
    )
    facts.verdicts = dict.fromkeys(facts.evidence, Verdict.SUPPORTED)
    return facts


def _is_issued(document: DocumentText, stage: PolicyStage | None) -> bool:
    """Whether somebody issued the document, so that one who is named at its head may be its issuer."""
    return stage is not None and not (
        document.is_chinese and stage in _EXPLAINING and not re.search("咨询通告|复函|批复|答复", document.title)
    )


def _list_own_titles(document: DocumentText) -> tuple[str, ...]:
    quoted = (document.title[first + 1 : last - 1] for first, last in list_titles(document.title))
    return (document.title, *quoted)


def _add_evidence(
    facts: DocumentFacts,
    document: DocumentText,
    made_at: tuple[int, int] | None,
    issuers_at: tuple[int, int] | None,
    number_at: tuple[int, int] | None,
) -> None:
    for name, span in (("made_on", made_at), ("issuers", issuers_at), ("number", number_at)):
        if span is None:
            continue
        facts.evidence[name] = document.quote(*span) if span[0] >= 0 else document.original_title
    relations: list[Relation] = facts.relations
    if relations:
        facts.evidence["relations"] = relations[0].passage
