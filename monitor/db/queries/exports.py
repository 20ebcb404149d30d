"""Scheduled exports: what is due, which items changed since they were written, and what a batch came to."""

import builtins
import datetime as dt
import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Select, exists, func, or_, select
from sqlmodel import col

from monitor.db.sessions import Queries, sanitize_value, upsert_rows
from monitor.db.tables.collection import Item, Run
from monitor.db.tables.evidence import Claim, EvidenceRecord
from monitor.db.tables.exports import ExportBatch, ExportedVersion, ScheduledExport
from monitor.db.tables.people import HiddenItem
from monitor.db.tables.policies import Topic, TopicFit
from monitor.i18n.message import Message
from monitor.vocabulary import RunStatus

VERSIONED_FIELDS = (
    "source",
    "section",
    "url",
    "title",
    "date",
    "date_source",
    "page_date",
    "type",
    "summary",
    "summary_by",
    "statements",
    "rank",
    "tier",
    "by",
    "late",
    "is_repost",
    "document_number",
    "issuer",
    "language",
    "first_seen",
    "attachments",
    "evidence",
)
"""A change of one of these is a new version of an item, and so is one of the topics that it fits."""

WRITTEN_BY = ("bucket", "format", "team_id")
"""What decides which items are written, where and in which form."""

MAX_RETRY_PAUSE = dt.timedelta(hours=6)
"""No attempt is put off for longer; one that seems to be was put off by a clock that was ahead."""

_SCAN_SIZE = 2000
_OPEN_STATUSES = (RunStatus.QUEUED, RunStatus.RUNNING)
_COLUMNS = [getattr(Item, name) for name in VERSIONED_FIELDS]


class UnwrittenItem(NamedTuple):
    """An item with a version that was not written yet, and the day of its partition."""

    id: int
    day: dt.date


class ItemContent(NamedTuple):
    """An item as it is written now: its fields, topics, claims and records."""

    item: Item
    day: dt.date
    version: int
    digest: str
    topics: list[tuple[int, str, float]]
    claims: list[Claim]
    records: list[EvidenceRecord]


class ExportStore(Queries):
    async def add(self, export: ScheduledExport, *, limit: int) -> ScheduledExport | None:
        """Store an export; None where there are so many already, or one of that name."""
        stored = ScheduledExport(**sanitize_value(export.model_dump(exclude={"id"})))
        async with self._sessions.begin_write() as session:
            names = (await session.scalars(select(col(ScheduledExport.name)))).all()
            if len(names) >= limit or stored.name in names:
                return None
            session.add(stored)
            await session.flush()
        return stored

    async def get(self, name: str) -> ScheduledExport | None:
        return await self._fetch_first(select(ScheduledExport).where(col(ScheduledExport.name) == name))

    async def list(self) -> list[ScheduledExport]:
        return await self._fetch_all(select(ScheduledExport).order_by(col(ScheduledExport.name)))

    async def list_due(self, at: dt.datetime) -> builtins.list[ScheduledExport]:
        """What is due, the longest waiting first, or failed and was put off by a clock that was ahead."""
        next_at = col(ScheduledExport.next_at)
        is_put_off = (col(ScheduledExport.failing_since).is_not(None)) & (next_at > at + MAX_RETRY_PAUSE)
        query = select(ScheduledExport).where(or_(next_at <= at, is_put_off))
        return await self._fetch_all(query.order_by(next_at))

    async def update(self, export_id: int, changes: Mapping[str, Any]) -> bool:
        """Change fields of an export.

        False where it is gone, or where one of `WRITTEN_BY` would change while a batch is open: that is written once
        more under the same names, so it has to be of the same items in the same form at the same place.
        """
        async with self._lock(ScheduledExport, export_id) as (session, export):
            if export is None:
                return False
            is_moved = any(getattr(export, name) != changes.get(name, getattr(export, name)) for name in WRITTEN_BY)
            if is_moved and await session.scalar(_select_open_batch(export_id)) is not None:
                return False
            export.sqlmodel_update(sanitize_value(dict(changes)))
            return True

    async def remove(self, export_id: int) -> bool:
        """Forget an export with its batches and what it wrote; files stay."""
        async with self._lock(ScheduledExport, export_id) as (session, export):
            if export is None:
                return False
            await session.delete(export)
            return True

    async def list_batches(self, export_id: int, *, limit: int) -> builtins.list[ExportBatch]:
        """The batches of an export, newest first."""
        query = select(ExportBatch).where(col(ExportBatch.export_id) == export_id)
        return await self._fetch_all(query.order_by(col(ExportBatch.id).desc()).limit(limit))

    async def count_items(self, export_id: int) -> int:
        """How many items were written, in whatever version."""
        query = select(func.count()).select_from(ExportedVersion).where(col(ExportedVersion.export_id) == export_id)
        return await self._fetch_first(query) or 0

    async def get_open_batch(self, export_id: int) -> ExportBatch | None:
        """The batch that was begun and is not recorded as written."""
        return await self._fetch_first(_select_open_batch(export_id))

    async def open_batch(
        self, export: ScheduledExport, items: Sequence[UnwrittenItem], *, at: dt.datetime
    ) -> ExportBatch | None:
        """Fix which items are written together, and in which partition each of them stays.

        None where the export is gone, or has come to be written elsewhere or otherwise.
        """
        export_id = export.id or 0
        async with self._lock(ScheduledExport, export_id) as (session, stored):
            if stored is None or any(getattr(stored, name) != getattr(export, name) for name in WRITTEN_BY):
                return None
            batch = ExportBatch(export_id=export_id, started_at=at, item_ids=[item.id for item in items])
            session.add(batch)
            rows = [
                ExportedVersion(export_id=export_id, item_id=item.id, version=0, digest="", day=item.day).model_dump()
                for item in items
            ]
            await upsert_rows(session, ExportedVersion, rows, key=["export_id", "item_id"])  # one that is there stays
            await session.flush()
        return batch

    async def close_batch(
        self, batch: ExportBatch, written: Sequence[ItemContent], *, files: int, size_bytes: int, at: dt.datetime
    ) -> bool:
        """Record a batch as written, with the versions that are in it; False where it is recorded already."""
        async with self._lock(ExportBatch, batch.id) as (session, stored):
            if stored is None or stored.ended_at is not None:
                return False
            stored.sqlmodel_update(
                {"ended_at": at, "items": len(written), "files": files, "size_bytes": size_bytes, "item_ids": []}
            )
            rows = [
                ExportedVersion(
                    export_id=batch.export_id,
                    item_id=content.item.id or 0,
                    version=content.version,
                    digest=content.digest,
                    day=content.day,
                ).model_dump()
                for content in written
            ]
            if rows:
                key = ["export_id", "item_id"]
                await upsert_rows(session, ExportedVersion, rows, key=key, update=["version", "digest"])
            return True

    async def list_changed(self, export_id: int) -> builtins.list[UnwrittenItem]:
        """The items that are new or have a new version, by partition; hidden ones and those of open runs later."""
        known = {
            item_id: (digest, day)
            for item_id, digest, day in await self._fetch_rows(
                select(col(ExportedVersion.item_id), col(ExportedVersion.digest), col(ExportedVersion.day)).where(
                    col(ExportedVersion.export_id) == export_id
                )
            )
        }
        changed: builtins.list[UnwrittenItem] = []
        last_id = 0
        while rows := await self._load_versions(last_id):
            last_id = rows[-1][0]
            for item_id, day, digest in rows:
                written, partition = known.get(item_id, ("", day))
                if digest != written:
                    changed.append(UnwrittenItem(item_id, partition))
        return sorted(changed, key=lambda item: (item.day, item.id))

    async def _load_versions(self, after_id: int) -> builtins.list[tuple[int, dt.date, str]]:
        is_open = exists().where(col(Run.id) == col(Item.run_id), col(Run.status).in_(_OPEN_STATUSES))
        is_hidden = exists().where(col(HiddenItem.item_id) == col(Item.id))
        wanted = (col(Item.id) > after_id, ~is_open, ~is_hidden)
        query = select(col(Item.id), col(Item.day), *_COLUMNS).where(*wanted).order_by(col(Item.id)).limit(_SCAN_SIZE)
        rows = await self._fetch_rows(query)
        if not rows:
            return []
        topics = await self._load_topics([row[0] for row in rows])
        return [(row[0], row[1], compute_digest(row[2:], topics.get(row[0], ()))) for row in rows]

    async def _load_topics(self, item_ids: Sequence[int]) -> dict[int, builtins.list[tuple[int, str, float]]]:
        found: dict[int, builtins.list[tuple[int, str, float]]] = defaultdict(list)
        between = (col(TopicFit.item_id) >= min(item_ids), col(TopicFit.item_id) <= max(item_ids))
        query = (
            select(col(TopicFit.item_id), col(Topic.id), col(Topic.name), col(TopicFit.score))
            .join(Topic, col(Topic.id) == col(TopicFit.topic_id))
            .where(col(TopicFit.is_match).is_(True), *between)
            .order_by(col(TopicFit.item_id), col(Topic.id))
        )
        for item_id, topic_id, name, score in await self._fetch_rows(query):
            found[item_id].append((topic_id or 0, name, score))
        return found

    async def load_contents(self, export_id: int, item_ids: Sequence[int]) -> builtins.list[ItemContent]:
        """Return the items as they stand now, each with the number of its version; those that are gone are left out."""
        if not item_ids:
            return []
        items = await self._fetch_in(select(Item), col(Item.id), item_ids)
        rows = await self._fetch_in(
            select(ExportedVersion).where(col(ExportedVersion.export_id) == export_id),
            col(ExportedVersion.item_id),
            item_ids,
        )
        written = {row.item_id: row for row in rows}
        topics = await self._load_topics(item_ids)
        claims: dict[int, builtins.list[Claim]] = defaultdict(list)
        for claim in await self._fetch_in(select(Claim).order_by(col(Claim.id)), col(Claim.item_id), item_ids):
            claims[claim.item_id].append(claim)
        named = {name for item in items for name in item.evidence}
        named |= {claim.record_id for group in claims.values() for claim in group}
        found = await self._fetch_in(select(EvidenceRecord), col(EvidenceRecord.id), sorted(named))
        records = {record.id: record for record in found}
        return [
            _build_content(item, written[item.id or 0], topics.get(item.id or 0, []), claims[item.id or 0], records)
            for item in sorted(items, key=lambda item: item.id or 0)
        ]

    async def record_outcome(
        self, export: ScheduledExport, *, at: dt.datetime, next_at: dt.datetime | None, error: Message | None
    ) -> None:
        """Note how an export went; what somebody asked for meanwhile stays due."""
        async with self._lock(ScheduledExport, export.id) as (_, stored):
            if stored is None:
                return
            if stored.next_at == export.next_at:
                stored.next_at = next_at
            stored.last_error = error
            if error is None:
                stored.last_success_at, stored.failing_since, stored.failures = at, None, 0
            else:
                stored.failing_since, stored.failures = stored.failing_since or at, stored.failures + 1


def _build_content(
    item: Item,
    written: ExportedVersion,
    topics: list[tuple[int, str, float]],
    claims: list[Claim],
    records: Mapping[str, EvidenceRecord],
) -> ItemContent:
    digest = compute_digest([getattr(item, name) for name in VERSIONED_FIELDS], topics)
    version = written.version + (digest != written.digest)
    named = dict.fromkeys([*item.evidence, *(claim.record_id for claim in claims)])
    return ItemContent(
        item, written.day, version, digest, topics, claims, [records[name] for name in named if name in records]
    )


def compute_digest(values: Sequence[Any], topics: Sequence[tuple[int, str, float]]) -> str:
    """Return what tells two versions of an item apart; of the topics, which ones they are."""
    facts = [list(values), [topic_id for topic_id, _, _ in topics]]
    return hashlib.sha256(json.dumps(facts, default=str, sort_keys=True).encode()).hexdigest()[:32]


def _select_open_batch(export_id: int) -> Select[Any]:
    return select(ExportBatch).where(col(ExportBatch.export_id) == export_id, col(ExportBatch.ended_at).is_(None))
