"""Whether a page that holds a list is that list, or an article with a list beside it."""

import datetime as dt
from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from monitor.domain.page import Candidate
from monitor.pages.dates import dates_in_text
from monitor.pages.metadata import Metadata
from monitor.pages.outline import Element, Outline, squeeze, wide_chars
from monitor.pages.prose import prose_weights
from monitor.pages.sight import is_not_posted

_LONGEST_SUMMARY = 800
_LEAST_HEADLINE = 30
_LEAST_SENTENCES = 80
_LONGEST_DAY = 60
_NEAR_TEXTS = 6
_HEADLINE_TEXTS = 2
_TEXTS_OVER = 3
_OPENING = 12


def is_list_page(page: Outline, metadata: Metadata, candidates: Sequence[Candidate], today: dt.date) -> bool:
    """Whether the dated list on a page outweighs its sentences, those in the list's own rows aside.

    Sentences between two rows are a row's summary, unless they are as long as an article; so may those of the longest
    stretch be, between a list above it and one below. A page that calls itself an article is one, and so is one
    with a headline, a day and sentences before the next row, however long the list beside it.
    """
    is_dated = 2 * sum(candidate.date is not None for candidate in candidates) >= len(candidates)
    if not candidates or not is_dated or metadata.says_article:
        return False
    prose = prose_weights(page)
    urls = {candidate.url for candidate in candidates}
    places = sorted({anchor.element.text_start for anchor in page.anchors if anchor.url in urls})
    between = [sum(prose[start:end]) for start, end in pairwise(places)]
    of_list = sum(weight for weight in sorted(between)[:-1] if weight <= _LONGEST_SUMMARY)
    if sum(len(candidate.title) for candidate in candidates) + of_list <= sum(prose) - of_list:
        return False
    days = _Days(today, {candidate.date for candidate in candidates})
    return not _opens_as_article(page, metadata.title_element, prose, places, days)


def _opens_as_article(page: Outline, title: str, prose: Sequence[int], places: Sequence[int], days: "_Days") -> bool:
    """Whether a day of its own stands by a headline, and sentences follow, before a row begins (at `places`).

    The headline is an h1, or what the page's `title` element says too.
    """
    for element in page.elements:
        start = element.text_end
        if element.tag != "h1" and not _may_say(page, element, title):
            continue
        text = page.text_of(element)
        if _weight(text) < _LEAST_HEADLINE or start in places or (element.tag != "h1" and text not in title):
            continue
        following = bisect_left(places, start)
        end = places[following] if following < len(places) else len(page.texts)
        above = max(element.text_start - _TEXTS_OVER, places[following - 1] + 1 if following else 0)
        lines = map(squeeze, page.texts[above : min(end, start + _NEAR_TEXTS)])
        if sum(prose[start:end]) >= _LEAST_SENTENCES and any(days.is_own(line) for line in lines):
            return True
    return False


def _may_say(page: Outline, element: Element, title: str) -> bool:
    """Whether an element of one or two texts begins with words of the title: to look at few only."""
    first = element.text_start
    return 0 < element.text_end - first <= _HEADLINE_TEXTS and page.texts[first].strip()[:_OPENING] in title


@dataclass(frozen=True, slots=True)
class _Days:
    """The days of a page's rows, none of which is the page's own."""

    today: dt.date
    listed: Collection[dt.date | None]

    def is_own(self, line: str) -> bool:
        """Whether a line is hardly more than a day that no row shows."""
        if len(line) > _LONGEST_DAY or is_not_posted(line):
            return False
        return any(match.has_year and match.date not in self.listed for match in dates_in_text(line, self.today))


def _weight(text: str) -> int:
    return len(text) + wide_chars(text)
