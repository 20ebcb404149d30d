"""Daily totals of runs, deliveries, items, statements, model calls and searches; indexes in which runs are listed.

What is on record is counted by the days of the stored time zone, or of the default one.

Revision 0019.
"""

import datetime as dt
from collections.abc import Callable, Iterator
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

_DEFAULT_ZONE = "Asia/Shanghai"
_LISTED = {"run": ("source_id", "status"), "delivery": ("target", "status")}
_TIMES = (("alarm", "cleared_at"), ("alarm", "notified_at"), ("delivery", "next_try_at"))
_NO_SOURCE = sa.text("source_id IS NULL")
_FINAL_RUNS = ("succeeded", "degraded", "failed", "cancelled")
_FINAL_DELIVERIES = ("sent", "quiet", "failed")
_SWEEP_PHASES = ("navigate", "crawl", "summarise", "rank")
_RESEARCH = "(research)"
_BATCH = 5000

_INSTANT = sa.DateTime(timezone=True)
_RUN = sa.table("run", sa.column("id"), sa.column("source"), sa.column("status"), sa.column("planned_at", _INSTANT))
_DELIVERY = sa.table("delivery", sa.column("status"), sa.column("planned_at", _INSTANT))
_ITEM = sa.table("item", sa.column("first_seen", _INSTANT), sa.column("statements", sa.JSON(none_as_null=True)))
_RESEARCHES = sa.table("research", sa.column("id"))
_CALL = sa.table(
    "model_call",
    *map(sa.column, ("run_id", "phase", "model", "outcome", "prompt_tokens", "completion_tokens", "cost")),
    sa.column("at", _INSTANT),
)
_SEARCH = sa.table("search_call", *map(sa.column, ("backend", "outcome", "cost")), sa.column("at", _INSTANT))
_SETTING = sa.table("stored_setting", sa.column("path"), sa.column("value", sa.JSON()))
_TOTAL = sa.table(
    "daily_total",
    sa.column("kind"),
    sa.column("day", sa.Date()),
    *map(sa.column, ("name", "count", "amount")),
)


class _Sums:
    """The sums of some days by kind, day and name; `flush` writes them."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._sums: dict[tuple[str, dt.date, str], list[float]] = {}

    def add(self, kind: str, day: dt.date, name: str = "", count: int = 1, amount: float = 0.0) -> None:
        if count or amount:
            total = self._sums.setdefault((kind, day, name), [0, 0.0])
            total[0] += count
            total[1] += amount

    def flush(self) -> None:
        rows = [
            {"kind": kind, "day": day, "name": name, "count": count, "amount": amount}
            for (kind, day, name), (count, amount) in sorted(self._sums.items())
        ]
        for start in range(0, len(rows), _BATCH):
            self._connection.execute(sa.insert(_TOTAL), rows[start : start + _BATCH])
        self._sums.clear()


def upgrade() -> None:
    op.create_table(
        "daily_total",
        sa.Column("kind", sa.String(32), primary_key=True),
        sa.Column("day", sa.Date(), primary_key=True),
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("amount", sa.Float(), nullable=False),
    )
    for table, names in _LISTED.items():
        for name in names:
            op.drop_index(f"ix_{table}_{name}", table)
            op.create_index(f"ix_{table}_{name}", table, [name, "planned_at", "id"])
    op.drop_index("ix_run_planned_at", "run")
    for table in _LISTED:
        op.create_index(f"ix_{table}_planned_at", table, ["planned_at", "id"])
    for table, name in _TIMES:
        op.create_index(f"ix_{table}_{name}", table, [name])
    op.create_index(
        "ix_run_of_no_source",
        "run",
        ["source", "planned_at", "id"],
        sqlite_where=_NO_SOURCE,
        postgresql_where=_NO_SOURCE,
    )
    connection = op.get_bind()
    stored = connection.scalar(sa.select(_SETTING.c.value).where(_SETTING.c.path == "timezone"))
    fill_totals(connection, ZoneInfo(stored if isinstance(stored, str) else _DEFAULT_ZONE))


def downgrade() -> None:
    op.drop_index("ix_run_of_no_source", "run")
    for table, name in _TIMES:
        op.drop_index(f"ix_{table}_{name}", table)
    for table in _LISTED:
        op.drop_index(f"ix_{table}_planned_at", table)
    op.create_index("ix_run_planned_at", "run", ["planned_at"])
    for table, names in _LISTED.items():
        for name in names:
            op.drop_index(f"ix_{table}_{name}", table)
            op.create_index(f"ix_{table}_{name}", table, [name])
    op.drop_table("daily_total")


def fill_totals(connection: sa.Connection, zone: ZoneInfo) -> None:
    """Count all that is on record into the empty table."""
    sums = _Sums(connection)

    def day_of(instant: dt.datetime) -> dt.date:
        known = instant.replace(tzinfo=dt.UTC) if instant.tzinfo is None else instant
        return known.astimezone(zone).date()

    for day, begin, end in _list_days(connection, _RUN.c.planned_at, zone):
        within = (_RUN.c.planned_at >= begin, _RUN.c.planned_at < end, _RUN.c.status.in_(_FINAL_RUNS))
        for status, count in connection.execute(
            sa.select(_RUN.c.status, sa.func.count()).where(*within).group_by(_RUN.c.status)
        ):
            sums.add("run", day, status, count)
    ended = sa.select(_DELIVERY).where(_DELIVERY.c.status.in_(_FINAL_DELIVERIES))
    for delivery in _stream(connection, ended):
        sums.add("delivery", day_of(delivery.planned_at), delivery.status)
    for item in _stream(connection, sa.select(_ITEM)):
        day = day_of(item.first_seen)
        sums.add("item", day)
        for verdict, count in (item.statements or {}).items():
            sums.add("statement", day, verdict, count)
    sums.flush()
    _count_searches(connection, sums, day_of)
    for day, begin, end in _list_days(connection, _CALL.c.at, zone):
        _count_calls(connection, sums, day, (_CALL.c.at >= begin, _CALL.c.at < end))


def _count_searches(connection: sa.Connection, sums: _Sums, day_of: Callable[[dt.datetime], dt.date]) -> None:
    for call in _stream(connection, sa.select(_SEARCH)):
        day = day_of(call.at)
        sums.add("search", day, call.backend)
        sums.add("search_failed", day, call.backend, int(call.outcome != "ok"))
        sums.add("search_cost", day, call.backend, int(call.cost is not None), call.cost or 0.0)
    sums.flush()


def _count_calls(
    connection: sa.Connection, sums: _Sums, day: dt.date, within: tuple[sa.ColumnElement[bool], ...]
) -> None:
    """Count the model calls of a day, as version 0.2.0 counts each of them when it is booked."""
    is_research = sa.exists().where(_RESEARCHES.c.id == _CALL.c.run_id).label("is_research")
    source = sa.select(_RUN.c.source).where(_RUN.c.id == _CALL.c.run_id).scalar_subquery().label("source")
    each = sa.select(_CALL, is_research, source).where(*within).subquery()
    key = (each.c.phase, each.c.model, each.c.outcome, each.c.is_research, each.c.source)
    tokens = sa.func.sum(each.c.prompt_tokens + each.c.completion_tokens)
    query = sa.select(*key, sa.func.count(), tokens, sa.func.count(each.c.cost), sa.func.sum(each.c.cost))
    for phase, model, outcome, researched, source_name, calls, spent, priced, cost in connection.execute(
        query.group_by(*key)
    ):
        sums.add("call", day, outcome, calls, spent)
        is_sweep = phase in _SWEEP_PHASES or (phase == "verify" and not researched)
        names = {"phase": phase, "model": model, "source": (source_name or "") if is_sweep else _RESEARCH}
        if researched:
            names["research"] = ""
        for kind, name in names.items():
            sums.add(kind, day, name, calls, spent)
            sums.add(f"{kind}_cost", day, name, priced, cost or 0.0)
    sums.flush()


def _list_days(
    connection: sa.Connection, column: sa.ColumnElement[dt.datetime], zone: ZoneInfo
) -> Iterator[tuple[dt.date, dt.datetime, dt.datetime]]:
    """The days on which there may be rows, each with the instants at which it begins and ends."""
    first, last = (connection.scalar(sa.select(bound(column))) for bound in (sa.func.min, sa.func.max))
    if first is None:
        return
    bounds = [instant.replace(tzinfo=dt.UTC) if instant.tzinfo is None else instant for instant in (first, last)]
    day, end = (instant.astimezone(zone).date() for instant in bounds)
    while day <= end:
        following = day + dt.timedelta(days=1)
        begin, over = (dt.datetime.combine(date, dt.time(), zone).astimezone(dt.UTC) for date in (day, following))
        yield day, begin, over
        day = following


def _stream(connection: sa.Connection, query: sa.Select) -> Iterator[sa.Row]:
    yield from connection.execute(query.execution_options(yield_per=_BATCH))
