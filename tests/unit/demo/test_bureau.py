"""The sample bureau: what makes it a second source beside the ministry."""

import datetime as dt

import pytest

from monitor.demo.serving import LoopbackRequest
from monitor.demo.site import ExpectedItem, SampleSite

TODAY = dt.date(2026, 11, 21)
BASE = "http://127.0.0.1:8099"


def items_of(name: str, today: dt.date = TODAY) -> list[ExpectedItem]:
    return SampleSite(name, today=today).list_expected_items(BASE)


@pytest.mark.parametrize("days", range(0, 400, 41))
def test_titles_and_urls_are_unique_on_any_day(days: int) -> None:
    items = items_of("bureau", TODAY + dt.timedelta(days=days))
    assert len({item.title for item in items}) == len({item.url for item in items}) == len(items)


def test_every_expected_page_shows_its_title() -> None:
    site = SampleSite("bureau", today=TODAY)
    for item in site.list_expected_items(BASE):
        answer = site.respond(LoopbackRequest("GET", item.url.removeprefix(BASE), "127.0.0.1:8099"))
        assert answer.status == 200
        assert item.title in answer.body.decode()


def test_two_documents_of_the_ministry_stand_there_too_and_one_that_only_resembles_them() -> None:
    ministry = {item.document_number for item in items_of("ministry")} - {None}
    shared = [item.title for item in items_of("bureau") if item.document_number in ministry]
    assert shared == [
        "国家绿色能源总署关于加快构建新型绿色能源体系的指导意见",
        "绿色电力证书核发和交易管理办法（国家绿色能源总署令第21号）",
    ]
    assert "东川省关于加快构建新型绿色能源体系的实施方案" in {item.title for item in items_of("bureau")}


def test_it_explains_a_document_of_the_ministry() -> None:
    readings = [item.title for item in items_of("bureau") if item.type == "解读"]
    assert any(item.title in reading for item in items_of("ministry") for reading in readings)
