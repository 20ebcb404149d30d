"""The dashboard: what is new, how the day's runs went, what was not read."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import BaseModel
from sqlalchemy import ColumnElement, Select, Subquery, Text, func, literal_column, select, type_coerce, update
from sqlalchemy.orm import Mapped
from sqlmodel import col

from monitor.db.daily_totals import load_daily_sums
from monitor.db.queries.filters import is_hidden
from monitor.db.reading import UnseenPlace
from monitor.db.sessions import Queries
from monitor.db.tables.collection import Fallback, Item, ModelCall, Run, RunSection, Source, TotalKind, Unseen
from monitor.db.tables.columns import UtcDateTime
from monitor.db.tables.people import Person
from monitor.db.tables.policies import Deadline, DeadlineMove, Topic, TopicFit, TopicFollower
from monitor.i18n.message import Message
from monitor.vocabulary import DeadlineKind, RunStatus

_EXCLUDED_STATUSES = (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.CANCELLED)
_MAX_BLOCKS = 5_000
_MAX_QUEUE_WAIT = dt.timedelta(days=2)
BLOCKED_CODE = "cause.page_blocked"
"""The code of a block, which stands at the top of a reason or inside."""


class TierCount(BaseModel):
    """How many items of a tier are new; `fresh` of them since a later instant."""

    tier: int | None
    count: int
    fresh: int


class LastRun(NamedTuple):
    """The last run of a source; `is_baseline` where that or another one of the day was its very first."""

    source: str
    status: RunStatus
    is_baseline: bool


class UnreadPlace(UnseenPlace):
    """A section or list page that the last run of a source did not read."""

    run_id: str
    source: str


@dataclass(kw_only=True)
class SourcePeriod:
    """The last run of a source in a period; `gaps` are the lists, by url, on which one saw nothing that it knew."""

    last_run: Run
    is_baseline: bool
    gaps: dict[str, str] = field(default_factory=dict)


class QueueStatus(BaseModel):
    queued: int
    running: int
    oldest_queued_at: dt.datetime | None
    tokens: int


class WatchedSource(NamedTuple):
    id: int
    name: str
    is_enabled: bool
    is_planned: bool
    has_run: bool
    consecutive_failures: int
    last_error: Message | None


class BlockedPage(BaseModel):
    """A page that a site blocked; `place` is its url, or a section of the source."""

    at: dt.datetime
    source: str
    source_url: str | None
    place: str
    reason: Message


class MovedDeadline(BaseModel):
    """A day that a revision moved, `before` to `after`; `after` is None where the page states it no more."""

    deadline_id: int
    kind: DeadlineKind
    subject: str
    before: dt.date
    after: dt.date | None
    item_id: int
    title: str
    source: str
    seen_at: dt.datetime


class FollowedTopic(BaseModel):
    id: int
    name: str


class TopicNews(BaseModel):
    """A new item that fits a topic; `count` is how many of them the topic has."""

    topic_id: int
    count: int
    item_id: int
    title: str
    source: str
    day: dt.date


class DashboardQueries(Queries):
    """Each method is one statement, however many sources and items there are."""

    async def get_last_visit(self, person: str) -> tuple[dt.datetime | None, dt.datetime | None] | None:
        """When a person looked last, and when the visit before that ended; None for an unknown person."""
        query = select(col(Person.looked_at), col(Person.looked_before_at)).where(col(Person.name) == person)
        rows = await self._fetch_rows(query)
        return (rows[0][0], rows[0][1]) if rows else None

    async def save_visit(self, person: str, at: dt.datetime, before: dt.datetime | None) -> None:
        looked = {"looked_at": at, "looked_before_at": before}
        await self._execute(update(Person).where(col(Person.name) == person).values(looked))

    async def count_by_tier(self, since: dt.datetime, *, fresh_since: dt.datetime) -> list[TierCount]:
        """How many items were first seen since an instant, by tier, those without one last."""
        fresh = func.count().filter(col(Item.first_seen) >= fresh_since).label("fresh")
        # The `+ 0` leaves only the index of first sight: SQLite would read the items of all years by tier.
        tier = (col(Item.tier) + literal_column("0")).label("tier")
        query = select(tier, func.count().label("count"), fresh).where(*_build_visible_conditions(since))
        counts = await self._fetch_as(TierCount, query.group_by(tier))
        return sorted(counts, key=lambda count: (count.tier is None, count.tier))

    async def list_moved_deadlines(self, since: dt.datetime, *, today: dt.date, limit: int) -> list[MovedDeadline]:
        """The deadlines that were moved since an instant, the last first; not those whose days are all past."""
        query = (
            select(
                col(Deadline.id).label("deadline_id"),
                *(getattr(Deadline, name) for name in ("kind", "subject", "item_id")),
                *(getattr(DeadlineMove, name) for name in ("before", "after", "seen_at")),
                *(getattr(Item, name) for name in ("title", "source")),
            )
            .join(DeadlineMove, col(DeadlineMove.deadline_id) == col(Deadline.id))
            .join(Item, col(Item.id) == col(Deadline.item_id))
            .where(
                col(DeadlineMove.seen_at) >= since,
                col(DeadlineMove.before).is_not(None),
                (col(DeadlineMove.before) >= today) | (col(DeadlineMove.after) >= today),
                ~is_hidden(col(Item.id)),
            )
            .order_by(col(DeadlineMove.id).desc())
        )
        return await self._fetch_as(MovedDeadline, query.limit(limit))

    async def list_followed_topics(self, person: str) -> list[FollowedTopic]:
        query = (
            select(col(Topic.id), col(Topic.name))
            .join(TopicFollower, col(TopicFollower.topic_id) == col(Topic.id))
            .where(col(TopicFollower.person) == person)
            .order_by(col(Topic.name))
        )
        return await self._fetch_as(FollowedTopic, query)

    async def list_topic_news(self, person: str, since: dt.datetime, *, limit: int) -> list[TopicNews]:
        """What came since an instant for each topic that a person follows: so many items of each, the best first."""
        # The `+ 0` leaves only the index of items: SQLite would take that of topics, and read the fits of all years.
        of_topic = col(TopicFollower.topic_id) == col(TopicFit.topic_id) + 0
        best = (col(TopicFit.score).desc(), col(Item.tier).nulls_last(), col(Item.id).desc())
        news = (
            select(
                col(TopicFit.topic_id),
                func.count().over(partition_by=col(TopicFit.topic_id)).label("count"),
                func.row_number().over(partition_by=col(TopicFit.topic_id), order_by=best).label("place"),
                col(Item.id).label("item_id"),
                *(getattr(Item, name) for name in ("title", "source", "day")),
            )
            .join(TopicFollower, of_topic)
            .join(Item, col(Item.id) == col(TopicFit.item_id))
            .where(
                col(TopicFollower.person) == person, col(TopicFit.is_match).is_(True), *_build_visible_conditions(since)
            )
            .subquery()
        )
        names = [getattr(news.c, name) for name in TopicNews.model_fields]
        query = select(*names).where(news.c.place <= limit).order_by(news.c.topic_id, news.c.place)
        return await self._fetch_as(TopicNews, query)

    async def list_top_items(self, since: dt.datetime, limit: int) -> list[Item]:
        """The most important of the items first seen since an instant: by tier, rank in their run, newest first."""
        order = (
            col(Item.tier).asc().nulls_last(),
            col(Item.rank).asc().nulls_last(),
            col(Item.first_seen).desc(),
            col(Item.id).desc(),
        )
        query = select(Item).where(*_build_visible_conditions(since)).order_by(*order).limit(limit)
        return await self._fetch_all(query)

    async def count_new_by_day(self, days: Sequence[dt.date]) -> list[int]:
        """How many items were first seen on each of the days, the hidden ones too."""
        async with self._sessions.begin_read() as session:
            sums = await load_daily_sums(session, [TotalKind.ITEM], min(days), max(days))
        return [sums[TotalKind.ITEM][day, ""].count for day in days]

    async def load_period(self, begin: dt.datetime, end: dt.datetime) -> dict[str, SourcePeriod]:
        """How each source that was to run from one instant to before another fared, by its name: three statements."""
        within = (col(Run.planned_at) >= begin, col(Run.planned_at) < end)
        latest_first = (col(Run.planned_at).desc(), col(Run.id).desc())
        runs = select(col(Run.source), col(Run.id), col(Run.is_baseline)).where(*within).order_by(*latest_first)
        gaps = (
            select(col(Run.source), col(RunSection.name), col(RunSection.url))
            .join(RunSection, col(RunSection.run_id) == col(Run.id))
            .where(*within, col(RunSection.is_gap))
            .order_by(*latest_first, col(RunSection.ordinal), col(RunSection.id))
        )
        last_ids: dict[str, str] = {}
        baselines: set[str] = set()
        for source, run_id, is_baseline in await self._fetch_rows(runs):
            last_ids.setdefault(source, run_id)
            if is_baseline:
                baselines.add(source)
        periods = {
            run.source: SourcePeriod(last_run=run, is_baseline=run.source in baselines)
            for run in await self._fetch_in(select(Run), col(Run.id), last_ids.values())
        }
        for source, name, url in await self._fetch_rows(gaps):
            periods[source].gaps[url] = name
        return periods

    async def list_last_runs(self, since: dt.datetime) -> list[LastRun]:
        """The last run of each source that ended and was planned since an instant."""
        aged = _rank_ended_runs(since)
        is_baseline = (aged.c.baselines > 0).label("is_baseline")
        query: Select[*tuple[Any, ...]] = (
            select(col(Run.source), col(Run.status), is_baseline)
            .join(aged, aged.c.id == col(Run.id))
            .where(aged.c.age == 1, col(Run.source_id).is_not(None))
        )
        return [LastRun(*row) for row in await self._fetch_rows(query.order_by(col(Run.source)))]

    async def list_unread(self, since: dt.datetime, limit: int) -> tuple[int, list[UnreadPlace]]:
        """How many places those last runs did not read, and the first of them."""
        aged = _rank_ended_runs(since)
        is_last = col(Run.id).in_(select(aged.c.id).where(aged.c.age == 1)) & col(Run.source_id).is_not(None)
        query = (
            select(Unseen, col(Run.source), func.count().over())
            .join(Run, col(Run.id) == col(Unseen.run_id))
            .where(is_last)
            .order_by(col(Run.source), col(Unseen.id))
            .limit(limit)
        )
        rows = await self._fetch_rows(query)
        places = [UnreadPlace(source=source, **place.model_dump(exclude={"id"})) for place, source, _ in rows]
        return (rows[0][2] if rows else 0), places

    async def load_queue_status(self, since: dt.datetime) -> QueueStatus:
        """What waits and what runs now, and the tokens spent since an instant."""
        tokens = func.coalesce(func.sum(col(ModelCall.prompt_tokens) + col(ModelCall.completion_tokens)), 0)
        is_queued, is_running = (col(Run.status) == status for status in (RunStatus.QUEUED, RunStatus.RUNNING))
        runs = select(func.count()).select_from(Run)
        query = select(
            runs.where(is_queued).scalar_subquery().label("queued"),
            runs.where(is_running).scalar_subquery().label("running"),
            select(func.min(col(Run.planned_at))).where(is_queued).scalar_subquery().label("oldest_queued_at"),
            select(tokens).where(col(ModelCall.at) >= since).scalar_subquery().label("tokens"),
        )
        return (await self._fetch_as(QueueStatus, query))[0]

    async def list_sources(self) -> list[WatchedSource]:
        query: Select[*tuple[Any, ...]] = select(
            col(Source.id),
            col(Source.name),
            col(Source.enabled),
            col(Source.schedule).is_not(None),
            col(Source.last_run_at).is_not(None),
            col(Source.consecutive_failures),
            col(Source.last_error),
        )
        return [WatchedSource(*row) for row in await self._fetch_rows(query.order_by(col(Source.name)))]

    async def list_blocks(self, since: dt.datetime, *, source_id: int | None = None) -> list[BlockedPage]:
        """The pages that sites blocked since an instant, the latest first; each once for a run."""
        fallbacks = _select_blocks(Fallback, col(Fallback.where), since, source_id)
        both = fallbacks.union(_select_blocks(Unseen, col(Unseen.url), since, source_id)).subquery()
        query = (
            select(both.c.at, both.c.source, both.c.place, both.c.reason, col(Source.url).label("source_url"))
            .outerjoin(Source, col(Source.id) == both.c.source_id)
            .where(both.c.at >= since)
            .order_by(both.c.at.desc(), both.c.place)
            .limit(_MAX_BLOCKS)
        )
        return await self._fetch_as(BlockedPage, query)


def _select_blocks(
    table: type[Fallback | Unseen], place: Mapped[str], since: dt.datetime, source_id: int | None
) -> Select[dt.datetime, str, int | None, str, Message]:
    """What blocked the runs of one source, or all; those that succeeded, which are most, had nothing that did."""
    not_succeeded = col(Run.status).in_([status for status in RunStatus if status is not RunStatus.SUCCEEDED])
    meant = select(col(Run.id)).where(
        not_succeeded if source_id is None else col(Run.source_id) == source_id,
        col(Run.planned_at) >= since - _MAX_QUEUE_WAIT,
    )
    return (
        select(
            func.coalesce(col(Run.started_at), col(Run.planned_at), type_=UtcDateTime()).label("at"),
            col(Run.source).label("source"),
            col(Run.source_id).label("source_id"),
            place.label("place"),
            col(table.reason).label("reason"),
        )
        .join_from(table, Run, col(Run.id) == col(table.run_id))
        .where(
            col(table.run_id).in_(meant),
            type_coerce(col(table.reason), Text).contains(f'"{BLOCKED_CODE}"', autoescape=True),
        )
    )


def _build_visible_conditions(since: dt.datetime) -> Sequence[ColumnElement[bool]]:
    return col(Item.first_seen) >= since, ~is_hidden(col(Item.id))


def _rank_ended_runs(since: dt.datetime) -> Subquery:
    """The runs that ended, of those planned since an instant, the last of each source with `age` 1.

    `baselines` counts those of the source that were its very first.
    """
    # The `+ 0` leaves only the index of planned times: SQLite would take another one, and read the runs of all years.
    ended = (col(Run.planned_at) >= since, col(Run.status).not_in(_EXCLUDED_STATUSES))
    of_source = col(Run.source_id) + 0
    age = func.row_number().over(partition_by=of_source, order_by=(col(Run.planned_at).desc(), col(Run.id).desc()))
    baselines = func.count().filter(col(Run.is_baseline)).over(partition_by=of_source)
    return select(col(Run.id).label("id"), age.label("age"), baselines.label("baselines")).where(*ended).subquery()
