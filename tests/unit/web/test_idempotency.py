"""Which requests are the same, and what is kept of them."""

from monitor.web.idempotency import _KeyedRequest

KEY = "0f0c5bd4-6a3e-4c0d-9f3c-2f0a51c7a111"


def ask(body: bytes, kind: str = "application/json", *, owner: str = "robot", query: bytes = b"") -> _KeyedRequest:
    headers = [(b"content-type", kind.encode())]
    scope = {"type": "http", "path": "/api/v1/topics", "query_string": query, "headers": headers}
    return _KeyedRequest(owner, KEY, scope, body)


def upload(boundary: str, text: str) -> _KeyedRequest:
    body = f"--{boundary}\r\nContent-Disposition: form-data; name=asked\r\n\r\n{text}\r\n--{boundary}--\r\n"
    return ask(body.encode(), f"multipart/form-data; boundary={boundary}")


def test_an_upload_that_is_sent_again_is_the_same_request_under_another_boundary() -> None:
    assert upload("a-1", "q").fingerprint == upload("b-2", "q").fingerprint
    assert upload("a-1", "q").fingerprint != upload("a-1", "r").fingerprint


def test_each_part_of_a_request_tells_it_from_another_one() -> None:
    asked = [ask(b"{}"), ask(b"[]"), ask(b"{}", "text/plain"), ask(b"{}", query=b"a=1"), ask(b"", query=b"{}")]
    assert len({request.fingerprint for request in asked}) == len(asked)
    assert ask(b"{}").id != ask(b"{}", owner="other").id
