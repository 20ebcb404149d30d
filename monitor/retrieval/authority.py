"""Who speaks with authority: scores by domain, governments and regulators on top."""

from collections.abc import Iterator, Mapping
from importlib.resources import files
from urllib.parse import urlsplit

UNKNOWN = 0.4
"""The score of a host that no line of the table is about."""

OFFICIAL = 1.0
"""The score of governments, parliaments, regulators, and of what states run together."""

_TABLE = "authority.txt"


class AuthorityTable:
    """Scores by domain, from `authority.txt` beside this file and from the administrator.

    A domain stands for all below it; the longest one that fits a host decides. `own` are the administrator's lines;
    of two about the same domain, theirs holds.
    """

    def __init__(self, own: Mapping[str, float]) -> None:
        table = files("monitor.retrieval").joinpath(_TABLE).read_text(encoding="utf-8")
        self._scores = dict(_lines(table)) | {domain.lower().strip("."): score for domain, score in own.items()}

    def score(self, url: str) -> float:
        """The authority of a url's host, 0 to 1; `UNKNOWN` where the table has nothing about it."""
        try:
            host = (urlsplit(url).hostname or "").rstrip(".")
        except ValueError:
            host = ""
        labels = host.split(".")
        fitting = (".".join(labels[start:]) for start in range(len(labels)))
        return next((self._scores[domain] for domain in fitting if domain in self._scores), UNKNOWN)


def _lines(table: str) -> Iterator[tuple[str, float]]:
    for line in table.splitlines():
        if line and not line.startswith("#"):
            score, *domains = line.split()
            yield from ((domain, float(score)) for domain in domains)
