"""Letters to programs: a signed JSON document over HTTP."""

import base64
import hashlib
import hmac
import json
from collections.abc import Collection

from monitor.channels.answers import check_status, of_failure, without_secrets
from monitor.domain.deliveries import Letter
from monitor.errors import NotDelivered
from monitor.net.client import HttpClient
from monitor.net.failure import FetchFailed
from monitor.net.guard import Guard
from monitor.ports import Clock
from monitor.settings import NetworkSettings
from monitor.settings.targets import TargetSettings


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

    async def send(self, letter: Letter, *, accepted: Collection[str] = ()) -> None:
        """Post it once; `NotDelivered` for anything but an answer from 200 to 299."""
        del accepted
        url, now = self._target.whole_url(), self._clock.now()
        body = body_of(letter)
        headers = {
            "Content-Type": "application/json",
            "Accept": "*/*",
            "Idempotency-Key": letter.key,
            "X-Monitor-Delivery": letter.id.encode("ascii", "replace").decode(),
            "X-Monitor-Timestamp": str(int(now.timestamp())),
        }
        if self._target.secret_env:
            signature = signature_of(self._target.secret(), headers["X-Monitor-Timestamp"], body)
            headers["X-Monitor-Signature"] = signature
        try:
            async with HttpClient(network=self._network, guard=self._guard) as client:
                answer = await client.post(url, body, headers)
            reason = answer.body[:500].decode("utf-8", "replace")
            check_status(answer.status, reason, retry_after=answer.headers.get("retry-after", ""), now=now)
        except FetchFailed as failure:
            raise without_secrets(of_failure(failure), self._target.secrets()) from None
        except NotDelivered as error:
            raise without_secrets(error, self._target.secrets()) from None


def body_of(letter: Letter) -> bytes:
    """The document that is posted: what, for whom, when it was planned, and the documents that go along in base64."""
    document = {
        "id": letter.id,
        "key": letter.key,
        "kind": str(letter.kind),
        "target": letter.target,
        "planned_at": letter.planned_at.isoformat(),
        "title": letter.subject,
        **letter.payload,
        "documents": [
            {
                "name": enclosure.name,
                "media_type": enclosure.media_type,
                "base64": base64.b64encode(enclosure.content).decode(),
            }
            for enclosure in letter.enclosures
        ],
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def signature_of(secret: bytes, timestamp: str, body: bytes) -> str:
    return "sha256=" + hmac.new(secret, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
