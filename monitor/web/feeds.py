"""The feeds: what feed readers ask for. They sign in with a token as the password of HTTP Basic."""

import asyncio
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Query, Response
from pydantic import Field

from monitor.bootstrap import App
from monitor.briefing.render import render_items, render_kept
from monitor.web.gate import Reader
from monitor.web.item_query import ItemParameters
from monitor.web.problems import PROBLEMS

ATOM = "application/atom+xml"
_FEED: dict[int | str, dict[str, Any]] = {200: {"content": {ATOM: {}}, "description": "An Atom feed"}}


class FeedParameters(ItemParameters):
    """The parameters of the feed of items."""

    lang: Literal["zh", "en"] | None = Field(None, description="The language of our own words in it")
    limit: int = Field(100, ge=1, le=500)


def router(app: App) -> APIRouter:
    routes = APIRouter(prefix="/feeds", tags=["feeds"], responses=PROBLEMS)

    @routes.get("/items.atom", summary="Items as a feed", response_class=Response, responses=_FEED)
    async def items(visitor: Reader, asked: Annotated[FeedParameters, Query()]) -> Response:
        """The newest items that are meant, filtered as the list is."""
        found = await app.archive.items(asked.query(visitor.name), asked.limit)
        now = app.clock.now().astimezone(ZoneInfo(app.settings.timezone))
        language = asked.lang or visitor.language
        body = await asyncio.to_thread(render_items, found, "atom", language=language, now=now)
        return Response(body, media_type=f"{ATOM}; charset=utf-8")

    @routes.get("/briefings.atom", summary="Saved briefings as a feed", response_class=Response, responses=_FEED)
    async def briefings(
        visitor: Reader,
        lang: Annotated[Literal["zh", "en"] | None, Query()] = None,
        limit: Annotated[int, Query(ge=1, le=50)] = 20,
    ) -> Response:
        """The newest saved briefings, an entry each; those that are archived are left out."""
        kept = await app.drafts.newest(limit)
        body = await asyncio.to_thread(
            render_kept,
            kept,
            language=lang or visitor.language,
            now=app.clock.now(),
            public_url=app.settings.web.public_url,
        )
        return Response(body, media_type=f"{ATOM}; charset=utf-8")

    return routes
