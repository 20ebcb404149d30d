"""Who is held off after wrong passwords and who is not, how long a one-time password serves, and what is on record."""

import asyncio
import stat
from pathlib import Path
from typing import Any

import pytest

from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.tables.people import AuditEntry, Person
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.services.people import FIRST_PASSWORD_FILE, PeopleService, SignInError, SignInResult
from monitor.vocabulary import Role
from tests.integration.web.conftest import kept_password

GOOD = "床前明月光疑是地上霜举头望明月"
OTHER = "低头思故乡低头思故乡一二三四五"
HOME, STRANGER = "192.0.2.1", "203.0.113.9"


@pytest.fixture
def people(either_store: Store, turned_clock: Any, tmp_path: Path) -> PeopleService:
    return PeopleService(store=either_store, clock=turned_clock, settings=Settings(data_dir=tmp_path / "data"))


async def sign_in(
    people: PeopleService, name: str, password: str = GOOD, *, address: str = HOME, device: str | None = None
) -> SignInResult:
    return await people.sign_in(name, password, address=address, browser="Firefox", device=device)


async def add(people: PeopleService, name: str, role: Role = Role.ADMIN) -> None:
    person = Person(name=name, password_hash=kept_password(GOOD), role=role, created_at=people.clock.now())
    await people.store.people.add(person)


async def fail(people: PeopleService, name: str, times: int, *, address: str = "", device: str | None = None) -> None:
    """So many wrong passwords, each from a network of its own where no address is named."""
    for number in range(times):
        with pytest.raises(SignInError):
            await sign_in(people, name, "wrong", address=address or f"198.51.100.{number}", device=device)


async def list_entries(people: PeopleService) -> list[AuditEntry]:
    entries = await people.store.audit.list_entries(
        person=None, action="session", subject=None, address=None, before_id=None, limit=200
    )
    return entries[::-1]


async def test_a_stranger_keeps_nobody_from_signing_in_where_they_have_signed_in_before(people: PeopleService) -> None:
    await add(people, "anna")
    device = (await sign_in(people, "anna")).device
    await fail(people, "anna", 40)
    await fail(people, "anna", 25, address=HOME)
    with pytest.raises(SignInError, match="wait"):
        await sign_in(people, "anna")
    with pytest.raises(SignInError, match="wait"):
        await sign_in(people, "anna", address="192.0.2.77")
    assert (await sign_in(people, "anna", device=device)).device == device
    assert (await sign_in(people, "anna", address=STRANGER, device=device)).person.name == "anna"


async def test_a_stranger_keeps_nobody_who_has_a_session_from_their_account(people: PeopleService) -> None:
    await add(people, "anna")
    begun = await sign_in(people, "anna")
    await fail(people, "anna", 40)
    assert await people.authenticate(begun.cookie) is not None
    anna = Actor("anna", Role.ADMIN)
    await people.set_password("anna", OTHER, old=GOOD, session_id=begun.session_id, by=anna)
    for _ in range(5):
        with pytest.raises(SignInError, match="old password"):
            await people.set_password("anna", GOOD, old="wrong", session_id=begun.session_id, by=anna)
    with pytest.raises(SignInError, match="wait"):
        await people.set_password("anna", GOOD, old=OTHER, session_id=begun.session_id, by=anna)


async def test_a_stranger_at_one_address_holds_off_nobody_at_another_one(people: PeopleService) -> None:
    await add(people, "anna")
    await fail(people, "anna", 40, address=STRANGER)
    await sign_in(people, "anna")


async def test_a_known_device_has_a_limit_of_its_own(people: PeopleService) -> None:
    await add(people, "anna")
    device = (await sign_in(people, "anna")).device
    await fail(people, "anna", 5, device=device)
    with pytest.raises(SignInError, match="wait 15 minutes"):
        await sign_in(people, "anna", device=device)


async def test_a_device_is_known_for_a_person_and_by_a_cookie_of_ours(people: PeopleService, turned_clock: Any) -> None:
    await add(people, "anna")
    await add(people, "bert", Role.READER)
    of_bert = (await sign_in(people, "bert", device="planted by somebody")).device
    assert of_bert != "planted by somebody"
    await fail(people, "anna", 40)
    for device in (of_bert, "planted by somebody", "", "\ud800", "x" * 5000):
        with pytest.raises(SignInError, match="wait"):
            await sign_in(people, "anna", device=device)
    turned_clock.turn(minutes=16)
    shared = (await sign_in(people, "anna", device=of_bert)).device
    await fail(people, "anna", 40)
    await fail(people, "bert", 40)
    for name in ("anna", "bert"):
        assert (await sign_in(people, name, device=shared)).device == shared, "two people share the browser"
    with pytest.raises(SignInError, match="wait"):
        await sign_in(people, "bert", device=of_bert)


async def test_a_device_that_was_not_seen_for_long_is_known_no_more(people: PeopleService, turned_clock: Any) -> None:
    await add(people, "anna")
    device = (await sign_in(people, "anna")).device
    turned_clock.turn(days=401)
    await fail(people, "anna", 40)
    with pytest.raises(SignInError, match="wait"):
        await sign_in(people, "anna", device=device)


async def test_a_network_of_ipv6_counts_as_one_address(people: PeopleService) -> None:
    await add(people, "anna")
    for number in range(20):
        with pytest.raises(SignInError, match="wrong"):
            await sign_in(people, f"guess-{number}", "wrong", address=f"2001:db8:0:1::{number:x}")
    with pytest.raises(SignInError, match="wait"):
        await sign_in(people, "anna", address="2001:db8:0:1:ffff::1")
    await sign_in(people, "anna", address="2001:db8:0:2::1")


async def test_a_clock_that_is_set_back_holds_off_nobody(people: PeopleService, turned_clock: Any) -> None:
    await add(people, "anna")
    await fail(people, "anna", 5, address=HOME)
    turned_clock.turn(days=-1)
    await sign_in(people, "anna")


async def test_the_first_password_is_in_a_file_of_its_owner_until_it_is_used(people: PeopleService) -> None:
    password = await people.create_first_admin()
    assert password is not None
    file = people.first_password_file
    assert file.name == FIRST_PASSWORD_FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text() == f"admin\n{password}\n2026-02-04 08:00Z\n"
    assert await people.create_first_admin() is None, "a restart made another one"
    assert file.exists()
    await sign_in(people, "admin", password)
    assert not file.exists()


async def test_the_first_password_is_over_after_a_sign_in_or_a_day_and_a_restart_makes_another(
    people: PeopleService, turned_clock: Any
) -> None:
    first = await people.create_first_admin()
    turned_clock.turn(hours=24)
    with pytest.raises(SignInError, match="used or has expired"):
        await sign_in(people, "admin", first or "")
    second = await people.create_first_admin()
    assert second not in (None, first)
    cookie = (await sign_in(people, "admin", second or "")).cookie
    with pytest.raises(SignInError, match="used or has expired"):
        await sign_in(people, "admin", second or "")
    turned_clock.turn(days=-30)
    with pytest.raises(SignInError, match="used or has expired"):
        await sign_in(people, "admin", second or "")
    third = await people.create_first_admin()
    assert third not in (None, first, second)
    assert await people.authenticate(cookie) is None
    await people.set_password("admin", GOOD, by=COMMAND_LINE)
    assert not people.first_password_file.exists()
    assert await people.create_first_admin() is None
    assert [entry.action for entry in await people.store.audit.list_after(0, since=None, until=None, limit=99)][:2] == [
        "person.add",
        "session.sign_in_failed",
    ]


async def test_of_two_sign_ins_at_once_a_one_time_password_serves_for_one(people: PeopleService) -> None:
    password = await people.add("anna", Role.READER, by=COMMAND_LINE)
    answers = await asyncio.gather(*(sign_in(people, "anna", password) for _ in range(4)), return_exceptions=True)
    assert sum(isinstance(answer, SignInResult) for answer in answers) == 1
    assert len(await people.list_sessions("anna")) == 1


async def test_a_password_that_was_given_serves_for_a_week(people: PeopleService, turned_clock: Any) -> None:
    added = await people.add("anna", Role.READER, by=COMMAND_LINE)
    turned_clock.turn(days=6.9)
    await sign_in(people, "anna", added)
    reset = await people.reset_password("anna", by=COMMAND_LINE)
    turned_clock.turn(days=7)
    with pytest.raises(SignInError, match="used or has expired"):
        await sign_in(people, "anna", reset)


async def test_a_password_of_before_there_was_an_end_still_serves_once(people: PeopleService) -> None:
    hashed = await people._passwords.hash_password("kx7mp-2ndqv-8hfjt-w3cza")
    await people.store.people.add(
        Person(name="old", password_hash=hashed, is_one_time=True, role=Role.READER, created_at=people.clock.now())
    )
    await sign_in(people, "old", "kx7mp-2ndqv-8hfjt-w3cza")
    with pytest.raises(SignInError, match="used or has expired"):
        await sign_in(people, "old", "kx7mp-2ndqv-8hfjt-w3cza")


async def test_who_signs_in_fails_and_signs_out_is_on_record_with_where_from(people: PeopleService) -> None:
    await add(people, "anna")
    begun = await sign_in(people, "anna")
    await people.sign_out(begun.session_id, by=Actor("anna", Role.ADMIN, address=HOME))
    await people.sign_out(begun.session_id, by=Actor("anna", Role.ADMIN, address=HOME))
    await fail(people, "anna", 1, address=STRANGER)
    await fail(people, "a password typed as a name", 1, address=STRANGER)
    recorded = [(entry.person, entry.action, entry.subject, entry.address) for entry in await list_entries(people)]
    assert recorded == [
        ("anna", "session.sign_in", "anna", HOME),
        ("anna", "session.sign_out", "anna", HOME),
        ("anonymous", "session.sign_in_failed", "anna", STRANGER),
        ("anonymous", "session.sign_in_failed", "?", STRANGER),
    ]
    assert (await list_entries(people))[0].detail == {"browser": "Firefox"}


async def test_a_flood_of_wrong_passwords_does_not_flood_the_audit(people: PeopleService, turned_clock: Any) -> None:
    await add(people, "anna")
    await fail(people, "anna", 50, address=STRANGER)
    actions = [entry.action for entry in await list_entries(people)]
    assert actions == ["session.sign_in_failed"] * 5 + ["session.sign_in_held"]
    turned_clock.turn(minutes=15)
    await fail(people, "anna", 50, address=STRANGER)
    assert [entry.action for entry in await list_entries(people)] == actions * 2


async def test_a_wrong_old_password_is_on_record(people: PeopleService) -> None:
    await add(people, "anna")
    begun = await sign_in(people, "anna")
    with pytest.raises(SignInError):
        await people.set_password(
            "anna", OTHER, old="x", session_id=begun.session_id, by=Actor("anna", Role.ADMIN, address=HOME)
        )
    entry = (await list_entries(people))[-1]
    assert (entry.person, entry.action, entry.detail) == ("anna", "session.sign_in_failed", {"reason": "wrong_old"})
