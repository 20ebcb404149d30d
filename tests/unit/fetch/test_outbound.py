import json
from typing import Any

import pytest
from pydantic import ValidationError

from monitor.config.model import NetworkSettings
from monitor.fetch.outbound import find_error_code


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"error": {"code": "context_length_exceeded", "type": "invalid_request_error"}}, "context_length_exceeded"),
        ({"error": {"code": None, "type": "invalid_request_error"}}, "invalid_request_error"),
        ({"error": {"code": 400, "status": "INVALID_ARGUMENT"}}, "400"),
        ({"error": "invalid_auth", "ok": False}, "invalid_auth"),
        ({"code": "InvalidParameter", "message": "words"}, "invalidparameter"),
        ({"errcode": 93000, "errmsg": "words"}, "93000"),
        ({"StatusCode": 11232, "msg": "words"}, "11232"),
        ({"error": {"code": "words with spaces", "type": "x" * 61}}, ""),
        ({"error": {"code": "line\nend"}}, ""),
        ({"error": {"code": ["a"], "type": {"b": 1}}, "code": True}, ""),
        ({"errcode": 0, "errmsg": "ok"}, ""),
        ({"detail": "secret"}, ""),
        (["code"], ""),
        ("code", ""),
        (None, ""),
    ],
)
def test_the_code_of_an_error_is_found_and_nothing_else(answer: Any, code: str) -> None:
    assert find_error_code(answer) == code
    assert find_error_code(json.dumps(answer).encode()) == code


@pytest.mark.parametrize("body", [b"", b"secret", b"\xff\xfe", b"[" * 60_000, b'{"code": "a"}' + b" " * 70_000])
def test_an_answer_that_is_no_short_json_has_no_code(body: bytes) -> None:
    assert find_error_code(body) == ""


@pytest.mark.parametrize("user_agent", ["Monitor\r\nX-Key: 1", "Monitor\n", "a\x00b", "a\tb", "监测"])
def test_a_user_agent_that_no_header_can_carry_is_refused(user_agent: str) -> None:
    with pytest.raises(ValidationError, match="no_header"):
        NetworkSettings(user_agent=user_agent)


def test_a_suffix_may_be_written_with_a_dot_and_in_capitals() -> None:
    assert NetworkSettings(proxy_suffixes=[".Corp.Example", "*.cn"]).proxy_suffixes == ["corp.example", "cn"]


@pytest.mark.parametrize("suffix", ["", ".", "a b", "http://a", "a/b", "*.a:80", "*", "a.*.b"])
def test_a_suffix_that_is_no_name_is_refused(suffix: str) -> None:
    with pytest.raises(ValidationError, match="no_domain"):
        NetworkSettings(proxy_suffixes=[suffix])
