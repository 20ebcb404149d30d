"""The words of official documents that mean the same, or the opposite, in Chinese and English.

`axes.txt` has the sides of axes (`direction.up`), `opposites.txt` further pairs, `concepts.txt` words that count as one
when texts are compared, in either language.
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from snowballstemmer import stemmer  # type: ignore[import-untyped]

_stemmers = threading.local()  # Snowball keeps the word that it is at in the stemmer


@dataclass(frozen=True, slots=True)
class Concept:
    """What a word means: `name` for comparison; on an axis, `axis` and `side`."""

    name: str
    axis: str = ""
    side: str = ""


@dataclass(frozen=True)
class Lexicon:
    """Words to concepts: Chinese words by their first character, English phrases of stems by their first stem."""

    chinese: dict[str, list[tuple[str, tuple[Concept, ...]]]]
    english: dict[str, list[tuple[tuple[str, ...], tuple[Concept, ...]]]]
    exact: dict[str, tuple[Concept, ...]]


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Return the stem of a lower-case English word, by Snowball's rules."""
    if not hasattr(_stemmers, "english"):
        _stemmers.english = stemmer("english")
    return str(_stemmers.english.stemWord(word))


@cache
def load_lexicon() -> Lexicon:
    chinese: dict[str, list[Concept]] = {}
    english: dict[tuple[str, ...], list[Concept]] = {}
    exact: dict[str, list[Concept]] = {}
    for name, zh, en in (*_iter_lines("axes.txt"), *_iter_lines("concepts.txt"), *_iter_contrasts()):
        if name == "-":
            chinese |= {word: [] for word in zh if word not in chinese}
            continue
        axis, _, side = name.replace("<>", ".").partition(".")
        concept = Concept(name, axis, side) if side else Concept(name)
        for word in zh:
            chinese.setdefault(word, []).append(concept)
        for word in en:
            if word.startswith("="):
                exact.setdefault(word[1:], []).append(concept)
                continue
            found = english.setdefault(tuple(map(stem, word.split("_"))), [])
            if concept not in found:
                found.append(concept)
    by_char: dict[str, list[tuple[str, tuple[Concept, ...]]]] = {}
    for word, concepts in sorted(chinese.items(), key=lambda entry: -len(entry[0])):
        by_char.setdefault(word[0], []).append((word, tuple(concepts)))
    by_stem: dict[str, list[tuple[tuple[str, ...], tuple[Concept, ...]]]] = {}
    for phrase, concepts in sorted(english.items(), key=lambda entry: -len(entry[0])):
        by_stem.setdefault(phrase[0], []).append((phrase, tuple(concepts)))
    return Lexicon(by_char, by_stem, {word: tuple(concepts) for word, concepts in exact.items()})


def _iter_lines(file: str) -> Iterator[tuple[str, list[str], list[str]]]:
    for line in files("monitor.verify").joinpath(file).read_text("utf-8").splitlines():
        name, _, words = line.partition(":")
        zh, _, en = words.partition("|")
        if words and not line.startswith("#"):
            yield name.strip(), zh.split(), en.split()


def _iter_contrasts() -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield the sides of the pairs of `opposites.txt`; their names have no dot, so that their words weigh in full."""
    table = files("monitor.verify").joinpath("opposites.txt").read_text("utf-8")
    for number, line in enumerate(table.splitlines()):
        if "<>" in line and not line.startswith("#"):
            for side, words in zip("ab", line.split("<>"), strict=True):
                zh, _, en = words.partition("|")
                yield f"contrast{number}<>{side}", zh.split(), en.split()
