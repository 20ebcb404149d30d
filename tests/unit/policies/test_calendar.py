"""The calendar has each deadline once, and knows which reminders are due."""

import datetime as dt
from typing import Any

import pytest
from icalendar import Calendar

from monitor.db.queries.deadlines import DeadlineMoveView, DeadlineRow
from monitor.policies.calendar import find_due_reminders, find_postponements, merge_deadlines
from monitor.services.deadlines import build_calendar
from monitor.vocabulary import DeadlineKind, PolicyStage, Verdict

DAY = dt.date(2026, 12, 18)
SEEN = dt.datetime(2026, 11, 1, 4, tzinfo=dt.UTC)
FINAL, DRAFT, CONSULTATION = PolicyStage.FINAL, PolicyStage.DRAFT, PolicyStage.CONSULTATION


def row(deadline_id: int, item_id: int, day: dt.date = DAY, **more: Any) -> DeadlineRow:
    values = {
        "kind": DeadlineKind.IN_FORCE,
        "subject": "",
        "passage": "自该日起施行",
        "verdict": Verdict.SUPPORTED,
        "seen_at": SEEN,
        "title": f"文件{item_id}",
        "url": f"https://a.example/{item_id}",
        "source": "示例部",
        "published_on": dt.date(2026, 11, item_id),
        **more,
    }
    return DeadlineRow(id=deadline_id, item_id=item_id, day=day, **values)


def test_what_several_documents_of_a_policy_state_is_one_entry_of_the_one_that_sets_it() -> None:
    reading = row(1, 1, policy_id=5, stage=PolicyStage.INTERPRETATION)
    rule = row(2, 2, policy_id=5, stage=FINAL)
    (entry,) = merge_deadlines([reading, rule])
    assert (entry.id, entry.item_id, entry.items) == (1, 2, [2, 1])


def test_what_documents_of_no_common_policy_state_stays_apart() -> None:
    assert len(merge_deadlines([row(1, 1), row(2, 2), row(3, 3, policy_id=5)])) == 3


def test_the_subjects_of_one_document_stay_apart() -> None:
    rows = [
        row(1, 1, subject="新建项目", policy_id=5),
        row(2, 1, subject="存量项目", policy_id=5),
        row(3, 2, policy_id=5),
    ]
    assert [(entry.subject, entry.items) for entry in merge_deadlines(rows)] == [
        ("新建项目", [1, 2]),
        ("存量项目", [1]),
    ]


def test_the_final_document_takes_the_place_of_what_a_draft_proposed() -> None:
    later = dt.date(2027, 3, 1)
    rows = [row(1, 1, policy_id=5, stage=DRAFT), row(2, 2, later, policy_id=5, stage=FINAL)]
    assert [entry.day for entry in merge_deadlines(rows)] == [later]


def test_a_notice_of_extension_takes_the_place_of_the_day_that_it_moves() -> None:
    kind, later = DeadlineKind.COMMENTS_UNTIL, dt.date(2027, 1, 15)
    asked = row(1, 1, kind=kind, policy_id=5, stage=CONSULTATION)
    extended = row(2, 2, later, kind=kind, policy_id=5, stage=CONSULTATION, title="关于延长征求意见期限的公告")
    again = row(2, 2, later, kind=kind, policy_id=5, stage=CONSULTATION, title="再次公开征求意见")
    (entry,) = merge_deadlines([asked, extended])
    assert (entry.day, entry.moved_from, entry.items) == (later, DAY, [2, 1])
    assert [entry.day for entry in merge_deadlines([asked, again])] == [DAY, later]


def test_a_postponement_is_the_document_that_extends_and_what_it_extends() -> None:
    kind, later = DeadlineKind.COMMENTS_UNTIL, dt.date(2027, 1, 15)
    asked = row(1, 1, kind=kind, policy_id=5, stage=CONSULTATION)
    extended = row(2, 2, later, kind=kind, policy_id=5, stage=CONSULTATION, passage="The period is extended.")
    elsewhere = row(3, 3, later, kind=kind, policy_id=6, stage=CONSULTATION, passage="The period is extended.")
    rows = [asked, extended, elsewhere]
    assert find_postponements(rows, {2, 3}) == [(asked, extended)]
    assert find_postponements(rows, {1}) == []


def test_a_day_by_which_its_document_is_repealed_is_void() -> None:
    before, later = dt.date(2026, 12, 1), dt.date(2027, 1, 15)
    of_rule = {"policy_id": 5, "stage": FINAL, "repealed_on": DAY}
    rule = [row(1, 1, before, **of_rule), row(2, 1, **of_rule), row(3, 1, later, **of_rule)]
    repeated = [row(4, 2, later, policy_id=5, stage=PolicyStage.INTERPRETATION)]
    successor = [row(5, 3, policy_id=5, stage=FINAL), row(6, 4, dt.date(2027, 2, 1), policy_id=5, stage=FINAL)]
    assert [entry.id for entry in merge_deadlines([*rule, *repeated, *successor])] == [1, 5, 6]


def test_what_repeats_a_day_that_its_page_has_moved_since_does_not_bring_that_day_back() -> None:
    later = dt.date(2027, 1, 15)
    move = DeadlineMoveView(before=DAY, after=later, passage="", run_id="r", seen_at=SEEN + dt.timedelta(days=9))
    moved = row(1, 1, later, policy_id=5, stage=CONSULTATION, moves=[move])
    news, new = row(2, 2, policy_id=5), row(3, 3, policy_id=5, seen_at=move.seen_at + dt.timedelta(days=1))
    assert [(entry.day, entry.items) for entry in merge_deadlines([moved, news])] == [(later, [1, 2])]
    assert len(merge_deadlines([moved, new])) == 2, "it says so after the move"


def test_no_two_deadlines_take_the_place_of_each_other() -> None:
    later = dt.date(2027, 1, 15)
    forward = DeadlineMoveView(before=later, after=DAY, passage="", run_id="r", seen_at=SEEN + dt.timedelta(days=9))
    asked = row(1, 1, DAY, policy_id=5, stage=CONSULTATION, moves=[forward])
    extended = row(2, 2, later, policy_id=5, stage=CONSULTATION, title="关于延长期限的公告")
    assert [entry.day for entry in merge_deadlines([asked, extended])] == [later]


def test_the_rules_of_a_province_do_not_take_the_place_of_the_national_day() -> None:
    local = row(2, 2, dt.date(2027, 3, 1), policy_id=5, stage=PolicyStage.IMPLEMENTATION)
    assert len(merge_deadlines([row(1, 1, policy_id=5, stage=FINAL), local])) == 2


def reminders(today: dt.date, *rows: DeadlineRow) -> list[int]:
    due = find_due_reminders(merge_deadlines(rows), today=today, zone=dt.UTC)
    return [reminder.days_left for reminder in due]


def test_reminders_are_due_seven_days_and_one_day_before() -> None:
    counted = {days: reminders(DAY - dt.timedelta(days=days), row(1, 1)) for days in range(-1, 10)}
    assert counted == {-1: [], 0: [0], **{days: [days] for days in range(1, 8)}, 8: [], 9: []}
    keys = {
        find_due_reminders(merge_deadlines([row(1, 1)]), today=DAY - dt.timedelta(days=days), zone=dt.UTC)[0].key
        for days in range(8)
    }
    assert len(keys) == 2, "each of both once, however often it is found"


def test_a_day_that_was_seen_after_the_day_of_a_reminder_brings_none() -> None:
    late = row(1, 1, seen_at=dt.datetime(2026, 12, 14, tzinfo=dt.UTC))
    assert reminders(dt.date(2026, 12, 14), late) == []
    assert reminders(dt.date(2026, 12, 17), late) == [1]
    move = DeadlineMoveView(before=dt.date(2027, 2, 1), after=DAY, passage="", run_id="r", seen_at=late.seen_at)
    assert reminders(dt.date(2026, 12, 15), row(1, 1, moves=[move])) == []


def test_a_calendar_has_whole_days_whose_events_keep_their_uid_when_they_move() -> None:
    before = Calendar.from_ical(build_calendar(merge_deadlines([row(1, 1)]), language="zh", name="期限"))
    seen_at = dt.datetime(2026, 12, 1, tzinfo=dt.UTC)
    later = dt.date(2027, 1, 15)
    move = DeadlineMoveView(before=DAY, after=later, passage="", run_id="r", seen_at=seen_at)
    body = build_calendar(merge_deadlines([row(1, 1, later, moves=[move])]), language="zh", name="期限")
    (event,), (moved,) = before.walk("VEVENT"), Calendar.from_ical(body).walk("VEVENT")
    assert event["UID"] == moved["UID"]
    assert (event.decoded("DTSTART"), moved.decoded("DTSTART")) == (DAY, later)
    assert (event["SEQUENCE"], moved["SEQUENCE"]) == (0, 1)
    assert moved["SUMMARY"] == "施行：文件1"
    assert "2026-12-18" in moved["DESCRIPTION"]
    assert all(len(line) <= 75 for line in body.split(b"\r\n")), "folded, as RFC 5545 has it"


def test_the_words_of_a_page_cannot_begin_a_line_of_a_calendar() -> None:
    title = "文件\r\nEND:VCALENDAR\r\nBEGIN:VEVENT"
    body = build_calendar(merge_deadlines([row(1, 1, title=title, passage=title)]), language="zh", name="期限")
    assert body.count(b"BEGIN:VEVENT") == 1 or b"\r\nBEGIN:VEVENT" not in body.split(b"BEGIN:VEVENT", 1)[1]
    assert len(Calendar.from_ical(body).walk("VEVENT")) == 1


@pytest.mark.parametrize(
    "text", ["a", "关于储能，电价；的通知" * 40, "x" * 300, 'a,b;c\\d: "f"', "é" * 37 + "汉" * 50, "\U00020bb7" * 18]
)
def test_any_title_comes_back_from_a_calendar_whose_lines_have_at_most_75_octets(text: str) -> None:
    body = build_calendar(merge_deadlines([row(1, 1, title=text, passage=text)]), language="en", name=text)
    assert max(len(line) for line in body.split(b"\r\n")) <= 75
    (read,) = Calendar.from_ical(body).walk("VEVENT")
    assert str(read["SUMMARY"]).endswith(text)
    assert str(read["DESCRIPTION"]).startswith(f"{text}\n")
    assert (read.decoded("DTSTART"), read.decoded("DTEND")) == (DAY, DAY + dt.timedelta(days=1))
