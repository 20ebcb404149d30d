"""People who use the pages, in a real browser: what they see, click and type, in either language."""

import asyncio
import re
from dataclasses import dataclass

from playwright.async_api import Locator, Page, expect

from monitor.i18n.catalogue import translate

PASSWORD = "rain on the third bridge"  # noqa: S105 -- of a service that lives for one test
TIMEOUT_MS = 90_000


@dataclass
class Service:
    """`monitor serve` as it was started by hand: where it answers and the password that it printed."""

    address: str
    one_time: str
    process: asyncio.subprocess.Process


@dataclass
class Person:
    """Somebody at a browser, in one language."""

    page: Page
    language: str
    address: str

    def words(self, english: str, **values: object) -> str:
        said = translate(self.language, english)
        return said % values if values else said

    def link(self, english: str) -> Locator:
        return self.page.get_by_role("link", name=self.words(english), exact=True)

    def button(self, english: str) -> Locator:
        return self.page.get_by_role("button", name=self.words(english), exact=True)

    def field(self, english: str) -> Locator:
        return self.page.get_by_label(re.compile(f"^{re.escape(self.words(english))}( |$)"))

    def main(self, english: str) -> Locator:
        """An entry of the navigation."""
        return self.page.get_by_role("navigation").first.get_by_role("link", name=re.compile(f"^{self.words(english)}"))

    async def sign_in(self, name: str, password: str) -> None:
        await self.page.goto(self.address)
        await self.field("User name").fill(name)
        await self.field("Password").fill(password)
        await self.button("Sign in").click()

    async def choose_password(self, password: str) -> None:
        await self.field("New password").fill(password)
        await self.field("New password, once more").fill(password)
        await self.button("Change the password").click()

    async def sees(self, english: str, **values: object) -> None:
        await expect(self.page.get_by_text(self.words(english, **values)).first).to_be_visible(timeout=TIMEOUT_MS)
