"""Deliveries and targets over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel

from monitor.app.deliveries import DeliveryWire
from monitor.app.targets import TargetWire
from monitor.bootstrap import App
from monitor.web.gate import Admin, Editor, Reader
from monitor.web.pages.deliveries import cursor_of, delivery_cursor
from monitor.web.problems import PROBLEMS


class DeliveryRows(BaseModel):
    """A page of the log; `next` is the cursor with which it goes on."""

    deliveries: list[DeliveryWire]
    next: str | None


class TargetRows(BaseModel):
    """All targets, in the order of the settings."""

    targets: list[TargetWire]


def router(app: App) -> APIRouter:
    routes = APIRouter(prefix="/api", tags=["deliveries"], responses=PROBLEMS)

    @routes.get("/deliveries", summary="List the deliveries")
    async def deliveries(
        visitor: Reader,
        target: Annotated[str | None, Query(max_length=40)] = None,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        cursor: Annotated[str | None, Query()] = None,
    ) -> DeliveryRows:
        """Newest first, what was planned, asked for, raised and tried out; of one target where it is named."""
        del visitor
        rows = await app.deliveries.list(target=target, before=delivery_cursor(cursor), limit=limit + 1)
        last = rows[limit - 1] if len(rows) > limit else None
        return DeliveryRows(deliveries=rows[:limit], next=cursor_of(last.planned_at, last.id) if last else None)

    @routes.post("/deliveries/{delivery_id}/retry", summary="Try a failed delivery again", status_code=202)
    async def retry(visitor: Editor, delivery_id: Annotated[str, Path(max_length=100)]) -> DeliveryWire:
        """The same briefing under the same key; 409 for one that has not failed."""
        delivery = await app.deliveries.retry(delivery_id, is_waiting=False)
        await app.audit.record(visitor.name, "delivery.retry", delivery_id)
        return delivery

    @routes.get("/targets", summary="List the delivery targets")
    async def targets(visitor: Admin) -> TargetRows:
        """What goes where, when next, and how the last delivery fared; no secret of an address."""
        del visitor
        return TargetRows(targets=await app.targets.list())

    @routes.post("/targets/{name}/test", summary="Send a test to a target")
    async def test(visitor: Admin, name: Annotated[str, Path(max_length=40)]) -> DeliveryWire:
        """Sent at once and once; the answer says what became of it."""
        delivery = await app.deliveries.test(name)
        await app.audit.record(visitor.name, "target.test", name, status=str(delivery.status))
        return delivery

    return routes
