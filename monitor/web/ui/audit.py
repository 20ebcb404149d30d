"""The page of the audit: who changed what, and the values before and after."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from monitor.bootstrap import App
from monitor.web.api.cursors import build_next_url, cut_page, decode_id
from monitor.web.auth import Admin
from monitor.web.ui.rendering import TemplateRenderer

_PAGE_SIZE = 50
FilterText = Annotated[str, Query(max_length=200)]


@dataclass(frozen=True, slots=True)
class AuditChange:
    """One thing that was changed: None where it was not there before, or is not any more."""

    name: str
    before: str | None
    after: str | None


def router(app: App, renderer: TemplateRenderer) -> APIRouter:
    routes = APIRouter()

    @routes.get("/audit")
    async def audit(
        request: Request,
        principal: Admin,
        person: FilterText = "",
        action: FilterText = "",
        subject: FilterText = "",
        cursor: str | None = None,
    ) -> Response:
        """Newest first, with what was before and after."""
        found = await app.audit.list_entries(
            person=person, action=action, subject=subject, before_id=decode_id(cursor), limit=_PAGE_SIZE + 1
        )
        entries, following = cut_page(found, _PAGE_SIZE, lambda entry: entry.id)
        asked = {"person": person, "action": action, "subject": subject}
        return renderer.render_page(
            request,
            principal,
            "audit/list.html",
            section="audit",
            asked=asked,
            following=build_next_url("/audit", asked, following),
            entries=[(entry, list_changes(entry.detail)) for entry in entries],
            people=await app.audit.list_people(),
            actions=await app.audit.list_actions(),
        )

    return routes


def list_changes(detail: Mapping[str, Any]) -> list[AuditChange]:
    """What differs between `before` and `after`, and whatever else is known of a change."""
    before, after = _convert_to_dict(detail.get("before")), _convert_to_dict(detail.get("after"))
    names = [*before, *(name for name in after if name not in before)]
    differing = [
        AuditChange(name, _format_field(before, name), _format_field(after, name))
        for name in names
        if name not in before or name not in after or before[name] != after[name]
    ]
    return differing + [
        AuditChange(name, None, _format_value(value))
        for name, value in detail.items()
        if name not in ("before", "after")
    ]


def _convert_to_dict(value: Any) -> dict[str, Any]:
    """The parts of one side; a side that has no parts is one."""
    if isinstance(value, Mapping):
        return dict(value)
    return {} if value is None else {"": value}


def _format_field(side: Mapping[str, Any], name: str) -> str | None:
    return _format_value(side[name]) if name in side else None


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
