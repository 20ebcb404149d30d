"""A run, told in a screenful: how it ended, what was read, kept, missed and spent, and its most important items."""

from monitor.app.report import RunReport, WholeRun
from monitor.cli.terminal import Terminal
from monitor.domain.words import Disposition


def tell(terminal: Terminal, report: RunReport, *, top: int = 10) -> None:
    """Print the account of a run with so many of its items; 0 leaves them to whoever prints them next."""
    dates = f"{report.since} to {report.until}"
    baseline = "; the first run of this source, its baseline" if report.is_baseline else ""
    terminal.say(f"{report.source}: {report.state} ({report.run_id}, {dates}{baseline})")
    if report.error:
        terminal.say(f"  {report.error}")
    if report.sections:
        terminal.say()
        rows = [
            (section.name, section.ended, section.pages, section.candidates, section.found_by, section.url)
            for section in report.sections
        ]
        terminal.table(("section", "ended", "pages", "candidates", "found by", "url"), rows)
    _tell_coverage(terminal, report)
    for fallback in report.fallbacks:
        terminal.say(f"  fell back: {fallback.phase} · {fallback.where} · {fallback.reason}")
    for place in report.coverage.unseen:
        terminal.say(f"  not seen: {place.section} {place.url} ({place.reason})")
    for alarm in report.alarms:
        terminal.say(f"  alarm: {alarm.kind} · {alarm.section or report.source} · {alarm.message}")
    usage = report.usage
    if usage.calls:
        spent = f"{usage.calls} calls, {usage.prompt_tokens} + {usage.completion_tokens} tokens"
        spent += "" if usage.cost is None else f", cost {usage.cost:.4f}"
        terminal.say(f"  model: {spent}, largest context {usage.largest_context_chars} characters")
    else:
        terminal.say("  model: not asked, every phase went by rule")
    if top:
        _tell_items(terminal, report, top)


def tell_candidates(terminal: Terminal, run: WholeRun) -> None:
    """Print the ledger of a run: each candidate in the order of its page, and what became of it."""
    terminal.say()
    rows = [
        (candidate.section, candidate.disposition, candidate.reason, candidate.date, candidate.title, candidate.url)
        for candidate in run.candidates
    ]
    terminal.table(("section", "became", "reason", "date", "title", "url"), rows)


def _tell_coverage(terminal: Terminal, report: RunReport) -> None:
    counts = {word: int(getattr(report.coverage, word)) for word in Disposition}
    told = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    candidates = sum(section.candidates for section in report.sections)
    terminal.say(f"\n  coverage: {candidates} candidates = {told or '0'}")


def _tell_items(terminal: Terminal, report: RunReport, top: int) -> None:
    if not report.items:
        terminal.say("\nNo new items.\n")
        return
    terminal.say()
    rows = [
        (item.rank, item.tier, item.date, item.date_source, item.type, item.title, item.url)
        for item in report.items[:top]
    ]
    terminal.table(("rank", "tier", "date", "from", "type", "title", "url"), rows)
    more = len(report.items) - top
    terminal.say(f"… and {more} more: `monitor runs show {report.run_id}`, `monitor brief`\n" if more > 0 else "")
