"""The text of a report over HTTP: read as it is shown and as it was verified, edited, restored."""

from typing import Annotated, Self

from fastapi import APIRouter, Query
from pydantic import AfterValidator, BaseModel, Field, model_validator
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from monitor.db.sessions import sanitize_text
from monitor.research.report_edit import MAX_REPORT_CHARS
from monitor.services.audit import AuditAction
from monitor.services.research.report_edits import ReportTextView
from monitor.web.api.events import TaskId
from monitor.web.auth import AppDep, Editor, Reader, record_token_read
from monitor.web.problems import PROBLEM_RESPONSES

router = APIRouter(prefix="/api/v1/research", tags=["research"], responses=PROBLEM_RESPONSES)

_EXAMPLE_EDIT: JsonDict = {"version": 0, "markdown": "# 储能的现状\n\n## 规模\n\n2026年1月新增装机3亿瓦[1]。"}
_MAX_VERSION = 2**31 - 1


class ReportTextEdit(BaseModel, extra="forbid", json_schema_extra={"examples": [_EXAMPLE_EDIT]}):
    """A text in place of that `version`, or an earlier version again: one of `markdown` and `restore`.

    The Markdown begins with its title (`# …`); headings, lists, tables and the citations `[1]` keep their meaning, all
    else is text.
    """

    version: int = Field(ge=0, le=_MAX_VERSION, strict=True)
    markdown: Annotated[str, Field(max_length=MAX_REPORT_CHARS), AfterValidator(sanitize_text)] | None = None
    restore: int | None = Field(default=None, ge=0, le=_MAX_VERSION, strict=True)

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.markdown is None) == (self.restore is None):
            raise PydanticCustomError("research.text_or_version", "either markdown or restore")
        return self


@router.get("/{task_id}/text", summary="Show the text of a report")
async def get_report_text(
    app: AppDep,
    principal: Reader,
    task_id: TaskId,
    version: Annotated[int | None, Query(ge=0, le=_MAX_VERSION, description="0 is the verified text.")] = None,
) -> ReportTextView:
    """As an editor left it, with what is the editor's own, and as it was verified; 409 while there is no report."""
    found = await app.research.load_text(task_id, version, by=principal)
    await record_token_read(app, principal, AuditAction.RESEARCH_READ, task_id)
    return found


@router.put("/{task_id}/text", summary="Edit the text of a report")
async def edit_report_text(app: AppDep, principal: Editor, task_id: TaskId, wanted: ReportTextEdit) -> ReportTextView:
    """Save a new version; 409 where somebody else saved one since that version, or there is no report.

    What the verified text does not have is marked as yours wherever it is shown. The verified text stays, and verdicts
    and scores are those of it.
    """
    if wanted.restore is not None:
        return await app.research.restore_text(task_id, wanted.restore, version=wanted.version, by=principal)
    return await app.research.edit_text(task_id, wanted.markdown or "", version=wanted.version, by=principal)
