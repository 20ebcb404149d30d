"""Bytes to a Page: where all that the parsers see is joined."""

import datetime as dt
import hashlib
import re

from lxml import etree
from selectolax.lexbor import LexborHTMLParser

from monitor.domain.page import Link, Page, PageError, PageErrorCode
from monitor.pages.article import read_article
from monitor.pages.articletext import all_lines
from monitor.pages.attachments import find_attachments
from monitor.pages.datastore import with_stored_records
from monitor.pages.encoding import decode
from monitor.pages.feed import is_feed, read_feed
from monitor.pages.growing import grows_when_asked
from monitor.pages.listing import list_candidates
from monitor.pages.metadata import site_told
from monitor.pages.outline import Outline, outline
from monitor.pages.paging import next_page_of

_TEXT_TYPES = re.compile(
    r"^(?:text/|application/(?:[\w.+-]*xml|xhtml|json|javascript|ld\+json|[\w.+-]*json))", re.IGNORECASE
)
_BINARY_STARTS = (
    b"%PDF-",
    b"PK\x03\x04",
    b"\xd0\xcf\x11\xe0",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"Rar!",
    b"\x1f\x8b",
    b"7z\xbc\xaf",
    b"ID3",
)
# Characters, and references to them, that are no text: a terminal obeys them, and they turn the order of what is read.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_WRITTEN_CONTROLS = re.compile(
    # 128 to 159 are left: browsers read them as the dashes and quotes of Windows.
    r"&#(?:0*(?:[0-8]|11|1[4-9]|2\d|3[01]|127|823[4-8]|829[4-7])(?!\d)"
    r"|x0*(?:[0-8bef]|1[0-9a-f]|7f|202[a-e]|206[6-9])(?![0-9a-f]));?",
    re.IGNORECASE,
)
_LOOKS_LIKE_HTML = re.compile(
    r"<\s*(?:!doctype|html|head|body|div|table|ul|p|a|title|meta|script|frameset|h1)\b", re.IGNORECASE
)


def parse_page(
    body: bytes,
    *,
    url: str,
    final_url: str,
    status: int | None,
    content_type: str | None,
    fetched_at: dt.datetime,
    rendered: bool = False,
) -> Page:
    """The Page that these bytes make; never raises.

    `url` was asked for, `final_url` is where redirects ended: links are relative to it. `fetched_at` is when, with its
    zone: "yesterday" counts from that day. Bytes that are no text give a page with the error `UnsupportedType`, a text
    that cannot be parsed one with `ParseError`.
    """
    page = Page(
        url=url,
        final_url=final_url,
        status=status,
        content_type=content_type,
        rendered=rendered,
        fetched_at=fetched_at,
        sha256=hashlib.sha256(body).hexdigest(),
    )
    if _is_binary(body, content_type):
        page.error = PageError(
            code=PageErrorCode.UNSUPPORTED_TYPE, message=f"This is no page but {content_type or 'a file'}."
        )
        return page
    text, page.encoding = decode(body, content_type)
    text = _WRITTEN_CONTROLS.sub("", _CONTROLS.sub("", text))
    today = fetched_at.date()
    try:
        if is_feed(text):
            _fill_from_feed(page, text, today)
        elif _is_plain(text, content_type):
            page.text = text.strip()
        else:
            _fill_from_html(page, text, today)
    except (ValueError, TypeError, RuntimeError, etree.LxmlError, RecursionError) as error:
        page.error = PageError(code=PageErrorCode.PARSE, message=f"The page cannot be parsed: {error}")
    return page


def _is_binary(body: bytes, content_type: str | None) -> bool:
    if body.startswith(_BINARY_STARTS):
        return True
    if content_type and not _TEXT_TYPES.match(content_type.strip()):
        return b"\x00" in body[:1024] or not re.search(rb"<\s*(?:html|!doctype|body|\?xml)", body[:4096], re.IGNORECASE)
    head = body[:1024]
    return b"\x00" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff"))


def _is_plain(text: str, content_type: str | None) -> bool:
    if content_type and "html" in content_type.lower():
        return False
    return not _LOOKS_LIKE_HTML.search(text[:20_000])


def _fill_from_feed(page: Page, text: str, today: dt.date) -> None:
    page.title, page.candidates, page.next_page = read_feed(text, page.final_url, today)
    page.site = page.title
    page.links = [Link(text=candidate.title, url=candidate.url) for candidate in page.candidates]


def _fill_from_html(page: Page, text: str, today: dt.date) -> None:
    tree = LexborHTMLParser(with_stored_records(text))
    seen = outline(tree, page.final_url)
    page.candidates = list_candidates(seen, today)
    article = read_article(seen, tree, text, today, candidates=page.candidates)
    page.title, page.text = article.title, article.text
    page.published_on, page.date_source = article.published_on, article.date_source
    page.language, page.issuer, page.document_number = article.language, article.issuer, article.document_number
    page.lines, page.site = all_lines(seen), site_told(tree)
    page.links = _links(seen)
    page.attachments = find_attachments(seen)
    if page.candidates:
        page.next_page = next_page_of(seen, tree, text)
        page.is_cut_short = page.next_page is None and not page.rendered and grows_when_asked(tree)


def _links(page: Outline) -> list[Link]:
    """The page's links, each url once, under the longest of the texts that lead to it."""
    found: dict[str, str] = {}
    for anchor in page.anchors:
        text = anchor.text or (anchor.element.attributes.get("title") or "").strip()
        if len(text) > len(found.get(anchor.url, "")) or anchor.url not in found:
            found[anchor.url] = text
    return [Link(text=text, url=url) for url, text in found.items()]
