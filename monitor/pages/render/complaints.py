"""What the browser's complaints mean."""

from pathlib import Path

from monitor.domain.page import PageErrorCode
from monitor.net.failure import FetchFailed, failed

# Where the browser itself does not go: other schemes, ports of mail and the like.
_REFUSALS = (
    "ERR_BLOCKED_BY_CLIENT",
    "ERR_UNSAFE_REDIRECT",
    "ERR_UNSAFE_PORT",
    "ERR_UNKNOWN_URL_SCHEME",
    "ERR_DISALLOWED_URL_SCHEME",
)
_NO_URLS = ("ERR_INVALID_URL", "ERR_INVALID_REDIRECT")


def failure_of_complaint(complaint: str) -> FetchFailed:
    """The page's error in what the browser says about a page that it could not load."""
    message = complaint.splitlines()[0] if complaint else "no reason given"
    if "Download is starting" in message:
        return failed(PageErrorCode.UNSUPPORTED_TYPE, "This is a document to download, not a page.")
    if any(word in message for word in _REFUSALS):
        return refused()
    if any(word in message for word in _NO_URLS):
        return failed(PageErrorCode.INVALID_URL, "The page leads to what is no url.")
    if "ERR_TOO_MANY_REDIRECTS" in message:
        return failed(PageErrorCode.NETWORK, "The site redirects without end.")
    reason = next((word for word in message.split() if word.startswith("net::")), message[:200])
    return failed(PageErrorCode.NETWORK, f"The browser could not load the page: {reason.removeprefix('net::')}.")


def refused() -> FetchFailed:
    """The error of a page that leads to where we do not go."""
    return failed(PageErrorCode.FORBIDDEN, "The page leads to an address that is refused.")


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
