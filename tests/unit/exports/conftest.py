from collections.abc import Callable

import pytest

from monitor.exports.document import (
    Badge,
    Document,
    Entries,
    Entry,
    Facts,
    Figure,
    Heading,
    LinkRow,
    Listing,
    Paragraph,
    Remark,
    Span,
    Table,
)

URL = "https://gov.example/a?b=1&c=2"
HOSTILE = {
    "formula": "=cmd|' /C calc'!A0",
    "sum": "@SUM(1+1)*cmd|' /C calc'!A0",
    "script": "<script>alert(1)</script>]]><!-- &lt;b&gt; {{briefing}}",
    "direction": "\u202e\u2066gnp.exe\u200f\u061c",
    "long": "关于" + "印发" * 2500 + "的通知",
    "controls": "a\x00b\x07c\x1bd\x0be\x85f\ufffe\uffff",
    "surrogate": "a\ud83db\udc00",
    "emoji": "👩‍👩‍👧 🇨🇳 𠮷",
    "lines": "a\r\nb\u2028c\td",
    "word fields": 'HYPERLINK "https://evil.example" _x000D_ &P &[Page] %n',
    "error": "#N/A",
}


@pytest.fixture(params=HOSTILE.values(), ids=HOSTILE.keys())
def hostile(request: pytest.FixtureRequest) -> str:
    """A text that some reader of some format would stumble over."""
    text: str = request.param
    return text


@pytest.fixture
def new_document() -> Callable[[str], Document]:
    """A document with that text in each place that takes one."""

    def make(text: str) -> Document:
        return Document(
            title=text,
            overline=text,
            subtitle=text,
            contents="目录",
            blocks=[
                Facts(facts=[(text, text)]),
                Paragraph(spans=[Span(text=text)], tone="warning"),
                Heading(text=text),
                Entries(
                    entries=[
                        Entry(
                            number=1,
                            title=Span(text=text, url=URL),
                            particulars=[[Span(text=text)]],
                            badges=[Badge(text=text)],
                            text=text,
                            text_mark=text,
                            links=[LinkRow(label=text, links=[Span(text=text, url=URL)])],
                            remark=Remark(mark=text, paragraphs=[text, text]),
                        )
                    ]
                ),
                Listing(points=[[Span(text=text, url=URL), Span(text=text)]]),
                Listing(points=[[Span(text=text), Span(text=text, url=URL)]], is_running=True),
                Table(header=[text, "新条目"], rows=[[text, "51"]], tones=["warning"]),
                Table(header=[text], rows=[[text]], notes=[[Span(text=text, url=URL)]]),
                Figure(svg="<svg></svg>", caption=text, table=Table(header=[text], rows=[[text]])),
            ],
            colophon=[Span(text=text)],
        )

    return make
