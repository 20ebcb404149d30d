"""Chooses among the groups of a page the list that it exists for, with a probability for each."""

from collections.abc import Sequence

from monitor.extract import trees
from monitor.extract.html import Outline
from monitor.extract.lists.features import GroupFeatures, RowGroup
from monitor.extract.lists.grouping import group_links
from monitor.extract.lists.rows import build_rows, build_single_row
from monitor.extract.marks import mark_places
from monitor.page import ExpectedPage

MIN_SCORES = {ExpectedPage.LIST: 0.02, ExpectedPage.UNKNOWN: 0.08, ExpectedPage.ARTICLE: 0.5}
"""What a list has to score, by what the caller expects of the page."""

_MIN_FURTHER_SCORE = 0.4
_MIN_FURTHER_PART = 0.7  # of the first list's score
_MAX_SHARED = 0.25
_MAX_DATED_DIFFERENCE = 0.5
_MAX_SINGLE_ROWS = 3
_MAX_INLINE, _MIN_INLINE_SCORE = 0.5, 0.3
_MAX_LISTS = 60  # each is held against all others


def list_groups(page: Outline, features: GroupFeatures) -> list[RowGroup]:
    """Return the page's groups of rows; a row that is like no other is a group of its own where there are few."""
    groups = [
        features.measure(rows) for anchors in group_links(page, features.paths) if len(rows := build_rows(anchors)) >= 2
    ]
    single: dict[str, RowGroup] = {}
    for anchor in page.anchors:
        row = build_single_row(page, anchor) if anchor.url not in single else None
        if row is not None and features.is_single_row(row):
            if len(single) == _MAX_SINGLE_ROWS:
                return groups
            single[row.url] = features.measure([row])
    return [*groups, *single.values()]


def score_groups(page: Outline, features: GroupFeatures) -> list[RowGroup]:
    """Return the page's groups of rows, the likeliest list first."""
    groups = list_groups(page, features)
    scores = trees.load_scorer("lists").score_named(features.complete(groups))
    for group, score in zip(groups, scores, strict=True):
        # Undated links within paragraphs, and unsure ones at the end of sentences, are no rows.
        parts = group.features
        is_prose = parts["within_prose"] > _MAX_INLINE and group.dated_share == 0
        is_unsure = parts["inline"] > _MAX_INLINE and score < _MIN_INLINE_SCORE
        group.score = 0.0 if is_prose or is_unsure else score
    if page.memory is not None and page.memory.shares:
        places = mark_places(page)
        for group in groups:
            group.score = page.memory.weaken(group.score, [places[row.anchor.element.index] for row in group.rows])
    return sorted(groups, key=lambda group: -group.score)


def choose_further_lists(first: RowGroup, groups: Sequence[RowGroup]) -> list[RowGroup]:
    """Return the first list and those that are as likely and as often dated, apart from it and with other urls."""
    chosen = [first]
    urls = {row.url for row in first.rows}
    for group in groups:
        if group.score < max(_MIN_FURTHER_SCORE, _MIN_FURTHER_PART * first.score) or len(chosen) == _MAX_LISTS:
            break
        shared = sum(row.url in urls for row in group.rows)
        is_alike = abs(group.features["dated"] - first.features["dated"]) <= _MAX_DATED_DIFFERENCE
        if is_alike and shared <= _MAX_SHARED * len(group.rows) and all(are_apart(group, other) for other in chosen):
            chosen.append(group)
            urls.update(row.url for row in group.rows)
    return sorted(chosen, key=lambda group: group.rows[0].element.index)


def are_apart(group: RowGroup, other: RowGroup) -> bool:
    """Whether one of two groups ends before the other begins."""
    first, second = sorted((group, other), key=lambda part: part.rows[0].element.index)
    return first.rows[-1].element.end <= second.rows[0].element.index
