"""What a page says about itself where readers do not see it: meta elements and JSON-LD."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from monitor.pages.outline import squeeze

_ARTICLE_TYPES = (
    "article",
    "newsarticle",
    "blogposting",
    "report",
    "reportagenewsarticle",
    "webpage",
    "scholarlyarticle",
    "governmentpublication",
    "legislation",
    "claimreview",
    "analysisnewsarticle",
    "opinionnewsarticle",
    "backgroundnewsarticle",
    "reviewnewsarticle",
    "liveblogposting",
    "techarticle",
    "socialmediaposting",
)

_LONGEST = 2000
_SITE_NAMES = ("sitename", "og:site_name")


@dataclass(frozen=True, slots=True)
class Metadata:
    """Meta elements by lower-case name, and the JSON-LD objects of the page's article."""

    meta: dict[str, str] = field(default_factory=dict)
    linked: list[dict[str, Any]] = field(default_factory=list)
    title_element: str = ""

    @property
    def says_article(self) -> bool:
        """Whether the page calls itself an article."""
        kinds = {str(thing.get("@type")).lower() for thing in self.linked}
        if self.meta.get("og:type", "").lower() == "article" or self.first("article:published_time", "articletitle"):
            return True
        return any("article" in kind or "post" in kind for kind in kinds)

    def first(self, *names: str) -> str | None:
        """The first of these meta elements that is there and not empty."""
        return next((self.meta[name] for name in names if self.meta.get(name)), None)

    def linked_text(self, key: str) -> str | None:
        """A text field of the article's JSON-LD."""
        for thing in self.linked:
            value = thing.get(key)
            if isinstance(value, str) and value.strip():
                return squeeze(value)
        return None


def read_metadata(tree: LexborHTMLParser) -> Metadata:
    """The page's meta elements (name, property, itemprop, http-equiv; the first of a name counts) and JSON-LD."""
    meta: dict[str, str] = {}
    for element in tree.css("meta[content]"):
        attributes = element.attributes
        name = (
            attributes.get("property")
            or attributes.get("name")
            or attributes.get("itemprop")
            or attributes.get("http-equiv")
        )
        content = squeeze((attributes.get("content") or "")[:_LONGEST])
        if name and content:
            meta.setdefault(name.strip().lower(), content)
    title = tree.css_first("title")
    return Metadata(meta, list(_linked(tree)), squeeze(title.text()[:_LONGEST]) if title is not None else "")


def site_told(tree: LexborHTMLParser) -> str:
    """What names the site on this page: the meta element for it, as Chinese governments' or Open Graph's, or the title.

    The title is that of the window, with all its parts.
    """
    for element in tree.css("meta[content]"):
        name = element.attributes.get("name") or element.attributes.get("property") or ""
        if name.strip().lower() in _SITE_NAMES and (
            content := squeeze((element.attributes["content"] or "")[:_LONGEST])
        ):
            return content
    title = tree.css_first("title")
    return squeeze(title.text()[:_LONGEST]) if title is not None else ""


def _linked(tree: LexborHTMLParser) -> Iterator[dict[str, Any]]:
    things: list[dict[str, Any]] = []
    for script in tree.css('script[type="application/ld+json"]'):
        try:
            content = json.loads(script.text().strip().rstrip(";"), strict=False)
        except (ValueError, RecursionError):
            continue
        things.extend(_things(content))
    yield from (thing for thing in things if _rank(thing) < len(_ARTICLE_TYPES))


def _things(content: object, depth: int = 0) -> Iterator[dict[str, Any]]:
    if depth > 4:
        return
    if isinstance(content, list):
        for entry in content:
            yield from _things(entry, depth + 1)
    elif isinstance(content, dict):
        yield content
        for key in ("@graph", "mainEntity", "mainEntityOfPage"):
            yield from _things(content.get(key), depth + 1)


def _rank(thing: dict[str, Any]) -> int:
    kinds = thing.get("@type")
    names = [str(kind).lower().rpartition("/")[2] for kind in (kinds if isinstance(kinds, list) else [kinds])]
    return min((_ARTICLE_TYPES.index(name) for name in names if name in _ARTICLE_TYPES), default=len(_ARTICLE_TYPES))
