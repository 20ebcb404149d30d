"""The catalogue of public bodies: search it, and add bodies as sources with those of their sections that work."""

import asyncio
import datetime as dt
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pydantic import BaseModel, Field

from monitor.catalogue.bodies import (
    BodyNeed,
    BodySection,
    BodySectionKind,
    CatalogueBody,
    CatalogueFile,
    CatalogueTopic,
    get_country_name,
    load_catalogue_file,
)
from monitor.catalogue.search import CatalogueIndex, fold, load_index
from monitor.clock import Clock
from monitor.db.tables.collection import Source
from monitor.errors import Conflict, MonitorError, NotFound, UsageError
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel, reader_language
from monitor.logs import get_logger
from monitor.page import ExpectedPage, PageHints
from monitor.pages.loader import LoaderPool, PageLoader
from monitor.services.audit import Actor
from monitor.services.sources.service import SourceService
from monitor.services.sources.trials import TrialState
from monitor.services.teams import choose_eyes
from monitor.urls import get_host, url_key
from monitor.vocabulary import BodyState, Render, Role

MAX_ADDED_BODIES = 200
MAX_CONCURRENT_BODIES = 6
MAX_UNFINISHED_ADDITIONS = 5
MAX_BODY_S = 300.0
ADDITION_RETENTION = dt.timedelta(hours=2)
_log = get_logger("catalogue")


class BodySchema(CatalogueBody):
    """A body of the catalogue; `source_id` is the source that watches it already."""

    source_id: int | None = None


class CataloguePage(BaseModel):
    """A part of what was found, the best first; `total` counts all of it."""

    bodies: list[BodySchema]
    total: int


class CatalogueCountry(BaseModel):
    """A country of the catalogue, as ISO 3166 or `int`, and how many of its bodies there are."""

    code: str
    name: str
    bodies: int


class SectionCheck(MessageModel):
    """What came of loading a section: so many `entries`, or why it is not read. None of both: not yet loaded."""

    name: str
    url: str
    kind: BodySectionKind
    entries: int = 0
    reason: Message | None = None

    @property
    def works(self) -> bool:
        return self.entries > 0


class BodyAddition(MessageModel):
    """How far adding one body has come. Without any section that works, the home page leads to its sections."""

    id: str
    name: str
    url: str
    state: BodyState = BodyState.WAITING
    source_id: int | None = None
    sections: list[SectionCheck] = Field(default_factory=list)
    error: Message | None = None


class AdditionReport(BaseModel):
    """Bodies that are added together; it lives in this process, for two hours after its end."""

    id: str
    state: TrialState
    by: str
    started_at: dt.datetime
    bodies: list[BodyAddition]

    def count(self, *states: BodyState) -> int:
        return sum(body.state in states for body in self.bodies)


OnBodyDone = Callable[[BodyAddition], None]


@dataclass(kw_only=True)
class _AdditionJob:
    report: AdditionReport
    values: Mapping[str, Any]
    by: Actor
    team_id: int | None = None
    on_done: OnBodyDone | None = None
    ended_at: dt.datetime | None = None
    task: asyncio.Task[None] | None = field(default=None, repr=False)


class CatalogueService:
    """Searches the catalogue and adds bodies from it, six at once, in the background of this process.

    Each section is loaded once. Those that are lists or feeds are pinned; a body without any is added with its home
    page if that loads, so that each run finds the sections itself.
    """

    def __init__(
        self,
        *,
        sources: SourceService,
        clock: Clock,
        loaders: LoaderPool,
        catalogue: CatalogueFile | None = None,
        max_body_s: float = MAX_BODY_S,
    ) -> None:
        self._sources = sources
        self._clock = clock
        self._loaders = loaders
        self._own_catalogue = catalogue
        self._max_body_s = max_body_s
        self._jobs: dict[str, _AdditionJob] = {}
        self._slots = asyncio.Semaphore(MAX_CONCURRENT_BODIES)
        self._names = asyncio.Lock()
        self._index: CatalogueIndex | None = None

    @property
    def catalogue(self) -> CatalogueFile:
        return self._own_catalogue or load_catalogue_file()

    @property
    def topics(self) -> Sequence[CatalogueTopic]:
        return self.catalogue.topics

    def list_countries(self, language: str) -> list[CatalogueCountry]:
        """The countries with bodies, those with most first, named in the language."""
        counts: dict[str, int] = {}
        for body in self.catalogue.bodies:
            counts[body.country] = counts.get(body.country, 0) + 1
        ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        return [
            CatalogueCountry(code=code, name=get_country_name(code, language), bodies=count) for code, count in ordered
        ]

    async def search(
        self, query: str = "", *, country: str = "", topic: str = "", limit: int = 20, offset: int = 0
    ) -> CataloguePage:
        """Return the bodies that fit, the best first; `UsageError` for a country or a topic that is not there.

        `country` is a code as CN or a name, `topic` a slug or a label, in Chinese or English.
        """
        if self._index is None:
            own = self._own_catalogue
            self._index = await asyncio.to_thread(load_index if own is None else partial(CatalogueIndex, own))
        found = self._index.search(query, country=self._find_country(country), topic=self._find_topic(topic))
        watched = await self._map_sources()
        part = found[offset : offset + limit]
        return CataloguePage(bodies=[_build_schema(body, watched) for body in part], total=len(found))

    async def get(self, body_id: str) -> BodySchema:
        return _build_schema(self._find_body(body_id), await self._map_sources())

    def start_adding(
        self,
        body_ids: Sequence[str],
        *,
        by: Actor,
        schedule: str | None = None,
        team_id: int | None = None,
        on_done: OnBodyDone | None = None,
    ) -> AdditionReport:
        """Begin to add bodies, for a team or for all; `on_done` is told of each as it ends.

        `NotFound` where one is not in the catalogue, `UsageError` for none or more than 200, `Conflict` where several
        additions are under way already.
        """
        by.require(Role.EDITOR)
        choose_eyes(team_id)
        self._forget_expired()
        bodies = [self._find_body(body_id) for body_id in dict.fromkeys(body_ids)]
        if not bodies:
            raise UsageError("catalogue.none_chosen")
        if len(bodies) > MAX_ADDED_BODIES:
            raise UsageError("catalogue.too_many_chosen", limit=MAX_ADDED_BODIES)
        if sum(not job.report.state.is_final for job in self._jobs.values()) >= MAX_UNFINISHED_ADDITIONS:
            raise Conflict("catalogue.too_many_additions")
        values = {} if schedule is None else {"schedule": schedule}
        self._sources.build_draft({**self._build_values(bodies[0]), **values})  # raises for a wrong schedule
        report = AdditionReport(
            id=secrets.token_urlsafe(12),
            state=TrialState.RUNNING,
            by=by.name,
            started_at=self._clock.now(),
            bodies=[_plan_addition(body) for body in bodies],
        )
        job = self._jobs[report.id] = _AdditionJob(
            report=report, values=values, by=by, team_id=team_id, on_done=on_done
        )
        job.task = asyncio.create_task(self._execute(job))
        return report

    def get_addition(self, addition_id: str) -> AdditionReport:
        """Return how far adding has come; `NotFound` where it was forgotten, or belongs to another process."""
        return self._get_job(addition_id).report

    async def wait(self, addition_id: str, timeout_s: float | None = None) -> AdditionReport:
        """Return when all bodies are done, or after so many seconds."""
        job = self._get_job(addition_id)
        if job.task is not None:
            await asyncio.wait({job.task}, timeout=timeout_s)
        return job.report

    async def cancel_addition(self, addition_id: str) -> AdditionReport:
        """Stop adding; what was added stays."""
        job = self._get_job(addition_id)
        await _stop_job(job)
        return job.report

    async def close(self) -> None:
        for job in list(self._jobs.values()):
            await _stop_job(job)

    def _find_body(self, body_id: str) -> CatalogueBody:
        body = next((body for body in self.catalogue.bodies if body.id == body_id), None)
        if body is None:
            raise NotFound("catalogue.no_such_body", body=body_id)
        return body

    def _find_country(self, country: str) -> str | None:
        wanted = fold(country.strip())
        if not wanted:
            return None
        for code in {body.country for body in self.catalogue.bodies}:
            names = (code, get_country_name(code, "zh"), get_country_name(code, "en"))
            if wanted in map(fold, names):
                return code
        known = [row.code for row in self.list_countries("en")]
        raise UsageError("catalogue.no_such_country", country=country.strip(), known=known)

    def _find_topic(self, topic: str) -> str | None:
        wanted = fold(topic.strip())
        if not wanted:
            return None
        for known in self.topics:
            if wanted in (known.slug, fold(known.zh), fold(known.en)):
                return known.slug
        raise UsageError("catalogue.no_such_topic", topic=topic.strip(), known=[row.slug for row in self.topics])

    async def _map_sources(self) -> dict[str, int]:
        """The numbers of the sources by the keys of their addresses."""
        return {url_key(source.url): source.id or 0 for source in await self._sources.list_sources()}

    async def _execute(self, job: _AdditionJob) -> None:
        report = job.report

        async def add(addition: BodyAddition) -> None:
            async with self._slots:
                await self._add_body(job, addition)

        try:
            async with asyncio.TaskGroup() as group:
                for addition in report.bodies:
                    group.create_task(add(addition))
            report.state = TrialState.DONE
        finally:
            job.ended_at = self._clock.now()
            _close_report(report)

    async def _add_body(self, job: _AdditionJob, addition: BodyAddition) -> None:
        addition.state = BodyState.RUNNING
        try:
            addition.state = await self._try_body(job, addition)
        except MonitorError as error:
            addition.state, addition.error = BodyState.FAILED, error.message
        except Exception as error:  # noqa: BLE001 -- one body that breaks must not stop the others
            _log.error("unexpected error", body=addition.id, error=type(error).__name__, exc_info=error)
            reason = Message.of("cause.unforeseen", error=type(error).__name__)
            addition.state, addition.error = BodyState.FAILED, reason
        if job.on_done is not None:
            job.on_done(addition)

    async def _try_body(self, job: _AdditionJob, addition: BodyAddition) -> BodyState:
        """Load the sections of a body and create its source with those that work; how it ended."""
        body = self._find_body(addition.id)
        watched = (await self._map_sources()).get(url_key(body.url))
        if watched is not None:
            addition.source_id, addition.sections = watched, []
            return BodyState.TAKEN
        loader = self._loaders.for_run()
        render = Render.ALWAYS if BodyNeed.BROWSER in body.needs and loader.can_render() else Render.AUTO
        try:
            async with asyncio.timeout(self._max_body_s):
                for section in addition.sections:
                    await _check_section(section, loader, render)
        except TimeoutError:
            for section in addition.sections:
                if not section.works and section.reason is None:
                    section.reason = Message.of("cause.not_tried_in_time", minutes=f"{self._max_body_s / 60:.0f}")
        pinned = [{"name": section.name, "url": section.url} for section in addition.sections if section.works]
        if not pinned:
            home = await loader.load(body.url, render=render)
            if home.error is not None:
                addition.error = home.error.reason
                return BodyState.FAILED
        values = {**self._build_values(body), **job.values, "sections": pinned}
        source = await self._add_source(values, by=job.by, team_id=job.team_id)
        addition.source_id = source.id
        return BodyState.ADDED

    async def _add_source(self, values: dict[str, Any], *, by: Actor, team_id: int | None) -> Source:
        """Add a source; one whose name another has gets its host behind it."""
        async with self._names:
            taken = {source.name for source in await self._sources.list_sources()}
            if values["name"] in taken:
                values["name"] = f"{values['name']} ({get_host(values['url'])})"
            return await self._sources.add(values, by=by, team_id=team_id)

    def _build_values(self, body: CatalogueBody) -> dict[str, Any]:
        """Return the source as a person would write it; its tags are the topics in the reader's language."""
        labels = {topic.slug: topic.get_label(reader_language.get()) for topic in self.topics}
        return {
            "name": body.name,
            "url": body.url,
            "language": body.language.partition("-")[0],
            "tags": [labels[slug] for slug in body.topics],
            "render": Render.ALWAYS if BodyNeed.BROWSER in body.needs else None,
        }

    def _get_job(self, addition_id: str) -> _AdditionJob:
        self._forget_expired()
        job = self._jobs.get(addition_id)
        if job is None:
            raise NotFound("catalogue.no_such_addition")
        return job

    def _forget_expired(self) -> None:
        oldest = self._clock.now() - ADDITION_RETENTION
        gone = [key for key, job in self._jobs.items() if job.ended_at is not None and job.ended_at < oldest]
        for key in gone:
            del self._jobs[key]


async def _check_section(section: SectionCheck, loader: PageLoader, render: Render) -> None:
    """Load a section and record how many entries its list or feed has, or why it cannot be read."""
    page = await loader.load(section.url, render=render, hints=PageHints(expected=ExpectedPage.LIST))
    if page.error is not None:
        section.reason = page.error.reason
    elif page.candidates:
        section.entries = len(page.candidates)
    else:
        section.reason = Message("cause.no_list")


def _plan_addition(body: CatalogueBody) -> BodyAddition:
    sections = [_plan_check(section) for section in body.sections]
    return BodyAddition(id=body.id, name=body.name, url=body.url, sections=sections)


def _plan_check(section: BodySection) -> SectionCheck:
    return SectionCheck(name=section.name, url=section.url, kind=section.kind)


def _build_schema(body: CatalogueBody, watched: Mapping[str, int]) -> BodySchema:
    return BodySchema(**dict(body), source_id=watched.get(url_key(body.url)))


def _close_report(report: AdditionReport) -> None:
    """What had not ended was stopped, together with the others."""
    for addition in report.bodies:
        if not addition.state.is_final:
            addition.state = BodyState.CANCELLED
    if not report.state.is_final:
        report.state = TrialState.CANCELLED


async def _stop_job(job: _AdditionJob) -> None:
    if job.task is not None and not job.task.done():
        job.task.cancel()
        await asyncio.wait({job.task})
    _close_report(job.report)
