"""Who issued a document and when it was made: its foot, its head, its labelled lines, its title."""

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from monitor.dates import find_dates
from monitor.policies.document_text import DocumentText, Line

_BODY_END = (
    r"(?:部|委|局|厅|署|院|办|办公室|办公厅|司|会|政府|银行|中心|总局|处|所|组|法院|检察院|长官|公署|分局|支队|总队|协会|学会|联合会"
    r"|集团|公司|管理局|交易所|机构|监管局|大队|专署|社|科|小组|联席会议|党组|书院|大学|研究院|海关|税务局|管委会|财政司|秘书处|当局)"
)
_BODY = re.compile(rf"[\u4e00-\u9fff]{{1,38}}{_BODY_END}(?:\([\u4e00-\u9fff]{{2,12}}(?:代章|章|{_BODY_END})\))?")
_NO_BODY = re.compile(
    r"[。；，：:!?、]|^附件|^第[一二三四五六七八九十]|负责|以上|通知|公告|有限公司$|如下|此件|抄送|^\d|联系"
)
_PERSON = re.compile(
    r"^(?:[\u4e00-\u9fff]{0,20}(?:部长|主任|局长|署长|市长|省长|州长|县长|区长|主席|行长|总理|会长|院长|自治区主席|审计长|专员|司长|关长|社长|总裁|检察长|理事长|特首"
    r"|长官|委员长))[\s:]{0,4}[\u4e00-\u9fff·×]{1,12}(?:[\s]+[\u4e00-\u9fff×]{1,4})*$"
)
_FOOT_AFTER = re.compile(r"^(?:\(?此件|附件|抄送|主办|责任|分送|联系|\(?信息公开|\(?公开|公开方式|印发|-{2,}|\(?本)")
_LABELLED_DAY = re.compile(
    r"(?:成文日期|成文时间|印发日期|印发时间|签发日期|签署日期|制定日期|发文日期|制发日期|作出处罚决定的日期|(?:作出)?决定(?:的)?日期|处罚(?:决定)?日期)\s?[:：]?\s{0,3}"
)
_LABELLED_BODY = re.compile(
    r"(?:发文机关|发文机构|发文单位|发布机构|发布机关|发布单位|制定机关|颁布机关|印发机关|发布部门|作出(?:处罚)?决定的?(?:机关|机构)(?:名称)?|处罚机关"
    r"|作出行政处罚决定的机关名称)\s?[:：]?\s{0,3}(?P<value>[^\n:]{3,80})"
)
_ADOPTED = re.compile(
    r"^\((?P<inside>[^()]{8,120}(?:\([^()]{1,20}\)[^()]{0,60})?(?:公布|发布|通过|令|修正|修订|批准)[^()]{0,60})\)"
)
_MADE = re.compile(r"^(?:制定|订定|签署|核准|作成|通过|发布|公布)[。.]?$")
_MAKER = re.compile(r"^(?P<body>[\u4e00-\u9fff]{2,20}?)(?:根据|依据|依照|按照|行使)")
_ORDER_HEAD = re.compile(
    rf"^(?P<body>[\u4e00-\u9fff\s]{{2,60}}?{_BODY_END})\s?(?:令|公告|通告|文件|行政处罚决定书|通知|批复)\s?(?:$|[\(第〔\[]|20\d\d)"
)
_TITLE_BODIES = re.compile(
    rf"^(?P<bodies>(?:[\u4e00-\u9fff]{{1,30}}?{_BODY_END}(?:\([\u4e00-\u9fff]{{2,10}}\))?[\s、等]{{0,3}}){{1,10}}?)"
    rf"(?:关于|印发|转发|发布|公开征求|公布|行政处罚|公告|通告|令|就|征求|决定)"
)
_ZH_HEAD_LINES, _MAX_ORDER_HEAD_CHARS = 10, 60
_SEVERAL = re.compile(r"[一二三四五六七八九十多]+(?:部|委|局|厅)")
_TITLE_SPLIT = re.compile(r"[\s、\u3000]+")
_MAX_FOOT_LINES = 16

_EN_SUFFIX = (
    r"(?:Authority|Commission|Agency|Ministry|Department|Board|Office|Bank|Council|Bureau|Administration"
    r"|Service|Committee|Institute|Parliament|Treasury|Secretariat|Inspectorate|Regulator|Tribunal|Court"
    r"|Union|Corporation|Government|Directorate|Executive|Comptroller|Association|Exchange|Centre|Center"
    r"|Ombudsman|Registry|Singapore|Canada|Australia|Zealand|Standards|Ofgem|Ofcom|Ofwat|Fund|Regulators"
    r"|Legislature|Division|Commissioner|Registrar|Police\sForce|Supervisor|Panel|Laboratory|Observatory)"
)
_EN_WORD = r"[A-Z][A-Za-z'’&-]*"
_EN_BODY = re.compile(
    r"\b(?:(?:Welsh|Scottish) Ministers|(?:Lieutenant\s)?Governor(?:[ -]General)? in Council"
    rf"|(?:(?!The\s){_EN_WORD} ){{0,4}}?(?:Department|Ministry|Minister|Office|Bureau|Bank|Board|Government|Council"
    rf"|Secretary|Central Bank"
    rf"|Reserve Bank|Comptroller|Institute|Register|Commission|Authority|Agency|Committee|Commissioner|Registrar"
    rf"|Division"
    rf"|Administration|Superintendent|Director|Controller) (?:of|for|on) (?:the )?(?:[A-Z][A-Za-z'-]*|of|and|the|for"
    rf"|&|,(?= [A-Z][a-z]+ (?:and"
    rf"|&)))(?:,? (?:[A-Z][A-Za-z'-]*|of|and(?= (?:the )?[A-Z])|the(?= [A-Z])|for(?= [A-Z])|&)){{0,7}}"
    rf"|(?:(?!The ){_EN_WORD} )(?:(?:{_EN_WORD}|for|and|on|of the) ){{0,7}}?{_EN_SUFFIX}(?: (?:of"
    rf"|for) (?:the )?[A-Z][A-Za-z-]+(?: (?:and )?[A-Z][A-Za-z-]+){{0,3}})?(?! {_EN_SUFFIX}))(?![a-z])"
)
_AGENCY = re.compile(r"^AGENC(?:Y|IES):\s?(?P<value>[^\n]{3,400})", re.MULTILINE)
_EN_ISSUED = re.compile(
    r"\b(?:[Ii]ssued|[Pp]ublished|[Mm]ade|[Aa]dopted"
    r"|[Rr]eleased)\s(?:jointly\s)?by(?:\sthe)?\s(?P<value>[A-Z][^\n.;:()]{3,120})"
    r"|[Oo]n\sbehalf\sof\sthe\s(?P<behalf>[A-Z][^\n.;:()]{3,120})|\b(?:Issuing\s(?:body"
    r"|authority|agency)|Issued\sby|Issuer|Publisher|Organisation"
    r"|From):\s?(?:the\s)?(?P<label>[A-Z][^\n;]{2,100})"
)
_EN_DATE_LABEL = re.compile(
    r"(?:^|(?<=\n)|(?<=\n\()|(?<=\.\s))(?:DATED|Dated?(?:\s(?:this|at|in)[^\n\d]{0,40})?"
    r"|Done\sat\s[A-Z][a-z]+(?:\s[A-Z][a-z]+)?|Made(?:\son)?|Signed(?:\s(?:on|at|in)[^\n\d]{0,40})?"
    r"|Issued(?:\s(?:on|at|this|in)(?:(?!Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[^\n\d]){0,40})?"
    r"|Given\s(?:at|under|this)[^\n\d]{0,50}|Adopted(?:\son)?"
    r"|Date\sof\s(?:issue|issuance|signature|decision|order)|Issue\sdate|Date\sissued|Date\smade|Executed\son"
    r"|Approved|Sealed\son|Released(?:\son)?|(?:[A-Z]{2,6}\s)?[Ii]ssue\s[Dd]ate|(?:IT\sIS\s)?SO\sORDERED,?\sthis"
    r"|MADE(?=\s\d)|Sealed\swith[^\n\d]{0,60}\son|By\sorder\sof\sthe\sBoard"
    r"|Ordered\sto\sbe\sprinted)\b[\s:,.–—-]{0,40}(?:the\s)?"
)
_EN_FOOT_NAME = re.compile(
    r"(?:Secretary|Director|Administrator|Commissioner|Minister|Chair(?:man|person)?|Chief|Registrar|President"
    r"|Officer|Head|General|Deputy|Controller|Governor|Superintendent|Clerk|Counsel)\b"
)


@dataclass(frozen=True)
class Signature:
    """Who signed a document and on which day, with the spans of the words that say so."""

    issuers: list[str] = field(default_factory=list)
    made_on: dt.date | None = None
    issuers_at: tuple[int, int] | None = None
    made_at: tuple[int, int] | None = None


def read_signature(document: DocumentText, *, issuer: str | None, is_issued: bool) -> Signature:
    """Return the signature of a document; `issuer` is what its page names, `is_issued` whether it is a document."""
    read = _read_chinese if document.is_chinese else _read_english
    found = read(document, is_issued=is_issued)
    is_weak = found.issuers_at is None or (not document.is_chinese and len(found.issuers) == 1)
    is_stated = issuer and is_issued and (not found.issuers or (is_weak and not _is_acronym_of_other(issuer, found)))
    if issuer and is_stated:
        found = Signature([issuer], found.made_on, None, found.made_at)
    return found


def _is_acronym_of_other(issuer: str, found: Signature) -> bool:
    """Whether the page has only letters for a body that the document names in full."""
    return bool(found.issuers) and issuer.isupper() and " " not in issuer and not found.issuers[0].isupper()


def _parse_whole_day(text: str) -> tuple[dt.date, int, int] | None:
    """Return the day of a line and its span, where the line holds one whole date."""
    dates = [date for date in find_dates(text, order="dmy") if date.value.to_date()]
    day = dates[0].value.to_date() if len(dates) == 1 else None
    return (day, dates[0].start, dates[0].end) if day else None


def _read_chinese(document: DocumentText, *, is_issued: bool) -> Signature:
    foot = _find_foot(document)
    labelled = _find_labelled_day(document)
    issuers, at = (foot.issuers, foot.issuers_at) if foot else ([], None)
    made_on, made_at = (foot.made_on, foot.made_at) if foot else (None, None)
    if labelled and (made_on is None or not issuers):
        made_on, made_at = labelled
    if made_on is None and (adopted := _find_adopted_day(document)):
        made_on, made_at = adopted
    if not issuers and is_issued:
        issuers, at = _find_chinese_issuers(document)
    return Signature(issuers, made_on, at, made_at)


def _find_foot(document: DocumentText) -> Signature | None:
    """Return the bodies above the first date that stands alone under a body or a person's office."""
    lines = document.lines
    alone: Signature | None = None
    for place, line in enumerate(lines):
        if len(line.text) > 80 or place == 0:
            continue
        day = _parse_whole_day(line.text)
        if day is None:
            continue
        rest = (line.text[: day[1]] + line.text[day[2] :]).strip()
        if place > 2 and line.text[: day[1]].strip(" (") == "" and _MADE.match(line.text[day[2] :].strip()):
            return Signature([], day[0], None, (line.start + day[1], line.start + day[2]))
        made_at = (line.start + day[1], line.start + day[2])
        if rest and rest not in ("印发", "()", "( )"):
            bodies = _split_bodies(line.text[: day[1]])
            if bodies and line.text[day[2] :].strip() in ("", "印发") and place > 2:
                found = Signature(bodies, day[0], (line.start, line.start + day[1]), made_at)
                if line.text[day[2] :].strip() == "印发" and alone:
                    return alone
                if line.text[day[2] :].strip() != "印发":
                    return found
                alone = alone or Signature([], day[0], None, made_at)
            continue
        signed = _collect_bodies(document, lines, place)
        if signed is not None:
            return Signature(signed[0], day[0], signed[1], made_at)
        if place > 2 and (place >= len(lines) - 4 or _FOOT_AFTER.match(lines[place + 1].text)):
            alone = alone or Signature([], day[0], None, made_at)
    return alone


def _collect_bodies(
    document: DocumentText, lines: Sequence[Line], place: int
) -> tuple[list[str], tuple[int, int] | None] | None:
    """Return the bodies in the lines above a date; None where nobody signs there."""
    found: list[str] = []
    first = last = -1
    is_signed = False
    for above in range(place - 1, max(-1, place - _MAX_FOOT_LINES), -1):
        if above < 2 and above < place - 2:
            break
        text = lines[above].text
        if _PERSON.match(text):
            is_signed = True
            continue
        bodies = _split_bodies(text) if above > 0 else []
        if not bodies:
            break
        found = [*_restore(document, lines[above], bodies), *found]
        first, last = lines[above].start, (lines[above].end if last < 0 else last)
    if not found and not is_signed:
        return None
    return found, ((first, last) if found else None)


def _restore(document: DocumentText, line: Line, bodies: Sequence[str]) -> Iterator[str]:
    """Yield the bodies as the page writes them, before characters were folded."""
    original = re.sub(r"[\s\u3000]", "", document.original[line.start : line.end])
    plain = re.sub(r"\s", "", line.text)
    for body in bodies:
        at = plain.find(body)
        yield original[at : at + len(body)] if at >= 0 else body


def _split_bodies(text: str) -> list[str]:
    """Return the bodies that a line names and nothing else; letters set apart (公 安 部) are joined."""
    bare = text.strip(" ()")
    if not 2 <= len(bare) <= 120 or _NO_BODY.search(bare):
        return []
    pieces = bare.split()
    if len(pieces) > 1 and all(len(piece) == 1 for piece in pieces):
        pieces = ["".join(pieces)]
    if len(pieces) > 1 and any(len(piece) == 1 for piece in pieces):
        pieces = _TITLE_SPLIT.split(re.sub(r"(?<![\u4e00-\u9fff]{2})\s(?=[\u4e00-\u9fff](?:\s|$))", "", bare))
    return pieces if all(_BODY.fullmatch(piece) for piece in pieces) else []


def _find_labelled_day(document: DocumentText) -> tuple[dt.date, tuple[int, int]] | None:
    for found in _LABELLED_DAY.finditer(document.folded):
        dates = [date for date in find_dates(document.folded[found.end() : found.end() + 24]) if date.start <= 1]
        day = dates[0].value.to_date() if dates else None
        if day:
            return day, (found.start(), found.end() + dates[0].end)
    return None


def _find_adopted_day(document: DocumentText) -> tuple[dt.date, tuple[int, int]] | None:
    """Return the last day of the brackets under the title that say when a law was adopted and published."""
    for line in document.lines[:5]:
        if adopted := _ADOPTED.match(line.text):
            days = [date for date in find_dates(adopted["inside"]) if date.value.to_date()]
            day = days[-1].value.to_date() if days else None
            if day:
                return day, (line.start, line.end)
    return None


def _find_chinese_issuers(document: DocumentText) -> tuple[list[str], tuple[int, int] | None]:
    """Return the bodies that a document without a foot names: labelled, at its head, as its makers, in its title."""
    return _find_labelled_bodies(document) or _find_head_bodies(document) or (_find_title_bodies(document), None)


def _find_labelled_bodies(document: DocumentText) -> tuple[list[str], tuple[int, int]] | None:
    labelled = _LABELLED_BODY.search(document.folded)
    if not labelled:
        return None
    value = re.split(r"[，。；]", labelled["value"])[0].strip()
    bodies = [piece for piece in _TITLE_SPLIT.split(value) if _BODY.fullmatch(piece)]
    start = labelled.start("value")
    original = document.original[start : start + len(labelled["value"])]
    written = [piece for piece in _TITLE_SPLIT.split(original.strip()) if piece][: len(bodies)]
    return (written, (start, labelled.end())) if bodies else None


def _find_head_bodies(document: DocumentText) -> tuple[list[str], tuple[int, int]] | None:
    """Return the bodies of the first lines that are nothing but bodies, or that say who makes what follows."""
    found: list[str] = []
    start = end = 0
    for line in document.lines[:_ZH_HEAD_LINES]:
        head = _ORDER_HEAD.match(line.text) if len(line.text) < _MAX_ORDER_HEAD_CHARS else None
        bodies = _split_bodies(head["body"] if head else line.text)
        if bodies:
            start, end = (start if found else line.start), line.end
            found += _restore(document, line, bodies)
        elif found:
            break
    if found:
        return list(dict.fromkeys(found)), (start, end)
    for line in document.lines[:_ZH_HEAD_LINES]:
        maker = _MAKER.match(line.text) if "制定" in line.text else None
        if maker and _BODY.fullmatch(maker["body"]):
            return [document.original[line.start : line.start + maker.end("body")]], (line.start, line.end)
    return None


def _find_title_bodies(document: DocumentText) -> list[str]:
    """Return the bodies before 关于 or 印发 in a title; 五部门 are none."""
    found = _TITLE_BODIES.match(document.title)
    if not found:
        return []
    written = [
        piece for piece in _TITLE_SPLIT.split(document.original_title[: found.end("bodies")].strip(" 、等")) if piece
    ]
    pieces = [piece for piece in _TITLE_SPLIT.split(found["bodies"].strip(" 、等")) if piece]
    is_whole = len(written) == len(pieces) and all(map(_BODY.fullmatch, pieces))
    return written if is_whole and not _SEVERAL.match(pieces[0]) else []


def _read_english(document: DocumentText, *, is_issued: bool) -> Signature:
    made_on, made_at = _find_english_day(document, is_issued=is_issued)
    issuers, at = _find_english_issuers(document) if is_issued else ([], None)
    return Signature(issuers, made_on, at, made_at)


def _find_english_day(document: DocumentText, *, is_issued: bool) -> tuple[dt.date | None, tuple[int, int] | None]:
    """Return the day after Dated, Made or Done at; else that of a line of its own at the head or under a signature."""
    labels = sorted(_EN_DATE_LABEL.finditer(document.folded), key=lambda label: not _MADE_LABEL.match(label[0]))
    for found in labels:
        behind = document.folded[found.end() : found.end() + 40].split("\n\n")[0]
        dates = [date for date in find_dates(behind, order="dmy") if date.start <= _MAX_LABEL_GAP]
        day = dates[0].value.to_date() if dates else None
        if day:
            return day, (found.start(), found.end() + dates[0].end)
    if not is_issued or _BILL.search(document.title) or _BILL_LINE.search(document.folded, 0, _MAX_HEAD_CHARS):
        return None, None
    lines = document.lines
    foot = range(len(lines) - 1, max(2, len(lines) - _MAX_FOOT_LINES), -1)
    for place in (*foot, *range(min(_HEAD_LINES, len(lines)))):
        line = lines[place]
        day_at = _parse_whole_day(line.text) if len(line.text) < _MAX_DAY_LINE_CHARS else None
        if (
            day_at is None
            or not _DAY_LINE_AHEAD.fullmatch(line.text[: day_at[1]])
            or line.text[day_at[2] :].strip(" ().,")
        ):
            continue
        around = f"{lines[place - 1].text if place else ''}\n{lines[place + 1].text if place + 1 < len(lines) else ''}"
        if place < _HEAD_LINES or _EN_FOOT_NAME.search(around) or _find_bodies(around) or place == len(lines) - 1:
            return day_at[0], (line.start + day_at[1], line.start + day_at[2])
    return _find_masthead_day(lines[:_HEAD_LINES])


def _find_masthead_day(lines: Sequence[Line]) -> tuple[dt.date | None, tuple[int, int] | None]:
    """Return the day that ends a line of the head behind a form or a number: News | 18 June 2026."""
    for line in lines:
        day_at = _parse_whole_day(line.text) if len(line.text) < _MAX_MASTHEAD_CHARS else None
        if day_at and not line.text[day_at[2] :].strip(" ().") and _MASTHEAD.fullmatch(line.text[: day_at[1]]):
            return day_at[0], (line.start + day_at[1], line.start + day_at[2])
    return None, None


_MAX_MASTHEAD_CHARS = 90
_MASTHEAD = re.compile(
    r"(?!(?:First )?(?:Published|Updated|Clos|Open|Comment|Deadline|Effective|Com(?:es|ing)|Case)|\d{4}/)"
    r"[A-Z][^:;\n]{2,70}?(?:\s?[|–—]\s?|,\s|(?<=\d)\s{1,20}|\s{2,20})"
)
_MADE_LABEL = re.compile("MADE|Made")
_MAX_LABEL_GAP, _HEAD_LINES, _MAX_DAY_LINE_CHARS = 12, 7, 50
_DAY_LINE_AHEAD = re.compile(
    r"(?:[A-Z][A-Za-z .]{2,24},\s)?(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,?\s)?(?:the\s)?[\s(]*"
)
_BARE_ACRONYM = re.compile(r"(?<=[a-z])\s[A-Z]{3,8}$")
_ADDRESSEE = re.compile(r"(?:Chief|Deputy Chief|Senior) Executive|(?:All|To All) .*")
_OFFICER_OF = re.compile(
    r"^(?:[A-Z][a-z]+ ){0,3}(?:Director(?:-General)?|Secretary|Head|Chief|Chair|Officer) of (?:the )?"
    r"(?=(?:[A-Z][a-z]+ )*(?:Ministry|Department|Authority|Commission|Agency|Office|Board)\b)"
)
_COUNTRY = re.compile(
    r"(?:Government of |Commonwealth of |Republic of )?(?:New Zealand|South Australia|Western Australia|Australia"
    r"|Canada"
    r"|Singapore|European Union|United States of America)"
)
_ACRONYM = re.compile(r"\s\([A-Z][A-Za-z]{1,9}\)$")
_GAZETTE = re.compile(r"Journal|Gazette|Register|Hansard|Parliament$|Instruments?$|Public Record")


def _find_bodies(text: str) -> list[str]:
    """Return the public bodies that a text names in full."""
    names = (
        _OFFICER_OF.sub("", re.sub(r"^(?:The|In|On|At|By|This|For|From|Under|And|To)\s", "", found[0]))
        for found in _EN_BODY.finditer(text)
    )
    return [
        name for name in names if len(name.split()) > 1 and not _GAZETTE.search(name) and not _COUNTRY.fullmatch(name)
    ]


def _read_body_line(line: Line) -> list[str]:
    """Return the bodies that make up a line: DEPARTMENT OF JUSTICE, Securities and Futures Commission (SFC)."""
    bare = _ACRONYM.sub("", line.text.strip(" .,"))
    if bare.startswith("THE ") and " AND THE " not in bare:
        bare = bare.removeprefix("THE ")
    plain = _LOWER_WORDS.sub(lambda word: word[0].lower(), bare.title()) if bare.isupper() else bare
    plain = _BARE_ACRONYM.sub("", plain.removeprefix("The ").removeprefix("the "))
    if (
        len(bare) > _MAX_BODY_CHARS
        or bare.startswith(("By ", "For ", "To ", "BY ", "FOR "))
        or _GAZETTE.search(plain)
        or _COUNTRY.fullmatch(plain)
        or _ADDRESSEE.fullmatch(plain)
        or not _EN_BODY.fullmatch(plain)
    ):
        return []
    return bare.split(" AND THE ") if bare.isupper() and bare.startswith("THE ") else [bare]


_MAX_BODY_CHARS = 90
_LOWER_WORDS = re.compile(r"\b(?:Of|For|And|The|On|In)\b")


def _find_english_issuers(document: DocumentText) -> tuple[list[str], tuple[int, int] | None]:
    """Return the bodies that a document names as its own, by where it names them: the surest place first."""
    if agency := _AGENCY.search(document.folded):
        names = re.split(r";\s?(?:and\s)?", agency["value"].strip(" ."))
        cut = [
            _AGENCY_TAIL.sub("", _AGENCY_PARENT.sub("", re.sub(r"^(?:and\s)?(?:the\s)?", "", name.strip()))).strip(" .")
            for name in names
        ]
        return [name for name in cut if name], agency.span()
    if _BILL.search(document.title) or _BILL_LINE.search(document.folded, 0, _MAX_HEAD_CHARS):
        return [], None
    named: list[str] = []
    span = (0, 0)
    before: Line | None = None
    for line in document.lines[:_HEAD_LINES]:
        if bodies := _read_body_line(line):
            is_below = before is not None and line.start - before.end < _MAX_LINE_GAP
            if is_below and _IS_PART.search(bodies[0]) and not _IS_PART.search(named[-1]):
                continue
            if is_below and _IS_DEPARTMENT.match(named[-1]) and _IS_AGENCY.search(bodies[0]):
                named.pop()
            named += bodies
            span = (line.start, line.end)
            before = line
    bodies = [name for name in named if not re.match("(?:The )?Government", name, re.IGNORECASE)] or named
    if named:
        return list(dict.fromkeys(bodies)), span
    return _find_acting_bodies(document)


def _find_letterhead(document: DocumentText) -> tuple[list[str], tuple[int, int]] | None:
    """Return the name that stands alone on the first line, set off from what follows or above a form of document."""
    if len(document.lines) < _MIN_LETTER_LINES:
        return None
    line, below = document.lines[:2]
    is_set_off = below.start - line.end >= _MAX_LINE_GAP or _FORM_LINE.match(below.text)
    is_name = _LETTERHEAD.fullmatch(line.text) and not _NO_LETTERHEAD.search(line.text)
    if _REGULATOR.fullmatch(line.text):
        return [line.text], (line.start, line.end)
    is_name = is_name or (len(line.text) < _MAX_NAME_CHARS and f"The {line.text} " in document.folded)
    if not is_set_off or not is_name or line.text.casefold() in document.title.casefold():
        return None
    return [line.text], (line.start, line.end)


_MIN_LETTER_LINES, _MAX_LINE_GAP, _MAX_NAME_CHARS = 3, 2, 50
_REGULATOR = re.compile(r"Of[a-z]{3,5}")
_LETTERHEAD = re.compile(r"[A-Z][A-Za-z'’&.-]*(?: (?:[A-Z][A-Za-z'’&.-]*|of|for|and|the|on|&)){1,7}")
_NO_LETTERHEAD = re.compile(
    r"\b(?:Notice|Release|Statement|Rules?|Regulations?|Statistics|Gazette|Register|Paper|Report|News|Media|Press"
    r"|Letter"
    r"|Consultations?|Guidance|Circular|Order|Act|Code|Draft|Summary|Page|Part|Chapter|Article|Introduction|Background"
    r"|Overview|Contents|From|Archive|Instruments?|Speech|Minutes|Agenda|Journal|Explanatory|Memorandum|Plan|Programme"
    r"|Decision|Direction|Proposal|Publication|Published|Update|Policy|Bill|Law|Laws|Frequently|Questions|Written"
    r"|Scheme)\b"
    r"|^(?:Sir|Madam|Dear|To|Re)\b",
    re.IGNORECASE,
)
_FORM_LINE = re.compile(
    r"(?:Competition|Funding|Pilot|Policy paper|Guidance|Press release|News(?: story)?|Notice|Circular|Regulatory"
    r"|Consultation|Decision|Guideline"
    r"|Statement|Corporate report|Closed|Open|Media release|Direction|Order|Code|Letter|Bulletin)\b",
    re.IGNORECASE,
)
_IS_PART = re.compile(r"\b(?:Office|Division|Directorate|Bureau|Branch|Unit)\b", re.IGNORECASE)
_IS_DEPARTMENT = re.compile(r"(?:U\.S\. )?DEPARTMENT\b")
_IS_AGENCY = re.compile(r"\b(?:Administration|Service|Agency|Commission|Bureau)$")
_BILL = re.compile(r"\bBill\b(?! of)|^(?:H\. ?R\.|S\.) ?\d")
_BILL_LINE = re.compile(r"^A BILL$|^H\. ?R\. ?\d+$", re.MULTILINE)


_AGENCY_PARENT = re.compile(r",\s[A-Z]{2,6}$")
_AGENCY_TAIL = re.compile(
    r"\s\([A-Z]{2,8}\)$|,\s(?:[A-Z]{2,6}|(?:U\.S\.\s)?Department of [A-Z][a-z ]+)(?:\s\([A-Z]{2,6}\))?$"
)
_ACTS = re.compile(
    r"\s?(?:\((?:the\s)?[\"“']?[A-Za-z]{2,12}[\"”']?\)\s?)?(?:,\s[^,.]{2,60},\s)?(?:has|have|is|are|will|today"
    r"|makes?|issues?"
    r"|issued|publish|announce|propos|invit|seek|consult|adopt|approv|amend|order|fin|impos|said|confirm|releas"
    r"|launch|set"
    r"|on\s\d|hereby|jointly|recognis|determin|grant|gives?|calls?|directs?|expects?)"
)


def _find_acting_bodies(document: DocumentText) -> tuple[list[str], tuple[int, int] | None]:
    """Return the bodies that act in the text, that signed at its foot, or else the first one that it names."""
    head = document.folded[:_MAX_HEAD_CHARS]
    issued = _EN_ISSUED.search(head)
    if issued and (names := _find_bodies(issued["value"] or issued["behalf"] or issued["label"])):
        return names, issued.span()
    for found in _EN_BODY.finditer(head):
        names = _find_bodies(found[0])
        if names and _ACTS.match(head, found.end()) and names[0] != "Secretary of State":
            joint = re.search(
                r"(?P<other>[A-Z][^.,;\n]{6,80}?)\s(?:and|together with|,)\s(?:the\s)?\Z", head[: found.start()]
            )
            others = _find_bodies(joint["other"]) if joint else []
            with_others = re.match(
                r",?\s(?:and|together with|jointly with)\s(?:the\s)?(?P<other>[A-Z][^.,;\n]{6,80})", head[found.end() :]
            )
            behind = _find_bodies(with_others["other"])[:1] if with_others else []
            return [*others, *names, *behind], found.span()
    if letterhead := _find_letterhead(document):
        return letterhead
    for line in reversed(document.lines[-_MAX_SIGNATURE_LINES:]):
        if bodies := _read_body_line(line):
            return bodies, (line.start, line.end)
    if re.search(r"\bBill\b", document.title):
        return [], None
    found_first = next((found for found in _EN_BODY.finditer(head) if _find_bodies(found[0])), None)
    return (_find_bodies(found_first[0]), found_first.span()) if found_first else ([], None)


_MAX_HEAD_CHARS, _MAX_SIGNATURE_LINES = 2_500, 6
