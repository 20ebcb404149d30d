"""The run history as people look through it: pages of runs, of candidates, of model calls, and nothing beside them."""

import datetime as dt
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import BaseModel, Field
from sqlalchemy import ColumnElement, ScalarSelect, Select, and_, func, or_, select, tuple_
from sqlmodel import SQLModel, col

from monitor.db.reading import Coverage, PhaseUsage, RunUsage, UnseenPlace
from monitor.db.sessions import Queries, sanitize_text
from monitor.db.tables.collection import CandidateRecord, Fallback, Item, ModelCall, Run, RunSection, Unseen
from monitor.i18n.message import Message
from monitor.vocabulary import DateSource, Disposition, Phase, RunStatus

RunKey = tuple[dt.datetime, str]
"""Where a run stands in the history: the instant for which it was planned, and its id."""

CandidateKey = tuple[int, int, int]
"""Where a candidate stands in a run's ledger: section, position, number."""


class RunFilter(BaseModel):
    """Which runs are meant: of a source by its number or, where it is gone, its name; planned within a span."""

    source_id: int | None = None
    source: str | None = None
    status: RunStatus | None = None
    planned_from: dt.datetime | None = None
    planned_before: dt.datetime | None = None


class RunRow(BaseModel):
    """A run in a list: what its row shows. `tokens` are those of prompts and answers together."""

    run: Run
    saved: int
    candidates: int
    fallbacks: int
    tokens: int


class RunDetails(BaseModel):
    """What lists of runs tell programs beside the run itself (contracts, section 2)."""

    fallbacks: list[Fallback] = Field(default_factory=list)
    coverage: Coverage = Field(default_factory=Coverage)
    usage: RunUsage = Field(default_factory=RunUsage)


class CandidateFilter(BaseModel):
    """Which candidates of a ledger are meant; `text` stands in the title or the url."""

    disposition: Disposition | None = None
    section: int | None = None
    text: str = ""


class LedgerRow(NamedTuple):
    """A candidate of a run's ledger as pages show it."""

    id: int
    section: int
    page_url: str
    url: str
    title: str
    date: dt.date | None
    date_source: DateSource
    disposition: Disposition
    reason: Message | None
    item_id: int | None


class RunHistoryQueries(Queries):
    """Looks through runs; each list is one question, whatever the runs hold."""

    async def list_runs(self, wanted: RunFilter, *, after: RunKey | None = None, limit: int | None = 50) -> list[Run]:
        """The runs that are meant, latest first, from the place `after` on."""
        return await self._fetch_all(_select_latest(select(Run), wanted, after, limit))

    async def list_rows(self, wanted: RunFilter, *, after: RunKey | None = None, limit: int = 50) -> list[RunRow]:
        """The same with what a row of the history shows."""
        tokens = func.sum(col(ModelCall.prompt_tokens) + col(ModelCall.completion_tokens))
        columns = (
            Run,
            _build_run_subquery(func.count(), Item),
            _build_run_subquery(func.sum(col(RunSection.candidates)), RunSection),
            _build_run_subquery(func.count(), Fallback),
            _build_run_subquery(tokens, ModelCall),
        )
        async with self._sessions.begin_read() as session:
            found = await session.execute(_select_latest(select(*columns), wanted, after, limit))
            return [
                RunRow(run=run, saved=saved, candidates=candidates or 0, fallbacks=fallbacks, tokens=used or 0)
                for run, saved, candidates, fallbacks, used in found
            ]

    async def load_details(self, run_ids: Sequence[str]) -> dict[str, RunDetails]:
        """Fallbacks, coverage and usage of these runs: four questions for all of them."""
        details = {run_id: RunDetails() for run_id in run_ids}
        counts = (col(CandidateRecord.run_id), col(CandidateRecord.disposition))
        async with self._sessions.begin_read() as session:
            for row in await session.scalars(_select_rows(Fallback, run_ids)):
                details[row.run_id].fallbacks.append(row)
            for place in await session.scalars(_select_rows(Unseen, run_ids)):
                unread = UnseenPlace(section=place.section, url=place.url, reason=place.reason)
                details[place.run_id].coverage.unseen.append(unread)
            query = select(*counts, func.count()).where(counts[0].in_(run_ids)).group_by(*counts)
            for run_id, disposition, count in await session.execute(query):
                setattr(details[run_id].coverage, str(disposition), count)
            usage = sorted(await session.execute(_select_usage(run_ids)), key=lambda row: list(Phase).index(row[1]))
            for run_id, phase, *figures in usage:
                _add_usage(details[run_id].usage, phase, PhaseUsage(**dict(zip(_USAGE_FIELDS, figures, strict=True))))
        return details

    async def list_candidates(
        self, run_id: str, wanted: CandidateFilter, *, after: CandidateKey | None = None, limit: int | None = 50
    ) -> list[CandidateRecord]:
        """The candidates of a run that are meant, in the order of its pages, from the place `after` on."""
        key = (col(CandidateRecord.section), col(CandidateRecord.position), col(CandidateRecord.id))
        query = select(CandidateRecord).where(*_build_candidate_conditions(run_id, wanted)).order_by(*key).limit(limit)
        if after is not None:
            query = query.where(tuple_(*key) > after)
        return await self._fetch_all(query)

    async def load_ledger(self, run_id: str) -> list[LedgerRow]:
        """Every candidate of a run in the order of its pages."""
        columns = [getattr(CandidateRecord, name) for name in LedgerRow._fields]
        key = (col(CandidateRecord.section), col(CandidateRecord.position), col(CandidateRecord.id))
        query = select(*columns).where(col(CandidateRecord.run_id) == run_id).order_by(*key)
        async with self._sessions.begin_read() as session:
            return [LedgerRow(*row) for row in await session.execute(query)]

    async def list_calls(self, run_id: str, *, after: int = 0, limit: int | None = 50) -> list[ModelCall]:
        """The model calls of a run in their order, from the one after that number on."""
        query = select(ModelCall).where(col(ModelCall.run_id) == run_id, col(ModelCall.id) > after)
        return await self._fetch_all(query.order_by(col(ModelCall.id)).limit(limit))

    async def list_latest_calls(self, run_id: str, *, limit: int) -> list[ModelCall]:
        """The last model calls of a run, oldest first."""
        query = select(ModelCall).where(col(ModelCall.run_id) == run_id).order_by(col(ModelCall.id).desc())
        async with self._sessions.begin_read() as session:
            return list((await session.scalars(query.limit(limit))).all())[::-1]

    async def list_sources(self) -> list[str]:
        """The names of all sources that have a run on record."""
        query = select(col(Run.source)).distinct().order_by(col(Run.source))
        return await self._fetch_all(query)


def _select_latest(query: Select, wanted: RunFilter, after: RunKey | None, limit: int | None) -> Select:  # type: ignore[type-arg]
    conditions: list[ColumnElement[bool]] = []
    if wanted.source_id is not None:
        conditions.append(col(Run.source_id) == wanted.source_id)
    elif wanted.source is not None:
        conditions.append(col(Run.source) == sanitize_text(wanted.source))
    if wanted.status is not None:
        conditions.append(col(Run.status) == wanted.status)
    if wanted.planned_from is not None:
        conditions.append(col(Run.planned_at) >= wanted.planned_from)
    if wanted.planned_before is not None:
        conditions.append(col(Run.planned_at) < wanted.planned_before)
    if after is not None:
        at, run_id = after
        later = and_(col(Run.planned_at) == at, col(Run.id) < sanitize_text(run_id))
        conditions.append(or_(col(Run.planned_at) < at, later))
    return query.where(*conditions).order_by(col(Run.planned_at).desc(), col(Run.id).desc()).limit(limit)


def _build_run_subquery(
    figure: ColumnElement[int], table: type[Item | RunSection | Fallback | ModelCall]
) -> ScalarSelect[int]:
    return select(figure).select_from(table).where(col(table.run_id) == col(Run.id)).correlate(Run).scalar_subquery()


def _select_rows(table: type[SQLModel], run_ids: Sequence[str]) -> Select:  # type: ignore[type-arg]
    columns = SQLModel.metadata.tables[str(table.__tablename__)].c
    return select(table).where(columns.run_id.in_(run_ids)).order_by(columns.id)


_USAGE_FIELDS = ("calls", "prompt_tokens", "completion_tokens", "largest_context_chars", "cost")


def _select_usage(run_ids: Sequence[str]) -> Select:  # type: ignore[type-arg]
    by = (col(ModelCall.run_id), col(ModelCall.phase))
    figures = (
        func.count(),
        func.sum(ModelCall.prompt_tokens),
        func.sum(ModelCall.completion_tokens),
        func.max(ModelCall.context_chars),
        func.sum(ModelCall.cost),
    )
    return select(*by, *figures).where(by[0].in_(run_ids)).group_by(*by)


def _add_usage(usage: RunUsage, phase: Phase, spent: PhaseUsage) -> None:
    usage.by_phase[str(phase)] = spent
    usage.calls += spent.calls
    usage.prompt_tokens += spent.prompt_tokens
    usage.completion_tokens += spent.completion_tokens
    usage.largest_context_chars = max(usage.largest_context_chars, spent.largest_context_chars)
    usage.cost = usage.cost if spent.cost is None else (usage.cost or 0.0) + spent.cost


def _build_candidate_conditions(run_id: str, wanted: CandidateFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [col(CandidateRecord.run_id) == run_id]
    if wanted.disposition is not None:
        conditions.append(col(CandidateRecord.disposition) == wanted.disposition)
    if wanted.section is not None:
        conditions.append(col(CandidateRecord.section) == wanted.section)
    if text := sanitize_text(wanted.text).strip():
        places = (col(CandidateRecord.title), col(CandidateRecord.url))
        conditions.append(or_(*(place.icontains(text, autoescape=True) for place in places)))
    return conditions
