"""Counting by days: the days of a time zone as a table, so that one query answers for all of them."""

import datetime as dt
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Integer, Subquery, literal, select, union_all

from monitor.domain.columns import UtcDateTime


class Day(NamedTuple):
    """A day of some time zone, and the instants at which it begins and at which it is over."""

    date: dt.date
    begin: dt.datetime
    end: dt.datetime


def calendar(days: Sequence[Day]) -> Subquery:
    """The days as rows of `number` (from 0, as they were given), `begin` and `end`."""
    rows = [
        select(
            literal(number, Integer).label("number"),
            literal(day.begin, UtcDateTime()).label("begin"),
            literal(day.end, UtcDateTime()).label("end"),
        )
        for number, day in enumerate(days)
    ]
    return union_all(*rows).subquery("calendar")
