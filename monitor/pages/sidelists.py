"""Rules for what is hardly a list: the side lists of a page, and a list's last page with a single row on it."""

import re

from monitor.pages.outline import Anchor, Element, Outline, squeeze
from monitor.pages.pagerwords import is_pager_text
from monitor.pages.records import Record
from monitor.pages.weighing import Scales

_SIDE_HEADING = re.compile(
    r"^(?:相关|相關|関連|推荐|推薦|猜你喜欢|热门|熱門|热点|热搜|排行|点击排行|最近浏览|友情链接|大家都在看|延伸阅读|"
    r"人気|ランキング|おすすめ|관련|인기|많이\s*본|추천|related|most\s+(?:read|viewed|popular)|popular|trending|recommended|"
    r"you\s+may|see\s+also|more\s+(?:on|from)|also\s+read|further\s+reading|verwandte|meistgelesen|beliebt|"
    r"das\s+könnte|ähnliche|auch\s+interessant|à\s+lire|sur\s+le\s+même|les\s+plus\s+lus|relacionad|"
    r"lo\s+más|más\s+leíd)",
    re.IGNORECASE,
)
_HEADING_TEXTS = 3
_COUNTER = re.compile(
    r"[共第]\s*\d{1,5}\s*[页頁条條]|(?:page|seite)\s*\d{1,4}\s*(?:of|/|von)\s*\d|全\s*\d+\s*件|(?:총|전체)\s*\d+",
    re.IGNORECASE,
)
_ROWS = frozenset({"li", "tr", "dd", "dl", "article"})
_LONGEST_ROW = 300
_MOST_PROSE = 200


def is_side_list(page: Outline, records: list[Record]) -> bool:
    """Whether the words just above a group call it a list of what else one might read."""
    start = records[0].text_start
    texts = [squeeze(text) for text in page.texts[max(0, start - _HEADING_TEXTS) : start]]
    return any(len(text) <= 24 and _SIDE_HEADING.match(text) for text in texts)


def only_row(page: Outline, scales: Scales) -> Record | None:
    """The row of a list page that has one row only, as the last page of a list may.

    One row alone repeats nothing, so all else must say "list": the element is a row's, it shows a date beside the
    link, the page has a pager and hardly a sentence outside it. Where two links could be that row, neither is.
    """
    if not _has_pager(page):
        return None
    rows = [record for anchor in page.anchors if (record := _row_of(page, anchor)) and scales.is_dated_row(record)]
    if len({record.url for record in rows}) != 1 or scales.prose_outside(rows[:1]) > _MOST_PROSE:
        return None
    return rows[0]


def _row_of(page: Outline, anchor: Anchor) -> Record | None:
    if is_pager_text(anchor.text):
        return None
    row: Element | None = anchor.element
    while row is not None and row.tag not in _ROWS:
        row = row.parent
    if row is None or any(row.holds(other.element) for other in page.anchors if other.url != anchor.url):
        return None
    return Record(anchor, [anchor], row) if len(page.text_of(row)) <= _LONGEST_ROW else None


def _has_pager(page: Outline) -> bool:
    """Whether the page counts its pages or rows, or has a link to the page before or the first."""
    return bool(_COUNTER.search(page.full_text)) or any(
        is_pager_text(anchor.text) and not anchor.text.isdigit() for anchor in page.anchors
    )
