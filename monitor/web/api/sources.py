"""The API of the sources: the list, one of them, trials, many at once, import and export."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query, Request, Response
from pydantic import BaseModel, Field
from pydantic.config import JsonDict

from monitor.bootstrap import App
from monitor.i18n.catalogue import render
from monitor.i18n.model import reader_language
from monitor.log_in import LogInStep
from monitor.services.audit import AuditAction
from monitor.services.cursors import decode_id, encode_cursor
from monitor.services.sources.discovery import Discovery, is_discoverable
from monitor.services.sources.exchange import read_list, to_text
from monitor.services.sources.form import SourceFields, SourceForm
from monitor.services.sources.importing import ImportEntry
from monitor.services.sources.service import MAX_BULK_SOURCES, BulkAction, SourceFilter, SourceSchema, SourceStatus
from monitor.services.sources.tables import MAX_IMPORT_BYTES, SourceListFormat
from monitor.services.sources.trials import TrialReport
from monitor.services.teams import MAX_TEAM_NAME_CHARS
from monitor.urls import get_host
from monitor.vocabulary import SourceKind
from monitor.web.api.cursors import Cursor, Limit
from monitor.web.auth import RUN_SCOPE, Admin, AppDep, Editor, Principal, Reader
from monitor.web.middleware import Problem
from monitor.web.problems import PROBLEM_RESPONSES, build_problem_responses

MEDIA_TYPES = {
    SourceListFormat.YAML: "application/yaml",
    SourceListFormat.OPML: "text/x-opml",
    SourceListFormat.CSV: "text/csv",
    SourceListFormat.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

_FORMS_BY_MEDIA_TYPE = {
    "application/yaml": SourceListFormat.YAML,
    "text/yaml": SourceListFormat.YAML,
    "text/x-opml": SourceListFormat.OPML,
    "application/xml": SourceListFormat.OPML,
    "text/xml": SourceListFormat.OPML,
    "text/csv": SourceListFormat.CSV,
    MEDIA_TYPES[SourceListFormat.XLSX]: SourceListFormat.XLSX,
}

# What the parts of a YAML document are is told entry by entry, in the answer.
_IMPORT_CONTENT: dict[str, Any] = {
    media: {"schema": {} if media.endswith("yaml") else {"type": "string"}} for media in _FORMS_BY_MEDIA_TYPE
}
_EXPORT_CONTENT: dict[str, Any] = {media: {"schema": {}} for media in MEDIA_TYPES.values()}

_EXAMPLE_CHANGES: dict[str, Any] = {
    "resting": {"summary": "Let it rest", "value": {"enabled": False}},
    "schedule": {"summary": "Every weekday at seven", "value": {"schedule": "0 7 * * 1-5"}},
}

SourceId = Annotated[int, Path(ge=1, le=2**31 - 1, description="The number of the source.")]
TrialId = Annotated[str, Path(min_length=1, max_length=40, pattern="^[A-Za-z0-9_-]+$")]
_EXAMPLE_TRIAL: JsonDict = {"url": "https://www.nea.gov.cn/", "focus_areas": ["政策", "通知"]}
_EXAMPLE_BULK: JsonDict = {"ids": [1, 2], "action": "tag", "tag": "能源"}

Team = Annotated[
    str | None, Query(max_length=MAX_TEAM_NAME_CHARS, description="Of your teams the one that it is for; else all.")
]

router = APIRouter(prefix="/api/v1/sources", tags=["sources"], responses=PROBLEM_RESPONSES)


class SourceListSchema(BaseModel):
    """Sources, newest first, and the cursor with which the list goes on."""

    sources: list[SourceSchema]
    next: str | None


class RunStarted(BaseModel, json_schema_extra={"examples": [{"run_id": "s1-20260203T070000Z-9f2c"}]}):
    """The run that was put into the queue, or that was there already."""

    run_id: str


class TrialRequest(SourceFields, json_schema_extra={"examples": [_EXAMPLE_TRIAL]}):
    """A source to try: at least its address. Without `kind` and `sections`, discovery finds how it is read.

    With `source_id`, the stored source with these fields changed.
    """

    source_id: int | None = Field(default=None, ge=1, le=2**31 - 1)


class DiscoveryRequest(BaseModel, extra="forbid", json_schema_extra={"examples": [{"url": "nea.gov.cn"}]}):
    """An address, with or without its scheme; sections that fit the focus areas are looked for first.

    `steps` log in before that, with secrets that are stored for the host of the address.
    """

    url: str = Field(min_length=1, max_length=2000)
    focus_areas: list[Annotated[str, Field(max_length=2000)]] = Field(default_factory=list, max_length=200)
    steps: list[LogInStep] = Field(default_factory=list, max_length=30)


class RediscoveryRequest(BaseModel, extra="forbid"):
    """With `save` the source is read from now on in the way that was found."""

    save: bool = False


class BulkRequest(BaseModel, extra="forbid", json_schema_extra={"examples": [_EXAMPLE_BULK]}):
    """What to do to which sources; a number that no source has is passed over.

    `tag` is what to give or take, `schedule` when they run: in words or cron, `off` for by hand only.
    """

    ids: list[Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)]] = Field(min_length=1, max_length=MAX_BULK_SOURCES)
    action: BulkAction
    tag: str = Field(default="", max_length=100)
    schedule: str = Field(default="", max_length=200)


class BulkChangeSchema(BaseModel):
    changed: list[int]


class SourceImportSchema(BaseModel):
    """What became of a list of sources: each entry, the names of those that were added, and the list of wrong ones.

    `rejected` has the form of what was sent, with a field `reason`; it is empty where nothing was wrong, and a workbook
    is in base64.
    """

    entries: list[ImportEntry]
    added: list[str]
    rejected: str


@router.get("", summary="List the sources")
async def list_sources(
    app: AppDep,
    _: Reader,
    q: Annotated[str, Query(max_length=200, description="Stands in the name, the address or a tag.")] = "",
    tag: Annotated[str, Query(max_length=100)] = "",
    kind: SourceKind | None = None,
    state: SourceStatus | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> SourceListSchema:
    """Newest first, each with its health: state, next run, consecutive failures, open alarms."""
    wanted = SourceFilter(text=q, tag=tag, kind=kind, state=state)
    found = await app.sources.list_page(wanted, after=decode_id(cursor), limit=limit)
    return SourceListSchema(sources=found.sources, next=encode_cursor(found.after) if found.after is not None else None)


@router.post("", status_code=201, summary="Begin to watch a source")
async def create_source(
    app: AppDep,
    principal: Editor,
    source: SourceForm,
    trial: Annotated[str, Query(max_length=40, description="The trial that becomes its first run.")] = "",
    team: Team = None,
) -> SourceSchema:
    """It is checked as a whole; without a schedule it runs daily at 06:30, with `off` by hand only.

    `POST /api/v1/sources/trials` shows what it would bring. With that trial, what it read is not read again: `run_id`
    is the first run.
    """
    values, team_id = source.model_dump(mode="json", exclude_unset=True), await app.teams.resolve(team, principal)
    added, _ = await app.trials.keep(trial, values, team_id=team_id, by=principal)
    return await app.sources.get_schema(added.id or 0)


@router.post("/bulk", summary="Change several sources")
async def bulk_update_sources(app: AppDep, principal: Editor, asked: BulkRequest) -> BulkChangeSchema:
    """Enable, disable or schedule them, give them a tag or take it from them; an administrator removes them too."""
    changed = await app.sources.change_many(
        asked.ids, asked.action, tag=asked.tag, schedule=asked.schedule, by=principal
    )
    return BulkChangeSchema(changed=[source.id or 0 for source in changed])


@router.post("/discover", summary="Find out how a site can be read", dependencies=[RUN_SCOPE])
async def discover_source(app: AppDep, _: Editor, asked: DiscoveryRequest) -> Discovery:
    """The ways in which the site at an address can be read, the richest first, and why; nothing is stored.

    `url`, `kind`, `render`, `sections` and `recipes` are the fields of the source that reads it so.
    """
    return await app.discovery.discover(asked.url, focus_areas=asked.focus_areas, steps=asked.steps)


@router.post("/trials", status_code=202, summary="Try a source out", dependencies=[RUN_SCOPE])
async def start_trial(app: AppDep, principal: Editor, asked: TrialRequest) -> TrialReport:
    """A dry run in the background of this process: ask for it again to see how far it is. Nothing is stored."""
    values = asked.model_dump(mode="json", exclude_unset=True, exclude={"source_id"})
    return await app.trials.start(
        add_default_name(values) if asked.source_id is None else values,
        source_id=asked.source_id,
        discovers=asked.source_id is None and is_discoverable(values),
        by=principal,
    )


@router.get("/trials/{trial_id}", summary="How a trial stands")
async def get_trial(app: AppDep, _: Editor, trial_id: TrialId) -> TrialReport:
    """Its steps so far; when it is done, the sections, the candidates with their dates and what would be saved."""
    return app.trials.get(trial_id)


@router.delete("/trials/{trial_id}", summary="Stop a trial")
async def stop_trial(app: AppDep, _: Editor, trial_id: TrialId) -> TrialReport:
    """One that has ended stays as it is."""
    return await app.trials.cancel(trial_id)


@router.post(
    "/import",
    summary="Bring in a list of sources",
    responses=build_problem_responses(413, 415),
    openapi_extra={"requestBody": {"required": True, "content": _IMPORT_CONTENT}},
)
async def import_sources(
    app: AppDep, principal: Admin, request: Request, *, dry_run: bool = False, team: Team = None
) -> SourceImportSchema:
    """YAML as in config.yaml, OPML, CSV or XLSX, by its content type: new entries are added, no others.

    With `dry_run`, nothing is stored and the answer tells what is new, known or wrong.
    """
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in _FORMS_BY_MEDIA_TYPE:
        raise Problem(415, "source_list.media_type", accepted=list(_FORMS_BY_MEDIA_TYPE))
    body = await request.body()
    if len(body) > MAX_IMPORT_BYTES:
        raise Problem(413, "source_list.too_large", max_mb=MAX_IMPORT_BYTES // 1024**2)
    form, team_id = _FORMS_BY_MEDIA_TYPE[media], await app.teams.resolve(team, principal)
    source_list = await read_list(body, form, label="the list", documents=app.documents)
    if dry_run:
        plan = await app.sources.plan_import(source_list)
    else:
        plan = await app.sources.import_list(source_list, by=principal, team_id=team_id)
    return SourceImportSchema(
        entries=plan.entries,
        added=[] if dry_run else [source.name for source in plan.sources],
        rejected=to_text(plan.format_rejected(lambda message: render(message, reader_language.get())), form),
    )


@router.get(
    "/export",
    summary="Write all sources",
    response_class=Response,
    responses={200: {"content": _EXPORT_CONTENT, "description": "The sources as a file"}},
)
async def export_sources(
    app: AppDep,
    principal: Reader,
    format: SourceListFormat = SourceListFormat.YAML,  # noqa: A002 -- the parameter's name
) -> Response:
    """As YAML for config.yaml, OPML for feed readers, CSV or XLSX for spreadsheets; each can be brought in again."""
    return await build_source_export(app, format, by=principal)


@router.get("/{source_id:int}", summary="One source")
async def get_source(app: AppDep, _: Reader, source_id: SourceId) -> SourceSchema:
    """What a person set, and how it fares."""
    return await app.sources.get_schema(source_id)


@router.patch("/{source_id:int}", summary="Change a source")
async def update_source(
    app: AppDep,
    principal: Editor,
    source_id: SourceId,
    changes: Annotated[SourceFields, Body(openapi_examples=_EXAMPLE_CHANGES)],
) -> SourceSchema:
    """The fields that are given replace those that were there; the source is checked as a whole."""
    await app.sources.edit(source_id, changes.model_dump(mode="json", exclude_unset=True), by=principal)
    return await app.sources.get_schema(source_id)


@router.delete("/{source_id:int}", status_code=204, summary="Stop watching a source")
async def delete_source(app: AppDep, principal: Admin, source_id: SourceId) -> None:
    """Its items and runs stay in the archive."""
    await app.sources.remove(source_id, by=principal)


@router.post("/{source_id:int}/discover", summary="Look again how a source can be read", dependencies=[RUN_SCOPE])
async def rediscover_source(
    app: AppDep, principal: Editor, source_id: SourceId, asked: RediscoveryRequest
) -> Discovery:
    """As `POST /api/v1/sources/discover` at the address of a stored source, after its log-in; kept with `save`."""
    return (await app.discovery.rediscover(source_id, by=principal, save=asked.save)).discovery


@router.post("/{source_id:int}/run", status_code=202, summary="Run a source now", dependencies=[RUN_SCOPE])
async def start_run(app: AppDep, principal: Editor, source_id: SourceId) -> RunStarted:
    """Into the queue with it; where a run of it waits or is under way, that one is named. Needs a worker."""
    source = await app.sources.get_by_id(source_id)
    return RunStarted(run_id=await app.sweeps.enqueue(source, by=principal))


async def build_source_export(app: App, form: SourceListFormat, *, by: Principal) -> Response:
    content = await app.sources.export(form)
    await app.audit.record(by, AuditAction.SOURCE_EXPORT, "sources", format=form)
    return build_list_response(content, form, name="sources")


def build_list_response(content: bytes, form: SourceListFormat, *, name: str) -> Response:
    charset = "" if form is SourceListFormat.XLSX else "; charset=utf-8"
    headers = {"Content-Disposition": f'attachment; filename="{name}.{form}"'}
    return Response(content, media_type=f"{MEDIA_TYPES[form]}{charset}", headers=headers)


def add_default_name(values: dict[str, Any]) -> dict[str, Any]:
    """Return the source; one without a name gets that of its host, or of its query."""
    url, topics = str(values.get("url") or ""), values.get("focus_areas") or []
    name = values.get("name") or get_host(url).removeprefix("www.") or url or "".join(topics[:1])
    return {**values, "name": name[:200]}
