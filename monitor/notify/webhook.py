"""The channel to programs: a signed JSON document over HTTP."""

import base64
import hashlib
import hmac
import json
from collections.abc import Collection

from monitor.errors import NotDelivered
from monitor.fetch.outbound import find_error_code
from monitor.fetch.result import FetchError
from monitor.notify.notification import Channel, Notification, check_status, map_fetch_error, redact_secrets


class WebhookChannel(Channel):
    """Posts the payload of a notification.

    `Idempotency-Key` is the same at every try. Where the target has a secret, `X-Monitor-Signature` is the HMAC-SHA256
    of the time in `X-Monitor-Timestamp`, a full stop, and the body as it was sent.
    """

    async def send(self, notification: Notification, *, accepted: Collection[str] = ()) -> None:
        del accepted
        url, now = self.target.expand_url(), self.clock.now()
        body = build_body(notification)
        headers = {
            "Content-Type": "application/json",
            "Accept": "*/*",
            "Idempotency-Key": notification.key,
            "X-Monitor-Delivery": notification.id.encode("ascii", "replace").decode(),
            "X-Monitor-Timestamp": str(int(now.timestamp())),
        }
        if self.target.secret_env:
            signed = headers["X-Monitor-Timestamp"].encode() + b"." + body
            signature = hmac.new(self.target.load_secret(), signed, hashlib.sha256).hexdigest()
            headers["X-Monitor-Signature"] = f"sha256={signature}"
        try:
            async with self.policy.open_client() as client:
                answer = await client.request(url, method="POST", headers=headers, content=body, may_retry=False)
            retry_after = answer.headers.get("retry-after", "")
            check_status(answer.status, find_error_code(answer.body), retry_after=retry_after, now=now)
        except FetchError as failure:
            raise redact_secrets(map_fetch_error(failure), self.target.list_secrets()) from None
        except NotDelivered as error:
            raise redact_secrets(error, self.target.list_secrets()) from None


def build_body(notification: Notification) -> bytes:
    """Return the JSON that is posted, with the attachments in base64."""
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
                "name": attachment.name,
                "media_type": attachment.media_type,
                "base64": base64.b64encode(attachment.content).decode(),
            }
            for attachment in notification.attachments
        ],
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
