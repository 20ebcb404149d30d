"""Several backends as one: asked at once, and their results brought into one order."""

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from monitor.errors import MonitorError
from monitor.logs import get_logger
from monitor.search.contract import (
    ProviderMeta,
    SearchBackend,
    SearchError,
    SearchErrorCode,
    SearchFailed,
    SearchItem,
    SearchQuery,
    SearchResults,
    ToolResult,
)
from monitor.search.responses import build_failure, clean_hits, compute_timeout_s
from monitor.urls import url_key


class BackendSearch:
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
        findings, error = SearchResults(), None
        try:
            findings = await self._search_backend(query, limit)
        except SearchFailed as failed:
            error = failed.error
        except MonitorError as failed:
            error = _build_backend_error(str(failed))
        except Exception as failed:  # noqa: BLE001 -- one backend must not take the others with it
            get_logger("search").exception("backend failed", backend=self.name)
            error = _build_backend_error(f"The backend failed unexpectedly ({type(failed).__name__}).")
        return ToolResult(
            items=clean_hits(findings.hits, backend=self.name, limit=limit),
            provider_meta=ProviderMeta(
                provider_name=self.name,
                latency_ms=round((loop.time() - began) * 1000),
                request_id=query.trace_id or findings.request_id or uuid.uuid4().hex,
            ),
            errors=[one for one in (error, findings.cut_short) if one is not None],
        )

    async def _search_backend(self, query: SearchQuery, limit: int) -> SearchResults:
        time_s = compute_timeout_s(query, self._timeout_s)
        try:
            async with asyncio.timeout(time_s):
                return await self._backend.search(query, limit)
        except TimeoutError:
            raise build_failure(SearchErrorCode.TIMEOUT, f"No answer came within {time_s:.3g} s.") from None


def _build_backend_error(message: str) -> SearchError:
    return build_failure(SearchErrorCode.PROVIDER, message).error


RANK_CONSTANT = 60
"""The constant of reciprocal rank fusion: how little the first places count more than the next (Cormack, 2009)."""


class MergedSearch:
    """web.search over several backends (`ports.WebSearch`). A late or failing one adds an error, no more."""

    def __init__(self, providers: Sequence[BackendSearch]) -> None:
        self._providers = list(providers)

    async def search(self, query: SearchQuery, limit: int) -> ToolResult:
        """The results of all that answered in their time, each document once."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        answers = await asyncio.gather(*(provider.search(query, limit) for provider in self._providers))
        return ToolResult(
            items=fuse_results([answer.items for answer in answers], limit=limit),
            provider_meta=ProviderMeta(
                provider_name="+".join(provider.name for provider in self._providers),
                latency_ms=round((loop.time() - began) * 1000),
                request_id=query.trace_id or uuid.uuid4().hex,
            ),
            errors=[
                error.model_copy(update={"message": f"{provider.name}: {error.message}"})
                for provider, answer in zip(self._providers, answers, strict=True)
                for error in answer.errors
            ],
        )


@dataclass(slots=True)
class _FusedDocument:
    """The results that mean one document, and what its places in the lists count together."""

    score: float = 0.0
    results: list[SearchItem] = field(default_factory=list)


def fuse_results(lists: Sequence[Sequence[SearchItem]], *, limit: int) -> list[SearchItem]:
    """One list out of several, by reciprocal rank fusion: score = Σ 1 / (60 + rank), the highest first.

    Documents with the same score keep the order in which they come: rank by rank, each time list by list. Of the
    results for one document, the best placed with a real address is shown; what it does not tell, another may.
    """
    documents: dict[str, _FusedDocument] = {}
    for item in sorted((item for items in lists for item in items), key=lambda item: item.rank):
        document = documents.setdefault(url_key(item.source or item.url), _FusedDocument())
        document.score += 1 / (RANK_CONSTANT + item.rank)
        document.results.append(item)
    best = sorted(documents.values(), key=lambda document: -document.score)[:limit]
    return [_merge_duplicates(document.results, rank) for rank, document in enumerate(best, start=1)]


def _merge_duplicates(results: Sequence[SearchItem], rank: int) -> SearchItem:
    chosen = next((result for result in results if result.source is None), results[0])
    return chosen.model_copy(
        update={
            "rank": rank,
            "title": chosen.title or next((one.title for one in results if one.title), ""),
            "snippet": chosen.snippet or next((one.snippet for one in results if one.snippet), ""),
            "published_at": next((one.published_at for one in (chosen, *results) if one.published_at), None),
        }
    )
