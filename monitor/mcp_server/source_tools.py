"""The tools of sources: how they fare, how a site can be read, trying and adding one, running it."""

import asyncio
import datetime as dt
from collections.abc import Iterator
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from monitor.bootstrap import App
from monitor.i18n.catalogue import render
from monitor.mcp_server.answers import (
    UNTRUSTED_NOTICE,
    DiscoveryOutput,
    Line,
    RunOutput,
    SourceListOutput,
    SourceOutput,
    build_discovery_output,
    build_run_output,
    build_tool_result,
    raise_tool_errors,
    render_discovery,
    render_run,
    render_sources,
)
from monitor.mcp_server.running import Runner
from monitor.mcp_server.toolset import (
    CANCEL,
    CHANGE,
    EXAMINE_SITE,
    POLL_INTERVAL_S,
    READ,
    START,
    Cursor,
    Seconds,
    TeamName,
    Toolset,
    follow_work,
    get_actor,
)
from monitor.services.alarms import SourceHealth
from monitor.services.cursors import decode_id, encode_cursor
from monitor.services.sources.service import SourceFilter
from monitor.services.sources.trials import TrialReport, TrialState
from monitor.urls import get_host
from monitor.vocabulary import RunStatus, SectionEnd

_MAX_CANDIDATES = 20

SourceName = Annotated[str, Field(max_length=200, description="As list_sources tells it")]
RunId = Annotated[str, Field(max_length=64, description="As run_source tells it")]
SiteUrl = Annotated[str, Field(min_length=1, max_length=2000, description="With or without its scheme")]
FocusAreas = Annotated[list[str], Field(max_length=50, description="What to look for, as 政策 or consultation")]


class SectionHealthOutput(BaseModel):
    """How a section fares; `silent_after_days` without news it counts as silent."""

    name: Line
    url: Line
    last_new_on: dt.date | None
    silent_after_days: int | None
    last_complete_on: dt.date | None
    is_unfinished: bool


class AlarmOutput(BaseModel):
    section: Line
    kind: str
    message: Line
    raised_at: dt.datetime


class SourceHealthOutput(BaseModel):
    """How a source fares: its last runs, its sections and its open alarms; `last_error` is of its last run."""

    source: Line
    enabled: bool
    last_run_at: dt.datetime | None
    last_success_at: dt.datetime | None
    last_new_item_at: dt.datetime | None
    next_run_at: dt.datetime | None
    consecutive_failures: int
    last_error: Line | None
    sections: list[SectionHealthOutput]
    alarms: list[AlarmOutput]


class TrialCandidateOutput(BaseModel):
    title: Line
    url: Line
    date: dt.date | None
    disposition: str


class TrialSectionOutput(BaseModel):
    """A section that was read, why its reading ended, and its first candidates with what would become of them."""

    name: Line
    url: Line
    ended: SectionEnd | None
    candidates: int
    first: list[TrialCandidateOutput]


class TrialOutput(BaseModel):
    """A dry run: nothing was stored. Handed to add_source, `trial_id` becomes the first run."""

    trial_id: str
    state: TrialState
    would_save: int
    sections: list[TrialSectionOutput]
    error: Line | None


class AddedSourceOutput(BaseModel):
    """The source that was added; `run_id` is its first run, null where it waits for its schedule."""

    source_id: int
    name: Line
    url: Line
    schedule: str | None
    run_id: str | None


def add_source_tools(tools: Toolset, app: App, runner: Runner) -> None:
    _add_health_tools(tools, app)
    _add_examining_tools(tools, app)
    _add_watching_tools(tools, app)
    _add_run_tools(tools, app, runner)


def _add_health_tools(tools: Toolset, app: App) -> None:
    @tools.add(READ)
    async def list_sources(
        text: Annotated[str, Field(max_length=200, description="Stands in the name, the address or a tag")] = "",
        tag: Annotated[str, Field(max_length=100, description="Only sources with this tag")] = "",
        limit: Annotated[int, Field(ge=1, le=200, description="So many at most")] = 50,
        cursor: Cursor = "",
    ) -> Annotated[CallToolResult, SourceListOutput]:
        """List the sources that are watched, and how each fares."""
        with raise_tool_errors():
            wanted = SourceFilter(text=text, tag=tag)
            listed = await app.sources.list_page(wanted, after=decode_id(cursor), limit=limit)
            rows = [SourceOutput.model_validate(source.model_dump()) for source in listed.sources]
            following = encode_cursor(listed.after) if listed.after is not None else None
            found = SourceListOutput(sources=rows, total=listed.total, next_cursor=following)
            return build_tool_result(found, render_sources(found))

    @tools.add(READ)
    async def source_health(name: SourceName) -> Annotated[CallToolResult, SourceHealthOutput]:
        """Show how a source fares: when it last ran and found something, each section, and what is out of order."""
        with raise_tool_errors():
            source = await app.sources.get(name)
            health = await app.alarms.get_source_health(source.id or 0)
            alarms = await app.alarms.list_alarms(is_open=True, source_id=source.id, limit=50)
            shown = _build_health(health, [AlarmOutput.model_validate(alarm.model_dump()) for alarm in alarms])
            return build_tool_result(shown, _render_health(shown))


def _add_examining_tools(tools: Toolset, app: App) -> None:
    @tools.add(EXAMINE_SITE)
    async def discover_source(
        context: Context[Any, Any],
        url: Annotated[str, Field(max_length=2000, description="With or without its scheme")] = "",
        name: Annotated[str, Field(max_length=200, description="In place of it: a watched source, logged in")] = "",
    ) -> Annotated[CallToolResult, DiscoveryOutput]:
        """Find out how the site at an address can be read: feed, JSON, sitemap or page, and why; nothing is stored."""
        with raise_tool_errors():
            if name:
                source = await app.sources.get(name)
                discovery = (await app.discovery.rediscover(source.id or 0, by=get_actor(context))).discovery
            else:
                discovery = await app.discovery.discover(url)
            found = build_discovery_output(discovery)
            return build_tool_result(found, render_discovery(found))

    @tools.add(EXAMINE_SITE)
    async def try_source(
        url: SiteUrl,
        context: Context[Any, Any],
        focus_areas: FocusAreas = [],  # noqa: B006
        wait_s: Seconds = 120,
    ) -> Annotated[CallToolResult, TrialOutput]:
        """Read a site once without storing anything: its sections, what stands in them, and what would be saved.

        Cancelling the call stops the trial.
        """
        with raise_tool_errors():
            values = {"url": url, "name": get_host(url) or url[:200], "focus_areas": focus_areas}
            trial = await app.trials.start(values, by=get_actor(context), discovers=True)
            shown = _build_trial(await _follow_trial(context, app, trial.id, wait_s))
            return build_tool_result(shown, _render_trial(shown))


def _add_watching_tools(tools: Toolset, app: App) -> None:
    @tools.add(CHANGE)
    async def add_source(
        url: SiteUrl,
        context: Context[Any, Any],
        name: Annotated[str, Field(max_length=200, description="How it is called; empty: as its host")] = "",
        focus_areas: FocusAreas = [],  # noqa: B006
        tags: Annotated[list[str], Field(max_length=50, description="Tags that it gets")] = [],  # noqa: B006
        schedule: Annotated[
            str, Field(max_length=200, description="As weekdays 07:00, 0 7 * * 1-5, or off; empty: daily at 06:30")
        ] = "",
        trial_id: Annotated[str, Field(max_length=40, description="Of try_source: becomes the first run")] = "",
        team: TeamName = "",
    ) -> Annotated[CallToolResult, AddedSourceOutput]:
        """Watch a site from now on, read in the way that discovery or its trial found. Ask a person before."""
        wanted = {"name": name or get_host(url), "focus_areas": focus_areas, "tags": tags}
        with raise_tool_errors():
            actor = get_actor(context)
            team_id = await app.teams.resolve(team, actor)
            result = app.trials.get(trial_id).result if trial_id else None
            found = result.discovery if result is not None else None
            discovered = (found or await app.discovery.discover(url, focus_areas=focus_areas)).values
            values = {**discovered, **wanted} | ({"schedule": schedule} if schedule else {})
            source, run_id = await app.trials.keep(trial_id, values, team_id=team_id, by=actor)
            added = AddedSourceOutput(
                source_id=source.id or 0, name=source.name, url=source.url, schedule=source.schedule, run_id=run_id
            )
            run = f" Its first run is {run_id}." if run_id else ""
            return build_tool_result(added, [f"Source {added.source_id} is watched now.{run}", f"> {added.name}"])


def _add_run_tools(tools: Toolset, app: App, runner: Runner) -> None:
    @tools.add(START)
    async def run_source(
        name: SourceName, context: Context[Any, Any], wait_s: Seconds = 30
    ) -> Annotated[CallToolResult, RunOutput]:
        """Read a source's site now. A run may take minutes: where it has not ended, ask run_status for its run_id."""
        with raise_tool_errors():
            run_id = await runner.start_run(await app.sources.get(name), by=get_actor(context))
            return await _answer_run(context, app, run_id, wait_s)

    @tools.add(READ)
    async def run_status(
        run_id: RunId, context: Context[Any, Any], wait_s: Seconds = 0
    ) -> Annotated[CallToolResult, RunOutput]:
        """Tell how a run stands: waiting, under way, or how it ended and what it saved."""
        with raise_tool_errors():
            return await _answer_run(context, app, run_id, wait_s)

    @tools.add(CANCEL)
    async def cancel_run(run_id: RunId, context: Context[Any, Any]) -> Annotated[CallToolResult, RunOutput]:
        """Stop a run: one that waits at once, one under way soon. What it saved by then stays."""
        with raise_tool_errors():
            await app.sweeps.cancel(run_id, by=get_actor(context))
            return await _answer_run(context, app, run_id, 0)


async def _answer_run(context: Context[Any, Any], app: App, run_id: str, wait_s: float) -> CallToolResult:
    async def load_status() -> RunStatus:
        return (await app.runs.get(run_id)).status

    await load_status()
    await follow_work(context, run_id, wait_s, events=app.store.run_events, load_status=load_status)
    run = build_run_output(await app.runs.get_report(run_id))
    return build_tool_result(run, render_run(run))


async def _follow_trial(context: Context[Any, Any], app: App, trial_id: str, wait_s: float) -> TrialReport:
    """Return the trial when it has ended or after so many seconds; a call that is cancelled takes it along."""
    reported = 0
    deadline = asyncio.get_running_loop().time() + wait_s
    try:
        while True:
            report = app.trials.get(trial_id)
            for step in report.steps[reported:]:
                reported += 1
                await context.report_progress(reported, None, f"{step.phase} {step.place}".strip())
            if report.state.is_final or asyncio.get_running_loop().time() >= deadline:
                return report
            await asyncio.sleep(POLL_INTERVAL_S)
    except asyncio.CancelledError:
        await app.trials.cancel(trial_id)
        raise


def _build_health(health: SourceHealth, alarms: list[AlarmOutput]) -> SourceHealthOutput:
    error = render(health.last_error, "en") if health.last_error else None
    return SourceHealthOutput(**{**health.model_dump(), "last_error": error, "alarms": alarms})


def _render_health(health: SourceHealthOutput) -> Iterator[str]:
    yield f"Enabled: {health.enabled}; failures in a row: {health.consecutive_failures}. {UNTRUSTED_NOTICE}"
    yield f"> {health.source}"
    yield f"Last run {health.last_run_at}, last success {health.last_success_at}, next run {health.next_run_at}"
    yield from [f"> {health.last_error}"] if health.last_error else []
    for section in health.sections:
        yield f"Section {section.url}: last news {section.last_new_on}, last read whole {section.last_complete_on}"
        yield f"> {section.name}"
    yield f"{len(health.alarms)} open alarms" + (":" if health.alarms else ".")
    for alarm in health.alarms:
        yield f"- {alarm.kind}, since {alarm.raised_at:%Y-%m-%d}"
        yield f"> {alarm.section} {alarm.message}".rstrip()


def _build_trial(report: TrialReport) -> TrialOutput:
    result = report.result
    error = report.error or (result.error if result is not None else None)
    sections = [
        TrialSectionOutput(
            name=section.name,
            url=section.url,
            ended=section.ended,
            candidates=len(section.candidates),
            first=[
                TrialCandidateOutput(
                    **row.candidate.model_dump(include={"title", "url", "date"}), disposition=row.disposition
                )
                for row in section.candidates[:_MAX_CANDIDATES]
            ],
        )
        for section in (result.sections if result is not None else ())
    ]
    return TrialOutput(
        trial_id=report.id,
        state=report.state,
        would_save=result.would_save if result is not None else 0,
        sections=sections,
        error=render(error, "en") if error else None,
    )


def _render_trial(trial: TrialOutput) -> Iterator[str]:
    yield f"Trial {trial.trial_id}: {trial.state}; {trial.would_save} items would be saved. {UNTRUSTED_NOTICE}"
    yield from [f"> {trial.error}"] if trial.error else []
    for section in trial.sections:
        yield f"Section {section.url}: {section.ended or 'not ended'}, {section.candidates} candidates"
        yield f"> {section.name}"
        yield from (f"> {row.date or 'no date'} {row.title} ({row.disposition})" for row in section.first[:5])
