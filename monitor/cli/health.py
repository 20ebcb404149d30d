"""`monitor health`: how sources and deliveries fare, and what is out of the ordinary."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.terminal import JsonOption, Terminal, get_terminal
from monitor.i18n.catalogue import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.services.alarms import HealthReport
    from monitor.services.deliveries import DeliverySchema
    from monitor.services.usage import CostLedger

if TYPE_CHECKING:
    from monitor.services.alarms import SourceHealth


def health(
    context: typer.Context,
    source: Annotated[list[str] | None, typer.Argument(metavar="[SOURCE]…", help="Names of sources.")] = None,
    past: Annotated[bool, typer.Option("--past", help="Alarms that are over, too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show alarms, deliveries in trouble, and how every source and section fares."""
    terminal = get_terminal(context)
    found, deliveries = asyncio.run(_load_health(terminal, source or [], is_whole=past))
    if as_json:
        told = [delivery.model_dump(mode="json") for delivery in deliveries]
        terminal.write_json({**found.model_dump(mode="json"), "deliveries": told})
        return
    if found.alarms:
        rows = [
            (alarm.raised_at, alarm.cleared_at, alarm.kind, alarm.source, alarm.section, alarm.message)
            for alarm in found.alarms
        ]
        terminal.write_table(("since", "over", "alarm", "source", "section", "what"), rows)
    else:
        terminal.write_line("No alarm.")
    if deliveries:
        terminal.write_line("\nDeliveries in trouble (`monitor deliver retry ID` tries a failed one again):")
        cells = [(one.id, one.status, one.attempts, one.next_try_at, one.last_error) for one in deliveries]
        terminal.write_table(("id", "status", "tries", "next try", "error"), cells)
    for one in found.sources:
        _print_source(terminal, one)


def _print_source(terminal: Terminal, source: "SourceHealth") -> None:
    state = "" if source.enabled else " (disabled)"
    rest = f"; rests until {source.resting_until:%Y-%m-%d %H:%MZ}" if source.resting_until else ""
    terminal.write_line(f"\n{source.source}{state}: {source.consecutive_failures} failures in a row{rest}")
    if source.last_error:
        terminal.write_line(f"  last error: {render(source.last_error, 'en')}")
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
        terminal.write_table(head, rows)


async def _load_health(
    terminal: Terminal, names: "Sequence[str]", *, is_whole: bool
) -> "tuple[HealthReport, list[DeliverySchema]]":
    from monitor.bootstrap import open_app

    async with open_app(terminal.load_settings()) as parts:
        return await parts.alarms.get_report(names, include_cleared=is_whole), await parts.deliveries.list_problems()


def costs(
    context: typer.Context,
    days: Annotated[int, typer.Option("--days", min=1, max=366, metavar="N", help="So many, today included.")] = 7,
    as_json: JsonOption = False,
) -> None:
    """Show tokens, searches and money by day; prices stand in llm.prices and search.backends."""
    terminal = get_terminal(context)
    ledger = asyncio.run(_load_costs(terminal, days))
    if as_json:
        terminal.write_json(ledger.model_dump(mode="json"))
        return
    rows = [
        (
            cost.day,
            cost.source,
            cost.phase,
            cost.calls,
            cost.prompt_tokens,
            cost.completion_tokens,
            format_money(cost.cost),
        )
        for cost in ledger.costs
    ]
    if rows:
        terminal.write_table(("day", "source", "phase", "calls", "prompt tokens", "completion tokens", "cost"), rows)
    searches = [
        (search.day, search.backend, search.requests, search.failed, format_money(search.cost))
        for search in ledger.searches
    ]
    if searches:
        terminal.write_table(("day", "search backend", "requests", "failed", "cost"), searches)
    unpriced = sum(one.unpriced_calls for one in ledger.costs)
    without = f", {unpriced} calls of models without a price" if unpriced else ""
    terminal.write_line(
        f"{ledger.since} to {ledger.until}: {ledger.calls} calls, {ledger.tokens} tokens, cost {format_money(ledger.cost)}"
        f"{without}."
    )


def format_money(cost: float | None) -> str:
    """An amount as it is shown; there is no price, there is no amount."""
    return "-" if cost is None else f"{cost:.4f}"


async def _load_costs(terminal: Terminal, days: int) -> "CostLedger":
    from monitor.bootstrap import open_app

    async with open_app(terminal.load_settings()) as parts:
        return await parts.costs.get_ledger(days)
