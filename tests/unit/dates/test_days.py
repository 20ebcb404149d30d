"""Dates in texts and urls; a doubtful one is none."""

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.dates import date_in_url, detect_order, find_days, has_day

TODAY = dt.date(2026, 11, 21)
FEBRUARY_3 = dt.date(2026, 2, 3)


def parse_day(text: str, today: dt.date, **options: Any) -> dt.date | None:
    """The one day that a short text gives; None where it gives none, or two different ones."""
    found = {match.date for match in find_days(text, today, relative=True, **options)}
    return found.pop() if len(found) == 1 else None


@pytest.mark.parametrize(
    "text",
    [
        "2026年2月3日",
        "２０２６年２月３日",
        "二〇二六年二月三日",
        "二○二六年二月三日",
        "2026-02-03",
        "(2026-02-03 10:15:00)",
        "2026-02-03T23:59:00+08:00",
        "2026/2/3",
        "2026.02.03",
        "2026. 2. 3.",
        "2026년 2월 3일",
        "民國115年2月3日",
        "115-02-03",
        "115/02/03",
        "令和8年2月3日",
        "Feb. 3, 2026",
        "February 3rd, 2026",
        "3 February 2026",
        "3. Februar 2026",
        "3 de febrero de 2026",
        "3 février 2026",
        "3 марта 2026 г.".replace("марта", "февраля"),
        "Tue, 03 Feb 2026 10:00:00 GMT",
        "03-Feb-2026",
        "发布时间：2026-02-03",
        "发布日期:2026年02月03日 浏览次数:12",
        "3rd day of February, 2026",
        "February 3: the council met",
        "03 2026-02",
        "2026-02 03",
        "20260203",
        "[02-03]",
        "02-03",
        "2月3日",
        "3 Feb",
        "3.2.2026",
        "令和八年二月三日",
        "2026年二月三日",
        "3 febbraio 2026",
        "3 de fevereiro de 2026",
        "3 februari 2026",
        "3 lutego 2026",
        "3. helmikuuta 2026",
        "3. února 2026",
        "3 Şubat 2026",
        "3 лютого 2026",
        "3 فبراير 2026",
        "٣ فبراير ٢٠٢٦",
        "ngày 3 tháng 2 năm 2026",
        "3 Februari 2026",
        "3 กุมภาพันธ์ 2569",
        "3 ก.พ. 2569",
        "03.Feb.26",
    ],
)
def test_a_date_is_read_in_every_form_that_sites_use(text: str) -> None:
    assert parse_day(text, TODAY) == FEBRUARY_3


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-30",
        "1989-12-31",
        "2026-11-23",
        "2027年1月1日",
        "02/03/2026",
        "1.2",
        "12:30",
        "2026年",
        "2026-02",
        "国发〔2026〕3号",
        "第12-03号",
        "电话：010-12345678",
        "3个月前",
        "February 30, 2026",
        "no date at all",
        "GB/T 2015-12-31-2",
    ],
)
def test_what_is_impossible_doubtful_or_no_date_is_none(text: str) -> None:
    assert parse_day(text, TODAY) is None


def test_day_and_month_are_distinguished_only_by_a_number_above_twelve() -> None:
    assert detect_order("02/03/2026 and 14/03/2026") == "dmy"
    assert detect_order("02/03/2026 and 03/14/2026") == "mdy"
    assert detect_order("02/03/2026") is None
    assert detect_order("14/03/2026 and 03/14/2026") is None
    assert parse_day("03/02/2026", TODAY, order="dmy") == FEBRUARY_3
    assert parse_day("02/03/2026", TODAY, order="mdy") == FEBRUARY_3
    assert parse_day("02.03.26", TODAY, order="mdy") == FEBRUARY_3


def test_month_and_day_alone_never_lie_in_the_future() -> None:
    assert parse_day("[12-03]", TODAY) == dt.date(2025, 12, 3)
    assert parse_day("11-21", TODAY) == TODAY
    assert parse_day("12-03", TODAY, year=2024) == dt.date(2024, 12, 3)


@pytest.mark.parametrize(
    ("text", "days"),
    [("3天前", 3), ("昨天 10:20", 1), ("前天", 2), ("5小时前", 0), ("yesterday", 1), ("2 weeks ago", 14), ("刚刚", 0)],
)
def test_relative_dates_count_from_the_day_of_fetching(text: str, days: int) -> None:
    assert parse_day(text, TODAY) == TODAY - dt.timedelta(days=days)


@pytest.mark.parametrize(("text", "day"), [("02-03", dt.date(2026, 3, 2)), ("02-25", dt.date(2026, 2, 25))])
def test_a_cell_has_the_day_first_where_the_page_does_unless_its_number_is_no_month(text: str, day: dt.date) -> None:
    assert parse_day(text, TODAY, order="dmy") == day


@pytest.mark.parametrize("text", ["11-17", "03/02/2026", "2/19/26", "3 de febrero", "令和8年2月3日"])
def test_a_text_shows_a_day_whatever_its_order(text: str) -> None:
    assert has_day(text)


@pytest.mark.parametrize("text", ["20260203", "2026-02", "3.5", "no day", "2026年2月"])
def test_a_number_or_a_month_is_no_day(text: str) -> None:
    assert not has_day(text)


def test_relative_words_count_only_where_they_are_asked_for() -> None:
    assert find_days("昨天", TODAY) == []


@pytest.mark.parametrize(
    ("url", "day"),
    [
        ("https://a.gov.cn/20260203/c1/c.html", FEBRUARY_3),
        ("https://a.gov.cn/2026-02/03/content_1.htm", FEBRUARY_3),
        ("https://a.gov.cn/art/2026/2/3/art_1_2.html", FEBRUARY_3),
        ("https://a.gov.cn/202602/t20260203_123.html", FEBRUARY_3),
        ("https://a.com/26/0203/22/FK6F.html", FEBRUARY_3),
        ("https://a.com/2026/0203/127.html", FEBRUARY_3),
        ("https://a.com/blog/2026-02-03-title", FEBRUARY_3),
        ("https://a.com/files/20260203101500_12.pdf", FEBRUARY_3),
        ("https://a.com/2026/feb/03/title", FEBRUARY_3),
        ("https://a.com/2026/POLITICS/02/03/title/index.html", FEBRUARY_3),
        ("https://a.com/2026-02-31/a.html", None),
        ("https://20260203.com/a.html", None),
        ("https://a.com/20270203/a.html", None),
        ("https://a.com/id/101253708362987618304.html", None),
        ("https://a.com/20260203/20260204.html", None),
    ],
)
def test_the_url_gives_its_date(url: str, day: dt.date | None) -> None:
    assert date_in_url(url, TODAY) == day


@given(st.text(alphabet="0123456789年月日-/. []:FebMar昨天前3", max_size=60))
def test_dates_out_are_real_and_not_in_the_future(text: str) -> None:
    for match in find_days(text, TODAY, order="dmy", relative=True):
        assert dt.date(1990, 1, 1) <= match.date <= TODAY + dt.timedelta(days=1) or "前" in text
        assert 0 <= match.start < match.end <= len(text)
