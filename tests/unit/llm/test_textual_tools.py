"""Tools as text: what a model without tools is told, and how its calls are read."""

import json

import pytest

from monitor.llm.chat import ChatMessage, Tool, ToolCall
from monitor.llm.textual_tools import find_marked_call, read_call, write_tools

TOOLS = [
    Tool(name="browse_page", description="opens a page", parameters={"type": "object", "properties": {}}),
    Tool(name="finish", description="ends", parameters={"type": "object", "properties": {}}),
]
URL = {"url": "http://a.gov.cn/"}


def test_calls_and_results_become_turns_that_alternate() -> None:
    calls = [
        ToolCall(id="1", name="browse_page", arguments=json.dumps(URL)),
        ToolCall(id="2", name="finish", arguments=""),
    ]
    messages = [
        ChatMessage(role="system", content="你是采集员。"),
        ChatMessage(role="user", content="开始"),
        ChatMessage(role="assistant", tool_calls=calls, extra={"reasoning_content": "想"}),
        ChatMessage(role="tool", content="一页", tool_call_id="1"),
        ChatMessage(role="tool", content="好", tool_call_id="2"),
        ChatMessage(role="user", content="继续"),
    ]
    written = write_tools(messages, TOOLS)
    assert [message.role for message in written] == ["system", "user", "assistant", "user"]
    assert "browse_page: opens a page" in written[0].content
    assert json.loads(written[2].content.splitlines()[0]) == {"tool": "browse_page", "arguments": URL}
    assert written[3].content == "[browse_page]\n一页\n\n[finish]\n好\n\n继续"
    assert not any(message.tool_calls or message.tool_call_id for message in written)


@pytest.mark.parametrize(
    "text",
    [
        '{"tool": "browse_page", "arguments": {"url": "http://a.gov.cn/"}}',
        '好的：\n```json\n{"tool": "browse_page", "arguments": {"url": "http://a.gov.cn/"}}\n```',
        '<think>{"tool": "finish"}</think>{"name": "browse_page", "parameters": {"url": "http://a.gov.cn/"}}',
        '{"function": {"name": "browse_page", "arguments": "{\\"url\\": \\"http://a.gov.cn/\\"}"}}',
        '{"action": "browse_page", "action_input": {"url": "http://a.gov.cn/"}}',
        '{"tool": "browse_page", "url": "http://a.gov.cn/"}',
        '{"browse_page": {"url": "http://a.gov.cn/"}}',
        '{"tool": "unknown"} {"tool": "browse_page", "arguments": {"url": "http://a.gov.cn/"}}',
    ],
)
def test_a_call_is_read_however_it_is_written(text: str) -> None:
    call = read_call(text, TOOLS)
    assert call is not None
    assert (call.name, json.loads(call.arguments)) == ("browse_page", URL)


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "browse_page", "arguments": {"url": "http://a.gov.cn/"}}\n</tool_call>',
        '先打开。<tool_call>{"name": "browse_page", "arguments": {"url": "http://a.gov.cn/"}}',
        "<tool_call>\n<function=browse_page>\n<parameter=url>\nhttp://a.gov.cn/\n</parameter>\n</function>\n</tool_call>",
        "<tool_call>browse_page\n<arg_key>url</arg_key>\n<arg_value>http://a.gov.cn/</arg_value>\n</tool_call>",
        '[TOOL_CALLS] [{"name": "browse_page", "arguments": {"url": "http://a.gov.cn/"}}]',
        '<|python_tag|>{"name": "browse_page", "parameters": {"url": "http://a.gov.cn/"}}',
        "<|tool_call_begin|>functions.finish:0<|tool_call_argument_begin|>{}".replace("finish", "browse_page").replace(
            "{}", '{"url": "http://a.gov.cn/"}<|tool_call_end|>'
        ),
        '<｜tool▁call▁begin｜>function<｜tool▁sep｜>browse_page\n```json\n{"url": "http://a.gov.cn/"}\n```<｜tool▁call▁end｜>',
    ],
)
def test_a_call_that_a_server_left_in_the_text_is_found_by_its_marks(text: str) -> None:
    call = find_marked_call(text, TOOLS)
    assert call is not None
    assert (call.name, json.loads(call.arguments)) == ("browse_page", URL)


@pytest.mark.parametrize("text", ["没有更多条目了。", '{"tool": "delete"}', '{"name": "某公司"}', "", "[1, 2]"])
def test_other_text_is_no_call(text: str) -> None:
    assert read_call(text, TOOLS) is None
    assert find_marked_call('{"tool": "finish", "arguments": {}}', TOOLS) is None
