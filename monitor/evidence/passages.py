"""Where on a recorded page something stands: the row of a list, the words of a date, a sentence of the text."""

import datetime as dt
import html
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from selectolax.lexbor import LexborHTMLParser, LexborNode

from monitor.dates import find_days
from monitor.extract.articles.text import extract_block_text
from monitor.extract.encoding import decode
from monitor.extract.html import build_outline
from monitor.fetch.result import FetchResult
from monitor.markup import parse_html
from monitor.pages.parsing import unpack_body
from monitor.urls import clean_url, url_key
from monitor.vocabulary import FetchMode

MAX_PASSAGE_CHARS = 600
_MIN_LINK_CHARS = 8  # a shorter link beside a record's own is one of its marks, not another record
_ENTRY_TAGS = ("item", "entry", "url")
_MAX_ENTRY_CHARS = 20_000
_MAX_LEVELS = 12
_MAX_LINKS = 5
_MAX_DISTANCE_TEXTS = 60  # texts above or below a link in which its date is looked for
_TAG = re.compile(r"<!\[CDATA\[|\]\]>|<[^>]*>")


def _read_source(result: FetchResult) -> str:
    """Return what was received as text; JSON in one form, however its letters were written."""
    source = decode(*unpack_body(result))[0]
    if result.mode is FetchMode.DATA:
        with suppress(ValueError, RecursionError):
            return json.dumps(json.loads(source), ensure_ascii=False)
    return source


def _iter_records(value: object) -> Iterator[object]:
    """Yield the objects in the arrays of JSON."""
    if isinstance(value, list):
        yield from (entry for entry in value if isinstance(entry, dict))
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _iter_records(child)


class PassageFinder:
    def __init__(self, result: FetchResult) -> None:
        self._url = result.final_url
        self._source = _read_source(result)
        self._is_data = result.mode is FetchMode.DATA
        self._today = result.at.date() + dt.timedelta(days=1)

    def find_row(self, url: str, title: str, date: dt.date | None = None) -> str:
        """Return the text of the record that links to `url`, with a date beside it; else the title, if it is there."""
        rows = [_find_row_element(anchor) for anchor in self._list_anchors(url)[:_MAX_LINKS]]
        for text in (text for row in rows for text in _iter_row_texts(row)):
            if text and (date is None or self._shows_date(text, date)):
                return text[:MAX_PASSAGE_CHARS]
        for text in map(_get_text, rows):
            if text:
                return text[:MAX_PASSAGE_CHARS]
        title = collapse_whitespace(title)
        for entry in self._entries:
            text = collapse_whitespace(html.unescape(_TAG.sub(" ", entry[:_MAX_ENTRY_CHARS])))
            if url in html.unescape(entry) or title in text:
                return text[:MAX_PASSAGE_CHARS]
        return title if title in self._plain_source else ""

    def find_row_date(self, url: str, row: str, date: dt.date) -> str:
        """Return the text that dates the record that links to `url`: its row, else the nearest above it or below."""
        if row and self._shows_date(row, date):
            return row
        texts, places = self._text_flow
        for anchor in self._list_anchors(url)[:_MAX_LINKS]:
            place = places.get(anchor.mem_id, 0)
            for start in (
                *range(place, max(place - _MAX_DISTANCE_TEXTS, -1), -1),
                *range(place + 1, place + _MAX_DISTANCE_TEXTS),
            ):
                for width in (1, 2, 3):
                    text = " ".join(texts[start : start + width])
                    if any(match.date == date for match in find_days(text[:MAX_PASSAGE_CHARS], self._today)):
                        return text[:MAX_PASSAGE_CHARS]
        return ""

    def find_date(self, date: dt.date) -> str:
        """Return the text in which the page gives a date: visible text first, then metadata."""
        for text in self._iter_texts():
            if any(match.date == date for match in find_days(text, self._today)):
                return _cut_around_date(text, date)
        return ""

    def find_href(self, url: str) -> str:
        """The address of the link to `url` as the page writes it."""
        return next((anchor.attributes.get("href") or "" for anchor in self._list_anchors(url)), "").strip()

    def find_link_text(self, url: str) -> str:
        return next(filter(None, map(_get_text, self._list_anchors(url))), "")[:MAX_PASSAGE_CHARS]

    def _list_anchors(self, url: str) -> list[LexborNode]:
        return self._anchors_by_key.get(url_key(url), [])

    @cached_property
    def _entries(self) -> list[str]:
        if self._is_data and self._source.startswith(("{", "[")):
            return [json.dumps(record, ensure_ascii=False) for record in _iter_records(json.loads(self._source))]
        return [entry for tag in _ENTRY_TAGS for entry in _iter_between(self._source, f"<{tag}", f"</{tag}>")]

    @cached_property
    def _plain_source(self) -> str:
        return collapse_whitespace(html.unescape(self._source))

    @cached_property
    def _tree(self) -> LexborHTMLParser:
        tree = parse_html(self._source)
        tree.strip_tags(["script", "style", "noscript", "template"])
        return tree

    @cached_property
    def _anchors_by_key(self) -> dict[str, list[LexborNode]]:
        base = self._tree.css_first("base[href]")
        start = clean_url((base.attributes.get("href") or "") if base else "", self._url) or self._url
        found: dict[str, list[LexborNode]] = {}
        for anchor in self._tree.css("a[href]"):
            address = clean_url(anchor.attributes.get("href") or "", start)
            if address is not None:
                found.setdefault(url_key(address), []).append(anchor)
        return found

    @cached_property
    def _text_flow(self) -> tuple[list[str], dict[int, int]]:
        """The texts of the page in their order, and how many of them stand before each link."""
        texts: list[str] = []
        places: dict[int, int] = {}
        body = self._tree.body
        for node in body.traverse(include_text=True) if body is not None else ():
            if node.is_text_node and (node.text_content or "").strip():
                texts.append(collapse_whitespace(node.text_content or ""))
            elif node.tag == "a":
                places[node.mem_id] = len(texts)
        return texts, places

    def _iter_texts(self) -> Iterator[str]:
        yield from self._text_flow[0]
        for meta in self._tree.css("meta[content]"):
            yield meta.attributes.get("content") or ""
        yield from (time.attributes.get("datetime") or "" for time in self._tree.css("time[datetime]"))

    def _shows_date(self, text: str, date: dt.date) -> bool:
        """Whether a row shows a date, also without its year, in two pieces, or as a word."""
        if any(match.date == date for match in find_days(text, self._today, relative=True)):
            return True
        numbers = {int(number) for number in re.findall(r"\d{1,2}(?!\d)", text)}
        return {date.month, date.day} <= numbers


def collapse_whitespace(text: str) -> str:
    return " ".join(text.split())


def _find_row_element(anchor: LexborNode) -> LexborNode:
    """The largest element around a link that holds no other record."""
    own = anchor.attributes.get("href")
    row = anchor
    for _ in range(_MAX_LEVELS):
        parent = row.parent
        if parent is None or parent.tag in ("body", "html", "-undef"):
            break
        others = [link for link in parent.css("a[href]") if link.attributes.get("href") != own]
        if _has_long_link(others) or len(_get_text(parent)) > MAX_PASSAGE_CHARS:
            break
        row = parent
    return row


def _iter_between(text: str, begin: str, end: str) -> Iterator[str]:
    start = text.find(begin)
    while start >= 0 and (stop := text.find(end, start)) >= 0:
        yield text[start:stop]
        start = text.find(begin, stop)


def _iter_row_texts(row: LexborNode) -> Iterator[str]:
    """The row's text, then with what stands before it, and after it: a date may have an element of its own."""
    text = _get_text(row)
    yield text
    before, after = _get_neighbour_text(row, is_before=True), _get_neighbour_text(row, is_before=False)
    if before:
        yield f"{before} {text}"
    if after:
        yield f"{text} {after}"


def _get_neighbour_text(row: LexborNode, *, is_before: bool) -> str:
    beside = row.prev if is_before else row.next
    while beside is not None and not _get_text(beside):
        beside = beside.prev if is_before else beside.next
    if beside is None or (beside.tag != "-text" and _has_long_link(beside.css("a"))):
        return ""
    return _get_text(beside)


def _has_long_link(links: Sequence[LexborNode]) -> bool:
    return any(len(_get_text(link)) >= _MIN_LINK_CHARS for link in links)


def _get_text(node: LexborNode) -> str:
    return collapse_whitespace(node.text(separator=" ") or "")


def _cut_around_date(text: str, date: dt.date) -> str:
    if len(text) <= MAX_PASSAGE_CHARS:
        return text
    place = next((m.start() for m in re.finditer(str(date.year), text)), 0)
    start = max(place - MAX_PASSAGE_CHARS // 2, 0)
    return text[start : start + MAX_PASSAGE_CHARS]


MAX_SHOWN_CHARS = 200_000
_NON_TEXT_ELEMENTS = re.compile(r"<(script|style|noscript|template)\b.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_XML_START = re.compile(
    r"\s*(?:<\?xml\b(?!.{0,400}<html)|<(?:rss|feed|urlset|sitemapindex)\b)", re.IGNORECASE | re.DOTALL
)
_ZERO_WIDTH_CHARS = frozenset("\u200b\u200c\u200d\u2060\ufeff")
_CONTROL_CHARS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SOURCE_CONTEXT_CHARS = 600


@dataclass(frozen=True, slots=True)
class HighlightedText:
    """A text, with the place of a passage from `start` to before `end`; both None where it is not there.

    `is_source`: the text is a piece of the page's markup, for no visible text has the passage. `is_cut`: the page goes
    on before or after.
    """

    text: str
    start: int | None = None
    end: int | None = None
    is_source: bool = False
    is_cut: bool = False


def highlight_passage(result: FetchResult, passage: str, near: str = "") -> HighlightedText:
    """Return the text of a recorded page with the passage in it, of several places the nearest to the words `near`."""
    source = _read_source(result)
    text = _extract_text(source, result.final_url)
    found = highlight_text(text, passage, near=near)
    if found.start is not None or not passage.strip():
        return found
    for reading in (html.unescape(source), source):
        place = _locate_passage(passage, reading, near)
        if place is not None:
            begin = max(place[0] - _SOURCE_CONTEXT_CHARS, 0)
            piece = _replace_control_chars(reading[begin : place[1] + _SOURCE_CONTEXT_CHARS])
            return HighlightedText(piece, place[0] - begin, place[1] - begin, is_source=True, is_cut=True)
    return found


def extract_all_text(result: FetchResult) -> str:
    """Return all text of a recorded page, visible or only in its markup."""
    source = decode(*unpack_body(result))[0]
    return _replace_control_chars(f"{_extract_text(source, result.final_url)}\n{html.unescape(source)}")


def highlight_text(text: str, passage: str, near: str = "") -> HighlightedText:
    """Return a text with the passage in it; a long one is cut to what is around the passage."""
    text = _replace_control_chars(text)
    place = _locate_passage(passage, text, near)
    if len(text) <= MAX_SHOWN_CHARS:
        start, end = place or (None, None)
        return HighlightedText(text, start, end)
    if place is None:
        return HighlightedText(text[:MAX_SHOWN_CHARS], is_cut=True)
    begin = max(place[0] - MAX_SHOWN_CHARS // 2, 0)
    piece = text[begin : begin + MAX_SHOWN_CHARS]
    return HighlightedText(piece, place[0] - begin, place[1] - begin, is_cut=True)


def _extract_text(source: str, url: str) -> str:
    """Return what a browser shows of a page, a line for each block."""
    if _XML_START.match(source):
        return _extract_xml_text(source)
    page = build_outline(parse_html(source), url)
    return extract_block_text(page, page.elements[0]) if page.elements else ""


def _extract_xml_text(source: str) -> str:
    # The texts of a feed may contain markup of their own.
    text = html.unescape(_TAG.sub("\n", source))
    text = html.unescape(_TAG.sub("\n", _NON_TEXT_ELEMENTS.sub("\n", text)))
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def _replace_control_chars(text: str) -> str:
    """Return the text with a space in place of each control character, at the same length."""
    return _CONTROL_CHARS.sub(" ", text)


def _locate_passage(passage: str, text: str, near: str) -> tuple[int, int] | None:
    wanted = _strip_whitespace(passage)[0]
    if not wanted:
        return None
    solid, places = _strip_whitespace(text)
    starts = list(_iter_occurrences(wanted, solid))
    if not starts:
        return None
    beside = _strip_whitespace(near)[0]
    anchor = solid.find(beside) if beside and len(starts) > 1 else -1

    def gap(place: int) -> int:
        return max(anchor - place - len(wanted), place - anchor - len(beside))

    start = min(starts, key=gap) if anchor >= 0 else starts[0]
    return places[start], places[start + len(wanted) - 1] + 1


def _strip_whitespace(text: str) -> tuple[str, list[int]]:
    """Return the text without white space and invisible characters, and the place of each character that is left."""
    text = _replace_control_chars(text)
    places = [place for place, sign in enumerate(text) if not sign.isspace() and sign not in _ZERO_WIDTH_CHARS]
    return "".join(text[place] for place in places), places


def _iter_occurrences(wanted: str, text: str) -> Iterator[int]:
    start = text.find(wanted)
    while start >= 0:
        yield start
        start = text.find(wanted, start + 1)
