"""Bocha (博查), a Chinese search service for programs."""

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from monitor.domain.searching import Findings, Recency, SearchErrorCode, SearchHit, SearchQuery
from monitor.net.response import Response
from monitor.search.cleaning import plain_text
from monitor.search.documents import Told, day_of, document_of, entries_of, said_in
from monitor.search.failures import check_status, failure, unreadable
from monitor.search.options import both_ends
from monitor.search.service import Request, Service

ADDRESS = "https://api.bochaai.com"

_FRESHNESS = {Recency.DAY: "oneDay", Recency.WEEK: "oneWeek", Recency.MONTH: "oneMonth", Recency.YEAR: "oneYear"}
_OK = "200"


class _Result(Told):
    url: str
    name: str = ""
    snippet: str = ""
    summary: str = ""
    published: str = Field(default="", alias="datePublished")

    def hit(self) -> SearchHit:
        return SearchHit(
            title=self.name, url=self.url, snippet=self.snippet or self.summary, published_at=day_of(self.published)
        )


class _Pages(Told):
    value: list[Any] = Field(default_factory=list)


class _Data(Told):
    pages: _Pages | None = Field(default=None, alias="webPages")


class _Answer(_Data):
    """The answer of today; older deployments have its data at the top."""

    code: int | str = _OK
    msg: str = ""
    message: str = ""
    log_id: str = ""
    data: _Data | None = None


class BochaBackend:
    """Asks the web search of the API (`ports.SearchBackend`). It has no option for the language."""

    name = "bocha"

    def __init__(self, service: Service) -> None:
        self._service = service

    async def search(self, query: SearchQuery, limit: int) -> Findings:
        """One request: it gives up to fifty results."""
        headers = {"accept": "application/json", "authorization": f"Bearer {self._service.required_key()}"}
        request = Request(path="/v1/web-search", document=self._document(query, limit), headers=headers)
        told = ""

        def read(response: Response) -> Sequence[SearchHit]:
            nonlocal told
            answer = answer_in(response)
            told = answer.log_id
            return hits_of(answer)

        hits = await self._service.ask(request, read)
        return Findings(hits=hits[:limit], request_id=told or None)

    def _document(self, query: SearchQuery, limit: int) -> dict[str, object]:
        freshness = "noLimit"
        if isinstance(query.time_range, Recency):
            freshness = _FRESHNESS[query.time_range]
        elif query.time_range is not None:
            start, end = both_ends(query.time_range, self._service.today())
            freshness = str(start) if start == end else f"{start}..{end}"
        document: dict[str, object] = {"query": query.text, "freshness": freshness, "summary": False, "count": limit}
        if query.site_filter:
            document["include"] = query.site_filter
        return document


def answer_in(response: Response) -> _Answer:
    """The answer, an error in it raised: some come with the status 200 and a code of their own."""
    check_status(response, said_in(response))
    answer = document_of(response, _Answer)
    code = str(answer.code)
    if code == _OK:
        return answer
    said = answer.msg or answer.message or "no reason told"
    if code.isdecimal() and 400 <= int(code) < 600:
        check_status(Response(url="", final_url="", status=int(code), headers={}, body=b""), said)
    raise failure(SearchErrorCode.PROVIDER, plain_text(f"The service answered with the error {code}: {said}", 300))


def hits_of(answer: _Answer) -> list[SearchHit]:
    pages = (answer.data and answer.data.pages) or answer.pages
    if pages is None and answer.data is None:
        raise unreadable("The service's answer has no web pages in it.")
    return [one.hit() for one in entries_of(pages.value if pages else [], _Result)]
