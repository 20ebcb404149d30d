"""The scrub: what is damaged is found, what can be repaired is, and what could not be kept is captured later."""

import asyncio
import base64
import datetime as dt
import json
import os
import random
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from monitor.config.model import EvidenceSettings, Settings
from monitor.db.database import Store
from monitor.db.tables.collection import Item, Run, Source
from monitor.db.tables.evidence import ClaimKind, IncidentKind, MendedBy
from monitor.errors import WorkFailed
from monitor.evidence.chain import EvidenceChain, SigningKey
from monitor.evidence.records import EvidenceArchive
from monitor.evidence.storage import FileStorage
from monitor.evidence.wacz import read_script
from monitor.fetch.result import FetchResult
from monitor.isolation.pool import WorkerPool
from monitor.pages.loader import LoaderPool
from monitor.services.audit import COMMAND_LINE, SERVICE
from monitor.services.evidence import EvidenceExporter
from monitor.services.scrub import ScrubService
from monitor.services.sources.loading import SourceLoaders
from monitor.urls import url_key
from monitor.vocabulary import FetchMode

RECORDS, FLIPS, HOLES = 1000, 20, 10


@pytest.fixture
def archive(sqlite_store: Store, tmp_path: Path) -> EvidenceArchive:
    return EvidenceArchive(store=sqlite_store, storage=FileStorage(str(tmp_path / "kept")))


@pytest.fixture
async def sqlite_store(sqlite_url: str) -> Any:
    async with Store.open(sqlite_url) as store:
        yield store


@pytest.fixture
def chain(sqlite_store: Store, turned_clock: Any, tmp_path: Path) -> EvidenceChain:
    return EvidenceChain(store=sqlite_store, clock=turned_clock, key=SigningKey(tmp_path))


@pytest.fixture
async def scrub(
    sqlite_store: Store,
    archive: EvidenceArchive,
    chain: EvidenceChain,
    turned_clock: Any,
    site: Any,
    tmp_path: Path,
    workers: WorkerPool,
) -> Any:
    settings = Settings.model_validate(
        {
            "data_dir": str(tmp_path),
            "pages": {"delay_s": 0, "render": "never"},
            "network": {"allowed_private_hosts": [site.host]},
        }
    )
    loaders = LoaderPool(settings=settings, clock=turned_clock, workers=workers, cache_folder=None)
    yield ScrubService(
        store=sqlite_store,
        clock=turned_clock,
        records=archive,
        chain=chain,
        source_loaders=SourceLoaders(new_loader=loaders.for_run, build_log_in=lambda _: None),
        settings=settings,
    )
    await loaders.close()


@pytest.fixture
async def run(sqlite_store: Store, turned_clock: Any) -> Run:
    source = await sqlite_store.sources.add(
        Source(name="示例部", url="https://example.gov/", created_at=turned_clock.now())
    )
    run = Run(id="run-1", source_id=source.id, source=source.name, planned_at=turned_clock.now())
    assert await sqlite_store.runs.create(run)
    return run


def seen(site: Any, number: int, at: dt.datetime) -> FetchResult:
    url, body = site.url(f"/n/{number}"), f"<p>第{number}号通知，共{number * 7}项。</p>".encode() * (1 + number % 40)
    headers = {"content-type": "text/html; charset=utf-8"}
    return FetchResult(url=url, mode=FetchMode.HTTP, at=at, final_url=url, status=200, headers=headers, body=body)


def flip(file: Path, place: int) -> None:
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)


def overwrite(file: Path, place: int, content: bytes) -> None:
    with file.open("r+b") as opened:
        opened.seek(place)
        opened.write(content)


async def test_of_a_thousand_records_every_damaged_one_is_found_and_repaired_where_it_can_be(
    archive: EvidenceArchive, scrub: ScrubService, run: Run, site: Any, turned_clock: Any, tmp_path: Path
) -> None:
    recorder = archive.create_recorder(run.id, attempt=1)
    results = [seen(site, number, turned_clock.now()) for number in range(RECORDS)]
    for start in range(0, RECORDS, 100):
        await asyncio.gather(*(recorder.keep(result) for result in results[start : start + 100]))
    draw = random.Random(15)  # noqa: S311
    chosen = draw.sample((await archive.store.evidence.list_records(run.id))[:-1], FLIPS + HOLES)
    expected: dict[str, IncidentKind] = {}
    for number, record in enumerate(chosen):
        (file,) = (tmp_path / "kept").rglob(f"{record.run_id}-*.gz")
        start, size = record.offset or 0, record.length or 0
        if number < FLIPS:
            flip(file, start + (5 if number == 0 else draw.randrange(size)))  # the first one where no CRC looks
        else:
            overwrite(file, start + draw.randrange(size - 40), b"\0" * 40)
        expected[record.id] = IncidentKind.ALTERED
    report = await scrub.verify()
    assert not report.ok
    assert report.problems == []
    assert {finding.record: finding.kind for finding in report.damaged} == expected
    assert (report.captures, report.files) == (RECORDS, 1)

    # All but three of the pages are still what they were.
    by_url = {result.url: result for result in results}
    for record in chosen[3:]:
        site.on(record.url.removeprefix(site.url("")), by_url[record.url].body)
    for record in chosen[:3]:
        site.on(record.url.removeprefix(site.url("")), b"<p>another</p>")
    report = await scrub.verify(repair_by=COMMAND_LINE)
    lost = {finding.record for finding in report.damaged if not finding.repaired}
    assert lost <= {record.id for record in chosen[1:3]}, "the flip in the head of the first one left its body whole"
    assert report.mended == len(chosen) - len(lost)
    for record in chosen:
        if record.id not in lost:
            assert (await archive.load(record)).body == by_url[record.url].body
    repairs = await archive.store.audit.list_entries(
        person="cli", action="evidence.repair", subject=None, address=None, before_id=None, limit=50
    )
    assert {entry.subject for entry in repairs} == expected.keys() - lost


async def test_a_damaged_file_is_replaced_when_the_same_bytes_come_again_and_that_is_recorded(
    archive: EvidenceArchive, scrub: ScrubService, run: Run, site: Any, turned_clock: Any, tmp_path: Path
) -> None:
    recorder = archive.create_recorder(run.id, attempt=1)
    await recorder.keep(seen(site, 1, turned_clock.now()))
    (record,) = await archive.store.evidence.list_records(run.id)
    file = tmp_path / "kept" / str(record.stored_at)
    flip(file, (record.offset or 0) + (record.length or 0) // 2)
    turned_clock.turn(days=1)
    await archive.create_recorder(run.id, attempt=2).keep(seen(site, 1, turned_clock.now()))
    assert (await archive.load(record)).body == seen(site, 1, turned_clock.now()).body
    report = await scrub.verify()
    assert (report.ok, report.captures, report.mended) == (True, 1, 1)


async def test_of_a_file_that_ends_early_or_is_gone_each_page_is_missed_and_had_again(
    archive: EvidenceArchive, scrub: ScrubService, run: Run, site: Any, turned_clock: Any, tmp_path: Path
) -> None:
    recorder = archive.create_recorder(run.id, attempt=1)
    results = [seen(site, number, turned_clock.now()) for number in range(4)]
    for result in results:
        await recorder.keep(result)
        site.on(result.url.removeprefix(site.url("")), result.body)
    records = await archive.store.evidence.list_records(run.id)
    file = tmp_path / "kept" / str(records[0].stored_at)
    os.truncate(file, (records[2].offset or 0) + 20)
    kinds = {finding.record: finding.kind for finding in (await scrub.verify()).damaged}
    assert kinds == {record.id: IncidentKind.TRUNCATED for record in records[2:]}
    report = await scrub.verify(repair_by=COMMAND_LINE)
    assert (report.ok, report.captures, report.mended) == (True, 4, 2)
    file.unlink()
    report = await scrub.verify()
    assert [finding.kind for finding in report.damaged] == [IncidentKind.MISSING] * 2
    assert (await scrub.verify(repair_by=COMMAND_LINE)).ok
    for record, result in zip(records, results, strict=True):
        assert (await archive.load(record)).body == result.body


async def test_a_capture_that_somebody_forgot_is_found_by_its_record(
    archive: EvidenceArchive, scrub: ScrubService, run: Run, site: Any, turned_clock: Any, tmp_path: Path
) -> None:
    recorder = archive.create_recorder(run.id, attempt=1)
    for number in range(2):
        await recorder.keep(seen(site, number, turned_clock.now()))
    captures = await archive.store.evidence_files.list_all(after=("", -1), limit=5)
    await archive.store.captures.add([], [], instead_of=captures)
    flip(tmp_path / "kept" / captures[1].location, captures[1].offset + captures[1].length // 2)
    report = await scrub.verify()
    assert [(finding.kind, finding.offset) for finding in report.damaged] == [
        (IncidentKind.ALTERED, captures[1].offset)
    ]
    assert await archive.store.evidence_files.list_all(after=("", -1), limit=5) == captures[:1]


async def test_the_background_finds_damage_and_repairs_it(
    archive: EvidenceArchive, scrub: ScrubService, run: Run, site: Any, turned_clock: Any, tmp_path: Path
) -> None:
    recorder = archive.create_recorder(run.id, attempt=1)
    for number in range(3):
        await recorder.keep(seen(site, number, turned_clock.now()))
    record, *_ = await archive.store.evidence.list_records(run.id)
    flip(tmp_path / "kept" / str(record.stored_at), (record.offset or 0) + 100)
    await scrub.run_background()
    assert await archive.store.evidence_files.list_open() == [], "fresh files are not due"
    turned_clock.turn(days=31)
    await scrub.run_background()
    (incident,) = await archive.store.evidence_files.list_open()
    assert (incident.kind, incident.tries) == (IncidentKind.ALTERED, 1), "the site gives something else"
    site.on("/n/0", seen(site, 0, turned_clock.now()).body)
    await scrub.run_background()
    assert len(await archive.store.evidence_files.list_open()) == 1, "not before its time"
    turned_clock.turn(hours=1)
    await scrub.run_background()
    assert await archive.store.evidence_files.list_open() == []
    assert (await archive.load(record)).body == seen(site, 0, turned_clock.now()).body
    (entry,) = await archive.store.audit.list_entries(
        person=SERVICE.name, action=None, subject=None, address=None, before_id=None, limit=5
    )
    assert entry.detail["mended_by"] == MendedBy.SAME_BYTES


async def test_a_page_that_could_not_be_kept_is_captured_later(
    archive: EvidenceArchive, scrub: ScrubService, run: Run, site: Any, turned_clock: Any, tmp_path: Path
) -> None:
    (tmp_path / "kept").write_text("in the way, as a full disk is")
    result = seen(site, 4, turned_clock.now())
    for _ in range(2):
        with pytest.raises(WorkFailed):
            await archive.create_recorder(run.id, attempt=1).keep(result)
    address = {"url": result.url, "url_key": url_key(result.url)}
    item, _ = await archive.store.items.save(
        Item(
            source_id=run.source_id,
            source=run.source,
            run_id=run.id,
            title="通知",
            section="",
            first_seen=turned_clock.now(),
            **address,
        )
    )
    site.on("/n/4", b"<p>as it is later</p>")
    await scrub.run_background()
    assert (await scrub.verify()).gaps == 1, "the disk is full still"
    (tmp_path / "kept").unlink()
    turned_clock.turn(hours=2)
    await scrub.run_background()
    report = await scrub.verify()
    assert (report.gaps, report.mended, report.ok) == (0, 1, True)
    (claim,) = await archive.store.evidence.list_claims(item.id or 0)
    assert claim.kind is ClaimKind.PAGE
    captured = await archive.load_by_id(claim.record_id)
    assert captured is not None
    assert (captured.body, captured.at) == (b"<p>as it is later</p>", turned_clock.now())


async def test_an_export_is_proved_by_a_script_that_needs_nothing_of_ours(
    archive: EvidenceArchive, chain: EvidenceChain, run: Run, site: Any, turned_clock: Any, tmp_path: Path
) -> None:
    recorder = archive.create_recorder(run.id, attempt=1)
    ids = [await recorder.keep(seen(site, number, turned_clock.now())) for number in range(7)]
    await chain.sign()
    rendered = FetchResult(
        url="http://a.example/通知 1",
        mode=FetchMode.RENDERED,
        at=turned_clock.now(),
        final_url="http://a.example/通知 1",
        body=b"<p>drawn</p>",
    )
    ids.append(await recorder.keep(rendered))
    item, _ = await archive.store.items.save(
        Item(
            source_id=run.source_id,
            source=run.source,
            run_id=run.id,
            title="通知",
            section="",
            first_seen=turned_clock.now(),
            url="http://a.example/1",
            url_key="a.example/1",
            evidence=ids[2:],
        )
    )
    exporter = EvidenceExporter(store=archive.store, clock=turned_clock, records=archive, chain=chain)
    content = await exporter.export_item(item.id or 0, by=COMMAND_LINE)
    (entry,) = await archive.store.audit.list_entries(
        person=COMMAND_LINE.name, action="evidence.export", subject=None, address=None, before_id=None, limit=5
    )
    assert entry.subject == f"item {item.id}"
    file = tmp_path / "item.wacz"
    file.write_bytes(content)
    with zipfile.ZipFile(file) as archived:
        names = archived.namelist()
        script = archived.read("proof/verify_evidence.py")
        proof = json.loads(archived.read("proof/chain.json"))
        parts = {name: archived.read(name) for name in names}
    assert {"datapackage.json", "archive/data.warc.gz", "indexes/index.cdxj", "pages/pages.jsonl"} <= set(names)
    assert script == read_script()
    (tmp_path / "check.py").write_bytes(script)
    key = chain.key.get_public_key() or ""

    def check(*words: str) -> subprocess.CompletedProcess[str]:
        # Isolated, in an empty folder: nothing of ours can be imported but what is installed.
        (tmp_path / "empty").mkdir(exist_ok=True)
        return subprocess.run(
            [sys.executable, "-I", str(tmp_path / "check.py"), *words],
            cwd=tmp_path / "empty",
            capture_output=True,
            text=True,
            check=False,
        )

    good = check(str(file), key)
    assert (good.returncode, good.stderr) == (0, ""), good.stdout
    assert good.stdout.count("bytes kept, signed 2026-02-03") == 6
    assert check(str(file), "ab" * 32).returncode == 1

    def forge(name: str, changed: bytes) -> str:
        forged = tmp_path / "forged.wacz"
        package = json.loads(parts["datapackage.json"])
        with zipfile.ZipFile(forged, "w") as written:
            for path, part in {**parts, name: changed}.items():
                written.writestr(path, part)
        assert package["resources"]
        return str(forged)

    warc = parts["archive/data.warc.gz"]
    assert "was changed" in check(forge("archive/data.warc.gz", warc[:-9] + b"\0" + warc[-8:])).stdout
    proof["records"][0]["row"]["url"] = "http://forged.example/"
    assert "described otherwise" in check(forge("proof/chain.json", json.dumps(proof).encode())).stdout
    proof["records"][0]["url"] = "http://forged.example/"
    assert "is not the row that was signed" in check(forge("proof/chain.json", json.dumps(proof).encode())).stdout
    proof["heads"][-1]["root"] = "0" * 64
    assert "not signed with the key" in check(forge("proof/chain.json", json.dumps(proof).encode())).stdout


_AUTHORITY = """
[req]
distinguished_name=name
[name]
[stamper]
basicConstraints=CA:FALSE
extendedKeyUsage=critical,timeStamping
[tsa]
default_tsa=ours
[ours]
serial=serial
signer_cert=tsa.pem
signer_key=tsa.key
signer_digest=sha256
default_policy=1.2.3.4
digests=sha256
ess_cert_id_alg=sha256
"""


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl plays the authority")
async def test_the_newest_head_is_stamped_by_an_authority(
    archive: EvidenceArchive,
    chain: EvidenceChain,
    scrub: ScrubService,
    run: Run,
    site: Any,
    reply: Any,
    turned_clock: Any,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "authority"
    folder.mkdir()
    (folder / "tsa.cnf").write_text(_AUTHORITY)
    (folder / "serial").write_text("01")

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    subject = ["-subj", "/CN=tsa", "-config", "tsa.cnf", "-extensions", "stamper"]
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "tsa.key", "-out", "tsa.pem", *subject)

    def stamp(asked: Any) -> Any:
        (folder / "query").write_bytes(asked.body)
        openssl(*["ts", "-reply", "-config", "tsa.cnf", "-section", "ours", "-queryfile", "query", "-out", "answer"])
        return reply((folder / "answer").read_bytes(), headers={"content-type": "application/timestamp-reply"})

    scrub.settings.evidence = EvidenceSettings(timestamp_url=site.url("/tsa"))
    await scrub.stamp_last_head()
    assert site.asked == [], "there is nothing to stamp"
    await archive.create_recorder(run.id, attempt=1).keep(seen(site, 1, turned_clock.now()))
    (head,) = await chain.sign()
    for wrong in ("no stamp", b"", b"0\x82"):
        site.on("/tsa", wrong)
        with pytest.raises(WorkFailed, match="not a time stamp"):
            await scrub.stamp_last_head()
    site.on("/tsa", reply(b"0\x050\x03\x02\x01\x02"))
    with pytest.raises(WorkFailed, match="status 2"):
        await scrub.stamp_last_head()
    site.on("/tsa", stamp)
    await scrub.run_background()
    report = await scrub.verify()
    assert (report.ok, report.stamped_head) == (True, head.number)
    asked = len(site.asked)
    await scrub.stamp_last_head()
    assert len(site.asked) == asked, "once is enough"

    stamped = await archive.store.chain.get_last_head()
    assert stamped is not None
    (folder / "kept").write_bytes(base64.b64decode(stamped.timestamp or ""))
    openssl("ts", "-verify", "-digest", head.hash, "-in", "kept", "-CAfile", "tsa.pem")
    # An answer to another question is none to this one.
    site.on("/tsa", reply(base64.b64decode(stamped.timestamp or "")))
    await archive.create_recorder(run.id, attempt=2).keep(seen(site, 2, turned_clock.now()))
    await chain.sign()
    with pytest.raises(WorkFailed, match="not a time stamp"):
        await scrub.stamp_last_head()


async def test_many_who_keep_the_same_bytes_at_once_leave_one_whole_file(
    archive: EvidenceArchive, scrub: ScrubService, run: Run, site: Any, turned_clock: Any
) -> None:
    body = "<p>同一份通知</p>".encode()

    async def keep(number: int) -> None:
        recorder = archive.create_recorder(run.id, attempt=number)
        result = seen(site, number, turned_clock.now() + dt.timedelta(seconds=number))
        await recorder.keep(replace(result, body=body))

    await asyncio.gather(*(keep(number) for number in range(8)))
    report = await scrub.verify()
    assert (report.ok, report.captures, report.files, report.mended) == (True, 1, 1, 0)
