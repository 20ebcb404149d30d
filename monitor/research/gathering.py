"""One search of a paragraph: its results, the pages that were opened of them, and the entries that they become.

Results travel as a bundle, read under the paragraph's cursor. A search that was made before a crash is not repeated:
its bundle is there. The results are stored with their paragraph first, and marked as read then.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from monitor.i18n.message import Message
from monitor.isolation.pool import IsolatedWorkFailed
from monitor.page import Page
from monitor.research.dependencies import ResearchDependencies
from monitor.research.searching import BASIC, NewsTools
from monitor.research.state import ParagraphState, ResultOrigin, SearchEntry, SearchRound
from monitor.research.summarising import select_passages
from monitor.search.bundles.bundle import BundleDamaged, SearchResultBundle, SearchResultItem, compute_source_id
from monitor.search.bundles.packing import build_bundle
from monitor.search.bundles.reader import BundleReader, BundleResult
from monitor.search.contract import SearchItem, ToolResult
from monitor.urls import get_host
from monitor.verify.instructions import is_prompt_injection, list_safe_lines

MAX_CONTENT_CHARS = 4_000
"""How much of one page a paragraph works with."""

MAX_OPENED_PAGES = 8
"""How many results of a search are opened, the best placed first."""

P = ParamSpec("P")
T = TypeVar("T")
_MAX_CONCURRENT_PAGES = 4
_QUERY_INTENT = "research"


@dataclass(frozen=True)
class GatherOutcome:
    """How many results are new to the paragraph, and what went wrong."""

    results: int
    warnings: list[Message]


@dataclass(frozen=True)
class ReadTexts:
    """The texts of a result, as far as a paragraph works with them."""

    title: str
    content: str = ""
    snippet: str = ""


@dataclass
class ResultGatherer:
    """Gathers results for the paragraphs of a research. No outside failure is fatal: it is reported and counted.

    `report_node` takes a node's name, and facts about what it does.
    """

    deps: ResearchDependencies
    tools: NewsTools
    report_node: Callable[..., Awaitable[None]]

    async def search(self, paragraph: ParagraphState, search_round: SearchRound) -> list[Message]:
        """Make a round's search and store its bundle, if there is none yet; return what went wrong.

        The paragraph is stored before the bundle, for it says where the results come from. A result that the paragraph
        knows by its snippet alone gets its page's text here: the bundles hand on each source once. A search that is
        limited in time and finds nothing is made once more without the limit.
        """
        folder, task_id = self.deps.bundles, self.deps.task_id
        try:
            await asyncio.to_thread(folder.read, task_id, search_round.query_id)
        except BundleDamaged:
            pass  # there is none yet, or none that can be read: the search is made, and its bundle put in place
        else:
            return []
        called = (search_round.search_tool, search_round.search_query, search_round.start_date, search_round.end_date)
        query, executed_at = self.tools.build_query(*called), self.deps.clock.now()
        answer = await self.tools.run_tool(*called)
        troubles: list[Message] = []
        if self.tools.is_time_limited(search_round.search_tool) and not answer.items and not answer.errors:
            troubles.append(Message.of("research.search_widened", tool=search_round.search_tool))
            query = self.tools.build_query(BASIC, search_round.search_query)
            answer = await self.tools.run_tool(BASIC, search_round.search_query)
        search_round.origins = {}  # what it has of a search that was cut off is as good as new
        pages = await self._load_pages(paragraph, answer)
        search_round.origins = _build_origins(answer, pages)
        troubles += _list_warnings(answer, pages)
        search_round.fallbacks = merge_messages([*search_round.fallbacks, *troubles])
        bundle = build_bundle(
            answer,
            task_id=task_id,
            query_id=search_round.query_id,
            query=query,
            intent=_QUERY_INTENT,
            executed_at=executed_at,
            scoring=self.deps.scoring,
            pages=pages,
            content_max_chars=self.deps.limits.content_max_chars,
        )
        await self._fill_missing_texts(paragraph, search_round, bundle)
        await self.deps.notebook.save_paragraph(paragraph)
        await asyncio.to_thread(folder.write, bundle)
        return troubles

    async def read(self, paragraph: ParagraphState) -> GatherOutcome:
        """Take up the unread results in the bundles of the paragraph's rounds, a late one's too.

        Once a round, what the reader's documents have is taken up beside them.
        A source that the paragraph has already, or asked for in vain, is marked as read and not taken up. The latest
        round counts as searched from now on. A kill before the results are marked has them read once more.
        """
        rounds = {search_round.query_id: search_round for search_round in paragraph.research.rounds}
        now = paragraph.research.rounds[-1]
        known = _list_lost_sources(paragraph) | {entry.source_id for entry in paragraph.research.search_history}
        left, troubles = await run_to_end(self._list_unread, paragraph, rounds)
        new = [result for result in left if result.item.source_id not in known]
        entries = [self._build_entry(paragraph, rounds[result.query_id], result.item, now.query_id) for result in new]
        found, problems = ([], []) if now.is_searched else await self._search_documents(paragraph, now)
        troubles += problems
        paragraph.research.search_history += [*await asyncio.gather(*entries), *found]
        if new or troubles or not now.is_searched:
            now.fallbacks = merge_messages([*now.fallbacks, *troubles])
            now.is_searched = True
            await self.deps.notebook.save_paragraph(paragraph)
        if left:
            await run_to_end(self._mark_read, paragraph, left)
        return GatherOutcome(results=len(new) + len(found), warnings=troubles)

    async def _search_documents(
        self, paragraph: ParagraphState, now: SearchRound
    ) -> tuple[list[SearchEntry], list[Message]]:
        """Return what is near to the round's search in the reader's documents, and not known to the paragraph yet."""
        if self.deps.documents is None:
            return [], []
        return await self.deps.documents.search(
            f"{paragraph.title} {paragraph.content} {now.search_query}",
            query=now.search_query,
            query_id=now.query_id,
            known={entry.url for entry in paragraph.research.search_history},
        )

    def _list_unread(
        self, paragraph: ParagraphState, query_ids: Collection[str]
    ) -> tuple[list[BundleResult], list[Message]]:
        """Return the unread results of the bundles, and what is wrong with these."""
        with closing(self._open_reader(paragraph, query_ids)) as reader:
            unread = reader.list_remaining()
            problems = [(warning.kind, warning.reason) for warning in reader.warnings]
        return unread, [Message.of("research.bundle_problem", kind=kind, reason=reason) for kind, reason in problems]

    def _mark_read(self, paragraph: ParagraphState, results: Sequence[BundleResult]) -> None:
        with closing(self._open_reader(paragraph, {reading.query_id for reading in results})) as reader:
            reader.mark_all_consumed(results, at=self.deps.clock.now())

    def _open_reader(self, paragraph: ParagraphState, query_ids: Collection[str]) -> BundleReader:
        cursor = f"p{paragraph.order + 1}"
        return BundleReader(self.deps.bundles, task_id=self.deps.task_id, cursor=cursor, query_ids=query_ids)

    async def _fill_missing_texts(
        self, paragraph: ParagraphState, search_round: SearchRound, bundle: SearchResultBundle
    ) -> None:
        found = {item.source_id: item for item in bundle.results if item.content_text}
        history = paragraph.research.search_history
        for place, entry in enumerate(history):
            if not entry.content and entry.source_id in found:
                item = found[entry.source_id]
                history[place] = await self._build_entry(paragraph, search_round, item, search_round.query_id)

    async def _build_entry(
        self, paragraph: ParagraphState, search_round: SearchRound, item: SearchResultItem, query_id: str
    ) -> SearchEntry:
        """Return a result as the paragraph works with it; one whose text cannot be read in time has none."""
        origin = search_round.origins.get(item.source_id, ResultOrigin(engine=""))
        wanted = f"{paragraph.title} {paragraph.content} {search_round.search_query}"
        try:
            texts = await self.deps.workers.run(read_texts, item, wanted)
        except IsolatedWorkFailed as error:
            search_round.fallbacks = merge_messages([*search_round.fallbacks, error.message])
            texts = ReadTexts(title=get_host(item.url))
        return SearchEntry(
            query=search_round.search_query,
            query_id=query_id,
            source_id=item.source_id,
            url=item.url,
            title=texts.title,
            content=texts.content,
            snippet=texts.snippet,
            engine=origin.engine,
            record=origin.record,
            score=item.score_final,
            authority=item.score_authority,
            freshness=item.score_freshness,
            published_on=item.published_at,
            timestamp=item.captured_at,
        )

    async def _load_pages(self, paragraph: ParagraphState, answer: ToolResult) -> dict[str, Page]:
        entries = paragraph.research.search_history
        known = _list_lost_sources(paragraph) | {entry.source_id for entry in entries if entry.content}
        new = [item for item in answer.items if compute_source_id(item.source or item.url) not in known]
        slots = asyncio.Semaphore(_MAX_CONCURRENT_PAGES)

        async def load_page(item: SearchItem) -> tuple[str, Page]:
            async with slots:
                page = await self.deps.pages.load(item.url)
            failed = {} if page.error is None else {"reason": str(page.error.code)}
            await self.report_node("reading", url=item.url, **failed)
            return item.url, page

        return dict(await asyncio.gather(*map(load_page, new[:MAX_OPENED_PAGES])))


async def run_to_end(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function in a thread. Whoever is cancelled meanwhile waits for its end, when no file is locked any more."""
    work = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait({work})
        raise


def read_texts(item: SearchResultItem, wanted: str) -> ReadTexts:
    """Return what of a result's texts may be worked with: no orders to a model, and of a long page what is wanted."""
    text = "\n".join(list_safe_lines(item.content_text or ""))
    title = get_host(item.url) if is_prompt_injection(item.title) else item.title
    snippet = "\n".join(list_safe_lines(item.snippet or ""))
    return ReadTexts(title=title, content=select_passages(text, wanted, MAX_CONTENT_CHARS), snippet=snippet)


def merge_messages(messages: Iterable[Message]) -> list[Message]:
    return list({str(message): message for message in messages}.values())


def _list_lost_sources(paragraph: ParagraphState) -> set[str]:
    origins = (pair for search_round in paragraph.research.rounds for pair in search_round.origins.items())
    return {source_id for source_id, origin in origins if origin.is_lost}


def _build_origins(answer: ToolResult, pages: Mapping[str, Page]) -> dict[str, ResultOrigin]:
    origins: dict[str, ResultOrigin] = {}
    for item in answer.items:
        page = pages.get(item.url)
        is_lost = page is not None and page.error is not None
        url = page.final_url if page is not None and not is_lost else item.source or item.url
        record = page.record if page is not None and not is_lost else None
        origins.setdefault(compute_source_id(url), ResultOrigin(engine=item.provider, record=record, is_lost=is_lost))
    return origins


def _list_warnings(answer: ToolResult, pages: Mapping[str, Page]) -> list[Message]:
    """Return the errors of backends, and how many pages were lost for which reason."""
    lost = Counter(str(page.error.code) for page in pages.values() if page.error is not None)
    errors = [Message.of("research.search_failed", type=error.type, reason=error.message) for error in answer.errors]
    return errors + [
        Message.of("research.pages_unreadable", count=count, reason=Message.of(f"word.page_error.{code}"))
        for code, count in lost.items()
    ]
