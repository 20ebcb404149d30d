"""The pages of briefings and deliveries: composing, editing, exporting and sending, the log, and the targets."""

import asyncio
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request, Response
from pydantic import ValidationError

from monitor.bootstrap import App
from monitor.briefing.compose import Briefing, BriefingItem, drop_gaps
from monitor.briefing.deliver import build_attachment_name, build_subject
from monitor.briefing.layout import build_document
from monitor.config.targets import TargetSettings
from monitor.db.tables.delivery import DeliveryStatus
from monitor.errors import UsageError
from monitor.exports.document import Document, find_numeric_columns
from monitor.exports.registry import BRIEFING_FORMATS
from monitor.i18n.catalogue import get_words, has_message
from monitor.i18n.message import Message
from monitor.i18n.model import describe_validation_error
from monitor.services.briefings import check_sources
from monitor.services.cursors import cut_page, decode_cursor, decode_id
from monitor.services.deliveries import DeliverySchema
from monitor.services.drafts import show_initially
from monitor.web.api.briefings import (
    BriefingId,
    ComposeRequest,
    build_briefing_export,
    build_briefing_query,
    build_query_parameters,
    parse_compose_form,
)
from monitor.web.api.cursors import build_next_url
from monitor.web.api.shares import build_share_schema
from monitor.web.auth import AppDep, Editor, Principal, Reader
from monitor.web.ui.rendering import PageRenderer, Renderer

PAGE_SIZE = 50

router = APIRouter()


def has_delivery_in_progress(deliveries: Sequence[DeliverySchema], now: dt.datetime) -> bool:
    return any(
        delivery.status is DeliveryStatus.QUEUED and delivery.next_try_at is not None and delivery.next_try_at <= now
        for delivery in deliveries
    )


@dataclass(frozen=True)
class BriefingView:
    """A briefing as a document, and its items by their numbers there, which are their ranks."""

    briefing: Briefing
    document: Document
    items: dict[int, BriefingItem]

    numeric_columns = staticmethod(find_numeric_columns)


def build_briefing_view(briefing: Briefing) -> BriefingView:
    items = {item.rank: item for item in briefing.items if item.rank is not None}
    return BriefingView(briefing, build_document(briefing), items)


@router.get("/briefings")
async def briefings(app: AppDep, renderer: Renderer, _: Reader, state: str = "", cursor: str | None = None) -> Response:
    is_archived = state == "archived"
    found = await app.drafts.list(is_archived=is_archived, before_id=decode_id(cursor), limit=PAGE_SIZE + 1)
    rows, following = cut_page(found, PAGE_SIZE, lambda row: row.id)
    return renderer.render(
        "briefings/list.html",
        rows=rows,
        is_archived=is_archived,
        next_url=build_next_url("/briefings", {"state": state}, following),
    )


@router.get("/briefings/new")
async def new(
    app: AppDep, renderer: Renderer, request: Request, _: Reader, profile: str = Query(default="", max_length=10)
) -> Response:
    """Show the form; a link says what is to stand in it, or the number of a client profile."""
    fields = parse_compose_form(request.query_params, renderer.language)
    if profile.isdecimal():
        chosen = await app.client_profiles.get(int(profile))
        fields |= chosen.compose_fields | {"team": await app.teams.get_name(chosen.team_id) or ""}
    return await _render_form(app, renderer, fields, profile_id=profile)


@router.get("/briefings/now")
async def now(app: AppDep, renderer: Renderer, request: Request, principal: Reader) -> Response:
    """Show the briefing that is kept of what the form or a link asks for; looking at it composes nothing."""
    fields = parse_compose_form(request.query_params, renderer.language)
    try:
        wanted = ComposeRequest.model_validate(fields)
        await check_sources(wanted.sources, app.store)
        asked = await build_briefing_query(app, wanted, principal)
    except (ValidationError, UsageError) as error:
        return await _render_form(app, renderer, fields, error)
    kept = await app.kept_briefings.get(asked)
    parameters = build_query_parameters(wanted)
    shown: dict[str, Any] = {
        "kept": kept,
        "parameters": parameters,
        "change_url": f"/briefings/new?{urlencode(parameters)}",
        "here": f"/briefings/now?{urlencode(parameters)}",
    }
    if kept is None or kept.briefing is None:
        return renderer.render("briefings/composing.html", **shown)
    composed = kept.briefing
    return await asyncio.to_thread(
        lambda: renderer.render(
            "briefings/now.html", view=build_briefing_view(show_initially(composed, asked)), **shown
        )
    )


@router.post("/briefings/now")
async def compose(app: AppDep, renderer: Renderer, request: Request, principal: Reader) -> Response:
    """Begin to compose what the form asks for, and go where it will stand."""
    return await _go_to_kept(app, renderer, request, principal, is_again=True)


@router.post("/briefings/open")
async def open_kept(app: AppDep, renderer: Renderer, request: Request, principal: Reader) -> Response:
    """Go to what is kept of what the form asks for; where nothing is kept, or new items came, begin to compose it."""
    return await _go_to_kept(app, renderer, request, principal, is_again=False)


async def _go_to_kept(
    app: App, renderer: PageRenderer, request: Request, principal: Principal, *, is_again: bool
) -> Response:
    fields = parse_compose_form(await request.form(), renderer.language)
    try:
        wanted = ComposeRequest.model_validate(fields)
        await check_sources(wanted.sources, app.store)
        asked = await build_briefing_query(app, wanted, principal)
    except (ValidationError, UsageError) as error:
        return await _render_form(app, renderer, fields, error)
    kept = None if is_again else await app.kept_briefings.get(asked)
    if kept is None or kept.briefing is None or kept.new_items:
        await app.kept_briefings.start(asked)
    return renderer.redirect(f"/briefings/now?{urlencode(build_query_parameters(wanted))}")


@router.post("/briefings/new")
async def save(
    app: AppDep, renderer: Renderer, request: Request, principal: Editor, composed_at: Annotated[dt.datetime, Form()]
) -> Response:
    fields = parse_compose_form(await request.form(), renderer.language)
    try:
        wanted = ComposeRequest.model_validate(fields)
        asked = await build_briefing_query(app, wanted, principal)
        draft = await app.drafts.save(asked, by=principal, composed_at=composed_at)
    except (ValidationError, UsageError) as error:
        return await _render_form(app, renderer, fields, error)
    return renderer.redirect(f"/briefings/{draft.row.id}", notice="briefing_saved")


async def _render_form(
    app: App,
    renderer: PageRenderer,
    fields: dict[str, Any],
    error: ValidationError | UsageError | None = None,
    *,
    profile_id: str = "",
) -> Response:
    profiles = [(str(profile.id), profile.name) for profile in await app.client_profiles.list()]
    return renderer.render(
        "briefings/new.html",
        status=400 if error else 200,
        fields=fields,
        profiles=profiles,
        profile_id=profile_id,
        errors=_list_errors(error) if isinstance(error, ValidationError) else {},
        trouble=error.message if isinstance(error, UsageError) else None,
        **await list_condition_options(app, renderer),
    )


async def list_condition_options(app: App, renderer: PageRenderer) -> dict[str, Any]:
    """Return what a form of conditions offers, as pairs of value and words."""
    sources = await app.store.sources.list_heads()
    return {
        "sources": _build_options(sorted(source.name for source in sources)),
        "tags": _build_options(sorted({tag for source in sources for tag in source.tags})),
        "types": list(get_words(renderer.language, "type").items()),
        "topics": _build_options(await app.store.briefing_facts.list_topics()),
    }


@router.get("/briefings/{briefing_id}")
async def read(
    app: AppDep, renderer: Renderer, principal: Reader, briefing_id: BriefingId, profile: int | None = None
) -> Response:
    """Show a briefing; the targets of a client profile that a link names are ticked for sending."""
    return await render_saved_briefing(app, renderer, briefing_id, by=principal, profile_id=profile)


async def render_saved_briefing(
    app: App,
    renderer: PageRenderer,
    briefing_id: int,
    *,
    by: Principal,
    share_url: str | None = None,
    profile_id: int | None = None,
) -> Response:
    """Render the page of a saved briefing; `share_url` is a link that was just made."""
    draft = await app.drafts.get(briefing_id)
    sent = await _load_deliveries(app, briefing_id, by=by)
    shares = await app.shares.list(briefing_id, by=by) if by.is_editor else []
    targets = await app.targets.list_names()
    profiles = await app.client_profiles.list() if by.is_editor and len(targets) > 1 else []
    return await asyncio.to_thread(
        lambda: renderer.render(
            "briefings/one.html",
            row=draft.row,
            view=build_briefing_view(draft.briefing),
            formats=BRIEFING_FORMATS,
            targets=targets,
            profiles=[profile for profile in profiles if profile.targets],
            ticked={name for profile in profiles if profile.id == profile_id for name in profile.targets},
            shares=[build_share_schema(share, app.clock.now()) for share in shares],
            share_url=share_url,
            **sent,
        )
    )


@router.get("/briefings/{briefing_id}/export")
async def export(
    app: AppDep,
    principal: Reader,
    briefing_id: BriefingId,
    format_name: Annotated[str, Query(alias="format")],
    *,
    gaps: bool = True,
) -> Response:
    return await build_briefing_export(app, briefing_id, format_name, by=principal, include_gaps=gaps)


@router.get("/briefings/{briefing_id}/deliveries")
async def sent(app: AppDep, renderer: Renderer, principal: Reader, briefing_id: BriefingId) -> Response:
    """Render the part of the page that says what was sent; the page asks for it while a delivery is being made."""
    row = await app.drafts.get_row(briefing_id)
    sent = await _load_deliveries(app, briefing_id, by=principal)
    return renderer.render("deliveries/of_briefing.html", row=row, **sent)


@router.post("/briefings/{briefing_id}/archive")
async def archive(app: AppDep, renderer: Renderer, principal: Editor, briefing_id: BriefingId) -> Response:
    await app.drafts.set_archived(briefing_id, by=principal)
    return renderer.redirect("/briefings", notice="briefing_archived")


@router.post("/briefings/{briefing_id}/unarchive")
async def unarchive(app: AppDep, renderer: Renderer, principal: Editor, briefing_id: BriefingId) -> Response:
    await app.drafts.set_archived(briefing_id, by=principal, is_archived=False)
    return renderer.redirect(f"/briefings/{briefing_id}", notice="briefing_unarchived")


async def _load_deliveries(app: App, briefing_id: int, *, by: Principal) -> dict[str, Any]:
    deliveries = await app.deliveries.list(by=by, saved_id=briefing_id, limit=20)
    return {"deliveries": deliveries, "is_under_way": has_delivery_in_progress(deliveries, app.clock.now())}


def _build_options(names: list[str]) -> list[tuple[str, str]]:
    return [(name, name) for name in names]


def _list_errors(error: ValidationError) -> dict[str, Message]:
    """Return what is wrong by field: what to write there, where the form knows it."""
    errors = {}
    for detail in error.errors():
        field = str(detail["loc"][0]) if detail["loc"] else ""
        code = f"briefing_form.{field}"
        errors[field] = Message(code) if has_message("en", code) else describe_validation_error(detail)
    return errors


@dataclass(frozen=True)
class PlannedSending:
    """What a target would get of a briefing: whether it says what could not be seen, and which files."""

    target: TargetSettings
    include_gaps: bool
    files: Sequence[str]


@router.get("/briefings/{briefing_id}/send")
async def preview_sending(
    app: AppDep,
    renderer: Renderer,
    _: Editor,
    briefing_id: BriefingId,
    target: Annotated[list[str] | None, Query()] = None,
    gaps: bool | None = None,
) -> Response:
    """Show what would go to whom, to be tested and confirmed; nothing is sent. `gaps` is for a single target."""
    draft = await app.drafts.get(briefing_id)
    chosen = [await app.deliveries.find_target(name) for name in dict.fromkeys(target or ())]
    if not chosen:
        return renderer.redirect(f"/briefings/{briefing_id}", notice="no_target_chosen")
    sendings = []
    for each in chosen:
        wanted = each.include_gaps if gaps is None or len(chosen) > 1 else gaps
        files = [build_attachment_name(draft.briefing, name) for name in each.formats]
        sendings.append(PlannedSending(each, draft.edit.include_gaps and wanted, files))
    include_gaps = any(sending.include_gaps for sending in sendings)
    briefing = draft.briefing if include_gaps else drop_gaps(draft.briefing)
    return await asyncio.to_thread(
        lambda: renderer.render(
            "briefings/send.html",
            row=draft.row,
            sendings=sendings,
            receivers=[name for each in chosen for name in (each.to + each.bcc or [each.name])],
            include_gaps=include_gaps,
            has_gaps=draft.edit.include_gaps,
            subject=build_subject(briefing),
            view=build_briefing_view(briefing),
        )
    )


@router.post("/briefings/{briefing_id}/send")
async def send(
    app: AppDep,
    renderer: Renderer,
    principal: Editor,
    briefing_id: BriefingId,
    target: Annotated[list[str], Form()],
    test_to: Annotated[str, Form()] = "",
    *,
    include_gaps: Annotated[bool | None, Form()] = None,
    is_test: Annotated[bool, Form()] = False,
) -> Response:
    """Send what the preview showed: to the targets, or as a test to one's own address alone."""
    draft = await app.drafts.get(briefing_id)
    if is_test or len(target) == 1:
        delivery = await app.deliveries.send_saved(
            target[0], draft, by=principal, include_gaps=include_gaps, test_to=test_to.strip() if is_test else None
        )
        return renderer.redirect(f"/briefings/{briefing_id}", notice=get_delivery_notice(delivery.status))
    sent = await app.deliveries.send_saved_to_all(target, draft, by=principal, include_gaps=include_gaps)
    statuses = {delivery.status for delivery in sent}
    notice = "deliveries_mixed" if len(statuses) > 1 else get_delivery_notice(statuses.pop())
    return renderer.redirect(f"/briefings/{briefing_id}", notice=notice)


@router.get("/deliveries")
async def deliveries(
    app: AppDep, renderer: Renderer, request: Request, principal: Reader, target: str = "", cursor: str | None = None
) -> Response:
    before = decode_cursor(cursor, dt.datetime, str)
    found = await app.deliveries.list(by=principal, target=target or None, before=before, limit=PAGE_SIZE + 1)
    rows, following = cut_page(found, PAGE_SIZE, lambda row: (row.planned_at, row.id))
    query = f"?{request.url.query}" if request.url.query else ""
    return renderer.render(
        "deliveries/list.html",
        section="briefings",
        rows=rows,
        target=target,
        targets=[(name, name) for name in await app.targets.list_names()],
        next_url=build_next_url("/deliveries", {"target": target}, following),
        # The page asks for itself again while a delivery is being made.
        follow_url=f"/deliveries{query}" if has_delivery_in_progress(rows, app.clock.now()) else None,
    )


@router.get("/deliveries/{delivery_id}/briefing")
async def show_sent_briefing(app: AppDep, renderer: Renderer, principal: Reader, delivery_id: str) -> Response:
    briefing = await app.deliveries.get_sent_briefing(delivery_id, by=principal)
    return await asyncio.to_thread(
        lambda: renderer.render(
            "deliveries/briefing.html", section="briefings", view=build_briefing_view(briefing), delivery_id=delivery_id
        )
    )


@router.post("/deliveries/{delivery_id}/retry")
async def retry(app: AppDep, renderer: Renderer, principal: Editor, delivery_id: str) -> Response:
    delivery = await app.deliveries.retry(delivery_id, wait=False, by=principal)
    return renderer.redirect("/deliveries", notice=get_delivery_notice(delivery.status))


def get_delivery_notice(status: DeliveryStatus) -> str:
    notices = {DeliveryStatus.SENT: "delivery_sent", DeliveryStatus.FAILED: "delivery_failed"}
    return notices.get(status, "delivery_queued")
