"""Why something on the way of a research went by rule: each reason once, in the reader's words, without noise."""

from monitor.web.ui.research_view import format_reasons


def test_reasons_are_said_in_the_language_of_the_reader() -> None:
    reasons = ["first_summary: the answer cannot be used", "pages: 2 could not be read: Timeout"]
    assert format_reasons(reasons, "zh") == ["模型的回答无法使用", "未能读取的网页：2 个（网站未按时应答）"]
    assert format_reasons(reasons, "en") == [
        "the model's answer cannot be used",
        "pages that could not be read: 2 (no answer in time)",
    ]


def test_the_same_reason_is_said_once() -> None:
    reasons = [f"{node}: the answer cannot be used" for node in ("first_search", "reflection", "first_summary")]
    assert len(format_reasons(reasons, "zh")) == 1


def test_that_there_is_no_model_is_no_reason() -> None:
    assert format_reasons(["first_search: no model is set", "no model is set"], "zh") == []


def test_what_nobody_foresaw_is_shown_as_it_is() -> None:
    assert format_reasons(["the moon was {full} [9]"], "en") == ["the moon was {full} [9]"]
    assert format_reasons(["search: Timeout: no answer {x}"], "en") == [
        "the search service failed: no answer {x} (Timeout)"
    ]
    assert format_reasons(["reflection, put right: no tool that there is"], "zh") == ["模型选择了不存在的工具"]
