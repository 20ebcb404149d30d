"""Charts as inline SVG: readable without colour, in light and dark, and each with its figures as a table.

Only classes and presentation attributes are used, for our policy allows no styles in a page. Texts are escaped here,
because the library does not.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import svg
from markupsafe import Markup, escape

WIDTH = 400
HEIGHT = 168
_LEFT, _RIGHT, _TOP, _BOTTOM = 4, 4, 20, 20
_PATTERN_COUNT = 6
"""Full, stripes, dots, cross stripes, rows, an outline."""

_STRIP_DAYS = 90
_STRIP_AHEAD_DAYS = 14
_STRIP_DAY_WIDTH = 4
_STRIP_HEIGHT = 26


@dataclass(frozen=True)
class Series:
    """The bars of one pattern: a name, and a figure for each day."""

    name: str
    values: Sequence[float]


@dataclass(frozen=True)
class Threshold:
    name: str
    value: float


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A picture, the legend of its patterns, and the same figures as rows."""

    title: str
    picture: Markup
    legend: Sequence[tuple[str, Markup]] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = field(default_factory=list)


def build_bar_chart(
    name: str,
    days: Sequence[dt.date],
    series: Sequence[Series],
    *,
    title: str,
    summary: str,
    day_label: str,
    format_value: Callable[[float], str],
    threshold: Threshold | None = None,
) -> Chart:
    """Draw bars by day, the series on top of each other; `name` sets the chart's patterns apart from those of others.

    `summary` is what the chart says in a sentence. Days without anything have no row.
    """
    totals = [sum(line.values[number] for line in series) for number in range(len(days))]
    top = max([*totals, threshold.value if threshold else 0.0]) or 1.0
    bars = [bar for place in range(len(series)) for bar in _build_bars(place, name, days, series, top, format_value)]
    marks = [
        _build_patterns(name, range(len(series))),
        *bars,
        *_build_axes(days, format_value(top)),
        *_build_threshold(threshold, top),
    ]
    rows = [
        [str(day), *(format_value(line.values[number]) for line in series)]
        for number, day in reversed(list(enumerate(days)))
        if totals[number]
    ]
    names = [line.name for line in series]
    legend = [(line, _render_swatch(f"{name}-key", place)) for place, line in enumerate(names)]
    return Chart(
        title=title,
        picture=_render_svg(WIDTH, HEIGHT, title, summary, marks, "chart"),
        legend=legend if len(series) > 1 else [],
        head=[day_label, *names],
        rows=rows,
    )


@dataclass(frozen=True)
class StripLabels:
    """The words of a strip: what it is, the day of now, and from when on a silence is out of the ordinary."""

    title: str
    summary: str
    now: str
    silent: str


def render_cadence_strip(
    arrivals: Sequence[dt.date],
    *,
    today: dt.date,
    silent_on: dt.date | None,
    labels: StripLabels,
    known_since: dt.date | None = None,
) -> Markup:
    """Draw the days of the last three months on which something new came, now, and where silence would begin.

    A stroke is a day with something new, the tall line is now; the dashed line is the day on which the silence becomes
    an alarm, and a shade lies over the days of a silence that is one already. Where that day is farther ahead than
    there is room for, the line is left out. What was before `known_since` is not on record: nothing is drawn there.
    """
    first = today - dt.timedelta(days=_STRIP_DAYS - 1)

    def x(day: dt.date) -> float:
        return (day - first).days * _STRIP_DAY_WIDTH

    base = _STRIP_HEIGHT - 3
    width = (_STRIP_DAYS + _STRIP_AHEAD_DAYS) * _STRIP_DAY_WIDTH
    strokes = "".join(f"M{x(day) + 1} 6h2v{base - 6}h-2z" for day in sorted(set(arrivals)) if first <= day <= today)
    begin = 0.0 if known_since is None else max(0.0, x(known_since))
    now = x(today) + 2
    marks: list[svg.Element] = [
        _draw_line("axis", begin, base, width, base),
        svg.Path(d=strokes or "M0 0", class_=["stroke"]),  # type: ignore[arg-type]  # written shorter than by its parts
        _draw_line("now", now, 0, now, _STRIP_HEIGHT, title=labels.now),
    ]
    if silent_on is not None and silent_on <= today + dt.timedelta(days=_STRIP_AHEAD_DAYS - 1):
        place = max(0.0, x(silent_on))
        if silent_on <= today:
            marks.insert(0, svg.Rect(x=place, y=4, width=x(today) - place, height=base - 4, class_=["silence"]))
        marks.append(_draw_line("silent", place, 2, place, _STRIP_HEIGHT, title=labels.silent, dashes=(3, 2)))
    return _render_svg(width, _STRIP_HEIGHT, labels.title, labels.summary, marks, "strip")


def render_sparkline(values: Sequence[float], *, title: str, summary: str) -> Markup:
    """Draw a line as wide as a few words, the last value marked."""
    top = max(values, default=0.0) or 1.0
    step = 96 / max(1, len(values) - 1)
    points = [(round(2 + number * step, 2), round(22 - value / top * 18, 2)) for number, value in enumerate(values)]
    if not points:
        return _render_svg(100, 24, title, summary, [], "spark")
    line = " ".join(f"{x},{y}" for x, y in points)
    marks: list[svg.Element] = [
        svg.Polyline(points=line, class_=["line"], fill="none"),  # type: ignore[arg-type]  # as text
        svg.Circle(cx=points[-1][0], cy=points[-1][1], r=2.5, class_=["last"]),
    ]
    return _render_svg(100, 24, title, summary, marks, "spark")


def render_share_bar(value: float, total: float) -> Markup:
    """Draw a bar that is filled to the value's share of the total; the figure stands beside it as text."""
    width = round(100 * max(0.0, min(1.0, value / total)), 2) if total else 0
    ground = svg.Rect(x=0, y=0, width=100, height=8, class_=["ground"])
    bar = svg.Rect(x=0, y=0, width=width, height=8, class_=["bar"])
    return _render_decoration(100, 8, "share", [ground, bar])


def _build_bars(
    place: int, name: str, days: Sequence[dt.date], series: Sequence[Series], top: float, shown: Callable[[float], str]
) -> list[svg.Element]:
    step, full = (WIDTH - _LEFT - _RIGHT) / max(1, len(days)), HEIGHT - _TOP - _BOTTOM
    marks: list[svg.Element] = []
    for number, day in enumerate(days):
        value, below = series[place].values[number], sum(line.values[number] for line in series[:place])
        if value > 0:
            title = svg.Title(text=_escape_text(f"{day} · {series[place].name}: {shown(value)}"))
            bar = svg.Rect(
                x=round(_LEFT + (number + 0.1) * step, 2),
                y=round(_TOP + full * (1 - (below + value) / top), 2),
                width=round(step * 0.8, 2),
                height=round(full * value / top, 2),
                **_style_bar(name, place),
                elements=[title],
            )
            marks.append(bar)
    return marks


def _render_svg(
    width: float, height: float, title: str, summary: str, marks: Sequence[svg.Element], kind: str
) -> Markup:
    """Return a picture whose title and summary a screen reader says."""
    labels: list[svg.Element] = [svg.Title(text=_escape_text(title))]
    if summary:
        labels.append(svg.Desc(text=_escape_text(summary)))
    drawn = svg.SVG(
        viewBox=svg.ViewBoxSpec(0, 0, width, height),
        class_=[kind],
        elements=[*labels, *marks],
        extra={"role": "img", "aria-label": _escape_text(f"{title}: {summary}" if summary else title)},
    )
    return Markup(drawn.as_str())  # noqa: S704 -- all texts in it went through `_escape_text`


def _render_decoration(width: int, height: int, kind: str, marks: list[svg.Element]) -> Markup:
    """Return a picture without words, which screen readers pass over."""
    view = svg.ViewBoxSpec(0, 0, width, height)
    drawn = svg.SVG(viewBox=view, class_=[kind], elements=marks, extra={"aria-hidden": "true"})
    return Markup(drawn.as_str())  # noqa: S704 -- there is no text in it


def _draw_line(
    kind: str, x1: float, y1: float, x2: float, y2: float, *, title: str = "", dashes: Sequence[int] = ()
) -> svg.Element:
    titles: list[svg.Element] = [svg.Title(text=_escape_text(title))] if title else []
    return svg.Line(x1=x1, y1=y1, x2=x2, y2=y2, class_=[kind], stroke_dasharray=[*dashes] or None, elements=titles)


def _draw_text(text: str, x: float, y: float, anchor: Literal["start", "end"] | None = None) -> svg.Element:
    return svg.Text(x=x, y=y, class_=["tick"], text_anchor=anchor, text=_escape_text(text))


def _build_axes(days: Sequence[dt.date], top: str) -> list[svg.Element]:
    base, right = HEIGHT - _BOTTOM, WIDTH - _RIGHT
    marks = [
        _draw_line("axis", _LEFT, base, right, base),
        _draw_line("grid", _LEFT, _TOP, right, _TOP),
        _draw_text(top, _LEFT, _TOP - 6),
    ]
    if days:
        marks.append(_draw_text(str(days[0]), _LEFT, HEIGHT - 6, "start"))
    if len(days) > 1:
        marks.append(_draw_text(str(days[-1]), right, HEIGHT - 6, "end"))
    return marks


def _build_threshold(limit: Threshold | None, top: float) -> list[svg.Element]:
    if limit is None:
        return []
    y, right = round(HEIGHT - _BOTTOM - limit.value / top * (HEIGHT - _TOP - _BOTTOM), 2), WIDTH - _RIGHT
    return [_draw_line("limit", _LEFT, y, right, y, dashes=(5, 3)), _draw_text(limit.name, right, y - 4, "end")]


def _render_swatch(name: str, place: int) -> Markup:
    """Return the pattern of a series for the legend; the name of the series stands beside it."""
    box = svg.Rect(x=0.5, y=0.5, width=15, height=11, **_style_bar(name, place))
    return _render_decoration(16, 12, "swatch", [_build_patterns(name, [place]), box])


def _style_bar(name: str, place: int) -> dict[str, Any]:
    pattern = place % _PATTERN_COUNT
    return {"class_": ["bar", f"bar{pattern}"], "fill": f"url(#{name}-{pattern})" if pattern else "currentColor"}


def _build_patterns(name: str, places: Iterable[int]) -> svg.Element:
    """Return the patterns of the series at these places; the first series is full and needs none."""
    drawn: list[svg.Element] = [
        svg.Path(d="M-1 1l2-2M0 6l6-6M5 7l2-2", class_=["ink"]),  # type: ignore[arg-type]  # written shorter
        svg.Circle(cx=3, cy=3, r=1.5, class_=["dot"]),
        svg.Path(d="M0 0l6 6M6 0l-6 6", class_=["ink"]),  # type: ignore[arg-type]
        svg.Path(d="M0 3h6", class_=["ink"]),  # type: ignore[arg-type]
        svg.Path(d="M3 0v6", class_=["ink"]),  # type: ignore[arg-type]
    ]
    ground = svg.Rect(x=0, y=0, width=6, height=6, class_=["ground"])
    return svg.Defs(
        elements=[
            svg.Pattern(
                id=f"{name}-{place}",
                width=6,
                height=6,
                patternUnits="userSpaceOnUse",
                class_=[f"bar{place}"],
                elements=[ground, drawn[place - 1]],
            )
            for place in sorted({place % _PATTERN_COUNT for place in places} - {0})
        ]
    )


def _escape_text(text: str) -> str:
    """Escape a text for XML, and drop what XML cannot hold."""
    return str(escape("".join(char for char in text if char >= " " or char in "\t\n")))
