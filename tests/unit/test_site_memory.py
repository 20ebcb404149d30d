"""The memory of a site: what counts as repeated, how far that weakens a score, and that it stays small."""

import datetime as dt

import pytest

from monitor.page import PageHints
from monitor.site_memory import (
    MAX_HOSTS,
    MarkedLine,
    PageMarks,
    SeenPage,
    SiteMemory,
    SitePageKind,
    SiteRepeats,
    hash_heading,
    hash_link,
    hash_mark,
    hash_place,
    remember_pages,
    weaken_lines,
)

DAY = dt.date(2026, 11, 20)
SIDE, MAIN = (hash_place([("li", ""), ("ul", name)]) for name in ("side", "main"))
FOOTER = hash_mark("line", "div/p", "All rights reserved")


def article(number: int, *lines: int, key: str = "", title: str = "") -> SeenPage:
    marks = PageMarks(headings=(hash_heading("site"),), lines=(1000 + number, 2000 + number, *lines))
    return SeenPage(key or f"a.example/{number}", SitePageKind.ARTICLE, title or f"Title {number}", marks)


def section(number: int, box: list[int], rows: list[int]) -> SeenPage:
    links = [hash_link(SIDE, f"/{n}") for n in box] + [hash_link(MAIN, f"/{n}") for n in rows]
    return SeenPage(f"a.example/s{number}", SitePageKind.LIST, f"Section {number}", PageMarks(links=tuple(links)))


def remember(*pages: SeenPage, day: dt.date = DAY) -> SiteMemory:
    memory = SiteMemory()
    for page in pages:
        memory.remember(page, day)
    return memory


def test_of_fewer_than_four_other_pages_nothing_repeats() -> None:
    pages = [article(number, FOOTER) for number in range(5)]
    assert remember(*pages[:4]).find_repeats().get_share(FOOTER) == 0
    assert remember(*pages).find_repeats().get_share(FOOTER) == pytest.approx(0.8, abs=1 / 16)
    assert remember(*pages).find_repeats().get_share(1000) == 0


def test_the_share_grows_with_the_pages() -> None:
    some, many = (
        remember(*(article(n, FOOTER) for n in range(count))).find_repeats().get_share(FOOTER) for count in (5, 20)
    )
    assert some < many < 1
    half = remember(*(article(n, *([FOOTER] if n % 2 else [])) for n in range(20)))
    assert half.find_repeats().get_share(FOOTER) == 0, "what half of the pages have says nothing"


def test_one_document_under_many_addresses_is_one_page() -> None:
    copies = [article(1, key=f"a.example/1?print={n}", title="Title 1") for n in range(12)]
    memory = remember(*copies, *(article(number) for number in range(2, 7)))
    assert memory.find_repeats().get_share(1001) == 0
    assert memory.find_repeats().get_share(hash_heading("site")) > 0.5


def test_a_page_that_is_read_again_and_again_is_one_page() -> None:
    memory = SiteMemory()
    for day in range(30):
        memory.remember(section(1, [], [1, 2, 3]), DAY + dt.timedelta(day))
        for number in range(2, 8):
            memory.remember(section(number, [], [number * 10 + n for n in range(5)]), DAY + dt.timedelta(day))
    assert len(memory.pages) == 7
    assert memory.find_repeats() == SiteRepeats()


def test_a_box_repeats_as_a_place_and_the_lists_beside_it_do_not() -> None:
    sections = [section(n, list(range(8)), [100 * n + row for row in range(6)]) for n in range(1, 8)]
    repeats = remember(*sections).find_repeats()
    assert repeats.get_share(SIDE) > 0.7
    assert repeats.get_share(MAIN) == 0


def test_pages_of_one_list_that_share_some_rows_lose_none() -> None:
    pages = [section(n, [], list(range(8 * n, 8 * n + 12))) for n in range(8)]
    assert remember(*pages).find_repeats() == SiteRepeats()


def test_a_year_of_sweeps_does_not_make_it_grow() -> None:
    memory = SiteMemory()
    sizes = []
    for day in range(365):
        today = DAY + dt.timedelta(day)
        for number in range(6):
            lines = tuple(hash_mark("line", "p", f"{day} {number} {n}") for n in range(200))
            memory.remember(article(10 * day + number, *lines), today)
            memory.remember(section(number, [day], [100 * day + n for n in range(300)]), today)
            memory.remember(section(1000 + 10 * day + number, [day], list(range(day, day + 200))), today)
        sizes.append(len(memory.model_dump_json()))
    assert max(sizes) < 60_000
    assert min(page.day for page in memory.pages) > DAY + dt.timedelta(340), "what is old gives way"


def test_what_is_kept_comes_back_from_json() -> None:
    memory = remember(*(article(number, FOOTER) for number in range(6)))
    again = SiteMemory.model_validate_json(memory.model_dump_json())
    assert again == memory
    repeats = SiteRepeats.model_validate_json(again.find_repeats().model_dump_json())
    assert repeats == memory.find_repeats()
    assert hash(PageHints(memory=repeats)) == hash(PageHints(memory=memory.find_repeats()))


def test_pages_are_kept_in_an_order_of_their_own() -> None:
    pages = [("a.example", article(number)) for number in range(40)]
    one: dict[str, SiteMemory] = {}
    other: dict[str, SiteMemory] = {}
    assert remember_pages(one, pages, DAY) == {"a.example"}
    remember_pages(other, pages[::-1], DAY)
    assert one == other
    assert remember_pages(one, pages, DAY) == frozenset()
    remember_pages(one, [(f"h{number}.example", article(number)) for number in range(20)], DAY)
    assert len(one) == MAX_HOSTS


PROSE = (0, "p.")


def test_a_repeated_line_is_weakened_but_never_to_nothing() -> None:
    repeats = SiteRepeats(shares={FOOTER: 0.8})
    lines = [MarkedLine(1, 300, PROSE), MarkedLine(FOOTER, 100, (9, "p."))]
    own, footer = weaken_lines(lines, [0.9, 0.9], repeats)
    assert own == 0.9
    assert 0 < footer < 0.1


def test_what_stands_between_paragraphs_of_the_page_stays() -> None:
    repeats = SiteRepeats(shares={FOOTER: 0.8})
    lines = [MarkedLine(1, 300, PROSE), MarkedLine(FOOTER, 100, PROSE), MarkedLine(2, 300, PROSE)]
    assert weaken_lines(lines, [0.9, 0.8, 0.9], repeats) == [0.9, 0.8, 0.9]


def test_a_form_that_repeats_whole_keeps_its_text() -> None:
    repeats = SiteRepeats(shares={1: 0.9, 2: 0.9})
    lines = [MarkedLine(1, 300, PROSE), MarkedLine(2, 200, PROSE), MarkedLine(3, 40, (4, "h1."))]
    assert weaken_lines(lines, [0.9, 0.9, 0.6], repeats) == [0.9, 0.9, 0.6]


def test_rows_are_weakened_by_the_mean_of_their_places() -> None:
    repeats = SiteRepeats(shares={1: 0.8})
    all_rows, some_rows = repeats.weaken(0.9, [1] * 4), repeats.weaken(0.9, [1, 1, 2, 2])
    assert all_rows < some_rows < 0.9
    assert repeats.weaken(0.9, [2, 3]) == 0.9


def test_a_place_is_known_again_by_names_without_numbers() -> None:
    box = [("li", "first"), ("ul", "news-12 "), ("div", "side")]
    assert hash_place(box) == hash_place([("li", "last"), ("ul", "news-7 "), ("div", "side")])
    assert hash_place(box) != hash_place([("li", "first"), ("ul", "news-12 "), ("div", "main")])
