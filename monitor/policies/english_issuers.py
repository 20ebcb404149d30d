"""Who issued an English document and when it was made: its agency line, letterhead, acting body and foot."""

import datetime as dt
import re
from collections.abc import Iterator, Sequence

from monitor.dates import find_dates
from monitor.policies.document_text import DocumentText, Line
from monitor.policies.signatures import MAX_FOOT_LINES, Signature, parse_whole_day

_NOUN = (
    r"(?:Authority|Commission|Agency|Ministry|Department|Board|Office|Bank|Council|Bureau|Administration|Service"
    r"|Services"
    r"|Committee|Institute|Parliament|Treasury|Secretariat|Inspectorate|Tribunal|Court|Union|Corporation|Government"
    r"|Directorate|Executive|Comptroller|Association|Exchange|Centre|Center|Ombudsman|Registry|Standards|Fund"
    r"|Regulators?"
    r"|Legislature|Division|Commissioner|Registrar|Police\sForce|Supervisor|Panel|Laboratory|Observatory"
    r"|Organi[sz]ation"
    r"|Foundation|Chamber|Assembly|Senate|Cabinet|Customs|Revenue|Task\s?force|Forum|Academy|Survey|Guard|Presidency"
    r"|Attorney[ -]General|Archives|Trust|Federation"
    r"|Network|Society|Consortium|Alliance|Congress|Administrator|Superintendent|Prosecutor|Mint"
    r"|Coastguard)"
)
_PLACE = (
    r"(?:Singapore|Canada|Australia|(?:New\s)?Zealand|England|Scotland|Wales|Ireland|Britain|Malaysia|India|Kenya"
    r"|Nigeria"
    r"|Ghana|Jamaica|Malta|Jersey|Guernsey|London|Dubai|Qatar|Bahrain|Namibia|Botswana|Uganda|Rwanda|Victoria"
    r"|Queensland"
    r"|Tasmania|Ontario|Qu[eé]bec|Alberta|Ofgem|Ofcom|Ofwat|UK|USA|NZ|Sweden|Norway|Finland|Denmark|Thailand"
    r"|Fiji)"
)
_EN_SUFFIX = rf"(?:{_NOUN}|{_PLACE})"
_EN_WORD = r"[A-Z][A-Za-z'’&-]*"
_HEAD_NOUN = (
    r"(?:Department|Ministry|Minister|Office|Bureau|Bank|Board|Government|Council|Secretary|Central Bank|Reserve Bank"
    r"|Comptroller|Institute|Register|Commission|Authority|Agency|Committee|Commissioner|Registrar|Division|Directorate"
    r"|Administration|Superintendent|Director|Controller|Association|Organi[sz]ation|Society|Court|Chamber|Centre"
    r"|Center"
    r"|Attorney General|Parliament|Governors?|Federation|College|Conference|Service|Inspectorate|Administrator|Branch)"
)
_EN_BODY = re.compile(
    r"\b(?:(?:Welsh|Scottish) Ministers|(?:(?:Lieutenant\s)?Governor(?:[ -]General)?|Chief Executive|Administrator"
    r"|President|Executive) in Council"
    rf"|(?:(?!The\s){_EN_WORD} ){{0,4}}?{_HEAD_NOUN} (?:of|for|on) (?:the )?(?:[A-Z][A-Za-z'-]*|of|and|the|for"
    rf"|&|,(?= [A-Z][a-z]+ (?:and"
    rf"|&)))(?:,? (?:[A-Z][A-Za-z'-]*|of|and(?= (?:the )?[A-Z])|the(?= [A-Z])|for(?= [A-Z])|&)){{0,10}}"
    rf"|(?:(?!The ){_EN_WORD} )(?:(?:{_EN_WORD}|for|and|on|of the|products|related) ){{0,7}}?{_EN_SUFFIX}(?: (?:of"
    rf"|for) (?:the )?[A-Z][A-Za-z-]+(?: (?:and )?[A-Z][A-Za-z-]+){{0,3}})?"
    rf"(?! (?:[A-Z][a-z]+ ){{0,2}}{_EN_SUFFIX}))(?![a-z])"
)
_AGENCY = re.compile(r"^AGENC(?:Y|IES):\s?(?P<value>[^\n]{3,400})", re.MULTILINE)
_EN_ISSUED = re.compile(
    r"\b(?:[Ii]ssued|[Pp]ublished|[Mm]ade|[Aa]dopted|[Rr]eleased|[Pp]repared|[Pp]romulgated|[Ee]nacted|[Oo]rdered)\s"
    r"(?:jointly\s)?by(?:\sthe)?\s(?:staff\sof\s(?:the\s)?)?(?P<value>[A-Z][^\n.;:()]{3,120})"
    r"|(?:[Oo]n\sbehalf\sof|[Bb]y\sorder\sof|[Bb]y\sauthority\sof|[Uu]nder\sthe\sauthority\sof)\s(?:the\s)?"
    r"(?P<behalf>[A-Z][^\n.;:()]{3,120})"
)
_EN_LABEL = re.compile(
    r"(?:Issuing\s(?:body|authority|agency|office|department)|Issued\s[Bb]y|Issuer|Publisher|Published\s[Bb]y"
    r"|Organi[sz]ation"
    r"|(?:Sponsoring|Lead|Responsible|Originating)\s(?:[Dd]epartment|[Aa]gency|[Mm]inistry|[Bb]ody|[Oo]ffice)"
    r"|Competent\sauthority"
    r"|Regulator|Promulgating\sagency|Adopting\sbody|Author(?:ity)?|Agency|From|FROM):?(?:\s{1,20}|\n)(?:the\s)?"
    r"(?P<value>[A-Z][^\n;|]{2,140})"
)
_EN_DATE_LABEL = re.compile(
    r"(?:^|(?<=\n)|(?<=\n\()|(?<=\.\s))(?:DATED|Dated?(?:\s(?:this|at|in)[^\n\d]{0,40})?"
    r"|Done\s(?:at|in)\s[^\n\d]{2,40}?(?:\son)?|[Ii]n\switness\swhereof[^\n.\d]{0,90}\sthis"
    r"|IN\sWITNESS\sWHEREOF[^\n.\d]{0,90}\sthis|(?:set|affixed)\s(?:my|our|his|her|their|the)\s[^\n.\d]{0,60}this"
    r"|Made(?:\son)?|Signed(?:\s(?:on|at|in)[^\n\d]{0,40})?"
    r"|Issued(?:\s(?:on|at|this|in)(?:(?!Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[^\n\d]){0,40})?"
    r"|Given\s(?:at|under|this)[^\n\d]{0,50}|Adopted(?:\son)?"
    r"|Date\sof\s(?:issue|issuance|signature|decision|order)|Issue\sdate|Date\sissued|Date\smade|Executed\son"
    r"|Approved|Sealed\son|Released(?:\son)?|(?:[A-Z]{2,6}\s)?[Ii]ssue\s[Dd]ate|(?:IT\sIS\s)?SO\sORDERED,?\sthis"
    r"|MADE(?=\s\d)|(?:ENACTED|PASSED|Enacted|Passed)(?:\s(?:by|and|on|this|in)(?!\sParliament)[^\n\d]{0,40})?"
    r"|Sealed\swith[^\n\d]{0,60}\son|By\sorder\sof\sthe\sBoard"
    r"|Ordered\sto\sbe\sprinted)\b(?![ \t]{1,3}(?:modified|updated|created|published|posted|of\s(?:entry|effect"
    r"|publication|hearing)"
    r"|range|and\s[Tt]ime)\b)[\s:,.–—-]{0,40}(?:the\s)?"
)
_EN_FOOT_NAME = re.compile(
    r"(?:Secretary|Director|Administrator|Commissioner|Minister|Chair(?:man|person)?|Chief|Registrar|President"
    r"|Officer|Head|General|Deputy|Controller|Governor|Superintendent|Clerk|Counsel)\b"
)


def read_english_signature(document: DocumentText, *, is_issued: bool) -> Signature:
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
    news = next((place for place, line in enumerate(lines[:_NEWS_LINES]) if _NEWS_LINE.match(line.text)), None)
    is_news = news is not None
    foot = range(len(lines) - 1, max(2 if news is None else news + 2, len(lines) - MAX_FOOT_LINES), -1)
    head = range(0 if is_news else min(_HEAD_LINES, len(lines)))
    for place in (*foot, *head):
        line = lines[place]
        day_at = parse_whole_day(_write_ordinals(line.text)) if len(line.text) < _MAX_DAY_LINE_CHARS else None
        if (
            day_at is None
            or not _DAY_LINE_AHEAD.fullmatch(line.text[: day_at[1]])
            or line.text[day_at[2] :].strip(" ().,")
        ):
            continue
        around = f"{lines[place - 1].text if place else ''}\n{lines[place + 1].text if place + 1 < len(lines) else ''}"
        if place < _HEAD_LINES or _EN_FOOT_NAME.search(around) or _find_bodies(around) or place == len(lines) - 1:
            return day_at[0], (line.start + day_at[1], line.start + day_at[2])
    return (None, None) if is_news else _find_masthead_day(lines[:_HEAD_LINES])


def _write_ordinals(text: str) -> str:
    """Return a line with 21ST as 21st."""
    return _ORDINAL.sub(lambda ordinal: ordinal[0].lower(), text)


_ORDINAL = re.compile(r"(?<=\d)(?:ST|ND|RD|TH)\b")


def _find_masthead_day(lines: Sequence[Line]) -> tuple[dt.date | None, tuple[int, int] | None]:
    """Return the day that ends a line of the head behind a form or a number: News | 18 June 2026."""
    for line in lines:
        day_at = parse_whole_day(line.text) if len(line.text) < _MAX_MASTHEAD_CHARS else None
        if day_at and not line.text[day_at[2] :].strip(" ().") and _MASTHEAD.fullmatch(line.text[: day_at[1]]):
            return day_at[0], (line.start + day_at[1], line.start + day_at[2])
    return None, None


_MAX_MASTHEAD_CHARS = 90
_MASTHEAD = re.compile(
    r"(?!(?:First )?(?:Vol|Volume|Published|Updated|Clos|Open|Comment|Deadline|Effective|Com(?:es|ing)|Case)|\d{4}/)"
    r"[A-Z][^:;\n]{2,70}?(?:\s?[|–—]\s?|,\s|(?<=\d)\s{1,20}|\s{2,20})"
)
_NEWS_LINES = 4
_NEWS_LINE = re.compile(
    r"(?:Joint\s)?(?:Media|Press|News)\s(?:[Rr]eleases?|RELEASES?|[Ss]tatement|[Ss]tory|[Rr]oom)\b|(?:MEDIA|PRESS"
    r"|NEWS)\s(?:RELEASE|STATEMENT)"
)
_MADE_LABEL = re.compile("MADE|Made")
_MAX_LABEL_GAP, _HEAD_LINES, _MAX_DAY_LINE_CHARS = 12, 7, 50
_DAY_LINE_AHEAD = re.compile(
    r"(?:[A-Z][A-Za-z .]{2,24},\s)?(?:dated\s)?(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,?\s)?(?:the\s)?[\s(]*"
)
_BARE_ACRONYM = re.compile(r"(?<=[a-z])\s[A-Z]{3,8}$")
_ADDRESSEE = re.compile(r"(?:Chief|Deputy Chief|Senior) Executive|(?:All|To All) .*")
_OFFICER_OF = re.compile(
    r"^(?:[A-Z][a-z]+ ){0,3}(?:Director(?:-General)?|Secretary|Head|Chief|Chair|Officer) of (?:the )?"
    r"(?=(?:[A-Z][a-z]+ )*(?:Ministry|Department|Authority|Commission|Agency|Office|Board)\b)"
)
_OFFICER_LINE = re.compile(r"(?:[A-Z][a-z]+ )*(?:Secretary|Director|Head|Chief|Chair|Clerk|Minister) (?:of|to|for) ")
_COUNTRY = re.compile(
    r"(?:Government of |Commonwealth of |Republic of )?"
    rf"(?:(?:Northern|Southern|Western|Eastern|South|North|West|East|New|Great|Central|Mainland) )*(?:South )?{_PLACE}"
    r"|(?:Government of )?(?:the )?(?:European Union|United States of America|Commonwealth Government|State Government)"
)
_ACRONYM = re.compile(r"\s\([A-Z][A-Za-z]{1,9}\)$")
_GENERIC = re.compile(
    r"(?:Help|Contact|Call|Media|Data|Press|Customer|Business|Combined|Competent|Lead|National|Regional|Local|Single"
    r"|Notified"
    r"|Supervisory|Public|Appropriate|Relevant|Other|Credit|Savings|Member|High|Appeal|District|County|Head|Home"
    r"|Front|Post)"
    r" (?:Centre|Center|Authority|Bank|Court|Office|Body|Service|Services|Administration|Government|Union|Supervisor"
    r"|Council)"
)
_GAZETTE = re.compile(r"Journal|Gazette|Register|Hansard|Parliament$|Instruments?$|Public Record")


_BEFORE_BODY = re.compile(
    r"^(?:(?:The|In|On|At|By|This|For|From|Under|And|To|Draft|Proposed|Final|New|Our)\s"
    r"|(?:Opinion|Decision|Regulation|Guideline|Order|Report|Notice|Resolution|Recommendation|Statement"
    r"|Letter)s?\s(?:of|by|from)\s(?:the\s)?)"
)


def _find_bodies(text: str) -> list[str]:
    """Return the public bodies that a text names in full."""
    names = (_OFFICER_OF.sub("", _BEFORE_BODY.sub("", found[0])) for found in _EN_BODY.finditer(text))
    return [
        name
        for name in names
        if len(name.split()) > 1 and not (_GAZETTE.search(name) or _COUNTRY.fullmatch(name) or _GENERIC.fullmatch(name))
    ]


def write_in_full(document: DocumentText, name: str) -> str:
    """Return the body for which a page has letters alone, where the document writes both: ACCC."""
    if not name.isupper() or " " in name:
        return name
    head = document.folded[:_MAX_HEAD_CHARS]
    for found in _EN_BODY.finditer(head):
        if head.startswith(f" ({name})", found.end()) and (bodies := _find_bodies(found[0])):
            return bodies[-1]
    return name


def names_body(document: DocumentText, name: str) -> bool:
    """Whether a name is a public body's and the head of the document writes it."""
    return name in document.folded[:_MAX_HEAD_CHARS] and bool(_find_bodies(name))


def _read_body_line(line: Line) -> list[str]:
    """Return the bodies that make up a line: DEPARTMENT OF JUSTICE, Securities and Futures Commission (SFC)."""
    bare = _ACRONYM.sub("", line.text.strip(" .,|"))
    if _REGULATOR.fullmatch(bare):
        return [bare]
    if bare.startswith("THE ") and " AND THE " not in bare:
        bare = bare.removeprefix("THE ")
    plain = _LOWER_WORDS.sub(lambda word: word[0].lower(), bare.title()) if bare.isupper() else bare
    plain = _BOARD_OF.sub("", _BARE_ACRONYM.sub("", plain.removeprefix("The ").removeprefix("the ")))
    if (
        len(bare) > _MAX_BODY_CHARS
        or _NO_BODY_LINE.match(bare)
        or _SIGNING_OFFICER.match(bare)
        or _TRAILING_WORD.search(bare)
        or _GAZETTE.search(plain)
        or _COUNTRY.fullmatch(plain)
        or _ADDRESSEE.fullmatch(plain)
        or not _EN_BODY.fullmatch(plain)
    ):
        return []
    if bare.isupper() and bare.startswith("THE "):
        return bare.split(" AND THE ")
    return [bare[len(bare) - len(_BOARD_OF.sub("", bare)) :] if not bare.isupper() else bare]


_SIGNING_OFFICER = re.compile(
    r"(?:[A-Z][a-z]+ )*(?:Secretary|Clerk|Counsel|Chair|Adviser) (?:of|to) the ", re.IGNORECASE
)
_TRAILING_WORD = re.compile(r"\b(?:of|the|and|for|on)$", re.IGNORECASE)
_NO_BODY_LINE = re.compile(
    r"(?:By|For|To|From|In|On|Re|Regulation|Directive|Decision|Proposal|Order|Notice|Report|Letter|Rules?"
    r"|Guidelines?|Statement"
    r"|Minutes|Meeting|Speech|Remarks|Before|Contact|Attention|Copy|Memorandum|Convention|Treaty|Agreement|Opinion"
    r"|Judgment"
    r"|Resolution|Recommendation|Communication|Advice|Address|Annual|Case|Review|Survey|Summary|Response"
    r"|Consultation|Guidance|Code)\s(?!Bank\b)",
    re.IGNORECASE,
)
_BOARD_OF = re.compile(
    rf"^(?:The )?Board of (?:Directors of )?the (?=(?:[A-Z]\S+ |of |and |for ){{2,9}}\S)(?=.*{_NOUN})"
)
_MAX_BODY_CHARS = 90
_LOWER_WORDS = re.compile(r"\b(?:Of|For|And|The|On|In)\b")
_ENACTING = re.compile(r"THE (?P<first>[A-Z][A-Z' ,-]{4,90}?)(?: AND THE (?P<second>[A-Z][A-Z' -]{4,60}))?,(?=\s)")
_ENACTING_BEHIND = re.compile(
    r"\s*(?:Having regard|Acting|Whereas|In exercise|After|Considering|Recalling|HAS|HAVE)|[^\n;]{0,80}\b(?:enacts?"
    r"|ordains?|orders|resolves|makes|hereby)\b"
)
_DELEGATE = re.compile(r"\bI,\s[^\n;:]{3,60}?,\s(?:a\s|as\s)?delegate\sof\s(?:the\s)?(?P<body>[A-Z][^\n;:,]{2,90})")
_DELEGATE_SHORT = re.compile(r"\A[A-Z]{3,8}\Z")
_VESTED = re.compile(r"\bauthority\svested\sin\sme\sas\s(?:the\s)?(?P<office>President|Governor|Mayor)\b")
_OFFICERS = re.compile(
    r"\b(?:I|We),\s(?P<offices>[^;:\n]{4,260}?),?\s(?:hereby\s)?(?:make|determine|declare|direct|order|give|issue"
    r"|amend|revoke"
    r"|repeal|approve|appoint|specify|prescribe|exempt|notify|vary|grant|certify)\b"
)
_OFFICE = re.compile(
    r"\b(?:(?:Acting|Deputy|Assistant|Chief|Parliamentary|Principal)\s)*(?:Minister|Secretary|Director|Commissioner"
    r"|Registrar"
    r"|Treasurer|Governor|Administrator|Superintendent|Comptroller|Attorney-General|Comptroller-General"
    r"|Director-General|Controller"
    r"|Chairperson|Chair|President|Manager|Member)(?:-General)?\s(?:of|for)\s(?:the\s)?[A-Z][A-Za-z'-]*"
    r"(?:,?\s(?:and\s|of\s|for\s|the\s){0,2}[A-Z][A-Za-z'-]*)*"
)


def _find_enacting_bodies(document: DocumentText) -> tuple[list[str], tuple[int, int]] | None:
    """Return those who enact: THE EUROPEAN COMMISSION, Having regard; I, Ann Lee, Minister for Water, make."""
    head = document.folded[:_MAX_HEAD_CHARS]
    for found in _ENACTING.finditer(head):
        if _ENACTING_BEHIND.match(head, found.end()):
            second = found["second"]
            return [f"THE {name}" for name in (found["first"], second) if name], found.span()
    if head_of_state := _VESTED.search(head):
        return [head_of_state["office"]], head_of_state.span()
    delegate = _DELEGATE.search(head)
    if delegate and (bodies := _find_bodies(delegate["body"])[:1] or _DELEGATE_SHORT.findall(delegate["body"])):
        return bodies, delegate.span()
    officers = _OFFICERS.search(head)
    offices = list(_iter_offices(officers["offices"])) if officers else []
    return (offices, officers.span()) if officers and offices else None


def _iter_offices(text: str) -> Iterator[str]:
    """Yield the offices of a list of persons: Ann Lee, Minister for Water, and Bo Roy, Director of Plant Health."""
    for piece in re.split(r",\s(?:and\s)?(?=(?:[A-Z][a-z]+\s){1,3}[A-Z][a-z]+,\s)", text):
        if office := _OFFICE.search(piece):
            yield _OFFICER_OF.sub("", office[0])


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
    return (
        _find_enacting_bodies(document)
        or _find_labelled_bodies(document)
        or _find_head_bodies(document)
        or _find_acting_bodies(document)
    )


def _find_head_bodies(document: DocumentText) -> tuple[list[str], tuple[int, int]] | None:
    """Return the bodies that are lines of the head."""
    named: list[str] = []
    span = (0, 0)
    before: Line | None = None
    for place, line in enumerate(document.lines[:_HEAD_LINES]):
        is_party = place > 0 and _PARTY_AHEAD.search(document.lines[place - 1].text)
        if bodies := [] if is_party else _read_body_line(line):
            is_below = before is not None and line.start - before.end < _MAX_LINE_GAP
            if is_below and len(named) == 1 and _IS_PART.search(bodies[0]) and not _IS_PART.search(named[-1]):
                continue
            if is_below and _IS_DEPARTMENT.match(named[-1]) and _IS_AGENCY.search(bodies[0]):
                named.pop()
            named += bodies
            span = (line.start, line.end)
            before = line
    bodies = [name for name in named if not re.match("(?:The )?Government", name, re.IGNORECASE)] or named
    once = {_fold(name): name for name in reversed(bodies)}
    return (list(reversed(once.values())), span) if bodies else None


_PARTY_AHEAD = re.compile(r"\b(?:[Ii]n the [Mm]atter of|IN THE MATTER OF|[Aa]gainst|[Rr]e|[Tt]o|v\.?|AGAINST)\s?:?$")


def _fold(name: str) -> str:
    return name.casefold().removeprefix("the ")


def _find_labelled_bodies(document: DocumentText) -> tuple[list[str], tuple[int, int]] | None:
    """Return the bodies behind a label that begins a line of the head: From: Health Canada, Issued by:, Department."""
    for line in document.lines[:_LABEL_LINES]:
        labelled = _EN_LABEL.match(document.folded, line.start)
        label = line.text[: labelled.start("value") - line.start].rstrip() if labelled else ""
        if not labelled or not (label.endswith(":") or "\n" in labelled[0]):
            continue
        names = [
            name
            for piece in re.split(r",\s(?=the\s|[A-Z]{2})|\sand\sthe\s|\s?/\s?", labelled["value"])
            for name in _read_body_line(Line(piece.strip(), 0)) or _find_bodies(piece)[:1]
        ]
        if names:
            return list(dict.fromkeys(names)), labelled.span()
    return None


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
_REGULATOR = re.compile(r"Of[a-z]{3,5}|THE (?:GOVERNMENT|PRESIDENT|PRIME MINISTER|CABINET)")
_LETTERHEAD = re.compile(r"[A-Z][A-Za-z'’&.-]*(?: (?:[A-Z][A-Za-z'’&.-]*|of|for|and|the|on|&)){1,7}")
_NO_LETTERHEAD = re.compile(
    r"\b(?:Notice|Release|Statement|Rules?|Regulations?|Statistics|Gazette|Register|Paper|Report|News|Media|Press"
    r"|Letter"
    r"|Consultations?|Guidance|Circular|Order|Act|Code|Draft|Summary|Page|Part|Chapter|Article|Introduction|Background"
    r"|Overview|Contents|From|Archive|Instruments?|Speech|Minutes|Agenda|Journal|Explanatory|Memorandum|Plan|Programme"
    r"|Decision|Direction|Proposal|Publication|Published|Update|Policy|Bill|Law|Laws|Frequently|Questions|Written"
    r"|Scheme|Search|Results?|Home|Menu|Skip|Login|Latest|Related|Share|Topics?)\b"
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
    r"\s?(?:\((?:[^()\n]{1,60})\)\s?)?(?:,\s[^,.]{2,60},\s)?(?:has|have|is|are|will|today"
    r"|makes?|issues?"
    r"|issued|publish|announce|propos|invit|seek|consult|adopt|approv|amend|order|fin|impos|said|confirm|releas"
    r"|launch|set"
    r"|on\s\d|hereby|jointly|recognis|determin|grant|gives?|calls?|directs?|expects?)"
)


def _find_acting_bodies(document: DocumentText) -> tuple[list[str], tuple[int, int] | None]:
    """Return the bodies that act in the text, that signed at its foot, or else the first one that it names."""
    head = document.folded[:_MAX_HEAD_CHARS]
    if makers := _find_makers(document, head):
        return makers
    for issued in _EN_ISSUED.finditer(head):
        names = _find_bodies(_PURPOSE.split(issued["value"] or issued["behalf"])[0])
        if names and names[0] != "Secretary of State":
            return names, issued.span()
    for found in _EN_BODY.finditer(head):
        names = _find_bodies(found[0])
        if names and _ACTS.match(head, found.end()) and names[0] != "Secretary of State":
            names[-1] = _complete(names[-1], document)
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
        dated = parse_whole_day(line.text)
        beside = Line(line.text[: dated[1]] + line.text[dated[2] :], line.start) if dated else line
        if (bodies := _read_body_line(beside)) and not _OFFICER_LINE.match(bodies[0]):
            return bodies, (line.start, line.end)
    if re.search(r"\bBill\b", document.title):
        return [], None
    return _find_bodies_by_place(document, head), None


def _find_bodies_by_place(document: DocumentText, head: str) -> list[str]:
    """Return the bodies that begin a title or a sentence, or that something is of: the surest of those left."""
    for text, stands in ((document.title, _STANDS_IN_TITLE), (head, _STANDS_IN_TEXT)):
        for found in _EN_BODY.finditer(text):
            names = _find_bodies(found[0])
            if names and stands.search(
                f"{text[max(0, found.start() - 40) : found.start()]}\0{text[found.end() :][:3]}"
            ):
                return names
    return []


_STANDS_IN_TITLE = re.compile(r"^(?:The\s)?\0(?:$|[:,'’\s])|(?:[,:–—|-]\s|\bby\s(?:the\s)?)\0$")
_STANDS_IN_TEXT = re.compile(
    r"(?:^|[.:\n]\s{0,3})(?:(?:Today|[A-Z][a-z]+),?\s)?(?:[Tt]he\s)?\0|(?:\b(?:of|by|from|at)|©)\s(?:the\s)?\0"
)
_PURPOSE = re.compile(r"\s(?:under|pursuant|in|on|to|with|acting|after|following|as|at|by)\s(?!Council)")
_MAKES = re.compile(
    r"(?:\s\([^()\n]{1,60}\))?(?:,[^.;\n]{3,160},)?\s(?:hereby\s)?(?:makes?|hereby|orders?|enacts?|ordains?|issues?"
    r"|determines?)\s(?:the|these|this|that"
    r"|under|amends?|makes?|determines?|gives?\snotice|orders?|repeals?|revokes?|issues?|imposes?|grants?"
    r"|publish(?:es)?|notif"
    r"(?:y|ies)|directs?|prescribes?|as\sfollows)\b"
)


def _complete(name: str, document: DocumentText) -> str:
    """Return a name as the title or the head writes it in full: the Reserve Bank, Reserve Bank of India."""
    for text in (document.title, document.folded[:_MAX_HEAD_CHARS]):
        for found in _EN_BODY.finditer(text):
            if full := next((body for body in _find_bodies(found[0]) if body.startswith(f"{name} of ")), None):
                return full
    return name


def _find_makers(document: DocumentText, head: str) -> tuple[list[str], tuple[int, int]] | None:
    """Return the body that the enacting words name: the Governor in Council, on the advice of…, makes the Rules."""
    for found in _EN_BODY.finditer(head):
        names = _find_bodies(found[0])
        if names and names[0] != "Secretary of State" and _MAKES.match(head, found.end()):
            return [*names[:-1], _complete(names[-1], document)], found.span()
    return None


_MAX_HEAD_CHARS, _MAX_SIGNATURE_LINES, _LABEL_LINES = 2_500, 6, 14
