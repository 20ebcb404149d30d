"""An article: its title, its day, its text, who issued it."""

import datetime as dt
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser

from monitor.domain.words import DateSource
from monitor.pages.articledate import article_date
from monitor.pages.articletext import main_text
from monitor.pages.articletitle import article_title
from monitor.pages.metadata import Metadata, read_metadata
from monitor.pages.outline import Outline, squeeze
from monitor.pages.prose import prose_chars

_DOCUMENT_NUMBER = re.compile(
    r"(?<![\u4e00-\u9fff])[\u4e00-\u9fffA-Za-z]{1,16}\s?[〔\[【（(﹝［]\s?(?:19|"
    r"20)\d\d\s?[〕\]】）)﹞］]\s?(?:第\s?)?\d{1,5}\s?[号號]"
    r"|[\u4e00-\u9fff]{2,14}(?:公告|令|通告)\s?(?:19|20)\d\d\s?年\s?第\s?\d{1,4}\s?[号號]"
)
_NUMBER_LABEL = re.compile(r"^(?:发文字号|文\s*号|文件编号|发文文号|公文文号|文件号)\s*[:：]?\s*(.*)$")
_ISSUER_LABEL = re.compile(
    r"^[【\[]?\s*(?:发文机关|发文机构|发文单位|发布机构|发布机关|发布单位|制定机关|制发机关|公开主体|公开责任部门|责任部门|信息来源|文章来源|稿件来源|来源|來源|资料提供|"
    r"Source)\s*[】\]]?\s*[:：]?\s*(.*)$"
)
_IS_SOURCE_ONLY = re.compile(r"^(?:信息来源|文章来源|稿件来源|来源|來源|Source)")
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
    page: Outline, tree: LexborHTMLParser, html_text: str, today: dt.date, *, listed: Sequence[str] = ()
) -> Article:
    """Reads a page as an article; dates after tomorrow, seen from `today`, are no dates.

    A page's own statements (meta data, labelled lines) come before what a library guesses, and a guess that nothing
    supports is left out. `listed` are the titles of the list that the page holds: where they outweigh its sentences,
    the page is a list, and what stands in its rows is not said of the page.
    """
    metadata = read_metadata(tree)
    is_list = bool(listed) and not metadata.says_article and sum(map(len, listed)) > prose_chars(page)
    title = article_title(page, metadata, listed=listed if is_list else ())
    day, source = article_date(page, metadata, title, today, is_list=is_list)
    text = main_text(page, html_text, is_list=is_list)
    return Article(
        title=title,
        text=text,
        published_on=day,
        date_source=source,
        language=_language(tree, text or page.full_text[:2000]),
        issuer=_issuer(page, metadata),
        document_number=_document_number(page, title, text),
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
    letters = [char for char in text if char.isalpha()]
    if not letters:
        return None
    kana = sum("\u3040" <= char <= "\u30ff" for char in letters)
    hangul = sum("\uac00" <= char <= "\ud7a3" for char in letters)
    han = sum("\u4e00" <= char <= "\u9fff" for char in letters)
    if hangul > 0.2 * len(letters):
        return "ko"
    if kana > 0.1 * len(letters):
        return "ja"
    return "zh" if han > 0.2 * len(letters) else None


def _labelled(page: Outline, label: re.Pattern[str]) -> list[tuple[str, str]]:
    """Labels and their values: behind the label in the same text, or in the next text of the page."""
    found = []
    for index, raw in enumerate(page.texts):
        if len(raw) > 200:
            continue
        text = squeeze(unicodedata.normalize("NFKC", raw)) if "：" not in raw else squeeze(raw)
        match = label.match(text)
        if not match:
            continue
        value = match[1].strip()
        is_bare = text.rstrip("：: 】]").endswith(match[0].rstrip("：: 】]")) and not value
        if is_bare and index + 1 < len(page.texts):
            value = squeeze(page.texts[index + 1])
        elif value and not re.search(r"[:：\s】\]]", text[: len(text) - len(value)]):
            continue  # 来源于… is a sentence, no label
        found.append((text, value))
    return found


def _issuer(page: Outline, metadata: Metadata) -> str | None:
    named = [(text, _STOP.sub("", value).strip(" :：|")) for text, value in _labelled(page, _ISSUER_LABEL)]
    named = [(text, value) for text, value in named if 2 <= len(value) <= 40]
    by_office = [value for text, value in named if not _IS_SOURCE_ONLY.match(text)]
    if by_office:
        return by_office[0]
    return metadata.first("contentsource", "source") or (named[0][1] if named else None)


def _document_number(page: Outline, title: str, text: str) -> str | None:
    for _, value in _labelled(page, _NUMBER_LABEL):
        if found := _DOCUMENT_NUMBER.search(value):
            return squeeze(found[0])
    found = _DOCUMENT_NUMBER.search(title) or _DOCUMENT_NUMBER.search(text[:600])
    return re.sub(r"\s", "", found[0]) if found else None
