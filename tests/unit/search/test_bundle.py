import datetime as dt
from typing import Any

import pytest
from pydantic import ValidationError

from monitor.search.bundles.bundle import SearchResultItem, compute_source_id

ITEM: dict[str, Any] = {
    "source_id": "0" * 16,
    "rank": 1,
    "url": "https://example.org/a",
    "title": "",
    "captured_at": "2026-02-06T10:00:00Z",
    "score_relevance": 0.5,
    "score_freshness": 0.5,
    "score_authority": 0.5,
    "score_final": 0.5,
    "status": "ok",
}


def test_a_failed_item_says_why() -> None:
    assert (
        SearchResultItem.model_validate({**ITEM, "status": "failed", "error_code": "timeout"}).error_code == "timeout"
    )
    for code in ({}, {"error_code": None}, {"error_code": ""}):
        with pytest.raises(ValidationError, match="error_code"):
            SearchResultItem.model_validate({**ITEM, "status": "failed", **code})


@pytest.mark.parametrize("score", ["relevance", "freshness", "authority", "final"])
@pytest.mark.parametrize("wrong", [-0.01, 1.01, float("nan"), float("inf"), None])
def test_a_score_is_a_number_from_0_to_1(score: str, wrong: float | None) -> None:
    with pytest.raises(ValidationError, match=f"score_{score}"):
        SearchResultItem.model_validate({**ITEM, f"score_{score}": wrong})


@pytest.mark.parametrize("name", ITEM)
def test_every_field_without_a_question_mark_has_to_be_there(name: str) -> None:
    with pytest.raises(ValidationError, match=name):
        SearchResultItem.model_validate({key: value for key, value in ITEM.items() if key != name})


def test_instants_are_written_in_utc_and_days_as_they_stand() -> None:
    given = {"captured_at": "2026-02-06T10:00:00+08:00", "published_at": "2026-02-03T23:30:00-05:00"}
    item = SearchResultItem.model_validate({**ITEM, **given})
    written = item.model_dump(mode="json")
    assert (written["captured_at"], written["published_at"]) == ("2026-02-06T02:00:00Z", "2026-02-03")
    naive = SearchResultItem.model_validate({**ITEM, "captured_at": dt.datetime(2026, 2, 6, 10)})  # noqa: DTZ001
    assert naive.captured_at == dt.datetime(2026, 2, 6, 10, tzinfo=dt.UTC)


def test_half_characters_do_not_keep_a_bundle_from_being_written() -> None:
    item = SearchResultItem.model_validate({**ITEM, "title": "half \ud800", "content_text": "\udfff"})
    assert SearchResultItem.model_validate_json(item.model_dump_json()).title == "half ?"


def test_a_source_is_named_by_its_normalised_url() -> None:
    # printf 'example.org/a?b=1' | sha256sum: it may never change, or bundles on a disk lose their meaning.
    assert compute_source_id("https://www.example.org/a?b=1") == "d4fd67c18db2b106"
    same = ["http://example.org/a/?b=1", "https://EXAMPLE.org/a?b=1#top", "https://www.example.org/a?b=1&utm_source=x"]
    assert {compute_source_id(url) for url in same} == {compute_source_id("https://www.example.org/a?b=1")}
    assert compute_source_id("https://example.org/a?b=2") != compute_source_id("https://example.org/a?b=1")


@pytest.mark.parametrize("url", ["", "http://[", "javascript:alert(1)", "half \ud800", "字" * 3000])
def test_what_is_no_url_has_a_name_as_well(url: str) -> None:
    assert len(compute_source_id(url)) == 16
    assert int(compute_source_id(url), 16) >= 0
