"""The pages of sources: the list, one source, its form with a trial, and importing and exporting lists."""

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from monitor.bootstrap import App
from monitor.config.stored import SECRET_PREFIX
from monitor.errors import Conflict, UsageError
from monitor.i18n.message import Message
from monitor.services.alarms import SourceHealth
from monitor.services.cursors import decode_id, encode_cursor
from monitor.services.items import ItemQuery
from monitor.services.runs import RunQuery
from monitor.services.schedules import DEFAULT_SCHEDULE
from monitor.services.settings import SecretSettingSchema
from monitor.services.sources.discovery import is_discoverable
from monitor.services.sources.form import InvalidSource, SourceForm, dump_form_values
from monitor.services.sources.service import PinnedSection, SectionChange, SourceFilter, SourceSchema, SourceStatus
from monitor.services.sources.tables import format_section, format_steps, parse_json_cell, parse_section
from monitor.urls import url_key
from monitor.vocabulary import SourceKind
from monitor.web.api.cursors import build_next_url
from monitor.web.api.sources import SourceId, add_default_name
from monitor.web.auth import RUN_SCOPE, Admin, AppDep, Editor, Reader
from monitor.web.ui.rendering import FilterText, FormText, PageRenderer, Renderer
from monitor.web.ui.schedules import parse_schedule_fields

_PAGE_SIZE = 50
_MAX_LATEST = 10
_AUTO_KIND = "auto"
_LIST_FIELDS = ("focus_areas", "keywords_include", "keywords_exclude", "tags")
_NUMBER_FIELDS = ("window_days", "max_items")
_SWITCH_FIELDS = ("allow_other_hosts", "enabled")
_TEXT_FIELDS = ("name", "url", "timezone", "language", "summary_language")
UrlText = Annotated[str, Query(max_length=2000)]
SharedText = Annotated[str, Query(max_length=10_000)]
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
    wanted = build_filter(q=q, tag=tag, kind=kind, state=state)
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


@router.post("/sample", dependencies=[RUN_SCOPE])
async def sample(app: AppDep, renderer: Renderer, principal: Admin) -> Response:
    """Serve the sample ministry on this machine, watch it and run it."""
    _, run_id = await app.sample.start(by=principal)
    return renderer.redirect(f"/runs/{run_id}")


def build_filter(*, q: str, tag: str, kind: str, state: str) -> SourceFilter:
    return SourceFilter(
        text=q,
        tag=tag,
        kind=SourceKind(kind) if kind in set(SourceKind) else None,
        state=SourceStatus(state) if state in set(SourceStatus) else None,
    )


def _build_list_url(asked: dict[str, Any]) -> str:
    query = urlencode({name: value for name, value in asked.items() if value})
    return f"/sources?{query}" if query else "/sources"


@router.get("/new")
async def new(
    app: AppDep,
    renderer: Renderer,
    _: Editor,
    url: UrlText = "",
    title: SharedText = "",
    text: SharedText = "",
    by_hand: bool = False,
) -> Response:
    """Show one field for an address or, `by_hand`, the whole form.

    The bookmark and what other apps share fill it in with a page's address and title; Android puts the address into
    `text`. Nothing is tried or kept before the form is sent.
    """
    values = {"url": url or _find_address(text), "name": " ".join(title.split())[:200]}
    if by_hand:
        return _render_form(app, renderer, values | {"schedule": DEFAULT_SCHEDULE})
    return _render_new(renderer, values)


def _find_address(text: str) -> str:
    return next((word for word in text.split() if word.startswith(("https://", "http://"))), "")


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
        bookmarklet=_build_bookmarklet(renderer.build_url("/sources/new")),
    )


def _build_bookmarklet(form_url: str) -> str:
    """Return the address of a bookmark that opens the form for the page on which it is clicked."""
    script = (
        f"location.href={json.dumps(form_url)}+'?url='+encodeURIComponent(location.href)"
        "+'&title='+encodeURIComponent(document.title.slice(0,200))"
    )
    return f"javascript:{quote(f'void({script})')}"


@router.post("")
async def save(
    app: AppDep, renderer: Renderer, principal: Editor, values: SourceValues, trial: FormText = "", team: FormText = ""
) -> Response:
    """Add a source; one that was tried shows its first run, which has read the site already."""
    try:
        team_id = await app.teams.resolve(team, principal)
        source, run_id = await app.trials.keep(trial, values, team_id=team_id, by=principal)
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
