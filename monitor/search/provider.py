"""One backend as web.search: its time, its errors, and its results checked, cleaned and ranked."""

import asyncio
import uuid

from monitor.domain.searching import (
    Findings,
    ProviderMeta,
    SearchError,
    SearchErrorCode,
    SearchFailed,
    SearchQuery,
    ToolResult,
)
from monitor.errors import MonitorError
from monitor.logs import logger_of
from monitor.ports import SearchBackend
from monitor.search.cleaning import checked
from monitor.search.failures import failure
from monitor.search.paging import time_for


class Provider:
    def __init__(self, backend: SearchBackend, *, timeout_s: float) -> None:
        self._backend = backend
        self._timeout_s = timeout_s

    @property
    def name(self) -> str:
        return self._backend.name

    async def search(self, query: SearchQuery, limit: int) -> ToolResult:
        """What the backend found within its time; whatever goes wrong in it is an error of the answer."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        findings, error = Findings(), None
        try:
            findings = await self._found(query, limit)
        except SearchFailed as failed:
            error = failed.error
        except MonitorError as failed:
            error = _of_backend(str(failed))
        except Exception as failed:  # noqa: BLE001 -- one backend must not take the others with it
            logger_of("search").exception("backend failed", backend=self.name)
            error = _of_backend(f"The backend failed unexpectedly ({type(failed).__name__}).")
        return ToolResult(
            items=checked(findings.hits, backend=self.name, limit=limit),
            provider_meta=ProviderMeta(
                provider_name=self.name,
                latency_ms=round((loop.time() - began) * 1000),
                request_id=query.trace_id or findings.request_id or uuid.uuid4().hex,
            ),
            errors=[one for one in (error, findings.cut_short) if one is not None],
        )

    async def _found(self, query: SearchQuery, limit: int) -> Findings:
        time_s = time_for(query, self._timeout_s)
        try:
            async with asyncio.timeout(time_s):
                return await self._backend.search(query, limit)
        except TimeoutError:
            raise failure(SearchErrorCode.TIMEOUT, f"No answer came within {time_s:.3g} s.") from None


def _of_backend(message: str) -> SearchError:
    return failure(SearchErrorCode.PROVIDER, message).error
