"""The searches of `query` sources: each is made once for its run, and kept as a bundle, from which the run reads it."""

import asyncio
from collections.abc import Callable

from monitor.app.searching import Gathering
from monitor.domain.searching import MAX_LIMIT, SearchError, SearchQuery
from monitor.errors import RecordLost
from monitor.ports import Clock
from monitor.retrieval.folder import BundleDamaged, BundleFolder
from monitor.retrieval.packing import pack
from monitor.retrieval.scoring import Scoring
from monitor.store import Store
from monitor.sweep.query import Results, address_of

_INTENT = "standing"


class StandingSearch:
    """Makes the searches of runs. `gather` gives the search whose results may become items."""

    def __init__(
        self, *, gather: Callable[[], Gathering], folder: BundleFolder, new_scoring: Callable[[], Scoring], clock: Clock
    ) -> None:
        self._gather = gather
        self._folder = folder
        self._new_scoring = new_scoring
        self._clock = clock

    def of_run(self, run_id: str, *, is_trial: bool) -> "RunSearch":
        """The searches of one run; those of a trial are not kept."""
        return RunSearch(self._gather, None if is_trial else self._folder, self._new_scoring(), self._clock, run_id)

    def of_record(self, run_id: str, store: Store) -> "RecordedSearch":
        """The searches of an earlier run as they were answered then."""
        return RecordedSearch(self._folder, store, run_id)


class RunSearch:
    """Answers the queries of a run that is under way (`sweep.query.QueryResults`)."""

    def __init__(
        self,
        gather: Callable[[], Gathering],
        folder: BundleFolder | None,
        scoring: Scoring,
        clock: Clock,
        run_id: str,
    ) -> None:
        self._gather = gather
        self._folder = folder
        self._scoring = scoring
        self._clock = clock
        self._run_id = run_id

    async def of(self, query_id: str, query: SearchQuery) -> Results:
        """What came of the query: what this run found before it was interrupted, or finds now."""
        if self._folder is not None:
            try:
                return Results(bundle=await asyncio.to_thread(self._folder.read, self._run_id, query_id))
            except BundleDamaged:
                pass  # there is none yet, or none that can be read: the search is made, and its bundle put in place
        gathering = self._gather()
        answer = await gathering.search.search(query, MAX_LIMIT)
        if answer.errors and not answer.items:
            first, *others = answer.errors
            return Results(notes=[*gathering.notes, *map(_told, others)], error=first)
        bundle = pack(
            answer,
            task_id=self._run_id,
            query_id=query_id,
            query=query,
            intent=_INTENT,
            scoring=self._scoring,
            executed_at=self._clock.now(),
        )
        if self._folder is not None:
            await asyncio.to_thread(self._folder.write, bundle)
        return Results(bundle=bundle, notes=[*gathering.notes, *map(_told, answer.errors)])


class RecordedSearch:
    """Answers the queries of an earlier run from its bundles (`sweep.query.QueryResults`)."""

    def __init__(self, folder: BundleFolder, store: Store, run_id: str) -> None:
        self._folder = folder
        self._store = store
        self._run_id = run_id

    async def of(self, query_id: str, query: SearchQuery) -> Results:
        """What came of the query then; `RecordLost` where that was not kept, or a search that failed."""
        try:
            bundle = await asyncio.to_thread(self._folder.read, self._run_id, query_id)
        except BundleDamaged as damage:
            raise RecordLost(f"The search for {query.text!r} cannot be done again from its record: {damage}") from None
        return Results(bundle=bundle, notes=await self._notes(query))

    async def _notes(self, query: SearchQuery) -> list[str]:
        """What the run said about this search."""
        return [
            fallback.reason
            for fallback in await self._store.runs.fallbacks(self._run_id)
            if fallback.where == address_of(query.text)
        ]


def _told(error: SearchError) -> str:
    return f"{error.type}: {error.message}"
