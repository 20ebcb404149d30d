"""An article: its title, its day, its text, who issued it."""

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser

from monitor.domain.page import Candidate
from monitor.domain.words import DateSource
from monitor.pages.articledate import article_date
from monitor.pages.articletext import main_text
from monitor.pages.articletitle import article_title
from monitor.pages.labels import Label, Labelled, labelled_values
from monitor.pages.metadata import Metadata, read_metadata
from monitor.pages.outline import Outline
from monitor.pages.pagekind import is_list_page

_DOCUMENT_NUMBER = re.compile(
    r"(?<![\u4e00-\u9fff])[\u4e00-\u9fffA-Za-z]{1,16}\s?[〔\[【（(﹝［]\s?(?:19|"
    r"20)\d\d\s?[〕\]】）)﹞］]\s?(?:第\s?)?\d{1,5}\s?[号號]"
    r"|[\u4e00-\u9fff]{2,14}(?:公告|令|通告)\s?(?:19|20)\d\d\s?年\s?第\s?\d{1,4}\s?[号號]"
)
# What stands in the cell of a document's number without the usual brackets: 2026年第3号, 第12号, AQ-2026-3.
_WRITTEN_NUMBER = re.compile(r"(?=.{2,40}$)(?=.*\d)[\u4e00-\u9fffA-Za-z\d〔〕\[\]（）()/第号號-]+")
_KANA, _HANGUL, _HAN = map(re.compile, ("[\u3040-\u30ff]+", "[\uac00-\ud7a3]+", "[\u4e00-\u9fff]+"))
_LONGEST_NAME = 40
_HEAD_CHARS = 600
_NO_SOURCE = re.compile(r"本[站网]?(?:原创)?|原创|转载|网络|互联网|佚名|未知|不详|无|admin(?:istrator)?", re.IGNORECASE)
_LEAST_TITLE, _LONGEST_TITLE = 6, 200
_STOP = re.compile(
    r"\s*(?:发布时间|发布日期|发文日期|成文日期|时间|日期|作者|编辑|责任编辑|浏览|阅读|点击|字体|字号|字体大小|打印|分享|【|\||(?:19|20)\d\d[-/年.]).*$"
)


@dataclass(frozen=True, slots=True)
class Article:
    """What a page says as an article; each field empty or None where it does not say it."""

    title: str = ""
    text: str = ""
    published_on: dt.date | None = None
    date_source: DateSource = DateSource.UNKNOWN
    language: str | None = None
    issuer: str | None = None
    document_number: str | None = None


def read_article(
    page: Outline,
    tree: LexborHTMLParser,
    html_text: str,
    today: dt.date,
    *,
    candidates: Sequence[Candidate] = (),
) -> Article:
    """Reads a page as an article; dates after tomorrow, seen from `today`, are no dates.

    A page's own statements (meta data, labelled lines) come before what a library guesses, and a guess that nothing
    supports is left out. `candidates` is the list that the page holds: where it is a list page, what stands in the rows
    is not said of the page.
    """
    metadata = read_metadata(tree)
    is_list = is_list_page(page, metadata, candidates, today)
    listed = [candidate.title for candidate in candidates] if is_list else []
    labelled = [] if is_list else labelled_values(page)
    title = article_title(page, metadata, listed=listed, stated=_stated_title(labelled))
    day, source = article_date(page, metadata, title, today, labelled=labelled, is_list=is_list, html_text=html_text)
    text = main_text(page, html_text, is_list=is_list)
    return Article(
        title=title,
        text=text,
        published_on=day,
        date_source=source,
        language=_language(tree, text or page.full_text[:2000]),
        issuer=_issuer(labelled, metadata),
        document_number=_document_number(labelled, title, text),
    )


def _language(tree: LexborHTMLParser, text: str) -> str | None:
    """The language's code: what the script of the text shows, else what the page declares."""
    by_script = _language_of_script(text[:3000])
    if by_script:
        return by_script
    root = tree.css_first("html")
    declared = (root.attributes.get("lang") or root.attributes.get("xml:lang") or "") if root is not None else ""
    found = re.match(r"[a-z]{2,3}(?=$|[-_])", declared.strip().lower())
    if found and found[0] not in ("zh", "ja", "ko"):
        return found[0]
    return None


def _language_of_script(text: str) -> str | None:
    if text.isascii():
        return None
    letters = "".join(filter(str.isalpha, text))
    kana, hangul, han = (sum(map(len, script.findall(letters))) for script in (_KANA, _HANGUL, _HAN))
    if hangul > 0.2 * len(letters):
        return "ko"
    if kana > 0.1 * len(letters):
        return "ja"
    return "zh" if han > 0.2 * len(letters) else None


def _issuer(labelled: Sequence[Labelled], metadata: Metadata) -> str | None:
    """The office that a document's table names, else the source that meta data or a line under the headline give."""
    for label in (Label.ISSUER, Label.SOURCE):
        named = (_STOP.sub("", entry.value).strip(" :：|") for entry in labelled if entry.label is label)
        issuer = next((value for value in named if 2 <= len(value) <= _LONGEST_NAME), None)
        if label is Label.SOURCE:
            stated = re.sub(r"^\s*(?:信息|文章)?来源\s*[:：]\s*", "", metadata.first("contentsource", "source") or "")
            issuer = stated or issuer
        if issuer and not _NO_SOURCE.fullmatch(issuer):
            return issuer
    return None


def _document_number(labelled: Sequence[Labelled], title: str, text: str) -> str | None:
    for entry in labelled:
        if entry.label is not Label.NUMBER:
            continue
        if found := _DOCUMENT_NUMBER.search(entry.value):
            return re.sub(r"\s", "", found[0])
        if _WRITTEN_NUMBER.fullmatch(entry.value):
            return entry.value
    # In a sentence it is the number of a document that the sentence speaks of.
    own_lines = (_DOCUMENT_NUMBER.fullmatch(line.strip(" 　()（）")) for line in text[:_HEAD_CHARS].splitlines())
    found = _DOCUMENT_NUMBER.search(title) or next((line for line in own_lines if line), None)
    return re.sub(r"\s", "", found[0]) if found else None


def _stated_title(labelled: Sequence[Labelled]) -> str | None:
    """The name that the table of a published government document gives it; other tables name other things."""
    if all(entry.label is not Label.INDEX for entry in labelled):
        return None
    names = (entry.value for entry in labelled if entry.label is Label.NAME)
    return next((name for name in names if _LEAST_TITLE <= len(name) <= _LONGEST_TITLE), None)
