"""A reader is killed at random moments, with SIGKILL and for real: nothing lost, at most the one in hand twice."""

import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

import pytest

from monitor.search.bundles.bundle import BundleFolder, SearchResultBundle, build_natural_key

TASK, CURSOR = "task-1", "paragraph-1"
QUERIES, ITEMS = 20, 50
BundleOf = Callable[..., SearchResultBundle]


class Readers:
    """Processes that read, one after another, and what they were handed."""

    def __init__(self, starter: subprocess.Popen[str], out: Path) -> None:
        self._starter = starter
        self._out = out

    def live(self, *, until: int, and_s: float = 0) -> bool:
        """One reader, killed so long after it was handed so many results more; False where it had ended before.

        The time has to be random: what is handed on is seen just before it is marked.
        """
        assert self._starter.stdin is not None
        self._starter.stdin.write("\n")
        self._starter.stdin.flush()
        number, wanted = int(self._said()), self.count() + until
        while self.count() < wanted and not self._has_ended():
            time.sleep(0.0002)
        time.sleep(and_s)
        try:
            os.kill(number, signal.SIGKILL)
        except ProcessLookupError:
            assert self._has_ended()
        status = int(self._said())
        assert status in (0, -signal.SIGKILL)
        return status != 0

    def handed(self) -> list[tuple[str, str]]:
        lines = self._out.read_text(encoding="utf-8").splitlines() if self._out.exists() else []
        return [(query_id, source_id) for query_id, source_id in map(str.split, lines)]

    def count(self) -> int:
        return self._out.read_bytes().count(b"\n") if self._out.exists() else 0

    def _said(self) -> str:
        assert self._starter.stdout is not None
        return self._starter.stdout.readline()

    def _has_ended(self) -> bool:
        return bool(select.select([self._starter.stdout], [], [], 0)[0])


@contextmanager
def readers_of(root: Path, out: Path) -> Iterator[Readers]:
    program = Path(__file__).with_name("reading.py")
    with subprocess.Popen(
        [sys.executable, program, root, TASK, CURSOR, out], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as starter:
        try:
            yield Readers(starter, out)
        finally:
            assert starter.stdin is not None
            starter.stdin.close()


def bundles(bundle_of: BundleOf, chance: random.Random) -> dict[str, SearchResultBundle]:
    """Twenty bundles of fifty results; every tenth source stands in several of them."""
    made = {}
    for query in range(1, QUERIES + 1):
        sources = [f"{query:02}{number:014x}" for number in range(ITEMS)]
        sources = [f"{'f' * 8}{chance.randrange(60):08x}" if chance.random() < 0.1 else source for source in sources]
        results = [(source, round(chance.random(), 2)) for source in dict.fromkeys(sources)]
        made[f"q{query}"] = bundle_of(f"q{query}", results)
    return made


def in_order(made: dict[str, SearchResultBundle]) -> list[tuple[str, str]]:
    order = [
        (query_id, item.source_id)
        for query_id in sorted(made, key=build_natural_key)
        for item in made[query_id].list_by_score()
    ]
    seen: dict[str, tuple[str, str]] = {}
    for query_id, source_id in order:
        seen.setdefault(source_id, (query_id, source_id))
    return list(seen.values())


def check_cursor(root: Path, expected: list[tuple[str, str]]) -> None:
    cursor = json.loads((root / TASK / "cursors" / f"{CURSOR}.json").read_text(encoding="utf-8"))
    assert (cursor["last_query_id"], cursor["last_source_id"]) == expected[-1]
    assert cursor["consumed_count"] == len(expected)


def one_reading(folder: Path, bundle_of: BundleOf, chance: random.Random, most_kills: int) -> int:
    """All is read under random kills; gives how many there were."""
    root, out = folder / "bundles", folder / "handed"
    made = bundles(bundle_of, chance)
    for bundle in made.values():
        BundleFolder(root).write(bundle)
    kills = 0
    with readers_of(root, out) as readers:
        while kills < most_kills and readers.live(until=chance.randrange(32), and_s=chance.uniform(0, 0.01)):
            kills += 1
        assert not readers.live(until=2 * QUERIES * ITEMS)
        handed = readers.handed()
    expected = in_order(made)
    in_hand_once = [entry for entry, _ in groupby(handed)]
    assert in_hand_once == expected, "something was lost, out of order, or repeated that was not in hand"
    assert len(handed) <= len(expected) + kills
    check_cursor(root, expected)
    return kills


def read_under_kills(tmp_path: Path, bundle_of: BundleOf, kills: int) -> None:
    chance = random.Random(20261122)  # noqa: S311 -- the same kills each time
    done = reading = 0
    while done < kills:
        reading += 1
        done += one_reading(tmp_path / str(reading), bundle_of, chance, kills - done)


def test_a_reader_that_is_killed_fifty_times_loses_nothing(tmp_path: Path, bundle_of: BundleOf) -> None:
    read_under_kills(tmp_path, bundle_of, 50)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_reader_that_is_killed_a_thousand_times_loses_nothing(tmp_path: Path, bundle_of: BundleOf) -> None:
    read_under_kills(tmp_path, bundle_of, 1000)


def test_bundles_that_come_late_damaged_or_again_are_all_read_under_kills(tmp_path: Path, bundle_of: BundleOf) -> None:
    chance = random.Random(7)  # noqa: S311
    root, out = tmp_path / "bundles", tmp_path / "handed"
    made = bundles(bundle_of, chance)
    folder = BundleFolder(root)
    late = {query_id: made[query_id] for query_id in ("q1", "q4", "q11")}
    for query_id, bundle in made.items():
        if query_id not in late:
            folder.write(bundle)
    whole = (root / TASK / "q9.json").read_bytes()
    (root / TASK / "q9.json").write_bytes(whole[: len(whole) // 2])
    kills = 0
    with readers_of(root, out) as readers:
        for bundle in [*late.values(), made["q9"]]:
            for _ in range(3):
                kills += readers.live(until=chance.randrange(60), and_s=chance.uniform(0, 0.01))
            folder.write(bundle)
        assert not readers.live(until=2 * QUERIES * ITEMS)
        handed = readers.handed()
    counts = Counter(source_id for _, source_id in handed)
    assert counts.keys() == {source_id for _, source_id in in_order(made)}
    assert counts.total() <= len(counts) + kills
    assert kills >= 6
