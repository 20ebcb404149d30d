"""Why something was not seen, fell back, or is out of the ordinary: one sentence for each case.

The sentences are what runs keep on record and what the command line shows. A briefing in another language reads the
case and its figures back from the record, and says them in words of its own.
"""

import re
from enum import StrEnum


class Cause(StrEnum):
    """A case, as its English sentence; `{}` takes a figure, a name, or another sentence of these."""

    NOTHING_READ = "No section could be read: {}"
    NOTHING_THERE = "No section could be read."
    NO_LIST = "no list was found on the page"
    NO_TEXT = "the page has no text"
    NO_ARTICLE_DATE = "no date from the article: {}"
    CUT_SHORT = "cut short at {}"
    AGENT_CUT_SHORT = "the agent was cut short: {}"
    LEFT_BY_AGENT = "the agent left {} items in range, saved by rule"
    NO_LINKS = "the answer names no link of the page; sections by rule"
    NO_NUMBERS = "the answer holds no usable numbers"
    NEWEST_FIRST = "the answer holds no usable numbers; newest first"
    NO_SENTENCE = "no sentence of the answer rests on the items"

    EXTRACT = "extract instead of a summary: {}"
    EMPTY = "empty"
    TOO_SHORT = "too short"
    TOO_LONG = "too long"
    TITLE_AGAIN = "it repeats the title"
    WEB_ADDRESS = "it holds a web address"
    NOT_ON_PAGE = "not on the page: {}"

    DOWNLOAD = "The document {} could not be downloaded: {}"
    DOCUMENT_OLD = "{} is of the old kind {}, which is not read; look for a {} of it."
    DOCUMENT_KIND = "{} is no document that can be read; PDF, DOCX, XLSX, text and HTML are."
    DOCUMENT_EMPTY = "{} holds no text; it may be made of pictures."
    DOCUMENT_LARGE = "{} is larger than {} MB and is not read."
    DOCUMENT_SLOW = "{} could not be read within {} s."
    DOCUMENT_BROKEN = "{} cannot be read: {}"
    ROBOTS = "robots.txt could not be read: {}"

    LIST_GONE = "no list is found any more where {} candidates used to stand"
    LIST_FELL = "the list fell from {} candidates to {}"
    DATES_LOST = "{} of {} candidates have a date beside them, where nearly all used to"
    SILENT = "nothing new since {}; something new usually comes every {} days"
    GAP = "possible gap: nothing of what was newest last time stood on the first pages; {} were read, ended {}"
    NOT_READ = "not read in the last {} runs: {}"
    BLOCKED_PAGE = "the site keeps us from a page: {}"
    BLOCKED_PAGES = "the site keeps us from {} pages: {}"
    FAILING = "{} runs in a row failed: {}"

    def render(self, *values: object) -> str:
        return self.value.format(*values)


def parse_cause(sentence: str) -> tuple[Cause, list[str]] | None:
    """The case that a sentence tells of, with its values; None for a sentence that is none of these."""
    for cause, pattern in _PATTERNS.items():
        if found := pattern.fullmatch(sentence):
            return cause, list(found.groups())
    return None


def _build_cause_pattern(cause: Cause) -> re.Pattern[str]:
    first, *rest = map(re.escape, cause.value.split("{}"))
    # A value that comes first is one word: any words at all would be the beginning of every other sentence too.
    values = ["(.+?)"] * len(rest) if first else [r"(\S+)", *["(.+?)"] * (len(rest) - 1)]
    return re.compile(first + "".join(map("".join, zip(values, rest, strict=True))), re.DOTALL)


_PATTERNS = {cause: _build_cause_pattern(cause) for cause in Cause}
