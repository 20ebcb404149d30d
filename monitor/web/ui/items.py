"""The pages of the items: the list with its search, one item, and the saved page behind a statement."""

import datetime as dt
import difflib
import re
from collections.abc import Iterator
from functools import partial
from typing import Annotated, NamedTuple
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Form, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from markupsafe import Markup, escape

from monitor.bootstrap import App
from monitor.briefing.item import get_briefing_messages, list_item_details
from monitor.db.tables.evidence import ClaimKind
from monitor.db.terms import TextQuery, fold_text
from monitor.errors import UsageError
from monitor.exports.registry import ITEM_FORMATS
from monitor.services.evidence import ClaimSchema, ItemProof
from monitor.services.items import MAX_COUNT, ItemPage, parse_text_query
from monitor.vocabulary import ItemType, RankDirection
from monitor.web.api.cursors import build_next_url, decode_cursor, encode_cursor
from monitor.web.api.items import ItemParameters, parse_item_parameters
from monitor.web.auth import Editor, Reader
from monitor.web.middleware import sanitize_redirect_path
from monitor.web.ui.rendering import TemplateRenderer

_TOKEN = re.compile(r"[A-Za-z]+|[0-9.,%]+|\s+|.", re.DOTALL)
_MAX_COMPARED_TOKENS = 1500


class DiffSegment(NamedTuple):
    """A piece of a changed text: it stayed (`same`), stood there before (`gone`) or stands there now (`new`)."""

    kind: str
    text: str


def highlight_matches(text: str, query: TextQuery | None) -> Markup:
    """The text as HTML, with `<mark>` around each place of what was searched for."""
    result, done = Markup(), 0
    for start, end in _iter_match_spans(text, query):
        if start >= done:
            result += escape(text[done:start]) + Markup("<mark>{}</mark>").format(text[start:end])
            done = end
    return result + escape(text[done:])


def diff_words(before: str, after: str) -> list[DiffSegment]:
    """What became of a text, piece by piece; of long ones all that was and all that is."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    if not old or not new or max(len(old), len(new)) > _MAX_COMPARED_TOKENS:
        return [DiffSegment(kind, text) for kind, text in (("gone", before), ("new", after)) if text]
    pieces: list[DiffSegment] = []
    for op, begin, end, first, last in difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        if op == "equal":
            pieces.append(DiffSegment("same", "".join(old[begin:end])))
            continue
        pieces += [DiffSegment("gone", "".join(old[begin:end]))] if end > begin else []
        pieces += [DiffSegment("new", "".join(new[first:last]))] if last > first else []
    return pieces


def _iter_match_spans(text: str, query: TextQuery | None) -> Iterator[tuple[int, int]]:
    plain = fold_text(text)
    found = (match.span() for clause in (query.clauses if query else ()) for match in clause.pattern.finditer(plain))
    yield from sorted(span for span in found if span[1] > span[0])


_CLAIM_ORDER = (
    ClaimKind.SUMMARY,
    ClaimKind.FIGURE,
    ClaimKind.DATE,
    ClaimKind.ATTACHMENT,
    ClaimKind.LIST,
    ClaimKind.PAGE,
)

ItemId = Annotated[int, Path(ge=1, le=2**31 - 1)]


def router(app: App, renderer: TemplateRenderer) -> APIRouter:
    routes = APIRouter()

    @routes.get("/items")
    async def items(request: Request, principal: Reader, cursor: str | None = None) -> HTMLResponse:
        """The list; what cannot be searched for is said above an empty one."""
        asked = parse_item_parameters(request)
        page, trouble, query = ItemPage(items=[]), None, None
        try:
            query = parse_text_query(asked.q) if asked.q.strip() else None
            page = await app.items.list_page(
                asked.to_query(principal.name), principal.name, after=decode_cursor(cursor, dt.date, int)
            )
        except UsageError as error:
            trouble = error.message
        narrowing = _list_active_filters(asked)
        return renderer.render_page(
            request,
            principal,
            "items/list.html",
            section="items",
            asked=asked,
            page=page,
            trouble=trouble,
            marked=partial(highlight_matches, query=query),
            choices=await app.items.get_filter_options(),
            types=list(ItemType),
            formats=ITEM_FORMATS,
            most=MAX_COUNT,
            is_first=cursor is None,
            filters=urlencode(narrowing, doseq=True),
            next_url=build_next_url("/items", narrowing, encode_cursor(*page.after) if page.after else None),
        )

    @routes.get("/items/{item_id}")
    async def item(request: Request, principal: Reader, item_id: ItemId) -> HTMLResponse:
        """One item with all that is known of it."""
        detail = await app.items.get_item(item_id, principal.name, language=principal.language)
        proof = await app.proofs.get_proof(item_id)
        messages = get_briefing_messages(principal.language)
        mine = next((entry.wish for entry in detail.feedback if entry.person == principal.name), None)
        return renderer.render_page(
            request,
            principal,
            "items/item.html",
            section="items",
            item=detail,
            details=list_item_details(detail, messages, ZoneInfo(app.settings.timezone)),
            proof=proof,
            mine=mine,
            problems={record.id: record.problem for record in proof.records},
            compared=diff_words,
            claims=_sort_claims(proof),
        )

    @routes.get("/items/{item_id}/saved")
    async def saved(
        request: Request,
        principal: Reader,
        item_id: ItemId,
        claim: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    ) -> HTMLResponse:
        """The saved page as plain text, with the passage of the claim marked."""
        page = await app.snapshots.get_item_snapshot(item_id, claim)
        return renderer.render_page(request, principal, "items/saved.html", section="items", page=page)

    _add_mark_routes(routes, app, renderer)
    return routes


def _add_mark_routes(routes: APIRouter, app: App, renderer: TemplateRenderer) -> None:
    @routes.post("/items/{item_id}/star")
    async def star(
        principal: Reader, item_id: ItemId, starred: Annotated[bool, Form()], back: Annotated[str, Form()] = ""
    ) -> RedirectResponse:
        """Give or take the principal's star, and go back to where that was done."""
        if starred:
            await app.marks.star(item_id, by=principal.actor)
        else:
            await app.marks.unstar(item_id, by=principal.actor)
        return renderer.redirect(sanitize_redirect_path(back) if back else f"/items/{item_id}")

    @routes.post("/items/{item_id}/notes")
    async def note(principal: Reader, item_id: ItemId, text: Annotated[str, Form()] = "") -> RedirectResponse:
        await app.marks.add_note(item_id, text, by=principal.actor)
        return renderer.redirect(f"/items/{item_id}#notes", notice="note_added")

    @routes.post("/items/{item_id}/notes/{note_id}/remove")
    async def remove_note(
        principal: Reader, item_id: ItemId, note_id: Annotated[int, Path(ge=1, le=2**31 - 1)]
    ) -> RedirectResponse:
        await app.marks.remove_note(item_id, note_id, by=principal.actor)
        return renderer.redirect(f"/items/{item_id}#notes", notice="note_removed")

    @routes.post("/items/{item_id}/feedback")
    async def feedback(principal: Reader, item_id: ItemId, wish: Annotated[str, Form()] = "") -> RedirectResponse:
        """Say where the item should have stood; anything but higher and lower takes that back."""
        if wish in tuple(RankDirection):
            await app.marks.set_feedback(item_id, RankDirection(wish), by=principal.actor)
            return renderer.redirect(f"/items/{item_id}", notice="feedback_kept")
        await app.marks.remove_feedback(item_id, by=principal.actor)
        return renderer.redirect(f"/items/{item_id}", notice="feedback_taken_back")

    @routes.post("/items/{item_id}/hide")
    async def hide(principal: Editor, item_id: ItemId, reason: Annotated[str, Form()] = "") -> RedirectResponse:
        """Leave the item out from now on."""
        await app.marks.hide(item_id, reason, by=principal.actor)
        return renderer.redirect(f"/items/{item_id}", notice="item_hidden")

    @routes.post("/items/{item_id}/show")
    async def show(principal: Editor, item_id: ItemId) -> RedirectResponse:
        await app.marks.unhide(item_id, by=principal.actor)
        return renderer.redirect(f"/items/{item_id}", notice="item_shown")


def _sort_claims(proof: ItemProof) -> list[tuple[int, ClaimSchema]]:
    """The claims with their numbers, in the order in which people ask for them."""
    return sorted(enumerate(proof.claims, start=1), key=lambda claim: _CLAIM_ORDER.index(claim[1].kind))


def _list_active_filters(asked: ItemParameters) -> dict[str, object]:
    """The parameters that narrow, as they stand in an address."""
    plain = asked.model_dump(mode="json")
    usual = ItemParameters().model_dump(mode="json")
    given = {name: value for name, value in plain.items() if value != usual[name]}
    return {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()}
