"""The pages of sources: the list, one source, its form with a trial, and importing and exporting lists."""

import base64
import binascii
import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import PurePath
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from starlette.datastructures import FormData, UploadFile

from monitor.bootstrap import App
from monitor.config.stored import SECRET_PREFIX
from monitor.errors import Conflict, UsageError
from monitor.i18n.message import Message
from monitor.services.alarms import SourceHealth
from monitor.services.items import ItemQuery
from monitor.services.runs import RunQuery
from monitor.services.schedules import DEFAULT_SCHEDULE
from monitor.services.settings import SecretSettingSchema
from monitor.services.sources.discovery import is_discoverable
from monitor.services.sources.exchange import (
    MAX_IMPORT_BYTES,
    SourceListFormat,
    detect_format,
    format_section,
    format_steps,
    parse_json_cell,
    parse_section,
)
from monitor.services.sources.form import InvalidSource, SourceForm, dump_form_values
from monitor.services.sources.service import (
    BulkAction,
    PinnedSection,
    SectionChange,
    SourceFilter,
    SourceSchema,
    SourceStatus,
    is_importable,
)
from monitor.urls import url_key
from monitor.vocabulary import SourceKind
from monitor.web.api.cursors import build_next_url, decode_id, encode_cursor
from monitor.web.api.sources import SourceId, add_default_name, export_sources
from monitor.web.auth import RUN_SCOPE, Admin, AppDep, Editor, Reader
from monitor.web.middleware import sanitize_redirect_path
from monitor.web.ui.rendering import FilterText, FormText, PageRenderer, Renderer
from monitor.web.ui.schedules import parse_schedule_fields

_PAGE_SIZE = 50
_MAX_LATEST = 10
_MAX_PREVIEW_ENTRIES = 300
_AUTO_KIND = "auto"
_FILTERS = ("q", "tag", "kind", "state")
_LIST_FIELDS = ("focus_areas", "keywords_include", "keywords_exclude", "tags")
_NUMBER_FIELDS = ("window_days", "max_items")
_SWITCH_FIELDS = ("allow_other_hosts", "enabled")
_TEXT_FIELDS = ("name", "url", "timezone", "language", "summary_language")
UrlText = Annotated[str, Query(max_length=2000)]
TrialId = Annotated[str, Path(min_length=1, max_length=40)]

router = APIRouter(prefix="/sources")


async def _parse_source_form(request: Request) -> dict[str, Any]:
    """Return the source that a form describes, not yet checked."""
    form = await request.form()
    texts = defaultdict(str, {name: value for name, value in form.items() if isinstance(value, str)})
    values: dict[str, Any] = {name: texts[name].strip() for name in _TEXT_FIELDS}
    values["kind"] = texts["kind"] or "site"
    values["rules"] = texts["rules"].replace("\r\n", "\n").strip()
    values["render"] = texts["render"] or None
    for name in _LIST_FIELDS:
        values[name] = _split_lines(texts[name])
    for name in _NUMBER_FIELDS:
        typed = texts[name].strip()
        values[name] = (int(typed) if typed.isdecimal() and len(typed) < 10 else typed) if typed else None
    for name in _SWITCH_FIELDS:
        values[name] = "true" in form.getlist(name)
    pinned = [*_split_lines(texts["sections"]), *(str(line) for line in form.getlist("pin"))]
    values["sections"] = [parse_section(line) for line in dict.fromkeys(pinned)]
    if texts["recipes"]:
        values["recipes"] = parse_json_cell(texts["recipes"])
    values["steps"] = _split_lines(texts["steps"])
    if (schedule := parse_schedule_fields(form)) is not None:
        values["schedule"] = schedule
    return values


def _format_source_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields as their controls hold them; what is not given is at its default."""
    defaults = SourceForm(name="-", url="http://a.invalid/").model_dump(mode="json") | {"name": "", "url": ""}
    whole = defaults | dict(values)
    texts = {name: "" if value is None else value for name, value in whole.items()}
    for name in _LIST_FIELDS:
        texts[name] = "\n".join(map(str, whole[name]))
    texts["sections"] = "\n".join(format_section(section) for section in whole["sections"])
    texts["recipes"] = json.dumps(whole["recipes"], ensure_ascii=False) if whole["recipes"] else ""
    texts["steps"] = "\n".join(format_steps(whole["steps"]))
    return texts


def _list_source_errors(error: UsageError) -> dict[str, Message]:
    """Return what is wrong by field; under the empty name what belongs to no field."""
    if isinstance(error, InvalidSource):
        errors: dict[str, Message] = {}
        for place, message in error.complaints.items():
            errors.setdefault(place.partition(".")[0], message)
        return errors
    return {"name" if isinstance(error, Conflict) else "": error.message}


def _split_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


SourceValues = Annotated[dict[str, Any], Depends(_parse_source_form)]


@router.get("")
async def sources(
    app: AppDep,
    renderer: Renderer,
    _: Reader,
    q: FilterText = "",
    tag: Annotated[str, Query(max_length=100)] = "",
    kind: str = "",
    state: str = "",
    cursor: str = "",
) -> Response:
    wanted = _build_filter(q=q, tag=tag, kind=kind, state=state)
    found = await app.sources.list_page(wanted, after=decode_id(cursor), limit=_PAGE_SIZE)
    asked = {"q": q, "tag": tag, "kind": wanted.kind or ""}
    following = encode_cursor(found.after) if found.after else None
    return renderer.render(
        "sources/list.html",
        found=found,
        wanted=wanted,
        asked=asked,
        tags=found.tags,
        kinds=list(SourceKind),
        states=list(SourceStatus),
        address=_build_list_url,
        default_schedule=DEFAULT_SCHEDULE,
        next_url=build_next_url("/sources", {**asked, "state": wanted.state}, following),
        is_served=await app.sweeps.has_worker(),
    )


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
    return await app.sources.list_ids(_build_filter(**{name: asked.get(name, "") for name in _FILTERS}))


def _build_filter(*, q: str, tag: str, kind: str, state: str) -> SourceFilter:
    return SourceFilter(
        text=q,
        tag=tag,
        kind=SourceKind(kind) if kind in set(SourceKind) else None,
        state=SourceStatus(state) if state in set(SourceStatus) else None,
    )


@router.post("/sample", dependencies=[RUN_SCOPE])
async def sample(app: AppDep, renderer: Renderer, principal: Admin) -> Response:
    """Serve the sample ministry on this machine, watch it and run it."""
    _, run_id = await app.sample.start(by=principal)
    return renderer.redirect(f"/runs/{run_id}")


def _build_list_url(asked: dict[str, Any]) -> str:
    query = urlencode({name: value for name, value in asked.items() if value})
    return f"/sources?{query}" if query else "/sources"


@router.get("/new")
async def new(app: AppDep, renderer: Renderer, _: Editor, url: UrlText = "", by_hand: bool = False) -> Response:
    """Show one field for an address or, `by_hand`, the whole form."""
    if by_hand:
        return _render_form(app, renderer, {"url": url, "schedule": DEFAULT_SCHEDULE})
    return _render_new(renderer, {"url": url})


@router.post("/trials", dependencies=[RUN_SCOPE])
async def start(app: AppDep, renderer: Renderer, request: Request, principal: Editor, values: SourceValues) -> Response:
    """Begin to try the address; nothing is stored."""
    form = await request.form()
    kind, is_whole = str(form.get("kind") or _AUTO_KIND), "whole" in form
    discovers = kind == _AUTO_KIND and is_discoverable({**values, "kind": None})
    if not discovers:
        values["url"] = _normalize_address(values["url"], kind)
    values["kind"] = SourceKind.SITE if kind == _AUTO_KIND else kind
    if not is_whole:  # what the short form does not ask for is at its default, switches too
        values |= {"enabled": True, "allow_other_hosts": True}
    try:
        trial = await app.trials.start(add_default_name(values), by=principal, discovers=discovers)
    except UsageError as error:
        if is_whole:
            return _render_form(app, renderer, values, error)
        return _render_new(renderer, values, kind, error)
    return renderer.redirect(f"/sources/trials/{trial.id}")


def _render_new(
    renderer: PageRenderer, values: Mapping[str, Any], kind: str = _AUTO_KIND, error: UsageError | None = None
) -> Response:
    return renderer.render(
        "sources/new.html",
        status=400 if error else 200,
        values=_format_source_fields(values),
        kind=kind,
        errors=_list_source_errors(error) if error else {},
    )


@router.post("")
async def save(
    app: AppDep, renderer: Renderer, principal: Editor, values: SourceValues, trial: FormText = ""
) -> Response:
    """Add a source; one that was tried shows its first run, which has read the site already."""
    try:
        source, run_id = await app.trials.keep(trial, values, by=principal)
    except UsageError as error:
        return _render_form(app, renderer, values, error)
    return renderer.redirect(f"/runs/{run_id}" if run_id else f"/sources/{source.id}", notice="source_added")


@router.get("/trials/{trial_id}")
async def show_trial(app: AppDep, renderer: Renderer, _: Editor, trial_id: TrialId) -> Response:
    report = app.trials.get(trial_id)
    values, result = dict(report.values), report.result
    stored = await app.sources.get_by_id(report.source_id) if report.source_id is not None else None
    sections = result.sections if result else []
    if result is not None:
        values |= {"kind": result.kind} if result.discovery is None else result.discovery.values
        is_named_by_us = stored is None and values["name"] == add_default_name({**values, "name": ""})["name"]
        if is_named_by_us and result.title:
            values["name"] = result.title
    pinned = {format_section(value) for value in values.get("sections", [])}
    found = [(format_section({"name": section.name, "url": section.url}), section) for section in sections]
    return renderer.render(
        "sources/trial.html",
        trial=report,
        values=_format_source_fields({**values, "sections": []}),
        found=found,
        pinned=pinned,
        others=sorted(pinned - {line for line, _ in found}),
        stored=stored,
        timezone=app.settings.timezone,
    )


@router.get("/trials/{trial_id}/steps")
async def steps(app: AppDep, renderer: Renderer, _: Editor, trial_id: TrialId) -> Response:
    """Render the part of the page that changes while the trial runs; a header says whether it has ended."""
    report = app.trials.get(trial_id)
    part = renderer.render("sources/steps.html", trial=report)
    part.headers["X-Trial-State"] = report.state
    return part


@router.post("/trials/{trial_id}/stop")
async def stop(app: AppDep, renderer: Renderer, _: Editor, trial_id: TrialId) -> Response:
    await app.trials.cancel(trial_id)
    return renderer.redirect(f"/sources/trials/{trial_id}", notice="trial_stopped")


def _render_form(
    app: App,
    renderer: PageRenderer,
    values: Mapping[str, Any],
    error: UsageError | None = None,
    *,
    source_id: int | None = None,
) -> Response:
    return renderer.render(
        "sources/edit.html",
        values=_format_source_fields(values),
        source_id=source_id,
        errors=_list_source_errors(error) if error else {},
        settings=app.settings,
        status=400 if error else 200,
    )


def _normalize_address(address: str, kind: str) -> str:
    """Return an address with its scheme: https where people left it out, none for a query."""
    is_bare = "." in address and "://" not in address and " " not in address
    return f"https://{address}" if is_bare and kind != SourceKind.QUERY else address


@router.get("/export")
async def export(app: AppDep, principal: Reader, format: str = "yaml") -> Response:  # noqa: A002 -- as the API calls it
    if format not in set(SourceListFormat):
        raise UsageError("source_list.format", given=format, known=list(SourceListFormat))
    return await export_sources(app, SourceListFormat(format), by=principal)


@router.get("/import")
async def choose(renderer: Renderer, _: Admin) -> Response:
    return renderer.render("sources/import.html", forms=list(SourceListFormat), error=None)


@router.post("/import")
async def bring_in(app: AppDep, renderer: Renderer, request: Request, principal: Admin) -> Response:
    """Show what would become of each entry; once that was seen (`store`), store the list as a whole."""
    try:
        async with request.form() as given:  # closes the uploaded file
            content, form = await _read_content(given)
            is_seen = "store" in given
        entries = await app.sources.preview_import(content, form, label="the list")
        if is_seen and is_importable(entries):
            await app.sources.import_list(content, form, label="the list", by=principal)
            return renderer.redirect("/sources", notice="sources_imported")
    except UsageError as error:
        return renderer.render("sources/import.html", forms=list(SourceListFormat), error=error.message, status=400)
    return renderer.render(
        "sources/preview.html",
        entries=entries[:_MAX_PREVIEW_ENTRIES],
        count=len(entries),
        counts={kind: sum(entry.newness == kind for entry in entries) for kind in ("new", "taken", "wrong")},
        is_good=is_importable(entries),
        packed=base64.b64encode(content).decode(),
        form=form,
    )


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


@router.get("/{source_id}")
async def source(app: AppDep, renderer: Renderer, _: Reader, source_id: SourceId) -> Response:
    shown, health = await app.sources.get_schema(source_id), await app.alarms.get_source_health(source_id)
    return renderer.render(
        "sources/show.html",
        source=shown,
        health=health,
        sections=_list_known_sections(shown, health),
        runs=await app.runs.list_rows(RunQuery(source=shown.name), limit=_MAX_LATEST),
        items=await app.archive.list_items(ItemQuery(sources=[shown.name]), limit=_MAX_LATEST),
        alarms=await app.alarms.list_alarms(is_open=True, source_id=source_id, limit=_MAX_LATEST),
        is_served=await app.sweeps.has_worker(),
        settings=app.settings,
        steps=format_steps(step.model_dump() for step in shown.steps),
        secrets=await _list_secrets(app, shown),
    )


async def _list_secrets(app: App, source: SourceSchema) -> list[SecretSettingSchema]:
    """Return the secrets that the log-in of a source types."""
    names = {step.secret for step in source.steps if step.secret}
    return [secret for secret in await app.settings_service.list_secrets() if secret.name in names] if names else []


@router.post("/{source_id}/secrets")
async def store_secrets(
    app: AppDep, renderer: Renderer, request: Request, principal: Admin, source_id: SourceId
) -> Response:
    """Store what was typed for the log-in of a source; a field that was left empty keeps what is stored."""
    secrets = await _list_secrets(app, await app.sources.get_schema(source_id))
    form = await request.form()
    paths = [f"{SECRET_PREFIX}{secret.name}" for secret in secrets]
    typed = {path: str(form.get(path) or "") for path in paths}
    await app.settings_service.update({path: value for path, value in typed.items() if value.strip()}, by=principal)
    return renderer.redirect(f"/sources/{source_id}", notice="saved")


@router.post("/{source_id}/sections")
async def change_sections(
    app: AppDep, renderer: Renderer, request: Request, principal: Editor, source_id: SourceId
) -> Response:
    """Pin, unpin or move the section whose button was pressed; `pin` without an address pins all that are read."""
    form = await request.form()
    change = next((change for change in SectionChange if change in form), None)
    if change is None:
        raise UsageError("source.no_action")
    known = _list_known_sections(await app.sources.get_schema(source_id), await app.alarms.get_source_health(source_id))
    url = str(form.get(change))
    chosen = [section for section in known if not url or section.url == url]
    await app.sources.change_sections(source_id, change, chosen, by=principal)
    return renderer.redirect(f"/sources/{source_id}#sections", notice="saved")


def _list_known_sections(source: SourceSchema, health: SourceHealth) -> list[PinnedSection]:
    """Return the pinned sections in their order, then the others that runs have read."""
    pinned = {url_key(section.url) for section in source.sections}
    others = [PinnedSection(name=section.name, url=section.url) for section in health.sections]
    return [*source.sections, *(section for section in others if url_key(section.url) not in pinned)]


@router.post("/{source_id}/run", dependencies=[RUN_SCOPE])
async def run(app: AppDep, renderer: Renderer, principal: Editor, source_id: SourceId) -> Response:
    source = await app.sources.get_by_id(source_id)
    return renderer.redirect(f"/runs/{await app.sweeps.enqueue(source, by=principal)}")


@router.get("/{source_id}/remove")
async def ask(app: AppDep, renderer: Renderer, _: Admin, source_id: SourceId) -> Response:
    source = await app.sources.get_by_id(source_id)
    return renderer.render("sources/remove.html", source=source)


@router.post("/{source_id}/remove")
async def remove(app: AppDep, renderer: Renderer, principal: Admin, source_id: SourceId) -> Response:
    await app.sources.remove(source_id, by=principal)
    return renderer.redirect("/sources", notice="source_removed")


@router.get("/{source_id}/edit")
async def show_form(app: AppDep, renderer: Renderer, _: Editor, source_id: SourceId) -> Response:
    source = await app.sources.get_by_id(source_id)
    return _render_form(app, renderer, dump_form_values(source), source_id=source_id)


@router.post("/{source_id}/edit")
async def edit(
    app: AppDep, renderer: Renderer, principal: Editor, source_id: SourceId, values: SourceValues
) -> Response:
    try:
        await app.sources.edit(source_id, values, by=principal)
    except UsageError as error:
        await app.sources.get_by_id(source_id)
        return _render_form(app, renderer, values, error, source_id=source_id)
    return renderer.redirect(f"/sources/{source_id}", notice="saved")


@router.post("/{source_id}/try", dependencies=[RUN_SCOPE])
async def try_changes(
    app: AppDep, renderer: Renderer, principal: Editor, source_id: SourceId, values: SourceValues
) -> Response:
    """Try the source with these changes; they are not stored."""
    try:
        # Its secrets can be entered once a source exists: so what is behind a log-in is discovered at a later trial.
        stored = await app.sources.get_by_id(source_id)
        is_unread = stored.last_success_at is None and bool(values["steps"]) and values.get("kind") == SourceKind.SITE
        discovers = is_unread and is_discoverable({**values, "kind": None})
        trial = await app.trials.start(values, by=principal, source_id=source_id, discovers=discovers)
    except UsageError as error:
        await app.sources.get_by_id(source_id)
        return _render_form(app, renderer, values, error, source_id=source_id)
    return renderer.redirect(f"/sources/trials/{trial.id}")
