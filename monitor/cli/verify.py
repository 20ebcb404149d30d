"""`monitor verify`: whether a page says what a sentence says, for statements on stdin."""

import asyncio
from contextlib import AsyncExitStack, ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.lines import AnswerWriter, BadLine, LineReader, open_app_if_there, report_bad_line
from monitor.cli.terminal import JsonOption, Terminal, get_terminal
from monitor.isolation.pool import WorkerPool
from monitor.services.audit import COMMAND_LINE
from monitor.services.statements import StatementInput, StatementService

if TYPE_CHECKING:
    from monitor.llm.chat import ChatModel

_MAX_BATCH = 20


def verify(
    no_model: Annotated[bool, typer.Option("--no-model", help="By code alone, also where a model is set.")] = False,
    as_json: JsonOption = False,
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
        has_failed, answers = False, AnswerWriter(terminal, "statements", as_json=as_json)
        reader = LineReader(StatementInput, "statement.no_object")
        # Not one run for all of them: a person can interrupt the program while it waits for the next line.
        for batch in reader.read_batches(1 if model is None else _MAX_BATCH):
            statements = [line for _, line in batch if isinstance(line, StatementInput)]
            checked = iter(runner.run(service.verify(statements, model=model)))
            for _, line in batch:
                has_failed |= isinstance(line, BadLine)
                answers.write(
                    report_bad_line(terminal, line) if isinstance(line, BadLine) else next(checked).model_dump()
                )
    answers.close()
    if has_failed:
        raise typer.Exit(1)


async def _open_service(
    terminal: Terminal, lifetime: AsyncExitStack, workers: WorkerPool
) -> "tuple[StatementService, ChatModel | None]":
    """Return the service and the model that is set; where there is no database to look for one, code alone."""
    app = await open_app_if_there(terminal, lifetime, "statement.by_code_alone")
    if app is None:
        return StatementService(workers=workers), None
    return app.statements, await app.statements.build_second_reader(by=COMMAND_LINE)
