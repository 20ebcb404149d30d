"""The use case of proving an item: what each of its statements rests on."""

import datetime as dt

from pydantic import BaseModel

from monitor.domain.evidence import Claim, ClaimKind, Record
from monitor.domain.sighting import Way
from monitor.errors import NotFound, RecordLost
from monitor.evidence.records import Records
from monitor.store import Store


class RecordWire(BaseModel):
    """A record as it leaves the program; `problem` says why it proves nothing any more, empty for a whole one.

    `way` is `drawn` for a page that a browser drew; `file` is its WARC file.
    """

    id: str
    run_id: str
    url: str
    final_url: str
    status: int | None
    way: Way
    fetched_at: dt.datetime
    sha256: str | None
    file: str | None
    problem: str = ""


class ClaimWire(BaseModel):
    """Something that an item says, and where that stands: the words of a record; empty words mean the whole page."""

    kind: ClaimKind
    claim: str
    passage: str
    record: str


class Proof(BaseModel):
    """What an item rests on: its claims, and the records that they name."""

    item_id: int
    title: str
    url: str
    claims: list[ClaimWire]
    records: list[RecordWire]


class ProofDesk:
    def __init__(self, *, store: Store, records: Records) -> None:
        self._store = store
        self._records = records

    async def of_item(self, item_id: int) -> Proof:
        """The claims of an item with their records, each read again; `NotFound` where there is no such item."""
        item = await self._store.items.get(item_id)
        if item is None:
            raise NotFound(f"There is no item {item_id}; `monitor items list` shows the latest.")
        claims = await self._store.evidence.claims(item_id)
        named = dict.fromkeys([*item.evidence, *(one.record_id for one in claims)])
        rows = [row for record_id in named if (row := await self._store.evidence.record(record_id)) is not None]
        return Proof(
            item_id=item_id,
            title=item.title,
            url=item.url,
            claims=[_claim_wire(claim) for claim in claims],
            records=[await self._record_wire(row) for row in rows],
        )

    async def _record_wire(self, row: Record) -> RecordWire:
        problem = ""
        try:
            await self._records.sighting(row)
        except RecordLost as error:
            problem = str(error)
        values = row.model_dump(include=set(RecordWire.model_fields))
        return RecordWire(**values, file=self._records.whereabouts(row), problem=problem)


def _claim_wire(claim: Claim) -> ClaimWire:
    return ClaimWire(kind=claim.kind, claim=claim.claim, passage=claim.passage, record=claim.record_id)
