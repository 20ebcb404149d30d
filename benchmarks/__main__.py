"""`make bench NAME=…`, or `python -m benchmarks NAME`: each benchmark prints a table or, with --json, its figures."""

import asyncio
import datetime as dt
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from monitor.cli.terminal import JsonOption, Terminal
from monitor.vocabulary import Role

if TYPE_CHECKING:
    from benchmarks.pages import PageRate

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def tokens(as_json: JsonOption = False) -> None:
    """Compare section agents with pruning and one general agent without, on the sample ministry."""
    from benchmarks.tokens import measure

    terminal = Terminal("en")
    figures = asyncio.run(measure(_get_today()))
    if as_json:
        terminal.write_json({"bench": "tokens", "figures": [figure.model_dump(mode="json") for figure in figures]})
        return
    head = ("approach", "calls", "prompt tokens", "completion tokens", "largest context", "items")
    terminal.write_rows([head, *[tuple(figure.model_dump().values()) for figure in figures]])


@app.command()
def pages(as_json: JsonOption = False) -> None:
    """Compare the loading of pages with bare httpx and bare Playwright, and watch the memory over 1,000 drawn pages."""
    from benchmarks.pages import measure

    terminal = Terminal("en")
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
def draw(
    pages: Annotated[int, typer.Option("--pages", min=1, help="Pages of a kind in each round.")] = 8,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="How often the approaches take turns.")] = 5,
    peers: Annotated[
        Path | None, typer.Option("--peers", metavar="PYTHON", help="An interpreter that has crawl4ai.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare drawn pages with Playwright at the load event, with Playwright that waits for the rows, and Crawl4AI."""
    from benchmarks.draw import list_rows, measure

    terminal = Terminal("en")
    found = asyncio.run(measure(pages=pages, rounds=rounds, peers=peers, on_step=_build_step_printer(terminal)))
    if as_json:
        terminal.write_json({"bench": "draw", "figures": found.model_dump()})
        return
    terminal.write_rows([("page", "approach", "ms", "cpu ms", "load / own", "rows"), *list_rows(found.costs)])
    terminal.write_line()
    head = ("approach", "first page s", "cpu s", "memory MB")
    starts = [start.model_dump(exclude={"approach"}).values() for start in found.starts]
    figures = [tuple("-" if value is None else f"{value:.2f}" for value in start) for start in starts]
    terminal.write_rows([head, *[(start.approach, *row) for start, row in zip(found.starts, figures, strict=True)]])
    for approach, reason in found.missing.items():
        terminal.write_line(f"{approach}: {reason}")


@app.command()
def keep(
    pages: Annotated[int, typer.Option("--pages", min=1, help="Pages of each round.")] = 200,
    at_once: Annotated[int, typer.Option("--at-once", min=1, help="How many are fetched at once.")] = 1,
    as_json: JsonOption = False,
) -> None:
    """Compare pages that are fetched and kept as evidence with bare httpx and a parser, by the processor's time."""
    from benchmarks.keep import KeepCost, measure

    terminal = Terminal("en")
    figures = asyncio.run(measure(_get_today(), pages=pages, at_once=at_once, on_step=_build_step_printer(terminal)))
    if as_json:
        terminal.write_json({"bench": "keep", "figures": [figure.model_dump() for figure in figures]})
        return
    rows = [
        (cost.approach, *(f"{value:.2f}" for value in cost.model_dump(exclude={"approach"}).values()))
        for cost in figures
    ]
    terminal.write_rows([tuple(KeepCost.model_fields), *rows])


@app.command()
def train(
    labels: Annotated[Path, typer.Option("--labels", metavar="DIR", help="Labelled passages and documents.")] = Path(
        "fixtures/facts"
    ),
) -> None:
    """Train the classifiers of days, and write their weights into the package; needs scikit-learn."""
    from benchmarks.train import LANGUAGES, train_days, write_weights

    terminal = Terminal("en")
    try:
        for language in LANGUAGES:
            terminal.write_line(str(write_weights(train_days(labels, language), f"days_{language}")))
    except ModuleNotFoundError as error:
        terminal.write_status(f"{error.name} is absent; install it with: .venv/bin/pip install scikit-learn")
        raise typer.Exit(1) from error


@app.command()
def metamorphic(
    corpus: Annotated[
        Path | None, typer.Option("--corpus", metavar="DIR", help="Labelled pages; the fixtures without it.")
    ] = None,
    sample: Annotated[int, typer.Option("--sample", metavar="N", min=1, help="Lists that are changed.")] = 40,
    as_json: JsonOption = False,
) -> None:
    """Change labelled lists in ways that a list survives, and say by how much each figure falls."""
    from benchmarks.labelled_pages import read_corpus, read_fixtures
    from benchmarks.metamorphic import FIGURES, choose_pages, measure

    terminal = Terminal("en")
    pages = list(read_corpus(corpus) if corpus else read_fixtures(Path("fixtures/pages")))
    figures = list(measure(choose_pages(pages, sample)))
    if as_json:
        terminal.write_json({"bench": "metamorphic", "figures": [figure.model_dump() for figure in figures]})
        return
    falls = [(figure.change, figure.pages, figure.list_falls()) for figure in figures]
    rows = [(change, count, *(found.get(name, "") for name in FIGURES)) for change, count, found in falls]
    terminal.write_rows([("change", "pages", *(f"{name} falls" for name in FIGURES)), *rows])


@app.command()
def mutation(
    corpus: Annotated[
        Path | None, typer.Option("--corpus", metavar="DIR", help="Labelled pages besides the fixtures.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option("--sample", metavar="N", min=2, help="Conditions that are tried; all without it.")
    ] = None,
    pages: Annotated[int, typer.Option("--pages", metavar="N", min=4, help="Pages of each kind.")] = 40,
    as_json: JsonOption = False,
) -> None:
    """Hold each condition of the parser true and false, and name those that change nothing that is seen."""
    from benchmarks.mutation import Outcome, measure

    terminal = Terminal("en")
    found = list(measure(corpus, sample=sample, pages=pages, on_step=_build_step_printer(terminal)))
    if as_json:
        terminal.write_json({"bench": "mutation", "figures": [verdict.model_dump() for verdict in found]})
        return
    rows = [
        (verdict.outcome, f"{verdict.file}:{verdict.line}", verdict.held, verdict.changed_pages, verdict.condition[:60])
        for outcome in Outcome
        for verdict in found
        if verdict.outcome is outcome is not Outcome.NEEDED
    ]
    terminal.write_rows([("outcome", "place", "held", "pages changed", "condition"), *rows])
    terminal.write_line(f"{len(found)} conditions, {len(found) - len(rows)} of them needed.")


@app.command()
def articles(
    folders: Annotated[
        list[Path] | None, typer.Option("--pages", metavar="DIR", help="Labelled pages as in the corpus; may repeat.")
    ] = None,
    train: Annotated[bool, typer.Option("--train", help="Learn anew, and write the weights into the package.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Find title, day and text of labelled articles, or train what finds them; needs LightGBM for that."""
    from benchmarks.train_articles import ArticleFigures, measure_and_train, measure_shipped

    terminal = Terminal("en")
    measure = measure_and_train if train else measure_shipped
    try:
        figures = measure(folders or [Path("../shared/corpus")], _build_step_printer(terminal))
    except ModuleNotFoundError as error:
        terminal.write_status(f"{error.name} is absent; install it with: .venv/bin/pip install lightgbm")
        raise typer.Exit(1) from error
    if as_json:
        terminal.write_json({"bench": "articles", "figures": [entry.model_dump() for entry in figures]})
        return
    terminal.write_rows(
        [tuple(ArticleFigures.model_fields), *[tuple(entry.model_dump().values()) for entry in figures]]
    )


@app.command()
def facts(
    labels: Annotated[Path, typer.Option("--labels", metavar="DIR", help="Labelled documents.")] = Path(
        "fixtures/facts/held"
    ),
    misses: Annotated[bool, typer.Option("--misses", help="Print what is labelled and what was read instead.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Read the facts of labelled documents by rule: recall and precision of each field."""
    from benchmarks.facts import measure

    terminal = Terminal("en")

    def print_miss(document: str, field: str, labelled: object, read: object) -> None:
        terminal.write_line(f"{document} {field}: {labelled} / {read}")

    figures = measure(labels, on_miss=print_miss if misses else None)
    if as_json:
        terminal.write_json({"bench": "facts", "figures": figures.model_dump(mode="json")})
        return
    rows = [tuple(entry.model_dump().values()) for entry in figures.fields]
    terminal.write_rows([("field", "labelled", "read", "right", "recall", "precision"), *rows])
    terminal.write_line(f"{figures.documents} documents, {figures.documents_a_second:.0f} a second of one core.")


@app.command()
def verify(
    corpus: Annotated[Path, typer.Option("--corpus", metavar="DIR", help="Labelled pages.")] = Path("../shared/corpus"),
    fit: Annotated[bool, typer.Option("--fit", help="Print the weights that the open half gives.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Judge labelled statements by code and with a second reader, and compare the speed with a check of figures."""
    from benchmarks.statements import fit_weights, iter_weight_lines, load_documents, measure

    terminal = Terminal("en")
    if fit:
        for line in iter_weight_lines(*fit_weights(load_documents("open", corpus))):
            terminal.write_line(line)
        return
    figures = measure(corpus)
    if as_json:
        terminal.write_json({"bench": "verify", "figures": figures.model_dump(mode="json")})
        return
    rows = [tuple(entry.model_dump().values()) for entry in figures.accuracy]
    head = ("half", "pages", "true", "false", "true refused", "false shipped", "refused, reader", "shipped, reader")
    terminal.write_rows([head, *rows])
    rate, peer = figures.statements_a_second, figures.figure_checks_a_second
    terminal.write_line(f"Statements a second of one core: {rate:.0f}; figures alone, as in 0.1.0: {peer:.0f}.")
    share = figures.reader_tokens / figures.summary_tokens
    terminal.write_line(f"Tokens of the second reader: {share:.0%} of those of the summaries.")


@app.command()
def lifecycles(
    labels: Annotated[Path, typer.Option("--labels", metavar="DIR", help="Labelled documents, a JSON file each.")],
    as_json: JsonOption = False,
) -> None:
    """Join labelled documents to policies, with the facts of their labels and with those that are read."""
    from benchmarks.lifecycles import measure

    terminal = Terminal("en")
    figures = [measure(labels, is_gold=is_gold) for is_gold in (True, False)]
    if as_json:
        terminal.write_json({"bench": "lifecycles", "figures": [entry.model_dump() for entry in figures]})
        return
    lists = {"missed", "mistaken"}
    head = [name.replace("_", " ") for name in type(figures[0]).model_fields if name not in lists]
    terminal.write_rows([head, *[tuple(entry.model_dump(exclude=lists).values()) for entry in figures]])
    for entry in figures:
        for name in sorted(lists):
            for pair in getattr(entry, name):
                terminal.write_line(f"{entry.facts}, {name}: {pair}")


@app.command()
def extract(
    corpus: Annotated[Path, typer.Option("--corpus", metavar="DIR", help="Labelled pages with their score.py.")] = Path(
        "../shared/corpus"
    ),
    as_json: JsonOption = False,
) -> None:
    """Compare what is seen in labelled pages, and how fast, with trafilatura, htmldate and gerapy-auto-extractor."""
    from benchmarks.extract import METRICS, measure

    terminal = Terminal("en")
    readers = measure(corpus, on_step=_build_step_printer(terminal))
    if as_json:
        terminal.write_json({"bench": "extract", "figures": [reader.model_dump(mode="json") for reader in readers]})
        return
    found = [reader for reader in readers if reader.missing is None]
    facts = ("ms_a_page", "ms_a_list", "ms_an_article", "ratio_to_ours", "pages", "failed")
    rows = [(name, *(reader.figures.get(name) for reader in found)) for name in METRICS]
    rows += [(name, *(getattr(reader, name) for reader in found)) for name in facts]
    terminal.write_rows([(" ", *(reader.name for reader in found)), *rows])
    for reader in readers:
        if reader.missing is not None:
            terminal.write_line(f"{reader.name}: {reader.missing}")


@app.command()
def service(
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

    terminal = Terminal("en")
    load = ServiceLoad(sources=sources, hosts=hosts, minutes=minutes, latency_s=latency, concurrency=concurrency)
    figures = asyncio.run(measure(load, workers=workers, postgres=postgres))
    if as_json:
        terminal.write_json({"bench": "service", "load": load.model_dump(), "figures": figures.model_dump()})
        return
    terminal.write_rows([tuple(type(figures).model_fields), *[tuple(figures.model_dump().values())]])


@app.command()
def capacity(
    sources: Annotated[int, typer.Option("--sources", min=1, help="How many simulated sites.")] = 20,
    rounds: Annotated[int, typer.Option("--runs", min=1, help="How often each is run without anything new.")] = 10,
    year_sources: Annotated[int, typer.Option("--year-sources", min=1, help="Of so many the year is told.")] = 1000,
    pruned: Annotated[
        int, typer.Option("--prune", min=0, help="So many runs of a year are made and pruned.")
    ] = 100_000,
    as_json: JsonOption = False,
) -> None:
    """Measure what a run that finds nothing new leaves, what a year of them comes to, and how they are pruned."""
    from benchmarks.capacity import measure

    terminal = Terminal("en")
    step = _build_step_printer(terminal)
    figures = asyncio.run(measure(sources, rounds, year_sources=year_sources, pruned_runs=pruned, on_step=step))
    if as_json:
        terminal.write_json({"bench": "capacity", "figures": figures.model_dump()})
        return
    head = tuple(name.replace("_", " ") for name in type(figures.tables[0]).model_fields)
    terminal.write_rows([head, *[tuple(table.model_dump().values()) for table in figures.tables]])
    terminal.write_line(
        f"A run: {figures.bytes_a_run:.0f} bytes, {figures.files_a_run:g} files of evidence. {figures.year_sources} "
        f"sources, four runs a day, a year: {figures.year_gb:.2f} GB, {figures.year_files} files."
    )
    if figures.prune is not None:
        terminal.write_rows([tuple(type(figures.prune).model_fields), tuple(figures.prune.model_dump().values())])


@app.command()
def quiet(
    runs: Annotated[int, typer.Option("--runs", min=1, help="How often the source is run.")] = 50,
    idle: Annotated[float, typer.Option("--idle", min=1, help="Seconds without work.")] = 60.0,
    postgres: Annotated[str | None, typer.Option("--postgres", help="An empty database, in place of SQLite.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure what a run costs inside a service when nothing has changed, and what the service costs while it waits."""
    from benchmarks.quiet import measure

    terminal = Terminal("en")
    figures = asyncio.run(measure(runs=runs, idle_s=idle, postgres=postgres))
    if as_json:
        terminal.write_json({"bench": "quiet", "figures": figures.model_dump()})
        return
    for group in (figures.idle, figures.quiet):
        terminal.write_rows([tuple(type(group).model_fields), *[tuple(group.model_dump().values())]])
        terminal.write_line()


@app.command()
def search(as_json: JsonOption = False) -> None:
    """Measure web.search on simulated services beside the bare libraries, a merged answer, and the archive."""
    from benchmarks.search import measure

    terminal = Terminal("en")
    figures = asyncio.run(measure(on_step=_build_step_printer(terminal)))
    if as_json:
        terminal.write_json({"bench": "search", "figures": figures.model_dump()})
        return
    rows = [(cost.service, cost.bare_ms, cost.ours_ms, f"{cost.ours_ms / cost.bare_ms:.1f}") for cost in figures.costs]
    terminal.write_rows([("service", "bare ms", "ours ms", "times"), *rows])
    terminal.write_line()
    for group in (figures.merged, figures.archive):
        terminal.write_rows([tuple(type(group).model_fields), *[tuple(group.model_dump().values())]])
        terminal.write_line()


@app.command()
def live(
    rate: Annotated[int, typer.Option("--rate", min=1, help="Events a second.")] = 50,
    seconds: Annotated[int, typer.Option("--seconds", min=1, help="For so long.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """Measure how soon a person who watches a run in the browser sees what it tells."""
    from benchmarks.live import measure

    terminal = Terminal("en")
    figures = asyncio.run(measure(events_per_s=rate, seconds=seconds, on_step=_build_step_printer(terminal)))
    if as_json:
        terminal.write_json({"bench": "live", "figures": figures.model_dump()})
        return
    terminal.write_rows([tuple(type(figures).model_fields), *[tuple(figures.model_dump().values())]])


@app.command()
def research(
    latency: Annotated[float, typer.Option("--latency", min=0, help="Seconds that the model takes to answer.")] = 1.0,
    as_json: JsonOption = False,
) -> None:
    """Measure a research: what it takes for a paragraph, what of it is our own doing, what concurrency brings."""
    from benchmarks.research import measure

    terminal = Terminal("en")
    figures = asyncio.run(measure(latency_s=latency, on_step=_build_step_printer(terminal)))
    if as_json:
        terminal.write_json({"bench": "research", "figures": figures.model_dump()})
        return
    head = tuple(name.replace("_", " ") for name in type(figures.runs[0]).model_fields)
    terminal.write_rows([head, *[tuple(run.model_dump().values()) for run in figures.runs]])
    terminal.write_line()
    terminal.write_line(
        f"Our own part of a research with a model that takes {figures.latency_s:g} s an answer: "
        f"{figures.overhead:.1%}. Deep search with {figures.runs[0].at_once} paragraphs at once: "
        f"{figures.speedup:.2f} times as fast as with one after another."
    )


@app.command()
def store(
    items: Annotated[int, typer.Option("--items", min=1, help="How many items are made.")] = 1_000_000,
    database: Annotated[
        str | None, typer.Option("--database", metavar="URL", help="An empty database to fill, or one that was filled.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how fast a large archive is listed, filtered, searched and shown; a million items take long to make."""
    from benchmarks.store import measure
    from monitor.web.app import create_web_app

    terminal = Terminal("en")
    figures = asyncio.run(
        measure(
            items, url=database, today=_get_today(), build_web=create_web_app, on_step=_build_step_printer(terminal)
        )
    )
    if as_json:
        terminal.write_json({"bench": "store", "figures": figures.model_dump()})
        return
    terminal.write_line(f"{figures.items} items on {figures.database}, filled in {figures.filled_in_s} s")
    head = ("question", "queries", "p50 ms", "p95 ms", "processor p95 ms", "slowest ms", "found")
    terminal.write_rows([head, *[tuple(speed.model_dump().values()) for speed in figures.speeds]])


@app.command()
def age(
    sources: Annotated[int, typer.Option("--sources", min=1, help="How many sources.")] = 1000,
    runs: Annotated[int, typer.Option("--runs", min=4, help="How many runs each has behind it, four a day.")] = 1460,
    folder: Annotated[
        Path | None, typer.Option("--folder", metavar="DIR", help="Keep the databases there; they are filled once.")
    ] = None,
    database: Annotated[
        list[str] | None,
        typer.Option("--database", metavar="URL", help="Twice: two empty ones, for the long and the short history."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare every page, list, command and briefing on a year of history with the same on a day of it."""
    from benchmarks.age import measure
    from monitor.web.app import create_web_app

    terminal = Terminal("en")
    figures = asyncio.run(
        measure(
            sources=sources,
            runs=runs,
            folder=folder,
            databases=database or (),
            build_web=create_web_app,
            on_step=_build_step_printer(terminal),
        )
    )
    if as_json:
        terminal.write_json({"bench": "age", "figures": figures.model_dump()})
        return
    size = "" if figures.size_mb is None else f", {figures.size_mb:.0f} MB"
    terminal.write_line(
        f"{figures.sources} sources with {figures.runs} runs each on {figures.database}{size}, "
        f"filled in {figures.filled_in_s} s"
    )
    head = ("question", "young cpu ms", "old cpu ms", "young ms", "old ms", "ratio")
    terminal.write_rows([head, *[tuple(cost.model_dump().values()) for cost in figures.costs]])


@app.command()
def responses(
    items: Annotated[int, typer.Option("--items", min=1000, help="How many items are made.")] = 100_000,
    folder: Annotated[
        Path | None, typer.Option("--folder", metavar="DIR", help="Keep the archive there; it is filled once.")
    ] = None,
    database: Annotated[
        str | None, typer.Option("--database", metavar="URL", help="An empty database to fill; with --folder, once.")
    ] = None,
    only: Annotated[str, typer.Option("--only", metavar="REGEX", help="Pages whose path has this.")] = "",
    role: Annotated[list[Role] | None, typer.Option("--role", help="Who asks; by default each role in turn.")] = None,
    repeats: Annotated[int, typer.Option("--repeats", min=2, help="How often each page is asked for.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """Measure every page and list that a reader, an editor or an administrator can open, of a thousand sources."""
    from benchmarks.responses import PageCost, measure

    terminal = Terminal("en")
    asking: dict[str, Any] = {"only": only, "roles": role or list(Role), "repeats": repeats}
    on_step = _build_step_printer(terminal)
    figures = asyncio.run(measure(items, folder=folder, url=database, on_step=on_step, **asking))
    if as_json:
        terminal.write_json({"bench": "responses", "figures": figures.model_dump()})
        return
    terminal.write_line(f"{figures.items} items on {figures.database}, filled in {figures.filled_in_s} s")
    slowest = sorted(figures.pages, key=lambda page: page.cpu_p95_ms, reverse=True)
    terminal.write_rows([tuple(PageCost.model_fields), *[tuple(page.model_dump().values()) for page in slowest]])
    above = [f"{page.page} ({page.role}): {page.cpu_p95_ms} > {page.bar_ms}" for page in slowest if page.is_above_bar]
    named = {"Above its bar": above, "Broken": figures.broken, "Not found": figures.not_found}
    for heading, lines in (named | {"Not asked for": figures.not_asked}).items():
        terminal.write_line(f"{heading}: {len(lines)}")
        for line in lines:
            terminal.write_line(f"  {line}")


@app.command()
def ranking(
    labels: Annotated[Path, typer.Argument(metavar="FILE", help="Labelled titles, a JSON line each.")] = Path(
        "fixtures/ranking/held_titles.jsonl"
    ),
    as_json: JsonOption = False,
) -> None:
    """Compare the order of importance with a person's: tau-b, the best ten, and how much a wavering model moves it."""
    from benchmarks.ranking import OrderFigures, run

    terminal = Terminal("en")
    figures = run(labels)
    if as_json:
        terminal.write_json({"bench": "ranking", "figures": figures.model_dump()})
        return
    rows = [
        tuple(f"{value:.3f}" if isinstance(value, float) else value for value in each.model_dump().values())
        for each in figures.sets
    ]
    terminal.write_rows([tuple(name.replace("_", " ") for name in OrderFigures.model_fields), *rows])
    terminal.write_line(f"Titles a second of one core: {figures.titles_a_second:.0f}.")


@app.command()
def group(
    items: Annotated[int, typer.Option("--items", min=10, help="The smaller day; the other one has twice as many.")] = (
        10_000
    ),
    as_json: JsonOption = False,
) -> None:
    """Measure what it costs to group and compose a day's documents, and whether that is done rightly."""
    from benchmarks.group import GroupingFigures, measure

    terminal = Terminal("en")
    figures = measure(items, today=_get_today(), on_step=_build_step_printer(terminal))
    if as_json:
        terminal.write_json({"bench": "group", "figures": [each.model_dump() for each in figures]})
        return
    head = tuple(name.replace("_", " ") for name in GroupingFigures.model_fields)
    terminal.write_rows([head, *[tuple(each.model_dump().values()) for each in figures]])
    small, large = figures
    terminal.write_line(f"Twice as many items take {large.brief_s / small.brief_s:.2f} times as long.")


@app.command()
def sweep(
    peers: Annotated[
        Path | None, typer.Option("--peers", metavar="PYTHON", help="The interpreter with Scrapy, crawlee, Crawl4AI.")
    ] = None,
    alone: Annotated[bool, typer.Option("--alone", help="Measure Monitor without the others.")] = False,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="How often each program runs.")] = 3,
    as_json: JsonOption = False,
) -> None:
    """Compare a first sweep of 145 pages, and one that finds nothing new, with the crawlers of others."""
    from benchmarks.sweep import SweepCost, find_peers_python, measure

    terminal = Terminal("en")
    python = None if alone else find_peers_python(peers)
    costs = measure(_get_today(), peers=python, rounds=rounds, on_step=_build_step_printer(terminal))
    if as_json:
        terminal.write_json({"bench": "sweep", "figures": [cost.model_dump() for cost in costs]})
        return
    head = tuple(name.replace("_", " ") for name in SweepCost.model_fields)
    terminal.write_rows([head, *[tuple(cost.model_dump().values()) for cost in costs]])


@app.command()
def startup(as_json: JsonOption = False) -> None:
    """Measure the processor time of a command that does next to nothing."""
    from benchmarks.startup import measure

    terminal = Terminal("en")
    costs = measure(on_step=_build_step_printer(terminal))
    if as_json:
        terminal.write_json({"bench": "startup", "figures": [cost.model_dump() for cost in costs]})
        return
    rows = [(cost.command, cost.cpu_s, cost.ratio, cost.limit) for cost in costs]
    terminal.write_rows([("command", "cpu s", "times the bare import", "limit"), *rows])


@app.command()
def files(
    verbose: Annotated[bool, typer.Option("-v", help="Name the files.")] = False, as_json: JsonOption = False
) -> None:
    """Count how many of our files run code for one sweep, one fetch and one change over the API."""
    from benchmarks.files import measure

    terminal = Terminal("en")
    counts = asyncio.run(measure(on_step=_build_step_printer(terminal)))
    if as_json:
        terminal.write_json({"bench": "files", "figures": [count.model_dump() for count in counts]})
        return
    terminal.write_rows(
        [("work", "files", "limit"), *((entry.work, len(entry.files), entry.limit) for entry in counts)]
    )
    for count in counts if verbose else ():
        terminal.write_line(f"\n{count.work}")
        for file in count.files:
            terminal.write_line(f"  {file}")


@app.command()
def lists(
    train: Annotated[bool, typer.Option("--train", help="Train on all labelled pages but the held ones.")] = False,
    folds: Annotated[bool, typer.Option("--folds", help="Train for each fifth of the sites on the others.")] = False,
    corpus: Annotated[Path, typer.Option("--corpus", metavar="DIR", help="Used where it is there.")] = Path(
        "../shared/corpus"
    ),
    as_json: JsonOption = False,
) -> None:
    """Say how well lists, and the titles of their rows, are found on labelled pages; or train what finds them."""
    from benchmarks import labelled_pages, train_lists

    terminal = Terminal("en")
    open_sets = labelled_pages.read_open_sets(corpus)
    if train:
        train_lists.train([page for pages in open_sets.values() for page in pages])
    if folds:
        read = list(train_lists.read_unseen(corpus, open_sets)) if "corpus" in open_sets else []
        figures = train_lists.cross_validate(open_sets)
    else:
        read = []
        figures = train_lists.measure({**open_sets, **labelled_pages.read_held_sets()})
    if as_json:
        whole = [figure.model_dump() for figure in read]
        terminal.write_json({"bench": "lists", "figures": [figure.model_dump() for figure in figures], "read": whole})
        return
    terminal.write_rows([tuple(type(figures[0]).model_fields), *[tuple(f.model_dump().values()) for f in figures]])
    if read:
        terminal.write_rows([tuple(type(read[0]).model_fields), *[tuple(f.model_dump().values()) for f in read]])


def _print_rates(terminal: Terminal, kind: str, rates: "list[PageRate]") -> None:
    counts = sorted({rate.at_once for rate in rates})
    cells = {(rate.approach, rate.at_once): f"{rate.pages_per_s:.1f} ({rate.ratio:.2f})" for rate in rates}
    loaders = list(dict.fromkeys(rate.approach for rate in rates))
    head = (kind, *(f"{count} at once" for count in counts))
    terminal.write_rows([head, *[(loader, *(cells[loader, count] for count in counts)) for loader in loaders]])


def _get_today() -> dt.date:
    from monitor.clock import SystemClock
    from monitor.demo.site import TIMEZONE

    return SystemClock().now().astimezone(ZoneInfo(TIMEZONE)).date()


def _build_step_printer(terminal: Terminal) -> Callable[[str], None]:
    """Says on stderr what is being measured, where somebody watches."""

    def show(step: str) -> None:
        if sys.stderr.isatty():
            terminal.write_status(step)

    return show


if __name__ == "__main__":
    app(prog_name="python -m benchmarks")
