"""How things fare: the installation (`monitor doctor`), sources and deliveries (`health`), and the `costs`."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.terminal import JsonOption, Terminal, get_terminal

if TYPE_CHECKING:
    from monitor.bootstrap import App
    from monitor.services.alarms import HealthReport, SourceHealth
    from monitor.services.deliveries import DeliverySchema
    from monitor.services.host_traffic import HostTrafficSchema


def doctor(as_json: JsonOption = False) -> None:
    from monitor.bootstrap import build_doctor
    from monitor.i18n.model import reader_language

    terminal = get_terminal()
    reader_language.set(terminal.language)
    findings = asyncio.run(build_doctor(terminal.config).run_checks())
    is_well = not any(finding.level == "fail" for finding in findings)
    if as_json:
        terminal.write_json({"ok": is_well, "checks": findings})
    else:
        for finding in findings:
            terminal.write_line(f"{finding.level:<4}  {finding.check:<13}  {terminal.render(finding.message)}")
    if not is_well:
        raise typer.Exit(1)


def health(
    source: Annotated[list[str] | None, typer.Argument(metavar="SOURCE", help="Names of sources.")] = None,
    past: Annotated[bool, typer.Option("--past", help="Alarms that are over, too.")] = False,
    as_json: JsonOption = False,
) -> None:
    async def load(app: "App") -> "tuple[HealthReport, list[DeliverySchema], list[HostTrafficSchema]]":
        report = await app.alarms.get_report(source or [], include_cleared=past)
        return report, await app.deliveries.list_problems(), await app.host_traffic.list_traffic(1)

    terminal = get_terminal()
    report, deliveries, hosts = terminal.run(load)
    if as_json:
        terminal.write_json({**report.model_dump(mode="json"), "deliveries": deliveries, "hosts": hosts})
        return
    if not report.alarms:
        terminal.print("health.no_alarm")
    terminal.write_records(
        report.alarms,
        lambda alarm: {
            "since": alarm.raised_at,
            "over": alarm.cleared_at,
            "alarm": terminal.word("alarm", alarm.kind),
            "source": alarm.source,
            "section": alarm.section,
            "what": alarm.message,
        },
    )
    if deliveries:
        terminal.write_line()
        terminal.print("health.deliveries")
    terminal.write_records(
        deliveries,
        lambda delivery: {
            "id": delivery.id,
            "status": terminal.word("delivery", delivery.status),
            "tries": delivery.attempts,
            "next_try": delivery.next_try_at,
            "error": delivery.last_error,
        },
    )
    for host in hosts:
        if host.refused:
            terminal.print("health.host_budget", host=host.host, requests=host.requests, refused=host.refused)
    for entry in report.sources:
        _print_source(terminal, entry)


def _print_source(terminal: Terminal, source: "SourceHealth") -> None:
    terminal.write_line()
    code = "health.source" if source.enabled else "health.source_disabled"
    terminal.print(code, source=source.source, failures=source.consecutive_failures)
    if source.resting_until:
        terminal.print("health.resting", until=terminal.format_instant(source.resting_until))
    if source.last_error:
        terminal.print("health.last_error", error=source.last_error)
    terminal.write_records(
        source.sections,
        lambda section: {
            "section": section.name,
            "last_new": section.last_new_on,
            "usual_days": section.usual_days,
            "alarm_after": section.silent_after_days,
            "read_whole_on": section.last_complete_on,
            "url": section.url,
        },
    )


def costs(
    days: Annotated[int, typer.Option("--days", min=1, max=366, metavar="N", help="So many, today included.")] = 7,
    as_json: JsonOption = False,
) -> None:
    terminal = get_terminal()
    ledger = terminal.run(lambda app: app.costs.get_ledger(days))
    if as_json:
        terminal.write_json(ledger)
        return
    terminal.write_records(
        ledger.costs,
        lambda cost: {
            "day": cost.day,
            "source": cost.source,
            "phase": terminal.word("phase", cost.phase),
            "calls": cost.calls,
            "prompt_tokens": cost.prompt_tokens,
            "completion_tokens": cost.completion_tokens,
            "cost": _format_money(cost.cost),
        },
    )
    terminal.write_records(
        ledger.searches,
        lambda search: {
            "day": search.day,
            "search_backend": search.backend,
            "requests": search.requests,
            "failed": search.failed,
            "cost": _format_money(search.cost),
        },
    )
    unpriced = sum(cost.unpriced_calls for cost in ledger.costs)
    terminal.print(
        "costs.total_unpriced" if unpriced else "costs.total",
        since=ledger.since,
        until=ledger.until,
        calls=ledger.calls,
        tokens=ledger.tokens,
        cost=_format_money(ledger.cost),
        unpriced=unpriced,
    )


def _format_money(cost: float | None) -> str:
    return "-" if cost is None else f"{cost:.4f}"
