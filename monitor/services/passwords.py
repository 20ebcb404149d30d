"""Passwords: how they are hashed and verified, which ones are refused, and those that serve once."""

import asyncio
import secrets
import unicodedata

from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from monitor.errors import UsageError

MIN_PASSWORD_CHARS = 12
_MAX_PASSWORD_CHARS = 1000
_MIN_DISTINCT_CHARS = 5

_COMMON_PASSWORDS = """
123456789012 1234567890123 0123456789012 123456123456 qwertyuiop12 qwertyuiop123 1qaz2wsx3edc 1q2w3e4r5t6y
qazwsxedcrfv abcdefghijkl password1234 password12345 passwordpassword p@ssw0rd1234 admin1234567 administrator
administrator1 changemechangeme welcome12345 letmeinletmein iloveyou1234 woaini1314520 woaini5201314
monitormonitor monitor12345 monitor123456
"""

_ONE_TIME_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that could be taken for another
_DUMMY_HASH = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdC1vZi1hLW5vYm9keQ$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
"""Matches no password; comparing with it takes as long as with a real hash."""

_MAX_CONCURRENT_HASHES = 2
_SALT_BYTES, _HASH_BYTES = 16, 32


class PasswordVerifier:
    """Hashes and verifies passwords with argon2 in threads, two at once at most: each takes 19 MiB."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(_MAX_CONCURRENT_HASHES)

    async def hash_password(self, password: str) -> str:
        async with self._slots:
            return await asyncio.to_thread(_hash, password)

    async def verify(self, password_hash: str | None, password: str) -> bool:
        """Whether it is the password; without a hash the answer is no, after the same time."""
        async with self._slots:
            is_same = await asyncio.to_thread(_is_same, password_hash or _DUMMY_HASH, password)
        return is_same and password_hash is not None


def check_password(password: str, *, name: str) -> None:
    text = unicodedata.normalize("NFKC", password)
    plain = text.casefold()
    if len(text) < MIN_PASSWORD_CHARS:
        raise UsageError("password.short", limit=MIN_PASSWORD_CHARS)
    if len(text) > _MAX_PASSWORD_CHARS:
        raise UsageError("password.long", limit=_MAX_PASSWORD_CHARS)
    if name.casefold() in plain and not plain.replace(name.casefold(), "").strip("0123456789 ._-!@#"):
        raise UsageError("password.is_name")
    if plain in _COMMON_PASSWORDS.split() or len(set(plain)) < _MIN_DISTINCT_CHARS:
        raise UsageError("password.common")


def generate_one_time_password() -> str:
    return "-".join("".join(secrets.choice(_ONE_TIME_LETTERS) for _ in range(5)) for _ in range(4))


def _hash(password: str) -> str:
    salt = secrets.token_bytes(_SALT_BYTES)
    argon2 = Argon2id(salt=salt, length=_HASH_BYTES, iterations=2, lanes=1, memory_cost=19456)
    return argon2.derive_phc_encoded(_normalize_password(password))


def _is_same(password_hash: str, password: str) -> bool:
    try:
        Argon2id.verify_phc_encoded(_normalize_password(password), password_hash)
    except InvalidKey:
        return False
    return True


def _normalize_password(password: str) -> bytes:
    return unicodedata.normalize("NFKC", password[:_MAX_PASSWORD_CHARS]).encode("utf-8", "surrogatepass")
