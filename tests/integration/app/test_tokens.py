"""Tokens of programs: what they may do, for how long, and whose they are."""

import asyncio
import datetime as dt
from typing import Any

import pytest

from monitor.app.people import PersonDesk
from monitor.app.tokens import Maker, TokenDesk
from monitor.domain.words import Role
from monitor.errors import Conflict, NotFound, UsageError
from monitor.store import Store


@pytest.fixture
def tokens(either_store: Store, turned_clock: Any) -> TokenDesk:
    return TokenDesk(store=either_store, clock=turned_clock)


@pytest.fixture
def people(either_store: Store, turned_clock: Any) -> PersonDesk:
    return PersonDesk(store=either_store, clock=turned_clock)


async def test_a_token_is_known_until_it_expires_or_is_revoked(tokens: TokenDesk, turned_clock: Any) -> None:
    short = await tokens.make("short", "reader", days=1)
    long = await tokens.make("long", "editor", scopes=["run", "read"])
    found = await tokens.of(long)
    assert found is not None
    assert (found.name, found.role, found.scopes, found.created_by) == ("long", Role.EDITOR, ["read", "run"], "")
    assert await tokens.of(short) is not None
    turned_clock.turn(days=1)
    assert await tokens.of(short) is None
    assert await tokens.of(long) is not None
    await tokens.revoke("long")
    assert await tokens.of(long) is None
    with pytest.raises(NotFound):
        await tokens.revoke("long")


async def test_the_last_use_is_written_at_most_once_a_minute(tokens: TokenDesk, turned_clock: Any) -> None:
    token, begun = await tokens.make("a", "reader"), turned_clock.now()
    for seconds, written in ((0, 0), (59, 0), (1, 60)):
        turned_clock.turn(seconds=seconds)
        await tokens.of(token)
        assert (await tokens.all())[0].last_used_at == begun + dt.timedelta(seconds=written)


async def test_nobody_makes_a_token_that_may_do_more_than_they(tokens: TokenDesk) -> None:
    editor = Maker("e", Role.EDITOR)
    with pytest.raises(UsageError, match="cannot have the role admin"):
        await tokens.make("x", "admin", by=editor)
    limited = Maker("t", Role.ADMIN, frozenset({"admin", "read"}))
    for scopes in ([], ["read", "write"]):
        with pytest.raises(UsageError, match="cannot have others"):
            await tokens.make("x", "reader", scopes=scopes, by=limited)
    await tokens.make("x", "admin", scopes=["read"], by=limited)


async def test_a_token_goes_down_with_the_role_of_its_maker_and_out_with_them(
    tokens: TokenDesk, people: PersonDesk
) -> None:
    for name in ("boss", "deputy"):
        await people.add(name, Role.ADMIN)
    token = await tokens.make("t", "admin", by=Maker("deputy", Role.ADMIN))
    child = await tokens.make("child", "admin", by=Maker("t", Role.ADMIN))
    await people.set_role("deputy", "reader")
    for one in (token, child):
        found = await tokens.of(one)
        assert found is not None
        assert found.role is Role.READER
    await people.shut_out("deputy")
    assert [await tokens.of(token), await tokens.of(child)] == [None, None]
    await people.let_in("deputy")
    assert await tokens.of(token) is not None


async def test_a_name_is_that_of_one_person_or_one_token(tokens: TokenDesk, people: PersonDesk) -> None:
    await people.add("anna", Role.READER)
    with pytest.raises(Conflict):
        await tokens.make("anna", "reader")
    await tokens.make("robot", "reader")
    with pytest.raises(Conflict):
        await people.add("Robot", Role.READER)
    with pytest.raises(Conflict):
        await tokens.make("robot", "reader", by=Maker("anna", Role.READER))
    assert await tokens.make("robot", "editor")
    assert [token.role for token in await tokens.all()] == [Role.EDITOR]


async def test_a_person_revokes_only_their_own(tokens: TokenDesk) -> None:
    await tokens.make("a", "reader", by=Maker("anna", Role.READER))
    with pytest.raises(NotFound):
        await tokens.revoke("a", of="bert")
    assert [token.name for token in await tokens.all(of="anna")] == ["a"]
    assert await tokens.all(of="bert") == []
    assert (await tokens.revoke("a", of="anna")).name == "a"


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"name": "a b", "role": "reader"}, "no name"),
        ({"name": "a", "role": "king"}, "no role"),
        ({"name": "a", "role": "reader", "scopes": ["fly"]}, "no scope"),
        ({"name": "a", "role": "reader", "days": 0}, "1 to 3650 days"),
    ],
)
async def test_a_token_that_cannot_be_is_refused(tokens: TokenDesk, asked: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        await tokens.make(**asked)


async def test_two_who_ask_for_one_name_at_once_get_one_token(tokens: TokenDesk) -> None:
    by = Maker("anna", Role.READER)
    made = await asyncio.gather(*(tokens.make("a", "reader", by=by) for _ in range(4)), return_exceptions=True)
    assert sum(isinstance(one, str) for one in made) == 1
    assert sum(isinstance(one, Conflict) for one in made) == 3
