"""Briefings from a real database."""

import datetime as dt
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from sqlalchemy import event

from benchmarks.scripted_model.server import ScriptedModel
from monitor.briefing.compose import Briefing
from monitor.briefing.render import render_briefing
from monitor.config.llm import LlmSettings
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.queries.usage import Day
from monitor.db.tables.collection import Item, Run, RunSection, Source
from monitor.db.tables.delivery import Alarm, AlarmFinding, AlarmKind
from monitor.db.tables.evidence import ItemSnapshot, Revision
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.isolation.pool import WorkerPool
from monitor.llm.chat import ChatModel
from monitor.llm.client import ModelClient
from monitor.page import ChangeKind, PageSnapshot
from monitor.services.briefings import BriefingQuery, BriefingService
from monitor.verify.grounding import find_ungrounded_numbers
from monitor.vocabulary import ItemType, MarkAction, Phase, RankDirection, RunStatus, SummaryBy, Verdict
from tests.conftest import name_services

Write = Callable[..., Awaitable[Briefing]]
NOW = dt.datetime(2026, 11, 21, 8, tzinfo=dt.UTC)
TODAY = dt.date(2026, 11, 21)


class At:
    """A clock that a test sets."""

    def __init__(self, at: dt.datetime) -> None:
        self.at = at

    def now(self) -> dt.datetime:
        return self.at


@pytest.fixture
async def store(sqlite_url: str) -> AsyncIterator[Store]:
    async with Store.open(sqlite_url) as store:
        await store.check()
        yield store


@pytest.fixture
def write(store: Store, clock: Any, workers: WorkerPool) -> Write:
    """Writes the briefing that these fields ask for, by rule."""
    service = BriefingService(store=store, clock=clock, settings=Settings(), workers=workers)
    return lambda **fields: service.compose(BriefingQuery(**fields))


async def _source(store: Store, name: str, **fields: Any) -> Source:
    return await store.sources.add(Source(name=name, url=f"https://{name}.example/", created_at=NOW, **fields))


async def _run(store: Store, source: Source, status: RunStatus, *, at: dt.datetime = NOW, **fields: Any) -> str:
    run = Run(
        id=f"{source.name}-{at:%d%H}", source_id=source.id, source=source.name, status=status, planned_at=at, **fields
    )
    await store.runs.create(run)
    return run.id


async def _item(store: Store, source: Source, run_id: str, title: str, **fields: Any) -> Item:
    values = {"type": ItemType.NOTICE, "date": TODAY, "first_seen": NOW, "section": "s", **fields}
    url = f"https://{source.name}.example/{title}"
    item = Item(source_id=source.id, source=source.name, run_id=run_id, url=url, url_key=url, title=title, **values)
    return (await store.items.save(item))[0]


async def test_items_of_one_run_keep_the_order_that_the_run_gave_them(store: Store, write: Write) -> None:
    source = await _source(store, "a")
    run_id = await _run(store, source, RunStatus.SUCCEEDED)
    await _item(store, source, run_id, "关于培训班的通知", rank=1, tier=5)
    await _item(store, source, run_id, "中华人民共和国能源法", type=ItemType.LAW, rank=2, tier=1)
    briefing = await write()
    assert [(item.title, item.rank) for item in briefing.items] == [
        ("关于培训班的通知", 1),
        ("中华人民共和国能源法", 2),
    ]


async def test_items_of_several_runs_are_ranked_together_by_the_rules(store: Store, write: Write) -> None:
    one, other = await _source(store, "a"), await _source(store, "b")
    first, second = await _run(store, one, RunStatus.SUCCEEDED), await _run(store, other, RunStatus.SUCCEEDED)
    await _item(store, one, first, "局长会见来访客人", type=ItemType.NEWS, rank=1, tier=5)
    await _item(store, one, first, "中华人民共和国能源法", type=ItemType.LAW, rank=2, tier=1, date=dt.date(2026, 11, 1))
    await _item(store, other, second, "国家能源发展规划", type=ItemType.PLAN, rank=9, tier=1)
    briefing = await write(top=2)
    assert [(item.title, item.rank) for item in briefing.items] == [
        ("中华人民共和国能源法", 1),
        ("国家能源发展规划", 2),
    ]
    assert [item.title for item in briefing.more] == ["局长会见来访客人"]


async def test_the_period_is_counted_in_the_time_zone_of_the_service(store: Store, write: Write) -> None:
    source = await _source(store, "a")
    run_id = await _run(store, source, RunStatus.SUCCEEDED)
    midnight = dt.datetime(2026, 11, 20, 16, tzinfo=dt.UTC)  # in Shanghai
    await _item(store, source, run_id, "今天", first_seen=midnight)
    await _item(store, source, run_id, "昨天", first_seen=midnight - dt.timedelta(seconds=1))
    assert [item.title for item in (await write()).items] == ["今天"]
    assert len((await write(days=2)).items) == 2
    yesterday = await write(day=dt.date(2026, 11, 20))
    assert [item.title for item in yesterday.items] == ["昨天"]


async def test_a_briefing_names_sources_that_failed_fell_back_or_never_ran(store: Store, write: Write) -> None:
    failed, degraded = await _source(store, "failed"), await _source(store, "degraded", tags=["x"])
    await _source(store, "idle")
    await _source(store, "off", enabled=False)
    await _run(store, failed, RunStatus.FAILED, error=Message("cause.nothing_there"), is_baseline=True)
    run_id = await _run(store, degraded, RunStatus.DEGRADED)
    await store.runs.add_fallback(run_id, Phase.RANK, "degraded", Message.other("the answer holds no numbers"), NOW)
    briefing = await write()
    states = {state.name: state.status for state in briefing.sources}
    assert states == {"degraded": RunStatus.DEGRADED, "failed": RunStatus.FAILED, "idle": None}
    assert briefing.baselines == ["failed"]
    kinds = {(gap.source, gap.kind) for gap in briefing.gaps}
    assert {("failed", "failed"), ("degraded", "degraded"), ("idle", "never_run")} <= kinds
    tagged = await write(tags=["x"])
    assert [state.name for state in tagged.sources] == ["degraded"]
    named = await write(sources=["off"])
    assert [state.name for state in named.sources] == ["off"]


async def test_items_are_chosen_by_type_and_by_words_of_title_summary_or_text(store: Store, write: Write) -> None:
    source = await _source(store, "a")
    run_id = await _run(store, source, RunStatus.SUCCEEDED)
    await _item(store, source, run_id, "关于储能电站的通知")
    await _item(store, source, run_id, "关于检查的通知", summary="检查储能设施。", summary_by=SummaryBy.MODEL)
    text = await _item(store, source, run_id, "关于值班的公告", type=ItemType.ANNOUNCEMENT)
    await store.items.update(text.id or 0, text="值班人员每日巡视储能设施与 BMS 系统。")
    await _item(store, source, run_id, "关于培训的通知")

    async def titles(**fields: Any) -> set[str]:
        return {item.title for item in (await write(**fields)).items}

    assert await titles(keywords=["储能"]) == {"关于储能电站的通知", "关于检查的通知", "关于值班的公告"}
    assert await titles(keywords=["bms", "培训"]) == {"关于值班的公告", "关于培训的通知"}
    assert await titles(keywords=["储能"], types=[ItemType.ANNOUNCEMENT]) == {"关于值班的公告"}
    assert await titles(keywords=[" "]) == await titles()
    nothing = await write(keywords=["无人提到"])
    assert (nothing.items, nothing.sources[0].new_items) == ([], 4)
    assert "silent" not in {gap.kind for gap in nothing.gaps}


async def test_after_a_briefing_the_next_one_brings_what_is_new_since_and_nothing_twice(
    store: Store, workers: WorkerPool
) -> None:
    clock = At(NOW)
    service = BriefingService(store=store, clock=clock, settings=Settings(), workers=workers)
    source = await _source(store, "a")
    run_id = await _run(store, source, RunStatus.SUCCEEDED)
    await _item(store, source, run_id, "国家能源发展规划", first_seen=NOW - dt.timedelta(minutes=30))
    first = await service.compose(BriefingQuery(days=7))
    # One was first seen before that briefing was written, but came on record only afterwards.
    await _item(store, source, run_id, "关于开展检查的通知", first_seen=NOW - dt.timedelta(minutes=1))
    await _item(store, source, run_id, "电力市场运行办法", first_seen=NOW + dt.timedelta(hours=9))
    clock.at = NOW + dt.timedelta(days=1)
    second = await service.compose(BriefingQuery(days=7, previous=first))
    assert [item.title for item in first.items] == ["国家能源发展规划"]
    assert {item.title for item in second.items} == {"关于开展检查的通知", "电力市场运行办法"}
    assert second.period.since == TODAY


async def test_a_briefing_that_was_written_after_its_last_day_loses_nothing_of_the_hours_between(
    store: Store, workers: WorkerPool
) -> None:
    clock = At(NOW)
    service = BriefingService(store=store, clock=clock, settings=Settings(), workers=workers)
    source = await _source(store, "a")
    run_id = await _run(store, source, RunStatus.SUCCEEDED)
    await _item(store, source, run_id, "国家能源发展规划", first_seen=NOW - dt.timedelta(hours=6))
    late = await service.compose(BriefingQuery(day=TODAY - dt.timedelta(days=1)))
    assert late.items == []
    assert [item.title for item in (await service.compose(BriefingQuery(previous=late))).items] == ["国家能源发展规划"]


async def test_a_change_is_told_once(store: Store, workers: WorkerPool) -> None:
    clock = At(NOW + dt.timedelta(minutes=10))
    service = BriefingService(store=store, clock=clock, settings=Settings(), workers=workers)
    source = await _source(store, "a")
    item = await _item(store, source, await _run(store, source, RunStatus.SUCCEEDED), "管理办法")
    snapshot = ItemSnapshot.from_page(item.id or 0, "r", PageSnapshot(url=item.url, seen_at=NOW))
    revision = Revision(item_id=item.id, run_id="r", seen_at=NOW, kind=ChangeKind.WITHDRAWN)
    await store.revisions.save(snapshot, revision=revision)
    first = await service.compose(BriefingQuery())
    clock.at += dt.timedelta(hours=3)
    assert len(first.changes) == 1
    assert (await service.compose(BriefingQuery(previous=first))).changes == []


async def test_one_document_of_two_sources_is_one_entry_with_its_explanation_under_it(
    store: Store, write: Write
) -> None:
    ministry, bureau = await _source(store, "国家能源署"), await _source(store, "东海省能源局")
    title = "国家能源署关于加快储能发展的指导意见"
    first, second = await _run(store, ministry, RunStatus.SUCCEEDED), await _run(store, bureau, RunStatus.SUCCEEDED)
    number = {"document_number": "国能发〔2026〕58号", "issuer": "国家能源署"}
    await _item(store, ministry, first, title, type=ItemType.POLICY, **number)
    await _item(store, bureau, second, f"转载：{title}", type=ItemType.POLICY, **number)
    reading = "《国家能源署关于加快储能发展的指导意见》政策解读"
    await _item(store, ministry, first, reading, type=ItemType.INTERPRETATION)
    await _item(store, bureau, second, "关于召开座谈会的通知")
    briefing = await write(top=1)
    [lead] = briefing.items
    assert (lead.title, lead.source, lead.rank) == (title, "国家能源署", 1)
    assert [place.source for place in lead.places] == ["东海省能源局"]
    assert [interpretation.title for interpretation in lead.interpretations] == [reading]
    assert [more.title for more in briefing.more] == ["关于召开座谈会的通知"]
    assert len(briefing.item_ids) == 4


async def test_changes_seen_in_the_period_are_told_of_the_items_that_are_meant(store: Store, write: Write) -> None:
    source = await _source(store, "a", tags=["x"])
    old = await _item(
        store,
        source,
        await _run(store, source, RunStatus.SUCCEEDED),
        "管理办法",
        first_seen=NOW - dt.timedelta(days=40),
    )
    edits = [{"op": "changed", "part": "article", "article": "第七条", "before": "甲", "after": "乙"}]
    for seen_at in (NOW, NOW - dt.timedelta(days=3)):
        revision = Revision(item_id=old.id, run_id="r", seen_at=seen_at, kind=ChangeKind.CHANGED, edits=edits)
        snapshot = ItemSnapshot.from_page(old.id or 0, "r", PageSnapshot(url=old.url, seen_at=seen_at))
        await store.revisions.save(snapshot, revision=revision)
    briefing = await write()
    assert briefing.items == []
    assert [(change.title, change.articles) for change in briefing.changes] == [("管理办法", {"changed": ["第七条"]})]
    assert len((await write(days=7)).changes) == 2
    assert (await write(tags=["y"])).changes == []
    assert (await write(keywords=["规划"])).changes == []


async def test_possible_gaps_of_any_run_and_open_alarms_stand_at_the_end(store: Store, write: Write) -> None:
    source = await _source(store, "a")
    earlier = await _run(store, source, RunStatus.SUCCEEDED, at=NOW - dt.timedelta(hours=3))
    later = await _run(store, source, RunStatus.SUCCEEDED)
    async with store.sessions.begin_write() as session:
        for run_id, is_gap in ((earlier, True), (later, False)):
            url = "https://a.example/gg/"
            session.add(RunSection(run_id=run_id, ordinal=0, name="公告", url=url, is_gap=is_gap))
    finding = AlarmFinding(kind=AlarmKind.STRUCTURE, message="the list shrank from 20 candidates to 2", section="公告")
    await store.alarms.reconcile(source.id or 0, run_id=later, findings=[finding], judged_kinds={}, at=NOW)
    gaps = [
        (gap.kind, gap.place, gap.reason and render(gap.reason, "en"), gap.url)
        for gap in (await write()).gaps
        if gap.kind != "silent"
    ]
    assert gaps == [
        ("possible_gap", "公告", None, "https://a.example/gg/"),
        ("structure", "公告", "the list shrank from 20 candidates to 2", None),
    ]


async def test_a_briefing_asks_as_little_of_many_sources_and_runs_as_of_one(store: Store, write: Write) -> None:
    statements: list[str] = []
    event.listen(store._engine.sync_engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))

    async def count() -> int:
        statements.clear()
        assert len((await write()).gaps) == len(await store.sources.list()), "each source is silent"
        return len(statements)

    await _run(store, await _source(store, "a"), RunStatus.SUCCEEDED)
    alone = await count()
    for name in ("b", "c", "d"):
        source = await _source(store, name)
        for hours in range(5):
            await _run(store, source, RunStatus.SUCCEEDED, at=NOW - dt.timedelta(hours=hours))
    assert await count() == alone


async def test_an_alarm_that_opened_long_ago_stands_behind_a_thousand_newer_ones(store: Store, write: Write) -> None:
    source = await _source(store, "a")
    finding = AlarmFinding(kind=AlarmKind.SILENCE, message=Message("cause.possible_gap"))
    early = NOW - dt.timedelta(days=90)
    await store.alarms.reconcile(source.id or 0, run_id="r", findings=[finding], judged_kinds={}, at=early)
    async with store.sessions.begin_write() as session:
        values = finding.model_dump() | {"source_id": source.id, "run_id": "r", "raised_at": NOW, "cleared_at": NOW}
        session.add_all([Alarm(**values | {"cleared_at": NOW - dt.timedelta(days=2)}) for _ in range(1000)])
    assert "silence" in [gap.kind for gap in (await write()).gaps]


SUMMARIES = {
    "关于深化绿色电价改革的实施意见": "午间低谷时段由3小时延长到5小时，峰谷价差不低于4比1。各地2027年3月底前出台方案。",
    "绿色电力证书核发和交易管理办法": "办法共7章46条，自2027年1月1日起施行。证书有效期24个月。",
    "新型储能电站安全监督管理规定": "电站每3年开展一次安全评估，事故1小时内报告。",
}


async def _gathered(store: Store) -> None:
    """Three items of three sources, with the texts that their summaries rest on."""
    for name, (title, summary) in zip("abc", SUMMARIES.items(), strict=True):
        source = await _source(store, name)
        run_id = await _run(store, source, RunStatus.SUCCEEDED)
        fields = {"summary": summary, "summary_by": SummaryBy.MODEL, "rank": 1}
        item = await _item(store, source, run_id, title, type=ItemType.POLICY, **fields)
        await store.items.update(item.id or 0, text=f"{title}\n{summary}\n本文件由起草单位负责解释。")


async def _written_by(scripted: ScriptedModel, store: Store, clock: Any, workers: WorkerPool, **llm: Any) -> Briefing:
    async with scripted.serve() as url:
        server = ModelClient(LlmSettings(base_url=url, max_retries=0, **llm), name_services(url))

        async def new_model(run_id: str, run_store: Store) -> ChatModel:
            return server.for_run(run_id, record=run_store.usage.add, clock=clock)

        service = BriefingService(store=store, clock=clock, settings=Settings(), workers=workers, new_model=new_model)
        try:
            return await service.compose(BriefingQuery())
        finally:
            await server.close()


async def test_a_model_ranks_all_sources_together_and_writes_an_overview_whose_sentences_cite_items(
    store: Store, clock: Any, workers: WorkerPool
) -> None:
    await _gathered(store)
    scripted = ScriptedModel()
    briefing = await _written_by(scripted, store, clock, workers)
    assert (briefing.ranked_by, briefing.overview_dropped, briefing.model_faults) == ("model", 0, [])
    ids = {item.id for item in briefing.items}
    assert len(briefing.overview) == 3
    assert all(sentence.items and set(sentence.items) <= ids for sentence in briefing.overview)
    assert len(scripted.requests) == 3
    assert [line.verdict for line in briefing.headlines] == [Verdict.SUPPORTED] * 3
    assert all(line.why in SUMMARIES[line.title] for line in briefing.headlines)


async def test_of_a_model_that_invents_no_figure_and_no_date_reaches_the_overview_and_the_rest_is_counted(
    store: Store, clock: Any, workers: WorkerPool
) -> None:
    await _gathered(store)
    briefing = await _written_by(ScriptedModel("hallucinating"), store, clock, workers)
    texts = {item.id: f"{item.title}\n{item.summary}" for item in briefing.items}
    assert len(briefing.overview) == 3
    # What the model says of why is dropped; what stands there is the reason of the rank, by rule, and no fact.
    assert [line.verdict for line in briefing.headlines] == [None] * 3
    assert all(re.search(r"规则|政策", line.why) and not re.search(r"\d", line.why) for line in briefing.headlines)
    for sentence in briefing.overview:
        assert not find_ungrounded_numbers(sentence.text, "\n".join(texts[item] for item in sentence.items))
        assert "87.3" not in sentence.text
        assert "2031" not in sentence.text
        assert "未来的若干意见" not in sentence.text
    assert briefing.overview_dropped == 3 * 6


@pytest.mark.parametrize("mode", ["empty", "http_500"])
async def test_a_briefing_whose_model_fails_is_ranked_by_rule_without_an_overview_and_says_so(
    store: Store, clock: Any, mode: str, workers: WorkerPool
) -> None:
    await _gathered(store)
    briefing = await _written_by(ScriptedModel(mode), store, clock, workers)
    assert (briefing.ranked_by, briefing.overview) == ("rule", [])
    assert [fault.task for fault in briefing.model_faults] == ["ranking", "headlines", "overview"]
    assert [item.title for item in briefing.items] == [item.title for item in await _by_rule(store, clock, workers)]


@pytest.mark.parametrize("mode", ["fenced", "malformed", "obedient", "lazy", "looping"])
async def test_however_a_model_writes_the_briefing_stands(
    store: Store, clock: Any, mode: str, workers: WorkerPool
) -> None:
    await _gathered(store)
    briefing = await _written_by(ScriptedModel(mode), store, clock, workers)
    assert len(briefing.items) == 3
    assert all(sentence.items for sentence in briefing.overview)


async def test_the_completions_of_a_briefing_are_booked_under_its_own_id_and_held_against_the_budget(
    store: Store, clock: Any, workers: WorkerPool
) -> None:
    await _gathered(store)
    await _written_by(ScriptedModel(), store, clock, workers)
    ever = Day(NOW.date(), NOW - dt.timedelta(days=1000), NOW + dt.timedelta(days=1000))
    assert {(spending.source, spending.phase, spending.calls) for spending in await store.usage.load_daily([ever])} == {
        (None, Phase.RANK, 1),
        (None, Phase.SUMMARISE, 2),
    }
    scripted = ScriptedModel()
    poor = await _written_by(scripted, store, clock, workers, run_token_budget=10)
    assert (poor.ranked_by, len(scripted.requests)) == ("rule", 0)
    assert all(fault.reason.code == "cause.model_budget" for fault in poor.model_faults)


async def _by_rule(store: Store, clock: Any, workers: WorkerPool) -> list[Any]:
    briefing = await BriefingService(store=store, clock=clock, settings=Settings(), workers=workers).compose(
        BriefingQuery()
    )
    return briefing.items


async def test_feedback_moves_an_item_into_the_next_tier_and_the_briefing_says_so(store: Store, write: Write) -> None:
    source, other = await _source(store, "a"), await _source(store, "b")
    run_id, second = await _run(store, source, RunStatus.SUCCEEDED), await _run(store, other, RunStatus.SUCCEEDED)
    await _item(store, source, run_id, "光伏产业统计数据", type=ItemType.DATA, tier=3)
    await _item(store, source, run_id, "第二批入选名单公示", tier=4)
    notice = await _item(store, other, second, "第三批入选名单公示", tier=4, date=dt.date(2026, 11, 1))
    await store.marks.save_feedback("wang", notice.id or 0, RankDirection.HIGHER, at=NOW)
    briefing = await write()
    assert [(item.title, item.tier, item.moved) for item in briefing.items] == [
        ("第三批入选名单公示", 3, RankDirection.HIGHER),
        ("光伏产业统计数据", 3, None),
        ("第二批入选名单公示", 4, None),
    ]
    assert "moved up: feedback" in render_briefing(await write(language="en"), "html").decode()
    assert "按反馈上调" in render_briefing(briefing, "md").decode()


async def test_hidden_items_are_left_out_with_what_became_of_them(store: Store, write: Write) -> None:
    source = await _source(store, "a")
    run_id = await _run(store, source, RunStatus.SUCCEEDED)
    hidden = await _item(store, source, run_id, "关于组织申报的通知")
    await _item(store, source, run_id, "国家能源发展规划", type=ItemType.PLAN)
    await store.marks.mark(MarkAction.HIDE, [hidden.id or 0], person="wang", at=NOW, reason="重复")
    revision = Revision(item_id=hidden.id or 0, run_id=run_id, seen_at=NOW, kind=ChangeKind.WITHDRAWN)
    snapshot = ItemSnapshot.from_page(hidden.id or 0, run_id, PageSnapshot(url="https://a.example/", seen_at=NOW))
    await store.revisions.save(snapshot, revision=revision)
    briefing = await write()
    assert [item.title for item in briefing.items] == ["国家能源发展规划"]
    assert briefing.changes == []
    await store.marks.mark(MarkAction.UNHIDE, [hidden.id or 0], person="wang", at=NOW)
    assert (len((await write()).items), len((await write()).changes)) == (2, 1)
