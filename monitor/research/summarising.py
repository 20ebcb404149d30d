"""The text of a paragraph: written from the first results, and revised with what further searches found.

Each sentence of a model cites results in whose texts its statement is found. A revision that leaves out a sound earlier
sentence gets it back. Without a model the text is made of whole sentences of the pages, word for word.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, Field, JsonValue

from monitor.db.terms import fold_text
from monitor.errors import UsageError
from monitor.extract.sentences import split_sentences
from monitor.i18n.message import Message
from monitor.isolation.pool import IsolatedWorkFailed
from monitor.llm.answer_schemas import ANY_OBJECT
from monitor.llm.answers import extract_plain_text, parse_object
from monitor.llm.chat import ChatMessage, CompletionRequest, fit_chars
from monitor.research.findings import collect_summary, join_sentences, judge_summary
from monitor.research.judging import SentenceVerdict, list_reasons, list_settled, review_verdicts
from monitor.research.node import NodeResult, PromptNode, StateMutationNode, describe_node_fallback
from monitor.research.quotes import ProposedQuotes, get_quotable_text, is_excerpt, verify_proposed_quotes
from monitor.research.searching import extract_subjects
from monitor.research.state import ParagraphState, SearchEntry, State
from monitor.search.bundles.scoring import compute_overlap
from monitor.verify.citations import (
    CITATION,
    MAX_SENTENCE_CHARS,
    MIN_SENTENCE_CHARS,
    CitedSentence,
    append_citations,
    has_particulars,
    parse_cited_sentences,
)
from monitor.verify.prose import (
    DEPENDENT_START,
    STATEMENT_WORDS,
    STOCK_PHRASE,
    compute_dice_similarity,
    extract_words,
    is_chinese,
    iter_whole_sentences,
)
from monitor.verify.statements import Judgement
from monitor.vocabulary import Phase

GAP_MARK = "…"
"""The line between two passages that are not neighbours on the page; no quote may span it."""

_LEAD_SENTENCES = 3
_LEAD_BONUS = 2


def select_passages(text: str, wanted: str, max_chars: int) -> str:
    """Return the text itself where it is short enough, else its sentences that hold most of what is wanted.

    A sentence scores the words and pairs of characters of `wanted` that stand in it, and two more if it is among the
    first three, where pages say what they are about. Chosen sentences that are neighbours stand as they do on the page.
    """
    if len(text) <= max_chars:
        return text
    keys = extract_words(wanted)
    sentences = [
        (number, sentence) for number, line in enumerate(text.splitlines()) for sentence in split_sentences(line)
    ]
    scores = [
        sum(key in plain for key in keys) + _LEAD_BONUS * (place < _LEAD_SENTENCES)
        for place, plain in enumerate(fold_text(sentence) for _, sentence in sentences)
    ]
    chosen: set[int] = set()
    room = max_chars
    for place in sorted(range(len(sentences)), key=lambda place: (-scores[place], place)):
        needed = len(sentences[place][1]) + len(GAP_MARK) + 2
        if needed <= room:
            chosen.add(place)
            room -= needed
    return _join_passages(sentences, sorted(chosen))


def allocate_chars(lengths: Sequence[int], room: int) -> list[int]:
    """Share the room fairly: each text gets what it needs, up to the same maximum."""
    shares = [0] * len(lengths)
    left = len(lengths)
    for place in sorted(range(len(lengths)), key=lambda place: lengths[place]):
        shares[place] = min(lengths[place], room // left)
        room -= shares[place]
        left -= 1
    return shares


def _join_passages(sentences: Sequence[tuple[int, str]], chosen: Sequence[int]) -> str:
    pieces: list[str] = []
    for before, place in zip([None, *chosen], chosen, strict=False):
        line, sentence = sentences[place]
        if before is None:
            gap = f"{GAP_MARK}\n" if place else ""
        elif place != before + 1:
            gap = f"\n{GAP_MARK}\n"
        elif line != sentences[before][0]:
            gap = "\n"
        else:
            gap = " " if pieces[-1][-1:].isascii() else ""
        pieces.append(gap + sentence)
    return "".join(pieces)


MAX_SENTENCES = 6
MAX_SENTENCES_PER_PAGE = 2
_MAX_SENTENCE_WEIGHT = 160
_MIN_DUPLICATE_LIKENESS = 0.75
_SPEAKER_PREFIX = re.compile(r"^(?:[答问]|记者|[AQ])\s?[:：]\s*")
_QUESTION = re.compile(r"[?？]\W*$")
_MIN_COMMON_WORDS = {True: 2, False: 1}  # two pairs of Chinese characters, one Latin word
_MAX_GENERAL_SENTENCES = 3

_OWN_TOPIC_WEIGHT, _TOPIC_WEIGHT, _LANGUAGE_WEIGHT = 4.0, 2.0, 0.5
_RESULT_SCORE_WEIGHT, _FRESHNESS_WEIGHT, _POSITION_WEIGHT = 0.4, 0.2, 0.2
_PARTICULARS_WEIGHT, _FACT_WEIGHT, _LEANING_WEIGHT = 0.4, 0.2, -0.4


_PRONOUN_START = re.compile(
    r"^(?:其(?!他|余|次|实)|该|这|此(?!外|次|前|后)|上述|前述|二者|两者|他们?|她们?|它们?|为此|对此|据此"
    r"|(?:it|its|this|these|that|those|they|their|he|she|such|the (?:former|latter))\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class _Extract:
    """A sentence of a page; where it begins with a pronoun or leans on the one before, with that one before it."""

    number: int
    place: int
    sentences: tuple[str, ...]
    score: float
    is_own: bool
    is_general: bool

    @property
    def text(self) -> str:
        return join_sentences(self.sentences)


def build_extractive_summary(
    paragraph: ParagraphState, entries: Sequence[SearchEntry], query: str, others: Sequence[ParagraphState] = ()
) -> str:
    """Return up to six sentences, two of a page at most, with [n] before each full stop; '' where there are none.

    A sentence is a paragraph's own if it has more words of its title and content than of any other paragraph's, beside
    those of the question. It names its subject: one that begins with a pronoun comes with the sentence before it, or
    not at all. It, or the title of its page, has a word of what the question asks about. Chosen are the paragraph's own
    sentences and three of those that are nobody's: the first paragraph takes the best, the second the next, so that no
    two repeat each other. Stock phrases are used only where there is nothing else. `_score_sentences` ranks; the result
    is in the order of the pages.
    """
    found = _score_sentences(paragraph, entries, query, others)
    ranked = _drop_similar(sorted(found, key=lambda extract: (-extract.score, extract.number, extract.place)))
    general = [extract for extract in ranked if extract.is_general]
    first = _MAX_GENERAL_SENTENCES * paragraph.order
    mine = general[first : first + _MAX_GENERAL_SENTENCES] or general[:_MAX_GENERAL_SENTENCES]
    selected: list[_Extract] = []
    for extract in ranked:
        count = sum(len(chosen.sentences) for chosen in selected) + len(extract.sentences)
        of_page = sum(chosen.number == extract.number for chosen in selected)
        has_room = count <= MAX_SENTENCES and of_page < MAX_SENTENCES_PER_PAGE
        if has_room and (extract.is_own or extract in mine):
            selected.append(extract)
    selected = sorted(selected or ranked[:_MAX_GENERAL_SENTENCES], key=lambda extract: (extract.number, extract.place))
    cited = [append_citations(text, [extract.number]) for extract in selected for text in extract.sentences]
    return join_sentences(list(dict.fromkeys(cited)))


def _drop_similar(ranked: Sequence[_Extract]) -> list[_Extract]:
    distinct: list[_Extract] = []
    for extract in ranked:
        words = extract_words(extract.text)
        likeness = (compute_dice_similarity(words, extract_words(chosen.text)) for chosen in distinct)
        if max(likeness, default=0.0) < _MIN_DUPLICATE_LIKENESS:
            distinct.append(extract)
    return distinct


def _score_sentences(
    paragraph: ParagraphState, entries: Sequence[SearchEntry], query: str, others: Sequence[ParagraphState]
) -> Iterator[_Extract]:
    """Yield the candidate sentences with their scores, sums by the weights above.

    They weigh nearness to what is the paragraph's own and to its whole topic with the question (Dice's coefficients),
    the question's language, what the sentence says by itself, the result's score and freshness, and an early place.
    """
    topic = _get_topic_words(paragraph) | extract_words(query)
    own = _get_topic_words(paragraph) - extract_words(query)
    theirs = [_get_topic_words(other) - extract_words(query) for other in others if other.order != paragraph.order]
    asked = extract_words(" ".join(extract_subjects(query)))
    wants_chinese = is_chinese(query)
    for number, entry in enumerate(entries, start=1):
        is_about = bool(extract_words(entry.title) & asked) or not asked
        for place, sentences in enumerate(_list_sentences(entry)):
            text = join_sentences(sentences)
            words = extract_words(text)
            in_language = is_chinese(text) == wants_chinese
            is_answer = len(words & topic) >= _MIN_COMMON_WORDS[wants_chinese] and (is_about or bool(words & asked))
            if in_language and not is_answer:
                continue
            nearness = compute_dice_similarity(words, own)
            best = max((compute_dice_similarity(words, their) for their in theirs), default=0.0)
            score = (
                _OWN_TOPIC_WEIGHT * nearness
                + _TOPIC_WEIGHT * compute_dice_similarity(words, topic)
                + _LANGUAGE_WEIGHT * in_language
                + _score_content(text)
            )
            score += _RESULT_SCORE_WEIGHT * entry.score + _FRESHNESS_WEIGHT * entry.freshness
            score += _POSITION_WEIGHT / (1 + place)
            is_specific = STOCK_PHRASE.search(text) is None
            is_own, is_general = is_specific and 0 < nearness >= best, is_specific and not nearness and not best
            yield _Extract(number, place, sentences, score, is_own=is_own, is_general=is_general)


def _score_content(text: str) -> float:
    """Score what a sentence says by itself: figures, names, measures; less where it leans on the one before it."""
    worth = _PARTICULARS_WEIGHT * has_particulars(text) + _FACT_WEIGHT * min(len(STATEMENT_WORDS.findall(text)), 2)
    return worth + _LEANING_WEIGHT * bool(DEPENDENT_START.match(text))


def _get_topic_words(paragraph: ParagraphState) -> frozenset[str]:
    return extract_words(f"{paragraph.title}\n{paragraph.content}")


def _list_sentences(entry: SearchEntry) -> list[tuple[str, ...]]:
    """Return the whole sentences of a page that may be shown, without questions and without a leading 答：.

    One that depends on the sentence before it comes with that one, or is left out where that one cannot be shown.
    """
    page = get_quotable_text(entry).text
    letters = "".join(page.split())
    groups: list[tuple[str, ...]] = []
    before = ""
    for sentence in iter_whole_sentences(page, _MAX_SENTENCE_WEIGHT):
        text = _SPEAKER_PREFIX.sub("", sentence)
        if not _is_dependent(text):
            groups.append((text,))
        elif before and not _is_dependent(before) and "".join(f"{before}{sentence}".split()) in letters:
            groups.append((before, text))
        before = text
    return [sentences for sentences in groups if all(map(_is_tellable, sentences))]


def _is_dependent(text: str) -> bool:
    return bool(DEPENDENT_START.match(text) or _PRONOUN_START.match(text))


def _is_tellable(text: str) -> bool:
    has_length = MIN_SENTENCE_CHARS <= len(text) <= MAX_SENTENCE_CHARS
    return is_excerpt(text) and has_length and not CITATION.search(text) and not _QUESTION.search(text)


MAX_RESULTS_CHARS = 24_000
"""How much of all results together a prompt shows."""

_TEXT_KEYS = ("updated_paragraph_latest_state", "paragraph_latest_state", "answer")
_MIN_REPEATED_SHARE = 0.5
_NUMBERED_HEAD = re.compile(r"^[\[［【](\d+)[\]］】]")


class SummaryNodeInput(BaseModel):
    """The paragraph to write; `shown` are the places of the results that the model sees, `plan` is all paragraphs."""

    question: str
    paragraph: ParagraphState
    query: str
    shown: list[int]
    remark: str = ""
    plan: list[ParagraphState] = Field(default_factory=list)

    @property
    def entries(self) -> list[SearchEntry]:
        """Return all results of the paragraph; a citation [n] is the n-th of them."""
        return self.paragraph.research.search_history


class ParagraphSummary(NodeResult):
    """A paragraph's text with its citations; `quotes` are pieces of results, by place, that the model pointed out.

    `settled` are the verdicts of the second reader by their sentences, `reasons` why sentences were refused.
    """

    text: str
    settled: dict[str, Judgement] = Field(default_factory=dict)
    reasons: list[Message] = Field(default_factory=list)
    quotes: dict[int, list[str]] = Field(default_factory=dict)

    @property
    def is_usable(self) -> bool:
        return bool(self.text)


class SummaryNode(
    PromptNode[SummaryNodeInput, ParagraphSummary], StateMutationNode[SummaryNodeInput, ParagraphSummary]
):
    name: ClassVar[str]
    unsupported_failure = Message.of("research.answer_unsupported")

    def build_request(self, given: SummaryNodeInput) -> CompletionRequest:
        paragraph = given.paragraph
        place = f"{paragraph.title}: {self.name}"
        chars = fit_chars(self.deps.model, Phase.SEARCH, MAX_RESULTS_CHARS, place)
        messages = self.deps.prompt_builder.build_summary_messages(
            given.question,
            paragraph.title,
            paragraph.content,
            format_results(given, chars),
            state=paragraph.research.latest_summary,
            remark=given.remark,
        )
        return CompletionRequest(messages, Phase.SEARCH, place, schema=ANY_OBJECT)

    def build_correction(self, out: ParagraphSummary | None) -> ChatMessage:
        return self.deps.prompt_builder.build_correction_message(out.refused if out else {}, out.reasons if out else ())

    def validate_input(self, given: SummaryNodeInput) -> None:
        if not given.paragraph.title.strip():
            raise UsageError("research.title_missing")
        if not given.shown or not all(given.entries[place].content for place in given.shown):
            raise UsageError("research.results_missing")

    def process_output(self, answer: str, given: SummaryNodeInput) -> ParagraphSummary | None:
        """Return the sentences of an answer that stand as code judges them; an empty text where none does."""
        written = _extract_written_text(answer)
        if written is None:
            return None
        verdicts = judge_summary(written, given.entries, given.paragraph.research.settled)
        proposed = verify_proposed_quotes(_parse_proposed_quotes(answer), given.entries)
        return self._build_summary(verdicts, proposed, given)

    async def read_answer(self, answer: str, given: SummaryNodeInput) -> ParagraphSummary | None:
        """Do the same, and have the second reader settle what code left open, in one call."""
        written = _extract_written_text(answer)
        if written is None:
            return None
        workers, settled = self.deps.workers, given.paragraph.research.settled
        verdicts = await workers.run(judge_summary, written, given.entries, settled)
        verdicts = await review_verdicts(self.deps, verdicts, place=f"{given.paragraph.title}: {self.name}")
        proposed = await workers.run(verify_proposed_quotes, _parse_proposed_quotes(answer), given.entries)
        return self._build_summary(verdicts, proposed, given)

    async def run_by_rule(self, given: SummaryNodeInput) -> ParagraphSummary:
        asked = (given.paragraph, given.entries, given.question, given.plan)
        try:
            extracts = await self.deps.workers.run(build_extractive_summary, *asked)
        except IsolatedWorkFailed as error:
            return ParagraphSummary(text=given.paragraph.research.latest_summary, fallback=error.message)
        return ParagraphSummary(text=self._revise(extracts, given))

    def _build_summary(
        self, verdicts: Sequence[SentenceVerdict], proposed: ProposedQuotes, given: SummaryNodeInput
    ) -> ParagraphSummary:
        checked = collect_summary(verdicts)
        refused = Counter(checked.refused) + Counter({"quotes": proposed.refused})
        return ParagraphSummary(
            text=self._revise(checked.text, given) if checked.text else "",
            quotes=proposed.quotes,
            settled=list_settled(verdicts),
            reasons=list_reasons(verdicts),
            refused=dict(refused),
        )

    def mutate_state(self, out: ParagraphSummary, state: State, order: int) -> State:
        research = state.paragraphs[order].research
        research.latest_summary = out.text
        research.tokens += out.tokens
        research.refused = dict(Counter(research.refused) + Counter(out.refused))
        research.settled |= out.settled
        for place, quotes in out.quotes.items():
            entry = research.search_history[place]
            entry.quotes = list(dict.fromkeys([*entry.quotes, *quotes]))
        last = research.rounds[-1]
        last.is_summarised = True
        last.fallbacks += [describe_node_fallback(self.name, out.fallback)] if out.fallback else []
        research.reflection_iteration = last.number
        state.updated_at = self.deps.clock.now()
        return state

    def _revise(self, text: str, given: SummaryNodeInput) -> str:
        """Return the text that replaces the earlier one."""
        del given
        return text


class FirstSummaryNode(SummaryNode):
    """Writes a paragraph from its first results; by rule, sentences of theirs word for word."""

    name = "first_summary"


class ReflectionSummaryNode(SummaryNode):
    """Revises a paragraph with what was found since; by rule, further sentences of the results.

    Earlier sentences that the revision leaves out stand in front, unless a person's remark may have them left out.
    """

    name = "reflection_summary"

    def validate_input(self, given: SummaryNodeInput) -> None:
        super().validate_input(given)
        if not given.paragraph.research.latest_summary.strip():
            raise UsageError("research.summary_missing")

    def _revise(self, text: str, given: SummaryNodeInput) -> str:
        before = given.paragraph.research.latest_summary
        if not text or given.remark:
            return text or before
        count = len(given.entries)
        sentences = parse_cited_sentences(text, count)
        lost = [sentence for sentence in parse_cited_sentences(before, count) if not _is_repeated(sentence, sentences)]
        return join_sentences([append_citations(kept.text, kept.numbers) for kept in (*lost, *sentences)])


def _extract_written_text(answer: str) -> str | None:
    """Return the text of an answer, None where it has none; one without its JSON is read as it is."""
    document = parse_object(answer) or {}
    written = next((text for key in _TEXT_KEYS if isinstance(text := document.get(key), str)), None)
    if written is None:
        written = "" if document else extract_plain_text(answer)
    return written if written.strip() else None


def _parse_proposed_quotes(answer: str) -> JsonValue:
    return (parse_object(answer) or {}).get("quotes")


def _is_repeated(sentence: CitedSentence, sentences: Sequence[CitedSentence]) -> bool:
    """Return whether sentences that cite the same results say this too, in whatever words."""
    others = [other.text for other in sentences if set(other.numbers) & set(sentence.numbers)]
    return (compute_overlap(sentence.text, " ".join(others)) or 0.0) >= _MIN_REPEATED_SHARE


def escape_page_lines(text: str) -> list[str]:
    """Return the lines of a page's text, none of which can be taken for the head of a numbered result."""
    return [_NUMBERED_HEAD.sub(r"(\1)", line.strip()) for line in text.splitlines()]


def format_results(given: SummaryNodeInput, chars: int) -> list[str]:
    """Return the shown results: a head with title, url, date and engine, then the text, cut fairly to so many chars."""
    entries = given.entries
    shares = allocate_chars([len(entries[place].content) for place in given.shown], chars)
    wanted = f"{given.paragraph.title} {given.paragraph.content} {given.query}"
    lines: list[str] = []
    for place, share in zip(given.shown, shares, strict=True):
        entry = entries[place]
        date = entry.published_on.isoformat() if entry.published_on else ""
        head = " | ".join(part.replace("|", "/") or "-" for part in (entry.title, entry.url, date, entry.engine))
        lines += [f"[{place + 1}] {head}", *escape_page_lines(select_passages(entry.content, wanted, share))]
    return lines
