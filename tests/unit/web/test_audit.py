"""What the audit page makes of an entry: words for what was done, what was before and after."""

import pytest

from monitor.i18n.catalogue import get_words
from monitor.services.audit import AuditAction
from monitor.web.ui.people import AuditChange, list_changes


@pytest.mark.parametrize("action", AuditAction)
@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_action_has_a_word(language: str, action: AuditAction) -> None:
    assert action in get_words(language, "action")


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
        AuditChange("reason", None, "asked for", is_fact=True),
    ]


def test_what_was_added_whole_and_what_has_no_parts() -> None:
    assert list_changes({"after": {"role": "editor"}}) == [AuditChange("role", None, "editor")]
    assert list_changes({"before": "old text", "after": "new text"}) == [AuditChange("", "old text", "new text")]
    assert list_changes({"before": ["a"], "after": None}) == [AuditChange("", '["a"]', None)]
    assert list_changes({}) == []
