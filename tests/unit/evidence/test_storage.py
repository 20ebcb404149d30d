from pathlib import Path

import pytest

from monitor.errors import SettingsError, WorkFailed
from monitor.evidence.storage import FileStorage
from monitor.i18n.catalogue import render

PLACE = "evidence/2026/02/03/" + "a" * 64 + ".warc.gz"


@pytest.fixture(params=["folder", "file url", "memory"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> FileStorage:
    urls = {"folder": f"{tmp_path}/kept", "file url": f"file://{tmp_path}/kept/", "memory": f"memory://{tmp_path.name}"}
    return FileStorage(urls[request.param])


def test_what_is_kept_is_given_back_replaced_and_removed(storage: FileStorage) -> None:
    assert storage.list_locations("evidence") == []
    assert not storage.exists(PLACE)
    storage.write(PLACE, b"first")
    storage.write(PLACE, b"second")
    assert (storage.exists(PLACE), storage.read(PLACE), storage.list_locations("evidence")) == (
        True,
        b"second",
        [PLACE],
    )
    assert storage.get_display_path(PLACE).endswith(PLACE)
    storage.remove(PLACE)
    storage.remove(PLACE)
    assert storage.list_locations("evidence") == []
    with pytest.raises(WorkFailed, match="could not read"):
        storage.read(PLACE)


@pytest.mark.parametrize(
    "place", ["../x", "/etc/passwd", "a//b", "a/../b", "A", "a b", "", "evidence/", "s3://x/y", "a\n"]
)
def test_only_plain_places_are_places(storage: FileStorage, place: str) -> None:
    with pytest.raises(WorkFailed, match="is no place"):
        storage.write(place, b"x")


def test_a_check_leaves_nothing_behind(storage: FileStorage) -> None:
    assert "stores and returns data" in render(storage.check(), "en")
    assert storage.list_locations("evidence") == []


def test_a_storage_that_cannot_be_used_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WorkFailed, match="could not write"):
        FileStorage(str(tmp_path / "file")).check()
    with pytest.raises((SettingsError, WorkFailed), match="nosuchkind"):
        FileStorage("nosuchkind://bucket").check()


def test_what_an_interrupted_write_leaves_is_found_for_removal(tmp_path: Path) -> None:
    part = tmp_path / "evidence" / "2026" / "02" / "03" / "0123456789abcdef.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"half")
    assert FileStorage(str(tmp_path)).list_locations("evidence") == ["evidence/2026/02/03/0123456789abcdef.part"]
