"""A title taken apart: issuer, wrapping, name, number, marks, and whether it announces a reading of another one."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from monitor.briefing.grouping.docnumber import DocNumber, split_number
from monitor.briefing.grouping.folding import core, folded
from monitor.briefing.grouping.reading import Reading, reading_of
from monitor.briefing.grouping.titlemarks import Mark, marks_of

_PAPER = re.compile(
    r"的?(?:若干|实施|指导)?(?:通知|公告|通告|意见|决定|函|办法|全文)?(?:全文)?(?:发布|公布|印发|出台)?$"
)
LEAST_BODY = 8
_CUT = re.compile(r"(?:\.{2,}|…)\s*$")
_CUT_NUMBER = re.compile(r"第?[\d零一二三四五六七八九十百千两]+$")
_LEADING_TAG = re.compile(
    r"^(?:\[([^\[\]\d]{1,12})\](?=.{4})|\(([^()\d]{1,12})\)(?=.{8})|([^《》|\d]{1,8})\|(?=.{8}))\s*"
)
_KICKER = re.compile(
    r"^(?:[^《》!]{1,8}!|(?:全文|转载?|刚刚|最新|快讯|官宣|[^\W\da-z]{2,10}(?:网|日报|晚报|新闻))[:,]|\d{1,3}[.、](?=\D))\s*(?=.{6})"
)
_KINDS = "press release|news release|media release|press announcements?|news|press|pressemitteilung|pm|보도자료|新闻稿"
_KIND_LABEL = re.compile(rf"^(?:{_KINDS})(?: no\.?)?(?: [\d/.-]+)?\s?: ")
_EXTRA = re.compile(
    r"(?<=[^\s\da-z,;:-])\s?(?:new|hot)!?$|\s来源:\S{2,20}$|\s[-|]\s?(?:pdf|docx?|html)$|\.(?:pdf|docx?|xlsx?|wps|ofd|zip|rar)$|\s?[(\[](?:(?:附|别添|첨부|붙임)[^()\d]{0,8}|全文|含[^()]{1,6}|组?图|视频|转发?|转载[^()]*"
    r"|(?:pdf|docx?|xlsx?|word|zip)[^()]*|[^()]*\d ?[kmg]b)[)\]]\s*$"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = f"(?:{'|'.join(_MONTHS)})"
_DAY = (
    r"\d{4}[-./年] ?\d{1,2}[-./月] ?\d{1,2}日?|\d{1,2}\. ?\d{1,2}\. ?\d{4}"
    rf"|\d{{1,2}} {_MONTH} \d{{4}}|{_MONTH} \d{{1,2}},? \d{{4}}"
)
_POSTED = re.compile(
    rf"(?:\s\(?|\((?:[^\W\d]{{2,20}} ?)?)(?P<behind>{_DAY})\)?\s*$|^[\[(]?(?P<before>{_DAY})[\])]?[\s:]+"
    r"|^(?:[\[(](?=.{3,6}[\])]))?(?P<short>\d{1,2}[-./月]\d{1,2})日?(?:[\])]|\s)\s*"
    r"|\[?(?<!\d)(?P<last>\d{4}[-/]\d{1,2}[-/]\d{1,2})\]?$"
)
_FORM = re.compile(r"(?:公告|通告|令|第)?")
_EDITION = re.compile(r"\(((?:根据)?\d{4}年?(?:\d{1,2}月)?(?:\d{1,2}日)?[^()]{0,40}(?:修订|修正|修改|通过))\)\s*$")
_NAME_BEHIND = re.compile(r"\(([^()]{3,30})\)$")
_OFFICE_BEHIND = re.compile(r"\(([^\d\W]{3,20}(?:部|委|委员会|总?局|厅|署|政府|办公室))\)$")
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
_ISSUES = re.compile(r"^([^《》]{2,40}?)(?=(?:联合)?(?:印发|发布|公布|颁布|出台|就|对)《)")
_NAME = re.compile(
    r"^(?:关于)?(?:联合|正式)?(?:印发|发布|公布|颁布|出台|下发|实施|施行)?(?:实施|施行)?《((?:[^《》]|《[^《》]*》)+)》"
    r"(?:的(?:通知|公告|通告|决定|令)|全文|正式|发布|公布|出台|印发|实施|施行|今日|,)*$"
)
_WRAPPED = re.compile(
    r"^(?:联合|批准)?(?:印发|发布|公布|颁布|下发|颁发)(?:实施|施行)?(?P<name>.+?)的(?:通知|公告|通告|决定|令|函|通报)$"
)
_KIND_OF_PAPER = re.compile(r"([^《》]{2,12})《([^《》]+)》")
_COMMENTS = re.compile(
    r"^(?P<again>再次)?(?:向社会)?(?:公开)?征求(?:对|社会各界对|公众对)?《(?P<name>.+)》(?:的)?(?:修改)?意见(?:建议)?"
    r"(?:的(?:通知|公告|公示|函|启事|通告))?$"
    r"|^(?:就|对)?《?(?P<name2>[^》]+?)》?(?P<again2>再次)?(?:向社会)?公开征求(?:社会|公众)?意见(?:建议)?"
    r"(?:的(?:通知|公告|公示|函|启事|通告))?$"
)


@dataclass(frozen=True, slots=True)
class Title:
    """The parts of a title, each in the form of `folding.core`.

    `body` is the title without number, decoration, issuer and the wrapping 关于印发…的通知, `is_named` where that is a
    document's name. `head` is what stands before a dash, `name` what stands in 《》 where the title only announces it.
    `issuer` stands before 关于, `aside` is a tag or tail that may be a site's name, `edition` a note as
    (2026年3月1日修订). `is_cut`: the list gave only the beginning of the title. `is_number`: it is the number alone.
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
    is_cut: bool
    is_number: bool
    number: DocNumber | None
    marks: frozenset[Mark]
    reading: Reading | None


def take_apart(title: str, *, posted: tuple[int, int, int] | None, places: Collection[str]) -> Title:
    """The parts of a title as published; `posted` is the item's day, `places` the cores of the names of its site."""
    plain = folded(title)
    is_cut = bool(_CUT.search(plain))
    plain = _CUT_NUMBER.sub("", _CUT.sub("", plain)) if is_cut else plain
    plain, tag = _without_tag(plain.rstrip("。.;,、 "))
    plain = _without_place(plain, places)
    plain, tail = _without_tail(_without_extras(plain, posted, places), places)
    number, rest = split_number(_without_extras(plain, posted, places))
    is_number = number is not None and _FORM.fullmatch(core(rest)) is not None
    plain, edition = _without_edition(_unbracketed(plain if is_number else rest))
    plain, behind = _without_office(plain)
    issuer, rest = _split_issuer(plain)
    body, is_named = _unwrapped(rest)
    if is_named and not issuer:
        issuer, rest = _split_issuer(body)
        body = _unwrapped(rest)[0]
    reading = reading_of(f"{tag} {plain}".strip())
    return Title(
        plain=plain,
        full=core(plain),
        body=_bare(body) or core(plain),
        head=_bare(_split_issuer(plain.partition("--")[0])[1]),
        name=_bare(name[1]) if (name := _NAME.match(rest)) else "",
        issuer=issuer or behind,
        aside=core(tag) + core(tail),
        edition=edition,
        is_named=is_named,
        is_number=is_number,
        is_cut=is_cut,
        number=number,
        marks=frozenset() if is_number else marks_of(f"{tag} {plain}"),
        reading=reading,
    )


def subject_of(reading: Reading) -> tuple[str, str]:
    """The issuer and the body of the title of the policy that a reading is about."""
    issuer, rest = _split_issuer(_unbracketed(reading.subject))
    within, rest = _split_issuer(_unwrapped(rest)[0])
    return issuer or within, _bare(_unwrapped(rest)[0])


def without_form(body: str) -> str:
    """A title's body without the state's name and the kind of paper: 加强燃气整治的通知 is about 加强燃气整治."""
    return _PAPER.sub("", body).removeprefix("中华人民共和国")


def width(body: str) -> int:
    """Letters as far as they tell: one of a script with blanks counts a third."""
    return sum(not char.isascii() for char in body) + sum(char.isascii() for char in body) // 3


def is_office(name: str) -> bool:
    """Whether a core may be the name of an office: what stands before 关于, or where a text was taken from."""
    return bool(_OFFICE.fullmatch(name))


def _bare(name: str) -> str:
    return core(name).removeprefix("the").removeprefix("关于")


def _without_tag(plain: str) -> tuple[str, str]:
    tags = []
    while (found := _LEADING_TAG.match(plain)) and not reading_of(found[0]):
        tags.append(found[1] or found[2] or found[3])
        plain = plain[found.end() :]
    return _KICKER.sub("", _KIND_LABEL.sub("", plain)), " ".join(tags)


def _without_extras(plain: str, posted: tuple[int, int, int] | None, places: Collection[str]) -> str:
    named = _NAME_BEHIND.search(plain)
    if named and not marks_of(named[1]) and any(place in core(named[1]) for place in places if len(place) > 2):
        plain = plain[: named.start()]
    found = _POSTED.search(plain)
    if (
        found
        and posted
        and _numbers_of_day(next(filter(None, found.groups())))
        in (
            sorted(posted),
            sorted(posted[1:]),
        )
    ):
        plain = plain[: found.start()] + plain[found.end() :]
    return _EXTRA.sub("", plain).strip()


def _numbers_of_day(written: str) -> list[int]:
    """Year, month and day of a written day, ascending: what its order was does not matter."""
    parts = re.findall(r"\d+|[a-z]{3}", written)
    return sorted(int(part) if part.isdecimal() else _MONTHS.index(part) + 1 for part in parts)


def _without_edition(plain: str) -> tuple[str, str]:
    found = _EDITION.search(plain)
    return (plain[: found.start()].strip(), core(found[1])) if found else (plain, "")


def _without_office(plain: str) -> tuple[str, str]:
    """The title without the office in brackets behind it, and that office."""
    found = _OFFICE_BEHIND.search(plain)
    return (plain[: found.start()].strip(), core(found[1])) if found else (plain, "")


def _without_place(plain: str, places: Collection[str]) -> str:
    """The title without the name of its own site before a bar."""
    before, bar, rest = plain.partition("|")
    return rest.strip() if bar and core(before) in places and core(rest) else plain


def _without_tail(plain: str, places: Collection[str]) -> tuple[str, str]:
    """The title without the name of the site behind it, and that name where it is not certain to be this site's."""
    found = _TAIL.match(plain)
    if not found or re.search(r"\d", found["name"]) or marks_of(found["name"]):
        return plain, ""
    name, has_bar = core(found["name"]), found["bar"] is not None
    is_here = any(name in place or place in name for place in places if len(place) > 1)
    if not (is_here or has_bar or _SITE_NAME.fullmatch(found["name"].strip())):
        return plain, ""
    head, _ = _without_tail(found[1].strip(), places) if has_bar else (found[1].strip(), "")
    return head, "" if is_here else name


def _unbracketed(plain: str) -> str:
    found = re.fullmatch(r"\(([^()]*)\)|《([^《》]*)》", plain.strip())
    return (found[1] or f"《{found[2]}》") if found else plain.strip()


def _split_issuer(plain: str) -> tuple[str, str]:
    before, word, rest = plain.partition("关于")
    if word and not before.strip():
        return "", rest
    if word and "《" not in before and is_office(core(before)):
        return core(before), rest
    issues = _ISSUES.match(plain)
    if issues and is_office(core(issues[1])):
        return core(issues[1]), plain[issues.end() :]
    before, word, rest = plain.partition(":")
    if word and is_office(core(before)) and len(core(before)) > 2:
        return core(before), rest.strip()
    return "", plain


def _unwrapped(rest: str) -> tuple[str, bool]:
    """The name within 印发…的通知 or 《》, and whether it was so marked as a name; calls for comments in one form."""
    comments = _COMMENTS.match(rest)
    if comments:
        again = comments["again"] or comments["again2"] or ""
        return f"{comments['name'] or comments['name2']} {again}征求意见", True
    wrapped = _WRAPPED.match(rest)
    inner = wrapped["name"] if wrapped else rest
    name = re.fullmatch(r"《([^《》]+(?:《[^《》]+》[^《》]*)?)》(\([^()]*\))?", inner.strip())
    if name:
        return name[1] + (name[2] or ""), True
    kind = _KIND_OF_PAPER.fullmatch(inner.strip()) if wrapped else None
    if kind and not marks_of(kind[1]):
        return kind[2], True
    return inner, wrapped is not None
