"""Stored secrets, encrypted with a key that is not in the database."""

import base64
import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken

from monitor.errors import UsageError

KEY_VARIABLE = "MONITOR_SECRET_KEY"
KEY_FILE = "secret.key"
_KEY_SALT = b"monitor: stored secrets"
_OTHERS_MODE = stat.S_IRWXG | stat.S_IRWXO


class SecretBox:
    """Encrypts and decrypts with Fernet; `UsageError` says what is wrong with a key.

    The key is MONITOR_SECRET_KEY: a Fernet key, or a passphrase from which one is derived. Where it is not set, the
    key is in a file of the data folder that only its owner may read, created with the first secret.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / KEY_FILE
        self._ciphers: dict[str, Fernet] = {}

    def encrypt(self, secret: str) -> str:
        return self._load_cipher(may_create=True).encrypt(secret.encode()).decode()

    def decrypt(self, encrypted: str) -> str:
        """Return the secret; `UsageError` where it was encrypted with another key."""
        try:
            return self._load_cipher(may_create=False).decrypt(encrypted.encode()).decode()
        except (InvalidToken, ValueError):
            raise UsageError("secret.other_key", variable=KEY_VARIABLE, file=str(self._file)) from None

    def _load_cipher(self, *, may_create: bool) -> Fernet:
        given = os.environ.get(KEY_VARIABLE, "").strip()
        if given:
            return self._get_cipher(given)
        if may_create and not self._file.exists():
            self._create_key_file()
        return self._get_cipher(self._read_key_file())

    def _get_cipher(self, text: str) -> Fernet:
        if text not in self._ciphers:
            self._ciphers[text] = Fernet(_derive_key(text))
        return self._ciphers[text]

    def _read_key_file(self) -> str:
        try:
            mode = self._file.stat().st_mode
            if mode & _OTHERS_MODE:
                raise UsageError("secret.key_file_open", file=str(self._file), mode=f"{stat.S_IMODE(mode):o}")
            return self._file.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            raise UsageError("secret.no_key", variable=KEY_VARIABLE, file=str(self._file)) from None
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError("secret.key_file_unreadable", file=str(self._file), reason=str(error)) from None

    def _create_key_file(self) -> None:
        """Write a new key; of several processes that do so at once, the first one wins."""
        part = self._file.with_name(f"{KEY_FILE}.{os.getpid()}.part")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "wb") as opened:
                opened.write(Fernet.generate_key())
                opened.flush()
                os.fsync(opened.fileno())
            with suppress(FileExistsError):
                os.link(part, self._file)
        except OSError as error:
            raise UsageError("secret.key_file_not_written", file=str(self._file), reason=str(error)) from None
        finally:
            part.unlink(missing_ok=True)


def _derive_key(text: str) -> bytes:
    """Return the text if it is a Fernet key, else a key derived slowly, so that a passphrase cannot be guessed."""
    try:
        if len(base64.b64decode(text.encode(), altchars=b"-_", validate=True)) == 32:
            return text.encode()
    except ValueError:
        pass
    made = hashlib.scrypt(text.encode(), salt=_KEY_SALT, n=2**15, r=8, p=1, maxmem=2**26, dklen=32)
    return base64.urlsafe_b64encode(made)
