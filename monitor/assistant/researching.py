"""The tools for research: a question is asked, and read again when its report is done."""

from collections.abc import Iterable
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import BaseModel, Field

from monitor.app.audit import BY_COMMAND
from monitor.app.research_view import ResearchView
from monitor.assistant.answers import NOTICE, answer, told
from monitor.assistant.running import Running
from monitor.bootstrap import App
from monitor.domain.research import ResearchStatus
from monitor.formats.document import one_line

_MOST_TEXT = 100_000


class CitedSource(BaseModel):
    """A source that the report cites as [number], and the words of its saved page that bear the report."""

    number: int
    title: str
    url: str
    quotes: list[str]


class ResearchTold(BaseModel):
    """A research as it stands. `report` is Markdown, empty before it is written; `is_cut` where there is more of it.

    `quote_fidelity` and `figure_fidelity` are the shares of quotes and of figures that stand where they are said to be.
    """

    task_id: str
    query: str
    status: ResearchStatus
    progress: float
    error: str | None
    warnings: list[str]
    report: str
    is_cut: bool
    sources: list[CitedSource]
    quote_fidelity: float | None
    figure_fidelity: float | None
    refused: dict[str, int]


def add_research(server: MCPServer, app: App, running: Running) -> None:
    """Put the tools on the server."""

    @server.tool(annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False))
    async def start_research(
        query: Annotated[str, Field(min_length=1, max_length=2000, description="A question, in Chinese or English")],
        wait_s: Annotated[int, Field(ge=0, le=600, description="Answer after so many seconds at the latest")] = 60,
    ) -> Annotated[CallToolResult, ResearchTold]:
        """Answer a question with a report that cites saved pages. It takes minutes: ask read_research for it then."""
        with told():
            task_id = await running.ask(query)
            await app.audit.record(BY_COMMAND, "research.start", task_id, query=query)
            await running.wait_for_research(task_id, at_most_s=wait_s)
            found = research_told(await app.research.get(task_id), max_chars=_MOST_TEXT)
            return answer(found, research_lines(found))

    @server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
    async def read_research(
        task_id: Annotated[str, Field(max_length=64)],
        max_chars: Annotated[int, Field(ge=0, le=_MOST_TEXT, description="So much of the report")] = 30_000,
    ) -> Annotated[CallToolResult, ResearchTold]:
        """Read a research: how far it is, or its report with its sources and the quotes that it rests on."""
        with told():
            found = research_told(await app.research.get(task_id), max_chars=max_chars)
            return answer(found, research_lines(found))


def research_told(view: ResearchView, *, max_chars: int) -> ResearchTold:
    """A research as it is answered."""
    report, score = view.report, view.score
    text = "\n".join(map(one_line, report.markdown.splitlines())) if report else ""
    sources = [
        CitedSource(
            number=number,
            title=one_line(source.title),
            url=one_line(source.url),
            quotes=[one_line(proof.quote) for proof in view.notes[source.note_index].evidence],
        )
        for number, source in enumerate(report.sources if report else (), start=1)
    ]
    return ResearchTold(
        task_id=view.task_id,
        query=one_line(view.query),
        status=view.status,
        progress=view.progress,
        error=view.error and one_line(view.error),
        warnings=list(map(one_line, view.warnings)),
        report=text[:max_chars],
        is_cut=len(text) > max_chars,
        sources=sources,
        quote_fidelity=score and score.quote_fidelity,
        figure_fidelity=score and score.figure_fidelity,
        refused=score.refused if score else {},
    )


def research_lines(found: ResearchTold) -> Iterable[str]:
    """A research: how it stands, its report, its sources with the quotes."""
    again = "" if found.status.is_final else f", {found.progress:.0%} done; ask read_research again later."
    yield f"Research {found.task_id}: {found.status}{again}"
    yield NOTICE
    yield f"> {found.query}"
    yield from (f"> {line}" for line in [*([found.error] if found.error else []), *found.warnings])
    if found.report:
        yield "The report" + (", cut:" if found.is_cut else ":")
        yield from (f"> {line}" for line in found.report.splitlines())
    for source in found.sources:
        yield f"[{source.number}] {source.url}"
        yield f"> {source.title}"
        yield from (f"> “{quote}”" for quote in source.quotes)
