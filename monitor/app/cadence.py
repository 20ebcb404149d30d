"""How often something new comes to a section, and how long a silence is out of the ordinary for it."""

import datetime as dt
import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from pydantic import BaseModel

LEAST_GAPS = 5
LEARNED_DAYS = 400
LEAST_SILENCE_DAYS = 10
_USUAL_SHARE = 0.9
_PATIENCE = 3.0
_LONGEST_MARGIN = 1.25


class Cadence(BaseModel):
    """What was learned: days between two arrivals, and so many days without one that silence is an alarm."""

    usual_days: float
    silent_after_days: int
    last_on: dt.date

    def silent_days(self, today: dt.date) -> int:
        """The days since something last came."""
        return (today - self.last_on).days


def cadence_of(arrivals: Sequence[dt.date]) -> Cadence | None:
    """The cadence behind the days on which something came; None while there are fewer than six to learn from.

    Silence begins to be out of the ordinary at three times the gap that nine in ten stay within, which for arrivals
    at random is passed once in a thousand gaps; never before the longest silence of the past year and a quarter more,
    and never within ten days, for a holiday week is no news.
    """
    days = sorted(set(arrivals))
    if not days:
        return None
    days = [day for day in days if (days[-1] - day).days <= LEARNED_DAYS]
    gaps = sorted((later - earlier).days for earlier, later in pairwise(days))
    if len(gaps) < LEAST_GAPS:
        return None
    usual_most = gaps[math.ceil(_USUAL_SHARE * len(gaps)) - 1]
    limit = max(LEAST_SILENCE_DAYS, _PATIENCE * usual_most, _LONGEST_MARGIN * gaps[-1])
    return Cadence(usual_days=median(gaps), silent_after_days=math.ceil(limit), last_on=days[-1])
