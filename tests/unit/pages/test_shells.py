"""A page that its scripts fill is told from one that is merely short."""

import datetime as dt

import pytest

from monitor.extract.parse import parse_page
from monitor.pages.shells import needs_browser

FETCHED_AT = dt.datetime(2026, 11, 21, 8, tzinfo=dt.UTC)


def asks_for_browser(html: str) -> bool:
    url = "https://www.sample.gov.cn/"
    page = parse_page(
        html.encode(), url=url, final_url=url, status=200, content_type="text/html", fetched_at=FETCHED_AT
    )
    return needs_browser(page, html)


@pytest.mark.parametrize(
    "html",
    [
        '<html><body><div id="app"></div><script src="/app.js"></script></body></html>',
        "<noscript>Please enable JavaScript.</noscript><div id=root></div><script src=/m.js></script>",
        '<html><head><script>document.cookie="a=1";location.reload();</script></head><body></body></html>',
        '<html><body><div id="svelte"></div><script type="module" src="/a.js"></script></body></html>',
        '<html><body><div class="wrap" id="main"></div><script src=/chunk-vendors.js></script></body></html>',
        '<h2>通知公告</h2><ul id="news-list"></ul><script>$.getJSON("/api/list", function (d) {});</script>',
    ],
)
def test_a_shell_needs_a_browser(html: str) -> None:
    assert asks_for_browser(html)


ROWS = "".join(
    f'<li><a href="/t2026020{i}_{i}.html">关于开展第{i}批项目申报工作的通知</a><span>2026-02-0{i}</span></li>'
    for i in range(1, 9)
)


@pytest.mark.parametrize(
    "html",
    [
        f'<html><body><div id="app"><ul>{ROWS}</ul></div><script src="/app.js"></script></body></html>',
        "<html><body><p>您访问的页面不存在。</p></body></html>",
        '<html><body><div id="m"><p>您访问的页面不存在。</p></div><script src="/stat.js"></script></body></html>',
        f"<html><body><h1>通知</h1><p>{'各单位：请按照要求执行。' * 40}</p><script>var a = 1;</script></body></html>",
    ],
)
def test_a_page_that_shows_its_content_needs_none(html: str) -> None:
    assert not asks_for_browser(html)
