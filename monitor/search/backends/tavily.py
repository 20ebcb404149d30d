"""Tavily, a search service for programs."""

from collections.abc import Sequence
from typing import Any

from monitor.domain.searching import DateRange, Findings, SearchErrorCode, SearchHit, SearchQuery
from monitor.net.response import Response
from monitor.search.documents import Told, day_of, document_of, entries_of, said_in
from monitor.search.failures import check_status, failure
from monitor.search.options import shorter_than
from monitor.search.service import Request, Service

ADDRESS = "https://api.tavily.com"

_MAX_QUERY_CHARS = 400
_OF_THE_PLAN = (432, 433)


class _Result(Told):
    url: str
    title: str = ""
    content: str = ""
    published_date: str = ""

    def hit(self) -> SearchHit:
        return SearchHit(title=self.title, url=self.url, snippet=self.content, published_at=day_of(self.published_date))


class _Answer(Told):
    results: list[Any]
    request_id: str = ""


class TavilyBackend:
    """Asks the search of the API (`ports.SearchBackend`). It has no option for the language."""

    name = "tavily"

    def __init__(self, service: Service) -> None:
        self._service = service

    async def search(self, query: SearchQuery, limit: int) -> Findings:
        """One request: it gives up to twenty results."""
        headers = {"accept": "application/json", "authorization": f"Bearer {self._service.required_key()}"}
        request = Request(path="/search", document=_document(query, limit), headers=headers)
        told = ""

        def read(response: Response) -> Sequence[SearchHit]:
            nonlocal told
            answer = answer_in(response)
            told = answer.request_id
            return hits_of(answer)

        hits = await self._service.ask(request, read)
        return Findings(hits=hits[:limit], request_id=told or None)


def answer_in(response: Response) -> _Answer:
    """The answer; an error in it is raised."""
    if response.status in _OF_THE_PLAN:
        raise failure(SearchErrorCode.AUTH, f"The plan of the key allows no more ({response.status}).")
    check_status(response, said_in(response))
    return document_of(response, _Answer)


def hits_of(answer: _Answer) -> list[SearchHit]:
    return [one.hit() for one in entries_of(answer.results, _Result)]


def _document(query: SearchQuery, limit: int) -> dict[str, object]:
    document: dict[str, object] = {
        "query": shorter_than(query.text, _MAX_QUERY_CHARS),
        "max_results": limit,
        "search_depth": query.depth or "basic",
        # A thorough search brings the service's own answer too, as its tool is meant; what is handed on are results.
        "include_answer": query.depth == "advanced",
        "include_raw_content": False,
        "include_images": query.wants_images,
        "include_image_descriptions": query.wants_images,
    }
    if isinstance(query.time_range, DateRange):
        ends = {"start_date": query.time_range.start, "end_date": query.time_range.end}
        document |= {name: day.isoformat() for name, day in ends.items() if day is not None}
    elif query.time_range is not None:
        document["time_range"] = str(query.time_range)
    if query.site_filter:
        document["include_domains"] = [query.site_filter]
    return document
