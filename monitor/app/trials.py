"""A dry run, told: what a sweep would find and save."""

from pydantic import BaseModel, Field

from monitor.app.report import RunReport
from monitor.domain.page import Candidate
from monitor.domain.words import Disposition, RunStatus
from monitor.store import Store


class TriedCandidate(BaseModel):
    """A candidate of a dry run and what would become of it."""

    candidate: Candidate
    disposition: Disposition
    reason: str = ""


class TriedSection(BaseModel):
    """A section of a dry run."""

    name: str
    url: str
    ended: str | None
    candidates: list[TriedCandidate] = Field(default_factory=list)


class Trial(BaseModel):
    """What a sweep would find and save."""

    source: str
    status: RunStatus
    error: str | None = None
    would_save: int = 0
    sections: list[TriedSection] = Field(default_factory=list)
    fallbacks: list[dict[str, str]] = Field(default_factory=list)


async def trial_of(report: RunReport, store: Store) -> Trial:
    """What the run of a trial found, in the words of a trial."""
    rows: dict[int, list[TriedCandidate]] = {}
    for row in await store.runs.ledger(report.run_id):
        candidate = Candidate(title=row.title, url=row.url, date=row.date, date_source=row.date_source)
        tried = TriedCandidate(candidate=candidate, disposition=row.disposition, reason=row.reason)
        rows.setdefault(row.section, []).append(tried)
    return Trial(
        source=report.source, status=report.status, error=report.error, would_save=report.coverage.saved,
        sections=[
            TriedSection(name=one.name, url=one.url, ended=one.ended, candidates=rows.get(ordinal, []))
            for ordinal, one in enumerate(report.sections)
        ],
        fallbacks=[one.model_dump(mode="json") for one in report.fallbacks],
    )  # fmt: skip
