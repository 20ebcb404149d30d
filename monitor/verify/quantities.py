"""Quantities that are no plain number: halves and parts, multiples, "half a million", and how many a page lists."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from monitor.dates.numerals import (
    ENGLISH_SCALES,
    ENGLISH_WORDS,
    parse_date_numeral,
    parse_english_number,
    parse_numeral,
)
from monitor.extract.sentences import cut_long
from monitor.verify.units import FRACTION, MONTHS, MULTIPLE


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity with its span: of a kind of its own, or a number that a unit may follow (`kind` is empty)."""

    value: Fraction
    kind: str
    start: int
    end: int


_PARTS = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "tenth": 10}
_FRACTION = re.compile(
    r"(?<![百千万])(?P<below>[二三四五六七八九十]{1,8}|(?<!\d)(?<!\d[.,])\d{1,3})分之(?P<above>[一二三四五六七八九十]{1,8}|\d{1,3})"
    r"(?![\d〇零一二三四五六七八九十百千万亿]|[.,]\d)"  # never a part of a longer number
    r"|(?<![\d/])(?P<a>\d{1,2})/(?P<b>\d{1,2})(?![\d/])"
    r"|\b(?P<whole>one|two|three|four)[- ](?P<part>half|third|quarter|fifth|tenth)s?\b"
    r"|每(?P<every_2>[二三四五六七八九十两]|\d{1,2})[个人名家户件辆][^，。；]{0,4}有(?P<only_2>[一二两三]|\d)[个人名家户件辆]"
    r"|\b(?P<only>one|two|three|1|2|3)\s(?:in|out of)(?:\severy)?\s(?P<every>two|three|four|five|ten|[2-9]|10)\b",
    re.IGNORECASE,
)
_HALF = re.compile(
    r"(?<!对)一半(?![径])|半数|(?<=[过超近])半(?=[数的。，；、]|$)|\bhalf\s(?:of\b|the\b|its\b|their\b|all\b)|\b(?:by|one|than|nearly|almost)\shalf\b"
    r"|减半|腰斩|\bhalv(?:ed|ing)\b"
    # Not a third party or a fifth round.
    r"|\ba\s(?P<part>third|quarter|fifth|tenth)(?=\s(?:of(?!\san?\s)|over|in|to|from|since|on|compared|are|were|is|was|have|had)\b"
    r"|[.,;:)]|$)",
    re.IGNORECASE,
)
_SCALE = r"hundred|thousand|million|billion|trillion"
_MIXED = re.compile(
    rf"\b(?P<n>\d+|{'|'.join(ENGLISH_WORDS)})\sand\sa\s(?P<part>half|quarter|third)(?:\s(?P<scale>{_SCALE}))?\b"
    rf"|\b(?:(?P<part_2>half)\sa|a\s(?P<part_3>quarter|third)\sof\sa)(?:\s(?P<scale_2>{_SCALE})\b|\s(?=[a-z]))"
    rf"|\ba\s(?P<scale_4>{_SCALE}|dozen|decade)\b|\b(?P<n_2>two|three|four|several)\sdozen\b",
    re.IGNORECASE,
)
_CHINESE_MIXED = re.compile(
    r"(?P<n>\d{1,2}|[一二三四五六七八九十两]{1,2})(?P<unit>年|个月|个小时|小时|天|个星期|周)半(?!年)"
    r"|(?<![上下前后一大])半(?P<unit_2>年|个月|个小时|小时|天|个百分点|个)(?![多来])"
)
_TERM = re.compile(
    r"(?P<years>\d{1,2}|[一二三四五六七八九十两]{1,3})年(?:零|又)?(?P<months>\d{1,2}|[一二三四五六七八九十两]{1,2})个月"
    rf"|\b(?P<years_2>\d{{1,2}}|{'|'.join(ENGLISH_WORDS)})\syears?(?:,|\sand)?\s"
    rf"(?P<months_2>\d{{1,2}}|{'|'.join(ENGLISH_WORDS)})\smonths?\b",
    re.IGNORECASE,
)
_MULTIPLE = re.compile(
    r"翻(?:了)?(?P<times>[一两二三四])?番|翻了?一?倍"
    r"|\b(?P<verb>doubl|tripl|trebl|quadrupl)(?:ed|ing)\b"
    r"|\b(?:to|will|would|may|could|should|must)\s(?P<verb_2>double|triple|treble|quadruple)\b|\b(?P<twice>twice)\s(?:the|as|that|its|today|what)\b",
    re.IGNORECASE,
)
_VERBS = {"doubl": 2, "tripl": 3, "trebl": 3, "quadrupl": 4}


def find_fractions(text: str) -> Iterator[Quantity]:
    """Yield the parts of a whole: 三分之二, 1/3, two thirds, one in three."""
    for match in _FRACTION.finditer(text):
        if match["whole"]:
            below, above = Fraction(_PARTS[match["part"].lower()]), parse_english_number(match["whole"], None)
        elif match["only"] or match["only_2"]:
            below, above = _count(match["every"] or match["every_2"]), _count(match["only"] or match["only_2"])
        else:
            below = parse_numeral(match["below"] or match["b"]) or Fraction(0)
            above = parse_numeral(match["above"] or match["a"]) or Fraction(0)
        if below and above:
            yield Quantity(above / below, FRACTION, *match.span())


def find_halves(text: str) -> Iterator[Quantity]:
    """Yield the parts that are words alone: 一半, 过半, half of, a third of."""
    for match in _HALF.finditer(text):
        part = (match["part"] or "half").lower()
        yield Quantity(Fraction(1, _PARTS[part]), FRACTION, *match.span())


def find_mixed_numbers(text: str) -> Iterator[Quantity]:
    """Yield numbers with a half or a word for their scale: half a million, two and a half, a dozen, 一年半."""
    for match in _MIXED.finditer(text):
        part = (match["part"] or match["part_2"] or match["part_3"] or "").lower()
        scale = (match["scale"] or match["scale_2"] or match["scale_4"] or "").lower()
        value = Fraction(1, _PARTS[part]) if part else Fraction(0)
        if match["n"]:
            value += _count(match["n"])
        if match["n_2"]:
            if match["n_2"].lower() == "several":
                continue
            value = 12 * _count(match["n_2"])
        if scale == "dozen":
            value = Fraction(12)
        elif scale == "decade":
            yield Quantity(Fraction(1), "", match.start(), match.end("scale_4") - len("decade"))
            continue
        elif scale:
            value = (value or Fraction(1)) * ENGLISH_SCALES[scale]
        yield Quantity(value, "", *match.span())
    for match in _TERM.finditer(text):
        years, months = match["years"] or match["years_2"], match["months"] or match["months_2"]
        yield Quantity(12 * _count(years) + _count(months), MONTHS, *match.span())
    for match in _CHINESE_MIXED.finditer(text):
        whole = parse_numeral(match["n"].replace("两", "二")) if match["n"] else Fraction(0)
        if whole is not None:
            # The unit stands within 一年半 and behind the number of 半年.
            end = match.start("unit") if match["unit"] else match.start("unit_2")
            yield Quantity(whole + Fraction(1, 2), "", match.start(), end)


def find_multiples(text: str) -> Iterator[Quantity]:
    """Yield how many times as much as before something is: 翻两番 is 4, doubled is 2."""
    for match in _MULTIPLE.finditer(text):
        verb = (match["verb"] or match["verb_2"] or "").lower().removesuffix("e")
        times = parse_date_numeral((match["times"] or "一").replace("两", "二")) or 1
        yield Quantity(Fraction(_VERBS.get(verb) or 2**times), MULTIPLE, *match.span())


def _count(written: str) -> Fraction:
    word = written.lower().replace("两", "二")
    return Fraction(ENGLISH_WORDS.get(word) or parse_date_numeral(word) or 0)


@dataclass(frozen=True, slots=True)
class ListCount:
    """How many a page lists in one place: 一是 … 五是, or A、B和C.

    An enumeration counts steps and measures; a list counts what it names, in the words of its sentence, or anything
    where its items end alike.
    """

    count: int
    start: int
    words: str
    items: tuple[str, ...] = ()
    is_alike: bool = False

    def can_count(self, written: str, noun: str, sentence: str) -> bool:
        """Whether the list may be of what a number counts: `written` is 三家, `noun` what follows it in a sentence."""
        if not self.words:
            return _STEPS.search(written + noun) is not None
        if self.is_alike or (self.items and all(item in sentence for item in self.items)):
            return True
        if (
            (_PEOPLE.search(written) or _PEOPLE.match(noun.lstrip()))
            and self.items
            and all(map(_PERSON.fullmatch, self.items))
        ):
            return True
        word = re.match(r"\s?(?:[\u4e00-\u9fff]{2}|[A-Za-z]{3,})", noun)
        return word is not None and word[0].strip().lower().removesuffix("s") in self.words.lower()


_PEOPLE = re.compile(r"[人名位]$|people|persons|individuals", re.IGNORECASE)
_PERSON = re.compile(r"(?:[A-Z][\w.’'-]*\s?){2,4}")
_STEPS = re.compile(
    r"方面|任务|措施|举措|要求|重点|行动|部分|步骤|环节|[条点项]|工程|内容|建议|意见|原则|目标|"
    r"\b(?:steps?|tasks?|measures?|points?|actions?|parts?|areas?|goals?|principles?|requirements?|priorities)\b",
    re.IGNORECASE,
)
_N = "[一二三四五六七八九十]{1,3}"
_ENGLISH_ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
_MARKS = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        rf"(?<![第十])(?P<n>{_N})是",
        rf"[（(](?P<n>{_N})[)）]",
        rf"^\s{{0,4}}(?P<n>{_N})、",
        r"(?:^|[。；;：:]\s?)[（(]?(?P<n>\d{1,2})[.、)）](?!\d)",
        rf"第(?P<n>{_N})[,，、：:]",
        rf"\b(?P<n>{'|'.join(_ENGLISH_ORDINALS)})(?:ly)?[,:]",
    )
)
_ITEM = r"[^、,，。；;：:！？!?\s（）()]{1,20}"
_CHINESE_LIST = re.compile(rf"{_ITEM}(?:、{_ITEM})+")
_CHINESE_PAIR = re.compile(
    r"(?P<one>[\u4e00-\u9fff]{1,8}?(?P<end>[市省县区州国行司部会院校厂局]))(?:和|与|及)[\u4e00-\u9fff]{1,8}?(?P=end)"
)
_ENGLISH_ITEM = r"[A-Z][\w.&'’-]{0,24}(?:\s[\w.&'’-]{1,24}){0,5}"
_ENGLISH_LIST = re.compile(
    rf"(?P<items>{_ENGLISH_ITEM}(?:,\s{_ENGLISH_ITEM}){{0,20}}),?\sand\s(?P<last>{_ENGLISH_ITEM})"
)
_SENTENCE = re.compile(r"[^。！？；\n]+")
_MAX_LISTED = 60


def find_list_counts(text: str) -> Iterator[ListCount]:
    """Yield the enumerations and the lists of a page with their lengths."""
    for pattern in _MARKS:
        yield from _count_marks(pattern, text)
    for sentence in _SENTENCE.finditer(text):
        start = sentence.start()
        for piece in cut_long(sentence[0]):
            yield from _list_counts_in_sentence(piece, start)
            start += len(piece)


def _list_counts_in_sentence(sentence: str, start: int) -> Iterator[ListCount]:
    if "、" in sentence:
        for found in _CHINESE_LIST.finditer(sentence):
            yield _read_chinese_list(found, sentence, start)
    if _CHINESE_PAIR.search(sentence):
        yield ListCount(2, start, sentence, is_alike=True)
    for found in _ENGLISH_LIST.finditer(sentence) if " and " in sentence else ():
        items = found["items"].split(", ")
        ending = items[0].rpartition(" ")[2]
        is_alike = len(items) > 1 and all(ending in item.split() for item in (*items, found["last"]))
        yield ListCount(len(items) + 1, start, sentence, tuple(items[1:]), is_alike)


def _read_chinese_list(found: re.Match[str], sentence: str, start: int) -> ListCount:
    *items, last = found[0].split("、")
    has_and = re.search("[和与及]", last) is not None
    ending = items[0][-2:]
    is_alike = len(ending) == 2 and all(item.endswith(ending) for item in items) and ending in last
    return ListCount(len(items) + 1 + has_and, start, sentence, tuple(items[1:]), is_alike)


def _count_marks(pattern: re.Pattern[str], text: str) -> Iterator[ListCount]:
    """Yield the length of every run of marks from 1 on."""
    length, start = 0, 0
    for found in pattern.finditer(text):
        written = found["n"].lower()
        is_word = written in _ENGLISH_ORDINALS
        number = _ENGLISH_ORDINALS.index(written) + 1 if is_word else parse_date_numeral(written) or 0
        if number == length + 1 <= _MAX_LISTED:
            length = number
        elif number == 1:
            if length > 1:
                yield ListCount(length, start, "")
            length = 1
        if number == 1:
            start = found.start()
    if length > 1:
        yield ListCount(length, start, "")
