"""Looking again: what became of the pages of items that were saved earlier.

It comes last in a run, with falling frequency, and says nothing of the run itself: a page that cannot be seen now is
looked at again another day. That a page is gone or has moved, or lost most of its words, is said only when two runs
have seen it.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from monitor.domain.page import Attachment
from monitor.domain.revisions import Change, ChangeKind, ItemSight, Revision, Seen, SeenAttachment
from monitor.domain.tables import Item, Source
from monitor.domain.words import Render
from monitor.errors import WorkFailed
from monitor.evidence.addresses import address_of
from monitor.evidence.revisions import compare
from monitor.ports import DocumentReader, PageLoader
from monitor.store import Store
from monitor.sweep.article import read_article, sha256_of

MOST_LOOKS = 10
"""So many pages are looked at again in one run at most."""

_MOST_DOCUMENTS = 5
_MOST_IS_LOST = 0.5


@dataclass(frozen=True, kw_only=True)
class Revisits:
    """Looks again at the pages of a source's items, for one run."""

    run_id: str
    source: Source
    store: Store
    loader: PageLoader
    documents: DocumentReader
    folder: Path

    async def look(self, item_id: int) -> ChangeKind:
        """Look at one item's page and keep what became of it."""
        item, sight = await self.store.items.get(item_id), await self.store.revisions.sight(item_id)
        if item is None:
            return ChangeKind.NONE
        text = await self.store.items.text(item_id)
        if sight is None:
            # Saved by a version that kept no look: this is the first one, and there is nothing to compare it with.
            first = await self._see(item, Seen(url=item.url, seen_at=item.first_seen))
            fresh = ItemSight.of(item_id, self.run_id, first)
            await self.store.revisions.keep(fresh, text=first.text or None)
            return ChangeKind.NONE
        before = sight.seen(text or "")
        after = await self._see(item, before)
        change = await asyncio.to_thread(compare, before, after)
        verdict = judge(sight, change, before, after, run_id=self.run_id)
        changes = _facts(item, before, after) if verdict.text is not None else {}
        await self.store.revisions.keep(verdict.sight, revision=verdict.revision, text=verdict.text, changes=changes)
        return verdict.revision.kind if verdict.revision else ChangeKind.NONE

    async def _see(self, item: Item, before: Seen) -> Seen:
        render = self.source.render or Render.AUTO
        article = await read_article(
            item, loader=self.loader, documents=self.documents, render=render, folder=self.folder
        )
        seen = article.seen
        attachments = [await self._hashed(attachment) for attachment in seen.attachments[:_MOST_DOCUMENTS]]
        attachments += seen.attachments[_MOST_DOCUMENTS:]
        return seen.model_copy(update={"attachments": [_carried(one, before) for one in attachments]})

    async def _hashed(self, attachment: SeenAttachment) -> SeenAttachment:
        if attachment.sha256 is not None:
            return attachment
        try:
            path = await self.loader.download(attachment.url, self.folder)
        except WorkFailed:
            return attachment
        return attachment.model_copy(update={"sha256": await asyncio.to_thread(sha256_of, path)})


@dataclass(frozen=True)
class Verdict:
    """What a look leads to; `text` is the page's new text, where there is one to keep."""

    sight: ItemSight
    revision: Revision | None = None
    text: str | None = None


def judge(sight: ItemSight, change: Change, before: Seen, after: Seen, *, run_id: str) -> Verdict:
    """What is kept of a look: at once what is certain, and what is not once another run has seen the same."""
    if not before.text.strip() and after.text.strip():
        # There was nothing to see when it was saved: this is the first look.
        return Verdict(ItemSight.of(sight.item_id, run_id, after), text=after.text)
    was_gone = sight.standing is ChangeKind.WITHDRAWN
    kind = change.kind
    if kind is ChangeKind.UNREACHABLE or (kind is ChangeKind.WITHDRAWN and was_gone):
        return Verdict(_again(sight, after, failure=change.reason, doubt=sight.doubt))
    if was_gone:
        kind = ChangeKind.RESTORED
    if kind is ChangeKind.NONE:
        known = before.model_copy(update={"attachments": after.attachments, "sha256": after.sha256})
        return Verdict(_again(sight, after, page=known))
    if _is_doubtful(kind, change) and (sight.doubt is not kind or sight.run_id == run_id):
        return Verdict(_again(sight, after, run_id=run_id, doubt=kind, failure=change.reason))
    revision = Revision(
        item_id=sight.item_id,
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
        return Verdict(_again(sight, after, run_id=run_id, standing=kind, failure=change.reason), revision)
    return Verdict(ItemSight.of(sight.item_id, run_id, after), revision, text=after.text)


def _is_doubtful(kind: ChangeKind, change: Change) -> bool:
    return kind in (ChangeKind.WITHDRAWN, ChangeKind.MOVED) or change.kept < _MOST_IS_LOST


def _again(sight: ItemSight, after: Seen, *, page: Seen | None = None, **changes: Any) -> ItemSight:
    """The sight after a look that brought no new words; what it compares with stays."""
    values = sight.model_dump() | {"looked_at": after.seen_at, "doubt": None, "failure": ""} | changes
    if page is not None:
        values["page"] = page.model_dump(mode="json", exclude={"text"})
    return ItemSight(**values)


def _carried(attachment: SeenAttachment, before: Seen) -> SeenAttachment:
    """A document that could not be fetched now counts as the one that was fetched there before."""
    if attachment.sha256 is not None:
        return attachment
    known = {address_of(one.url): one.sha256 for one in before.attachments}
    return attachment.model_copy(update={"sha256": known.get(address_of(attachment.url))})


def _facts(item: Item, before: Seen, after: Seen) -> dict[str, Any]:
    """What the item says of its page, brought up to it."""
    changes: dict[str, Any] = {}
    if after.published_on is not None:
        changes["page_date"] = after.published_on
    of_page = {attachment.url for attachment in before.attachments}
    kept = [one for one in item.attachments if one["url"] not in of_page]
    held = {item.url, *(one["url"] for one in kept)}
    fields = set(Attachment.model_fields)
    new = [one.model_dump(include=fields) for one in after.attachments if one.url not in held]
    return changes | {"attachments": [*kept, *new]}
