"""Several backends as one search: asked concurrently, their results merged into one ranking."""

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from monitor.errors import MonitorError
from monitor.i18n.message import Message
from monitor.logs import get_logger
from monitor.search.contract import (
    ProviderMeta,
    SearchBackend,
    SearchErrorCode,
    SearchFailed,
    SearchItem,
    SearchQuery,
    SearchResults,
    ToolResult,
)
from monitor.search.responses import build_failure, clean_hits, compute_timeout_s
from monitor.urls import url_key


@dataclass(frozen=True)
class BackendSearch:
    """web.search over one backend, whose failures become errors of the result."""

    backend: SearchBackend
    timeout_s: float

    @property
    def name(self) -> str:
        return self.backend.name

    async def search(self, query: SearchQuery, limit: int) -> ToolResult:
        loop = asyncio.get_running_loop()
        began = loop.time()
        time_s = compute_timeout_s(query, self.timeout_s)
        findings, error = SearchResults(), None
        try:
            async with asyncio.timeout(time_s):
                findings = await self.backend.search(query, limit)
        except TimeoutError:
            error = build_failure(SearchErrorCode.TIMEOUT, "search.timeout", seconds=f"{time_s:.3g}").error
        except SearchFailed as failed:
            error = failed.error
        except MonitorError as failed:
            error = build_failure(SearchErrorCode.PROVIDER, failed.message).error
        except Exception as failed:  # noqa: BLE001 -- one backend must not take the others with it
            get_logger("search").exception("backend failed", backend=self.name)
            error = build_failure(SearchErrorCode.PROVIDER, "search.backend_crashed", error=type(failed).__name__).error
        return ToolResult(
            items=clean_hits(findings.hits, backend=self.name, limit=limit),
            provider_meta=ProviderMeta(
                provider_name=self.name,
                latency_ms=round((loop.time() - began) * 1000),
                request_id=query.trace_id or findings.request_id or uuid.uuid4().hex,
            ),
            errors=[problem for problem in (error, findings.cut_short) if problem is not None],
        )


RANK_CONSTANT = 60  # k of reciprocal rank fusion (Cormack, 2009): the higher, the less the first ranks stand out


@dataclass(frozen=True)
class MergedSearch:
    """web.search over several backends. A late or failing one only adds an error."""

    searches: Sequence[BackendSearch]

    async def search(self, query: SearchQuery, limit: int) -> ToolResult:
        loop = asyncio.get_running_loop()
        began = loop.time()
        answers = await asyncio.gather(*(search.search(query, limit) for search in self.searches))
        return ToolResult(
            items=fuse_results([answer.items for answer in answers], limit=limit),
            provider_meta=ProviderMeta(
                provider_name="+".join(search.name for search in self.searches),
                latency_ms=round((loop.time() - began) * 1000),
                request_id=query.trace_id or uuid.uuid4().hex,
            ),
            errors=[
                error.model_copy(
                    update={"message": Message.of("search.of_backend", backend=search.name, problem=error.message)}
                )
                for search, answer in zip(self.searches, answers, strict=True)
                for error in answer.errors
            ],
        )


@dataclass(slots=True)
class _FusedDocument:
    score: float = 0.0
    results: list[SearchItem] = field(default_factory=list)


def fuse_results(lists: Sequence[Sequence[SearchItem]], *, limit: int) -> list[SearchItem]:
    """Merge lists by reciprocal rank fusion: score = Σ 1 / (60 + rank), the highest first.

    Equal scores are ordered by rank, then by list. Of the results for one document, the best ranked one with a real
    address is shown; what it lacks is filled in from the others.
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
            "title": chosen.title or next((result.title for result in results if result.title), ""),
            "snippet": chosen.snippet or next((result.snippet for result in results if result.snippet), ""),
            "published_at": next((result.published_at for result in (chosen, *results) if result.published_at), None),
        }
    )
