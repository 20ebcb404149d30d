"""What the audit page makes of an entry: words for what was done, what was before and after."""

import ast
import re
from pathlib import Path

import monitor
from monitor.web.pages.audit import Change, changes
from monitor.web.source_work import BulkAction
from monitor.web.words import word

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
    untold = [one for one in actions for language in ("zh", "en") if word(language, "action", one) == one]
    assert not untold, "monitor/web/words.py has no words for these actions of the audit"


def test_only_what_differs_is_shown() -> None:
    detail = {
        "before": {"max_items": 20, "tags": ["a"], "rules": "x", "gone": None},
        "after": {"max_items": 30, "tags": ["a"], "rules": "x", "new": True},
        "reason": "asked for",
    }
    assert changes(detail) == [
        Change("max_items", "20", "30"),
        Change("gone", "null", None),
        Change("new", None, "true"),
        Change("reason", None, "asked for"),
    ]


def test_what_was_added_whole_and_what_has_no_parts() -> None:
    assert changes({"after": {"role": "editor"}}) == [Change("role", None, "editor")]
    assert changes({"before": "old text", "after": "new text"}) == [Change("", "old text", "new text")]
    assert changes({"before": ["a"], "after": None}) == [Change("", '["a"]', None)]
    assert changes({}) == []
