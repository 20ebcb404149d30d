"""How far a quote can be relied on, from what is known of its page; never from what a model says of itself.

    confidence = 0.5 * authority + 0.3 * agreement + 0.2 * date

    authority   the score of the page's host, 0 to 1 (retrieval/authority.txt and the administrator's own lines)
    agreement   1 - 0.5 ** n, where n other voices among the research's results say the same
    date        how new the page was when it was found: 0.5 ** (age / half-life), 0.5 where no date is known

A voice is a registrant: all its hosts are one, and so are all who print one text. A voice says the same as a quote
where it has all the quote's figures, dates, document numbers and quoted names and a quarter of its words; of a quote
that has none of these, a sentence that has six tenths of its words. Rounded to two decimals.
"""

from collections import defaultdict
from collections.abc import Sequence

from monitor.evidence.citing import has_particulars
from monitor.evidence.vocabulary import shared, words_of
from monitor.pages.registrable import registrable_host
from monitor.research.quotes import NEAR, Material, material_of
from monitor.research.state import SearchEntry

AUTHORITY, AGREEMENT, DATE = 0.5, 0.3, 0.2
_SAME_SENTENCE = 0.6
_SAME_TEXT = 0.6
_LEAST_SENTENCES = 2  # one sentence in common may be quoted by both from a third


class Voices:
    """Who speaks in the results of a research."""

    def __init__(self, entries: Sequence[SearchEntry]) -> None:
        told: dict[str, SearchEntry] = {entry.url: entry for entry in entries if entry.content}
        self._voice_of = _voices(list(told.values()))
        self._materials = [(self._voice_of[url], material_of(entry)) for url, entry in told.items()]

    def confidence(self, quote: str, entry: SearchEntry) -> float:
        """How far a quote of a result's page can be relied on, 0 to 1."""
        agreement = 1 - 0.5 ** len(self.others(quote, entry))
        return round(AUTHORITY * entry.authority + AGREEMENT * agreement + DATE * entry.freshness, 2)

    def others(self, quote: str, entry: SearchEntry) -> set[str]:
        """The other voices that say what the quote says."""
        own = self._voice_of.get(entry.url, registrable_host(entry.url))
        found: set[str] = set()
        for voice, material in self._materials:
            if voice != own and voice not in found and _says(material, quote):
                found.add(voice)
        return found


def _says(material: Material, quote: str) -> bool:
    words = words_of(quote)
    if shared(words, material.whole.words) < NEAR:
        return False
    if has_particulars(quote):
        return not material.whole.passage.lacks(quote)
    return any(shared(words, piece.words) >= _SAME_SENTENCE for piece in material.pieces)


def _voices(entries: Sequence[SearchEntry]) -> dict[str, str]:
    """The voice of each url: the registrable host that was first among those that are one with its own."""
    voice_of = {entry.url: registrable_host(entry.url) for entry in entries}
    pieces = {entry.url: frozenset(piece.text for piece in material_of(entry).pieces) for entry in entries}
    holders: dict[str, list[str]] = defaultdict(list)
    for url, own in pieces.items():
        for piece in own:
            holders[piece].append(url)
    common: dict[tuple[str, str], int] = defaultdict(int)
    for urls in holders.values():
        for place, url in enumerate(urls):
            for other in urls[place + 1 :]:
                common[url, other] += 1
    for (url, other), count in common.items():
        if count >= max(_SAME_TEXT * min(len(pieces[url]), len(pieces[other])), _LEAST_SENTENCES):
            voice_of = _joined(voice_of, voice_of[url], voice_of[other])
    return voice_of


def _joined(voice_of: dict[str, str], voice: str, other: str) -> dict[str, str]:
    return {url: voice if one == other else one for url, one in voice_of.items()}
