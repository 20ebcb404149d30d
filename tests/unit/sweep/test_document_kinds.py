"""What a summary is asked to say depends on what kind of document it sums up."""

import pytest

from monitor.llm.context import estimate_tokens
from monitor.ranking.kinds import classify_document
from monitor.sweep.document_kinds import GUIDES, split_examples
from monitor.sweep.prompts import build_summary_messages
from monitor.vocabulary import DocumentKind, ItemType


@pytest.mark.parametrize(
    ("title", "item_type", "kind"),
    [
        ("关于《电力市场监管办法（征求意见稿）》公开征求意见的公告", "公告", "consultation"),
        ("Consultation on network charges", "政策", "consultation"),
        ("就《储能标准（征求意见稿）》答记者问", "解读", "interpretation"),
        ("中国证监会行政处罚决定书（远帆股份）", "公告", "enforcement"),
        ("FCA fines Farsail plc", "新闻", "enforcement"),
        ("2026年1至4月发电量", "数据", "statistics"),
        ("关于林若川任职的通知", "人事", "personnel"),
        ("在全省电力会议上的讲话", "新闻", "meeting"),
        ("Speech by the Chair", "新闻", "meeting"),
        ("省政府常务会议召开", "会议", "meeting"),
        ("GB/T 90017—2026 户用储能电池", "标准", "standard"),
        ("关于印发电价改革方案的通知", "通知", "policy"),
        ("一家水泥厂的绿电账本", "新闻", "policy"),
    ],
)
def test_title_and_type_tell_the_kind(title: str, item_type: str, kind: str) -> None:
    assert classify_document(title, ItemType(item_type)) == kind


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("kind", DocumentKind)
def test_each_kind_has_two_examples_and_stays_short(kind: DocumentKind, language: str) -> None:
    guide = GUIDES[kind][language].text
    structure, examples = split_examples(guide)
    assert (len(examples), structure.count("\n")) == (2, 0)
    assert estimate_tokens(guide) < 260
    _, user = build_summary_messages(title="T", text="page", rules="", language=language, kind=kind)
    assert structure in user.content
    assert all(example in user.content for example in examples)
