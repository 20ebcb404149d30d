"""Tokens of programs: what they may do, for how long, and whose they are."""

import asyncio
import datetime as dt
from typing import Any

import pytest

from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.errors import Conflict, NotFound, UsageError
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.services.people import PeopleService
from monitor.services.teams import TeamService
from monitor.services.tokens import DailyLimitReached, TokenLimits, TokenService, may_be_used_from
from monitor.vocabulary import Role


@pytest.fixture
def tokens(either_store: Store, turned_clock: Any) -> TokenService:
    teams = TeamService(store=either_store, clock=turned_clock, settings=Settings())
    return TokenService(store=either_store, clock=turned_clock, teams=teams, timezone="Asia/Shanghai")


@pytest.fixture
def people(either_store: Store, turned_clock: Any) -> PeopleService:
    return PeopleService(store=either_store, clock=turned_clock, settings=Settings())


async def test_a_token_is_known_until_it_expires_or_is_revoked(tokens: TokenService, turned_clock: Any) -> None:
    short = await tokens.create("short", "reader", days=1, by=COMMAND_LINE)
    long = await tokens.create("long", "editor", scopes=["run", "read"], by=COMMAND_LINE)
    found = await tokens.authenticate(long)
    assert found is not None
    assert (found.name, found.role, found.scopes, found.created_by) == ("long", Role.EDITOR, ["read", "run"], "")
    assert await tokens.authenticate(short) is not None
    turned_clock.turn(days=1)
    assert await tokens.authenticate(short) is None
    assert await tokens.authenticate(long) is not None
    await tokens.revoke("long", by=COMMAND_LINE)
    assert await tokens.authenticate(long) is None
    with pytest.raises(NotFound):
        await tokens.revoke("long", by=COMMAND_LINE)


async def test_the_last_use_is_written_at_most_once_a_minute(tokens: TokenService, turned_clock: Any) -> None:
    token, begun = await tokens.create("a", "reader", by=COMMAND_LINE), turned_clock.now()
    for seconds, written in ((0, 0), (59, 0), (1, 60)):
        turned_clock.turn(seconds=seconds)
        await tokens.authenticate(token)
        assert (await tokens.list_tokens())[0].last_used_at == begun + dt.timedelta(seconds=written)


async def test_nobody_makes_a_token_that_may_do_more_than_they(tokens: TokenService) -> None:
    editor = Actor("e", Role.EDITOR)
    with pytest.raises(UsageError, match="cannot have the role admin"):
        await tokens.create("x", "admin", by=editor)
    limited = Actor("t", Role.ADMIN, frozenset({"admin", "read"}))
    for scopes in ([], ["read", "write"]):
        with pytest.raises(UsageError, match="cannot have others"):
            await tokens.create("x", "reader", scopes=scopes, by=limited)
    await tokens.create("x", "admin", scopes=["read"], by=limited)


async def test_a_token_goes_down_with_the_role_of_its_maker_and_out_with_them(
    tokens: TokenService, people: PeopleService
) -> None:
    for name in ("boss", "deputy"):
        await people.add(name, Role.ADMIN, by=COMMAND_LINE)
    token = await tokens.create("t", "admin", by=Actor("deputy", Role.ADMIN))
    child = await tokens.create("child", "admin", by=Actor("t", Role.ADMIN))
    await people.set_role("deputy", "reader", by=COMMAND_LINE)
    for text in (token, child):
        found = await tokens.authenticate(text)
        assert found is not None
        assert found.role is Role.READER
    await people.block_sign_in("deputy", by=COMMAND_LINE)
    assert [await tokens.authenticate(token), await tokens.authenticate(child)] == [None, None]
    await people.allow_sign_in("deputy", by=COMMAND_LINE)
    assert await tokens.authenticate(token) is not None


async def test_a_name_is_that_of_one_person_or_one_token(tokens: TokenService, people: PeopleService) -> None:
    await people.add("anna", Role.READER, by=COMMAND_LINE)
    with pytest.raises(Conflict):
        await tokens.create("anna", "reader", by=COMMAND_LINE)
    await tokens.create("robot", "reader", by=COMMAND_LINE)
    with pytest.raises(Conflict):
        await people.add("Robot", Role.READER, by=COMMAND_LINE)
    with pytest.raises(Conflict):
        await tokens.create("robot", "reader", by=Actor("anna", Role.READER))
    assert await tokens.create("robot", "editor", by=COMMAND_LINE)
    assert [token.role for token in await tokens.list_tokens()] == [Role.EDITOR]


async def test_a_person_revokes_only_their_own(tokens: TokenService) -> None:
    await tokens.create("a", "reader", by=Actor("anna", Role.READER))
    with pytest.raises(NotFound):
        await tokens.revoke("a", created_by="bert", by=Actor("bert", Role.READER))
    assert [token.name for token in await tokens.list_tokens(created_by="anna")] == ["a"]
    assert await tokens.list_tokens(created_by="bert") == []
    assert (await tokens.revoke("a", created_by="anna", by=Actor("anna", Role.READER))).name == "a"


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"name": "a b", "role": "reader"}, "cannot be the name"),
        ({"name": "a", "role": "king"}, "no role"),
        ({"name": "a", "role": "reader", "scopes": ["fly"]}, "no scope"),
        ({"name": "a", "role": "reader", "days": 0}, "1 to 3650 days"),
        ({"name": "a", "role": "reader", "limits": TokenLimits(networks=["10.0.0.0/99"])}, "neither an address"),
        ({"name": "a", "role": "reader", "limits": TokenLimits(networks=["10.0.0.1"] * 51)}, "50 addresses"),
        ({"name": "a", "role": "reader", "limits": TokenLimits(daily_limit=0)}, "from 1"),
        ({"name": "a", "role": "reader", "limits": TokenLimits(teams=["nobody's"])}, "no team"),
    ],
)
async def test_a_token_that_cannot_be_is_refused(tokens: TokenService, asked: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        await tokens.create(**asked, by=COMMAND_LINE)


async def test_two_who_ask_for_one_name_at_once_get_one_token(tokens: TokenService) -> None:
    by = Actor("anna", Role.READER)
    made = await asyncio.gather(*(tokens.create("a", "reader", by=by) for _ in range(4)), return_exceptions=True)
    assert sum(isinstance(text, str) for text in made) == 1
    assert sum(isinstance(entry, Conflict) for entry in made) == 3


@pytest.mark.parametrize(
    ("networks", "address", "may"),
    [
        ([], "203.0.113.9", True),
        (["192.0.2.7"], "192.0.2.7", True),
        (["192.0.2.7"], "192.0.2.8", False),
        (["10.0.0.0/8", "2001:db8::/32"], "10.9.8.7", True),
        (["10.0.0.0/8", "2001:db8::/32"], "2001:db8:1::7", True),
        (["10.0.0.0/8"], "::ffff:10.1.1.1", True),
        (["10.0.0.0/8"], "2001:db8::1", False),
        (["0.0.0.0/0"], "", False),
    ],
)
async def test_a_token_may_be_bound_to_networks(
    tokens: TokenService, networks: list[str], address: str, may: bool
) -> None:
    found = await tokens.authenticate(
        await tokens.create("a", "reader", limits=TokenLimits(networks=networks), by=COMMAND_LINE)
    )
    assert found is not None
    assert may_be_used_from(found, address) is may


async def test_a_daily_limit_holds_until_midnight_of_the_service_and_for_many_at_once(
    tokens: TokenService, turned_clock: Any
) -> None:
    await tokens.create("free", "reader", by=COMMAND_LINE)
    await tokens.create("a", "reader", limits=TokenLimits(daily_limit=3), by=COMMAND_LINE)
    free, limited = Actor("free", Role.READER), Actor("a", Role.READER)
    for _ in range(5):
        await tokens.count_spending(free)
        await tokens.count_spending(COMMAND_LINE)
    counted = await asyncio.gather(*(tokens.count_spending(limited) for _ in range(5)), return_exceptions=True)
    refused = [error for error in counted if isinstance(error, DailyLimitReached)]
    assert len(refused) == 2
    assert refused[0].retry_after_s == 8 * 3600 + 1  # it is four in the afternoon in Shanghai
    assert {token.name: token.used_today for token in await tokens.list_tokens()} == {"free": 0, "a": 3}
    turned_clock.turn(hours=8)
    await tokens.count_spending(limited)
    assert {token.name: token.used_today for token in await tokens.list_tokens()} == {"free": 0, "a": 1}


async def test_a_token_with_limits_makes_no_token_without_them(tokens: TokenService) -> None:
    await tokens.teams.create("energy", by=COMMAND_LINE)
    for number, limits in enumerate(
        (TokenLimits(networks=["10.0.0.0/8"]), TokenLimits(daily_limit=1), TokenLimits(teams=["energy"]))
    ):
        await tokens.create(f"t{number}", "admin", limits=limits, by=COMMAND_LINE)
        with pytest.raises(UsageError, match="limits of its own"):
            await tokens.create("child", "reader", by=Actor(f"t{number}", Role.ADMIN))
    assert {token.name: token.teams for token in await tokens.list_tokens()}["t2"] == ["energy"]


async def test_a_token_of_one_team_alone_goes_with_it(tokens: TokenService) -> None:
    for name in ("energy", "water"):
        await tokens.teams.create(name, by=COMMAND_LINE)
    both = await tokens.create("both", "reader", limits=TokenLimits(teams=["energy", "water"]), by=COMMAND_LINE)
    alone = await tokens.create("alone", "reader", limits=TokenLimits(teams=["energy"]), by=COMMAND_LINE)
    await tokens.teams.remove("energy", by=COMMAND_LINE)
    assert await tokens.authenticate(alone) is None
    assert await tokens.authenticate(both) is not None
