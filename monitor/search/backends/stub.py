"""The backend of a fresh install: no network, the same three results for every query."""

from monitor.search.contract import SearchHit, SearchQuery, SearchResults

_SAMPLE_HITS = tuple(
    SearchHit(
        title=f"Sample result {number}",
        url=f"https://example.com/sample/{number}",
        snippet="Made by the stub, which searches nothing; set search.backend to search the web.",
    )
    for number in (1, 2, 3)
)


class StubBackend:
    name = "stub"

    async def search(self, query: SearchQuery, limit: int) -> SearchResults:
        del query
        return SearchResults(hits=_SAMPLE_HITS[:limit])
