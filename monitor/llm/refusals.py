"""What a refusal says of a server: which part of a request it does not take, and what it demands instead.

The wordings are those of servers in use; docs/developers/provider-rules.md and decision 0084 name where they stand.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import openai


class Feature(StrEnum):
    """A part of a request that can be left out."""

    SAMPLING = "sampling"
    TOP_P = "top_p"
    USAGE = "usage"
    STREAM = "stream"
    TOOLS = "tools"
    SCHEMA = "json_schema"
    OBJECT = "json_object"
    THINKING = "thinking"
    EFFORT = "reasoning_effort"
    MAX_TOKENS = "max_tokens"
    NULLABLE = "nullable_types"
    EXTRA = "extra"
    SYSTEM = "system_role"


class Need(StrEnum):
    """What a server demands of a request."""

    STREAM = "stream"
    THINKING_OFF = "thinking_off"
    THOUGHTS = "thoughts"
    THOUGHTS_EVERYWHERE = "thoughts_everywhere"
    SIGNATURES = "signatures"
    OTHER_TOKENS_FIELD = "other_tokens_field"


@dataclass(frozen=True)
class Lesson:
    """A wording with what it teaches: `refused` is left out from now on, `needs` is met."""

    wording: re.Pattern[str]
    refused: Feature | None = None
    needs: Need | None = None


def _lesson(wording: str, refused: Feature | None = None, needs: Need | None = None) -> Lesson:
    return Lesson(re.compile(wording, re.IGNORECASE | re.DOTALL), refused, needs)


_JSON_MODE = r"response_?format|json_schema|json_object|json mode|structured.?output|guided_|contain the word"
_NOT_TAKEN = r"(un(known|recogni[sz]ed|supported|expected)|extra|not (permitted|supported|allowed))"
_LESSONS = (
    _lesson(_JSON_MODE, Feature.SCHEMA),
    _lesson(_JSON_MODE, Feature.OBJECT),
    _lesson(
        r"non-streaming calls|only supports? .{0,20}stream|stream mode only|requires? (the )?stream"
        r"|\bstream\b.{0,30}(must|should|has to|needs to|required).{0,12}(set|true|used|enabled)?",
        needs=Need.STREAM,
    ),
    _lesson(r"enable_thinking.{0,40}must be (set to )?false", needs=Need.THINKING_OFF),
    _lesson(
        r"reasoning_(content|details).{0,60}(must not|not allowed|not permitted|unsupported|not supported)",
        Feature.EXTRA,
    ),
    _lesson(
        r"(every|each|all) assistant message.{0,80}reasoning_content|reasoning_content.{0,40}(every|each) assistant",
        needs=Need.THOUGHTS_EVERYWHERE,
    ),
    _lesson(
        r"reasoning_content.{0,80}(missing|must|requir|pass)|(missing|requir|must).{0,60}reasoning_content",
        needs=Need.THOUGHTS,
    ),
    _lesson(r"thought_?signature", needs=Need.SIGNATURES),
    _lesson(
        r"not repeating|cannot start list|value\.type|nullable|\[\W*string\W+null"
        r"|\btype\W.{0,60}(array|list|union)|(array|list|union).{0,60}\btype\b",
        Feature.NULLABLE,
    ),
    _lesson(
        r"tool.choice|tool.call.parser|--jinja|support.{0,20}\b(tools?|function)s?\b|function.?calling"
        r"|\btools?\b.{0,40}(not|un)\W?(supported|available|enabled|recogni|permitted|allowed)"
        r"|(unknown|unrecogni[sz]ed|extra|unexpected).{0,40}\btools\b",
        Feature.TOOLS,
    ),
    _lesson(
        r"max_tokens.{0,80}(use|instead).{0,40}max_completion_tokens"
        rf"|{_NOT_TAKEN}.{{0,60}}max_(completion_)?tokens|max_(completion_)?tokens.{{0,60}}{_NOT_TAKEN}",
        Feature.MAX_TOKENS,
        Need.OTHER_TOKENS_FIELD,
    ),
    _lesson(
        r"both.{0,60}(top_p|temperature)|(top_p|temperature).{0,60}\bboth\b|top_p.{0,40}not (supported|allowed)",
        Feature.TOP_P,
    ),
    _lesson(r"temperature|top_p", Feature.SAMPLING),
    _lesson(r"reasoning_effort|reasoning\.effort", Feature.EFFORT),
    _lesson(r"thinking|chat_template_kwargs|reasoning", Feature.THINKING),
    _lesson(r"stream_options", Feature.USAGE),
    _lesson(r"\bstream", Feature.STREAM),
    _lesson(
        r"reasoning|thinking_blocks|extra_content|additional propert|extra.(inputs|forbidden)|unrecogni[sz]ed|unknown",
        Feature.EXTRA,
    ),
    _lesson(r"system.{0,20}role|role.{0,30}system|developer instruction", Feature.SYSTEM),
)
"""In the order in which they are held against a refusal: the narrow before the wide."""

_IS_NO_FEATURE = re.compile(
    r"inspection|moderation|content.?(filter|policy)|sensitive|safety|prohibited|quota|arrear|balance|overdue"
    r"|does not exist|not found|敏感|安全|违规|余额|欠费",
    re.IGNORECASE,
)
_VAGUE = (Feature.SCHEMA, Feature.OBJECT, Feature.THINKING, Feature.EFFORT)
"""What is left out, one after another, where a refusal does not say what it refuses."""

_CONTEXT = re.compile(
    r"maximum (?:context|sequence|model) length (?:of|is|:)\D{0,20}(\d+)"
    r"|context (?:length|window|size)\D{0,40}(\d+)"
    r"|input length should be \[\d+, ?(\d+)\]"
    r"|exceeds? the maximum number of tokens allowed\D{0,4}(\d+)"
    r"|token limit\D{0,20}(\d+)"
    r"|tokens? ?> ?(\d+) ?maximum"
    r"|max_(?:model|seq)_len\D{0,20}(\d+)",
    re.IGNORECASE,
)
_IS_TOO_LONG = re.compile(
    r"context_length|context (length|window|size)|too many (input )?tokens|(prompt|input|messages?).{0,40}too long"
    r"|too long.{0,40}(prompt|input|message)|exceeds? max(imum)? (length|message tokens)|超长|超过最大长度",
    re.IGNORECASE,
)
_WAIT = re.compile(r"(?:try|retry)[^.]{0,30}?(?:in|after) (\d+(?:\.\d+)?) ?(ms|s)", re.IGNORECASE)
_IS_ACCOUNT_EMPTY = re.compile(
    r"insufficient_quota|insufficient.?(account.?)?balance|exceeded_current_quota|arrearage|\b1113\b|欠费|余额不足",
    re.IGNORECASE,
)
_MAX_OUTPUT = re.compile(
    r"supports at most (\d+) completion tokens|range of max_tokens should be \[\d+, ?(\d+)\]"
    r"|max_(?:completion_)?tokens.{0,60}(?:at most|less than or equal to|<=|maximum(?: value)?(?: is)?)\D{0,8}(\d+)",
    re.IGNORECASE | re.DOTALL,
)


def read_refusal(error: openai.APIStatusError) -> str:
    """Return the words of a refusal; they are compared and never shown."""
    body: Any = error.body
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, dict) and isinstance(inner := body.get("error"), dict):
        body = inner
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        metadata = body.get("metadata")
        raw = metadata.get("raw") if isinstance(metadata, dict) else ""
        return f"{body.get('param') or ''} {body['message']} {raw or ''}"
    return f"{error.param or ''} {error.message}"


def find_lesson(
    text: str, *, sent: Collection[Feature], refused: Collection[Feature], needs: Collection[Need], vague: bool
) -> Lesson | None:
    """Return what a refusal teaches of what was sent; None where it names nothing that could be changed.

    `sent` are the features of the refused request, `needs` what it met already. `vague`: a refusal without a known
    wording costs the least of what was sent.
    """
    for lesson in _LESSONS:
        if not lesson.wording.search(text):
            continue
        if lesson.needs is Need.OTHER_TOKENS_FIELD:
            if Feature.MAX_TOKENS in sent:
                return lesson
            continue
        is_met = lesson.needs in needs or (lesson.needs is Need.STREAM and Feature.STREAM in refused)
        if (lesson.refused in sent) if lesson.refused else not is_met:
            return lesson
    if not vague or _IS_NO_FEATURE.search(text) or find_context_tokens(text) or is_too_long(text):
        return None
    feature = next((feature for feature in _VAGUE if feature in sent), None)
    return Lesson(re.compile(""), feature) if feature else None


def find_context_tokens(text: str) -> int | None:
    """Return the length of the context that a refusal names."""
    return _find_number(_CONTEXT, text)


def find_max_output_tokens(text: str) -> int | None:
    return _find_number(_MAX_OUTPUT, text)


def is_too_long(text: str) -> bool:
    """Whether a prompt was refused for its length."""
    return bool(_IS_TOO_LONG.search(text)) or find_context_tokens(text) is not None


def read_wait(text: str) -> float | None:
    """Return the seconds after which a refusal asks to be tried again."""
    found = _WAIT.search(text)
    return float(found[1]) / (1000 if found[2].lower().startswith("ms") else 1) if found else None


def is_account_empty(error: openai.APIStatusError) -> bool:
    """Whether a request was refused because nobody pays for it."""
    text = f"{error.code} {error.type} {read_refusal(error)}"
    return error.status_code == 402 or (error.status_code in (400, 403, 429) and bool(_IS_ACCOUNT_EMPTY.search(text)))


def _find_number(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(re.sub(r"(?<=\d),(?=\d{3})", "", text))
    number = next((int(group) for group in found.groups() if group), 0) if found else 0
    return number if 256 <= number <= 100_000_000 else None
