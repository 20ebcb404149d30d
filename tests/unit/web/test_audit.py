"""What the audit page makes of an entry: words for what was done, what was before and after."""

import ast
import re
from pathlib import Path

import monitor
from monitor.web.api.sources import BulkAction
from monitor.web.ui.audit import AuditChange, list_changes
from monitor.web.ui.language import get_label

HOUSE = Path(monitor.__file__).parent
KINDS = "briefing|delivery|item|person|prompt|run|session|settings|source|storage|target|token"


def recorded() -> set[str]:
    """Every action that any module records: the words of that shape in those that do."""
    found = set()
    for file in HOUSE.rglob("*.py"):
        text = file.read_text("utf-8")
        if "audit.record(" in text:
            constants = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
            found |= {
                constant
                for constant in constants
                if isinstance(constant, str) and re.fullmatch(rf"({KINDS})\.[a-z_]+", constant)
            }
    return found


def test_every_action_is_told_in_both_languages() -> None:
    actions = recorded() | {f"source.{action}" for action in BulkAction}
    assert len(actions) > 10
    untold = [one for one in actions for language in ("zh", "en") if get_label(language, "action", one) == one]
    assert not untold, "monitor/web/words.py has no words for these actions of the audit"


def test_only_what_differs_is_shown() -> None:
    detail = {
        "before": {"max_items": 20, "tags": ["a"], "rules": "x", "gone": None},
        "after": {"max_items": 30, "tags": ["a"], "rules": "x", "new": True},
        "reason": "asked for",
    }
    assert list_changes(detail) == [
        AuditChange("max_items", "20", "30"),
        AuditChange("gone", "null", None),
        AuditChange("new", None, "true"),
        AuditChange("reason", None, "asked for"),
    ]


def test_what_was_added_whole_and_what_has_no_parts() -> None:
    assert list_changes({"after": {"role": "editor"}}) == [AuditChange("role", None, "editor")]
    assert list_changes({"before": "old text", "after": "new text"}) == [AuditChange("", "old text", "new text")]
    assert list_changes({"before": ["a"], "after": None}) == [AuditChange("", '["a"]', None)]
    assert list_changes({}) == []
