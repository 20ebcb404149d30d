"""The structure of a report: its paragraphs, each with a title and what it is to find out."""

import re

from pydantic import JsonValue

from monitor.errors import UsageError
from monitor.extract.sentences import WEB_ADDRESS, split_sentences
from monitor.i18n.catalogue import LANGUAGES, get_words
from monitor.llm.answer_schemas import TEXT, describe_list, describe_object
from monitor.llm.answers import parse_array
from monitor.llm.chat import CompletionRequest
from monitor.llm.prompts import flatten_untrusted_text
from monitor.research.node import NodeResult, PromptNode, StateMutationNode
from monitor.research.shapes import PlanParagraph
from monitor.research.state import State
from monitor.verify.grounding import find_ungrounded_numbers
from monitor.vocabulary import Phase

MAX_TITLE_CHARS = 80
MAX_CONTENT_CHARS = 500
_MAX_TOPIC_CHARS = 60
_ANSWER_SCHEMA = describe_list(describe_object(title=TEXT, content=TEXT))
URL = re.compile(r"(?:https?:|www\.)\S*", re.IGNORECASE)
_TRAILING_CHARS = " \t\n。．.？?！!，,；;：:"

_QUESTION_WORDS = re.compile(
    r"^(?:请问|请|帮我|我想知道|想了解|分析一下|研究一下|介绍一下|梳理一下|分析|研究|介绍|梳理|总结|说明|关于)+|"
    r"^(?:please|what (?:is|are|was|were)|how (?:do|does|did|is|are|has|have)|why (?:do|does|did|is|are)|"
    r"tell me about|give me|analy[sz]e|describe|explain|summari[sz]e)\s+(?:the\s+)?|"
    r"(?:(?:是|又|究竟|目前|现在)?(?:如何|怎么样|怎样)|是什么|有哪些|是多少|为何|为什么)$",
    re.IGNORECASE,
)

_PLAN_BY_RULE = ("background", "state", "rules", "effects", "outlook")
"""What a plan by rule has, as values of the vocabularies `plan_title` and `plan_content`."""


class ReportStructure(NodeResult):
    title: str
    paragraphs: list[PlanParagraph]


class StructureNode(PromptNode[str, ReportStructure], StateMutationNode[str, ReportStructure]):
    """Plans a report on a question; by rule, from the words of the question."""

    def build_request(self, given: str) -> CompletionRequest:
        messages = self.deps.prompt_builder.build_structure_messages(
            given, max_paragraphs=self.deps.limits.max_paragraphs
        )
        return CompletionRequest(messages, Phase.PLAN, "structure", schema=_ANSWER_SCHEMA)

    def validate_input(self, given: str) -> None:
        if not given.strip():
            raise UsageError("research.question_missing")

    def process_output(self, answer: str, given: str) -> ReportStructure | None:
        """Return the paragraphs of an answer, each title once.

        A title with a web address, or with a figure in digits that the question does not have, is no plan but a claim:
        its paragraph is left out. Of a content such sentences are left out.
        """
        refused: dict[str, int] = {}
        paragraphs: dict[str, PlanParagraph] = {}
        for entry in parse_array(answer, dict) or []:
            paragraph = self._parse_paragraph(entry, given, refused)
            if paragraph is not None and len(paragraphs) < self.deps.limits.max_paragraphs:
                letters = "".join(char for char in paragraph.title.casefold() if char.isalnum())
                paragraphs.setdefault(letters, paragraph)
        if not paragraphs:
            return None
        return ReportStructure(title=build_title(given), paragraphs=list(paragraphs.values()), refused=refused)

    def mutate_state(self, out: ReportStructure, state: State, order: int = 0) -> State:
        del order
        state.apply_plan(out.title, out.paragraphs)
        state.updated_at = self.deps.clock.now()
        return state

    async def run_by_rule(self, given: str) -> ReportStructure:
        """Plan background, present state, rules, effects and outlook of the question's topic."""
        topic = extract_topic(given)
        language = self.deps.language
        titles, contents = get_words(language, "plan_title"), get_words(language, "plan_content")
        paragraphs = [
            PlanParagraph(title=titles[name], content=contents[name].format(topic=topic))
            for name in _PLAN_BY_RULE[: self.deps.limits.max_paragraphs]
        ]
        return ReportStructure(title=build_title(given), paragraphs=paragraphs)

    def _parse_paragraph(self, entry: JsonValue, question: str, refused: dict[str, int]) -> PlanParagraph | None:
        if not isinstance(entry, dict):
            return None
        title, content = (flatten_untrusted_text(str(entry.get(name) or "")) for name in ("title", "content"))
        title = title.lstrip("# ").rstrip(_TRAILING_CHARS)
        kind = "urls" if WEB_ADDRESS.search(title) else "figures" if _has_ungrounded_figures(title, question) else ""
        if kind:
            refused[kind] = refused.get(kind, 0) + 1
        if kind or not title:
            return None
        sentences = split_sentences(URL.sub("", content))
        kept = [sentence for sentence in sentences if not _has_ungrounded_figures(sentence, question)]
        body = "".join(kept) if self.deps.language == "zh" else " ".join(kept)
        return PlanParagraph(
            title=truncate_at_word(title, MAX_TITLE_CHARS), content=truncate_at_word(body, MAX_CONTENT_CHARS) or title
        )


def is_planned_by_rule(title: str) -> bool:
    return any(title in get_words(language, "plan_title").values() for language in LANGUAGES)


def extract_topic(question: str) -> str:
    """Return the words of a question without those that only ask."""
    flat = URL.sub("", flatten_untrusted_text(question)).strip(_TRAILING_CHARS)
    return truncate_at_word(_QUESTION_WORDS.sub("", flat).strip(_TRAILING_CHARS) or flat, _MAX_TOPIC_CHARS)


def truncate_at_word(text: str, max_chars: int) -> str:
    """Return the beginning of a text, without half a word of a language that has spaces."""
    if len(text) <= max_chars:
        return text
    head, _, rest = text[:max_chars].rpartition(" ")
    return head if rest.isascii() and head else text[:max_chars]


def build_title(question: str) -> str:
    title = URL.sub("", flatten_untrusted_text(question)).strip(_TRAILING_CHARS)
    return truncate_at_word(title, MAX_TITLE_CHARS) or extract_topic(question)


def _has_ungrounded_figures(text: str, question: str) -> bool:
    """Return whether a text has figures in digits that the question lacks; 三个方面 and 五大领域 are words."""
    return any(re.search(r"\d", figure) for figure in find_ungrounded_numbers(text, question))
