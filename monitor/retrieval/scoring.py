"""What a search result is worth: four numbers from 0 to 1, each by a stated formula.

    relevance = (place + fit) / 2                       place + fit: see `relevance_of`
    freshness = 0.5 ** (age in days / half-life)        0.5 where the date is not known
    authority = the table's score for the host          0.4 where the table does not know it
    final     = (w1 * relevance + w2 * freshness + w3 * authority) / (w1 + w2 + w3)

Each is rounded to four decimals, and `final` is made of the rounded ones, so that it can be checked by hand.
"""

import datetime as dt
from dataclasses import dataclass

from monitor.retrieval.authority import AuthorityTable
from monitor.retrieval.overlap import overlap
from monitor.settings import RetrievalSettings, Settings, WeightSettings

_UNKNOWN_DATE = 0.5
_RANK_OF_HALF = 11
_DECIMALS = 4


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of one result, 0 to 1."""

    relevance: float
    freshness: float
    authority: float
    final: float


class Scoring:
    """The formulas, with the weights, half-life and domains that the administrator set."""

    def __init__(self, weights: WeightSettings, settings: RetrievalSettings) -> None:
        self._weights = weights
        self._half_life_days = settings.half_life_days
        self._authorities = AuthorityTable(settings.authority)

    def scores(
        self, query: str, *, rank: int, title: str, text: str, url: str, published_on: dt.date | None, today: dt.date
    ) -> Scores:
        """The scores of a result for a query; `text` is what is known of it beside its title."""
        relevance = relevance_of(query, rank=rank, title=title, text=text)
        return self.weighed(relevance, url=url, published_on=published_on, today=today)

    def weighed(self, relevance: float, *, url: str, published_on: dt.date | None, today: dt.date) -> Scores:
        """The scores of what is known to fit a query so well."""
        relevance = round(relevance, _DECIMALS)
        freshness = round(freshness_of(published_on, today=today, half_life_days=self._half_life_days), _DECIMALS)
        authority = round(self._authorities.score(url), _DECIMALS)
        return Scores(relevance, freshness, authority, self._final(relevance, freshness, authority))

    def _final(self, relevance: float, freshness: float, authority: float) -> float:
        weights = self._weights
        total = weights.relevance + weights.freshness + weights.authority
        pairs = ((weights.relevance, relevance), (weights.freshness, freshness), (weights.authority, authority))
        final = sum(weight / total * score for weight, score in pairs)
        return min(round(final, _DECIMALS), 1.0)


class CurrentScoring:
    """Gives the formulas as the settings want them at the moment; they are made anew only after a change."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._made_of = (settings.search.weights, settings.retrieval)
        self._scoring = Scoring(*self._made_of)

    def __call__(self) -> Scoring:
        wanted = (self._settings.search.weights, self._settings.retrieval)
        if wanted != self._made_of:
            self._made_of, self._scoring = wanted, Scoring(*wanted)
        return self._scoring


def relevance_of(query: str, *, rank: int, title: str, text: str) -> float:
    """How well a result fits a query: the mean of its place in the search and its fit with the query's words.

        place = 1 / (1 + (rank - 1) / 10)               1 for the first, 0.5 for the eleventh
        fit   = (overlap with the title + overlap with title and text) / 2

    `overlap` is the share of the query that stands in the text. A query without words or characters: the place alone.
    """
    place = 1 / (1 + (rank - 1) / (_RANK_OF_HALF - 1))
    in_title, in_all = overlap(query, title), overlap(query, f"{title}\n{text}")
    if in_title is None or in_all is None:
        return place
    return (place + (in_title + in_all) / 2) / 2


def freshness_of(published_on: dt.date | None, *, today: dt.date, half_life_days: float) -> float:
    """How new a result is: 1 on its day, half after each half-life.

    A date that is not known counts as one half-life old, and so does one more than a day ahead, which is none: a date
    is never invented, and not knowing it is neither praise nor blame. One day is left to time zones.
    """
    if published_on is None or (published_on - today).days > 1:
        return _UNKNOWN_DATE
    return float(0.5 ** (max((today - published_on).days, 0) / half_life_days))
