"""Finds the day on which an article was published among all days on its page, by measures that a model weighs."""

import datetime as dt
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from math import log2

from monitor.dates import DateMatch, DateOrder, date_in_url, detect_order, find_days, infer_order
from monitor.extract.articles.labels import Label, LabelledValue
from monitor.extract.articles.lines import PageLines, normalize_title
from monitor.extract.articles.text import select_lines
from monitor.extract.html import Element, collapse_whitespace, count_wide_chars, measure_width
from monitor.extract.trees import load_scorer
from monitor.vocabulary import DateSource


class DayPlace(IntEnum):
    """Where a page states a day."""

    META = 0
    VAGUE_META = 1
    CHANGE = 2
    JSON_LD = 3
    TIME = 4
    LINE = 5
    URL = 6
    SCRIPT = 7
    TITLE = 8


# For texts in lower case, which is faster than ignoring the case.
_POSTED = re.compile(
    r"掲載日|公開日|配信|入力|登録日|作成日|등록일|입력|작성일|게시일|发布于|發布於|发布|發布|發佈|发表|發表|发稿|公开|公開|公布|刊登|登载|"
    r"录入|上传|张贴|張貼|信息时间|"
    r"\bpublished\b|\bposted\b|\brelease|\bpublication date\b|\bdate issued\b|\bissued\b|"
    r"veröffentlich(?:t|ung)|erstellt|pressemitteilung|publiée?|publicado|pubblicato|"
    r"gepubliceerd|publisert|опубликовано|mis en ligne|"
    r"yay[ıi][mn]la(?:n|ma)|eklenme tarihi|opublikowan|data publikacji|publikováno|zveřejněno|publicerad|"
    r"offentliggjort|julkaistu|közzét[eé]|δημοσιε[ύυ]|опубліковано|objavljen|publicat|diterbitkan|"
    r"dipublikasikan|ngày đăng|xuất bản|تاريخ النشر|نشر في|نشر بتاريخ|פורסם|เผยแพร่|"
    r"\b(?:artikel|beitrag|eintrag)\s+wurde\b|\b(?:article|entry|post)\s+was\s+(?:written|filed)\b"
)
_NOT_POSTED = re.compile(
    r"copyright|©|版权|版權|备案|updated|modified|last edit|^\W*comments?\b|(?:latest|last) comment|成文|生效|截止|"
    r"更新|수정|업데이트|aktualisier|aktualiz|mis[e]? à jour|actualis|actualiz|atualizad|aggiornat|bijgewerkt|"
    r"gewijzigd|oppdatert|opdateret|uppdaterad|uppfært|päivitetty|muokattu|frissít|módosít|изменен|обновлен|оновлен|"
    r"güncelle|ενημερώ|cập nhật|diperbarui|อัปเดต|แก้ไข|تحديث|עודכן|deadline|effective|closing|expires?\b|due\b"
)
# 会议时间：, 公示期： and the like, but not what names the posting in other words.
_OTHER_LABEL = re.compile(r"([\u4e00-\u9fff]{2,8})(?:时间|時間|日期|期限?)\s*[:：]\s*$")
_POSTING_WORDS = re.compile(
    r"发布|發布|發佈|发表|發表|发文|发稿|公开|公開|公布|公告|刊|登载|录入|添加|上传|上網|上网|信息|创建|建立|编辑|提交|张贴|張貼|文章|新闻|稿件|更新"
)
_RANGE = re.compile(r"[日号號일]?\s*(?:至|到|[-–—~～]+|to|until|bis|au|al?)\s*", re.IGNORECASE)
# Up to or from that day: 2025年12月31日前取得许可证, 自2026年1月1日起施行.
_BOUND = re.compile(r"\s?(?:[之以]?[前后後]|起|止|为止|至今|まで|까지|부터)")
_TODAY = re.compile(
    r"今天是?|今日是|现在是|当前(?:时间|日期)|오늘은?|today(?: is)?|heute ist|aujourd.hui|сегодня", re.IGNORECASE
)
_WEEKDAY = re.compile(
    r"星期|周[一二三四五六日]|曜日|요일|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.IGNORECASE
)
_CLOCK = re.compile(
    r"[日일\s,T|-]*\d{1,2}\s*[:.時时시]\s*\d\d(?:\s*[:分분]\s*\d{0,2})?\s*(?:[ap]\.?m\.?)?", re.IGNORECASE
)
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"[\d二]")
_TIMESTAMP = re.compile(r"\d{12}(?:\d\d)?")
_PUBLISHED_NAME = re.compile(
    r"pub(?:lish(?:ed)?|lication)?[:._-]?(?:date|time|at|on)$|date[._-]?(?:published|issued)|issued$|"
    r"article[:._]published|online_date|displaydate|sailthru\.date|firstpublished|create_at|ptime$|articledate|"
    r"regdate$|date\.available"
)
_VAGUE_NAME = re.compile(
    r"^(?:dc\.|dcterms[.:]|dc:)?(?:date(?:[._]?created)?|created?(?:date)?)$|createdate|datecreated"
)
_CHANGED_NAME = re.compile(r"modif|update")
_JSON_LD_KEYS = ("datePublished", "dateCreated", "uploadDate")
# What the scripts of a page that they render write about it.
_SCRIPT_DATE = re.compile(
    r"\"(?=[dfp])(?:date_?published|date_?created|(?:first_?)?publish(?:ed)?_?(?:at|on|date|time)|pub_?(?:date|time))\\?\""
    r"\s*:\s*\\?\"([^\"\\]{8,40})\\?\"",
    re.IGNORECASE,
)
_MAX_SCRIPT_CONTEXT_CHARS, _MIN_TITLE_WIDTH = 3_000, 20
_DASHES = re.compile(r"\s[-–—|·»]\s")
_MAX_LINE_CHARS, _MAX_LABEL_CHARS, _MAX_TODAY_CHARS = 300, 24, 12
_FAR = 60
_MAX_FOOT_LINES = 3
_ONE_DAY = dt.timedelta(days=1)
# Under a Chinese document a day alone is the one on which it was signed.
_SIGNATURE = re.compile(
    r"[\s（(]*[\d〇○零一二三四五六七八九十]{2,4}\s*年[\s\d一二三四五六七八九十]{1,4}月[\s\d一二三四五六七八九十]{1,4}日[\s）)]*"
)

MIN_SURE = 0.3
"""A day is no answer if it is less likely to be the one of publication."""

DAY_FEATURES = (
    *("place", "in_meta", "in_vague", "in_change", "in_json_ld", "in_time", "lines", "in_url", "in_script", "in_title"),
    *("days", "rank_from_last", "age", "near_other", "posted_elsewhere"),
    *("share", "line_width", "line_days", "link_share", "posted", "label", "alone_before", "clock", "kind_days"),
    *("score", "score_before", "score_after", "since_title", "since_start", "since_end", "depth", "block_links"),
    *("children", "nearest", "in_order", "line_place", "row_links"),
)


@dataclass(frozen=True, slots=True)
class DateMention:
    """A place where a page states a day; `line` is that of a visible one, `before` and `after` what stands around."""

    day: dt.date
    place: DayPlace
    line: int = -1
    written: str = ""
    before: str = ""
    after: str = ""
    length: int = 0


@dataclass(eq=False)
class DayFinder:
    """The days on a page, for the article called `title`.

    `scores` say of each line how likely it belongs to the main text. Days that rows of the page show (`listed`)
    are theirs; on a list page (`is_list`) only what its head states counts.
    """

    view: PageLines
    title: str
    today: dt.date
    scores: Sequence[float]
    labelled: Sequence[LabelledValue] = ()
    html_text: str = ""
    listed: Collection[dt.date | None] = ()
    is_list: bool = False

    def find(self) -> tuple[dt.date | None, DateSource]:
        """Return the day of publication and where it was read; (None, unknown) where no day is likely to be it."""
        mentions = self.mentions
        if not mentions:
            return None, DateSource.UNKNOWN
        rated = zip(load_scorer("article_date").score(self.measure(mentions)), mentions, strict=True)
        posted = (entry for entry in rated if entry[1].place is not DayPlace.CHANGE)
        score, mention = max(posted, key=lambda entry: entry[0], default=(0.0, mentions[0]))
        if score < MIN_SURE:
            return None, DateSource.UNKNOWN
        is_shown = any(other.day == mention.day and other.place is not DayPlace.URL for other in mentions)
        return mention.day, DateSource.PAGE if is_shown else DateSource.URL

    @cached_property
    def order(self) -> DateOrder | None:
        head = self.view.page.full_text[:2_000]
        # In East Asia a year of two digits comes first too.
        if 5 * count_wide_chars(head) > len(head):
            return "ymd"
        page = self.view.page
        return detect_order(page.full_text[:20_000]) or infer_order(page.url, page.language)

    @cached_property
    def _span(self) -> tuple[int, int]:
        """The first and the last line of the main text."""
        lines = select_lines(self.scores) or [0]
        return lines[0], lines[-1]

    @cached_property
    def mentions(self) -> list[DateMention]:
        """All days with a year that the page states, in no words as those of something else."""
        if self.is_list:
            return [mention for mention in self._in_head if mention.place is not DayPlace.TITLE]
        shown = (*self._list_in_time_elements(), *self._list_in_lines(), *self._list_completed())
        return [
            *self._in_head,
            *(mention for mention in shown if mention.day not in self.listed and not self._is_in_other(mention.line)),
            *self._list_in_urls(),
            *self._list_in_scripts(),
        ]

    @cached_property
    def _in_head(self) -> list[DateMention]:
        return list(self._list_in_head())

    def _is_in_other(self, place: int) -> bool:
        """Whether a line is a quotation, or lies in an `article` element that the title is not in, but in another."""
        own = self.view.lines[self._title_line].block.closest(("article",)) if self._title_line >= 0 else None
        block = self.view.lines[place].block
        article = block.closest(("article",))
        is_quotation = block.closest(("blockquote",)) is not None
        return is_quotation or (own is not None and article is not None and article not in own.iter_ancestors())

    def _parse(self, text: str, order: DateOrder | None) -> dt.date | None:
        """Return the first day with a year in a short text; 20260203081530 is a day with its time."""
        if not _NUMBER.search(text):
            return None
        text = text[:8] if _TIMESTAMP.fullmatch(text) else text[:80]
        return next((match.date for match in find_days(text, self.today, order=order) if match.has_year), None)

    def _list_in_head(self) -> Iterator[DateMention]:
        for name, value in self.view.metadata.meta.items():
            if _CHANGED_NAME.search(name):
                place = DayPlace.CHANGE
            elif _PUBLISHED_NAME.search(name):
                place = DayPlace.META
            elif _VAGUE_NAME.search(name):
                place = DayPlace.VAGUE_META
            else:
                continue
            if day := self._parse(value, self.order):
                yield DateMention(day, place, written=value)
        for key in (*_JSON_LD_KEYS, "dateModified"):
            value = self.view.metadata.get_json_ld_text(key) or ""
            if day := self._parse(value, None):
                yield DateMention(day, DayPlace.CHANGE if key == "dateModified" else DayPlace.JSON_LD, written=value)
        for part in _DASHES.split(self.view.metadata.title_element):
            for match in find_days(part, self.today, order=self.order) if _DIGIT.search(part) else ():
                if match.has_year and match.end - match.start == len(part.strip()):
                    yield DateMention(match.date, DayPlace.TITLE)

    def _list_in_time_elements(self) -> Iterator[DateMention]:
        """Yield the days of `time` elements and their like; a later day right behind an earlier one is a change."""
        page = self.view.page
        last: tuple[Element | None, int, dt.date] | None = None
        for element in page.elements:
            itemprop = (element.attributes.get("itemprop") or "").lower() if element.attributes else ""
            if element.tag not in ("time", "abbr") and itemprop not in ("datepublished", "datecreated", "datemodified"):
                continue
            shown = page.get_text(element, 200)[:200]
            named = [element.attributes.get(name) or "" for name in ("datetime", "content", "title")]
            value = next((value for value in named if _DIGIT.search(value)), shown)
            if day := self._parse(value, self.order):
                line = self.view.line_of_text[element.text_start]
                before = self._get_words_before(line, shown)
                is_behind = last is not None and last[:2] == (element.parent, element.text_start) and last[2] < day
                last = (element.parent, element.text_end, day)
                is_change = itemprop == "datemodified" or _NOT_POSTED.search(f"{before} {shown}".lower())
                place = DayPlace.CHANGE if is_change or is_behind else DayPlace.TIME
                yield DateMention(day, place, min(line, len(self.view.lines) - 1), value, before, "", len(shown))

    def _get_words_before(self, place: int, shown: str) -> str:
        if place >= len(self.view.lines):
            return ""
        before = self.view.lines[place].text.partition(shown or "\n")[0]
        return before[-_MAX_LABEL_CHARS:] or self._get_line_above(place)

    def _get_line_above(self, place: int) -> str:
        above = self.view.lines[place - 1].text if place else ""
        return above if measure_width(above) <= _MAX_LABEL_CHARS else ""

    def _list_in_lines(self) -> Iterator[DateMention]:
        for place, line in enumerate(self.view.lines):
            text = line.text[:_MAX_LINE_CHARS]
            if not _NUMBER.search(text) or (len(line.text) > _MAX_LINE_CHARS and not _DIGIT.search(text[:80])):
                continue
            matches = find_days(text, self.today, order=self.order)
            yield from self._list_in_line(place, text, matches)

    def _list_in_line(self, place: int, text: str, matches: Sequence[DateMatch]) -> Iterator[DateMention]:
        end, is_range = 0, False
        starts = [*(match.start for match in matches), len(text)][1:]
        for match, following in zip(matches, starts, strict=True):
            clock = _CLOCK.match(text, match.end)
            before, end = text[end : match.start], clock.end() if clock else match.end
            after, was_range = text[end:following], is_range
            is_range = following < len(text) and _RANGE.fullmatch(after) is not None
            if not before.strip(" :：|") and not match.start:
                before = self._get_line_above(place)
            if not match.has_year or is_range or was_range or _BOUND.match(after):
                continue
            label = _OTHER_LABEL.search(self._find_own_words(place, before, text[match.start : match.end]))
            stated = self._labels.get((place, match.date))
            if stated is Label.MADE or (stated not in (Label.POSTED, Label.SENT) and _is_change(before, after)):
                continue
            if place > self._span[0] and place >= self._span[1] - _MAX_FOOT_LINES and _SIGNATURE.fullmatch(text):
                continue
            is_clock = abs(match.date - self.today) <= _ONE_DAY and _WEEKDAY.search(text) and place < self._title_line
            is_other = label is not None and not _POSTING_WORDS.search(label[1])
            if is_clock or is_other or _TODAY.search(before[-_MAX_TODAY_CHARS:]):
                continue
            yield DateMention(
                match.date, DayPlace.LINE, place, clock[0] if clock else "", before, after, end - match.start
            )

    def _list_completed(self) -> Iterator[DateMention]:
        """Yield days after "posted" that are written without a year, in that of a change on the same day and month."""
        changes = [change.day for change in self._in_head if change.place is DayPlace.CHANGE]
        for entry in self.labelled if changes else ():
            for match in find_days(entry.value[:20], self.today) if entry.label is Label.POSTED else ():
                day = next((day for day in changes if (day.month, day.day) == (match.date.month, match.date.day)), None)
                if day is not None and not match.has_year:
                    place = self.view.line_of_text[entry.index]
                    yield DateMention(day, DayPlace.LINE, place, before="发布", length=len(entry.value))

    def _find_own_words(self, place: int, before: str, written: str) -> str:
        """Return what stands before a day in its own piece of a line, or the piece before it."""
        line, last = self.view.lines[place], before
        for piece in map(collapse_whitespace, self.view.page.texts[line.start : line.end]):
            if written in piece:
                return piece.partition(written)[0] or last
            last = piece
        return before

    def _list_in_urls(self) -> Iterator[DateMention]:
        for url in (self.view.page.url, self.view.metadata.get_first("og:url") or ""):
            if url and (day := date_in_url(url, self.today)):
                yield DateMention(day, DayPlace.URL)

    def _list_in_scripts(self) -> Iterator[DateMention]:
        """Yield the one day of publication that the page's scripts write near its title."""
        if measure_width(self.title) < _MIN_TITLE_WIDTH:
            return
        days: set[dt.date] = set()
        for match in _SCRIPT_DATE.finditer(self.html_text):
            # What is around in the same script, as far as one object may reach.
            low = max(0, match.start() - _MAX_SCRIPT_CONTEXT_CHARS)
            before = self.html_text[low : match.start()].rpartition("<script")[2]
            after = self.html_text[match.end() : match.end() + _MAX_SCRIPT_CONTEXT_CHARS].partition("</script")[0]
            if self.title in before + after and (day := self._parse(match[1], None)):
                days.add(day)
        if len(days) == 1:
            yield DateMention(days.pop(), DayPlace.SCRIPT)

    def measure(self, mentions: Sequence[DateMention]) -> list[tuple[float, ...]]:
        """Return the features of each of these mentions, as if the page had no others, in order of `DAY_FEATURES`."""
        places: dict[dt.date, Counter[DayPlace]] = defaultdict(Counter)
        for mention in mentions:
            places[mention.day][mention.place] += 1
        days = sorted(places, reverse=True)
        stated = (DayPlace.META, DayPlace.JSON_LD)
        posted = {m.day for m in mentions if m.place in stated or _POSTED.search(m.before.lower())}
        return [
            (
                mention.place,
                *(float(places[mention.day][place]) for place in DayPlace),
                len(days),
                days.index(mention.day),
                log2(1 + max(0, (self.today - mention.day).days)),
                float(any(abs((mention.day - day).days) == 1 for day in days)),
                float(bool(posted) and mention.day not in posted),
                *(self._measure_line(mention) if mention.line >= 0 else _NO_LINE),
            )
            for mention in mentions
        ]

    def _measure_line(self, mention: DateMention) -> tuple[float, ...]:
        line, place = self.view.lines[mention.line], mention.line
        before = mention.before.lower()[-40:]
        scores = self._padded_scores
        parent = line.block.parent or line.block
        row = line.block.closest(("li", "tr", "dd", "article")) or parent
        width, linked, _ = self.view.measure(parent)
        row_width, row_linked, _ = self.view.measure(row)
        return (
            mention.length / max(1, len(line.text)),
            log2(1 + line.width),
            self._days_of_line[place],
            line.linked / max(1, line.width),
            float(bool(_POSTED.search(before))),
            _LABELS.get(self._labels.get((place, mention.day), Label.OTHER), 0.0),
            float(not before.strip(" :：|")),
            float(":" in mention.written),
            min(_FAR, self._days_of_kind[line.block.kind]),
            *(scores[place + 1], scores[place], scores[place + 2]),
            max(-_FAR, min(_FAR, place - self._title_line)) if self._title_line >= 0 else _FAR + 1,
            max(-_FAR, min(_FAR, place - self._span[0])),
            max(-_FAR, min(_FAR, place - self._span[1])),
            line.block.depth,
            linked / max(1, width),
            min(_FAR, parent.child_count),
            float(place == self._nearest),
            float(place),
            place / len(self.view.lines),
            row_linked / max(1, row_width) if row_width < 1_000 else -1.0,
        )

    @cached_property
    def _padded_scores(self) -> list[float]:
        return [0.0, *self.scores, 0.0]

    @cached_property
    def _labels(self) -> dict[tuple[int, dt.date], Label]:
        """What the labels before days announce, by line and day."""
        found: dict[tuple[int, dt.date], Label] = {}
        for entry in self.labelled:
            # A value in pieces goes on in the next text.
            value = " ".join([entry.value, *self.view.page.texts[entry.index + 1 : entry.index + 2]])
            if entry.label in _LABELS and (day := self._parse(value, self.order)):
                found[self.view.line_of_text[entry.index], day] = entry.label
        return found

    @cached_property
    def _days_of_line(self) -> Counter[int]:
        return Counter(mention.line for mention in self.mentions if mention.place is DayPlace.LINE)

    @cached_property
    def _days_of_kind(self) -> Counter[tuple[str, int]]:
        lines = (self.view.lines[place] for place in self._days_of_line)
        return Counter(line.block.kind for line in lines)

    @cached_property
    def _title_line(self) -> int:
        """The line of the title that is nearest to the main text, an h1 first; -1 where it is nowhere."""
        folded = normalize_title(self.title)
        shown = [
            place
            for place, line in enumerate(self.view.lines)
            if line.width < 600 and len(folded) > 2 and _is_headline(self.view.folded[place], folded)
        ]
        return min(
            shown, key=lambda place: (self.view.lines[place].block.tag != "h1", abs(place - self._span[0])), default=-1
        )

    @cached_property
    def _nearest(self) -> int:
        """The line with a day that is nearest to the title."""
        lines = [place for place in self._days_of_line if place >= 0]
        return min(lines, key=lambda place: abs(place - max(0, self._title_line)), default=-1)


_LABELS = {Label.POSTED: 3.0, Label.SENT: 2.0, Label.SOURCE: 1.0, Label.MADE: -1.0}
_NO_LINE = (0.0,) * 12 + (_FAR + 1.0,) * 3 + (0.0,) * 7


def _is_change(before: str, after: str) -> bool:
    ahead, behind = before.lower(), after.lower().lstrip(" (（,")
    is_posted = _POSTED.search(ahead) is not None
    return _NOT_POSTED.search(ahead) is not None or (not is_posted and _NOT_POSTED.match(behind) is not None)


def _is_headline(text: str, folded: str) -> bool:
    return (
        text == folded
        or (len(text) > 0.5 * len(folded) and text in folded)
        or (folded in text and len(folded) > 0.5 * len(text))
    )
