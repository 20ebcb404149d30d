import json

import pytest

from monitor.errors import ModelFailed
from monitor.llm.chat import ChatMessage, Tool, ToolCall
from monitor.llm.wire import build_messages, build_tools, parse_completion


def body(message: object, **more: object) -> bytes:
    return json.dumps({"choices": [{"message": message}], **more}).encode()


def test_text_and_usage_are_read() -> None:
    read = parse_completion(body({"content": "好"}, usage={"prompt_tokens": 7, "completion_tokens": 2}))
    assert (read.text, read.prompt_tokens, read.completion_tokens) == ("好", 7, 2)


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None, "completion_tokens": -1}])
def test_missing_usage_is_nought(usage: object) -> None:
    read = parse_completion(body({"content": "x"}, usage=usage))
    assert (read.prompt_tokens, read.completion_tokens) == (0, 0)


@pytest.mark.parametrize("message", [{"content": None}, {}, {"content": "", "tool_calls": None}, {"content": []}])
def test_an_answer_without_content_is_an_empty_completion(message: object) -> None:
    read = parse_completion(body(message))
    assert read.text == ""
    assert read.tool_calls == []


@pytest.mark.parametrize(
    ("said", "cut_by"),
    [
        ("stop", None),
        ("tool_calls", None),
        (None, None),
        ("length", "length"),
        ("MAX_TOKENS", "length"),
        ("content_filter", "content_filter"),
        ("sensitive", "content_filter"),
    ],
)
def test_an_answer_that_the_server_ended_is_cut(said: str | None, cut_by: str | None) -> None:
    read = parse_completion(json.dumps({"choices": [{"message": {"content": "半句"}, "finish_reason": said}]}).encode())
    assert (read.text, read.is_cut, read.cut_by) == ("半句", cut_by is not None, cut_by)


def test_text_in_parts_is_joined() -> None:
    assert (
        parse_completion(body({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})).text == "ab"
    )


def test_tool_calls_get_arguments_as_text_and_ids_that_differ() -> None:
    calls = [
        {"id": "a", "function": {"name": "finish", "arguments": None}},
        {"id": "a", "function": {"name": "browse_page", "arguments": {"url": "http://a/"}}},
        {"function": {"name": "finish", "arguments": "{"}},
        {"id": "x", "function": None},
    ]
    read = parse_completion(body({"content": None, "tool_calls": calls})).tool_calls
    assert [call.arguments for call in read] == ["", '{"url": "http://a/"}', "{"]
    assert len({call.id for call in read}) == 3


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"<html>502</html>",
        b"null",
        b"[]",
        b"\xff\xfe",
        b"{}",
        b'{"choices": []}',
        b'{"choices": null}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": "x"}',
        b'{"error": {"message": "overloaded"}, "choices": [{"message": {"content": "x"}}]}',
    ],
)
def test_what_is_no_chat_completion_is_a_failed_call(answer: bytes) -> None:
    with pytest.raises(ModelFailed) as failed:
        parse_completion(answer)
    assert failed.value.outcome == "malformed"


def test_past_tool_arguments_go_out_as_json() -> None:
    calls = [
        ToolCall(id="1", name="browse_page", arguments='{"url": "http://a/"'),
        ToolCall(id="2", name="finish", arguments="nonsense"),
        ToolCall(id="3", name="finish", arguments='{"reason": "好"}'),
    ]
    (message,) = build_messages([ChatMessage(role="assistant", tool_calls=calls)])
    sent = [call["function"]["arguments"] for call in json.loads(json.dumps(message))["tool_calls"]]
    assert sent == ['{"url":"http://a/"}', "{}", '{"reason": "好"}']


def test_half_characters_of_a_page_do_not_stop_the_call() -> None:
    (message,) = build_messages([ChatMessage(role="user", content="a\ud800b")])
    assert json.dumps(message, ensure_ascii=False).encode()


def test_a_tool_answer_names_its_call_and_tools_have_their_schema() -> None:
    (message,) = build_messages([ChatMessage(role="tool", content="ok", tool_call_id="7")])
    assert json.loads(json.dumps(message)) == {"role": "tool", "content": "ok", "tool_call_id": "7"}
    (tool,) = build_tools([Tool(name="finish", description="end", parameters={"type": "object"})])
    assert tool["function"]["name"] == "finish"
