"""Splits running text, Chinese or Western, into sentences."""

import re
from collections.abc import Iterator

from monitor.dates import find_dates

CLOSING_MARKS = "”’」』）)\"'》】"
WEB_ADDRESS = re.compile(r"https?:|www\.", re.IGNORECASE)
"""Not allowed in a sentence that we write: a page could have made the model cite one."""

MAX_SENTENCE_CHARS = 3_000
"""What is longer is no sentence but a table without line ends, or hostile: it is read in pieces.

Words of a sentence are compared with each other, and that takes time that grows with the square of its length.
"""

# A question mark before a Latin letter or digit belongs to an address.
_SENTENCE_END = re.compile(rf"[。！？!?]+[{CLOSING_MARKS}]*(?<![!?](?=[A-Za-z0-9=&/%]))|\.[{CLOSING_MARKS}]*(?=\s|$)")
_ABBREVIATION = re.compile(
    r"(?:\b(?:No|Nos|Mr|Mrs|Ms|Dr|Prof|St|Inc|Ltd|Co|Corp|vs|etc|cf|Art|Sec|Fig|Vol|Gov|Sen|Rep|Gen|Jan|Feb|Mar"
    r"|Apr|Jun|Jul|"
    r"Aug|Sept?|Oct|Nov|Dec|Rev|Proc|Rul|Regs?|Cap|Stat|Doc|Sch|Amdt|sub\. leg|approx|para|pp?|e\.g|i\.e|a\.m|p\.m)"
    r"|\b[A-Z](?:\.[A-Z])*)$"
)
_LIST_NUMBER = re.compile(r"\s*\d{1,2}")
_MAX_ABBREVIATION_CHARS = 24
_FIRST_CHAR = re.compile(r"\s*(\S)")
_PIECE_END = re.compile(r"[\s,，、;；|]")


def split_sentences(line: str) -> list[str]:
    """Return the sentences of a paragraph with their closing marks, stripped.

    A dot inside a number (3.5%) or a date (3. Februar 2026), after an abbreviation (No. 12, U.S.) or after an initial
    ends nothing.
    """
    dates = find_dates(line) if ". " in line else []
    within_dates = {place for date in dates for place in range(date.start, date.end - 1)}
    sentences: list[str] = []
    start = 0
    for match in _SENTENCE_END.finditer(line):
        if match[0].startswith(".") and (match.start() in within_dates or not _ends_sentence(line, start, match)):
            continue
        sentences.append(line[start : match.end()].strip())
        start = match.end()
    sentences.append(line[start:].strip())
    return [piece for sentence in sentences if sentence for piece in cut_long(sentence)]


def cut_long(sentence: str) -> Iterator[str]:
    """Yield the sentence, one that is too long in pieces, each to the end of a word where there is one."""
    start = 0
    while len(sentence) - start > MAX_SENTENCE_CHARS:
        middle, end = start + MAX_SENTENCE_CHARS // 2, start + MAX_SENTENCE_CHARS
        end = max((stop.end() for stop in _PIECE_END.finditer(sentence, middle, end)), default=end)
        yield sentence[start:end]
        start = end
    yield sentence[start:]


def is_prose(text: str) -> bool:
    """Whether a text may be a sentence of ours: no web address, no table bar, no unclosed quotation mark."""
    is_whole = all(text.count(opening) == text.count(closing) for opening, closing in ("“”", "《》", "「」", "『』"))
    return is_whole and "|" not in text and not WEB_ADDRESS.search(text)


def _ends_sentence(line: str, start: int, match: re.Match[str]) -> bool:
    following = _FIRST_CHAR.match(line, match.end())
    if following is None:
        return True
    end = match.start()
    if _ABBREVIATION.search(line, max(start, end - _MAX_ABBREVIATION_CHARS), end):
        return False
    if end - start <= _MAX_ABBREVIATION_CHARS and _LIST_NUMBER.fullmatch(line, start, end):
        return False
    return not following[1].islower()
