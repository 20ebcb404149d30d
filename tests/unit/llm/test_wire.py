import json

import pytest

from monitor.errors import ModelFailed
from monitor.llm.chat import ChatMessage, Tool, ToolCall
from monitor.llm.wire import MessagePieces, build_completion, build_messages, build_tools, parse_chunk, parse_completion


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


def test_what_comes_with_an_answer_goes_back_as_it_came() -> None:
    signed = {"google": {"thought_signature": "c2ln"}}
    call = {"id": "a", "type": "function", "function": {"name": "finish", "arguments": "{}"}, "extra_content": signed}
    message = {
        "role": "assistant",
        "content": None,
        "reasoning_content": "先想",
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}],
        "annotations": [],
        "refusal": None,
        "unknown": {},
        "tool_calls": [call],
    }
    read = parse_completion(body(message))
    assert read.text == ""
    assert read.reasoning_chars == 2
    assert set(read.extra) == {"reasoning_content", "reasoning_details"}
    back = ChatMessage(role="assistant", content=read.text, tool_calls=read.tool_calls, extra=read.extra)
    (sent,) = json.loads(json.dumps(build_messages([back])))
    assert sent["tool_calls"] == [call]
    assert {name: sent[name] for name in read.extra} == read.extra
    assert back.size_chars > len("先想") + len(json.dumps(signed))


def stream(*deltas: dict[str, object]) -> MessagePieces:
    pieces = MessagePieces()
    for delta in deltas:
        chunk = parse_chunk(json.dumps({"choices": [{"delta": delta}]}).encode())
        assert chunk.choices
        assert chunk.choices[0].delta
        pieces.add(chunk.choices[0].delta)
    return pieces


def test_a_streamed_message_is_put_together_from_its_pieces() -> None:
    def call(index: int, arguments: str, **more: object) -> dict[str, object]:
        return {"tool_calls": [{"index": index, "function": {"arguments": arguments, **more}, **more}]}

    pieces = stream(
        {"role": "assistant", "reasoning_content": "先"},
        {"reasoning_content": "想", "reasoning_details": [{"index": 0, "type": "reasoning.text", "text": "先"}]},
        {"reasoning_details": [{"index": 0, "type": "reasoning.text", "text": "想", "signature": "s"}]},
        {"content": "好"},
        call(0, "", id="a", name="browse_page"),
        call(0, '{"url":'),
        call(1, "{}", id="b", name="finish"),
        call(0, ' "u"}'),
    )
    message = pieces.build_message()
    read = build_completion(message, None)
    assert [(made.id, made.name, made.arguments) for made in read.tool_calls] == [
        ("a", "browse_page", '{"url": "u"}'),
        ("b", "finish", "{}"),
    ]
    assert read.text == "好"
    assert read.extra["reasoning_content"] == "先想"
    assert read.extra["reasoning_details"] == [{"index": 0, "type": "reasoning.text", "text": "先想", "signature": "s"}]


@pytest.mark.parametrize("numbers", [(0, 0), (None, None)], ids=["all numbered 0", "not numbered"])
def test_calls_that_a_server_does_not_number_are_told_apart(numbers: tuple[int | None, int | None]) -> None:
    pieces = stream(
        *(
            {"tool_calls": [{"index": number, "id": name, "function": {"name": name, "arguments": "{}"}}]}
            for number, name in zip(numbers, ("one", "two"), strict=True)
        )
    )
    assert [call.name for call in build_completion(pieces.build_message(), None).tool_calls] == ["one", "two"]


@pytest.mark.parametrize("reason", ["error", "network_error", "insufficient_system_resource"])
def test_an_answer_that_its_server_broke_off_is_a_failed_call(reason: str) -> None:
    broken = {"choices": [{"message": {"content": "半句"}, "finish_reason": reason}]}
    with pytest.raises(ModelFailed, match=reason) as failed:
        parse_completion(json.dumps(broken).encode())
    assert failed.value.outcome == "malformed"


def test_usage_is_read_where_a_server_puts_it_into_the_choice() -> None:
    answer = {"choices": [{"message": {"content": "好"}, "usage": {"prompt_tokens": 7, "completion_tokens": 1}}]}
    assert parse_completion(json.dumps(answer).encode()).prompt_tokens == 7
