"""Splits running text, Chinese or Western, into sentences."""

import re

from monitor.dates import find_dates

CLOSING_MARKS = "”’」』）)\"'》】"
WEB_ADDRESS = re.compile(r"https?:|www\.", re.IGNORECASE)
"""Not allowed in a sentence that we write: a page could have made the model cite one."""

# A question mark before a Latin letter or digit belongs to an address.
_SENTENCE_END = re.compile(rf"[。！？!?]+[{CLOSING_MARKS}]*(?<![!?](?=[A-Za-z0-9=&/%]))|\.[{CLOSING_MARKS}]*(?=\s|$)")
_ABBREVIATION = re.compile(
    r"(?:\b(?:No|Nos|Mr|Mrs|Ms|Dr|Prof|St|Inc|Ltd|Co|Corp|vs|etc|cf|Art|Sec|Fig|Vol|Gov|Sen|Rep|Gen|Jan|Feb|Mar"
    r"|Apr|Jun|Jul|"
    r"Aug|Sept?|Oct|Nov|Dec|approx|para|pp?|e\.g|i\.e|a\.m|p\.m)|\b[A-Z](?:\.[A-Z])*|^\s*\d{1,2})$"
)


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
    return [sentence for sentence in sentences if sentence]


def is_prose(text: str) -> bool:
    """Whether a text may be a sentence of ours: no web address, no table bar, no unclosed quotation mark."""
    is_whole = all(text.count(opening) == text.count(closing) for opening, closing in ("“”", "《》", "「」", "『』"))
    return is_whole and "|" not in text and not WEB_ADDRESS.search(text)


def _ends_sentence(line: str, start: int, match: re.Match[str]) -> bool:
    following = line[match.end() :].lstrip()
    if _ABBREVIATION.search(line[start : match.start()]) and following:
        return False
    return not following or not following[0].islower()
