"""The model of the topic: what of a model's answer rests on the notes.

No number in it is the language model's own. Confidence is computed from the notes:

    a note          the mean of its quotes' confidences
    a relationship  the lower one of its two ends, each the mean of the notes that its driver names
    a scenario      half the mean of all notes that the drivers name: it is told, not found
    a metric        that of the quote in which its figure stands
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from pydantic import JsonValue

from monitor.domain.prompts import as_material
from monitor.evidence.citing import cited_sentences, missing_from
from monitor.evidence.instructions import reads_as_instruction
from monitor.evidence.sentences import is_prose
from monitor.evidence.vocabulary import is_chinese, shared, words_of
from monitor.research.findings import quotes_of, running_text
from monitor.research.quotes import NEAR
from monitor.research.shapes import Driver, Evidence, Metric, ModelBlueprint, Note, Relationship, Scenario

MODEL_TYPES = ("causal_graph", "driver_tree", "system_dynamics", "scenario_model")
MOST_DRIVERS = 12
_MOST_SCENARIOS, _MOST_POINTS, _MOST_METRICS, _MOST_RELATIONSHIPS = 4, 6, 12, 24
_NAME_CHARS, _TEXT_CHARS = 60, 400
_SCENARIO_SHARE = 0.5
_TYPE = re.compile(r"[^\W\d_][^\W\d_ -]{0,19}")
_NUMBER = re.compile(r"\s*([-+]?\d[\d,]*(?:\.\d+)?)\s*(.{0,20})")


@dataclass
class Reading:
    """An answer as it is held against the notes; `refused` counts what was not let through, by its kind."""

    notes: Sequence[Note]
    query: str
    refused: Counter[str] = field(default_factory=Counter)

    def blueprint(self, answer: Mapping[str, JsonValue]) -> ModelBlueprint:
        """The blueprint; without drivers where none of the answer rests on a note, and then it is nothing else."""
        drivers = list(self._drivers(_objects(answer.get("coreDrivers"))))[:MOST_DRIVERS]
        if not drivers:
            return ModelBlueprint()
        model_type = answer.get("modelType")
        return ModelBlueprint(
            model_type=model_type if isinstance(model_type, str) and model_type in MODEL_TYPES else MODEL_TYPES[0],
            core_drivers=drivers,
            relationships=list(self._relationships(_objects(answer.get("relationships")), drivers))[
                :_MOST_RELATIONSHIPS
            ],
            scenarios=list(self._scenarios(_objects(answer.get("scenarios")), drivers))[:_MOST_SCENARIOS],
            metrics=list(self._metrics(_objects(answer.get("metrics"))))[:_MOST_METRICS],
        )

    def _drivers(self, told: Sequence[Mapping[str, JsonValue]]) -> Iterator[Driver]:
        names: set[str] = set()
        for one in told:
            refs = self._refs(one.get("evidenceRefs"))
            name = _cleaned(one.get("name"), _NAME_CHARS)
            quotes = [quote for ref in refs for quote in quotes_of(self.notes[ref])]
            if not name or name.casefold() in names or not refs:
                continue
            if not self._may_stand(name, quotes):
                self.refused["figures"] += 1
                continue
            names.add(name.casefold())
            description = self._description(one.get("description"), quotes) or first_sentence(self.notes[refs[0]])
            yield Driver(name=name, description=description, evidence_refs=refs)

    def _refs(self, told: JsonValue) -> list[int]:
        """The indexes of notes that there are, each once; the others are counted, and so is having none at all."""
        listed = told if isinstance(told, list) else [] if told is None else [told]
        refs = list(
            dict.fromkeys(ref for one in listed if (ref := _index(one)) is not None and 0 <= ref < len(self.notes))
        )
        self.refused["refs"] += sum((ref := _index(one)) is None or not 0 <= ref < len(self.notes) for one in listed)
        self.refused["refs"] += not listed
        return refs

    def _description(self, told: JsonValue, quotes: Sequence[str]) -> str:
        """The sentences of a description that may stand."""
        sentences = [sentence.text for sentence in cited_sentences(_cleaned(told, _TEXT_CHARS), 0)]
        kept = [one for one in sentences if self._may_stand(one, quotes)]
        self.refused["figures"] += len(sentences) - len(kept)
        return running_text(kept)

    def _may_stand(self, text: str, quotes: Sequence[str]) -> bool:
        """Whether the quotes, or the question, have every particular of a text that is no order and no address."""
        is_sound = is_prose(text) and not reads_as_instruction(text)
        return is_sound and not missing_from(text, [*quotes, self.query])

    def _relationships(
        self, told: Sequence[Mapping[str, JsonValue]], drivers: Sequence[Driver]
    ) -> Iterator[Relationship]:
        by_name = {driver.name.casefold(): driver for driver in drivers}
        pairs: set[tuple[str, str]] = set()
        for one in told:
            start, end = (by_name.get(_cleaned(one.get(key), _NAME_CHARS).casefold()) for key in ("from", "to"))
            if start is None or end is None or start is end or (start.name, end.name) in pairs:
                self.refused["relationships"] += 1
                continue
            pairs.add((start.name, end.name))
            yield relationship(start, end, self.notes, _type(one.get("type")))

    def _scenarios(self, told: Sequence[Mapping[str, JsonValue]], drivers: Sequence[Driver]) -> Iterator[Scenario]:
        quotes = [quote for note in self.notes for quote in quotes_of(note)]
        refs = [ref for driver in drivers for ref in driver.evidence_refs]
        confidence = round(_SCENARIO_SHARE * mean_of(refs, self.notes), 2)
        for one in told:
            name = _cleaned(one.get("name"), _NAME_CHARS)
            assumptions, outcomes = (self._points(one.get(key), quotes) for key in ("assumptions", "outcomes"))
            if name and self._may_stand(name, quotes) and (assumptions or outcomes):
                yield Scenario(name=name, assumptions=assumptions, outcomes=outcomes, confidence=confidence)
            else:
                self.refused["scenarios"] += 1

    def _points(self, told: JsonValue, quotes: Sequence[str]) -> list[str]:
        points = [text for one in (told if isinstance(told, list) else [told]) if (text := _cleaned(one, _TEXT_CHARS))]
        kept = [point for point in points if self._may_stand(point, quotes)]
        self.refused["scenarios"] += len(points) - len(kept)
        return list(dict.fromkeys(kept))[:_MOST_POINTS]

    def _metrics(self, told: Sequence[Mapping[str, JsonValue]]) -> Iterator[Metric]:
        seen: set[tuple[float, str]] = set()
        for one in told:
            name = _cleaned(one.get("name"), _NAME_CHARS)
            found = next((metric for figure in _figures(one) if (metric := self._metric(name, *figure))), None)
            if found is None:
                self.refused["metrics"] += 1
            elif (found.estimate, found.unit) not in seen:
                seen.add((found.estimate, found.unit))
                yield found

    def _metric(self, name: str, number: Decimal, unit: str) -> Metric | None:
        """The metric, where a quote has the figure and is about what the name says; else None."""
        written = f"{number:f}{unit}"
        for evidence in (one for note in self.notes for one in note.evidence):
            if not missing_from(written, [evidence.quote]) and self._names(name, evidence):
                return Metric(name=name, estimate=float(number), unit=unit, confidence=evidence.confidence)
        return None

    def _names(self, name: str, evidence: Evidence) -> bool:
        if not name or not self._may_stand(name, [evidence.quote]):
            return False
        is_translated = is_chinese(name) != is_chinese(evidence.quote)
        return is_translated or shared(words_of(name), words_of(evidence.quote)) >= NEAR


def relationship(start: Driver, end: Driver, notes: Sequence[Note], kind: str) -> Relationship:
    """A relationship, as sure as the less sure one of its ends."""
    confidence = min(mean_of(start.evidence_refs, notes), mean_of(end.evidence_refs, notes))
    return Relationship.model_validate({"from": start.name, "to": end.name, "type": kind, "confidence": confidence})


def first_sentence(note: Note) -> str:
    return next((sentence.text for sentence in cited_sentences(note.summary, 0)), note.summary)


def mean_of(refs: Sequence[int], notes: Sequence[Note]) -> float:
    """The mean confidence of some notes, each the mean of its quotes'; two decimals."""
    means = [sum(one.confidence for one in notes[ref].evidence) / (len(notes[ref].evidence) or 1) for ref in refs]
    return round(sum(means) / (len(means) or 1), 2)


def _objects(told: JsonValue) -> list[dict[str, JsonValue]]:
    return [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []


def _cleaned(told: JsonValue, most_chars: int) -> str:
    text = as_material(told) if isinstance(told, str) else ""
    return text if len(text) <= most_chars else ""


def _index(told: JsonValue) -> int | None:
    if isinstance(told, bool):
        return None
    if isinstance(told, str):
        match = re.fullmatch(r"\s*\[?(\d{1,4})\]?\s*", told)
        return int(match[1]) if match else None
    return int(told) if isinstance(told, int | float) and float(told).is_integer() else None


def _type(told: JsonValue) -> str:
    text = _cleaned(told, _NAME_CHARS)
    return text if _TYPE.fullmatch(text) else "influence"


def _figures(told: Mapping[str, JsonValue]) -> Iterator[tuple[Decimal, str]]:
    """A metric's figure as it is meant: a number and a unit; of a share of 0.24 in % also 24."""
    estimate, unit = told.get("estimate"), _cleaned(told.get("unit"), _NAME_CHARS)
    if isinstance(estimate, bool) or not isinstance(estimate, int | float | str):
        return
    match = _NUMBER.fullmatch(str(estimate) if not isinstance(estimate, float) else f"{Decimal(str(estimate)):f}")
    if match is None:
        return
    number, unit = Decimal(match[1].replace(",", "")), unit or match[2].strip()
    whole = number.to_integral_value()
    yield (whole if number == whole else number), unit
    if unit in ("%", "％") and abs(number) < 1:
        yield (number * 100).normalize(), unit
