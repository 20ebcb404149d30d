"""What code adds to a report: the model of the topic, metrics, a timeline, the sources. Only what the notes carry."""

from collections.abc import Sequence
from dataclasses import dataclass

from monitor.dates import find_dates
from monitor.exports.document import format_link_text, sanitize_link_target
from monitor.exports.graph import GraphEdge, GraphNode, render_graph
from monitor.extract.sentences import WEB_ADDRESS, split_sentences
from monitor.i18n.catalogue import get_words
from monitor.llm.prompts import flatten_untrusted_text
from monitor.research.editing import DraftEditor
from monitor.research.findings import NoteBasis
from monitor.research.judging import state_relationship
from monitor.research.shapes import Disagreement, Driver, Metric, ModelBlueprint, Relationship, ResearchNote, Scenario
from monitor.research.sheet import escape_link_text, escape_markdown
from monitor.verify.citations import CitedSentence, has_particulars
from monitor.verify.figures import fold_width
from monitor.verify.instructions import is_prompt_injection
from monitor.vocabulary import Verdict

MIN_DATED_NOTES = 3
MAX_FACTS = 12
_MAX_FACT_CHARS = 160


@dataclass(frozen=True)
class DatedFact:
    """What the note of that number, from 1, says of a day or month."""

    written: str
    text: str
    number: int
    day: tuple[int, int, int]


def build_timeline(notes: Sequence[ResearchNote]) -> list[DatedFact]:
    """Return the sentences of the notes that say year and month, by their first such date; each sentence once.

    Nothing where fewer than three notes have one: that is no course of events.
    """
    facts: dict[str, DatedFact] = {}
    for number, note in enumerate(notes, start=1):
        for sentence in split_sentences(note.summary):
            dates = (date for date in find_dates(fold_width(sentence)) if date.year is not None)
            date = next((date for date in dates if date.month is not None), None)
            if date is not None and len(sentence) <= _MAX_FACT_CHARS:
                day = (date.year or 0, date.month or 0, date.day or 0)
                facts.setdefault(sentence, DatedFact(date.written, sentence, number, day))
    if len({fact.number for fact in facts.values()}) < MIN_DATED_NOTES:
        return []
    return sorted(facts.values(), key=lambda fact: (fact.day, fact.number))[-MAX_FACTS:]


ASSOCIATION = "association"
"""The type of a relationship that has no direction."""

APPENDIX_WORDS = "report_appendix"
"""The vocabulary of what code says in a report."""


def translate_relationship_type(kind: str, language: str) -> str:
    """Return a relationship's type in a language; an unknown one stays as it is."""
    return get_words(language, "relationship").get(kind.lower(), kind) if language == "zh" else kind.replace("_", " ")


def draw_blueprint(blueprint: ModelBlueprint, *, title: str, language: str) -> str:
    """Return the blueprint's graph as SVG; empty without relationships, because boxes alone are a list."""
    if not blueprint.relationships:
        return ""
    nodes = [GraphNode(driver.name, driver.description) for driver in blueprint.core_drivers]
    edges = [
        GraphEdge(
            relationship.from_,
            relationship.to,
            translate_relationship_type(relationship.type, language),
            is_directed=relationship.type != ASSOCIATION,
        )
        for relationship in blueprint.relationships
    ]
    return render_graph(nodes, edges, title=title)


_MAX_CITATIONS_PER_CLAIM = 2


class Appendix:
    """Writes behind an edited draft; what may not stand is left out and counted in the editor's `refused`."""

    def __init__(self, editor: DraftEditor, *, language: str) -> None:
        self._editor = editor
        self._judge = editor.judge
        self._writer = editor.writer
        self._language = language
        self._words = get_words(language, APPENDIX_WORDS)

    async def write_model(self, blueprint: ModelBlueprint) -> None:
        """Write drivers and relationships with their notes, scenarios marked as such, metrics as a table."""
        self._writer.queue_heading(2, self._words["model"])
        shown = {driver.name: driver for driver in blueprint.core_drivers if await self._write_driver(driver)}
        for relation in blueprint.relationships:
            ends = [shown[name] for name in (relation.from_, relation.to) if name in shown]
            if len(ends) == 2:
                await self._write_relation(relation, ends[0], ends[1])
        self._writer.queue_heading(2, self._words["scenarios"])
        for scenario in blueprint.scenarios:
            await self._write_scenario(scenario)
        self._writer.queue_heading(2, self._words["metrics"])
        for metric in blueprint.metrics:
            await self._write_metric(metric)

    async def write_disagreements(self, disagreements: Sequence[Disagreement]) -> None:
        """Write the values on which sources disagree, one below the other, each with its source."""
        self._writer.queue_heading(2, self._words["disagreements"])
        head = tuple(self._words[name] for name in ("metric", "period", "value"))
        for disagreement in disagreements:
            for value in disagreement.values:
                cells = (disagreement.metric, disagreement.period, value.value)
                await self._writer.write_row(head, cells, (value.note_index + 1,))

    async def write_timeline(self) -> None:
        self._writer.queue_heading(2, self._words["timeline"])
        for fact in build_timeline(self._judge.notes):
            verdict = await self._judge.judge_row(CitedSentence(fact.text, (fact.number,)))
            if not verdict.fault:
                head = (self._words["date"], self._words["event"])
                numbers = await self._judge.prefer_cited_notes(verdict, self._writer.cited_notes)
                await self._writer.write_row(head, (fact.written, verdict.text.rstrip("。.")), numbers)

    async def write_sources(self, bases: Sequence[NoteBasis]) -> None:
        """Write the cited pages: the numbers of their notes as sources, title, address, host and date."""
        self._writer.queue_heading(2, self._words["sources"])
        pages: dict[str, list[int]] = {}
        for place, number in enumerate(self._writer.cited_notes):
            pages.setdefault(bases[number - 1].url, []).append(place)
        for url, places in pages.items():
            basis = bases[self._writer.cited_notes[places[0]] - 1]
            title, target = escape_link_text(format_link_text(basis.title or basis.host)), sanitize_link_target(url)
            target = target.replace("(", "%28").replace(")", "%29") if target else target
            linked = f"[{title}]({target})" if target else title
            about = ", ".join(filter(None, (basis.describe_origin(self._language), str(basis.published_on or ""))))
            numbers = " ".join(f"[{place + 1}]" for place in places)
            await self._writer.write_line(f"- {numbers} {linked}{f' — {about}' if about else ''}")

    async def _write_relation(self, relation: Relationship, start: Driver, end: Driver) -> None:
        """Write a relation; one that no page states is marked as inferred from the notes of its ends."""
        kind = translate_relationship_type(flatten_untrusted_text(relation.type), self._language)
        arrow = "↔" if relation.type == ASSOCIATION else "→"
        names = {"start": flatten_untrusted_text(start.name), "end": flatten_untrusted_text(end.name)}
        text = self._words["relation"].format(**names, arrow=arrow, type=kind)
        numbers = tuple(dict.fromkeys(side.evidence_refs[0] + 1 for side in (start, end)))
        refs = tuple(dict.fromkeys(ref + 1 for side in (start, end) for ref in side.evidence_refs))
        stated = state_relationship(names["start"], names["end"], relation.type, self._language)
        verdict = await self._judge.judge_row(CitedSentence(stated, refs))
        if verdict.judgement is None or verdict.judgement.verdict is Verdict.CONTRADICTED:
            self._editor.refused["relationships"] += 1
            return
        mark = "" if verdict.is_supported else self._words["inferred"]
        await self._writer.write_sentence(text, numbers, line=text, is_item=True, mark=mark)

    async def _write_driver(self, driver: Driver) -> bool:
        """Write a driver with its description, citing in each sentence; return False where no sentence may stand."""
        refs = tuple(ref + 1 for ref in driver.evidence_refs)
        name, is_written = flatten_untrusted_text(driver.name), False
        if has_particulars(name) and not await self._judge.find_supporting_notes(name):
            self._editor.refused["figures"] += 1
            return False
        for sentence in split_sentences(flatten_untrusted_text(driver.description)):
            verdict = await self._judge.judge_row(CitedSentence(sentence, refs))
            written = await self._editor.write_verdict(
                verdict,
                line=("driver", driver.name),
                is_item=True,
                name="" if is_written else f"{name}{self._words['colon']}",
            )
            is_written = is_written or written
        return is_written

    async def _write_scenario(self, scenario: Scenario) -> None:
        name = await self._format_supposition(scenario.name)
        phrases = [
            self._words["and"].join(filter(None, [await self._format_supposition(text) for text in texts]))
            for texts in (scenario.assumptions, scenario.outcomes)
        ]
        if name and any(phrases):
            assumptions, outcomes = (text or self._words["none"] for text in phrases)
            text = self._words["scenario"].format(name=name, assumptions=assumptions, outcomes=outcomes)
            await self._writer.write_blockquote(text)

    async def _format_supposition(self, text: str) -> str:
        """Return a phrase of a scenario with its citations; '' where it may not be said."""
        clean = flatten_untrusted_text(text).rstrip("。.；; ")
        notes = await self._judge.find_supporting_notes(clean) if has_particulars(clean) else ()
        is_sound = bool(clean) and not WEB_ADDRESS.search(clean) and not is_prompt_injection(clean)
        if not is_sound or (has_particulars(clean) and not notes):
            self._editor.refused["scenarios"] += 1
            return ""
        return escape_markdown(clean) + await self._writer.cite(self._select_citations(notes))

    async def _write_metric(self, metric: Metric) -> None:
        name, unit = flatten_untrusted_text(metric.name), flatten_untrusted_text(metric.unit)
        number = f"{metric.estimate:.6f}".rstrip("0").rstrip(".")
        value = f"{number}{' ' if unit[:1].isalpha() and unit[:1].isascii() else ''}{unit}"
        text = f"{name} {value}"
        cited = self._select_citations(await self._judge.find_supporting_notes(text))
        verdict = await self._judge.judge_row(CitedSentence(text, cited))
        if verdict.fault:
            self._editor.refused["metrics"] += 1
        else:
            await self._writer.write_row((self._words["metric"], self._words["value"]), (name, value), verdict.numbers)

    def _select_citations(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """Return two of these notes, of different pages, those that the report cites already first."""
        cited = self._writer.cited_notes
        in_order = sorted(numbers, key=lambda number: cited.index(number) if number in cited else len(cited) + number)
        by_page = {self._judge.notes[number - 1].source_url: number for number in reversed(in_order)}
        return tuple(number for number in in_order if number in by_page.values())[:_MAX_CITATIONS_PER_CLAIM]
