"""Terms: what a full-text search looks up, cut from texts and queries by the same rule.

Latin words and numbers are terms, and so are pairs of them that follow each other, so that a phrase of frequent words
need not be searched in all texts that have both. A run of Chinese characters, kana or Hangul, which has no spaces,
gives each pair of neighbours and each single character: so 光伏 is found in 太阳能光伏发电, without a dictionary.
Letter case, full-width forms and the radicals that some PDFs use in place of characters are folded; white space between
two such characters, as at the end of a line, does not separate them.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import islice

from pydantic import BaseModel

from monitor.errors import UsageError

MAX_QUERY_CHARS = 1000
_MAX_TERM_CHARS = 64
_MAX_LOOKUP_TERMS = 48
_MAX_LOOSE_CLAUSES = 24
_MAX_PATTERN_RUNS = 64  # of a phrase, whose pattern takes the longer to compile the longer it is
_UNSPACED_CHARS = "\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003134f"
LETTER = rf"[^\W_{_UNSPACED_CHARS}]"
_SPACED_RUN = rf"[{_UNSPACED_CHARS}]+(?:\s+[{_UNSPACED_CHARS}]+)*"
_UNSPACED_RUN = re.compile(_SPACED_RUN)
_RUN = re.compile(rf"{_SPACED_RUN}|{LETTER}+")
_QUOTED = re.compile(r'"([^"]*)"')
_QUOTES = str.maketrans("“”„‟＂", '"""""')
_SEPARATORS = re.compile(r'[\s,;!?:"，。、；：！？]+')
_CJK_STOPWORDS = re.compile(r"如何|怎么|怎样|什么|哪些|为何|哪个|[的了是在和与及或有为对就也都而其之于以被把吗呢]")
_ENGLISH_STOPWORDS = re.compile(
    r"an?|and|are|as|at|by|do|does|for|from|has|have|how|in|is|it|of|on|or|the|to|was|were|what|when|where|which|who|with"
)
_WIDE_CHARS = re.compile("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\u2f00-\u2fd5\uf900-\ufaff\u0130]")


class QueryClause(BaseModel, frozen=True):
    """A word or phrase of a query: its runs, the terms to look up, and the pattern that finds it in a folded text."""

    runs: tuple[str, ...]
    terms: tuple[str, ...]
    pattern: re.Pattern[str]

    @property
    def is_implied_by_terms(self) -> bool:
        """Whether every text that has the terms has the word or phrase."""
        if any(len(run) > (2 if is_unspaced(run) else _MAX_TERM_CHARS) for run in self.runs):
            return False
        return len(self.runs) == 1 or (len(self.runs) == 2 and not any(map(is_unspaced, self.runs)))

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(run for run in self.runs if not is_unspaced(run))

    @cached_property
    def wide_forms(self) -> tuple[str, ...]:
        """The wide forms that fold to its characters."""
        characters = set("".join(self.runs))
        return tuple(chr(wide) for wide, plain in _build_folding().items() if plain.lower() in characters)

    def is_missing_in(self, text: str) -> bool:
        """Whether a quick check of an unfolded text shows that it does not occur."""
        if self.words:
            lower = text.lower()
            is_there = all(word in lower for word in self.words)
        else:
            is_there = self.pattern.search(text) is not None
        return not is_there and not any(wide in text for wide in self.wide_forms)

    def count_in(self, text: str, joined: str) -> int:
        """How often it occurs in a folded text; `joined` is the same text without white space."""
        if len(self.runs) == 1 and is_unspaced(self.runs[0]):
            return joined.count(self.runs[0])  # several times as fast as the pattern
        return sum(1 for _ in self.pattern.finditer(text))


class TextQuery(BaseModel, frozen=True):
    """A parsed query; `needed` of its clauses have to occur in a text. Without clauses it finds nothing."""

    clauses: tuple[QueryClause, ...] = ()
    needed: int = 0

    @property
    def is_strict(self) -> bool:
        return self.needed == len(self.clauses)

    @cached_property
    def unverified_clauses(self) -> tuple[QueryClause, ...]:
        """The clauses that a text may lack although it has their terms."""
        return tuple(clause for clause in self.clauses if not clause.is_implied_by_terms)

    def is_missing_in(self, text: str) -> bool:
        """Whether a quick check of a text that has all terms shows that it does not match."""
        return self.is_strict and any(clause.is_missing_in(text) for clause in self.unverified_clauses)

    @classmethod
    def parse(cls, text: str) -> "TextQuery":
        """Parse words and phrases in quotes, all of which have to occur; `UsageError` above 1,000 characters."""
        if len(text) > MAX_QUERY_CHARS:
            raise UsageError("query.too_long", chars=len(text), max_chars=MAX_QUERY_CHARS)
        clauses = _parse_clauses(split_query(text))
        return cls(clauses=clauses, needed=len(clauses))

    def loosen(self) -> "TextQuery":
        """The same query where a third of its words, but at least two, are enough: a Chinese run counts pair by pair.

        For questions, which occur nowhere word for word; stopwords do not count.
        """
        parts = [part for clause in self.clauses for part in _split_clause(clause)]
        clauses = _parse_clauses(parts)[:_MAX_LOOSE_CLAUSES]
        return TextQuery(clauses=clauses, needed=max(min(2, len(clauses)), -(-len(clauses) // 3)))


def split_query(text: str) -> list[str]:
    """The words of a query as they were written, and what stands in quotes whole."""
    straight = text.translate(_QUOTES)
    pieces = (*_QUOTED.findall(straight), *_SEPARATORS.split(_QUOTED.sub(" ", straight)))
    return list(dict.fromkeys(piece.strip() for piece in pieces if piece.strip()))


def fold_text(text: str) -> str:
    """The text in lower case with wide forms folded; every character keeps its position."""
    return (text.translate(_build_folding()) if _WIDE_CHARS.search(text) else text).lower()


def extract_terms(text: str) -> set[str]:
    plain = fold_text(text)
    terms = set(_build_word_terms(_RUN.findall(plain)))
    runs = [run if len(run) == 1 else "".join(run.split()) for run in _UNSPACED_RUN.findall(plain)]
    terms.update("".join(runs))
    terms.update([run[i : i + 2] for run in runs for i in range(len(run) - 1)])
    return terms


def split_runs(text: str) -> list[str]:
    """The runs of a folded text in order: Latin words, numbers, and sequences written without spaces."""
    return ["".join(run.split()) for run in _RUN.findall(text)]


def is_unspaced(run: str) -> bool:
    """Whether a run is of a script without spaces, whose characters are looked up in pairs."""
    return _UNSPACED_RUN.match(run) is not None


def _parse_clauses(pieces: Iterable[str]) -> tuple[QueryClause, ...]:
    """The different clauses of the pieces that have a term."""
    clauses: dict[QueryClause, None] = {}
    for piece in pieces:
        runs = split_runs(fold_text(piece))
        if terms := tuple(dict.fromkeys(_build_lookup_terms(runs)))[:_MAX_LOOKUP_TERMS]:
            clauses[QueryClause(runs=tuple(runs), terms=terms, pattern=_build_clause_pattern(runs))] = None
    return tuple(clauses)


def _build_lookup_terms(runs: Sequence[str]) -> Iterator[str]:
    """The terms by which adjacent runs are looked up: pairs, and single ones where there is no neighbour."""
    for run in filter(is_unspaced, runs):
        yield from [run[i : i + 2] for i in range(len(run) - 1)] or [run]
    for words in _group_adjacent_words(runs):
        yield from map(_join_pair, words, words[1:]) if len(words) > 1 else words


def _build_word_terms(runs: Sequence[str]) -> Iterator[str]:
    for words in _group_adjacent_words(runs):
        yield from words
        yield from map(_join_pair, words, words[1:])


def _group_adjacent_words(runs: Sequence[str]) -> Iterator[list[str]]:
    """The Latin words and numbers among the runs, adjacent ones together."""
    words: list[str] = []
    for run in runs:
        if not is_unspaced(run):
            words.append(run[:_MAX_TERM_CHARS])
        elif words:
            yield words
            words = []
    if words:
        yield words


def _join_pair(word: str, following: str) -> str:
    return f":{word}:{following}"


def _build_clause_pattern(runs: Sequence[str]) -> re.Pattern[str]:
    """A pattern of the runs one after the other, with only spaces and signs between them, in a folded text."""
    spelt = (
        r"\s*".join(map(re.escape, run)) if is_unspaced(run) else rf"(?<!{LETTER}){re.escape(run)}(?!{LETTER})"
        for run in runs
    )
    return re.compile(r"[\W_]*".join(islice(spelt, _MAX_PATTERN_RUNS)))


def _split_clause(clause: QueryClause) -> Iterator[str]:
    for run in clause.runs:
        if not is_unspaced(run):
            yield from () if _ENGLISH_STOPWORDS.fullmatch(run) else (run,)
        for piece in _CJK_STOPWORDS.split(run) if is_unspaced(run) else ():
            yield from (piece[i : i + 2] for i in range(len(piece) - 1))


@cache
def _build_folding() -> dict[int, str]:
    """One character for one, so that positions stay the same."""
    wide = filter(_WIDE_CHARS.match, map(chr, range(0x10000)))
    return {ord(char): plain for char in wide if len(plain := unicodedata.normalize("NFKC", char)) == 1} | {0x130: "i"}
