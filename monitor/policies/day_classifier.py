"""Decides which days of a document are deadlines, by the words around each and by what the rules propose."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from snowballstemmer import stemmer  # type: ignore[import-untyped]

from monitor.policies.classifier import load_classifier
from monitor.policies.day_mentions import DayMention
from monitor.policies.day_rules import HANDED_IN, StatedDay
from monitor.policies.document_text import Sentence
from monitor.vocabulary import DeadlineKind, PolicyStage

NO_DEADLINE = "none"
_MIN_PROBABILITY = 0.36
_MIN_IF_PROPOSED = 0.2
_MIN_IN_NEWS = 0.7
_STEMMER = stemmer("english")
_WORD = re.compile(r"[a-z]+|\d+|[^\w\s]")
_DIGITS = re.compile(r"\d+")
_DAY_SIGN = "\N{WHITE CIRCLE}"
_NEAR, _FAR = {True: 12, False: 6}, {True: 40, False: 24}
_SHORT = {True: 25, False: 60}
_CLAUSE_END = re.compile("[，。；！？,;]")


@dataclass(frozen=True, slots=True)
class DayInContext:
    """A day of a sentence, by its place among them; `before` is the sentence ahead, `proposed` what the rules say."""

    sentence: Sentence
    place: int
    before: str
    proposed: tuple[DeadlineKind, ...]
    stage: PolicyStage | None
    is_chinese: bool

    @property
    def mention(self) -> DayMention:
        return self.sentence.days[self.place]

    def list_features(self) -> list[str]:
        """Return runs of words before and behind the day, near and far, and what is known of the day itself."""
        days, day = self.sentence.days, self.mention
        left, right = self._mask(0, self.place), self._mask(self.place + 1, len(days))
        ahead, behind = self._split(left), self._split(right)
        near, far = _NEAR[self.is_chinese], _FAR[self.is_chinese]
        found = [
            *_list_runs("l", ahead[-near:], 3),
            *_list_runs("r", behind[:near], 3),
            *_list_runs("L", ahead[-far:], 2),
            *_list_runs("R", behind[:far], 2),
            *_list_runs("b", self._split(self.before)[-far:], 2),
            *_list_runs("c", self._split(_CLAUSE_END.split(left)[-1])[-far:], 2),
            *_list_runs("d", self._split(_CLAUSE_END.split(right)[0])[:far], 2),
            f"{ahead[-1] if ahead else ''}|{behind[0] if behind else ''}",
            f"stage:{self.stage}",
            f"counted:{day.is_counted}",
            f"end:{day.is_end}",
            f"year:{day.has_year}",
            f"place:{min(self.place, 2)}/{min(len(days), 3)}",
            f"short:{len(self.sentence.text) < _SHORT[self.is_chinese]}",
        ]
        found += [f"al:{' '.join(ahead[-count:])}" for count in range(1, 5) if len(ahead) >= count]
        found += [f"ar:{' '.join(behind[:count])}" for count in range(1, 5) if len(behind) >= count]
        return found + ([f"rule:{kind}" for kind in self.proposed] or [f"rule:{NO_DEADLINE}"])

    def _mask(self, first: int, stop: int) -> str:
        """Return the words before the day at `stop`, or behind the one before `first`, a sign for each other day."""
        days, text = self.sentence.days, self.sentence.text
        pieces, last = [], days[first - 1].end if first else 0
        for day in days[first:stop]:
            pieces += [text[last : day.start], _DAY_SIGN]
            last = day.end
        pieces.append(text[last : days[stop].start if stop < len(days) else len(text)])
        return _DIGITS.sub("0", "".join(pieces))

    def _split(self, text: str) -> list[str]:
        if self.is_chinese:
            return [char for char in text if not char.isspace()]
        words: list[str] = _STEMMER.stemWords(_WORD.findall(text.lower().replace(_DAY_SIGN, " 1 ")))
        return words


def _list_runs(side: str, words: Sequence[str], longest: int) -> Iterator[str]:
    for size in range(1, longest + 1):
        for start in range(len(words) - size + 1):
            yield f"{side}:{' '.join(words[start : start + size])}"


def list_days_in_context(
    sentences: Sequence[Sentence], proposed: Sequence[StatedDay], *, stage: PolicyStage | None, is_chinese: bool
) -> Iterator[DayInContext]:
    """Yield each day of a document whose date is known."""
    kinds = defaultdict(list)
    for stated in proposed:
        kinds[stated.start, stated.day].append(stated.kind)
    for number, sentence in enumerate(sentences):
        before = sentences[number - 1].text if number else ""
        for place, mention in enumerate(sentence.days):
            if mention.day is not None:
                says = tuple(kinds.get((sentence.start, mention.day), ()))
                yield DayInContext(sentence, place, before, says, stage, is_chinese)


def classify_day(day: DayInContext, *, is_news: bool = False) -> DeadlineKind | None:
    """Return what begins or ends on a day; None for one that is no deadline. News seldom binds, and has to be clear."""
    name = "days_zh" if day.is_chinese else "days_en"
    chances = load_classifier(name).predict(day.list_features())
    kind = max(DeadlineKind, key=lambda kind: chances.get(kind, 0.0))
    lowest = _MIN_IF_PROPOSED if kind in day.proposed else _MIN_PROBABILITY
    if is_news and not (kind in HANDED_IN and kind in day.proposed):
        lowest = _MIN_IN_NEWS
    return kind if chances.get(kind, 0.0) >= lowest else None
