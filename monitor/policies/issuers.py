"""Who issued a document and when it was made: its foot, its head, its labelled lines, its title."""

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from monitor.dates import find_dates
from monitor.policies.document_text import DocumentText, Line
from monitor.policies.english_issuers import names_body, read_english_signature, write_in_full
from monitor.policies.signatures import MAX_FOOT_LINES, Signature, parse_whole_day

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
    r"(?:成文日期|成文时间|印发日期|印发时间|下发日期|颁发日期|核发日期|签发日期|签署日期|制定日期|发文日期|制发日期|作出处罚决定的日期|(?:作出)?决定(?:的)?日期|处罚(?:决定)?日期)\s?[:：]?\s{0,3}"
)
_LABELLED_BODY = re.compile(
    r"(?:发文机关|发文机构|发文单位|发布机构|发布机关|发布单位|制定机关|颁布机关|印发机关|发布部门|作出(?:处罚)?决定的?(?:机关|机构)(?:名称)?|处罚机关|征集(?:部门|单位|机关|主体)|征求意见(?:部门|单位|机关)|征求(?:部门|单位)"
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
    rf"(?:关于|印发|转发|发布|公开征求|公布|行政处罚|公告|通告|令|就|征求|决定|(?=20\d\d年))"
)
_IN_FORCE_BEHIND = re.compile(r"\s?起\s?(?:正式)?(?:施行|实施|生效|执行|试行)")
_ADOPTER = re.compile(
    r"\s?(?:经|由)?(?P<body>[\u4e00-\u9fff]{2,30}?)(?:令|公告|通告|第|发布|公布|印发|颁布|制定|[(〔\[])"
)
_ACTS_ZH = re.compile(
    r"(?:^|[，。日]|日\))\s?"
    rf"(?P<bodies>[\u4e00-\u9fff]{{2,30}}?{_BODY_END}(?:、[\u4e00-\u9fff]{{2,30}}?{_BODY_END}){{0,6}})(?:\([^()]{{2,16}}\))?\s?"
    r"(?:(?:今|昨)[日天]|近日|日前|联合|共同|依据|依法|宣布|刊发|公布|发布|发出|印发|推出|要求(?!的)|决定|于\s?(?:20\d\d年|\d{1,2}月)|就[^，。]{2,60}(?:展开|征询|咨询|征求|刊发|发表))"
)
_NO_ACTOR = re.compile("会议|届|本[局署会部]|有限公司$|^(?:由|经|根据|按照|向|对|与|将|因|为|该|各|新)|国务院常务")
_ACTING_LINES, _ACTING_CHARS = 6, 200
_ZH_HEAD_LINES, _MAX_ORDER_HEAD_CHARS = 10, 60
_SEVERAL = re.compile(r"[一二三四五六七八九十多]+(?:部|委|局|厅)")
_TITLE_SPLIT = re.compile(r"[\s、\u3000]+")


def read_signature(document: DocumentText, *, issuer: str | None, is_issued: bool) -> Signature:
    """Return the signature of a document; `issuer` is what its page names, `is_issued` whether it is a document."""
    read = _read_chinese if document.is_chinese else read_english_signature
    if issuer and not document.is_chinese:
        issuer = write_in_full(document, issuer)
    found = read(document, is_issued=is_issued)
    is_weak = found.issuers_at is None
    is_stated = issuer and is_issued and (not found.issuers or (is_weak and not _is_acronym_of_other(issuer, found)))
    if issuer and not is_issued and not document.is_chinese and names_body(document, issuer):
        return Signature([issuer], found.made_on, None, found.made_at)
    is_longer = issuer and len(found.issuers) == 1 and found.issuers[0] in issuer and issuer in document.original
    if issuer and (is_stated or is_longer):
        found = Signature([issuer], found.made_on, None, found.made_at)
    return found


def _is_acronym_of_other(issuer: str, found: Signature) -> bool:
    """Whether the page has only letters for a body that the document names in full."""
    return bool(found.issuers) and issuer.isupper() and " " not in issuer and not found.issuers[0].isupper()


def _read_chinese(document: DocumentText, *, is_issued: bool) -> Signature:
    foot = _find_foot(document)
    labelled = _find_labelled_day(document)
    issuers, at = (foot.issuers, foot.issuers_at) if foot else ([], None)
    made_on, made_at = (foot.made_on, foot.made_at) if foot else (None, None)
    if labelled and (made_on is None or not issuers):
        made_on, made_at = labelled
    if made_on is None and (adopted := _find_adopted_day(document) or _find_head_day(document)):
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
        day = parse_whole_day(line.text)
        if day is None:
            continue
        rest = (line.text[: day[1]] + line.text[day[2] :]).strip()
        if place > 2 and line.text[: day[1]].strip(" (") == "" and _MADE.match(line.text[day[2] :].strip()):
            return Signature([], day[0], None, (line.start + day[1], line.start + day[2]))
        made_at = (line.start + day[1], line.start + day[2])
        if (
            place > 2
            and not line.text[: day[1]].strip()
            and rest.startswith("于")
            and (made_by := _split_bodies(rest[1:]))
        ):
            bodies = [*_restore(document, line, made_by)]
            return Signature(bodies, day[0], (line.start + day[2], line.end), made_at)
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
    for above in range(place - 1, max(-1, place - MAX_FOOT_LINES), -1):
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
            days = [
                date
                for date in find_dates(adopted["inside"])
                if date.value.to_date() and not _IN_FORCE_BEHIND.match(adopted["inside"], date.end)
            ]
            day = days[-1].value.to_date() if days else None
            if day:
                return day, (line.start, line.end)
    return None


def _find_head_day(document: DocumentText) -> tuple[dt.date, tuple[int, int]] | None:
    """Return the day that stands alone under the head of an order, as bodies of Taiwan date theirs."""
    for head, line in pairwise(document.lines[:4]):
        if len(head.text) < _MAX_ORDER_HEAD_CHARS and _ORDER_HEAD.match(head.text) and len(line.text) < 30:
            day = parse_whole_day(line.text)
            if day and not (line.text[: day[1]] + line.text[day[2] :]).strip():
                return day[0], (line.start, line.end)
    return None


def _find_chinese_issuers(document: DocumentText) -> tuple[list[str], tuple[int, int] | None]:
    """Return the bodies that a document without a foot names: labelled, at its head, as its makers, in its title."""
    found = _find_labelled_bodies(document) or _find_head_bodies(document) or _find_adopting_body(document)
    if found is not None:
        return found
    titled, acting = _find_title_bodies(document), _find_acting_body(document)
    if acting and (not titled or (len(titled) == 1 and _is_short_for(titled[0], acting[0][0]))):
        return acting
    return titled, None


def _is_short_for(short: str, full: str) -> bool:
    """Whether a name is written with characters of a longer one, in their order: 聯交所 of 香港聯合交易所."""
    rest = iter(full)
    return len(short) < len(full) and all(char in rest for char in short)


def _find_adopting_body(document: DocumentText) -> tuple[list[str], tuple[int, int]] | None:
    """Return the body in the brackets under the title that say who published a rule and when."""
    for line in document.lines[:5]:
        adopted = _ADOPTED.match(line.text)
        for date in reversed(find_dates(adopted["inside"])) if adopted else ():
            maker = _ADOPTER.match(adopted["inside"], date.end) if adopted else None
            if maker and _BODY.fullmatch(maker["body"]) and not _NO_ACTOR.search(maker["body"]):
                start = line.start + 1 + maker.start("body")
                return [document.original[start : start + len(maker["body"])]], (line.start, line.end)
    return None


def _find_acting_body(document: DocumentText) -> tuple[list[str], tuple[int, int]] | None:
    """Return the body that the first paragraphs say has acted: 运输署今日就…展开咨询."""
    for line in document.lines[:_ACTING_LINES]:
        if found := _ACTS_ZH.search(line.text, 0, _ACTING_CHARS):
            pieces = _TITLE_SPLIT.split(found["bodies"])
            start = line.start + found.start("bodies")
            original = _TITLE_SPLIT.split(document.original[start : start + len(found["bodies"])])
            if all(_BODY.fullmatch(piece) and not _NO_ACTOR.search(piece) for piece in pieces):
                return original, (start, start + len(found["bodies"]))
    return None


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
        departments = [body for body in found if not body.endswith(("特别行政区政府", "特別行政區政府"))]
        return list(dict.fromkeys(departments or found)), (start, end)
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
