"""`monitor costs`: what the model and the search services cost."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.terminal import JsonOption, Terminal, terminal_of

if TYPE_CHECKING:
    from monitor.app.costs import Costs


def costs(
    context: typer.Context,
    days: Annotated[int, typer.Option("--days", min=1, max=366, metavar="N", help="So many, today included.")] = 7,
    as_json: JsonOption = False,
) -> None:
    """Show tokens, searches and money by day; prices stand in llm.prices and search.backends."""
    terminal = terminal_of(context)
    ledger = asyncio.run(_ledger(terminal, days))
    if as_json:
        terminal.document(ledger.model_dump(mode="json"))
        return
    rows = [
        (cost.day, cost.source, cost.phase, cost.calls, cost.prompt_tokens, cost.completion_tokens, money(cost.cost))
        for cost in ledger.costs
    ]
    if rows:
        terminal.table(("day", "source", "phase", "calls", "prompt tokens", "completion tokens", "cost"), rows)
    searches = [
        (search.day, search.backend, search.requests, search.failed, money(search.cost)) for search in ledger.searches
    ]
    if searches:
        terminal.table(("day", "search backend", "requests", "failed", "cost"), searches)
    unpriced = sum(one.unpriced_calls for one in ledger.costs)
    without = f", {unpriced} calls of models without a price" if unpriced else ""
    terminal.say(
        f"{ledger.since} to {ledger.until}: {ledger.calls} calls, {ledger.tokens} tokens, cost {money(ledger.cost)}"
        f"{without}."
    )


def money(cost: float | None) -> str:
    """An amount as it is shown; there is no price, there is no amount."""
    return "-" if cost is None else f"{cost:.4f}"


async def _ledger(terminal: Terminal, days: int) -> "Costs":
    from monitor.bootstrap import open_app

    async with open_app(terminal.settings()) as parts:
        return await parts.costs.ledger(days)
