"""Tavily, a search API for language models and programs."""

from typing import Any

from monitor.fetch.result import Response
from monitor.search.contract import DateRange, SearchErrorCode, SearchHit, SearchQuery, SearchResults
from monitor.search.responses import (
    ProviderPayload,
    build_failure,
    check_status,
    parse_entries,
    parse_payload,
    parse_published_day,
    require_max_length,
)
from monitor.search.service import BackendRequest, ServiceBackend

_MAX_QUERY_CHARS = 400
_PLAN_LIMIT_STATUSES = (432, 433)


class TavilyResult(ProviderPayload):
    url: str
    title: str = ""
    content: str = ""
    published_date: str = ""

    def to_hit(self) -> SearchHit:
        return SearchHit(
            title=self.title, url=self.url, snippet=self.content, published_at=parse_published_day(self.published_date)
        )


class TavilyResponse(ProviderPayload):
    results: list[Any]
    request_id: str = ""


class TavilyBackend(ServiceBackend):
    """The language of results cannot be chosen."""

    name = "tavily"

    async def search(self, query: SearchQuery, limit: int) -> SearchResults:
        """Send one request, which returns up to twenty results."""
        headers = {"accept": "application/json", "authorization": f"Bearer {self.require_key()}"}
        request = BackendRequest(path="/search", json_body=_build_body(query, limit), headers=headers)
        return (await self.fetch_results(request, parse_results)).limit_to(limit)


def parse_results(response: Response) -> SearchResults:
    if response.status in _PLAN_LIMIT_STATUSES:
        raise build_failure(SearchErrorCode.AUTH, "search.plan_exhausted", status=response.status)
    check_status(response)
    answer = parse_payload(response, TavilyResponse)
    hits = [entry.to_hit() for entry in parse_entries(answer.results, TavilyResult)]
    return SearchResults(hits, request_id=answer.request_id or None)


def _build_body(query: SearchQuery, limit: int) -> dict[str, object]:
    document: dict[str, object] = {
        "query": require_max_length(query.text, _MAX_QUERY_CHARS),
        "max_results": limit,
        "search_depth": query.depth or "basic",
        # The service's own text is no source, and pictures are no pages: nothing would read them.
        "include_answer": False,
        "include_raw_content": False,
        "include_images": False,
    }
    if isinstance(query.time_range, DateRange):
        ends = {"start_date": query.time_range.start, "end_date": query.time_range.end}
        document |= {name: day.isoformat() for name, day in ends.items() if day is not None}
    elif query.time_range is not None:
        document["time_range"] = str(query.time_range)
    if query.site_filter:
        document["include_domains"] = [query.site_filter]
    return document


BACKEND = TavilyBackend
