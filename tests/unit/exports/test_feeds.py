import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from monitor.exports.atom import Feed, FeedEntry, render_atom
from monitor.exports.document import Span, normalize_line

ATOM = {"a": "http://www.w3.org/2005/Atom"}
URL = "https://gov.example/1"
NOW = dt.datetime(2026, 2, 3, 9, 30, 0, 123, tzinfo=dt.timezone(dt.timedelta(hours=8)))
GRAMMAR = etree.RelaxNG(etree.parse(Path(__file__).with_name("atom.rng")))


def entry(**fields: Any) -> FeedEntry:
    return FeedEntry(**{"name": URL, "title": "关于储能的通知", "url": URL, "updated": NOW, **fields})


def written(*entries: FeedEntry) -> Any:
    """The feed as an XML parser of its own reads it; it must be valid."""
    feed = Feed(
        name="x", title="简报", language="zh-CN", updated=NOW, author="Monitor", subtitle="概览", entries=entries
    )
    root = etree.fromstring(render_atom(feed))
    GRAMMAR.assertValid(root)
    for entry in root.xpath("//a:entry", namespaces=ATOM):
        assert (
            len(entry.xpath("a:link[@rel='alternate']", namespaces=ATOM))
            + len(entry.xpath("a:content", namespaces=ATOM))
            == 1
        )
    return root


def said(root: Any, path: str) -> list[str]:
    return [str(found) for found in root.xpath(path, namespaces=ATOM)]


def test_an_entry_has_all_that_a_reader_of_feeds_needs() -> None:
    root = written(
        entry(
            published=dt.datetime(2026, 2, 1, tzinfo=dt.UTC),
            author="某部",
            summary="摘要",
            categories=["通知", ""],
            enclosures=[Span(text="附件", url=f"{URL}.pdf"), Span(text="无", url="javascript:x")],
            related=[Span(text="转载", url="https://other.example/路 径".replace(" ", ""))],
        )
    )
    assert said(root, "//a:entry/a:updated/text()") == ["2026-02-03T09:30:00+08:00"]
    assert said(root, "//a:entry/a:published/text()") == ["2026-02-01T00:00:00Z"]
    assert said(root, "//a:entry/a:link/@href") == [URL, f"{URL}.pdf", "https://other.example/%E8%B7%AF%E5%BE%84"]
    assert said(root, "//a:category/@term") == ["通知"]


def test_an_entry_is_known_again_in_another_feed_and_none_is_taken_for_another() -> None:
    first = said(written(entry(), entry(name="https://gov.example/2")), "//a:entry/a:id/text()")
    again = said(written(entry(title="改了标题", updated=NOW + dt.timedelta(days=1))), "//a:entry/a:id/text()")
    assert again == first[:1]
    assert len(set(first)) == 2


def test_hostile_text_is_text(hostile: str) -> None:
    root = written(entry(title=hostile, summary=hostile, author=hostile, enclosures=[Span(text=hostile, url=URL)]))
    assert said(root, "//a:entry/a:title/text()") == [normalize_line(hostile)]
    assert said(root, "//a:entry/a:summary/text()") == [normalize_line(hostile)]


@pytest.mark.parametrize("url", [None, "javascript:alert(1)"])
def test_a_note_without_an_address_has_content(url: str | None) -> None:
    root = written(entry(url=url, summary="未能看到的内容"))
    assert said(root, "//a:entry/a:content/text()") == ["未能看到的内容"]
    assert said(root, "//a:entry/a:link/@href") == []


def test_an_empty_feed_is_valid() -> None:
    assert said(written(), "/a:feed/a:subtitle/text()") == ["概览"]
