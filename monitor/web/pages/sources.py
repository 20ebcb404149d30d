"""The sources as pages: the list, one of them, editing, several at once, removing."""

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query, Request, Response

from monitor.app.archive import ItemQuery
from monitor.app.runs import RunWish
from monitor.app.source_form import form_values
from monitor.app.watchlist import SourceFilter, SourceState
from monitor.bootstrap import App
from monitor.briefing.wording import wording_for
from monitor.demo.sampling import SampleHost
from monitor.domain.words import SourceKind
from monitor.errors import UsageError
from monitor.web.cursors import decode, encode
from monitor.web.gate import Admin, Editor, Reader
from monitor.web.pages.source_exchange import add_exchange
from monitor.web.pages.source_trials import STARTS_WORK, add_trials, form_page
from monitor.web.rendering import Look
from monitor.web.source_fields import read
from monitor.web.source_work import BulkAction, SourceWork
from monitor.web.whereabouts import own_address

_SHOWN = 50
_LATEST = 10

SourceId = Annotated[int, Path(ge=1, le=2**31 - 1)]


def router(app: App, look: Look) -> APIRouter:
    """`/sources` and what lies beneath it."""
    routes = APIRouter(prefix="/sources")
    _add_list(routes, app, look)
    add_trials(routes, app, look)
    add_exchange(routes, app, look)
    _add_one(routes, app, look)
    _add_edit(routes, app, look)
    return routes


def _add_list(routes: APIRouter, app: App, look: Look) -> None:
    work = SourceWork(app)

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
            state=SourceState(state) if state in set(SourceState) else None,
        )
        after = decode(cursor, int)
        found = await app.watchlist.list(wanted, after=after[0] if after else None, limit=_SHOWN)
        asked = {"q": q, "tag": tag, "kind": wanted.kind or ""}
        more = {**asked, "state": wanted.state or "", "cursor": encode(found.after)} if found.after else None
        return look.page(
            request,
            visitor,
            "sources/list.html",
            section="sources",
            found=found,
            wanted=wanted,
            asked=asked,
            tags=found.tags,
            kinds=list(SourceKind),
            states=list(SourceState),
            address=_address,
            next_url=_address(more) if more else None,
            said=wording_for(visitor.language).said,
            is_served=await app.sweeps.is_served(),
        )

    @routes.post("/bulk")
    async def bulk(request: Request, visitor: Editor) -> Response:
        """The same done to all that were ticked."""
        form = await request.form()
        ids = {int(one) for one in map(str, form.getlist("ids")) if one.isdecimal() and len(one) < 10}
        action = str(form.get("action", ""))
        if action not in set(BulkAction):
            raise UsageError("Choose what to do.")
        changed = await work.change(visitor, ids, BulkAction(action), str(form.get("tag", "")))
        notice = "sources_changed" if changed else "sources_unchanged"
        return look.back(own_address(str(form.get("back") or "/sources")), notice=notice)

    @routes.post("/sample", dependencies=[STARTS_WORK])
    async def sample(request: Request, visitor: Admin) -> Response:
        """A newcomer's first step: the sample ministry is served on this machine, watched and run."""
        host: SampleHost = request.app.state.sample
        source, run_id = await host.begin()
        await app.audit.record(visitor.name, "source.sample", source.name, run=run_id)
        return look.back(f"/runs/{run_id}")


def _address(asked: dict[str, Any]) -> str:
    query = urlencode({name: value for name, value in asked.items() if value})
    return f"/sources?{query}" if query else "/sources"


def _add_one(routes: APIRouter, app: App, look: Look) -> None:
    work = SourceWork(app)

    @routes.get("/{source_id}")
    async def source(request: Request, visitor: Reader, source_id: SourceId) -> Response:
        """One source at a glance: health, sections, runs, newest items, what was set."""
        one = await app.watchlist.one(source_id)
        return look.page(
            request,
            visitor,
            "sources/show.html",
            section="sources",
            source=one,
            health=await app.health.one(source_id),
            runs=await app.runs.rows(RunWish(source=one.name), limit=_LATEST),
            items=await app.archive.items(ItemQuery(sources=[one.name]), limit=_LATEST),
            alarms=await app.health.alarms(is_open=True, source_id=source_id, limit=_LATEST),
            said=wording_for(visitor.language).said,
            is_served=await app.sweeps.is_served(),
            settings=app.settings,
        )

    @routes.post("/{source_id}/run", dependencies=[STARTS_WORK])
    async def run(visitor: Editor, source_id: SourceId) -> Response:
        """Run it now; the page of the run shows how it goes."""
        return look.back(f"/runs/{await work.run(visitor, source_id)}")

    @routes.get("/{source_id}/remove")
    async def ask(request: Request, visitor: Admin, source_id: SourceId) -> Response:
        """What removing means, before it is done."""
        source = await app.sources.by_id(source_id)
        return look.page(request, visitor, "sources/remove.html", section="sources", source=source)

    @routes.post("/{source_id}/remove")
    async def remove(visitor: Admin, source_id: SourceId) -> Response:
        await work.remove(visitor, source_id)
        return look.back("/sources", notice="source_removed")


def _add_edit(routes: APIRouter, app: App, look: Look) -> None:
    work = SourceWork(app)

    @routes.get("/{source_id}/edit")
    async def form(request: Request, visitor: Editor, source_id: SourceId) -> Response:
        """Every field, each with what it means."""
        source = await app.sources.by_id(source_id)
        return form_page(app, look, request, visitor, form_values(source), source_id=source_id)

    @routes.post("/{source_id}/edit")
    async def edit(request: Request, visitor: Editor, source_id: SourceId) -> Response:
        """The source as the form has it now, or the form again with what is wrong beside its field."""
        values = read(await request.form())
        try:
            await work.edit(visitor, source_id, values)
        except UsageError as error:
            await app.sources.by_id(source_id)
            return form_page(app, look, request, visitor, values, error, source_id=source_id)
        return look.back(f"/sources/{source_id}", notice="saved")

    @routes.post("/{source_id}/try", dependencies=[STARTS_WORK])
    async def try_changes(request: Request, visitor: Editor, source_id: SourceId) -> Response:
        """What the source would bring with these changes; they are not stored."""
        values = read(await request.form())
        try:
            trial = await app.trials.start(values, visitor.name, source_id=source_id)
        except UsageError as error:
            await app.sources.by_id(source_id)
            return form_page(app, look, request, visitor, values, error, source_id=source_id)
        return look.back(f"/sources/trials/{trial.id}")
