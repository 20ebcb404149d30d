"""What is seen in lists whose pages were changed, beside what was seen before: `make bench NAME=metamorphic`."""

import hashlib
from collections.abc import Iterator, Sequence
from statistics import mean

from pydantic import BaseModel

from benchmarks.labelled_pages import LIST, LabelledPage, fold_url
from benchmarks.page_changes import CHANGES, LANGUAGES, Change
from benchmarks.train_lists import build_page_outline, compute_f1, is_named
from monitor.extract.lists.candidates import find_lists
from monitor.page import Candidate, ExpectedPage, PageHints
from monitor.vocabulary import DateSource

_HINTS = PageHints(expected=ExpectedPage.LIST)
FIGURES = ("f1", "title", "date_exact", "date_right", "undated")


class PageFigures(BaseModel):
    """What was seen of one list, shares from 0 to 1; None where nothing of the kind is labelled or was found.

    `date_right` is the share of rows whose date is not wrong, `undated` that of rows without a date from the page.
    """

    f1: float
    title: float | None = None
    date_exact: float | None = None
    date_right: float | None = None
    undated: float | None = None


class ChangeFigures(BaseModel):
    """The means over the pages that a change applies to, before and after it; a figure is there where both have it."""

    change: str
    pages: int
    before: dict[str, float]
    after: dict[str, float]

    def list_falls(self) -> dict[str, float]:
        """Return by how much each figure fell; `undated` is held against 1, for no row may have a date then."""
        return {
            name: round((1.0 if name == "undated" else self.before[name]) - after, 4)
            for name, after in self.after.items()
        }


def choose_pages(pages: Sequence[LabelledPage], count: int) -> list[LabelledPage]:
    """Return so many of the lists with whole labels, always the same ones, no site more often than it must be."""
    lists = [page for page in pages if page.kind == LIST and page.is_scored]
    seen: dict[str, int] = {}
    places: list[tuple[int, str, LabelledPage]] = []
    for page in sorted(lists, key=lambda page: _hash(page.id)):
        seen[page.site] = seen.get(page.site, 0) + 1
        places.append((seen[page.site], _hash(page.id), page))
    return [page for *_, page in sorted(places, key=lambda place: place[:2])[:count]]


def measure(pages: Sequence[LabelledPage], *, is_sampled: bool = True) -> Iterator[ChangeFigures]:
    """Yield the figures of every change; of the languages each gets its share of the pages where `is_sampled`."""
    before = {page.id: look(page) for page in pages}
    for name, change in CHANGES.items():
        yield _compare(name, change, _list_pages_for(name, pages) if is_sampled else pages, before)


def _list_pages_for(name: str, pages: Sequence[LabelledPage]) -> Sequence[LabelledPage]:
    """Every page has its dates written in two of the languages."""
    language = name.removeprefix("dates_")
    if language not in LANGUAGES:
        return pages
    place, count = LANGUAGES.index(language), len(LANGUAGES)
    dated = [page for page in pages if any(item.get("date") for item in page.items)]
    return [page for number, page in enumerate(dated) if (number - place) % count in (0, count // 2)]


def _compare(name: str, change: Change, pages: Sequence[LabelledPage], known: dict[str, PageFigures]) -> ChangeFigures:
    changed = [(page, other) for page in pages if (other := change(page)) is not None]
    pairs = [(known[page.id], look(other)) for page, other in changed]
    before: dict[str, float] = {}
    after: dict[str, float] = {}
    for figure in FIGURES:
        if (figure == "undated") != (name == "dates_removed") and figure not in ("f1", "title"):
            continue
        both = [
            (earlier, later)
            for first, second in pairs
            if (earlier := getattr(first, figure)) is not None and (later := getattr(second, figure)) is not None
        ]
        if both:
            before[figure] = round(mean(earlier for earlier, _ in both), 4)
            after[figure] = round(mean(later for _, later in both), 4)
    return ChangeFigures(change=name, pages=len(pairs), before=before, after=after)


def look(page: LabelledPage) -> PageFigures:
    """Return what is seen of a page of which it is known that it is a list."""
    found = find_lists(build_page_outline(page), page.today, _HINTS).candidates
    wanted = {fold_url(item["url"]): item for item in page.items}
    hits = [(candidate, wanted[url]) for candidate in found if (url := fold_url(candidate.url)) in wanted]
    dated = [(candidate, item["date"]) for candidate, item in hits if item.get("date")]
    return PageFigures(
        f1=compute_f1({fold_url(candidate.url) for candidate in found}, wanted.keys(), page.others),
        title=_share([named for candidate, item in hits if (named := is_named(candidate.title, item)) is not None]),
        date_exact=_share([str(candidate.date) == day for candidate, day in dated]),
        date_right=_share([candidate.date is None or str(candidate.date) == day for candidate, day in dated]),
        undated=_share([not _has_page_date(candidate) for candidate in found]),
    )


def _has_page_date(candidate: Candidate) -> bool:
    return candidate.date is not None and candidate.date_source is not DateSource.URL


def _share(flags: Sequence[bool]) -> float | None:
    return mean(map(float, flags)) if flags else None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
