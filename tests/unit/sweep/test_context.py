import json

from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.llm.chat import ChatMessage, Completion, ToolCall
from monitor.sweep.agent import AgentContext

LIMIT = 20_000


def context(*, is_pruned: bool = True) -> AgentContext:
    return AgentContext("system" * 50, "user" * 300, max_chars=LIMIT, page_max_chars=15_000, is_pruned=is_pruned)


def call(name: str, arguments: str = "{}") -> ToolCall:
    return ToolCall(id="c", name=name, arguments=arguments)


def browse(book: AgentContext, page: str) -> None:
    one = call("browse_page")
    book.add_completion(Completion(tool_calls=[one]))
    book.add_tool_result(one, page[: book.make_room_for_page()], is_page=True)


def test_a_saved_page_becomes_one_line_that_keeps_the_way_to_the_next_page() -> None:
    book = context()
    browse(book, "text " * 2000 + '\n可直接采集的条目：[{"url": "https://a.test/1"}]\n下一页：https://a.test/2')
    book.mark_processed(["https://a.test/1"])
    page = book.messages[-1].content
    assert "text" not in page.splitlines()[1]
    assert "保存了 1 条" in page
    assert "https://a.test/2" in page
    assert len(page) < 300


def test_a_further_browse_shortens_a_page_that_was_not_saved() -> None:
    book = context()
    browse(book, "first " * 2400)
    browse(book, "second " * 2000)
    first, second = (m.content for m in book.messages if m.role == "tool")
    assert len(first) <= 1200
    assert len(second) > 10_000


def test_past_save_arguments_are_shortened_and_stay_json() -> None:
    book = context()
    arguments = json.dumps({"items": [{"url": f"https://a.test/{n}", "title": "t" * 50} for n in range(400)]})
    save = call("save_results_batch", arguments)
    book.add_completion(Completion(tool_calls=[save]))
    book.add_tool_result(save, "{}", is_page=False)
    sent = book.prepare_messages()
    assert sum(m.size_chars for m in sent) <= LIMIT
    assert isinstance(json.loads(sent[2].tool_calls[0].arguments), dict)


def test_without_pruning_nothing_is_shortened() -> None:
    book = context(is_pruned=False)
    for _ in range(4):
        browse(book, "x" * 15_000)
    book.mark_processed(["x"])
    assert sum(m.size_chars for m in book.prepare_messages()) > 60_000


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(["browse", "save", "talk"]), st.integers(0, 60_000)), max_size=20))
def test_whatever_happens_a_call_stays_within_the_ceiling_and_every_answer_has_its_question(
    turns: list[tuple[str, int]],
) -> None:
    book = context()
    for kind, size in turns:
        if kind == "browse":
            browse(book, "p" * size)
        elif kind == "talk":
            book.add_completion(Completion(text="t" * size))
            book.messages.append(ChatMessage(role="user", content="go on"))
        else:
            save = call("save_results_batch", json.dumps({"items": "i" * size}))
            book.add_completion(Completion(tool_calls=[save]))
            book.add_tool_result(save, "{}", is_page=False)
        sent = book.prepare_messages()
        assert sum(m.size_chars for m in sent) <= LIMIT
        assert [m.role for m in sent[:2]] == ["system", "user"]
        asked: set[str] = set()
        for message in sent:
            if message.role == "tool":
                assert message.tool_call_id in asked
            asked = {c.id for c in message.tool_calls} or asked if message.role != "user" else set()
