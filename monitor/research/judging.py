"""Judges what a research says: a sentence by the pages that it cites, an assessment by the findings that it rests on.

Code judges first. What it leaves open is put to the second reader where a model is set, many sentences in one call.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Self

from monitor.extract.sentences import WEB_ADDRESS
from monitor.i18n.catalogue import get_words
from monitor.i18n.message import Message
from monitor.research.dependencies import ResearchDependencies
from monitor.research.prompts import RESEARCH_PROMPTS
from monitor.research.quotes import MIN_WORD_OVERLAP, is_supported_by_quotes
from monitor.research.shapes import JudgedStatement, ResearchNote, StatementReason, list_quotes
from monitor.verify.citations import (
    CITATION,
    MAX_SENTENCE_CHARS,
    MIN_SENTENCE_CHARS,
    CitedSentence,
    find_missing_particulars,
)
from monitor.verify.echoes import EchoDetector
from monitor.verify.instructions import is_prompt_injection, list_safe_lines
from monitor.verify.judge import StatementJudge
from monitor.verify.names import NameIndex, find_names
from monitor.verify.prose import compute_overlap, extract_words, is_chinese
from monitor.verify.second_reader import review_statements
from monitor.verify.statements import Judgement, Reason, SourceText, StatementCounts
from monitor.vocabulary import JudgedBy, ReasonCode, Verdict

_LINK = re.compile(r"\]\s?\(")
_MAX_HEADING_CHARS = 80
_PARTICULARS = frozenset({ReasonCode.NUMBER, ReasonCode.DATE, ReasonCode.UNIT, ReasonCode.QUOTE})

get_statement_judge = lru_cache(maxsize=64)(StatementJudge)
"""Return the judge of these pages, given as a tuple, which are read once."""


@dataclass(frozen=True)
class SentenceVerdict:
    """A sentence without its citations, the numbers of the sources that it rests on, and the kind of its `fault`.

    Without a `judgement` it was refused unread, for an address, an order to a model, or for citing nothing.
    `stray_citations` counts citations of nothing that were taken out of it.
    """

    text: str
    numbers: tuple[int, ...] = ()
    fault: str = ""
    judgement: Judgement | None = None
    stray_citations: int = 0

    @property
    def is_open(self) -> bool:
        return self.judgement is not None and self.judgement.is_open

    @property
    def is_supported(self) -> bool:
        return not self.fault and self.judgement is not None and self.judgement.verdict is Verdict.SUPPORTED

    def settle(self, judgement: Judgement) -> Self:
        """Return the verdict as a judgement has it."""
        return replace(self, judgement=judgement, fault=name_fault(judgement))


def name_fault(judgement: Judgement) -> str:
    """Return the kind of fault under which a refused statement is counted; '' for one that is kept."""
    if judgement.verdict.is_kept:
        return ""
    codes = {reason.code for reason in judgement.reasons}
    is_particular = judgement.verdict is Verdict.UNSUPPORTED and bool(codes) and codes <= _PARTICULARS
    return "figures" if is_particular else str(judgement.verdict)


def list_settled(verdicts: Sequence[SentenceVerdict]) -> dict[str, Judgement]:
    """Return what the second reader settled, by its sentences."""
    judged = ((verdict.text, verdict.judgement) for verdict in verdicts)
    return {text: judgement for text, judgement in judged if judgement and judgement.by is JudgedBy.MODEL}


def list_reasons(verdicts: Sequence[SentenceVerdict]) -> list[Message]:
    """Return why sentences were refused, each reason once."""
    refused = (verdict.judgement for verdict in verdicts if verdict.fault and verdict.judgement)
    reasons = {str(reason.message): reason.message for judgement in refused for reason in judgement.reasons}
    return list(reasons.values())


def build_statement(
    text: str, judgement: Judgement, *, section: str, sources: Sequence[int], is_assessment: bool = False
) -> JudgedStatement:
    """Return a statement as it is shown; an assessment that no page bears out is unchecked."""
    is_checked = judgement.verdict is Verdict.SUPPORTED or not is_assessment
    reasons = [StatementReason(code=reason.code, args=dict(reason.args)) for reason in judgement.reasons]
    return JudgedStatement(
        text=text,
        section=section,
        sources=list(sources),
        is_assessment=is_assessment,
        verdict=judgement.verdict if is_checked else Verdict.UNCHECKED,
        by=judgement.by,
        passage=judgement.passage,
        reasons=reasons if is_checked else [],
    )


def state_relationship(start: str, end: str, kind: str, language: str) -> str:
    """Return a relationship of a blueprint as a sentence, which pages may bear out or contradict."""
    verb = get_words(language, "relationship").get(kind.lower(), kind.replace("_", " "))
    return f"{start}{verb}{end}。" if language == "zh" else f"{start} {verb} {end}."


def count_dropped(refused: Mapping[str, int]) -> StatementCounts:
    """Return the statements among what was refused; one that names no source is unsupported."""
    unsupported = sum(refused.get(kind, 0) for kind in ("unsupported", "figures", "uncited"))
    return StatementCounts(contradicted=refused.get("contradicted", 0), unsupported=unsupported)


@dataclass(frozen=True)
class CitedJudgement:
    """A judgement, and the numbers of the sources that bear the statement; of those that do not refute it if none does.

    Where all refute it, these are all.
    """

    judgement: Judgement
    numbers: tuple[int, ...]


def judge_citations(text: str, sources: Mapping[int, SourceText]) -> CitedJudgement:
    """Judge a statement by the sources that it cites, at least one: by each alone, else by all together.

    One that repeats the wording of a prompt says nothing of any page.
    """
    if echoed := _get_echo_detector().find(text):
        echo = Reason(code=ReasonCode.ECHO, args={"said": echoed})
        return CitedJudgement(Judgement(verdict=Verdict.UNSUPPORTED, reasons=(echo,)), tuple(sources))
    alone = {number: get_statement_judge((source,)).judge(text) for number, source in sources.items()}
    bearing = [number for number, judgement in alone.items() if judgement.verdict is Verdict.SUPPORTED]
    if bearing:
        best = min((alone[number] for number in bearing), key=lambda judgement: judgement.is_open)
        return CitedJudgement(best, tuple(bearing))
    whole = next(iter(alone.values()))
    if len(sources) > 1:
        whole = _judge_together(text, sources.values())
        if whole.verdict is Verdict.SUPPORTED:
            return CitedJudgement(whole, _select_needed(text, sources))
    against = [judgement for judgement in alone.values() if judgement.verdict is Verdict.CONTRADICTED]
    possible = [number for number, judgement in alone.items() if judgement.verdict.is_kept or judgement.is_open]
    judgement = _refuse_unrelated(text, min([*against, whole], key=_rank), sources.values())
    return CitedJudgement(judgement, tuple(possible or sources))


@cache
def _get_echo_detector() -> EchoDetector:
    return EchoDetector([prompt.text for prompt in RESEARCH_PROMPTS], title="", text="")


def _judge_together(text: str, sources: Iterable[SourceText]) -> Judgement:
    """Judge a statement by some pages read as one, for what no page says alone."""
    pages = list(sources)
    joined = SourceText(text="\n".join(page.text for page in pages), title="\n".join(page.title for page in pages))
    return get_statement_judge((joined,)).judge(text)


def _refuse_unrelated(text: str, judgement: Judgement, sources: Iterable[SourceText]) -> Judgement:
    """Return an unchecked statement as unsupported where pages of its language have hardly a word of it."""
    page = "\n".join(f"{source.title}\n{source.text}" for source in sources)
    words = extract_words(text)
    if judgement.verdict is not Verdict.UNCHECKED or not words or is_chinese(text) != is_chinese(page):
        return judgement
    if compute_overlap(words, extract_words(page)) >= MIN_WORD_OVERLAP:
        return judgement
    return judgement.model_copy(update={"verdict": Verdict.UNSUPPORTED})


def _rank(judgement: Judgement) -> bool:
    return judgement.verdict is not Verdict.CONTRADICTED


def _select_needed(text: str, sources: Mapping[int, SourceText]) -> tuple[int, ...]:
    """Return the sources that support a text together, without those that the others do not need."""
    needed = dict(sources)
    for number in reversed(list(sources)):
        others = {other: source for other, source in needed.items() if other != number}
        if others and _judge_together(text, others.values()).verdict is Verdict.SUPPORTED:
            needed = others
    return tuple(needed)


async def review_verdicts(
    deps: ResearchDependencies, verdicts: Sequence[SentenceVerdict], *, place: str
) -> list[SentenceVerdict]:
    """Put what code left open to the second reader, in one call; without a model code's verdicts stand."""
    judged = [(number, verdict.text, verdict.judgement) for number, verdict in enumerate(verdicts) if verdict.judgement]
    if deps.model is None or not any(judgement.is_open for _, _, judgement in judged):
        return list(verdicts)
    reviewed = await review_statements(
        deps.model,
        [text for _, text, _ in judged],
        [judgement for _, _, judgement in judged],
        place=place,
        language=deps.language,
        prompts=deps.prompts,
    )
    settled = {number: judgement for (number, _, _), judgement in zip(judged, reviewed, strict=True)}
    return [
        verdict.settle(settled[number]) if number in settled and settled[number] is not verdict.judgement else verdict
        for number, verdict in enumerate(verdicts)
    ]


ASSESSMENT_HEADING = re.compile(
    r"[\W\d_一二三四五六七八九十]*(?:(?:综合|总体)?(?:评估|研判|评析)(?:与建议|和建议)?|分析与建议|对策建议"
    r"|(?:our\s)?assessment(?:\sand\srecommendations?)?|analysis\sand\srecommendations?|recommendations?)\W*",
    re.IGNORECASE,
)
"""A heading under which a report assesses, unless its plan has a section of that name."""

_ASSESSMENT_LABEL = re.compile(
    r"^(?:评估|研判|分析|判断|建议|assessment|analysis|recommendation)\s?[:：]\s*", re.IGNORECASE
)
_ANALYSIS = re.compile(
    r"意味着|由此|据此|因此|可见|说明|表明|预示|有望|或将|可能|应(?:当|该)?(?:尽快|及早|提前|密切|重点|关注|考虑|评估)"
    r"|(?:需要?|须|宜)(?:尽快|及早|提前|密切|重点|关注|考虑|评估|[^，。]{0,8}准备)|建议|我们认为|值得"
    r"|\b(?:this|which|it|these)\s(?:means?|impl(?:y|ies)|suggests?|indicates?)\b|\bthis\sis\slikely\b"
    r"|\bwe\s(?:recommend|expect|believe|suggest|advise)\b|\b(?:is|are)\s(?:un)?likely\sto\b|\bin\sour\sview\b"
    r"|\bshould\s(?:consider|review|prepare|monitor|assess|plan|watch)\b|\b(?:therefore|thus|hence)\b",
    re.IGNORECASE,
)
_SOFT_REASONS = frozenset({ReasonCode.BOUND, ReasonCode.MODALITY, ReasonCode.QUANTIFIER, ReasonCode.ATTRIBUTION})
"""What an assessment may see otherwise than its sources: it concludes from a bound, and says what is to be done."""

_BEFORE_NAME = re.compile(r"^.*(?:建议|关注|学习|借鉴|参照|要求|提醒|意味着|对于|以及|需要?|应当?)")
_KIND_OF_BODY = re.compile(
    r"(?:相关|有关|各级?|该|其|本|地方|监管|主管|行业|中央|国有|大型|中小|上市|发电|电力|能源|保险|金融|科技|控股|证券|电网|投资|股份|子|母)*"
    r"(?:集团|公司|企业|部门|机构|银行|协会|政府|董事会|监事会|委员会|单位|当局)*"
)
MAX_PAGE_CHARS = 30_000


def build_note_sources(
    notes: Sequence[ResearchNote], pages: Mapping[str, SourceText] | None = None
) -> list[SourceText]:
    """Return for each note what a sentence that cites it may rest on: its page where that is kept, and what is quoted.

    `pages` are the kept pages by url. Notes of one page have one source.
    """
    quotes: dict[str, list[str]] = {}
    for note in notes:
        quotes.setdefault(note.source_url, []).extend(list_quotes(note))
    by_url = {}
    for url, own in quotes.items():
        page = (pages or {}).get(url, SourceText(text=""))
        lines = dict.fromkeys([*own, *list_safe_lines(page.text[:MAX_PAGE_CHARS])])
        by_url[url] = replace(page, text="\n".join(lines))
    return [by_url[note.source_url] for note in notes]


class SentenceJudge:
    """Judges the sentences of a report by the notes that they cite; `sources` are what these rest on, in their order.

    A page is one source however many notes cite it. `settled` are verdicts of the second reader by their sentences.
    """

    def __init__(
        self,
        notes: Sequence[ResearchNote],
        *,
        query: str,
        sources: Sequence[SourceText] = (),
        planned_titles: Sequence[str] = (),
        settled: Mapping[str, Judgement] | None = None,
    ) -> None:
        self.notes = notes
        self._quotes = [list_quotes(note) for note in notes]
        self._sources = list(sources) or build_note_sources(notes)
        self._all_quotes = [query, *(quote for quotes in self._quotes for quote in quotes)]
        self._planned_titles = frozenset(planned_titles)
        self._settled = dict(settled or {})

    def judge_sentence(self, cited: CitedSentence) -> SentenceVerdict:
        """Accept a sentence where the pages of the notes that it cites bear it; it then cites those notes alone."""
        verdict = self.judge_row(cited)
        if not verdict.fault and not MIN_SENTENCE_CHARS <= len(verdict.text) <= MAX_SENTENCE_CHARS:
            return replace(verdict, fault="uncited", judgement=None)
        return verdict

    def judge_sentences(self, cited: Sequence[CitedSentence]) -> list[SentenceVerdict]:
        return [self.judge_sentence(sentence) for sentence in cited]

    def judge_row(self, cited: CitedSentence) -> SentenceVerdict:
        """Judge a table row or list item in the same way, except that its length is free."""
        text = CITATION.sub("", cited.text).strip()
        stray = len(CITATION.findall(cited.text))
        if WEB_ADDRESS.search(text) or _LINK.search(text):
            return SentenceVerdict(text, fault="urls", stray_citations=stray)
        if not cited.numbers or is_prompt_injection(text):
            return SentenceVerdict(text, fault="uncited", stray_citations=stray)
        judged = judge_citations(text, self._select_sources(text, cited.numbers))
        verdict = SentenceVerdict(text, judged.numbers, stray_citations=stray)
        return verdict.settle(self._settled.get(text, judged.judgement))

    def find_heading_fault(self, text: str) -> str:
        """Return the kind of a heading's fault: a figure of neither question nor notes, or what a note contradicts."""
        if WEB_ADDRESS.search(text) or _LINK.search(text):
            return "urls"
        if not text or len(text) > _MAX_HEADING_CHARS or is_prompt_injection(text):
            return "uncited"
        missing = "".join(find_missing_particulars(text, self._all_quotes))
        if any(char.isdigit() for char in missing):
            return "figures"
        if text in self._planned_titles or not self.notes:
            return ""
        quotes = tuple(SourceText(text=quote) for quote in self._all_quotes)
        is_contradicted = get_statement_judge(quotes).judge(text).verdict is Verdict.CONTRADICTED
        return str(Verdict.CONTRADICTED) if is_contradicted else ""

    def is_analysis(self, verdict: SentenceVerdict) -> bool:
        """Return whether a sentence that no page bears is no false finding, but says what follows from one."""
        return may_be_analysis(verdict) and not self.find_assessment_fault(verdict, verdict.numbers)

    def find_assessment_fault(self, verdict: SentenceVerdict, grounds: Collection[int]) -> str:
        """Return the kind of an assessment's fault; '' where it rests on one of these notes and brings no new fact.

        A new fact is a figure, date, document number or name that the sources it cites lack, or what they contradict.
        """
        judgement = verdict.judgement
        if judgement is None:
            return verdict.fault
        urls = {self.notes[number - 1].source_url for number in grounds}
        if not any(self.notes[number - 1].source_url in urls for number in verdict.numbers):
            return "assessment"
        codes = {reason.code for reason in judgement.reasons}
        is_soft = bool(codes) and codes <= _SOFT_REASONS and bool(_ANALYSIS.search(verdict.text))
        if judgement.verdict is Verdict.CONTRADICTED and not is_soft:
            return str(Verdict.CONTRADICTED)
        sources = self._select_sources(verdict.text, verdict.numbers).values()
        texts = [f"{source.title}\n{source.text}" for source in sources]
        if find_missing_particulars(verdict.text, texts) or _names_someone_new(verdict.text, "\n".join(texts)):
            return "figures"
        return ""

    def find_supporting_notes(self, text: str) -> tuple[int, ...]:
        """Return all notes, from 1, whose quotes have all particulars of a text."""
        return tuple(
            number for number, quotes in enumerate(self._quotes, 1) if not find_missing_particulars(text, quotes)
        )

    def prefer_cited_notes(self, verdict: SentenceVerdict, cited: Sequence[int], name: str = "") -> tuple[int, ...]:
        """Return the notes of a sentence, each replaced by one of its page that is `cited` already and quotes it.

        The particulars of a `name` that is put before the sentence are quoted by the notes together.
        """
        numbers = []
        for number in verdict.numbers:
            url = self.notes[number - 1].source_url
            of_page = [other for other in cited if self.notes[other - 1].source_url == url]
            alike = [other for other in of_page if is_supported_by_quotes(self._quotes[other - 1], verdict.text)]
            numbers.append(number if number in cited or not alike else alike[0])
        missing = self._find_missing(name, numbers)
        for other in self.find_supporting_notes(name) if missing else ():
            if missing - self._find_missing(name, [other]):
                return tuple(dict.fromkeys([*numbers, other]))
        return tuple(dict.fromkeys(numbers))

    def _find_missing(self, text: str, numbers: Sequence[int]) -> set[str]:
        quotes = [quote for number in numbers for quote in self._quotes[number - 1]]
        return find_missing_particulars(text, quotes or [""])

    def _select_sources(self, text: str, numbers: Sequence[int]) -> dict[int, SourceText]:
        """Return the sources of these notes, each page once, under the note that quotes what bears the text."""
        by_page: dict[str, int] = {}
        for number in numbers:
            url = self.notes[number - 1].source_url
            if url not in by_page:
                of_page = [other for other, note in enumerate(self.notes, 1) if note.source_url == url]
                in_order = [*(other for other in numbers if other in of_page), *of_page]
                quoting = (other for other in in_order if is_supported_by_quotes(self._quotes[other - 1], text))
                by_page[url] = next(quoting, number)
        return {number: self._sources[number - 1] for number in by_page.values()}


def is_assessment_heading(text: str, planned_titles: Collection[str]) -> bool:
    return ASSESSMENT_HEADING.fullmatch(text) is not None and text not in planned_titles


def may_be_analysis(verdict: SentenceVerdict) -> bool:
    """Return whether a judged sentence that no page bears speaks as an analysis does."""
    is_judged = verdict.judgement is not None and not verdict.is_supported
    return is_judged and _ANALYSIS.search(verdict.text) is not None


def _names_someone_new(text: str, page: str) -> bool:
    """Return whether a text names somebody or some place that a page does not; kinds of bodies are no names."""
    index = NameIndex(page)
    names = (_BEFORE_NAME.sub("", name.text) for name in find_names(text))
    return any(name and not _KIND_OF_BODY.fullmatch(name) and index.mentions(name) is False for name in names)


def strip_assessment_label(text: str) -> str | None:
    """Return a sentence without the label that calls it an assessment; None where it has none."""
    label = _ASSESSMENT_LABEL.match(text)
    return text[label.end() :] if label else None
