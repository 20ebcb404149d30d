"""Visits the pages of earlier items again, last in a run and with falling frequency."""

import asyncio
from dataclasses import dataclass
from typing import Any

from monitor.db.tables.collection import Item
from monitor.db.tables.evidence import ItemSnapshot, Revision
from monitor.errors import WorkFailed
from monitor.isolation.pool import IsolatedWorkFailed
from monitor.page import Attachment, AttachmentSnapshot, ChangeKind, PageChange, PageSnapshot
from monitor.sweep.context import RunContext
from monitor.sweep.summarise import fetch_article, hash_file
from monitor.vocabulary import Phase

MAX_REVISITS_PER_RUN = 10
MAX_DEADLINE_REVISITS_PER_RUN = 30
"""So many pages whose deadlines are near are looked at on top of the others."""

_MAX_HASHED_DOCUMENTS = 5
_MIN_KEPT_SHARE = 0.5


@dataclass(frozen=True)
class ItemRevisitor:
    run: RunContext

    async def revisit(self, item_id: int) -> ChangeKind:
        """Look at the page of an item and store what became of it; a summary with other figures is marked stale."""
        store, run_id = self.run.deps.store, self.run.run_id
        item, stored = await store.items.get(item_id), await store.revisions.get_snapshot(item_id)
        if item is None:
            return ChangeKind.NONE
        text = await store.items.get_text(item_id)
        if stored is None:
            # Saved by a version that kept no snapshot: there is nothing to compare this one with.
            first = await self._take_snapshot(item, PageSnapshot(url=item.url, seen_at=item.first_seen))
            fresh = ItemSnapshot.from_page(item_id, run_id, first)
            await store.revisions.save(fresh, text=first.text or None)
            return ChangeKind.NONE
        before = stored.build_page_snapshot(text or "")
        after = await self._take_snapshot(item, before)
        change = await self._compare(item, before, after)
        verdict = judge_revisit(stored, change, before, after, run_id=run_id)
        changes = _build_item_changes(item, before, after) if verdict.text is not None else {}
        if verdict.text is not None and verdict.revision is not None and await self._has_changed_figure(change):
            changes["is_summary_stale"] = True
        await store.revisions.save(verdict.snapshot, revision=verdict.revision, text=verdict.text, changes=changes)
        return verdict.revision.kind if verdict.revision else ChangeKind.NONE

    async def _compare(self, item: Item, before: PageSnapshot, after: PageSnapshot) -> PageChange:
        """Return what became of a page; one that cannot be compared in time counts as unreachable."""
        from monitor.evidence.revisions import compare_snapshots  # runs without revisits need no rules

        try:
            return await self.run.deps.workers.run(compare_snapshots, before, after)
        except IsolatedWorkFailed as error:
            await self.run.record_fallback(Phase.SUMMARISE, item.url, error.message)
            return PageChange(kind=ChangeKind.UNREACHABLE, kept=0, reason=error.message)

    async def _has_changed_figure(self, change: PageChange) -> bool:
        from monitor.policies.changes import has_changed_figure

        try:
            return await self.run.deps.workers.run(has_changed_figure, change)
        except IsolatedWorkFailed:
            return False

    async def _take_snapshot(self, item: Item, before: PageSnapshot) -> PageSnapshot:
        article = await fetch_article(self.run, item)
        seen = article.snapshot
        fetched, rest = seen.attachments[:_MAX_HASHED_DOCUMENTS], seen.attachments[_MAX_HASHED_DOCUMENTS:]
        attachments = [*[await self._hash_attachment(attachment) for attachment in fetched], *rest]
        return seen.model_copy(
            update={"attachments": [_carry_over_hash(attachment, before) for attachment in attachments]}
        )

    async def _hash_attachment(self, attachment: AttachmentSnapshot) -> AttachmentSnapshot:
        if attachment.sha256 is not None:
            return attachment
        try:
            path = await self.run.deps.loader.download(attachment.url, self.run.deps.folder)
        except WorkFailed:
            return attachment
        return attachment.model_copy(update={"sha256": await asyncio.to_thread(hash_file, path)})


@dataclass(frozen=True)
class RevisitResult:
    """What to store of a visit; `text` is the page's new text, None where the old one stays."""

    snapshot: ItemSnapshot
    revision: Revision | None = None
    text: str | None = None


def judge_revisit(
    snapshot: ItemSnapshot, change: PageChange, before: PageSnapshot, after: PageSnapshot, *, run_id: str
) -> RevisitResult:
    """Decide what to store of a visit: at once what is certain, the rest once another run has seen the same."""
    if not before.text.strip() and after.text.strip():
        # There was nothing to see when it was saved.
        return RevisitResult(ItemSnapshot.from_page(snapshot.item_id, run_id, after), text=after.text)
    was_gone = snapshot.standing is ChangeKind.WITHDRAWN
    kind = change.kind
    if kind is ChangeKind.UNREACHABLE or (kind is ChangeKind.WITHDRAWN and was_gone):
        return RevisitResult(_update_snapshot(snapshot, after, failure=change.reason, doubt=snapshot.doubt))
    if was_gone:
        kind = ChangeKind.RESTORED
    if kind is ChangeKind.NONE:
        known = before.model_copy(update={"attachments": after.attachments, "sha256": after.sha256})
        return RevisitResult(_update_snapshot(snapshot, after, page=known))
    if _is_doubtful(kind, change) and (snapshot.doubt is not kind or snapshot.run_id == run_id):
        return RevisitResult(_update_snapshot(snapshot, after, run_id=run_id, doubt=kind, failure=change.reason))
    revision = Revision(
        item_id=snapshot.item_id,
        run_id=run_id,
        seen_at=after.seen_at,
        kind=kind,
        reason=change.reason,
        edits=[edit.model_dump(mode="json") for edit in change.edits],
        more_edits=change.more_edits,
        before_text=before.text,
        before_sha256=before.sha256,
        after_sha256=after.sha256,
    )
    if kind is ChangeKind.WITHDRAWN:
        return RevisitResult(
            _update_snapshot(snapshot, after, run_id=run_id, standing=kind, failure=change.reason), revision
        )
    return RevisitResult(ItemSnapshot.from_page(snapshot.item_id, run_id, after), revision, text=after.text)


def _is_doubtful(kind: ChangeKind, change: PageChange) -> bool:
    return kind in (ChangeKind.WITHDRAWN, ChangeKind.MOVED) or change.kept < _MIN_KEPT_SHARE


def _update_snapshot(
    snapshot: ItemSnapshot, after: PageSnapshot, *, page: PageSnapshot | None = None, **changes: Any
) -> ItemSnapshot:
    """Return the snapshot after a visit without a new text; what the next one is compared with stays."""
    values = snapshot.model_dump() | {"looked_at": after.seen_at, "doubt": None, "failure": None} | changes
    if page is not None:
        values["page"] = page.model_dump(mode="json", exclude={"text"})
    return ItemSnapshot(**values)


def _carry_over_hash(attachment: AttachmentSnapshot, before: PageSnapshot) -> AttachmentSnapshot:
    """A document that could not be fetched now counts as the one that was fetched there before."""
    if attachment.sha256 is not None:
        return attachment
    from monitor.evidence.revisions import build_address_key

    known = {build_address_key(attachment.url): attachment.sha256 for attachment in before.attachments}
    return attachment.model_copy(update={"sha256": known.get(build_address_key(attachment.url))})


def _build_item_changes(item: Item, before: PageSnapshot, after: PageSnapshot) -> dict[str, Any]:
    changes: dict[str, Any] = {} if after.published_on is None else {"page_date": after.published_on}
    of_page = {attachment.url for attachment in before.attachments}
    kept = [attachment for attachment in item.attachments if attachment["url"] not in of_page]
    held = {item.url, *(attachment["url"] for attachment in kept)}
    fields = set(Attachment.model_fields)
    new = [attachment.model_dump(include=fields) for attachment in after.attachments if attachment.url not in held]
    return changes | {"attachments": [*kept, *new]}
