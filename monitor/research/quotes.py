"""Quotes: pieces of a page's text, cut from it by code and never written by a model."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from pydantic import JsonValue

from monitor.evidence.passages import collapse_whitespace, highlight_text
from monitor.extract.sentences import is_prose, split_sentences
from monitor.research.state import SearchEntry
from monitor.verify.citations import PassageIndex, find_missing_particulars, has_particulars, is_supported_by
from monitor.verify.instructions import is_prompt_injection, list_safe_lines
from monitor.verify.prose import compute_dice_similarity, compute_overlap, extract_words, is_chinese

MAX_QUOTE_CHARS = 300
MAX_QUOTES_PER_NOTE = 4
_MIN_QUOTE_LETTERS = 4
_MAX_JOINED_SENTENCES = 3  # in one quote, where the year stands in the first sentence and the day in a later one
MIN_WORD_OVERLAP = 0.25
"""The least share of a sentence's words that a quote for it must have."""

_MARKUP = re.compile(r"<[a-z/!?]", re.IGNORECASE)
_CLAUSE = re.compile(r".+?(?:[；;，]|,(?!\d)|$)")


@dataclass(frozen=True)
class QuotableText:
    """What may be quoted of one result: its text without what reads as an order to a model, and the pieces of it.

    Where only a snippet is known, that is nothing. `proposed` are the pieces that a model proposed.
    """

    content: str
    proposed: tuple[str, ...] = ()

    @cached_property
    def lines(self) -> list[str]:
        return list_safe_lines(self.content)

    @cached_property
    def text(self) -> str:
        return "\n".join(self.lines)

    @cached_property
    def as_excerpt(self) -> "Excerpt":
        return Excerpt(self.text)

    @cached_property
    def instruction_words(self) -> frozenset[str]:
        """Return the words of what reads as an order to a model."""
        return extract_words("\n".join(line for line in self.content.splitlines() if is_prompt_injection(line)))

    @cached_property
    def excerpts(self) -> list["Excerpt"]:
        """Return the proposed pieces, then the sentences, long ones clause by clause."""
        single = (
            collapse_whitespace(piece)
            for line in self.lines
            for sentence in split_sentences(line)
            for piece in _split_long_sentence(sentence)
        )
        return _build_excerpts((*self.proposed, *single))

    @cached_property
    def joined_excerpts(self) -> list["Excerpt"]:
        return _build_excerpts(
            collapse_whitespace(piece) for line in self.lines for piece in _join_adjacent_sentences(line)
        )


@dataclass(frozen=True, eq=False)
class Excerpt:
    text: str

    @cached_property
    def words(self) -> frozenset[str]:
        return extract_words(self.text)

    @cached_property
    def passage(self) -> PassageIndex:
        return PassageIndex(self.text)


def _build_excerpts(texts: Iterable[str]) -> list[Excerpt]:
    return [Excerpt(text) for text in dict.fromkeys(filter(is_excerpt, texts))]


_build_quotable_text = lru_cache(maxsize=256)(QuotableText)


def get_quotable_text(entry: SearchEntry) -> QuotableText:
    return _build_quotable_text(entry.content, tuple(entry.quotes))


def is_quotable(text: str) -> bool:
    """Return whether a text is an excerpt, and no order to a model."""
    return is_excerpt(text) and not is_prompt_injection(text)


def is_excerpt(text: str) -> bool:
    """Return whether a text is of a sentence's length, without markup and addresses, and whole."""
    if len(text) > MAX_QUOTE_CHARS or sum(char.isalnum() for char in text) < _MIN_QUOTE_LETTERS:
        return False
    return not _MARKUP.search(text) and is_prose(text)


@dataclass(frozen=True)
class ProposedQuotes:
    """The proposed quotes that stand in the results, by place from 0, and the number of those that do not."""

    quotes: dict[int, list[str]]
    refused: int


def verify_proposed_quotes(proposed: JsonValue, entries: Sequence[SearchEntry]) -> ProposedQuotes:
    """Check `[{"result": 1, "quote": "…"}]`: keep what stands in that result's text, cut from the text."""
    quotes: dict[int, list[str]] = {}
    refused = 0
    for entry in proposed if isinstance(proposed, list) else []:
        number, quote = (entry.get("result"), entry.get("quote")) if isinstance(entry, dict) else (None, None)
        cut = None
        if isinstance(number, int) and isinstance(quote, str) and 1 <= number <= len(entries):
            cut = cut_quote(quote, entries[number - 1].content)
        if cut is None or not isinstance(number, int):
            refused += 1
        elif cut not in quotes.setdefault(number - 1, []):
            quotes[number - 1].append(cut)
    return ProposedQuotes(quotes, refused)


def cut_quote(quote: str, text: str) -> str | None:
    """Return the piece of a text that equals the quote, white space aside; None without one that may be quoted."""
    if len(quote) > 2 * MAX_QUOTE_CHARS:
        return None
    for line in list_safe_lines(text):
        found = highlight_text(line, quote)
        if found.start is not None and found.end is not None:
            piece = collapse_whitespace(found.text[found.start : found.end])
            return piece if is_quotable(piece) else None
    return None


def list_verbatim(quotes: Iterable[str], text: str) -> list[str]:
    """Return the quotes that stand in a text, white space aside."""
    plain = _remove_whitespace(text)
    return [quote for quote in quotes if quote.strip() and _remove_whitespace(quote) in plain]


@dataclass(frozen=True)
class QuoteSupport:
    """How one page supports a sentence: the quotes to add, and the particulars that stand in no quote."""

    quotes: list[str]
    missing: frozenset[str] = frozenset()


def find_support(sentence: str, text: QuotableText, existing_quotes: Sequence[str] = ()) -> QuoteSupport | None:
    """Return the quotes that support a sentence beside `existing_quotes`; None where nothing of it is there.

    A figure, date, document number or quoted name of the sentence stands in one of them or is missing; where the
    sentence has none of these, the piece that is nearest to it by its words is its quote.
    """
    words = _select_comparable_words(sentence, text.text)
    if not has_particulars(sentence):
        if any(compute_overlap(words, extract_words(quote)) >= MIN_WORD_OVERLAP for quote in existing_quotes):
            return QuoteSupport([])
        best = max(text.excerpts, key=lambda piece: compute_dice_similarity(words, piece.words), default=Excerpt(""))
        return QuoteSupport([best.text]) if compute_overlap(words, best.words) >= MIN_WORD_OVERLAP else None
    found = _cover_particulars(sentence, words, text.excerpts, existing_quotes)
    if found.missing and not text.as_excerpt.passage.find_missing(sentence):
        joined = _cover_particulars(sentence, words, [*text.excerpts, *text.joined_excerpts], existing_quotes)
        found = joined if len(joined.missing) < len(found.missing) else found
    return None if found.missing == find_missing_particulars(sentence, [""]) else found


def is_nearer_to_instructions(sentence: str, texts: Sequence[QuotableText], instruction_words: frozenset[str]) -> bool:
    """Return whether a sentence is nearer to the instructions on some page than to the pages that it cites."""
    words = extract_words(sentence)
    nearness = compute_overlap(words, frozenset[str]().union(*(text.as_excerpt.words for text in texts)))
    return compute_overlap(words, instruction_words) > max(nearness, MIN_WORD_OVERLAP)


def is_supported_by_quotes(quotes: Sequence[str], sentence: str) -> bool:
    """Return whether a sentence rests on these quotes alone."""
    if has_particulars(sentence):
        return is_supported_by(sentence, quotes)
    return any(
        compute_overlap(_select_comparable_words(sentence, quote), extract_words(quote)) >= MIN_WORD_OVERLAP
        for quote in quotes
    )


def _select_comparable_words(sentence: str, text: str) -> frozenset[str]:
    """Return the words of a sentence that a text could have too: across languages only the Latin ones."""
    is_same_language = is_chinese(sentence) == is_chinese(text)
    return frozenset(word for word in extract_words(sentence) if is_same_language or word.isascii())


def _cover_particulars(
    sentence: str, words: frozenset[str], excerpts: Sequence[Excerpt], existing_quotes: Sequence[str]
) -> QuoteSupport:
    """Choose few pieces with as many particulars as they can have, of equal ones the nearest to the words."""
    missing = find_missing_particulars(sentence, existing_quotes or [""])
    borne = {
        piece: found for piece in excerpts if missing and (found := missing - piece.passage.find_missing(sentence))
    }
    chosen: list[str] = []
    while missing and borne:
        best = max(borne, key=lambda piece: (len(borne[piece] & missing), compute_dice_similarity(words, piece.words)))
        if not borne[best] & missing:
            break
        chosen.append(best.text)
        missing = missing - borne[best]
    return QuoteSupport(chosen, frozenset(missing))


def _join_adjacent_sentences(line: str) -> Iterator[str]:
    sentences = split_sentences(line)
    for width in range(2, _MAX_JOINED_SENTENCES + 1):
        for start in range(len(sentences) - width + 1):
            first, last = sentences[start], sentences[start + width - 1]
            begin = line.index(first)
            yield line[begin : line.index(last, begin) + len(last)]


def _split_long_sentence(sentence: str) -> list[str]:
    if len(sentence) <= MAX_QUOTE_CHARS:
        return [sentence]
    chunks: list[str] = []
    for clause in _CLAUSE.findall(sentence):
        if chunks and len(chunks[-1]) + len(clause) <= MAX_QUOTE_CHARS:
            chunks[-1] += clause
        else:
            chunks.append(clause)
    return [part.strip() for part in chunks]


def _remove_whitespace(text: str) -> str:
    return re.sub(r"[\s\u200b-\u200d\u2060\ufeff]+", "", text)
