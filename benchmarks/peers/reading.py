"""What every peer takes from a page, with lexbor: the same for those that bring no parser of their own."""

import re
from dataclasses import dataclass, field
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser

DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass
class SiteReading:
    """Which addresses are known, and what came of those that were read."""

    seen: set[str] = field(default_factory=set)
    pages: int = 0
    articles: int = 0

    def take(self, links: list[str]) -> list[str]:
        """Return those of the links that are new."""
        new = [link for link in dict.fromkeys(links) if link not in self.seen]
        self.seen.update(new)
        return new

    def count(self, *, title: str, day: re.Match[str] | None, text: str) -> None:
        self.pages += 1
        self.articles += bool(title and day and text)

    def read(self, body: str | bytes, url: str) -> list[str]:
        """Count the page of these bytes, and return the links that lead on."""
        tree = LexborHTMLParser(body)
        heading, content = tree.css_first("h1"), tree.css_first("div.content")
        info = tree.css_first("div.info")
        self.count(
            title=heading.text() if heading else "",
            day=DAY.search(info.text()) if info else None,
            text=content.text(separator="\n") if content else "",
        )
        selector = "ul.channels a" if tree.css_first("ul.channels") else "ul.list a, div.page a"
        return self.take([urljoin(url, link.attributes.get("href") or "") for link in tree.css(selector)])

    def print(self) -> None:
        print(f"{self.pages} {self.articles}")  # noqa: T201  a script's answer
