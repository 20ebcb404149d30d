"""`monitor brief` and `items export` in their formats, as they are typed."""

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from docx import Document as WordDocument

from monitor.briefing.compose import Briefing
from monitor.config.model import BrowserSettings
from monitor.errors import BrowserMissing
from monitor.exports.registry import BRIEFING_FORMATS
from monitor.fetch.browser.launch import find_browser

BEGINS = {
    "md": "政".encode(),
    "html": b"<!doctype html>",
    "docx": b"PK",
    "pdf": b"%PDF-",
    "xlsx": b"PK",
    "json": b"{",
    "csv": b"\xef\xbb\xbf",
    "atom": b"<?xml",
}


@pytest.fixture
def folder(typed: Any, tmp_path: Path) -> Path:
    """Where `monitor init` was typed, with a kept briefing."""
    assert typed(["init"]).code == 0
    kept = Briefing(
        title="官方动态简报",
        period={"since": "2026-02-03", "until": "2026-02-03"},
        language="zh",
        generated_at="2026-02-03T09:30:00+08:00",
        items=[],
        more=[],
        sources=[],
        gaps=[],
        baselines=[],
        extracts=0,
        without_summary=0,
        reposts=[],
    )  # type: ignore[arg-type]
    (tmp_path / "kept.json").write_text(kept.model_dump_json())
    return tmp_path


@pytest.mark.parametrize("form", BRIEFING_FORMATS)
def test_a_briefing_is_written_in_each_format(typed: Any, folder: Path, form: str) -> None:
    if form == "pdf":
        try:
            find_browser(BrowserSettings())
        except BrowserMissing as missing:
            pytest.skip(str(missing))
    said = typed(["brief", "--from", "kept.json", "--format", form, "--out", f"b.{form}"])
    assert said.code == 0, said.err
    assert (folder / f"b.{form}").read_bytes().startswith(BEGINS[form])


def test_the_firms_template_is_that_of_the_option_or_of_the_settings(
    typed: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("option", "setting"):
        firm = WordDocument()
        firm.add_paragraph(f"封面 {name}")
        firm.save(str(folder / f"{name}.docx"))
    monkeypatch.setenv("MONITOR_BRIEFING__TEMPLATE", "setting.docx")
    words = ["brief", "--from", "kept.json", "--format", "docx", "--out", "b.docx"]
    for more, name in (([], "setting"), (["--template", "option.docx"], "option")):
        assert typed([*words, *more]).code == 0
        assert WordDocument(str(folder / "b.docx")).paragraphs[0].text == f"封面 {name}"
    assert "nothing.docx cannot be read" in typed([*words, "--template", "nothing.docx"]).complaint
    assert "not a Word file" in typed([*words, "--template", "kept.json"]).complaint


@pytest.mark.parametrize("words", [["brief", "--format", "docx"], ["items", "export", "--format", "xlsx"]])
def test_a_terminal_is_not_flooded_with_what_it_cannot_show(folder: Path, words: list[str]) -> None:
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "monitor", *words],
        cwd=folder,
        stdout=theirs,
        stderr=subprocess.PIPE,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])},
        check=False,
    )
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 2
    assert f"A {words[-1]} cannot be shown in a terminal: name a file with --out FILE." in done.stderr.decode()


def test_what_is_piped_has_no_mark_of_a_file_and_bytes_stay_bytes(typed: Any, folder: Path) -> None:
    def piped(*words: str) -> bytes:
        done = subprocess.run(
            [sys.executable, "-m", "monitor", *words],
            cwd=folder,
            capture_output=True,
            timeout=60,
            check=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])},
        )
        return done.stdout

    assert piped("items", "export").startswith(b"id,source,section,title")
    assert piped("items", "export", "--format", "xlsx").startswith(b"PK")
    assert typed(["items", "export", "--format", "json"]).document == {"items": []}
