"""`monitor health`: how sources and deliveries fare, and what is out of the ordinary."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.terminal import JsonOption, Terminal, terminal_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.app.deliveries import DeliveryWire
    from monitor.app.health import Health, SourceHealth


def health(
    context: typer.Context,
    source: Annotated[list[str] | None, typer.Argument(metavar="[SOURCE]…", help="Names of sources.")] = None,
    past: Annotated[bool, typer.Option("--past", help="Alarms that are over, too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show alarms, deliveries in trouble, and how every source and section fares."""
    terminal = terminal_of(context)
    found, deliveries = asyncio.run(_looked(terminal, source or [], is_whole=past))
    if as_json:
        told = [delivery.model_dump(mode="json") for delivery in deliveries]
        terminal.document({**found.model_dump(mode="json"), "deliveries": told})
        return
    if found.alarms:
        rows = [
            (alarm.raised_at, alarm.cleared_at, alarm.kind, alarm.source, alarm.section, alarm.message)
            for alarm in found.alarms
        ]
        terminal.table(("since", "over", "alarm", "source", "section", "what"), rows)
    else:
        terminal.say("No alarm.")
    if deliveries:
        terminal.say("\nDeliveries in trouble (`monitor deliver retry ID` tries a failed one again):")
        cells = [(one.id, one.status, one.attempts, one.next_try_at, one.last_error) for one in deliveries]
        terminal.table(("id", "status", "tries", "next try", "error"), cells)
    for one in found.sources:
        _tell(terminal, one)


def _tell(terminal: Terminal, source: "SourceHealth") -> None:
    state = "" if source.enabled else " (disabled)"
    rest = f"; rests until {source.resting_until:%Y-%m-%d %H:%MZ}" if source.resting_until else ""
    terminal.say(f"\n{source.source}{state}: {source.consecutive_failures} failures in a row{rest}")
    if source.last_error:
        terminal.say(f"  last error: {source.last_error}")
    rows = [
        (
            section.name,
            section.last_new_on,
            section.usual_days,
            section.silent_after_days,
            section.last_complete_on,
            section.url,
        )
        for section in source.sections
    ]
    if rows:
        head = ("section", "last new", "usual days", "alarm after days", "read whole on", "url")
        terminal.table(head, rows)


async def _looked(terminal: Terminal, names: "Sequence[str]", *, is_whole: bool) -> "tuple[Health, list[DeliveryWire]]":
    from monitor.bootstrap import open_app

    async with open_app(terminal.settings()) as parts:
        return await parts.health.look(names, is_whole=is_whole), await parts.deliveries.troubles()
