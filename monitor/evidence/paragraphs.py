"""The paragraphs and clauses of a page, without what its site changes by itself, recognised by form alone."""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from monitor.dates import DATE_SIGN, mask_dates

_MAX_BOILERPLATE_CHARS = 150
_HOUR = r"\d{1,2}\s?[:：时]\s?\d{1,2}(?:\s?[:：分]\s?\d{1,2}\s?秒?)?分?"
_INSTANT = rf"{DATE_SIGN}(?:[ T]*{_HOUR})?"
_WEEKDAY = r"(?:星期|周|礼拜)[一二三四五六日天]"
_NUMBER = r"\d[\d,.]*\s?[kKmM万]?"
_SKY = r"(?:晴|阴|多云|小雨|中雨|大雨|阵雨|雷阵雨|小雪|中雪|大雪|雾|霾)"

_COUNTED = (
    r"(?:今日|昨日|本月|累计|总)?(?:浏览|阅读|点击|访问|访客|查看|下载|评论|点赞|转发|收藏|在看|在线|人气|热度)\s?(?:次数|人数|人次|数量|总数|量|数|率)?"
    rf"\s?:?\s?[\[(]?\s?{_NUMBER}\s?(?:人次|次|人|条)?\s?[\])]?|"
    rf"(?:您是|你是)?第\s?{_NUMBER}\s?[位个](?:访问者|访客|来访者|浏览者)|"
    rf"\b(?:views?|reads?|hits|visits|downloads?|comments?|likes|shares)\s?:\s?{_NUMBER}|"
    rf"\b{_NUMBER}\s(?:views?|comments?|likes|shares|min(?:ute)?s?\sread)\b|\breading\stime\s?:?\s?\d+\smin(?:ute)?s?"
)

_VOTED = r"(?:不满意|基本满意|非常满意|满意|有用|没用|顶|踩)\s?[(:]\s?\d+\s?票?\)?|您的IP(?:地址)?\s?(?:是|:)\s?[\d.]+"

_AGO = (
    r"\d+\s?(?:秒|分钟|小时|天|周|个月|年)前(?:\s?(?:更新|发布|发表))?|(?:距离?|离)[^。]{0,12}(?:还有|还剩|仅剩)\s?\d+\s?天|"
    r"\b\d+\s(?:second|minute|hour|day|week|month|year)s?\s(?:ago|left|remaining)\b|"
    r"\b(?:page\s)?generated\s(?:in|on|at)\b.*"
)

_DATED = (
    r"(?:页面|网页|本页)?(?:发布|发表|更新|打印|访问|修改|录入|上传|当前|系统|北京)(?:日期|时间)\s?:\s?"
    rf"{_INSTANT}|最后(?:更新|修改)(?:日期|时间|于)?\s?:?\s?{_INSTANT}|"
    r"(?:\bthis\s|\bthe\s)?(?:\b(?:page|site|website|content|information)\s)?(?:was\s)?\b(?:last\s)?"
    rf"(?:reviewed|updated|modified|checked|printed|published)(?:\son)?\s?:?\s?{_INSTANT}|"
    rf"{DATE_SIGN}\s?{_WEEKDAY}(?:\s?农历\S{{2,12}})?(?:\s?{_HOUR})?"
)

_WEATHER = rf"(?:天气\s?:\s?)?{_SKY}(?:转{_SKY})?\s?-?\d+\s?(?:°C)?\s?[~-]\s?-?\d+\s?°C|空气质量\s?:?\s?\S{{1,4}}"
_LETTER_SIZES = (
    r"[\[【(]?(?:字体|字号|文字)(?:大小)?\s?:?[\s\[【(]*(?:特大|超大|大|小)[\s\]】)\[【(|/]*(?:大|中|默认)"
    r"[\s\]】)\[【(|/]*[小中][\s\]】)]*"
)

# What is taken out of a line that says other things too: numbers and days that change without the document.
_VOLATILE_TEXT = re.compile("|".join((_COUNTED, _VOTED, _AGO, _DATED, _WEATHER, _LETTER_SIZES)), re.IGNORECASE)

# What says nothing of the document in a sentence either: the hour of the visit, up to when a text is current, votes.
_VOLATILE_PHRASE = re.compile(
    rf"(?:今天|今日|现在|当前)(?:时间)?是\s?[:：]?\s?{_INSTANT}(?:\s?{_WEEKDAY})?(?:\s?{_HOUR})?|"
    rf"\b(?:up to date|current|correct|accurate)\s(?:as\s)?(?:of|at|to|on)\s{_INSTANT}|"
    rf"\bknown to be in force on or before\s{_INSTANT}|\b(?:Yes|No|Useful|Helpful)\s?\(\d+\)"
)

# Of such words alone a line is a tool or a footer; in a sentence they are words like others.
_PAGE_TOOLS = re.compile(
    "|".join(
        (
            r"视力保护色|扫(?:一扫|码)[^。]{0,20}|用微信[^。]{0,20}|(?:一键)?分享(?:本[页文]|此[页文])?\s?[到至]?|加入收藏|设为首页",
            r"(?:我要)?(?:打印|关闭|收藏|推荐|纠错|转发|点赞)(?:本[页文]|此[页文]|页面|窗口|文章)?|返回(?:顶部|首页|列表|上一?[页级])",
            r"微信(?:好友)?|朋友圈|(?:新浪|腾讯)?微博|QQ(?:空间|好友)?|钉钉|豆瓣|人人网|百度贴吧|复制链接|生成海报",
            r"\b(?:share|print)(?:\sthis(?:\s(?:page|article))?)?(?:\s(?:on|to|via))?\b|\b(?:back to top|copy link)\b",
            r"\b(?:facebook|twitter|linkedin|whatsapp|e-?mail|x)\b",
            r"(?:copyright|版权所有|©).*|(?:网站标识码|备案号|\S{0,3}ICP备|公网安备).*",
            r"(?:信息|文章|稿件)?(?:来源|作者|责任编辑|责编|编辑)\s?:\s?\S{1,20}",
            r"(?:相关|推荐|延伸|热门|热点|最新|近期)(?:阅读|文章|链接|新闻|解读|政策|信息|资讯|动态|排行|公告)|猜你喜欢|附件(?:下载|列表|\s?:)",
        )
    ),
    re.IGNORECASE,
)

_CELL = re.compile(r"(?<!\\)\|")

# Between the paragraphs of Chinese text that an extractor wrote in one line stands a space.
_PARAGRAPH_BREAK = re.compile(r"(?<=[。；！？])\s+(?=[\u4e00-\u9fff(（\d])|(?<=：)\s+(?=[(（][一二三四五六七八九十])")
_SENTENCE_MARK = re.compile(r"[。;!?]|\.$")
_WORD_CHAR = re.compile(r"[^\W_]")
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "‚": "'"})
_DASHES = re.compile(r"[\u2010-\u2015\u2212]")
_INVISIBLE_CHARS = re.compile(r"[\s\u00ad\u200b-\u200f\u2060\ufeff]+")


def build_text_key(text: str) -> str:
    """Return a text without white space, its width, quotation marks and dashes folded."""
    folded = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    return _INVISIBLE_CHARS.sub("", _DASHES.sub("-", folded))


@dataclass(frozen=True, slots=True)
class TextParagraph:
    """A paragraph of a document: as it is read, and by what it is compared."""

    text: str
    key: str

    @classmethod
    def from_text(cls, text: str) -> "TextParagraph":
        return cls(text.strip(), build_text_key(text))


def split_paragraphs(text: str, *, without: Collection[str] = ()) -> list[TextParagraph]:
    """Return the document's own paragraphs; those whose key is among `without` are left out."""
    found = (TextParagraph.from_text(_strip_boilerplate(line)) for line in split_lines(text))
    return [paragraph for paragraph in found if paragraph.key and paragraph.key not in without]


def split_lines(text: str) -> Iterator[str]:
    """Yield the lines of a text, cells of tables and paragraphs within a line each as one."""
    for line in text.splitlines():
        cells = _CELL.split(line) if line.lstrip().startswith("|") else [line]
        for cell in cells:
            yield from _PARAGRAPH_BREAK.split(cell)


def _strip_boilerplate(line: str) -> str:
    """Return the line without what the site adds; empty where nothing else is left."""
    masked = mask_dates(line)
    without_clock = _VOLATILE_PHRASE.sub(" ", masked.text)
    line = masked.restore(without_clock)
    if len(line) > _MAX_BOILERPLATE_CHARS:
        return line
    folded = unicodedata.normalize("NFKC", without_clock)
    rest = masked.restore(_VOLATILE_TEXT.sub(" ", folded))
    if not _WORD_CHAR.search(_PAGE_TOOLS.sub(" ", rest)):
        # A line of signs alone is a rule, or the empty cell of a table.
        return ""
    folded = masked.restore(folded)
    return line if rest == folded or _SENTENCE_MARK.search(folded.strip()) else re.sub(r"\s+", " ", rest)


_HAN = r"[零〇○一二三四五六七八九十百千两\d]{1,9}"
_HAN_ARTICLE = rf"第\s?{_HAN}\s?[条條](?:\s?(?:之|-)\s?{_HAN})?|제\s?\d{{1,4}}\s?조(?:의\s?\d{{1,3}})?"
_HAN_CHAPTER = rf"第\s?{_HAN}\s?(?:[章节節编編]|分编|部分)"

# What follows a number at once when a sentence speaks of the article, and does not begin it.
_HAN_REFERENCE = (
    r"规定|規定|至|、|和|及|或|与|與|第|款|项|項|的|所(?:列|称|稱|述|定|规)|中(?:的|所|规|有关|关于)|之|以[上下内外]|"
    r"에|의"
)

_LATIN_ARTICLE = (
    r"(?:Article|Section|Regulation|Rule|Clause|Artikel|Art\.|Sec\.)\s?\d{1,4}[A-Za-z]?(?:[.-]\d{1,4}[A-Za-z]?)*"
    r"(?:\([0-9A-Za-z]{1,4}\))*|§\s?\d{1,4}[a-z]?(?:\.\d{1,4})*(?:\([0-9A-Za-z]{1,4}\))*|"
    # British instruments: 2.—(1)
    r"\d{1,4}[A-Z]{0,2}(?=\.\s?[—–-]\s?\(1\))"
)

_LATIN_CHAPTER = r"(?:Chapter|Part|Title|Kapitel|Abschnitt|Teil)\s(?:\d{1,3}[A-Z]?|[IVXLC]{1,7})"
_LATIN_REFERENCE = (
    r"(?:of|and|or|to|does|shall|is|are|applies|apply|also|thereof|above|below|sets|says|provides|requires|Absatz|Abs\.|"
    r"Satz|und|bis|oder|gilt|der|des)\b"
)
_ANNEX = (
    r"(?:附件|附表|附录|附錄)\s?(?:\d{1,3}|[一二三四五六七八九十]{1,3})?|附则|附則|"
    r"(?:Annex|Appendix|Schedule|Anlage|Anhang)(?:\s(?:\d{1,3}|[IVXLC]{1,7}|[A-Z]))?"
)

_HEAD = re.compile(
    rf"\s*(?:(?P<article>(?:{_HAN_ARTICLE})(?!{_HAN_REFERENCE})"
    rf"|(?:{_LATIN_ARTICLE})(?![\w(])(?!,|\s+{_LATIN_REFERENCE}))"
    rf"|(?P<chapter>(?:{_HAN_CHAPTER}(?!{_HAN_REFERENCE})|{_LATIN_CHAPTER}(?!\w)(?!,|\s+{_LATIN_REFERENCE})))"
    rf"|(?P<annex>(?:{_ANNEX})(?=\s*(?:$|[:.\s-]))))"
)

# Within a paragraph an article begins after the end of a sentence, and a space follows its number.
_ARTICLE_WITHIN_PARAGRAPH = re.compile(rf"(?<=[。;:])\s*(?=(?:{_HAN_ARTICLE})\s)")
_EAST_ASIAN_NUMBER = re.compile(r"[第제]")
_MAX_TITLE_CHARS = 80
_SUBDIVISION_MARK = re.compile(r"\s*\(([0-9]{1,3}|[a-z]{1,4}|[A-Z]{1,3})\)")


class ClauseKind(StrEnum):
    TEXT = "text"
    CHAPTER = "chapter"
    ARTICLE = "article"
    ANNEX = "annex"


@dataclass(slots=True)
class Clause:
    """A part of a document under one number; the first of its `paragraphs` is the rest of the number's line."""

    kind: ClauseKind = ClauseKind.TEXT
    number: str | None = None
    paragraphs: list[TextParagraph] = field(default_factory=list)

    @property
    def key(self) -> str:
        """The words of the clause without its number, as they are compared."""
        return "".join(paragraph.key for paragraph in self.paragraphs)

    def number_at(self, places: Sequence[int]) -> str | None:
        """The clause's number with the subdivision of all these paragraphs, Section 4(b), but for Chinese articles."""
        if self.number is None or self.kind is not ClauseKind.ARTICLE or _EAST_ASIAN_NUMBER.match(self.number):
            return self.number
        marks = {_find_subdivision(self.paragraphs, place) for place in places}
        mark = marks.pop() if len(marks) == 1 else ""
        return f"{self.number}({mark})" if mark else self.number


def split_clauses(text: Sequence[TextParagraph]) -> list[Clause]:
    """The document cut at its articles, chapters and annexes, in order; one without numbers is a single clause."""
    found = [Clause()]
    for paragraph in _split_at_articles(text):
        head = _parse_head(paragraph)
        if head is None:
            found[-1].paragraphs.append(paragraph)
        else:
            found.append(head)
    return [clause for clause in found if clause.paragraphs]


def _split_at_articles(text: Sequence[TextParagraph]) -> Iterator[TextParagraph]:
    """Yield the paragraphs, cut before each article within them."""
    for paragraph in text:
        parts = _ARTICLE_WITHIN_PARAGRAPH.split(paragraph.text)
        yield from map(TextParagraph.from_text, parts) if len(parts) > 1 else (paragraph,)


def _parse_head(paragraph: TextParagraph) -> Clause | None:
    folded = unicodedata.normalize("NFKC", paragraph.text)
    head = _HEAD.match(folded)
    if head is None:
        return None
    kind = ClauseKind(head.lastgroup or ClauseKind.ARTICLE)
    if kind is not ClauseKind.ARTICLE and len(folded) > _MAX_TITLE_CHARS:
        return None
    rest = folded[head.end() :].lstrip(" .:-—")
    return Clause(kind, _normalize_number(head[0]), [TextParagraph(rest, build_text_key(rest))])


def _normalize_number(written: str) -> str:
    """A number as people write it: in Chinese without spaces, else with one."""
    plain = " ".join(written.split()).rstrip(".")
    if plain[0] in "第제附":
        return plain.replace(" ", "")
    return re.sub(r"^(§|[^\W\d]+\.?)\s?(?=\d)", r"\1 ", plain)


def _find_subdivision(paragraphs: Sequence[TextParagraph], place: int) -> str:
    """The mark of the outermost subdivision that holds a paragraph: b in (b); empty outside of any."""
    outermost, found = "", ""
    for paragraph in paragraphs[: place + 1]:
        mark = _SUBDIVISION_MARK.match(paragraph.text)
        if mark is None:
            continue
        sort = "1" if mark[1].isdigit() else "a" if mark[1].islower() else "A"
        outermost = outermost or sort
        if sort == outermost:
            found = mark[1]
    return found
