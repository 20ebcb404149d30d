"""The values that reading a date gives: as far as it is written, or as a whole day."""

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

    @property
    def parts(self) -> tuple[int | None, int | None, int | None]:
        """Year, month and day."""
        return self.year, self.month, self.day

    @property
    def is_real(self) -> bool:
        """Whether the calendar has such a date; without a year, whether it has it in some year."""
        try:
            dt.date(
                _LEAP_YEAR if self.year is None else self.year,
                1 if self.month is None else self.month,
                1 if self.day is None else self.day,
            )
        except (ValueError, OverflowError):
            return False
        return True

    def covers(self, claim: "PartialDate") -> bool:
        """Whether this date says all that the claim says: 2026-02-03 covers February 2026, never the reverse."""
        pairs = zip(claim.parts, self.parts, strict=True)
        return all(claimed is None or claimed == known for claimed, known in pairs)

    def agrees(self, other: "PartialDate") -> bool:
        """Whether the two may be one day: no part is written differently in both."""
        pairs = zip(self.parts, other.parts, strict=True)
        return all(mine is None or theirs is None or mine == theirs for mine, theirs in pairs)

    def to_date(self) -> dt.date | None:
        """Return the calendar day, or None where a part is missing or there is no such day."""
        if self.year is None or self.month is None or self.day is None or not self.is_real:
            return None
        return dt.date(self.year, self.month, self.day)


@dataclass(frozen=True, slots=True)
class WrittenDate:
    """A date in a text: its words, its span, the form it is written in, and what that says."""

    written: str
    start: int
    end: int
    form: str
    value: PartialDate

    @property
    def year(self) -> int | None:
        """The year, where one is written."""
        return self.value.year

    @property
    def month(self) -> int | None:
        """The month, where one is written."""
        return self.value.month

    @property
    def day(self) -> int | None:
        """The day of the month, where one is written."""
        return self.value.day

    def covers(self, claim: "WrittenDate") -> bool:
        """Whether this date says all that the claim says."""
        return self.value.covers(claim.value)


@dataclass(frozen=True, slots=True)
class DateMatch:
    """A whole day that was read in a text: where it stands, and whether its year was written there or inferred."""

    date: dt.date
    start: int
    end: int
    has_year: bool = True
    form: str = ""

    @property
    def is_compact(self) -> bool:
        """Whether it is written as a number of eight digits, which may be no date at all."""
        return self.form == "compact"


class SpanSet:
    """The stretches of a text that are taken, so that no two dates lie over each other."""

    def __init__(self, length: int) -> None:
        self._taken = bytearray(length)

    def is_free(self, start: int, end: int) -> bool:
        """Whether no part of a stretch is taken."""
        return self._taken.find(1, start, end) < 0

    def take(self, start: int, end: int) -> None:
        """Mark a stretch as taken."""
        self._taken[start:end] = b"\1" * (end - start)
