"""Answers of the tools about policies, deadlines and topics: shapes, and the lines that a model reads."""

import datetime as dt
from collections.abc import Iterable, Iterator

from pydantic import BaseModel, Field

from monitor.exports.document import normalize_line
from monitor.i18n.catalogue import render
from monitor.mcp_server.answers import UNTRUSTED_NOTICE, ItemOutput, Line, NextCursor, build_item_output, render_cursor
from monitor.services.policies import PolicyFile
from monitor.services.topic_form import TopicSchema
from monitor.services.topics import TopicItemPage
from monitor.vocabulary import DeadlineKind, PolicyStage


class TopicItemOutput(BaseModel):
    """An item that fits a topic: how well, 0 to 1, why, and the words of the item that show it."""

    item: ItemOutput
    score: float
    reason: Line
    passage: Line


class PolicyOutput(BaseModel):
    """A policy of a list: documents that belong together, and the stage that it has reached."""

    id: int
    name: Line
    stage: PolicyStage | None
    stage_on: dt.date | None
    documents: int
    next_deadline: dt.date | None


class PolicyMemberOutput(BaseModel):
    """A document of a policy; `id` is that of the item, `reason` why it belongs to the policy."""

    id: int
    title: Line
    source: Line
    url: Line
    day: dt.date | None
    stage: PolicyStage | None
    number: Line | None
    issuers: list[Line]
    reason: Line


class PolicyDeadlineOutput(BaseModel):
    """A day that the document numbered `item` states, and the words of it."""

    item: int
    kind: DeadlineKind
    day: dt.date
    subject: Line
    passage: Line


class PolicyListOutput(BaseModel):
    """Policies, those that changed last first; of one that was asked for by its number, its documents and deadlines."""

    policies: list[PolicyOutput]
    members: list[PolicyMemberOutput] = Field(default_factory=list)
    deadlines: list[PolicyDeadlineOutput] = Field(default_factory=list)
    next_cursor: NextCursor = None


class TopicOutput(BaseModel):
    """A topic of the clients and teams here; `items` are the newest that fit it, where one was asked for."""

    id: int
    name: str
    sentence: str
    words: list[str]
    exclusions: list[str]
    sources: list[str]
    matches: int
    newest: dt.date | None
    items: list[TopicItemOutput] = Field(default_factory=list)


class TopicListOutput(BaseModel):
    topics: list[TopicOutput]
    next_cursor: NextCursor = None


class DeadlineOutput(BaseModel):
    """A day on which something begins or ends, the item that states it, and its words; `moved_from`: the day before."""

    id: int
    day: dt.date
    kind: DeadlineKind
    subject: Line
    moved_from: dt.date | None
    item_id: int
    title: Line
    source: Line
    url: Line
    policy: Line | None
    passage: Line


class DeadlineListOutput(BaseModel):
    deadlines: list[DeadlineOutput]
    next_cursor: NextCursor = None


def build_topic_output(topic: TopicSchema, page: TopicItemPage | None = None) -> TopicOutput:
    items = [
        TopicItemOutput(
            item=build_item_output(entry.item),
            score=entry.fit.score,
            reason=render(entry.fit.reason, "en"),
            passage=entry.fit.passage,
        )
        for entry in (page.items if page is not None else ())
    ]
    return TopicOutput(**topic.model_dump(include=set(TopicOutput.model_fields)), items=items)


def render_topics(found: TopicListOutput) -> Iterable[str]:
    if not found.topics:
        yield "There are no topics yet."
    for topic in found.topics:
        newest = f", the newest of {topic.newest}" if topic.newest is not None else ""
        yield f"- [{topic.id}] {normalize_line(topic.name)}: {topic.matches} items fit it{newest}"
        if topic.sentence:
            yield f"  what matters: {normalize_line(topic.sentence)}"
        if topic.words:
            yield f"  words: {normalize_line(', '.join(topic.words))}"
        for entry in topic.items:
            yield from _render_topic_item(entry)
    if any(topic.items for topic in found.topics):
        yield UNTRUSTED_NOTICE
    yield from render_cursor(found.next_cursor)


def _render_topic_item(entry: TopicItemOutput) -> Iterator[str]:
    yield f"  item {entry.item.id}, {entry.item.date or 'undated'}, {round(100 * entry.score)} %"
    yield f"  > {entry.item.title}"
    yield f"  > why: {entry.reason}"
    if entry.passage:
        yield f"  > {entry.passage}"


def render_deadlines(found: DeadlineListOutput) -> Iterable[str]:
    if not found.deadlines:
        yield "Nothing was found."
        return
    yield UNTRUSTED_NOTICE
    for deadline in found.deadlines:
        moved = f" (was {deadline.moved_from})" if deadline.moved_from else ""
        yield f"[{deadline.id}] {deadline.day}{moved} · {deadline.kind} · item {deadline.item_id} · {deadline.url}"
        subject = f" ({deadline.subject})" if deadline.subject else ""
        yield f"> {deadline.source}: {deadline.title}{subject}"
        if deadline.passage:
            yield f"> {deadline.passage}"
    yield from render_cursor(found.next_cursor)


def build_policy_output(file: PolicyFile) -> PolicyListOutput:
    members = [
        PolicyMemberOutput.model_validate(member.model_dump(context={"language": "en"})) for member in file.members
    ]
    standing = [deadline for deadline in file.deadlines if deadline.dropped_at is None]
    return PolicyListOutput(
        policies=[PolicyOutput.model_validate(file, from_attributes=True)],
        members=members,
        deadlines=[PolicyDeadlineOutput.model_validate(deadline, from_attributes=True) for deadline in standing],
    )


def render_policies(found: PolicyListOutput) -> Iterable[str]:
    if not found.policies:
        yield "Nothing was found."
        return
    yield UNTRUSTED_NOTICE
    for policy in found.policies:
        reached = f"{policy.stage or 'no stage'} ({policy.stage_on or 'date unknown'})"
        due = f", next deadline {policy.next_deadline}" if policy.next_deadline else ""
        yield f"[{policy.id}] {reached}, {policy.documents} documents{due}"
        yield f"> {policy.name}"
    for member in found.members:
        yield f"Item {member.id}: {member.day or 'date unknown'} · {member.stage or 'no stage'} · {member.url}"
        yield f"> {member.source}: {member.title}"
        yield f"> {member.reason}"
    for deadline in found.deadlines:
        yield f"{deadline.day} {deadline.kind}, item {deadline.item}"
        yield f"> {deadline.subject} {deadline.passage}".rstrip()
    yield from render_cursor(found.next_cursor)
