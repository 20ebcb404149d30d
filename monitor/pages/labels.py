"""Labelled lines: what Chinese official pages say about a document in a table or a line, as 发布机构：国家能源局."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from monitor.pages.outline import Element, Outline, squeeze


class Label(StrEnum):
    """What a label announces. A day is posted (发布), sent to the offices concerned (发文) or made (成文)."""

    POSTED = "posted"
    SENT = "sent"
    MADE = "made"
    ISSUER = "issuer"
    SOURCE = "source"
    NUMBER = "number"
    INDEX = "index"
    NAME = "name"
    OTHER = "other"


_WORDS = {
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
_KIND = {word: label for label, words in _WORDS.items() for word in words.split()}
_GAP = r"[\s\u3000\u00a0]*"
# A label is followed by a colon or stands in brackets; alone in its cell or span it needs neither.
_PATTERN = "|".join(_GAP.join(word) for word in sorted(_KIND, key=len, reverse=True))
_WITH_COLON = re.compile(rf"(?<![\u4e00-\u9fff])(?:[【\[]{_GAP})?({_PATTERN}){_GAP}(?:[】\]]{_GAP}[:：]?|[:：])")
_ALONE = re.compile(rf"^[\s\u3000【\[]*({_PATTERN})[\s\u3000】\]:：]*$")
_LONGEST_LINE = 300
_LONGEST_LABEL = 16


@dataclass(frozen=True, slots=True)
class Labelled:
    """A label's value, and the index of the text that the value stands in (of the label, where it has none)."""

    label: Label
    value: str
    index: int


def labelled_values(page: Outline) -> list[Labelled]:
    """What stands behind each known label, in page order; the empty string where nothing does.

    The value is what follows in the same text up to the next label, else the next text, unless that is a label too.
    In a table whose labels make a row of their own the value is the cell under the label.
    """
    found: list[Labelled] = []
    for index, text in enumerate(page.texts):
        if len(text) > _LONGEST_LINE:
            continue
        has_colon = "：" in text or ":" in text or "】" in text or "]" in text
        if not has_colon and len(text) > _LONGEST_LABEL:
            continue
        if alone := _ALONE.match(text):
            found.append(_standing_alone(page, index, _kind(alone[1]), ends_open="：" not in text and ":" not in text))
        elif has_colon:
            found.extend(_in_line(page, index, text))
    return found


def label_before(page: Outline, index: int) -> Label | None:
    """The label that the text before this one is, if it is nothing else."""
    text = page.texts[index - 1] if index else ""
    if not text or len(text) > _LONGEST_LABEL:
        return None
    alone = _ALONE.match(text)
    return _kind(alone[1]) if alone else None


def _kind(written: str) -> Label:
    return _KIND[re.sub(r"[\s\u3000\u00a0]", "", written)]


def _in_line(page: Outline, index: int, text: str) -> Iterator[Labelled]:
    labels = list(_WITH_COLON.finditer(text))
    for place, match in enumerate(labels):
        end = labels[place + 1].start() if place + 1 < len(labels) else len(text)
        value = _tidy(text[match.end() : end])
        if value or place + 1 < len(labels):
            yield Labelled(_kind(match[1]), value, index)
        else:
            yield _behind(page, index, _kind(match[1]))


def _standing_alone(page: Outline, index: int, label: Label, *, ends_open: bool) -> Labelled:
    cell = _cell(page, index)
    if cell is None or cell.tag not in ("td", "th"):
        return _behind(page, index, label)
    if ends_open and (under := _cell_under(page, cell)) is not None:
        value = page.text_of(under)
        return Labelled(label, value, under.text_start if value else index)
    if cell.text_end > index + 1:
        return _behind(page, index, label)
    beside = next((e for e in page.elements[cell.end :] if e.parent is cell.parent), None)
    if beside is None or beside.text_end == beside.text_start:
        return Labelled(label, "", index)
    return _behind(page, index, label)


def _behind(page: Outline, index: int, label: Label) -> Labelled:
    """The value in the next text."""
    text = page.texts[index + 1] if index + 1 < len(page.texts) else ""
    if not text or len(text) > _LONGEST_LINE or _ALONE.match(text) or _WITH_COLON.match(text.strip()):
        return Labelled(label, "", index)
    return Labelled(label, _tidy(text), index + 1)


def _cell(page: Outline, index: int) -> Element | None:
    node: Element | None = page.elements[page.text_owner[index]]
    while node is not None and node.tag not in ("td", "th", "dt", "dd", "li", "p", "div"):
        node = node.parent
    return node


def _cell_under(page: Outline, cell: Element) -> Element | None:
    """The cell under a label, where all the cells of the label's row are labels."""
    row = cell.parent
    if row is None or row.tag != "tr":
        return None
    labels = [element for element in page.inside(row) if element.parent is row]
    if len(labels) < 2 or not all(_ALONE.match(page.text_of(element)) for element in labels):
        return None
    below = next((e for e in page.elements[row.end :] if e.tag == "tr" and e.depth == row.depth), None)
    if below is None:
        return None
    values = [element for element in page.inside(below) if element.parent is below]
    return values[labels.index(cell)] if len(values) == len(labels) else None


def _tidy(text: str) -> str:
    return squeeze(unicodedata.normalize("NFC", text)).strip(" :：|丨·，,；;")
