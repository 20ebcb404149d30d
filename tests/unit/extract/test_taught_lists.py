"""A recipe tells its list from the others of a page as it goes on and shrinks, and not where the page was rebuilt."""

import datetime as dt
from collections.abc import Sequence

from monitor.extract.parse import parse_page
from monitor.page import ExpectedPage, Page, PageHints
from monitor.recipe import MIN_RECIPE_FIT, ListRecipe

TODAY = dt.date(2026, 2, 3)
URL = "https://gov.example/news/"
LAYOUT = (
    '<div class="nav"><ul>{nav}</ul></div><div class="main"><h2>公告</h2><ul class="list">{rows}</ul></div>'
    "<dl>{side}</dl>"
)
SURE_FIT = 0.85


def page(numbers: Sequence[int], *, day: dt.date = TODAY, hints: PageHints, layout: str = LAYOUT) -> Page:
    rows = "".join(
        f'<li class="{"top" if number % 7 == 0 else ""}"><a href="/news/detail/{number}.html">'
        f"关于第{number}批项目清单的通知</a><span>{day - dt.timedelta(place)}</span></li>"
        for place, number in enumerate(numbers)
    )
    nav = "".join(f'<li><a href="/section{number}/">栏目之{number}</a></li>' for number in range(9))
    side = "".join(f'<dd><a href="/files/{number}.html">申报表格及说明{number}</a></dd>' for number in range(5))
    body = f"<html><body>{layout.format(rows=rows, nav=nav, side=side)}</body></html>".encode()
    now = dt.datetime.combine(day, dt.time(), tzinfo=dt.UTC)
    return parse_page(
        body, url=URL, final_url=URL, status=200, content_type="text/html", fetched_at=now, rendered=False, hints=hints
    )


def learn(example: str) -> ListRecipe:
    taught = page(range(10), hints=PageHints(expected=ExpectedPage.LIST, examples=(example,)))
    assert taught.recipe is not None
    return taught.recipe


def read(
    recipe: ListRecipe, numbers: Sequence[int], *, day: dt.date = TODAY, layout: str = LAYOUT
) -> tuple[set[str], float]:
    found = page(numbers, day=day, hints=PageHints(expected=ExpectedPage.LIST, recipe=recipe), layout=layout)
    assert found.recipe_fit is not None
    return {candidate.url.removeprefix("https://gov.example") for candidate in found.candidates}, found.recipe_fit


def test_two_hundred_readings_of_a_page_that_only_goes_on_fit_their_recipe() -> None:
    recipe = learn("https://gov.example/news/detail/4.html")
    for reading in range(200):
        numbers = range(1000 + reading * 3, 1000 + reading * 3 - (3 + reading % 18), -1)
        urls, fit = read(recipe, numbers, day=TODAY + dt.timedelta(reading))
        assert urls == {f"/news/detail/{number}.html" for number in numbers}
        assert fit >= SURE_FIT


def test_a_list_that_has_one_entry_left_is_still_read() -> None:
    urls, fit = read(learn("https://gov.example/news/detail/4.html"), [78])
    assert (urls, fit >= SURE_FIT) == ({"/news/detail/78.html"}, True)


def test_a_short_list_beside_a_longer_one_is_told_from_it_by_one_entry() -> None:
    urls, fit = read(learn("https://gov.example/files/2.html"), range(10))
    assert (urls, fit) == ({f"/files/{number}.html" for number in range(5)}, 1.0)


def test_a_list_that_is_gone_is_not_taken_for_the_one_beside_it() -> None:
    recipe = learn("https://gov.example/files/2.html")
    _, fit = read(recipe, range(10), layout=LAYOUT.replace("<dl>{side}</dl>", "<!-- {side} -->"))
    assert fit < SURE_FIT


def test_classes_that_were_renamed_do_not_hide_a_list() -> None:
    renamed = LAYOUT.replace('"list"', '"x1"').replace('"main"', '"x2"').replace('"nav"', '"x3"')
    urls, fit = read(learn("https://gov.example/news/detail/4.html"), range(20, 30), layout=renamed)
    assert (urls, fit >= MIN_RECIPE_FIT) == ({f"/news/detail/{number}.html" for number in range(20, 30)}, True)


PARTS = "<div class='main'><h2>公告</h2>{}</div>"


def read_parts(sections: Sequence[str], numbers: range, hints: PageHints) -> tuple[set[str], Page]:
    """A page with a block of rows for each section, each under a heading of its own; the paths that are read."""
    blocks = ""
    for section in sections:
        rows = "".join(
            f"<tr><td>2026-01-{number:02d}</td><td><a href='/news/{section}/{number}.html'>"
            f"Decision {number} of {section}</a></td></tr>"
            for number in numbers
        )
        table = f"<table><tr><th>Date</th><th>Title</th></tr>{rows}</table>"
        block = table if section == sections[0] else f"<div>{table}</div>"
        blocks += f"<div class='block'><h3>{section}</h3>{block}</div>"
    found = page((), hints=hints, layout=PARTS.format(blocks) + "<!--{rows}{side}{nav}-->")
    return {candidate.url.removeprefix("https://gov.example/news/") for candidate in found.candidates}, found


def taught_by(*paths: str) -> PageHints:
    return PageHints(expected=ExpectedPage.LIST, examples=tuple(f"https://gov.example/news/{path}" for path in paths))


def test_two_entries_in_two_parts_of_a_list_bring_all_its_parts_and_those_that_are_added() -> None:
    offices = ("north", "south", "west")
    urls, taught = read_parts(offices, range(1, 6), taught_by("north/2.html", "south/4.html"))
    assert urls == {f"{office}/{number}.html" for office in offices for number in range(1, 6)}
    assert taught.recipe is not None
    later = (*offices, "east")
    hints = PageHints(expected=ExpectedPage.LIST, recipe=taught.recipe)
    urls, read_later = read_parts(later, range(1, 8), hints)
    assert urls == {f"{office}/{number}.html" for office in later for number in range(1, 8)}
    assert (read_later.recipe_fit or 0) >= SURE_FIT


def test_an_entry_of_another_kind_of_list_does_not_join_it() -> None:
    hints = taught_by("detail/4.html")
    hints = hints.model_copy(update={"examples": (*hints.examples, "https://gov.example/files/2.html")})
    found = page(range(10), hints=hints)
    assert {candidate.url for candidate in found.candidates} == {
        f"https://gov.example/news/detail/{number}.html" for number in range(10)
    }


def test_a_list_whose_every_second_row_has_another_class_is_read_whole() -> None:
    def read_table(numbers: range, hints: PageHints) -> tuple[int, Page]:
        rows = "".join(
            f"<tr class='{'grid-row' if number % 2 else 'grid-alt'}'><td><a href='/docket.aspx?no={number}'>"
            f"Docket {number} on the rates of the utility</a></td><td>2026-01-{number:02d}</td></tr>"
            for number in numbers
        )
        found = page((), hints=hints, layout=f"<table class='grid'>{rows}</table><!--{{rows}}{{side}}{{nav}}-->")
        return len(found.candidates), found

    shown = PageHints(expected=ExpectedPage.LIST, examples=("https://gov.example/docket.aspx?no=4",))
    count, taught = read_table(range(1, 13), shown)
    assert taught.recipe is not None
    assert (count, taught.recipe.steps_share) == (12, 0.5)
    assert read_table(range(1, 15), PageHints(expected=ExpectedPage.LIST, recipe=taught.recipe))[0] == 14
