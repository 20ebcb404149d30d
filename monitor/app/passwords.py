"""Passwords: which are good enough, and how they are kept (decision 0037)."""

import asyncio
import secrets
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

from monitor.errors import UsageError

if TYPE_CHECKING:
    from argon2 import PasswordHasher

MIN_CHARS = 12
_MAX_CHARS = 1000
_MIN_DIFFERENT = 5
_COMMONEST = frozenset(
    {
        "123456789012",
        "1234567890123",
        "0123456789012",
        "123456123456",
        "qwertyuiop12",
        "qwertyuiop123",
        "1qaz2wsx3edc",
        "1q2w3e4r5t6y",
        "qazwsxedcrfv",
        "abcdefghijkl",
        "password1234",
        "password12345",
        "passwordpassword",
        "p@ssw0rd1234",
        "admin1234567",
        "administrator",
        "administrator1",
        "changemechangeme",
        "welcome12345",
        "letmeinletmein",
        "iloveyou1234",
        "woaini1314520",
        "woaini5201314",
        "monitormonitor",
        "monitor12345",
        "monitor123456",
    }
)
_ONE_TIME_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that could be taken for another
_NOBODY = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdC1vZi1hLW5vYm9keQ$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
"""What no password gives; to compare with it takes as long as with somebody's."""

_AT_ONCE = 2


class Passwords:
    """Makes and compares argon2 hashes in threads, two at once at most: each takes 19 MiB for a while."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def hashed(self, password: str) -> str:
        """What is kept of a password."""
        async with self._places:
            return await asyncio.to_thread(_hasher().hash, _folded(password))

    async def is_right(self, kept: str | None, password: str) -> bool:
        """Whether it is the password; where nothing is kept, the answer is no and takes as long."""
        async with self._places:
            is_same = await asyncio.to_thread(_is_same, kept or _NOBODY, password)
        return is_same and kept is not None


def check_password(password: str, *, name: str) -> None:
    """`UsageError` where a new password is too easily guessed."""
    text = unicodedata.normalize("NFKC", password)
    plain = text.casefold()
    if len(text) < MIN_CHARS:
        raise UsageError(f"A password has {MIN_CHARS} characters or more.")
    if len(text) > _MAX_CHARS:
        raise UsageError(f"A password has {_MAX_CHARS} characters at most.")
    if name.casefold() in plain and not plain.replace(name.casefold(), "").strip("0123456789 ._-!@#"):
        raise UsageError("The password must not be the name.")
    if plain in _COMMONEST or len(set(plain)) < _MIN_DIFFERENT:
        raise UsageError("That password is among the first that are tried: take another.")


def one_time_password() -> str:
    """A password that is read from one screen and typed at another: four groups of five."""
    groups = ("".join(secrets.choice(_ONE_TIME_LETTERS) for _ in range(5)) for _ in range(4))
    return "-".join(groups)


def _is_same(kept: str, password: str) -> bool:
    from argon2.exceptions import VerifyMismatchError

    try:
        return _hasher().verify(kept, _folded(password))
    except VerifyMismatchError:
        return False


@cache
def _hasher() -> "PasswordHasher":
    from argon2 import PasswordHasher  # imported when somebody signs in: it takes a while

    return PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1)


def _folded(password: str) -> bytes:
    """One text for what an input method may write in two widths."""
    return unicodedata.normalize("NFKC", password[:_MAX_CHARS]).encode("utf-8", "surrogatepass")
