"""The pages of policies: the list, and one with its life, its deadlines, and how the draft became final."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Form, Query, Response

from monitor.bootstrap import App
from monitor.db.queries.policies import PolicyDeadlineRow, PolicyFilter
from monitor.db.sessions import sanitize_text
from monitor.errors import UsageError
from monitor.i18n.message import Message
from monitor.isolation.pool import IsolatedWorkFailed
from monitor.policies.calendar import DeadlineEntry
from monitor.services.cursors import decode_cursor, encode_cursor
from monitor.services.deadlines import DeadlineDetail, DeadlineQuery
from monitor.services.items import ItemQuery, ListedItem
from monitor.services.policies import MAX_NAME_CHARS, MAX_POLICY_NOTE_CHARS, PolicyComparison, PolicyFile, PolicyMember
from monitor.vocabulary import PolicyStage
from monitor.web.api.cursors import build_next_url
from monitor.web.api.items import ItemId
from monitor.web.api.policies import PolicyId
from monitor.web.auth import AppDep, Editor, Principal, Reader
from monitor.web.ui.items import diff_words
from monitor.web.ui.rendering import FilterText, FormText, PageRenderer, Renderer

_MAX_FOUND = 10
_BEGINNING = dt.date(1970, 1, 1)
_ComparedItem = Annotated[str, Query(max_length=10)]

router = APIRouter(prefix="/policies")


@dataclass(frozen=True)
class StageReached:
    """A stage that a policy has been in: the day of its first document there, and how many there are."""

    stage: PolicyStage
    day: dt.date | None
    documents: int


def list_stages(members: Sequence[PolicyMember]) -> list[StageReached]:
    """Return the stages that the documents stand for, in the order in which they were reached."""
    reached: dict[PolicyStage, list[PolicyMember]] = {}
    for member in members:
        if member.stage is not None:
            reached.setdefault(member.stage, []).append(member)
    return [StageReached(stage, documents[0].day, len(documents)) for stage, documents in reached.items()]


def group_by_issuer(members: Sequence[PolicyMember]) -> list[tuple[str, list[PolicyMember]]]:
    """Return who issued what: each body with its documents, in the order in which they first appear."""
    issued: dict[str, list[PolicyMember]] = {}
    for member in members:
        for issuer in member.issuers:
            issued.setdefault(issuer, []).append(member)
    return list(issued.items())


def list_outdated(rows: Sequence[PolicyDeadlineRow], entries: Sequence[DeadlineEntry]) -> list[PolicyDeadlineRow]:
    """Return the days that documents of a policy stated and that hold no more: dropped, or set anew by a later one."""
    held = {(entry.kind, entry.day) for entry in entries}
    return [row for row in rows if row.dropped_at is not None or (row.kind, row.day) not in held]


@router.get("")
async def policies(
    app: AppDep,
    renderer: Renderer,
    _: Reader,
    q: FilterText = "",
    stage: FilterText = "",
    source: FilterText = "",
    cursor: Annotated[str | None, Query(max_length=400)] = None,
) -> Response:
    after = decode_cursor(cursor, dt.datetime, int)
    known = PolicyStage(stage) if stage in set(PolicyStage) else None
    text, of_source = sanitize_text(q).strip(), sanitize_text(source).strip()
    wanted = PolicyFilter(
        text=text,
        stages=[known] if known else [],
        source=of_source,
        after=None if after is None else (after[0], after[1]),
    )
    page = await app.policies.list(wanted)
    asked = {"q": text, "stage": known or "", "source": of_source}
    following = encode_cursor(*page.after) if page.after else None
    return renderer.render(
        "policies/list.html",
        policies=page.policies,
        asked=asked,
        is_narrow=any(asked.values()),
        stages=list(PolicyStage),
        sources=await app.store.items.list_source_names(),
        next_url=build_next_url("/policies", asked, following),
    )


@router.post("")
async def start(
    app: AppDep, renderer: Renderer, principal: Editor, item: Annotated[int, Form(ge=1, le=2**31 - 1)]
) -> Response:
    """Begin a policy with an item."""
    file = await app.policies.start(item, by=principal)
    return renderer.redirect(f"/policies/{file.id}", notice="policy_started")


@router.get("/{policy_id}")
async def policy(
    app: AppDep,
    renderer: Renderer,
    principal: Reader,
    policy_id: PolicyId,
    before: _ComparedItem = "",
    after: _ComparedItem = "",
    find: FilterText = "",
) -> Response:
    """Show a policy; `before` and `after` choose what is compared, `find` looks for items to put into it."""
    return await _render_policy(app, renderer, principal, policy_id, pair=(before, after), find=find)


async def _render_policy(
    app: App,
    renderer: PageRenderer,
    principal: Principal,
    policy_id: int,
    *,
    pair: tuple[str, str] = ("", ""),
    find: str = "",
    trouble: UsageError | None = None,
) -> Response:
    file = await app.policies.get(policy_id)
    entries = await app.deadlines.list(DeadlineQuery(since=_BEGINNING, policy=policy_id))
    comparison, unread = await _compare(app, file, *(_parse_member(text, file) for text in pair))
    return renderer.render(
        "policies/show.html",
        status=400 if trouble else 200,
        trouble=trouble.message if trouble else None,
        policy=file,
        stages=list_stages(file.members),
        issued=group_by_issuer(file.members),
        titles={member.id: member for member in file.members},
        entries=entries,
        histories=await _load_histories(app, entries),
        outdated=list_outdated(file.deadlines, entries),
        comparison=comparison,
        unread=unread,
        compared=diff_words,
        fits=await app.topics.list_fits([member.id or 0 for member in file.members]),
        find=find,
        found=await _find_items(app, principal, file, find) if principal.is_editor and find.strip() else [],
        max_name=MAX_NAME_CHARS,
        max_note=MAX_POLICY_NOTE_CHARS,
    )


def _parse_member(text: str, file: PolicyFile) -> int | None:
    """Return the number of a document of the policy; None for anything else."""
    return next((member.id for member in file.members if str(member.id) == text), None)


async def _compare(
    app: App, file: PolicyFile, before: int | None, after: int | None
) -> tuple[PolicyComparison | None, Message | None]:
    """Return how one document became another, or None and, where their texts could not be compared, why."""
    if (before or file.draft) is None or (after or file.final) is None:
        return None, None
    try:
        return await app.policies.compare(file.id, before=before, after=after), None
    except IsolatedWorkFailed as error:
        return None, error.message


async def _load_histories(app: App, entries: Sequence[DeadlineEntry]) -> dict[int, DeadlineDetail]:
    return {entry.id: await app.deadlines.get(entry.id) for entry in entries if entry.moves}


async def _find_items(app: App, principal: Principal, file: PolicyFile, words: str) -> list[ListedItem]:
    """Return items with these words that are not in the policy."""
    inside = {member.id for member in file.members}
    query = ItemQuery(text=sanitize_text(words).strip())
    try:
        page = await app.items.list_page(query, principal.owner, limit=_MAX_FOUND + len(inside), count_total=False)
    except UsageError:  # signs without a word find nothing
        return []
    return [item for item in page.items if item.id not in inside][:_MAX_FOUND]


@router.post("/{policy_id}/name")
async def rename(
    app: AppDep, renderer: Renderer, principal: Editor, policy_id: PolicyId, name: FormText = ""
) -> Response:
    try:
        await app.policies.rename(policy_id, sanitize_text(name), by=principal)
    except UsageError as error:
        return await _render_policy(app, renderer, principal, policy_id, trouble=error)
    return renderer.redirect(f"/policies/{policy_id}", notice="policy_renamed")


@router.post("/{policy_id}/documents")
async def join(
    app: AppDep,
    renderer: Renderer,
    principal: Editor,
    policy_id: PolicyId,
    item: Annotated[int, Form(ge=1, le=2**31 - 1)],
) -> Response:
    await app.policies.join(policy_id, item, by=principal)
    return renderer.redirect(f"/policies/{policy_id}", notice="policy_joined")


@router.post("/{policy_id}/documents/{item_id}/remove")
async def separate(
    app: AppDep, renderer: Renderer, principal: Editor, policy_id: PolicyId, item_id: ItemId
) -> Response:
    """Take an item out; a policy that has no document any more is gone, so that the item is shown instead."""
    file = await app.policies.get(policy_id)
    await app.policies.separate(policy_id, item_id, by=principal)
    is_gone = len(file.members) == 1
    return renderer.redirect(f"/items/{item_id}" if is_gone else f"/policies/{policy_id}", notice="policy_separated")


@router.post("/{policy_id}/notes")
async def note(
    app: AppDep, renderer: Renderer, principal: Reader, policy_id: PolicyId, text: FormText = ""
) -> Response:
    try:
        await app.policies.add_note(policy_id, sanitize_text(text), by=principal)
    except UsageError as error:
        return await _render_policy(app, renderer, principal, policy_id, trouble=error)
    return renderer.redirect(f"/policies/{policy_id}#notes", notice="note_added")
