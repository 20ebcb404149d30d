"""Researches over HTTP: asked, looked at while they go, their plans approved, stopped, read, saved as documents."""

import datetime as dt
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError
from starlette.datastructures import FormData, UploadFile

from monitor.bootstrap import App
from monitor.config.model import ResearchSettings
from monitor.db.sessions import sanitize_text
from monitor.db.tables.research import ResearchStatus
from monitor.errors import UsageError
from monitor.exports.registry import REPORT_FORMATS, ReportFormat
from monitor.research.shapes import CamelCaseSchema, PlanParagraph, ResearchOptions, SamplingOptions, SearchConfig
from monitor.services.audit import AuditAction
from monitor.services.cursors import cut_list, cut_page, decode_cursor
from monitor.services.research.documents import MEDIA_TYPES, UploadedFile
from monitor.services.research.editions import EditionPageView
from monitor.services.research.views import (
    FollowUpView,
    NoteSnapshotView,
    ResearchDocumentView,
    ResearchSummary,
    ResearchView,
)
from monitor.vocabulary import Visibility
from monitor.web.api.briefings import build_download_response, describe_files
from monitor.web.api.cursors import DEFAULT_LONG_LIMIT, Cursor, Limit
from monitor.web.api.events import EXAMPLE_TASK_ID, TaskId
from monitor.web.auth import RUN_SCOPE, STOP_SCOPE, AppDep, Editor, Principal, Reader, record_token_read
from monitor.web.problems import PROBLEM_RESPONSES, describe_invalid_fields

NoteIndex = Annotated[int, Path(ge=0, le=2**31 - 1, description="The place of a note among the notes, from 0.")]
DocumentNumber = Annotated[int, Path(ge=1, le=2**31 - 1, description="Which of the documents, from 1.")]
ReportTextChoice = Annotated[
    Literal["edited", "verified"], Query(description="The text as an editor left it, or as it was verified.")
]
_MAX_FILES = 200
_DOCUMENTS_FORM = {
    "type": "object",
    "required": ["asked", "documents"],
    "properties": {
        "asked": {"type": "string", "examples": ['{"query": "How do our terms differ from the new rules?"}']},
        "documents": {"type": "array", "items": {"type": "string", "format": "binary"}},
    },
}
_STEP_NAMES = ("plan", "search", "modeling", "report")
_EXAMPLE_PLAN_APPROVAL: JsonDict = {"paragraphs": [{"title": "政策", "content": "出台了哪些管制措施"}]}

router = APIRouter(prefix="/api/v1/research", tags=["research"], responses=PROBLEM_RESPONSES)


def _normalize_text(text: str) -> str:
    text = sanitize_text(text).strip()
    if not text:
        raise ValueError("text.empty")
    return text


def _validate_models(models: dict[str, str]) -> dict[str, str]:
    if unknown := models.keys() - set(_STEP_NAMES):
        raise PydanticCustomError(
            "research.no_such_step", "no such step", {"name": min(unknown)[:40], "known": list(_STEP_NAMES)}
        )
    return {name: plain for name, model in models.items() if (plain := sanitize_text(model).strip())}


QuestionText = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_normalize_text)]
Title = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_normalize_text)]

StepModels = Annotated[
    dict[str, Annotated[str, Field(max_length=200)]],
    Field(max_length=len(_STEP_NAMES), description="A model for a step: plan, search, modeling, report."),
    AfterValidator(_validate_models),
]


class SearchConfigSchema(SearchConfig, extra="forbid"):
    """Search preferences; an engine that is not known is told in the metadata's warnings."""

    engines: list[Annotated[str, Field(max_length=100), AfterValidator(sanitize_text)]] = Field(
        default_factory=list, max_length=20
    )


class SamplingSchema(SamplingOptions):
    model_config = ConfigDict(extra="forbid")


class ResearchOptionsSchema(ResearchOptions, extra="forbid"):
    """Models and sampling of this research alone; `review_plan`: it waits until its plan was looked at."""

    models: StepModels = Field(default_factory=dict)
    sampling: SamplingSchema = Field(default_factory=SamplingSchema)


_EXAMPLE_RESEARCH: JsonDict = {
    "query": "稀土出口管制近一年有哪些变化？",
    "config": {"engines": ["archive"], "maxResults": 20},
    "options": {"models": {"report": "gpt-5"}, "sampling": {"temperature": 0.3}, "review_plan": True},
}


class ResearchRequest(BaseModel, extra="forbid", json_schema_extra={"examples": [_EXAMPLE_RESEARCH]}):
    """What is asked; `visibility`: whether everybody may read the question and the report, or you alone."""

    query: QuestionText
    visibility: Visibility = Visibility.PRIVATE
    config: SearchConfigSchema = Field(default_factory=SearchConfigSchema)
    options: ResearchOptionsSchema = Field(default_factory=ResearchOptionsSchema)
    team: str | None = Field(
        default=None, max_length=60, description="One of your teams: what it sees is searched, and it alone reads it."
    )


class ResearchChange(BaseModel, extra="forbid", json_schema_extra={"examples": [{"visibility": "open"}]}):
    visibility: Visibility


class ResearchTaskSchema(CamelCaseSchema):
    """The id of a research that was asked for."""

    task_id: str = Field(examples=[EXAMPLE_TASK_ID])


class ResearchState(CamelCaseSchema):
    """How a research stands after what was asked."""

    task_id: str = Field(examples=[EXAMPLE_TASK_ID])
    status: ResearchStatus


class DocumentListSchema(BaseModel):
    """The documents of a research, in the order in which they were given; the list is whole, so `next` is null."""

    documents: list[ResearchDocumentView]
    next: None = None


class FollowUpRequest(BaseModel, extra="forbid", json_schema_extra={"examples": [{"question": "这些措施何时施行？"}]}):
    """A question about a finished report."""

    question: QuestionText


class FollowUpListSchema(BaseModel):
    """The questions about a report, oldest first, with their answers, and the cursor with which the list goes on."""

    questions: list[FollowUpView]
    next: str | None


class ResearchScheduleRequest(BaseModel):
    """As `monday 08:00`, `weekdays 07:00` or cron, in the service's time zone; null or `off` stops it."""

    model_config = ConfigDict(extra="forbid")
    schedule: Annotated[str, Field(max_length=200), AfterValidator(sanitize_text)] | None = Field(
        examples=["monday 08:00"]
    )


class ModelListSchema(BaseModel):
    """Names of models, as the options of a research take them."""

    models: list[str]
    next: None = None


class ResearchListSchema(BaseModel):
    """A page of the history, newest first, without the reports."""

    researches: list[ResearchSummary]
    next: str | None


class PlanParagraphSchema(PlanParagraph, extra="forbid"):
    """A paragraph that the report is to have."""

    title: Title
    content: Annotated[str, Field(max_length=2000), AfterValidator(sanitize_text)] = ""


class PlanApprovalRequest(BaseModel, extra="forbid", json_schema_extra={"examples": [_EXAMPLE_PLAN_APPROVAL]}):
    """The plan by which the research goes on: its paragraphs take the place of those that were proposed."""

    title: Title | None = None
    paragraphs: list[PlanParagraphSchema] = Field(min_length=1, max_length=20)


class RemarkSchema(BaseModel, extra="forbid", json_schema_extra={"examples": [{"text": "请侧重对下游企业的影响。"}]}):
    """What a person says while a research goes; its summaries heed the latest remark."""

    text: QuestionText


@router.post("", summary="Ask a question", status_code=202, dependencies=[RUN_SCOPE])
async def start_research(
    app: AppDep, principal: Editor, asked: ResearchRequest, response: Response
) -> ResearchTaskSchema:
    """Put a research into the queue. Watch it at `/api/v1/research/{taskId}/events`."""
    task_id = await app.research.enqueue(
        asked.query,
        config=asked.config,
        options=asked.options,
        visibility=asked.visibility,
        team_id=await app.teams.resolve(asked.team, principal),
        by=principal,
    )
    response.headers["Location"] = f"/api/v1/research/{quote(task_id)}"
    return ResearchTaskSchema(task_id=task_id)


@router.post(
    "/documents",
    summary="Ask a question with documents of your own",
    status_code=202,
    dependencies=[RUN_SCOPE],
    openapi_extra={"requestBody": {"content": {"multipart/form-data": {"schema": _DOCUMENTS_FORM}}, "required": True}},
)
async def start_research_with_documents(
    app: AppDep, principal: Editor, request: Request, response: Response
) -> ResearchTaskSchema:
    """Put a research into the queue whose sources are PDF, DOCX and XLSX files of yours too; all of it or nothing.

    `asked` is the object that asking without documents takes, as JSON. A file is of the kind that its bytes say.
    """
    async with request.form(max_files=_MAX_FILES) as form:
        files = await read_uploads(form, app.settings.research)
        asked = parse_asked(form)
    task_id = await app.research.enqueue(
        asked.query,
        config=asked.config,
        options=asked.options,
        visibility=asked.visibility,
        team_id=await app.teams.resolve(asked.team, principal),
        by=principal,
        files=files,
    )
    response.headers["Location"] = f"/api/v1/research/{quote(task_id)}"
    return ResearchTaskSchema(task_id=task_id)


def parse_asked(form: FormData) -> ResearchRequest:
    try:
        return ResearchRequest.model_validate_json(str(form.get("asked") or ""))
    except ValidationError as error:
        raise UsageError("research.wrong_options", reason=describe_invalid_fields(error)) from error


async def read_uploads(form: FormData, limits: ResearchSettings) -> list[UploadedFile]:
    """Return the files of a form, each read one byte further than it may be long; an empty field is no file."""
    given = [file for file in form.getlist("documents") if isinstance(file, UploadFile) and file.filename]
    if len(given) > limits.max_documents:
        raise UsageError("research.too_many_documents", limit=limits.max_documents)
    return [UploadedFile(file.filename or "", await file.read(limits.max_document_bytes + 1)) for file in given]


@router.get("", summary="List researches")
async def list_researches(
    app: AppDep,
    principal: Reader,
    q: Annotated[str, Query(max_length=200, description="Stands in the question.")] = "",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> ResearchListSchema:
    """Your own, and those that are open to everybody."""
    found = await app.research.list(
        by=principal, limit=limit + 1, after=decode_cursor(cursor, dt.datetime, str), text=q
    )
    page, following = cut_page(found, limit, lambda row: (row.created_at, row.task_id))
    return ResearchListSchema(researches=page, next=following)


@router.get("/models", summary="List the models to choose from")
async def list_research_models(app: AppDep, _: Editor) -> ModelListSchema:
    """The names that the model's endpoint offers, asked for in the background: none before it first answered."""
    return ModelListSchema(models=app.models.list_offered_models())


@router.get("/{task_id}", summary="Show a research")
async def get_research(app: AppDep, principal: Reader, task_id: TaskId) -> ResearchView:
    """How far it is, and what it gave by then: plan, notes, blueprint, report, score, usage."""
    view = await app.research.get(task_id, by=principal)
    await record_token_read(app, principal, AuditAction.RESEARCH_READ, task_id)
    return view


@router.get("/{task_id}/documents", summary="List the documents of a research")
async def list_research_documents(app: AppDep, principal: Reader, task_id: TaskId) -> DocumentListSchema:
    """The documents that were given with the question."""
    return DocumentListSchema(documents=list(await app.research.list_documents(task_id, by=principal)))


@router.get(
    "/{task_id}/documents/{number}",
    summary="Download a document of a research",
    response_class=Response,
    responses={200: {"description": "The file.", "content": {media: {} for media in MEDIA_TYPES.values()}}},
)
async def download_research_document(
    app: AppDep, principal: Reader, task_id: TaskId, number: DocumentNumber
) -> Response:
    """A document as it was given, for whoever may read the research."""
    row, body = await app.research.load_document(task_id, number, by=principal)
    await record_token_read(app, principal, AuditAction.EVIDENCE_READ, task_id)
    ascii_name = f"{task_id}-{number}.{row.kind}"
    disposition = f"attachment; filename=\"{ascii_name}\"; filename*=UTF-8''{quote(row.name, safe='')}"
    return Response(body, media_type=MEDIA_TYPES[row.kind], headers={"content-disposition": disposition})


@router.patch("/{task_id}", summary="Share a research")
async def update_research(app: AppDep, principal: Editor, task_id: TaskId, wanted: ResearchChange) -> ResearchView:
    """Open your research to everybody, or close it again; 403 for somebody else's."""
    await app.research.share(task_id, wanted.visibility, by=principal)
    return await app.research.get(task_id, by=principal)


@router.put("/{task_id}/plan", summary="Approve a plan", status_code=202, dependencies=[RUN_SCOPE])
async def approve_research_plan(
    app: AppDep, principal: Editor, task_id: TaskId, wanted: PlanApprovalRequest
) -> ResearchState:
    """Let a research that waits for it go on by this plan; 409 where it does not wait."""
    await app.research.approve(task_id, wanted.title or "", wanted.paragraphs, by=principal)
    return await _load_state(app, task_id, principal)


@router.post("/{task_id}/remarks", summary="Make a remark", status_code=202)
async def add_research_remark(app: AppDep, principal: Editor, task_id: TaskId, wanted: RemarkSchema) -> ResearchState:
    """Say what the summaries still to be written are to heed; 409 where the research has ended."""
    await app.research.add_remark(task_id, wanted.text, by=principal)
    return await _load_state(app, task_id, principal)


@router.post("/{task_id}/questions", summary="Ask about a report", status_code=202, dependencies=[RUN_SCOPE])
async def ask_follow_up(
    app: AppDep, principal: Editor, task_id: TaskId, asked: FollowUpRequest, response: Response
) -> ResearchTaskSchema:
    """Ask a follow-up question about a finished report; 409 while there is none.

    It is answered from the pages of the report, and searched for where these bear no answer. The answer is a research
    of its own id: watch it at its `events`, cancel it, and see what its notes rest on, as with any other.
    """
    follow_up = await app.research.ask(task_id, asked.question, by=principal)
    response.headers["Location"] = f"/api/v1/research/{quote(follow_up)}"
    return ResearchTaskSchema(task_id=follow_up)


@router.get("/{task_id}/questions", summary="List the questions about a report")
async def list_follow_ups(
    app: AppDep, principal: Reader, task_id: TaskId, limit: Limit = DEFAULT_LONG_LIMIT, cursor: Cursor = None
) -> FollowUpListSchema:
    """What was asked about a report, and what was answered, with the notes that the answers rest on."""
    found = await app.research.list_follow_ups(task_id, by=principal)
    await record_token_read(app, principal, AuditAction.RESEARCH_READ, task_id)
    page, following = cut_list(found, limit, cursor, lambda asked: (asked.created_at, asked.task_id), dt.datetime, str)
    return FollowUpListSchema(questions=page, next=following)


@router.get("/{task_id}/editions", summary="List the editions of a research")
async def list_research_editions(
    app: AppDep, principal: Reader, task_id: TaskId, limit: Limit = DEFAULT_LONG_LIMIT, cursor: Cursor = None
) -> EditionPageView:
    """Its schedule, the editions that it began, newest first, and what this one says that the one before did not."""
    found = await app.research.list_editions(task_id, by=principal)
    await record_token_read(app, principal, AuditAction.RESEARCH_READ, task_id)
    return found.build_page(limit, cursor)


@router.put("/{task_id}/schedule", summary="Put a research on a schedule", dependencies=[RUN_SCOPE])
async def schedule_research(
    app: AppDep, principal: Editor, task_id: TaskId, wanted: ResearchScheduleRequest
) -> EditionPageView:
    """Have your research done again by the same plan at the times of a schedule, or stop that; 409 before its plan.

    Each time begins an edition, a research of its own id, whose report says first what is new.
    """
    await app.research.schedule(task_id, wanted.schedule or "", by=principal)
    return (await app.research.list_editions(task_id, by=principal)).build_page(DEFAULT_LONG_LIMIT, None)


@router.delete(
    "/{task_id}",
    summary="Cancel a research, or delete it",
    status_code=202,
    dependencies=[STOP_SCOPE],
    responses={200: {"model": ResearchState, "description": "It is cancelled already, or deleted."}},
)
async def cancel_research(
    app: AppDep,
    principal: Editor,
    task_id: TaskId,
    response: Response,
    permanently: Annotated[bool, Query(description="Delete it; 409 while it goes on.")] = False,
) -> ResearchState:
    """Ask it to stop: one that waits is cancelled at once (200), one under way soon (202). What it found stays.

    With `permanently`, your own research that has ended is deleted with all that it found (200); an administrator may
    delete anybody's.
    """
    if permanently:
        ended = await app.research.delete(task_id, by=principal)
        response.status_code = 200
        return ResearchState(task_id=task_id, status=ended)
    status = await app.research.cancel(task_id, by=principal)
    response.status_code = 200 if status.is_final else 202
    return ResearchState(task_id=task_id, status=status)


@router.get(
    "/{task_id}/report.{form}",
    summary="Export a report",
    response_class=Response,
    responses={200: {"description": "The document.", "content": describe_files(REPORT_FORMATS)}},
)
async def export_research_report(
    app: AppDep, principal: Reader, task_id: TaskId, form: ReportFormat, text: ReportTextChoice = "edited"
) -> Response:
    """The report as a document; 409 while there is none, 503 for a pdf where the server has no browser."""
    document = await app.research.build_document(task_id, by=principal, is_verified=text == "verified")
    content = await app.exports.export({"document": lambda: document}, form)
    await app.audit.record(principal, AuditAction.RESEARCH_EXPORT, task_id, format=form)
    name = "".join(char if char.isalnum() else "-" for char in document.title[:80]).strip("-")
    return build_download_response(
        content, form, filename=f"{name}.{form}", ascii_filename=f"research-{task_id}.{form}".replace(":", "-")
    )


@router.get("/{task_id}/notes/{index}", summary="Show what a note rests on")
async def get_research_note(
    app: AppDep,
    principal: Reader,
    task_id: TaskId,
    index: NoteIndex,
    quote: Annotated[int, Query(ge=0, le=1000, description="Which of its quotes, from 0.")] = 0,
) -> NoteSnapshotView:
    """The page as it was kept, as text, and where in it the quote stands."""
    page = await app.research.get_note_snapshot(task_id, index, quote=quote, by=principal)
    await record_token_read(app, principal, AuditAction.EVIDENCE_READ, task_id)
    return page


async def _load_state(app: App, task_id: str, by: Principal) -> ResearchState:
    return ResearchState(task_id=task_id, status=(await app.research.load_readable(task_id, by=by)).status)
