"""The use cases around sources."""

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from monitor.clock import Clock
from monitor.db.database import Store
from monitor.db.tables.collection import Source
from monitor.errors import Conflict, NotFound, UsageError
from monitor.exports.document import normalize_line
from monitor.services.runtime import CronParser
from monitor.services.sources.form import SourceForm, build_source, check_timezone, dump_form_values, validate_form


class ImportStatus(StrEnum):
    """What an entry of a list of sources is to us."""

    NEW = "new"
    TAKEN = "taken"
    WRONG = "wrong"


class ImportEntry(BaseModel):
    """An entry of a list that was handed in, before anything is stored; `complaint` says what is wrong with it."""

    number: int
    name: str
    url: str
    newness: ImportStatus
    complaint: str = ""


class SourceService:
    """Keeps the list of sources: every change is checked as a whole before it is stored."""

    def __init__(self, *, store: Store, clock: Clock, schedules: CronParser, timezone: str) -> None:
        self._store = store
        self._clock = clock
        self._schedules = schedules
        self._timezone = timezone

    async def list_sources(self, *, only_enabled: bool = False, tag: str | None = None) -> list[Source]:
        return await self._store.sources.list(only_enabled=only_enabled, tag=tag)

    async def get(self, name: str) -> Source:
        """The source of that name, or `UsageError` that names the nearest ones."""
        source = await self._store.sources.get(name)
        if source is None:
            known = [one.name for one in await self._store.sources.list()]
            raise NotFound(f"There is no source {name!r}; {_suggest_names(name, known)}")
        return source

    async def get_by_id(self, source_id: int) -> Source:
        """The source of that number, or `NotFound`."""
        source = await self._store.sources.get_by_id(source_id)
        if source is None:
            raise NotFound(f"There is no source {source_id}: it may have been removed.")
        return source

    async def add(self, values: Mapping[str, Any]) -> Source:
        return await self._store.sources.add(self._build_source(values))

    def build_draft(self, values: Mapping[str, Any], *, stored: Source | None = None) -> Source:
        """A source that is checked but not stored, for a trial: a new one, or a stored one with fields changed."""
        if stored is None:
            return self._build_source(values)
        made = self._build_source({**dump_form_values(stored), **values})
        return Source.model_validate({**stored.model_dump(), **made.model_dump(include=set(SourceForm.model_fields))})

    def dump_values(self, source: Source) -> dict[str, Any]:
        """What a person would write to get this source."""
        return dump_form_values(source)

    async def edit(self, name: str, changes: Mapping[str, Any]) -> Source:
        """The source with some fields changed."""
        source = await self.get(name)
        form = validate_form(
            {**dump_form_values(source), **changes}, timezone=self._timezone, schedules=self._schedules
        )
        return await self._store.sources.update(source.name, **form.model_dump(mode="python"))

    async def remove(self, name: str) -> None:
        """Delete a source; its items and runs stay in the archive."""
        await self.get(name)
        await self._store.sources.remove(name)

    async def set_enabled(self, source_ids: Collection[int], *, enabled: bool) -> list[Source]:
        """Let these sources run, or rest; answers those that this changed."""
        return await self._store.sources.update_many(source_ids, lambda _: {"enabled": enabled})

    async def set_tag(self, source_ids: Collection[int], tag: str, *, is_tagged: bool) -> list[Source]:
        """Give these sources a tag, or take it from them; answers those that this changed."""
        word = normalize_line(tag)
        if not word:
            raise UsageError("Write the tag.")

        def changed(source: Source) -> dict[str, Any]:
            others = [tag for tag in source.tags if tag != word]
            if is_tagged:
                return {} if word in source.tags else {"tags": [*others, word]}
            return {"tags": others}

        return await self._store.sources.update_many(source_ids, changed)

    async def import_file(self, path: Path) -> list[Source]:
        """Add the sources of a YAML, OPML or CSV file: all, or none where one is wrong or its name is taken."""
        from monitor.services.sources.exchange import read_source_file

        return await self.import_rows(read_source_file(path), label=str(path))

    async def import_rows(self, rows: Sequence[Mapping[str, Any]], *, label: str) -> list[Source]:
        """Add the sources of a list: all of them, or none where one is wrong or its name is taken."""
        sources = [self._build_source(values) for values in rows]
        taken = {one.name for one in await self._store.sources.list()}
        for source in sources:
            if source.name in taken:
                raise Conflict(
                    f"There is a source {source.name!r} already: rename it in {label}, or remove the old one."
                )
            taken.add(source.name)
        return await self._store.sources.add_all(sources)

    async def preview_import(self, rows: Sequence[Mapping[str, Any]]) -> list[ImportEntry]:
        """What would become of each entry of a list; nothing is stored."""
        taken = {one.name for one in await self._store.sources.list()}
        entries = []
        for number, values in enumerate(rows, start=1):
            try:
                source = self._build_source(values)
            except UsageError as error:
                name, url = (_format_value(values.get(field)) for field in ("name", "url"))
                entry = ImportEntry(number=number, name=name, url=url, newness=ImportStatus.WRONG, complaint=str(error))
            else:
                newness = ImportStatus.TAKEN if source.name in taken else ImportStatus.NEW
                entry = ImportEntry(number=number, name=source.name, url=source.url, newness=newness)
                taken.add(source.name)
            entries.append(entry)
        return entries

    async def export(self, list_format: str) -> str:
        """All sources as YAML, OPML or CSV text."""
        from monitor.services.sources.exchange import SourceListFormat, format_sources

        sources = list(reversed(await self._store.sources.list()))
        if list_format not in set(SourceListFormat):
            raise UsageError(f"Sources are exported as yaml, opml or csv, not as {list_format!r}.")
        return format_sources(sources, SourceListFormat(list_format))

    async def seed(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        """Create the sources of config.yaml that were never created; answers their names."""
        return await self._store.sources.seed([self._build_source(row) for row in rows])

    def _build_source(self, values: Mapping[str, Any]) -> Source:
        return build_source(values, now=self._clock.now(), timezone=self._timezone, schedules=self._schedules)


def get_timezone(source: Source, default: str) -> str:
    """The name of the source's time zone."""
    name = source.timezone or default
    check_timezone(name)
    return name


def _format_value(value: Any) -> str:
    return normalize_line(value[:200]) if isinstance(value, str) else ""


def _suggest_names(name: str, known: Sequence[str]) -> str:
    if not known:
        return "there are none yet: add one with `monitor sources add`."
    near = [one for one in known if name.casefold() in one.casefold() or one.casefold() in name.casefold()]
    return f"known are {', '.join((near or list(known))[:10])}."
