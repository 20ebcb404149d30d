"""The use cases around health: what is out of the ordinary after a run, and how every source fares."""

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from statistics import median
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from monitor.clock import Clock
from monitor.db.database import Store
from monitor.db.queries.dashboard import BLOCKED_CODE
from monitor.db.queries.sources import SourceHead
from monitor.db.tables.collection import Fallback, Run, RunSection, Source, SourceSection
from monitor.db.tables.delivery import AlarmFinding, AlarmKind, AlarmView
from monitor.db.visibility import TeamIds, get_eyes
from monitor.errors import NotFound, UsageError, WorkFailed
from monitor.i18n.message import Message
from monitor.recipe import SectionRecipe
from monitor.services.health import HostBlock, count_blocks_by_host
from monitor.services.runtime import Notifier
from monitor.services.schedules import get_timezone
from monitor.services.sources.service import SourceHealthSummary, find_next_run, find_rest_end
from monitor.services.usage import list_days_until
from monitor.sweep.progress import describe_end
from monitor.urls import url_key
from monitor.vocabulary import Phase, RunStatus, SectionEnd

MIN_GAPS = 5
LEARNING_WINDOW_DAYS = 400
MIN_SILENCE_DAYS = 10
_USUAL_GAP_QUANTILE = 0.9
_USUAL_GAP_FACTOR = 3.0
_MAX_GAP_FACTOR = 1.25


class Cadence(BaseModel):
    """What was learned: days between two arrivals, and so many days without one that silence is an alarm."""

    usual_days: float
    silent_after_days: int
    last_on: dt.date

    def count_silent_days(self, today: dt.date) -> int:
        return (today - self.last_on).days


def learn_cadence(arrivals: Sequence[dt.date]) -> Cadence | None:
    """The cadence behind the days on which something came; None while there are fewer than six to learn from.

    Silence begins to be out of the ordinary at three times the gap that nine in ten stay within, which for arrivals
    at random is passed once in a thousand gaps; never before the longest silence of the past year and a quarter more,
    and never within ten days, for a holiday week is no news.
    """
    days = sorted(set(arrivals))
    if not days:
        return None
    days = [day for day in days if (days[-1] - day).days <= LEARNING_WINDOW_DAYS]
    gaps = sorted((later - earlier).days for earlier, later in pairwise(days))
    if len(gaps) < MIN_GAPS:
        return None
    usual_most = gaps[math.ceil(_USUAL_GAP_QUANTILE * len(gaps)) - 1]
    limit = max(MIN_SILENCE_DAYS, _USUAL_GAP_FACTOR * usual_most, _MAX_GAP_FACTOR * gaps[-1])
    return Cadence(usual_days=median(gaps), silent_after_days=math.ceil(limit), last_on=days[-1])


MIN_FAILURES = 3  # in a row
MAX_EARLIER_READINGS = 30
_MIN_LIST_LENGTH = 8
_SHRUNK_LIST_RATIO = 0.25
_MIN_USUAL_DATED_RATIO = 0.7
_MAX_CURRENT_DATED_RATIO = 0.3
_MIN_BLOCKED_PAGES = 3


@dataclass(frozen=True, kw_only=True)
class SectionHistory:
    row: RunSection
    earlier: Sequence[RunSection]
    memory: SourceSection | None


@dataclass(frozen=True, kw_only=True)
class AlarmEvaluation:
    """The alarms that are due, and the kinds that could be judged by section key; the empty key is the source."""

    due: list[AlarmFinding]
    evaluated: dict[str, frozenset[AlarmKind]]


def evaluate_alarms(
    source: Source, run: Run, sections: Sequence[SectionHistory], fallbacks: Sequence[Fallback], *, today: dt.date
) -> AlarmEvaluation:
    """What is out of the ordinary after `run`, the last one of its source; `today` is the day where the source is."""
    due = [
        finding for finding in (_check_blocked(fallbacks), _check_source_failing(source, run)) if finding is not None
    ]
    has_read = any(state.row.ended not in (None, SectionEnd.ERROR) for state in sections)
    judged = {"": frozenset({AlarmKind.FAILING, *([AlarmKind.BLOCKED] if has_read else [])})}
    for state in sections:
        findings, kinds = _evaluate_section(state, today, is_source_down=run.status is RunStatus.FAILED)
        due += findings
        judged[url_key(state.row.url)] = kinds
    return AlarmEvaluation(due=due, evaluated=judged)


def _evaluate_section(
    state: SectionHistory, today: dt.date, *, is_source_down: bool
) -> tuple[list[AlarmFinding], frozenset[AlarmKind]]:
    row = state.row
    found: dict[AlarmKind, Message | None] = {}
    if row.listed is not None:
        found |= {AlarmKind.STRUCTURE: _check_structure(state), AlarmKind.DATES_LOST: _check_dates_lost(state)}
    kinds = set(found)
    if row.ended not in (None, SectionEnd.ERROR):
        found |= {AlarmKind.SILENCE: _check_silence(state, today), AlarmKind.GAP: _check_gap(row)}
        kinds |= {AlarmKind.SILENCE, AlarmKind.GAP, AlarmKind.FAILING, AlarmKind.DRIFT}
    elif not is_source_down and not any(found.values()):
        found[AlarmKind.FAILING] = _check_section_failing(state)
    found[AlarmKind.DRIFT] = _check_drift(state)
    findings = [
        AlarmFinding(kind=kind, message=message, section=row.name, section_key=url_key(row.url))
        for kind, message in found.items()
        if message is not None
    ]
    return findings, frozenset(kinds)


def _check_structure(state: SectionHistory) -> Message | None:
    """The list is gone, or has fallen to a quarter of what it was."""
    usual = median([row.listed for row in state.earlier if row.listed] or [0])
    now = state.row.listed or 0
    if usual and now == 0:
        return Message.of("alarm.list_gone", usual=f"{usual:g}")
    if usual >= _MIN_LIST_LENGTH and now <= usual * _SHRUNK_LIST_RATIO:
        return Message.of("alarm.list_fell", usual=f"{usual:g}", now=now)
    return None


def _check_dates_lost(state: SectionHistory) -> Message | None:
    """Candidates stand on the list as before, but without the dates that they had."""
    usual_ratio = median([row.listed_dated / row.listed for row in state.earlier if row.listed] or [0.0])
    listed, dated = state.row.listed or 0, state.row.listed_dated
    if not listed or usual_ratio < _MIN_USUAL_DATED_RATIO or dated / listed > _MAX_CURRENT_DATED_RATIO:
        return None
    return Message.of("alarm.dates_lost", dated=dated, listed=listed)


def _check_silence(state: SectionHistory, today: dt.date) -> Message | None:
    arrivals = state.memory.arrivals if state.memory is not None else []
    cadence = learn_cadence([dt.date.fromisoformat(day) for day in arrivals])
    if cadence is None or cadence.count_silent_days(today) <= cadence.silent_after_days:
        return None
    return Message.of("alarm.silent", since=cadence.last_on.isoformat(), days=f"{cadence.usual_days:g}")


def _check_gap(row: RunSection) -> Message | None:
    if not row.is_gap:
        return None
    return Message.of("alarm.gap", pages=row.pages, ended=describe_end(row.ended or SectionEnd.END))


def _check_drift(state: SectionHistory) -> Message | None:
    """The section's recipe no longer fits its page, and nothing on the page shows what became of the list."""
    if state.memory is None or state.memory.drifted_on is None:
        return None
    return Message.of("alarm.drift", since=state.memory.drifted_on.isoformat())


def _check_section_failing(state: SectionHistory) -> Message | None:
    readings = (state.row, *state.earlier)
    failures = len(list(takewhile(lambda row: row.ended is SectionEnd.ERROR, readings)))
    if failures < MIN_FAILURES:
        return None
    return Message.of("alarm.not_read", runs=failures, reason=state.row.error or Message("cause.no_reason"))


def _check_blocked(fallbacks: Sequence[Fallback]) -> AlarmFinding | None:
    """The site turns us away from a list, or from several articles; one article elsewhere is no block."""
    blocked = [fallback for fallback in fallbacks if fallback.reason.code == BLOCKED_CODE]
    if not any(fallback.phase is not Phase.SUMMARISE for fallback in blocked) and len(blocked) < _MIN_BLOCKED_PAGES:
        return None
    count, first = len(blocked), blocked[0].reason
    message = Message.of("alarm.blocked_page", reason=first)
    if count > 1:
        message = Message.of("alarm.blocked_pages", pages=count, reason=first)
    return AlarmFinding(kind=AlarmKind.BLOCKED, message=message)


def _check_source_failing(source: Source, run: Run) -> AlarmFinding | None:
    if source.consecutive_failures < MIN_FAILURES:
        return None
    reason = run.error or source.last_error or Message("cause.no_reason")
    message = Message.of("alarm.failing", runs=source.consecutive_failures, reason=reason)
    return AlarmFinding(kind=AlarmKind.FAILING, message=message)


_MAX_ALARMS = 1000
_COUNT_TTL = dt.timedelta(seconds=15)


class SectionHealth(BaseModel):
    """How a section fares; days are None until its cadence is learned, `arrivals` are the last 60 with news.

    `drifted_on` is the day since which its recipe has not fitted its page.
    """

    name: str
    url: str
    last_new_on: dt.date | None
    usual_days: float | None = None
    silent_after_days: int | None = None
    last_complete_on: dt.date | None
    is_unfinished: bool
    drifted_on: dt.date | None = None
    arrivals: list[dt.date] = Field(default_factory=list)


class SourceHealth(SourceHealthSummary):
    """How a source fares. `next_run_at` is None for one without a schedule, and for a disabled one."""

    source: str
    sections: list[SectionHealth] = Field(default_factory=list)


class HealthReport(BaseModel):
    sources: list[SourceHealth]
    alarms: list[AlarmView]


@dataclass(kw_only=True)
class AlarmService:
    store: Store
    clock: Clock
    timezone: str
    notifier: Notifier

    def __post_init__(self) -> None:
        self._cached_counts: dict[TeamIds | None, tuple[dt.datetime, int]] = {}

    async def update_alarms(self, run_id: str) -> None:
        """Bring the alarms of a run's source to what that ended run shows, and tell of those that are new."""
        await self.judge_run(run_id)
        await self.notify_new_alarms()

    async def judge_run(self, run_id: str) -> None:
        """Bring the alarms of a run's source to what that ended run shows; doing it again changes nothing."""
        run = await self.store.runs.get(run_id)
        source = await self.store.sources.get_by_id(run.source_id) if run and run.source_id is not None else None
        if run is not None and source is not None and run.status.is_final and run.status is not RunStatus.CANCELLED:
            now = self.clock.now()
            today = now.astimezone(ZoneInfo(get_timezone(source, self.timezone))).date()
            fallbacks = await self.store.runs.list_fallbacks(run_id)
            verdict = evaluate_alarms(
                source, run, await self._load_section_histories(source, run_id), fallbacks, today=today
            )
            await self.store.alarms.reconcile(
                source.id or 0, run_id=run_id, findings=verdict.due, judged_kinds=verdict.evaluated, at=now
            )

    async def count_open_alarms(self) -> int:
        """How many alarms are open; every page shows it, so what was counted serves for 15 seconds."""
        now = self.clock.now()
        eyes = get_eyes()
        cached = self._cached_counts.get(eyes)
        if cached is None or not dt.timedelta() <= now - cached[0] < _COUNT_TTL:
            self._cached_counts = {key: kept for key, kept in self._cached_counts.items() if now - kept[0] < _COUNT_TTL}
            cached = self._cached_counts[eyes] = (now, await self.store.alarms.count_open())
        return cached[1]

    async def get_report(self, names: Sequence[str] = (), *, include_cleared: bool = False) -> HealthReport:
        """Report on all sources, or those of these names; `UsageError` for a name that no source has."""
        sources = await self.store.sources.list()
        for name in names:
            if all(source.name != name for source in sources):
                raise UsageError("source.not_listed", name=name)
        chosen = [source for source in sources if not names or source.name in names]
        alarms = await self.store.alarms.list(only_open=not include_cleared, limit=_MAX_ALARMS)
        return HealthReport(
            sources=await self._load_source_health(chosen),
            alarms=[alarm for alarm in alarms if not names or alarm.source in names],
        )

    async def list_source_health(self, *, skip: int, limit: int) -> tuple[dict[str, int], list[SourceHealth]]:
        """The ids of all sources by name, and how some of them fare: those in trouble first, the disabled ones last."""
        heads = await self.store.sources.list_heads()
        alarmed = (await self.store.sources.load_activity()).open_alarms

        def place(source: SourceHead) -> tuple[bool, bool, str]:
            is_troubled = source.consecutive_failures > 0 or source.id in alarmed
            return not source.enabled, not is_troubled, source.name

        shown = [source.id for source in sorted(heads, key=place)[skip : skip + limit]]
        ids = {source.name: source.id for source in heads}
        return ids, await self._load_source_health(await self.store.sources.load(shown))

    async def get_source_health(self, source_id: int) -> SourceHealth:
        source = await self.store.sources.get_by_id(source_id)
        if source is None:
            raise NotFound("source.no_such_number", number=source_id)
        (health,) = await self._load_source_health([source])
        return health

    async def list_alarms(
        self, *, is_open: bool | None = None, source_id: int | None = None, before_id: int | None = None, limit: int
    ) -> list[AlarmView]:
        return await self.store.alarms.list_page(is_open=is_open, source_id=source_id, before_id=before_id, limit=limit)

    async def list_blocks(self, days: int, *, source_id: int | None = None) -> list[HostBlock]:
        """What sites kept from us on so many days, today included, by day, host and kind of block."""
        zone = ZoneInfo(self.timezone)
        since = list_days_until(self.clock.now(), zone, days)[0].begin
        return count_blocks_by_host(await self.store.dashboard.list_blocks(since, source_id=source_id), zone)

    async def _load_section_histories(self, source: Source, run_id: str) -> list[SectionHistory]:
        memories = {memory.url: memory for memory in await self.store.sections.list_for_source(source.id or 0)}
        recipes = [SectionRecipe.model_validate(recipe) for recipe in source.recipes]
        begins = {url_key(recipe.url): recipe.taught_at for recipe in recipes}  # the list may be another one since
        earlier = await self.store.sections.load_earlier_readings(
            source.id or 0, run_id, limit=MAX_EARLIER_READINGS, begins=begins
        )
        return [
            SectionHistory(row=row, earlier=earlier.get(row.url, []), memory=memories.get(row.url))
            for row in await self.store.runs.list_sections(run_id)
        ]

    async def _load_source_health(self, sources: Sequence[Source]) -> list[SourceHealth]:
        sections = await self.store.sections.load_for_sources([source.id or 0 for source in sources])
        return [self._build_source_health(source, sections.get(source.id or 0, [])) for source in sources]

    def _build_source_health(self, source: Source, sections: Sequence[SourceSection]) -> SourceHealth:
        now = self.clock.now()
        rest_end = find_rest_end(source, now)
        return SourceHealth(
            **source.model_dump(include=set(SourceHealth.model_fields) - {"sections"}),
            source=source.name,
            resting_until=rest_end,
            next_run_at=find_next_run(source, rest_end or now, timezone=self.timezone),
            sections=[_build_section_health(section) for section in sections],
        )

    async def notify_new_alarms(self) -> None:
        """Hand on what nobody was told of; what cannot be handed on stays for the next time."""
        notes = await self.store.alarms.list_unnotified()
        if not notes:
            return
        try:
            await self.notifier.notify(notes)
        except WorkFailed:
            return
        await self.store.alarms.mark_notified([note.id for note in notes], self.clock.now())


def _build_section_health(section: SourceSection) -> SectionHealth:
    days = [dt.date.fromisoformat(day) for day in section.arrivals]
    cadence = learn_cadence(days)
    return SectionHealth(
        name=section.name,
        url=section.url,
        last_new_on=max(days, default=None),
        usual_days=cadence and cadence.usual_days,
        silent_after_days=cadence and cadence.silent_after_days,
        last_complete_on=section.last_complete_on,
        is_unfinished=section.is_unfinished,
        drifted_on=section.drifted_on,
        arrivals=sorted(days),
    )
