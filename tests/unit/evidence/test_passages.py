import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.evidence.passages import PassageFinder
from monitor.fetch.result import FetchResult
from monitor.vocabulary import FetchMode

AT = dt.datetime(2026, 2, 5, 8, tzinfo=dt.UTC)
DAY = dt.date(2026, 2, 3)
URL = "http://a.example/news/t1.html"
TITLE = "关于做好储能项目备案的通知"
OTHER = '<li><a href="/news/t2.html">关于印发电力市场运行规则的通知</a><span>2026-02-01</span></li>'


def opened(
    html: str, url: str = "http://a.example/news/", content_type: str = "text/html; charset=utf-8"
) -> PassageFinder:
    headers = {"content-type": content_type}
    return PassageFinder(
        FetchResult(url=url, mode=FetchMode.HTTP, at=AT, final_url=url, status=200, headers=headers, body=html.encode())
    )


@pytest.mark.parametrize(
    ("html", "row"),
    [
        (f'<ul><li><a href="t1.html">{TITLE}</a><span>[02-03]</span></li>{OTHER}</ul>', f"{TITLE} [02-03]"),
        (
            (
                f'<table><tr><td>7</td><td><a href="/news/t1.html">{TITLE}</a></td><td>2026年2月3日</td></tr>'
                f'<tr><td>8</td><td><a href="/news/t2.html">{TITLE}（二）</a></td><td>2月1日</td></tr></table>'
            ),
            f"7 {TITLE} 2026年2月3日",
        ),
        (f'<dl><dt>03 2026.02</dt><dd><a href="t1.html">{TITLE}</a></dd>{OTHER}</dl>', f"03 2026.02 {TITLE}"),
        (f'<div><p><a href="t1.html">{TITLE}</a></p><i>2026/02/03</i>{OTHER}</div>', f"{TITLE} 2026/02/03"),
        (
            (
                f'<base href="http://a.example/"><ul><li><a href="news/t1.html">{TITLE}</a> <a href="a.pdf">附件</a>'
                f"<b>2026-02-03</b></li>{OTHER}</ul>"
            ),
            f"{TITLE} 附件 2026-02-03",
        ),
    ],
    ids=["list", "table", "date before", "date after", "base and attachment"],
)
def test_the_row_of_a_record_is_its_own_and_has_its_date(html: str, row: str) -> None:
    assert opened(f"<html><body>{html}</body></html>").find_row(URL, TITLE, DAY) == row


@pytest.mark.parametrize(
    ("html", "words"),
    [
        (f"<h3>2026年2月3日</h3><ul><li><a href='t1.html'>{TITLE}</a></li>{OTHER}</ul>", "2026年2月3日"),
        (f"<ul>{OTHER}<li><a href='t1.html'>{TITLE}</a></li></ul><p>February 3, 2026</p>", f"{TITLE} February 3, 2026"),
        (f"<ul><li><a href='t1.html'>{TITLE}</a></li>{OTHER}</ul>", ""),
    ],
    ids=["heading", "below", "nowhere"],
)
def test_a_date_that_is_not_in_the_row_is_quoted_from_where_it_stands(html: str, words: str) -> None:
    page = opened(f"<body>{html}</body>")
    assert page.find_row_date(URL, page.find_row(URL, TITLE, DAY), DAY) == words


def test_of_several_links_to_a_record_the_one_with_its_date_counts() -> None:
    picture = '<div class="focus"><a href="t1.html"><img src="a.jpg"></a></div>'
    listed = f'<ul><li><a href="t1.html">{TITLE}</a><span>02-03</span></li>{OTHER}</ul>'
    assert (
        opened(f"<body>{picture}<p><a href='t1.html'>要闻：{TITLE}</a></p>{OTHER}{listed}</body>").find_row(
            URL, TITLE, DAY
        )
        == f"{TITLE} 02-03"
    )


def test_an_entry_of_a_feed_is_a_row() -> None:
    feed = (
        f"<?xml version='1.0'?><rss><channel><item><title><![CDATA[{TITLE}]]></title><link>{URL}?a=1&amp;b=2</link>"
        "<pubDate>Tue, 03 Feb 2026 08:00:00 GMT</pubDate></item><item><title>x</title></item></channel></rss>"
    )
    row = opened(feed, content_type="application/rss+xml").find_row(f"{URL}?a=1&b=2", TITLE, DAY)
    assert row == f"{TITLE} {URL}?a=1&b=2 Tue, 03 Feb 2026 08:00:00 GMT"


def test_a_list_in_a_script_gives_the_title_and_another_page_nothing() -> None:
    page = opened(f'<script>list([{{"t": "{TITLE}", "u": "t1.html"}}])</script>')
    assert page.find_row(URL, TITLE, DAY) == TITLE
    assert opened("<p>nothing of it</p>").find_row(URL, TITLE, DAY) == ""


def test_a_date_is_quoted_where_people_read_it_and_else_from_what_machines_read() -> None:
    read = opened(
        '<meta name="d" content="2026-02-03 10:00"><p>来源：本站 发布日期：2026年02月03日</p><p>2026-02-03</p>'
    )
    assert read.find_date(DAY) == "来源：本站 发布日期：2026年02月03日"
    assert opened('<meta name="d" content="2026-02-03 10:00"><p>正文</p>').find_date(DAY) == "2026-02-03 10:00"
    assert opened("<p>2026-02-04</p>").find_date(DAY) == ""


@settings(max_examples=60)
@given(st.text(max_size=300), st.text(max_size=40))
def test_any_bytes_give_a_passage_or_none(html: str, title: str) -> None:
    page = opened(html.encode("utf-8", "replace").decode())
    page.find_row(URL, title, DAY)
    page.find_row_date(URL, title, DAY)
    page.find_date(DAY)
    page.find_link_text(URL)
