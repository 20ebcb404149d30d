import datetime as dt
import io

import docx
import pytest
from selectolax.lexbor import LexborHTMLParser

from monitor.db.tables.research import ResearchStatus
from monitor.exports.document import Document, Facts, Figure, Heading, Listing, Paragraph, Span, Table
from monitor.exports.registry import render_document
from monitor.research.document import ReportQuestion, build_report_document, parse_report_blocks
from monitor.research.editions import EditionNews, compare_editions
from monitor.research.findings import NoteBasis
from monitor.research.shapes import (
    Driver,
    JudgedStatement,
    ModelBlueprint,
    Relationship,
    ReportMetadata,
    ReportScore,
    ReportSource,
    ResearchReport,
)
from monitor.vocabulary import Verdict

MARKDOWN = """# 储能怎么样

> 由程序摘录。

## 现状

装机1.2亿千瓦[1]。投资860亿元[2][3]。

- 规则自7月1日起施行[3]。
- 试点扩大[1]。

### 指标

| 指标 | 数值 |
| --- | --- |
| 装机 | 1.2亿千瓦[1] |
| 投资 | 860亿元[2][3] |

## 驱动因素与关系

- 政策 → 投资（影响）[3][2]。

## 来源

- [1] [3] [甲](https://a.example/1) — a.example
- [2] [乙](https://b.example/2) — b.example
"""
SOURCES = [
    ReportSource(title="甲", url="https://a.example/1", note_index=4),
    ReportSource(title="乙", url="https://b.example/2", note_index=0),
    ReportSource(title="甲", url="https://a.example/1", note_index=1),
]
BASES = [
    NoteBasis(title="乙", url="https://b.example/2", host="b.example", published_on="2026-07-01"),
    NoteBasis(title="甲", url="https://a.example/1", host="a.example"),
    *[NoteBasis(title="未引用", url="https://c.example/", host="c.example")] * 2,
    NoteBasis(title="甲", url="https://a.example/1", host="a.example"),
]
MODEL = ModelBlueprint(
    core_drivers=[Driver(name=name, description="", evidence_refs=[1]) for name in ("政策", "投资")],
    relationships=[Relationship.model_validate({"from": "政策", "to": "投资", "type": "influence", "confidence": 0.5})],
)
SCORE = ReportScore(
    quotes=3,
    quote_fidelity=1.0,
    figures=4,
    figure_fidelity=1.0,
    sentences=5,
    citation_coverage=1.0,
    independent_hosts=2,
    official_share=0.4,
    refused={"figures": 2, "rewritten": 1},
)


def passage(note_index: int) -> str | None:
    return f"https://monitor.example/notes/{note_index}" if note_index != 4 else None


@pytest.fixture
def document() -> Document:
    return build_report_document(
        ResearchReport(markdown=MARKDOWN, sources=SOURCES),
        query="储能怎么样？",
        bases=BASES,
        score=SCORE,
        blueprint=MODEL,
        language="zh",
        citation_url=passage,
    )


def test_each_citation_leads_to_its_passage_or_else_to_its_source(document: Document) -> None:
    paragraph = next(block for block in document.blocks if isinstance(block, Paragraph) and block.tone == "plain")
    assert paragraph.spans == [
        Span(text="装机1.2亿千瓦"),
        Span(text="[1]", url="https://a.example/1"),
        Span(text="。投资860亿元"),
        Span(text="[2]", url="https://monitor.example/notes/0"),
        Span(text="[3]", url="https://monitor.example/notes/1"),
        Span(text="。"),
    ]
    table = next(block for block in document.blocks if isinstance(block, Table))
    assert table.rows == [["装机", "1.2亿千瓦"], ["投资", "860亿元"]]
    assert [[span.text for span in notes] for notes in table.notes] == [["[1]"], ["[2]", "[3]"]]


def test_a_page_stands_among_the_sources_once_with_all_its_numbers(document: Document) -> None:
    *_, heading, listing = document.blocks
    assert isinstance(heading, Heading)
    assert isinstance(listing, Listing)
    assert heading.text == "来源"
    assert [[(span.text, span.url) for span in point] for point in listing.points] == [
        [
            ("[1][3] 甲", "https://a.example/1"),
            ("a.example", None),
            ("原文段落 [3]", "https://monitor.example/notes/1"),
        ],
        [
            ("[2] 乙", "https://b.example/2"),
            ("b.example", None),
            ("2026-07-01", None),
            ("原文段落 [2]", "https://monitor.example/notes/0"),
        ],
    ]


def test_the_score_stands_on_top_and_the_picture_under_its_heading(document: Document) -> None:
    facts, mark = document.blocks[:2]
    assert isinstance(facts, Facts)
    assert facts.facts == [
        ("引文核对", "100%"),
        ("数字核对", "100%"),
        ("注明出处的句子", "100%"),
        ("独立来源", "2"),
        ("官方来源占比", "40%"),
        ("剔除", "2"),
    ]
    assert isinstance(mark, Paragraph)
    assert mark.tone == "accent"
    place = next(i for i, block in enumerate(document.blocks) if isinstance(block, Figure))
    assert document.blocks[place - 1] == Heading(text="驱动因素与关系")
    assert (document.title, document.subtitle) == ("储能怎么样", "")


def test_every_format_shows_the_report_with_its_links(document: Document) -> None:
    page = LexborHTMLParser(render_document(document, "html").decode())
    assert page.css_first("figure svg") is not None
    assert [entry.text() for entry in page.css("table td a")] == ["[1]", "[2]", "[3]"]
    assert page.css_first("ul.points li").text() == "规则自7月1日起施行[3]。"
    assert {entry.attributes["href"] for entry in page.css("p.plain a")} >= {"https://monitor.example/notes/1"}
    word = docx.Document(io.BytesIO(render_document(document, "docx")))
    assert ["政策", "影响", "投资"] in [
        [cell.text for cell in row.cells] for table in word.tables for row in table.rows
    ]
    assert ["投资", "860亿元[2][3]"] in [
        [cell.text for cell in row.cells] for table in word.tables for row in table.rows
    ]
    assert "规则自7月1日起施行[3]。" in [paragraph.text.replace("•\t", "") for paragraph in word.paragraphs]
    text = render_document(document, "md").decode()
    assert "- 规则自7月1日起施行[\\[3\\]](<https://monitor.example/notes/1>)。" in text
    assert (
        "| 投资 | 860亿元[\\[2\\]](<https://monitor.example/notes/0>)[\\[3\\]](<https://monitor.example/notes/1>) |"
        in text
    )
    assert "| 政策 | 影响 | 投资 |" in text


def test_a_report_in_english_without_score_model_or_sources(document: Document) -> None:
    report = ResearchReport(markdown="# Storage\n\n> Nothing was found.\n")
    made = build_report_document(
        report,
        query="How does storage develop in 2026?",
        bases=[],
        score=None,
        blueprint=None,
        language="en",
        citation_url=passage,
    )
    assert [block.kind for block in made.blocks] == ["paragraph"]
    assert (made.overline, made.subtitle) == ("Research report", "Question: How does storage develop in 2026?")
    assert render_document(made, "html")


def test_a_report_that_is_still_being_written_is_drawn_as_far_as_it_came() -> None:
    for end in range(len(MARKDOWN)):
        assert parse_report_blocks(MARKDOWN[:end], passage) or not MARKDOWN[:end].strip()


def test_what_was_asked_about_a_report_follows_it_with_its_sources_numbered_on() -> None:
    answer = ResearchReport(
        markdown="试点有7个[1]，见文号[2026]。\n",
        sources=[ReportSource(title="丙", url="https://c.example/3", note_index=0)],
    )
    basis = NoteBasis(title="丙", url="https://c.example/3", host="c.example")
    asked = [
        ReportQuestion(
            "试点有几个？", ResearchStatus.SUCCEEDED, answer, [basis], lambda at: f"https://m.example/q/{at}"
        ),
        ReportQuestion("何时结束？", ResearchStatus.FAILED, None, [], passage),
    ]
    made = build_report_document(
        ResearchReport(markdown=MARKDOWN, sources=SOURCES),
        query="储能怎么样？",
        bases=BASES,
        score=None,
        blueprint=None,
        language="zh",
        citation_url=passage,
        questions=asked,
    )
    assert [block.text for block in made.blocks if isinstance(block, Heading)][-4:] == [
        "对报告的追问",
        "试点有几个？",
        "何时结束？",
        "来源",
    ]
    text = render_document(made, "md").decode()
    assert "试点有7个[\\[4\\]](<https://m.example/q/0>)，见文号\\[2026\\]" in text
    assert "> 没有回答（失败）。" in text
    assert "[\\[4\\] 丙](<https://c.example/3>) · c.example" in text
    for form in ("html", "docx"):
        assert render_document(made, form)


def test_an_edition_says_first_what_the_one_before_did_not() -> None:
    def report(*said: str, url: str) -> ResearchReport:
        statements = [JudgedStatement(text=text, sources=[1], verdict=Verdict.UNCHECKED) for text in said]
        opinion = JudgedStatement(text=f"看法{url}", is_assessment=True, verdict=Verdict.UNCHECKED)
        return ResearchReport(
            markdown=MARKDOWN,
            sources=[ReportSource(title="甲", url=url, note_index=0)],
            metadata=ReportMetadata(statements=[*statements, opinion]),
        )

    since = dt.date(2026, 7, 6)
    earlier = report("装机1.2亿千瓦。", "试点扩大。", url="https://a.example/1")
    later = report("装机 1.2 亿千瓦。", "装机1.3亿千瓦。", url="https://a.example/2")
    news = compare_editions(later, earlier, task_id="r-1", since=since)
    assert [statement.text for statement in news.statements] == ["装机1.3亿千瓦。"]
    assert [source.url for source in news.sources] == ["https://a.example/2"]

    def lay_out(written: ResearchReport, new: EditionNews) -> str:
        basis = NoteBasis(title="甲", url="https://a.example/2", host="a.example")
        return render_document(
            build_report_document(
                written,
                query="储能怎么样？",
                bases=[basis],
                score=None,
                blueprint=None,
                language="zh",
                citation_url=lambda _: None,
                news=new,
            ),
            "md",
        ).decode()

    text = lay_out(later, news)
    said = "装机1.3亿千瓦[\\[1\\]](<https://a.example/2>)（未核实）。"
    assert text.index("自 2026-07-06 一期以来的新内容") < text.index(said) < text.index("## 现状")
    same = compare_editions(later, later, task_id="r-2", since=since)
    assert "自 2026-07-06 一期以来没有新内容。" in lay_out(later, same)
