"""A sign: words of a title that show where a document stands in the life of its policy."""

import re
from dataclasses import dataclass

from monitor.vocabulary import PolicyStage


def match_any(*words: str) -> re.Pattern[str]:
    """Return a pattern that finds any of some words, in capitals or small letters."""
    return re.compile("|".join(words), re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TitleSign:
    """Words of a title that show a stage, `unless` others stand there.

    Most are sought outside 《》 (`bare`): what a title quotes is not what it does.
    """

    stage: PolicyStage | None
    words: re.Pattern[str]
    unless: re.Pattern[str] | None = None
    in_quoted: bool = False

    def shows(self, title: str, bare: str) -> bool:
        text = title if self.in_quoted else bare
        return bool(self.words.search(text)) and not (self.unless and self.unless.search(title))
