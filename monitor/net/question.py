"""A request, as it changes from hop to hop of a redirect."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from monitor.domain.page import PageErrorCode
from monitor.net.caching import Keep
from monitor.net.failure import failed


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of one address; `keep` says how the answer may be kept, None not at all."""

    url: str
    method: str
    headers: Mapping[str, str]
    content: bytes | None
    keep: Keep | None

    def redirected(self, status: int, location: str) -> "Question":
        """The next question. Keys and bodies do not travel to another host, nor out of https, nor a body with GET."""
        try:
            url = urljoin(self.url, location).split("#", 1)[0]
            here, there = urlsplit(self.url), urlsplit(url)
            stays = there.netloc == here.netloc and (there.scheme == "https" or here.scheme != "https")
        except ValueError:
            raise failed(PageErrorCode.INVALID_URL, f"The site redirects to “{location[:200]}”, no url.") from None
        keeps_body = status in (307, 308) and stays
        return Question(
            url=url,
            method=self.method if keeps_body or self.method == "HEAD" else "GET",
            headers={
                name: value
                for name, value in self.headers.items()
                if stays and (keeps_body or not name.lower().startswith("content-"))
            },
            content=self.content if keeps_body else None,
            keep=self.keep,
        )
