"""A power loss at any moment: what was not synced is gone, and nothing of it was reported saved."""

import datetime as dt
import os
import random
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from warcio.archiveiterator import ArchiveIterator

from monitor.db.database import Store
from monitor.db.tables.collection import Run
from monitor.evidence.records import EvidenceArchive
from monitor.evidence.storage import FileStorage
from monitor.fetch.result import FetchResult
from monitor.vocabulary import FetchMode

AT = dt.datetime(2026, 2, 3, 8, 30, tzinfo=dt.UTC)


class PowerLossError(BaseException):
    """The machine is off: nothing of the program goes on."""


class Disk:
    """What of a folder would be left if the power went now: content that was synced, under names that were synced.

    Stands between the program and the system's calls. A file's content is what it was at its last fsync, empty before,
    and of what was written since a part that the system wrote by itself, the end of it torn; a name that was made,
    changed or removed is on the disk once its folder was synced. After so many of these calls the power goes.
    """

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, draw: random.Random) -> None:
        self.root = str(root)
        self.draw = draw
        self.contents: dict[int, bytes] = {}  # by inode, as synced
        self.names: dict[str, int] = {self.root: 0}  # as synced; folders have inode 0
        self.left: int | None = None
        self._fsync, self._replace, self._mkdir = os.fsync, os.replace, os.mkdir
        monkeypatch.setattr(os, "fsync", self.fsync)
        monkeypatch.setattr(os, "fdatasync", self.fsync)
        monkeypatch.setattr(os, "replace", self.replace)
        monkeypatch.setattr(os, "mkdir", self.mkdir)

    def fsync(self, handle: int) -> None:
        path = str(Path(f"/proc/self/fd/{handle}").readlink())
        self._fsync(handle)
        if path.startswith(self.root):
            if not Path(path).is_dir():
                self._write_some(os.fstat(handle).st_ino, Path(path).read_bytes())
            self._spend()
            if Path(path).is_dir():
                self._sync_names(path)
            else:
                self.contents[os.fstat(handle).st_ino] = Path(path).read_bytes()
            self._spend()

    def replace(self, source: Any, target: Any) -> None:
        self._spend()
        self._replace(source, target)
        self._spend()

    def mkdir(self, path: Any, *more: Any, **options: Any) -> None:
        self._mkdir(path, *more, **options)
        self._spend()

    def restore(self, folder: Path) -> None:
        """Switch the power on again, and write what is left into another folder."""
        self.left = None
        for name, inode in sorted(self.names.items()):
            path = folder / os.path.relpath(name, self.root)
            if not all(
                str(parent) in self.names for parent in Path(name).parents if len(str(parent)) >= len(self.root)
            ):
                continue  # the folder that it is in never got to the disk
            if inode == 0:
                path.mkdir(exist_ok=True)
            else:
                path.write_bytes(self.contents.get(inode, b""))

    def _write_some(self, inode: int, content: bytes) -> None:
        synced = len(self.contents.get(inode, b""))
        self.contents[inode] = content[: synced + self.draw.randint(0, max(len(content) - synced - 1, 0))]

    def _sync_names(self, folder: str) -> None:
        for name in [name for name in self.names if os.path.dirname(name) == folder]:  # noqa: PTH120
            del self.names[name]
        for entry in os.scandir(folder):
            self.names[entry.path] = 0 if entry.is_dir() else entry.inode()

    def _spend(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise PowerLossError


def seen(number: int) -> FetchResult:
    url, body = f"http://a.example/{number}", f"<p>第{number}号通知</p>".encode() * 20
    at = AT + dt.timedelta(days=number % 4)
    return FetchResult(url=url, mode=FetchMode.HTTP, at=at, final_url=url, status=200, headers={}, body=body)


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize("seed", range(12))
async def test_nothing_that_was_reported_saved_is_missing_after_a_power_loss(
    store: Store, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    draw = random.Random(seed)  # noqa: S311
    disk = Disk(kept, monkeypatch, draw)
    recorder = EvidenceArchive(store=store, storage=FileStorage(str(kept))).create_recorder(run.id, attempt=1)
    disk.left = draw.randrange(4, 60)

    async def work() -> None:
        for number in range(100):
            await recorder.keep(seen(number))

    with pytest.raises(PowerLossError):
        await work()
    disk.restore(left := tmp_path / "left")
    archive = EvidenceArchive(store=store, storage=FileStorage(str(left)))
    for record in await store.evidence.list_records(run.id):
        assert (await archive.load(record)).body == seen(int(record.url.rpartition("/")[2])).body

    # The run goes on: what is left of a record that was torn is cut off, and what stood before it stays.
    again = archive.create_recorder(run.id, attempt=2)
    for number in range(30):
        await again.keep(seen(number))
    captures = await store.evidence_files.list_all(after=("", -1), limit=200)
    assert [await archive.examine(capture) for capture in captures] == captures
    files = [file for file in left.rglob("*.gz") if str(file.relative_to(left)) in {c.location for c in captures}]
    for file in files:
        with file.open("rb") as opened:
            kinds = [record.rec_type for record in ArchiveIterator(opened)]
        assert kinds[0] == "warcinfo"
        assert set(kinds[1:]) == {"response"}


@pytest.mark.parametrize("kind", ["sqlite"])
async def test_what_is_committed_survives_a_power_loss(store: Store) -> None:
    async with store.sessions.begin_write() as session:
        full = await session.scalar(text("PRAGMA synchronous"))
    assert full == 2, "with less, WAL loses the last commits"
