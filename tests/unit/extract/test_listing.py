"""Lists are seen by their structure, whatever the markup; what is no list gives no candidates."""

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from monitor.extract.html import build_outline
from monitor.extract.lists.candidates import find_lists
from monitor.page import Candidate, ExpectedPage, PageHints
from monitor.vocabulary import DateSource

TODAY = dt.date(2026, 11, 21)
URL = "https://www.sample.gov.cn/xwzx/tzgg/"
NAVIGATION = """<div class="nav"><ul><li><a href="/">首页</a></li><li><a href="/jggk/">机构概况</a></li>
<li><a href="/zwgk/">政务公开</a></li>
<li><a href="/hdjl/">互动交流</a></li><li><a href="/bsfw/">办事服务</a></li></ul></div>"""
FOOTER = """<div class="footer"><a href="/about.html">关于我们</a>
<a href="/map.html">网站地图</a><a href="/contact.html">联系我们</a></div>"""
TITLES = [
    "关于印发能源领域首台套重大技术装备评定办法的通知",
    "关于组织开展新型储能试点示范工作的通知",
    "关于公布二氧化碳捕集利用示范项目名单的公告",
    "电力市场运行基本规则（征求意见稿）公开征求意见",
    "关于加强夏季用电高峰期安全生产工作的通知",
    "全国油气管网设施公平开放监管办法解读",
]
DAYS = [dt.date(2026, 2, 28 - 3 * index) for index in range(6)]


def candidates(body: str, url: str = URL) -> list[Candidate]:
    body = f"{NAVIGATION}<div class='main'>{body}</div>{FOOTER}"
    html = f"<html><head><title>通知公告</title></head><body>{body}</body></html>"
    return find_lists(build_outline(LexborHTMLParser(html), url), TODAY).candidates


def rows(template: str) -> str:
    return "".join(
        template.format(i=index, title=title, day=day, m=f"{day:%m}", d=f"{day:%d}", y=day.year)
        for index, (title, day) in enumerate(zip(TITLES, DAYS, strict=True), start=1)
    )


MARKUPS = {
    "list": "<ul>" + rows('<li><a href="./a{i}.html">{title}</a><span>{day}</span></li>') + "</ul>",
    "date first": "<ul>" + rows('<li><b>[{y}-{m}-{d}]</b><a href="./a{i}.html">{title}</a></li>') + "</ul>",
    "table": "<table><tr><th>序号</th><th>名称</th><th>发布日期</th></tr>"
    + rows('<tr><td>{i}</td><td><a href="./a{i}.html">{title}</a></td><td>{day}</td></tr>')
    + "</table>",
    "two date columns": "<table><tr><th>名称</th><th>成文日期</th><th>发布日期</th></tr>"
    + rows('<tr><td><a href="./a{i}.html">{title}</a></td><td>2025-01-0{i}</td><td>{day}</td></tr>')
    + "</table>",
    "definitions": "<dl>" + rows('<dt><a href="./a{i}.html">{title}</a></dt><dd>{day}</dd>') + "</dl>",
    "cards": rows(
        '<div class="card"><div class="date"><b>{d}</b><i>{y}-{m}</i></div>'
        '<div><h3><a href="./a{i}.html">{title}</a></h3><p>摘要文字</p></div></div>'
    ),
    "whole card is the link": "<ul>"
    + rows('<li><a href="./a{i}.html"><h4>{title}</h4><div class="info"><span>{day}</span></div></a></li>')
    + "</ul>",
    "bare paragraphs": rows('<p>·<a href="./a{i}.html">{title}</a>（{day}）</p>'),
    "picture and headline": "<ul>"
    + rows(
        '<li><a href="./a{i}.html"><img src="{i}.jpg"></a><h3><a href="./a{i}.html">{title}</a></h3><em>{day}</em></li>'
    )
    + "</ul>",
    "category before": "<ul>"
    + rows('<li><a href="/lb/">[通知]</a> <a href="./a{i}.html">{title}</a> <span>{day}</span></li>')
    + "</ul>",
    "line breaks": rows('<a href="./a{i}.html">{title}</a> {day}<br>'),
    "hidden tab": "<div style='display:none'><ul>"
    + rows('<li><a href="./a{i}.html">{title}</a><span>{day}</span></li>')
    + "</ul></div>",
}


@pytest.mark.parametrize("markup", MARKUPS, ids=list(MARKUPS))
def test_a_list_is_seen_in_any_markup_with_its_dates(markup: str) -> None:
    seen = candidates(MARKUPS[markup])
    assert [candidate.url for candidate in seen] == [f"{URL}a{i}.html" for i in range(1, 7)]
    assert [candidate.title for candidate in seen] == TITLES
    assert [candidate.date for candidate in seen] == DAYS
    assert {candidate.date_source for candidate in seen} == {DateSource.LISTED}


def test_a_title_cut_short_is_given_in_full_and_never_holds_the_date() -> None:
    body = rows('<li><a href="./a{i}.html" title="{title}">关于…</a></li>').replace("关于…", "{}")
    for title in TITLES:
        body = body.replace("{}", title[:8] + "... 2026-02-03", 1)
    assert [candidate.title for candidate in candidates(f"<ul>{body}</ul>")] == TITLES


def test_a_link_to_another_registrant_is_marked_as_a_repost() -> None:
    body = rows('<li><a href="./a{i}.html">{title}</a><span>{day}</span></li>')
    body = body.replace("./a2.html", "https://www.other.com/a2.html").replace(
        "./a3.html", "https://zfxx.sample.gov.cn/a3.html"
    )
    assert [candidate.is_repost for candidate in candidates(f"<ul>{body}</ul>")] == [
        False,
        True,
        False,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize("host", ["http://localhost:8080", "https://www.other.com"])
@pytest.mark.parametrize("place", [1, 3, 6])
def test_a_row_of_the_list_that_leads_to_another_host_is_not_lost(place: int, host: str) -> None:
    body = rows('<li><a href="/zcjd/content/8021{i}.html">{title}</a></li>')
    body = f"<ul>{body}</ul>".replace(f'"/zcjd/content/8021{place}', f'"{host}/zcjd/content/8021{place}')
    assert [candidate.title for candidate in candidates(body)] == TITLES


@pytest.mark.parametrize("second", ['<a href="/files/{i}.docx">DOC</a>', '<a href="/votes/{i}">表决</a>'])
def test_a_second_link_in_each_row_is_no_row(second: str) -> None:
    body = rows(f'<tr><td>{{title}}</td><td>{{day}}</td><td><a href="/files/{{i}}.pdf">PDF</a> {second}</td></tr>')
    assert [candidate.url for candidate in candidates(f"<table>{body}</table>")] == [
        f"https://www.sample.gov.cn/files/{i}.pdf" for i in range(1, 7)
    ]


RELATED_SITES = {
    "a footer": "".join(f'<a href="https://www.body{i}.example.org/">友情机构第{i}家</a> | ' for i in range(5)),
    "a list": "<ul>"
    + "".join(f'<li><a href="https://b{i}.example.net/press">Press {i}</a></li>' for i in range(6))
    + "</ul>",
}


@pytest.mark.parametrize("markup", RELATED_SITES)
def test_links_to_other_sites_without_dates_are_offered_but_no_list(markup: str) -> None:
    html = f"<html><body>{NAVIGATION}<p>本栏目暂无内容。</p><div>{RELATED_SITES[markup]}</div></body></html>"
    hints = PageHints(expected=ExpectedPage.LIST)
    found = find_lists(build_outline(LexborHTMLParser(html), URL), TODAY, hints)
    assert found.candidates == []
    assert found.lists


def test_a_row_with_a_page_and_its_document_is_one_candidate_of_the_page() -> None:
    seen = candidates(
        "<ul>"
        + rows('<li><a href="./a{i}.html">{title}</a> <a href="./f{i}.pdf">PDF</a><span>{day}</span></li>')
        + "</ul>"
    )
    assert [candidate.url for candidate in seen] == [f"{URL}a{i}.html" for i in range(1, 7)]
    assert [attachment.url for candidate in seen for attachment in candidate.attachments] == [
        f"{URL}f{i}.pdf" for i in range(1, 7)
    ]


def test_a_list_of_documents_is_a_list() -> None:
    seen = candidates("<ul>" + rows('<li><a href="/files/f{i}.pdf">{title}</a><i>{day}</i></li>') + "</ul>")
    assert [candidate.date for candidate in seen] == DAYS


SENTENCE = (
    "为贯彻落实党中央、国务院决策部署，加快构建新型电力系统，现就有关事项通知如下，请各单位结合实际认真贯彻执行。"
)
WITHOUT_LIST = {
    "an article": f"<h1>{TITLES[0]}</h1>" + f"<p>{SENTENCE * 3}</p>" * 6,
    "an article with links": f"<h1>{TITLES[0]}</h1>"
    + "".join(f'<p>{SENTENCE}见<a href="./b{i}.html">{TITLES[i]}</a>。{SENTENCE}</p>' for i in range(6)),
    "a contact page": "<h2>联系我们</h2><p>地址：北京市某路1号</p><p>电话：010-12345678</p><p>邮编：100000</p>",
    "a search form": "<form><input name=q><select><option>全部</option></select><button>搜索</button></form>",
    "an empty page": "",
    "a notice": "<p>您访问的页面不存在。</p>",
}


@pytest.mark.parametrize("kind", WITHOUT_LIST)
def test_a_page_without_a_list_gives_no_candidates(kind: str) -> None:
    assert candidates(WITHOUT_LIST[kind]) == []


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["li", "tr", "p", "div", "dd", "article"]),
        st.sampled_from(
            ["/a{i}.html", "https://b.org/{i}?id={i}", "//c.org/{i}.pdf", "javascript:go({i})", "#{i}", ""]
        ),
        st.sampled_from([*TITLES, "Summary", "PDF", "", "2026-02-03", "17 Feb 25"]),
        st.sampled_from(["", "2026-02-03", "[11-18]", "17 Feb 25", "31/12/2099", "<h3>November 2026</h3>", "昨天"]),
    ),
    max_size=14,
)


@settings(max_examples=120, deadline=None)
@given(ROWS)
def test_whatever_the_rows_candidates_are_links_of_the_page_with_days_that_have_been(
    rows_drawn: list[tuple[str, str, str, str]],
) -> None:
    body = "".join(
        f'<{tag}>{day} <a href="{href.format(i=index)}">{title}</a></{tag}>'
        for index, (tag, href, title, day) in enumerate(rows_drawn)
    )
    tree = LexborHTMLParser(f"<html><body>{NAVIGATION}<div>{body}</div>{FOOTER}</body></html>")
    found = find_lists(build_outline(tree, URL), TODAY).candidates
    links = {anchor.url for anchor in build_outline(tree, URL).anchors}
    assert {candidate.url for candidate in found} <= links
    assert all(candidate.url.startswith(("http://", "https://")) for candidate in found)
    assert all(candidate.date is None or candidate.date <= TODAY for candidate in found)


def test_the_days_of_a_row_without_a_link_are_not_those_of_the_only_row_with_one() -> None:
    released = "<tr><td>Lee v. Rock</td><td>December 17, 2025</td><td>Released January 15, 2026</td></tr>"
    row = "<tr><td><a href='/9.pdf'>Ash v. Birch</a></td><td>December 18, 2025</td><td>Released</td></tr>"
    found = candidates(f"<table>{row}{released}</table>")
    assert [(candidate.url, str(candidate.date)) for candidate in found] == [
        ("https://www.sample.gov.cn/9.pdf", "2025-12-18")
    ]


@pytest.mark.parametrize(
    "around",
    [
        "<p>{long}</p><ul><li><a href='t1.html'>关于公布示范项目名单的公告</a> 2026-02-03</li></ul>",
        "<table><tr><td><a href='/7.html'>Opinion 7</a></td><td>February 3, 2026</td></tr></table><div>{long}</div>",
    ],
)
def test_a_dated_row_alone_is_found_beside_a_long_text_without_links(around: str) -> None:
    found = candidates(around.format(long="本栏目发布的内容以正式文件为准。 No other entries match. " * 30))
    assert [str(candidate.date) for candidate in found] == ["2026-02-03"]
