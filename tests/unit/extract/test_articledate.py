"""Which of the days on a page is the one of publication; where none is, none is given."""

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from monitor.extract.articles.dates import DayFinder, DayPlace
from monitor.extract.articles.labels import read_metadata
from monitor.extract.articles.lines import PageLines
from monitor.extract.html import build_outline
from monitor.extract.parse import parse_page

FETCHED_AT = dt.datetime(2026, 11, 21, 8, tzinfo=dt.UTC)
TITLE = "关于做好全市防汛抗旱工作的通知"
BODY = "".join(
    f"<p>{text}</p>"
    for text in (
        "为切实做好今年的防汛抗旱工作，保障人民群众生命财产安全，根据防洪法和抗旱条例的有关规定，现就有关事项通知如下。",
        "一、各县区要逐级落实防汛抗旱责任制，将水库、堤防、蓄滞洪区的责任人在当地主要媒体上公布，接受社会监督。",
        "二、各有关部门要加强监测预报预警，强化会商研判，严格执行二十四小时值班和领导带班制度，确保信息畅通。",
        "三、汛期结束以后，各县区应当将工作总结报送市防汛抗旱指挥部办公室，由办公室汇总后向全市通报。",
    )
)


def day_of(body: str, head: str = "", url: str = "https://www.sample.gov.cn/a/1.html") -> str | None:
    html = f"<html><head><title>{TITLE}</title>{head}</head><body>{body}</body></html>"
    page = parse_page(
        html.encode(),
        url=url,
        final_url=url,
        status=200,
        content_type="text/html; charset=utf-8",
        fetched_at=FETCHED_AT,
    )
    assert page.error is None
    return str(page.published_on) if page.published_on else None


@pytest.mark.parametrize(
    "line",
    [
        "2026-03-04",
        "2026-03-04 10:11:12 来源：市水务局 作者： 点击：33",
        "日期：2026/03/04 | 字体：大 中 小 | 阅读：2026",
        "发布于 2026年3月4日",
        "【信息时间：2026-03-04  阅读次数：12】【我要打印】【关闭】",
        "录入时间：2026-03-04",
        "发布时间：26-03-04 23:16",
        "更新时间：2026-05-01</p><p>发布时间：2026-03-04",
        "开标时间：2026年3月20日9:30</p><p>发布时间：2026-03-04",
        "会议时间：2026年3月20日</p><p>2026-03-04",
        "Posted on: 4 March 2026</p><p>Last updated: 9 March 2026",
        "Updated 9 March 2026</p><p>Published 4 March 2026",
        "For Immediate Release: March 04, 2026",
        "Pressemitteilung vom 04.03.2026",
        "Publié le 4 mars 2026 - Mis à jour le 9 mars 2026",
        "掲載日：2026年3月4日 更新日：2026年3月9日",
        "입력 2026.03.04 10:11 | 수정 2026.03.09 11:00",
        "2026年3月4日 01時28分 (3月4日 01時40分更新)",
        "4 марта 2026, 10:15",
        "4 مارس 2026",
    ],
)
def test_the_line_under_the_headline_gives_the_day_of_posting(line: str) -> None:
    assert day_of(f"<h1>{TITLE}</h1><p>{line}</p>{BODY}") == "2026-03-04"


@pytest.mark.parametrize(
    "line",
    [
        "公示期：2026年3月4日至2026年3月10日",
        "公示时间：2026-03-04 至 2026-03-10",
        "会议时间：2026年3月4日",
        "实施日期：2026-03-04",
        "报名截止时间：2026-03-04",
        "03/04/2026",
        "Updated 9 March 2026",
        "更新日：2026年3月9日",
    ],
)
def test_a_day_of_something_else_or_a_doubtful_one_is_none(line: str) -> None:
    assert day_of(f"<h1>{TITLE}</h1><p>{line}</p>{BODY}") is None


COMMENT = "<p>市民甲 2026-10-0{} 12:11</p><p>说得很好</p>"
ROW = '<li><a href="/b/{0}.html">关于强化水利工程安全管理的意见</a><span>2026-06-0{0}</span></li>'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<div>今天是2026年11月21日 星期六</div>", ""),
        ("<div>2026年11月21日 星期六 天气晴</div>", ""),
        ("<div>当前日期：2026年11月21日</div>", ""),
        ("", f"<div><ul>{ROW.format(7)}{ROW.format(5)}{ROW.format(1)}</ul></div>"),
        ("", '<div><p>下一篇：<a href="/b/2.html">关于强化水利工程安全管理的意见</a> 2026-06-07</p></div>'),
        ("", "<p align=right>某某市人民政府</p><p align=right>2026年3月4日</p>"),
        ("", "<p>Copyright 2026-01-01 某公司</p>"),
        ("", f"<div><p>网友评论</p>{COMMENT.format(2)}{COMMENT.format(3)}</div>"),
        ("", "<blockquote>— @someone <a href=/x>March 4, 2026</a></blockquote>"),
    ],
)
def test_a_day_beside_the_article_is_not_its_own(before: str, after: str) -> None:
    assert day_of(f"{before}<div><h1>{TITLE}</h1><p>来源：市水务局</p>{BODY}</div>{after}") is None


@pytest.mark.parametrize(
    ("head", "day"),
    [
        ('<meta name="PubDate" content="20260304">', "2026-03-04"),
        ('<meta itemprop="apub:time" content="2026-3-4 21:30:50">', "2026-03-04"),
        ('<meta name="createDate" content="2026-03-04">', "2026-03-04"),
        ('<meta name="others" content="页面生成时间 2026-11-20 10:00:00">', None),
        ('<meta name="generated-time" content="2026-11-20">', None),
    ],
)
def test_meta_data_count_where_they_speak_of_publication(head: str, day: str | None) -> None:
    assert day_of(f"<h1>{TITLE}</h1>{BODY}", head) == day


@pytest.mark.parametrize(
    "line",
    [
        "Publicado em 04/03/2026 10h15</p><p>Atualizado em 25/03/2026",
        "Thứ Tư, 04/03/2026, 10:15 (GMT+7)</p><p>25/12/2025",
    ],
)
def test_another_date_of_the_page_settles_whether_day_or_month_comes_first(line: str) -> None:
    text = "<p>The agency has published its guidance for residents of the lower valley and asks all to read it.</p>"
    assert day_of(f"<h1>Flood notice for the lower valley</h1><p>{line}</p>{text * 8}") == "2026-03-04"


def test_a_labelled_day_without_its_year_takes_it_from_the_day_of_change() -> None:
    line = f"<h1>{TITLE}</h1><p><span>发布时间：09-30</span><span>22:46</span></p>{BODY}"
    assert day_of(line, '<meta itemprop="dateUpdate" content="2019-09-30 22:46:13">') == "2019-09-30"
    assert day_of(line) is None


def test_a_dateline_at_the_beginning_of_the_text_is_read() -> None:
    opening = "<p>March 4, 2026 — The agency today announced charges against an adviser for defrauding its clients.</p>"
    assert day_of(f"<h1>{TITLE}</h1>{opening}{BODY}") == "2026-03-04"


def test_a_later_day_right_behind_an_earlier_one_is_that_of_a_change() -> None:
    earlier, later = '<time datetime="2026-03-04">4 March</time>', '<time datetime="2026-05-06">6 May</time>'

    def list_places(markup: str) -> list[DayPlace]:
        tree = LexborHTMLParser(markup)
        view = PageLines(build_outline(tree, "https://www.sample.gov.cn/a/1.html"), read_metadata(tree))
        return [mention.place for mention in DayFinder(view, TITLE, FETCHED_AT.date(), [0.0]).mentions]

    assert list_places(f"<p>{earlier} {later}</p>")[:2] == [DayPlace.TIME, DayPlace.CHANGE]
    assert list_places(f"<p>{later} {earlier}</p>")[:2] == [DayPlace.TIME, DayPlace.TIME]
    assert list_places(f"<p>{earlier} to {later}</p>")[:2] == [DayPlace.TIME, DayPlace.TIME]


def test_the_foot_of_the_article_itself_may_give_the_day() -> None:
    foot = '<aside><p>Jane Doe — <time datetime="2026-03-04">4 March</time></p></aside>'
    assert day_of(f"<article><h1>{TITLE}</h1>{BODY}{foot}</article>") == "2026-03-04"
    assert day_of(f"<article><h1>{TITLE}</h1>{BODY}</article><article class=comment>{foot}</article>") is None


PIECES = st.sampled_from(
    [
        f"<h1>{TITLE}</h1>",
        "<p>发布时间：",
        "2026-02-30",
        "2099年1月1日",
        "二〇二六年三月四日",
        "民國115年3月4日",
        "</p><p>",
        '<time datetime="2031-01-01">',
        "</time>",
        '<meta name="pubdate" content="2044-01-01">',
        "<li><a href=/1>关于强化水利工程安全管理的意见</a> 2026-03-04</li>",
        "至",
        "Updated ",
        "March 4, 2026",
        "<footer>",
        "<article>",
        BODY[:200],
    ]
)


@settings(max_examples=40)
@given(st.lists(PIECES, max_size=20))
def test_the_day_is_real_and_not_in_the_future(pieces: list[str]) -> None:
    day = day_of("".join(pieces))
    assert day is None or "1990-01-01" <= day <= "2026-11-22"


NEWS = "Stadtrat beschließt neues Konzept für den Radverkehr"
PROSE = (
    "<p>" + "Der Rat hat am Dienstag nach langer Aussprache ein Konzept für den Radverkehr beschlossen. " * 8 + "</p>"
)


@pytest.mark.parametrize(
    ("line", "day"),
    [
        ('<abbr class="published" title="2016-11-12T10:00">am 12.11.16</abbr>', "2016-11-12"),
        ('<span class="published">12 November 2016</span>', "2016-11-12"),
        ("<p>Yayımlanma tarihi: 14.05.2020</p>", "2020-05-14"),
        ("<p>Opublikowano: 14 maja 2020</p>", "2020-05-14"),
        ("<p>Ngày đăng: 14/05/2020</p>", "2020-05-14"),
        ("<p>تاريخ النشر: 14 مايو 2020</p>", "2020-05-14"),
        ('<ul class="smallList"><li><strong>Datum</strong> 14.05.2020</li></ul>', "2020-05-14"),
        ('<div class="lineinfo">Do 14.05.20 | 13:47 Uhr</div>', "2020-05-14"),
        ('<div class="author-row">Jana Ruh <span class="tarih">14.05.2020 10:11</span></div>', "2020-05-14"),
    ],
)
def test_the_day_is_read_in_the_forms_of_many_publishers(line: str, day: str) -> None:
    assert day_of(f"<h1>{NEWS}</h1>{line}{PROSE}", url="https://www.sample.org/a/1.html") == day


@pytest.mark.parametrize(
    "head",
    [
        '<meta name="swiftype:published_at" content="2020-05-14T08:00:00+02:00">',
        '<meta name="date.available" content="2020-05-14 08:00:00">',
        '<meta property="og:regDate" content="20200514080000">',
        '<meta name="DC.Issued" content="2020-05-14">',
        '<meta property="dc:created" content="2020-05-14">',
        '<script type="application/ld+json">{"@type":"ClaimReview","datePublished":"2020-05-14T08:00+02:00"}</script>',
        '<script type="application/ld+json">{"@type":"http://schema.org/NewsArticle","datePublished":"2020-05-14"}</script>',
        '<meta property="og:url" content="https://www.sample.org/2020/05/14/radverkehr">',
    ],
)
def test_the_day_is_read_under_the_names_that_publishers_use(head: str) -> None:
    assert day_of(f"<h1>{NEWS}</h1>{PROSE}", head, url="https://www.sample.org/a/1.html") == "2020-05-14"


@pytest.mark.parametrize(("host", "day"), [("www.sample.de", "2020-05-04"), ("www.sample.gov", "2020-04-05")])
def test_a_doubtful_date_is_read_by_the_custom_of_the_country_of_the_host(host: str, day: str) -> None:
    line = '<p class="date">04/05/2020</p>'
    assert day_of(f"<h1>{NEWS}</h1>{line}{PROSE}", url=f"https://{host}/a/1.html") == day


def test_a_doubtful_date_stays_none_where_the_host_has_no_country() -> None:
    line = '<p class="date">04/05/2020</p>'
    assert day_of(f"<h1>{NEWS}</h1>{line}{PROSE}", url="https://www.sample.com/a/1.html") is None


def test_the_day_in_a_script_counts_where_the_title_stands_beside_it() -> None:
    script = f'<script>window.state = {{"title":"{TITLE}","publishedAt":"2020-05-14T08:00:00"}}</script>'
    other = '<script>window.news = [{"title":"Etwas ganz anderes","publishedAt":"2021-06-15T08:00:00"}]</script>'
    body = f"<h1>{TITLE}</h1>{BODY}"
    assert day_of(body + script, url="https://www.sample.org/a") == "2020-05-14"
    assert day_of(body + other, url="https://www.sample.org/a") is None
    assert day_of(body + script + other, url="https://www.sample.org/a") == "2020-05-14"
    both = f"<script>{script[8:-9]}; {other[8:-9]}</script>"
    assert day_of(body + both, url="https://www.sample.org/a") is None


def test_a_short_article_beside_a_long_dated_list_keeps_its_own_day() -> None:
    rows = "".join(
        f'<li><a href="/n/{i}.html">关于本市第{i}批重点项目建设进展情况的报道</a><span>2026-11-20</span></li>'
        for i in range(30)
    )
    short = "<p>今年的防汛抗旱工作已经全面展开，各县区按照统一部署逐级落实责任制，并在当地媒体上公布了责任人名单。</p>"
    assert day_of(f"<h1>{TITLE}</h1><p>2026-03-05 09:12</p>{short * 2}<ul>{rows}</ul>") == "2026-03-05"
    assert day_of(f"<h1>{TITLE}</h1><ul>{rows}</ul>") is None
