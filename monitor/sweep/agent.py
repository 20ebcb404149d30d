"""The tool-calling agent: a model, a page loader behind tools, and a loop that keeps the context small."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import BaseModel, Field

from monitor.domain.chat import Completion, Tool, ToolCall
from monitor.domain.prompts import OURS, Prompts
from monitor.domain.reading import PhaseUsage
from monitor.domain.tables import Item, Source
from monitor.domain.words import Phase
from monitor.errors import RunCancelled
from monitor.llm.answers import tool_arguments
from monitor.ports import ChatModel, Progress, ProgressCallback
from monitor.settings import SweepSettings
from monitor.sweep.context import Context
from monitor.sweep.prompts import general_messages
from monitor.sweep.tools import ALL_TOOLS, Toolbox

Ended = Literal["finish", "done", "max_turns", "no_tool_call"]

_NUDGE = "请通过工具继续；若已完成，请调用 finish。/ Go on through the tools, or call finish."
_ONE_AT_A_TIME = '{"error": "one page at a time: save what is needed from the page above, then open the next"}'


class AgentResult(BaseModel):
    """What an agent did. `finished` is False where it was cut short; `reason` says why it ended."""

    items: list[Item] = Field(default_factory=list)
    turns: int = 0
    finished: bool = False
    reason: str = ""
    usage: PhaseUsage = Field(default_factory=PhaseUsage)


class Agent:
    """Holds the model and, in its toolbox, the page loader, for one section or, without a prompt, for a whole site."""

    def __init__(
        self, *, model: ChatModel, toolbox: Toolbox, limits: SweepSettings, place: str, prompts: Prompts = OURS
    ) -> None:
        self._model = model
        self._toolbox = toolbox
        self._limits = limits
        self._place = place
        self._prompts = prompts

    async def run_agent(
        self,
        source: Source,
        existing_urls: Iterable[str] | None = None,
        on_progress: ProgressCallback | None = None,
        cancel_event: asyncio.Event | None = None,
        *,
        system_prompt: str | None = None,
        user_message: str | None = None,
        tools: Sequence[Tool] | None = None,
        max_turns: int | None = None,
        enable_pruning: bool = False,
    ) -> AgentResult:
        """Let the model work with the tools until it finishes, nothing is left to do, or its turns are used up.

        Without prompts and tools it is the general agent for the whole site, with all six tools. `ModelFailed` goes
        up to the caller, who holds what was saved so far; `RunCancelled` between two turns.
        """
        system, user = system_prompt, user_message
        if system is None or user is None:
            general_system, general_user = self._general_prompt(source, existing_urls or ())
            system, user = system or general_system, user or general_user
        limits = self._limits
        context = Context(
            system,
            user,
            max_chars=limits.context_max_chars,
            page_max_chars=limits.page_max_chars,
            is_pruned=enable_pruning,
        )
        result = AgentResult()
        turns = max_turns or (limits.general_max_turns if tools is None else limits.max_turns)
        ended: Ended = "max_turns"
        while result.turns < turns and ended == "max_turns":
            if cancel_event is not None and cancel_event.is_set():
                raise RunCancelled(f"The run was cancelled while reading {self._place}.")
            result.turns += 1
            if on_progress is not None:
                on_progress(Progress(phase=Phase.CRAWL, place=self._place, done=len(self._toolbox.desk.items)))
            completion = await self._complete(context, tools if tools is not None else ALL_TOOLS, result)
            ended = await self._take_turn(context, completion, is_pruned=enable_pruning)
        result.items = list(self._toolbox.desk.items)
        result.finished = ended in ("finish", "done")
        result.reason = self._toolbox.reason or ended
        return result

    async def _complete(self, context: Context, tools: Sequence[Tool], result: AgentResult) -> Completion:
        messages = context.for_call()
        completion = await self._model.complete(messages, phase=Phase.CRAWL, place=self._place, tools=tools)
        usage = result.usage
        usage.calls += 1
        usage.prompt_tokens += completion.prompt_tokens
        usage.completion_tokens += completion.completion_tokens
        usage.largest_context_chars = context.largest_chars
        return completion

    async def _take_turn(self, context: Context, completion: Completion, *, is_pruned: bool) -> Ended:
        context.add_completion(completion)
        if not completion.tool_calls:
            if context.messages[-2].content == _NUDGE:
                return "no_tool_call"
            context.nudge(_NUDGE)
            return "max_turns"
        has_opened = False
        for call in completion.tool_calls:
            is_page = call.name == "browse_page"
            if is_page and has_opened and is_pruned:
                context.add_answer(call, _ONE_AT_A_TIME, is_page=False)
                continue
            has_opened = has_opened or is_page
            await self._use_tool(context, call, is_page=is_page)
        if self._toolbox.finished:
            return "finish"
        return "done" if is_pruned and self._toolbox.is_done else "max_turns"

    async def _use_tool(self, context: Context, call: ToolCall, *, is_page: bool) -> None:
        room = context.room_for_page() if is_page or call.name == "read_document" else self._limits.page_max_chars
        answer = await self._toolbox.call(call.name, tool_arguments(call.arguments), room_chars=room)
        context.add_answer(call, answer, is_page=is_page)
        if self._toolbox.last_saved_urls:
            context.mark_processed(self._toolbox.last_saved_urls)

    def _general_prompt(self, source: Source, existing_urls: Iterable[str]) -> tuple[str, str]:
        ledger = self._toolbox.desk.ledger
        return general_messages(
            name=source.name,
            url=source.url,
            focus=source.focus_areas,
            since=ledger.window.since,
            until=ledger.window.until,
            max_items=ledger.max_items,
            rules=source.rules,
            known=existing_urls,
            language=source.summary_language,
            prompts=self._prompts,
        )
