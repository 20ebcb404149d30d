"""Who issued a Chinese document and when it was made: its foot, its head, its labelled lines, its title."""

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from monitor.dates import find_dates
from monitor.policies.document_text import DocumentText, Line
from monitor.policies.signatures import MAX_FOOT_LINES, Signature, parse_whole_day

_BODY_END = (
    r"(?:部|委|局|厅|署|院|办|办公室|办公厅|司|会|政府|银行|中心|总局|处|所|组|法院|检察院|长官|公署|分局"
    r"|支队|总队|协会|学会|联合会"
    r"|集团|公司|管理局|交易所|机构|监管局|大队|专署|社|科|小组|联席会议|党组|书院|大学|研究院|海关|税务局"
    r"|管委会|财政司|秘书处|当局"
    r"|分行|支行|联盟|总站|仲裁庭|监督总署|事务监督|中央)"
)
_HAN = "[\u4e00-\u9fff]"
_BODY = re.compile(rf"{_HAN}{{1,38}}{_BODY_END}(?:\({_HAN}{{2,12}}(?:代章|章|{_BODY_END})\))?")
_FIRM = r"^(?!.{0,40}(?:交易所|结算|清算|转让系统|交易中心|电网|交易系统)).{0,60}有限(?:责任)?公司$"
_PART_OF_PAGE = (
    "(?:新闻|资讯|帮助|会员|个人|服务|交易|客服|数据|下载|媒体|培训|信息|文档|用户|政务服务|组织|办事"
    "|管理|研究|领导|全|各|主管)?"
    "(?:中心|公司|社|会|所|处|部|局|机构|小组|大厅|政府|单位)"
)
_NO_BODY = re.compile(
    r"[。；，：:!?、|]|^附件|^第[一二三四五六七八九十]|负责|以上|通知|公告|如下|此件|抄送|^\d|联系"
    rf"|{_FIRM}|^(?:我|本(?!溪)|您|你|他)|^{_PART_OF_PAGE}$"
)
_OFFICE_END = (
    r"(?:部长|主任|局长|署长|市长|省长|州长|县长|区长|主席|行长|总理|会长|院长|审计长|专员|司长|关长|社长"
    r"|总裁|检察长|理事长|特首"
    r"|长官|委员长|总监|处长|秘书长|建筑事务监督|主任委员)"
)
_OFFICE = re.compile(
    r"^(?:(?:19|20)\d\d年\d{1,2}月\d{1,2}日\s+)?"
    rf"(?P<office>{_HAN}{{2,20}}?{_OFFICE_END})(?P<name>\s+[\u4e00-\u9fff×○·\s]{{2,8}})?$"
)
_PERSON = re.compile(
    rf"^(?:{_HAN}{{0,20}}{_OFFICE_END})[\s:]{{0,4}}[\u4e00-\u9fff·×○]{{1,12}}(?:\s+[\u4e00-\u9fff×○]{{1,4}})*$"
)
_NAME_LINE = re.compile(r"(?!以上|特此|此致|附件|敬启)[\u4e00-\u9fff×○·]{2,4}")
_BARE_OFFICE = re.compile(rf"(?:副|助理|代理|署理|高级|首席|常务)*{_OFFICE_END}|主任委员|.*副[^副]{{0,2}}{_OFFICE_END}")
_COUNT = r"[\d一二三四五六七八九十百〇零]"
_YEAR_OF_REPUBLIC = rf"中华民国\s?{_COUNT}{{2,6}}年\s?{_COUNT}{{1,3}}月\s?{_COUNT}{{1,3}}日"
_HEAD_ORDER = re.compile(rf"^{_YEAR_OF_REPUBLIC}\s?(?P<body>{_HAN}{{2,20}}?{_BODY_END}){_HAN}{{0,10}}字第")
_FOOT_AFTER = re.compile(r"^(?:\(?此件|附件|抄送|主办|责任|分送|联系|\(?信息公开|\(?公开|公开方式|印发|-{2,}|\(?本)")
_LABELLED_DAY = re.compile(
    r"(?:(?:成文|印发|下发|颁发|核发|签发|签署|制定|发文|制发)(?:日期|时间)|作出处罚决定的日期"
    r"|(?:作出)?决定(?:的)?日期|处罚(?:决定)?日期)"
    r"\s?[:：]?\s{0,3}"
)
_LABELLED_BODY = re.compile(
    r"(?:发文机关|发文机构|发文单位|发布机构|发布机关|发布单位|制定机关|颁布机关|印发机关|发布部门"
    r"|作出(?:行政)?(?:处罚)?决定的?(?:机关|机构)(?:名称)?"
    r"|处罚机关|征集(?:部门|单位|机关|主体)|征求意见(?:部门|单位|机关)|征求(?:部门"
    r"|单位))\s?[:：]?\s{0,3}(?P<value>[^\n:]{3,80})"
)
_ADOPTED = re.compile(
    r"^\((?P<inside>[^()]{8,120}(?:\([^()]{1,20}\)[^()]{0,60})?(?:公布|发布|通过|令|修正|修订|批准)[^()]{0,60})\)"
)
_MADE = re.compile(r"^(?:制定|订定|签署|核准|作成|通过|发布|公布)[。.]?$")
_MAKER = re.compile(rf"^(?P<body>{_HAN}{{2,20}}?)(?:根据|依据|依照|按照|行使)")
_ORDER = (
    r"(?:令|公告|通告|文件|行政处罚决定书|(?:民事|刑事|行政)?(?:判决书|裁定书|调解书)|决定书|裁处书|处分书"
    r"|通知|批复|书?函)"
)
_ORDER_HEAD = re.compile(rf"^(?P<body>[\u4e00-\u9fff\s]{{2,60}}?{_BODY_END})\s?{_ORDER}\s?(?:$|[\(第〔\[]|20\d\d)")
_ORDER_DAY = re.compile(
    rf"^(?P<body>{_HAN}{{2,30}}?{_BODY_END})\s?{_ORDER}\s+(?:{_YEAR_OF_REPUBLIC}|20\d\d年\d{{1,2}}月\d{{1,2}}日)$"
)
_TITLE_BODIES = re.compile(
    rf"^(?P<bodies>(?:{_HAN}{{1,30}}?{_BODY_END}(?:\({_HAN}{{2,10}}\))?[\s、等]{{0,3}}){{1,10}}?)"
    rf"(?:关于|印发|转发|发布|公开征求|公布|行政处罚|公告|通告|令|就|征求|决定|(?=20\d\d年))"
)
_IN_FORCE_BEHIND = re.compile(r"\s?起\s?(?:正式)?(?:施行|实施|生效|执行|试行)")
_ADOPTER = re.compile(rf"\s?(?:经|由)?(?P<body>{_HAN}{{2,30}}?)(?:令|公告|通告|第|发布|公布|印发|颁布|制定|[(〔\[])")
_ACTS = (
    r"(?:(?:今|昨)[日天]|近日|日前|联合|共同|依据|根据|按照|依照|依法|宣布|刊发|公布|发布|发出|印发|推出"
    r"|要求(?!的)|决定|(?:公开)?谴责|责令|警告|检控|起诉|禁止"
    r"|核准|批准|处以|罚款|欢迎|于\s?(?:20\d\d年|\d{1,2}月)|就[^，。]{2,60}(?:展开|征询|咨询|征求|刊发|发表))"
)
_ACTOR = re.compile(
    rf"(?:^|[，。日]|日\))\s?(?P<bodies>{_HAN}{{2,30}}?{_BODY_END}(?:、{_HAN}{{2,30}}?{_BODY_END}){{0,6}})"
    rf"(?:\([^()]{{2,16}}\))?\s?{_ACTS}"
)
_NO_ACTOR = re.compile(
    rf"会议|届|本[局署会部]|{_FIRM}|国务院常务"
    r"|^(?:由|经(?!济|贸)|根据|按照|向|对|与|将|因|为|该|各|我|本(?!溪)|市(?!场)|省|区|县|新(?!疆|乡|余|密"
    r"|民|沂|昌|会|郑|泰|华|加坡|北|竹|界))"
)
_PARENT = re.compile(rf"{_HAN}{{4,40}}?公司(?:全资)?(?:附属公司|子公司)(?={_HAN})")
_SEVERAL = re.compile(r"[一二三四五六七八九十多]+(?:部|委|局|厅)")
_TITLE_SPLIT = re.compile(r"[\s、\u3000]+")
_CLOSING = re.compile(r"(?:执行|实施|办理|落实|特此通知|特此公告|特此通告|函复|批复|周知)[。.!！]?$")
_STAMP = re.compile(r"\s?\((?:盖章|代章|印章|公章|章|印)\)(?=\s|$)")
_BRACKETED = re.compile(r"\([^()]{8,20}\)")
_ADDRESS = re.compile(r"(?:致|敬启者|受文者|执事先生)[\s:]?")
_ACTING_LINES, _ACTING_CHARS = 6, 200
_HEAD_PLACE, _LETTER_LINES = 2, 10
_HEAD_LINES, _MAX_HEAD_CHARS, _MAX_DAY_LINE_CHARS = 10, 60, 80


def read_chinese_signature(document: DocumentText, *, is_issued: bool) -> Signature:
    """Return the bodies that issued a document and the day on which it was made."""
    foot = _find_foot(document, is_issued=is_issued)
    labelled = _find_labelled_day(document)
    issuers, at = (foot.issuers, foot.issuers_at) if foot else ([], None)
    made_on, made_at = (foot.made_on, foot.made_at) if foot else (None, None)
    if labelled and (made_on is None or not issuers):
        made_on, made_at = labelled
    if made_on is None and (adopted := _find_adopted_day(document) or _find_head_day(document, is_issued=is_issued)):
        made_on, made_at = adopted
    if not issuers and is_issued:
        issuers, at = _find_chinese_issuers(document)
    return Signature(issuers, made_on, at, made_at)


def _find_foot(document: DocumentText, *, is_issued: bool) -> Signature | None:
    """Return the bodies above the first date that stands alone under a body or a person's office.

    A person and a day at the head of what nobody issued are those of a speech.
    """
    lines = document.lines
    alone: Signature | None = None
    for place, line in enumerate(lines):
        day = parse_whole_day(line.text) if place and len(line.text) <= _MAX_DAY_LINE_CHARS else None
        if day is None:
            continue
        made_at = (line.start + day[1], line.start + day[2])
        rest = (line.text[: day[1]] + line.text[day[2] :]).strip()
        if rest and rest not in ("印发", "()", "( )"):
            found = _read_signed_line(document, line, day) if place > _HEAD_PLACE else None
            if found is not None and line.text[day[2] :].strip() == "印发":
                if alone:
                    return alone
                alone = Signature([], day[0], None, made_at)
            elif found is not None:
                return found
            continue
        signed = _collect_bodies(document, lines, place)
        if signed is not None and (signed[0] or is_issued or place > _HEAD_PLACE):
            return Signature(signed[0], day[0], signed[1], made_at)
        near = lines[place - 1 : place + 2]
        if place < _LETTER_LINES and not rest and any(_ADDRESS.match(each.text) for each in near):
            return Signature([], day[0], None, made_at)
        is_foot = place >= len(lines) - 4 or _FOOT_AFTER.match(lines[place + 1].text)
        if place > _HEAD_PLACE and (is_foot or _CLOSING.search(lines[place - 1].text)):
            alone = alone or Signature([], day[0], None, made_at)
    return alone


def _read_signed_line(document: DocumentText, line: Line, day: tuple[dt.date, int, int]) -> Signature | None:
    """Return who signs in a line that has a day too: a body ahead of it, an office or 制定 behind it."""
    ahead, behind = line.text[: day[1]], line.text[day[2] :].strip()
    made_at = (line.start + day[1], line.start + day[2])
    is_leading = not ahead.strip(" (")
    if is_leading and (_MADE.match(behind) or _PERSON.match(behind)):
        return Signature([], day[0], None, made_at)
    if is_leading and behind.startswith("于") and (makers := _split_bodies(behind[1:])):
        return Signature([*_restore(document, line, makers)], day[0], (line.start + day[2], line.end), made_at)
    bodies = _split_bodies(ahead) if behind in ("", "印发") else []
    return Signature(bodies, day[0], (line.start, line.start + day[1]), made_at) if bodies else None


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
        if _NAME_LINE.fullmatch(text) and above > 0 and (office := _OFFICE.match(lines[above - 1].text)):
            is_signed = is_signed or not office["name"]
            continue
        if is_signed and _OFFICE.match(text):
            continue
        bodies = (_split_bodies(text) or _split_bodies(text.replace("、", " "))) if above > 0 else []
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
    bare = _STAMP.sub("", text).strip(" ()")
    if not 2 <= len(bare) <= 120 or _NO_BODY.search(bare):
        return []
    pieces = bare.split()
    if len(pieces) > 1 and all(len(piece) == 1 for piece in pieces):
        pieces = ["".join(pieces)]
    if len(pieces) > 1 and any(len(piece) == 1 for piece in pieces):
        pieces = _TITLE_SPLIT.split(re.sub(r"(?<![\u4e00-\u9fff]{2})\s(?=[\u4e00-\u9fff](?:\s|$))", "", bare))
    return pieces if all(_BODY.fullmatch(piece) and not _NO_BODY.search(piece) for piece in pieces) else []


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


def _find_head_day(document: DocumentText, *, is_issued: bool) -> tuple[dt.date, tuple[int, int]] | None:
    """Return the day in brackets under a title, or that of the head of an order, as bodies of Taiwan date theirs."""
    for line in document.lines[:3] if is_issued else ():
        if _BRACKETED.fullmatch(line.text) and (bracketed := parse_whole_day(line.text)):
            return bracketed[0], (line.start, line.end)
    for line in document.lines[:4]:
        is_head = _HEAD_ORDER.match(line.text) or (len(line.text) < _MAX_HEAD_CHARS and _ORDER_DAY.match(line.text))
        for date in find_dates(line.text) if is_head else ():
            if made_on := date.value.to_date():
                return made_on, (line.start + date.start, line.start + date.end)
    for head, line in pairwise(document.lines[:4]):
        if len(head.text) < _MAX_HEAD_CHARS and _ORDER_HEAD.match(head.text) and len(line.text) < 30:
            day = parse_whole_day(line.text)
            if day and not (line.text[: day[1]] + line.text[day[2] :]).strip():
                return day[0], (line.start, line.end)
    return None


def _find_chinese_issuers(document: DocumentText) -> tuple[list[str], tuple[int, int] | None]:
    """Return the bodies that a document without a foot names: labelled, at its head, as its makers, in its title."""
    titled = _find_title_bodies(document)
    found = _find_labelled_bodies(document) or _find_head_bodies(document) or _find_adopting_body(document)
    if found is not None:
        is_part = len(titled) > 1 and set(found[0]) < set(titled)
        is_longer = len(titled) == len(found[0]) == 1 and _is_with_place(found[0][0], titled[0])
        return (titled, None) if is_part or is_longer else found
    acting = _find_acting_body(document)
    if acting and (not titled or (len(titled) == 1 and _is_short_for(titled[0], acting[0][0]))):
        return acting
    return (titled, None) if titled else _find_office(document)


def _is_with_place(long: str, body: str) -> bool:
    """Whether a name has a province ahead of a body that says where it is: 云南省昆明市人民政府."""
    return bool(re.fullmatch("[\u4e00-\u9fff]{2,8}(?:省|自治[区區])", long.removesuffix(body))) and len(body) < len(
        long
    )


def _find_office(document: DocumentText) -> tuple[list[str], tuple[int, int] | None]:
    """Return the office that a person signs with, where no body does: 環境及生態局局長, 行政長官."""
    for place, line in enumerate(document.lines):
        office = _OFFICE.match(line.text)
        if not office or place == 0 or _BARE_OFFICE.fullmatch(office["office"]):
            continue
        below = document.lines[place + 1].text if place + 1 < len(document.lines) else ""
        if office["name"] or _NAME_LINE.fullmatch(below):
            span = line.start + office.start("office"), line.start + office.end("office")
            return [document.original[span[0] : span[1]]], span
    return [], None


def _is_short_for(short: str, full: str) -> bool:
    """Whether a name is written with characters of a longer one, in their order: 聯交所 of 香港聯合交易所."""
    rest = iter(full)
    return len(short) < len(full) and all(char in rest for char in short)


def _find_adopting_body(document: DocumentText) -> tuple[list[str], tuple[int, int]] | None:
    """Return the body in the brackets under the title that say who published a rule and when."""
    for line in document.lines[:5]:
        if ordered := _HEAD_ORDER.match(line.text):
            span = line.start + ordered.start("body"), line.start + ordered.end("body")
            return [document.original[span[0] : span[1]]], span
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
        if found := _ACTOR.search(line.text, 0, _ACTING_CHARS):
            parent = _PARENT.match(found["bodies"])
            start = line.start + found.start("bodies") + (parent.end() if parent else 0)
            pieces = _TITLE_SPLIT.split(document.folded[start : line.start + found.end("bodies")])
            original = _TITLE_SPLIT.split(document.original[start : line.start + found.end("bodies")])
            if all(_BODY.fullmatch(piece) and not _NO_ACTOR.search(piece) for piece in pieces):
                return original, (start, line.start + found.end("bodies"))
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
    for line in document.lines[:_HEAD_LINES]:
        is_short = len(line.text) < _MAX_HEAD_CHARS
        head = (_ORDER_HEAD.match(line.text) or _ORDER_DAY.match(line.text)) if is_short else None
        bodies = _split_bodies(head["body"] if head else line.text)
        if bodies:
            start, end = (start if found else line.start), line.end
            found += _restore(document, line, bodies)
        elif found:
            break
    if found:
        departments = [body for body in found if not body.endswith(("特别行政区政府", "特別行政區政府"))]
        return list(dict.fromkeys(departments or found)), (start, end)
    for line in document.lines[:_HEAD_LINES]:
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
    is_whole = (
        len(written) == len(pieces) and all(map(_BODY.fullmatch, pieces)) and not any(map(_NO_BODY.search, written))
    )
    return written if is_whole and not _SEVERAL.match(pieces[0]) else []
