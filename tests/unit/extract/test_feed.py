"""Feeds as they are met: old and new, with markup in their titles, cut short, with ampersands that XML forbids."""

import datetime as dt

import pytest

from monitor.extract.feeds import is_feed, parse_feed
from monitor.vocabulary import DateSource

TODAY = dt.date(2026, 11, 21)
URL = "https://www.sample.gov.cn/feed.xml"
FEBRUARY_3 = dt.date(2026, 2, 3)


def rss(items: str) -> str:
    return (
        f'<?xml version="1.0" encoding="utf-8"?><rss version="2.0"><channel><title>News</title>{items}</channel></rss>'
    )


def one(text: str) -> tuple[str, str, dt.date | None]:
    """Title, url and date of a feed's only entry."""
    assert is_feed(text)
    _, (candidate,), _ = parse_feed(text, URL, TODAY)
    assert candidate.date_source is (DateSource.FEED if candidate.date else DateSource.UNKNOWN)
    return candidate.title, candidate.url, candidate.date


@pytest.mark.parametrize(
    "text",
    [
        rss("<item><title>One</title><link>/1</link><pubDate>Tue, 03 Feb 2026 23:30:00 +0800</pubDate></item>"),
        rss("<item><title>One</title><link>/1</link><pubDate>2026年2月3日</pubDate></item>"),
        rss(
            "<item><title>One</title><guid>https://www.sample.gov.cn/1</guid><pubDate>2026-02-03 10:00</pubDate></item>"
        ),
        (
            '<?xml version="1.0"?><!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "rss.dtd">'
            '<rss version="0.91">'
            "<channel><item><title>One</title><link>/1</link><pubDate>03 Feb 2026</pubDate></item></channel></rss>"
        ),
        (
            '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" '
            'xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="/"><title>News</title></channel>'
            '<item rdf:about="/1"><title>One</title><dc:date>2026-02-03T10:00:00+09:00</dc:date></item></rdf:RDF>'
        ),
        (
            '<feed xmlns="http://www.w3.org/2005/Atom"><entry><title type="html">&lt;b&gt;One&lt;/b&gt;</title>'
            '<link rel="self" href="/self"/><link href="/1"/><updated>2026-05-01T00:00:00Z</updated>'
            "<published>2026-02-03T00:00:00Z</published></entry></feed>"
        ),
        (
            '<urlset xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"><url><loc>/1</loc>'
            "<lastmod>2026-05-01</lastmod><news:news><news:publication_date>2026-02-03</news:publication_date>"
            "<news:title>One</news:title></news:news></url></urlset>"
        ),
        (
            '{"version": "https://jsonfeed.org/version/1.1", "title": "News", "items": '
            '[{"id": "1", "url": "/1", "title": "One", "date_published": "2026-02-03T10:00:00+08:00"}, 7, {"id": "2"}]}'
        ),
    ],
    ids=["rss", "rss-chinese-date", "rss-guid", "rss-0.91", "rss-1.0", "atom", "news-sitemap", "json"],
)
def test_an_entry_is_read_in_every_kind_of_feed(text: str) -> None:
    assert one(text) == ("One", "https://www.sample.gov.cn/1", FEBRUARY_3)


def test_titles_are_read_without_markup_and_escapes() -> None:
    for written in ("A &amp; B", "<![CDATA[A &amp; <b>B</b>]]>", "A & B", "A&nbsp;&amp; B"):
        assert one(rss(f"<item><title>{written}</title><link>/1</link></item>"))[0] == "A & B"
    assert one(rss("<item><title>GDP &lt; 5 %</title><link>/1</link></item>"))[0] == "GDP < 5 %"


def test_an_address_keeps_its_query_whether_it_was_escaped_or_not() -> None:
    for written in ("/s?a=1&amp;copy=2", "/s?a=1&copy=2", "<![CDATA[/s?a=1&copy=2]]>"):
        assert one(rss(f"<item><title>One</title><link>{written}</link></item>"))[1] == (
            "https://www.sample.gov.cn/s?a=1&copy=2"
        )


def test_a_feed_that_is_cut_short_gives_what_was_whole() -> None:
    text = rss("<item><title>One</title><link>/1</link></item><item><title>Two")
    assert one(text[: text.index("Two")])[0] == "One"


def test_an_entry_without_a_page_is_its_document() -> None:
    item = '<item><title>One</title><guid isPermaLink="false">x1</guid><enclosure url="/f/1.pdf"/></item>'
    assert one(rss(item))[1] == "https://www.sample.gov.cn/f/1.pdf"


def test_a_day_in_the_future_is_none() -> None:
    assert one(rss("<item><title>One</title><link>/1</link><pubDate>03 Feb 2032</pubDate></item>"))[2] is None


def test_what_only_looks_like_a_feed_is_none() -> None:
    assert not is_feed("<html><body><rss></rss></body></html>")
    assert not is_feed('{"version": "1.0", "items": []}')
