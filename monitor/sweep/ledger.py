"""The ledger of a section: every candidate on its list pages, each url once, each with exactly one disposition."""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel

from monitor.db.reading import KnownCandidate, LedgerEntry
from monitor.db.tables.collection import Source, SourceSection
from monitor.errors import UsageError
from monitor.i18n.message import Message
from monitor.page import Candidate
from monitor.urls import url_key
from monitor.vocabulary import Disposition

MAX_LATE_DAYS = 90


class DateWindow(BaseModel, frozen=True):
    """`since` to `until`, both included. `is_fixed`: a person chose it, so it is not extended."""

    since: dt.date
    until: dt.date
    is_fixed: bool = False

    def __contains__(self, day: dt.date) -> bool:
        return self.since <= day <= self.until


def build_window(
    *, today: dt.date, days: int, since: dt.date | None = None, until: dt.date | None = None
) -> DateWindow:
    """Return a window of `days` calendar days, or of the dates given; `UsageError` where they are reversed."""
    first, last = since or (until or today) - dt.timedelta(days=days - 1), until or today
    if first > last:
        raise UsageError("sweep.range_reversed", first=first.isoformat(), last=last.isoformat())
    return DateWindow(since=first, until=last, is_fixed=since is not None or until is not None)


def extend_window(window: DateWindow, memory: SourceSection | None) -> DateWindow:
    """Return the window from the section's last complete run on, so that an outage leaves no gap."""
    if window.is_fixed or memory is None or memory.last_complete_on is None:
        return window
    return window.model_copy(update={"since": min(window.since, memory.last_complete_on)})


UNDATED = Message("candidate.undated")
NOT_OPENED = Message("candidate.undated_not_opened")
ROBOTS = Message("candidate.undated_robots")
OTHER_HOST = Message("candidate.other_host")
EXCLUDED = Message("candidate.keyword_excluded")
NOT_INCLUDED = Message("candidate.no_keyword")
NO_ROOM = Message("candidate.max_items")
NO_TITLE = Message("candidate.title_missing")


class CandidateEntry(BaseModel):
    """A `LedgerEntry` in the making; `disposition` None means in range and still open."""

    candidate: Candidate
    page_url: str
    position: int
    disposition: Disposition | None = None
    reason: Message | None = None
    item_id: int | None = None
    is_late: bool = False
    is_in_range: bool = False

    def settle(self, disposition: Disposition, reason: Message | None = None, item_id: int | None = None) -> None:
        """Give the candidate its disposition; `ValueError` where it has another one already."""
        if self.disposition not in (None, disposition):
            raise ValueError(f"{self.candidate.url} is {self.disposition} and cannot become {disposition}")
        self.disposition, self.reason, self.item_id = disposition, reason, item_id


@dataclass(kw_only=True)
class CoverageLedger:
    """The candidates of one section in the order in which they were read."""

    run_id: str
    section: str
    source: Source
    window: DateWindow
    memory: SourceSection | None
    max_items: int
    _entries: dict[str, CandidateEntry] = field(default_factory=dict, init=False)

    def __iter__(self) -> Iterator[CandidateEntry]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, url: str) -> CandidateEntry | None:
        return self._entries.get(url_key(url))

    @property
    def saved_count(self) -> int:
        return sum(entry.disposition is Disposition.SAVED for entry in self)

    @property
    def room(self) -> int:
        return max(self.max_items - self.saved_count, 0)

    @property
    def has_room(self) -> bool:
        return self.room > 0

    def list_open_entries(self) -> list[CandidateEntry]:
        return [entry for entry in self if entry.disposition is None]

    def add(
        self,
        candidates: Sequence[Candidate],
        *,
        page_url: str,
        known: Mapping[str, KnownCandidate],
        unopened: Mapping[str, Message] | None = None,
    ) -> list[CandidateEntry]:
        """Enter a page's candidates and return the new entries; a url of an earlier page of the section is skipped.

        `known` maps url keys to what earlier runs and sections know; `unopened` says, by url key, why the articles of
        undated candidates were not opened.
        """
        last_seen = max((i for i, candidate in enumerate(candidates) if url_key(candidate.url) in known), default=-1)
        added = []
        for index, candidate in enumerate(candidates):
            key = url_key(candidate.url)
            if key in self._entries:
                # What was carried over from the last run, or linked before it was listed, is seen here.
                seen = self._entries[key].candidate
                seen.record = seen.record or candidate.record
                continue
            entry = CandidateEntry(candidate=candidate, page_url=page_url, position=len(self._entries))
            self._judge(entry, known.get(key), is_above_seen=index < last_seen, unopened=(unopened or {}).get(key))
            self._entries[key] = entry
            added.append(entry)
        return added

    def add_extra(self, candidate: Candidate, *, page_url: str) -> CandidateEntry:
        """Enter a link that the list rules did not take for a candidate; it is open."""
        entry = CandidateEntry(candidate=candidate, page_url=page_url, position=len(self._entries))
        self._entries[url_key(candidate.url)] = entry
        return entry

    def close(self) -> list[LedgerEntry]:
        """Return all entries; for those still open there was no room."""
        for entry in self.list_open_entries():
            entry.settle(Disposition.OVER_LIMIT, NO_ROOM)
        return [LedgerEntry.model_validate(entry, from_attributes=True) for entry in self]

    def get_tail_date(self) -> dt.date | None:
        return next((entry.candidate.date for entry in reversed(list(self)) if entry.candidate.date), None)

    def _judge(
        self, entry: CandidateEntry, known: KnownCandidate | None, *, is_above_seen: bool, unopened: Message | None
    ) -> None:
        day = entry.candidate.date
        entry.is_in_range = day is not None and day in self.window
        if not entry.candidate.title.strip():
            entry.settle(Disposition.REFUSED, NO_TITLE)
        elif known is not None and known.item_id is not None:
            is_ours = known.run_id == self.run_id and known.section == self.section
            entry.settle(Disposition.SAVED if is_ours else Disposition.KNOWN, item_id=known.item_id)
        elif reason := self._get_filter_reason(entry.candidate):
            entry.settle(Disposition.FILTERED, reason)
        elif day is None:
            self._judge_undated(entry, is_new=known is None, unopened=unopened)
        elif day not in self.window:
            entry.is_late = entry.is_in_range = known is None and self._is_late(day, is_above_seen=is_above_seen)
            if not entry.is_late:
                entry.settle(Disposition.OUT_OF_RANGE)

    def _judge_undated(self, entry: CandidateEntry, *, is_new: bool, unopened: Message | None) -> None:
        if is_new and self.memory is not None and self.memory.last_complete_on is not None:
            entry.is_in_range = True
            return
        entry.settle(Disposition.LEFT, unopened or UNDATED)

    def _is_late(self, day: dt.date, *, is_above_seen: bool) -> bool:
        """Whether a new url with an old date is late: earlier runs have read past its place in the list."""
        memory = self.memory
        if self.window.is_fixed or memory is None or memory.last_complete_on is None:
            return False
        if not self.window.until - dt.timedelta(days=MAX_LATE_DAYS) <= day < self.window.since:
            return False
        return is_above_seen or (memory.tail_date is not None and day >= memory.tail_date)

    def _get_filter_reason(self, candidate: Candidate) -> Message | None:
        title = candidate.title.casefold()
        if candidate.is_repost and not self.source.allow_other_hosts:
            return OTHER_HOST
        if any(word.casefold() in title for word in self.source.keywords_exclude if word):
            return EXCLUDED
        wanted = [word for word in self.source.keywords_include if word]
        if wanted and not any(word.casefold() in title for word in wanted):
            return NOT_INCLUDED
        return None
