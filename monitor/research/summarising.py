"""The text of a paragraph: written from the first results, and revised with what further searches found.

No sentence of a model stands for its own sake: each cites results, and what it says is found in their texts. What was
sound in an earlier text stays: a revision that leaves it out gets it back.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence

from pydantic import BaseModel, Field

from monitor.db.terms import fold_text
from monitor.errors import UsageError
from monitor.extract.sentences import split_sentences
from monitor.i18n.message import Message
from monitor.llm.answers import extract_plain_text, parse_object
from monitor.llm.chat import ChatMessage
from monitor.research.extracts import build_extractive_summary
from monitor.research.findings import check_summary, join_sentences
from monitor.research.node import UNUSABLE_ANSWER_FAILURE, NodeResult, StateMutationNode, describe_node_fallback
from monitor.research.prompts import DeepSearchPromptBuilder, escape_page_lines
from monitor.research.quotes import verify_proposed_quotes
from monitor.research.state import ParagraphState, SearchEntry, State
from monitor.search.bundles.scoring import compute_overlap
from monitor.verify.citations import CitedSentence, append_citations, parse_cited_sentences
from monitor.verify.prose import extract_words
from monitor.vocabulary import Phase

GAP_MARK = "…"
"""The line between two passages that are not neighbours on the page; no quote may span it."""

_LEAD_SENTENCES = 3
_LEAD_BONUS = 2


def select_passages(text: str, wanted: str, max_chars: int) -> str:
    """The text itself where it is short enough, else its sentences that hold most of what is wanted.

    A sentence counts the words and pairs of characters of `wanted` that stand in it, and two more if it is among the
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
    """How much of the room each text gets: what it needs, and where there is too little, all the same at most."""
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


MAX_RESULTS_CHARS = 24_000
"""How much of all results together a prompt shows."""

_TEXT_KEYS = ("updated_paragraph_latest_state", "paragraph_latest_state")
_MAX_ECHOED_CHARS = 2_000
_MAX_ATTEMPTS = 2
_MIN_REPEATED_SHARE = 0.5
_UNSUPPORTED_FAILURE = Message.of("research.answer_unsupported")


class SummaryNodeInput(BaseModel):
    """A text to be written: the paragraph as it stands, and which of its results are shown, places from 0.

    `plan` is all paragraphs, of which extracts tell each their own.
    """

    question: str
    paragraph: ParagraphState
    query: str
    shown: list[int]
    remark: str = ""
    plan: list[ParagraphState] = Field(default_factory=list)

    @property
    def entries(self) -> list[SearchEntry]:
        """All results of the paragraph; a citation [n] is the n-th of them."""
        return self.paragraph.research.search_history


class ParagraphSummary(NodeResult):
    """A paragraph's text with its citations; `quotes` are pieces of results, by place, that the model pointed out."""

    text: str
    quotes: dict[int, list[str]] = Field(default_factory=dict)
    refused: dict[str, int] = Field(default_factory=dict)


class _SummaryNode(StateMutationNode[SummaryNodeInput, ParagraphSummary]):
    name: str

    async def run(self, given: SummaryNodeInput) -> ParagraphSummary:
        """The text: the model's sentences that stand, after one correction if none does; else extracts."""
        self.validate_input(given)
        messages = self._build_messages(given)
        refused: Counter[str] = Counter()
        tokens, failure = 0, None
        for _ in range(_MAX_ATTEMPTS):
            answer = await self.ask_model(messages, phase=Phase.SEARCH, place=f"{given.paragraph.title}: {self.name}")
            tokens += answer.tokens
            failure = answer.failure
            if failure:
                break
            summary = self.process_output(answer.text, given)
            refused.update(summary.refused if summary else {})
            if summary is not None and summary.text:
                return summary.model_copy(update={"tokens": tokens, "refused": dict(refused)})
            failure = UNUSABLE_ANSWER_FAILURE if summary is None else _UNSUPPORTED_FAILURE
            messages = [*messages, *self._build_correction(answer.text, summary)]
        extracts = build_extractive_summary(given.paragraph, given.entries, given.question, given.plan)
        text = self._revise(extracts, given)
        return ParagraphSummary(text=text, tokens=tokens, refused=dict(refused), fallback=failure)

    def validate_input(self, given: SummaryNodeInput) -> None:
        """There is a paragraph, and at least one result of it with a text."""
        if not given.paragraph.title.strip():
            raise UsageError("research.title_missing")
        if not given.shown or not all(given.entries[place].content for place in given.shown):
            raise UsageError("research.results_missing")

    def process_output(self, answer: str, given: SummaryNodeInput) -> ParagraphSummary | None:
        """The sentences of an answer that stand; a text that is empty where none does."""
        document = parse_object(answer) or {}
        written = next((text for key in _TEXT_KEYS if isinstance(text := document.get(key), str)), None)
        if written is None:
            written = "" if document else extract_plain_text(answer)
        if not written.strip():
            return None
        checked = check_summary(written, given.entries)
        proposed = verify_proposed_quotes(document.get("quotes"), given.entries)
        refused = Counter(checked.refused) + Counter({"quotes": proposed.refused})
        text = self._revise(checked.text, given) if checked.text else ""
        return ParagraphSummary(text=text, quotes=proposed.quotes, refused=dict(refused))

    def mutate_state(self, out: ParagraphSummary, state: State, order: int) -> State:
        """The state with the text, and its last round done."""
        research = state.paragraphs[order].research
        research.latest_summary = out.text
        research.tokens += out.tokens
        research.refused = dict(Counter(research.refused) + Counter(out.refused))
        for place, quotes in out.quotes.items():
            entry = research.search_history[place]
            entry.quotes = list(dict.fromkeys([*entry.quotes, *quotes]))
        last = research.rounds[-1]
        last.is_summarised = True
        last.fallbacks += [describe_node_fallback(self.name, out.fallback)] if out.fallback else []
        research.reflection_iteration = last.number
        state.updated_at = self.deps.clock.now()
        return state

    @abstractmethod
    def _revise(self, text: str, given: SummaryNodeInput) -> str:
        """The text in place of the one that there was."""

    def _build_messages(self, given: SummaryNodeInput) -> list[ChatMessage]:
        deps, paragraph = self.deps, given.paragraph
        wording = DeepSearchPromptBuilder(deps.language, deps.prompts, deps.clock.now().date())
        return wording.build_summary_messages(
            given.question,
            paragraph.title,
            paragraph.content,
            _format_results(given),
            state=paragraph.research.latest_summary,
            remark=given.remark,
        )

    def _build_correction(self, answer: str, summary: ParagraphSummary | None) -> Sequence[ChatMessage]:
        wording = DeepSearchPromptBuilder(self.deps.language, self.deps.prompts, self.deps.clock.now().date())
        echo = ChatMessage(role="assistant", content=answer[:_MAX_ECHOED_CHARS])
        return echo, wording.build_correction_message(summary.refused if summary else {})


class FirstSummaryNode(_SummaryNode):
    """Writes a paragraph from its first results; by rule, sentences of theirs word for word."""

    name = "first_summary"

    def _revise(self, text: str, given: SummaryNodeInput) -> str:
        del given
        return text


class ReflectionSummaryNode(_SummaryNode):
    """Revises a paragraph with what was found since; by rule, further sentences of the results.

    What was sound before and is not told any more stands in front; a person's remark may have it left out.
    """

    name = "reflection_summary"

    def validate_input(self, given: SummaryNodeInput) -> None:
        """There has to be a text that can be revised."""
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
        return join_sentences(
            [append_citations(lost_sentence.text, lost_sentence.numbers) for lost_sentence in (*lost, *sentences)]
        )


def _is_repeated(sentence: CitedSentence, sentences: Sequence[CitedSentence]) -> bool:
    """Whether what a sentence says is said, in whatever words, where the same results are cited."""
    others = [other.text for other in sentences if set(other.numbers) & set(sentence.numbers)]
    return (compute_overlap(sentence.text, " ".join(others)) or 0.0) >= _MIN_REPEATED_SHARE


def _format_results(given: SummaryNodeInput) -> list[str]:
    """The results that are shown: a head with title, url, date and engine, then the text, cut fairly."""
    entries = given.entries
    shares = allocate_chars([len(entries[place].content) for place in given.shown], MAX_RESULTS_CHARS)
    wanted = f"{given.paragraph.title} {given.paragraph.content} {given.query}"
    lines: list[str] = []
    for place, share in zip(given.shown, shares, strict=True):
        entry = entries[place]
        date = entry.published_on.isoformat() if entry.published_on else ""
        head = " | ".join(part.replace("|", "/") or "-" for part in (entry.title, entry.url, date, entry.engine))
        lines += [f"[{place + 1}] {head}", *escape_page_lines(select_passages(entry.content, wanted, share))]
    return lines
