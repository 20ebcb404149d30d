"""What the browser is told, and what its complaints mean."""

from pathlib import Path

from monitor.domain.page import PageErrorCode
from monitor.net.failure import FetchFailed, failed

# Flags that keep it from doing anything but drawing.
FLAGS = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-default-apps",
    "--disable-breakpad",
    "--mute-audio",
)

# Resolves once the document has not changed for the given milliseconds.
UNTIL_QUIET = """quietMs => new Promise(resolve => {
  let timer;
  const observer = new MutationObserver(() => wait());
  const done = () => { observer.disconnect(); resolve(); };
  const wait = () => { clearTimeout(timer); timer = setTimeout(done, quietMs); };
  observer.observe(document, {childList: true, subtree: true, characterData: true});
  wait();
})"""
HAS_SCRIPTS = "() => document.scripts.length > 0"
TEXT_LENGTH = "() => document.body ? document.body.innerText.trim().length : 0"


def failure_of_complaint(complaint: str) -> FetchFailed:
    """The page's error in what the browser says about a page that it could not load."""
    message = complaint.splitlines()[0] if complaint else "no reason given"
    if "Download is starting" in message:
        return failed(PageErrorCode.UNSUPPORTED_TYPE, "This is a document to download, not a page.")
    if "ERR_BLOCKED_BY_CLIENT" in message:
        return failed(PageErrorCode.FORBIDDEN, "The page leads to an address that is refused.")
    reason = next((word for word in message.split() if word.startswith("net::")), message[:200])
    return failed(PageErrorCode.NETWORK, f"The browser could not load the page: {reason.removeprefix('net::')}.")


def too_large(max_bytes: int) -> FetchFailed:
    """The error of a page over the limit."""
    return failed(
        PageErrorCode.TOO_LARGE, f"The page is larger than {max_bytes / 2**20:.3g} MB, the limit pages.max_bytes."
    )


def why_not_started(complaint: str, path: Path | None, endpoint: str | None) -> str:
    """One sentence about a browser that is there and cannot be used, with the mend."""
    reason = complaint.splitlines()[0] if complaint else "no reason given"
    if endpoint:
        return f"The browser at pages.browser.endpoint {endpoint} does not answer ({reason}); start it or mend the url."
    return f"The browser {path} could not be started ({reason}); name another one under pages.browser.path."
