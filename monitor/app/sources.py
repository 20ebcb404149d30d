"""The use cases around sources."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from monitor.app.exchange import read_sources, to_opml, to_yaml
from monitor.app.source_form import check_timezone, checked_form, form_values, source_of
from monitor.domain.tables import Source
from monitor.errors import UsageError
from monitor.ports import Clock, Schedules
from monitor.store import Store


class SourceDesk:
    """Keeps the list of sources: every change is checked as a whole before it is stored."""

    def __init__(self, *, store: Store, clock: Clock, schedules: Schedules, timezone: str) -> None:
        self._store = store
        self._clock = clock
        self._schedules = schedules
        self._timezone = timezone

    async def all(self, *, only_enabled: bool = False, tag: str | None = None) -> list[Source]:
        """All sources, newest first."""
        return await self._store.sources.list(only_enabled=only_enabled, tag=tag)

    async def get(self, name: str) -> Source:
        """The source of that name, or `UsageError` that names the nearest ones."""
        source = await self._store.sources.get(name)
        if source is None:
            known = [one.name for one in await self._store.sources.list()]
            raise UsageError(f"There is no source {name!r}; {_offer(name, known)}")
        return source

    async def add(self, values: Mapping[str, Any]) -> Source:
        """A new source."""
        return await self._store.sources.add(self._made(values))

    def drafted(self, values: Mapping[str, Any]) -> Source:
        """A source that is checked but not stored, for a trial."""
        return self._made(values)

    async def edit(self, name: str, changes: Mapping[str, Any]) -> Source:
        """The source with some fields changed."""
        source = await self.get(name)
        form = checked_form({**form_values(source), **changes}, timezone=self._timezone, schedules=self._schedules)
        return await self._store.sources.update(source.name, **form.model_dump(mode="python"))

    async def remove(self, name: str) -> None:
        """Delete a source; its items and runs stay in the archive."""
        await self.get(name)
        await self._store.sources.remove(name)

    async def read_file(self, path: Path) -> list[Source]:
        """Add the sources of a YAML or OPML file: all of them, or none where one is wrong or its name is taken."""
        sources = [self._made(values) for values in read_sources(path)]
        taken = {one.name for one in await self._store.sources.list()}
        for source in sources:
            if source.name in taken:
                raise UsageError(
                    f"There is a source {source.name!r} already: rename it in {path}, or remove the old one."
                )
            taken.add(source.name)
        return [await self._store.sources.add(source) for source in sources]

    async def written(self, form: str) -> str:
        """All sources as YAML or OPML text."""
        sources = list(reversed(await self._store.sources.list()))
        if form not in ("yaml", "opml"):
            raise UsageError(f"Sources are exported as yaml or opml, not as {form!r}.")
        return to_yaml(sources) if form == "yaml" else to_opml(sources)

    async def seed(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        """Create the sources of config.yaml that were never created; answers their names."""
        return await self._store.sources.seed([self._made(row) for row in rows])

    def _made(self, values: Mapping[str, Any]) -> Source:
        return source_of(values, now=self._clock.now(), timezone=self._timezone, schedules=self._schedules)


def timezone_of(source: Source, default: str) -> str:
    """The name of the source's time zone."""
    name = source.timezone or default
    check_timezone(name)
    return name


def _offer(name: str, known: Sequence[str]) -> str:
    if not known:
        return "there are none yet: add one with `monitor sources add`."
    near = [one for one in known if name.casefold() in one.casefold() or one.casefold() in name.casefold()]
    return f"known are {', '.join((near or list(known))[:10])}."
