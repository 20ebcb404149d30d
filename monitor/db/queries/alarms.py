"""The alarms: raised once, open until they are over."""

import datetime as dt
from collections.abc import Mapping, Sequence

from sqlalchemy import Row, Select, Update, and_, func, select, update
from sqlmodel import col

from monitor.db.sessions import Queries, build_insert, get_dialect, sanitize_text
from monitor.db.tables.collection import Source
from monitor.db.tables.delivery import Alarm, AlarmFinding, AlarmKind, AlarmView, Delivery


class AlarmStore(Queries):
    """What is out of the ordinary, by source."""

    async def reconcile(
        self,
        source_id: int,
        *,
        run_id: str,
        findings: Sequence[AlarmFinding],
        judged_kinds: Mapping[str, frozenset[AlarmKind]],
        at: dt.datetime,
    ) -> None:
        """Bring a source's open alarms to what is due: new ones are raised, and those that are over are cleared.

        `judged` says by scope (a section's key, or the empty string for the source) which kinds could be judged: an
        open alarm of a kind that could not stays as it is. One of a section that is not among the scopes is cleared,
        unless there is no section at all.
        """
        async with self._sessions.begin_write() as session:
            # Two runs of one source that end at the same time settle one after the other.
            await session.scalar(select(col(Source.id)).where(col(Source.id) == source_id).with_for_update())
            mine = (col(Alarm.source_id) == source_id, col(Alarm.cleared_at).is_(None))
            still_open = {
                (alarm.section_key, alarm.kind): alarm for alarm in await session.scalars(select(Alarm).where(*mine))
            }
            due_now = {(finding.section_key, finding.kind): finding for finding in findings}
            for (scope, kind), alarm in still_open.items():
                is_over = kind in judged_kinds[scope] if scope in judged_kinds else len(judged_kinds) > 1
                if (scope, kind) not in due_now and is_over:
                    alarm.cleared_at = at
            for key, finding in due_now.items():
                if key not in still_open:
                    session.add(_build_alarm(source_id, run_id, finding, at))

    async def count_open(self) -> int:
        async with self._sessions.begin_read() as session:
            return await session.scalar(select(func.count()).where(col(Alarm.cleared_at).is_(None))) or 0

    async def list_unnotified(self) -> list[AlarmView]:
        """The alarms that nobody was told of yet, oldest first."""
        return await self._load_views(
            _select_with_source().where(col(Alarm.notified_at).is_(None)).order_by(col(Alarm.id))
        )

    async def list_notified_at(self, at: dt.datetime) -> list[AlarmView]:
        """The alarms that were handed on under an instant, oldest first."""
        return await self._load_views(_select_with_source().where(col(Alarm.notified_at) == at).order_by(col(Alarm.id)))

    async def mark_notified(self, alarm_ids: Sequence[int], at: dt.datetime) -> None:
        """Write down that somebody was told of these alarms, as far as that is not on record."""
        await self._execute(_update_unnotified(alarm_ids).values(notified_at=at))

    async def attach_to_deliveries(
        self, alarm_ids: Sequence[int], deliveries: Sequence[Delivery], *, now: dt.datetime
    ) -> bool:
        """Put these alarms, as far as nobody was told of them, under the instant of the deliveries that tell of them.

        A delivery that is on record and has not left gathers them too. False, and nothing is done, where one has.
        """
        at, ids = deliveries[0].planned_at, [delivery.id for delivery in deliveries]
        async with self._sessions.begin_write() as session:
            waits = (col(Delivery.attempts) == 0, col(Delivery.next_try_at) > now)
            gone = select(col(Delivery.id)).where(col(Delivery.id).in_(ids), ~and_(*waits))
            if await session.scalar(gone) is not None:
                return False
            fresh = await session.scalars(_update_unnotified(alarm_ids).values(notified_at=at).returning(col(Alarm.id)))
            if fresh.all():
                rows = [delivery.model_dump() for delivery in deliveries]
                await session.execute(
                    build_insert(get_dialect(session), Delivery).values(rows).on_conflict_do_nothing()
                )
        return True

    async def _load_views(self, query: Select[Alarm, str]) -> list[AlarmView]:
        async with self._sessions.begin_read() as session:
            return [_build_view(row) for row in await session.execute(query)]

    async def list_page(
        self,
        *,
        is_open: bool | None = None,
        source_id: int | None = None,
        before_id: int | None = None,
        limit: int = 50,
    ) -> list[AlarmView]:
        """The alarms raised before another one, newest first: those that are open, those that are over, or both."""
        query = _select_with_source().order_by(col(Alarm.id).desc()).limit(limit)
        if is_open is not None:
            query = query.where(col(Alarm.cleared_at).is_(None) if is_open else col(Alarm.cleared_at).is_not(None))
        if source_id is not None:
            query = query.where(col(Alarm.source_id) == source_id)
        if before_id is not None:
            query = query.where(col(Alarm.id) < before_id)
        return await self._load_views(query)

    async def list_for_runs(self, run_ids: Sequence[str]) -> list[AlarmView]:
        """The alarms that these runs raised, newest first."""
        order = (col(Alarm.raised_at).desc(), col(Alarm.id).desc())
        return await self._load_views(_select_with_source().where(col(Alarm.run_id).in_(run_ids)).order_by(*order))

    async def list(
        self, *, source_id: int | None = None, run_id: str | None = None, only_open: bool = False, limit: int = 200
    ) -> list[AlarmView]:
        """The alarms, newest first: of all sources or one, raised by one run, or only those still open."""
        query = _select_with_source().order_by(col(Alarm.raised_at).desc(), col(Alarm.id).desc()).limit(limit)
        if source_id is not None:
            query = query.where(col(Alarm.source_id) == source_id)
        if run_id is not None:
            query = query.where(col(Alarm.run_id) == run_id)
        if only_open:
            query = query.where(col(Alarm.cleared_at).is_(None))
        return await self._load_views(query)


def _update_unnotified(alarm_ids: Sequence[int]) -> Update:
    return update(Alarm).where(col(Alarm.id).in_(alarm_ids), col(Alarm.notified_at).is_(None))


def _select_with_source() -> Select[Alarm, str]:
    return select(Alarm, col(Source.name)).join(Source, col(Source.id) == col(Alarm.source_id))


def _build_view(row: Row[Alarm, str]) -> AlarmView:
    alarm, source = row
    return AlarmView(source=source, **alarm.model_dump(include=set(AlarmView.model_fields)))


def _build_alarm(source_id: int, run_id: str, finding: AlarmFinding, at: dt.datetime) -> Alarm:
    return Alarm(
        source_id=source_id,
        section=sanitize_text(finding.section),
        section_key=finding.section_key,
        kind=finding.kind,
        message=finding.message,
        run_id=run_id,
        raised_at=at,
    )
