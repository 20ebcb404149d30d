"""The messages of a research's nodes: the wordings in force, with their material kept apart from the instructions."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.llm.chat import ChatMessage
from monitor.llm.prompts import Prompt, PromptSet, flatten_untrusted_text
from monitor.research.prompts import (
    CORRECTION,
    EMPTY_STATE,
    FAULT_TEXTS,
    FOLLOW_UP_USER,
    MATERIAL_NOTICE,
    MODELING_RETRY,
    MODELING_SYSTEM,
    MODELING_USER,
    REFLECTION_SUMMARY_USER,
    REFLECTION_USER,
    REPORT_SYSTEM,
    REPORT_USER,
    REWRITE_USER,
    SEARCH_SYSTEM,
    SEARCH_USER,
    STRUCTURE_SYSTEM,
    STRUCTURE_USER,
    SUMMARY_SYSTEM,
    SUMMARY_USER,
)
from monitor.research.shapes import ModelBlueprint, ResearchNote


def fence_lines(name: str, lines: Iterable[str]) -> str:
    """Return the lines between `<<<NAME` and `NAME>>>`, none of which can be taken for such a mark."""
    return "\n".join(
        [f"<<<{name}", *(clean for line in lines if (clean := flatten_untrusted_text(line))), f"{name}>>>"]
    )


_MAX_ALL_NOTES_CHARS = 24_000
_SUMMARY_SHARE = 0.6
_MAX_TOPIC_CHARS = 80
_MAX_REASONS = 5
_MAX_QUOTE_CHARS, _MAX_SUMMARY_CHARS, _MAX_QUOTES = 300, 500, 4


@dataclass(frozen=True)
class PromptBuilder:
    """Builds the messages of every node, in one language, with the wordings in force."""

    language: str
    prompts: PromptSet
    today: dt.date

    def build_structure_messages(self, question: str, *, max_paragraphs: int) -> list[ChatMessage]:
        return self._build_messages(
            STRUCTURE_SYSTEM,
            STRUCTURE_USER,
            question=fence_lines("QUESTION", [question]),
            max_paragraphs=max_paragraphs,
            today=self.today.isoformat(),
        )

    def build_search_messages(
        self,
        question: str,
        title: str,
        content: str,
        tools: Mapping[str, str],
        *,
        state: str | None = None,
        previous_queries: Sequence[str] = (),
    ) -> list[ChatMessage]:
        """Ask for the first search of a paragraph; with its text so far (`state`), for one that fills a gap."""
        return self._build_messages(
            SEARCH_SYSTEM,
            SEARCH_USER if state is None else REFLECTION_USER,
            tools="\n".join(f"- {name}: {description}" for name, description in tools.items()),
            material=_fence_blocks(
                QUESTION=[question],
                PARAGRAPH=[title, content],
                STATE=None if state is None else state.splitlines() or [EMPTY_STATE[self.language]],
                SEARCHES=None if state is None else previous_queries,
            ),
            today=self.today.isoformat(),
        )

    def build_summary_messages(
        self, question: str, title: str, content: str, results: Sequence[str], *, state: str, remark: str
    ) -> list[ChatMessage]:
        """Ask for a paragraph's text; where there is one (`state`), for its revision."""
        material = _fence_blocks(
            QUESTION=[question],
            PARAGRAPH=[title, content],
            STATE=state.splitlines() or None,
            RESULTS=results,
            REMARK=remark.splitlines() or None,
        )
        user = REFLECTION_SUMMARY_USER if state else SUMMARY_USER
        return self._build_messages(SUMMARY_SYSTEM, user, material=material)

    def build_follow_up_messages(
        self, question: str, about: str, exchanges: Sequence[tuple[str, str]], results: Sequence[str]
    ) -> list[ChatMessage]:
        """Ask for the answer to a question about a report; `exchanges` are earlier questions with their answers."""
        talk = [f"{mark}: {text}" for exchange in exchanges for mark, text in zip("QA", exchange, strict=True)]
        material = _fence_blocks(QUESTION=[question], REPORT=[about], TALK=talk or None, RESULTS=results)
        return self._build_messages(SUMMARY_SYSTEM, FOLLOW_UP_USER, material=material)

    def build_correction_message(self, refused: Mapping[str, int], reasons: Sequence[Message] = ()) -> ChatMessage:
        """Ask for a paragraph's text once more, saying what was wrong with its sentences."""
        words = FAULT_TEXTS[self.language]
        faults = [words[kind] for kind in refused if kind in words] or [words[""]]
        faults += [self._describe_reason(reason) for reason in reasons[:_MAX_REASONS]]
        fault_text = ("；" if self.language == "zh" else "; ").join(faults)
        return ChatMessage(role="user", content=CORRECTION[self.language].format(fault=fault_text))

    def build_blueprint_messages(self, question: str, notes: Sequence[ResearchNote]) -> list[ChatMessage]:
        """Ask for the blueprint; each note is a line `[0] topic | summary | “quote” …`, counted from 0."""
        room = _MAX_ALL_NOTES_CHARS // max(len(notes), 1)
        lines = [f"[{place}] {_format_note(note, room)}" for place, note in enumerate(notes)]
        material = _fence_blocks(QUESTION=[question], NOTES=lines)
        return self._build_messages(MODELING_SYSTEM, MODELING_USER, material=material)

    def build_blueprint_retry_message(self) -> ChatMessage:
        return ChatMessage(role="user", content=MODELING_RETRY[self.language])

    def build_report_messages(
        self,
        question: str,
        sections: Sequence[tuple[str, str]],
        notes: Sequence[ResearchNote],
        *,
        model: ModelBlueprint,
        remark: str,
    ) -> list[ChatMessage]:
        """Ask for the report; `sections` are the paragraphs' titles and their summaries, which cite notes from 1."""
        material = _fence_blocks(
            QUESTION=[question],
            OUTLINE=[line for title, text in sections for line in (f"## {title}", *text.splitlines())],
            NOTES=[_format_cited_note(number, note) for number, note in enumerate(notes, start=1)],
            MODEL=_format_blueprint(model) or None,
            REMARK=remark.splitlines() or None,
        )
        return self._build_messages(REPORT_SYSTEM, REPORT_USER, material=material)

    def build_rewrite_messages(
        self, question: str, sentences: Sequence[tuple[str, Sequence[Message]]], notes: Mapping[int, ResearchNote]
    ) -> list[ChatMessage]:
        """Ask for sentences again, each with why it was refused, from these notes by their numbers."""
        lines = []
        for number, (sentence, reasons) in enumerate(sentences, start=1):
            why = " ".join(self._describe_reason(reason) for reason in reasons[:_MAX_REASONS])
            lines.append(f"{number}. {sentence}{f' <- {why}' if why else ''}")
        material = _fence_blocks(
            QUESTION=[question],
            SENTENCES=lines,
            NOTES=[_format_cited_note(number, note) for number, note in notes.items()],
        )
        return self._build_messages(REPORT_SYSTEM, REWRITE_USER, material=material)

    def _describe_reason(self, reason: Message) -> str:
        return flatten_untrusted_text(render(reason, self.language)).rstrip("。.")

    def _build_messages(
        self, system: Mapping[str, Prompt], user: Mapping[str, Prompt], **values: object
    ) -> list[ChatMessage]:
        instructions = self.prompts.render(system[self.language]).rstrip() + MATERIAL_NOTICE[self.language]
        return [
            ChatMessage(role="system", content=instructions),
            ChatMessage(role="user", content=self.prompts.render(user[self.language], **values)),
        ]


def _fence_blocks(**blocks: Iterable[str] | None) -> str:
    return "\n".join(fence_lines(name, lines) for name, lines in blocks.items() if lines is not None)


def _format_note(note: ResearchNote, max_chars: int) -> str:
    """Return a note in so many characters: its summary, then the quotes for which there is room, none of them cut."""
    topic, summary = note.topic[:_MAX_TOPIC_CHARS], note.summary[: int(_SUMMARY_SHARE * max_chars)]
    left = max_chars - len(topic) - len(summary)
    quotes: list[str] = []
    for evidence in note.evidence:
        left -= len(evidence.quote) + 3
        if left >= 0:
            quotes.append(f"“{evidence.quote}”")
    return f"{topic} | {summary} | {' '.join(quotes)}"


def _format_cited_note(number: int, note: ResearchNote) -> str:
    quotes = " ".join(f"“{evidence.quote[:_MAX_QUOTE_CHARS]}”" for evidence in note.evidence[:_MAX_QUOTES])
    return f"[{number}] {note.topic} | {note.summary[:_MAX_SUMMARY_CHARS]} | {quotes}"


def _format_blueprint(model: ModelBlueprint) -> list[str]:
    lines = [f"driver: {driver.name} – {driver.description}" for driver in model.core_drivers]
    lines += [
        f"relation: {relationship.from_} -> {relationship.to} ({relationship.type})"
        for relationship in model.relationships
    ]
    return lines + [
        f"scenario: {scenario.name} – {'; '.join([*scenario.assumptions, *scenario.outcomes])}"
        for scenario in model.scenarios
    ]
