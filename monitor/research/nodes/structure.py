"""The structure of a report: its paragraphs, each with a title and what it is to find out."""

import re
from collections.abc import Mapping

from pydantic import Field, JsonValue

from monitor.domain.prompts import as_material
from monitor.domain.words import Phase
from monitor.errors import UsageError
from monitor.evidence.grounding import ungrounded_numbers
from monitor.evidence.sentences import WEB_ADDRESS, split_sentences
from monitor.llm.answers import parse_array
from monitor.research.nodes.node import UNUSABLE, NodeResult, StateMutationNode
from monitor.research.prompts.deep_search import Wording
from monitor.research.shapes import PlanParagraph
from monitor.research.state import State

TITLE_CHARS = 80
CONTENT_CHARS = 500
_TOPIC_CHARS = 60
_URL = re.compile(r"(?:https?:|www\.)\S*", re.IGNORECASE)
_END = " \t\n。．.？?！!，,；;：:"
_ASKING = re.compile(
    r"^(?:请问|请|帮我|我想知道|想了解|分析一下|研究一下|介绍一下|梳理一下|分析|研究|介绍|梳理|总结|说明|关于)+|"
    r"^(?:please|what (?:is|are|was|were)|how (?:do|does|did|is|are|has|have)|why (?:do|does|did|is|are)|"
    r"tell me about|give me|analy[sz]e|describe|explain|summari[sz]e)\s+(?:the\s+)?|"
    r"(?:(?:是|又|究竟|目前|现在)?(?:如何|怎么样|怎样)|是什么|有哪些|是多少|为何|为什么)$",
    re.IGNORECASE,
)
_BY_RULE: Mapping[str, tuple[tuple[str, str], ...]] = {
    "zh": (
        ("背景与由来", "{topic}：事情的来龙去脉、涉及的主体和基本概念。"),
        ("现状与最新进展", "{topic}：目前的情况、最近发生的变化和主要数据。"),
        ("相关政策与规则", "{topic}：有关的政策、法规、标准和监管要求，以及发布机关和施行时间。"),
        ("影响与各方看法", "{topic}：对企业、行业和公众的影响，各方的看法和分歧。"),
        ("趋势与展望", "{topic}：下一步的安排、可能的走向和需要关注的风险。"),
    ),
    "en": (
        ("Background", "{topic}: how it came about, who is involved, the terms that matter."),
        ("Present state and latest moves", "{topic}: where it stands now, recent changes, main figures."),
        ("Policy and rules", "{topic}: policies, laws, standards and supervision, by whom and from when."),
        ("Effects and views", "{topic}: effects on companies, industry and the public, and where views differ."),
        ("Outlook", "{topic}: what is planned next, where it may lead, what to watch."),
    ),
}


class Structure(NodeResult):
    """A report's title and its paragraphs; `refused` counts what the answer had beyond what may stand in a plan."""

    title: str
    paragraphs: list[PlanParagraph]
    refused: dict[str, int] = Field(default_factory=dict)


class StructureNode(StateMutationNode[str, Structure]):
    """Makes the structure of a report on a question; by rule, from the words of the question."""

    async def run(self, given: str) -> Structure:
        self.validate_input(given)
        parts = self.parts
        wording = Wording(parts.language, parts.prompts, parts.clock.now().date())
        messages = wording.structure(given, max_paragraphs=parts.limits.max_paragraphs)
        answer = await self.asked(messages, phase=Phase.PLAN, place="structure")
        structure = self.process_output(answer.text, given) if not answer.failure else None
        if structure is None:
            structure = self.by_rule(given)
            structure.fallback = answer.failure or UNUSABLE
        structure.tokens = answer.tokens
        return structure

    def validate_input(self, given: str) -> None:
        """A question has to be there."""
        if not given.strip():
            raise UsageError("There is no question: say what is to be found out.")

    def process_output(self, answer: str, given: str) -> Structure | None:
        """The paragraphs of an answer that are any: a title of their own, and nothing that nobody asked about.

        A title with a web address, or with a figure in digits that the question does not have, is no plan but a claim:
        its paragraph is left out. Of a content such sentences are.
        """
        refused: dict[str, int] = {}
        paragraphs: dict[str, PlanParagraph] = {}
        for entry in parse_array(answer, dict) or []:
            paragraph = self._paragraph(entry, given, refused)
            if paragraph is not None and len(paragraphs) < self.parts.limits.max_paragraphs:
                paragraphs.setdefault(_plain(paragraph.title), paragraph)
        if not paragraphs:
            return None
        return Structure(title=title_of(given), paragraphs=list(paragraphs.values()), refused=refused)

    def mutate_state(self, out: Structure, state: State, order: int = 0) -> State:
        """The state with this structure in place of the one that it had."""
        del order
        state.plan(out.title, out.paragraphs)
        state.updated_at = self.parts.clock.now()
        return state

    def by_rule(self, question: str) -> Structure:
        """Background, present state, rules, effects and outlook, about what the question is about."""
        topic = topic_of(question)
        planned = _BY_RULE[self.parts.language][: self.parts.limits.max_paragraphs]
        paragraphs = [PlanParagraph(title=title, content=content.format(topic=topic)) for title, content in planned]
        return Structure(title=title_of(question), paragraphs=paragraphs)

    def _paragraph(self, entry: JsonValue, question: str, refused: dict[str, int]) -> PlanParagraph | None:
        if not isinstance(entry, dict):
            return None
        title, content = (as_material(str(entry.get(name) or "")) for name in ("title", "content"))
        title = title.lstrip("# ").rstrip(_END)
        kind = "urls" if WEB_ADDRESS.search(title) else "figures" if _is_claiming(title, question) else ""
        if kind:
            refused[kind] = refused.get(kind, 0) + 1
        if kind or not title:
            return None
        kept = [sentence for sentence in split_sentences(_URL.sub("", content)) if not _is_claiming(sentence, question)]
        told = "".join(kept) if self.parts.language == "zh" else " ".join(kept)
        return PlanParagraph(title=cut_at_word(title, TITLE_CHARS), content=cut_at_word(told, CONTENT_CHARS) or title)


def is_planned_by_rule(title: str) -> bool:
    """Whether a paragraph's title is one of those of a plan by rule."""
    return any(title == one for planned in _BY_RULE.values() for one, _ in planned)


def topic_of(question: str) -> str:
    """What a question is about: its own words without those that only ask."""
    flat = _URL.sub("", as_material(question)).strip(_END)
    return cut_at_word(_ASKING.sub("", flat).strip(_END) or flat, _TOPIC_CHARS)


def cut_at_word(text: str, max_chars: int) -> str:
    """The beginning of a text, without half a word of a language that has spaces."""
    if len(text) <= max_chars:
        return text
    head, _, rest = text[:max_chars].rpartition(" ")
    return head if rest.isascii() and head else text[:max_chars]


def title_of(question: str) -> str:
    """The title of a report on a question: the question."""
    title = _URL.sub("", as_material(question)).strip(_END)
    return cut_at_word(title, TITLE_CHARS) or topic_of(question)


def _is_claiming(text: str, question: str) -> bool:
    """Whether a text says figures in digits that the question does not have; 三个方面 and 五大领域 are words."""
    return any(re.search(r"\d", figure) for figure in ungrounded_numbers(text, question))


def _plain(title: str) -> str:
    return "".join(char for char in title.casefold() if char.isalnum())
