"""Records in the database and their files, together: kept once, forgotten with their run, and never trusted unread."""

import asyncio
import datetime as dt
import gzip
import hashlib
import os
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, delete, event
from sqlmodel import col
from warcio.archiveiterator import ArchiveIterator

from monitor.db.database import Store
from monitor.db.maintenance import transfer_database
from monitor.db.queries.evidence import save_claims
from monitor.db.tables.collection import Item, Run
from monitor.db.tables.evidence import (
    Claim,
    ClaimKind,
    ClaimUpdate,
    EvidenceFile,
    EvidenceRecord,
    IncidentKind,
    ModelAnswer,
)
from monitor.errors import RecordLost, WorkFailed
from monitor.evidence.chain import hash_row
from monitor.evidence.records import EvidenceArchive
from monitor.evidence.storage import FileStorage
from monitor.evidence.warc import build_head, build_member
from monitor.fetch.result import FetchResult
from monitor.i18n.message import Message
from monitor.page import PageError, PageErrorCode
from monitor.vocabulary import FetchMode, Phase, RunStatus

AT = dt.datetime(2026, 2, 3, 8, 30, tzinfo=dt.UTC)
HOSTILE = "http://evil.example/../../etc/passwd%00/\ud800\x00?a=b/..//con|rm -rf"
BODY = "<html><title>通知</title><p>共12项。</p></html>".encode()


def fetch_result(url: str = "http://a.example/1.html", body: bytes | None = BODY, **changes: Any) -> FetchResult:
    headers = {"content-type": "text/html; charset=utf-8", "content-encoding": "gzip", "set-cookie": "session=secret"}
    return replace(
        FetchResult(url=url, mode=FetchMode.HTTP, at=AT, final_url=url, status=200, headers=headers, body=body),
        **changes,
    )


async def linked(store: Store, claims: dict[int, list[Claim]], *, instead_of: list[ClaimKind]) -> None:
    async with store.sessions.begin_write() as session:
        await save_claims(session, ClaimUpdate(claims, frozenset(instead_of)))


@pytest.fixture
def storage(tmp_path: Path) -> FileStorage:
    return FileStorage(str(tmp_path / "kept"))


@pytest.fixture
def records(store: Store, storage: FileStorage) -> EvidenceArchive:
    return EvidenceArchive(store=store, storage=storage)


@pytest.fixture
def files(tmp_path: Path) -> Any:
    return lambda: sorted(path for path in (tmp_path / "kept").rglob("*") if path.is_file())


async def item(store: Store, run: Run, number: int = 1) -> Item:
    values = {"source": run.source, "section": "通知", "title": "通知", "first_seen": AT}
    address = {"url": f"http://a.example/{number}", "url_key": f"a.example/{number}"}
    kept, _ = await store.items.save(Item(source_id=run.source_id, run_id=run.id, **values, **address))
    return kept


async def test_what_was_seen_is_read_again_as_it_was(store: Store, run: Run, records: EvidenceArchive) -> None:
    recorder = records.create_recorder(run.id, attempt=1)
    seen = [
        fetch_result(
            hops=("http://a.example/0",),
            final_url="http://a.example/2",
            notes={"http://a.example/robots.txt": Message.other("x")},
        ),
        fetch_result(mode=FetchMode.RENDERED, body=b"\xef\xbb\xbf" + BODY, is_cut_short=True),
        fetch_result(status=503, error=PageError(code=PageErrorCode.BAD_GATEWAY, message="down"), body=b""),
        fetch_result(body=None, status=None, headers={}, error=PageError(code=PageErrorCode.TIMEOUT, message="late")),
    ]
    ids = [await recorder.keep(entry) for entry in seen]
    rows = await store.evidence.list_records(run.id)
    assert [row.id for row in rows] == ids
    for result, row in zip(seen, rows, strict=True):
        headers = {name: value for name, value in result.headers.items() if name != "set-cookie"}
        assert await records.load(row) == replace(result, headers=headers, record=row.id)


async def test_a_body_that_was_seen_before_is_stored_once(
    store: Store, run: Run, records: EvidenceArchive, files: Any
) -> None:
    recorder = records.create_recorder(run.id, attempt=1)
    await recorder.keep(fetch_result())
    size = files()[0].stat().st_size
    await recorder.keep(fetch_result(at=AT + dt.timedelta(days=40)))
    assert [file.stat().st_size for file in files()] == [size]
    await recorder.keep(fetch_result(body=b"another"))
    rows = await store.evidence.list_records(run.id)
    assert len({row.offset for row in rows}) == 2
    assert len(rows) == 3
    assert rows[0].offset == rows[1].offset


async def test_a_run_has_one_file_for_each_host_that_any_reader_of_archives_opens(
    run: Run, records: EvidenceArchive, files: Any
) -> None:
    recorder = records.create_recorder(run.id, attempt=1)
    for number in range(6):
        await recorder.keep(fetch_result(f"http://{number % 2}.example/", body=b"<p>%d</p>" % number))
    assert len(files()) == 2
    for number, file in enumerate(
        sorted(files(), key=lambda file: b"/0.example/" not in gzip.decompress(file.read_bytes()))
    ):
        with file.open("rb") as opened:
            read = [(entry.rec_type, entry.content_stream().read()) for entry in ArchiveIterator(opened)]
        assert read[0][0] == "warcinfo"
        assert read[1:] == [("response", b"<p>%d</p>" % each) for each in range(number, 6, 2)]


async def test_pages_that_come_at_once_are_synced_and_committed_together(
    store: Store, run: Run, records: EvidenceArchive, files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = records.create_recorder(run.id, attempt=1)
    await recorder.keep(fetch_result())
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    commits: list[Any] = []
    listener = commits.append
    event.listen(Engine, "commit", listener)
    try:
        await asyncio.gather(*(recorder.keep(fetch_result(body=b"%d" % number)) for number in range(9)))
    finally:
        event.remove(Engine, "commit", listener)
    assert (len(synced), len(commits)) == (2, 2), "one is at work at once, and the others wait for each other"
    assert len(await store.evidence.list_records(run.id)) == 10
    assert len(files()) == 1


async def test_what_is_held_waits_for_the_next_transaction_and_comes_before_all_that_refers_to_it(
    store: Store, run: Run, records: EvidenceArchive
) -> None:
    kept = await item(store, run)
    recorder = records.create_recorder(run.id, attempt=1)
    await recorder.keep(fetch_result())
    commits: list[Any] = []
    listener = commits.append
    event.listen(Engine, "commit", listener)
    try:
        held = [await recorder.keep(fetch_result()) for _ in range(5)]
        assert commits == []
        claims = [Claim(item_id=0, kind=ClaimKind.LIST, claim="通知", record_id=held[-1], passage="通知")]
        await linked(store, {kept.id or 0: claims}, instead_of=[])
        assert len(commits) == 1
    finally:
        event.remove(Engine, "commit", listener)
    assert len(await store.evidence.list_records(run.id)) == 6


async def test_a_transaction_that_fails_takes_no_record_with_it(
    store: Store, run: Run, records: EvidenceArchive
) -> None:
    recorder = records.create_recorder(run.id, attempt=1)
    await recorder.keep(fetch_result())
    await recorder.keep(fetch_result())
    with pytest.raises(WorkFailed, match="stop"):
        async with store.transaction():
            raise WorkFailed("other", text="stop")
    assert len(await store.evidence.list_records(run.id)) == 2


async def test_a_record_whose_run_is_gone_stops_nobody_else(store: Store, run: Run, records: EvidenceArchive) -> None:
    other = Run(id="run-2", source_id=run.source_id, source=run.source, planned_at=AT)
    await store.runs.create(other)
    recorders = [records.create_recorder(entry.id, attempt=1) for entry in (run, other)]
    await recorders[0].keep(fetch_result())
    for recorder in recorders:
        await recorder.keep(fetch_result())
    async with store.sessions.begin_write() as session:
        await session.execute(delete(Run).where(col(Run.id) == other.id))
        await session.execute(delete(EvidenceRecord).where(col(EvidenceRecord.run_id) == other.id))
    await recorders[1].keep(fetch_result())
    results = await asyncio.gather(
        recorders[0].keep(fetch_result(body=b"one")),
        recorders[0].keep(fetch_result(body=b"two")),
        recorders[1].keep(fetch_result(body=b"three")),
        return_exceptions=True,
    )
    assert [isinstance(result, WorkFailed) for result in results] == [False, False, True]
    assert len(await store.evidence.list_records(run.id)) == 4
    assert await store.evidence.list_records(other.id) == []


async def test_nothing_that_a_page_says_becomes_a_path(
    store: Store, run: Run, records: EvidenceArchive, files: Any, tmp_path: Path
) -> None:
    headers = {"content-disposition": "attachment; filename=../../x.sh", "x": "a\r\nWARC-Type: response\r\n\r\n"}
    body = b"WARC/1.1\r\nWARC-Type: response\r\n\r\n" + BODY
    await records.create_recorder(run.id, attempt=1).keep(fetch_result(HOSTILE, body=body, headers=headers))
    (row,) = await store.evidence.list_records(run.id)
    place = f"evidence/2026/02/03/run-1-{hashlib.sha256(b'evil.example').hexdigest()[:16]}.warc.gz"
    assert row.stored_at == place
    assert files() == [tmp_path / "kept" / place]
    assert (await records.load(row)).body == body


async def test_a_record_whose_file_is_gone_or_altered_proves_nothing(
    store: Store, run: Run, records: EvidenceArchive, files: Any
) -> None:
    recorder = records.create_recorder(run.id, attempt=1)
    await recorder.keep(fetch_result())
    await recorder.keep(fetch_result(body=b"another"))
    one, other = await store.evidence.list_records(run.id)
    (file,) = files()
    content = file.read_bytes()
    start = one.offset or 0
    for damaged in (content[: start + 40], b"", content[: start + 90] + b"\x00" * 30 + content[start + 120 :]):
        file.write_bytes(damaged)
        with pytest.raises(RecordLost, match="altered or damaged"):
            await records.load(one)
    assert (await records.load(other)).body == b"another", "damage in one place is damage in one place"
    file.unlink()
    with pytest.raises(RecordLost, match="cannot be read"):
        await records.load(one)


async def test_a_file_that_was_lost_is_written_again_when_its_body_is_seen_again(
    store: Store, run: Run, records: EvidenceArchive, files: Any
) -> None:
    recorder = records.create_recorder(run.id, attempt=1)
    await recorder.keep(fetch_result())
    files()[0].unlink()
    await recorder.keep(fetch_result(at=AT + dt.timedelta(days=1)))
    for row in await store.evidence.list_records(run.id):
        assert (await records.load(row)).body == BODY


async def test_what_a_kill_left_of_a_file_is_cut_off_or_goes_in_time(
    store: Store, run: Run, records: EvidenceArchive, storage: FileStorage, files: Any
) -> None:
    # As after kills between the bytes and their rows: of a whole record, of a part of one, and of a whole file.
    place = f"evidence/2026/02/03/run-1-{hashlib.sha256(b'a.example').hexdigest()[:16]}.warc.gz"
    lost = build_member(fetch_result(), sha256=hashlib.sha256(BODY).hexdigest())
    storage.append(place, [lost, lost[:70]], head=build_head(AT), floor=0)
    storage.write("evidence/2026/02/01/" + "a" * 64 + ".warc.gz", b"nobody's")
    await records.create_recorder(run.id, attempt=1).keep(fetch_result())
    (row,) = await store.evidence.list_records(run.id)
    assert (await records.load(row)).body == BODY
    (_, file) = files()
    with file.open("rb") as opened:
        assert [entry.rec_type for entry in ArchiveIterator(opened)] == ["warcinfo", "response", "response"]
    assert await records.remove_unused(dt.date(2026, 2, 3)) == 1
    assert [path.name for path in files()] == [place.rpartition("/")[2]]


async def test_what_is_needed_of_an_old_file_is_moved_and_found(
    store: Store, run: Run, records: EvidenceArchive, files: Any
) -> None:
    later = Run(id="run-2", source_id=run.source_id, source=run.source, planned_at=AT + dt.timedelta(days=30))
    await store.runs.create(later)
    await store.runs.update(run.id, status=RunStatus.SUCCEEDED)
    recorder = records.create_recorder(run.id, attempt=1)
    for number in range(20):
        await recorder.keep(fetch_result(body=secrets.token_bytes(2000) if number else BODY))
    await records.create_recorder(later.id, attempt=1).keep(fetch_result(at=later.planned_at))
    (before,) = files()
    size = before.stat().st_size
    await store.retention.prune(AT + dt.timedelta(days=1))
    for _ in range(2):
        await records.remove_unused(dt.date(2026, 2, 4))
        (file,) = files()
        assert file != before
        assert file.stat().st_size < size / 10
    (row,) = await store.evidence.list_records(later.id)
    assert row.hash == hash_row(row)
    assert (await records.load(row)).body == BODY
    assert await records.find_location(row) == str(file).rpartition("/kept/")[2]
    again = await records.create_recorder(later.id, attempt=2).keep(fetch_result(at=later.planned_at))
    assert len(files()) == 1
    found = await store.evidence.get_record(again)
    assert found is not None
    assert (await records.load(found)).body == BODY


async def test_a_file_of_an_earlier_version_holds_one_body_from_its_first_byte_on(
    store: Store, run: Run, records: EvidenceArchive, storage: FileStorage, files: Any
) -> None:
    sha256 = hashlib.sha256(BODY).hexdigest()
    content = build_head(AT) + build_member(fetch_result(), sha256=sha256)
    place = f"evidence/2026/02/03/{sha256}.warc.gz"
    storage.write(place, content)
    capture = EvidenceFile(
        location=place, offset=0, length=len(content), sha256=sha256, member_sha256="", checked_at=AT
    )
    await store.captures.add([capture], [])
    await records.create_recorder(run.id, attempt=1).keep(fetch_result())
    (row,) = await store.evidence.list_records(run.id)
    assert (row.stored_at, row.offset, row.length) == (place, None, None)
    assert (await records.load(row)).body == BODY
    found = await records.examine(capture)
    assert isinstance(found, EvidenceFile)
    assert (found.length, found.member_sha256) == (len(content), hashlib.sha256(content).hexdigest())
    files()[0].write_bytes(content + b"more")
    assert await records.examine(found) is IncidentKind.ALTERED


async def test_records_are_forgotten_with_their_run_and_shared_files_stay(
    store: Store, run: Run, records: EvidenceArchive, files: Any
) -> None:
    later = Run(id="run-2", source_id=run.source_id, source=run.source, planned_at=AT + dt.timedelta(days=30))
    await store.runs.create(later)
    await store.runs.update(run.id, status=RunStatus.SUCCEEDED)
    kept = await item(store, run)
    of_first, of_later = records.create_recorder(run.id, attempt=1), records.create_recorder(later.id, attempt=1)
    ids = [await of_first.keep(fetch_result()), await of_first.keep(fetch_result(body=b"of the first alone"))]
    shared = await of_later.keep(fetch_result(at=later.planned_at))
    claims = [Claim(item_id=0, kind=ClaimKind.LIST, claim="通知", record_id=ids[0], passage="通知")]
    await linked(store, {kept.id or 0: claims}, instead_of=[ClaimKind.LIST])
    await store.evidence.add_answer(ModelAnswer(run_id=run.id, attempt=1, request="r", phase=Phase.RANK, at=AT))
    await store.evidence.save_manifest(run.id, {"today": "2026-02-03"}, at=AT)
    pruned = await store.retention.prune(AT + dt.timedelta(days=1))
    assert (pruned.runs, pruned.records) == (1, 2)
    assert await records.remove_unused(dt.date(2026, 2, 4)) == 1
    assert [row.id for row in await store.evidence.list_records(later.id)] == [shared]
    assert (await records.load((await store.evidence.list_records(later.id))[0])).body == BODY
    assert len(files()) == 1
    assert await store.evidence.list_claims(kept.id or 0) == []
    assert await store.evidence.list_answers(run.id) == []
    assert await store.evidence.get_manifest(run.id) is None
    after = await store.items.get(kept.id or 0)
    assert after is not None
    assert after.evidence == []
    assert (await store.sections.find_known(run.source_id or 0, [after.url])).keys() == {after.url_key}


async def test_an_item_names_its_records_the_list_first(store: Store, run: Run, records: EvidenceArchive) -> None:
    kept = await item(store, run)
    recorder = records.create_recorder(run.id, attempt=1)
    page, listed = await recorder.keep(fetch_result(body=b"page")), await recorder.keep(fetch_result(body=b"list"))

    def claim(kind: ClaimKind, said: str, record: str) -> Claim:
        return Claim(item_id=0, kind=kind, claim=said, record_id=record, passage="\x00通知\ud800")

    of_page = [claim(ClaimKind.PAGE, kept.url, page), claim(ClaimKind.FIGURE, "12项", page)]
    for _ in range(2):
        await linked(store, {kept.id or 0: of_page}, instead_of=[ClaimKind.PAGE, ClaimKind.FIGURE])
        await linked(store, {kept.id or 0: [claim(ClaimKind.LIST, "通知", listed)]}, instead_of=[ClaimKind.LIST])
    claims = await store.evidence.list_claims(kept.id or 0)
    assert [(entry.kind, entry.claim) for entry in claims] == [
        (ClaimKind.PAGE, kept.url),
        (ClaimKind.FIGURE, "12项"),
        (ClaimKind.LIST, "通知"),
    ]
    assert claims[0].passage == "通知?"
    after = await store.items.get(kept.id or 0)
    assert after is not None
    assert after.evidence == [listed, page]
    await linked(store, {99_999: of_page}, instead_of=[])


async def test_records_go_with_the_database_to_another_one(
    store: Store, url: str, run: Run, records: EvidenceArchive, storage: FileStorage, tmp_path: Path
) -> None:
    kept = await item(store, run)
    record = await records.create_recorder(run.id, attempt=1).keep(fetch_result())
    claims = [Claim(item_id=0, kind=ClaimKind.LIST, claim="通知", record_id=record, passage="通知")]
    await linked(store, {kept.id or 0: claims}, instead_of=[])
    await store.evidence.add_answer(ModelAnswer(run_id=run.id, attempt=1, request="r", phase=Phase.RANK, at=AT))
    await store.evidence.save_manifest(run.id, {"today": "2026-02-03"}, at=AT)
    there = f"sqlite:///{tmp_path / 'there.db'}"
    counts = transfer_database(url, there)
    assert {name: counts[name] for name in ("record", "claim", "answer", "outset")} == dict.fromkeys(
        ("record", "claim", "answer", "outset"), 1
    )
    async with Store.open(there) as moved:
        (row,) = await moved.evidence.list_records(run.id)
        assert (await EvidenceArchive(store=moved, storage=storage).load(row)).body == BODY
        assert [claim.passage for claim in await moved.evidence.list_claims(kept.id or 0)] == ["通知"]


async def test_attempts_are_counted_from_what_was_recorded(store: Store, run: Run, records: EvidenceArchive) -> None:
    assert await store.evidence.get_next_attempt(run.id) == 1
    await records.create_recorder(run.id, attempt=1).keep(fetch_result())
    assert await store.evidence.get_next_attempt(run.id) == 2
    await store.evidence.add_answer(
        ModelAnswer(run_id=run.id, attempt=4, request="r", phase=Phase.RANK, place="\x00", at=AT)
    )
    assert await store.evidence.get_next_attempt(run.id) == 5


async def test_a_run_keeps_what_it_set_out_with(store: Store, run: Run) -> None:
    await store.evidence.save_manifest(run.id, {"today": "2026-02-03"}, at=AT)
    await store.evidence.save_manifest(run.id, {"today": "2026-02-04"}, at=AT)
    assert await store.evidence.get_manifest(run.id) == {"today": "2026-02-03"}


async def test_a_bucket_serves_as_well_as_a_folder(store: Store, run: Run) -> None:
    records = EvidenceArchive(store=store, storage=FileStorage(f"memory://bucket-{store.sessions!r:.40}"))
    await records.create_recorder(run.id, attempt=1).keep(fetch_result())
    (row,) = await store.evidence.list_records(run.id)
    assert (await records.load(row)).body == BODY
    assert records.get_display_path(row.stored_at or "").startswith("memory://")
    await store.runs.update(run.id, status=RunStatus.SUCCEEDED)
    await store.retention.prune(AT + dt.timedelta(days=1))
    assert await records.remove_unused(dt.date(2026, 2, 4)) == 1


async def test_a_storage_that_does_not_work_says_so_in_a_sentence(store: Store, run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    records = EvidenceArchive(store=store, storage=FileStorage(str(tmp_path / "file")))
    with pytest.raises(WorkFailed, match="The storage could not write"):
        await records.create_recorder(run.id, attempt=1).keep(fetch_result())
    assert await store.evidence.list_records(run.id) == []
