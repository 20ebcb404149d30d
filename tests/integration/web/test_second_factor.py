"""The pages of the second factor, as a browser without scripts walks through them."""

import re
from typing import Any

import pytest

from tests.integration.services.test_second_factor import code_of
from tests.integration.web.conftest import PASSWORD, Browser, Desk

PAGE = "/account/sign-in/second-factor"


@pytest.fixture
async def browser(desk: Desk) -> Browser:
    return await desk.sign_in("reader", language="en")


async def set_up(desk: Desk, browser: Browser) -> tuple[str, list[str]]:
    """What the app is set up with, and the recovery codes."""
    page = await browser.get(PAGE)
    secret = re.search(r'class="secret">([A-Z2-7]{32})<', page.text)
    assert secret is not None
    assert 'src="data:image/svg+xml' in page.text
    answer = await browser.post(PAGE, {"code": code_of(secret[1], desk.app.clock, steps=-1)})
    assert answer.status_code == 200
    return secret[1], re.findall(r"<li><code>([a-z0-9-]{23})</code>", answer.text)


async def test_a_code_is_asked_for_after_the_password_and_leads_where_one_wanted(desk: Desk, browser: Browser) -> None:
    await browser.get(PAGE)
    refused = await browser.post(PAGE, {"code": "1"})
    assert (refused.status_code, "This code is wrong" in refused.text) == (400, True)
    secret, codes = await set_up(desk, browser)
    assert len(codes) == 10
    assert codes[0] not in (await browser.get("/account/sign-in")).text
    client = await desk.client(headers={"Accept-Language": "en"})
    assert (await client.get("/sign-in/code?next=/items")).headers["location"] == "/sign-in?next=%2Fitems"
    answer = await client.post("/sign-in", data={"name": "reader", "password": PASSWORD, "next": "/items"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in/code?next=%2Fitems")
    assert (await client.get("/api/v1/me")).status_code == 401
    form = await client.get("/sign-in/code?next=/items")
    assert 'autocomplete="one-time-code"' in form.text
    for _ in range(5):
        wrong = await client.post("/sign-in/code", data={"code": "000000", "next": "/items"})
        assert (wrong.status_code, "This code is wrong" in wrong.text) == (403, True)
    held = await client.post("/sign-in/code", data={"code": code_of(secret, desk.app.clock)})
    assert held.status_code == 429
    assert 0 < int(held.headers["retry-after"]) <= 900
    await desk.app.store.people.clear_sign_in_attempts([], key="code reader")
    foreign = {"sec-fetch-site": "cross-site"}
    assert (await client.post("/sign-in/code", data={"code": codes[0]}, headers=foreign)).status_code == 403
    answer = await client.post("/sign-in/code", data={"code": codes[0], "next": "/items"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/items")
    assert (await client.get("/api/v1/me")).json()["name"] == "reader"


async def test_one_switches_it_off_with_a_code_and_an_administrator_without(desk: Desk, browser: Browser) -> None:
    _, codes = await set_up(desk, browser)
    assert "second factor" not in (await browser.get("/account")).text
    refused = await browser.post(f"{PAGE}/remove", {"code": "000000"})
    assert refused.status_code == 400
    answer = await browser.post(f"{PAGE}/recovery-codes", {"code": codes[0]})
    new = re.findall(r"<li><code>([a-z0-9-]{23})</code>", answer.text)
    assert len(new) == 10
    answer = await browser.post(f"{PAGE}/remove", {"code": new[0]})
    assert answer.headers["location"] == "/account/sign-in"
    await set_up(desk, browser)
    admin = await desk.sign_in("admin", language="en")
    assert "second factor" in (await admin.get("/settings/people")).text
    person: dict[str, Any] = (await admin.get("/api/v1/people/reader")).json()
    assert person["has_second_factor"] is True
    assert "Reset the authenticator app" in (await admin.get("/settings/people/reader")).text
    answer = await admin.post("/settings/people/reader/second-factor/remove")
    assert answer.status_code == 303
    assert (await admin.send("DELETE", "/api/v1/people/reader/second-factor")).status_code == 404
    assert await desk.sign_in("reader")
