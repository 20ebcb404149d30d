import io
import re
import zipfile
from typing import Any

import docx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from selectolax.lexbor import LexborHTMLParser

from monitor.errors import UsageError
from monitor.exports.document import (
    Badge,
    Document,
    Entries,
    Entry,
    Facts,
    Heading,
    LinkRow,
    Listing,
    Paragraph,
    Span,
    Table,
    normalize_line,
    sanitize_link_target,
)
from monitor.exports.docx import render_docx
from monitor.exports.html import render_mail
from monitor.exports.plain import render_plain_text
from monitor.exports.registry import get_format, render_document

HOSTILE = [
    '<script>alert(1)</script><img src=x onerror="alert(1)">',
    "](https://evil.example) [click](javascript:alert(1))",
    "# heading\n\n---\n* point\n1. one\n> quote\n| a | b |",
    "![x](https://evil.example/x.png) `code` ~~gone~~ <https://evil.example> &lt;b&gt;",
    "www.evil.example https://evil.example me@evil.example",
    "\u202egnp.exe\u0000\u2028- next",
    "\\](x) \\` \\*\\*",
    "<!-- <style>*{display:none}</style>",
    "- 1.\t2) + = ===",
]


def document(text: str, url: str | None = "https://gov.example/a?b=1&c=2") -> Document:
    return Document(
        title=text,
        overline=text,
        subtitle=text,
        blocks=[
            Facts(facts=[(text, text)]),
            Paragraph(spans=[Span(text=text)], tone="warning"),
            Heading(text=text),
            Entries(
                entries=[
                    Entry(
                        number=1,
                        title=Span(text=text, url=url),
                        particulars=[[Span(text=text)]],
                        badges=[Badge(text=text)],
                        text=text,
                        text_mark=text,
                        links=[LinkRow(label=text, links=[Span(text=text, url=url)])],
                    )
                ]
            ),
            Listing(points=[[Span(text=text, url=url), Span(text=text)]]),
            Table(header=[text, "b"], rows=[[text, ""]], tones=["warning"]),
        ],
        colophon=[Span(text=text)],
    )


def parsed_html(text: str, url: str | None = "https://gov.example/a?b=1&c=2") -> LexborHTMLParser:
    return LexborHTMLParser(render_document(document(text, url), "html").decode())


def markdown_tokens(text: str) -> list[Any]:
    parser = MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")
    tokens = parser.parse(render_document(document(text), "md").decode())
    return [inner for token in tokens for inner in (token, *(token.children or []))]


def tags(tree: LexborHTMLParser) -> list[str]:
    return [node.tag for node in tree.css("*")]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text_in_html(text: str) -> None:
    tree, plain = parsed_html(text), parsed_html("plain")
    assert tags(tree) == tags(plain)
    heading = tree.css_first("h1")
    assert heading is not None
    assert normalize_line(heading.text()) == normalize_line(text)
    assert {node.attributes.get("href") for node in tree.css("a")} == {"https://gov.example/a?b=1&c=2"}


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text_in_markdown(text: str) -> None:
    tokens, plain = markdown_tokens(text), markdown_tokens("plain")
    kinds = [token.type for token in tokens if token.type not in ("text", "text_special")]
    assert kinds == [token.type for token in plain if token.type != "text"]
    links = {token.attrs["href"] for token in tokens if token.type == "link_open"}
    assert links == {"https://gov.example/a?b=1&c=2"}
    assert "https://evil" not in render_document(document(text), "md").decode()


@given(st.text(min_size=1).filter(lambda text: normalize_line(text) != ""))
def test_any_title_is_one_heading_in_both_formats(text: str) -> None:
    heading = parsed_html(text).css_first("h1")
    assert heading is not None
    tokens = markdown_tokens(text)
    assert sum(token.type == "heading_open" for token in tokens) == 2
    assert not any(token.type.startswith("html") for token in tokens)


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "//evil.example", "https://a b", 'https://a"onclick=x', "", None]
)
def test_only_http_addresses_become_links(url: str | None) -> None:
    assert sanitize_link_target(url) is None
    assert parsed_html("title", url).css("a") == []
    assert "](" not in render_document(document("title", url), "md").decode()


def test_the_page_asks_for_nothing_and_allows_only_its_own_style() -> None:
    page = render_document(document("标题"), "html").decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src &#x27;none&#x27;; style-src &#x27;sha256-")
    assert "unsafe" not in policy[1]
    assert not re.search(r"<(script|img|link|iframe|object)\b|@import|url\(", page)
    assert all("noopener" in (node.attributes.get("rel") or "") for node in parsed_html("a").css("a"))
    assert '<html lang="zh-CN">' in page


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        UsageError, match="no format 'doc' here; choose one of md, html, docx, pdf, csv, xlsx, json, jsonl, at"
    ):
        get_format("doc")
    with pytest.raises(UsageError, match="no format 'xlsx' here; choose one of md, html, docx, pdf"):
        render_document(document("a"), "xlsx")


@pytest.mark.parametrize("form", ["md", "html", "docx"])
def test_a_title_of_thousands_of_letters_does_not_fill_pages(form: str) -> None:
    content = render_document(
        Document(title="x", blocks=[Listing(points=[[Span(text="长" * 5000, url="https://a.example/")]])]), form
    )
    text = zipfile.ZipFile(io.BytesIO(content)).read("word/document.xml") if form == "docx" else content
    assert f"{'长' * 299}…" in text.decode()
    assert "长" * 300 not in text.decode()


def test_a_mail_looks_right_where_style_sheets_and_variables_are_dropped() -> None:
    entry = Entry(number=1, title=Span(text="标题<b>", url="https://gov.example/1"), gist="因此", gist_mark="评估")
    table = Table(header=["日期", "事项"], rows=[["2026-01-01", "施行"]], tones=["warning"])
    document = Document(title="简报", blocks=[Heading(text="要闻"), Entries(entries=[entry]), table])
    page = render_mail(document).decode()
    assert "<style" not in page
    assert "var(" not in page
    assert "标题&lt;b&gt;" in page
    tree = LexborHTMLParser(page)
    for name in ("body", "h1", "h2", "h3", "a", "p.gist", "span.mark", "table", "th", "td"):
        found = tree.css_first(name)
        assert found is not None, name
        assert found.attributes.get("style"), name


def test_the_contents_stand_behind_the_first_parts_of_a_word_file_if_so_wished() -> None:
    blocks = [Heading(text="要闻"), Heading(text="期限")]
    document = Document(title="简报", blocks=blocks, contents="目录", contents_after=1)
    texts = [paragraph.text for paragraph in docx.Document(io.BytesIO(render_docx(document))).paragraphs]
    assert texts.index("要闻") < texts.index("目录") < len(texts) - 1 - texts[::-1].index("期限")


def test_dates_and_short_texts_stay_on_one_line_in_html_and_in_mail() -> None:
    entry = Entry(
        number=1,
        title=Span(text="Title"),
        gist="Moved from 2026-03-01 to 2026-03-09",
        particulars=[[Span(text="2026-03-01 (list)"), Span(text="An office with a name that is as long as a line")]],
    )
    table = Table(header=["Day", "What"], rows=[["2026-03-09", "Comments due (moved from 2026-03-01)"]])
    document = Document(title="T", language="en", blocks=[Entries(entries=[entry]), table])
    page = render_document(document, "html").decode()
    assert page.count('<span class="short">2026-03-01</span>') == 2
    assert '<span class="short">2026-03-01 (list)</span>' in page
    assert "<span>An office with a name" in page
    assert "white-space: nowrap" in render_mail(document).decode().split("2026-03-09")[0]


def test_plain_text_has_no_marks_and_each_address_beside_its_text() -> None:
    entry = Entry(
        number=3,
        title=Span(text="关于储能的通知", url="https://gov.example/3"),
        gist="须在 12-09 前落实",
        gist_mark="评估",
        particulars=[[Span(text="通知"), Span(text="2026-11-27")], []],
        badges=[Badge(text="正式")],
        text="装机 1.2 亿千瓦_时。",
        links=[LinkRow(label="解读", links=[Span(text="一图读懂", url="https://gov.example/4")])],
    )
    blocks = [
        Heading(text="要闻"),
        Paragraph(spans=[Span(text="见 "), Span(text="[3]", url="https://gov.example/3", entry=3), Span(text="。")]),
        Entries(entries=[entry]),
    ]
    assert render_plain_text(Document(title="简报 [1]*", blocks=blocks)).splitlines() == [
        "简报 [1]*",
        "=========",
        "",
        "要闻",
        "----",
        "",
        "见 [3]。",
        "",
        "3. 关于储能的通知 [正式]",
        "   https://gov.example/3",
        "   [评估] 须在 12-09 前落实",
        "   通知 · 2026-11-27",
        "",
        "   装机 1.2 亿千瓦_时。",
        "   解读 一图读懂 <https://gov.example/4>",
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_in_plain_text_no_program_finds_an_address_that_is_not_ours(text: str) -> None:
    written = render_plain_text(document(text))
    assert set(re.findall(r"(?:https?://|www\.)[^\s>]+", written)) == {"https://gov.example/a?b=1&c=2"}
    assert not set("\u202e\u0000\u2028") & set(written)
