"""`monitor sources try`: a dry run, told."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from monitor.cli.progress import watching
from monitor.cli.terminal import Terminal
from monitor.domain.words import SourceKind

if TYPE_CHECKING:
    from monitor.app.trials import Trial


def try_out(terminal: Terminal, url_or_name: str, values: Mapping[str, Any], *, as_json: bool) -> None:
    """Try a stored source, or the one that the values describe; exit code 1 where no section could be read."""
    trial = asyncio.run(_tried(terminal, url_or_name, values, is_quiet=as_json))
    if as_json:
        terminal.document(trial.model_dump(mode="json"))
    else:
        _tell(terminal, trial)
    if trial.status == "failed":
        terminal.note(f"monitor: {trial.source}: {trial.error or 'no section could be read'}")
        raise typer.Exit(1)


async def _tried(terminal: Terminal, url_or_name: str, values: Mapping[str, Any], *, is_quiet: bool) -> "Trial":
    from monitor.bootstrap import open_app

    async with open_app(terminal.settings()) as parts:
        is_stored = any(source.name == url_or_name for source in await parts.sources.all())
        # What is no source, no url and not said to be a query is a mistyped name, and told as one.
        if is_stored or ("://" not in url_or_name and values.get("kind") != SourceKind.QUERY):
            source = await parts.sources.get(url_or_name)
        else:
            source = parts.sources.drafted(values)
        with watching(terminal, is_quiet=is_quiet) as on_progress:
            return await parts.sweeps.try_out(source, on_progress=on_progress)


def _tell(terminal: Terminal, trial: "Trial") -> None:
    terminal.say(f"{trial.source}: {trial.status}, {trial.would_save} items would be saved")
    for section in trial.sections:
        counts = Counter(str(one.disposition) for one in section.candidates)
        told = ", ".join(f"{count} {word}" for word, count in counts.items()) or "no candidates"
        terminal.say(f"\n{section.name}  {section.url}\n  ended {section.ended}: {told}")
        rows = [
            (
                "would be saved"
                if candidate.disposition == "saved"
                else f"{candidate.disposition} {candidate.reason}".strip(),
                candidate.candidate.date,
                candidate.candidate.date_source,
                candidate.candidate.title,
                candidate.candidate.url,
            )
            for candidate in section.candidates
        ]
        if rows:
            terminal.table(("what becomes of it", "date", "from", "title", "url"), rows)
    for fallback in trial.fallbacks:
        terminal.say(f"  fell back: {fallback['phase']} · {fallback['where']} · {fallback['reason']}")
