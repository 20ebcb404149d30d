"""An answer that is told while it is written: the server's events, read as tolerantly as its whole answers."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

from monitor.domain.chat import Completion, OnToken
from monitor.llm.wire import Chunk, chunk_from

_MOST_CHARS = 400_000
_DONE = b"[DONE]"


class BrokenOff(Exception):
    """The connection broke while an answer was on its way."""


class Streamed:
    """A completion as far as it has come. It is cut where the server named no end, or ended for want of room."""

    def __init__(self, on_token: OnToken) -> None:
        self._on_token = on_token
        self._parts: list[str] = []
        self._chars = 0
        self._is_over = False
        self._is_short = False
        self._prompt_tokens = 0
        self._completion_tokens = 0
        self.has_begun = False

    @property
    def has_text(self) -> bool:
        """Whether there is anything to hand on."""
        return self._chars > 0

    async def read(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[None]:
        """Take the events of an answer, and tell their text; yields after each, so that the wait can begin anew.

        `ModelFailed` for an error among them. What comes after the end, or is longer than any answer, is left.
        """
        async for line in _lines(pieces):
            data = line.removeprefix(b"data:").strip()
            if not line.startswith(b"data:") or not data:
                continue
            self.has_begun = True
            if data == _DONE or self._chars > _MOST_CHARS:
                self._is_over = self._is_over or data == _DONE
                return
            await self._take(chunk_from(data))
            yield

    async def whole(self, completion: Completion) -> Completion:
        """An answer that came in one piece after all, told as one."""
        if completion.text:
            await self._on_token(completion.text)
        return completion

    def completion(self) -> Completion:
        """What came; `BrokenOff` where nothing did, not even an event without text."""
        if not self.has_begun:
            raise BrokenOff("the answer ended before it began")
        return Completion(
            text="".join(self._parts),
            prompt_tokens=self._prompt_tokens,
            completion_tokens=self._completion_tokens,
            is_cut=self._is_short or not self._is_over,
        )

    async def _take(self, chunk: Chunk) -> None:
        if chunk.usage is not None:
            self._prompt_tokens = max(chunk.usage.prompt_tokens or 0, 0)
            self._completion_tokens = max(chunk.usage.completion_tokens or 0, 0)
        for choice in (chunk.choices or [])[:1]:
            if choice.finish_reason:
                self._is_over, self._is_short = True, choice.finish_reason == "length"
            text = choice.delta.content if choice.delta else ""
            if text:
                self._parts.append(text)
                self._chars += len(text)
                await self._on_token(text)


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    rest = b""
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line.rstrip(b"\r")
    yield rest


@contextmanager
def telling_what_broke() -> Iterator[None]:
    """Turns what the transport raises into `BrokenOff`.

    The client hands it on as it is and has changed its library before, so it is known by its name, the same in all.
    """
    try:
        yield
    except Exception as error:
        if any(kind.__name__ == "TransportError" for kind in type(error).__mro__):
            raise BrokenOff(str(error) or type(error).__name__) from error
        raise
