"""Evaluations: what was asked, the pieces that are done, and the choices between summaries."""

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import func, select, tuple_, update
from sqlmodel import col

from monitor.db.sessions import Queries, insert_if_new, sanitize_value, upsert_rows
from monitor.db.tables.evaluation import Evaluation, EvaluationPiece, EvaluationStatus, PairChoice
from monitor.i18n.message import Message

_ACTIVE_STATUSES = (EvaluationStatus.QUEUED, EvaluationStatus.RUNNING)
_UNFINISHED_STATUSES = (*_ACTIVE_STATUSES, EvaluationStatus.STOPPED, EvaluationStatus.FAILED)
_PIECE_KEY = ("evaluation_id", "contender", "run_id", "phase", "place")


class EvaluationStore(Queries):
    """What a killed evaluation had finished stays, and it goes on from there."""

    async def create(self, evaluation: Evaluation) -> bool:
        """Store an evaluation; False where its id is taken."""
        async with self._sessions.begin_write() as session:
            return await insert_if_new(session, evaluation)

    async def get(self, evaluation_id: str) -> Evaluation | None:
        return await self._get(Evaluation, evaluation_id)

    async def list_latest(self, limit: int = 50, *, after: tuple[dt.datetime, str] | None = None) -> list[Evaluation]:
        """The latest evaluations in full, newest first, those after one of this instant and id."""
        query = select(Evaluation).order_by(col(Evaluation.created_at).desc(), col(Evaluation.id).desc())
        if after is not None:
            query = query.where(tuple_(col(Evaluation.created_at), col(Evaluation.id)) < after)
        return await self._fetch_all(query.limit(limit))

    async def find_unfinished(self, fingerprint: str) -> Evaluation | None:
        """The latest evaluation with these parameters that is not done."""
        query = select(Evaluation).where(
            col(Evaluation.fingerprint) == fingerprint, col(Evaluation.status).in_(_UNFINISHED_STATUSES)
        )
        return await self._fetch_first(query.order_by(col(Evaluation.created_at).desc()).limit(1))

    async def claim(self, evaluation_id: str, *, executor: str, at: dt.datetime) -> Evaluation | None:
        """Start an evaluation, or go on with it after its process died; None where it is not to be carried out.

        What the calls that were under way may have cost counts as spent from now on.
        """
        async with self._lock(Evaluation, evaluation_id) as (session, evaluation):
            if evaluation is None or evaluation.status not in _ACTIVE_STATUSES:
                return None
            evaluation.status, evaluation.executor = EvaluationStatus.RUNNING, executor
            evaluation.started_at = evaluation.started_at or at
            mine = col(EvaluationPiece.evaluation_id) == evaluation_id
            lost = await session.scalar(select(func.sum(col(EvaluationPiece.reserved_cost))).where(mine))
            evaluation.lost_cost += lost or 0.0
            await session.execute(update(EvaluationPiece).where(mine).values(reserved_cost=0.0))
            return evaluation

    async def resume(self, evaluation_id: str, *, executor: str | None, budget: float | None) -> bool:
        """Let one that was stopped or failed go on under this budget; False where it is neither."""
        async with self._lock(Evaluation, evaluation_id) as (_, evaluation):
            if evaluation is None or evaluation.status not in (EvaluationStatus.STOPPED, EvaluationStatus.FAILED):
                return False
            evaluation.status = EvaluationStatus.RUNNING if executor else EvaluationStatus.QUEUED
            evaluation.executor, evaluation.enqueued_at, evaluation.ended_at = executor, None, None
            evaluation.reason, evaluation.is_stop_requested = None, False
            evaluation.budget = budget
            evaluation.attempt += 1
            return True

    async def set_total(self, evaluation_id: str, total: int) -> None:
        await self._execute(update(Evaluation).where(col(Evaluation.id) == evaluation_id).values(total=total))

    async def set_gaps(self, evaluation_id: str, gaps: Sequence[Mapping[str, Any]]) -> None:
        changed = update(Evaluation).where(col(Evaluation.id) == evaluation_id)
        await self._execute(changed.values(gaps=sanitize_value(list(gaps))))

    async def end(
        self,
        evaluation_id: str,
        *,
        executor: str | None,
        status: EvaluationStatus,
        at: dt.datetime,
        reason: Message | None = None,
    ) -> bool:
        """Record how an evaluation ended; False where another executor has it, or it had ended before."""
        statement = update(Evaluation).where(
            col(Evaluation.id) == evaluation_id,
            col(Evaluation.status).in_(_ACTIVE_STATUSES),
            col(Evaluation.executor).is_(None) if executor is None else col(Evaluation.executor) == executor,
        )
        changed = statement.values(status=status, ended_at=at, reason=reason).returning(col(Evaluation.id))
        async with self._sessions.begin_write() as session:
            return await session.scalar(changed) is not None

    async def request_stop(self, evaluation_id: str, *, at: dt.datetime) -> EvaluationStatus | None:
        """Ask an evaluation to stop; one that has not begun is stopped at once. None where there is nothing to stop."""
        async with self._lock(Evaluation, evaluation_id) as (_, evaluation):
            if evaluation is None or not evaluation.status.is_active:
                return None
            evaluation.is_stop_requested = True
            if evaluation.status is EvaluationStatus.QUEUED:
                evaluation.status, evaluation.ended_at = EvaluationStatus.STOPPED, at
            return evaluation.status

    async def list_stop_requested(self, ids: Collection[str]) -> set[str]:
        asked = select(col(Evaluation.id)).where(col(Evaluation.id).in_(ids), col(Evaluation.is_stop_requested))
        return set(await self._fetch_all(asked))

    async def delete(self, evaluation_id: str) -> bool:
        """Delete an evaluation that is not under way, with its pieces and choices; False where there is none."""
        async with self._lock(Evaluation, evaluation_id) as (session, evaluation):
            if evaluation is None or evaluation.status.is_active:
                return False
            await session.delete(evaluation)
            return True

    # The queue.

    async def list_open(self) -> list[Evaluation]:
        """The evaluations that are queued or under way, oldest first."""
        query = select(Evaluation).where(col(Evaluation.status).in_(_ACTIVE_STATUSES))
        return await self._fetch_all(query.order_by(col(Evaluation.created_at)))

    async def mark_enqueued(self, evaluation_id: str, *, at: dt.datetime) -> None:
        await self._execute(update(Evaluation).where(col(Evaluation.id) == evaluation_id).values(enqueued_at=at))

    async def requeue(self, evaluation_id: str) -> None:
        statement = update(Evaluation).where(
            col(Evaluation.id) == evaluation_id, col(Evaluation.status).in_(_ACTIVE_STATUSES)
        )
        await self._execute(statement.values(status=EvaluationStatus.QUEUED, executor=None, enqueued_at=None))

    # Pieces.

    async def list_pieces(self, evaluation_id: str) -> list[EvaluationPiece]:
        """The finished pieces, in the order in which they were begun."""
        query = select(EvaluationPiece).where(
            col(EvaluationPiece.evaluation_id) == evaluation_id, col(EvaluationPiece.measured).is_not(None)
        )
        return await self._fetch_all(query.order_by(col(EvaluationPiece.id)))

    async def count_pieces(self, evaluation_id: str) -> int:
        mine = col(EvaluationPiece.evaluation_id) == evaluation_id
        query = select(func.count(col(EvaluationPiece.id))).where(mine, col(EvaluationPiece.measured).is_not(None))
        return int(await self._fetch_first(query) or 0)

    async def reserve_cost(self, piece: EvaluationPiece, cost: float) -> None:
        """Store what the call under way may cost, before it is made; 0 once it has been booked."""
        values = piece.model_dump(exclude={"id"}) | {"measured": None, "reserved_cost": cost}
        async with self._sessions.begin_write() as session:
            await upsert_rows(session, EvaluationPiece, [values], key=_PIECE_KEY, update=["reserved_cost"])

    async def save_piece(self, piece: EvaluationPiece, measured: Mapping[str, Any]) -> None:
        values = piece.model_dump(exclude={"id"})
        values |= {"measured": sanitize_value(dict(measured)), "reserved_cost": 0.0}
        async with self._sessions.begin_write() as session:
            await upsert_rows(
                session, EvaluationPiece, [values], key=_PIECE_KEY, update=["measured", "reserved_cost", "at"]
            )

    # Choices.

    async def save_choice(self, choice: PairChoice) -> None:
        """Store a choice in place of what the same person chose before."""
        values, key = choice.model_dump(exclude={"id"}), ("evaluation_id", "pair", "person")
        async with self._sessions.begin_write() as session:
            await upsert_rows(session, PairChoice, [values], key=key, update=["preferred", "at"])

    async def list_choices(self, evaluation_id: str) -> list[PairChoice]:
        query = select(PairChoice).where(col(PairChoice.evaluation_id) == evaluation_id)
        return await self._fetch_all(query.order_by(col(PairChoice.id)))
