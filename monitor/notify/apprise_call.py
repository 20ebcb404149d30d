"""One call of Apprise, in a process of its own: `python -m monitor.channels.apprise_call`, JSON in and out.

Apprise asks with `requests`, which obeys nothing but its environment: here that is the guarded proxy and the
organisation's certificates. And several of its services count any answer with status 200 as taken, where the service
says in its body that it was not; so the answers are looked at here.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

_TIMEOUT_S = 20.0


def main() -> None:
    """Read what is to be sent from stdin, send it, and tell on stdout what the service answered."""
    given = json.load(sys.stdin)
    with tempfile.TemporaryDirectory(prefix="monitor-chat-") as folder:
        if given["ca_bundle"]:
            os.environ["REQUESTS_CA_BUNDLE"] = str(_write_ca_bundle(Path(given["ca_bundle"]), Path(folder)))
        json.dump(_send(given["url"], given["body"]), sys.stdout)


def _send(url: str, body: str) -> dict[str, Any]:
    import apprise
    import requests

    answers: list[dict[str, Any]] = []
    ask = requests.Session.send

    def noted(session: requests.Session, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        try:
            answer = ask(session, request, **options)
        except requests.RequestException as error:
            answers.append({"status": 0, "reason": type(error).__name__, "retry_after": ""})
            raise
        retry_after = answer.headers.get("Retry-After", "")
        answers.append({"status": answer.status_code, "reason": answer.text[:500], "retry_after": retry_after})
        return answer

    requests.Session.send = noted  # type: ignore[method-assign, assignment]
    service = apprise.Apprise.instantiate(url, suppress_exceptions=True)
    if service is None:
        return {"is_known": False, "is_taken": False, "answers": []}
    service.socket_read_timeout = service.socket_connect_timeout = _TIMEOUT_S
    is_taken = service.notify(body=body, body_format=apprise.NotifyFormat.TEXT)
    return {"is_known": True, "is_taken": bool(is_taken), "answers": answers}


def _write_ca_bundle(ca_bundle: Path, folder: Path) -> Path:
    """The public roots and the organisation's in one file, as the library wants them."""
    import certifi

    joined = folder / "certificates.pem"
    joined.write_text(f"{certifi.contents()}\n{ca_bundle.read_text(encoding='utf-8')}", encoding="utf-8")
    return joined


if __name__ == "__main__":
    main()
