"""An article's own statements are believed before guesses."""

import datetime as dt

import pytest
from selectolax.lexbor import LexborHTMLParser

from monitor.extract.articles.labels import read_metadata
from monitor.extract.articles.lines import PageLines
from monitor.extract.articles.title import list_title_candidates
from monitor.extract.html import build_outline
from monitor.extract.parse import parse_page
from monitor.page import Page
from monitor.vocabulary import DateSource

FETCHED_AT = dt.datetime(2026, 11, 21, 8, tzinfo=dt.UTC)
TITLE = "国家能源局关于印发《新型储能项目管理规范》的通知"
BODY = (
    "<p>各省（自治区、直辖市）能源局，有关单位：为规范新型储能项目管理，推动新型储能积极稳妥健康有序发展，现将有关事项通知如下。</p>"
    * 4
)


def read(head: str, body: str, url: str = "https://www.sample.gov.cn/a/b.html") -> Page:
    html = f"<html><head>{head}</head><body>{body}</body></html>"
    return parse_page(
        html.encode(),
        url=url,
        final_url=url,
        status=200,
        content_type="text/html; charset=utf-8",
        fetched_at=FETCHED_AT,
    )


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ('<meta name="PubDate" content="2026-02-03 10:00">', ""),
        ('<meta property="article:published_time" content="2026-02-03T23:30:00+08:00">', ""),
        ('<script type="application/ld+json">{"@type":"NewsArticle","datePublished":"2026-02-03"}</script>', ""),
        ("", "<div>发布时间：2026-02-03 &nbsp; 来源：本网 &nbsp; 浏览次数：12</div>"),
        ("", "<div><span>发布日期：</span><span>2026年2月3日</span></div>"),
        ("", "<p>来源：电力司　2026-02-03</p>"),
        ("", '<time datetime="2026-02-03T08:00">Tuesday</time>'),
        ("", '<span class="pub-date">February 3, 2026</span>'),
    ],
)
def test_the_day_of_publication_is_the_one_that_the_page_states(head: str, line: str) -> None:
    sidebar = '<div class="sidebar"><ul><li><a href="/x.html">其他新闻</a> 2026-03-09</li></ul></div>'
    page = read(head, f"<h1>{TITLE}</h1>{line}<div>{BODY}</div>{sidebar}")
    assert page.published_on == dt.date(2026, 2, 3)
    assert page.date_source is DateSource.PAGE


def test_the_posted_day_wins_over_the_day_of_making() -> None:
    table = (
        "<table><tr><td>成文日期：</td><td>2026年1月20日</td></tr>"
        "<tr><td>发布日期：</td><td>2026年2月3日</td></tr></table>"
    )
    assert read("", f"{table}<h1>{TITLE}</h1>{BODY}").published_on == dt.date(2026, 2, 3)


def test_the_url_gives_the_day_where_the_page_does_not() -> None:
    page = read("", f"<h1>{TITLE}</h1>{BODY}", "https://www.sample.gov.cn/202602/t20260203_1.html")
    assert (page.published_on, page.date_source) == (dt.date(2026, 2, 3), DateSource.URL)


def test_a_day_that_only_the_text_mentions_is_not_the_day_of_publication() -> None:
    page = read(
        "",
        f"<h1>{TITLE}</h1>{BODY}<p>本规范自2026年3月1日起施行，有效期五年，此前规定与本规范不一致的，以本规范为准。</p>",
    )
    assert (page.published_on, page.date_source) == (None, DateSource.UNKNOWN)


def test_the_title_is_the_headline_without_the_name_of_the_site() -> None:
    for head, body in (
        (f"<title>{TITLE}_样例能源局</title>", f'<h1 class="logo"><a href="/">样例能源局</a></h1><h1>{TITLE}</h1>'),
        (f"<title>{TITLE} - 样例能源局</title>", ""),
        (f'<title>样例能源局</title><meta name="ArticleTitle" content="{TITLE}">', ""),
        ("<title>样例能源局</title>", f'<div class="title">{TITLE}</div>'),
    ):
        assert read(head, body + BODY).title == TITLE


def list_candidates(markup: str) -> list[str]:
    tree = LexborHTMLParser(markup)
    view = PageLines(build_outline(tree, "https://www.sample.gov.cn/a/b.html"), read_metadata(tree))
    return [candidate.text for candidate in list_title_candidates(view, 0)]


def test_a_headline_over_several_lines_is_no_title_by_its_later_ones() -> None:
    found = list_candidates("<h2>Forum 2026 in Kansai<br>Early findings<br>Stepping in</h2><h1>Events</h1>")
    assert found == ["Forum 2026 in Kansai Early findings Stepping in", "Forum 2026 in Kansai", "Events"]
    assert "Early findings" in list_candidates("<title>Early findings</title><h2>Forum 2026<br>Early findings</h2>")


@pytest.mark.parametrize("mark", [" | ", "_"])
def test_what_only_the_head_states_is_no_title_with_the_name_of_the_site(mark: str) -> None:
    stated = f"{TITLE}{mark}国家能源局"
    assert list_candidates(f"<title>{stated}</title>") == [TITLE]
    assert stated in list_candidates(f"<title>{stated}</title><h1>{stated}</h1>")


def test_quotation_marks_and_a_dateline_are_no_part_of_what_separates_a_title() -> None:
    french = "Le ministre «assume» et «revendique» sa méthode"
    assert read(f"<title>{french} - Le Journal</title>", f"<h1>{french}</h1>{BODY}").title == french
    in_one = f"<div class=title>{TITLE} <span>2026-02-03 12:11</span> <span>来源：证券报</span></div>"
    assert read(f"<title>{TITLE}_证券报网</title>", in_one + BODY).title == TITLE


@pytest.mark.parametrize(
    "head",
    [
        "<title>Storage &amp;quot;at scale&amp;quot;: what operators must report</title>",
        '<meta property="og:title" content="Storage &amp;quot;at scale&amp;quot;: what operators must report">',
        '<script type="application/ld+json">{"@type":"Article","headline":"Storage &quot;at scale&quot;: what operators must report"}</script>',  # noqa: E501
    ],
)
def test_a_title_that_the_head_escapes_twice_is_read_as_it_is_meant(head: str) -> None:
    page = read(head, f"<div>{BODY}</div>")
    assert page.title == 'Storage "at scale": what operators must report'


def test_the_headline_is_the_heading_that_the_title_element_repeats() -> None:
    section = "<h1>Allergies Health Centre</h1><h2>Babies who eat peanuts early may avoid allergy</h2>"
    page = read("<title>Babies who eat peanuts early may avoid allergy</title>", section + BODY)
    assert page.title == "Babies who eat peanuts early may avoid allergy"
    blog = '<h1><a href="/a/">The Film Gang</a></h1><h2><a href="/a/b.html">Stand Up Guys</a></h2>'
    assert read("<title>The Film Gang » Blog Archive » Stand Up Guys</title>", blog + BODY).title == "Stand Up Guys"


def test_issuer_and_document_number_are_read_from_the_table_of_a_government_document() -> None:
    table = """<table><tr><td>索引号</td><td>000019705/2026-00012</td><td>发文机关</td><td>国家能源局</td></tr>
    <tr><td>发文字号</td><td>国能发科技规〔2026〕3号</td><td>发布日期</td><td>2026-02-03</td></tr></table>"""
    page = read("", f"{table}<h1>{TITLE}</h1>{BODY}")
    assert (page.issuer, page.document_number) == ("国家能源局", "国能发科技规〔2026〕3号")
    assert read("", f"<h1>{TITLE}</h1><p>来源：新华社 作者：张三</p>{BODY}").issuer == "新华社"


def test_the_text_of_a_known_body_is_taken_whole_without_what_surrounds_it() -> None:
    page = read(
        "",
        f'<div class="nav"><a href="/">首页</a></div><h1>{TITLE}</h1>'
        f'<div class="TRS_Editor">{BODY}<table><tr><td>附表</td></tr></table></div>',
    )
    assert page.text.startswith("各省（自治区、直辖市）能源局")
    assert page.text.endswith("附表")
    assert "首页" not in page.text


def test_a_short_notice_with_its_day_and_a_way_back_is_no_list_of_one() -> None:
    sentences = ["总署决定，任命赵文博为规划司司长。", "免去郭思远的规划司副司长职务。"]
    body = "".join(f"<p>　　{sentence}</p>" for sentence in sentences)
    page = read(
        "<title>总署任免工作人员</title>",
        f'<p align="center">总署任免工作人员</p><p align="center">（2026年2月3日）</p>{body}'
        '<p align="center"><a href="/rsrm/">返回人事任免</a></p>',
    )
    assert all(sentence in page.text for sentence in sentences), page.text
    assert page.title == "总署任免工作人员"


@pytest.mark.parametrize(
    ("text", "language"),
    [("这是一个中文页面", "zh"), ("これは日本語のページです", "ja"), ("한국어 페이지입니다", "ko")],
)
def test_the_script_of_the_text_gives_the_language(text: str, language: str) -> None:
    assert read("", f"<p>{text * 10}</p>").language == language


def test_otherwise_the_page_declares_its_language() -> None:
    html = b'<html lang="de-AT"><body><p>Ein kurzer Text.</p></body></html>'
    url = "https://www.sample.at/"
    assert (
        parse_page(html, url=url, final_url=url, status=200, content_type=None, fetched_at=FETCHED_AT).language == "de"
    )


def test_documents_on_the_page_are_its_attachments() -> None:
    page = read(
        "",
        f'{BODY}<p>附件：<a href="./P020260203.pdf">1.管理规范.pdf</a>'
        '<a href="/down?file=b.docx" title="附表">下载</a> <a href="/x.html">x</a></p>',
    )
    assert [(found.title, found.type) for found in page.attachments] == [("1.管理规范.pdf", "pdf"), ("附表", "docx")]


def test_a_page_that_is_no_article_is_not_reported_as_an_error(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("WARNING"):
        read("", "<div>x</div>")
        read("", "<form><input></form>")
    assert caplog.records == []
