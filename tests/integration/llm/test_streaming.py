"""Answers that are told while they are written, from a server of a few lines that speaks the events byte by byte."""

import asyncio
import contextlib
import datetime as dt
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from monitor.config.llm import LlmSettings, Price
from monitor.db.tables.collection import ModelCall
from monitor.errors import ModelFailed
from monitor.llm.chat import ChatMessage, Completion, CompletionRequest
from monitor.llm.client import ModelClient
from monitor.llm.run_model import Budget, RunModel
from monitor.vocabulary import Phase
from tests.conftest import name_services

QUESTION = [ChatMessage(role="user", content="写报告。")]
NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
HANGS = b"hangs"
DONE = b"data: [DONE]\n\n"


def event(text: str | None = None, *, finish: str | None = None, **more: Any) -> bytes:
    choices = [] if text is None and finish is None else [{"delta": {"content": text}, "finish_reason": finish}]
    return b"data: " + json.dumps({"choices": choices} | more, ensure_ascii=False).encode() + b"\n\n"


def answer(*pieces: bytes, status: int = 200, kind: str = "text/event-stream") -> list[bytes]:
    """One exchange: its head and its pieces; `HANGS` keeps the connection open without a word."""
    head = f"HTTP/1.1 {status} x\r\nContent-Type: {kind}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    return [head.encode(), *pieces]


def whole(text: str) -> list[bytes]:
    return answer(json.dumps({"choices": [{"message": {"content": text}}]}).encode(), kind="application/json")


def refusal(message: str, status: int = 400) -> list[bytes]:
    return answer(json.dumps({"error": {"message": message}}).encode(), status=status, kind="application/json")


class Server:
    """Gives its answers in turn; a piece that is cut off in the middle ends without the last chunk."""

    def __init__(self, *answers: list[bytes], breaks: Sequence[int] = ()) -> None:
        self._answers = list(answers)
        self._breaks = set(breaks)
        self.requests: list[dict[str, Any]] = []
        self.gone = asyncio.Event()
        self._connections: list[asyncio.Task[Any]] = []

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        server.close()
        await asyncio.gather(*self._connections)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if task := asyncio.current_task():
            self._connections.append(task)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await self._exchange(reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.split("content-length: ")[1].split("\r\n")[0])
        number = len(self.requests)
        self.requests.append(json.loads(await reader.readexactly(length)))
        first, *pieces = self._answers[number]
        writer.write(first)
        for piece in pieces:
            if piece == HANGS:
                await reader.read()  # until the client hangs up
                self.gone.set()
                return
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()
        if number not in self._breaks:
            writer.write(b"0\r\n\r\n")


class FixedClock:
    def now(self) -> dt.datetime:
        return NOON


@asynccontextmanager
async def asked(
    server: Server, *, budget: Budget | None = None, cost_used: float = 0, **settings: Any
) -> AsyncIterator[tuple[RunModel, list[ModelCall]]]:
    rows: list[ModelCall] = []

    async def record(row: ModelCall) -> None:
        rows.append(row)

    async with server.serve() as url:
        model_server = ModelClient(LlmSettings(base_url=url, model="m", **settings), name_services(url))
        try:
            yield (
                model_server.for_run("r", record=record, clock=FixedClock(), budget=budget, cost_used=cost_used),
                rows,
            )
        finally:
            await model_server.close()


async def read_stream(model: RunModel) -> tuple[Completion, list[str]]:
    pieces: list[str] = []

    async def take(piece: str) -> None:
        pieces.append(piece)

    return await model.complete(CompletionRequest(QUESTION, phase=Phase.REPORT, on_token=take)), pieces


async def test_the_text_is_told_in_the_pieces_that_came_and_the_tokens_are_the_servers() -> None:
    usage = {"prompt_tokens": 11, "completion_tokens": 4}
    # A line break inside the JSON is escaped, an event is cut anywhere: here in the middle of a character.
    second = event("三\u2028千万\n")
    server = Server(
        answer(event("一"), second[:30], second[30:] + event("千瓦", finish="stop"), event(usage=usage), DONE)
    )
    async with asked(server) as (model, rows):
        completion, pieces = await read_stream(model)
    assert pieces == ["一", "三\u2028千万\n", "千瓦"]
    assert completion == Completion(text="一三\u2028千万\n千瓦", prompt_tokens=11, completion_tokens=4)
    assert (rows[0].outcome, rows[0].prompt_tokens, rows[0].completion_tokens) == ("ok", 11, 4)
    assert server.requests[0]["stream"] is True
    assert server.requests[0]["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize(
    ("pieces", "breaks"),
    [
        ([event("半"), event("句")], [0]),
        ([event("半"), event("句")], []),
        ([event("半"), event("句", finish="length"), DONE], []),
        ([event("半"), event("句", finish="content_filter"), DONE], []),
        ([event("半"), event("句"), event(error={"message": "out of memory"})], []),
        ([event("半"), event("句"), b"data: {no json\n\n"], []),
        ([event("半"), event("句"), HANGS], []),
    ],
    ids=[
        "connection breaks",
        "no end",
        "no room",
        "filtered",
        "in an answer with a success status",
        "garbage",
        "falls silent",
    ],
)
async def test_an_answer_that_breaks_off_is_handed_on_as_far_as_it_came(pieces: list[bytes], breaks: list[int]) -> None:
    server = Server(answer(*pieces), breaks=breaks)
    async with asked(server, timeout_s=0.6) as (model, rows):
        completion, heard = await read_stream(model)
    assert (completion.text, completion.is_cut, heard) == ("半句", True, ["半", "句"])
    assert rows[0].outcome == "cut"
    assert rows[0].completion_tokens > 0
    assert len(server.requests) == 1, "what had begun is not asked for again"


@pytest.mark.parametrize("reason", ["length", "content_filter"])
async def test_an_answer_that_was_ended_before_its_first_word_failed(reason: str) -> None:
    async with asked(Server(answer(event("", finish=reason), DONE))) as (model, rows):
        with pytest.raises(ModelFailed) as failed:
            await read_stream(model)
    assert failed.value.outcome == reason
    assert [row.outcome for row in rows] == [reason]


async def test_an_answer_that_breaks_before_it_begins_is_asked_for_again() -> None:
    server = Server(answer(), answer(event("好", finish="stop"), DONE), breaks=[0])
    async with asked(server) as (model, rows):
        completion, heard = await read_stream(model)
    assert (completion.text, completion.is_cut, heard) == ("好", False, ["好"])
    assert [row.outcome for row in rows] == ["ok"]


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ([answer(), answer()], "network"),
        ([answer(event(error="overloaded"))], "malformed"),
        ([answer(HANGS)], "timeout"),
        ([refusal("out of order", 500)] * 2, "http_500"),
    ],
    ids=["broken", "error", "silent", "http_500"],
)
async def test_an_answer_of_which_nothing_came_failed(script: list[list[bytes]], outcome: str) -> None:
    server = Server(*script, breaks=range(2) if outcome == "network" else [])
    async with asked(server, timeout_s=0.8, max_retries=1) as (model, rows):
        with pytest.raises(ModelFailed) as failed:
            await read_stream(model)
    assert failed.value.outcome == outcome
    assert [row.outcome for row in rows] == [outcome]


async def test_a_writer_may_take_longer_than_the_timeout_as_long_as_it_writes() -> None:
    pieces = [event("字"), event("字"), event("字"), event("字", finish="stop")]

    class Slow(Server):
        async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer()[0])
            for piece in pieces:
                await asyncio.sleep(0.3)
                writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            writer.write(b"0\r\n\r\n")

    async with asked(Slow(), timeout_s=0.6) as (model, _):
        completion, _ = await read_stream(model)
    assert (completion.text, completion.is_cut) == ("字字字字", False)


async def test_a_server_that_does_not_stream_is_asked_without_from_then_on() -> None:
    server = Server(refusal("streaming is not spoken here"), whole("一"), whole("二"))
    async with asked(server) as (model, _):
        assert (await read_stream(model))[1] == ["一"]
        assert (await read_stream(model))[1] == ["二"]
    assert ["stream" in request for request in server.requests] == [True, False, False]


async def test_what_a_server_refuses_is_left_out_one_by_one() -> None:
    good = answer(event("好", finish="stop"), DONE)
    server = Server(refusal("unknown field stream_options", 422), refusal("'temperature' is not supported"), good)
    async with asked(server) as (model, _):
        assert (await read_stream(model))[1] == ["好"]
    assert [{"stream_options", "temperature"} & request.keys() for request in server.requests] == [
        {"stream_options", "temperature"},
        {"temperature"},
        set(),
    ]


async def test_a_server_that_ignores_the_wish_for_a_stream_is_heard_too() -> None:
    async with asked(Server(whole("整段"))) as (model, rows):
        completion, heard = await read_stream(model)
    assert (completion.text, heard, rows[0].outcome) == ("整段", ["整段"], "ok")


async def test_whoever_stops_listening_closes_the_connection() -> None:
    server = Server(answer(event("一"), HANGS))
    async with asked(server) as (model, rows):
        begun = asyncio.Event()

        async def take(piece: str) -> None:
            begun.set()

        task = asyncio.create_task(model.complete(CompletionRequest(QUESTION, phase=Phase.REPORT, on_token=take)))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(5):
            await server.gone.wait()
    assert [row.outcome for row in rows] == ["cancelled"]


async def test_a_piece_of_work_has_its_own_model_and_sampling() -> None:
    server = Server(whole("一"), whole("二"))
    async with server.serve() as url:
        shared = ModelClient(LlmSettings(base_url=url, model="m"), name_services(url))
        own = LlmSettings(base_url=url, model="m", models={"report": "big"}, temperature=0.9, top_p=0.5)
        rows: list[ModelCall] = []

        async def record(row: ModelCall) -> None:
            rows.append(row)

        for settings in (own, None):
            run = shared.for_run("r", record=record, clock=FixedClock(), settings=settings)
            await run.complete(CompletionRequest(QUESTION, phase=Phase.REPORT))
        await shared.close()
    assert [(request["model"], request["temperature"], request["top_p"]) for request in server.requests] == [
        ("big", 0.9, 0.5),
        ("m", 0.3, 0.85),
    ]
    assert [row.model for row in rows] == ["big", "m"]


@pytest.mark.parametrize(
    ("budget", "says"),
    [
        (Budget(tokens=20, tokens_name="research.token_budget"), "research.token_budget of 20 tokens is spent"),
        (Budget(cost=0.5, cost_name="research.cost_budget"), "research.cost_budget of 0.5 is spent"),
    ],
    ids=["tokens", "money"],
)
async def test_a_budget_of_tokens_or_money_ends_the_asking(budget: Budget, says: str) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 20}
    server = Server(answer(event("好", finish="stop"), event(usage=usage), DONE))
    price = {"m": Price(input=0, output=10_000)}
    async with asked(server, budget=budget, cost_used=0.35, prices=price, run_token_budget=1) as (model, rows):
        await read_stream(model)
        with pytest.raises(ModelFailed, match=says) as failed:
            await read_stream(model)
    assert failed.value.outcome == "budget"
    assert [row.outcome for row in rows] == ["ok", "budget"]
