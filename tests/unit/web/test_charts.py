"""Charts: well-formed, every figure found in them, told apart without colour, and nothing that is styled or run."""

import datetime as dt
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from monitor.web.ui.charts import (
    Chart,
    Series,
    StripLabels,
    Threshold,
    build_bar_chart,
    render_cadence_strip,
    render_share_bar,
    render_sparkline,
)

SVG = "{http://www.w3.org/2000/svg}"
TODAY = dt.date(2026, 11, 22)
DAYS = [TODAY - dt.timedelta(days=back) for back in reversed(range(30))]
HOSTILE = "</title><script>alert(1)</script>\" onload='x' & \x00\x07 {{7*7}}"


def drawn(
    series: list[Series], *, limit: Threshold | None = None, days: list[dt.date] = DAYS, title: str = "T"
) -> Chart:
    return build_bar_chart(
        "tokens",
        days,
        series,
        title=title,
        summary="all of it",
        day_label="Day",
        format_value=lambda value: f"{value:g}",
        threshold=limit,
    )


def tree(picture: Markup) -> ET.Element:
    """The picture as a strict reader of XML sees it; nothing in it may be styled or run."""
    root = ET.fromstring(str(picture))  # noqa: S314 -- we made it
    for element in root.iter():
        assert element.tag.removeprefix(SVG) not in ("script", "style", "foreignObject", "a", "use", "image")
        assert not [name for name in element.attrib if name == "style" or name.startswith("on") or "href" in name]
    return root


def titles(picture: Markup) -> list[str]:
    return [element.text or "" for element in tree(picture).iter(f"{SVG}title")]


def test_every_figure_stands_in_the_picture_and_in_the_table() -> None:
    calls = Series("crawl", [float(number) for number in range(30)])
    other = Series("rank", [0.0] * 29 + [7.0])
    chart = drawn([calls, other])
    report = titles(chart.picture)
    for number, day in enumerate(DAYS):
        assert (f"{day} · crawl: {number}" in report) is (number > 0)
    assert f"{TODAY} · rank: 7" in report
    assert chart.head == ["Day", "crawl", "rank"]
    assert chart.rows[0] == [str(TODAY), "29", "7"]
    assert len(chart.rows) == 29, "the day without anything has no row"


def test_bars_are_as_high_as_their_figures_and_stand_on_each_other() -> None:
    chart = drawn([Series("a", [10.0, 20.0]), Series("b", [30.0, 0.0])], days=DAYS[:2])
    found = [
        (float(element.attrib["y"]), float(element.attrib["height"]))
        for element in tree(chart.picture).iter(f"{SVG}rect")
        if "bar" in element.attrib.get("class", "").split()
    ]
    (a1, h1), (_, h2), (b1, g1) = found
    assert g1 == pytest.approx(3 * h1, abs=0.02)
    assert h2 == pytest.approx(2 * h1, abs=0.02)
    assert b1 + g1 == pytest.approx(a1, abs=0.02)


def test_series_are_told_apart_by_pattern_and_the_key_shows_the_same_patterns() -> None:
    names = ["navigate", "crawl", "summarise", "rank"]
    chart = drawn([Series(name, [1.0] * 30) for name in names])
    root = tree(chart.picture)
    fills = {
        element.attrib["fill"]
        for element in root.iter(f"{SVG}rect")
        if "bar" in element.attrib.get("class", "").split()
    }
    assert fills == {"currentColor", "url(#tokens-1)", "url(#tokens-2)", "url(#tokens-3)"}
    assert {element.attrib["id"] for element in root.iter(f"{SVG}pattern")} == {"tokens-1", "tokens-2", "tokens-3"}
    shapes = [ET.tostring(list(element)[1]) for element in root.iter(f"{SVG}pattern")]
    assert len(set(shapes)) == len(shapes), "two patterns are drawn alike"
    assert [name for name, _ in chart.legend] == names
    ids = [element.attrib["id"] for _, key in chart.legend for element in tree(key).iter(f"{SVG}pattern")]
    assert len(set(ids)) == len(ids) == 3
    assert not {*ids} & {"tokens-1", "tokens-2", "tokens-3"}


def test_one_series_needs_no_key_and_a_limit_is_a_named_line_within_the_picture() -> None:
    chart = drawn([Series("a", [1.0] * 30)], limit=Threshold("budget", 4.0))
    assert chart.legend == []
    texts = [element.text for element in tree(chart.picture).iter(f"{SVG}text")]
    assert "budget" in texts
    assert "4" in texts, "the axis says how high it goes"


def test_a_picture_says_what_it_is_to_those_who_do_not_see_it() -> None:
    for picture in (
        drawn([Series("a", [0.0] * 30)], title="Tokens").picture,
        render_sparkline([1, 5, 2], title="Tokens", summary="from 1 to 2"),
    ):
        root = tree(picture)
        assert root.attrib["role"] == "img"
        assert root.attrib["aria-label"].startswith("Tokens")
        assert titles(picture)[0] == "Tokens"
        assert root.attrib["viewBox"]


def test_a_share_is_as_wide_as_its_part_and_left_to_the_figure_beside_it_for_those_who_do_not_see_it() -> None:
    for value, whole, width in ((1, 4, 25), (9, 4, 100), (0, 4, 0), (1, 0, 0)):
        root = tree(render_share_bar(value, whole))
        assert root.attrib["aria-hidden"] == "true"
        assert float(list(root)[1].attrib["width"]) == width


def test_hostile_texts_stay_texts() -> None:
    chart = drawn([Series(HOSTILE, [1.0] * 30)], limit=Threshold(HOSTILE, 2.0), title=HOSTILE)
    words = StripLabels(title=HOSTILE, summary=HOSTILE, now=HOSTILE, silent=HOSTILE)
    strip = render_cadence_strip([TODAY], today=TODAY, silent_on=TODAY, labels=words)
    for picture in (chart.picture, strip, render_sparkline([1], title=HOSTILE, summary=HOSTILE)):
        assert "<script" not in picture
        assert HOSTILE.replace("\x00", "").replace("\x07", "") in titles(picture)


def strip_of(arrivals: list[dt.date], silent_on: dt.date | None = None, **more: dt.date) -> ET.Element:
    words = StripLabels(title="News", summary="often", now="today", silent="silent")
    return tree(render_cadence_strip(arrivals, today=TODAY, silent_on=silent_on, labels=words, **more))


def classes(root: ET.Element) -> list[str]:
    return [element.attrib["class"] for element in root.iter() if element.attrib.get("class") and element is not root]


def test_a_strip_has_a_stroke_for_each_day_with_something_new() -> None:
    root = strip_of([TODAY, TODAY, TODAY - dt.timedelta(days=89), TODAY - dt.timedelta(days=90)])
    (stroke,) = [element for element in root.iter(f"{SVG}path") if element.attrib["class"] == "stroke"]
    assert stroke.attrib["d"].count("M") == 2
    assert "silent" not in classes(root)


@pytest.mark.parametrize(
    ("days", "line", "shade"), [(-5, True, True), (0, True, True), (5, True, False), (40, False, False)]
)
def test_a_strip_shows_where_silence_begins_and_shades_one_that_has_begun(days: int, line: bool, shade: bool) -> None:
    found = classes(strip_of([TODAY - dt.timedelta(days=30)], TODAY + dt.timedelta(days=days)))
    assert ("silent" in found, "silence" in found) == (line, shade)


def test_what_is_no_longer_on_record_has_no_axis() -> None:
    known = strip_of([TODAY], known_since=TODAY - dt.timedelta(days=9))
    (axis,) = [element for element in known.iter(f"{SVG}line") if element.attrib["class"] == "axis"]
    assert float(axis.attrib["x1"]) == (89 - 9) * 4


@given(
    values=st.lists(st.floats(min_value=0, max_value=1e12), max_size=40),
    limit=st.none() | st.floats(min_value=0, max_value=1e12),
)
def test_any_figures_make_a_picture_that_stays_within_its_frame(values: list[float], limit: float | None) -> None:
    days = [TODAY + dt.timedelta(days=n) for n in range(len(values))]
    chart = drawn([Series("a", values)], days=days, limit=None if limit is None else Threshold("l", limit))
    for element in tree(chart.picture).iter(f"{SVG}rect"):
        if "bar" in element.attrib.get("class", "").split():
            assert 0 <= float(element.attrib["y"]) <= 168
            assert float(element.attrib["y"]) + float(element.attrib["height"]) <= 168
    tree(render_sparkline(values, title="s", summary="x"))
