"""Streamed answers: events as they come, put together to one completion."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from monitor.llm.chat import Completion, CutReason, OnToken
from monitor.llm.wire import AnswerPayload, MessagePieces, UsagePayload, build_completion, parse_chunk

_MAX_CHARS = 400_000
_DONE = b"[DONE]"


class StreamInterrupted(Exception):
    """Raised where the connection broke before the answer was complete."""


@dataclass
class StreamedCompletion:
    """A completion as far as it was received; cut where the server sent no end or ended it before the model did.

    `on_token` None: nobody listens, the answer is streamed because its server demands it.
    """

    on_token: OnToken | None
    has_begun: bool = False
    chars: int = 0
    fingerprint: str | None = None
    _pieces: MessagePieces = field(default_factory=MessagePieces)
    _is_finished: bool = False
    _cut_by: CutReason | None = None
    _usage: UsagePayload = field(default_factory=UsagePayload)

    async def read(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[None]:
        """Read the events of an answer and pass their text on; yield after each, so that the timeout can restart.

        Raises `ModelFailed` for an error event. What follows the end or exceeds the maximum length is ignored.
        """
        async for line in _split_lines(pieces):
            data = line.removeprefix(b"data:").strip()
            if not line.startswith(b"data:") or not data:
                continue
            self.has_begun = True
            if data == _DONE or self.chars > _MAX_CHARS:
                self._is_finished = self._is_finished or data == _DONE
                return
            await self._append_chunk(parse_chunk(data))
            yield

    async def emit_whole(self, completion: Completion) -> Completion:
        """Pass on an answer that came in one piece after all."""
        if completion.text and self.on_token is not None:
            await self.on_token(completion.text)
        return completion

    def build_completion(self) -> Completion:
        """Return what was received.

        Raises `StreamInterrupted` where that is not even an event without text, and for an answer without its end that
        nobody listened to: half of it is of no use.
        """
        if not self.has_begun:
            raise StreamInterrupted("the answer ended before it began")
        if self.on_token is None and not self._is_finished:
            raise StreamInterrupted("the answer ended before its end")
        message = self._pieces.build_message()
        return build_completion(message, self._usage, cut_by=self._cut_by, is_whole=self._is_finished)

    async def _append_chunk(self, chunk: AnswerPayload) -> None:
        self._usage = chunk.usage or self._usage
        self.fingerprint = chunk.system_fingerprint or self.fingerprint
        for choice in (chunk.choices or [])[:1]:
            self._usage = chunk.usage or choice.usage or self._usage
            if choice.finish_reason:
                self._is_finished, self._cut_by = True, choice.cut_by
            if choice.delta is None:
                continue
            self._pieces.add(choice.delta)
            text = choice.delta.content
            if text:
                self.chars += len(text)
                if self.on_token is not None:
                    await self.on_token(text)


async def _split_lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    begun: list[bytes] = []
    async for piece in pieces:
        end, *more = piece.split(b"\n")
        begun.append(end)
        for start in more:
            yield b"".join(begun).rstrip(b"\r")
            begun = [start]
    yield b"".join(begun)


@contextmanager
def translate_transport_errors() -> Iterator[None]:
    """Convert errors of the transport to `StreamInterrupted`.

    The openai client passes them on unchanged and has replaced its HTTP library before, so they are matched by name.
    """
    try:
        yield
    except Exception as error:
        if any(kind.__name__ == "TransportError" for kind in type(error).__mro__):
            raise StreamInterrupted from error
        raise
