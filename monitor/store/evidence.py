"""What was seen and kept of it, and what rests on that."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import func, select, update
from sqlmodel import col

from monitor.domain.evidence import Answer, Claim, Outset, Record
from monitor.domain.marks import Wish
from monitor.store.patience import patient
from monitor.store.sessions import Sessions, batches, insert_or, storable


@patient
class Evidence:
    """Records, claims, the model's answers, and what runs set out with. All of it goes when its run is forgotten.

    Records belong to a run or to a research.
    """

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def next_attempt(self, run_id: str) -> int:
        """The number of the attempt that begins now: 1 for a run of which nothing is recorded."""
        async with self._sessions.reading() as session:
            seen = await session.scalar(select(func.max(Record.attempt)).where(col(Record.run_id) == run_id))
            said = await session.scalar(select(func.max(Answer.attempt)).where(col(Answer.run_id) == run_id))
            return max(seen or 0, said or 0) + 1

    async def next_attempt_of(self, research_id: str) -> int:
        mine = select(func.max(Record.attempt)).where(col(Record.research_id) == research_id)
        async with self._sessions.reading() as session:
            return (await session.scalar(mine) or 0) + 1

    async def add_record(self, record: Record) -> None:
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
        async with self._sessions.reading() as session:
            return await session.get(Record, record_id)

    async def records(self, run_id: str) -> list[Record]:
        """All records of a run, in the order in which they were made."""
        query = select(Record).where(col(Record.run_id) == run_id)
        async with self._sessions.reading() as session:
            return list((await session.scalars(query.order_by(col(Record.attempt), col(Record.number)))).all())

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

    async def note_wishes(self, run_id: str, wishes: Sequence[Wish]) -> None:
        """Write down with what a run set out with what people said of ranks before it made its own."""
        told = [wish.model_dump(mode="json") for wish in wishes]
        facts = await self.outset(run_id)
        if facts is None or facts.get("wishes", []) == told:
            return  # as in nearly every run: nobody said anything
        async with self._sessions.writing() as session:
            changed = update(Outset).where(col(Outset.run_id) == run_id).values(facts={**facts, "wishes": told})
            await session.execute(changed)

    async def outset(self, run_id: str) -> dict[str, Any] | None:
        """What a run set out with; None where that was not kept, or not any more."""
        async with self._sessions.reading() as session:
            found = await session.get(Outset, run_id)
            return None if found is None else found.facts


def _without_surrogates(record: Record) -> dict[str, Any]:
    def clean(texts: Iterable[tuple[str, str]]) -> dict[str, str]:
        return {storable(name): storable(value) for name, value in texts}

    return {
        "url": storable(record.url),
        "final_url": storable(record.final_url),
        "headers": clean(record.headers.items()),
        "notes": clean(record.notes.items()),
        "hops": [storable(hop) for hop in record.hops],
    }
