"""A large archive of made-up items: announcements of 1,500 characters in Chinese and English, always the same ones.

A text is put together from a stock of paragraphs, whose terms are cut once; so a million of them are made in minutes.
Which words a paragraph uses follows Zipf's law: a few stand nearly everywhere, most are rare.
"""

import datetime as dt
import itertools
import random
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from monitor.domain.terms import terms_of
from monitor.domain.words import ItemType
from monitor.store.indexing import IN_TITLE

TEXT_CHARS = 1500
SOURCES = 1000
_PARAGRAPHS = 6000
_PARAGRAPH_CHARS = 150
_WORDS = 4000
_RARE = 100_000
_DAYS = 1500
_SUBJECTS = ("光伏", "风电", "储能", "碳市场", "电价", "氢能", "煤炭", "核电", "电网", "水利")
_CHARACTERS = (
    "能源电力市场监管项目管理办法通知公告印发实施意见方案规定标准建设发展改革委员会国家省市县区企业投资价格收费服务安全生产环境保护节约用水"
    "土地资源交通运输财政税务金融统计农业工业信息技术教育卫生社会保障人力就业住房城乡规划审批许可备案调查监督检查评估考核奖励处罚科学研究"
)
_SYLLABLES = ("ba", "con", "der", "en", "fi", "gas", "in", "ka", "li", "mar", "no", "per", "po", "ra", "sto", "tion")
_ENGLISH = ("market", "carbon", "energy", "policy", "notice", "storage", "power", "grid", "price", "the", "of", "and")
_SHARE_ENGLISH = 0.2
_SHARE_DATED = 0.9


@dataclass(frozen=True)
class Sample:
    """One item: what stands in its columns, its text, and all terms of both in a line."""

    number: int
    source: int
    section: str
    type: ItemType
    title: str
    day: dt.date
    has_date: bool
    first_seen: dt.datetime
    language: str
    document_number: str | None
    summary: str
    text: str
    terms: str


class Stock:
    """The words and paragraphs that items are made of; of the rarest words, each item has one."""

    def __init__(self) -> None:
        chance = random.Random(7)  # noqa: S311 -- nothing is secret here
        pairs = ["".join(pair) for pair in itertools.permutations(_CHARACTERS, 2)]
        made = ["".join(chance.choices(_SYLLABLES, k=3)) for _ in range(2 * _WORDS)]
        self.chinese = [*_SUBJECTS, *chance.sample(list(dict.fromkeys(pairs)), _WORDS)]
        self.english = list(dict.fromkeys([*_ENGLISH, *made]))[:_WORDS]
        self.rare_chinese = ["".join(map(chr, chance.choices(range(0x5000, 0x9000), k=2))) for _ in range(_RARE)]
        self.rare_english = ["".join(chance.choices(string.ascii_lowercase, k=9)) for _ in range(_RARE)]
        self._chinese = [_paragraph(chance, self.chinese, "", "，。", "一、") for _ in range(_PARAGRAPHS)]
        self._english = [_paragraph(chance, self.english, " ", ";.", "注：") for _ in range(_PARAGRAPHS)]

    def phrase(self, chance: random.Random, *, is_english: bool) -> str:
        """Five characters or two words as they stand side by side in some texts."""
        text, _ = chance.choice(self._english if is_english else self._chinese)
        if is_english:
            words = text[2:].split(";")[chance.randrange(3)].split()
            at = chance.randrange(4)
            return " ".join(words[at : at + 2])
        return text[2:].split("，")[chance.randrange(3)][chance.randrange(4) :][:5]

    def samples(self, numbers: range, *, today: dt.date, of: int) -> Iterator[Sample]:
        """The items of these numbers, of `of` in all: the higher the number, the later it was first seen."""
        return (self._sample(number, today, of) for number in numbers)

    def _sample(self, number: int, today: dt.date, of: int) -> Sample:
        chance = random.Random(number)  # noqa: S311 -- as above
        is_english = chance.random() < _SHARE_ENGLISH
        seen = today - dt.timedelta(days=_DAYS - 1 - number * _DAYS // of)
        day = seen - dt.timedelta(days=chance.choice((0, 0, 0, 0, 0, 1, 2, 30, 400)))
        title, last = self._words(chance, number, is_english=is_english)
        stock = self._english if is_english else self._chinese
        paragraphs = [*chance.choices(stock, k=TEXT_CHARS // _PARAGRAPH_CHARS), (last, terms_of(last))]
        in_title = terms_of(title)
        terms = in_title.union(*(some for _, some in paragraphs), (IN_TITLE + term for term in in_title))
        return Sample(
            number=number,
            source=number % SOURCES,
            section=f"栏目{number % 7}",
            type=chance.choice(list(ItemType)),
            title=title,
            day=day,
            has_date=day != seen or chance.random() < _SHARE_DATED,
            first_seen=dt.datetime.combine(seen, dt.time(8), dt.UTC),
            language="en" if is_english else "zh",
            document_number=f"示发〔{day.year}〕{number}号" if number % 5 == 0 else None,
            summary=paragraphs[0][0],
            text="\n".join(text for text, _ in paragraphs),
            terms=" ".join(sorted(terms)),
        )

    def _words(self, chance: random.Random, number: int, *, is_english: bool) -> tuple[str, str]:
        """The title of an item, and the last sentence of its text, which has a rare word."""
        if is_english:
            words = " ".join(_drawn(chance, self.english, 3))
            return f"Notice {number} on {words}", f"另见 {chance.choice(self.rare_english)}."
        one, other = _drawn(chance, self.chinese, 2)
        return f"关于{one}与{other}有关事项的通知（{number}）", f"另见{chance.choice(self.rare_chinese)}。"


def _paragraph(
    chance: random.Random, words: Sequence[str], between: str, signs: str, text: str
) -> tuple[str, frozenset[str]]:
    """A paragraph that begins as given, so that no word of it stands beside one of the paragraph before."""
    while len(text) < _PARAGRAPH_CHARS - 1:
        text += between.join(_drawn(chance, words, 6)) + signs[0]
    text = text[: _PARAGRAPH_CHARS - 1] + signs[1]
    return text, frozenset(terms_of(text))


def _drawn(chance: random.Random, words: Sequence[str], count: int) -> list[str]:
    return chance.choices(words, cum_weights=_zipf(len(words)), k=count)


@cache
def _zipf(count: int) -> list[float]:
    return list(itertools.accumulate(1 / rank for rank in range(1, count + 1)))
