"""A question answered from stored items: passages chosen by code, cited sentences of a model, each judged by them.

What the passages do not support is dropped and counted; unlike a report, an answer keeps no unchecked sentence, because
the passages stand beneath it anyway. Without a model the nearest passages are the answer, word for word.
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import BaseModel, Field

from monitor.errors import ModelFailed
from monitor.extract.sentences import WEB_ADDRESS, split_sentences
from monitor.i18n.message import Message
from monitor.isolation.pool import WorkerPool
from monitor.llm.chat import ChatMessage, ChatModel, CompletionRequest, fit_chars
from monitor.llm.prompts import PromptSet
from monitor.research.judging import CitedJudgement, judge_citations
from monitor.research.prompt_builder import fence_lines
from monitor.research.prompts import ANSWER_SYSTEM, ANSWER_USER, MATERIAL_NOTICE
from monitor.verify.citations import (
    CITATION,
    MAX_SENTENCE_CHARS,
    MIN_SENTENCE_CHARS,
    CitedSentence,
    parse_cited_sentences,
)
from monitor.verify.instructions import is_prompt_injection, list_safe_lines
from monitor.verify.prose import compute_overlap, extract_words
from monitor.verify.second_reader import review_statements
from monitor.verify.statements import Judgement, SourceText, StatementCounts
from monitor.vocabulary import JudgedBy, Phase, Verdict

MAX_PASSAGES = 12
MAX_PASSAGES_PER_PAGE = 2
MAX_PASSAGE_CHARS = 500
MAX_QUOTED_PASSAGES = 5
MAX_PAGE_CHARS = 60_000
"""How far the text of an item is read for passages."""

_MAX_ANSWER_SENTENCES = 12
_MAX_HEAD_CHARS = 160
_MIN_OVERLAP = 0.2
"""The least share of a question's words that a passage has which is quoted as near to it."""


@dataclass(frozen=True, kw_only=True)
class StoredText:
    """The text of an item as it was stored."""

    item: int
    title: str
    url: str
    source: str
    day: dt.date
    text: str
    issuer: str = ""
    section: str = ""


class Passage(BaseModel):
    """A piece of an item's stored text, word for word, and the share of the question's words that it has."""

    item: int
    title: str
    url: str
    source: str
    day: dt.date
    text: str
    issuer: str = ""
    section: str = ""
    overlap: float = Field(exclude=True, default=0.0)

    @property
    def as_source(self) -> SourceText:
        return SourceText(
            text=self.text,
            title=self.title,
            section=self.section,
            publisher=self.issuer or self.source,
            published_on=self.day,
        )


class AnswerSentence(BaseModel):
    """A sentence that is supported; `passages` are the numbers of those that bear it, from 1, `bearing` their words."""

    text: str
    passages: list[int]
    by: JudgedBy
    bearing: str


class AnswerForm(StrEnum):
    """What an answer is made of. `none`: nothing supports one."""

    SENTENCES = "sentences"
    QUOTES = "quotes"
    NONE = "none"


class ArchiveAnswer(BaseModel):
    """An answer; the numbers in its sentences are those of `passages`, from 1.

    `dropped` counts the sentences of the model that the passages do not support.
    """

    kind: AnswerForm
    sentences: list[AnswerSentence] = Field(default_factory=list)
    passages: list[Passage] = Field(default_factory=list)
    dropped: StatementCounts = Field(default_factory=StatementCounts)


def choose_passages(question: str, pages: Sequence[StoredText]) -> list[Passage]:
    """Return the passages of the pages, which come best first, that are nearest to the question by their words.

    A line that reads as an order to a model is in none of them. A page that shares no word with the question, because
    it is in another language, gives its beginning.
    """
    words = extract_words(question)
    chosen: list[Passage] = []
    for page in pages:
        pieces = [
            (compute_overlap(words, extract_words(piece)), -place, piece)
            for place, piece in enumerate(_split_text(page.text[:MAX_PAGE_CHARS]))
        ]
        best = sorted(pieces, reverse=True)[:MAX_PASSAGES_PER_PAGE]
        near = [piece for piece in best if piece[0] > 0] or best[:1]
        chosen += [_build_passage(page, piece, overlap) for overlap, _, piece in near]
    return chosen[:MAX_PASSAGES]


def _split_text(text: str) -> Iterator[str]:
    """Yield the text as pieces of whole sentences of one paragraph, or of short paragraphs that follow each other."""
    piece = ""
    for line in list_safe_lines(text):
        for whole in split_sentences(line.strip()):
            sentence = whole[:MAX_PASSAGE_CHARS]
            if piece and len(piece) + len(sentence) >= MAX_PASSAGE_CHARS:
                yield piece
                piece = ""
            piece += ("" if not piece or piece.endswith("\n") else " " if piece[-1].isascii() else "") + sentence
        piece += "\n" if piece else ""
    if piece.strip():
        yield piece


def _build_passage(page: StoredText, text: str, overlap: float) -> Passage:
    return Passage(
        item=page.item,
        title=page.title,
        url=page.url,
        source=page.source,
        day=page.day,
        text=text.strip(),
        issuer=page.issuer,
        section=page.section,
        overlap=overlap,
    )


def quote_passages(passages: Sequence[Passage]) -> ArchiveAnswer:
    """Return the nearest passages as the answer; those with too few words of the question are none."""
    near = sorted((found for found in passages if found.overlap >= _MIN_OVERLAP), key=lambda found: -found.overlap)
    kind = AnswerForm.QUOTES if near else AnswerForm.NONE
    return ArchiveAnswer(kind=kind, passages=near[:MAX_QUOTED_PASSAGES])


def judge_sentences(sentences: Sequence[CitedSentence], sources: Sequence[SourceText]) -> list[CitedJudgement]:
    """Judge each sentence by the passages that it cites; what cites none, or is no plain sentence, is unsupported."""
    judged = []
    for sentence in sentences:
        is_plain = MIN_SENTENCE_CHARS <= len(sentence.text) <= MAX_SENTENCE_CHARS and not WEB_ADDRESS.search(
            sentence.text
        )
        if not sentence.numbers or not is_plain or is_prompt_injection(sentence.text) or CITATION.search(sentence.text):
            judged.append(CitedJudgement(Judgement(verdict=Verdict.UNSUPPORTED), sentence.numbers))
        else:
            cited = {number: sources[number - 1] for number in sentence.numbers}
            judged.append(judge_citations(sentence.text, cited))
    return judged


@dataclass(kw_only=True)
class ArchiveAnswerer:
    """Answers one question in its language; `model` None means by quotes.

    So does a model that fails: `problem` says why. Raises `IsolatedWorkFailed` for texts that cannot be judged in time.
    """

    workers: WorkerPool
    model: ChatModel | None
    prompts: PromptSet
    language: str
    today: dt.date
    problem: Message | None = field(default=None, init=False)

    async def answer(self, question: str, pages: Sequence[StoredText]) -> ArchiveAnswer:
        passages = await self.workers.run(choose_passages, question, list(pages))
        if self.model is None or not passages:
            return quote_passages(passages)
        request = CompletionRequest(self._build_messages(question, passages), phase=Phase.REPORT, place="ask")
        try:
            completion = await self.model.complete(request)
        except ModelFailed as error:
            self.problem = error.message
            return quote_passages(passages)
        written = parse_cited_sentences(completion.text, len(passages))[:_MAX_ANSWER_SENTENCES]
        said = [sentence for sentence in written if sentence.text.strip(" .。").upper() not in ("NONE", "无", "")]
        judged = await self.workers.run(judge_sentences, said, [passage.as_source for passage in passages])
        return _build_answer(said, await self._review(said, judged), passages)

    async def _review(
        self, sentences: Sequence[CitedSentence], judged: Sequence[CitedJudgement]
    ) -> list[CitedJudgement]:
        """Put what code left open to the second reader, and return all judgements."""
        if self.model is None:
            return list(judged)
        reviewed = await review_statements(
            self.model,
            [sentence.text for sentence in sentences],
            [each.judgement for each in judged],
            place="ask",
            language=self.language,
            prompts=self.prompts,
        )
        return [CitedJudgement(judgement, each.numbers) for judgement, each in zip(reviewed, judged, strict=True)]

    def _build_messages(self, question: str, passages: Sequence[Passage]) -> list[ChatMessage]:
        limit = MAX_PASSAGES * (MAX_PASSAGE_CHARS + _MAX_HEAD_CHARS)
        room = fit_chars(self.model, Phase.REPORT, limit, "ask") // len(passages)
        lines = [_format_passage(number, passage)[:room] for number, passage in enumerate(passages, 1)]
        material = f"{fence_lines('QUESTION', [question])}\n\n{fence_lines('PASSAGES', lines)}"
        user = self.prompts.render(ANSWER_USER[self.language], today=self.today, material=material)
        system = self.prompts.render(ANSWER_SYSTEM[self.language]).rstrip() + MATERIAL_NOTICE[self.language]
        return [ChatMessage(role="system", content=system), ChatMessage(role="user", content=user)]


def _format_passage(number: int, passage: Passage) -> str:
    head = f"{passage.title[: _MAX_HEAD_CHARS // 2]} | {passage.source[: _MAX_HEAD_CHARS // 4]} | {passage.day}"
    return f"[{number}] {head}: {passage.text}"


def _build_answer(
    sentences: Sequence[CitedSentence], judged: Sequence[CitedJudgement], passages: Sequence[Passage]
) -> ArchiveAnswer:
    """Return the supported sentences with the passages that they cite, numbered anew in the order of their use."""
    pairs = list(zip(sentences, judged, strict=True))
    kept = [pair for pair in pairs if pair[1].judgement.verdict is Verdict.SUPPORTED]
    numbers = list(dict.fromkeys(number for _, each in kept for number in each.numbers))
    return ArchiveAnswer(
        kind=AnswerForm.SENTENCES if kept else AnswerForm.NONE,
        sentences=[
            AnswerSentence(
                text=sentence.text,
                passages=[numbers.index(number) + 1 for number in each.numbers],
                by=each.judgement.by,
                bearing=each.judgement.passage,
            )
            for sentence, each in kept
        ],
        passages=[passages[number - 1] for number in numbers],
        dropped=StatementCounts.count(
            each.judgement for _, each in pairs if each.judgement.verdict is not Verdict.SUPPORTED
        ),
    )
