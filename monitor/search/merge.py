"""Several backends as one: asked at once, and their results brought into one order."""

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from monitor.domain.searching import ProviderMeta, SearchItem, SearchQuery, ToolResult
from monitor.domain.urls import url_key
from monitor.search.provider import Provider

RANK_CONSTANT = 60
"""The constant of reciprocal rank fusion: how little the first places count more than the next (Cormack, 2009)."""


class Merged:
    """web.search over several backends (`ports.WebSearch`). A late or failing one adds an error, no more."""

    def __init__(self, providers: Sequence[Provider]) -> None:
        self._providers = list(providers)

    async def search(self, query: SearchQuery, limit: int) -> ToolResult:
        """The results of all that answered in their time, each document once."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        answers = await asyncio.gather(*(provider.search(query, limit) for provider in self._providers))
        return ToolResult(
            items=fused([answer.items for answer in answers], limit=limit),
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
class _Document:
    """The results that mean one document, and what its places in the lists count together."""

    score: float = 0.0
    results: list[SearchItem] = field(default_factory=list)


def fused(lists: Sequence[Sequence[SearchItem]], *, limit: int) -> list[SearchItem]:
    """One list out of several, by reciprocal rank fusion: score = Σ 1 / (60 + rank), the highest first.

    Documents with the same score keep the order in which they come: rank by rank, each time list by list. Of the
    results for one document, the best placed with a real address is shown; what it does not tell, another may.
    """
    documents: dict[str, _Document] = {}
    for item in sorted((item for items in lists for item in items), key=lambda item: item.rank):
        document = documents.setdefault(url_key(item.source or item.url), _Document())
        document.score += 1 / (RANK_CONSTANT + item.rank)
        document.results.append(item)
    best = sorted(documents.values(), key=lambda document: -document.score)[:limit]
    return [_shown(document.results, rank) for rank, document in enumerate(best, start=1)]


def _shown(results: Sequence[SearchItem], rank: int) -> SearchItem:
    chosen = next((result for result in results if result.source is None), results[0])
    return chosen.model_copy(
        update={
            "rank": rank,
            "title": chosen.title or next((one.title for one in results if one.title), ""),
            "snippet": chosen.snippet or next((one.snippet for one in results if one.snippet), ""),
            "published_at": next((one.published_at for one in (chosen, *results) if one.published_at), None),
        }
    )
