"""What a `database_url` means, and that no part of its password is ever shown."""

import pytest

from monitor.db.engines import DatabaseAddress
from monitor.errors import DatabaseError

PASSWORDS = ["p@ss", "@@", "p#s@s", "p%40ss", "p:ss", "p/ss", "a@b@c", "ü@密码"]


@pytest.mark.parametrize("password", PASSWORDS)
def test_a_password_may_hold_signs_of_a_url(password: str) -> None:
    address = DatabaseAddress.parse(f"postgresql://analyst:{password}@db.example:5433/monitor")
    assert (address.url.username, address.url.host, address.url.port) == ("analyst", "db.example", 5433)
    assert address.url.password == password.replace("%40", "@")
    assert address.redacted_url == "postgresql://analyst:***@db.example:5433/monitor"
    assert DatabaseAddress.parse(address.full_url) == address


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://analyst:seCret@12:34@db.example/monitor",
        "postgresql://analyst:seCret@x/y@db.example/monitor",
        "postgresql://analyst:seCret@@/monitor",
    ],
)
def test_where_a_password_cannot_be_told_from_the_rest_the_error_says_how_to_write_it(url: str) -> None:
    with pytest.raises(DatabaseError, match="%40") as raised:
        DatabaseAddress.parse(url)
    assert "seCret" not in str(raised.value)
