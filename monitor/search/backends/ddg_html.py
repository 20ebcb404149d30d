"""DuckDuckGo, by the pages that it makes for browsers without scripts."""

import re
from collections.abc import Sequence
from urllib.parse import parse_qs, urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from monitor.domain.searching import Findings, Recency, SearchHit, SearchQuery
from monitor.net.response import Response
from monitor.search.documents import day_of
from monitor.search.failures import captcha, check_page, unreadable
from monitor.search.markup import classes_of, first_text, outermost, parents_of, text_of, tree_of
from monitor.search.options import both_ends, language_and_region, query_with_site, shorter_than
from monitor.search.paging import paged, time_for
from monitor.search.service import Request, Service

ADDRESS = "https://html.duckduckgo.com"

_PATH = "/html/"
_HOST = "duckduckgo.com"
_MAX_QUERY_CHARS = 499
_SPANS = {Recency.DAY: "d", Recency.WEEK: "w", Recency.MONTH: "m", Recency.YEAR: "y"}
# Regions that are not written as region and language, and the region of a language that is given alone.
_REGIONS = {
    "cn-zh": "cn-zh",
    "tw-zh": "tw-tzh",
    "hk-zh": "hk-tzh",
    "gb-en": "uk-en",
    "jp-ja": "jp-jp",
    "kr-ko": "kr-kr",
}
_HOMES = {"en": "us", "ja": "jp", "ko": "kr", "da": "dk", "sv": "se", "cs": "cz", "el": "gr", "uk": "ua", "vi": "vn"}
_ANYWHERE = "wt-wt"
_SAME_REGION = ("de", "fr", "it", "es", "nl", "pl", "pt", "ru", "fi", "hu", "no", "ro", "tr")
_CHALLENGE = "form#challenge-form, form[action*='anomaly.js']"
_NOTHING = ".no-results, .result--no-result"
_ADVERTISEMENT = frozenset({"result--ad", "result-sponsored"})
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}T[\d:]+")


class DdgHtmlBackend:
    """Asks the page for browsers without scripts (`ports.SearchBackend`)."""

    name = "ddg_html"

    def __init__(self, service: Service) -> None:
        self._service = service

    async def search(self, query: SearchQuery, limit: int) -> Findings:
        """The results page by page; the form at the end of a page asks for the next."""
        form: dict[str, str] | None = {"q": shorter_than(query_with_site(query), _MAX_QUERY_CHARS), "b": ""}
        options = self._options(query)

        async def ask(page: int) -> Sequence[SearchHit]:
            del page
            nonlocal form
            if form is None:
                return []
            request = Request(path=_PATH, form={**form, **options}, headers=self._headers(options))

            def read(response: Response) -> Sequence[SearchHit]:
                nonlocal form
                hits, form = read_page(response, base_url=self._service.url(_PATH))
                return hits

            return await self._service.ask(request, read)

        time_s = time_for(query, self._service.timeout_s)
        return await paged(ask, limit=limit, time_s=time_s)

    def _options(self, query: SearchQuery) -> dict[str, str]:
        options = {"kl": _region(query.lang)}
        if isinstance(query.time_range, Recency):
            options["df"] = _SPANS[query.time_range]
        elif query.time_range is not None:
            start, end = both_ends(query.time_range, self._service.today())
            options["df"] = f"{start}..{end}"
        return options

    def _headers(self, options: dict[str, str]) -> dict[str, str]:
        return {
            "referer": self._service.url("/"),
            "sec-fetch-dest": "document",
            "sec-fetch-mode": "navigate",
            "sec-fetch-site": "same-origin",
            "sec-fetch-user": "?1",
            "cookie": "; ".join(f"{name}={value}" for name, value in options.items()),
        }


def read_page(response: Response, *, base_url: str) -> tuple[list[SearchHit], dict[str, str] | None]:
    """The results of a page, in either of the markups that the service has, and the form that asks for the next.

    A redirect (303) means that there are none. A block is known by its form, never by words: a page echoes the query.
    """
    if response.status == 303:
        return [], None
    tree = tree_of(response)
    rows = outermost(tree.css("#links .web-result"))
    lines = tree.css("a.result-link, td.result-snippet")
    if not rows and not lines and tree.css_first(_CHALLENGE) is not None:
        raise captcha()
    if response.status != 200 or not (rows or lines):
        check_page(response)
    if not (rows or lines) and tree.css_first(_NOTHING) is None:
        raise unreadable("The service's page shows neither results nor that there are none.")
    results = [row for row in rows if not _is_advertisement(row)]
    hits = [hit for hit in (_hit_of_row(row, base_url) for row in results) if hit is not None]
    hits = hits or _hits_of_lines(lines, base_url)
    if results and not hits:
        raise unreadable("The service's page shows results without links.")
    return hits, _next_form(tree)


def _hit_of_row(row: LexborNode, base_url: str) -> SearchHit | None:
    link = row.css_first("h2 a") or row.css_first("a.result__a")
    url = None if link is None else _real_url(link.attributes.get("href") or "", base_url)
    if url is None:
        return None
    day = _INSTANT.search(first_text(row, ".result__extras"))
    return SearchHit(
        title=text_of(link),
        url=url,
        snippet=first_text(row, ".result__snippet"),
        published_at=day_of(day[0]) if day else None,
    )


def _hits_of_lines(parts: Sequence[LexborNode], base_url: str) -> list[SearchHit]:
    """The results of the markup for the simplest browsers: links, each with the snippet that follows it, if any."""
    hits: list[SearchHit] = []
    is_open = False
    for part in parts:
        if part.tag == "a":
            url = None if _is_advertisement(part) else _real_url(part.attributes.get("href") or "", base_url)
            is_open = url is not None
            if url is not None:
                hits.append(SearchHit(title=text_of(part), url=url))
        elif is_open:
            hits[-1] = hits[-1].model_copy(update={"snippet": text_of(part)})
            is_open = False
    return hits


def _real_url(href: str, base_url: str) -> str | None:
    """Where a link leads, the service's redirect taken off; None for an advertisement."""
    try:
        url = urljoin(base_url, href)
        parts = urlsplit(url)
    except ValueError:
        return None
    is_own = (parts.hostname or "").endswith(_HOST) or parts.netloc == urlsplit(base_url).netloc
    if is_own and parts.path == "/l/":
        return next(iter(parse_qs(parts.query).get("uddg", [])), None)
    return None if is_own and parts.path == "/y.js" else url


def _is_advertisement(node: LexborNode) -> bool:
    return any(not _ADVERTISEMENT.isdisjoint(classes_of(one)) for one in (node, *parents_of(node)))


def _next_form(tree: LexborHTMLParser) -> dict[str, str] | None:
    """The fields of the form for the next page; only that one has a `vqd` and goes on from a later result."""
    for form in tree.css("form"):
        fields = {
            one.attributes.get("name") or "": one.attributes.get("value") or ""
            for one in form.css("input")
            if one.attributes.get("name")
        }
        leads_back = form.css_first("input[value*='Prev']") is not None
        if fields.get("vqd") and fields.get("s", "0") != "0" and not leads_back:
            return fields
    return None


def _region(lang: str | None) -> str:
    if lang is None:
        return _ANYWHERE
    language, region = language_and_region(lang)
    region = region or _HOMES.get(language) or (language if language in _SAME_REGION else "")
    return _REGIONS.get(f"{region}-{language}", f"{region}-{language}") if region else _ANYWHERE
