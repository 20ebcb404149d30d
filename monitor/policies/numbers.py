"""Numbers of documents: how public bodies write them, and which one is a document's own."""

import re
from dataclasses import dataclass, replace

from monitor.dates import find_dates
from monitor.policies.chinese_numbers import CHINESE_LABEL, CHINESE_NUMBER, NUMBER_AT_END, trim_number
from monitor.policies.document_text import DocumentText

_EU = (
    r"(?i:(?:Commission\s|Council\s)?(?:Delegated\s|Implementing\s)?(?:Regulation|Directive|Decision))"
    r"\s\((?:EU|EC|EEC|CFSP|JHA|EU,\sEuratom|Euratom)\)\s(?:No\.?\s)?\d{2,4}/\d{1,4}"
)
_NAME_WORD = r"(?:[A-Z]{2,10}|[A-Z][a-z]{2,14})"
_NUMBERED_TYPES = (
    r"Notice|NOTICE|Circular|CIRCULAR|Bulletin|BULLETIN|Instrument|Guidelines?|Advisory|Regulatory\sGuide"
    r"|Consultation\sPaper|Information\sSheet"
    r"|Practice\sNote|Guidance\sNote|Technical\sNote|Policy\sStatement|Executive\sOrder|Staff\sNotice|Memorandum"
    r"|Notice\sof\sConsultation|Regulatory\sPolicy|Information\sNotice|Media\sRelease|Direction|Determination"
)
_COUNTED_TYPES = (
    r"Order|Act|Law|Rules?|Regulations?|Standard|Code|Policy|Statement|Letter|Decision|Opinion|Case|Report|Proclamation"
    r"|Resolution|Ordinance|Guidance|Decree|Licence|Paper|Interpretation|Public\sNotice|Directive"
)
_ENGLISH = (
    rf"{_EU}|Directive\s\d{{2,4}}/\d{{1,4}}/(?:EU|EC|EEC)|Decision\s(?:No\s)?\d{{2,4}}/\d{{1,4}}(?:/(?:EU|EC))?"
    r"|\b(?:PS|CP|FG|GC|DP|FS|TR|MS|CE|SS|SoP|QCP|LR|GN|IR|RN|RG|REP|INFO|CIR|SN|PN|TN|PG|CPG|GPG|EB|HB|AC|IN"
    r"|OG)\s?-?\d{1,3}/\d{1,3}(?!\d|/\d)"
    r"|\bRelease\sNos?\.\s[A-Z0-9]{1,4}-\d{2,7}[A-Z]?"
    r"|\b(?:S\.?I\.?|S\.?R\.?|S\.?S\.?I\.?|W\.?S\.?I\.?|SOR|SL|L\.?N\.?|G\.?N\.?"
    r"|S\.\s?L\.)[\s/]?(?:No\.\s?)?(?:19|20)\d\d(?:/|-|\sNo\.?\s?)\d{1,5}"
    r"|\b(?:SOR|SI|TR)/(?:19|20)?\d\d-\d{1,4}"
    r"|\b(?:19|20)\d\d\sNo\.\s\d{1,5}"
    r"|\bL\.N\.\s\d{1,4}\sof\s(?:19|20)\d\d|\bG\.N\.\s?(?:\(E\.\)\s)?\d{1,5}(?:\sof\s(?:19|20)\d\d)?"
    rf"|\b(?:{_NAME_WORD}\s){{0,3}}?(?:{_NUMBERED_TYPES})(?:\s(?:No|Nos|^Number"
    rf"|Ref)\.?)?:?\s(?:[A-Z]{{1,10}}[-\s]?)?(?!(?:19|20)\d\d\b(?![-/]))"
    r"(?:[A-Z]{0,6}\d[A-Za-z0-9]{0,9}(?:[-/–.][A-Za-z0-9]{1,10}){0,4})(?:\sof\s(?:19|20)\d\d)?"
    rf"|\b(?:{_NAME_WORD}\s){{0,2}}?(?:{_COUNTED_TYPES})\s(?:No|Nos"
    rf"|Number)\.?\s(?:[A-Z]{{0,6}}\d[A-Za-z0-9]{{0,9}}(?:[-/–.][A-Za-z0-9]{{1,10}}){{0,4}})(?:\sof\s(?:19"
    rf"|20)\d\d)?"
    r"|\b[A-Z]{2,6}(?:/[A-Z]{1,4})?\s\d{2,6}(?:-\d{1,3})?\s?:\s?(?:19|20)\d\d\b|\bAres\((?:19"
    r"|20)\d\d\)\s?\d{4,9}\b|\bH[LC]\sBill\s\d{1,4}\b|\b(?:H\.R\.|S\.|HB|SB|Bill\s[CS]-)\s?\d{1,5}\b"
    r"|\bBill\s[CS]-\d{1,4}\b"
    r"|(?<=Exposure\sDraft\s)[A-Z]{2,6}\s\d{1,4}\b"
    r"|(?<=Accounting\sStandard\s)[A-Z]{2,6}\s[A-Z]?\d{1,4}(?:-\d{1,3})?\b|\b(?:AASB|IFRS|IAS|FRS|ASC|IFRIC|APS"
    r"|CPS|SPS|LPS|GPS|PPG|CPG|RG|NI|MI|CSA)\s[A-Z]?\d{1,4}(?:-\d{1,4})?\b"
    r"|\b(?:FCC|DA|FDA|EPA|DOE|OCC|FERC|CFTC|FDIC|SEC|NHTSA|EBA|ESMA|EIOPA|ECB|CSSF|MAS|APRA|ASIC|ACCC|AER|AEMC"
    r"|OSFI|CRTC|CER|HKMA|SFC|PRA|FCA|PSR|ORR|CAA|MHRA|Ofgem|Ofcom|Ofwat|ICO|CMA|OFCOM|NRC|FTC|NIST|TSA|BIS|IRS"
    r"|FAA|OSHA|USDA|TD|REG|GSR|LPRC|ACER|EFSA|EMA|JC|BaFin|CBI|ComReg|CRU)(?:[\s/-](?:[A-Z]{1,8}"
    r"|\d{1,6}[A-Z]?)){0,3}[\s/-]\d{2,6}(?:[-/.]\d{1,6}){0,3}(?:/[A-Z0-9]{1,6})?"
    r"|\b(?:[A-Z]{1,6}\d{0,3}/){1,4}\d{1,4}[A-Z]{0,2}(?:/\d{1,6})?(?!\d)"
    r"|\b[A-Z]{2,6}/\d{4}/\d{1,4}\b|\b(?:19|20)\d\d/\d{1,4}\b(?!/)|\b[A-Z]{2,10}(?:-[A-Z]{1,10}){0,3}-(?:19"
    r"|20)\d\d-\d{1,5}\b"
    r"|\bC\((?:19|20)\d\d\)\s\d{1,5}(?:\sfinal)?|\bCOM\((?:19|20)\d\d\)\s\d{1,4}(?:\sfinal)?"
    r"|\b\d{2,3}\sFR\s\d{1,6}|\bRIN\s\d{4}-[A-Z]{2}\d\d|\bP\.?L\.?\s\d{2,3}-\d{1,3}"
    r"|\bPublic\sLaw\s\d{2,3}-\d{1,3}"
    r"|\b(?i:General\sLicen[cs]e)\s(?i:No)\.?\s\d{1,4}[A-Z]?\b"
    rf"|\b(?:{_NAME_WORD}\s)?(?:(?:and|of)\s{_NAME_WORD}\s)?(?:Brief|Bulletin|Notice|Circular|Note|Guideline"
    r"|Instruction|Ruling|Decree|Order|Letter)\s\d{1,4}\s\((?:19|20)\d\d\)"
    r"|\bS\.?\s?[IR]\.?\s?O?\.?\sNo\.\s\d{1,5}\sof\s(?:19|20)\d\d\b|\bAD\s20\d\d-\d\d-\d\d\b|\bP\d{3}-20\d\d\b"
    r"|\b[A-Z]{2,5}-[A-Z]{1,3}-\d{2,5}\b|\b20\d\d-[A-Z]{2,6}-\d{3,5}\b"
    r"|\b(?:O|Ont|Alta|B\.C)\.\sReg\.\s\d{1,4}/\d\d\b|\b[A-Z][A-Za-z]+\s(?:REGULATION|Regulation)\s\d{1,4}/\d\d\b"
    r"|\bRule\s\d{1,4}[A-Z]?(?:-[A-Z0-9]{1,4})?\b"
    r"|\b(?:RPS|CAP|TAN|GAR|RCED|PPM|HTM|LIT|PGN|SPN|FCTR|TRD|ACOP|INDG|HSG|MGN|MIN|MSN)[\s-]\d{2,10}\b"
    r"|\b(?:Docket|File)\sNos?\.\s[A-Z0-9][A-Z0-9-]{2,20}"
)
ENGLISH_NUMBER = re.compile(_ENGLISH)
_OWN_LABEL = re.compile(
    r"(?:^Reference(?:\snumber)?"
    r"|^Ref(?:erence)?(?:\sno)?\.?|Document\s(?:number|ID)|Circular\sNo\.?|Our\sref\.?|Notice\sno\.?"
    r"|Ref\.\sNo\.?|^Number|Paper\sref\.?|Order\sno\.?|(?:Announcement|Matter|Notice|Opportunity|Instrument|Circular"
    r"|Bulletin)\s(?:number|no\.?)(?=:?\s[A-Z0-9][\w-]*\d)|^No(?=:))\s?[:：]?\s?(?P<value>[^\n]{2,60})",
    re.IGNORECASE,
)
_HEAD_LINES = 14
_MAX_LINE_CHARS = 90
_MAX_TITLE_LINE_CHARS = 120
_LEADS_TITLE = re.compile(r"[A-Z]{2,4}\s?\d{2}/\d")
_CODE_LINES, _CODE_HEAD_LINES = 4, 8
_CHINESE_CODE = re.compile(r"(?=[^a-z]*\d)(?=[^a-z]*[A-Z])[A-Z0-9][A-Z0-9/.-]{4,24}")
_MAX_BESIDE_CHARS, _MAX_BESIDE_ENGLISH_CHARS = 40, 60
_CODES = re.compile(r"[A-Z]\d{1,3}/\d{1,4}[A-Z]?(?:\s[A-Z]\d{1,3}/\d{1,4}[A-Z]?){1,3}")
_BARE_VALUE = re.compile(r"[A-Za-z0-9\u4e00-\u9fff][A-Za-z0-9\u4e00-\u9fff/().〔〕\[\]第号-]{2,40}(?=\s|$|[，,;；])")
_NO_NUMBER_LINE = re.compile(
    r"[。；，《]|会议|第.{1,8}次|关于|通知|办法|规定|意见|^[一二三四五六七八九十\d]{1,3}[、.．]"
)
_OF_ANOTHER = re.compile(
    r"\b(?:in|under|see|to|on|of|by|amend(?:s|ing)?|response|with|and|implement\w*)\s(?:the\s|Commission\s)?\Z",
    re.IGNORECASE,
)
_ENGLISH_PROSE = re.compile(
    r"\b(?!dated|series)[a-z]{4,}\s.*\.$|\.\s[A-Z]|\b(?:is|are|was|were|has|have|will|shall|must)\b"
)
_CODE_LINE = re.compile(
    r"(?=[^a-z\n]*\d)(?=[^a-z\n]*[A-Z])(?!(?:Part|Article|Section|PART|ARTICLE|SECTION|ANNEX|PAGE|TITLE|CHAPTER"
    r"|SUBPART|VOLUME|VOL"
    r"|Q)\s?\d)[A-Z0-9][A-Z0-9 /.:()-]{2,24}"
)
_FOREIGN = re.compile(
    r"(?:[A-Z]{2,6}-[A-Z-]{2,12}-20\d\d-\d{4}|\d{2,3}\sFR\s\d|RIN\s|P\.?L\.?\s|Public\sLaw|Docket|File\sNo)"
)
_EU_FORM = re.compile(
    r"^(?:(?:Commission|Council|Delegated|Implementing|Regulation|Directive|Decision)\s)+(?=\((?:E|CFSP|JHA)"
    r"|\d{2,4}/\d+/E)",
    re.IGNORECASE,
)
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class NamedDocument:
    """A document that a text names by title, by number, or by both, and the span of the words."""

    title: str | None
    number: str | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class OwnNumber:
    """A document's own number and the span of the words that show it; -1 for a span in the title."""

    number: str
    start: int
    end: int


def normalize_number(written: str, *, is_chinese: bool) -> str:
    """Return a number as it is written, without the spaces that layouts put into Chinese ones."""
    if is_chinese:
        return _SPACE.sub("", written)
    return _EU_FORM.sub("", " ".join(written.split()))


def find_own_number(document: DocumentText, *, explains: bool = False) -> OwnNumber | None:
    """Return the number of a document itself: labelled, alone in a line at its head, or in its title.

    `explains`: it is about another one, whose number its title may name further on.
    """
    found = _find_chinese(document) if document.is_chinese else _find_english(document)
    is_of_subject = explains and found is not None and found.start < 0
    return None if is_of_subject and not _LEADS_TITLE.match(document.title) else found


def _tidy(written: str, *, is_chinese: bool) -> str:
    """Return a number without the body and the word that stand before it: 国务院令第812号, 公告2026年第3号."""
    number = normalize_number(written, is_chinese=is_chinese)
    return trim_number(number) if is_chinese else number


def _make(document: DocumentText, start: int, end: int) -> OwnNumber:
    return OwnNumber(_tidy(document.original[start:end], is_chinese=document.is_chinese), start, end)


def _find_labelled(document: DocumentText) -> OwnNumber | None:
    label = CHINESE_LABEL if document.is_chinese else _OWN_LABEL
    for found in label.finditer(document.folded, 0, 4_000):
        value, start = found["value"], found.start("value")
        if codes := _CODES.fullmatch(value.strip()):
            return _make(document, start, start + codes.end())
        number = _pick_pattern(document).search(value)
        if number and number.start() < 12 and not _FOREIGN.match(number[0]):
            return _make(document, start + number.start(), start + number.end())
        bare = _BARE_VALUE.match(value)
        if bare and re.search(r"\d", bare[0]) and re.search(r"[^\d.]", bare[0]):
            return _make(document, start, start + bare.end())
    return None


def _pick_pattern(document: DocumentText) -> re.Pattern[str]:
    return CHINESE_NUMBER if document.is_chinese else ENGLISH_NUMBER


def _find_chinese(document: DocumentText) -> OwnNumber | None:
    if labelled := _find_labelled(document):
        return labelled
    before = ""
    for line in document.lines[:_HEAD_LINES]:
        found = CHINESE_NUMBER.search(line.text) if len(line.text) <= _MAX_LINE_CHARS else None
        beside = line.text[: found.start()] + line.text[found.end() :] if found else ""
        if found and not _NO_NUMBER_LINE.search(line.text) and len(beside.strip(" ()[]:")) <= _MAX_BESIDE_CHARS:
            own = _make(document, line.start + found.start(), line.start + found.end())
            is_order = before.endswith("令") and own.number.startswith(("第", "〔", "[", "("))
            return replace(own, number="令" + own.number) if is_order else own
        before = line.text.replace(" ", "")
    return (
        _find_in_title(document)
        or _find_at_line_end(document)
        or _find_bracketed(document)
        or _find_chinese_code(document)
    )


def _find_at_line_end(document: DocumentText) -> OwnNumber | None:
    """Return the number in brackets behind a title that the text repeats: 关于…的公告(2026年第22号)."""
    for line in document.lines[:3]:
        found = NUMBER_AT_END.search(line.text) if len(line.text) < _MAX_TITLE_LINE_CHARS else None
        if found and not found["number"].startswith("第"):
            return _make(document, line.start + found.start("number"), line.start + found.end("number"))
    return None


def _find_chinese_code(document: DocumentText) -> OwnNumber | None:
    """Return the code that is a line of its own at the head of a circular: 26EC31, APP-172."""
    for line in document.lines[:_CODE_HEAD_LINES]:
        if _CHINESE_CODE.fullmatch(line.text) and not find_dates(line.text, order="dmy"):
            return _make(document, line.start, line.end)
    return None


def _find_in_title(document: DocumentText) -> OwnNumber | None:
    """Return the number that stands in the title outside the names of others."""
    quoted = [span.span() for span in re.finditer(r"《[^《》]*》|[“\"][^”\"]*[”\"]", document.title)]
    for found in _pick_pattern(document).finditer(document.title):
        is_quoted = any(start < found.start() < end for start, end in quoted)
        ahead = document.title[: found.start()]
        if is_quoted or _OF_ANOTHER.search(ahead) or _is_foreign(found[0]):
            continue
        written = document.original_title[found.start() : found.end()]
        return OwnNumber(_tidy(written, is_chinese=document.is_chinese), -1, -1)
    return None


def _find_bracketed(document: DocumentText) -> OwnNumber | None:
    """Return the number in brackets under the title: (国发〔2026〕3号), or in 令〔2024〕第9号公布."""
    for line in document.lines[:6]:
        if not line.text.startswith("("):
            continue
        found = CHINESE_NUMBER.search(line.text[:_MAX_LINE_CHARS])
        if found and not re.search("根据|依据|按照|废止", line.text):
            return _make(document, line.start + found.start(), line.start + found.end())
    return None


def _find_english(document: DocumentText) -> OwnNumber | None:
    if labelled := _find_labelled(document):
        return labelled
    for line in document.lines[:_HEAD_LINES]:
        if len(line.text) > _MAX_LINE_CHARS:
            continue
        found = next((number for number in ENGLISH_NUMBER.finditer(line.text) if not _is_foreign(number[0])), None)
        if not found or _ENGLISH_PROSE.search(line.text.replace("No. ", "No ")):
            continue
        ahead, beside = line.text[: found.start()], line.text[: found.start()] + line.text[found.end() :]
        if len(beside.strip(" ()[]:;,.–-")) <= _MAX_BESIDE_ENGLISH_CHARS and not _OF_ANOTHER.search(ahead):
            return _make(document, line.start + found.start(), line.start + found.end())
    if titled := _find_in_title(document):
        return titled
    if leading := _LEADING_CODE.match(document.title):
        return OwnNumber(document.original_title[: leading.end("code")], -1, -1)
    return _find_code_line(document) or _find_docket(document)


def _is_foreign(number: str) -> bool:
    """Whether a number is a docket's, a register's, or no number: the years 2027/28."""
    years = _TWO_YEARS.fullmatch(number)
    return bool(
        _FOREIGN.match(number)
        or number.startswith("Rule ")
        or (years and int(years["first"]) + 1 == int(years["last"]))
    )


def _find_docket(document: DocumentText) -> OwnNumber | None:
    """Return the docket in brackets under the name of an agency, for a document without another number."""
    for line in document.lines[:_HEAD_LINES]:
        if docket := _DOCKET_LINE.match(line.text):
            return _make(document, line.start + docket.start("number"), line.start + docket.end("number"))
    return None


_DOCKET_LINE = re.compile(
    r"(?:\[(?=[A-Z]{2,6}-)|\[?(?:Docket|Doc\.|File|Case|Matter)\s(?:No\.|Number"
    r"|ID):?\s)(?P<number>[A-Z0-9][A-Z0-9-]{2,24})\b"
)
_TWO_YEARS = re.compile(r"20(?P<first>\d\d)/(?:20)?(?P<last>\d\d)")
_LEADING_CODE = re.compile(
    r"(?P<code>(?:(?:Rule|Guideline|Standard|Circular|Notice|Bulletin) (?=\d+-)"
    r"|[A-Z]{1,6}\d{0,4}[ -]?)\d{1,6}(?:[-/](?:\d{2,4}|[A-Z]))?)(?::|\s[-–—]|\s(?=Consultation|Discussion))\s?"
)


def _find_code_line(document: DocumentText) -> OwnNumber | None:
    """Return the code that is a line of its own at the head, or of letters and many digits anywhere."""
    for line in document.lines[:_CODE_LINES]:
        if _CODE_LINE.fullmatch(line.text) and not _FOREIGN.match(line.text) and not find_dates(line.text, order="dmy"):
            return _make(document, line.start, line.end)
    coded = next((line for line in document.lines if _FILING_LINE.fullmatch(line.text)), None)
    return _make(document, coded.start, coded.end) if coded else None


_FILING_LINE = re.compile(r"[A-Z]{2,6}-\d{6,12}")
