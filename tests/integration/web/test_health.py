"""Health: alarms in words with what to do, cadence, blocks and costs in pictures whose figures can be read."""

import datetime as dt
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from sqlalchemy import event

from monitor.config.model import Settings
from monitor.db.tables.collection import ModelCall, Run, Source, SourceSection
from monitor.db.tables.delivery import AlarmFinding, AlarmKind
from monitor.db.tables.research import SearchCall
from monitor.i18n.message import Message
from monitor.page import PageError, PageErrorCode
from monitor.vocabulary import Phase, RunStatus

NOON = dt.datetime(2026, 2, 3, 12, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)
DAY = 24 * HOUR
REFUSED = PageError(
    code=PageErrorCode.WEB_BLOCKED, detail_code="http_403", message=Message.of("page.refused", status=403)
).reason
CAPTCHA = PageError(
    code=PageErrorCode.WEB_BLOCKED, detail_code="captcha_required", message=Message("page.captcha")
).reason
LATE = PageError(code=PageErrorCode.TIMEOUT, message=Message.of("page.no_answer_in_full", seconds="30")).reason
GAP = Message.of("alarm.gap", pages=2, ended="end")
PAGES = ("/health", "/health/alarms", "/health/blocks", "/health/costs")


@pytest.fixture
def desk_settings() -> Callable[[Settings], Settings]:
    def change(settings: Settings) -> Settings:
        settings.timezone = "UTC"
        settings.llm.daily_token_budget = 4000
        return settings

    return change


@pytest.fixture
async def source(desk: Any, monkeypatch: pytest.MonkeyPatch) -> Source:
    """A source with a run and two sections, one of which has been silent for a long time; it is noon."""
    monkeypatch.setattr(type(desk.app.clock), "now", lambda _: NOON)
    store = desk.app.store
    source: Source = await store.sources.add(
        Source(name="Ministry <b>", url="https://m.gov/", created_at=NOON - DAY, schedule="0 7 * * *")
    )
    run = Run(id="run-1", source_id=source.id, source=source.name, planned_at=NOON - HOUR, status=RunStatus.DEGRADED)
    await store.runs.create(run)
    daily = [(NOON - n * DAY).date().isoformat() for n in reversed(range(20))]
    old = [(NOON - (40 + n) * DAY).date().isoformat() for n in reversed(range(20))]
    async with store.sessions.begin_write() as session:
        for number, arrivals in enumerate((daily, old)):
            url = f"https://m.gov/{number}/"
            session.add(SourceSection(source_id=source.id, name=f"s{number}", url=url, url_key=url, arrivals=arrivals))
    return source


async def alarm(desk: Any, source: Source, kind: AlarmKind, message: Message, at: dt.datetime = NOON) -> None:
    finding = AlarmFinding(kind=kind, message=message, section=f"the {kind}", section_key=str(kind))
    await desk.app.store.alarms.reconcile(source.id or 0, run_id="run-1", findings=[finding], judged_kinds={}, at=at)


def pictures(page: Any, kind: str) -> list[ET.Element]:
    """The pictures of a kind on the page, each as a strict reader sees it."""
    assert page.status_code == 200, page.text
    found = [ET.fromstring(text) for text in re.findall(r"<svg .*?</svg>", page.text, re.DOTALL)]  # noqa: S314 -- ours
    return [entry for entry in found if entry.attrib.get("class") == kind]


def cells(page: Any) -> list[list[str]]:
    """The rows of all tables, as text."""
    rows = re.findall(r"<tr>(.*?)</tr>", re.sub(r"<svg.*?</svg>", "", page.text, flags=re.DOTALL), re.DOTALL)
    return [
        [
            " ".join(re.sub(r"<[^>]+>", " ", text).split())
            for text in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
        ]
        for row in rows
    ]


@pytest.mark.parametrize("path", PAGES)
async def test_with_nothing_on_record_every_page_says_so_in_both_languages(desk: Any, path: str) -> None:
    for language in ("zh", "en"):
        page = await (await desk.sign_in("reader", language=language)).get(path)
        assert page.status_code == 200
        assert 'class="well"' in page.text
        assert not pictures(page, "chart")


async def test_an_alarm_is_told_in_words_with_what_to_do_and_stays_on_record_when_it_is_over(
    desk: Any, source: Source
) -> None:
    await alarm(desk, source, AlarmKind.GAP, GAP)
    await alarm(desk, source, AlarmKind.BLOCKED, Message.of("alarm.blocked_page", reason=REFUSED))
    reader = await desk.sign_in("reader")
    page = (await reader.get("/health")).text
    assert "有一个网页不让读取：网站拒绝显示此页（403）" in page
    assert "可以放慢采集" in page
    assert "Ministry &lt;b&gt;" in page
    assert "<b>" not in page
    count = '<span class="count" title="未解除的告警">2</span>'
    editor = await desk.sign_in("editor")
    assert count in (await editor.get("/health")).text, "the navigation counts them"
    assert count not in page, "for those who can see to them"
    await desk.app.store.alarms.reconcile(
        source.id or 0,
        run_id="run-2",
        findings=[],
        judged_kinds={"": frozenset(), "blocked": frozenset(AlarmKind)},
        at=NOON,
    )
    assert "有一个网页不让读取" not in (await reader.get("/health")).text
    past = (await reader.get("/health/alarms")).text
    assert "解除于" in past
    assert "有一个网页不让读取" in past


async def test_alarms_are_listed_page_by_page(desk: Any, source: Source) -> None:
    for kind in (AlarmKind.GAP, AlarmKind.SILENCE, AlarmKind.STRUCTURE):
        await alarm(desk, source, kind, Message.other(f"of {kind}"))
    reader = await desk.sign_in("reader")
    first = (await reader.get("/api/v1/alarms?limit=2")).json()
    second = (await reader.get(f"/api/v1/alarms?limit=2&cursor={first['next']}")).json()
    assert [entry["kind"] for entry in first["alarms"] + second["alarms"]] == ["structure", "silence", "gap"]
    assert second["next"] is None
    assert (await reader.get("/api/v1/alarms?state=past")).json() == {"alarms": [], "next": None}
    assert (await reader.get("/api/v1/alarms?cursor=nonsense")).status_code == 400
    assert (await reader.get("/api/v1/alarms?limit=0")).status_code == 422


async def test_the_number_of_open_alarms_is_counted_anew_after_a_while_only(
    desk: Any, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await desk.app.alarms.count_open_alarms() == 0
    await alarm(desk, source, AlarmKind.GAP, GAP)
    assert await desk.app.alarms.count_open_alarms() == 0
    monkeypatch.setattr(type(desk.app.clock), "now", lambda _: NOON + dt.timedelta(seconds=15))
    assert await desk.app.alarms.count_open_alarms() == 1


async def test_cadence_is_drawn_and_told_section_by_section(desk: Any, source: Source) -> None:
    reader = await desk.sign_in("reader", language="en")
    whole = await reader.get("/health")
    (strip,) = pictures(whole, "strip")
    assert strip.attrib["aria-label"] == (
        "Ministry <b>: something new on 40 of the last 90 days; last on 2026-02-03; silent from 2026-01-04"
    )
    assert any(row[2:4] == ["–", "1 day"] and row[5] == "2026-02-04 07:00" for row in cells(whole) if len(row) == 6)
    page = await reader.get(f"/health/sources/{source.id}")
    lively, silent = pictures(page, "strip")
    assert "last on 2026-02-03; silent from 2026-02-13" in lively.attrib["aria-label"]
    assert "last on 2025-12-25; silent from 2026-01-04" in silent.attrib["aria-label"]
    shaded = [[element.attrib.get("class") for element in strip.iter()].count("silence") for strip in (lively, silent)]
    assert shaded == [0, 1]
    assert (await reader.get("/health/sources/99")).status_code == 404


async def test_sources_in_trouble_come_first_and_the_rest_page_by_page(desk: Any, source: Source) -> None:
    store = desk.app.store
    for number in range(60):
        await store.sources.add(
            Source(
                name=f"n{number:02}",
                url="https://n.gov/",
                created_at=NOON,
                enabled=number != 1,
                consecutive_failures=2 if number == 59 else 0,
                last_run_at=NOON,
            )
        )
    reader = await desk.sign_in("reader", language="en")
    first = await reader.get("/health")
    names = re.findall(r'<th scope="row"><a href="/health/sources/\d+">(.*?)</a>', first.text)
    assert (names[0], len(names)) == ("n59", 50)
    assert "paused until" in first.text
    (link,) = re.findall(r'rel="next" href="([^"]+)"', first.text)
    second = await reader.get(link)
    rest = re.findall(r'<th scope="row"><a href="/health/sources/\d+">(.*?)</a>', second.text)
    assert rest[-1] == "n01", "a disabled one comes last"
    assert sorted(map(unescape, names + rest)) == sorted(entry.name for entry in await store.sources.list())
    assert 'rel="next"' not in second.text


async def test_blocks_are_drawn_by_day_and_told_by_host_and_kind(desk: Any, source: Source) -> None:
    runs = desk.app.store.runs
    for place, reason in (
        ("https://cdn.example/1", REFUSED),
        ("the list", REFUSED),
        ("https://m.gov/2", CAPTCHA),
        ("https://m.gov/3", LATE),
    ):
        await runs.add_fallback("run-1", Phase.CRAWL, place, reason, NOON)
    reader = await desk.sign_in("reader", language="en")
    body = (await reader.get("/api/v1/blocks?days=2")).json()["blocks"]
    assert [(entry["day"], entry["host"], entry["detail_code"], entry["pages"]) for entry in body] == [
        ("2026-02-03", "cdn.example", "http_403", 1),
        ("2026-02-03", "m.gov", "captcha_required", 1),
        ("2026-02-03", "m.gov", "http_403", 1),
    ]
    for path in ("/health/blocks?days=7", f"/health/sources/{source.id}"):
        page = await reader.get(path)
        assert len(pictures(page, "chart")) == 1
        assert ["2026-02-03", "1", "2"] in cells(page), path
    assert ["m.gov", "refuses (403)", "1", "2026-02-03"] in cells(await reader.get("/health/blocks"))


async def test_costs_are_drawn_by_day_and_told_by_model_and_source(desk: Any, source: Source) -> None:
    store = desk.app.store
    for ago, phase, model, tokens, cost in (
        (HOUR, Phase.CRAWL, "gpt-5", 3000, 0.5),
        (2 * HOUR, Phase.RANK, "small", 1000, None),
        (DAY, Phase.CRAWL, "gpt-5", 2000, 0.25),
        (40 * DAY, Phase.CRAWL, "gpt-5", 9999, 9.0),
    ):
        call = ModelCall(run_id="run-1", phase=phase, model=model, prompt_tokens=tokens, at=NOON - ago, cost=cost)
        await store.usage.add(call)
    await store.searches.add(SearchCall(backend="brave", route="r", at=NOON))
    reader = await desk.sign_in("reader", language="en")
    page = await reader.get("/health/costs")
    assert len(pictures(page, "chart")) == 3, "tokens, money, searches"
    rows = cells(page)
    assert ["2026-02-03", "3,000", "1,000"] in rows
    assert ["2026-02-02", "2,000", "0"] in rows
    assert ["2026-02-02", "0.25"] in rows
    assert ["2026-02-03", "1"] in rows
    assert ["gpt-5", "2", "5,000", "83%", "0.75"] in rows
    assert ["small", "1", "1,000", "17%", "–"] in rows
    assert ["Ministry &lt;b&gt;", "3", "6,000", "100%", "0.75"] in rows
    assert "4,000 / 4,000" in page.text, "today's tokens, of the budget"
    assert "daily budget" in [picture.text for picture in pictures(page, "chart")[0].iter()]
    assert "1 call was to a model without a price" in page.text
    body = (await reader.get("/api/v1/costs?days=2")).json()
    assert (body["calls"], body["tokens"], body["cost"], body["since"]) == (3, 6000, 0.75, "2026-02-02")
    assert [(cost["day"], cost["phase"]) for cost in body["costs"]] == [
        ("2026-02-03", "crawl"),
        ("2026-02-03", "rank"),
        ("2026-02-02", "crawl"),
    ]


@pytest.mark.parametrize("path", ["/health/costs?days=0", "/health/blocks?days=367", "/health/sources/0"])
async def test_what_cannot_be_meant_is_refused(desk: Any, path: str) -> None:
    assert (await (await desk.sign_in("reader")).get(path)).status_code == 422


async def test_programs_see_what_the_work_stands_on(desk: Any, source: Source) -> None:
    program = await desk.program("reader")
    async with desk.app.presence.register("worker") as name:
        body = (await program.get("/api/v1/health")).json()
    assert body["machine"]["processes"] == [{"name": name, "kind": "worker"}]
    assert body["machine"]["free_bytes"] > 0
    assert body["machine"]["database_bytes"] > 0
    (source_row,) = body["sources"]
    assert (source_row["source"], source_row["next_run_at"], len(source_row["sections"])) == (
        source.name,
        "2026-02-04T07:00:00Z",
        2,
    )
    assert source_row["sections"][0]["arrivals"][-1] == "2026-02-03"


async def test_health_takes_no_more_queries_for_many_sources(desk: Any, source: Source) -> None:
    async def asked(path: str) -> int:
        count = 0

        def counted(*said: Any) -> None:
            nonlocal count
            count += not said[2].startswith("BEGIN")

        engine = desk.app.store._engine.sync_engine
        event.listen(engine, "before_cursor_execute", counted)
        assert (await reader.get(path)).status_code == 200
        event.remove(engine, "before_cursor_execute", counted)
        return count

    reader = await desk.sign_in("reader")
    await asked(PAGES[0])  # the count of open alarms, which every page shows, serves for a while
    few = [await asked(path) for path in PAGES]
    for number in range(20):
        await desk.app.store.sources.add(Source(name=f"n{number}", url="https://n.gov/", created_at=NOON))
    assert [await asked(path) for path in PAGES] == few
    assert max(few) <= 12


async def test_a_stranger_learns_only_whether_work_can_be_done(desk: Any) -> None:
    client = await desk.client()
    for headers in ({}, {"Authorization": "Bearer no"}, {"Cookie": "monitor_session=no"}):
        found = await client.get("/readyz", headers=headers)
        assert (found.status_code, found.json()) == (503, {"is_ready": False})
    for known in (await desk.sign_in("reader"), await desk.program("reader")):
        details = (await known.get("/readyz")).json()
        assert details["database"] == "ok"
        assert details["queue"] != "ok"
        assert details.keys() == {"is_ready", "database", "queue", "storage", "browser"}


async def test_a_stranger_does_not_learn_where_a_broken_database_is(desk: Any) -> None:
    program = await desk.program("admin")
    await desk.app.store.close()
    _replace_by_folder(Path(desk.app.settings.database_url.removeprefix("sqlite:///")))
    for client in (await desk.client(), program):
        found = await client.get("/readyz")
        assert (found.status_code, found.json()) == (503, {"is_ready": False})


def _replace_by_folder(database: Path) -> None:
    for part in database.parent.glob(f"{database.name}*"):
        part.unlink()
    database.mkdir()
