"""`monitor deliver`: briefings on their way to people."""

import datetime as dt
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.parser import build_group
from monitor.cli.terminal import JsonOption, Terminal, format_instant, get_terminal, parse_day
from monitor.errors import WorkFailed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from monitor.bootstrap import App
    from monitor.services.audit import Actor
    from monitor.services.deliveries import DeliverySchema

app = build_group()
Target = Annotated[str, typer.Argument(metavar="TARGET", help="The name of a target of deliver.targets.")]


@app.command("list")
def list_deliveries(
    target: Annotated[str | None, typer.Option("--target", help="Only to this target.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """List the deliveries of briefings, newest first."""
    terminal = get_terminal()
    terminal.write_list(
        "deliveries",
        terminal.run(lambda app: app.deliveries.list(target=target, limit=limit)),
        lambda delivery: {
            "id": delivery.id,
            "target": delivery.target,
            "kind": terminal.word("delivery_kind", delivery.kind),
            "status": terminal.word("delivery", delivery.status),
            "planned": delivery.planned_at,
            "tries": delivery.attempts,
            "sent": delivery.sent_at,
            "error": delivery.last_error,
        },
        as_json=as_json,
        none="deliveries.none",
    )


@app.command("test")
def send_test(target: Target, as_json: JsonOption = False) -> None:
    """Send a test message, to see whether the target works."""
    _run_action(get_terminal(), lambda app, by: app.deliveries.send_test(target, by=by), as_json=as_json)


@app.command()
def now(
    target: Target,
    date: Annotated[
        dt.date | None, typer.Option("--date", parser=parse_day, metavar="D", help="The last day; default today.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Send a target its briefing now, beside what is planned."""
    _run_action(get_terminal(), lambda app, by: app.deliveries.send_now(target, date, by=by), as_json=as_json)


@app.command()
def retry(
    delivery_id: Annotated[str, typer.Argument(metavar="ID", help="The id that `deliver list` shows.")],
    as_json: JsonOption = False,
) -> None:
    """Try a failed delivery again: the same briefing under the same key."""
    _run_action(get_terminal(), lambda app, by: app.deliveries.retry(delivery_id, by=by), as_json=as_json)


def _run_action(
    terminal: Terminal, send: "Callable[[App, Actor], Awaitable[DeliverySchema]]", *, as_json: bool
) -> None:
    """Send and print the delivery; one that did not arrive is a failure of the command."""
    from monitor.db.tables.delivery import DeliveryStatus

    delivery = terminal.act(send)
    is_sent = delivery.status is DeliveryStatus.SENT
    if as_json:
        terminal.write_json(delivery)
    elif is_sent:
        terminal.print("delivery.sent", id=delivery.id, target=delivery.target)
    if not is_sent:
        reason = terminal.to_text(delivery.last_error).rstrip(".。")
        if delivery.next_try_at is None:
            raise WorkFailed("delivery.not_sent", id=delivery.id, target=delivery.target, reason=reason)
        at = format_instant(delivery.next_try_at)
        raise WorkFailed("delivery.retried_later", id=delivery.id, target=delivery.target, reason=reason, at=at)
