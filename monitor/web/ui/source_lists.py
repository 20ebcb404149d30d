"""The list of sources as a whole: many of them changed, run or removed together, imported and exported."""

import base64
import binascii
import zlib
from pathlib import PurePath
from urllib.parse import parse_qsl, urlsplit

from fastapi import APIRouter, Request, Response
from starlette.datastructures import FormData, UploadFile

from monitor.bootstrap import App
from monitor.errors import UsageError
from monitor.i18n.catalogue import render
from monitor.i18n.model import reader_language
from monitor.services.sources.exchange import detect_format, read_list
from monitor.services.sources.importing import ImportPlan, ImportStatus
from monitor.services.sources.service import BulkAction
from monitor.services.sources.tables import MAX_IMPORT_BYTES, SourceListFormat
from monitor.web.api.sources import build_list_response, build_source_export
from monitor.web.auth import RUN_SCOPE, Admin, AppDep, Editor, Reader
from monitor.web.middleware import sanitize_redirect_path
from monitor.web.ui.rendering import Renderer
from monitor.web.ui.schedules import parse_schedule_fields
from monitor.web.ui.sources import build_filter

_MAX_PREVIEW_ENTRIES = 300
_MAX_REJECTED_BYTES = 8 * MAX_IMPORT_BYTES
_FILTERS = ("q", "tag", "kind", "state")

router = APIRouter(prefix="/sources")


@router.post("/bulk")
async def bulk(app: AppDep, renderer: Renderer, request: Request, principal: Editor) -> Response:
    form = await request.form()
    action = str(form.get("action", ""))
    if action not in set(BulkAction) - {BulkAction.REMOVE}:
        raise UsageError("source.no_action")
    changed = await app.sources.change_many(
        await _list_chosen_ids(app, form),
        BulkAction(action),
        tag=str(form.get("tag", "")),
        schedule=parse_schedule_fields(form) or "",
        by=principal,
    )
    return renderer.redirect(_get_back(form), notice="sources_changed" if changed else "sources_unchanged")


@router.post("/bulk/run", dependencies=[RUN_SCOPE])
async def run_many(app: AppDep, renderer: Renderer, request: Request, principal: Editor) -> Response:
    form = await request.form()
    chosen = await _list_chosen_ids(app, form)
    for source in await app.sources.list_sources():
        if source.id in chosen:
            await app.sweeps.enqueue(source, by=principal)
    return renderer.redirect("/runs" if chosen else _get_back(form), notice=None if chosen else "sources_unchanged")


@router.post("/bulk/remove")
async def remove_many(app: AppDep, renderer: Renderer, request: Request, principal: Admin) -> Response:
    """Show which sources would be removed; once that was seen (`confirmed`), remove them."""
    form = await request.form()
    chosen = await _list_chosen_ids(app, form)
    if "confirmed" in form:
        await app.sources.change_many(chosen, BulkAction.REMOVE, by=principal)
        return renderer.redirect("/sources", notice="sources_removed")
    sources = [source for source in await app.sources.list_sources() if source.id in chosen]
    if not sources:
        return renderer.redirect(_get_back(form), notice="sources_unchanged")
    return renderer.render("sources/remove_many.html", sources=sources, back=_get_back(form))


def _get_back(form: FormData) -> str:
    return sanitize_redirect_path(str(form.get("back") or "/sources"))


async def _list_chosen_ids(app: App, form: FormData) -> set[int]:
    """Return the sources that are ticked; with `whole`, all that the filter of the list means."""
    if "whole" not in form:
        return {int(text) for text in map(str, form.getlist("ids")) if text.isdecimal() and len(text) < 10}
    asked = dict(parse_qsl(urlsplit(_get_back(form)).query))
    return await app.sources.list_ids(build_filter(**{name: asked.get(name, "") for name in _FILTERS}))


@router.get("/export")
async def export(app: AppDep, principal: Reader, format: str = "yaml") -> Response:  # noqa: A002 -- as the API calls it
    if format not in set(SourceListFormat):
        raise UsageError("source_list.format", given=format, known=list(SourceListFormat))
    return await build_source_export(app, SourceListFormat(format), by=principal)


@router.get("/import")
async def choose(renderer: Renderer, _: Admin) -> Response:
    return renderer.render("sources/import.html", forms=list(SourceListFormat), error=None)


@router.post("/import")
async def bring_in(app: AppDep, renderer: Renderer, request: Request, principal: Admin) -> Response:
    """Show what would become of each entry; once that was seen (`store`), add the new ones and show what became."""
    try:
        async with request.form() as given:  # closes the uploaded file
            content, form = await _read_content(given)
            is_stored, team = "store" in given, str(given.get("team") or "")
        source_list = await read_list(content, form, label="the list", documents=app.documents)
        if is_stored:
            team_id = await app.teams.resolve(team, principal)
            plan = await app.sources.import_list(source_list, by=principal, team_id=team_id)
        else:
            plan = await app.sources.plan_import(source_list)
    except UsageError as error:
        return renderer.render("sources/import.html", forms=list(SourceListFormat), error=error.message, status=400)
    return renderer.render(
        "sources/preview.html",
        # What needs a look comes first, so that a long list does not hide it.
        entries=sorted(plan.entries, key=lambda entry: entry.newness is not ImportStatus.WRONG)[:_MAX_PREVIEW_ENTRIES],
        count=len(plan.entries),
        counts={str(status): plan.count(status) for status in ImportStatus},
        is_stored=is_stored,
        packed=base64.b64encode(content).decode(),
        rejected=_pack_rejected(plan),
        form=form,
    )


@router.post("/import/rejected")
async def download_rejected(request: Request, _: Admin) -> Response:
    """Send the wrong entries as a file; the page of the import has it, so that nothing is read a second time."""
    async with request.form() as given:
        named, packed = str(given.get("form") or ""), str(given.get("rejected") or "")
    if named not in set(SourceListFormat) or not packed:
        raise UsageError("source_list.damaged")
    return build_list_response(_unpack_rejected(packed), SourceListFormat(named), name="sources-rejected")


def _pack_rejected(plan: ImportPlan) -> str:
    """Return the file of the wrong entries for a hidden field, compressed: requests have a limit."""
    content = plan.format_rejected(lambda message: render(message, reader_language.get()))
    return base64.b64encode(zlib.compress(content)).decode() if content else ""


def _unpack_rejected(packed: str) -> bytes:
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(base64.b64decode(packed, validate=True), _MAX_REJECTED_BYTES)
    except (binascii.Error, ValueError, zlib.error):
        raise UsageError("source_list.damaged") from None
    if not unpacking.eof:
        raise UsageError("source_list.damaged")
    return content


async def _read_content(given: FormData) -> tuple[bytes, SourceListFormat]:
    """Return what was uploaded or pasted, or is sent again after it was seen."""
    named, packed = str(given.get("form") or ""), given.get("packed")
    form = SourceListFormat(named) if named in set(SourceListFormat) else None
    if isinstance(packed, str) and packed:
        try:
            return base64.b64decode(packed, validate=True), SourceListFormat(named)
        except (binascii.Error, ValueError):
            raise UsageError("source_list.damaged") from None
    file = given.get("file")
    if isinstance(file, UploadFile) and file.filename:
        return await file.read(MAX_IMPORT_BYTES + 1), form or detect_format(PurePath(file.filename).name)
    pasted = str(given.get("text") or "").strip()
    if not pasted:
        raise UsageError("source_list.missing")
    return pasted.encode(), form or _guess_format(pasted)


def _guess_format(text: str) -> SourceListFormat:
    if text.startswith("<"):
        return SourceListFormat.OPML
    head = text.partition("\n")[0]
    return SourceListFormat.CSV if ":" not in head and any(sign in head for sign in ",;\t") else SourceListFormat.YAML
