"""Periods in texts: what a figure counts, from its first to its last day."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.dates import find_periods

PUBLISHED = dt.date(2026, 11, 2)
NINE_MONTHS = ("2026-01-01", "2026-09-30")
FIRST_HALF = ("2026-01-01", "2026-06-30")
THIRD_QUARTER = ("2026-07-01", "2026-09-30")
TEN_MONTHS = ("2026-01-01", "2026-10-31")
YEAR_END = ("2026-12-31", "2026-12-31")
OCTOBER = ("2026-10-01", "2026-10-31")
PLAN = ("2021-01-01", "2025-12-31")


def ends(text: str, published_on: dt.date | None = PUBLISHED) -> list[tuple[str, str]]:
    return [(str(period.start), str(period.end)) for period in find_periods(text, published_on)]


@pytest.mark.parametrize(
    ("period", "written"),
    [
        *(
            (NINE_MONTHS, text)
            for text in ("2026年前三季度", "前三个季度", "2026年1—9月", "今年1至9月份", "前九个月", "前9月")
        ),
        (NINE_MONTHS, "the first nine months of 2026"),
        (NINE_MONTHS, "the first three quarters of this year"),
        (NINE_MONTHS, "January to September 2026"),
        (NINE_MONTHS, "the nine months ended 30 September 2026"),
        (NINE_MONTHS, "2026年1月1日至9月30日"),
        (NINE_MONTHS, "Q1-Q3 2026"),
        (NINE_MONTHS, "2026年一至三季度"),
        *((FIRST_HALF, text) for text in ("上半年", "2026年上半年", "H1 2026", "1H26", "2026H1", "first half of 2026")),
        (FIRST_HALF, "民國115年上半年"),
        (FIRST_HALF, "2026년 상반기"),
        (FIRST_HALF, "1. Halbjahr 2026"),
        (FIRST_HALF, "premier semestre 2026"),
        *((THIRD_QUARTER, text) for text in ("三季度", "2026年第三季度", "Q3 2026", "3Q26", "2026Q3", "上季度")),
        (THIRD_QUARTER, "the third quarter of 2026"),
        (THIRD_QUARTER, "the three months ended September 30, 2026"),
        (THIRD_QUARTER, "the three months to September"),
        (("2025-12-01", "2026-02-28"), "the three months to February 2026"),
        (THIRD_QUARTER, "2026年第3四半期"),
        (THIRD_QUARTER, "3. Quartal 2026"),
        (THIRD_QUARTER, "tercer trimestre de 2026"),
        (THIRD_QUARTER, "2026년 3분기"),
        *((TEN_MONTHS, text) for text in ("1-10月", "前10个月", "2026年1月至10月", "Jan–Oct 2026")),
        *((OCTOBER, text) for text in ("10月份", "上月", "last month", "2026年10月", "October 2026", "2026-10")),
        *(
            (YEAR_END, text)
            for text in ("年底", "2026年末", "今年年底", "end-2026", "the end of 2026", "year-end 2026")
        ),
        (YEAR_END, "2026年12月底"),
        (YEAR_END, "四季度末"),
        *(
            (PLAN, text)
            for text in ("“十四五”期间", "2021—2025年", "the 14th Five-Year Plan period", "第十四个五年规划")
        ),
        (("2025-01-01", "2025-12-31"), "去年"),
        (("2025-01-01", "2025-12-31"), "上一年度"),
        (("2025-01-01", "2025-12-31"), "last year"),
        (("2025-01-01", "2025-12-31"), "the year ended 31 December 2025"),
        (("2026-01-01", "2026-12-31"), "FY2026"),
        (("2025-04-01", "2026-03-31"), "FY2025/26"),
        (("2025-11-01", "2026-04-30"), "2025年11月至2026年4月"),
        (("2025-11-01", "2026-04-30"), "November to April 2026"),
        (("2026-10-11", "2026-10-20"), "10月中旬"),
        (("2026-02-21", "2026-02-28"), "late February 2026"),
        (("2026-11-01", "2026-11-01"), "昨日"),
        (("2026-10-15", "2026-10-15"), "上月15日"),
    ],
)
def test_a_period_has_a_first_and_a_last_day(period: tuple[str, str], written: str) -> None:
    assert ends(written) == [period]


@pytest.mark.parametrize(
    ("text", "periods"),
    [
        ("2025年利润8亿元，上半年3亿元。", [("2025-01-01", "2025-12-31"), ("2025-01-01", "2025-06-30")]),
        ("1—10月进口增长，去年同期下降。", [TEN_MONTHS, ("2025-01-01", "2025-10-31")]),
        ("2024年开工，当年投产。", [("2024-01-01", "2024-12-31")] * 2),
        ("2024年6亿元，上年5亿元。", [("2024-01-01", "2024-12-31"), ("2023-01-01", "2023-12-31")]),
        ("2026年3月启动，当月报名。", [("2026-03-01", "2026-03-31")] * 2),
        ("9月为63个，上月为57个。", [("2026-09-01", "2026-09-30"), ("2026-08-01", "2026-08-31")]),
        ("办法自2026年3月5日起施行。", []),
        ("试点期限为10个月。", []),
        ("第三方机构、十分之三、以上年龄。", []),
    ],
)
def test_a_sentence_gives_the_years_of_its_periods(text: str, periods: list[tuple[str, str]]) -> None:
    assert ends(text) == periods


def test_a_month_without_a_year_is_the_latest_one_that_the_page_can_speak_of() -> None:
    assert ends("12月份价格上涨。", dt.date(2026, 1, 9)) == [("2025-12-01", "2025-12-31")]
    assert ends("四季度将发行国债。", dt.date(2026, 9, 9)) == [("2026-10-01", "2026-12-31")]


def test_nothing_tells_the_year_of_a_period_without_year_and_publication() -> None:
    assert ends("上半年利润3亿元，去年2亿元。", None) == []


@given(st.text(alphabet="0123456789年月日-—至到上下前半季度底末初旬个十一二五 QHalf ofJan,。去今同期", max_size=60))
def test_periods_stand_in_the_text_in_order_and_end_after_they_begin(text: str) -> None:
    last = 0
    for period in find_periods(text, PUBLISHED):
        start, end = period.span
        assert last <= start < end <= len(text)
        assert period.written == text[start:end]
        assert period.start <= period.end
        last = end
