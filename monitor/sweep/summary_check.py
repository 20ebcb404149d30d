"""Holds a summary against its page, sentence by sentence: what stands is kept, the rest dropped with its reasons."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from monitor.extract.sentences import CLOSING_MARKS, WEB_ADDRESS, split_sentences
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.isolation.pool import WorkerPool
from monitor.verify.second_reader import StatementVerifier
from monitor.verify.statements import Judgement, Reason, SourceText, StatementCounts
from monitor.vocabulary import ReasonCode, Verdict

if TYPE_CHECKING:
    from monitor.verify.echoes import EchoDetector

MIN_SUMMARY_CHARS = 20
MAX_SUMMARY_CHARS = 1000
_MAX_SHOWN_CHARS = 160
_LIST_MARK = re.compile(r"^\s*(?:[-*•·]\s+|\d{1,2}[.)]\s+|\d{1,2}[、）]\s*)")
_SENTENCE_STOPS = tuple("。！？.!?…")
_FIGURE_REASONS = frozenset({ReasonCode.NUMBER, ReasonCode.DATE})


def find_fault(summary: str, *, title: str) -> Message | None:
    """Return why a text is no summary at all, whatever its page says; None where its sentences are worth judging.

    It is empty, too short or too long, the title again, a part of the prompt, or has a web address: a page could have
    told the model to cite one.
    """
    from monitor.verify.citations import fold_alphanumerics
    from monitor.verify.echoes import find_prompt_mark

    if len(summary) <= MIN_SUMMARY_CHARS:
        return Message("cause.too_short" if summary else "cause.empty")
    if mark := find_prompt_mark(summary):
        return Reason(code=ReasonCode.ECHO, args={"said": mark}).message
    if len(summary) > MAX_SUMMARY_CHARS:
        return Message("cause.too_long")
    if fold_alphanumerics(summary) == fold_alphanumerics(title):
        return Message("cause.title_again")
    return Message("cause.web_address") if WEB_ADDRESS.search(summary) else None


@dataclass(frozen=True)
class JudgedSentence:
    """A sentence as the summary has it, and the number of its line."""

    text: str
    line: int
    judgement: Judgement


@dataclass(frozen=True)
class JudgedSummary:
    """A summary after its check; `fault` says why it is none at all."""

    sentences: tuple[JudgedSentence, ...] = ()
    fault: Message | None = None

    @cached_property
    def kept(self) -> list[tuple[str, Judgement]]:
        return [(entry.text, entry.judgement) for entry in self.sentences if entry.judgement.verdict.is_kept]

    @cached_property
    def dropped(self) -> list[tuple[str, Judgement]]:
        return [(entry.text, entry.judgement) for entry in self.sentences if not entry.judgement.verdict.is_kept]

    @cached_property
    def text(self) -> str:
        """The sentences that are kept, in their lines."""
        lines: dict[int, list[str]] = {}
        for entry in self.sentences:
            if entry.judgement.verdict.is_kept:
                lines.setdefault(entry.line, []).append(entry.text)
        return "\n".join(join_sentences(sentences) for sentences in lines.values())

    @property
    def is_sound(self) -> bool:
        return self.is_usable and not self.dropped

    @property
    def is_usable(self) -> bool:
        """Whether what is kept is still a summary."""
        return self.fault is None and len(self.text) > MIN_SUMMARY_CHARS

    @property
    def counts(self) -> StatementCounts:
        return StatementCounts.count(entry.judgement for entry in self.sentences)

    @property
    def reason(self) -> Message | None:
        """Why it is not taken as it is: its fault, else what the first dropped sentences say that the page does not."""
        if self.fault is not None:
            return self.fault
        if not self.dropped:
            return None if self.is_usable else Message("cause.too_short")
        reasons = [reason for _, judgement in self.dropped for reason in judgement.reasons]
        figures = [
            reason.args["said"] for reason in reasons if reason.code in _FIGURE_REASONS and "said" in reason.args
        ]
        if reasons and len(figures) == len(reasons):
            return Message.of("cause.not_on_page", figures=list(dict.fromkeys(figures))[:5])
        sentence, judgement = self.dropped[0]
        return Message.of("cause.sentence_refused", sentence=_shorten(sentence), reason=_get_reason(judgement))

    def list_faults(self, language: str) -> list[str]:
        """Return what is wrong with it, in words for the model that is to write it again."""
        if not self.dropped:
            return [render(self.reason, language)] if self.reason else []
        return [render(_describe_fault(sentence, judgement), language) for sentence, judgement in self.dropped]


@dataclass(frozen=True, kw_only=True)
class SummaryGrounds:
    """What a summary is held against: its page, and what the model was told when it wrote it."""

    title: str
    page: SourceText
    wordings: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


def judge_summary(summary: str, grounds: SummaryGrounds) -> JudgedSummary:
    """Judge the sentences of a summary by code alone; in a worker, which alone imports the judge."""
    from monitor.verify.echoes import EchoDetector
    from monitor.verify.judge import MAX_SOURCE_CHARS, StatementJudge

    if fault := find_fault(summary, title=grounds.title):
        return JudgedSummary(fault=fault)
    pieces = [
        (sentence, number)
        for number, line in enumerate(summary.splitlines())
        for sentence in split_sentences(line)
        if any(map(str.isalnum, sentence))
    ]
    if not pieces:
        return JudgedSummary(fault=Message("cause.empty"))
    echoes = EchoDetector(
        grounds.wordings, title=grounds.title, text=grounds.page.text[:MAX_SOURCE_CHARS], examples=grounds.examples
    )
    judge = StatementJudge([grounds.page])
    last = len(pieces) - 1
    return JudgedSummary(
        tuple(
            JudgedSentence(
                sentence,
                line,
                _find_own_fault(sentence, echoes, is_last=place == last) or judge.judge(_strip_marks(sentence)),
            )
            for place, (sentence, line) in enumerate(pieces)
        )
    )


def _strip_marks(sentence: str) -> str:
    return _LIST_MARK.sub("", sentence).replace("**", "")


def _find_own_fault(sentence: str, echoes: "EchoDetector", *, is_last: bool) -> Judgement | None:
    """Return the judgement on a sentence that falls by itself: an echo, or the one in which the text breaks off."""
    if echoed := echoes.find(sentence):
        reason = Reason(code=ReasonCode.ECHO, args={"said": echoed})
    elif is_last and not sentence.rstrip(CLOSING_MARKS).endswith(_SENTENCE_STOPS):
        reason = Reason(code=ReasonCode.CUT_OFF, args={"said": sentence[-20:]})
    else:
        return None
    return Judgement(verdict=Verdict.UNSUPPORTED, reasons=(reason,))


@dataclass(frozen=True, kw_only=True)
class SummaryChecker:
    """Checks the summaries of one page: in `workers` by code, then what that left open by the second reader."""

    grounds: SummaryGrounds
    verifier: StatementVerifier
    workers: WorkerPool

    async def check(self, summary: str) -> JudgedSummary:
        """Return the judged summary; `IsolatedWorkFailed` where its page cannot be read in time."""
        judged = await self.workers.run(judge_summary, summary, self.grounds)
        statements = [_strip_marks(entry.text) for entry in judged.sentences]
        judgements = await self.verifier.review(statements, [entry.judgement for entry in judged.sentences])
        sentences = zip(judged.sentences, judgements, strict=True)
        return JudgedSummary(
            tuple(replace(entry, judgement=judgement) for entry, judgement in sentences), fault=judged.fault
        )


def join_sentences(sentences: Sequence[str]) -> str:
    joined = ""
    for sentence in sentences:
        joined += f" {sentence}" if joined and joined.rstrip(CLOSING_MARKS)[-1:].isascii() else sentence
    return joined


def _describe_fault(sentence: str, judgement: Judgement) -> Message:
    args = {"sentence": _shorten(sentence), "reason": _get_reason(judgement)}
    if not judgement.passage:
        return Message("cause.sentence_refused", args)
    return Message("cause.sentence_and_passage", {**args, "passage": _shorten(judgement.passage)})


def _get_reason(judgement: Judgement) -> Message:
    said = next((reason.message for reason in judgement.reasons), None)
    return said or Message(f"cause.statement_{judgement.verdict}")


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}…"
