"""The API of the sources: the list, one of them, trials, many at once, import and export."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from monitor.bootstrap import App
from monitor.db.tables.collection import Source
from monitor.errors import UsageError
from monitor.services.sources.exchange import MAX_IMPORT_BYTES, SourceListFormat, parse_rows
from monitor.services.sources.form import SourceFields, SourceForm, diff_sources, dump_form_values
from monitor.services.sources.listing import SourceFilter, SourceSchema, SourceStatus
from monitor.services.sources.service import ImportEntry, ImportStatus
from monitor.services.sources.trials import TrialReport
from monitor.urls import get_host
from monitor.vocabulary import SourceKind
from monitor.web.api.cursors import decode_cursor, encode_cursor
from monitor.web.auth import Admin, Editor, Principal, Reader, require_scope
from monitor.web.problems import PROBLEM_RESPONSES, Problem, build_problem_responses

MAX_BULK_SOURCES = 1000


class BulkAction(StrEnum):
    """What can be done to several sources at once."""

    ENABLE = "enable"
    DISABLE = "disable"
    TAG = "tag"
    UNTAG = "untag"


class SourceActions:
    """Changes of sources in the name of a visitor."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def add(self, principal: Principal, values: Mapping[str, Any]) -> Source:
        source = await self._app.sources.add(values)
        await self._record(principal, "source.add", source, after=dump_form_values(source))
        return source

    async def edit(self, principal: Principal, source_id: int, changes: Mapping[str, Any]) -> Source:
        """Change fields of a source; one that is left as it was is not on record."""
        before = await self._app.sources.get_by_id(source_id)
        after = await self._app.sources.edit(before.name, changes)
        was, now = diff_sources(before, after)
        if now:
            await self._record(principal, "source.edit", after, before=was, after=now)
        return after

    async def remove(self, principal: Principal, source_id: int) -> Source:
        """Stop watching a source; its items and runs stay."""
        source = await self._app.sources.get_by_id(source_id)
        await self._app.sources.remove(source.name)
        await self._record(principal, "source.remove", source, before=dump_form_values(source))
        return source

    async def run(self, principal: Principal, source_id: int) -> str:
        """Put a run of a source into the queue; answers its id."""
        source = await self._app.sources.get_by_id(source_id)
        run_id = await self._app.sweeps.enqueue(source)
        await self._record(principal, "source.run", source, run=run_id)
        return run_id

    async def bulk_change(
        self, principal: Principal, source_ids: Collection[int], action: BulkAction, tag: str = ""
    ) -> list[Source]:
        """Do the same to several sources; answers those that it changed."""
        if len(source_ids) > MAX_BULK_SOURCES:
            raise UsageError(f"Choose at most {MAX_BULK_SOURCES:,} sources at once.")
        sources = self._app.sources
        if action in (BulkAction.ENABLE, BulkAction.DISABLE):
            changed = await sources.set_enabled(source_ids, enabled=action is BulkAction.ENABLE)
        else:
            changed = await sources.set_tag(source_ids, tag, is_tagged=action is BulkAction.TAG)
        told = {"tag": tag} if action in (BulkAction.TAG, BulkAction.UNTAG) else {}
        for source in changed:
            await self._record(principal, f"source.{action}", source, **told)
        return changed

    async def preview_import(self, content: bytes, form: SourceListFormat, *, where: str) -> list[ImportEntry]:
        """What would become of each entry of a list of sources."""
        rows = await asyncio.to_thread(parse_rows, content, form, label=where)
        return await self._app.sources.preview_import(rows)

    async def import_sources(
        self, principal: Principal, content: bytes, form: SourceListFormat, *, where: str
    ) -> list[Source]:
        """Add all sources of a list, or none where one is wrong or its name is taken."""
        rows = await asyncio.to_thread(parse_rows, content, form, label=where)
        sources = await self._app.sources.import_rows(rows, label=where)
        for source in sources:
            await self._record(principal, "source.import", source, after=dump_form_values(source))
        return sources

    async def _record(self, visitor: Principal, action: str, source: Source, **detail: Any) -> None:
        await self._app.audit.record(visitor.name, action, source.name, **detail)


def is_importable(entries: Sequence[ImportEntry]) -> bool:
    """Whether a list can be brought in as it stands."""
    return bool(entries) and all(entry.newness is ImportStatus.NEW for entry in entries)


MEDIA_TYPES = {
    SourceListFormat.YAML: "application/yaml",
    SourceListFormat.OPML: "text/x-opml",
    SourceListFormat.CSV: "text/csv",
}

_FORMS_BY_MEDIA_TYPE = {
    "application/yaml": SourceListFormat.YAML,
    "text/yaml": SourceListFormat.YAML,
    "text/x-opml": SourceListFormat.OPML,
    "application/xml": SourceListFormat.OPML,
    "text/xml": SourceListFormat.OPML,
    "text/csv": SourceListFormat.CSV,
}

_RUN_SCOPE = Depends(require_scope("run"))

SourceId = Annotated[int, Path(ge=1, le=2**31 - 1, description="The number of the source.")]

TrialId = Annotated[str, Path(min_length=1, max_length=40, pattern="^[A-Za-z0-9_-]+$")]


class SourceListSchema(BaseModel):
    """Sources, newest first, and the cursor with which the list goes on."""

    sources: list[SourceSchema]
    next: str | None


class RunStarted(BaseModel):
    """The run that was put into the queue, or that was there already."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"run_id": "s1-20260203T070000Z-9f2c"}]})

    run_id: str


class TrialRequest(SourceFields):
    """A source to try: at least its address. Without a `kind`, an address that is a feed is tried as one.

    With `source_id`, the stored source with these fields changed.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"url": "https://www.nea.gov.cn/", "focus_areas": ["政策", "通知"]}]}
    )

    source_id: int | None = Field(default=None, ge=1, le=2**31 - 1)


class BulkRequest(BaseModel):
    """What to do to which sources; a number that no source has is passed over."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"ids": [1, 2], "action": "tag", "tag": "能源"}]}
    )

    ids: list[Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)]] = Field(min_length=1, max_length=MAX_BULK_SOURCES)
    action: BulkAction
    tag: str = Field(default="", max_length=100)


class BulkChangeSchema(BaseModel):
    changed: list[int]


class SourceImportSchema(BaseModel):
    """What became of a list of sources: each entry as it was found, and the names of those that were added."""

    entries: list[ImportEntry]
    added: list[str]


def router(app: App) -> APIRouter:
    routes = APIRouter(prefix="/api/sources", tags=["sources"], responses=PROBLEM_RESPONSES)
    _add_list(routes, app)
    _add_trials(routes, app)
    _add_exchange(routes, app)
    _add_one(routes, app)
    return routes


def _add_list(routes: APIRouter, app: App) -> None:
    work = SourceActions(app)

    @routes.get("", summary="List the sources")
    async def sources(
        visitor: Reader,
        q: Annotated[str, Query(max_length=200, description="Stands in the name, the address or a tag.")] = "",
        tag: Annotated[str, Query(max_length=100)] = "",
        kind: SourceKind | None = None,
        state: SourceStatus | None = None,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        cursor: Annotated[str | None, Query(max_length=400)] = None,
    ) -> SourceListSchema:
        """Newest first, each with its health: state, next run, consecutive failures, open alarms."""
        del visitor
        after = decode_cursor(cursor, int)
        found = await app.source_list.list(
            SourceFilter(text=q, tag=tag, kind=kind, state=state), after=after[0] if after else None, limit=limit
        )
        return SourceListSchema(
            sources=found.sources, next=encode_cursor(found.after) if found.after is not None else None
        )

    @routes.post("", status_code=201, summary="Begin to watch a source")
    async def add(visitor: Editor, source: SourceForm) -> SourceSchema:
        """It is checked as a whole; nothing is fetched. `POST /api/sources/trials` shows what it would bring."""
        added = await work.add(visitor, source.model_dump(mode="json", exclude_unset=True))
        return await app.source_list.get(added.id or 0)

    @routes.post("/bulk", summary="Change several sources")
    async def bulk(visitor: Editor, asked: BulkRequest) -> BulkChangeSchema:
        """Enable or disable them, give them a tag or take it from them."""
        changed = await work.bulk_change(visitor, asked.ids, asked.action, asked.tag)
        return BulkChangeSchema(changed=[source.id or 0 for source in changed])


def _add_trials(routes: APIRouter, app: App) -> None:
    @routes.post("/trials", status_code=202, summary="Try a source out", dependencies=[_RUN_SCOPE])
    async def start(visitor: Editor, asked: TrialRequest) -> TrialReport:
        """A dry run in the background of this process: ask for it again to see how far it is. Nothing is stored."""
        values = asked.model_dump(mode="json", exclude_unset=True, exclude={"source_id"})
        return await app.trials.start(
            add_default_name(values) if asked.source_id is None else values,
            visitor.name,
            source_id=asked.source_id,
            detect_kind="kind" not in values,
        )

    @routes.get("/trials/{trial_id}", summary="How a trial stands")
    async def trial(visitor: Editor, trial_id: TrialId) -> TrialReport:
        """Its steps so far; when it is done, the sections, the candidates with their dates and what would be saved."""
        del visitor
        return app.trials.get(trial_id)

    @routes.delete("/trials/{trial_id}", summary="Stop a trial")
    async def stop(visitor: Editor, trial_id: TrialId) -> TrialReport:
        """One that has ended stays as it is."""
        del visitor
        return await app.trials.cancel(trial_id)


def _add_exchange(routes: APIRouter, app: App) -> None:
    work = SourceActions(app)
    content = {media: {"schema": {"type": "string"}} for media in _FORMS_BY_MEDIA_TYPE}

    @routes.post(
        "/import",
        summary="Bring in a list of sources",
        responses=build_problem_responses(413, 415),
        openapi_extra={"requestBody": {"required": True, "content": content}},
    )
    async def bring_in(visitor: Admin, request: Request, dry_run: bool = False) -> SourceImportSchema:
        """YAML as in config.yaml, OPML or CSV, by its content type: all of it, or none where an entry is wrong.

        With `dry_run`, nothing is stored and the answer tells what is new, taken or wrong.
        """
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media not in _FORMS_BY_MEDIA_TYPE:
            raise Problem(415, f"Send YAML, OPML or CSV as one of {', '.join(_FORMS_BY_MEDIA_TYPE)}.")
        body = await request.body()
        if len(body) > MAX_IMPORT_BYTES:
            raise Problem(413, f"The list is larger than {MAX_IMPORT_BYTES // 1024**2} MB: split it.")
        entries = await work.preview_import(body, _FORMS_BY_MEDIA_TYPE[media], where="The list")
        added = (
            [] if dry_run else await work.import_sources(visitor, body, _FORMS_BY_MEDIA_TYPE[media], where="the list")
        )
        return SourceImportSchema(entries=entries, added=[source.name for source in added])

    shapes: dict[str, Any] = {media: {"schema": {}} for media in MEDIA_TYPES.values()}

    @routes.get(
        "/export",
        summary="Write all sources",
        response_class=Response,
        responses={200: {"content": shapes, "description": "The sources as text"}},
    )
    async def export(visitor: Reader, format: SourceListFormat = SourceListFormat.YAML) -> Response:  # noqa: A002 -- the parameter's name
        """As YAML for config.yaml, OPML for feed readers, or CSV for spreadsheets; each can be brought in again."""
        del visitor
        return await export_sources(app, format)


def _add_one(routes: APIRouter, app: App) -> None:
    work = SourceActions(app)

    @routes.get("/{source_id:int}", summary="One source")
    async def source(visitor: Reader, source_id: SourceId) -> SourceSchema:
        """What a person set, and how it fares."""
        del visitor
        return await app.source_list.get(source_id)

    @routes.patch("/{source_id:int}", summary="Change a source")
    async def change(
        visitor: Editor, source_id: SourceId, changes: Annotated[SourceFields, Body(openapi_examples=_EXAMPLE_CHANGES)]
    ) -> SourceSchema:
        """The fields that are given replace those that were there; the source is checked as a whole."""
        await work.edit(visitor, source_id, changes.model_dump(mode="json", exclude_unset=True))
        return await app.source_list.get(source_id)

    @routes.delete("/{source_id:int}", status_code=204, summary="Stop watching a source")
    async def remove(visitor: Admin, source_id: SourceId) -> None:
        """Its items and runs stay in the archive."""
        await work.remove(visitor, source_id)

    @routes.post("/{source_id:int}/run", status_code=202, summary="Run a source now", dependencies=[_RUN_SCOPE])
    async def run(visitor: Editor, source_id: SourceId) -> RunStarted:
        """Into the queue with it; where a run of it waits or is under way, that one is named. Needs a worker."""
        return RunStarted(run_id=await work.run(visitor, source_id))


_EXAMPLE_CHANGES: dict[str, Any] = {
    "resting": {"summary": "Let it rest", "value": {"enabled": False}},
    "schedule": {"summary": "Every weekday at seven", "value": {"schedule": "0 7 * * 1-5"}},
}


async def export_sources(app: App, form: SourceListFormat) -> Response:
    """All sources as a file to be kept."""
    text = await app.sources.export(form)
    # A spreadsheet takes a CSV for the country's old encoding unless a mark at its head says otherwise.
    body = text.encode("utf-8-sig" if form is SourceListFormat.CSV else "utf-8")
    headers = {"Content-Disposition": f'attachment; filename="sources.{form}"'}
    return Response(body, media_type=f"{MEDIA_TYPES[form]}; charset=utf-8", headers=headers)


def add_default_name(values: dict[str, Any]) -> dict[str, Any]:
    """The source under the name of its host, or of its query, where it has none."""
    url, topics = str(values.get("url") or ""), values.get("focus_areas") or []
    name = values.get("name") or get_host(url).removeprefix("www.") or url or "".join(topics[:1])
    return {**values, "name": name[:200]}
