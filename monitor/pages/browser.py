"""Finding a Chromium on this machine. `python -m monitor.pages.browser` prints where it is."""

import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path

from monitor.errors import BrowserMissing, MonitorError
from monitor.settings import BrowserSettings, load_settings

_ON_PATH = ("chromium-headless-shell", "chromium", "google-chrome")
_MEND = (
    "install one with `playwright install chromium` or `apt install chromium-headless-shell`, "
    "or name it under pages.browser.path."
)
# Where Playwright unpacks what it downloads, by the name of the download in its list of browsers.
_PLAYWRIGHT_FILES = {
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
    downloaded = _downloaded_by_playwright()
    if downloaded is not None:
        return downloaded
    for name in _ON_PATH:
        if found := shutil.which(name):
            return Path(found)
    raise BrowserMissing(f"There is no Chromium on this machine; {_MEND}")


def _downloaded_by_playwright() -> Path | None:
    """Read from Playwright's own list of browsers, because asking Playwright would start its driver."""
    package = importlib.util.find_spec("playwright")
    if package is None or not package.submodule_search_locations:
        return None
    listing = Path(package.submodule_search_locations[0]) / "driver" / "package" / "browsers.json"
    if not listing.is_file():
        return None
    revisions = {entry["name"]: entry["revision"] for entry in json.loads(listing.read_text())["browsers"]}
    for name, patterns in _PLAYWRIGHT_FILES.items():
        folder = _playwright_folder() / f"{name.replace('-', '_')}-{revisions.get(name)}"
        for pattern in patterns:
            for path in sorted(folder.glob(pattern)):
                if os.access(path, os.X_OK):
                    return path
    return None


def _playwright_folder() -> Path:
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
