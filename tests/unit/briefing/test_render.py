"""Every format of a briefing and of items: nothing is lost on the way, and nothing that a page says does harm."""

import csv
import datetime as dt
import io
import json
import re
import zipfile
from collections.abc import AsyncIterator
from typing import Any

import pytest
from lxml import etree
from openpyxl import load_workbook

from monitor.briefing.compose import Briefing
from monitor.briefing.item import ItemSchema
from monitor.briefing.render import STREAMED_FORMATS, render_briefing, render_items, stream_items
from monitor.errors import UsageError
from monitor.exports.document import normalize_line
from monitor.exports.registry import ITEM_FORMATS

NOW = dt.datetime(2026, 2, 3, 9, 30, tzinfo=dt.timezone(dt.timedelta(hours=8)))
FORMATS = ("md", "html", "docx", "xlsx", "json", "csv", "atom")
TABLES = ("xlsx", "csv")
HOSTILE = [
    "=cmd|' /C calc'!A0",
    "@SUM(A1)",
    "<script>alert(1)</script>",
    "\u202egnp.exe",
    "长" * 5000,
    "a\x00\ud800b",
    "👩‍👩‍👧",
]


def place(name: str, **fields: Any) -> dict[str, Any]:
    values = {
        "id": None,
        "source": "转载网",
        "section": "要闻",
        "title": f"标题{name}",
        "url": f"https://gov.example/{name}",
    }
    return {**values, "date": "2026-02-01", **fields}


def item(name: str, **fields: Any) -> dict[str, Any]:
    values = {
        **place(name),
        "id": 7,
        "date_source": "listed",
        "type": "通知",
        "summary": f"摘要{name}",
        "rank": 3,
        "tier": 2,
        "summary_by": "extract",
        "by": "rule",
        "late": True,
        "document_number": "国能〔2026〕1号",
        "issuer": "能源局",
        "language": "zh",
        "first_seen": "2026-02-03T00:30:00Z",
        "evidence": [],
        "attachments": [{"title": f"附件{name}", "url": f"https://gov.example/{name}.pdf", "type": "pdf"}],
    }
    return {**values, **fields}


def briefing(**fields: Any) -> Briefing:
    shown = item("a", places=[place("a-again")], interpretations=[place("a-read", places=[place("a-read-again")])])
    values: dict[str, Any] = {
        "title": "官方动态简报",
        "period": {"since": "2026-02-03", "until": "2026-02-03"},
        "language": "zh",
        "generated_at": NOW,
        "public_url": "https://monitor.example/",
        "items": [shown],
        "overview_dropped": 1,
        "overview": [{"text": "能源局发布通知。", "items": [7]}],
        "more": [place("b", places=[place("b-again")])],
        "sources": [{"name": "能源局", "status": "degraded", "new_items": 1, "last_run_at": NOW}],
        "gaps": [
            {
                "source": "能源局",
                "kind": "unseen",
                "place": "公告",
                "reason": "http_412",
                "url": "https://gov.example/gap",
            }
        ],
        "baselines": [],
        "extracts": 1,
        "without_summary": 0,
        "reposts": [],
    }
    return Briefing.model_validate({**values, **fields})


def read(content: bytes, form: str) -> str:
    """What a reader of the format finds in it, addresses of links too."""
    if form == "xlsx":
        cells = [cell for sheet in load_workbook(io.BytesIO(content)) for row in sheet.iter_rows() for cell in row]
        return "\n".join(f"{cell.value} {cell.hyperlink.target if cell.hyperlink else ''}" for cell in cells)
    if form == "docx":
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            body = "".join(map(str, etree.fromstring(file.read("word/document.xml")).itertext()))
            return body + file.read("word/_rels/document.xml.rels").decode()
    text = content.decode("utf-8-sig")
    return re.sub(r"\\(?=[^\w\s]|_)", "", text) if form == "md" else text


@pytest.mark.parametrize("form", FORMATS)
def test_every_document_and_place_of_a_briefing_is_in_every_format(form: str) -> None:
    text = read(render_briefing(briefing(), form), form)
    for name in ("a", "a-again", "a-read", "a-read-again", "b", "b-again", "a.pdf"):
        assert f"https://gov.example/{name}" in text, f"{form} does not lead to {name}"
    assert "摘要a" in text


@pytest.mark.parametrize("form", FORMATS)
def test_the_notes_of_an_analyst_are_in_every_format_with_their_names(form: str) -> None:
    noted = {"text": "与我方*项目*有关\n请法务看", "by": "王敏"}
    value = briefing(items=[item("a", note=noted)], more=[place("b", note={"text": "存档备查", "by": "李雷"})])
    text = read(render_briefing(value, form), form)
    for words in ("与我方*项目*有关", "请法务看", "王敏", "存档备查", "李雷"):
        assert words in text, f"{form} has no {words}"


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "csv"])
def test_the_note_on_the_whole_and_its_author_are_in_every_format_but_rows(form: str) -> None:
    text = read(render_briefing(briefing(note={"text": "本周重点", "by": "王敏"}), form), form)
    assert "本周重点" in text
    assert "王敏" in text


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "csv"])
def test_every_format_but_rows_says_the_overview_and_what_was_not_seen(form: str) -> None:
    text = read(render_briefing(briefing(), form), form)
    assert "能源局发布通知。" in text
    assert "http_412" in text


def judged(text: str, verdict: str, **fields: Any) -> dict[str, Any]:
    return {"text": text, "items": [7], "judgement": {"verdict": verdict, "by": "code"}, **fields}


CHECKED = {
    "items": [
        item(
            "a",
            summary="储能装机翻番。价格由市场形成。",
            summary_by="model",
            statements={"supported_by_code": 1, "unchecked": 1, "unsupported": 1},
            unchecked=["价格由市场形成。"],
        )
    ],
    "overview": [
        judged("能源局发布通知。", "supported"),
        judged("市场将定价。", "unchecked"),
        {"text": "储能企业应早作准备。", "items": [7], "is_assessment": True},
    ],
    "overview_counts": {"supported_by_code": 1, "unchecked": 1, "contradicted": 2},
}


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_marks_a_sentence_that_nothing_could_verify_and_no_other(form: str) -> None:
    text = read(render_briefing(briefing(**CHECKED), form), form)
    if form == "json":
        document = json.loads(text)
        assert document["items"][0]["unchecked"] == ["价格由市场形成。"]
        assert [(sentence["judgement"] or {}).get("verdict") for sentence in document["overview"]] == [
            "supported",
            "unchecked",
            None,
        ]
        return
    assert "储能装机翻番。价格由市场形成。†" in text
    if form == "csv":
        assert text.count("†") == 1
        assert "共 2 句：1 句经程序核对有依据、1 句未核实、1 句无依据已删" in text
        return
    assert "市场将定价。†" in text
    assert text.count("。†") == 2
    assert "† 未核实" in text


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "csv"])
def test_every_format_but_rows_says_how_many_sentences_were_verified_and_by_whom(form: str) -> None:
    text = read(render_briefing(briefing(**CHECKED), form), form)
    if form == "json":
        counts = {"supported_by_code": 2, "supported_by_model": 0, "unchecked": 2, "contradicted": 2, "unsupported": 1}
        assert json.loads(text)["statements"] == counts
    else:
        assert "共 4 句：2 句经程序核对有依据、2 句未核实、2 句与原文矛盾已删、1 句无依据已删" in text


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "csv"])
@pytest.mark.parametrize(("language", "label"), [("zh", "评估"), ("en", "Assessment")])
def test_an_assessment_stands_apart_under_its_name(form: str, language: str, label: str) -> None:
    text = read(render_briefing(briefing(**CHECKED, language=language), form), form)
    if form == "json":
        assert [sentence["is_assessment"] for sentence in json.loads(text)["overview"]] == [False, False, True]
        return
    finding, label_at, assessment = (text.index(words) for words in ("市场将定价。", label, "储能企业应早作准备。"))
    assert finding < label_at < assessment
    if form in ("md", "html"):
        assert "\n" in text[finding:label_at], "a paragraph of its own"


@pytest.mark.parametrize("form", FORMATS)
def test_a_briefing_without_verdicts_has_no_marks_and_says_nothing_of_them(form: str) -> None:
    text = read(render_briefing(briefing(), form), form)
    assert "。†" not in text
    assert "未核实" not in text
    assert "句经" not in text


def test_a_briefing_of_extracts_has_one_line_on_them() -> None:
    extract = item("a", statements={"supported_by_code": 2})
    text = read(render_briefing(briefing(items=[extract], overview=[]), "md"), "md")
    assert text.count("共 2 句：2 句经程序核对有依据") == 1
    assert "†" not in text


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("title", HOSTILE, ids=ascii)
def test_a_hostile_title_is_a_title_in_every_format(form: str, title: str) -> None:
    note = {"text": title, "by": title}
    content = render_briefing(briefing(items=[item("a", title=title, summary=title, note=note)], note=note), form)
    text = read(content, form)
    assert "\x00" not in text.replace("\\u0000", "")
    if form not in ("json", "md", "html", "atom"):
        assert normalize_line(title)[:100] in text
    if form == "csv":
        assert not [cell for row in csv.reader(io.StringIO(text)) for cell in row if cell[:1] in ("=", "@", "+")]
    if form == "html":
        assert "<script" not in text


def test_dates_of_a_workbook_are_dates_and_instants_the_clocks_of_the_briefing() -> None:
    book = load_workbook(io.BytesIO(render_briefing(briefing(), "xlsx")))
    assert book.sheetnames == ["条目", "来源情况", "未能看到的内容", "阅读说明"]
    head, first, *others = book["条目"].iter_rows(values_only=True)
    row = dict(zip(head, first, strict=True))
    assert row["日期"].date() == dt.date(2026, 2, 1)
    assert row["首次发现"].isoformat() == "2026-02-03T08:30:00"
    assert (row["序号"], row["位置"], row["类型"], row["迟到"], row["摘要方式"]) == (1, "条目", "通知", "迟到", "摘录")
    assert [(other[0], other[1]) for other in others] == [
        (1, "解读"),
        (1, "亦见"),
        (1, "亦见"),
        (2, "其余条目"),
        (2, "亦见"),
    ]


def test_a_briefing_in_english_has_english_columns_and_words() -> None:
    book = load_workbook(io.BytesIO(render_briefing(briefing(language="en"), "xlsx")))
    head, first, *_ = book["Items"].iter_rows(values_only=True)
    assert dict(zip(head, first, strict=True))["Type"] == "notice"


def test_half_a_surrogate_pair_does_not_spoil_the_json() -> None:
    document = json.loads(render_briefing(briefing(title="a\ud800b"), "json"))
    assert document["title"] == "a?b"


def test_a_pdf_is_left_to_who_has_a_browser() -> None:
    with pytest.raises(UsageError, match="printed by a browser"):
        render_briefing(briefing(), "pdf")


def items(*names: str, **fields: Any) -> list[ItemSchema]:
    return [ItemSchema.model_validate(item(name, **fields)) for name in names]


def exported(form: str, *names: str, **fields: Any) -> bytes:
    return render_items(items(*names, **fields), form, language="zh", now=NOW)


@pytest.mark.parametrize("form", ITEM_FORMATS)
def test_every_item_is_in_every_export(form: str) -> None:
    text = read(exported(form, "a", "b"), form)
    assert all(f"https://gov.example/{name}" in text for name in ("a", "b", "a.pdf"))


@pytest.mark.parametrize("form", sorted(STREAMED_FORMATS))
@pytest.mark.parametrize("batches", [[[]], [["a"]], [["a", "b"], ["c"]], [["a"], []]])
async def test_what_is_written_as_it_comes_says_the_same_as_what_is_written_at_once(
    form: str, batches: list[list[str]]
) -> None:
    async def come() -> AsyncIterator[list[ItemSchema]]:
        for names in batches:
            yield items(*names)

    parts = b"".join([part async for part in stream_items(come(), form)])
    whole = exported(form, *(name for names in batches for name in names))
    assert json.loads(parts) == json.loads(whole) if form == "json" else parts == whole


def test_rows_for_programs_have_the_fields_as_they_are_stored() -> None:
    (row,) = csv.DictReader(io.StringIO(exported("csv", "a", title="=1+1").decode("utf-8-sig")))
    assert list(row) == [name for name in ItemSchema.model_fields if name != "evidence"]
    assert row["title"] == "'=1+1"
    assert (row["type"], row["date"], row["first_seen"], row["late"]) == (
        "通知",
        "2026-02-01",
        "2026-02-03T00:30:00Z",
        "true",
    )
    assert row["attachments"] == "https://gov.example/a.pdf"


def test_a_line_of_json_is_an_item() -> None:
    lines = exported("jsonl", "a", "b", title="一\n二").splitlines()
    assert [ItemSchema.model_validate_json(line) for line in lines] == items("a", "b", title="一\n二")


def test_an_unknown_export_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no format 'docx' here; choose one of csv, xlsx, json, jsonl, atom"):
        exported("docx")
