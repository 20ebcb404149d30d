"""`monitor health` and `monitor costs`: how sources and deliveries fare, and what the work costs."""

from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.terminal import JsonOption, Terminal, format_instant, get_terminal

if TYPE_CHECKING:
    from monitor.bootstrap import App
    from monitor.services.alarms import HealthReport, SourceHealth
    from monitor.services.deliveries import DeliverySchema


def health(
    context: typer.Context,
    source: Annotated[list[str] | None, typer.Argument(metavar="[SOURCE]…", help="Names of sources.")] = None,
    past: Annotated[bool, typer.Option("--past", help="Alarms that are over, too.")] = False,
    as_json: JsonOption = False,
) -> None:
    async def load(app: "App") -> "tuple[HealthReport, list[DeliverySchema]]":
        report = await app.alarms.get_report(source or [], include_cleared=past)
        return report, await app.deliveries.list_problems()

    terminal = get_terminal(context)
    report, deliveries = terminal.run(load)
    if as_json:
        problems = [delivery.model_dump(mode="json") for delivery in deliveries]
        terminal.write_json({**report.model_dump(mode="json"), "deliveries": problems})
        return
    if report.alarms:
        rows = [
            (
                alarm.raised_at,
                alarm.cleared_at,
                terminal.word("alarm", alarm.kind),
                alarm.source,
                alarm.section,
                alarm.message,
            )
            for alarm in report.alarms
        ]
        terminal.write_table(("since", "over", "alarm", "source", "section", "what"), rows)
    else:
        terminal.print("health.no_alarm")
    if deliveries:
        terminal.write_line()
        terminal.print("health.deliveries")
        cells = [
            (
                delivery.id,
                terminal.word("delivery", delivery.status),
                delivery.attempts,
                delivery.next_try_at,
                delivery.last_error,
            )
            for delivery in deliveries
        ]
        terminal.write_table(("id", "status", "tries", "next_try", "error"), cells)
    for entry in report.sources:
        _print_source(terminal, entry)


def _print_source(terminal: Terminal, source: "SourceHealth") -> None:
    terminal.write_line()
    code = "health.source" if source.enabled else "health.source_disabled"
    terminal.print(code, source=source.source, failures=source.consecutive_failures)
    if source.resting_until:
        terminal.print("health.resting", until=format_instant(source.resting_until))
    if source.last_error:
        terminal.print("health.last_error", error=source.last_error)
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
        terminal.write_table(("section", "last_new", "usual_days", "alarm_after", "read_whole_on", "url"), rows)


def costs(
    context: typer.Context,
    days: Annotated[int, typer.Option("--days", min=1, max=366, metavar="N", help="So many, today included.")] = 7,
    as_json: JsonOption = False,
) -> None:
    terminal = get_terminal(context)
    ledger = terminal.run(lambda app: app.costs.get_ledger(days))
    if as_json:
        terminal.write_json(ledger.model_dump(mode="json"))
        return
    rows = [
        (
            cost.day,
            cost.source,
            terminal.word("phase", cost.phase),
            cost.calls,
            cost.prompt_tokens,
            cost.completion_tokens,
            format_money(cost.cost),
        )
        for cost in ledger.costs
    ]
    if rows:
        terminal.write_table(("day", "source", "phase", "calls", "prompt_tokens", "completion_tokens", "cost"), rows)
    searches = [
        (search.day, search.backend, search.requests, search.failed, format_money(search.cost))
        for search in ledger.searches
    ]
    if searches:
        terminal.write_table(("day", "search_backend", "requests", "failed", "cost"), searches)
    unpriced = sum(cost.unpriced_calls for cost in ledger.costs)
    terminal.print(
        "costs.total_unpriced" if unpriced else "costs.total",
        since=ledger.since,
        until=ledger.until,
        calls=ledger.calls,
        tokens=ledger.tokens,
        cost=format_money(ledger.cost),
        unpriced=unpriced,
    )


def format_money(cost: float | None) -> str:
    return "-" if cost is None else f"{cost:.4f}"
