"""Bocha (博查), a Chinese search API."""

from dataclasses import replace
from typing import Any, NoReturn

from pydantic import Field

from monitor.fetch.outbound import find_error_code
from monitor.fetch.result import Response
from monitor.search.contract import Recency, SearchErrorCode, SearchHit, SearchQuery, SearchResults
from monitor.search.responses import (
    ProviderPayload,
    build_failure,
    check_status,
    parse_entries,
    parse_payload,
    parse_published_day,
    resolve_range,
)
from monitor.search.service import BackendRequest, ServiceBackend

_FRESHNESS = {Recency.DAY: "oneDay", Recency.WEEK: "oneWeek", Recency.MONTH: "oneMonth", Recency.YEAR: "oneYear"}
_SUCCESS_CODE = "200"


class BochaResult(ProviderPayload):
    url: str
    name: str = ""
    snippet: str = ""
    summary: str = ""
    published: str = Field(default="", alias="datePublished")

    def to_hit(self) -> SearchHit:
        return SearchHit(
            title=self.name,
            url=self.url,
            snippet=self.summary or self.snippet,
            published_at=parse_published_day(self.published),
        )


class BochaPages(ProviderPayload):
    value: list[Any] = Field(default_factory=list)


class BochaData(ProviderPayload):
    pages: BochaPages | None = Field(default=None, alias="webPages")


class BochaResponse(BochaData):
    """The current answer has its results under `data`, that of older deployments at the top."""

    code: int | str = _SUCCESS_CODE
    msg: str = ""
    message: str = ""
    log_id: str = ""
    data: BochaData | None = None


class BochaBackend(ServiceBackend):
    """The language of results cannot be chosen."""

    name = "bocha"

    async def search(self, query: SearchQuery, limit: int) -> SearchResults:
        """Send one request, which returns up to fifty results."""
        headers = {"accept": "application/json", "authorization": f"Bearer {self.require_key()}"}
        request = BackendRequest(path="/v1/web-search", json_body=self._build_body(query, limit), headers=headers)
        return (await self.fetch_results(request, parse_results)).limit_to(limit)

    def _build_body(self, query: SearchQuery, limit: int) -> dict[str, object]:
        freshness = "noLimit"
        if isinstance(query.time_range, Recency):
            freshness = _FRESHNESS[query.time_range]
        elif query.time_range is not None:
            start, end = resolve_range(query.time_range, self.get_today())
            freshness = str(start) if start == end else f"{start}..{end}"
        document: dict[str, object] = {"query": query.text, "freshness": freshness, "summary": query.need_summary}
        document["count"] = limit
        if query.site_filter:
            document["include"] = query.site_filter
        return document


def parse_results(response: Response) -> SearchResults:
    """Parse the answer; raise its error, which may come with status 200 and a code of its own."""
    check_status(response)
    answer = parse_payload(response, BochaResponse)
    if str(answer.code) != _SUCCESS_CODE:
        _raise_error(response, str(answer.code))
    pages = (answer.data and answer.data.pages) or answer.pages
    if pages is None and answer.data is None:
        raise build_failure(SearchErrorCode.PARSE, "search.unexpected_shape", where="webPages")
    entries = parse_entries(pages.value if pages else [], BochaResult)
    return SearchResults([entry.to_hit() for entry in entries], request_id=answer.log_id or None)


def _raise_error(response: Response, code: str) -> NoReturn:
    if code.isdecimal() and 400 <= int(code) < 600:
        check_status(replace(response, status=int(code)), "")
    raise build_failure(
        SearchErrorCode.PROVIDER, "search.service_error_code", error=find_error_code(response.body) or "-"
    )


BACKEND = BochaBackend
