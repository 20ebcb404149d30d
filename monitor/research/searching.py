"""What to search for, and with which tool: the first time for a paragraph, and again for what it still lacks."""

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import BaseModel, Field, JsonValue

from monitor.config.model import ResearchSettings
from monitor.errors import UsageError
from monitor.i18n.message import Message
from monitor.llm.answer_schemas import ANY_OBJECT
from monitor.llm.answers import parse_object
from monitor.llm.chat import CompletionRequest
from monitor.llm.prompts import flatten_untrusted_text
from monitor.research.node import NodeResult, PromptNode, StateMutationNode, describe_node_fallback
from monitor.research.shapes import SearchConfig
from monitor.research.state import ChosenSearch, SearchRound, State
from monitor.research.structure import URL, extract_topic, is_planned_by_rule, truncate_at_word
from monitor.search.bundles.scoring import compute_overlap
from monitor.search.contract import MAX_LIMIT, DateRange, Recency, SearchQuery, ToolResult, WebSearch
from monitor.vocabulary import Phase

BASIC = "basic_search_news"
DEEP = "deep_search_news"
LAST_DAY = "search_news_last_24_hours"
LAST_WEEK = "search_news_last_week"
IMAGES = "search_images_for_news"
BY_DATE = "search_news_by_date"
KEPT_EVIDENCE = "kept_evidence"
"""Stands for a tool in the round that has the pages of a report, and searches for nothing."""


@dataclass(frozen=True, kw_only=True)
class NewsTool:
    """A way to search: how many results it asks for, its options of `SearchQuery`, and what the model is told of it.

    `wants_dates`: it is called with the first and the last day of a range.
    """

    max_results: int
    descriptions: Mapping[str, str]
    options: Mapping[str, Any] = field(default_factory=dict)
    wants_dates: bool = False


TOOLS: Mapping[str, NewsTool] = {
    BASIC: NewsTool(
        max_results=7,
        descriptions={"zh": "一般检索，最常用，拿不准时用它", "en": "an ordinary search; the one to take in doubt"},
        options={"depth": "basic"},
    ),
    DEEP: NewsTool(
        max_results=20,
        descriptions={
            "zh": "深入检索，结果更多，适合要全面了解的主题",
            "en": "a thorough search with more results, for a broad view",
        },
        options={"depth": "advanced"},
    ),
    LAST_DAY: NewsTool(
        max_results=10,
        descriptions={"zh": "最近 24 小时，用于突发和最新消息", "en": "the last 24 hours, for what has just happened"},
        options={"time_range": Recency.DAY},
    ),
    LAST_WEEK: NewsTool(
        max_results=10,
        descriptions={"zh": "最近一周，用于近期动态", "en": "the last week, for recent developments"},
        options={"time_range": Recency.WEEK},
    ),
    IMAGES: NewsTool(max_results=5, descriptions={"zh": "带图片的报道", "en": "reports with pictures"}),
    BY_DATE: NewsTool(
        max_results=15,
        descriptions={
            "zh": "指定日期范围，须给出 start_date 和 end_date（YYYY-MM-DD）",
            "en": "a range of dates; needs start_date and end_date (YYYY-MM-DD)",
        },
        wants_dates=True,
    ),
}
"""The tools by name; the model sees them in this order."""


@dataclass
class NewsTools:
    """The tools as one set. Results are as many as the tool asks for, within the limits of settings and question."""

    search: WebSearch
    limits: ResearchSettings
    config: SearchConfig
    tools: Mapping[str, NewsTool] = field(default_factory=lambda: TOOLS)

    async def basic_search_news(self, query: str, max_results: int = 7) -> ToolResult:
        return await self.run_tool(BASIC, query, max_results=max_results)

    async def deep_search_news(self, query: str) -> ToolResult:
        return await self.run_tool(DEEP, query)

    async def search_news_last_24_hours(self, query: str) -> ToolResult:
        return await self.run_tool(LAST_DAY, query)

    async def search_news_last_week(self, query: str) -> ToolResult:
        return await self.run_tool(LAST_WEEK, query)

    async def search_images_for_news(self, query: str) -> ToolResult:
        """Search for a few reports; the pictures themselves are not asked for, as no report can rest on them."""
        return await self.run_tool(IMAGES, query)

    async def search_news_by_date(self, query: str, start_date: str, end_date: str) -> ToolResult:
        """Search from one day to another, both included; `ValueError` for what is no ISO date."""
        return await self.run_tool(BY_DATE, query, start_date, end_date)

    async def run_tool(
        self,
        name: str,
        text: str,
        start_date: str | None = None,
        end_date: str | None = None,
        *,
        max_results: int | None = None,
    ) -> ToolResult:
        """Search with the tool of that name; `KeyError` where there is none, `ValueError` for dates that are none."""
        wanted = max_results or self.tools[name].max_results
        limit = min(wanted, self.limits.max_results, self.config.max_results or MAX_LIMIT, MAX_LIMIT)
        return await self.search.search(self.build_query(name, text, start_date, end_date), limit)

    def is_time_limited(self, name: str) -> bool:
        return self.tools[name].wants_dates or "time_range" in self.tools[name].options

    def build_query(
        self, name: str, text: str, start_date: str | None = None, end_date: str | None = None
    ) -> SearchQuery:
        tool = self.tools[name]
        query = SearchQuery(text=text, budget_ms=self.config.timeout_ms, **tool.options)
        if not tool.wants_dates:
            return query
        days = DateRange(start=dt.date.fromisoformat(start_date or ""), end=dt.date.fromisoformat(end_date or ""))
        return query.model_copy(update={"time_range": days})


MAX_SUBJECTS = 4
_MIN_SUBJECT_CHARS, _MAX_SUBJECT_CHARS = 2, 30
_QUOTED_NAME = re.compile(r"《([^《》]{2,60})》|“([^“”]{2,60})”|\"([^\"]{2,60})\"")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_SEPARATORS = re.compile(
    r"[\s，。；：、,.;:!?！？（）()/·—-]+|以及|对于|关于|对|在|的|了|"
    r"请问|如何|怎么样|怎样|怎么|有哪些|是什么|什么|哪些|多少|为何|为什么|是否|以来|实施|衔接"
)
_CONJUNCTION = re.compile(r"(?<=[\u4e00-\u9fffA-Za-z0-9]{2})[和与及或](?=[\u4e00-\u9fffA-Za-z0-9]{2})")

_GENERIC_WORDS = (
    r"分析|研究|介绍|梳理|总结|说明|了解|我国|中国|国内外|全球|近年来|近年|近期|目前|当前|现在|今年|去年|明年|未来|最新|最近|主要|相关|有关|"
    r"重大|整体|总体|具体|政策|规定|法规|情况|进展|动态|现状|趋势|走向|前景|展望|发展|变化|影响|问题|挑战|机遇|特点|原因|措施|动向|方向|"
    r"配套|进一步|(?:20|19)\d\d年?(?:上半年|下半年|度)?|[一二三四]季度"
)

_GENERIC_PREFIX = re.compile(rf"^(?:{_GENERIC_WORDS})+")
_GENERIC_SUFFIX = re.compile(rf"(?:{_GENERIC_WORDS})+$")

_STOP_WORDS = re.compile(
    r"(?:"
    r"a|about|an|analyse|analyze|and|are|as|at|be|been|by|can|could|current|describe|"
    r"developing|development|developments|did|do|does|effect|effects|explain|for|from|give|"
    r"going|had|has|have|heading|how|impact|in|into|is|it|its|latest|me|most|new|now|of|"
    r"on|or|outlook|overview|please|policies|policy|recent|report|research|rules|say|says|"
    r"should|situation|so|state|status|summarise|summarize|tell|than|that|the|their|there|"
    r"these|they|this|to|today|trend|trends|update|updates|was|what|when|where|whether|"
    r"which|who|why|will|with|would|year|years"
    r")",
    re.IGNORECASE,
)

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9'&-]*|\d+|[^\sA-Za-z0-9]")


def extract_subjects(question: str) -> list[str]:
    """Return the subjects of a question, at most four, names in quotation marks first; without any, the question.

    Words that only ask, that say when, or that nearly every page has (政策, 现状, latest) are no subjects.
    """
    flat = URL.sub(" ", flatten_untrusted_text(question))
    named = ["".join(groups) for groups in _QUOTED_NAME.findall(flat)]
    rest = _QUOTED_NAME.sub(" ", flat)
    found = [*named, *(_extract_chinese(rest) if _HAN.search(rest) else _extract_english(rest))]
    distinct: list[str] = []
    for subject in found:
        is_new = not any(subject in other or other in subject for other in distinct)
        if is_new and _MIN_SUBJECT_CHARS <= len(subject) <= _MAX_SUBJECT_CHARS:
            distinct.append(subject)
    return distinct[:MAX_SUBJECTS] or [flat.strip(" ？?。.！!")]


def build_subject_queries(question: str, order: int, aspect: str) -> list[str]:
    """Return queries for the paragraph at `order`: all subjects, each alone, each with the paragraph's aspect.

    Paragraphs begin with different subjects, so that together they search for each.
    """
    subjects = extract_subjects(question)
    turned = [*subjects[order % len(subjects) :], *subjects[: order % len(subjects)]]
    queries = [" ".join(subjects), *turned, *(f"{entry} {aspect}" for entry in turned)]
    return list(dict.fromkeys(queries))


def _extract_chinese(text: str) -> list[str]:
    pieces = [piece for part in _SEPARATORS.split(text) for piece in _CONJUNCTION.split(part)]
    return [bare for piece in pieces if (bare := _GENERIC_SUFFIX.sub("", _GENERIC_PREFIX.sub("", piece)))]


def _extract_english(text: str) -> list[str]:
    stretches: list[list[str]] = [[]]
    for word in _WORD.findall(text):
        if _STOP_WORDS.fullmatch(word) or not word[0].isalnum() or word.isdigit():
            stretches.append([])
        else:
            stretches[-1].append(word)
    return [" ".join(stretch) for stretch in stretches if stretch]


MAX_QUERY_CHARS = 160
_MAX_RULE_QUERY_CHARS = 100
_MAX_REASONING_CHARS = 300
_MIN_COVERAGE = 0.6
_MAX_PHRASES = 3

_SEARCH_OPERATOR = re.compile(
    r"(?<![^\s(（])-?(?:site|inurl|intitle|intext|inanchor|allin\w+|filetype|ext|related|cache|link|before|after)"
    r"[:：]\s?\S*",
    re.IGNORECASE,
)

_PHRASE_SEPARATOR = re.compile(
    r"[\s，。；：、,.;:!?！？（）()《》“”\"'—\-]+|以及|和|与|及|的|\band\b|\bor\b|\bthe\b|\bof\b|\bby\b"
)

_TASK_WORDS = re.compile(
    r"^(?:梳理|说明|分析|查明|了解|介绍|给出|列出|比较|总结|评估|可以|可|需要|有关|相关|哪些|主要)+"
    r"|(?:核对|查证)的?$|^(?:数字|数据|日期|文件|事实|出处|来源|情况|内容)$"
    r"|\b(?:describe|explain|find|out|which|with|that|can|be|checked|what|is|are|figures?|dates?|documents?|facts?|"
    r"sources?|its?|in|on|for|to|a|an)\b",
    re.IGNORECASE,
)

_QUERY_SUFFIXES = {
    "zh": ("最新进展", "数据 统计", "政策 解读", "案例"),
    "en": ("latest", "statistics", "analysis", "cases"),
}


class SearchNodeInput(BaseModel):
    """The paragraph to search for. `found` are titles and texts of its results so far.

    `latest_summary` is None before the first search.
    """

    question: str
    title: str
    content: str
    order: int = 0
    latest_summary: str | None = None
    found: list[str] = Field(default_factory=list)
    rounds: list[SearchRound] = Field(default_factory=list)


class SearchChoice(ChosenSearch, NodeResult):
    """A chosen search; `corrections` are the errors of the answer that were corrected."""

    search_tool: str = BASIC
    corrections: list[Message] = Field(default_factory=list)


@dataclass
class _SearchNode(PromptNode[SearchNodeInput, SearchChoice], StateMutationNode[SearchNodeInput, SearchChoice]):
    tools: Mapping[str, NewsTool] = field(default_factory=lambda: TOOLS)
    name: ClassVar[str]

    def build_request(self, given: SearchNodeInput) -> CompletionRequest:
        messages = self.deps.prompt_builder.build_search_messages(
            given.question,
            given.title,
            given.content,
            {name: tool.descriptions[self.deps.language] for name, tool in self.tools.items()},
            state=given.latest_summary,
            previous_queries=[search_round.search_query for search_round in given.rounds],
        )
        return CompletionRequest(messages, Phase.SEARCH, f"{given.title}: {self.name}", schema=ANY_OBJECT)

    async def run_by_rule(self, given: SearchNodeInput) -> SearchChoice:
        return SearchChoice(search_query=self.build_query_by_rule(given))

    def validate_input(self, given: SearchNodeInput) -> None:
        if not given.title.strip() or not given.content.strip():
            raise UsageError("research.paragraph_incomplete")

    def process_output(self, answer: str, given: SearchNodeInput) -> SearchChoice | None:
        document = parse_object(answer)
        if document is None or not {"search_query", "search_tool"} & document.keys():
            return None
        corrections: list[Message] = []
        tool, start, end = self._parse_tool(document, corrections)
        query = clean_query(_convert_to_text(document.get("search_query")))
        if not query:
            corrections.append(Message.of("research.query_missing"))
        elif (query, tool, start, end) in [
            (made.search_query, made.search_tool, made.start_date, made.end_date) for made in given.rounds
        ]:
            corrections.append(Message.of("research.query_repeated"))
            query = ""
        reasoning = " ".join(URL.sub("", flatten_untrusted_text(_convert_to_text(document.get("reasoning")))).split())
        return SearchChoice(
            search_query=query or self.build_query_by_rule(given),
            search_tool=tool,
            start_date=start,
            end_date=end,
            reasoning=reasoning[:_MAX_REASONING_CHARS],
            corrections=corrections,
        )

    def mutate_state(self, out: SearchChoice, state: State, order: int) -> State:
        research = state.paragraphs[order].research
        number = len(research.rounds)
        chosen = out.model_dump(include=set(ChosenSearch.model_fields))
        fallbacks = [describe_node_fallback(self.name, out.fallback)] if out.fallback else []
        node = Message.of(f"research.node_{self.name}")
        fallbacks += [Message.of("research.correction", node=node, problem=problem) for problem in out.corrections]
        research.rounds.append(
            SearchRound(number=number, query_id=f"p{order + 1}-q{number + 1}", fallbacks=fallbacks, **chosen)
        )
        research.tokens += out.tokens
        state.updated_at = self.deps.clock.now()
        return state

    def build_query_by_rule(self, given: SearchNodeInput) -> str:
        """Return the first query of paragraph and question that was not asked yet."""
        queries = list(_build_queries_by_rule(given, self.deps.language))
        return _find_new_query(queries, given) or queries[0]

    def _parse_tool(
        self, document: Mapping[str, JsonValue], corrections: list[Message]
    ) -> tuple[str, str | None, str | None]:
        name = _convert_to_text(document.get("search_tool")).strip()
        if name not in self.tools:
            corrections.append(Message.of("research.tool_unknown"))
            return BASIC, None, None
        if not self.tools[name].wants_dates:
            return name, None, None
        try:
            start, end = (
                dt.date.fromisoformat(_convert_to_text(document.get(key)).strip()) for key in ("start_date", "end_date")
            )
        except ValueError:
            corrections.append(Message.of("research.dates_missing", tool=name))
            return BASIC, None, None
        if start > end or start > self.deps.clock.now().date():
            corrections.append(Message.of("research.dates_reversed", tool=name))
            return BASIC, None, None
        return name, start.isoformat(), end.isoformat()


class FirstSearchNode(_SearchNode):
    """Chooses the first search of a paragraph; by rule, its title and the words of the question."""

    name = "first_search"


class ReflectionNode(_SearchNode):
    """Chooses a search for what a paragraph still lacks; by rule, the words of its plan that no result covers yet."""

    name = "reflection"

    def validate_input(self, given: SearchNodeInput) -> None:
        super().validate_input(given)
        if given.latest_summary is None:
            raise UsageError("research.summary_missing")

    def build_query_by_rule(self, given: SearchNodeInput) -> str:
        """Return a query that was not asked yet, of what the results do not cover first."""
        if is_planned_by_rule(given.title):
            return super().build_query_by_rule(given)
        topic, found = extract_topic(given.question), "\n".join(given.found)
        lacking = [phrase for phrase in _list_phrases(given) if (compute_overlap(phrase, found) or 0.0) < _MIN_COVERAGE]
        together = truncate_at_word(" ".join([topic, *lacking[:_MAX_PHRASES]]), _MAX_RULE_QUERY_CHARS)
        single = [truncate_at_word(f"{topic} {entry}", _MAX_RULE_QUERY_CHARS) for entry in lacking]
        queries = ([together] if lacking else []) + single
        return _find_new_query(queries, given) or super().build_query_by_rule(given)


def _find_new_query(queries: Sequence[str], given: SearchNodeInput) -> str | None:
    asked = {search_round.search_query for search_round in given.rounds}
    return next((query for query in queries if query not in asked), None)


def clean_query(text: str) -> str:
    """Return a query without web addresses and operators; empty where nothing is left, or far too much."""
    query = " ".join(_SEARCH_OPERATOR.sub(" ", URL.sub(" ", flatten_untrusted_text(text))).split())
    is_sayable = any(char.isalnum() for char in query) and len(query) <= MAX_QUERY_CHARS
    return query if is_sayable else ""


def _build_queries_by_rule(given: SearchNodeInput, language: str) -> Iterator[str]:
    if is_planned_by_rule(given.title):
        # Its title is an aspect that hardly a page names: what is asked about is searched for, subject by subject.
        yield from build_subject_queries(given.question, given.order, given.title)
        return
    topic = extract_topic(given.question)
    is_in_title = (compute_overlap(topic, given.title) or 0.0) >= _MIN_COVERAGE
    yield truncate_at_word(given.title if is_in_title else f"{given.title} {topic}", _MAX_RULE_QUERY_CHARS)
    yield from (truncate_at_word(f"{topic} {further}", _MAX_RULE_QUERY_CHARS) for further in _QUERY_SUFFIXES[language])


def _list_phrases(given: SearchNodeInput) -> Sequence[str]:
    """List the phrases of a paragraph's plan, without what it asks for and what the question names."""
    named = (_TASK_WORDS.sub("", part).strip() for part in _PHRASE_SEPARATOR.split(f"{given.title} {given.content}"))
    phrases = dict.fromkeys(entry for entry in named if len(entry) > 1)
    return [phrase for phrase in phrases if (compute_overlap(phrase, given.question) or 0.0) < _MIN_COVERAGE]


def _convert_to_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
