"""Alerts: what people are told at once, each thing once a target, and how that becomes deliveries.

An alert is stored in the transaction that stores what it tells of, and waits there. Once the oldest of a target is a
minute old, the scheduler puts a delivery on record that carries all that wait, and notes it in them: one transaction.
Whatever is killed when, no alert is lost, and none is sent twice.
"""

import datetime as dt
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from zoneinfo import ZoneInfo

from monitor.briefing.deliver import create_delivery, format_planned_time
from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.config.targets import TargetSettings
from monitor.db.database import Store
from monitor.db.queries.deadlines import REPEALING_RELATIONS, DeadlineFilter, DeadlineRow, build_scope, is_unique_key
from monitor.db.queries.filters import ItemFilter
from monitor.db.queries.webhooks import EventFact
from monitor.db.tables.collection import Item
from monitor.db.tables.delivery import DeliveryKind
from monitor.db.tables.policies import Alert, AlertKind, Topic, TopicAlerts, TopicFit
from monitor.db.tables.webhooks import WebhookEventType
from monitor.db.visibility import see_as
from monitor.document import DocumentFacts, Relation
from monitor.i18n.message import Message
from monitor.logs import get_logger
from monitor.policies.calendar import REMINDER_DAYS, Reminder, find_due_reminders, merge_deadlines
from monitor.policies.changes import DeadlineChange, build_subject_key, describe_deadline_change, name_deadline
from monitor.policies.names import list_relation_keys
from monitor.services.teams import find_target_team, get_team_eyes
from monitor.vocabulary import ItemType, PolicyStage

REMINDER_TIME = dt.time(8)
"""From then on, by the service's clock, the reminders of a day are raised."""

_PROPOSING_STAGES = (PolicyStage.PLAN, PolicyStage.DRAFT, PolicyStage.CONSULTATION)
_OTHER_STAGES = (*_PROPOSING_STAGES, PolicyStage.INTERPRETATION, PolicyStage.QA, PolicyStage.ENFORCEMENT)
"""What proposes a repeal, or tells of one, repeals nothing."""

_BATCH_PERIOD = dt.timedelta(minutes=1)
_MAX_BATCH = 200
_REPEAL_WINDOW = dt.timedelta(days=30)
_log = get_logger("alerts")


@dataclass(frozen=True)
class _News:
    """What an item brings; whoever is to hear of the item `about` is told as well."""

    item_id: int
    key: str
    message: Message
    about: int | None = None


@dataclass(frozen=True)
class _Recipient:
    target: str
    topic_id: int | None = None


@dataclass(kw_only=True)
class AlertService:
    """Raises alerts for the targets with `alerts` and for those of topics whose followers hear of things at once.

    The `raise_…` methods only read and write the database: they join the transaction of the caller.
    """

    store: Store
    settings: Settings
    clock: Clock

    async def raise_for_changes(
        self, item: Item, changes: Mapping[int, DeadlineChange], *, move_counts: Mapping[int, int]
    ) -> list[Alert]:
        """Tell of deadlines that a revision of an item added, moved or dropped, but not of days that are past.

        Both are by the ids of the deadlines; `move_counts` says how often each was moved by now.
        """
        today = self._get_today()
        scope = build_scope(item.id or 0, await self.store.alerts.find_policy(item.id or 0))
        news = [
            _News(
                item.id or 0,
                _build_move_key(scope, change, move_counts.get(deadline_id)),
                describe_deadline_change(change),
            )
            for deadline_id, change in changes.items()
            if change.is_open(today)
        ]
        return await self._raise(AlertKind.DEADLINE_MOVED, news)

    async def raise_for_postponements(self, postponed: Iterable[tuple[DeadlineRow, DeadlineRow]]) -> list[Alert]:
        """Tell of deadlines that another document postpones, given with what takes their place.

        The page that had the day may say the same later: it is told of once.
        """
        news = []
        for old, new in postponed:
            change = DeadlineChange(old.kind, old.subject, old.day, new.day, new.passage)
            if change.is_open(self._get_today()):
                key = _build_move_key(old.scope, change, len(old.moves) + 1)
                news.append(_News(new.item_id, key, describe_deadline_change(change), about=old.item_id))
        return await self._raise(AlertKind.DEADLINE_MOVED, news)

    async def raise_for_repeals(self, item: Item, before: DocumentFacts | None, after: DocumentFacts) -> list[Alert]:
        """Tell that a new document repeals or replaces one that the archive has."""
        if self._get_today() - item.day > _REPEAL_WINDOW or after.stage in _OTHER_STAGES:
            return []
        stated = {_build_relation_key(relation) for relation in before.relations} if before else set()
        news: list[_News] = []
        for relation in after.relations:
            if relation.type not in REPEALING_RELATIONS or _build_relation_key(relation) in stated:
                continue
            repealed = await self._find_documents(relation)
            repealed = [document for document in repealed if document.id != item.id and document.day <= item.day]
            if repealed:
                old = repealed[0]
                words = Message.of(f"alert.{relation.type}", title=old.title, by=item.title)
                news.append(_News(item.id or 0, f"repealed:i{old.id}", words, about=old.id))
        return await self._raise(AlertKind.REPEALED, news)

    async def _find_documents(self, relation: Relation) -> list[Item]:
        """Return the items of the document that a relation is to, but not of its drafts, oldest first."""
        found = await self.store.alerts.find_documents(relation.number, relation.title)
        for key in filter(is_unique_key, list_relation_keys(relation) if not found else ()):
            owners = await self.store.alerts.list_owners(key)
            facts = await self.store.policies.load_facts([owner.id or 0 for owner in owners])
            drafts = {item_id for item_id, row in facts.items() if row.document.stage in _PROPOSING_STAGES}
            if found := [owner for owner in owners if owner.id not in drafts]:
                return found
        return found

    async def raise_for_topics(self, item: Item, fits: Iterable[tuple[Topic, TopicFit]]) -> list[Alert]:
        """Tell the targets of each topic that an item fits and whose followers hear of it at once.

        What the first run of a source has found is no news.
        """
        run = await self.store.runs.get(item.run_id)
        if run is not None and run.is_baseline:
            return []
        now, known = self.clock.now(), {target.name for target in self.settings.deliver.targets}
        alerts = [
            Alert(
                target=target,
                kind=AlertKind.TOPIC_MATCH,
                key=f"topic:{topic.id}:{item.id}",
                item_id=item.id or 0,
                topic_id=topic.id,
                message=Message.of("alert.topic_match", topic=topic.name, reason=fit.reason),
                raised_at=now,
            )
            for topic, fit in fits
            if topic.alerts is TopicAlerts.AT_ONCE and fit.is_match
            for target in topic.targets
            if target in known
        ]
        return await self._store(alerts)

    async def raise_due(self) -> list[Alert]:
        """Remind of the deadlines that end in seven days, and of those that end tomorrow; each time once.

        Targets get alerts, and webhooks events. What a service that stood still has missed is made up for until the
        day itself.
        """
        zone = ZoneInfo(self.settings.timezone)
        local = self.clock.now().astimezone(zone)
        if local.time().replace(tzinfo=None) < REMINDER_TIME:
            return []
        today = local.date()
        await self._add_webhook_events(today, zone)
        news = []
        for reminder in await self._find_reminders(today, zone):
            entry = reminder.entry
            code = {0: "alert.near_today", 1: "alert.near_tomorrow"}.get(reminder.days_left, "alert.near")
            name = name_deadline(entry.kind, entry.subject)
            words = Message.of(code, name=name, day=entry.day, days=reminder.days_left)
            news.append(_News(entry.item_id, reminder.key, words))
        async with self.store.transaction():
            return await self._raise(AlertKind.DEADLINE_NEAR, news)

    async def _find_reminders(self, today: dt.date, zone: ZoneInfo) -> list[Reminder]:
        near = DeadlineFilter(since=today, until=today + dt.timedelta(days=max(REMINDER_DAYS)))
        rows, _ = await self.store.deadlines.list_open(near)
        return find_due_reminders(merge_deadlines(rows), today=today, zone=zone)

    async def _add_webhook_events(self, today: dt.date, zone: ZoneInfo) -> None:
        """Store an event of each reminder; a team's own document speaks only where none of all states the day."""
        teams = {endpoint.team_id for endpoint in await self.store.webhooks.list_endpoints()}
        covered: set[int] = set()
        now = self.clock.now()
        for team_id in sorted(teams and teams | {None}, key=lambda number: number or 0):
            with see_as(get_team_eyes(team_id)):
                reminders = await self._find_reminders(today, zone)
            fresh = [reminder for reminder in reminders if covered.isdisjoint(reminder.entry.items)]
            if team_id is None:
                covered = {item_id for reminder in reminders for item_id in reminder.entry.items}
            facts = [
                EventFact(
                    WebhookEventType.DEADLINE_NEAR,
                    f"deadline:{reminder.entry.id}",
                    now,
                    key=self._build_event_key(reminder, team_id),
                )
                for reminder in fresh
            ]
            if facts:
                await self.store.webhooks.add_events_once(facts)

    def _build_event_key(self, reminder: Reminder, team_id: int | None) -> str:
        """Return the id of a reminder's event: the same at every look, and not that of another service's."""
        named = f"{self.settings.web.public_url}|{team_id}|{reminder.key}"
        return f"evt_{hashlib.sha256(named.encode()).hexdigest()[:32]}"

    async def release(self) -> None:
        """Put the alerts that wait into deliveries: one for each target, once its oldest alert is a minute old."""
        now = self.clock.now()
        waiting = sorted(await self.store.alerts.list_waiting(), key=lambda alert: alert.target)
        targets = {target.name: target for target in self.settings.deliver.targets}
        for name, group in groupby(waiting, key=lambda alert: alert.target):
            alerts = list(group)[:_MAX_BATCH]
            target, oldest = targets.get(name), alerts[0].raised_at
            if target is None:
                await self.store.alerts.delete_waiting(name)
            elif not now - _BATCH_PERIOD < oldest <= now:  # what bears a later instant is of a clock that was ahead
                await self._release_to(target, alerts, now)

    async def _release_to(self, target: TargetSettings, alerts: Sequence[Alert], now: dt.datetime) -> None:
        name = f"alerts-{format_planned_time(now)}"
        team_id = await find_target_team(target, self.store)
        delivery = create_delivery(target, DeliveryKind.ALERT, name=name, planned_at=now, now=now, team_id=team_id)
        if await self.store.alerts.release([alert.id or 0 for alert in alerts], delivery):
            _log.info("alerts released", delivery=delivery.id, count=len(alerts))

    async def _raise(self, kind: AlertKind, news: Sequence[_News]) -> list[Alert]:
        """Store an alert of all that is new for each target that is to hear of it."""
        if not news:
            return []
        now = self.clock.now()
        concerned = [{entry.item_id, entry.about or entry.item_id} for entry in news]
        recipients = await self._find_recipients(set().union(*concerned))
        alerts = [
            Alert(
                target=recipient.target,
                kind=kind,
                key=entry.key,
                item_id=entry.item_id,
                topic_id=recipient.topic_id,
                message=entry.message,
                raised_at=now,
            )
            for entry, item_ids in zip(news, concerned, strict=True)
            for recipient in {
                found.target: found for item_id in sorted(item_ids) for found in recipients.get(item_id, ())
            }.values()
        ]
        return await self._store(
            alerts, {entry.item_id: item_ids for entry, item_ids in zip(news, concerned, strict=True)}
        )

    async def _store(self, alerts: Sequence[Alert], concerned: Mapping[int, set[int]] | None = None) -> list[Alert]:
        """Store what is new; `concerned` are the items that the alerts of an item speak of, beside itself."""
        fresh = await self.store.alerts.add(await self._drop_hidden(alerts, concerned or {}))
        for alert in fresh:
            _log.info("alert", kind=str(alert.kind), target=alert.target, item=alert.item_id, key=alert.key)
        return fresh

    async def _drop_hidden(self, alerts: Sequence[Alert], concerned: Mapping[int, set[int]]) -> list[Alert]:
        """Return the alerts whose items and topics the targets may see, each with the eyes of its team."""
        if not alerts or not await self.store.teams.list_names():
            return list(alerts)
        targets = {target.name: target for target in self.settings.deliver.targets}
        seen = []
        for alert in alerts:
            with see_as(get_team_eyes(await find_target_team(targets[alert.target], self.store))):
                item_ids = concerned.get(alert.item_id, set()) | {alert.item_id}
                is_topic_seen = alert.topic_id is None or await self.store.topics.get(alert.topic_id) is not None
                if is_topic_seen and len(await self.store.topics.load_items(sorted(item_ids))) == len(item_ids):
                    seen.append(alert)
        return seen

    async def _find_recipients(self, item_ids: set[int]) -> dict[int, list[_Recipient]]:
        """Return who hears of which item: each target once, as its topic's where it would not hear of it otherwise."""
        found: dict[int, dict[str, _Recipient]] = {item_id: {} for item_id in item_ids}
        for target in self.settings.deliver.targets:
            for item in await self._list_meant(target, item_ids) if target.alerts else ():
                found[item.id or 0][target.name] = _Recipient(target.name)
        known = {target.name for target in self.settings.deliver.targets}
        for item_id, topic in await self.store.alerts.list_topic_targets(sorted(item_ids)):
            for name in known.intersection(topic.targets):
                found[item_id].setdefault(name, _Recipient(name, topic.id))
        return {item_id: list(by_target.values()) for item_id, by_target in found.items()}

    async def _list_meant(self, target: TargetSettings, item_ids: set[int]) -> list[Item]:
        """Return those of the items that a briefing for the target would take; hidden ones are in none."""
        wanted = ItemFilter(
            ids=sorted(item_ids),
            sources=target.sources,
            tags=target.tags,
            types=[ItemType(word) for word in target.types],
            keywords=target.keywords,
        )
        return await self.store.items.list(wanted, limit=None)

    def _get_today(self) -> dt.date:
        return self.clock.now().astimezone(ZoneInfo(self.settings.timezone)).date()


def _build_move_key(scope: str, change: DeadlineChange, count: int | None) -> str:
    """Return the key of a move; `count` is how often the deadline was moved by then."""
    subject = hashlib.sha256(build_subject_key(change.subject).encode()).hexdigest()[:12]
    return f"moved:{scope}:{change.kind}:{subject}:{change.before}:{change.after}:{count}"


def _build_relation_key(relation: Relation) -> tuple[str, str, str]:
    return relation.type.value, relation.number or "", relation.title or ""
