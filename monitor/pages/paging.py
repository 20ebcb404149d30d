"""The next page of a list."""

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from selectolax.lexbor import LexborHTMLParser

from monitor.domain.urls import clean_url, url_key
from monitor.pages.outline import Anchor, Outline, outline, squeeze
from monitor.pages.pagerwords import NEXT_SIGNS, NEXT_WORD
from monitor.pages.scriptpager import next_of_script

_NEXT_CLASS = re.compile(r"(?:^|[\s_-])(?:next|pagenext|nextpage|nextpostslink|pager-next)(?=$|[\s_-])")
_CAROUSEL = re.compile(r"slick|swiper|carousel|slide|calendar|gallery|month|lightbox|nav-next|post-navigation")
_PAGER_NAMES = re.compile(r"pag(?:e|ing|in)|fenye|yema")
_NUMBER = re.compile(r"^[\s\[(第]*(\d{1,4})[\s\])页頁]*$")


def find_next_page(tree: LexborHTMLParser, html_text: str, url: str) -> str | None:
    """The absolute url of the page after this one, None where the page names none.

    What `rel=next` says is believed first, then the number after this page's own: "next" may lead to the next ten
    pages. Then come words and signs, last the calls by which Chinese content management systems draw their pagers in
    scripts.
    """
    return next_page_of(outline(tree, url), tree, html_text)


def next_page_of(page: Outline, tree: LexborHTMLParser, html_text: str) -> str | None:
    """As `find_next_page`, for a page whose outline is known already."""
    for found in (
        _by_rel(page, tree),
        _by_number(page),
        _by_word(page),
        _by_sign(page),
        next_of_script(html_text, page.base),
    ):
        if found and url_key(found) != url_key(page.url):
            return found
    return None


def _by_rel(page: Outline, tree: LexborHTMLParser) -> str | None:
    for link in tree.css("link[rel~=next][href]"):
        if found := clean_url(link.attributes.get("href") or "", page.base):
            return found
    for anchor in page.anchors:
        if "next" in (anchor.element.attributes.get("rel") or "").lower().split() and not _is_carousel(anchor):
            return anchor.url
    return None


def _by_word(page: Outline) -> str | None:
    named = [anchor for anchor in page.anchors if _says_next(page, anchor) and not _is_carousel(anchor)]
    return _likeliest(page, named)


def _says_next(page: Outline, anchor: Anchor) -> bool:
    attributes = anchor.element.attributes
    written = [anchor.text, squeeze(attributes.get("title") or ""), squeeze(attributes.get("aria-label") or "")]
    if not anchor.text:
        written += [squeeze(one.attributes.get("alt") or "") for one in page.inside(anchor.element) if one.tag == "img"]
    return any(text and len(text) <= 40 and NEXT_WORD.match(text) for text in written) or bool(
        len(anchor.text) <= 3 and _NEXT_CLASS.search(anchor.element.names)
    )


def _by_sign(page: Outline) -> str | None:
    for sign in NEXT_SIGNS:
        signed = [
            anchor
            for anchor in page.anchors
            if anchor.text == sign
            and not _is_carousel(anchor)
            and (_in_pager(anchor) or _counters_differ_by_one(page.url, anchor.url))
        ]
        if signed:
            return _likeliest(page, signed)
    return None


def _likeliest(page: Outline, anchors: list[Anchor]) -> str | None:
    """Of several next links, one in a pager before others, and one on this page's own path before others."""
    if not anchors:
        return None
    own_path = urlsplit(page.url).path.rsplit("/", 1)[0]
    return max(
        anchors,
        key=lambda anchor: (_in_pager(anchor), urlsplit(anchor.url).path.startswith(own_path), -anchor.element.index),
    ).url


def _is_carousel(anchor: Anchor) -> bool:
    return any(_CAROUSEL.search(names) for names in _names_above(anchor, 3))


def _in_pager(anchor: Anchor) -> bool:
    return any(_PAGER_NAMES.search(names) for names in _names_above(anchor, 4))


def _names_above(anchor: Anchor, levels: int) -> Iterable[str]:
    node = anchor.element
    for _ in range(levels):
        yield node.names
        if node.parent is None:
            return
        node = node.parent


def _by_number(page: Outline) -> str | None:
    """Among numbered links, the one after the number that is no link: that is the page one is on."""
    numbered = [(int(found[1]), anchor) for anchor in page.anchors if (found := _NUMBER.match(anchor.text))]
    for number, anchor in numbered:
        if number < 2:
            continue
        if _stands_before(page, anchor, number - 1) or _counters_differ_by_one(page.url, anchor.url):
            return anchor.url
    return None


def _stands_before(page: Outline, anchor: Anchor, number: int) -> bool:
    """Whether the text just before a link is the number before its own, and is no link to elsewhere."""
    index = anchor.element.text_start - 1
    while index >= 0 and re.fullmatch(r"[\s|,·\[\]-]*", page.texts[index]):
        index -= 1
    if index < 0:
        return False
    found = _NUMBER.match(page.texts[index].replace("|", " "))
    if not found or int(found[1]) != number:
        return False
    owner = page.elements[page.text_owner[index]]
    if not _in_pager(anchor) and anchor.element.parent is not owner.parent and anchor.element.parent is not owner:
        return False
    return not any(other.element.holds(owner) for other in page.anchors)


def _counters_differ_by_one(url: str, other: str) -> bool:
    """Whether two urls are the same but for one number, which is greater by one (or 2 where the first has none)."""
    if urlsplit(url).netloc != urlsplit(other).netloc:
        return False
    here, there = re.split(r"(\d+)", url), re.split(r"(\d+)", other)
    if len(here) != len(there):
        return bool(
            re.fullmatch(
                re.escape(url.rstrip("/")) + r"[?&/]?(?:page|p|paged|pageno|pn)?[=/_]?2/?", other, re.IGNORECASE
            )
        )
    differing = [(left, right) for left, right in zip(here, there, strict=True) if left != right]
    if len(differing) != 1:
        return False
    left, right = differing[0]
    return left.isdigit() and right.isdigit() and int(right) == int(left) + 1
