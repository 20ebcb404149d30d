"""From what a service tells to what is handed on: plain text, real urls, each result once, ranks without gaps."""

import html
import re
from collections.abc import Iterable

from monitor.domain.searching import SearchHit, SearchItem
from monitor.domain.urls import clean_url, url_key

TITLE_CHARS = 300
SNIPPET_CHARS = 1000
PROVIDER_CHARS = 40
URL_CHARS = 2048

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# Characters that are not seen, or turn the writing around; halves of surrogate pairs, which no text may hold.
_UNSEEN = re.compile("[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]")
_BLOCK_TAG = re.compile(r"</?(?:br|p|div|li|tr|td|h[1-6])\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[A-Za-z/!?][^<>]*>")
_HALF_TAG = re.compile(r"<+(?=[A-Za-z/!?])")
_SCRIPT_URL = re.compile(r"(javascript|vbscript)\s*:", re.IGNORECASE)


def plain_text(text: str, max_chars: int) -> str:
    """What a reader would see of a piece of markup, in one line of at most `max_chars`.

    Nothing that is left begins a tag or a script's url: the colon of `javascript:` becomes the Chinese one, which
    reads the same and runs nowhere.
    """
    text = _UNSEEN.sub("", _CONTROLS.sub(" ", html.unescape(text)))
    text = _BLOCK_TAG.sub(" ", text)
    while (rest := _TAG.sub("", text)) != text:
        text = rest
    text = _SCRIPT_URL.sub(r"\1：", _HALF_TAG.sub("", text))
    text = " ".join(text.split())
    return text if len(text) <= max_chars else f"{text[: max_chars - 1].rstrip()}…"


def checked(hits: Iterable[SearchHit], *, backend: str, limit: int) -> list[SearchItem]:
    """The first `limit` results that are any: with an http(s) url, each document once, ranked from 1 in their order."""
    items: list[SearchItem] = []
    known: set[str] = set()
    for hit in hits:
        url, source = _address(hit.url), _address(hit.source) if hit.source else None
        if url is None or (key := url_key(source or url)) in known:
            continue
        known.add(key)
        item = SearchItem(
            title=plain_text(hit.title, TITLE_CHARS),
            url=url,
            snippet=plain_text(hit.snippet, SNIPPET_CHARS),
            provider=plain_text(hit.provider or "", PROVIDER_CHARS) or backend,
            rank=len(items) + 1,
            source=None if source == url else source,
            published_at=hit.published_at,
        )
        items.append(item)
        if len(items) == limit:
            break
    return items


def _address(url: str) -> str | None:
    """The url in its clean form; None where it is none, or too long to be any good."""
    address = clean_url(_CONTROLS.sub("", _UNSEEN.sub("", url)))
    return address if address is not None and len(address) <= URL_CHARS else None
