"""Reading the list pages of one section; code and agent use the same reader, so that nothing an agent skips is lost."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from monitor.db.reading import KnownCandidate, SectionPlan, UnseenPlace
from monitor.db.tables.collection import SourceSection
from monitor.i18n.message import Message
from monitor.page import NO_HINTS, Candidate, ExpectedPage, Page, PageErrorCode, PageHints, is_feed_page
from monitor.recipe import SURE_RECIPE_FIT, ListRecipe, SectionRecipe, Teacher
from monitor.sweep.context import RunContext
from monitor.sweep.ledger import NOT_OPENED, ROBOTS, CandidateEntry, CoverageLedger
from monitor.sweep.progress import Progress
from monitor.urls import get_last_segment, url_key
from monitor.vocabulary import DateSource, Disposition, EventKind, Phase, SectionEnd

MAX_CANDIDATES_PER_PAGE = 5_000
"""No list that people read is as long; each candidate costs the ledger, on the event loop, some 50 microseconds."""

MAX_ARTICLE_FETCHES = 20
MAX_BARREN_PAGES = 2
MAX_PAGES_FACTOR = 4
_MAX_HEAD_URLS = 5
_MIN_KNOWN = 2  # of what was newest last time, to find the list on a rebuilt page
_TAIL_CANDIDATES = 3


class SectionReader:
    """The list pages of a section, in the order in which they are opened.

    After a run that did not reach everything, pages on which all is known count neither against the limit of pages nor
    as barren, up to four times the limit. Up to there a section is also read while nothing of what was newest last
    time is met again: between lies a gap.

    `next_url` is the page that would follow; `cut_short_at` one whose own list goes on, by a button or by scrolling,
    further than the browser asked for it. `learned` is the recipe that the source is to keep for the section from now
    on, `is_drifted` says that the one which it has no longer fits.
    """

    def __init__(
        self, *, plan: SectionPlan, run: RunContext, ledger: CoverageLedger, memory: SourceSection | None
    ) -> None:
        self.plan = plan
        self.ledger = ledger
        self.unseen: list[UnseenPlace] = []
        self.unread_articles: list[UnseenPlace] = []
        self.next_url: str | None = None
        self.cut_short_at: str | None = None
        self.pages: dict[str, Page] = {}
        self.list_pages = 0
        self.listed: int | None = None
        self.listed_dated = 0
        self._run = run
        self.is_unfinished = memory is not None and memory.is_unfinished
        # After a drift what was newest last time is of another list than the recipe's.
        self._head = frozenset(memory.head if memory is not None and memory.drifted_on is None else ())
        is_open_range = memory is not None and not ledger.window.is_fixed
        self._newest_before = frozenset(memory.head) if memory is not None and is_open_range else frozenset()
        self._joined_on_page: int | None = None
        self._max_pages = run.deps.limits.max_pages_per_section
        self._counted = 0
        self._barren = 0
        self._fetches = 0
        self._is_feed = plan.is_feed
        self._disallowed: set[str] = set()
        self.learned: SectionRecipe | None = None
        self.is_drifted = False
        self._examples: tuple[str, ...] = ()
        self._recipe = find_recipe(run.source.recipes, plan.url)

    async def look(self) -> Page:
        """Load the section's first page and check its recipe, without entering the page into the ledger."""
        page = await self._run.deps.loader.load(self.plan.url, render=self._run.render, hints=self._hints)
        return await self._check_recipe(page)

    async def look_anew(self) -> Page:
        """Load the section's first page as if there were no recipe."""
        hints = PageHints(expected=ExpectedPage.LIST)
        return await self._run.deps.loader.load(self.plan.url, render=self._run.render, hints=hints)

    def follow(self, examples: Sequence[str]) -> None:
        """Take as the section's list the one with these urls, which a model named."""
        self._examples = tuple(examples)

    def learn(self, how: ListRecipe) -> None:
        """Read the section by this recipe from now on, in place of one that no longer fits."""
        self._recipe = self.learned = self._build_recipe(how, Teacher.MODEL)

    @property
    def has_recipe(self) -> bool:
        return self._recipe is not None

    @property
    def is_model_recipe(self) -> bool:
        return self._recipe is not None and self._recipe.taught_by is Teacher.MODEL

    @property
    def _hints(self) -> PageHints:
        if self.plan.is_query or self.plan.is_feed or (self.plan.is_home and self._recipe is None):
            return NO_HINTS
        how = self._recipe.how if self._recipe is not None and not self._examples else None
        recipe = how if isinstance(how, ListRecipe) else None
        return PageHints(expected=ExpectedPage.LIST, recipe=recipe, examples=self._examples)

    async def open(self, url: str) -> Page:
        """Load the page at `url`; enter a list page into the ledger, its undated candidates dated where possible.

        An article that the ledger knows is no list page. Only the section's own url and the next pages from there are
        its pages in turn; whatever else an agent opens does not advance the reading.
        """
        key = url_key(url)
        if key in self.pages:
            return self.pages[key]
        is_in_turn = key in (url_key(self.plan.url), self.next_url and url_key(self.next_url))
        page = await self._load(url, self._hints if is_in_turn else NO_HINTS)
        if key == url_key(self.plan.url):
            page = await self._check_recipe(page)
        self.pages[key] = page
        if page.error is not None:
            if is_in_turn:
                self.unseen.append(UnseenPlace(section=self.plan.name, url=url, reason=page.error.reason))
            return page
        if key == url_key(self.plan.url):
            self._is_feed = self._is_feed or is_feed_page(page)
            self.listed = len(page.candidates)
            self.listed_dated = sum(candidate.date is not None for candidate in page.candidates)
        if is_in_turn or self.ledger.find(url) is None:
            page = self.pages[key] = await self._enter(page, await self._find_known(page))
        if is_in_turn:
            is_turned = page.next_page is not None and url_key(page.next_page) not in self.pages
            self.next_url = page.next_page if is_turned and not self.plan.is_home else None
            self.cut_short_at = url if page.is_cut_short and self._ends_in_range(page) else None
        return page

    def get_end(self) -> SectionEnd | None:
        """Return why there is nothing more to read; None while there may be."""
        if self.unseen:
            return SectionEnd.ERROR
        ended = self._get_list_end()
        if not self.ledger.has_room and (ended is not None or not self.is_seeking):
            has_more = self.next_url or self.cut_short_at or self.ledger.list_open_entries()
            return SectionEnd.MAX_ITEMS if has_more else SectionEnd.END
        return ended

    def _get_list_end(self) -> SectionEnd | None:
        if self.next_url is None:
            return SectionEnd.MAX_PAGES if self.cut_short_at else SectionEnd.END
        if self._barren >= MAX_BARREN_PAGES:
            return SectionEnd.EARLY
        is_long = self._counted >= self._max_pages and not self.is_seeking
        if is_long or self.list_pages >= MAX_PAGES_FACTOR * self._max_pages:
            return SectionEnd.MAX_PAGES
        return None

    @property
    def is_seeking(self) -> bool:
        """Whether there is something new, and nothing of what was newest last time was met so far."""
        return bool(self._newest_before) and self._joined_on_page is None and self._has_new()

    @property
    def is_gap(self) -> bool:
        """Whether what was newest last time is on none of the first pages: something may lie unseen between."""
        is_late = self._joined_on_page is not None and self._joined_on_page > self._max_pages
        return self.is_seeking or (is_late and self._has_new())

    def list_newest_keys(self) -> list[str]:
        """Return the keys of the newest urls on the section's first page; of a list without dates, the first ones."""
        first = self.pages.get(url_key(self.plan.url))
        candidates = first.candidates if first is not None else []
        newest = sorted(candidates, key=lambda candidate: candidate.date or dt.date.min, reverse=True)
        return [url_key(candidate.url) for candidate in newest[:_MAX_HEAD_URLS]]

    async def _find_known(self, page: Page) -> dict[str, KnownCandidate]:
        urls = [candidate.url for candidate in page.candidates]
        return await self._run.deps.store.sections.find_known(self._run.source.id or 0, urls)

    async def _check_recipe(self, page: Page) -> Page:
        """Return the section's page, read again by what was newest last time where it was rebuilt around that.

        The recipe is learned of a list that a model named, or anew of a rebuilt page; else one that fits badly drifts.
        """
        self.is_drifted = False
        if page.error is not None:
            return page
        if self._examples:
            self.learned = self._build_recipe(page.recipe, Teacher.MODEL) if page.recipe is not None else None
        elif self._recipe is not None and page.recipe_fit is not None and page.recipe_fit < SURE_RECIPE_FIT:
            known = [link.url for link in page.links if url_key(link.url) in self._head]
            least = min(_MIN_KNOWN, len(self._head))
            if known and len(known) >= least:
                again = await self._load(page.url, PageHints(expected=ExpectedPage.LIST, examples=tuple(known)))
                rows = {url_key(candidate.url) for candidate in again.candidates}
                if again.recipe is not None and len(rows & self._head) >= least:
                    self.learned = self._build_recipe(again.recipe, self._recipe.taught_by)
                    return again
            self.is_drifted = True
        return page

    def _build_recipe(self, how: ListRecipe, taught_by: Teacher) -> SectionRecipe:
        examples = self._examples or (self._recipe.examples if self._recipe is not None else ())
        return SectionRecipe(
            url=self.plan.url,
            how=how,
            taught_by=taught_by,
            taught_at=self._run.deps.clock.now(),
            examples=list(examples),
        )

    async def _enter(self, page: Page, known: dict[str, KnownCandidate]) -> Page:
        candidates, unopened = await self._date_candidates(page.candidates, known)
        added = self.ledger.add(candidates, page_url=page.final_url, known=known, unopened=unopened)
        self.list_pages += 1
        if self._joined_on_page is None and any(
            url_key(candidate.url) in self._newest_before for candidate in candidates
        ):
            self._joined_on_page = self.list_pages
        self._count_page(added, candidates)
        return page.model_copy(update={"candidates": candidates})

    def _count_page(self, added: list[CandidateEntry], candidates: Sequence[Candidate]) -> None:
        has_new = any(entry.disposition is None for entry in added)
        in_range = any(entry.is_in_range for candidate in candidates if (entry := self.ledger.find(candidate.url)))
        is_passing = self.is_unfinished and in_range and not has_new
        self._counted += not is_passing
        self._barren = 0 if has_new or is_passing else self._barren + 1

    async def _date_candidates(
        self, candidates: Sequence[Candidate], known: dict[str, KnownCandidate]
    ) -> tuple[list[Candidate], dict[str, Message]]:
        dated: list[Candidate] = []
        unopened: dict[str, Message] = {}
        for candidate in candidates:
            key = url_key(candidate.url)
            is_whole = candidate.date is not None and not self._lacks_title(candidate)
            if is_whole or self.ledger.find(candidate.url) is not None:
                dated.append(candidate)
            elif key in known:
                dated.append(await self._recall(candidate, known[key]))
            else:
                if self._fetches >= self._max_fetches:
                    unopened[key] = NOT_OPENED
                dated.append(await self.date_candidate(candidate))
                if key in self._disallowed:
                    unopened[key] = ROBOTS
        return dated, unopened

    async def _recall(self, candidate: Candidate, memory: KnownCandidate) -> Candidate:
        """Return the candidate with the date that is remembered; what may still be saved gets its title."""
        if candidate.date is None or memory.date is not None:
            candidate = candidate.model_copy(update={"date": memory.date, "date_source": memory.date_source})
        is_open = memory.item_id is None and candidate.date is not None
        return await self.date_candidate(candidate) if is_open and self._lacks_title(candidate) else candidate

    @property
    def _max_fetches(self) -> int:
        """What a feed lists is opened for its summary anyway, and found remembered then."""
        return max(MAX_ARTICLE_FETCHES, self.ledger.max_items) if self._is_feed else MAX_ARTICLE_FETCHES

    def _lacks_title(self, candidate: Candidate) -> bool:
        """Whether a sitemap lists a url that could be new, without its title."""
        is_untitled = self._is_feed and candidate.title == get_last_segment(candidate.url)
        return is_untitled and (candidate.date is None or candidate.date in self.ledger.window)

    async def date_candidate(self, candidate: Candidate) -> Candidate:
        """Return the candidate with the date of its article, and its title where it has none.

        Only while articles may still be opened for that. The date of a sitemap is that of the last change: the one that
        the article states comes before it.
        """
        if self._fetches >= self._max_fetches:
            return candidate
        self._fetches += 1
        article = await self._load(candidate.url, PageHints(expected=ExpectedPage.ARTICLE))
        if article.error is not None:
            if article.error.code is not PageErrorCode.UNSUPPORTED_TYPE:  # a document has no date to read
                place = UnseenPlace(section=self.plan.name, url=article.url, reason=article.error.reason)
                self.unread_articles.append(place)
            if is_disallowed_by_robots(article):
                self._disallowed.add(url_key(candidate.url))
            return candidate
        found: dict[str, object] = {}
        if article.title and self._lacks_title(candidate):
            found["title"] = article.title
        if article.published_on is not None and (candidate.date is None or article.stated_date is not None):
            source = DateSource.URL if article.date_source is DateSource.URL else DateSource.PAGE
            found |= {"date": article.published_on, "date_source": source}
        return candidate.model_copy(update=found)

    async def _load(self, url: str, hints: PageHints) -> Page:
        is_list = hints.expected is not ExpectedPage.ARTICLE
        page = _limit_candidates(await self._run.deps.loader.load(url, render=self._run.render, hints=hints))
        self._run.report_progress(
            Progress(
                phase=Phase.CRAWL,
                place=self.plan.name,
                kind=EventKind.PAGE,
                url=url,
                title=page.title,
                candidates=len(page.candidates) if is_list else None,
                reason=page.error and page.error.reason,
                ordinal=self.plan.ordinal,
            )
        )
        return page

    def _has_new(self) -> bool:
        return any(entry.disposition is not Disposition.KNOWN for entry in self.ledger)

    def _ends_in_range(self, page: Page) -> bool:
        """Whether more of a list, shown in the same page, could be new and in range: one of its last candidates is."""
        tail = [
            entry for candidate in page.candidates[-_TAIL_CANDIDATES:] if (entry := self.ledger.find(candidate.url))
        ]
        return not self.plan.is_home and any(
            (entry.is_in_range or entry.candidate.date is None)
            and (self.is_unfinished or entry.disposition is not Disposition.KNOWN)
            for entry in tail
        )


def find_recipe(recipes: Sequence[Mapping[str, Any]], url: str) -> SectionRecipe | None:
    """Return the recipe that a source keeps for the section at `url`."""
    mine = (recipe for recipe in recipes if url_key(str(recipe["url"])) == url_key(url))
    found = next(mine, None)
    return SectionRecipe.model_validate(found) if found is not None else None


def _limit_candidates(page: Page) -> Page:
    """Return a page with the newest of too many candidates, in their order; its list then counts as cut short."""
    candidates = page.candidates
    if len(candidates) <= MAX_CANDIDATES_PER_PAGE:
        return page
    by_date = sorted(range(len(candidates)), key=lambda place: candidates[place].date or dt.date.max, reverse=True)
    kept = [candidates[place] for place in sorted(by_date[:MAX_CANDIDATES_PER_PAGE])]
    return page.model_copy(update={"candidates": kept, "is_cut_short": True})


def is_disallowed_by_robots(page: Page) -> bool:
    return page.error is not None and page.error.detail_code == "robots"
