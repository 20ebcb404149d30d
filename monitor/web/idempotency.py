"""`Idempotency-Key`: a POST of the API that is sent again is not carried out again, but answered as it was before.

Requests and answers are kept in the database for a day, so that it does not matter which process gets the second one,
or whether the first one was killed. They may hold secrets, as a new token: answers are encrypted with a key that is
made of the caller's, which is kept nowhere (decision 0105).
"""

import asyncio
import base64
import datetime as dt
import hashlib
import hmac
import json
import re
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from cryptography.fernet import Fernet
from fastapi import Request, Response
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from monitor.clock import Clock
from monitor.db.queries.service import IdempotencyStore
from monitor.db.tables.idempotency import IdempotentRequest
from monitor.errors import MonitorError
from monitor.logs import get_logger
from monitor.services.usage import IDEMPOTENCY_HOURS
from monitor.web.auth import load_principal
from monitor.web.middleware import API_PREFIX, Problem, get_app_path

HEADER = "Idempotency-Key"
REPLAYED_HEADER = "Idempotent-Replayed"
KEY_PATTERN = "^[!-~]{16,255}$"
_LIFETIME = dt.timedelta(hours=IDEMPOTENCY_HOURS)
_RENEWAL_S = 20
_MAX_SILENCE = dt.timedelta(minutes=2)
"""A request under way that nobody has renewed for so long was interrupted."""
_INTERRUPTED = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_KEPT_HEADERS = ("content-type", "content-language", "content-disposition", "location")
_BOUNDARY = re.compile(r'boundary="?([^";]+)"?', re.IGNORECASE)

_log = get_logger("web")


@dataclass
class IdempotencyMiddleware:
    """Carries out what comes with the same key of the same caller once.

    An answer of success is kept; a refusal has done nothing and frees the key. What became of a request that was cut
    off is not known: it is not carried out again, and the answer says so.
    """

    app: ASGIApp
    refuse: Callable[[Request, Problem], Response]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = _find_key(scope)
        owner = None if key is None else await _find_owner(Request(scope))
        if key is None or owner is None:
            await self.app(scope, receive, send)
        elif not re.fullmatch(KEY_PATTERN, key):
            await self.refuse(Request(scope), Problem(400, "idempotency.key_invalid"))(scope, receive, send)
        elif (body := await _read_body(receive)) is not None:
            await self._answer(_KeyedRequest(owner, key, scope, body), receive, send)

    async def _answer(self, asked: "_KeyedRequest", receive: Receive, send: Send) -> None:
        app = asked.scope["app"].state.monitor
        store, clock = app.store.idempotency, app.clock
        now = clock.now()
        wanted = IdempotentRequest(id=asked.id, fingerprint=asked.fingerprint, created_at=now, seen_at=now)
        try:
            earlier = await store.claim(wanted, expired_before=now - _LIFETIME)
        except MonitorError as error:
            problem: Problem | None = Problem(503, error.message, headers={"Retry-After": "10"})
        else:
            if earlier is None:
                await self._carry_out(asked, store, clock, receive, send)
                return
            problem = _find_problem(earlier, asked, now)
        if problem is not None:
            await self.refuse(Request(asked.scope), problem)(asked.scope, receive, send)
            return
        for message in asked.decrypt(earlier.answer or ""):
            await send(message)

    async def _carry_out(
        self, asked: "_KeyedRequest", store: IdempotencyStore, clock: Clock, receive: Receive, send: Send
    ) -> None:
        answer = _Answer()
        try:
            async with _renew(asked.id, store, clock):
                await self.app(asked.scope, asked.replay_body(receive), answer.collect)
        except Exception:
            with suppress(MonitorError):
                await store.renew(asked.id, at=_INTERRUPTED)
            raise
        try:
            if answer.status < 400:
                await store.keep_answer(asked.id, asked.encrypt(answer))
            else:
                await store.release(asked.id)
        except MonitorError as error:  # what was done is done, and its answer is there
            _log.warning("answer not kept for its idempotency key", reason=str(error))
        for message in answer.messages:
            await send(message)


@dataclass
class _Answer:
    """The messages of an answer, until it is kept."""

    messages: list[Message] = field(default_factory=list)

    @property
    def status(self) -> int:
        return int(self.messages[0]["status"]) if self.messages else 500

    async def collect(self, message: Message) -> None:
        self.messages.append(message)


@dataclass(frozen=True)
class _KeyedRequest:
    """A request with the key that its caller made up for it."""

    owner: str
    key: str
    scope: Scope
    body: bytes

    @property
    def id(self) -> str:
        return self._derive("id").hex()

    @property
    def fingerprint(self) -> str:
        """What is the same for the same request; without the key, nobody can try out what it was."""
        kind = Headers(scope=self.scope).get("content-type", "")
        found = _BOUNDARY.search(kind)
        boundary = found[1] if found else ""  # drawn by lot for each request
        parts = (
            str(self.scope["path"]).encode(),
            self.scope.get("query_string", b""),
            kind.replace(boundary, "").encode(),
            self.body.replace(boundary.encode(), b"") if boundary else self.body,
        )
        lengths = b"".join(len(part).to_bytes(8, "big") for part in parts)
        return hmac.new(self._derive("fingerprint"), lengths + b"".join(parts), hashlib.sha256).hexdigest()

    def encrypt(self, answer: _Answer) -> str:
        start, body = answer.messages[0], b"".join(message.get("body", b"") for message in answer.messages)
        names = [name.encode() for name in _KEPT_HEADERS]
        headers = [(name.decode("latin-1"), text.decode("latin-1")) for name, text in start["headers"] if name in names]
        head = json.dumps({"status": start["status"], "headers": headers}).encode()
        return self._cipher.encrypt(zlib.compress(head + b"\n" + body)).decode()

    def decrypt(self, answer: str) -> list[Message]:
        """Return the messages of an answer that was kept, with the header that says so."""
        head, _, body = zlib.decompress(self._cipher.decrypt(answer)).partition(b"\n")
        kept: dict[str, Any] = json.loads(head)
        headers = {**dict(kept["headers"]), REPLAYED_HEADER.lower(): "true"}
        if body:
            headers["content-length"] = str(len(body))
        raw = [(name.encode("latin-1"), text.encode("latin-1")) for name, text in headers.items()]
        return [
            {"type": "http.response.start", "status": kept["status"], "headers": raw},
            {"type": "http.response.body", "body": body},
        ]

    def replay_body(self, receive: Receive) -> Receive:
        """Return what the application reads the body from, and after it what the client does."""
        is_read = False

        async def receive_again() -> Message:
            nonlocal is_read
            if is_read:
                return await receive()
            is_read = True
            return {"type": "http.request", "body": self.body, "more_body": False}

        return receive_again

    @property
    def _cipher(self) -> Fernet:
        return Fernet(base64.urlsafe_b64encode(self._derive("answer")))

    def _derive(self, purpose: str) -> bytes:
        return hmac.new(self.key.encode(), f"{purpose}\0{self.owner}".encode(), hashlib.sha256).digest()


def _find_key(scope: Scope) -> str | None:
    """Return the key of a POST of the API, None for every other request."""
    if scope["type"] != "http" or scope["method"] != "POST":
        return None
    is_of_api = get_app_path(Request(scope)).startswith(f"{API_PREFIX}/")
    return Headers(scope=scope).get(HEADER) if is_of_api else None


async def _find_owner(request: Request) -> str | None:
    """Return who asks; None for somebody who gets an answer that is not kept, because they may not ask at all."""
    try:
        principal = await load_principal(request)
    except (MonitorError, Problem):  # the route answers with it
        return None
    if principal is None or principal.is_one_time:
        return None
    return principal.name


async def _read_body(receive: Receive) -> bytes | None:
    """Return the body; None where the client went away before its end."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if not message.get("more_body"):
            return bytes(body)


def _find_problem(earlier: IdempotentRequest, asked: _KeyedRequest, now: dt.datetime) -> Problem | None:
    """Return why a request gets no answer of an earlier one with its key; None where it gets that."""
    if not hmac.compare_digest(earlier.fingerprint, asked.fingerprint):
        return Problem(422, "idempotency.key_reused")
    if earlier.answer is not None:
        return None
    if now - earlier.seen_at > _MAX_SILENCE:
        return Problem(409, "idempotency.interrupted")
    return Problem(409, "idempotency.in_progress", headers={"Retry-After": "5"})


@asynccontextmanager
async def _renew(request_id: str, store: IdempotencyStore, clock: Clock) -> AsyncIterator[None]:
    """Say every now and then that a request is still being carried out."""

    async def renew() -> None:
        while True:
            await asyncio.sleep(_RENEWAL_S)
            with suppress(MonitorError):
                await store.renew(request_id, at=clock.now())

    task = asyncio.create_task(renew())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
