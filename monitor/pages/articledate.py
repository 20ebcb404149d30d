"""The day on which an article was published: what the page states before what could be guessed."""

import datetime as dt
import re
from collections.abc import Sequence

from monitor.domain.words import DateSource
from monitor.pages.calendar import Order
from monitor.pages.datelines import dates_near, day_first_stated, first_date
from monitor.pages.dates import numeric_order
from monitor.pages.labels import Labelled
from monitor.pages.metadata import Metadata
from monitor.pages.outline import Outline
from monitor.pages.sight import Sight
from monitor.pages.urldates import date_in_url

_META = (
    "pubdate", "article:published_time", "og:article:published_time", "og:published_time", "datepublished",
    "publishdate", "publish_date", "publish-date", "dc.date.issued", "dcterms.issued",
    "citation_publication_date", "citation_online_date", "parsely-pub-date", "sailthru.date",
    "cxenseparse:recs:publishtime", "article.published", "published_date", "publication_date", "pub_date",
    "published-date", "firstpublished", "weibo:article:create_at", "bt:pubdate", "displaydate",
    "originalpublicationdate", "ptime", "_pubtime", "analyticsattributes.articledate", "rnews:datepublished",
    "article:published", "artpublished", "datecreated",
)  # fmt: skip
# Names that some systems fill with the day of the page's making or of a printed issue: believed after JSON-LD.
_VAGUE_META = ("dc.date", "dcterms.date", "date", "created", "dc.date.created", "dcterms.created", "createdate")
_LINKED = ("datePublished", "dateCreated", "uploadDate")
_MODIFIED = ("article:modified_time", "og:updated_time", "datemodified", "last-modified", "dateModified")
# An instant in UTC, or a bare day: neither says what day it was where the page is read.
_WITHOUT_ZONE = re.compile(r"(?:Z|[+-]00:?00|GMT|UTC)\s*$|^[\d-]{8,10}$")
_ONE_DAY = dt.timedelta(days=1)


def article_date(
    page: Outline,
    metadata: Metadata,
    title: str,
    today: dt.date,
    *,
    labelled: Sequence[Labelled] = (),
    is_list: bool = False,
) -> tuple[dt.date | None, DateSource]:
    """The publication day and where it was read; (None, unknown) where the page states none.

    In this order: meta elements, JSON-LD, labelled lines (发布时间：), `time` elements, a date near the headline,
    the url. A sidebar's or a comment's date is never the article's, nor is a row's on a list page (`is_list`).
    """
    order = numeric_order(page.full_text[:20_000])
    by_url = date_in_url(page.url, today)
    hidden, written = _hidden_day(metadata, today, order)
    if is_list:
        return (hidden, DateSource.PAGE) if hidden else (None, DateSource.UNKNOWN)
    sight = Sight(page, title, today, order, labelled)
    day = _as_readers_see_it(hidden, written, metadata, sight, by_url) if hidden else day_first_stated(sight, by_url)
    if day:
        return day, DateSource.PAGE
    return (by_url, DateSource.URL) if by_url else (None, DateSource.UNKNOWN)


def _hidden_day(metadata: Metadata, today: dt.date, order: Order | None) -> tuple[dt.date | None, str]:
    """The day that meta elements or JSON-LD give, and what they write."""
    stated = (
        *((metadata.meta.get(name), order) for name in _META),
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
    changed = (metadata.meta.get(name) or metadata.linked_text(name) or "" for name in _MODIFIED)
    others = {first_date(value, sight.today, sight.order) for value in changed}
    shown: set[dt.date | None] = {*(day for start in sight.starts[:1] for day in dates_near(sight, start))} or {by_url}
    beside = [day for day in (hidden - _ONE_DAY, hidden + _ONE_DAY) if day in shown and day not in others]
    return beside[0] if len(beside) == 1 and hidden not in shown else hidden
