"""Which passwords are good enough, and how they are kept."""

import pytest

from monitor.errors import UsageError
from monitor.services.passwords import _DUMMY_HASH, PasswordVerifier, check_password, generate_one_time_password


@pytest.mark.parametrize(
    ("password", "reason"),
    [
        ("elevenchars", "at least 12 characters"),
        ("七个字是不够长的密码", "at least 12 characters"),
        ("x" * 1001, "at most 1000 characters"),
        ("analyst12345", "must not be the name"),
        ("2026-ANALYST-01", "must not be the name"),
        ("123456789012", "first that attackers try"),
        ("PasswordPassword", "first that attackers try"),
        ("aaaaaaaaaaaabbbb", "first that attackers try"),
        ("１２３４５６７８９０１２", "first that attackers try"),
    ],
)
def test_a_password_that_is_easily_guessed_is_refused(password: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        check_password(password, name="analyst")


@pytest.mark.parametrize("password", ["correct horse battery", "床前明月光疑是地上霜举头望明月", "analyst sees far"])
def test_a_long_sentence_is_a_password(password: str) -> None:
    check_password(password, name="analyst")


def test_one_time_passwords_are_good_enough_and_never_the_same() -> None:
    made = {generate_one_time_password() for _ in range(50)}
    assert len(made) == 50
    for password in made:
        check_password(password, name="admin")


async def test_a_password_is_recognised_in_either_width() -> None:
    passwords = PasswordVerifier()
    kept = await passwords.hash_password("correct horse ２０２６")
    assert kept.startswith("$argon2id$")
    assert await passwords.verify(kept, "ｃorrect horse 2026")
    assert not await passwords.verify(kept, "correct horse 2027")


async def test_nobody_has_a_password_and_saying_so_takes_the_same_work() -> None:
    passwords = PasswordVerifier()
    assert not await passwords.verify(None, "")
    kept = await passwords.hash_password("correct horse 2026")
    assert kept.split("$")[:4] == _DUMMY_HASH.split("$")[:4], "compared under other parameters than a real password"
    assert [len(part) for part in kept.split("$")[4:]] == [len(part) for part in _DUMMY_HASH.split("$")[4:]]
