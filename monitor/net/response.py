"""What came back from a site, apart from the library that brought it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Response:
    """An answer: header names in lower case, the body decompressed and within the limit.

    `final_url` is where the redirects ended; `hops` are the urls on the way there, first to last, without it.
    `is_from_cache`: the body did not travel, because the site said that what we had still holds. `is_cut_short`: the
    page, drawn in a browser, showed more of its list each time that it was asked, and was not asked to the end.
    """

    url: str
    final_url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    hops: tuple[str, ...] = ()
    is_from_cache: bool = False
    is_cut_short: bool = False

    @property
    def content_type(self) -> str | None:
        """The content type with its parameters, as it was sent."""
        return self.headers.get("content-type")
