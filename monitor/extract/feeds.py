"""Parses RSS, Atom, JSON Feed and sitemaps; their entries are candidates."""

import datetime as dt
import json
import re
from collections.abc import Iterator, Sequence
from email.utils import parsedate_to_datetime
from html import unescape

from lxml import etree

from monitor.dates import find_days, publication_day
from monitor.extract.attachments import detect_document_type
from monitor.extract.html import collapse_whitespace
from monitor.page import Attachment, Candidate
from monitor.urls import clean_url, get_last_segment, is_same_site
from monitor.vocabulary import DateSource

_ROOT = re.compile(r"<\s*(?:\w+:)?(rss|feed|rdf|urlset|sitemapindex)\b", re.IGNORECASE)
_JSON_FEED = re.compile(
    r"^\s*\{[^<]*\"version\"\s*:\s*\"https?:\\?/\\?/(?:www\.)?jsonfeed\.org\\?/version", re.IGNORECASE
)
# An ampersand that begins no entity: not allowed in XML, but common in feeds.
_BARE_AMPERSAND = re.compile(r"&(?!#?\w{1,10};)")
# HTML's names for characters, which XML does not know.
_HTML_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z]{2,10};")
_DATE_FIELDS = (
    *("pubDate", "pubdate", "published", "issued", "date", "publication_date"),
    *("created", "lastmod", "updated", "modified"),
)
_MARKUP = re.compile(r"</?[A-Za-z][^<>]*>")
_MAX_DATE_CHARS = 200
_ENTRY_NAMES = ("{*}item", "{*}entry", "{*}url", "{*}sitemap")


def is_feed(text: str) -> bool:
    """Whether a text is a feed or a sitemap, by its root element or version, whatever type it was sent as."""
    if _JSON_FEED.search(text[:3000]):
        return True
    head = re.sub(r"<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>]*>", "", text[:3000], flags=re.DOTALL | re.IGNORECASE)
    return _ROOT.match(head.lstrip("\ufeff \t\r\n")) is not None


def parse_feed(text: str, url: str, today: dt.date) -> tuple[str, list[Candidate], str | None]:
    """Return title, entries and next page of a feed. Broken XML is read as far as possible; entities are off."""
    if _JSON_FEED.search(text[:3000]):
        return _parse_json_feed(text, url, today)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True, huge_tree=False, load_dtd=False)
    whole = _HTML_ENTITY.sub(lambda name: unescape(name[0]), text)
    whole = _BARE_AMPERSAND.sub("&amp;", re.sub(r"^\s*<\?xml[^>]*\?>", "", whole))
    root = etree.fromstring(whole.encode("utf-8"), parser)
    if root is None:
        return "", [], None
    found: dict[str, Candidate] = {}
    for entry in root.iter(*_ENTRY_NAMES):
        if candidate := _build_candidate(entry, url, today):
            found.setdefault(candidate.url, candidate)
    heads = [root, *root.iterfind("{*}channel")]
    title = next(filter(None, (_get_text(head, "title") for head in heads)), "")
    return title, list(found.values()), _find_next_page(heads, url)


def _get_text(element: etree._Element, name: str) -> str:
    """Return a field of an entry, or of the news element of a sitemap's entry."""
    children = (*element.iterfind(f"{{*}}{name}"), *element.iterfind(f"{{*}}news/{{*}}{name}"))
    texts = (collapse_whitespace(strip_markup(_join_text(child))) for child in children)
    return next(filter(None, texts), "")


def _join_text(element: etree._Element) -> str:
    return "".join(map(str, element.itertext()))


def strip_markup(written: str) -> str:
    """Return the text of a title that may contain markup, plain or escaped."""
    return _MARKUP.sub(" ", unescape(_MARKUP.sub(" ", written)))


def _build_candidate(entry: etree._Element, base: str, today: dt.date) -> Candidate | None:
    link = _find_link(entry)
    url = clean_url(link, base) if link else None
    if url is None:
        return None
    title = _get_text(entry, "title")
    texts = filter(None, (_get_text(entry, name) for name in _DATE_FIELDS))
    day = next(filter(None, (parse_date_text(text, today) for text in texts)), None)
    return _make_candidate(title, url, base, day, list(_list_enclosures(entry, base)))


def _make_candidate(title: str, url: str, base: str, day: dt.date | None, attachments: list[Attachment]) -> Candidate:
    return Candidate(
        title=title or get_last_segment(url),
        url=url,
        date=day,
        date_source=DateSource.FEED if day else DateSource.UNKNOWN,
        is_repost=not is_same_site(url, base),
        attachments=attachments,
    )


def _find_link(entry: etree._Element) -> str:
    links, guids = list(entry.iterfind("{*}link")), entry.iterfind("{*}guid")
    addresses = (
        *(link.get("href") for link in links if link.get("rel", "alternate") == "alternate"),
        *map(_join_text, (*links, *entry.iterfind("{*}loc"))),
        *(str(value) for key, value in entry.attrib.items() if str(key).endswith("about")),
        *(guid.text for guid in guids if guid.get("isPermaLink", "true").lower() != "false"),
        *(link.get("href") for link in links),
        *(enclosure.get("url") for enclosure in entry.iterfind("{*}enclosure")),
    )
    written = (collapse_whitespace(address or "").replace("&amp;", "&") for address in addresses)
    return next(filter(None, written), "")


def parse_date_text(text: str, today: dt.date) -> dt.date | None:
    """Return the day of a date as RFC 2822 or as people write it, with its year; None for any other text."""
    text = text[:_MAX_DATE_CHARS]
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        matches = find_days(text, today)
        return matches[0].date if matches and matches[0].has_year else None
    return publication_day(moment.year, moment.month, moment.day, today)


def _list_enclosures(entry: etree._Element, base: str) -> Iterator[Attachment]:
    for enclosure in entry.iterfind("{*}enclosure"):
        url = clean_url(enclosure.get("url", ""), base)
        if url and (kind := detect_document_type(url)):
            yield Attachment(title=url.rsplit("/", 1)[-1], url=url, type=kind)


def _find_next_page(heads: Sequence[etree._Element], base: str) -> str | None:
    """Return the next page of a paged feed (RFC 5005)."""
    links = (link for head in heads for link in head.iterfind("{*}link") if link.get("rel") == "next")
    address = next(filter(None, (link.get("href") for link in links)), None)
    return clean_url(address, base) if address else None


def _parse_json_feed(text: str, base: str, today: dt.date) -> tuple[str, list[Candidate], str | None]:
    """Return title, entries and next page of a JSON Feed (jsonfeed.org), without malformed entries."""
    feed = json.loads(text, strict=False)
    entries = feed.get("items")
    found: dict[str, Candidate] = {}
    for entry in entries if isinstance(entries, list) else []:
        stated = entry.items() if isinstance(entry, dict) else ()
        fields = {key: value for key, value in stated if isinstance(value, str)}
        address = fields.get("url") or fields.get("external_url")
        if url := clean_url(address, base) if address else None:
            title = collapse_whitespace(strip_markup(fields.get("title") or ""))
            day = parse_date_text(fields.get("date_published") or fields.get("date_modified") or "", today)
            found.setdefault(url, _make_candidate(title, url, base, day, []))
    title, following = feed.get("title"), feed.get("next_url")
    return (
        collapse_whitespace(title) if isinstance(title, str) else "",
        list(found.values()),
        clean_url(following, base) if isinstance(following, str) else None,
    )


_INDEX = re.compile(r"<\s*(?:\w+:)?sitemapindex\b", re.IGNORECASE)


def is_sitemap_index(text: str) -> bool:
    return _INDEX.search(text[:3000]) is not None
