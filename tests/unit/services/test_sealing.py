"""Secrets at rest."""

import base64
import stat
from pathlib import Path

import pytest

from monitor.errors import UsageError
from monitor.services.settings import KEY_FILE, KEY_VARIABLE, SecretBox

FERNET_KEY = base64.urlsafe_b64encode(bytes(range(32))).decode()


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)


def test_the_key_is_made_when_it_is_first_needed_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    encrypted = SecretBox(folder).encrypt("geheim, 秘密")
    assert "geheim" not in encrypted
    assert stat.S_IMODE((folder / KEY_FILE).stat().st_mode) == 0o600
    assert [path.name for path in folder.iterdir()] == [KEY_FILE]
    assert SecretBox(folder).decrypt(encrypted) == "geheim, 秘密"


@pytest.mark.parametrize("key", [FERNET_KEY, "a passphrase that somebody chose"])
def test_the_variable_holds_a_fernet_key_or_a_passphrase(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, key)
    encrypted = SecretBox(tmp_path / "one").encrypt("x")
    assert SecretBox(tmp_path / "other").decrypt(encrypted) == "x"
    assert not (tmp_path / "one").exists()


def test_a_changed_key_says_so_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encrypted = SecretBox(tmp_path).encrypt("x")
    monkeypatch.setenv(KEY_VARIABLE, "another one")
    with pytest.raises(UsageError, match=r"encrypted with another key.*enter it again"):
        SecretBox(tmp_path).decrypt(encrypted)


def test_a_key_file_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    box = SecretBox(tmp_path)
    encrypted = box.encrypt("x")
    (tmp_path / KEY_FILE).chmod(0o640)
    for ask in (lambda: box.encrypt("y"), lambda: box.decrypt(encrypted)):
        with pytest.raises(UsageError, match=r"mode 640.*chmod 600"):
            ask()


def test_a_lost_key_is_not_replaced_by_reading(tmp_path: Path) -> None:
    encrypted = SecretBox(tmp_path).encrypt("x")
    (tmp_path / KEY_FILE).unlink()
    with pytest.raises(UsageError, match="The key is missing"):
        SecretBox(tmp_path).decrypt(encrypted)
    assert not (tmp_path / KEY_FILE).exists()
