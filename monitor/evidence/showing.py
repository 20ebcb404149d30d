"""A recorded page as plain text, and where in it a passage stands: what people read to see for themselves."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser

from monitor.domain.sighting import Sighting
from monitor.pages.articletext import block_text
from monitor.pages.encoding import decode
from monitor.pages.fetch import unpacked
from monitor.pages.outline import outline

MOST_CHARS = 200_000
_MARKUP = re.compile(r"<!\[CDATA\[|\]\]>|<[^>]*>")
_UNREAD = re.compile(r"<(script|style|noscript|template)\b.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_XML = re.compile(r"\s*(?:<\?xml\b(?!.{0,400}<html)|<(?:rss|feed|urlset|sitemapindex)\b)", re.IGNORECASE | re.DOTALL)
_NO_SIGNS = frozenset("\u200b\u200c\u200d\u2060\ufeff")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_AROUND_SOURCE = 600


@dataclass(frozen=True, slots=True)
class Shown:
    """A text, with the place of a passage in it from `start` to before `end`; both None where it does not stand there.

    `is_source`: the passage stands in no text that people see, but in the page's markup, a piece of which this is.
    `is_cut`: the page goes on before or after.
    """

    text: str
    start: int | None = None
    end: int | None = None
    is_source: bool = False
    is_cut: bool = False


def shown(sighting: Sighting, passage: str, *, near: str = "") -> Shown:
    """The text of a recorded page with the passage in it.

    Of several places that have the same words, the one that is nearest to the words `near`.
    """
    source = decode(*unpacked(sighting))[0]
    text = _read(source, sighting.final_url)
    found = shown_text(text, passage, near=near)
    if found.start is not None or not passage.strip():
        return found
    for reading in (html.unescape(source), source):
        place = _place_of(passage, reading, near)
        if place is not None:
            begin = max(place[0] - _AROUND_SOURCE, 0)
            piece = _clean(reading[begin : place[1] + _AROUND_SOURCE])
            return Shown(piece, place[0] - begin, place[1] - begin, is_source=True, is_cut=True)
    return found


def all_text(sighting: Sighting) -> str:
    """All that a recorded page holds, whether people see it or only its markup has it."""
    source = decode(*unpacked(sighting))[0]
    return _clean(f"{_read(source, sighting.final_url)}\n{html.unescape(source)}")


def shown_text(text: str, passage: str, *, near: str = "") -> Shown:
    """A text, as of a document, with the passage in it; one that is too long is cut to what stands around it."""
    text = _clean(text)
    place = _place_of(passage, text, near)
    if len(text) <= MOST_CHARS:
        start, end = place or (None, None)
        return Shown(text, start, end)
    begin = max((place[0] if place else 0) - MOST_CHARS // 2, 0)
    piece = text[begin : begin + MOST_CHARS]
    return Shown(piece, place[0] - begin, place[1] - begin, is_cut=True) if place else Shown(piece, is_cut=True)


def _read(source: str, url: str) -> str:
    return _plain(source) if _XML.match(source) else _visible(source, url)


def _visible(source: str, url: str) -> str:
    """What a browser shows of a page, a line for each block."""
    page = outline(LexborHTMLParser(source), url)
    return block_text(page, page.elements[0]) if page.elements else ""


def _plain(source: str) -> str:
    """What stands between the tags of a feed or a sitemap, a line each; their texts may hold markup of their own."""
    text = html.unescape(_MARKUP.sub("\n", source))
    text = html.unescape(_MARKUP.sub("\n", _UNREAD.sub("\n", text)))
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def _clean(text: str) -> str:
    """The text with a space in place of each sign that a page must not give to a reader, at the same length."""
    return _CONTROLS.sub(" ", text)


def _place_of(passage: str, text: str, near: str) -> tuple[int, int] | None:
    """Where the passage stands, white space aside."""
    wanted = _solid(passage)[0]
    if not wanted:
        return None
    solid, places = _solid(text)
    starts = list(_all(wanted, solid))
    if not starts:
        return None
    beside = _solid(near)[0]
    anchor = solid.find(beside) if beside and len(starts) > 1 else -1

    def gap(place: int) -> int:
        return max(anchor - place - len(wanted), place - anchor - len(beside))

    start = min(starts, key=gap) if anchor >= 0 else starts[0]
    return places[start], places[start + len(wanted) - 1] + 1


def _solid(text: str) -> tuple[str, list[int]]:
    """The text without white space and signs that are none, and where each of its characters stood."""
    text = _clean(text)
    places = [place for place, sign in enumerate(text) if not sign.isspace() and sign not in _NO_SIGNS]
    return "".join(text[place] for place in places), places


def _all(wanted: str, text: str) -> Iterator[int]:
    start = text.find(wanted)
    while start >= 0:
        yield start
        start = text.find(wanted, start + 1)
