"""The use case of looking at what the data takes up, and where it lies."""

import asyncio
import os
import time
from pathlib import Path

from pydantic import BaseModel

from monitor.app.doctor import free_bytes
from monitor.settings import Settings
from monitor.settings.places import masked
from monitor.store.address import DatabaseAddress

_PATIENCE_S = 2.0


class FolderSize(BaseModel):
    """A folder of the data folder with all that is in it."""

    name: str
    files: int
    size_bytes: int


class StorageWire(BaseModel):
    """Where things lie and how much there is; `is_whole` is False where counting was given up, as too much was there.

    `database_bytes` is the size of a SQLite file, None for another database; `evidence` a place elsewhere, None where
    records lie in the data folder.
    """

    database: str
    database_bytes: int | None
    data_dir: str
    evidence: str | None
    folders: list[FolderSize]
    is_whole: bool
    free_bytes: int
    retention_days: int


class StorageDesk:
    def __init__(self, *, settings: Settings) -> None:
        self._settings = settings

    async def look(self) -> StorageWire:
        """The sizes as they are now; counting ends after two seconds."""
        settings = self._settings
        address = DatabaseAddress.parse(settings.database_url)
        file = address.file
        folders, is_whole = await asyncio.to_thread(_folders, settings.data_dir)
        return StorageWire(
            database=address.shown,
            database_bytes=file.stat().st_size if file is not None and file.exists() else None,
            data_dir=str(settings.data_dir),
            evidence=masked(settings.storage_url),
            folders=folders,
            is_whole=is_whole,
            free_bytes=free_bytes(settings.data_dir),
            retention_days=settings.work.retention_days,
        )


def _folders(root: Path) -> tuple[list[FolderSize], bool]:
    until = time.monotonic() + _PATIENCE_S
    found, is_whole = [], True
    for folder in sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []:
        files = size = 0
        for place, _, names in os.walk(folder):
            for name in names:
                try:
                    size += (Path(place) / name).stat().st_size
                    files += 1
                except OSError:
                    continue  # it went while we were counting
            if time.monotonic() > until:
                is_whole = False
                break
        found.append(FolderSize(name=folder.name, files=files, size_bytes=size))
    return found, is_whole
