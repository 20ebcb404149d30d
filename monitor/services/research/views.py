"""A research as people and programs look at it."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import Field

from monitor.db.queries.research import DocumentRow, ResearchKey, ResearchRow
from monitor.db.reading import RunUsage
from monitor.db.sessions import sanitize_text
from monitor.db.tables.research import Research, ResearchEvent, ResearchRemark, ResearchStatus
from monitor.errors import Conflict, NotFound
from monitor.exports.document import Document
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.research.document import CitationUrl, ReportQuestion, build_report_document
from monitor.research.editions import EditionNews, compare_editions
from monitor.research.findings import NoteBasis
from monitor.research.gathering import merge_messages
from monitor.research.report_edit import EditedReport, EditorVersion, normalize_report, parse_edited, split_report
from monitor.research.shapes import (
    CamelCaseSchema,
    ModelBlueprint,
    Plan,
    ReportScore,
    ResearchNote,
    ResearchOptions,
    ResearchReport,
    SearchAgentResult,
    SearchConfig,
    StepType,
)
from monitor.research.state import SearchEntry, State
from monitor.search.contract import MessageText
from monitor.services.audit import COMMAND_LINE, Actor, AuditedService
from monitor.services.evidence import SnapshotView
from monitor.services.research.dependencies import ResearchDependencyFactory, StoreNotebook
from monitor.services.research.documents import load_part_text
from monitor.services.research.editions import EditionsView, EditionView
from monitor.services.schedules import describe_schedule, find_next_fire_time
from monitor.vocabulary import FetchMode, Visibility


class StepUsage(CamelCaseSchema):
    """What the model calls of a step came to; `cost` is None where no price is set."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None


class ResearchUsage(StepUsage):
    by_phase: dict[str, StepUsage] = Field(default_factory=dict)


class ResearchSummary(CamelCaseSchema, MessageModel):
    """A research as the history shows it."""

    task_id: str
    query: str
    status: ResearchStatus
    language: str
    asked_by: str
    team_id: int | None = None
    visibility: Visibility
    created_at: dt.datetime
    started_at: dt.datetime | None
    ended_at: dt.datetime | None
    progress: float
    score: ReportScore | None
    error: Message | None


class ResearchView(ResearchSummary):
    """A research with all that it has so far; `bases` say for each note where it is from."""

    parent_id: str | None
    is_cancel_requested: bool
    config: SearchConfig
    options: ResearchOptions
    plan: Plan | None
    notes: list[ResearchNote]
    bases: list[NoteBasis] = Field(exclude=True)
    blueprint: ModelBlueprint | None
    report: ResearchReport | None
    usage: ResearchUsage
    warnings: list[MessageText]


class ResearchDocumentView(CamelCaseSchema):
    """A document that was given with a question; `pages` of a PDF, and how many of them have no text to read."""

    number: int
    name: str
    kind: str
    size: int
    sha256: str
    pages: int
    pages_without_text: int
    is_cut: bool
    uploaded_by: str
    uploaded_at: dt.datetime


class FollowUpView(CamelCaseSchema, MessageModel):
    """A question about a report, and its answer: a report without headings; None while there is none.

    `queries` are the searches that were made because the pages of the report bear no answer. Its notes are those of the
    research of this id.
    """

    task_id: str
    query: str
    status: ResearchStatus
    language: str
    asked_by: str
    created_at: dt.datetime
    ended_at: dt.datetime | None
    queries: list[str]
    answer: ResearchReport | None
    bases: list[NoteBasis] = Field(exclude=True)
    notes: list[ResearchNote]
    error: Message | None

    @property
    def is_answered(self) -> bool:
        return self.answer is not None and not self.answer.metadata.unanswered


def build_follow_up_view(research: Research) -> FollowUpView:
    found = _parse_result(SearchAgentResult, research.outputs, StepType.DEEP_SEARCH)
    same = set(FollowUpView.model_fields) & set(Research.model_fields)
    return FollowUpView(
        **research.model_dump(include=same),
        task_id=research.id,
        queries=found.strategy.queries if found else [],
        answer=_parse_result(ResearchReport, research.outputs, StepType.REPORTING),
        notes=found.notes if found else [],
        bases=parse_note_bases(research.outputs),
    )


def build_summary(row: ResearchRow) -> ResearchSummary:
    named = {name: getattr(row, name) for name in ResearchSummary.model_fields if name in row._fields}
    score = None if row.score is None else ReportScore.model_validate(row.score)
    return ResearchSummary(**named | {"score": score}, task_id=row.id)


def build_view(research: Research, latest: ResearchEvent | None, usage: RunUsage) -> ResearchView:
    outputs = research.outputs
    plan = _parse_result(Plan, outputs, StepType.PLAN)
    found = _parse_result(SearchAgentResult, outputs, StepType.DEEP_SEARCH)
    blueprint = _parse_result(ModelBlueprint, outputs, StepType.MODELING)
    report = _parse_result(ResearchReport, outputs, StepType.REPORTING)
    score = outputs.get(StepType.REPORTING, {}).get("score")
    documents = (document.metadata for document in (plan, found, blueprint, report) if document is not None)
    same = set(ResearchView.model_fields) & set(Research.model_fields) - {"config", "options"}
    return ResearchView(
        **research.model_dump(include=same),
        task_id=research.id,
        config=SearchConfig.model_validate(research.config),
        options=ResearchOptions.model_validate(research.options),
        progress=float(latest.data["progress"]) if latest else 0.0,
        plan=plan,
        notes=found.notes if found else [],
        bases=parse_note_bases(outputs),
        blueprint=blueprint,
        report=report,
        score=None if score is None else ReportScore.model_validate(score),
        usage=_build_usage(usage),
        warnings=_collect_warnings(documents),
    )


def parse_note_bases(outputs: Mapping[str, Any]) -> list[NoteBasis]:
    return [NoteBasis.model_validate(output) for output in outputs.get(StepType.DEEP_SEARCH, {}).get("bases", [])]


def _parse_result(kind: Any, outputs: Mapping[str, Any], step: StepType) -> Any:
    kept = outputs.get(step)
    return None if kept is None else kind.model_validate(kept["result"])


def _collect_warnings(documents: Iterable[Any]) -> list[Message]:
    return merge_messages([warning for metadata in documents for warning in metadata.warnings])


def _build_usage(usage: RunUsage) -> ResearchUsage:
    names = set(StepUsage.model_fields)
    by_phase = {
        name: StepUsage(**phase_usage.model_dump(include=names)) for name, phase_usage in usage.by_phase.items()
    }
    return ResearchUsage(**usage.model_dump(include=names), by_phase=by_phase)


class NoteSnapshotView(SnapshotView):
    """The page behind a quote of a note; without a kept page, `record` is empty and the text is what was read."""

    task_id: str
    note_index: int
    quote: int
    claim: str


@dataclass(kw_only=True)
class ResearchReader(AuditedService):
    """Researches for those who may read them: of another's private one there is none of that id."""

    dependency_factory: ResearchDependencyFactory

    async def load_research(self, task_id: str) -> Research:
        research = await self.store.research.get(sanitize_text(task_id))
        if research is None:
            raise NotFound("research.not_found", research=task_id)
        return research

    async def load_readable(self, task_id: str, *, by: Actor) -> Research:
        """Return a research; of a follow-up, who may read its report may read it."""
        research = await self.load_research(task_id)
        shared = await self.load_research(research.parent_id) if research.parent_id else research
        if not by.may_read(shared.visibility, shared.asked_by):
            raise NotFound("research.not_found", research=task_id)
        return research

    async def get(self, task_id: str, *, by: Actor) -> ResearchView:
        research = await self.load_readable(task_id, by=by)
        latest = await self.store.research_events.latest(research.id)
        return build_view(research, latest, await self.store.usage.load_run_usage(research.id))

    async def load_state(self, task_id: str, *, by: Actor) -> State | None:
        """The plan with its paragraphs as they stand; None before there is one."""
        return await StoreNotebook(self.store, (await self.load_readable(task_id, by=by)).id).load_state()

    async def list_follow_ups(self, task_id: str, *, by: Actor) -> list[FollowUpView]:
        """The questions that were asked about a report, oldest first, with their answers as far as they are."""
        research = await self.load_readable(task_id, by=by)
        return [build_follow_up_view(row) for row in await self.store.research.list_follow_ups(research.id)]

    async def list_remarks(self, task_id: str, *, by: Actor) -> list[ResearchRemark]:
        return await self.store.research.list_remarks((await self.load_readable(task_id, by=by)).id)

    async def get_note_snapshot(self, task_id: str, note_index: int, quote: int = 0, *, by: Actor) -> NoteSnapshotView:
        """The kept page behind a note, with the quote of that number, from 0, marked in it."""
        research = await self.load_readable(task_id, by=by)
        found = build_view(research, None, RunUsage())
        if not 0 <= note_index < len(found.notes):
            raise NotFound("research.no_note", research=task_id, note=note_index, notes=len(found.notes))
        note, basis = found.notes[note_index], found.bases[note_index]
        if not 0 <= quote < max(len(note.evidence), 1):
            raise NotFound("research.no_quote", note=note_index, quote=quote, quotes=len(note.evidence))
        passage = note.evidence[quote].quote if note.evidence else ""
        page = await self._load_page(basis, passage)
        if page is None or page.problem:
            page = await self._find_read_text(research.id, note, basis, passage) or page
        if page is None:
            raise NotFound("research.page_gone", url=note.source_url)
        return NoteSnapshotView(
            **dict(page), task_id=research.id, note_index=note_index, quote=quote, claim=note.summary
        )

    async def _load_page(self, basis: NoteBasis, passage: str) -> SnapshotView | None:
        """Return the kept page of a note, of a reader's document the part alone; None where none was kept."""
        record = await self.store.evidence.get_record((basis.record or "").partition("#")[0])
        if record is None:
            return None
        reader = self.dependency_factory.snapshot_reader
        if basis.document is None or basis.record is None:
            return await reader.load_view(record, title=basis.title, passage=passage)
        text = await load_part_text(basis.record, self.dependency_factory.document_keeper.open_text_loader())
        return await reader.build_view(record, text, title=basis.title, passage=passage)

    async def list_documents(self, task_id: str, *, by: Actor) -> Sequence[ResearchDocumentView]:
        """The documents that were given with a question; of one about a report, those of the report's."""
        research = await self.load_readable(task_id, by=by)
        rows = await self.store.research.list_documents(research.parent_id or research.id)
        return [ResearchDocumentView(**row._asdict()) for row in rows]

    async def load_document(self, task_id: str, number: int, *, by: Actor) -> tuple[DocumentRow, bytes]:
        """Return a document as it was given; `NotFound` for whoever may not read the research."""
        research = await self.load_readable(task_id, by=by)
        return await self.dependency_factory.document_keeper.load_body(research.parent_id or research.id, number)

    async def find_edited(self, research: Research) -> EditedReport | None:
        """Return the report as an editor left it; None where it is the verified text."""
        rows = await self.store.research.list_report_edits(research.id)
        last = await self.store.research.get_report_edit(research.id, rows[-1].version) if rows else None
        report = _parse_result(ResearchReport, research.outputs, StepType.REPORTING)
        if last is None or last.text is None or report is None:
            return None
        zone = self._get_zone()
        versions = [EditorVersion(row.version, row.edited_by, row.edited_at.astimezone(zone)) for row in rows]
        return EditedReport(
            parse_edited(last.text), normalize_report(split_report(report.markdown)), last.own, versions
        )

    def _get_zone(self) -> ZoneInfo:
        return ZoneInfo(self.dependency_factory.settings.timezone)

    async def build_document(
        self, task_id: str, *, by: Actor, citation_url: CitationUrl | None = None, is_verified: bool = False
    ) -> Document:
        """Return the report as a document, with what was asked about it; its citations lead to the kept pages.

        Its text is the edited one where there is one, unless the verified is wanted. `Conflict` while there is none.
        """
        research = await self.load_readable(task_id, by=by)
        view = build_view(research, None, RunUsage())
        if view.report is None:
            raise Conflict("research.no_report", research=task_id, status=view.status)
        edited = None if is_verified else await self.find_edited(research)
        return build_report_document(
            edited.replace_in(view.report, view.language) if edited else view.report,
            query=view.query,
            bases=view.bases,
            score=view.score,
            blueprint=view.blueprint,
            language=view.language,
            citation_url=citation_url or self._build_citation_url(research.id),
            written_at=view.ended_at and view.ended_at.astimezone(self._get_zone()),
            news=await self.find_news(research),
            questions=[self._build_question(row) for row in await self.store.research.list_follow_ups(research.id)],
        )

    async def list_editions(self, task_id: str, *, by: Actor) -> EditionsView:
        """The schedule of a research, and the editions that it began and that the person may read."""
        research = await self.load_readable(task_id, by=by)
        first = research.edition_of or research.id
        schedule = await self.store.research.get_schedule(first)
        series = await self.store.research.list_editions(first)
        rows = [row for row in series if by.may_read(row.visibility, row.asked_by)]
        default, now = self.dependency_factory.settings.timezone, self.clock.now()
        return EditionsView(
            first=first,
            schedule=schedule.cron if schedule else None,
            schedule_text=describe_schedule(schedule.cron if schedule else None),
            timezone=schedule.timezone if schedule else default,
            next_at=find_next_fire_time(schedule.cron, schedule.timezone, now) if schedule else None,
            editions=[EditionView(task_id=row.id, **row._asdict()) for row in rows],
            news=await self.find_news(research),
        )

    async def find_news(self, research: Research) -> EditionNews | None:
        """Return what a report says that the last one before it in its series did not; None where either is missing."""
        report = _parse_result(ResearchReport, research.outputs, StepType.REPORTING)
        if report is None or research.edition_of is None:
            return None
        for row in await self.store.research.list_editions(research.edition_of):
            if (row.created_at, row.id) >= (research.created_at, research.id):
                continue
            output = await self.store.research.load_output(row.id, StepType.REPORTING)
            if output is not None:
                earlier = ResearchReport.model_validate(output["result"])
                zone = self._get_zone()
                since = (row.ended_at or row.created_at).astimezone(zone).date()
                return compare_editions(report, earlier, task_id=row.id, since=since)
        return None

    def _build_question(self, research: Research) -> ReportQuestion:
        asked = build_follow_up_view(research)
        return ReportQuestion(
            asked.query, asked.status, asked.answer, asked.bases, self._build_citation_url(asked.task_id)
        )

    async def list(
        self, *, by: Actor, limit: int = 50, after: ResearchKey | None = None, text: str = ""
    ) -> list[ResearchSummary]:
        reader = None if by.name == COMMAND_LINE.name else by.owner
        rows = await self.store.research.list_rows(reader=reader, after=after, text=text, limit=limit)
        return [build_summary(row) for row in rows]

    def _build_citation_url(self, task_id: str) -> CitationUrl:
        home = self.dependency_factory.settings.web.public_url
        return lambda index: f"{home.rstrip('/')}/research/{task_id}/notes/{index}" if home else None

    async def _find_read_text(
        self, task_id: str, note: ResearchNote, basis: NoteBasis, passage: str
    ) -> SnapshotView | None:
        state = await StoreNotebook(self.store, task_id).load_state()
        entries = (
            [entry for paragraph in state.paragraphs for entry in paragraph.research.search_history] if state else []
        )
        entry = next((entry for entry in entries if entry.url == note.source_url and passage in entry.content), None)
        return None if entry is None else _build_entry_view(entry, basis, passage)


def _build_entry_view(entry: SearchEntry, basis: NoteBasis, passage: str) -> SnapshotView:
    start = entry.content.find(passage) if passage else -1
    return SnapshotView(
        title=basis.title,
        passage=passage,
        record="",
        url=entry.url,
        final_url=entry.url,
        way=FetchMode.HTTP,
        status=None,
        fetched_at=entry.timestamp.astimezone(dt.UTC),
        sha256=None,
        text=entry.content,
        is_cut=True,
        start=start if start >= 0 else None,
        end=start + len(passage) if start >= 0 else None,
    )
