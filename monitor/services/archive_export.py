"""The archive, exported on a schedule for a firm's own tools: each version of each item once, whatever is killed when.

An export goes in batches. A batch is put on record with its items before it is written: whoever goes on after a kill
writes the same files once more, under the same names, and only then notes which versions are out.
"""

import asyncio
import datetime as dt
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, field_validator

from monitor.config.export import BucketSettings
from monitor.config.model import Settings
from monitor.db.queries.exports import VERSIONED_FIELDS, ItemContent
from monitor.db.sessions import split_batches
from monitor.db.tables.exports import ExportBatch, ExportFormat, ScheduledExport
from monitor.db.visibility import see_as
from monitor.errors import Conflict, DatabaseGone, MonitorError, NotFound, UsageError
from monitor.exports.data import render_json
from monitor.exports.destinations import Destination, open_destination
from monitor.exports.item_files import (
    ExportedClaim,
    ExportedItem,
    ExportedRecord,
    ExportedTopic,
    render_item_lines,
    render_item_markdown,
    render_item_parquet,
)
from monitor.extras import check_extra
from monitor.fetch.outbound import OutboundPolicy
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.logs import get_logger
from monitor.services.audit import SERVICE, Actor, AuditAction, AuditedService
from monitor.services.schedules import check_schedule, find_next_fire_time
from monitor.services.teams import get_team_eyes
from monitor.vocabulary import Role

MAX_EXPORTS = 50
NAME_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,39}$"
BATCH_SIZE = 500
RETRY_PAUSES = tuple(dt.timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 360))
_MAX_SHOWN_BATCHES = 20
_log = get_logger("exports")


class ExportPatch(BaseModel, extra="forbid"):
    """What is to change of an export; what is not named stays.

    A new place, format or team holds for what is written from then on: what is out stays where and as it is, and is
    not written again. A null is no schedule, the configured folder, and what belongs to all.
    """

    format: ExportFormat = ExportFormat.JSON_LINES
    schedule: str | None = Field(default=None, max_length=100, examples=["0 5 * * *"])
    bucket: str | None = Field(default=None, max_length=40, examples=["lake"])
    team: str | None = Field(default=None, max_length=60)

    @field_validator("schedule", "bucket", "team")
    @classmethod
    def _drop_empty(cls, text: str | None) -> str | None:
        return (text or "").strip() or None


class ExportForm(ExportPatch):
    """An export as it is typed. Its name is the folder that it goes to, below the configured folder or in a bucket."""

    name: str = Field(pattern=NAME_PATTERN, examples=["warehouse"])


class ExportSchema(MessageModel):
    """An export as it stands. `failing_since` is when the first attempt failed after the last success."""

    name: str
    format: ExportFormat
    schedule: str | None
    bucket: str | None
    team_id: int | None
    created_at: dt.datetime
    next_at: dt.datetime | None
    last_success_at: dt.datetime | None
    failing_since: dt.datetime | None
    last_error: Message | None


class ExportBatchSchema(BaseModel):
    """Items that were written together; without `ended_at` it is being written, or will be once more."""

    id: int
    started_at: dt.datetime
    ended_at: dt.datetime | None
    items: int
    files: int
    size_bytes: int


class ExportDetail(ExportSchema):
    """An export with the number of items that are out, and its latest batches, the newest first."""

    exported_items: int
    batches: list[ExportBatchSchema]


@dataclass(kw_only=True)
class ArchiveExportService(AuditedService):
    """What is exported when. What is out stays out: a changed export goes on with what is new from then on."""

    settings: Settings

    async def list(self, *, by: Actor) -> Sequence[ExportSchema]:
        by.require(Role.ADMIN)
        return [_build_schema(row) for row in await self.store.exports.list()]

    async def get(self, name: str, *, by: Actor) -> ExportDetail:
        by.require(Role.ADMIN)
        row = await self._load(name)
        batches = await self.store.exports.list_batches(row.id or 0, limit=_MAX_SHOWN_BATCHES)
        return ExportDetail(
            **_build_schema(row).model_dump(),
            exported_items=await self.store.exports.count_items(row.id or 0),
            batches=[ExportBatchSchema.model_validate(batch, from_attributes=True) for batch in batches],
        )

    async def add(self, form: ExportForm, *, by: Actor) -> ExportSchema:
        """Add an export; `UsageError` where its place is not configured, `Conflict` where its name is taken."""
        by.require(Role.ADMIN)
        self._check_place(form.bucket, form.format)
        wanted = ScheduledExport(
            name=form.name,
            format=form.format,
            schedule=form.schedule,
            bucket=form.bucket,
            team_id=await self._find_team(form.team),
            created_at=self.clock.now(),
            next_at=self._find_next(form.schedule),
        )
        async with self.store.transaction():
            stored = await self.store.exports.add(wanted, limit=MAX_EXPORTS)
            if stored is None:
                raise Conflict("export.taken", name=form.name, limit=MAX_EXPORTS)
            await self.record(by, AuditAction.EXPORT_ADD, form.name, after=form.model_dump(mode="json"))
        return _build_schema(stored)

    async def edit(self, name: str, patch: ExportPatch, *, by: Actor) -> ExportSchema:
        """Change what is named; `Conflict` for another place, format or team while a batch is being written."""
        by.require(Role.ADMIN)
        given: dict[str, Any] = {field: getattr(patch, field) for field in patch.model_fields_set}
        row = await self._load(name)
        place = given.get("bucket", row.bucket), given.get("format", row.format)
        if place != (row.bucket, row.format):
            self._check_place(*place)
        changes = {field: value for field, value in given.items() if field != "team"}
        if given.get("schedule", row.schedule) != row.schedule:
            changes["next_at"] = self._find_next(given["schedule"])
        if "team" in given:
            changes["team_id"] = await self._find_team(given["team"])
        async with self.store.transaction():
            before = await self._describe(await self._load(name))
            if not await self.store.exports.update(row.id or 0, changes):
                raise Conflict("export.is_writing", name=name)
            stored = await self._load(name)
            after = await self._describe(stored)
            change = {"before": {field: before[field] for field in given}, "after": {f: after[f] for f in given}}
            await self.record(by, AuditAction.EXPORT_EDIT, name, **change)
            return _build_schema(stored)

    async def _describe(self, row: ScheduledExport) -> dict[str, Any]:
        """What can be changed of an export, as `ExportPatch` names it."""
        team = (await self.store.teams.list_names()).get(row.team_id) if row.team_id is not None else None
        return {"schedule": row.schedule, "format": str(row.format), "bucket": row.bucket, "team": team}

    def _check_place(self, bucket: str | None, form: ExportFormat) -> None:
        find_place(self.settings, bucket)
        if bucket is not None or form is ExportFormat.PARQUET:
            check_extra("export", UsageError)

    async def remove(self, name: str, *, by: Actor) -> None:
        """Forget an export, and what it wrote; the files stay where they are."""
        by.require(Role.ADMIN)
        async with self.store.transaction():
            row = await self._load(name)
            await self.store.exports.remove(row.id or 0)
            before = _build_schema(row).model_dump(mode="json", include={"format", "schedule", "bucket"})
            await self.record(by, AuditAction.EXPORT_REMOVE, name, before=before)

    async def request_run(self, name: str, *, by: Actor) -> ExportSchema:
        """Have an export run as soon as a worker is free."""
        by.require(Role.ADMIN)
        async with self.store.transaction():
            row = await self._load(name)
            await self.store.exports.update(row.id or 0, {"next_at": self.clock.now()})
            await self.record(by, AuditAction.EXPORT_RUN, name)
            return _build_schema(await self._load(name))

    async def list_failing(self) -> Sequence[ExportSchema]:
        return [_build_schema(row) for row in await self.store.exports.list() if row.failing_since is not None]

    async def _load(self, name: str) -> ScheduledExport:
        row = await self.store.exports.get(name)
        if row is None:
            raise NotFound("export.not_found", name=name)
        return row

    async def _find_team(self, name: str | None) -> int | None:
        if name is None:
            return None
        for team_id, known in (await self.store.teams.list_names()).items():
            if known == name:
                return team_id
        raise NotFound("team.not_found", team=name)

    def _find_next(self, schedule: str | None) -> dt.datetime | None:
        if schedule is None:
            return None
        check_schedule(schedule, self.settings.timezone)
        return find_next_fire_time(schedule, self.settings.timezone, self.clock.now())


Renew = Callable[[], Awaitable[bool]]
"""Renews the claim to be the only one that exports; False where it is lost."""


class _LeaseLost(Exception):
    """Another process goes on with what was being written."""


class _Changed(Exception):
    """The export was removed or changed while it ran; it is due still, and goes on as it is now."""


@dataclass(kw_only=True)
class ArchiveExporter(AuditedService):
    """Writes what is due; one process at a time has that duty."""

    settings: Settings

    async def has_due(self) -> bool:
        return bool(await self.store.exports.list_due(self.clock.now()))

    async def run_due(self, renew: Renew) -> None:
        for export in await self.store.exports.list_due(self.clock.now()):
            await self.run(export, renew)

    async def run(self, export: ScheduledExport, renew: Renew) -> Message | None:
        """Write all that is new or changed, and note how it went; returns why it failed."""
        try:
            place = find_place(self.settings, export.bucket)
            async with open_destination(export.name, place, OutboundPolicy(self.settings.network)) as destination:
                with see_as(get_team_eyes(export.team_id)):
                    count = await self._write_changed(export, destination, renew)
        except DatabaseGone:
            raise
        except _LeaseLost:
            return Message("export.busy")
        except _Changed:
            return Message.of("export.changed_meanwhile", name=export.name)
        except MonitorError as error:
            return await self._record_failure(export, error.message)
        except Exception as error:  # noqa: BLE001 -- a library's own error must not stop the other exports
            _log.exception("unexpected error", export=export.name)
            return await self._record_failure(export, Message.of("export.unexpected", error=type(error).__name__))
        now = self.clock.now()
        following = export.schedule and find_next_fire_time(export.schedule, self.settings.timezone, now)
        async with self.store.transaction():
            await self.store.exports.record_outcome(export, at=now, next_at=following or None, error=None)
            if count:
                await self.record(SERVICE, AuditAction.EXPORT_WRITE, export.name, items=count)
        _log.info("export", export=export.name, items=count)
        return None

    async def _record_failure(self, export: ScheduledExport, reason: Message) -> Message:
        now = self.clock.now()
        next_at = now + RETRY_PAUSES[min(export.failures, len(RETRY_PAUSES) - 1)]
        await self.store.exports.record_outcome(export, at=now, next_at=next_at, error=reason)
        _log.warning("export failed", export=export.name, error=str(reason))
        return reason

    async def _write_changed(self, export: ScheduledExport, destination: Destination, renew: Renew) -> int:
        """Write the batch that was broken off, then what has changed; returns how many versions were written."""
        export_id, count = export.id or 0, 0
        if (broken_off := await self.store.exports.get_open_batch(export_id)) is not None:
            count += await self._write_batch(export, broken_off, destination, renew)
        for items in split_batches(await self.store.exports.list_changed(export_id), BATCH_SIZE):
            batch = await self.store.exports.open_batch(export, items, at=self.clock.now())
            if batch is None:
                raise _Changed
            count += await self._write_batch(export, batch, destination, renew)
        return count

    async def _write_batch(
        self, export: ScheduledExport, batch: ExportBatch, destination: Destination, renew: Renew
    ) -> int:
        contents = await self.store.exports.load_contents(export.id or 0, batch.item_ids)
        files = await asyncio.to_thread(_render_files, export, batch, contents)
        for path, content in files.items():
            if not await renew():
                raise _LeaseLost
            await destination.put(path, content)
        size_bytes = sum(map(len, files.values()))
        is_first = await self.store.exports.close_batch(
            batch, contents, files=len(files), size_bytes=size_bytes, at=self.clock.now()
        )
        return len(contents) if is_first else 0


def find_place(settings: Settings, bucket: str | None) -> Path | BucketSettings:
    """Return the configured folder or bucket; `UsageError` where there is none."""
    if bucket is not None:
        return settings.export.find_bucket(bucket)
    if settings.export.folder is None:
        raise UsageError("export.no_folder_set")
    return settings.export.folder


def _render_files(export: ScheduledExport, batch: ExportBatch, contents: Sequence[ItemContent]) -> dict[str, bytes]:
    """Return the files of a batch by their paths, the list of them last: who finds that finds them all."""
    items = [_build_item(content) for content in contents]
    key = f"{batch.started_at:%Y%m%dT%H%M%SZ}-{batch.id}"
    files: dict[str, bytes] = {}
    if export.format is ExportFormat.MARKDOWN:
        files = {f"day={item.partition}/item-{item.id}.md": render_item_markdown(item) for item in items}
    else:
        render = render_item_parquet if export.format is ExportFormat.PARQUET else render_item_lines
        partitions: dict[dt.date, list[ExportedItem]] = defaultdict(list)
        for item in items:
            partitions[item.partition].append(item)
        files = {f"day={day}/{key}.{export.format}": render(rows) for day, rows in sorted(partitions.items())}
    if files:
        listed = {"batch": key, "items": len(items), "files": list(files)}
        files[f"_batches/{key}.json"] = render_json(listed)
    return files


def _build_item(content: ItemContent) -> ExportedItem:
    item = content.item
    facts: dict[str, Any] = {name: getattr(item, name) for name in VERSIONED_FIELDS if name != "evidence"}
    return ExportedItem(
        **facts,
        id=item.id or 0,
        version=content.version,
        partition=content.day,
        topics=[ExportedTopic(id=number, name=name, score=score) for number, name, score in content.topics],
        claims=[
            ExportedClaim(
                kind=claim.kind,
                claim=claim.claim,
                passage=claim.passage,
                record=claim.record_id,
                verdict=claim.verdict,
                judged_by=claim.judged_by,
            )
            for claim in content.claims
        ],
        records=[
            ExportedRecord(id=record.id, url=record.final_url, fetched_at=record.fetched_at, sha256=record.sha256)
            for record in content.records
        ],
    )


def _build_schema(row: ScheduledExport) -> ExportSchema:
    return ExportSchema.model_validate(row, from_attributes=True)
