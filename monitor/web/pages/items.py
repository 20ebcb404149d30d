"""The pages of the items: the list with its search, one item, and the saved page behind a statement."""

from functools import partial
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from monitor.app.archive import query_of
from monitor.app.items import MOST_COUNTED, ItemPage
from monitor.app.proof import ClaimWire, Proof
from monitor.bootstrap import App
from monitor.domain.evidence import ClaimKind
from monitor.domain.words import ItemType, RankWish
from monitor.errors import UsageError
from monitor.web.api.items import cursor_of, position_of
from monitor.web.gate import Editor, Reader
from monitor.web.item_query import ItemParameters, parameters_of
from monitor.web.marking import compared, marked
from monitor.web.rendering import Look
from monitor.web.whereabouts import own_address

_FORMATS = ("csv", "xlsx", "json", "jsonl", "atom")
_ASKED_FIRST = (
    ClaimKind.SUMMARY,
    ClaimKind.FIGURE,
    ClaimKind.DATE,
    ClaimKind.ATTACHMENT,
    ClaimKind.LIST,
    ClaimKind.PAGE,
)
ItemId = Annotated[int, Path(ge=1, le=2**31 - 1)]


def router(app: App, look: Look) -> APIRouter:
    routes = APIRouter()

    @routes.get("/items")
    async def items(request: Request, visitor: Reader, cursor: str | None = None) -> HTMLResponse:
        """The list; what cannot be searched for is said above an empty one."""
        asked = parameters_of(request)
        page, trouble, query = ItemPage(items=[]), "", None
        try:
            query = query_of(asked.q) if asked.q.strip() else None
            page = await app.items.page(asked.query(visitor.name), visitor.name, after=position_of(cursor))
        except UsageError as error:
            trouble = str(error)
        narrowing = _narrowing(asked)
        following = {**narrowing, "cursor": cursor_of(page.after)}
        return look.page(
            request,
            visitor,
            "items/list.html",
            section="items",
            asked=asked,
            page=page,
            trouble=trouble,
            marked=partial(marked, query=query),
            choices=await app.items.choices(),
            types=list(ItemType),
            formats=_FORMATS,
            most=MOST_COUNTED,
            is_first=cursor is None,
            filters=urlencode(narrowing, doseq=True),
            next_url=f"/items?{urlencode(following, doseq=True)}" if page.after else None,
        )

    @routes.get("/items/{item_id}")
    async def item(request: Request, visitor: Reader, item_id: ItemId) -> HTMLResponse:
        """One item with all that is known of it."""
        detail = await app.items.item(item_id, visitor.name, language=visitor.language)
        proof = await app.proofs.of_item(item_id)
        mine = next((one.wish for one in detail.feedback if one.person == visitor.name), None)
        return look.page(
            request,
            visitor,
            "items/item.html",
            section="items",
            item=detail,
            proof=proof,
            mine=mine,
            problems={record.id: record.problem for record in proof.records},
            compared=compared,
            claims=_in_order(proof),
        )

    @routes.get("/items/{item_id}/saved")
    async def saved(
        request: Request,
        visitor: Reader,
        item_id: ItemId,
        claim: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    ) -> HTMLResponse:
        """The saved page as plain text, with the passage of the claim marked."""
        page = await app.saved_pages.page(item_id, claim)
        return look.page(request, visitor, "items/saved.html", section="items", page=page)

    _mark_routes(routes, app, look)
    return routes


def _mark_routes(routes: APIRouter, app: App, look: Look) -> None:
    @routes.post("/items/{item_id}/star")
    async def star(
        visitor: Reader, item_id: ItemId, starred: Annotated[bool, Form()], back: Annotated[str, Form()] = ""
    ) -> RedirectResponse:
        """Give or take the visitor's star, and go back to where that was done."""
        if starred:
            await app.marks.star(visitor.name, item_id)
        else:
            await app.marks.unstar(visitor.name, item_id)
        return look.back(own_address(back) if back else f"/items/{item_id}")

    @routes.post("/items/{item_id}/notes")
    async def note(visitor: Reader, item_id: ItemId, text: Annotated[str, Form()] = "") -> RedirectResponse:
        await app.marks.note(visitor.name, item_id, text)
        return look.back(f"/items/{item_id}#notes", notice="note_added")

    @routes.post("/items/{item_id}/notes/{note_id}/remove")
    async def remove_note(
        visitor: Reader, item_id: ItemId, note_id: Annotated[int, Path(ge=1, le=2**31 - 1)]
    ) -> RedirectResponse:
        await app.marks.remove_note(visitor.name, item_id, note_id)
        return look.back(f"/items/{item_id}#notes", notice="note_removed")

    @routes.post("/items/{item_id}/feedback")
    async def feedback(visitor: Reader, item_id: ItemId, wish: Annotated[str, Form()] = "") -> RedirectResponse:
        """Say where the item should have stood; anything but higher and lower takes that back."""
        if wish in tuple(RankWish):
            await app.marks.say(visitor.name, item_id, RankWish(wish))
            return look.back(f"/items/{item_id}", notice="feedback_kept")
        await app.marks.unsay(visitor.name, item_id)
        return look.back(f"/items/{item_id}", notice="feedback_taken_back")

    @routes.post("/items/{item_id}/hide")
    async def hide(visitor: Editor, item_id: ItemId, reason: Annotated[str, Form()] = "") -> RedirectResponse:
        """Leave the item out from now on."""
        await app.marks.hide(visitor.name, item_id, reason)
        return look.back(f"/items/{item_id}", notice="item_hidden")

    @routes.post("/items/{item_id}/show")
    async def show(visitor: Editor, item_id: ItemId) -> RedirectResponse:
        await app.marks.show(visitor.name, item_id)
        return look.back(f"/items/{item_id}", notice="item_shown")


def _in_order(proof: Proof) -> list[tuple[int, ClaimWire]]:
    """The claims with their numbers, in the order in which people ask for them."""
    return sorted(enumerate(proof.claims, start=1), key=lambda claim: _ASKED_FIRST.index(claim[1].kind))


def _narrowing(asked: ItemParameters) -> dict[str, object]:
    """The parameters that narrow, as they stand in an address."""
    plain = asked.model_dump(mode="json")
    usual = ItemParameters().model_dump(mode="json")
    told = {name: value for name, value in plain.items() if value != usual[name]}
    return {name: str(value).lower() if isinstance(value, bool) else value for name, value in told.items()}
