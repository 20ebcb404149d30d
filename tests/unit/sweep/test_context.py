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


def think(book: AgentContext, thoughts: str, page: str) -> None:
    one = call("browse_page")
    book.add_completion(Completion(tool_calls=[one], extra={"reasoning_content": thoughts}))
    book.add_tool_result(one, page[: book.make_room_for_page()], is_page=True)


def test_a_turn_of_the_open_loop_keeps_its_thoughts_or_goes_with_them() -> None:
    book = context()
    for number in range(6):
        think(book, f"{number}" * 4_500, "page " * 800)
    sent = book.prepare_messages()
    assert sum(message.size_chars for message in sent) <= LIMIT
    answers = [message for message in sent if message.role == "assistant"]
    assert 0 < len(answers) < 6, "whole turns went"
    assert all(message.extra for message in answers)


def test_thoughts_before_the_last_question_go_before_whole_turns() -> None:
    book = context()
    for number in range(3):
        think(book, f"{number}" * 4_500, "page " * 300)
    book.messages.append(ChatMessage(role="user", content="go on"))
    think(book, "5" * 8_000, "page " * 300)
    sent = book.prepare_messages()
    answers = [message for message in sent if message.role == "assistant"]
    assert len(answers) == 4
    assert [bool(message.extra) for message in answers] == [False] * 3 + [True]


def test_the_arguments_of_a_signed_call_stay_as_they_were_signed() -> None:
    book = context()
    signed = call("save_results_batch", json.dumps({"items": ["x" * 900]}))
    signed = signed.model_copy(update={"extra": {"extra_content": {"google": {"thought_signature": "s"}}}})
    book.add_completion(Completion(tool_calls=[signed]))
    book.add_tool_result(signed, "{}", is_page=False)
    book.make_room_for_page()
    assert book.prepare_messages()[2].tool_calls == [signed]
