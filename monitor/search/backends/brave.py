"""Brave Search, an independent index, by its API."""

from typing import Any

from pydantic import Field

from monitor.fetch.outbound import find_error_code
from monitor.fetch.result import Response
from monitor.search.contract import Recency, SearchErrorCode, SearchHit, SearchQuery, SearchResults
from monitor.search.responses import (
    ProviderPayload,
    add_site_operator,
    build_failure,
    check_status,
    parse_entries,
    parse_payload,
    parse_published_day,
    require_max_length,
    resolve_range,
    split_language_tag,
)
from monitor.search.service import BackendRequest, ServiceBackend

_MAX_QUERY_CHARS = 400
_FRESHNESS = {Recency.DAY: "pd", Recency.WEEK: "pw", Recency.MONTH: "pm", Recency.YEAR: "py"}

# Brave's own names where they are not the language's.
_LANGUAGES = {"zh-tw": "zh-hant", "zh-hk": "zh-hant", "zh-cn": "zh-hans", "en-gb": "en-gb", "pt-br": "pt-br"}
_LANGUAGES_WITHOUT_REGION = {"zh": "zh-hans", "ja": "jp", "pt": "pt-pt"}
_COUNTRIES = (
    "AR AU AT BE BR CA CL DK FI FR DE GR HK IN ID IT JP KR MY MX NL NZ NO CN PL PT PH RU SA ZA ES SE CH TW TR GB US"
)
_INVALID_KEY_CODE = "subscription"  # a wrong key is answered with 422 and a code that begins so


class BraveResult(ProviderPayload):
    url: str
    title: str = ""
    description: str = ""
    page_age: str = ""

    def to_hit(self) -> SearchHit:
        return SearchHit(
            title=self.title, url=self.url, snippet=self.description, published_at=parse_published_day(self.page_age)
        )


class BraveWebResults(ProviderPayload):
    results: list[Any] = Field(default_factory=list)


class BraveResponse(ProviderPayload):
    """An answer without results has no `web`, but still has the query."""

    query: dict[str, Any] | None = None
    web: BraveWebResults | None = None


class BraveBackend(ServiceBackend):
    name = "brave"

    async def search(self, query: SearchQuery, limit: int) -> SearchResults:
        """Send one request, which returns up to twenty results."""
        headers = {"accept": "application/json", "x-subscription-token": self.require_key()}
        request = BackendRequest(path="/res/v1/web/search", params=self._build_params(query, limit), headers=headers)
        return (await self.fetch_results(request, parse_results)).limit_to(limit)

    def _build_params(self, query: SearchQuery, limit: int) -> dict[str, str | int]:
        text = require_max_length(add_site_operator(query), _MAX_QUERY_CHARS)
        params: dict[str, str | int] = {"q": text, "count": limit}
        if isinstance(query.time_range, Recency):
            params["freshness"] = _FRESHNESS[query.time_range]
        elif query.time_range is not None:
            start, end = resolve_range(query.time_range, self.get_today())
            params["freshness"] = f"{start}to{end}"
        if query.lang:
            language, region = split_language_tag(query.lang)
            params["search_lang"] = _LANGUAGES.get(f"{language}-{region}") or _LANGUAGES_WITHOUT_REGION.get(
                language, language
            )
            if "-" in query.lang and region.upper() in _COUNTRIES.split():
                params["country"] = region.upper()
        return params


def parse_results(response: Response) -> SearchResults:
    if response.status == 422 and find_error_code(response.body).startswith(_INVALID_KEY_CODE):
        raise build_failure(SearchErrorCode.AUTH, "search.key_refused", status=422)
    check_status(response)
    answer = parse_payload(response, BraveResponse)
    if answer.web is None and answer.query is None:
        raise build_failure(SearchErrorCode.PARSE, "search.unexpected_shape", where="web")
    entries = parse_entries(answer.web.results if answer.web else [], BraveResult)
    return SearchResults([entry.to_hit() for entry in entries])


BACKEND = BraveBackend
