"""A request to the scripted model as it reads it: turns, tools, and what is asked for.

What a request asks for is told by its shape: tools mean a crawl agent (`download_file` among them, the general one), a
fence around a question one of the tasks of a research (which one, the other fences tell), a `[{"name": …}]` in the
question navigation, a fence of items an overview, or with JSON lines on headlines, one of sentences to check a second
reading, lines
`[0] [type] date | title` ranking, a tool `look_up` or the beginning of its questions a trial of the model, anything
else a summary.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

ITEMS_MARKER = "可直接采集的条目"
NEXT_PAGE_MARKER = "下一页"
URL_PATTERN = re.compile(r"https?://[^\s\"'<>()（）［］\[\]，。、；]+")
RANK_LINE_PATTERN = re.compile(r"^\[(\d+)\] \[([^\]]*)\] (\S*) ?\| ?(.*)$", re.MULTILINE)
_OFFSET = re.compile(r"offset\W{0,4}(\d+)")


class PromptTask(StrEnum):
    SECTION = "section"
    GENERAL = "general"
    NAVIGATE = "navigate"
    RANK = "rank"
    OVERVIEW = "overview"
    HEADLINES = "headlines"
    SUMMARY = "summary"
    VERIFY = "verify"
    STRUCTURE = "structure"
    FIRST_SEARCH = "first_search"
    REFLECTION = "reflection"
    FIRST_SUMMARY = "first_summary"
    REFLECTION_SUMMARY = "reflection_summary"
    FOLLOW_UP = "follow_up"
    BLUEPRINT = "blueprint"
    REPORT = "report"
    REWRITE = "rewrite"
    TRIAL = "trial"


RESEARCH_FENCES = (
    (PromptTask.REWRITE, {"SENTENCES"}),
    (PromptTask.REPORT, {"OUTLINE"}),
    (PromptTask.REFLECTION_SUMMARY, {"PARAGRAPH", "STATE", "RESULTS"}),
    (PromptTask.FIRST_SUMMARY, {"PARAGRAPH", "RESULTS"}),
    (PromptTask.FOLLOW_UP, {"REPORT", "RESULTS"}),
    (PromptTask.REFLECTION, {"PARAGRAPH", "STATE"}),
    (PromptTask.FIRST_SEARCH, {"PARAGRAPH"}),
    (PromptTask.BLUEPRINT, {"NOTES"}),
    (PromptTask.STRUCTURE, {"QUESTION"}),
)
"""The tasks of a research by the fences that their prompts have; the first whose fences are all there is meant."""

RESEARCH_TASKS = frozenset(task for task, _ in RESEARCH_FENCES)
SEARCH_TASKS = frozenset({PromptTask.FIRST_SEARCH, PromptTask.REFLECTION})

TRIAL_QUESTIONS = ("Say in two sentences what", "Answer with one JSON object", "The word is ")
"""How the questions begin by which `monitor doctor` tries a model."""

_FENCE = re.compile(r"^<<<([A-Z]+)[ \t]*$(.*?)^\1>>>[ \t]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class ScriptedToolCall:
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class ChatTurn:
    role: str
    content: str
    calls: tuple[ScriptedToolCall, ...] = ()


@dataclass(frozen=True)
class Conversation:
    turns: tuple[ChatTurn, ...]
    tools: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, body: dict[str, Any]) -> "Conversation":
        tools = frozenset(str(tool["function"]["name"]) for tool in body.get("tools") or [])
        return cls(tuple(_parse_turn(message) for message in body.get("messages") or []), tools)

    @property
    def question(self) -> str:
        return next((turn.content for turn in self.turns if turn.role == "user"), "")

    @property
    def has_begun(self) -> bool:
        return any(turn.role == "assistant" for turn in self.turns)

    @property
    def task(self) -> PromptTask:
        if "look_up" in self.tools or self.question.startswith(TRIAL_QUESTIONS):
            return PromptTask.TRIAL
        if self.tools:
            return PromptTask.GENERAL if "download_file" in self.tools else PromptTask.SECTION
        if (research := self._find_research_task()) is not None:
            return research
        if re.search(r'\[\s*\{+\s*"name"', self.question):
            return PromptTask.NAVIGATE
        if re.search(r"^<<<ITEMS$", self.question, re.MULTILINE):
            return PromptTask.HEADLINES if "JSON" in self.question else PromptTask.OVERVIEW
        if "CHECK" in self.parse_fences():
            return PromptTask.VERIFY
        return PromptTask.RANK if RANK_LINE_PATTERN.search(self.question) else PromptTask.SUMMARY

    def parse_fences(self) -> dict[str, str]:
        """What stands between the fences `<<<NAME` and `NAME>>>` of the question, by their names."""
        return {name: text.strip("\n") for name, text in _FENCE.findall(self.question)}

    def _find_research_task(self) -> PromptTask | None:
        fences = self.parse_fences().keys()
        if not fences & {"QUESTION", "SENTENCES"}:
            return None
        return next((task for task, needed in RESEARCH_FENCES if needed <= fences), None)

    def list_calls(self, name: str) -> Iterator[ScriptedToolCall]:
        return (call for turn in self.turns for call in turn.calls if call.name == name)

    @property
    def saved_urls(self) -> set[str]:
        """The urls that were saved so far, as far as the history still shows it."""
        batches = [call.arguments.get("items") for call in self.list_calls("save_results_batch")]
        items = [entry for batch in batches if isinstance(batch, list) for entry in batch if isinstance(entry, dict)]
        return {str(item.get("url")) for item in [*items, *(call.arguments for call in self.list_calls("save_result"))]}

    def find_last_page(self) -> tuple[str, str] | None:
        """Url and text of the page that the last turn's calls brought, if one of them browsed."""
        asked = next((i for i in range(len(self.turns) - 1, -1, -1) if self.turns[i].role == "assistant"), None)
        if asked is None:
            return None
        answers = [turn.content for turn in self.turns[asked + 1 :] if turn.role == "tool"]
        pairs = [pair for pair in zip(self.turns[asked].calls, answers, strict=False) if pair[0].name == "browse_page"]
        return (str(pairs[-1][0].arguments.get("url")), pairs[-1][1]) if pairs else None


@dataclass(frozen=True)
class ScriptedReply:
    text: str = ""
    calls: tuple[ScriptedToolCall, ...] = ()


@dataclass(frozen=True)
class BrowsedListPage:
    """A browsed list page: its items, the page after it, and where its own candidates go on."""

    items: list[dict[str, Any]] = field(default_factory=list)
    next_url: str | None = None
    offset: int | None = None

    @classmethod
    def parse(cls, text: str) -> "BrowsedListPage":
        """What the text form of a page says; a page that failed to load has nothing."""
        mark = text.find(ITEMS_MARKER)
        begins = text.find("[", mark) if mark >= 0 else -1
        if begins < 0:
            return cls()
        try:
            items, ends = json.JSONDecoder().raw_decode(text, begins)
        except ValueError:
            return cls()
        tail = text[ends:]
        next_line = next((line for line in tail.splitlines() if NEXT_PAGE_MARKER in line), "")
        next_url = URL_PATTERN.search(next_line)
        offset = _OFFSET.search(tail)
        return cls(
            [item for item in items if isinstance(item, dict)],
            next_url.group() if next_url else None,
            int(offset.group(1)) if offset else None,
        )


def _parse_turn(message: dict[str, Any]) -> ChatTurn:
    calls = tuple(
        ScriptedToolCall(str(call["function"]["name"]), _parse_arguments(call["function"].get("arguments")))
        for call in message.get("tool_calls") or []
    )
    return ChatTurn(str(message.get("role")), str(message.get("content") or ""), calls)


def _parse_arguments(written: object) -> dict[str, Any]:
    try:
        value = json.loads(str(written))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
