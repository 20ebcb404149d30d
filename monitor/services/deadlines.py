"""Deadlines as people see them: the list, one with its history, and the calendar that programs subscribe to."""

import asyncio
import datetime as dt
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.queries.deadlines import MAX_ROWS, DeadlineFilter, DeadlineMoveView, DeadlineRow
from monitor.db.tables.collection import Item
from monitor.db.tables.policies import DeadlineMove
from monitor.db.visibility import see_as
from monitor.document import DocumentFacts
from monitor.errors import NotFound
from monitor.exports.document import normalize_line
from monitor.extras import needs_extra
from monitor.i18n.catalogue import render, translate
from monitor.i18n.message import Message
from monitor.policies.calendar import DeadlineEntry, find_postponements, merge_deadlines
from monitor.policies.changes import DeadlineChange, compare_deadlines, list_deadlines, name_deadline, update_deadlines
from monitor.services.alerts import AlertService
from monitor.services.teams import find_person_eyes
from monitor.vocabulary import DeadlineKind

CALENDAR_MEDIA_TYPE = "text/calendar"
MAX_EVENTS = 2000
_CALENDAR_PAST = dt.timedelta(days=90)
_MAX_UNFOLDED_CHARS = 18  # of four octets at most, as many as a line may have


def create_calendar_key() -> str:
    """Draw the key of a follower's calendar: whoever has it may read that, so nobody can guess it."""
    return secrets.token_urlsafe(32)


class DeadlineDetail(DeadlineEntry):
    """A deadline with its history, oldest move first; `dropped`: a later revision of its page states it no more."""

    history: list[DeadlineMoveView]
    dropped: bool = False


@dataclass(frozen=True, kw_only=True)
class DeadlineQuery:
    """Which deadlines are meant; `topic` and `sources` are names. Without `since`, those that are still to come."""

    since: dt.date | None = None
    until: dt.date | None = None
    kinds: Sequence[DeadlineKind] = ()
    topic: str | None = None
    policy: int | None = None
    sources: Sequence[str] = ()


@dataclass(frozen=True)
class DeadlineDays:
    """Deadlines by day; of the days that are `cut`, documents state further ones."""

    entries: Sequence[DeadlineEntry] = ()
    cut: Set[dt.date] = frozenset()


def fit_days(counts: Collection[int], limit: int) -> int | None:
    """Return how many of each day make up `limit` at most, one at least; None where all of all days do."""
    if sum(counts) <= limit:
        return None
    per_day = 1
    while sum(min(count, per_day + 1) for count in counts) <= limit:
        per_day += 1
    return per_day


def find_first_day(counts: Mapping[dt.date, int], today: dt.date, limit: int) -> dt.date:
    """Return the earliest day, today at the latest, from which on there are `limit` at most."""
    first, left = today, limit - sum(count for day, count in counts.items() if day >= today)
    for day in sorted((day for day in counts if day < today), reverse=True):
        left -= counts[day]
        if left < 0:
            break
        first = day
    return first


@dataclass(kw_only=True)
class DeadlineService:
    store: Store
    settings: Settings
    clock: Clock
    alerts: AlertService

    async def update(self, item: Item, before: DocumentFacts | None, after: DocumentFacts, run_id: str | None) -> None:
        """Bring the deadlines of an item to what its text states now, and tell of what a revision changed.

        Only reads and writes the database, in the caller's transaction. Without `before`, the text is read for the
        first time: nothing has changed, and the days that it states bring no alert. Else each difference between both
        readings is told of once, and the item's summary is marked stale. Doing it again changes nothing.
        """
        item_id, now = item.id or 0, self.clock.now()
        async with self.store.transaction():
            known = await self.store.deadlines.list_for_item(item_id)
            updates = update_deadlines(known, list_deadlines(after), item_id=item_id, at=now)
            revised = set(compare_deadlines(before, after)) if before is not None else set()
            moved = [update.change if update.change in revised else None for update in updates]
            rows = [
                (update.row, None if change is None else _build_move(change, run_id, now))
                for update, change in zip(updates, moved, strict=True)
            ]
            ids = await self.store.deadlines.save(rows)
            changes = {deadline: change for deadline, change in zip(ids, moved, strict=True) if change is not None}
            if changes:
                await self.store.items.update(item_id, is_summary_stale=True)
                counts = await self.store.deadlines.count_moves(list(changes))
                await self.alerts.raise_for_changes(item, changes, move_counts=counts)
            await self.alerts.raise_for_repeals(item, before, after)

    async def announce_postponements(self, items: Sequence[Item]) -> None:
        """Tell of deadlines of other documents that these ones, once they are in their policies, postpone.

        Only reads and writes the database. What came with the run that found its postponement is no news.
        """
        by_id = {item.id or 0: item for item in items}
        policy_ids = await self.store.deadlines.list_policies(list(by_id))
        if not policy_ids:
            return
        postponed = []
        for old, new in find_postponements(await self.store.deadlines.list_of_policies(policy_ids), by_id):
            before = await self.store.items.get(old.item_id)
            if before is not None and before.run_id != by_id[new.item_id].run_id:
                postponed.append((old, new))
        await self.alerts.raise_for_postponements(postponed)

    async def get(self, deadline_id: int) -> DeadlineDetail:
        """Return a deadline as the list has it, or one that is in no list any more; `NotFound` for none at all."""
        row = await self.store.deadlines.get(deadline_id)
        if row is None:
            raise NotFound("deadline.not_found", deadline=deadline_id)
        rows = await self.store.deadlines.list_of_policies([row.policy_id] if row.policy_id else [])
        entries = [entry for entry in merge_deadlines(rows) if entry.id == deadline_id] or merge_deadlines([row])
        lead = (entries[0].item_id, row.kind, entries[0].day, entries[0].subject)
        shown = [other for other in rows if (other.item_id, other.kind, other.day, other.subject) == lead]
        history = (shown or [row])[0].moves
        return DeadlineDetail(**entries[0].model_dump(), history=history, dropped=row.dropped_at is not None)

    async def build_calendar(self, query: DeadlineQuery, *, language: str, name: str = "") -> bytes:
        """Return the deadlines that are meant as an iCalendar file, by default with those of the last 90 days.

        It has 2,000 at most: the nearest to come, and of what is past the latest for which there is room.
        """
        entries = await self._load_calendar(await self._build_filter(query), has_since=query.since is not None)
        name = name or translate(language, "Deadlines")
        return await asyncio.to_thread(build_calendar, entries, language=language, name=name)

    async def build_private_calendar(self, key: str, *, language: str) -> bytes:
        """Return the calendar of a topic that somebody follows, by its key, with what that person may see.

        `NotFound` for a key that is none, and where they do not see the topic any more.
        """
        with see_as(None):
            found = await self.store.deadlines.find_calendar(key)
        if found is None:
            raise NotFound("deadline.no_calendar")
        topic, person = found
        with see_as(await find_person_eyes(person, self.store)):
            if await self.store.topics.get(topic.id or 0) is None:
                raise NotFound("deadline.no_calendar")
            entries = await self._load_calendar(DeadlineFilter(since=self._get_today(), topic_id=topic.id))
        return await asyncio.to_thread(build_calendar, entries, language=language, name=topic.name)

    async def _load_calendar(self, wanted: DeadlineFilter, *, has_since: bool = False) -> list[DeadlineEntry]:
        """Return what a calendar holds; with `has_since`, what is meant from that day on, else the latest past too."""
        if wanted.since is not None and not has_since:
            past = wanted.model_copy(update={"since": wanted.since - _CALENDAR_PAST})
            counts = await self.store.deadlines.count_by_day(past)
            wanted = wanted.model_copy(update={"since": find_first_day(counts, wanted.since, MAX_EVENTS)})
        return await self._load_entries(wanted, limit=MAX_EVENTS)

    async def _load_entries(
        self, wanted: DeadlineFilter, *, per_day: int | None = None, limit: int = MAX_ROWS
    ) -> list[DeadlineEntry]:
        rows, ids = await self.store.deadlines.list_open(wanted, per_day=per_day, limit=limit)
        return await asyncio.to_thread(_merge_meant, rows, ids, wanted)

    async def list_nearest(self, query: DeadlineQuery, limit: int) -> tuple[Sequence[DeadlineEntry], bool]:
        """Return the nearest of what is meant, and whether documents state more than `limit`."""
        wanted = await self._build_filter(query)
        rows, ids = await self.store.deadlines.list_open(wanted, limit=limit + 1)
        return _merge_meant(rows, ids, wanted)[:limit], len(ids) > limit

    async def list(self, query: DeadlineQuery) -> list[DeadlineEntry]:
        """Return the deadlines that are meant, each once, the nearest first; `NotFound` for an unknown topic."""
        return await self._load_entries(await self._build_filter(query))

    async def list_days(self, query: DeadlineQuery, *, limit: int) -> DeadlineDays:
        """Return what is meant as `list` does; where it is more than `limit`, the first of each day."""
        wanted = await self._build_filter(query)
        counts = await self.store.deadlines.count_by_day(wanted)
        per_day = fit_days(counts.values(), limit)
        cut = {day for day, count in counts.items() if per_day is not None and count > per_day}
        return DeadlineDays(await self._load_entries(wanted, per_day=per_day), cut)

    async def _build_filter(self, query: DeadlineQuery) -> DeadlineFilter:
        topic_id = None
        if query.topic is not None:
            topic = await self.store.deadlines.find_topic(query.topic)
            if topic is None:
                raise NotFound("deadline.no_topic", topic=query.topic)
            topic_id = topic.id
        since = query.since or self._get_today()
        return DeadlineFilter(
            since=since,
            until=query.until,
            kinds=query.kinds,
            sources=query.sources,
            policy_id=query.policy,
            topic_id=topic_id,
        )

    def _get_today(self) -> dt.date:
        return self.clock.now().astimezone(ZoneInfo(self.settings.timezone)).date()


def _merge_meant(rows: Sequence[DeadlineRow], ids: Set[int], wanted: DeadlineFilter) -> list[DeadlineEntry]:
    """Return the entries of the deadlines with these ids; another document of their policies may set another day."""
    meant = {(row.item_id, row.kind) for row in rows if row.id in ids}
    return [
        entry
        for entry in merge_deadlines(rows)
        if any((item_id, entry.kind) in meant for item_id in entry.items)
        and (wanted.since is None or entry.day >= wanted.since)
        and (wanted.until is None or entry.day <= wanted.until)
    ]


def _build_move(change: DeadlineChange, run_id: str | None, now: dt.datetime) -> DeadlineMove:
    return DeadlineMove(
        deadline_id=0,  # the store knows it
        before=change.before,
        after=change.after,
        passage=change.passage,
        run_id=run_id or "",
        seen_at=now,
    )


def describe_entry(entry: DeadlineEntry) -> Message:
    """Say what begins or ends, and of which document."""
    return Message.of("deadline.of", name=name_deadline(entry.kind, entry.subject), title=normalize_line(entry.title))


def build_calendar(entries: Sequence[DeadlineEntry], *, language: str, name: str) -> bytes:
    """Return an iCalendar file (RFC 5545) of whole days; an event keeps its UID when its day moves.

    `ExtraMissing` without the library that escapes and folds its lines. Its components are left aside: with them,
    a calendar of thousands of events takes five times as long.
    """
    with needs_extra("documents"):
        from icalendar.parser import Contentline

    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Monitor//Deadlines//EN", "METHOD:PUBLISH"]
    lines += [f"X-WR-CALNAME:{_escape(normalize_line(name))}", "REFRESH-INTERVAL;VALUE=DURATION:PT1H"]
    for entry in entries:
        lines += _iter_event_lines(entry, language)
    lines.append("END:VCALENDAR")
    folded: list[bytes] = [
        Contentline(line).to_ical() if len(line) > _MAX_UNFOLDED_CHARS else line.encode()  # type: ignore[no-untyped-call]
        for line in lines
    ]
    return b"".join(line + b"\r\n" for line in folded)


def _iter_event_lines(entry: DeadlineEntry, language: str) -> Iterator[str]:
    lines = [normalize_line(entry.passage)]
    if entry.moved_from is not None:
        moved = Message.of("deadline.moved_from", before=entry.moved_from)
        lines.insert(0, render(moved, language))
    lines += [f"{normalize_line(entry.source)} {entry.url}".strip()]
    description = "\n".join(filter(None, lines))
    stamp = (entry.moved_at or entry.seen_at).astimezone(dt.UTC)
    yield "BEGIN:VEVENT"
    yield f"SUMMARY:{_escape(render(describe_entry(entry), language))}"
    yield f"DTSTART;VALUE=DATE:{entry.day:%Y%m%d}"
    yield f"DTEND;VALUE=DATE:{entry.day + dt.timedelta(days=1):%Y%m%d}"
    yield f"DTSTAMP:{stamp:%Y%m%dT%H%M%SZ}"
    yield f"UID:deadline-{entry.id}@monitor"
    yield f"SEQUENCE:{entry.moves}"
    yield f"CATEGORIES:{_escape(render(name_deadline(entry.kind), language))}"
    yield f"DESCRIPTION:{_escape(description)}"
    yield "TRANSP:TRANSPARENT"
    yield f"URL:{entry.url}"
    yield "END:VEVENT"


def _escape(text: str) -> str:
    from icalendar.prop import vText

    return vText(text).to_ical().decode()
