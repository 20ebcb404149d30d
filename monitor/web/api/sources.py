"""The API of the sources: the list, one of them, trials, many at once, import and export."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from monitor.app.exchange import MOST_BYTES, Form
from monitor.app.source_form import SourceFields, SourceForm
from monitor.app.sources import ImportEntry
from monitor.app.trying import TrialReport
from monitor.app.watchlist import SourceFilter, SourceState, SourceWire
from monitor.bootstrap import App
from monitor.domain.urls import host_of
from monitor.domain.words import SourceKind
from monitor.web.cursors import decode, encode
from monitor.web.gate import Admin, Editor, Reader, scope
from monitor.web.problems import PROBLEMS, Problem, problem_responses
from monitor.web.source_work import MOST_AT_ONCE, BulkAction, SourceWork

MEDIA_TYPES = {Form.YAML: "application/yaml", Form.OPML: "text/x-opml", Form.CSV: "text/csv"}
_READ_AS = {
    "application/yaml": Form.YAML,
    "text/yaml": Form.YAML,
    "text/x-opml": Form.OPML,
    "application/xml": Form.OPML,
    "text/xml": Form.OPML,
    "text/csv": Form.CSV,
}
_STARTS_WORK = Depends(scope("run"))

SourceId = Annotated[int, Path(ge=1, le=2**31 - 1, description="The number of the source.")]
TrialId = Annotated[str, Path(min_length=1, max_length=40, pattern="^[A-Za-z0-9_-]+$")]


class SourcePage(BaseModel):
    """Sources, newest first, and the cursor with which the list goes on."""

    sources: list[SourceWire]
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

    ids: list[Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)]] = Field(min_length=1, max_length=MOST_AT_ONCE)
    action: BulkAction
    tag: str = Field(default="", max_length=100)


class BulkChanged(BaseModel):
    changed: list[int]


class Imported(BaseModel):
    """What became of a list of sources: each entry as it was found, and the names of those that were added."""

    entries: list[ImportEntry]
    added: list[str]


def router(app: App) -> APIRouter:
    routes = APIRouter(prefix="/api/sources", tags=["sources"], responses=PROBLEMS)
    _add_list(routes, app)
    _add_trials(routes, app)
    _add_exchange(routes, app)
    _add_one(routes, app)
    return routes


def _add_list(routes: APIRouter, app: App) -> None:
    work = SourceWork(app)

    @routes.get("", summary="List the sources")
    async def sources(
        visitor: Reader,
        q: Annotated[str, Query(max_length=200, description="Stands in the name, the address or a tag.")] = "",
        tag: Annotated[str, Query(max_length=100)] = "",
        kind: SourceKind | None = None,
        state: SourceState | None = None,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        cursor: Annotated[str | None, Query(max_length=400)] = None,
    ) -> SourcePage:
        """Newest first, each with its health: state, next run, consecutive failures, open alarms."""
        del visitor
        after = decode(cursor, int)
        found = await app.watchlist.list(
            SourceFilter(text=q, tag=tag, kind=kind, state=state), after=after[0] if after else None, limit=limit
        )
        return SourcePage(sources=found.sources, next=encode(found.after) if found.after is not None else None)

    @routes.post("", status_code=201, summary="Begin to watch a source")
    async def add(visitor: Editor, source: SourceForm) -> SourceWire:
        """It is checked as a whole; nothing is fetched. `POST /api/sources/trials` shows what it would bring."""
        added = await work.add(visitor, source.model_dump(mode="json", exclude_unset=True))
        return await app.watchlist.one(added.id or 0)

    @routes.post("/bulk", summary="Change several sources")
    async def bulk(visitor: Editor, asked: BulkRequest) -> BulkChanged:
        """Enable or disable them, give them a tag or take it from them."""
        changed = await work.change(visitor, asked.ids, asked.action, asked.tag)
        return BulkChanged(changed=[source.id or 0 for source in changed])


def _add_trials(routes: APIRouter, app: App) -> None:
    @routes.post("/trials", status_code=202, summary="Try a source out", dependencies=[_STARTS_WORK])
    async def start(visitor: Editor, asked: TrialRequest) -> TrialReport:
        """A dry run in the background of this process: ask for it again to see how far it is. Nothing is stored."""
        values = asked.model_dump(mode="json", exclude_unset=True, exclude={"source_id"})
        return await app.trials.start(
            named_after_address(values) if asked.source_id is None else values,
            visitor.name,
            source_id=asked.source_id,
            finds_kind="kind" not in values,
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
    work = SourceWork(app)
    content = {media: {"schema": {"type": "string"}} for media in _READ_AS}

    @routes.post(
        "/import",
        summary="Bring in a list of sources",
        responses=problem_responses(413, 415),
        openapi_extra={"requestBody": {"required": True, "content": content}},
    )
    async def bring_in(visitor: Admin, request: Request, dry_run: bool = False) -> Imported:
        """YAML as in config.yaml, OPML or CSV, by its content type: all of it, or none where an entry is wrong.

        With `dry_run`, nothing is stored and the answer tells what is new, taken or wrong.
        """
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media not in _READ_AS:
            raise Problem(415, f"Send YAML, OPML or CSV as one of {', '.join(_READ_AS)}.")
        body = await request.body()
        if len(body) > MOST_BYTES:
            raise Problem(413, f"The list is larger than {MOST_BYTES // 1024**2} MB: split it.")
        entries = await work.examine(body, _READ_AS[media], where="The list")
        added = [] if dry_run else await work.bring_in(visitor, body, _READ_AS[media], where="the list")
        return Imported(entries=entries, added=[source.name for source in added])

    shapes: dict[str, Any] = {media: {"schema": {}} for media in MEDIA_TYPES.values()}

    @routes.get(
        "/export",
        summary="Write all sources",
        response_class=Response,
        responses={200: {"content": shapes, "description": "The sources as text"}},
    )
    async def export(visitor: Reader, format: Form = Form.YAML) -> Response:  # noqa: A002 -- the parameter's name
        """As YAML for config.yaml, OPML for feed readers, or CSV for spreadsheets; each can be brought in again."""
        del visitor
        return await exported(app, format)


def _add_one(routes: APIRouter, app: App) -> None:
    work = SourceWork(app)

    @routes.get("/{source_id:int}", summary="One source")
    async def source(visitor: Reader, source_id: SourceId) -> SourceWire:
        """What a person set, and how it fares."""
        del visitor
        return await app.watchlist.one(source_id)

    @routes.patch("/{source_id:int}", summary="Change a source")
    async def change(
        visitor: Editor,
        source_id: SourceId,
        changes: Annotated[SourceFields, Body(openapi_examples=_CHANGES)],
    ) -> SourceWire:
        """The fields that are given replace those that were there; the source is checked as a whole."""
        await work.edit(visitor, source_id, changes.model_dump(mode="json", exclude_unset=True))
        return await app.watchlist.one(source_id)

    @routes.delete("/{source_id:int}", status_code=204, summary="Stop watching a source")
    async def remove(visitor: Admin, source_id: SourceId) -> None:
        """Its items and runs stay in the archive."""
        await work.remove(visitor, source_id)

    @routes.post("/{source_id:int}/run", status_code=202, summary="Run a source now", dependencies=[_STARTS_WORK])
    async def run(visitor: Editor, source_id: SourceId) -> RunStarted:
        """Into the queue with it; where a run of it waits or is under way, that one is named. Needs a worker."""
        return RunStarted(run_id=await work.run(visitor, source_id))


_CHANGES: dict[str, Any] = {
    "resting": {"summary": "Let it rest", "value": {"enabled": False}},
    "schedule": {"summary": "Every weekday at seven", "value": {"schedule": "0 7 * * 1-5"}},
}


async def exported(app: App, form: Form) -> Response:
    """All sources as a file to be kept."""
    text = await app.sources.written(form)
    # A spreadsheet takes a CSV for the country's old encoding unless a mark at its head says otherwise.
    body = text.encode("utf-8-sig" if form is Form.CSV else "utf-8")
    headers = {"Content-Disposition": f'attachment; filename="sources.{form}"'}
    return Response(body, media_type=f"{MEDIA_TYPES[form]}; charset=utf-8", headers=headers)


def named_after_address(values: dict[str, Any]) -> dict[str, Any]:
    """The source under the name of its host, or of its query, where it has none."""
    url, topics = str(values.get("url") or ""), values.get("focus_areas") or []
    name = values.get("name") or host_of(url).removeprefix("www.") or url or "".join(topics[:1])
    return {**values, "name": name[:200]}
