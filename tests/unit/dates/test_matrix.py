"""Every form of one day, in every place that reads dates: a form is one entry in the grammar and one row here."""

import datetime as dt
from typing import NamedTuple

import pytest

from monitor.extract.parse import parse_page
from monitor.page import Page
from monitor.research.appendix import build_timeline
from monitor.research.shapes import ResearchNote
from monitor.verify.grounding import find_ungrounded_numbers

NOW = dt.datetime(2026, 11, 21, 8, tzinfo=dt.UTC)
DAY = dt.date(2026, 2, 3)


class Row(NamedTuple):
    """A form, and where it says 3 February 2026: a list's row, an article, a page under check, a claim, a timeline."""

    text: str
    in_list: bool = True
    in_article: bool = True
    on_page: bool = True
    in_claim: bool = True
    in_timeline: tuple[int, int, int] | None = (2026, 2, 3)


WHOLE = [
    "2026年2月3日",
    "2026年02月03日",
    "２０２６年２月３日",
    "二〇二六年二月三日",
    "二○二六年二月三日",
    "二零二六年二月三日",
    "2026年二月三日",
    "2026-02-03",
    "2026/2/3",
    "2026/02/03",
    "2026.02.03",
    "2026. 2. 3.",
    "2026년 2월 3일",
    "２０２６-０２-０３",
    "民國115年2月3日",
    "中華民國115年2月3日",
    "民國一百一十五年二月三日",
    "115年2月3日",
    "115-02-03",
    "115/02/03",
    "令和8年2月3日",
    "令和８年２月３日",
    "令和八年二月三日",
    "단기 4359년 2월 3일",
    "佛曆2569年2月3日",
    "Feb. 3, 2026",
    "Feb 3, 2026",
    "February 3, 2026",
    "February 3rd, 2026",
    "3 February 2026",
    "3rd February 2026",
    "3rd day of February, 2026",
    "Tue, 03 Feb 2026",
    "03-Feb-2026",
    "03.Feb.26",
    "2026-Feb-03",
    "3. Februar 2026",
    "03.02.2026",
    "3.2.2026",
    "3 de febrero de 2026",
    "3 de febrero del 2026",
    "3 février 2026",
    "3 febbraio 2026",
    "3 de fevereiro de 2026",
    "3 февраля 2026 г.",
    "3 лютого 2026",
    "3 februari 2026",
    "3 lutego 2026",
    "3 lut 2026",
    "3 شباط 2026",
    "3 Şub 2026",
    "3 二月 2026",
    "3.II.2026",
    "3 II 2026",
    "3 Şubat 2026",
    "3 Şubat 2026 Salı",
    "3. února 2026",
    "3. helmikuuta 2026",
    "2026. február 3.",
    "2026 m. vasario 3 d.",
    "3 Φεβρουαρίου 2026",
    "3 Februari 2026",
    "3 פברואר 2026",
    "3 فبراير 2026",
    "٣ فبراير ٢٠٢٦",
    "3 شباط/فبراير 2026",
    "٢٠٢٦/٠٢/٠٣",
    "ngày 3 tháng 2 năm 2026",
    "3 tháng 2, 2026",
    "ngày 03/02/2026",
    "3 กุมภาพันธ์ 2569",
    "3 กุมภาพันธ์ พ.ศ. 2569",
    "3 ก.พ. 2569",
    "3 ก.พ. 69",
    "๓ กุมภาพันธ์ ๒๕๖๙",
    "03/02/2569",
]
ROWS = [
    *(Row(text) for text in WHOLE),
    # With its hour, a claim says more than a page that gives the day.
    Row("2026-02-03 10:15", in_claim=False),
    Row("2026-02-03T23:59:00+08:00", in_claim=False),
    # A number of eight digits is a date on a page, and a number in a sentence.
    Row("20260203", in_timeline=None),
    # Without its year a date is one in a list that says the year; a claim may say so little, a page may not.
    Row("2月3日", in_article=False, on_page=False, in_timeline=None),
    Row("2월 3일", in_article=False, on_page=False, in_timeline=None),
    Row("February 3", in_article=False, on_page=False, in_timeline=None),
    Row("3 Feb", in_article=False, on_page=False, in_timeline=None),
    Row("3 de febrero", in_article=False, on_page=False, in_timeline=None),
    Row("3 กุมภาพันธ์", in_article=False, on_page=False, in_timeline=None),
    Row("ngày 3 tháng 2", in_article=False, on_page=False, in_timeline=None),
    # What only the cell of a list makes a date.
    Row("[02-03]", in_article=False, on_page=False, in_timeline=None),
    Row("02-03", in_article=False, on_page=False, in_timeline=None),
    Row("03 2026-02", on_page=False, in_timeline=(2026, 2, 0)),
    Row("R8.2.3", on_page=False, in_claim=False, in_timeline=None),
    # Year and month.
    Row("2026年2月", in_list=False, in_article=False, on_page=False, in_timeline=(2026, 2, 0)),
    Row("February 2026", in_list=False, in_article=False, on_page=False, in_timeline=(2026, 2, 0)),
    Row("令和8年2月", in_list=False, in_article=False, on_page=False, in_timeline=(2026, 2, 0)),
    # Nothing tells which number is the day.
    Row("02/03/2026", in_list=False, in_article=False, on_page=False, in_timeline=None),
]
NAMES = [row.text for row in ROWS]
CANONICAL = ("2026年2月3日", "2026-02-03", "3 February 2026", "February 3, 2026", "3. Februar 2026", "令和8年2月3日")
OTHER_DAYS = ("2026年2月4日", "2026-03-02", "4 February 2026", "February 3, 2025", "民國114年2月3日", "2月4日")


def page_of(html: str, url: str) -> Page:
    return parse_page(
        html.encode(), url=url, final_url=url, status=200, content_type="text/html; charset=utf-8", fetched_at=NOW
    )


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_a_row_of_a_list_is_dated(row: Row) -> None:
    rows = "".join(
        f'<li><a href="/doc/{name}.html">Notice about the {name} programme</a> <span>{row.text}</span></li>'
        for name in ("water", "energy", "harvest", "housing", "transport")
    )
    page = page_of(f"<html><body><h1>Notices 2026</h1><ul>{rows}</ul></body></html>", "https://sample.org/notices/")
    assert len(page.candidates) == 5
    assert {candidate.date for candidate in page.candidates} == {DAY if row.in_list else None}


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_an_article_is_dated(row: Row) -> None:
    words = (
        "<p>The office has adopted the programme and asks all regions to carry it out with care and in time.</p>" * 6
    )
    page = page_of(
        "<html><head><title>The office adopts its water programme</title></head><body><article>"
        f"<h1>The office adopts its water programme</h1><p class='date'>{row.text}</p>{words}</article></body></html>",
        "https://sample.org/news/water-programme.html",
    )
    assert page.published_on == (DAY if row.in_article else None)


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_a_page_bears_a_claim_of_the_same_day_in_another_form(row: Row) -> None:
    page = f"The programme was adopted on {row.text}."
    for claim in CANONICAL:
        assert (find_ungrounded_numbers(f"Adopted on {claim}.", page) == []) is row.on_page, claim


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_a_claim_rests_on_the_same_day_in_another_form(row: Row) -> None:
    claim = f"Adopted on {row.text}."
    for written in CANONICAL:
        page = f"The programme was adopted on {written}."
        assert (find_ungrounded_numbers(claim, page) == []) is row.in_claim, written


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_another_day_is_refused_in_both_directions(row: Row) -> None:
    for other in OTHER_DAYS:
        assert find_ungrounded_numbers(f"Adopted on {other}.", f"The programme was adopted on {row.text}.") != [], other
    if row.text in WHOLE:
        for other in OTHER_DAYS:
            assert find_ungrounded_numbers(f"Adopted on {row.text}.", f"The programme was adopted on {other}.") != [], (
                other
            )


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_a_timeline_has_the_day(row: Row) -> None:
    summaries = [
        f"In the {name} office the programme was adopted on {row.text}" for name in ("first", "second", "third")
    ]
    notes = [
        ResearchNote(summary=summary, topic="t", source_url=f"https://a.example/{summary[7:12]}", engine="e")
        for summary in summaries
    ]
    assert [fact.day for fact in build_timeline(notes)] == ([row.in_timeline] * 3 if row.in_timeline else [])


def test_any_two_whole_forms_say_the_same_day() -> None:
    pairs = [(first, second) for first in WHOLE for second in WHOLE]
    assert [pair for pair in pairs if find_ungrounded_numbers(f"On {pair[0]}.", f"On {pair[1]}.")] == []
