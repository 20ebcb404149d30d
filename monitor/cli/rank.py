"""`monitor rank`: titles and documents on stdin, in their order of importance."""

import asyncio
from contextlib import AsyncExitStack, ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.lines import AnswerWriter, BadLine, LineReader, open_app_if_there, report_bad_line
from monitor.cli.terminal import JsonOption, Terminal, get_terminal
from monitor.clock import SystemClock
from monitor.errors import UsageError
from monitor.isolation.pool import WorkerPool
from monitor.services.audit import COMMAND_LINE
from monitor.services.ranking import MAX_RANK_INPUTS, RankInput, RankService

if TYPE_CHECKING:
    from monitor.llm.chat import ChatModel


def rank(
    topic: Annotated[str | None, typer.Option(help="What fits this topic comes higher.")] = None,
    no_model: Annotated[bool, typer.Option("--no-model", help="By rule alone, also where a model is set.")] = False,
    as_json: JsonOption = False,
) -> None:
    terminal = get_terminal()
    with asyncio.Runner() as runner, ExitStack() as stack:
        lifetime = AsyncExitStack()
        stack.callback(lambda: runner.run(lifetime.aclose()))
        workers = WorkerPool(size=1)
        lifetime.push_async_callback(workers.close)
        inputs, bad_lines = _read_inputs()
        service, model = RankService(workers=workers, clock=SystemClock(), store=None, models=None, prompts=None), None
        if topic is not None or not no_model:
            service, model = runner.run(_open_service(terminal, lifetime, service))
        chosen = runner.run(service.load_topic(topic)) if topic is not None else None
        ranked, faults = runner.run(service.rank(inputs, model=None if no_model else model, topic=chosen))
    for fault in faults:
        terminal.notify("rank.by_rule_alone", reason=fault)
    answers = AnswerWriter(terminal, "ranked", as_json=as_json)
    for place in ranked:
        answers.write(
            {
                "id": place.id,
                "rank": place.rank,
                "tier": place.tier,
                "type": str(place.type),
                "reason": terminal.render(place.reason),
            }
        )
    for line in bad_lines:
        answers.write(report_bad_line(terminal, line))
    answers.close()
    if bad_lines:
        raise typer.Exit(1)


def _read_inputs() -> tuple[list[RankInput], list[BadLine]]:
    """Return all lines of stdin: an order needs them all."""
    inputs: list[RankInput] = []
    bad_lines: list[BadLine] = []
    for batch in LineReader(RankInput, "rank.no_object").read_batches(MAX_RANK_INPUTS):
        for _, line in batch:
            if isinstance(line, BadLine):
                bad_lines.append(line)
            else:
                inputs.append(line)
        if len(inputs) > MAX_RANK_INPUTS:
            raise UsageError("rank.too_many", count=MAX_RANK_INPUTS)
    return inputs, bad_lines


async def _open_service(
    terminal: Terminal, lifetime: AsyncExitStack, by_rule: RankService
) -> "tuple[RankService, ChatModel | None]":
    """Return the service and the model that is set; where there is no database to look for one, the rules alone."""
    app = await open_app_if_there(terminal, lifetime, "rank.by_rule_alone")
    if app is None:
        return by_rule, None
    return app.ranks, await app.ranks.build_model(by=COMMAND_LINE)
