"""JSON lines on stdin, answered line by line on stdout: for commands that programs talk to."""

import io
import json
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from pydantic import BaseModel, ValidationError

from monitor.cli.terminal import Terminal
from monitor.errors import DatabaseError
from monitor.i18n.message import Message
from monitor.i18n.model import describe_validation_error

if TYPE_CHECKING:
    from monitor.bootstrap import App

_READ_BYTES = 1 << 20
Input = TypeVar("Input", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that cannot be read or worked on, with the id that it has all the same."""

    id: Any
    number: int
    reason: Message


@dataclass(frozen=True, slots=True)
class LineReader(Generic[Input]):
    """Reads each line of stdin as a `shape`; `no_object` is what is said of a line that holds something else."""

    shape: type[Input]
    no_object: str

    def read_batches(self, max_lines: int) -> Iterator[list[tuple[int, Input | BadLine]]]:
        """Yield the lines that have come in with their numbers, so many at a time; wait only where none has."""
        number, rest = 0, b""
        stdin = cast("io.BufferedReader", sys.stdin.buffer)
        while chunk := stdin.read1(_READ_BYTES):
            *lines, rest = (rest + chunk).split(b"\n")
            numbered = [(number + place, line) for place, line in enumerate(lines, start=1) if line.strip()]
            number += len(lines)
            for start in range(0, len(numbered), max_lines):
                yield [(at, self._parse(line, at)) for at, line in numbered[start : start + max_lines]]
        if rest.strip():
            yield [(number + 1, self._parse(rest, number + 1))]

    def _parse(self, line: bytes, number: int) -> Input | BadLine:
        try:
            given = json.loads(line)
        except (ValueError, RecursionError):
            return BadLine(None, number, Message("validation.json_invalid"))
        if not isinstance(given, dict):
            return BadLine(None, number, Message(self.no_object))
        try:
            return self.shape.model_validate(given)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            reason = Message.of("statement.bad_field", name=first["loc"][0], reason=describe_validation_error(first))
            return BadLine(given.get("id"), number, reason)


def report_bad_line(terminal: Terminal, line: BadLine) -> dict[str, Any]:
    """Write to stderr what is wrong with a line, and return what stands in its place among the answers."""
    message = Message.of("statement.bad_line", line=line.number, reason=line.reason)
    terminal.complain(message)
    return {"id": line.id, "error": {"message": terminal.render(message)} | message.to_json()}


class AnswerWriter:
    """Writes each answer as a line at once or, as JSON, all of them as one document `{name: answers}` at the end."""

    def __init__(self, terminal: Terminal, name: str, *, as_json: bool) -> None:
        self._terminal = terminal
        self._name = name
        self._as_json = as_json
        self._lines: list[str] = []

    def write(self, answer: dict[str, Any]) -> None:
        self.write_line(json.dumps(answer, ensure_ascii=False))

    def write_line(self, line: str) -> None:
        if self._as_json:
            self._lines.append(line)
        else:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()

    def close(self) -> None:
        if self._as_json:
            self._terminal.write_json({self._name: [json.loads(line) for line in self._lines]})


async def open_app_if_there(terminal: Terminal, lifetime: AsyncExitStack, notice: str) -> "App | None":
    """Return the service, which knows the model that is set; None, with `notice`, where no database and no model is."""
    from monitor.bootstrap import open_app

    settings = terminal.load_settings()
    try:
        return await lifetime.enter_async_context(open_app(settings))
    except DatabaseError as error:
        if settings.llm.is_on:
            raise
        terminal.notify(notice, reason=error.message)
        return None
