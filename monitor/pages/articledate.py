"""The day on which an article was published: what the page states before what could be guessed."""

import datetime as dt
import re
from collections.abc import Sequence

from monitor.domain.words import DateSource
from monitor.pages.calendar import Order
from monitor.pages.datelines import dates_near, day_first_stated, first_date
from monitor.pages.dateorder import customary_order
from monitor.pages.dates import dates_in_text, numeric_order
from monitor.pages.labels import Label, Labelled
from monitor.pages.metadata import Metadata
from monitor.pages.outline import Outline, wide_chars
from monitor.pages.sight import Sight
from monitor.pages.urldates import date_in_url

_META = (
    "datepublished",
    "dc.date.issued",
    "dcterms.issued",
    "citation_online_date",
    "sailthru.date",
    "article.published",
    "firstpublished",
    "weibo:article:create_at",
    "displaydate",
    "ptime",
    "analyticsattributes.articledate",
    "rnews:datepublished",
    "article:published",
    "artpublished",
    "datecreated",
    "dc.issued",
    "dcterms:issued",
    "date.available",
    "regdate",
    "og:regdate",
)
_NAMED_PUBLISHED = re.compile(r"pub(?:lish(?:ed)?|lication)?[:._-]?(?:date|time|at|on)$")
# Names that some systems fill with the day of the page's making or of a printed issue: believed after JSON-LD.
_VAGUE_META = (
    "dc.date",
    "dcterms.date",
    "date",
    "created",
    "dc.date.created",
    "dcterms.created",
    "createdate",
    "dc:created",
)
_LINKED = ("datePublished", "dateCreated", "uploadDate")
_MODIFIED = ("article:modified_time", "og:updated_time", "datemodified", "last-modified", "dateModified", "dateupdate")
# What the scripts of a page drawn by them write of it.
_SCRIPTED = re.compile(
    r"\\?\"(?:date_?published|date_?created|(?:first_?)?publish(?:ed)?_?(?:at|on|date|time)|pub_?(?:date|time))\\?\""
    r"\s*:\s*\\?\"([^\"\\]{8,40})\\?\"",
    re.IGNORECASE,
)
_SCRIPT_REACH, _LEAST_TITLE = 3_000, 20
# An instant in UTC, or a bare day: neither says what day it was where the page is read.
_WITHOUT_ZONE = re.compile(r"(?:Z|[+-]00:?00|GMT|UTC)\s*$|^[\d-]{8,10}$")
_DASHES = re.compile(r"\s[-–—|·»]\s")
_ONE_DAY = dt.timedelta(days=1)


def article_date(
    page: Outline,
    metadata: Metadata,
    title: str,
    today: dt.date,
    *,
    labelled: Sequence[Labelled] = (),
    is_list: bool = False,
    html_text: str = "",
) -> tuple[dt.date | None, DateSource]:
    """The publication day and where it was read; (None, unknown) where the page states none.

    In this order: meta elements, JSON-LD, labelled lines (发布时间：), `time` elements, a date near the headline,
    the url, what a script in `html_text` writes beside the title. A sidebar's or a comment's date is never the
    article's, nor is a row's on a list page (`is_list`).
    """
    order = _custom(page.full_text[:2_000]) or numeric_order(page.full_text[:20_000])
    by_url = date_in_url(page.url, today) or date_in_url(metadata.first("og:url") or "", today)
    hidden, written = _hidden_day(metadata, today, order)
    if is_list:
        return (hidden, DateSource.PAGE) if hidden else (None, DateSource.UNKNOWN)
    # What is written for readers follows the custom of their country; machines may write as their makers do.
    sight = Sight(page, title, today, order or customary_order(page.url, page.language), labelled)
    if hidden:
        day: dt.date | None = _as_readers_see_it(hidden, written, metadata, sight, by_url)
    else:
        day = day_first_stated(sight, by_url, _in_title(metadata.title_element, today, sight.order))
    day = day or (None if by_url else _year_from_change(sight, metadata))
    if day:
        return day, DateSource.PAGE
    if by_url:
        return by_url, DateSource.URL
    day = _in_script(html_text, title, today)
    return (day, DateSource.PAGE) if day else (None, DateSource.UNKNOWN)


def _in_script(html_text: str, title: str, today: dt.date) -> dt.date | None:
    """The one day of publication that the page's scripts write near its title; those of other articles are not its."""
    if len(title) + wide_chars(title) < _LEAST_TITLE:
        return None
    near = (match[1] for match in _SCRIPTED.finditer(html_text) if title in _script_around(html_text, match))
    days = {first_date(value, today, None) for value in near}
    return days.pop() if len(days) == 1 else None


def _script_around(html_text: str, match: re.Match[str]) -> str:
    """What stands before and behind the match in the same script, as far as an object of it may reach."""
    before = html_text[max(0, match.start() - _SCRIPT_REACH) : match.start()].rpartition("<script")[2]
    return before + html_text[match.end() : match.end() + _SCRIPT_REACH].partition("</script")[0]


def _in_title(title: str, today: dt.date, order: Order | None) -> dt.date | None:
    """The day that is one of the parts between the dashes of a title element, as some blogs write it."""
    for part in _DASHES.split(title):
        for match in dates_in_text(part, today, order=order):
            if match.has_year and match.end - match.start == len(part.strip()):
                return match.date
    return None


def _custom(text: str) -> Order | None:
    """In East Asia the year comes first, with two digits too."""
    return "ymd" if 5 * wide_chars(text) > len(text) else None


def _hidden_day(metadata: Metadata, today: dt.date, order: Order | None) -> tuple[dt.date | None, str]:
    """The day that meta elements or JSON-LD give, and what they write."""
    published = (name for name in metadata.meta if _NAMED_PUBLISHED.search(name))
    stated = (
        *((metadata.meta.get(name), order) for name in (*published, *_META)),
        *((metadata.linked_text(key), None) for key in _LINKED),
        *((metadata.meta.get(name), order) for name in _VAGUE_META),
    )
    for value, settled in stated:
        if value and (day := first_date(value, today, settled)):
            return day, value
    return None, ""


def _as_readers_see_it(
    hidden: dt.date, written: str, metadata: Metadata, sight: Sight, by_url: dt.date | None
) -> dt.date:
    """The hidden day, or the day beside it that readers see: the same instant in the page's own time zone.

    Only where what is written gives no zone of its own, and the other day is not that of a later change.
    """
    if not _WITHOUT_ZONE.search(written):
        return hidden
    others = _changes(sight, metadata)
    shown: set[dt.date | None] = {*(day for start in sight.starts[:1] for day in dates_near(sight, start))} or {by_url}
    beside = [day for day in (hidden - _ONE_DAY, hidden + _ONE_DAY) if day in shown and day not in others]
    return beside[0] if len(beside) == 1 and hidden not in shown else hidden


def _changes(sight: Sight, metadata: Metadata) -> set[dt.date | None]:
    """The days that the page's hidden statements call those of a change."""
    changed = (metadata.meta.get(name) or metadata.linked_text(name) or "" for name in _MODIFIED)
    return {first_date(value, sight.today, sight.order) for value in changed}


def _year_from_change(sight: Sight, metadata: Metadata) -> dt.date | None:
    """The day that a labelled line writes without its year, where the page was changed on such a day."""
    changes = {(day.month, day.day): day for day in _changes(sight, metadata) if day}
    for entry in sight.labelled if changes else ():
        if entry.label is Label.POSTED:
            for match in dates_in_text(entry.value[:20], sight.today):
                if not match.has_year and (match.date.month, match.date.day) in changes:
                    return changes[match.date.month, match.date.day]
    return None
