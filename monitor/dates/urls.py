"""The day that a content management system writes into the url of an article."""

import datetime as dt
import re

from monitor.dates.calendar import real_date
from monitor.dates.months import MONTH_BY_NAME, fold_word

_URL_FORMS = (
    re.compile(r"(?<!\d)/?t(?P<y>20\d\d|19\d\d)(?P<m>0[1-9]|1[0-2])(?P<d>[0-3]\d)_\d+"),
    re.compile(r"/(?P<y>20\d\d|19\d\d)[-_]?(?P<m>0[1-9]|1[0-2])/(?P<d>0[1-9]|[12]\d|3[01])(?=[/_.-])"),
    re.compile(r"/(?P<y>20\d\d|19\d\d)/(?P<m>\d{1,2})[/_-](?P<d>\d{1,2})(?=[/_.-]|$)"),
    re.compile(r"(?<!\d)(?P<y>20\d\d|19\d\d)[-_](?P<m>0?[1-9]|1[0-2])[-_](?P<d>0?[1-9]|[12]\d|3[01])(?!\d)"),
    re.compile(r"/(?P<y>20\d\d)/(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])(?=/|[_-]|\.\w)"),
    re.compile(r"/(?P<y>\d\d)/(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])/\d\d/"),
    re.compile(r"/(?P<y>20\d\d)/[A-Za-z][\w-]*/(?P<m>0[1-9]|1[0-2])/(?P<d>0[1-9]|[12]\d|3[01])/"),
    re.compile(r"(?<!\d)(?P<y>20\d\d|199\d)(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])(?!\d)"),
    re.compile(
        r"(?<![\da-f])(?P<y>20\d\d)(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|"
        r"3[01])(?=[0-2]\d[0-5]\d(?:[0-5]\d\d{0,6})?(?![\da-f]))"
    ),
)

_URL_WORD = re.compile(r"(?<!\d)(?P<y>20\d\d|19\d\d)[/-](?P<month>[A-Za-z]{3,9})[/-](?P<d>\d{1,2})(?!\d)")


def date_in_url(url: str, today: dt.date) -> dt.date | None:
    """The publication date that a content management system writes into an article's url, if any.

    Understands the forms /20260203/, /2026-01/15/, /art/2026/2/3/ and /202601/t20260115_, those of other common
    systems (2026/02-03/, 2026-02-03-slug, /26/0203/22/, 20260203101500 in a file's name), never the host. A number
    that is no calendar date, or lies before 1990 or after tomorrow, is no date; neither are two that differ.
    """
    path = re.sub(r"^\w+://[^/]*", "", url)
    for form in _URL_FORMS:
        dates = {
            date
            for found in form.finditer(path)
            if (date := real_date(_full_year(found["y"]), int(found["m"]), int(found["d"]), today))
        }
        if dates:
            return dates.pop() if len(dates) == 1 else None
    for found in _URL_WORD.finditer(path):
        month = MONTH_BY_NAME.get(fold_word(found["month"]))
        if month:
            return real_date(int(found["y"]), month, int(found["d"]), today)
    return None


def _full_year(digits: str) -> int:
    return int(digits) + (2000 if len(digits) == 2 else 0)
