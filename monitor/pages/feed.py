"""RSS, Atom, JSON Feed and sitemaps: their entries are candidates."""

import datetime as dt
import json
import re
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from html import unescape

from lxml import etree

from monitor.domain.page import Attachment, Candidate
from monitor.domain.urls import clean_url
from monitor.domain.words import DateSource
from monitor.pages.attachments import document_type
from monitor.pages.calendar import real_date
from monitor.pages.dates import dates_in_text
from monitor.pages.outline import squeeze
from monitor.pages.registrable import same_site

_ROOT = re.compile(r"<\s*(?:\w+:)?(rss|feed|rdf|urlset|sitemapindex)\b", re.IGNORECASE)
_JSON_FEED = re.compile(
    r"^\s*\{[^<]*\"version\"\s*:\s*\"https?:\\?/\\?/(?:www\.)?jsonfeed\.org\\?/version", re.IGNORECASE
)
# An ampersand that begins no entity: not allowed in XML, and met in every second feed.
_BARE_AMPERSAND = re.compile(r"&(?!#?\w{1,10};)")
# HTML's names for characters, which XML does not know.
_HTML_NAME = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z]{2,10};")
_DATES = ("pubdate", "published", "issued", "date", "publication_date", "created", "lastmod", "updated", "modified")
_ENTRIES = frozenset({"item", "entry", "url", "sitemap"})


def is_feed(text: str) -> bool:
    """Whether a text is a feed or a sitemap, by its root element or version, whatever type it was sent as."""
    if _JSON_FEED.search(text[:3000]):
        return True
    head = re.sub(r"<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>]*>", "", text[:3000], flags=re.DOTALL | re.IGNORECASE).lstrip(
        "\ufeff \t\r\n"
    )
    return _ROOT.match(head) is not None


def read_feed(text: str, url: str, today: dt.date) -> tuple[str, list[Candidate], str | None]:
    """Title, entries and next page of a feed. Broken XML is read as far as it goes; entities and network are off."""
    if _JSON_FEED.search(text[:3000]):
        return _read_json(text, url, today)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True, huge_tree=False, load_dtd=False)
    whole = _HTML_NAME.sub(lambda name: unescape(name[0]), text)
    whole = _BARE_AMPERSAND.sub("&amp;", re.sub(r"^\s*<\?xml[^>]*\?>", "", whole))
    root = etree.fromstring(whole.encode("utf-8"), parser)
    if root is None:
        return "", [], None
    found: dict[str, Candidate] = {}
    for entry in root.iter():
        if _name(entry) in _ENTRIES and (candidate := _candidate(entry, url, today)):
            found.setdefault(candidate.url, candidate)
    return _feed_title(root), list(found.values()), _next(root, url)


def _name(element: etree._Element) -> str:
    return etree.QName(element).localname.lower() if isinstance(element.tag, str) else ""


def _children(element: etree._Element, name: str) -> Iterator[etree._Element]:
    yield from (child for child in element if _name(child) == name)


def _text(element: etree._Element, name: str) -> str:
    for child in _children(element, name):
        text = squeeze(_plain("".join(str(part) for part in child.itertext())))
        if text:
            return text
    return ""


def _plain(written: str) -> str:
    """The text of a title that may hold markup, itself or escaped."""
    return re.sub(r"</?[A-Za-z][^>]*>", " ", unescape(re.sub(r"</?[A-Za-z][^>]*>", " ", written)))


def _address(element: etree._Element, name: str) -> str:
    """The url that a child holds; where it is CDATA, as it was written there."""
    child = next(_children(element, name), None)
    return squeeze("".join(str(part) for part in child.itertext())).replace("&amp;", "&") if child is not None else ""


def _candidate(entry: etree._Element, base: str, today: dt.date) -> Candidate | None:
    link = _link(entry)
    url = clean_url(link, base) if link else None
    if url is None:
        return None
    day = _day(entry, today)
    return Candidate(
        title=_text(entry, "title") or _of_news(entry, "title") or url.rstrip("/").rsplit("/", 1)[-1],
        url=url,
        date=day,
        date_source=DateSource.FEED if day else DateSource.UNKNOWN,
        is_repost=not same_site(url, base),
        attachments=list(_enclosures(entry, base)),
    )


def _link(entry: etree._Element) -> str:
    links = list(_children(entry, "link"))
    for link in links:
        if link.get("href") and link.get("rel", "alternate") == "alternate":
            return link.get("href", "")
    for name in ("link", "loc"):
        if text := _address(entry, name):
            return text
    about = next((str(value) for key, value in entry.attrib.items() if str(key).endswith("about")), "")
    guid = next(_children(entry, "guid"), None)
    if not about and guid is not None and guid.get("isPermaLink", "true").lower() != "false":
        about = squeeze(guid.text or "")
    enclosed = (child.get("url", "") for child in _children(entry, "enclosure"))
    return about or next((link.get("href", "") for link in links if link.get("href")), "") or next(enclosed, "")


def _day(entry: etree._Element, today: dt.date) -> dt.date | None:
    for name in _DATES:
        text = _text(entry, name) or _of_news(entry, name)
        if text and (day := _written_day(text, today)):
            return day
    return None


def _of_news(entry: etree._Element, name: str) -> str:
    """A field of the news element of a sitemap's entry."""
    return next((_text(child, name) for child in entry if _name(child) == "news"), "")


def _written_day(text: str, today: dt.date) -> dt.date | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        matches = dates_in_text(text, today)
        return matches[0].date if matches and matches[0].has_year else None
    return real_date(moment.year, moment.month, moment.day, today)


def _enclosures(entry: etree._Element, base: str) -> Iterator[Attachment]:
    for enclosure in _children(entry, "enclosure"):
        url = clean_url(enclosure.get("url", ""), base)
        if url and (kind := document_type(url)):
            yield Attachment(title=url.rsplit("/", 1)[-1], url=url, type=kind)


def _feed_title(root: etree._Element) -> str:
    for element in (root, *_children(root, "channel")):
        if title := _text(element, "title"):
            return title
    return ""


def _next(root: etree._Element, base: str) -> str | None:
    """The page after this one, of a feed that is served in pages (RFC 5005)."""
    for element in (root, *_children(root, "channel")):
        for link in _children(element, "link"):
            if link.get("rel") == "next" and link.get("href"):
                return clean_url(link.get("href", ""), base)
    return None


def _read_json(text: str, base: str, today: dt.date) -> tuple[str, list[Candidate], str | None]:
    """A JSON Feed (jsonfeed.org); what is not in its shape is left out."""
    feed = json.loads(text, strict=False)
    entries = feed.get("items")
    found: dict[str, Candidate] = {}
    for entry in entries if isinstance(entries, list) else []:
        fields = (
            {key: value for key, value in entry.items() if isinstance(value, str)} if isinstance(entry, dict) else {}
        )
        address = fields.get("url") or fields.get("external_url")
        url = clean_url(address, base) if address else None
        if url is None:
            continue
        day = _written_day(fields.get("date_published") or fields.get("date_modified") or "", today)
        found.setdefault(
            url,
            Candidate(
                title=squeeze(_plain(fields.get("title") or "")) or url.rstrip("/").rsplit("/", 1)[-1],
                url=url,
                date=day,
                date_source=DateSource.FEED if day else DateSource.UNKNOWN,
                is_repost=not same_site(url, base),
            ),
        )
    title, following = feed.get("title"), feed.get("next_url")
    return (
        squeeze(title) if isinstance(title, str) else "",
        list(found.values()),
        clean_url(following, base) if isinstance(following, str) else None,
    )
