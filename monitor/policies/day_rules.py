"""What the rules of days share: a reading's circumstances, and a day as a rule found it."""

import datetime as dt
from dataclasses import dataclass

from monitor.vocabulary import DeadlineKind

HANDED_IN = (DeadlineKind.COMMENTS_UNTIL, DeadlineKind.APPLY_BY)
"""What cannot be due before the day on which it was asked for: a closed consultation is history."""


@dataclass(frozen=True, slots=True)
class DayReading:
    """What is known of a document when its days are read.

    `asks_comments`: it is out for comment. `explains`: its days are those of the document that it explains.
    `is_order`: a decision on a single firm. `is_plan`: what the body itself means to do by when. `is_news`: it is no
    document of its own. `own_titles`: how it names itself.
    """

    asks_comments: bool = False
    explains: bool = False
    is_order: bool = False
    is_plan: bool = False
    is_news: bool = False
    published_on: dt.date | None = None
    own_titles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StatedDay:
    """A day of a kind, and the span of the sentence that states it in the folded text."""

    kind: DeadlineKind
    day: dt.date
    subject: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Term:
    """How long a document holds: so many years or months from the day on which it is in force."""

    count: int
    unit: str
    start: int
    end: int
