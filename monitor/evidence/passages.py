"""Where on a recorded page something stands: the row of a list, the words of a date, a sentence of the text."""

import datetime as dt
import html
import re
from collections.abc import Iterator
from functools import cached_property

from selectolax.lexbor import LexborHTMLParser, LexborNode

from monitor.domain.sighting import Sighting
from monitor.domain.urls import clean_url, url_key
from monitor.evidence.sentences import split_sentences
from monitor.pages.dates import dates_in_text
from monitor.pages.encoding import decode
from monitor.pages.fetch import unpacked

MOST_CHARS = 600
_LEAST_LINK = 8  # a shorter link beside a record's own is one of its marks, not another record
_ENTRIES = ("item", "entry", "url")
_MOST_ENTRY_CHARS = 20_000
_MOST_LEVELS = 12
_MOST_LINKS = 5
_FAR = 60  # texts above or below a link in which its date is looked for
_TAG = re.compile(r"<!\[CDATA\[|\]\]>|<[^>]*>")
_NEAR = 0.25


class Passages:
    """The passages of one recorded page."""

    def __init__(self, sighting: Sighting) -> None:
        self._url = sighting.final_url
        self._source = decode(*unpacked(sighting))[0]
        self._today = sighting.at.date() + dt.timedelta(days=1)

    def row(self, url: str, title: str, date: dt.date | None = None) -> str:
        """The text of the record that links to `url`, with its date where that stands beside it.

        Else the title alone, as far as it stands on the page at all; the empty string where nothing of it does.
        """
        rows = [_row_of(anchor) for anchor in self._anchors.get(url_key(url), [])[:_MOST_LINKS]]
        for text in (text for row in rows for text in _readings(row)):
            if text and (date is None or self._bears(text, date)):
                return text[:MOST_CHARS]
        for row in rows:
            if text := _text(row):
                return text[:MOST_CHARS]
        for entry in self._entries:
            text = one_line(html.unescape(_TAG.sub(" ", entry[:_MOST_ENTRY_CHARS])))
            if url in html.unescape(entry) or one_line(title) in text:
                return text[:MOST_CHARS]
        return one_line(title) if one_line(title) in self._plain_source else ""

    def row_date(self, url: str, row: str, date: dt.date) -> str:
        """The words that date the record that links to `url`: its row, or else the nearest above it or below."""
        if row and self._bears(row, date):
            return row
        texts, places = self._flow
        for anchor in self._anchors.get(url_key(url), [])[:_MOST_LINKS]:
            place = places.get(anchor.mem_id, 0)
            for start in (*range(place, max(place - _FAR, -1), -1), *range(place + 1, place + _FAR)):
                for width in (1, 2, 3):
                    text = " ".join(texts[start : start + width])
                    if any(match.date == date for match in dates_in_text(text[:MOST_CHARS], self._today)):
                        return text[:MOST_CHARS]
        return ""

    def date(self, date: dt.date) -> str:
        """The words in which the page gives a date: those that people read first, then those for machines."""
        for text in self._texts():
            if any(match.date == date for match in dates_in_text(text, self._today)):
                return _around(text, date)
        return ""

    def href(self, url: str) -> str:
        """The address of the link to `url` as the page writes it."""
        return next((anchor.attributes.get("href") or "" for anchor in self._anchors.get(url_key(url), [])), "").strip()

    def link(self, url: str) -> str:
        """The text of the link to `url`."""
        return next((text for anchor in self._anchors.get(url_key(url), []) if (text := _text(anchor))), "")[
            :MOST_CHARS
        ]

    @cached_property
    def _entries(self) -> list[str]:
        """The entries of a feed or sitemap, as they are written."""
        return [entry for tag in _ENTRIES for entry in _between(self._source, f"<{tag}", f"</{tag}>")]

    @cached_property
    def _plain_source(self) -> str:
        return one_line(html.unescape(self._source))

    @cached_property
    def _tree(self) -> LexborHTMLParser:
        tree = LexborHTMLParser(self._source)
        tree.strip_tags(["script", "style", "noscript", "template"])
        return tree

    @cached_property
    def _anchors(self) -> dict[str, list[LexborNode]]:
        base = self._tree.css_first("base[href]")
        start = clean_url((base.attributes.get("href") or "") if base else "", self._url) or self._url
        found: dict[str, list[LexborNode]] = {}
        for anchor in self._tree.css("a[href]"):
            address = clean_url(anchor.attributes.get("href") or "", start)
            if address is not None:
                found.setdefault(url_key(address), []).append(anchor)
        return found

    @cached_property
    def _flow(self) -> tuple[list[str], dict[int, int]]:
        """The texts of the page in their order, and how many of them stand before each link."""
        texts: list[str] = []
        places: dict[int, int] = {}
        body = self._tree.body
        for node in body.traverse(include_text=True) if body is not None else ():
            if _is_text(node):
                texts.append(one_line(node.text_content or ""))
            elif node.tag == "a":
                places[node.mem_id] = len(texts)
        return texts, places

    def _texts(self) -> Iterator[str]:
        yield from self._flow[0]
        for meta in self._tree.css("meta[content]"):
            yield meta.attributes.get("content") or ""
        yield from (time.attributes.get("datetime") or "" for time in self._tree.css("time[datetime]"))

    def _bears(self, text: str, date: dt.date) -> bool:
        """Whether a row shows a date, be it without its year, in two pieces, or as a word."""
        if any(match.date == date for match in dates_in_text(text, self._today, relative=True)):
            return True
        numbers = {int(number) for number in re.findall(r"\d{1,2}(?!\d)", text)}
        return {date.month, date.day} <= numbers


def nearest(sentence: str, text: str) -> str:
    """The sentence of a text that a sentence was most likely made from; the empty string where none is near."""
    wanted = _pairs(sentence)
    if sentence in text:
        return sentence
    near, passage = _NEAR, ""
    for line in text.splitlines():
        for candidate in split_sentences(line):
            shared = len(wanted & _pairs(candidate)) / (len(wanted) or 1)
            if shared > near:
                near, passage = shared, candidate
    return passage[:MOST_CHARS]


def one_line(text: str) -> str:
    """The text with every stretch of white space as one space."""
    return " ".join(text.split())


def _row_of(anchor: LexborNode) -> LexborNode:
    """The largest element around a link that holds no other record."""
    own = anchor.attributes.get("href")
    row = anchor
    for _ in range(_MOST_LEVELS):
        parent = row.parent
        if parent is None or parent.tag in ("body", "html", "-undef"):
            break
        others = (one for one in parent.css("a[href]") if one.attributes.get("href") != own)
        if any(len(_text(other)) >= _LEAST_LINK for other in others) or len(_text(parent)) > MOST_CHARS:
            break
        row = parent
    return row


def _between(text: str, begin: str, end: str) -> Iterator[str]:
    """The stretches from one mark to the next end."""
    start = text.find(begin)
    while start >= 0 and (stop := text.find(end, start)) >= 0:
        yield text[start:stop]
        start = text.find(begin, stop)


def _readings(row: LexborNode) -> Iterator[str]:
    """The row's text, then with what stands before it, and after it: a date may have an element of its own."""
    text = _text(row)
    yield text
    before, after = _neighbour(row, is_before=True), _neighbour(row, is_before=False)
    if before:
        yield f"{before} {text}"
    if after:
        yield f"{text} {after}"


def _neighbour(row: LexborNode, *, is_before: bool) -> str:
    beside = row.prev if is_before else row.next
    while beside is not None and not _text(beside):
        beside = beside.prev if is_before else beside.next
    if beside is None or (beside.tag != "-text" and any(len(_text(one)) >= _LEAST_LINK for one in beside.css("a"))):
        return ""
    return _text(beside)


def _text(node: LexborNode) -> str:
    return one_line(node.text(separator=" ") or "")


def _is_text(node: LexborNode) -> bool:
    return bool(node.is_text_node and (node.text_content or "").strip())


def _around(text: str, date: dt.date) -> str:
    """The passage, cut to what stands around the date."""
    if len(text) <= MOST_CHARS:
        return text
    place = next((m.start() for m in re.finditer(str(date.year), text)), 0)
    start = max(place - MOST_CHARS // 2, 0)
    return text[start : start + MOST_CHARS]


def _pairs(text: str) -> set[str]:
    plain = "".join(char for char in text.casefold() if char.isalnum())
    return {plain[index : index + 2] for index in range(len(plain) - 1)}
