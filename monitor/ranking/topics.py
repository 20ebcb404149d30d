"""How well an item fits a topic: what a client or a team cares about."""

from dataclasses import dataclass

from monitor.i18n.message import Message


@dataclass(frozen=True)
class TopicScore:
    """The fit of one item to one topic: a score of 0 to 1, the reason, and the passage that bears it."""

    score: float
    is_match: bool
    reason: Message
    passage: str
