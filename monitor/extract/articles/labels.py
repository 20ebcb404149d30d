"""What a page states about itself: labelled lines, as 发布机构：国家能源局, meta elements and JSON-LD."""

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from html import unescape
from itertools import islice
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from monitor.extract.html import Element, Outline, collapse_whitespace


class Label(StrEnum):
    """What a label announces. A document is posted (发布), sent to the offices concerned (发文) and made (成文)."""

    POSTED = "posted"
    SENT = "sent"
    MADE = "made"
    ISSUER = "issuer"
    SOURCE = "source"
    NUMBER = "number"
    INDEX = "index"
    NAME = "name"
    OTHER = "other"


_WORDS_BY_LABEL = {
    Label.POSTED: """
        发布时间 发布日期 公开日期 公开时间 公布日期 公布时间 发稿时间 信息发布日期 上网日期 登载日期
        发表时间 发表日期 录入时间 录入日期 添加时间 添加日期 上传时间 上传日期 信息时间 信息日期 创建时间 创建日期
        刊登日期 發布日期 發布時間 發佈日期 發佈時間 張貼日期 公告日期 上版日期
    """,
    Label.SENT: "发文时间 发文日期 印发日期 印发时间 颁布日期 颁发日期 更新时间 更新日期",
    Label.MADE: """
        成文日期 成文时间 生成日期 生成时间 签发日期 制定日期 制发日期 生效日期 生效时间 实施日期
        施行日期 失效日期 失效时间 废止日期 截止日期 截止时间 有效期 有效日期
    """,
    Label.ISSUER: """
        发文机关 发文机构 发文单位 发布机构 发布机关 发布单位 发布部门 发文部门 颁布单位 颁发部门
        制定机关 制发机关 公开主体 公开责任部门 责任部门 发布主体 印发机关 發布單位 發布機關 發佈單位
    """,
    Label.SOURCE: "信息来源 文章来源 稿件来源 新闻来源 来源 來源 资料提供 供稿单位",
    Label.NUMBER: "发文字号 文号 文件编号 发文文号 公文文号 文件号 文件文号 发布文号 公告文号 發文字號 公告文號",
    Label.INDEX: "索引号 索引 信息索引 信息索引号",
    Label.NAME: "名称 信息名称 文件名称 公文名称 公文标题 标题 信息标题 文件标题",
    Label.OTHER: """
        主题分类 主题词 关键词 体裁分类 组配分类 信息分类 信息类别 公开类别 公开方式 公开形式 公开时限
        公开范围 公开程序 有效性 是否有效 文件状态 服务对象 服务对象分类 内容概述 内容摘要 生命周期
        作者 编辑 责任编辑 审核 责编 浏览次数 浏览量 阅读次数 阅读量 点击数 点击量 访问量 字号 字体
        字体大小 打印 分享 分享到 发布人 发布者 信息格式 语种 记录形式 公文种类 文种 分类 栏目 所属栏目
    """,
}

_LABEL_BY_WORD = {word: label for label, words in _WORDS_BY_LABEL.items() for word in words.split()}
_GAP = r"[\s\u3000\u00a0]*"
# A label is followed by a colon or stands in brackets; alone in its cell or span it needs neither.
_LABEL_PATTERN = "|".join(_GAP.join(word) for word in sorted(_LABEL_BY_WORD, key=len, reverse=True))
_LABEL_WITH_COLON = re.compile(
    rf"(?<![\u4e00-\u9fff])(?:[【\[]{_GAP})?({_LABEL_PATTERN}){_GAP}(?:[】\]]{_GAP}[:：]?|[:：])"
)
_LABEL_ALONE = re.compile(rf"^[\s\u3000【\[]*({_LABEL_PATTERN})[\s\u3000】\]:：]*$")
_MAX_LINE_CHARS = 300
_MIN_TITLE_CHARS, _MAX_TITLE_CHARS = 6, 200
_MAX_LABEL_CHARS = 16
_MAX_CELLS = 40  # of a row of labels
_MAX_ELEMENTS_BETWEEN = 40  # between a row of labels and the row of their values


@dataclass(frozen=True, slots=True)
class LabelledValue:
    """A label's value, and the index of the text with the value (of the label's text if the value is empty)."""

    label: Label
    value: str
    index: int


def list_labelled_values(page: Outline) -> list[LabelledValue]:
    """Return the value of each known label, in page order; the empty string where it has none.

    It goes up to the next label, else it is the next text that is no label, or the cell below a row of labels.
    """
    found: list[LabelledValue] = []
    for index, text in enumerate(page.texts):
        if len(text) > _MAX_LINE_CHARS:
            continue
        has_colon = "：" in text or ":" in text or "】" in text or "]" in text
        if not has_colon and len(text) > _MAX_LABEL_CHARS:
            continue
        if alone := _LABEL_ALONE.match(text):
            ends_open = "：" not in text and ":" not in text
            found.append(_read_standalone_label(page, index, _parse_label(alone[1]), ends_open=ends_open))
        elif has_colon:
            found.extend(_parse_line(page, index, text))
    return found


def find_stated_title(labelled: Sequence[LabelledValue]) -> str | None:
    """Return the title in the table of a government document, known by its index number."""
    if all(entry.label is not Label.INDEX for entry in labelled):
        return None
    names = (entry.value for entry in labelled if entry.label is Label.NAME)
    return next((name for name in names if _MIN_TITLE_CHARS <= len(name) <= _MAX_TITLE_CHARS), None)


def _parse_label(written: str) -> Label:
    return _LABEL_BY_WORD[re.sub(r"[\s\u3000\u00a0]", "", written)]


def _parse_line(page: Outline, index: int, text: str) -> Iterator[LabelledValue]:
    labels = list(_LABEL_WITH_COLON.finditer(text))
    for place, match in enumerate(labels):
        end = labels[place + 1].start() if place + 1 < len(labels) else len(text)
        value = _normalize_value(text[match.end() : end])
        if value or place + 1 < len(labels):
            yield LabelledValue(_parse_label(match[1]), value, index)
        else:
            yield _read_next_text(page, index, _parse_label(match[1]))


def _read_standalone_label(page: Outline, index: int, label: Label, *, ends_open: bool) -> LabelledValue:
    cell = page.elements[page.text_owner[index]].closest(("td", "th", "dt", "dd", "li", "p", "div"))
    if cell is None or cell.tag not in ("td", "th"):
        return _read_next_text(page, index, label)
    if ends_open and (under := _find_cell_below(page, cell)) is not None:
        value = page.get_text(under)
        return LabelledValue(label, value, under.text_start if value else index)
    if cell.text_end > index + 1:
        return _read_next_text(page, index, label)
    beside = page.elements[cell.end] if cell.end < len(page.elements) else None
    is_empty = beside is None or beside.parent is not cell.parent or beside.text_end == beside.text_start
    return LabelledValue(label, "", index) if is_empty else _read_next_text(page, index, label)


def _read_next_text(page: Outline, index: int, label: Label) -> LabelledValue:
    text = page.texts[index + 1] if index + 1 < len(page.texts) else ""
    if not text or len(text) > _MAX_LINE_CHARS or _LABEL_ALONE.match(text) or _LABEL_WITH_COLON.match(text.strip()):
        return LabelledValue(label, "", index)
    return LabelledValue(label, _normalize_value(text), index + 1)


def _find_cell_below(page: Outline, cell: Element) -> Element | None:
    """Return the cell below a label in a row of labels."""
    row = cell.parent
    if row is None or row.tag != "tr":
        return None
    if not 2 <= row.child_count <= _MAX_CELLS:
        return None
    labels = _list_children(page, row)
    if not all(_LABEL_ALONE.match(page.get_text(element, _MAX_LINE_CHARS)) for element in labels):
        return None
    following = islice(page.elements, row.end, row.end + _MAX_ELEMENTS_BETWEEN)
    below = next((e for e in following if e.tag == "tr" and e.depth == row.depth), None)
    if below is None or below.child_count != len(labels):
        return None
    values = _list_children(page, below)
    return values[labels.index(cell)] if len(values) == len(labels) else None


def _list_children(page: Outline, element: Element) -> list[Element]:
    children: list[Element] = []
    index = element.index + 1
    while index < element.end:
        children.append(page.elements[index])
        index = children[-1].end
    return children


def _normalize_value(text: str) -> str:
    return collapse_whitespace(unicodedata.normalize("NFC", text)).strip(" :：|丨·，,；;")


_ARTICLE_TYPES = frozenset(
    {
        *("article", "newsarticle", "blogposting", "report", "reportagenewsarticle", "webpage", "scholarlyarticle"),
        *("governmentpublication", "legislation", "claimreview", "analysisnewsarticle", "opinionnewsarticle"),
        *("backgroundnewsarticle", "reviewnewsarticle", "liveblogposting", "techarticle", "socialmediaposting"),
    }
)
_MAX_CHARS = 2000
_META_NAMES = ("property", "name", "itemprop", "http-equiv")
SITE_NAMES = ("sitename", "og:site_name")


@dataclass(frozen=True, slots=True)
class PageMetadata:
    """Meta elements by lower-case name, and the JSON-LD objects of the page's article."""

    meta: dict[str, str] = field(default_factory=dict)
    json_ld: list[dict[str, Any]] = field(default_factory=list)
    title_element: str = ""

    @property
    def is_article(self) -> bool:
        kinds = {str(thing.get("@type")).lower() for thing in self.json_ld}
        if self.meta.get("og:type", "").lower() == "article":
            return True
        if self.get_first("article:published_time", "articletitle"):
            return True
        return any("article" in kind or "post" in kind for kind in kinds)

    def get_first(self, *names: str) -> str | None:
        """Return the first of these meta elements that is not empty."""
        return next((self.meta[name] for name in names if self.meta.get(name)), None)

    def get_json_ld_text(self, key: str) -> str | None:
        """Return a text field of the article's JSON-LD."""
        values = (thing.get(key) for thing in self.json_ld)
        return next((_clean(text) for text in values if isinstance(text, str) and text.strip()), None)


def read_metadata(tree: LexborHTMLParser) -> PageMetadata:
    """Return the page's meta elements (name, property, itemprop, http-equiv; the first of a name) and JSON-LD."""
    meta: dict[str, str] = {}
    for element in tree.css("meta[content]"):
        attributes = element.attributes
        name = next(filter(None, map(attributes.get, _META_NAMES)), None)
        content = _clean((attributes.get("content") or "")[:_MAX_CHARS])
        if name and content:
            meta.setdefault(name.strip().lower(), content)
    return PageMetadata(meta, list(_list_article_objects(tree)), _read_title_element(tree))


def _read_title_element(tree: LexborHTMLParser) -> str:
    title = tree.css_first("title")
    return _clean(title.text()[:_MAX_CHARS]) if title is not None else ""


def _clean(stated: str) -> str:
    """Return what a head states on one line; some sites escape it twice (&amp;quot;)."""
    return collapse_whitespace(unescape(stated))


def find_site_name(tree: LexborHTMLParser) -> str:
    """Return the site's name: the meta element of Chinese governments or of Open Graph, else the whole page title."""
    for element in tree.css("meta[content]"):
        name = element.attributes.get("name") or element.attributes.get("property") or ""
        if name.strip().lower() in SITE_NAMES and (
            content := _clean((element.attributes["content"] or "")[:_MAX_CHARS])
        ):
            return content
    return _read_title_element(tree)


def _list_article_objects(tree: LexborHTMLParser) -> Iterator[dict[str, Any]]:
    for script in tree.css('script[type="application/ld+json"]'):
        with suppress(ValueError, RecursionError):
            content = json.loads(script.text().strip().rstrip(";"), strict=False)
            yield from filter(_is_article_object, _list_json_ld_objects(content))


def _list_json_ld_objects(content: object, depth: int = 0) -> Iterator[dict[str, Any]]:
    if depth > 4:
        return
    if isinstance(content, list):
        for entry in content:
            yield from _list_json_ld_objects(entry, depth + 1)
    elif isinstance(content, dict):
        yield content
        for key in ("@graph", "mainEntity", "mainEntityOfPage"):
            yield from _list_json_ld_objects(content.get(key), depth + 1)


def _is_article_object(thing: dict[str, Any]) -> bool:
    stated = thing.get("@type")
    kinds = stated if isinstance(stated, list) else [stated]
    return any(str(kind).lower().rpartition("/")[2] in _ARTICLE_TYPES for kind in kinds)
