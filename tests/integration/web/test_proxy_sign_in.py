"""Sign-in by a proxy in front: whose header counts, who is let in, and what signing out comes to."""

from typing import Any

import httpx
import pytest

from monitor.config.auth import AuthSettings, ProxySettings
from monitor.config.model import Settings
from monitor.services.audit import COMMAND_LINE
from monitor.vocabulary import Role
from monitor.web.app import create_web_app
from tests.integration.web.conftest import PASSWORD, Desk

PROXY, FORWARDER = "10.0.0.5", "10.0.0.9"


@pytest.fixture
def desk_settings(request: pytest.FixtureRequest) -> Any:
    """A proxy that signs people in, behind or beside one that merely forwards."""
    chosen: dict[str, Any] = {"create_people": True, **getattr(request, "param", {})}
    proxy = ProxySettings(header="Remote-User", networks=["10.0.0.0/29"], sign_out_url="/oauth2/sign_out", **chosen)

    def change(settings: Settings) -> Settings:
        web = settings.web.model_copy(update={"trusted_proxies": [PROXY, FORWARDER]})
        return settings.model_copy(update={"auth": AuthSettings(proxy=proxy), "web": web})

    return change


def connect(desk: Desk, peer: str = PROXY, headers: Any = ()) -> httpx.AsyncClient:
    """A browser whose requests come from an address, with these headers."""
    transport = httpx.ASGITransport(app=desk.web, client=(peer, 4711), raise_app_exceptions=False)
    given = [(name.encode(), value.encode()) for name, value in (("accept-language", "en"), *headers)]
    return httpx.AsyncClient(transport=transport, base_url="http://monitor.test", headers=given)


async def test_whom_the_proxy_names_is_signed_in_and_goes_where_they_wanted(desk: Desk) -> None:
    client = connect(desk, headers=[("remote-user", "李雷")])
    assert (await client.get("/items")).headers["location"] == "/sign-in?next=%2Fitems"
    answer = await client.get("/sign-in?next=/items")
    assert (answer.status_code, answer.headers["location"]) == (303, "/items")
    assert (await client.get("/api/v1/me")).json() == {"name": "李雷", "role": "reader"}
    (session,) = await desk.app.people.list_sessions("李雷")
    assert session.ends_at is not None
    assert (session.ends_at - session.created_at).total_seconds() == 86_400
    (added,) = await desk.app.audit.list_entries(action="person.add")
    assert (added.person, added.detail["after"]) == ("service", {"role": "reader", "proxy": "Remote-User"})
    (signed_in,) = await desk.app.audit.list_entries(action="session.sign_in")
    assert (signed_in.address, signed_in.detail["method"]) == (PROXY, "proxy")


@pytest.mark.parametrize(
    ("peer", "headers"),
    [
        ("192.0.2.7", [("remote-user", "chef")]),
        ("192.0.2.7", [("remote-user", "chef"), ("x-forwarded-for", PROXY)]),
        (FORWARDER, [("remote-user", "chef"), ("x-forwarded-for", PROXY)]),  # the forwarder is no proxy of sign-ins
        (PROXY, [("remote-user", "chef"), ("remote-user", "lilei")]),  # one of them is the client's own
        (PROXY, [("remote-user", "lilei"), ("REMOTE-USER", "chef")]),
        (PROXY, [("remote_user", "chef")]),
        (PROXY, [("remote-user", "")]),
        ("", [("remote-user", "chef")]),
    ],
)
async def test_a_forged_header_signs_nobody_in(desk: Desk, peer: str, headers: list[tuple[str, str]]) -> None:
    await desk.app.people.add("chef", "admin", by=COMMAND_LINE)
    client = connect(desk, peer, headers)
    answer = await client.get("/sign-in?next=/items")
    assert (answer.status_code, "set-cookie" in answer.headers) == (200, False)
    assert "Go on as" not in answer.text
    assert (await client.get("/api/v1/me")).status_code == 401
    assert await desk.app.people.list_sessions() == []


async def test_a_header_that_is_not_trusted_neither_ends_a_session_nor_begins_one(desk: Desk) -> None:
    browser = await desk.sign_in("reader")
    answer = await browser.get("/api/v1/me", headers={"remote-user": "chef"})
    assert answer.json()["name"] == "reader"


async def test_without_the_setting_nobody_s_header_counts(desk: Desk) -> None:
    desk.app.settings = desk.app.settings.model_copy(update={"auth": AuthSettings()})
    desk.web = create_web_app(desk.app)
    client = connect(desk, headers=[("remote-user", "chef")])
    assert (await client.get("/sign-in")).status_code == 200


async def test_a_session_is_of_whom_the_proxy_names_now(desk: Desk) -> None:
    client = connect(desk, headers=[("remote-user", "lilei")])
    await client.get("/sign-in")
    client.headers["remote-user"] = "hanmeimei"
    assert (await client.get("/api/v1/me")).status_code == 401
    assert (await client.get("/sign-in")).status_code == 303
    assert (await client.get("/api/v1/me")).json()["name"] == "hanmeimei"
    assert await desk.app.people.list_sessions("lilei") == []


async def test_signing_out_holds_until_one_goes_on_and_leads_to_the_proxy_s_own(desk: Desk) -> None:
    client = connect(desk, headers=[("remote-user", "lilei")])
    await client.get("/sign-in")
    csrf = (await client.get("/account")).text.split('name="csrf-token" content="')[1].split('"')[0]
    answer = await client.post("/sign-out", data={"csrf": csrf})
    assert answer.headers["location"] == "/sign-in?signed_out=true"
    page = await client.get("/sign-in?signed_out=true")
    assert "Go on as lilei" in page.text
    assert 'href="/oauth2/sign_out"' in page.text
    assert (await client.get("/api/v1/me")).status_code == 401
    assert (await client.get("/sign-in")).status_code == 303


@pytest.mark.parametrize("desk_settings", [{"create_people": False}], indirect=True)
async def test_who_is_unknown_or_suspended_is_refused_in_words(desk: Desk) -> None:
    client = connect(desk, headers=[("remote-user", "lilei")])
    refused = await client.get("/sign-in")
    assert (refused.status_code, "Nobody here is called lilei" in refused.text) == (403, True)
    await desk.app.people.add("lilei", "editor", by=COMMAND_LINE)  # with a one-time password, which they do not need
    assert (await client.get("/sign-in?next=/items")).headers["location"] == "/items"
    assert (await client.get("/items")).status_code == 200
    await desk.app.people.block_sign_in("lilei", by=COMMAND_LINE)
    refused = await client.get("/sign-in")
    assert (refused.status_code, "is suspended" in refused.text) == (403, True)
    assert len(await desk.app.audit.list_entries(action="session.sign_in_failed")) == 2


@pytest.mark.parametrize("desk_settings", [{"default_role": "editor"}], indirect=True)
async def test_new_people_get_the_role_of_the_settings_and_no_name_that_is_none(desk: Desk) -> None:
    await connect(desk, headers=[("remote-user", "lilei")]).get("/sign-in")
    assert (await desk.app.people.get("lilei")).role is Role.EDITOR
    for name in ("LiLei", "cli", "a b", "../x"):
        refused = await connect(desk, headers=[("remote-user", name)]).get("/sign-in")
        assert refused.status_code == 403, name
    assert [person.name for person in await desk.app.people.list_people()] == ["lilei"]


async def test_passwords_go_on_working_for_who_comes_past_the_proxy(desk: Desk) -> None:
    await desk.app.people.add("reader", "reader", by=COMMAND_LINE)
    await desk.app.people.set_password("reader", PASSWORD, by=COMMAND_LINE)
    client = connect(desk, "192.0.2.7")
    assert (await client.post("/sign-in", data={"name": "reader", "password": PASSWORD})).status_code == 303
