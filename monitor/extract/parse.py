"""Parses the bytes of a page, feed or text into a `Page`, with all that the other modules of extract find."""

import datetime as dt
import hashlib
import re

from lxml import etree
from selectolax.lexbor import LexborHTMLParser

from monitor.extract.articles.article import read_article
from monitor.extract.articles.labels import find_site_name
from monitor.extract.articles.text import list_lines
from monitor.extract.attachments import find_attachments
from monitor.extract.encoding import decode
from monitor.extract.feeds import is_feed, parse_feed
from monitor.extract.html import Element, Outline, build_outline
from monitor.extract.lists.candidates import find_lists
from monitor.extract.lists.paging import find_next_page
from monitor.i18n.message import Message
from monitor.markup import limit_depth
from monitor.page import NO_HINTS, Link, Page, PageError, PageErrorCode, PageHints
from monitor.vocabulary import LOAD_MORE_WORDS

# <script type="text/xml"><datastore>…<record><![CDATA[<li>…</li>]]></record>…</datastore></script>
_DATA_STORE = re.compile(
    r"<script\b[^<>]*>\s*<datastore>((?:[^<]++|<(?!/?datastore>))*+)</datastore>\s*</script>", re.IGNORECASE
)
_RECORD = re.compile(r"<record>\s*<!\[CDATA\[((?:[^]<]++|](?!]>)|<(?!record>))*+)]]>\s*</record>", re.IGNORECASE)


def expand_data_stores(html_text: str) -> str:
    """Return the page with the records of its data stores as markup: many Chinese provinces write list rows so."""
    if "<datastore>" not in html_text:
        return html_text
    return _DATA_STORE.sub(lambda store: "\n".join(_RECORD.findall(store[1])), html_text)


_INFINITE_SCROLL = frozenset({"infinite-scroll", "data-infinite-scroll", "v-infinite-scroll"})
_MAX_LABEL_CHARS = 40
_MIN_TITLE_CHARS = 8
_MIN_TITLES = 5
_MIN_LINKED_SHARE = 0.4  # of the visible text
_LOAD_MORE_LABEL = re.compile(rf"^[\s+>»▼▾↓·.…]*(?:{LOAD_MORE_WORDS})[\s+>»▼▾↓·.…]*$", re.IGNORECASE)
_SAME_PAGE_HREF = re.compile(r"^(?:#.*|javascript:.*)?$", re.IGNORECASE)


def has_load_more(page: Outline) -> bool:
    """Whether an unrendered page has a button that loads more of its list (no plain "more"), or scrolls infinitely."""
    links = [len(page.get_text(element)) for element in page.elements if element.tag == "a"]
    titles = sum(length >= _MIN_TITLE_CHARS for length in links)
    is_list = titles >= _MIN_TITLES and sum(links) >= _MIN_LINKED_SHARE * len(page.full_text)
    return is_list and any(_loads_more(page, element) for element in page.elements)


def _loads_more(page: Outline, element: Element) -> bool:
    attributes, names = element.attributes, element.class_and_id
    if "infinite-scroll" in names or not _INFINITE_SCROLL.isdisjoint(attributes):
        return True
    is_button = element.tag in ("button", "a", "input") or "onclick" in attributes or attributes.get("role") == "button"
    if not is_button and "more" not in names and "load" not in names:
        return False
    label = "".join(page.texts[element.text_start : element.text_end]).strip()
    if not _LOAD_MORE_LABEL.match(label[:_MAX_LABEL_CHARS]):
        return False
    return element.tag != "a" or _SAME_PAGE_HREF.match((attributes.get("href") or "").strip()) is not None


_TEXT_TYPES = re.compile(r"text/|application/(?:xhtml|javascript|[\w.+-]*(?:xml|json))", re.IGNORECASE)
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
        page.is_cut_short = page.next_page is None and not page.rendered and has_load_more(outline)


def _list_links(page: Outline) -> list[Link]:
    """Return the page's links, each url once, with the longest of its link texts."""
    found: dict[str, str] = {}
    for anchor in page.anchors:
        text = anchor.text or (anchor.element.attributes.get("title") or "").strip()
        found[anchor.url] = max(found.get(anchor.url, ""), text, key=len)
    return [Link(text=text, url=url) for url, text in found.items()]
