"""Scores search results: four numbers from 0 to 1, each by a formula.

    relevance = (place + fit) / 2                       place + fit: see `compute_relevance`
    freshness = 0.5 ** (age in days / half-life)        0.5 where the date is not known
    authority = the table's score for the host          0.4 where the table does not know it
    final     = (w1 * relevance + w2 * freshness + w3 * authority) / (w1 + w2 + w3)

Each is rounded to four decimals, and `final` is computed from the rounded ones, so that it can be checked by hand.
"""

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from urllib.parse import urlsplit

from monitor.config.model import RetrievalSettings, Settings, WeightSettings
from monitor.db.terms import fold_text, is_unspaced, split_runs

_WORD_WEIGHT = 2  # a word between spaces counts as two characters, the length of most Chinese words


def compute_overlap(query: str, text: str) -> float | None:
    """Return the share of the query in the text, 0 to 1; None where the query has neither word nor character.

    Words are compared without case, width and English plurals. In a run of characters without spaces, a character
    counts where the text has it beside one of its neighbours: of 光伏补贴政策, all six in “光伏发电的补贴新政策”,
    two in “光明与补贴”, none in “伏天补光”. A single character counts on its own.
    """
    runs, folded = split_runs(fold_text(query)), fold_text(text)
    paired = [run for run in runs if is_unspaced(run)]
    words = [_singularize(run) for run in runs if not is_unspaced(run)]
    unspaced = "".join(folded.split())
    there = {_singularize(run) for run in split_runs(folded)} if words else set()
    held = sum(_count_covered(run, unspaced) for run in paired) + _WORD_WEIGHT * sum(word in there for word in words)
    whole = sum(map(len, paired)) + _WORD_WEIGHT * len(words)
    return held / whole if whole else None


def _count_covered(run: str, text: str) -> int:
    if len(run) == 1:
        return int(run in text)
    covered = [False] * len(run)
    for start in range(len(run) - 1):
        if run[start : start + 2] in text:
            covered[start] = covered[start + 1] = True
    return sum(covered)


def _singularize(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("xes", "ches", "shes", "sses")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3 else word


UNKNOWN_AUTHORITY = 0.4  # of a host that is not in the table
OFFICIAL_AUTHORITY = 1.0  # of governments, parliaments, regulators and intergovernmental organisations

_TABLE_FILE = "authority.txt"


class AuthorityTable:
    """Scores by domain, from `authority.txt` beside this file; `overrides` are the administrator's.

    A domain includes its subdomains; the longest one that matches a host decides.
    """

    def __init__(self, overrides: Mapping[str, float]) -> None:
        table = files("monitor.search.bundles").joinpath(_TABLE_FILE).read_text(encoding="utf-8")
        self._scores = dict(_parse_table(table)) | {
            domain.lower().strip("."): score for domain, score in overrides.items()
        }

    def score(self, url: str) -> float:
        try:
            host = (urlsplit(url).hostname or "").rstrip(".")
        except ValueError:
            host = ""
        labels = host.split(".")
        fitting = (".".join(labels[start:]) for start in range(len(labels)))
        return next((self._scores[domain] for domain in fitting if domain in self._scores), UNKNOWN_AUTHORITY)


def _parse_table(table: str) -> Iterator[tuple[str, float]]:
    for line in table.splitlines():
        if line and not line.startswith("#"):
            score, *domains = line.split()
            yield from ((domain, float(score)) for domain in domains)


_UNKNOWN_DATE_FRESHNESS = 0.5
_HALF_SCORE_RANK = 11
_DECIMALS = 4


@dataclass(frozen=True, slots=True)
class ResultScores:
    """The scores of one result, 0 to 1."""

    relevance: float
    freshness: float
    authority: float
    final: float


class ResultScorer:
    def __init__(self, weights: WeightSettings, settings: RetrievalSettings) -> None:
        self._weights = weights
        self._half_life_days = settings.half_life_days
        self._authorities = AuthorityTable(settings.authority)

    def score_result(
        self, query: str, *, rank: int, title: str, text: str, url: str, published_on: dt.date | None, today: dt.date
    ) -> ResultScores:
        relevance = compute_relevance(query, rank=rank, title=title, text=text)
        return self.score_with_relevance(relevance, url=url, published_on=published_on, today=today)

    def score_with_relevance(
        self, relevance: float, *, url: str, published_on: dt.date | None, today: dt.date
    ) -> ResultScores:
        relevance = round(relevance, _DECIMALS)
        freshness = round(compute_freshness(published_on, today=today, half_life_days=self._half_life_days), _DECIMALS)
        authority = round(self._authorities.score(url), _DECIMALS)
        weights = self._weights
        total = weights.relevance + weights.freshness + weights.authority
        pairs = ((weights.relevance, relevance), (weights.freshness, freshness), (weights.authority, authority))
        final = sum(weight / total * score for weight, score in pairs)
        return ResultScores(relevance, freshness, authority, min(round(final, _DECIMALS), 1.0))


class ResultScorerFactory:
    """Returns the scorer of the current settings, rebuilt only after a change."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._scorer_settings = (settings.search.weights, settings.retrieval)
        self._scorer = ResultScorer(*self._scorer_settings)

    def __call__(self) -> ResultScorer:
        wanted = (self._settings.search.weights, self._settings.retrieval)
        if wanted != self._scorer_settings:
            self._scorer_settings, self._scorer = wanted, ResultScorer(*wanted)
        return self._scorer


def compute_relevance(query: str, *, rank: int, title: str, text: str) -> float:
    """Return the mean of a result's rank score and its overlap with the words of the query.

        place = 1 / (1 + (rank - 1) / 10)               1 for the first, 0.5 for the eleventh
        fit   = (overlap with the title + overlap with title and text) / 2

    `overlap` is `compute_overlap`. For a query without words or characters it is the rank score alone.
    """
    place = 1 / (1 + (rank - 1) / (_HALF_SCORE_RANK - 1))
    in_title, in_all = compute_overlap(query, title), compute_overlap(query, f"{title}\n{text}")
    if in_title is None or in_all is None:
        return place
    return (place + (in_title + in_all) / 2) / 2


def compute_freshness(published_on: dt.date | None, *, today: dt.date, half_life_days: float) -> float:
    """Return 1 for a result of today, halved after each half-life.

    An unknown date counts as one half-life old, and so does an invalid one more than a day ahead; one day is the
    tolerance for time zones.
    """
    if published_on is None or (published_on - today).days > 1:
        return _UNKNOWN_DATE_FRESHNESS
    return float(0.5 ** (max((today - published_on).days, 0) / half_life_days))
