"""The title of a record: what the link says, in full, without the date."""

import re

from monitor.pages.outline import Anchor, Element, Outline, squeeze
from monitor.pages.records import Record

_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_HAS_WORD = re.compile(r"[^\W\d_]{3}|[\u3040-\ud7a3]{2}")
_LONGEST = 500
_CUT = re.compile(r"\s*(?:…+|\.{2,}|⋯+|。。+)\s*$")
_SAYS_NOTHING = re.compile(
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
    r"[\s\[(（【|·-]*(?:发布时间|发布日期|日期|时间)?[:：\s]*(?:19|"
    r"20)\d\d[-/.年]\d{1,2}[-/.月]\d{1,2}日?(?:\s*\d{1,2}:\d\d(?::\d\d)?)?[\])）】\s]*$"
)
_DATE_HEAD = re.compile(
    r"^[\s\[(（【]*(?:19|20)\d\d[-/.年]\d{1,2}[-/.月]\d{1,2}日?(?:\s*\d{1,2}:\d\d(?::\d\d)?)?[\])）】]*[\s|·:：]+"
)
_BULLET = re.compile(r"^[\s·•▪■□◆◇●○>›»)]+(?=\S)")
_DATE_LABEL = re.compile(r"^[^:：]{0,20}(?:\bdate[ds]?|日期|时间)\s*[:：]", re.IGNORECASE)


def record_title(page: Outline, record: Record) -> str:
    """The title of a list's record.

    The link's own text, or the heading in it where the whole card is the link; the full text of a `title` attribute
    where the visible one is cut. Where the link says nothing ("more", "PDF", a picture), the record's heading, the
    picture's name, or the longest text beside it.
    """
    titles = [title for anchor in record.anchors if (title := anchor_title(page, anchor))]
    best = max(titles, key=len, default="")
    if best and not _SAYS_NOTHING.match(best) and _HAS_WORD.search(best):
        return best
    return _heading_in(page, record.element) or _longest_text(page, record) or best or _picture_name(page, record)


def anchor_title(page: Outline, anchor: Anchor) -> str:
    """What one link is called: never its date, in full where its `title` attribute has more than it shows."""
    visible = (_heading_in(page, anchor.element) or anchor.text)[:_LONGEST]
    visible = squeeze(_BULLET.sub("", _DATE_HEAD.sub("", _DATE_TAIL.sub("", visible)) or visible))
    written = squeeze((anchor.element.attributes.get("title") or "")[:_LONGEST])
    if not written:
        return visible
    stem = _CUT.sub("", visible)
    if not visible or (stem and written.startswith(stem) and len(written) > len(stem)):
        return squeeze(_DATE_TAIL.sub("", written)) or written
    if stem != visible and stem[:6] and stem[:6] in written:
        return squeeze(_DATE_TAIL.sub("", written)) or written
    return visible


def _heading_in(page: Outline, element: Element) -> str:
    headings = [page.text_of(inner) for inner in page.inside(element) if inner.tag in _HEADINGS]
    return max([heading for heading in headings if not _SAYS_NOTHING.match(heading)], key=len, default="")


def _longest_text(page: Outline, record: Record) -> str:
    """The longest run of text beside the link that is no date."""
    texts = [squeeze(text) for text in page.texts[record.text_start : record.text_end]]
    texts = [
        _BULLET.sub("", text)
        for text in texts
        if not (_DATE_HEAD.match(text + " ") or _DATE_LABEL.match(text) or _SAYS_NOTHING.match(text))
    ]
    longest = max(texts, key=len, default="")
    return longest if len(longest) >= 4 else ""


def _picture_name(page: Outline, record: Record) -> str:
    for element in page.inside(record.element):
        if element.tag == "img" and (
            name := squeeze(element.attributes.get("alt") or element.attributes.get("title") or "")
        ):
            return name
    return record.url.rstrip("/").rsplit("/", 1)[-1]
