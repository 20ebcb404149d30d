"""Links by which a saved briefing is read without an account."""

import builtins
import datetime as dt
import secrets
from dataclasses import dataclass, field, replace

from monitor.briefing.compose import Briefing, drop_gaps
from monitor.db.tables.people import BriefingShare
from monitor.db.visibility import see_as
from monitor.errors import Conflict, NotFound, UsageError
from monitor.exports.document import normalize_line
from monitor.services.audit import Actor, AuditAction, AuditedService, hash_token
from monitor.services.drafts import BriefingDraftService, format_subject
from monitor.vocabulary import Role

DEFAULT_SHARE_DAYS, MAX_SHARE_DAYS = 14, 90
MAX_SHARE_LABEL_CHARS = 100
DEFAULT_LISTED_SHARES = 50
_MAX_REQUESTS = 60  # of an address in a window
_REQUEST_WINDOW = dt.timedelta(minutes=1)
_MAX_ADDRESSES = 10_000  # that are counted at a time


@dataclass(frozen=True, kw_only=True)
class SharedBriefing:
    """What a link leads to; without a `briefing` it has expired, was revoked, or its briefing was archived."""

    share: BriefingShare
    briefing: Briefing | None


@dataclass(frozen=True)
class _RequestCount:
    since: dt.datetime
    number: int


@dataclass(kw_only=True)
class BriefingShareService(AuditedService):
    """A link is shown once, when it is made; the database holds only the hash of its secret part."""

    drafts: BriefingDraftService
    _requests: dict[str, _RequestCount] = field(default_factory=dict, init=False)

    async def create(
        self, briefing_id: int, *, days: int = DEFAULT_SHARE_DAYS, label: str = "", by: Actor
    ) -> tuple[BriefingShare, str]:
        """Make a link that is good for so many days; return it with its secret part."""
        by.require(Role.EDITOR)
        if not 1 <= days <= MAX_SHARE_DAYS:
            raise UsageError("briefing.share_days", limit=MAX_SHARE_DAYS)
        row = await self.drafts.get_row(briefing_id)
        if row.archived_at is not None:
            raise Conflict("briefing.archived", briefing=briefing_id)
        token, now = secrets.token_urlsafe(32), self.clock.now()
        share = BriefingShare(
            briefing_id=briefing_id,
            token_hash=hash_token(token),
            label=normalize_line(label)[:MAX_SHARE_LABEL_CHARS],
            created_by=by.name,
            created_at=now,
            expires_at=now + dt.timedelta(days=days),
        )
        async with self.store.transaction():
            kept = await self.store.briefing_shares.add(share)
            subject = format_subject(briefing_id, row.title)
            await self.record(
                by, AuditAction.BRIEFING_SHARE, subject, share=kept.id, label=kept.label, until=kept.expires_at
            )
        return kept, token

    async def list(
        self, briefing_id: int, *, before_id: int | None = None, limit: int = DEFAULT_LISTED_SHARES, by: Actor
    ) -> builtins.list[BriefingShare]:
        """The links of a briefing, newest first, with those that have ended."""
        by.require(Role.EDITOR)
        await self.drafts.get_row(briefing_id)
        return await self.store.briefing_shares.list_for(briefing_id, before_id=before_id, limit=limit)

    async def revoke(self, briefing_id: int, share_id: int, *, by: Actor) -> None:
        """End a link at once; doing it again changes nothing."""
        by.require(Role.EDITOR)
        row = await self.drafts.get_row(briefing_id)
        async with self.store.transaction():
            share = await self.store.briefing_shares.revoke(briefing_id, share_id, self.clock.now())
            if share is None:
                raise NotFound("briefing.share_not_found", briefing=briefing_id, share=share_id)
            subject = format_subject(briefing_id, row.title)
            await self.record(by, AuditAction.BRIEFING_UNSHARE, subject, share=share_id)

    async def open(self, token: str) -> SharedBriefing:
        """Return the briefing of a link as it stands now, without what concerns the operators of the service.

        `NotFound` for a link that never was. Whoever has the link reads it, also where it belongs to a team.
        """
        with see_as(None):
            return await self._open(token)

    async def _open(self, token: str) -> SharedBriefing:
        share = await self.store.briefing_shares.find(hash_token(token))
        if share is None:
            raise NotFound("briefing.share_unknown")
        if share.revoked_at is not None or share.expires_at <= self.clock.now():
            return SharedBriefing(share=share, briefing=None)
        draft = await self.drafts.get(share.briefing_id)
        if draft.row.archived_at is not None:
            return SharedBriefing(share=share, briefing=None)
        briefing = drop_gaps(draft.briefing).model_copy(update={"public_url": None})
        return SharedBriefing(share=share, briefing=briefing)

    def is_held_off(self, address: str) -> bool:
        """Count a request of an address, and tell whether it has made too many within a minute."""
        now = self.clock.now()
        count = self._requests.get(address)
        if count is None or not now - _REQUEST_WINDOW < count.since <= now:
            if len(self._requests) >= _MAX_ADDRESSES:
                self._requests.clear()
            count = _RequestCount(now, 0)
        self._requests[address] = replace(count, number=count.number + 1)
        return count.number >= _MAX_REQUESTS
