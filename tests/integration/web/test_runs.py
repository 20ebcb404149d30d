"""Runs over HTTP: the history in pages, one run with its ledger, stopping and doing again, by whom it may be."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from monitor.db.reading import LedgerEntry, SectionPlan, SectionReading, UnseenPlace
from monitor.db.tables.collection import Item, ModelCall, Run, Source
from monitor.i18n.message import Message
from monitor.page import Candidate
from monitor.vocabulary import DateSource, Disposition, Phase, RunStatus, SectionEnd

NOON = datetime(2026, 2, 3, 12, tzinfo=UTC)
ENDS = [Disposition.SAVED, Disposition.KNOWN, Disposition.OUT_OF_RANGE, Disposition.LEFT]


@pytest.fixture
async def source(desk: Any) -> Source:
    source: Source = await desk.app.store.sources.add(Source(name="示例部", url="https://o.gov/", created_at=NOON))
    return source


async def add_run(desk: Any, source: Source, run_id: str, *, hours: int = 0, status: RunStatus | None = None) -> None:
    run = Run(id=run_id, source_id=source.id, source=source.name, planned_at=NOON + timedelta(hours=hours))
    await desk.app.store.runs.create(run)
    if status is not None:
        await desk.app.store.runs.end(run_id, source.id, status=status, at=NOON)


@pytest.fixture
async def read_run(desk: Any, source: Source) -> str:
    """A degraded run of one section with 240 candidates, an item, a model call and what fell back."""
    store = desk.app.store
    await add_run(desk, source, "read")
    item = Item(
        source_id=source.id,
        run_id="read",
        source=source.name,
        section="通知",
        url="https://o.gov/n/0",
        url_key="o.gov/n/0",
        title="关于<b>印发</b>的通知",
        date=date(2026, 2, 1),
        first_seen=NOON,
        rank=1,
        tier=2,
    )
    ((saved, _),) = await store.items.save_all([item])
    entries = [
        LedgerEntry(
            candidate=Candidate(
                title=f"第 {number} 号 <i>文件</i>",
                url=f"https://o.gov/n/{number}",
                date=date(2026, 2, 1),
                date_source=DateSource.LISTED,
            ),
            page_url="https://o.gov/n/",
            position=number,
            disposition=ENDS[number % 4],
            reason=Message.of("candidate.left_by_agent", text="不相关") if number % 4 == 3 else None,
            item_id=saved.id if number == 0 else None,
        )
        for number in range(240)
    ]
    plan = SectionPlan(ordinal=0, name="通知", url="https://o.gov/n/")
    unseen = [UnseenPlace(section="通知", url="https://o.gov/n/2", reason=Message("cause.ended_max_pages"))]
    reading = SectionReading(plan=plan, ended=SectionEnd.MAX_PAGES, pages=3, entries=entries, unseen=unseen)
    await store.runs.save_reading("read", source.id or 0, reading, on=date(2026, 2, 3), at=NOON)
    await store.runs.add_fallback(
        "read", Phase.CRAWL, "通知", Message.of("cause.cut_short", limit=Message("cause.ended_max_pages")), NOON
    )
    await store.usage.add(
        ModelCall(
            run_id="read", phase=Phase.RANK, place="示例部", model="m", prompt_tokens=1200, latency_ms=900, at=NOON
        )
    )
    await store.runs.end("read", source.id, status=RunStatus.DEGRADED, at=NOON)
    return "read"


@pytest.fixture
async def editor(desk: Any) -> Any:
    return await desk.sign_in("editor")


async def test_the_history_hands_out_every_run_once(desk: Any, source: Source) -> None:
    for number in range(5):
        await add_run(desk, source, f"r{number}", hours=number // 2, status=RunStatus.FAILED if number == 3 else None)
    reader = await desk.sign_in("reader")
    found: list[str] = []
    cursor = None
    while True:
        answer = (
            await reader.get("/api/v1/runs", params={"limit": 2, **({"cursor": cursor} if cursor else {})})
        ).json()
        found += [run["run_id"] for run in answer["runs"]]
        cursor = answer["next"]
        if cursor is None:
            break
    assert found == ["r4", "r3", "r2", "r1", "r0"]
    failed = (await reader.get("/api/v1/runs", params={"status": "failed", "source": "示例部"})).json()["runs"]
    assert [run["run_id"] for run in failed] == ["r3"]
    assert set(failed[0]) >= {
        "run_id",
        "source",
        "status",
        "planned_at",
        "started_at",
        "ended_at",
        "fallbacks",
        "coverage",
        "usage",
    }
    of_day = await reader.get("/api/v1/runs", params={"day": "2026-02-02"})
    assert of_day.json() == {"runs": [], "next": None}
    for odd in ("0001-01-01", "9999-12-31"):
        assert (await reader.get("/api/v1/runs", params={"day": odd, "source": "a\x00b"})).json()["runs"] == []


async def test_a_cursor_that_is_none_of_ours_is_refused(desk: Any) -> None:
    reader = await desk.sign_in("reader")
    for cursor in ("nonsense", "WzEsMl0", "WyJ4IiwieSJd"):
        answer = await reader.get("/api/v1/runs", params={"cursor": cursor})
        assert answer.status_code == 400, cursor
        assert answer.headers["content-type"] == "application/problem+json"


async def test_a_ledger_is_read_in_pages_and_by_what_became_of_candidates(desk: Any, read_run: str) -> None:
    reader = await desk.sign_in("reader")
    found: list[int] = []
    cursor = None
    while True:
        params = {"limit": 100, "disposition": "left", **({"cursor": cursor} if cursor else {})}
        answer = (await reader.get("/api/v1/runs/read/candidates", params=params)).json()
        found += [int(candidate["url"].rpartition("/")[2]) for candidate in answer["candidates"]]
        cursor = answer["next"]
        if cursor is None:
            break
    assert found == list(range(3, 240, 4))
    matching = (await reader.get("/api/v1/runs/read/candidates", params={"q": "第 239 号", "section": 0})).json()[
        "candidates"
    ]
    assert [(row["title"], row["section"], row["reason"]) for row in matching] == [
        ("第 239 号 <i>文件</i>", "通知", "模型：不相关")
    ]
    calls = (await reader.get("/api/v1/runs/read/calls")).json()
    assert [(call["phase"], call["prompt_tokens"], call["latency_ms"]) for call in calls["calls"]] == [
        ("rank", 1200, 900)
    ]
    whole = (await reader.get("/api/v1/runs/read")).json()
    assert (whole["coverage"]["left"], len(whole["items"]), whole["status"]) == (60, 1, "degraded")


async def test_a_run_that_is_not_there_is_said_so(desk: Any) -> None:
    reader = await desk.sign_in("reader", language="en")
    for path in ("", "/candidates", "/calls", "/events"):
        answer = await reader.get(f"/api/v1/runs/nobody{path}")
        assert (answer.status_code, answer.json()["title"]) == (404, "Not Found")
        assert (await reader.get(f"/api/v1/runs/a%00b{path}")).status_code == 422


async def test_every_candidate_has_its_square_and_its_row(desk: Any, read_run: str) -> None:
    reader = await desk.sign_in("reader")
    page = (await reader.get("/runs/read")).text
    rows = await desk.app.store.runs.load_ledger("read")
    assert all(f'id="s{row.id}"' in page for row in rows)
    assert page.count('<tr id="c') == 25
    assert "模型：不相关" in page
    assert "<i>" not in page
    assert "<b>印发" not in page
    last = rows[-1]
    there = (await reader.get("/runs/read", params={"at": last.id})).text
    assert f'<tr id="c{last.id}" tabindex="-1" class="wanted">' in there
    narrowed = (await reader.get("/runs/read", params={"disposition": "known", "q": "第 1"})).text
    assert narrowed.count(" dim") == 240 - len(
        [row for row in rows if row.disposition == "known" and "第 1" in row.title]
    )


async def test_the_page_of_a_run_says_why_in_the_readers_language(desk: Any, read_run: str) -> None:
    reader = await desk.sign_in("reader")
    page = (await reader.get("/runs/read")).text
    assert "读到页数上限为止" in page
    assert "行业政策、监管与标准" in page
    assert 'action="/briefings/open"' in page
    assert '<input type="hidden" name="source" value="示例部">' in page
    editor = await desk.sign_in("editor", language="en")
    english = (await editor.get("/runs/read")).text
    assert "cut short at max_pages" in english
    assert "Industry policy, supervision, standards" in english
    assert "Retry" in english
    assert "Retry" not in (await (await desk.sign_in("reader", language="en")).get("/runs/read")).text


async def test_the_list_of_runs_shows_sums_and_goes_on(desk: Any, source: Source, read_run: str) -> None:
    for number in range(60):
        await add_run(desk, source, f"r{number:02}", hours=-1 - number)
    reader = await desk.sign_in("reader")
    page = (await reader.get("/runs")).text
    assert page.count("<tr>") == 51
    assert ">240<" in page
    following = page.partition('rel="next" href="')[2].partition('"')[0].replace("&amp;", "&")
    assert (await reader.get(following)).text.count("<tr>") == 12
    assert "没有符合条件的采集" in (await reader.get("/runs", params={"status": "failed"})).text
    assert (await reader.get("/runs", params={"status": "", "day": "", "source": ""})).text.count("<tr>") == 51


async def test_a_run_is_stopped_once_and_the_audit_says_by_whom(desk: Any, source: Source) -> None:
    await add_run(desk, source, "waits")
    editor = await desk.sign_in("editor")
    answer = await editor.send("POST", "/api/v1/runs/waits/cancel")
    assert (answer.status_code, answer.json()) == (202, {"run_id": "waits", "status": "cancelled"})
    assert (await editor.send("POST", "/api/v1/runs/waits/cancel")).status_code == 409
    assert (await editor.post("/runs/waits/cancel")).headers["location"] == "/runs/waits"
    (entry,) = await desk.app.audit.list_entries(action="run")
    assert (entry.person, entry.action, entry.subject) == ("editor", "run.cancel", "waits")
    reader = await desk.sign_in("reader")
    assert (await reader.send("POST", "/api/v1/runs/waits/cancel")).status_code == 403
    assert (await editor.client.post("/runs/waits/cancel")).status_code == 403, "a form that is not ours"


async def test_a_run_is_done_again_by_the_service_from_where_it_failed(
    desk: Any, source: Source, read_run: str, editor: Any
) -> None:
    assert (await editor.send("POST", "/api/v1/runs/read/retry")).status_code == 400, "no worker is running"
    async with desk.app.presence.register("worker"):
        answer = await editor.send("POST", "/api/v1/runs/read/retry")
        assert (answer.status_code, answer.json()) == (202, {"run_id": "read", "status": "queued"})
        assert (await editor.send("POST", "/api/v1/runs/read/retry")).status_code == 409
        await add_run(desk, source, "fine", status=RunStatus.SUCCEEDED)
        again = await editor.post("/runs/fine/retry")
    assert again.headers["location"] == "/runs/read", "its source has a run that waits already"


async def test_sources_are_run_by_name_and_each_has_one_run_at_a_time(desk: Any, source: Source, editor: Any) -> None:
    async with desk.app.presence.register("worker"):
        answer = await editor.send("POST", "/api/v1/runs", json={"sources": ["示例部", "示例部"]})
        assert answer.status_code == 202
        (asked,) = answer.json()["runs"]
        run = await desk.app.store.runs.get(asked["run_id"])
        assert run.status is RunStatus.QUEUED
        assert (await editor.send("POST", "/api/v1/runs", json={"sources": ["示例部"]})).json()["runs"] == [asked]
        assert (await editor.send("POST", "/api/v1/runs", json={"sources": ["nobody"]})).status_code == 404
    program = await desk.program("editor", scopes=["read", "write"])
    assert (await program.post("/api/v1/runs", json={"sources": ["示例部"]})).status_code == 403
