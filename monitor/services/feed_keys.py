"""Keys of private addresses: a feed reader that cannot sign in reads a person's feeds with one."""

import datetime as dt
import secrets
from collections.abc import Sequence

from monitor.db.tables.people import FeedKey, Person
from monitor.errors import Conflict, NotFound, UsageError
from monitor.exports.document import normalize_line
from monitor.services.audit import Actor, AuditAction, AuditedService, hash_token

MAX_FEED_KEY_CHARS = 64
MAX_FEED_KEY_LABEL_CHARS = 100
MAX_FEED_KEYS = 20
_USE_UPDATE_INTERVAL = dt.timedelta(hours=1)


class FeedKeyService(AuditedService):
    """A key is shown once, when it is made; the database holds only its hash. It opens feeds and nothing else."""

    async def create(self, label: str, *, by: Actor) -> tuple[FeedKey, str]:
        """Make a key for whoever asks, and return it with its secret.

        `UsageError` for an empty label, `Conflict` where they have too many keys.
        """
        label = normalize_line(label)[:MAX_FEED_KEY_LABEL_CHARS].strip()
        if not label:
            raise UsageError("feed.key_without_label")
        token = secrets.token_urlsafe(32)
        wanted = FeedKey(person=by.name, token_hash=hash_token(token), label=label, created_at=self.clock.now())
        async with self.store.transaction():
            key = await self.store.feed_keys.add(wanted, limit=MAX_FEED_KEYS)
            if key is None:
                raise Conflict("feed.too_many_keys", limit=MAX_FEED_KEYS)
            await self.record(by, AuditAction.FEED_KEY_ADD, by.name, key=key.id, label=key.label)
        return key, token

    async def list(self, *, by: Actor) -> Sequence[FeedKey]:
        """The keys of whoever asks, newest first."""
        return await self.store.feed_keys.list_for(by.name)

    async def revoke(self, key_id: int, *, by: Actor) -> None:
        """End a key of whoever asks at once."""
        async with self.store.transaction():
            key = await self.store.feed_keys.remove(by.name, key_id)
            if key is None:
                raise NotFound("feed.key_not_found", key=key_id)
            await self.record(by, AuditAction.FEED_KEY_REVOKE, by.name, key=key_id, label=key.label)

    async def authenticate(self, token: str) -> Person:
        """Return whose key this is; `NotFound` for one that never was, was revoked, or whose person is shut out."""
        found = await self.store.feed_keys.find(hash_token(token))
        if found is None:
            raise NotFound("feed.key_unknown")
        key, person = found
        now = self.clock.now()
        if key.last_used_at is None or now - key.last_used_at >= _USE_UPDATE_INTERVAL:
            await self.store.feed_keys.touch(key.id or 0, at=now)
        return person
