"""The pages of briefings: the list, composing with a preview, reading, exporting, putting away."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Path, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import ValidationError

from monitor.bootstrap import App
from monitor.domain.words import ItemType
from monitor.errors import UsageError
from monitor.formats.render import FORMATS
from monitor.web import cursors
from monitor.web.briefing_view import view_of
from monitor.web.composing import Compose, as_parameters, asked_in
from monitor.web.delivery_words import is_under_way, said
from monitor.web.exporting import export_of
from monitor.web.gate import Editor, Reader, Visitor
from monitor.web.rendering import Look
from monitor.web.words import word

PAGE = 50
_COMPLAINTS = {
    "day": "Write a day as 2026-02-03.",
    "days": "Write a whole number from 1 to 366.",
    "top": "Write a whole number from 1 to 200.",
    "keywords": "Write up to 50 words of up to 200 characters.",
}
BriefingId = Annotated[int, Path(ge=1, le=2**31 - 1)]


def router(app: App, look: Look) -> APIRouter:
    """`/briefings` and what lies under it, but for editing and sending (`briefing_edit.py`)."""
    routes = APIRouter()
    _add_list(routes, app, look)
    _add_composing(routes, app, look)
    _add_one(routes, app, look)
    return routes


def _add_list(routes: APIRouter, app: App, look: Look) -> None:
    @routes.get("/briefings")
    async def briefings(
        request: Request, visitor: Reader, state: str = "", cursor: Annotated[str | None, Query()] = None
    ) -> HTMLResponse:
        is_archived = state == "archived"
        key = cursors.decode(cursor, int)
        rows = await app.drafts.list(is_archived=is_archived, before_id=key[0] if key else None, limit=PAGE + 1)
        following = {"state": state, "cursor": cursors.encode(rows[PAGE - 1].id)} if len(rows) > PAGE else None
        return look.page(
            request,
            visitor,
            "briefings/list.html",
            section="briefings",
            rows=rows[:PAGE],
            is_archived=is_archived,
            next_url=f"/briefings?{urlencode(following)}" if following else None,
        )


def _add_composing(routes: APIRouter, app: App, look: Look) -> None:
    async def form(
        request: Request, visitor: Visitor, fields: dict[str, Any], *, errors: dict[str, str], trouble: str = ""
    ) -> HTMLResponse:
        sources = await app.store.sources.list()
        return look.page(
            request,
            visitor,
            "briefings/new.html",
            section="briefings",
            status=400 if errors or trouble else 200,
            fields=fields,
            errors=errors,
            trouble=trouble,
            sources=_pairs(sorted(source.name for source in sources)),
            tags=_pairs(sorted({tag for one in sources for tag in one.tags})),
            types=[(str(one), word(visitor.language, "type", one)) for one in ItemType],
        )

    @routes.get("/briefings/new")
    async def new(request: Request, visitor: Reader) -> HTMLResponse:
        return await form(request, visitor, asked_in(request.query_params, visitor.language), errors={})

    @routes.get("/briefings/now")
    async def now(request: Request, visitor: Reader) -> HTMLResponse:
        """What the form asks for, or a link: composed and shown, and not kept."""
        fields = asked_in(request.query_params, visitor.language)
        try:
            wanted = Compose.model_validate(fields)
            preview = await app.drafts.preview(wanted.query())
        except ValidationError as error:
            return await form(request, visitor, fields, errors=_complaints(error, partial(look.text, visitor)))
        except UsageError as error:
            return await form(request, visitor, fields, errors={}, trouble=str(error))
        parameters = as_parameters(wanted)
        return await asyncio.to_thread(
            lambda: look.page(
                request,
                visitor,
                "briefings/now.html",
                section="briefings",
                key=preview.key,
                parameters=parameters,
                change_url=f"/briefings/new?{urlencode(parameters)}",
                view=view_of(preview.briefing),
            )
        )

    @routes.post("/briefings/new")
    async def save(request: Request, visitor: Editor, key: Annotated[str, Form()]) -> Response:
        given = await request.form()
        fields = asked_in(given, visitor.language)
        try:
            wanted = Compose.model_validate(fields)
            draft = await app.drafts.save(wanted.query(), by=visitor.name, key=key)
        except ValidationError as error:
            return await form(request, visitor, fields, errors=_complaints(error, partial(look.text, visitor)))
        except UsageError as error:
            return await form(request, visitor, fields, errors={}, trouble=str(error))
        return look.back(f"/briefings/{draft.row.id}", notice="briefing_saved")


def _add_one(routes: APIRouter, app: App, look: Look) -> None:
    @routes.get("/briefings/{briefing_id}")
    async def read(request: Request, visitor: Reader, briefing_id: BriefingId) -> HTMLResponse:
        draft = await app.drafts.draft(briefing_id)
        sent = await _sent(app, briefing_id, visitor)
        return await asyncio.to_thread(
            lambda: look.page(
                request,
                visitor,
                "briefings/one.html",
                section="briefings",
                row=draft.row,
                view=view_of(draft.briefing),
                formats=FORMATS,
                targets=_pairs(app.targets.names()),
                **sent,
            )
        )

    @routes.get("/briefings/{briefing_id}/export")
    async def export(
        visitor: Reader, briefing_id: BriefingId, format_name: Annotated[str, Query(alias="format")]
    ) -> Response:
        del visitor
        return await export_of((await app.drafts.draft(briefing_id)).briefing, format_name, app.writing)

    @routes.get("/briefings/{briefing_id}/deliveries")
    async def sent(request: Request, visitor: Reader, briefing_id: BriefingId) -> HTMLResponse:
        """The part of the page that says what was sent, for a page that follows a delivery."""
        draft = await app.drafts.draft(briefing_id)
        told = await _sent(app, briefing_id, visitor)
        return look.page(request, visitor, "deliveries/of_briefing.html", row=draft.row, **told)

    @routes.post("/briefings/{briefing_id}/archive")
    async def archive(visitor: Editor, briefing_id: BriefingId) -> Response:
        await app.drafts.archive(briefing_id, by=visitor.name)
        return look.back("/briefings", notice="briefing_archived")

    @routes.post("/briefings/{briefing_id}/unarchive")
    async def unarchive(visitor: Editor, briefing_id: BriefingId) -> Response:
        await app.drafts.archive(briefing_id, by=visitor.name, is_archived=False)
        return look.back(f"/briefings/{briefing_id}", notice="briefing_unarchived")


async def _sent(app: App, briefing_id: int, visitor: Visitor) -> dict[str, Any]:
    """The deliveries of a briefing, and whether one of them is being made at this moment."""
    deliveries = await app.deliveries.list(saved_id=briefing_id, limit=20)
    return {
        "deliveries": deliveries,
        "is_under_way": is_under_way(deliveries, app.clock.now()),
        "said": lambda told: said(told, visitor.language),
    }


def _pairs(names: list[str]) -> list[tuple[str, str]]:
    """Names as the options of a form."""
    return [(name, name) for name in names]


def _complaints(error: ValidationError, said: Callable[[str], str]) -> dict[str, str]:
    fields = [str(one["loc"][0]) for one in error.errors() if one["loc"]]
    return {field: said(_COMPLAINTS.get(field, "There is no such choice.")) for field in fields}
