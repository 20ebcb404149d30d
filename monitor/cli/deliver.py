"""`monitor deliver`: briefings on their way to people."""

import asyncio
import datetime as dt
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from monitor.cli.terminal import JsonOption, Terminal, get_terminal, parse_day

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from monitor.services.audit import Actor
    from monitor.services.deliveries import DeliverySchema, DeliveryService

T = TypeVar("T")

app = typer.Typer(help="Briefings on their way to people.", rich_markup_mode=None)

Target = Annotated[str, typer.Argument(metavar="TARGET", help="The name of a target of deliver.targets.")]


@app.command("list")
def list_deliveries(
    context: typer.Context,
    target: Annotated[str | None, typer.Option("--target", help="Only to this target.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """List the deliveries of briefings, newest first."""
    terminal = get_terminal(context)
    rows = asyncio.run(_query_deliveries(terminal, lambda desk: desk.list(target=target, limit=limit)))
    if as_json:
        terminal.write_json({"deliveries": [one.model_dump(mode="json") for one in rows]})
    elif rows:
        cells = [
            (row.id, row.target, row.kind, row.status, row.planned_at, row.attempts, row.sent_at, row.last_error)
            for row in rows
        ]
        terminal.write_table(("id", "target", "kind", "status", "planned", "tries", "sent", "error"), cells)
    else:
        terminal.write_status("No deliveries.")


@app.command("test")
def send_test(context: typer.Context, target: Target, as_json: JsonOption = False) -> None:
    """Send a letter that says that it is a test, to see whether the target works."""
    _run_action(get_terminal(context), lambda service, by: service.send_test(target, by=by), as_json=as_json)


@app.command()
def now(
    context: typer.Context,
    target: Target,
    date: Annotated[
        dt.date | None, typer.Option("--date", parser=parse_day, metavar="D", help="The last day; default today.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Send a target its briefing now, beside what is planned."""
    _run_action(get_terminal(context), lambda service, by: service.send_now(target, date, by=by), as_json=as_json)


@app.command()
def retry(
    context: typer.Context,
    delivery_id: Annotated[str, typer.Argument(metavar="ID", help="The id that `deliver list` shows.")],
    as_json: JsonOption = False,
) -> None:
    """Try a failed delivery again: the same briefing under the same key."""
    _run_action(get_terminal(context), lambda service, by: service.retry(delivery_id, by=by), as_json=as_json)


def _run_action(
    terminal: Terminal, ask: "Callable[[DeliveryService, Actor], Awaitable[DeliverySchema]]", *, as_json: bool
) -> None:
    """What became of a delivery that was waited for; one that did not arrive is a failure of the command."""
    from monitor.db.tables.delivery import DeliveryStatus
    from monitor.errors import WorkFailed

    found = asyncio.run(_run(terminal, ask))
    is_sent = found.status is DeliveryStatus.SENT
    if as_json:
        terminal.write_json(found.model_dump(mode="json"))
    elif is_sent:
        terminal.write_line(f"{found.id} was sent to {found.target}.")
    if not is_sent:
        again = f"; it is tried again at {found.next_try_at:%Y-%m-%d %H:%MZ}" if found.next_try_at else ""
        raise WorkFailed(f"{found.id} was not sent to {found.target}: {(found.last_error or '').rstrip('.')}{again}.")


async def _run(
    terminal: Terminal, ask: "Callable[[DeliveryService, Actor], Awaitable[DeliverySchema]]"
) -> "DeliverySchema":
    from monitor.bootstrap import open_app
    from monitor.services.audit import COMMAND_LINE

    async with open_app(terminal.load_settings()) as parts:
        return await ask(parts.deliveries, COMMAND_LINE)


async def _query_deliveries(terminal: Terminal, ask: "Callable[[DeliveryService], Awaitable[T]]") -> T:
    from monitor.bootstrap import open_app

    async with open_app(terminal.load_settings()) as parts:
        return await ask(parts.deliveries)
