"""Nothing from a result page is trusted."""

import re
import unicodedata
from urllib.parse import urlsplit

from hypothesis import example, given, settings
from hypothesis import strategies as st

from monitor.search.contract import SearchHit
from monitor.search.responses import MAX_SNIPPET_CHARS, MAX_TITLE_CHARS, MAX_URL_CHARS, clean_hits, strip_markup

MARKUP = re.compile(r"<[A-Za-z/!?]")
SCRIPT_URL = re.compile(r"(javascript|vbscript)\s*:", re.IGNORECASE)
pieces = st.sampled_from(
    [
        "<",
        ">",
        "<script>",
        "</b",
        "<img src=x onerror=alert(1)",
        "&lt;",
        "&#60;b&gt;",
        "javascript:",
        "JavaScript :",
        "java\u200bscript:",
        "\x00",
        "\x1b[31m",
        "\u202e",
        "\ud800",
        "\r\n",
        "&amp;lt;",
        "<!--",
        "<?",
        "]]>",
        "光伏",
        "a",
        "http://a.example/",
        "https://b.example/x?utm_source=1",
        "data:text/html,",
        "//",
        "\\",
        '"',
        "'",
        "#",
        "@",
        "%00",
        " ",
        "é",
    ]
)
texts = st.lists(pieces | st.text(max_size=5), max_size=12).map("".join)
urls = texts | st.tuples(st.sampled_from(["http://", "https://", "HTTPS://", ""]), texts).map("".join)
hits = st.lists(st.builds(SearchHit, title=texts, url=urls, snippet=texts, source=st.none() | urls), max_size=12)


def is_plain(text: str) -> bool:
    categories = {unicodedata.category(char) for char in text}
    return not (MARKUP.search(text) or SCRIPT_URL.search(text) or categories & {"Cc", "Cs"})


@settings(max_examples=150)
@given(hits, st.integers(1, 20))
@example([SearchHit(title="<<b>b>", url="https://a.example/\x00<script>", snippet="<scr<b>ipt>")], 3)
@example([SearchHit(title="java\u200bscript:x", url="javascript:alert(1)", source="javascript:alert(1)")], 3)
@example([SearchHit(title="x", url="http://user:word@a.example/")], 3)
def test_markup_control_characters_and_script_urls_never_get_through(found: list[SearchHit], limit: int) -> None:
    items = clean_hits(found, backend="brave", limit=limit)
    assert [item.rank for item in items] == list(range(1, len(items) + 1))
    assert len(items) <= limit
    for item in items:
        assert is_plain(item.title)
        assert is_plain(item.snippet)
        assert len(item.title) <= MAX_TITLE_CHARS
        assert len(item.snippet) <= MAX_SNIPPET_CHARS
        for url in filter(None, (item.url, item.source)):
            assert urlsplit(url).scheme in ("http", "https")
            assert urlsplit(url).hostname
            assert "@" not in urlsplit(url).netloc
            assert len(url) <= MAX_URL_CHARS
            assert not re.search(r"[\s<>\"\x00-\x1f]", url)
        item.model_dump_json().encode()


def test_ranks_are_written_after_what_is_none_was_dropped() -> None:
    found = [
        SearchHit(title="A", url="https://a.example/"),
        SearchHit(title="no url", url=""),
        SearchHit(title="a file", url="ftp://a.example/x"),
        SearchHit(title="the same", url="http://www.a.example/?utm_source=x#part"),
        SearchHit(title="too long", url="https://a.example/" + "x" * 3000),
        SearchHit(title="the same by its real address", url="https://r.example/?to=1", source="https://a.example"),
        SearchHit(title="B", url="https://b.example/"),
    ]
    assert [(clean_hit.rank, clean_hit.title) for clean_hit in clean_hits(found, backend="brave", limit=10)] == [
        (1, "A"),
        (2, "B"),
    ]


def test_a_text_reads_as_people_see_it() -> None:
    assert strip_markup("<strong>光</strong>伏 &amp; <em>wind</em>", 99) == "光伏 & wind"
    assert strip_markup("one<br>two</p><p>three", 99) == "one two three"
    assert strip_markup("a < b and 3 > 2", 99) == "a < b and 3 > 2"
    assert strip_markup(" \t two\n lines ", 99) == "two lines"
    assert strip_markup("JavaScript: The Good Parts", 99) == "JavaScript： The Good Parts"
    assert strip_markup("word " * 100, 20) == "word word word word…"
    assert strip_markup("x" * 20, 20) == "x" * 20


def test_the_provider_is_the_engine_where_one_is_told() -> None:
    found = [SearchHit(url="https://a.example/", provider="<b>bing</b>"), SearchHit(url="https://b.example/")]
    assert [clean_hit.provider for clean_hit in clean_hits(found, backend="searxng", limit=5)] == ["bing", "searxng"]
