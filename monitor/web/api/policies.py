"""Policies over HTTP: the list, one with its documents, and what people put right."""

import datetime as dt
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from monitor.db.queries.policies import PolicyFilter, PolicyRow
from monitor.db.sessions import sanitize_text
from monitor.services.cursors import decode_cursor, encode_cursor
from monitor.services.policies import (
    MAX_NAME_CHARS,
    MAX_POLICY_NOTE_CHARS,
    PolicyComparison,
    PolicyFile,
    PolicyNoteSchema,
)
from monitor.vocabulary import PolicyStage
from monitor.web.api.cursors import Cursor, Limit
from monitor.web.api.items import ItemId
from monitor.web.auth import AppDep, Editor, Reader
from monitor.web.problems import PROBLEM_RESPONSES

PolicyId = Annotated[int, Path(ge=1, le=2**31 - 1, description="The number of a policy", examples=[3])]
_ItemNumber = Annotated[int, Field(ge=1, le=2**31 - 1, examples=[7])]
_ComparedItem = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="The number of one of its documents")]

router = APIRouter(prefix="/api/v1/policies", tags=["policies"], responses=PROBLEM_RESPONSES)

_EXAMPLE: dict[str, Any] = {
    "id": 3,
    "name": "新型储能容量补偿管理办法",
    "stage": "final",
    "stage_on": "2026-04-02",
    "documents": 4,
    "next_deadline": "2026-07-01",
    "created_at": "2026-02-03T08:00:00Z",
    "updated_at": "2026-04-03T08:00:00Z",
}


class PolicyListSchema(BaseModel, json_schema_extra={"examples": [{"policies": [_EXAMPLE], "next": None}]}):
    """A piece of the list, those that changed last first; `next` is the cursor with which it goes on."""

    policies: list[PolicyRow]
    next: str | None


class PolicyStartRequest(BaseModel, extra="forbid"):
    """The item that a policy begins with; without a name it is called after it."""

    item: _ItemNumber
    name: str = Field("", max_length=MAX_NAME_CHARS)


class PolicyJoinRequest(BaseModel, extra="forbid"):
    item: _ItemNumber


class PolicyRenameRequest(BaseModel, extra="forbid"):
    name: str = Field(min_length=1, max_length=MAX_NAME_CHARS, examples=["新型储能容量补偿"])


class PolicyNoteRequest(BaseModel, extra="forbid"):
    text: str = Field(min_length=1, max_length=MAX_POLICY_NOTE_CHARS, examples=["客户的两个项目在补偿范围内。"])


@router.get("", summary="List policies")
async def list_policies(
    app: AppDep,
    _: Reader,
    q: Annotated[str, Query(max_length=200, description="Stands in the name")] = "",
    stage: Annotated[list[PolicyStage], Query(max_length=20)] = [],  # noqa: B006 -- read, never changed
    source: Annotated[str, Query(max_length=200, description="One of its documents is of this source")] = "",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> PolicyListSchema:
    """The policies that are meant; where nothing is given, all."""
    after = decode_cursor(cursor, dt.datetime, int)
    wanted = PolicyFilter(
        text=sanitize_text(q).strip(),
        stages=stage,
        source=sanitize_text(source).strip(),
        after=None if after is None else (after[0], after[1]),
    )
    page = await app.policies.list(wanted, limit=limit)
    return PolicyListSchema(policies=page.policies, next=encode_cursor(*page.after) if page.after else None)


@router.post("", status_code=201, summary="Begin a policy")
async def create_policy(app: AppDep, principal: Editor, given: PolicyStartRequest) -> PolicyFile:
    """A policy with this item as its first document; an item that is in one already is refused."""
    return await app.policies.start(given.item, sanitize_text(given.name), by=principal)


@router.get("/{policy_id}", summary="Show a policy")
async def get_policy(app: AppDep, _: Reader, policy_id: PolicyId) -> PolicyFile:
    """The policy with its documents and why each belongs to it, its deadlines, penalties and notes."""
    return await app.policies.get(policy_id)


@router.patch("/{policy_id}", summary="Rename a policy")
async def rename_policy(app: AppDep, principal: Editor, policy_id: PolicyId, given: PolicyRenameRequest) -> PolicyFile:
    """The name stays when documents join it."""
    return await app.policies.rename(policy_id, sanitize_text(given.name), by=principal)


@router.get("/{policy_id}/comparison", summary="Compare two documents of a policy")
async def compare_policy_documents(
    app: AppDep, _: Reader, policy_id: PolicyId, before: _ComparedItem = None, after: _ComparedItem = None
) -> PolicyComparison:
    """How one text became another, article by article; without numbers the last draft and the first final document."""
    return await app.policies.compare(policy_id, before=before, after=after)


@router.post("/{policy_id}/documents", summary="Put an item into a policy")
async def add_policy_document(
    app: AppDep, principal: Editor, policy_id: PolicyId, given: PolicyJoinRequest
) -> PolicyFile:
    """No rule takes it out again. An item of another policy is in both."""
    return await app.policies.join(policy_id, given.item, by=principal)


@router.delete("/{policy_id}/documents/{item_id}", status_code=204, summary="Take an item out of a policy")
async def remove_policy_document(app: AppDep, principal: Editor, policy_id: PolicyId, item_id: ItemId) -> None:
    """No rule puts it back. A policy that has no document any more is gone."""
    await app.policies.separate(policy_id, item_id, by=principal)


@router.post("/{policy_id}/notes", status_code=201, summary="Write a note on a policy")
async def add_policy_note(
    app: AppDep, principal: Reader, policy_id: PolicyId, given: PolicyNoteRequest
) -> PolicyNoteSchema:
    """A note for everybody to read."""
    return await app.policies.add_note(policy_id, sanitize_text(given.text), by=principal)
