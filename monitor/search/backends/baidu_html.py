"""Baidu (百度), by its result pages."""

import datetime as dt
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from monitor.dates import find_dates
from monitor.fetch.result import Response
from monitor.search.contract import DateRange, Recency, SearchErrorCode, SearchHit, SearchQuery, SearchResults
from monitor.search.responses import (
    RESULTS_PER_PAGE,
    add_site_operator,
    build_captcha_failure,
    build_failure,
    check_page,
    collect_pages,
    find_first_text,
    get_classes,
    get_text,
    parse_tree,
    resolve_range,
    select_outermost,
)
from monitor.search.service import BackendRequest, ServiceBackend

_PATH = "/s"
_CAPTCHA_HOST = "wappass.baidu.com"
_CAPTCHA_TITLE = "百度安全验证"
_DAYS = {Recency.DAY: 1, Recency.WEEK: 7, Recency.MONTH: 31, Recency.YEAR: 365}
_CHINA_TIMEZONE = dt.timezone(dt.timedelta(hours=8))
_SNIPPET_SELECTORS = ("[class*='summary-text_']", "[class*='content-right_']", ".c-abstract", "[class*='c-abstract']")
_MAX_DAY_CHARS = 20
_NO_RESULT_TEMPLATE = "no_result"
_NO_RESULTS_SELECTOR = (
    f".content_none, .nors, [class^='content-none'], [class^='content_none'], [tpl='{_NO_RESULT_TEMPLATE}']"
)
_RELATED_SEARCHES_SELECTOR = "#rs, #rs_new, [class*='rs-link']"
_MISSING_URL_PREFIX = "http://nourl."


class BaiduHtmlBackend(ServiceBackend):
    """The language of results cannot be chosen.

    The url of a result is Baidu's redirect; the real address, where the page has it, is its `source`.
    """

    name = "baidu_html"
    is_html = True

    async def search(self, query: SearchQuery, limit: int) -> SearchResults:
        async def ask(page: int) -> SearchResults:
            params: dict[str, str | int] = {
                "wd": add_site_operator(query),
                "rn": RESULTS_PER_PAGE,
                "pn": (page - 1) * RESULTS_PER_PAGE,
            }
            if query.time_range is not None:
                params["gpc"] = _format_period(query.time_range, self.get_today())
            request = BackendRequest(path=_PATH, params=params, headers={"referer": self.build_url("/")})
            return await self.fetch_results(
                request, lambda answer: parse_result_page(answer, base_url=self.build_url(_PATH))
            )

        return await collect_pages(ask, query, limit=limit, timeout_s=self.timeout_s)


def parse_result_page(response: Response, *, base_url: str) -> SearchResults:
    """Return the results of a page, without Baidu's own cards and advertisements.

    Raises `SearchFailed` for a block, and for a page with neither results nor the notice that there are none.
    """
    tree = parse_tree(response)
    blocks = select_outermost(tree.css("#content_left .c-container"))
    if not blocks and _is_captcha(tree):
        raise build_captcha_failure()
    is_answered = bool(blocks) or _says_nothing_found(tree)
    if response.status != 200 or not is_answered:
        check_page(response)
    if not is_answered:
        raise build_failure(SearchErrorCode.PARSE, "search.page_without_results")
    results = [block for block in blocks if _is_result(block)]
    hits = [hit for hit in (_parse_hit(block, base_url) for block in results) if hit is not None]
    if results and not hits:
        raise build_failure(SearchErrorCode.PARSE, "search.results_without_links")
    return SearchResults(hits)


def _says_nothing_found(tree: LexborHTMLParser) -> bool:
    """Whether the page has the notice, or offers other searches beside a column of results that is empty."""
    if tree.css_first(_NO_RESULTS_SELECTOR) is not None:
        return True
    column = tree.css_first("#content_left")
    return column is not None and not get_text(column) and tree.css_first(_RELATED_SEARCHES_SELECTOR) is not None


def _is_captcha(tree: LexborHTMLParser) -> bool:
    """Recognise a captcha by the page's title, which no result page has, or a form or frame of the captcha's host."""
    elements = tree.css("form, iframe")
    places = [part.attributes.get("action") or part.attributes.get("src") or "" for part in elements]
    return get_text(tree.css_first("title")) == _CAPTCHA_TITLE or any(_CAPTCHA_HOST in place for place in places)


def _is_result(block: LexborNode) -> bool:
    names = get_classes(block)
    if "result" not in names or "result-op" in names or block.attributes.get("tpl") == _NO_RESULT_TEMPLATE:
        return False
    return "data-tuiguang" not in block.attributes and block.css_first("[data-tuiguang]") is None


def _parse_hit(block: LexborNode, base_url: str) -> SearchHit | None:
    link = block.css_first("h3 a")
    href = "" if link is None else link.attributes.get("href") or ""
    if not href:
        return None
    real = block.attributes.get("mu") or ""
    snippet = find_first_text(block, *_SNIPPET_SELECTORS)
    try:
        url = urljoin(base_url, href)
        is_advertisement = urlsplit(url).path == "/baidu.php"
    except ValueError:
        return None
    if is_advertisement:
        return None
    return SearchHit(
        title=get_text(link),
        url=url,
        snippet=snippet,
        source=real if real.startswith(("http://", "https://")) and not real.startswith(_MISSING_URL_PREFIX) else None,
        published_at=_parse_day(find_first_text(block, ".newTimeFactor_before_abs") or snippet),
    )


def _parse_day(text: str) -> dt.date | None:
    """The day that Baidu writes before a snippet."""
    first = next(iter(find_dates(text[:_MAX_DAY_CHARS])), None)
    return first.value.to_date() if first and first.start == 0 else None


def _format_period(time_range: Recency | DateRange, today: dt.date) -> str:
    """Return the range as Baidu expects it: epoch seconds from the start of the first day to the end of the last."""
    if isinstance(time_range, DateRange):
        start, end = resolve_range(time_range, today)
    else:
        start, end = today - dt.timedelta(days=_DAYS[time_range]), today
    first = dt.datetime.combine(start, dt.time.min, tzinfo=_CHINA_TIMEZONE)
    last = dt.datetime.combine(end, dt.time(23, 59, 59), tzinfo=_CHINA_TIMEZONE)
    return f"stf={int(first.timestamp())},{int(last.timestamp())}|stftype=1"


BACKEND = BaiduHtmlBackend
