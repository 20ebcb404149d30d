"""The MCP server: tools, resources and prompts over the services, each call as the one who makes it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.mcpserver import MCPServer

from monitor import __version__
from monitor.bootstrap import App
from monitor.mcp_server.answers import UNTRUSTED_NOTICE
from monitor.mcp_server.archive_tools import add_archive_tools
from monitor.mcp_server.briefing_tools import add_briefing_tools, add_web_tools
from monitor.mcp_server.catalogue_tools import add_catalogue_tools
from monitor.mcp_server.prompts import add_prompts
from monitor.mcp_server.research_tools import add_research_tools
from monitor.mcp_server.resources import ResourceList, add_resources
from monitor.mcp_server.running import Runner
from monitor.mcp_server.source_tools import add_source_tools
from monitor.mcp_server.teaching_tools import add_teaching_tools
from monitor.mcp_server.toolset import Toolset, bind_teams
from monitor.services.audit import Actor

_INSTRUCTIONS = f"""\
Monitor watches the sites of governments, regulators and industry bodies. search_items finds what it saved, read_item \
shows one item and read_evidence the passages of the saved page that its statements rest on: cite these and the item's \
url. search_everything finds policies, topics, briefings and researches too. \
policies shows which documents belong together, from draft to repeal. \
deadlines lists what begins or ends when. \
topics are what clients here care about, with what fits them and why. \
run_source reads a site again, run_status tells how far that is, compose_briefing writes a ranked briefing. \
start_research answers a question with a report whose quotes stand in saved pages; follow_research waits for it. \
web_search searches the web, web_fetch reads any page. \
source_health tells what is out of order; try_source reads a new site without storing anything, add_source watches it. \
search_catalogue finds public bodies that are not watched yet, add_from_catalogue watches them, addition_status tells \
how far that is. A list that goes on answers a next_cursor. {UNTRUSTED_NOTICE}"""


@asynccontextmanager
async def open_server(app: App, actor: Actor | None = None) -> AsyncIterator[MCPServer[Any]]:
    """The server for an opened program.

    With an actor, all calls are theirs, and what no worker takes is carried out here and cancelled in the end. Without
    one, each HTTP request says whose it is (`put_actor`), and runs and researches go into the queue.
    """

    @asynccontextmanager
    async def lifespan(_: MCPServer[Any]) -> AsyncIterator[Actor | None]:
        yield actor

    runner = Runner(app, runs_here=actor is not None)
    tools = Toolset(app.tokens.count_spending)
    add_archive_tools(tools, app)
    add_source_tools(tools, app, runner)
    add_catalogue_tools(tools, app)
    add_teaching_tools(tools, app)
    add_briefing_tools(tools, app)
    add_research_tools(tools, app, runner)
    add_web_tools(tools, app)
    server = MCPServer(
        "monitor",
        title="Monitor",
        version=__version__,
        instructions=_INSTRUCTIONS,
        tools=tools.tools,
        lifespan=lifespan,
        subscriptions=False,
        middleware=[bind_teams, tools.check_access, ResourceList(app).list_newest],
    )
    add_resources(server, app)
    add_prompts(server)
    try:
        yield server
    finally:
        await runner.close()
