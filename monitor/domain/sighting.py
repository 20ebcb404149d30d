"""What came of asking for one address, once."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from monitor.domain.page import PageError

NO_BROWSER = "no_browser"
"""The detail code of a sighting that came to nothing because no browser could be started."""


class Way(StrEnum):
    """How an address was asked: as a page over HTTP, as a page drawn in the browser, or as a document to keep."""

    HTTP = "http"
    DRAWN = "drawn"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """The answer as the parsers see it, or `error`; an error may have an answer behind it, a block page for one.

    `at` is when it was asked for. Header names are in lower case, the body is decompressed, for a drawn page it is the
    document as it stood in the end; None: nothing came. `hops` are the urls on the way to `final_url`. `notes` is what
    the run should say about getting there, by url; `record` the id under which it was kept.
    """

    url: str
    way: Way
    at: dt.datetime
    final_url: str
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    hops: tuple[str, ...] = ()
    is_cut_short: bool = False
    error: PageError | None = None
    notes: Mapping[str, str] = field(default_factory=dict)
    record: str | None = None

    @property
    def content_type(self) -> str | None:
        """The content type with its parameters, as it was sent."""
        return self.headers.get("content-type")
