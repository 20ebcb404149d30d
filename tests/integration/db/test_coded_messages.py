"""Migration 0013 reads every sentence that earlier versions kept, once, and keeps what it cannot read."""

import asyncio
import datetime as dt
import importlib.util
from types import ModuleType
from typing import Any

import pytest
from sqlalchemy import Engine, MetaData, Table, select
from sqlmodel import SQLModel

from monitor.db import migrate
from monitor.db.database import Store
from monitor.db.engines import DatabaseAddress, open_migration_engine
from monitor.db.queries.dashboard import BLOCKED_CODE
from monitor.db.tables.collection import CandidateRecord, Fallback, Item, Run, RunSection, Source, Unseen
from monitor.db.tables.delivery import Alarm, AlarmKind, BriefingRecord, Delivery
from monitor.db.tables.evidence import EvidenceRecord, ItemSnapshot, Revision
from monitor.db.tables.research import Research, RunEvent
from monitor.i18n.catalogue import has_message, render
from monitor.i18n.message import Message
from monitor.page import ChangeKind, PageError, PageSnapshot
from monitor.vocabulary import Disposition, FetchMode

NOW = dt.datetime(2026, 2, 3, tzinfo=dt.UTC)

BLOCKED = "WebBlocked/http_403: The site refuses to show this page (403)."

REASONS = {
    BLOCKED: Message.of("cause.page_blocked", detail="http_403", error=Message.of("page.refused", status=403)),
    "No section could be read: Timeout: The site did not answer in full within 30 s.": Message.of(
        "cause.nothing_read",
        reason=Message.of("cause.page_error", kind="Timeout", error=Message.of("page.no_answer_in_full", seconds="30")),
    ),
    "NetworkError: No secure connection could be made (the site hung up); network.ca_bundle adds certificates, "
    "network.allow_legacy_tls admits old servers.": Message.of(
        "cause.page_error",
        kind="NetworkError",
        error=Message.of("page.no_secure_connection", reason=Message("page.hung_up")),
    ),
    "extract instead of a summary: not on the page: 2031年12月31日, 98765亿元": Message.of(
        "cause.extract", reason=Message.of("cause.not_on_page", figures=["2031年12月31日", "98765亿元"])
    ),
    "cut short at max_items": Message.of("cause.cut_short", limit=Message("cause.ended_max_items")),
    "http_503: The model server answered HTTP 503: busy": Message.of(
        "cause.model_http", status=503, error=Message.other("The model server answered HTTP 503: busy")
    ),
    "budget: The budget of a run of 4000 tokens is spent; the rest goes by rule.": Message.of(
        "cause.model_budget", error=Message.other("The budget of a run of 4000 tokens is spent; the rest goes by rule.")
    ),
    "the agent was cut short: it said: enough": Message.of(
        "cause.agent_cut_short", reason=Message.other("it said: enough")
    ),
    "Missed: no scheduler was at work in time (3 planned times from 2026-02-01 04:00Z on).": Message.of(
        "cause.missed_times", reason=Message("cause.no_scheduler"), count=3, since="2026-02-01 04:00Z"
    ),
    "possible gap: nothing of what was newest last time stood on the first pages; 5 were read, ended max_pages": (
        Message.of("alarm.gap", pages=5, ended=Message("cause.ended_max_pages"))
    ),
    "3 runs in a row failed: No section could be read.": Message.of(
        "alarm.failing", runs=3, reason=Message("cause.nothing_there")
    ),
    "the list fell from 40 candidates to 3": Message.of("alarm.list_fell", usual="40", now=3),
    "Words that nobody foresaw: 100 %": Message.other("Words that nobody foresaw: 100 %"),
    "连接超时": Message.other("连接超时"),
}


def engine_of(url: str) -> Engine:
    return open_migration_engine(DatabaseAddress.parse(url))


def insert(connection: Any, row: SQLModel, **sentences: Any) -> None:
    """Write a row as version 0012 did, with sentences in place of messages."""
    table = Table(str(row.__tablename__), MetaData(), autoload_with=connection)
    column_of = {column.key: column.name for column in SQLModel.metadata.tables[str(row.__tablename__)].columns}
    values = {column_of.get(name, name): value for name, value in (row.model_dump() | sentences).items()}
    mapped = {"place" if name == "where" else name: value for name, value in values.items()}
    connection.execute(table.insert(), {name: value for name, value in mapped.items() if value is not None})


def insert_run(connection: Any) -> None:
    insert(connection, Source(id=1, name="s", url="https://a.example/", created_at=NOW), last_error=BLOCKED)
    insert(connection, Run(id="r", source_id=1, source="s", planned_at=NOW), error="No section could be read.")


def load_migration() -> ModuleType:
    path = migrate._find_scripts_folder() / "versions" / "0013_coded_messages.py"
    spec = importlib.util.spec_from_file_location("coded_messages", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def list_example_sentences() -> dict[str, str]:
    """A sentence of every code that the migration knows, with values for its arguments."""
    module = load_migration()
    values = {"REASON": "no list was found on the page", "LIMIT": "max_pages", "ENDED": "end", "figures": "12, 13"}
    numbers = dict.fromkeys(("count", "status", "now", "dated", "listed", "pages", "runs"), 7)
    arguments = {
        name: name for template in module._SENTENCES.values() for name in module.re.findall(r"{(\w+)}", template)
    }
    return {code: template.format(**arguments | values | numbers) for code, template in module._SENTENCES.items()}


def test_every_sentence_of_the_record_becomes_its_code_and_back(empty_url: str) -> None:
    sentences = list_example_sentences()
    migrate.upgrade(empty_url, "0012")
    with engine_of(empty_url).begin() as connection:
        insert_run(connection)
        for number, sentence in enumerate([*sentences.values(), *REASONS], start=1):
            insert(connection, Fallback(id=number, run_id="r", where="w", reason=None, at=NOW), reason=sentence)
    migrate.upgrade(empty_url)
    with engine_of(empty_url).connect() as connection:
        reasons = list(connection.scalars(select(Fallback.reason).order_by(Fallback.id)))
    assert [reason.code for reason in reasons[: len(sentences)]] == list(sentences)
    assert reasons[len(sentences) :] == list(REASONS.values())
    for reason in reasons:
        words = render(reason, "en")
        assert all(str(value) in words for value in reason.args.values() if isinstance(value, str | int)), words
        assert all(has_message(language, inner.code) for inner in reason.walk() for language in ("en", "zh"))
    migrate.downgrade(empty_url, "0012")
    with engine_of(empty_url).connect() as connection:
        kept = connection.exec_driver_sql("SELECT reason FROM fallback ORDER BY id").scalars().all()
    assert kept == [*sentences.values(), *REASONS]


@pytest.fixture
def old_url(empty_url: str) -> str:
    """A database of version 0012 with a sentence in every place that holds one."""
    migrate.upgrade(empty_url, "0012")
    with engine_of(empty_url).begin() as connection:
        insert_run(connection)
        insert(connection, RunSection(id=1, run_id="r", ordinal=0, name="n", url="u"), error=BLOCKED)
        insert(connection, RunSection(id=2, run_id="r", ordinal=1, name="n", url="u"), error="")
        for number, reason in enumerate(["undated", "agent: not news", "", "rule"], start=1):
            row = CandidateRecord(id=number, reading_id=None, position=number, page_url="", url="", title="")
            place = {"run_id": "r", "section": 0, "url_key": ""}
            insert(connection, row, reason=reason, disposition=Disposition.LEFT, **place)
        insert(connection, Unseen(id=1, run_id="r", section="n", url="u", reason=None), reason=BLOCKED)
        item = Item(id=1, run_id="r", source="s", section="n", url="u", url_key="u", title="t", first_seen=NOW)
        insert(connection, item)
        page = PageSnapshot(url="u", seen_at=NOW).model_dump(mode="json", exclude={"text"})
        snapshot = ItemSnapshot(item_id=1, run_id="r", looked_at=NOW, page=page)
        insert(
            connection, snapshot, failure="the page is not there", page=page | {"reason": "The site has no address."}
        )
        insert(
            connection,
            Revision(id=1, item_id=1, run_id="r", seen_at=NOW, kind=ChangeKind.WITHDRAWN),
            reason="it leads to https://a.example/",
        )
        alarm = Alarm(id=1, source_id=1, kind=AlarmKind.BLOCKED, message=None, run_id="r", raised_at=NOW)
        insert(connection, alarm, message=f"the site keeps us from 3 pages: {BLOCKED}")
        delivery = Delivery(id="d", target="t", planned_at=NOW, key="k", message_id="m")
        insert(connection, delivery, last_error="The receiver hung up.")
        briefing = {
            "gaps": [
                {"source": "s", "kind": "unseen", "reason": BLOCKED},
                {"source": "s", "kind": "silent", "reason": ""},
            ],
            "sources": [{"name": "s", "last_error": "No section could be read."}],
            "items": [{"title": "No section could be read."}],
        }
        record = BriefingRecord(delivery_id="d", composed_at=NOW, briefing=briefing)
        insert(connection, record)
        event = {"phase": "crawl", "place": "n", "reason": "cut short at max_pages"}
        insert(connection, RunEvent(id=1, run_id="r", at=NOW, kind="fallback", data=event))
        error = {
            "code": "WebBlocked",
            "detail_code": "http_403",
            "message": "The site refuses to show this page (403).",
        }
        seen = EvidenceRecord(
            id="e",
            run_id="r",
            attempt=1,
            number=1,
            url="u",
            way=FetchMode.HTTP,
            final_url="u",
            fetched_at=NOW,
            error=error,
        )
        insert(
            connection,
            seen,
            error=error,
            notes={"u/robots.txt": "robots.txt could not be read: The site has no address."},
        )
        research = Research(id="q", query="?", language="en", created_at=NOW)
        insert(connection, research, error="The research was cancelled.")
    return empty_url


def test_every_place_that_held_a_sentence_holds_its_code(old_url: str) -> None:
    blocked = REASONS[BLOCKED]
    migrate.upgrade(old_url)
    with engine_of(old_url).connect() as connection:

        def load(column: Any, order: Any = None) -> list[Any]:
            query = select(column) if order is None else select(column).order_by(order)
            return list(connection.scalars(query))

        assert load(Source.last_error) == [blocked]
        assert load(Run.error) == [Message("cause.nothing_there")]
        assert load(RunSection.error, RunSection.id) == [blocked, None]
        assert load(CandidateRecord.reason, CandidateRecord.id) == [
            Message("candidate.undated"),
            Message.of("candidate.left_by_agent", text="not news"),
            None,
            Message("candidate.rule"),
        ]
        assert load(Unseen.reason) == [blocked]
        assert load(ItemSnapshot.failure) == [Message("cause.not_there")]
        assert load(Revision.reason) == [Message.of("cause.leads_to", url="https://a.example/")]
        assert load(Alarm.message) == [Message.of("alarm.blocked_pages", pages=3, reason=blocked)]
        assert load(Delivery.last_error) == [Message.other("The receiver hung up.")]
        assert load(Research.error) == [Message("cause.research_cancelled")]
        snapshot = PageSnapshot.model_validate(load(ItemSnapshot.page)[0])
        assert snapshot.reason == Message("page.no_address")
        briefing = load(BriefingRecord.briefing)[0]
        assert briefing["gaps"][0] == {
            "source": "s",
            "kind": "unseen",
            "reason": BLOCKED,
            "reason_code": BLOCKED_CODE,
            "reason_args": blocked.to_json()["args"],
        }
        assert briefing["gaps"][1] == {"source": "s", "kind": "silent", "reason": ""}
        assert briefing["sources"][0]["last_error_code"] == "cause.nothing_there"
        assert briefing["items"] == [{"title": "No section could be read."}]
        assert load(RunEvent.data)[0]["reason_code"] == "cause.cut_short"
        assert PageError.model_validate(load(EvidenceRecord.error)[0]).reason == blocked
        note = Message.from_json(load(EvidenceRecord.notes)[0]["u/robots.txt"])
        assert note == Message.of("cause.robots", reason=Message("page.no_address"))


def test_pages_that_a_site_kept_from_us_are_found_after_the_migration(old_url: str) -> None:
    migrate.upgrade(old_url)

    async def list_blocks() -> list[str]:
        async with Store.open(old_url) as store:
            return [block.place for block in await store.dashboard.list_blocks(NOW - dt.timedelta(days=1))]

    assert asyncio.run(list_blocks()) == ["u"]


def test_going_back_gives_the_sentences_again(old_url: str) -> None:
    migrate.upgrade(old_url)
    migrate.downgrade(old_url, "0012")
    with engine_of(old_url).connect() as connection:

        def read(query: str) -> list[Any]:
            return list(connection.exec_driver_sql(query).scalars())

        assert read("SELECT error FROM run_section ORDER BY id") == [BLOCKED, ""]
        assert read("SELECT reason FROM candidate ORDER BY id") == ["undated", "agent: not news", "", "rule"]
        assert read("SELECT message FROM alarm") == [f"the site keeps us from 3 pages: {BLOCKED}"]
        assert read("SELECT reason FROM revision") == ["it leads to https://a.example/"]
