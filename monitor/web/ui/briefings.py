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
from monitor.db.tables.delivery import DeliveryStatus
from monitor.errors import UsageError
from monitor.exports.document import Document, find_numeric_columns
from monitor.exports.registry import BRIEFING_FORMATS
from monitor.i18n.catalogue import get_words, has_message
from monitor.i18n.message import Message
from monitor.i18n.model import describe_validation_error
from monitor.services.briefings import check_sources
from monitor.services.deliveries import DeliverySchema
from monitor.services.dispatch import find_target
from monitor.services.drafts import show_initially
from monitor.web.api.briefings import (
    BriefingId,
    ComposeRequest,
    build_query_parameters,
    export_briefing,
    parse_compose_form,
)
from monitor.web.api.cursors import build_next_url, cut_page, decode_cursor, decode_id
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
async def new(app: AppDep, renderer: Renderer, request: Request, _: Reader) -> Response:
    return await _render_form(app, renderer, parse_compose_form(request.query_params, renderer.language))


@router.get("/briefings/now")
async def now(app: AppDep, renderer: Renderer, request: Request, _: Reader) -> Response:
    """Show the briefing that is kept of what the form or a link asks for; looking at it composes nothing."""
    fields = parse_compose_form(request.query_params, renderer.language)
    try:
        wanted = ComposeRequest.model_validate(fields)
        await check_sources(wanted.sources, app.store)
    except (ValidationError, UsageError) as error:
        return await _render_form(app, renderer, fields, error)
    kept = await app.kept_briefings.get(wanted.to_query())
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
            "briefings/now.html", view=build_briefing_view(show_initially(composed, wanted.to_query())), **shown
        )
    )


@router.post("/briefings/now")
async def compose(app: AppDep, renderer: Renderer, request: Request, _: Reader) -> Response:
    """Begin to compose what the form asks for, and go where it will stand."""
    return await _go_to_kept(app, renderer, request, is_again=True)


@router.post("/briefings/open")
async def open_kept(app: AppDep, renderer: Renderer, request: Request, _: Reader) -> Response:
    """Go to what is kept of what the form asks for; where nothing is kept, or new items came, begin to compose it."""
    return await _go_to_kept(app, renderer, request, is_again=False)


async def _go_to_kept(app: App, renderer: PageRenderer, request: Request, *, is_again: bool) -> Response:
    fields = parse_compose_form(await request.form(), renderer.language)
    try:
        wanted = ComposeRequest.model_validate(fields)
        await check_sources(wanted.sources, app.store)
    except (ValidationError, UsageError) as error:
        return await _render_form(app, renderer, fields, error)
    kept = None if is_again else await app.kept_briefings.get(wanted.to_query())
    if kept is None or kept.briefing is None or kept.new_items:
        await app.kept_briefings.start(wanted.to_query())
    return renderer.redirect(f"/briefings/now?{urlencode(build_query_parameters(wanted))}")


@router.post("/briefings/new")
async def save(
    app: AppDep, renderer: Renderer, request: Request, principal: Editor, composed_at: Annotated[dt.datetime, Form()]
) -> Response:
    fields = parse_compose_form(await request.form(), renderer.language)
    try:
        wanted = ComposeRequest.model_validate(fields)
        draft = await app.drafts.save(wanted.to_query(), by=principal, composed_at=composed_at)
    except (ValidationError, UsageError) as error:
        return await _render_form(app, renderer, fields, error)
    return renderer.redirect(f"/briefings/{draft.row.id}", notice="briefing_saved")


async def _render_form(
    app: App, renderer: PageRenderer, fields: dict[str, Any], error: ValidationError | UsageError | None = None
) -> Response:
    sources = await app.store.sources.list_heads()
    return renderer.render(
        "briefings/new.html",
        status=400 if error else 200,
        fields=fields,
        errors=_list_errors(error) if isinstance(error, ValidationError) else {},
        trouble=error.message if isinstance(error, UsageError) else None,
        sources=_build_options(sorted(source.name for source in sources)),
        tags=_build_options(sorted({tag for source in sources for tag in source.tags})),
        types=list(get_words(renderer.language, "type").items()),
        topics=[("", "–"), *_build_options(await app.store.briefing_facts.list_topics())],
    )


@router.get("/briefings/{briefing_id}")
async def read(app: AppDep, renderer: Renderer, principal: Reader, briefing_id: BriefingId) -> Response:
    return await render_saved_briefing(app, renderer, briefing_id, by=principal)


async def render_saved_briefing(
    app: App, renderer: PageRenderer, briefing_id: int, *, by: Principal, share_url: str | None = None
) -> Response:
    """Render the page of a saved briefing; `share_url` is a link that was just made."""
    draft = await app.drafts.get(briefing_id)
    sent = await _load_deliveries(app, briefing_id)
    shares = await app.shares.list(briefing_id, by=by) if by.is_editor else []
    return await asyncio.to_thread(
        lambda: renderer.render(
            "briefings/one.html",
            row=draft.row,
            view=build_briefing_view(draft.briefing),
            formats=BRIEFING_FORMATS,
            targets=app.targets.list_names(),
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
    return await export_briefing(app, briefing_id, format_name, by=principal, include_gaps=gaps)


@router.get("/briefings/{briefing_id}/deliveries")
async def sent(app: AppDep, renderer: Renderer, _: Reader, briefing_id: BriefingId) -> Response:
    """Render the part of the page that says what was sent; the page asks for it while a delivery is being made."""
    draft = await app.drafts.get(briefing_id)
    return renderer.render("deliveries/of_briefing.html", row=draft.row, **await _load_deliveries(app, briefing_id))


@router.post("/briefings/{briefing_id}/archive")
async def archive(app: AppDep, renderer: Renderer, principal: Editor, briefing_id: BriefingId) -> Response:
    await app.drafts.set_archived(briefing_id, by=principal)
    return renderer.redirect("/briefings", notice="briefing_archived")


@router.post("/briefings/{briefing_id}/unarchive")
async def unarchive(app: AppDep, renderer: Renderer, principal: Editor, briefing_id: BriefingId) -> Response:
    await app.drafts.set_archived(briefing_id, by=principal, is_archived=False)
    return renderer.redirect(f"/briefings/{briefing_id}", notice="briefing_unarchived")


async def _load_deliveries(app: App, briefing_id: int) -> dict[str, Any]:
    deliveries = await app.deliveries.list(saved_id=briefing_id, limit=20)
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


@router.get("/briefings/{briefing_id}/send")
async def preview_sending(
    app: AppDep, renderer: Renderer, _: Editor, briefing_id: BriefingId, target: str, gaps: bool | None = None
) -> Response:
    """Show what would go to whom, to be tested and confirmed; nothing is sent."""
    draft = await app.drafts.get(briefing_id)
    chosen = find_target(app.settings, target)
    include_gaps = draft.edit.include_gaps and (chosen.include_gaps if gaps is None else gaps)
    briefing = draft.briefing if include_gaps else drop_gaps(draft.briefing)
    return await asyncio.to_thread(
        lambda: renderer.render(
            "briefings/send.html",
            row=draft.row,
            target=chosen,
            include_gaps=include_gaps,
            has_gaps=draft.edit.include_gaps,
            subject=build_subject(briefing),
            files=[build_attachment_name(briefing, name) for name in chosen.formats],
            view=build_briefing_view(briefing),
        )
    )


@router.post("/briefings/{briefing_id}/send")
async def send(
    app: AppDep,
    renderer: Renderer,
    principal: Editor,
    briefing_id: BriefingId,
    target: Annotated[str, Form()],
    test_to: Annotated[str, Form()] = "",
    *,
    include_gaps: Annotated[bool, Form()] = False,
    is_test: Annotated[bool, Form()] = False,
) -> Response:
    """Send what the preview showed: to the target, or as a test to one's own address alone."""
    draft = await app.drafts.get(briefing_id)
    delivery = await app.deliveries.send_saved(
        target, draft, by=principal, include_gaps=include_gaps, test_to=test_to.strip() if is_test else None
    )
    return renderer.redirect(f"/briefings/{briefing_id}", notice=get_delivery_notice(delivery.status))


@router.get("/deliveries")
async def deliveries(
    app: AppDep, renderer: Renderer, request: Request, _: Reader, target: str = "", cursor: str | None = None
) -> Response:
    before = decode_cursor(cursor, dt.datetime, str)
    found = await app.deliveries.list(target=target or None, before=before, limit=PAGE_SIZE + 1)
    rows, following = cut_page(found, PAGE_SIZE, lambda row: (row.planned_at, row.id))
    query = f"?{request.url.query}" if request.url.query else ""
    return renderer.render(
        "deliveries/list.html",
        section="briefings",
        rows=rows,
        target=target,
        targets=[(name, name) for name in app.targets.list_names()],
        next_url=build_next_url("/deliveries", {"target": target}, following),
        # The page asks for itself again while a delivery is being made.
        follow_url=f"/deliveries{query}" if has_delivery_in_progress(rows, app.clock.now()) else None,
    )


@router.get("/deliveries/{delivery_id}/briefing")
async def show_sent_briefing(app: AppDep, renderer: Renderer, _: Reader, delivery_id: str) -> Response:
    briefing = await app.deliveries.get_sent_briefing(delivery_id)
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
