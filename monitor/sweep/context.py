"""An agent's context, kept small: what was processed gives way to a line that says so (seed 002, pruning).

With pruning on, message contents and tool arguments together stay within the ceiling at every call, whatever the
size of the pages and however long the model talks.
"""

import json
from collections.abc import Sequence

from monitor.domain.chat import Completion, Message, ToolCall

RESERVE_CHARS = 1500
_OLD_PAGE_CHARS = 1200
_LONG_ARGUMENTS_CHARS = 300
_TALK_CHARS = 1500
_LEAST_PAGE_CHARS = 1000
_WAY_ON_CHARS = 500


class Context:
    def __init__(self, system: str, user: str, *, max_chars: int, page_max_chars: int, is_pruned: bool) -> None:
        self.messages = [Message(role="system", content=system), Message(role="user", content=user)]
        self.largest_chars = 0
        self._max_chars = max_chars
        self._page_max_chars = page_max_chars
        self._is_pruned = is_pruned
        self._pages: list[int] = []

    @property
    def size_chars(self) -> int:
        """Message contents and tool arguments together."""
        return sum(message.size_chars for message in self.messages)

    def for_call(self) -> Sequence[Message]:
        """The messages as they go to the model now, within the ceiling where pruning is on."""
        if self._is_pruned:
            self._fit(self._max_chars)
        self.largest_chars = max(self.largest_chars, self.size_chars)
        return list(self.messages)

    def add_completion(self, completion: Completion) -> None:
        text = completion.text if not self._is_pruned else completion.text[:_TALK_CHARS]
        self.messages.append(Message(role="assistant", content=text, tool_calls=completion.tool_calls))

    def room_for_page(self) -> int:
        """How long the next page may be; pages that are still there are shortened to make room for it."""
        if not self._is_pruned:
            return self._page_max_chars
        for index in self._pages:
            self._shorten(index)
        self._pages.clear()
        self._shorten_arguments()
        room = self._max_chars - RESERVE_CHARS - self.size_chars
        if room < _LEAST_PAGE_CHARS:
            self._fit(self._max_chars - RESERVE_CHARS - _LEAST_PAGE_CHARS)
            room = self._max_chars - RESERVE_CHARS - self.size_chars
        return min(self._page_max_chars, room)

    def add_answer(self, call: ToolCall, answer: str, *, is_page: bool) -> None:
        self.messages.append(Message(role="tool", content=answer, tool_call_id=call.id))
        if is_page:
            self._pages.append(len(self.messages) - 1)

    def mark_processed(self, saved_urls: Sequence[str]) -> None:
        """After a save: the pages that the saved items came from become one line, and where they go on to stays."""
        if not self._is_pruned:
            return
        for index in list(self._pages):
            saved = sum(url in self.messages[index].content for url in saved_urls)
            if saved:
                note = f"[已处理该页面，保存了 {saved} 条，原文已省略 / processed: {saved} items saved]"
                self._replace(index, "\n".join([note, *_ways_on(self.messages[index].content)]))
                self._pages.remove(index)
        self._shorten_arguments()

    def nudge(self, text: str) -> None:
        """Say something to a model that answered without a tool."""
        self.messages.append(Message(role="user", content=text))

    def _fit(self, ceiling: int) -> None:
        """Shorten from the oldest message on, and at last drop whole turns, until the rest fits."""
        self._shorten_arguments()
        for index in range(2, len(self.messages)):
            if self.size_chars <= ceiling:
                return
            self._shorten(index)
        while self.size_chars > ceiling and len(self.messages) > 2:
            self._drop_oldest_turn()

    def _drop_oldest_turn(self) -> None:
        end = 3
        while end < len(self.messages) and self.messages[end].role == "tool":
            end += 1
        del self.messages[2:end]
        self._pages = [index - (end - 2) for index in self._pages if index >= end]

    def _shorten(self, index: int) -> None:
        content = self.messages[index].content
        if len(content) > _OLD_PAGE_CHARS:
            self._replace(index, content[: _OLD_PAGE_CHARS - 40] + "\n[以下已省略 / the rest was left out]")

    def _shorten_arguments(self) -> None:
        for index, message in enumerate(self.messages):
            if any(len(call.arguments) > _LONG_ARGUMENTS_CHARS for call in message.tool_calls):
                calls = [call.model_copy(update={"arguments": _short(call.arguments)}) for call in message.tool_calls]
                self.messages[index] = message.model_copy(update={"tool_calls": calls})

    def _replace(self, index: int, content: str) -> None:
        self.messages[index] = self.messages[index].model_copy(update={"content": content})


def _short(arguments: str) -> str:
    if len(arguments) <= _LONG_ARGUMENTS_CHARS:
        return arguments
    return json.dumps({"note": f"{len(arguments)} characters of arguments left out"})


def _ways_on(page: str) -> list[str]:
    """The lines after a page's candidates: what was cut from them, and the next page."""
    return [line[:_WAY_ON_CHARS] for line in page.splitlines()[-3:] if "offset" in line or "下一页" in line]
