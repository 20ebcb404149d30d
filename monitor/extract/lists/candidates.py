"""Finds the list of a list page by its structure, on any site, and makes its rows candidates."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field

from monitor.extract.html import Outline
from monitor.extract.lists.choice import choose_further_lists, choose_list, is_shown, score_groups
from monitor.extract.lists.dates import find_row_dates
from monitor.extract.lists.features import GroupFeatures, RowGroup
from monitor.extract.lists.recipes import (
    choose_by_examples,
    choose_by_recipe,
    find_single_row,
    is_one_record,
    learn_recipe,
)
from monitor.extract.lists.rows import ListRow, build_single_row, list_row_attachments, prefer_pages
from monitor.extract.lists.titles import find_titles
from monitor.page import NO_HINTS, SURE_LIST_SCORE, Candidate, ExpectedPage, PageHints, PageList
from monitor.recipe import ListRecipe
from monitor.urls import is_same_site, url_key

_MAX_LISTS = 3
_MAX_SHARED = 0.5


@dataclass(frozen=True, slots=True)
class FoundLists:
    """What a page shows as lists, as `Page` has it."""

    candidates: list[Candidate] = field(default_factory=list)
    lists: list[PageList] = field(default_factory=list)
    recipe: ListRecipe | None = None
    recipe_fit: float | None = None


def find_lists(page: Outline, today: dt.date, hints: PageHints = NO_HINTS) -> FoundLists:
    """Return the items of the page's list (or lists of one kind) in page order, and what else could be meant.

    A doubtful date is None; `today` bounds the dates and is what "yesterday" counts from. Where a list is expected and
    none is sure, the next likely ones come with it.
    """
    features = GroupFeatures(page)
    groups = score_groups(page, features)
    fit = None
    chosen: list[RowGroup] = []
    if hints.recipe is not None:
        row = find_single_row(page, hints.recipe)
        known = [*_exclude_record(row, groups), features.measure([row])] if row is not None else groups
        chosen, fit = choose_by_recipe(page, hints.recipe, known)
    elif hints.examples:
        chosen = choose_by_examples(page, features.paths, hints.examples, groups)
        chosen = chosen or _measure_single_rows(page, features, hints.examples)
    is_taught = bool(chosen)
    if not chosen and groups and is_shown(page, groups, hints.expected):
        chosen = choose_further_lists(choose_list(page, features.paths, groups), groups)
    candidates = _build_candidates(page, chosen, today)
    lists = [PageList(score=1.0 if is_taught else chosen[0].score, candidates=candidates)] if chosen else []
    is_sure = bool(lists) and lists[0].score >= SURE_LIST_SCORE and not hints.wants_others
    if hints.expected is ExpectedPage.LIST and not is_sure:
        lists += _list_others(page, candidates, groups, today)
    recipe = learn_recipe(page, chosen) if chosen else None
    return FoundLists(candidates, lists[:_MAX_LISTS], recipe, fit)


def _exclude_record(row: ListRow, groups: Sequence[RowGroup]) -> list[RowGroup]:
    """Return the groups but those within the record of a row: its link and the others that stand beside it."""
    return [group for group in groups if not is_one_record([row.anchor, *(other.anchor for other in group.rows)])]


def _measure_single_rows(page: Outline, features: GroupFeatures, urls: Sequence[str]) -> list[RowGroup]:
    """Return the rows of urls that share nothing with another link of the page."""
    wanted = {url_key(url) for url in urls}
    rows = {
        row.url: row
        for anchor in page.anchors
        if url_key(anchor.url) in wanted and (row := build_single_row(page, anchor))
    }
    return [features.measure(list(rows.values()))] if rows else []


def _list_others(
    page: Outline, shown: Sequence[Candidate], groups: Sequence[RowGroup], today: dt.date
) -> list[PageList]:
    """Return the next likely lists, which hardly share candidates with the one that is shown and with each other."""
    seen = [{candidate.url for candidate in shown}]
    others: list[PageList] = []
    for group in groups:
        candidates = _build_candidates(page, [group], today)
        urls = {candidate.url for candidate in candidates}
        if len(others) == _MAX_LISTS:
            break
        if all(len(urls & known) <= _MAX_SHARED * len(urls) for known in seen):
            seen.append(urls)
            others.append(PageList(score=group.score, candidates=candidates))
    return others


def _build_candidates(page: Outline, groups: Sequence[RowGroup], today: dt.date) -> list[Candidate]:
    found: dict[str, Candidate] = {}
    for group in groups:
        rows = prefer_pages(page, group.rows)
        dates = find_row_dates(page, rows, today)
        for row, title, (day, source) in zip(rows, find_titles(page, rows), dates, strict=True):
            candidate = Candidate(
                title=title,
                url=row.url,
                date=day,
                date_source=source,
                is_repost=not is_same_site(row.url, page.url),
                attachments=list_row_attachments(page, row),
            )
            found.setdefault(candidate.url, candidate)
    return list(found.values())
