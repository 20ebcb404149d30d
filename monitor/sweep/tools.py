"""The tools of an agent, and saving: only seen urls are opened, and only what is on a page is saved."""

import datetime as dt
import json
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from monitor.db.tables.collection import Item
from monitor.errors import WorkFailed
from monitor.i18n.message import Message
from monitor.llm.chat import Tool
from monitor.page import Candidate, Page
from monitor.pages.text import render_page_text
from monitor.sweep.context import RunContext
from monitor.sweep.ledger import CandidateEntry
from monitor.sweep.progress import Progress
from monitor.sweep.reader import SectionReader
from monitor.urls import clean_url, url_key
from monitor.vocabulary import Disposition, EventKind, ItemType, Phase, SavedBy, SectionEnd


class SaveRefusal(StrEnum):
    """Why a save was refused, as the tool answers it."""

    NOT_ON_PAGE = "url_not_on_any_page_seen"
    NO_TITLE = "title_missing"
    BAD_SCHEME = "url_scheme_is_not_http"
    OUT_OF_RANGE = "date_outside_range"
    UNDATED = "no_date_on_list_url_or_article"
    KNOWN = "already_saved"
    FILTERED = "excluded_by_the_administrator"
    NO_ROOM = "limit_of_items_reached"


_REFUSAL_BY_DISPOSITION = {
    Disposition.SAVED: SaveRefusal.KNOWN,
    Disposition.KNOWN: SaveRefusal.KNOWN,
    Disposition.OUT_OF_RANGE: SaveRefusal.OUT_OF_RANGE,
    Disposition.FILTERED: SaveRefusal.FILTERED,
    Disposition.OVER_LIMIT: SaveRefusal.NO_ROOM,
}


class SaveRequest(BaseModel):
    """What an agent wants to save; nothing in it is believed but the choice itself."""

    title: str = ""
    url: str = ""
    date: dt.date | None = None
    type: str = ""
    summary: str = ""


class ItemSaver:
    """Saves items of one section, in the page's own words: the ledger decides, the store keeps."""

    def __init__(
        self, *, run: RunContext, reader: SectionReader, adopt_summary: Callable[[Item, str], Awaitable[bool]]
    ) -> None:
        self.ledger = reader.ledger
        self.items: list[Item] = []
        self.refused_saves = 0
        self.corrected_dates = 0
        self._run = run
        self._date_candidate = reader.date_candidate
        self._adopt_summary = adopt_summary

    async def save_requested(self, request: SaveRequest, *, links: dict[str, Candidate]) -> Item | SaveRefusal:
        """Save what an agent asks for, or say why not.

        `links` are all links on the pages that the agent saw, by url key: one that is no candidate of the list can be
        saved too, under its text on the page and the date of its article.
        """
        found = await self._admit(request, links)
        if isinstance(found, SaveRefusal):
            self.refused_saves += found is not SaveRefusal.KNOWN
            return found
        if request.date is not None and request.date != found.candidate.date:
            self.corrected_dates += 1
        kind = ItemType(request.type) if request.type in set(ItemType) else None
        (item,) = await self._save([found], by=SavedBy.AGENT, kind=kind)
        if request.summary.strip():
            await self._adopt_summary(item, request.summary)
        return item

    async def save_open(self) -> None:
        await self._save(self.ledger.list_open_entries()[: self.ledger.room], by=SavedBy.RULE)

    async def _save(
        self, entries: Sequence[CandidateEntry], *, by: SavedBy, kind: ItemType | None = None
    ) -> list[Item]:
        saved = await self._run.deps.store.items.save_all([self._build_item(entry, by, kind) for entry in entries])
        kept = [item for item, _ in saved]
        for entry, item in zip(entries, kept, strict=True):
            entry.settle(Disposition.SAVED, Message(f"candidate.{by}"), item.id)
            about = {"title": item.title, "url": item.url, "item_id": item.id}
            self._run.report_progress(
                Progress(phase=Phase.CRAWL, place=self.ledger.section, kind=EventKind.SAVED, **about)
            )
        self.items += kept
        return kept

    def _build_item(self, entry: CandidateEntry, by: SavedBy, kind: ItemType | None) -> Item:
        from monitor.ranking.kinds import classify_item_type, find_clear_type  # a run without new items needs no rules

        candidate = entry.candidate
        return Item(
            source_id=self._run.source.id,
            run_id=self.ledger.run_id,
            source=self._run.source.name,
            section=self.ledger.section,
            url_key=url_key(candidate.url),
            # Where the title says what it is, a model that says otherwise is wrong.
            type=find_clear_type(candidate.title) or kind or classify_item_type(candidate.title, self.ledger.section),
            by=by,
            late=entry.is_late,
            first_seen=self._run.deps.clock.now(),
            **candidate.model_dump(exclude={"record"}),
        )

    async def _admit(self, request: SaveRequest, links: dict[str, Candidate]) -> CandidateEntry | SaveRefusal:
        if not request.title.strip():
            return SaveRefusal.NO_TITLE
        url = clean_url(request.url)
        if url is None:
            return SaveRefusal.BAD_SCHEME
        entry = self.ledger.find(url)
        if entry is None:
            return await self._admit_link(links.get(url_key(url)))
        if entry.disposition is not None:
            return _REFUSAL_BY_DISPOSITION.get(entry.disposition, SaveRefusal.UNDATED)
        return entry if self.ledger.has_room else SaveRefusal.NO_ROOM

    async def _admit_link(self, link: Candidate | None) -> CandidateEntry | SaveRefusal:
        if link is None:
            return SaveRefusal.NOT_ON_PAGE
        if not link.title.strip():
            return SaveRefusal.NO_TITLE
        link = link if link.date else await self._date_candidate(link)
        if link.date is None:
            return SaveRefusal.UNDATED
        if link.date not in self.ledger.window:
            return SaveRefusal.OUT_OF_RANGE
        return self.ledger.add_extra(link, page_url=link.url) if self.ledger.has_room else SaveRefusal.NO_ROOM


_URL_SCHEMA = {"type": "string", "description": "an absolute http(s) url that stands on a page seen before"}

_ITEM_SCHEMA = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "url": _URL_SCHEMA,
        "date": {"type": ["string", "null"], "description": "YYYY-MM-DD as the page gives it, or null"},
        "type": {"type": "string", "enum": [str(word) for word in ItemType]},
        "summary": {"type": "string"},
    },
    "required": ["title", "url", "date", "type"],
}


def _build_tool(name: str, description: str, properties: dict[str, Any], required: list[str]) -> Tool:
    schema = {"type": "object", "properties": properties, "required": required}
    return Tool(name=name, description=description, parameters=schema)


CRAWLER_TOOLS = [
    _build_tool(
        "browse_page",
        "Open a page. The answer ends with the items that can be collected, as JSON, and the next page.",
        {"url": _URL_SCHEMA, "offset": {"type": "integer", "description": "show the items from this number on"}},
        ["url"],
    ),
    _build_tool(
        "save_results_batch", "Save items of the page.", {"items": {"type": "array", "items": _ITEM_SCHEMA}}, ["items"]
    ),
    _build_tool("save_result", "Save one item.", _ITEM_SCHEMA["properties"], _ITEM_SCHEMA["required"]),  # type: ignore[arg-type]
    _build_tool(
        "finish",
        "End the work on this section.",
        {
            "reason": {"type": "string"},
            "left": {
                "type": "array",
                "description": "items in range that you chose not to save, and why",
                "items": {
                    "type": "object",
                    "properties": {"url": _URL_SCHEMA, "reason": {"type": "string"}},
                    "required": ["url", "reason"],
                },
            },
        },
        [],
    ),
]

ALL_TOOLS = [
    *CRAWLER_TOOLS,
    _build_tool(
        "download_file", "Keep a document that a page links to; answers the file's name.", {"url": _URL_SCHEMA}, ["url"]
    ),
    _build_tool("read_document", "The text of a downloaded document.", {"file": {"type": "string"}}, ["file"]),
]

_MAX_REASON_CHARS = 200
_MAX_ANSWER_CHARS = 1000


class Toolbox:
    """What the tools do, for one agent. `finished` turns true with the tool of that name."""

    def __init__(self, *, run: RunContext, reader: SectionReader, saver: ItemSaver) -> None:
        self.reader = reader
        self.saver = saver
        self.finished = False
        self.reason = ""
        self.last_saved_urls: list[str] = []
        self.run = run
        self._links: dict[str, Candidate] = {}
        self._room_chars = 0
        self._tools: dict[str, Callable[[dict[str, Any]], Awaitable[str]]] = {
            "browse_page": self._browse,
            "save_results_batch": self._save_batch,
            "save_result": self._save_one,
            "finish": self._finish,
            "download_file": self._download,
            "read_document": self._read,
        }

    async def call(self, name: str, arguments: dict[str, Any] | None, *, room_chars: int) -> str:
        """Return the tool's answer, at most `room_chars` long; a wrong call is answered with what is right."""
        self.last_saved_urls = []
        self._room_chars = room_chars
        tool = self._tools.get(name)
        if tool is None:
            return _format_answer(error=f"there is no such tool; known are {', '.join(self._tools)}")
        if arguments is None:
            return _format_answer(error="the arguments are not a JSON object; call again")
        return await tool(arguments)

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to do: barren pages, no room, or everything in range decided."""
        ended = self.reader.get_end()
        if ended is None or ended is SectionEnd.EARLY or not self.saver.ledger.has_room:
            return ended is not None
        return not self.saver.ledger.list_open_entries()

    async def _browse(self, arguments: dict[str, Any]) -> str:
        url = clean_url(str(arguments.get("url") or ""))
        if url is None or not self._may_open(url):
            return _format_answer(error="this url stands on no page seen so far; open only links of those pages")
        page = await self.reader.open(url)
        self._remember_links(page)
        offset = arguments.get("offset")
        known = [c.url for c in page.candidates if self._is_known(c.url)]
        start = offset if isinstance(offset, int) and offset > 0 else 0
        return render_page_text(page, known=known, max_chars=self._room_chars, offset=start)

    def _may_open(self, url: str) -> bool:
        key = url_key(url)
        return key == url_key(self.reader.plan.url) or key in self._links or key in self.reader.pages

    def _remember_links(self, page: Page) -> None:
        def link(url: str, title: str = "") -> None:
            self._links.setdefault(url_key(url), Candidate(title=title, url=url, record=page.record))

        for anchor in page.links:
            link(anchor.url, anchor.text)
        for candidate in page.candidates:
            self._links[url_key(candidate.url)] = candidate
        for attachment in page.attachments:
            link(attachment.url, attachment.title)
        if page.next_page:
            link(page.next_page)

    def _is_known(self, url: str) -> bool:
        entry = self.saver.ledger.find(url)
        return entry is not None and entry.disposition in (Disposition.KNOWN, Disposition.SAVED)

    async def _save_batch(self, arguments: dict[str, Any]) -> str:
        items = arguments.get("items")
        if not isinstance(items, list):
            return _format_answer(error="items must be an array; call again")
        refused: list[dict[str, str]] = []
        for raw in items:
            outcome = await self.saver.save_requested(_parse_request(raw), links=self._links)
            if isinstance(outcome, SaveRefusal):
                refused.append({"url": str(raw.get("url") if isinstance(raw, dict) else raw)[:200], "reason": outcome})
            else:
                self.last_saved_urls.append(outcome.url)
        return _format_answer(saved=len(self.last_saved_urls), refused=refused)

    async def _save_one(self, arguments: dict[str, Any]) -> str:
        return await self._save_batch({"items": [arguments]})

    async def _finish(self, arguments: dict[str, Any]) -> str:
        self.finished, self.reason = True, str(arguments.get("reason") or "")[:_MAX_REASON_CHARS]
        left = arguments.get("left")
        for entry in left if isinstance(left, list) else []:
            if isinstance(entry, dict):
                self._leave(str(entry.get("url") or ""), str(entry.get("reason") or "").strip())
        return _format_answer(finished=True)

    def _leave(self, url: str, reason: str) -> None:
        entry = self.saver.ledger.find(url)
        if entry is not None and entry.disposition is None and reason:
            entry.settle(Disposition.LEFT, Message.of("candidate.left_by_agent", text=reason[:_MAX_REASON_CHARS]))

    async def _download(self, arguments: dict[str, Any]) -> str:
        url = clean_url(str(arguments.get("url") or ""))
        if url is None or url_key(url) not in self._links:
            return _format_answer(
                error="this url stands on no page seen so far; download only what those pages link to"
            )
        try:
            path = await self.run.deps.loader.download(url, self.run.deps.folder)
        except WorkFailed as error:
            return _format_answer(error=str(error))
        return _format_answer(file=path.name)

    async def _read(self, arguments: dict[str, Any]) -> str:
        path = self.run.deps.folder / Path(str(arguments.get("file") or "")).name
        if not path.is_file():
            return _format_answer(error="there is no such file; download it first")
        try:
            return (await self.run.deps.documents.read(path))[: self._room_chars]
        except WorkFailed as error:
            return _format_answer(error=str(error))


def _parse_request(raw: Any) -> SaveRequest:
    if not isinstance(raw, dict):
        return SaveRequest()
    texts = {name: str(raw.get(name) or "") for name in ("title", "url", "type", "summary")}
    try:
        return SaveRequest.model_validate({**texts, "date": raw.get("date") or None})
    except ValidationError:
        return SaveRequest.model_validate(texts)


def _format_answer(**facts: Any) -> str:
    return json.dumps(facts, ensure_ascii=False)[:_MAX_ANSWER_CHARS]
