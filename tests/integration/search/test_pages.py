"""The result pages of services for people, in their real markup: what is a result, a block, an empty page."""

# ruff: noqa: E501 -- markup, not code

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus"

BAIDU = """<html><head><title>验证码_百度搜索</title></head><body><div id="wrapper"><div id="content_left">
<div class="result c-container new-pmd" srcid="1599" tpl="ad" data-tuiguang="1" mu="https://ad.example/"><h3><a
 href="http://www.baidu.com/link?url=AD1">An advertisement</a></h3></div>
<div class="ec_wise c-container" id="3001"><h3><a href="http://www.baidu.com/baidu.php?url=AD2">Another</a></h3></div>
<div class="result c-container" id="4"><span data-tuiguang="x"></span><h3><a
 href="http://www.baidu.com/link?url=AD3">A third</a></h3></div>
<div class="result-op c-container xpath-log" srcid="28226" tpl="baike" mu="https://baike.baidu.com/item/1"><h3><a
 href="http://www.baidu.com/link?url=OP1">A card</a></h3><div class="c-container result"><h3><a
 href="http://www.baidu.com/link?url=IN1">A part of a card</a></h3></div></div>
<div class="result c-container xpath-log new-pmd" id="1" srcid="1599" tpl="www_index" mu="https://a.example/1?utm_source=x">
 <div class="c-container" data-click=""><h3 class="c-title t"><a href="http://www.baidu.com/link?url=R1" target="_blank">什么是<em>验证码</em></a></h3>
 <div class="c-row"><div class="c-span9"><span class="content-right_8Zs40">安全验证与<em>验证码</em>的区别</span></div></div>
 <div class="result c-container"><h3><a href="http://www.baidu.com/link?url=SUB">A sub-result</a></h3></div></div></div>
<div class="result c-container" id="2" srcid="1599" mu="http://nourl.ubs.baidu.com/1"><h3 class="t"><a
 href="http://www.baidu.com/link?url=R2">百度安全验证 是什么</a></h3>
 <div class="c-abstract"><span class="newTimeFactor_before_abs m">2026年3月5日&nbsp;-&nbsp;</span>网络不给力，请稍后重试</div></div>
<div class="result c-container" id="3" mu="https://c.example/"><h3 class="t"><a href="/link?url=R3">Relative</a></h3></div>
</div></div></body></html>"""

BAIDU_CAPTCHA = """<html><head><title>百度安全验证</title></head><body><div class="timeout hide"><div class="timeout-img">
</div><div class="timeout-title">网络不给力，请稍后重试</div></div></body></html>"""
BAIDU_HOME = """<html><head><title>百度一下，你就知道</title></head><body><div id="s_wrap"><form id="form" action="/s">
<input id="kw" name="wd"><input type="submit" id="su" value="百度一下"></form></div></body></html>"""
BAIDU_CARDS = """<html><body><div id="content_left"><div class="result-op c-container"><h3><a
 href="http://www.baidu.com/link?url=OP1">A card</a></h3></div></div></body></html>"""
BAIDU_CHANGED = (
    """<html><body><div id="content_left"><div class="result c-container"><h4>No link</h4></div></div></body></html>"""
)

DDG = """<html><body><div id="links" class="results">
<div class="result results_links results_links_deep result--ad web-result"><h2><a class="result__a"
 href="https://duckduckgo.com/y.js?ad_domain=ad.example&u3=1">An advertisement</a></h2></div>
<div class="result web-result"><h2><a href="//duckduckgo.com/y.js?ad_provider=x">Another</a></h2></div>
<div class="result results_links results_links_deep web-result "><div class="links_main links_deep result__body">
 <h2 class="result__title"><a rel="nofollow" class="result__a"
 href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2Fcaptcha%3Fq%3D1%26utm_source%3Dx&amp;rut=1">How a <b>captcha</b> works</a></h2>
 <a class="result__snippet" href="#">Unfortunately, bots use <b>DuckDuckGo</b> too. <span>Nested <i>twice</i></span></a>
 <div class="web-result"><h2><a href="https://sub.example/">A part</a></h2></div></div></div>
<div class="result web-result"><h2><a href="https://b.example/">Direct</a></h2></div>
</div></body></html>"""
DDG_NOTHING = '<html><body><div id="links"><div class="result result--no-result"><span class="no-results">No results.</span></div></div></body></html>'
DDG_NOTHING_ROW = """<html><body><input name="q" value="captcha"><div id="links" class="results">
<div class="result results_links results_links_deep web-result result--no-result"><div class="links_main links_deep result__body">
<div class="no-results">No results found for <b>captcha</b>. <a href="/html/?q=x">Try others</a></div></div></div></div></body></html>"""
BAIDU_NOTHING = {
    "nors": '<div id="content_left"><div class="nors"><p>抱歉没有找到与“验证码 403”相关的网页。</p></div></div>',
    "template": '<div id="content_left"><div class="result c-container" tpl="no_result"><p>没有找到“验证码”</p></div></div>',
    "empty": '<div id="content_left"> \n </div><div id="rs_new"><a class="rs-link_2DE3Q" href="/s?wd=x">安全验证</a></div>',
}
DDG_HOME = '<html><body><form action="/html/" method="post"><input name="q"><input type="submit"></form></body></html>'
DDG_BLOCK = """<html><body><form id="challenge-form" action="//duckduckgo.com/anomaly.js?sv=html&cc=botnet" method="POST">
<div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div></form></body></html>"""
DDG_LITE = """<html><body><table>
<tr class="result-sponsored"><td>1.</td><td><a rel="nofollow" href="https://ad.example/" class="result-link">An advertisement</a></td></tr>
<tr class="result-sponsored"><td></td><td class="result-snippet">Buy it</td></tr>
<tr><td>2.</td><td><a href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2F&amp;rut=1" class="result-link">A</a></td></tr>
<tr><td>3.</td><td><a href="https://b.example/" class="result-link">B</a></td></tr>
<tr><td></td><td class="result-snippet"><b>Text</b> of B</td></tr></table></body></html>"""


@pytest.fixture
def seen(searching: Any, services: dict[str, Any], site: Any, reply: Any) -> Callable[..., Any]:
    """What a backend makes of a page."""

    async def found(name: str, page: str | bytes, status: int = 200, headers: dict[str, str] | None = None) -> Any:
        searching.asked_at(name, site.on(services[name].path, reply(page, status, headers or {})))
        return await searching.found(name)

    return found


async def test_a_page_of_baidu_about_captchas_gives_its_results_and_nothing_else(seen: Any, site: Any) -> None:
    found = await seen("baidu_html", BAIDU)
    assert found.errors == []
    assert [(item.title, item.url, item.source) for item in found.items] == [
        ("什么是验证码", "http://www.baidu.com/link?url=R1", "https://a.example/1"),
        ("百度安全验证 是什么", "http://www.baidu.com/link?url=R2", None),
        ("Relative", site.url("/link?url=R3"), "https://c.example/"),
    ]
    assert [item.snippet for item in found.items] == [
        "安全验证与验证码的区别",
        "2026年3月5日 - 网络不给力，请稍后重试",
        "",
    ]
    assert str(found.items[1].published_at) == "2026-03-05"


async def test_a_page_of_duckduckgo_about_captchas_gives_its_results_and_nothing_else(seen: Any) -> None:
    found = await seen("ddg_html", DDG)
    assert found.errors == []
    assert [(item.title, item.url, item.snippet) for item in found.items] == [
        (
            "How a captcha works",
            "https://a.example/captcha?q=1",
            "Unfortunately, bots use DuckDuckGo too. Nested twice",
        ),
        ("Direct", "https://b.example/", ""),
    ]


async def test_the_markup_for_the_simplest_browsers_is_read_as_well(seen: Any) -> None:
    found = await seen("ddg_html", DDG_LITE)
    assert [(item.title, item.url, item.snippet) for item in found.items] == [
        ("A", "https://a.example/", ""),
        ("B", "https://b.example/", "Text of B"),
    ]


@pytest.mark.parametrize(
    ("name", "page", "status", "headers"),
    [
        ("baidu_html", BAIDU_CAPTCHA, 200, {}),
        ("baidu_html", "", 302, {"location": "https://wappass.baidu.com/static/captcha/tuxing_v2.html?ak=1&backurl=x"}),
        ("baidu_html", "", 302, {"location": "//wappass.baidu.com/static/captcha/?x"}),
        ("baidu_html", "", 302, {"location": "/static/captcha/tuxing.html?x"}),
        ("ddg_html", "", 302, {"location": "//duckduckgo.com/anomaly.js?sv=html"}),
        ("baidu_html", '<html><body><form action="https://wappass.baidu.com/cgi"></form></body></html>', 200, {}),
        ("ddg_html", DDG_BLOCK, 200, {}),
        ("ddg_html", DDG_BLOCK, 202, {}),
        ("ddg_html", DDG_BLOCK, 403, {}),
    ],
)
async def test_a_block_is_known_by_its_structure_and_its_page_is_kept(
    seen: Any, searching: Any, name: str, page: str, status: int, headers: dict[str, str]
) -> None:
    found = await seen(name, page, status, headers)
    assert found.items == []
    assert [(error.type, error.detail_code, error.retryable) for error in found.errors] == [
        ("WebBlocked", "captcha_required", False)
    ]
    kept = list((searching.folder / "debug" / "search").glob(f"{name}-*.html"))
    assert [kept_item.read_text(encoding="utf-8") for kept_item in kept] == ([page] if page else [])


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("baidu_html", BAIDU_HOME),
        ("baidu_html", BAIDU_CHANGED),
        ("baidu_html", '<html><body><div id="content_left"></div></body></html>'),
        ("ddg_html", DDG_HOME),
        ("ddg_html", BAIDU),
    ],
)
async def test_a_page_that_is_no_result_page_is_never_an_empty_answer(seen: Any, name: str, page: str) -> None:
    found = await seen(name, page)
    assert [error.type for error in found.errors] == ["WebParseError"]


@pytest.mark.parametrize(
    ("name", "page", "status"),
    [
        ("baidu_html", BAIDU_CARDS, 200),
        *(("baidu_html", f"<html><body>{page}</body></html>", 200) for page in BAIDU_NOTHING.values()),
        ("ddg_html", DDG_NOTHING, 200),
        ("ddg_html", DDG_NOTHING_ROW, 200),
        ("ddg_html", "", 303),
    ],
)
async def test_a_page_that_says_that_there_are_none_is_an_empty_answer(
    seen: Any, name: str, page: str, status: int
) -> None:
    found = await seen(name, page, status, {"location": "/"} if status == 303 else {})
    assert (found.items, found.errors) == ([], [])


async def test_a_redirect_within_the_service_is_followed_and_one_to_its_home_page_finds_nothing(
    seen: Any, site: Any, reply: Any
) -> None:
    site.on("/s2", reply(BAIDU))
    assert len((await seen("baidu_html", "", 302, {"location": "/s2?signed=1"})).items) == 3
    site.on("/", reply(BAIDU_HOME))
    assert [error.type for error in (await seen("baidu_html", "", 302, {"location": "/"})).errors] == ["WebParseError"]
    asked = len(site.asked)
    for elsewhere in ("https://another.example/s", "/s?again", "http://[", ""):
        site.on("/s", reply("", 302, {"location": elsewhere}))
        found = await seen("baidu_html", "", 302, {"location": elsewhere})
        assert [error.type for error in found.errors] == ["WebProviderError"]
    assert len(site.asked) - asked <= 10


@pytest.mark.parametrize("name", ["baidu_html", "ddg_html"])
async def test_a_page_with_thousands_of_nested_blocks_is_read_in_no_time(seen: Any, name: str) -> None:
    nested = '<div class="result c-container web-result">' * 500 + "<h3><a href='https://a.example/'>A</a></h3>"
    wide = '<div class="result c-container web-result"><p>x</p></div>' * 5000
    page = f'<html><body><div id="content_left"><div id="links">{wide}{nested}</div></div></body></html>'
    found = await seen(name, page)
    assert len(found.items) + len(found.errors) == 1


@pytest.mark.parametrize(
    ("name", "page"),
    [("baidu_html", "serp-baidu-1"), ("ddg_html", "serp-ddg-html-2026"), ("ddg_html", "serp-ddg-lite-2026")],
)
async def test_a_real_result_page_gives_all_its_results_in_order(seen: Any, name: str, page: str) -> None:
    if not CORPUS.is_dir():
        pytest.skip("the corpus of real pages is not here")
    gold = json.loads((CORPUS / "gold" / f"{page}.json").read_text(encoding="utf-8"))["items"]
    found = await seen(name, (CORPUS / "pages" / f"{page}.html").read_bytes())
    assert found.errors == []
    assert [(item.title, item.url) for item in found.items] == [(entry["title"], entry["url"]) for entry in gold]
    assert all(item.snippet for item in found.items)


async def test_the_real_block_page_is_a_block(seen: Any) -> None:
    if not CORPUS.is_dir():
        pytest.skip("the corpus of real pages is not here")
    found = await seen("ddg_html", (CORPUS / "pages" / "serp-ddg-captcha-2026.html").read_bytes())
    assert [(error.type, error.detail_code) for error in found.errors] == [("WebBlocked", "captcha_required")]
