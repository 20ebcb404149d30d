"""What pages say of feeds and of logging in, and which addresses are those of whole sites."""

import pytest

from monitor.extract.discovery import (
    asks_to_log_in,
    find_feed_links,
    is_home_address,
    is_news_sitemap,
    is_sitemap,
    order_sitemaps,
)
from monitor.markup import parse_html

HOME = "https://office.example/"


def test_feeds_for_programs_come_first_and_those_of_comments_last() -> None:
    head = (
        '<link rel="alternate" type="application/rss+xml" href="/comments/feed/">'
        '<link rel="alternate" type="application/json" href="https://office.example/wp-json/wp/v2/pages/1">'
        '<link rel="ALTERNATE" type="application/atom+xml; charset=utf-8" href="news.atom">'
        '<link rel="alternate" hreflang="fr" href="/fr/">'
    )
    body = '<a href="/press/rss.xml">RSS</a><a href="/feedback">Feedback</a><a href="/feedback/feeding-birds">B</a>'
    tree = parse_html(f"<html><head>{head}</head><body>{body}</body></html>")
    assert find_feed_links(tree, HOME) == [
        "https://office.example/news.atom",
        "https://office.example/press/rss.xml",
        "https://office.example/comments/feed/",
    ]


def test_a_field_for_a_password_asks_to_log_in() -> None:
    assert asks_to_log_in(parse_html('<form><input name=u><input type="Password" name=p></form>'))
    assert not asks_to_log_in(parse_html('<form><input type="search" name="q"></form>'))


def test_sitemaps_are_told_apart_by_what_they_hold() -> None:
    news = b'<?xml version="1.0"?><urlset xmlns:n="http://www.google.com/schemas/sitemap-news/0.9"><url/></urlset>'
    plain = b"<urlset><url><loc>https://office.example/news</loc></url></urlset>"
    assert (is_sitemap(news), is_news_sitemap(news)) == (True, True)
    assert (is_sitemap(plain), is_news_sitemap(plain)) == (True, False)
    assert not is_sitemap(b"<rss><channel/></rss>")


def test_sitemaps_of_news_come_first_and_the_usual_path_where_none_is_named() -> None:
    named = ["/all.xml", "https://office.example/news.xml", "ftp://office.example/x.xml"]
    assert order_sitemaps(named, HOME) == ["https://office.example/news.xml", "https://office.example/all.xml"]
    assert order_sitemaps([], HOME) == ["https://office.example/sitemap.xml"]


@pytest.mark.parametrize(
    ("url", "is_home"),
    [
        ("https://office.example/", True),
        ("https://office.example/en/", True),
        ("https://office.example/zh-CN/index.html", True),
        ("https://office.example/zc/", False),
        ("https://office.example/en/notices/", False),
        ("https://office.example/?id=3", False),
    ],
)
def test_the_home_of_a_site_is_its_root_or_that_of_a_language(url: str, is_home: bool) -> None:
    assert is_home_address(url) is is_home
