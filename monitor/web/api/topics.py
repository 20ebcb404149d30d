"""The topics over HTTP: what clients and teams care about, who follows them, and what fits them."""

import datetime as dt
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from monitor.db.queries.topics import ItemTopic
from monitor.services.cursors import cut_list, decode_cursor, encode_cursor
from monitor.services.topic_form import TopicForm, TopicPatch, TopicSchema
from monitor.services.topics import TopicFollowing, TopicItemSchema
from monitor.vocabulary import RankDirection
from monitor.web.api.cursors import DEFAULT_LONG_LIMIT, Cursor, Limit
from monitor.web.auth import AppDep, Editor, Principal, Reader
from monitor.web.middleware import Problem
from monitor.web.problems import PROBLEM_RESPONSES

TopicId = Annotated[int, Path(ge=1, le=2**31 - 1, description="The number of a topic", examples=[3])]

router = APIRouter(prefix="/api/v1/topics", tags=["topics"], responses=PROBLEM_RESPONSES)


class TopicListSchema(BaseModel):
    """Topics by name, and the cursor with which the list goes on."""

    topics: list[TopicSchema]
    next: str | None


class TopicItemListSchema(BaseModel):
    """Items that fit a topic, newest first, and the cursor with which the list goes on."""

    items: list[TopicItemSchema]
    next: str | None


class TopicFeedbackRequest(BaseModel, extra="forbid"):
    """Whether the item is one of the topic (`higher`) or not (`lower`); null takes back what was said."""

    item: int = Field(ge=1, le=2**31 - 1, description="The number of an item", examples=[7])
    wish: RankDirection | None = Field(examples=["lower"])


class TopicFeedbackSchema(BaseModel):
    """How the item fits the topic now; null where it does not."""

    fit: ItemTopic | None


@router.get("", summary="List the topics")
async def list_topics(
    app: AppDep, principal: Reader, limit: Limit = DEFAULT_LONG_LIMIT, cursor: Cursor = None
) -> TopicListSchema:
    """Each with who follows it, how many items fit it, and the key of your own calendar of it."""
    found = await app.topics.list(by=principal)
    page, following = cut_list(found, limit, cursor, lambda topic: (topic.name, topic.id), str, int)
    return TopicListSchema(topics=page, next=following)


@router.post("", status_code=201, summary="Add a topic")
async def create_topic(app: AppDep, principal: Editor, wanted: TopicForm) -> TopicSchema:
    """The items of the last 90 days are judged for it by its words."""
    return await app.topics.create(wanted, by=principal)


@router.get("/{topic_id}", summary="Show a topic")
async def get_topic(app: AppDep, principal: Reader, topic_id: TopicId) -> TopicSchema:
    """With who follows it, how many items fit it, and the key of your own calendar of it."""
    return await app.topics.get(topic_id, by=principal)


@router.patch("/{topic_id}", summary="Change a topic")
async def update_topic(app: AppDep, principal: Editor, topic_id: TopicId, wanted: TopicPatch) -> TopicSchema:
    """Where what it looks for has changed, the items of the last 90 days are judged again."""
    return await app.topics.update(topic_id, wanted, by=principal)


@router.delete("/{topic_id}", status_code=204, summary="Remove a topic")
async def delete_topic(app: AppDep, principal: Editor, topic_id: TopicId) -> None:
    """Its followers and what was said of its items go with it; the items stay."""
    await app.topics.remove(topic_id, by=principal)


@router.get("/{topic_id}/items", summary="List what fits a topic")
async def list_topic_items(
    app: AppDep, _: Reader, topic_id: TopicId, limit: Limit = 50, cursor: Cursor = None
) -> TopicItemListSchema:
    """Newest first, each with the reason and the words that show it."""
    after = decode_cursor(cursor, dt.date, int)
    page = await app.topics.list_items(topic_id, limit=limit, after=after)
    return TopicItemListSchema(items=page.items, next=encode_cursor(*page.after) if page.after else None)


@router.put("/{topic_id}/follow", summary="Follow a topic")
async def follow_topic(app: AppDep, principal: Reader, topic_id: TopicId) -> TopicFollowing:
    """Answers the key of your calendar of its deadlines; keep it to yourself."""
    _require_person(principal)
    return await app.topics.follow(topic_id, by=principal)


@router.delete("/{topic_id}/follow", status_code=204, summary="Follow a topic no longer")
async def unfollow_topic(app: AppDep, principal: Reader, topic_id: TopicId) -> None:
    """The calendar with your key ends."""
    _require_person(principal)
    await app.topics.unfollow(topic_id, by=principal)


@router.put("/{topic_id}/feedback", summary="Say whether an item is one of a topic")
async def set_topic_feedback(
    app: AppDep, principal: Reader, topic_id: TopicId, given: TopicFeedbackRequest
) -> TopicFeedbackSchema:
    """It holds at once, and moves the weights of the words that were found in the item."""
    return TopicFeedbackSchema(fit=await app.topics.mark(topic_id, given.item, given.wish, by=principal))


def _require_person(principal: Principal) -> None:
    """A token follows for the person who made it; one of the command line is nobody's."""
    if principal.session_id is None and not principal.on_behalf_of:
        raise Problem(403, "token.no_account")
