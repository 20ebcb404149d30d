"""Pages that only point elsewhere: meta refresh, a script that sets the location, frames that hold the content."""

import re
from dataclasses import dataclass
from html import unescape

from selectolax.lexbor import LexborHTMLParser, LexborNode

from monitor.domain.urls import clean_url
from monitor.pages.outline import squeeze
from monitor.pages.registrable import same_site

# Longer pages have content of their own; what their scripts do with the location is not why they were opened.
_LONGEST_HTML = 60_000
_LITTLE_TEXT = 160
_FEW_LINKS = 3
# A page that waits longer than this is meant to be read, or renews itself.
_LONGEST_WAIT_S = 15
_REFRESH = re.compile(r"^\s*(\d{0,4})(?:\.\d*)?\s*[;,]\s*(?:url\s*=\s*)?['\"]?\s*([^'\"]+)", re.IGNORECASE)
_LOCATION = re.compile(
    r"(?<![\w$])(?:(?:window|document|self|top|parent)\s*\.\s*)*location"
    r"(?:\s*\.\s*(?:href|(?P<call>replace|assign)))?\s*(?(call)\(|=(?!=))\s*(?P<value>['\"`][^'\"`\n]*['\"`][^\S\n]*(?=[;)'\"\n}]|$))?"
)
_COMMENT = re.compile(r"/\*.{0,5000}?\*/|(?<![:'\"\w])//[^\n]*", re.DOTALL)
# What such a script decides, only a browser can answer.
_DEPENDS = re.compile(r"userAgent|\bplatform\b|\.cookie|screen\.(?:width|height)|innerWidth", re.IGNORECASE)
_EVENT_ATTRIBUTES = ("onload", "onclick")

_MAIN_NAMES = re.compile(r"main|content|right|body|list|info|center|middle|zhu|nr", re.IGNORECASE)
_SIDE_NAMES = re.compile(
    r"top|left|menu|nav|head|foot|bottom|banner|title|toc|tree|login|search|weather|count|share|comment|ad(?:s|_|$)",
    re.IGNORECASE,
)
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_SENTENCE_CHARS = 40
_MUCH_PROSE = 300
_SMALLEST_FRAME_PX = (400, 250)


def redirect_in(html: str, url: str) -> str | None:
    """Where a page that is nothing but a signpost sends its readers; None where it has something to say itself.

    A meta refresh counts when it comes within 15 seconds; a script, where hardly anything else stands on the page and
    all the places where it sets the location name the same address as a plain text. What depends on the reader's
    browser or on a cookie, and the address of a page for readers without scripts, lead nowhere.
    """
    if "refresh" not in html[:_LONGEST_HTML].lower() and ("location" not in html or len(html) > _LONGEST_HTML):
        return None
    tree = LexborHTMLParser(html[: 2 * _LONGEST_HTML])
    target = _refresh_target(tree)
    if target is None and len(html) <= _LONGEST_HTML and _is_signpost(tree):
        target = _script_target(tree)
    address = clean_url(target, _base(tree, url)) if target else None
    return address if address and address != clean_url(url) else None


def main_frame(tree: LexborHTMLParser, url: str) -> str | None:
    """The url of the frame that holds the page's content; None for a page that holds its own.

    Of a frameset it is the frame that is named as the main one, else the largest. An inline frame counts where the
    page around it has no prose, and the frame is the site's own, visible, and named as content or large.
    """
    base = _base(tree, url)
    frames = _frames_of_set(tree) if tree.css_first("frameset") is not None else []
    if not frames and _prose_chars(tree) < _MUCH_PROSE:
        frames = _inline_frames(tree, base)
    here = clean_url(url)
    for frame in sorted(frames, key=lambda frame: -frame.worth):
        address = clean_url(frame.source, base)
        if address and address != here:
            return address
    return None


@dataclass(frozen=True, slots=True)
class _Frame:
    source: str
    worth: float


def _base(tree: LexborHTMLParser, url: str) -> str:
    declared = tree.css_first("base[href]")
    return clean_url(declared.attributes.get("href") or "", url) or url if declared is not None else url


def _refresh_target(tree: LexborHTMLParser) -> str | None:
    for element in tree.css("meta[http-equiv][content]"):
        if (element.attributes.get("http-equiv") or "").strip().lower() != "refresh" or _is_in_noscript(element):
            continue
        found = _REFRESH.match((element.attributes.get("content") or "")[:2048])
        if found and int(found[1] or 0) <= _LONGEST_WAIT_S:
            return found[2].strip()
    return None


def _is_in_noscript(element: LexborNode) -> bool:
    node = element.parent
    while node is not None:
        if node.tag == "noscript":
            return True
        node = node.parent
    return False


def _is_signpost(tree: LexborHTMLParser) -> bool:
    """Whether a page has next to nothing to read and nowhere to go."""
    if tree.body is None:
        return True
    links = {element.attributes.get("href") for element in tree.css("a[href]")}
    return len(links) <= _FEW_LINKS and len("".join(_texts(tree))) <= _LITTLE_TEXT


def _script_target(tree: LexborHTMLParser) -> str | None:
    scripts = [element.text() for element in tree.css("script")]
    for name in _EVENT_ATTRIBUTES:
        scripts.extend(unescape(element.attributes.get(name) or "") for element in tree.css(f"[{name}]"))
    targets: set[str | None] = set()
    for script in scripts:
        code = _COMMENT.sub(" ", script)
        found = list(_LOCATION.finditer(code))
        if found and _DEPENDS.search(code):
            return None
        targets.update(match["value"].strip()[1:-1].strip() if match["value"] else None for match in found)
    return targets.pop() if len(targets) == 1 else None


def _texts(tree: LexborHTMLParser) -> list[str]:
    """The visible texts of the body."""
    if tree.body is None:
        return []
    hidden = {"script", "style", "noscript", "template", "iframe", "noframes"}
    texts = []
    for node in tree.body.traverse(include_text=True):
        if node.is_text_node and node.parent is not None and node.parent.tag not in hidden:
            text = squeeze(node.text_content or "")
            if text:
                texts.append(text)
    return texts


def _prose_chars(tree: LexborHTMLParser) -> int:
    return sum(len(text) for text in _texts(tree) if len(text) >= _SENTENCE_CHARS)


def _frames_of_set(tree: LexborHTMLParser) -> list[_Frame]:
    found = []
    for element in tree.css("frame[src]"):
        source = (element.attributes.get("src") or "").strip()
        if source:
            found.append(_Frame(source, _share_of_window(element) + _worth_of_names(element)))
    return found


def _share_of_window(frame: LexborNode) -> float:
    """The part of the window that a frame takes, by the sizes of the framesets around it."""
    share = 1.0
    node = frame
    while node.parent is not None and node.parent.tag == "frameset":
        holder = node.parent
        place = [child for child in holder.iter() if child.tag in ("frame", "frameset")].index(node)
        columns, rows = (_shares(holder.attributes.get(name) or "") for name in ("cols", "rows"))
        count = len(columns) or 1
        share *= columns[place % count] if columns else 1.0
        share *= rows[place // count] if place // count < len(rows) else 1.0
        node = holder
    return share


def _shares(sizes: str) -> list[float]:
    """The parts of a whole of 1000 pixels that a list like `200,*` or `20%,80%` gives."""
    wanted: list[float | None] = []
    for size in filter(None, (part.strip() for part in sizes.split(","))):
        number = re.match(r"\d{1,6}(?:\.\d{1,3})?", size)
        if "*" in size or number is None:
            wanted.append(None)
        else:
            wanted.append(float(number[0]) / (100 if "%" in size else 1000))
    rest = max(0.0, 1.0 - sum(part for part in wanted if part is not None)) / max(1, wanted.count(None))
    return [rest if part is None else min(part, 1.0) for part in wanted]


def _worth_of_names(element: LexborNode) -> float:
    names = f"{element.attributes.get('name') or ''} {element.attributes.get('id') or ''}"
    file_name = (element.attributes.get("src") or "").split("?")[0].rsplit("/", 1)[-1]
    worth = 0.0
    for text, weight in ((names, 1.0), (file_name, 0.5)):
        worth += weight * bool(_MAIN_NAMES.search(text)) - weight * bool(_SIDE_NAMES.search(text))
    return worth


def _inline_frames(tree: LexborHTMLParser, base: str) -> list[_Frame]:
    found = []
    for element in tree.css("iframe[src]"):
        attributes = element.attributes
        source = (attributes.get("src") or "").strip()
        address = clean_url(source, base)
        if address is None or not same_site(address, base) or _is_in_noscript(element):
            continue
        if _HIDDEN_STYLE.search(attributes.get("style") or "") or "hidden" in attributes:
            continue
        width, height = (_pixels(element, name) for name in ("width", "height"))
        is_large = (width or 0) >= _SMALLEST_FRAME_PX[0] and (height or 0) >= _SMALLEST_FRAME_PX[1]
        is_small = (width is not None and width < _SMALLEST_FRAME_PX[0] / 2) or (height is not None and height < 100)
        worth = _worth_of_names(element)
        if not is_small and worth >= 0 and (is_large or worth > 0):
            found.append(_Frame(source, worth + 0.5 * is_large))
    return found


def _pixels(element: LexborNode, name: str) -> float | None:
    """A size in pixels that the attribute or the style gives; a percentage counts of a window of 1000."""
    in_style = re.search(
        rf"(?:^|[;\s]){name}\s*:\s*([\d.]{{1,8}})\s*(%|px)?", element.attributes.get("style") or "", re.IGNORECASE
    )
    found = in_style or re.match(r"\s*([\d.]{1,8})\s*(%|px)?", element.attributes.get(name) or "")
    if not found:
        return None
    try:
        return float(found[1]) * (10 if found[2] == "%" else 1)
    except ValueError:
        return None
