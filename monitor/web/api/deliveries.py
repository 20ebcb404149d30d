"""Deliveries and targets over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel

from monitor.bootstrap import App
from monitor.errors import NotFound
from monitor.services.deliveries import DeliverySchema, TargetChange, TargetForm, TargetSchema
from monitor.web.auth import Admin, Editor, Reader
from monitor.web.problems import PROBLEM_RESPONSES
from monitor.web.ui.deliveries import decode_delivery_cursor, encode_delivery_cursor


class DeliveryListSchema(BaseModel):
    """A page of the log; `next` is the cursor with which it goes on."""

    deliveries: list[DeliverySchema]
    next: str | None


class TargetListSchema(BaseModel):
    """All targets, in the order of the settings."""

    targets: list[TargetSchema]


def router(app: App) -> APIRouter:
    routes = APIRouter(prefix="/api", tags=["deliveries"], responses=PROBLEM_RESPONSES)

    @routes.get("/deliveries", summary="List the deliveries")
    async def deliveries(
        visitor: Reader,
        target: Annotated[str | None, Query(max_length=40)] = None,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        cursor: Annotated[str | None, Query()] = None,
    ) -> DeliveryListSchema:
        """Newest first, what was planned, asked for, raised and tried out; of one target where it is named."""
        del visitor
        rows = await app.deliveries.list(target=target, before=decode_delivery_cursor(cursor), limit=limit + 1)
        last = rows[limit - 1] if len(rows) > limit else None
        return DeliveryListSchema(
            deliveries=rows[:limit], next=encode_delivery_cursor(last.planned_at, last.id) if last else None
        )

    @routes.post("/deliveries/{delivery_id}/retry", summary="Try a failed delivery again", status_code=202)
    async def retry(visitor: Editor, delivery_id: Annotated[str, Path(max_length=100)]) -> DeliverySchema:
        """The same briefing under the same key; 409 for one that has not failed."""
        delivery = await app.deliveries.retry(delivery_id, wait=False)
        await app.audit.record(visitor.name, "delivery.retry", delivery_id)
        return delivery

    @routes.get("/targets", summary="List the delivery targets")
    async def targets(visitor: Admin) -> TargetListSchema:
        """What goes where, when next, and how the last delivery fared; no secret of an address."""
        del visitor
        return TargetListSchema(targets=await app.targets.list())

    @routes.post("/targets/{name}/test", summary="Send a test to a target")
    async def test(visitor: Admin, name: Annotated[str, Path(max_length=40)]) -> DeliverySchema:
        """Sent at once and once; the answer says what became of it."""
        delivery = await app.deliveries.send_test(name)
        await app.audit.record(visitor.name, "target.test", name, status=str(delivery.status))
        return delivery

    return routes


TargetName = Annotated[str, Path(max_length=40, description="Letters, digits, `-`, `_` and `.`.")]


def target_router(app: App) -> APIRouter:
    routes = APIRouter(prefix="/api/targets", tags=["deliveries"], responses=PROBLEM_RESPONSES)

    @routes.put("/{name}", summary="Add or change a delivery target")
    async def put(visitor: Admin, name: TargetName, target: TargetForm) -> TargetChange:
        """As a whole, but for `url` and `secret`: where they are null, those that it has stay."""
        try:
            app.target_editing.get(name)
        except NotFound:
            change, action = await app.target_editing.add(name, target, by=visitor.name), "target.add"
        else:
            change, action = await app.target_editing.edit(name, target, by=visitor.name), "target.edit"
        await app.audit.record(visitor.name, action, name, before=change.before, after=change.after)
        return change

    @routes.delete("/{name}", status_code=204, summary="Remove a delivery target")
    async def remove(visitor: Admin, name: TargetName) -> Response:
        """Nothing goes there any more; the log keeps what did."""
        change = await app.target_editing.remove(name, by=visitor.name)
        await app.audit.record(visitor.name, "target.remove", name, before=change.before)
        return Response(status_code=204)

    return routes
