"""Lists that show more of themselves in the same page: by a button, or as they are scrolled."""

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from monitor.pages.pagerwords import MORE_WORDS

_BUTTONS = "button, a, input[type=button], [role=button], [onclick], [class*=more i], [id*=more i], [class*=load i]"
_SCROLLERS = "[class*=infinite-scroll i], [data-infinite-scroll], [infinite-scroll], [v-infinite-scroll]"
_LONGEST_LABEL = 40
_TITLE_CHARS = 8
_FEWEST_TITLES = 5
_LINKED = 0.4  # of the visible text
_SAYS_MORE = re.compile(rf"^[\s+>»▼▾↓·.…]*(?:{MORE_WORDS})[\s+>»▼▾↓·.…]*$", re.IGNORECASE)
_STAYS = re.compile(r"^(?:#.*|javascript:.*)?$", re.IGNORECASE)


def grows_when_asked(tree: LexborHTMLParser) -> bool:
    """Whether a page that was not drawn holds a button for more of its list, or says that it grows by scrolling.

    A plain "more" is not enough: without its scripts, a way to a section looks the same.
    """
    asks = tree.css_first(_SCROLLERS) is not None or any(_is_button(node) for node in tree.css(_BUTTONS))
    return asks and _is_list(tree)


def _is_button(node: LexborNode) -> bool:
    label = (node.attributes.get("value") or "") if node.tag == "input" else node.text()
    if not _SAYS_MORE.match(label.strip()[:_LONGEST_LABEL]):
        return False
    return node.tag != "a" or _STAYS.match((node.attributes.get("href") or "").strip()) is not None


def _is_list(tree: LexborHTMLParser) -> bool:
    """Whether the page is mostly links with texts as long as titles; a drawn page is asked the same before it grows."""
    labels = [_length(link) for link in tree.css("a[href]")]
    visible = _length(tree.body) - sum(map(_length, tree.css("body script, body style, body noscript, body template")))
    return sum(length >= _TITLE_CHARS for length in labels) >= _FEWEST_TITLES and sum(labels) >= _LINKED * visible


def _length(node: LexborNode | None) -> int:
    return len(" ".join(node.text().split())) if node is not None else 0
