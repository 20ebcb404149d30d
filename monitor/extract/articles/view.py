"""A page as the reader of one article sees it: what is around its headline and what is beside the article."""

import datetime as dt
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from monitor.dates import DateOrder, find_dates, find_days
from monitor.extract.articles.labels import Label, LabelledValue, find_label_before
from monitor.extract.articles.title import normalize_title
from monitor.extract.html import Element, Outline, measure_width

_ASIDE_NAMES = re.compile(
    r"(?:^|[\s_-])(?:related|sidebar|side|comments?|footer|nav|menu|recommend\w*|hot|rank\w*|latest|popular|"
    r"widget|teaser|trending|more)(?=$|[\s_-])"
)
# The foot of the article itself, where blogs say who wrote it and when.
_OWN_FOOTER = re.compile(r"(?:^|[\s_-])(?:post|entry|article|asset|story|content|single)[_-]?footer(?=$|[\s_-])")
_HEADLINE_TAGS = frozenset({"h1", "h2", "h3", "h4", "h5", "div", "p", "td", "span", "strong"})

_NOT_POSTED_WORDS = re.compile(
    r"copyright|©|版权|版權|备案|"
    r"updated|modified|last edit|^\W*comments?\b|(?:latest|last) comment|成文|生效|截止|更新|수정|업데이트|"
    r"aktualisier|aktualiz|mis[e]? à jour|actualis|actualiz|atualizad|aggiornat|bijgewerkt|gewijzigd|oppdatert|"
    r"opdateret|uppdaterad|uppfært|päivitetty|muokattu|frissít|módosít|изменен|обновлен|оновлен|güncelle|ενημερώ|"
    r"cập nhật|diperbarui|อัปเดต|แก้ไข|تحديث|עודכן",
    re.IGNORECASE,
)

# 会议时间：, 公示期： and the like, but not what names the posting in other words.
_OTHER_DATE_LABEL = re.compile(r"([\u4e00-\u9fff]{2,8})(?:时间|時間|日期|期限?)\s*[:：]\s*$")
_POSTING_WORDS = re.compile(
    r"发布|發布|發佈|发表|發表|发文|发稿|公开|公開|公布|公告|刊|登载|录入|添加|上传|上網|上网|信息|创建|建立|编辑|提交|张贴|張貼|文章|新闻|稿件"
)
_RANGE_SEPARATOR = re.compile(r"[日号號일]?\s*(?:至|到|[-–—~～]+|to|until|bis|au|al?)\s*", re.IGNORECASE)
# Up to or from that day: 2025年12月31日前取得许可证, 自2026年1月1日起施行.
_DATE_BOUND = re.compile(r"\s?(?:[之以]?[前后後]|起|止|为止|至今|まで|까지|부터)")
# The clock that many sites show over every page.
_TODAY_LABEL = re.compile(
    r"今天是?|今日是|现在是|当前(?:时间|日期)|오늘은?|today(?: is)?|heute ist|aujourd.hui|сегодня", re.IGNORECASE
)
_CLOCK = re.compile(
    r"[日일\s,T|-]*\d{1,2}\s*[:.時时시]\s*\d\d(?:\s*[:分분]\s*\d{0,2})?\s*(?:[ap]\.?m\.?)?", re.IGNORECASE
)
_NUMBER = re.compile(r"[\d二]")
_MIN_SENTENCE_CHARS = 40
_MAX_WORD_CHARS = 20
_MAX_SIGNATURE_CHARS = 60
_MIN_TITLE_WIDTH = 20
_MAX_ROW_TEXTS = 12
_ROW_TAGS = frozenset({"li", "tr", "dd"})
_WEEKDAY = re.compile(
    r"星期|周[一二三四五六日]|曜日|요일|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.IGNORECASE
)


@dataclass(eq=False)
class ArticleView:
    """A page as the reader of the article called `title` sees it. `today` and `order` bound and settle its dates."""

    page: Outline
    title: str
    today: dt.date
    order: DateOrder | None
    labelled: Sequence[LabelledValue] = field(default=())

    @cached_property
    def body_starts(self) -> list[int]:
        """Indexes of the texts behind the headline: of its h1 first, then of each place where the page repeats it."""
        found: dict[int, int] = {}
        for element in self._headlines:
            if not self.aside_flags[element.index]:
                found[element.text_end] = min(found.get(element.text_end, 1), 0 if element.tag == "h1" else 1)
        return sorted(found, key=lambda index: (found[index], index))

    def is_aside(self, index: int) -> bool:
        return self.aside_flags[self.page.text_owner[index]]

    def may_be_posting_date(self, index: int, start: int) -> bool:
        """Whether a text has a number and may be the date of posting by its place and by the label before it.

        The signature under the sentences that begin at `start` is not.
        """
        text = self.page.texts[index]
        if not _NUMBER.search(text, 0, 300) or self.is_aside(index):
            return False
        before = self.page.texts[index - 1].strip() if index else ""
        follows_change_label = len(before) <= _MAX_WORD_CHARS and _NOT_POSTED_WORDS.search(before)
        if follows_change_label or find_label_before(self.page, index) is Label.MADE:
            return False
        if self.is_in_teaser_row(index, _ROW_TAGS) or self._is_clock(index):
            return False
        if not _is_signature(text):
            return True
        return self._last_sentences[index] < start

    @cached_property
    def _last_sentences(self) -> list[int]:
        """The index of the last sentence above each text, -1 where there is none."""
        long = (index if len(text) >= _MIN_SENTENCE_CHARS else -1 for index, text in enumerate(self.page.texts))
        return list(accumulate(long, max, initial=-1))

    def is_in_teaser_row(self, index: int, blocks: frozenset[str]) -> bool:
        """Whether a text shares one of these blocks with a link to another article, whose date it then is."""
        block = self.page.elements[self.page.text_owner[index]].closest(blocks)
        if block is None or block.text_end - block.text_start > _MAX_ROW_TEXTS:
            return False
        first, last = (bisect_left(self._other_article_links, place) for place in (block.index, block.end))
        return first < last

    @cached_property
    def _other_article_links(self) -> list[int]:
        """The indexes of the elements that link to other articles, with a title as their text."""
        title = normalize_title(self.title)
        return [
            anchor.element.index
            for anchor in self.page.anchors
            if measure_width(anchor.text) >= _MIN_TITLE_WIDTH and normalize_title(anchor.text) != title
        ]

    def _is_clock(self, index: int) -> bool:
        """Whether a text above the headline shows today's date with its weekday."""
        if index >= (self._ordered_starts[0] if self._ordered_starts else 0) or not _WEEKDAY.search(
            self.page.texts[index]
        ):
            return False
        matches = find_days(self.page.texts[index], self.today, order=self.order)
        return any(abs(match.date - self.today) <= dt.timedelta(days=1) for match in matches)

    def find_posted_dates(self, text: str) -> Iterator[tuple[dt.date, int]]:
        """Yield the dates of a text with a year that no words give to a change or to making, and the length of each."""
        matches = find_days(text, self.today, order=self.order)
        starts = [*(match.start for match in matches), len(text)][1:]
        end, is_range = 0, False
        for match, following in zip(matches, starts, strict=True):
            clock = _CLOCK.match(text, match.end)
            before, end = text[end : match.start], clock.end() if clock else match.end
            after, was_range = text[end:following], is_range
            is_range = following < len(text) and _RANGE_SEPARATOR.fullmatch(after) is not None
            if not match.has_year or is_range or was_range or _DATE_BOUND.match(after):
                continue
            label = _OTHER_DATE_LABEL.search(before)
            is_other_date = label is not None and not _POSTING_WORDS.search(label[1])
            if _TODAY_LABEL.search(before) or is_other_date or _NOT_POSTED_WORDS.search(before):
                continue
            if not _NOT_POSTED_WORDS.match(after.lstrip(" (（,")):
                yield match.date, end - match.start

    def is_in_own_article(self, element: Element) -> bool:
        """Whether an element lies in the `article` element that holds the headline, and in no comment there."""
        above = element.parent.iter_ancestors() if element.parent else ()
        node = next((node for node in above if node.tag == "article" or "comment" in node.class_and_id), None)
        return node is not None and node.tag == "article" and self._holds_headline(node)

    def is_in_other_article(self, element: Element) -> bool:
        """Whether an element lies in an `article` element, and the headline in another one: that is a teaser."""
        article = element.parent.closest(("article",)) if element.parent else None
        return article is not None and self._is_in_article and not self._holds_headline(article)

    def _holds_headline(self, element: Element) -> bool:
        place = bisect_right(self._ordered_starts, element.text_start)
        return place < len(self._ordered_starts) and self._ordered_starts[place] <= element.text_end

    @cached_property
    def _ordered_starts(self) -> list[int]:
        return sorted(self.body_starts)

    @cached_property
    def _is_in_article(self) -> bool:
        return any(element.tag == "article" and self._holds_headline(element) for element in self.page.elements)

    @cached_property
    def _headlines(self) -> list[Element]:
        """The elements that contain the title and nothing else."""
        folded = normalize_title(self.title)
        return [element for element in self.page.elements if _is_headline(self.page, element, folded)]

    @cached_property
    def aside_flags(self) -> list[bool]:
        """For each element whether it is beside the article.

        An element with the headline is not, if the headline is nowhere else; without a headline on the page, neither
        is an element with a third of the page's texts, whatever its name.
        """
        flags = _flag_asides(self.page, (), keeps_large=not self._headlines)
        if self._headlines and all(flags[element.index] for element in self._headlines):
            around = {node.index for headline in self._headlines for node in headline.iter_ancestors()}
            flags = _flag_asides(self.page, around, keeps_large=True)
        return flags


def _is_signature(text: str) -> bool:
    """Whether a line is a day in words alone: under a Chinese document it is the day on which it was signed."""
    if len(text) > _MAX_SIGNATURE_CHARS:
        return False
    dates = find_dates(text)
    is_chinese_day = len(dates) == 1 and dates[0].form == "chinese"
    return is_chinese_day and not text.replace(dates[0].written, "", 1).strip(" （()）\n")


def is_not_posting_date(text: str) -> bool:
    """Whether a text says that its date is one of change, making or coming into force."""
    return _NOT_POSTED_WORDS.search(text) is not None


def _is_headline(page: Outline, element: Element, folded: str) -> bool:
    if len(folded) < 3 or element.tag not in _HEADLINE_TAGS or not 0 < element.text_end - element.text_start <= 6:
        return False
    raw = "".join(page.texts[element.text_start : element.text_end])
    if len(raw) < 0.5 * len(folded) or len(raw) >= 600:
        return False
    text = normalize_title(raw)
    if text == folded:
        return True
    is_of_a_length = min(len(text), len(folded)) > 0.5 * max(len(text), len(folded))
    return element.tag in ("h1", "h2") and is_of_a_length and (text in folded or folded in text)


def _flag_asides(page: Outline, own: Collection[int], *, keeps_large: bool) -> list[bool]:
    """Return for each element whether it is beside the article; the elements `own` are not."""
    flags: list[bool] = []
    for element in page.elements:
        parent = element.parent
        if element.index in own or (keeps_large and 3 * (element.text_end - element.text_start) >= len(page.texts)):
            flags.append(False)
        else:
            flags.append((parent is not None and flags[parent.index]) or _is_aside_element(element))
    return flags


def _is_aside_element(element: Element) -> bool:
    if element.tag == "footer":
        return not (_OWN_FOOTER.search(element.class_and_id) or element.closest(("article",)))
    if element.tag in ("nav", "aside", "blockquote", "body"):
        return element.tag != "body"
    return _ASIDE_NAMES.search(_OWN_FOOTER.sub(" ", element.class_and_id)) is not None
