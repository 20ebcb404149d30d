"""What an answer that is none means, in the error codes of web.search."""

import asyncio
import datetime as dt
import html
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError
from selectolax.lexbor import LexborHTMLParser, LexborNode

from monitor.extract.encoding import decode
from monitor.fetch.result import CAPTCHA_REQUIRED, TOO_MANY_REQUESTS, Response, classify_response
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
    """What a reader would see of a piece of markup, in one line of at most `max_chars`.

    Nothing that is left begins a tag or a script's url: the colon of `javascript:` becomes the Chinese one, which
    reads the same and runs nowhere.
    """
    text = _INVISIBLE_CHARS.sub("", _CONTROL_CHARS.sub(" ", html.unescape(text)))
    text = _BLOCK_TAG.sub(" ", text)
    while (rest := _TAG.sub("", text)) != text:
        text = rest
    text = _SCRIPT_URL.sub(r"\1：", _UNCLOSED_TAG.sub("", text))
    text = " ".join(text.split())
    return text if len(text) <= max_chars else f"{text[: max_chars - 1].rstrip()}…"


def clean_hits(hits: Iterable[SearchHit], *, backend: str, limit: int) -> list[SearchItem]:
    """The first `limit` results that are any: with an http(s) url, each document once, ranked from 1 in their order."""
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
    """The url in its clean form; None where it is none, or too long to be any good."""
    address = clean_url(_CONTROL_CHARS.sub("", _INVISIBLE_CHARS.sub("", url)))
    return address if address is not None and len(address) <= MAX_URL_CHARS else None


_MAX_MESSAGE_CHARS = 200
_AUTH_STATUSES = (401, 403)
_TRANSIENT_CODES = (SearchErrorCode.TIMEOUT, SearchErrorCode.NETWORK, SearchErrorCode.BAD_GATEWAY)

_CODES = {
    PageErrorCode.TIMEOUT: SearchErrorCode.TIMEOUT,
    PageErrorCode.NETWORK: SearchErrorCode.NETWORK,
    PageErrorCode.BAD_GATEWAY: SearchErrorCode.BAD_GATEWAY,
    PageErrorCode.WEB_BLOCKED: SearchErrorCode.WEB_BLOCKED,
}


def build_failure(
    code: SearchErrorCode, message: str, *, detail_code: str | None = None, retryable: bool | None = None
) -> SearchFailed:
    """A failure; what passes by itself (time, network, a gateway, too many questions) may be tried again."""
    passes = code in _TRANSIENT_CODES or detail_code == TOO_MANY_REQUESTS
    return SearchFailed(
        SearchError(
            type=code, detail_code=detail_code, message=message, retryable=passes if retryable is None else retryable
        )
    )


def build_captcha_failure(message: str = "The service asks for a captcha, which is never solved here.") -> SearchFailed:
    """A failure that means whoever asks by this way."""
    return build_failure(SearchErrorCode.WEB_BLOCKED, message, detail_code=CAPTCHA_REQUIRED)


def build_parse_failure(message: str) -> SearchFailed:
    """An answer that is not what the service's answers look like."""
    return build_failure(SearchErrorCode.PARSE, message)


def convert_page_error(error: PageError) -> SearchFailed:
    """A request to which no answer came, or that was refused here."""
    code = _CODES.get(error.code, SearchErrorCode.PROVIDER)
    message = error.message.replace("The site ", "The service ")
    return build_failure(code, message, detail_code=error.detail_code)


def find_same_host_redirect(response: Response) -> str | None:
    """Where an answer sends us, if that is on the same host, not less safe and no captcha; else None."""
    if not 300 <= response.status < 400 or _is_captcha_redirect(response):
        return None
    here, there = urlsplit(response.final_url), urlsplit(_resolve_redirect(response))
    is_same = there.netloc == here.netloc and there.scheme in (here.scheme, "https")
    return there.geturl() if is_same and there.geturl() != response.final_url else None


def check_page(response: Response) -> None:
    """`SearchFailed` where the answer of a service for people is a block or an error, by status and structure."""
    if 300 <= response.status < 400:
        raise build_captcha_failure() if _is_captcha_redirect(response) else _build_redirect_failure(response)
    error = classify_response(response.status, response.headers, response.body, response.final_url)
    if error is None:
        return
    if error.code is PageErrorCode.BAD_GATEWAY and response.status < 500:
        raise build_failure(SearchErrorCode.PROVIDER, f"The service did not take the query ({response.status}).")
    raise convert_page_error(error)


def check_status(response: Response, service_message: str = "") -> None:
    """`SearchFailed` where the answer of a service for programs is an error; `said` is its own word for it."""
    status = response.status
    if 200 <= status < 300:
        return
    tail = f": {strip_markup(service_message, _MAX_MESSAGE_CHARS)}" if service_message.strip() else ""
    if status in _AUTH_STATUSES:
        raise build_failure(SearchErrorCode.AUTH, f"The service refuses the key ({status}){tail or '.'}")
    if status == 429:
        raise build_failure(
            SearchErrorCode.WEB_BLOCKED,
            f"The service was asked too often (429){tail or '.'}",
            detail_code=TOO_MANY_REQUESTS,
        )
    if status == 408:
        raise build_failure(SearchErrorCode.TIMEOUT, "The service gave up waiting (408).")
    if status >= 500:
        raise build_failure(SearchErrorCode.BAD_GATEWAY, f"The service answered with an error ({status}){tail or '.'}")
    if 300 <= status < 400:
        raise _build_redirect_failure(response)
    mend = tail or (": look at its base_url." if status in (404, 405, 410) else ".")
    raise build_failure(SearchErrorCode.PROVIDER, f"The service did not take the query ({status}){mend}")


def _is_captcha_redirect(response: Response) -> bool:
    return classify_response(200, {}, b"", _resolve_redirect(response)) is not None


def _resolve_redirect(response: Response) -> str:
    """Where a redirect leads; empty where that is no url."""
    try:
        target = urljoin(response.final_url, response.headers.get("location", ""))
        urlsplit(target)
    except ValueError:
        return ""
    return target


def _build_redirect_failure(response: Response) -> SearchFailed:
    there = strip_markup(response.headers.get("location", ""), _MAX_MESSAGE_CHARS) or "nowhere"
    return build_failure(
        SearchErrorCode.PROVIDER,
        f"The service sends us elsewhere ({response.status}, {there}): set its base_url to where it is.",
    )


ModelT = TypeVar("ModelT", bound=BaseModel)
_ERROR_KEYS = ("error", "detail", "code", "message", "msg")


class ProviderPayload(BaseModel):
    """A part of an answer: what is not known is passed over, what is missing or null has its default."""

    model_config = ConfigDict(extra="ignore")


def parse_payload(response: Response, model: type[ModelT]) -> ModelT:
    """The answer as a value; `SearchFailed` (WebParseError) where it is no JSON or has another shape."""
    try:
        return model.model_validate(remove_nulls(json.loads(response.body)))
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"]) or "the whole"
        raise build_parse_failure(f"The service's answer has another shape than it should, at {where}.") from None
    except (ValueError, RecursionError):
        kind = response.content_type or "no content type"
        raise build_parse_failure(
            f"The service's answer is no JSON ({kind[:80]}, {len(response.body)} bytes)."
        ) from None


def parse_entries(values: Iterable[Any], model: type[ModelT]) -> Iterator[ModelT]:
    """The entries that have the shape they should."""
    for value in values:
        try:
            yield model.model_validate(value)
        except ValidationError:
            continue


def remove_nulls(value: Any) -> Any:
    """The same JSON without entries that are null, so that a default takes their place."""
    if isinstance(value, dict):
        return {name: remove_nulls(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [remove_nulls(inner) for inner in value]
    return value


def parse_published_day(text: str) -> dt.date | None:
    """The calendar day that a service tells, as 2026-02-03, as an instant or as in mail; None where it tells none."""
    text = text.strip()
    try:
        return dt.datetime.fromisoformat(text).date()
    except ValueError:
        pass
    try:
        return dt.date.fromisoformat(text[:10])
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(text).date()
    except (ValueError, TypeError, IndexError):
        return None


def extract_error_message(response: Response) -> str:
    """A service's own words for an error, wherever in its JSON they stand; empty where there are none."""
    if response.status < 400:
        return ""
    try:
        return "; ".join(_iter_error_messages(json.loads(response.body)))
    except (ValueError, RecursionError):
        return ""


def _iter_error_messages(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name in _ERROR_KEYS:
            if name in value:
                yield from (
                    [str(value[name])] if isinstance(value[name], str | int) else _iter_error_messages(value[name])
                )


DEFAULT_START = dt.date(1990, 1, 1)
"""Where a range begins for services that want a beginning."""


def add_site_operator(query: SearchQuery) -> str:
    """The text with the site as an operator, for services that have no option for it."""
    return f"{query.text} site:{query.site_filter}" if query.site_filter else query.text


def require_max_length(text: str, max_chars: int) -> str:
    """The text; `SearchFailed` (InvalidInput) where the service takes none so long, instead of a cut question."""
    if len(text) > max_chars:
        message = f"The service takes queries of at most {max_chars} characters; this one has {len(text)}."
        raise build_failure(SearchErrorCode.INVALID_INPUT, message)
    return text


def split_language_tag(lang: str) -> tuple[str, str]:
    """`zh-CN` as `zh` and `cn`, `de` as `de` and an empty region; a script such as `Hans` stands for its region."""
    language, *rest = lang.lower().split("-")
    region = next((part for part in rest if len(part) == 2), "")
    if not region and language == "zh":
        region = "tw" if "hant" in rest else "cn"
    return language, region


def resolve_range(date_range: DateRange, today: dt.date) -> tuple[dt.date, dt.date]:
    """A range with two ends: an open beginning is long ago, an open end today."""
    return date_range.start or DEFAULT_START, date_range.end or today


def parse_tree(response: Response) -> LexborHTMLParser:
    """The page, decoded as browsers do."""
    return LexborHTMLParser(decode(response.body, response.content_type)[0])


def select_outermost(nodes: Iterable[LexborNode]) -> list[LexborNode]:
    """Those nodes that lie in no other one of them: a result within a result is a part of it."""
    found = list(nodes)
    known = {node.mem_id for node in found}
    return [node for node in found if not any(parent.mem_id in known for parent in iter_ancestors(node))]


def iter_ancestors(node: LexborNode) -> Iterator[LexborNode]:
    """What a node lies in, from the inside out."""
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def get_classes(node: LexborNode) -> list[str]:
    """The words of a node's class."""
    return (node.attributes.get("class") or "").split()


def get_text(node: LexborNode | None) -> str:
    """The text that a node and all within it show; empty for None."""
    return "" if node is None else " ".join(node.text(deep=True).split())


def find_first_text(node: LexborNode, *selectors: str) -> str:
    """The text of the first node that has any, the selectors tried in their order."""
    for selector in selectors:
        for found in node.css(selector):
            if text := get_text(found):
                return text
    return ""


RESULTS_PER_PAGE = 10
"""Results on a page: what services show, more or less."""

_TIME_SHARE = 0.9  # what is left is for handing the results on


def compute_timeout_s(query: SearchQuery, timeout_s: float) -> float:
    """Seconds that a backend has for a query: its own time, or nearly all of the budget where that is less."""
    return min(timeout_s, query.budget_ms / 1000 * _TIME_SHARE) if query.budget_ms else timeout_s


async def collect_pages(
    fetch_page: Callable[[int], Awaitable[Sequence[SearchHit]]], *, limit: int, timeout_s: float
) -> SearchResults:
    """Up to `limit` results of as many pages as should hold them, `ask` giving those of one (from 1).

    A failure on the first page is the failure of the search; on a later one, what was found stays found.
    """
    hits: list[SearchHit] = []
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s * _TIME_SHARE
    for page in range(1, -(-limit // RESULTS_PER_PAGE) + 1):
        try:
            async with asyncio.timeout_at(deadline if page > 1 else None):
                found = await fetch_page(page)
        except SearchFailed as failed:
            if page == 1:
                raise
            return SearchResults(hits=hits, cut_short=failed.error)
        except TimeoutError:
            late = build_failure(SearchErrorCode.TIMEOUT, f"There was no time for page {page} of the results.")
            return SearchResults(hits=hits, cut_short=late.error)
        hits += found
        if not found or len(hits) >= limit:
            break
    return SearchResults(hits=hits[:limit])
