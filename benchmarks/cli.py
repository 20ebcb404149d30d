"""`monitor bench`: the benchmarks."""

import asyncio
import datetime as dt
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from monitor.cli.terminal import JsonOption, Terminal, get_terminal

if TYPE_CHECKING:
    from benchmarks.pages import PageRate

app = typer.Typer(help="The benchmarks.", rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """Run the benchmarks of this checkout."""


@app.command()
def tokens(context: typer.Context, as_json: JsonOption = False) -> None:
    """Compare section agents with pruning and one general agent without, on the sample ministry."""
    from benchmarks.tokens import measure

    terminal = get_terminal(context)
    figures = asyncio.run(measure(_get_today()))
    if as_json:
        terminal.write_json({"bench": "tokens", "figures": [one.model_dump(mode="json") for one in figures]})
        return
    head = ("way", "calls", "prompt tokens", "completion tokens", "largest context", "items")
    terminal.write_table(head, [tuple(figure.model_dump().values()) for figure in figures])


@app.command()
def pages(context: typer.Context, as_json: JsonOption = False) -> None:
    """Compare the loading of pages with bare httpx and bare Playwright, and watch the memory over 1,000 drawn pages."""
    from benchmarks.pages import measure

    terminal = get_terminal(context)
    figures = asyncio.run(measure(_get_today(), on_step=_build_step_printer(terminal)))
    if as_json:
        terminal.write_json({"bench": "pages", "figures": figures.model_dump(mode="json")})
        return
    terminal.write_line("Pages a second, and in parentheses the part of what the bare library reaches:")
    for kind, rates in (("static", figures.static), ("rendered", figures.rendered)):
        terminal.write_line()
        _print_rates(terminal, kind, rates)
    terminal.write_line()
    memory = figures.memory
    if memory is None:
        terminal.write_line("This system does not tell how much memory a process holds.")
        return
    terminal.write_line(
        f"Memory: {memory.after_first_50_mb:.0f} MB after the first 50 drawn pages, {memory.at_end_mb:.0f} MB "
        f"{memory.pages} pages later ({memory.at_end_mb - memory.after_first_50_mb:+.0f} MB), "
        f"at most {memory.highest_mb:.0f} MB."
    )


@app.command()
def extract(
    context: typer.Context,
    corpus: Annotated[Path, typer.Option("--corpus", metavar="DIR", help="Labelled pages with their score.py.")] = Path(
        "../shared/corpus"
    ),
    as_json: JsonOption = False,
) -> None:
    """Compare what is seen in labelled pages, and how fast, with trafilatura, htmldate and gerapy-auto-extractor."""
    from benchmarks.extract import METRICS, measure

    terminal = get_terminal(context)
    readers = measure(corpus, on_step=_build_step_printer(terminal))
    if as_json:
        terminal.write_json({"bench": "extract", "figures": [one.model_dump(mode="json") for one in readers]})
        return
    found = [one for one in readers if one.missing is None]
    facts = ("ms_a_page", "ms_a_list", "ms_an_article", "pages", "failed")
    rows = [(name, *(one.figures.get(name) for one in found)) for name in METRICS]
    rows += [(name, *(getattr(one, name) for one in found)) for name in facts]
    terminal.write_table(("", *(one.name for one in found)), rows)
    for reader in readers:
        if reader.missing is not None:
            terminal.write_line(f"{reader.name}: {reader.missing}")


@app.command()
def service(
    context: typer.Context,
    sources: Annotated[int, typer.Option("--sources", min=1, help="How many simulated sites.")] = 1000,
    hosts: Annotated[int, typer.Option("--hosts", min=1, help="On how many hosts they lie.")] = 200,
    minutes: Annotated[int, typer.Option("--minutes", min=0, help="They fall due within; 0 = all at once.")] = 10,
    latency: Annotated[float, typer.Option("--latency", min=0, help="Seconds that a site takes to answer.")] = 0.0,
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, help="Runs at once in one worker.")] = 16,
    postgres: Annotated[str | None, typer.Option("--postgres", help="An empty database, in place of SQLite.")] = None,
    workers: Annotated[int, typer.Option("--workers", min=1, help="How many workers, on PostgreSQL.")] = 1,
    as_json: JsonOption = False,
) -> None:
    """Measure the service on a farm of simulated sites: lag, throughput, memory."""
    from benchmarks.service import ServiceLoad, measure

    terminal = get_terminal(context)
    load = ServiceLoad(sources=sources, hosts=hosts, minutes=minutes, latency_s=latency, concurrency=concurrency)
    figures = asyncio.run(measure(load, workers=workers, postgres=postgres))
    if as_json:
        terminal.write_json({"bench": "service", "load": load.model_dump(), "figures": figures.model_dump()})
        return
    terminal.write_table(tuple(type(figures).model_fields), [tuple(figures.model_dump().values())])


@app.command()
def search(context: typer.Context, as_json: JsonOption = False) -> None:
    """Measure web.search on simulated services beside the bare libraries, a merged answer, and the archive."""
    from benchmarks.search import measure

    terminal = get_terminal(context)
    figures = asyncio.run(measure(on_step=_build_step_printer(terminal)))
    if as_json:
        terminal.write_json({"bench": "search", "figures": figures.model_dump()})
        return
    rows = [(cost.service, cost.bare_ms, cost.ours_ms, f"{cost.ours_ms / cost.bare_ms:.1f}") for cost in figures.costs]
    terminal.write_table(("service", "bare ms", "ours ms", "times"), rows)
    terminal.write_line()
    for group in (figures.merged, figures.archive):
        terminal.write_table(tuple(type(group).model_fields), [tuple(group.model_dump().values())])
        terminal.write_line()


@app.command()
def live(
    context: typer.Context,
    rate: Annotated[int, typer.Option("--rate", min=1, help="Events a second.")] = 50,
    seconds: Annotated[int, typer.Option("--seconds", min=1, help="For so long.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """Measure how soon a person who watches a run in the browser sees what it tells."""
    from benchmarks.live import measure

    terminal = get_terminal(context)
    figures = asyncio.run(measure(events_per_s=rate, seconds=seconds, on_step=_build_step_printer(terminal)))
    if as_json:
        terminal.write_json({"bench": "live", "figures": figures.model_dump()})
        return
    terminal.write_table(tuple(type(figures).model_fields), [tuple(figures.model_dump().values())])


@app.command()
def research(
    context: typer.Context,
    latency: Annotated[float, typer.Option("--latency", min=0, help="Seconds that the model takes to answer.")] = 1.0,
    as_json: JsonOption = False,
) -> None:
    """Measure a research: what it takes for a paragraph, what of it is our own doing, what concurrency brings."""
    from benchmarks.research import measure

    terminal = get_terminal(context)
    figures = asyncio.run(measure(latency_s=latency, on_step=_build_step_printer(terminal)))
    if as_json:
        terminal.write_json({"bench": "research", "figures": figures.model_dump()})
        return
    head = tuple(name.replace("_", " ") for name in type(figures.runs[0]).model_fields)
    terminal.write_table(head, [tuple(run.model_dump().values()) for run in figures.runs])
    terminal.write_line()
    terminal.write_line(
        f"Our own part of a research with a model that takes {figures.latency_s:g} s an answer: "
        f"{figures.overhead:.1%}. Deep search with {figures.runs[0].at_once} paragraphs at once: "
        f"{figures.speedup:.2f} times as fast as with one after another."
    )


@app.command()
def store(
    context: typer.Context,
    items: Annotated[int, typer.Option("--items", min=1, help="How many items are made.")] = 1_000_000,
    database: Annotated[
        str | None, typer.Option("--database", metavar="URL", help="An empty database to fill, or one that was filled.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how fast a large archive is listed, filtered, searched and shown; a million items take long to make."""
    from benchmarks.store import measure
    from monitor.web.app import create_web_app

    terminal = get_terminal(context)
    figures = asyncio.run(
        measure(
            items, url=database, today=_get_today(), build_web=create_web_app, on_step=_build_step_printer(terminal)
        )
    )
    if as_json:
        terminal.write_json({"bench": "store", "figures": figures.model_dump()})
        return
    terminal.write_line(f"{figures.items} items on {figures.database}, filled in {figures.filled_in_s} s")
    head = ("question", "queries", "p50 ms", "p95 ms", "slowest ms", "found")
    terminal.write_table(head, [tuple(speed.model_dump().values()) for speed in figures.speeds])


def _print_rates(terminal: Terminal, kind: str, rates: "list[PageRate]") -> None:
    counts = sorted({one.at_once for one in rates})
    cells = {(rate.way, rate.at_once): f"{rate.pages_per_s:.1f} ({rate.ratio:.2f})" for rate in rates}
    ways = list(dict.fromkeys(one.way for one in rates))
    head = (kind, *(f"{count} at once" for count in counts))
    terminal.write_table(head, [(way, *(cells[way, count] for count in counts)) for way in ways])


def _get_today() -> dt.date:
    from monitor.clock import SystemClock
    from monitor.demo.site import TIMEZONE

    return SystemClock().now().astimezone(ZoneInfo(TIMEZONE)).date()


def _build_step_printer(terminal: Terminal) -> Callable[[str], None]:
    """Says on stderr what is being measured, where somebody watches."""

    def tell(step: str) -> None:
        if sys.stderr.isatty():
            terminal.write_status(step)

    return tell
