"""The tool-calling agent: a model, a page loader behind tools, and a loop that keeps the context small."""

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

from pydantic import BaseModel, Field

from monitor.db.reading import PhaseUsage
from monitor.db.tables.collection import Item, Source
from monitor.errors import RunCancelled
from monitor.i18n.message import Message
from monitor.llm.answers import parse_tool_arguments
from monitor.llm.chat import ChatMessage, ChatModel, Completion, CompletionRequest, Tool, ToolCall, fit_chars
from monitor.sweep.progress import Progress, ProgressCallback
from monitor.sweep.prompts import build_agent_prompt
from monitor.sweep.tools import ALL_TOOLS, Toolbox
from monitor.vocabulary import Phase

RESERVE_CHARS = 1500
_MAX_OLD_PAGE_CHARS = 1200
_MAX_ARGUMENTS_CHARS = 300
_MAX_COMPLETION_CHARS = 1500
_MIN_PAGE_CHARS = 1000
_MAX_NAVIGATION_LINE_CHARS = 500


@dataclass
class AgentContext:
    system: str
    user: str
    _: KW_ONLY
    max_chars: int
    page_max_chars: int
    is_pruned: bool
    largest_chars: int = field(default=0, init=False)
    _pages: list[int] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.messages = [ChatMessage(role="system", content=self.system), ChatMessage(role="user", content=self.user)]

    @property
    def size_chars(self) -> int:
        """ChatMessage contents, tool arguments and what came with them together."""
        return sum(message.size_chars for message in self.messages)

    def prepare_messages(self) -> Sequence[ChatMessage]:
        """The messages as they go to the model now, within the ceiling where pruning is on."""
        if self.is_pruned:
            self._shrink_to(self.max_chars)
        self.largest_chars = max(self.largest_chars, self.size_chars)
        return list(self.messages)

    def add_completion(self, completion: Completion) -> None:
        text = completion.text if not self.is_pruned else completion.text[:_MAX_COMPLETION_CHARS]
        self.messages.append(
            ChatMessage(role="assistant", content=text, tool_calls=completion.tool_calls, extra=completion.extra)
        )

    def make_room_for_page(self) -> int:
        """Shorten the pages that are still there, and return how long the next one can be."""
        if not self.is_pruned:
            return self.page_max_chars
        for index in self._pages:
            self._shorten(index)
        self._pages.clear()
        self._shorten_arguments()
        room = self.max_chars - RESERVE_CHARS - self.size_chars
        if room < _MIN_PAGE_CHARS:
            self._shrink_to(self.max_chars - RESERVE_CHARS - _MIN_PAGE_CHARS)
            room = self.max_chars - RESERVE_CHARS - self.size_chars
        return min(self.page_max_chars, room)

    def add_tool_result(self, call: ToolCall, result: str, *, is_page: bool) -> None:
        self.messages.append(ChatMessage(role="tool", content=result, tool_call_id=call.id))
        if is_page:
            self._pages.append(len(self.messages) - 1)

    def mark_processed(self, saved_urls: Sequence[str]) -> None:
        """After a save, replace the pages of the saved items by one line each; how to go on from them stays."""
        if not self.is_pruned:
            return
        for index in list(self._pages):
            saved = sum(url in self.messages[index].content for url in saved_urls)
            if saved:
                note = f"[已处理该页面，保存了 {saved} 条，原文已省略 / processed: {saved} items saved]"
                tail = self.messages[index].content.splitlines()[-3:]
                links = [line[:_MAX_NAVIGATION_LINE_CHARS] for line in tail if "offset" in line or "下一页" in line]
                self._replace(index, "\n".join([note, *links]))
                self._pages.remove(index)
        self._shorten_arguments()

    def _shrink_to(self, max_chars: int) -> None:
        """Shorten messages, the oldest first, and at last drop whole turns, until the rest fits."""
        self._shorten_arguments()
        for index in range(2, len(self.messages)):
            if self.size_chars <= max_chars:
                return
            self._shorten(index)
        if self.size_chars > max_chars:
            self._drop_thoughts_of_ended_turns()
        while self.size_chars > max_chars and len(self.messages) > 2:
            self._drop_oldest_turn()

    def _drop_thoughts_of_ended_turns(self) -> None:
        """Drop what came with answers before the last question; servers want it back of those since then."""
        last = max(index for index, message in enumerate(self.messages) if message.role == "user")
        for index, message in enumerate(self.messages[:last]):
            if message.extra:
                self.messages[index] = message.model_copy(update={"extra": {}})

    def _drop_oldest_turn(self) -> None:
        end = 3
        while end < len(self.messages) and self.messages[end].role == "tool":
            end += 1
        del self.messages[2:end]
        self._pages = [index - (end - 2) for index in self._pages if index >= end]

    def _shorten(self, index: int) -> None:
        content = self.messages[index].content
        if len(content) > _MAX_OLD_PAGE_CHARS:
            self._replace(index, content[: _MAX_OLD_PAGE_CHARS - 40] + "\n[以下已省略 / the rest was left out]")

    def _shorten_arguments(self) -> None:
        for index, message in enumerate(self.messages):
            if any(len(call.arguments) > _MAX_ARGUMENTS_CHARS for call in message.tool_calls):
                calls = [
                    # A call that is signed goes back as it was signed.
                    call.model_copy(update={"arguments": _shorten_arguments(call.arguments)})
                    if not call.extra
                    else call
                    for call in message.tool_calls
                ]
                self.messages[index] = message.model_copy(update={"tool_calls": calls})

    def _replace(self, index: int, content: str) -> None:
        self.messages[index] = self.messages[index].model_copy(update={"content": content})


def _shorten_arguments(arguments: str) -> str:
    if len(arguments) <= _MAX_ARGUMENTS_CHARS:
        return arguments
    return json.dumps({"note": f"{len(arguments)} characters of arguments left out"})


StopReason = Literal["finish", "done", "max_turns", "no_tool_call"]
_NUDGE_MESSAGE = "请通过工具继续；若已完成，请调用 finish。/ Go on through the tools, or call finish."
_ONE_PAGE_AT_A_TIME_ERROR = (
    '{"error": "one page at a time: save what is needed from the page above, then open the next"}'
)


class AgentResult(BaseModel):
    """What an agent did. `finished` is False where it was cut short; `reason` says why it ended."""

    items: list[Item] = Field(default_factory=list)
    turns: int = 0
    finished: bool = False
    reason: Message | None = None
    usage: PhaseUsage = Field(default_factory=PhaseUsage)


@dataclass(kw_only=True)
class CrawlAgent:
    """Works through its toolbox, for one section or, without a prompt, for a whole site."""

    model: ChatModel
    toolbox: Toolbox

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

        Without prompts and tools it is the general agent for the whole site, with all six tools. `ModelFailed` where
        the model fails; the toolbox has what was saved so far. `RunCancelled` between two turns.
        """
        run, saver = self.toolbox.run, self.toolbox.saver
        system, user = system_prompt, user_message
        if system is None or user is None:
            ledger = saver.ledger
            general_system, general_user = build_agent_prompt(
                source,
                window=ledger.window,
                max_items=ledger.max_items,
                known=existing_urls or (),
                prompts=run.deps.prompts,
            )
            system, user = system or general_system, user or general_user
        limits = run.deps.limits
        result, place = AgentResult(), self.toolbox.reader.plan.name
        needed = len(system) + len(user) + RESERVE_CHARS + 2 * _MIN_PAGE_CHARS
        max_chars = max(fit_chars(self.model, Phase.CRAWL, limits.context_max_chars, place), needed)
        sizes = {"max_chars": min(max_chars, limits.context_max_chars), "page_max_chars": limits.page_max_chars}
        context = AgentContext(system, user, **sizes, is_pruned=enable_pruning)
        turns = max_turns or (limits.general_max_turns if tools is None else limits.max_turns)
        ended: StopReason = "max_turns"
        while result.turns < turns and ended == "max_turns":
            if cancel_event is not None and cancel_event.is_set():
                raise RunCancelled("sweep.cancelled_in", place=place)
            result.turns += 1
            if on_progress is not None:
                on_progress(Progress(phase=Phase.CRAWL, place=place, done=len(saver.items)))
            completion = await self._complete(context, tools if tools is not None else ALL_TOOLS, result)
            ended = await self._take_turn(context, completion, is_pruned=enable_pruning)
        result.items = list(saver.items)
        result.finished = ended in ("finish", "done")
        said = self.toolbox.reason
        result.reason = Message.other(said) if said else Message(f"cause.ended_{ended}")
        return result

    async def _complete(self, context: AgentContext, tools: Sequence[Tool], result: AgentResult) -> Completion:
        messages, place = context.prepare_messages(), self.toolbox.reader.plan.name
        completion = await self.model.complete(CompletionRequest(messages, phase=Phase.CRAWL, place=place, tools=tools))
        usage = result.usage
        usage.calls += 1
        usage.prompt_tokens += completion.prompt_tokens
        usage.completion_tokens += completion.completion_tokens
        usage.largest_context_chars = context.largest_chars
        return completion

    async def _take_turn(self, context: AgentContext, completion: Completion, *, is_pruned: bool) -> StopReason:
        context.add_completion(completion)
        if not completion.tool_calls:
            if context.messages[-2].content == _NUDGE_MESSAGE:
                return "no_tool_call"
            context.messages.append(ChatMessage(role="user", content=_NUDGE_MESSAGE))
            return "max_turns"
        has_opened = False
        for call in completion.tool_calls:
            is_page = call.name == "browse_page"
            if is_page and has_opened and is_pruned:
                context.add_tool_result(call, _ONE_PAGE_AT_A_TIME_ERROR, is_page=False)
                continue
            has_opened = has_opened or is_page
            await self._use_tool(context, call, is_page=is_page)
        if self.toolbox.finished:
            return "finish"
        return "done" if is_pruned and self.toolbox.is_done else "max_turns"

    async def _use_tool(self, context: AgentContext, call: ToolCall, *, is_page: bool) -> None:
        room = (
            context.make_room_for_page()
            if is_page or call.name == "read_document"
            else self.toolbox.run.deps.limits.page_max_chars
        )
        answer = await self.toolbox.call(call.name, parse_tool_arguments(call.arguments), room_chars=room)
        context.add_tool_result(call, answer, is_page=is_page)
        if self.toolbox.last_saved_urls:
            context.mark_processed(self.toolbox.last_saved_urls)
