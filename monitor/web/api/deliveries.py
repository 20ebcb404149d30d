"""The API of deliveries: the log, retrying, targets and tests of them."""

import datetime as dt
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel

from monitor.bootstrap import App
from monitor.services.deliveries import DeliverySchema, TargetChange, TargetForm, TargetSchema
from monitor.web.api.cursors import cut_page, decode_cursor
from monitor.web.auth import Admin, Editor, Reader
from monitor.web.problems import PROBLEM_RESPONSES


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
        _: Reader,
        target: Annotated[str | None, Query(max_length=40)] = None,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        cursor: Annotated[str | None, Query()] = None,
    ) -> DeliveryListSchema:
        """Newest first, what was planned, asked for, raised and tried out; of one target where it is named."""
        before = decode_cursor(cursor, dt.datetime, str)
        rows = await app.deliveries.list(target=target, before=before, limit=limit + 1)
        page, following = cut_page(rows, limit, lambda row: (row.planned_at, row.id))
        return DeliveryListSchema(deliveries=page, next=following)

    @routes.post("/deliveries/{delivery_id}/retry", summary="Try a failed delivery again", status_code=202)
    async def retry(principal: Editor, delivery_id: Annotated[str, Path(max_length=100)]) -> DeliverySchema:
        """The same briefing under the same key; 409 for one that has not failed."""
        return await app.deliveries.retry(delivery_id, wait=False, by=principal.actor)

    @routes.get("/targets", summary="List the delivery targets")
    async def targets(_: Admin) -> TargetListSchema:
        """What goes where, when next, and how the last delivery fared; no secret of an address."""
        return TargetListSchema(targets=await app.targets.list())

    @routes.post("/targets/{name}/test", summary="Send a test to a target")
    async def test(principal: Admin, name: Annotated[str, Path(max_length=40)]) -> DeliverySchema:
        """Sent at once and once; the answer says what became of it."""
        return await app.deliveries.send_test(name, by=principal.actor)

    return routes


TargetName = Annotated[str, Path(max_length=40, description="Letters, digits, `-`, `_` and `.`.")]


def target_router(app: App) -> APIRouter:
    routes = APIRouter(prefix="/api/targets", tags=["deliveries"], responses=PROBLEM_RESPONSES)

    @routes.put("/{name}", summary="Add or change a delivery target")
    async def put(principal: Admin, name: TargetName, target: TargetForm) -> TargetChange:
        """As a whole, but for `url` and `secret`: where they are null, those that it has stay."""
        return await app.target_editing.put(name, target, by=principal.actor)

    @routes.delete("/{name}", status_code=204, summary="Remove a delivery target")
    async def remove(principal: Admin, name: TargetName) -> Response:
        """Nothing goes there any more; the log keeps what did."""
        await app.target_editing.remove(name, by=principal.actor)
        return Response(status_code=204)

    return routes
