"""The text of a report by editors' hands: versions on top of the verified text, which stays as it is."""

import asyncio
import datetime as dt
from dataclasses import dataclass

from pydantic import Field

from monitor.db.reading import RunUsage
from monitor.db.tables.research import ReportEdit, Research
from monitor.errors import Conflict, NotFound
from monitor.research.report_edit import (
    EditedReport,
    ReportText,
    find_own_passages,
    normalize_report,
    parse_edited,
    split_report,
)
from monitor.research.shapes import CamelCaseSchema
from monitor.services.audit import Actor, AuditAction
from monitor.services.research.views import ResearchReader, build_view
from monitor.vocabulary import Role


class ReportVersionView(CamelCaseSchema):
    """A version of a report's text; `is_verified`: with it the verified text stood again."""

    version: int
    edited_by: str
    edited_at: dt.datetime
    is_verified: bool


class OwnPassageView(CamelCaseSchema):
    """A passage that the verified text does not have; the version says who first wrote it, and when."""

    text: str
    version: int


class ReportTextView(CamelCaseSchema):
    """The text of a report in Markdown, without its sources: as it is shown, and as it was verified.

    Version 0 is the verified text. `left_out` counts the passages of the verified text that are gone.
    """

    task_id: str
    version: int
    markdown: str
    verified: str
    own: list[OwnPassageView] = Field(default_factory=list)
    left_out: int = 0
    versions: list[ReportVersionView] = Field(default_factory=list)


@dataclass(kw_only=True)
class ReportEditor(ResearchReader):
    """Edits the text of reports; whoever may read one and is an editor may."""

    async def load_text(self, task_id: str, version: int | None = None, *, by: Actor) -> ReportTextView:
        """Return the text of a report at a version, by default the last; `Conflict` while there is no report."""
        research = await self.load_readable(task_id, by=by)
        verified = self._get_verified(research)
        rows = await self.store.research.list_report_edits(research.id)
        latest = rows[-1].version if rows else 0
        text, own = await self._load_version(research, latest if version is None else version, verified)
        edited = EditedReport(text, verified, own, [])
        return ReportTextView(
            task_id=research.id,
            version=latest if version is None else version,
            markdown=text.markdown,
            verified=verified.markdown,
            own=[OwnPassageView(text=passage, version=number) for passage, number in own.items()],
            left_out=edited.left_out,
            versions=[ReportVersionView(**row._asdict()) for row in rows],
        )

    async def edit_text(self, task_id: str, markdown: str, *, version: int, by: Actor) -> ReportTextView:
        """Put a text in place of that version; `Conflict` where somebody edited it since, or there is no report.

        A text that changes nothing makes no version.
        """
        research = await self._load_editable(task_id, by)
        text = await asyncio.to_thread(parse_edited, markdown)
        return await self._save(research, text, {}, version, by)

    async def restore_text(self, task_id: str, restored: int, *, version: int, by: Actor) -> ReportTextView:
        """Put an earlier version in place of that version, or with 0 the verified text; as a new version."""
        research = await self._load_editable(task_id, by)
        text, own = await self._load_version(research, restored, self._get_verified(research))
        return await self._save(research, text, own, version, by)

    async def _save(
        self, research: Research, text: ReportText, known: dict[str, int], version: int, by: Actor
    ) -> ReportTextView:
        verified = self._get_verified(research)
        rows = await self.store.research.list_report_edits(research.id)
        latest = rows[-1].version if rows else 0
        if version != latest:
            raise await self._build_conflict(research)
        before, own_before = await self._load_version(research, latest, verified)
        if text.markdown != before.markdown:
            own = await asyncio.to_thread(
                find_own_passages, text, verified, known={**known, **own_before}, version=latest + 1
            )
            edit = ReportEdit(
                task_id=research.id,
                version=latest + 1,
                text=None if text.markdown == verified.markdown else text.markdown,
                own=own,
                edited_by=by.name,
                edited_at=self.clock.now(),
            )
            async with self.store.transaction():
                if not await self.store.research.add_report_edit(edit):
                    raise await self._build_conflict(research)
                await self.record(by, AuditAction.RESEARCH_EDIT, research.id, version=edit.version, own=len(own))
        return await self.load_text(research.id, by=by)

    async def _load_version(
        self, research: Research, version: int, verified: ReportText
    ) -> tuple[ReportText, dict[str, int]]:
        if version == 0:
            return verified, {}
        edit = await self.store.research.get_report_edit(research.id, version)
        if edit is None:
            raise NotFound("research.no_version", research=research.id, version=version)
        return (verified, {}) if edit.text is None else (parse_edited(edit.text), edit.own)

    async def _build_conflict(self, research: Research) -> Conflict:
        rows = await self.store.research.list_report_edits(research.id)
        if not rows:
            return Conflict("research.no_such_version", research=research.id)
        return Conflict("research.edited_since", person=rows[-1].edited_by, version=rows[-1].version)

    async def _load_editable(self, task_id: str, by: Actor) -> Research:
        by.require(Role.EDITOR)
        return await self.load_readable(task_id, by=by)

    def _get_verified(self, research: Research) -> ReportText:
        report = build_view(research, None, RunUsage()).report
        if report is None or research.parent_id is not None:
            raise Conflict("research.no_report", research=research.id, status=research.status)
        return normalize_report(split_report(report.markdown))
