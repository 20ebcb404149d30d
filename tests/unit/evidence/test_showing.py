"""A recorded page as text, and the passage in it."""

import datetime as dt

import pytest

from monitor.evidence.passages import MAX_SHOWN_CHARS, highlight_passage, highlight_text
from monitor.fetch.result import FetchResult
from monitor.vocabulary import FetchMode

AT = dt.datetime(2026, 2, 3, 8, tzinfo=dt.UTC)


def seen(body: str, content_type: str = "text/html; charset=utf-8") -> FetchResult:
    url = "https://example.gov/list/"
    return FetchResult(
        url=url,
        mode=FetchMode.HTTP,
        at=AT,
        final_url=url,
        status=200,
        headers={"content-type": content_type},
        body=body.encode(),
    )


def passage(page: FetchResult, words: str, *, near: str = "") -> str | None:
    found = highlight_passage(page, words, near=near)
    return None if found.start is None else found.text[found.start : found.end]


def test_a_passage_is_found_across_elements_and_white_space() -> None:
    page = seen("<body><div>前文</div><p>总装机\n <b>容量</b>为\u200b3.5 万千瓦。</p></body>")
    assert passage(page, "总装机容量为3.5万千瓦。") == "总装机 容量为 3.5 万千瓦。"
    assert passage(page, "没有的话") is None
    assert highlight_passage(page, "").start is None


def test_what_nobody_sees_is_not_shown() -> None:
    page = seen("<body><script>var x = '机密';</script><style>p{}</style><p>公开 &lt;b&gt; \u202e 内容</p></body>")
    text = highlight_passage(page, "").text
    assert text == "公开 <b>   内容"


def test_of_equal_words_those_beside_the_title_are_meant() -> None:
    rows = "".join(f"<li>2026-02-03 第{number}号公告在此公布</li>" for number in range(5))
    page = seen(f"<body><ul>{rows}</ul></body>")
    for number in range(5):
        found = highlight_passage(page, "2026-02-03", near=f"第{number}号公告在此公布")
        assert found.text[found.end or 0 :].startswith(f" 第{number}号")


@pytest.mark.parametrize(
    ("words", "body"),
    [
        ("/a/1.html?x=1&amp;y=2", '<body><a href="/a/1.html?x=1&amp;y=2">下载</a></body>'),
        ("2026-02-03 08:00", '<head><meta name="PubDate" content="2026-02-03 08:00"></head><body><p>文</p></body>'),
    ],
)
def test_a_passage_of_the_markup_is_shown_in_a_piece_of_it(words: str, body: str) -> None:
    found = highlight_passage(seen(body), words)
    assert found.is_source
    assert found.text[found.start : found.end] == words


def test_a_feed_is_shown_as_what_stands_between_its_tags() -> None:
    feed = seen(
        '<?xml version="1.0"?><rss><channel><item><title><![CDATA[第7号 <b>公告</b>]]></title>'
        "<description>&lt;p&gt;全文&lt;/p&gt;</description></item></channel></rss>",
        "application/rss+xml",
    )
    assert highlight_passage(feed, "").text == "第7号\n公告\n全文"
    assert passage(feed, "第7号 公告 全文") == "第7号\n公告\n全文"


def test_of_a_long_text_the_part_around_the_passage_is_shown() -> None:
    text = f"{'甲' * 300_000}此处{'乙' * 300_000}"
    found = highlight_text(text, "此处")
    assert found.is_cut
    assert len(found.text) == MAX_SHOWN_CHARS
    assert found.text[found.start : found.end] == "此处"
    assert highlight_text(text, "别处").start is None


def test_signs_that_are_no_text_neither_show_nor_part_a_passage() -> None:
    page = seen("<body><p>会议\x80议程\x00公布</p></body>")
    assert passage(page, "会议\x80议程公布") is not None
    assert "\x80" not in highlight_passage(page, "").text
