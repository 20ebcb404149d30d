"""The outside as a run met it, from its records alone."""

from collections import defaultdict
from collections.abc import Sequence

from monitor.domain.evidence import Record
from monitor.domain.sighting import Sighting, Way
from monitor.errors import RecordLost
from monitor.evidence.records import Records
from monitor.ports import Recorder


class ReplayedSites:
    """Shows what a run saw (`ports.Outside`): nothing is fetched, nothing is drawn, and nobody is told to wait.

    An address that was asked more than once shows its sightings in their order, and the last one again after that;
    where the run was interrupted, those of the attempt that asked last.
    """

    def __init__(self, records: Records, rows: Sequence[Record], *, can_draw: bool) -> None:
        self._records = records
        self._rows = list(rows)
        self._can_draw = can_draw
        self._sightings: dict[tuple[str, Way], list[Record]] = defaultdict(list)
        for row in rows:
            latest = self._sightings[row.url, row.way]
            if latest and latest[0].attempt != row.attempt:
                latest.clear()
            latest.append(row)
        self.shown: set[str] = set()

    async def see(self, url: str, way: Way) -> Sighting:
        """The recorded sighting; `RecordLost` for an address that the run did not ask."""
        rows = self._sightings.get((url, way))
        if not rows:
            raise RecordLost(f"The run holds no record of {url} ({way}), and nothing is fetched in its place.")
        row = rows.pop(0) if len(rows) > 1 else rows[0]
        self.shown.add(row.id)
        return await self._records.sighting(row)

    def can_draw(self) -> bool:
        """Whether the run had a browser."""
        return self._can_draw

    def draws_first(self, url: str) -> bool:
        """Whether the run went to the browser at once."""
        return (url, Way.DRAWN) in self._sightings and (url, Way.HTTP) not in self._sightings

    def found_drawn(self, url: str) -> None:
        """What the run found is in its records."""

    def for_run(self, recorder: Recorder | None) -> "ReplayedSites":
        """The same records from their beginning; nothing is recorded again."""
        del recorder
        return ReplayedSites(self._records, self._rows, can_draw=self._can_draw)

    async def close(self) -> None:
        pass
