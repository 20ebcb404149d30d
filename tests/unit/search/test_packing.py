import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from monitor.config.model import RetrievalSettings, WeightSettings
from monitor.page import Page, PageError, PageErrorCode
from monitor.search.bundles.bundle import ItemStatus, SearchResultBundle, SearchResultItem, compute_source_id
from monitor.search.bundles.packing import build_bundle
from monitor.search.bundles.scoring import ResultScorer
from monitor.search.contract import DateRange, ProviderMeta, Recency, SearchItem, SearchQuery, ToolResult

AT = dt.datetime(2026, 11, 21, 8, 0, tzinfo=dt.UTC)
SCORING = ResultScorer(WeightSettings(), RetrievalSettings())


def found(url: str, **given: Any) -> SearchItem:
    return SearchItem(**{"title": "光伏", "snippet": "", "provider": "brave", "rank": 1, **given, "url": url})


def page(url: str, **given: Any) -> Page:
    return Page(**{"url": url, "final_url": url, "status": 200, "fetched_at": AT, **given})


def packed(*items: SearchItem, query: SearchQuery | None = None, **given: Any) -> SearchResultBundle:
    meta = ProviderMeta(provider_name="brave", latency_ms=1, request_id="r")
    return build_bundle(
        ToolResult(items=list(items), provider_meta=meta, errors=[]),
        task_id="t",
        query_id="q1",
        query=query or SearchQuery(text="光伏"),
        intent="policy",
        executed_at=AT,
        scoring=SCORING,
        **given,
    )


def only(bundle: SearchResultBundle) -> SearchResultItem:
    assert len(bundle.results) == 1
    return bundle.results[0]


def test_a_result_without_its_page_is_what_the_search_told() -> None:
    result = only(packed(found("https://a.gov.cn/1", rank=4, snippet="补贴", published_at=dt.date(2026, 11, 20))))
    assert (result.rank, result.url, result.title, result.snippet) == (4, "https://a.gov.cn/1", "光伏", "补贴")
    assert (result.published_at, result.captured_at, result.status) == (dt.date(2026, 11, 20), AT, ItemStatus.OK)
    assert result.source_id == compute_source_id("https://a.gov.cn/1")
    assert result.content_text is result.http_status is result.error_code is None
    assert result.score_authority == 1.0


def test_a_page_that_was_opened_tells_more_than_the_search() -> None:
    seen = page(
        "https://s.example/link?url=1",
        final_url="https://a.gov.cn/1",
        text="正文" * 10,
        language="zh",
        published_on=dt.date(2026, 11, 1),
        title="页面的标题",
        fetched_at=AT + dt.timedelta(seconds=9),
    )
    item = found("https://s.example/link?url=1", title="", published_at=dt.date(2026, 11, 20))
    result = only(packed(item, pages={item.url: seen}, content_max_chars=6))
    assert (result.url, result.source_id) == ("https://a.gov.cn/1", compute_source_id("https://a.gov.cn/1"))
    assert (result.title, result.content_text, result.language) == ("页面的标题", "正文正文正文", "zh")
    assert (result.published_at, result.captured_at) == (dt.date(2026, 11, 1), seen.fetched_at)
    assert (result.http_status, result.score_authority) == (200, 1.0)


def test_the_real_address_behind_a_redirect_names_the_source() -> None:
    result = only(packed(found("https://s.example/link?url=1", source="https://a.gov.cn/1")))
    assert (result.url, result.source_id) == ("https://a.gov.cn/1", compute_source_id("https://a.gov.cn/1"))
    odd = only(packed(found("https://s.example/link?url=1", source="nourl.example")))
    assert odd.url == "https://s.example/link?url=1"


def test_a_page_that_could_not_be_loaded_makes_its_result_failed_with_the_pages_code() -> None:
    error = PageError(code=PageErrorCode.WEB_BLOCKED, detail_code="captcha_required", message="no")
    item = found("https://a.example/1")
    broken = page(item.url, final_url="https://a.example/captcha", status=403, error=error, text="half a page")
    bundle = packed(item, pages={item.url: broken})
    result = only(bundle)
    assert (result.status, result.error_code, result.http_status) == (ItemStatus.FAILED, "WebBlocked", 403)
    assert (result.url, result.content_text) == ("https://a.example/1", None)
    assert bundle.stats.model_dump() == {
        "total_returned": 1,
        "kept_after_filter": 0,
        "failed_count": 1,
        "dedup_count": 0,
    }


@pytest.mark.parametrize(
    ("asked", "published", "status"),
    [
        (Recency.WEEK, dt.date(2026, 11, 15), "ok"),
        (Recency.WEEK, dt.date(2026, 11, 1), "filtered"),
        (Recency.WEEK, None, "ok"),
        (Recency.DAY, dt.date(2026, 11, 21), "ok"),
        (DateRange(start=dt.date(2026, 1, 1), end=dt.date(2026, 1, 31)), dt.date(2026, 1, 31), "ok"),
        (DateRange(start=dt.date(2026, 1, 1), end=dt.date(2026, 1, 31)), dt.date(2026, 2, 1), "ok"),
        (DateRange(start=dt.date(2026, 1, 1), end=dt.date(2026, 1, 31)), dt.date(2026, 2, 2), "filtered"),
        (DateRange(end=dt.date(2026, 1, 31)), dt.date(1999, 2, 2), "ok"),
        (DateRange(start=dt.date(2026, 1, 1)), dt.date(2025, 12, 31), "ok"),
        (DateRange(start=dt.date(2026, 1, 1)), dt.date(2025, 12, 30), "filtered"),
        (DateRange(start=dt.date.min, end=dt.date.max), dt.date.max, "ok"),
    ],
)
def test_what_lies_outside_of_the_days_asked_for_is_filtered(
    asked: Any, published: dt.date | None, status: str
) -> None:
    query = SearchQuery(text="光伏", time_range=asked)
    assert only(packed(found("https://a.example/1", published_at=published), query=query)).status == status


def test_what_lies_on_another_site_is_filtered() -> None:
    query = SearchQuery(text="光伏", site_filter="gov.cn")
    hosts = ["gov.cn", "a.gov.cn", "notgov.cn", "gov.cn.example"]
    bundle = packed(*(found(f"https://{host}/") for host in hosts), query=query)
    assert [result.status for result in bundle.results] == ["ok", "ok", "filtered", "filtered"]
    assert (bundle.stats.total_returned, bundle.stats.kept_after_filter) == (4, 2)


def test_of_one_source_the_better_result_stays() -> None:
    error = PageError(code=PageErrorCode.TIMEOUT, message="late")
    urls = ["http://a.example/1", "https://www.a.example/1", "https://a.example/1/"]
    bundle = packed(
        *(found(url, rank=rank) for rank, url in enumerate(urls, 1)),
        found("https://b.example/", rank=4),
        pages={urls[0]: page(urls[0], error=error, status=None)},
    )
    assert [(result.rank, result.status) for result in bundle.results] == [(2, "ok"), (4, "ok")]
    assert (bundle.stats.total_returned, bundle.stats.dedup_count, bundle.stats.failed_count) == (4, 2, 0)


def test_a_search_that_found_nothing_is_an_empty_bundle() -> None:
    bundle = packed()
    assert bundle.results == []
    assert set(bundle.stats.model_dump().values()) == {0}


URLS = st.sampled_from([f"https://{host}/{number}" for host in ("a.gov.cn", "b.example") for number in range(3)])
ERRORS = st.none() | st.builds(PageError, code=st.sampled_from(PageErrorCode), message=st.just("no"))
HITS = st.lists(st.tuples(URLS, st.text(max_size=10), st.none() | st.dates(), st.booleans(), ERRORS), max_size=12)


@given(HITS, st.none() | st.sampled_from(Recency), st.sampled_from([None, "gov.cn"]))
@limits(max_examples=200)
def test_the_counts_add_up_and_the_bundle_can_be_written(hits: Any, asked: Recency | None, site: str | None) -> None:
    items = [
        found(url, title=title, published_at=day, rank=rank) for rank, (url, title, day, _, _) in enumerate(hits, 1)
    ]
    pages = {url: page(url, text=text, error=error) for url, text, _, is_opened, error in hits if is_opened}
    bundle = packed(*items, query=SearchQuery(text="光伏", time_range=asked, site_filter=site), pages=pages)
    stats, statuses = bundle.stats, [result.status for result in bundle.results]
    assert stats.total_returned == len(items) == len(bundle.results) + stats.dedup_count
    filtered = statuses.count(ItemStatus.FILTERED)
    assert stats.total_returned == stats.kept_after_filter + filtered + stats.failed_count + stats.dedup_count
    assert stats.kept_after_filter == statuses.count(ItemStatus.OK)
    assert {result.source_id for result in bundle.results} == {compute_source_id(item.url) for item in items}
    assert len({result.source_id for result in bundle.results}) == len(bundle.results)
    assert all((result.status is ItemStatus.FAILED) == (result.error_code is not None) for result in bundle.results)
    assert SearchResultBundle.model_validate_json(bundle.model_dump_json()) == bundle
