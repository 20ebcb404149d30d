"""The pages of sources: the list, one source, editing, changing several at once, removing."""

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query, Request, Response

from monitor.bootstrap import App
from monitor.errors import UsageError
from monitor.services.items import ItemQuery
from monitor.services.runs import RunQuery
from monitor.services.sources.form import dump_form_values
from monitor.services.sources.service import BulkAction, SourceFilter, SourceStatus
from monitor.vocabulary import SourceKind
from monitor.web.api.cursors import build_next_url, decode_id, encode_cursor
from monitor.web.auth import Admin, Editor, Reader
from monitor.web.middleware import sanitize_redirect_path
from monitor.web.ui.rendering import TemplateRenderer
from monitor.web.ui.source_forms import (
    RUN_SCOPE,
    add_exchange_routes,
    add_trial_routes,
    parse_source_form,
    render_source_form,
)

_PAGE_SIZE = 50
_MAX_LATEST = 10
SourceId = Annotated[int, Path(ge=1, le=2**31 - 1)]


def router(app: App, renderer: TemplateRenderer) -> APIRouter:
    """`/sources` and what lies beneath it."""
    routes = APIRouter(prefix="/sources")
    _add_list(routes, app, renderer)
    add_trial_routes(routes, app, renderer)
    add_exchange_routes(routes, app, renderer)
    _add_one(routes, app, renderer)
    _add_edit(routes, app, renderer)
    return routes


def _add_list(routes: APIRouter, app: App, renderer: TemplateRenderer) -> None:
    @routes.get("")
    async def sources(
        request: Request,
        principal: Reader,
        q: Annotated[str, Query(max_length=200)] = "",
        tag: Annotated[str, Query(max_length=100)] = "",
        kind: str = "",
        state: str = "",
        cursor: str = "",
    ) -> Response:
        """The list, with how each fares; those that are meant can be chosen and changed together."""
        wanted = SourceFilter(
            text=q,
            tag=tag,
            kind=SourceKind(kind) if kind in set(SourceKind) else None,
            state=SourceStatus(state) if state in set(SourceStatus) else None,
        )
        found = await app.sources.list_page(wanted, after=decode_id(cursor), limit=_PAGE_SIZE)
        asked = {"q": q, "tag": tag, "kind": wanted.kind or ""}
        following = encode_cursor(found.after) if found.after else None
        return renderer.render_page(
            request,
            principal,
            "sources/list.html",
            section="sources",
            found=found,
            wanted=wanted,
            asked=asked,
            tags=found.tags,
            kinds=list(SourceKind),
            states=list(SourceStatus),
            address=_build_list_url,
            next_url=build_next_url("/sources", {**asked, "state": wanted.state}, following),
            is_served=await app.sweeps.has_worker(),
        )

    @routes.post("/bulk")
    async def bulk(request: Request, principal: Editor) -> Response:
        """The same done to all that were ticked."""
        form = await request.form()
        ids = {int(text) for text in map(str, form.getlist("ids")) if text.isdecimal() and len(text) < 10}
        action = str(form.get("action", ""))
        if action not in set(BulkAction):
            raise UsageError("source.no_action")
        tag = str(form.get("tag", ""))
        changed = await app.sources.change_many(ids, BulkAction(action), tag=tag, by=principal.actor)
        notice = "sources_changed" if changed else "sources_unchanged"
        return renderer.redirect(sanitize_redirect_path(str(form.get("back") or "/sources")), notice=notice)

    @routes.post("/sample", dependencies=[RUN_SCOPE])
    async def sample(principal: Admin) -> Response:
        """Serve the sample ministry on this machine, watch it and run it: a newcomer's first step."""
        _, run_id = await app.sample.start(by=principal.actor)
        return renderer.redirect(f"/runs/{run_id}")


def _build_list_url(asked: dict[str, Any]) -> str:
    query = urlencode({name: value for name, value in asked.items() if value})
    return f"/sources?{query}" if query else "/sources"


def _add_one(routes: APIRouter, app: App, renderer: TemplateRenderer) -> None:
    @routes.get("/{source_id}")
    async def source(request: Request, principal: Reader, source_id: SourceId) -> Response:
        """One source at a glance: health, sections, runs, newest items, what was set."""
        shown = await app.sources.get_schema(source_id)
        return renderer.render_page(
            request,
            principal,
            "sources/show.html",
            section="sources",
            source=shown,
            health=await app.alarms.get_source_health(source_id),
            runs=await app.runs.list_rows(RunQuery(source=shown.name), limit=_MAX_LATEST),
            items=await app.archive.list_items(ItemQuery(sources=[shown.name]), limit=_MAX_LATEST),
            alarms=await app.alarms.list_alarms(is_open=True, source_id=source_id, limit=_MAX_LATEST),
            is_served=await app.sweeps.has_worker(),
            settings=app.settings,
        )

    @routes.post("/{source_id}/run", dependencies=[RUN_SCOPE])
    async def run(principal: Editor, source_id: SourceId) -> Response:
        """Run it now; the page of the run shows how it goes."""
        source = await app.sources.get_by_id(source_id)
        return renderer.redirect(f"/runs/{await app.sweeps.enqueue(source, by=principal.actor)}")

    @routes.get("/{source_id}/remove")
    async def ask(request: Request, principal: Admin, source_id: SourceId) -> Response:
        """What removing means, before it is done."""
        source = await app.sources.get_by_id(source_id)
        return renderer.render_page(request, principal, "sources/remove.html", section="sources", source=source)

    @routes.post("/{source_id}/remove")
    async def remove(principal: Admin, source_id: SourceId) -> Response:
        await app.sources.remove(source_id, by=principal.actor)
        return renderer.redirect("/sources", notice="source_removed")


def _add_edit(routes: APIRouter, app: App, renderer: TemplateRenderer) -> None:
    @routes.get("/{source_id}/edit")
    async def form(request: Request, principal: Editor, source_id: SourceId) -> Response:
        """Every field, each with what it means."""
        source = await app.sources.get_by_id(source_id)
        return render_source_form(app, renderer, request, principal, dump_form_values(source), source_id=source_id)

    @routes.post("/{source_id}/edit")
    async def edit(request: Request, principal: Editor, source_id: SourceId) -> Response:
        """The source as the form has it now, or the form again with what is wrong beside its field."""
        values = parse_source_form(await request.form())
        try:
            await app.sources.edit(source_id, values, by=principal.actor)
        except UsageError as error:
            await app.sources.get_by_id(source_id)
            return render_source_form(app, renderer, request, principal, values, error, source_id=source_id)
        return renderer.redirect(f"/sources/{source_id}", notice="saved")

    @routes.post("/{source_id}/try", dependencies=[RUN_SCOPE])
    async def try_changes(request: Request, principal: Editor, source_id: SourceId) -> Response:
        """What the source would bring with these changes; they are not stored."""
        values = parse_source_form(await request.form())
        try:
            trial = await app.trials.start(values, by=principal.actor, source_id=source_id)
        except UsageError as error:
            await app.sources.get_by_id(source_id)
            return render_source_form(app, renderer, request, principal, values, error, source_id=source_id)
        return renderer.redirect(f"/sources/trials/{trial.id}")
