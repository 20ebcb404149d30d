"""What servers say of their limits."""

import pytest

from monitor.llm.limits import parse_duration, read_pause


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1),
        ("6m0s", 360),
        ("250ms", 0.25),
        ("1h2m3.5s", 3723.5),
        ("12", 12),
        ("", 0),
        ("soon", 0),
        ("2026-11-21", 0),
    ],
)
def test_a_duration_is_read_as_headers_write_it(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


def test_only_a_server_that_has_no_request_left_is_waited_for() -> None:
    name = "x-ratelimit-remaining-requests"
    reset = {"x-ratelimit-reset-requests": "2s"}
    assert read_pause({name: "0", **reset}, name) == 2
    assert read_pause({name: "0"}, name) == 1
    assert read_pause({name: "3", **reset}, name) == 0
    assert read_pause({**reset}, None) == 0
