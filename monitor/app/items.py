"""The use cases of looking at items: a page of the list, one item with all that is known of it, its kin."""

import asyncio
import datetime as dt
import re
from collections.abc import Iterator, Sequence

from pydantic import BaseModel, Field

from monitor.app.archive import Archive, ItemQuery, WholeItem, query_of, scope_of
from monitor.app.marks import FeedbackWire, HiddenWire, NoteWire
from monitor.briefing.compose import Place
from monitor.briefing.grouping import Group, group
from monitor.briefing.wire import ItemWire, item_wire
from monitor.domain.marks import Wish
from monitor.domain.tables import Item
from monitor.domain.terms import TextQuery
from monitor.domain.words import RankWish
from monitor.errors import NotFound
from monitor.ranking import lifts_of
from monitor.search.archive_search import snippet_of
from monitor.store import Store
from monitor.store.filters import ItemFilter
from monitor.store.fulltext import Scope

MOST_COUNTED = 1000
_MOST_SNIPPET = 200
_NEAR = 20
_TITLE_CHARS = 160
_LEAST_TITLE = 6
_NAMED = re.compile(r"《([^《》]{6,120})》")
_QUOTES = re.compile('["“”„‟＂]')

Position = tuple[dt.date, int]
"""Where a list goes on: the day and the number of the last item."""


class ListedItem(ItemWire):
    """An item in a list. `snippet` is what stands around the words that were searched for, else the summary's start.

    `moved`: feedback changed its place when its run was ranked.
    """

    snippet: str = ""
    moved: RankWish | None = None
    starred: bool = False
    hidden: bool = False
    notes: int = 0


class ItemPage(BaseModel):
    """A piece of a list, newest first. `total` is counted up to 1,000, None where counting would take too long.

    `after` is where the list goes on, None where it ends.
    """

    items: list[ListedItem]
    total: int | None = None
    after: Position | None = None


class ItemDetail(WholeItem):
    """One item with what people say of it, and the items that are the same document or explain it.

    `feedback` is what was said of its own rank, `like_feedback` the newest word of each person on items like it, which
    counts where there is none of its own; `lift` is where that moves it in the next ranking, None for nowhere.
    """

    moved: RankWish | None = None
    starred: bool = False
    hidden: HiddenWire | None = None
    notes: list[NoteWire] = Field(default_factory=list)
    feedback: list[FeedbackWire] = Field(default_factory=list)
    like_feedback: list[FeedbackWire] = Field(default_factory=list)
    lift: RankWish | None = None
    copies: list[Place] = Field(default_factory=list)
    interpretations: list[Place] = Field(default_factory=list)
    explains: list[Place] = Field(default_factory=list)


class Choices(BaseModel):
    """The sources of items by name, the tags of sources, and the languages of items, to choose from."""

    sources: list[str]
    tags: list[str]
    languages: list[str]


class Kin(BaseModel):
    """Other places of an item's document, what explains it, and what it explains."""

    copies: list[Place] = Field(default_factory=list)
    interpretations: list[Place] = Field(default_factory=list)
    explains: list[Place] = Field(default_factory=list)


class ItemDesk:
    def __init__(self, *, store: Store, archive: Archive) -> None:
        self._store = store
        self._archive = archive

    async def page(
        self, wanted: ItemQuery, person: str, *, limit: int = 50, after: Position | None = None, is_counted: bool = True
    ) -> ItemPage:
        """The items that are meant, newest first, from `after` on; the texts of their pages are not loaded.

        `UsageError` for a source that never was, days reversed, or a text without a word.
        """
        scope = await scope_of(wanted, self._store)
        query = query_of(wanted.text) if wanted.text.strip() else None
        total = await self._total(scope, query) if is_counted and after is None else None
        onward = Scope(items=scope.items.model_copy(update={"after": after}), site=scope.site)
        if query is None:
            items = await self._store.items.list(onward.items, limit=limit + 1)
            snippets = {item.id: _beginning(item.summary) for item in items}
        else:
            matches = await self._store.fulltext.find(query, onward, limit=limit + 1)
            items = [match.item for match in matches]
            snippets = {match.item.id: snippet_of(match.body, query) for match in matches}
        shown = items[:limit]
        last = shown[-1] if len(items) > limit else None
        return ItemPage(
            items=await self._listed(shown, snippets, person),
            total=total,
            after=None if last is None else (last.day, last.id or 0),
        )

    async def item(self, item_id: int, person: str, *, language: str = "en") -> ItemDetail:
        """One item, whole; its changes are told in the language. `NotFound` where there is none of that number."""
        whole = await self._archive.item(item_id, language=language)
        item = await self._item(item_id)
        marks = self._store.marks
        wishes = await marks.wishes([item])
        own, like = _told_apart(item, wishes)
        hidden = (await marks.hidden([item_id])).get(item_id)
        lift = lifts_of([item], wishes)[0]
        return ItemDetail(
            **whole.model_dump(),
            moved=item.moved,
            starred=item_id in await marks.starred(person, [item_id]),
            hidden=None if hidden is None else HiddenWire.model_validate(hidden, from_attributes=True),
            notes=[NoteWire.model_validate(note, from_attributes=True) for note in await marks.notes(item_id)],
            feedback=own,
            like_feedback=like,
            lift=None if not lift else RankWish.HIGHER if lift > 0 else RankWish.LOWER,
            **(await self._kin(item)).model_dump(),
        )

    async def choices(self) -> Choices:
        """What the filters of a list offer."""
        items = self._store.items
        return Choices(
            sources=sorted(await items.words("source")),
            tags=sorted(await self._store.sources.tags()),
            languages=sorted({_tongue(word) for word in await items.words("language")}),
        )

    async def _item(self, item_id: int) -> Item:
        item = await self._store.items.get(item_id)
        if item is None:
            raise NotFound(f"There is no item {item_id}.")
        return item

    async def _total(self, scope: Scope, query: TextQuery | None) -> int | None:
        if query is not None:
            return await self._store.fulltext.count(query, scope, cap=MOST_COUNTED)
        return await self._store.items.count(scope.items, cap=MOST_COUNTED)

    async def _listed(self, items: Sequence[Item], snippets: dict[int | None, str], person: str) -> list[ListedItem]:
        ids = [item.id or 0 for item in items]
        marks = await self._store.marks.on_items(person, ids)
        return [
            ListedItem(
                **item_wire(item).model_dump(),
                snippet=snippets.get(item.id, ""),
                moved=item.moved,
                starred=item.id in marks.starred,
                hidden=item.id in marks.hidden,
                notes=marks.notes.get(item.id or 0, 0),
            )
            for item in items
        ]

    async def _kin(self, item: Item) -> Kin:
        """The items near to this one that grouping, as briefings do it, says are its kin.

        Near are those with its document number, and those with its title, or one that it names, in theirs: the newest
        20 of each. The same document under another title and number is found by a briefing only.
        """
        near: dict[int | None, Item] = {item.id: item}
        if item.document_number:
            numbered = ItemFilter(document_number=item.document_number, is_hidden=None)
            near |= {one.id: one for one in await self._store.items.list(numbered, limit=_NEAR)}
        scope = Scope(items=ItemFilter(is_hidden=None))
        for query in _titles(item.title):
            matches = await self._store.fulltext.find(query, scope, limit=_NEAR, is_in_title=True)
            near |= {match.item.id: match.item for match in matches}
        if len(near) == 1:
            return Kin()
        texts = await self._store.items.texts([number for number in near if number is not None])
        groups = await asyncio.to_thread(group, list(near.values()), texts)
        return next((kin for one in groups if (kin := _kin_in(one, item)) is not None), Kin())


def _titles(title: str) -> Iterator[TextQuery]:
    for words in (title, *_NAMED.findall(title)):
        plain = _QUOTES.sub(" ", words)[:_TITLE_CHARS].strip()
        query = TextQuery.parse(f'"{plain}"')
        if len(plain) >= _LEAST_TITLE and query.clauses:
            yield query


def _kin_in(found: Group, item: Item, above: Group | None = None) -> Kin | None:
    """The kin of an item in a group or in what explains it; None where it is not there."""
    if any(one.id == item.id for one in found.items):
        return Kin(
            copies=_places(one for one in found.items if one.id != item.id),
            interpretations=_places(one for reading in found.interpretations for one in reading.items),
            explains=[] if above is None else _places(above.items[:1]),
        )
    kins = (_kin_in(reading, item, found) for reading in found.interpretations)
    return next((kin for kin in kins if kin is not None), None)


def _places(items: Iterator[Item] | Sequence[Item]) -> list[Place]:
    return [Place.model_validate(item, from_attributes=True) for item in items]


def _told_apart(item: Item, wishes: Sequence[Wish]) -> tuple[list[FeedbackWire], list[FeedbackWire]]:
    """What was said of the item, and the newest word of each person on those that are like it."""
    own = [_feedback(wish) for wish in wishes if wish.item_id == item.id]
    alike = [one for one in wishes if one.item_id != item.id and lifts_of([item], [one])[0]]
    return own, [_feedback(one) for one in {one.person: one for one in alike}.values()]


def _feedback(wish: Wish) -> FeedbackWire:
    return FeedbackWire(item=wish.item_id, person=wish.person, wish=wish.wish, at=wish.at)


def _beginning(summary: str) -> str:
    plain = " ".join(summary.split())
    return plain if len(plain) <= _MOST_SNIPPET else f"{plain[:_MOST_SNIPPET]}…"


def _tongue(language: str) -> str:
    return language.partition("-")[0].lower()
