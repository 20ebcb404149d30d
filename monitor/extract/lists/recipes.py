"""Learns what marks the rows of a chosen list, and finds them by it on a later page."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from typing import TypeVar

from monitor.extract.html import Anchor, Element, Outline, collapse_whitespace
from monitor.extract.lists.choice import choose_further_lists, choose_whole, join_parts
from monitor.extract.lists.columns import list_headings
from monitor.extract.lists.features import RowGroup
from monitor.extract.lists.grouping import LinkPaths, get_url_shape, normalize_class
from monitor.extract.lists.rows import ListRow, build_single_row
from monitor.recipe import MIN_RECIPE_FIT, ListRecipe
from monitor.urls import url_key

_WEIGHTS = {"classes": 0.33, "tags": 0.22, "urls": 0.25, "links": 0.1, "columns": 0.05, "heading": 0.05}
_URL_WEIGHTS = (0.1, 0.6, 0.2, 0.1)  # host, folders, extension, query fields: most sites have one host and no query
_MIN_SHARED_URLS = 0.8
_ANY = "*"
_MAX_STEP_CHARS = 200
_MAX_STEPS = 60
_MAX_HEADING_CHARS = 60
_MAX_TEXTS_ABOVE = 6
_Value = TypeVar("_Value", bound=Hashable)
_MAX_COUNT_PART = 0.08
_MAX_MIXED_PART = 0.1  # what it adds that as many rows stand at one place as when it was learned
_MIN_PART_FIT = 0.955
"""Parts of one list hardly differ; a list with another heading is a part where the page's own opinion says so too."""

_MIN_LIKELY_PART_FIT = 0.9
_MIN_NAMED_PART_FIT = 0.7  # an entry of it was named
_MAX_SCORE_PART = 0.05  # what the page's own opinion adds where two groups fit alike


def learn_recipe(page: Outline, parts: Sequence[RowGroup]) -> ListRecipe:
    """Return the recipe of a list: what most of its rows share, what stands above all parts, its columns' names."""
    rows = [row for part in parts for row in part.rows]
    headings = {_find_heading(page, part.rows[0]) for part in parts}
    return ListRecipe(
        steps=_find_common(_list_steps(row.anchor.element) for row in rows),
        steps_share=_count_alike(rows) / len(rows),
        link_steps=_find_common(_list_link_steps(row) for row in rows),
        url_shape=_find_common_url([row.url for row in rows]),
        heading=headings.pop() if len(headings) == 1 else "",
        columns=tuple(list_headings(page, rows[0].element)),
    )


def measure_fit(page: Outline, recipe: ListRecipe, rows: Sequence[ListRow]) -> float:
    """Return how well a recipe fits rows, from 0 to 1."""
    steps = _find_common(_list_steps(row.anchor.element) for row in rows)
    link_steps = _find_common(_list_link_steps(row) for row in rows)
    parts = {
        "classes": _compare_words(_list_classes(steps), _list_classes(recipe.steps)),
        "tags": _compare(_list_tags(steps), _list_tags(recipe.steps)),
        "urls": _compare_urls([row.url for row in rows], recipe.url_shape),
        "links": _compare(_list_tags(link_steps), _list_tags(recipe.link_steps)),
        "columns": float(tuple(list_headings(page, rows[0].element)) == recipe.columns),
        "heading": float(not recipe.heading or recipe.heading in _list_texts_above(page, rows[0])),
    }
    return sum(_WEIGHTS[name] * value for name, value in parts.items())


def choose_by_recipe(page: Outline, recipe: ListRecipe, groups: Sequence[RowGroup]) -> tuple[list[RowGroup], float]:
    """Return the group that a recipe fits best with the list's other parts, none where it fits none, and how well.

    Of groups that it fits alike the one with the most rows on one way from the root is meant: a row that leads to
    another host or to a document is of the list too.
    """
    fits = [(measure_fit(page, recipe, group.rows), group) for group in groups]
    known = [(fit, group, _count_alike(group.rows)) for fit, group in fits if fit >= MIN_RECIPE_FIT]
    if not known:
        return [], max((fit for fit, _ in fits), default=0.0)
    most = max(alike for *_, alike in known)

    def rate(found: tuple[float, RowGroup, int]) -> float:
        fit, group, alike = found
        mixture = _MAX_MIXED_PART * (1 - abs(alike / len(group.rows) - recipe.steps_share))
        return fit + _MAX_SCORE_PART * group.score + _MAX_COUNT_PART * alike / most + mixture

    fit, group, _ = max(known, key=rate)
    return join_parts([group], [other for other_fit, other in fits if other_fit >= min(fit, _MIN_PART_FIT)]), fit


def find_single_row(page: Outline, recipe: ListRecipe) -> ListRow | None:
    """Return the row of the only link with the way and the url of a recipe's rows: without a date it is in no group.

    Of several such links in one record, as a page and its PDF, it is the one whose url is most like the rows'. It is
    not alone where another differs from it by classes only: then the rows of the list have other classes now.
    """
    tags = _list_tags(recipe.steps)
    links = {link.url: (_list_steps(link.element), link) for link in reversed(page.anchors)}
    alike = [
        (fit, steps == recipe.steps, -link.element.index, link)
        for steps, link in links.values()
        if _list_tags(steps) == tags and (fit := _compare_urls([link.url], recipe.url_shape)) >= _MIN_SHARED_URLS
    ]
    same = [found for found in alike if found[1]]
    if not same or (len(alike) > 1 and not is_one_record([link for *_, link in alike])):
        return None
    return build_single_row(page, max(same)[-1])


def is_one_record(links: Sequence[Anchor]) -> bool:
    """Whether links stand in one list item, or in one table row, each in another cell."""
    records = {link.element.closest(("li", "tr")) for link in links}
    if len(records) > 1 or None in records:
        return False
    cells = [cell for link in links if (cell := link.element.closest(("td", "th", "li"))) and cell.tag != "li"]
    return not cells or len({cell.index for cell in cells}) == len(links)


def _count_alike(rows: Sequence[ListRow]) -> int:
    """Return how many rows have the way from the root that most have."""
    return max(Counter(_list_steps(row.anchor.element) for row in rows).values())


def choose_by_examples(
    page: Outline, paths: LinkPaths, examples: Iterable[str], groups: Sequence[RowGroup]
) -> list[RowGroup]:
    """Return the likeliest of the groups with the most of the example urls, with the list's other parts.

    Parts are the group of an example that stands apart, where its rows are of the same kind, and groups that the
    recipe of these fits. A group whose rows are mostly unlike an example, two lists in one, is only taken where there
    is no other. Empty where no group has an example.
    """
    keys = {url_key(url) for url in examples}
    wanted = {anchor.url for anchor in page.anchors if url_key(anchor.url) in keys}

    def choose(held: Sequence[RowGroup], urls: set[str]) -> RowGroup:
        several = [group for group in held if len(group.rows) > 1] or held
        return choose_whole(page, paths, [group for group in several if _is_alike(paths, group, urls)] or several, urls)

    counts = [len(wanted & {row.url for row in group.rows}) for group in groups]
    most = max(counts, default=0)
    if not most:
        return []
    first = choose([group for group, count in zip(groups, counts, strict=True) if count == most], wanted)
    rest = wanted - {row.url for row in first.rows}
    recipe = learn_recipe(page, [first])
    fits = [(measure_fit(page, recipe, group.rows), group) for group in groups]
    likely = choose_further_lists(first, groups)
    parts = [group for fit, group in fits if fit >= _MIN_LIKELY_PART_FIT and group in likely]
    named = [group for fit, group in fits if fit >= _MIN_NAMED_PART_FIT and rest & {row.url for row in group.rows}]
    if named:
        parts.insert(0, choose(named, rest))
    chosen = join_parts([first], parts)
    recipe = learn_recipe(page, chosen)
    return join_parts(chosen, (group for group in groups if measure_fit(page, recipe, group.rows) >= _MIN_PART_FIT))


def _is_alike(paths: LinkPaths, group: RowGroup, urls: Collection[str]) -> bool:
    """Whether the examples have the path from the root that most rows have, or the shape of most urls."""
    classes = [paths.classes[row.anchor.element.index] for row in group.rows]
    shapes = [get_url_shape(row.url) for row in group.rows]
    path, shape = _find_common(classes), _find_common(shapes)
    examples = [place for place, row in enumerate(group.rows) if row.url in urls]
    return all(classes[place] == path or shapes[place] == shape for place in examples)


def _find_common(values: Iterable[_Value]) -> _Value:
    return Counter(values).most_common(1)[0][0]


def _list_steps(element: Element) -> tuple[str, ...]:
    """Return the way from below the page's body to an element: tags with their classes."""
    steps = [_describe(node) for node in element.iter_ancestors() if node.tag not in ("html", "body")]
    return tuple(steps[::-1][-_MAX_STEPS:]) or ("a",)


def _list_link_steps(row: ListRow) -> tuple[str, ...]:
    inside = takewhile(row.element.contains, row.anchor.element.iter_ancestors())
    return tuple([_describe(node) for node in inside][::-1][-_MAX_STEPS:])


def _describe(element: Element) -> str:
    return f"{element.tag}.{normalize_class(element.css_class)}"[:_MAX_STEP_CHARS]


def _list_tags(steps: Sequence[str]) -> tuple[str, ...]:
    return tuple([step.partition(".")[0] for step in steps])


def _compare(mine: Sequence[str], theirs: Sequence[str]) -> float:
    return SequenceMatcher(None, mine, theirs, autojunk=False).ratio() if mine or theirs else 1.0


def _list_classes(steps: Sequence[str]) -> set[str]:
    return {word for step in steps for word in step.partition(".")[2].split()}


def _compare_words(mine: set[str], theirs: set[str]) -> float:
    """Return the share of words that both have: one that is new (a counter, a state) costs little."""
    return 2 * len(mine & theirs) / (len(mine) + len(theirs)) if mine or theirs else 1.0


def _find_common_url(urls: Sequence[str]) -> str:
    """Return host, folders, extension and query fields with a space between each two; `*` where the urls differ."""
    parts = zip(*(_split_url(url) for url in urls), strict=True)
    counted = (Counter(values).most_common(1)[0] for values in parts)
    return " ".join(value if count >= _MIN_SHARED_URLS * len(urls) else _ANY for value, count in counted)


def _compare_urls(urls: Sequence[str], shape: str) -> float:
    """Return how much of a shape the urls have in the mean, without those that may differ from a list's others."""
    wanted = shape.split(" ")
    if len(wanted) != len(_URL_WEIGHTS):
        return 0.0
    alike = {parts: _compare_url(parts, wanted) for parts in set(map(_split_url, urls))}
    counted = sorted((alike[_split_url(url)] for url in urls), reverse=True)
    kept = counted[: max(1, round(_MIN_SHARED_URLS * len(counted)))]
    return sum(kept) / len(kept)


def _compare_url(parts: Sequence[str], wanted: Sequence[str]) -> float:
    return sum(
        weight * (1.0 if there == _ANY else _compare(here.split("/"), there.split("/")))
        for weight, here, there in zip(_URL_WEIGHTS, parts, wanted, strict=True)
    )


def _split_url(url: str) -> tuple[str, str, str, str]:
    host, directories, extension, fields = get_url_shape(url)
    return host, "/".join(directories), extension, "&".join(fields)


def _find_heading(page: Outline, row: ListRow) -> str:
    return next((text for text in _list_texts_above(page, row)[:3] if 2 <= len(text) <= _MAX_HEADING_CHARS), "")


def _list_texts_above(page: Outline, row: ListRow) -> list[str]:
    """Return the nearest texts above a row, the nearest first: a notice may stand between heading and list."""
    above = page.texts[max(0, row.text_start - _MAX_TEXTS_ABOVE) : row.text_start]
    return list(map(collapse_whitespace, reversed(above)))
