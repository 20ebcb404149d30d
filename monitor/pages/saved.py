"""Pages that somebody saved: a file in place of the network."""

import datetime as dt
from pathlib import Path

from monitor.domain.page import Page, PageError, PageErrorCode
from monitor.domain.urls import clean_url
from monitor.pages.parse import parse_page


def read_saved(path: Path, *, url: str | None, fetched_at: dt.datetime, max_bytes: int) -> Page:
    """The Page that a file holds, as if it had come from `url` at `fetched_at`; what is wrong is its `error`.

    Without a url (None or empty) it keeps the file's own, so that relative links lead nowhere and are left out.
    """
    address = clean_url(url) if url else path.absolute().as_uri()
    if address is None:
        return broken(url or "", PageErrorCode.INVALID_URL, f"“{(url or '')[:200]}” is no url.", fetched_at)
    try:
        size = path.stat().st_size
        if size > max_bytes:
            message = f"The file has {size / 2**20:.3g} MB, the limit pages.max_bytes is {max_bytes / 2**20:.3g} MB."
            return broken(address, PageErrorCode.TOO_LARGE, message, fetched_at)
        body = path.read_bytes()
    except (OSError, ValueError) as error:
        # ValueError: a name with a NUL in it is none that a file can have.
        reason = getattr(error, "strerror", None) or str(error)
        return broken(address, PageErrorCode.NOT_FOUND, f"The file {path} cannot be read: {reason}.", fetched_at)
    return parse_page(body, url=address, final_url=address, status=None, content_type=None, fetched_at=fetched_at)


def broken(url: str, code: PageErrorCode, message: str, fetched_at: dt.datetime) -> Page:
    """A page that could not be seen, and why."""
    return Page(url=url, final_url=url, fetched_at=fetched_at, error=PageError(code=code, message=message))
