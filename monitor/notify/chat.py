"""The channel to chat services: a short text, sent by Apprise in a separate process."""

import asyncio
import json
import os
import sys
from collections.abc import Collection, Sequence
from typing import Any
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from monitor.errors import NotDelivered
from monitor.extras import check_extra
from monitor.fetch.outbound import find_error_code
from monitor.notify.notification import Channel, Digest, Notification, check_status, redact_secrets

_TIMEOUT_S = 90.0
_MAX_BYTES_BY_SCHEME = {"wecombot": 2_000, "workflows": 1_000, "tgram": 4_000}
_DEFAULT_MAX_BYTES = 8_000


class _ServiceResponse(BaseModel):
    """`body` is what the service answered, `failure` the name of the error where no answer came."""

    status: int
    body: str = ""
    failure: str = ""
    retry_after: str = ""


class _AppriseResult(BaseModel):
    is_known: bool
    is_taken: bool
    answers: list[_ServiceResponse]


class ChatChannel(Channel):
    """Sends the digest through Apprise, in a process that reaches the network only through a guarded proxy.

    A chat cannot detect a repeated message, so the text ends with the key of the delivery.
    """

    async def send(self, notification: Notification, *, accepted: Collection[str] = ()) -> None:
        del accepted
        check_extra("notify", NotDelivered)
        max_bytes = _MAX_BYTES_BY_SCHEME.get(self.target.scheme, _DEFAULT_MAX_BYTES)
        body = render_digest(notification.digest, mark=f"#{notification.key[:8]}", max_bytes=max_bytes)
        request = {"url": self.target.expand_url(), "body": body, "ca_bundle": str(self.policy.network.ca_bundle or "")}
        try:
            _check_result(await self._send_through_proxy(request))
        except NotDelivered as error:
            raise redact_secrets(error, self.target.list_secrets()) from None

    async def _send_through_proxy(self, request: dict[str, str]) -> _AppriseResult:
        proxy = await self.policy.open_proxy()
        try:
            address = proxy.url.replace("://", f"://{proxy.username}:{quote(proxy.password)}@")
            return await _run_apprise(request, {"HTTP_PROXY": address, "HTTPS_PROXY": address})
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
            output, _ = await process.communicate(json.dumps(request).encode())
    except TimeoutError:
        raise NotDelivered("notify.chat_timeout", may_retry=True, seconds=f"{_TIMEOUT_S:g}") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    try:
        return _AppriseResult.model_validate_json(output)
    except ValidationError:
        raise NotDelivered("notify.apprise_crashed", may_retry=True) from None


def _check_result(result: _AppriseResult) -> None:
    if not result.is_known:
        raise NotDelivered("notify.chat_url_invalid")
    for answer in result.answers:
        if answer.status == 0:
            raise NotDelivered("notify.chat_unreachable", may_retry=True, reason=answer.failure)
        check_status(answer.status, find_error_code(answer.body.encode()), retry_after=answer.retry_after)
        if is_refusal(answer.body):
            code = find_error_code(answer.body.encode())
            message = "notify.chat_refused_with_code" if code else "notify.chat_refused"
            raise NotDelivered(message, may_retry=True, reason=code)
    if not result.is_taken or not result.answers:
        raise NotDelivered("notify.chat_not_sent", may_retry=True)


def is_refusal(body: str) -> bool:
    """Whether an answer with status 200 says that the service did not accept the message.

    WeCom and DingTalk use `errcode`, Feishu and Lark `code` (`StatusCode`), Slack and Telegram `ok`.
    """
    try:
        answer: Any = json.loads(body)
    except (ValueError, RecursionError):
        return False
    if not isinstance(answer, dict):
        return False
    return answer.get("ok") is False or any(answer.get(name) for name in ("errcode", "code", "StatusCode"))


def render_digest(digest: Digest, *, mark: str, max_bytes: int) -> str:
    """Return the digest within a limit: as many points as fit, and the number of those left out."""
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
    # Characters by which a service recognises mentions and commands are replaced: a page must not call people.
    return text.translate({ord("<"): "‹", ord(">"): "›", ord("@"): "＠"})
