"""Parses titles: issuer, wrapping, name, number, marks, and whether one announces an interpretation of another."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from monitor.dates import DATE_SIGN, MaskedText, mask_dates
from monitor.dedupe.numbers import DocumentNumber, keep_alphanumerics, normalize_text, split_document_number

_MARK_PATTERNS_BY_FORM = {
    "picture": r"一[图文](?:读|看|解)懂?|读懂|看懂|图解|图说|图文解读|一张图|漫画|要点速览|infographic",
    "film": r"视频解读|动漫解读|微视频",
    "expert": r"专家(?:解读|解析|谈)",
    "answers": r"记者提?问|快问快答|问答|百问|[\d十]问[\d十]|问题的?解答|解答$"
    r"|\bq ?& ?as?\b|questions? and answers?|\bfaqs?\b|よくある质问|질의응답",
    "note": r"(?:(?:起草|编制|修订|制定|修改|立法)的?(?:情况)?|》的)说明|explanatory (?:note|memorandum|statement)",
    "conference": r"》.{0,12}(?:新闻发布会|通气会|吹风会)|(?:发布会|吹风会)[^《》]{0,4}介绍《",
    "sheet": r"\bfact ?sheet\b|\bat a glance\b|faktenblatt",
    "reading": r"解读|(?:政策|深度|案例)解析|解析$|^解析|详解|释义|解説|해설|설명자료|\bexplain(?:er|ed)\b|erläuterung",
}

_COMPILED_FORMS = tuple((form, re.compile(pattern)) for form, pattern in _MARK_PATTERNS_BY_FORM.items())
_ANY = "|".join(f"(?:{pattern})" for pattern in _MARK_PATTERNS_BY_FORM.values())
_LEADING_MARK = re.compile(
    rf"^\[?(?:政策|文件|文字|权威|部门|官方|最新)?(?:{_ANY})s?(?:之?\d+)?\]?"
    r"(?: (?:on|about|to|for|regarding|zum|zur|zu))?[\s|:\-]*(?:the )?"
)
_TRAILING_MARK = re.compile(
    rf"[\s|:,(\-]*(?:的|之)?(?:政策|文件|文字|图文|权威|热点|相关)*(?:{_ANY})(?:之?\d+|\(\d+\))?\)?$"
)
_PRESS_ANSWER = re.compile(
    r"^.{0,40}?(?:就|关于)(?P<subject>.+?)(?:的?(?:有关|相关)(?:问题|事宜|情况))?(?:答\S{0,8}?记者(?:提)?问|接受.{0,10}采访)"
)
_HEADLINE = re.compile(r"(?<=[^\W\da-z]{4}):.{4,}$")
_QUOTED_NAME = re.compile(r"《(.+)》")


@dataclass(frozen=True)
class InterpretationMark:
    """The form of an interpretation, and its subject as the title names it, folded."""

    form: str
    subject: str


def parse_interpretation(title: str) -> InterpretationMark | None:
    """Parse what a folded title says that it explains; None where it announces no interpretation."""
    form = next((form for form, pattern in _COMPILED_FORMS if pattern.search(title)), None)
    if form is None:
        return None
    if named := _QUOTED_NAME.search(title):
        name = named[1]
        if "》" in name and "《" not in name.partition("》")[0]:
            name = name.partition("》")[0]
        return InterpretationMark(form, f"《{name}》" if "《" not in name else name)
    answered = _PRESS_ANSWER.match(title)
    subject = answered["subject"] if answered else _TRAILING_MARK.sub("", _LEADING_MARK.sub("", title))
    subject = _HEADLINE.sub("", subject)
    return InterpretationMark(form, re.sub(r"^关于(.+)的$", r"\1", subject.strip()))


TitleMark = tuple[str, str]
_UNITS = r"季度|部分|标段|批|期|月|号|届|次|回|轮|章|卷|册|版|辑|编|集|级|차|회|호|분기|월|日|时|审|讲"

_MARK_PATTERNS = {
    "year": r"(?<!\d)((?:19|20)\d\d)(?!\d)",
    "nth": r"第(\d+)",
    "part": r"\((\d{1,2})\)|之(\d{1,2})(?!\w)|\b(?:part|teil|volume|vol\.?|phase|chapter|tier|stage) ?(\w+)",
    "annex": r"(?:附件|附录|附表|别纸|붙임|별첨|\bannex|\bappendix|\banlage|\battachment) ?([a-z\d]{0,3}\b)",
    "month": r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\b",
    "quarter": r"\bq([1-4])\b",
    "plan": r"(十[一二三四五六七八九]?五|九五)(?=[\"》规时期计]|$)",
    "period": r"(上半年|下半年|全年|年初|年末|上旬|中旬|下旬|上午|下午|\bh[12]\b)",
    "number": r"\bno\.? ?(\d+)",
}
_NUMBERS = tuple((kind, re.compile(pattern)) for kind, pattern in _MARK_PATTERNS.items())
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

DISTINCT_DOCUMENT_STAGES = frozenset({("stage", "corrected"), ("stage", "passed-on"), ("stage", "ended")})
_ANY_STAGE = re.compile("|".join(_STAGES.values()))
_STAGE_PATTERNS = tuple((stage, re.compile(pattern)) for stage, pattern in _STAGES.items())


def extract_marks(title: str) -> frozenset[TitleMark]:
    found = {(kind, _parse_value(match)) for kind, pattern in _NUMBERS for match in pattern.finditer(title)}
    found |= {(match[2], str(int(match[1]))) for match in _COUNTED.finditer(title)}
    if _ANY_STAGE.search(title):
        found |= {("stage", stage) for stage, pattern in _STAGE_PATTERNS if pattern.search(title)}
    return frozenset(found)


def have_conflicting_marks(one: frozenset[TitleMark], other: frozenset[TitleMark]) -> bool:
    """Whether both have marks of one kind with different values."""
    for kind in {kind for kind, _ in one} & {kind for kind, _ in other}:
        values, others = ({value for of, value in marks if of == kind} for marks in (one, other))
        if not (values <= others or others <= values) or (kind == "stage" and values != others):
            return True
    return False


def filter_stages(marks: frozenset[TitleMark]) -> frozenset[TitleMark]:
    return frozenset(mark for mark in marks if mark[0] == "stage")


def is_stated_in(mark: TitleMark, text: str) -> bool:
    """Whether a text of letters and digits alone has the mark, written out with its unit."""
    kind, value = mark
    if kind == "stage":
        return re.search(_STAGES[value], text) is not None
    if kind in ("year", "month", "plan", "period"):
        return value in text
    return kind not in ("part", "annex") and (f"第{value}" if kind == "nth" else f"{value}{kind}") in text


def is_time_mark(mark: TitleMark) -> bool:
    """Whether the mark is a period or day, which headlines leave out first."""
    return mark[0] in ("year", "month", "quarter", "period", "plan", "季度", "月", "日", "분기", "월")


def _parse_value(match: re.Match[str]) -> str:
    value = next((group for group in match.groups() if group), "")
    return str(int(value)) if value.isdecimal() else value


_DOCUMENT_FORM = re.compile(
    r"的?(?:若干|实施|指导)?(?:通知|公告|通告|意见|决定|函|办法|全文)?(?:全文)?(?:发布|公布|印发|出台)?$"
)
MIN_BODY_WIDTH = 8
_TRUNCATION = re.compile(r"(?:\.{2,}|…)\s*$")
_TRUNCATED_NUMBER = re.compile(r"第?[\d零一二三四五六七八九十百千两]+$")
_LEADING_TAG = re.compile(
    r"^(?:\[([^\[\]\d]{1,12})\](?=.{4})|\(([^()\d]{1,12})\)(?=.{8})|([^《》|\d]{1,8})\|(?=.{8}))\s*"
)
_KICKER = re.compile(
    r"^(?:[^《》!]{1,8}!|(?:全文|转载?|刚刚|最新|快讯|官宣|[^\W\da-z]{2,10}(?:网|日报|晚报|新闻))[:,]|\d{1,3}[.、](?=\D))\s*(?=.{6})"
)
_KINDS = "press release|news release|media release|press announcements?|news|press|pressemitteilung|pm|보도자료|新闻稿"
_KIND_LABEL = re.compile(rf"^(?:{_KINDS})(?: no\.?)?(?: [\d/.-]+)?\s?: ")
_DECORATION = re.compile(
    r"(?<=[^\s\da-z,;:-])\s?(?:new|hot)!?$|\s来源:\S{2,20}$|\s[-|]\s?(?:pdf|docx?|html)$|\.(?:pdf|docx?|xlsx?|wps|ofd|zip|rar)$|\s?[(\[](?:(?:附|别添|첨부|붙임)[^()\d]{0,8}|全文|含[^()]{1,6}|组?图|视频|转发?|转载[^()]*"
    r"|(?:pdf|docx?|xlsx?|word|zip)[^()]*|[^()]*\d ?[kmg]b)[)\]]\s*$"
)

_POSTED_DATE = re.compile(
    rf"(?:\s\(?|\((?:[^\W\d]{{2,20}} ?)?)(?P<behind>{DATE_SIGN})\)?\s*$|^[\[(]?(?P<before>{DATE_SIGN})[\])]?[\s:]+"
    r"|^(?:[\[(](?=.{3,6}[\])]))?(?P<short>\d{1,2}[-./月]\d{1,2})日?(?:[\])]|\s)\s*"
    rf"|\[?(?<!\d)(?P<last>{DATE_SIGN})\]?$"
)

_SIGN_OF_DATE = re.compile(r"[\d月]")
_NUMBER_FORM = re.compile(r"(?:公告|通告|令|第)?")
_EDITION = re.compile(r"\(((?:根据)?\d{4}年?(?:\d{1,2}月)?(?:\d{1,2}日)?[^()]{0,40}(?:修订|修正|修改|通过))\)\s*$")
_TRAILING_NAME_IN_BRACKETS = re.compile(r"\(([^()]{3,30})\)$")
_TRAILING_OFFICE = re.compile(r"\(([^\d\W]{3,20}(?:部|委|委员会|总?局|厅|署|政府|办公室))\)$")
_TAIL = re.compile(
    r"^(.{6,}?)(?:\s*(?P<bar>[|_])\s*|\s+-{1,2}\s+|(?<=[^\s\da-z])-{1,2}(?=[^\W\da-z]))(?P<name>[^|_]{2,60})$"
)
_SITE_NAME = re.compile(
    rf"{_KINDS}|[^\d]*(?:网|网站|门户|政府|部|委|局|厅|署|院|协会|日报|平台|频道|专栏)|[\w-]+(?:\.[\w-]+)+"
)
_OFFICE = re.compile(
    r"(?!.*(?:转发|印发|批转|发布|贯彻|落实))[^\d\W]{1,160}?(?:等\d{1,3}个?(?:部门|单位|部委)"
    r"|部|委|委员会|局|厅|署|院|办|办公室|政府|会|行|司|处|中心|人大|检察院|省|市|县|区|单位|部门|党组|社|庁|国|交所|交易所)$"
)
_ISSUING_OFFICE = re.compile(r"^([^《》]{2,40}?)(?=(?:联合)?(?:印发|发布|公布|颁布|出台|就|对)《)")
_NAME = re.compile(
    r"^(?:关于)?(?:联合|正式)?(?:印发|发布|公布|颁布|出台|下发|实施|施行)?(?:实施|施行)?《((?:[^《》]|《[^《》]*》)+)》"
    r"(?:的(?:通知|公告|通告|决定|令)|全文|正式|发布|公布|出台|印发|实施|施行|今日|,)*$"
)
_WRAPPED_NAME = re.compile(
    r"^(?:联合|批准)?(?:印发|发布|公布|颁布|下发|颁发)(?:实施|施行)?(?P<name>.+?)的(?:通知|公告|通告|决定|令|函|通报)$"
)
_NAMED_FORM = re.compile(r"([^《》]{2,12})《([^《》]+)》")

_CALL_FOR_COMMENTS = re.compile(
    r"^(?P<again>再次)?(?:向社会)?(?:公开)?征求(?:对|社会各界对|公众对)?《(?P<name>.+)》(?:的)?(?:修改)?意见(?:建议)?"
    r"(?:的(?:通知|公告|公示|函|启事|通告))?$"
    r"|^(?:就|对)?《?(?P<name2>[^》]+?)》?(?P<again2>再次)?(?:向社会)?公开征求(?:社会|公众)?意见(?:建议)?"
    r"(?:的(?:通知|公告|公示|函|启事|通告))?$"
)


@dataclass(frozen=True)
class TitleFields:
    """The parts of a title, but for `plain` as letters and digits alone.

    `body` is the title without number, decoration, issuer and the wrapping 关于印发…的通知; `is_named`: it is a name.
    `head` is the part before a dash, `name` what a title that only announces it has in 《》. `issuer` is before 关于,
    `aside` is a tag or tail that may be a site's name, `edition` a note as (2026年3月1日修订).
    `is_truncated`: the list gave only the beginning of the title. `is_number`: it is the number alone.
    """

    plain: str
    full: str
    body: str
    head: str
    name: str
    issuer: str
    aside: str
    edition: str
    is_named: bool
    is_truncated: bool
    is_number: bool
    number: DocumentNumber | None
    marks: frozenset[TitleMark]
    interpretation: InterpretationMark | None


def parse_title(title: str, *, published: tuple[int, int, int] | None, site_names: Collection[str]) -> TitleFields:
    """Parse a title as published; `published` is the item's date, `site_names` are letters and digits alone."""
    plain = normalize_text(title)
    is_cut = bool(_TRUNCATION.search(plain))
    plain = _TRUNCATED_NUMBER.sub("", _TRUNCATION.sub("", plain)) if is_cut else plain
    plain, tag = _strip_tags(plain.rstrip("。.;,、 "))
    plain = _strip_site_name(plain, site_names)
    plain, tail = _split_site_tail(_strip_decorations(plain, published, site_names), site_names)
    number, rest = split_document_number(_strip_decorations(plain, published, site_names))
    is_number = number is not None and _NUMBER_FORM.fullmatch(keep_alphanumerics(rest)) is not None
    plain, edition = _split_note(_strip_brackets(plain if is_number else rest), _EDITION)
    plain, behind = _split_note(plain, _TRAILING_OFFICE)
    issuer, rest = _split_issuer(plain)
    body, is_named = _unwrap_name(rest)
    if is_named and not issuer:
        issuer, rest = _split_issuer(body)
        body = _unwrap_name(rest)[0]
    return TitleFields(
        plain=plain,
        full=keep_alphanumerics(plain),
        body=_normalize_name(body) or keep_alphanumerics(plain),
        head=_normalize_name(_split_issuer(plain.partition("--")[0])[1]),
        name=_normalize_name(name[1]) if (name := _NAME.match(rest)) else "",
        issuer=issuer or behind,
        aside=keep_alphanumerics(tag) + keep_alphanumerics(tail),
        edition=edition,
        is_named=is_named,
        is_number=is_number,
        is_truncated=is_cut,
        number=number,
        marks=frozenset() if is_number else extract_marks(f"{tag} {plain}"),
        interpretation=parse_interpretation(f"{tag} {plain}".strip()),
    )


def parse_subject(interpretation: InterpretationMark) -> tuple[str, str]:
    """Return the issuer and the title's body of the policy that an interpretation is about."""
    issuer, rest = _split_issuer(_strip_brackets(interpretation.subject))
    within, rest = _split_issuer(_unwrap_name(rest)[0])
    return issuer or within, _normalize_name(_unwrap_name(rest)[0])


def strip_document_form(body: str) -> str:
    """Return a title's body without 中华人民共和国 and the form: 加强燃气整治的通知 is about 加强燃气整治."""
    return _DOCUMENT_FORM.sub("", body).removeprefix("中华人民共和国")


def measure_width(body: str) -> int:
    """The number of characters, of which an ASCII one counts a third."""
    ascii_chars = sum(map(str.isascii, body))
    return len(body) - ascii_chars + ascii_chars // 3


def is_office(name: str) -> bool:
    return bool(_OFFICE.fullmatch(name))


def _normalize_name(name: str) -> str:
    return keep_alphanumerics(name).removeprefix("the").removeprefix("关于")


def _strip_tags(plain: str) -> tuple[str, str]:
    tags = []
    while (found := _LEADING_TAG.match(plain)) and not parse_interpretation(found[0]):
        tags.append(found[1] or found[2] or found[3])
        plain = plain[found.end() :]
    return _KICKER.sub("", _KIND_LABEL.sub("", plain)), " ".join(tags)


def _strip_decorations(plain: str, published: tuple[int, int, int] | None, site_names: Collection[str]) -> str:
    named = _TRAILING_NAME_IN_BRACKETS.search(plain)
    if named and not extract_marks(named[1]):
        name = keep_alphanumerics(named[1])
        if any(place in name for place in site_names if len(place) > 2):
            plain = plain[: named.start()]
    masked = mask_dates(plain) if published and _SIGN_OF_DATE.search(plain) else None
    found = _POSTED_DATE.search(masked.text) if masked else None
    if masked and found and published and _numbers_of_day(masked, found) in (sorted(published), sorted(published[1:])):
        plain = masked.restore(masked.text[: found.start()] + masked.text[found.end() :])
    return _DECORATION.sub("", plain).strip()


def _numbers_of_day(masked: MaskedText, found: re.Match[str]) -> list[int]:
    if found["short"]:
        return sorted(map(int, re.findall(r"\d+", found["short"])))
    date = masked.date_of(found["behind"] or found["before"] or found["last"])
    return sorted(part for part in date.value.parts if part)


def _split_note(plain: str, pattern: re.Pattern[str]) -> tuple[str, str]:
    """Return the title without a note in brackets behind it, and that note."""
    found = pattern.search(plain)
    return (plain[: found.start()].strip(), keep_alphanumerics(found[1])) if found else (plain, "")


def _strip_site_name(plain: str, site_names: Collection[str]) -> str:
    before, bar, rest = plain.partition("|")
    return rest.strip() if bar and keep_alphanumerics(before) in site_names and keep_alphanumerics(rest) else plain


def _split_site_tail(plain: str, site_names: Collection[str]) -> tuple[str, str]:
    """Return the title without the name of a site behind it, and that name if it may be another site's."""
    found = _TAIL.match(plain)
    if not found or re.search(r"\d", found["name"]) or extract_marks(found["name"]):
        return plain, ""
    name, has_bar = keep_alphanumerics(found["name"]), found["bar"] is not None
    is_here = any(name in place or place in name for place in site_names if len(place) > 1)
    if not (is_here or has_bar or _SITE_NAME.fullmatch(found["name"].strip())):
        return plain, ""
    head, _ = _split_site_tail(found[1].strip(), site_names) if has_bar else (found[1].strip(), "")
    return head, "" if is_here else name


def _strip_brackets(plain: str) -> str:
    found = re.fullmatch(r"\(([^()]*)\)|《([^《》]*)》", plain.strip())
    return (found[1] or f"《{found[2]}》") if found else plain.strip()


def _split_issuer(plain: str) -> tuple[str, str]:
    before, word, rest = plain.partition("关于")
    if word and not before.strip():
        return "", rest
    office = keep_alphanumerics(before)
    if word and "《" not in before and is_office(office):
        return office, rest
    issues = _ISSUING_OFFICE.match(plain)
    if issues and is_office(keep_alphanumerics(issues[1])):
        return keep_alphanumerics(issues[1]), plain[issues.end() :]
    before, word, rest = plain.partition(":")
    office = keep_alphanumerics(before)
    if word and len(office) > 2 and is_office(office):
        return office, rest.strip()
    return "", plain


def _unwrap_name(rest: str) -> tuple[str, bool]:
    """Return the name within 印发…的通知 or 《》, or a call for comments, and whether it was marked as a name."""
    if comments := _CALL_FOR_COMMENTS.match(rest):
        again = comments["again"] or comments["again2"] or ""
        return f"{comments['name'] or comments['name2']} {again}征求意见", True
    wrapped = _WRAPPED_NAME.match(rest)
    inner = wrapped["name"] if wrapped else rest
    if name := re.fullmatch(r"《([^《》]+(?:《[^《》]+》[^《》]*)?)》(\([^()]*\))?", inner.strip()):
        return name[1] + (name[2] or ""), True
    kind = _NAMED_FORM.fullmatch(inner.strip()) if wrapped else None
    if kind and not extract_marks(kind[1]):
        return kind[2], True
    return inner, wrapped is not None
