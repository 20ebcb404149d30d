"""A strict reader of `text/event-stream`, by the rules of the WHATWG: what it reads, every browser reads the same.

Where the rules let a reader pass over something, this one complains: an unknown field, half an event at the end, a
field that stands twice in one event where that has no meaning.
"""

import codecs
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Message:
    """An event as it is dispatched; `id` is the last event id at that moment."""

    data: str
    id: str
    event: str = "message"


@dataclass
class Reader:
    """Reads a stream as it comes; `feed` gives the events that are whole by then."""

    last_event_id: str = ""
    retry_ms: int | None = None
    comments: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self._rest = ""
        self._is_first = True
        self._fields: dict[str, list[str]] = {}

    def feed(self, piece: bytes) -> list[Message]:
        """The events that this piece completes."""
        text = self._rest + self._decoder.decode(piece)
        if self._is_first and text:
            text, self._is_first = text.removeprefix("\ufeff"), False
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        *lines, self._rest = text.split("\n")
        return [event for line in lines if (event := self._line(line)) is not None]

    def end(self) -> None:
        """The stream has ended: nothing may be left half said."""
        assert not self._rest, f"half a line: {self._rest!r}"
        assert not self._fields, f"half an event: {self._fields}"
        self._decoder.decode(b"", final=True)

    def _line(self, line: str) -> Message | None:
        if not line:
            return self._dispatched()
        if line.startswith(":"):
            self.comments.append(line[1:])
            return None
        name, colon, value = line.partition(":")
        assert colon, f"a field without a value: {line!r}"
        assert name in ("event", "data", "id", "retry"), f"an unknown field: {line!r}"
        assert name == "data" or name not in self._fields, f"twice in one event: {line!r}"
        self._fields.setdefault(name, []).append(value.removeprefix(" "))
        return None

    def _dispatched(self) -> Message | None:
        fields, self._fields = self._fields, {}
        for value in fields.get("retry", []):
            assert value.isascii()
            assert value.isdigit()
            self.retry_ms = int(value)
        for value in fields.get("id", []):
            assert "\0" not in value
            self.last_event_id = value
        if "data" not in fields:
            assert "event" not in fields, "an event without data is dropped by every browser"
            return None
        assert "id" in fields, "an event without an id of its own cannot be gone on from"
        (kind,) = fields.get("event", ["message"])
        return Message("\n".join(fields["data"]), self.last_event_id, kind)
