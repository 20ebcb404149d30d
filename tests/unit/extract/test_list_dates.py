"""The day of each row is that of posting: from its column, from beside it, from above it, or none."""

import datetime as dt

import pytest
from selectolax.lexbor import LexborHTMLParser

from monitor.extract.html import build_outline
from monitor.extract.lists.dates import find_row_dates
from monitor.extract.lists.rows import build_rows
from monitor.vocabulary import DateSource

TODAY = dt.date(2026, 11, 21)
URL = "https://board.sample.org/notices/"
TITLES = [
    "Rules for the metering of heat in old houses",
    "Grants to repair weirs on the upper river",
    "Order on the storage of grain near ports",
    "List of laboratories that may test drinking water",
    "Fees of the harbour office from next spring on",
    "Answers to questions about the fishing season",
]
DAYS = [dt.date(2026, 2, 28 - 3 * index) for index in range(6)]
ISO_DAYS = [str(day) for day in DAYS]


def dates_of(body: str, url: str = URL) -> list[tuple[dt.date | None, DateSource]]:
    """The dates of the rows whose links have the class `t`."""
    page = build_outline(LexborHTMLParser(f"<html><body>{body}</body></html>"), url)
    anchors = [anchor for anchor in page.anchors if anchor.element.css_class == "t"]
    return find_row_dates(page, build_rows(anchors), TODAY)


def days_of(body: str, url: str = URL) -> list[str | None]:
    return [str(day) if day else None for day, _ in dates_of(body, url)]


def link(index: int, title: str = "") -> str:
    return f'<a class="t" href="a{index}.html">{title or TITLES[index]}</a>'


def rows(template: str, days: list[str] = ISO_DAYS, titles: list[str] = TITLES) -> str:
    """One row for each day; `{day}` is its day, `{link}` its link with the title."""
    return "".join(
        template.format(link=link(i, title), day=day, i=i)
        for i, (day, title) in enumerate(zip(days, titles, strict=False))
    )


def test_a_heading_with_a_link_dates_the_rows_below_it() -> None:
    body = "".join(
        f'<h3><a href="/day/{day}">{day:%d %B %Y}</a></h3><p>{link(2 * n)}</p><p>{link(2 * n + 1)}</p>'
        for n, day in enumerate(DAYS[:3])
    )
    assert days_of(f"<div>{body}</div>") == [day for day in ISO_DAYS[:3] for _ in range(2)]


def test_rows_without_a_day_in_a_table_take_that_of_the_cell_that_spans_them() -> None:
    body = f'<tr><td rowspan="2">3 Feb 2026</td><td>{link(0)}</td></tr><tr><td>{link(1)}</td></tr>'
    body += f"<tr><td>2 Feb 2026</td><td>{link(2)}</td></tr>"
    assert days_of(f"<table>{body}</table>") == ["2026-02-03", "2026-02-03", "2026-02-02"]


@pytest.mark.parametrize(
    "above",
    [
        "<h1>Notices 2024</h1>",
        "<h2>Año 2024</h2><p>Some words of introduction about what this page has.</p>",
        "<h3>令和6年</h3>",
        "<div class='y'>2024年</div>",
        '<p><a href="/y/2025">2025</a> <b>2024</b> <a href="/y/2023">2023</a></p>',
        '<p><a href="/y/2025">2025</a> <a aria-current="page" href="/y/2024">2024</a> <a href="/y/2023">2023</a></p>',
        '<p><a href="/y/2025">2025</a> <a class="x" href="/y/2024">2024</a> <a href="/y/2023">2023</a></p>',
        "<select><option>2025</option><option selected>2024</option><option>2023</option></select>",
    ],
)
def test_a_year_above_the_rows_completes_their_days(above: str) -> None:
    body = (
        f"<main>{above}<ul>" + rows("<li>{link}<span>{day}</span></li>", [day[5:] for day in ISO_DAYS]) + "</ul></main>"
    )
    assert days_of(body) == [day.replace("2026", "2024") for day in ISO_DAYS]


def test_a_caption_and_an_address_say_the_year_too() -> None:
    cells = rows("<tr><td>{link}</td><td>{day}</td></tr>", [day[5:] for day in ISO_DAYS])
    assert days_of(f"<table><caption>Orders of 2025</caption>{cells}</table>")[0] == "2025-02-28"
    assert days_of(f"<table>{cells}</table>", URL + "?year=2025")[0] == "2025-02-28"


def test_each_heading_of_a_month_or_a_year_holds_until_the_next() -> None:
    body = f"<h2>2026</h2><h3>March</h3><p>{link(0)} <i>Tue 3</i></p><h3>February</h3><p>{link(1)} <i>Mon 2</i></p>"
    body += f"<h2>2025</h2><h3>December</h3><p>{link(2)} <i>Wed 31</i></p><p>{link(3)} <i>Tue 30</i></p>"
    assert days_of(f"<div>{body}</div>") == ["2026-03-03", "2026-02-02", "2025-12-31", "2025-12-30"]


def test_a_day_without_any_year_is_unknown() -> None:
    body = "<ul>" + rows("<li>{link}<span>{day}</span></li>", ["02-03", "01-15", "12-28", "12-01"]) + "</ul>"
    assert dates_of(body) == [(None, DateSource.UNKNOWN)] * 4


def test_a_menu_of_years_says_no_year_unless_one_is_marked() -> None:
    menu = "".join(f'<a href="/y/{year}">{year}</a> ' for year in (2026, 2025, 2024))
    body = f"<p>{menu}</p><ul>" + rows("<li>{link}<span>{day}</span></li>", ["02-03", "01-15", "01-08"]) + "</ul>"
    assert days_of(body) == [None] * 3


def test_without_a_date_on_the_page_no_row_has_one() -> None:
    template = "<li>{link}<span>No. 3.{i} · 12 pages · 16:30</span><p>Section 4-12 of Act 2021/5 applies.</p></li>"
    assert days_of("<h1>Forms</h1><ul>" + rows(template) + "</ul>") == [None] * 6


def test_the_days_of_titles_and_summaries_are_not_those_of_the_rows() -> None:
    titles = [f"{day:%d %B} 2025: {title}" for day, title in zip(DAYS, TITLES, strict=True)]
    template = (
        "<li>{link}<p>It was heard on 5 January 2026 in the great hall with all that came.</p><span>{day}</span></li>"
    )
    assert days_of("<ul>" + rows(template, titles=titles) + "</ul>") == ISO_DAYS
    shuffled = [f"Minutes of the meeting of {day} May 2025 on water" for day in (7, 21, 3, 30, 1, 9)]
    assert days_of("<ul>" + rows("<li>{link}</li>", titles=shuffled) + "</ul>") == [None] * 6


def test_days_at_the_ends_of_all_titles_are_those_of_the_rows() -> None:
    titles = [f"{title}, {day:%d %B %Y} (pdf, 612 kB)" for day, title in zip(DAYS, TITLES, strict=True)]
    assert days_of("<ul>" + rows("<li>{link}</li>", titles=titles) + "</ul>") == ISO_DAYS


OTHER_DAYS = [str(dt.date(2026, 1, 9) + dt.timedelta(days=17 * (index % 3) + index)) for index in range(6)]


@pytest.mark.parametrize(
    ("posted", "other"),
    [
        ("Posted", "Deadline"),
        ("Published", "Effective date"),
        ("发布日期", "截止日期"),
        ("发布日期", "成文日期"),
        ("Fecha de publicación", "Plazo"),
        ("Опубликовано", "Срок подачи"),
        ("掲載日", "締切"),
        ("등록일", "마감일"),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_of_several_days_the_posted_one_counts(posted: str, other: str, is_first: bool) -> None:
    pairs = [(posted, ISO_DAYS), (other, OTHER_DAYS)] if is_first else [(other, OTHER_DAYS), (posted, ISO_DAYS)]
    heads = "".join(f"<th>{name}</th>" for name, _ in pairs)
    cells = [f"<td>{first}</td><td>{second}</td>" for first, second in zip(*(days for _, days in pairs), strict=True)]
    table = rows("<tr><td>{link}</td>{day}</tr>", cells)
    assert days_of(f"<table><tr><th>Title</th>{heads}</tr>{table}</table>") == ISO_DAYS
    boxes = "".join(f"<div>{name}</div>" for name, _ in pairs)
    lines = rows(
        "<div>{day}</div>", [f"<div>{link(i)}</div>{cell.replace('td>', 'div>')}" for i, cell in enumerate(cells)]
    )
    assert days_of(f"<div><div><div>Title</div>{boxes}</div>{lines}</div>") == ISO_DAYS
    labelled = [
        f"<p>{pairs[0][0]}: {first}</p><p>{pairs[1][0]}: {second}</p>"
        for first, second in zip(*(days for _, days in pairs), strict=True)
    ]
    assert days_of("<ul>" + rows("<li>{link}{day}</li>", labelled) + "</ul>") == ISO_DAYS


def test_a_row_without_its_posted_day_does_not_take_its_deadline() -> None:
    days = [f"<p>Posted: {day}</p><p>Deadline: 2026-03-01</p>" for day in ISO_DAYS]
    days[2] = "<p>Deadline: 2026-03-01</p>"
    assert days_of("<ul>" + rows("<li>{link}{day}</li>", days) + "</ul>") == [*ISO_DAYS[:2], None, *ISO_DAYS[3:]]


@pytest.mark.parametrize(
    ("template", "bounds"),
    [("<h4>{link}</h4><p>{day}</p>", "<h2>News</h2>{}"), ("<p>{day}</p><h4>{link}</h4>", "{}<p>More of it</p>")],
    ids=["after", "before"],
)
def test_days_between_rows_belong_to_the_row_that_the_first_and_last_tell(template: str, bounds: str) -> None:
    assert days_of("<div>" + bounds.format(rows(template)) + "</div>") == ISO_DAYS


@pytest.mark.parametrize(
    "day",
    [
        *(
            "3 de febrero de 2026",
            "3 февраля 2026 г.",
            "3 lutego 2026 r.",
            "٣ فبراير ٢٠٢٦",
            "3 شباط 2026",
            "令和8年2月3日",
        ),
        *(
            "2026년 2월 3일",
            "3 Şubat 2026",
            "ngày 3 tháng 2 năm 2026",
            "3 Februari 2026",
            "3 février 2026",
            "03 lut 2026",
        ),
    ],
)
def test_the_day_of_a_row_is_read_in_any_language(day: str) -> None:
    assert days_of("<ul>" + rows("<li>{link}<span>{day}</span></li>", [day] * 3) + "</ul>") == ["2026-02-03"] * 3


def test_a_month_that_two_languages_name_alike_follows_the_language_of_the_page() -> None:
    body = "<ul>" + rows("<li>{link}<span>{day}</span></li>", ["3 listopada 2025"] * 3) + "</ul>"
    assert days_of(body, "https://urzad.sample.pl/komunikaty/") == ["2025-11-03"] * 3
    assert days_of(body, "https://ured.sample.hr/novosti/") == ["2025-10-03"] * 3
    assert days_of(body) == [None] * 3


def test_today_and_yesterday_are_headings_as_well() -> None:
    body = f"<h4>Today</h4><p>{link(0)}</p><p>{link(1)}</p><h4>Yesterday</h4><p>{link(2)}</p><p>{link(3)}</p>"
    assert days_of(f"<div>{body}</div>") == ["2026-11-21", "2026-11-21", "2026-11-20", "2026-11-20"]
