"""One way of writing: what two spellings of the same title, number or text have in common."""

import html
import re
import unicodedata

from monitor.briefing.grouping.characters import SIMPLIFIED
from monitor.evidence.numerals import numeral

_NUMERALS = "〇零一二三四五六七八九十百千两"
_SERIES_UNITS = "季度|部分|标段|阶段|分册|年期|年度|[批期月号届次回轮章卷册版辑编集级类组包项条审读稿日时讲]"
_BETWEEN_NUMBERS = re.compile(r"(?<=\d)[\W_]+(?=\d)")
_NEITHER = re.compile(r"[^\w\0]+|_+")
_BLANKS = re.compile(r"\s+")
_YEAR = re.compile(r"[〇零一二三四五六七八九]{4}(?=\s*年)")
_COUNTED = re.compile(
    rf"(?<=第)[{_NUMERALS}]+|(?<=之)[{_NUMERALS}]+(?!\w)|(?<=\()[{_NUMERALS}]+(?=\))"
    rf"|(?<=附件)[{_NUMERALS}]+|(?<=附录)[{_NUMERALS}]+|(?<![\w])[{_NUMERALS}]+(?=[、.])|[{_NUMERALS}]+(?=(?:{_SERIES_UNITS}))"
)
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "民国": 1911, "中华民国": 1911}
_ERA_YEAR = re.compile(r"(令和|平成|昭和|中华民国|民国)\s*(\d{1,3}|元)\s*年")
_SIGNS = SIMPLIFIED | str.maketrans(
    {
        "〔": "[",
        "〕": "]",
        "【": "[",
        "】": "]",
        "“": '"',
        "”": '"',
        "‘": "'",
        "’": "'",
        "「": "《",
        "」": "》",
        "『": "《",
        "』": "》",
        "〈": "《",
        "〉": "》",
        "—": "-",
        "–": "-",
        "―": "-",
        "−": "-",
        "‐": "-",
        "‑": "-",
        "─": "-",
        "×": "x",
        "✕": "x",
        "丨": "|",
        "│": "|",
        "⋯": "...",
    }
)
_MONTHS = re.compile(
    r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
    r"(?:uary|ruary|ch|il|e|y|ust|t|tember|ober|ember)?\b\.?(?=\W|$)"
)
_ORDINAL_WORDS = {
    word: str(number)
    for number, word in enumerate(
        ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh"),
        start=1,
    )
}
_ORDINAL = re.compile(rf"\b(?:({'|'.join(_ORDINAL_WORDS)})|(\d+)(?:st|nd|rd|th))\b")
_SPELLING = re.compile(r"(?<=[a-z]{3})(?:(is)(?=e[sd]?\b|ing\b|ations?\b)|our(?=s?\b)|tre(?=s?\b))|(?<=progra)mme")
_ROMAN_PART = re.compile(
    r"\b((?:part|annex|appendix|volume|vol\.?|phase|chapter|section|title|schedule|tier|pillar|basel|stage|teil)\s+)([ivx]+)\b"
)
_ROMAN = {"i": 1, "v": 5, "x": 10}
_QUARTER = re.compile(r"\b1?q([1-4])\b|\b([1-4]) quarter\b")


def folded(written: str) -> str:
    """The text in one way of writing, punctuation kept.

    Width, letter case, traditional characters, brackets, quotes and dashes are folded; counted numerals become digits
    (第三批, 二〇二六年, Part II, third), years of an era the years of the calendar, month names three letters.
    """
    text = unicodedata.normalize("NFKC", html.unescape(written)).casefold().translate(_SIGNS)
    text = _BLANKS.sub(" ", text).strip()
    if not text.isprintable():
        text = _BLANKS.sub(" ", "".join(filter(str.isprintable, text))).strip()
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    text = _YEAR.sub(lambda found: _digits(found[0]), text)
    text = _ERA_YEAR.sub(_calendar_year, text)
    text = _COUNTED.sub(lambda found: _digits(found[0]), text)
    text = re.sub(r"第(\d+)(?=季度)", r"\1", text)
    if not text.isascii() and not re.search(r"[a-z]{3}", text):
        return text
    text = _SPELLING.sub(_in_one_spelling, text)
    text = _ROMAN_PART.sub(lambda found: found[1] + _of_roman(found[2]), text)
    text = _ORDINAL.sub(lambda found: _ORDINAL_WORDS.get(found[1], found[2] or ""), text)
    text = _QUARTER.sub(lambda found: f"q{found[1] or found[2]}", text)
    return _MONTHS.sub(r"\1", text)


def core(text: str) -> str:
    """Letters and digits alone; two numbers stay apart by a dot where anything stood between them."""
    return _NEITHER.sub("", _BETWEEN_NUMBERS.sub("\0", text)).replace("\0", ".")


def _digits(written: str) -> str:
    if re.fullmatch(r"[〇零一二三四五六七八九]{2,}", written):
        return "".join(str("〇一二三四五六七八九".index("〇" if char == "零" else char)) for char in written)
    value = numeral(written)
    return str(value) if value is not None else written


def _calendar_year(found: re.Match[str]) -> str:
    return f"{_ERAS[found[1]] + (1 if found[2] == '元' else int(found[2]))}年"


def _in_one_spelling(found: re.Match[str]) -> str:
    return "iz" if found[1] else found[0].replace("our", "or").replace("tre", "ter").replace("mme", "m")


def _of_roman(letters: str) -> str:
    values = [_ROMAN[letter] for letter in letters]
    total = sum(-value if value < max(values[place:]) else value for place, value in enumerate(values))
    return str(total)
