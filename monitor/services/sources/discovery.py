"""Discovery: from any address to the richest way in which its site can be read, with the reason for it."""

import asyncio
import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from urllib.parse import urljoin

from pydantic import BaseModel, Field

from monitor.clock import Clock
from monitor.config.rsshub import SCHEME
from monitor.db.tables.collection import Source
from monitor.errors import BrowserMissing, UsageError
from monitor.extract.discovery import WELL_KNOWN_FEEDS, is_home_address, order_sitemaps
from monitor.fetch.log_in import LogInFailed
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.isolation.pool import IsolatedWorkFailed, WorkerPool
from monitor.log_in import LogInStep
from monitor.page import NO_HINTS, Candidate, ExpectedPage, Page, PageErrorCode, PageHints
from monitor.pages.data import (
    DataForm,
    PageClues,
    ParsedFeed,
    ShownList,
    find_clues,
    learn_json_list,
    parse_feed_result,
)
from monitor.pages.loader import PageLoader
from monitor.recipe import JsonRecipe, SectionRecipe, Teacher
from monitor.services.audit import Actor
from monitor.services.sources.loading import SourceLoaders
from monitor.services.sources.names import extract_site_name
from monitor.services.sources.service import PinnedSection, SourceService
from monitor.sweep.navigate import find_sections_by_rule
from monitor.sweep.reader import is_disallowed_by_robots
from monitor.urls import clean_url, get_host, url_key
from monitor.vocabulary import Render, Role, SourceKind

MAX_REQUESTS = 8
_MAX_NAMED_FEEDS = 2
_MAX_DATA_URLS = 2
_MAX_SECTIONS_TRIED = 2
_MIN_SECTIONS = 2
_MIN_COVERED = 0.5
_SCHEME_TIMEOUT_S = 15.0
_LOG_IN_STATUS = 401
_UNREACHABLE = (PageErrorCode.NETWORK, PageErrorCode.TIMEOUT, PageErrorCode.BAD_GATEWAY)


class DiscoveryMethod(StrEnum):
    """A way to read a site."""

    PAGE = "page"
    FEED = "feed"
    JSON = "json"
    NEWS_SITEMAP = "news_sitemap"
    SITEMAP = "sitemap"


class DiscoveredOption(MessageModel):
    """A way that was looked at: how many entries it shows, how many of them with a date, and the newest date."""

    method: DiscoveryMethod
    url: str
    entries: int = 0
    dated: int = 0
    newest: dt.date | None = None
    is_chosen: bool = False
    reason: Message


class Discovery(MessageModel):
    """What was found at an address, the chosen way first, and the fields of the source that reads it.

    `problem` says why it cannot be read as it is, such as a page that asks to log in; the fields are then those of the
    address itself. `requests` counts pages and files that were asked for, without robots.txt.
    """

    url: str
    title: str = ""
    kind: SourceKind = SourceKind.SITE
    render: Render | None = None
    sections: list[PinnedSection] = Field(default_factory=list)
    recipes: list[SectionRecipe] = Field(default_factory=list)
    options: list[DiscoveredOption] = Field(default_factory=list)
    problem: Message | None = None
    requests: int = 0

    @property
    def values(self) -> dict[str, Any]:
        """The fields of a source, as a form takes them; what is at its default is left out."""
        found: dict[str, Any] = {"url": self.url, "kind": self.kind}
        if self.render is not None:
            found["render"] = self.render
        for name in ("sections", "recipes"):
            if entries := [entry.model_dump(mode="json") for entry in getattr(self, name)]:
                found[name] = entries
        return found


class DiscoveredSource(BaseModel):
    """A source that was added, and what was found at its address."""

    source: Source
    discovery: Discovery


@dataclass(frozen=True, kw_only=True)
class DiscoveryService:
    """Finds out how a site can be read, with few requests, each through the guard and by the rules of robots.txt."""

    sources: SourceService
    workers: WorkerPool
    clock: Clock
    source_loaders: SourceLoaders

    async def discover(
        self, url: str, *, focus_areas: Sequence[str] = (), steps: Sequence[LogInStep] = ()
    ) -> Discovery:
        """Look at an address; one without a scheme is tried as https, then as http.

        With `steps` the browser logs in first; where that fails, the discovery's `problem` says why. `UsageError` for
        what is no address, and where robots.txt asks us to keep away.
        """
        values = {"name": url, "url": url, "focus_areas": list(focus_areas), "steps": list(steps)}
        return await self.discover_source(self._build_draft(values), at=url)

    async def discover_source(self, source: Source, *, at: str = "", loader: PageLoader | None = None) -> Discovery:
        """Look at a source's address, or at the one that a person wrote (`at`), as its runs would see it.

        `loader` is one that is logged in already. Raises as `discover` does.
        """
        addresses = list_addresses(at or source.url)
        try:
            async with nullcontext(loader) if loader else self.source_loaders.open(source) as opened:
                return await _Search(opened, self.workers, self.clock, source.focus_areas).run(addresses)
        except (LogInFailed, BrowserMissing) as error:
            return Discovery(url=addresses[0], problem=error.message)

    async def add(self, values: Mapping[str, Any], *, by: Actor, team_id: int | None = None) -> DiscoveredSource:
        """Add a source in the way that discovery chose; `values` have its address and what a person wants besides."""
        discovery = await self.discover_source(self._build_draft(values), at=str(values["url"]))
        found = {**discovery.values, **values, "url": discovery.values["url"]}
        source = await self.sources.add(found, by=by, team_id=team_id)
        return DiscoveredSource(source=source, discovery=discovery)

    async def rediscover(self, source_id: int, *, by: Actor, save: bool = False) -> DiscoveredSource:
        """Look at the address of a stored source, and with `save` read it from now on in the way that was found.

        `UsageError` for a source of kind `query`; one whose discovery has a `problem` stays as it is.
        """
        by.require(Role.EDITOR)
        source = await self.sources.get_by_id(source_id)
        if source.kind is SourceKind.QUERY:
            raise UsageError("discovery.is_query", source=source.name)
        discovery = await self.discover_source(source)
        if save and discovery.problem is None:
            source = await self.sources.edit(source_id, discovery.values, by=by)
        return DiscoveredSource(source=source, discovery=discovery)

    def _build_draft(self, values: Mapping[str, Any]) -> Source:
        return self.sources.build_draft({**values, "url": list_addresses(str(values.get("url") or ""))[0]})


def list_addresses(url: str) -> list[str]:
    """Return the addresses that are meant: the one as written or, without a scheme, that with https and with http."""
    written = url.strip()
    addresses = [written] if "://" in written else [f"https://{written}", f"http://{written}"]
    cleaned = [address for address in map(clean_url, addresses) if address]
    is_name = "://" in written or "." in get_host(cleaned[0] if cleaned else "") or written.startswith("localhost")
    if not cleaned or not is_name:
        raise UsageError("source.bad_url", url=url)
    return cleaned


def is_discoverable(values: Mapping[str, Any]) -> bool:
    """Whether a person left it to discovery how the source is read."""
    is_route = str(values.get("url") or "").startswith(SCHEME)
    return not is_route and not any(values.get(name) for name in ("kind", "sections", "recipes"))


@dataclass
class _Found:
    """A way with its entries; `url` and `recipe` are those of the source that it makes."""

    method: DiscoveryMethod
    url: str
    entries: Sequence[Candidate] = ()
    reason: Message | None = None
    recipe: JsonRecipe | None = None

    @property
    def dated(self) -> int:
        return sum(entry.date is not None for entry in self.entries)

    def describe(self, reason: Message, *, is_chosen: bool = False) -> DiscoveredOption:
        return DiscoveredOption(
            method=self.method,
            url=self.url,
            entries=len(self.entries),
            dated=self.dated,
            newest=max((entry.date for entry in self.entries if entry.date), default=None),
            is_chosen=is_chosen,
            reason=reason,
        )


_FORM_METHODS = {
    DataForm.FEED: DiscoveryMethod.FEED,
    DataForm.SITEMAP: DiscoveryMethod.SITEMAP,
    DataForm.NEWS_SITEMAP: DiscoveryMethod.NEWS_SITEMAP,
}


@dataclass
class _Search:
    loader: PageLoader
    workers: WorkerPool
    clock: Clock
    focus_areas: Sequence[str]
    requests: int = 0
    found: list[_Found] = field(default_factory=list)
    tried: set[str] = field(default_factory=set)

    async def run(self, addresses: Sequence[str]) -> Discovery:
        page = await self._open_address(addresses)
        if page.error is not None:
            if is_disallowed_by_robots(page):
                raise UsageError("discovery.robots", url=page.url)
            is_locked = page.status == _LOG_IN_STATUS
            problem = Message.of("discovery.log_in", url=page.url) if is_locked else page.error.reason
            return Discovery(url=page.url, problem=problem, requests=self.requests)
        clues = _get_clues(page)
        if clues.form is not DataForm.PAGE:
            only = _Found(_FORM_METHODS[clues.form], page.url, page.candidates)
            return self._build(page, only, Message("discovery.is_feed"), [])
        static, page = page, await self._render_if_empty(page)
        if not page.candidates and _get_clues(page).asks_to_log_in:
            problem = Message.of("discovery.log_in", url=page.url)
            return Discovery(url=page.url, title=_name_site(page), problem=problem, requests=self.requests)
        render = Render.ALWAYS if page.rendered and not static.rendered else None
        return (await self._compare_options(page)).model_copy(update={"render": render})

    async def _compare_options(self, page: Page) -> Discovery:
        own = _Found(DiscoveryMethod.PAGE, page.url, page.candidates)
        is_home = is_home_address(page.final_url)
        sections = find_sections_by_rule(page, self.focus_areas) if is_home or self.focus_areas else []
        if not own.entries:
            own.entries = await self._read_sections([link.url for link in sections])
        await self._learn_json(page)
        await self._read_named_feeds(page, is_home=is_home)
        if not own.entries and not self.found:
            await self._read_well_known_feeds(page)
        await self._read_sitemaps(page, is_needed=not own.entries and not self.found)
        is_sectioned = len(sections) >= _MIN_SECTIONS and bool(own.entries)
        chosen, reason = choose_option(own, self.found, sections=len(sections) if is_sectioned else 0)
        if chosen is own and not own.entries:
            reason = Message("discovery.nothing")
        return self._build(page, chosen, reason, [own, *self.found], is_home=is_home or bool(self.focus_areas))

    async def _open_address(self, addresses: Sequence[str]) -> Page:
        for address in addresses[:-1]:
            with suppress(TimeoutError):
                async with asyncio.timeout(_SCHEME_TIMEOUT_S):
                    page = await self._load(address)
                    if page.error is None or page.error.code not in _UNREACHABLE:
                        return page
        return await self._load(addresses[-1])

    async def _load(self, url: str, render: Render = Render.AUTO) -> Page:
        self.requests += 1
        # With the hints that a run gives as well, so that what it loads of this is remembered.
        hints = NO_HINTS if is_home_address(url) else PageHints(expected=ExpectedPage.LIST)
        try:
            return await self.loader.load(url, render=render, task=find_clues, hints=hints)
        except BrowserMissing:
            return await self.loader.load(url, render=Render.NEVER, task=find_clues, hints=hints)

    async def _render_if_empty(self, page: Page) -> Page:
        """Return the page as the browser shows it, where it shows no list without scripts and one with them."""
        if page.candidates or page.rendered or not self.loader.can_render():
            return page
        rendered = await self._load(page.url, Render.ALWAYS)
        return rendered if rendered.error is None and rendered.candidates else page

    async def _read_sections(self, urls: Sequence[str]) -> list[Candidate]:
        """Return the entries of the first section that has a list."""
        for url in urls[:_MAX_SECTIONS_TRIED]:
            page = await self._load(url)
            if page.error is None and page.candidates:
                return page.candidates
        return []

    async def _learn_json(self, page: Page) -> None:
        shown = ShownList(page.url, page.candidates, page.links)
        for url in _get_clues(page).data_urls[:_MAX_DATA_URLS]:
            if self.requests >= MAX_REQUESTS:
                break
            self.requests += 1
            result = await self.loader.fetch_data(url)
            if result.error is not None:
                continue
            try:
                learned = await self.workers.run(learn_json_list, result, shown, dt.UTC)
            except IsolatedWorkFailed:
                continue
            if learned is not None and learned[1]:
                self.found.append(_Found(DiscoveryMethod.JSON, url, learned[1], recipe=learned[0]))
                return

    async def _read_named_feeds(self, page: Page, *, is_home: bool) -> None:
        feeds = list(_get_clues(page).feeds)
        home = urljoin(page.final_url, "/")
        if not feeds and not is_home and self.requests < MAX_REQUESTS:
            feeds = list(_get_clues(await self._load(home)).feeds)
        for url in feeds[:_MAX_NAMED_FEEDS]:
            if await self._read_feed(url):
                return

    async def _read_well_known_feeds(self, page: Page) -> None:
        for path in WELL_KNOWN_FEEDS:
            if self.requests >= MAX_REQUESTS - 2 or await self._read_feed(urljoin(page.final_url, path)):
                return

    async def _read_sitemaps(self, page: Page, *, is_needed: bool) -> None:
        """Read a sitemap of news, and any other one only if there is no other way: it gives addresses and no titles."""
        home = urljoin(page.final_url, "/")
        for url in order_sitemaps(self.loader.list_sitemaps(home), home)[:1]:
            if is_needed or "news" in url.lower():
                await self._read_feed(url)

    async def _read_feed(self, url: str) -> bool:
        """Read a feed or a sitemap; of an index the newest sitemap. Whether it has entries."""
        if self.requests >= MAX_REQUESTS or url_key(url) in self.tried:
            return False
        self.tried.add(url_key(url))
        feed = await self._fetch_feed(url)
        if feed.is_index and feed.entries and self.requests < MAX_REQUESTS:
            newest = max(feed.entries, key=lambda entry: ("news" in entry.url.lower(), entry.date or dt.date.max))
            feed = await self._fetch_feed(newest.url)
        if feed.form is not DataForm.PAGE and feed.entries and not feed.is_index:
            self.found.append(_Found(_FORM_METHODS[feed.form], url, feed.entries))
            return True
        return False

    async def _fetch_feed(self, url: str) -> ParsedFeed:
        self.requests += 1
        result = await self.loader.fetch_data(url)
        if result.error is not None or result.body is None:
            return ParsedFeed(DataForm.PAGE)
        try:
            return await self.workers.run(parse_feed_result, result)
        except IsolatedWorkFailed:
            return ParsedFeed(DataForm.PAGE)

    def _build(
        self, page: Page, chosen: _Found, reason: Message, others: Collection[_Found], *, is_home: bool = False
    ) -> Discovery:
        options = [chosen.describe(reason, is_chosen=True)]
        options += [
            option.describe(option.reason or Message("discovery.not_richer"))
            for option in others
            if option is not chosen
        ]
        title = _name_site(page)
        discovery = Discovery(url=page.url, title=title, options=options, requests=self.requests)
        if chosen.method not in (DiscoveryMethod.PAGE, DiscoveryMethod.JSON):
            return discovery.model_copy(update={"url": chosen.url, "kind": SourceKind.FEED})
        name = extract_site_name(page.title) or title or get_host(page.url)
        section = PinnedSection(name=name[:200], url=page.url)
        if chosen.recipe is not None:
            recipe = SectionRecipe(
                url=page.url,
                how=chosen.recipe,
                taught_by=Teacher.DISCOVERY,
                taught_at=self.clock.now(),
                examples=[entry.url for entry in chosen.entries[:2]],
            )
            return discovery.model_copy(update={"sections": [section], "recipes": [recipe]})
        is_list = bool(chosen.entries) and not is_home
        return discovery.model_copy(update={"sections": [section] if is_list else []})


def choose_option(own: _Found, others: Sequence[_Found], *, sections: int) -> tuple[_Found, Message]:
    """Return the richest way and why; the others get the reason why not.

    The page's own list comes first where its site has several sections, which one feed does not cover. A feed comes
    before a single list if it has at least half of its entries and no fewer with a date; so does JSON with its entries.
    Without a list of the page, feeds come before sitemaps of news and these before others.
    """
    order = [DiscoveryMethod.JSON, DiscoveryMethod.FEED, DiscoveryMethod.NEWS_SITEMAP, DiscoveryMethod.SITEMAP]
    keys = {url_key(entry.url) for entry in own.entries}
    fitting = []
    for option in sorted(others, key=lambda option: (-option.dated, order.index(option.method))):
        covered = len(keys & {url_key(entry.url) for entry in option.entries})
        args = {"covered": covered, "total": len(keys), "dated": option.dated, "own_dated": own.dated}
        if sections:
            option.reason = Message("discovery.one_of_sections", {"sections": sections, **args})
        elif keys and covered < _MIN_COVERED * len(keys):
            option.reason = Message("discovery.covers_less", args)
        elif keys and option.dated < own.dated:
            option.reason = Message("discovery.fewer_dates", args)
        else:
            is_sitemap = option.method is DiscoveryMethod.SITEMAP
            alone = Message("discovery.only_sitemap") if is_sitemap else Message("discovery.only_way", args)
            fitting.append((option, Message("discovery.covers", args) if keys else alone))
    if not keys:
        fitting.sort(key=lambda option: order.index(option[0].method))
    if not fitting:
        code = "discovery.sections" if sections else "discovery.own_list"
        return own, Message.of(code, entries=len(own.entries), dated=own.dated, sections=sections)
    own.reason = Message("discovery.page_poorer" if keys else "discovery.page_without_list")
    return fitting[0]


def _get_clues(page: Page) -> PageClues:
    return page.reading if isinstance(page.reading, PageClues) else PageClues()


def _name_site(page: Page) -> str:
    return extract_site_name(page.site or page.title)
