import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.briefing.compose import Briefing, Period, attach_overview, build_changed_item, compose_briefing, drop_gaps
from monitor.briefing.gaps import OpenAlarm, SourceRunSummary
from monitor.briefing.item import FallbackSchema, build_item_schema
from monitor.briefing.layout import build_document
from monitor.briefing.order import Ranking
from monitor.briefing.overview import Overview, OverviewSentence
from monitor.briefing.render import render_briefing
from monitor.db.queries.briefing import BriefingFacts
from monitor.db.reading import UnseenPlace
from monitor.db.tables.collection import Item
from monitor.db.tables.delivery import AlarmKind
from monitor.db.tables.evidence import Revision
from monitor.db.tables.policies import Deadline, TopicFit
from monitor.dedupe.clusters import DocumentCluster
from monitor.document import DocumentFacts, StatedDeadline
from monitor.i18n.message import Message
from monitor.page import ChangeKind, EditOperation
from monitor.vocabulary import (
    DateSource,
    DeadlineKind,
    DocumentKind,
    ItemType,
    Phase,
    PolicyStage,
    RunStatus,
    SummaryBy,
)

NOW = dt.datetime(2026, 2, 3, 8, 0, tzinfo=dt.UTC)
SCHEMA_FIELDS = [
    *(
        "id",
        "source",
        "section",
        "title",
        "url",
        "date",
        "date_source",
        "type",
        "summary",
        "summary_by",
        "rank",
        "tier",
    ),
    *("by", "late", "document_number", "issuer", "language", "first_seen", "attachments", "evidence", "date_conflict"),
    "statements",
    "rank_reason",
]


def item(number: int, **fields: Any) -> Item:
    values: dict[str, Any] = {
        "id": number,
        "run_id": "run-1",
        "source": "能源局",
        "section": "通知",
        "url": f"https://gov.example/{number}",
        "url_key": str(number),
        "title": f"第{number}号文件",
        "date": dt.date(2026, 2, 1 + (number - 1) % 28),
        "type": ItemType.NOTICE,
        "date_source": DateSource.LISTED,
        "rank": number,
        "tier": 4,
        "first_seen": NOW,
    }
    return Item(**(values | fields))


def briefing(items: Sequence[Item | DocumentCluster], states: list[SourceRunSummary], **more: Any) -> Briefing:
    values: dict[str, Any] = {
        "period": Period(since=dt.date(2026, 1, 28), until=dt.date(2026, 2, 3)),
        "language": "zh",
        "top": None,
        "generated_at": NOW,
    }
    documents = [entry if isinstance(entry, DocumentCluster) else DocumentCluster(entry) for entry in items]
    ranking = Ranking(order=list(range(len(documents))), by="rule")
    group = more.pop("group", "theme")
    composed = compose_briefing(documents, states, ranking=ranking, **(values | more))
    return composed.model_copy(update={"group": group})


def html_of(value: Briefing) -> str:
    return render_briefing(value, "html").decode()


def test_where_list_and_article_disagree_about_the_date_both_are_shown() -> None:
    doubtful = item(3, page_date=dt.date(2026, 2, 5))
    schema = build_item_schema(doubtful)
    assert (schema.date, schema.date_conflict) == (dt.date(2026, 2, 3), dt.date(2026, 2, 5))
    assert build_item_schema(item(3, page_date=dt.date(2026, 2, 3))).date_conflict is None
    assert build_item_schema(item(3, date=None, page_date=dt.date(2026, 2, 3))).date_conflict is None
    assert "列表 2026-02-03 / 正文 2026-02-05" in html_of(briefing([doubtful], []))


def test_an_item_goes_out_in_the_fields_of_the_contract() -> None:
    schema = build_item_schema(
        item(3, attachments=[{"title": "附件", "url": "https://gov.example/a.pdf", "type": "pdf"}])
    )
    assert list(schema.model_dump()) == SCHEMA_FIELDS
    assert json.loads(schema.model_dump_json())["date"] == "2026-02-03"


def test_those_beyond_the_top_are_named_and_the_shown_ones_bear_their_place_in_the_briefing() -> None:
    value = briefing([item(3), item(1), item(2)], [], top=2)
    assert [(entry.id, entry.rank) for entry in value.items] == [(3, 1), (1, 2)]
    assert [(more.id, more.title, more.date) for more in value.more] == [(2, "第2号文件", dt.date(2026, 2, 2))]


def test_other_places_and_interpretations_stand_under_their_document_and_none_disappears() -> None:
    documents = [
        DocumentCluster(
            item(1),
            (item(2, source="地方局"),),
            (DocumentCluster(item(3, title="第1号文件解读"), (item(7, source="市局"),)),),
        ),
        DocumentCluster(item(4), (item(5),), (DocumentCluster(item(6)),)),
    ]
    value = briefing(documents, [], top=1)
    assert [place.id for place in value.items[0].places] == [2]
    assert [place.id for place in value.more[0].interpretations] == [6]
    assert value.item_ids == {1, 2, 3, 4, 5, 6, 7}
    for form in ("md", "html", "json"):
        text = render_briefing(value, form).decode()
        assert all(f"https://gov.example/{number}" in text for number in range(1, 8))
    page = html_of(value)
    assert "第2号文件（地方局 2026-02-02）" in page
    assert "第1号文件解读（通知 2026-02-03）" in page
    assert "亦见 市局" in page
    assert "2 条" in html_of(briefing(documents, [SourceRunSummary(name="甲", status=RunStatus.SUCCEEDED)]))


@given(
    shape=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(1, 5)), max_size=6),
    top=st.none() | st.integers(1, 6),
    group=st.sampled_from(["theme", "source", "none"]),
)
@settings(max_examples=40)
def test_every_item_is_reachable_in_every_form_however_it_is_grouped(
    shape: list[tuple[int, int, int]], top: int | None, group: str
) -> None:
    numbers = count(101)
    groups = [
        DocumentCluster(
            item(next(numbers), date=None, tier=tier),
            tuple(item(next(numbers), date=None) for _ in range(places)),
            tuple(
                DocumentCluster(item(next(numbers), date=None), (item(next(numbers), date=None),))
                for _ in range(readings)
            ),
        )
        for places, readings, tier in shape
    ]
    value = briefing(groups, [], top=top, group=group)
    known = set(range(101, next(numbers)))
    assert value.item_ids == known
    for form in ("md", "html", "json"):
        text = render_briefing(value, form).decode()
        assert all(f"https://gov.example/{number}" in text for number in known)


def list_parts(value: Briefing) -> dict[str, list[int]]:
    """The numbers of the entries below each heading that has any."""
    blocks = build_document(value).blocks
    parts = [(block.text, blocks[at + 1]) for at, block in enumerate(blocks) if block.kind == "heading"]
    return {text: [entry.number for entry in part.entries] for text, part in parts if part.kind == "entries"}


def test_the_first_items_are_the_headlines_whatever_their_tier_and_numbers_are_ranks() -> None:
    value = briefing([item(n, tier=tier) for n, tier in enumerate([2, 1, 4, 2, 1, 2, 3], start=1)], [])
    assert [headline.rank for headline in value.headlines] == [1, 2, 3, 4, 5]
    assert list_parts(value) == {"要闻": [1, 2, 3, 4, 5], "其他要点": [6, 7]}
    low = briefing([item(n, tier=3) for n in range(1, 6)], [])
    assert [headline.rank for headline in low.headlines] == [1, 2, 3]
    assert "〔全局〕" in render_briefing(value, "md").decode()


def test_routine_is_the_floor_and_a_headline_only_where_it_is_ranked_above_something_that_weighs() -> None:
    value = briefing([item(1, tier=2), item(2, tier=5), item(3, tier=5)], [])
    assert [headline.item for headline in value.headlines] == [1]
    text = render_briefing(value, "md").decode()
    assert "## 日常动态\n\n- [第2号文件]" in text
    raised = briefing([item(1, tier=5), item(2, tier=2), item(3, tier=5)], [])
    assert [headline.item for headline in raised.headlines] == [1, 2]


def test_items_of_one_subject_stand_together_enforcement_and_data_by_themselves() -> None:
    titles = ["甲", "乙", "丙", "储能电站消防标准", "碳市场配额方案", "储能电站并网办法", "处罚决定书", "十月发电量"]
    items = [item(n, title=title, tier=3) for n, title in enumerate(titles, start=1)]
    items[7].type = ItemType.DATA
    facts = BriefingFacts(facts={7: DocumentFacts(kind=DocumentKind.ENFORCEMENT)})
    value = briefing(items, [], facts=facts)
    assert [(theme.name, theme.items) for theme in value.themes] == [("储能电站", [4, 6])]
    assert list_parts(value) == {
        "要闻": [1, 2, 3],
        "储能电站": [4, 6],
        "其他要点": [5],
        "执法与处罚": [7],
        "数据与报告": [8],
    }


def test_a_subject_whose_other_items_are_headlines_needs_no_heading_and_only_headlines_have_assessments() -> None:
    titles = ["储能电站消防标准", "乙", "丙", "储能电站并网办法", "丁"]
    items = [
        item(n, title=title, tier=3, rank_reason=Message.other("某理由")) for n, title in enumerate(titles, start=1)
    ]
    value = briefing(items, [])
    assert [theme.items for theme in value.themes] == [[1, 4]]
    assert list_parts(value) == {"要闻": [1, 2, 3], "其他要点": [4, 5]}
    assert render_briefing(value, "md").decode().count("〔评估〕 *某理由*") == 3


@pytest.mark.parametrize(("group", "headings"), [("source", ["要闻", "乙", "甲"]), ("none", ["要闻", "条目"])])
def test_items_stand_under_their_source_or_under_one_heading_if_so_wished(group: str, headings: list[str]) -> None:
    items = [item(n, source="甲" if n % 2 else "乙") for n in range(1, 8)]
    parts = list_parts(briefing(items, [], group=group))
    assert list(parts) == headings
    assert sorted(number for numbers in parts.values() for number in numbers) == [1, 2, 3, 4, 5, 6, 7]
    assert all(numbers == sorted(numbers) for numbers in parts.values())


def test_the_overview_cites_the_ranks_under_which_its_items_stand() -> None:
    sentences = [
        OverviewSentence(text="甲文件施行。", items=[2]),
        OverviewSentence(text="乙、丙文件发布。", items=[3, 1]),
    ]
    value = attach_overview(
        briefing([item(1, tier=2), item(2, tier=1), item(3, tier=2)], []), Overview(sentences=sentences, dropped=2)
    )
    text = render_briefing(value, "md").decode()
    first, second, third = (rf"[\[{n}\]](<https://gov.example/{n}>)" for n in (1, 2, 3))
    assert f"甲文件施行。{second}乙、丙文件发布。{first}{third}" in text
    assert "概览中有 2 句" in text


def build_dated_facts() -> BriefingFacts:
    moved = Deadline(id=5, item_id=1, kind=DeadlineKind.COMMENTS_UNTIL, day=dt.date(2026, 3, 1), seen_at=NOW)
    over = StatedDeadline(kind=DeadlineKind.APPLY_BY, day=dt.date(2026, 1, 1))
    stated = StatedDeadline(kind=DeadlineKind.IN_FORCE, day=dt.date(2026, 2, 20), subject="第二章")
    return BriefingFacts(
        facts={2: DocumentFacts(stage=PolicyStage.FINAL, deadlines=[over, stated])},
        deadlines={1: [moved]},
        moved_from={5: dt.date(2026, 2, 15)},
    )


def test_the_days_to_come_stand_in_a_table_the_nearest_first_with_where_they_were_moved_from() -> None:
    value = briefing([item(1), item(2)], [], facts=build_dated_facts())
    assert [(line.item, line.day, line.moved_from) for line in value.deadlines] == [
        (2, dt.date(2026, 2, 20), None),
        (1, dt.date(2026, 3, 1), dt.date(2026, 2, 15)),
    ]
    text = render_briefing(value, "md").decode()
    assert "| 2026-02-20 | 施行 | 第2号文件：第二章" in text
    assert "意见反馈截止（原为 2026-02-15）" in text
    assert text.index("## 要闻") < text.index("## 期限") < text.index("## 阅读说明")


def test_the_days_of_daily_business_are_not_in_the_table() -> None:
    value = briefing([item(1, tier=5), item(2, tier=4)], [], facts=build_dated_facts())
    assert [line.item for line in value.deadlines] == [2]


def test_a_headline_says_why_it_matters_by_its_facts_or_by_an_assessment_that_is_marked() -> None:
    fit = TopicFit(topic_id=1, item_id=3, score=0.8, is_match=True, reason=Message.other("标题含“储能”"), judged_at=NOW)
    facts = replace(build_dated_facts(), topic="储能开发商", fits={3: fit}, off_topic=4)
    value = briefing([item(1), item(2), item(3)], [], facts=facts)
    assert [(line.why, line.is_assessment) for line in value.headlines] == [
        ("意见反馈截止由 2026-02-15 改为 2026-03-01", False),
        ("自 2026-02-20 起施行", False),
        ("", False),
    ]
    text = render_briefing(value, "md").decode()
    assert "政策简报 · 致 储能开发商" in text
    assert "与储能开发商的关系：标题含“储能”" in text  # which is no reason why it matters
    assert "另有 4 条与储能开发商无关" in text


def test_a_source_is_incomplete_by_its_coverage_alone() -> None:
    fallback = FallbackSchema(phase=Phase.SUMMARISE, where="https://gov.example/1", reason=Message.other("x"))
    states = [
        SourceRunSummary(name="甲", status=RunStatus.DEGRADED, new_items=1, fallbacks=[fallback]),
        SourceRunSummary(name="乙", status=RunStatus.SUCCEEDED, new_items=1, over_limit=2),
    ]
    assert [state.is_incomplete for state in states] == [False, True]
    text = render_briefing(briefing([item(1)], states), "md").decode()
    assert "1 个来源不完整" in text
    assert "| 甲 | 完整 | 1 | 降级处理 1 处 |" in text
    assert "| 乙 | 不完整 | 1 |" in text
    unseen = text[text.index("## 未能看到的内容") : text.index("## 阅读说明")]
    assert "- 甲" not in unseen


def test_the_copy_for_a_client_says_nothing_of_what_could_not_be_seen_in_any_form() -> None:
    state = SourceRunSummary(name="失败的来源", status=RunStatus.FAILED, last_error=Message.other("连接超时"))
    copy = drop_gaps(briefing([item(1)], [state]))
    for form in ("md", "html", "json", "csv", "atom"):
        text = render_briefing(copy, form).decode()
        assert "第1号文件" in text
        assert "失败的来源" not in text
        assert "未能看到" not in text


def test_changes_name_the_articles_and_what_else_differs() -> None:
    edits = [
        {"op": "changed", "part": "article", "article": "第七条"},
        {"op": "added", "part": "article", "article": "第八条"},
        {"op": "changed", "part": "article", "article": "第九条"},
        {"op": "changed", "part": "date"},
    ]
    revision = Revision(item_id=1, run_id="r", seen_at=NOW, kind=ChangeKind.CHANGED, edits=edits)
    value = briefing([], [], changes=[build_changed_item(item(1), revision)])
    assert value.changes[0].articles == {EditOperation.CHANGED: ["第七条", "第九条"], EditOperation.ADDED: ["第八条"]}
    line = next(line for line in render_briefing(value, "md").decode().splitlines() if "第1号文件" in line)
    assert line.endswith("内容有改动 · 修改：第七条、第九条 · 新增：第八条 · 日期 · 能源局 · 2026-02-03 发现")


def test_possible_gaps_and_open_alarms_are_told_with_the_rest_that_could_not_be_seen() -> None:
    state = SourceRunSummary(
        name="甲",
        status=RunStatus.SUCCEEDED,
        new_items=1,
        possible_gaps=[UnseenPlace(section="公告", url="https://gov.example/gg/", reason="possible gap")],
        alarms=[
            OpenAlarm(kind=AlarmKind.SILENCE, section="数据", message="nothing new since 2026-01-01"),
            OpenAlarm(kind=AlarmKind.GAP, section="公告", message="possible gap"),
        ],
    )
    value = briefing([item(1)], [state])
    assert [(gap.kind, gap.place, gap.reason) for gap in value.gaps] == [
        ("possible_gap", "公告", None),
        ("silence", "数据", Message.other("nothing new since 2026-01-01")),
    ]
    page = html_of(value)
    assert "可能有遗漏" in page
    assert "久无更新" in page


def test_every_failure_fallback_and_unread_place_is_a_gap() -> None:
    states = [
        SourceRunSummary(name="甲", status=RunStatus.FAILED, last_error="连接超时"),
        SourceRunSummary(
            name="乙",
            status=RunStatus.DEGRADED,
            new_items=1,
            is_baseline=True,
            over_limit=7,
            left=2,
            refused=1,
            fallbacks=[FallbackSchema(phase=Phase.CRAWL, where="公告", reason=Message.other("http_412"))],
            unseen=[UnseenPlace(section="公告", url="https://gov.example/gg/", reason=Message.other("http_412"))],
        ),
        SourceRunSummary(name="丙", status=RunStatus.SUCCEEDED, last_new_item_at=NOW),
        SourceRunSummary(name="丁"),
        SourceRunSummary(name="戊", status=RunStatus.DEGRADED, new_items=1),
        SourceRunSummary(name="己", status=RunStatus.CANCELLED),
        SourceRunSummary(name="庚", status=RunStatus.RUNNING),
    ]
    value = briefing([item(1)], states)
    assert [(gap.source, gap.kind) for gap in value.gaps] == [
        ("甲", "failed"),
        ("乙", "degraded"),
        ("乙", "unseen"),
        ("乙", "over_limit"),
        ("乙", "left"),
        ("乙", "refused"),
        ("丙", "silent"),
        ("丁", "never_run"),
        ("戊", "degraded"),
        ("己", "cancelled"),
        ("庚", "running"),
    ]
    assert value.baselines == ["乙"]
    page = html_of(value)
    for word in (
        "连接超时",
        "http_412",
        "https://gov.example/gg/",
        "首次采集（基线）",
        "本期未采集",
        "已取消",
        "没有新条目",
    ):
        assert word in page


def test_many_fallbacks_for_one_reason_are_one_line_for_readers_and_all_of_them_for_programs() -> None:
    fallbacks = [
        FallbackSchema(
            phase=Phase.SUMMARISE,
            where=f"https://gov.example/{n}",
            reason=Message.of("cause.extract", reason=Message.of("cause.not_on_page", figures=[str(n)])),
        )
        for n in range(12)
    ]
    fallbacks.append(FallbackSchema(phase=Phase.CRAWL, where="公告", reason=Message.other("http_412")))
    value = briefing(
        [item(1)], [SourceRunSummary(name="甲", status=RunStatus.DEGRADED, new_items=1, fallbacks=fallbacks)]
    )
    assert len(value.gaps) == 13
    lines = [line for line in render_briefing(value, "md").decode().splitlines() if line.startswith("- 甲 · 降级")]
    assert len(lines) == 2
    assert lines[0].endswith("等 12 处 · 模型的摘要未被采用，改为摘录")


def test_a_briefing_without_items_says_whether_anything_was_seen() -> None:
    assert "本期没有新条目。" in html_of(briefing([], [SourceRunSummary(name="甲", status=RunStatus.SUCCEEDED)]))
    failed = html_of(briefing([], [SourceRunSummary(name="甲", status=RunStatus.FAILED)]))
    assert "这不表示没有新内容发布" in failed
    assert "甲（失败）" in failed


def test_extracts_late_items_reposts_and_unknown_dates_are_marked() -> None:
    items = [
        item(1, summary="从页面摘出的句子。", summary_by=SummaryBy.EXTRACT, late=True),
        item(2, date=None, date_source=DateSource.UNKNOWN, is_repost=True),
        item(3, summary="模型写的摘要。", summary_by=SummaryBy.MODEL, date_source=DateSource.PAGE),
    ]
    value = briefing(items, [])
    assert (value.extracts, value.without_summary, value.reposts) == (1, 1, [2])
    page = html_of(value)
    for word in ("摘录", "迟到", "外站", "日期未知", "2026-02-03（正文）", "1 条摘要是从原文逐句摘出的"):
        assert word in page


@pytest.mark.parametrize(
    ("language", "locale", "word"), [("zh", "zh-CN", "来源情况"), ("en", "en", "State of the sources")]
)
def test_a_briefing_speaks_its_language(language: str, locale: str, word: str) -> None:
    value = briefing(
        [item(1)], [SourceRunSummary(name="甲", status=RunStatus.SUCCEEDED, new_items=1)], language=language
    )
    assert build_document(value).language == locale
    assert word in render_briefing(value, "md").decode()


def test_json_is_the_briefing_itself_readable_and_complete() -> None:
    value = briefing(
        [item(1)], [SourceRunSummary(name="甲", status=RunStatus.FAILED)], public_url="https://m.example/b/1"
    )
    text = render_briefing(value, "json").decode()
    assert "第1号文件" in text
    assert list(json.loads(text)["items"][0]) == [
        *SCHEMA_FIELDS,
        "places",
        "interpretations",
        "note",
        "editor_title",
        "editor_summary",
        "moved",
        "unchecked",
        *("why", "relevance", "kind", "stage", "policy"),
    ]
    assert Briefing.model_validate_json(text) == value
