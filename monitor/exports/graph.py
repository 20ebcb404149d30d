"""A small graph as SVG: boxes with names on an oval, lines between them, words on the lines.

It is readable on light and dark ground and without colour: all is drawn in the colour of the text around it. There are
presentation attributes only, for our pages allow no styles; nothing in it has an id, so that several stand on one page.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from monitor.exports.document import measure_text_width, normalize_line

MAX_NODES = 12
_MAX_LINE_LETTERS, _MAX_LABEL_LINES = 18, 3
_LETTER_WIDTH, _LINE_HEIGHT, _FONT_SIZE = 7.4, 19, 14
_SMALL_FONT_SIZE, _SMALL_LETTER_WIDTH = 12, 6.4
_PADDING, _MIN_BOX_GAPS, _MARGIN = 10, (92, 40), 14
_MAX_EDGE_LABEL_LETTERS = 24
_BEND, _BEND_BACK = 0.24, 0.5
_PATH_STEPS = 96
_LABEL_POSITIONS = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)
_NOT_AT_LINE_START = "，。、；：！？）》」』”’,.;:!?)"


@dataclass(frozen=True)
class GraphNode:
    """A box; `detail` is the tooltip, which screen readers read too."""

    name: str
    detail: str = ""


@dataclass(frozen=True)
class GraphEdge:
    """A line from one box to another, by their names; an arrow where it is directed."""

    start: str
    end: str
    label: str = ""
    is_directed: bool = True


@dataclass(frozen=True)
class Box:
    x: float
    y: float
    width: float
    height: float

    def contains(self, point: tuple[float, float], margin: float = 0) -> bool:
        return abs(point[0] - self.x) <= self.width / 2 + margin and abs(point[1] - self.y) <= self.height / 2 + margin

    def overlaps(self, other: "Box", margin_x: float = 0, margin_y: float = 0) -> bool:
        return (
            abs(self.x - other.x) < (self.width + other.width) / 2 + margin_x
            and abs(self.y - other.y) < (self.height + other.height) / 2 + margin_y
        )


def render_graph(nodes: Sequence[GraphNode], edges: Sequence[GraphEdge], *, title: str) -> str:
    """Return the graph of the first twelve nodes as SVG, without the edges of others.

    The same graph always gives the same drawing. No two boxes overlap, and no word lies on a box.
    """
    shown = list(nodes)[:MAX_NODES]
    names = [wrap_label(node.name) for node in shown]
    boxes = layout_boxes(names)
    place_of = {node.name: place for place, node in enumerate(shown)}
    lines = [edge for edge in edges if edge.start in place_of and edge.end in place_of and edge.start != edge.end]
    paths = [
        _compute_path(*(boxes[place_of[name]] for name in (edge.start, edge.end)), bend=_get_bend(edge, lines))
        for edge in lines
    ]
    words = _place_labels(lines, paths, boxes)
    drawn = [_render_edge(edge, path, words) for edge, path in zip(lines, paths, strict=True)]
    drawn += [_render_node(node, label, box) for node, label, box in zip(shown, names, boxes, strict=True)]
    taken = [*boxes, *words.values()]
    left = min((box.x - box.width / 2 for box in taken), default=0) - _MARGIN
    top = min((box.y - box.height / 2 for box in taken), default=0) - _MARGIN
    right = max((box.x + box.width / 2 for box in taken), default=0) + _MARGIN
    bottom = max((box.y + box.height / 2 for box in taken), default=0) + _MARGIN
    width, height = _round(right - left), _round(bottom - top)
    edges_text = _escape_text("; ".join(_describe_edge(edge) for edge in lines))
    described = f"<title>{_escape_text(title)}</title>" + (f"<desc>{edges_text}</desc>" if edges_text else "")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{_round(left)} {_round(top)} {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="{_escape_text(title)}" '
        f'font-family="sans-serif">{described}{"".join(drawn)}</svg>'
    )


def wrap_label(name: str) -> list[str]:
    """Return up to three lines of eighteen Latin or nine Chinese letters; a longer name ends in an ellipsis."""
    lines = [""]
    for piece in _split_unbreakable(normalize_line(name)):
        if (
            measure_text_width(lines[-1] + piece.rstrip()) > _MAX_LINE_LETTERS
            and lines[-1]
            and piece not in _NOT_AT_LINE_START
        ):
            lines.append("")
        lines[-1] += piece if lines[-1] else piece.lstrip()
    lines = [line.strip() for line in lines if line.strip()] or ["–"]
    if len(lines) > _MAX_LABEL_LINES:
        lines = [*lines[: _MAX_LABEL_LINES - 1], f"{lines[_MAX_LABEL_LINES - 1][:-1]}…"]
    return lines


def layout_boxes(names: Sequence[Sequence[str]]) -> list[Box]:
    """Return the boxes on the smallest oval that keeps them apart."""
    sizes = [
        (
            max(measure_text_width(line) for line in lines) * _LETTER_WIDTH + 2 * _PADDING,
            len(lines) * _LINE_HEIGHT + 2 * _PADDING,
        )
        for lines in names
    ]
    if len(sizes) == 1:
        return [Box(0, 0, *sizes[0])]
    start = -math.pi / 2 if len(sizes) == 2 else 0.0  # the first on top; two side by side
    turns = [start + 2 * math.pi * place / len(sizes) for place in range(len(sizes))]
    radius = 90.0 if len(sizes) > 2 else 70.0
    while True:
        boxes = [
            Box(_round(1.35 * radius * math.sin(turn)), _round(-radius * math.cos(turn)), *size)
            for size, turn in zip(sizes, turns, strict=True)
        ]
        if not any(
            box.overlaps(other, *_MIN_BOX_GAPS) for place, box in enumerate(boxes) for other in boxes[place + 1 :]
        ):
            return boxes
        radius += 6


def _split_unbreakable(text: str) -> Iterator[str]:
    """Yield what stays on one line: a word with the space after it, or a Chinese character; long words are cut."""
    word = ""
    for letter in text:
        if measure_text_width(letter) == 2:
            if word:
                yield word
            yield letter
            word = ""
        else:
            word += letter
            if letter == " " or len(word) >= _MAX_LINE_LETTERS:
                yield word
                word = ""
    if word:
        yield word


def _compute_path(start: Box, end: Box, *, bend: float) -> list[tuple[float, float]]:
    """Return the points of a line between the edges of two boxes, bent towards the middle of the picture."""
    control = ((start.x + end.x) / 2 * (1 - bend), (start.y + end.y) / 2 * (1 - bend))
    if abs(control[0]) + abs(control[1]) < 1:  # straight through the middle, and both ways the same
        control = ((end.y - start.y) * (bend - _BEND), (start.x - end.x) * (bend - _BEND))
    points = []
    for step in range(_PATH_STEPS + 1):
        t = step / _PATH_STEPS
        x, y = (
            (1 - t) ** 2 * a + 2 * t * (1 - t) * b + t**2 * c
            for a, b, c in ((start.x, control[0], end.x), (start.y, control[1], end.y))
        )
        if not start.contains((x, y), 2) and not end.contains((x, y), 5):
            points.append((x, y))
    return points


def _get_bend(edge: GraphEdge, lines: Sequence[GraphEdge]) -> float:
    """Return how far a line bends; of two in opposite directions, one bends more."""
    leads_back = edge.start > edge.end and any((line.start, line.end) == (edge.end, edge.start) for line in lines)
    return _BEND_BACK if leads_back else _BEND


def _place_labels(
    lines: Sequence[GraphEdge], paths: Sequence[Sequence[tuple[float, float]]], boxes: Sequence[Box]
) -> dict[GraphEdge, Box]:
    """Return the places of labels that overlap nothing; a label without such a place is left to the description."""
    words: dict[GraphEdge, Box] = {}
    tips = [Box(*path[-1], 12, 12) for path in paths if path]
    for edge, path in zip(lines, paths, strict=True):
        width, height = measure_text_width(_shorten_label(edge.label)) * _SMALL_LETTER_WIDTH + 4, _SMALL_FONT_SIZE + 4
        for share in _LABEL_POSITIONS if edge.label and path else ():
            box = Box(*_find_point_at(path, share), width, height)
            if not any(box.overlaps(other, 2, 2) for other in (*boxes, *tips, *words.values())):
                words[edge] = box
                break
    return words


def _render_edge(edge: GraphEdge, path: Sequence[tuple[float, float]], words: Mapping[GraphEdge, Box]) -> str:
    """Draw a line and its label; the line leaves room for every label, also those of other lines."""
    runs: list[list[tuple[float, float]]] = [[]]
    for point in path:
        if any(box.contains(point, 2) for box in words.values()):
            runs.append([])
        else:
            runs[-1].append(point)
    drawn = [
        f'<path d="{_format_path_data(run)}" fill="none" stroke="currentColor" stroke-width="1.4"/>'
        for run in runs
        if len(run) > 1
    ]
    if edge.is_directed and len(path) > 1:
        drawn.append(_render_arrow(path[-2], path[-1]))
    if edge in words:
        x, y = _round(words[edge].x), _round(words[edge].y + _SMALL_FONT_SIZE * 0.35)
        drawn.append(
            f'<text x="{x}" y="{y}" font-size="{_SMALL_FONT_SIZE}" '
            f'text-anchor="middle" fill="currentColor">{_escape_text(_shorten_label(edge.label))}</text>'
        )
    return f"<g><title>{_escape_text(_describe_edge(edge))}</title>{''.join(drawn)}</g>"


def _find_point_at(path: Sequence[tuple[float, float]], share: float) -> tuple[float, float]:
    """Return the point at this share of the line's length."""
    left = share * sum(math.dist(start, end) for start, end in pairwise(path))
    for start, end in pairwise(path):
        left -= math.dist(start, end)
        if left <= 0:
            return end
    return path[-1]


def _render_arrow(before: tuple[float, float], tip: tuple[float, float]) -> str:
    turn = math.atan2(tip[1] - before[1], tip[0] - before[0])
    corners = [(tip[0] - 9 * math.cos(turn + side), tip[1] - 9 * math.sin(turn + side)) for side in (0.42, -0.42)]
    points = " ".join(f"{_round(x)},{_round(y)}" for x, y in (tip, *corners))
    return f'<polygon points="{points}" fill="currentColor"/>'


def _render_node(node: GraphNode, lines: Sequence[str], box: Box) -> str:
    left, top = box.x - box.width / 2, box.y - box.height / 2
    first = top + _PADDING + _LINE_HEIGHT / 2 + _FONT_SIZE * 0.35
    rows = "".join(
        f'<tspan x="{_round(box.x)}" y="{_round(first + place * _LINE_HEIGHT)}">{_escape_text(line)}</tspan>'
        for place, line in enumerate(lines)
    )
    detail = f"{node.name}: {node.detail}" if node.detail else node.name
    return (
        f"<g><title>{_escape_text(detail)}</title>"
        f'<rect x="{_round(left)}" y="{_round(top)}" width="{_round(box.width)}" '
        f'height="{_round(box.height)}" rx="6" fill="currentColor" fill-opacity="0.06" stroke="currentColor" '
        f'stroke-width="1.2"/><text font-size="{_FONT_SIZE}" text-anchor="middle" fill="currentColor">{rows}</text></g>'
    )


def _describe_edge(edge: GraphEdge) -> str:
    arrow = "→" if edge.is_directed else "–"
    return f"{edge.start} {arrow} {edge.end}" + (f" ({edge.label})" if edge.label else "")


def _shorten_label(label: str) -> str:
    line = normalize_line(label)
    return line if measure_text_width(line) <= _MAX_EDGE_LABEL_LETTERS else f"{line[: _MAX_EDGE_LABEL_LETTERS // 2]}…"


def _format_path_data(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{_round(x)} {_round(y)}" for x, y in points)


def _escape_text(text: str) -> str:
    return escape(normalize_line(text))


def _round(value: float) -> float:
    return round(value, 1) + 0.0  # never -0.0
