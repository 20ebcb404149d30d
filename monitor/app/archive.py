"""The use cases around what was gathered: items, briefings, and the record of runs."""

import datetime as dt
from collections.abc import Sequence
from zoneinfo import ZoneInfo

from pydantic import BaseModel

from monitor.app.report import report_of
from monitor.briefing.compose import Briefing, Period, SourceState, compose
from monitor.briefing.wire import ItemWire, item_wire
from monitor.domain.tables import Item, Run, Source
from monitor.domain.words import ItemType
from monitor.errors import UsageError
from monitor.ports import Clock
from monitor.ranking import rule_order
from monitor.settings import Settings
from monitor.store import Store
from monitor.store.items import ItemFilter

_TITLES = {"zh": "官方动态简报", "en": "What public bodies published"}
_LANGUAGES = tuple(_TITLES)


class ItemQuery(BaseModel):
    """Which items a person wants to see; days are of publication, both included."""

    sources: Sequence[str] = ()
    tags: Sequence[str] = ()
    types: Sequence[ItemType] = ()
    since: dt.date | None = None
    until: dt.date | None = None


class WholeItem(ItemWire):
    """An item with the text of its page, as far as it is kept."""

    run_id: str
    text: str | None = None


class Archive:
    """What was gathered."""

    def __init__(self, *, store: Store, clock: Clock, settings: Settings) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings

    async def items(self, wanted: ItemQuery, limit: int | None = 50) -> list[ItemWire]:
        """The items that are meant, newest first; `UsageError` for a source that never was, or days reversed."""
        if wanted.since is not None and wanted.until is not None and wanted.since > wanted.until:
            raise UsageError(
                f"The range of dates is the wrong way round: {wanted.since} is after {wanted.until}; "
                "give the earlier one as --since."
            )
        await self._check_sources(wanted.sources)
        items = await self._store.items.list(ItemFilter.model_validate(wanted.model_dump()), limit=limit)
        return [item_wire(item) for item in items]

    async def item(self, item_id: int) -> WholeItem:
        """One item with the text of its page; `UsageError` where there is none of that number."""
        item = await self._store.items.get(item_id)
        if item is None:
            raise UsageError(f"There is no item {item_id}; `monitor items list` shows the latest.")
        text = await self._store.items.text(item_id)
        return WholeItem(**item_wire(item).model_dump(), run_id=item.run_id, text=text)

    async def search(self, query: str, limit: int = 50) -> list[ItemWire]:
        """The items whose title, summary or text holds these words as they stand, newest first."""
        if not query.strip():
            raise UsageError("There is nothing to search for: give a word that stands in a title, summary or text.")
        return [item_wire(item) for item in await self._store.items.search(query, limit)]

    async def briefing(
        self,
        *,
        day: dt.date | None = None,
        days: int = 1,
        top: int | None = None,
        sources: Sequence[str] = (),
        tags: Sequence[str] = (),
        language: str = "zh",
    ) -> Briefing:
        """What was first seen in the `days` that end with `day` (default: today, in the service's time zone).

        It speaks for every enabled source that is meant, whether it brought something or not.
        """
        if language not in _LANGUAGES:
            raise UsageError(f"A briefing is written in {' or '.join(_LANGUAGES)}, not in {language!r}.")
        await self._check_sources(sources)
        zone = ZoneInfo(self._settings.timezone)
        now = self._clock.now()
        last = day or now.astimezone(zone).date()
        period = Period(since=last - dt.timedelta(days=days - 1), until=last)
        begin, end = _midnight(period.since, zone), _midnight(last + dt.timedelta(days=1), zone)
        wanted = ItemFilter(sources=sources, tags=tags, first_seen_since=begin, first_seen_until=end)
        items = await self._store.items.list(wanted, limit=None)
        return compose(
            _merged(items), await self._states(items, sources, tags, begin, end), title=_TITLES[language],
            period=period, language=language, top=top, generated_at=now.astimezone(zone),
            public_url=self._settings.web.public_url,
        )  # fmt: skip

    async def _states(
        self, items: Sequence[Item], names: Sequence[str], tags: Sequence[str], begin: dt.datetime, end: dt.datetime
    ) -> list[SourceState]:
        watched = {source.name: source for source in await self._store.sources.list()}
        meant = {
            name for name, source in watched.items()
            if (name in names if names else source.enabled) and (not tags or set(tags) & set(source.tags))
        }  # fmt: skip
        brought = dict.fromkeys(item.source for item in items)
        states = []
        for name in [*brought, *sorted(meant - brought.keys())]:
            runs = [
                run for run in await self._store.runs.list(source=name, limit=None) if begin <= run.planned_at < end
            ]
            new_items = sum(item.source == name for item in items)
            states.append(await self._state(name, watched.get(name), runs, new_items))
        return states

    async def _state(self, name: str, source: Source | None, runs: Sequence[Run], new_items: int) -> SourceState:
        """How a source stands by its runs in the period, newest first; its last one speaks for what was not seen."""
        state = SourceState(
            name=name, new_items=new_items, is_baseline=any(run.is_baseline for run in runs),
            last_error=source.last_error if source else None, last_run_at=source.last_run_at if source else None,
            last_new_item_at=source.last_new_item_at if source else None,
        )  # fmt: skip
        if not runs:
            return state
        report = await report_of(runs[0], self._store)
        coverage = report.coverage
        return state.model_copy(
            update={
                "status": report.status, "run_id": report.run_id, "last_error": report.error or state.last_error,
                "fallbacks": report.fallbacks,
                "unseen": coverage.unseen, "over_limit": coverage.over_limit, "left": coverage.left,
                "refused": coverage.refused,
            }
        )  # fmt: skip

    async def _check_sources(self, names: Sequence[str]) -> None:
        """A name that neither a source nor a run ever bore is a typing mistake, not an empty answer."""
        for name in names:
            if await self._store.sources.get(name) is None and not await self._store.runs.list(source=name, limit=1):
                known = ", ".join(one.name for one in (await self._store.sources.list())[:10]) or "none yet"
                raise UsageError(f"There is no source {name!r}; known are {known}.")


def _midnight(day: dt.date, zone: ZoneInfo) -> dt.datetime:
    return dt.datetime.combine(day, dt.time.min, tzinfo=zone).astimezone(dt.UTC)


def _merged(items: Sequence[Item]) -> list[Item]:
    """Items of one run keep its ranks, a model's too; those of several are ranked anew, together, by the rules."""
    if len({item.run_id for item in items}) <= 1:
        return list(items)
    return [
        Item(**{**items[index].model_dump(), "rank": rank}) for rank, index in enumerate(rule_order(items), start=1)
    ]
