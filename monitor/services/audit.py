"""The use case of looking back: who changed what, and when."""

from typing import Any

from pydantic_core import to_jsonable_python

from monitor.clock import Clock
from monitor.db.database import Store
from monitor.db.sessions import sanitize_text
from monitor.db.tables.people import AuditEntry

COMMAND_LINE_ACTOR = "cli"
"""The person under whose name changes by command are kept."""


class AuditService:
    """Keeps who changed what, and finds it again. Entries are never changed, and not pruned."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def record(self, person: str, action: str, subject: str, **detail: Any) -> None:
        """Take down a change: `action` as `source.edit`, `detail` what was `before` and `after`. Never a secret."""
        entry = AuditEntry(
            at=self._clock.now(), person=person, action=action, subject=subject, detail=_to_json_value(detail)
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
        """All kinds of changes that there were."""
        return await self._store.audit.list_actions()


def _to_json_value(value: Any) -> Any:
    """As JSON has it, without what a database refuses."""
    if isinstance(value, str):
        return sanitize_text(value)
    if isinstance(value, dict):
        return {sanitize_text(str(key)): _to_json_value(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_to_json_value(one) for one in value]
    return (
        value if value is None or isinstance(value, bool | int | float) else _to_json_value(to_jsonable_python(value))
    )
