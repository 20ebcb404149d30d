"""Who acts, whether they may, and the record of what was done.

An act is a method of a service that takes `by: Actor`: it checks the role, does the work and records it in one
transaction of the store (`store.transaction()`), so that nothing is done unrecorded and nothing recorded undone.
"""

import datetime as dt
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from pydantic_core import to_jsonable_python

from monitor.clock import Clock
from monitor.db.database import Store
from monitor.db.sessions import sanitize_text
from monitor.db.tables.people import AuditEntry
from monitor.db.visibility import TeamIds, see_as
from monitor.errors import Forbidden, UsageError
from monitor.evidence.chain import hash_row
from monitor.logs import send_audit_entry
from monitor.services.schedules import get_midnight
from monitor.vocabulary import Role, Visibility

ROLE_ORDER = (Role.READER, Role.EDITOR, Role.ADMIN)  # each role may do what those before it may


@dataclass(frozen=True, slots=True)
class Actor:
    """A person or a program that acts, and the `address` that they ask from.

    `scopes` are those of a token, None where the role alone decides; `on_behalf_of` is the person who made the token.
    `teams` are those whose subjects they see beside those of all, None where they see everything.
    """

    name: str
    role: Role
    scopes: frozenset[str] | None = None
    address: str = ""
    on_behalf_of: str = ""
    teams: TeamIds | None = None

    @property
    def owner(self) -> str:
        """The name to which belongs what is made: that of the person, where a program acts for one."""
        return self.on_behalf_of or self.name

    def may_read(self, visibility: Visibility, owner: str) -> bool:
        """Whether something of that owner is open to this actor; the command line reads the database anyway."""
        return visibility is Visibility.OPEN or owner == self.owner or self.name == COMMAND_LINE.name

    def has_role(self, role: Role) -> bool:
        return ROLE_ORDER.index(self.role) >= ROLE_ORDER.index(role)

    def require(self, role: Role) -> None:
        if not self.has_role(role):
            raise Forbidden("actor.not_allowed", needed=role, role=self.role)


COMMAND_LINE = Actor("cli", Role.ADMIN)
ASSISTANT = Actor("assistant", Role.EDITOR)
SERVICE = Actor("service", Role.ADMIN)  # what the program does by itself, and records
ANONYMOUS_NAME = "anonymous"  # who asks for a session and does not get one
RESERVED_NAMES = frozenset({COMMAND_LINE.name, ASSISTANT.name, SERVICE.name, ANONYMOUS_NAME})
"""Names that no person and no token can have."""
NAME_PATTERN = r"^\w[\w.@+-]{0,59}$"  # what a person or a token may be called


MAX_ADDRESS_CHARS = 64
_EXPORT_BATCH = 200
_READ_INTERVAL = dt.timedelta(hours=1)
_MAX_REMEMBERED_READS = 10_000
_NEVER = dt.datetime.min.replace(tzinfo=dt.UTC)


class AuditAction(StrEnum):
    SOURCE_ADD = "source.add"
    SOURCE_EDIT = "source.edit"
    SOURCE_REMOVE = "source.remove"
    SOURCE_IMPORT = "source.import"
    SOURCE_ENABLE = "source.enable"
    SOURCE_DISABLE = "source.disable"
    SOURCE_TAG = "source.tag"
    SOURCE_UNTAG = "source.untag"
    SOURCE_TEACH = "source.teach"
    SOURCE_UNTEACH = "source.unteach"
    SOURCE_RUN = "source.run"
    SOURCE_SAMPLE = "source.sample"
    RUN_CANCEL = "run.cancel"
    RUN_RETRY = "run.retry"
    ITEM_NOTE = "item.note"
    ITEM_UNNOTE = "item.unnote"
    ITEM_HIDE = "item.hide"
    ITEM_SHOW = "item.show"
    ITEM_FEEDBACK = "item.feedback"
    POLICY_ADD = "policy.add"
    POLICY_JOIN = "policy.join"
    POLICY_SEPARATE = "policy.separate"
    POLICY_RENAME = "policy.rename"
    POLICY_NOTE = "policy.note"
    POLICY_REFRESH = "policy.refresh"
    TOPIC_ADD = "topic.add"
    TOPIC_EDIT = "topic.edit"
    TOPIC_REMOVE = "topic.remove"
    TOPIC_FOLLOW = "topic.follow"
    TOPIC_UNFOLLOW = "topic.unfollow"
    TOPIC_FEEDBACK = "topic.feedback"
    BRIEFING_SAVE = "briefing.save"
    BRIEFING_EDIT = "briefing.edit"
    BRIEFING_ARCHIVE = "briefing.archive"
    BRIEFING_UNARCHIVE = "briefing.unarchive"
    BRIEFING_SEND = "briefing.send"
    BRIEFING_SHARE = "briefing.share"
    BRIEFING_UNSHARE = "briefing.unshare"
    CLIENT_PROFILE_ADD = "client_profile.add"
    CLIENT_PROFILE_EDIT = "client_profile.edit"
    CLIENT_PROFILE_REMOVE = "client_profile.remove"
    SUBSCRIPTION_ADD = "subscription.add"
    SUBSCRIPTION_CONFIRM = "subscription.confirm"
    SUBSCRIPTION_END = "subscription.end"
    DELIVERY_RETRY = "delivery.retry"
    TARGET_ADD = "target.add"
    TARGET_EDIT = "target.edit"
    TARGET_REMOVE = "target.remove"
    TARGET_TEST = "target.test"
    TARGET_SEND = "target.send"
    WEBHOOK_ADD = "webhook.add"
    WEBHOOK_EDIT = "webhook.edit"
    WEBHOOK_REMOVE = "webhook.remove"
    WEBHOOK_ENABLE = "webhook.enable"
    WEBHOOK_DISABLE = "webhook.disable"
    WEBHOOK_SECRET = "webhook.secret"  # noqa: S105
    WEBHOOK_TEST = "webhook.test"
    WEBHOOK_REPLAY = "webhook.replay"
    EXPORT_ADD = "export.add"
    EXPORT_EDIT = "export.edit"
    EXPORT_REMOVE = "export.remove"
    EXPORT_RUN = "export.run"
    EXPORT_WRITE = "export.write"
    SETTINGS_CHANGE = "settings.change"
    SETTINGS_FORGET = "settings.forget"
    PROMPT_CHANGE = "prompt.change"
    PROMPT_BACK = "prompt.back"
    STORAGE_PRUNE = "storage.prune"
    STORAGE_BACKUP = "storage.backup"
    EVIDENCE_EXPORT = "evidence.export"
    EVIDENCE_REPAIR = "evidence.repair"
    PERSON_ADD = "person.add"
    PERSON_PASSWORD = "person.password"  # noqa: S105 -- the name of an act
    PERSON_RESET = "person.reset"
    PERSON_ROLE = "person.role"
    PERSON_SHUT_OUT = "person.shut_out"
    PERSON_LET_IN = "person.let_in"
    PERSON_ERASE = "person.erase"
    PASSKEY_ADD = "passkey.add"
    PASSKEY_RENAME = "passkey.rename"
    PASSKEY_REMOVE = "passkey.remove"
    SECOND_FACTOR_ADD = "second_factor.add"
    SECOND_FACTOR_CODES = "second_factor.codes"
    SECOND_FACTOR_REMOVE = "second_factor.remove"
    PERSON_LINK = "person.link"
    PERSON_UNLINK = "person.unlink"
    SESSION_END = "session.end"
    SIGN_IN = "session.sign_in"
    SIGN_IN_FAILED = "session.sign_in_failed"
    SIGN_IN_HELD = "session.sign_in_held"
    SIGN_OUT = "session.sign_out"
    TOKEN_ADD = "token.add"  # noqa: S105
    TOKEN_REVOKE = "token.revoke"  # noqa: S105
    TOKEN_REFUSED = "token.refused"  # noqa: S105
    TEAM_ADD = "team.add"
    TEAM_RENAME = "team.rename"
    TEAM_REMOVE = "team.remove"
    TEAM_MEMBERS = "team.members"
    TEAM_ASSIGN = "team.assign"
    FEED_KEY_ADD = "feed_key.add"
    FEED_KEY_REVOKE = "feed_key.revoke"
    EVALUATION_START = "evaluation.start"
    EVALUATION_RESUME = "evaluation.resume"
    EVALUATION_STOP = "evaluation.stop"
    EVALUATION_DELETE = "evaluation.delete"
    RESEARCH_START = "research.start"
    RESEARCH_ASK = "research.ask"
    RESEARCH_PLAN = "research.plan"
    RESEARCH_REMARK = "research.remark"
    RESEARCH_CANCEL = "research.cancel"
    RESEARCH_RESUME = "research.resume"
    RESEARCH_EDIT = "research.edit"
    RESEARCH_SHARE = "research.share"
    RESEARCH_SCHEDULE = "research.schedule"
    RESEARCH_DELETE = "research.delete"
    RESEARCH_READ = "research.read"
    RESEARCH_EXPORT = "research.export"
    EVIDENCE_READ = "evidence.read"
    ITEM_EXPORT = "item.export"
    BRIEFING_EXPORT = "briefing.export"
    SOURCE_EXPORT = "source.export"
    AUDIT_EXPORT = "audit.export"


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """What to record of an act: `detail` is what was `before` and `after`, no secret."""

    action: AuditAction
    subject: str
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(kw_only=True)
class AuditedService:
    """A service whose acts are recorded; an entry is never changed, and kept for `work.audit_retention_days`."""

    store: Store
    clock: Clock

    @asynccontextmanager
    async def change_for_everybody(self) -> AsyncIterator[None]:
        """A transaction that sees everything: what is derived in it holds for everybody, whoever acts."""
        with see_as(None):
            async with self.store.transaction():
                yield

    async def record(self, by: Actor, action: AuditAction, subject: str, **detail: Any) -> None:
        entry = AuditEntry(
            at=self.clock.now(),
            person=by.name,
            address=sanitize_text(by.address)[:MAX_ADDRESS_CHARS],
            action=action.value,
            subject=sanitize_text(subject),
            detail=_to_json_value(detail),
        )
        entry.hash = hash_row(entry)
        await self.store.audit.add(entry)
        values = entry.model_dump(exclude={"id", "salts", "erased"}) | {"at": entry.at.isoformat()}
        self.store.sessions.call_after_commit(partial(send_audit_entry, values))


@dataclass(kw_only=True)
class AuditService(AuditedService):
    timezone: str

    def __post_init__(self) -> None:
        self._last_reads: dict[tuple[str, ...], dt.datetime] = {}

    async def list_entries(
        self,
        *,
        person: str | None = None,
        action: str | None = None,
        subject: str | None = None,
        address: str | None = None,
        before_id: int | None = None,
        limit: int = 50,
    ) -> list[AuditEntry]:
        """Newest first: by a person, of an action (`source`: every action on sources), with a word in the subject."""
        return await self.store.audit.list_entries(
            person=person, action=action, subject=subject, address=address, before_id=before_id, limit=limit
        )

    async def list_people(self) -> list[str]:
        return await self.store.audit.list_people()

    async def list_actions(self) -> list[str]:
        return await self.store.audit.list_actions()

    async def export(
        self, *, since: dt.date | None = None, until: dt.date | None = None, by: Actor
    ) -> AsyncIterator[Sequence[AuditEntry]]:
        """Give the entries of these days, oldest first, many at a time; that they were taken is recorded before."""
        by.require(Role.ADMIN)
        zone = ZoneInfo(self.timezone)
        try:
            begin = None if since is None else get_midnight(since, zone)
            end = None if until is None else get_midnight(until + dt.timedelta(days=1), zone)
        except OverflowError:
            raise UsageError("audit.no_such_days", since=since, until=until) from None
        await self.record(by, AuditAction.AUDIT_EXPORT, "audit", since=since, until=until)
        return self._list_all(begin, end)

    async def _list_all(
        self, since: dt.datetime | None, until: dt.datetime | None
    ) -> AsyncIterator[Sequence[AuditEntry]]:
        last_id = 0
        while entries := await self.store.audit.list_after(last_id, since=since, until=until, limit=_EXPORT_BATCH):
            yield entries
            last_id = entries[-1].id or 0

    async def record_read(self, by: Actor, action: AuditAction, subject: str) -> None:
        """Record what somebody read; once an hour, however often they ask."""
        now, key = self.clock.now(), (by.name, by.address, action.value, subject)
        if now - _READ_INTERVAL < self._last_reads.get(key, _NEVER) <= now:
            return
        await self.record(by, action, subject)
        if len(self._last_reads) >= _MAX_REMEMBERED_READS:
            self._last_reads.clear()
        self._last_reads[key] = now


def _to_json_value(value: Any) -> Any:
    if isinstance(value, str):
        return sanitize_text(value)
    if isinstance(value, dict):
        return {sanitize_text(str(key)): _to_json_value(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_to_json_value(entry) for entry in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return _to_json_value(to_jsonable_python(value))


def parse_role(word: str) -> Role:
    if word not in set(Role):
        raise UsageError("person.unknown_role", role=word, known=list(Role))
    return Role(word)


def hash_token(token: str) -> str:
    # Tokens are long and random, so that one round is enough.
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
