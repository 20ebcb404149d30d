"""The sample ministry: what it publishes, and how a test changes it."""

import datetime as dt
import re
from urllib.parse import urljoin, urlsplit

import pytest

from monitor.demo.serving import LoopbackRequest
from monitor.demo.site import SampleSite
from monitor.errors import UsageError

TODAY = dt.date(2026, 11, 21)
BASE = "http://127.0.0.1:8099"


@pytest.fixture
def site() -> SampleSite:
    return SampleSite(today=TODAY)


def text_of(site: SampleSite, path: str) -> str:
    answer = site.respond(LoopbackRequest("GET", path, "127.0.0.1:8099"))
    assert answer.status == 200, path
    return answer.body.decode("utf-8" if "utf-8" in answer.content_type else "gb2312")


def links_of(site: SampleSite, path: str) -> set[str]:
    return {urljoin(BASE + path, href) for href in re.findall(r'href="([^"]+)"', text_of(site, path))}


@pytest.mark.parametrize("days", range(0, 400, 23))
def test_titles_and_urls_are_unique_and_the_window_is_full_on_any_day(days: int) -> None:
    today = TODAY + dt.timedelta(days=days)
    items = SampleSite(today=today).list_expected_items(BASE, with_faults=True)
    assert len({item.title for item in items}) == len({item.url for item in items}) == len(items)
    assert sum((today - item.date).days < 7 for item in items) >= 45
    assert sum((today - item.date).days >= 7 for item in items) >= 60


def test_all_five_tiers_of_importance_are_there_in_the_window(site: SampleSite) -> None:
    assert {item.tier for item in site.list_expected_items(BASE) if (TODAY - item.date).days < 7} == {1, 2, 3, 4, 5}


def test_every_expected_page_shows_its_title(site: SampleSite) -> None:
    for item in site.list_expected_items(BASE):
        path = urlsplit(item.url).path
        if path.endswith(".pdf"):
            assert site.respond(LoopbackRequest("GET", path, "x")).body.startswith(b"%PDF")
        else:
            assert item.title in text_of(site, path)


def test_the_focus_areas_are_the_sections_of_the_menu(site: SampleSite) -> None:
    names = [area["name"] for area in site.focus_areas]
    assert names == [section["name"] for section in site.list_sections(BASE) if section["name"] != "碳路先锋"]
    assert all(f">{name}</a>" in text_of(site, "/") for name in names)


def test_only_the_home_page_links_to_the_special_topic_and_only_the_topic_to_its_items(site: SampleSite) -> None:
    topic = f"{BASE}/tlxf/"
    items = {item.url for item in site.list_expected_items(BASE) if item.section == "碳路先锋"}
    leading_there, leading_to_items, seen = set(), set(), set()
    waiting = {"/", "/zcfg/index_1.html", "/zcfg/index_2.html"}
    while waiting:
        path = waiting.pop()
        seen.add(path)
        if not path.endswith(("/", ".html", ".htm", ".shtml")) or path == "/dfdt/":
            continue
        links = links_of(site, path) - {BASE + path}
        leading_there |= {path} if topic in links else set()
        leading_to_items |= {path} if links & items else set()
        waiting |= {urlsplit(link).path for link in links if link.startswith(BASE)} - seen
    assert leading_there == {"/"}
    assert leading_to_items == {"/tlxf/"}
    assert len(seen) > len(site.list_expected_items(BASE)) - 20


def test_no_word_of_a_focus_area_stands_in_the_name_of_the_special_topic(site: SampleSite) -> None:
    assert not any(set(area["name"]) & set("碳路先锋") for area in site.focus_areas)


def test_an_item_of_two_sections_is_expected_once_with_both_of_them(site: SampleSite) -> None:
    twice = {item.title: item.sections for item in site.list_expected_items(BASE) if len(item.sections) > 1}
    assert twice["国家绿色能源总署关于加快构建新型绿色能源体系的指导意见"] == ["政策法规", "通知公告"]
    assert twice["2026年10月份全国绿色能源运行情况"] == ["数据发布", "新闻发布"]


def test_one_link_carries_tracking_parameters_and_one_leads_to_another_host(site: SampleSite) -> None:
    assert any("utm_source=zcfg" in link for link in links_of(site, "/tzgg/list.html"))
    reposts = [item for item in site.list_expected_items(BASE) if item.is_repost]
    assert [urlsplit(item.url).netloc for item in reposts] == ["localhost:8099"]
    assert reposts[0].url in links_of(site, "/zcjd/")


def test_the_list_drawn_by_a_script_is_an_empty_shell_as_sent(site: SampleSite) -> None:
    titles = [item.title for item in site.list_expected_items(BASE) if item.section == "行业标准"]
    assert len(titles) == 12
    assert not any(title in text_of(site, "/hybz/") for title in titles)


def test_meetings_show_no_date_in_the_list_nor_in_their_urls(site: SampleSite) -> None:
    listed = text_of(site, "/hyhd/").split('class="meet-list"')[1].split('class="footer"')[0]
    assert not re.search(r"20\d\d|\d月\d|\d-\d", listed)


def test_items_behind_the_guarded_section_are_not_expected(site: SampleSite) -> None:
    assert site.respond(LoopbackRequest("GET", "/dfdt/", "x")).status == 412
    assert "地方动态" not in {item.section for item in site.list_expected_items(BASE)}
    site.faults.clear()
    assert site.respond(LoopbackRequest("GET", "/dfdt/", "x")).status == 200
    assert "地方动态" in {item.section for item in site.list_expected_items(BASE)}


def test_any_section_can_be_made_to_fail(site: SampleSite) -> None:
    site.faults["/rsrm/"] = 503
    assert site.respond(LoopbackRequest("GET", "/rsrm/index.htm", "x")).status == 503
    assert "人事任免" not in {item.section for item in site.list_expected_items(BASE)}


def test_an_added_item_stands_first_in_its_list_and_leaves_the_others_where_they_were(site: SampleSite) -> None:
    before = {item.url for item in site.list_expected_items(BASE)}
    path = site.add_item("通知公告", "关于印发节能监察计划的通知", body="第一段。\n第二段。\n第三段。")
    assert {item.url for item in site.list_expected_items(BASE)} - before == {BASE + path}
    assert before < {item.url for item in site.list_expected_items(BASE)}
    assert text_of(site, "/tzgg/list.html").index("节能监察计划") < text_of(site, "/tzgg/list.html").index("示范项目")
    assert "第三段。" in text_of(site, path)


def test_an_edited_item_keeps_its_url(site: SampleSite) -> None:
    path = site.edit_item("生物天然气项目建设运行规范（试行）", body="修改后的规范自发布之日起施行。")
    assert "修改后的规范" in text_of(site, path)


def test_a_removed_item_answers_404(site: SampleSite) -> None:
    path = site.remove_item("农村微电网规划设计导则")
    assert site.respond(LoopbackRequest("GET", path, "x")).status == 404
    assert "农村微电网规划设计导则" not in {item.title for item in site.list_expected_items(BASE)}


def test_what_the_site_does_not_have_is_refused_with_a_sentence(site: SampleSite) -> None:
    with pytest.raises(UsageError, match="no section '无此栏目'"):
        site.add_item("无此栏目", "标题")
    with pytest.raises(UsageError, match="no item titled"):
        site.remove_item("无此标题")


def test_no_path_leads_out_of_the_static_folder(site: SampleSite) -> None:
    assert site.respond(LoopbackRequest("GET", "/static/../site.yaml", "x")).status == 404
    assert site.respond(LoopbackRequest("GET", "/static/%2e%2e%2fsite.yaml", "x")).status == 404
