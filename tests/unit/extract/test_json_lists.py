"""Lists in JSON: found by what the page shows, read by what was learned, turned by the query."""

import datetime as dt
import json
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from monitor.extract.json_lists import find_next_json_page, learn_json_recipe, parse_day, read_json_list
from monitor.page import Candidate, Link
from monitor.recipe import JsonRecipe

TODAY = dt.date(2026, 11, 23)
PAGE = "https://office.example/notices/"
API = "https://api.office.example/v2/list?page=1"
TITLES = [f"Decision on the permits of district {number}" for number in range(1, 6)]


def learn(document: Any, links: list[Link], candidates: list[Candidate] | None = None) -> JsonRecipe | None:
    return learn_json_recipe(
        json.dumps(document), API, page_url=PAGE, candidates=candidates or [], links=links, today=TODAY
    )


def read(document: Any, recipe: JsonRecipe, zone: dt.tzinfo = dt.UTC) -> list[Candidate]:
    return read_json_list(json.dumps(document), recipe, page_url=PAGE, today=TODAY, zone=zone)


def test_relative_addresses_nested_titles_and_the_day_of_publication_are_found_by_the_page() -> None:
    document = {
        "filters": [{"title": "All", "url": "/all"}, {"title": "Notices", "url": "/notices"}],
        "result": {
            "items": [
                {
                    "attributes": {"headline": f"<em>{title}</em>", "path": f"../doc/{number}"},
                    "expiryDate": "2027-01-01",
                    "released": f"2026-11-{10 + number}T09:00:00Z",
                }
                for number, title in enumerate(TITLES)
            ]
        },
    }
    links = [Link(text=title, url=f"https://office.example/doc/{n}") for n, title in enumerate(TITLES)]

    recipe = learn(document, [Link(text="Notices", url="https://office.example/notices"), *links])

    assert recipe is not None
    assert (recipe.rows, recipe.title, recipe.link) == (
        ["result", "items"],
        ["attributes", "headline"],
        ["attributes", "path"],
    )
    assert recipe.date == ["released"]
    rows = read(document, recipe)
    assert [(row.title, row.url) for row in rows] == [(link.text, link.url) for link in links]
    assert rows[0].date == dt.date(2026, 11, 10)


def test_an_address_made_of_two_values_becomes_a_template() -> None:
    records = [
        {"name": title, "year": 2020 + number % 3, "code": f"a{number}7", "lang": "en"}
        for number, title in enumerate(TITLES)
    ]
    links = [
        Link(text=record["name"], url=f"https://office.example/en/{record['year']}/view?doc={record['code']}")
        for record in records
    ]

    recipe = learn(records, links)

    assert recipe is not None
    assert recipe.link_template == "https://office.example/en/{year}/view?doc={code}"
    more = {"name": "Another decision", "year": 2031, "code": "b/9"}
    assert read([more], recipe)[0].url == "https://office.example/en/2031/view?doc=b%2F9"
    assert read([{"name": "No code", "year": 2031}], recipe) == []


def test_days_that_the_page_shows_choose_among_dates_whatever_their_names_are() -> None:
    records = [
        {"t": title, "u": f"/d/{n}", "publishTime": "2026-10-01", "x": f"2026-11-0{n + 1}"}
        for n, title in enumerate(TITLES)
    ]
    shown = [
        Candidate(title=title, url=f"https://office.example/d/{n}", date=dt.date(2026, 11, n + 1))
        for n, title in enumerate(TITLES)
    ]
    recipe = learn(records, [], shown)
    assert recipe is not None
    assert recipe.date == ["x"]


@pytest.mark.parametrize(
    "document",
    [
        [{"title": f"Something else {number}", "url": f"/x/{number}"} for number in range(5)],
        {"config": {"title": TITLES[0], "url": "/d/1"}},
        [1, 2, 3],
    ],
)
def test_data_that_the_page_does_not_show_is_no_list_of_it(document: Any) -> None:
    assert learn(document, [Link(text=title, url=f"https://office.example/d/{title[-1]}") for title in TITLES]) is None


def test_a_list_that_is_gone_is_an_error() -> None:
    recipe = JsonRecipe(url=API, rows=["data"], title=["t"], link=["u"])
    for document in ({"data": None}, {"error": "gone"}, []):
        with pytest.raises(ValueError, match="no list"):
            read(document, recipe)


@pytest.mark.parametrize(
    ("value", "day"),
    [
        ("2026-11-03 23:59:00", (2026, 11, 3)),
        ("20261103", (2026, 11, 3)),
        (20261103, (2026, 11, 3)),
        (1793664000, (2026, 11, 3)),
        (1793635200000, (2026, 11, 3)),  # midnight in Beijing
        ("1793664000000", (2026, 11, 3)),
        ("Tue, 03 Nov 2026 10:00:00 GMT", (2026, 11, 3)),
        (4711, None),
        (None, None),
        (True, None),
        ("soon", None),
    ],
)
def test_days_are_read_from_texts_and_from_seconds(value: object, day: tuple[int, int, int] | None) -> None:
    assert parse_day(value, TODAY, dt.UTC) == (dt.date(*day) if day else None)


def test_seconds_become_a_day_in_the_zone_of_the_source() -> None:
    assert parse_day(1793640600, TODAY, dt.UTC) == dt.date(2026, 11, 2)
    assert parse_day(1793640600, TODAY, ZoneInfo("Asia/Shanghai")) == dt.date(2026, 11, 3)


@pytest.mark.parametrize(
    ("url", "rows", "following"),
    [
        ("https://a.example/l?page=1&size=10", 10, "https://a.example/l?page=2&size=10"),
        ("https://a.example/l?pageNo=0&q=%E7%94%B5", 3, "https://a.example/l?pageNo=1&q=%E7%94%B5"),
        ("https://a.example/l?offset=20&limit=20", 20, "https://a.example/l?offset=40&limit=20"),
        ("https://a.example/l?start=0", 15, "https://a.example/l?start=15"),
        ("https://a.example/l?page=2&size=10", 4, None),
        ("https://a.example/l?page=2", 0, None),
        ("https://a.example/l?chapter=2", 5, None),
        ("https://a.example/l", 5, None),
    ],
)
def test_the_next_page_is_that_of_the_query(url: str, rows: int, following: str | None) -> None:
    assert find_next_json_page(url, rows) == following
