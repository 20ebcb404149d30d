import datetime as dt
from pathlib import Path

from monitor.fetch.transport import RENDERED_FOLDERS_FILE, RenderedFolders

TODAY = dt.date(2026, 11, 21)
URL = "https://bureau.example/app/list.html"


def test_a_finding_holds_for_its_folder_and_not_for_the_whole_site() -> None:
    folders = RenderedFolders()
    folders.add(URL, TODAY)
    assert folders.contains("https://bureau.example/app/other.html?page=2", TODAY)
    assert not folders.contains("https://bureau.example/news/list.html", TODAY)


def test_a_finding_outlives_the_process_and_grows_old(tmp_path: Path) -> None:
    RenderedFolders(tmp_path / "cache").add(URL, TODAY)
    later = RenderedFolders(tmp_path / "cache")
    assert later.contains(URL, TODAY + dt.timedelta(days=30))
    assert not later.contains(URL, TODAY + dt.timedelta(days=31))
    later.add(URL, TODAY + dt.timedelta(days=31))
    assert RenderedFolders(tmp_path / "cache").contains(URL, TODAY + dt.timedelta(days=60))


def test_a_damaged_file_is_read_as_far_as_it_makes_sense(tmp_path: Path) -> None:
    (tmp_path / RENDERED_FOLDERS_FILE).write_bytes(
        b"\xff\xfe\n2026-13-99\tx\n2026-11-20\tbureau.example/app\nhalf a li"
    )
    assert RenderedFolders(tmp_path).contains(URL, TODAY)


def test_a_folder_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    folders = RenderedFolders(tmp_path / "file")
    folders.add(URL, TODAY)
    assert folders.contains(URL, TODAY)
