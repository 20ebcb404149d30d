"""The documents that a Chinese text names: by title 《…》, by number, by a code, by the bare name of a law."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from monitor.policies.chinese_numbers import CHINESE_NUMBER
from monitor.policies.document_text import DocumentText
from monitor.policies.numbers import NamedDocument, normalize_number

_HAN = "[\u4e00-\u9fff]"
_MAX_QUOTE_CHARS = 160
_MAX_ALIAS_CHARS = 20_000
_MAX_NAMED = 200
_BRACKET = r"\([^()]{1,80}(?:\([^()]{1,40}\)[^()]{0,60}){0,3}\)"
_KIND = (
    r"(?:法律|行政法规|行政命令|(?:行政长官|[\u4e00-\u9fff]{2,8}司司长)?批示|公告|通告|通函|指引|文件|通知"
    r"|规章|文|令|函)"
)
_BEHIND_TITLE = re.compile(rf"\s?(?:的?{_KIND})?\s?(?P<brackets>{_BRACKET}(?:\s?{_BRACKET})?)")
_LINK_TO_TITLE = re.compile(rf"{_KIND}?(?:公布|发布|印发|颁布|下发|核准|批准|核定|通过)?的?\s?")
_MAX_LINK_CHARS = 12
_LETTER_CODE = (
    r"(?:[A-Z]{2,6}(?=[A-Z-]{0,16}\d)(?:-[A-Z0-9]{1,6}){1,5}"
    r"|(?=[A-Z/]{0,16}\d)[A-Z]{1,6}\d{0,4}(?:/[A-Z0-9]{1,6}){1,4})"
)
_CODE_INSIDE = re.compile(
    rf"\((?:(?:本局)?(?:档号|编号|文号|参考编号"
    rf"|档案编号)[:\s]{{0,2}})?(?P<code>(?=[^()]{{0,20}}\d)(?:{_LETTER_CODE}))[),，]"
)
_BARE_CODE = re.compile(rf"(?<![A-Za-z0-9/-])(?:{_LETTER_CODE})(?![A-Za-z0-9/-])")
_LAW = r"(?:法|法典|条例|办法|规则|细则|准则|规程|标准|规定|要点|章程|规例|规约|通则)"
_BARE_LAW = re.compile(
    rf"(?:依据|根据|依照|按照|遵照|核释|违反|[依及和与、])\s?:?\s?"
    rf"(?P<name>(?:(?![的本该其前第此])[\u4e00-\u9fff]){{2,30}}?{_LAW})(?=\s?(?:\([^()]{{2,24}}\)\s?)?第\s?[一二三四五六七八九十百〇零\d]{{1,6}}[条章])"
)
_NO_LAW = re.compile(
    r"^(?:上述|下列|有关|相关|同|现行|以下|依法|国家|法律|行政法规|依|据|照|本)|(?:依据|根据|依照|按照|违反|违法)"
)
_NO_DOCUMENT = re.compile(
    r"(?:证|证书|执照|申请表|登记表|申请书|告知书|通知书|笔录|合同|协议书?|报告书?|回执|证明|承诺书|委托书"
    r"|报表|日报|晚报|杂志|周刊|鉴定意见|声明书|送达回证|清单|台账"
    r"|申报书|任务书|推荐表|汇总表|一览表|保密书|说明书|须知书|反馈表|征求意见表|申报表|建议表"
    r"|(?<![通公情简月年周季])报)$"
)
_ALIAS = re.compile(r"(?:以下|下)?(?:统|合|简)?称(?:为)?[:\s]?[“\"'《「]{1,2}(?P<alias>[^“”\"《》「」']{2,30})")
_LEAD = re.compile(
    r"^.*(?:根据|依据|按照|依照|遵照|贯彻|落实|执行|废止|印发|参照|修改|代替|取代|以及|违反|发布|公布|的"
    r"|以|原|按|详见|及)"
)
_HEAD = re.compile(r"(?:公告|通告|决定)(?=\d)")
_TAIL = re.compile(r"(?<=号)(?:公告|通告|文)$")


@dataclass(frozen=True, slots=True)
class ChineseNames:
    """The names in a document; `aliases` has the titles and numbers of those that it calls by a shorter name."""

    document: DocumentText
    aliases: Mapping[str, tuple[str, str | None]]

    @classmethod
    def read(cls, document: DocumentText) -> "ChineseNames":
        names, head = cls(document, {}), document.folded[:_MAX_ALIAS_CHARS]
        aliases: dict[str, tuple[str, str | None]] = {}
        for first, last in list_titles(head):
            behind = _BEHIND_TITLE.match(head, last)
            if behind and (alias := _ALIAS.search(behind["brackets"])):
                named = names._read_title(head, first, last, 0)
                aliases.setdefault(alias["alias"].strip(), (named.title or "", named.number))
        return cls(document, aliases)

    def find(self, start: int, end: int) -> list[NamedDocument]:
        """Return the documents that a span of the folded text names, in their order."""
        text = self.document.folded[start:end]
        found, taken = [], []
        for first, last in islice(list_titles(text), _MAX_NAMED):
            named = self._read_title(text, first, last, start)
            taken.append((named.start - start, named.end - start))
            if is_document(text[first + 1 : last - 1]):
                found.append(named)
        for pattern in (CHINESE_NUMBER, _BARE_CODE):
            for number in islice(pattern.finditer(text), _MAX_NAMED):
                span = number.start(), number.end()
                if any(begin < span[1] and span[0] < stop for begin, stop in taken) or _is_serial(number[0]):
                    continue
                taken.append(span)
                found.append(NamedDocument(None, self._write(start, *span), start + span[0], start + span[1]))
        for law in islice(_BARE_LAW.finditer(text), _MAX_NAMED):
            span = law.span("name")
            if _NO_LAW.search(law["name"]) or any(begin < span[1] and span[0] < stop for begin, stop in taken):
                continue
            taken.append(span)
            name = self.document.original[start + span[0] : start + span[1]]
            found.append(NamedDocument(name, None, start + span[0], start + span[1]))
        return sorted(found, key=lambda named: named.start)[:_MAX_NAMED]

    def _read_title(self, text: str, first: int, last: int, offset: int) -> NamedDocument:
        """Return a title with the number that stands in brackets behind it, or ahead of it: 第5/2021号法律《…》."""
        title = self.document.original[offset + first + 1 : offset + last - 1].strip()
        number, begin, stop = None, first, last
        if behind := _BEHIND_TITLE.match(text, last):
            inside = CHINESE_NUMBER.search(text, behind.start("brackets"), behind.end("brackets"))
            code = _CODE_INSIDE.match(text, behind.start("brackets"))
            if inside:
                number = self._write(offset, inside.start(), inside.end())
            elif code:
                number = self.document.original[offset + code.start("code") : offset + code.end("code")]
            stop = behind.end() if number else last
        if number is None:
            for ahead in CHINESE_NUMBER.finditer(text, max(0, first - 40), first):
                if first - ahead.end() <= _MAX_LINK_CHARS and _LINK_TO_TITLE.fullmatch(text[ahead.end() : first]):
                    number, begin = self._write(offset, ahead.start(), ahead.end()), ahead.start()
        if number is None and title in self.aliases:
            title, number = self.aliases[title]
        return NamedDocument(title, number, offset + begin, offset + stop)

    def _write(self, offset: int, start: int, end: int) -> str:
        """Return a number as the text writes it, without the words that lead to it and the kind behind it."""
        first, last = offset + start, offset + end
        folded = self.document.folded[first:last]
        lead, tail = _LEAD.match(folded), _TAIL.search(folded)
        first += lead.end() if lead and lead.end() < len(folded) - 4 else 0
        first += len(kind[0]) if (kind := _HEAD.match(folded, first - offset - start)) else 0
        last -= len(tail[0]) if tail else 0
        return normalize_number(self.document.original[first:last])


def is_document(title: str) -> bool:
    """Whether a title is of a document that others can refer to, not of a certificate, a form or a newspaper."""
    return bool(title) and not _NO_DOCUMENT.search(title)


def _is_serial(number: str) -> bool:
    """Whether a number is one of a series without a year, as 第3号 of a text may be of anything."""
    return bool(re.fullmatch(r"第\S+号", number)) and "/" not in number


def list_titles(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the titles in a Chinese text, 《…》 with its marks; one within another belongs to it."""
    start, depth = -1, 0
    for place, char in enumerate(text):
        if char == "《":
            if depth == 0:
                start = place
            depth += 1
        elif char == "》" and depth:
            depth -= 1
            if depth == 0 and place - start <= _MAX_QUOTE_CHARS:
                yield start, place + 1
        elif depth and (char in "。\n" or place - start > _MAX_QUOTE_CHARS):
            depth = 0


_CLAUSE = re.compile(
    r"第[一二三四五六七八九十百〇零\d]{1,6}(?:条|款|项|章|节|目|点"
    r"|部分)(?:之[一二三四五六七八九十]{1,2})?(?:[、和及与至到](?=第))?"
)
_TITLE = re.compile(r"《[^《》]{1,160}(?:《[^《》]{1,80}》[^《》]{0,80})?》")
_BRACKETS = re.compile(r"\([^()]{0,100}\)")
_JOINT = re.compile(
    rf"(?:规定|中|部分|有关|相关|等)*(?:$|(?:[、和及与或并]|以及|,|，(?=(?:19|20)\d\d年|原|$))\s?"
    rf"(?:(?!根据|依据|按照|依照|废止|修[改订正]|[代替取]代|同时|起|制定|贯彻|落实|执行|要求|将|对|把|起草"
    rf"|印发了|发布了){_HAN}|[\d、\s年月日]){{0,44}}$)"
)


def flatten(text: str) -> str:
    """Return words without the titles, numbers, brackets and articles among them."""
    without = _BRACKETS.sub("", _BRACKETS.sub("", _TITLE.sub("", text)))
    return _CLAUSE.sub("", CHINESE_NUMBER.sub("", without))


def group_named(text: str, start: int, named: Sequence[NamedDocument]) -> Iterator[list[NamedDocument]]:
    """Yield the documents of a sentence in lists: those that one list names together, 《…》、《…》和《…》."""
    group: list[NamedDocument] = []
    for target in named:
        if group and not _JOINT.match(flatten(text[group[-1].end - start : target.start - start])):
            yield group
            group = []
        group.append(target)
    if group:
        yield group
