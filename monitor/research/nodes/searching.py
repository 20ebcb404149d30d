"""What to search for, and with which tool: the first time for a paragraph, and again for what it still lacks."""

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel, Field, JsonValue

from monitor.domain.prompts import as_material
from monitor.domain.words import Phase
from monitor.errors import UsageError
from monitor.llm.answers import parse_object
from monitor.research.nodes.node import UNUSABLE, NodeResult, StateMutationNode
from monitor.research.nodes.structure import cut_at_word, is_planned_by_rule, topic_of
from monitor.research.parts import ResearchParts
from monitor.research.prompts.deep_search import Wording
from monitor.research.state import Round, State
from monitor.research.subjects import subject_queries
from monitor.research.tools import BASIC, TOOLS, NewsTool
from monitor.retrieval.overlap import overlap

QUERY_CHARS = 160
_BY_RULE_CHARS = 100
_REASONING_CHARS = 300
_COVERED = 0.6
_MOST_PHRASES = 3
_URL = re.compile(r"(?:https?:|www\.)\S*", re.IGNORECASE)
_OPERATOR = re.compile(
    r"(?<![^\s(（])-?(?:site|inurl|intitle|intext|inanchor|allin\w+|filetype|ext|related|cache|link|before|after)"
    r"[:：]\s?\S*",
    re.IGNORECASE,
)
_APART = re.compile(
    r"[\s，。；：、,.;:!?！？（）()《》“”\"'—\-]+|以及|和|与|及|的|\band\b|\bor\b|\bthe\b|\bof\b|\bby\b"
)
_ASKED_FOR = re.compile(
    r"^(?:梳理|说明|分析|查明|了解|介绍|给出|列出|比较|总结|评估|可以|可|需要|有关|相关|哪些|主要)+"
    r"|(?:核对|查证)的?$|^(?:数字|数据|日期|文件|事实|出处|来源|情况|内容)$"
    r"|\b(?:describe|explain|find|out|which|with|that|can|be|checked|what|is|are|figures?|dates?|documents?|facts?|"
    r"sources?|its?|in|on|for|to|a|an)\b",
    re.IGNORECASE,
)
_FURTHER = {"zh": ("最新进展", "数据 统计", "政策 解读", "案例"), "en": ("latest", "statistics", "analysis", "cases")}


class Gap(BaseModel):
    """What a search is wanted for: the paragraph with its place, its text so far, what was found and searched for.

    `found` are titles and texts of the results; `latest_summary` is None before the first search.
    """

    question: str
    title: str
    content: str
    order: int = 0
    latest_summary: str | None = None
    found: list[str] = Field(default_factory=list)
    rounds: list[Round] = Field(default_factory=list)


class SearchChoice(NodeResult):
    """A search that was chosen. `slips` are what was not as it should be in the answer, and was put right."""

    search_query: str
    search_tool: str = BASIC
    reasoning: str = ""
    start_date: str | None = None
    end_date: str | None = None
    slips: list[str] = Field(default_factory=list)


class _SearchNode(StateMutationNode[Gap, SearchChoice]):
    name: str

    def __init__(self, parts: ResearchParts, tools: Mapping[str, NewsTool] = TOOLS) -> None:
        super().__init__(parts)
        self._tools = tools

    async def run(self, given: Gap) -> SearchChoice:
        self.validate_input(given)
        parts = self.parts
        wording = Wording(parts.language, parts.prompts, parts.clock.now().date())
        told = {name: tool.told[parts.language] for name, tool in self._tools.items()}
        messages = wording.search(
            given.question,
            given.title,
            given.content,
            told,
            state=given.latest_summary,
            made=[one.search_query for one in given.rounds],
        )
        answer = await self.asked(messages, phase=Phase.SEARCH, place=f"{given.title}: {self.name}")
        choice = self.process_output(answer.text, given) if not answer.failure else None
        if choice is None:
            choice = SearchChoice(search_query=self.query_by_rule(given), fallback=answer.failure or UNUSABLE)
        choice.tokens = answer.tokens
        return choice

    def validate_input(self, given: Gap) -> None:
        """A paragraph has a title, and says what it is to find out."""
        if not given.title.strip() or not given.content.strip():
            raise UsageError("A paragraph needs a title and a content to be searched for.")

    def process_output(self, answer: str, given: Gap) -> SearchChoice | None:
        """The search that an answer means, with what is wrong in it put right."""
        document = parse_object(answer)
        if document is None or not {"search_query", "search_tool"} & document.keys():
            return None
        slips: list[str] = []
        tool, start, end = self._tool(document, slips)
        query = clean_query(_text(document.get("search_query")))
        if not query:
            slips.append("no query that can be searched for")
        elif any(_asked_for(one) == (query, tool, start, end) for one in given.rounds):
            slips.append("the same search was made before")
            query = ""
        reasoning = " ".join(_URL.sub("", as_material(_text(document.get("reasoning")))).split())
        return SearchChoice(
            search_query=query or self.query_by_rule(given),
            search_tool=tool,
            start_date=start,
            end_date=end,
            reasoning=reasoning[:_REASONING_CHARS],
            slips=slips,
        )

    def mutate_state(self, out: SearchChoice, state: State, order: int) -> State:
        """The state with the search as a further round of its paragraph."""
        research = state.paragraphs[order].research
        number = len(research.rounds)
        told = [f"{self.name}: {out.fallback}"] if out.fallback else []
        told += [f"{self.name}, put right: {slip}" for slip in out.slips]
        research.rounds.append(
            Round(
                number=number,
                query_id=f"p{order + 1}-q{number + 1}",
                search_query=out.search_query,
                search_tool=out.search_tool,
                reasoning=out.reasoning,
                start_date=out.start_date,
                end_date=out.end_date,
                fallbacks=told,
            )
        )
        research.tokens += out.tokens
        state.updated_at = self.parts.clock.now()
        return state

    def query_by_rule(self, given: Gap) -> str:
        """The first query by rule that was not asked yet: paragraph and question, then what no result covers yet."""
        asked = {one.search_query for one in given.rounds}
        queries = list(_queries(given, self.parts.language))
        return next((query for query in queries if query not in asked), queries[0])

    def _tool(self, document: Mapping[str, JsonValue], slips: list[str]) -> tuple[str, str | None, str | None]:
        """Tool and dates; the basic tool where the one that is named is not there or lacks its dates."""
        name = _text(document.get("search_tool")).strip()
        if name not in self._tools:
            slips.append("there is no such tool")
            return BASIC, None, None
        if not self._tools[name].wants_dates:
            return name, None, None
        try:
            start, end = (dt.date.fromisoformat(_text(document.get(key)).strip()) for key in ("start_date", "end_date"))
        except ValueError:
            slips.append(f"{name} without two dates")
            return BASIC, None, None
        if start > end or start > self.parts.clock.now().date():
            slips.append(f"{name} with dates in no order")
            return BASIC, None, None
        return name, start.isoformat(), end.isoformat()


class FirstSearchNode(_SearchNode):
    """Chooses the first search of a paragraph; by rule, its title and the words of the question."""

    name = "first_search"


class ReflectionNode(_SearchNode):
    """Chooses a search for what a paragraph still lacks; by rule, the words of its plan that no result covers yet."""

    name = "reflection"

    def validate_input(self, given: Gap) -> None:
        """The text so far has to be given too, be it empty."""
        super().validate_input(given)
        if given.latest_summary is None:
            raise UsageError("A reflection needs the latest summary of its paragraph.")

    def query_by_rule(self, given: Gap) -> str:
        """A query that was not asked yet, of what the results do not cover first."""
        if is_planned_by_rule(given.title):
            return super().query_by_rule(given)
        asked = {one.search_query for one in given.rounds}
        topic, found = topic_of(given.question), "\n".join(given.found)
        lacking = [phrase for phrase in _phrases(given) if (overlap(phrase, found) or 0.0) < _COVERED]
        together = cut_at_word(" ".join([topic, *lacking[:_MOST_PHRASES]]), _BY_RULE_CHARS)
        single = [cut_at_word(f"{topic} {one}", _BY_RULE_CHARS) for one in lacking]
        queries = ([together] if lacking else []) + single
        return next((query for query in queries if query not in asked), super().query_by_rule(given))


def clean_query(text: str) -> str:
    """A query in plain words: no web addresses, no operators; empty where nothing is left, or far too much."""
    query = " ".join(_OPERATOR.sub(" ", _URL.sub(" ", as_material(text))).split())
    is_sayable = any(char.isalnum() for char in query) and len(query) <= QUERY_CHARS
    return query if is_sayable else ""


def _queries(given: Gap, language: str) -> Iterator[str]:
    if is_planned_by_rule(given.title):
        # Its title is an aspect that hardly a page names: what is asked about is searched for, subject by subject.
        yield from subject_queries(given.question, given.order, given.title)
        return
    topic = topic_of(given.question)
    is_in_title = (overlap(topic, given.title) or 0.0) >= _COVERED
    yield cut_at_word(given.title if is_in_title else f"{given.title} {topic}", _BY_RULE_CHARS)
    yield from (cut_at_word(f"{topic} {further}", _BY_RULE_CHARS) for further in _FURTHER[language])


def _phrases(given: Gap) -> Sequence[str]:
    """What the plan of a paragraph names, phrase by phrase; not what it asks for, nor what the question names."""
    named = (_ASKED_FOR.sub("", part).strip() for part in _APART.split(f"{given.title} {given.content}"))
    phrases = dict.fromkeys(one for one in named if len(one) > 1)
    return [phrase for phrase in phrases if (overlap(phrase, given.question) or 0.0) < _COVERED]


def _asked_for(one: Round) -> tuple[str, str, str | None, str | None]:
    return one.search_query, one.search_tool, one.start_date, one.end_date


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
