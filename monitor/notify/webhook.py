"""Letters to programs: a signed JSON document over HTTP."""

import base64
import hashlib
import hmac
import json
from collections.abc import Collection

from monitor.clock import Clock
from monitor.config.model import NetworkSettings
from monitor.config.targets import TargetSettings
from monitor.errors import NotDelivered
from monitor.fetch.client import HttpClient
from monitor.fetch.guard import Guard
from monitor.fetch.result import FetchError
from monitor.notify.notification import Notification, check_status, map_fetch_error, redact_secrets


class WebhookChannel:
    """Posts a letter's payload (`ports.Channel`).

    `Idempotency-Key` is the same at every try. Where the target has a secret, `X-Monitor-Signature` is the HMAC-SHA256
    of the time in `X-Monitor-Timestamp`, a full stop, and the body as it was sent.
    """

    def __init__(self, target: TargetSettings, network: NetworkSettings, guard: Guard, clock: Clock) -> None:
        self._target = target
        self._network = network
        self._guard = guard
        self._clock = clock

    async def send(self, notification: Notification, *, accepted: Collection[str] = ()) -> None:
        """Post it once; `NotDelivered` for anything but an answer from 200 to 299."""
        del accepted
        url, now = self._target.expand_url(), self._clock.now()
        body = build_body(notification)
        headers = {
            "Content-Type": "application/json",
            "Accept": "*/*",
            "Idempotency-Key": notification.key,
            "X-Monitor-Delivery": notification.id.encode("ascii", "replace").decode(),
            "X-Monitor-Timestamp": str(int(now.timestamp())),
        }
        if self._target.secret_env:
            signature = sign_body(self._target.load_secret(), headers["X-Monitor-Timestamp"], body)
            headers["X-Monitor-Signature"] = signature
        try:
            async with HttpClient(network=self._network, guard=self._guard) as client:
                answer = await client.request(url, method="POST", headers=headers, content=body, may_retry=False)
            reason = answer.body[:500].decode("utf-8", "replace")
            check_status(answer.status, reason, retry_after=answer.headers.get("retry-after", ""), now=now)
        except FetchError as failure:
            raise redact_secrets(map_fetch_error(failure), self._target.list_secrets()) from None
        except NotDelivered as error:
            raise redact_secrets(error, self._target.list_secrets()) from None


def build_body(notification: Notification) -> bytes:
    """The document that is posted: what, for whom, when it was planned, and the documents that go along in base64."""
    document = {
        "id": notification.id,
        "key": notification.key,
        "kind": str(notification.kind),
        "target": notification.target,
        "planned_at": notification.planned_at.isoformat(),
        "title": notification.subject,
        **notification.payload,
        "documents": [
            {
                "name": enclosure.name,
                "media_type": enclosure.media_type,
                "base64": base64.b64encode(enclosure.content).decode(),
            }
            for enclosure in notification.attachments
        ],
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def sign_body(secret: bytes, timestamp: str, body: bytes) -> str:
    return "sha256=" + hmac.new(secret, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
