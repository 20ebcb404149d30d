import datetime as dt

from monitor.page import Candidate, Link, Page
from monitor.sweep.navigate import find_sections_by_rule

HOME = "https://site.test/"


def page(*texts: str, candidates: tuple[Candidate, ...] = ()) -> Page:
    links = [Link(text=text, url=f"{HOME}{number}/") for number, text in enumerate(texts)]
    return Page(
        url=HOME,
        final_url=HOME,
        links=links,
        candidates=list(candidates),
        fetched_at=dt.datetime(2026, 2, 1, tzinfo=dt.UTC),
    )


def names(home: Page, *focus: str) -> list[str]:
    return [link.text for link in find_sections_by_rule(home, focus)]


def test_links_are_matched_with_the_focus_areas_by_words() -> None:
    home = page("首页", "政策法规", "通知公告", "更多", "政策法规库", "Press releases", "Contact us")
    assert names(home, "政策法规", "press release") == ["政策法规", "政策法规库", "Press releases"]


def test_a_short_link_that_a_focus_area_contains_fits() -> None:
    assert names(page("公告", "联系我们"), "通知公告") == ["公告"]


def test_long_texts_are_articles_and_no_sections() -> None:
    assert names(page("关于印发《绿色能源政策法规体系建设实施方案（2026—2030年）》的通知"), "政策法规") == []


def test_a_dated_link_of_the_home_page_is_no_section() -> None:
    dated = Candidate(title="政策法规", url=f"{HOME}0/", date=dt.date(2026, 2, 1))
    assert names(page("政策法规", candidates=(dated,)), "政策法规") == []


def test_without_focus_areas_the_usual_words_of_sections_decide() -> None:
    assert names(page("网站地图", "新闻动态", "Publications", "登录")) == ["新闻动态", "Publications"]
