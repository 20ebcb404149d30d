"""A recipe finds its list on later days, and says when the site was made anew."""

import datetime as dt

import pytest
from selectolax.lexbor import LexborHTMLParser

from benchmarks.redesigns import ListPage, list_redesigns, list_sample_pages, read_on_later_days, redesign
from monitor.extract.html import build_outline
from monitor.extract.lists.candidates import FoundLists, find_lists
from monitor.extract.lists.grouping import normalize_class
from monitor.page import ExpectedPage, PageHints
from monitor.recipe import MIN_RECIPE_FIT, SURE_RECIPE_FIT, ListRecipe

TODAY = dt.date(2026, 11, 22)
SWEEPS = 200
MIN_ALARMS = 0.95
MARGIN = 0.05

Learned = list[tuple[ListPage, ListRecipe]]


def read(page: ListPage, hints: PageHints) -> FoundLists:
    return find_lists(build_outline(LexborHTMLParser(page.text), page.url), TODAY, hints)


def read_by(page: ListPage, recipe: ListRecipe) -> FoundLists:
    return read(page, PageHints(expected=ExpectedPage.LIST, recipe=recipe))


def is_read_rightly(page: ListPage, found: FoundLists) -> bool:
    return {candidate.url for candidate in found.candidates} == set(page.urls)


@pytest.fixture(scope="module")
def learned() -> Learned:
    """Each readable section of the sample sites, with the recipe that two of its rows teach."""
    pages = list_sample_pages(TODAY)
    found = [read(page, PageHints(examples=(page.urls[0], page.urls[-1]))).recipe for page in pages]
    return [(page, recipe) for page, recipe in zip(pages, found, strict=True) if recipe is not None]


def test_two_rows_teach_each_section_that_a_sample_site_shows(learned: Learned) -> None:
    assert len(learned) == len(list_sample_pages(TODAY)) == 11
    for page, recipe in learned:
        found = read_by(page, recipe)
        assert is_read_rightly(page, found)
        assert found.recipe_fit == pytest.approx(1.0)


def test_a_redesign_raises_the_alarm(learned: Learned) -> None:
    recipes = {(page.site, page.section): recipe for page, recipe in learned}
    silent = []
    misread = 0
    redesigns = list_redesigns([page for page, _ in learned])
    for page, change in redesigns:
        later = redesign(page, change)
        misread += not is_read_rightly(later, read(later, PageHints(examples=(later.urls[0], later.urls[-1]))))
        fit = read_by(later, recipes[page.site, page.section]).recipe_fit
        assert fit is not None
        if fit >= MIN_RECIPE_FIT:
            silent.append((page.section, change, fit))
    assert len(redesigns) == 40
    assert misread <= 2  # an old entry that the home page's box of news shows too is taught with the box
    assert len(silent) <= (1 - MIN_ALARMS) * len(redesigns), silent


def test_no_sweep_of_an_unchanged_site_raises_the_alarm(learned: Learned) -> None:
    misread = count = 0
    for page, recipe in learned:
        for later in read_on_later_days(page, -(-SWEEPS // len(learned)), TODAY):
            found = read_by(later, recipe)
            assert found.recipe_fit is not None
            assert found.recipe_fit >= MIN_RECIPE_FIT + MARGIN, (page.section, count)
            misread += not is_read_rightly(later, found)
            count += 1
    assert count >= SWEEPS
    assert misread <= 0.01 * SWEEPS


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('<ul class="list_gl">', '<ul class="list_gl count-371">'),
        ("<body>", "<body><div><p>本网站将于周六22时至周日6时暂停服务，敬请谅解。</p></div>"),
        ("政策法规</h2>", "最新文件</h2>"),
        ('<div class="list-box">', '<div class="list-box"><div class="inner">'),
    ],
)
def test_a_small_change_raises_no_alarm(before: str, after: str, learned: Learned) -> None:
    page, recipe = learned[0]
    assert before in page.text
    changed = ListPage(page.site, page.section, page.url, page.text.replace(before, after), page.rows)
    found = read_by(changed, recipe)
    assert found.recipe_fit is not None
    assert found.recipe_fit >= MIN_RECIPE_FIT + MARGIN
    assert is_read_rightly(changed, found)


@pytest.mark.parametrize(
    ("url", "lead", "row"),
    [
        ("https://www.sample.gov.cn/tzgg/", "", '<li><a href="t{n}_31.html">关于第{n}批试点项目的公告</a></li>'),
        ("https://agency.example/news/", "<p>Notices</p>", '<p><a href="/news/item-{n}/">Notice {n}</a></p>'),
        ("https://court.example/opinions/", "", '<tr><td>Case {n}</td><td><a href="/doc/{n}.pdf">PDF</a></td></tr>'),
        ("https://gov.example/news/", "", '<li><a href="a{n}.html">Notice {n}</a> <a href="a{n}.pdf">PDF</a></li>'),
        (
            "https://blog.example/",
            "",
            '<article><h2><a href="/p{n}/">Post {n}</a></h2><a href="/kim/">Kim</a> <a href="/t{n}/">x</a></article>',
        ),
        (
            "https://court.example/digest/",
            "",
            '<tr><td><a href="/{n}.pdf">Ash v. Birch {n}</a></td><td>' + "A long summary. " * 60 + "</td></tr>",
        ),
    ],
)
def test_the_only_row_that_is_left_is_found_by_the_recipe(url: str, lead: str, row: str) -> None:
    def build(count: int) -> ListPage:
        inside = "".join(row.format(n=2026_030 + number) for number in range(count))
        box = f"<table>{inside}</table>" if row.startswith("<tr>") else f"<div>{inside}</div>"
        menu = "".join(f'<a href="/{name}/">{name}</a> ' for name in ("home", "about", "contact", "help"))
        return ListPage("site", "news", url, f"<body><nav>{menu}</nav><main>{lead}{box}</main></body>", ())

    taught = read(build(5), PageHints(examples=tuple(c.url for c in read(build(5), PageHints()).candidates[:2])))
    assert taught.recipe is not None
    found = read_by(build(1), taught.recipe)
    assert [candidate.url for candidate in found.candidates] == [taught.candidates[0].url]


def test_the_first_row_has_the_class_of_the_others() -> None:
    first, later = "views-row views-row-1 views-row-odd views-row-first", "views-row views-row-2 views-row-even"
    assert normalize_class(first) == normalize_class(later)


def test_one_row_that_kept_its_class_is_not_taken_for_the_only_one_and_the_change_is_seen() -> None:
    def build(css_class: str) -> ListPage:
        rows = '<dd><a href="/news/0.html">Notice 0</a></dd>'
        rows += "".join(f'<dd><a class="{css_class}" href="/news/{n}.html">Notice {n}</a></dd>' for n in range(1, 6))
        return ListPage("site", "news", "https://gov.example/news/", f"<body><dl>{rows}</dl></body>", ())

    urls = [f"https://gov.example/news/{n}.html" for n in range(6)]
    taught = read(build(""), PageHints(examples=tuple(urls[:2])))
    assert taught.recipe is not None
    found = read_by(build("lead"), taught.recipe)
    assert {candidate.url for candidate in found.candidates} >= set(urls[1:])
    assert found.recipe_fit is not None
    assert found.recipe_fit < SURE_RECIPE_FIT
