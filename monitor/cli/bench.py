"""`monitor bench`: the benchmarks."""

import asyncio
from zoneinfo import ZoneInfo

import typer

from monitor.cli.terminal import JsonOption, terminal_of

app = typer.Typer(help="The benchmarks.", rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """The benchmarks."""


@app.command()
def tokens(context: typer.Context, as_json: JsonOption = False) -> None:
    """Compare section agents with pruning and one general agent without, on the sample ministry."""
    from monitor.bootstrap import SystemClock
    from monitor.demo.bench_tokens import measure
    from monitor.demo.sample_settings import TIMEZONE

    terminal = terminal_of(context)
    figures = asyncio.run(measure(SystemClock().now().astimezone(ZoneInfo(TIMEZONE)).date()))
    if as_json:
        terminal.document({"bench": "tokens", "figures": [one.model_dump(mode="json") for one in figures]})
        return
    head = ("way", "calls", "prompt tokens", "completion tokens", "largest context", "items")
    terminal.table(head, [tuple(one.model_dump().values()) for one in figures])
