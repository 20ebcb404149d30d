"""The MCP server: its tools over the use cases."""

import datetime as dt
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Literal

from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import Field

from monitor import __version__
from monitor.bootstrap import App
from monitor.exports.document import normalize_line
from monitor.mcp_server.answers import (
    UNTRUSTED_NOTICE,
    BriefingOutput,
    EvidenceOutput,
    InProcessRunner,
    ItemDetailOutput,
    ItemListOutput,
    RecordOutput,
    RunOutput,
    SourceListOutput,
    SourceOutput,
    add_research_tools,
    build_item_output,
    build_run_output,
    build_tool_result,
    raise_tool_errors,
    render_item,
    render_items,
    render_run,
    render_sources,
)
from monitor.services.audit import COMMAND_LINE_ACTOR
from monitor.services.briefings import BriefingQuery
from monitor.services.items import ItemQuery
from monitor.services.sources.listing import SourceFilter
from monitor.vocabulary import ItemType

_MAX_ENTRIES = 50

_MAX_TEXT_CHARS = 100_000

_READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)

_INSTRUCTIONS = f"""\
Monitor watches the sites of governments, regulators and industry bodies. search_items finds what it saved, read_item \
shows one item with the passages of the saved page that its statements rest on: cite these and the item's url. \
run_source reads a site again, run_status tells how far that is, compose_briefing writes a ranked briefing. \
start_research answers a question with a report whose quotes stand in saved pages; read_research reads it. {UNTRUSTED_NOTICE}"""

Names = Annotated[list[str], Field(max_length=_MAX_ENTRIES)]

Day = Annotated[dt.date | None, Field(description="As 2026-02-03")]


@asynccontextmanager
async def open_server(app: App) -> AsyncIterator[MCPServer]:
    """The server for an opened program; runs and researches that it began here are cancelled when it ends."""
    server = MCPServer("monitor", title="Monitor", version=__version__, instructions=_INSTRUCTIONS)
    running = InProcessRunner(app)
    _add_read_tools(server, app)
    _add_action_tools(server, app, running)
    add_research_tools(server, app, running)
    try:
        yield server
    finally:
        await running.close()


def _add_read_tools(server: MCPServer, app: App) -> None:
    @server.tool(annotations=_READ_ONLY)
    async def search_items(
        query: Annotated[
            str, Field(max_length=1000, description="All words have to stand in it; “…” word for word")
        ] = "",
        sources: Names = [],  # noqa: B006 -- read into the schema, never changed
        tags: Names = [],  # noqa: B006
        types: list[ItemType] = [],  # noqa: B006
        since: Day = None,
        until: Day = None,
        limit: Annotated[int, Field(ge=1, le=_MAX_ENTRIES)] = 10,
    ) -> Annotated[CallToolResult, ItemListOutput]:
        """Search the archive: the best items first; without a query the newest. Dates are of publication."""
        with raise_tool_errors():
            wanted = ItemQuery(sources=sources, tags=tags, types=types, since=since, until=until, text=query)
            is_search = bool(query.strip())
            rows = await (app.archive.search(wanted, limit) if is_search else app.archive.list_items(wanted, limit))
            found = ItemListOutput(items=[build_item_output(row.model_dump()) for row in rows])
            return build_tool_result(found, render_items(found.items))

    @server.tool(annotations=_READ_ONLY)
    async def read_item(
        item_id: Annotated[int, Field(ge=1, le=2**31 - 1)],
        max_chars: Annotated[int, Field(ge=0, le=_MAX_TEXT_CHARS, description="So much of the page's text")] = 6000,
    ) -> Annotated[CallToolResult, ItemDetailOutput]:
        """Read one item: what is known of it, its evidence, how its page changed, and the text of the page."""
        with raise_tool_errors():
            whole, proof = await app.archive.get_item(item_id), await app.proofs.get_proof(item_id)
            text = "\n".join(map(normalize_line, (whole.text or "").splitlines()))
            read = ItemDetailOutput(
                item=build_item_output(whole.model_dump()),
                text=text[:max_chars],
                has_more_text=len(text) > max_chars,
                evidence=[
                    EvidenceOutput(
                        kind=claim.kind,
                        claim=normalize_line(claim.claim),
                        passage=normalize_line(claim.passage),
                        record=claim.record,
                    )
                    for claim in proof.claims
                ],
                records=[RecordOutput.model_validate(record, from_attributes=True) for record in proof.records],
                revisions=[
                    normalize_line(f"{revision.seen_at:%Y-%m-%d}: {revision.said} {revision.reason}")
                    for revision in whole.revisions
                ],
            )
            return build_tool_result(read, render_item(read))

    @server.tool(annotations=_READ_ONLY)
    async def list_sources(
        text: Annotated[str, Field(description="Stands in the name, the address or a tag")] = "",
        tag: str = "",
        limit: Annotated[int, Field(ge=1, le=200)] = 50,
    ) -> Annotated[CallToolResult, SourceListOutput]:
        """List the sources that are watched, and how each fares."""
        with raise_tool_errors():
            listed = await app.source_list.list(SourceFilter(text=text, tag=tag), limit=limit)
            rows = [SourceOutput.model_validate(source, from_attributes=True) for source in listed.sources]
            found = SourceListOutput(sources=rows, total=listed.total)
            return build_tool_result(found, render_sources(found))


def _add_action_tools(server: MCPServer, app: App, runner: InProcessRunner) -> None:
    @server.tool(annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False))
    async def run_source(
        name: Annotated[str, Field(description="As list_sources tells it")],
        wait_s: Annotated[int, Field(ge=0, le=600, description="Answer after so many seconds at the latest")] = 30,
    ) -> Annotated[CallToolResult, RunOutput]:
        """Read a source's site now. A run may take minutes: where it has not ended, ask run_status for its run_id."""
        with raise_tool_errors():
            source = await app.sources.get(name)
            run_id = await runner.start_run(source)
            await app.audit.record(COMMAND_LINE_ACTOR, "run.start", source.name, run=run_id)
            await runner.wait_for_run(run_id, timeout_s=wait_s)
            run = build_run_output(await app.runs.get_report(run_id))
            return build_tool_result(run, render_run(run))

    @server.tool(annotations=_READ_ONLY)
    async def run_status(run_id: Annotated[str, Field(max_length=64)]) -> Annotated[CallToolResult, RunOutput]:
        """Tell how a run stands: waiting, under way, or how it ended and what it saved."""
        with raise_tool_errors():
            run = build_run_output(await app.runs.get_report(run_id))
            return build_tool_result(run, render_run(run))

    @server.tool(annotations=_READ_ONLY)
    async def compose_briefing(
        day: Day = None,
        days: Annotated[int, Field(ge=1, le=366, description="So many days, that one the last; default today")] = 1,
        top: Annotated[int | None, Field(ge=1, le=1000, description="So many items in full")] = None,
        sources: Names = [],  # noqa: B006
        tags: Names = [],  # noqa: B006
        types: list[ItemType] = [],  # noqa: B006
        keywords: Names = [],  # noqa: B006
        language: Literal["zh", "en"] = "zh",
    ) -> Annotated[CallToolResult, BriefingOutput]:
        """Write a ranked briefing, as Markdown, of what was first seen in a period. It is not kept and not sent."""
        with raise_tool_errors():
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
            briefing = await app.briefings.compose(wanted)
            markdown = (await app.exports.export_briefing(briefing, "md")).decode()
            composed = BriefingOutput(
                title=normalize_line(briefing.title), items=len(briefing.items), markdown=markdown
            )
            return build_tool_result(composed, [UNTRUSTED_NOTICE, *(f"> {line}" for line in markdown.splitlines())])
