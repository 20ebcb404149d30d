"""Figures of the whole service, for those who watch it."""

import datetime as dt
from typing import Any

from pydantic import BaseModel, Field
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from monitor.domain.alarms import Alarm
from monitor.domain.deliveries import Delivery
from monitor.domain.research import Research, ResearchStatus
from monitor.domain.tables import Item, ModelCall, Run, Source
from monitor.domain.words import RunStatus
from monitor.store.sessions import Sessions

_LATEST = 100
_WITH_REPORT = (ResearchStatus.SUCCEEDED, ResearchStatus.DEGRADED)


class ReportFigures(BaseModel):
    """How long a research took that has a report, and how its report scored, in the names of the protocol."""

    seconds: float
    score: dict[str, Any]


class ResearchFigures(BaseModel):
    """How many researches there are by status, what their model calls took, and the latest 100 reports."""

    by_status: dict[str, int] = Field(default_factory=dict)
    tokens: int = 0
    cost: float = 0.0
    reports: list[ReportFigures] = Field(default_factory=list)


class ServiceFigures(BaseModel):
    """How much there is of everything; of alarms, those that are open.

    `oldest_queued_at`: since when the longest waiting run could have begun.
    """

    runs: dict[str, int] = Field(default_factory=dict)
    oldest_queued_at: dt.datetime | None = None
    sources: int = 0
    failing_sources: int = 0
    items: int = 0
    model_calls: dict[str, int] = Field(default_factory=dict)
    tokens: int = 0
    deliveries: dict[str, int] = Field(default_factory=dict)
    alarms: dict[str, int] = Field(default_factory=dict)
    research: ResearchFigures = Field(default_factory=ResearchFigures)


class Figures:
    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def service(self) -> ServiceFigures:
        spent = func.sum(col(ModelCall.prompt_tokens) + col(ModelCall.completion_tokens))
        failing = (col(Source.enabled), col(Source.consecutive_failures) > 0)
        waiting = select(func.min(Run.planned_at)).where(col(Run.status) == RunStatus.QUEUED)
        async with self._sessions.reading() as session:
            runs = await session.execute(select(col(Run.status), func.count()).group_by(col(Run.status)))
            calls = await session.execute(select(col(ModelCall.outcome), func.count()).group_by(col(ModelCall.outcome)))
            states = await session.execute(select(col(Delivery.status), func.count()).group_by(col(Delivery.status)))
            open_ones = select(col(Alarm.kind), func.count()).where(col(Alarm.cleared_at).is_(None))
            alarms = await session.execute(open_ones.group_by(col(Alarm.kind)))
            return ServiceFigures(
                alarms={str(kind): count for kind, count in alarms},
                deliveries={str(status): count for status, count in states},
                runs={str(status): count for status, count in runs},
                oldest_queued_at=await session.scalar(waiting),
                sources=await session.scalar(select(func.count()).where(col(Source.enabled))) or 0,
                failing_sources=await session.scalar(select(func.count()).where(*failing)) or 0,
                items=await session.scalar(select(func.count()).select_from(Item)) or 0,
                model_calls={str(outcome): count for outcome, count in calls},
                tokens=await session.scalar(select(spent)) or 0,
                research=await _of_researches(session),
            )


async def _of_researches(session: AsyncSession) -> ResearchFigures:
    standing = await session.execute(select(col(Research.status), func.count()).group_by(col(Research.status)))
    tokens = func.sum(col(ModelCall.prompt_tokens) + col(ModelCall.completion_tokens))
    spent = select(tokens, func.sum(col(ModelCall.cost))).join(Research, col(Research.id) == col(ModelCall.run_id))
    score = col(Research.outputs)[("reporting", "score")]
    latest = (
        select(col(Research.started_at), col(Research.ended_at), score)
        .where(col(Research.status).in_(_WITH_REPORT))
        .order_by(col(Research.created_at).desc())
        .limit(_LATEST)
    )
    taken, cost = (await session.execute(spent)).one()
    return ResearchFigures(
        by_status={str(status): count for status, count in standing},
        tokens=taken or 0,
        cost=cost or 0.0,
        reports=[
            ReportFigures(seconds=(ended - started).total_seconds(), score=scored or {})
            for started, ended, scored in await session.execute(latest)
            if started is not None and ended is not None
        ],
    )
