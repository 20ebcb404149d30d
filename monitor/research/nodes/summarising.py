"""The text of a paragraph: written from the first results, and revised with what further searches found.

No sentence of a model stands for its own sake: each cites results, and what it says is found in their texts. What was
sound in an earlier text stays: a revision that leaves it out gets it back.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence

from pydantic import BaseModel, Field

from monitor.domain.chat import Message
from monitor.domain.words import Phase
from monitor.errors import UsageError
from monitor.evidence.citing import Cited, cited_sentences, with_citations
from monitor.llm.answers import parse_object, plain_text
from monitor.research.extracts import extracted_summary
from monitor.research.findings import checked_summary, running_text
from monitor.research.nodes.node import UNUSABLE, NodeResult, StateMutationNode
from monitor.research.passages import passages_of, shares_of
from monitor.research.prompts.deep_search import Wording
from monitor.research.prompts.fencing import lines_of_page
from monitor.research.quotes import proposed_quotes
from monitor.research.state import Paragraph, SearchEntry, State
from monitor.retrieval.overlap import overlap

RESULTS_CHARS = 24_000
"""How much of all results together a prompt shows."""

_STATES = ("updated_paragraph_latest_state", "paragraph_latest_state")
_ECHOED_CHARS = 2_000
_TRIES = 2
_TOLD_ALREADY = 0.5
_NOT_BORNE = "no sentence of the answer rests on the results"


class Draft(BaseModel):
    """A text to be written: the paragraph as it stands, and which of its results are shown, places from 0.

    `plan` is all paragraphs, of which extracts tell each their own.
    """

    question: str
    paragraph: Paragraph
    query: str
    shown: list[int]
    remark: str = ""
    plan: list[Paragraph] = Field(default_factory=list)

    @property
    def entries(self) -> list[SearchEntry]:
        """All results of the paragraph; a citation [n] is the n-th of them."""
        return self.paragraph.research.search_history


class Summary(NodeResult):
    """A paragraph's text with its citations; `quotes` are pieces of results, by place, that the model pointed out."""

    text: str
    quotes: dict[int, list[str]] = Field(default_factory=dict)
    refused: dict[str, int] = Field(default_factory=dict)


class _SummaryNode(StateMutationNode[Draft, Summary]):
    name: str

    async def run(self, given: Draft) -> Summary:
        """The text: the model's sentences that stand, after one correction if none does; else extracts."""
        self.validate_input(given)
        messages = self._messages(given)
        refused: Counter[str] = Counter()
        tokens, failure = 0, ""
        for _ in range(_TRIES):
            answer = await self.asked(messages, phase=Phase.SEARCH, place=f"{given.paragraph.title}: {self.name}")
            tokens += answer.tokens
            failure = answer.failure
            if failure:
                break
            summary = self.process_output(answer.text, given)
            refused.update(summary.refused if summary else {})
            if summary is not None and summary.text:
                return summary.model_copy(update={"tokens": tokens, "refused": dict(refused)})
            failure = UNUSABLE if summary is None else _NOT_BORNE
            messages = [*messages, *self._corrected(answer.text, summary)]
        extracts = extracted_summary(given.paragraph, given.entries, given.question, given.plan)
        text = self._revised(extracts, given)
        return Summary(text=text, tokens=tokens, refused=dict(refused), fallback=failure)

    def validate_input(self, given: Draft) -> None:
        """There is a paragraph, and at least one result of it with a text."""
        if not given.paragraph.title.strip():
            raise UsageError("A paragraph needs a title to be written.")
        if not given.shown or not all(given.entries[place].content for place in given.shown):
            raise UsageError("A paragraph is written from results with a text.")

    def process_output(self, answer: str, given: Draft) -> Summary | None:
        """The sentences of an answer that stand; a text that is empty where none does."""
        document = parse_object(answer) or {}
        written = next((text for key in _STATES if isinstance(text := document.get(key), str)), None)
        if written is None:
            written = "" if document else plain_text(answer)
        if not written.strip():
            return None
        checked = checked_summary(written, given.entries)
        proposed = proposed_quotes(document.get("quotes"), given.entries)
        refused = Counter(checked.refused) + Counter({"quotes": proposed.refused})
        text = self._revised(checked.text, given) if checked.text else ""
        return Summary(text=text, quotes=proposed.quotes, refused=dict(refused))

    def mutate_state(self, out: Summary, state: State, order: int) -> State:
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
        last.fallbacks += [f"{self.name}: {out.fallback}"] if out.fallback else []
        research.reflection_iteration = last.number
        state.updated_at = self.parts.clock.now()
        return state

    @abstractmethod
    def _revised(self, text: str, given: Draft) -> str:
        """The text in place of the one that there was."""

    def _messages(self, given: Draft) -> list[Message]:
        parts, paragraph = self.parts, given.paragraph
        wording = Wording(parts.language, parts.prompts, parts.clock.now().date())
        return wording.summary(
            given.question,
            paragraph.title,
            paragraph.content,
            _results(given),
            state=paragraph.research.latest_summary,
            remark=given.remark,
        )

    def _corrected(self, answer: str, summary: Summary | None) -> Sequence[Message]:
        wording = Wording(self.parts.language, self.parts.prompts, self.parts.clock.now().date())
        echo = Message(role="assistant", content=answer[:_ECHOED_CHARS])
        return echo, wording.correction(summary.refused if summary else {})


class FirstSummaryNode(_SummaryNode):
    """Writes a paragraph from its first results; by rule, sentences of theirs word for word."""

    name = "first_summary"

    def _revised(self, text: str, given: Draft) -> str:
        del given
        return text


class ReflectionSummaryNode(_SummaryNode):
    """Revises a paragraph with what was found since; by rule, further sentences of the results.

    What was sound before and is not told any more stands in front; a person's remark may have it left out.
    """

    name = "reflection_summary"

    def validate_input(self, given: Draft) -> None:
        """There has to be a text that can be revised."""
        super().validate_input(given)
        if not given.paragraph.research.latest_summary.strip():
            raise UsageError("A revision needs the latest summary of its paragraph.")

    def _revised(self, text: str, given: Draft) -> str:
        before = given.paragraph.research.latest_summary
        if not text or given.remark:
            return text or before
        count = len(given.entries)
        sentences = cited_sentences(text, count)
        lost = [sentence for sentence in cited_sentences(before, count) if not _is_told(sentence, sentences)]
        return running_text([with_citations(one.text, one.numbers) for one in (*lost, *sentences)])


def _is_told(one: Cited, sentences: Sequence[Cited]) -> bool:
    """Whether what a sentence says is said, in whatever words, where the same results are cited."""
    others = [other.text for other in sentences if set(other.numbers) & set(one.numbers)]
    return (overlap(one.text, " ".join(others)) or 0.0) >= _TOLD_ALREADY


def _results(given: Draft) -> list[str]:
    """The results that are shown: a head with title, url, date and engine, then the text, cut fairly."""
    entries = given.entries
    shares = shares_of([len(entries[place].content) for place in given.shown], RESULTS_CHARS)
    wanted = f"{given.paragraph.title} {given.paragraph.content} {given.query}"
    lines: list[str] = []
    for place, share in zip(given.shown, shares, strict=True):
        entry = entries[place]
        date = entry.published_on.isoformat() if entry.published_on else ""
        head = " | ".join(part.replace("|", "/") or "-" for part in (entry.title, entry.url, date, entry.engine))
        lines += [f"[{place + 1}] {head}", *lines_of_page(passages_of(entry.content, wanted, share))]
    return lines
