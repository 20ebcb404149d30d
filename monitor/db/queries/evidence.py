"""The records of what was fetched, the claims that rest on them, and the later looks at items' pages."""

import datetime as dt
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, String, bindparam, cast, delete, func, insert, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import SQLModel, col

from monitor.db.sessions import (
    BATCH_SIZE,
    USE_MARK_INTERVAL,
    Queries,
    build_insert,
    get_dialect,
    lock_decisions,
    sanitize_text,
    sanitize_value,
    split_batches,
    upsert_rows,
)
from monitor.db.tables.evidence import (
    ChainHead,
    ChainLink,
    Claim,
    ClaimKind,
    ClaimUpdate,
    EvidenceFile,
    EvidenceIncident,
    EvidenceRecord,
    IncidentKind,
    LinkKind,
    ManifestPart,
    MendedBy,
    ModelAnswer,
    RunManifestRecord,
)
from monitor.db.tables.people import AuditEntry, RankFeedbackEntry
from monitor.db.tables.research import Research
from monitor.vocabulary import Verdict


class EvidenceStore(Queries):
    """Records, claims, the model's answers and the manifests of runs; all is deleted with its run or research."""

    async def get_next_attempt(self, run_id: str) -> int:
        """The number of the attempt that begins now: 1 for a run of which nothing is recorded."""
        await self._sessions.write_waiting()
        recorded, answered = (
            select(func.max(table.attempt)).where(col(table.run_id) == run_id).scalar_subquery()
            for table in (EvidenceRecord, ModelAnswer)
        )
        ((seen, said),) = await self._fetch_rows(select(recorded, answered))
        return max(seen or 0, said or 0) + 1

    async def get_next_research_attempt(self, research_id: str) -> int:
        mine = select(func.max(EvidenceRecord.attempt)).where(col(EvidenceRecord.research_id) == research_id)
        return (await self._fetch_first(mine) or 0) + 1

    async def get_record(self, record_id: str) -> EvidenceRecord | None:
        await self._sessions.write_waiting()
        return await self._get(EvidenceRecord, record_id)

    async def list_records(self, run_id: str) -> list[EvidenceRecord]:
        """All records of a run, in the order in which they were made."""
        await self._sessions.write_waiting()
        query = select(EvidenceRecord).where(col(EvidenceRecord.run_id) == run_id)
        return await self._fetch_all(query.order_by(col(EvidenceRecord.attempt), col(EvidenceRecord.number)))

    async def list_claims(self, item_id: int) -> list[Claim]:
        return await self._fetch_all(select(Claim).where(col(Claim.item_id) == item_id).order_by(col(Claim.id)))

    async def load_unchecked(self, item_ids: Sequence[int]) -> dict[int, list[str]]:
        """Return the sentences of summaries that nothing could verify, by item."""
        unchecked = select(Claim).where(col(Claim.kind) == ClaimKind.SUMMARY, col(Claim.verdict) == Verdict.UNCHECKED)
        by_item: dict[int, list[str]] = {}
        for claim in await self._fetch_in(unchecked.order_by(col(Claim.id)), col(Claim.item_id), item_ids):
            by_item.setdefault(claim.item_id, []).append(claim.claim)
        return by_item

    async def add_page(self, item_id: int, url: str, record_id: str) -> None:
        """Add a record of an item's own page that was captured later."""
        claim = Claim(item_id=item_id, kind=ClaimKind.PAGE, claim=url, record_id=record_id)
        async with self._sessions.begin_write() as session:
            await save_claims(session, ClaimUpdate({item_id: [claim]}, frozenset()))

    async def add_answer(self, answer: ModelAnswer) -> None:
        async with self._sessions.begin_write() as session:
            session.add(ModelAnswer(**answer.model_dump(exclude={"id"}) | {"place": sanitize_text(answer.place)}))

    async def list_answers(self, run_id: str) -> list[ModelAnswer]:
        query = select(ModelAnswer).where(col(ModelAnswer.run_id) == run_id)
        return await self._fetch_all(query.order_by(col(ModelAnswer.id)))

    async def save_manifest(
        self, run_id: str, facts: dict[str, Any], parts: Sequence[dict[str, Any]] = (), *, at: dt.datetime
    ) -> None:
        """Store the manifest of a run, its `parts` once for all runs with the same; one that resumes keeps its first.

        No name may be in two of them.
        """
        async with self._sessions.begin_write() as session:
            row = {"run_id": run_id, "facts": facts, "parts": await _save_manifest_parts(session, parts, at=at)}
            await upsert_rows(session, RunManifestRecord, [row], key=["run_id"])

    async def save_feedback(self, run_id: str, feedback: Sequence[RankFeedbackEntry]) -> None:
        """Add to the manifest of a run what people said of ranks before it made its own."""
        wishes = [wish.model_dump(mode="json") for wish in feedback]
        own = select(col(RunManifestRecord.facts)).where(col(RunManifestRecord.run_id) == run_id)
        facts = await self._fetch_first(own)
        if facts is None or facts.get("wishes", []) == wishes:
            return  # as in nearly every run: nobody said anything
        changed = update(RunManifestRecord).where(col(RunManifestRecord.run_id) == run_id)
        await self._execute(changed.values(facts={**facts, "wishes": wishes}))

    async def get_manifest(self, run_id: str) -> dict[str, Any] | None:
        """The manifest of a run with all its parts; None where there is none, or a part of it is gone."""
        async with self._sessions.begin_read() as session:
            row = await session.get(RunManifestRecord, run_id)
            if row is None:
                return None
            of_row = select(col(ManifestPart.content)).where(col(ManifestPart.id).in_(row.parts))
            parts = [json.loads(content) for content in await session.scalars(of_row)]
        if len(parts) != len(row.parts):
            return None
        return dict(row.facts, **{name: value for part in parts for name, value in part.items()})


async def _save_manifest_parts(
    session: AsyncSession, parts: Sequence[Mapping[str, Any]], *, at: dt.datetime
) -> list[int]:
    """Store the parts that are new, mark the others as used, and return the ids of all."""
    contents = [json.dumps(sanitize_value(part), ensure_ascii=False, sort_keys=True) for part in parts]
    by_hash = {hashlib.sha256(content.encode()).hexdigest(): content for content in contents}
    columns = (col(ManifestPart.hash), col(ManifestPart.id), col(ManifestPart.last_used_at))
    known = (await session.execute(select(*columns).where(columns[0].in_(by_hash)))).all()
    ids = {row.hash: row.id for row in known if at - row.last_used_at < USE_MARK_INTERVAL}
    for digest in by_hash.keys() - ids:
        values = {"hash": digest, "content": by_hash[digest], "last_used_at": at}
        upsert = build_insert(get_dialect(session), ManifestPart).values(values)
        marked = upsert.on_conflict_do_update(index_elements=["hash"], set_={"last_used_at": at})
        ids[digest] = (await session.scalars(marked.returning(col(ManifestPart.id)))).one()
    return [ids[digest] or 0 for digest in by_hash]


_ROOT_KINDS = (ClaimKind.LIST, ClaimKind.PAGE)  # the others of the same record depend on them

_ITEMS, _CLAIMS = SQLModel.metadata.tables["item"], SQLModel.metadata.tables["claim"]

_SELECT_CLAIMS = (
    select(_ITEMS.c.id, _CLAIMS.c.id, _CLAIMS.c.kind, _CLAIMS.c.claim, _CLAIMS.c.record_id)
    .outerjoin(_CLAIMS, _CLAIMS.c.item_id == _ITEMS.c.id)
    .where(_ITEMS.c.id.in_(bindparam("items", expanding=True)))
    .order_by(_CLAIMS.c.id)
)

_DELETE_CLAIMS = delete(_CLAIMS).where(_CLAIMS.c.id.in_(bindparam("claims", expanding=True)))
_INSERT_CLAIMS = insert(_CLAIMS)
_UPDATE_EVIDENCE = update(_ITEMS).where(_ITEMS.c.id == bindparam("item")).values(evidence=bindparam("records"))


async def save_claims(session: AsyncSession, update: ClaimUpdate) -> None:
    """Add claims to items, inside a transaction of the caller, and list the records of each item in `evidence`.

    They replace the claims of the `replaced_kinds`, those that depend on their records alone, and equal ones. Items
    that are gone are skipped.
    """
    held: dict[int, list[Claim]] = {}
    for item_id, claim_id, kind, claim, record_id in await session.execute(_SELECT_CLAIMS, {"items": [*update.claims]}):
        held.setdefault(item_id, [])
        if claim_id is not None:
            held[item_id].append(Claim(id=claim_id, item_id=item_id, kind=kind, claim=claim, record_id=record_id))
    gone: list[int | None] = []
    added: list[dict[str, Any]] = []
    named: list[dict[str, Any]] = []
    for item_id, old_ones in held.items():
        new = _prepare_claims(item_id, update.claims[item_id])
        kept = [claim for claim in old_ones if not _is_replaced(claim, old_ones, new, update.replaced_kinds)]
        gone += [claim.id for claim in old_ones if claim not in kept]
        added += [claim.model_dump(exclude={"id"}) for claim in new]
        listed_first = sorted([*kept, *new], key=lambda claim: claim.kind is not ClaimKind.LIST)
        named.append({"item": item_id, "records": list(dict.fromkeys(claim.record_id for claim in listed_first))})
    connection = await session.connection()
    for batch in split_batches(gone):
        await connection.execute(_DELETE_CLAIMS, {"claims": batch})
    if added:
        await connection.execute(_INSERT_CLAIMS, added)
    if named:
        await connection.execute(_UPDATE_EVIDENCE, named)


def _prepare_claims(item_id: int, claims: Sequence[Claim]) -> list[Claim]:
    """The claims as they are stored, each once for a record."""
    cleaned = (Claim(**sanitize_value(claim.model_dump() | {"item_id": item_id})) for claim in claims)
    return list({_get_claim_key(claim): claim for claim in cleaned}.values())


def _is_replaced(
    old: Claim, stored: Sequence[Claim], new: Sequence[Claim], replaced_kinds: frozenset[ClaimKind]
) -> bool:
    if old.kind in replaced_kinds or _get_claim_key(old) in map(_get_claim_key, new):
        return True
    of_record = [claim for claim in stored if claim.record_id == old.record_id]
    has_root = any(claim.kind in _ROOT_KINDS and claim.kind not in replaced_kinds for claim in of_record)
    return not has_root and any(claim.kind in replaced_kinds for claim in of_record)


def _get_claim_key(claim: Claim) -> tuple[ClaimKind, str, str]:
    return claim.kind, claim.claim, claim.record_id


class ChainStore(Queries):
    """The chain over records and audit entries: its links, and the heads that are signed."""

    async def lock(self) -> None:
        """Make processes that sign take turns, until the transaction of the caller ends."""
        async with self._sessions.begin_write() as session:
            await lock_decisions(session)

    async def get_last_head(self) -> ChainHead | None:
        return await self._fetch_first(select(ChainHead).order_by(col(ChainHead.number).desc()).limit(1))

    async def get_head(self, number: int) -> ChainHead | None:
        return await self._get(ChainHead, number)

    async def list_heads(self, *, since: int = 1) -> list[ChainHead]:
        query = select(ChainHead).where(col(ChainHead.number) >= since)
        return await self._fetch_all(query.order_by(col(ChainHead.number)))

    async def list_links(self, first: int, last: int) -> list[ChainLink]:
        query = select(ChainLink).where(col(ChainLink.position).between(first, last))
        return await self._fetch_all(query.order_by(col(ChainLink.position)))

    async def find_links(self, kind: LinkKind, row_ids: Sequence[str]) -> list[ChainLink]:
        of_kind = select(ChainLink).where(col(ChainLink.kind) == kind)
        return await self._fetch_in(of_kind, col(ChainLink.row_id), row_ids)

    async def get_last_position(self) -> int:
        return await self._fetch_first(select(func.max(ChainLink.position))) or 0

    async def list_unsigned(self, limit: int) -> list[EvidenceRecord | AuditEntry]:
        """The rows without a link, records before audit entries, the oldest first."""
        await self._sessions.write_waiting()
        records = select(EvidenceRecord).where(~_has_link(LinkKind.RECORD))
        rows: list[EvidenceRecord | AuditEntry] = []
        rows += await self._fetch_all(
            records.order_by(col(EvidenceRecord.fetched_at), col(EvidenceRecord.id)).limit(limit)
        )
        if len(rows) < limit:
            entries = select(AuditEntry).where(~_has_link(LinkKind.AUDIT)).order_by(col(AuditEntry.id))
            rows += await self._fetch_all(entries.limit(limit - len(rows)))
        return rows

    async def count_unsigned(self) -> int:
        """How many rows have no link yet."""
        await self._sessions.write_waiting()
        records = select(func.count()).select_from(EvidenceRecord).where(~_has_link(LinkKind.RECORD))
        entries = select(func.count()).select_from(AuditEntry).where(~_has_link(LinkKind.AUDIT))
        return (await self._fetch_first(records) or 0) + (await self._fetch_first(entries) or 0)

    async def list_rows(self, kind: LinkKind, row_ids: Sequence[str]) -> dict[str, EvidenceRecord | AuditEntry]:
        """The rows of these ids that are there, by id."""
        if kind is LinkKind.RECORD:
            found = await self._fetch_in(select(EvidenceRecord), col(EvidenceRecord.id), row_ids)
            return {row.id: row for row in found}
        entries = await self._fetch_in(select(AuditEntry), col(AuditEntry.id), [int(row_id) for row_id in row_ids])
        return {str(row.id): row for row in entries}

    async def list_erased_names(self) -> list[str]:
        """What names the people that were erased, as the audit has it."""
        return await self._fetch_all(select(col(AuditEntry.subject)).where(col(AuditEntry.action) == "person.erase"))

    async def find_researches(self, research_ids: Sequence[str]) -> set[str]:
        return set(await self._fetch_in(select(col(Research.id)), col(Research.id), research_ids))

    async def add_head(self, head: ChainHead, links: Sequence[ChainLink]) -> None:
        async with self._sessions.begin_write() as session:
            for batch in split_batches(links):
                await session.execute(insert(ChainLink), [link.model_dump() for link in batch])
            await session.execute(insert(ChainHead), [head.model_dump()])

    async def save_timestamp(self, number: int, token: str) -> None:
        await self._execute(update(ChainHead).where(col(ChainHead.number) == number).values(timestamp=token))


def _has_link(kind: LinkKind) -> Any:
    row_id = col(EvidenceRecord.id) if kind is LinkKind.RECORD else cast(col(AuditEntry.id), String)
    return select(col(ChainLink.position)).where(col(ChainLink.kind) == kind, col(ChainLink.row_id) == row_id).exists()


class EvidenceFileStore(Queries):
    """The captures in the files of evidence, and what happened to them."""

    async def mark_checked(self, captures: Sequence[EvidenceFile], at: dt.datetime) -> None:
        for batch in split_batches(captures):
            await self._execute(
                update(EvidenceFile)
                .where(_is_one_of(batch))
                .values(checked_at=at)
                .execution_options(synchronize_session=False)
            )

    async def list_due(self, before: dt.datetime, limit: int) -> list[EvidenceFile]:
        """The captures that were not checked since `before`, those first that were checked longest ago."""
        query = select(EvidenceFile).where(col(EvidenceFile.checked_at) < before)
        return await self._fetch_all(query.order_by(col(EvidenceFile.checked_at)).limit(limit))

    async def list_all(self, *, after: tuple[str, int], limit: int) -> list[EvidenceFile]:
        """The next so many captures behind a place, in the order of their files."""
        place = tuple_(col(EvidenceFile.location), col(EvidenceFile.offset))
        query = select(EvidenceFile).where(place > after)
        return await self._fetch_all(query.order_by(col(EvidenceFile.location), col(EvidenceFile.offset)).limit(limit))

    async def list_before(self, location: str) -> dict[str, list[EvidenceFile]]:
        """The captures in all files whose location comes before this one, by location."""
        query = select(EvidenceFile).where(col(EvidenceFile.location) < location)
        by_location: dict[str, list[EvidenceFile]] = {}
        for capture in await self._fetch_all(query.order_by(col(EvidenceFile.location), col(EvidenceFile.offset))):
            by_location.setdefault(capture.location, []).append(capture)
        return by_location

    async def list_uncaptured(self, *, after: str, limit: int) -> list[EvidenceRecord]:
        """The records whose bodies are in no capture, behind an id; those of one body may be many."""
        is_captured = (
            select(col(EvidenceFile.location)).where(col(EvidenceFile.sha256) == col(EvidenceRecord.sha256)).exists()
        )
        query = select(EvidenceRecord).where(
            col(EvidenceRecord.stored_at).is_not(None), ~is_captured, col(EvidenceRecord.id) > after
        )
        return await self._fetch_all(query.order_by(col(EvidenceRecord.id)).limit(limit))

    async def find_capture(self, location: str, offset: int) -> EvidenceFile | None:
        return await self._get(EvidenceFile, (location, offset))

    async def find_record(self, sha256: str) -> EvidenceRecord | None:
        """The newest record of a body."""
        await self._sessions.write_waiting()
        of_body = select(EvidenceRecord).where(col(EvidenceRecord.sha256) == sha256)
        return await self._fetch_first(of_body.order_by(col(EvidenceRecord.fetched_at).desc()).limit(1))

    async def delete_unneeded(self, before: str) -> None:
        """Forget the captures in files before this location whose bodies no record has."""
        await self._sessions.write_waiting()
        is_needed = (
            select(col(EvidenceRecord.id)).where(col(EvidenceRecord.sha256) == col(EvidenceFile.sha256)).exists()
        )
        query = select(EvidenceFile).where(col(EvidenceFile.location) < before, ~is_needed)
        while unneeded := await self._fetch_all(query.limit(BATCH_SIZE)):
            await self._execute(
                delete(EvidenceFile)
                .where(_is_one_of(unneeded), ~is_needed)
                .execution_options(synchronize_session=False)
            )

    async def add_incident(self, incident: EvidenceIncident) -> None:
        """Record an incident; of a page or a file that is not mended yet, it is the same one."""
        same = select(col(EvidenceIncident.id)).where(col(EvidenceIncident.mended_at).is_(None))
        if incident.location is not None:
            same = same.where(
                col(EvidenceIncident.location) == incident.location,
                col(EvidenceIncident.offset).is_not_distinct_from(incident.offset),
            )
        else:
            same = same.where(
                col(EvidenceIncident.kind) == IncidentKind.GAP,
                col(EvidenceIncident.url) == sanitize_text(incident.url),
                col(EvidenceIncident.run_id).is_not_distinct_from(incident.run_id),
                col(EvidenceIncident.research_id).is_not_distinct_from(incident.research_id),
            )
        async with self._sessions.begin_write() as session:
            if await session.scalar(same.limit(1)) is None:
                session.add(EvidenceIncident(**sanitize_value(incident.model_dump(exclude={"id"}))))

    async def list_open(self) -> list[EvidenceIncident]:
        query = select(EvidenceIncident).where(col(EvidenceIncident.mended_at).is_(None))
        return await self._fetch_all(query.order_by(col(EvidenceIncident.id)))

    async def list_retries(self, at: dt.datetime, limit: int) -> list[EvidenceIncident]:
        """The incidents whose pages are to be fetched again now, the longest due first."""
        query = select(EvidenceIncident).where(
            col(EvidenceIncident.mended_at).is_(None), col(EvidenceIncident.next_try_at) <= at
        )
        return await self._fetch_all(query.order_by(col(EvidenceIncident.next_try_at)).limit(limit))

    async def postpone(self, incident_id: int, *, tries: int, next_try_at: dt.datetime | None) -> None:
        changed = update(EvidenceIncident).where(col(EvidenceIncident.id) == incident_id)
        await self._execute(changed.values(tries=tries, next_try_at=next_try_at))

    async def mend(self, location: str, offset: int, *, at: dt.datetime, by: MendedBy) -> None:
        """Note that the body of the capture at a place is whole again."""
        changed = update(EvidenceIncident).where(
            col(EvidenceIncident.location) == location,
            func.coalesce(col(EvidenceIncident.offset), 0) == offset,
            col(EvidenceIncident.mended_at).is_(None),
        )
        await self._execute(changed.values(mended_at=at, mended_by=by, next_try_at=None))

    async def close_gap(self, incident_id: int, *, at: dt.datetime) -> None:
        changed = update(EvidenceIncident).where(col(EvidenceIncident.id) == incident_id)
        await self._execute(changed.values(mended_at=at, mended_by=MendedBy.CAPTURE, next_try_at=None))

    async def count_incidents(self) -> dict[tuple[IncidentKind, bool], int]:
        """How many there are by kind, those that are mended (True) apart."""
        is_mended = col(EvidenceIncident.mended_at).is_not(None)
        query = select(col(EvidenceIncident.kind), is_mended, func.count()).group_by(
            col(EvidenceIncident.kind), is_mended
        )
        return {(kind, bool(mended)): number for kind, mended, number in await self._fetch_rows(query)}


def _is_one_of(captures: Sequence[EvidenceFile]) -> ColumnElement[bool]:
    places = [(capture.location, capture.offset) for capture in captures]
    return tuple_(col(EvidenceFile.location), col(EvidenceFile.offset)).in_(places)
