"""SearXNG, the search engine of search engines that one runs oneself."""

import datetime as dt
from collections.abc import Sequence
from typing import Any

from pydantic import Field

from monitor.domain.searching import DateRange, Findings, Recency, SearchErrorCode, SearchHit, SearchQuery
from monitor.net.response import Response
from monitor.search.cleaning import plain_text
from monitor.search.documents import Told, day_of, document_of, entries_of
from monitor.search.failures import check_status, failure
from monitor.search.options import query_with_site
from monitor.search.paging import paged, time_for
from monitor.search.service import Request, Service

_SPANS = ((1, Recency.DAY), (7, Recency.WEEK), (31, Recency.MONTH), (366, Recency.YEAR))


class _Result(Told):
    url: str
    title: str = ""
    content: str = ""
    engine: str = ""
    published: str = Field(default="", alias="publishedDate")

    def hit(self) -> SearchHit:
        return SearchHit(
            title=self.title,
            url=self.url,
            snippet=self.content,
            provider=self.engine,
            published_at=day_of(self.published),
        )


class _Answer(Told):
    results: list[Any]
    unresponsive_engines: list[Any] = Field(default_factory=list)


class SearxngBackend:
    """Asks the JSON interface of an instance (`ports.SearchBackend`). The provider of a result is its engine.

    SearXNG has no date ranges: the shortest of its spans that holds the range is asked for, and what is known to lie
    outside the range is left out here.
    """

    name = "searxng"

    def __init__(self, service: Service) -> None:
        self._service = service

    async def search(self, query: SearchQuery, limit: int) -> Findings:
        """The results page by page; no results of engines that did not answer are a failure, not an empty answer."""

        async def ask(page: int) -> Sequence[SearchHit]:
            return await self._service.ask(self._request(query, page), lambda response: hits_in(response, query))

        time_s = time_for(query, self._service.timeout_s)
        return await paged(ask, limit=limit, time_s=time_s)

    def _request(self, query: SearchQuery, page: int) -> Request:
        params: dict[str, str | int] = {"q": query_with_site(query), "format": "json", "pageno": page}
        if query.lang:
            params["language"] = query.lang
        if span := self._span(query.time_range):
            params["time_range"] = span
        headers = {"accept": "application/json"}
        if self._service.key:
            headers["authorization"] = f"Bearer {self._service.key}"
        return Request(path="/search", params=params, headers=headers)

    def _span(self, time_range: Recency | DateRange | None) -> Recency | None:
        if not isinstance(time_range, DateRange):
            return time_range
        if time_range.start is None:
            return None
        days = (self._service.today() - time_range.start).days + 1
        return next((span for most, span in _SPANS if days <= most), None)


def hits_in(response: Response, query: SearchQuery) -> list[SearchHit]:
    """The results of an answer; an error in it is raised."""
    if response.status == 403:
        message = (
            "The instance refuses JSON (403): add `json` to search.formats in its settings.yml, which has only html "
            "by default; if it asks for a key, set SEARXNG_API_KEY."
        )
        raise failure(SearchErrorCode.AUTH, message)
    check_status(response)
    answer = document_of(response, _Answer)
    hits = [one.hit() for one in entries_of(answer.results, _Result)]
    if not answer.results and answer.unresponsive_engines:
        silent = plain_text(", ".join(_told(engine) for engine in answer.unresponsive_engines), 200)
        raise failure(SearchErrorCode.BAD_GATEWAY, f"The instance's engines did not answer: {silent}.")
    return [hit for hit in hits if _is_within(hit.published_at, query.time_range)]


def _told(engine: Any) -> str:
    return " ".join(str(part) for part in engine) if isinstance(engine, list) else str(engine)


def _is_within(day: dt.date | None, span: Recency | DateRange | None) -> bool:
    if day is None or not isinstance(span, DateRange):
        return True
    return (span.start is None or span.start <= day) and (span.end is None or day <= span.end)
