import datetime as dt
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from monitor.briefing.compose import Briefing, Period
from monitor.briefing.deliver import (
    build_alert_notification,
    build_attachment_name,
    create_delivery,
    decide_retry,
    format_planned_time,
    is_quiet,
    list_unread_sources,
)
from monitor.briefing.gaps import SourceRunSummary, list_gaps
from monitor.config.targets import TargetSettings
from monitor.db.queries.deadlines import AlertView
from monitor.db.tables.delivery import MAX_ATTEMPTS, Delivery, DeliveryKind, DeliveryStatus
from monitor.db.tables.policies import AlertKind
from monitor.errors import NotDelivered, UsageError
from monitor.i18n.message import Message
from monitor.policies.changes import name_deadline
from monitor.vocabulary import DeadlineKind, RunStatus

NOW = dt.datetime(2026, 3, 2, 0, 0, tzinfo=dt.UTC)


def delivery(**fields: object) -> Delivery:
    target = TargetSettings(name="partners", url="smtp://x", sender="Monitor <m@example.org>", to=["p@example.org"])
    made = create_delivery(
        target, DeliveryKind.PLANNED, name=format_planned_time(NOW), planned_at=NOW, now=NOW, team_id=None
    )
    return made.model_copy(update=fields)


def test_an_id_is_made_of_target_and_time_and_the_key_is_drawn() -> None:
    first, second = delivery(), delivery()
    assert first.id == second.id == "partners-20260302T000000Z"
    assert first.key != second.key
    assert first.message_id == f"<{first.key}@example.org>"


@pytest.mark.parametrize(
    ("title", "audience", "name"),
    [
        ("官方动态简报", "", "官方动态简报-2026-03-02.docx"),
        (
            "What public bodies published",
            "Harbour (trustee)",
            "What-public-bodies-published-Harbour-trustee-2026-03-02.docx",
        ),
        ("../a", "..", "a-2026-03-02.docx"),
    ],
)
def test_a_file_is_named_by_the_title_for_whom_it_is_and_the_day(title: str, audience: str, name: str) -> None:
    fields = {
        "language": "zh",
        "generated_at": NOW,
        "items": [],
        "more": [],
        "sources": [],
        "gaps": [],
        "baselines": [],
    }
    period = Period(since=NOW.date(), until=NOW.date())
    briefing = Briefing.model_validate(
        {
            **fields,
            "title": title,
            "audience": audience,
            "period": period,
            "extracts": 0,
            "without_summary": 0,
            "reposts": [],
        }
    )
    assert build_attachment_name(briefing, "docx") == name


def test_the_subject_of_an_alert_says_what_moved_and_in_which_document() -> None:
    words = Message.of("deadline.moved", name=name_deadline(DeadlineKind.APPLY_BY), before=NOW.date(), after=NOW.date())
    alert = AlertView(
        id=1,
        target="partners",
        kind=AlertKind.DEADLINE_MOVED,
        key="k",
        message=words,
        item_id=1,
        title="Storage scheme",
        url="https://gov.example/1",
        source="Bureau",
        raised_at=NOW,
    )
    subject = build_alert_notification(delivery(), [alert], "en").subject
    assert subject.endswith("Applications due: moved from 2026-03-02 to 2026-03-02 · Storage scheme")


def test_pauses_grow_and_the_last_try_is_the_last() -> None:
    pauses = []
    for attempt in range(MAX_ATTEMPTS - 1):
        outcome = decide_retry(delivery(attempts=attempt), NotDelivered("down", may_retry=True), NOW)
        assert outcome.status is DeliveryStatus.QUEUED
        assert outcome.next_try_at is not None
        pauses.append(outcome.next_try_at - NOW)
    assert all(first <= second for first, second in pairwise(pauses))
    assert sum(pauses, dt.timedelta()) > dt.timedelta(hours=10)
    last = decide_retry(delivery(attempts=MAX_ATTEMPTS - 1), NotDelivered("down", may_retry=True), NOW)
    assert (last.status, str(last.last_error), last.next_try_at) == (DeliveryStatus.FAILED, "down", None)


@settings(max_examples=60)
@given(
    attempts=some.integers(0, 40),
    granted=some.integers(1, 3),
    after_s=some.none() | some.floats(0, 1e9, allow_nan=False),
)
def test_a_receiver_that_asks_for_patience_gets_it_for_up_to_a_day(
    attempts: int, granted: int, after_s: float | None
) -> None:
    error = NotDelivered("busy", may_retry=True, retry_after_s=after_s)
    outcome = decide_retry(delivery(attempts=attempts, attempts_allowed=granted * MAX_ATTEMPTS), error, NOW)
    if outcome.next_try_at is None:
        assert attempts + 1 >= granted * MAX_ATTEMPTS
    else:
        pause_s = (outcome.next_try_at - NOW).total_seconds()
        assert pause_s >= max(5, min(after_s or 0, 86_400)) - 1e-3
        assert pause_s <= 86_400


@pytest.mark.parametrize("error", [NotDelivered("no such address"), UsageError("There is no target.")])
def test_what_cannot_pass_is_not_tried_again(error: Exception) -> None:
    outcome = decide_retry(delivery(), error, NOW)
    assert (outcome.status, outcome.last_error) == (DeliveryStatus.FAILED, error.message)


@pytest.mark.parametrize(
    ("status", "unfinished", "quiet"),
    [
        (RunStatus.SUCCEEDED, [], True),
        (RunStatus.DEGRADED, [], True),
        (None, [], True),
        (None, ["office"], False),
        (RunStatus.FAILED, [], False),
        (RunStatus.CANCELLED, [], False),
        (RunStatus.RUNNING, [], False),
    ],
)
def test_a_day_is_quiet_only_where_every_source_was_seen(
    status: RunStatus | None, unfinished: list[str], quiet: bool
) -> None:
    period = Period(since=NOW.date(), until=NOW.date())
    state = SourceRunSummary(name="office", status=status)
    briefing = Briefing(
        title="t",
        period=period,
        language="zh",
        generated_at=NOW,
        items=[],
        more=[],
        sources=[state],
        gaps=list_gaps(state),
        baselines=[],
        extracts=0,
        without_summary=0,
        reposts=[],
    )
    assert is_quiet(briefing, unfinished) is quiet
    assert list_unread_sources(briefing, unfinished) == ([] if quiet else ["office"])
