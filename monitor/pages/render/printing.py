"""An HTML document of ours, printed as PDF by a browser that can reach nothing."""

import asyncio
import contextlib
import os

from playwright.async_api import Browser, Route, async_playwright
from playwright.async_api import Error as PlaywrightError

from monitor.errors import BrowserMissing, WorkFailed
from monitor.pages.browser import find_browser
from monitor.pages.render.complaints import why_not_started
from monitor.pages.render.tab import quietly
from monitor.settings import BrowserSettings

_TIMEOUT_S = 120.0
_FLAGS = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run")


async def print_pdf(page: bytes, settings: BrowserSettings) -> bytes:
    """The document on sheets, tagged, with bookmarks and the fonts that it uses; in a browser of its own.

    It must be whole in itself: no address is asked and no script is run. Size and numbers of pages are for its style
    sheet to set. `BrowserMissing` where no browser can be started, `WorkFailed` where it does not print.
    """
    async with contextlib.AsyncExitStack() as stack:
        browser = await _started(settings, stack)
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                context = await browser.new_context(java_script_enabled=False, offline=True)
                stack.push_async_callback(quietly, context.close)
                await context.route("**/*", _refuse)
                tab = await context.new_page()
                await tab.set_content(page.decode(), timeout=0)
                return await tab.pdf(prefer_css_page_size=True, print_background=True, tagged=True, outline=True)
        except TimeoutError:
            raise WorkFailed(f"The browser did not print the document within {_TIMEOUT_S:g} s.") from None
        except PlaywrightError as error:
            raise WorkFailed(f"The browser could not print the document: {error.message}.") from error


async def _started(settings: BrowserSettings, stack: contextlib.AsyncExitStack) -> Browser:
    path = None if settings.endpoint else find_browser(settings)
    playwright = await stack.enter_async_context(async_playwright())
    try:
        if settings.endpoint:
            browser = await playwright.chromium.connect_over_cdp(settings.endpoint)
        else:
            browser = await playwright.chromium.launch(
                executable_path=path,
                args=_FLAGS,
                chromium_sandbox=os.geteuid() != 0,
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
            )
    except PlaywrightError as error:
        raise BrowserMissing(why_not_started(error.message, path, settings.endpoint)) from error
    stack.push_async_callback(quietly, browser.close)
    return browser


async def _refuse(route: Route) -> None:
    await route.abort("blockedbyclient")
