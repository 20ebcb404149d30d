"""Fills an archive with what its service has made of it: ledgers, evidence, policies, deadlines, topics, marks."""

import datetime as dt
import random
from collections.abc import Iterator
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Column, ColumnElement, Connection, Integer, String, cast, delete, insert, literal, select, update
from sqlalchemy.orm import Mapped
from sqlmodel import SQLModel, col

from benchmarks.age_data import fill_daily_totals, insert_rows
from benchmarks.archive_data import SOURCES, fill_archive, format_run_id, format_source_name
from monitor.db.engines import DatabaseAddress, open_migration_engine
from monitor.db.tables.collection import (
    CandidateRecord,
    DailyTotal,
    Fallback,
    Item,
    ItemVector,
    KnownUrl,
    ModelCall,
    Reading,
    RunSection,
    Source,
    SourceSection,
    Unseen,
)
from monitor.db.tables.delivery import Alarm, AlarmKind, Delivery, DeliveryStatus
from monitor.db.tables.evidence import Claim, ClaimKind, EvidenceRecord, ItemSnapshot, Revision
from monitor.db.tables.people import (
    AuditEntry,
    BriefingShare,
    ClientProfile,
    FeedKey,
    HiddenItem,
    ItemLater,
    ItemRead,
    ItemStar,
    Person,
    RankFeedback,
)
from monitor.db.tables.policies import (
    Alert,
    AlertKind,
    Deadline,
    DeadlineMove,
    DocumentKey,
    ItemFacts,
    Policy,
    PolicyDocument,
    Topic,
    TopicFit,
    TopicFollower,
    TopicJudgement,
)
from monitor.db.tables.questions import ArchiveQuestion, QuestionStatus, RecentQuery
from monitor.db.tables.research import Research, ResearchStatus, RunEvent, SearchCall
from monitor.db.tables.teams import Team, TeamMember
from monitor.document import DocumentFacts
from monitor.i18n.message import Message
from monitor.llm.embeddings import Vector
from monitor.page import ChangeKind, PageSnapshot
from monitor.services.audit import hash_token
from monitor.urls import url_key
from monitor.vocabulary import (
    DeadlineKind,
    EventKind,
    FetchMode,
    JoinedBy,
    JudgedBy,
    KeyRole,
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
SECRET = "bench-secret"  # noqa: S105 -- of an archive that is thrown away
"""Of the private addresses of feeds, and of the link to the first briefing."""

TOPICS = 30
PROFILES = 30
EMBEDDING_MODEL = "bench-vectors"
DIMENSIONS = 1024

_TEAMS = 3
_SOURCES_OF_TEAMS = range(2, 62)
_SECTIONS = 3
_ROWS_PER_READING = 60
_DOCUMENTS_PER_POLICY = 3
_URL = "https://example.gov/list/"
_NOT_READ = Message("cause.not_reached")

_Rows = Iterator[SQLModel]

_ID, _SEEN = col(Item.id), col(Item.first_seen)
_NUMBER = cast(_ID, String)


def fill_database(url: str, items: int, *, people: list[str], now: dt.datetime, zone: ZoneInfo) -> None:
    """Fill an empty database with the archive, and with what a service of that size has beside it."""
    fill_archive(url, items, today=now.astimezone(zone).date(), days=DAYS)
    engine = open_migration_engine(DatabaseAddress.parse(url))
    runs = [format_run_id(source, run) for source in range(SOURCES) for run in range(-(-items // SOURCES // 20))]
    try:
        with engine.begin() as connection:
            if connection.dialect.name == "postgresql":  # rows of several tables are made at once: keys come later
                connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
            insert_rows(connection, (_build_person(name, now) for name in people))
            _fill_teams(connection, now)
            for rows in (_list_sections(now), _list_ledgers(runs, now), _list_service_rows(people, now)):
                insert_rows(connection, rows)
            _fill_evidence(connection, now)
            _fill_policies(connection, items, now)
            _fill_topics(connection, people, now)
            _fill_marks(connection, people, now)
            insert_rows(connection, _list_vectors(items))
            connection.execute(delete(DailyTotal))
            fill_daily_totals(connection, str(zone))
        with engine.begin() as connection:
            connection.exec_driver_sql("ANALYZE")
    finally:
        engine.dispose()


def _build_person(name: str, now: dt.datetime) -> Person:
    looked: dict[str, Any] = {"looked_at": now - dt.timedelta(hours=1), "looked_before_at": now - dt.timedelta(days=1)}
    return Person(name=name, password_hash="", role=Role(name), created_at=now, **looked)


def _fill_teams(connection: Connection, now: dt.datetime) -> None:
    """Give sources and their items to three teams; the editor is in two of them, the reader in none."""
    teams = range(1, _TEAMS + 1)
    insert_rows(connection, (Team(id=team, name=f"组{team}", created_at=now) for team in teams))
    insert_rows(connection, (TeamMember(team_id=team, person=Role.EDITOR) for team in teams[:-1]))
    for team in teams:
        ids = _SOURCES_OF_TEAMS[team - 1 :: _TEAMS]
        connection.execute(update(Source).where(col(Source.id).in_(ids)).values(team_id=team))
        connection.execute(update(Item).where(col(Item.source_id).in_(ids)).values(team_id=team))


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
        for call in range(2):
            yield ModelCall(
                run_id=run_id, phase=Phase.SUMMARISE, model="m", place=str(call), prompt_tokens=900, at=at, cost=0.01
            )
        for _ in range(2):
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


def _fill_evidence(connection: Connection, now: dt.datetime) -> None:
    """A record an item with three claims, what was last seen of its page, and a change of one in twenty."""
    record_id = literal("r") + _NUMBER
    places: dict[str, Any] = {"url": _URL, "final_url": _URL, "way": FetchMode.HTTP, "attempt": 1, "number": 1}
    record = EvidenceRecord(id="", fetched_at=now, status=200, **places)
    _insert_for_items(connection, record, id=record_id, run_id=col(Item.run_id), sha256=_NUMBER)
    judged: dict[str, Any] = {"verdict": Verdict.SUPPORTED, "judged_by": JudgedBy.CODE, "passage": "经研究"}
    for claim in (
        Claim(item_id=0, kind=ClaimKind.LIST, record_id=""),
        Claim(item_id=0, kind=ClaimKind.PAGE, record_id=""),
        Claim(item_id=0, kind=ClaimKind.SUMMARY, claim="经研究，通知如下。", record_id="", **judged),
    ):
        _insert_for_items(connection, claim, item_id=_ID, record_id=record_id)
    snapshot = ItemSnapshot.from_page(0, "", PageSnapshot(url=_URL, seen_at=now))
    _insert_for_items(connection, snapshot, item_id=_ID, run_id=col(Item.run_id))
    change = Revision(item_id=0, run_id="", seen_at=now, kind=ChangeKind.CHANGED, before_text="先前")
    _insert_for_items(connection, change, every=20, item_id=_ID, run_id=col(Item.run_id), seen_at=_SEEN)


def _fill_policies(connection: Connection, items: int, now: dt.datetime) -> None:
    """Facts of every item; policies with three documents each; and deadlines of one item in ten, half of them moved."""
    count, kinds = items // (2 * _DOCUMENTS_PER_POLICY), list(DeadlineKind)
    insert_rows(connection, _list_policies(count, now))
    policy_id = _ID % count + 1
    facts = DocumentFacts(stage=PolicyStage.FINAL, issuers=["示例部"]).model_dump(mode="json")
    _insert_for_items(connection, ItemFacts(item_id=0, facts=facts, text_sha256="", read_at=now), item_id=_ID)
    key = literal("name:示例办法第") + cast(policy_id, String)
    _insert_for_items(connection, DocumentKey(item_id=0, key="", role=KeyRole.OWN), item_id=_ID, key=key)
    reason = Message.of("policy.by_name", name="示例", title="示例")
    joined: dict[str, Any] = {"joined_by": JoinedBy.NAME, "reason": reason, "stage": PolicyStage.FINAL}
    document = PolicyDocument(policy_id=0, item_id=0, joined_at=now, **joined)
    _insert_for_items(connection, document, every=2, policy_id=policy_id, item_id=_ID)
    insert_rows(connection, _list_deadlines(items, kinds, now))


def _list_policies(count: int, now: dt.datetime) -> _Rows:
    stages = list(PolicyStage)
    for number in range(1, count + 1):
        at, name = _get_time(number, count, now), f"示例第{number}号管理办法"
        stage: dict[str, Any] = {"stage": stages[number % len(stages)], "stage_on": at.date()}
        yield Policy(id=number, name=name, key=name, created_at=at, updated_at=at, **stage)


def _list_deadlines(items: int, kinds: list[DeadlineKind], now: dt.datetime) -> _Rows:
    for item in range(10, items + 1, 10):
        at = _get_time(item, items, now)
        day = at.date() + dt.timedelta(days=item % 91)
        stated: dict[str, Any] = {"day": day, "passage": f"自{day}起施行", "seen_at": at}
        yield Deadline(id=item, item_id=item, kind=kinds[item // 10 % len(kinds)], **stated)
        if item % 20 == 0:
            moved: dict[str, Any] = {"before": at.date(), "after": day, "seen_at": at}
            yield DeadlineMove(deadline_id=item, run_id=format_run_id(0, 0), **moved)


def _fill_topics(connection: Connection, people: list[str], now: dt.datetime) -> None:
    """Topics that people follow, each with one item in thirty that fits."""
    insert_rows(connection, (_build_topic(number, now) for number in range(1, TOPICS + 1)))
    for topic in range(1, TOPICS + 1):
        keys = [(person, f"{topic}-{person}") for person in people]
        insert_rows(
            connection,
            (TopicFollower(topic_id=topic, person=person, calendar_key=key, since=now) for person, key in keys),
        )
    reason = Message.of("topic.in_title", words=["储能"])
    fit = TopicFit(topic_id=0, item_id=0, score=0.8, is_match=True, reason=reason, judged_at=now)
    _insert_for_items(connection, fit, topic_id=_ID % TOPICS + 1, item_id=_ID)
    _insert_for_items(connection, TopicJudgement(item_id=0, sha256="", judged_at=now), item_id=_ID)
    alert = Alert(target="bench", kind=AlertKind.TOPIC_MATCH, key="", item_id=0, message=reason, raised_at=now)
    _insert_for_items(connection, alert, every=100, key=_NUMBER, item_id=_ID)


def _build_topic(number: int, now: dt.datetime) -> Topic:
    return Topic(id=number, name=f"专题{number}", sentence="储能", words=["储能"], created_at=now)


def _fill_marks(connection: Connection, people: list[str], now: dt.datetime) -> None:
    for person in people:
        _insert_for_items(connection, ItemRead(person=person, item_id=0, at=now), every=2, item_id=_ID)
        _insert_for_items(connection, ItemStar(person=person, item_id=0, at=now), every=100, item_id=_ID)
        _insert_for_items(connection, ItemLater(person=person, item_id=0, at=now), every=100, item_id=_ID)
        wish = RankFeedback(person=person, item_id=0, wish=RankDirection.HIGHER, at=now)
        _insert_for_items(connection, wish, every=200, item_id=_ID)
        insert_rows(connection, (RecentQuery(person=person, text=f"储能 {number}", at=now) for number in range(20)))
    hidden = HiddenItem(item_id=0, person=people[0], reason="", at=now)
    _insert_for_items(connection, hidden, every=49, item_id=_ID)  # not the starred ones


def _insert_for_items(
    connection: Connection, like: SQLModel, *, every: int = 1, **made: ColumnElement[Any] | Mapped[Any]
) -> None:
    """Insert a row like this one for each item, or one of so many; the columns that differ are made of the item's."""
    table = SQLModel.metadata.tables[str(like.__tablename__)]
    given = {column.name: column for column in table.c if column.name in made or not _is_drawn(column)}
    values = [
        made[name] if name in made else literal(getattr(like, name), column.type) for name, column in given.items()
    ]
    connection.execute(insert(table).from_select(list(given), select(*values).where(_ID % every == 0)))


def _is_drawn(column: Column[Any]) -> bool:
    """Whether the database draws the number of a row by itself."""
    return column.primary_key and column.name == "id" and isinstance(column.type, Integer)


def _list_service_rows(people: list[str], now: dt.datetime) -> _Rows:
    """What a year leaves behind: acts of people, searches, deliveries, researches, and questions."""
    yield FeedKey(person=people[0], token_hash=hash_token(SECRET), label="bench", created_at=now)
    for number in range(1, PROFILES + 1):
        yield ClientProfile(
            id=number,
            name=f"客户{number}",
            conditions={"language": "zh", "tags": ["tag7"]},
            created_by=people[0],
            created_at=now,
        )
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
        outputs = {"reporting": {"score": {}, "result": {"markdown": "研究" * 5000}}}
        asked: dict[str, Any] = {
            "query": "储能",
            "language": "zh",
            "asked_by": people[0],
            "visibility": Visibility.OPEN,
        }
        yield Research(id=f"bench-research-{number}", outputs=outputs, **asked, **ended)
        for person in people:
            question = f"bench-question-{number}" + ("" if person == people[0] else f"-{person}")
            yield ArchiveQuestion(
                id=question,
                person=person,
                text="储能？",
                language="zh",
                filters={},
                status=QuestionStatus.REFUSED,
                asked_at=at,
                updated_at=at,
            )


def build_share(briefing_id: int, now: dt.datetime) -> BriefingShare:
    """A link to a saved briefing, with the secret above."""
    dates: dict[str, Any] = {"created_at": now, "expires_at": now + dt.timedelta(days=366)}
    return BriefingShare(briefing_id=briefing_id, token_hash=hash_token(SECRET), created_by="admin", **dates)


def _list_vectors(items: int) -> _Rows:
    """A vector of every item; a thousand different ones, of length 1, or nearly."""
    chance = random.Random(11)  # noqa: S311 -- the same each time
    drawn = [Vector.normalise([chance.gauss(0, 1) for _ in range(DIMENSIONS)]) for _ in range(1000)]
    stored = [(vector.signs.to_bytes(DIMENSIONS // 8), vector.to_bytes()) for vector in drawn]
    for item in range(1, items + 1):
        signs, vector = stored[item % len(stored)]
        yield ItemVector(item_id=item, model=EMBEDDING_MODEL, signs=signs, vector=vector)


def _get_time(item: int, items: int, now: dt.datetime) -> dt.datetime:
    """When an item was first seen, nearly."""
    return now - dt.timedelta(days=DAYS - DAYS * item / items)
