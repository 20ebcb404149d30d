"""Builds the bundle of a query from the answer of a search and the pages that were opened."""

import datetime as dt
from collections.abc import Mapping, Sequence

from monitor.page import Page
from monitor.search.bundles.bundle import (
    ItemStatus,
    SearchResultBundle,
    SearchResultItem,
    compute_source_id,
    compute_stats,
)
from monitor.search.bundles.scoring import ResultScorer
from monitor.search.contract import DateRange, Recency, SearchItem, SearchQuery, ToolResult, resolve_time_range
from monitor.urls import clean_url, is_on_site

_STATUS_ORDER = (ItemStatus.OK, ItemStatus.FILTERED, ItemStatus.FAILED)


def build_bundle(
    answer: ToolResult,
    *,
    task_id: str,
    query_id: str,
    query: SearchQuery,
    intent: str,
    executed_at: dt.datetime,
    scoring: ResultScorer,
    pages: Mapping[str, Page] | None = None,
    content_max_chars: int = 20_000,
) -> SearchResultBundle:
    """Return the bundle of a query, with scored results and each source once.

    `pages` are the pages that were opened, by the url of the result. A result whose page could not be loaded is
    `failed` with the page's error code; one outside of the requested days or site is `filtered`, because not every
    backend serves these options; an unknown date passes. The url of a result is the page's final url, else that of the
    search. Of two results with one source the better one stays: ok before filtered before failed, then the first.
    """
    judged = [
        _build_item(item, (pages or {}).get(item.url), query, executed_at, scoring, content_max_chars)
        for item in answer.items
    ]
    results = _dedupe_sources(judged)
    return SearchResultBundle(
        task_id=task_id,
        query_id=query_id,
        query_text=query.text,
        query_intent=intent,
        provider=answer.provider_meta.provider_name,
        executed_at=executed_at,
        results=results,
        stats=compute_stats(results, removed=len(judged) - len(results)),
    )


def _build_item(
    item: SearchItem,
    page: Page | None,
    query: SearchQuery,
    at: dt.datetime,
    scoring: ResultScorer,
    content_max_chars: int,
) -> SearchResultItem:
    error = page.error if page else None
    seen = page if page and error is None else None
    url = (seen.final_url if seen else None) or clean_url(item.source or "") or item.url
    title, snippet = item.title or (seen.title if seen else ""), item.snippet
    content = seen.text[:content_max_chars] if seen else ""
    published_on = (seen.published_on if seen else None) or item.published_at
    scores = scoring.score_result(
        query.text,
        rank=item.rank,
        title=title,
        text=f"{snippet}\n{content}",
        url=url,
        published_on=published_on,
        today=at.astimezone(dt.UTC).date(),
    )
    return SearchResultItem(
        source_id=compute_source_id(url),
        rank=item.rank,
        url=url,
        title=title,
        snippet=snippet or None,
        content_text=content or None,
        language=seen.language if seen else None,
        published_at=published_on,
        captured_at=page.fetched_at if page else at,
        http_status=page.status if page else None,
        score_relevance=scores.relevance,
        score_freshness=scores.freshness,
        score_authority=scores.authority,
        score_final=scores.final,
        status=ItemStatus.FAILED if error else _classify_status(url, published_on, query, at),
        error_code=error.code if error else None,
    )


def _classify_status(url: str, published_on: dt.date | None, query: SearchQuery, at: dt.datetime) -> ItemStatus:
    on_site = query.site_filter is None or is_on_site(url, query.site_filter)
    is_asked_for = on_site and _is_in_range(published_on, query.time_range, at)
    return ItemStatus.OK if is_asked_for else ItemStatus.FILTERED


def _is_in_range(published_on: dt.date | None, time_range: Recency | DateRange | None, at: dt.datetime) -> bool:
    """Return whether a date is in range, with a tolerance of one day, because dates have no time zone."""
    if published_on is None:
        return True
    asked = resolve_time_range(time_range, at.date())
    is_too_old = asked.start is not None and (asked.start - published_on).days > 1
    is_too_new = asked.end is not None and (published_on - asked.end).days > 1
    return not is_too_old and not is_too_new


def _dedupe_sources(results: Sequence[SearchResultItem]) -> list[SearchResultItem]:
    best: dict[str, SearchResultItem] = {}
    for result in results:
        kept = best.get(result.source_id)
        if kept is None or _STATUS_ORDER.index(result.status) < _STATUS_ORDER.index(kept.status):
            best[result.source_id] = result
    return list(best.values())
