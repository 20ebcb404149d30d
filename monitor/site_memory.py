"""What repeats over the pages of a host: lines beside the text, a site's name as heading, boxes of links.

A site is known by the marks of some of its pages. What most of them share is weaker evidence for the page at hand; how
much weaker is one formula, `SiteRepeats.weaken`, and it never decides alone.
"""

import base64
import datetime as dt
import re
import struct
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from math import exp, log

from pydantic import BaseModel, ConfigDict, Field

MAX_HOSTS = 8
"""So many hosts are remembered of one source."""

MIN_OTHER_PAGES = 4
"""Of fewer other pages nothing can be said to repeat."""

_MAX_PAGES = {"list": 16, "article": 24}
_MAX_LINES, _MAX_HEADINGS, _MAX_LINKS = 96, 8, 160
_MIN_STAY = dt.timedelta(days=7)
_MIN_REFRESH = dt.timedelta(days=1)
_MIN_ALIKE = 0.9
_OBSERVATIONS = 4
_STEPS = 16  # shares are rounded down, so that one new page seldom changes what a site's pages are read with
_MIN_KEPT_TEXT = 0.5
_MIN_TEXT_SCORE = 0.5
_LINK_BITS = 32
_NAMED_STEPS = 4
_URL_BITS = (1 << _LINK_BITS) - 1


_DIGITS = re.compile(r"\d+")
_NON_WORD = re.compile(r"[\W_]+")


class SitePageKind(StrEnum):
    """Pages are held against others of their kind."""

    LIST = "list"
    ARTICLE = "article"


def hash_mark(kind: str, place: str, text: str) -> int:
    """Return the mark, 64 bits, of a text of this kind at a place of a page."""
    return int.from_bytes(blake2b(f"{kind}\n{place}\n{text}".encode("utf-8", "replace"), digest_size=8).digest(), "big")


def hash_heading(text: str) -> int:
    """Return the mark of a heading or a page's name: its letters and digits, in one width and case."""
    return hash_mark("heading", "", _NON_WORD.sub("", unicodedata.normalize("NFKC", text)).lower())


def hash_line(path: Sequence[str], text: str) -> int:
    """Return the mark of a line in an element with this path of tags; on many sites a class names the article."""
    return hash_mark("line", "/".join(path), text)


def hash_place(path: Sequence[tuple[str, str]]) -> int:
    """Return the mark of a place of links, 32 bits, by the elements around one: tag, and classes with id.

    The names of the nearest count, without their numbers and those of the row itself; of the others the tags alone.
    """
    named = [_remove_digits(name) for _, name in path[1 : 1 + _NAMED_STEPS]]
    return _hash_place(" ".join([tag for tag, _ in path]), " ".join(named))


@lru_cache(maxsize=4096)
def _hash_place(tags: str, names: str) -> int:
    return hash_mark("place", tags, names) >> _LINK_BITS


@lru_cache(maxsize=4096)
def _remove_digits(name: str) -> str:
    return _DIGITS.sub("", name)


def hash_link(place: int, url: str) -> int:
    """Return the mark of a link at the place with this mark."""
    return place << _LINK_BITS | hash_mark("link", "", url) >> _LINK_BITS


@dataclass(frozen=True, slots=True)
class PageMarks:
    """The marks of a page's headings, of its lines that are no links, and of its links with their places."""

    headings: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()
    links: tuple[int, ...] = ()

    def list_for(self, kind: SitePageKind) -> list[int]:
        """Return the marks to remember of a page of this kind, each once.

        Of many lines they are the first and the last; of many links a sample by their addresses, which is the same one
        for the same links on another page.
        """
        if kind is SitePageKind.LIST:
            return sorted(set(self.links), key=lambda mark: (mark & _URL_BITS, mark))[:_MAX_LINKS]
        lines, half = list(dict.fromkeys(self.lines)), _MAX_LINES // 2
        ends = lines if len(lines) <= _MAX_LINES else [*lines[:half], *lines[-half:]]
        return list(dict.fromkeys([*self.headings[:_MAX_HEADINGS], *ends]))


NO_MARKS = PageMarks()


@dataclass(frozen=True, slots=True)
class SeenPage:
    """A page that a run has read; `key` stands for its address, `title` is what it is called."""

    key: str
    kind: SitePageKind
    title: str
    marks: PageMarks


class SiteRepeats(BaseModel):
    """What repeats on a host: the share of other pages that have a line or heading, or the same links at a place.

    Only what most pages share is in here. Equal ones are read alike, so a page's parse may be kept under them.
    """

    model_config = ConfigDict(frozen=True)

    shares: dict[int, float] = Field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(frozenset(self.shares.items()))

    def get_share(self, mark: int) -> float:
        """Return the share of the host's other pages that repeat this, 0 where it is no more than half of them."""
        return self.shares.get(mark, 0.0)

    def weaken(self, score: float, marks: Sequence[int]) -> float:
        """Return a probability, given that some of these marks repeat: its odds fall by the mean of what each says.

        One mark divides the odds by `(share / (1 - share)) ** 4`, as four observations would; the mean is geometric.
        """
        shares = (max(0.5, self.get_share(mark)) for mark in marks)
        falls = sum(log((1 - share) / share) for share in shares) / len(marks)
        odds = score * exp(_OBSERVATIONS * falls)
        return odds / (odds + 1 - score) if falls else score


NO_REPEATS = SiteRepeats()


@dataclass(frozen=True, slots=True)
class MarkedLine:
    """A line of a page; lines of one `flow` have one parent and one style, as the paragraphs of a text have."""

    mark: int
    width: int
    flow: Hashable


def weaken_lines(lines: Sequence[MarkedLine], scores: Sequence[float], repeats: SiteRepeats) -> list[float]:
    """Return how likely each line is main text, given that some stand on the host's other pages as well.

    A salutation or closing words between paragraphs of the page's own stay as likely as they are. Where most of the
    text would go, the page is one of a form that repeats whole, and all stays.
    """
    if not repeats.shares:
        return list(scores)
    shares = [repeats.get_share(line.mark) for line in lines]
    is_own = [share == 0 and score >= _MIN_TEXT_SCORE for share, score in zip(shares, scores, strict=True)]

    def is_in_flow(place: int) -> bool:
        near = (other for other in (place - 1, place + 1) if 0 <= other < len(lines))
        return any(is_own[other] and lines[other].flow == lines[place].flow for other in near)

    weakened = [
        score if is_in_flow(place) else repeats.weaken(score, [lines[place].mark]) for place, score in enumerate(scores)
    ]
    before, after = (
        sum(line.width * score for line, score in zip(lines, some, strict=True)) for some in (scores, weakened)
    )
    return weakened if after >= _MIN_KEPT_TEXT * before else list(scores)


class RememberedPage(BaseModel):
    """One page of a host as it is stored; `marks` are numbers of 64 bits in base64, `day` is when they were taken."""

    key: str
    kind: SitePageKind
    day: dt.date
    title: str
    marks: str

    def list_marks(self) -> frozenset[int]:
        return frozenset(number for (number,) in struct.iter_unpack("<Q", base64.b64decode(self.marks)))


class SiteMemory(BaseModel):
    """The latest pages of a host, at most 16 lists and 24 articles: some 56 kB as JSON.

    A page is here once, under its address; one that gives way to another has been here for a week.
    """

    pages: list[RememberedPage] = Field(default_factory=list)

    def remember(self, page: SeenPage, day: dt.date) -> bool:
        """Keep a page, in place of what was known of it; whether that changed anything."""
        marks = page.marks.list_for(page.kind)
        if not marks:
            return False
        packed = base64.b64encode(struct.pack(f"<{len(marks)}Q", *marks)).decode()
        title = f"{hash_mark('title', '', page.title):016x}"
        found = RememberedPage(key=page.key, kind=page.kind, day=day, title=title, marks=packed)
        alike = [known for known in self.pages if known.kind is page.kind]
        before = next((known for known in alike if known.key == page.key), None)
        if before is not None:
            is_same = (before.title, before.marks) == (title, packed)
            if is_same or day - before.day < _MIN_REFRESH:
                return False
        elif len(alike) >= _MAX_PAGES[page.kind]:
            before = min(alike, key=lambda known: (known.day, known.key))
            if day - before.day < _MIN_STAY:
                return False
        self.pages = [*(known for known in self.pages if known is not before), found]
        return True

    def find_repeats(self) -> SiteRepeats:
        """Return what most of the pages share, those that are one document under several addresses counted once."""
        articles = self._list_documents(SitePageKind.ARTICLE)
        lists = self._list_documents(SitePageKind.LIST)
        shares = _list_shares(Counter(mark for marks in articles for mark in marks), len(articles))
        of_links = _list_shares(Counter(mark for marks in lists for mark in marks), len(lists))
        by_place: dict[int, list[float]] = defaultdict(list)
        for marks in lists:
            for mark in marks:
                by_place[mark >> _LINK_BITS].append(of_links[mark])
        shares |= {place: sum(found) / len(found) for place, found in by_place.items()}
        rounded = {mark: int(share * _STEPS) / _STEPS for mark, share in shares.items()}
        return SiteRepeats(shares={mark: share for mark, share in sorted(rounded.items()) if share > 0.5})

    def _list_documents(self, kind: SitePageKind) -> list[frozenset[int]]:
        found: list[tuple[str, frozenset[int]]] = []
        for page in self.pages:
            marks = page.list_marks()
            is_known = any(
                title == page.title and len(marks & other) >= _MIN_ALIKE * len(marks | other) for title, other in found
            )
            if page.kind is kind and not is_known:
                found.append((page.title, marks))
        return [marks for _, marks in found]


def _list_shares(counts: Counter[int], pages: int) -> dict[int, float]:
    """Return for each mark the share of the others that have it, with the page at hand as one that has it already."""
    is_enough = pages > MIN_OTHER_PAGES
    return {mark: (count - 1) / pages if is_enough else 0.0 for mark, count in counts.items()}


def remember_pages(
    memories: dict[str, SiteMemory], pages: Iterable[tuple[str, SeenPage]], day: dt.date
) -> frozenset[str]:
    """Keep the pages of these hosts in `memories`, in an order of their own; return the hosts whose memory changed."""
    changed = set()
    for host, page in sorted(pages, key=lambda entry: (entry[0], entry[1].key)):
        if host not in memories and len(memories) >= MAX_HOSTS:
            continue
        if memories.setdefault(host, SiteMemory()).remember(page, day):
            changed.add(host)
    return frozenset(changed)
