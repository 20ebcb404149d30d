"""A power loss at any moment: what was not synced is gone, and nothing of it was reported saved."""

import datetime as dt
import random
from pathlib import Path

import pytest
from sqlalchemy import text
from warcio.archiveiterator import ArchiveIterator

from monitor.db.database import Store
from monitor.db.tables.collection import Run
from monitor.evidence.records import EvidenceArchive
from monitor.evidence.storage import FileStorage
from monitor.fetch.result import FetchResult
from monitor.vocabulary import FetchMode
from tests.integration.power import Disk, PowerLossError

AT = dt.datetime(2026, 2, 3, 8, 30, tzinfo=dt.UTC)


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
