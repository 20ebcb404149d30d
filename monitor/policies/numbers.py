"""Numbers of documents: how public bodies write them, and which one is a document's own."""

import re
from dataclasses import dataclass, replace

from monitor.dates import find_dates
from monitor.policies.chinese_numbers import CHINESE_LABEL, CHINESE_NUMBER, NUMBER_AT_END, trim_number
from monitor.policies.document_text import DocumentText
from monitor.policies.english_numbers import find_own_english

_HEAD_LINES = 14
_MAX_LINE_CHARS = 90
_MAX_TITLE_LINE_CHARS = 120
_CODE_HEAD_LINES = 8
_CHINESE_CODE = re.compile(r"(?=[^a-z]*\d)(?=[^a-z]*[A-Z])[A-Z0-9][A-Z0-9/.-]{4,24}")
_MAX_BESIDE_CHARS = 40
_CODES = re.compile(r"[A-Z]\d{1,3}/\d{1,4}[A-Z]?(?:\s[A-Z]\d{1,3}/\d{1,4}[A-Z]?){1,3}")
_BARE_VALUE = re.compile(r"[A-Za-z0-9\u4e00-\u9fff][A-Za-z0-9\u4e00-\u9fff/().〔〕\[\]第号-]{2,40}(?=\s|$|[，,;；])")
_NO_NUMBER_LINE = re.compile(
    r"[。；，《]|会议|第.{1,8}次|关于|通知|办法|规定|意见|^[一二三四五六七八九十\d]{1,3}[、.．]"
)
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class NamedDocument:
    """A document that a text names by title, by number, or by both, and the span of the words."""

    title: str | None
    number: str | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class OwnNumber:
    """A document's own number and the span of the words that show it; -1 for a span in the title."""

    number: str
    start: int
    end: int


def normalize_number(written: str) -> str:
    """Return a Chinese number as it is written, without the spaces that layouts put into it."""
    return _SPACE.sub("", written)


def find_own_number(document: DocumentText, *, explains: bool = False) -> OwnNumber | None:
    """Return the number of a document itself: labelled, alone in a line at its head, or in its title.

    `explains`: it is about another one, whose number its title may name further on.
    """
    if not document.is_chinese:
        found = find_own_english(document, explains=explains)
        return OwnNumber(*found) if found else None
    own = _find_chinese(document)
    return None if explains and own is not None and own.start < 0 else own


def _make(document: DocumentText, start: int, end: int) -> OwnNumber:
    return OwnNumber(trim_number(normalize_number(document.original[start:end])), start, end)


def _find_labelled(document: DocumentText) -> OwnNumber | None:
    for found in CHINESE_LABEL.finditer(document.folded, 0, 4_000):
        value, start = found["value"], found.start("value")
        if codes := _CODES.fullmatch(value.strip()):
            return _make(document, start, start + codes.end())
        number = CHINESE_NUMBER.search(value)
        if number and number.start() < 12:
            return _make(document, start + number.start(), start + number.end())
        bare = _BARE_VALUE.match(value)
        if bare and re.search(r"\d", bare[0]) and re.search(r"[^\d.]", bare[0]):
            return _make(document, start, start + bare.end())
    return None


def _find_chinese(document: DocumentText) -> OwnNumber | None:
    if labelled := _find_labelled(document):
        return labelled
    before = ""
    for line in document.lines[:_HEAD_LINES]:
        found = CHINESE_NUMBER.search(line.text) if len(line.text) <= _MAX_LINE_CHARS else None
        beside = line.text[: found.start()] + line.text[found.end() :] if found else ""
        if found and not _NO_NUMBER_LINE.search(line.text) and len(beside.strip(" ()[]:")) <= _MAX_BESIDE_CHARS:
            own = _make(document, line.start + found.start(), line.start + found.end())
            is_order = before.endswith("令") and own.number.startswith(("第", "〔", "[", "("))
            return replace(own, number="令" + own.number) if is_order else own
        before = line.text.replace(" ", "")
    return (
        _find_in_title(document)
        or _find_at_line_end(document)
        or _find_bracketed(document)
        or _find_chinese_code(document)
    )


def _find_at_line_end(document: DocumentText) -> OwnNumber | None:
    """Return the number in brackets behind a title that the text repeats: 关于…的公告(2026年第22号)."""
    for line in document.lines[:3]:
        found = NUMBER_AT_END.search(line.text) if len(line.text) < _MAX_TITLE_LINE_CHARS else None
        if found and not found["number"].startswith("第"):
            return _make(document, line.start + found.start("number"), line.start + found.end("number"))
    return None


def _find_chinese_code(document: DocumentText) -> OwnNumber | None:
    """Return the code that is a line of its own at the head of a circular: 26EC31, APP-172."""
    for line in document.lines[:_CODE_HEAD_LINES]:
        if _CHINESE_CODE.fullmatch(line.text) and not find_dates(line.text, order="dmy"):
            return _make(document, line.start, line.end)
    return None


def _find_in_title(document: DocumentText) -> OwnNumber | None:
    """Return the number that stands in the title outside the names of others."""
    quoted = [span.span() for span in re.finditer(r"《[^《》]*》|[“\"][^”\"]*[”\"]", document.title)]
    for found in CHINESE_NUMBER.finditer(document.title):
        if not any(start < found.start() < end for start, end in quoted):
            written = document.original_title[found.start() : found.end()]
            return OwnNumber(trim_number(normalize_number(written)), -1, -1)
    return None


def _find_bracketed(document: DocumentText) -> OwnNumber | None:
    """Return the number in brackets under the title: (国发〔2026〕3号), or in 令〔2024〕第9号公布."""
    for line in document.lines[:6]:
        if not line.text.startswith("("):
            continue
        found = CHINESE_NUMBER.search(line.text[:_MAX_LINE_CHARS])
        if found and not re.search("根据|依据|按照|废止", line.text):
            return _make(document, line.start + found.start(), line.start + found.end())
    return None
