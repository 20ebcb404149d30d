"""The run history as people look through it: pages of runs, of candidates and of model calls."""

import datetime as dt
from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel, Field
from sqlalchemy import ColumnElement, ScalarSelect, Select, func, or_, select, tuple_
from sqlmodel import SQLModel, col

from monitor.db.queries.filters import list_distinct_values
from monitor.db.queries.usage import load_usage
from monitor.db.reading import Coverage, RunUsage, UnseenPlace
from monitor.db.sessions import Columns, Queries, sanitize_text
from monitor.db.tables.collection import (
    CandidateRecord,
    Fallback,
    Item,
    ModelCall,
    Reading,
    Run,
    RunSection,
    Source,
    Unseen,
)
from monitor.i18n.message import Message
from monitor.vocabulary import DateSource, Disposition, RunStatus

RunKey = tuple[dt.datetime, str]  # the instant for which a run was planned, and its id
CandidateKey = tuple[int, int, int]  # section, position and id of a candidate


class RunFilter(BaseModel):
    """Which runs are meant: of a source by its id or, where it is gone, its name; planned within a span."""

    source_id: int | None = None
    source: str | None = None
    status: RunStatus | None = None
    planned_from: dt.datetime | None = None
    planned_before: dt.datetime | None = None


class RunRow(BaseModel):
    """A run in a list; `tokens` are those of prompts and answers together."""

    run: Run
    saved: int
    candidates: int
    fallbacks: int
    tokens: int


class RunDetails(BaseModel):
    """What the API's lists of runs say beside the run itself (contracts, section 2)."""

    fallbacks: list[Fallback] = Field(default_factory=list)
    coverage: Coverage = Field(default_factory=Coverage)
    usage: RunUsage = Field(default_factory=RunUsage)


class CandidateFilter(BaseModel):
    """Which candidates of a ledger are meant; `text` occurs in the title or the url."""

    disposition: Disposition | None = None
    section: int | None = None
    text: str = ""


class LedgerRow(NamedTuple):
    """A candidate of a run's ledger, without the ORM, because a page shows thousands; `section` is the ordinal."""

    id: int
    section: int
    position: int
    page_url: str
    url: str
    title: str
    date: dt.date | None
    date_source: DateSource
    disposition: Disposition
    reason: Message | None
    item_id: int | None


_LEDGER_ORDER = (col(RunSection.ordinal), col(CandidateRecord.position), col(CandidateRecord.id))


def select_ledger(run_id: str) -> Select[Any]:
    """The candidates of a run as `LedgerRow`, in the order of its pages."""
    columns = [getattr(CandidateRecord, name) for name in LedgerRow._fields if name != "section"]
    return (
        select(col(RunSection.ordinal).label("section"), *columns)
        .join(CandidateRecord, col(CandidateRecord.reading_id) == col(RunSection.reading_id))
        .where(col(RunSection.run_id) == run_id)
        .order_by(*_LEDGER_ORDER)
    )


class RunHistoryQueries(Queries):
    """Looks through runs; each list is one statement, whatever the runs hold."""

    async def list_runs(self, wanted: RunFilter, *, after: RunKey | None = None, limit: int | None = 50) -> list[Run]:
        """The runs that are meant, latest first, after the one at `after`."""
        return await self._fetch_all(select_latest(select(Run), wanted, after, limit))

    async def list_rows(self, wanted: RunFilter, *, after: RunKey | None = None, limit: int = 50) -> list[RunRow]:
        tokens = func.sum(col(ModelCall.prompt_tokens) + col(ModelCall.completion_tokens))
        columns = (
            Run,
            _build_run_subquery(func.count(), Item),
            _build_run_subquery(func.sum(col(RunSection.candidates)), RunSection),
            _build_run_subquery(func.count(), Fallback),
            _build_run_subquery(tokens, ModelCall),
        )
        return [
            RunRow(run=run, saved=saved, candidates=candidates or 0, fallbacks=fallbacks, tokens=used or 0)
            for run, saved, candidates, fallbacks, used in await self._fetch_rows(
                select_latest(select(*columns), wanted, after, limit)
            )
        ]

    async def load_details(self, run_ids: Sequence[str]) -> dict[str, RunDetails]:
        """Fallbacks, coverage and usage of these runs: four statements for all of them."""
        counts = select(col(RunSection.run_id), col(Reading.counts)).join(Reading)
        async with self._sessions.begin_read() as session:
            usage = await load_usage(session, run_ids)
            details = {run_id: RunDetails(usage=usage[run_id]) for run_id in run_ids}
            for row in await session.scalars(_select_rows(Fallback, run_ids)):
                details[row.run_id].fallbacks.append(row)
            for place in await session.scalars(_select_rows(Unseen, run_ids)):
                unread = UnseenPlace.model_validate(place, from_attributes=True)
                details[place.run_id].coverage.unseen.append(unread)
            for run_id, of_section in await session.execute(counts.where(col(RunSection.run_id).in_(run_ids))):
                details[run_id].coverage.add(of_section)
        return details

    async def list_candidates(
        self, run_id: str, wanted: CandidateFilter, *, after: CandidateKey | None = None, limit: int | None = 50
    ) -> list[LedgerRow]:
        """The candidates of a run that are meant, in the order of its pages, after the one at `after`."""
        query = select_ledger(run_id)
        if wanted.disposition is not None:
            query = query.where(col(CandidateRecord.disposition) == wanted.disposition)
        if wanted.section is not None:
            query = query.where(col(RunSection.ordinal) == wanted.section)
        if text := sanitize_text(wanted.text).strip():
            places = (col(CandidateRecord.title), col(CandidateRecord.url))
            query = query.where(or_(*(place.icontains(text, autoescape=True) for place in places)))
        if after is not None:
            query = query.where(tuple_(*_LEDGER_ORDER) > after)
        return await self._fetch_as(LedgerRow, query.limit(limit))

    async def list_calls(self, run_id: str, *, after: int = 0, limit: int | None = 50) -> list[ModelCall]:
        """The model calls of a run in their order, after the one with that id."""
        query = select(ModelCall).where(col(ModelCall.run_id) == run_id, col(ModelCall.id) > after)
        return await self._fetch_all(query.order_by(col(ModelCall.id)).limit(limit))

    async def list_latest_calls(self, run_id: str, *, limit: int) -> list[ModelCall]:
        """The last model calls of a run, oldest first."""
        query = select(ModelCall).where(col(ModelCall.run_id) == run_id).order_by(col(ModelCall.id).desc())
        return (await self._fetch_all(query.limit(limit)))[::-1]

    async def list_sources(self) -> list[str]:
        """The names of all sources, and of those that are gone and have runs on record."""
        async with self._sessions.begin_read() as session:
            there = set(await session.scalars(select(col(Source.name))))
            gone = await list_distinct_values(session, col(Run.source), col(Run.source_id).is_(None))
        return sorted(there.union(gone))


def select_latest(
    query: Select[*Columns], wanted: RunFilter, after: RunKey | None = None, limit: int | None = None
) -> Select[*Columns]:
    """Those of the runs that are meant, latest first, after the one at `after`."""
    conditions: list[ColumnElement[bool]] = []
    if wanted.source_id is not None:
        conditions.append(col(Run.source_id) == wanted.source_id)
    elif wanted.source is not None:
        conditions += [col(Run.source_id).is_(None), col(Run.source) == sanitize_text(wanted.source)]
    if wanted.status is not None:
        conditions.append(col(Run.status) == wanted.status)
    if wanted.planned_from is not None:
        conditions.append(col(Run.planned_at) >= wanted.planned_from)
    if wanted.planned_before is not None:
        conditions.append(col(Run.planned_at) < wanted.planned_before)
    if after is not None:
        conditions.append(tuple_(col(Run.planned_at), col(Run.id)) < (after[0], sanitize_text(after[1])))
    return query.where(*conditions).order_by(col(Run.planned_at).desc(), col(Run.id).desc()).limit(limit)


def _build_run_subquery(
    figure: ColumnElement[int], table: type[Item | RunSection | Fallback | ModelCall]
) -> ScalarSelect[int]:
    return select(figure).select_from(table).where(col(table.run_id) == col(Run.id)).correlate(Run).scalar_subquery()


def _select_rows(table: type[SQLModel], run_ids: Sequence[str]) -> Select[Any]:
    columns = SQLModel.metadata.tables[str(table.__tablename__)].c
    return select(table).where(columns.run_id.in_(run_ids)).order_by(columns.id)
