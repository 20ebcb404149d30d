"""The columns of a list: what stands at the same place in each of its rows, and what marks each column."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice, takewhile
from statistics import median

from monitor.dates import has_day
from monitor.extract.html import Element, Outline, collapse_whitespace, measure_text_weight
from monitor.extract.lists.rows import ListRow, list_steps

_HEADING_TAGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "dt", "caption"})
_CELL_TAGS = frozenset({"td", "th"})
_MAX_CHARS = 500  # of a cell: what is longer is no title
_MAX_ROW_TEXTS = 200
_MAX_COLUMNS = 40
_MAX_SAMPLED_ROWS = 60
_MAX_DATE_CHARS, _MAX_WIDTH = 40, 200
_MAX_HEAD_ELEMENTS, _MAX_NAME_CHARS = 80, 200
_HAS_WORD = re.compile(r"[^\W\d_]{3}|[\u3040-\ud7a3]{2}")
_TITLE_NAMES = re.compile(
    r"title|subject|name|topic|document|case|标题|題|名称|名稱|主题|事项|文件|件名|titre|objet|t[íi]tulo|asunto|nombre|titel|"
    r"titolo|oggetto|назван|наимен|тема|nazwa|tytuł|العنوان|제목",
    re.IGNORECASE,
)

_TRAITS = (
    *("is_main_link", "is_other_link", "in_main_link", "holds_main_link", "is_heading", "in_heading", "is_cell"),
    *("is_strong", "is_paragraph", "is_attribute"),
)


@dataclass(slots=True, eq=False)
class ListColumn:
    """One place in the rows of a list: its text in each row, "" where a row has none; `name` is a table's heading."""

    key: tuple[str, ...]
    texts: list[str]
    name: str = ""
    traits: frozenset[str] = field(default_factory=frozenset)
    order: float = 0.0


def list_columns(page: Outline, rows: Sequence[ListRow]) -> list[ListColumn]:
    """Return what stands at the same place of the rows: links, headings, cells, other texts, and names of links."""
    found: dict[tuple[str, ...], ListColumn] = {}
    for place, row in enumerate(rows):
        counts: dict[tuple[str, ...], int] = defaultdict(int)
        for order, (element, path) in enumerate(_list_cells(page, row)):
            counts[path] += 1
            key = (*path, str(counts[path]))
            column = found.get(key)
            if column is None:
                if len(found) == _MAX_COLUMNS:
                    continue
                column = found[key] = ListColumn(
                    key, [""] * len(rows), _find_name(page, element), _find_traits(row, element), float(order)
                )
            column.texts[place] = _cut(page.get_text(element, _MAX_CHARS))
    columns = list(found.values())
    for attribute in ("title", "aria-label"):
        texts = [_cut(row.anchor.element.attributes.get(attribute) or "") for row in rows]
        if any(texts):
            columns.append(ListColumn((attribute,), texts, traits=frozenset({"is_attribute"}), order=len(columns)))
    return columns


def measure_columns(rows: Sequence[ListRow], columns: Sequence[ListColumn]) -> list[dict[str, float]]:
    """Return the features of each column by name, from so many rows that more would say no more."""
    step = max(1, len(rows) // _MAX_SAMPLED_ROWS)
    sampled = range(0, len(rows), step)
    measure_width, shows_day = cache(measure_text_weight), cache(has_day)  # a cell has the text of the link in it
    widths = [[measure_width(column.texts[place]) for place in sampled] for column in columns]
    widest = [max((line[number] for line in widths), default=0) for number in range(len(sampled))]
    links = [rows[place].anchor.text for place in sampled]
    measured = []
    for column, line in zip(columns, widths, strict=True):
        texts = [column.texts[place] for place in sampled]
        days = list(map(shows_day, texts))
        counts = {
            "distinct": len({text for text in texts if text}),
            "width": sum(min(_MAX_WIDTH, width) for width in line),
            "widest": sum(width > 0 and width >= most for width, most in zip(line, widest, strict=True)),
            "dated": sum(days),
            "only_date": sum(has and len(text) <= _MAX_DATE_CHARS for has, text in zip(days, texts, strict=True)),
            "worded": sum(_HAS_WORD.search(text) is not None for text in texts),
            "digits": sum(any(map(str.isdigit, text[:80])) for text in texts),
            "same_as_link": sum(bool(text) and text == link for text, link in zip(texts, links, strict=True)),
        }
        filled = sum(map(bool, texts))
        is_titled = _TITLE_NAMES.search(column.name) is not None
        measured.append(
            {
                **{name: count / max(1, filled) for name, count in counts.items()},
                **{trait: float(trait in column.traits) for trait in _TRAITS},
                "filled": filled / len(texts),
                "median_width": float(median(line)),
                "row_share": sum(line) / max(1, sum(widest)),
                "order": column.order,
                "order_share": column.order / max(1, len(columns)),
                "columns": float(len(columns)),
                "named_title": float(is_titled),
                "named_otherwise": float(bool(column.name) and not is_titled),
                "rows": float(min(50, len(rows))),
            }
        )
    return measured


def _list_cells(page: Outline, row: ListRow) -> list[tuple[Element, tuple[str, ...]]]:
    """Return the elements of a row that may be a cell, with their path in it: those that people see as one text."""
    cells: dict[int, Element] = {}
    for index in range(row.text_start, min(row.text_end, row.text_start + _MAX_ROW_TEXTS)):
        owner = page.elements[page.text_owner[index]]
        cells.setdefault(owner.index, owner)
        for node in takewhile(row.element.contains, owner.iter_ancestors()):
            if node.tag in ("a", "area") or node.tag in _HEADING_TAGS or node.tag in _CELL_TAGS:
                cells.setdefault(node.index, node)
    return [(cells[index], list_steps(cells[index], row.element)) for index in sorted(cells)]


def _find_traits(row: ListRow, element: Element) -> frozenset[str]:
    """Return which of `_TRAITS` hold for an element because of what it is and where it stands."""
    link = row.anchor.element
    above = list(islice(element.iter_ancestors(), 6))
    inside = [node for node in above[1:] if row.element.contains(node)]
    is_link = element.tag in ("a", "area")
    holds = element is not link and element.contains(link)
    traits = {
        "is_main_link": element is link,
        "is_other_link": is_link and element is not link,
        "in_main_link": element is not link and link.contains(element),
        "holds_main_link": holds,
        "is_heading": element.tag in _HEADING_TAGS,
        "in_heading": any(node.tag in _HEADING_TAGS for node in inside),
        "is_cell": element.tag in _CELL_TAGS,
        "is_strong": any(node.tag in ("b", "strong", "em") for node in [element, *inside[:2]]),
        "is_paragraph": element.tag == "p",
    }
    return frozenset(name for name, holds_here in traits.items() if holds_here)


def _find_name(page: Outline, element: Element) -> str:
    """Return the heading of the table's column in which an element stands, or the text of `data-label`."""
    cell = element.closest(_CELL_TAGS)
    if cell is None:
        return ""
    if label := cell.attributes.get("data-label") or cell.attributes.get("data-th"):
        return _cut(label)
    names = list_headings(page, cell)
    return names[cell.position - 1] if cell.position <= len(names) else ""


def list_headings(page: Outline, inside: Element) -> list[str]:
    """Return the names of the columns of the table in which an element stands."""
    table = inside.closest(("table",))
    if table is None:
        return []
    head = islice(page.elements, table.index + 1, min(table.end, table.index + 1 + _MAX_HEAD_ELEMENTS))
    first: Element | None = None
    names = []
    for node in head:
        if node.tag == "th" and node.parent is not None and (first is None or node.parent is first):
            first = node.parent
            names.append(_cut(page.get_text(node, _MAX_CHARS))[:_MAX_NAME_CHARS])
    return names if len(names) > 1 else []


def _cut(text: str) -> str:
    return collapse_whitespace(text[:_MAX_CHARS])
