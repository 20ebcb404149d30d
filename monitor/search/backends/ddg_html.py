"""DuckDuckGo, by its result pages for browsers without scripts."""

from collections.abc import Sequence
from urllib.parse import parse_qs, urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from monitor.fetch.result import Response
from monitor.search.contract import Recency, SearchErrorCode, SearchHit, SearchQuery, SearchResults
from monitor.search.responses import (
    add_site_operator,
    build_captcha_failure,
    build_failure,
    check_page,
    collect_pages,
    find_first_text,
    get_classes,
    get_text,
    iter_ancestors,
    parse_published_day,
    parse_tree,
    require_max_length,
    resolve_range,
    select_outermost,
    split_language_tag,
)
from monitor.search.service import BackendRequest, ServiceBackend

_PATH = "/html/"
_HOST = "duckduckgo.com"
_MAX_QUERY_CHARS = 499
_TIME_RANGES = {Recency.DAY: "d", Recency.WEEK: "w", Recency.MONTH: "m", Recency.YEAR: "y"}

# Regions that are not written as region and language, and the region of a language that is given alone.
_REGIONS = {"tw-zh": "tw-tzh", "hk-zh": "hk-tzh", "gb-en": "uk-en", "jp-ja": "jp-jp", "kr-ko": "kr-kr"}
_DEFAULT_REGIONS = {
    "en": "us",
    "ja": "jp",
    "ko": "kr",
    "da": "dk",
    "sv": "se",
    "cs": "cz",
    "el": "gr",
    "uk": "ua",
    "vi": "vn",
}

_ALL_REGIONS = "wt-wt"
_SAME_REGION = ("de", "fr", "it", "es", "nl", "pl", "pt", "ru", "fi", "hu", "no", "ro", "tr")
_CHALLENGE_SELECTOR = "form#challenge-form, form[action*='anomaly.js']"
_NO_RESULTS_SELECTOR = ".no-results, .result--no-result"
_NO_RESULT_CLASS = "result--no-result"  # of a row that stands where results would
_ADVERTISEMENT_CLASSES = frozenset({"result--ad", "result-sponsored"})


class DdgHtmlBackend(ServiceBackend):
    name = "ddg_html"
    is_html = True

    async def search(self, query: SearchQuery, limit: int) -> SearchResults:
        """Fetch the results page by page; the form at the end of a page requests the next."""
        form: dict[str, str] | None = {"q": require_max_length(add_site_operator(query), _MAX_QUERY_CHARS), "b": ""}
        options = self._build_options(query)

        async def ask(_page: int) -> SearchResults:
            nonlocal form
            if form is None:
                return SearchResults()
            request = BackendRequest(path=_PATH, form={**form, **options}, headers=self._build_headers(options))

            def read(response: Response) -> SearchResults:
                nonlocal form
                hits, form = parse_result_page(response, base_url=self.build_url(_PATH))
                return SearchResults(hits)

            return await self.fetch_results(request, read)

        return await collect_pages(ask, query, limit=limit, timeout_s=self.timeout_s)

    def _build_options(self, query: SearchQuery) -> dict[str, str]:
        options = {"kl": _resolve_region(query.lang)}
        if isinstance(query.time_range, Recency):
            options["df"] = _TIME_RANGES[query.time_range]
        elif query.time_range is not None:
            start, end = resolve_range(query.time_range, self.get_today())
            options["df"] = f"{start}..{end}"
        return options

    def _build_headers(self, options: dict[str, str]) -> dict[str, str]:
        return {
            "referer": self.build_url("/"),
            "sec-fetch-dest": "document",
            "sec-fetch-mode": "navigate",
            "sec-fetch-site": "same-origin",
            "sec-fetch-user": "?1",
            "cookie": "; ".join(f"{name}={value}" for name, value in options.items()),
        }


def parse_result_page(response: Response, *, base_url: str) -> tuple[list[SearchHit], dict[str, str] | None]:
    """Return the results of a page, in either of the service's markups, and the form that requests the next page.

    A redirect (303) means no results, and so does a page that says it in its markup. A block is recognised by its
    form, never by words: a page echoes the query.
    """
    if response.status == 303:
        return [], None
    tree = parse_tree(response)
    rows = [row for row in select_outermost(tree.css("#links .web-result")) if _NO_RESULT_CLASS not in get_classes(row)]
    lines = tree.css("a.result-link, td.result-snippet")
    if not rows and not lines and tree.css_first(_CHALLENGE_SELECTOR) is not None:
        raise build_captcha_failure()
    is_answered = bool(rows or lines) or tree.css_first(_NO_RESULTS_SELECTOR) is not None
    if response.status != 200 or not is_answered:
        check_page(response)
    if not is_answered:
        raise build_failure(SearchErrorCode.PARSE, "search.page_without_results")
    results = [row for row in rows if not _is_advertisement(row)]
    hits = [hit for hit in (_parse_row(row, base_url) for row in results) if hit is not None]
    hits = hits or _parse_lite_results(lines, base_url)
    if results and not hits:
        raise build_failure(SearchErrorCode.PARSE, "search.results_without_links")
    return hits, _find_next_form(tree)


def _parse_row(row: LexborNode, base_url: str) -> SearchHit | None:
    link = row.css_first("h2 a") or row.css_first("a.result__a")
    url = None if link is None else _resolve_redirect(link.attributes.get("href") or "", base_url)
    if url is None:
        return None
    return SearchHit(
        title=get_text(link),
        url=url,
        snippet=find_first_text(row, ".result__snippet"),
        published_at=parse_published_day(find_first_text(row, ".result__extras")),
    )


def _parse_lite_results(elements: Sequence[LexborNode], base_url: str) -> list[SearchHit]:
    """Parse the markup for the simplest browsers: links, each followed by its snippet, if any."""
    hits: list[SearchHit] = []
    is_open = False
    for part in elements:
        if part.tag == "a":
            url = None if _is_advertisement(part) else _resolve_redirect(part.attributes.get("href") or "", base_url)
            is_open = url is not None
            if url is not None:
                hits.append(SearchHit(title=get_text(part), url=url))
        elif is_open:
            hits[-1] = hits[-1].model_copy(update={"snippet": get_text(part)})
            is_open = False
    return hits


def _resolve_redirect(href: str, base_url: str) -> str | None:
    """Return the target of a result link without the service's redirect; None for an advertisement."""
    try:
        url = urljoin(base_url, href)
        address = urlsplit(url)
    except ValueError:
        return None
    is_own = (address.hostname or "").endswith(_HOST) or address.netloc == urlsplit(base_url).netloc
    if is_own and address.path == "/l/":
        return next(iter(parse_qs(address.query).get("uddg", [])), None)
    return None if is_own and address.path == "/y.js" else url


def _is_advertisement(node: LexborNode) -> bool:
    return any(not _ADVERTISEMENT_CLASSES.isdisjoint(get_classes(element)) for element in (node, *iter_ancestors(node)))


def _find_next_form(tree: LexborHTMLParser) -> dict[str, str] | None:
    """Return the form of the next page: the only one with a `vqd` and an offset."""
    for form in tree.css("form"):
        fields = {
            name: field.attributes.get("value") or ""
            for field in form.css("input")
            if (name := field.attributes.get("name"))
        }
        leads_back = form.css_first("input[value*='Prev']") is not None
        if fields.get("vqd") and fields.get("s", "0") != "0" and not leads_back:
            return fields
    return None


def _resolve_region(lang: str | None) -> str:
    if lang is None:
        return _ALL_REGIONS
    language, region = split_language_tag(lang)
    region = region or _DEFAULT_REGIONS.get(language) or (language if language in _SAME_REGION else "")
    return _REGIONS.get(f"{region}-{language}", f"{region}-{language}") if region else _ALL_REGIONS


BACKEND = DdgHtmlBackend
