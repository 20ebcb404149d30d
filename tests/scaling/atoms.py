"""Pieces of hostile texts: each is repeated to any length, as a page of one piece is what tries a reader most."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Atom:
    """A text of any length: `unit` again and again, between a beginning and an end."""

    name: str
    unit: str
    before: str = ""
    after: str = ""

    def build(self, chars: int) -> str:
        count = max(1, (chars - len(self.before) - len(self.after)) // len(self.unit))
        return self.before + self.unit * count + self.after


_UNITS = {
    # Dates, periods, times.
    "chinese month": "2024年1月、",
    "chinese date": "2024年1月5日，",
    "month and day": "Nov 1 ",
    "day and month": "3 May ",
    "month name": "May ",
    "name and number": "mar 2",
    "numeric date": "03/02/2026 ",
    "iso date": "2026-02-03",
    "dotted date": "1.2.3.",
    "era": "令和8年",
    "thai month": "3 ก.พ. 69",
    "vietnamese": "ngày 3 tháng 2 ",
    "roman month": "3.II.",
    "years": "2026 ",
    "months range": "1—9月",
    "quarters": "第一季度",
    "plan": "十四五",
    "relative": "去年同期",
    "english period": "first half of the ",
    "end of": "end of ",
    "time": "10:30:00 ",
    # Numbers.
    "digits": "1",
    "grouped number": "1,234",
    "decimal": "1.",
    "chinese numerals": "一二三",
    "chinese scales": "万亿",
    "percent": "3%、",
    "range": "3-5",
    "number words": "twenty one and a half ",
    "fraction": "三分之",
    "ordinal marks": "一是，二是，",
    "amount": "近100亿元，",
    # Markup.
    "div": "<div>",
    "closed div": "<div></div>",
    "list item": "<ul><li>",
    "inline": "<b>x",
    "anchor": "<a href=/a.html>a",
    "row link": "<li><a href=/2026/a1.html>Title of a notice</a> 2026-02-03</li>",
    "table": "<table><tr><td>x",
    "cells": "<tr><td>发布日期<td>x",
    "headings": "<h1>Title of the page</h1>",
    "open tag": "<",
    "open attribute": '<a title="',
    "unclosed script": "<script>",
    "unclosed comment": "<!--",
    "comment": "<!---->",
    "entity": "&amp;",
    "bare ampersand": "&",
    "frames": "<frameset><frame src=a>",
    "cdata": "<record><![CDATA[",
    "datastore": "<script><datastore>",
    "noscript": "<noscript>x",
    "meta": "<meta name=a content=b>",
    "option": "<option>2026",
    # Brackets, quotes, marks.
    "brackets": "[",
    "parentheses": "（",
    "square and link": "[a](",
    "quotes": '"',
    "chinese quotes": "“",
    "book marks": "《",
    "asterisks": "*",
    "table bars": "|",
    "dots": ". ",
    "ellipsis": "…",
    "full stop": "。",
    "colons": "发布时间：",
    "commas": ",",
    "dashes": "- ",
    "backslash": "\\",
    # Addresses.
    "url": "http://a.b/",
    "url and words": "cite http://a.b/ ",
    "query": "a=1&",
    "percent code": "%20",
    "path": "/",
    "path dots": "../",
    "host": "a.",
    "at signs": "a@",
    # JSON and code.
    "json object": '{"a":',
    "json array": '["a",',
    "json pair": '{"a": 1}',
    "location": "window.location='",
    "script call": "openUrl('",
    "pager call": "createPageHTML(1,",
    "thinking": "<think>",
    "fence": "```\n",
    # Words and white space.
    "letter": "a",
    "capitals": "A",
    "words": "word ",
    "capital words": "Ministry of ",
    "names": "Alpha Beta, ",
    "acronyms": "U.S. ",
    "chinese": "中",
    "chinese words": "国家能源局",
    "chinese office": "部局",
    "chinese list": "甲、",
    "kana": "ア",
    "hangul": "한국",
    "spaces": " ",
    "wide spaces": "\u3000",
    "new lines": "\n",
    "crlf": "\r\n",
    "tabs": "\t",
    "zero width": "\u200b",
    "combining": "e\u0301",
    "emoji": "😀",
    "full width": "１，",
    # Instructions to models.
    "ignore": "ignore ",
    "you must": "请在",
    "say": "say ",
    "please": "please ",
    "system": "SYSTEM:",
    # Speech and judgement.
    "said": "said that ",
    "not": "not ",
    "chinese said": "表示，",
    "citation": "[1]",
    "article": "第一条",
}

ATOMS: tuple[Atom, ...] = (
    *(Atom(name, unit) for name, unit in _UNITS.items()),
    Atom("digits and a letter", "1", after="x"),
    Atom("spaces and a letter", " ", before="a", after="b"),
    Atom("letters and a mark", "a", after="!"),
    Atom("lines and a word", "x\n", after="end"),
    Atom("deep text", "<div>", after="text"),
    Atom("deep link", "<div>", after="<a href=/b.html>text of the link</a>"),
    Atom("json string", "\\u0041", before='{"a": "', after='"}'),
    Atom("json names", '"a",', before="{", after="}"),
    Atom("one row", "<a href=/2026/b.html>Another title of a notice</a>", before="<ul><li>", after="2026-02-03"),
)
