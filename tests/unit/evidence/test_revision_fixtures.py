"""Every case under fixtures/revisions: a page at two looks, and what became of it in between."""

import datetime as dt
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitor.evidence.revisions import compare_snapshots, create_page_snapshot
from monitor.extract.parse import parse_page
from monitor.i18n.message import Message
from monitor.page import EditOperation, Page, PageChange, PageEdit, PageError, PageErrorCode, PagePart, PageSnapshot

CASES = sorted(
    path.parent for path in (Path(__file__).resolve().parents[3] / "fixtures" / "revisions").glob("*/case.yaml")
)


def page_of(case: Path, look: str, about: dict[str, Any]) -> Page:
    report = about[look]
    file = next(case.glob(f"{look}.*"), None)
    page = parse_page(
        file.read_bytes() if file else b"",
        url=about["url"],
        final_url=report.get("final_url", about["url"]),
        status=report.get("status", 200),
        content_type="text/plain" if file and file.suffix == ".txt" else "text/html",
        fetched_at=dt.datetime.fromisoformat(report["fetched_at"]),
    )
    if "error" in report:
        page.error = PageError(code=PageErrorCode(report["error"]), message=Message.other("it answered so"))
    return page


def seen(case: Path, look: str, about: dict[str, Any]) -> PageSnapshot:
    page = page_of(case, look, about)
    by_name = about[look].get("hashes", {})
    snapshot = create_page_snapshot(page)
    hashed = [
        attachment.model_copy(update={"sha256": by_name.get(attachment.url.rsplit("/", 1)[-1])})
        for attachment in snapshot.attachments
    ]
    return snapshot.model_copy(update={"attachments": hashed})


@cache
def looked_at(case: Path) -> tuple[PageChange, dict[str, Any]]:
    about = yaml.safe_load((case / "case.yaml").read_text(encoding="utf-8"))
    expected = yaml.safe_load((case / "expected.yaml").read_text(encoding="utf-8"))
    return compare_snapshots(seen(case, "before", about), seen(case, "after", about)), expected


def counted(edits: list[PageEdit]) -> dict[str, int]:
    return {str(op): count for op in EditOperation if (count := sum(edit.op is op for edit in edits))}


def by_op(change: PageChange, part: PagePart) -> dict[str, list[str]]:
    edits = change.list_edits(part)
    return {
        str(op): found
        for op in EditOperation
        if (found := [edit.article or edit.before or edit.after for edit in edits if edit.op is op])
    }


def articles_of(change: PageChange) -> dict[str, Any]:
    named: dict[str, Any] = by_op(change, PagePart.ARTICLE)
    moved = [
        [edit.before, edit.after] for edit in change.list_edits(PagePart.ARTICLE) if edit.op is EditOperation.RENUMBERED
    ]
    return named | ({"renumbered": moved} if moved else {})


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_case_is_judged_as_it_says(case: Path) -> None:
    change, expected = looked_at(case)
    assert (change.kind.is_revision, str(change.kind)) == (expected["is_revision"], expected["kind"]), change
    assert articles_of(change) == expected.get("articles", {})
    assert counted(change.list_edits(PagePart.PARAGRAPH)) == expected.get("paragraphs", {}), change.edits
    assert by_op(change, PagePart.ATTACHMENT) == expected.get("attachments", {})
    fields = [str(part) for part in (PagePart.TITLE, PagePart.DATE) if change.list_edits(part)]
    assert fields == expected.get("fields", [])
    report = "\n".join(f"{edit.before}\n{edit.after}" for edit in change.edits)
    assert [words for words in expected.get("says", []) if words not in report] == []


def test_no_case_is_a_false_revision_and_none_is_missed() -> None:
    outcomes = [(case.name, looked_at(case)) for case in CASES]
    false = [name for name, (change, expected) in outcomes if change.kind.is_revision and not expected["is_revision"]]
    missed = [name for name, (change, expected) in outcomes if expected["is_revision"] and not change.kind.is_revision]
    assert (false, missed) == ([], [])
    assert len(CASES) >= 90
    assert sum(expected["is_revision"] for _, (_, expected) in outcomes) >= 45
