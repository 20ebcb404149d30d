"""People show which list of a page is a section's: by one or two of its entries, seen before it is kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from monitor.db.tables.collection import Source
from monitor.db.tables.delivery import AlarmKind
from monitor.errors import NotFound, PageUnavailable, UsageError
from monitor.page import Candidate, ExpectedPage, Link, Page, PageHints
from monitor.pages.loader import PageLoader
from monitor.recipe import MAX_RECIPES, SURE_RECIPE_FIT, ListRecipe, SectionRecipe, Teacher
from monitor.services.audit import Actor, AuditAction, AuditedService
from monitor.services.sources.loading import SourceLoaders
from monitor.sweep.reader import find_recipe
from monitor.urls import clean_url, url_key
from monitor.vocabulary import Render, Role, SourceKind

MAX_EXAMPLES = 2
_MAX_LINKS = 1_000


class LikelyList(BaseModel):
    """A list that the page could be read as; teaching its `examples` chooses it. `score` is a probability."""

    score: float
    is_current: bool
    rows: list[Candidate]
    examples: list[str]


class SectionLook(BaseModel):
    """What a section's page shows to whoever teaches it.

    `lists` are the likeliest three, that which is read now first (`is_current`); `links` are the page's links with
    their texts, in page order, the first thousand. `recipe_fit`, from 0 to 1, says how well the recipe fits the page.
    """

    url: str
    title: str
    is_pinned: bool
    recipe: SectionRecipe | None = None
    recipe_fit: float | None = None
    lists: list[LikelyList] = Field(default_factory=list)
    links: list[Link] = Field(default_factory=list)

    @property
    def has_drifted(self) -> bool:
        return self.recipe_fit is not None and self.recipe_fit < SURE_RECIPE_FIT


class TaughtList(BaseModel):
    """What is read of a section from now on, or would be where it `is_saved` not."""

    url: str
    examples: list[str]
    rows: list[Candidate]
    next_page: str | None
    is_pinned: bool
    is_saved: bool


@dataclass(kw_only=True)
class TeachingService(AuditedService):
    source_loaders: SourceLoaders

    async def look(self, source_id: int, section_url: str, *, by: Actor) -> SectionLook:
        """Load a section's page and return the lists and links on it; `PageUnavailable` where it cannot be seen."""
        by.require(Role.EDITOR)
        source, url = await self._find_section(source_id, section_url)
        recipe = find_recipe(source.recipes, url)
        how = recipe.how if recipe is not None and isinstance(recipe.how, ListRecipe) else None
        hints = PageHints(expected=ExpectedPage.LIST, recipe=how, wants_others=True)
        async with self.source_loaders.open(source) as loader:
            page = await _load(loader, source, url, hints)
        return SectionLook(
            url=url,
            title=page.title,
            is_pinned=_is_pinned(source, url),
            recipe=recipe,
            recipe_fit=page.recipe_fit,
            lists=_build_lists(page),
            links=page.links[:_MAX_LINKS],
        )

    async def teach(
        self, source_id: int, section_url: str, examples: Sequence[str], *, by: Actor, save: bool = False
    ) -> TaughtList:
        """Return the list with these one or two entries, and keep it as the section's with `save`.

        A section that is not pinned is taught all the same: it is read so when a run chooses it. `UsageError` for
        examples that the page does not link to, or that stand in no common list.
        """
        by.require(Role.EDITOR)
        source, url = await self._find_section(source_id, section_url)
        wanted = list(dict.fromkeys(_clean_address(example, base=url) for example in examples if example.strip()))
        if not 1 <= len(wanted) <= MAX_EXAMPLES:
            raise UsageError("teaching.example_count", limit=MAX_EXAMPLES)
        hints = PageHints(expected=ExpectedPage.LIST, examples=tuple(wanted))
        async with self.source_loaders.open(source) as loader:
            how = _check_examples(await _load(loader, source, url, hints), wanted)
            # What is shown is what the recipe finds, not what the examples do.
            page = await _load(loader, source, url, PageHints(expected=ExpectedPage.LIST, recipe=how))
        _check_examples(page, wanted)
        if save:
            recipe = SectionRecipe(
                url=url, how=how, taught_by=Teacher.PERSON, taught_at=self.clock.now(), examples=wanted
            )
            await self._save(source_id, recipe, by)
        return TaughtList(
            url=url,
            examples=wanted,
            rows=page.candidates,
            next_page=page.next_page,
            is_pinned=_is_pinned(source, url),
            is_saved=save,
        )

    async def forget(self, source_id: int, section_url: str, *, by: Actor) -> None:
        """Forget how a section is read; `NotFound` where nothing is kept of that."""
        by.require(Role.EDITOR)
        async with self.store.transaction():
            source, url = await self._find_section(source_id, section_url)
            recipe = find_recipe(source.recipes, url)
            if recipe is None:
                raise NotFound("teaching.nothing_kept", url=url)
            await self._store_recipes(source, url, _list_others(source, url))
            await self.record(by, AuditAction.SOURCE_UNTEACH, source.name, before=recipe.model_dump(mode="json"))

    async def _save(self, source_id: int, recipe: SectionRecipe, by: Actor) -> None:
        async with self.store.transaction():
            source, url = await self._find_section(source_id, recipe.url)
            kept = [*_list_others(source, url), recipe.model_dump(mode="json")]
            await self._store_recipes(source, url, kept[-MAX_RECIPES:])
            await self.record(by, AuditAction.SOURCE_TEACH, source.name, section=url, examples=recipe.examples)

    async def _store_recipes(self, source: Source, url: str, recipes: list[dict[str, Any]]) -> None:
        """Store the recipes of a source; the section at `url` begins anew, without a drift, a cadence and a gap."""
        await self.store.sources.update(source.name, recipes=recipes)
        await self.store.sections.forget_list(source.id or 0, url)
        await self.store.alarms.reconcile(
            source.id or 0,
            run_id="",
            findings=[],
            judged_kinds={url_key(url): frozenset({AlarmKind.DRIFT})},
            at=self.clock.now(),
        )

    async def _find_section(self, source_id: int, section_url: str) -> tuple[Source, str]:
        source = await self.store.sources.get_by_id(source_id)
        if source is None:
            raise NotFound("source.no_such_number", number=source_id)
        if source.kind is not SourceKind.SITE:
            raise UsageError("teaching.no_site", source=source.name)
        return source, _clean_address(section_url)


async def _load(loader: PageLoader, source: Source, url: str, hints: PageHints) -> Page:
    page = await loader.load(url, render=source.render or Render.AUTO, hints=hints)
    if page.error is not None:
        raise PageUnavailable("teaching.page_unseen", url=url, reason=page.error.message)
    return page


def _clean_address(url: str, base: str | None = None) -> str:
    cleaned = clean_url(url, base)
    if cleaned is None:
        raise UsageError("source.bad_url", url=url[:200])
    return cleaned


def _check_examples(page: Page, examples: Sequence[str]) -> ListRecipe:
    """Return the recipe of the page's list with the examples; `UsageError` where there is none with all of them."""
    linked = {url_key(link.url) for link in page.links}
    for example in examples:
        if url_key(example) not in linked:
            raise UsageError("teaching.no_such_link", page=page.url, url=example)
    rows = {url_key(row.url) for row in page.candidates}
    rows |= {url_key(attached.url) for row in page.candidates for attached in row.attachments}
    missing = [example for example in examples if url_key(example) not in rows]
    if page.recipe is None or len(missing) == len(examples):
        raise UsageError("teaching.no_row", url=examples[0])
    if missing:
        raise UsageError("teaching.two_lists", url=examples[0], other=examples[1])
    return page.recipe


def _build_lists(page: Page) -> list[LikelyList]:
    lists: list[LikelyList] = []
    seen: set[str] = set()
    for place, found in enumerate(page.lists):
        urls = [row.url for row in found.candidates]
        own = [url for url in urls if url not in seen] or urls
        seen.update(urls)
        is_current = place == 0 and bool(page.candidates)
        lists.append(
            LikelyList(
                score=found.score, is_current=is_current, rows=found.candidates, examples=list(dict.fromkeys(own))[:2]
            )
        )
    return lists


def _is_pinned(source: Source, url: str) -> bool:
    return any(url_key(section["url"]) == url_key(url) for section in source.sections)


def _list_others(source: Source, url: str) -> list[dict[str, Any]]:
    return [recipe for recipe in source.recipes if url_key(recipe["url"]) != url_key(url)]
