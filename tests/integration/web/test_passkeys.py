"""Passkeys with Chromium's virtual authenticator: added, used, used twice, copied, on a locked device."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, async_playwright, expect
from sqlalchemy import update

from monitor.config.model import BrowserSettings, Settings
from monitor.db.tables.identity import Passkey
from monitor.fetch.browser.launch import find_browser
from monitor.services.audit import COMMAND_LINE
from monitor.services.identity.passkeys import RelyingParty
from monitor.web.app import serve_web
from tests.integration.web.conftest import PASSWORD, Desk


@pytest.fixture
def desk_settings() -> Callable[[Settings], Settings]:
    def change(settings: Settings) -> Settings:
        settings.web.port = 0
        return settings

    return change


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=find_browser(BrowserSettings()), args=["--no-sandbox"]
        )
        yield await browser.new_page(locale="en", viewport={"width": 390, "height": 844})
        await browser.close()


async def add_authenticator(page: Page) -> Callable[[bool], Any]:
    """A device with a lock, which holds keys itself; returns what says whether its owner unlocks it."""
    session = await page.context.new_cdp_session(page)
    await session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    device = (await session.send("WebAuthn.addVirtualAuthenticator", {"options": options}))["authenticatorId"]
    return lambda is_unlocked: session.send(
        "WebAuthn.setUserVerified", {"authenticatorId": device, "isUserVerified": is_unlocked}
    )


async def test_a_passkey_signs_in_once_a_time_with_the_device_unlocked_and_not_as_a_copy(
    desk: Desk, page: Page
) -> None:
    await desk.app.people.add("reader", "reader", by=COMMAND_LINE)
    await desk.app.people.set_password("reader", PASSWORD, by=COMMAND_LINE)
    async with serve_web(desk.app) as address:
        root = address.replace("127.0.0.1", "localhost").rstrip("/")
        unlock = await add_authenticator(page)
        await page.goto(f"{root}/sign-in")
        await page.get_by_label("User name").fill("reader")
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Sign in", exact=True).click()
        await page.goto(f"{root}/account/sign-in")
        await page.get_by_label("Name").fill("my phone")
        await page.get_by_role("button", name="Add a passkey").click()
        await expect(page.get_by_role("rowheader", name="my phone")).to_be_visible(timeout=60_000)

        async def sign_in() -> None:
            await page.context.clear_cookies()
            await page.goto(f"{root}/sign-in?next=/items")
            await page.get_by_role("button", name="Sign in with a passkey").click()

        async with page.expect_request(f"{root}/sign-in/passkey") as sent:
            await sign_in()
        await page.wait_for_url(f"{root}/items")
        used = await sent.value
        (key,) = await desk.app.passkeys.list("reader")
        assert (key.label, key.last_used_at is not None) == ("my phone", True)

        async with httpx.AsyncClient(trust_env=False, timeout=60) as client:  # the very same answer again
            headers = {"cookie": (await used.all_headers())["cookie"], "content-type": "application/json"}
            again = await client.post(f"{root}/sign-in/passkey", content=used.post_data, headers=headers)
        assert (again.status_code, again.json()["code"]) == (403, "sign_in.flow_over")

        await unlock(False)
        await sign_in()
        await expect(page.get_by_role("alert")).to_be_visible(timeout=60_000)
        await unlock(True)
        async with desk.app.store.sessions.begin_write() as session:  # as if a copy had been used more often
            await session.execute(update(Passkey).values(sign_count=1_000_000))
        await sign_in()
        await expect(page.get_by_role("alert")).to_contain_text("could not be verified", timeout=60_000)
        await desk.app.passkeys.remove("reader", key.id or 0, by=COMMAND_LINE)
        await sign_in()
        await expect(page.get_by_role("alert")).to_contain_text("does not belong to anybody", timeout=60_000)
    acts = [entry.action for entry in await desk.app.audit.list_entries(person="reader")]
    assert acts.count("passkey.add") == 1
    assert acts.count("session.sign_in") == 2


def test_a_passkey_is_made_for_a_name_that_browsers_trust() -> None:
    assert RelyingParty.from_url("https://desk.example/monitor/") == RelyingParty(
        "desk.example", "https://desk.example"
    )
    assert RelyingParty.from_url("http://localhost:8000/") == RelyingParty("localhost", "http://localhost:8000")
    for url in ("http://desk.example/", "https://10.0.0.5/", "http://127.0.0.1:8000/", "https://[::1]/"):
        assert RelyingParty.from_url(url) is None


async def test_a_made_up_answer_is_refused_in_words(desk: Desk) -> None:
    desk.web.state.templates.public_url = "https://desk.example"
    reader = await desk.sign_in("reader", language="en")
    asked = (await reader.send("POST", "/account/sign-in/passkeys/options")).json()
    assert (asked["rp"]["id"], asked["authenticatorSelection"]["userVerification"]) == ("desk.example", "required")
    for credential in ({}, {"id": "AA", "rawId": "AA", "type": "public-key", "response": {"clientDataJSON": "AA"}}):
        await reader.send("POST", "/account/sign-in/passkeys/options")
        body = {"credential": credential, "label": "x"}
        refused = await reader.send("POST", "/account/sign-in/passkeys", json=body)
        assert (refused.status_code, refused.json()["code"]) == (403, "passkey.not_proved")
        stranger = await desk.client()
        await stranger.post("/sign-in/passkey/options")
        refused = await stranger.post("/sign-in/passkey", json={"credential": credential})
        assert (refused.status_code, refused.json()["code"]) == (403, "passkey.unknown")
