"""The time of reading grows with the length of a text, whatever it says."""

import datetime as dt
import time
from collections.abc import Callable

import pytest

from monitor.dates import detect_order, find_dates, find_days, find_periods, mask_dates
from monitor.verify.grounding import NumberIndex

TODAY = dt.date(2026, 11, 21)
CHARS = 30_000
HOSTILE = (
    "2024年1月、",
    "Nov 1 ",
    "1 Nov ",
    "2024-1-",
    "1.",
    "1 ",
    "12",
    " ",
    "年",
    "一",
    "令和",
    "3 de ",
    "ngày 3 ",
    "a",
    "3 ก.พ. ",
    "(1-1)",
    "2026 ",
    "3 vom 20",
    "20260203",
    "2月3日至",
    "3–5 ",
    "III ",
)
PERIODS = (
    "1至10月",
    "去年",
    "上月",
    "9月，上月",
    "first half ",
    "2025-26 ",
    "January to ",
    "end of ",
    "甲、",
    "A Bank, ",
    "一是",
)
READERS: dict[str, Callable[[str], object]] = {
    "find_dates": find_dates,
    "find_days": lambda text: find_days(text, TODAY, order="dmy", relative=True),
    "detect_order": detect_order,
    "mask_dates": mask_dates,
    "find_periods": lambda text: find_periods(text, TODAY),
    "NumberIndex": lambda text: NumberIndex(text, published_on=TODAY).find_ungrounded("共7777家。"),
}


def time_of(read: Callable[[str], object], text: str) -> float:
    times = []
    for _ in range(3):
        start = time.process_time()
        read(text)
        times.append(time.process_time() - start)
    return min(times)


READINGS = [(reader, piece) for reader in READERS for piece in HOSTILE if reader != "find_periods"]
READINGS += [(reader, piece) for reader in ("find_periods", "NumberIndex") for piece in (*PERIODS, "2024年1月、")]


@pytest.mark.parametrize(("reader", "piece"), dict.fromkeys(READINGS))
def test_four_times_the_text_takes_about_four_times_as_long(reader: str, piece: str) -> None:
    read = READERS[reader]
    short = piece * (CHARS // 4 // len(piece))
    read(short)
    assert time_of(read, 4 * short) < 8 * max(time_of(read, short), 0.002)
