"""Cursors: what was handed out comes back, anything else is refused."""

import base64
import datetime as dt
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.errors import UsageError
from monitor.services.cursors import cut_list, cut_page, decode_cursor, decode_id, encode_cursor


@given(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=80), st.integers(-9, 2**31 - 1)
)
def test_a_cursor_comes_back_as_it_was(day: str, number: int) -> None:
    assert decode_cursor(encode_cursor(day, number), str, int) == (day, number)


def test_days_and_instants_come_back_as_they_were() -> None:
    key = (dt.datetime(2026, 2, 3, 8, tzinfo=dt.UTC), dt.date(2026, 2, 3))
    assert decode_cursor(encode_cursor(*key), dt.datetime, dt.date) == key


def test_a_page_is_cut_where_more_rows_follow() -> None:
    page, following = cut_page([3, 2, 1], 2, lambda row: row)
    assert (page, decode_id(following)) == ([3, 2], 2)
    assert cut_page([3, 2], 2, lambda row: row) == ([3, 2], None)


def test_a_whole_list_goes_on_after_its_last_row_wherever_that_stands_now() -> None:
    rows = [("b", 1), ("a", 2), ("c", 3)]
    first, following = cut_list(rows, 2, None, lambda row: row, str, int)
    assert first == [("a", 2), ("b", 1)]
    grown = [*rows, ("aa", 4), ("bb", 5)]
    assert cut_list(grown, 2, following, lambda row: row, str, int) == ([("bb", 5), ("c", 3)], None)
    assert cut_list(rows, 5, encode_cursor("b", 1), lambda row: row, str, int, newest_first=True)[0] == [("a", 2)]


def test_a_long_name_in_chinese_fits_into_a_cursor() -> None:
    key = (-738_000, "国" * 200, "http_403")
    assert decode_cursor(encode_cursor(*key), int, str, str) == key


@pytest.mark.parametrize("none", [None, ""])
def test_without_a_cursor_a_list_begins(none: str | None) -> None:
    assert decode_cursor(none, str, int) is None


def packed(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "!!!!",
        "光伏",
        packed({"a": 1}),
        packed([1]),
        packed(["a", "b"]),
        packed([1, "a"]),
        packed(["a", True]),
        packed(["a", 2**31]),
        packed(["a", -(2**31)]),
        packed(["a", 1.5]),
        packed(["a\0", 1]),
        packed(["\ud800", 1]),
        "W" * 5000,
    ],
)
def test_a_cursor_that_is_none_of_ours_is_refused(cursor: str) -> None:
    with pytest.raises(UsageError) as refused:
        decode_cursor(cursor, str, int)
    assert refused.value.message.code == "cursor.invalid"


@given(st.text(min_size=1, max_size=60))
def test_no_text_of_others_breaks_it(cursor: str) -> None:
    with pytest.raises(UsageError):
        decode_cursor(cursor, str, str, int, int, str)
