"""What a model can do, tried before it is trusted: an answer in words, one in JSON, a tool call and the turn after it.

Each try is a call as phases make it, so that what the server refuses is learned here as it is in a run.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import Field

from monitor.errors import SettingsError, WorkFailed
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.llm.answer_schemas import INTEGER, TEXT, describe_object
from monitor.llm.answers import parse_object, strip_thinking
from monitor.llm.chat import ChatMessage, Completion, CompletionRequest, Tool
from monitor.llm.providers.model_table import find_model
from monitor.vocabulary import Phase

if TYPE_CHECKING:
    from monitor.llm.client import ModelClient
    from monitor.llm.dialect import Dialect

SAMPLE_SWEEP_TOKENS = (55_000, 8_100)
"""The prompt and completion tokens of a sweep of the sample ministry, without thoughts; a test measures them."""

_PLAIN = "Say in two sentences what a public consultation of a ministry is."
_JSON = 'Answer with one JSON object and nothing else: {"word": "ready", "number": 4711}'
_TOOL = "Use the tool look_up to find the number of the file 'alpha'. Then answer with that number."
_TOOL_RESULT = "The number of the file alpha is 4711."
_NUMBER = 4711
_CONTEXT_WORD = "KESTREL"
_CONTEXT_LINE = "第{number}条　各单位应当按时报送材料，逾期未报的按未完成处理。"
_CONTEXT_CHARS = 20_000
"""As long as the context of a section's agent may become."""
_MIN_CONTEXT_TOKENS = 8_000
_MIN_READ_SHARE = 0.5

_LOOK_UP = Tool(
    name="look_up",
    description="Find the number of a file by its name.",
    parameters={
        "type": "object",
        "properties": {"name": {"type": "string"}, "year": {"type": ["integer", "null"]}},
        "required": ["name", "year"],
        "additionalProperties": False,
    },
)
_JSON_SCHEMA = describe_object(word=TEXT, number=INTEGER)


class ModelTrial(MessageModel):
    """What came of trying a model: `complaint` says why no answer came, `verdict` what it is good for.

    `findings` are what was seen, one by one. `goes_by_rule`: some phase cannot be the model's. `latency_ms` is the time
    of the answer in words.
    """

    model: str
    endpoint: str
    latency_ms: int
    complaint: Message | None = None
    verdict: Message | None = None
    findings: list[Message] = Field(default_factory=list)
    goes_by_rule: bool = False


async def examine_models(client: "ModelClient") -> list[ModelTrial]:
    """Try every configured model; failures are part of the result."""
    return [await _Examination(client, model).run() for model in client.list_models()]


@dataclass
class _Examination:
    client: "ModelClient"
    model: str
    thinks: bool = False
    completion_tokens: int = 0
    seconds: float = 0.0
    is_cut: bool = False
    trial: ModelTrial = field(init=False)

    async def run(self) -> ModelTrial:
        self.trial = ModelTrial(model=self.model, endpoint=self.client.endpoint, latency_ms=0)
        try:
            answer = await self._ask(_PLAIN)
        except (SettingsError, WorkFailed) as error:
            self.trial.complaint = error.message
            return self.trial
        finally:
            self.trial.latency_ms = round(self.seconds * 1000)
        writes = bool(answer.text.strip())
        json_answer = await self._try(_JSON, schema=True)
        writes_json = json_answer is not None and (parse_object(json_answer.text) or {}).get("number") == _NUMBER
        calls_tools = await self._try_tool()
        context = await self._find_context()
        self.trial.findings = [
            Message.of("llm.trial.answered", ms=self.trial.latency_ms, speed=self._format_speed()),
            Message("llm.trial.json" if writes_json else "llm.trial.no_json"),
            Message(self._describe_tools(calls_tools=calls_tools)),
            Message("llm.trial.thinks" if self.thinks else "llm.trial.thinks_not"),
            self._describe_context(context),
            self._describe_cost(),
        ]
        self.trial.verdict = self._judge(context, writes=writes, writes_json=writes_json, calls_tools=calls_tools)
        return self.trial

    @property
    def _dialect(self) -> "Dialect":
        return self.client.get_dialect(self.model)

    async def _ask(
        self, question: str | Sequence[ChatMessage], *, schema: bool = False, tool: bool = False
    ) -> Completion:
        messages = [ChatMessage(role="user", content=question)] if isinstance(question, str) else question
        request = CompletionRequest(
            messages,
            phase=Phase.CRAWL if tool else Phase.SUMMARISE,
            tools=[_LOOK_UP] if tool else [],
            schema=_JSON_SCHEMA if schema else None,
        )
        began = time.perf_counter()
        try:
            completion = await self.client.ask_once(self.model, request)
        finally:
            self.seconds += time.perf_counter() - began
        self.completion_tokens += completion.completion_tokens
        self.thinks = self.thinks or bool(completion.reasoning_chars or strip_thinking(completion.text)[1])
        return completion

    async def _try(
        self, question: str | Sequence[ChatMessage], *, schema: bool = False, tool: bool = False
    ) -> Completion | None:
        """Return the answer; None where this kind of question gets none."""
        try:
            return await self._ask(question, schema=schema, tool=tool)
        except (SettingsError, WorkFailed):
            return None

    async def _try_tool(self) -> bool:
        """Return whether the model calls the tool and, in the turn after it, goes on with what the tool said."""
        question = ChatMessage(role="user", content=_TOOL)
        first = await self._try([question], tool=True)
        if first is None or not first.tool_calls:
            return False
        turn = ChatMessage(role="assistant", content=first.text, tool_calls=first.tool_calls, extra=first.extra)
        results = [ChatMessage(role="tool", content=_TOOL_RESULT, tool_call_id=call.id) for call in first.tool_calls]
        second = await self._try([question, turn, *results], tool=True)
        return second is not None and str(_NUMBER) in second.text

    async def _find_context(self) -> int | None:
        """Return the context in tokens: as set, published or asked for, else by a prompt as long as an agent's."""
        await self.client.prepare()
        if self._dialect.context_tokens is not None:
            return self._dialect.context_tokens
        lines = [_CONTEXT_LINE.format(number=number) for number in range(_CONTEXT_CHARS // len(_CONTEXT_LINE))]
        text = "\n".join([f"The word is {_CONTEXT_WORD}.", *lines, "Answer with the word that the first line names."])
        answer = await self._try(text)
        if answer is None:
            return self._dialect.context_tokens
        is_lost = _CONTEXT_WORD not in answer.text.upper() and 0 < answer.prompt_tokens < _MIN_READ_SHARE * len(text)
        self.is_cut = answer.is_prompt_cut or is_lost
        return answer.prompt_tokens if self.is_cut else self._dialect.context_tokens

    def _format_speed(self) -> str:
        return f"{self.completion_tokens / self.seconds:.0f}" if self.seconds and self.completion_tokens else "?"

    def _describe_tools(self, *, calls_tools: bool) -> str:
        if not calls_tools:
            return "llm.trial.no_tools"
        return "llm.trial.textual_tools" if self._writes_tools() else "llm.trial.tools"

    def _describe_context(self, context: int | None) -> Message:
        if context is None:
            return Message.of("llm.trial.context_enough", chars=_CONTEXT_CHARS)
        return Message.of("llm.trial.context_cut" if self.is_cut else "llm.trial.context", tokens=context)

    def _describe_cost(self) -> Message:
        """Return what a sweep of the sample costs: by `llm.prices`, else by the list prices of the table."""
        prompt, completion = SAMPLE_SWEEP_TOKENS
        published = find_model(self.client.provider, self.model)
        rates: tuple[float | None, float | None] = (None, None)
        currency = ""
        if (price := self.client.find_price(self.model)) is not None:
            rates = price.input, price.output
        elif published is not None:
            rates, currency = (published.input_price, published.output_price), published.currency or ""
        if rates[0] is None or rates[1] is None:
            return Message.of("llm.trial.tokens", prompt=prompt, completion=completion)
        cost = (prompt * rates[0] + completion * rates[1]) / 1_000_000
        return Message.of("llm.trial.cost", cost=f"{cost:.3f} {currency}".strip(), prompt=prompt, completion=completion)

    def _judge(self, context: int | None, *, writes: bool, writes_json: bool, calls_tools: bool) -> Message:
        """Return one sentence: what the model will do, and what will go by rule."""
        able = {Phase.NAVIGATE: writes_json, Phase.CRAWL: calls_tools, Phase.SUMMARISE: writes, Phase.RANK: writes_json}
        by_rule = [Message(f"word.model_phase.{phase}") for phase, is_able in able.items() if not is_able]
        done = [Message(f"word.model_phase.{phase}") for phase, is_able in able.items() if is_able]
        self.trial.goes_by_rule = bool(by_rule)
        if by_rule:
            return Message.of("llm.verdict.partly" if done else "llm.verdict.nothing", done=done, by_rule=by_rule)
        if context is not None and context < _MIN_CONTEXT_TOKENS:
            return Message.of("llm.verdict.short_context", tokens=context)
        return Message("llm.verdict.slow_sections" if self._writes_tools() else "llm.verdict.all")

    def _writes_tools(self) -> bool:
        request = CompletionRequest([], phase=Phase.CRAWL, tools=[_LOOK_UP])
        return self._dialect.begin(request, temperature=0, top_p=1).writes_tools
