"""The seams: what the core asks of the world, so that a test or another machine can answer instead."""

import datetime as dt
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Literal, Protocol, TypeVar

from pydantic import BaseModel

from monitor.domain.alarms import AlarmNote
from monitor.domain.chat import Completion, Message, OnToken, Tool
from monitor.domain.deliveries import Letter
from monitor.domain.page import Page
from monitor.domain.searching import Findings, SearchQuery, ToolResult
from monitor.domain.sighting import Sighting, Way
from monitor.domain.words import EventKind, Phase, Render, SectionEnd

T = TypeVar("T")


class Clock(Protocol):
    """Tells the time; nothing in the core asks the system for it."""

    def now(self) -> dt.datetime:
        """The instant, in UTC, with its zone."""
        ...


class PageLoader(Protocol):
    """Loads pages. Never raises for what the outside does: a page that cannot be seen says so in its `error`."""

    async def load(self, url: str, *, render: Render = Render.AUTO) -> Page:
        """The page at `url`, over HTTP or drawn in the browser."""
        ...

    async def download(self, url: str, folder: Path) -> Path:
        """Keep the document at `url` in `folder`, under a name that is ours; `WorkFailed` where that fails."""
        ...

    def can_draw(self) -> bool:
        """Whether there is a browser to draw with."""
        ...

    def notes(self) -> Mapping[str, str]:
        """What the run should say about getting there, by url: a robots.txt that could not be read, for one."""
        ...


class Recorder(Protocol):
    """Keeps what one run sees, before anybody reads it."""

    async def keep(self, sighting: Sighting) -> str:
        """The id of the record; `WorkFailed` where it cannot be kept."""
        ...


class Outside(Protocol):
    """What answers when a run asks for an address: the sites themselves, or the records of an earlier run."""

    async def see(self, url: str, way: Way) -> Sighting:
        """What came of asking. Never raises for what the outside does: that is the sighting's `error`."""
        ...

    def can_draw(self) -> bool:
        """Whether there is a browser to draw with; it may still fail to start."""
        ...

    def draws_first(self, url: str) -> bool:
        """Whether pages beside this one were found to need the browser."""
        ...

    def found_drawn(self, url: str) -> None:
        """Take down that the page at `url` needs the browser."""
        ...

    def for_run(self, recorder: Recorder | None) -> "Outside":
        """The same outside as another run meets it, from its beginning."""
        ...

    async def close(self) -> None:
        """Give back what is held open."""
        ...


class DocumentReader(Protocol):
    """Reads what is not a web page."""

    async def read(self, path: Path) -> str:
        """The text of a PDF, DOCX or XLSX file; `WorkFailed` where it cannot be read."""
        ...


class ChatModel(Protocol):
    """A language model, bound to one run: its calls are counted, limited and recorded."""

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        place: str = "",
        tools: Sequence[Tool] = (),
        on_token: OnToken | None = None,
    ) -> Completion:
        """One completion; `ModelFailed` where none came, `ModelUnavailable` where asking again is useless.

        `on_token` is told the text while it is written, in pieces that together are the completion's. It must not ask
        the model itself: the call that it listens to holds its slot.
        """
        ...


class SearchBackend(Protocol):
    @property
    def name(self) -> str:
        """What it is called in the settings."""
        ...

    async def search(self, query: SearchQuery, limit: int) -> Findings:
        """The first `limit` results (1 to 20), in the service's order; `SearchFailed` where it gave no answer."""
        ...


class WebSearch(Protocol):
    async def search(self, query: SearchQuery, limit: int) -> ToolResult:
        """The results, checked and ranked. Never raises for what the outside does: that is in the `errors`."""
        ...


class Steps(Protocol):
    """Durability: a step that was finished before a crash is not done again after it."""

    async def run(self, name: str, result: type[T], step: Callable[[], Awaitable[T]]) -> T:
        """The step's result; `name` is unique within the run, the result a pydantic value or a plain JSON one."""
        ...


class Presence(Protocol):
    """Who is at work: the processes that carry out runs."""

    def attending(self, kind: str) -> AbstractAsyncContextManager[str]:
        """Be known to be at work for as long as the block lasts; gives the name that one is known by."""
        ...

    async def alive(self) -> dict[str, str]:
        """The processes that are at work, each with its kind."""
        ...


class Notifier(Protocol):
    """Tells people what they should know of without asking."""

    async def notify(self, alarms: Sequence[AlarmNote]) -> None:
        """Hand on these alarms; `WorkFailed` where they did not arrive, so that it is tried again later."""
        ...


class Channel(Protocol):
    async def send(self, letter: Letter, *, accepted: Collection[str] = ()) -> None:
        """Hand a letter over, once; `NotDelivered` where it did not arrive. `accepted` are addresses that have it."""
        ...


class Schedules(Protocol):
    def check(self, cron: str, timezone: str) -> None:
        """`UsageError` where the five fields or the time zone are wrong."""
        ...

    def next_after(self, cron: str, timezone: str, after: dt.datetime) -> dt.datetime | None:
        """The first planned instant later than `after`, in UTC."""
        ...


class Progress(BaseModel):
    """One sign of life from a run, for a person who waits: which phase, where in it, how far.

    After the phases comes `revisit`, which looks again at the pages of earlier items. What stands below `kind` belongs
    to the event of that kind: `ordinal` is the section's place in the run, `ended` why its reading ended, `reason` why
    something fell back or a page could not be seen, `outcome` what came of a model call.
    """

    phase: Phase | Literal["revisit"]
    place: str = ""
    done: int = 0
    total: int | None = None
    message: str = ""
    kind: EventKind = EventKind.STEP
    url: str = ""
    title: str = ""
    reason: str = ""
    ordinal: int | None = None
    ended: SectionEnd | None = None
    pages: int | None = None
    candidates: int | None = None
    saved: int | None = None
    item_id: int | None = None
    tokens: int | None = None
    ms: int | None = None
    outcome: str = ""


ProgressCallback = Callable[[Progress], None]


def untold(progress: Progress) -> None:
    """What is told where nobody listens."""
