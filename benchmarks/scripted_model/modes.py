"""The modes of the scripted model, what goes out in each of them, and what of it is a lie."""

from dataclasses import dataclass
from enum import StrEnum


class ScriptedMode(StrEnum):
    GOOD = "good"
    FENCED = "fenced"
    MALFORMED = "malformed"
    TRUNCATED = "truncated"
    HALLUCINATING = "hallucinating"
    EMPTY = "empty"
    HTTP_500 = "http_500"
    HTTP_429 = "http_429"
    SLOW = "slow"
    LOOPING = "looping"
    LAZY = "lazy"
    OBEDIENT = "obedient"
    SWAPPING = "swapping"
    NEGATING = "negating"
    MISATTRIBUTING = "misattributing"
    ECHOING = "echoing"
    CUT_OFF = "cut_off"
    MISTYPING = "mistyping"
    MISCITED = "miscited"


LYING_MODES = (
    ScriptedMode.SWAPPING,
    ScriptedMode.NEGATING,
    ScriptedMode.MISATTRIBUTING,
    ScriptedMode.ECHOING,
    ScriptedMode.CUT_OFF,
    ScriptedMode.MISTYPING,
    ScriptedMode.MISCITED,
)


class LieKind(StrEnum):
    """What makes a sentence false, or no statement at all."""

    ROLES = "roles"
    FIGURES = "figures"
    POLARITY = "polarity"
    DUTY = "duty"
    DIRECTION = "direction"
    BOUND = "bound"
    NAME = "name"
    ECHO = "echo"
    CUT_OFF = "cut_off"
    CITATION = "citation"


@dataclass(frozen=True)
class Lie:
    """A sentence that the model said although it knows better, and the true one that it made it of, if any.

    Both are without citations and full stop.
    """

    kind: LieKind
    text: str
    truth: str = ""


@dataclass(frozen=True)
class ReplyPayload:
    """A reply as it goes out: tool arguments are text here, because a bad model's are no JSON.

    `finish_reason` is given where it is not the usual one.
    """

    text: str
    calls: tuple[tuple[str, str], ...] = ()
    finish_reason: str | None = None
    lies: tuple[Lie, ...] = ()


@dataclass
class LieRation:
    """How many of its sentences a model turns into lies: of `sentences` so far about the `share`, spread evenly."""

    share: float = 1.0
    sentences: int = 0
    lies: int = 0

    def is_due(self) -> bool:
        """Count one more sentence; whether it should be a lie."""
        self.sentences += 1
        return self.lies < self.share * self.sentences
