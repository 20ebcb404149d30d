"""Document numbers: 国发〔2026〕3号, 2026年第18号, 水利部令第63号, GB 38031-2025, PS26/14, EBA/GL/2026/03."""

import re
from dataclasses import dataclass

from monitor.briefing.grouping.folding import core, folded

_BRACKETED = r"(?P<series>[^\W\d_]{0,14})\s?[\[(](?P<year>(?:19|20)\d\d)年?[\])]\s?第?\s?(?P<serial>\d{1,5})\s?号"
_YEARLY = r"(?P<series2>[^\W\d_]{0,30})\s?(?P<year2>(?:19|20)\d\d)年第?\s?(?P<serial2>\d{1,5})号(?P<form>公告|通告|令)?"
_ORDER = (
    r"(?P<series3>[^\W\d_]{0,30}(?:公告|通告|令))\s?"
    r"(?:第\s?(?P<serial3>\d{1,5})\s?号|[\[(]第?\s?(?P<serial4>\d{1,5})\s?号[\])])"
)
_STANDARD = r"(?P<standard>\b[a-z]{1,5}(?:/[a-z]{1,2})? ?\d{2,6}(?:\.\d+)?(?:-\d{1,2})?-(?:19|20)\d\d)(?!\d)"
_CODE = (
    r"(?:(?:项目|招标|采购)?编号:? ?)?"
    r"(?P<code>\b(?=(?:[a-z/-]*\d){4})[a-z]{2,8}\d{0,8}(?:[/-][a-z\d]{1,12}){1,6}(?![\w/-]))"
)
_SLASHED = r"(?P<slashed>\b[a-z]{1,6} ?(?!\d{4}/\d\d\b)\d{1,4}/\d{1,5}\b)"
_NUMBERED = (
    r"(?P<numbered>\b(?:order|release|notice|circular|regulation|directive)"
    r" (?:no\.? ?(?:[a-z]{1,5} ){0,3}|\(?[a-z]{0,3}\)? ?)-?\d[\w./-]*)"
)
_NUMBER = re.compile("|".join((_BRACKETED, _YEARLY, _ORDER, _STANDARD, _SLASHED, _NUMBERED, _CODE)))
# Characters that any office's series is made of: 政办发, 公告, 令. Offices that differ share such a series.
_ANYBODYS = frozenset("省市县区州镇乡自治人民政府办公室发函字规范通告令文件第委厅局司号的")
_SPEAKS_OF = re.compile(r"关于|废止|修改|转发|贯彻|落实|执行|按照|根据")
_REFERENCE = re.compile(r"\(([a-z][a-z\d ./:_-]*)\)$")
_YEARS = re.compile(r"(?<!\d)(?:19|20)\d\d(?:[/-]\d\d)?(?!\d)")
_ACRONYM = re.compile(r"[a-z]{2,6}[ :]+")
_JOINT_OFFICES = re.compile(r"(?:[^\W\d_]{2,14}(?:部|委|委员会|总?局|总?署|院|行|会) )+")
_NAME_BEHIND = re.compile(r"\([^()]{8,}\)")
_FORM = re.compile(r"(?:公告|通告|令)$")
_SERIAL_OF_PAGE = 4


@dataclass(frozen=True, slots=True)
class DocNumber:
    """A number taken apart; `series` is empty where it is not given, `year` where the number has none.

    `is_code` where it is the reference of a matter, which several documents bear: a call for tenders and its result.
    """

    series: str
    year: str
    serial: str
    is_code: bool = False

    @property
    def is_unique(self) -> bool:
        """Whether the number alone names a document: its series is one office's, or it is long and has letters."""
        if self.year or self.series:
            return bool(set(self.series) - _ANYBODYS)
        is_long = any(map(str.isalpha, self.serial)) and sum(map(str.isdigit, self.serial)) >= _SERIAL_OF_PAGE
        return is_long and not self.is_code


def document_number(written: str | None) -> DocNumber | None:
    """The number that a field or label states; None for an empty one."""
    plain = folded(written or "")
    if not any(map(str.isdigit, plain)):
        return None
    plain = re.sub(r"(?<=[^\W\d]) (?=[^\W\d])", "", plain)  # 国家税务总局 财政部公告2026年第9号
    found = next((found for found in _NUMBER.finditer(plain) if _serial(found)), None)
    return _of_match(found) if found else DocNumber("", "", core(plain).replace(".", ""))


def split_number(title: str) -> tuple[DocNumber | None, str]:
    """The document's own number in a folded title, and the title without it.

    A number is the document's own where it stands at the beginning or end of the title or alone in brackets; amid the
    words it is that of a document they speak of. Nothing is left of a title that is a number alone.
    """
    for found in _NUMBER.finditer(title):
        before, after = title[: found.start()], title[found.end() :]
        number = _of_match(found)
        is_by_acronym = _ACRONYM.fullmatch(before) is not None and found["numbered"] is None
        is_first = not core(before) or is_by_acronym or _JOINT_OFFICES.fullmatch(before) is not None
        is_last = not core(after)
        is_in_brackets = before.endswith(("(", "[")) and after.startswith((")", "]"))
        is_apart = before == "" or before.endswith((" ", ")", "》")) or is_in_brackets
        is_followed_by_name = "关于" in after or not after.startswith("(") or _NAME_BEHIND.fullmatch(after) is not None
        is_own = is_first or is_in_brackets or (is_last and number.year)
        if not is_own or (_SPEAKS_OF.search(number.series) and not is_in_brackets):
            continue
        if is_apart and (is_in_brackets or is_last or (after[:1] in " (:-" and is_followed_by_name)):
            return number, (before.rstrip("([") + " " + after.lstrip(")]")).strip(" :-")
        if number.year and (is_last or after.startswith("(")):
            # The words before the year belong to the title: 行政处罚决定书〔2026〕37号.
            return DocNumber("", number.year, number.serial), f"{before}{_series(found)} {after}".strip()
    reference = _REFERENCE.search(title)
    if reference and sum(map(str.isdigit, _YEARS.sub("", reference[1]))) >= _SERIAL_OF_PAGE:
        return DocNumber("", "", core(reference[1]).replace(".", ""), is_code=True), title[: reference.start()].strip()
    return None, title


def same_number(one: DocNumber | None, other: DocNumber | None) -> bool | None:
    """Whether two numbers are one; None where one is missing or they are of kinds that cannot be compared."""
    if one is None or other is None:
        return None
    if bool(one.year) != bool(other.year):
        return None
    if (one.year, one.serial) != (other.year, other.serial):
        shorter, longer = sorted((one.serial, other.serial), key=len)
        return not one.year and len(shorter) >= _SERIAL_OF_PAGE and longer.endswith(shorter)
    form, other_form = (_FORM.search(number.series) for number in (one, other))
    shorter, longer = sorted((_FORM.sub("", number.series) for number in (one, other)), key=len)
    if form and other_form:
        return form[0] == other_form[0] and is_short_for(shorter, longer)
    return longer.endswith(shorter)


def is_short_for(shorter: str, longer: str) -> bool:
    """Whether the letters of one name stand in the other in their order: 工信部 in 工业和信息化部."""
    letters = iter(longer)
    return all(letter in letters for letter in shorter)


def _of_match(found: re.Match[str]) -> DocNumber:
    year, serial = found["year"] or found["year2"], _serial(found)
    if serial:
        return DocNumber(_series(found), year or "", str(int(serial)))
    return DocNumber("", "", core(found["code"] or found[0]).replace(".", ""), is_code=found["code"] is not None)


def _series(found: re.Match[str]) -> str:
    return found["series"] or found["series3"] or (found["series2"] or "") + (found["form"] or "")


def _serial(found: re.Match[str]) -> str | None:
    return found["serial"] or found["serial2"] or found["serial3"] or found["serial4"]
