"""How a run reports what it does while it works."""

from collections.abc import Callable
from typing import Literal

from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.vocabulary import EventKind, Phase, SectionEnd


class Progress(MessageModel):
    """What a run does right now: which phase, where in it, how far.

    After the phases comes `revisit`, which looks again at the pages of earlier items. The fields after `kind` belong to
    events of that kind: `ordinal` is the section's place in the run, `ended` why its reading ended, `reason` why
    something fell back or a page could not be seen, `outcome` the result of a model call.
    """

    phase: Phase | Literal["revisit"]
    place: str = ""
    done: int = 0
    total: int | None = None
    message: Message | None = None
    kind: EventKind = EventKind.STEP
    url: str = ""
    title: str = ""
    reason: Message | None = None
    ordinal: int | None = None
    ended: SectionEnd | None = None
    pages: int | None = None
    candidates: int | None = None
    saved: int | None = None
    item_id: int | None = None
    tokens: int | None = None
    ms: int | None = None
    outcome: str = ""


ProgressCallback = Callable[[Progress], None]


def describe_end(ended: SectionEnd) -> Message:
    return Message(f"cause.ended_{ended}")
