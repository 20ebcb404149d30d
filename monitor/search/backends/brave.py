"""Brave Search, by its API."""

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from monitor.domain.searching import Findings, Recency, SearchErrorCode, SearchHit, SearchQuery
from monitor.net.response import Response
from monitor.search.documents import Told, day_of, document_of, entries_of, said_in
from monitor.search.failures import check_status, failure, unreadable
from monitor.search.options import both_ends, language_and_region, query_with_site, shorter_than
from monitor.search.service import Request, Service

ADDRESS = "https://api.search.brave.com"

_MAX_QUERY_CHARS = 400
_FRESHNESS = {Recency.DAY: "pd", Recency.WEEK: "pw", Recency.MONTH: "pm", Recency.YEAR: "py"}
# Brave's own names where they are not the language's.
_LANGUAGES = {"zh-tw": "zh-hant", "zh-hk": "zh-hant", "zh-cn": "zh-hans", "en-gb": "en-gb", "pt-br": "pt-br"}
_LANGUAGES_ALONE = {"zh": "zh-hans", "ja": "jp", "pt": "pt-pt"}
_COUNTRIES = (
    "AR AU AT BE BR CA CL DK FI FR DE GR HK IN ID IT JP KR MY MX NL NZ NO CN PL PT PH RU SA ZA ES SE CH TW TR GB US"
)
_KEY_CODE = "SUBSCRIPTION"  # a wrong key is answered with 422 and a code that begins so


class _Result(Told):
    url: str
    title: str = ""
    description: str = ""
    page_age: str = ""

    def hit(self) -> SearchHit:
        return SearchHit(title=self.title, url=self.url, snippet=self.description, published_at=day_of(self.page_age))


class _Web(Told):
    results: list[Any] = Field(default_factory=list)


class _Answer(Told):
    """An answer without results has no `web`, but still tells the query."""

    query: dict[str, Any] | None = None
    web: _Web | None = None


class BraveBackend:
    """Asks the web search of the API (`ports.SearchBackend`)."""

    name = "brave"

    def __init__(self, service: Service) -> None:
        self._service = service

    async def search(self, query: SearchQuery, limit: int) -> Findings:
        """One request: it gives up to twenty results."""
        headers = {"accept": "application/json", "x-subscription-token": self._service.required_key()}
        request = Request(path="/res/v1/web/search", params=self._params(query, limit), headers=headers)
        hits = await self._service.ask(request, hits_in)
        return Findings(hits=hits[:limit])

    def _params(self, query: SearchQuery, limit: int) -> dict[str, str | int]:
        text = shorter_than(query_with_site(query), _MAX_QUERY_CHARS)
        params: dict[str, str | int] = {"q": text, "count": limit}
        if isinstance(query.time_range, Recency):
            params["freshness"] = _FRESHNESS[query.time_range]
        elif query.time_range is not None:
            start, end = both_ends(query.time_range, self._service.today())
            params["freshness"] = f"{start}to{end}"
        if query.lang:
            language, region = language_and_region(query.lang)
            named = _LANGUAGES.get(f"{language}-{region}") or _LANGUAGES_ALONE.get(language, language)
            params["search_lang"] = named
            if "-" in query.lang and region.upper() in _COUNTRIES.split():
                params["country"] = region.upper()
        return params


def hits_in(response: Response) -> Sequence[SearchHit]:
    """The results of an answer; an error in it is raised."""
    said = said_in(response)
    if response.status == 422 and _KEY_CODE in said:
        raise failure(SearchErrorCode.AUTH, "The service refuses the key (422).")
    check_status(response, said)
    answer = document_of(response, _Answer)
    if answer.web is None and answer.query is None:
        raise unreadable("The service's answer has no web results in it.")
    return [one.hit() for one in entries_of(answer.web.results if answer.web else [], _Result)]
