import datetime as dt
from typing import Any

import pytest

from monitor.db.tables.evidence import ModelAnswer
from monitor.errors import ModelFailed, ModelUnavailable, RecordLost
from monitor.evidence.replay import RecordingModel, ReplayModel
from monitor.llm.chat import ChatMessage, Completion, CompletionRequest, Tool, ToolCall, fit_chars
from monitor.vocabulary import Phase


class Said:
    """A model that says these things in turn, and a clock."""

    def __init__(self, *said: Completion | ModelFailed) -> None:
        self._said = list(said)

    async def complete(self, request: CompletionRequest) -> Completion:
        del request
        said = self._said.pop(0)
        if isinstance(said, ModelFailed):
            raise said
        return said

    def now(self) -> dt.datetime:
        return dt.datetime(2026, 2, 3, tzinfo=dt.UTC)


CALL = Completion(text="一", tool_calls=[ToolCall(id="c1", name="finish", arguments="{}")], prompt_tokens=3)
ASKED = [ChatMessage(role="user", content="问")]


async def recorded(
    *said: Completion | ModelFailed, attempt: int = 1, into: list[ModelAnswer] | None = None
) -> list[ModelAnswer]:
    """What is kept of a model that was asked the same so many times."""
    kept: list[ModelAnswer] = [] if into is None else into

    async def keep(answer: ModelAnswer) -> None:
        kept.append(answer)

    inner = Said(*said)
    model = RecordingModel(inner, run_id="r", attempt=attempt, save_answer=keep, clock=inner)
    for completion in said:
        if isinstance(completion, ModelFailed):
            with pytest.raises(type(completion), match=str(completion)):
                await model.complete(asked())
        else:
            assert await model.complete(asked()) == completion
    return kept


def asked(**changes: Any) -> CompletionRequest:
    return CompletionRequest(**{"messages": ASKED, "phase": Phase.SUMMARISE, "place": "p"} | changes)


async def outcome(model: ReplayModel, **changes: Any) -> Completion | str:
    try:
        return await model.complete(asked(**changes))
    except ModelFailed as error:
        return f"{type(error).__name__} {error.outcome}: {error}"


async def test_answers_are_given_in_their_order_and_the_last_one_again() -> None:
    kept = await recorded(CALL, ModelFailed("late", outcome="timeout"), ModelUnavailable("spent", outcome="budget"))
    model = ReplayModel(kept)
    assert [await outcome(model) for _ in range(4)] == [
        CALL,
        "ModelFailed timeout: late",
        "ModelUnavailable budget: spent",
        "ModelUnavailable budget: spent",
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"messages": [ChatMessage(role="user", content="另问")]},
        {"phase": Phase.RANK},
        {"place": "q"},
        {"tools": [Tool(name="t", description="", parameters={})]},
    ],
    ids=["messages", "phase", "place", "tools"],
)
async def test_another_request_has_no_answer(changes: dict[str, Any]) -> None:
    model = ReplayModel(await recorded(CALL))
    with pytest.raises(RecordLost, match="did not ask the model this"):
        await model.complete(asked(**changes))


async def test_after_an_interruption_the_last_attempt_speaks_and_what_it_did_not_ask_fails() -> None:
    kept = await recorded(Completion(text="erst"), Completion(text="dann"))
    await recorded(Completion(text="zuletzt"), attempt=2, into=kept)
    model = ReplayModel(kept)
    assert await outcome(model) == Completion(text="zuletzt")
    assert str(await outcome(model, place="q")).startswith("ModelFailed not_recorded")


async def test_an_answer_is_told_as_it_is_said_again() -> None:
    reported: list[str] = []

    async def report_progress(text: str) -> None:
        reported.append(text)

    await ReplayModel(await recorded(CALL)).complete(asked(on_token=report_progress))
    assert reported == ["一"]


async def test_what_came_with_an_answer_is_given_again_and_asks_for_no_other_record() -> None:
    thought = Completion(text="一", extra={"reasoning_content": "想"})
    model = ReplayModel(await recorded(thought))
    again = [ChatMessage(role="user", content="问", extra={"reasoning_content": "别的"})]
    assert await outcome(model, messages=again) == thought


async def test_material_is_cut_again_as_it_was_for_the_record() -> None:
    kept: list[ModelAnswer] = []

    async def keep(answer: ModelAnswer) -> None:
        kept.append(answer)

    class Short(Said):
        def fit_chars(self, phase: Phase, limit: int, place: str = "") -> int:
            del phase, place
            return min(limit, 900)

    inner = Short(CALL)
    model = RecordingModel(inner, run_id="r", attempt=1, save_answer=keep, clock=inner)
    assert fit_chars(model, Phase.SUMMARISE, 6000, "p") == 900
    await model.complete(asked())
    replayed = ReplayModel(kept)
    assert fit_chars(replayed, Phase.SUMMARISE, 6000, "p") == 900
    assert fit_chars(replayed, Phase.SUMMARISE, 6000, "q") == 6000
    assert fit_chars(Said(CALL), Phase.SUMMARISE, 6000, "p") == 6000
