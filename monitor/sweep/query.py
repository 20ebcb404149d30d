"""A standing search as a source: each of its queries is a section, and what the search found is the section's list.

So what is found goes the way of every other candidate: judged once, dated by the result, its url or its article, saved,
summarised and ranked. A result list has no further pages, and what it shows is no complete list of anything: nothing is
concluded from what is missing in it.
"""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from monitor.domain.page import Candidate, Page, PageError, PageErrorCode
from monitor.domain.reading import SectionPlan
from monitor.domain.searching import DateRange, SearchError, SearchQuery
from monitor.domain.tables import Source
from monitor.domain.urls import host_of, is_on_site
from monitor.domain.words import DateSource, Render
from monitor.pages.urldates import date_in_url
from monitor.ports import Clock, PageLoader
from monitor.retrieval.bundle import SearchResultBundle, SearchResultItem
from monitor.sweep.window import Window

SCHEME = "query:"
"""What the address of a query's list begins with; no site has such a one."""

_CODES = {str(code): code for code in PageErrorCode}


@dataclass(frozen=True, kw_only=True)
class Results:
    """What came of a query; `error` where nothing did. `notes` are what the run should say about it."""

    bundle: SearchResultBundle | None = None
    notes: Sequence[str] = ()
    error: SearchError | None = None


class QueryResults(Protocol):
    """Answers the queries of one run, each the same whenever it is asked."""

    async def of(self, query_id: str, query: SearchQuery) -> Results:
        """What came of the query; never raises for what the outside does."""
        ...


def queries_of(url: str, focus_areas: Sequence[str]) -> list[str]:
    """The queries of a source: its url, where that is no web address, and its focus areas; each once."""
    own = [] if "://" in url else [url]
    return list(dict.fromkeys(query for area in (*own, *focus_areas) if (query := " ".join(area.split()))))


def query_plans(source: Source) -> list[SectionPlan]:
    """A section for each query of the source."""
    queries = queries_of(source.url, source.focus_areas)
    return [
        SectionPlan(ordinal=ordinal, name=query, url=address_of(query), is_query=True)
        for ordinal, query in enumerate(queries)
    ]


def address_of(query: str) -> str:
    """The address under which a query's list is known, readable for people."""
    return SCHEME + re.sub(r"[%?#/\\\s]", lambda sign: quote(sign[0], safe=""), query)


def days_to_ask_for(source: Source, window: Window) -> DateRange:
    """The days of a run, reaching back to the last one that succeeded, so that an outage leaves no gap."""
    since = window.since
    if source.last_success_at is not None and not window.is_fixed:
        since = min(since, source.last_success_at.date())
    return DateRange(start=since, end=window.until)


class QueryLoader:
    """Loads the lists of queries, and everything else like the loader beneath (`ports.PageLoader`)."""

    def __init__(
        self, beneath: PageLoader, *, source: Source, results: QueryResults, window: Window, clock: Clock
    ) -> None:
        self._beneath = beneath
        self._plans = {plan.url: plan for plan in query_plans(source)}
        self._site = host_of(source.url) or None
        self._results = results
        self._days = days_to_ask_for(source, window)
        self._clock = clock
        self._notes: dict[str, str] = {}

    async def load(self, url: str, *, render: Render = Render.AUTO) -> Page:
        """The page at `url`, or what a search found."""
        plan = self._plans.get(url)
        if plan is None:
            return await self._beneath.load(url, render=render)
        query = SearchQuery(text=plan.name, time_range=self._days, site_filter=self._site)
        results = await self._results.of(f"q{plan.ordinal + 1}", query)
        if results.notes:
            self._notes[url] = " ".join(results.notes)
        return page_of(results, url, site=self._site, at=self._clock.now())

    async def download(self, url: str, folder: Path) -> Path:
        return await self._beneath.download(url, folder)

    def can_draw(self) -> bool:
        """Whether there is a browser to draw with."""
        return self._beneath.can_draw()

    def notes(self) -> Mapping[str, str]:
        """What the run should say about its searches and about getting to the pages."""
        return {**self._beneath.notes(), **self._notes}


def page_of(results: Results, url: str, *, site: str | None, at: dt.datetime) -> Page:
    """What a search found as a list page, in the order of the search; what is not on the site stays in the bundle."""
    if results.bundle is None or results.error is not None:
        return Page(url=url, final_url=url, fetched_at=at, error=_page_error(results.error))
    found = sorted(results.bundle.results, key=lambda item: item.rank)
    return Page(
        url=url,
        final_url=url,
        title=results.bundle.query_text,
        fetched_at=at,
        candidates=[_candidate(item, at.date()) for item in found if site is None or is_on_site(item.url, site)],
    )


def _candidate(item: SearchResultItem, today: dt.date) -> Candidate:
    if item.published_at is not None:
        return Candidate(title=item.title, url=item.url, date=item.published_at, date_source=DateSource.LISTED)
    day = date_in_url(item.url, today)
    source = DateSource.UNKNOWN if day is None else DateSource.URL
    return Candidate(title=item.title, url=item.url, date=day, date_source=source)


def _page_error(error: SearchError | None) -> PageError:
    if error is None:
        return PageError(code=PageErrorCode.NETWORK, message="the search gave no answer")
    code = _CODES.get(str(error.type), PageErrorCode.BAD_GATEWAY)
    message = error.message if str(error.type) in _CODES else f"{error.type}: {error.message}"
    return PageError(code=code, detail_code=error.detail_code, message=message)
