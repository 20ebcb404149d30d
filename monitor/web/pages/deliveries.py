"""The pages of deliveries: the log, what was sent, and the targets with a test."""

import asyncio
import datetime as dt
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse

from monitor.bootstrap import App
from monitor.domain.deliveries import DeliveryStatus
from monitor.store.sessions import storable
from monitor.web import cursors
from monitor.web.briefing_view import view_of
from monitor.web.delivery_words import is_under_way, said
from monitor.web.gate import Admin, Editor, Reader
from monitor.web.problems import Problem
from monitor.web.rendering import Look

PAGE = 50


def router(app: App, look: Look) -> APIRouter:
    routes = APIRouter()

    @routes.get("/deliveries")
    async def deliveries(
        request: Request, visitor: Reader, target: str = "", cursor: Annotated[str | None, Query()] = None
    ) -> HTMLResponse:
        rows = await app.deliveries.list(target=target or None, before=delivery_cursor(cursor), limit=PAGE + 1)
        last = rows[PAGE - 1] if len(rows) > PAGE else None
        following = urlencode({"target": target, "cursor": cursor_of(last.planned_at, last.id)}) if last else None
        return look.page(
            request,
            visitor,
            "deliveries/list.html",
            section="briefings",
            rows=rows[:PAGE],
            target=target,
            targets=[(name, name) for name in app.targets.names()],
            next_url=f"/deliveries?{following}" if following else None,
            said=lambda told: said(told, visitor.language),
            follow_url=_follow_url(request) if is_under_way(rows, app.clock.now()) else None,
        )

    @routes.get("/deliveries/{delivery_id}/briefing")
    async def sent(request: Request, visitor: Reader, delivery_id: str) -> HTMLResponse:
        briefing = await app.deliveries.sent(delivery_id)
        return await asyncio.to_thread(
            lambda: look.page(
                request,
                visitor,
                "deliveries/briefing.html",
                section="briefings",
                view=view_of(briefing),
                delivery_id=delivery_id,
            )
        )

    @routes.post("/deliveries/{delivery_id}/retry")
    async def retry(visitor: Editor, delivery_id: str) -> Response:
        delivery = await app.deliveries.retry(delivery_id, is_waiting=False)
        await app.audit.record(visitor.name, "delivery.retry", delivery_id)
        return look.back("/deliveries", notice=_notice_of(delivery.status))

    @routes.get("/settings/targets")
    async def targets(request: Request, visitor: Admin) -> HTMLResponse:
        return look.page(
            request,
            visitor,
            "deliveries/targets.html",
            section="settings",
            rows=await app.targets.list(),
            said=lambda told: said(told, visitor.language),
        )

    @routes.post("/settings/targets/{name}/test")
    async def test(visitor: Admin, name: str) -> Response:
        delivery = await app.deliveries.test(name)
        await app.audit.record(visitor.name, "target.test", name, status=str(delivery.status))
        is_sent = delivery.status is DeliveryStatus.SENT
        return look.back("/settings/targets", notice="test_sent" if is_sent else "test_failed")

    return routes


def _follow_url(request: Request) -> str:
    """The list itself, which a page asks for again while a delivery is being made."""
    return "/deliveries" + (f"?{request.url.query}" if request.url.query else "")


def delivery_cursor(cursor: str | None) -> tuple[dt.datetime, str] | None:
    """The planned time and the id of the last delivery that was seen."""
    key = cursors.decode(cursor, str, str)
    if key is None:
        return None
    try:
        at = dt.datetime.fromisoformat(key[0]).astimezone(dt.UTC)
    except (ValueError, OverflowError):
        raise Problem(400, "The cursor is none of ours: begin the list without one.") from None
    return at, storable(key[1])


def cursor_of(planned_at: dt.datetime, delivery_id: str) -> str:
    return cursors.encode(planned_at.isoformat(), delivery_id)


def _notice_of(status: DeliveryStatus) -> str:
    return {DeliveryStatus.SENT: "delivery_sent", DeliveryStatus.FAILED: "delivery_failed"}.get(
        status, "delivery_queued"
    )
