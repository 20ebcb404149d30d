"""Whether the evidence is whole: all of it when somebody asks, a little of it all the time; and its repair.

A damaged capture is written anew, into a file of its own, where its body is intact or the site still gives the same
bytes. A page that could not be kept is fetched again until it is.
"""

import base64
import datetime as dt
import hashlib
import secrets
from collections.abc import Callable, Collection
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from http import HTTPStatus

from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.tables.evidence import EvidenceFile, EvidenceIncident, EvidenceRecord, IncidentKind, MendedBy
from monitor.errors import RecordLost, WorkFailed
from monitor.evidence.chain import EvidenceChain, encode_head
from monitor.evidence.records import EvidenceArchive
from monitor.evidence.timestamps import REQUEST_TYPE, build_request, check_answer
from monitor.fetch.outbound import OutboundPolicy
from monitor.fetch.result import FetchResult
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.logs import get_logger
from monitor.pages.loader import Loader
from monitor.services.audit import SERVICE, Actor, AuditAction, AuditedService
from monitor.services.sources.loading import SourceLoaders
from monitor.urls import url_key
from monitor.vocabulary import FetchMode, Role

_log = get_logger("evidence")

# 100 captures a minute are 144,000 a day; one of 100 kB takes about two milliseconds.
_CAPTURES_PER_MINUTE = 100
_CHECK_INTERVAL = dt.timedelta(days=30)
_RETRIES_PER_MINUTE = 3
_FIRST_RETRY = dt.timedelta(hours=1)
_MAX_RETRY = dt.timedelta(days=7)
_MAX_TRIES = 12
_BATCH = 200
_STAMP_INTERVAL = dt.timedelta(hours=1)


class FileFinding(MessageModel):
    """A capture that is not what was written, and the newest record that rests on its body."""

    kind: IncidentKind
    record: str
    url: str
    location: str
    offset: int
    repaired: bool = False


class EvidenceReport(MessageModel):
    """The state of all evidence; `ok` is False where the chain has problems or a capture is damaged still.

    `captures` bodies were checked in `files`. `public_key` is this box's, `keys` are all that signed heads. `removed`
    links have lost their rows to retention, and `unsigned` rows wait for the next signing. `gaps` are pages that could
    not be kept and are still missing. `stamped_head` is the newest head with a time stamp.
    """

    ok: bool
    public_key: str | None
    keys: list[str]
    heads: int
    signed_at: dt.datetime | None
    links: int
    removed: int
    unsigned: int
    problems: list[Message]
    files: int
    captures: int
    damaged: list[FileFinding]
    gaps: int
    mended: int
    stamped_head: int | None


ProgressReport = Callable[[int], None]


class _Refetcher(AsyncExitStack):
    """Fetches again what runs had fetched, as the source of each would now; it logs in once to a source."""

    def __init__(self, store: Store, source_loaders: SourceLoaders) -> None:
        super().__init__()
        self._store = store
        self._source_loaders = source_loaders
        self._opened: dict[int | None, Loader | WorkFailed] = {}

    async def fetch(self, url: str, way: FetchMode, *, run_id: str | None) -> FetchResult | None:
        """Return what the site gives now; None where that cannot be asked, as when the log-in fails."""
        run = None if run_id is None else await self._store.runs.get(run_id)
        source_id = None if run is None else run.source_id
        if source_id not in self._opened:
            source = None if source_id is None else await self._store.sources.get_by_id(source_id)
            try:
                self._opened[source_id] = await self.enter_async_context(self._source_loaders.open(source))
            except WorkFailed as error:
                self._opened[source_id] = error
        loader = self._opened[source_id]
        try:
            if isinstance(loader, WorkFailed):
                raise loader
            return await loader.transport.fetch(url, way)
        except WorkFailed as error:
            _log.warning("evidence not fetched again", url=url, reason=str(error))
            return None


@dataclass(frozen=True)
class _Repair:
    """Who wants damaged captures repaired, and what fetches their bodies again."""

    by: Actor
    refetcher: _Refetcher


@dataclass(kw_only=True)
class ScrubService(AuditedService):
    records: EvidenceArchive
    chain: EvidenceChain
    source_loaders: SourceLoaders
    settings: Settings
    _next_stamp_at: dt.datetime | None = field(default=None, init=False)

    async def verify(
        self,
        *,
        trusted: Collection[str] = (),
        repair_by: Actor | None = None,
        report_progress: ProgressReport = lambda _: None,
    ) -> EvidenceReport:
        """Check the whole chain and every file; repair what can be where `repair_by` says who wants it."""
        if repair_by is not None:
            repair_by.require(Role.ADMIN)
        chain = await self.chain.verify(trusted=trusted)
        files, captures, damaged, after = 0, 0, [], ("", -1)
        async with self._open_refetcher() as refetcher:
            repair = None if repair_by is None else _Repair(repair_by, refetcher)
            while batch := await self.store.evidence_files.list_all(after=after, limit=_BATCH):
                for capture in batch:
                    finding = await self._check(capture, repair)
                    damaged += [finding] if finding else []
                files += len({capture.location for capture in batch} - {after[0]})
                captures, after = captures + len(batch), (batch[-1].location, batch[-1].offset)
                report_progress(captures)
            damaged += await self._check_uncaptured(repair)
        await self._close_incidents({(finding.location, finding.offset) for finding in damaged})
        incidents = await self.store.evidence_files.count_incidents()
        return EvidenceReport(
            ok=not chain.problems and all(finding.repaired for finding in damaged),
            public_key=self.chain.key.get_public_key(),
            keys=chain.keys,
            heads=chain.heads,
            signed_at=chain.signed_at,
            links=chain.links,
            removed=chain.removed,
            unsigned=chain.unsigned,
            problems=chain.problems,
            files=files,
            captures=captures,
            damaged=damaged,
            gaps=incidents.get((IncidentKind.GAP, False), 0),
            mended=sum(number for (_, is_mended), number in incidents.items() if is_mended),
            stamped_head=chain.stamped_head,
        )

    async def run_background(self) -> None:
        """Check the captures that were not checked for longest, and fetch again what is missing: a minute's share."""
        files, now = self.store.evidence_files, self.clock.now()
        due = await files.list_due(now - _CHECK_INTERVAL, _CAPTURES_PER_MINUTE)
        for capture in due:
            finding = await self._check(capture, None)
            if finding is not None:
                _log.warning("evidence damaged", **finding.model_dump(mode="json"))
        await files.mark_checked(due, now)
        async with self._open_refetcher() as refetcher:
            for incident in await files.list_retries(now, _RETRIES_PER_MINUTE):
                try:
                    mend = self._capture if incident.kind is IncidentKind.GAP else self._mend
                    is_mended = await mend(incident, refetcher)
                except WorkFailed as error:
                    _log.warning("evidence not mended", url=incident.url, reason=str(error))
                    is_mended = False
                if not is_mended:
                    await self._postpone(incident)
        if self._next_stamp_at is None or self.clock.now() >= self._next_stamp_at:
            self._next_stamp_at = self.clock.now() + _STAMP_INTERVAL
            await self.stamp_last_head()

    async def stamp_last_head(self) -> None:
        """Ask the time stamping authority to stamp the newest head, and with it all before; do nothing without one.

        `WorkFailed` where no stamp comes.
        """
        url, head = self.settings.evidence.timestamp_url, await self.store.chain.get_last_head()
        if url is None or head is None or head.timestamp is not None:
            return
        content, nonce = encode_head(head), secrets.randbits(63)
        client = OutboundPolicy(self.settings.network).open_client()
        try:
            response = await client.request(
                url, method="POST", headers={"content-type": REQUEST_TYPE}, content=build_request(content, nonce)
            )
        finally:
            await client.close()
        if response.status != HTTPStatus.OK:
            raise WorkFailed("chain.timestamp_status", status=response.status)
        check_answer(response.body, content, nonce)
        await self.store.chain.save_timestamp(head.number, base64.b64encode(response.body).decode())
        _log.info("head stamped", number=head.number, url=url)

    def _open_refetcher(self) -> _Refetcher:
        return _Refetcher(self.store, self.source_loaders)

    async def _check(self, capture: EvidenceFile, repair: _Repair | None) -> FileFinding | None:
        """Check one capture; note the hash of one that was never hashed, and damage to what a record rests on."""
        found = await self.records.examine(capture)
        if isinstance(found, EvidenceFile):
            if found.member_sha256 != capture.member_sha256:
                await self.store.captures.add([found], [], instead_of=[capture])
            return None
        record = await self.store.evidence_files.find_record(capture.sha256)
        if record is None:
            return None
        await self.records.report_damage(capture, found, url=record.url, way=record.way, at=self.clock.now())
        is_repaired = repair is not None and await self._repair(capture, record, found, repair)
        return FileFinding(
            kind=found,
            record=record.id,
            url=record.url,
            location=capture.location,
            offset=capture.offset,
            repaired=is_repaired,
        )

    async def _check_uncaptured(self, repair: _Repair | None) -> list[FileFinding]:
        """Check the bodies that are in no capture, where their records say that they are."""
        findings: dict[str, FileFinding] = {}
        after = ""
        while batch := await self.store.evidence_files.list_uncaptured(after=after, limit=_BATCH):
            after = batch[-1].id
            for record in batch:
                sha256 = record.sha256 or ""
                if sha256 in findings or await self.store.captures.find(sha256):
                    continue
                capture = EvidenceFile(
                    location=record.stored_at or "",
                    offset=record.offset or 0,
                    length=record.length or 0,
                    sha256=sha256,
                    member_sha256="",
                    checked_at=self.clock.now(),
                )
                finding = await self._check(capture, repair)
                if finding is not None:
                    findings[sha256] = finding
        return list(findings.values())

    async def _close_incidents(self, damaged: Collection[tuple[str, int]]) -> None:
        """Note that captures are whole which somebody put back by hand."""
        for incident in await self.store.evidence_files.list_open():
            place = (incident.location or "", incident.offset or 0)
            if incident.location is not None and place not in damaged:
                await self.store.evidence_files.mend(*place, at=self.clock.now(), by=MendedBy.SAME_BYTES)

    async def _repair(self, capture: EvidenceFile, record: EvidenceRecord, kind: IncidentKind, repair: _Repair) -> bool:
        """Write a damaged capture anew, from its own body or from the same bytes fetched again."""
        now, mended_by = self.clock.now(), MendedBy.OWN_BODY
        try:
            result: FetchResult | None = await self.records.load(record)
        except RecordLost:
            mended_by = MendedBy.SAME_BYTES
            result = None
            if record.way is not FetchMode.RENDERED:
                result = await repair.refetcher.fetch(record.url, record.way, run_id=record.run_id)
        body = None if result is None else result.body
        if result is None or body is None or hashlib.sha256(body).hexdigest() != capture.sha256:
            return False
        await self.records.replace_capture(capture, result, at=now, by=mended_by)
        await self.record(
            repair.by, AuditAction.EVIDENCE_REPAIR, record.id, file=capture.location, was=kind, mended_by=mended_by
        )
        return True

    async def _mend(self, incident: EvidenceIncident, refetcher: _Refetcher) -> bool:
        capture = await self.store.evidence_files.find_capture(incident.location or "", incident.offset or 0)
        if capture is None:
            return False
        record = await self.store.evidence_files.find_record(capture.sha256)
        return record is not None and await self._repair(capture, record, incident.kind, _Repair(SERVICE, refetcher))

    async def _capture(self, gap: EvidenceIncident, refetcher: _Refetcher) -> bool:
        """Keep a page that could not be kept in its time, under the run or research that wanted it."""
        result = await refetcher.fetch(gap.url, gap.way, run_id=gap.run_id)
        if result is None or result.error is not None or result.body is None:
            return False
        store = self.store.evidence
        if gap.research_id is not None:
            attempt = await store.get_next_research_attempt(gap.research_id)
        else:
            attempt = await store.get_next_attempt(gap.run_id or "")
        recorder = self.records.create_recorder(gap.run_id, attempt=attempt, research_id=gap.research_id)
        record_id = await recorder.keep(result)
        item = await self.store.items.find_by_key(url_key(gap.url))
        if item is not None and item.id is not None and item.run_id == gap.run_id:
            await store.add_page(item.id, item.url, record_id)
        await self.store.evidence_files.close_gap(gap.id or 0, at=self.clock.now())
        _log.info("gap captured", url=gap.url, record=record_id)
        return True

    async def _postpone(self, incident: EvidenceIncident) -> None:
        """Try again after twice the time; what cannot be had after twelve tries, some seven weeks, stays missing."""
        tries = incident.tries + 1
        pause = min(_FIRST_RETRY * 2 ** (tries - 1), _MAX_RETRY)
        next_try_at = self.clock.now() + pause if tries < _MAX_TRIES else None
        await self.store.evidence_files.postpone(incident.id or 0, tries=tries, next_try_at=next_try_at)
