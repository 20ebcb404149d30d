"""Lists and titles on pages that nobody wrote rules for: the held set, with floors below what it reaches."""

import pytest

from benchmarks.labelled_pages import ARTICLE, LabelledPage, read_held_sets, read_open_sets
from benchmarks.train_lists import ListFigures, build_page_outline, measure
from monitor.extract.lists.candidates import find_lists
from monitor.page import ExpectedPage, PageHints
from monitor.urls import get_host


@pytest.fixture(scope="module")
def held_pages() -> list[LabelledPage]:
    return [page for pages in read_held_sets().values() for page in pages]


@pytest.fixture(scope="module")
def figures(held_pages: list[LabelledPage]) -> ListFigures:
    return measure({"held": held_pages})[0]


def test_lists_of_pages_never_seen_are_found(figures: ListFigures) -> None:
    assert figures.lists >= 40
    assert figures.f1_expected >= 0.9
    assert figures.title >= 0.95


def test_one_named_entry_says_which_list_is_meant(figures: ListFigures) -> None:
    assert figures.f1_taught >= 0.965


def test_articles_seldom_show_a_list(figures: ListFigures) -> None:
    assert figures.articles >= 20
    assert figures.article_lists <= 0.15


def test_what_is_expected_as_an_article_shows_a_list_still_less_often(held_pages: list[LabelledPage]) -> None:
    hints = PageHints(expected=ExpectedPage.ARTICLE)
    articles = [page for page in held_pages if page.kind == ARTICLE]
    shown = [page for page in articles if find_lists(build_page_outline(page), page.today, hints).candidates]
    assert len(shown) <= 0.05 * len(articles)


def test_an_unsure_list_comes_with_the_next_likely_ones(held_pages: list[LabelledPage]) -> None:
    hints = PageHints(expected=ExpectedPage.LIST)
    for page in held_pages:
        lists = find_lists(build_page_outline(page), page.today, hints).lists
        assert len(lists) <= 3
        urls = [{candidate.url for candidate in found.candidates} for found in lists]
        for place, mine in enumerate(urls):
            assert all(len(mine & theirs) <= max(1, 0.5 * len(mine)) for theirs in urls[:place])


def test_open_and_held_sets_share_no_site() -> None:
    known = {get_host(page.url) for pages in read_open_sets(corpus=None).values() for page in pages}
    assert not known & {get_host(page.url) for pages in read_held_sets().values() for page in pages}
