"""The page of the search box: what was found, by type, and the reader's recent and saved queries."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Response

from monitor.db.sessions import sanitize_text
from monitor.db.terms import TextQuery
from monitor.errors import UsageError
from monitor.services.global_search import DEFAULT_FOUND, MAX_FOUND, FoundGroup, FoundType
from monitor.services.items import parse_text_query
from monitor.services.marks import MAX_VIEW_NAME_CHARS
from monitor.web.auth import AppDep, Reader
from monitor.web.ui.items import highlight_matches
from monitor.web.ui.rendering import FilterText, FormText, Renderer

_LISTS = frozenset({FoundType.ITEMS, FoundType.POLICIES, FoundType.SOURCES, FoundType.RESEARCH})
"""The types whose own page takes a query."""

router = APIRouter(prefix="/search")


@router.get("")
async def search(
    app: AppDep,
    renderer: Renderer,
    principal: Reader,
    q: FilterText = "",
    type: Annotated[str, Query(max_length=20)] = "",  # noqa: A002 -- as the API calls it
) -> Response:
    """Show what was found, or without a query the reader's recent ones; a person's query is remembered."""
    text = sanitize_text(q).strip()
    only = FoundType(type) if type in set(FoundType) else None
    query, groups, trouble = TextQuery(), [], None
    if text:
        try:
            query = parse_text_query(text)
            types, limit = ([only], MAX_FOUND) if only else ([], DEFAULT_FOUND)
            groups = await app.global_search.find(text, by=principal, types=types, limit=limit)
        except UsageError as error:
            trouble = error.message
        else:
            if principal.session_id is not None:
                await app.global_search.remember(text, by=principal)
    views = await app.marks.list_views(by=principal)
    return renderer.render(
        "search/show.html",
        asked=text,
        only=only,
        groups=[(group, _build_list_url(group, text, only)) for group in groups],
        trouble=trouble,
        marked=lambda shown: highlight_matches(shown, query),
        recent=[] if text else await app.global_search.list_recent(by=principal),
        views=[] if text else [(view.name, f"/items?{urlencode(view.filters, doseq=True)}") for view in views],
        view_name=text[:MAX_VIEW_NAME_CHARS],
        view_filters=urlencode({"q": text}),
        is_saved=any(view.filters == {"q": text} for view in views),
    )


@router.post("/recent/remove")
async def forget(app: AppDep, renderer: Renderer, principal: Reader, query: FormText = "") -> Response:
    """Forget one recent query, or all of them where none is named."""
    await app.global_search.forget(query or None, by=principal)
    return renderer.redirect("/search")


def _build_list_url(group: FoundGroup, text: str, only: FoundType | None) -> str | None:
    """Return where all of a type are listed; None where they all are on the page."""
    if group.total is not None and group.total <= len(group.entries):
        return None
    if group.type in _LISTS:
        return f"/{group.type}?{urlencode({'q': text})}"
    return f"/search?{urlencode({'q': text, 'type': group.type})}" if only is None else None
