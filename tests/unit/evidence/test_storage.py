from pathlib import Path

import pytest

from monitor.errors import SettingsError, WorkFailed
from monitor.evidence.storage import Storage

PLACE = "evidence/2026/02/03/" + "a" * 64 + ".warc.gz"


@pytest.fixture(params=["folder", "file url", "memory"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    urls = {"folder": f"{tmp_path}/kept", "file url": f"file://{tmp_path}/kept/", "memory": f"memory://{tmp_path.name}"}
    return Storage(urls[request.param])


def test_what_is_kept_is_given_back_replaced_and_removed(storage: Storage) -> None:
    assert storage.places("evidence") == []
    assert not storage.holds(PLACE)
    storage.write(PLACE, b"first")
    storage.write(PLACE, b"second")
    assert (storage.holds(PLACE), storage.read(PLACE), storage.places("evidence")) == (True, b"second", [PLACE])
    assert storage.whereabouts(PLACE).endswith(PLACE)
    storage.remove(PLACE)
    storage.remove(PLACE)
    assert storage.places("evidence") == []
    with pytest.raises(WorkFailed, match="could not read"):
        storage.read(PLACE)


@pytest.mark.parametrize(
    "place", ["../x", "/etc/passwd", "a//b", "a/../b", "A", "a b", "", "evidence/", "s3://x/y", "a\n"]
)
def test_only_plain_places_are_places(storage: Storage, place: str) -> None:
    with pytest.raises(WorkFailed, match="is no place"):
        storage.write(place, b"x")


def test_a_check_leaves_nothing_behind(storage: Storage) -> None:
    assert "keeps and gives back" in storage.check()
    assert storage.places("evidence") == []


def test_a_storage_that_cannot_be_used_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WorkFailed, match="could not write"):
        Storage(str(tmp_path / "file")).check()
    with pytest.raises((SettingsError, WorkFailed), match="nosuchkind"):
        Storage("nosuchkind://bucket").check()


def test_what_an_interrupted_write_leaves_is_found_for_removal(tmp_path: Path) -> None:
    part = tmp_path / "evidence" / "2026" / "02" / "03" / "0123456789abcdef.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"half")
    assert Storage(str(tmp_path)).places("evidence") == ["evidence/2026/02/03/0123456789abcdef.part"]
