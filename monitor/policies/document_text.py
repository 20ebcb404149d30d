"""A document's text as the rules read it: folded without moving a character, in lines and sentences with their days."""

import datetime as dt
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from monitor.dates import DateOrder, detect_order
from monitor.dates.names import fold_digits
from monitor.extract.sentences import split_sentences
from monitor.i18n.traditional import simplify
from monitor.policies.day_mentions import DayBase, DayMention, find_day_mentions

MAX_CHARS = 120_000
"""How far a document is read: its days, numbers and relations stand at its head and foot and in its articles."""

_FOLDED = str.maketrans("（）：﹝﹞［］【】　\u00a0\u2009\u202f’諮谘託慮", "():〔〕[][]    '咨咨托虑")
_YEAR_IN_WORDS = re.compile("[一二][0OoОо○〇零一二三四五六七八九]{3}(?=\\s?年)")
_ZEROS = str.maketrans("0OoОо○", "〇〇〇〇〇〇")
_NARROW_MARK = re.compile("(?:(?<=[\u4e00-\u9fff》”])|(?<=[\u4e00-\u9fff][)〕]))[,;](?!\\d)")
_WIDE_MARKS = {",": "，", ";": "；"}
_CHINESE = re.compile("[\u4e00-\u9fff]")
_LATIN = re.compile("[A-Za-z]{2,}")
_CORNERED_NAME = (
    "要点|办法|规定|注意事项|法|标准|准则|规则|细则|条例|规范|原则|须知|基准|规程|纲要|程序|守则|指引"
    "|手册|规约|通则|规例|章程"
)
_CORNERED = re.compile(
    f"「([^「」《》\\n]{{2,60}}(?:{_CORNERED_NAME})(?:\\([^「」()]{{1,12}}\\))?)」"
    "|(?<=[为名正定止布告改])「([^「」《》\\n]{4,60})」(?=的?(?:通函|指引|文件|公告|通告|函|手册|备考)|第"
    "|草案|部分|，?并自|,?并自|[。\\n]|$)"
)
_LINE = re.compile(r"[^\n]+")
_CHINESE_END = re.compile(r"[。！？!?]+[”’」』)》\"']*")
_FIRST_SIGN, _MAX_SIGNS = 0x100000, 0xFFFD
_MONTHS = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun"
    r"|Jul|Aug"
    r"|Sept?|Oct|Nov|Dec)"
)
_MONTH_FIRST = re.compile(rf"\b{_MONTHS}\.? \d{{1,2}}, 20\d\d\b")
_DAY_FIRST = re.compile(rf"\b\d{{1,2}}(?:st|nd|rd|th)? {_MONTHS},? 20\d\d\b")
_FROM_FORCE = re.compile(
    r"(?:施行|实施|生效|执行)(?:之日|后)起?|\b(?:after|of|from|following)\s(?:the\s)?"
    r"(?:commencement|entry\sinto\sforce|effective\sdate|coming\sinto\s(?:force|effect)|rules?\stak)",
    re.IGNORECASE,
)
DAY = "[\U00100000-\U0010fffd]"
"""A pattern for one day of a masked sentence."""
_SIGNS = re.compile(DAY)


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True)
class Sentence:
    """A sentence in folded characters, where it begins, the line that it stands in, and its days."""

    text: str
    start: int
    line: int
    days: tuple[DayMention, ...] = ()

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @cached_property
    def masked(self) -> str:
        """The sentence with one sign for each of its days."""
        pieces, last = [], 0
        for place, day in enumerate(self.days[:_MAX_SIGNS]):
            pieces += [self.text[last : day.start], chr(_FIRST_SIGN + place)]
            last = day.end
        return "".join([*pieces, self.text[last:]])

    def mask_before(self, place: int) -> str:
        """Return the words before a day, by its place among them, with one sign for each earlier day."""
        return self.masked.partition(chr(_FIRST_SIGN + place))[0]

    def get_day(self, sign: str) -> DayMention:
        return self.days[ord(sign) - _FIRST_SIGN]

    def restore(self, masked: str) -> str:
        """Return a piece of the masked sentence with its days as they were written."""
        return masked.translate({_FIRST_SIGN + place: day.written for place, day in enumerate(self.days)})


class DocumentText:
    """The title and text of a document. `quote` gives the words of the original for a span of the folded text."""

    def __init__(self, title: str, text: str, *, published_on: dt.date | None = None) -> None:
        self.original_title = " ".join(title.split())
        self.original = text.replace("\r\n", "\n").replace("\r", "\n")[:MAX_CHARS]
        self.title = _mark_titles(fold(self.original_title))
        self.folded = _mark_titles(fold(self.original))
        self.published_on = published_on
        self.is_chinese = is_chinese(self.title + self.folded[:4000])

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The lines that are not empty, without the space around them."""
        lines = []
        for found in _LINE.finditer(self.folded):
            bare = found[0].strip()
            if bare:
                lines.append(Line(bare, found.start() + found[0].index(bare)))
        return tuple(lines)

    @cached_property
    def date_order(self) -> DateOrder | None:
        """The order of its numeric dates: month first where it writes June 30, 2026, day first for 30 June 2026."""
        if settled := detect_order(self.folded):
            return settled
        month_first, day_first = len(_MONTH_FIRST.findall(self.folded)), len(_DAY_FIRST.findall(self.folded))
        if bool(month_first) == bool(day_first):
            return None
        return "mdy" if month_first else "dmy"

    @cached_property
    def counts_from_force(self) -> bool:
        """Whether it counts days from the one on which it is in force."""
        return bool(_FROM_FORCE.search(self.folded))

    def quote(self, start: int, end: int) -> str:
        return self.original[start:end].strip()

    def read_sentences(self, base: DayBase) -> list[Sentence]:
        """Return the sentences with their days; those that count from publication count from `base`."""
        order = None if self.is_chinese else self.date_order
        mentions = find_day_mentions(self.folded, base, is_chinese=self.is_chinese, order=order)
        starts = [mention.start for mention in mentions]
        return [
            Sentence(text, start, line, _shift(mentions, starts, start, start + len(text)))
            for text, start, line in self._iter_sentences()
        ]

    def _iter_sentences(self) -> Iterator[tuple[str, int, int]]:
        for number, line in enumerate(self.lines):
            at = 0
            for sentence in _split_chinese(line.text) if self.is_chinese else split_sentences(line.text):
                at = line.text.index(sentence, at)
                yield sentence, line.start + at, number
                at += len(sentence)


def _shift(mentions: Sequence[DayMention], starts: Sequence[int], start: int, end: int) -> tuple[DayMention, ...]:
    first, last = bisect_left(starts, start), bisect_left(starts, end)
    return tuple(mention.shift(-start) for mention in mentions[first:last] if mention.end <= end)


def _split_chinese(line: str) -> Iterator[str]:
    start = 0
    for found in _CHINESE_END.finditer(line):
        if sentence := line[start : found.end()].strip():
            yield sentence
        start = found.end()
    if rest := line[start:].strip():
        yield rest


def _mark_titles(text: str) -> str:
    """Return a text with 《》 around the names of rules that stand in 「」, as bodies of Taiwan write them."""
    return _CORNERED.sub(lambda found: f"《{found[1] or found[2]}》", text)


def fold(text: str) -> str:
    """Return the text in simplified characters, plain digits and narrow brackets; each character keeps its place.

    Chinese commas are wide, and the zeros of a year in words (二00六, 二OO六) are those of Chinese.
    """
    folded = _SIGNS.sub(" ", simplify(fold_digits(text)).translate(_FOLDED))
    widened = _NARROW_MARK.sub(lambda mark: _WIDE_MARKS[mark[0]], folded)
    return _YEAR_IN_WORDS.sub(lambda year: year[0].translate(_ZEROS), widened)


def is_chinese(text: str) -> bool:
    """Whether a text has more Chinese characters than a quarter of its Latin words."""
    return 4 * len(_CHINESE.findall(text)) > len(_LATIN.findall(text))
