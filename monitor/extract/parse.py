"""Parses the bytes of a page, feed or text into a `Page`, with all that the other modules of extract find."""

import datetime as dt
import hashlib
import re
from collections.abc import Iterator

from lxml import etree
from selectolax.lexbor import LexborHTMLParser, LexborNode

from monitor.extract.articles.article import read_article
from monitor.extract.articles.labels import find_site_name
from monitor.extract.articles.text import list_lines
from monitor.extract.attachments import find_attachments
from monitor.extract.encoding import decode
from monitor.extract.feeds import is_feed, parse_feed
from monitor.extract.html import Outline, build_outline
from monitor.extract.lists.candidates import find_lists
from monitor.extract.lists.paging import find_next_page
from monitor.i18n.message import Message
from monitor.markup import limit_depth
from monitor.page import NO_HINTS, Link, Page, PageError, PageErrorCode, PageHints
from monitor.vocabulary import LOAD_MORE_WORDS

# <script type="text/xml"><datastore>…<record><![CDATA[<li>…</li>]]></record>…</datastore></script>
_DATA_STORE_START = re.compile(r"<script\b[^<>]*>\s*<datastore>", re.IGNORECASE)
_DATA_STORE_END = re.compile(r"</datastore>\s*</script>", re.IGNORECASE)
_RECORD_START = re.compile(r"<record>\s*<!\[CDATA\[", re.IGNORECASE)
_RECORD_END = re.compile(r"\]\]>\s*</record>", re.IGNORECASE)


def expand_data_stores(html_text: str) -> str:
    """Return the page with the records of its data stores as markup: many Chinese provinces write list rows so."""
    if "<datastore>" not in html_text:
        return html_text
    pieces, kept = [], 0
    for start, data, _, end in _iter_between(html_text, _DATA_STORE_START, _DATA_STORE_END):
        store = html_text[data:end]
        records = _iter_between(store, _RECORD_START, _RECORD_END)
        pieces += [html_text[kept:start], "\n".join(store[inner:last] for _, inner, last, _ in records)]
        kept = end
    return "".join([*pieces, html_text[kept:]])


def _iter_between(text: str, opening: re.Pattern[str], closing: re.Pattern[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the spans between marks: where the opening one starts and ends, and the next closing one."""
    position = 0
    while (begin := opening.search(text, position)) and (end := closing.search(text, begin.end())):
        yield begin.start(), begin.end(), end.start(), end.end()
        position = end.end()


_BUTTON_SELECTORS = (
    "button, a, input[type=button], [role=button], [onclick], [class*=more i], [id*=more i], [class*=load i]"
)
_INFINITE_SCROLL_SELECTORS = (
    "[class*=infinite-scroll i], [data-infinite-scroll], [infinite-scroll], [v-infinite-scroll]"
)
_MAX_LABEL_CHARS = 40
_MIN_TITLE_CHARS = 8
_MIN_TITLES = 5
_MIN_LINKED_SHARE = 0.4  # of the visible text
_LOAD_MORE_LABEL = re.compile(rf"^[\s+>»▼▾↓·.…]*(?:{LOAD_MORE_WORDS})[\s+>»▼▾↓·.…]*$", re.IGNORECASE)
_SAME_PAGE_HREF = re.compile(r"^(?:#.*|javascript:.*)?$", re.IGNORECASE)


def has_load_more(tree: LexborHTMLParser) -> bool:
    """Whether an unrendered page has a button that loads more of its list (no plain "more"), or scrolls infinitely."""
    has_button = tree.css_first(_INFINITE_SCROLL_SELECTORS) is not None or any(
        map(_is_button, tree.css(_BUTTON_SELECTORS))
    )
    return has_button and _is_list(tree)


def _is_button(node: LexborNode) -> bool:
    label = (node.attributes.get("value") or "") if node.tag == "input" else node.text()
    if not _LOAD_MORE_LABEL.match(label.strip()[:_MAX_LABEL_CHARS]):
        return False
    return node.tag != "a" or _SAME_PAGE_HREF.match((node.attributes.get("href") or "").strip()) is not None


def _is_list(tree: LexborHTMLParser) -> bool:
    """Whether the page is mostly links with texts as long as titles."""
    links = [_count_chars(link) for link in tree.css("a[href]")]
    hidden = sum(map(_count_chars, tree.css("body script, body style, body noscript, body template")))
    visible = _count_chars(tree.body) - hidden
    titles = sum(length >= _MIN_TITLE_CHARS for length in links)
    return titles >= _MIN_TITLES and sum(links) >= _MIN_LINKED_SHARE * visible


def _count_chars(node: LexborNode | None) -> int:
    return len(" ".join(node.text().split())) if node is not None else 0


_TEXT_TYPES = re.compile(
    r"^(?:text/|application/(?:[\w.+-]*xml|xhtml|json|javascript|ld\+json|[\w.+-]*json))", re.IGNORECASE
)
_BINARY_SIGNATURES = (
    *(b"%PDF-", b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"\x89PNG", b"\xff\xd8\xff"),
    *(b"GIF8", b"Rar!", b"\x1f\x8b", b"7z\xbc\xaf", b"ID3"),
)

# Control characters and references to them: terminals execute them, and some reverse the order of reading.
_CONTROL_CHARS = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_CONTROL_REFERENCES = re.compile(
    # 128 to 159 stay: browsers read them as the dashes and quotes of Windows.
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
    hints: PageHints = NO_HINTS,
) -> Page:
    """Return the Page of these bytes; never raises: what is no text or cannot be parsed gives a page with an error.

    `url` was requested, `final_url` is where redirects ended; links are relative to it.
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
        kind = Message.other(content_type) if content_type else Message("page.a_file")
        page.error = PageError(
            code=PageErrorCode.UNSUPPORTED_TYPE, message=Message.of("page.not_a_page", content_type=kind)
        )
        return page
    text, page.encoding = decode(body, content_type)
    text = _CONTROL_REFERENCES.sub("", _CONTROL_CHARS.sub("", text))
    today = fetched_at.date()
    try:
        if is_feed(text):
            page.title, page.candidates, page.next_page = parse_feed(text, page.final_url, today)
            page.site = page.title
            page.links = [Link(text=candidate.title, url=candidate.url) for candidate in page.candidates]
        elif "html" not in (content_type or "").lower() and not _LOOKS_LIKE_HTML.search(text[:20_000]):
            page.text = text.strip()
        else:
            _fill_from_html(page, text, today, hints)
    except (ValueError, TypeError, RuntimeError, etree.LxmlError, RecursionError) as error:
        page.error = PageError(code=PageErrorCode.PARSE, message=Message.of("page.not_parsed", reason=str(error)))
    return page


def _is_binary(body: bytes, content_type: str | None) -> bool:
    if body.startswith(_BINARY_SIGNATURES):
        return True
    if content_type and not _TEXT_TYPES.match(content_type.strip()):
        return b"\x00" in body[:1024] or not re.search(rb"<\s*(?:html|!doctype|body|\?xml)", body[:4096], re.IGNORECASE)
    head = body[:1024]
    return b"\x00" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff"))


def _fill_from_html(page: Page, text: str, today: dt.date, hints: PageHints) -> None:
    text = limit_depth(expand_data_stores(text))
    tree = LexborHTMLParser(text)
    outline = build_outline(tree, page.final_url)
    outline.memory = hints.memory
    found = find_lists(outline, today, hints)
    page.candidates, page.lists = found.candidates, found.lists
    page.recipe, page.recipe_fit = found.recipe, found.recipe_fit
    read_article(page, outline, tree, text, today)
    page.lines, page.site = list_lines(outline), find_site_name(tree)
    page.links = _list_links(outline)
    page.attachments = find_attachments(outline)
    if page.candidates:
        page.next_page = find_next_page(outline, tree, text)
        page.is_cut_short = page.next_page is None and not page.rendered and has_load_more(tree)


def _list_links(page: Outline) -> list[Link]:
    """Return the page's links, each url once, with the longest of its link texts."""
    found: dict[str, str] = {}
    for anchor in page.anchors:
        text = anchor.text or (anchor.element.attributes.get("title") or "").strip()
        if len(text) > len(found.get(anchor.url, "")) or anchor.url not in found:
            found[anchor.url] = text
    return [Link(text=text, url=url) for url, text in found.items()]
