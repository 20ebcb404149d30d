"""The pages of the items: the inbox with its views and its search, one item, and the saved page behind a statement."""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, NamedTuple
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Form, Request, Response
from markupsafe import Markup, escape
from pydantic import Field
from starlette.datastructures import QueryParams

from monitor.bootstrap import App
from monitor.briefing.item import describe_statements, get_briefing_messages, list_item_details
from monitor.db.queries.delivery import BriefingRow
from monitor.db.queries.policies import PolicyFilter
from monitor.db.sessions import sanitize_text
from monitor.db.tables.evidence import ClaimKind
from monitor.db.terms import TextQuery, fold_text
from monitor.errors import UsageError
from monitor.exports.registry import ITEM_FORMATS
from monitor.i18n.catalogue import get_word
from monitor.services.audit import AuditAction
from monitor.services.cursors import encode_cursor
from monitor.services.evidence import ClaimSchema
from monitor.services.items import MAX_COUNT, ItemPage, parse_text_query
from monitor.services.marks import MAX_MARKED_ITEMS
from monitor.vocabulary import ItemType, MarkAction, PolicyStage, RankDirection, Visibility
from monitor.web.api.cursors import build_next_url
from monitor.web.api.items import ClaimNumber, ItemId, ItemParameters, NoteId, parse_item_parameters, parse_view
from monitor.web.auth import AppDep, Editor, Principal, Reader, record_token_read
from monitor.web.middleware import Problem, sanitize_redirect_path
from monitor.web.ui.rendering import DiffSegment, FilterText, FormFlag, FormText, Renderer, diff_tokens

_TOKEN = re.compile(r"[A-Za-z]+|[0-9.,%]+|\s+|.", re.DOTALL)
_MAX_COMPARED_TOKENS = 1500
_MAX_FOUND_POLICIES = 10
_MAX_DRAFTS = 8
_FormInt = Annotated[int, Field(ge=1, le=2**31 - 1)]
_FormNumber = Annotated[int, Form(ge=1, le=2**31 - 1)]
_CLAIM_ORDER = (
    ClaimKind.SUMMARY,
    ClaimKind.FIGURE,
    ClaimKind.DATE,
    ClaimKind.ATTACHMENT,
    ClaimKind.LIST,
    ClaimKind.PAGE,
)

router = APIRouter()


def highlight_matches(text: str, query: TextQuery | None) -> Markup:
    """Return the text as HTML, with `<mark>` around what was searched for."""
    plain, clauses = fold_text(text), query.clauses if query else ()
    result, done = Markup(), 0
    for start, end in sorted(match.span() for clause in clauses for match in clause.pattern.finditer(plain)):
        if end > start >= done:
            result += escape(text[done:start]) + Markup("<mark>{}</mark>").format(text[start:end])
            done = end
    return result + escape(text[done:])


class SummaryPart(NamedTuple):
    """A piece of a summary; a sentence that was judged has its claim, with the number by which evidence names it."""

    text: str
    number: int | None = None
    claim: ClaimSchema | None = None


def split_summary(summary: str, claims: Sequence[ClaimSchema]) -> list[SummaryPart]:
    """Return the summary sentence by sentence, where these were judged; an empty list where none was."""
    parts, done = [], 0
    for number, claim in enumerate(claims, start=1):
        at = summary.find(claim.claim, done) if claim.kind is ClaimKind.SUMMARY and claim.verdict else -1
        if at >= 0:
            parts += [SummaryPart(summary[done:at].strip()), SummaryPart(claim.claim, number, claim)]
            done = at + len(claim.claim)
    return [part for part in (*parts, SummaryPart(summary[done:].strip())) if part.text] if parts else []


def diff_words(before: str, after: str) -> list[DiffSegment]:
    """Return what changed in a text; a long text is replaced as a whole."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    if not old or not new or max(len(old), len(new)) > _MAX_COMPARED_TOKENS:
        return [DiffSegment(kind, text) for kind, text in (("gone", before), ("new", after)) if text]
    return diff_tokens(old, new)


@router.get("/items")
async def items(
    app: AppDep, renderer: Renderer, request: Request, principal: Reader, cursor: str | None = None
) -> Response:
    """List items; a search that cannot be understood is explained above an empty list."""
    asked = parse_item_parameters(request.query_params)
    page, trouble, query = ItemPage(items=[]), None, None
    try:
        query = parse_text_query(asked.q) if asked.q.strip() else None
        page = await app.items.list_page(
            asked.to_query(principal.owner), principal.owner, after=asked.decode_cursor(cursor)
        )
    except UsageError as error:
        trouble = error.message
    narrowing = asked.list_active()
    return renderer.render(
        "items/list.html",
        asked=asked,
        page=page,
        all_topics=await app.store.topics.list(),
        views=await _count_views(app, principal, asked, page.total),
        trouble=trouble,
        marked=partial(highlight_matches, query=query),
        choices=await app.items.get_filter_options(),
        types=list(ItemType),
        stages=list(PolicyStage),
        formats=ITEM_FORMATS,
        most=MAX_COUNT,
        is_first=cursor is None,
        drafts=await list_open_briefings(app, principal),
        words=lambda kind, values: [(value, get_word(renderer.language, kind, value)) for value in values],
        filters=urlencode(narrowing, doseq=True),
        next_url=build_next_url("/items", narrowing, encode_cursor(*page.after) if page.after else None),
    )


class ViewLink(NamedTuple):
    """A view above the list: one of ours (its name is a code) or a saved one, and its number of items up to 1,000."""

    name: str
    address: str
    total: int
    is_current: bool
    is_saved: bool = False


_OWN_VIEWS = {"all": ItemParameters(), "unread": ItemParameters(unread=True), "later": ItemParameters(later=True)}
_OWN_VIEWS["starred"] = ItemParameters(starred=True)


async def _count_views(
    app: App, principal: Principal, asked: ItemParameters, asked_total: int | None
) -> list[ViewLink]:
    """Return the views with their totals; the one that is asked for is counted already where it is shown from top."""
    saved = [(view.name, view.filters) for view in await app.marks.list_views(by=principal)]
    known = [(name, parse_view(filters)) for name, filters in saved]
    links: list[ViewLink] = []
    for name, view in [*_OWN_VIEWS.items(), *((name, view) for name, view in known if view is not None)]:
        total = asked_total if view == asked else None
        if total is None:
            total = await app.items.count(view.to_query(principal.owner), cap=MAX_COUNT)
        address = _build_address(view.list_active())
        links.append(ViewLink(name, address, total, view == asked, is_saved=len(links) >= len(_OWN_VIEWS)))
    return links


async def list_open_briefings(app: App, principal: Principal) -> list[BriefingRow]:
    """Return the newest saved briefings, into which an editor can put items."""
    return await app.drafts.list(limit=_MAX_DRAFTS) if principal.is_editor else []


@router.post("/items/views")
async def save_view(
    app: AppDep, renderer: Renderer, principal: Reader, name: FormText = "", filters: FormText = ""
) -> Response:
    """Keep the filters of the list, as they stand in its address, under a name."""
    asked = parse_item_parameters(QueryParams(filters))
    await app.marks.save_view(name, asked.model_dump(mode="json", exclude_defaults=True), by=principal)
    return renderer.redirect(_build_address(asked.list_active()), notice="view_saved")


@router.post("/items/views/remove")
async def remove_view(app: AppDep, renderer: Renderer, principal: Reader, name: FormText = "") -> Response:
    await app.marks.remove_view(name, by=principal)
    return renderer.redirect("/items", notice="view_removed")


@router.post("/items/read-all")
async def read_all(
    app: AppDep, renderer: Renderer, principal: Reader, until: Annotated[dt.datetime, Form()], back: FormText = ""
) -> Response:
    await app.marks.mark_all_read(until, by=principal)
    return renderer.redirect(sanitize_redirect_path(back), notice="all_read")


@router.post("/items/marks")
async def mark(
    app: AppDep,
    renderer: Renderer,
    principal: Reader,
    do: FormText,
    items: Annotated[list[_FormInt], Form(max_length=MAX_MARKED_ITEMS)] = [],  # noqa: B006  FastAPI copies it
    briefing: Annotated[int, Form(ge=0, le=2**31 - 1)] = 0,
    reason: FormText = "",
    back: FormText = "",
) -> Response:
    """Do something with the items that are ticked, or with the one whose button was pressed (`star-7`)."""
    action, _, number = do.partition("-")
    chosen = [int(number)] if number.isascii() and number.isdigit() and len(number) < 10 else items
    target = sanitize_redirect_path(back) if back else "/items"
    if not chosen:
        return renderer.redirect(target, notice="nothing_ticked")
    if action == "collect":
        draft_id = briefing or (await app.drafts.start(language=renderer.language, by=principal)).row.id
        await app.drafts.add_items(draft_id, chosen, by=principal)
        return renderer.redirect(target, notice="items_collected")
    if action not in tuple(MarkAction):
        raise Problem(400, "item.unknown_action", action=action)
    await app.marks.mark(MarkAction(action), chosen, by=principal, reason=reason)
    return renderer.redirect(target, notice="items_marked")


@router.get("/items/{item_id}")
async def item(
    app: AppDep, renderer: Renderer, principal: Reader, item_id: ItemId, policy: FilterText = "", *, pane: bool = False
) -> Response:
    """Show an item, as a `pane` without the frame of a page; `policy` are words of one that an editor looks for."""
    detail = await app.items.get_item(item_id, principal.owner, language=principal.language)
    proof = await app.proofs.get_proof(item_id)
    await record_token_read(app, principal, AuditAction.EVIDENCE_READ, str(item_id))
    messages = get_briefing_messages(principal.language)
    sentences = split_summary(detail.summary, proof.claims)
    shown = {part.number for part in sentences}
    words = sanitize_text(policy).strip() if principal.is_editor else ""
    mine = next((entry.wish for entry in detail.feedback if entry.person == principal.owner), None)
    return renderer.render(
        "items/item.html",
        frame="pane.html" if pane else "base.html",
        item=detail,
        fits=detail.topics,
        all_topics=await app.store.topics.list(),
        deadlines=await app.store.deadlines.list_of_item(item_id),
        drafts=await list_open_briefings(app, principal),
        find=words,
        found=(await app.policies.list(PolicyFilter(text=words), limit=_MAX_FOUND_POLICIES)).policies if words else [],
        details=list_item_details(detail, messages, ZoneInfo(app.settings.timezone)),
        proof=proof,
        mine=mine,
        problems={record.id: record.problem for record in proof.records},
        compared=diff_words,
        sentences=sentences,
        counts=describe_statements(detail.statements) if detail.statements else None,
        claims=sorted(
            (claim for claim in enumerate(proof.claims, start=1) if claim[0] not in shown),
            key=lambda claim: _CLAIM_ORDER.index(claim[1].kind),
        ),
    )


@router.get("/items/{item_id}/saved")
async def saved(
    app: AppDep, renderer: Renderer, principal: Reader, item_id: ItemId, claim: ClaimNumber = None
) -> Response:
    page = await app.snapshots.get_item_snapshot(item_id, claim)
    await record_token_read(app, principal, AuditAction.EVIDENCE_READ, str(item_id))
    return renderer.render("items/saved.html", page=page)


@router.post("/items/{item_id}/notes")
async def note(
    app: AppDep,
    renderer: Renderer,
    principal: Reader,
    item_id: ItemId,
    text: FormText = "",
    is_private: FormFlag = False,
    team: FormText = "",
) -> Response:
    visibility = Visibility.PRIVATE if is_private else Visibility.OPEN
    team_id = await app.teams.resolve(team, principal)
    await app.marks.add_note(item_id, text, visibility=visibility, team_id=team_id, by=principal)
    return renderer.redirect(f"/items/{item_id}#notes", notice="note_added")


@router.post("/items/{item_id}/notes/{note_id}/remove")
async def remove_note(app: AppDep, renderer: Renderer, principal: Reader, item_id: ItemId, note_id: NoteId) -> Response:
    await app.marks.remove_note(item_id, note_id, by=principal)
    return renderer.redirect(f"/items/{item_id}#notes", notice="note_removed")


@router.post("/items/{item_id}/feedback")
async def feedback(
    app: AppDep, renderer: Renderer, principal: Reader, item_id: ItemId, wish: FormText = ""
) -> Response:
    """Say where the item should have stood; anything but higher and lower takes that back."""
    if wish in tuple(RankDirection):
        await app.marks.set_feedback(item_id, RankDirection(wish), by=principal)
        return renderer.redirect(f"/items/{item_id}", notice="feedback_kept")
    await app.marks.remove_feedback(item_id, by=principal)
    return renderer.redirect(f"/items/{item_id}", notice="feedback_taken_back")


@router.post("/items/{item_id}/topics")
async def add_topic(
    app: AppDep, renderer: Renderer, principal: Reader, item_id: ItemId, topic: _FormNumber
) -> Response:
    """Say that the item is one of a topic that it was not found to fit."""
    await app.topics.mark(topic, item_id, RankDirection.HIGHER, by=principal)
    return renderer.redirect(f"/items/{item_id}#topics", notice="topic_marked")


@router.post("/items/{item_id}/policy")
async def add_to_policy(
    app: AppDep,
    renderer: Renderer,
    principal: Editor,
    item_id: ItemId,
    policy: Annotated[int, Form(ge=1, le=2**31 - 1)],
) -> Response:
    await app.policies.join(policy, item_id, by=principal)
    return renderer.redirect(f"/items/{item_id}#policy", notice="policy_joined")


def _build_address(filters: Mapping[str, object]) -> str:
    return f"/items?{urlencode(filters, doseq=True)}" if filters else "/items"
