"""Secrets at rest: encrypted with a key that does not lie in the database."""

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
    """Encrypts and decrypts (Fernet).

    The key is MONITOR_SECRET_KEY: a Fernet key as it stands, anything else as a passphrase that a key is made of.
    Where it is not set, the key lies in the data folder, in a file that only its owner may read, made when the first
    secret is kept. `UsageError` says in one sentence what is wrong with a key.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / KEY_FILE
        self._ciphers: dict[str, Fernet] = {}

    def encrypt(self, secret: str) -> str:
        return self._load_cipher(may_create=True).encrypt(secret.encode()).decode()

    def decrypt(self, encrypted: str) -> str:
        """The secret again; `UsageError` where the key is not the one that it was encrypted with."""
        try:
            return self._load_cipher(may_create=False).decrypt(encrypted.encode()).decode()
        except (InvalidToken, ValueError):
            raise UsageError(
                f"It was encrypted with another key: give back the earlier {KEY_VARIABLE} or {self._file}, "
                "or enter it anew."
            ) from None

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
                raise UsageError(
                    f"The key file {self._file} can be read by others (mode {stat.S_IMODE(mode):o}) and is not used: "
                    f"`chmod 600 {self._file}`."
                )
            return self._file.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            raise UsageError(
                f"The key is not there: set {KEY_VARIABLE} or put {self._file} back, or enter the secret anew."
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"The key file {self._file} cannot be read ({error}).") from None

    def _create_key_file(self) -> None:
        """Write a new key; of several processes that do so at once, the first one's stays."""
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
            raise UsageError(f"The key file {self._file} cannot be written ({error}).") from None
        finally:
            part.unlink(missing_ok=True)


def _derive_key(text: str) -> bytes:
    """The text where it is a Fernet key, else a key made of it, slowly, so that a passphrase cannot be guessed."""
    try:
        if len(base64.b64decode(text.encode(), altchars=b"-_", validate=True)) == 32:
            return text.encode()
    except ValueError:
        pass
    made = hashlib.scrypt(text.encode(), salt=_KEY_SALT, n=2**15, r=8, p=1, maxmem=2**26, dklen=32)
    return base64.urlsafe_b64encode(made)
