"""Fills an archive with what its service has made of it: ledgers, evidence, policies, deadlines, topics, marks."""

import datetime as dt
import random
from array import array
from collections.abc import Iterator
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import delete
from sqlmodel import SQLModel

from benchmarks.age_data import fill_daily_totals, insert_rows
from benchmarks.archive_data import SOURCES, fill_archive, format_run_id, format_source_name
from monitor.db.engines import DatabaseAddress, open_migration_engine
from monitor.db.tables.collection import (
    CandidateRecord,
    DailyTotal,
    Fallback,
    ItemVector,
    KnownUrl,
    ModelCall,
    Reading,
    RunSection,
    SourceSection,
    Unseen,
)
from monitor.db.tables.delivery import Alarm, AlarmKind, Delivery, DeliveryStatus
from monitor.db.tables.evidence import Claim, ClaimKind, EvidenceRecord, ItemSnapshot, Revision
from monitor.db.tables.people import AuditEntry, HiddenItem, ItemLater, ItemRead, ItemStar, Person, RankFeedback
from monitor.db.tables.policies import (
    Alert,
    AlertKind,
    Deadline,
    DeadlineMove,
    DocumentKey,
    ItemFacts,
    KeyRole,
    Policy,
    PolicyDocument,
    Topic,
    TopicFit,
    TopicFollower,
    TopicJudgement,
)
from monitor.db.tables.questions import ArchiveQuestion, QuestionStatus, RecentQuery
from monitor.db.tables.research import Research, ResearchStatus, RunEvent, SearchCall
from monitor.document import DocumentFacts
from monitor.i18n.message import Message
from monitor.llm.embeddings import Vector
from monitor.page import ChangeKind, PageSnapshot
from monitor.urls import url_key
from monitor.vocabulary import (
    DeadlineKind,
    EventKind,
    FetchMode,
    JoinedBy,
    JudgedBy,
    Phase,
    PolicyStage,
    RankDirection,
    Role,
    SectionEnd,
    Verdict,
    Visibility,
)

DAYS = 100
"""Over so many days the items were first seen: a thousand a day, where there are a hundred thousand."""

RESEARCH_ID = "bench-research-0"
QUESTION_ID = "bench-question-0"
TOPICS = 30
EMBEDDING_MODEL = "bench-vectors"
DIMENSIONS = 1024

_SECTIONS = 3
_ROWS_PER_READING = 60
_DOCUMENTS_PER_POLICY = 3
_URL = "https://example.gov/list/"
_NOT_READ = Message("cause.not_reached")

_Rows = Iterator[SQLModel]


def fill_desk(url: str, items: int, *, people: list[str], now: dt.datetime, zone: ZoneInfo) -> None:
    """Fill an empty database with the archive, and with what a service of that size has beside it."""
    fill_archive(url, items, today=now.astimezone(zone).date(), days=DAYS)
    engine = open_migration_engine(DatabaseAddress.parse(url))
    runs = [format_run_id(source, run) for source in range(SOURCES) for run in range(-(-items // SOURCES // 20))]
    try:
        with engine.begin() as connection:
            insert_rows(connection, (_build_person(name, now) for name in people))
            for rows in (
                _list_sections(now),
                _list_ledgers(runs, now),
                _list_evidence(items, runs, now),
                _list_policies(items, now),
                _list_topics(items, people, now),
                _list_marks(items, people, now),
                _list_service_rows(people, now),
                _list_vectors(items),
            ):
                insert_rows(connection, rows)
            connection.execute(delete(DailyTotal))
            fill_daily_totals(connection, str(zone))
        with engine.begin() as connection:
            connection.exec_driver_sql("ANALYZE")
    finally:
        engine.dispose()


def _build_person(name: str, now: dt.datetime) -> Person:
    looked: dict[str, Any] = {"looked_at": now - dt.timedelta(hours=1), "looked_before_at": now - dt.timedelta(days=1)}
    return Person(name=name, password_hash="", role=Role(name), created_at=now, **looked)


def _list_sections(now: dt.datetime) -> _Rows:
    arrivals = [(now.date() - dt.timedelta(days=back)).isoformat() for back in range(60, 0, -5)]
    for source in range(1, SOURCES + 1):
        for number in range(_SECTIONS):
            url = f"https://s{source}.example.gov/{number}/"
            names: dict[str, Any] = {"source_id": source, "name": f"栏目{number}", "url": url, "url_key": url_key(url)}
            yield SourceSection(last_complete_on=now.date(), arrivals=arrivals, last_read_at=now, **names)


def _list_ledgers(runs: list[str], now: dt.datetime) -> _Rows:
    """What runs leave behind: sections, candidates, calls, and now and then a fallback, an unread place, an alarm."""
    for source in range(1, SOURCES + 1):
        counts = {"known": _ROWS_PER_READING}
        yield Reading(
            id=source, source_id=source, hash=str(source), rows=_ROWS_PER_READING, counts=counts, last_used_at=now
        )
        for row in range(_ROWS_PER_READING):
            url = f"https://s{source}.example.gov/old/{row}.html"
            yield CandidateRecord(reading_id=source, position=row, page_url=_URL, url=url, title=f"通知{row}")
            yield KnownUrl(source_id=source, url_key=url_key(url), first_seen=now)
    for number, run_id in enumerate(runs):
        source, at = 1 + number * SOURCES // len(runs), now - dt.timedelta(days=number % 5)
        for ordinal in range(_SECTIONS):
            listed: dict[str, Any] = {
                "ordinal": ordinal,
                "pages": 1,
                "candidates": 20,
                "listed": 20,
                "listed_dated": 20,
            }
            yield RunSection(
                run_id=run_id, name=f"栏目{ordinal}", url=_URL, ended=SectionEnd.KNOWN, reading_id=source, **listed
            )
        if number % 11 == 3:
            yield Fallback(run_id=run_id, phase=Phase.SUMMARISE, where=f"{_URL}{number}.html", reason=_NOT_READ, at=at)
        if number % 50 == 7:
            yield Unseen(run_id=run_id, section="栏目0", url=_URL, reason=_NOT_READ)
        for call in range(10):
            yield ModelCall(
                run_id=run_id, phase=Phase.SUMMARISE, model="m", place=str(call), prompt_tokens=900, at=at, cost=0.01
            )
        for _ in range(5):
            yield RunEvent(run_id=run_id, at=at, kind=EventKind.PHASE, data={"phase": "crawl", "done": 1, "total": 1})
        if number % 10 == 0:
            ended = None if number % 100 == 0 else at
            kind, message = AlarmKind.SILENCE, Message.of("alarm.silent", since="2026-01-01", days="5")
            yield Alarm(
                source_id=source,
                kind=kind,
                message=message,
                run_id=run_id,
                raised_at=at,
                cleared_at=ended,
                notified_at=at,
            )


def _list_evidence(items: int, runs: list[str], now: dt.datetime) -> _Rows:
    """A record an item with three claims, what was last seen of its page, and a change of one in twenty."""
    looked: dict[str, Any] = {"looked_at": now, "failure": None}
    page = PageSnapshot(url=_URL, seen_at=now).model_dump(mode="json", exclude={"text"})
    for item in range(1, items + 1):
        record, run_id = f"r{item}", runs[item % len(runs)]
        places: dict[str, Any] = {"url": _URL, "final_url": _URL, "way": FetchMode.HTTP, "attempt": 1, "number": item}
        yield EvidenceRecord(id=record, run_id=run_id, fetched_at=now, status=200, sha256=f"{item:064x}", **places)
        yield Claim(item_id=item, kind=ClaimKind.LIST, record_id=record)
        yield Claim(item_id=item, kind=ClaimKind.PAGE, record_id=record)
        judged: dict[str, Any] = {"verdict": Verdict.SUPPORTED, "judged_by": JudgedBy.CODE, "passage": "经研究"}
        yield Claim(item_id=item, kind=ClaimKind.SUMMARY, claim="经研究，通知如下。", record_id=record, **judged)
        yield ItemSnapshot(item_id=item, run_id=run_id, page=page, **looked)
        if item % 20 == 0:
            seen_at = _get_time(item, items, now)
            yield Revision(item_id=item, run_id=run_id, seen_at=seen_at, kind=ChangeKind.CHANGED, before_text="先前")


def _list_policies(items: int, now: dt.datetime) -> _Rows:
    """Facts of every item, three documents of sources far apart a policy, and a deadline for one in ten."""
    count = items // (2 * _DOCUMENTS_PER_POLICY)
    stages, kinds = list(PolicyStage), list(DeadlineKind)
    for number in range(1, count + 1):
        at, name = _get_time(number * items // count, items, now), f"示例第{number}号管理办法"
        stage: dict[str, Any] = {"stage": stages[number % len(stages)], "stage_on": at.date()}
        yield Policy(id=number, name=name, key=name, created_at=at, updated_at=at, **stage)
    for item in range(1, items + 1):
        at, policy = _get_time(item, items, now), item % count + 1
        facts = DocumentFacts(stage=stages[policy % len(stages)], issuers=["示例部"]).model_dump(mode="json")
        yield ItemFacts(item_id=item, facts=facts, text_sha256="0" * 64, read_at=at)
        yield DocumentKey(item_id=item, key=f"示例第{policy}号管理办法", role=KeyRole.OWN)
        if item % 2 == 0:
            reason = Message.of("policy.by_name", name="示例", title="示例")
            joined: dict[str, Any] = {"joined_by": JoinedBy.NAME, "reason": reason, "joined_at": at}
            yield PolicyDocument(policy_id=policy, item_id=item, stage=stages[item % len(stages)], **joined)
        if item % 10 == 0:
            day = at.date() + dt.timedelta(days=item % 90)
            stated: dict[str, Any] = {"day": day, "passage": f"自{day}起施行", "seen_at": at}
            yield Deadline(id=item, item_id=item, kind=kinds[item // 2 % len(kinds)], **stated)
        if item % 20 == 0:
            moved: dict[str, Any] = {"before": at.date(), "after": at.date() + dt.timedelta(days=item % 90)}
            yield DeadlineMove(deadline_id=item, run_id=format_run_id(0, 0), seen_at=at, **moved)


def _list_topics(items: int, people: list[str], now: dt.datetime) -> _Rows:
    """Topics that people follow, each with one item in thirty, of which one in three fits."""
    for topic in range(1, TOPICS + 1):
        yield Topic(id=topic, name=f"专题{topic}", sentence="储能", words=["储能"], created_at=now)
        for person in people:
            yield TopicFollower(topic_id=topic, person=person, calendar_key=f"{topic}-{person}", since=now)
        for item in range(topic, items + 1, TOPICS):
            at, reason = _get_time(item, items, now), Message.of("topic.in_title", words=["储能"])
            is_match = item // TOPICS % 3 == 0
            yield TopicFit(
                topic_id=topic,
                item_id=item,
                score=0.5 + item % 50 / 100,
                is_match=is_match,
                reason=reason,
                judged_at=at,
            )
    for item in range(1, items + 1):
        yield TopicJudgement(item_id=item, sha256="0" * 64, judged_at=now)
    for number, item in enumerate(range(items, 0, -100)):
        message = Message.of("topic.in_title", words=["储能"])
        told: dict[str, Any] = {"message": message, "raised_at": now}
        yield Alert(target="bench", kind=AlertKind.TOPIC_MATCH, key=str(number), item_id=item, topic_id=1, **told)


def _list_marks(items: int, people: list[str], now: dt.datetime) -> _Rows:
    for person in people:
        for item in range(items // 2, items + 1, 2):
            yield ItemRead(person=person, item_id=item, at=now)
        for item in range(1, items + 1, 100):
            yield ItemStar(person=person, item_id=item, at=now)
            yield ItemLater(person=person, item_id=item, at=now)
        for item in range(50, items + 1, 200):
            yield RankFeedback(person=person, item_id=item, wish=RankDirection.HIGHER, at=now)
        for number in range(20):
            yield RecentQuery(person=person, text=f"储能 {number}", at=now)
    for item in range(7, items + 1, 50):
        yield HiddenItem(item_id=item, person=people[0], reason="", at=now)


def _list_service_rows(people: list[str], now: dt.datetime) -> _Rows:
    """What a year leaves behind: acts of people, searches, deliveries, researches, and questions."""
    for number in range(20_000):
        at = now - dt.timedelta(minutes=25 * number)
        act: dict[str, Any] = {"person": people[number % len(people)], "action": "source.edit"}
        yield AuditEntry(at=at, subject=format_source_name(number % SOURCES), detail={}, **act)
        yield SearchCall(backend="searxng", route="direct", at=at, cost=0.001)
    for number in range(1000):
        at, name = now - dt.timedelta(hours=8 * number), f"bench-{number}"
        keys: dict[str, Any] = {"id": name, "key": name, "message_id": f"<{name}@bench>", "day": at.date()}
        yield Delivery(target="bench", status=DeliveryStatus.SENT, planned_at=at, sent_at=at, attempts=1, **keys)
        ended: dict[str, Any] = {"created_at": at, "started_at": at, "ended_at": at, "status": ResearchStatus.SUCCEEDED}
        outputs = {"reporting": {"score": {}, "content": "研究" * 5000}}
        asked: dict[str, Any] = {
            "query": "储能",
            "language": "zh",
            "asked_by": people[0],
            "visibility": Visibility.OPEN,
        }
        yield Research(id=f"bench-research-{number}", outputs=outputs, **asked, **ended)
        for person in people:
            question = f"bench-question-{number}" + ("" if person == people[0] else f"-{person}")
            told: dict[str, Any] = {"text": "储能？", "language": "zh", "filters": {}, "status": QuestionStatus.REFUSED}
            yield ArchiveQuestion(id=question, person=person, asked_at=at, updated_at=at, **told)


def _list_vectors(items: int) -> _Rows:
    """A vector of length 1, or nearly, for every item: a window of one long row of chance numbers."""
    chance = random.Random(11)  # noqa: S311 -- the same each time
    pool = array("f", (chance.gauss(0, DIMENSIONS**-0.5) for _ in range(200_000)))
    for item in range(1, items + 1):
        begin = chance.randrange(len(pool) - DIMENSIONS)
        vector = Vector(pool[begin : begin + DIMENSIONS])
        signs = vector.signs.to_bytes(DIMENSIONS // 8)
        yield ItemVector(item_id=item, model=EMBEDDING_MODEL, signs=signs, vector=vector.to_bytes())


def _get_time(item: int, items: int, now: dt.datetime) -> dt.datetime:
    """When an item was first seen, nearly."""
    return now - dt.timedelta(days=DAYS - DAYS * item / items)
