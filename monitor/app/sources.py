"""The use cases around sources."""

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from monitor.app.exchange import Form, read_sources, written
from monitor.app.source_form import SourceForm, check_timezone, checked_form, form_values, source_of
from monitor.domain.tables import Source
from monitor.errors import Conflict, NotFound, UsageError
from monitor.formats.document import one_line
from monitor.ports import Clock, Schedules
from monitor.store import Store


class Newness(StrEnum):
    """What an entry of a list of sources is to us."""

    NEW = "new"
    TAKEN = "taken"
    WRONG = "wrong"


class ImportEntry(BaseModel):
    """An entry of a list that was handed in, before anything is stored; `complaint` says what is wrong with it."""

    number: int
    name: str
    url: str
    newness: Newness
    complaint: str = ""


class SourceDesk:
    """Keeps the list of sources: every change is checked as a whole before it is stored."""

    def __init__(self, *, store: Store, clock: Clock, schedules: Schedules, timezone: str) -> None:
        self._store = store
        self._clock = clock
        self._schedules = schedules
        self._timezone = timezone

    async def all(self, *, only_enabled: bool = False, tag: str | None = None) -> list[Source]:
        return await self._store.sources.list(only_enabled=only_enabled, tag=tag)

    async def get(self, name: str) -> Source:
        """The source of that name, or `UsageError` that names the nearest ones."""
        source = await self._store.sources.get(name)
        if source is None:
            known = [one.name for one in await self._store.sources.list()]
            raise NotFound(f"There is no source {name!r}; {_offer(name, known)}")
        return source

    async def by_id(self, source_id: int) -> Source:
        """The source of that number, or `NotFound`."""
        source = await self._store.sources.by_id(source_id)
        if source is None:
            raise NotFound(f"There is no source {source_id}: it may have been removed.")
        return source

    async def add(self, values: Mapping[str, Any]) -> Source:
        return await self._store.sources.add(self._made(values))

    def drafted(self, values: Mapping[str, Any], *, of: Source | None = None) -> Source:
        """A source that is checked but not stored, for a trial: a new one, or a stored one with fields changed."""
        if of is None:
            return self._made(values)
        made = self._made({**form_values(of), **values})
        return Source.model_validate({**of.model_dump(), **made.model_dump(include=set(SourceForm.model_fields))})

    def values_of(self, source: Source) -> dict[str, Any]:
        """What a person would write to get this source."""
        return form_values(source)

    async def edit(self, name: str, changes: Mapping[str, Any]) -> Source:
        """The source with some fields changed."""
        source = await self.get(name)
        form = checked_form({**form_values(source), **changes}, timezone=self._timezone, schedules=self._schedules)
        return await self._store.sources.update(source.name, **form.model_dump(mode="python"))

    async def remove(self, name: str) -> None:
        """Delete a source; its items and runs stay in the archive."""
        await self.get(name)
        await self._store.sources.remove(name)

    async def switch(self, source_ids: Collection[int], *, is_on: bool) -> list[Source]:
        """Let these sources run, or rest; answers those that this changed."""
        return await self._store.sources.change(source_ids, lambda _: {"enabled": is_on})

    async def tag(self, source_ids: Collection[int], tag: str, *, is_on: bool) -> list[Source]:
        """Give these sources a tag, or take it from them; answers those that this changed."""
        word = one_line(tag)
        if not word:
            raise UsageError("Write the tag.")

        def changed(source: Source) -> dict[str, Any]:
            others = [tag for tag in source.tags if tag != word]
            if is_on:
                return {} if word in source.tags else {"tags": [*others, word]}
            return {"tags": others}

        return await self._store.sources.change(source_ids, changed)

    async def read_file(self, path: Path) -> list[Source]:
        """Add the sources of a YAML, OPML or CSV file: all, or none where one is wrong or its name is taken."""
        return await self.bring_in(read_sources(path), where=str(path))

    async def bring_in(self, rows: Sequence[Mapping[str, Any]], *, where: str) -> list[Source]:
        """Add the sources of a list: all of them, or none where one is wrong or its name is taken."""
        sources = [self._made(values) for values in rows]
        taken = {one.name for one in await self._store.sources.list()}
        for source in sources:
            if source.name in taken:
                raise Conflict(
                    f"There is a source {source.name!r} already: rename it in {where}, or remove the old one."
                )
            taken.add(source.name)
        return await self._store.sources.add_all(sources)

    async def examine(self, rows: Sequence[Mapping[str, Any]]) -> list[ImportEntry]:
        """What would become of each entry of a list; nothing is stored."""
        taken = {one.name for one in await self._store.sources.list()}
        entries = []
        for number, values in enumerate(rows, start=1):
            try:
                source = self._made(values)
            except UsageError as error:
                name, url = (_shown(values.get(field)) for field in ("name", "url"))
                entry = ImportEntry(number=number, name=name, url=url, newness=Newness.WRONG, complaint=str(error))
            else:
                newness = Newness.TAKEN if source.name in taken else Newness.NEW
                entry = ImportEntry(number=number, name=source.name, url=source.url, newness=newness)
                taken.add(source.name)
            entries.append(entry)
        return entries

    async def written(self, form: str) -> str:
        """All sources as YAML, OPML or CSV text."""
        sources = list(reversed(await self._store.sources.list()))
        if form not in set(Form):
            raise UsageError(f"Sources are exported as yaml, opml or csv, not as {form!r}.")
        return written(sources, Form(form))

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


def _shown(value: Any) -> str:
    return one_line(value[:200]) if isinstance(value, str) else ""


def _offer(name: str, known: Sequence[str]) -> str:
    if not known:
        return "there are none yet: add one with `monitor sources add`."
    near = [one for one in known if name.casefold() in one.casefold() or one.casefold() in name.casefold()]
    return f"known are {', '.join((near or list(known))[:10])}."
