"""Options in the words that several services share."""

import datetime as dt

from monitor.domain.searching import DateRange, SearchErrorCode, SearchQuery
from monitor.search.failures import failure

LONG_AGO = dt.date(1990, 1, 1)
"""Where a range begins for services that want a beginning."""


def query_with_site(query: SearchQuery) -> str:
    """The text with the site as an operator, for services that have no option for it."""
    return f"{query.text} site:{query.site_filter}" if query.site_filter else query.text


def shorter_than(text: str, max_chars: int) -> str:
    """The text; `SearchFailed` (InvalidInput) where the service takes none so long, instead of a cut question."""
    if len(text) > max_chars:
        message = f"The service takes queries of at most {max_chars} characters; this one has {len(text)}."
        raise failure(SearchErrorCode.INVALID_INPUT, message)
    return text


def language_and_region(lang: str) -> tuple[str, str]:
    """`zh-CN` as `zh` and `cn`, `de` as `de` and an empty region; a script such as `Hans` stands for its region."""
    language, *rest = lang.lower().split("-")
    region = next((part for part in rest if len(part) == 2), "")
    if not region and language == "zh":
        region = "tw" if "hant" in rest else "cn"
    return language, region


def both_ends(span: DateRange, today: dt.date) -> tuple[dt.date, dt.date]:
    """A range with two ends: an open beginning is long ago, an open end today."""
    return span.start or LONG_AGO, span.end or today
