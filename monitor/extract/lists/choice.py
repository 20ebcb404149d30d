"""Chooses among the groups of a page the list that it exists for, with a probability for each."""

from collections.abc import Iterable, Sequence

from monitor.extract import trees
from monitor.extract.html import Outline
from monitor.extract.lists.features import GroupFeatures, RowGroup
from monitor.extract.lists.grouping import group_links
from monitor.extract.lists.rows import build_rows
from monitor.extract.marks import mark_places
from monitor.page import ExpectedPage

_MIN_SCORES = {ExpectedPage.LIST: 0.02, ExpectedPage.ARTICLE: 0.5}
"""What a list has to score, by what the caller expects of the page."""

_MIN_PAGE_SCORE = 0.02
"""What a page has to score as one with a list where the caller expects nothing."""

_MIN_FURTHER_SCORE = 0.4
_MIN_FURTHER_PART = 0.7  # of the first list's score
_MAX_SHARED = 0.25
_MAX_DATED_DIFFERENCE = 0.5
_MAX_IN_PROSE = 0.5
_MAX_LISTS = 60  # each is held against all others


def list_groups(page: Outline, features: GroupFeatures) -> list[RowGroup]:
    """Return the page's groups of rows; a record with a date is a group of its own where there are few."""
    groups = [
        features.measure(rows) for anchors in group_links(page, features.paths) if len(rows := build_rows(anchors)) >= 2
    ]
    return groups + [features.measure([row]) for row in features.list_dated_records()]


def score_groups(page: Outline, features: GroupFeatures) -> list[RowGroup]:
    """Return the page's groups of rows, the likeliest list first."""
    groups = list_groups(page, features)
    features.complete(groups)
    scores = trees.load_scorer("lists").score_named([group.features for group in groups])
    for group, score in zip(groups, scores, strict=True):
        # Undated links within sentences are no rows.
        is_prose = group.features["within_prose"] > _MAX_IN_PROSE and group.dated_share == 0
        group.score = 0.0 if is_prose else score
    if page.memory is not None and page.memory.shares:
        places = mark_places(page)
        for group in groups:
            group.score = page.memory.weaken(group.score, [places[row.anchor.element.index] for row in group.rows])
    return sorted(groups, key=lambda group: -group.score)


def is_shown(group: RowGroup, expected: ExpectedPage) -> bool:
    """Whether a page's likeliest list is one: who knows nothing of the page asks trees that weigh articles more."""
    if expected is ExpectedPage.UNKNOWN and group.score > 0:
        return trees.load_scorer("list_pages").score_named([group.features])[0] >= _MIN_PAGE_SCORE
    return expected in _MIN_SCORES and group.score >= _MIN_SCORES[expected]


def choose_further_lists(first: RowGroup, groups: Sequence[RowGroup]) -> list[RowGroup]:
    """Return the first list and those that are as likely and as often dated, apart from it and with other urls."""
    least = max(_MIN_FURTHER_SCORE, _MIN_FURTHER_PART * first.score)
    dated = first.features["dated"]
    likely = (group for group in groups if group.score >= least)
    return join_parts([first], [g for g in likely if abs(g.features["dated"] - dated) <= _MAX_DATED_DIFFERENCE])


def join_parts(parts: list[RowGroup], others: Iterable[RowGroup]) -> list[RowGroup]:
    """Return a list with those of the others that stand apart from it and from each other, with other urls."""
    urls = {row.url for group in parts for row in group.rows}
    for group in others:
        shared = sum(row.url in urls for row in group.rows)
        if len(parts) == _MAX_LISTS:
            break
        if shared <= _MAX_SHARED * len(group.rows) and all(_are_apart(group, part) for part in parts):
            parts.append(group)
            urls.update(row.url for row in group.rows)
    return sorted(parts, key=lambda group: group.rows[0].element.index)


def _are_apart(group: RowGroup, other: RowGroup) -> bool:
    """Whether one of two groups ends before the other begins."""
    first, second = sorted((group, other), key=lambda part: part.rows[0].element.index)
    return first.rows[-1].element.end <= second.rows[0].element.index
