"""What a page says of other ways to read its site: feeds that it names, and whether it asks to log in."""

import re
from collections.abc import Iterable, Iterator
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser

from monitor.extract.html import get_base_url
from monitor.urls import clean_url

WELL_KNOWN_FEEDS = ("/feed", "/rss.xml", "/atom.xml", "/feed.xml")
"""The paths at which most programs that make sites put their feed, the most usual ones first."""

_FEED_TYPE = re.compile(r"^application/(?:rss|atom|rdf)\+xml|^application/(?:feed\+)?json|^text/xml", re.IGNORECASE)
_FEED_PATH = re.compile(r"(?:^|[/._-])(?:rss2?|atom|feeds?)(?:[._/-][\w.-]*)?$|\.(?:rss|rdf|atom)$", re.IGNORECASE)
_COMMENTS = re.compile(r"comment|评论", re.IGNORECASE)
_NEWS_SITEMAP = re.compile(rb"<[a-z]*:?news\b|schemas/sitemap-news", re.IGNORECASE)
_SITEMAP = re.compile(rb"<\s*(?:[a-z]+:)?(?:urlset|sitemapindex)\b", re.IGNORECASE)
_HOME_SEGMENT = re.compile(
    r"(?:ar|cs|da|de|el|en|es|fi|fr|hu|it|ja|ko|nl|no|pl|pt|ro|ru|sv|tr|uk|vi|zh)(?:[-_][a-z]{2,4})?|eng(?:lish)?"
    r"|(?:index|home|main|default|portal|web|www)(?:\.\w+)?",
    re.IGNORECASE,
)


def find_feed_links(tree: LexborHTMLParser, page_url: str) -> list[str]:
    """Return the feeds that a page names, each once: those for programs first, those of comments last."""
    base = get_base_url(tree, page_url)
    found = dict.fromkeys(clean_url(address, base) or "" for address in _iter_feed_addresses(tree))
    own = clean_url(page_url)
    return sorted((url for url in found if url and url != own), key=lambda url: bool(_COMMENTS.search(url)))


def _iter_feed_addresses(tree: LexborHTMLParser) -> Iterator[str]:
    for element in tree.css("link[rel][href]"):
        names = (element.attributes.get("rel") or "").lower().split()
        address, kind = element.attributes.get("href") or "", (element.attributes.get("type") or "").strip()
        # WordPress names the JSON of each page in the same way.
        if ("alternate" in names or "feed" in names) and "wp-json" not in address and _FEED_TYPE.match(kind):
            yield address
    for element in tree.css("a[href]"):
        address = element.attributes.get("href") or ""
        if _FEED_PATH.search(address.split("?")[0][:300]):
            yield address


def asks_to_log_in(tree: LexborHTMLParser) -> bool:
    """Whether a page has a field for a password."""
    return tree.css_first("form input[type=password i], input[autocomplete=current-password i]") is not None


def is_sitemap(body: bytes) -> bool:
    return _SITEMAP.search(body[:3000]) is not None


def is_news_sitemap(body: bytes) -> bool:
    """Whether a sitemap gives titles and dates as news sitemaps do."""
    return is_sitemap(body) and _NEWS_SITEMAP.search(body[:20_000]) is not None


def order_sitemaps(urls: Iterable[str], home: str) -> list[str]:
    """Return the sitemaps that robots.txt names, those of news first; the usual path where it names none."""
    found = [url for url in (clean_url(written, home) for written in urls) if url]
    ordered = sorted(dict.fromkeys(found), key=lambda url: "news" not in url.lower())
    return ordered or [urljoin(home, "/sitemap.xml")]


def is_home_address(url: str) -> bool:
    """Whether an address is that of a whole site, perhaps in one language, and not of one of its lists."""
    parts = urlsplit(url)
    return not parts.query and all(_HOME_SEGMENT.fullmatch(part) for part in parts.path.split("/") if part)
