"""The tools that read what was gathered: search, items, evidence, policies, deadlines, topics."""

import datetime as dt
from collections.abc import Iterator
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from monitor.bootstrap import App
from monitor.db.queries.policies import PolicyFilter
from monitor.exports.document import normalize_line
from monitor.i18n.catalogue import render
from monitor.mcp_server.answers import (
    UNTRUSTED_NOTICE,
    EvidenceOutput,
    ItemDetailOutput,
    ItemListOutput,
    Line,
    NextCursor,
    RecordOutput,
    build_item_detail,
    build_item_output,
    build_record_output,
    build_tool_result,
    raise_tool_errors,
    render_cursor,
    render_item,
    render_item_list,
)
from monitor.mcp_server.policy_answers import (
    DeadlineListOutput,
    DeadlineOutput,
    PolicyListOutput,
    PolicyOutput,
    TopicListOutput,
    build_policy_output,
    build_topic_output,
    render_deadlines,
    render_policies,
    render_topics,
)
from monitor.mcp_server.toolset import READ, Cursor, Toolset, cut_ranked, get_actor
from monitor.services.audit import AuditAction
from monitor.services.cursors import cut_list, decode_cursor, decode_id, encode_cursor
from monitor.services.deadlines import DeadlineQuery
from monitor.services.global_search import MAX_FOUND, FoundGroup, FoundType
from monitor.services.items import ItemQuery
from monitor.vocabulary import DeadlineKind, ItemType, PolicyStage

MAX_ENTRIES = 50
MAX_TEXT_CHARS = 100_000
_MAX_RANKED_ITEMS = 200

Day = Annotated[dt.date | None, Field(description="As 2026-02-03")]
ItemId = Annotated[int, Field(ge=1, le=2**31 - 1, description="The number of an item, as search_items tells it")]
Sources = Annotated[list[str], Field(max_length=MAX_ENTRIES, description="Names of sources, as list_sources tells")]
Tags = Annotated[list[str], Field(max_length=MAX_ENTRIES, description="Tags of sources, one of which has to fit")]
Types = Annotated[list[ItemType], Field(description="Types of items, one of which has to fit")]
Limit = Annotated[int, Field(ge=1, le=MAX_ENTRIES, description="So many at most")]
MaxChars = Annotated[int, Field(ge=0, le=MAX_TEXT_CHARS, description="So much of the text")]


class FoundEntryOutput(BaseModel):
    """Something that was found; `path` is that of its page of the desk, with its number at the end."""

    title: Line
    path: str
    about: Line
    day: dt.date | None
    snippet: Line


class FoundGroupOutput(BaseModel):
    """What was found of one type, the best first; `total` is null where it was not counted."""

    type: FoundType
    total: int | None
    entries: list[FoundEntryOutput]


class FoundOutput(BaseModel):
    groups: list[FoundGroupOutput]


class ProofOutput(BaseModel):
    """What an item says with the words that bear it; with a claim, the saved page around these words."""

    item_id: int
    title: Line
    url: Line
    evidence: list[EvidenceOutput]
    records: list[RecordOutput]
    page: Line = ""
    problem: str = ""
    next_cursor: NextCursor = None


def add_archive_tools(tools: Toolset, app: App) -> None:
    _add_search_tools(tools, app)
    _add_item_tools(tools, app)
    _add_policy_tools(tools, app)
    _add_topic_tools(tools, app)


def _add_search_tools(tools: Toolset, app: App) -> None:
    @tools.add(READ)
    async def search_everything(
        context: Context[Any, Any],
        query: Annotated[str, Field(min_length=1, max_length=200, description="All words have to occur")],
        types: Annotated[list[FoundType], Field(description="Only these types; by default all")] = [],  # noqa: B006
        limit: Annotated[int, Field(ge=1, le=MAX_FOUND, description="So many of each type")] = 5,
    ) -> Annotated[CallToolResult, FoundOutput]:
        """Find items, policies, topics, briefings, notes, sources and researches by their words."""
        with raise_tool_errors():
            groups = await app.global_search.find(query, by=get_actor(context), types=types, limit=limit)
            found = FoundOutput(groups=[_build_found_group(group) for group in groups])
            return build_tool_result(found, _render_found(found))

    @tools.add(READ)
    async def search_items(
        context: Context[Any, Any],
        query: Annotated[
            str, Field(max_length=1000, description="All words have to stand in it; “…” word for word")
        ] = "",
        sources: Sources = [],  # noqa: B006 -- read into the schema, never changed
        tags: Tags = [],  # noqa: B006
        types: Types = [],  # noqa: B006
        topic: Annotated[str, Field(max_length=100, description="Only what fits this topic, as topics names it")] = "",
        since: Day = None,
        until: Day = None,
        limit: Limit = 10,
        cursor: Cursor = "",
    ) -> Annotated[CallToolResult, ItemListOutput]:
        """Search the archive: the best items first; without a query the newest. Dates are of publication."""
        wanted = ItemQuery(
            sources=sources, tags=tags, types=types, topic=topic or None, since=since, until=until, text=query
        )
        with raise_tool_errors():
            if query.strip():
                best = await app.archive.search(wanted, _MAX_RANKED_ITEMS if cursor else limit + 1)
                rows, following = cut_ranked([build_item_output(row) for row in best.items], cursor, limit)
                found = ItemListOutput(items=rows, ranked_since=best.ranked_since, next_cursor=following)
            else:
                after = decode_cursor(cursor, dt.date, int)
                page = await app.items.list_page(
                    wanted, get_actor(context).owner, limit=limit, after=after, count_total=False
                )
                rows = [build_item_output(row) for row in page.items]
                found = ItemListOutput(items=rows, next_cursor=encode_cursor(*page.after) if page.after else None)
            return build_tool_result(found, render_item_list(found))


def _add_item_tools(tools: Toolset, app: App) -> None:
    @tools.add(READ)
    async def read_item(
        item_id: ItemId, context: Context[Any, Any], max_chars: MaxChars = 6000
    ) -> Annotated[CallToolResult, ItemDetailOutput]:
        """Read one item: what is known of it, policy and topics, evidence, how its page changed, and its text."""
        with raise_tool_errors():
            item, proof = await app.archive.get_item(item_id), await app.proofs.get_proof(item_id)
            await app.audit.record_read(get_actor(context), AuditAction.EVIDENCE_READ, str(item_id))
            read = build_item_detail(item, proof, max_chars=max_chars)
            return build_tool_result(read, render_item(read))

    @tools.add(READ)
    async def read_evidence(
        item_id: ItemId,
        context: Context[Any, Any],
        claim: Annotated[
            int | None, Field(ge=1, le=10_000, description="Number of a claim, from 1: shows the saved page around it")
        ] = None,
        limit: Limit = 20,
        cursor: Cursor = "",
        max_chars: MaxChars = 2000,
    ) -> Annotated[CallToolResult, ProofOutput]:
        """Show what an item rests on: each claim with the words of the saved page, its verdict, and the records."""
        with raise_tool_errors():
            proof = await app.proofs.get_proof(item_id)
            await app.audit.record_read(get_actor(context), AuditAction.EVIDENCE_READ, str(item_id))
            evidence = [EvidenceOutput.model_validate(row, from_attributes=True) for row in proof.claims]
            shown, following = cut_ranked(evidence, cursor, limit)
            found = ProofOutput(
                item_id=item_id,
                title=proof.title,
                url=proof.url,
                evidence=shown,
                records=[build_record_output(record) for record in proof.records],
                next_cursor=following,
            )
            if claim is not None:
                page = await app.snapshots.get_item_snapshot(item_id, claim)
                middle = page.start or 0
                found.evidence = evidence[claim - 1 : claim]
                found.page = normalize_line(page.text[max(middle - max_chars // 2, 0) : middle + max_chars // 2])
                found.problem = render(page.problem, "en") if page.problem else ""
                found.next_cursor = None
            return build_tool_result(found, _render_proof(found, first=claim or (decode_id(cursor) or 0) + 1))


def _add_policy_tools(tools: Toolset, app: App) -> None:
    @tools.add(READ)
    async def policies(
        policy_id: Annotated[
            int | None, Field(ge=1, le=2**31 - 1, description="One of them, with its documents")
        ] = None,
        text: Annotated[str, Field(max_length=200, description="Stands in the name")] = "",
        stages: Annotated[list[PolicyStage], Field(description="Only these stages")] = [],  # noqa: B006
        limit: Limit = 10,
        cursor: Cursor = "",
    ) -> Annotated[CallToolResult, PolicyListOutput]:
        """List policies, from draft to repeal, or read one: its documents, why each belongs to it, its deadlines."""
        with raise_tool_errors():
            if policy_id is not None:
                found = build_policy_output(await app.policies.get(policy_id))
            else:
                after = decode_cursor(cursor, dt.datetime, int)
                page = await app.policies.list(PolicyFilter(text=text.strip(), stages=stages, after=after), limit=limit)
                rows = [PolicyOutput(**row.model_dump()) for row in page.policies]
                found = PolicyListOutput(policies=rows, next_cursor=encode_cursor(*page.after) if page.after else None)
            return build_tool_result(found, render_policies(found))

    @tools.add(READ)
    async def deadlines(
        since: Day = None,
        until: Day = None,
        kinds: Annotated[list[DeadlineKind], Field(description="Only these kinds")] = [],  # noqa: B006
        topic: Annotated[str | None, Field(max_length=200, description="The name of a topic")] = None,
        policy: Annotated[int | None, Field(ge=1, le=2**31 - 1, description="The number of a policy")] = None,
        sources: Sources = [],  # noqa: B006
        limit: Annotated[int, Field(ge=1, le=200, description="So many at most")] = 50,
        cursor: Cursor = "",
    ) -> Annotated[CallToolResult, DeadlineListOutput]:
        """List what begins or ends when, the nearest first: by default what is still to come. Moved days show both."""
        with raise_tool_errors():
            wanted = DeadlineQuery(since=since, until=until, kinds=kinds, topic=topic, policy=policy, sources=sources)
            entries = await app.deadlines.list(wanted)
            rows, following = cut_list(entries, limit, cursor, lambda entry: (entry.day, entry.id), dt.date, int)
            shown = [DeadlineOutput.model_validate(row.model_dump()) for row in rows]
            found = DeadlineListOutput(deadlines=shown, next_cursor=following)
            return build_tool_result(found, render_deadlines(found))


def _add_topic_tools(tools: Toolset, app: App) -> None:
    @tools.add(READ)
    async def topics(
        context: Context[Any, Any],
        name: Annotated[str, Field(max_length=100, description="One topic alone, with what fits it")] = "",
        limit: Annotated[int, Field(ge=1, le=MAX_ENTRIES, description="So many of its items")] = 20,
        cursor: Cursor = "",
    ) -> Annotated[CallToolResult, TopicListOutput]:
        """List the topics that clients care about; or, with a name, the newest items that fit that one, and why."""
        actor = get_actor(context)
        with raise_tool_errors():
            if name.strip():
                topic_id = (await app.topics.find(name.strip())).id or 0
                after = decode_cursor(cursor, dt.date, int)
                page = await app.topics.list_items(topic_id, limit=limit, after=after)
                shown = [build_topic_output(await app.topics.get(topic_id, by=actor), page)]
                following = encode_cursor(*page.after) if page.after else None
            else:
                found_topics = await app.topics.list(by=actor)
                listed, following = cut_list(found_topics, limit, cursor, lambda row: (row.name, row.id), str, int)
                shown = [build_topic_output(topic) for topic in listed]
            found = TopicListOutput(topics=shown, next_cursor=following)
            return build_tool_result(found, render_topics(found))


def _build_found_group(group: FoundGroup) -> FoundGroupOutput:
    return FoundGroupOutput.model_validate(group.model_dump())


def _render_found(found: FoundOutput) -> Iterator[str]:
    yield UNTRUSTED_NOTICE if found.groups else "Nothing was found."
    for group in found.groups:
        yield f"{group.type}" + (f", {group.total} in all:" if group.total is not None else ":")
        for entry in group.entries:
            yield f"- {entry.path} ({entry.day or 'no date'})"
            yield from (f"> {text}" for text in (entry.title, entry.about, entry.snippet) if text)


def _render_proof(found: ProofOutput, *, first: int) -> Iterator[str]:
    yield f"Item {found.item_id}, {found.url}. {UNTRUSTED_NOTICE}"
    yield f"> {found.title}"
    if not found.evidence:
        yield "No evidence was kept."
    for number, evidence in enumerate(found.evidence, start=first):
        verdict = f", {evidence.verdict} by {evidence.judged_by}" if evidence.verdict and evidence.judged_by else ""
        yield f"Claim {number}: {evidence.kind}{verdict}, record {evidence.record}"
        yield f"> {evidence.claim}"
        yield f"> {evidence.passage or '(the whole page)'}"
    for record in found.records:
        yield f"Record {record.id}: {record.url}, fetched {record.fetched_at:%Y-%m-%d %H:%M}Z, SHA-256 {record.sha256}"
        yield from [f"> {record.problem}"] if record.problem else []
    if found.page or found.problem:
        yield "The saved page around it:"
        yield f"> {found.problem or found.page}"
    yield from render_cursor(found.next_cursor)
