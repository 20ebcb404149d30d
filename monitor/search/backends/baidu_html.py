"""Baidu (百度), by its result pages."""

import datetime as dt
import re
from collections.abc import Sequence
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from monitor.domain.searching import DateRange, Findings, Recency, SearchHit, SearchQuery
from monitor.net.response import Response
from monitor.search.failures import captcha, check_page, unreadable
from monitor.search.markup import classes_of, first_text, outermost, text_of, tree_of
from monitor.search.options import both_ends, query_with_site
from monitor.search.paging import PER_PAGE, paged, time_for
from monitor.search.service import Request, Service

ADDRESS = "https://www.baidu.com"

_PATH = "/s"
_CAPTCHA_HOST = "wappass.baidu.com"
_CAPTCHA_TITLE = "百度安全验证"
_DAYS = {Recency.DAY: 1, Recency.WEEK: 7, Recency.MONTH: 31, Recency.YEAR: 365}
_CHINA = dt.timezone(dt.timedelta(hours=8))
_SNIPPETS = ("[class*='summary-text_']", "[class*='content-right_']", ".c-abstract", "[class*='c-abstract']")
_DAY = re.compile(r"^(\d{4})年(\d{1,2})月(\d{1,2})日")
_NOTHING = ".content_none, .nors, [class^='content-none'], [class^='content_none']"
_NO_ADDRESS = "http://nourl."


class BaiduHtmlBackend:
    """Asks for result pages (`ports.SearchBackend`). It has no option for the language.

    The url of a result is Baidu's redirect; the real address, where the page tells it, is its `source`.
    """

    name = "baidu_html"

    def __init__(self, service: Service) -> None:
        self._service = service

    async def search(self, query: SearchQuery, limit: int) -> Findings:
        """The results page by page, ten on each."""

        async def ask(page: int) -> Sequence[SearchHit]:
            params: dict[str, str | int] = {"wd": query_with_site(query), "rn": PER_PAGE, "pn": (page - 1) * PER_PAGE}
            if query.time_range is not None:
                params["gpc"] = _period(query.time_range, self._service.today())
            request = Request(path=_PATH, params=params, headers={"referer": self._service.url("/")})
            return await self._service.ask(request, lambda answer: read_page(answer, base_url=self._service.url(_PATH)))

        time_s = time_for(query, self._service.timeout_s)
        return await paged(ask, limit=limit, time_s=time_s)


def read_page(response: Response, *, base_url: str) -> list[SearchHit]:
    """The results of a page, without Baidu's own cards and advertisements.

    `SearchFailed` for a block, and for a page that shows neither results nor that there are none, as the home page.
    """
    tree = tree_of(response)
    blocks = outermost(tree.css("#content_left .c-container"))
    if not blocks and _is_captcha(tree):
        raise captcha()
    if response.status != 200 or not blocks:
        check_page(response)
    if not blocks and tree.css_first(_NOTHING) is None:
        raise unreadable("The service's page shows neither results nor that there are none.")
    results = [block for block in blocks if _is_result(block)]
    hits = [hit for hit in (_hit_of(block, base_url) for block in results) if hit is not None]
    if results and not hits:
        raise unreadable("The service's page shows results without links.")
    return hits


def _is_captcha(tree: LexborHTMLParser) -> bool:
    """By the page's whole title, which no result page has, or a form or frame of the captcha's host."""
    parts = tree.css("form, iframe")
    places = [part.attributes.get("action") or part.attributes.get("src") or "" for part in parts]
    return text_of(tree.css_first("title")) == _CAPTCHA_TITLE or any(_CAPTCHA_HOST in place for place in places)


def _is_result(block: LexborNode) -> bool:
    names = classes_of(block)
    if "result" not in names or "result-op" in names:
        return False
    return "data-tuiguang" not in block.attributes and block.css_first("[data-tuiguang]") is None


def _hit_of(block: LexborNode, base_url: str) -> SearchHit | None:
    link = block.css_first("h3 a")
    href = "" if link is None else link.attributes.get("href") or ""
    if not href:
        return None
    real = block.attributes.get("mu") or ""
    snippet = first_text(block, *_SNIPPETS)
    try:
        url = urljoin(base_url, href)
        is_advertisement = urlsplit(url).path == "/baidu.php"
    except ValueError:
        return None
    if is_advertisement:
        return None
    return SearchHit(
        title=text_of(link),
        url=url,
        snippet=snippet,
        source=real if real.startswith(("http://", "https://")) and not real.startswith(_NO_ADDRESS) else None,
        published_at=_day_of(first_text(block, ".newTimeFactor_before_abs") or snippet),
    )


def _day_of(text: str) -> dt.date | None:
    """The day that Baidu writes before a snippet."""
    try:
        return dt.date(*(int(part) for part in found.groups())) if (found := _DAY.match(text)) else None
    except ValueError:
        return None


def _period(time_range: Recency | DateRange, today: dt.date) -> str:
    """The days as Baidu takes them: instants in seconds, from the first day's beginning to the last one's end."""
    if isinstance(time_range, DateRange):
        start, end = both_ends(time_range, today)
    else:
        start, end = today - dt.timedelta(days=_DAYS[time_range]), today
    first = dt.datetime.combine(start, dt.time.min, tzinfo=_CHINA)
    last = dt.datetime.combine(end, dt.time(23, 59, 59), tzinfo=_CHINA)
    return f"stf={int(first.timestamp())},{int(last.timestamp())}|stftype=1"
