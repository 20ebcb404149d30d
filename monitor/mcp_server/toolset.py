"""How tools are offered: strict arguments, who may use which, cursors, and progress while something is waited for."""

import asyncio
import difflib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, Any, Protocol, TypeVar

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from monitor.db.tables.research import ResearchEvent, RunEvent
from monitor.db.visibility import see_as
from monitor.errors import Forbidden
from monitor.exports.document import normalize_line
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.i18n.model import describe_validation_error
from monitor.services.audit import Actor
from monitor.services.cursors import MAX_CURSOR_CHARS, decode_id, encode_cursor
from monitor.services.teams import MAX_TEAM_NAME_CHARS
from monitor.services.tokens import DailyLimitReached, TokenScope
from monitor.vocabulary import Role

POLL_INTERVAL_S = 0.3
MAX_WAIT_S = 600
_ACTOR_KEY = "monitor.actor"  # of the scope of an HTTP request

Cursor = Annotated[
    str, Field(max_length=MAX_CURSOR_CHARS, description="`next_cursor` of the answer before; empty: from the start")
]
Seconds = Annotated[
    int, Field(ge=0, le=MAX_WAIT_S, description="Answer after so many seconds at the latest; what was begun goes on")
]

TeamName = Annotated[
    str, Field(max_length=MAX_TEAM_NAME_CHARS, description="Of your teams the one that it is for; empty: for all")
]

ToolFunction = TypeVar("ToolFunction", bound=Callable[..., Any])


@dataclass(frozen=True)
class Access:
    """The least role that a tool asks for, the scopes that a token needs, and what the tool tells of itself.

    `may_cost` says that a call may cost money, and counts against the daily limit of a token.
    """

    role: Role
    scopes: frozenset[TokenScope]
    annotations: ToolAnnotations
    may_cost: bool = False

    def find_refusal(self, actor: Actor) -> Message | None:
        if not actor.has_role(self.role):
            return Forbidden("actor.not_allowed", needed=self.role, role=actor.role).message
        missing = sorted(self.scopes - actor.scopes) if actor.scopes is not None else []
        return Message.of("token.scope_missing", name=actor.name, scope=missing[0]) if missing else None


_READ, _WRITE, _RUN = (frozenset({scope}) for scope in (TokenScope.READ, TokenScope.WRITE, TokenScope.RUN))
READ = Access(Role.READER, _READ, ToolAnnotations(read_only_hint=True, open_world_hint=False))
COMPOSE = replace(READ, may_cost=True)
READ_WEB = Access(Role.READER, _READ, ToolAnnotations(read_only_hint=True, open_world_hint=True), may_cost=True)
EXAMINE_SITE = Access(Role.EDITOR, _WRITE | _RUN, READ_WEB.annotations, may_cost=True)
CHANGE = Access(Role.EDITOR, _WRITE, ToolAnnotations(read_only_hint=False, destructive_hint=False))
START = replace(CHANGE, scopes=_WRITE | _RUN, may_cost=True)
CANCEL = Access(Role.EDITOR, _WRITE | _RUN, ToolAnnotations(read_only_hint=False, destructive_hint=True))


class StrictTool(Tool):
    """A tool that refuses arguments which it does not have, and says in one sentence what is wrong with one."""

    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:
        try:
            self.fn_metadata.validate_arguments(arguments)
            return await super().run(arguments, context, convert_result)
        except ValidationError as error:
            # A name that is not known may be the reason why another is missing.
            wrong = min(error.errors(), key=lambda entry: entry["type"] != "extra_forbidden")
            raise ToolError(describe_wrong_argument(self.name, wrong, self.parameters)) from error
        except UnexpectedToolError:
            raise
        except ToolError as error:  # the SDK put a prefix before our sentence
            raise error.__cause__ if isinstance(error.__cause__, ToolError) else error from None


def describe_wrong_argument(tool: str, error: ErrorDetails, schema: Mapping[str, Any]) -> str:
    """Return one sentence; for an argument that is not there it names the nearest one and all that are."""
    place = ".".join(map(str, error["loc"]))
    if error["type"] == "extra_forbidden" and len(error["loc"]) == 1:
        return describe_unknown_argument(tool, place, list(schema.get("properties", {})))
    return f"{tool}, argument '{place}': {render(describe_validation_error(error), 'en')}."


def describe_unknown_argument(owner: str, name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else "."
    return f"{owner} has no argument '{normalize_line(name)[:100]}'{hint} It takes {', '.join(known) or 'none'}."


class Toolset:
    """The tools of the server, and who may use each of them."""

    def __init__(self, count_spending: Callable[[Actor], Awaitable[None]]) -> None:
        self.tools: list[Tool] = []
        self._count_spending = count_spending
        self._access: dict[str, Access] = {}

    def add(self, access: Access) -> Callable[[ToolFunction], ToolFunction]:
        def register(function: ToolFunction) -> ToolFunction:
            tool = StrictTool.from_function(function, annotations=access.annotations, meta={"role": str(access.role)})
            loose = tool.fn_metadata.arg_model
            strict: Any = type(loose.__name__, (loose,), {"model_config": ConfigDict(extra="forbid")})
            tool.fn_metadata.arg_model = strict
            tool.parameters = strict.model_json_schema(by_alias=True)
            self.tools.append(tool)
            self._access[tool.name] = access
            return function

        return register

    async def check_access(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Leave tools out of the list that the actor may not use, and refuse to call one of them."""
        if ctx.method == "tools/call":
            access = self._access.get(str((ctx.params or {}).get("name")))
            refusal = await self._find_refusal(access, get_request_actor(ctx)) if access is not None else None
            if refusal is not None:
                content = TextContent(type="text", text=render(refusal, "en"))
                return CallToolResult(content=[content], is_error=True)
        answer = await call_next(ctx)
        if ctx.method == "tools/list" and isinstance(answer, dict):
            actor = get_request_actor(ctx)
            allowed = [tool for tool in answer["tools"] if self._access[tool["name"]].find_refusal(actor) is None]
            return {**answer, "tools": allowed}
        return answer

    async def _find_refusal(self, access: Access, actor: Actor) -> Message | None:
        refusal = access.find_refusal(actor)
        if refusal is None and access.may_cost:
            try:
                await self._count_spending(actor)
            except DailyLimitReached as reached:
                return reached.message
        return refusal


async def bind_teams(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Answer with what the teams of whoever asks may see."""
    with see_as(get_request_actor(ctx).teams):
        return await call_next(ctx)


def put_actor(scope: Mapping[str, Any], actor: Actor) -> dict[str, Any]:
    """Return the scope of an HTTP request that `get_actor` finds the actor of."""
    return {**scope, _ACTOR_KEY: actor}


def get_request_actor(context: ServerRequestContext[Any, Any]) -> Actor:
    """Return who asks: by the token of this very request, over stdin whoever started the program."""
    actor: Actor = context.lifespan_context if context.request is None else context.request.scope[_ACTOR_KEY]
    return actor


def get_actor(context: Context[Any, Any]) -> Actor:
    return get_request_actor(context.request_context)


def cut_ranked(rows: Sequence[Any], cursor: str, limit: int) -> tuple[list[Any], str | None]:
    """Return a part of a list whose order is its only key, and the cursor of the next one."""
    start = max(decode_id(cursor) or 0, 0)
    return list(rows[start : start + limit]), encode_cursor(start + limit) if len(rows) > start + limit else None


class _Ending(Protocol):
    @property
    def is_final(self) -> bool: ...


class EventReader(Protocol):
    async def after(self, work_id: str, number: int, /) -> Sequence[RunEvent | ResearchEvent]: ...


async def follow_work(
    context: Context[Any, Any],
    work_id: str,
    timeout_s: float,
    *,
    events: EventReader,
    load_status: Callable[[], Awaitable[_Ending]],
) -> None:
    """Return when a run or research has ended or waits for a person, or after so many seconds; report its progress."""
    seen, progress = 0, 0.0
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            while True:
                status = await load_status()
                for event in await events.after(work_id, seen):
                    seen = event.id or seen
                    share = event.data.get("progress") if isinstance(event, ResearchEvent) else None
                    progress = progress + 1 if share is None else max(float(share), progress)
                    await context.report_progress(progress, None if share is None else 1.0, _describe_event(event))
                if status.is_final or str(status) == "awaiting_plan":
                    return
                await asyncio.sleep(POLL_INTERVAL_S)  # it may go on in another process


def _describe_event(event: RunEvent | ResearchEvent) -> str:
    if isinstance(event, ResearchEvent):
        return f"{event.data.get('stepType', '')} {event.data.get('status', '')}".strip()
    return " ".join(str(event.data[name]) for name in ("phase", "place") if event.data.get(name))
