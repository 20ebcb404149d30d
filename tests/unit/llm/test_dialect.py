"""What is sent to which model, and what its refusals and answers teach."""

import json
from typing import Any

import httpx
import openai
import pytest

from monitor.config.llm import LlmSettings
from monitor.llm.answer_schemas import ANY_OBJECT, TEXT, describe_list, describe_object
from monitor.llm.chat import ChatMessage, Completion, CompletionRequest, CutReason, Tool, ToolCall
from monitor.llm.context import Calibration
from monitor.llm.dialect import Attempt, Call, Dialect, EndpointFacts
from monitor.llm.providers.registry import get_provider
from monitor.llm.refusals import Feature, is_account_empty, read_wait
from monitor.vocabulary import Phase

TOOL = Tool(
    name="save",
    description="saves",
    parameters={"type": "object", "properties": {"date": {"type": ["string", "null"]}}, "required": ["date"]},
)
QUESTION = [ChatMessage(role="system", content="JSON"), ChatMessage(role="user", content="问")]
LABELS = describe_list(describe_object(i={"type": "integer"}, why=TEXT))


def begin(
    provider: str = "generic",
    model: str = "m",
    *,
    facts: EndpointFacts | None = None,
    messages: list[ChatMessage] | None = None,
    tools: tuple[Tool, ...] = (),
    schema: dict[str, Any] | None = None,
    **settings: Any,
) -> Call:
    dialect = Dialect(model, get_provider(provider), LlmSettings(**settings), facts or EndpointFacts())
    request = CompletionRequest(messages or QUESTION, phase=Phase.CRAWL, tools=tools, schema=schema)
    return dialect.begin(request, temperature=0.3, top_p=0.85)


def refuse(message: str, status: int = 400) -> openai.APIStatusError:
    body = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    response = httpx.Response(status, request=httpx.Request("POST", "http://a/v1"), json={"error": body})
    return openai.BadRequestError(message, response=response, body=body)


def learn(call: Call, message: str, status: int = 400) -> Attempt:
    """Have the next attempt refused; return the one after."""
    assert call.learn_from_refusal(call.prepare(), refuse(message, status)), f"nothing was learned from: {message}"
    return call.prepare()


def with_call(**extra: Any) -> list[ChatMessage]:
    call = ToolCall(id="1", name="save", arguments="{}", extra=extra.pop("call_extra", {}))
    answer = ChatMessage(role="assistant", tool_calls=[call], extra=extra)
    return [*QUESTION, answer, ChatMessage(role="tool", content="ok", tool_call_id="1")]


def test_a_plain_server_is_asked_as_before() -> None:
    arguments = begin(tools=(TOOL,)).prepare().arguments
    assert set(arguments) == {"model", "messages", "tools", "temperature", "top_p"}
    assert arguments["tools"][0]["function"]["parameters"] == TOOL.parameters
    assert "response_format" not in begin(schema=LABELS).prepare().arguments


def test_settings_reach_the_body() -> None:
    call = begin(max_tokens=500, reasoning_effort="low", extra_body={"top_k": 20, "nested": {"a": 1}})
    assert call.prepare().arguments["extra_body"] == {
        "max_tokens": 500,
        "reasoning_effort": "low",
        "top_k": 20,
        "nested": {"a": 1},
    }


@pytest.mark.parametrize(
    ("provider", "model", "off"),
    [
        ("deepseek", "deepseek-v4-pro", {"thinking": {"type": "disabled"}}),
        ("dashscope", "qwen3-32b", {"enable_thinking": False}),
        ("vllm", "Qwen/Qwen3-32B", {"chat_template_kwargs": {"enable_thinking": False}}),
    ],
)
def test_thinking_is_switched_as_the_provider_has_it(provider: str, model: str, off: dict[str, Any]) -> None:
    assert "extra_body" not in begin(provider, model).prepare().arguments
    assert begin(provider, model, thinking="off").prepare().arguments["extra_body"] == off
    assert begin(provider, model, thinking="on").prepare().arguments["extra_body"] != off


def test_an_answer_is_streamed_where_thinking_demands_it() -> None:
    assert begin("dashscope", "qwen3-32b").prepare().is_streamed
    assert not begin("dashscope", "qwen3-32b", thinking="off").prepare().is_streamed


def test_what_has_to_come_back_is_filled_where_a_turn_lacks_it() -> None:
    messages = (
        begin("moonshot", "kimi-k2-thinking", messages=with_call(), tools=(TOOL,)).prepare().arguments["messages"]
    )
    assert messages[2]["reasoning_content"]
    kept = begin("moonshot", "kimi-k2-thinking", messages=with_call(reasoning_content="想"), tools=(TOOL,))
    assert kept.prepare().arguments["messages"][2]["reasoning_content"] == "想"


def test_a_schema_holds_the_answer_and_an_array_comes_back_out_of_its_object() -> None:
    call = begin("openai", "gpt-4.1", schema=LABELS)
    attempt = call.prepare()
    schema = attempt.arguments["response_format"]["json_schema"]["schema"]
    assert (schema["type"], schema["properties"]["answer"]) == ("object", LABELS)
    answer = call.read(attempt, Completion(text='{"answer": [{"i": 1, "why": "新"}]}'))
    assert json.loads(answer.text) == [{"i": 1, "why": "新"}]


def test_json_mode_is_for_objects_alone() -> None:
    assert "response_format" not in begin("zhipu", "glm-4.6", schema=LABELS, thinking="off").prepare().arguments
    chosen = begin("zhipu", "glm-4.6", schema=dict(ANY_OBJECT), thinking="off").prepare().arguments["response_format"]
    assert chosen == {"type": "json_object"}


@pytest.mark.parametrize(
    ("message", "gone"),
    [
        ("Unsupported value: 'temperature' does not support 0.3 with this model.", "temperature"),
        ("`temperature` and `top_p` cannot both be specified for this model.", "top_p"),
        ('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', "tools"),
        ("registry.ollama.ai/library/gemma3 does not support tools", "tools"),
        ("No endpoints found that support tool use.", "tools"),
    ],
)
def test_what_is_refused_is_left_out_from_then_on(message: str, gone: str) -> None:
    call = begin(tools=(TOOL,))
    assert gone in call.prepare().arguments
    assert gone not in learn(call, message).arguments
    assert gone not in begin(tools=(TOOL,), facts=call.dialect.facts).prepare().arguments


def test_of_two_calls_that_are_refused_at_once_both_are_asked_again() -> None:
    first = begin()
    second = begin(facts=first.dialect.facts)
    attempts = first.prepare(), second.prepare()
    error = refuse("temperature is not supported")
    assert first.learn_from_refusal(attempts[0], error)
    assert second.learn_from_refusal(attempts[1], error)


def test_a_refused_schema_gives_way_to_json_mode_and_that_to_words() -> None:
    schema = describe_object(query=TEXT)
    call = begin("openai", "gpt-4.1", schema=schema)
    message = "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."
    assert learn(call, message).arguments["response_format"] == {"type": "json_object"}
    assert "response_format" not in learn(call, "This response_format type is unavailable now").arguments


def test_a_field_of_tokens_gives_way_to_the_other() -> None:
    call = begin(max_tokens=900)
    message = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    )
    assert learn(call, message).arguments["extra_body"] == {"max_completion_tokens": 900}


def test_types_that_may_be_null_are_written_plainly() -> None:
    call = begin(tools=(TOOL,))
    message = (
        'Invalid JSON payload received. Unknown name "type" at \'tools[0].function_declarations[0].parameters.'
        "properties[0].value': Proto field is not repeating, cannot start list."
    )
    parameters = learn(call, message).arguments["tools"][0]["function"]["parameters"]
    assert parameters == {"type": "object", "properties": {"date": {"type": "string"}}, "required": []}


def test_a_server_that_answers_only_streams_is_streamed() -> None:
    message = "parameter.enable_thinking must be set to false for non-streaming calls"
    attempt = learn(begin(tools=(TOOL,)), message)
    assert attempt.is_streamed
    assert "tools" in attempt.arguments


def test_thoughts_and_signatures_are_added_where_a_server_misses_them() -> None:
    message = "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"
    assert learn(begin(messages=with_call(), tools=(TOOL,)), message).arguments["messages"][2]["reasoning_content"]
    message = "Function call is missing a thought_signature in functionCall parts."
    called = learn(begin(messages=with_call(), tools=(TOOL,)), message).arguments["messages"][2]["tool_calls"][0]
    assert called["extra_content"]["google"]["thought_signature"]


def test_a_server_that_takes_no_further_fields_gets_none() -> None:
    messages = with_call(reasoning="想", call_extra={"extra_content": {"a": 1}})
    call = begin(messages=messages, tools=(TOOL,))
    assert call.prepare().arguments["messages"][2]["reasoning"] == "想"
    after = learn(call, "'messages.2' : property 'reasoning' is unsupported").arguments["messages"][2]
    assert ("reasoning" in after, "extra_content" in after["tool_calls"][0]) == (False, False)


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens.",
        "Range of input length should be [1, 4096]",
        "the request exceeds the available context size (4096 tokens)",
        "Your request exceeded model token limit: 4096",
        "prompt is too long: 9000 tokens > 4096 maximum",
        "length of prompt_tokens (9000) must be less than max_seq_len (4096).",
        "The input token count (9000) exceeds the maximum number of tokens allowed (4096).",
        "the model is loaded with a context length of only 4096 tokens, which is not enough",
    ],
)
def test_a_prompt_is_made_to_fit_the_context_that_a_refusal_names(message: str) -> None:
    long = [*QUESTION, ChatMessage(role="user", content="字" * 12_000)]
    call = begin(messages=long)
    attempt = learn(call, message)
    assert call.dialect.facts.context_tokens == 4096
    assert sum(len(message["content"]) for message in attempt.arguments["messages"]) < 4096 * 1.5
    assert call.dialect.prompt_chars is not None
    assert call.dialect.prompt_chars < 6200


@pytest.mark.parametrize(
    "message", ["Input data may contain inappropriate content: data_inspection_failed", "the model m does not exist"]
)
def test_a_refusal_of_the_content_teaches_nothing(message: str) -> None:
    call = begin("openai", "gpt-4.1", schema=describe_object(query=TEXT))
    assert not call.learn_from_refusal(call.prepare(), refuse(message))


def test_a_vague_refusal_costs_what_was_added_and_is_forgotten_where_that_did_not_help() -> None:
    call = begin("openai", "gpt-4.1", schema=describe_object(query=TEXT))
    assert learn(call, "API 调用参数有误，请检查文档。").arguments["response_format"] == {"type": "json_object"}
    assert "response_format" not in learn(call, "API 调用参数有误，请检查文档。").arguments
    assert not call.learn_from_refusal(call.prepare(), refuse("API 调用参数有误，请检查文档。"))
    assert call.dialect.facts.refused == set()


def test_thinking_that_used_up_an_answer_is_switched_off() -> None:
    empty = Completion(completion_tokens=800, is_cut=True, cut_by=CutReason.LENGTH)
    call = begin("vllm", "Qwen/Qwen3-32B")
    assert call.learn_from_answer(empty)
    assert call.prepare().arguments["extra_body"] == {"chat_template_kwargs": {"enable_thinking": False}}
    assert not call.learn_from_answer(Completion(text="好"))
    dialect = call.dialect
    assert "extra_body" not in begin("vllm", "Qwen/Qwen3-32B", facts=dialect.facts).prepare().arguments
    for _ in range(2):
        assert dialect.begin(call.asked, temperature=0, top_p=1).learn_from_answer(empty)
    assert "extra_body" in begin("vllm", "Qwen/Qwen3-32B", facts=dialect.facts).prepare().arguments, "for good"


def test_an_answer_that_thoughts_used_up_gets_more_room_where_there_is_no_switch() -> None:
    empty = Completion(completion_tokens=800, is_cut=True, cut_by=CutReason.LENGTH)
    call = begin()
    assert call.learn_from_answer(empty)
    assert call.prepare().arguments["extra_body"] == {"max_tokens": 4096}
    limited = begin(max_tokens=800)
    assert not limited.learn_from_answer(empty), "the administrator's limit holds"
    assert not begin().learn_from_answer(Completion(is_cut=True, cut_by=CutReason.LENGTH)), "nothing was thought"


def test_an_answer_is_taken_from_the_thoughts_only_as_the_json_that_ends_them() -> None:
    call = begin(schema=LABELS)
    attempt = call.prepare()
    thoughts = '先看第一条……\n[{"i": 1, "why": "新"}]'
    assert json.loads(call.read(attempt, Completion(extra={"reasoning_content": thoughts})).text)[0]["i"] == 1
    assert call.read(attempt, Completion(extra={"reasoning_content": f"{thoughts} 也许不对"})).text == ""
    cut = Completion(extra={"reasoning_content": thoughts}, is_cut=True)
    assert call.read(attempt, cut).text == ""
    plain = begin()
    assert plain.read(plain.prepare(), Completion(extra={"reasoning_content": thoughts})).text == ""


def test_a_prompt_is_cut_where_the_count_stays_the_same_or_far_below_what_was_measured() -> None:
    facts = EndpointFacts()

    def count(chars: int, tokens: int) -> bool:
        call = begin(messages=[ChatMessage(role="user", content="字" * chars)], facts=facts)
        return call.read(call.prepare(), Completion(text="好", prompt_tokens=tokens)).is_prompt_cut

    assert [count(chars, round(chars * 0.6)) for chars in (500, 900, 1400, 2000, 2500, 4000)] == [False] * 6
    assert count(9000, 4096)
    assert facts.cut_at_tokens == 4096
    assert not count(6000, 3700)


def test_a_call_that_stands_in_the_text_is_taken_out_of_it() -> None:
    call = begin(tools=(TOOL,))
    marked = '<tool_call>{"name": "save", "arguments": {"date": null}}</tool_call>'
    answer = call.read(call.prepare(), Completion(text=marked))
    assert ([made.name for made in answer.tool_calls], answer.text) == (["save"], "")
    plain = Completion(text='{"tool": "save", "arguments": {}}')
    assert call.read(call.prepare(), plain).tool_calls == [], "without its marks it may be prose"
    call.dialect.facts.refused.add(Feature.TOOLS)
    assert [made.name for made in call.read(call.prepare(), plain).tool_calls] == ["save"]


def test_the_same_count_for_prompts_of_other_lengths_is_a_cut() -> None:
    facts = EndpointFacts()
    dialect = Dialect("m", get_provider("generic"), LlmSettings(), facts)
    found = []
    for chars, tokens in ((4000, 2700), (7000, 4096), (6800, 4096), (9000, 4096)):
        request = CompletionRequest([ChatMessage(role="user", content="字" * chars)], phase=Phase.CRAWL)
        call = dialect.begin(request, temperature=0, top_p=1)
        found.append(call.read(call.prepare(), Completion(text="好", prompt_tokens=tokens)).is_prompt_cut)
    assert found == [False, False, False, True]
    assert facts.cut_at_tokens == 4096


def test_counts_that_vary_by_themselves_raise_no_alarm() -> None:
    calibration = Calibration()
    for number in range(60):
        chars = 500 + 200 * number
        tokens = round(chars * (0.55 if number % 3 else 0.7))
        assert not calibration.is_cut(chars // 5, chars - chars // 5, tokens)
        calibration.add(chars // 5, chars - chars // 5, tokens)


@pytest.mark.parametrize("message", ["Prompt 超长", "Total tokens of image and text exceed max message tokens."])
def test_a_prompt_is_shortened_where_a_refusal_names_no_length(message: str) -> None:
    call = begin(messages=[*QUESTION, ChatMessage(role="user", content="字" * 12_000)])
    before = len(call.prepare().arguments["messages"][-1]["content"])
    shorter = [len(learn(call, message).arguments["messages"][-1]["content"]) for _ in range(3)]
    assert before > shorter[0] > shorter[1] > shorter[2]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Rate limit reached. Please try again in 6.2s.", 6.2),
        ("request reached max RPM: 3, please try again after 1 seconds", 1),
        ("Please retry after 250ms", 0.25),
        ("too many requests", None),
    ],
)
def test_the_wait_is_read_from_a_refusal(text: str, seconds: float | None) -> None:
    assert read_wait(text) == seconds


@pytest.mark.parametrize(
    ("message", "status", "is_empty"),
    [
        ("Insufficient Balance", 402, True),
        ("您的账户已欠费，请充值后重试", 429, True),
        ("You exceeded your current quota (insufficient_quota)", 429, True),
        ("Access denied, please make sure your account is in good standing (Arrearage)", 400, True),
        ("max RPM reached", 429, False),
    ],
)
def test_an_empty_account_is_told_from_a_full_minute(message: str, status: int, is_empty: bool) -> None:
    assert is_account_empty(refuse(message, status)) == is_empty
