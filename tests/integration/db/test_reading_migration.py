"""Migration 0020: ledgers and manifests that runs share, made from those that each run had of its own, and back."""

import asyncio
import datetime as dt
import json
from typing import Any

from sqlalchemy import MetaData, Table, text

from monitor.db import migrate
from monitor.db.database import Store
from monitor.db.engines import DatabaseAddress, open_migration_engine
from monitor.db.reading import LedgerEntry, SectionPlan, SectionReading
from monitor.i18n.message import Message
from monitor.page import Candidate
from monitor.services.recording import RunManifest
from monitor.vocabulary import DateSource, Disposition, SectionEnd

AT = dt.datetime(2026, 2, 3, 8, tzinfo=dt.UTC)
_REASON = Message.of("candidate.left_by_agent", text="旧")

_SECTION = {
    "id": 1,
    "source_id": 1,
    "name": "通知",
    "url": "https://a.example/n/",
    "url_key": "a.example/n",
    "is_unfinished": False,
    "tail_date": None,
    "head": ["a.example/1"],
    "arrivals": [],
}


def _build_manifest(run: int) -> dict[str, Any]:
    source = {"id": 1, "name": "s", "url": "https://a.example/", "created_at": "2026-01-01T00:00:00Z"}
    read = {"last_read_at": f"2026-02-0{run}T08:00:00Z", "last_complete_on": f"2026-02-0{run}"}
    return {
        "today": "2026-02-03",
        "window": {"since": "2026-01-28", "until": "2026-02-03", "is_fixed": False},
        "at": f"2026-02-03T08:0{run}:00Z",
        "is_baseline": False,
        "source": {**source, "last_run_at": None, "last_success_at": f"2026-02-0{run}T08:00:00Z"},
        "memory": {"sections": [{**_SECTION, **read}], "over_limit": [], "known_urls": 2, "items": run},
        "limits": {"max_items": 20},
        "render": "auto",
        "max_bytes": 1000,
        "timezone": "UTC",
        "has_model": False,
        "can_draw": False,
        "prompts": {},
        "wishes": [],
    }


def _fill(url: str) -> None:
    """Three runs of which two read the same."""
    with open_migration_engine(DatabaseAddress.parse(url)).begin() as connection:

        def insert(table: str, **values: Any) -> None:
            connection.execute(Table(table, MetaData(), autoload_with=connection).insert(), values)

        source = {"kind": "site", "rules": "", "allow_other_hosts": True, "summary_language": "zh", "enabled": True}
        lists = {name: [] for name in ("focus_areas", "sections", "keywords_include", "keywords_exclude", "tags")}
        insert("source", id=1, name="s", url="u", created_at=AT, consecutive_failures=0, **source, **lists)
        for run in (1, 2, 3):
            flags = {"is_baseline": False, "is_cancel_requested": False}
            insert("run", id=f"r{run}", source_id=1, source="s", status="succeeded", planned_at=AT, **flags)
            counts = dict.fromkeys(("pages", "refused_saves", "corrected_dates", "listed_dated"), 1)
            values = {"name": "通知", "url": "u", "found_by": "rule", "candidates": 2, "is_gap": False, "error": ""}
            insert("run_section", run_id=f"r{run}", ordinal=0, **counts, **values)
            for position in (0, 1):
                reason = json.dumps(_REASON.to_json(), sort_keys=True) if position else ""
                insert(
                    "candidate",
                    run_id=f"r{run}",
                    section=0,
                    position=position,
                    page_url="https://a.example/n/",
                    url=f"https://a.example/{position}",
                    url_key=f"a.example/{position}",
                    title=f"标题{position}",
                    date=None if position else dt.date(2026, 2, 1),
                    date_source="listed",
                    disposition="saved" if run == 1 else "known",
                    reason=reason,
                )
            insert("outset", run_id=f"r{run}", facts=_build_manifest(run))


def _fetch(url: str, query: str) -> list[Any]:
    with open_migration_engine(DatabaseAddress.parse(url)).connect() as connection:
        return [tuple(row) for row in connection.execute(text(query))]


def test_ledgers_of_an_older_version_are_shared_and_those_of_this_one_with_them(empty_url: str) -> None:
    migrate.upgrade(empty_url, "0019")
    _fill(empty_url)
    migrate.upgrade(empty_url)

    async def read_again() -> None:
        entries = [
            LedgerEntry(
                candidate=Candidate(
                    title=f"标题{position}",
                    url=f"https://a.example/{position}",
                    date=None if position else dt.date(2026, 2, 1),
                    date_source=DateSource.LISTED,
                ),
                page_url="https://a.example/n/",
                position=position,
                disposition=Disposition.KNOWN,
                reason=_REASON if position else None,
            )
            for position in (0, 1)
        ]
        reading = SectionReading(
            plan=SectionPlan(ordinal=0, name="通知", url="u"), ended=SectionEnd.END, entries=entries
        )
        async with Store.open(empty_url) as store:
            await store.runs.save_reading("r3", 1, reading, on=AT.date(), at=AT)
            details = await store.history.load_details(["r1", "r2", "r3"])
            assert [details[name].coverage.known for name in ("r1", "r2", "r3")] == [0, 2, 2]
            assert details["r1"].coverage.saved == 2
            assert [row.reason for row in await store.runs.load_ledger("r2")] == [None, _REASON]
            for run in (1, 2):
                facts = await store.evidence.get_manifest(f"r{run}")
                assert facts is not None
                manifest = RunManifest.merge(facts)
                assert manifest.memory.items == run
                assert manifest.memory.sections[0]["last_complete_on"] == f"2026-02-0{run}"
                assert manifest.source["last_success_at"] == f"2026-02-0{run}T08:00:00Z"

    asyncio.run(read_again())
    assert _fetch(empty_url, "SELECT COUNT(*) FROM reading") == [(2,)]
    assert _fetch(empty_url, "SELECT COUNT(*) FROM candidate") == [(4,)]
    assert _fetch(empty_url, "SELECT COUNT(*) FROM manifest_part") == [(3,)]


def test_going_back_gives_each_run_its_own_again(empty_url: str) -> None:
    query = "SELECT run_id, section, position, url, title, disposition, reason FROM candidate ORDER BY run_id, position"
    migrate.upgrade(empty_url, "0019")
    _fill(empty_url)
    before = _fetch(empty_url, query)
    migrate.upgrade(empty_url)
    migrate.downgrade(empty_url, "0019")
    assert _fetch(empty_url, query) == before
    ((facts,), *_) = _fetch(empty_url, "SELECT facts FROM outset ORDER BY run_id")
    kept = facts if isinstance(facts, dict) else json.loads(facts)
    expected = _build_manifest(1)
    expected["memory"]["sections"][0]["last_read_at"] = None
    assert kept == expected
