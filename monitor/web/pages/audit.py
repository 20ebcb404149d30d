"""The audit: who changed what."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response

from monitor.bootstrap import App
from monitor.web.cursors import decode, encode
from monitor.web.gate import Admin
from monitor.web.rendering import Look

_ROWS = 50
Asked = Annotated[str, Query(max_length=200)]


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that was changed: None where it was not there before, or is not any more."""

    name: str
    before: str | None
    after: str | None


def router(app: App, look: Look) -> APIRouter:
    routes = APIRouter()

    @routes.get("/audit")
    async def audit(
        request: Request,
        visitor: Admin,
        person: Asked = "",
        action: Asked = "",
        subject: Asked = "",
        cursor: str | None = None,
    ) -> Response:
        """Newest first, with what was before and after."""
        (before_id,) = decode(cursor, int) or (None,)
        found = await app.audit.entries(
            person=person, action=action, subject=subject, before_id=before_id, limit=_ROWS + 1
        )
        entries = found[:_ROWS]
        asked = {"person": person, "action": action, "subject": subject}
        following = None
        if len(found) > _ROWS:
            words = {name: value for name, value in asked.items() if value}
            following = f"/audit?{urlencode(words | {'cursor': encode(entries[-1].id)})}"
        return look.page(
            request,
            visitor,
            "audit/list.html",
            section="audit",
            asked=asked,
            following=following,
            entries=[(entry, changes(entry.detail)) for entry in entries],
            people=await app.audit.people(),
            actions=await app.audit.actions(),
        )

    return routes


def changes(detail: Mapping[str, Any]) -> list[Change]:
    """What differs between `before` and `after`, and whatever else is known of a change."""
    before, after = _named(detail.get("before")), _named(detail.get("after"))
    names = [*before, *(name for name in after if name not in before)]
    differing = [
        Change(name, _shown(before, name), _shown(after, name))
        for name in names
        if name not in before or name not in after or before[name] != after[name]
    ]
    return differing + [
        Change(name, None, _plain(value)) for name, value in detail.items() if name not in ("before", "after")
    ]


def _named(value: Any) -> dict[str, Any]:
    """The parts of one side; a side that has no parts is one."""
    if isinstance(value, Mapping):
        return dict(value)
    return {} if value is None else {"": value}


def _shown(side: Mapping[str, Any], name: str) -> str | None:
    return _plain(side[name]) if name in side else None


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
