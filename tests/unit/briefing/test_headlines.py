"""Why an item matters, as its facts say it."""

import datetime as dt

from monitor.briefing.headlines import HeadlineDeadline, explain_importance
from monitor.briefing.item import get_briefing_messages
from monitor.document import DocumentFacts, FigureChange, Relation
from monitor.i18n.message import Message
from monitor.vocabulary import DeadlineKind, RelationType, Verdict

TODAY = dt.date(2026, 11, 21)
ENGLISH = get_briefing_messages("en")


def explain(
    facts: DocumentFacts | None, *days: HeadlineDeadline, reason: Message | None = None
) -> tuple[str, bool] | None:
    why = explain_importance(facts, days, reason, ENGLISH, today=TODAY)
    return (why.text, why.is_assessment) if why is not None else None


def test_a_moved_deadline_comes_first_then_the_nearest_day_of_each_kind_then_what_is_replaced() -> None:
    facts = DocumentFacts(relations=[Relation(type=RelationType.REPLACES, title="《Old rule》")], bound=["banks"])
    line = explain(
        facts,
        HeadlineDeadline(DeadlineKind.IN_FORCE, dt.date(2026, 12, 1)),
        HeadlineDeadline(DeadlineKind.COMMENTS_UNTIL, dt.date(2027, 1, 15), dt.date(2026, 12, 18)),
        HeadlineDeadline(DeadlineKind.IN_FORCE, dt.date(2027, 6, 1)),
    )
    assert line == (
        "Comments due moved from 2026-12-18 to 2027-01-15; in force from 2026-12-01; replaces “Old rule”",
        False,
    )


def test_a_day_that_is_over_is_not_told_but_for_what_is_in_force() -> None:
    over = HeadlineDeadline(DeadlineKind.APPLY_BY, dt.date(2026, 11, 1))
    assert explain(None, over) is None
    in_force = HeadlineDeadline(DeadlineKind.IN_FORCE, dt.date(2026, 11, 1))
    assert explain(None, over, in_force) == ("In force since 2026-11-01", False)


def test_a_figure_that_changed_and_who_is_bound_are_told() -> None:
    figures = [FigureChange(subject="cap", old="5%", new="3%"), FigureChange(subject="fee", new="1%")]
    assert explain(DocumentFacts(figures=figures, bound=["banks", "insurers"])) == (
        "Cap: 5% → 3%; binds banks, insurers",
        False,
    )


def test_without_facts_the_reason_of_the_rank_is_an_assessment() -> None:
    reason = Message.other("National law")
    assert explain(DocumentFacts(), reason=reason) == ("National law", True)
    assert explain(None) is None


def test_a_fact_that_nothing_could_verify_makes_the_line_unchecked() -> None:
    day = HeadlineDeadline(DeadlineKind.COMPLY_BY, dt.date(2027, 1, 1), verdict=Verdict.UNCHECKED)
    why = explain_importance(None, [day], None, ENGLISH, today=TODAY)
    assert why is not None
    assert why.verdict is Verdict.UNCHECKED
