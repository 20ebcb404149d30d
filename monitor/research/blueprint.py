"""The model of the topic: parsed from a model's answer and held against the notes, or made of the notes by rule."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain

from pydantic import JsonValue

from monitor.exports.document import measure_text_width
from monitor.extract.sentences import is_prose
from monitor.llm.prompts import flatten_untrusted_text
from monitor.research.findings import join_sentences
from monitor.research.judging import (
    SentenceVerdict,
    build_note_sources,
    build_statement,
    get_statement_judge,
    judge_citations,
    state_relationship,
)
from monitor.research.quotes import MIN_WORD_OVERLAP
from monitor.research.shapes import (
    Driver,
    JudgedStatement,
    Metric,
    ModelBlueprint,
    NoteEvidence,
    Relationship,
    ResearchNote,
    Scenario,
    list_quotes,
)
from monitor.research.state import SearchEntry
from monitor.urls import get_host
from monitor.verify.citations import (
    DOCUMENT_NUMBER,
    find_missing_particulars,
    fold_alphanumerics,
    parse_cited_sentences,
)
from monitor.verify.instructions import is_prompt_injection
from monitor.verify.prose import compute_overlap, extract_words, is_chinese
from monitor.verify.statements import Judgement, SourceText
from monitor.vocabulary import ReasonCode, Verdict

MODEL_TYPES = ("causal_graph", "driver_tree", "system_dynamics", "scenario_model")
MAX_DRIVERS = 12
_MAX_SCENARIOS, _MAX_POINTS, _MAX_MODEL_METRICS, _MAX_RELATIONSHIPS = 4, 6, 12, 24
_MAX_NAME_CHARS, _MAX_TEXT_CHARS = 60, 400
_SCENARIO_CONFIDENCE_FACTOR = 0.5
_TYPE = re.compile(r"[^\W\d_][^\W\d_ -]{0,19}")
_NUMBER = re.compile(r"\s*([-+]?\d[\d,]*(?:\.\d+)?)\s*(.{0,20})")


@dataclass
class BlueprintParser:
    """Checks an answer against the notes and, in their order, the `sources` that these rest on.

    `settled` are the second reader's verdicts by their sentences. `refused` counts what was rejected, by kind.
    """

    notes: Sequence[ResearchNote]
    query: str
    language: str = "zh"
    sources: Sequence[SourceText] = ()
    settled: Mapping[str, Judgement] = field(default_factory=dict)
    verdicts: list[SentenceVerdict] = field(default_factory=list)
    statements: list[JudgedStatement] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.sources = self.sources or build_note_sources(self.notes)

    def parse(self, answer: Mapping[str, JsonValue]) -> ModelBlueprint:
        """Return the blueprint; an empty one where no driver of the answer rests on a note."""
        drivers = list(self._parse_drivers(answer))[:MAX_DRIVERS]
        if not drivers:
            return ModelBlueprint()
        model_type = answer.get("modelType")
        return ModelBlueprint(
            model_type=model_type if isinstance(model_type, str) and model_type in MODEL_TYPES else MODEL_TYPES[0],
            core_drivers=drivers,
            relationships=list(self._parse_relationships(answer, drivers))[:_MAX_RELATIONSHIPS],
            scenarios=list(self._parse_scenarios(answer, drivers))[:_MAX_SCENARIOS],
            metrics=list(self._parse_metrics(answer))[:_MAX_MODEL_METRICS],
        )

    def _parse_drivers(self, answer: Mapping[str, JsonValue]) -> Iterator[Driver]:
        names: set[str] = set()
        for entry in _list_objects(answer.get("coreDrivers")):
            refs = self._parse_refs(entry.get("evidenceRefs"))
            name = _clean_text(entry.get("name"), _MAX_NAME_CHARS)
            quotes = [quote for ref in refs for quote in list_quotes(self.notes[ref])]
            if not name or name.casefold() in names or not refs:
                continue
            if not self._is_grounded(name, quotes):
                self.refused["figures"] += 1
                continue
            names.add(name.casefold())
            description = self._parse_description(entry.get("description"), name, refs)
            description = description or extract_first_sentence(self.notes[refs[0]])
            yield Driver(name=name, description=description, evidence_refs=refs)

    def _parse_refs(self, value: JsonValue) -> list[int]:
        """Return the valid indexes of notes, each once; the others are counted, and so is having none at all."""
        listed = value if isinstance(value, list) else [] if value is None else [value]
        indexes = [_parse_index(entry) for entry in listed]
        refs = [index for index in indexes if index is not None and 0 <= index < len(self.notes)]
        self.refused["refs"] += len(listed) - len(refs) if listed else 1
        return list(dict.fromkeys(refs))

    def _parse_description(self, value: JsonValue, name: str, refs: Sequence[int]) -> str:
        """Return the sentences of a description that the driver's notes bear, or that cannot be compared with them."""
        kept: list[str] = []
        for sentence in parse_cited_sentences(_clean_text(value, _MAX_TEXT_CHARS), 0):
            if not _is_sound(sentence.text):
                self.refused["figures"] += 1
                continue
            verdict = self._judge(sentence.text, refs)
            self.verdicts.append(verdict)
            if verdict.fault or verdict.judgement is None:
                self.refused[verdict.fault] += 1
                continue
            kept.append(verdict.text)
            numbers = [ref + 1 for ref in verdict.numbers]
            self.statements.append(build_statement(verdict.text, verdict.judgement, section=name, sources=numbers))
        return join_sentences(kept)

    def _judge(self, text: str, refs: Sequence[int]) -> SentenceVerdict:
        by_page = {self.notes[ref].source_url: ref for ref in reversed(refs)}
        judged = judge_citations(text, {ref: self.sources[ref] for ref in refs if ref in by_page.values()})
        return SentenceVerdict(text, judged.numbers).settle(self.settled.get(text, judged.judgement))

    def _is_grounded(self, text: str, quotes: Sequence[str]) -> bool:
        return _is_sound(text) and not find_missing_particulars(text, [*quotes, self.query])

    def _parse_relationships(self, answer: Mapping[str, JsonValue], drivers: list[Driver]) -> Iterator[Relationship]:
        by_name = {driver.name.casefold(): driver for driver in drivers}
        pairs: set[tuple[str, str]] = set()
        for entry in _list_objects(answer.get("relationships")):
            names = (_clean_text(entry.get(key), _MAX_NAME_CHARS) for key in ("from", "to"))
            start, end = (by_name.get(name.casefold()) for name in names)
            if start is None or end is None or start is end or (start.name, end.name) in pairs:
                self.refused["relationships"] += 1
                continue
            kind = _clean_text(entry.get("type"), _MAX_NAME_CHARS)
            kind = kind if _TYPE.fullmatch(kind) else "influence"
            verdict = self._judge_relationship(start, end, kind)
            if verdict.judgement is None or verdict.judgement.verdict is Verdict.CONTRADICTED:
                self.refused["relationships"] += 1
                continue
            pairs.add((start.name, end.name))
            refs = [ref + 1 for ref in verdict.numbers]
            name = f"{start.name} → {end.name}"
            self.statements.append(
                build_statement(verdict.text, verdict.judgement, section=name, sources=refs, is_assessment=True)
            )
            yield build_relationship(start, end, self.notes, kind)

    def _judge_relationship(self, start: Driver, end: Driver, kind: str) -> SentenceVerdict:
        refs = list(dict.fromkeys([*start.evidence_refs, *end.evidence_refs]))
        return self._judge(state_relationship(start.name, end.name, kind, self.language), refs)

    def _parse_scenarios(self, answer: Mapping[str, JsonValue], drivers: list[Driver]) -> Iterator[Scenario]:
        quotes = [quote for note in self.notes for quote in list_quotes(note)]
        refs = [ref for driver in drivers for ref in driver.evidence_refs]
        confidence = round(_SCENARIO_CONFIDENCE_FACTOR * compute_mean_confidence(refs, self.notes), 2)
        for entry in _list_objects(answer.get("scenarios")):
            name = _clean_text(entry.get("name"), _MAX_NAME_CHARS)
            assumptions, outcomes = (self._parse_points(entry.get(key), quotes) for key in ("assumptions", "outcomes"))
            if name and self._is_grounded(name, quotes) and (assumptions or outcomes):
                yield Scenario(name=name, assumptions=assumptions, outcomes=outcomes, confidence=confidence)
            else:
                self.refused["scenarios"] += 1

    def _parse_points(self, value: JsonValue, quotes: Sequence[str]) -> list[str]:
        texts = (_clean_text(entry, _MAX_TEXT_CHARS) for entry in (value if isinstance(value, list) else [value]))
        points = [text for text in texts if text]
        kept = [point for point in points if self._is_grounded(point, quotes)]
        self.refused["scenarios"] += len(points) - len(kept)
        return list(dict.fromkeys(kept))[:_MAX_POINTS]

    def _parse_metrics(self, answer: Mapping[str, JsonValue]) -> Iterator[Metric]:
        seen: set[tuple[float, str]] = set()
        for entry in _list_objects(answer.get("metrics")):
            name = _clean_text(entry.get("name"), _MAX_NAME_CHARS)
            found = next(filter(None, (self._find_metric(name, *figure) for figure in _parse_figures(entry))), None)
            if found is None:
                self.refused["metrics"] += 1
            elif (found.estimate, found.unit) not in seen:
                seen.add((found.estimate, found.unit))
                yield found

    def _find_metric(self, name: str, number: Decimal, unit: str) -> Metric | None:
        """Return the metric where a quote has the figure and is about what the name says; else None."""
        written = f"{number:f}{unit}"
        for evidence in chain.from_iterable(note.evidence for note in self.notes):
            has_figure = not find_missing_particulars(written, [evidence.quote])
            if has_figure and self._is_named_by_evidence(name, evidence) and not _is_misread(name + written, evidence):
                return Metric(name=name, estimate=float(number), unit=unit, confidence=evidence.confidence)
        return None

    def _is_named_by_evidence(self, name: str, evidence: NoteEvidence) -> bool:
        if not name or not self._is_grounded(name, [evidence.quote]):
            return False
        is_translated = is_chinese(name) != is_chinese(evidence.quote)
        return is_translated or compute_overlap(extract_words(name), extract_words(evidence.quote)) >= MIN_WORD_OVERLAP


def _is_misread(text: str, evidence: NoteEvidence) -> bool:
    """Return whether a quote contradicts a metric; that it gives a bound, where the metric is a number, does not."""
    judgement = get_statement_judge((SourceText(text=evidence.quote),)).judge(text)
    codes = {reason.code for reason in judgement.reasons}
    return judgement.verdict is Verdict.CONTRADICTED and codes != {ReasonCode.BOUND}


def build_relationship(start: Driver, end: Driver, notes: Sequence[ResearchNote], kind: str) -> Relationship:
    confidence = min(compute_mean_confidence(driver.evidence_refs, notes) for driver in (start, end))
    return Relationship.model_validate({"from": start.name, "to": end.name, "type": kind, "confidence": confidence})


def extract_first_sentence(note: ResearchNote) -> str:
    return next((sentence.text for sentence in parse_cited_sentences(note.summary, 0)), note.summary)


def compute_mean_confidence(refs: Sequence[int], notes: Sequence[ResearchNote]) -> float:
    """Return the mean confidence of some notes, each the mean of its quotes'; two decimals."""
    quotes = [notes[ref].evidence for ref in refs]
    means = [sum(quote.confidence for quote in evidence) / (len(evidence) or 1) for evidence in quotes]
    return round(sum(means) / (len(means) or 1), 2)


def _list_objects(value: JsonValue) -> list[dict[str, JsonValue]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _clean_text(value: JsonValue, max_chars: int) -> str:
    text = flatten_untrusted_text(value) if isinstance(value, str) else ""
    return text if len(text) <= max_chars else ""


def _parse_index(value: JsonValue) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        match = re.fullmatch(r"\s*\[?(\d{1,4})\]?\s*", value)
        return int(match[1]) if match else None
    return int(value) if isinstance(value, int | float) and float(value).is_integer() else None


def _parse_figures(entry: Mapping[str, JsonValue]) -> Iterator[tuple[Decimal, str]]:
    """Yield a metric's number and unit; a share of 0.24 in % also as 24."""
    estimate, unit = entry.get("estimate"), _clean_text(entry.get("unit"), _MAX_NAME_CHARS)
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


REFERS_TO = "refers_to"
"""The type of a relationship: the text of the one names the other."""

_MAX_DRIVERS = 8
_MAX_REFS = 5
_MAX_NAME_LETTERS = 60
_MAX_METRICS = 6
_MAX_METRIC_NAME_CHARS = 40
_MIN_CLAUSE_CHARS = 4
_MIN_NAME_CHARS = 6  # a shorter name stands in many texts by accident
_HEAD_CHARS = 200
_MAX_NUMBER_LINE_CHARS = 24
_NUMERALS = re.compile(r"[\d.,〇零一二两三四五六七八九十百千万亿]+$")
_PARENTHESIS = re.compile(r"[（(][^（）()]*[）)]")
_YEARS = re.compile(r"(?:19|20)\d\d年?(?:度|底|末|初)?(?:\d{1,2}月(?:份|\d{1,2}日)?)?")
_TITLE_MARKS = re.compile(r"《([^《》]{4,})》")
_SITE_SUFFIX = re.compile(r"\s*[-_|–—｜]\s*[^-_|–—｜]{2,20}$")

_FIGURE = re.compile(
    r"(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)\s?"
    r"(?P<unit>%|个百分点|[万亿]?(?:元|美元|欧元|千瓦时|千瓦|吨|平方公里|公里|户|家|人|台|辆|座|项)|[GMTk]Wh?\b|"
    r"(?:million|billion|trillion)(?:\s(?:euros?|dollars?|tonnes?|yuan))?|per ?cent\b|tonnes?\b|euros?\b|dollars?\b)"
)

_CLAUSE_END = re.compile(r"[，,；;。！？!?：:、（(]\s*")
_DATE = re.compile(r"(?:19|20)\d\d年?|\d{1,2}[月日]")
_MAX_DATE_CHARS = 14

_TRAILING_LINK_WORDS = re.compile(
    r"(?:(?:分别|已|将|约|近|超过?|突破|达到?|共计?|合计|累计|为|是|至|到|了|不低于|不少于|同比|环比|比上年)+|"
    r"\b(?:of|to|by|at|is|was|were|are|about|nearly|over|around|some|reached|rose|fell|totalled|the|a|an|than|more|up)\b"
    r"|\s)+$",
    re.IGNORECASE,
)


def build_blueprint_by_rule(
    notes: Sequence[ResearchNote], query: str, pages: Mapping[str, SearchEntry]
) -> ModelBlueprint:
    """Return a driver for each of the surest documents, an arrow where the text of one names another.

    `pages` are the results by url. A text names another document by its title or by the number that stands at its head.
    Metrics are figures with a unit, named by the words before them in their sentence where these are about the question
    or the topic. Scenarios are not for rules.
    """
    by_url: dict[str, list[int]] = {}
    for place, note in enumerate(notes):
        by_url.setdefault(note.source_url, []).append(place)
    surest = sorted(by_url, key=lambda url: -compute_mean_confidence(by_url[url], notes))[:_MAX_DRIVERS]
    drivers: dict[str, Driver] = {}
    for url in surest:
        taken = {driver.name for driver in drivers.values()}
        drivers[url] = _build_driver(by_url[url][:_MAX_REFS], notes, pages.get(url), taken)
    return ModelBlueprint(
        model_type=MODEL_TYPES[0],
        core_drivers=list(drivers.values()),
        relationships=list(_find_relationships(drivers, notes, pages)),
        metrics=list(_find_metrics(notes, query))[:_MAX_METRICS],
    )


def _build_driver(
    refs: Sequence[int], notes: Sequence[ResearchNote], page: SearchEntry | None, taken: set[str]
) -> Driver:
    quotes = [quote for ref in refs for quote in list_quotes(notes[ref])]
    first = notes[refs[0]]
    host = get_host(first.source_url)
    name = _build_driver_name(page.title if page else "", quotes) or host
    name = f"{name} ({host})" if name in taken else name
    while name in taken:
        name += "′"
    return Driver(name=name, description=extract_first_sentence(first), evidence_refs=list(refs))


def _build_driver_name(title: str, quotes: Sequence[str]) -> str:
    """Return the name in 《》 of a title, else the title without the site's name.

    A name with a figure that is not in the quotes loses its year, or ends before the figure.
    """
    titled = _TITLE_MARKS.search(title)
    own = _SITE_SUFFIX.sub("", title)
    bare = _PARENTHESIS.sub("", own)
    names = [_shorten_name(entry) for entry in (titled[1] if titled else "", own, bare, _YEARS.sub("", bare))]
    for name in names:
        if name and _is_sound(name) and not find_missing_particulars(name, quotes or [""]):
            return name
    undated = _shorten_name(_YEARS.sub("", own))
    return _cut_before_figure(undated, quotes) if _is_sound(undated) else ""


def _is_sound(text: str) -> bool:
    return is_prose(text) and not is_prompt_injection(text)


def _cut_before_figure(name: str, quotes: Sequence[str]) -> str:
    """Return a name up to a figure that is not in the quotes; '' where that is too short."""
    for end in range(len(name) - 1, _MIN_NAME_CHARS - 1, -1):
        if not find_missing_particulars(name[:end], quotes or [""]):
            begun = _NUMERALS.sub("", name[:end]).rstrip()
            return f"{begun}…" if len(begun) >= _MIN_NAME_CHARS else ""
    return ""


def _shorten_name(text: str) -> str:
    """Return a name as wide as it may be; a Latin one ends with a whole word."""
    name = re.sub(r"[《》“”]", "", flatten_untrusted_text(text))
    if measure_text_width(name) <= _MAX_NAME_LETTERS:
        return name
    while measure_text_width(name) >= _MAX_NAME_LETTERS:
        name = name[:-1]
    return f"{name[: name.rfind(' ')] if ' ' in name else name}…"


def _find_relationships(
    drivers: Mapping[str, Driver], notes: Sequence[ResearchNote], pages: Mapping[str, SearchEntry]
) -> Iterator[Relationship]:
    folded_texts = {url: fold_alphanumerics(pages[url].content) for url in drivers if url in pages}
    for url, text in folded_texts.items():
        for other in folded_texts:
            if other != url and any(name in text for name in _list_document_names(pages[other])):
                yield build_relationship(drivers[url], drivers[other], notes, REFERS_TO)


def _list_document_names(page: SearchEntry) -> Iterator[str]:
    """Yield what other texts may call a document, as folded letters: its title, the number on a line of its head."""
    titled = _TITLE_MARKS.search(page.title)
    name = fold_alphanumerics(titled[1] if titled else _SITE_SUFFIX.sub("", page.title))
    if len(name) >= _MIN_NAME_CHARS:
        yield name
    for line in (page.title, *page.content[:_HEAD_CHARS].splitlines()):
        found = DOCUMENT_NUMBER.search(line)
        if found is not None and found[1] and (line is page.title or len(line.strip()) <= _MAX_NUMBER_LINE_CHARS):
            yield fold_alphanumerics(found[0])


def _find_metrics(notes: Sequence[ResearchNote], query: str) -> Iterator[Metric]:
    seen: set[str] = set()  # figures, and names
    for note in notes:
        about = extract_words(f"{query}\n{note.topic}")
        for evidence in note.evidence:
            for match in _FIGURE.finditer(evidence.quote):
                name = _build_metric_name(evidence.quote[: match.start()])
                is_read = not find_missing_particulars(match[0], [evidence.quote])
                if extract_words(name) & about and is_read and not {match[0], name} & seen:
                    seen |= {match[0], name}
                    estimate = float(match["number"].replace(",", ""))
                    yield Metric(name=name, estimate=estimate, unit=match["unit"], confidence=evidence.confidence)


def _build_metric_name(before: str) -> str:
    """Return the last clause before a figure, with a short one before it that says when.

    Empty where it is too short or too long, or holds another figure than a date.
    """
    *others, clause = _CLAUSE_END.split(before)
    clause = _TRAILING_LINK_WORDS.sub("", clause).strip()
    when = others[-1].strip() if others else ""
    is_dated = bool(_DATE.search(when)) and len(when) <= _MAX_DATE_CHARS
    name = f"{when}{', ' if when.isascii() else '，'}{clause}" if is_dated else clause
    if re.search(r"\d", _DATE.sub("", name)) or len(clause) < _MIN_CLAUSE_CHARS:
        return ""
    return name if len(name) <= _MAX_METRIC_NAME_CHARS else ""
