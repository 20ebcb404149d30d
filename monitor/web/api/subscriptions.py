"""Subscriptions over HTTP: one's own, and for administrators those of everybody."""

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel

from monitor.services.subscriptions import SubscriptionForm, SubscriptionSchema
from monitor.web.api.people import require_session
from monitor.web.auth import Admin, AppDep, Reader
from monitor.web.problems import PROBLEM_RESPONSES

SubscriptionId = Annotated[int, Path(ge=1, le=2**31 - 1, description="The number of a subscription.")]

router = APIRouter(prefix="/api/v1", tags=["deliveries"], responses=PROBLEM_RESPONSES)


class SubscriptionListSchema(BaseModel):
    """Those that have not ended, newest first; the list is whole, so `next` is null."""

    subscriptions: list[SubscriptionSchema]
    next: None = None


@router.get("/me/subscriptions", summary="List my subscriptions")
async def list_my_subscriptions(app: AppDep, principal: Reader) -> SubscriptionListSchema:
    """The briefings that you get by mail, and how the last delivery of each stands."""
    require_session(principal)
    return SubscriptionListSchema(subscriptions=await app.subscriptions.list(by=principal))


@router.post("/me/subscriptions", summary="Subscribe to a briefing by mail", status_code=201)
async def create_subscription(app: AppDep, principal: Reader, wanted: SubscriptionForm) -> SubscriptionSchema:
    """A mail with a link goes to the address; nothing else does before that link is confirmed, within seven days.

    409 for too many subscriptions, 400 where no target is open for them.
    """
    require_session(principal)
    return await app.subscriptions.subscribe(wanted, by=principal)


@router.delete("/me/subscriptions/{subscription_id}", summary="End a subscription of mine", status_code=204)
async def end_my_subscription(app: AppDep, principal: Reader, subscription_id: SubscriptionId) -> None:
    """What is under way is not sent any more."""
    require_session(principal)
    await app.subscriptions.end(subscription_id, by=principal)


@router.get("/subscriptions", summary="List the subscriptions of everybody")
async def list_subscriptions(app: AppDep, principal: Admin) -> SubscriptionListSchema:
    """Who gets which briefings by mail, and how the last delivery of each stands."""
    return SubscriptionListSchema(subscriptions=await app.subscriptions.list(by=principal, everybody=True))


@router.delete("/subscriptions/{subscription_id}", summary="End anybody's subscription", status_code=204)
async def end_subscription(app: AppDep, principal: Admin, subscription_id: SubscriptionId) -> None:
    """What is under way is not sent any more."""
    await app.subscriptions.end(subscription_id, by=principal)
