"""The day on which an article was published: what the page states before what could be guessed."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator

from monitor.domain.words import DateSource
from monitor.pages.articletitle import fold
from monitor.pages.dates import Order, date_in_url, dates_in_text, numeric_order
from monitor.pages.metadata import Metadata
from monitor.pages.outline import Element, Outline, squeeze

_META = (
    "pubdate", "article:published_time", "og:article:published_time", "og:published_time", "datepublished",
    "publishdate", "publish_date", "publish-date", "dc.date.issued", "dcterms.issued",
    "citation_publication_date", "citation_online_date", "parsely-pub-date", "sailthru.date",
    "cxenseparse:recs:publishtime", "article.published", "published_date", "publication_date", "pub_date",
    "published-date", "firstpublished", "weibo:article:create_at", "bt:pubdate", "displaydate",
    "originalpublicationdate", "ptime", "_pubtime", "analyticsattributes.articledate", "rnews:datepublished",
    "article:published", "artpublished", "datecreated",
)  # fmt: skip
# Names that some systems fill with the day of the page's making or of a printed issue: believed after JSON-LD.
_VAGUE_META = ("dc.date", "dcterms.date", "date", "created", "dc.date.created", "dcterms.created")
_POSTED_LABEL = re.compile(
    r"发布时间|发布日期|发文时间|发文日期|公开日期|公布日期|印发日期|发稿时间|更新时间|發布日期|發布時間|發佈日期|張貼日期|公告日期|上版日期|掲載日|公開日|配信|入力|登録日|作成日|등록일|입력|작성일|게시일"
    r"|\bpublished\b|\bposted\b|\brelease date\b|\bpublication date\b|\bdate issued\b|veröffentlich(?:t|ung)|"
    r"erstellt|publié|publicado|pubblicato|gepubliceerd|publisert|опубликовано",
    re.IGNORECASE,
)
_WEAK_LABEL = re.compile(
    r"(?:^|[\s|【\[])(?:时间|日期|來源|来源|Date|Datum|Fecha|Stand)\s*[】\]]?\s*[:：]", re.IGNORECASE
)
_BARE_LABEL = re.compile(r"^\s*(?:Datum|Date|Fecha|Data|Дата|日期|时间|날짜)\s*[:：]?\s*$", re.IGNORECASE)
_NOT_POSTED = re.compile(
    r"updated|modified|成文|生效|截止|aktualisiert|mis à jour|actualizado|изменено|更新日|수정|last edit|comment",
    re.IGNORECASE,
)
_DATE_NAMES = re.compile(
    r"(?:^|[\s_-])\w*(?:date|time|pubtime|publish\w*|posted|meta|byline|info|datum|fecha|source|laiyuan|riqi|"
    r"timestamp)\w*(?=$|[\s_-])"
)
_ASIDE = re.compile(
    r"(?:^|[\s_-])(?:related|sidebar|side|comments?|footer|nav|menu|recommend\w*|hot|rank\w*|latest|popular|"
    r"widget|teaser|trending|more)(?=$|[\s_-])"
)
_HEADLINE_TAGS = frozenset({"h1", "h2", "h3", "h4", "h5", "div", "p", "td", "span", "strong"})
_NEAR_TEXTS = 14


def article_date(
    page: Outline, metadata: Metadata, title: str, today: dt.date, *, is_list: bool = False
) -> tuple[dt.date | None, DateSource]:
    """The publication day and where it was read; (None, unknown) where the page states none.

    In this order: meta elements, JSON-LD, labelled lines (发布时间：), `time` elements, a date near the headline,
    the url. A sidebar's or a comment's date is never the article's, nor is a row's on a list page (`is_list`).
    """
    order = numeric_order(page.full_text[:20_000])
    by_url = date_in_url(page.url, today)
    for day in (
        _by_meta(metadata, _META, today, order),
        _by_linked(metadata, today),
        _by_meta(metadata, _VAGUE_META, today, order),
    ):
        if day:
            return day, DateSource.PAGE
    if is_list:
        return None, DateSource.UNKNOWN
    starts = _headlines(page, title)
    start = starts[0] if starts else None
    for day in (
        _by_label(page, today, order, start),
        _by_time_element(page, today, order, start),
        *(_near_headline(page, today, order, place, by_url) for place in starts[:4]),
        None if by_url else _only_date_line(page, today, order),
    ):
        if day:
            return day, DateSource.PAGE
    return (by_url, DateSource.URL) if by_url else (None, DateSource.UNKNOWN)


def _by_meta(metadata: Metadata, names: Iterable[str], today: dt.date, order: Order | None) -> dt.date | None:
    for name in names:
        value = metadata.meta.get(name)
        if value and (day := _first_date(value, today, order)):
            return day
    return None


def _by_linked(metadata: Metadata, today: dt.date) -> dt.date | None:
    for key in ("datePublished", "dateCreated", "uploadDate"):
        value = metadata.linked_text(key)
        if value and (day := _first_date(value, today, None)):
            return day
    return None


def _first_date(text: str, today: dt.date, order: Order | None) -> dt.date | None:
    found = [match for match in dates_in_text(text[:80], today, order=order) if match.has_year]
    return found[0].date if found else None


def _headlines(page: Outline, title: str) -> list[int]:
    """Indexes of the texts behind the headline: of its h1 first, then of each place where the page repeats it."""
    folded = fold(title)
    if len(folded) < 3:
        return []
    found: dict[int, int] = {}
    for element in page.elements:
        if element.tag not in _HEADLINE_TAGS or not 0 < element.text_end - element.text_start <= 6:
            continue
        raw = "".join(page.texts[element.text_start : element.text_end])
        if len(raw) < 0.5 * len(folded):
            continue
        text = fold(raw) if len(raw) < 600 else ""
        is_same = text == folded or (
            element.tag in ("h1", "h2")
            and min(len(text), len(folded)) > 0.5 * max(len(text), len(folded))
            and (text in folded or folded in text)
        )
        if is_same and not _is_aside_element(page, element):
            found[element.text_end] = min(found.get(element.text_end, 1), 0 if element.tag == "h1" else 1)
    return sorted(found, key=lambda index: (found[index], index))


def _by_label(page: Outline, today: dt.date, order: Order | None, start: int | None) -> dt.date | None:
    """A date that stands behind 发布时间 and its like, in the same text or the next two."""
    found: list[tuple[int, dt.date]] = []
    for index, text in enumerate(page.texts):
        if len(text) > 300:
            continue
        label = _POSTED_LABEL.search(text) or _BARE_LABEL.match(text)
        if not label or _is_aside(page, index):
            continue
        behind = squeeze(" ".join([text[label.end() :], *page.texts[index + 1 : index + 3]]))[:60]
        matches = [match for match in dates_in_text(behind, today, order=order) if match.has_year and match.start < 30]
        if matches:
            found.append((index, matches[0].date))
    if not found:
        return None
    anchor = start or 0
    return min(found, key=lambda entry: abs(entry[0] - anchor))[1]


def _by_time_element(page: Outline, today: dt.date, order: Order | None, start: int | None) -> dt.date | None:
    days: list[tuple[int, dt.date]] = []
    for element in page.elements:
        itemprop = (element.attributes.get("itemprop") or "").lower()
        if element.tag != "time" and itemprop not in ("datepublished", "datecreated"):
            continue
        if _NOT_POSTED.search(f"{element.names} {itemprop} {page.text_of(element)}") or _is_aside_element(
            page, element
        ):
            continue
        value = element.attributes.get("datetime") or element.attributes.get("content") or page.text_of(element)
        if day := _first_date(value, today, order):
            if itemprop == "datepublished" or element.attributes.get("pubdate") is not None:
                return day
            days.append((element.text_start, day))
    if not days:
        return None
    if len({day for _, day in days}) == 1:
        return days[0][1]
    if start is None:
        return None
    index, day = min(days, key=lambda entry: abs(entry[0] - start))
    return day if abs(index - start) <= 2 * _NEAR_TEXTS else None


def _near_headline(
    page: Outline, today: dt.date, order: Order | None, start: int, by_url: dt.date | None
) -> dt.date | None:
    """A date in the lines just under (or over) the headline, as long as no other line there gives another one."""
    after = list(_dates_around(page, today, order, range(start, min(len(page.texts), start + _NEAR_TEXTS))))
    before = list(_dates_around(page, today, order, range(max(0, start - 5), start)))
    if by_url and any(day == by_url for day, _ in (*after, *before)):
        return by_url
    for found in (after, before):
        named = [day for day, is_named in found if is_named]
        for days in (named, [day for day, _ in found]):
            if days:
                return days[0]
    return None


def _only_date_line(page: Outline, today: dt.date, order: Order | None) -> dt.date | None:
    """The day of the lines that are nothing but a date, where all of them outside asides give the same day."""
    days: set[dt.date] = set()
    for index, text in enumerate(page.texts):
        line = squeeze(text)
        if len(line) > 60 or _is_aside(page, index) or _NOT_POSTED.search(line):
            continue
        for match in dates_in_text(line, today, order=order):
            if match.has_year and match.end - match.start > 0.4 * len(line):
                days.add(match.date)
    return days.pop() if len(days) == 1 else None


def _dates_around(page: Outline, today: dt.date, order: Order | None, indexes: range) -> Iterator[tuple[dt.date, bool]]:
    """Dates of short lines, and whether label or class call them a date."""
    for index in indexes:
        text = squeeze(page.texts[index])
        owner = page.elements[page.text_owner[index]]
        if len(text) > 120 or _is_aside_element(page, owner) or _NOT_POSTED.search(text):
            continue
        for match in dates_in_text(text, today, order=order):
            if match.has_year:
                is_whole = match.end - match.start > 0.3 * len(text)
                if is_whole or _WEAK_LABEL.search(text) or _DATE_NAMES.search(owner.names):
                    yield match.date, bool(_WEAK_LABEL.search(text) or _DATE_NAMES.search(owner.names))
                break


def _is_aside(page: Outline, index: int) -> bool:
    return _is_aside_element(page, page.elements[page.text_owner[index]])


def _is_aside_element(page: Outline, element: Element) -> bool:
    """Whether an element lies beside the article.

    What holds a third of the page's texts is no aside, whatever its name.
    """
    node: Element | None = element
    while node is not None and node.tag != "body" and 3 * (node.text_end - node.text_start) < len(page.texts):
        if node.tag in ("nav", "footer", "aside") or _ASIDE.search(node.names):
            return True
        node = node.parent
    return False
