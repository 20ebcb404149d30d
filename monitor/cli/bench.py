"""`monitor bench`: the benchmarks."""

import asyncio
from typing import Annotated
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


@app.command()
def service(
    context: typer.Context,
    sources: Annotated[int, typer.Option("--sources", min=1, help="How many simulated sites.")] = 1000,
    hosts: Annotated[int, typer.Option("--hosts", min=1, help="On how many hosts they lie.")] = 200,
    minutes: Annotated[int, typer.Option("--minutes", min=0, help="They fall due within; 0 = all at once.")] = 10,
    latency: Annotated[float, typer.Option("--latency", min=0, help="Seconds that a site takes to answer.")] = 0.0,
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, help="Runs at once in one worker.")] = 8,
    postgres: Annotated[str | None, typer.Option("--postgres", help="An empty database, in place of SQLite.")] = None,
    workers: Annotated[int, typer.Option("--workers", min=1, help="How many workers, on PostgreSQL.")] = 1,
    as_json: JsonOption = False,
) -> None:
    """Measure the service on a farm of simulated sites: lag, throughput, memory."""
    from monitor.demo.bench_service import ServiceLoad, measure

    terminal = terminal_of(context)
    load = ServiceLoad(sources=sources, hosts=hosts, minutes=minutes, latency_s=latency, concurrency=concurrency)
    figures = asyncio.run(measure(load, workers=workers, postgres=postgres))
    if as_json:
        terminal.document({"bench": "service", "load": load.model_dump(), "figures": figures.model_dump()})
        return
    terminal.table(tuple(type(figures).model_fields), [tuple(figures.model_dump().values())])
