"""The servers of the contract test: each refuses what its provider refuses, in the provider's words."""

import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from tests.providers import rules as rule_sets
from tests.providers.rules import MAIN_RULES, ProviderRules
from tests.providers.server import API_KEY, ProviderServer

TOOL = {
    "type": "function",
    "function": {
        "name": "browse_page",
        "description": "Open a page",
        "parameters": {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]},
    },
}
NULLABLE_TOOL = json.loads(json.dumps(TOOL).replace('"type": "string"', '"type": ["string", "null"]'))
QUESTION = [{"role": "user", "content": "Section of http://127.0.0.1/news/ : 2026-01-01 to 2026-02-01"}]
SAMPLING = {"temperature": 0.3, "top_p": 0.85}


async def ask(rules: ProviderRules, headers: Mapping[str, str] | None = None, **body: Any) -> httpx.Response:
    server = ProviderServer(rules)
    name = rules.key_header or "authorization"
    known = {name: f"Bearer {API_KEY}" if name == "authorization" else API_KEY} if headers is None else headers
    async with server.serve() as base_url, httpx.AsyncClient() as client:
        url = f"{base_url}/chat/completions" + (f"?{rules.query}" if rules.query else "")
        return await client.post(url, json={"model": rules.model, "messages": QUESTION, **body}, headers=known)


def write_turn(answer: dict[str, Any], **changes: Any) -> list[dict[str, Any]]:
    """The conversation after a turn with a tool call, whose message is changed."""
    message = {**answer["choices"][0]["message"], **changes}
    result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "a page"}
    return [*QUESTION, {name: value for name, value in message.items() if value is not ...}, result]


@pytest.mark.parametrize("rules", MAIN_RULES, ids=lambda rules: rules.provider)
async def test_each_server_wants_its_key_where_the_provider_wants_it(rules: ProviderRules) -> None:
    answer = await ask(rules, headers={"x-other": API_KEY}, stream=True)
    assert answer.status_code == (401 if rules.key_header else 200)


@pytest.mark.parametrize(
    ("rules", "body", "word"),
    [
        (rule_sets.OPENAI, {"temperature": 0.3}, "Only the default (1) value"),
        (rule_sets.OPENAI, {"max_tokens": 100}, "Use 'max_completion_tokens' instead"),
        (rule_sets.OPENAI, {"tools": [TOOL]}, "use /v1/responses or set reasoning_effort to 'none'"),
        (rule_sets.OPENAI, {"enable_thinking": False}, "Unknown parameter"),
        (rule_sets.OPENAI_ALWAYS, {"reasoning_effort": "none"}, "does not support 'none'"),
        (rule_sets.ANTHROPIC, SAMPLING, "is deprecated for this model"),
        (rule_sets.ANTHROPIC, {"thinking": {"type": "disabled"}}, "not supported"),
        (rule_sets.ANTHROPIC_BUDGET, SAMPLING, "cannot both be specified"),
        (rule_sets.GEMINI, {"tools": [NULLABLE_TOOL]}, "Proto field is not repeating, cannot start list"),
        (rule_sets.GEMINI, {"thinking": {"type": "enabled"}}, "Cannot find field"),
        (rule_sets.GEMINI, {"reasoning_effort": "none"}, "invalid argument"),
        (rule_sets.DEEPSEEK, {"response_format": {"type": "json_schema"}}, "unavailable now"),
        (rule_sets.DASHSCOPE, {}, "must be set to false for non-streaming calls"),
        (rule_sets.DASHSCOPE, {"stream": True, "response_format": {"type": "json_object"}}, "Json mode response"),
        (rule_sets.DASHSCOPE, {"enable_thinking": False, "response_format": {"type": "json_object"}}, "word 'json'"),
        (rule_sets.MOONSHOT, {"temperature": 0.3}, "only 1 is allowed"),
        (rule_sets.ZHIPU_ALWAYS, {"thinking": {"type": "disabled"}}, "1210"),
        (rule_sets.VOLCENGINE_ALWAYS, {"thinking": {"type": "disabled"}}, "Unsupported thinking type"),
        (rule_sets.SILICONFLOW_PLAIN, {"enable_thinking": False}, "20015"),
        (rule_sets.OLLAMA_WITHOUT_TOOLS, {"tools": [TOOL]}, "does not support tools"),
        (rule_sets.VLLM_WITHOUT_PARSER, {"tools": [TOOL]}, "--enable-auto-tool-choice"),
        (rule_sets.VLLM, {"max_tokens": 20_000}, "maximum context length is 16384 tokens"),
        (rule_sets.LITELLM, {"top_p": 0.9}, "UnsupportedParamsError"),
    ],
    ids=lambda part: part.model if isinstance(part, ProviderRules) else part if isinstance(part, str) else "",
)
async def test_a_server_refuses_what_its_provider_refuses(rules: ProviderRules, body: Any, word: str) -> None:
    answer = await ask(rules, **body)
    assert answer.status_code == 400
    assert word in json.dumps(answer.json(), ensure_ascii=False)


@pytest.mark.parametrize(
    ("rules", "word"),
    [(rule_sets.DEEPSEEK, "must be passed back"), (rule_sets.MOONSHOT, "reasoning_content is missing")],
    ids=lambda value: getattr(value, "provider", "word"),
)
async def test_thoughts_have_to_come_back_with_the_turn_even_if_they_are_empty(rules: ProviderRules, word: str) -> None:
    first = (await ask(rules, tools=[TOOL])).json()
    refused = await ask(rules, tools=[TOOL], messages=write_turn(first, reasoning_content=...))
    assert refused.status_code == 400
    assert word in refused.text
    for thoughts in ("", first["choices"][0]["message"]["reasoning_content"]):
        taken = await ask(rules, tools=[TOOL], messages=write_turn(first, reasoning_content=thoughts))
        assert taken.status_code == 200
    switched_off = await ask(
        rules, tools=[TOOL], messages=write_turn(first, reasoning_content=...), thinking={"type": "disabled"}
    )
    assert switched_off.status_code == 200


async def test_the_signature_of_a_call_has_to_come_back_as_it_was() -> None:
    first = (await ask(rule_sets.GEMINI, tools=[TOOL])).json()
    assert (await ask(rule_sets.GEMINI, tools=[TOOL], messages=write_turn(first))).status_code == 200
    (call,) = first["choices"][0]["message"]["tool_calls"]
    bare = {name: value for name, value in call.items() if name != "extra_content"}
    changed = {**call, "extra_content": {"google": {"thought_signature": "another"}}}
    for calls, word in (([bare], "missing a thought_signature"), ([changed], "Corrupted")):
        refused = await ask(rule_sets.GEMINI, tools=[TOOL], messages=write_turn(first, tool_calls=calls))
        assert refused.status_code == 400
        assert word in refused.json()[0]["error"]["message"]


async def test_claude_takes_no_second_turn_with_a_budget_for_thoughts() -> None:
    rules, thinking = rule_sets.ANTHROPIC_BUDGET, {"type": "enabled", "budget_tokens": 2048}
    first = (await ask(rules, tools=[TOOL], thinking=thinking)).json()
    refused = await ask(rules, tools=[TOOL], thinking=thinking, messages=write_turn(first))
    assert "Expected `thinking`" in refused.text
    assert (await ask(rules, tools=[TOOL], messages=write_turn(first))).status_code == 200


async def test_ollama_cuts_a_long_prompt_without_a_word() -> None:
    long = [{"role": "user", "content": "页" * 20_000}]
    answer = await ask(rule_sets.OLLAMA, messages=long)
    assert answer.status_code == 200
    assert answer.json()["usage"]["prompt_tokens"] == 4096


async def test_thoughts_may_use_up_an_answer() -> None:
    empty = (await ask(rule_sets.THINKS_TO_ITS_LIMIT)).json()["choices"][0]
    assert (empty["message"]["content"], empty["finish_reason"]) == ("", "length")
    whole = (await ask(rule_sets.THINKS_TO_ITS_LIMIT, max_tokens=8000)).json()["choices"][0]
    assert whole["message"]["content"]
    assert whole["finish_reason"] == "stop"


async def test_azure_wants_the_version_of_a_deployment_in_its_address() -> None:
    rules = rule_sets.AZURE_DEPLOYMENT
    assert (await ask(rules)).status_code == 200
    async with ProviderServer(rules).serve() as base_url, httpx.AsyncClient() as client:
        body = {"model": rules.model, "messages": QUESTION}
        answer = await client.post(f"{base_url}/chat/completions", json=body, headers={"api-key": API_KEY})
    assert answer.status_code == 404


async def test_a_stream_brings_thoughts_and_the_arguments_of_calls_in_pieces() -> None:
    answer = await ask(rule_sets.DASHSCOPE, tools=[TOOL], stream=True, stream_options={"include_usage": True})
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
    deltas = [event["choices"][0]["delta"] for event in events if event["choices"]]
    assert "".join(delta.get("reasoning_content") or "" for delta in deltas)
    pieces = [call["function"]["arguments"] for delta in deltas for call in delta.get("tool_calls") or ()]
    assert json.loads("".join(pieces))["url"].startswith("http://127.0.0.1/news/")
    assert events[-1]["usage"]["completion_tokens"] > 0


async def test_a_model_without_tools_answers_a_prompt_that_describes_them() -> None:
    described = 'Answer with one JSON object:\n{"tool": "NAME", "arguments": {…}}\n\n- browse_page: Open a page\n'
    system = {"role": "system", "content": described}
    first = (await ask(rule_sets.VLLM_WITHOUT_PARSER, messages=[system, *QUESTION])).json()["choices"][0]["message"]
    assert json.loads(first["content"])["tool"] == "browse_page"
    result = {"role": "user", "content": "[browse_page]\nan empty page"}
    turns = [system, *QUESTION, {"role": "assistant", "content": first["content"]}, result]
    second = (await ask(rule_sets.VLLM_WITHOUT_PARSER, messages=turns)).json()["choices"][0]["message"]
    assert json.loads(second["content"])["tool"] == "finish"
