import datetime as dt
import json
from typing import Any

import pytest

from monitor.briefing.compose import Briefing, FallbackWire, Period, SourceState, compose
from monitor.briefing.layout import as_document
from monitor.briefing.render import render_briefing
from monitor.briefing.wire import item_wire
from monitor.domain.reading import UnseenPlace
from monitor.domain.tables import Item
from monitor.domain.words import DateSource, ItemType, Phase, RunStatus, SummaryBy

NOW = dt.datetime(2026, 2, 3, 8, 0, tzinfo=dt.UTC)
WIRE_FIELDS = [
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
]


def item(number: int, **fields: Any) -> Item:
    values: dict[str, Any] = {
        "id": number, "run_id": "run-1", "source": "能源局", "section": "通知", "url": f"https://gov.example/{number}",
        "url_key": str(number), "title": f"第{number}号文件", "date": dt.date(2026, 2, number), "type": ItemType.NOTICE,
        "date_source": DateSource.LISTED, "rank": number, "tier": 4, "first_seen": NOW,
    }  # fmt: skip
    return Item(**(values | fields))


def briefing(items: list[Item], states: list[SourceState], **more: Any) -> Briefing:
    values: dict[str, Any] = {
        "title": "简报", "period": Period(since=dt.date(2026, 1, 28), until=dt.date(2026, 2, 3)), "language": "zh",
        "top": None, "generated_at": NOW,
    }  # fmt: skip
    return compose(items, states, **(values | more))


def html_of(value: Briefing) -> str:
    return render_briefing(value, "html").decode()


def test_where_list_and_article_disagree_about_the_date_both_are_shown() -> None:
    doubtful = item(3, page_date=dt.date(2026, 2, 5))
    wire = item_wire(doubtful)
    assert (wire.date, wire.date_conflict) == (dt.date(2026, 2, 3), dt.date(2026, 2, 5))
    assert item_wire(item(3, page_date=dt.date(2026, 2, 3))).date_conflict is None
    assert item_wire(item(3, date=None, page_date=dt.date(2026, 2, 3))).date_conflict is None
    assert "列表 2026-02-03 / 正文 2026-02-05" in html_of(briefing([doubtful], []))


def test_an_item_goes_out_in_the_fields_of_the_contract() -> None:
    wire = item_wire(item(3, attachments=[{"title": "附件", "url": "https://gov.example/a.pdf", "type": "pdf"}]))
    assert list(wire.model_dump()) == WIRE_FIELDS
    assert json.loads(wire.model_dump_json())["date"] == "2026-02-03"


def test_items_of_one_run_stand_by_rank_and_those_beyond_the_top_are_named() -> None:
    value = briefing([item(3), item(1), item(2)], [], top=2)
    assert [one.id for one in value.items] == [1, 2]
    assert [(more.title, more.date) for more in value.more] == [("第3号文件", dt.date(2026, 2, 3))]


def test_items_of_several_runs_are_merged_by_tier_before_rank() -> None:
    value = briefing([item(1, tier=4), item(2, run_id="run-2", tier=1), item(3, tier=None)], [])
    assert [one.id for one in value.items] == [2, 1, 3]


def test_every_failure_fallback_and_unread_place_is_a_gap() -> None:
    states = [
        SourceState(name="甲", status=RunStatus.FAILED, last_error="连接超时"),
        SourceState(
            name="乙", status=RunStatus.DEGRADED, new_items=1, is_baseline=True, over_limit=7, left=2, refused=1,
            fallbacks=[FallbackWire(phase=Phase.CRAWL, where="公告", reason="http_412")],
            unseen=[UnseenPlace(section="公告", url="https://gov.example/gg/", reason="http_412")],
        ),
        SourceState(name="丙", status=RunStatus.SUCCEEDED, last_new_item_at=NOW),
        SourceState(name="丁"),
        SourceState(name="戊", status=RunStatus.DEGRADED, new_items=1),
        SourceState(name="己", status=RunStatus.CANCELLED),
        SourceState(name="庚", status=RunStatus.RUNNING),
    ]  # fmt: skip
    value = briefing([item(1)], states)
    assert [(gap.source, gap.kind) for gap in value.gaps] == [
        ("甲", "failed"), ("乙", "degraded"), ("乙", "unseen"), ("乙", "over_limit"), ("乙", "left"), ("乙", "refused"),
        ("丙", "silent"), ("丁", "never_run"), ("戊", "degraded"), ("己", "cancelled"), ("庚", "running"),
    ]  # fmt: skip
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


def test_a_briefing_without_items_says_whether_anything_was_seen() -> None:
    assert "本期没有新条目。" in html_of(briefing([], [SourceState(name="甲", status=RunStatus.SUCCEEDED)]))
    failed = html_of(briefing([], [SourceState(name="甲", status=RunStatus.FAILED)]))
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
    value = briefing([item(1)], [SourceState(name="甲", status=RunStatus.SUCCEEDED, new_items=1)], language=language)
    assert as_document(value).language == locale
    assert word in render_briefing(value, "md").decode()


def test_json_is_the_briefing_itself_readable_and_complete() -> None:
    value = briefing([item(1)], [SourceState(name="甲", status=RunStatus.FAILED)], public_url="https://m.example/b/1")
    text = render_briefing(value, "json").decode()
    assert "第1号文件" in text
    assert list(json.loads(text)["items"][0]) == WIRE_FIELDS
    assert Briefing.model_validate_json(text) == value
