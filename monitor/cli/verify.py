"""`monitor verify`: whether a page says what a sentence says, for statements on stdin."""

import asyncio
import io
import json
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from pydantic import ValidationError

from monitor.cli.terminal import Terminal, get_terminal
from monitor.errors import DatabaseError
from monitor.i18n.message import Message
from monitor.i18n.model import describe_validation_error
from monitor.isolation.pool import WorkerPool
from monitor.services.audit import COMMAND_LINE
from monitor.services.statements import StatementInput, StatementService

if TYPE_CHECKING:
    from monitor.llm.chat import ChatModel

_MAX_BATCH = 20
_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class _BadLine:
    """A line that is no statement, with the id that it has all the same."""

    id: Any
    number: int
    reason: Message


def verify(
    no_model: Annotated[bool, typer.Option("--no-model", help="By code alone, also where a model is set.")] = False,
) -> None:
    terminal = get_terminal()
    with asyncio.Runner() as runner, ExitStack() as stack:
        lifetime = AsyncExitStack()
        stack.callback(lambda: runner.run(lifetime.aclose()))
        workers = WorkerPool(size=1)
        lifetime.push_async_callback(workers.close)
        service, model = StatementService(workers=workers), None
        if not no_model:
            service, model = runner.run(_open_service(terminal, lifetime, workers))
        has_failed = False
        # Not one run for all of them: a person can interrupt the program while it waits for the next line.
        for batch in _read_batches(1 if model is None else _MAX_BATCH):
            statements = [line for line in batch if isinstance(line, StatementInput)]
            checked = iter(runner.run(service.verify(statements, model=model)))
            for line in batch:
                has_failed |= isinstance(line, _BadLine)
                _write(_report_bad_line(terminal, line) if isinstance(line, _BadLine) else next(checked).model_dump())
    if has_failed:
        raise typer.Exit(1)


async def _open_service(
    terminal: Terminal, lifetime: AsyncExitStack, workers: WorkerPool
) -> "tuple[StatementService, ChatModel | None]":
    """Return the service and the model that is set; where there is no database to look for one, code alone."""
    from monitor.bootstrap import open_app

    settings = terminal.load_settings()
    try:
        app = await lifetime.enter_async_context(open_app(settings))
    except DatabaseError as error:
        if settings.llm.is_on:
            raise
        terminal.notify("statement.by_code_alone", reason=error.message)
        return StatementService(workers=workers), None
    return app.statements, await app.statements.build_second_reader(by=COMMAND_LINE)


def _read_batches(max_lines: int) -> "Iterator[list[StatementInput | _BadLine]]":
    """Yield the lines that have come in, so many at a time; wait only where none has."""
    number, rest = 0, b""
    stdin = cast("io.BufferedReader", sys.stdin.buffer)
    while chunk := stdin.read1(_READ_BYTES):
        *lines, rest = (rest + chunk).split(b"\n")
        numbered = [(number + place, line) for place, line in enumerate(lines, start=1) if line.strip()]
        number += len(lines)
        for start in range(0, len(numbered), max_lines):
            yield [_parse_line(line, at) for at, line in numbered[start : start + max_lines]]
    if rest.strip():
        yield [_parse_line(rest, number + 1)]


def _parse_line(line: bytes, number: int) -> "StatementInput | _BadLine":
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        return _BadLine(None, number, Message("validation.json_invalid"))
    if not isinstance(given, dict):
        return _BadLine(None, number, Message("statement.no_object"))
    try:
        return StatementInput.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        reason = Message.of("statement.bad_field", name=first["loc"][0], reason=describe_validation_error(first))
        return _BadLine(given.get("id"), number, reason)


def _report_bad_line(terminal: Terminal, line: _BadLine) -> dict[str, Any]:
    """Write to stderr what is wrong with a line, and return what stands in its place among the answers."""
    message = Message.of("statement.bad_line", line=line.number, reason=line.reason)
    terminal.complain(message)
    return {"id": line.id, "error": {"message": terminal.render(message)} | message.to_json()}


def _write(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
    sys.stdout.flush()
