"""What was seen and kept of it, and what rests on that."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import bindparam, delete, func, insert, select, update
from sqlmodel import SQLModel, col

from monitor.domain.evidence import Answer, Claim, ClaimKind, Outset, Record
from monitor.domain.tables import Item
from monitor.store.patience import patient
from monitor.store.sessions import Sessions, batches, insert_or, storable

_ROOTS = (ClaimKind.LIST, ClaimKind.PAGE)
"""The claims that the others of the same record hang on."""

_ITEMS = SQLModel.metadata.tables["item"]
_NAMED = update(_ITEMS).where(_ITEMS.c.id == bindparam("item")).values(evidence=bindparam("records"))


@patient
class Evidence:
    """Records, claims, the model's answers, and what runs set out with. All of it goes when its run is forgotten."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def next_attempt(self, run_id: str) -> int:
        """The number of the attempt that begins now: 1 for a run of which nothing is recorded."""
        async with self._sessions.reading() as session:
            seen = await session.scalar(select(func.max(Record.attempt)).where(col(Record.run_id) == run_id))
            said = await session.scalar(select(func.max(Answer.attempt)).where(col(Answer.run_id) == run_id))
            return max(seen or 0, said or 0) + 1

    async def add_record(self, record: Record) -> None:
        """Write down a sighting."""
        values = {**record.model_dump(), **_without_surrogates(record)}
        async with self._sessions.writing() as session:
            await insert_or(session, Record, [values], key=["id"])

    async def place_of(self, sha256: str) -> str | None:
        """Where a body is stored already; None for one that was never seen."""
        query = select(col(Record.stored_at)).where(col(Record.sha256) == sha256, col(Record.stored_at).is_not(None))
        async with self._sessions.reading() as session:
            return await session.scalar(query.limit(1))

    async def places_in_use(self, places: Sequence[str]) -> set[str]:
        """Those of the places in the storage that a record refers to."""
        found: set[str] = set()
        async with self._sessions.reading() as session:
            for batch in batches(places):
                query = select(col(Record.stored_at)).where(col(Record.stored_at).in_(batch))
                found.update(place for place in await session.scalars(query) if place)
        return found

    async def record(self, record_id: str) -> Record | None:
        """The record of that id."""
        async with self._sessions.reading() as session:
            return await session.get(Record, record_id)

    async def records(self, run_id: str) -> list[Record]:
        """All records of a run, in the order in which they were made."""
        query = select(Record).where(col(Record.run_id) == run_id)
        async with self._sessions.reading() as session:
            return list((await session.scalars(query.order_by(col(Record.attempt), col(Record.number)))).all())

    async def link(self, claims: Mapping[int, Sequence[Claim]], *, instead_of: Collection[ClaimKind]) -> None:
        """Add claims to items, by the items' numbers; each names its records from then on.

        They take the place of all that an item has of the kinds `instead_of`, of what else rests on their records
        alone, and of those that say the same of the same record. An item that is gone has none.
        """
        async with self._sessions.writing() as session:
            there = await session.scalars(select(col(Item.id)).where(col(Item.id).in_(claims)))
            held: dict[int, list[Claim]] = {item_id: [] for item_id in there if item_id is not None}
            for old in await session.scalars(select(Claim).where(col(Claim.item_id).in_(held)).order_by(col(Claim.id))):
                held[old.item_id].append(old)
            gone: list[int | None] = []
            added: list[dict[str, Any]] = []
            named: list[dict[str, Any]] = []
            for item_id, old_ones in held.items():
                new = _of_item(item_id, claims[item_id])
                kept = [one for one in old_ones if not _is_replaced(one, old_ones, new, instead_of)]
                gone += [one.id for one in old_ones if one not in kept]
                added += [one.model_dump(exclude={"id"}) for one in new]
                listed_first = sorted([*kept, *new], key=lambda one: one.kind is not ClaimKind.LIST)
                records = list(dict.fromkeys(one.record_id for one in listed_first))
                named.append({"item": item_id, "records": records})
            for batch in batches(gone):
                await session.execute(delete(Claim).where(col(Claim.id).in_(batch)))
            if added:
                await session.execute(insert(Claim), added)
            if named:
                await (await session.connection()).execute(_NAMED, named)

    async def claims(self, item_id: int) -> list[Claim]:
        """What of an item rests on a record, in the order in which it was written down."""
        query = select(Claim).where(col(Claim.item_id) == item_id).order_by(col(Claim.id))
        async with self._sessions.reading() as session:
            return list((await session.scalars(query)).all())

    async def add_answer(self, answer: Answer) -> None:
        """Write down what the model said."""
        async with self._sessions.writing() as session:
            session.add(Answer(**answer.model_dump(exclude={"id"}) | {"place": storable(answer.place)}))

    async def answers(self, run_id: str) -> list[Answer]:
        """What the model said in a run, in that order."""
        async with self._sessions.reading() as session:
            query = select(Answer).where(col(Answer.run_id) == run_id).order_by(col(Answer.id))
            return list((await session.scalars(query)).all())

    async def set_out(self, run_id: str, facts: dict[str, Any]) -> None:
        """Write down what a run sets out with; a run that goes on keeps what it had."""
        async with self._sessions.writing() as session:
            await insert_or(session, Outset, [{"run_id": run_id, "facts": facts}], key=["run_id"])

    async def outset(self, run_id: str) -> dict[str, Any] | None:
        """What a run set out with; None where that was not kept, or not any more."""
        async with self._sessions.reading() as session:
            found = await session.get(Outset, run_id)
            return None if found is None else found.facts


def _of_item(item_id: int, claims: Sequence[Claim]) -> list[Claim]:
    """The claims as they can be stored of an item, each said once of a record."""
    cleaned = (
        one.model_copy(
            update={"item_id": item_id, "claim": storable(one.claim), "passage": storable(one.passage)}
        )
        for one in claims
    )  # fmt: skip
    return list({_said(one): one for one in cleaned}.values())


def _is_replaced(old: Claim, held: Sequence[Claim], new: Sequence[Claim], instead_of: Collection[ClaimKind]) -> bool:
    """Whether new claims take the place of one that an item has."""
    if old.kind in instead_of or _said(old) in map(_said, new):
        return True
    of_record = [one for one in held if one.record_id == old.record_id]
    has_root = any(one.kind in _ROOTS and one.kind not in instead_of for one in of_record)
    return not has_root and any(one.kind in instead_of for one in of_record)


def _said(claim: Claim) -> tuple[ClaimKind, str, str]:
    return claim.kind, claim.claim, claim.record_id


def _without_surrogates(record: Record) -> dict[str, Any]:
    def clean(texts: Iterable[tuple[str, str]]) -> dict[str, str]:
        return {storable(name): storable(value) for name, value in texts}

    return {
        "url": storable(record.url), "final_url": storable(record.final_url), "headers": clean(record.headers.items()),
        "notes": clean(record.notes.items()), "hops": [storable(hop) for hop in record.hops],
    }  # fmt: skip
