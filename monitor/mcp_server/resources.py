"""Items, reports and briefings as resources: what a client attaches to a conversation without calling a tool."""

from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST, Resource

from monitor.bootstrap import App
from monitor.errors import MonitorError
from monitor.exports.document import normalize_line
from monitor.i18n.catalogue import render
from monitor.mcp_server.answers import (
    UNTRUSTED_NOTICE,
    build_item_detail,
    build_research_output,
    render_item,
    render_research,
)
from monitor.mcp_server.toolset import READ, get_actor, get_request_actor
from monitor.services.audit import Actor, AuditAction
from monitor.services.items import ItemQuery

_MAX_LISTED = 20
_MAX_TEXT_CHARS = 100_000
_MEDIA_TYPE = "text/markdown"


def add_resources(server: MCPServer[Any], app: App) -> None:
    @server.resource("monitor://items/{item_id}", mime_type=_MEDIA_TYPE)
    async def item(item_id: int, context: Context[Any, Any]) -> str:
        """An item with its evidence, its revisions and its text."""
        try:
            whole, proof = await app.archive.get_item(item_id), await app.proofs.get_proof(item_id)
        except MonitorError as error:
            raise ResourceNotFoundError(str(error)) from error
        await app.audit.record_read(get_actor(context), AuditAction.EVIDENCE_READ, str(item_id))
        return "\n".join(render_item(build_item_detail(whole, proof, max_chars=_MAX_TEXT_CHARS)))

    @server.resource("monitor://research/{task_id}", mime_type=_MEDIA_TYPE)
    async def report(task_id: str, context: Context[Any, Any]) -> str:
        """The report of a research with its sources and the quotes that it rests on."""
        try:
            view = await app.research.get(task_id, by=get_actor(context))
        except MonitorError as error:
            raise ResourceNotFoundError(str(error)) from error
        await app.audit.record_read(get_actor(context), AuditAction.RESEARCH_READ, task_id)
        return "\n".join(render_research(build_research_output(view, max_chars=_MAX_TEXT_CHARS)))

    @server.resource("monitor://briefings/{briefing_id}", mime_type=_MEDIA_TYPE)
    async def briefing(briefing_id: int, context: Context[Any, Any]) -> str:
        """A saved briefing as it stands after its edits."""
        try:
            draft = await app.drafts.get(briefing_id)
        except MonitorError as error:
            raise ResourceNotFoundError(str(error)) from error
        await app.audit.record(get_actor(context), AuditAction.BRIEFING_EXPORT, str(briefing_id), format="md")
        markdown = (await app.exports.export_briefing(draft.briefing, "md")).decode()
        return "\n".join([UNTRUSTED_NOTICE, *(f"> {line}" for line in markdown.splitlines())])


class ResourceList:
    """Answers `resources/list` with what is newest for who asks, and refuses who may not read."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def list_newest(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.method.startswith(("resources/", "prompts/")):
            refusal = READ.find_refusal(get_request_actor(ctx))
            if refusal is not None:
                raise MCPError(code=INVALID_REQUEST, message=render(refusal, "en"))
        answer = await call_next(ctx)
        if ctx.method == "resources/list" and isinstance(answer, dict):
            newest = await self._load(get_request_actor(ctx))
            return {**answer, "resources": [entry.model_dump(by_alias=True, exclude_none=True) for entry in newest]}
        return answer

    async def _load(self, actor: Actor) -> list[Resource]:
        app = self._app
        items = await app.archive.list_items(ItemQuery(), _MAX_LISTED)
        reports = await app.research.list(by=actor, limit=_MAX_LISTED)
        briefings = await app.drafts.list(limit=_MAX_LISTED)
        return [
            *(_describe("items", item.id, item.title) for item in items),
            *(_describe("research", row.task_id, row.query) for row in reports if row.score is not None),
            *(_describe("briefings", row.id, row.title) for row in briefings),
        ]


def _describe(kind: str, number: int | str | None, title: str) -> Resource:
    return Resource(
        uri=f"monitor://{kind}/{number}", name=f"{kind}/{number}", title=normalize_line(title), mime_type=_MEDIA_TYPE
    )
