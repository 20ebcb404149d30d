"""Adding a source: paste an address, watch it being tried, see what would be saved, then save it."""

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from pathlib import PurePath
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from starlette.datastructures import FormData, UploadFile

from monitor.bootstrap import App
from monitor.briefing.words import get_briefing_messages
from monitor.errors import Conflict, UsageError
from monitor.services.sources.exchange import (
    MAX_IMPORT_BYTES,
    SourceListFormat,
    detect_format,
    format_section,
    parse_section,
)
from monitor.services.sources.form import SourceForm, WrongSource, dump_form_values
from monitor.services.sources.trials import TrialReport
from monitor.vocabulary import SourceKind
from monitor.web.api.sources import SourceActions, add_default_name, export_sources, is_importable
from monitor.web.auth import Admin, Editor, Principal, Reader, require_scope
from monitor.web.ui.language import translate
from monitor.web.ui.rendering import TemplateRenderer

LIST_FIELDS = ("focus_areas", "keywords_include", "keywords_exclude", "tags")

NUMBER_FIELDS = ("window_days", "max_items")

SWITCH_FIELDS = ("allow_other_hosts", "enabled")

_TEXT_FIELDS = ("name", "url", "schedule", "timezone", "language", "summary_language")


_FIELD_ERROR = re.compile(r"The source (?:'.*'|\".*\") has a wrong (?P<field>[\w.]+): (?P<sentence>.*)\.", re.DOTALL)


def _(english: str) -> str:
    """Marks a sentence for the catalogue."""
    return english


_ERROR_MESSAGES: tuple[tuple[str, str], ...] = (
    (r"'(.*)' is no web address; .*", _("“{}” is no web address: write it in full, as https://www.example.gov/")),
    (r"there is nothing to search for.*", _("There is nothing to search for: write what to search for, or topics.")),
    (r"there is no word to search for in '(.*)'", _("There is no word to search for in “{}”.")),
    (r"a query has (\d+) characters; write at most (\d+)", _("A query has {} characters: write at most {}.")),
    (r"it has no letter that can be seen.*", _("Write a name.")),
    (r"field required", _("Write something here.")),
    (r"'(.*)' is no time zone.*", _("“{}” is no time zone: write one as Asia/Shanghai or Europe/Berlin.")),
    (r"input should be a valid integer.*", _("Write a whole number.")),
    (r"input should be (?:greater|less) than or equal to (\d+)", _("The number is out of bounds: the bound is {}.")),
    (r"string should have at most (\d+) characters.*", _("Too long: write at most {} characters.")),
    (r"(?:list|value) should have at most (\d+) items.*", _("Too many: write at most {}.")),
    (
        r"The schedule ['\"](.*)['\"] (?:has|cannot).*",
        _("“{}” is no schedule: write five fields, as 0 7 * * 1-5 (minute, hour, day, month, weekday)."),
    ),
    (
        r"There is already a source named ['\"](.*)['\"]: .*",
        _("There is a source named “{}” already: choose another name, or edit that one."),
    ),
)


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
    pinned = [*_split_lines(_get_text(form, "sections")), *(str(one) for one in form.getlist("pin"))]
    values["sections"] = [parse_section(line) for line in dict.fromkeys(pinned)]
    return values


def format_source_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as their controls hold them; what is not given is at its default."""
    defaults = SourceForm(name="-", url="http://a.invalid/").model_dump(mode="json") | {"name": "", "url": ""}
    whole = defaults | dict(values)
    told = {name: "" if value is None else value for name, value in whole.items()}
    for name in LIST_FIELDS:
        told[name] = "\n".join(map(str, whole[name]))
    told["sections"] = "\n".join(format_section(one) for one in whole["sections"])
    return told


def format_source_errors(error: UsageError, language: str) -> dict[str, str]:
    """What is wrong, by field, in the language of the page; under the empty name what belongs to no field."""
    if isinstance(error, WrongSource):
        told: dict[str, str] = {}
        for place, sentence in error.complaints.items():
            told.setdefault(place.partition(".")[0], translate_source_error(sentence, language))
        return told
    return {"name" if isinstance(error, Conflict) else "": translate_source_error(str(error), language)}


def translate_source_error(sentence: str, language: str) -> str:
    """A complaint as a sentence of the page; one that nobody foresaw as it is."""
    if field := _FIELD_ERROR.fullmatch(sentence):
        return f"{field['field']}: {translate_source_error(field['sentence'], language)}"
    for pattern, english in _ERROR_MESSAGES:
        if found := re.fullmatch(pattern, sentence, flags=re.DOTALL):
            return translate(language, english).format(*found.groups())
    return f"{sentence[:1].upper()}{sentence[1:]}"


def _get_text(form: FormData, name: str) -> str:
    value = form.get(name, "")
    return value if isinstance(value, str) else ""


def _split_lines(text: str) -> list[str]:
    return list(_iter_nonempty_lines(text.splitlines()))


def _iter_nonempty_lines(lines: Iterable[str]) -> Iterable[str]:
    return (line.strip() for line in lines if line.strip())


TrialId = Annotated[str, Path(min_length=1, max_length=40)]

_AUTO_KIND = "auto"

RUN_SCOPE = Depends(require_scope("run"))


def add_trial_routes(routes: APIRouter, app: App, renderer: TemplateRenderer) -> None:
    """`/sources/new`, `/sources/trials/…`, and saving what was tried."""
    _add_new(routes, app, renderer)
    _add_trial(routes, app, renderer)


def _add_new(routes: APIRouter, app: App, look: TemplateRenderer) -> None:
    work = SourceActions(app)

    @routes.get("/new")
    async def new(
        request: Request, visitor: Editor, url: Annotated[str, Query(max_length=2000)] = "", by_hand: bool = False
    ) -> Response:
        """One field for an address; or, by hand, the whole form without a trial."""
        if by_hand:
            return render_source_form(app, look, request, visitor, {"url": url})
        return look.render_page(
            request,
            visitor,
            "sources/new.html",
            section="sources",
            values=format_source_fields({"url": url}),
            kind=_AUTO_KIND,
            errors={},
        )

    @routes.post("/trials", dependencies=[RUN_SCOPE])
    async def start(request: Request, visitor: Editor) -> Response:
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
            trial = await app.trials.start(add_default_name(values), visitor.name, detect_kind=kind == _AUTO_KIND)
        except UsageError as error:
            if "whole" in form:
                return render_source_form(app, look, request, visitor, values, error)
            return look.render_page(
                request,
                visitor,
                "sources/new.html",
                section="sources",
                values=format_source_fields(values),
                kind=kind,
                errors=format_source_errors(error, visitor.language),
                status=HTTPStatus.BAD_REQUEST,
            )
        return look.redirect(f"/sources/trials/{trial.id}")

    @routes.post("")
    async def save(request: Request, visitor: Editor) -> Response:
        """Watch the source from now on, as the form has it."""
        values = parse_source_form(await request.form())
        try:
            source = await work.add(visitor, values)
        except UsageError as error:
            return render_source_form(app, look, request, visitor, values, error)
        return look.redirect(f"/sources/{source.id}", notice="source_added")


def _add_trial(routes: APIRouter, app: App, look: TemplateRenderer) -> None:
    @routes.get("/trials/{trial_id}")
    async def trial(request: Request, visitor: Editor, trial_id: TrialId) -> Response:
        """The trial while it goes, and what came of it."""
        report = app.trials.get(trial_id)
        return look.render_page(
            request, visitor, "sources/trial.html", section="sources", **await _load_trial_context(app, visitor, report)
        )

    @routes.get("/trials/{trial_id}/steps")
    async def steps(request: Request, visitor: Editor, trial_id: TrialId) -> Response:
        """The part of the page that changes while the trial goes; the header says whether it has ended."""
        report = app.trials.get(trial_id)
        part = look.render_page(
            request, visitor, "sources/steps.html", trial=report, said=get_briefing_messages(visitor.language).translate
        )
        part.headers["X-Trial-State"] = report.state
        return part

    @routes.post("/trials/{trial_id}/stop")
    async def stop(visitor: Editor, trial_id: TrialId) -> Response:
        del visitor
        await app.trials.cancel(trial_id)
        return look.redirect(f"/sources/trials/{trial_id}", notice="trial_stopped")


async def _load_trial_context(app: App, visitor: Principal, trial: TrialReport) -> dict[str, Any]:
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
        "said": get_briefing_messages(visitor.language).translate,
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
        errors=format_source_errors(error, principal.language) if error else {},
        settings=app.settings,
        status=HTTPStatus.BAD_REQUEST if error else HTTPStatus.OK,
    )


def _normalize_address(address: str, kind: str) -> str:
    """An address as people paste it: one without a scheme is taken for https, unless it is to be searched for."""
    is_bare = "." in address and "://" not in address and " " not in address
    return f"https://{address}" if is_bare and kind != SourceKind.QUERY else address


_MAX_PREVIEW_ENTRIES = 300


def add_exchange_routes(routes: APIRouter, app: App, renderer: TemplateRenderer) -> None:
    work = SourceActions(app)

    @routes.get("/export")
    async def export(visitor: Reader, format: str = "yaml") -> Response:  # noqa: A002 -- as the API calls it
        del visitor
        if format not in set(SourceListFormat):
            raise UsageError(f"Sources are exported as yaml, opml or csv, not as {format!r}.")
        return await export_sources(app, SourceListFormat(format))

    @routes.get("/import")
    async def choose(request: Request, visitor: Admin) -> Response:
        """A file to choose, or a list to paste."""
        return renderer.render_page(
            request, visitor, "sources/import.html", section="sources", forms=list(SourceListFormat), error=""
        )

    @routes.post("/import")
    async def bring_in(request: Request, visitor: Admin) -> Response:
        """First what would become of each entry; then, when that was seen, the list is stored as a whole."""
        try:
            async with request.form() as given:  # closes the uploaded file
                content, form = await _read_content(given)
                is_seen = "store" in given
            entries = await work.preview_import(content, form, where=renderer.translate(visitor, "The list"))
            if is_seen and is_importable(entries):
                await work.import_sources(visitor, content, form, where="the list")
                return renderer.redirect("/sources", notice="sources_imported")
        except UsageError as error:
            return renderer.render_page(
                request,
                visitor,
                "sources/import.html",
                section="sources",
                forms=list(SourceListFormat),
                error=translate_source_error(str(error), visitor.language),
                status=HTTPStatus.BAD_REQUEST,
            )
        return renderer.render_page(
            request,
            visitor,
            "sources/preview.html",
            section="sources",
            entries=entries[:_MAX_PREVIEW_ENTRIES],
            count=len(entries),
            counts={kind: sum(entry.newness == kind for entry in entries) for kind in ("new", "taken", "wrong")},
            is_good=is_importable(entries),
            packed=base64.b64encode(content).decode(),
            form=form,
            said=lambda sentence: translate_source_error(sentence, visitor.language),
        )


async def _read_content(given: FormData) -> tuple[bytes, SourceListFormat]:
    """What was uploaded or pasted, or is sent again after it was seen; the name of a file is no path, only a word."""
    form, packed = str(given.get("form") or ""), given.get("packed")
    if isinstance(packed, str) and packed:
        try:
            return base64.b64decode(packed, validate=True), SourceListFormat(form)
        except (binascii.Error, ValueError):
            raise UsageError("The list arrived damaged: choose the file again.") from None
    file = given.get("file")
    if isinstance(file, UploadFile) and file.filename:
        content = await file.read(MAX_IMPORT_BYTES + 1)
        return content, SourceListFormat(form) if form in set(SourceListFormat) else detect_format(
            PurePath(file.filename).name
        )
    pasted = str(given.get("text") or "").strip()
    if not pasted:
        raise UsageError("Choose a file, or paste a list.")
    return pasted.encode(), SourceListFormat(form) if form in set(SourceListFormat) else _guess_format(pasted)


def _guess_format(text: str) -> SourceListFormat:
    """The form of a pasted list, by how it begins."""
    if text.startswith("<"):
        return SourceListFormat.OPML
    head = text.partition("\n")[0]
    return SourceListFormat.CSV if ":" not in head and any(sign in head for sign in ",;\t") else SourceListFormat.YAML
