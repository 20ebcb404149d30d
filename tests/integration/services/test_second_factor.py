"""Codes beside passwords: which ones count, how often, who is held off, and what an administrator can do."""

import base64
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.errors import Conflict, Forbidden, UsageError
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.services.identity.second_factor import RECOVERY_CODES, SecondFactorService
from monitor.services.people import PeopleService, SecondFactorRequired, SignInError, SignInResult
from monitor.services.settings import SecretBox, SettingsService
from monitor.vocabulary import Role

GOOD = "床前明月光疑是地上霜举头望明月"
ANNA = Actor("anna", Role.ADMIN)
HOME = "192.0.2.1"

SignIn = Callable[..., Awaitable[SignInResult]]


@pytest.fixture
async def service(either_store: Store, turned_clock: Any, tmp_path: Path) -> SecondFactorService:
    settings = Settings(data_dir=tmp_path / "data")
    settings_service = SettingsService(
        store=either_store, base=settings, secret_box=SecretBox(settings.data_dir), clock=turned_clock, checks={}
    )
    people = PeopleService(store=either_store, clock=turned_clock, settings=settings)
    await people.add("anna", "admin", by=COMMAND_LINE)
    await people.set_password("anna", GOOD, by=COMMAND_LINE)
    return SecondFactorService(store=either_store, clock=turned_clock, people=people, settings_service=settings_service)


def code_of(secret: str, clock: Any, *, steps: int = 0) -> str:
    """What the app shows, so many steps of 30 seconds from now."""
    totp = TOTP(base64.b32decode(secret), 6, SHA1(), 30)  # noqa: S303
    return totp.generate(int(clock.now().timestamp()) + 30 * steps).decode()


async def set_up(service: SecondFactorService) -> tuple[str, list[str]]:
    begun = await service.begin_adding("", by=ANNA)
    codes = await service.add(begun.cookie, code_of(begun.secret, service.clock, steps=-1), by=ANNA)
    return begun.secret, codes


async def begin(service: SecondFactorService, *, device: str | None = None) -> str:
    """The password is right; the cookie with which the code is sent."""
    with pytest.raises(SecondFactorRequired) as required:
        await service.people.sign_in("anna", GOOD, address=HOME, browser="Firefox", device=device)
    return await service.begin_sign_in(required.value)


async def finish(
    service: SecondFactorService, cookie: str, code: str, *, address: str = HOME, device: str | None = None
) -> SignInResult:
    return await service.sign_in(cookie, code, address=address, browser="Firefox", device=device)


async def list_sign_ins(service: SecondFactorService, action: str = "session.sign_in") -> list[dict[str, Any]]:
    entries = await service.store.audit.list_entries(
        person=None, action=action, subject="anna", address=None, before_id=None, limit=50
    )
    return [entry.detail for entry in entries]


async def test_a_code_signs_in_once_and_only_within_half_a_minute_of_its_time(service: SecondFactorService) -> None:
    secret, _ = await set_up(service)
    row = await service.find("anna")
    assert row is not None
    assert secret not in row.secret, "the secret is kept encrypted"
    cookie = await begin(service)
    for code in ("", "000000", code_of(secret, service.clock, steps=-1), code_of(secret, service.clock, steps=2)):
        with pytest.raises(SignInError, match="wrong"):
            await finish(service, cookie, code)
    code = code_of(secret, service.clock, steps=1)
    assert (await finish(service, cookie, f"{code[:3]} {code[3:]}")).person.name == "anna"
    assert (await list_sign_ins(service))[0]["method"] == "totp"
    with pytest.raises(SignInError, match="begin"):
        await finish(service, cookie, code_of(secret, service.clock, steps=1))
    again = await begin(service)
    for steps in (1, 0):  # the same one, and one before it
        with pytest.raises(SignInError, match="wrong"):
            await finish(service, again, code_of(secret, service.clock, steps=steps))


async def test_each_recovery_code_signs_in_once(service: SecondFactorService) -> None:
    _, codes = await set_up(service)
    assert len(set(codes)) == RECOVERY_CODES
    row = await service.find("anna")
    assert row is not None
    assert not set(codes) & set(row.recovery_codes), "only hashes are kept"
    await finish(service, await begin(service), codes[0].upper())
    assert (await list_sign_ins(service))[0]["method"] == "recovery_code"
    with pytest.raises(SignInError, match="wrong"):
        await finish(service, await begin(service), codes[0])
    await finish(service, await begin(service), codes[1].replace("-", ""))
    row = await service.find("anna")
    assert row is not None
    assert len(row.recovery_codes) == RECOVERY_CODES - 2


async def test_wrong_codes_hold_off_strangers_everywhere_and_nobody_at_a_known_device(
    service: SecondFactorService, turned_clock: Any
) -> None:
    secret, _ = await set_up(service)
    device = (await finish(service, await begin(service), code_of(secret, turned_clock))).device
    cookie = await begin(service)
    for number in range(5):
        with pytest.raises(SignInError, match="wrong"):
            await finish(service, cookie, "000000", address=f"198.51.100.{number}")
    with pytest.raises(SignInError, match="wait") as held:
        await finish(service, cookie, code_of(secret, turned_clock, steps=1), address="203.0.113.9")
    assert held.value.wait_minutes == 15
    assert len(await list_sign_ins(service, "session.sign_in_failed")) == 5
    assert len(await list_sign_ins(service, "session.sign_in_held")) == 1
    known = await begin(service, device=device)
    assert await finish(service, known, code_of(secret, turned_clock, steps=1), device=device)
    turned_clock.turn(minutes=16)
    assert await finish(service, await begin(service), code_of(secret, turned_clock))


async def test_right_passwords_without_a_code_count_as_tries(service: SecondFactorService) -> None:
    await set_up(service)
    for _ in range(5):
        await begin(service)
    with pytest.raises(SignInError, match="wait"):
        await service.people.sign_in("anna", GOOD, address=HOME, browser="Firefox")


async def test_a_sign_in_under_way_ends_with_the_password_that_it_began_with(service: SecondFactorService) -> None:
    secret, codes = await set_up(service)
    cookie = await begin(service)
    await service.people.set_password("anna", GOOD[::-1], by=COMMAND_LINE)
    with pytest.raises(SignInError, match="begin"):
        await finish(service, cookie, code_of(secret, service.clock))
    await service.people.set_password("anna", GOOD, by=COMMAND_LINE)
    cookie = await begin(service)
    await service.reset("anna", by=COMMAND_LINE)
    with pytest.raises(SignInError, match="begin"):
        await finish(service, cookie, codes[0])
    assert await service.people.sign_in("anna", GOOD, address=HOME, browser="Firefox")


async def test_a_secret_counts_once_a_code_has_confirmed_it(service: SecondFactorService) -> None:
    begun = await service.begin_adding("", by=ANNA)
    assert begun.qr_code.startswith("data:image/svg+xml")
    assert (await service.begin_adding(begun.cookie, by=ANNA)).secret == begun.secret
    assert (await service.begin_adding("", by=ANNA)).secret != begun.secret
    bert = Actor("bert", Role.READER)
    for cookie, by in ((begun.cookie, bert), ("", ANNA)):
        with pytest.raises(SignInError, match="begin"):
            await service.add(cookie, code_of(begun.secret, service.clock), by=by)
    with pytest.raises(SignInError, match="wrong"):
        await service.add(begun.cookie, "123", by=ANNA)
    assert await service.people.sign_in("anna", GOOD, address=HOME, browser="Firefox")
    await service.add(begun.cookie, code_of(begun.secret, service.clock), by=ANNA)
    with pytest.raises(Conflict):
        await service.begin_adding("", by=ANNA)
    with pytest.raises(SignInError, match="wrong"):  # what confirmed it has been used
        await finish(service, await begin(service), code_of(begun.secret, service.clock))


async def test_it_is_switched_off_with_a_code_alone_or_by_an_administrator(service: SecondFactorService) -> None:
    secret, codes = await set_up(service)
    for _ in range(5):
        with pytest.raises(SignInError, match="wrong"):
            await service.remove("000000", session_id="s", by=ANNA)
    with pytest.raises(SignInError, match="wait"):
        await service.remove(code_of(secret, service.clock), session_id="s", by=ANNA)
    new = await service.replace_recovery_codes(code_of(secret, service.clock), session_id="other", by=ANNA)
    with pytest.raises(SignInError, match="wrong"):
        await service.remove(codes[0], session_id="other", by=ANNA)
    await service.remove(new[0], session_id="other", by=ANNA)
    assert await service.find("anna") is None
    await set_up(service)
    with pytest.raises(Forbidden):
        await service.reset("anna", by=Actor("bert", Role.EDITOR))
    await service.reset("anna", by=Actor("chef", Role.ADMIN))
    assert await service.list_people() == frozenset()
    with pytest.raises(UsageError, match="an authenticator app"):
        await service.reset("anna", by=COMMAND_LINE)


async def test_who_has_no_password_needs_no_code(service: SecondFactorService) -> None:
    await service.people.add_without_password("guest", Role.READER)
    with pytest.raises(UsageError, match="no password"):
        await service.begin_adding("", by=Actor("guest", Role.READER))
