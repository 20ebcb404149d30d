"""One call of Apprise in a process of its own: `python -m monitor.notify.apprise_call`, JSON in and out.

Apprise uses `requests`, which is configured by its environment: here the guarded proxy and the organisation's
certificates. Some of its services take any status 200 for success although the body says otherwise, so the answers are
returned for inspection, as far as they are read.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

_TIMEOUT_S = 20.0
_MAX_BYTES = 65_536  # of an answer


def main() -> None:
    request = json.load(sys.stdin)
    with tempfile.TemporaryDirectory(prefix="monitor-chat-") as folder:
        if request["ca_bundle"]:
            os.environ["REQUESTS_CA_BUNDLE"] = str(_write_ca_bundle(Path(request["ca_bundle"]), Path(folder)))
        json.dump(_send(request["url"], request["body"]), sys.stdout)


def _send(url: str, body: str) -> dict[str, Any]:
    import apprise
    import requests
    import urllib3

    answers: list[dict[str, Any]] = []
    send = requests.Session.send

    def record_answer(
        session: requests.Session, prepared: requests.PreparedRequest, **options: Any
    ) -> requests.Response:
        try:
            # No redirect: it would carry the message, and the key in its address, to another host.
            answer = send(session, prepared, **{**options, "allow_redirects": False, "stream": True})
            setattr(answer, "_content", answer.raw.read(_MAX_BYTES, decode_content=True))  # noqa: B010 -- all there is
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            answers.append({"status": 0, "failure": type(error).__name__})
            raise
        retry_after = answer.headers.get("Retry-After", "")
        answers.append({"status": answer.status_code, "body": answer.text, "retry_after": retry_after})
        return answer

    requests.Session.send = record_answer  # type: ignore[method-assign, assignment]
    service = apprise.Apprise.instantiate(url, suppress_exceptions=True)
    if service is None:
        return {"is_known": False, "is_taken": False, "answers": []}
    service.socket_read_timeout = service.socket_connect_timeout = _TIMEOUT_S
    is_taken = service.notify(body=body, body_format=apprise.NotifyFormat.TEXT)
    return {"is_known": True, "is_taken": bool(is_taken), "answers": answers}


def _write_ca_bundle(ca_bundle: Path, folder: Path) -> Path:
    """Write the public and the organisation's certificates into one file, as `requests` needs them."""
    import certifi

    joined = folder / "certificates.pem"
    joined.write_text(f"{certifi.contents()}\n{ca_bundle.read_text(encoding='utf-8')}", encoding="utf-8")
    return joined


if __name__ == "__main__":
    main()
