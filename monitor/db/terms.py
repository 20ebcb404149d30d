"""Terms: what a full-text search looks up, cut from texts and queries by one and the same rule.

Latin words and numbers are terms as they stand, and so are two of them that follow each other, so that a phrase of
frequent words need not be looked for in all texts that have both. A run of Chinese characters, kana or Hangul, which
knows no spaces, gives each pair of neighbours and each single character: so 光伏 is found in 太阳能光伏发电, without a
dictionary. Letter case, full-width forms and the radicals that some PDFs hold in place of characters are folded away;
white space between two such characters, as where a line ends, does not part them.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, cached_property

from pydantic import BaseModel

from monitor.errors import UsageError

MAX_QUERY_CHARS = 1000
_MAX_TERM_CHARS = 64
_MAX_LOOKUP_TERMS = 48
_MAX_LOOSE_CLAUSES = 24
_UNSPACED_CHARS = "\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003134f"
_LETTER = rf"[^\W_{_UNSPACED_CHARS}]"
_SPACED_RUN = rf"[{_UNSPACED_CHARS}]+(?:\s+[{_UNSPACED_CHARS}]+)*"
_UNSPACED_RUN = re.compile(_SPACED_RUN)
_RUN = re.compile(rf"{_SPACED_RUN}|{_LETTER}+")
_QUOTED = re.compile(r'"([^"]*)"')
_QUOTES = str.maketrans("“”„‟＂", '"""""')
_SEPARATORS = re.compile(r'[\s,;!?:"，。、；：！？]+')
_CJK_STOPWORDS = re.compile(r"如何|怎么|怎样|什么|哪些|为何|哪个|[的了是在和与及或有为对就也都而其之于以被把吗呢]")
_ENGLISH_STOPWORDS = re.compile(
    r"an?|and|are|as|at|by|do|does|for|from|has|have|how|in|is|it|of|on|or|the|to|was|were|what|when|where|which|who|with"
)
_WIDE_CHARS = re.compile("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\u2f00-\u2fd5\uf900-\ufaff\u0130]")


class QueryClause(BaseModel, frozen=True):
    """A word or phrase of a query: its runs, their terms, which the index must have, and the pattern of its place."""

    runs: tuple[str, ...]
    terms: tuple[str, ...]
    pattern: re.Pattern[str]

    @property
    def is_implied_by_terms(self) -> bool:
        """Whether a text that has the terms is sure to have the word or phrase."""
        if any(len(run) > (2 if is_unspaced(run) else _MAX_TERM_CHARS) for run in self.runs):
            return False
        return len(self.runs) == 1 or (len(self.runs) == 2 and not any(map(is_unspaced, self.runs)))

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(run for run in self.runs if not is_unspaced(run))

    @cached_property
    def wide_forms(self) -> tuple[str, ...]:
        """The wide forms that its characters are folded from."""
        characters = set("".join(self.runs))
        return tuple(chr(wide) for wide, plain in _build_folding().items() if plain.lower() in characters)

    def is_missing_in(self, text: str) -> bool:
        """Whether a quick look at a text as it is written tells that it does not stand there, folded as it may be."""
        if self.words:
            lower = text.lower()
            is_there = all(word in lower for word in self.words)
        else:
            is_there = self.pattern.search(text) is not None
        return not is_there and not any(wide in text for wide in self.wide_forms)

    def count_in(self, text: str, joined: str) -> int:
        """How often it stands in a folded text; `joined` is the same text without white space."""
        if len(self.runs) == 1 and is_unspaced(self.runs[0]):
            return joined.count(self.runs[0])  # what the pattern finds, several times as fast
        return sum(1 for _ in self.pattern.finditer(text))


class TextQuery(BaseModel, frozen=True):
    """What is looked for; of the clauses, `needed` have to stand in a text. Without clauses it finds nothing."""

    clauses: tuple[QueryClause, ...] = ()
    needed: int = 0

    @property
    def is_strict(self) -> bool:
        """Whether all of it has to stand in a text."""
        return self.needed == len(self.clauses)

    @cached_property
    def unverified_clauses(self) -> tuple[QueryClause, ...]:
        """The clauses that a text may lack although it has their terms."""
        return tuple(clause for clause in self.clauses if not clause.is_implied_by_terms)

    def is_missing_in(self, text: str) -> bool:
        """Whether a quick look at a text that has all terms tells that it is not meant."""
        return self.is_strict and any(clause.is_missing_in(text) for clause in self.unverified_clauses)

    @classmethod
    def parse(cls, text: str) -> "TextQuery":
        """A query as a person types it: every word has to stand in the text, and what is in quotes as it stands there.

        No sign has a meaning but the quotes. `UsageError` for more than 1,000 characters.
        """
        if len(text) > MAX_QUERY_CHARS:
            raise UsageError("query.too_long", chars=len(text), max_chars=MAX_QUERY_CHARS)
        clauses = tuple(
            dict.fromkeys(
                clause for piece in _split_pieces(text.translate(_QUOTES)) if (clause := _parse_clause(piece))
            )
        )
        return cls(clauses=clauses, needed=len(clauses))

    def loosen(self) -> "TextQuery":
        """The same query where a third of its words, but two at least, are enough: those of a Chinese run pair by pair.

        For questions as a person or a model puts them, which stand nowhere word for word; what only joins words in
        them does not count.
        """
        parts = [part for clause in self.clauses for part in _split_clause(clause)]
        clauses = tuple(dict.fromkeys(clause for part in parts if (clause := _parse_clause(part))))[:_MAX_LOOSE_CLAUSES]
        return TextQuery(clauses=clauses, needed=max(min(2, len(clauses)), -(-len(clauses) // 3)))


def fold_text(text: str) -> str:
    """The text in lower case and with its wide forms folded, each character at its old place."""
    return (text.translate(_build_folding()) if _WIDE_CHARS.search(text) else text).lower()


def extract_terms(text: str) -> set[str]:
    plain = fold_text(text)
    terms = set(_build_word_terms(_RUN.findall(plain)))
    runs = [run if len(run) == 1 else "".join(run.split()) for run in _UNSPACED_RUN.findall(plain)]
    terms.update("".join(runs))
    terms.update([run[i : i + 2] for run in runs for i in range(len(run) - 1)])
    return terms


def split_runs(text: str) -> list[str]:
    """The runs of a folded text, in their order: Latin words and numbers, and what is written without spaces."""
    return ["".join(run.split()) for run in _RUN.findall(text)]


def is_unspaced(run: str) -> bool:
    """Whether a run is written without spaces, so that its characters are looked up in pairs."""
    return _UNSPACED_RUN.match(run) is not None


def _split_pieces(text: str) -> Iterator[str]:
    """What is quoted, and each word of the rest."""
    yield from _QUOTED.findall(text)
    yield from _SEPARATORS.split(_QUOTED.sub(" ", text))


def _parse_clause(piece: str) -> QueryClause | None:
    runs = split_runs(fold_text(piece))
    terms = list(_build_lookup_terms(runs))
    if not terms:
        return None
    looked_up = tuple(dict.fromkeys(terms))[:_MAX_LOOKUP_TERMS]
    return QueryClause(runs=tuple(runs), terms=looked_up, pattern=_build_clause_pattern(runs))


def _build_lookup_terms(runs: Sequence[str]) -> Iterator[str]:
    """The terms that runs side by side are looked up by: the pairs, and what has no neighbour by itself."""
    for run in filter(is_unspaced, runs):
        yield from [run[i : i + 2] for i in range(len(run) - 1)] or [run]
    for words in _group_adjacent_words(runs):
        yield from map(_join_pair, words, words[1:]) if len(words) > 1 else words


def _build_word_terms(runs: Sequence[str]) -> Iterator[str]:
    for words in _group_adjacent_words(runs):
        yield from words
        yield from map(_join_pair, words, words[1:])


def _group_adjacent_words(runs: Sequence[str]) -> Iterator[list[str]]:
    """The Latin words and numbers among the runs, those together between which nothing else stands."""
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
    """Where the runs stand one after the other, with nothing but spaces and signs between them; in a folded text."""
    spelt = (
        r"\s*".join(map(re.escape, run)) if is_unspaced(run) else rf"(?<!{_LETTER}){re.escape(run)}(?!{_LETTER})"
        for run in runs
    )
    return re.compile(r"[\W_]*".join(spelt))


def _split_clause(clause: QueryClause) -> Iterator[str]:
    for run in clause.runs:
        if not is_unspaced(run):
            yield from () if _ENGLISH_STOPWORDS.fullmatch(run) else (run,)
        for piece in _CJK_STOPWORDS.split(run) if is_unspaced(run) else ():
            yield from (piece[i : i + 2] for i in range(len(piece) - 1))


@cache
def _build_folding() -> dict[int, str]:
    """One character for one, so that a place in the folded text is the same place in the text."""
    wide = filter(_WIDE_CHARS.match, map(chr, range(0x10000)))
    return {ord(char): plain for char in wide if len(plain := unicodedata.normalize("NFKC", char)) == 1} | {0x130: "i"}
