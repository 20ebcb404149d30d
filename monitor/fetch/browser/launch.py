"""Finding a Chromium on this machine. `python -m monitor.pages.browser` prints where it is."""

import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path

from monitor.config.loading import load_settings
from monitor.config.model import BrowserSettings
from monitor.errors import BrowserMissing, MonitorError
from monitor.fetch.result import FetchError, build_fetch_error
from monitor.page import PageErrorCode

_EXECUTABLES = ("chromium-headless-shell", "chromium", "google-chrome")

_INSTALL_HINT = (
    "install one with `playwright install chromium` or `apt install chromium-headless-shell`, "
    "or name it under pages.browser.path."
)

# Where Playwright unpacks what it downloads, by the name of the download in its list of browsers.
_PLAYWRIGHT_PATTERNS = {
    "chromium-headless-shell": ("*/chrome-headless-shell", "*/headless_shell"),
    "chromium": ("*/chrome", "*/Chromium.app/Contents/MacOS/Chromium"),
}


def find_browser(settings: BrowserSettings) -> Path:
    """The Chromium to start: the configured one, Playwright's own if it was downloaded, else one on the PATH.

    The headless shell comes before the full browser, which starts slower and needs nearly twice the memory.
    `BrowserMissing` says in one sentence how to get one; a configured path that is wrong is never passed over.
    """
    if settings.path is not None:
        if settings.path.is_file() and os.access(settings.path, os.X_OK):
            return settings.path
        raise BrowserMissing(f"pages.browser.path {settings.path} is no program; mend it or remove it to look for one.")
    downloaded = _find_playwright_browser()
    if downloaded is not None:
        return downloaded
    for name in _EXECUTABLES:
        if found := shutil.which(name):
            return Path(found)
    raise BrowserMissing(f"There is no Chromium on this machine; {_INSTALL_HINT}")


def _find_playwright_browser() -> Path | None:
    """Read from Playwright's own list of browsers, because asking Playwright would start its driver."""
    package = importlib.util.find_spec("playwright")
    if package is None or not package.submodule_search_locations:
        return None
    listing = Path(package.submodule_search_locations[0]) / "driver" / "package" / "browsers.json"
    if not listing.is_file():
        return None
    revisions = {entry["name"]: entry["revision"] for entry in json.loads(listing.read_text())["browsers"]}
    for name, patterns in _PLAYWRIGHT_PATTERNS.items():
        folder = _get_playwright_folder() / f"{name.replace('-', '_')}-{revisions.get(name)}"
        for pattern in patterns:
            for path in sorted(folder.glob(pattern)):
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


def main() -> int:
    """Prints the browser's path and answers 0, or says what is missing and answers 1."""
    try:
        sys.stdout.write(f"{find_browser(load_settings().pages.browser)}\n")
    except MonitorError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

# Where the browser itself does not go: other schemes, ports of mail and the like.
_FORBIDDEN_ERRORS = (
    "ERR_BLOCKED_BY_CLIENT",
    "ERR_UNSAFE_REDIRECT",
    "ERR_UNSAFE_PORT",
    "ERR_UNKNOWN_URL_SCHEME",
    "ERR_DISALLOWED_URL_SCHEME",
)

_INVALID_URL_ERRORS = ("ERR_INVALID_URL", "ERR_INVALID_REDIRECT")


def map_browser_error(error_text: str) -> FetchError:
    """The page's error in what the browser says about a page that it could not load."""
    message = error_text.splitlines()[0] if error_text else "no reason given"
    if "Download is starting" in message:
        return build_fetch_error(PageErrorCode.UNSUPPORTED_TYPE, "page.document")
    if any(word in message for word in _FORBIDDEN_ERRORS):
        return build_forbidden_error()
    if any(word in message for word in _INVALID_URL_ERRORS):
        return build_fetch_error(PageErrorCode.INVALID_URL, "page.leads_to_no_url")
    if "ERR_TOO_MANY_REDIRECTS" in message:
        return build_fetch_error(PageErrorCode.NETWORK, "page.endless_redirects")
    reason = next((word for word in message.split() if word.startswith("net::")), message[:200])
    return build_fetch_error(PageErrorCode.NETWORK, "page.browser_failed", reason=reason.removeprefix("net::"))


def build_forbidden_error() -> FetchError:
    """The error of a page that leads to where we do not go."""
    return build_fetch_error(PageErrorCode.FORBIDDEN, "page.address_refused")


def build_too_large_error(max_bytes: int) -> FetchError:
    """The error of a page over the limit."""
    return build_fetch_error(PageErrorCode.TOO_LARGE, "page.too_large", limit_mb=f"{max_bytes / 2**20:.3g}")


def format_start_failure(error_text: str, path: Path | None, endpoint: str | None) -> str:
    """One sentence about a browser that is there and cannot be used, with the mend."""
    reason = error_text.splitlines()[0] if error_text else "no reason given"
    if endpoint:
        return f"The browser at pages.browser.endpoint {endpoint} does not answer ({reason}); start it or mend the url."
    return f"The browser {path} could not be started ({reason}); name another one under pages.browser.path."
