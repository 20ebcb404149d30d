"""The rules of each provider, as its server enforces them: docs/developers/provider-rules.md has their sources."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.providers.checks import (
    Check,
    refuse_bare_arrays,
    refuse_both_samples,
    refuse_disabled_by_ark,
    refuse_disabled_by_glm,
    refuse_effort_none,
    refuse_effort_none_of_google,
    refuse_effort_without_thinking,
    refuse_fields_by_litellm,
    refuse_fields_of_siliconflow,
    refuse_fields_unknown_to_google,
    refuse_forced_tools,
    refuse_json_while_thinking,
    refuse_json_without_its_word,
    refuse_listed_types,
    refuse_long_prompts,
    refuse_max_tokens,
    refuse_missing_reasoning,
    refuse_missing_signatures,
    refuse_old_samples,
    refuse_other_temperatures,
    refuse_sampling,
    refuse_schemas,
    refuse_temperature_while_thinking,
    refuse_thinking_disabled,
    refuse_thinking_of_ollama,
    refuse_tools_of_ollama,
    refuse_tools_while_thinking,
    refuse_tools_without_parser,
    refuse_turns_without_thoughts,
    refuse_unknown_fields,
    refuse_whole_answers_while_thinking,
)

Body = Mapping[str, Any]
IsThinking = Callable[[Body], bool]


def never(body: Body) -> bool:
    return False


def always(body: Body) -> bool:
    return True


def unless_effort_none(body: Body) -> bool:
    return body.get("reasoning_effort") != "none"


def unless_disabled(body: Body) -> bool:
    return (body.get("thinking") or {}).get("type") != "disabled"


def if_enabled(body: Body) -> bool:
    return (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")


def unless_not_enabled(body: Body) -> bool:
    return body.get("enable_thinking") is not False


def if_reasoning(body: Body) -> bool:
    reasoning = body.get("reasoning") or {}
    return bool(reasoning.get("enabled") or reasoning.get("effort") not in (None, "none"))


def unless_template_says_no(body: Body) -> bool:
    return (body.get("chat_template_kwargs") or {}).get("enable_thinking") is not False


@dataclass(frozen=True)
class ProviderRules:
    """How one provider's server answers for one model.

    `thinks` says whether the model thinks at such a body, `thoughts_field` where its thoughts stand (None: hidden, or
    as `<think>` in the text where `thinks_aloud`). `key_header` is where the key has to stand; without one every key is
    taken. `signs_calls`: as Gemini does. `cuts_at_tokens`: longer prompts lose what does not fit, in silence.
    `thought_tokens` come before each answer and count against `default_max_tokens` where the request says nothing.
    `context` is what the server says of the model's context, by a path; `headers` go with each answer.
    """

    provider: str
    model: str
    base_path: str = "/v1"
    checks: tuple[Check, ...] = ()
    thinks: IsThinking = never
    thoughts_field: str | None = "reasoning_content"
    thinks_aloud: bool = False
    key_header: str | None = "authorization"
    query: str = ""
    signs_calls: bool = False
    ignores_format: bool = False
    cuts_at_tokens: int | None = None
    thought_tokens: int = 30
    default_max_tokens: int | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    fingerprint: str | None = None
    leaves_calls_in_text: bool = False


_GPT = (refuse_unknown_fields(), refuse_sampling, refuse_max_tokens, refuse_bare_arrays)
_DEEPSEEK = "The `reasoning_content` in the thinking mode must be passed back to the API."
_KIMI = "thinking is enabled but reasoning_content is missing in assistant tool call message at index {place}"
_CLAUDE_KNOWN = ("thinking", "metadata", "store")
_VLLM_KNOWN = ("chat_template_kwargs", "top_k")
_MAX_LEN = 16_384


def _list_vllm_models(model: str, length: int) -> dict[str, Any]:
    row = {"id": model, "object": "model", "owned_by": "vllm", "max_model_len": length}
    return {"/v1/models": {"object": "list", "data": [row]}}


OPENAI = ProviderRules(
    "openai",
    "gpt-5.6-luna",
    checks=(*_GPT, refuse_tools_while_thinking),
    thinks=unless_effort_none,
    thoughts_field=None,
    headers={"x-ratelimit-remaining-requests": "499"},
)
OPENAI_ALWAYS = ProviderRules(
    "openai", "gpt-5-mini", checks=(*_GPT, refuse_effort_none), thinks=always, thoughts_field=None
)
OPENAI_WITHOUT_TOOLS = ProviderRules(
    "openai",
    "gpt-6-astra",
    checks=(*_GPT, refuse_effort_none, refuse_tools_while_thinking),
    thinks=always,
    thoughts_field=None,
)
AZURE = ProviderRules(
    "azure",
    "press-department",
    base_path="/openai/v1",
    checks=(*_GPT, refuse_effort_none),
    thinks=always,
    thoughts_field=None,
    key_header="api-key",
)
AZURE_DEPLOYMENT = ProviderRules(
    "azure",
    "press-department",
    base_path="/openai/deployments/press-department",
    query="api-version=2024-10-21",
    checks=(*_GPT, refuse_effort_none),
    thinks=always,
    thoughts_field=None,
    key_header="api-key",
)
ANTHROPIC = ProviderRules(
    "anthropic",
    "claude-sonnet-5-5",
    checks=(refuse_unknown_fields(*_CLAUDE_KNOWN), refuse_old_samples, refuse_thinking_disabled),
    thinks=always,
    thoughts_field=None,
    ignores_format=True,
    headers={"anthropic-ratelimit-requests-remaining": "99"},
)
ANTHROPIC_BUDGET = ProviderRules(
    "anthropic",
    "claude-haiku-4-5",
    checks=(
        refuse_unknown_fields(*_CLAUDE_KNOWN),
        refuse_both_samples,
        refuse_temperature_while_thinking,
        refuse_turns_without_thoughts,
    ),
    thinks=if_enabled,
    thoughts_field=None,
    ignores_format=True,
)
GEMINI = ProviderRules(
    "gemini",
    "gemini-3.8-flash",
    base_path="/v1beta/openai",
    checks=(
        refuse_fields_unknown_to_google,
        refuse_effort_none_of_google,
        refuse_listed_types,
        refuse_missing_signatures,
    ),
    thinks=always,
    thoughts_field=None,
    signs_calls=True,
)
DEEPSEEK = ProviderRules(
    "deepseek",
    "deepseek-flash",
    base_path="",
    checks=(refuse_schemas, refuse_json_without_its_word, refuse_forced_tools, refuse_missing_reasoning(_DEEPSEEK)),
    thinks=unless_disabled,
)
DASHSCOPE = ProviderRules(
    "dashscope",
    "qwen3-32b",
    base_path="/compatible-mode/v1",
    checks=(
        refuse_whole_answers_while_thinking,
        refuse_json_while_thinking,
        refuse_json_without_its_word,
        refuse_forced_tools,
    ),
    thinks=unless_not_enabled,
)
MOONSHOT = ProviderRules(
    "moonshot",
    "kimi-k2.6",
    checks=(refuse_other_temperatures, refuse_schemas, refuse_missing_reasoning(_KIMI)),
    thinks=unless_disabled,
)
MOONSHOT_ALWAYS = ProviderRules(
    "moonshot",
    "kimi-k2-thinking",
    checks=(refuse_other_temperatures, refuse_schemas, refuse_missing_reasoning(_KIMI)),
    thinks=always,
)
ZHIPU = ProviderRules("zhipu", "glm-5.2", base_path="/api/paas/v4", checks=(refuse_schemas,), thinks=unless_disabled)
ZHIPU_ALWAYS = ProviderRules(
    "zhipu", "glm-5.3-flash", base_path="/api/paas/v4", checks=(refuse_schemas, refuse_disabled_by_glm), thinks=always
)
VOLCENGINE = ProviderRules(
    "volcengine",
    "doubao-seed-2-0-mini-260428",
    base_path="/api/v3",
    checks=(refuse_effort_without_thinking,),
    thinks=unless_disabled,
)
VOLCENGINE_ALWAYS = ProviderRules(
    "volcengine",
    "doubao-seed-1-6-thinking-250615",
    base_path="/api/v3",
    checks=(refuse_disabled_by_ark,),
    thinks=always,
)
SILICONFLOW = ProviderRules(
    "siliconflow", "Qwen/Qwen3-32B", checks=(refuse_fields_of_siliconflow(("thinking",)),), thinks=unless_not_enabled
)
SILICONFLOW_PLAIN = ProviderRules(
    "siliconflow",
    "Qwen/Qwen3-Coder-30B-A3B-Instruct",
    checks=(refuse_fields_of_siliconflow(("thinking", "enable_thinking", "thinking_budget")),),
)
OPENROUTER = ProviderRules(
    "openrouter",
    "deepseek/deepseek-v4.1-flash",
    base_path="/api/v1",
    checks=(refuse_bare_arrays,),
    thinks=if_reasoning,
    thoughts_field="reasoning_details",
    context={"/api/v1/models": {"data": [{"id": "deepseek/deepseek-v4.1-flash", "context_length": 1_048_576}]}},
)
OLLAMA = ProviderRules(
    "ollama",
    "qwen3:8b",
    thinks=unless_effort_none,
    thoughts_field="reasoning",
    key_header=None,
    cuts_at_tokens=4096,
    fingerprint="fp_ollama",
    context={
        "/api/show": {"model_info": {"qwen3.context_length": 40_960}, "capabilities": ["completion", "tools"]},
        "/api/ps": {"models": [{"name": "qwen3:8b", "context_length": 4096}]},
    },
)
OLLAMA_WITHOUT_TOOLS = ProviderRules(
    "ollama",
    "gemma3:4b",
    checks=(refuse_tools_of_ollama, refuse_thinking_of_ollama),
    key_header=None,
    cuts_at_tokens=16_384,
    fingerprint="fp_ollama",
    context={
        "/api/show": {"model_info": {"gemma3.context_length": 131_072}, "capabilities": ["completion"]},
        "/api/ps": {"models": [{"name": "gemma3:4b", "context_length": 16_384}]},
    },
)
VLLM = ProviderRules(
    "vllm",
    "Qwen/Qwen3-8B",
    checks=(refuse_unknown_fields(*_VLLM_KNOWN), refuse_long_prompts(_MAX_LEN)),
    thinks=unless_template_says_no,
    thoughts_field=None,
    thinks_aloud=True,
    key_header=None,
    context=_list_vllm_models("Qwen/Qwen3-8B", _MAX_LEN),
)
VLLM_WITHOUT_PARSER = ProviderRules(
    "vllm",
    "Qwen/Qwen3-8B",
    checks=(refuse_unknown_fields(*_VLLM_KNOWN), refuse_tools_without_parser, refuse_long_prompts(_MAX_LEN)),
    thinks=unless_template_says_no,
    thoughts_field="reasoning",
    key_header=None,
    context=_list_vllm_models("Qwen/Qwen3-8B", _MAX_LEN),
)
LITELLM = ProviderRules(
    "litellm",
    "press",
    checks=(refuse_fields_by_litellm("top_p", "response_format", "enable_thinking", "reasoning_effort"),),
    thinks=always,
    headers={"x-litellm-call-id": "b980db26"},
    context={"/model/info": {"data": [{"model_name": "press", "model_info": {"max_input_tokens": 200_000}}]}},
)
GENERIC = ProviderRules("generic", "house-model", checks=(refuse_unknown_fields(),))
THINKS_TO_ITS_LIMIT = ProviderRules(
    "generic",
    "deep-thinker",
    checks=(refuse_unknown_fields(),),
    thinks=always,
    thought_tokens=1500,
    default_max_tokens=1024,
)

MAIN_RULES = (
    *(OPENAI, AZURE, ANTHROPIC, GEMINI, DEEPSEEK, DASHSCOPE, MOONSHOT, ZHIPU, VOLCENGINE, SILICONFLOW, OPENROUTER),
    *(OLLAMA, VLLM, LITELLM, GENERIC),
)
"""One model of each provider, in the order of the registry."""
