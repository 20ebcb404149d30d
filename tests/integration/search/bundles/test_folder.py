import datetime as dt
import json
import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import settings as limits
from hypothesis import strategies as st

from monitor.errors import WorkFailed
from monitor.search.bundles.bundle import BundleDamaged, BundleFolder, build_natural_key, write_atomically

AWKWARD = [
    "../../etc/passwd",
    "..",
    ".",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "nul\x00byte",
    ".hidden",
    "q%31",
    "查询 一",
    "~",
    "q1.json",
]


@pytest.fixture
def folder(tmp_path: Path) -> BundleFolder:
    return BundleFolder(tmp_path / "bundles")


def test_a_bundle_is_read_as_it_was_written_and_lies_where_the_protocol_says(tmp_path, folder, bundle_of) -> None:
    bundle = bundle_of("q1", [("a" * 16, 0.9), ("b" * 16, 0.25)])
    assert folder.write(bundle) == tmp_path / "bundles" / "task-1" / "q1.json"
    assert folder.read("task-1", "q1") == bundle
    assert list(folder.list_bundles("task-1")) == ["q1"]
    assert folder.list_bundles("another") == {}


@pytest.mark.parametrize("name", AWKWARD)
def test_no_name_leads_out_of_its_folder_or_hides(tmp_path, folder, bundle_of, name: str) -> None:
    for task_id, query_id in ((name, "q1"), ("task-1", name)):
        path = folder.write(bundle_of(query_id, [("a" * 16, 0.9)], task_id=task_id))
        assert path.resolve().parent.parent == (tmp_path / "bundles").resolve()
        assert path.suffix == ".json"
        assert not path.name.startswith(".")
        assert folder.read(task_id, query_id).query_id == query_id
        assert query_id in folder.list_bundles(task_id)
    assert {entry.name for entry in tmp_path.iterdir()} == {"bundles"}


@pytest.mark.parametrize("name", ["x" * 300, "字" * 100, "half \ud800"], ids=["long", "long in bytes", "no text"])
def test_a_name_that_no_file_can_have_is_refused_in_a_sentence(folder, bundle_of, name: str) -> None:
    for ask in (folder.list_bundles, folder.get_cursor_folder, lambda name: folder.read("task-1", name)):
        with pytest.raises(WorkFailed, match="cannot name a bundle") as raised:
            ask(name)
        assert str(raised.value).isascii()


@given(st.lists(st.text(min_size=1, max_size=12), min_size=2, max_size=2, unique=True))
@limits(max_examples=300)
@example(["a/b", "a%2Fb"])
@example([".a", "%2Ea"])
def test_two_names_never_share_a_file(names: list[str]) -> None:
    paths = []
    for name in names:
        try:
            paths.append(BundleFolder(Path("/x")).get_cursor_folder(name))
        except WorkFailed:
            return
    assert paths[0] != paths[1]
    assert all(path.parent.parent == Path("/x") for path in paths)


def test_numbers_in_names_are_in_their_order() -> None:
    names = ["q10", "q2", "q1", "q", "p9", "q02", "q2a", "q2-10", "q2-9", "10", "9", "q" + "9" * 5000, "查2", "查10"]
    assert sorted(names, key=build_natural_key) == [
        "9",
        "10",
        "p9",
        "q",
        "q1",
        "q02",
        "q2",
        "q2-9",
        "q2-10",
        "q2a",
        "q10",
        "q" + "9" * 5000,
        "查2",
        "查10",
    ]


@given(st.text(alphabet="q0123é٣²-", max_size=8), st.text(alphabet="q0123é٣²-", max_size=8))
@limits(max_examples=300)
def test_any_two_different_names_have_an_order(left: str, right: str) -> None:
    below, above = (
        build_natural_key(left) < build_natural_key(right),
        build_natural_key(right) < build_natural_key(left),
    )
    assert below + above == (left != right)


DAMAGES = {
    "empty": (b"", "is damaged"),
    "cut off": (b'{"task_id": "task-1", "query_', "is damaged"),
    "no object": (b"[1, 2]", "does not match its schema"),
    "no text": (b"\xff\xfe\x00", "is damaged"),
    "too deep": (b"[" * 100_000, "is damaged"),
    "no fields": (b"{}", "task_id: Field required"),
    "of a later version": (b'{"$schema": "urn:monitor:search-result-bundle:2"}', "this version reads"),
}


@pytest.mark.parametrize(("content", "words"), DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_bundle_is_told_in_a_sentence(tmp_path, folder, content: bytes, words: str) -> None:
    path = tmp_path / "bundles" / "task-1" / "q1.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(BundleDamaged, match=words) as raised:
        folder.read("task-1", "q1")
    assert "\n" not in str(raised.value)


def test_a_bundle_under_the_name_of_another_query_is_damaged(tmp_path, folder, bundle_of) -> None:
    folder.write(bundle_of("q1", [])).rename(tmp_path / "bundles" / "task-1" / "q2.json")
    with pytest.raises(BundleDamaged, match="belongs to another query"):
        folder.read("task-1", "q2")
    with pytest.raises(BundleDamaged, match="No such file"):
        folder.read("task-1", "q1")


def test_a_bundle_of_another_program_is_read(tmp_path, folder, bundle_of) -> None:
    """Without our key for the schema, with keys of its own, with null for what is not known, with other dates."""
    path = folder.write(bundle_of("q1", [("a" * 16, 0.5)]))
    values = json.loads(path.read_text(encoding="utf-8"))
    del values["$schema"]
    values["trace"] = {"by": "somebody"}
    values["executed_at"] = "2026-02-06T10:00:00+08:00"
    values["results"][0] |= {"snippet": None, "published_at": "2026-02-03T23:30:00-05:00", "error_code": None}
    path.write_text(json.dumps(values), encoding="utf-8")
    bundle = folder.read("task-1", "q1")
    assert bundle.executed_at.isoformat() == "2026-02-06T02:00:00+00:00"
    assert str(bundle.results[0].published_at) == "2026-02-03"
    folder.write(bundle)
    assert "snippet" not in json.loads(path.read_text(encoding="utf-8"))["results"][0]


def test_who_reads_a_bundle_while_it_is_replaced_reads_the_one_before(folder, bundle_of) -> None:
    path = folder.write(bundle_of("q1", [("a" * 16, 0.5)]))
    whole = path.read_bytes()
    with path.open("rb") as before:
        folder.write(bundle_of("q1", [("b" * 16, 0.5)]))
        assert before.read() == whole
    assert folder.read("task-1", "q1").results[0].source_id == "b" * 16


def test_what_was_there_stays_whole_when_a_write_fails(tmp_path, folder, bundle_of, no_file_over) -> None:
    path = folder.write(bundle_of("q1", [("a" * 16, 0.5)]))
    before = path.read_bytes()
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WorkFailed, match="could not be written"):
        write_atomically(tmp_path / "file" / "cursor.json", b"{}")
    with no_file_over(len(before) // 2), pytest.raises(WorkFailed, match="could not be written: File too large"):
        folder.write(bundle_of("q1", [("b" * 16, 0.5)]))
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["q1.json"]


def test_tasks_of_which_nothing_is_new_are_let_go_of(tmp_path, folder, bundle_of) -> None:
    now = dt.datetime(2026, 11, 21, 8, 0, tzinfo=dt.UTC)
    assert folder.remove_before(now) == 0
    for task_id, ages in {"old": (9, 400), "read lately": (9, 0), "searched lately": (0, 9)}.items():
        bundle = folder.write(bundle_of("q1", [], task_id=task_id))
        cursor = folder.get_cursor_folder(task_id) / "p1.json"
        write_atomically(cursor, b"{}")
        for path, age in zip((bundle, cursor), ages, strict=True):
            at = (now - dt.timedelta(days=age)).timestamp()
            os.utime(path, (at, at))
    assert folder.remove_before(now - dt.timedelta(days=8)) == 2
    assert {task_id: list(folder.list_bundles(task_id)) for task_id in ("old", "read lately", "searched lately")} == {
        "old": [],
        "read lately": ["q1"],
        "searched lately": ["q1"],
    }
    assert len(list((tmp_path / "bundles").iterdir())) == 2
