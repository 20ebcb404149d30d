"""Today: what to do first, what is new since the last visit, what ran, and what needs attention."""

import datetime as dt
import re
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import event

from monitor.config.model import Settings
from monitor.db.reading import UnseenPlace
from monitor.db.tables.collection import Item, ModelCall, Run, Source
from monitor.db.tables.delivery import AlarmFinding, AlarmKind, Delivery, DeliveryKind, DeliveryStatus
from monitor.i18n.message import Message
from monitor.page import PageError, PageErrorCode
from monitor.vocabulary import MarkAction, Phase, RunStatus

HOUR = dt.timedelta(hours=1)
LATE = PageError(code=PageErrorCode.TIMEOUT, message=Message.of("page.no_answer_in_full", seconds="30")).reason
GONE = PageError(code=PageErrorCode.NOT_FOUND, message=Message.of("page.not_found", status=404)).reason


@pytest.fixture
def desk_settings() -> Callable[[Settings], Settings]:
    def change(settings: Settings) -> Settings:
        settings.timezone = "UTC"
        settings.llm.daily_token_budget = 1000
        return settings

    return change


@pytest.fixture
def noon(desk: Any, monkeypatch: pytest.MonkeyPatch) -> dt.datetime:
    """It is noon today, so that an hour ago was today too."""
    at = desk.app.clock.now().replace(hour=12, minute=0, second=0, microsecond=0)
    monkeypatch.setattr(type(desk.app.clock), "now", lambda _: at)
    return at


class Life:
    """Puts into the database what a day brings."""

    def __init__(self, desk: Any, noon: dt.datetime) -> None:
        self.store = desk.app.store
        self.noon = noon

    async def source(self, name: str, status: RunStatus | None = RunStatus.SUCCEEDED, **facts: Any) -> Source:
        url = f"https://{name}.gov/"
        ran = {"last_run_at": self.noon - HOUR} if status else {}
        source = await self.store.sources.add(Source(name=name, url=url, created_at=self.noon, **ran, **facts))
        if status is not None:
            run = Run(id=f"run-{name}", source_id=source.id, source=name, planned_at=self.noon - HOUR, status=status)
            await self.store.runs.create(run)
        return source

    async def item(self, source: Source, title: str, *, ago: dt.timedelta = HOUR, **facts: Any) -> int:
        url = f"{source.url}{title}-{ago}"
        item = Item(
            source_id=source.id,
            source=source.name,
            section="news",
            url=url,
            url_key=url,
            title=title,
            first_seen=self.noon - ago,
            **({"run_id": "r"} | facts),
        )
        ((saved, _),) = await self.store.items.save_all([item])
        return int(saved.id or 0)


@pytest.fixture
def life(desk: Any, noon: dt.datetime) -> Life:
    return Life(desk, noon)


def words(page: Any) -> str:
    """What the page shows as text."""
    assert page.status_code == 200, page.text
    main = page.text.split("<main", 1)[1].split("</main>")[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", main))


async def test_an_empty_database_says_what_to_do_first_and_a_reader_whom_to_ask(desk: Any) -> None:
    admin = await desk.sign_in("admin", language="en")
    page = await admin.get("/")
    assert 'action="/sources/sample"' in page.text
    assert 'action="/sources/new"' in page.text
    assert re.findall(r"<h2>(.*?)</h2>", page.text) == ["Add a source", "Watch it run", "Read the briefing"]
    assert "works by rule" in words(page)
    reader = await desk.sign_in("reader", language="en")
    page = await reader.get("/")
    assert "/sources/sample" not in page.text
    assert "ask your administrator" in words(page)
    editor = await desk.sign_in("editor", language="en")
    page = await editor.get("/")
    assert "/sources/sample" not in page.text
    assert 'action="/sources/new"' in page.text


async def test_sources_that_never_ran_are_said_to_wait(desk: Any, life: Life) -> None:
    await life.source("ministry", None)
    admin = await desk.sign_in("admin", language="en")
    assert "1 source is on the list, but nothing has run yet" in words(await admin.get("/"))
    await life.store.runs.create(Run(id="first", source_id=1, source="ministry", planned_at=life.noon))
    page = words(await admin.get("/"))
    assert "The first run waits for its turn." in page
    assert "No worker is running." in page
    await life.store.runs.claim("first", executor="worker-1", at=life.noon)
    assert "The first run is in progress." in words(await admin.get("/"))


async def test_a_good_day_is_calm(desk: Any, life: Life) -> None:
    for name in ("one", "two"):
        await life.source(name)
    async with desk.app.presence.register("worker"):
        reader = await desk.sign_in("reader")
        page = words(await reader.get("/"))
        assert (await desk.app.today.get_summary("reader")).is_well
    assert "已采集的 2 个来源全部读取，没有遗漏。" in page
    assert "没有新条目" in page


async def test_what_is_new_stands_in_the_order_of_a_briefing_and_the_hidden_is_left_out(desk: Any, life: Life) -> None:
    ministry, bureau = await life.source("ministry"), await life.source("bureau")
    await life.item(ministry, "A visit", tier=5, rank=2)
    law = await life.item(ministry, "A <law>", tier=1, rank=1, summary="It <b>says</b> so.")
    await life.item(bureau, "A <law>", tier=1, rank=3)
    await life.item(ministry, "Of yesterday", ago=20 * HOUR, tier=1, rank=1)
    hidden = await life.item(ministry, "Hidden", tier=1, rank=1)
    await life.store.marks.mark(MarkAction.HIDE, [hidden], person="editor", at=life.noon, reason="twice")
    reader = await desk.sign_in("reader", language="en")
    page = await reader.get("/")
    titles = re.findall(r'<h3><a href="/items/(\d+)">(.*?)</a>', page.text)
    assert titles == [(str(law), "A &lt;law&gt;"), (titles[1][0], "A visit")]
    text = words(page)
    assert "3 new items" in text, "of two with the same title both are counted"
    assert "ministry and bureau" in text
    assert text.index("A &lt;law&gt;") < text.index("national") < text.index("A visit") < text.index("routine")
    assert "Of yesterday" not in text
    assert "Hidden" not in text


async def test_items_of_several_runs_stand_by_their_weight_whatever_tiers_and_places_their_runs_gave(
    desk: Any, life: Life
) -> None:
    ministry, bureau = await life.source("ministry"), await life.source("bureau")
    fine = await life.item(ministry, "行政处罚决定书（甲公司）", tier=1, rank=1)
    law = await life.item(bureau, "关于印发《储能电站管理办法》的通知", tier=2, rank=5, run_id="other")
    page = await (await desk.sign_in("reader", language="zh")).get("/")
    assert re.findall(r'<h3><a href="/items/(\d+)">', page.text) == [str(law), str(fine)]


async def test_a_first_run_is_said_to_be_a_baseline(desk: Any, life: Life) -> None:
    await life.item(await life.source("new <source>"), "A law", tier=1)
    await life.source("old")
    reader = await desk.sign_in("reader", language="en")
    assert "baseline" not in words(await reader.get("/"))
    await life.store.runs.update("run-new <source>", is_baseline=True)
    assert "First run (baseline) of new &lt;source&gt;: its items" in words(await reader.get("/"))


async def test_who_comes_back_after_days_sees_all_that_came_since(desk: Any, life: Life, monkeypatch: Any) -> None:
    ministry = await life.source("ministry")
    await life.item(ministry, "Two days old", ago=48 * HOUR, tier=1)
    await life.item(ministry, "Four days old", ago=96 * HOUR, tier=1)
    await life.item(ministry, "A month old", ago=720 * HOUR, tier=1)
    reader = await desk.sign_in("reader", language="en")
    assert "Two days old" not in words(await reader.get("/"))
    clock = type(desk.app.clock)
    await life.store.dashboard.save_visit("reader", life.noon - 72 * HOUR, None)
    page = words(await reader.get("/"))
    assert "Since your last visit" in page
    assert "Two days old" in page
    assert "Four days old" not in page
    monkeypatch.setattr(clock, "now", lambda _: life.noon + HOUR)
    assert "Two days old" in words(await reader.get("/")), "the sitting lasts"
    await life.store.dashboard.save_visit("reader", life.noon - 2000 * HOUR, None)
    page = words(await reader.get("/"))
    assert "Four days old" in page
    assert "A month old" not in page, "a week is as far as it goes back"


async def test_what_came_after_the_last_look_of_the_same_day_is_marked(desk: Any, life: Life) -> None:
    ministry = await life.source("ministry")
    await life.item(ministry, "Early", ago=5 * HOUR, tier=1, rank=1)
    await life.item(ministry, "Late", tier=1, rank=2)
    reader = await desk.sign_in("reader", language="en")
    await life.store.dashboard.save_visit("reader", life.noon - 3 * HOUR, None)
    await reader.get("/")
    seen = await desk.app.today.get_summary("reader")
    assert [(item.title, item.is_fresh) for item in seen.items] == [("Early", False), ("Late", True)]
    assert (await reader.get("/")).text.count('<span class="badge accent">new</span>') == 1
    assert seen.last_visit_at == life.noon - 3 * HOUR, "a program that asks does not move the mark"


async def test_a_failed_test_is_over_once_a_later_one_arrived(desk: Any, life: Life) -> None:
    def delivery(name: str, kind: DeliveryKind, status: DeliveryStatus, hours: int) -> Delivery:
        at = life.noon + hours * HOUR
        return Delivery(id=name, target="office", kind=kind, status=status, planned_at=at, key=name, message_id=name)

    await life.store.deliveries.create(delivery("test", DeliveryKind.TEST, DeliveryStatus.FAILED, -3))
    await life.store.deliveries.create(delivery("plan", DeliveryKind.PLANNED, DeliveryStatus.FAILED, -2))
    assert len(await desk.app.deliveries.list_problems()) == 2
    await life.store.deliveries.create(delivery("again", DeliveryKind.TEST, DeliveryStatus.SENT, -1))
    assert [problem.id for problem in await desk.app.deliveries.list_problems()] == ["plan"]
    seen = await desk.app.today.get_summary("reader")
    assert [entry.target for entry in seen.attention] == ["office"], "the briefing that failed is still not delivered"
    assert seen.without_operation().attention == []


async def test_what_needs_attention_is_told_with_where_to_look(desk: Any, life: Life) -> None:
    down = await life.source("down", RunStatus.FAILED, consecutive_failures=2, last_error=LATE)
    silent = await life.source("silent", schedule="0 7 * * *")
    await life.source("partly", RunStatus.DEGRADED)
    places = [UnseenPlace(section="news", url=f"https://partly.gov/{n}", reason=GONE) for n in (1, 2, 3)]
    await life.store.runs.add_unseen("run-partly", places)
    await life.store.runs.add_unseen("run-down", places[:1])
    finding = AlarmFinding(
        kind=AlarmKind.SILENCE,
        message=Message.of("alarm.silent", since="2026-01-02", days=3),
        section="<i>notices</i>",
        section_key="k",
    )
    await life.store.alarms.reconcile(
        silent.id or 0, run_id="run-silent", findings=[finding], judged_kinds={}, at=life.noon
    )
    await life.store.deliveries.create(
        Delivery(
            id="d",
            target="office",
            status=DeliveryStatus.FAILED,
            planned_at=life.noon,
            key="k",
            message_id="m",
            last_error=Message.other("550 no such user"),
        )
    )
    call = ModelCall(run_id="r", phase=Phase.RANK, model="m", prompt_tokens=900, completion_tokens=0, at=life.noon)
    await life.store.usage.add(call)
    await life.store.runs.create(Run(id="q", source_id=down.id, source="down", planned_at=life.noon))
    seen = await desk.app.today.get_summary("reader")
    assert [(str(attention.matter), attention.source, attention.count) for attention in seen.attention] == [
        ("no_worker", "", 1),
        ("budget_low", "", 90),
        ("alarm", "silent", 0),
        ("failing", "down", 2),
        ("delivery", "", 0),
        ("unread", "partly", 3),
    ]
    assert not seen.is_well
    reader = await desk.sign_in("reader")
    calm = words(await reader.get("/"))
    assert "可能缺少的内容" in calm
    assert "最近 2 次采集失败" in calm
    assert not [noise for noise in ("没有工作进程", "词元额度", "550 no such user") if noise in calm]
    page = await (await desk.sign_in("editor")).get("/")
    text = words(page)
    assert "没有工作进程在运行" in text
    assert "今日词元额度已用 90%" in text
    assert "自 2026-01-02 起没有新内容" in text
    assert "&lt;i&gt;notices&lt;/i&gt;" in text
    assert "最近 2 次采集失败" in text
    assert "网站未按时应答（30 s）" in text
    assert "550 no such user" in text
    assert "另有 2 处" in text
    assert f'href="/health/sources/{down.id}"' in page.text
    assert 'href="/runs/run-partly"' in page.text
    api = (await reader.get("/api/v1/today")).json()
    assert [attention["matter"] for attention in api["attention"]] == [
        str(attention.matter) for attention in seen.attention
    ]
    assert (api["ran"]["read"], api["ran"]["partly"], api["ran"]["failed"], api["ran"]["waiting"]) == (1, 1, 1, 1)


async def test_a_star_given_on_the_page_is_there_when_one_comes_back(desk: Any, life: Life) -> None:
    item = await life.item(await life.source("ministry"), "A law", tier=1)
    reader = await desk.sign_in("reader", language="en")
    answer = await reader.post("/items/marks", {"do": f"star-{item}", "back": "/"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert 'aria-pressed="true"' in (await reader.get("/")).text
    assert [item.starred for item in (await desk.app.today.get_summary("another")).items] == [False]


async def test_the_day_takes_no_more_queries_for_many_sources(desk: Any, life: Life) -> None:
    async def asked() -> int:
        count = 0

        def counted(*said: Any) -> None:
            nonlocal count
            count += not said[2].startswith("BEGIN")

        engine = life.store._engine.sync_engine
        event.listen(engine, "before_cursor_execute", counted)
        await desk.app.today.get_summary("reader")
        event.remove(engine, "before_cursor_execute", counted)
        return count

    await desk.sign_in("reader")
    few = await asked()
    for number in range(20):
        source = await life.source(f"s{number}", RunStatus.FAILED if number % 3 else RunStatus.DEGRADED)
        await life.item(source, f"Title {number}", tier=1)
        await life.store.runs.add_unseen(f"run-s{number}", [UnseenPlace(section="news", url=source.url, reason=LATE)])
    many = await asked()
    assert few <= many <= 17
