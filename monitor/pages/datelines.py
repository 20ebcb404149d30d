"""The days that a page shows its readers beside an article: labelled, in `time` elements, near the headline."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator

from monitor.pages.calendar import Order
from monitor.pages.dates import dates_in_text
from monitor.pages.labels import Label
from monitor.pages.outline import Element, squeeze
from monitor.pages.sight import Sight, is_not_posted

# Of texts in lower case: so it is searched faster than with the flag.
_POSTED_LABEL = re.compile(
    r"掲載日|公開日|配信|入力|登録日|作成日|등록일|입력|작성일|게시일|发布于|發布於|"
    r"\bpublished\b|\bposted\b|\brelease date\b|"
    r"\bpublication date\b|\bdate issued\b|veröffentlich(?:t|ung)|erstellt|publiée?|publicado|pubblicato|"
    r"gepubliceerd|publisert|опубликовано|mis en ligne|"
    r"yay[ıi][mn]la(?:n|ma)|eklenme tarihi|opublikowan|data publikacji|publikováno|zveřejněno|publicerad|"
    r"offentliggjort|julkaistu|közzét[eé]|δημοσιε[ύυ]|опубліковано|objavljen|publicat|diterbitkan|"
    r"dipublikasikan|ngày đăng|xuất bản|تاريخ النشر|نشر في|نشر بتاريخ|פורסם|เผยแพร่|"
    r"\b(?:artikel|beitrag|eintrag)\s+wurde\b|\b(?:article|entry|post)\s+was\s+(?:written|filed)\b"
)
_BYLINE = re.compile(
    r"^\s*(?:von|by|par|por|door|av|af)\s+\S.{0,60}?(?:\b(?:am|on|le|el|op|den)\b|[,|·•–-])", re.IGNORECASE
)
_WEAK_LABEL = re.compile(
    r"(?:^|[\s|【\[])(?:时间|日期|來源|来源|Date|Datum|Fecha|Stand)\s*[】\]]?\s*[:：]", re.IGNORECASE
)
_BARE_LABEL = re.compile(r"^\s*(?:Datum|Date|Fecha|Data|Дата|日期|时间|날짜)\s*[:：]?\s*$", re.IGNORECASE)
_DATE_NAMES = re.compile(
    r"(?:^|[\s_-])\w*(?:date|time|pubtime|publish\w*|posted|meta|byline|info|datum|fecha|source|laiyuan|riqi|"
    r"timestamp|shijian|tarih)\w*(?=$|[\s_-])"
)
_STAMP = re.compile(r"\d{12}(?:\d\d)?")
_HAS_DIGIT = re.compile(r"\d")
_BLOCKS = frozenset({"p", "div", "li", "tr", "dd"})
_NEAR_TEXTS = 14
_LINE_CHARS = 120
_SENTENCE_CHARS = 40
_MOST_SENTENCES = 3
_TEXTS_OVER = 5
_DATE_TEXTS = 4
_LEAST_TITLE = 20


def first_date(text: str, today: dt.date, order: Order | None) -> dt.date | None:
    """The first date that a short text writes with its year; 20260203081530 is one with its time."""
    if _STAMP.fullmatch(text):
        text = text[:8]
    return next((match.date for match in dates_in_text(text[:80], today, order=order) if match.has_year), None)


def day_first_stated(sight: Sight, by_url: dt.date | None, by_title: dt.date | None = None) -> dt.date | None:
    """The day of the strongest statement on the page; the url's day settles which of the dates near the headline.

    `by_title` is the day that the title element says: more than a date that merely stands near the headline.
    """
    return (
        _by_label(sight)
        or _by_time_element(sight)
        or by_title
        or next((day for start in sight.starts[:4] if (day := _near_headline(sight, start, by_url))), None)
        or _by_sentence(sight)
        or (None if by_url else _only_date_line(sight) or _only_label_beside(sight))
    )


def dates_near(sight: Sight, start: int) -> list[dt.date]:
    """The days in the short lines after a headline's end at `start`, and in the few before it."""
    return [day for day, _ in (*_after(sight, start), *_before(sight, start))]


def _by_label(sight: Sight) -> dt.date | None:
    """A date that stands behind 发布时间 and its like; behind 发文日期 only where no label says when it was posted."""
    anchor = sight.starts[0] if sight.starts else 0
    texts = sight.page.texts
    for label in (Label.POSTED, Label.SENT):
        stated = (
            (entry.index, day)
            for entry in sight.labelled
            if entry.label is label and not sight.is_aside(entry.index)
            # A value in pieces goes on in the next text.
            for value in (" ".join([entry.value, *texts[entry.index + 1 : entry.index + 2]]),)
            if (day := first_date(value, sight.today, sight.order))
        )
        if day := _nearest(stated, anchor):
            return day
    return _nearest((entry for entry in _behind_words(sight) if not sight.is_aside(entry[0])), anchor)


def _only_label_beside(sight: Sight) -> dt.date | None:
    """The day behind the page's only "posted", in a box beside the article that says what it is."""
    found = [entry for entry in _behind_words(sight) if not sight.is_of_link(entry[0], _BLOCKS)]
    return found[0][1] if len(found) == 1 else None


def _nearest(found: Iterable[tuple[int, dt.date]], anchor: int) -> dt.date | None:
    entry = min(found, key=lambda entry: abs(entry[0] - anchor), default=None)
    return entry[1] if entry else None


def _behind_words(sight: Sight) -> Iterator[tuple[int, dt.date]]:
    """Dates behind "posted" and its like in other languages, in the same text or the next two; or before it."""
    texts = sight.page.texts
    has_digit = [*(bool(_HAS_DIGIT.search(text, 0, 400)) for text in texts), False, False]
    for index, text in enumerate(texts):
        if len(text) > 300 or not any(has_digit[index : index + 3]):
            continue
        label = _POSTED_LABEL.search(text.lower()) or _BARE_LABEL.match(text)
        if not label:
            continue
        behind = squeeze(" ".join([text[label.end() :], *texts[index + 1 : index + 3]]))[:60]
        matches = dates_in_text(behind, sight.today, order=sight.order)
        matches = [match for match in matches if match.has_year and match.start < 30]
        if matches:
            yield index, matches[0].date


def _by_time_element(sight: Sight) -> dt.date | None:
    days: list[tuple[int, dt.date]] = []
    at_foot: set[dt.date] = set()
    called: set[dt.date] = set()
    for element in sight.page.elements:
        itemprop = (element.attributes.get("itemprop") or "").lower()
        # The microformat of older blogs: <abbr class="published" title="2012-05-03T10:00">.
        is_entry = "published" in element.css_class.split() and element.text_end - element.text_start <= _DATE_TEXTS
        if element.tag != "time" and itemprop not in ("datepublished", "datecreated") and not is_entry:
            continue
        text = sight.page.text_of(element)
        names = "" if is_entry else element.names
        if is_not_posted(f"{names} {itemprop} {text}") or _is_in_teaser(sight, element):
            continue
        value = element.attributes.get("datetime") or element.attributes.get("content") or text
        if is_entry:
            value = f"{element.attributes.get('title') or ''} {value}"
        day = first_date(value, sight.today, sight.order)
        if day and sight.is_aside_element(element):
            at_foot.update([day] if sight.is_in_own_article(element) else [])
        elif day:
            if itemprop == "datepublished" or element.attributes.get("pubdate") is not None:
                called.add(day)
            days.append((element.text_start, day))
    if len(called) == 1:
        return called.pop()
    if not days and len(at_foot) == 1:
        return at_foot.pop()
    if len({day for _, day in days}) == 1:
        return days[0][1]
    if not days or not sight.starts:
        return None
    start = sight.starts[0]
    index, day = min(days, key=lambda entry: abs(entry[0] - start))
    return day if abs(index - start) <= 2 * _NEAR_TEXTS else None


def _is_in_teaser(sight: Sight, element: Element) -> bool:
    """Whether an element lies in what leads to another article: its box, or a link that says more than the day."""
    link = element.parent
    while link is not None and link.tag != "a":
        link = link.parent
    if link is not None and len(sight.page.text_of(link)) >= len(sight.page.text_of(element)) + _LEAST_TITLE:
        return True
    return sight.is_in_other_article(element)


def _near_headline(sight: Sight, start: int, by_url: dt.date | None) -> dt.date | None:
    """A date in the lines just under (or over) the headline: the url's, else one that is called a date."""
    after, before = list(_after(sight, start)), list(_before(sight, start))
    if by_url and any(day == by_url for day, _ in (*after, *before)):
        return by_url
    for found in (after, before):
        named = [day for day, is_named in found if is_named]
        for days in (named, [day for day, _ in found]):
            if days:
                return days[0]
    return None


def _by_sentence(sight: Sight) -> dt.date | None:
    """The day in a byline (by N. N. on 3 May), or before a bracket or dash where the first sentence begins."""
    for index, text in enumerate(sight.page.texts):
        if _BYLINE.match(text) and sight.may_be_posted(index, 0):
            day = next((day for day, _ in sight.posted_dates(squeeze(text)[:_LINE_CHARS])), None)
            if day:
                return day
    for start in sight.starts[:1]:
        lines = map(squeeze, sight.page.texts[start : start + _NEAR_TEXTS])
        opening = next((line for line in lines if len(line) >= _SENTENCE_CHARS), "")
        matches = dates_in_text(opening[:60], sight.today, order=sight.order)
        if matches and matches[0].has_year and re.match(r"\s*[)）\]:–—-]", opening[matches[0].end :]):
            return matches[0].date
    return None


def _only_date_line(sight: Sight) -> dt.date | None:
    """The day of the lines that are nothing but a date, where all of them outside asides give the same day."""
    days: set[dt.date] = set()
    first = max(0, min(sight.starts, default=0) - _NEAR_TEXTS)
    for index, text in enumerate(sight.page.texts):
        if index < first or len(text) > 200 or not sight.may_be_posted(index, 0):
            continue
        if sight.is_of_link(index, _BLOCKS):
            continue
        line = squeeze(text)
        dated = sight.posted_dates(line) if len(line) <= 60 else ()
        days.update(day for day, length in dated if length > 0.4 * len(line))
    return days.pop() if len(days) == 1 else None


def _after(sight: Sight, start: int) -> Iterator[tuple[dt.date, bool]]:
    near = range(start, min(len(sight.page.texts), start + _NEAR_TEXTS))
    sentences = [index for index in near if len(sight.page.texts[index]) >= _SENTENCE_CHARS]
    end = sentences[_MOST_SENTENCES] if len(sentences) > _MOST_SENTENCES else near.stop
    return _dates_in(sight, range(start, end))


def _before(sight: Sight, start: int) -> Iterator[tuple[dt.date, bool]]:
    for index in range(max(0, start - _NEAR_TEXTS), start):
        for day, is_named in _dates_in(sight, range(index, index + 1)):
            if is_named or index >= start - _TEXTS_OVER:
                yield day, is_named


def _dates_in(sight: Sight, indexes: range) -> Iterator[tuple[dt.date, bool]]:
    """Dates of short lines, and whether label or class call them a date."""
    page = sight.page
    for index in indexes:
        if not sight.may_be_posted(index, indexes.start):
            continue
        owner = page.elements[page.text_owner[index]]
        for text in (squeeze(page.texts[index]), _with_next(sight, index)):
            if len(text) > _LINE_CHARS:
                continue
            day, length = next(sight.posted_dates(text), (None, 0))
            if day:
                is_named = bool(_WEAK_LABEL.search(text) or _DATE_NAMES.search(owner.names))
                if is_named or length > 0.3 * len(text):
                    yield day, is_named
                break


def _with_next(sight: Sight, index: int) -> str:
    """A short text and the next one: the number of a day, and beside it its year and month."""
    pair = [squeeze(text) for text in sight.page.texts[index : index + 2]]
    return " ".join(pair) if len(pair) == 2 and all(re.fullmatch(r"[\d年月日./-]{1,8}", text) for text in pair) else ""
