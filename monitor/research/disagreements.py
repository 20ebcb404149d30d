"""Finds metrics for which sources have different values: the same thing, in the same period, in the same unit."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from monitor.dates import find_dates
from monitor.extract.sentences import split_sentences
from monitor.research.shapes import DisagreeingValue, Disagreement, ResearchNote
from monitor.verify.figures import fold_width, parse_figures
from monitor.verify.prose import extract_words, is_chinese

MAX_DISAGREEMENTS = 12
_MIN_NAME_CHARS, _MAX_NAME_CHARS = 4, 40
_APPROXIMATE_SHARE = Fraction(1, 20)
"""How far a value may be from one that is given as about so much."""

_FIGURE = re.compile(
    r"(?<![\d.,])(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)\s?"
    r"(?P<unit>%|个百分点|[万亿]{0,2}(?:元|美元|欧元|千瓦时|千瓦|吨|平方公里|公里|户|家|人|台|辆|座|项|件|个)|[GMTk]Wh?\b|"
    r"(?:(?:million|billion|trillion)\s)?(?:euros?|dollars?|tonnes?|yuan)\b|(?:million|billion|trillion)\b|per ?cent\b)"
)
_PERIOD = re.compile(
    r"(?P<year>(?:19|20)\d\d)年?度?(?P<part>(?:全年|上半年|下半年|前[一二三]季度|第?[一二三四]季度|前\d{1,2}个月"
    r"|1?\d[-—–~至]1?\d月|\d{1,2}月)?)(?:份|底|末|初)?"
    r"|(?P<lead>(?:first|second) half of|(?:first|second|third|fourth) quarter of|Q[1-4])\s(?P<late>(?:19|20)\d\d)",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"[，,；;。：:、（(]\s*")
_LINK_WORDS = re.compile(
    r"(?:(?:[增升降减]至|分别|已经?|将|约为?|近|超过?|突破|达到?|为|是|至|到|了|有|共计?|合计|不低于|不少于|不超过|至少)+"
    r"|\b(?:of|to|by|at|in|is|was|were|are|about|nearly|over|around|reached|stood|rose|fell|totalled|the|a|an|than|more|up"
    r"|some|had|has|by the end|end)\b|\s)+$",
    re.IGNORECASE,
)
_SCOPE_WORDS = re.compile(
    r"截至|截止|据统计|数据显示|其中|全国|我国|中国|累计|总计|达到|规模|总量|总额|的|\s|\W"
    r"|\b(?:total|overall|national|china's|the|of|in|by|at|end)\b",
    re.IGNORECASE,
)
_LOWER = re.compile(r"(?:超过?|突破|逾|不低于|不少于|至少|more than|over|at least|above)\s?$", re.IGNORECASE)
_UPPER = re.compile(r"(?:不超过|不高于|低于|最多|至多|up to|at most|less than|below)\s?$", re.IGNORECASE)
_ABOUT = re.compile(r"(?:约为?|近|大约|about|nearly|around|some)\s?$", re.IGNORECASE)


@dataclass(frozen=True)
class _Value:
    """A figure of a quote; `key` is what it measures, when, and in which kind of unit."""

    key: tuple[str, str, str]
    name: str
    period: str
    written: str
    amount: Fraction
    scale: Fraction
    decimals: int
    bound: str
    note_index: int
    url: str
    quote: str

    def agrees_with(self, other: "_Value") -> bool:
        """Return whether both can be true: rounded, bounded or approximate values may differ."""
        return self.allows(other) or other.allows(self)

    def allows(self, other: "_Value") -> bool:
        match self.bound:
            case "lower":
                return other.amount >= self.amount
            case "upper":
                return other.amount <= self.amount
            case "about":
                return abs(other.amount - self.amount) <= _APPROXIMATE_SHARE * abs(self.amount)
        return abs(other.amount - self.amount) / self.scale <= Fraction(1, 2 * 10**self.decimals)


def find_disagreements(notes: Sequence[ResearchNote]) -> list[Disagreement]:
    """Return the metrics for which pages have values that cannot all be true, from the quotes of the notes.

    A metric is named by the words before its figure; one that a single page gives several values is left out, for its
    name does not say which is meant.
    """
    groups: dict[tuple[str, str, str], list[_Value]] = {}
    for index, note in enumerate(notes):
        for evidence in note.evidence:
            for value in _iter_values(evidence.quote, index, note.source_url):
                groups.setdefault(value.key, []).append(value)
    found = []
    for values in groups.values():
        against = [(first, second) for first, second in combinations(values, 2) if not first.agrees_with(second)]
        if against and all(first.url != second.url for first, second in against):
            distinct = {(value.url, value.amount): value for value in reversed(values)}
            shown = sorted(distinct.values(), key=lambda value: value.note_index)
            listed = [
                DisagreeingValue(value=value.written, note_index=value.note_index, quote=value.quote) for value in shown
            ]
            found.append(Disagreement(metric=shown[0].name, period=shown[0].period, values=listed))
    return found[:MAX_DISAGREEMENTS]


def _iter_values(quote: str, note_index: int, url: str) -> Iterator[_Value]:
    for sentence in split_sentences(fold_width(quote)):
        for match in _FIGURE.finditer(sentence):
            name, period = _build_name(sentence[: match.start()]), _find_period(sentence, match.start())
            figures = parse_figures(match[0], is_page=True).figures
            core = _fold_name(name)
            if not period or not core or not figures:
                continue
            amount, kind = figures[0].readings[0]
            number = match["number"].replace(",", "")
            if not Fraction(number) or not amount:
                continue
            yield _Value(
                key=(core, _fold_period(period), kind),
                name=name,
                period=period,
                written=match[0],
                amount=amount,
                scale=amount / Fraction(number),
                decimals=len(number.partition(".")[2]),
                bound=_find_bound(sentence, match),
                note_index=note_index,
                url=url,
                quote=quote,
            )


def _build_name(before: str) -> str:
    """Return the clause before a figure without its dates; where it only compares, with the clause before it."""
    undated = _PERIOD.sub("", before)
    for date in reversed(find_dates(undated)):
        undated = undated[: date.start] + undated[date.end :]
    *others, clause = _CLAUSE_END.split(undated)
    name = _LINK_WORDS.sub("", clause).strip()
    if re.search(r"^(?:同比|环比|较|比|增长|下降|占)", name) and others:
        subject = _FIGURE.sub("", others[-1])
        name = f"{_LINK_WORDS.sub('', subject).strip()}{name}"
    name = re.sub(r"^(?:截至|截止|到|据统计)", "", name).strip()
    is_name = _MIN_NAME_CHARS <= len(name) <= _MAX_NAME_CHARS and not re.search(r"\d", name)
    return name if is_name else ""


def _fold_name(name: str) -> str:
    if is_chinese(name):
        return _SCOPE_WORDS.sub("", name)
    return " ".join(sorted(extract_words(re.sub(r"\b(?:total|overall|national)\b", "", name, flags=re.IGNORECASE))))


def _find_period(sentence: str, end: int) -> str:
    """Return the last period before a figure, else the only one of the sentence; '' without one."""
    periods = list(_PERIOD.finditer(sentence))
    before = [period for period in periods if period.end() <= end]
    if before:
        return before[-1][0]
    return periods[0][0] if len(periods) == 1 else ""


def _fold_period(period: str) -> str:
    match = _PERIOD.fullmatch(period)
    if match is None:
        return period
    part = (match["part"] or match["lead"] or "").lower().removeprefix("第").replace("全年", "")
    return f"{match['year'] or match['late']} {re.sub('[-—–~至]', '-', part)}"


def _find_bound(sentence: str, match: re.Match[str]) -> str:
    before, after = sentence[: match.start()], sentence[match.end() :]
    if _UPPER.search(before) or after.startswith(("以下", "以内")):
        return "upper"
    if _LOWER.search(before) or after.startswith("以上"):
        return "lower"
    return "about" if _ABOUT.search(before) or after.startswith("左右") else ""
