"""What two readings of a document have in common, and what a revision says in sentences."""

import datetime as dt

import pytest

from monitor.db.tables.evidence import Revision
from monitor.db.tables.policies import Deadline
from monitor.document import DocumentFacts, StatedDeadline
from monitor.i18n.catalogue import render
from monitor.page import ChangeKind, EditOperation, PageEdit, PagePart
from monitor.policies.changes import (
    DeadlineChange,
    compare_deadlines,
    describe_changes,
    has_changed_figure,
    list_deadlines,
    update_deadlines,
)
from monitor.vocabulary import DeadlineKind, ItemChangeKind, Verdict

DEC_18, JAN_15, JUL_1 = dt.date(2026, 12, 18), dt.date(2027, 1, 15), dt.date(2027, 7, 1)
COMMENTS, IN_FORCE, COMPLY = DeadlineKind.COMMENTS_UNTIL, DeadlineKind.IN_FORCE, DeadlineKind.COMPLY_BY
AT = dt.datetime(2026, 11, 20, 4, tzinfo=dt.UTC)


def facts(*days: tuple[DeadlineKind, dt.date] | tuple[DeadlineKind, dt.date, str]) -> DocumentFacts:
    deadlines = [StatedDeadline(kind=day[0], day=day[1], subject=day[2] if len(day) > 2 else "") for day in days]
    return DocumentFacts(deadlines=deadlines)


def differences(before: DocumentFacts, after: DocumentFacts) -> list[tuple[dt.date | None, dt.date | None]]:
    return [(change.before, change.after) for change in compare_deadlines(before, after)]


def test_a_day_that_was_moved_is_one_change() -> None:
    before, after = facts((COMMENTS, DEC_18), (IN_FORCE, JUL_1)), facts((COMMENTS, JAN_15), (IN_FORCE, JUL_1))
    assert differences(before, after) == [(DEC_18, JAN_15)]
    assert differences(after, after) == []


def test_a_day_that_is_new_or_gone_is_a_change() -> None:
    assert differences(facts(), facts((COMPLY, JUL_1))) == [(None, JUL_1)]
    assert differences(facts((COMPLY, JUL_1)), facts()) == [(JUL_1, None)]


def test_a_subject_in_other_words_is_no_change() -> None:
    assert differences(facts((COMPLY, JUL_1, "新建项目")), facts((COMPLY, JUL_1, "新建的项目"))) == []
    assert differences(facts((COMPLY, JUL_1, "New sites")), facts((COMPLY, JUL_1, "new  sites."))) == []


def test_each_subject_is_compared_with_itself() -> None:
    before = facts((COMPLY, DEC_18, "新建项目"), (COMPLY, JAN_15, "存量项目"))
    after = facts((COMPLY, DEC_18, "新建项目"), (COMPLY, JUL_1, "存量项目"))
    (change,) = compare_deadlines(before, after)
    assert (change.subject, change.before, change.after) == ("存量项目", JAN_15, JUL_1)


def test_a_kind_is_never_compared_with_another_one() -> None:
    assert differences(facts((COMMENTS, DEC_18)), facts((IN_FORCE, DEC_18))) == [(DEC_18, None), (None, DEC_18)]


def test_a_day_of_the_whole_document_counts_once_and_a_contradicted_one_never() -> None:
    stated = DocumentFacts(
        in_force=JUL_1,
        comments_until=DEC_18,
        deadlines=[
            StatedDeadline(kind=IN_FORCE, day=JUL_1),
            StatedDeadline(kind=COMPLY, day=JAN_15, verdict=Verdict.CONTRADICTED),
        ],
        evidence={"comments_until": "于12月18日前反馈"},
    )
    assert [(given.kind, given.day, given.passage) for given in list_deadlines(stated)] == [
        (IN_FORCE, JUL_1, ""),
        (COMMENTS, DEC_18, "于12月18日前反馈"),
    ]


def row(day: dt.date, subject: str = "", dropped: bool = False) -> Deadline:
    return Deadline(
        id=7, item_id=1, kind=COMMENTS, subject=subject, day=day, seen_at=AT, dropped_at=AT if dropped else None
    )


def test_a_moved_day_keeps_its_row_and_a_dropped_one_that_comes_back_takes_its_own_up_again() -> None:
    stated = list_deadlines(facts((COMMENTS, JAN_15)))
    (moved,) = update_deadlines([row(DEC_18)], stated, item_id=1, at=AT)
    assert (moved.row.id, moved.row.day) == (7, JAN_15)
    (back,) = update_deadlines([row(DEC_18, dropped=True)], stated, item_id=1, at=AT)
    assert (back.row.id, back.row.day, back.row.dropped_at) == (7, JAN_15, None)
    assert update_deadlines([moved.row], stated, item_id=1, at=AT) == [], "nothing is left to store"


def test_a_day_that_is_stated_no_more_keeps_its_row() -> None:
    (gone,) = update_deadlines([row(DEC_18)], [], item_id=1, at=AT)
    assert (gone.row.dropped_at, gone.change and gone.change.after) == (AT, None)
    assert update_deadlines([gone.row], [], item_id=1, at=AT) == []


def revision(*edits: PageEdit, kind: ChangeKind = ChangeKind.CHANGED) -> Revision:
    return Revision(
        item_id=1, run_id="r", seen_at=AT, kind=kind, edits=[edit.model_dump(mode="json") for edit in edits]
    )


def edit(before: str, after: str, article: str | None = None) -> PageEdit:
    part = PagePart.ARTICLE if article else PagePart.PARAGRAPH
    return PageEdit(op=EditOperation.CHANGED, part=part, article=article, before=before, after=after)


FINE = edit("处一万元罚款。", "处三万元罚款。", "第四条")


def test_a_revision_is_said_in_sentences_moved_days_first() -> None:
    moved = DeadlineChange(COMMENTS, "", DEC_18, JAN_15)
    attachment = PageEdit(op=EditOperation.ADDED, part=PagePart.ATTACHMENT, after="附件2")
    said = describe_changes(revision(FINE, attachment), [moved])
    assert [change.kind for change in said] == [
        ItemChangeKind.DEADLINE_MOVED,
        ItemChangeKind.FIGURE_CHANGED,
        ItemChangeKind.ARTICLE_CHANGED,
        ItemChangeKind.ATTACHMENT_CHANGED,
    ]
    assert render(said[0].message, "en") == "Comments due: moved from 2026-12-18 to 2027-01-15."
    assert render(said[0].message, "zh") == "意见反馈截止：由 2026-12-18 改为 2027-01-15。"
    assert render(said[1].message, "zh") == "第四条：一万元 改为 三万元。"


def test_a_withdrawn_page_and_a_change_of_words_alone_have_a_sentence() -> None:
    assert [change.kind for change in describe_changes(revision(kind=ChangeKind.WITHDRAWN), [])] == [
        ItemChangeKind.WITHDRAWN
    ]
    (only,) = describe_changes(revision(edit("应当公示名称。", "应当公示企业名称。")), [])
    assert only.kind is ItemChangeKind.TEXT_CHANGED


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("于2026年12月18日前反馈。", "于2027年1月15日前反馈。"),
        ("1. 装机容量不少于200MW。", "2. 装机容量不少于200MW。"),
        ("依照第七条办理。", "依照第八条办理。"),
        ("应当公示名称。", "应当公示名称，共3项。"),
    ],
)
def test_days_numbers_of_lists_and_articles_and_new_figures_are_no_changed_figure(before: str, after: str) -> None:
    assert not has_changed_figure(revision(edit(before, after)).change)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("处一万元以上三万元以下罚款。", "处一万元以上五万元以下罚款。"),
        ("不低于装机容量的10%。", "不低于装机容量的15%。"),
        ("Firms have 60 days to reply.", "Firms have 90 days to reply."),
    ],
)
def test_a_threshold_that_was_changed_is_found(before: str, after: str) -> None:
    assert has_changed_figure(revision(edit(before, after)).change)
