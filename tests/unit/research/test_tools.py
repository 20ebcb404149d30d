import datetime as dt
from typing import Any

import pytest

from monitor.config.model import ResearchSettings
from monitor.research.searching import TOOLS, NewsTool, NewsTools
from monitor.research.shapes import SearchConfig
from monitor.search.contract import DateRange, ProviderMeta, Recency, SearchQuery, ToolResult


class Noted:
    """Web search that takes down what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[SearchQuery, int]] = []

    async def search(self, query: SearchQuery, limit: int) -> ToolResult:
        self.asked.append((query, limit))
        meta = ProviderMeta(provider_name="noted", latency_ms=0, request_id="1")
        return ToolResult(items=[], provider_meta=meta, errors=[])


def tools(search: Noted, tools: Any = TOOLS, config: dict[str, Any] | None = None, **limits: Any) -> NewsTools:
    given = SearchConfig.model_validate(config or {})
    return NewsTools(search, limits=ResearchSettings(**limits), config=given, tools=tools)


async def test_each_tool_has_its_own_way_to_search() -> None:
    search = Noted()
    news = tools(search)
    await news.basic_search_news("储能")
    await news.basic_search_news("储能", max_results=3)
    await news.deep_search_news("储能")
    await news.search_news_last_24_hours("储能")
    await news.search_news_last_week("储能")
    await news.search_images_for_news("储能")
    await news.search_news_by_date("储能", "2026-01-01", "2026-06-30")
    days = DateRange(start=dt.date(2026, 1, 1), end=dt.date(2026, 6, 30))
    assert search.asked == [
        (SearchQuery(text="储能", depth="basic"), 7),
        (SearchQuery(text="储能", depth="basic"), 3),
        (SearchQuery(text="储能", depth="advanced"), 20),
        (SearchQuery(text="储能", time_range=Recency.DAY), 10),
        (SearchQuery(text="储能", time_range=Recency.WEEK), 10),
        (SearchQuery(text="储能"), 5),
        (SearchQuery(text="储能", time_range=days), 15),
    ]


async def test_what_was_asked_for_beside_the_question_holds() -> None:
    search = Noted()
    await tools(search, config={"maxResults": 4, "timeoutMs": 2500}).deep_search_news("储能")
    await tools(search, max_results=6).deep_search_news("储能")
    await tools(search, max_results=100, config={"maxResults": 100}).deep_search_news("储能")
    assert [(query.budget_ms, limit) for query, limit in search.asked] == [(2500, 4), (None, 6), (None, 20)]


async def test_a_tool_that_is_added_is_called_by_its_name() -> None:
    search = Noted()
    official = NewsTool(max_results=9, descriptions={"zh": "官网", "en": "official"}, options={"site_filter": "gov.cn"})
    await tools(search, tools={**TOOLS, "search_official": official}).run_tool("search_official", "储能")
    assert search.asked == [(SearchQuery(text="储能", site_filter="gov.cn"), 9)]


@pytest.mark.parametrize("days", [("2026-01-01", ""), ("soon", "later"), (None, None)], ids=["one", "words", "none"])
async def test_dates_that_are_none_are_not_searched_for(days: tuple[Any, Any]) -> None:
    search = Noted()
    with pytest.raises(ValueError, match="isoformat"):
        await tools(search).search_news_by_date("储能", *days)
    assert search.asked == []
