"""SearXNG, a self-hosted metasearch engine, by its JSON API."""

import datetime as dt
import re
from typing import Any

from pydantic import Field

from monitor.fetch.result import Response
from monitor.search.contract import DateRange, Recency, SearchErrorCode, SearchHit, SearchQuery, SearchResults
from monitor.search.responses import (
    ProviderPayload,
    add_site_operator,
    build_failure,
    check_status,
    collect_pages,
    parse_entries,
    parse_payload,
    parse_published_day,
)
from monitor.search.service import BackendRequest, ServiceBackend

_ENGINE_NAME = re.compile(r"[a-z0-9 _.-]{1,30}")
_MAX_ENGINES = 10


class SearxngResult(ProviderPayload):
    url: str
    title: str = ""
    content: str = ""
    engine: str = ""
    published: str = Field(default="", alias="publishedDate")

    def to_hit(self) -> SearchHit:
        return SearchHit(
            title=self.title,
            url=self.url,
            snippet=self.content,
            provider=self.engine,
            published_at=parse_published_day(self.published),
        )


class SearxngResponse(ProviderPayload):
    results: list[Any]
    unresponsive_engines: list[Any] = Field(default_factory=list)


class SearxngBackend(ServiceBackend):
    """The provider of a result is its engine.

    SearXNG has no date ranges: the backend requests the shortest span that holds the range and drops the results that
    are dated outside it.
    """

    name = "searxng"

    async def search(self, query: SearchQuery, limit: int) -> SearchResults:
        async def ask(page: int) -> SearchResults:
            request = self._build_request(query, page)
            return await self.fetch_results(request, lambda response: parse_results(response, query))

        return await collect_pages(ask, query, limit=limit, timeout_s=self.timeout_s)

    def _build_request(self, query: SearchQuery, page: int) -> BackendRequest:
        params: dict[str, str | int] = {"q": add_site_operator(query), "format": "json", "pageno": page}
        if query.lang:
            params["language"] = query.lang
        if span := self._find_time_range(query.time_range):
            params["time_range"] = span
        headers = {"accept": "application/json"}
        if self.key:
            headers["authorization"] = f"Bearer {self.key}"
        return BackendRequest(path="/search", params=params, headers=headers)

    def _find_time_range(self, time_range: Recency | DateRange | None) -> Recency | None:
        if not isinstance(time_range, DateRange):
            return time_range
        if time_range.start is None:
            return None
        days = (self.get_today() - time_range.start).days + 1
        return next((span for span in Recency if days <= span.days), None)


def parse_results(response: Response, query: SearchQuery) -> SearchResults:
    """Parse an answer; no results from engines that did not answer are a failure, not an empty answer."""
    if response.status == 403:
        raise build_failure(SearchErrorCode.AUTH, "search.searxng_refuses_json")
    check_status(response)
    answer = parse_payload(response, SearxngResponse)
    hits = [result.to_hit() for result in parse_entries(answer.results, SearxngResult)]
    engines = answer.unresponsive_engines
    if not answer.results and engines:
        silent = [
            engine[0] if isinstance(engine, list) and engine else engine for engine in answer.unresponsive_engines
        ]
        names = [engine for engine in silent if isinstance(engine, str) and _ENGINE_NAME.fullmatch(engine)]
        raise build_failure(SearchErrorCode.BAD_GATEWAY, "search.searxng_engines_silent", engines=names[:_MAX_ENGINES])
    return SearchResults([hit for hit in hits if _is_within(hit.published_at, query.time_range)])


def _is_within(day: dt.date | None, time_range: Recency | DateRange | None) -> bool:
    if day is None or not isinstance(time_range, DateRange):
        return True
    return (time_range.start is None or time_range.start <= day) and (time_range.end is None or day <= time_range.end)


BACKEND = SearxngBackend
