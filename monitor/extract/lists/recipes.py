"""Learns what marks the rows of a chosen list, and finds them by it on a later page."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from difflib import SequenceMatcher
from typing import TypeVar

from monitor.extract.html import Element, Outline, collapse_whitespace
from monitor.extract.lists.columns import list_headings
from monitor.extract.lists.features import RowGroup
from monitor.extract.lists.grouping import get_url_shape, normalize_class
from monitor.extract.lists.rows import ListRow
from monitor.recipe import MIN_RECIPE_FIT, ListRecipe
from monitor.urls import url_key

_WEIGHTS = {"classes": 0.33, "tags": 0.2, "urls": 0.25, "links": 0.1, "columns": 0.05, "heading": 0.07}
_MAX_STEP_CHARS = 200
_MAX_STEPS = 60
_MAX_HEADING_CHARS = 60
_Value = TypeVar("_Value", bound=Hashable)
_MAX_STRANGER_LOSS = 0.33  # of the score of a group none of whose other rows is like the example
_MAX_ALIKE_PART = 0.1  # what rows add that stand where the recipe says, or have its shape of urls
_MAX_SCORE_PART = 0.05  # what the page's own opinion adds where two groups fit alike


def learn_recipe(page: Outline, rows: Sequence[ListRow]) -> ListRecipe:
    """Return the recipe of a list: what most of its rows share, what stands above it, its columns' names."""
    return ListRecipe(
        steps=_find_common(_list_steps(row.anchor.element) for row in rows),
        link_steps=_find_common(_list_link_steps(row) for row in rows),
        url_shape=_find_common(_describe_url(row.url) for row in rows),
        heading=_find_heading(page, rows[0]),
        columns=tuple(list_headings(page, rows[0].element)),
    )


def measure_fit(page: Outline, recipe: ListRecipe, rows: Sequence[ListRow]) -> float:
    """Return how well a recipe fits rows, from 0 to 1."""
    steps = _find_common(_list_steps(row.anchor.element) for row in rows)
    here = _find_common(_describe_url(row.url) for row in rows).split(" ")
    there = recipe.url_shape.split(" ")
    parts = {
        "classes": _compare(steps, recipe.steps),
        "tags": _compare(_list_tags(steps), _list_tags(recipe.steps)),
        "urls": sum(mine == theirs for mine, theirs in zip(here, there, strict=False)) / max(len(here), len(there)),
        "links": _compare(
            _list_tags(_find_common(_list_link_steps(row) for row in rows)), _list_tags(recipe.link_steps)
        ),
        "columns": float(tuple(list_headings(page, rows[0].element)) == recipe.columns),
        "heading": float(_find_heading(page, rows[0]) == recipe.heading),
    }
    return sum(_WEIGHTS[name] * value for name, value in parts.items())


def choose_by_recipe(page: Outline, recipe: ListRecipe, groups: Sequence[RowGroup]) -> tuple[RowGroup | None, float]:
    """Return the group that a recipe fits best, None where it fits none, and how well it does."""
    fits = [(measure_fit(page, recipe, group.rows), group) for group in groups]
    if not fits:
        return None, 0.0

    def rate(found: tuple[float, RowGroup]) -> float:
        alike = sum(
            _list_steps(row.anchor.element) == recipe.steps or _describe_url(row.url) == recipe.url_shape
            for row in found[1].rows
        )
        return found[0] + _MAX_SCORE_PART * found[1].score + _MAX_ALIKE_PART * alike / len(found[1].rows)

    fit, group = max(fits, key=rate)
    return (group if fit >= MIN_RECIPE_FIT else None), fit


def choose_by_examples(examples: Iterable[str], groups: Sequence[RowGroup]) -> RowGroup | None:
    """Return the likeliest of the groups with the most of the example urls; None where no group has one.

    A group whose rows are mostly unlike an example, in their way and their url, is only taken where there is no other.
    """
    wanted = {url_key(url) for url in examples}
    held = [(len(wanted & {url_key(row.url) for row in group.rows}), group) for group in groups]
    most = max((count for count, _ in held), default=0)
    if not most:
        return None
    return max((group for count, group in held if count == most), key=lambda group: _rate_example_group(group, wanted))


def _rate_example_group(group: RowGroup, wanted: Collection[str]) -> tuple[bool, float]:
    """Return whether the examples are like most rows, and the group's score, less where few rows are like the first."""
    paths = [_list_steps(row.anchor.element) for row in group.rows]
    shapes = [_describe_url(row.url) for row in group.rows]
    path, shape = _find_common(paths), _find_common(shapes)
    mine = [place for place, row in enumerate(group.rows) if url_key(row.url) in wanted]
    is_alike = all(paths[place] == path or shapes[place] == shape for place in mine)
    alike = paths.count(paths[mine[0]]) + shapes.count(shapes[mine[0]])
    share = alike / (2 * len(group.rows))
    return is_alike, group.score * (1 - _MAX_STRANGER_LOSS * (1 - share))


def _find_common(values: Iterable[_Value]) -> _Value:
    return Counter(values).most_common(1)[0][0]


def _list_steps(element: Element) -> tuple[str, ...]:
    """Return the way from below the page's body to an element: tags with their classes."""
    steps = [_describe(node) for node in element.iter_ancestors() if node.tag not in ("html", "body")]
    return tuple(steps[::-1][-_MAX_STEPS:]) or ("a",)


def _list_link_steps(row: ListRow) -> tuple[str, ...]:
    inside = (node for node in row.anchor.element.iter_ancestors() if row.element.contains(node))
    return tuple([_describe(node) for node in inside][::-1][-_MAX_STEPS:])


def _describe(element: Element) -> str:
    return f"{element.tag}.{normalize_class(element.css_class)}"[:_MAX_STEP_CHARS]


def _list_tags(steps: Sequence[str]) -> tuple[str, ...]:
    return tuple([step.partition(".")[0] for step in steps])


def _compare(mine: Sequence[str], theirs: Sequence[str]) -> float:
    return SequenceMatcher(None, mine, theirs, autojunk=False).ratio() if mine or theirs else 1.0


def _describe_url(url: str) -> str:
    """Return host, folders, extension and query fields of an url with a space between each two."""
    host, directories, extension, fields = get_url_shape(url)
    return " ".join([host, "/".join(directories), extension, "&".join(fields)])


def _find_heading(page: Outline, row: ListRow) -> str:
    above = page.texts[max(0, row.text_start - 3) : row.text_start]
    texts = (collapse_whitespace(text) for text in reversed(above))
    return next((text for text in texts if 2 <= len(text) <= _MAX_HEADING_CHARS), "")
