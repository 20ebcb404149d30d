"""Dates in sentences: whole or in part, never doubtful."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.dates import PartialDate, carry_years, find_compact_dates, find_dates
from monitor.dates.forms import FORMS, Context
from monitor.dates.grammar import scan

WITHOUT_DAY = (
    "era_month",
    "chinese_month",
    "republic_month",
    "year_month",
    "name_year",
    "thai_month",
    "vietnamese_month",
    "era_year",
    "thai_era_year",
)

YEAR_MONTH_DAY = [
    ("自2026年2月3日起施行", (2026, 2, 3)),
    ("二〇一一年十一月十一日", (2011, 11, 11)),
    ("二零二六年二月廿三日", (2026, 2, 23)),
    ("一八四〇年六月二十八日", (1840, 6, 28)),
    ("2026년 2월 3일부터", (2026, 2, 3)),
    ("中華民國115年2月3日", (2026, 2, 3)),
    ("民國一百一十五年二月三日", (2026, 2, 3)),
    ("115年2月3日", (2026, 2, 3)),
    ("令和元年五月一日", (2019, 5, 1)),
    ("昭和64年1月7日", (1989, 1, 7)),
    ("단기 4359년 2월 3일", (2026, 2, 3)),
    ("佛曆2569年2月3日", (2026, 2, 3)),
    ("am 03.02.2026 in Kraft", (2026, 2, 3)),
    ("am 3. Februar 2026 in Kraft", (2026, 2, 3)),
    ("on 14/03/2026", (2026, 3, 14)),
    ("on 03/14/2026", (2026, 3, 14)),
    ("el 3 de febrero de 2026", (2026, 2, 3)),
    ("le 1er février 2026", (2026, 2, 1)),
    ("il 1° febbraio 2026", (2026, 2, 1)),
    ("em 1º de fevereiro de 2026", (2026, 2, 1)),
    ("с 3 февраля 2026 года", (2026, 2, 3)),
    ("dnia 3.II.2026 r.", (2026, 2, 3)),
    ("2026. február 3-án", (2026, 2, 3)),
    ("từ ngày 3 tháng 2 năm 2026", (2026, 2, 3)),
    ("ngày 03/02/2026", (2026, 2, 3)),
    ("วันที่ ๓ กุมภาพันธ์ พ.ศ. ๒๕๖๙", (2026, 2, 3)),
    ("3 ก.พ. 69", (2026, 2, 3)),
    ("03/02/2569", (2026, 2, 3)),
    ("في ٣ فبراير ٢٠٢٦", (2026, 2, 3)),
    ("في 3 شباط/فبراير 2026", (2026, 2, 3)),
    ("٢٠٢٦/٠٢/٠٣", (2026, 2, 3)),
    ("the 3rd day of February, 2026", (2026, 2, 3)),
    ("Nr. 25 vom 20. Oktober 2021", (2021, 10, 20)),
    ("come into force on 5 October 2026.\n1.6 Providers must", (2026, 10, 5)),
    ("於一百十六年六月三十日前補正", (2027, 6, 30)),
]
IN_PART = [
    ("2026年2月份", (2026, 2, None)),
    ("2026년 2월", (2026, 2, None)),
    ("令和8年2月", (2026, 2, None)),
    ("於115年2月完成", (2026, 2, None)),
    ("2026年1月10个省", (2026, 1, None)),
    ("in February 2026", (2026, 2, None)),
    ("en febrero de 2026", (2026, 2, None)),
    ("tháng 2 năm 2026", (2026, 2, None)),
    ("กุมภาพันธ์ พ.ศ. 2569", (2026, 2, None)),
    ("2026-02", (2026, 2, None)),
    ("2月3日召开", (None, 2, 3)),
    ("元月3日", (None, 1, 3)),
    ("on May 12.", (None, 5, 12)),
    ("el 3 de febrero", (None, 2, 3)),
    ("ngày 3 tháng 2", (None, 2, 3)),
    ("3 กุมภาพันธ์", (None, 2, 3)),
    ("令和8年度", (2026, None, None)),
    ("พ.ศ. 2569", (2026, None, None)),
]


@pytest.mark.parametrize(("text", "parts"), YEAR_MONTH_DAY + IN_PART)
def test_a_sentence_says_a_date_as_far_as_it_is_written(text: str, parts: tuple[int | None, ...]) -> None:
    assert [date.value.parts for date in find_dates(text)] == [parts]


@pytest.mark.parametrize(
    "text",
    [
        "on 02/03/2026",
        "on 02/03/26",
        "rose by 3-5",
        "[02-03]",
        "version 1.2.3",
        "R 4.1.2",
        "may 3 percent",
        "set 2026 targets",
        "phase 1 may 30, then",
        "mar 5",
        "GB/T 2015-12-31-2",
        "2026年13日",
        "February 30, 2026",
        "March 3.5",
        "code 5-may",
        "电话：010-12345678",
    ],
)
def test_a_sentence_with_a_doubtful_date_says_none(text: str) -> None:
    assert find_dates(text) == []


def test_the_order_that_a_page_shows_settles_its_numeric_dates() -> None:
    assert [date.value for date in find_dates("on 02/03/2026", order="dmy")] == [PartialDate(2026, 3, 2)]
    assert [date.value for date in find_dates("on 02/03/2026", order="mdy")] == [PartialDate(2026, 2, 3)]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("2026年2月3日至5日", [(2026, 2, 3), (2026, 2, 5)]),
        ("2月3日—5日", [(None, 2, 3), (None, 2, 5)]),
        ("2026년 2월 3일부터 5일까지", [(2026, 2, 3), (2026, 2, 5)]),
        ("3–5 February 2026", [(2026, 2, 3), (2026, 2, 5)]),
        ("3. bis 5. Februar 2026", [(2026, 2, 3), (2026, 2, 5)]),
        ("February 3–5, 2026", [(2026, 2, 3), (2026, 2, 5)]),
        ("3 February to 5 March 2026", [(2026, 2, 3), (2026, 3, 5)]),
        ("30 December to 5 January 2026", [(2025, 12, 30), (2026, 1, 5)]),
        ("Article 2 - 3 February 2026", [(2026, 2, 3)]),
    ],
)
def test_a_range_says_both_of_its_days(text: str, days: list[tuple[int | None, int, int]]) -> None:
    assert [date.value.parts for date in find_dates(text)] == days


@pytest.mark.parametrize("text", ["３ 2月３日", "٣ فبراير ٢٠٢٦", "于２０２６年２月３日至５日"])
def test_the_words_of_a_date_are_those_of_the_text(text: str) -> None:
    assert find_dates(text)
    assert all(date.written == text[date.start : date.end] for date in find_dates(text))


def test_numbers_of_eight_digits_are_dates_only_where_they_are_asked_for() -> None:
    assert find_dates("时间：20260203") == []
    assert [date.value for date in find_compact_dates("时间：20260203，12026020")] == [PartialDate(2026, 2, 3)]


def test_a_date_without_its_year_may_have_the_year_before_it() -> None:
    dates = find_dates("2026年2月3日发布，自3月1日起施行。")
    carried = [(place, date.value.parts) for place, date in carry_years(dates)]
    assert carried == [(0, (2026, 2, 3)), (1, (None, 3, 1)), (1, (2026, 3, 1))]


def test_a_date_covers_what_says_less_and_agrees_with_what_says_nothing_else() -> None:
    day, month, other = PartialDate(2026, 2, 3), PartialDate(2026, 2), PartialDate(None, 2, 4)
    assert day.covers(month)
    assert not month.covers(day)
    assert day.agrees(month)
    assert month.agrees(other)
    assert not day.agrees(other)
    assert month.to_date() is None
    assert PartialDate(2026, 2, 30).to_date() is None


@pytest.mark.parametrize(("form", "example"), [(form.name, example) for form in FORMS for example in form.examples])
def test_every_form_reads_its_own_examples_of_one_day(form: str, example: str) -> None:
    whole = PartialDate(2026, 2, 3)
    context = Context(is_list=form not in WITHOUT_DAY)
    assert [date.form for date in scan(example, context) if whole.covers(date.value)] == [form]


@given(st.text(alphabet="0123456789年月日-/. []:FebMar昨天前3至กพ.tháng令和", max_size=60))
def test_dates_are_real_in_order_and_never_over_one_another(text: str) -> None:
    end = 0
    for date in find_dates(text):
        assert date.value.is_real
        assert end <= date.start < date.end <= len(text)
        assert date.written == text[date.start : date.end]
        end = date.end
