"""Signposts and frames: where the content really is."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from monitor.extract.redirects import find_main_frame, find_redirect

URL = "https://www.sample.gov.cn/a/index.html"
PROSE = (
    "<p>"
    + "本网站由样例能源局主办，提供政策文件、通知公告、统计数据等政府信息公开服务，欢迎社会各界监督。" * 8
    + "</p>"
)


@pytest.mark.parametrize(
    ("html", "target"),
    [
        ('<meta http-equiv="refresh" content="0;url=/b/">', "/b/"),
        ("<META HTTP-EQUIV='Refresh' CONTENT=\"3; URL='../c.html'\">", "/c.html"),
        ('<meta http-equiv=refresh content="0,https://www.sample.gov.cn/b/">' + PROSE, "/b/"),
        ("<script>window.location.href='/b/'</script>", "/b/"),
        ('<script>location = "b.html";</script>', "/a/b.html"),
        ("<script><!--\nself.location.replace('/b/');\n//--></script>", "/b/"),
        ("<script>setTimeout(\"top.location.href='/b/'\", 3000)</script><p>正在跳转……</p>", "/b/"),
        ('<body onload="window.location=&quot;/b/&quot;"></body>', "/b/"),
        ("<script>function go(){location.assign('/b/')}</script><a onclick=\"location='/b/'\">进入</a>", "/b/"),
        ("<base href='/d/'><script>location.href='e.html'</script>", "/d/e.html"),
    ],
)
def test_a_signpost_leads_to_its_target(html: str, target: str) -> None:
    assert find_redirect(html, URL) == f"https://www.sample.gov.cn{target}"


@pytest.mark.parametrize(
    "html",
    [
        '<meta http-equiv="refresh" content="600">' + PROSE,
        '<meta http-equiv="refresh" content="1800;url=/b/">' + PROSE,
        '<meta http-equiv="refresh" content="0;url=/a/index.html">',
        '<meta http-equiv="refresh" content="0;url=about:blank">',
        '<noscript><meta http-equiv="refresh" content="0;url=/nojs.html"></noscript>' + PROSE,
        "<script>location.href='/b/'</script>" + PROSE,
        "<script>if(/Mobile/.test(navigator.userAgent)) location.href='/m/'</script>",
        "<script>if(x) location.href='/m/'; else location.href='/pc/'</script>",
        "<script>document.cookie='a=1';location.href='/b/'</script>",
        "<script>location.href = base + '/b/'</script>",
        "<script>location.href = '/b/' + page</script>",
        "<script>if (location == '/b/') x()</script>",
        "<script>// location.href='/b/'</script>",
        "<p>location = 'here'</p>",
        "",
    ],
)
def test_a_page_that_is_no_plain_signpost_leads_nowhere(html: str) -> None:
    assert find_redirect(html, URL) is None


@pytest.mark.parametrize(
    ("html", "target"),
    [
        (
            (
                '<frameset rows="80,*"><frame src="top.html" name="top"><frameset cols="180,*">'
                '<frame src="menu.html" name="left"><frame src="list.html" name="main"></frameset></frameset>'
            ),
            "/a/list.html",
        ),
        ('<frameset cols="20%,80%"><frame src="a.html"><frame src="b.html"></frameset>', "/a/b.html"),
        ('<frameset rows="*,0"><frame src="/x/"><frame src="/y/"></frameset>', "/x/"),
        ('<div>导航</div><iframe src="/list/" width="100%" height="900"></iframe>', "/list/"),
        (
            '<iframe src="/weather.html" width=180 height=40></iframe><iframe name="mainFrame" src="b.html">',
            "/a/b.html",
        ),
        ('<iframe src="/list/" style="width:980px;height:600px"></iframe>', "/list/"),
    ],
)
def test_the_frame_that_holds_the_content_is_found(html: str, target: str) -> None:
    assert find_main_frame(LexborHTMLParser(f"<html>{html}</html>"), URL) == f"https://www.sample.gov.cn{target}"


@pytest.mark.parametrize(
    "html",
    [
        PROSE + '<iframe src="/list/" width="100%" height="900"></iframe>',
        '<iframe src="https://www.youtube.com/embed/x" width="680" height="400"></iframe>',
        '<iframe src="/count.html" width="0" height="0" name="main"></iframe>',
        '<iframe src="/list/" name="main" style="display:none"></iframe>',
        '<iframe src="" name="main"></iframe><iframe src="javascript:void(0)" name="content"></iframe>',
        '<noscript><iframe src="/main.html" width="900" height="900"></iframe></noscript>',
        "<p>无框架</p>",
    ],
)
def test_a_page_that_holds_its_own_content_has_no_main_frame(html: str) -> None:
    assert find_main_frame(LexborHTMLParser(f"<html><body>{html}</body></html>"), URL) is None


@pytest.mark.parametrize(
    "piece", ["<script>location=", "<!--", "<iframe src=/a ", "<meta http-equiv=refresh content=0;"]
)
@pytest.mark.timeout(10)
def test_hostile_repetition_does_not_stall_them(piece: str) -> None:
    html = piece * 50_000
    assert find_redirect(html, URL) in (None, "https://www.sample.gov.cn/a/%3Cmeta")
    find_main_frame(LexborHTMLParser(html), URL)
