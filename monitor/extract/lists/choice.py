"""Chooses among the groups of a page the list that it exists for, with a probability for each."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from statistics import mean

from monitor.extract import trees
from monitor.extract.html import Anchor, Outline
from monitor.extract.lists.features import GroupFeatures, RowGroup
from monitor.extract.lists.grouping import LinkPaths, group_links
from monitor.extract.lists.rows import build_rows
from monitor.extract.marks import mark_places
from monitor.page import ExpectedPage
from monitor.urls import is_same_site

_MIN_SCORES = {ExpectedPage.LIST: 0.01, ExpectedPage.UNKNOWN: 0.018, ExpectedPage.ARTICLE: 0.5}
"""What a list has to score, by what the caller expects of the page; of an unknown page, by trees of their own."""

_MIN_LINKS_SCORE = 0.5  # of links to other sites without a date
_MAX_AWAY = 0.5
_MAX_LIKELY = 3
_UNDATED_LOSS, _SHAPE_WEIGHT = 0.1, 0.25
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


def is_shown(page: Outline, groups: Sequence[RowGroup], expected: ExpectedPage) -> bool:
    """Whether a page's likeliest list is one: who knows nothing of the page asks trees that weigh articles more."""
    first, least = groups[0], _MIN_SCORES[expected]
    if _leads_away(page, first):
        least = max(least, _MIN_LINKS_SCORE)
    if first.score > 0 and expected is ExpectedPage.UNKNOWN:
        scores = trees.load_scorer("list_pages").score_named(
            [group.features for group in groups[:_MAX_LIKELY] if group.score > 0]
        )
        return max(scores) >= least
    return first.score >= least


def _leads_away(page: Outline, group: RowGroup) -> bool:
    """Whether most rows lead to other sites and none has a date, as links to related bodies do."""
    away = sum(not is_same_site(row.url, page.url) for row in group.rows)
    return group.dated_share == 0 and away > _MAX_AWAY * len(group.rows)


def choose_list(page: Outline, paths: LinkPaths, groups: Sequence[RowGroup]) -> RowGroup:
    """Return the group that has the likeliest list as a whole and without strangers; the likeliest group is first.

    Where each row of the likeliest group has a date, a row without one is a stranger: a link of the menu, say.
    """
    places = [(paths.classes[row.anchor.element.index], row.url) for row in groups[0].rows]
    common = Counter(place for place, _ in places).most_common(1)[0][0]
    url = next(url for place, url in places if place == common)
    least_dated = math.floor(groups[0].features["dated"])
    whole = [group for group in groups if group.features["dated"] >= least_dated]
    return choose_whole(page, paths, [group for group in whole if url in {row.url for row in group.rows}], {url})


def choose_whole(page: Outline, paths: LinkPaths, groups: Sequence[RowGroup], urls: Collection[str]) -> RowGroup:
    """Return of groups with some of these urls, the likeliest first, the one that best is all that is like them."""
    chosen, most = groups[0], 0.0
    for group in groups:
        if group.score <= most:
            break
        kept_dates = 1 - _UNDATED_LOSS * (1 - group.features["dated"])
        examples = [row.anchor for row in group.rows if row.url in urls]
        rating = group.score * kept_dates * mean(_measure_wholeness(page, paths, group, link) for link in examples)
        if rating > most:
            chosen, most = group, rating
    return chosen


def _measure_wholeness(page: Outline, paths: LinkPaths, group: RowGroup, link: Anchor) -> float:
    """Return how well a group agrees with the links that are like one of its own, from 0 to 1.

    A list has links of one way, mostly with urls of one shape, and all that stand beside each other. Further links in
    its records do not count.
    """
    urls = {row.url for row in group.rows}
    inside = {
        found.element.index
        for row in group.rows
        for found in page.list_links(row.element)
        if paths.records[found.element.index] == paths.records[row.anchor.element.index]
    }
    classes, columns, beside, shape = (
        {found.url for found in alike if found.url in urls or found.element.index not in inside}
        for alike in paths.list_alike(page, link)
    )
    place = mean(_compare(urls, alike) for alike in (classes, columns, beside))
    return place * math.pow(_compare(urls, shape), _SHAPE_WEIGHT) * math.sqrt(len(urls & beside) / len(beside))


def _compare(mine: set[str], theirs: set[str]) -> float:
    return 2 * len(mine & theirs) / (len(mine) + len(theirs))


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
