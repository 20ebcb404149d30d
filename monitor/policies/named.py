from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NamedDocument:
    """A document that a text names by title, by number, or by both, and the span of the words."""

    title: str | None
    number: str | None
    start: int
    end: int
