import pytest

from monitor.isolation.environment import build_child_environment


def test_a_child_gets_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "MONITOR_SECRET_KEY", "MONITOR_LLM__API_KEY", "HTTPS_PROXY", "DATABASE_URL"):
        monkeypatch.setenv(name, "a secret")
    monkeypatch.setenv("LC_TIME", "C")
    environment = build_child_environment()
    assert "a secret" not in environment.values()
    assert environment["LC_TIME"] == "C"
    assert "PATH" in environment


def test_a_child_gets_what_it_is_given_on_purpose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/code")
    assert "PYTHONPATH" not in build_child_environment()
    assert build_child_environment(keep=["PYTHONPATH", "NEVER_SET"])["PYTHONPATH"] == "/code"
