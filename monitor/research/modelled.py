"""A model of the topic by rule: its drivers are the topics of the notes, its metrics the figures of their quotes."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from monitor.evidence.citing import LEAST_CHARS, missing_from
from monitor.evidence.vocabulary import likeness, words_of
from monitor.pages.registrable import registrable_host
from monitor.research.blueprint import MODEL_TYPES, MOST_DRIVERS, first_sentence, mean_of, relationship
from monitor.research.picture import ASSOCIATION
from monitor.research.shapes import Driver, Evidence, Metric, ModelBlueprint, Note, Relationship

_MOST_REFS = 5
_MOST_RELATIONSHIPS = 8
_MOST_METRICS = 6
_ALIKE = 0.15
_NAME_CHARS = 30
_FIGURE = re.compile(
    r"(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)\s?"
    r"(?P<unit>%|个百分点|[万亿]?(?:元|美元|欧元|千瓦时|千瓦|吨|平方公里|公里|户|家|人|台|辆|座|项)|[GMTk]Wh?\b|"
    r"(?:million|billion|trillion)(?:\s(?:euros?|dollars?|tonnes?|yuan))?|per ?cent\b|tonnes?\b|euros?\b|dollars?\b)"
)
_CLAUSE_END = re.compile(r"[，,；;。！？!?：:、（(]\s*")
_YEAR = re.compile(r"(?:19|20)\d\d年?")
_LINKING = re.compile(
    r"(?:(?:分别|已|将|约|近|超过?|突破|达到?|共计?|合计|累计|为|是|至|到|了|不低于|不少于|同比|环比|比上年)+|"
    r"\b(?:of|to|by|at|is|was|were|are|about|nearly|over|around|some|reached|rose|fell|totalled|the|a|an|than|more|up)\b"
    r"|\s)+$",
    re.IGNORECASE,
)


def blueprint_by_rule(notes: Sequence[Note]) -> ModelBlueprint:
    """A driver for each topic, with its surest notes; an `association` between two that share sources or words.

    Metrics are figures with a unit, named by the words before them in their sentence. Scenarios are not for rules.
    """
    drivers = list(_drivers(notes))[:MOST_DRIVERS]
    return ModelBlueprint(
        model_type=MODEL_TYPES[0],
        core_drivers=drivers,
        relationships=_relationships(drivers, notes),
        metrics=list(_metrics(notes))[:_MOST_METRICS],
    )


def _drivers(notes: Sequence[Note]) -> Iterator[Driver]:
    topics: dict[str, list[int]] = {}
    for place, note in enumerate(notes):
        topics.setdefault(note.topic, []).append(place)
    for topic, places in topics.items():
        refs = sorted(places, key=lambda place: -mean_of([place], notes))[:_MOST_REFS]
        yield Driver(name=topic, description=first_sentence(notes[refs[0]]), evidence_refs=refs)


def _relationships(drivers: Sequence[Driver], notes: Sequence[Note]) -> list[Relationship]:
    """The pairs that have most in common, the strongest first."""
    hosts = {one.name: {registrable_host(notes[ref].source_url) for ref in one.evidence_refs} for one in drivers}
    words = {one.name: words_of("\n".join(notes[ref].summary for ref in one.evidence_refs)) for one in drivers}
    found: list[tuple[float, Relationship]] = []
    for start, end in combinations(drivers, 2):
        sources, nearness = len(hosts[start.name] & hosts[end.name]), likeness(words[start.name], words[end.name])
        if sources or nearness >= _ALIKE:
            found.append((sources + nearness, relationship(start, end, notes, ASSOCIATION)))
    found.sort(key=lambda one: -one[0])
    return [one for _, one in found[:_MOST_RELATIONSHIPS]]


def _metrics(notes: Sequence[Note]) -> Iterator[Metric]:
    seen: set[str] = set()
    for evidence in (one for note in notes for one in note.evidence):
        for match in _FIGURE.finditer(evidence.quote):
            name = _named(evidence.quote[: match.start()])
            is_read = not missing_from(match[0], [evidence.quote])
            if name and is_read and match[0] not in seen:
                seen.add(match[0])
                yield _metric(name, match, evidence)


def _metric(name: str, match: re.Match[str], evidence: Evidence) -> Metric:
    estimate = float(match["number"].replace(",", ""))
    return Metric(name=name, estimate=estimate, unit=match["unit"], confidence=evidence.confidence)


def _named(before: str) -> str:
    """The words of the last clause before a figure; '' where they are too few or hold a figure, but for a year."""
    clause = _LINKING.sub("", _CLAUSE_END.split(before)[-1]).strip()
    if re.search(r"\d", _YEAR.sub("", clause)) or len(clause) < LEAST_CHARS // 2:
        return ""
    return clause if len(clause) <= _NAME_CHARS else ""
