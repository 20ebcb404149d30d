from pathlib import Path

import pytest

from monitor.config.loading import load_settings, render_config
from monitor.config.model import Settings


def _load(folder: Path, text: str) -> Settings:
    file = folder / "config.yaml"
    file.write_text(text)
    return load_settings(file)


def _defaults(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.chdir(folder)
    monkeypatch.delenv("MONITOR_CONFIG", raising=False)
    return load_settings()


def test_the_file_loads_to_the_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = _defaults(tmp_path, monkeypatch)
    assert _load(tmp_path, render_config()) == defaults


def test_every_setting_stands_in_the_file_with_its_comment() -> None:
    lines = render_config().splitlines()
    for name, field in Settings.model_fields.items():
        assert any(line.startswith(f"{name}:") for line in lines), name
        assert any(str(field.description) in line for line in lines), name


def test_sources_are_taken_as_they_are_written(tmp_path: Path) -> None:
    entries = "  # not tried yet\n  - name: A\n    url: https://a.example/\n    enabled: false\n"
    text = render_config(entries)
    assert entries in text
    assert _load(tmp_path, text).sources == [{"name": "A", "url": "https://a.example/", "enabled": False}]


def test_the_example_of_a_source_is_one_that_loads(tmp_path: Path) -> None:
    head, example = render_config().split("sources: []\n")
    shown = head + example.replace("# ", "", 1).replace("\n# ", "\n").replace("\n#", "\n")
    assert _load(tmp_path, shown).sources[0]["timezone"] == "Europe/Berlin"
