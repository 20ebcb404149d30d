"""The benchmarks as they are run, with small inputs; at full length in `make soak`."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as bench
from benchmarks import extract as bench_extract
from benchmarks.startup import measure as measure_startup
from monitor.config.model import BrowserSettings
from monitor.errors import UsageError
from monitor.fetch.browser.launch import find_browser

LIST = "".join(
    f"<li><a href='/art/{n}.html'>关于做好第{n}批项目申报工作的通知</a><span>2026-11-{n:02}</span></li>"
    for n in range(1, 11)
)
# A scorer in the place of the corpus's own: called in the same way, figures that a test can tell apart.
SCORER = """
import csv, json, sys
from pathlib import Path
root = Path(__file__).parent
rows = list(csv.DictReader(open(root / "manifest.csv", encoding="utf-8")))
if sys.argv[1] == "tasks":
    for row in rows:
        print(json.dumps({"id": row["id"], "path": str(root / row["page"]), "url": row["url"]}))
else:
    answers = {one["id"]: one for one in map(json.loads, open(sys.argv[2], encoding="utf-8"))}
    text, items = answers.get("b", {}).get("text") or "", answers.get("a", {}).get("candidates") or []
    print(json.dumps({"all": {"list_f1": float(len(items)), "text_f1": float("申报" in text)}}))
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "score.py").write_text(SCORER, encoding="utf-8")
    rows = (
        "id,kind,url,page\na,list,https://bureau.example/list/,a.html\nb,article,https://bureau.example/b.html,b.html\n"
    )
    (tmp_path / "manifest.csv").write_text(rows, encoding="utf-8")
    (tmp_path / "a.html").write_text(f"<html><body><ul>{LIST}</ul></body></html>", encoding="utf-8")
    text = "各单位请于月底前报送项目申报材料，逾期不再受理，并做好后续工作的安排。" * 6
    (tmp_path / "b.html").write_text(f"<html><body><h1>通知</h1><p>{text}</p></body></html>", encoding="utf-8")
    return tmp_path


def test_all_tools_read_the_same_pages_and_the_corpus_scores_them(corpus: Path) -> None:
    heard: list[str] = []
    ours, *peers = bench_extract.measure(corpus, on_step=heard.append)
    assert (ours.name, ours.pages, ours.failed, ours.figures) == ("monitor", 2, 0, {"list_f1": 10.0, "text_f1": 1.0})
    assert ours.ms_a_page is not None
    assert ours.ratio_to_ours == 1.0
    by_name = {peer.name: peer for peer in peers}
    assert list(by_name) == heard[1:] == ["trafilatura", "htmldate", "gerapy-auto-extractor"]
    # What a tool does not claim to see is not held against it.
    assert (by_name["trafilatura"].pages, by_name["trafilatura"].figures) == (1, {"text_f1": 1.0})
    assert by_name["htmldate"].figures == {}
    apart = by_name["gerapy-auto-extractor"]
    assert apart.missing in (None, "not installed: pip install gerapy-auto-extractor")


def test_a_folder_without_a_corpus_is_said_to_have_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no corpus at .*--corpus DIR"):
        bench_extract.measure(tmp_path, on_step=print)


def test_the_command_prints_the_figures_of_each_tool(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        bench.app(["extract", "--corpus", str(corpus)])
    output = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert left.value.code == 0
    assert output[0][:3] == ["monitor", "trafilatura", "htmldate"]
    assert next(row for row in output if row and row[0] == "list_f1")[1:4] == ["10.0", "-", "-"]
    assert next(row for row in output if row and row[0] == "pages")[1:4] == ["2", "1", "1"]


def test_small_contexts_save_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.app(["tokens", "--json"])
    pruned, general = json.loads(capsys.readouterr().out)["figures"]
    assert pruned["largest_context_chars"] <= 20_000 < general["largest_context_chars"]
    assert pruned["prompt_tokens"] < general["prompt_tokens"]
    assert pruned["items"] > 20


@pytest.mark.soak
def test_a_command_costs_little_more_than_its_libraries() -> None:
    base, *commands = measure_startup(repeats=3, on_step=print)
    assert base.ratio == 1.0
    assert [cost.command for cost in commands if cost.limit is None or cost.ratio > cost.limit] == []


@pytest.mark.soak
def test_the_files_of_our_own_that_run_are_counted() -> None:
    counts = json.loads(_run_bench("files"))["figures"]
    assert [count["work"] for count in counts] == ["a rule sweep", "a fetch", "PATCH /api/v1/sources/1"]
    sweep, fetch, patch = (set(count["files"]) for count in counts)
    assert {"sweep/pipeline.py", "fetch/transport.py"} <= sweep
    assert "fetch/transport.py" in fetch
    assert "services/sources/service.py" in patch


def _run_bench(name: str) -> bytes:
    return subprocess.run([sys.executable, "-m", "benchmarks", name, "--json"], check=True, capture_output=True).stdout


@pytest.fixture(scope="module")
def figures() -> Any:
    """What `python -m benchmarks pages --json` prints; it takes minutes."""
    find_browser(BrowserSettings())
    command = [sys.executable, "-m", "benchmarks", "pages", "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["figures"]


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_drawing_a_thousand_pages_leaves_little_behind(figures: Any) -> None:
    memory = figures["memory"]
    if memory is None:
        pytest.skip("this system does not tell how much memory a process holds")
    assert memory["pages"] == 1000
    assert memory["at_end_mb"] - memory["after_first_50_mb"] <= 50, memory


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("kind", "approach", "least"), [("static", "ours: fetch + lexbor", 0.6), ("rendered", "ours: drawn", 0.85)]
)
def test_pages_come_nearly_as_fast_as_from_the_bare_libraries(
    figures: Any, kind: str, approach: str, least: float
) -> None:
    ratios = {figure["at_once"]: figure["ratio"] for figure in figures[kind] if figure["approach"] == approach}
    assert set(ratios) == {1, 2, 4, 8}
    assert min(ratios.values()) >= least, ratios


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_a_page_follows_fifty_events_a_second() -> None:
    command = [sys.executable, "-m", "benchmarks", "live", "--json"]
    figures = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["figures"]
    assert figures["sent"] == figures["kept"] == figures["seen"] == 1000
    assert figures["delay_p95_ms"] < 1000, figures
    assert figures["transactions"] <= 60, figures


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_paragraphs_at_once_are_researched_twice_as_fast() -> None:
    command = [sys.executable, "-m", "benchmarks", "research", "--json"]
    figures = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["figures"]
    assert [figure["at_once"] for figure in figures["runs"]] == [3, 1]
    assert {run["paragraphs"] for run in figures["runs"]} == {5}
    assert figures["speedup"] >= 2.0, figures
