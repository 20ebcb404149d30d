"""Topics: what clients and teams care about, who follows them, and which items fit them and why."""

import asyncio
import builtins
import datetime as dt
import hashlib
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel

from monitor.briefing.item import ItemSchema, build_item_schema
from monitor.config.model import Settings
from monitor.db.queries.topics import MAX_TOPICS, ItemTopic, TopicCalendar, build_item_topic
from monitor.db.sessions import split_batches
from monitor.db.tables.collection import Item
from monitor.db.tables.policies import Topic, TopicFit, TopicFollower, TopicJudgement
from monitor.db.visibility import see_as
from monitor.document import DocumentFacts
from monitor.errors import Conflict, ModelFailed, ModelUnavailable, NotFound
from monitor.llm.chat import ChatModel
from monitor.llm.prompts import DEFAULT_PROMPTS
from monitor.ranking.topic_model import (
    MAX_ITEMS_PER_CALL,
    MAX_TOPICS_PER_CALL,
    TOPICS_PLACE,
    JudgedItem,
    ModelFit,
    ask_for_fits,
    merge_fit,
)
from monitor.ranking.topics import WEIGHT_STEP, TopicScore, apply_wish, read_topic_item, score_topic, score_topic_item
from monitor.services.audit import Actor, AuditAction, AuditedService
from monitor.services.briefings import check_sources
from monitor.services.marks import load_item
from monitor.services.prompts import PromptsLoader
from monitor.services.runtime import ChatModelFactory
from monitor.services.teams import choose_eyes, list_seen_targets
from monitor.services.topic_form import TopicForm, TopicPatch, TopicSchema, load_topic, parse_topic_form
from monitor.vocabulary import JudgedBy, Phase, RankDirection, Role

ARCHIVE_DAYS = 90
"""So far back a new or changed topic looks for items that fit it."""

_MAX_ARCHIVE_ITEMS = 1000
_BATCH_ITEMS = 100
_MIN_KEPT_SCORE = 0.2
"""Fits below are not stored: a word that is said in passing."""

_STEPS = {None: 0, RankDirection.HIGHER: 1, RankDirection.LOWER: -1}
_DEFINITION = frozenset({"sentence", "words", "exclusions", "sources"})


class TopicFollowing(BaseModel, from_attributes=True):
    """Somebody who follows a topic; whoever has the key may read its deadlines as a calendar."""

    topic_id: int
    person: str
    calendar_key: str
    since: dt.datetime


class TopicItemSchema(BaseModel):
    """An item that fits a topic, and why."""

    item: ItemSchema
    fit: ItemTopic


class TopicItemPage(BaseModel):
    items: list[TopicItemSchema]
    after: tuple[dt.date, int] | None = None


@dataclass(frozen=True)
class _LoadedItem:
    item: Item
    facts: DocumentFacts | None
    text: str

    @property
    def id(self) -> int:
        return self.item.id or 0

    @property
    def sha256(self) -> str:
        return hashlib.sha256(f"{self.item.title}\0{self.text}".encode("utf-8", "replace")).hexdigest()


class TopicAlerter(Protocol):
    """Tells of items that are new to a topic; it joins the transaction that stores the fits."""

    async def raise_for_topics(self, item: Item, fits: Iterable[tuple[Topic, TopicFit]]) -> object: ...


@dataclass(kw_only=True)
class TopicService(AuditedService):
    """`new_model` gives the model that is asked about the items of a run, or None where none is set.

    `alerts` is told, once an item is judged, of the topics that it did not fit before; None where nobody keeps alerts.
    """

    settings: Settings
    new_model: ChatModelFactory | None = None
    new_prompts: PromptsLoader | None = None
    alerts: TopicAlerter | None = None

    # The topics.

    async def list(self, *, by: Actor) -> list[TopicSchema]:
        """All topics by name, as whoever asks may see them."""
        return await self._build_schemas(await self.store.topics.list(), by)

    async def list_followed(self, *, by: Actor) -> builtins.list[TopicCalendar]:
        """The topics that whoever asks follows, by name."""
        return await self.store.topics.list_followed(by.owner)

    async def get(self, topic_id: int, *, by: Actor) -> TopicSchema:
        return (await self._build_schemas([await self.load(topic_id)], by))[0]

    async def load(self, topic_id: int) -> Topic:
        topic = await self.store.topics.get(topic_id)
        if topic is None:
            raise NotFound("topic.not_found", topic=topic_id)
        return topic

    async def find(self, name: str) -> Topic:
        """The topic of that name, or number; `NotFound` names those that there are."""
        return await load_topic(name, self.store)

    async def create(self, form: TopicForm, *, by: Actor, team_id: int | None = None) -> TopicSchema:
        """Add a topic, and judge the items of the last 90 days for it by its words."""
        by.require(Role.EDITOR)
        await self._check(form.sources, form.targets)
        with see_as(None):
            count = len(await self.store.topics.list())
        if count >= MAX_TOPICS:
            raise Conflict("topic.too_many", limit=MAX_TOPICS)
        choose_eyes(team_id)
        topic = Topic(**form.model_dump(), team_id=team_id, created_by=by.owner, created_at=self.clock.now())
        async with self.store.transaction():
            kept = await self.store.topics.add(topic)
            if kept is None:
                raise Conflict("topic.name_taken", name=form.name)
            await self.record(by, AuditAction.TOPIC_ADD, form.name, after=form.model_dump(mode="json"))
        await self._judge_archive(kept)
        return await self.get(kept.id or 0, by=by)

    async def update(self, topic_id: int, patch: TopicPatch, *, by: Actor) -> TopicSchema:
        """Change a topic; where what it looks for has changed, the items of the last 90 days are judged again."""
        by.require(Role.EDITOR)
        given = patch.model_dump(exclude_none=True)
        await self._check(given.get("sources", []), given.get("targets", []))
        async with self.store.transaction():
            topic = await self.load(topic_id)
            before = _get_definition(topic)
            form = parse_topic_form(before | given)
            changed = {name: value for name, value in form.model_dump().items() if before[name] != value}
            topic = Topic(**topic.model_dump() | form.model_dump())
            if not await self.store.topics.change(topic):
                raise Conflict("topic.name_taken", name=form.name)
            if is_new := bool(changed.keys() & _DEFINITION):
                await self.store.topics.clear_fits(topic_id)
            if changed:
                was = {name: before[name] for name in changed}
                await self.record(by, AuditAction.TOPIC_EDIT, form.name, before=was, after=changed)
        if is_new:
            await self._judge_archive(topic)
        return await self.get(topic_id, by=by)

    async def remove(self, topic_id: int, *, by: Actor) -> None:
        """Remove a topic with its followers and fits; the items stay."""
        by.require(Role.EDITOR)
        async with self.store.transaction():
            topic = await self.load(topic_id)
            await self.store.topics.remove(topic_id)
            await self.record(by, AuditAction.TOPIC_REMOVE, topic.name, before=_get_definition(topic))

    # Who follows.

    async def follow(self, topic_id: int, *, by: Actor, person: str | None = None) -> TopicFollowing:
        """Follow a topic, or let somebody follow it, which takes an administrator; returns the key of the calendar."""
        name = self._choose_person(by, person)
        async with self.store.transaction():
            topic = await self.load(topic_id)
            if await self.store.people.get(name) is None:
                raise NotFound("person.not_found", name=name)
            wanted = TopicFollower(
                topic_id=topic_id, person=name, calendar_key=secrets.token_urlsafe(24), since=self.clock.now()
            )
            kept = await self.store.topics.follow(wanted)
            if kept.calendar_key == wanted.calendar_key:
                await self.record(by, AuditAction.TOPIC_FOLLOW, topic.name, after=name)
        return TopicFollowing.model_validate(kept)

    async def unfollow(self, topic_id: int, *, by: Actor, person: str | None = None) -> None:
        """Follow a topic no longer; the calendar of its deadlines ends."""
        name = self._choose_person(by, person)
        async with self.store.transaction():
            topic = await self.load(topic_id)
            if await self.store.topics.unfollow(topic_id, name):
                await self.record(by, AuditAction.TOPIC_UNFOLLOW, topic.name, before=name)

    def _choose_person(self, by: Actor, person: str | None) -> str:
        if person is not None and person != by.owner:
            by.require(Role.ADMIN)
        return person or by.owner

    # What fits.

    async def judge(self, item_ids: Sequence[int], *, run_id: str | None = None) -> None:
        """Judge items for all topics: by their words and, in a run with a model, by that as well.

        An item that was judged from the same title and text is left alone, so that a second call changes nothing; one
        whose text has changed is judged again. What people said of a fit stays. Where the model fails, the words
        decide, and the run has a fallback.
        """
        topics = await self.store.topics.list() if item_ids else []
        if not topics:
            return
        model = None
        is_asked = False
        for batch in split_batches(dict.fromkeys(item_ids), _BATCH_ITEMS):
            judged = await self.store.topics.load_judged(batch)
            due = [item for item in await self._load_items(batch) if judged.get(item.id) != item.sha256]
            if not due:
                continue
            if not is_asked and run_id is not None and self.new_model is not None:
                model, is_asked = await self.new_model(run_id, self.store), True
            scored = await asyncio.to_thread(_score_all, topics, due)
            opinions = await self._ask_model(model, topics, scored, run_id or "") if model is not None else {}
            await self._save(topics, due, scored, opinions)

    async def mark(self, topic_id: int, item_id: int, wish: RankDirection | None, *, by: Actor) -> ItemTopic | None:
        """Say that an item is one of a topic (higher) or not (lower); None takes it back.

        It holds for the item at once, and moves the weights of the words that were found in it for what is judged from
        now on. Returns the fit, None where nothing is left of one.
        """
        async with self.store.transaction():
            topic = await self.load(topic_id)
            item = await load_item(item_id, self.store)
            before = await self.store.topics.get_fit(topic_id, item_id)
            old = before.wish if before is not None else None
            if old == wish:
                return build_item_topic(before, topic.name) if before is not None else None
            loaded = (await self._load_items([item_id]))[0]
            score = score_topic(topic, item, loaded.facts, loaded.text)
            factor = WEIGHT_STEP ** (_STEPS[wish] - _STEPS[old])
            await self.store.topics.move_weights(topic_id, dict.fromkeys(score.words, factor))
            fit = _build_fit(
                topic_id, item_id, apply_wish(score, _read_wish(wish)), JudgedBy.CODE, wish, self.clock.now()
            )
            if wish is None and fit.score < _MIN_KEPT_SCORE:
                await self.store.topics.remove_fit(topic_id, item_id)
            else:
                await self.store.topics.put_fit(fit)
            await self.record(
                by,
                AuditAction.TOPIC_FEEDBACK,
                topic.name,
                item=item_id,
                before=old and str(old),
                after=wish and str(wish),
            )
        return build_item_topic(fit, topic.name) if fit.score >= _MIN_KEPT_SCORE or wish is not None else None

    async def list_fits(self, item_ids: Sequence[int]) -> dict[int, builtins.list[ItemTopic]]:
        """The topics that items fit, the best first; an item that fits none has no entry."""
        return await self.store.topics.list_matches(item_ids)

    async def list_items(
        self, topic_id: int, *, limit: int = 50, after: tuple[dt.date, int] | None = None
    ) -> TopicItemPage:
        """The items that fit a topic, newest first, each with the reason."""
        topic = await self.load(topic_id)
        rows = await self.store.topics.list_items(topic_id, limit=limit + 1, after=after)
        shown = [
            TopicItemSchema(item=build_item_schema(item), fit=build_item_topic(fit, topic.name))
            for item, fit in rows[:limit]
        ]
        last = rows[limit - 1][0] if len(rows) > limit else None
        return TopicItemPage(items=shown, after=None if last is None else (last.day, last.id or 0))

    async def _judge_archive(self, topic: Topic) -> None:
        """Judge the newest items for one topic, by its words: also those that only others see."""
        with see_as(None):
            await self._judge_newest(topic)

    async def _judge_newest(self, topic: Topic) -> None:
        since = self.clock.now().date() - dt.timedelta(days=ARCHIVE_DAYS)
        ids = await self.store.topics.list_recent(since, sources=topic.sources, limit=_MAX_ARCHIVE_ITEMS)
        for batch in split_batches(ids, _BATCH_ITEMS):
            loaded = await self._load_items(batch)
            await self._save([topic], loaded, await asyncio.to_thread(_score_all, [topic], loaded), {}, is_whole=False)

    async def _load_items(self, item_ids: Sequence[int]) -> builtins.list[_LoadedItem]:
        items = await self.store.topics.load_items(item_ids)
        texts = await self.store.items.load_texts(item_ids)
        facts = await self.store.topics.load_facts(item_ids)
        return [_LoadedItem(item, facts.get(item.id or 0), texts.get(item.id or 0, "")) for item in items]

    async def _ask_model(
        self, model: ChatModel, topics: Sequence[Topic], scored: Sequence[JudgedItem], run_id: str
    ) -> dict[tuple[int, int], ModelFit]:
        """Return what the model says by the ids of item and topic."""
        prompts = await self.new_prompts() if self.new_prompts is not None else DEFAULT_PROMPTS
        opinions: dict[tuple[int, int], ModelFit] = {}
        try:
            for items in split_batches(scored, MAX_ITEMS_PER_CALL):
                for some in split_batches(topics, MAX_TOPICS_PER_CALL):
                    found = await self._ask_once(model, some, items, run_id, prompts=prompts)
                    opinions |= {(items[place].item.id or 0, topic_id): fit for (place, topic_id), fit in found.items()}
        except ModelUnavailable:
            pass  # on record; the words decide what was not asked
        return opinions

    async def _ask_once(
        self, model: ChatModel, topics: Sequence[Topic], items: Sequence[JudgedItem], run_id: str, **options: Any
    ) -> Mapping[tuple[int, int], ModelFit]:
        try:
            return await ask_for_fits(model, topics, items, **options)
        except ModelFailed as error:
            await self.store.runs.add_fallback(run_id, Phase.RANK, TOPICS_PLACE, error.reason, self.clock.now())
            if isinstance(error, ModelUnavailable):
                raise
            return {}

    async def _save(
        self,
        topics: Sequence[Topic],
        loaded: Sequence[_LoadedItem],
        scored: Sequence[JudgedItem],
        opinions: Mapping[tuple[int, int], ModelFit],
        *,
        is_whole: bool = True,
    ) -> None:
        """Store the fits; `is_whole` where the items were judged for every topic, which is remembered and told."""
        now, ids = self.clock.now(), [item.id for item in loaded]

        async def store_all() -> None:
            known = {(fit.topic_id, fit.item_id): fit for fit in await self.store.topics.load_fits(ids)}
            fits = list(_merge_fits(scored, opinions, known, now))
            judgements = [TopicJudgement(item_id=item.id, sha256=item.sha256, judged_at=now) for item in loaded]
            await self.store.topics.save_fits(
                fits,
                topic_ids=[topic.id or 0 for topic in topics],
                item_ids=ids,
                judgements=judgements if is_whole else (),
            )
            if is_whole and self.alerts is not None:
                await self._raise_alerts(self.alerts, topics, loaded, fits, known)

        await self.store.write_together(store_all)

    async def _raise_alerts(
        self,
        alerts: TopicAlerter,
        topics: Sequence[Topic],
        loaded: Sequence[_LoadedItem],
        fits: Sequence[TopicFit],
        known: Mapping[tuple[int, int], TopicFit],
    ) -> None:
        by_id = {topic.id: topic for topic in topics}
        for entry in loaded:
            new = [
                (by_id[fit.topic_id], fit)
                for fit in fits
                if fit.item_id == entry.id and fit.is_match and not _was_match(known.get((fit.topic_id, fit.item_id)))
            ]
            if new:
                await alerts.raise_for_topics(entry.item, new)

    async def _check(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        await check_sources(sources, self.store)
        known = [target.name for target in await list_seen_targets(self.settings, self.store)]
        for name in targets:
            if name not in known:
                raise NotFound("topic.unknown_target", target=name, known=known)

    async def _build_schemas(self, topics: Sequence[Topic], by: Actor) -> builtins.list[TopicSchema]:
        ids = [topic.id or 0 for topic in topics]
        counts = await self.store.topics.count_matches(ids)
        followers: dict[int, builtins.list[TopicFollower]] = {}
        for follower in await self.store.topics.list_followers(ids):
            followers.setdefault(follower.topic_id, []).append(follower)
        return [
            TopicSchema(
                **topic.model_dump(),
                followers=[follower.person for follower in followers.get(topic.id or 0, ())],
                calendar_key=next(
                    (mine.calendar_key for mine in followers.get(topic.id or 0, ()) if mine.person == by.owner), None
                ),
                **(counts[topic.id or 0].model_dump(exclude={"topic_id"}) if topic.id in counts else {}),
            )
            for topic in topics
        ]


def _get_definition(topic: Topic) -> dict[str, Any]:
    return topic.model_dump(include=set(TopicForm.model_fields))


def _score_all(topics: Sequence[Topic], loaded: Iterable[_LoadedItem]) -> list[JudgedItem]:
    judged = []
    for entry in loaded:
        read = read_topic_item(entry.item, entry.facts, entry.text)
        scores = {topic.id or 0: score_topic_item(topic, read) for topic in topics}
        judged.append(JudgedItem(entry.item, entry.text, scores))
    return judged


def _merge_fits(
    scored: Sequence[JudgedItem],
    opinions: Mapping[tuple[int, int], ModelFit],
    known: Mapping[tuple[int, int], TopicFit],
    at: dt.datetime,
) -> Iterator[TopicFit]:
    """Give what words, model and people say together, but for what is said in passing."""
    for judged in scored:
        item_id = judged.item.id or 0
        for topic_id, score in judged.scores.items():
            opinion, before = opinions.get((item_id, topic_id)), known.get((topic_id, item_id))
            wish = before.wish if before is not None else None
            merged = apply_wish(merge_fit(score, opinion), _read_wish(wish))
            by = JudgedBy.CODE if opinion is None or score.is_barred else JudgedBy.MODEL
            if merged.score >= _MIN_KEPT_SCORE or wish is not None:
                yield _build_fit(topic_id, item_id, merged, by, wish, at)


def _was_match(fit: TopicFit | None) -> bool:
    return fit is not None and fit.is_match


def _build_fit(
    topic_id: int, item_id: int, score: TopicScore, by: JudgedBy, wish: RankDirection | None, at: dt.datetime
) -> TopicFit:
    return TopicFit(
        topic_id=topic_id,
        item_id=item_id,
        score=score.score,
        is_match=score.is_match,
        reason=score.reason,
        passage=score.passage,
        by=by,
        wish=wish,
        judged_at=at,
    )


def _read_wish(wish: RankDirection | None) -> bool | None:
    return None if wish is None else wish is RankDirection.HIGHER
