"""Items as people see them: lists, one item with its kin, and the marks that people put on them."""

import datetime as dt
import re
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from monitor.briefing.compose import ItemReference
from monitor.briefing.item import ItemSchema, build_item_schema
from monitor.db.database import Store
from monitor.db.fulltext import FullTextScope
from monitor.db.queries.filters import ItemFilter, ItemOrderKey, get_order_key
from monitor.db.queries.policies import PolicyReference
from monitor.db.queries.topics import ItemTopic
from monitor.db.tables.collection import Item
from monitor.db.tables.evidence import Revision
from monitor.db.tables.people import RankFeedbackEntry
from monitor.db.terms import TextQuery
from monitor.dedupe.clusters import DocumentCluster, cluster_in_workers
from monitor.document import DocumentFacts
from monitor.errors import UsageError
from monitor.evidence.differences import describe_change
from monitor.extract.sentences import split_sentences
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.isolation.pool import WorkerPool
from monitor.page import ChangeKind, PageEdit
from monitor.ranking.feedback import compute_lifts
from monitor.search.backends.archive import ArchiveSearch, build_snippet
from monitor.services.briefings import check_sources
from monitor.services.marks import HiddenItemSchema, ItemNoteSchema, RankFeedbackSchema, load_item
from monitor.services.topic_form import load_topic
from monitor.vocabulary import ItemOrder, ItemType, PolicyStage, RankDirection


class ItemQuery(BaseModel):
    """Which items a person wants to see; days are of publication, both included.

    All words of `text` stand in the title, the summary or the text, what is in quotes word for word. `site`, for what
    has a text to look for, is a host whose items, and those of hosts beneath it, are meant. `section` stands in the
    section's name; `topic` is the name or number of one that they fit; `unread_by`, `later_by` and `starred_by` are
    persons; hidden items are left out unless `is_hidden` is None (both) or True. `first_seen_since` is an instant.
    A search for a text is always in the order of publication.
    """

    sources: Sequence[str] = ()
    tags: Sequence[str] = ()
    types: Sequence[ItemType] = ()
    since: dt.date | None = None
    until: dt.date | None = None
    text: str = ""
    site: str | None = None
    section: str | None = None
    document_number: str | None = None
    language: str | None = None
    topic: str | None = None
    late: bool | None = None
    tiers: Sequence[int] = ()
    stage: PolicyStage | None = None
    is_changed: bool | None = None
    unread_by: str | None = None
    later_by: str | None = None
    starred_by: str | None = None
    is_hidden: bool | None = False
    first_seen_since: dt.datetime | None = None
    order: ItemOrder = ItemOrder.NEWEST


class ItemMatchSchema(ItemSchema):
    """An item that a search found, with its score, 0 to 1, and what stands around the words that were searched for."""

    score: float
    snippet: str


class ItemMatchesSchema(MessageModel):
    """What a search found, the best first; where `ranked_since` is a day, matches before it were not all compared.

    `warning` says why items were found by words alone although an embedding model is set.
    """

    items: list[ItemMatchSchema]
    ranked_since: dt.date | None = None
    warning: Message | None = None


class RevisionSchema(MessageModel):
    """A change of an item's page as it leaves the program; `said` is its one sentence."""

    seen_at: dt.datetime
    kind: ChangeKind
    said: str
    reason: Message | None
    edits: list[PageEdit]
    more_edits: int


class FullItemSchema(ItemSchema):
    """An item with the text of its page as it was last seen, as far as it is kept, and its revisions, newest first.

    `facts` are what the text says of itself, None where it was never read for them; `policy` is the one it belongs to.
    `topics` are those that it fits, the best first.
    """

    run_id: str
    facts: DocumentFacts | None = None
    policy: PolicyReference | None = None
    text: str | None = None
    topics: list[ItemTopic] = Field(default_factory=list)
    revisions: list[RevisionSchema] = Field(default_factory=list)


_STREAMED_BATCH = 500


class ArchiveService:
    def __init__(self, *, store: Store, search: ArchiveSearch) -> None:
        self._store = store
        self._search = search

    async def list_items(self, item_query: ItemQuery, limit: int | None = 50) -> list[ItemSchema]:
        """The items that are meant, newest first; `UsageError` for a source that never was, or days reversed."""
        scope = await build_scope(item_query, self._store)
        if not item_query.text.strip():
            items = await self._store.items.list(scope.items, limit=limit)
        else:
            matches = await self._store.fulltext.find(parse_text_query(item_query.text), scope, limit=limit)
            items = [match.item for match in matches]
        return [build_item_schema(item) for item in items]

    async def stream_items(self, item_query: ItemQuery, limit: int) -> AsyncIterator[Sequence[ItemSchema]]:
        """The same as `list_items` with its errors, some hundreds at a time; an empty batch where there are none."""
        query = parse_text_query(item_query.text) if item_query.text.strip() else None
        if query is not None:
            item_query = item_query.model_copy(update={"order": ItemOrder.NEWEST})
        return self._iter_batches(await build_scope(item_query, self._store), query, limit)

    async def _iter_batches(
        self, scope: FullTextScope, query: TextQuery | None, limit: int
    ) -> AsyncIterator[Sequence[ItemSchema]]:
        after, left = None, limit
        while True:
            onward = FullTextScope(items=scope.items.model_copy(update={"after": after}), site=scope.site)
            wanted, stopped_at = min(left, _STREAMED_BATCH), None
            if query is None:
                items = await self._store.items.list(onward.items, limit=wanted)
            else:
                found = await self._store.fulltext.find_page(query, onward, limit=wanted)
                items, stopped_at = [match.item for match in found.matches], found.stopped_at
            left -= len(items)
            after = get_order_key(items[-1], scope.items.order) if len(items) == wanted else stopped_at
            is_last = after is None or left <= 0
            if items or (is_last and left == limit):
                yield [build_item_schema(item) for item in items]
            if is_last:
                return

    async def get_item(self, item_id: int, *, language: str = "en") -> FullItemSchema:
        """One item with the text of its page and its revisions, these told in a language; `NotFound` for no item."""
        item = await load_item(item_id, self._store)
        text = await self._store.items.get_text(item_id)
        rows = await self._store.revisions.list_for_item(item_id)
        facts = (await self._store.policies.load_facts([item_id])).get(item_id)
        return FullItemSchema(
            **build_item_schema(item).model_dump(),
            run_id=item.run_id,
            text=text,
            facts=None if facts is None else facts.document,
            policy=await self._store.policies.find_policy_of(item_id),
            topics=(await self._store.topics.list_matches([item_id])).get(item_id, []),
            revisions=[build_revision_schema(row, language) for row in rows],
        )

    async def search(self, item_query: ItemQuery, limit: int = 50) -> ItemMatchesSchema:
        parse_text_query(item_query.text)
        found = await self._search.search(item_query.text, await build_scope(item_query, self._store), limit=limit)
        items = [
            ItemMatchSchema(**build_item_schema(match.item).model_dump(), score=match.score, snippet=match.snippet)
            for match in found.items
        ]
        return ItemMatchesSchema(items=items, ranked_since=found.ranked_since, warning=found.warning)


async def build_scope(item_query: ItemQuery, store: Store) -> FullTextScope:
    if item_query.since is not None and item_query.until is not None and item_query.since > item_query.until:
        raise UsageError("item.bad_date_range", since=item_query.since, until=item_query.until)
    await check_sources(item_query.sources, store)
    topic_id = None if item_query.topic is None else (await load_topic(item_query.topic, store)).id
    fields = item_query.model_dump(exclude={"text", "site", "topic"}) | {"topic_id": topic_id}
    return FullTextScope(items=ItemFilter.model_validate(fields), site=item_query.site)


def parse_text_query(text: str) -> TextQuery:
    query = TextQuery.parse(text)
    if not query.clauses:
        raise UsageError("item.empty_search")
    return query


def build_revision_schema(revision: Revision, language: str) -> RevisionSchema:
    change = revision.change
    return RevisionSchema(
        seen_at=revision.seen_at,
        kind=revision.kind,
        said=describe_change(change, language),
        reason=revision.reason,
        edits=change.edits,
        more_edits=revision.more_edits,
    )


MAX_COUNT = 1000
_MAX_SNIPPET_CHARS = 200
_MAX_LINE_CHARS = 140
_CLAUSE_END = re.compile(r"[，；、：]|[,;:](?=\s)")
_MAX_RELATED_CANDIDATES = 20
_MAX_TITLE_CHARS = 160
_MIN_TITLE_CHARS = 6
_CITED_TITLE_PATTERN = re.compile(r"《([^《》]{6,120})》")
_QUOTATION_MARKS = re.compile('["“”„‟＂]')


class ListedItem(ItemSchema):
    """An item in a list; `moved` is where feedback moved its rank.

    `snippet` is text around the words searched for, else the beginning of the summary; `line` is the first sentence of
    the summary that is borne out, whole or up to a clause.
    """

    snippet: str = ""
    line: str = ""
    moved: RankDirection | None = None
    topics: list[ItemTopic] = Field(default_factory=list)
    unread: bool = False
    later: bool = False
    starred: bool = False
    hidden: bool = False
    notes: int = 0


class ItemPage(BaseModel):
    """A piece of a list that goes on at `after`; `total` is counted up to 1,000, None where that takes too long.

    `searched_since` is the day up to which a search read texts that might match, where it ended before the piece was
    full: it goes on at `after` all the same.
    """

    items: list[ListedItem]
    total: int | None = None
    after: ItemOrderKey | None = None
    searched_since: dt.date | None = None


class RelatedItems(BaseModel):
    copies: list[ItemReference] = Field(default_factory=list)
    interpretations: list[ItemReference] = Field(default_factory=list)
    explains: list[ItemReference] = Field(default_factory=list)


class ItemDetail(FullItemSchema, RelatedItems):
    """One item with what people say of it, and the items that are the same document or explain it.

    `feedback` is what was said of its own rank, `like_feedback` the newest word of each person on items like it, which
    counts where there is none of its own; `lift` is where that moves it in the next ranking, None for nowhere.
    """

    moved: RankDirection | None = None
    unread: bool = False
    later: bool = False
    starred: bool = False
    hidden: HiddenItemSchema | None = None
    notes: list[ItemNoteSchema] = Field(default_factory=list)
    feedback: list[RankFeedbackSchema] = Field(default_factory=list)
    like_feedback: list[RankFeedbackSchema] = Field(default_factory=list)
    lift: RankDirection | None = None


class ItemFilterOptions(BaseModel):
    sources: list[str]
    tags: list[str]
    languages: list[str]


@dataclass(kw_only=True)
class ItemService:
    store: Store
    workers: WorkerPool
    archive: ArchiveService

    async def list_page(
        self,
        item_query: ItemQuery,
        person: str,
        *,
        limit: int = 50,
        after: ItemOrderKey | None = None,
        count_total: bool = True,
    ) -> ItemPage:
        """Return the items from `after` on, in their order; `UsageError` for an unknown source, bad days or no word."""
        query = parse_text_query(item_query.text) if item_query.text.strip() else None
        if query is not None:
            item_query = item_query.model_copy(update={"order": ItemOrder.NEWEST})
        scope = await build_scope(item_query, self.store)
        onward = FullTextScope(items=scope.items.model_copy(update={"after": after}), site=scope.site)
        counts = count_total and after is None
        total, stopped_at = None, None
        if query is None:
            if counts:
                total = await self.store.items.count(scope.items, cap=MAX_COUNT)
            items = await self.store.items.list(onward.items, limit=limit + 1)
            snippets = {item.id: _truncate_summary(item.summary) for item in items}
        else:
            if counts:
                total = await self.store.fulltext.count(query, scope, cap=MAX_COUNT)
            found = await self.store.fulltext.find_page(query, onward, limit=limit + 1)
            items, stopped_at = [match.item for match in found.matches], found.stopped_at
            snippets = {match.item.id: build_snippet(match.body, query) for match in found.matches}
        shown = items[:limit]
        last = get_order_key(shown[-1], item_query.order) if len(items) > limit else stopped_at
        return ItemPage(
            items=await self._build_listed_items(shown, snippets, person),
            total=total,
            after=last,
            searched_since=stopped_at and stopped_at[0],
        )

    async def count(self, item_query: ItemQuery, *, cap: int) -> int:
        """Return how many items are meant, at most `cap`; what cannot be looked for has none."""
        try:
            scope = await build_scope(item_query, self.store)
            query = parse_text_query(item_query.text) if item_query.text.strip() else None
        except UsageError:
            return 0
        if query is not None:
            return await self.store.fulltext.count(query, scope, cap=cap) or 0
        return await self.store.items.count(scope.items, cap=cap)

    async def get_item(self, item_id: int, person: str, *, language: str = "en") -> ItemDetail:
        """One item, whole; its changes are told in the language. `NotFound` where there is none of that number."""
        whole = await self.archive.get_item(item_id, language=language)
        item = await load_item(item_id, self.store)
        marks = self.store.marks
        mine = await marks.load_marks(person, [item_id])
        wishes = await marks.list_feedback([item])
        own = [wish for wish in wishes if wish.item_id == item_id]
        alike = [wish for wish in wishes if wish.item_id != item_id and compute_lifts([item], [wish])[0]]
        hidden = (await marks.load_hidden([item_id])).get(item_id)
        lift = compute_lifts([item], wishes)[0]
        return ItemDetail(
            **whole.model_dump(),
            moved=item.moved,
            unread=item_id in mine.unread,
            later=item_id in mine.later,
            starred=item_id in mine.starred,
            hidden=None if hidden is None else HiddenItemSchema.model_validate(hidden, from_attributes=True),
            notes=[
                ItemNoteSchema.model_validate(note, from_attributes=True)
                for note in await marks.list_notes(person, item_id)
            ],
            feedback=_build_feedback(own),
            like_feedback=_build_feedback({wish.person: wish for wish in alike}.values()),
            lift=None if not lift else RankDirection.HIGHER if lift > 0 else RankDirection.LOWER,
            **(await self._find_related(item)).model_dump(),
        )

    async def get_filter_options(self) -> ItemFilterOptions:
        items = self.store.items
        return ItemFilterOptions(
            sources=await items.list_source_names(),
            tags=sorted(await self.store.sources.list_tags()),
            languages=sorted({_get_primary_language(word) for word in await items.list_values("language")}),
        )

    async def _build_listed_items(
        self, items: Sequence[Item], snippets: dict[int | None, str], person: str
    ) -> list[ListedItem]:
        ids = [item.id or 0 for item in items]
        marks = await self.store.marks.load_marks(person, ids)
        topics = await self.store.topics.list_matches(ids)
        unchecked = await self.store.evidence.load_unchecked(ids)
        return [
            ListedItem(
                **build_item_schema(item).model_dump(),
                snippet=snippets.get(item.id, ""),
                line=choose_line(item.summary, unchecked.get(item.id or 0, ())),
                moved=item.moved,
                topics=topics.get(item.id or 0, []),
                unread=item.id in marks.unread,
                later=item.id in marks.later,
                starred=item.id in marks.starred,
                hidden=item.id in marks.hidden,
                notes=marks.notes.get(item.id or 0, 0),
            )
            for item in items
        ]

    async def _find_related(self, item: Item) -> RelatedItems:
        """Group the newest 20 items of the same number or title, as briefings do, and return the item's group."""
        near: dict[int | None, Item] = {item.id: item}
        if item.document_number:
            numbered = ItemFilter(document_number=item.document_number, is_hidden=None)
            near |= {item.id: item for item in await self.store.items.list(numbered, limit=_MAX_RELATED_CANDIDATES)}
        scope = FullTextScope(items=ItemFilter(is_hidden=None))
        for query in _list_title_queries(item.title):
            found = await self.store.fulltext.find_page(query, scope, limit=_MAX_RELATED_CANDIDATES, is_in_title=True)
            near |= {match.item.id: match.item for match in found.matches}
        if len(near) == 1:
            return RelatedItems()
        texts = await self.store.items.load_texts([number for number in near if number is not None])
        groups = await cluster_in_workers(list(near.values()), texts, self.workers)
        return next((kin for group in groups if (kin := _find_related_in(group, item)) is not None), RelatedItems())


def _list_title_queries(title: str) -> Iterator[TextQuery]:
    for words in (title, *_CITED_TITLE_PATTERN.findall(title)):
        plain = _QUOTATION_MARKS.sub(" ", words)[:_MAX_TITLE_CHARS].strip()
        query = TextQuery.parse(f'"{plain}"')
        if len(plain) >= _MIN_TITLE_CHARS and query.clauses:
            yield query


def _find_related_in(found: DocumentCluster, item: Item, above: DocumentCluster | None = None) -> RelatedItems | None:
    """The kin of an item in a group or in what explains it; None where it is not there."""
    if any(related.id == item.id for related in found.items):
        return RelatedItems(
            copies=_build_places(related for related in found.items if related.id != item.id),
            interpretations=_build_places(related for reading in found.interpretations for related in reading.items),
            explains=[] if above is None else _build_places(above.items[:1]),
        )
    kins = (_find_related_in(reading, item, found) for reading in found.interpretations)
    return next((kin for kin in kins if kin is not None), None)


def _build_places(items: Iterator[Item] | Sequence[Item]) -> list[ItemReference]:
    return [ItemReference.model_validate(item, from_attributes=True) for item in items]


def _build_feedback(entries: Iterable[RankFeedbackEntry]) -> list[RankFeedbackSchema]:
    return [
        RankFeedbackSchema(item=entry.item_id, person=entry.person, wish=entry.wish, at=entry.at) for entry in entries
    ]


def choose_line(summary: str, unchecked: Collection[str]) -> str:
    """Return the first sentence of a summary that is not among the unchecked ones, empty where all are.

    A long one ends behind its last clause that fits, so no figure and no word is cut.
    """
    sentences = split_sentences(" ".join(summary.split()))
    sentence = next((text for text in sentences if text not in unchecked), "")
    if len(sentence) <= _MAX_LINE_CHARS:
        return sentence
    clauses = (stop.start() for stop in _CLAUSE_END.finditer(sentence, 0, _MAX_LINE_CHARS))
    end = max(clauses, default=sentence.find(" ", _MAX_LINE_CHARS))
    return f"{sentence[:end]}…" if end > 0 else sentence


def _truncate_summary(summary: str) -> str:
    plain = " ".join(summary.split())
    return plain if len(plain) <= _MAX_SNIPPET_CHARS else f"{plain[:_MAX_SNIPPET_CHARS]}…"


def _get_primary_language(language: str) -> str:
    return language.partition("-")[0].lower()
