from pathlib import Path

import pytest

from monitor.config.secrets import load_secret_files
from monitor.errors import SettingsError


@pytest.mark.parametrize("variable", ["MONITOR_SECRETS_DIR", "CREDENTIALS_DIRECTORY"])
def test_a_file_sets_the_variable_of_its_name(tmp_path: Path, variable: str) -> None:
    (tmp_path / "OPENAI_API_KEY").write_text("sk-1 2\n")
    (tmp_path / "monitor_PGPASSWORD").write_text("p@ss:/word\r\n")  # as systemd names what it loads from a folder
    (tmp_path / "ca.pem").write_text("no secret of ours")
    (tmp_path / "NESTED").mkdir()
    environment = {variable: str(tmp_path)}
    load_secret_files(environment)
    assert environment == {variable: str(tmp_path), "OPENAI_API_KEY": "sk-1 2", "PGPASSWORD": "p@ss:/word"}


def test_a_variable_that_is_set_stands_before_the_file_and_an_empty_one_does_not(tmp_path: Path) -> None:
    for name in ("OPENAI_API_KEY", "BRAVE_API_KEY"):
        (tmp_path / name).write_text("from the file")
    environment = {"MONITOR_SECRETS_DIR": str(tmp_path), "OPENAI_API_KEY": "from outside", "BRAVE_API_KEY": ""}
    load_secret_files(environment)
    assert (environment["OPENAI_API_KEY"], environment["BRAVE_API_KEY"]) == ("from outside", "from the file")


def test_the_folder_that_is_named_first_counts(tmp_path: Path) -> None:
    for folder in ("ours", "systemd"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "KEY").write_text(folder)
    environment = {"MONITOR_SECRETS_DIR": str(tmp_path / "ours"), "CREDENTIALS_DIRECTORY": str(tmp_path / "systemd")}
    load_secret_files(environment)
    assert environment["KEY"] == "ours"


def test_a_folder_that_is_named_and_not_there_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="make the files readable for the user who runs Monitor"):
        load_secret_files({"MONITOR_SECRETS_DIR": str(tmp_path / "nothing")})


def test_a_file_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "KEY").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError):
        load_secret_files({"MONITOR_SECRETS_DIR": str(tmp_path)})


def test_without_a_folder_nothing_is_set() -> None:
    environment = {"PATH": "/bin"}
    load_secret_files(environment)
    assert environment["PATH"] == "/bin"
