"""The tools of research: start, follow, plan, ask further, cancel, read."""

import datetime as dt
from collections.abc import Iterator
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from monitor.bootstrap import App
from monitor.db.tables.research import ResearchStatus
from monitor.mcp_server.answers import (
    UNTRUSTED_NOTICE,
    Line,
    NextCursor,
    ResearchOutput,
    build_research_output,
    build_tool_result,
    raise_tool_errors,
    render_cursor,
    render_research,
)
from monitor.mcp_server.running import Runner
from monitor.mcp_server.toolset import CANCEL, READ, START, Cursor, Seconds, Toolset, follow_work, get_actor
from monitor.research.shapes import PlanParagraph, ResearchOptions, SearchConfig
from monitor.services.audit import AuditAction
from monitor.services.cursors import cut_page, decode_cursor
from monitor.services.research.editions import EditionPageView

_MAX_REPORT_CHARS = 100_000

TaskId = Annotated[str, Field(max_length=64, description="As start_research tells it")]
Question = Annotated[str, Field(min_length=1, max_length=2000, description="A question, in Chinese or English")]
MaxChars = Annotated[int, Field(ge=0, le=_MAX_REPORT_CHARS, description="So much of the report")]


class ResearchRowOutput(BaseModel):
    task_id: str
    query: Line
    status: ResearchStatus
    created_at: dt.datetime


class ResearchListOutput(BaseModel):
    """Researches that you may read, newest first."""

    researches: list[ResearchRowOutput]
    next_cursor: NextCursor = None


class EditionOutput(BaseModel):
    task_id: str
    status: ResearchStatus
    created_at: dt.datetime
    ended_at: dt.datetime | None


class EditionListOutput(BaseModel):
    """The editions of a research, newest first; `schedule` is cron, null where no further one begins by itself.

    `new_statements` and `new_sources` are what the research that was asked for says and the edition before it did not.
    """

    first: str
    schedule: str | None
    next_at: dt.datetime | None
    editions: list[EditionOutput]
    new_statements: list[Line]
    new_sources: list[Line]
    next_cursor: NextCursor = None


class ParagraphInput(BaseModel, extra="forbid"):
    """A paragraph that the report is to have."""

    title: str = Field(min_length=1, max_length=200, description="Its heading")
    content: str = Field(default="", max_length=2000, description="What it has to answer")


class ParagraphOutput(BaseModel):
    title: Line
    content: Line


class PlanOutput(BaseModel):
    """The plan of a research; it can be changed while the status is `awaiting_plan`."""

    task_id: str
    status: ResearchStatus
    title: Line
    paragraphs: list[ParagraphOutput]


def add_research_tools(tools: Toolset, app: App, runner: Runner) -> None:
    _add_starting_tools(tools, app, runner)
    _add_reading_tools(tools, app)
    _add_steering_tools(tools, app)


def _add_starting_tools(tools: Toolset, app: App, runner: Runner) -> None:
    @tools.add(START)
    async def start_research(
        query: Question,
        context: Context[Any, Any],
        engines: Annotated[
            list[str], Field(max_length=20, description="Search backends, as archive; by default those that are set")
        ] = [],  # noqa: B006
        max_results: Annotated[int | None, Field(ge=1, le=100, description="So many results a query at most")] = None,
        review_plan: Annotated[
            bool, Field(description="Wait with a plan for research_plan; only where a service is at work")
        ] = False,
        wait_s: Seconds = 60,
    ) -> Annotated[CallToolResult, ResearchOutput]:
        """Answer a question with a report that cites saved pages. It takes minutes: follow_research waits for it."""
        with raise_tool_errors():
            config = SearchConfig(engines=engines, max_results=max_results)
            options = ResearchOptions(review_plan=review_plan)
            task_id = await runner.start_research(query, config, options, by=get_actor(context))
            return await _answer_research(context, app, task_id, wait_s, _MAX_REPORT_CHARS)

    @tools.add(START)
    async def ask_research(
        task_id: TaskId, question: Question, context: Context[Any, Any], wait_s: Seconds = 60
    ) -> Annotated[CallToolResult, ResearchOutput]:
        """Ask a follow-up question about a finished report; the answer is a research with a task_id of its own."""
        with raise_tool_errors():
            follow_up = await runner.start_follow_up(task_id, question, by=get_actor(context))
            return await _answer_research(context, app, follow_up, wait_s, _MAX_REPORT_CHARS)


def _add_reading_tools(tools: Toolset, app: App) -> None:
    @tools.add(READ)
    async def follow_research(
        task_id: TaskId, context: Context[Any, Any], wait_s: Seconds = 60, max_chars: MaxChars = 30_000
    ) -> Annotated[CallToolResult, ResearchOutput]:
        """Wait for a research, with its progress, until it has ended or wants its plan looked at."""
        with raise_tool_errors():
            return await _answer_research(context, app, task_id, wait_s, max_chars)

    @tools.add(READ)
    async def read_research(
        task_id: TaskId, context: Context[Any, Any], max_chars: MaxChars = 30_000
    ) -> Annotated[CallToolResult, ResearchOutput]:
        """Read a research: how far it is, or its report with its sources and the quotes that it rests on."""
        with raise_tool_errors():
            return await _answer_research(context, app, task_id, 0, max_chars)

    @tools.add(READ)
    async def list_research(
        context: Context[Any, Any],
        text: Annotated[str, Field(max_length=200, description="Stands in the question")] = "",
        limit: Annotated[int, Field(ge=1, le=50, description="So many at most")] = 20,
        cursor: Cursor = "",
    ) -> Annotated[CallToolResult, ResearchListOutput]:
        """List the researches that you may read, newest first."""
        with raise_tool_errors():
            after = decode_cursor(cursor, dt.datetime, str)
            rows = await app.research.list(by=get_actor(context), limit=limit + 1, after=after, text=text)
            page, following = cut_page(rows, limit, lambda row: (row.created_at, row.task_id))
            shown = [ResearchRowOutput.model_validate(row, from_attributes=True) for row in page]
            found = ResearchListOutput(researches=shown, next_cursor=following)
            return build_tool_result(found, _render_list(found))

    @tools.add(READ)
    async def list_editions(
        task_id: TaskId,
        context: Context[Any, Any],
        limit: Annotated[int, Field(ge=1, le=50, description="So many at most")] = 20,
        cursor: Cursor = "",
    ) -> Annotated[CallToolResult, EditionListOutput]:
        """List the editions of a research on a schedule, newest first, and what this one says that is new."""
        with raise_tool_errors():
            actor = get_actor(context)
            page = (await app.research.list_editions(task_id, by=actor)).build_page(limit, cursor)
            await app.audit.record_read(actor, AuditAction.RESEARCH_READ, task_id)
            found = _build_editions(page)
            return build_tool_result(found, _render_editions(found))


def _add_steering_tools(tools: Toolset, app: App) -> None:
    @tools.add(START)
    async def research_plan(
        task_id: TaskId,
        context: Context[Any, Any],
        title: Annotated[str, Field(max_length=200, description="The report's title; empty: as it was planned")] = "",
        paragraphs: Annotated[
            list[ParagraphInput] | None,
            Field(min_length=1, max_length=20, description="The plan to go on by; without it, the plan is only shown"),
        ] = None,
    ) -> Annotated[CallToolResult, PlanOutput]:
        """Show the plan of a research or, with paragraphs, let one that waits for its plan go on by these."""
        actor = get_actor(context)
        with raise_tool_errors():
            if paragraphs is not None:
                wanted = [PlanParagraph(title=row.title, content=row.content) for row in paragraphs]
                await app.research.approve(task_id, title, wanted, by=actor)
            view = await app.research.get(task_id, by=actor)
            if view.plan is None:
                raise ToolError(f"Research {task_id} has no plan yet; it is {view.status}.")
            shown = [ParagraphOutput(title=row.title, content=row.content) for row in view.plan.metadata.paragraphs]
            plan = PlanOutput(
                task_id=task_id, status=view.status, title=view.plan.metadata.report_title, paragraphs=shown
            )
            return build_tool_result(plan, _render_plan(plan))

    @tools.add(CANCEL)
    async def cancel_research(task_id: TaskId, context: Context[Any, Any]) -> Annotated[CallToolResult, ResearchOutput]:
        """Stop a research: one that waits at once, one under way soon. What it found by then stays."""
        with raise_tool_errors():
            await app.research.cancel(task_id, by=get_actor(context))
            return await _answer_research(context, app, task_id, 0, 0)


async def _answer_research(
    context: Context[Any, Any], app: App, task_id: str, wait_s: float, max_chars: int
) -> CallToolResult:
    actor = get_actor(context)

    async def load_status() -> ResearchStatus:
        return (await app.research.load_readable(task_id, by=actor)).status

    await load_status()
    await follow_work(context, task_id, wait_s, events=app.store.research_events, load_status=load_status)
    await app.audit.record_read(actor, AuditAction.RESEARCH_READ, task_id)
    found = build_research_output(await app.research.get(task_id, by=actor), max_chars=max_chars)
    return build_tool_result(found, render_research(found))


def _render_list(found: ResearchListOutput) -> Iterator[str]:
    yield UNTRUSTED_NOTICE if found.researches else "Nothing was found."
    for row in found.researches:
        yield f"- {row.task_id}, {row.created_at:%Y-%m-%d}, {row.status}"
        yield f"> {row.query}"
    yield from render_cursor(found.next_cursor)


def _build_editions(page: EditionPageView) -> EditionListOutput:
    news = page.news
    return EditionListOutput(
        first=page.first,
        schedule=page.schedule,
        next_at=page.next_at,
        editions=[EditionOutput.model_validate(edition, from_attributes=True) for edition in page.editions],
        new_statements=[statement.text for statement in news.statements] if news else [],
        new_sources=[source.url for source in news.sources] if news else [],
        next_cursor=page.next,
    )


def _render_editions(found: EditionListOutput) -> Iterator[str]:
    yield f"The schedule of research {found.first}: {found.schedule or 'off'}; next {found.next_at or 'none'}."
    yield from (f"- {row.task_id}, {row.created_at:%Y-%m-%d}, {row.status}" for row in found.editions)
    if found.new_statements or found.new_sources:
        yield f"New against the edition before. {UNTRUSTED_NOTICE}"
        yield from (f"> {line}" for line in [*found.new_statements, *found.new_sources])
    yield from render_cursor(found.next_cursor)


def _render_plan(plan: PlanOutput) -> Iterator[str]:
    yield f"The plan of research {plan.task_id}, which is {plan.status}. {UNTRUSTED_NOTICE}"
    yield f"> {plan.title}"
    yield from (f"> {number}. {row.title}: {row.content}" for number, row in enumerate(plan.paragraphs, start=1))
