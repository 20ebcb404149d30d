from pathlib import Path

import pytest

from monitor.config.model import BrowserSettings
from monitor.errors import BrowserMissing
from monitor.fetch.browser.launch import find_browser


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "none"))
    return folder


def test_the_configured_browser_comes_first(on_path: Path, tmp_path: Path) -> None:
    program(on_path / "chromium-headless-shell")
    mine = program(tmp_path / "mine")
    assert find_browser(BrowserSettings(path=mine)) == mine


def test_a_configured_browser_that_is_none_is_not_passed_over(on_path: Path, tmp_path: Path) -> None:
    program(on_path / "chromium")
    with pytest.raises(BrowserMissing, match=r"pages\.browser\.path"):
        find_browser(BrowserSettings(path=tmp_path / "nothing"))


def test_the_headless_shell_is_preferred_on_the_path(on_path: Path) -> None:
    for name in ("google-chrome", "chromium", "chromium-headless-shell"):
        found = program(on_path / name)
        assert find_browser(BrowserSettings()) == found


def test_without_any_browser_one_sentence_says_how_to_get_one(on_path: Path) -> None:
    with pytest.raises(BrowserMissing, match="playwright install chromium"):
        find_browser(BrowserSettings())
