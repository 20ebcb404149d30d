"""Parses markup into a tree that is never deeper than browsers make theirs, so that all who walk it end."""

import re
from collections import Counter

from selectolax.lexbor import LexborHTMLParser

MAX_DEPTH = 512
"""As in Chromium and WebKit. A parser asks of each element which ones are open: depth makes its time quadratic."""

# Comments and the content of scripts and their like have no tags; a comment that never ends is the rest of the page.
_COMMENT = r"<!--(?:-?>|(?:[^-]++|-(?!-!?>))*+(?:--!?>)?)"
_RAW = r"<(?P<raw>script|style|textarea|xmp|iframe|noembed|noframes)\b(?:[^<]++|<(?!/(?P=raw)\b))*+(?:</(?P=raw))?"
_ANY_TAG = r"<(?P<close>/?)(?P<name>[a-z][^\s/>]*)[^>]*>?"
_TAG = re.compile(rf"{_COMMENT}|{_RAW}|{_ANY_TAG}", re.IGNORECASE)
# In a drawing or a formula scripts and styles are elements as others are.
_FOREIGN = re.compile(r"<(?:svg|math)\b", re.IGNORECASE)
_FOREIGN_TAG = re.compile(rf"{_COMMENT}|{_ANY_TAG}", re.IGNORECASE)
_VOID_TEXT = """
area base br col embed frame hr img input link meta param source track wbr
"""
_VOID = frozenset(_VOID_TEXT.split())
# An end tag closes nothing beyond these.
_BORDERS_TEXT = """
applet button caption foreignobject html marquee object select table td template th
"""
_BORDERS = frozenset(_BORDERS_TEXT.split())
# What closes an open element of the same kind, and the elements beyond which it does not look.
_LIST_ITEMS = {"li": frozenset({"li"}), "dt": frozenset({"dt", "dd"}), "dd": frozenset({"dt", "dd"})}
_CELLS = {
    "td": frozenset({"td", "th"}),
    "th": frozenset({"td", "th"}),
    "tr": frozenset({"tr", "td", "th"}),
    **dict.fromkeys(("tbody", "thead", "tfoot"), frozenset({"tbody", "thead", "tfoot", "tr", "td", "th"})),
}
_ALONE = {"option": frozenset({"option"}), "optgroup": frozenset({"option", "optgroup"})}
_TRANSPARENT_TEXT = """
a abbr address b big cite code em font i ins del label mark p s small span strike strong sub sup time tt u
"""
_TRANSPARENT = frozenset(_TRANSPARENT_TEXT.split())
_BLOCKS_TEXT = """
address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form h1 h2
h3 h4 h5 h6 header hgroup main menu nav ol p pre section summary table ul
"""
_BLOCKS = frozenset(_BLOCKS_TEXT.split())
# Their end tags close themselves alone, not the blocks in them.
_FORMATTING_TEXT = "a b big code em font form i nobr s small strike strong tt u"
_FORMATTING = frozenset(_FORMATTING_TEXT.split())
_CLOSING_ALL = (_BLOCKS | _BORDERS | _LIST_ITEMS.keys() | _CELLS.keys()) - _FORMATTING

_CLOSING_OTHERS = _BLOCKS | _ALONE.keys() | _LIST_ITEMS.keys() | _CELLS.keys() | {"a"}


def parse_html(text: str) -> LexborHTMLParser:
    """Return the tree of a page of any depth, its elements below `MAX_DEPTH` as the content of their ancestor there."""
    return LexborHTMLParser(limit_depth(text))


def limit_depth(text: str) -> str:
    """Return the markup without the tags of elements that would be deeper than `MAX_DEPTH`; their texts and links stay.

    The depth is counted from the tags, at least as large as the one that a parser comes to.
    """
    if text.count("<") - text.count("</") <= MAX_DEPTH:  # no more elements than that begin
        return text
    stack: list[str] = []
    dropped: Counter[str] = Counter()
    pieces: list[str] = []
    kept = 0
    pattern = _FOREIGN_TAG if _FOREIGN.search(text) else _TAG
    for tag in pattern.finditer(text):
        close, name = tag.group("close", "name")
        if name is None:
            continue
        name = name.lower()
        if close:
            if dropped and dropped[name]:
                dropped[name] -= 1
                pieces.append(text[kept : tag.start()])
                kept = tag.end()
            elif stack and stack[-1] == name:
                stack.pop()
            else:
                _close(stack, name)
            continue
        if name in _VOID:
            continue
        if stack and name in _CLOSING_OTHERS:
            _close_implied(stack, name)
        if len(stack) < MAX_DEPTH:
            stack.append(name)
        elif name != "a":  # links close each other
            dropped[name] += 1
            pieces.append(text[kept : tag.start()])
            kept = tag.end()
    return "".join([*pieces, text[kept:]]) if pieces else text


def _close(stack: list[str], name: str) -> None:
    """Close the nearest element of this name and all in it, if an end tag reaches it."""
    if name not in stack:
        return
    place = len(stack) - 1
    while stack[place] != name:
        is_part_of_table = stack[place] in _CELLS and (name in _CELLS or name == "table")
        if stack[place] in _BORDERS and not is_part_of_table:
            return
        if name == "li" and stack[place] in ("ul", "ol"):
            return
        if name not in _CLOSING_ALL and name not in _FORMATTING and stack[place] not in _TRANSPARENT:
            return
        place -= 1
    if name in _FORMATTING:
        del stack[place]
    else:
        del stack[place:]


def _close_implied(stack: list[str], name: str) -> None:
    """Close what the beginning of an element closes, where that is certain."""
    if name in _ALONE:
        while stack and stack[-1] in _ALONE[name]:
            stack.pop()
    elif name in _LIST_ITEMS or name in _CELLS:
        wanted = _LIST_ITEMS.get(name) or _CELLS[name]
        place = len(stack) - 1
        while place >= 0 and stack[place] in _TRANSPARENT and stack[place] not in wanted:
            place -= 1
        while place >= 0 and stack[place] in wanted:
            del stack[place:]
            place -= 1
    elif name in _BLOCKS:
        if stack[-1] == "p":
            stack.pop()
    elif name == "a" and stack[-1] == "a":
        stack.pop()
