"""Charts as inline SVG, made here: readable without colour, in light and dark, and each with its figures as a table.

Only classes and presentation attributes are used, for our policy allows no styles in a page. Everything that is told
is a text of ours or of a person: it is escaped here, because the library does not.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import svg
from markupsafe import Markup, escape

WIDTH = 400
HEIGHT = 168
_LEFT, _RIGHT, _TOP, _BOTTOM = 4, 4, 20, 20
_PATTERN_COUNT = 6
"""So many series can be distinguished: full, stripes, dots, cross stripes, rows, an outline."""

_STRIP_DAYS = 90
_STRIP_AHEAD_DAYS = 14
_STRIP_DAY_WIDTH = 4
_STRIP_HEIGHT = 26


@dataclass(frozen=True)
class Series:
    """What one pattern stands for: a name, and a figure for each day."""

    name: str
    values: Sequence[float]


@dataclass(frozen=True)
class Threshold:
    """A line across the chart that has a name."""

    name: str
    value: float


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A picture with its name, what its patterns stand for, and the same figures as rows."""

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
    """Bars by day, the series on top of each other; `name` sets the chart's patterns apart from those of others.

    `summary` is what the chart says in a sentence, `shown` writes a figure. Days without anything have no row.
    """
    totals = [sum(line.values[number] for line in series) for number in range(len(days))]
    top = max([*totals, threshold.value if threshold else 0.0]) or 1.0
    marks = [bar for place in range(len(series)) for bar in _build_bars(place, name, days, series, top, format_value)]
    picture = _render_chart(
        title,
        summary,
        [
            _build_patterns(name, range(len(series))),
            *marks,
            *_build_axes(days, format_value(top)),
            *_build_threshold(threshold, top),
        ],
    )
    rows = [
        [str(day), *(format_value(line.values[number]) for line in series)]
        for number, day in reversed(list(enumerate(days)))
        if totals[number]
    ]
    legend = (
        [(line.name, _render_swatch(f"{name}-key", place)) for place, line in enumerate(series)]
        if len(series) > 1
        else []
    )
    return Chart(
        title=title, picture=picture, legend=legend, head=[day_label, *(line.name for line in series)], rows=rows
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
    """The days of the last three months on which something new came, now, and where silence would begin.

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
    marks: list[svg.Element] = [
        svg.Line(x1=begin, y1=base, x2=width, y2=base, class_=["axis"]),
        svg.Path(d=strokes or "M0 0", class_=["stroke"]),  # type: ignore[arg-type]  # written shorter than by its parts
        svg.Line(
            x1=x(today) + 2,
            y1=0,
            x2=x(today) + 2,
            y2=_STRIP_HEIGHT,
            class_=["now"],
            elements=[svg.Title(text=_escape_text(labels.now))],
        ),
    ]
    if silent_on is not None and silent_on <= today + dt.timedelta(days=_STRIP_AHEAD_DAYS - 1):
        place = max(0.0, x(silent_on))
        if silent_on <= today:
            marks.insert(0, svg.Rect(x=place, y=4, width=x(today) - place, height=base - 4, class_=["silence"]))
        marks.append(
            svg.Line(
                x1=place,
                y1=2,
                x2=place,
                y2=_STRIP_HEIGHT,
                class_=["silent"],
                stroke_dasharray=[3, 2],
                elements=[svg.Title(text=_escape_text(labels.silent))],
            )
        )
    return _render_svg(width, _STRIP_HEIGHT, labels.title, labels.summary, marks, "strip")


def render_sparkline(values: Sequence[float], *, title: str, summary: str) -> Markup:
    """A line as wide as a few words, the last value marked."""
    top = max(values, default=0.0) or 1.0
    step = 96 / max(1, len(values) - 1)
    points = [
        (_round_coordinate(2 + number * step), _round_coordinate(22 - value / top * 18))
        for number, value in enumerate(values)
    ]
    if not points:
        return _render_svg(100, 24, title, summary, [], "spark")
    line = " ".join(f"{x},{y}" for x, y in points)
    marks: list[svg.Element] = [
        svg.Polyline(points=line, class_=["line"], fill="none"),  # type: ignore[arg-type]  # as text
        svg.Circle(cx=points[-1][0], cy=points[-1][1], r=2.5, class_=["last"]),
    ]
    return _render_svg(100, 24, title, summary, marks, "spark")


def render_share_bar(value: float, total: float) -> Markup:
    """A bar that is filled as far as the value is part of the whole; the figure stands beside it as text."""
    width = _round_coordinate(100 * max(0.0, min(1.0, value / total))) if total else 0
    drawn = svg.SVG(
        viewBox=svg.ViewBoxSpec(0, 0, 100, 8),
        class_=["share"],
        extra={"aria-hidden": "true"},
        elements=[
            svg.Rect(x=0, y=0, width=100, height=8, class_=["ground"]),
            svg.Rect(x=0, y=0, width=width, height=8, class_=["bar"]),
        ],
    )
    return Markup(drawn.as_str())  # noqa: S704 -- there is no text in it


def _build_bars(
    place: int, name: str, days: Sequence[dt.date], series: Sequence[Series], top: float, shown: Callable[[float], str]
) -> list[svg.Element]:
    """The bars of one series, each on top of those of the series before it."""
    step, full = (WIDTH - _LEFT - _RIGHT) / max(1, len(days)), HEIGHT - _TOP - _BOTTOM
    marks: list[svg.Element] = []
    for number, day in enumerate(days):
        value, below = series[place].values[number], sum(line.values[number] for line in series[:place])
        if value > 0:
            title = svg.Title(text=_escape_text(f"{day} · {series[place].name}: {shown(value)}"))
            bar = svg.Rect(
                x=_round_coordinate(_LEFT + (number + 0.1) * step),
                y=_round_coordinate(_TOP + full * (1 - (below + value) / top)),
                width=_round_coordinate(step * 0.8),
                height=_round_coordinate(full * value / top),
                class_=_get_bar_classes(place),
                fill=_get_fill(name, place),
                elements=[title],
            )
            marks.append(bar)
    return marks


def _render_chart(title: str, summary: str, marks: Sequence[svg.Element]) -> Markup:
    return _render_svg(WIDTH, HEIGHT, title, summary, marks, "chart")


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


def _build_axes(days: Sequence[dt.date], top: str) -> list[svg.Element]:
    base = HEIGHT - _BOTTOM
    marks: list[svg.Element] = [
        svg.Line(x1=_LEFT, y1=base, x2=WIDTH - _RIGHT, y2=base, class_=["axis"]),
        svg.Line(x1=_LEFT, y1=_TOP, x2=WIDTH - _RIGHT, y2=_TOP, class_=["grid"]),
        svg.Text(x=_LEFT, y=_TOP - 6, class_=["tick"], text=_escape_text(top)),
    ]
    ends = [(0, _LEFT, "start"), (len(days) - 1, WIDTH - _RIGHT, "end")] if len(days) > 1 else [(0, _LEFT, "start")]
    for number, x, anchor in ends if days else []:
        marks.append(
            svg.Text(
                x=x,
                y=HEIGHT - 6,
                class_=["tick"],
                text_anchor=anchor,  # type: ignore[arg-type]  # one of its words
                text=_escape_text(str(days[number])),
            )
        )
    return marks


def _build_threshold(limit: Threshold | None, top: float) -> list[svg.Element]:
    if limit is None:
        return []
    y = _round_coordinate(HEIGHT - _BOTTOM - limit.value / top * (HEIGHT - _TOP - _BOTTOM))
    return [
        svg.Line(x1=_LEFT, y1=y, x2=WIDTH - _RIGHT, y2=y, class_=["limit"], stroke_dasharray=[5, 3]),
        svg.Text(x=WIDTH - _RIGHT, y=y - 4, class_=["tick"], text_anchor="end", text=_escape_text(limit.name)),
    ]


def _render_swatch(name: str, place: int) -> Markup:
    """The pattern of a series, as its key shows it; the name of the series stands beside it."""
    box = svg.Rect(x=0.5, y=0.5, width=15, height=11, class_=_get_bar_classes(place), fill=_get_fill(name, place))
    drawn = svg.SVG(
        viewBox=svg.ViewBoxSpec(0, 0, 16, 12),
        class_=["swatch"],
        elements=[_build_patterns(name, [place]), box],
        extra={"aria-hidden": "true"},
    )
    return Markup(drawn.as_str())  # noqa: S704 -- there is no text in it


def _get_bar_classes(place: int) -> list[str]:
    return ["bar", f"bar{place % _PATTERN_COUNT}"]


def _get_fill(name: str, place: int) -> str:
    return f"url(#{name}-{place % _PATTERN_COUNT})" if place % _PATTERN_COUNT else "currentColor"


def _build_patterns(name: str, places: Iterable[int]) -> svg.Element:
    """What the series at these places are drawn with; the first one is full and needs none."""
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
    """The text as it may stand in XML: escaped, without what XML cannot hold."""
    return str(escape("".join(char for char in text if char >= " " or char in "\t\n")))


def _round_coordinate(value: float) -> float:
    return round(value, 2)
