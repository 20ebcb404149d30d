"""The tools of briefings and of the web: compose, list, read; web_search, web_fetch."""

import datetime as dt
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from monitor.bootstrap import App
from monitor.briefing.compose import Briefing
from monitor.config.model import BACKENDS
from monitor.errors import UsageError
from monitor.exports.document import normalize_line
from monitor.mcp_server.answers import (
    UNTRUSTED_NOTICE,
    BriefingOutput,
    Line,
    NextCursor,
    build_tool_result,
    raise_tool_errors,
    render_cursor,
    render_page,
    render_search,
)
from monitor.mcp_server.archive_tools import MAX_TEXT_CHARS, Day, MaxChars, Sources, Tags, Types
from monitor.mcp_server.toolset import COMPOSE, READ, READ_WEB, Cursor, Toolset, get_actor
from monitor.search.contract import MAX_QUERY_CHARS, MAX_RESULTS, Recency, ToolResult
from monitor.search.tools import FetchToolResult
from monitor.services.audit import AuditAction
from monitor.services.briefings import BriefingQuery
from monitor.services.cursors import cut_page, decode_id

BriefingId = Annotated[int, Field(ge=1, le=2**31 - 1, description="As list_briefings tells it")]


class BriefingRowOutput(BaseModel):
    """A saved briefing: how many items stand in it, and the days of these."""

    id: int
    title: Line
    size: int
    since: dt.date
    until: dt.date


class BriefingListOutput(BaseModel):
    briefings: list[BriefingRowOutput]
    next_cursor: NextCursor = None


def add_briefing_tools(tools: Toolset, app: App) -> None:
    @tools.add(COMPOSE)
    async def compose_briefing(
        day: Day = None,
        days: Annotated[int, Field(ge=1, le=366, description="So many days, that one the last; default today")] = 1,
        top: Annotated[int | None, Field(ge=1, le=1000, description="So many items in full")] = None,
        sources: Sources = [],  # noqa: B006
        tags: Tags = [],  # noqa: B006
        types: Types = [],  # noqa: B006
        keywords: Annotated[list[str], Field(max_length=50, description="Words, one of which has to occur")] = [],  # noqa: B006
        language: Annotated[Literal["zh", "en"], Field(description="Of the briefing's own words")] = "zh",
        topic: Annotated[str | None, Field(max_length=200, description="For whom: only what fits this topic")] = None,
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
                topic=topic,
            )
            return await _answer_briefing(app, await app.briefings.compose(wanted), MAX_TEXT_CHARS)

    @tools.add(READ)
    async def list_briefings(
        limit: Annotated[int, Field(ge=1, le=50, description="So many at most")] = 20, cursor: Cursor = ""
    ) -> Annotated[CallToolResult, BriefingListOutput]:
        """List the saved briefings, newest first."""
        with raise_tool_errors():
            rows = await app.drafts.list(before_id=decode_id(cursor), limit=limit + 1)
            page, following = cut_page(rows, limit, lambda row: row.id)
            shown = [BriefingRowOutput.model_validate(row, from_attributes=True) for row in page]
            found = BriefingListOutput(briefings=shown, next_cursor=following)
            return build_tool_result(found, _render_briefings(found))

    @tools.add(READ)
    async def read_briefing(
        briefing_id: BriefingId, context: Context[Any, Any], max_chars: MaxChars = 30_000
    ) -> Annotated[CallToolResult, BriefingOutput]:
        """Read a saved briefing as it stands after its edits, as Markdown."""
        with raise_tool_errors():
            briefing = (await app.drafts.get(briefing_id)).briefing
            await app.audit.record(get_actor(context), AuditAction.BRIEFING_EXPORT, str(briefing_id), format="md")
            return await _answer_briefing(app, briefing, max_chars)


async def _answer_briefing(app: App, briefing: Briefing, max_chars: int) -> CallToolResult:
    markdown = (await app.exports.export_briefing(briefing, "md")).decode()[:max_chars]
    composed = BriefingOutput(title=normalize_line(briefing.title), items=len(briefing.items), markdown=markdown)
    return build_tool_result(composed, [UNTRUSTED_NOTICE, *(f"> {line}" for line in markdown.splitlines())])


def _render_briefings(found: BriefingListOutput) -> Iterator[str]:
    yield UNTRUSTED_NOTICE if found.briefings else "There are no saved briefings."
    for row in found.briefings:
        yield f"- [{row.id}] {row.since} to {row.until}, {row.size} items"
        yield f"> {row.title}"
    yield from render_cursor(found.next_cursor)


def add_web_tools(tools: Toolset, app: App) -> None:
    @tools.add(READ_WEB)
    async def web_search(
        query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS, description="What to search for")],
        max_results: Annotated[int, Field(ge=1, le=MAX_RESULTS, description="So many at most")] = MAX_RESULTS,
        backends: Annotated[
            list[str] | None, Field(min_length=1, max_length=len(BACKENDS), description="By default those that are set")
        ] = None,
        lang: Annotated[str | None, Field(description="As zh or en-GB")] = None,
        time_range: Annotated[Recency | None, Field(description="No older than that")] = None,
        site_filter: Annotated[str | None, Field(description="Only this site, as gov.cn")] = None,
        need_summary: Annotated[bool, Field(description="Longer texts, from a service that summarises")] = False,
        budget_ms: Annotated[int | None, Field(gt=0, description="Answer within so many milliseconds")] = None,
    ) -> Annotated[CallToolResult, ToolResult]:
        """Search the web. A backend leaves out the wishes that it cannot serve; its failure is among the errors."""
        arguments = {
            "query": query,
            "max_results": max_results,
            "lang": lang,
            "time_range": time_range,
            "site_filter": site_filter,
            "need_summary": need_summary,
            "budget_ms": budget_ms,
        }
        with raise_tool_errors():
            found = await app.search.search(arguments, backend=",".join(backends) if backends else None)
            if found.is_refused:
                raise UsageError(found.errors[0].message)
            return build_tool_result(found, render_search(found))

    @tools.add(READ_WEB)
    async def web_fetch(
        url: Annotated[str, Field(min_length=1, max_length=8000, description="The address of the page, in full")],
        max_chars: MaxChars = 15_000,
    ) -> Annotated[CallToolResult, FetchToolResult]:
        """Read a web page as text, with its title and its date of publication."""
        with raise_tool_errors():
            page = await app.search.fetch(url)
            page.text = page.text[:max_chars]
            return build_tool_result(page, render_page(page))
