"""Signing in by a provider of OpenID Connect: who gets in and with which role, what is refused, and in which words."""

import datetime as dt
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc.jwk import RSAKey

from monitor.config.auth import AuthSettings, OidcSettings
from monitor.config.model import Settings
from monitor.services.audit import COMMAND_LINE
from monitor.vocabulary import Role
from monitor.web.auth import SESSION_COOKIE
from tests.integration.web.conftest import PASSWORD, Browser, Desk
from tests.integration.web.oidc import CLIENT_SECRET, Claims, Provider, run_provider

pytestmark = pytest.mark.filterwarnings("ignore:get_jwt_config")  # of the provider: it uses what Authlib will drop
ROLES = {"press": Role.READER, "desk": Role.EDITOR, "it": Role.ADMIN}


@pytest.fixture(scope="module")
def running() -> Iterator[Provider]:
    with run_provider() as provider:
        yield provider


@pytest.fixture
def provider(running: Provider, monkeypatch: pytest.MonkeyPatch) -> Provider:
    monkeypatch.setenv("OIDC_CLIENT_SECRET", CLIENT_SECRET)
    running.alter, running.key, running.refuses_tokens = None, None, False
    running.put_person("a-1", preferred_username="lilei", groups=["press", "desk", "other"])
    return running


@pytest.fixture
def desk_settings(provider: Provider, request: pytest.FixtureRequest) -> Callable[[Settings], Settings]:
    chosen = {"roles": ROLES, **getattr(request, "param", {})}
    auth = {name: chosen.pop(name) for name in ("passwords", "break_glass") if name in chosen}
    oidc = OidcSettings(issuer=provider.url, client_id="monitor", label="Staff", **chosen)

    def change(settings: Settings) -> Settings:
        host = provider.url.removeprefix("http://")
        network = settings.network.model_copy(update={"allowed_private_hosts": [host]})
        return settings.model_copy(update={"auth": AuthSettings(oidc=oidc, **auth), "network": network})

    return change


async def sign_in(desk: Desk, provider: Provider, subject: str = "a-1", wanted: str = "/") -> httpx.Response:
    """The whole way of a browser; the answer is the one to the provider's redirect."""
    client = await desk.client(headers={"Accept-Language": "en"})
    begun = await client.get("/sign-in/oidc", params={"next": wanted})
    assert begun.status_code == 303, begun.text
    return await client.get(provider.sign_in(begun.headers["location"], subject))


async def list_acts(desk: Desk, action: str) -> list[dict[str, Any]]:
    return [entry.detail for entry in await desk.app.audit.list_entries(action=action)]


async def test_somebody_new_is_added_with_the_highest_role_of_their_groups(desk: Desk, provider: Provider) -> None:
    client = await desk.client(headers={"Accept-Language": "en"})
    page = await client.get("/sign-in?next=/items")
    assert 'href="/sign-in/oidc?next=/items">Sign in with Staff</a>' in page.text
    provider.alter = change(groups=None)  # they are in the user info alone
    begun = await client.get("/sign-in/oidc?next=/items")
    asked = parse_qs(urlsplit(begun.headers["location"]).query)
    assert (asked["code_challenge_method"], asked["scope"]) == (["S256"], ["openid profile email"])
    answer = await client.get(provider.sign_in(begun.headers["location"], "a-1"))
    assert (answer.status_code, answer.headers["location"]) == (303, "/items")
    assert (await client.get("/api/me")).json() == {"name": "lilei", "role": "editor"}
    (session,) = await desk.app.people.list_sessions("lilei")
    assert session.ends_at is not None
    assert session.ends_at - session.created_at == dt.timedelta(days=1)
    assert "/userinfo" in provider.requests
    account = await client.get("/account")
    assert "Old password" not in account.text
    assert (await desk.app.people.get("lilei")).password_hash == ""
    assert (await list_acts(desk, "person.add"))[0]["after"]["account"] == "a-1"
    wrong = await client.post("/sign-in", data={"name": "lilei", "password": ""})
    assert wrong.status_code == 403


async def test_the_role_follows_the_groups_and_the_last_administrator_stays_one(desk: Desk, provider: Provider) -> None:
    await sign_in(desk, provider)
    for groups, role in ((["it"], Role.ADMIN), (["press"], Role.ADMIN)):  # there is no other administrator
        provider.put_person("a-1", preferred_username="lilei", groups=groups)
        assert (await sign_in(desk, provider)).status_code == 303
        assert (await desk.app.people.get("lilei")).role is role
    await desk.sign_in("admin")
    assert (await sign_in(desk, provider)).status_code == 303
    assert (await desk.app.people.get("lilei")).role is Role.READER
    provider.put_person("a-1", preferred_username="renamed", groups=[])
    refused = await sign_in(desk, provider)
    assert refused.status_code == 403
    assert "Your groups at Staff give you no access here" in refused.text


@pytest.mark.parametrize(
    "desk_settings", [{"teams": {"press": "Media", "desk": "Energy", "it": "nowhere"}}], indirect=True
)
async def test_groups_give_teams_and_those_given_by_hand_stay(desk: Desk, provider: Provider) -> None:
    for name in ("Media", "Energy", "Water"):
        await desk.app.teams.create(name, by=COMMAND_LINE)

    async def list_teams() -> set[str]:
        teams = await desk.app.teams.list_teams(by=COMMAND_LINE)
        return {team.name for team in teams if "lilei" in team.members}

    await sign_in(desk, provider)
    assert await list_teams() == {"Media", "Energy"}
    await desk.app.teams.add_member("Water", "lilei", by=COMMAND_LINE)
    provider.put_person("a-1", preferred_username="lilei", groups=["desk", "it"])
    await sign_in(desk, provider)
    assert await list_teams() == {"Energy", "Water"}
    provider.put_person("a-1", preferred_username="lilei", groups=["it"])
    await sign_in(desk, provider)
    assert await list_teams() == {"Water"}
    changes = await list_acts(desk, "team.members")
    assert {"before": ["Energy", "Media", "Water"], "after": ["Energy", "Water"]} in changes


async def test_a_name_that_is_taken_is_not_taken_over_but_can_be_linked_when_signed_in(
    desk: Desk, provider: Provider
) -> None:
    await desk.app.people.add("lilei", "reader", by=COMMAND_LINE)
    await desk.app.people.set_password("lilei", PASSWORD, by=COMMAND_LINE)
    refused = await sign_in(desk, provider)
    assert refused.status_code == 403
    assert "The name lilei is taken here already" in refused.text
    client = await desk.client(headers={"Accept-Language": "en"})
    await client.post("/sign-in", data={"name": "lilei", "password": PASSWORD})
    browser = Browser(client, desk.app.people.compute_csrf_token(client.cookies[SESSION_COOKIE]))
    begun = await browser.get("/account/sign-in/link")
    stranger = await desk.client()
    back = provider.sign_in(begun.headers["location"], "a-1")
    assert (await stranger.get(back)).status_code == 403  # another browser has not begun it
    linked = await browser.get(back)
    assert (linked.status_code, linked.headers["location"]) == (303, "/account/sign-in")
    assert (await sign_in(desk, provider)).status_code == 303
    assert (await desk.app.people.get("lilei")).role is Role.EDITOR
    (account,) = await desk.app.oidc.list_accounts("lilei")
    assert "a-1" in (await browser.get("/account/sign-in")).text
    unlinked = await browser.post(f"/account/sign-in/accounts/{account.id}/unlink")
    assert unlinked.status_code == 303
    assert await desk.app.oidc.list_accounts("lilei") == []
    assert len(await list_acts(desk, "person.link")) == len(await list_acts(desk, "person.unlink")) == 1


async def test_an_administrator_links_by_subject_and_only_once(desk: Desk, provider: Provider) -> None:
    admin = await desk.sign_in("admin", language="en")
    await desk.app.people.add("mei", "reader", by=COMMAND_LINE)
    assert (await admin.post("/settings/people/mei/accounts", {"subject": " a-1 "})).status_code == 303
    assert (await admin.post("/settings/people/admin/accounts", {"subject": "a-1"})).status_code == 409
    page = await admin.get("/settings/people/mei")
    assert "a-1" in page.text
    assert (await sign_in(desk, provider)).status_code == 303
    assert len(await desk.app.people.list_sessions("mei")) == 1
    (account,) = await desk.app.oidc.list_accounts("mei")
    assert (await admin.post(f"/settings/people/mei/accounts/{account.id}/unlink")).status_code == 303


def change(**values: Any) -> Callable[[Claims], Claims]:
    return lambda claims: {name: value for name, value in {**claims, **values}.items() if value is not None}


@pytest.mark.parametrize(
    ("alter", "words"),
    [
        (change(nonce="of another sign-in"), "belongs to another sign-in"),
        (change(nonce=None), "belongs to another sign-in"),
        (change(aud="another-service"), "made for another service"),
        (change(aud=["monitor", "another"], azp="another"), "made for another service"),
        (change(iss="http://evil.example"), "another issuer"),
        (change(exp=int(time.time()) - 120), "has expired"),
        (change(exp=None), "has expired"),
        (change(sub=None), "lacks something that it must contain"),
    ],
)
async def test_an_id_token_that_does_not_say_what_it_must_signs_nobody_in(
    desk: Desk, provider: Provider, alter: Callable[[Claims], Claims], words: str
) -> None:
    provider.alter = alter
    refused = await sign_in(desk, provider)
    assert refused.status_code == 503
    assert words in refused.text
    assert SESSION_COOKIE not in refused.headers.get("set-cookie", "")
    assert await desk.app.people.list_people() == []
    assert (await list_acts(desk, "session.sign_in_failed"))[0]["reason"].startswith("oidc.")


async def test_a_signature_by_a_foreign_key_signs_nobody_in(desk: Desk, provider: Provider) -> None:
    provider.key = RSAKey.generate_key(2048)
    refused = await sign_in(desk, provider)
    assert (refused.status_code, "not signed with its keys" in refused.text) == (503, True)
    assert await desk.app.people.list_people() == []


async def test_an_answer_counts_once_in_the_browser_that_asked_and_with_its_state(
    desk: Desk, provider: Provider
) -> None:
    client = await desk.client(headers={"Accept-Language": "en"})
    begun = await client.get("/sign-in/oidc")
    back = provider.sign_in(begun.headers["location"], "a-1")
    cookie = client.cookies["monitor_sign_in"]
    assert (await client.get(back)).status_code == 303
    twice = await desk.client(cookies={"monitor_sign_in": cookie}, headers={"Accept-Language": "en"})
    assert (await twice.get(back)).status_code == 403
    client.cookies.clear()
    for wrong in ("&state=x", "&iss=http://evil.example"):  # the last one counts
        begun = await client.get("/sign-in/oidc")
        refused = await client.get(provider.sign_in(begun.headers["location"], "a-1") + wrong)
        assert (refused.status_code, "begin again" in refused.text) == (403, True)
    begun = await client.get("/sign-in/oidc")
    denied = await client.get(provider.deny(begun.headers["location"]))
    assert (denied.status_code, "Staff did not sign you in (access_denied)" in denied.text) == (403, True)
    provider.refuses_tokens = True
    refused = await sign_in(desk, provider)
    assert (refused.status_code, "HTTP 400 invalid_grant" in refused.text) == (503, True)


@pytest.mark.parametrize("desk_settings", [{"create_people": False}], indirect=True)
async def test_nobody_is_added_where_the_settings_forbid_it(desk: Desk, provider: Provider) -> None:
    refused = await sign_in(desk, provider)
    assert (refused.status_code, "not linked to anybody here" in refused.text) == (403, True)
    provider.put_person("b-2", preferred_username="<script>", groups=["it"])
    assert await desk.app.people.list_people() == []


@pytest.mark.parametrize("desk_settings", [{"roles": {}, "default_role": Role.READER}], indirect=True)
async def test_without_groups_a_new_person_gets_the_default_role_and_keeps_what_is_set_here(
    desk: Desk, provider: Provider
) -> None:
    provider.put_person("b-2", preferred_username="<script>")
    refused = await sign_in(desk, provider, "b-2")
    assert (refused.status_code, "gave no usable name" in refused.text) == (403, True)
    assert (await sign_in(desk, provider)).status_code == 303
    await desk.app.people.set_role("lilei", "editor", by=COMMAND_LINE)
    assert (await sign_in(desk, provider)).status_code == 303
    assert (await desk.app.people.get("lilei")).role is Role.EDITOR
    await desk.app.people.block_sign_in("lilei", by=COMMAND_LINE)
    refused = await sign_in(desk, provider)
    assert (refused.status_code, "Your access is suspended" in refused.text) == (403, True)


@pytest.mark.parametrize("desk_settings", [{"passwords": False, "break_glass": "admin"}], indirect=True)
async def test_passwords_end_once_an_administrator_came_in_by_the_provider(desk: Desk, provider: Provider) -> None:
    await desk.sign_in("admin")
    await desk.sign_in("reader")
    provider.put_person("a-1", preferred_username="lilei", groups=["it"])
    assert (await sign_in(desk, provider)).status_code == 303
    client = await desk.client(headers={"Accept-Language": "en"})
    refused = await client.post("/sign-in", data={"name": "reader", "password": PASSWORD})
    assert (refused.status_code, "Passwords are switched off here" in refused.text) == (403, True)
    assert (await client.post("/sign-in", data={"name": "admin", "password": PASSWORD})).status_code == 303


async def test_a_provider_that_is_down_is_said_to_be_and_passwords_go_on(desk: Desk, provider: Provider) -> None:
    oidc = desk.app.settings.auth.oidc.model_copy(update={"issuer": "http://127.0.0.1:9"})
    desk.app.settings.auth = desk.app.settings.auth.model_copy(update={"oidc": oidc})
    client = await desk.client(headers={"Accept-Language": "en"})
    refused = await client.get("/sign-in/oidc")
    assert (refused.status_code, "127.0.0.1:9 cannot be reached" in refused.text) == (503, True)
    await desk.sign_in("reader")
