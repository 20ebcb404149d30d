"""Numbers of documents: how public bodies write them, and which one is a document's own."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from monitor.policies.document_text import DocumentText

_HAN = "[\u4e00-\u9fff]"
_YEAR = r"(?:19|20)\d\d"
_OPEN, _CLOSE = r"[〔\[({]", r"[〕\])}]"
_CHINESE = (
    rf"(?:{_HAN}|[A-Za-z]){{1,16}}(?:\s?\({_HAN}{{1,6}}\))?\s?{_OPEN}\s?{_YEAR}\s?{_CLOSE}\s?(?:第\s?)?\d{{1,5}}\s?号"
    rf"|(?:公告|通告|令|决定)?\s?{_YEAR}\s?年\s?第\s?(?:\d{{1,4}}|[〇零一二三四五六七八九十百]{{1,6}})\s?号(?:公告|令|通告)?"
    rf"|(?:{_HAN}{{2,20}})?令\s?(?:\({_YEAR}年?\))?\s?第\s?(?:\d{{1,4}}|[〇零一二三四五六七八九十百]{{1,6}})\s?号"
    r"|第\s?\d{1,4}/(?:19|20)\d\d\s?号"
    rf"|(?<!{_HAN})第\s?(?:\d{{1,4}}|[〇零一二三四五六七八九十百]{{1,6}})\s?号(?!修正|令|文|公报)"
    r"|(?<![A-Za-z])(?:GB|GBZ|DB\d{2,6}|DL|NB|YD|HJ|JT|JR|SJ|QB|HG|SY|MT|TB|CJ|JG|JGJ|JJF|JJG|YY|WS|NY|LY|SL|MH|AQ|GA|XF|RB|RCC|T/[A-Z]{2,8})(?:/T|/Z)?\s?\d{1,6}(?:\.\d{1,3})?\s?[—–-]\s?(?:19|20)\d\d"
)
_EU = r"(?:Commission\s)?(?:Delegated\s|Implementing\s)?(?:Regulation|Directive|Decision)\s\((?:EU|EC|EEC|EU,\sEuratom|Euratom)\)\s(?:No\.?\s)?\d{2,4}/\d{1,4}"
_ENGLISH = (
    rf"{_EU}|Directive\s\d{{2,4}}/\d{{1,4}}/(?:EU|EC|EEC)|Decision\s(?:No\s)?\d{{2,4}}/\d{{1,4}}(?:/(?:EU|EC))?"
    r"|\b(?:PS|CP|FG|GC|DP|FS|TR|MS|CE|SS|SoP|QCP|LR|GN|IR|RN|RG|REP|INFO|CIR|SN|PN|TN|PG|CPG|GPG|EB|HB|AC|IN|OG)\s?-?\d{1,3}/\d{1,3}(?!\d|/\d)"
    r"|\bRelease\sNos?\.\s[A-Z0-9]{1,4}-\d{2,7}[A-Z]?"
    r"|\b(?:S\.?I\.?|S\.?R\.?|S\.?S\.?I\.?|W\.?S\.?I\.?|SOR|SL|L\.?N\.?|G\.?N\.?|S\.\s?L\.)[\s/]?(?:No\.\s?)?(?:19|20)\d\d(?:/|-|\sNo\.?\s?)\d{1,5}"
    r"|\b(?:SOR|SI|TR)/(?:19|20)?\d\d-\d{1,4}"
    r"|\b(?:19|20)\d\d\sNo\.\s\d{1,5}"
    r"|\bL\.N\.\s\d{1,4}\sof\s(?:19|20)\d\d|\bG\.N\.\s?(?:\(E\.\)\s)?\d{1,5}(?:\sof\s(?:19|20)\d\d)?"
    r"|\b(?:Notice|Circular|Order|Instrument|Guideline|Ordinance|Direction|Determination|Bulletin|Regulatory\sGuide|Consultation\sPaper|Report|Advisory|Information\sSheet|Practice\sNote|Letter|Decision|Opinion|Case|Case\sNo\.|Licence|Ref(?:erence)?|Policy\sStatement|Rule|Regulation|Standard|Law|Act|Proclamation|Resolution|Policy|Memorandum|Docket|Public\sNotice|Executive\sOrder|Guidance|Code|Interpretation|Statement|Technical\sNote|Staff\sNotice|Telecom\s(?:Regulatory\sPolicy|Decision|Notice\sof\sConsultation)|Broadcasting\s(?:Regulatory\sPolicy|Decision|Notice\sof\sConsultation))"
    r"(?:\s(?:No|Nos|Number|Ref|Reference)\.?)?:?\s(?:[A-Z]{1,10}[-\s]?)?(?:[A-Z]{0,6}\d[A-Za-z0-9]{0,9}(?:[-/–.][A-Za-z0-9]{1,10}){0,4})"
    r"|\b(?:FCC|DA|FDA|EPA|DOE|OCC|FERC|CFTC|FDIC|SEC|NHTSA|EBA|ESMA|EIOPA|ECB|CSSF|MAS|APRA|ASIC|ACCC|AER|AEMC|OSFI|CRTC|CER|HKMA|SFC|PRA|FCA|PSR|ORR|CAA|MHRA|Ofgem|Ofcom|Ofwat|ICO|CMA|OFCOM|NRC|FTC|NIST|TSA|BIS|IRS|FAA|OSHA|USDA|TD|REG|GSR|LPRC|ACER|EFSA|EMA|JC|BaFin|CBI|ComReg|CRU)(?:[\s/-](?:[A-Z]{1,8}|\d{1,6}[A-Z]?)){0,3}[\s/-]\d{2,6}(?:[-/.]\d{1,6}){0,3}(?:/[A-Z0-9]{1,6})?"
    r"|\b(?:[A-Z]{1,6}\d{0,3}/){1,4}\d{1,4}[A-Z]{0,2}(?:/\d{1,6})?(?!\d)"
    r"|\b[A-Z]{2,6}/\d{4}/\d{1,4}\b|\b(?:19|20)\d\d/\d{1,4}\b(?!/)|\b[A-Z]{2,10}(?:-[A-Z]{1,10}){0,3}-(?:19|20)\d\d-\d{1,5}\b"
    r"|\bC\((?:19|20)\d\d\)\s\d{1,5}(?:\sfinal)?|\bCOM\((?:19|20)\d\d\)\s\d{1,4}(?:\sfinal)?|\b\d{2,3}\sFR\s\d{1,6}|\bRIN\s\d{4}-[A-Z]{2}\d\d|\bP\.?L\.?\s\d{2,3}-\d{1,3}|\bPublic\sLaw\s\d{2,3}-\d{1,3}"
    r"|\b(?:Docket|File)\sNos?\.\s[A-Z0-9][A-Z0-9-]{2,20}"
)
CHINESE_NUMBER = re.compile(_CHINESE)
ENGLISH_NUMBER = re.compile(_ENGLISH)
_OWN_LABEL = re.compile(
    r"(?<![\u4e00-\u9fff])(?:发文字号|文\s?号|文件编号|发文文号|公告文号|文书号|决定书文号|编号|Reference(?:\snumber)?|Ref(?:erence)?(?:\sno)?\.?|Document\s(?:number|ID)|Circular\sNo\.?|Our\sref\.?|Notice\sno\.?|Ref\.\sNo\.?|Number|Paper\sref\.?|Order\sno\.?)\s?[:：]\s?(?P<value>[^\n]{2,60})",
    re.IGNORECASE,
)
_HEAD_LINES = 14
_MAX_LINE_CHARS = 90
_FOREIGN = re.compile(r"(?:\d{2,3}\sFR\s\d|RIN\s|P\.?L\.?\s|Public\sLaw|Docket|File\sNo)")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class OwnNumber:
    """A document's own number and the span of the words that show it; -1 for a span in the title."""

    number: str
    start: int
    end: int


def find_numbers(text: str, *, is_chinese: bool) -> Iterator[re.Match[str]]:
    """Yield the numbers of documents in a folded text."""
    return (CHINESE_NUMBER if is_chinese else ENGLISH_NUMBER).finditer(text)


def normalize_number(written: str, *, is_chinese: bool) -> str:
    """Return a number as it is written, without the spaces that layouts put into Chinese ones."""
    return _SPACE.sub("", written) if is_chinese else " ".join(written.split())


def find_own_number(document: DocumentText) -> OwnNumber | None:
    """Return the number of a document itself: labelled, alone in a line at its head, or in its title."""
    if document.is_chinese:
        return _find_chinese(document)
    return _find_english(document)


def _make(document: DocumentText, start: int, end: int, written: str) -> OwnNumber:
    return OwnNumber(normalize_number(written, is_chinese=document.is_chinese), start, end)


def _find_labelled(document: DocumentText) -> OwnNumber | None:
    found = _OWN_LABEL.search(document.folded, 0, 4_000)
    if not found or "\n" in document.folded[max(0, found.start() - 1) : found.start()].strip("\n "):
        return None
    value = found["value"]
    number = (CHINESE_NUMBER if document.is_chinese else ENGLISH_NUMBER).search(value)
    start = found.start("value")
    if number:
        return _make(
            document,
            start + number.start(),
            start + number.end(),
            document.original[start + number.start() : start + number.end()],
        )
    bare = re.match(r"[A-Za-z0-9\u4e00-\u9fff][A-Za-z0-9\u4e00-\u9fff/().〔〕\[\]第号-]{2,40}(?=\s|$|[，,;；])", value)
    if bare and re.search(r"\d", bare[0]):
        return _make(document, start, start + bare.end(), document.original[start : start + bare.end()])
    return None


def _find_chinese(document: DocumentText) -> OwnNumber | None:
    if labelled := _find_labelled(document):
        return labelled
    lines = document.lines[:_HEAD_LINES]
    for place, line in enumerate(lines):
        if len(line.text) > _MAX_LINE_CHARS or "《" in line.text:
            continue
        found = CHINESE_NUMBER.search(line.text)
        if not found or re.search(r"[。；，]|会议|第.{1,8}次", line.text):
            continue
        outside = line.text[: found.start()] + line.text[found.end() :]
        if len(outside.strip(" ()[]:")) > 40:
            continue
        start = line.start + found.start()
        written = document.original[start : line.start + found.end()]
        return _make(document, start, line.start + found.end(), written)
    quoted = [span.span() for span in re.finditer(r"《[^《》]*》", document.title)]
    for found in CHINESE_NUMBER.finditer(document.title):
        if not any(start < found.start() < end for start, end in quoted):
            return OwnNumber(
                normalize_number(document.original_title[found.start() : found.end()], is_chinese=True), -1, -1
            )
    for line in document.lines[:6]:
        found = re.search(rf"\(({_CHINESE})\)", line.text) if "《" not in line.text[:12] else None
        if found and not re.search("根据|依据|按照|废止", line.text):
            start = line.start + found.start(1)
            return _make(
                document, start, line.start + found.end(1), document.original[start : line.start + found.end(1)]
            )
    return None


def _find_english(document: DocumentText) -> OwnNumber | None:
    if labelled := _find_labelled(document):
        return labelled
    for line in document.lines[:_HEAD_LINES]:
        if len(line.text) > _MAX_LINE_CHARS:
            continue
        found = ENGLISH_NUMBER.search(line.text)
        if not found or _FOREIGN.match(found[0]) or re.search(r"\.\s[A-Z]", line.text.replace("No. ", "")):
            continue
        outside = line.text[: found.start()] + line.text[found.end() :]
        if len(outside.strip(" ()[]:;,.–-")) > 60 or re.search(
            r"\b(?:in|under|see|to|of|by|amend|response|with)\s\Z", line.text[: found.start()], re.IGNORECASE
        ):
            continue
        start = line.start + found.start()
        return _make(document, start, line.start + found.end(), document.original[start : line.start + found.end()])
    if found := ENGLISH_NUMBER.search(document.title):
        if not re.search(r"\b(?:to|on|under|in|of|amending|with)\s\Z", document.title[: found.start()], re.IGNORECASE):
            return OwnNumber(
                normalize_number(document.original_title[found.start() : found.end()], is_chinese=False), -1, -1
            )
    return None
