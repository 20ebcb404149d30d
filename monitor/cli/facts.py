"""`monitor facts`: what documents say of themselves, for documents on stdin."""

import asyncio
from typing import Any

import typer

from monitor.cli.lines import BadLine, LineReader, report_bad_line, write_answer
from monitor.cli.terminal import get_terminal
from monitor.document import DocumentFacts
from monitor.isolation.pool import WorkerPool
from monitor.services.facts import FactsInput, FactsService, to_answer

_MAX_BATCH = 100


def facts() -> None:
    terminal = get_terminal()
    has_failed = False
    with asyncio.Runner() as runner:
        workers = WorkerPool()
        try:
            service = FactsService(workers=workers)
            reader = LineReader(FactsInput, "facts.no_object")
            # Not one run for all of them: a person can interrupt the program while it waits for the next line.
            for batch in reader.read_batches(_MAX_BATCH):
                documents = [line for _, line in batch if isinstance(line, FactsInput)]
                found = iter(runner.run(service.read(documents)))
                for number, line in batch:
                    answer = line if isinstance(line, BadLine) else _answer(line, number, next(found))
                    has_failed |= isinstance(answer, BadLine)
                    write_answer(report_bad_line(terminal, answer) if isinstance(answer, BadLine) else answer)
        finally:
            runner.run(workers.close())
    if has_failed:
        raise typer.Exit(1)


def _answer(document: FactsInput, number: int, found: Any) -> BadLine | dict[str, Any]:
    if isinstance(found, DocumentFacts):
        return to_answer(found, document.id)
    return BadLine(document.id, number, found.message)
