"""Changing the targets of delivery over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from monitor.app.target_editing import TargetChange, TargetForm
from monitor.bootstrap import App
from monitor.errors import NotFound
from monitor.web.gate import Admin
from monitor.web.problems import PROBLEMS

TargetName = Annotated[str, Path(max_length=40, description="Letters, digits, `-`, `_` and `.`.")]


def router(app: App) -> APIRouter:
    routes = APIRouter(prefix="/api/targets", tags=["deliveries"], responses=PROBLEMS)

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
