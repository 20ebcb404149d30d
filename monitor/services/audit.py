"""Who acts, whether they may, and the record of what was done.

An act is a method of a service that takes `by: Actor`: it checks the role, does the work and records it in one
transaction of the store (`store.transaction()`), so that nothing is done unrecorded and nothing recorded undone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic_core import to_jsonable_python

from monitor.clock import Clock
from monitor.db.database import Store
from monitor.db.sessions import sanitize_text
from monitor.db.tables.people import AuditEntry
from monitor.errors import Forbidden
from monitor.vocabulary import Role

ROLE_ORDER = (Role.READER, Role.EDITOR, Role.ADMIN)
"""Each role may do what those before it may."""


@dataclass(frozen=True, slots=True)
class Actor:
    """A person or a program that acts; `scopes` are those of a token, None where the role alone decides."""

    name: str
    role: Role
    scopes: frozenset[str] | None = None

    def has_role(self, role: Role) -> bool:
        """Whether the role is this one or a greater one."""
        return ROLE_ORDER.index(self.role) >= ROLE_ORDER.index(role)

    def require(self, role: Role) -> None:
        """Raise `Forbidden` for an actor of a lesser role."""
        if not self.has_role(role):
            raise Forbidden("actor.not_allowed", needed=role, role=self.role)


COMMAND_LINE = Actor("cli", Role.ADMIN)
ASSISTANT = Actor("assistant", Role.EDITOR)
RESERVED_NAMES = frozenset({COMMAND_LINE.name, ASSISTANT.name})
"""Names that no person and no token can have."""


class AuditAction(StrEnum):
    SOURCE_ADD = "source.add"
    SOURCE_EDIT = "source.edit"
    SOURCE_REMOVE = "source.remove"
    SOURCE_IMPORT = "source.import"
    SOURCE_ENABLE = "source.enable"
    SOURCE_DISABLE = "source.disable"
    SOURCE_TAG = "source.tag"
    SOURCE_UNTAG = "source.untag"
    SOURCE_RUN = "source.run"
    SOURCE_SAMPLE = "source.sample"
    RUN_CANCEL = "run.cancel"
    RUN_RETRY = "run.retry"
    ITEM_NOTE = "item.note"
    ITEM_UNNOTE = "item.unnote"
    ITEM_HIDE = "item.hide"
    ITEM_SHOW = "item.show"
    ITEM_FEEDBACK = "item.feedback"
    BRIEFING_SAVE = "briefing.save"
    BRIEFING_EDIT = "briefing.edit"
    BRIEFING_ARCHIVE = "briefing.archive"
    BRIEFING_UNARCHIVE = "briefing.unarchive"
    BRIEFING_SEND = "briefing.send"
    DELIVERY_RETRY = "delivery.retry"
    TARGET_ADD = "target.add"
    TARGET_EDIT = "target.edit"
    TARGET_REMOVE = "target.remove"
    TARGET_TEST = "target.test"
    TARGET_SEND = "target.send"
    SETTINGS_CHANGE = "settings.change"
    SETTINGS_FORGET = "settings.forget"
    PROMPT_CHANGE = "prompt.change"
    PROMPT_BACK = "prompt.back"
    STORAGE_PRUNE = "storage.prune"
    PERSON_ADD = "person.add"
    PERSON_PASSWORD = "person.password"  # noqa: S105 -- the name of an act
    PERSON_RESET = "person.reset"
    PERSON_ROLE = "person.role"
    PERSON_SHUT_OUT = "person.shut_out"
    PERSON_LET_IN = "person.let_in"
    SESSION_END = "session.end"
    TOKEN_ADD = "token.add"  # noqa: S105
    TOKEN_REVOKE = "token.revoke"  # noqa: S105
    RESEARCH_START = "research.start"
    RESEARCH_PLAN = "research.plan"
    RESEARCH_REMARK = "research.remark"
    RESEARCH_CANCEL = "research.cancel"
    RESEARCH_RESUME = "research.resume"


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """What to record of an act: `detail` is what was `before` and `after`, no secret."""

    action: AuditAction
    subject: str
    detail: Mapping[str, Any] = field(default_factory=dict)


class AuditService:
    """Records acts and finds them again. Entries are never changed, and not pruned."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def record(self, by: Actor, action: AuditAction, subject: str, **detail: Any) -> None:
        """Record an act, within the transaction that does it; `detail` is what was `before` and `after`, no secret."""
        entry = AuditEntry(
            at=self._clock.now(), person=by.name, action=action.value, subject=subject, detail=_to_json_value(detail)
        )
        await self._store.audit.add(entry)

    async def list_entries(
        self,
        *,
        person: str | None = None,
        action: str | None = None,
        subject: str | None = None,
        before_id: int | None = None,
        limit: int = 50,
    ) -> list[AuditEntry]:
        """Newest first: by a person, of an action (`source`: every action on sources), with a word in the subject."""
        return await self._store.audit.list_entries(
            person=person, action=action, subject=subject, before_id=before_id, limit=limit
        )

    async def list_people(self) -> list[str]:
        return await self._store.audit.list_people()

    async def list_actions(self) -> list[str]:
        return await self._store.audit.list_actions()


def _to_json_value(value: Any) -> Any:
    """Return the value as JSON has it, without what a database refuses."""
    if isinstance(value, str):
        return sanitize_text(value)
    if isinstance(value, dict):
        return {sanitize_text(str(key)): _to_json_value(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_to_json_value(entry) for entry in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return _to_json_value(to_jsonable_python(value))
