import datetime as dt
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from monitor.errors import WorkFailed
from monitor.search.bundles.bundle import BundleFolder, ItemStatus, build_natural_key
from monitor.search.bundles.reader import BundleReader, ReaderWarningKind

TASK = "task-1"
AT = dt.datetime(2026, 11, 21, 8, 0, tzinfo=dt.UTC)
Handed = tuple[str, str]


@pytest.fixture
def folder(tmp_path: Path) -> BundleFolder:
    return BundleFolder(tmp_path)


@contextmanager
def reading(folder: BundleFolder, **options: Any) -> Iterator[BundleReader]:
    with closing(BundleReader(folder, task_id=TASK, cursor=options.pop("cursor", "p1"), **options)) as reader:
        yield reader


def take(reader: BundleReader, most: int = 10_000) -> list[Handed]:
    handed: list[Handed] = []
    while len(handed) < most and (found := reader.peek()) is not None:
        handed.append((found.query_id, found.item.source_id))
        reader.mark_consumed(found, at=AT)
    return handed


def kinds(reader: BundleReader) -> list[tuple[ReaderWarningKind, str]]:
    return [(trouble.kind, trouble.query_id) for trouble in reader.warnings]


def test_queries_in_natural_order_best_first_each_source_once(folder, bundle_of) -> None:
    folder.write(bundle_of("q10", [("e", 0.9), ("a", 0.8)]))
    folder.write(bundle_of("q2", [("c", 0.1), ("d", 0.7), ("b", 0.7)]))
    folder.write(bundle_of("q1", [("b", 0.2), ("a", 0.6)]))
    with reading(folder) as reader:
        assert take(reader) == [("q1", "a"), ("q1", "b"), ("q2", "d"), ("q2", "c"), ("q10", "e")]
        assert reader.warnings == []


def test_equal_scores_keep_the_rank_of_the_search(folder, bundle_of) -> None:
    folder.write(bundle_of("q1", [("z", 0.5), ("y", 0.5), ("x", 0.5)]))
    with reading(folder) as reader:
        assert [source for _, source in take(reader)] == ["z", "y", "x"]


def test_only_results_that_are_ok_are_handed_on_and_failures_are_logged(folder, bundle_of, caplog) -> None:
    results = [("bad", 0.9, ItemStatus.FAILED), ("off", 0.8, ItemStatus.FILTERED), ("good", 0.1)]
    folder.write(bundle_of("q1", results))
    folder.write(bundle_of("q2", [("bad", 0.3)]))
    with reading(folder) as reader, caplog.at_level("WARNING", logger="monitor"):
        assert take(reader) == [("q1", "good"), ("q2", "bad")]
    logged = [record.msg for record in caplog.records]
    assert [(entry["event"], entry["query"], entry["url"], entry["error"]) for entry in logged] == [
        ("result failed", "q1", "https://example.org/bad", "Timeout")
    ]


def test_what_is_not_marked_is_handed_on_again_and_nothing_else(folder, bundle_of) -> None:
    folder.write(bundle_of("q1", [("a", 0.9), ("b", 0.5), ("c", 0.1)]))
    with reading(folder) as reader:
        take(reader, 1)
        assert reader.peek() == reader.peek()
        assert reader.peek().item.source_id == "b"
    with reading(folder) as reader:
        assert take(reader) == [("q1", "b"), ("q1", "c")]
    with reading(folder) as reader:
        assert reader.peek() is None


def test_all_that_is_left_can_be_taken_and_marked_together(folder, bundle_of, tmp_path) -> None:
    folder.write(bundle_of("q1", [("a", 0.5), ("b", 0.9)]))
    folder.write(bundle_of("q2", [("a", 0.9), ("c", 0.8)]))
    with reading(folder) as reader:
        assert take(reader, 1) == [("q1", "b")]
        assert [entry.item.source_id for entry in reader.list_remaining()] == ["a", "c"]
    with reading(folder) as reader:  # killed before they were marked
        left = reader.list_remaining()
        assert [(entry.query_id, entry.item.source_id) for entry in left] == [("q1", "a"), ("q2", "c")]
        reader.mark_all_consumed(left, at=AT)
        assert reader.peek() is None
        assert reader.list_remaining() == []
    cursor = cursor_file(tmp_path)
    assert (cursor["last_query_id"], cursor["last_source_id"], cursor["consumed_count"]) == ("q2", "c", 3)


def test_what_was_read_round_by_round_is_not_called_late(folder, bundle_of) -> None:
    for number in (1, 2, 3):
        folder.write(bundle_of(f"q{number}", [(f"s{number}", 0.5)]))
        with reading(folder) as reader:
            left = reader.list_remaining()
            assert [entry.item.source_id for entry in left] == [f"s{number}"]
            reader.mark_all_consumed(left, at=AT)
            assert reader.warnings == []


def test_a_reader_that_was_killed_between_journal_and_cursor_has_marked_all(folder, bundle_of, tmp_path) -> None:
    folder.write(bundle_of("q1", [("a", 0.9), ("b", 0.5), ("c", 0.1)]))
    path = tmp_path / TASK / "cursors" / "p1.json"
    with reading(folder) as reader:
        take(reader, 1)
        before = path.read_bytes()
        reader.mark_all_consumed(reader.list_remaining(), at=AT)
    path.write_bytes(before)
    with reading(folder) as reader:
        assert reader.peek() is None
    assert (cursor_file(tmp_path)["last_source_id"], cursor_file(tmp_path)["consumed_count"]) == ("c", 3)


def test_a_result_that_is_marked_twice_counts_once(folder, bundle_of, tmp_path) -> None:
    folder.write(bundle_of("q1", [("a", 0.9)]))
    with reading(folder) as reader:
        found = reader.peek()
        reader.mark_consumed(found, at=AT)
        reader.mark_consumed(found, at=AT)
    assert cursor_file(tmp_path)["consumed_count"] == 1


def cursor_file(root: Path, cursor: str = "p1") -> dict[str, Any]:
    return json.loads((root / TASK / "cursors" / f"{cursor}.json").read_text(encoding="utf-8"))


def test_the_cursor_is_the_protocols(folder, bundle_of, tmp_path) -> None:
    folder.write(bundle_of("q2", [("a", 0.9), ("b", 0.5)]))
    with reading(folder) as reader:
        take(reader)
    assert cursor_file(tmp_path) == {
        "$schema": "urn:monitor:search-read-cursor:1",
        "task_id": TASK,
        "last_query_id": "q2",
        "last_source_id": "b",
        "consumed_count": 2,
        "updated_at": "2026-11-21T08:00:00Z",
    }


def test_a_bundle_that_comes_late_is_read_after_all_that_is_in_order_and_reported(folder, bundle_of) -> None:
    folder.write(bundle_of("q2", [("a", 0.9), ("b", 0.5)]))
    folder.write(bundle_of("q4", [("d", 0.9)]))
    with reading(folder, query_ids=["q1", "q2", "q3", "q4"]) as reader:
        assert take(reader, 1) == [("q2", "a")]
        folder.write(bundle_of("q1", [("x", 0.9), ("a", 0.8), ("y", 0.1)]))
        folder.write(bundle_of("q3", [("c", 0.1)]))
        assert take(reader, 4) == [("q2", "b"), ("q3", "c"), ("q4", "d"), ("q1", "x")]
        assert kinds(reader) == [(ReaderWarningKind.LATE, "q1")]
        assert reader.missing_query_ids == []
    with reading(folder, query_ids=["q1", "q2", "q3", "q4"]) as reader:
        assert take(reader) == [("q1", "y")]


def test_at_the_end_the_reader_waits_for_what_it_was_told_of(folder, bundle_of) -> None:
    folder.write(bundle_of("q1", [("a", 0.9)]))
    with reading(folder, query_ids=["q10", "q2", "q1"]) as reader:
        assert take(reader) == [("q1", "a")]
        assert reader.missing_query_ids == ["q2", "q10"]
        folder.write(bundle_of("q2", [("b", 0.9)]))
        folder.write(bundle_of("q3", [("c", 0.9)]))
        assert take(reader) == [("q2", "b")]
        assert reader.missing_query_ids == ["q10"]
        assert reader.warnings == []


def test_a_damaged_bundle_is_reported_once_stops_nothing_and_is_read_when_it_was_mended(folder, bundle_of) -> None:
    whole = bundle_of("q1", [("a", 0.9)])
    path = folder.write(whole)
    path.write_bytes(path.read_bytes()[:-40])
    folder.write(bundle_of("q2", [("b", 0.9)]))
    with reading(folder, query_ids=["q1", "q2"]) as reader:
        assert take(reader) == [("q2", "b")]
        assert reader.peek() is None
        assert kinds(reader) == [(ReaderWarningKind.DAMAGED, "q1")]
        assert reader.missing_query_ids == ["q1"]
        folder.write(whole)
        assert take(reader) == [("q1", "a")]
        assert reader.missing_query_ids == []


def test_a_bundle_that_is_written_again_gives_only_what_is_new_in_it(folder, bundle_of) -> None:
    folder.write(bundle_of("q1", [("a", 0.9), ("b", 0.5)]))
    with reading(folder) as reader:
        take(reader)
        folder.write(bundle_of("q1", [("c", 0.7), ("a", 0.1), ("b", 0.9)]))
        assert take(reader) == [("q1", "c")]


def test_each_cursor_has_its_own_way_through_its_own_queries(folder, bundle_of) -> None:
    folder.write(bundle_of("q1", [("a", 0.9)]))
    folder.write(bundle_of("q2", [("b", 0.9), ("a", 0.5)]))
    with reading(folder, cursor="p1", query_ids=["q1"]) as one, reading(folder, cursor="p2", query_ids=["q2"]) as two:
        assert take(one) == [("q1", "a")]
        assert take(two) == [("q2", "b"), ("q2", "a")]
    with reading(folder, cursor="p3", query_ids=[]) as none:
        assert none.peek() is None


def test_two_readers_under_one_cursor_are_refused(folder) -> None:
    with reading(folder), pytest.raises(WorkFailed, match="Another process is reading under the cursor p1"):
        BundleReader(folder, task_id=TASK, cursor="p1")
    with reading(folder) as reader:
        assert reader.peek() is None


Spoil = Callable[[Path, Path], Any]
SPOILED: dict[str, tuple[Spoil, list[str]]] = {
    "killed before the journal followed the cursor": (
        lambda _, journal: journal.write_bytes(b"".join(journal.read_bytes().splitlines(True)[:-1])),
        ["c", "d"],
    ),
    "the journal's last line cut off": (lambda _, journal: journal.write_bytes(journal.read_bytes()[:-5]), ["c", "d"]),
    "the journal lost": (lambda _, journal: journal.unlink(), ["c", "d"]),
    "the cursor lost": (lambda cursor, _: cursor.unlink(), ["c", "d"]),
    "the cursor damaged": (lambda cursor, _: cursor.write_bytes(b'{"task_id"'), ["c", "d"]),
    "the cursor one behind": (
        lambda cursor, _: cursor.write_text(
            json.dumps({**json.loads(cursor.read_text()), "last_source_id": "a", "consumed_count": 1})
        ),
        ["c", "d"],
    ),
    "both damaged": (
        lambda cursor, journal: [file.write_bytes(b"no line") for file in (cursor, journal)],
        ["a", "b", "c", "d"],
    ),
}


@pytest.mark.parametrize(("spoil", "left"), SPOILED.values(), ids=SPOILED.keys())
def test_whatever_became_of_cursor_and_journal_nothing_is_lost(
    folder, bundle_of, tmp_path, spoil: Spoil, left: Sequence[str]
) -> None:
    folder.write(bundle_of("q1", [("a", 0.9), ("b", 0.5), ("c", 0.1)]))
    folder.write(bundle_of("q2", [("d", 0.9)]))
    with reading(folder) as reader:
        take(reader, 2)
    cursors = tmp_path / TASK / "cursors"
    spoil(cursors / "p1.json", cursors / "p1.journal")
    with reading(folder) as reader:
        if "a" not in left:
            assert (cursor_file(tmp_path)["last_source_id"], cursor_file(tmp_path)["consumed_count"]) == ("b", 2)
        assert [source for _, source in take(reader)] == left
    assert (cursor_file(tmp_path)["last_source_id"], cursor_file(tmp_path)["consumed_count"]) == ("d", 4)
    with reading(folder) as reader:
        assert reader.peek() is None


def test_a_disk_that_was_full_for_a_while_costs_nothing(folder, bundle_of, tmp_path, no_file_over) -> None:
    folder.write(bundle_of("q1", [(f"{number:016x}", 1 - number / 100) for number in range(40)]))
    journal = tmp_path / TASK / "cursors" / "p1.journal"
    with reading(folder) as reader:
        take(reader, 30)
        with no_file_over(journal.stat().st_size + 10), pytest.raises(WorkFailed, match="File too large"):
            take(reader, 1)
        assert take(reader, 5) == [("q1", f"{number:016x}") for number in range(30, 35)]
    with reading(folder) as reader:
        assert take(reader) == [("q1", f"{number:016x}") for number in range(35, 40)]
    assert cursor_file(tmp_path)["consumed_count"] == 40


@pytest.mark.parametrize(("source", "left"), [("c", ["d", "e"]), ("gone", ["c", "d", "e"])])
def test_a_cursor_of_another_program_is_gone_on_from(folder, bundle_of, tmp_path, source: str, left: list[str]) -> None:
    folder.write(bundle_of("q1", [("a", 0.9), ("b", 0.5)]))
    folder.write(bundle_of("q2", [("c", 0.9), ("d", 0.5)]))
    folder.write(bundle_of("q10", [("e", 0.9), ("a", 0.5)]))
    cursor = {"task_id": TASK, "last_query_id": "q2", "last_source_id": source, "consumed_count": 3}
    path = tmp_path / TASK / "cursors" / "p1.json"
    path.parent.mkdir()
    path.write_text(json.dumps({**cursor, "updated_at": "2026-02-06T10:00:00Z"}), encoding="utf-8")
    with reading(folder) as reader:
        assert kinds(reader) == [(ReaderWarningKind.CURSOR, "")]
        assert [found for _, found in take(reader)] == left


def remaining_by_plain_json(root: Path, cursor: dict[str, Any] | None) -> list[Handed]:
    """What is left, read as somebody would who has the protocol and no program of ours."""

    def number(path: Path) -> int:
        return int(path.stem.removeprefix("q"))

    order = []
    for path in sorted((root / TASK).glob("*.json"), key=number):
        bundle = json.loads(path.read_text(encoding="utf-8"))
        results = [entry for entry in bundle["results"] if entry["status"] == "ok"]
        results.sort(key=lambda entry: entry["score_final"], reverse=True)
        order += [(bundle["query_id"], result["source_id"]) for result in results]
    place = order.index((cursor["last_query_id"], cursor["last_source_id"])) + 1 if cursor else 0
    seen = {source for _, source in order[:place]}
    return [order[at] for at in range(place, len(order)) if order[at][1] not in seen | {s for _, s in order[place:at]}]


def test_a_plain_script_knows_by_the_cursor_what_is_left(folder, bundle_of, tmp_path) -> None:
    for query in (1, 2, 3, 10, 11):
        folder.write(bundle_of(f"q{query}", [(f"{(query * n) % 13:016x}", 1 - n / 50) for n in range(8)]))
    cursor = None
    expected = remaining_by_plain_json(tmp_path, cursor)
    assert len(expected) == 13
    for _ in range(len(expected)):
        with reading(folder) as reader:
            take(reader, 1)
        expected = expected[1:]
        cursor = cursor_file(tmp_path)
        assert remaining_by_plain_json(tmp_path, cursor) == expected
    with reading(folder) as reader:
        assert reader.peek() is None


SOURCES = st.sampled_from([f"{number:016x}" for number in range(12)])
RESULTS = st.lists(st.tuples(SOURCES, st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.sampled_from(ItemStatus)), max_size=6)
QUERIES = st.dictionaries(st.sampled_from(["q1", "q2", "q3", "q10", "q20", "a/b"]), RESULTS, min_size=1)
ACTS = st.lists(st.tuples(st.sampled_from(["write", "take", "die", "spoil"]), st.integers(0, 4)), max_size=12)


@given(QUERIES, ACTS)
@limits(max_examples=60)
def test_in_whatever_order_bundles_come_and_readers_die_all_is_handed_on(
    bundle_of, queries: dict[str, list[tuple[str, float, ItemStatus]]], acts: list[tuple[str, int]]
) -> None:
    made = {query_id: bundle_of(query_id, results) for query_id, results in queries.items()}
    waiting = list(made.values())
    with tempfile.TemporaryDirectory() as root:
        folder = BundleFolder(Path(root))
        handed: list[Handed] = []
        deaths = 0
        reader = BundleReader(folder, task_id=TASK, cursor="p1")
        for act, number in [*acts, *[("write", 0)] * len(waiting)]:
            if act == "write" and waiting:
                folder.write(waiting.pop(number % len(waiting)))
            elif act == "take":
                handed += take(reader, number)
            elif act == "die":
                if (found := reader.peek()) is not None:  # handed on, and killed before it was marked
                    handed.append((found.query_id, found.item.source_id))
                    deaths += 1
                reader.close()
                reader = BundleReader(folder, task_id=TASK, cursor="p1")
            elif act == "spoil" and waiting:
                path = folder.write(waiting[number % len(waiting)])
                path.write_bytes(path.read_bytes()[: -10 * (number + 1)])
        handed += take(reader)
        assert reader.peek() is None
        reader.close()
        wanted = {item.source_id for bundle in made.values() for item in bundle.results if item.status is ItemStatus.OK}
        sources = [source for _, source in handed]
        assert set(sources) == wanted
        assert len(sources) <= len(wanted) + deaths


@given(QUERIES)
@limits(max_examples=50)
def test_what_is_there_from_the_beginning_comes_in_the_protocols_order(
    bundle_of, queries: dict[str, list[tuple[str, float, ItemStatus]]]
) -> None:
    expected: dict[str, Handed] = {}
    for query_id in sorted(queries, key=build_natural_key):
        best_first = sorted(queries[query_id], key=lambda result: -result[1])
        for source, _, status in best_first:
            if status is ItemStatus.OK:
                expected.setdefault(source, (query_id, source))
    with tempfile.TemporaryDirectory() as root:
        folder = BundleFolder(Path(root))
        for query_id, results in queries.items():
            folder.write(bundle_of(query_id, results))
        with reading(folder) as reader:
            assert take(reader) == list(expected.values())
