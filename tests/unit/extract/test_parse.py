"""Any bytes make a Page."""

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.extract.parse import parse_page
from monitor.page import Page, PageErrorCode
from monitor.vocabulary import DateSource

FETCHED_AT = dt.datetime(2026, 11, 21, 8, tzinfo=dt.UTC)
URL = "https://www.sample.gov.cn/a/"


def page_of(body: bytes, content_type: str | None = None, url: str = URL) -> Page:
    return parse_page(body, url=url, final_url=url, status=200, content_type=content_type, fetched_at=FETCHED_AT)


def check(page: Page) -> None:
    links = {link.url for link in page.links}
    urls = [*links, *(candidate.url for candidate in page.candidates), *(found.url for found in page.attachments)]
    assert all(url.startswith(("http://", "https://")) and "#" not in url for url in urls)
    assert {candidate.url for candidate in page.candidates} <= links
    assert len({candidate.url for candidate in page.candidates}) == len(page.candidates)
    for day in (page.published_on, *(candidate.date for candidate in page.candidates)):
        assert day is None or dt.date(1990, 1, 1) <= day <= dt.date(2026, 11, 22)


@settings(max_examples=150)
@given(
    st.binary(max_size=400),
    st.sampled_from([None, "text/html", "text/html; charset=gbk", "application/xml", "text/plain"]),
)
def test_no_bytes_crash_the_parsers(body: bytes, content_type: str | None) -> None:
    check(page_of(body, content_type))


FRAGMENTS = st.sampled_from(
    [
        '<a href="/a1.html">关于印发规划的通知</a>',
        '<a href="//b.com/x?id=1#f">A fairly long title of a page</a>',
        '<a href="http://[bad">x</a>',
        '<a href="http://[::1]:99999/">y</a>',
        "2026-02-03",
        "[02-03]",
        "31/12/2099",
        "昨天",
        "<ul><li>",
        "</li><li>",
        "</ul>",
        "<table><tr><td>",
        "</td><td>",
        "<base href='//c.org/d/'>",
        "<title>t",
        '<meta name=pubdate content="2026-13-45">',
        "<script>createPageHTML(9,0,'index','html')</script>",
        '<script type="application/ld+json">[{"@type":["Article"],"datePublished":5}]</script>',
        "<a>",
        "<a href=''>",
        "&#0;",
        "\x00",
        "<h1>",
        "<time datetime=x>",
        '<a href="?p=2">下一页</a>',
        "<p>发布时间：",
        '<a href="a.pdf">PDF</a>',
        "<!--",
        "<svg><a href=/s>",
        "<template><a href=/t>t</a></template>",
    ]
)


@settings(max_examples=150)
@given(st.lists(FRAGMENTS, max_size=30))
def test_no_markup_crashes_the_parsers(fragments: list[str]) -> None:
    check(page_of("".join(fragments).encode("utf-8", "replace"), "text/html"))


def test_ten_thousand_nested_tags_are_read() -> None:
    page = page_of(b"<html><body>" + b"<div>" * 10_000 + b'<a href="/x.html">deep</a>', "text/html")
    assert [link.url for link in page.links] == ["https://www.sample.gov.cn/x.html"]


@pytest.mark.parametrize("body", [b"%PDF-1.7 ...", b"PK\x03\x04...", b"\x89PNG\r\n", b"\x00\x01\x02"])
def test_a_file_that_is_no_page_says_so(body: bytes) -> None:
    page = page_of(body)
    assert page.error is not None
    assert page.error.code is PageErrorCode.UNSUPPORTED_TYPE


def test_a_base_element_changes_what_links_mean() -> None:
    page = page_of(
        b'<html><head><base href="/other/"></head><body><a href="x.html?utm_source=a#top">x</a></body></html>'
    )
    assert [link.url for link in page.links] == ["https://www.sample.gov.cn/other/x.html"]


def test_plain_text_is_its_own_main_text() -> None:
    page = page_of("第一行\n第二行".encode(), "text/plain; charset=utf-8")
    assert (page.text, page.links, page.error) == ("第一行\n第二行", [], None)


RSS = """<?xml version="1.0" encoding="gb2312"?><rss version="2.0"><channel><title>通知公告</title><link>https://www.sample.gov.cn/</link>
<item><title><![CDATA[关于A的通知]]></title><link>https://www.sample.gov.cn/a.html?utm_source=rss</link>
<pubDate>Tue, 03 Feb 2026 23:30:00 +0800</pubDate>
<enclosure url="/f/a.pdf" type="application/pdf"/></item>
<item><title>无日期</title><link>/b.html</link></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><link rel="next" href="?page=2"/>
<entry><title>One</title><link rel="self" href="/self"/><link href="/one"/>
<updated>2026-03-01T00:00:00Z</updated><published>2026-02-03T00:00:00Z</published></entry></feed>"""
SITEMAP = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>https://www.sample.gov.cn/one.html</loc><lastmod>2026-02-03</lastmod></url></urlset>"""


def test_the_entries_of_an_rss_feed_are_its_candidates() -> None:
    page = page_of(RSS.encode("gb2312"), "text/xml")
    first, second = page.candidates
    assert (first.title, first.url, first.date, first.date_source) == (
        "关于A的通知",
        "https://www.sample.gov.cn/a.html",
        dt.date(2026, 2, 3),
        DateSource.FEED,
    )
    assert [found.url for found in first.attachments] == ["https://www.sample.gov.cn/f/a.pdf"]
    assert (second.url, second.date, second.date_source) == (
        "https://www.sample.gov.cn/b.html",
        None,
        DateSource.UNKNOWN,
    )
    assert page.title == "通知公告"
    check(page)


def test_atom_and_sitemaps_are_read_too() -> None:
    atom = page_of(ATOM.encode(), "application/atom+xml")
    assert [(found.url, found.date) for found in atom.candidates] == [
        ("https://www.sample.gov.cn/one", dt.date(2026, 2, 3))
    ]
    assert atom.next_page == "https://www.sample.gov.cn/a/?page=2"
    sitemap = page_of(SITEMAP.encode(), "application/xml")
    assert [(found.url, found.date) for found in sitemap.candidates] == [
        ("https://www.sample.gov.cn/one.html", dt.date(2026, 2, 3))
    ]


def test_a_feed_cannot_read_files_or_blow_up_through_entities() -> None:
    bomb = '<!DOCTYPE rss [<!ENTITY a SYSTEM "file:///etc/hostname"><!ENTITY b "xxxxxxxxxx"><!ENTITY c "&b;&b;&b;">]>'
    page = page_of(
        (bomb + "<rss><channel><item><title>t&a;&c;</title><link>/x</link></item></channel></rss>").encode(), "text/xml"
    )
    assert all("xxxx" not in candidate.title for candidate in page.candidates)


@pytest.mark.parametrize("piece", ["1", " ", "<", "2026 ", "<meta ", "<script>createPageHTML("])
@pytest.mark.timeout(20)
def test_a_hundred_thousand_repetitions_do_not_stall_the_parsers(piece: str) -> None:
    check(page_of(("<p>" + piece * 100_000).encode(), "text/html"))
