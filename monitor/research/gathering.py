"""One search of a paragraph: its results, the pages that were opened of them, and the entries that they become.

Results travel as a bundle, read under the paragraph's cursor. A search that was made before a crash is not made again:
its bundle is there. The results are kept with their paragraph first and marked as read then.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from typing import Any, Protocol

from pydantic import BaseModel, Field

from monitor.domain.page import Page
from monitor.domain.searching import SearchItem, ToolResult
from monitor.domain.urls import host_of
from monitor.evidence.instructions import reads_as_instruction, sound_lines
from monitor.research.parts import ResearchParts
from monitor.research.passages import passages_of
from monitor.research.state import Origin, Paragraph, Round, SearchEntry
from monitor.research.tools import NewsTools
from monitor.retrieval.bundle import SearchResultBundle, SearchResultItem, source_id_of
from monitor.retrieval.folder import BundleDamaged
from monitor.retrieval.packing import pack
from monitor.retrieval.reader import BundleReader, Reading

CONTENT_CHARS = 4_000
"""How much of one page a paragraph works with."""

OPENED = 8
"""How many results of a search are opened, the best placed first."""

_AT_ONCE = 4
_INTENT = "research"


class Say(Protocol):
    """Takes what happens in a paragraph."""

    async def __call__(self, node: str, **facts: Any) -> None:
        """Which node it is, and what is to be known of it."""
        ...


class Gathered(BaseModel):
    """What came of reading: how many results are new to the paragraph, and what went wrong."""

    results: int = 0
    troubles: list[str] = Field(default_factory=list)


class Gathering:
    """Gathers for the paragraphs of a research. Nothing that the outside does is fatal: it is told and counted."""

    def __init__(self, parts: ResearchParts, tools: NewsTools, say: Say) -> None:
        self._parts = parts
        self._tools = tools
        self._say = say

    async def search(self, paragraph: Paragraph, one: Round) -> list[str]:
        """Make a round's search and keep its bundle, if it is not there yet; gives what went wrong.

        The paragraph is kept before the bundle, for it says where the results come from. A result that the paragraph
        knows by its snippet alone gets its page's text here: the bundles hand on each source once.
        """
        folder, task_id = self._parts.bundles, self._parts.task_id
        try:
            await asyncio.to_thread(folder.read, task_id, one.query_id)
        except BundleDamaged:
            pass  # there is none yet, or none that can be read: the search is made, and its bundle put in place
        else:
            return []
        called = (one.search_tool, one.search_query, one.start_date, one.end_date)
        query, executed_at = self._tools.query(*called), self._parts.clock.now()
        answer = await self._tools.call(*called)
        one.origins = {}  # what it has of a search that was cut off is as good as new
        pages = await self._opened(paragraph, answer)
        one.origins = _origins(answer, pages)
        troubles = _troubles(answer, pages)
        one.fallbacks = list(dict.fromkeys([*one.fallbacks, *troubles]))
        bundle = pack(
            answer,
            task_id=task_id,
            query_id=one.query_id,
            query=query,
            intent=_INTENT,
            executed_at=executed_at,
            scoring=self._parts.scoring,
            pages=pages,
            content_max_chars=self._parts.limits.content_max_chars,
        )
        self._complete(paragraph, one, bundle)
        await self._parts.notebook.keep_paragraph(paragraph)
        await asyncio.to_thread(folder.write, bundle)
        return troubles

    async def read(self, paragraph: Paragraph) -> Gathered:
        """Take up what the bundles of the paragraph's rounds hold and was not read yet, a late one's results too.

        A source that the paragraph has already, or asked for in vain, is marked as read and not taken up. The latest
        round counts as searched from now on. A kill before the results are marked has them read once more.
        """
        rounds = {one.query_id: one for one in paragraph.research.rounds}
        now = paragraph.research.rounds[-1]
        known = _lost(paragraph) | {entry.source_id for entry in paragraph.research.search_history}
        left, troubles = await asyncio.to_thread(self._left, paragraph, rounds)
        new = [reading for reading in left if reading.item.source_id not in known]
        paragraph.research.search_history += [
            self._entry(paragraph, rounds[reading.query_id], reading.item, now.query_id) for reading in new
        ]
        if new or troubles or not now.is_searched:
            now.fallbacks = list(dict.fromkeys([*now.fallbacks, *troubles]))
            now.is_searched = True
            await self._parts.notebook.keep_paragraph(paragraph)
        if left:
            await asyncio.to_thread(self._mark, paragraph, left)
        return Gathered(results=len(new), troubles=troubles)

    def _left(self, paragraph: Paragraph, query_ids: Collection[str]) -> tuple[list[Reading], list[str]]:
        """What the bundles hold that is not marked as read, and what is wrong with them."""
        with closing(self._reader(paragraph, query_ids)) as reader:
            return reader.left(), [f"bundles: {trouble.kind}: {trouble.reason}" for trouble in reader.troubles]

    def _mark(self, paragraph: Paragraph, readings: Sequence[Reading]) -> None:
        with closing(self._reader(paragraph, {reading.query_id for reading in readings})) as reader:
            reader.all_consumed(readings, at=self._parts.clock.now())

    def _reader(self, paragraph: Paragraph, query_ids: Collection[str]) -> BundleReader:
        cursor = f"p{paragraph.order + 1}"
        return BundleReader(self._parts.bundles, task_id=self._parts.task_id, cursor=cursor, query_ids=query_ids)

    async def _opened(self, paragraph: Paragraph, answer: ToolResult) -> dict[str, Page]:
        """The pages of the best placed results that are new to the paragraph, by the results' urls."""
        entries = paragraph.research.search_history
        known = _lost(paragraph) | {entry.source_id for entry in entries if entry.content}
        new = [item for item in answer.items if source_id_of(item.source or item.url) not in known]
        slots = asyncio.Semaphore(_AT_ONCE)

        async def opened(item: SearchItem) -> tuple[str, Page]:
            async with slots:
                page = await self._parts.pages.load(item.url)
            failed = {} if page.error is None else {"reason": str(page.error.code)}
            await self._say("reading", url=item.url, **failed)
            return item.url, page

        return dict(await asyncio.gather(*map(opened, new[:OPENED])))

    def _complete(self, paragraph: Paragraph, one: Round, bundle: SearchResultBundle) -> None:
        """Give entries that have no text the one that was found now, as results of this round."""
        found = {item.source_id: item for item in bundle.results if item.content_text}
        history = paragraph.research.search_history
        for place, entry in enumerate(history):
            if not entry.content and entry.source_id in found:
                history[place] = self._entry(paragraph, one, found[entry.source_id], one.query_id)

    def _entry(self, paragraph: Paragraph, one: Round, item: SearchResultItem, taken_up_in: str) -> SearchEntry:
        origin = one.origins.get(item.source_id, Origin(engine=""))
        text = "\n".join(sound_lines(item.content_text or ""))
        title = host_of(item.url) if reads_as_instruction(item.title) else item.title
        wanted = f"{paragraph.title} {paragraph.content} {one.search_query}"
        return SearchEntry(
            query=one.search_query,
            query_id=taken_up_in,
            source_id=item.source_id,
            url=item.url,
            title=title,
            content=passages_of(text, wanted, CONTENT_CHARS),
            snippet="\n".join(sound_lines(item.snippet or "")),
            engine=origin.engine,
            record=origin.record,
            score=item.score_final,
            authority=item.score_authority,
            freshness=item.score_freshness,
            published_on=item.published_at,
            timestamp=item.captured_at,
        )


def _lost(paragraph: Paragraph) -> set[str]:
    """The sources whose pages were asked for in vain."""
    origins = (pair for one in paragraph.research.rounds for pair in one.origins.items())
    return {source_id for source_id, origin in origins if origin.is_lost}


def _origins(answer: ToolResult, pages: Mapping[str, Page]) -> dict[str, Origin]:
    """Where the results come from, by their source ids as the bundle will have them."""
    origins: dict[str, Origin] = {}
    for item in answer.items:
        page = pages.get(item.url)
        is_lost = page is not None and page.error is not None
        url = page.final_url if page is not None and not is_lost else item.source or item.url
        record = page.record if page is not None and not is_lost else None
        origins.setdefault(source_id_of(url), Origin(engine=item.provider, record=record, is_lost=is_lost))
    return origins


def _troubles(answer: ToolResult, pages: Mapping[str, Page]) -> list[str]:
    """What went wrong: errors of backends, and how many pages were lost to what."""
    lost = Counter(str(page.error.code) for page in pages.values() if page.error is not None)
    errors = [f"search: {error.type}: {error.message}" for error in answer.errors]
    return errors + [f"pages: {count} could not be read: {code}" for code, count in lost.items()]
