"""How one model of one endpoint is asked: by its provider's profile, the settings, and what its refusals taught."""

import datetime as dt
import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import openai
from pydantic import BaseModel, Field, JsonValue

from monitor.config.llm import LlmSettings
from monitor.llm.answers import find_closing_json, parse_object
from monitor.llm.chat import ChatMessage, Completion, CompletionRequest, CutReason, ToolCall
from monitor.llm.context import Calibration, count_message_chars, fit_messages
from monitor.llm.providers.model_table import find_model
from monitor.llm.providers.profile import Behaviour, ProviderProfile, StructuredOutput, Thinking
from monitor.llm.refusals import (
    Feature,
    Lesson,
    Need,
    find_context_tokens,
    find_lesson,
    find_max_output_tokens,
    is_too_long,
    read_refusal,
)
from monitor.llm.textual_tools import find_marked_call, read_call, write_tools
from monitor.llm.wire import THOUGHT_FIELDS, MessageRules, build_messages, build_tools, has_null_types, read_thoughts

_THOUGHTS = "reasoning_content"
_FILLED_THOUGHTS: dict[str, JsonValue] = {_THOUGHTS: "."}
"""For a turn whose thoughts nobody has, as one that was answered without thinking; an empty text counts as missing."""
_FILLED_SIGNATURE: dict[str, JsonValue] = {
    "extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}
}
"""What Google documents for calls that its model did not make."""
_ANSWER_RESERVE_TOKENS = 1024
_MIN_ANSWER_TOKENS = 4096
_MAX_ANSWER_TOKENS = 32_768
_MIN_CONTEXT_TOKENS = 1024
_SHRINKING, _MAX_SHRINKS = 0.7, 4
_MIN_STUCK_TOKENS = 1000
_MAX_EXHAUSTED = 3
_SHORT_CONTEXT_TOKENS = 16_384
_WRAPPED = "answer"


class EndpointFacts(BaseModel):
    """What was learned of one model at one endpoint.

    `context_tokens` is what the server says or a refusal named, `cut_at_tokens` where it cut a prompt in silence.
    `answer_tokens` is the limit that an answer needs so that thoughts do not use it up. `learned_at` is when `refused`
    or `needs` grew last.
    """

    refused: set[Feature] = Field(default_factory=set)
    needs: set[Need] = Field(default_factory=set)
    context_tokens: int | None = None
    max_output_tokens: int | None = None
    answer_tokens: int | None = None
    cut_at_tokens: int | None = None
    calibration: Calibration = Field(default_factory=Calibration)
    learned_at: dt.datetime | None = None

    @property
    def tokens_per_estimate(self) -> float:
        """The tokens of a non-ASCII character, as measured, against the usual two thirds of one."""
        return self.calibration.get_rates()[1] * 1.5

    def get_lessons(self) -> tuple[Any, ...]:
        """What a later process should know at once, without the measurements."""
        numbers = (self.context_tokens, self.max_output_tokens, self.answer_tokens, self.cut_at_tokens)
        return frozenset(self.refused), frozenset(self.needs), *numbers


@dataclass(frozen=True)
class Attempt:
    """A request as it goes out: arguments for openai's client, and what of them could be left out."""

    arguments: dict[str, Any]
    sent: frozenset[Feature]
    needs: frozenset[Need]
    is_streamed: bool
    is_textual: bool
    is_wrapped: bool
    ascii_chars: int
    other_chars: int

    @property
    def has_usage(self) -> bool:
        """Whether a streamed answer is asked to count its tokens."""
        return Feature.USAGE in self.sent


@dataclass
class Dialect:
    """The way to ask one model; its facts grow with every refusal and answer.

    `exhausted` counts the answers that thoughts used up: each is asked for again without thinking, and after three of
    them no more are risked.
    """

    model: str
    profile: ProviderProfile
    settings: LlmSettings
    facts: EndpointFacts = field(default_factory=EndpointFacts)
    exhausted: int = 0
    _counts: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=8))

    @property
    def behaviour(self) -> Behaviour:
        return self.profile.get_behaviour(self.model)

    @property
    def context_tokens(self) -> int | None:
        """Prompt and answer together: the setting, else the least that the server was seen to have."""
        if self.settings.context_tokens is not None:
            return self.settings.context_tokens
        known = [size for size in (self.facts.context_tokens, self.facts.cut_at_tokens) if size]
        published = None if self.profile.is_local else find_model(self.profile.name, self.model)
        return min(known, default=published.context_tokens if published else None)

    @property
    def answer_tokens(self) -> int | None:
        """The limit of an answer that is sent; None for what the server does by itself."""
        wanted = self.settings.max_tokens or self.facts.answer_tokens
        limits = [wanted, self.facts.max_output_tokens, self.context_tokens and self.context_tokens // 2]
        return min(limit for limit in limits if limit) if wanted else None

    @property
    def prompt_chars(self) -> int | None:
        """The characters of Chinese that surely fit beside an answer; None where the context is unknown."""
        context = self.context_tokens
        if context is None:
            return None
        room = context - min(self.answer_tokens or _ANSWER_RESERVE_TOKENS, context // 2)
        return int(room / max(self.facts.calibration.get_rates()[1], 1 / 1.5))

    def is_stuck(self, chars: int, tokens: int) -> bool:
        """Return whether a longer or shorter prompt had the very same count, as where a server cuts all to one size."""
        is_stuck = tokens >= _MIN_STUCK_TOKENS and any(
            known == tokens and abs(length - chars) * 8 > max(length, chars) for length, known in self._counts
        )
        self._counts.append((chars, tokens))
        return is_stuck

    def begin(self, request: CompletionRequest, *, temperature: float, top_p: float) -> "Call":
        return Call(self, request, temperature=temperature, top_p=top_p)


@dataclass
class Call:
    """One request with all its attempts, each with one thing less or changed."""

    dialect: Dialect
    asked: CompletionRequest
    temperature: float
    top_p: float
    _left_out: set[Feature] = field(default_factory=set)
    _shrunk_by: float = 1.0
    _shrinks: int = 0
    _growths: int = 0
    _is_quick: bool = False
    _chars: tuple[int, int] = (0, 0)

    def prepare(self) -> Attempt:
        """Return the arguments of the next attempt."""
        thinks, says = self._may_think(), self._decide_thinking()
        sent: set[Feature] = set()
        is_textual = self.writes_tools
        body: dict[str, Any] = {}
        if fields := self._build_thinking(says):
            body |= fields
            sent.add(Feature.THINKING)
        effort = self._settings.reasoning_effort
        if effort is not None and says is not False and self._takes(Feature.EFFORT):
            body["reasoning_effort"] = effort
            sent.add(Feature.EFFORT)
        body |= self._build_tokens(sent)
        messages = self._build_messages(sent, thinks=thinks, is_textual=is_textual)
        arguments: dict[str, Any] = {"model": self.dialect.model, "messages": messages}
        arguments |= self._build_tools(sent) if self.asked.tools and not is_textual else {}
        arguments |= self._build_sampling(sent, thinks=thinks)
        response_format = self._build_format(sent, thinks=thinks)
        is_streamed = self._streams(sent, thinks=thinks)
        if response_format:
            arguments["response_format"] = response_format
        body = _merge(body, self._settings.extra_body)
        ascii_chars, other_chars = self._chars
        return Attempt(
            arguments={**arguments, **({"extra_body": body} if body else {})},
            sent=frozenset(sent),
            needs=frozenset(self._facts.needs),
            is_streamed=is_streamed,
            is_textual=is_textual,
            is_wrapped=Feature.SCHEMA in sent and not self._has_object_root,
            ascii_chars=ascii_chars,
            other_chars=other_chars,
        )

    def learn_from_refusal(self, attempt: Attempt, error: openai.APIStatusError) -> bool:
        """Return whether to ask again, with what the refusal named left out, changed or made to fit."""
        text = read_refusal(error)
        facts = self._facts
        if (limit := find_max_output_tokens(text)) and Feature.MAX_TOKENS in attempt.sent:
            is_less = limit < (self.dialect.answer_tokens or 0)
            facts.max_output_tokens = limit
            if is_less:
                return True
        if find_context_tokens(text) or (error.status_code < 500 and is_too_long(text)):
            return self._shrink(attempt, find_context_tokens(text))
        is_vague = error.status_code in (400, 422)
        refused = facts.refused | self._left_out
        lesson = find_lesson(text, sent=attempt.sent, refused=refused, needs=attempt.needs, vague=is_vague)
        if lesson is None:
            return False
        self._apply(lesson)
        return True

    def learn_from_answer(self, completion: Completion) -> bool:
        """Return whether to ask again because thoughts used up the tokens of an answer; keep what was learned."""
        self._facts.refused |= self._left_out
        has_answer = completion.text.strip() or completion.tool_calls
        spent = completion.completion_tokens or completion.reasoning_chars // 2
        if has_answer or completion.cut_by is not CutReason.LENGTH or not spent:
            return False
        if self._settings.thinking != "on" and self._can_switch_off and self._decide_thinking() is not False:
            self._is_quick = True
            self.dialect.exhausted += 1
            if self.dialect.exhausted >= _MAX_EXHAUSTED:
                self._facts.needs.add(Need.THINKING_OFF)
            return True
        if self._settings.max_tokens is not None or self._growths >= 2:
            return False
        self._growths += 1
        before = self.dialect.answer_tokens
        self._facts.answer_tokens = min(max(4 * (before or spent), _MIN_ANSWER_TOKENS), _MAX_ANSWER_TOKENS)
        return (self.dialect.answer_tokens or 0) > (before or spent)

    def read(self, attempt: Attempt, completion: Completion) -> Completion:
        """Return the answer as it was asked for: calls that stand in the text, an array out of its wrapping object.

        Thoughts that need not come back are dropped where the context is short.

        Where a JSON answer was asked for and the finished thoughts end with it while the text is empty, it is taken
        from there: some servers take all that a model writes for its thoughts. Nothing else of thoughts is ever read.
        """
        update: dict[str, Any] = {}
        thoughts = read_thoughts(completion.extra)
        if self.asked.tools and not completion.tool_calls:
            calls = self._read_text_calls(attempt, completion.text)
            update |= {"tool_calls": calls, "text": ""} if calls else {}
        elif self.asked.schema is not None and not completion.text.strip() and not completion.is_cut:
            update["text"] = find_closing_json(thoughts) or ""
        elif attempt.is_wrapped and not completion.is_cut:
            whole = parse_object(completion.text) or {}
            if set(whole) == {_WRAPPED}:
                update["text"] = json.dumps(whole[_WRAPPED], ensure_ascii=False)
        update["is_prompt_cut"] = self._measure(attempt, completion)
        if (self.dialect.context_tokens or _SHORT_CONTEXT_TOKENS) < _SHORT_CONTEXT_TOKENS:
            wanted = self._build_rules(thinks=True)
            dropped = THOUGHT_FIELDS - wanted.filled.keys() - self.dialect.behaviour.returned_fields
            update["extra"] = {name: value for name, value in completion.extra.items() if name not in dropped}
        return completion.model_copy(update=update)

    @property
    def writes_tools(self) -> bool:
        """Whether the tools are described in words, because model or server take no others."""
        behaviour = self.dialect.behaviour
        is_barred = self._may_think() and not behaviour.calls_tools_thinking
        takes_none = not behaviour.calls_tools or is_barred or not self._takes(Feature.TOOLS)
        return bool(self.asked.tools) and takes_none

    @property
    def _facts(self) -> EndpointFacts:
        return self.dialect.facts

    @property
    def _settings(self) -> LlmSettings:
        return self.dialect.settings

    @property
    def _has_object_root(self) -> bool:
        return (self.asked.schema or {}).get("type") == "object"

    @property
    def _can_switch_off(self) -> bool:
        behaviour = self.dialect.behaviour
        return bool(behaviour.thinking_off) and behaviour.thinking is Thinking.SWITCHED

    def _takes(self, feature: Feature) -> bool:
        return feature not in self._facts.refused and feature not in self._left_out

    def _decide_thinking(self) -> bool | None:
        """Return whether thinking is switched on or off for this request; None where nothing is said."""
        behaviour, chosen = self.dialect.behaviour, self._settings.thinking
        if self._is_quick or Need.THINKING_OFF in self._facts.needs:
            return False
        if behaviour.thinking is Thinking.NEVER or (not behaviour.thinking_on and not behaviour.thinking_off):
            return None
        is_barred = bool(self.asked.tools) and not behaviour.calls_tools_thinking
        is_mute = behaviour.streams_thinking and not self._takes(Feature.STREAM)
        if chosen == "off" or is_barred or is_mute:
            return False if self._can_switch_off else None
        return True if chosen == "on" else None

    def _may_think(self) -> bool:
        behaviour, said = self.dialect.behaviour, self._decide_thinking()
        if said is not None:
            return said
        has_effort = self._settings.reasoning_effort not in (None, "none", "minimal")
        is_switched = behaviour.thinking is Thinking.SWITCHED and (behaviour.thinks_unasked or has_effort)
        return behaviour.thinking is Thinking.ALWAYS or is_switched

    def _build_thinking(self, says: bool | None) -> dict[str, Any]:
        behaviour = self.dialect.behaviour
        if says is None or not self._takes(Feature.THINKING):
            return {}
        return dict(behaviour.thinking_on if says else behaviour.thinking_off or {"enable_thinking": False})

    def _build_tokens(self, sent: set[Feature]) -> dict[str, Any]:
        limit = self.dialect.answer_tokens
        if limit is None or not self._takes(Feature.MAX_TOKENS):
            return {}
        sent.add(Feature.MAX_TOKENS)
        name = self.dialect.behaviour.tokens_field
        if Need.OTHER_TOKENS_FIELD in self._facts.needs:
            name = "max_tokens" if name == "max_completion_tokens" else "max_completion_tokens"
        return {name: limit}

    def _build_messages(self, sent: set[Feature], *, thinks: bool, is_textual: bool) -> Any:
        """Return the messages, made to fit the context where that is known, and note how long they are."""
        messages = list(self.asked.messages)
        if is_textual:
            messages = write_tools(messages, self.asked.tools)
        tools = "" if is_textual else "".join(tool.model_dump_json() for tool in self.asked.tools)
        if (chars := self._find_room(messages, tools)) is not None:
            messages = fit_messages(messages, chars)
        if any(message.extra or any(call.extra for call in message.tool_calls) for message in messages):
            sent.add(Feature.EXTRA)
        has_system = self._takes(Feature.SYSTEM)
        if has_system and any(message.role == "system" for message in messages):
            sent.add(Feature.SYSTEM)
        self._chars = count_message_chars(messages, tools)
        rules = self._build_rules(thinks).model_copy(update={"has_system_role": has_system})
        return build_messages(messages, rules)

    def _find_room(self, messages: list[ChatMessage], tools: str) -> int | None:
        """Return how many characters these messages may have at most; None where all of them fit or nobody knows."""
        context = self.dialect.context_tokens
        if context is None:
            return None
        room = (context - min(self.dialect.answer_tokens or _ANSWER_RESERVE_TOKENS, context // 2)) * self._shrunk_by
        calibration = self._facts.calibration
        expected = calibration.predict(*count_message_chars(messages))
        room -= calibration.predict(len(tools), 0)
        if expected <= room:
            return None
        return int(sum(message.size_chars for message in messages) * max(room, 256) / expected)

    def _build_rules(self, thinks: bool) -> MessageRules:
        behaviour, needs = self.dialect.behaviour, self._facts.needs
        wants_thoughts = bool({Need.THOUGHTS, Need.THOUGHTS_EVERYWHERE} & needs)
        returned = behaviour.returned_fields | ({_THOUGHTS} if wants_thoughts else set())
        is_filled = wants_thoughts or (_THOUGHTS in behaviour.returned_fields and thinks)
        return MessageRules(
            kept=None if self._takes(Feature.EXTRA) else returned,
            withheld=behaviour.withheld_fields - returned,
            filled=_FILLED_THOUGHTS if is_filled else {},
            fills_every_answer=Need.THOUGHTS_EVERYWHERE in needs,
            filled_in_calls=_FILLED_SIGNATURE if Need.SIGNATURES in needs else {},
        )

    def _build_tools(self, sent: set[Feature]) -> dict[str, Any]:
        sent.add(Feature.TOOLS)
        takes_nullable = self.dialect.behaviour.takes_nullable_types and self._takes(Feature.NULLABLE)
        if takes_nullable and any(has_null_types(tool.parameters) for tool in self.asked.tools):
            sent.add(Feature.NULLABLE)
        return {"tools": build_tools(self.asked.tools, takes_nullable=takes_nullable)}

    def _build_sampling(self, sent: set[Feature], *, thinks: bool) -> dict[str, Any]:
        behaviour = self.dialect.behaviour
        if not behaviour.samples or (thinks and not behaviour.samples_thinking) or not self._takes(Feature.SAMPLING):
            return {}
        sent.add(Feature.SAMPLING)
        if not behaviour.samples_both or not self._takes(Feature.TOP_P):
            return {"temperature": self.temperature}
        sent.add(Feature.TOP_P)
        return {"temperature": self.temperature, "top_p": self.top_p}

    def _build_format(self, sent: set[Feature], *, thinks: bool) -> dict[str, Any] | None:
        """Return the `response_format`; an array is asked for by schema alone, because JSON mode gives objects."""
        behaviour, schema = self.dialect.behaviour, self.asked.schema
        if schema is None or self.asked.tools or (thinks and not behaviour.structures_thinking):
            return None
        chosen = self._settings.structured_output
        kind = behaviour.structured if chosen == "auto" else StructuredOutput(chosen)
        is_open = schema == {"type": "object"}
        if kind is StructuredOutput.SCHEMA and self._takes(Feature.SCHEMA) and not is_open:
            sent.add(Feature.SCHEMA)
            wrapped = schema if self._has_object_root else _wrap(schema)
            return {"type": "json_schema", "json_schema": {"name": _WRAPPED, "strict": True, "schema": wrapped}}
        says_json = any("json" in message.content.lower() for message in self.asked.messages)
        may_ask = says_json or not behaviour.wants_word_json
        if kind is StructuredOutput.NONE or not self._has_object_root or not self._takes(Feature.OBJECT) or not may_ask:
            return None
        sent.add(Feature.OBJECT)
        return {"type": "json_object"}

    def _streams(self, sent: set[Feature], *, thinks: bool) -> bool:
        is_demanded = Need.STREAM in self._facts.needs or (thinks and self.dialect.behaviour.streams_thinking)
        is_wanted = self.asked.on_token is not None and not self.asked.tools
        if not (is_demanded or is_wanted) or not self._takes(Feature.STREAM):
            return False
        sent.add(Feature.STREAM)
        if self._takes(Feature.USAGE):
            sent.add(Feature.USAGE)
        return True

    def _apply(self, lesson: Lesson) -> None:
        if lesson.needs is Need.OTHER_TOKENS_FIELD:
            if lesson.needs in self._facts.needs:
                self._facts.refused.add(Feature.MAX_TOKENS)
            self._facts.needs.add(lesson.needs)
        elif lesson.refused is not None and not lesson.wording.pattern:
            self._left_out.add(lesson.refused)
        elif lesson.refused is not None:
            self._facts.refused.add(lesson.refused)
        elif lesson.needs is not None:
            self._facts.needs.add(lesson.needs)

    def _shrink(self, attempt: Attempt, named: int | None) -> bool:
        """Return whether to ask again with a shorter prompt; the context is what the refusal named, else below it."""
        known = self.dialect.context_tokens
        expected = int(self._facts.calibration.predict(attempt.ascii_chars, attempt.other_chars))
        size = max(named or expected, _MIN_CONTEXT_TOKENS)
        if known is None or size < known:
            self._facts.context_tokens = size
        if self.dialect.context_tokens == known:
            self._shrunk_by *= _SHRINKING
        self._shrinks += 1
        return self._shrinks <= _MAX_SHRINKS

    def _read_text_calls(self, attempt: Attempt, text: str) -> list[ToolCall]:
        call_id = f"text_{len(self.asked.messages)}"
        read = read_call if attempt.is_textual else find_marked_call
        call = read(text, self.asked.tools, call_id)
        return [call] if call is not None else []

    def _measure(self, attempt: Attempt, completion: Completion) -> bool:
        """Return whether the server read less than was sent, by its own count; learn from the count where it did not.

        A second prompt of another length with the very same count shows where a server cuts.
        """
        tokens, calibration = completion.prompt_tokens, self._facts.calibration
        if tokens <= 0:
            return False
        chars = attempt.ascii_chars + attempt.other_chars
        if self.dialect.is_stuck(chars, tokens) or calibration.is_cut(attempt.ascii_chars, attempt.other_chars, tokens):
            self._facts.cut_at_tokens = min(tokens, self._facts.cut_at_tokens or tokens)
            return True
        calibration.add(attempt.ascii_chars, attempt.other_chars, tokens)
        return False


def _wrap(schema: Mapping[str, JsonValue]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {_WRAPPED: dict(schema)},
        "required": [_WRAPPED],
        "additionalProperties": False,
    }


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for name, value in above.items():
        known = merged.get(name)
        merged[name] = _merge(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return merged
