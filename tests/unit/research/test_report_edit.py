"""What in an edited report is the editor's own, and how it is marked."""

import datetime as dt

import pytest

from monitor.errors import UsageError
from monitor.research.document import parse_report_blocks
from monitor.research.report_edit import (
    EditedReport,
    EditorVersion,
    find_own_passages,
    normalize_report,
    parse_edited,
    split_report,
    split_sections,
)

VERIFIED = normalize_report(
    split_report(
        "# 储能\n\n## 规模\n\n装机为3亿瓦[1]。增速为5%[2]。\n\n- 要点 [1]\n\n| 指标 | 数值 |\n| --- | --- |\n"
        "| 规模 | 3 亿瓦 [1] |\n\n## 来源\n\n1. 甲"
    )
)
NOON = dt.datetime(2026, 2, 3, 12, tzinfo=dt.UTC)
ANNA, BERTA = EditorVersion(1, "anna", NOON), EditorVersion(2, "berta", NOON)


def edited(
    markdown: str, *, known: dict[str, int] | None = None, by: tuple[EditorVersion, ...] = (ANNA,)
) -> EditedReport:
    text = parse_edited(markdown)
    own = find_own_passages(text, VERIFIED, known=known or {}, version=by[-1].version)
    return EditedReport(text, VERIFIED, own, by)


def test_what_is_as_it_was_verified_carries_no_mark() -> None:
    same = edited(VERIFIED.markdown.replace("\n\n", "\n\n\n").replace("- 要点", "*  要点"))
    assert same.marked == same.text == VERIFIED
    assert (same.own, same.left_out) == ({}, 0)
    assert "来源" not in VERIFIED.body


@pytest.mark.parametrize(
    ("verified", "changed", "shown"),
    [
        ("装机为3亿瓦[1]。", "装机为4亿瓦[1]。", "装机为4亿瓦‡[1]。增速为5%[2]。"),
        ("装机为3亿瓦[1]。", "据称装机为3亿瓦[1]，又说为4亿瓦[2]。", "据称装机为3亿瓦‡[1]，又说为4亿瓦‡[2]。"),
        ("增速为5%[2]。", "增速为5%[1]。", "装机为3亿瓦[1]。增速为5%‡[1]。"),
        ("增速为5%[2]。", "增速为5%。", "装机为3亿瓦[1]。增速为5%。‡"),
        ("- 要点 [1]", "- 要点 [1]\n- 新要点", "- 要点 [1]\n- 新要点‡"),
        ("| 规模 | 3 亿瓦 [1] |", "|规模|4 亿瓦 [1]|", "| 规模 | 4 亿瓦‡ [1] |"),
        ("## 规模", "## 现状", "## 现状‡"),
        ("# 储能", "# 储能报告", "# 储能报告‡"),
    ],
)
def test_a_passage_that_differs_carries_the_mark_before_its_citations(verified: str, changed: str, shown: str) -> None:
    made = edited(VERIFIED.markdown.replace(verified, changed))
    assert shown in made.marked.markdown
    assert "anna, 2026-02-03 12:00 UTC" in " ".join(made.describe("en"))


def test_passages_keep_the_editor_who_first_wrote_them() -> None:
    first = edited(VERIFIED.markdown.replace("3亿瓦", "4亿瓦"))
    again = first.text.markdown.replace("增速为5%[2]。", "增速较快。")
    second = edited(again, known=dict(first.own), by=(ANNA, BERTA))
    assert "装机为4亿瓦‡1[1]。增速较快。‡2" in second.marked.body
    said = " ".join(second.describe("zh"))
    assert "‡1 anna" in said
    assert "‡2 berta" in said
    assert "2 处被删去" in said


def test_what_is_no_markdown_of_a_report_is_text_and_every_table_is_whole() -> None:
    body = "|甲|乙|\n|--|:-:|\n|一|\n|一|二|三|\n<script>x</script>\n[a](javascript:x)\n## 来源\n后面的话。"
    text = parse_edited(f"# 题\n{body}")
    assert text.body.splitlines()[:4] == ["| 甲 | 乙 |", "| --- | --- |", "| 一 |  |", "| 一 | 二 三 |"]
    assert split_report(text.markdown).body == text.body, "what follows a heading like that of the sources stays"
    blocks = parse_report_blocks(text.body, lambda _: None)
    assert [block.kind for block in blocks] == ["table", "paragraph", "paragraph", "heading", "paragraph"]
    assert split_sections("甲\n\n## 乙\n\n丙\n\n### 丁\n\n## 戊") == ["甲", "## 乙\n\n丙\n\n### 丁", "## 戊"]


@pytest.mark.parametrize(
    "markdown", ["", "# 题", "no title\ntext", f"# {'题' * 301}\n\ntext", "# 题\n" + "x" * 300_001]
)
def test_a_text_without_a_title_or_without_end_is_refused(markdown: str) -> None:
    with pytest.raises(UsageError):
        parse_edited(markdown)
