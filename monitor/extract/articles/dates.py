"""Finds the date on which an article was published: what the page states comes before what could be guessed."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Sequence

from monitor.dates import DateOrder, date_in_url, detect_order, find_days, infer_order
from monitor.extract.articles.labels import Label, LabelledValue, PageMetadata
from monitor.extract.articles.view import ArticleView, is_not_posting_date
from monitor.extract.html import Element, Outline, collapse_whitespace, count_wide_chars, measure_width
from monitor.vocabulary import DateSource

# For texts in lower case, which is faster than ignoring the case.
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
_TIMESTAMP = re.compile(r"\d{12}(?:\d\d)?")
_HAS_DIGIT = re.compile(r"\d")
_BLOCKS = frozenset({"p", "div", "li", "tr", "dd"})
_MAX_NEARBY_TEXTS = 14
_MAX_LINE_CHARS = 120
_MIN_SENTENCE_CHARS = 40
_MAX_SENTENCES = 3
_MAX_TEXTS_ABOVE = 5
_MAX_DATE_TEXTS = 4
_MAX_TIME_CHARS = 1_000
_MIN_TITLE_CHARS = 20


def _parse_first_date(text: str, today: dt.date, order: DateOrder | None) -> dt.date | None:
    """Return the first date with a year in a short text; 20260203081530 is a date with its time."""
    if _TIMESTAMP.fullmatch(text):
        text = text[:8]
    return next((match.date for match in find_days(text[:80], today, order=order) if match.has_year), None)


def _find_stated_date(view: ArticleView, by_url: dt.date | None, by_title: dt.date | None = None) -> dt.date | None:
    """Return the date of the strongest statement on the page; `by_url` decides between several near the headline."""
    return (
        _find_by_label(view)
        or _find_by_time_element(view)
        or by_title
        or next((day for start in view.body_starts[:4] if (day := _find_near_headline(view, start, by_url))), None)
        or _find_in_sentence(view)
        or (None if by_url else _find_only_date_line(view) or _find_only_aside_label(view))
    )


def _find_by_label(view: ArticleView) -> dt.date | None:
    """Return the date after 发布时间 and its like, or after 发文日期 where no label says when it was posted."""
    anchor = view.body_starts[0] if view.body_starts else 0
    texts = view.page.texts
    for label in (Label.POSTED, Label.SENT):
        stated = (
            (entry.index, day)
            for entry in view.labelled
            if entry.label is label and not view.is_aside(entry.index)
            # A value in pieces goes on in the next text.
            for value in (" ".join([entry.value, *texts[entry.index + 1 : entry.index + 2]]),)
            if (day := _parse_first_date(value, view.today, view.order))
        )
        if day := _find_nearest(stated, anchor):
            return day
    return _find_nearest((entry for entry in _list_dates_after_words(view) if not view.is_aside(entry[0])), anchor)


def _find_only_aside_label(view: ArticleView) -> dt.date | None:
    """Return the date after the page's only "posted", in a box beside the article."""
    found = [day for index, day in _list_dates_after_words(view) if not view.is_in_teaser_row(index, _BLOCKS)]
    return found[0] if len(found) == 1 else None


def _find_nearest(found: Iterable[tuple[int, dt.date]], anchor: int) -> dt.date | None:
    entry = min(found, key=lambda entry: abs(entry[0] - anchor), default=None)
    return entry[1] if entry else None


def _list_dates_after_words(view: ArticleView) -> Iterator[tuple[int, dt.date]]:
    """Yield the dates after "posted" and its like in other languages, in the same text or the next two."""
    texts = view.page.texts
    has_digit = [*(bool(_HAS_DIGIT.search(text, 0, 400)) for text in texts), False, False]
    for index, text in enumerate(texts):
        if len(text) > 300 or not any(has_digit[index : index + 3]):
            continue
        label = _POSTED_LABEL.search(text.lower()) or _BARE_LABEL.match(text)
        if not label:
            continue
        behind = collapse_whitespace(" ".join([text[label.end() :], *texts[index + 1 : index + 3]]))[:60]
        matches = find_days(behind, view.today, order=view.order)
        if day := next((match.date for match in matches if match.has_year and match.start < 30), None):
            yield index, day


def _find_by_time_element(view: ArticleView) -> dt.date | None:
    days: list[tuple[int, dt.date]] = []
    at_foot: set[dt.date] = set()
    called: set[dt.date] = set()
    for element in view.page.elements:
        itemprop = (element.attributes.get("itemprop") or "").lower()
        # The microformat of older blogs: <abbr class="published" title="2012-05-03T10:00">.
        is_entry = "published" in element.css_class.split() and element.text_end - element.text_start <= _MAX_DATE_TEXTS
        if element.tag != "time" and itemprop not in ("datepublished", "datecreated") and not is_entry:
            continue
        text = view.page.get_text(element, _MAX_TIME_CHARS)[:_MAX_TIME_CHARS]
        names = "" if is_entry else element.class_and_id
        if is_not_posting_date(f"{names} {itemprop} {text}") or _is_in_teaser(view, element):
            continue
        value = element.attributes.get("datetime") or element.attributes.get("content") or text
        if is_entry:
            value = f"{element.attributes.get('title') or ''} {value}"
        day = _parse_first_date(value, view.today, view.order)
        if day and view.aside_flags[element.index]:
            at_foot.update([day] if view.is_in_own_article(element) else [])
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
    if not days or not view.body_starts:
        return None
    start = view.body_starts[0]
    index, day = min(days, key=lambda entry: abs(entry[0] - start))
    return day if abs(index - start) <= 2 * _MAX_NEARBY_TEXTS else None


def _is_in_teaser(view: ArticleView, element: Element) -> bool:
    """Whether an element is in the teaser of another article: its box, or a link with more text than the date."""
    link = element.parent.closest(("a",)) if element.parent else None
    if link is not None:
        own = len(view.page.get_text(element, _MAX_TIME_CHARS))
        if len(view.page.get_text(link, own + 4 * _MIN_TITLE_CHARS)) >= own + _MIN_TITLE_CHARS:
            return True
    return view.is_in_other_article(element)


def _find_near_headline(view: ArticleView, start: int, by_url: dt.date | None) -> dt.date | None:
    """Return a date in the lines just below (or above) the headline: the url's, else one with a label."""
    after, before = list(_list_dates_after(view, start)), list(_list_dates_before(view, start))
    if by_url and any(day == by_url for day, _ in (*after, *before)):
        return by_url
    for found in (after, before):
        if found:
            return next((day for day, is_named in found if is_named), found[0][0])
    return None


def _find_in_sentence(view: ArticleView) -> dt.date | None:
    """Return the date in a byline (by N. N. on 3 May), or before a bracket or dash that opens the first sentence."""
    for index, text in enumerate(view.page.texts):
        if _BYLINE.match(text) and view.may_be_posting_date(index, 0):
            for day, _ in view.find_posted_dates(collapse_whitespace(text)[:_MAX_LINE_CHARS]):
                return day
    for start in view.body_starts[:1]:
        lines = map(collapse_whitespace, view.page.texts[start : start + _MAX_NEARBY_TEXTS])
        opening = next((line for line in lines if len(line) >= _MIN_SENTENCE_CHARS), "")
        matches = find_days(opening[:60], view.today, order=view.order)
        if matches and matches[0].has_year and re.match(r"\s*[)）\]:–—-]", opening[matches[0].end :]):
            return matches[0].date
    return None


def _find_only_date_line(view: ArticleView) -> dt.date | None:
    """Return the date of the lines that are only a date, if all of them in the article agree."""
    days: set[dt.date] = set()
    first = max(0, min(view.body_starts, default=0) - _MAX_NEARBY_TEXTS)
    for index, text in enumerate(view.page.texts):
        if index < first or len(text) > 200 or not view.may_be_posting_date(index, 0):
            continue
        if view.is_in_teaser_row(index, _BLOCKS):
            continue
        line = collapse_whitespace(text)
        dated = view.find_posted_dates(line) if len(line) <= 60 else ()
        days.update(day for day, length in dated if length > 0.4 * len(line))
    return days.pop() if len(days) == 1 else None


def _list_dates_after(view: ArticleView, start: int) -> Iterator[tuple[dt.date, bool]]:
    near = range(start, min(len(view.page.texts), start + _MAX_NEARBY_TEXTS))
    sentences = [index for index in near if len(view.page.texts[index]) >= _MIN_SENTENCE_CHARS]
    end = sentences[_MAX_SENTENCES] if len(sentences) > _MAX_SENTENCES else near.stop
    return _list_line_dates(view, range(start, end))


def _list_dates_before(view: ArticleView, start: int) -> Iterator[tuple[dt.date, bool]]:
    for index in range(max(0, start - _MAX_NEARBY_TEXTS), start):
        for day, is_named in _list_line_dates(view, range(index, index + 1)):
            if is_named or index >= start - _MAX_TEXTS_ABOVE:
                yield day, is_named


def _list_line_dates(view: ArticleView, indexes: range) -> Iterator[tuple[dt.date, bool]]:
    """Yield the dates of short lines, and whether a label or a class name says that it is a date."""
    page = view.page
    for index in indexes:
        if not view.may_be_posting_date(index, indexes.start):
            continue
        owner = page.elements[page.text_owner[index]]
        pair = [collapse_whitespace(text) for text in page.texts[index : index + 2]]
        # The number of a day may stand beside its year and month.
        are_parts = len(pair) == 2 and all(re.fullmatch(r"[\d年月日./-]{1,8}", text) for text in pair)
        for text in (pair[0], " ".join(pair) if are_parts else ""):
            if len(text) > _MAX_LINE_CHARS:
                continue
            day, length = next(view.find_posted_dates(text), (None, 0))
            if day:
                is_named = bool(_WEAK_LABEL.search(text) or _DATE_NAMES.search(owner.class_and_id))
                if is_named or length > 0.3 * len(text):
                    yield day, is_named
                break


_META_NAMES = (
    *("datepublished", "dc.date.issued", "dcterms.issued", "citation_online_date", "sailthru.date"),
    *("article.published", "firstpublished", "weibo:article:create_at", "displaydate", "ptime"),
    *("analyticsattributes.articledate", "rnews:datepublished", "article:published", "artpublished", "datecreated"),
    *("dc.issued", "dcterms:issued", "date.available", "regdate", "og:regdate"),
)

_NAMED_PUBLISHED = re.compile(r"pub(?:lish(?:ed)?|lication)?[:._-]?(?:date|time|at|on)$")

# Names that some systems fill with the date of the page's making or of a printed issue: trusted after JSON-LD.
_VAGUE_META_NAMES = (
    *("dc.date", "dcterms.date", "date", "created"),
    *("dc.date.created", "dcterms.created", "createdate", "dc:created"),
)
_JSON_LD_KEYS = ("datePublished", "dateCreated", "uploadDate")
_MODIFIED_NAMES = (
    *("article:modified_time", "og:updated_time", "datemodified"),
    *("last-modified", "dateModified", "dateupdate"),
)

# What the scripts of a page that they render write about it.
_SCRIPT_DATE = re.compile(
    r"\\?\"(?:date_?published|date_?created|(?:first_?)?publish(?:ed)?_?(?:at|on|date|time)|pub_?(?:date|time))\\?\""
    r"\s*:\s*\\?\"([^\"\\]{8,40})\\?\"",
    re.IGNORECASE,
)
_MAX_SCRIPT_CONTEXT_CHARS, _MIN_TITLE_WIDTH = 3_000, 20
# An instant in UTC or a bare date: neither says which day it was where the page is read.
_WITHOUT_ZONE = re.compile(r"(?:Z|[+-]00:?00|GMT|UTC)\s*$|^[\d-]{8,10}$")
_DASHES = re.compile(r"\s[-–—|·»]\s")
_ONE_DAY = dt.timedelta(days=1)


def find_article_date(
    page: Outline,
    metadata: PageMetadata,
    title: str,
    today: dt.date,
    *,
    labelled: Sequence[LabelledValue] = (),
    is_list: bool = False,
    html_text: str = "",
) -> tuple[dt.date | None, DateSource]:
    """Return the publication date and where it was read; (None, unknown) where the page states none.

    In this order: meta elements, JSON-LD, labelled lines (发布时间：), `time` elements, a date near the headline, the
    url, what a script in `html_text` writes beside the title. The date of a sidebar, a comment or, on a list page
    (`is_list`), a row is never the article's.
    """
    head = page.full_text[:2_000]
    # In East Asia a year of two digits comes first too.
    is_east_asian = 5 * count_wide_chars(head) > len(head)
    order: DateOrder | None = "ymd" if is_east_asian else detect_order(page.full_text[:20_000])
    by_url = date_in_url(page.url, today) or date_in_url(metadata.get_first("og:url") or "", today)
    hidden, written = _find_metadata_date(metadata, today, order)
    if is_list:
        return (hidden, DateSource.PAGE) if hidden else (None, DateSource.UNKNOWN)
    # Text for readers follows the custom of their country; metadata may follow that of the software.
    view = ArticleView(page, title, today, order or infer_order(page.url, page.language), labelled)
    if hidden:
        day: dt.date | None = _adjust_to_shown_date(hidden, written, metadata, view, by_url)
    else:
        day = _find_stated_date(view, by_url, _find_date_in_title(metadata.title_element, today, view.order))
    day = day or (None if by_url else _complete_year_from_change(view, metadata))
    if day:
        return day, DateSource.PAGE
    if by_url:
        return by_url, DateSource.URL
    day = _find_date_in_script(html_text, title, today)
    return (day, DateSource.PAGE) if day else (None, DateSource.UNKNOWN)


def _find_date_in_script(html_text: str, title: str, today: dt.date) -> dt.date | None:
    """Return the one publication date that the page's scripts write near its title."""
    if measure_width(title) < _MIN_TITLE_WIDTH:
        return None
    days: set[dt.date | None] = set()
    for match in _SCRIPT_DATE.finditer(html_text):
        # What is around in the same script, as far as one object may reach.
        before = html_text[max(0, match.start() - _MAX_SCRIPT_CONTEXT_CHARS) : match.start()].rpartition("<script")[2]
        after = html_text[match.end() : match.end() + _MAX_SCRIPT_CONTEXT_CHARS].partition("</script")[0]
        if title in before + after:
            days.add(_parse_first_date(match[1], today, None))
    return days.pop() if len(days) == 1 else None


def _find_date_in_title(title: str, today: dt.date, order: DateOrder | None) -> dt.date | None:
    """Return the date that is one of the parts between the dashes of a title element."""
    found = ((part, match) for part in _DASHES.split(title) for match in find_days(part, today, order=order))
    whole = (match for part, match in found if match.has_year and match.end - match.start == len(part.strip()))
    return next((match.date for match in whole), None)


def _find_metadata_date(metadata: PageMetadata, today: dt.date, order: DateOrder | None) -> tuple[dt.date | None, str]:
    """Return the date that meta elements or JSON-LD give, and their words."""
    published = (name for name in metadata.meta if _NAMED_PUBLISHED.search(name))
    stated = (
        *((metadata.meta.get(name), order) for name in (*published, *_META_NAMES)),
        *((metadata.get_json_ld_text(key), None) for key in _JSON_LD_KEYS),
        *((metadata.meta.get(name), order) for name in _VAGUE_META_NAMES),
    )
    for value, settled in stated:
        if value and (day := _parse_first_date(value, today, settled)):
            return day, value
    return None, ""


def _adjust_to_shown_date(
    hidden: dt.date, written: str, metadata: PageMetadata, view: ArticleView, by_url: dt.date | None
) -> dt.date:
    """Return the metadata's date, or the day before or after it where the page shows that: the zones differ.

    Only where the metadata has no time zone of its own, and the other day is not that of a later change.
    """
    if not _WITHOUT_ZONE.search(written):
        return hidden
    others = _list_modified_dates(view, metadata)
    starts = view.body_starts[:1]
    near = (entry for start in starts for entry in (*_list_dates_after(view, start), *_list_dates_before(view, start)))
    shown: set[dt.date | None] = {day for day, _ in near} or {by_url}
    beside = [day for day in (hidden - _ONE_DAY, hidden + _ONE_DAY) if day in shown and day not in others]
    return beside[0] if len(beside) == 1 and hidden not in shown else hidden


def _list_modified_dates(view: ArticleView, metadata: PageMetadata) -> set[dt.date | None]:
    """Return the dates of change in the page's metadata."""
    changed = (metadata.meta.get(name) or metadata.get_json_ld_text(name) or "" for name in _MODIFIED_NAMES)
    return {_parse_first_date(value, view.today, view.order) for value in changed}


def _complete_year_from_change(view: ArticleView, metadata: PageMetadata) -> dt.date | None:
    """Return the date that a labelled line writes without its year, if the page was changed on that day."""
    changes = {(day.month, day.day): day for day in _list_modified_dates(view, metadata) if day}
    posted = (entry.value[:20] for entry in view.labelled if changes and entry.label is Label.POSTED)
    days = (match.date for value in posted for match in find_days(value, view.today) if not match.has_year)
    return next((changes[day.month, day.day] for day in days if (day.month, day.day) in changes), None)
