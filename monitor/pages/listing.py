"""The list of a list page: which of its links are records of one list, by structure, on any site."""

import datetime as dt
from dataclasses import replace

from selectolax.lexbor import LexborHTMLParser

from monitor.domain.page import Candidate
from monitor.pages.grouping import link_groups
from monitor.pages.listdates import date_records
from monitor.pages.outline import Outline, outline
from monitor.pages.records import Record, attachments_inside, links_inside, prefer_pages, records_of
from monitor.pages.registrable import same_site
from monitor.pages.sentences import is_within_sentence
from monitor.pages.sidelists import is_side_list, only_row
from monitor.pages.titles import record_title
from monitor.pages.weighing import LONG_RECORD, Group, Scales

_LEAST_SCORE = 7.0
_LEAST_DATED_SCORE = 5.5
_LEAST_DATED = 0.6
_ROWS = frozenset({"tr", "li", "dd", "article"})
_LEAST_FURTHER_SCORE = 7.0
_LEAST_FURTHER_DATED = 0.8
_MOST_KNOWN = 0.25
_ADDRESS = ("http://", "https://", "www.")


def find_candidates(tree: LexborHTMLParser, url: str, today: dt.date) -> list[Candidate]:
    """The items of the page's list (or lists of one kind), in page order; empty where the page has none.

    `url` is the page's own; `today` bounds dates and is what "yesterday" counts from. Each candidate is one record;
    a title never holds the date, and a date is None where it is doubtful.
    """
    return list_candidates(outline(tree, url), today)


def list_candidates(page: Outline, today: dt.date) -> list[Candidate]:
    """As `find_candidates`, for a page whose outline is known already."""
    scales = Scales(page)
    lists = _lists(page, scales)
    if not lists and (row := only_row(page, scales)) is not None:
        lists = [Group([row], {}, 0.0)]
    lists.sort(key=lambda group: group.records[0].element.index)
    found: dict[str, Candidate] = {}
    for group in lists:
        for candidate in _candidates(page, group, today):
            found.setdefault(candidate.url, candidate)
    return list(found.values())


def _lists(page: Outline, scales: Scales) -> list[Group]:
    """The page's best group, where it is a list, and the other lists that stand apart from it."""
    groups = [scales.weigh(records) for anchors in link_groups(page) if len(records := records_of(anchors)) >= 2]
    groups = [group for group in groups if not scales.are_day_headings(group.records) and not _are_addresses(group)]
    groups.sort(key=lambda group: group.score, reverse=True)
    if not groups or not _is_list(groups[0], scales):
        return []
    chosen = [_widened(groups[0], groups, scales)]
    for group in groups[1:]:
        if group.score < _LEAST_FURTHER_SCORE:
            break
        if (
            chosen[0].dated >= _LEAST_DATED
            and all(_stand_apart(page, group, other) for other in chosen)
            and _is_further_list(group, scales)
        ):
            chosen.append(group)
    return [_without_strays(group, scales) for group in chosen]


def _are_addresses(group: Group) -> bool:
    """Whether most of the links say nothing but an address, as those in the text of an article do."""
    return 2 * sum(record.anchor.text.startswith(_ADDRESS) for record in group.records) > len(group.records)


def _widened(best: Group, groups: list[Group], scales: Scales) -> Group:
    """The group that adds to the best one the rows between its own; the best one where there is none such.

    Rows whose links lead elsewhere, or which are named "first" and "last", are rows of the list all the same; so are
    those that the best group's records swallow where it has one link of each day.
    """
    urls = {record.url for record in best.records}
    kind = _kind(best.records[0])
    first, last = best.records[0].element.index, best.records[-1].element.index
    for group in sorted(groups, key=lambda group: len(group.records), reverse=True):
        further = [record for record in group.records if record.url not in urls]
        between = sum(first < record.element.index < last for record in further)
        kinds = {_kind(record) for record in group.records}
        if (
            2 * between > len(further)
            and len(group.records) - len(further) == len(urls)
            and group.dated >= max(best.dated, _LEAST_DATED)
            and len(kinds) == 1
            and (kind in kinds or group.records[0].element.tag in _ROWS or group.parts["dated"] == 1)
            and _is_list(group, scales)
        ):
            return group
    return best


def _kind(record: Record) -> tuple[str, int]:
    return record.element.tag, record.element.depth


def _without_strays(group: Group, scales: Scales) -> Group:
    """The group without undated links before and behind its dated rows, outside the element that holds these."""
    dated = [record for record in group.records if scales.is_dated(record)]
    if len(dated) < _LEAST_FURTHER_DATED * len(group.records):
        return group
    whole = dated[0].element
    while whole.parent is not None and not whole.holds(dated[-1].element):
        whole = whole.parent
    return replace(group, records=[record for record in group.records if whole.holds(record.element)])


def _stand_apart(page: Outline, group: Group, other: Group) -> bool:
    """Whether two lists follow each other on the page, and hardly a row of `group` leads to a record of `other`."""
    first, second = sorted((group, other), key=lambda one: one.records[0].text_start)
    if first.records[-1].element.end > second.records[0].element.index:
        return False
    urls = {record.url for record in other.records}
    known = sum(any(link.url in urls for link in links_inside(page, record)) for record in group.records)
    return known <= _MOST_KNOWN * len(group.records)


def _is_further_list(group: Group, scales: Scales) -> bool:
    """Whether a group beside the page's first list is one of its own: dated rows, no menu and no "read also"."""
    return (
        group.dated >= _LEAST_FURTHER_DATED
        and len(group.records) >= 3
        and group.parts["boilerplate"] < 0.5
        and group.parts["inline"] < 0.5
        and group.parts["repeated"] < 0.5
        and not is_side_list(scales.page, group.records)
    )


def _is_list(group: Group, scales: Scales) -> bool:
    """Whether the best group is a list at all: menus are not, nor are the links in an article's text or beside it."""
    parts, count = group.parts, len(group.records)
    is_table = all(scales.is_table_row(record.element) for record in group.records)
    is_dated = group.dated >= _LEAST_DATED and (count >= 4 or is_table)
    if group.score < (_LEAST_DATED_SCORE if is_dated else _LEAST_SCORE):
        return False
    if count <= 3 and parts["dated"] < 1 and not _are_alike(group):
        return False
    if 2 * sum(is_within_sentence(scales.page, record.anchor.element) for record in group.records) > count:
        return False
    if not is_dated and (
        parts["inline"] > 0.5
        or parts["boilerplate"] >= 0.5
        or (parts["article_like"] < 0.4 and parts["link_length"] < 0.7)
    ):
        return False
    in_records = sum(scales.text(record) for record in group.records)
    are_rows = parts["dated"] == parts["siblings"] == 1 and len({record.element.tag for record in group.records}) == 1
    if count <= 6 and not are_rows and in_records > count * 1.2 * LONG_RECORD:
        return False
    prose = scales.prose_outside(group.records)
    if is_dated and not is_side_list(scales.page, group.records):
        return True
    return prose < max(600, in_records)


def _are_alike(group: Group) -> bool:
    """Whether the records are elements of one kind, side by side: two or three links need that to be a list."""
    elements = [record.element for record in group.records]
    return (
        len({(element.parent.index if element.parent else 0, element.tag, element.css_class) for element in elements})
        == 1
    )


def _candidates(page: Outline, group: Group, today: dt.date) -> list[Candidate]:
    records = prefer_pages(page, group.records)
    dates = date_records(page, records, today)
    found: dict[str, Candidate] = {}
    for record, dated in zip(records, dates, strict=True):
        candidate = Candidate(
            title=record_title(page, record),
            url=record.url,
            date=dated.date,
            date_source=dated.source,
            is_repost=not same_site(record.url, page.url),
            attachments=attachments_inside(page, record),
        )
        found.setdefault(record.url, candidate)
    return list(found.values())
