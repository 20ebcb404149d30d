"""The recorded pages of a run as they are shown to another model: what was not recorded is a page that did not load."""

from dataclasses import dataclass

from monitor.clock import Clock
from monitor.errors import RecordLost
from monitor.evidence.replay import ReplayTransport
from monitor.fetch.result import FetchResult, Recorder
from monitor.page import PageError, PageErrorCode
from monitor.vocabulary import FetchMode


@dataclass(frozen=True)
class RecordedSites:
    """A transport that never leaves the records of a run: a model may ask for pages that the run did not."""

    records: ReplayTransport
    clock: Clock

    async def fetch(self, url: str, mode: FetchMode) -> FetchResult:
        try:
            return await self.records.fetch(url, mode)
        except RecordLost as error:
            problem = PageError(code=PageErrorCode.NOT_FOUND, message=error.message)
            return FetchResult(url=url, mode=mode, at=self.clock.now(), final_url=url, error=problem)

    def can_render(self) -> bool:
        return self.records.can_render()

    def list_sitemaps(self, url: str) -> list[str]:
        return self.records.list_sitemaps(url)

    def renders_first(self, url: str) -> bool:
        return self.records.renders_first(url)

    def mark_rendered(self, url: str) -> None:
        self.records.mark_rendered(url)

    def for_run(self, recorder: Recorder | None) -> "RecordedSites":
        """The same records from their beginning; nothing is recorded again."""
        return RecordedSites(self.records.for_run(recorder), self.clock)

    async def close(self) -> None:
        pass
