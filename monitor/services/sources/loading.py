"""Loads pages of a source outside of its runs as a run would: logged in, where the source has steps."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from monitor.db.tables.collection import Source
from monitor.fetch.session import open_session
from monitor.pages.loader import Loader
from monitor.services.recording import LogInBuilder, RunLoaderFactory


@dataclass(frozen=True, kw_only=True)
class SourceLoaders:
    new_loader: RunLoaderFactory
    build_log_in: LogInBuilder

    @asynccontextmanager
    async def open(self, source: Source | None) -> AsyncIterator[Loader]:
        """Yield a loader for the pages of a source; its session, if there is one, ends with the block.

        `LogInFailed` says why the log-in did not work, `BrowserMissing` that there is no browser for it.
        """
        loader = self.new_loader(None, None if source is None else self.build_log_in(source))
        async with open_session(loader.session):
            yield loader
