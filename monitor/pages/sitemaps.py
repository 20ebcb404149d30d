"""Sitemaps of sitemaps: an index is no list of publications, but of the lists that hold them."""

import datetime as dt
import re
from collections.abc import Sequence

from monitor.domain.page import Candidate, Page

MOST_SITEMAPS = 10
_INDEX = re.compile(r"<\s*(?:\w+:)?sitemapindex\b", re.IGNORECASE)


def is_sitemap_index(text: str) -> bool:
    """Whether a text is a sitemap index, by its first element."""
    return _INDEX.search(text[:3000]) is not None


def newest_sitemaps(index: Page) -> tuple[list[str], int]:
    """The sitemaps of an index that are worth reading, newest first, and how many others may hold news as well.

    What changed before the last of them did cannot hold anything newer; one that does not say when it changed can.
    """
    ordered = sorted(index.candidates, key=lambda one: one.date or dt.date.max, reverse=True)
    chosen, rest = ordered[:MOST_SITEMAPS], ordered[MOST_SITEMAPS:]
    return [one.url for one in chosen], sum(one.date is None for one in rest)


def joined(index: Page, sitemaps: Sequence[Page]) -> Page:
    """The index as if it held the entries of its sitemaps itself; where none could be read, the first one's error."""
    found: dict[str, Candidate] = {}
    for sitemap in sitemaps:
        for candidate in sitemap.candidates:
            found.setdefault(candidate.url, candidate)
    is_unread = bool(sitemaps) and all(sitemap.error is not None for sitemap in sitemaps)
    return index.model_copy(
        update={"candidates": list(found.values()), "error": sitemaps[0].error if is_unread else None}
    )
