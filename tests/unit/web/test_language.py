"""Which language a page is in."""

import pytest
from starlette.requests import Request

from monitor.web.ui.language import negotiate_language, translate, translate_plural


def request(accepted: str | None = None, cookie: str | None = None) -> Request:
    headers = [(b"accept-language", accepted.encode("latin-1"))] if accepted is not None else []
    headers += [(b"cookie", f"monitor_language={cookie}".encode())] if cookie is not None else []
    return Request({"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": headers})


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        (None, "zh"),
        ("", "zh"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("zh-Hant-TW", "zh"),
        ("en-GB,en;q=0.5", "en"),
        ("en-US,zh;q=0.5", "en"),
        ("de-DE,en;q=0.5", "en"),
        ("de-DE", "zh"),
        ("*", "zh"),
        ("\xff\xfe;;;=,,-", "zh"),
    ],
)
def test_a_browser_gets_its_language_and_chinese_where_it_wants_neither(accepted: str | None, language: str) -> None:
    assert negotiate_language(request(accepted), None) == language


def test_what_a_person_chose_comes_first_then_the_cookie() -> None:
    assert negotiate_language(request("en", "zh"), None) == "zh"
    assert negotiate_language(request("en", "zh"), "en") == "en"
    assert negotiate_language(request("en", "tlh"), "xx") == "en"


def test_a_sentence_that_nobody_translated_stays_english() -> None:
    assert translate("zh", "Sources") == "来源"
    assert translate("en", "Sources") == "Sources"
    assert translate("zh", "No such sentence.") == "No such sentence."
    assert translate_plural("en", "one", "many", 1) == "one"
    assert translate_plural("en", "one", "many", 2) == "many"
