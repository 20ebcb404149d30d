"""The MCP server: its tools call the services as the assistant, and run in this process what no worker takes."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import Field

from monitor import __version__
from monitor.bootstrap import App
from monitor.config.model import BACKENDS
from monitor.db.queries.policies import PolicyFilter
from monitor.db.tables.collection import Run, Source
from monitor.db.tables.research import Research, ResearchEvent
from monitor.errors import UsageError
from monitor.exports.document import normalize_line
from monitor.mcp_server.answers import (
    UNTRUSTED_NOTICE,
    BriefingOutput,
    DiscoveryOutput,
    ItemDetailOutput,
    ItemListOutput,
    ResearchOutput,
    RunOutput,
    SourceListOutput,
    SourceOutput,
    build_discovery_output,
    build_item_detail,
    build_item_output,
    build_research_output,
    build_run_output,
    build_tool_result,
    raise_tool_errors,
    render_discovery,
    render_item,
    render_item_list,
    render_page,
    render_research,
    render_run,
    render_search,
    render_sources,
)
from monitor.mcp_server.catalogue_tools import add_catalogue_tools
from monitor.mcp_server.policy_answers import (
    DeadlineListOutput,
    DeadlineOutput,
    PolicyListOutput,
    PolicyOutput,
    TopicListOutput,
    build_policy_output,
    build_topic_output,
    render_deadlines,
    render_policies,
    render_topics,
)
from monitor.mcp_server.teaching_tools import add_teaching_tools
from monitor.research.shapes import ResearchOptions, SearchConfig
from monitor.search.contract import MAX_QUERY_CHARS, MAX_RESULTS, Recency, ToolResult
from monitor.search.tools import FetchToolResult
from monitor.services.audit import ASSISTANT
from monitor.services.briefings import BriefingQuery
from monitor.services.deadlines import DeadlineQuery
from monitor.services.items import ItemQuery
from monitor.services.sources.service import SourceFilter
from monitor.vocabulary import DeadlineKind, ItemType, PolicyStage

_MAX_ENTRIES = 50
_MAX_TEXT_CHARS = 100_000
_POLL_INTERVAL_S = 0.3
_READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)

_INSTRUCTIONS = f"""\
Monitor watches the sites of governments, regulators and industry bodies. search_items finds what it saved, read_item \
shows one item with the passages of the saved page that its statements rest on: cite these and the item's url. \
policies shows which documents belong together, from draft to repeal. \
deadlines lists what begins or ends when. \
topics are what clients here care about, with what fits them and why. \
run_source reads a site again, run_status tells how far that is, compose_briefing writes a ranked briefing. \
start_research answers a question with a report whose quotes stand in saved pages; read_research reads it. \
web_fetch reads any page. \
search_catalogue finds public bodies that are not watched yet, add_from_catalogue watches them, addition_status tells \
how far that is. {UNTRUSTED_NOTICE}"""

Names = Annotated[list[str], Field(max_length=_MAX_ENTRIES)]
Day = Annotated[dt.date | None, Field(description="As 2026-02-03")]


class InProcessRunner:
    """Starts runs and researches; without a worker, carries them out in this process, each in a task of its own."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._tasks: set[asyncio.Task[Any]] = set()

    async def start_run(self, source: Source) -> str:
        """Run the source; gives the id of the run, or of the one that waits or is under way already."""
        if await self._app.sweeps.has_worker():
            return await self._app.sweeps.enqueue(source, by=ASSISTANT)
        if (open_run := await self._find_open_run(source)) is not None:
            return open_run
        task = asyncio.create_task(self._app.sweeps.sweep(source, by=ASSISTANT))
        self._track(task)
        while not task.done():
            if (started := await self._find_open_run(source)) is not None:
                return started
            await asyncio.wait([task], timeout=_POLL_INTERVAL_S)
        return (await task).run_id

    async def start_research(self, query: str) -> str:
        service, config, options = self._app.research, SearchConfig(), ResearchOptions()
        if await service.has_worker():
            return await service.enqueue(query, config=config, options=options, by=ASSISTANT)
        started = asyncio.get_running_loop().create_future()

        def on_event(event: ResearchEvent) -> None:
            if not started.done():
                started.set_result(event.task_id)

        task = asyncio.create_task(
            service.run_in_process(query, config=config, options=options, by=ASSISTANT, on_event=on_event)
        )
        self._track(task)
        await asyncio.wait([task, started], return_when=asyncio.FIRST_COMPLETED)
        return str(started.result()) if started.done() else await task

    async def close(self) -> None:
        """Cancel what is under way here, and wait until that is on record."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _track(self, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _find_open_run(self, source: Source) -> str | None:
        open_runs = await self._app.store.runs.list_open()
        return next((run.id for run in open_runs if run.source_id == source.id), None)


async def _wait_for_end(load: Callable[[], Awaitable[Run | Research]], timeout_s: float) -> None:
    """Return when it has ended, or after so many seconds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            while not (await load()).status.is_final:  # noqa: ASYNC110 -- it may go on in another process
                await asyncio.sleep(_POLL_INTERVAL_S)


@asynccontextmanager
async def open_server(app: App) -> AsyncIterator[MCPServer]:
    """The server for an opened program; runs and researches that it began here are cancelled when it ends."""
    server = MCPServer("monitor", title="Monitor", version=__version__, instructions=_INSTRUCTIONS)
    running = InProcessRunner(app)
    _add_read_tools(server, app)
    _add_discovery_tools(server, app)
    add_catalogue_tools(server, app)
    _add_policy_tools(server, app)
    _add_deadline_tools(server, app)
    _add_topic_tools(server, app)
    _add_action_tools(server, app, running)
    _add_research_tools(server, app, running)
    _add_web_tools(server, app)
    add_teaching_tools(server, app)
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
        topic: Annotated[str, Field(max_length=100, description="Only what fits this topic, as topics names it")] = "",
        since: Day = None,
        until: Day = None,
        limit: Annotated[int, Field(ge=1, le=_MAX_ENTRIES)] = 10,
    ) -> Annotated[CallToolResult, ItemListOutput]:
        """Search the archive: the best items first; without a query the newest. Dates are of publication."""
        with raise_tool_errors():
            wanted = ItemQuery(
                sources=sources, tags=tags, types=types, topic=topic or None, since=since, until=until, text=query
            )
            if query.strip():
                best = await app.archive.search(wanted, limit)
                items, since = [build_item_output(row) for row in best.items], best.ranked_since
            else:
                items, since = [build_item_output(row) for row in await app.archive.list_items(wanted, limit)], None
            found = ItemListOutput(items=items, ranked_since=since)
            return build_tool_result(found, render_item_list(found))

    @server.tool(annotations=_READ_ONLY)
    async def read_item(
        item_id: Annotated[int, Field(ge=1, le=2**31 - 1)],
        max_chars: Annotated[int, Field(ge=0, le=_MAX_TEXT_CHARS, description="So much of the page's text")] = 6000,
    ) -> Annotated[CallToolResult, ItemDetailOutput]:
        """Read one item: what is known of it, policy and topics, evidence, how its page changed, and its text."""
        with raise_tool_errors():
            item, proof = await app.archive.get_item(item_id), await app.proofs.get_proof(item_id)
            read = build_item_detail(item, proof, max_chars=max_chars)
            return build_tool_result(read, render_item(read))

    @server.tool(annotations=_READ_ONLY)
    async def list_sources(
        text: Annotated[str, Field(description="Stands in the name, the address or a tag")] = "",
        tag: str = "",
        limit: Annotated[int, Field(ge=1, le=200)] = 50,
    ) -> Annotated[CallToolResult, SourceListOutput]:
        """List the sources that are watched, and how each fares."""
        with raise_tool_errors():
            listed = await app.sources.list_page(SourceFilter(text=text, tag=tag), limit=limit)
            rows = [SourceOutput.model_validate(source.model_dump()) for source in listed.sources]
            found = SourceListOutput(sources=rows, total=listed.total)
            return build_tool_result(found, render_sources(found))


def _add_discovery_tools(server: MCPServer, app: App) -> None:
    @server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=True))
    async def discover_source(
        url: Annotated[str, Field(max_length=2000, description="With or without its scheme")] = "",
        name: Annotated[str, Field(max_length=200, description="In place of it: a watched source, logged in")] = "",
    ) -> Annotated[CallToolResult, DiscoveryOutput]:
        """Find out how the site at an address can be read: feed, JSON, sitemap or page, and why; nothing is stored."""
        with raise_tool_errors():
            if name:
                source = await app.sources.get(name)
                discovery = (await app.discovery.rediscover(source.id or 0, by=ASSISTANT)).discovery
            else:
                discovery = await app.discovery.discover(url)
            found = build_discovery_output(discovery)
            return build_tool_result(found, render_discovery(found))


def _add_policy_tools(server: MCPServer, app: App) -> None:
    @server.tool(annotations=_READ_ONLY)
    async def policies(
        policy_id: Annotated[
            int | None, Field(ge=1, le=2**31 - 1, description="One of them, with its documents")
        ] = None,
        text: Annotated[str, Field(max_length=200, description="Stands in the name")] = "",
        stages: list[PolicyStage] = [],  # noqa: B006
        limit: Annotated[int, Field(ge=1, le=_MAX_ENTRIES)] = 10,
    ) -> Annotated[CallToolResult, PolicyListOutput]:
        """List policies, from draft to repeal, or read one: its documents, why each belongs to it, its deadlines."""
        with raise_tool_errors():
            if policy_id is not None:
                found = build_policy_output(await app.policies.get(policy_id))
            else:
                page = await app.policies.list(PolicyFilter(text=text.strip(), stages=stages), limit=limit)
                found = PolicyListOutput(policies=[PolicyOutput(**row.model_dump()) for row in page.policies])
            return build_tool_result(found, render_policies(found))


def _add_deadline_tools(server: MCPServer, app: App) -> None:
    @server.tool(annotations=_READ_ONLY)
    async def deadlines(
        since: Day = None,
        until: Day = None,
        kinds: list[DeadlineKind] = [],  # noqa: B006
        topic: Annotated[str | None, Field(max_length=200, description="The name of a topic")] = None,
        policy: Annotated[int | None, Field(ge=1, le=2**31 - 1, description="The number of a policy")] = None,
        sources: Names = [],  # noqa: B006
        limit: Annotated[int, Field(ge=1, le=200)] = 50,
    ) -> Annotated[CallToolResult, DeadlineListOutput]:
        """List what begins or ends when, the nearest first: by default what is still to come. Moved days show both."""
        with raise_tool_errors():
            wanted = DeadlineQuery(since=since, until=until, kinds=kinds, topic=topic, policy=policy, sources=sources)
            rows = (await app.deadlines.list(wanted))[:limit]
            found = DeadlineListOutput(deadlines=[DeadlineOutput.model_validate(row.model_dump()) for row in rows])
            return build_tool_result(found, render_deadlines(found))


def _add_topic_tools(server: MCPServer, app: App) -> None:
    @server.tool(annotations=_READ_ONLY)
    async def topics(
        name: Annotated[str, Field(max_length=100, description="One topic alone, with what fits it")] = "",
        limit: Annotated[int, Field(ge=1, le=_MAX_ENTRIES, description="So many of its items")] = 20,
    ) -> Annotated[CallToolResult, TopicListOutput]:
        """List the topics that clients care about; or, with a name, the newest items that fit that one, and why."""
        with raise_tool_errors():
            if name.strip():
                topic_id = (await app.topics.find(name.strip())).id or 0
                page = await app.topics.list_items(topic_id, limit=limit)
                shown = [build_topic_output(await app.topics.get(topic_id, by=ASSISTANT), page)]
            else:
                shown = [build_topic_output(topic) for topic in await app.topics.list(by=ASSISTANT)]
            found = TopicListOutput(topics=shown)
            return build_tool_result(found, render_topics(found))


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
            await _wait_for_end(partial(app.runs.get, run_id), wait_s)
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
            briefing = await app.briefings.compose(wanted)
            markdown = (await app.exports.export_briefing(briefing, "md")).decode()
            composed = BriefingOutput(
                title=normalize_line(briefing.title), items=len(briefing.items), markdown=markdown
            )
            return build_tool_result(composed, [UNTRUSTED_NOTICE, *(f"> {line}" for line in markdown.splitlines())])


def _add_research_tools(server: MCPServer, app: App, runner: InProcessRunner) -> None:
    @server.tool(annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False))
    async def start_research(
        query: Annotated[str, Field(min_length=1, max_length=2000, description="A question, in Chinese or English")],
        wait_s: Annotated[int, Field(ge=0, le=600, description="Answer after so many seconds at the latest")] = 60,
    ) -> Annotated[CallToolResult, ResearchOutput]:
        """Answer a question with a report that cites saved pages. It takes minutes: ask read_research for it then."""
        with raise_tool_errors():
            task_id = await runner.start_research(query)
            await _wait_for_end(partial(app.research.load_research, task_id), wait_s)
            found = build_research_output(await app.research.get(task_id, by=ASSISTANT), max_chars=_MAX_TEXT_CHARS)
            return build_tool_result(found, render_research(found))

    @server.tool(annotations=_READ_ONLY)
    async def read_research(
        task_id: Annotated[str, Field(max_length=64)],
        max_chars: Annotated[int, Field(ge=0, le=_MAX_TEXT_CHARS, description="So much of the report")] = 30_000,
    ) -> Annotated[CallToolResult, ResearchOutput]:
        """Read a research: how far it is, or its report with its sources and the quotes that it rests on."""
        with raise_tool_errors():
            found = build_research_output(await app.research.get(task_id, by=ASSISTANT), max_chars=max_chars)
            return build_tool_result(found, render_research(found))


def _add_web_tools(server: MCPServer, app: App) -> None:
    @server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=True))
    async def web_search(
        query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS)],
        max_results: Annotated[int, Field(ge=1, le=MAX_RESULTS)] = MAX_RESULTS,
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

    @server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=True))
    async def web_fetch(
        url: Annotated[str, Field(min_length=1, max_length=8000)],
        max_chars: Annotated[int, Field(ge=0, le=_MAX_TEXT_CHARS, description="So much of the page's text")] = 15_000,
    ) -> Annotated[CallToolResult, FetchToolResult]:
        """Read a web page as text, with its title and its date of publication."""
        with raise_tool_errors():
            page = await app.search.fetch(url)
            page.text = page.text[:max_chars]
            return build_tool_result(page, render_page(page))
