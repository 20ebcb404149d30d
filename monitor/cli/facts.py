"""`monitor facts`: what documents say of themselves, for documents on stdin."""

import asyncio
from contextlib import AsyncExitStack, ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.lines import AnswerWriter, BadLine, LineReader, open_app_if_there, report_bad_line
from monitor.cli.terminal import JsonOption, Terminal, get_terminal
from monitor.document import DocumentFacts
from monitor.isolation.pool import IsolatedWorkFailed, WorkerPool
from monitor.services.audit import COMMAND_LINE
from monitor.services.facts import FactsInput, FactsService, to_answer

if TYPE_CHECKING:
    from monitor.llm.chat import ChatModel

_MAX_BATCH = 100


def facts(
    no_model: Annotated[bool, typer.Option("--no-model", help="By code alone, also where a model is set.")] = False,
    as_json: JsonOption = False,
) -> None:
    terminal = get_terminal()
    with asyncio.Runner() as runner, ExitStack() as stack:
        lifetime = AsyncExitStack()
        stack.callback(lambda: runner.run(lifetime.aclose()))
        workers = WorkerPool()
        lifetime.push_async_callback(workers.close)
        service, model = FactsService(workers=workers), None
        if not no_model:
            service, model = runner.run(_open_service(terminal, lifetime, workers))
        has_failed, answers = False, AnswerWriter(terminal, "documents", as_json=as_json)
        reader = LineReader(FactsInput, "facts.no_object")
        # Not one run for all of them: a person can interrupt the program while it waits for the next line.
        for batch in reader.read_batches(_MAX_BATCH):
            documents = [line for _, line in batch if isinstance(line, FactsInput)]
            found = iter(runner.run(service.read(documents, model=model)))
            for number, line in batch:
                answer = line if isinstance(line, BadLine) else _answer(line, number, next(found))
                has_failed |= isinstance(answer, BadLine)
                answers.write(report_bad_line(terminal, answer) if isinstance(answer, BadLine) else answer)
    answers.close()
    if has_failed:
        raise typer.Exit(1)


async def _open_service(
    terminal: Terminal, lifetime: AsyncExitStack, workers: WorkerPool
) -> "tuple[FactsService, ChatModel | None]":
    """Return the service and the model that is set; where there is no database to look for one, code alone."""
    app = await open_app_if_there(terminal, lifetime, "facts.by_code_alone")
    if app is None:
        return FactsService(workers=workers), None
    return app.facts, await app.facts.build_model(by=COMMAND_LINE)


def _answer(document: FactsInput, number: int, found: DocumentFacts | IsolatedWorkFailed) -> BadLine | dict[str, Any]:
    if isinstance(found, DocumentFacts):
        return to_answer(found, document.id)
    return BadLine(document.id, number, found.message)
