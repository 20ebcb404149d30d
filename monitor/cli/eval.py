"""`monitor eval`: compare models, and prompts, on what earlier runs recorded."""

import asyncio
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.terminal import EXIT_INTERRUPTED, JsonOption, Terminal, get_terminal, handle_interrupts, write_file
from monitor.db.tables.evaluation import EvaluationStatus
from monitor.errors import UsageError
from monitor.i18n.message import Message

if TYPE_CHECKING:
    from monitor.bootstrap import App
    from monitor.evaluation.document import EvaluationReport
    from monitor.evaluation.pairs import BlindPair, Side
    from monitor.services.audit import Actor
    from monitor.services.evaluation import EvaluationForm

_POLL_INTERVAL_S = 1.0
_SIDES: "dict[str, Side]" = {"1": "left", "2": "right", "0": "neither"}


def evaluate(
    models: Annotated[
        str | None, typer.Option("--models", metavar="NAMES", help="Models, separated by commas; else those in use.")
    ] = None,
    prompts: Annotated[
        str, typer.Option("--prompts", metavar="NAMES", help="current, built-in, or both to compare them.")
    ] = "current",
    items: Annotated[int, typer.Option("--items", min=1, max=500, help="So many items at most.")] = 40,
    budget: Annotated[
        float | None, typer.Option("--budget", metavar="MONEY", help="No call that might cost more in all.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write report.html and report.json there.")
    ] = None,
    latest: Annotated[bool, typer.Option("--latest", help="Show the latest evaluation; ask no model.")] = False,
    judge: Annotated[
        bool, typer.Option("--judge", help="Choose between summaries of the latest evaluation, without their models.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    from monitor.services.evaluation import EvaluationForm

    terminal = get_terminal()
    if budget is not None and budget <= 0:
        raise UsageError("evaluation.bad_budget")
    form = EvaluationForm(models=_split(models or ""), prompts=_split(prompts), items=items, budget=budget)
    command = _EvalCommand(terminal=terminal, form=form, is_latest=latest or judge, is_judging=judge, is_quiet=as_json)
    try:
        report, reason, page = terminal.act(command.run)
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    if out is not None:
        document = report.model_dump_json(indent=2)
        write_file(out / "report.json", document.encode())
        write_file(out / "report.html", page)
        terminal.notify("evaluation.written", folder=out)
    if as_json:
        terminal.write_json(report.model_dump(mode="json", context={"language": terminal.language}))
    else:
        _print_report(terminal, report)
    if command.is_interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    if report.status in (EvaluationStatus.STOPPED, EvaluationStatus.FAILED):
        terminal.complain(reason or Message("evaluation.stopped"))
        raise typer.Exit(1)


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


@dataclass(kw_only=True)
class _EvalCommand:
    terminal: Terminal
    form: "EvaluationForm"
    is_latest: bool
    is_judging: bool
    is_quiet: bool
    is_interrupted: bool = False
    cancel_event: asyncio.Event = field(default_factory=asyncio.Event)
    _shown_tenth: int = -1

    async def run(self, app: "App", by: "Actor") -> "tuple[EvaluationReport, Message | None, bytes]":
        """Return the report at the end, why the evaluation stopped, and the report as a page."""
        if self.is_latest:
            evaluation_id = await self._find_latest(app, by)
            if self.is_judging:
                await self._judge(app, by, evaluation_id)
        else:
            with handle_interrupts(self.terminal, self._request_stop):
                evaluation_id = await self._execute(app, by)
        state = await app.evaluations.get(evaluation_id, by=by)
        page = await app.evaluations.write_html(evaluation_id, self.terminal.language, by=by)
        return await app.evaluations.build_report(evaluation_id, by=by), state.reason, page

    async def _find_latest(self, app: "App", by: "Actor") -> str:
        found = await app.evaluations.list(by=by, limit=1)
        if not found:
            raise UsageError("evaluation.none")
        return found[0].id

    async def _execute(self, app: "App", by: "Actor") -> str:
        """Hand the evaluation to the service where one is at work, else do it here; return its id."""
        service = app.evaluations
        if not await service.has_worker():
            return await service.run_in_process(
                self.form, by=by, on_progress=self._show_progress, cancel_event=self.cancel_event
            )
        evaluation_id = await service.enqueue(self.form, by=by)
        is_asked = False
        while (state := await service.get(evaluation_id, by=by)).status.is_active:
            self._show_progress(state.done, state.total)
            if self.cancel_event.is_set() and not is_asked:
                is_asked = True
                await service.stop(evaluation_id, by=by)
            await asyncio.sleep(_POLL_INTERVAL_S)
        return evaluation_id

    def _request_stop(self) -> None:
        self.is_interrupted = True
        self.cancel_event.set()

    def _show_progress(self, done: int, total: int) -> None:
        tenth = 10 * done // total if total else 0
        if tenth != self._shown_tenth and not self.is_quiet:
            self.terminal.notify("evaluation.progress", done=done, total=total)
        self._shown_tenth = tenth

    async def _judge(self, app: "App", by: "Actor", evaluation_id: str) -> None:
        """Show pairs and read a choice for each from stdin, until it ends or none is left."""
        while True:
            state = await app.evaluations.get_next_pair(evaluation_id, by=by)
            if state.pair is None:
                self.terminal.notify("evaluation.all_judged", count=state.total)
                return
            side = await asyncio.to_thread(self._ask, state.pair, state.chosen + 1, state.total)
            if side is None:
                return
            await app.evaluations.choose(evaluation_id, state.pair.pair, side, by=by)

    def _ask(self, pair: "BlindPair", number: int, total: int) -> "Side | None":
        terminal = self.terminal
        terminal.write_status(f"\n{number}/{total}  {pair.title}\n\n[1] {pair.left}\n\n[2] {pair.right}\n")
        while True:
            terminal.notify("evaluation.which")
            answer = sys.stdin.readline()
            if not answer or answer.strip() == "q":
                return None
            if (side := _SIDES.get(answer.strip())) is not None:
                return side


def _print_report(terminal: Terminal, report: "EvaluationReport") -> None:
    from monitor.evaluation.document import build_tables, build_work_tables, name_contender

    for table in (*build_tables(report), *build_work_tables(report)):
        terminal.write_line()
        terminal.write_line(terminal.word("model_phase", table.phase))
        head = [terminal.word("evaluation_figure", name) for name in table.columns]
        terminal.write_rows([head, *table.rows])
    terminal.write_line()
    for each in report.recommendations:
        taken = "–" if each.contender is None else name_contender(each.contender, report)
        why = " ".join(terminal.render(reason.text) for reason in each.reasons)
        terminal.write_line(f"{terminal.word('model_phase', each.phase)}: {taken}. {why}")
    terminal.print("evaluation.spent", spent=f"{report.spent:.4f}", done=report.done, total=report.total)
