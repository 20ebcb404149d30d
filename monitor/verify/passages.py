"""What of a page supports an item: found in one go for each page, in a worker process.

The functions import the rules themselves: only workers need them.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from monitor.fetch.result import FetchResult
from monitor.page import Attachment, Candidate
from monitor.vocabulary import DateSource

if TYPE_CHECKING:
    from monitor.evidence.passages import PassageFinder
    from monitor.verify.grounding import Grounding

MAX_GROUNDED_CHARS = 200_000
"""How far a page is read for the figures of its summary."""

_VISIBLE_DATE_SOURCES = (DateSource.LISTED, DateSource.FEED)
LIST_DATE_SOURCES = (*_VISIBLE_DATE_SOURCES, DateSource.URL)


@dataclass(frozen=True, slots=True)
class RowPassages:
    """The row of a candidate on its list page, and what gives its date there; empty where there is none."""

    row: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class ArticlePassages:
    """The passages of an article that give these days, and the texts of the links to these urls, in their orders."""

    days: Sequence[str]
    links: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleClaims:
    """What is claimed of an item on the ground of its page: days, documents, and a summary with its figures."""

    days: Sequence[dt.date]
    urls: Sequence[str]
    summary: str
    title: str
    published_on: dt.date | None

    @classmethod
    def of_item(
        cls,
        *,
        title: str,
        date: dt.date | None,
        date_source: DateSource,
        published_on: dt.date | None,
        attachments: Sequence[Attachment],
        statements: Sequence[str],
    ) -> Self:
        """Return the claims of an item with this title and date, whose page states `published_on`."""
        days = {published_on, date if date_source is DateSource.PAGE else None}
        return cls(
            days=sorted(filter(None, days)),
            urls=[attachment.url for attachment in attachments],
            summary="\n".join(statements),
            title=title,
            published_on=published_on or date,
        )


@dataclass(frozen=True, slots=True)
class ArticleSupport:
    """What of an article supports these claims; `passages` is None where its record is lost."""

    claims: ArticleClaims
    passages: ArticlePassages | None
    figures: "Sequence[Grounding]"


def find_article_support(result: FetchResult | None, text: str, claims: ArticleClaims) -> ArticleSupport:
    passages = None
    if result is not None:
        is_asked = claims.days or claims.urls
        passages = find_article_passages(result, claims.days, claims.urls) if is_asked else ArticlePassages([], [])
    figures: Sequence[Grounding] = ()
    if claims.summary:
        figures = ground_summary(claims.summary, claims.title, text, claims.published_on)
    return ArticleSupport(claims, passages, figures)


def find_row_passages(result: FetchResult, candidates: Sequence[Candidate]) -> list[RowPassages]:
    """Return what a recorded list page has of each candidate."""
    from monitor.evidence.passages import PassageFinder

    finder = PassageFinder(result)
    return [_find_row(finder, candidate) for candidate in candidates]


def find_article_passages(result: FetchResult, days: Sequence[dt.date], urls: Sequence[str]) -> ArticlePassages:
    from monitor.evidence.passages import PassageFinder

    finder = PassageFinder(result)
    return ArticlePassages([finder.find_date(day) for day in days], [finder.find_link_text(url) for url in urls])


def ground_summary(summary: str, title: str, text: str, published_on: dt.date | None) -> "list[Grounding]":
    """Return every number and date of a summary with the words of its page that support it."""
    from monitor.verify.grounding import Grounding, NumberIndex

    index = NumberIndex(f"{title}\n{text[:MAX_GROUNDED_CHARS]}", published_on=published_on)
    return [
        Grounding(number.written, number.passage and _cut_around_figure(number.written, number.passage))
        for number in index.ground(summary)
    ]


def _find_row(finder: "PassageFinder", candidate: Candidate) -> RowPassages:
    date = candidate.date if candidate.date_source in _VISIBLE_DATE_SOURCES else None
    row = finder.find_row(candidate.url, candidate.title, date)
    if candidate.date is None or candidate.date_source not in LIST_DATE_SOURCES:
        return RowPassages(row)
    if candidate.date_source is DateSource.URL:
        return RowPassages(row, finder.find_href(candidate.url))
    return RowPassages(row, finder.find_row_date(candidate.url, row, candidate.date))


def _cut_around_figure(written: str, passage: str) -> str:
    """Return a long passage cut to the text around a figure, whole if the figure is spelled differently in it."""
    from monitor.evidence.passages import MAX_PASSAGE_CHARS

    place = passage.find(written)
    if len(passage) <= MAX_PASSAGE_CHARS or place < 0:
        return passage
    start = max(place - MAX_PASSAGE_CHARS // 2, 0)
    return passage[start : start + MAX_PASSAGE_CHARS]
