"""The MCP server: its tools over the use cases."""

import datetime as dt
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Literal

from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import Field

from monitor import __version__
from monitor.app.archive import ItemQuery
from monitor.app.audit import BY_COMMAND
from monitor.app.briefings import BriefingQuery
from monitor.app.watchlist import SourceFilter
from monitor.assistant.answers import (
    NOTICE,
    Composed,
    Found,
    ReadItem,
    RunTold,
    SavedRecord,
    SourceLine,
    SourceLines,
    Statement,
    answer,
    found_lines,
    item_line,
    read_lines,
    run_lines,
    run_told,
    source_lines,
    told,
)
from monitor.assistant.researching import add_research
from monitor.assistant.running import Running
from monitor.bootstrap import App
from monitor.domain.words import ItemType
from monitor.formats.document import one_line

_MOST = 50
_MOST_TEXT = 100_000
_LOOKS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_INSTRUCTIONS = f"""\
Monitor watches the sites of governments, regulators and industry bodies. search_items finds what it saved, read_item \
shows one item with the passages of the saved page that its statements rest on: cite these and the item's url. \
run_source reads a site again, run_status tells how far that is, compose_briefing writes a ranked briefing. \
start_research answers a question with a report whose quotes stand in saved pages; read_research reads it. {NOTICE}"""

Names = Annotated[list[str], Field(max_length=_MOST)]
Day = Annotated[dt.date | None, Field(description="As 2026-02-03")]


@asynccontextmanager
async def new_server(app: App) -> AsyncIterator[MCPServer]:
    """The server for an opened program; runs and researches that it began here are cancelled when it ends."""
    server = MCPServer("monitor", title="Monitor", version=__version__, instructions=_INSTRUCTIONS)
    running = Running(app)
    _add_reading(server, app)
    _add_working(server, app, running)
    add_research(server, app, running)
    try:
        yield server
    finally:
        await running.close()


def _add_reading(server: MCPServer, app: App) -> None:
    @server.tool(annotations=_LOOKS)
    async def search_items(
        query: Annotated[
            str, Field(max_length=1000, description="All words have to stand in it; “…” word for word")
        ] = "",
        sources: Names = [],  # noqa: B006 -- read into the schema, never changed
        tags: Names = [],  # noqa: B006
        types: list[ItemType] = [],  # noqa: B006
        since: Day = None,
        until: Day = None,
        limit: Annotated[int, Field(ge=1, le=_MOST)] = 10,
    ) -> Annotated[CallToolResult, Found]:
        """Search the archive: the best items first; without a query the newest. Dates are of publication."""
        with told():
            wanted = ItemQuery(sources=sources, tags=tags, types=types, since=since, until=until, text=query)
            is_search = bool(query.strip())
            rows = await (app.archive.search(wanted, limit) if is_search else app.archive.items(wanted, limit))
            found = Found(items=[item_line(row.model_dump()) for row in rows])
            return answer(found, found_lines(found.items))

    @server.tool(annotations=_LOOKS)
    async def read_item(
        item_id: Annotated[int, Field(ge=1, le=2**31 - 1)],
        max_chars: Annotated[int, Field(ge=0, le=_MOST_TEXT, description="So much of the page's text")] = 6000,
    ) -> Annotated[CallToolResult, ReadItem]:
        """Read one item: what is known of it, its evidence, how its page changed, and the text of the page."""
        with told():
            whole, proof = await app.archive.item(item_id), await app.proofs.of_item(item_id)
            text = "\n".join(map(one_line, (whole.text or "").splitlines()))
            read = ReadItem(
                item=item_line(whole.model_dump()),
                text=text[:max_chars],
                has_more_text=len(text) > max_chars,
                evidence=[
                    Statement(
                        kind=claim.kind,
                        claim=one_line(claim.claim),
                        passage=one_line(claim.passage),
                        record=claim.record,
                    )
                    for claim in proof.claims
                ],
                records=[SavedRecord.model_validate(record, from_attributes=True) for record in proof.records],
                revisions=[
                    one_line(f"{revision.seen_at:%Y-%m-%d}: {revision.said} {revision.reason}")
                    for revision in whole.revisions
                ],
            )
            return answer(read, read_lines(read))

    @server.tool(annotations=_LOOKS)
    async def list_sources(
        text: Annotated[str, Field(description="Stands in the name, the address or a tag")] = "",
        tag: str = "",
        limit: Annotated[int, Field(ge=1, le=200)] = 50,
    ) -> Annotated[CallToolResult, SourceLines]:
        """List the sources that are watched, and how each fares."""
        with told():
            listed = await app.watchlist.list(SourceFilter(text=text, tag=tag), limit=limit)
            rows = [SourceLine.model_validate(source, from_attributes=True) for source in listed.sources]
            found = SourceLines(sources=rows, total=listed.total)
            return answer(found, source_lines(found))


def _add_working(server: MCPServer, app: App, running: Running) -> None:
    @server.tool(annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False))
    async def run_source(
        name: Annotated[str, Field(description="As list_sources tells it")],
        wait_s: Annotated[int, Field(ge=0, le=600, description="Answer after so many seconds at the latest")] = 30,
    ) -> Annotated[CallToolResult, RunTold]:
        """Read a source's site now. A run may take minutes: where it has not ended, ask run_status for its run_id."""
        with told():
            source = await app.sources.get(name)
            run_id = await running.begin(source)
            await app.audit.record(BY_COMMAND, "run.start", source.name, run=run_id)
            await running.wait(run_id, at_most_s=wait_s)
            run = run_told(await app.runs.report(run_id))
            return answer(run, run_lines(run))

    @server.tool(annotations=_LOOKS)
    async def run_status(run_id: Annotated[str, Field(max_length=64)]) -> Annotated[CallToolResult, RunTold]:
        """Tell how a run stands: waiting, under way, or how it ended and what it saved."""
        with told():
            run = run_told(await app.runs.report(run_id))
            return answer(run, run_lines(run))

    @server.tool(annotations=_LOOKS)
    async def compose_briefing(
        day: Day = None,
        days: Annotated[int, Field(ge=1, le=366, description="So many days, that one the last; default today")] = 1,
        top: Annotated[int | None, Field(ge=1, le=1000, description="So many items in full")] = None,
        sources: Names = [],  # noqa: B006
        tags: Names = [],  # noqa: B006
        types: list[ItemType] = [],  # noqa: B006
        keywords: Names = [],  # noqa: B006
        language: Literal["zh", "en"] = "zh",
    ) -> Annotated[CallToolResult, Composed]:
        """Write a ranked briefing, as Markdown, of what was first seen in a period. It is not kept and not sent."""
        with told():
            wanted = BriefingQuery(
                day=day,
                days=days,
                top=top,
                sources=sources,
                tags=tags,
                types=types,
                keywords=keywords,
                language=language,
            )
            briefing = await app.briefings.write(wanted)
            markdown = (await app.writing.briefing(briefing, "md")).decode()
            composed = Composed(title=one_line(briefing.title), items=len(briefing.items), markdown=markdown)
            return answer(composed, [NOTICE, *(f"> {line}" for line in markdown.splitlines())])
