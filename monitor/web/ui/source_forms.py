"""The forms of sources: adding one after a trial, editing, and importing a list."""

import base64
import binascii
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import PurePath
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from starlette.datastructures import FormData, UploadFile

from monitor.bootstrap import App
from monitor.errors import Conflict, UsageError
from monitor.i18n.message import Message
from monitor.services.sources.exchange import (
    MAX_IMPORT_BYTES,
    SourceListFormat,
    detect_format,
    format_section,
    parse_section,
)
from monitor.services.sources.form import InvalidSource, SourceForm, dump_form_values
from monitor.services.sources.service import is_importable
from monitor.services.sources.trials import TrialReport
from monitor.vocabulary import SourceKind
from monitor.web.api.sources import add_default_name, export_sources
from monitor.web.auth import Admin, Editor, Principal, Reader, require_scope
from monitor.web.ui.rendering import TemplateRenderer

LIST_FIELDS = ("focus_areas", "keywords_include", "keywords_exclude", "tags")
NUMBER_FIELDS = ("window_days", "max_items")
SWITCH_FIELDS = ("allow_other_hosts", "enabled")
_TEXT_FIELDS = ("name", "url", "schedule", "timezone", "language", "summary_language")


def parse_source_form(form: FormData) -> dict[str, Any]:
    """The source that a whole form describes, not yet checked."""
    values: dict[str, Any] = {name: _get_text(form, name).strip() for name in _TEXT_FIELDS}
    values["kind"] = _get_text(form, "kind") or "site"
    values["rules"] = _get_text(form, "rules").replace("\r\n", "\n").strip()
    values["render"] = _get_text(form, "render") or None
    for name in LIST_FIELDS:
        values[name] = _split_lines(_get_text(form, name))
    for name in NUMBER_FIELDS:
        typed = _get_text(form, name).strip()
        values[name] = (int(typed) if typed.isdecimal() and len(typed) < 10 else typed) if typed else None
    for name in SWITCH_FIELDS:
        values[name] = "true" in form.getlist(name)
    pinned = [*_split_lines(_get_text(form, "sections")), *(str(line) for line in form.getlist("pin"))]
    values["sections"] = [parse_section(line) for line in dict.fromkeys(pinned)]
    return values


def format_source_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as their controls hold them; what is not given is at its default."""
    defaults = SourceForm(name="-", url="http://a.invalid/").model_dump(mode="json") | {"name": "", "url": ""}
    whole = defaults | dict(values)
    texts = {name: "" if value is None else value for name, value in whole.items()}
    for name in LIST_FIELDS:
        texts[name] = "\n".join(map(str, whole[name]))
    texts["sections"] = "\n".join(format_section(section) for section in whole["sections"])
    return texts


def list_source_errors(error: UsageError) -> dict[str, Message]:
    """Return what is wrong by field; under the empty name what belongs to no field."""
    if isinstance(error, InvalidSource):
        errors: dict[str, Message] = {}
        for place, message in error.complaints.items():
            errors.setdefault(place.partition(".")[0], message)
        return errors
    return {"name" if isinstance(error, Conflict) else "": error.message}


def _get_text(form: FormData, name: str) -> str:
    value = form.get(name, "")
    return value if isinstance(value, str) else ""


def _split_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


TrialId = Annotated[str, Path(min_length=1, max_length=40)]
_AUTO_KIND = "auto"
RUN_SCOPE = Depends(require_scope("run"))


def add_trial_routes(routes: APIRouter, app: App, renderer: TemplateRenderer) -> None:
    """`/sources/new`, `/sources/trials/…`, and saving what was tried."""
    _add_new(routes, app, renderer)
    _add_trial(routes, app, renderer)


def _add_new(routes: APIRouter, app: App, renderer: TemplateRenderer) -> None:
    @routes.get("/new")
    async def new(
        request: Request, principal: Editor, url: Annotated[str, Query(max_length=2000)] = "", by_hand: bool = False
    ) -> Response:
        """One field for an address; or, by hand, the whole form without a trial."""
        if by_hand:
            return render_source_form(app, renderer, request, principal, {"url": url})
        return renderer.render_page(
            request,
            principal,
            "sources/new.html",
            section="sources",
            values=format_source_fields({"url": url}),
            kind=_AUTO_KIND,
            errors={},
        )

    @routes.post("/trials", dependencies=[RUN_SCOPE])
    async def start(request: Request, principal: Editor) -> Response:
        """Begin to try the address; nothing is stored."""
        form = await request.form()
        values, kind = parse_source_form(form), str(form.get("kind") or _AUTO_KIND)
        values = {
            **values,
            "url": _normalize_address(values["url"], kind),
            "kind": SourceKind.SITE if kind == _AUTO_KIND else kind,
        }
        # What the short form does not ask for is at its default, switches too.
        values |= {} if "whole" in form else {"enabled": True, "allow_other_hosts": True}
        try:
            trial = await app.trials.start(add_default_name(values), by=principal.actor, detect_kind=kind == _AUTO_KIND)
        except UsageError as error:
            if "whole" in form:
                return render_source_form(app, renderer, request, principal, values, error)
            return renderer.render_page(
                request,
                principal,
                "sources/new.html",
                section="sources",
                values=format_source_fields(values),
                kind=kind,
                errors=list_source_errors(error),
                status=HTTPStatus.BAD_REQUEST,
            )
        return renderer.redirect(f"/sources/trials/{trial.id}")

    @routes.post("")
    async def save(request: Request, principal: Editor) -> Response:
        """Watch the source from now on, as the form has it."""
        values = parse_source_form(await request.form())
        try:
            source = await app.sources.add(values, by=principal.actor)
        except UsageError as error:
            return render_source_form(app, renderer, request, principal, values, error)
        return renderer.redirect(f"/sources/{source.id}", notice="source_added")


def _add_trial(routes: APIRouter, app: App, renderer: TemplateRenderer) -> None:
    @routes.get("/trials/{trial_id}")
    async def trial(request: Request, principal: Editor, trial_id: TrialId) -> Response:
        """The trial while it goes, and what came of it."""
        report = app.trials.get(trial_id)
        return renderer.render_page(
            request, principal, "sources/trial.html", section="sources", **await _load_trial_context(app, report)
        )

    @routes.get("/trials/{trial_id}/steps")
    async def steps(request: Request, principal: Editor, trial_id: TrialId) -> Response:
        """The part of the page that changes while the trial goes; the header says whether it has ended."""
        report = app.trials.get(trial_id)
        part = renderer.render_page(request, principal, "sources/steps.html", trial=report)
        part.headers["X-Trial-State"] = report.state
        return part

    @routes.post("/trials/{trial_id}/stop")
    async def stop(_: Editor, trial_id: TrialId) -> Response:
        await app.trials.cancel(trial_id)
        return renderer.redirect(f"/sources/trials/{trial_id}", notice="trial_stopped")


async def _load_trial_context(app: App, trial: TrialReport) -> dict[str, Any]:
    """What the page of a trial shows; the source's fields as the form that saves it holds them."""
    values = dict(trial.values)
    stored = await app.sources.get_by_id(trial.source_id) if trial.source_id is not None else None
    result = trial.result
    if result is not None:
        values["kind"] = result.kind
        is_named_by_us = stored is None and values["name"] == add_default_name({**values, "name": ""})["name"]
        if is_named_by_us and result.title:
            values["name"] = result.title
    pinned = {format_section(value) for value in values.get("sections", [])}
    found = (
        [(format_section({"name": section.name, "url": section.url}), section) for section in result.sections]
        if result
        else []
    )
    others = pinned - {line for line, _ in found}
    return {
        "trial": trial,
        "values": format_source_fields({**values, "sections": []}),
        "found": found,
        "pinned": pinned,
        "others": sorted(others),
        "stored": stored,
        "was": dump_form_values(stored) if stored else None,
    }


def render_source_form(
    app: App,
    renderer: TemplateRenderer,
    request: Request,
    principal: Principal,
    values: dict[str, Any],
    error: UsageError | None = None,
    *,
    source_id: int | None = None,
) -> Response:
    """The whole form of a source, of one that is stored or of a new one, with what is wrong beside its field."""
    return renderer.render_page(
        request,
        principal,
        "sources/edit.html",
        section="sources",
        values=format_source_fields(values),
        source_id=source_id,
        errors=list_source_errors(error) if error else {},
        settings=app.settings,
        status=HTTPStatus.BAD_REQUEST if error else HTTPStatus.OK,
    )


def _normalize_address(address: str, kind: str) -> str:
    """An address as people paste it: one without a scheme is taken for https, unless it is to be searched for."""
    is_bare = "." in address and "://" not in address and " " not in address
    return f"https://{address}" if is_bare and kind != SourceKind.QUERY else address


_MAX_PREVIEW_ENTRIES = 300


def add_exchange_routes(routes: APIRouter, app: App, renderer: TemplateRenderer) -> None:
    @routes.get("/export")
    async def export(_: Reader, format: str = "yaml") -> Response:  # noqa: A002 -- as the API calls it
        if format not in set(SourceListFormat):
            raise UsageError("source_list.format", given=format, known=list(SourceListFormat))
        return await export_sources(app, SourceListFormat(format))

    @routes.get("/import")
    async def choose(request: Request, principal: Admin) -> Response:
        """A file to choose, or a list to paste."""
        return renderer.render_page(
            request, principal, "sources/import.html", section="sources", forms=list(SourceListFormat), error=None
        )

    @routes.post("/import")
    async def bring_in(request: Request, principal: Admin) -> Response:
        """First what would become of each entry; then, when that was seen, the list is stored as a whole."""
        try:
            async with request.form() as given:  # closes the uploaded file
                content, form = await _read_content(given)
                is_seen = "store" in given
            entries = await app.sources.preview_import(content, form, label="the list")
            if is_seen and is_importable(entries):
                await app.sources.import_list(content, form, label="the list", by=principal.actor)
                return renderer.redirect("/sources", notice="sources_imported")
        except UsageError as error:
            return renderer.render_page(
                request,
                principal,
                "sources/import.html",
                section="sources",
                forms=list(SourceListFormat),
                error=error.message,
                status=HTTPStatus.BAD_REQUEST,
            )
        return renderer.render_page(
            request,
            principal,
            "sources/preview.html",
            section="sources",
            entries=entries[:_MAX_PREVIEW_ENTRIES],
            count=len(entries),
            counts={kind: sum(entry.newness == kind for entry in entries) for kind in ("new", "taken", "wrong")},
            is_good=is_importable(entries),
            packed=base64.b64encode(content).decode(),
            form=form,
        )


async def _read_content(given: FormData) -> tuple[bytes, SourceListFormat]:
    """What was uploaded or pasted, or is sent again after it was seen; the name of a file is no path, only a word."""
    form, packed = str(given.get("form") or ""), given.get("packed")
    if isinstance(packed, str) and packed:
        try:
            return base64.b64decode(packed, validate=True), SourceListFormat(form)
        except (binascii.Error, ValueError):
            raise UsageError("source_list.damaged") from None
    file = given.get("file")
    if isinstance(file, UploadFile) and file.filename:
        content = await file.read(MAX_IMPORT_BYTES + 1)
        return content, SourceListFormat(form) if form in set(SourceListFormat) else detect_format(
            PurePath(file.filename).name
        )
    pasted = str(given.get("text") or "").strip()
    if not pasted:
        raise UsageError("source_list.missing")
    return pasted.encode(), SourceListFormat(form) if form in set(SourceListFormat) else _guess_format(pasted)


def _guess_format(text: str) -> SourceListFormat:
    """The form of a pasted list, by how it begins."""
    if text.startswith("<"):
        return SourceListFormat.OPML
    head = text.partition("\n")[0]
    return SourceListFormat.CSV if ":" not in head and any(sign in head for sign in ",;\t") else SourceListFormat.YAML
