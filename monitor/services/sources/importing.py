"""What becomes of a list of sources: new rows are added, known ones skipped, wrong ones come back with reasons."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from monitor.db.tables.collection import Source
from monitor.errors import UsageError
from monitor.exports.document import normalize_line
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.services.sources.exchange import format_rejected
from monitor.services.sources.tables import SourceList, SourceRow
from monitor.urls import url_key


class ImportStatus(StrEnum):
    NEW = "new"
    KNOWN = "known"
    WRONG = "wrong"


class ImportEntry(MessageModel):
    """A row of a list; `complaint` says what is wrong with it, or under which name the source is watched already."""

    number: int
    name: str
    url: str
    newness: ImportStatus
    complaint: Message | None = None


@dataclass(kw_only=True)
class ImportPlan:
    """`entries` has all rows in order, `sources` the new ones."""

    source_list: SourceList
    entries: list[ImportEntry]
    sources: list[Source]

    def count(self, status: ImportStatus) -> int:
        return sum(entry.newness == status for entry in self.entries)

    def format_rejected(self, describe: Callable[[Message], str]) -> bytes:
        """Return the wrong rows as a list of the same form, each with its reason; nothing where none is wrong."""
        reasons = {
            entry.number - 1: describe(entry.complaint)
            for entry in self.entries
            if entry.newness is ImportStatus.WRONG and entry.complaint is not None
        }
        return format_rejected(self.source_list, reasons) if reasons else b""


def plan_import(
    source_list: SourceList, existing: Iterable[Source], *, build: Callable[[Mapping[str, Any]], Source]
) -> ImportPlan:
    """Check each row for itself; `build` raises `UsageError` for values that are no source.

    A row is known where a source has its name and address, or is the same but for its name; the same name with another
    address is a fault, because names are unique.
    """
    known = _KnownSources(existing)
    plan = ImportPlan(source_list=source_list, entries=[], sources=[])
    for number, row in enumerate(source_list.rows, start=1):
        name, url = _get_text(row, "name"), _get_text(row, "url")
        entry = ImportEntry(number=number, name=name, url=url, newness=ImportStatus.WRONG, complaint=row.fault)
        plan.entries.append(entry)
        if row.fault is not None:
            continue
        try:
            source = build(row.values)
        except UsageError as error:
            entry.complaint = error.message
            continue
        entry.name, entry.url = source.name, source.url
        entry.newness, entry.complaint = known.compare(source)
        if entry.newness is ImportStatus.NEW:
            known.add(source)
            plan.sources.append(source)
    return plan


class _KnownSources:
    def __init__(self, sources: Iterable[Source]) -> None:
        self._names: dict[str, Source] = {}
        self._identities: dict[object, Source] = {}
        for source in sources:
            self.add(source)

    def add(self, source: Source) -> None:
        self._names[source.name] = self._identities[_identify(source)] = source

    def compare(self, source: Source) -> tuple[ImportStatus, Message | None]:
        same, namesake = self._identities.get(_identify(source)), self._names.get(source.name)
        if namesake is not None and url_key(namesake.url) == url_key(source.url):
            same = namesake
        if same is not None:
            return ImportStatus.KNOWN, Message("source.import_known", {"name": same.name})
        if namesake is not None:
            return ImportStatus.WRONG, Message(
                "source.import_name_taken", {"name": source.name, "url": namesake.url or namesake.name}
            )
        return ImportStatus.NEW, None


def _identify(source: Source) -> object:
    """Return what makes two sources the same under different names: where and what they read."""
    sections = frozenset(url_key(section["url"]) for section in source.sections)
    words = (source.focus_areas, source.keywords_include, source.keywords_exclude)
    return (source.kind, url_key(source.url), sections, *map(frozenset, words))


def _get_text(row: SourceRow, field: str) -> str:
    value = row.values.get(field)
    if row.fault is not None:
        value = next(iter(row.raw.values()), "") if isinstance(row.raw, dict) else row.raw
        value = " ".join(value) if isinstance(value, list) else value
        value = value if field == "name" else ""
    return normalize_line(value[:200]) if isinstance(value, str) else ""
