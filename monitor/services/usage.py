"""What the service uses: tokens, requests and money by day, and the space of its data, with their pruning."""

import asyncio
import datetime as dt
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.config.stored import mask_passwords
from monitor.db.database import Store
from monitor.db.engines import DatabaseAddress
from monitor.db.integrity import BackupLog
from monitor.db.maintenance import PruneResult, create_backup
from monitor.db.queries.usage import DailyPhaseSpending, DailySearchUsage, DailySpending, Day, NamedSpending
from monitor.errors import DatabaseError
from monitor.evidence.chain import EvidenceChain
from monitor.evidence.records import EvidenceArchive
from monitor.logs import get_logger
from monitor.search.bundles.bundle import BundleFolder
from monitor.services.audit import Actor, AuditAction, AuditedService
from monitor.services.health import get_free_bytes, measure_database
from monitor.services.schedules import get_midnight
from monitor.vocabulary import Role


class CostLedger(BaseModel):
    """The ledger of some days, newest first, and its sum; `cost` is None where nothing had a price."""

    since: dt.date
    until: dt.date
    costs: list[DailySpending]
    searches: list[DailySearchUsage]
    calls: int = Field(examples=[1200])
    tokens: int = Field(examples=[4_383_732])
    cost: float | None = Field(examples=[18.0])


class CostChart(BaseModel):
    """What some days came to: by day and phase, by model, by source, and the searches by day and backend."""

    days: list[dt.date]
    phases: list[DailyPhaseSpending]
    models: list[NamedSpending]
    sources: list[NamedSpending]
    searches: list[DailySearchUsage]

    @property
    def cost(self) -> float | None:
        return sum_costs([*(phase.cost for phase in self.phases), *(search.cost for search in self.searches)])

    def sum_cost_on(self, day: dt.date) -> float | None:
        rows: list[DailyPhaseSpending | DailySearchUsage] = [*self.phases, *self.searches]
        return sum_costs(row.cost for row in rows if row.day == day)


@dataclass(kw_only=True)
class CostService:
    store: Store
    clock: Clock
    timezone: str

    async def get_ledger(self, days: int) -> CostLedger:
        span = self._list_days(days)
        newest_first = span[::-1]
        rows = await self.store.usage.load_daily(newest_first)
        searches = await self.store.searches.load_daily_usage(span[0].date, span[-1].date)
        return CostLedger(
            since=span[0].date,
            until=span[-1].date,
            costs=rows,
            searches=searches[::-1],
            calls=sum(row.calls for row in rows),
            cost=sum_costs([*(row.cost for row in rows), *(search.cost for search in searches)]),
            tokens=sum(row.tokens for row in rows),
        )

    async def get_chart(self, days: int) -> CostChart:
        dates = self.list_dates(days)
        first, last = dates[0], dates[-1]
        return CostChart(
            days=dates,
            phases=await self.store.usage.load_daily_by_phase(first, last),
            models=await self.store.usage.load_by_model(first, last),
            sources=await self.store.usage.load_by_source(first, last),
            searches=await self.store.searches.load_daily_usage(first, last),
        )

    async def count_tokens_today(self) -> int:
        return await self.store.usage.count_tokens_since(self._list_days(1)[0].begin)

    def get_today(self) -> dt.date:
        return self.list_dates(1)[0]

    def list_dates(self, count: int) -> list[dt.date]:
        return [day.date for day in self._list_days(count)]

    def _list_days(self, count: int) -> list[Day]:
        return list_days_until(self.clock.now(), ZoneInfo(self.timezone), count)


def list_days_until(now: dt.datetime, zone: ZoneInfo, count: int) -> list[Day]:
    """Return so many days of a zone, that of `now` the last."""
    today = now.astimezone(zone).date()
    dates = [today - dt.timedelta(days=back) for back in reversed(range(count))]
    return [Day(day, get_midnight(day, zone), get_midnight(day + dt.timedelta(days=1), zone)) for day in dates]


def sum_costs(costs: Iterable[float | None]) -> float | None:
    """Return the sum; None where there is no price among them."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None


_MAX_COUNTING_S = 2.0
_log = get_logger("storage")


class FolderSize(BaseModel):
    name: str
    files: int
    size_bytes: int


class StorageSchema(BaseModel):
    """Where the data lies and how much there is; `is_whole` is False where counting took too long."""

    database: str
    database_bytes: int | None
    data_dir: str
    evidence: str | None
    folders: list[FolderSize]
    is_whole: bool
    free_bytes: int
    retention_days: int


@dataclass(kw_only=True)
class StorageService(AuditedService):
    settings: Settings

    async def back_up(self, file: Path, *, by: Actor) -> int:
        """Write the whole database into a new file; return its size. An older version's is not recorded."""
        by.require(Role.ADMIN)
        size = await asyncio.to_thread(create_backup, self.settings.database_url, file)
        try:
            await asyncio.to_thread(BackupLog(self.settings.data_dir).add, file, at=self.clock.now())
        except OSError as error:
            _log.warning("backup not noted", file=str(file), reason=str(error))
        try:
            await self.record(by, AuditAction.STORAGE_BACKUP, "storage", file=str(file), bytes=size)
        except Exception as error:
            if not isinstance(error, DatabaseError) or error.message.code != "database.not_migrated":
                await asyncio.to_thread(file.unlink)
                raise
            _log.warning("backup not recorded", file=str(file), reason=str(error))
        return size

    async def measure(self) -> StorageSchema:
        settings = self.settings
        folders, is_whole = await asyncio.to_thread(_measure_folders, settings.data_dir)
        return StorageSchema(
            database=DatabaseAddress.parse(settings.database_url).redacted_url,
            database_bytes=measure_database(settings),
            data_dir=str(settings.data_dir),
            evidence=mask_passwords(settings.storage_url),
            folders=folders,
            is_whole=is_whole,
            free_bytes=get_free_bytes(settings.data_dir),
            retention_days=settings.work.retention_days,
        )


def _measure_folders(root: Path) -> tuple[list[FolderSize], bool]:
    until = time.monotonic() + _MAX_COUNTING_S
    found, is_whole = [], True
    for folder in sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []:
        files = size = 0
        for path, _, names in os.walk(folder):
            for name in names:
                try:
                    size += (Path(path) / name).stat().st_size
                    files += 1
                except OSError:
                    continue  # removed while we were counting
            if time.monotonic() > until:
                is_whole = False
                break
        found.append(FolderSize(name=folder.name, files=files, size_bytes=size))
    return found, is_whole


EVENT_RETENTION_DAYS = 14
QUIET_EVENT_RETENTION_DAYS = 1
WEBHOOK_RETENTION_DAYS = 30
IDEMPOTENCY_HOURS = 24
_MARK_NAME = "retention"  # a duty whose holder is no process but the instant that pruning has come to
_MAX_MARK_STEP = dt.timedelta(days=2)
_MIN_MARK_PAUSE = dt.timedelta(hours=20)


@dataclass(kw_only=True)
class RetentionService(AuditedService):
    """Deletes texts, records and bundles after `work.retention_days`, and events of runs after 14 days.

    Events of a run that succeeded without an item go after one day, those of webhooks after 30 days, answers that are
    kept under an `Idempotency-Key` with the next pruning after 24 hours. The audit has a
    time of its own, `work.audit_retention_days`, whatever else is deleted earlier.
    """

    records: EvidenceArchive
    chain: EvidenceChain
    bundles: BundleFolder
    settings: Settings

    async def prune(self, days: int | None, *, by: Actor) -> PruneResult:
        """Delete what is older than so many days; recorded before it begins, as rows go in many short transactions."""
        by.require(Role.ADMIN)
        await self.record(by, AuditAction.STORAGE_PRUNE, "storage", days=days)
        return await self._prune(self.settings.work.retention_days if days is None else days, now=self.clock.now())

    async def prune_expired(self) -> PruneResult:
        """Delete what is older than the configuration wants it kept; done daily, and not recorded."""
        return await self._prune(self.settings.work.retention_days, now=await self._advance_mark())

    async def _advance_mark(self) -> dt.datetime:
        """Return the instant that the daily pruning counts back from: now, unless the clock has leapt.

        A clock that is a year ahead for an hour must not cost a year of records. So the mark moves by two days a day at
        most, and starts and leaps within a day move it once. After a long stop it catches up by a day each day.
        """
        now = self.clock.now()
        last = await self.store.leases.get(_MARK_NAME)
        if last is None:
            mark = now
        elif abs(now - last.renewed_at) < _MIN_MARK_PAUSE:
            return min(now, dt.datetime.fromisoformat(last.holder))
        else:
            mark = min(now, dt.datetime.fromisoformat(last.holder) + _MAX_MARK_STEP)
        await self.store.leases.acquire(_MARK_NAME, mark.isoformat(), at=now, expected=last)
        return mark

    async def _prune(self, days: int, *, now: dt.datetime) -> PruneResult:
        before = now - dt.timedelta(days=days)
        audit_before = now - dt.timedelta(days=self.settings.work.audit_retention_days)
        # What goes leaves its hash behind in the chain.
        await self.chain.sign(records_since=before, audit_since=audit_before)
        await self.store.retention.prune_events(
            now - dt.timedelta(days=EVENT_RETENTION_DAYS),
            quiet_before=now - dt.timedelta(days=QUIET_EVENT_RETENTION_DAYS),
        )
        pruned = await self.store.retention.prune(before)
        await self.store.webhooks.prune(now - dt.timedelta(days=min(days, WEBHOOK_RETENTION_DAYS)))
        await self.store.idempotency.delete_before(now - dt.timedelta(hours=IDEMPOTENCY_HOURS))
        audit_entries = await self.store.retention.prune_audit(audit_before)
        await self.store.usage.delete_source_totals(before.date())
        await self.store.host_traffic.delete_before(before.date())
        files = await self.records.remove_unused(before.date())
        files += await asyncio.to_thread(self.bundles.remove_before, before)
        return pruned.model_copy(update={"files": files, "audit_entries": audit_entries})
