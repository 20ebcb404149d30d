"""What a provider of models wants of a request, by the names of its models, and what its answers look like."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from pydantic import JsonValue


class Thinking(StrEnum):
    """Whether a model thinks before it answers."""

    NEVER = "never"
    ALWAYS = "always"
    SWITCHED = "switched"
    UNKNOWN = "unknown"


class StructuredOutput(StrEnum):
    """How an answer in JSON is asked for."""

    SCHEMA = "json_schema"
    OBJECT = "json_object"
    NONE = "none"


@dataclass(frozen=True)
class Behaviour:
    """How a model wants to be asked, as its provider documents it.

    `thinking_on` and `thinking_off` are fields of the request's body, laid over it; empty where there is no switch.
    `thinks_unasked`: a model that can be switched thinks where the request says nothing about it.
    `samples` and `samples_thinking`: whether temperature and top_p are taken, and while the model thinks.
    `samples_both`: both may stand in one request, else temperature alone.
    `streams_thinking`: while it thinks, the answer has to be streamed.
    `calls_tools_thinking`: tools may be offered while it thinks; else it is switched off for requests with tools, and
    a model that always thinks gets its tools as text.
    `structures_thinking`: `response_format` may be sent while it thinks. `wants_word_json`: JSON mode is refused where
    no message says "json".
    `returned_fields` are the fields of an assistant message beside `content` and `tool_calls` that have to come back
    with the next turn, and `withheld_fields` those that must not; all others go back as they came.
    """

    tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    thinking: Thinking = Thinking.UNKNOWN
    thinking_on: Mapping[str, JsonValue] = field(default_factory=dict)
    thinking_off: Mapping[str, JsonValue] = field(default_factory=dict)
    thinks_unasked: bool = False
    samples: bool = True
    samples_thinking: bool = True
    samples_both: bool = True
    streams_thinking: bool = False
    calls_tools: bool = True
    calls_tools_thinking: bool = True
    structured: StructuredOutput = StructuredOutput.NONE
    structures_thinking: bool = True
    wants_word_json: bool = False
    takes_nullable_types: bool = True
    returned_fields: frozenset[str] = frozenset()
    withheld_fields: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ProviderProfile:
    """A provider by the name that `llm.provider` takes.

    `hosts` are endings of the hosts that it answers on; `base_url` is None where there is no common one, and may hold
    `{resource}` where everyone has an own. `behaviours` are tried in order by a pattern that the whole name of a model
    matches, whatever its case and without what stands before its last slash; `default` holds for the rest.
    `key_header` carries the key, as `Bearer …` where it is Authorization, else alone. `remaining_header` is the header
    that counts the requests that are left. `context_path` is where the server says how long a context it has, by a path
    under its host: a list of models for GET, and `/api/show` for POST with the model's name. `answer_header` and
    `fingerprint` tell the server by its first answer where the address does not: a header that only it sends, and the
    beginning of `system_fingerprint`. `embedding_batch` is how many texts one request for
    vectors may hold, None where the provider has none. `documents` leads to its own pages.
    """

    name: str
    title: str
    base_url: str | None
    api_key_env: str | None
    default: Behaviour
    hosts: tuple[str, ...] = ()
    behaviours: tuple[tuple[str, Behaviour], ...] = ()
    key_header: str = "Authorization"
    remaining_header: str | None = None
    context_path: str | None = None
    embedding_batch: int | None = None
    answer_header: str | None = None
    fingerprint: str | None = None
    documents: str | None = None
    is_local: bool = False

    def get_behaviour(self, model: str) -> Behaviour:
        name = model.rpartition("/")[2]
        matching = (kind for pattern, kind in self.behaviours if re.fullmatch(pattern, name, re.IGNORECASE))
        return next(matching, self.default)
