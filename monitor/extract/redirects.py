"""Detects pages whose content is elsewhere: redirects by meta refresh or script, and frames."""

import re
from html import unescape
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from monitor.extract.html import collapse_whitespace, get_base_url
from monitor.markup import parse_html
from monitor.urls import clean_url, is_same_site

# Longer pages have content of their own, whatever their scripts do with the location.
_MAX_HTML_CHARS = 60_000
_MAX_TEXT_CHARS = 160
_MAX_LINKS = 3
# A page with a longer delay is meant to be read, or reloads itself.
_MAX_WAIT_S = 15
_REFRESH = re.compile(r"^\s*(\d{0,4})(?:\.\d*)?\s*[;,]\s*(?:url\s*=\s*)?['\"]?\s*([^'\"]+)", re.IGNORECASE)
_LOCATION = re.compile(
    r"(?<![\w$])(?:(?:window|document|self|top|parent)\s*\.\s*)*location"
    r"(?:\s*\.\s*(?:href|(?P<call>replace|assign)))?\s*(?(call)\(|=(?!=))\s*(?P<value>['\"`][^'\"`\n]*['\"`][^\S\n]*(?=[;)'\"\n}]|$))?"
)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|(?<![:'\"\w])//[^\n]*", re.DOTALL)
# The result of such a script depends on the browser.
_BROWSER_DEPENDENT = re.compile(r"userAgent|\bplatform\b|\.cookie|screen\.(?:width|height)|innerWidth", re.IGNORECASE)
_EVENT_ATTRIBUTES = ("onload", "onclick")
_MAIN_NAMES = re.compile(r"main|content|right|body|list|info|center|middle|zhu|nr", re.IGNORECASE)
_SIDE_NAMES = re.compile(
    r"top|left|menu|nav|head|foot|bottom|banner|title|toc|tree|login|search|weather|count|share|comment|ad(?:s|_|$)",
    re.IGNORECASE,
)
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_HIDDEN_TAGS = ["script", "style", "noscript", "template", "iframe", "noframes"]
_MIN_SENTENCE_CHARS = 40
_MIN_PROSE_CHARS = 300
_SHARE = re.compile(r"\s*(\d{1,6}(?:\.\d{1,3})?)\s*(%?)(?!.*\*)")
_MIN_FRAME_PX = (400, 250)


def find_redirect(html: str, url: str) -> str | None:
    """Return the url that a page redirects to; None for a page with content.

    A meta refresh within 15 seconds counts; a script if the page has hardly any content and all assignments to the
    location have one literal address that depends neither on browser nor cookie. What is in `noscript` does not count.
    """
    if "refresh" not in html[:_MAX_HTML_CHARS].lower() and ("location" not in html or len(html) > _MAX_HTML_CHARS):
        return None
    tree = parse_html(html[: 2 * _MAX_HTML_CHARS])
    tree.strip_tags(["noscript"])
    target = _find_refresh_target(tree)
    if target is None and len(html) <= _MAX_HTML_CHARS:
        written = _find_script_target(tree)
        target = written if _is_redirect_only(tree) else None
    address = clean_url(target, get_base_url(tree, url)) if target else None
    return address if address and address != clean_url(url) else None


def find_main_frame(tree: LexborHTMLParser, url: str) -> str | None:
    """Return the url of the frame with the page's content; None for a page with content of its own.

    In a frameset it is the frame with a name for content, else the largest. An inline frame counts if the page around
    it has no prose and the frame is of the same site, visible, and named as content or large.
    """
    tree.strip_tags(["noscript"])
    base = get_base_url(tree, url)
    frames = _list_frameset_frames(tree)
    if not frames:
        inline = _list_inline_frames(tree, base)
        prose = (len(text) for text in _list_visible_texts(tree) if len(text) >= _MIN_SENTENCE_CHARS)
        frames = inline if sum(prose) < _MIN_PROSE_CHARS else []
    addresses = (clean_url(frame.source, base) for frame in sorted(frames, key=lambda frame: -frame.score))
    return next((address for address in addresses if address not in (None, clean_url(url))), None)


class _Frame(NamedTuple):
    source: str
    score: float


def _find_refresh_target(tree: LexborHTMLParser) -> str | None:
    for element in tree.css("meta[http-equiv=refresh i][content]"):
        found = _REFRESH.match((element.attributes.get("content") or "")[:2048])
        if found and int(found[1] or 0) <= _MAX_WAIT_S:
            return found[2].strip()
    return None


def _is_redirect_only(tree: LexborHTMLParser) -> bool:
    """Whether a page has hardly any text and links."""
    links = {element.attributes.get("href") for element in tree.css("a[href]")}
    return len(links) <= _MAX_LINKS and sum(map(len, _list_visible_texts(tree))) <= _MAX_TEXT_CHARS


def _find_script_target(tree: LexborHTMLParser) -> str | None:
    scripts = [element.text() for element in tree.css("script")]
    for name in _EVENT_ATTRIBUTES:
        scripts.extend(unescape(element.attributes.get(name) or "") for element in tree.css(f"[{name}]"))
    targets: set[str | None] = set()
    for script in scripts:
        code = _COMMENT.sub(" ", script)
        found = list(_LOCATION.finditer(code))
        if found and _BROWSER_DEPENDENT.search(code):
            return None
        targets.update(match["value"].strip()[1:-1].strip() if match["value"] else None for match in found)
    return targets.pop() if len(targets) == 1 else None


def _list_visible_texts(tree: LexborHTMLParser) -> list[str]:
    """Return the texts of a tree, which loses what is hidden."""
    tree.strip_tags(_HIDDEN_TAGS)
    texts = tree.body.text(separator="\0").split("\0") if tree.body else []
    return list(filter(None, map(collapse_whitespace, texts)))


def _list_frameset_frames(tree: LexborHTMLParser) -> list[_Frame]:
    frames = [((element.attributes.get("src") or "").strip(), element) for element in tree.css("frame[src]")]
    return [_Frame(source, _compute_window_share(frame) + _score_names(frame)) for source, frame in frames if source]


def _compute_window_share(frame: LexborNode) -> float:
    """Return the share of the window that a frame takes, by the sizes of the framesets around it."""
    share = 1.0
    node = frame
    while node.parent is not None and node.parent.tag == "frameset":
        holder = node.parent
        place = [child for child in holder.iter() if child.tag in ("frame", "frameset")].index(node)
        columns, rows = (_parse_shares(holder.attributes.get(name) or "") for name in ("cols", "rows"))
        count = len(columns) or 1
        share *= columns[place % count] if columns else 1.0
        share *= rows[place // count] if place // count < len(rows) else 1.0
        node = holder
    return share


def _parse_shares(sizes: str) -> list[float]:
    """Return the shares in a list like `200,*` or `20%,80%`, of a window of 1000 pixels."""
    numbers = [_SHARE.match(size) for size in sizes.split(",") if size.strip()]
    known = [float(number[1]) / (100 if number[2] else 1000) if number else 0.0 for number in numbers]
    rest = max(0.0, 1.0 - sum(known)) / max(1, numbers.count(None))
    return [min(share, 1.0) if number else rest for number, share in zip(numbers, known, strict=True)]


def _score_names(element: LexborNode) -> float:
    names = f"{element.attributes.get('name') or ''} {element.attributes.get('id') or ''}"
    file_name = (element.attributes.get("src") or "").split("?")[0].rsplit("/", 1)[-1]
    return sum(
        share * (bool(_MAIN_NAMES.search(text)) - bool(_SIDE_NAMES.search(text)))
        for text, share in ((names, 1.0), (file_name, 0.5))
    )


def _list_inline_frames(tree: LexborHTMLParser, base: str) -> list[_Frame]:
    found = []
    for element in tree.css("iframe[src]"):
        attributes = element.attributes
        source = (attributes.get("src") or "").strip()
        address = clean_url(source, base)
        if address is None or not is_same_site(address, base):
            continue
        if _HIDDEN_STYLE.search(attributes.get("style") or "") or "hidden" in attributes:
            continue
        width, height = (_parse_pixels(element, name) for name in ("width", "height"))
        is_large = (width or 0) >= _MIN_FRAME_PX[0] and (height or 0) >= _MIN_FRAME_PX[1]
        is_small = (width is not None and width < _MIN_FRAME_PX[0] / 2) or (height is not None and height < 100)
        score = _score_names(element)
        if not is_small and score >= 0 and (is_large or score > 0):
            found.append(_Frame(source, score + 0.5 * is_large))
    return found


def _parse_pixels(element: LexborNode, name: str) -> float | None:
    """Return a size in pixels from the style or the attribute; a percentage is of a window of 1000 pixels."""
    size = r"\s*(\d{1,5}(?:\.\d{1,3})?)\s*(%|px)?"
    in_style = re.search(rf"(?:^|[;\s]){name}\s*:{size}", element.attributes.get("style") or "", re.IGNORECASE)
    found = in_style or re.match(size, element.attributes.get(name) or "")
    return float(found[1]) * (10 if found[2] == "%" else 1) if found else None
