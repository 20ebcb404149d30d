"""Reads sentences for the judge: their segments with words, marks of meaning, figures, dates and periods."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from monitor.dates import DateOrder, WrittenDate
from monitor.i18n.traditional import simplify
from monitor.verify.figures import fold_width, parse_figures
from monitor.verify.lexicon import Concept, load_lexicon, stem
from monitor.verify.units import NumericFigure

_SEGMENT_END = re.compile(
    r"[，；;：。！？!?]|,(?!\d)|:(?!\d)|\s[–—-]\s|——|\b(?:while|whereas|although|though|but)\b|、(?=[^、，；。]{0,20}\d)|[和及与](?=[^、，；。]{0,3}\d)|\band(?=[^,.;]{0,24}\d)"
)
_STOP_CHARS = frozenset(
    "的了和与及在对为以等将该其并或之于而是由从至到个把被让使向给又还也就这那我你他她它们着过吗呢啊各本"
)
_NUMERALS = frozenset("〇零一二三四五六七八九十百千万亿点分之")
_STOP_WORDS = frozenset(
    map(
        stem,
        [
            "a",
            "an",
            "the",
            "of",
            "to",
            "in",
            "on",
            "at",
            "for",
            "with",
            "from",
            "by",
            "as",
            "and",
            "or",
            "but",
            "is",
            "are",
            "was",
            "were",
            "be",
            "been",
            "being",
            "it",
            "its",
            "this",
            "that",
            "these",
            "those",
            "he",
            "she",
            "they",
            "them",
            "their",
            "his",
            "her",
            "we",
            "our",
            "you",
            "your",
            "which",
            "who",
            "whom",
            "whose",
            "what",
            "when",
            "where",
            "there",
            "here",
            "into",
            "out",
            "over",
            "under",
            "about",
            "than",
            "then",
            "so",
            "such",
            "own",
            "same",
            "other",
            "another",
            "also",
            "up",
            "down",
            "has",
            "have",
            "had",
            "do",
            "does",
            "did",
            "not",
            "no",
            "will",
            "would",
            "can",
            "could",
            "may",
            "must",
            "shall",
            "should",
            "if",
            "per",
            "via",
            "both",
            "either",
            "each",
            "any",
            "all",
            "more",
            "most",
            "less",
            "least",
            "very",
            "just",
            "only",
            "still",
            "already",
            "yet",
        ],
    )
)
_NEGATORS_ZH = re.compile(
    r"(?:并?不(?!得(?!不)|断|服|仅|同|少|过|久|妨|管|论|良|动产|足|锈|得不|止|但|确定|一|利|等)|未(?!来|必)|尚未|没有?(?!收)|无(?!论|线|人机|锡|偿|形|疑|障碍)|非(?!常|洲|银|遗)|勿|并非|难以|从未|均未|绝不)"
)
_NEGATOR_STARTS = frozenset("并不未尚没无非勿难从均绝")
_NEGATORS_EN = frozenset(
    (
        "not",
        "no",
        "never",
        "neither",
        "nor",
        "without",
        "none",
        "cannot",
        "nobody",
        "nothing",
        "n't",
        "fail",
        "fails",
        "failed",
        "unlikely",
        "hardly",
        "barely",
        "unable",
        "lack",
        "lacks",
        "lacked",
    )
)
_NO_LONGER = re.compile(r"no longer\b", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*|[\u4e00-\u9fff]|\d[\d.,]*|\S")
_NEGATION_REACH_ZH, _NEGATION_REACH_EN = 8, 5
_HEAD_REACH = 3
_NEGATION_ENDS = frozenset("的”’）)–—、")
NEGATION_KEY = "¬"


@dataclass(frozen=True, eq=False)
class Mark:
    """A word on one side of an axis; `around` are the tokens just before and after it in its segment."""

    axis: str
    side: str
    word: str
    is_negated: bool
    around: tuple["_Token", ...]

    @cached_property
    def near(self) -> frozenset[str]:
        return frozenset(iter_words(self.around))

    @cached_property
    def plain(self) -> frozenset[str]:
        """The words near it that are on no axis."""
        return frozenset(word for word in self.near if not (word.startswith("~") and "." in word))


@dataclass(frozen=True)
class Segment:
    """A piece of a sentence between two commas."""

    text: str
    words: frozenset[str]
    order: tuple[str, ...]
    negated: frozenset[str]
    marks: tuple[Mark, ...]
    figures: tuple[NumericFigure, ...]
    dates: tuple[WrittenDate, ...]
    negated_heads: frozenset[str] = frozenset()
    keys: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    concepts: tuple[Concept, ...] = ()
    is_negator: bool = False
    is_chinese: bool = False


def parse_segments(text: str, *, is_page: bool, order: DateOrder | None = None) -> list[Segment]:
    pieces = [fold_width(simplify(piece)) for piece in _split_segments(text) if piece.strip()]
    return [_parse_segment(piece, is_page=is_page, order=order) for piece in pieces]


def _split_segments(text: str) -> Iterator[str]:
    start = checked = 0
    for match in _SEGMENT_END.finditer(text):
        end = match.end() if len(match[0].strip()) <= 2 and not match[0].strip().isalpha() else match.start()
        if text[checked:end].strip(" ,，;；"):  # what was looked at before had nothing to say
            yield text[start:end]
            start = end
        checked = end
    yield text[start:]


def _parse_segment(text: str, *, is_page: bool, order: DateOrder | None) -> Segment:
    tokens = list(tokenise(text))
    found = parse_figures(text, is_page=is_page, order=order)
    words = tuple(dict.fromkeys((*iter_words(tokens), *_iter_period_words(text))))
    negated = frozenset(_iter_negated_words(tokens))
    return Segment(
        text=text,
        words=frozenset(words),
        order=words,
        negated=negated,
        marks=tuple(_iter_marks(tokens)),
        figures=found.figures,
        dates=found.dates,
        negated_heads=frozenset(_iter_negated_words(tokens, is_head=True)),
        keys=tuple(map(_find_key, tokens)),
        texts=tuple(token.text for token in tokens),
    )


def _find_key(token: _Token) -> str:
    """Return what two tokens of one meaning have in common."""
    if token.is_negator:
        return NEGATION_KEY
    if token.concepts:
        return token.concepts[0].name
    return token.text if token.is_chinese else stem(token.text)


def tokenise(text: str) -> Iterator[_Token]:
    lexicon = load_lexicon()
    matches = list(_WORD.finditer(text))
    index = 0
    count = len(matches)
    while index < count:
        match = matches[index]
        piece = match[0]
        if "\u4e00" <= piece <= "\u9fff":
            word, concepts = _match_chinese(text, match.start(), lexicon.chinese.get(piece, ()))
            is_free = piece in _NEGATOR_STARTS and len(word) == 1 and not concepts
            negator = _NEGATORS_ZH.match(text, match.start()) if is_free else None
            if negator:
                yield _Token(negator[0], match.start(), is_negator=True, is_chinese=True)
                word = negator[0]
            else:
                yield _Token(word, match.start(), concepts, is_chinese=True)
            end = match.start() + len(word)
            index += 1
            while index < count and matches[index].start() < end:
                index += 1
            continue
        lowered = piece.lower().replace("’", "'")
        if piece[0].isascii() and piece[0].isalpha():
            if lowered in _NEGATORS_EN or lowered.endswith("n't"):
                phrase = _match_phrase(matches, index, lexicon.english)
                if phrase is None:
                    yield _Token(lowered, match.start(), is_negator=True)
                    index += 2 if _NO_LONGER.match(text, match.start()) else 1
                    continue
            phrase = _match_phrase(matches, index, lexicon.english)
            if phrase:
                length, concepts = phrase
                if length == 1:
                    concepts += tuple(other for other in lexicon.exact.get(lowered, ()) if other not in concepts)
                yield _Token(
                    " ".join(part[0].lower() for part in matches[index : index + length]), match.start(), concepts
                )
                index += length
                continue
            yield _Token(lowered, match.start(), lexicon.exact.get(lowered, ()))
        else:
            yield _Token(piece, match.start())
        index += 1


def _match_chinese(
    text: str, start: int, entries: Sequence[tuple[str, tuple[Concept, ...]]]
) -> tuple[str, tuple[Concept, ...]]:
    """Return the longest word of the lexicon at a position of a text, or its one character."""
    for entry in entries:
        if text.startswith(entry[0], start):
            return entry
    return text[start], ()


def _match_phrase(
    matches: Sequence[re.Match[str]], index: int, english: dict[str, list[tuple[tuple[str, ...], tuple[Concept, ...]]]]
) -> tuple[int, tuple[Concept, ...]] | None:
    first = stem(matches[index][0].lower())
    for phrase, concepts in english.get(first, ()):
        following = matches[index : index + len(phrase)]
        if len(following) == len(phrase) and all(
            stem(part[0].lower()) == wanted for part, wanted in zip(following, phrase, strict=True)
        ):
            return len(phrase), concepts
    return None


def iter_words(tokens: Iterable[_Token]) -> Iterator[str]:
    """Yield concepts, pairs of Chinese characters that no concept covers, and the stems of other words."""
    last = ""
    for token in tokens:
        if token.concepts:
            last = ""
            yield from (f"~{concept.name}" for concept in token.concepts)
            if token.is_chinese and len(token.text) > 1 and any(concept.axis for concept in token.concepts):
                yield token.text
            if token.text.isascii() and " " not in token.text and any(concept.axis for concept in token.concepts):
                yield stem(token.text)
        elif token.is_chinese and not token.is_negator and len(token.text) > 1:
            last = ""
            yield token.text
        elif token.is_chinese and not token.is_negator:
            char = token.text
            if char in _STOP_CHARS:
                last = ""
                continue
            if last and not (last in _NUMERALS and char in _NUMERALS):
                yield last + char
            last = char
        else:
            last = ""
            if token.text[0].isascii() and token.text[0].isalpha():
                root = stem(token.text)
                if root not in _STOP_WORDS and len(root) > 1 and not token.is_negator:
                    yield root


_PERIOD = re.compile(
    r"(?P<year>(?:19|20)\d\d)(?=\s?年|\b)|(?P<first>\d{1,2})月?\s?[-—–~至到]\s?(?P<last>\d{1,2})月|前(?P<months>\d{1,2}|[一二三四五六七八九十]+)个月"
    r"|(?P<month>\d{1,2})月|(?P<quarter>[一二三四1-4])季度|(?P<half>[上下])半年|前(?P<quarters>[二三])季度"
    r"|(?P<name>January|February|March|April|May|June|July|August|September|October|November|December)\b"
    r"|(?P<q>first|second|third|fourth) quarter|\bQ(?P<qn>[1-4])\b|(?P<h>first|second) half"
)
MONTHS = {
    name: number
    for number, name in enumerate(
        [
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ],
        1,
    )
}
ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "一": 1, "二": 2, "三": 3, "四": 4, "上": 1, "下": 2}


def _iter_period_words(text: str) -> Iterator[str]:
    """Yield the periods that a text names, as words: `@y2025`, `@m10`, `@m1-10`, `@q3`, `@h1`."""
    for match in _PERIOD.finditer(text):
        kind, value = match.lastgroup, match[match.lastgroup or 0]
        match kind:
            case "year":
                yield f"@y{value}"
            case "last":
                yield f"@m{match['first']}-{value}"
            case "months":
                yield f"@m1-{value}"
            case "month":
                yield f"@m{int(value)}"
            case "name":
                yield f"@m{MONTHS[value]}"
            case "quarters":
                yield f"@m1-{3 * ORDINALS[value]}"
            case "quarter" | "q" | "qn":
                yield f"@q{ORDINALS.get(value, value)}"
            case "half" | "h":
                yield f"@h{ORDINALS[value]}"


def _iter_negated_words(tokens: Sequence[_Token], *, is_head: bool = False) -> Iterator[str]:
    """Yield the words in the reach of negators; heads are those right after them."""
    for place, token in enumerate(tokens):
        if token.is_negator:
            reach = _HEAD_REACH if is_head else _NEGATION_REACH_ZH if token.is_chinese else _NEGATION_REACH_EN
            after = tokens[place + 1 : place + 1 + reach]
            end = next((number for number, other in enumerate(after) if other.text in _NEGATION_ENDS), len(after))
            yield from iter_words(after[:end])


def _iter_marks(tokens: Sequence[_Token]) -> Iterator[Mark]:
    for place, token in enumerate(tokens):
        for concept in token.concepts:
            if concept.axis:
                before = tokens[max(place - (3 if token.is_chinese else 4), 0) : place]
                is_negated = any(other.is_negator for other in before)
                around = (*tokens[max(place - 8, 0) : place], *tokens[place + 1 : place + 9])
                yield Mark(concept.axis, concept.side, token.text, is_negated, around)
