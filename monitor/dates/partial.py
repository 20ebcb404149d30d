"""The values of dates: partial as written, or a whole day, with their spans in the text."""

import datetime as dt
from dataclasses import dataclass
from typing import Literal

DateOrder = Literal["dmy", "mdy", "ymd"]
"""Whether the day or the month comes first in 03/02/2026; or the year, in 26-02-03, where that is the custom."""

_LEAP_YEAR = 2024


@dataclass(frozen=True, slots=True)
class PartialDate:
    """A date as far as it is known: 3 February has no year, February 2026 has no day."""

    year: int | None = None
    month: int | None = None
    day: int | None = None

    @classmethod
    def of(cls, day: dt.date) -> "PartialDate":
        return cls(day.year, day.month, day.day)

    @property
    def parts(self) -> tuple[int | None, int | None, int | None]:
        return self.year, self.month, self.day

    @property
    def is_real(self) -> bool:
        """Whether the calendar has such a date; without a year, whether it has it in some year."""
        parts = zip(self.parts, (_LEAP_YEAR, 1, 1), strict=True)
        try:
            dt.date(*(likely if known is None else known for known, likely in parts))
        except (ValueError, OverflowError):
            return False
        return True

    def covers(self, claim: "PartialDate") -> bool:
        """Whether the claim follows from this date: 2026-02-03 covers February 2026, never the reverse."""
        pairs = zip(claim.parts, self.parts, strict=True)
        return all(claimed is None or claimed == known for claimed, known in pairs)

    def agrees(self, other: "PartialDate") -> bool:
        """Whether the two may be the same day: no part differs."""
        pairs = zip(self.parts, other.parts, strict=True)
        return all(mine is None or theirs is None or mine == theirs for mine, theirs in pairs)

    def to_date(self) -> dt.date | None:
        """Return the calendar day, or None where a part is missing or there is no such day."""
        if self.year is None or self.month is None or self.day is None or not self.is_real:
            return None
        return dt.date(self.year, self.month, self.day)


@dataclass(frozen=True, slots=True)
class WrittenDate:
    """A date in a text: its words, its span, the name of its form, and its value."""

    written: str
    start: int
    end: int
    form: str
    value: PartialDate

    @property
    def year(self) -> int | None:
        return self.value.year

    @property
    def month(self) -> int | None:
        return self.value.month

    @property
    def day(self) -> int | None:
        return self.value.day

    def covers(self, claim: "WrittenDate") -> bool:
        return self.value.covers(claim.value)


@dataclass(frozen=True, slots=True)
class DateMatch:
    """A whole day in a text, with its span, and whether its year is written there or inferred."""

    date: dt.date
    start: int
    end: int
    has_year: bool = True
    form: str = ""


class SpanSet:
    """The spans of a text that are taken, so that no two dates overlap."""

    def __init__(self, length: int) -> None:
        self._taken = bytearray(length)

    def is_free(self, start: int, end: int) -> bool:
        return self._taken.find(1, start, end) < 0

    def take(self, start: int, end: int) -> None:
        self._taken[start:end] = b"\1" * (end - start)
