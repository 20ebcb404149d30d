"""The tools with which an assistant shows which list of a page is a section's."""

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from monitor.bootstrap import App
from monitor.mcp_server.answers import UNTRUSTED_NOTICE, Line, build_tool_result, raise_tool_errors
from monitor.mcp_server.toolset import EXAMINE_SITE, START, Toolset, get_actor
from monitor.page import Candidate
from monitor.services.sources.teaching import MAX_EXAMPLES, SectionLook, TaughtList

_MAX_ROWS = 30
_MAX_LINKS = 200

SourceName = Annotated[str, Field(max_length=200, description="As list_sources tells it")]
SectionUrl = Annotated[str, Field(min_length=1, max_length=2000, description="The page of the section, in full")]


class RowOutput(BaseModel):
    title: Line
    url: str
    date: dt.date | None


class LikelyListOutput(BaseModel):
    """A list that the page could be read as; its `examples`, handed to teach_section, choose it."""

    is_current: bool
    entries: int
    rows: list[RowOutput]
    examples: list[str]


class PageLinkOutput(BaseModel):
    text: Line
    url: str


class SectionPageOutput(BaseModel):
    """A section's page: its likeliest lists and its links, the first two hundred. `taught_by`: who showed its list."""

    url: str
    title: Line
    taught_by: str | None
    lists: list[LikelyListOutput]
    links: list[PageLinkOutput]


class TaughtListOutput(BaseModel):
    """What is read of a section, or would be where it `is_saved` not; `rows` are the first thirty."""

    url: str
    is_saved: bool
    entries: int
    rows: list[RowOutput]
    next_page: str | None


def add_teaching_tools(tools: Toolset, app: App) -> None:
    @tools.add(EXAMINE_SITE)
    async def look_at_section(
        name: SourceName, section_url: SectionUrl, context: Context[Any, Any]
    ) -> Annotated[CallToolResult, SectionPageOutput]:
        """Load a section's page now: its likely lists, the one that is read, and all its links."""
        with raise_tool_errors():
            source = await app.sources.get(name)
            look = _build_page_output(await app.teaching.look(source.id or 0, section_url, by=get_actor(context)))
            return build_tool_result(look, _render_page_output(look))

    @tools.add(START)
    async def teach_section(
        name: SourceName,
        section_url: SectionUrl,
        examples: Annotated[
            list[str],
            Field(min_length=1, max_length=MAX_EXAMPLES, description="Urls of one or two entries of the list"),
        ],
        context: Context[Any, Any],
        save: Annotated[bool, Field(description="Keep it; else only tell what would be read")] = False,
    ) -> Annotated[CallToolResult, TaughtListOutput]:
        """Show which list of a page is the section's, by one or two of its entries, and see what is read then."""
        with raise_tool_errors():
            source = await app.sources.get(name)
            taught = await app.teaching.teach(source.id or 0, section_url, examples, by=get_actor(context), save=save)
            shown = _build_taught_output(taught)
            return build_tool_result(shown, _render_taught_output(shown))


def _build_rows(rows: Sequence[Candidate]) -> list[RowOutput]:
    return [RowOutput(title=row.title, url=row.url, date=row.date) for row in rows[:_MAX_ROWS]]


def _build_page_output(look: SectionLook) -> SectionPageOutput:
    return SectionPageOutput(
        url=look.url,
        title=look.title,
        taught_by=look.recipe and look.recipe.taught_by,
        lists=[
            LikelyListOutput(
                is_current=found.is_current,
                entries=len(found.rows),
                rows=_build_rows(found.rows),
                examples=found.examples,
            )
            for found in look.lists
        ],
        links=[PageLinkOutput(text=link.text, url=link.url) for link in look.links[:_MAX_LINKS]],
    )


def _render_page_output(look: SectionPageOutput) -> Iterator[str]:
    yield f"{look.url} could be read as {len(look.lists)} lists. {UNTRUSTED_NOTICE}"
    for number, found in enumerate(look.lists, start=1):
        yield f"List {number}, {found.entries} entries" + (", read now:" if found.is_current else ":")
        yield from _render_rows(found.rows[:5])
    yield "Links of the page:"
    yield from (f"> {link.text} {link.url}" for link in look.links)


def _build_taught_output(taught: TaughtList) -> TaughtListOutput:
    return TaughtListOutput(
        url=taught.url,
        is_saved=taught.is_saved,
        entries=len(taught.rows),
        rows=_build_rows(taught.rows),
        next_page=taught.next_page,
    )


def _render_taught_output(taught: TaughtListOutput) -> Iterator[str]:
    kept = "This is kept and read from now on" if taught.is_saved else "This would be read; nothing is kept yet"
    yield f"{kept}: {taught.entries} entries, next page {taught.next_page or 'none'}. {UNTRUSTED_NOTICE}"
    yield from _render_rows(taught.rows)


def _render_rows(rows: Iterable[RowOutput]) -> Iterator[str]:
    yield from (f"> {row.date or 'no date'} {row.title} {row.url}" for row in rows)
