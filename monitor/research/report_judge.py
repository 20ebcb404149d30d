"""The judge of a report's sentences in a worker process: asked piece by piece, while the report is written."""

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from monitor.extract.sentences import WEB_ADDRESS
from monitor.i18n.message import Message
from monitor.isolation.pool import IsolatedWorkFailed, WorkerPool
from monitor.research.judging import (
    SentenceJudge,
    SentenceVerdict,
    build_note_sources,
    is_assessment_heading,
    may_be_analysis,
)
from monitor.research.shapes import ResearchNote
from monitor.verify.citations import CITATION, MAX_SENTENCE_CHARS, CitedSentence
from monitor.verify.instructions import is_prompt_injection
from monitor.verify.statements import Judgement, SourceText
from monitor.vocabulary import Verdict


@dataclass(frozen=True)
class JudgeSetup:
    """All that a `SentenceJudge` is made of; `pages` are the kept pages of the notes by url."""

    notes: Sequence[ResearchNote]
    query: str
    pages: Mapping[str, SourceText]
    planned_titles: Sequence[str] = ()
    settled: Mapping[str, Judgement] = field(default_factory=dict)

    def build(self) -> SentenceJudge:
        return SentenceJudge(
            self.notes,
            query=self.query,
            sources=build_note_sources(self.notes, self.pages),
            planned_titles=self.planned_titles,
            settled=self.settled,
        )


class JudgeNotKept(Exception):
    """A worker has no judge under a key, or no longer: the setup has to come with the question."""


@lru_cache(maxsize=2)
def _get_place(key: str) -> list[SentenceJudge]:
    """Return where a worker keeps the judge of one report: a list of it, empty at first."""
    del key
    return []


def ask_judge(key: str, setup: JudgeSetup | None, method: str, *args: Any) -> Any:
    """Return what a method of the judge under a key says, which is built of the setup where it is not kept yet."""
    place = _get_place(key)
    if not place:
        if setup is None:
            raise JudgeNotKept(key)
        place.append(setup.build())
    return getattr(place[0], method)(*args)


@dataclass
class ReportJudge:
    """Asks a `SentenceJudge` that lives in the workers; the pages travel to each worker once.

    What could not be judged in time stays unchecked, or is left out where it is no finding; `problem` says why.
    """

    setup: JudgeSetup
    workers: WorkerPool
    problem: Message | None = field(default=None, init=False)
    _key: str = field(default_factory=lambda: secrets.token_hex(8), init=False)

    @property
    def notes(self) -> Sequence[ResearchNote]:
        return self.setup.notes

    async def judge_sentences(self, cited: Sequence[CitedSentence]) -> list[SentenceVerdict]:
        fallback = [_leave_unchecked(sentence) for sentence in cited]
        verdicts: list[SentenceVerdict] = await self._ask(fallback, "judge_sentences", list(cited))
        return verdicts

    async def judge_sentence(self, cited: CitedSentence) -> SentenceVerdict:
        verdict: SentenceVerdict = await self._ask(_leave_unchecked(cited), "judge_sentence", cited)
        return verdict

    async def judge_row(self, cited: CitedSentence) -> SentenceVerdict:
        verdict: SentenceVerdict = await self._ask(_leave_unchecked(cited), "judge_row", cited)
        return verdict

    async def find_heading_fault(self, text: str) -> str:
        return str(await self._ask("uncited", "find_heading_fault", text))

    async def find_assessment_fault(self, verdict: SentenceVerdict, grounds: Collection[int]) -> str:
        return str(await self._ask("assessment", "find_assessment_fault", verdict, grounds))

    async def is_analysis(self, verdict: SentenceVerdict) -> bool:
        return may_be_analysis(verdict) and bool(await self._ask(False, "is_analysis", verdict))

    async def find_supporting_notes(self, text: str) -> tuple[int, ...]:
        numbers: tuple[int, ...] = await self._ask((), "find_supporting_notes", text)
        return numbers

    async def prefer_cited_notes(
        self, verdict: SentenceVerdict, cited: Sequence[int], *, name: str = ""
    ) -> tuple[int, ...]:
        numbers: tuple[int, ...] = await self._ask(verdict.numbers, "prefer_cited_notes", verdict, list(cited), name)
        return numbers

    def is_assessment_heading(self, text: str) -> bool:
        return is_assessment_heading(text, self.setup.planned_titles)

    async def _ask(self, fallback: Any, method: str, *args: Any) -> Any:
        try:
            try:
                return await self.workers.run(ask_judge, self._key, None, method, *args)
            except JudgeNotKept:
                return await self.workers.run(ask_judge, self._key, self.setup, method, *args)
        except IsolatedWorkFailed as error:
            self.problem = self.problem or error.message
            return fallback


def _leave_unchecked(cited: CitedSentence) -> SentenceVerdict:
    """Return the verdict on a sentence that could not be judged: open to doubt, refused where it is no sentence."""
    text = CITATION.sub("", cited.text[: 2 * MAX_SENTENCE_CHARS]).strip()
    is_long = len(text) > MAX_SENTENCE_CHARS
    if is_long or not cited.numbers or WEB_ADDRESS.search(text) or is_prompt_injection(text):
        return SentenceVerdict(text, fault="uncited")
    return SentenceVerdict(text, cited.numbers, judgement=Judgement(verdict=Verdict.UNCHECKED))
