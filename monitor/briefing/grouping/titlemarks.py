"""What must agree between two titles of one document: years, batches, periods, annexes, and the stage of the work."""

import re

Mark = tuple[str, str]

_UNITS = r"季度|部分|标段|批|期|月|号|届|次|回|轮|章|卷|册|版|辑|编|集|级|차|회|호|분기|월|日|时|审|讲"
_NUMBERS = (
    ("year", re.compile(r"(?<!\d)((?:19|20)\d\d)(?!\d)")),
    ("nth", re.compile(r"第(\d+)")),
    (
        "part",
        re.compile(r"\((\d{1,2})\)|之(\d{1,2})(?!\w)|\b(?:part|teil|volume|vol\.?|phase|chapter|tier|stage) ?(\w+)"),
    ),
    (
        "annex",
        re.compile(r"(?:附件|附录|附表|别纸|붙임|별첨|\bannex|\bappendix|\banlage|\battachment) ?([a-z\d]{0,3}\b)"),
    ),
    ("month", re.compile(r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\b")),
    ("quarter", re.compile(r"\bq([1-4])\b")),
    ("plan", re.compile(r"(十[一二三四五六七八九]?五|九五)(?=[\"》规时期计]|$)")),
    ("period", re.compile(r"(上半年|下半年|全年|年初|年末|上旬|中旬|下旬|上午|下午|\bh[12]\b)")),
    ("number", re.compile(r"\bno\.? ?(\d+)")),
)
_COUNTED = re.compile(rf"(\d+)\s?({_UNITS})")
_STAGES = {
    "comment": r"征求.{0,40}意见|意见征集|意见募集|パブリックコメント|consult|request for comment|(?:입법|행정)예고",
    "again": r"再次|二次|重新|第2次|延期公告",
    "draft": r"草案|征求意见稿|\(案\)|讨论稿|draft|proposed|proposal|exposure draft|entwurf|(?:제정|개정)령?안",
    "submitted": r"送审稿|报批稿|审议稿",
    "trial": r"试行|暂行|试用|pilot|provisional|interim|preliminary|advance estimate|速报|초안",
    "final": r"\bfinal\b|定稿|正式稿|确报",
    "amended": r"修订|修改|修正|改正|改订|调整|amend|revis|änderung|개정|updated?\b",
    "corrected": r"更正|勘误|订正|澄清|correct|errat|corrigend|berichtig|정정",
    "ended": r"废止|失效|撤销|撤回|取消|终止|流标|废标|repeal|rescind|revok|withdraw|aufheb|폐지",
    "extended": r"延长|延期|展期|exten(?:d|sion)|verlänger|연장",
    "added": r"补充|追加|增补|supplement|addend",
    "answered": r"反馈|采纳情况|意见情况|feedback|responses? to|summary of comments|结果|결과",
    "passed-on": r"转发|转送|贯彻|落实|细则",
    "planned": r"拟(?!合|定|订|人|态|南|真)",
    "settled": r"中标|成交|结果公告|结果公示|award",
    "paused": r"暂停|中止|suspend",
    "resumed": r"恢复|resum",
    "named": r"任职|任命|appoint",
    "dismissed": r"免职|免去|辞去",
    "listed": r"名单|目录|清单",
}
OF_ANOTHER = frozenset({("stage", "corrected"), ("stage", "passed-on"), ("stage", "ended")})
_STAGE_PATTERNS = tuple((stage, re.compile(pattern)) for stage, pattern in _STAGES.items())


def marks_of(title: str) -> frozenset[Mark]:
    """The marks of a folded title, each a kind and its value."""
    found = {(kind, _value(match)) for kind, pattern in _NUMBERS for match in pattern.finditer(title)}
    found |= {(match[2], str(int(match[1]))) for match in _COUNTED.finditer(title)}
    found |= {("stage", stage) for stage, pattern in _STAGE_PATTERNS if pattern.search(title)}
    return frozenset(found)


def clashing(one: frozenset[Mark], other: frozenset[Mark]) -> bool:
    """Whether both speak of the same kind of mark, and do not say the same."""
    for kind in {kind for kind, _ in one} & {kind for kind, _ in other}:
        values, others = ({value for of, value in marks if of == kind} for marks in (one, other))
        if not (values <= others or others <= values) or (kind == "stage" and values != others):
            return True
    return False


def stages_of(marks: frozenset[Mark]) -> frozenset[Mark]:
    """The marks that say where the work stands: draft, amended, corrected."""
    return frozenset(mark for mark in marks if mark[0] == "stage")


def is_said_in(mark: Mark, text: str) -> bool:
    """Whether a text in the form of `folding.core` has the mark, written out with its unit."""
    kind, value = mark
    if kind == "stage":
        return re.search(_STAGES[value], text) is not None
    if kind in ("year", "month", "plan", "period"):
        return value in text
    return kind not in ("part", "annex") and (f"第{value}" if kind == "nth" else f"{value}{kind}") in text


def is_of_time(mark: Mark) -> bool:
    """Whether the mark is a period or day, which a headline leaves out before anything else."""
    return mark[0] in ("year", "month", "quarter", "period", "plan", "季度", "月", "日", "분기", "월")


def _value(match: re.Match[str]) -> str:
    value = next((group for group in match.groups() if group), "")
    return str(int(value)) if value.isdecimal() else value
