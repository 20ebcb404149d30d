"""Dates as single signs, for the patterns of others."""

import re

from monitor.dates import DATE_SIGN, YEAR_FIRST, mask_dates


def test_a_pattern_sees_one_sign_for_a_date_in_any_form() -> None:
    for written in ("2026年2月3日", "3 de febrero de 2026", "02/03/2026", "令和8年2月3日"):
        masked = mask_dates(f"Updated: {written}, by the office")
        assert re.match(rf"Updated: {DATE_SIGN}, by", masked.text)
        assert masked.date_of(masked.text[9]).written == written


def test_what_is_left_has_its_dates_back_as_they_were_written() -> None:
    masked = mask_dates("２０２６年２月３日 updated 3 Feb 2026, since 2月1日")
    assert masked.restore(re.sub(rf"updated {DATE_SIGN}", "new", masked.text)) == "２０２６年２月３日 new, since 2月1日"


def test_only_whole_dates_of_the_forms_asked_for_are_masked() -> None:
    masked = mask_dates("2026-02-03, 3 February 2026, February 2026", YEAR_FIRST)
    assert [date.written for date in masked.dates] == ["2026-02-03"]
