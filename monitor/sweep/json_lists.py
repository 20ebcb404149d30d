"""Sections whose list comes as JSON: read from there at each run, and from the page where that fails."""

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from monitor.db.tables.collection import Source
from monitor.fetch.result import FetchResult
from monitor.i18n.message import Message
from monitor.isolation.pool import IsolatedWorkFailed, WorkerPool
from monitor.page import NO_HINTS, Page, PageError, PageErrorCode, PageHints
from monitor.pages.data import read_json_result
from monitor.pages.loader import PageLoader
from monitor.pages.parsing import PageTask
from monitor.recipe import JsonRecipe, SectionRecipe
from monitor.urls import url_key
from monitor.vocabulary import Render


def find_json_recipes(source: Source) -> dict[str, JsonRecipe]:
    """Return the recipes of a source's lists in JSON, by the key of the section's url."""
    found = {}
    for written in source.recipes:
        try:
            recipe = SectionRecipe.model_validate(written)
        except ValidationError:  # stored by another version
            continue
        if isinstance(recipe.how, JsonRecipe):
            found[url_key(recipe.url)] = recipe.how
    return found


class JsonListLoader:
    """A `PageLoader` that reads sections with a `JsonRecipe` as JSON, and leaves the rest to the loader beneath.

    Where the JSON fails or holds no list any more, the section's page is loaded and `notes` say so. A later page of the
    JSON that fails is an error.
    """

    def __init__(
        self, loader: PageLoader, recipes: Mapping[str, JsonRecipe], *, workers: WorkerPool, timezone: str | None
    ) -> None:
        self._loader = loader
        self._recipes = recipes
        self._workers = workers
        self._zone: dt.tzinfo = ZoneInfo(timezone) if timezone else dt.UTC
        self._next_pages: dict[str, tuple[str, JsonRecipe]] = {}
        self._notes: dict[str, Message] = {}

    async def load(
        self, url: str, *, render: Render = Render.AUTO, task: PageTask | None = None, hints: PageHints = NO_HINTS
    ) -> Page:
        if url in self._next_pages:
            return await self._read(url, url, *self._next_pages[url])
        recipe = self._recipes.get(url_key(url))
        if recipe is None:
            return await self._loader.load(url, render=render, task=task, hints=hints)
        page = await self._read(recipe.url, url, url, recipe)
        if page.error is None:
            return page
        self._notes[url] = Message.of("cause.json_list_unread", url=recipe.url, reason=page.error.message)
        return await self._loader.load(url, render=render, task=task, hints=hints)

    async def _read(self, data_url: str, url: str, section_url: str, recipe: JsonRecipe) -> Page:
        """Return the page of the list at `data_url` as that of `url`; addresses in it are relative to the section."""
        result = await self._loader.fetch_data(data_url)
        page = Page(
            url=url,
            final_url=url,
            status=result.status,
            content_type=result.content_type,
            fetched_at=result.at,
            record=result.record,
            error=result.error,
        )
        if page.error is not None:
            return page
        try:
            page.candidates, page.next_page = await self._workers.run(
                read_json_result, result, recipe, section_url, self._zone
            )
        except (ValueError, IsolatedWorkFailed) as error:
            reason = error.message if isinstance(error, IsolatedWorkFailed) else Message("page.no_json_list")
            page.error = PageError(code=PageErrorCode.PARSE, message=reason)
            return page
        if not page.candidates and data_url == recipe.url:
            page.error = PageError(code=PageErrorCode.PARSE, message=Message("page.no_json_list"))
        if page.next_page is not None:
            self._next_pages[page.next_page] = (section_url, recipe)
        return page

    async def download(self, url: str, folder: Path) -> Path:
        return await self._loader.download(url, folder)

    async def fetch_data(self, url: str) -> FetchResult:
        return await self._loader.fetch_data(url)

    def list_sitemaps(self, url: str) -> list[str]:
        return self._loader.list_sitemaps(url)

    def can_render(self) -> bool:
        return self._loader.can_render()

    def notes(self) -> Mapping[str, Message]:
        return {**self._loader.notes(), **self._notes}
