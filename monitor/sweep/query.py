"""A saved search as a source: each query is a section, and what the search found is the section's list."""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from monitor.clock import Clock
from monitor.db.reading import SectionPlan
from monitor.db.tables.collection import Source
from monitor.fetch.result import FetchResult
from monitor.i18n.message import Message
from monitor.page import NO_HINTS, Candidate, Page, PageError, PageErrorCode, PageHints
from monitor.pages.loader import PageLoader
from monitor.pages.parsing import PageTask
from monitor.search.bundles.bundle import SearchResultBundle, SearchResultItem
from monitor.search.contract import DateRange, SearchError, SearchQuery
from monitor.sweep.ledger import DateWindow
from monitor.urls import get_host, is_on_site
from monitor.vocabulary import DateSource, Render


@dataclass(frozen=True, kw_only=True)
class QueryResult:
    """The results of a query, or its error, and `notes` for the run."""

    bundle: SearchResultBundle | None = None
    notes: Sequence[Message] = ()
    error: SearchError | None = None


class QueryRunner(Protocol):
    """Answers the queries of one run, each the same whenever it is asked."""

    async def run_query(self, query_id: str, query: SearchQuery) -> QueryResult:
        """Run the query; failures of backends are part of the result."""
        ...


def list_queries(url: str, focus_areas: Sequence[str]) -> list[str]:
    """The queries of a source: its url, where that is no web address, and its focus areas; each once."""
    own = [] if "://" in url else [url]
    return list(dict.fromkeys(query for area in (*own, *focus_areas) if (query := " ".join(area.split()))))


def build_query_plans(source: Source) -> list[SectionPlan]:
    return [
        SectionPlan(ordinal=ordinal, name=query, url=build_query_url(query), is_query=True)
        for ordinal, query in enumerate(list_queries(source.url, source.focus_areas))
    ]


def build_query_url(query: str) -> str:
    """The url under which a query's list is stored, readable for people."""
    return "query:" + re.sub(r"[%?#/\\\s]", lambda sign: quote(sign[0], safe=""), query)


def compute_date_range(source: Source, window: DateWindow) -> DateRange:
    """The days of a run, from the last one that succeeded on, so that an outage leaves no gap."""
    since = window.since
    if source.last_success_at is not None and not window.is_fixed:
        since = min(since, source.last_success_at.date())
    return DateRange(start=since, end=window.until)


class QueryLoader:
    """A `PageLoader` for the lists of queries; it leaves everything else to the loader beneath."""

    def __init__(
        self, loader: PageLoader, *, source: Source, query_runner: QueryRunner, window: DateWindow, clock: Clock
    ) -> None:
        self._loader = loader
        self._plans = {plan.url: plan for plan in build_query_plans(source)}
        self._site = get_host(source.url) or None
        self._query_runner = query_runner
        self._date_range = compute_date_range(source, window)
        self._clock = clock
        self._notes: dict[str, Message] = {}

    async def load(
        self, url: str, *, render: Render = Render.AUTO, task: PageTask | None = None, hints: PageHints = NO_HINTS
    ) -> Page:
        plan = self._plans.get(url)
        if plan is None:
            return await self._loader.load(url, render=render, task=task, hints=hints)
        query = SearchQuery(text=plan.name, time_range=self._date_range, site_filter=self._site)
        results = await self._query_runner.run_query(f"q{plan.ordinal + 1}", query)
        if results.notes:
            self._notes[url] = reduce(lambda a, b: Message.of("cause.both", first=a, second=b), results.notes)
        return build_result_page(results, url, site=self._site, at=self._clock.now())

    async def download(self, url: str, folder: Path) -> Path:
        return await self._loader.download(url, folder)

    async def fetch_data(self, url: str) -> FetchResult:
        return await self._loader.fetch_data(url)

    def list_sitemaps(self, url: str) -> list[str]:
        return self._loader.list_sitemaps(url)

    def can_render(self) -> bool:
        return self._loader.can_render()

    def notes(self) -> Mapping[str, Message]:
        return {**self._loader.notes(), **self._notes}


def build_result_page(result: QueryResult, url: str, *, site: str | None, at: dt.datetime) -> Page:
    """Return a list page of what a search found, in its order; what is not on the site is left out."""
    if result.bundle is None or result.error is not None:
        return Page(url=url, final_url=url, fetched_at=at, error=_build_page_error(result.error))
    found = sorted(result.bundle.results, key=lambda item: item.rank)
    return Page(
        url=url,
        final_url=url,
        title=result.bundle.query_text,
        fetched_at=at,
        candidates=[_build_candidate(item, at.date()) for item in found if site is None or is_on_site(item.url, site)],
    )


def _build_candidate(item: SearchResultItem, today: dt.date) -> Candidate:
    if item.published_at is not None:
        return Candidate(title=item.title, url=item.url, date=item.published_at, date_source=DateSource.LISTED)
    from monitor.dates import date_in_url  # sources of other kinds do without

    day = date_in_url(item.url, today)
    source = DateSource.UNKNOWN if day is None else DateSource.URL
    return Candidate(title=item.title, url=item.url, date=day, date_source=source)


def _build_page_error(error: SearchError | None) -> PageError:
    if error is None:
        return PageError(code=PageErrorCode.NETWORK, message=Message("page.no_search_answer"))
    kind = str(error.type)
    if kind in set(PageErrorCode):
        return PageError(code=PageErrorCode(kind), detail_code=error.detail_code, message=error.message)
    message = Message.of("page.search_error", kind=kind, error=error.message)
    return PageError(code=PageErrorCode.BAD_GATEWAY, detail_code=error.detail_code, message=message)
