"""What is seen in labelled pages, and how fast, against the public tools for the same, in one run.

Each reader is given the same bytes, one page after the other; what it saw is scored by the corpus's own `score.py`.
A figure is left out where a tool does not say such a thing. The peers are no dependencies of ours, except those that
we build on.
"""

import csv
import datetime as dt
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from monitor.errors import UsageError, WorkFailed
from monitor.extract.encoding import decode
from monitor.extract.parse import parse_page

KINDS = LIST, ARTICLE = "list", "article"

METRICS = (
    "list_recall",
    "list_precision",
    "list_f1",
    "list_date_exact",
    "list_date_wrong",
    "next_page",
    "article_title",
    "article_date_exact",
    "article_date_wrong",
    "text_f1",
    "text_with",
    "text_without",
)

_LIST_METRICS = METRICS[:3]

_DATE_METRICS = ("article_date_exact", "article_date_wrong")

_ARTICLE_METRICS = METRICS[6:]


@dataclass(frozen=True)
class _LabelledPage:
    id: str
    kind: str
    url: str
    body: bytes


ExtractPage = Callable[[_LabelledPage], dict[str, Any]]


class ExtractorResult(BaseModel):
    """What one tool reached, over how many pages; `missing` says why it could not be asked.

    The times are medians of what a page keeps a processor busy; `ratio_to_ours` is the median, over the pages that it
    reads, of its time beside ours for the same page. The tools take turns, so that a busy machine slows all alike.
    """

    name: str
    figures: dict[str, float] = Field(default_factory=dict)
    pages: int = 0
    failed: int = 0
    ms_a_page: float | None = None
    ms_a_list: float | None = None
    ms_an_article: float | None = None
    ratio_to_ours: float | None = None
    missing: str | None = None


@dataclass(frozen=True)
class _Extractor:
    """A tool, the kinds of pages that it reads, and the figures that can be held against it."""

    name: str
    package: str
    kinds: Sequence[str]
    metrics: Sequence[str]
    open: Callable[[], ExtractPage]


def measure(corpus: Path, *, on_step: Callable[[str], None]) -> list[ExtractorResult]:
    """The figures of all tools, ours first; `UsageError` where there is no corpus."""
    tasks = _load_labelled_pages(corpus)
    runs = []
    for tool in _EXTRACTORS:
        on_step(tool.name)
        if importlib.util.find_spec(tool.package) is not None:
            runs.append(_ToolRun(tool, tool.open()))
    for run in runs:
        _extract_page(run.read, run.select(tasks)[0])  # what a tool loads at its first page is no cost of a page
    for task in tasks:
        for run in runs:
            if task.kind in run.tool.kinds:
                run.extract(task)
    by_tool = {run.tool.name: run.summarize(tasks, corpus, beside=runs[0]) for run in runs}
    missing = {
        tool.name: ExtractorResult(name=tool.name, missing=f"not installed: pip install {tool.name}")
        for tool in _EXTRACTORS
    }
    return list((missing | by_tool).values())


def _load_labelled_pages(corpus: Path) -> list[_LabelledPage]:
    """The pages whose reading is scored."""
    if not (corpus / "manifest.csv").is_file() or not (corpus / "score.py").is_file():
        raise UsageError(
            f"There is no corpus at {corpus}: a folder with manifest.csv, score.py, pages and gold; "
            "name one with --corpus DIR."
        )
    with (corpus / "manifest.csv").open(encoding="utf-8", newline="") as opened:
        kinds = {row["id"]: row["kind"] for row in csv.DictReader(opened)}
    asked = [json.loads(line) for line in _run_scorer(corpus, "tasks").splitlines()]
    return [
        _LabelledPage(entry["id"], kinds[entry["id"]], entry["url"], Path(entry["path"]).read_bytes())
        for entry in asked
    ]


@dataclass(frozen=True)
class _ToolRun:
    """What a tool answered to the pages, and how many milliseconds each took."""

    tool: _Extractor
    read: ExtractPage
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    spent_ms: dict[str, float] = field(default_factory=dict)

    def select(self, tasks: Sequence[_LabelledPage]) -> list[_LabelledPage]:
        return [task for task in tasks if task.kind in self.tool.kinds]

    def extract(self, task: _LabelledPage) -> None:
        started = time.process_time()
        answer = _extract_page(self.read, task)
        self.spent_ms[task.id] = 1000 * (time.process_time() - started)
        self.answers[task.id] = {**answer, "id": task.id}

    def summarize(self, tasks: Sequence[_LabelledPage], corpus: Path, *, beside: "_ToolRun") -> ExtractorResult:
        scored = score_answers(corpus, self.answers.values())
        names = [name for name in METRICS if name in self.tool.metrics and scored.get(name) is not None]
        by_kind = {kind: [self.spent_ms[task.id] for task in self.select(tasks) if task.kind == kind] for kind in KINDS}
        return ExtractorResult(
            name=self.tool.name,
            figures={name: scored[name] for name in names},
            pages=len(self.answers),
            failed=sum(bool(answer.get("error")) for answer in self.answers.values()),
            ms_a_page=_compute_median([*self.spent_ms.values()]),
            ms_a_list=_compute_median(by_kind[LIST]),
            ms_an_article=_compute_median(by_kind[ARTICLE]),
            ratio_to_ours=_compute_median([ms / beside.spent_ms[page] for page, ms in self.spent_ms.items()]),
        )


def _extract_page(read: ExtractPage, task: _LabelledPage) -> dict[str, Any]:
    try:
        return read(task)
    except Exception as error:  # noqa: BLE001 -- a peer may raise anything; a page that it cannot read is a page unread
        return {"error": f"{type(error).__name__}: {error}"}


def _compute_median(values: Sequence[float]) -> float | None:
    return round(statistics.median(values), 2) if values else None


def score_answers(corpus: Path, answers: Iterable[dict[str, Any]]) -> dict[str, float | None]:
    """Return the figures that the corpus's `score.py` gives to pages as JSON, each with the `id` of its task."""
    with tempfile.TemporaryDirectory(prefix="monitor-bench-") as folder:
        lines = "".join(json.dumps(answer, ensure_ascii=False) + "\n" for answer in answers)
        file = Path(folder) / "answers.jsonl"
        file.write_text(lines, encoding="utf-8")
        scored: dict[str, float | None] = json.loads(_run_scorer(corpus, "score", str(file), "--json"))["all"]
        return scored


def _run_scorer(corpus: Path, *arguments: str) -> str:
    done = subprocess.run(  # noqa: S603  the corpus's own program, of the folder that was named
        [sys.executable, str(corpus / "score.py"), *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise WorkFailed(f"The corpus's score.py failed: {last}")
    return done.stdout


def _open_monitor() -> ExtractPage:
    at = dt.datetime.now(dt.UTC)

    def read(task: _LabelledPage) -> dict[str, Any]:
        page = parse_page(task.body, url=task.url, final_url=task.url, status=None, content_type=None, fetched_at=at)
        return page.model_dump(mode="json")

    return read


def _open_trafilatura() -> ExtractPage:
    from trafilatura import bare_extraction
    from trafilatura.settings import Document

    def read(task: _LabelledPage) -> dict[str, Any]:
        found = bare_extraction(task.body, url=task.url, with_metadata=True)
        seen = found.as_dict() if isinstance(found, Document) else {}
        return {"title": seen.get("title"), "published_on": seen.get("date"), "text": seen.get("text")}

    return read


def _open_htmldate() -> ExtractPage:
    from htmldate import find_date

    def read(task: _LabelledPage) -> dict[str, Any]:
        return {"published_on": find_date(_decode_text(task), url=task.url, original_date=True)}

    return read


def _open_gerapy() -> ExtractPage:
    gerapy = importlib.import_module("gerapy_auto_extractor")

    def read(task: _LabelledPage) -> dict[str, Any]:
        if task.kind == LIST:
            return {"candidates": gerapy.extract_list(_decode_text(task), base_url=task.url)}
        seen = gerapy.extract_detail(_decode_text(task))
        day = seen.get("datetime")
        return {"title": seen.get("title"), "published_on": str(day) if day else None, "text": seen.get("content")}

    return read


def _decode_text(task: _LabelledPage) -> str:
    """For tools that take no bytes, the text as we would read it."""
    return decode(task.body, None)[0]


_EXTRACTORS = (
    _Extractor("monitor", "monitor", (LIST, ARTICLE), METRICS, _open_monitor),
    _Extractor("trafilatura", "trafilatura", (ARTICLE,), _ARTICLE_METRICS, _open_trafilatura),
    _Extractor("htmldate", "htmldate", (ARTICLE,), _DATE_METRICS, _open_htmldate),
    _Extractor(
        "gerapy-auto-extractor",
        "gerapy_auto_extractor",
        (LIST, ARTICLE),
        (*_LIST_METRICS, *_ARTICLE_METRICS),
        _open_gerapy,
    ),
)
