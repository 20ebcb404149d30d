"""The model's client keeps to the network's policy: proxy, certificates, redirects, sizes, and what an error shows."""

import asyncio
import gzip
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from monitor.clock import SystemClock
from monitor.config.llm import LlmSettings
from monitor.config.model import NetworkSettings
from monitor.errors import ModelFailed
from monitor.fetch.outbound import OutboundPolicy
from monitor.i18n.catalogue import render
from monitor.llm.chat import ChatMessage, CompletionRequest
from monitor.llm.client import ModelClient
from monitor.llm.examination import examine_models
from monitor.vocabulary import Phase
from tests.conftest import name_services

KEY, PROMPT = "sk-for-one-host-only", "the whole prompt"
ANSWER = json.dumps({"choices": [{"message": {"content": "ready"}}]})
INNER = "inner-answer-that-nobody-may-read"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@asynccontextmanager
async def open_model(url: str, policy: OutboundPolicy | None = None, **llm: Any) -> AsyncIterator[ModelClient]:
    settings = LlmSettings(base_url=url, **{"max_retries": 0, "timeout_s": 10, **llm})
    client = ModelClient(settings, policy or name_services(url))
    try:
        yield client
    finally:
        await client.close()


async def complain(url: str, **llm: Any) -> str:
    """Return what the model's test says; it is what an administrator sees on the desk."""
    async with open_model(url, **llm) as client:
        (trial,) = await examine_models(client)
    assert trial.complaint is not None
    return render(trial.complaint, "en")


async def ask(client: ModelClient, *, is_streamed: bool) -> str:
    async def take(piece: str) -> None:
        del piece

    async def record(row: Any) -> None:
        del row

    model = client.for_run("r", record=record, clock=SystemClock())
    question = [ChatMessage(role="user", content=PROMPT)]
    asked = CompletionRequest(question, phase=Phase.REPORT, on_token=take if is_streamed else None)
    return (await model.complete(asked)).text


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_redirect_carries_key_or_prompt_anywhere(site: Any, open_site: Any, reply: Any, status: int) -> None:
    async with open_site() as elsewhere:
        for path in ("/v1/chat/completions", "/there"):
            elsewhere.on(path, ANSWER)
            site.on("/there", ANSWER)
        for target in (elsewhere.url("/v1/chat/completions"), site.url("/there")):
            site.on("/v1/chat/completions", reply(status=status, headers={"location": target}))
            complaint = await complain(site.url("/v1"), max_retries=2)
            assert f"HTTP {status}" in complaint
            assert "llm.base_url" in complaint
        assert elsewhere.asked == []
    assert set(site.paths()) == {"/v1/chat/completions"}


async def test_variables_of_the_environment_name_no_proxy(
    site: Any, open_site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_site() as thief:
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, thief.url(""))
        site.on("/v1/chat/completions", ANSWER)
        async with open_model(site.url("/v1")) as client:
            assert await ask(client, is_streamed=False) == "ready"
        assert thief.asked == []


async def test_the_proxy_of_the_settings_is_asked_also_for_what_no_proxy_names(
    site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    url = "http://model.example/v1"
    site.on(f"{url}/chat/completions", ANSWER)  # as a proxy is asked
    network = NetworkSettings(proxy=site.url(""), proxy_suffixes=["model.example"])
    async with open_model(url, OutboundPolicy(network)) as client:
        assert await ask(client, is_streamed=False) == "ready"
    assert site.paths() == [f"{url}/chat/completions"]


async def test_a_private_address_that_only_the_desk_names_is_refused(site: Any) -> None:
    site.on("/v1/chat/completions", ANSWER)
    async with open_model(site.url("/v1"), OutboundPolicy(NetworkSettings())) as client:
        with pytest.raises(ModelFailed, match="allowed_private_hosts"):
            await ask(client, is_streamed=False)
    assert site.asked == []


async def test_the_organisations_certificates_hold_for_the_model_too(
    site: Any, certificate: Callable[..., Path]
) -> None:
    site.on("/v1/chat/completions", ANSWER)
    made = certificate()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made)
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0, ssl=context)
    async with server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        assert "certificate" in (await complain(url)).lower()
        async with open_model(url, name_services(url, ca_bundle=made)) as client:
            assert await ask(client, is_streamed=False) == "ready"


def pour(head: str, piece: bytes, count: int, sent: list[int]) -> Callable[[Any], Any]:
    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\n{head}connection: close\r\n\r\n".encode())
        for _ in range(count):
            writer.write(piece)
            await writer.drain()
            sent[0] += len(piece)

    return lambda _: write


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_an_answer_without_end_is_left_at_its_limit(site: Any, kind: str, is_streamed: bool) -> None:
    sent = [0]
    site.on("/v1/chat/completions", pour(f"content-type: {kind}\r\n", b" " * 1_000_000, 200, sent))
    async with open_model(site.url("/v1"), max_retries=3) as client:
        with pytest.raises(ModelFailed, match="larger than 16 MiB") as raised:
            await ask(client, is_streamed=is_streamed)
    assert raised.value.outcome == "malformed"
    assert len(site.asked) == 1, "it is not asked again"
    assert sent[0] < 40_000_000


async def test_a_packed_answer_is_unpacked_within_the_limit(site: Any, reply: Any) -> None:
    kind = {"content-type": "application/json", "content-encoding": "gzip"}
    site.on("/v1/chat/completions", reply(gzip.compress(ANSWER.encode()), headers=kind))
    async with open_model(site.url("/v1")) as client:
        assert await ask(client, is_streamed=False) == "ready"
    assert site.asked[0].headers["accept-encoding"] == "identity"
    site.on("/v1/chat/completions", reply(gzip.compress(b" " * 100_000_000), headers=kind))
    assert "16 MiB" in await complain(site.url("/v1"))


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (400, {"error": {"code": "context_length_exceeded", "message": INNER}}, "error context_length_exceeded."),
        (422, {"error": {"code": None, "type": "invalid_request_error", "message": INNER}}, "invalid_request_error."),
        (500, {"error": {"code": f"{INNER} with words", "message": INNER}}, "HTTP 500."),
        (400, {"code": "InvalidParameter", "message": INNER}, "invalidparameter"),
        (418, INNER, "HTTP 418."),
        (503, {"secret": INNER}, "HTTP 503."),
        (200, {"error": {"code": "overloaded", "message": INNER}}, "overloaded"),
        (200, {"error": INNER + " in words"}, "chat-completions endpoint"),
        (200, INNER, "not a chat completion"),
        (401, {"error": {"message": INNER}}, "401"),
        (404, INNER, "404"),
        (429, {"error": {"code": "insufficient_quota", "message": INNER}}, "no credit left"),
    ],
)
async def test_the_test_of_a_model_shows_status_and_code_and_no_word_of_the_answer(
    site: Any, reply: Any, status: int, body: Any, said: str
) -> None:
    text = body if isinstance(body, str) else json.dumps(body)
    site.on("/v1/chat/completions", reply(text, status, {"content-type": "application/json", "x-inner": INNER}))
    complaint = await complain(site.url("/v1"))
    assert said in complaint
    assert INNER not in complaint


async def test_a_server_of_another_kind_is_not_quoted(site: Any) -> None:
    async def greet(writer: asyncio.StreamWriter) -> None:
        writer.write(f"SSH-2.0-{INNER}\r\n\r\n".encode() * 10)
        await writer.drain()

    site.on("/v1/chat/completions", lambda _: greet)
    complaint = await complain(site.url("/v1"))
    assert "not HTTP" in complaint
    assert INNER not in complaint


async def test_a_password_in_the_address_is_on_no_page(site: Any, reply: Any) -> None:
    site.on("/v1/chat/completions", reply("", 404))
    url = site.url("/v1").replace("//", "//me:s3cret@")
    complaint = await complain(url, api_key_env="NOT_SET")
    assert "s3cret" not in complaint
