"""A dry run, told: what a sweep would find and save."""

import re

from pydantic import BaseModel, Field

from monitor.app.report import RunReport
from monitor.domain.page import Candidate, Page
from monitor.domain.tables import Source
from monitor.domain.words import Disposition, RunStatus, SourceKind
from monitor.store import Store

_TITLE_PARTS = re.compile(r"\s*[|｜_—–·»>]\s*|\s+-+\s+|(?<=[\u3000-\u9fff])-+|-+(?=[\u3000-\u9fff])")
_AROUND_NAME = re.compile(r"^(欢迎(访问|光临|来到)|welcome to )|(门户)?(网站)?(首页)?$", re.IGNORECASE)
_NO_NAME = re.compile(
    r"(网站|门户|官网)?(首页|主页)|home( ?page)?|welcome|index|start(seite)?|accueil|rss|atom|欢迎您?", re.IGNORECASE
)
_MOST_NAME_CHARS = 60


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
    """What a sweep would find and save; `kind` is what the source was tried as, `title` what the site calls itself."""

    source: str
    kind: SourceKind
    title: str = ""
    status: RunStatus
    error: str | None = None
    would_save: int = 0
    sections: list[TriedSection] = Field(default_factory=list)
    fallbacks: list[dict[str, str]] = Field(default_factory=list)


async def trial_of(report: RunReport, store: Store, *, source: Source, home: Page | None) -> Trial:
    """What the run of a trial found, in the words of a trial."""
    rows: dict[int, list[TriedCandidate]] = {}
    for row in await store.runs.ledger(report.run_id):
        candidate = Candidate(title=row.title, url=row.url, date=row.date, date_source=row.date_source)
        tried = TriedCandidate(candidate=candidate, disposition=row.disposition, reason=row.reason)
        rows.setdefault(row.section, []).append(tried)
    return Trial(
        source=report.source,
        kind=source.kind,
        title=site_name(home.site or home.title) if home is not None else "",
        status=report.status,
        error=report.error,
        would_save=report.coverage.saved,
        sections=[
            TriedSection(name=section.name, url=section.url, ended=section.ended, candidates=rows.get(ordinal, []))
            for ordinal, section in enumerate(report.sections)
        ],
        fallbacks=[fallback.model_dump(mode="json") for fallback in report.fallbacks],
    )


def looks_like_feed(page: Page) -> bool:
    """Whether a page is a feed or a sitemap: entries, and nothing that a page of HTML shows."""
    return page.error is None and bool(page.candidates) and not page.lines


def site_name(title: str) -> str:
    """What a site is called, from what names it on its home page: the first part that says more than "home"."""
    parts = [part.strip() for part in _TITLE_PARTS.split(title)]
    name = next((part for part in parts if part and not _NO_NAME.fullmatch(part)), "")
    return (_AROUND_NAME.sub("", name).strip() or name)[:_MOST_NAME_CHARS]
