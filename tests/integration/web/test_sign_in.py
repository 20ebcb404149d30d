"""Signing in by the page: who gets in, what the cookies are, what a forged request comes to."""

from collections.abc import Callable
from http.cookies import Morsel, SimpleCookie
from pathlib import Path
from typing import Any

import httpx
import pytest

from monitor.bootstrap import open_app
from monitor.config.model import Settings
from monitor.services.audit import COMMAND_LINE
from monitor.web.app import serve_web
from monitor.web.auth import DEVICE_COOKIE, SESSION_COOKIE
from tests.integration.web.conftest import PASSWORD


@pytest.fixture
def desk_settings(request: pytest.FixtureRequest) -> Callable[[Settings], Settings]:
    url = getattr(request, "param", None)
    return lambda settings: settings.model_copy(update={"web": settings.web.model_copy(update={"public_url": url})})


def cookie_of(answer: httpx.Response, name: str = SESSION_COOKIE) -> "Morsel[str]":
    cookies: SimpleCookie = SimpleCookie()
    for header in answer.headers.get_list("set-cookie"):
        cookies.load(header)
    return cookies[name]


async def test_the_first_administrator_chooses_a_password_before_anything_else(desk: Any) -> None:
    password = await desk.app.people.create_first_admin()
    client = await desk.client()
    page = await client.get("/sign-in")
    assert "一次性密码" in page.text
    answer = await client.post("/sign-in", data={"name": "admin", "password": password, "next": "/audit"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/account")
    assert (await client.get("/audit")).headers["location"] == "/account"
    assert (await client.get("/api/v1/me")).status_code == 403
    page = await client.get("/account")
    assert "设置密码" in page.text
    csrf = page.text.split('name="csrf-token" content="')[1].split('"')[0]
    for new, again, report in (("short", "short", "至少 12 个字符"), (PASSWORD, PASSWORD[1:], "不一致")):
        refused = await client.post("/account/password", data={"csrf": csrf, "new": new, "again": again})
        assert refused.status_code == 400
        assert report in refused.text
    answer = await client.post("/account/password", data={"csrf": csrf, "new": PASSWORD, "again": PASSWORD})
    assert answer.headers["location"] == "/"
    assert (await client.get("/audit")).status_code == 200
    assert "一次性密码" not in (await (await desk.client()).get("/sign-in")).text


async def test_every_sign_in_has_a_cookie_of_its_own_and_ends_the_session_before(desk: Any) -> None:
    await desk.sign_in("reader")
    client = await desk.client(cookies={SESSION_COOKIE: "planted-by-somebody-else"})
    asked = {"name": "reader", "password": PASSWORD}
    first = cookie_of(await client.post("/sign-in", data=asked)).value
    second = cookie_of(await client.post("/sign-in", data=asked)).value
    assert len({first, second, "planted-by-somebody-else"}) == 3
    assert await desk.app.people.authenticate(first) is None
    assert await desk.app.people.authenticate(second) is not None
    stranger = await desk.client(cookies={SESSION_COOKIE: "planted-by-somebody-else"})
    assert (await stranger.get("/api/v1/me")).status_code == 401


@pytest.mark.parametrize(
    ("desk_settings", "path", "is_secure"),
    [(None, "/", False), ("http://desk.example/monitor", "/monitor", False), ("https://desk.example/m/", "/m", True)],
    indirect=["desk_settings"],
)
async def test_the_cookie_is_kept_from_scripts_and_other_paths(desk: Any, path: str, is_secure: bool) -> None:
    await desk.app.people.add("reader", "reader", by=COMMAND_LINE)
    await desk.app.people.set_password("reader", PASSWORD, by=COMMAND_LINE)
    client = await desk.client()
    cookie = cookie_of(await client.post("/sign-in", data={"name": "reader", "password": PASSWORD}))
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "lax", path)
    assert bool(cookie["secure"]) is is_secure


@pytest.mark.parametrize(
    ("wanted", "place"),
    [
        ("/account?x=1", "/account?x=1"),
        ("https://evil.example/", "/"),
        ("//evil.example", "/"),
        ("/\\evil", "/"),
        ("/a\r\nSet-Cookie: x=y", "/"),
        ("javascript:alert(1)", "/"),
        ("", "/"),
    ],
)
async def test_nobody_is_sent_away_from_here(desk: Any, wanted: str, place: str) -> None:
    await desk.sign_in("reader")
    client = await desk.client()
    answer = await client.post("/sign-in", data={"name": "reader", "password": PASSWORD, "next": wanted})
    assert (answer.status_code, answer.headers["location"]) == (303, place)
    assert (await client.get("/sign-in", params={"next": wanted})).headers["location"] == place


async def test_a_page_is_come_back_to_after_signing_in(desk: Any) -> None:
    await desk.sign_in("reader")
    client = await desk.client()
    answer = await client.get("/account?tab=a&b=1")
    assert answer.status_code == 303
    page = await client.get(answer.headers["location"])
    assert 'name="next" value="/account?tab=a&amp;b=1"' in page.text


async def test_a_refusal_does_not_tell_names_apart_and_too_many_are_waited_for(desk: Any) -> None:
    await desk.sign_in("reader")
    client = await desk.client(headers={"Accept-Language": "en"})
    pages = [await client.post("/sign-in", data={"name": name, "password": "wrong"}) for name in ("reader", "nobody")]
    assert [page.status_code for page in pages] == [403, 403]
    assert pages[0].text.replace("reader", "nobody") == pages[1].text
    assert "monitor_session" not in str(pages[0].headers)
    for _ in range(4):
        await client.post("/sign-in", data={"name": "reader", "password": "wrong"})
    held = await client.post("/sign-in", data={"name": "reader", "password": PASSWORD})
    assert (held.status_code, held.headers["retry-after"]) == (429, "900")
    assert "15 minutes" in held.text


async def test_a_form_of_another_site_signs_nobody_in(desk: Any) -> None:
    await desk.sign_in("reader")
    client = await desk.client(headers={"Sec-Fetch-Site": "cross-site"})
    answer = await client.post("/sign-in", data={"name": "reader", "password": PASSWORD})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


async def test_a_request_without_the_word_of_our_page_changes_nothing(desk: Any) -> None:
    reader, admin = await desk.sign_in("reader"), await desk.sign_in("admin")
    for word in ({}, {"csrf": ""}, {"csrf": admin.csrf}, {"csrf": reader.csrf + "x"}):
        answer = await reader.client.post("/account/language", data={"language": "en", **word})
        assert answer.status_code == 403
    assert (await reader.client.put("/api/v1/me/language", json={"language": "en"})).status_code == 403
    assert (await desk.app.people.get("reader")).language is None
    assert (await reader.post("/account/language", {"language": "en"})).status_code == 303
    assert (await reader.send("PUT", "/api/v1/me/language", json={"language": "zh"})).status_code == 204
    assert (await desk.app.people.get("reader")).language == "zh"
    program = await desk.program("admin")
    assert (await program.post("/api/v1/tokens", json={"name": "made-by-a-program"})).status_code == 201


async def test_signing_out_ends_the_session_and_takes_the_cookie(desk: Any) -> None:
    browser = await desk.sign_in("reader")
    cookie = browser.client.cookies[SESSION_COOKIE]
    answer = await browser.post("/sign-out")
    assert answer.headers["location"] == "/sign-in"
    assert cookie_of(answer)["max-age"] == "0"
    assert await desk.app.people.authenticate(cookie) is None


async def test_the_language_is_chosen_before_signing_in_and_kept(desk: Any) -> None:
    client = await desk.client()
    assert 'lang="zh-CN"' in (await client.get("/sign-in")).text
    answer = await client.get("/sign-in", params={"language": "en", "next": "/audit"})
    assert answer.headers["location"] == "/sign-in?next=%2Faudit"
    page = await client.get(answer.headers["location"])
    assert '<html lang="en">' in page.text
    assert 'value="/audit"' in page.text


@pytest.mark.parametrize("trusted", [[], ["203.0.113.0/24"]])
async def test_an_address_that_the_client_makes_up_does_not_pass_the_limit(
    tmp_path: Path, sqlite_url: str, free_port: int, trusted: list[str]
) -> None:
    web = {"port": free_port, "trusted_proxies": trusted}
    settings = Settings(data_dir=tmp_path, database_url=sqlite_url, web=web)
    async with open_app(settings) as app, serve_web(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as client:
        statuses = []
        for number in range(22):
            made_up = {"X-Forwarded-For": f"198.51.100.{number}", "Forwarded": f"for=198.51.100.{number}"}
            form = {"name": f"guess-{number}", "password": "wrong"}
            statuses.append((await client.post("sign-in", data=form, headers=made_up)).status_code)
        assert statuses == [403] * 20 + [429] * 2
        assert {entry.address for entry in await app.audit.list_entries()} == {"127.0.0.1"}


async def test_a_trusted_proxy_names_the_client(tmp_path: Path, sqlite_url: str, free_port: int) -> None:
    web = {"port": free_port, "trusted_proxies": ["127.0.0.1", "10.0.0.0/8"]}
    settings = Settings(data_dir=tmp_path, database_url=sqlite_url, web=web)
    async with open_app(settings) as app, serve_web(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as client:
        form = {"name": "guess", "password": "wrong"}
        named = {"X-Forwarded-For": "198.51.100.1, 203.0.113.5, 10.1.2.3"}
        assert (await client.post("sign-in", data=form, headers=named)).status_code == 403
        (entry,) = await app.audit.list_entries()
        assert entry.address == "203.0.113.5"


async def test_a_browser_that_signed_in_before_is_not_held_off_by_others(desk: Any) -> None:
    browser, stranger = await desk.sign_in("reader"), await desk.client()
    device = browser.client.cookies[DEVICE_COOKIE]
    await browser.post("/sign-out")
    for _ in range(25):
        await stranger.post("/sign-in", data={"name": "reader", "password": "wrong"})
    asked = {"name": "reader", "password": PASSWORD}
    assert (await stranger.post("/sign-in", data=asked)).status_code == 429
    answer = await browser.client.post("/sign-in", data=asked)
    assert answer.status_code == 303
    kept = cookie_of(answer, DEVICE_COOKIE)
    assert (kept.value, kept["httponly"], kept["samesite"]) == (device, True, "lax")
    assert int(kept["max-age"]) == 400 * 86_400
