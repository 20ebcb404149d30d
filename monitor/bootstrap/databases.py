"""What is done to a whole database: migrate it, back it up, restore it, copy it."""

import asyncio
from pathlib import Path

from monitor.bootstrap.clock import SystemClock
from monitor.errors import UsageError
from monitor.settings import Settings
from monitor.store import Store, backup, migrate
from monitor.store.address import DatabaseAddress
from monitor.store.transfer import transfer
from monitor.work.presence import HeartbeatPresence


def upgrade_database(settings: Settings) -> str:
    """Create the database or bring it to this version's schema; says in a sentence what was done."""
    shown, before = DatabaseAddress.parse(settings.database_url).shown, migrate.current(settings.database_url)
    if before == migrate.head():
        return f"The database {shown} has the schema of this version."
    migrate.upgrade(settings.database_url)
    return f"The database {shown} was {'created' if before is None else 'brought to the schema of this version'}."


def back_up_database(settings: Settings, file: Path) -> int:
    """Write all that the database holds now into a new file, while others work; answers its size in bytes."""
    return backup.back_up(settings.database_url, file)


async def restore_database(settings: Settings, file: Path, *, is_replacing: bool) -> dict[str, int]:
    """Put a backup into the database; answers how many rows, by table. `UsageError` while a process works on it."""
    backup.check(file)
    await _refuse_company(settings, settings.database_url)
    return await asyncio.to_thread(backup.restore, file, settings.database_url, is_replacing=is_replacing)


async def copy_database(settings: Settings, target: str, *, is_replacing: bool) -> dict[str, int]:
    """Copy everything into another database; answers how many rows, by table. `UsageError` while one works there."""
    await _refuse_company(settings, target)
    return await asyncio.to_thread(transfer, settings.database_url, target, is_replacing=is_replacing)


async def _refuse_company(settings: Settings, url: str) -> None:
    await asyncio.to_thread(migrate.upgrade, url)
    async with Store.open(url) as store:
        presence = HeartbeatPresence(store=store, clock=SystemClock(), folder=settings.data_dir)
        at_work = ", ".join(sorted(await presence.alive()))
    if at_work:
        raise UsageError(f"{DatabaseAddress.parse(url).shown} is in use by {at_work}: stop that first.")
