"""`monitor replay`: a run again, from its records alone."""

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.terminal import JsonOption, Terminal, terminal_of

if TYPE_CHECKING:
    from monitor.app.replay import Replay

_SHOWN_CHARS = 300


def replay(
    context: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The id that `runs list` shows.")],
    database: Annotated[
        Path | None, typer.Option("--database", metavar="FILE", help="Keep the replay in this new SQLite file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Do a run again from its records, with no network and no model, and say what differs."""
    terminal = terminal_of(context)
    replayed = asyncio.run(_replayed(terminal, run_id, database))
    if as_json:
        terminal.document(replayed.model_dump(mode="json"))
    else:
        _tell(terminal, replayed)
    if not replayed.is_identical or replayed.is_briefing_identical is False:
        raise typer.Exit(1)


def _tell(terminal: Terminal, replayed: "Replay") -> None:
    seen = f"{replayed.records} records, {replayed.answers} answers of the model"
    if replayed.is_identical:
        terminal.say(f"{replayed.run_id}: the same {len(replayed.replayed.items)} items, from {seen}.")
    else:
        terminal.say(f"{replayed.run_id}: {len(replayed.differences)} differences, from {seen}.")
    for difference in replayed.differences:
        terminal.say(
            f"{difference.what}\n  the run:    {_short(difference.recorded)}\n  the replay: {_short(difference.replayed)}"
        )
    if replayed.is_briefing_identical is not None:
        word = "is the same to the byte" if replayed.is_briefing_identical else "is another one"
        terminal.say(f"The day's briefing of {replayed.source} {word}.")


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


async def _replayed(terminal: Terminal, run_id: str, database: Path | None) -> "Replay":
    from monitor.bootstrap import open_app

    async with open_app(terminal.settings()) as parts:
        return await parts.replays.replay(run_id, database=database)
