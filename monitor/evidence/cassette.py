"""A cassette: what the trial of a source fetched and what the model answered, played again for its first run.

The run goes through all of it as any run does, so that items, ledger and evidence are its own; only the sites and the
model are not asked a second time for what they have said already.
"""

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TypeVar

from monitor.db.tables.evidence import ModelAnswer
from monitor.errors import WorkFailed
from monitor.evidence.replay import ReplayModel, hash_request
from monitor.fetch.result import FetchResult, Recorder, Transport
from monitor.i18n.message import Message
from monitor.llm.chat import ChatModel, Completion, CompletionRequest, fit_chars
from monitor.vocabulary import FetchMode, Phase

MAX_CASSETTE_BYTES = 64 * 1024 * 1024
_T = TypeVar("_T")


@dataclass
class Cassette:
    """Keeps results as a `Recorder`, up to 64 MB of bodies: what is beyond that is fetched again."""

    results: list[FetchResult] = field(default_factory=list)
    answers: list[ModelAnswer] = field(default_factory=list)
    _bytes: int = 0

    async def keep(self, result: FetchResult) -> str:
        """Keep a response; a failure is not kept, because the site may answer by now. There is no record of it yet."""
        size = len(result.body or b"")
        if result.error is None and self._bytes + size <= MAX_CASSETTE_BYTES:
            self._bytes += size
            self.results.append(result)
        return ""

    async def save_answer(self, answer: ModelAnswer) -> None:
        if answer.completion is not None:
            self.answers.append(answer)


class CassetteTransport:
    """A transport that returns what is on a cassette, recorded now, and asks the sites for everything else.

    A url that was fetched more than once gets its results in order, then the last one again.
    """

    def __init__(self, cassette: Cassette, sites: Transport, recorder: Recorder) -> None:
        self._cassette = cassette
        self._sites = sites
        self._recorder = recorder
        self._results: dict[tuple[str, FetchMode], list[FetchResult]] = defaultdict(list)
        for result in cassette.results:
            self._results[result.url, result.mode].append(result)

    async def fetch(self, url: str, mode: FetchMode) -> FetchResult:
        result = _take(self._results.get((url, mode)))
        if result is None:
            return await self._sites.fetch(url, mode)
        try:
            return replace(result, record=await self._recorder.keep(result))
        except WorkFailed as error:
            note = Message("cause.not_recorded", {"reason": error.message})
            return replace(result, record=None, notes={**result.notes, url: note})

    def can_render(self) -> bool:
        return self._sites.can_render()

    def list_sitemaps(self, url: str) -> list[str]:
        return self._sites.list_sitemaps(url)

    def renders_first(self, url: str) -> bool:
        is_drawn, is_plain = ((url, mode) in self._results for mode in (FetchMode.RENDERED, FetchMode.HTTP))
        return is_drawn if is_drawn != is_plain else self._sites.renders_first(url)

    def mark_rendered(self, url: str) -> None:
        self._sites.mark_rendered(url)

    def for_run(self, recorder: Recorder | None) -> Transport:
        """Return the sites: a cassette is played by one run."""
        return self._sites.for_run(recorder)

    async def close(self) -> None:
        await self._sites.close()


@dataclass
class CassetteModel:
    """A `ChatModel` that gives the answers of a cassette to the same requests, and asks the model for all others."""

    cassette: Cassette
    model: ChatModel

    def __post_init__(self) -> None:
        self._replay = ReplayModel(self.cassette.answers)
        self._known = {answer.request for answer in self.cassette.answers}

    def fit_chars(self, phase: Phase, limit: int, place: str = "") -> int:
        return self._replay.fit_chars(phase, fit_chars(self.model, phase, limit, place), place)

    async def complete(self, request: CompletionRequest) -> Completion:
        is_known = hash_request(request) in self._known
        return await (self._replay if is_known else self.model).complete(request)


def _take(waiting: list[_T] | None) -> _T | None:
    if not waiting:
        return None
    return waiting.pop(0) if len(waiting) > 1 else waiting[0]
