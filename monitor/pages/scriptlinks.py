"""Links that only a script follows: the address stands in a handler or a data attribute, not in `href`."""

import re
from collections.abc import Mapping

_ATTRIBUTES = ("data-url", "data-href", "data-link", "data-src-url", "_href", "link")
# openUrl('/art/2026/a.html'), window.open("a.html"), location.href = 'a.html', toDetail('detail?id=3').
_CALL = re.compile(
    r"(?:\b(?:\w*(?:open|go|goto|jump|link|url|href|view|detail|show|redirect|navigate|to)\w*)\s*\(|"
    r"location(?:\.href)?\s*=)\s*(?P<quote>[\"'])(?P<url>[^\"'<>\s]{3,1000})(?P=quote)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"https?://|\.{0,2}/[\w%]|\?\w+=|[\w%./-]+\.(?:s?html?|jspx?|aspx?|php|do|action|pdf|docx?)\b|[\w%-]+/\w"
)
_SCRIPT = re.compile(r"\s*(?:javascript:|#|$)", re.IGNORECASE)
_CLICKABLE = frozenset({"a", "area", "li", "tr", "td", "div", "p", "span", "dt", "dd", "h2", "h3", "h4", "article"})


def written_address(tag: str, attributes: Mapping[str, str | None]) -> str | None:
    """The address that an element leads to, as its author wrote it: `href`, a data attribute, or a handler's argument.

    A handler whose argument is no address (an identifier, a word) leads nowhere that could be known without running it.
    """
    if tag in ("a", "area"):
        href = (attributes.get("href") or "").strip()
        if not _SCRIPT.match(href):
            return href
        if (found := _in_call(href)) is not None:
            return found
    elif tag not in _CLICKABLE or attributes.keys().isdisjoint((*_ATTRIBUTES, "onclick")):
        return None
    for name in _ATTRIBUTES:
        value = (attributes.get(name) or "").strip()
        if value and _ADDRESS.match(value):
            return value
    return _in_call(attributes.get("onclick") or "")


def _in_call(script: str) -> str | None:
    found = _CALL.search(script) if script else None
    return found["url"] if found and _ADDRESS.match(found["url"]) else None
