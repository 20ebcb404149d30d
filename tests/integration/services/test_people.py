"""Signing in, sessions, passwords, roles, as the use cases keep them."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.errors import Conflict, NotFound, UsageError
from monitor.services import passwords
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.services.people import PeopleService, SignInError, SignInResult
from monitor.vocabulary import Role

GOOD = "床前明月光疑是地上霜举头望明月"


@pytest.fixture
def people(either_store: Store, turned_clock: Any, tmp_path: Path) -> PeopleService:
    return PeopleService(store=either_store, clock=turned_clock, settings=Settings(data_dir=tmp_path / "data"))


async def signed_in(people: PeopleService, name: str, password: str = GOOD, address: str = "192.0.2.1") -> SignInResult:
    return await people.sign_in(name, password, address=address, browser="Firefox")


async def somebody(people: PeopleService, name: str, role: Role = Role.READER) -> None:
    await people.add(name, role, by=COMMAND_LINE)
    await people.set_password(name, GOOD, by=COMMAND_LINE)


async def test_the_first_start_makes_one_administrator_with_a_password_for_once(people: PeopleService) -> None:
    made = await asyncio.gather(people.create_first_admin(), people.create_first_admin())
    (password,) = [text for text in made if text is not None]
    assert await people.create_first_admin() is None
    assert not await people.has_secured_admin()
    person = (await signed_in(people, "admin", password)).person
    assert (person.role, person.is_one_time) == (Role.ADMIN, True)
    with pytest.raises(UsageError, match="is the same as the old one"):
        await people.set_password("admin", password, session_id="this one", by=COMMAND_LINE)
    await people.set_password("admin", GOOD, old=password, by=COMMAND_LINE)
    assert await people.has_secured_admin()
    assert not (await signed_in(people, "admin")).person.is_one_time


async def test_a_session_is_known_by_its_cookie_alone_and_the_database_does_not_hold_it(
    people: PeopleService, either_store: Store
) -> None:
    await somebody(people, "李雷")
    first, second = await signed_in(people, "李雷"), await signed_in(people, "李雷")
    assert first.cookie != second.cookie
    found = await people.authenticate(first.cookie)
    assert found is not None
    person, session = found
    assert (person.name, session.id, session.browser) == ("李雷", first.session_id, "Firefox")
    for wrong in ("", first.session_id, first.cookie[:-1], "\ud800"):
        assert await people.authenticate(wrong) is None
    kept = [entry.model_dump_json() for entry in await people.list_sessions()]
    assert not any(first.cookie in row for row in kept)
    assert (
        people.compute_csrf_token(first.cookie)
        == people.compute_csrf_token(first.cookie)
        != people.compute_csrf_token(second.cookie)
    )


async def test_a_session_ends_when_it_is_not_used_or_has_become_old(people: PeopleService, turned_clock: Any) -> None:
    await somebody(people, "a")
    unused, used = await signed_in(people, "a"), await signed_in(people, "a")
    for _ in range(9):
        turned_clock.turn(days=9.9)
        assert await people.authenticate(used.cookie) is not None
    assert await people.authenticate(unused.cookie) is None
    turned_clock.turn(days=0.9)
    assert await people.authenticate(used.cookie) is None
    assert await people.list_sessions() == []


async def test_a_session_is_written_at_most_once_a_minute(people: PeopleService, turned_clock: Any) -> None:
    await somebody(people, "a")
    cookie = (await signed_in(people, "a")).cookie
    begun = turned_clock.now()
    turned_clock.turn(seconds=59)
    await people.authenticate(cookie)
    assert (await people.list_sessions("a"))[0].seen_at == begun
    turned_clock.turn(seconds=1)
    await people.authenticate(cookie)
    assert (await people.list_sessions("a"))[0].seen_at == turned_clock.now()
    assert (await people.get("a")).last_seen_at == turned_clock.now()


async def test_wrong_names_and_wrong_passwords_are_refused_in_one_way(
    people: PeopleService, monkeypatch: pytest.MonkeyPatch
) -> None:
    await somebody(people, "here")
    await somebody(people, "out")
    await people.block_sign_in("out", by=COMMAND_LINE)
    compared: list[str] = []
    real = passwords._is_same
    monkeypatch.setattr(passwords, "_is_same", lambda kept, given: compared.append(kept) or real(kept, given))
    reported = set()
    for name, password in (("here", "wrong"), ("nobody", GOOD), ("out", GOOD), ("here\x00", GOOD), ("", "")):
        with pytest.raises(SignInError) as refused:
            await signed_in(people, name, password)
        reported.add(str(refused.value))
    assert reported == {"The name or the password is wrong."}
    assert len(compared) == 5, "not every refusal did the same work"


async def test_after_five_failures_a_name_waits_where_they_came_from(people: PeopleService, turned_clock: Any) -> None:
    await somebody(people, "a")
    await somebody(people, "b")
    open_one = await signed_in(people, "a")
    for _ in range(5):
        with pytest.raises(SignInError, match="wrong"):
            await signed_in(people, "a", "wrong")
        turned_clock.turn(minutes=1)
    with pytest.raises(SignInError, match="wait 10 minutes") as refused:
        await signed_in(people, "a")
    assert refused.value.wait_minutes == 10
    assert await people.authenticate(open_one.cookie) is not None
    await signed_in(people, "b")
    turned_clock.turn(minutes=10)
    await signed_in(people, "a")


async def test_after_twenty_failures_an_address_waits_whatever_the_names(
    people: PeopleService, turned_clock: Any
) -> None:
    await somebody(people, "a")
    for number in range(20):
        with pytest.raises(SignInError, match="wrong"):
            await signed_in(people, f"guess-{number}", "wrong")
    with pytest.raises(SignInError, match="wait 15 minutes"):
        await signed_in(people, "a")
    await signed_in(people, "a", address="192.0.2.2")
    turned_clock.turn(minutes=15)
    await signed_in(people, "a")


async def test_tries_at_the_same_moment_do_not_slip_past_the_limit(people: PeopleService) -> None:
    await somebody(people, "a")
    for addresses, limit in (([f"192.0.2.{number}" for number in range(36)], 30), (["203.0.113.9"] * 12, 0)):
        tries = [signed_in(people, "a", "wrong", address=address) for address in addresses]
        reported = [str(answer) for answer in await asyncio.gather(*tries, return_exceptions=True)]
        assert sum("wrong" in text for text in reported) == limit
        assert sum("wait" in entry for entry in reported) == len(addresses) - limit
    tries = [signed_in(people, "b", "wrong", address="203.0.113.9") for _ in range(12)]
    reported = [str(answer) for answer in await asyncio.gather(*tries, return_exceptions=True)]
    assert sum("wrong" in text for text in reported) == 5


async def test_who_signs_in_has_no_failures_behind_them(people: PeopleService) -> None:
    await somebody(people, "a")
    for _ in range(3):
        for _ in range(4):
            with pytest.raises(SignInError):
                await signed_in(people, "a", "wrong")
        await signed_in(people, "a")


async def test_a_new_password_ends_all_sessions_but_the_one_it_was_typed_in(people: PeopleService) -> None:
    await somebody(people, "a")
    here, there = await signed_in(people, "a"), await signed_in(people, "a")
    with pytest.raises(SignInError, match="old password"):
        await people.set_password(
            "a", "a new sentence of mine", old="wrong", session_id=here.session_id, by=COMMAND_LINE
        )
    with pytest.raises(UsageError, match="is the same as the old one"):
        await people.set_password("a", GOOD, old=GOOD, session_id=here.session_id, by=COMMAND_LINE)
    await people.set_password("a", "a new sentence of mine", old=GOOD, session_id=here.session_id, by=COMMAND_LINE)
    assert await people.authenticate(here.cookie) is not None
    assert await people.authenticate(there.cookie) is None
    reset = await people.reset_password("a", by=COMMAND_LINE)
    assert await people.authenticate(here.cookie) is None
    assert (await signed_in(people, "a", reset)).person.is_one_time


async def test_sessions_are_ended_one_or_all_others_and_only_ones_own(people: PeopleService) -> None:
    await somebody(people, "a")
    await somebody(people, "b")
    mine = [await signed_in(people, "a") for _ in range(3)]
    theirs = await signed_in(people, "b")
    with pytest.raises(NotFound):
        await people.end_session(theirs.session_id, person="a", by=Actor("a", Role.READER))
    await people.end_session(mine[0].session_id, person="a", by=Actor("a", Role.READER))
    assert await people.end_other_sessions(mine[1].session_id, by=Actor("a", Role.READER)) == 1
    assert [session.id for session in await people.list_sessions("a")] == [mine[1].session_id]
    assert (await people.end_session(theirs.session_id, by=COMMAND_LINE)).person == "b"
    assert await people.authenticate(theirs.cookie) is None
    await people.sign_out(mine[1].session_id, by=Actor("a", Role.READER))
    assert await people.list_sessions() == []


async def test_whoever_is_shut_out_is_out_at_once_and_may_come_back(people: PeopleService) -> None:
    await somebody(people, "a")
    cookie = (await signed_in(people, "a")).cookie
    await people.block_sign_in("a", by=COMMAND_LINE)
    assert await people.authenticate(cookie) is None
    await people.allow_sign_in("a", by=COMMAND_LINE)
    assert await people.authenticate(cookie) is None
    await signed_in(people, "a")


async def test_the_last_administrator_stays_one(people: PeopleService) -> None:
    await somebody(people, "one", Role.ADMIN)
    await somebody(people, "two", Role.ADMIN)
    await asyncio.gather(
        people.block_sign_in("one", by=COMMAND_LINE),
        people.set_role("two", "reader", by=COMMAND_LINE),
        return_exceptions=True,
    )
    admins = [
        person.name for person in await people.list_people() if person.role is Role.ADMIN and not person.is_shut_out
    ]
    assert len(admins) == 1
    for change in (
        people.block_sign_in(admins[0], by=COMMAND_LINE),
        people.set_role(admins[0], "editor", by=COMMAND_LINE),
    ):
        with pytest.raises(Conflict, match="last administrator"):
            await change


async def test_a_role_counts_from_the_next_request_on(people: PeopleService) -> None:
    await somebody(people, "a")
    cookie = (await signed_in(people, "a")).cookie
    await people.set_role("a", "editor", by=COMMAND_LINE)
    found = await people.authenticate(cookie)
    assert found is not None
    assert found[0].role is Role.EDITOR


@pytest.mark.parametrize("name", ["", "a b", "cli", "x" * 61, "a/b", "<b>", "a\x00b", "两 个", "..", "-a"])
async def test_a_name_that_cannot_be_typed_or_shown_is_refused(people: PeopleService, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be a name"):
        await people.add(name, Role.READER, by=COMMAND_LINE)


async def test_a_name_is_given_once_whatever_its_capitals(people: PeopleService) -> None:
    await people.add("Anna", Role.READER, by=COMMAND_LINE)
    with pytest.raises(Conflict):
        await people.add("anna", Role.ADMIN, by=COMMAND_LINE)
    with pytest.raises(NotFound):
        await people.reset_password("nobody", by=COMMAND_LINE)
    with pytest.raises(UsageError, match="no role"):
        await people.add("b", "king", by=COMMAND_LINE)


async def test_no_password_and_no_cookie_stands_in_the_database(
    tmp_path: Any, sqlite_url: str, turned_clock: Any
) -> None:
    async with Store.open(sqlite_url) as store:
        service = PeopleService(store=store, clock=turned_clock, settings=Settings(data_dir=tmp_path))
        password = await service.create_first_admin()
        assert password is not None
        cookie = (await signed_in(service, "admin", password)).cookie
    with sqlite3.connect(tmp_path / "monitor.db") as connection:
        dump = "\n".join(connection.iterdump())
    assert "admin" in dump
    assert password not in dump
    assert cookie not in dump
