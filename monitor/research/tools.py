"""The news tools: what a model may choose among when it searches, each over web.search, whichever backend serves it.

A tool is an entry of `TOOLS`. What is added there is offered to the model under its name, and called when it is chosen.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from monitor.config.model import ResearchSettings
from monitor.research.shapes import SearchConfig
from monitor.search.contract import MAX_LIMIT, DateRange, Recency, SearchQuery, ToolResult, WebSearch

BASIC = "basic_search_news"
DEEP = "deep_search_news"
LAST_DAY = "search_news_last_24_hours"
LAST_WEEK = "search_news_last_week"
IMAGES = "search_images_for_news"
BY_DATE = "search_news_by_date"


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
    IMAGES: NewsTool(
        max_results=5,
        descriptions={"zh": "带图片的报道", "en": "reports with pictures"},
        options={"wants_images": True},
    ),
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


class NewsTools:
    """The tools as one set. Results are as many as the tool asks for, within the limits of settings and question."""

    def __init__(
        self,
        search: WebSearch,
        *,
        limits: ResearchSettings,
        config: SearchConfig,
        tools: Mapping[str, NewsTool] = TOOLS,
    ) -> None:
        self._search = search
        self._max_results = min(limits.max_results, config.max_results or limits.max_results, MAX_LIMIT)
        self._budget_ms = config.timeout_ms
        self._tools = tools

    async def basic_search_news(self, query: str, max_results: int = 7) -> ToolResult:
        return await self.run_tool(BASIC, query, max_results=max_results)

    async def deep_search_news(self, query: str) -> ToolResult:
        return await self.run_tool(DEEP, query)

    async def search_news_last_24_hours(self, query: str) -> ToolResult:
        """What was published in the last 24 hours."""
        return await self.run_tool(LAST_DAY, query)

    async def search_news_last_week(self, query: str) -> ToolResult:
        """What was published in the last week."""
        return await self.run_tool(LAST_WEEK, query)

    async def search_images_for_news(self, query: str) -> ToolResult:
        """Reports with pictures; a backend that knows none gives its ordinary results."""
        return await self.run_tool(IMAGES, query)

    async def search_news_by_date(self, query: str, start_date: str, end_date: str) -> ToolResult:
        """What was published from one day to another, both included; `ValueError` for what is no ISO date."""
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
        """What the tool of that name finds; `KeyError` where there is none, `ValueError` for dates that are none."""
        query = self.build_query(name, text, start_date, end_date)
        return await self._search.search(query, min(max_results or self._tools[name].max_results, self._max_results))

    def build_query(
        self, name: str, text: str, start_date: str | None = None, end_date: str | None = None
    ) -> SearchQuery:
        tool = self._tools[name]
        query = SearchQuery(text=text, budget_ms=self._budget_ms, **tool.options)
        if not tool.wants_dates:
            return query
        days = DateRange(start=dt.date.fromisoformat(start_date or ""), end=dt.date.fromisoformat(end_date or ""))
        return query.model_copy(update={"time_range": days})
