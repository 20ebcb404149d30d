"""Letters to chat services: a short text, carried by Apprise."""

import asyncio
import json
import os
import sys
from collections.abc import Collection, Sequence
from typing import Any
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from monitor.config.model import NetworkSettings
from monitor.config.targets import TargetSettings
from monitor.errors import NotDelivered
from monitor.fetch.client import build_tls_context
from monitor.fetch.guard import Guard
from monitor.fetch.proxy import GuardedProxy, UpstreamProxy
from monitor.notify.notification import Digest, Notification, check_status, flatten_text, redact_secrets

_TIMEOUT_S = 90.0
_MAX_BYTES_BY_SCHEME = {"wecombot": 2_000, "workflows": 1_000, "tgram": 4_000}
_DEFAULT_MAX_BYTES = 8_000


class _ServiceResponse(BaseModel):
    status: int
    reason: str
    retry_after: str


class _AppriseResult(BaseModel):
    """What the call says: `answers` are those of the service, in their order."""

    is_known: bool
    is_taken: bool
    answers: list[_ServiceResponse]


class ChatChannel:
    """Sends a letter's digest through Apprise (`ports.Channel`), in a process whose only way out is a guarded proxy.

    A chat has no keys that tell a repeated message from a new one; so the text ends with the delivery's own.
    """

    def __init__(self, target: TargetSettings, network: NetworkSettings, guard: Guard) -> None:
        self._target = target
        self._network = network
        self._guard = guard

    async def send(self, notification: Notification, *, accepted: Collection[str] = ()) -> None:
        """Hand it over once; `NotDelivered` where the service did not say that it took it."""
        del accepted
        most = _MAX_BYTES_BY_SCHEME.get(self._target.scheme, _DEFAULT_MAX_BYTES)
        body = render_digest(notification.digest, mark=f"#{notification.key[:8]}", max_bytes=most)
        given = {"url": self._target.expand_url(), "body": body, "ca_bundle": str(self._network.ca_bundle or "")}
        try:
            _check_result(await self._send_through_proxy(given))
        except NotDelivered as error:
            raise redact_secrets(error, self._target.list_secrets()) from None

    async def _send_through_proxy(self, request: dict[str, str]) -> _AppriseResult:
        upstream = None
        if self._network.proxy is not None:
            context = build_tls_context(
                ca_bundle=self._network.ca_bundle, allow_legacy_tls=self._network.allow_legacy_tls
            )
            upstream = UpstreamProxy(self._network.proxy, context=context)
        proxy = GuardedProxy(guard=self._guard, upstream=upstream)
        await proxy.start()
        try:
            way = proxy.url.replace("://", f"://{proxy.username}:{quote(proxy.password)}@")
            return await _run_apprise(request, {"HTTP_PROXY": way, "HTTPS_PROXY": way})
        finally:
            await proxy.close()


async def _run_apprise(request: dict[str, str], proxy_environment: dict[str, str]) -> _AppriseResult:
    environment = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": os.pathsep.join(sys.path), **proxy_environment}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "monitor.notify.apprise_call",
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            said, _ = await process.communicate(json.dumps(request).encode())
    except TimeoutError:
        raise NotDelivered(f"The chat service did not answer within {_TIMEOUT_S:g} s.", may_retry=True) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    try:
        return _AppriseResult.model_validate_json(said)
    except ValidationError:
        raise NotDelivered("Apprise broke off without a word.", may_retry=True) from None


def _check_result(result: _AppriseResult) -> None:
    if not result.is_known:
        raise NotDelivered("Apprise cannot read the url of this target: see its page on that service.")
    for answer in result.answers:
        if answer.status == 0:
            raise NotDelivered(f"The chat service was not reached: {answer.reason}.", may_retry=True)
        check_status(answer.status, answer.reason, retry_after=answer.retry_after)
        if complaint := find_service_error(answer.reason):
            raise NotDelivered(f"The chat service refused it: {complaint}.", may_retry=True)
    if not result.is_taken or not result.answers:
        raise NotDelivered("Apprise did not hand it over.", may_retry=True)


def find_service_error(body: str) -> str:
    """What a service says against a message in an answer with status 200; the empty string where it took it.

    WeCom and DingTalk tell it in `errcode`, Feishu and Lark in `code` (`StatusCode`), Slack and Telegram in `ok`.
    """
    try:
        said: Any = json.loads(body)
    except ValueError:
        return ""
    if not isinstance(said, dict):
        return ""
    is_refused = said.get("ok") is False or any(said.get(name) for name in ("errcode", "code", "StatusCode"))
    return flatten_text(body) if is_refused else ""


def render_digest(digest: Digest, *, mark: str, max_bytes: int) -> str:
    """The digest within a service's limit: as many points as there is room for, and how many there was none for."""
    count = len(digest.points)
    while True:
        text = _join_digest(digest, digest.points[:count], mark)
        if len(text.encode()) <= max_bytes or count == 0:
            break
        count -= 1
    return text.encode()[:max_bytes].decode("utf-8", "ignore")


def _join_digest(digest: Digest, points: Sequence[str], mark: str) -> str:
    left = len(digest.points) - len(points)
    more = digest.more.format(left) if left else ""
    text = "\n".join(part for part in (digest.head, *points, more, digest.tail, mark) if part)
    # What a service reads as a mention or a command in the words of a page is shown with other signs.
    return text.translate({ord("<"): "‹", ord(">"): "›", ord("@"): "＠"})
