"""Adding a source: paste an address, watch it being tried, see what would be saved, then save it."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from monitor.app.source_form import form_values
from monitor.app.source_rows import section_line
from monitor.app.trying import TrialReport
from monitor.bootstrap import App
from monitor.briefing.wording import wording_for
from monitor.domain.words import SourceKind
from monitor.errors import UsageError
from monitor.web.api.sources import named_after_address
from monitor.web.gate import Editor, Visitor, scope
from monitor.web.rendering import Look
from monitor.web.source_fields import complaints, read, shown
from monitor.web.source_work import SourceWork

TrialId = Annotated[str, Path(min_length=1, max_length=40)]
_AUTO = "auto"
STARTS_WORK = Depends(scope("run"))


def add_trials(routes: APIRouter, app: App, look: Look) -> None:
    """`/sources/new`, `/sources/trials/…`, and saving what was tried."""
    _add_new(routes, app, look)
    _add_trial(routes, app, look)


def _add_new(routes: APIRouter, app: App, look: Look) -> None:
    work = SourceWork(app)

    @routes.get("/new")
    async def new(
        request: Request, visitor: Editor, url: Annotated[str, Query(max_length=2000)] = "", by_hand: bool = False
    ) -> Response:
        """One field for an address; or, by hand, the whole form without a trial."""
        if by_hand:
            return form_page(app, look, request, visitor, {"url": url})
        return look.page(
            request, visitor, "sources/new.html", section="sources", values=shown({"url": url}), kind=_AUTO, errors={}
        )

    @routes.post("/trials", dependencies=[STARTS_WORK])
    async def start(request: Request, visitor: Editor) -> Response:
        """Begin to try the address; nothing is stored."""
        form = await request.form()
        values, kind = read(form), str(form.get("kind") or _AUTO)
        values = {**values, "url": _in_full(values["url"], kind), "kind": SourceKind.SITE if kind == _AUTO else kind}
        # What the short form does not ask for is at its default, switches too.
        values |= {} if "whole" in form else {"enabled": True, "allow_other_hosts": True}
        try:
            trial = await app.trials.start(named_after_address(values), visitor.name, finds_kind=kind == _AUTO)
        except UsageError as error:
            if "whole" in form:
                return form_page(app, look, request, visitor, values, error)
            return look.page(
                request,
                visitor,
                "sources/new.html",
                section="sources",
                values=shown(values),
                kind=kind,
                errors=complaints(error, visitor.language),
                status=HTTPStatus.BAD_REQUEST,
            )
        return look.back(f"/sources/trials/{trial.id}")

    @routes.post("")
    async def save(request: Request, visitor: Editor) -> Response:
        """Watch the source from now on, as the form has it."""
        values = read(await request.form())
        try:
            source = await work.add(visitor, values)
        except UsageError as error:
            return form_page(app, look, request, visitor, values, error)
        return look.back(f"/sources/{source.id}", notice="source_added")


def _add_trial(routes: APIRouter, app: App, look: Look) -> None:
    @routes.get("/trials/{trial_id}")
    async def trial(request: Request, visitor: Editor, trial_id: TrialId) -> Response:
        """The trial while it goes, and what came of it."""
        report = app.trials.get(trial_id)
        return look.page(request, visitor, "sources/trial.html", section="sources", **await _told(app, visitor, report))

    @routes.get("/trials/{trial_id}/steps")
    async def steps(request: Request, visitor: Editor, trial_id: TrialId) -> Response:
        """The part of the page that changes while the trial goes; the header says whether it has ended."""
        report = app.trials.get(trial_id)
        part = look.page(request, visitor, "sources/steps.html", trial=report, said=wording_for(visitor.language).said)
        part.headers["X-Trial-State"] = report.state
        return part

    @routes.post("/trials/{trial_id}/stop")
    async def stop(visitor: Editor, trial_id: TrialId) -> Response:
        del visitor
        await app.trials.cancel(trial_id)
        return look.back(f"/sources/trials/{trial_id}", notice="trial_stopped")


async def _told(app: App, visitor: Visitor, trial: TrialReport) -> dict[str, Any]:
    """What the page of a trial shows; the source's fields as the form that saves it holds them."""
    values = dict(trial.values)
    stored = await app.sources.by_id(trial.source_id) if trial.source_id is not None else None
    result = trial.result
    if result is not None:
        values["kind"] = result.kind
        is_named_by_us = stored is None and values["name"] == named_after_address({**values, "name": ""})["name"]
        if is_named_by_us and result.title:
            values["name"] = result.title
    pinned = {section_line(value) for value in values.get("sections", [])}
    found = (
        [(section_line({"name": section.name, "url": section.url}), section) for section in result.sections]
        if result
        else []
    )
    others = pinned - {line for line, _ in found}
    return {
        "trial": trial,
        "values": shown({**values, "sections": []}),
        "found": found,
        "pinned": pinned,
        "others": sorted(others),
        "stored": stored,
        "said": wording_for(visitor.language).said,
        "was": form_values(stored) if stored else None,
    }


def form_page(
    app: App,
    look: Look,
    request: Request,
    visitor: Visitor,
    values: dict[str, Any],
    error: UsageError | None = None,
    *,
    source_id: int | None = None,
) -> Response:
    """The whole form of a source, of one that is stored or of a new one, with what is wrong beside its field."""
    return look.page(
        request,
        visitor,
        "sources/edit.html",
        section="sources",
        values=shown(values),
        source_id=source_id,
        errors=complaints(error, visitor.language) if error else {},
        settings=app.settings,
        status=HTTPStatus.BAD_REQUEST if error else HTTPStatus.OK,
    )


def _in_full(address: str, kind: str) -> str:
    """An address as people paste it: one without a scheme is taken for https, unless it is to be searched for."""
    is_bare = "." in address and "://" not in address and " " not in address
    return f"https://{address}" if is_bare and kind != SourceKind.QUERY else address
