"""Quotes: pieces of a page's text, cut from it by code and never written by a model."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from pydantic import JsonValue

from monitor.evidence.citing import Passage, has_particulars, missing_from, rests_on
from monitor.evidence.instructions import reads_as_instruction, sound_lines
from monitor.evidence.passages import one_line
from monitor.evidence.sentences import is_prose, split_sentences
from monitor.evidence.showing import shown_text
from monitor.evidence.vocabulary import is_chinese, likeness, shared, words_of
from monitor.research.state import SearchEntry

MOST_CHARS = 300
MOST_QUOTES = 4
_LEAST_LETTERS = 4
_MOST_JOINED = 3  # sentences side by side that make one quote, where the year stands in the first and the day below

NEAR = 0.25
"""The least share of a sentence's words that the text it rests on must have; see `shared`."""

_MARKUP = re.compile(r"<[a-z/!?]", re.IGNORECASE)
_CLAUSE = re.compile(r".+?(?:[；;，]|,(?!\d)|$)")


@dataclass(frozen=True)
class Material:
    """What one result may bear: its text without what reads as an order to a model, and the pieces to quote from it.

    Where only a snippet is known of it, that is nothing. `proposed` are the pieces that a model proposed.
    """

    content: str
    proposed: tuple[str, ...] = ()

    @cached_property
    def lines(self) -> list[str]:
        """The paragraphs that are no orders."""
        return sound_lines(self.content)

    @cached_property
    def text(self) -> str:
        return "\n".join(self.lines)

    @cached_property
    def whole(self) -> "Piece":
        """The same, to hold sentences against."""
        return Piece(self.text)

    @cached_property
    def order_words(self) -> frozenset[str]:
        """What the orders in it are about."""
        return words_of("\n".join(line for line in self.content.splitlines() if reads_as_instruction(line)))

    @cached_property
    def pieces(self) -> list["Piece"]:
        """The pieces that a model proposed, then the sentences, the long ones clause by clause."""
        single = (
            one_line(piece) for line in self.lines for sentence in split_sentences(line) for piece in _fitting(sentence)
        )
        return _pieces((*self.proposed, *single))

    @cached_property
    def joined(self) -> list["Piece"]:
        """Two or three sentences side by side as one piece."""
        return _pieces(one_line(piece) for line in self.lines for piece in _joined(line))


@dataclass(frozen=True, eq=False)
class Piece:
    """A piece of a page's text."""

    text: str

    @cached_property
    def words(self) -> frozenset[str]:
        return words_of(self.text)

    @cached_property
    def passage(self) -> Passage:
        return Passage(self.text)


def _pieces(texts: Iterable[str]) -> list[Piece]:
    return [Piece(text) for text in dict.fromkeys(filter(is_piece, texts))]


@lru_cache(maxsize=256)
def _material(content: str, proposed: tuple[str, ...]) -> Material:
    return Material(content, proposed)


def material_of(entry: SearchEntry) -> Material:
    return _material(entry.content, tuple(entry.quotes))


def is_quotable(piece: str) -> bool:
    """Whether a piece of a page may be quoted: it is one, and no order to a model."""
    return is_piece(piece) and not reads_as_instruction(piece)


def is_piece(text: str) -> bool:
    """Whether a text is of a sentence's length, without markup and addresses, and whole."""
    letters = sum(char.isalnum() for char in text)
    return letters >= _LEAST_LETTERS and len(text) <= MOST_CHARS and not _MARKUP.search(text) and is_prose(text)


@dataclass(frozen=True)
class Proposed:
    """Quotes that a model proposed: those that stand in the results, by their places from 0, and how many do not."""

    quotes: dict[int, list[str]]
    refused: int


def proposed_quotes(proposed: JsonValue, entries: Sequence[SearchEntry]) -> Proposed:
    """Of `[{"result": 1, "quote": "…"}]` what stands in that result's text, white space aside, cut from the text."""
    quotes: dict[int, list[str]] = {}
    refused = 0
    for one in proposed if isinstance(proposed, list) else []:
        number, quote = (one.get("result"), one.get("quote")) if isinstance(one, dict) else (None, None)
        cut = None
        if isinstance(number, int) and isinstance(quote, str) and 1 <= number <= len(entries):
            cut = cut_quote(quote, entries[number - 1].content)
        if cut is None or not isinstance(number, int):
            refused += 1
        elif cut not in quotes.setdefault(number - 1, []):
            quotes[number - 1].append(cut)
    return Proposed(quotes, refused)


def cut_quote(quote: str, text: str) -> str | None:
    """The piece of a text that says the quote, white space aside; None where none does or it may not be quoted."""
    if len(quote) > 2 * MOST_CHARS:
        return None
    for line in sound_lines(text):
        found = shown_text(line, quote)
        if found.start is not None and found.end is not None:
            piece = one_line(found.text[found.start : found.end])
            return piece if is_quotable(piece) else None
    return None


def stands_in(quote: str, text: str) -> bool:
    """Whether a quote stands in a text, white space aside."""
    return bool(quote.strip()) and _solid(quote) in _solid(text)


@dataclass(frozen=True)
class Bearing:
    """What bears a sentence in one page: the quotes to add to those it has, and the particulars that are in none."""

    quotes: list[str]
    missing: frozenset[str] = frozenset()


def bearing_of(sentence: str, material: Material, have: Sequence[str] = ()) -> Bearing | None:
    """The quotes that bear a sentence, beside the ones that a note of the page has; None where nothing of it is there.

    A figure, date, document number or quoted name of the sentence stands in one of them or is missing; where the
    sentence has none of these, the piece that is nearest to it by its words is its quote.
    """
    words = _comparable(sentence, material.text)
    if not has_particulars(sentence):
        if any(shared(words, words_of(quote)) >= NEAR for quote in have):
            return Bearing([])
        best = max(material.pieces, key=lambda piece: likeness(words, piece.words), default=Piece(""))
        return Bearing([best.text]) if shared(words, best.words) >= NEAR else None
    found = _covering(sentence, words, material.pieces, have)
    if found.missing and not material.whole.passage.lacks(sentence):
        joined = _covering(sentence, words, [*material.pieces, *material.joined], have)
        found = joined if len(joined.missing) < len(found.missing) else found
    return None if found.missing == missing_from(sentence, [""]) else found


def says_the_same(sentence: str, told: Sequence[Material], orders: frozenset[str]) -> bool:
    """Whether pages are about what a sentence says, and it is not nearer to the `orders` that some page gives.

    Across languages no words can be compared: there the particulars alone tell.
    """
    words = words_of(sentence)
    nearness = shared(words, frozenset[str]().union(*(one.whole.words for one in told)))
    if shared(words, orders) > max(nearness, NEAR):
        return False
    return nearness >= NEAR or any(is_chinese(sentence) != is_chinese(one.text) for one in told)


def bears(quotes: Sequence[str], sentence: str) -> bool:
    """Whether a sentence rests on these quotes alone."""
    if has_particulars(sentence):
        return rests_on(sentence, quotes)
    return any(shared(_comparable(sentence, quote), words_of(quote)) >= NEAR for quote in quotes)


def _comparable(sentence: str, text: str) -> frozenset[str]:
    """The words of a sentence that a text could have too: of one in another language only its Latin words."""
    words = words_of(sentence)
    if is_chinese(sentence) == is_chinese(text):
        return words
    return frozenset(word for word in words if word.isascii())


def _covering(sentence: str, words: frozenset[str], pieces: Sequence[Piece], have: Sequence[str]) -> Bearing:
    """The fewest pieces found that have what particulars they can, of equal ones the nearest to the words."""
    missing = missing_from(sentence, have or [""])
    borne = {piece: found for piece in pieces if missing and (found := missing - piece.passage.lacks(sentence))}
    chosen: list[str] = []
    while missing and borne:
        best = max(borne, key=lambda piece: (len(borne[piece] & missing), likeness(words, piece.words)))
        if not borne[best] & missing:
            break
        chosen.append(best.text)
        missing = missing - borne[best]
    return Bearing(chosen, frozenset(missing))


def _joined(line: str) -> Iterator[str]:
    sentences = split_sentences(line)
    for width in range(2, _MOST_JOINED + 1):
        for start in range(len(sentences) - width + 1):
            first, last = sentences[start], sentences[start + width - 1]
            begin = line.index(first)
            yield line[begin : line.index(last, begin) + len(last)]


def _fitting(sentence: str) -> list[str]:
    if len(sentence) <= MOST_CHARS:
        return [sentence]
    parts: list[str] = []
    for clause in _CLAUSE.findall(sentence):
        if parts and len(parts[-1]) + len(clause) <= MOST_CHARS:
            parts[-1] += clause
        else:
            parts.append(clause)
    return [part.strip() for part in parts]


def _solid(text: str) -> str:
    return re.sub(r"[\s\u200b-\u200d\u2060\ufeff]+", "", text)
