"""What is seen in labelled pages, and how fast, against the public tools for the same, in one run.

Each reader is given the same bytes, one page after the other; what it saw is scored by the corpus's own `score.py`.
A figure is left out where a tool does not say such a thing. The peers are no dependencies of ours, except those that
we build on.
"""

import csv
import datetime as dt
import importlib
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from monitor.errors import UsageError, WorkFailed
from monitor.pages.encoding import decode
from monitor.pages.parse import parse_page

LIST, ARTICLE = "list", "article"
FIGURES = (
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
_LIST_FIGURES = FIGURES[:3]
_DATE_FIGURES = ("article_date_exact", "article_date_wrong")
_ARTICLE_FIGURES = FIGURES[6:]


@dataclass(frozen=True)
class _Task:
    id: str
    kind: str
    url: str
    body: bytes


Read = Callable[[_Task], dict[str, Any]]


class Reader(BaseModel):
    """What one tool reached, over how many pages; `missing` says why it could not be asked.

    The times are medians of what a page keeps a processor busy, so that a busy machine changes them little.
    """

    name: str
    figures: dict[str, float] = Field(default_factory=dict)
    pages: int = 0
    failed: int = 0
    ms_a_page: float | None = None
    ms_a_list: float | None = None
    ms_an_article: float | None = None
    missing: str | None = None


@dataclass(frozen=True)
class _Tool:
    """A tool, the kinds of pages that it reads, and the figures that can be held against it."""

    name: str
    package: str
    kinds: Sequence[str]
    figures: Sequence[str]
    open: Callable[[], Read]


def measure(corpus: Path, *, on_step: Callable[[str], None]) -> list[Reader]:
    """The figures of all tools, ours first; `UsageError` where there is no corpus."""
    tasks = _tasks(corpus)
    readers = []
    for tool in _TOOLS:
        on_step(tool.name)
        if importlib.util.find_spec(tool.package) is None:
            missing = f"not installed: pip install {tool.name}"
            readers.append(Reader(name=tool.name, missing=missing))
            continue
        readers.append(_measured(tool, tasks, corpus))
    return readers


def _tasks(corpus: Path) -> list[_Task]:
    """The pages whose reading is scored."""
    if not (corpus / "manifest.csv").is_file() or not (corpus / "score.py").is_file():
        raise UsageError(
            f"There is no corpus at {corpus}: a folder with manifest.csv, score.py, pages and gold; "
            "name one with --corpus DIR."
        )
    with (corpus / "manifest.csv").open(encoding="utf-8", newline="") as opened:
        kinds = {row["id"]: row["kind"] for row in csv.DictReader(opened)}
    asked = [json.loads(line) for line in _scorer(corpus, "tasks").splitlines()]
    return [_Task(one["id"], kinds[one["id"]], one["url"], Path(one["path"]).read_bytes()) for one in asked]


def _measured(tool: _Tool, tasks: Sequence[_Task], corpus: Path) -> Reader:
    read = tool.open()
    own = [task for task in tasks if task.kind in tool.kinds]
    _answer(read, own[0])  # what a tool loads at its first page is no cost of a page
    answers = []
    spent_ms: dict[str, list[float]] = {LIST: [], ARTICLE: []}
    for task in own:
        started = time.process_time()
        answer = _answer(read, task)
        spent_ms[task.kind].append(1000 * (time.process_time() - started))
        answers.append({**answer, "id": task.id})
    with tempfile.TemporaryDirectory(prefix="monitor-bench-") as folder:
        lines = "".join(json.dumps(answer, ensure_ascii=False) + "\n" for answer in answers)
        file = Path(folder) / "answers.jsonl"
        file.write_text(lines, encoding="utf-8")
        scored = json.loads(_scorer(corpus, "score", str(file), "--json"))["all"]
    return Reader(
        name=tool.name,
        figures={name: scored[name] for name in FIGURES if name in tool.figures and scored.get(name) is not None},
        pages=len(own),
        failed=sum(bool(answer.get("error")) for answer in answers),
        ms_a_page=_median(spent_ms[LIST] + spent_ms[ARTICLE]),
        ms_a_list=_median(spent_ms[LIST]),
        ms_an_article=_median(spent_ms[ARTICLE]),
    )


def _answer(read: Read, task: _Task) -> dict[str, Any]:
    try:
        return read(task)
    except Exception as error:  # noqa: BLE001 -- a peer may raise anything; a page that it cannot read is a page unread
        return {"error": f"{type(error).__name__}: {error}"}


def _median(spent_ms: Sequence[float]) -> float | None:
    return round(statistics.median(spent_ms), 2) if spent_ms else None


def _scorer(corpus: Path, *arguments: str) -> str:
    done = subprocess.run(  # noqa: S603  the corpus's own program, of the folder that was named
        [sys.executable, str(corpus / "score.py"), *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise WorkFailed(f"The corpus's score.py failed: {last}")
    return done.stdout


def _monitor() -> Read:
    at = dt.datetime.now(dt.UTC)

    def read(task: _Task) -> dict[str, Any]:
        page = parse_page(task.body, url=task.url, final_url=task.url, status=None, content_type=None, fetched_at=at)
        return page.model_dump(mode="json")

    return read


def _trafilatura() -> Read:
    from trafilatura import bare_extraction
    from trafilatura.settings import Document

    def read(task: _Task) -> dict[str, Any]:
        found = bare_extraction(task.body, url=task.url, with_metadata=True)
        seen = found.as_dict() if isinstance(found, Document) else {}
        return {"title": seen.get("title"), "published_on": seen.get("date"), "text": seen.get("text")}

    return read


def _htmldate() -> Read:
    from htmldate import find_date

    def read(task: _Task) -> dict[str, Any]:
        return {"published_on": find_date(_text(task), url=task.url, original_date=True)}

    return read


def _gerapy() -> Read:
    gerapy = importlib.import_module("gerapy_auto_extractor")

    def read(task: _Task) -> dict[str, Any]:
        if task.kind == LIST:
            return {"candidates": gerapy.extract_list(_text(task), base_url=task.url)}
        seen = gerapy.extract_detail(_text(task))
        day = seen.get("datetime")
        return {"title": seen.get("title"), "published_on": str(day) if day else None, "text": seen.get("content")}

    return read


def _text(task: _Task) -> str:
    """For tools that take no bytes, the text as we would read it."""
    return decode(task.body, None)[0]


_TOOLS = (
    _Tool("monitor", "monitor", (LIST, ARTICLE), FIGURES, _monitor),
    _Tool("trafilatura", "trafilatura", (ARTICLE,), _ARTICLE_FIGURES, _trafilatura),
    _Tool("htmldate", "htmldate", (ARTICLE,), _DATE_FIGURES, _htmldate),
    _Tool(
        "gerapy-auto-extractor", "gerapy_auto_extractor", (LIST, ARTICLE), (*_LIST_FIGURES, *_ARTICLE_FIGURES), _gerapy
    ),
)
