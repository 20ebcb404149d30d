import subprocess
import sys

import pytest

from monitor.isolation.environment import build_child_environment
from monitor.isolation.pool import READING_MODULES


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


def test_what_reads_pages_holds_no_database() -> None:
    code = f"import importlib, sys; [importlib.import_module(m) for m in {READING_MODULES!r}]; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"monitor.extract.parse", "monitor.sweep.article"} <= {*loaded.stdout.split()}
    assert not {"sqlalchemy", "monitor.config.model"} & {*loaded.stdout.split()}
