"""Finds the list of a list page by its structure, on any site, and makes its rows candidates."""

import datetime as dt
import re
from dataclasses import replace
from itertools import islice

from monitor.dates import DATE_SIGN, YEAR_FIRST, mask_dates
from monitor.extract.html import Anchor, Element, Outline, collapse_whitespace, is_within_sentence
from monitor.extract.lists.dates import find_row_dates
from monitor.extract.lists.paging import is_pager_text
from monitor.extract.lists.rows import ListRow, build_rows, list_row_attachments, list_row_links, prefer_pages
from monitor.extract.lists.scoring import MAX_ROW_WEIGHT, ListScorer, RowGroup, group_links
from monitor.page import Candidate
from monitor.urls import is_same_site

_SIDE_HEADING = re.compile(
    r"^(?:相关|相關|関連|推荐|推薦|猜你喜欢|热门|熱門|热点|热搜|排行|点击排行|最近浏览|友情链接|大家都在看|延伸阅读|"
    r"人気|ランキング|おすすめ|관련|인기|많이\s*본|추천|related|most\s+(?:read|viewed|popular)|popular|trending|recommended|"
    r"you\s+may|see\s+also|more\s+(?:on|from)|also\s+read|further\s+reading|verwandte|meistgelesen|beliebt|"
    r"das\s+könnte|ähnliche|auch\s+interessant|à\s+lire|sur\s+le\s+même|les\s+plus\s+lus|relacionad|"
    r"lo\s+más|más\s+leíd)",
    re.IGNORECASE,
)

_MAX_HEADING_TEXTS = 3
_COUNTER = re.compile(
    r"[共第]\s*\d{1,5}\s*[页頁条條]|(?:page|seite)\s*\d{1,4}\s*(?:of|/|von)\s*\d|全\s*\d+\s*件|(?:총|전체)\s*\d+",
    re.IGNORECASE,
)
_SIDE_ROW_TAGS = frozenset({"li", "tr", "dd", "dl", "article"})
_MAX_ROW_CHARS = 300
_MAX_PROSE_WEIGHT = 200


def _is_side_list(page: Outline, rows: list[ListRow]) -> bool:
    """Whether the heading just above a group says that it is a list of related or popular pages."""
    start = rows[0].text_start
    texts = [collapse_whitespace(text[:_MAX_CHARS]) for text in page.texts[max(0, start - _MAX_HEADING_TEXTS) : start]]
    return any(len(text) <= 24 and _SIDE_HEADING.match(text) for text in texts)


def _find_only_row(page: Outline, scorer: ListScorer) -> ListRow | None:
    """Return the only row of a list page with one row, as the last page may be; of two possible ones it is neither.

    All else must indicate a list: a row's element with a date, a pager, hardly a sentence outside the row.
    """
    links = (anchor.text for anchor in page.anchors if not anchor.text.isdigit())
    if not (_COUNTER.search(page.full_text) or any(map(is_pager_text, links))):
        return None
    rows = [row for anchor in page.anchors if (row := _build_row(page, anchor)) and scorer.is_dated_row(row)]
    if len({row.url for row in rows}) != 1 or scorer.measure_other_prose(rows[:1]) > _MAX_PROSE_WEIGHT:
        return None
    return rows[0]


def _build_row(page: Outline, anchor: Anchor) -> ListRow | None:
    if is_pager_text(anchor.text):
        return None
    element = anchor.element.closest(_SIDE_ROW_TAGS)
    if element is None or len(page.get_text(element, 2 * _MAX_ROW_CHARS)) > _MAX_ROW_CHARS:
        return None
    row = ListRow(anchor, [anchor], element)
    return None if any(other.url != anchor.url for other in list_row_links(page, row)) else row


_HEADING_TAGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_HAS_WORD = re.compile(r"[^\W\d_]{3}|[\u3040-\ud7a3]{2}")
_MAX_CHARS, _MAX_ELEMENTS, _MAX_TEXTS = 500, 400, 200  # of a row and its title, beyond which it is none
_ELLIPSIS = re.compile(r"\s*(?:…+|\.{2,}|⋯+|。。+)\s*$")

_GENERIC_TEXT = re.compile(
    r"^[\s\[(<（【]*(?:read|learn|view|see|show|full|continue|click|more|here|details?|download|open|link|opinion|"
    r"order|decision|agenda|minutes|pdf|html?|docx?|text|"
    r"story|article|the|full|this|document|file|mp3|listen|audio|transcript|»|›|>|\.|…|查看|"
    r"查看更多|查看详情|查看全文|更多|详情|"
    r"详细|阅读全文|阅读|全文|下载|附件|点击|点击查看|详见|もっと見る|続きを読む|詳細|자세히(?:\s보기)?|더\s?보기|mehr(?:\serfahren)?|"
    r"weiterlesen|lire la suite|en savoir plus|leer más|ver más|continuar leyendo|leia mais|saiba mais|"
    r"leggi tutto|les mer|подробнее|читать далее)"
    r"(?:[\s»›>.…:]|read|more|here|details?|pdf|full|story|article|the|text|opinion)*"
    r"(?:\(\s*[\d.,]+\s*[KMG]i?B\s*\))?[\])>）】\s]*$",
    re.IGNORECASE,
)

_DATE_TAIL = re.compile(
    rf"[\s\[(（【|·-]*(?:发布时间|发布日期|日期|时间)?[:：\s]*{DATE_SIGN}(?:\s*\d{{1,2}}:\d\d(?::\d\d)?)?[\])）】\s]*$"
)
_DATE_HEAD = re.compile(rf"^[\s\[(（【]*{DATE_SIGN}(?:\s*\d{{1,2}}:\d\d(?::\d\d)?)?[\])）】]*[\s|·:：]+")
_BULLET = re.compile(r"^[\s·•▪■□◆◇●○>›»)]+(?=\S)")
_DATE_LABEL = re.compile(r"^[^:：]{0,20}(?:\bdate[ds]?|日期|时间)\s*[:：]", re.IGNORECASE)


def _find_row_title(page: Outline, row: ListRow) -> str:
    """Return the title of a row, that of its link.

    Where it says nothing ("more", "PDF"), the row's heading, the longest text beside the link, or a picture's name.
    """
    titles = [title for anchor in row.anchors if (title := _find_link_title(page, anchor))]
    best = max(titles, key=len, default="")
    if best and not _GENERIC_TEXT.match(best) and _HAS_WORD.search(best):
        return best
    return _find_heading(page, row.element) or _find_longest_text(page, row) or best or _find_image_name(page, row)


def _find_link_title(page: Outline, anchor: Anchor) -> str:
    """Return a link's heading or text without its date, or its `title` attribute where the visible text is cut off."""
    visible = (_find_heading(page, anchor.element) or anchor.text)[:_MAX_CHARS]
    visible = collapse_whitespace(_BULLET.sub("", _strip_date(visible, _DATE_TAIL, _DATE_HEAD) or visible))
    written = collapse_whitespace((anchor.element.attributes.get("title") or "")[:_MAX_CHARS])
    stem = _ELLIPSIS.sub("", visible)
    goes_on = stem != "" and written.startswith(stem) and len(written) > len(stem)
    is_cut = stem not in (visible, "") and stem[:6] in written
    if written and (not visible or goes_on or is_cut):
        return collapse_whitespace(_strip_date(written, _DATE_TAIL)) or written
    return visible


def _strip_date(title: str, *places: re.Pattern[str]) -> str:
    """Return a title without a date before or after it that begins with its year; others may belong to the title."""
    masked = mask_dates(title, YEAR_FIRST)
    text = masked.text
    for place in places:
        text = place.sub("", text)
    return masked.restore(text)


def _find_heading(page: Outline, element: Element) -> str:
    inside = islice(page.elements, element.index + 1, min(element.end, element.index + _MAX_ELEMENTS))
    headings = [page.get_text(inner, _MAX_CHARS)[:_MAX_CHARS] for inner in inside if inner.tag in _HEADING_TAGS]
    return max([heading for heading in headings if not _GENERIC_TEXT.match(heading)], key=len, default="")


def _find_longest_text(page: Outline, row: ListRow) -> str:
    longest = ""
    texts = page.texts[row.text_start : min(row.text_end, row.text_start + _MAX_TEXTS)]
    for text in (collapse_whitespace(text[: 2 * _MAX_CHARS]) for text in texts):
        is_label = _GENERIC_TEXT.match(text) or _DATE_LABEL.match(text)
        if not (is_label or _DATE_HEAD.match(mask_dates(text, YEAR_FIRST).text + " ")):
            longest = max(longest, _BULLET.sub("", text), key=len)
    return longest if len(longest) >= 4 else ""


def _find_image_name(page: Outline, row: ListRow) -> str:
    images = (element.attributes for element in page.get_descendants(row.element) if element.tag == "img")
    names = (collapse_whitespace(image.get("alt") or image.get("title") or "") for image in images)
    return next(filter(None, names), row.url.rstrip("/").rsplit("/", 1)[-1])


_MIN_SCORE = 7.0
_MIN_DATED_SCORE = 5.5
_MIN_DATED_SHARE = 0.6
_ROW_TAGS = frozenset({"tr", "li", "dd", "article"})
_MIN_FURTHER_SCORE = 7.0
_MIN_FURTHER_DATED_SHARE = 0.8
_MAX_KNOWN_SHARE = 0.25
_MAX_LISTS = 60  # each is held against all others
_ADDRESS_PREFIXES = ("http://", "https://", "www.")


def find_candidates(page: Outline, today: dt.date) -> list[Candidate]:
    """Return the items of the page's list (or lists of one kind) in page order; a doubtful date is None.

    `today` bounds the dates and is what "yesterday" counts from.
    """
    scorer = ListScorer(page)
    lists = _find_lists(page, scorer)
    if not lists and (row := _find_only_row(page, scorer)) is not None:
        lists = [RowGroup([row], {}, 0.0)]
    lists.sort(key=lambda group: group.rows[0].element.index)
    found: dict[str, Candidate] = {}
    for group in lists:
        for candidate in _build_candidates(page, group, today):
            found.setdefault(candidate.url, candidate)
    return list(found.values())


def _find_lists(page: Outline, scorer: ListScorer) -> list[RowGroup]:
    """Return the page's best group, if it is a list, and the other lists that are separate from it."""
    groups = [scorer.score(rows) for anchors in group_links(page) if len(rows := build_rows(anchors)) >= 2]
    groups = [group for group in groups if not (scorer.are_day_headings(group.rows) or _is_address_list(group))]
    groups.sort(key=lambda group: group.score, reverse=True)
    if not groups or not _is_list(groups[0], scorer):
        return []
    chosen = [_widen_list(groups[0], groups, scorer)]
    for group in groups[1:] if chosen[0].dated_share >= _MIN_DATED_SHARE else []:
        if group.score < _MIN_FURTHER_SCORE or len(chosen) == _MAX_LISTS:
            break
        if all(_are_apart(page, group, other) for other in chosen) and _is_further_list(group, scorer):
            chosen.append(group)
    return [_drop_strays(group, scorer) for group in chosen]


def _is_address_list(group: RowGroup) -> bool:
    """Whether the text of most links is an address, as in an article."""
    return 2 * sum(row.anchor.text.startswith(_ADDRESS_PREFIXES) for row in group.rows) > len(group.rows)


def _widen_list(best: RowGroup, groups: list[RowGroup], scorer: ListScorer) -> RowGroup:
    """Return the group that adds the rows between those of the best one, if any, else the best one.

    The best may lack rows that lead to other hosts, have the class "first" or "last", or follow the first of a day.
    """
    urls = {row.url for row in best.rows}
    kind = best.rows[0].element.kind
    first, last = best.rows[0].element.index, best.rows[-1].element.index
    for group in sorted(groups, key=lambda group: len(group.rows), reverse=True):
        further = [row for row in group.rows if row.url not in urls]
        between = sum(first < row.element.index < last for row in further)
        kinds = {row.element.kind for row in group.rows}
        if (
            2 * between > len(further)
            and len(group.rows) - len(further) == len(urls)
            and group.dated_share >= max(best.dated_share, _MIN_DATED_SHARE)
            and len(kinds) == 1
            and (kind in kinds or group.rows[0].element.tag in _ROW_TAGS or group.features["dated"] == 1)
            and _is_list(group, scorer)
        ):
            return group
    return best


def _drop_strays(group: RowGroup, scorer: ListScorer) -> RowGroup:
    """Return the group without links outside the element that contains its dated rows, where most are dated."""
    dated = [row for row in group.rows if scorer.is_dated(row)]
    if len(dated) < _MIN_FURTHER_DATED_SHARE * len(group.rows):
        return group
    whole = next(node for node in dated[0].element.iter_ancestors() if node.contains(dated[-1].element))
    return replace(group, rows=[row for row in group.rows if whole.contains(row.element)])


def _are_apart(page: Outline, group: RowGroup, other: RowGroup) -> bool:
    """Whether two lists follow each other on the page, and hardly a row of `group` links to a row of `other`."""
    first, second = sorted((group, other), key=lambda part: part.rows[0].text_start)
    if first.rows[-1].element.end > second.rows[0].element.index:
        return False
    urls = {row.url for row in other.rows}
    known = sum(any(link.url in urls for link in list_row_links(page, row)) for row in group.rows)
    return known <= _MAX_KNOWN_SHARE * len(group.rows)


def _is_further_list(group: RowGroup, scorer: ListScorer) -> bool:
    """Whether a group beside the page's first list is another list: dated rows, no menu, no related pages."""
    return (
        group.dated_share >= _MIN_FURTHER_DATED_SHARE
        and len(group.rows) >= 3
        and all(group.features[name] < 0.5 for name in ("boilerplate", "inline", "repeated"))
        and not _is_side_list(scorer.page, group.rows)
    )


def _is_list(group: RowGroup, scorer: ListScorer) -> bool:
    """Whether the best group is a list at all, not a menu or the links in or beside an article."""
    parts, count = group.features, len(group.rows)
    is_table = all(scorer.is_table_row(row.element) for row in group.rows)
    is_dated = group.dated_share >= _MIN_DATED_SHARE and (count >= 4 or is_table)
    if group.score < (_MIN_DATED_SCORE if is_dated else _MIN_SCORE):
        return False
    if count <= 3 and parts["dated"] < 1 and not _are_alike(group):
        return False
    if 2 * sum(is_within_sentence(scorer.page, row.anchor.element) for row in group.rows) > count:
        return False
    is_menu = parts["article_like"] < 0.4 and parts["link_length"] < 0.7
    if not is_dated and (parts["inline"] > 0.5 or parts["boilerplate"] >= 0.5 or is_menu):
        return False
    row_text = sum(scorer.measure_text(row) for row in group.rows)
    are_rows = parts["dated"] == parts["siblings"] == 1 and len({row.element.tag for row in group.rows}) == 1
    if count <= 6 and not are_rows and row_text > count * 1.2 * MAX_ROW_WEIGHT:
        return False
    prose = scorer.measure_other_prose(group.rows)
    if is_dated and not _is_side_list(scorer.page, group.rows):
        return True
    return prose < max(600, row_text)


def _are_alike(group: RowGroup) -> bool:
    """Whether the rows are sibling elements of one kind, as two or three links must be to count as a list."""
    elements = [row.element for row in group.rows]
    kinds = {(element.parent and element.parent.index, element.tag, element.css_class) for element in elements}
    return len(kinds) == 1


def _build_candidates(page: Outline, group: RowGroup, today: dt.date) -> list[Candidate]:
    rows = prefer_pages(page, group.rows)
    return [
        Candidate(
            title=_find_row_title(page, row),
            url=row.url,
            date=day,
            date_source=source,
            is_repost=not is_same_site(row.url, page.url),
            attachments=list_row_attachments(page, row),
        )
        for row, (day, source) in zip(rows, find_row_dates(page, rows, today), strict=True)
    ]
