"""Reads a page as an article: title, date, main text, language, issuer and document number."""

import datetime as dt
import re
from collections.abc import Sequence
from itertools import pairwise

from selectolax.lexbor import LexborHTMLParser

from monitor.extract.articles.dates import DayFinder
from monitor.extract.articles.labels import (
    Label,
    LabelledValue,
    PageMetadata,
    find_stated_title,
    list_labelled_values,
    read_metadata,
)
from monitor.extract.articles.lines import PageLines
from monitor.extract.articles.text import join_prose, list_prose_weights, score_lines, select_lines, select_text
from monitor.extract.articles.title import find_article_title
from monitor.extract.html import Outline
from monitor.extract.marks import mark_lines, mark_page
from monitor.page import Candidate, Page
from monitor.site_memory import weaken_lines

_MAX_SUMMARY_CHARS = 800
_MIN_SURE, _MIN_TEXT_WIDTH = 0.8, 120
_MIN_ROWS = 3  # a way back and a breadcrumb near the day of a short notice are fewer


def _is_list_page(view: PageLines, candidates: Sequence[Candidate]) -> bool:
    """Whether the dated list on a page has several rows and is longer than its sentences, those in its rows aside.

    Sentences between two rows are a summary, unless they are long or the longest such stretch. A page that declares
    itself an article is one.
    """
    page, metadata = view.page, view.metadata
    is_dated = 2 * sum(candidate.date is not None for candidate in candidates) >= len(candidates)
    if len(candidates) < _MIN_ROWS or not is_dated or metadata.is_article:
        return False
    prose = list_prose_weights(view)
    urls = {candidate.url for candidate in candidates}
    places = sorted({anchor.element.text_start for anchor in page.anchors if anchor.url in urls})
    between = [sum(prose[start:end]) for start, end in pairwise(places)]
    of_list = sum(weight for weight in sorted(between)[:-1] if weight <= _MAX_SUMMARY_CHARS)
    return sum(len(candidate.title) for candidate in candidates) + of_list > sum(prose) - of_list


def _has_own_text(view: PageLines, scores: Sequence[float], rows: Sequence[Candidate]) -> bool:
    """Whether lines that are no rows are surely a main text, as in an article beside a long dated list."""
    urls = {candidate.url for candidate in rows}
    places = {view.line_of_text[anchor.element.text_start] for anchor in view.page.anchors if anchor.url in urls}
    sure = (view.lines[place] for place, score in enumerate(scores) if score >= _MIN_SURE and place not in places)
    return sum(line.width for line in sure if 4 * line.linked < line.width) >= _MIN_TEXT_WIDTH


_DOCUMENT_NUMBER = re.compile(
    r"(?<![\u4e00-\u9fff])[\u4e00-\u9fffA-Za-z]{1,16}\s?[〔\[【（(﹝［]\s?(?:19|"
    r"20)\d\d\s?[〕\]】）)﹞］]\s?(?:第\s?)?\d{1,5}\s?[号號]"
    r"|[\u4e00-\u9fff]{2,14}(?:公告|令|通告)\s?(?:19|20)\d\d\s?年\s?第\s?\d{1,4}\s?[号號]"
)
# What stands in the cell of a document's number without the usual brackets: 2026年第3号, 第12号, AQ-2026-3.
_BARE_NUMBER = re.compile(r"(?=.{2,40}$)(?=.*\d)[\u4e00-\u9fffA-Za-z\d〔〕\[\]（）()/第号號-]+")
_KANA, _HANGUL, _HAN = map(re.compile, ("[\u3040-\u30ff]+", "[\uac00-\ud7a3]+", "[\u4e00-\u9fff]+"))
_MAX_ISSUER_CHARS = 40
_MAX_HEAD_LINES = 8
_GENERIC_SOURCE = re.compile(
    r"本[站网]?(?:原创)?|原创|转载|网络|互联网|佚名|未知|不详|无|admin(?:istrator)?", re.IGNORECASE
)
_TRAILING_LABEL = re.compile(
    r"\s*(?:发布时间|发布日期|发文日期|成文日期|时间|日期|作者|编辑|责任编辑|浏览|阅读|点击|字体|字号|字体大小|打印|分享|【|\||(?:19|20)\d\d[-/年.]).*$"
)


def read_article(page: Page, outline: Outline, tree: LexborHTMLParser, html_text: str, today: dt.date) -> None:
    """Fill the fields of an article: title, text, date, language, issuer and number, each only if the page says it.

    What the page states (metadata, labelled lines) comes before what a library guesses, and a guess that nothing
    supports is dropped. On a list page nothing in the rows, the page's candidates, is said of the page.
    """
    view = PageLines(outline, read_metadata(tree))
    scores = own_scores = score_lines(view)
    if outline.memory is not None:
        lines = mark_lines(view)
        page.marks = mark_page(view, lines)
        scores = weaken_lines(lines, own_scores, outline.memory)
    repeated = {place for place, score in enumerate(scores) if score < own_scores[place]}
    rows = page.candidates if _is_list_page(view, page.candidates) else []
    is_list = bool(rows) and not _has_own_text(view, scores, rows)
    labelled = [] if is_list else list_labelled_values(outline)
    listed = [candidate.title for candidate in rows]
    page.title = find_article_title(view, scores, listed=listed, stated=find_stated_title(labelled), is_list=is_list)
    days = {candidate.date for candidate in rows}
    finder = DayFinder(view, page.title, today, scores, labelled, html_text, days, is_list)
    page.published_on, page.date_source = finder.find()
    page.text = join_prose(view) if is_list else select_text(view, scores, html_text, repeated)
    start = next(iter(select_lines(scores)), 0)
    head_lines = [line.text for line in view.lines[max(0, start - _MAX_HEAD_LINES) : start + _MAX_HEAD_LINES]]
    page.language = _detect_language(tree, page.text or outline.full_text[:2000])
    page.issuer = _find_issuer(labelled, view.metadata)
    page.document_number = _find_document_number(labelled, page.title, head_lines)


def _detect_language(tree: LexborHTMLParser, text: str) -> str | None:
    """Return the language code that the script of the text shows, else the one that the page declares."""
    if by_script := _detect_script_language(text[:3000]):
        return by_script
    root = tree.css_first("html")
    declared = (root.attributes.get("lang") or root.attributes.get("xml:lang") or "") if root is not None else ""
    found = re.match(r"[a-z]{2,3}(?=$|[-_])", declared.strip().lower())
    return found[0] if found and found[0] not in ("zh", "ja", "ko") else None


def _detect_script_language(text: str) -> str | None:
    if text.isascii():
        return None
    alphabetic = "".join(filter(str.isalpha, text))
    kana, hangul, han = (sum(map(len, script.findall(alphabetic))) for script in (_KANA, _HANGUL, _HAN))
    if hangul > 0.2 * len(alphabetic):
        return "ko"
    if kana > 0.1 * len(alphabetic):
        return "ja"
    return "zh" if han > 0.2 * len(alphabetic) else None


def _find_issuer(labelled: Sequence[LabelledValue], metadata: PageMetadata) -> str | None:
    """Return the office in the document's table, else the source in the metadata or under the headline."""
    stated = re.sub(r"^\s*(?:信息|文章)?来源\s*[:：]\s*", "", metadata.get_first("contentsource", "source") or "")
    for label in (Label.ISSUER, Label.SOURCE):
        named = (_TRAILING_LABEL.sub("", entry.value).strip(" :：|") for entry in labelled if entry.label is label)
        issuer = next((value for value in named if 2 <= len(value) <= _MAX_ISSUER_CHARS), None)
        if label is Label.SOURCE and stated:
            issuer = stated
        if issuer and not _GENERIC_SOURCE.fullmatch(issuer):
            return issuer
    return None


def _find_document_number(labelled: Sequence[LabelledValue], title: str, lines: Sequence[str]) -> str | None:
    for entry in labelled:
        if entry.label is not Label.NUMBER:
            continue
        if found := _DOCUMENT_NUMBER.search(entry.value):
            return re.sub(r"\s", "", found[0])
        if _BARE_NUMBER.fullmatch(entry.value):
            return entry.value
    # In a sentence it is the number of another document.
    own_lines = (_DOCUMENT_NUMBER.fullmatch(line.strip(" 　()（）")) for line in lines)
    found = _DOCUMENT_NUMBER.search(title) or next((line for line in own_lines if line), None)
    return re.sub(r"\s", "", found[0]) if found else None
