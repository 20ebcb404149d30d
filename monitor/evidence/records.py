"""Records: what a run saw, kept before it is read, and read again when it is to be proved."""

import asyncio
import datetime as dt
import hashlib
import secrets
from collections import OrderedDict
from dataclasses import replace

from monitor.domain.evidence import Record
from monitor.domain.page import PageError
from monitor.domain.sighting import Sighting
from monitor.errors import RecordLost, WorkFailed
from monitor.evidence.storage import Storage
from monitor.evidence.warc import body_in, headers_kept, warc_file
from monitor.store import Store

FOLDER = "evidence"

_AT_HAND = 4
_MOST_AT_HAND_BYTES = 1_000_000


class Records:
    """The records of a database and the files behind them."""

    def __init__(self, *, store: Store, storage: Storage) -> None:
        self._store = store
        self._storage = storage

    def recorder(self, run_id: str | None = None, *, attempt: int, research_id: str | None = None) -> "RunRecorder":
        """What keeps the sightings of a run, or of a research, from now on."""
        owner = {"run_id": run_id, "research_id": research_id}
        return RunRecorder(owner, attempt=attempt, store=self._store, storage=self._storage, records=self)

    async def sighting_of(self, record_id: str) -> Sighting | None:
        """What the record of that id holds; None where there is none, `RecordLost` where it proves nothing any more."""
        record = await self._store.evidence.record(record_id)
        return None if record is None else await self.sighting(record)

    async def sighting(self, record: Record) -> Sighting:
        """What was seen, with its body; `RecordLost` where the file is missing or its bytes are not those recorded."""
        return Sighting(
            url=record.url,
            way=record.way,
            at=record.fetched_at,
            final_url=record.final_url,
            status=record.status,
            headers=record.headers,
            body=await self._body(record),
            hops=tuple(record.hops),
            is_cut_short=record.is_cut_short,
            notes=record.notes,
            record=record.id,
            error=None if record.error is None else PageError.model_validate(record.error),
        )

    def whereabouts(self, record: Record) -> str | None:
        """The file of a record, for people; None where nothing came."""
        return self._storage.whereabouts(record.stored_at) if record.stored_at else None

    async def remove_unused(self, before: dt.date) -> int:
        """Remove the files of days before `before` that no record refers to; answers how many.

        Among them are those of a process that was killed between writing a file and its record.
        """
        places = await asyncio.to_thread(self._storage.places, FOLDER)
        old = [place for place in places if (day := _day_of(place)) is not None and day < before]
        unused = sorted(set(old) - await self._store.evidence.places_in_use(old))
        for place in unused:
            if not await self._store.evidence.places_in_use([place]):
                await asyncio.to_thread(self._storage.remove, place)
        return len(unused)

    async def _body(self, record: Record) -> bytes | None:
        if record.sha256 is None or record.stored_at is None:
            return None
        try:
            content = await asyncio.to_thread(self._storage.read, record.stored_at)
        except WorkFailed as error:
            raise RecordLost(f"The record {record.id} of {record.url} cannot be read: {error}") from error
        body = await asyncio.to_thread(body_in, content)
        if body is None or hashlib.sha256(body).hexdigest() != record.sha256:
            raise RecordLost(
                f"The record {record.id} of {record.url} was altered or damaged: "
                f"{record.stored_at} does not hold the body with the SHA-256 {record.sha256}."
            )
        return body


class RunRecorder:
    """Keeps what one run or one research sees (`ports.Recorder`); `owner` names it.

    A body that is held already is not written again; its place is made of the day and its hash, never of anything that
    a page says.
    """

    def __init__(
        self, owner: dict[str, str | None], *, attempt: int, store: Store, storage: Storage, records: Records
    ) -> None:
        self._owner = owner
        self._attempt = attempt
        self._store = store
        self._storage = storage
        self._records = records
        self._count = 0
        self._latest: OrderedDict[str, Sighting] = OrderedDict()

    async def keep(self, sighting: Sighting) -> str:
        """The id of the record; `WorkFailed` where the storage does not take it."""
        self._count += 1
        number, body = self._count, sighting.body
        sha256 = None if body is None else hashlib.sha256(body).hexdigest()
        stored_at = None if sha256 is None else await self._stored(sighting, sha256)
        record = Record(
            id=secrets.token_hex(8),
            **self._owner,
            attempt=self._attempt,
            number=number,
            url=sighting.url,
            way=sighting.way,
            final_url=sighting.final_url,
            status=sighting.status,
            headers=headers_kept(sighting.headers),
            hops=list(sighting.hops),
            is_cut_short=sighting.is_cut_short,
            error=None if sighting.error is None else sighting.error.model_dump(mode="json"),
            notes=dict(sighting.notes),
            fetched_at=sighting.at,
            sha256=sha256,
            size=len(body or b""),
            stored_at=stored_at,
        )
        await self._store.evidence.add_record(record)
        if len(body or b"") <= _MOST_AT_HAND_BYTES:
            self._latest[record.id] = replace(sighting, record=record.id)
            if len(self._latest) > _AT_HAND:
                self._latest.popitem(last=False)
        return record.id

    async def sighting_of(self, record_id: str) -> Sighting | None:
        """What a record of it holds, as `Records` says it; the latest are at hand."""
        return self._latest.get(record_id) or await self._records.sighting_of(record_id)

    async def _stored(self, sighting: Sighting, sha256: str) -> str:
        held = await self._store.evidence.place_of(sha256)
        if held is not None and await asyncio.to_thread(self._storage.holds, held):
            return held
        place = held or f"{FOLDER}/{sighting.at:%Y/%m/%d}/{sha256}.warc.gz"
        content = await asyncio.to_thread(warc_file, sighting, sha256=sha256)
        await asyncio.to_thread(self._storage.write, place, content)
        return place


def _day_of(place: str) -> dt.date | None:
    try:
        return dt.datetime.strptime(place.removeprefix(f"{FOLDER}/")[:10], "%Y/%m/%d").replace(tzinfo=dt.UTC).date()
    except ValueError:
        return None
