"""The sources as pages: the list, one of them, editing, several at once, removing."""

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query, Request, Response

from monitor.bootstrap import App
from monitor.briefing.words import get_briefing_messages
from monitor.errors import UsageError
from monitor.services.items import ItemQuery
from monitor.services.runs import RunQuery
from monitor.services.sources.form import dump_form_values
from monitor.services.sources.listing import SourceFilter, SourceStatus
from monitor.vocabulary import SourceKind
from monitor.web.api.cursors import decode_cursor, encode_cursor
from monitor.web.api.sources import BulkAction, SourceActions
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


def _add_list(routes: APIRouter, app: App, look: TemplateRenderer) -> None:
    work = SourceActions(app)

    @routes.get("")
    async def sources(
        request: Request,
        visitor: Reader,
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
        after = decode_cursor(cursor, int)
        found = await app.source_list.list(wanted, after=after[0] if after else None, limit=_PAGE_SIZE)
        asked = {"q": q, "tag": tag, "kind": wanted.kind or ""}
        more = {**asked, "state": wanted.state or "", "cursor": encode_cursor(found.after)} if found.after else None
        return look.render_page(
            request,
            visitor,
            "sources/list.html",
            section="sources",
            found=found,
            wanted=wanted,
            asked=asked,
            tags=found.tags,
            kinds=list(SourceKind),
            states=list(SourceStatus),
            address=_build_list_url,
            next_url=_build_list_url(more) if more else None,
            said=get_briefing_messages(visitor.language).translate,
            is_served=await app.sweeps.has_worker(),
        )

    @routes.post("/bulk")
    async def bulk(request: Request, visitor: Editor) -> Response:
        """The same done to all that were ticked."""
        form = await request.form()
        ids = {int(one) for one in map(str, form.getlist("ids")) if one.isdecimal() and len(one) < 10}
        action = str(form.get("action", ""))
        if action not in set(BulkAction):
            raise UsageError("Choose what to do.")
        changed = await work.bulk_change(visitor, ids, BulkAction(action), str(form.get("tag", "")))
        notice = "sources_changed" if changed else "sources_unchanged"
        return look.redirect(sanitize_redirect_path(str(form.get("back") or "/sources")), notice=notice)

    @routes.post("/sample", dependencies=[RUN_SCOPE])
    async def sample(visitor: Admin) -> Response:
        """A newcomer's first step: the sample ministry is served on this machine, watched and run."""
        source, run_id = await app.sample.start()
        await app.audit.record(visitor.name, "source.sample", source.name, run=run_id)
        return look.redirect(f"/runs/{run_id}")


def _build_list_url(asked: dict[str, Any]) -> str:
    query = urlencode({name: value for name, value in asked.items() if value})
    return f"/sources?{query}" if query else "/sources"


def _add_one(routes: APIRouter, app: App, look: TemplateRenderer) -> None:
    work = SourceActions(app)

    @routes.get("/{source_id}")
    async def source(request: Request, visitor: Reader, source_id: SourceId) -> Response:
        """One source at a glance: health, sections, runs, newest items, what was set."""
        one = await app.source_list.get(source_id)
        return look.render_page(
            request,
            visitor,
            "sources/show.html",
            section="sources",
            source=one,
            health=await app.alarms.get_source_health(source_id),
            runs=await app.runs.list_rows(RunQuery(source=one.name), limit=_MAX_LATEST),
            items=await app.archive.list_items(ItemQuery(sources=[one.name]), limit=_MAX_LATEST),
            alarms=await app.alarms.list_alarms(is_open=True, source_id=source_id, limit=_MAX_LATEST),
            said=get_briefing_messages(visitor.language).translate,
            is_served=await app.sweeps.has_worker(),
            settings=app.settings,
        )

    @routes.post("/{source_id}/run", dependencies=[RUN_SCOPE])
    async def run(visitor: Editor, source_id: SourceId) -> Response:
        """Run it now; the page of the run shows how it goes."""
        return look.redirect(f"/runs/{await work.run(visitor, source_id)}")

    @routes.get("/{source_id}/remove")
    async def ask(request: Request, visitor: Admin, source_id: SourceId) -> Response:
        """What removing means, before it is done."""
        source = await app.sources.get_by_id(source_id)
        return look.render_page(request, visitor, "sources/remove.html", section="sources", source=source)

    @routes.post("/{source_id}/remove")
    async def remove(visitor: Admin, source_id: SourceId) -> Response:
        await work.remove(visitor, source_id)
        return look.redirect("/sources", notice="source_removed")


def _add_edit(routes: APIRouter, app: App, look: TemplateRenderer) -> None:
    work = SourceActions(app)

    @routes.get("/{source_id}/edit")
    async def form(request: Request, visitor: Editor, source_id: SourceId) -> Response:
        """Every field, each with what it means."""
        source = await app.sources.get_by_id(source_id)
        return render_source_form(app, look, request, visitor, dump_form_values(source), source_id=source_id)

    @routes.post("/{source_id}/edit")
    async def edit(request: Request, visitor: Editor, source_id: SourceId) -> Response:
        """The source as the form has it now, or the form again with what is wrong beside its field."""
        values = parse_source_form(await request.form())
        try:
            await work.edit(visitor, source_id, values)
        except UsageError as error:
            await app.sources.get_by_id(source_id)
            return render_source_form(app, look, request, visitor, values, error, source_id=source_id)
        return look.redirect(f"/sources/{source_id}", notice="saved")

    @routes.post("/{source_id}/try", dependencies=[RUN_SCOPE])
    async def try_changes(request: Request, visitor: Editor, source_id: SourceId) -> Response:
        """What the source would bring with these changes; they are not stored."""
        values = parse_source_form(await request.form())
        try:
            trial = await app.trials.start(values, visitor.name, source_id=source_id)
        except UsageError as error:
            await app.sources.get_by_id(source_id)
            return render_source_form(app, look, request, visitor, values, error, source_id=source_id)
        return look.redirect(f"/sources/trials/{trial.id}")
