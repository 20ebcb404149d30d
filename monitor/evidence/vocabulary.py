"""What texts are about, as sets of words that can be held against each other."""

import re
from functools import lru_cache

from monitor.domain.terms import folded, is_paired, runs_of

_FREQUENT = re.compile(
    "about|above|after|again|against|also|among|and|any|are|because|been|before|being|between|both|but|can|could|did|does|"
    "during|each|for|from|further|had|has|have|having|her|here|his|how|into|its|itself|more|most|not|nor|now|off|once|"
    "only|other|our|out|over|own|same|shall|she|should|some|such|than|that|the|their|them|then|there|these|they|this|"
    "those|through|too|under|until|upon|very|was|were|what|when|where|which|while|who|whom|why|will|with|within|without|"
    "would|you|your|may|must|said|says|according|including|new"
)
_LEAST_CHARS = 3


@lru_cache(maxsize=4096)
def words_of(text: str) -> frozenset[str]:
    """The pairs of neighbouring Chinese characters, and the Latin words of three letters or more but the frequent ones.

    Letter case, width and an English plural are folded away. Numbers are no words.
    """
    words: set[str] = set()
    for run in runs_of(folded(text)):
        if is_paired(run):
            words.update(run[i : i + 2] for i in range(len(run) - 1))
        elif len(run) >= _LEAST_CHARS and not run.isdigit() and not _FREQUENT.fullmatch(run):
            words.add(run[:-1] if len(run) > _LEAST_CHARS + 1 and run.endswith("s") and run[-2] != "s" else run)
    return frozenset(words)


def shared(words: frozenset[str], others: frozenset[str]) -> float:
    """The share of the words that the others have too, 0 to 1; 0 where there are none."""
    return len(words & others) / len(words) if words else 0.0


def likeness(words: frozenset[str], others: frozenset[str]) -> float:
    """How much two texts have in common of all that both say, 0 to 1 (Dice's coefficient)."""
    return 2 * len(words & others) / (len(words) + len(others) or 1)


def is_chinese(text: str) -> bool:
    """Whether more than a quarter of a text's letters are Chinese characters, each of which says as much as some."""
    letters = [char for char in text if char.isalpha()]
    return sum("\u4e00" <= char <= "\u9fff" for char in letters) * 4 > len(letters)
