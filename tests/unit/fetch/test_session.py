import pytest

from monitor.fetch.browser.session import is_local_endpoint


@pytest.mark.parametrize(
    ("endpoint", "is_here"),
    [
        (None, True),
        ("http://127.0.0.1:9222", True),
        ("http://localhost:9222", True),
        ("ws://[::1]:9222/devtools", True),
        ("http://10.0.0.5:9222", False),
        ("http://browser:9222", False),
        ("nonsense", False),
    ],
)
def test_only_a_browser_on_this_machine_can_use_our_proxy(endpoint: str | None, is_here: bool) -> None:
    assert is_local_endpoint(endpoint) is is_here
