"""Finds the title of each row of a list: what stands in the column that people would call its title."""

import re
from collections.abc import Iterator, Sequence

from monitor.dates import DATE_SIGN, YEAR_FIRST, mask_dates
from monitor.extract import trees
from monitor.extract.html import Outline, collapse_whitespace
from monitor.extract.lists.columns import ListColumn, list_columns, measure_columns
from monitor.extract.lists.rows import ListRow

_MAX_CHARS = 500
_ELLIPSIS = re.compile(r"\s*(?:…+|\.{2,}|⋯+|。。+)\s*$")
_DATE_TAIL = re.compile(
    rf"[\s\[(（【|·-]*(?:发布时间|发布日期|日期|时间)?[:：\s]*{DATE_SIGN}(?:\s*\d{{1,2}}:\d\d(?::\d\d)?)?[\])）】\s]*$"
)
_DATE_HEAD = re.compile(rf"^[\s\[(（【]*{DATE_SIGN}(?:\s*\d{{1,2}}:\d\d(?::\d\d)?)?[\])）】]*[\s|·:：]+")
_BULLET = re.compile(r"^[\s·•▪■□◆◇●○>›»)]+(?=\S)")


def find_titles(page: Outline, rows: Sequence[ListRow]) -> list[str]:
    """Return the title of each row; one without any text is named by a picture or by the end of its url."""
    columns = rank_columns(rows, list_columns(page, rows))
    return [_find_title(page, row, [column.texts[place] for column in columns]) for place, row in enumerate(rows)]


def rank_columns(rows: Sequence[ListRow], columns: Sequence[ListColumn]) -> list[ListColumn]:
    """Return the columns of a list, the likeliest title first."""
    scores = trees.load_scorer("list_titles").score_named(measure_columns(rows, columns))
    return [column for _, column in sorted(zip(scores, columns, strict=True), key=lambda scored: -scored[0])]


def _find_title(page: Outline, row: ListRow, texts: Sequence[str]) -> str:
    title = next(filter(None, map(_clean, texts)), "")
    for written in _list_names(row):
        stem = _ELLIPSIS.sub("", title)
        goes_on = stem != "" and written.startswith(stem) and len(written) > len(stem)
        is_cut = stem not in (title, "") and stem[:6] in written
        if (goes_on and title == row.anchor.text) or is_cut:
            return _clean(written) or written
    if title:
        return title
    images = (element.attributes for element in page.get_descendants(row.element) if element.tag == "img")
    names = (collapse_whitespace(image.get("alt") or image.get("title") or "") for image in images)
    return next(filter(None, names), row.url.rstrip("/").rsplit("/", 1)[-1])


def _list_names(row: ListRow) -> Iterator[str]:
    """Yield the titles that attributes give to the row's links, where the visible text may be cut off."""
    for anchor in row.anchors:
        for name in ("title", "aria-label"):
            if value := anchor.element.attributes.get(name):
                yield collapse_whitespace(value[:_MAX_CHARS])


def _clean(text: str) -> str:
    """Return a title without a bullet, and without a date before or after it that begins with its year."""
    masked = mask_dates(text, YEAR_FIRST)
    kept = _DATE_HEAD.sub("", _DATE_TAIL.sub("", masked.text))
    return collapse_whitespace(_BULLET.sub("", masked.restore(kept))) or text
