"""Finds the title of an article among what the page shows and states, by measures of each that a model weighs."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import log2
from urllib.parse import unquote, urlsplit

from monitor.dates import DATE_SIGN, YEAR_FIRST, find_dates, has_day, mask_dates
from monitor.extract.articles.labels import SITE_NAMES, PageMetadata
from monitor.extract.articles.lines import (
    CONTAINER_SHARE,
    LEVELS,
    REGION_FEATURES,
    PageLines,
    list_bits,
    normalize_title,
)
from monitor.extract.articles.text import select_lines
from monitor.extract.html import collapse_whitespace, measure_width
from monitor.extract.trees import load_scorer
from monitor.site_memory import hash_heading

_SEPARATORS = re.compile(
    r"\s+[-–—|·•»«›‹<>/]+\s+|\s*[|_»]+\s*|\s*[—–]{1,2}\s*(?=\S{2,20}$)|\s*-\s*(?=[\u4e00-\u9fff]{2,20}$)|\s*::+\s*|"
    r"\s*(?:：|:)\s*(?=[^\s：:]{2,16}(?:新聞|新闻|網|网)$)"
)
# What some sites write after the headline in its element.
_HEADLINE_TAIL = re.compile(rf"\s+(?:{DATE_SIGN}|(?:发布时间|发布日期|来源|作者)\s*[:：]).*$")
# Before the name of a site, in a text that the page does not show.
_SITE_MARK = re.compile(r"\s\|\s|_(?=[\u4e00-\u9fff])")
_HIDDEN_QUOTES, _RESTORED_QUOTES = str.maketrans("«»", "\ue000\ue001"), str.maketrans("\ue000\ue001", "«»")
_TITLE_META = ("articletitle", "og:title", "citation_title", "dc.title", "dcterms.title", "twitter:title", "title")
_SITE_META = (*SITE_NAMES, "application-name", "apple-mobile-web-app-title", "publisher")
_LATIN_WORD = re.compile(r"[a-z0-9]{3,}")
_DIGIT = re.compile(r"\d")
_MIN_WIDTH, _MAX_WIDTH = 4, 400
_MAX_LINES_ABOVE, _MAX_LINES_BELOW = 30, 4
_MAX_CANDIDATES = 60
_MAX_BROKEN_LINES = 4  # over which a headline goes
_FAR = 60

TITLE_FEATURES = (
    *("width", "digit_share", "day_share", "level", "level_rank", "heads_of_level", "is_first_h1"),
    *("title_first_part", "title_last_part", "title_longest_part", "title_inside", "title_share"),
    *("title_similar", "og_equal", "og_inside", "og_similar", "ld_equal", "meta_equal", "metas"),
    *("is_host", "host_share", "is_site_name", "slug_share", "is_shown", "shown_times", "since_text", "head_rank"),
    *("link_share", "is_home_link", "is_other_link", *REGION_FEATURES, "day_after"),
    *("score", "score_before", "score_after", "place", "line_share", "links_between", "in_container"),
    *("since_container", "holds_other", "title_parts", "has_og", "has_ld", "is_part"),
)


@dataclass(slots=True)
class TitleCandidate:
    """A text that may be the title; `lines` are the places where the page shows it, `sources` what states it."""

    text: str
    folded: str
    lines: list[int] = field(default_factory=list)
    sources: set[str] = field(default_factory=set)
    level: int = 9


def find_article_title(
    view: PageLines,
    scores: Sequence[float],
    *,
    listed: Sequence[str] = (),
    stated: str | None = None,
    is_list: bool = False,
) -> str:
    """Return the page's headline; the empty string where nothing names it.

    `scores` say of each line how likely it belongs to the main text; `stated` is the title in a document's table.
    The titles of rows (`listed`) are none, and on a list page (`is_list`) only what is an h1 or stated counts.
    """
    start = next(iter(select_lines(scores)), 0)
    candidates = list_title_candidates(view, start, stated=stated)
    rows = {normalize_title(title) for title in listed}
    candidates = [
        candidate
        for candidate in candidates
        if candidate.folded not in rows and (candidate.sources or candidate.level == 1 or not is_list)
    ]
    if not candidates:
        return ""
    rated = load_scorer("article_title").score(measure_titles(view, candidates, scores, start))
    if memory := view.page.memory:
        marks = [[hash_heading(candidate.text)] for candidate in candidates]
        rated = [memory.weaken(rate, some) for rate, some in zip(rated, marks, strict=True)]
    return max(zip(rated, candidates, strict=True), key=lambda entry: entry[0])[1].text


def list_title_candidates(view: PageLines, start: int, *, stated: str | None = None) -> list[TitleCandidate]:
    """Return the texts that may be the title, each once: those that the page states, its headings, lines near `start`.

    `stated` is the title in the table of a document.
    """
    found: dict[str, TitleCandidate] = {}
    for text, source in _list_statements(view.metadata, stated):
        if (candidate := _keep(found, text)) is not None:
            candidate.sources.add(source)
    near = range(start - _MAX_LINES_ABOVE, start + _MAX_LINES_BELOW)
    for text, place in _list_shown(view):
        level = _get_level(view, place)
        is_skipped = _is_later_piece(view, place) if level <= len(LEVELS) else place not in near
        if is_skipped and view.folded[place] not in found:
            continue
        if len(found) >= _MAX_CANDIDATES and normalize_title(text) not in found:
            continue
        if (candidate := _keep(found, text)) is not None:
            candidate.lines.append(place)
            candidate.level = min(candidate.level, level)
    for candidate in found.values():
        if not candidate.lines:
            candidate.lines = _find_broken(candidate.folded, view.folded, near)
    return [candidate for candidate in found.values() if candidate.lines or not _SITE_MARK.search(candidate.text)]


def _is_later_piece(view: PageLines, place: int) -> bool:
    """Whether a line goes on with a headline: it is not the first one of its heading."""
    heading, line = view.headings[place], view.lines[place]
    if heading is None or line.start == heading.text_start:
        return False
    return measure_width(view.page.get_text(heading, 2 * _MAX_WIDTH)) <= _MAX_WIDTH


def _find_broken(folded: str, lines: Sequence[str], places: range) -> list[int]:
    """Return the place of the first of several lines in a row that together are a text; none where none are."""
    for place in places[max(0, -places.start) :]:
        rest = folded
        for line in lines[place : place + _MAX_BROKEN_LINES]:
            if not line or not rest.startswith(line):
                break
            rest = rest[len(line) :]
        if not rest:
            return [place]
    return []


def _keep(found: dict[str, TitleCandidate], written: str) -> TitleCandidate | None:
    if not _MIN_WIDTH <= measure_width(written) <= _MAX_WIDTH:
        return None
    masked = mask_dates(written, YEAR_FIRST) if _DIGIT.search(written) or "：" in written else None
    text = masked.restore(_HEADLINE_TAIL.sub("", masked.text)) if masked else _HEADLINE_TAIL.sub("", written)
    text = collapse_whitespace(text).strip(" -_|–—»·")
    folded = normalize_title(text)
    return found.setdefault(folded, TitleCandidate(text, folded)) if len(folded) >= 2 else None


def _list_statements(metadata: PageMetadata, stated: str | None) -> Iterator[tuple[str, str]]:
    """Yield what the head of the page and a document's table call it: whole, in parts, and in parts in a row."""
    if stated:
        yield stated, "stated"
    if headline := metadata.get_json_ld_text("headline"):
        yield headline, "headline"
    named = [(metadata.meta[name], name) for name in _TITLE_META if metadata.meta.get(name)]
    for written, source in ((metadata.title_element, "title"), *named):
        yield written, source
        parts = [part for part in map(collapse_whitespace, _split_title(written)) if part]
        for count in range(1, min(len(parts), 6)):
            for some in (parts[:count], parts[count:], parts[count : count + 1]):
                first, last = written.find(some[0]), written.rfind(some[-1])
                yield written[first : last + len(some[-1])], f"part of {source}"


def _split_title(title: str) -> list[str]:
    """Return the title's parts between separators; « and » as quotation marks are none."""
    if "«" not in title:
        return _SEPARATORS.split(title)
    return [part.translate(_RESTORED_QUOTES) for part in _SEPARATORS.split(title.translate(_HIDDEN_QUOTES))]


def _list_shown(view: PageLines) -> Iterator[tuple[str, int]]:
    """Yield each heading over several lines with the first of them, then each line; as text and place."""
    for place, (line, heading) in enumerate(zip(view.lines, view.headings, strict=True)):
        if heading is not None and line.start == heading.text_start and line.end < heading.text_end:
            yield view.page.get_text(heading, 2 * _MAX_WIDTH), place
    yield from ((line.text, place) for place, line in enumerate(view.lines))


def _get_level(view: PageLines, place: int) -> int:
    heading = view.headings[place]
    return LEVELS[heading.tag] if heading is not None else 9


def measure_titles(
    view: PageLines, candidates: Sequence[TitleCandidate], scores: Sequence[float], start: int
) -> list[tuple[float, ...]]:
    """Return the features of each candidate, in the order of `TITLE_FEATURES`."""
    meter = _TitleMeter(view, candidates, scores, start)
    return [meter.measure(candidate) for candidate in candidates]


class _TitleMeter:
    def __init__(
        self, view: PageLines, candidates: Sequence[TitleCandidate], scores: Sequence[float], start: int
    ) -> None:
        metadata = view.metadata
        self.view, self.start = view, start
        self.scores = [0.0, *scores, 0.0]
        self.title = normalize_title(metadata.title_element)
        self.parts = [folded for part in _split_title(metadata.title_element) if (folded := normalize_title(part))]
        self.longest_part = max(map(len, self.parts), default=0)
        self.named = {normalize_title(metadata.meta[name]) for name in _TITLE_META if metadata.meta.get(name)}
        self.og = normalize_title(metadata.meta.get("og:title", ""))
        self.headline = normalize_title(metadata.get_json_ld_text("headline") or "")
        address = urlsplit(view.page.url)
        hostname = (address.hostname or "").removeprefix("www.")
        self.host = normalize_title(hostname)
        self.domain = max(hostname.split(".")[:-1], key=len, default="")
        sites = (metadata.meta.get(name) for name in _SITE_META)
        self.sites = {normalize_title(site) for site in sites if site}
        self.slug = frozenset(_LATIN_WORD.findall(unquote(address.path).lower()))
        self.levels = Counter(candidate.level for candidate in candidates if candidate.level < 9)
        self.best_level = min(self.levels, default=9)
        self.first_h1 = min((candidate.lines[0] for candidate in candidates if candidate.level == 1), default=-1)
        heads = (place for candidate in candidates if candidate.level < 9 for place in candidate.lines if place < start)
        self.heads = sorted(heads, reverse=True)
        self.shown = [candidate.folded for candidate in candidates if candidate.lines and len(candidate.folded) > 5]
        self.dated: dict[int, bool] = {}
        self.container = view.find_container(CONTAINER_SHARE)
        self.urls = {anchor.element.text_start: anchor.url for anchor in view.page.anchors}

    def measure(self, candidate: TitleCandidate) -> tuple[float, ...]:
        return (
            *self._measure_text(candidate),
            *self._measure_support(candidate),
            *(self._measure_place(candidate) if candidate.lines else _NOT_SHOWN),
            sum(other in candidate.folded for other in self.shown) - float(candidate.folded in self.shown),
            len(self.parts),
            float(bool(self.og)),
            float(bool(self.headline)),
            float(candidate.folded in self.parts),
        )

    def _measure_text(self, candidate: TitleCandidate) -> tuple[float, ...]:
        text, digits = candidate.text, _DIGIT.findall(candidate.text)
        return (
            log2(1 + measure_width(text)),
            len(digits) / len(text),
            sum(date.end - date.start for date in find_dates(text, order="dmy")) / len(text) if digits else 0.0,
            candidate.level,
            candidate.level - self.best_level,
            self.levels[candidate.level],
            float(bool(candidate.lines) and candidate.lines[0] == self.first_h1),
        )

    def _measure_support(self, candidate: TitleCandidate) -> tuple[float, ...]:
        folded, parts = candidate.folded, self.parts
        latin = frozenset(_LATIN_WORD.findall(candidate.text.lower()))
        return (
            float(bool(parts) and folded == parts[0]),
            float(len(parts) > 1 and folded == parts[-1]),
            float(bool(parts) and len(folded) >= self.longest_part),
            float(folded in self.title),
            len(folded) / max(1, len(self.title)),
            compare_titles(folded, self.title),
            float(folded == self.og),
            float(folded in self.og),
            compare_titles(folded, self.og),
            float(folded == self.headline),
            float(folded in self.named),
            sum(not source.startswith("part") for source in candidate.sources),
            float(len(folded) >= 4 and folded.isascii() and (folded in self.host or self.host in folded)),
            _measure_cover(self.domain, latin),
            float(folded in self.sites),
            len(latin & self.slug) / max(1, len(latin)) if latin and self.slug else -1.0,
        )

    def _measure_place(self, candidate: TitleCandidate) -> tuple[float, ...]:
        """Return the features of where a candidate stands: in the highest heading, there the nearest to the text."""
        view, start, scores = self.view, self.start, self.scores
        place = min(candidate.lines, key=lambda place: (_get_level(view, place), abs(start - place)))
        line = view.lines[place]
        url = self.urls.get(line.start) or self.urls.get(max(0, line.start - 1)) if line.linked else None
        is_home = url is not None and url.endswith("/") and view.page.url.startswith(url) and url != view.page.url
        following = range(place + 1, min(len(view.lines), place + 9))
        since_container = place - view.line_of_text[self.container.text_start] if self.container else _FAR
        return (
            1.0,
            min(9, len(candidate.lines)),
            max(-_FAR, min(_FAR, start - place)),
            next((rank for rank, head in enumerate(self.heads[:9]) if head == place), 9),
            line.linked / max(1, line.width),
            float(is_home),
            float(bool(url) and not is_home),
            *list_bits(view.regions[line.block.index]),
            next((far for far, near in enumerate(following) if self._is_dated(near)), 9),
            *(scores[place + 1], scores[place], scores[place + 2]),
            place / len(view.lines),
            measure_width(candidate.text) / max(1, view.lines[candidate.lines[0]].width),
            self._count_links_between(candidate.lines),
            float(self.container is not None and self.container.contains(line.block)),
            max(-_FAR, min(_FAR, since_container)),
        )

    def _count_links_between(self, places: Sequence[int]) -> int:
        """Return how many lines of links stand between a candidate and the text: the menu under a site's name."""
        near = min(places, key=lambda place: abs(self.start - place))
        between = self.view.lines[min(near, self.start) + 1 : max(near, self.start)]
        return min(_FAR, sum(2 * line.linked > line.width for line in between))

    def _is_dated(self, place: int) -> bool:
        line = self.view.lines[place]
        if place not in self.dated:
            self.dated[place] = line.width < 160 and bool(_DIGIT.search(line.text)) and has_day(line.text)
        return self.dated[place]


def _measure_cover(domain: str, words: frozenset[str]) -> float:
    """Return the share of a domain's letters that words say: the name of a site has them."""
    rest = domain
    for word in sorted(words, key=len, reverse=True):
        rest = rest.replace(word, "", 1)
    return 1 - len(rest.replace("-", "")) / max(1, len(domain.replace("-", "")))


# In the place of the measures of a line, for what the page states but does not show.
_NOT_SHOWN = (0.0, 0.0, _FAR, 9.0, *(0.0,) * (3 + len(REGION_FEATURES)), 9.0, *(0.0,) * 5, -1.0, 0.0, _FAR)


def compare_titles(left: str, right: str) -> float:
    """Return the share of their trigrams that two normalized titles have in common."""
    if not left or not right:
        return -1.0
    some, others = _list_trigrams(left), _list_trigrams(right)
    return len(some & others) / max(1, len(some | others))


@lru_cache(maxsize=256)
def _list_trigrams(folded: str) -> frozenset[str]:
    return frozenset(folded[place : place + 3] for place in range(max(1, len(folded) - 2)))
