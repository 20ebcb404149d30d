"""The chain over records and audit: what was done to a row after it was written is found and named."""

import asyncio
import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, update
from sqlmodel import col

from monitor.db.database import Store
from monitor.db.tables.collection import Run
from monitor.db.tables.evidence import ChainHead, ChainLink, EvidenceRecord, LinkKind
from monitor.db.tables.people import AuditEntry
from monitor.errors import UsageError, WorkFailed
from monitor.evidence.chain import ChainReport, EvidenceChain, SigningKey, hash_row
from monitor.evidence.records import EvidenceArchive
from monitor.evidence.storage import FileStorage
from monitor.fetch.result import FetchResult
from monitor.services.audit import COMMAND_LINE, Actor, AuditAction, AuditedService
from monitor.vocabulary import FetchMode, Role

AT = dt.datetime(2026, 2, 3, 8, 30, tzinfo=dt.UTC)


class Now:
    def now(self) -> dt.datetime:
        return AT + dt.timedelta(days=1)


@pytest.fixture
def chain(store: Store, tmp_path: Path) -> EvidenceChain:
    return EvidenceChain(store=store, clock=Now(), key=SigningKey(tmp_path / "keys"))


@pytest.fixture
def write(store: Store, run: Run, tmp_path: Path) -> Any:
    archive = EvidenceArchive(store=store, storage=FileStorage(str(tmp_path / "kept")))
    recorder = archive.create_recorder(run.id, attempt=1)
    service = AuditedService(store=store, clock=Now())
    written = 0

    async def write_rows(count: int) -> None:
        """So many records and as many audit entries."""
        nonlocal written
        for number in range(written, written + count):
            url = f"http://a.example/{number}.html?\x00"
            body = f"第{number}号通知".encode()
            headers = {"content-type": "text/html", "x": "é"}
            await recorder.keep(
                FetchResult(
                    url=url,
                    mode=FetchMode.HTTP,
                    at=AT + dt.timedelta(seconds=number, microseconds=7),
                    final_url=url,
                    status=200,
                    headers=headers,
                    body=body,
                )
            )
            detail = {"after": {"name": "示例部", "n": 1.5, "when": AT, "none": None}}
            await service.record(COMMAND_LINE, AuditAction.SOURCE_EDIT, f"source {number}", **detail)
        written += count

    return write_rows


async def execute(store: Store, statement: Any) -> None:
    async with store.sessions.begin_write() as session:
        await session.execute(statement)


def codes(report: ChainReport) -> list[str]:
    return [problem.code for problem in report.problems]


async def test_a_chain_of_several_heads_holds_and_says_what_is_not_signed_yet(
    store: Store, chain: EvidenceChain, write: Any, tmp_path: Path
) -> None:
    await write(3)
    (first,) = await chain.sign()
    await write(2)
    (second,) = await chain.sign()
    assert await chain.sign() == []
    await write(1)
    report = await chain.verify()
    assert (report.problems, report.links, report.heads, report.unsigned) == ([], 10, 2, 2)
    assert second.previous == first.hash
    assert report.keys == [chain.key.get_public_key()]
    assert ((tmp_path / "keys" / "evidence.key").stat().st_mode & 0o777) == 0o600


async def test_a_changed_audit_entry_breaks_the_chain_and_is_named(
    store: Store, chain: EvidenceChain, write: Any
) -> None:
    await write(4)
    await chain.sign()
    changed = update(AuditEntry).where(col(AuditEntry.subject) == "source 2")
    await execute(store, changed.values(person="somebody else"))
    report = await chain.verify()
    (problem,) = report.problems
    asked = {"person": None, "action": None, "subject": "source 2", "address": None}
    found = await store.audit.list_entries(**asked, before_id=None, limit=5)
    assert (problem.code, problem.args["row"]) == ("chain.audit_altered", str(found[0].id))


async def test_an_erased_person_leaves_the_chain_whole_and_nothing_else_may_be_erased(
    store: Store, chain: EvidenceChain
) -> None:
    service = AuditedService(store=store, clock=Now())
    for name in ("lilei", "hanmeimei"):
        person = Actor(name, Role.EDITOR, address="192.0.2.7")
        await service.record(person, AuditAction.SOURCE_EDIT, "a source", after={"owner": name})
    await chain.sign()
    alias, _ = await store.erasure.erase_person("lilei")
    assert codes(await chain.verify()) == ["chain.audit_altered"], "no erasure is on record"
    await service.record(COMMAND_LINE, AuditAction.PERSON_ERASE, alias)
    assert codes(await chain.verify()) == []
    first, second, _ = await store.audit.list_after(0, since=None, until=None, limit=9)
    assert (first.person, first.address, first.detail) == (alias, "", {"after": {"owner": alias}})
    async with store.sessions.begin_read() as session:
        kept = await session.get(AuditEntry, first.id)
        assert "lilei" not in f"{kept.to_json()}{kept.salts}{kept.erased}"
    assert (second.person, second.address) == ("hanmeimei", "192.0.2.7")
    async with store.sessions.begin_write() as session:
        entry = await session.get(AuditEntry, second.id)
        entry.erase(person="somebody")
    assert codes(await chain.verify()) == ["chain.audit_altered"]


async def test_the_first_row_that_does_not_fit_comes_first(store: Store, chain: EvidenceChain, write: Any) -> None:
    await write(6)
    await chain.sign()
    rows = {link.position: link for link in await store.chain.list_links(1, 12)}
    await execute(store, delete(EvidenceRecord).where(col(EvidenceRecord.id) == rows[2].row_id))
    await execute(store, update(EvidenceRecord).where(col(EvidenceRecord.id) == rows[5].row_id).values(status=404))
    await execute(store, delete(AuditEntry).where(col(AuditEntry.id) == int(rows[9].row_id)))
    report = await chain.verify()
    assert codes(report) == ["chain.record_missing", "chain.record_altered", "chain.audit_missing"]
    assert [problem.args["position"] for problem in report.problems] == [2, 5, 9]


async def test_who_changes_a_row_with_all_its_hashes_still_lacks_the_signature(
    store: Store, chain: EvidenceChain, write: Any
) -> None:
    await write(3)
    await chain.sign()
    (link, *_) = await store.chain.list_links(1, 1)
    row = await store.evidence.get_record(link.row_id)
    assert row is not None
    row.url = "http://a.example/forged"
    digest = hash_row(row)
    of_row = update(EvidenceRecord).where(col(EvidenceRecord.id) == row.id)
    await execute(store, of_row.values(url=row.url, hash=digest))
    await execute(store, update(ChainLink).where(col(ChainLink.position) == 1).values(hash=digest))
    assert codes(await chain.verify()) == ["chain.bad_root"]
    await execute(store, update(ChainHead).values(root="0" * 64))
    assert set(codes(await chain.verify())) == {"chain.bad_root", "chain.bad_signature"}


async def test_a_row_that_was_changed_before_it_was_signed_is_found_before_and_after(
    store: Store, chain: EvidenceChain, write: Any
) -> None:
    await write(2)
    changed = update(AuditEntry).where(col(AuditEntry.subject) == "source 1")
    await execute(store, changed.values(subject="source 7"))
    assert codes(await chain.verify()) == ["chain.audit_altered"]
    await chain.sign()
    assert codes(await chain.verify()) == ["chain.audit_altered"]


async def test_rows_of_an_older_version_have_no_hash_and_are_signed_as_they_are(
    store: Store, chain: EvidenceChain, write: Any
) -> None:
    await write(2)
    await execute(store, update(AuditEntry).values(hash=None))
    await execute(store, update(EvidenceRecord).values(hash=None))
    await chain.sign()
    assert (await chain.verify()).problems == []
    await execute(store, update(AuditEntry).values(person="another"))
    assert codes(await chain.verify()) == ["chain.audit_altered"] * 2


async def test_what_retention_removes_leaves_its_hash_behind(store: Store, chain: EvidenceChain, write: Any) -> None:
    await write(3)
    day = AT + dt.timedelta(days=400)
    await chain.sign(records_since=day)
    await execute(store, delete(EvidenceRecord))
    report = await chain.verify()
    assert (report.problems, report.removed, report.links) == ([], 3, 6)
    await execute(store, delete(AuditEntry))
    assert codes(await chain.verify()) == ["chain.audit_missing"] * 3
    await chain.sign(audit_since=day)
    assert (await chain.verify()).removed == 6


async def test_a_chain_that_was_cut_short_is_noticed_and_not_continued(
    store: Store, chain: EvidenceChain, write: Any
) -> None:
    await write(2)
    await chain.sign()
    await write(2)
    await chain.sign()
    await execute(store, delete(ChainHead).where(col(ChainHead.number) == 2))
    await execute(store, delete(ChainLink).where(col(ChainLink.position) > 4))
    assert codes(await chain.verify()) == ["chain.cut"]
    with pytest.raises(WorkFailed, match="cut short"):
        await chain.sign()
    chain.key.forget_anchor()
    await chain.sign()
    assert (await chain.verify()).problems == []


async def test_heads_of_another_key_count_where_that_is_trusted(
    store: Store, chain: EvidenceChain, write: Any, tmp_path: Path
) -> None:
    await write(1)
    await chain.sign()
    moved = EvidenceChain(store=store, clock=Now(), key=SigningKey(tmp_path / "another box"))
    await write(1)
    await moved.sign()
    assert codes(await moved.verify()) == ["chain.other_key"]
    earlier = chain.key.get_public_key()
    assert earlier is not None
    assert (await moved.verify(trusted=[earlier])).problems == []
    (tmp_path / "another box" / "evidence.key").chmod(0o644)
    with pytest.raises(UsageError, match="others"):
        moved.key.get_public_key()


async def test_many_who_write_and_sign_at_once_make_one_chain(
    store: Store, chain: EvidenceChain, write: Any, tmp_path: Path
) -> None:
    await write(1)
    await chain.sign()
    other = EvidenceChain(store=store, clock=Now(), key=SigningKey(tmp_path / "keys"))

    async def work(one: EvidenceChain) -> None:
        for _ in range(5):
            await write(2)
            await one.sign()

    await asyncio.gather(work(chain), work(other), work(chain))
    await chain.sign()
    report = await chain.verify()
    assert (report.problems, report.unsigned) == ([], 0)
    assert report.links == len(await store.chain.list_links(1, 1000))
    links = await store.chain.list_links(1, 1000)
    assert len({(link.kind, link.row_id) for link in links}) == len(links)
    assert {link.kind for link in links} == set(LinkKind)
