"""Finding the Chromium on this machine, the environment that it gets, and the meaning of its errors.

`python -m monitor.fetch.browser.launch` prints where it is.
"""

import importlib.util
import json
import os
import shutil
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.config.loading import load_settings
from monitor.config.model import BrowserSettings
from monitor.errors import BrowserMissing, MonitorError
from monitor.extras import check_extra
from monitor.fetch.result import FetchError
from monitor.i18n.message import Message
from monitor.isolation.environment import build_child_environment
from monitor.page import PageErrorCode

if TYPE_CHECKING:
    from playwright.async_api import Playwright

_EXECUTABLES = ("chromium-headless-shell", "chromium", "google-chrome")

# Where Playwright unpacks what it downloads, by the name of the download in its list of browsers.
_PLAYWRIGHT_PATTERNS = {
    "chromium-headless-shell": ("*/chrome-headless-shell", "*/headless_shell"),
    "chromium": ("*/chrome", "*/Chromium.app/Contents/MacOS/Chromium"),
}

_DRIVER_PREFIXES = ("PLAYWRIGHT_", "PW_", "NODE_EXTRA_CA_CERTS")

# The browser itself refuses other schemes, ports of mail and the like.
_FORBIDDEN_ERRORS = (
    "ERR_BLOCKED_BY_CLIENT",
    "ERR_UNSAFE_REDIRECT",
    "ERR_UNSAFE_PORT",
    "ERR_UNKNOWN_URL_SCHEME",
    "ERR_DISALLOWED_URL_SCHEME",
)
# What Chromium writes where the system gives it no namespaces to shut its processes in.
_SANDBOX_ERRORS = ("No usable sandbox", "Failed to move to new namespace")
_INVALID_URL_ERRORS = ("ERR_INVALID_URL", "ERR_INVALID_REDIRECT")
_NO_REASON = Message("browser.no_reason")


def find_browser(settings: BrowserSettings) -> Path:
    """Return the Chromium to start: the configured one, Playwright's own if it was downloaded, else one on the PATH.

    The headless shell comes before the full browser, which starts slower and needs nearly twice the memory. Raises
    `BrowserMissing` if there is none, if the configured path is wrong, or without the library that drives it.
    """
    check_extra("browser", BrowserMissing)
    if settings.path is not None:
        if settings.path.is_file() and os.access(settings.path, os.X_OK):
            return settings.path
        raise BrowserMissing("browser.path_invalid", path=str(settings.path))
    if downloaded := _find_playwright_browser():
        return downloaded
    for name in _EXECUTABLES:
        if found := shutil.which(name):
            return Path(found)
    raise BrowserMissing("browser.not_found")


def _find_playwright_browser() -> Path | None:
    """Look it up in Playwright's own list of browsers, because asking Playwright would start its driver."""
    package = importlib.util.find_spec("playwright")
    if package is None or not package.submodule_search_locations:
        return None
    listing = Path(package.submodule_search_locations[0]) / "driver" / "package" / "browsers.json"
    if not listing.is_file():
        return None
    revisions = {entry["name"]: entry["revision"] for entry in json.loads(listing.read_text())["browsers"]}
    for name, patterns in _PLAYWRIGHT_PATTERNS.items():
        folder = _get_playwright_folder() / f"{name.replace('-', '_')}-{revisions.get(name)}"
        for path in (path for pattern in patterns for path in sorted(folder.glob(pattern))):
            if os.access(path, os.X_OK):
                return path
    return None


def _get_playwright_folder() -> Path:
    configured = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    if configured and configured != "0":
        return Path(configured)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "ms-playwright"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ms-playwright"


def build_browser_environment() -> dict[str, str]:
    """Return the environment of the browser and of Playwright's driver: neither has a use for our secrets."""
    return build_child_environment(keep=[name for name in os.environ if name.startswith(_DRIVER_PREFIXES)])


def start_driver() -> "AbstractAsyncContextManager[Playwright]":
    """Return Playwright, whose driver starts with the block, in an environment without secrets.

    Playwright copies the whole environment of this process and has no option against it, so the function that copies is
    replaced; a test reads what the driver really got.
    """
    from playwright._impl import transport
    from playwright._impl._driver import get_driver_env
    from playwright.async_api import async_playwright

    def build_driver_environment() -> dict[str, str]:
        own = {name: value for name, value in get_driver_env().items() if name.startswith("PW_")}
        return build_browser_environment() | own

    transport.get_driver_env = build_driver_environment  # type: ignore[attr-defined]
    return async_playwright()


def map_browser_error(error_text: str) -> FetchError:
    """Return the page's error for what the browser says about a page that it could not load."""
    message = error_text.splitlines()[0] if error_text else ""
    if "Download is starting" in message:
        return FetchError.of(PageErrorCode.UNSUPPORTED_TYPE, "page.document")
    if any(word in message for word in _FORBIDDEN_ERRORS):
        return build_forbidden_error()
    if any(word in message for word in _INVALID_URL_ERRORS):
        return FetchError.of(PageErrorCode.INVALID_URL, "page.leads_to_no_url")
    if "ERR_TOO_MANY_REDIRECTS" in message:
        return FetchError.of(PageErrorCode.NETWORK, "page.endless_redirects")
    reason = next((word for word in message.split() if word.startswith("net::")), message[:200])
    return FetchError.of(
        PageErrorCode.NETWORK, "page.browser_failed", reason=reason.removeprefix("net::") or _NO_REASON
    )


def build_forbidden_error() -> FetchError:
    return FetchError.of(PageErrorCode.FORBIDDEN, "page.address_refused")


def build_start_error(error_text: str, settings: BrowserSettings, path: Path | None = None) -> BrowserMissing:
    """Return the error of a browser that is there and cannot be used; `path` is the program that was started."""
    reason = error_text.splitlines()[0] if error_text else _NO_REASON
    if any(words in error_text for words in _SANDBOX_ERRORS):
        return BrowserMissing("browser.no_sandbox", path=str(path or find_browser(settings)))
    if settings.endpoint:
        return BrowserMissing("browser.endpoint_silent", endpoint=settings.endpoint, reason=reason)
    return BrowserMissing("browser.not_started", path=str(path or find_browser(settings)), reason=reason)


def main() -> int:
    """Print the browser's path and return 0, or print what is missing and return 1."""
    try:
        sys.stdout.write(f"{find_browser(load_settings().pages.browser)}\n")
    except MonitorError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
