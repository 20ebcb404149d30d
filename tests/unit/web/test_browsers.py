"""A session is recognised by its browser."""

import pytest

from monitor.web.ui.people import describe_browser


@pytest.mark.parametrize(
    ("agent", "report"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox · Linux"),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0", "Edge · Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) MicroMessenger/8.0.50", "WeChat · iPhone"),
        ("curl/8.9.1", "curl"),
        ("something of its own that nobody has ever heard of", "something of its own that nobody has eve"),
        ("", "?"),
    ],
)
def test_browser_and_system_are_told_in_a_word(agent: str, report: str) -> None:
    assert describe_browser(agent) == report
