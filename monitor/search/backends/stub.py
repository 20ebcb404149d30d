"""The backend of a fresh install: no network, the same few results for everything."""

from monitor.domain.searching import Findings, SearchHit, SearchQuery

_HITS = tuple(
    SearchHit(
        title=f"Sample result {number}",
        url=f"https://example.com/sample/{number}",
        snippet="Made by the stub, which searches nothing; set search.backend to search the web.",
    )
    for number in (1, 2, 3)
)


class StubBackend:
    name = "stub"

    async def search(self, query: SearchQuery, limit: int) -> Findings:
        """The first of three results that are always the same."""
        del query
        return Findings(hits=_HITS[:limit])
