"""Policies: documents are read, joined by rule to the policy that they belong to, and put right by people."""

import asyncio
import datetime as dt
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from monitor.briefing.compose import ItemReference
from monitor.config.model import Settings
from monitor.db.queries.policies import KeyedDocument, PolicyDeadlineRow, PolicyFilter, PolicyRow
from monitor.db.sessions import split_batches
from monitor.db.tables.collection import Item
from monitor.db.tables.policies import DocumentKey, ItemFacts, Policy, PolicyDocument, PolicyNote
from monitor.db.visibility import see_as
from monitor.document import DocumentFacts
from monitor.errors import Conflict, NotFound, UsageError
from monitor.evidence.revisions import compare_texts
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.isolation.pool import IsolatedWorkFailed, WorkerPool
from monitor.logs import get_logger
from monitor.page import PageEdit
from monitor.policies.lifecycle import (
    FiledDocument,
    JoinProposal,
    choose_stage,
    choose_title,
    find_policies,
    may_start_policy,
    read_document,
)
from monitor.policies.names import Reference, fold_name, list_own_names, name_document
from monitor.services.audit import Actor, AuditAction, AuditedService
from monitor.services.marks import load_item
from monitor.vocabulary import DocumentKind, JoinedBy, Phase, PolicyStage, Role

MAX_NAME_CHARS = 500
MAX_POLICY_NOTE_CHARS = 4000
_BATCH_ITEMS = 50
_DRAFTS = (PolicyStage.DRAFT, PolicyStage.CONSULTATION)
_ORDER_OF_STAGES = {stage: place for place, stage in enumerate(PolicyStage)}


class DeadlineUpdater(Protocol):
    """Keeps the deadlines of an item; called in the transaction that stores its facts."""

    async def update(
        self, item: Item, before: DocumentFacts | None, after: DocumentFacts, run_id: str | None
    ) -> None: ...

    async def announce_postponements(self, items: Sequence[Item]) -> None:
        """Called once the items of a run are in their policies."""


class TopicJudge(Protocol):
    """Judges items for the topics; asked with every item of a run, also with those that it has judged."""

    async def judge(self, item_ids: Sequence[int], *, run_id: str | None = None) -> None: ...


class PolicyMember(MessageModel, ItemReference):
    """A document of a policy: where it stands in its life, and why it is there; `evidence` are records of its page."""

    stage: PolicyStage | None
    kind: DocumentKind | None
    number: str | None
    issuers: list[str]
    day: dt.date | None
    evidence: list[str]
    joined_by: JoinedBy
    reason: Message
    joined_at: dt.datetime
    person: str


class PolicyNoteSchema(BaseModel):
    id: int
    person: str
    text: str
    at: dt.datetime


class PolicyFile(PolicyRow):
    """A policy with all that is known of it; `members` are its documents in the order of their days.

    `draft` and `final` are the items whose texts can be compared, `penalties` those of its documents that are orders
    against somebody.
    """

    issuers: list[str]
    members: list[PolicyMember]
    deadlines: list[PolicyDeadlineRow]
    penalties: list[int]
    notes: list[PolicyNoteSchema]
    draft: int | None = None
    final: int | None = None


class PolicyComparison(BaseModel):
    """How one document of a policy became another; `kept` is the share of the old words that remain."""

    before: int
    after: int
    edits: list[PageEdit]
    more_edits: int
    kept: float


class PolicyPage(BaseModel):
    """A piece of the list of policies; `after` is where it goes on."""

    policies: list[PolicyRow] = Field(default_factory=list)
    after: tuple[dt.datetime, int] | None = None


@dataclass(frozen=True)
class _ReadItem:
    item: Item
    facts: DocumentFacts
    references: Sequence[Reference]
    text_sha256: str


@dataclass(kw_only=True)
class PolicyService(AuditedService):
    """`deadlines` and `topics` are told of what was read; None where nobody keeps any."""

    settings: Settings
    workers: WorkerPool
    deadlines: DeadlineUpdater | None = None
    topics: TopicJudge | None = None

    # What runs do.

    async def file_documents(self, run_id: str) -> None:
        """Read the facts of what a run has saved or found changed, and join each document to its policy.

        A batch is stored whole or not at all, and what is stored is not done again: a second call changes nothing.
        """
        item_ids = await self.store.policies.list_run_items(run_id)
        await self._file(item_ids, run_id)
        if self.topics is not None and item_ids:
            await self.topics.judge(item_ids, run_id=run_id)

    async def refresh(self, *, by: Actor, on_progress: Callable[[int], None] | None = None) -> int:
        """Read the whole archive again, and join what was never joined; returns how many documents were read.

        What people joined, separated and named stays.
        """
        by.require(Role.EDITOR)
        await self.record(by, AuditAction.POLICY_REFRESH, "policies")
        last_id = done = 0
        with see_as(None):  # what is derived from documents holds for everybody
            while item_ids := await self.store.policies.list_items_with_text(after=last_id, limit=_BATCH_ITEMS):
                done += await self._file(item_ids, None, is_joining=False, is_again=True)
                last_id = item_ids[-1]
                if on_progress is not None:
                    on_progress(done)
            for batch in split_batches(await self.store.policies.list_unjoined(), _BATCH_ITEMS):
                await self.store.write_together(partial(self._join_all, batch))
        return done

    async def _file(
        self, item_ids: Sequence[int], run_id: str | None, *, is_joining: bool = True, is_again: bool = False
    ) -> int:
        """Read and store items whose texts have not been read yet, or all; returns how many were read."""
        count = 0
        for batch in split_batches(item_ids, _BATCH_ITEMS):
            read = await self._read_batch(batch, run_id, is_again=is_again)
            if read:
                await self.store.write_together(partial(self._save_batch, read, run_id, is_joining=is_joining))
            count += len(read)
        return count

    async def _read_batch(self, item_ids: Sequence[int], run_id: str | None, *, is_again: bool) -> list[_ReadItem]:
        texts = await self.store.items.load_texts(item_ids)
        known = await self.store.policies.load_facts(item_ids)
        due: list[tuple[Item, str, str]] = []
        for item in await self.store.policies.load_items(item_ids):
            text = texts.get(item.id or 0, "")
            sha256 = hashlib.sha256(text.encode()).hexdigest()
            stored = known.get(item.id or 0)
            if text.strip() and (is_again or stored is None or stored.text_sha256 != sha256):
                due.append((item, text, sha256))
        read = await asyncio.gather(*(self._read_item(item, text, sha256, run_id) for item, text, sha256 in due))
        return [found for found in read if found is not None]

    async def _read_item(self, item: Item, text: str, sha256: str, run_id: str | None) -> _ReadItem | None:
        """Return what a worker reads in an item's text; None, and a fallback of the run, where it cannot be read."""
        try:
            facts, references = await self.workers.run(
                read_document, item.title, text, published_on=item.date, issuer=item.issuer
            )
        except IsolatedWorkFailed as error:
            get_logger("policies").warning("facts not read", item=item.id, reason=str(error))
            if run_id is not None:
                await self.store.runs.add_fallback(run_id, Phase.SUMMARISE, item.url, error.message, self.clock.now())
            return None
        return _ReadItem(item, facts, references, sha256)

    async def _save_batch(self, read: Sequence[_ReadItem], run_id: str | None, *, is_joining: bool) -> None:
        await self.store.policies.lock()
        known = await self.store.policies.load_facts([found.item.id or 0 for found in read])
        now = self.clock.now()
        for found in read:
            item_id = found.item.id or 0
            before = known.get(item_id)
            dumped = found.facts.model_dump(mode="json")
            row = ItemFacts(item_id=item_id, facts=dumped, text_sha256=found.text_sha256, read_at=now)
            keys = [
                DocumentKey(item_id=item_id, key=key, role=role, written=written)
                for key, role, written in found.references
            ]
            await self.store.policies.save_facts(row, keys)
            if self.deadlines is not None:
                is_same_text = before is not None and before.text_sha256 == found.text_sha256
                earlier = found.facts if is_same_text else before.document if before is not None else None
                await self.deadlines.update(found.item, earlier, found.facts, run_id)
        item_ids = [found.item.id or 0 for found in read]
        await (self._join_all(item_ids) if is_joining else self._renew_members(item_ids))
        if self.deadlines is not None and run_id is not None:
            await self.deadlines.announce_postponements([found.item for found in read])

    async def _join_all(self, item_ids: Sequence[int]) -> None:
        """Join these documents by rule, in the order of their days and stages."""
        await self.store.policies.lock()
        documents = await self.store.policies.load_documents(item_ids)
        for document in sorted(documents, key=_build_filing_key):
            await self._join_by_rule(document.item_id)

    async def _renew_members(self, item_ids: Sequence[int]) -> None:
        documents = await self.store.policies.load_documents(item_ids)
        for policy_id in sorted({policy_id for document in documents for policy_id in document.policies}):
            await self._renew_policy(policy_id)

    async def _join_by_rule(self, item_id: int) -> None:
        """Join a document to the policies that it belongs to, or let it start one; then what waited for it."""
        [document] = await self.store.policies.load_documents([item_id])
        if document.policies:
            for policy_id in sorted(document.policies):
                await self._renew_policy(policy_id)
            return
        if document.removed:
            return  # a person has decided
        related = await self.store.policies.load_documents(await self.store.policies.find_related(document))
        filed = _build_filed_document(document)
        proposals = find_policies(filed, map(_build_filed_document, related))
        if proposals:
            for proposal in proposals:
                await self._add_document(proposal.policy_id, document, proposal)
        elif may_start_policy(document.facts):
            await self._start_policy(document, JoinedBy.NAME, Message("policy.started"))
        else:
            return
        await self._adopt(item_id, [found for found in related if not found.policies and not found.removed])

    async def _adopt(self, item_id: int, waiting: Sequence[KeyedDocument]) -> None:
        """Join the documents that came before the one which they refer to."""
        [document] = await self.store.policies.load_documents([item_id])
        filed = _build_filed_document(document)
        for found in sorted(waiting, key=_build_filing_key):
            for proposal in find_policies(_build_filed_document(found), [filed]):
                await self._add_document(proposal.policy_id, found, proposal)

    async def _start_policy(
        self, document: KeyedDocument, joined_by: JoinedBy, reason: Message, *, name: str = "", person: str = ""
    ) -> int:
        now = self.clock.now()
        called = name or name_document(document.title)
        key = fold_name(next(iter(list_own_names(document.title)), called))
        policy = Policy(name=called, key=key, is_renamed=bool(name), created_at=now, updated_at=now)
        policy_id = await self.store.policies.add(policy)
        await self._save_member(policy_id, document, joined_by, reason, person=person)
        return policy_id

    async def _add_document(self, policy_id: int, document: KeyedDocument, proposal: JoinProposal) -> None:
        await self._save_member(policy_id, document, proposal.joined_by, proposal.reason)

    async def _save_member(
        self, policy_id: int, document: KeyedDocument, joined_by: JoinedBy, reason: Message, *, person: str = ""
    ) -> None:
        row = PolicyDocument(
            policy_id=policy_id,
            item_id=document.item_id,
            stage=document.facts.stage,
            joined_by=joined_by,
            reason=reason,
            joined_at=self.clock.now(),
            person=person,
        )
        await self.store.policies.save_document(row)
        await self.store.policies.update(policy_id, updated_at=self.clock.now())
        await self._renew_policy(policy_id)

    async def _renew_policy(self, policy_id: int) -> None:
        """Bring name and stages of a policy into line with the facts of its documents; remove one without any."""
        policy = await self.store.policies.get(policy_id)
        members = await self.store.policies.list_documents(policy_id)
        if policy is None:
            return
        if not members:
            await self.store.policies.remove(policy_id)
            return
        documents = await self.store.policies.load_documents([member.item_id for member, _ in members])
        stages = {document.item_id: document.facts.stage for document in documents}
        for member, _ in members:
            if (stage := stages.get(member.item_id, member.stage)) is not member.stage:
                await self.store.policies.save_document(PolicyDocument(**member.model_dump() | {"stage": stage}))
        stage, stage_on = choose_stage(map(_build_filed_document, documents))
        changes: dict[str, object] = {"stage": stage, "stage_on": stage_on}
        if not policy.is_renamed and documents:
            title = choose_title(map(_build_filed_document, documents))
            changes |= {"name": name_document(title), "key": fold_name(next(iter(list_own_names(title)), title))}
        if any(getattr(policy, name) != value for name, value in changes.items()):
            await self.store.policies.update(policy_id, **changes, updated_at=self.clock.now())

    # What people see.

    async def get(self, policy_id: int) -> PolicyFile:
        """A policy, whole; `NotFound` where there is none of that number."""
        policy = await self._load(policy_id)
        store = self.store.policies
        rows = await store.list_documents(policy_id)
        facts = await store.load_facts([member.item_id for member, _ in rows])
        members = sorted(
            (_build_member(member, item, facts.get(member.item_id)) for member, item in rows), key=_build_member_key
        )
        [row] = await store.build_rows([policy], today=self._get_today())
        draft, final = _choose_versions(members)
        return PolicyFile(
            **row.model_dump(),
            issuers=list(dict.fromkeys(name for member in members for name in member.issuers)),
            members=members,
            deadlines=await store.list_deadlines(policy_id),
            penalties=[member.id or 0 for member in members if member.stage is PolicyStage.ENFORCEMENT],
            notes=[
                PolicyNoteSchema.model_validate(note, from_attributes=True)
                for note in await store.list_notes(policy_id)
            ],
            draft=draft,
            final=final,
        )

    async def compare(self, policy_id: int, *, before: int | None = None, after: int | None = None) -> PolicyComparison:
        """Return how one document became another, by article: without numbers, the draft and the final one."""
        file = await self.get(policy_id)
        one, other = before or file.draft, after or file.final
        if one is None or other is None:
            raise UsageError("policy.nothing_to_compare", policy=policy_id)
        for item_id in (one, other):
            if item_id not in {member.id for member in file.members}:
                raise NotFound("policy.document_not_there", policy=policy_id, item=item_id)
        texts = await self.store.items.load_texts([one, other])
        change = await self.workers.run(compare_texts, texts.get(one, ""), texts.get(other, ""))
        return PolicyComparison(before=one, after=other, **change.model_dump(include={"edits", "more_edits", "kept"}))

    # What people do.

    async def start(self, item_id: int, name: str = "", *, by: Actor) -> PolicyFile:
        """Begin a policy with an item; `Conflict` where that is in one."""
        by.require(Role.EDITOR)
        document = await self._load_document(item_id)
        if document.policies:
            raise Conflict("policy.item_is_joined", item=item_id, policy=min(document.policies))
        name = _check_text(name, "name", MAX_NAME_CHARS) if name.strip() else ""
        async with self.change_for_everybody():
            policy_id = await self._start_policy(
                document, JoinedBy.HAND, Message("policy.by_hand"), name=name, person=by.owner
            )
            await self.record(by, AuditAction.POLICY_ADD, f"policy {policy_id}", item=item_id, after=name or None)
        return await self.get(policy_id)

    async def join(self, policy_id: int, item_id: int, *, by: Actor) -> PolicyFile:
        """Put an item into a policy by hand, also one that was taken out of it; one of another policy is in both."""
        by.require(Role.EDITOR)
        await self._load(policy_id)
        document = await self._load_document(item_id)
        if policy_id not in document.policies:
            async with self.change_for_everybody():
                await self._save_member(policy_id, document, JoinedBy.HAND, Message("policy.by_hand"), person=by.owner)
                await self.record(by, AuditAction.POLICY_JOIN, f"policy {policy_id}", after=item_id)
        return await self.get(policy_id)

    async def separate(self, policy_id: int, item_id: int, *, by: Actor) -> None:
        """Take an item out of a policy, for good as far as rules go; a policy without documents is gone."""
        by.require(Role.EDITOR)
        await self._load(policy_id)
        member = await self.store.policies.get_document(policy_id, item_id)
        if member is None or member.removed_at is not None:
            raise NotFound("policy.document_not_there", policy=policy_id, item=item_id)
        async with self.change_for_everybody():
            removed = {"removed_at": self.clock.now(), "person": by.owner}
            await self.store.policies.save_document(PolicyDocument(**member.model_dump() | removed))
            await self._renew_policy(policy_id)
            await self.record(by, AuditAction.POLICY_SEPARATE, f"policy {policy_id}", before=item_id)

    async def rename(self, policy_id: int, name: str, *, by: Actor) -> PolicyFile:
        """Give a policy a name that no rule changes."""
        by.require(Role.EDITOR)
        name = _check_text(name, "name", MAX_NAME_CHARS)
        policy = await self._load(policy_id)
        async with self.store.transaction():
            await self.store.policies.update(policy_id, name=name, is_renamed=True, updated_at=self.clock.now())
            await self.record(by, AuditAction.POLICY_RENAME, f"policy {policy_id}", before=policy.name, after=name)
        return await self.get(policy_id)

    async def add_note(self, policy_id: int, text: str, *, by: Actor) -> PolicyNoteSchema:
        """A note for everybody to read."""
        text = _check_text(text, "note", MAX_POLICY_NOTE_CHARS)
        await self._load(policy_id)
        note = PolicyNote(policy_id=policy_id, text=text, person=by.owner, at=self.clock.now())
        async with self.store.transaction():
            kept = await self.store.policies.add_note(note)
            await self.record(by, AuditAction.POLICY_NOTE, f"policy {policy_id}", after=text)
        return PolicyNoteSchema.model_validate(kept, from_attributes=True)

    async def _load(self, policy_id: int) -> Policy:
        policy = await self.store.policies.get(policy_id)
        if policy is None:
            raise NotFound("policy.not_found", policy=policy_id)
        return policy

    async def _load_document(self, item_id: int) -> KeyedDocument:
        """Return an item as a document; one that was never read, as by a version before, has no facts."""
        item = await load_item(item_id, self.store)
        found = await self.store.policies.load_documents([item_id])
        if found:
            return found[0]
        return KeyedDocument(item_id, item.title, item.date, DocumentFacts(), (), frozenset(), frozenset())

    def _get_today(self) -> dt.date:
        return self.clock.now().astimezone(ZoneInfo(self.settings.timezone)).date()

    async def list(self, wanted: PolicyFilter | None = None, *, limit: int = 50) -> PolicyPage:
        """The policies that are meant, those that changed last first."""
        found = await self.store.policies.list_rows(wanted or PolicyFilter(), today=self._get_today(), limit=limit + 1)
        shown = found[:limit]
        after = (shown[-1].updated_at, shown[-1].id) if len(found) > limit else None
        return PolicyPage(policies=shown, after=after)


def _build_filing_key(document: KeyedDocument) -> tuple[dt.date, int, int]:
    stage = document.facts.stage
    return document.day or dt.date.min, -1 if stage is None else _ORDER_OF_STAGES[stage], document.item_id


def _build_filed_document(document: KeyedDocument) -> FiledDocument:
    references = tuple(Reference(key.key, key.role, key.written) for key in document.keys)
    return FiledDocument(document.item_id, document.title, document.facts, references, document.day, document.policies)


def _choose_versions(members: Sequence[PolicyMember]) -> tuple[int | None, int | None]:
    """Return the draft and the final document to compare: the last draft before the first final document."""
    final = next((member for member in members if member.stage is PolicyStage.FINAL), None)
    until = members if final is None else members[: members.index(final)]
    drafts = [member.id for member in until if member.stage in _DRAFTS]
    return (drafts[-1] if drafts else None), (None if final is None else final.id)


def _build_member_key(member: PolicyMember) -> tuple[dt.date, int, int]:
    """Order documents by their days; those of one day as a policy goes: a rule, then what explains it."""
    return member.day or dt.date.max, -1 if member.stage is None else _ORDER_OF_STAGES[member.stage], member.id or 0


def _build_member(member: PolicyDocument, item: Item, facts: ItemFacts | None) -> PolicyMember:
    document = facts.document if facts is not None else None
    return PolicyMember(
        **ItemReference.model_validate(item, from_attributes=True).model_dump(),
        stage=member.stage,
        kind=document.kind if document else None,
        number=document.number if document else item.document_number,
        issuers=document.issuers if document else [],
        day=item.date or (document.made_on if document else None),
        evidence=item.evidence,
        joined_by=member.joined_by,
        reason=member.reason,
        joined_at=member.joined_at,
        person=member.person,
    )


def _check_text(text: str, kind: str, max_chars: int) -> str:
    text = text.strip()
    if not text:
        raise UsageError(f"policy.empty_{kind}")
    if len(text) > max_chars:
        raise UsageError(f"policy.long_{kind}", chars=len(text), limit=max_chars)
    return text
