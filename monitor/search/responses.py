"""What backends share: cleaning results, mapping error answers to codes, parsing JSON and HTML, paging."""

import asyncio
import datetime as dt
import html
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError
from selectolax.lexbor import LexborHTMLParser, LexborNode

from monitor.dates import find_compact_dates, find_dates
from monitor.extract.encoding import decode
from monitor.fetch.outbound import find_error_code
from monitor.fetch.result import CAPTCHA_REQUIRED, TOO_MANY_REQUESTS, Response, classify_response
from monitor.i18n.message import Message
from monitor.markup import parse_html
from monitor.page import PageError, PageErrorCode
from monitor.search.contract import (
    DateRange,
    SearchError,
    SearchErrorCode,
    SearchFailed,
    SearchHit,
    SearchItem,
    SearchQuery,
    SearchResults,
)
from monitor.urls import clean_url, url_key

MAX_TITLE_CHARS = 300
MAX_SNIPPET_CHARS = 1000
MAX_PROVIDER_CHARS = 40
MAX_URL_CHARS = 2048
_CONTROL_CHARS = re.compile(r"[\x00-\x1f\x7f-\x9f]")

# Characters that are not seen, or turn the writing around; halves of surrogate pairs, which no text may hold.
_INVISIBLE_CHARS = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_BLOCK_TAG = re.compile(r"</?(?:br|p|div|li|tr|td|h[1-6])\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[A-Za-z/!?][^<>]*>")
_UNCLOSED_TAG = re.compile(r"<+(?=[A-Za-z/!?])")
_SCRIPT_URL = re.compile(r"(javascript|vbscript)\s*:", re.IGNORECASE)


def strip_markup(text: str, max_chars: int) -> str:
    """Return the visible text of a piece of markup as one line of at most `max_chars`.

    The result contains no tag and no script url: the colon of `javascript:` becomes a full-width one.
    """
    text = _INVISIBLE_CHARS.sub("", _CONTROL_CHARS.sub(" ", html.unescape(text)))
    text = _BLOCK_TAG.sub(" ", text)
    while (rest := _TAG.sub("", text)) != text:
        text = rest
    text = _SCRIPT_URL.sub(r"\1：", _UNCLOSED_TAG.sub("", text))
    text = " ".join(text.split())
    return text if len(text) <= max_chars else f"{text[: max_chars - 1].rstrip()}…"


def clean_hits(hits: Iterable[SearchHit], *, backend: str, limit: int) -> list[SearchItem]:
    """Return the first `limit` usable results: with an http(s) url, each document once, ranked from 1 in order."""
    items: list[SearchItem] = []
    known: set[str] = set()
    for hit in hits:
        url, source = _normalize_url(hit.url), _normalize_url(hit.source) if hit.source else None
        if url is None or (key := url_key(source or url)) in known:
            continue
        known.add(key)
        item = SearchItem(
            title=strip_markup(hit.title, MAX_TITLE_CHARS),
            url=url,
            snippet=strip_markup(hit.snippet, MAX_SNIPPET_CHARS),
            provider=strip_markup(hit.provider or "", MAX_PROVIDER_CHARS) or backend,
            rank=len(items) + 1,
            source=None if source == url else source,
            published_at=hit.published_at,
        )
        items.append(item)
        if len(items) == limit:
            break
    return items


def _normalize_url(url: str) -> str | None:
    address = clean_url(_CONTROL_CHARS.sub("", _INVISIBLE_CHARS.sub("", url)))
    return address if address is not None and len(address) <= MAX_URL_CHARS else None


_MAX_MESSAGE_CHARS = 200
_TRANSIENT_CODES = (SearchErrorCode.TIMEOUT, SearchErrorCode.NETWORK, SearchErrorCode.BAD_GATEWAY)

_CODES = {
    PageErrorCode.TIMEOUT: SearchErrorCode.TIMEOUT,
    PageErrorCode.NETWORK: SearchErrorCode.NETWORK,
    PageErrorCode.BAD_GATEWAY: SearchErrorCode.BAD_GATEWAY,
    PageErrorCode.WEB_BLOCKED: SearchErrorCode.WEB_BLOCKED,
}


def build_failure(
    error_type: SearchErrorCode, message: str | Message, /, *, detail_code: str | None = None, **args: Any
) -> SearchFailed:
    """Return the failure with a message, or the message of a code; temporary failures are marked as retryable."""
    return SearchFailed(
        SearchError(
            type=error_type,
            detail_code=detail_code,
            message=message if isinstance(message, Message) else Message(message, args),
            retryable=error_type in _TRANSIENT_CODES or detail_code == TOO_MANY_REQUESTS,
        )
    )


def build_captcha_failure() -> SearchFailed:
    return build_failure(SearchErrorCode.WEB_BLOCKED, "search.captcha_required", detail_code=CAPTCHA_REQUIRED)


def convert_page_error(error: PageError) -> SearchFailed:
    code = _CODES.get(error.code, SearchErrorCode.PROVIDER)
    return build_failure(code, error.message, detail_code=error.detail_code)


def find_same_host_redirect(response: Response) -> str | None:
    """Return the target of a redirect on the same host that is not less secure and no captcha; else None."""
    if not 300 <= response.status < 400 or _is_captcha_redirect(response):
        return None
    here, there = urlsplit(response.final_url), urlsplit(_resolve_redirect(response))
    is_same = there.netloc == here.netloc and there.scheme in (here.scheme, "https")
    return there.geturl() if is_same and there.geturl() != response.final_url else None


def check_page(response: Response) -> None:
    """Raise `SearchFailed` where a page made for people is a block or an error, by status and structure."""
    if 300 <= response.status < 400:
        raise build_captcha_failure() if _is_captcha_redirect(response) else _build_redirect_failure(response)
    if error := classify_response(response.status, response.headers, response.body, response.final_url):
        if error.code is PageErrorCode.BAD_GATEWAY and response.status < 500:
            raise build_failure(SearchErrorCode.PROVIDER, "search.query_refused", status=response.status)
        raise convert_page_error(error)


def check_status(response: Response, error_code: str | None = None) -> None:
    """Raise `SearchFailed` where the answer of an API is an error; by default its code is looked for in the body."""
    status = response.status
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        raise _build_redirect_failure(response)
    if error_code is None:
        error_code = find_error_code(response.body)
    detail_code = None
    if status in (401, 403):
        error_type, code = SearchErrorCode.AUTH, "search.key_refused"
    elif status == 429:
        error_type, code, detail_code = SearchErrorCode.WEB_BLOCKED, "search.too_many_requests", TOO_MANY_REQUESTS
    elif status == 408:
        error_type, code = SearchErrorCode.TIMEOUT, "search.service_timeout"
    elif status >= 500:
        error_type, code = SearchErrorCode.BAD_GATEWAY, "search.service_error"
    elif status in (404, 405, 410) and not error_code:
        error_type, code = SearchErrorCode.PROVIDER, "search.wrong_address"
    else:
        error_type, code = SearchErrorCode.PROVIDER, "search.query_refused"
    message = Message.of(code, status=status)
    if error_code:
        message = Message.of("search.with_reason", problem=message, reason=error_code)
    raise build_failure(error_type, message, detail_code=detail_code)


def _is_captcha_redirect(response: Response) -> bool:
    return classify_response(200, {}, b"", _resolve_redirect(response)) is not None


def _resolve_redirect(response: Response) -> str:
    """Return the target of a redirect; empty where it is invalid."""
    try:
        return urlsplit(urljoin(response.final_url, response.headers.get("location", ""))).geturl()
    except ValueError:
        return ""


def _build_redirect_failure(response: Response) -> SearchFailed:
    there = urlsplit(_resolve_redirect(response))
    host = strip_markup(f"{there.scheme}://{there.hostname}", _MAX_MESSAGE_CHARS) if there.hostname else "nowhere"
    return build_failure(SearchErrorCode.PROVIDER, "search.redirected", status=response.status, url=host)


ModelT = TypeVar("ModelT", bound=BaseModel)


class ProviderPayload(BaseModel):
    """A part of an answer: unknown keys are ignored, missing ones and null become the default."""

    model_config = ConfigDict(extra="ignore")


def parse_payload(response: Response, model: type[ModelT]) -> ModelT:
    """Parse an answer; raise `SearchFailed` (WebParseError) where it is no JSON or has another shape."""
    try:
        return model.model_validate(remove_nulls(json.loads(response.body)))
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"]) or "the whole"
        raise build_failure(SearchErrorCode.PARSE, "search.unexpected_shape", where=where) from None
    except (ValueError, RecursionError):
        kind = response.content_type or "no content type"
        raise build_failure(
            SearchErrorCode.PARSE, "search.not_json", content_type=kind[:80], size=len(response.body)
        ) from None


def parse_entries(values: Iterable[Any], model: type[ModelT]) -> Iterator[ModelT]:
    for value in values:
        try:
            yield model.model_validate(value)
        except ValidationError:
            continue


def remove_nulls(value: Any) -> Any:
    """Return the JSON without null entries, so that defaults take their place."""
    if isinstance(value, dict):
        return {name: remove_nulls(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [remove_nulls(inner) for inner in value]
    return value


def parse_published_day(text: str) -> dt.date | None:
    """Return the first calendar day that a service gives, in whatever form; None where it gives none."""
    days = (date.value.to_date() for date in (*find_dates(text), *find_compact_dates(text)))
    return next((day for day in days if day), None)


DEFAULT_START = dt.date(1990, 1, 1)  # of a range for services that require one


def add_site_operator(query: SearchQuery) -> str:
    return f"{query.text} site:{query.site_filter}" if query.site_filter else query.text


def require_max_length(text: str, max_chars: int) -> str:
    """Return the text; raise `SearchFailed` (InvalidInput) rather than truncate one that is too long."""
    if len(text) > max_chars:
        raise build_failure(
            SearchErrorCode.INVALID_INPUT, "search.query_too_long", max_chars=max_chars, chars=len(text)
        )
    return text


def split_language_tag(lang: str) -> tuple[str, str]:
    """Split `zh-CN` into `zh` and `cn`, `de` into `de` and an empty region; `Hans` and `Hant` imply a region."""
    language, *rest = lang.lower().split("-")
    region = next((part for part in rest if len(part) == 2), "")
    if not region and language == "zh":
        region = "tw" if "hant" in rest else "cn"
    return language, region


def resolve_range(date_range: DateRange, today: dt.date) -> tuple[dt.date, dt.date]:
    return date_range.start or DEFAULT_START, date_range.end or today


def parse_tree(response: Response) -> LexborHTMLParser:
    return parse_html(decode(response.body, response.content_type)[0])


def select_outermost(nodes: Iterable[LexborNode]) -> list[LexborNode]:
    """Return the nodes that are not inside another one of them."""
    found = list(nodes)
    known = {node.mem_id for node in found}
    return [node for node in found if not any(parent.mem_id in known for parent in iter_ancestors(node))]


def iter_ancestors(node: LexborNode) -> Iterator[LexborNode]:
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def get_classes(node: LexborNode) -> list[str]:
    return (node.attributes.get("class") or "").split()


def get_text(node: LexborNode | None) -> str:
    return "" if node is None else " ".join(node.text(deep=True).split())


def find_first_text(node: LexborNode, *selectors: str) -> str:
    """Return the text of the first node that has any, trying the selectors in order."""
    for selector in selectors:
        for found in node.css(selector):
            if text := get_text(found):
                return text
    return ""


RESULTS_PER_PAGE = 10
_TIME_SHARE = 0.9  # the rest is for merging and returning the results


def compute_timeout_s(query: SearchQuery, timeout_s: float) -> float:
    """Return the seconds that a backend has: its own timeout, or most of the query's budget if that is less."""
    return min(timeout_s, query.budget_ms / 1000 * _TIME_SHARE) if query.budget_ms else timeout_s


async def collect_pages(
    fetch_page: Callable[[int], Awaitable[SearchResults]], query: SearchQuery, *, limit: int, timeout_s: float
) -> SearchResults:
    """Return up to `limit` results, fetching as many pages (from 1) as should hold them.

    A failure on the first page fails the search; a later one keeps the results so far and sets `cut_short`.
    """
    hits: list[SearchHit] = []
    loop = asyncio.get_running_loop()
    deadline = loop.time() + compute_timeout_s(query, timeout_s) * _TIME_SHARE
    for page in range(1, -(-limit // RESULTS_PER_PAGE) + 1):
        try:
            async with asyncio.timeout_at(deadline if page > 1 else None):
                found = (await fetch_page(page)).hits
        except SearchFailed as failed:
            if page == 1:
                raise
            return SearchResults(hits=hits, cut_short=failed.error)
        except TimeoutError:
            late = build_failure(SearchErrorCode.TIMEOUT, "search.no_time_for_page", page=page)
            return SearchResults(hits=hits, cut_short=late.error)
        hits += found
        if not found or len(hits) >= limit:
            break
    return SearchResults(hits=hits[:limit])
