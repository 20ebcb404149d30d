"""Numbers of English documents: the code behind a word for a document, a series code, and which one is its own."""

import re
from collections.abc import Iterator

from monitor.dates import find_dates
from monitor.policies.document_text import DocumentText, Line

_YEAR = r"(?:19|20)\d\d"
_NUMBERED = (
    r"Notice|Circular|Bulletin|Instrument|Guidelines?|Advisory|Announcement|Brief|Memorandum|Direction|Determination"
    r"|Proclamation|Resolution|Instruction|Declaration|Derogation|Exemption|Explanatory\sNote|Ruling|Procedure"
    r"|(?:Consultation|Discussion|Issues|Information|Position|Working|Green|White|Command|Occasional)\sPaper"
    r"|(?:Policy|Supervisory|Feedback|Technical|Position|Practice|Market)\sStatement|Regulatory\sGuide|Guidance\sNote"
    r"|(?:Practice|Technical|Guidance|Information|Explanatory|Safety|Marine|Compliance|Briefing|Aviation)\sNote"
    r"|(?:Executive|General|Administrative|Ministerial|Emergency|Presidential|Departmental|Special)\sOrder"
    r"|Information\sSheet|Exposure\sDraft|Local\sLaw|Public\s(?:Act|Law)|(?:Airworthiness|Emergency)\sDirective"
    r"|(?:Media|News|Press|Technical|Interpretive|Interpretative)\sRelease|Regulatory\sPolicy|Statutory\sRules?"
    r"|(?:Interpretive|Advisory|Information|Comment|Dear\sCEO|Staff|Supervisory)\sLetter"
    r"|(?:Prudential|Reporting|Accounting|Auditing|Reliability|Technical)\sStandard|Command\sPaper|House\sBill"
    r"|Senate\sBill|(?:Rule|Standard|Policy)\sChange"
)
_COUNTED = (
    r"Order|Act|Law|Rules?|Regulations?|Standard|Code|Policy|Statement|Letter|Decision|Opinion|Case|Report|Ordinance"
    r"|Guidance|Decree|Licen[cs]e|Paper|Interpretation|Directive|Release|Publication|Amendment|Bill|Edict|Warning"
    r"|Permit|Document|Alert|Recall|Inquiry|Agreement|Docket|File|Matter|Proceeding|Project|Series|Byelaw|By-law"
    r"|Plan|Recommendation|Specification|Protocol|Application|Petition|Complaint|Consultation|Statutory\sInstrument"
)
_NAME = (
    r"(?:(?!(?:The|This|That|These|Under|See|And|For|From|With|Our|Its|Both|Also|Each|Any|All|Final|Draft|Cancellation"
    r"|Repeal|Revocation|Withdrawal|Amendment|Corrigendum|Following|Questions|Guidance|About|Re|No|Of|In|On|By|To|As"
    r"|If|Or|An|A|Per"
    r"|(?:Amend|Repeal|Replac|Revok|Cancel|Supersed|Withdr|Rescind|Implement|Correct|Var|Extend|Revis|Updat|Issu"
    r"|Publish|Announc"
    r"|Adopt|Finali|Releas|Propos|Seek|Launch|Approv|Set)[a-z]*)\s)"
    r"(?:[A-Z]{2,10}|[A-Z][a-z]{2,14})(?:['’][sS])?)"
)
_PART = r"[A-Za-z0-9]{1,12}"
_TAIL = rf"[A-Z]{{0,6}}\d[A-Za-z0-9]{{0,9}}(?:[-/–._]{_PART}){{0,6}}"
_CODE = rf"(?:(?:[A-Z]{{1,8}}\s|[A-Z][A-Za-z0-9]{{0,11}}[/-]){{0,8}}(?!{_YEAR}\b(?![-/–_]\d)){_TAIL})"
_OF_YEAR = rf"(?:\sof\s{_YEAR})?"
_CHANGE = (
    rf"(?:\s\((?:Amendment|Cancellation|Revocation|Corrigendum|Revised|Rev)[^()\n]{{0,12}}\)(?:\s(?:of\s)?{_YEAR})?)?"
)
_LETTERED = (
    r"AASB|IFRS|IAS|FRS|ASC|IFRIC|IPSAS|ISA|APS|CPS|SPS|LPS|GPS|HPS|APG|CPG|PPG|RG|NI|MI|CSA|SS|TR|BS|EN|AS|NZS|ASTM"
    r"|ISO|IEC|IEEE|NFPA|RPS|CAP|TAN|GAR|RCED|PPM|HTM|LIT|PGN|SPN|FCTR|TRD|ACOP|INDG|HSG|MGN|MIN|MSN|QCP|ED|CSPG"
    r"|AC|AD|DE|TB|IR"
)
_AGENCIES = (
    r"FCC|DA|FDA|EPA|DOE|OCC|FERC|CFTC|FDIC|SEC|NHTSA|EBA|ESMA|EIOPA|ECB|CSSF|MAS|APRA|ASIC|ACCC|AER|AEMC"
    r"|OSFI|CRTC|CER|HKMA|SFC|PRA|FCA|PSR|ORR|CAA|MHRA|Ofgem|Ofcom|Ofwat|ICO|CMA|NRC|FTC|NIST|TSA|BIS|IRS"
    r"|FAA|OSHA|USDA|TD|REG|GSR|LPRC|ACER|EFSA|EMA|JC|BaFin|CBI|ComReg|CRU"
)


def _write_cases(pattern: str) -> str:
    """Return a pattern of words for the same words also in capitals, and with one capital: Policy statement."""
    capitals = pattern.upper().replace(r"\S", r"\s")
    sentence = re.sub(r"(?<=\\s)(\(\?:)?[A-Z]|(?<=\\s\(\?:)[A-Z]", lambda first: first[0].lower(), pattern)
    return rf"(?:{pattern}|{sentence}|{capitals})"


_MONTH = (
    r"(?:JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)[A-Z]*|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
)
_ENGLISH = (
    # Acts of the European Union and of its bodies.
    r"(?i:(?:Commission\s|Council\s)?(?:Delegated\s|Implementing\s)?(?:Regulation|Directive|Decision))"
    r"\s\((?:EU|EC|EEC|CFSP|JHA|EU,\sEuratom|Euratom)\)\s(?:No\.?\s)?\d{2,4}/\d{1,4}"
    r"|(?:(?:Council|Commission|Framework)\s)?(?:Directive|Decision|Regulation)s?\s(?:No\s)?\d{2,4}/\d{1,4}(?:/(?:EU"
    r"|EC|EEC|JHA))?"
    r"|\b\d{2,4}/\d{1,4}/(?:EU|EC|EEC|JHA|CFSP)\b"
    rf"|\b[A-Z][A-Za-z]{{0,5}}\({_YEAR}\)\s?\d{{1,9}}(?:\sfinal)?\b"
    # A word for a document and its code.
    rf"|\b(?:Revenue\sand\s)?(?:{_NAME}\s){{0,2}}?(?:Note|Brief|Bulletin|Notice|Circular|Guideline|Instruction"
    rf"|Ruling|Decree|Order"
    rf"|Letter|Act|Law|Ordinance|Regulation)\s\d{{1,4}}(?:\s\({_YEAR}\)|\sof\s{_YEAR})"
    r"|\b[A-Z][A-Za-z]+\s(?:REGULATION|Regulation)\s\d{1,4}/\d\d\b"
    r"|\b\d{1,3}\s(?:C\.?F\.?R\.?|NYCRR|CCR|TAC|NJAC|N\.J\.A\.C\.|CMR|IAC|OAR|WAC|AAC)\s(?:[Pp]arts?\s"
    r"|§{1,2}\s?)?\d[\d.-]*(?<!\.)"
    rf"|\b(?:{_NAME}\s){{0,3}}?{_write_cases(_NUMBERED)}s?(?:\s(?:No|Nos|NO|Number"
    rf"|Ref)\.?(?=\s?[A-Z0-9:]))?:?\s{_CODE}{_OF_YEAR}"
    rf"{_CHANGE}"
    rf"|\b(?:{_NAME}\s){{0,3}}?(?i:{_COUNTED})\s(?:No|Nos|Number|NO)\.?\s(?:{_YEAR}\b(?!-)|{_CODE}){_OF_YEAR}{_CHANGE}"
    rf"|\b(?:{_NAME}\s){{0,2}}?(?:{_COUNTED})\s(?:[A-Z]{{1,4}}-?)?\d{{2,6}}[-/]\d{{2,6}}(?:[-/]\d{{1,6}}){{0,3}}\b"
    r"|\bRev\.\s(?:Proc|Rul)\.\s\d{2,4}-\d{1,3}|\b[A-Z]{2,4}\)\s\d{1,3}/\d{1,4}\b"
    rf"|(?<=Bill\s)[CS]-\d{{1,4}}\b|\bBill\s[CS]-\d{{1,4}}\b|\bH[LC]\sBill\s\d{{1,4}}\b|\b(?:H\.\s?R\."
    rf"|S\.)\s?\d{{1,5}}\b"
    r"|\b(?:HB|SB|AB)\s?\d{1,5}\b|\bRule\s\d{1,4}[A-Z]?(?:[-.][A-Z0-9]{1,6}){0,2}\b"
    # Statutory instruments, gazettes, registers.
    r"|\b(?:S\.?I\.?|S\.?R\.?(?:\s?&\s?O\.?)?|S\.?S\.?I\.?|W\.?S\.?I\.?|SOR|SL|L\.?N\.?|G\.?N\.?|S\.\s?L\.)"
    rf"[\s/]?(?:No\.\s?)?(?:{_YEAR}(?:/|-|\sNo\.?\s?)\d{{1,5}}|\d{{1,5}}\sof\s{_YEAR})"
    rf"|\b(?:SOR|SI|TR)/(?:19|20)?\d\d-\d{{1,4}}|\b{_YEAR}\sNo\.\s\d{{1,5}}|\bNo\.?\s\d{{1,5}}\sof\s{_YEAR}"
    r"|\b(?:G\.S\.R\.|S\.O\.)\s?\d{1,5}\s?\(E\)"
    r"|\bG\.N\.\s?(?:\(E\.\)\s)?\d{1,5}|\b(?:P\.C\.|O\.I\.C\.|OIC)\s?(?:19|20)\d\d-\d{1,5}"
    r"|\b(?:(?:O|Ont|Alta|B\.C|Man|Sask|N\.S|N\.B|Que|N\.L)\.\s)?Reg\.\s\d{1,4}/\d\d\b"
    r"|\b\d{2,3}\sFR\s\d{1,6}|\bRIN\s\d{4}-[A-Z]{2}\d\d|\bP\.?L\.?\s\d{2,3}-\d{1,3}"
    rf"|\b(?!(?:NO|AM|PM|OF|TO|IN)\s)[A-Z]{{2,6}}\s\d{{1,4}}\sof\s{_YEAR}\b"
    rf"|\b[A-Z]{{1,3}}{_YEAR}[A-Z]{{1,3}}\d{{3,6}}\b|\b{_YEAR}_\d{{2,6}}\b"
    # A series and its code.
    r"|\bAD\s20\d\d-\d\d-\d\d\b"
    rf"|\b(?!(?:{_MONTH})\s)(?:[A-Z]{{2,8}}|[A-Z][a-z]+[A-Z][a-z]+)\s(?:{_YEAR}[\s/-]\d{{1,5}}|\d{{1,4}}[-/]\d{{2,4}})"
    r"\b(?![-/]\d)"
    rf"|\b(?:{_LETTERED})\s?[A-Z]?\d{{1,5}}(?:[-.]\d{{1,4}}){{0,3}}(?:\s?:\s?{_YEAR})?\b(?![%/-]|\.\d)"
    rf"|\b(?:{_AGENCIES})(?:[\s/-](?:[A-Z]{{1,8}}|\d{{1,6}}[A-Z]?)){{0,3}}[\s/-]\d{{2,6}}(?:[-/.]\d{{1,6}}){{0,3}}"
    rf"(?:/[A-Z0-9]{{1,6}})?"
    r"|(?<![\w/.-])[A-Z]{2,8}(?:/[A-Z]{1,8}){1,5}\s\d{1,6}(?:[-/]\d{1,6}){0,3}\b"
    rf"|\b[A-Z]{{2,6}}\s(?:letter|notice|circular|bulletin|order"
    rf"|memo)\s(?:[Nn]o\.?\s)?\d{{1,4}}(?:[-/]\d{{1,4}}){{0,2}}\b"
    rf"|(?<![\w/.-])[A-Z][A-Za-z]{{0,9}}\d{{0,6}}(?:[-/_.](?:{_PART}"
    rf"|\([A-Za-z0-9]{{1,6}}\))){{1,9}}(?<=\w)(?:\s?\([A-Z+]{{1,4}}\))?"
    rf"|\b\d{{2}}[A-Z]{{2}}\d{{1,4}}\b"
    rf"|\b(?!\d{{4}}-\d\d-\d\d\b){_YEAR}[-/](?:[A-Za-z]{{2,8}}[-/]?)?\d{{1,7}}(?:-\d{{1,4}})?\b(?!/|\s?\((?:COD|NLE"
    rf"|CNS|APP)\))"
)
ENGLISH_NUMBER = re.compile(_ENGLISH)
_SERIES = re.compile(rf"[A-Z][A-Za-z]{{0,9}}\d{{0,6}}(?:[-/_.](?:{_PART}|\([A-Za-z0-9]{{1,6}}\))){{1,9}}")
_NO_SERIES = re.compile(
    rf"(?i:covid|sars|http|www|https|pdf|page|fig|table|room|level|suite|flat|unit|box|mid|non|pre|post|co2|pm2)\b.*"
    rf"|(?:[QHWS]\d|FY\d{{0,4}}|CY\d{{0,4}}|{_MONTH}|Q[1-4])[-/_.].*|[A-Z]{{1,4}}\d*\.\d+|.*\.(?:pdf|docx?|xlsx?"
    rf"|html?|com|org)"
)
_TWO_YEARS = re.compile(r"(?:[A-Z]{2}\s)?20(?P<first>\d\d)(?P<sign>[/-])(?:20)?(?P<last>\d\d)")
_REPORT_OF_YEARS = re.compile(
    r"(?:[A-Z]\w+\s){0,3}(?:Report|Policy|Statement|Paper|Programme|Plan|Budget|Series)s?"
    r"\s20\d\d[-/–]\d\d"
)
_SERIAL_PARTS, _MAX_SPAN = 3, 30


def is_number(written: str) -> bool:
    """Whether what looks like a number is one: no years 2027/28, no quarter Q3-2026, no name such as COVID-19."""
    years = _TWO_YEARS.fullmatch(written)
    if years:
        span = int(years["last"]) - int(years["first"])
        if span == 1 or (years["sign"] == "-" and 0 < span < _MAX_SPAN):
            return False
    if not _SERIES.fullmatch(written):
        return not _REPORT_OF_YEARS.fullmatch(written)
    digits = sum(char.isdigit() for char in written)
    parts = len(re.split(r"[-/_.]", written))
    is_long = digits >= _SERIAL_PARTS or (digits > 1 and ("/" in written or parts >= _SERIAL_PARTS))
    return bool(is_long and re.search(r"\d", written.rpartition("/")[2]) and not _NO_SERIES.fullmatch(written))


_PLURAL = re.compile(r"(?P<noun>.*[a-z])s\s(?:(?:Nos?|Numbers?)\.?\s)?(?P<code>[A-Z0-9][^\s]*)")
_NEXT_CODE = re.compile(
    r"(?:,\s(?:and\s|or\s)?|\s(?:and|or|to)\s"
    r"|\s&\s)(?P<code>(?:[A-Z]{1,8}[-/ ]?)?\d{1,6}[A-Z]?(?:[-/.]\w{1,8}){0,5})\b(?!\s[a-z]+\sof)"
)
_MAX_LISTED = 40


def find_listed_codes(text: str, number: re.Match[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the numbers that one plural stands before, each with its span: Circulars 3/2019, 4/2019 and 7/2020."""
    plural = _PLURAL.fullmatch(number[0])
    if plural is None:
        return
    yield f"{plural['noun']} {plural['code']}", *number.span()
    end = number.end()
    for _ in range(_MAX_LISTED):
        following = _NEXT_CODE.match(text, end)
        if following is None:
            return
        yield f"{plural['noun']} {following['code']}", following.start("code"), following.end()
        end = following.end()


def find_numbers(text: str) -> Iterator[re.Match[str]]:
    """Yield the numbers of documents that a text names."""
    return (found for found in ENGLISH_NUMBER.finditer(text) if is_number(found[0]))


_EU_FORM = re.compile(
    r"^(?:(?:Commission|Council|Delegated|Implementing|Regulation|Directives?|Decision)\s)+(?=\((?:E|CFSP|JHA)"
    r"|\d{2,4}/\d+/E)",
    re.IGNORECASE,
)


def normalize_english_number(written: str) -> str:
    """Return a number in one line, without the form that stands before one of the European Union: (EU) 2026/901."""
    number = _EU_FORM.sub("", " ".join(written.split()))
    return number.replace(")", "") if "(" not in number else number


# A document's own number.

_HEAD_LINES, _LABEL_LINES = 14, 24
_MAX_LINE_CHARS, _MAX_BESIDE_CHARS, _MAX_VALUE_TOKENS = 100, 60, 5
_LABEL = re.compile(
    r"(?P<of>(?:[A-Za-z&’'()./-]{1,20}\s){0,4}?)(?:[Rr]ef(?:erence)?|REF(?:ERENCE)?|[Nn]umber|NUMBER|No|NO|Nos|ID"
    r"|[Cc]ode)\b"
    r"(?:\.|\s(?:[Nn]o|[Nn]umber|[Ii][Dd])\b\.?)?(?:\sis)?\s?(?P<colon>[:.–-]?)\s{0,20}(?P<value>\S[^\n]{1,80})"
)
_LABEL_OF_DOCUMENT = re.compile(
    r"(?:^|.*\b)(?:document|circular|notice|decision|order|our|your|your\sref|publication|paper|release|report"
    r"|consultation"
    r"|announcement|instrument|bulletin|guideline|guidance|question|opportunity|call|letter|advisory|direction"
    r"|determination"
    r"|regulation|standard|policy|matter|gazette|series|registration|rule|q&a|alert|warning|recall|file|case"
    r"|docket|proceeding|inquiry|memo(?:randum)?|official|internal|the|legislation|register|opinion|resolution"
    r"|licen[cs]e"
    r"|f\.?|(?-i:[A-Z]{2,5}))\s?$|^$",
    re.IGNORECASE,
)
_NO_LABEL = re.compile(
    r"\b(?:firm|company|registered|charity|tele\w*|phone|fax|room|account|vat|abn|acn|uen|tax|page|volume|issue|isbn"
    r"|issn"
    r"|doi|rin|customer|cas|lei|frn|postal|building|article|section|part|call\sus|contact|dial|bill|your)\b",
    re.IGNORECASE,
)
_VALUE_END = re.compile(
    r"\s{2,}|\s?[|;·•]|,\s|\.?—|\s(?:dated|of\s\d|on\s\d|\((?!Amend|Cancel|Revis)|–\s|-\s)|\t|\]|\)(?:\s|$)"
)
_VALUE_TOKEN = re.compile(r"[A-Za-z0-9(][A-Za-z0-9/().–_&:#+-]{0,40}")
_OF_ANOTHER = re.compile(
    r"\b(?:in|under|see|to|on|of|by|amend(?:s|ing)?|repealing|revoking|replacing|supplementing|correcting|response"
    r"|with|and"
    r"|implement\w*|supersed\w*|revis\w*|follow\w*|clarif\w*|about|from|per|for|the|FR Doc\.|extending|against"
    r"|cancel\w*|withdraw\w*|rescind\w*|re:?)\s"
    r"(?:the\s|Commission\s|[A-Z]{2,5}\s)?\Z|\b(?:withdrawal|repeal|revocation|cancellation|rescission|corrigendum"
    r"|supersession):\s\Z",
    re.IGNORECASE,
)
_PROSE = re.compile(
    r"\b(?!dated|series|registered|issued|published)[a-z]{4,}\s.*\.$|\.\s[A-Z]"
    r"|\b(?:is|are|was|were|has|have|will|shall|must)\b"
)
_SHORTENED = re.compile(r"\b(No|Nos|Ref|Reg|Doc|Pt|Vol)\. ")
_LABELLED_LINE = re.compile(r"(?P<label>[A-Z][A-Za-z ]{2,30}):\s")
_LABEL_OF_OTHER = re.compile(
    r"(?:legal|act|basis|topic|subject|related|relates|see|amends|repeals|replaces|regarding|statut|authority|law|re"
    r"|sub"
    r"|public|deal|under|type|categor|supersedes|sector|keyword|tag)\w*",
    re.IGNORECASE,
)
_FOREIGN = re.compile(
    r"(?:\d{2,3}\sFR\s\d|(?:[A-Z]\w+\s){0,3}(?:ACT|Act|CAP|Cap)\b|RIN\s|P\.?L\.?\s|Public\s(?:Law|Act)|Rule\s|ISBN"
    r"|ISSN|OJ\s|DOI|CFR|FERC\s¶|ISO|IEC|EN\s"
    r"|P\.C\.|FRL-|Am(?:en)?dm?t?(?:ment)?\.?\s(?:No\.?\s)?\d|\d{1,3}\s(?:C\.?F|N[YJ]|[A-Z]{3})|Question\s\d{1,3}$)"
)
_DOCKET = re.compile(r"(?:\[|\()?(?:[A-Z]{2,6}\s)?(?:Docket|DOCKET|Doc\.|File|FILE|Case|CASE|Matter|Proceeding)\b")
_DOCKET_CODE = re.compile(r"[A-Z]{2,6}-[A-Z-]{2,12}-20\d\d-\d{4}|[A-Z]{2,6}-20\d\d-[A-Z]-\d{3,5}")
_CODE_LINE = re.compile(
    r"(?=[^a-z\n]*\d)(?=[^a-z\n]*[A-Z])(?!(?:Part|Article|Section|PART|ARTICLE|SECTION|ANNEX|PAGE|TITLE|CHAPTER"
    r"|SUBPART|VOLUME|VOL|SCHEDULE|TABLE|ISBN|ISSN"
    r"|Q)\s?\d)[A-Z0-9][A-Z0-9 /.:()-]{2,24}"
)
_FILING_LINE = re.compile(r"[A-Z]{2,6}-\d{6,12}")
_LEADING_CODE = re.compile(
    r"(?P<code>(?:(?:Rule|Guideline|Standard|Circular|Notice|Bulletin) (?=\d+-)"
    r"|[A-Z]{1,6}\d{0,4}[ -]?)\d{1,6}(?:[-/](?:\d{2,4}|[A-Z]))?)(?::|\s[-–—]|\s(?=Consultation|Discussion))\s?"
)
_LABEL_LEAD = re.compile(
    r"^(?:our\s)?(?:ref(?:erence)?|registration|number|no(?!\.?\s(?:[A-Z]\.\s?)?\d+$))\b\.?:?\s+(?=[A-Z0-9])",
    re.IGNORECASE,
)
_LONGER_BY, _MAX_NAMING_CHARS = 40, 4_000


def find_own_english(document: DocumentText, *, explains: bool) -> tuple[str, int, int] | None:
    """Return a document's own number and its span; a span in the title is -1, -1."""
    leading = _find_leading(document, explains=explains)
    headed = _find_labelled(document) or _find_in_head(document, explains=explains)
    found = (
        (headed if leading and headed and headed[0].startswith(leading[0]) else leading)
        or headed
        or (_find_in_title(document) if not explains else None)
        or _find_named_itself(document)
        or _find_code_line(document)
        or _find_docket(document)
    )
    titled = _find_in_title(document) if found and not explains else None
    if found and titled and titled[0].endswith(found[0]) and len(titled[0]) < len(found[0]) + _LONGER_BY:
        return titled[0], found[1], found[2]
    return found


def _make(document: DocumentText, start: int, end: int) -> tuple[str, int, int]:
    written = document.original[start:end]
    lead = _LABEL_LEAD.match(written)
    start += lead.end() if lead else 0
    return normalize_english_number(document.original[start:end]), start, end


def _find_labelled(document: DocumentText) -> tuple[str, int, int] | None:
    """Return the value of a line that says that it is the number: Circular No.: PSO 07/2026, Our ref. B1/15C."""
    for line in (part for whole in document.lines[:_LABEL_LINES] for part in _split_columns(whole)):
        label = _LABEL.match(line.text)
        if not label or _NO_LABEL.search(label["of"]) or not _LABEL_OF_DOCUMENT.match(label["of"].strip()):
            continue
        if _DOCKET.match(line.text) or _is_law(line.text) or _find_gazette_line(line):
            continue
        value = _cut_value(label["value"])
        if value and (label["colon"] in ":." or _is_short(line.text) or "/" in value):
            start = line.start + label.start("value")
            return _make(document, start, start + len(value))
    return None


def _split_columns(line: Line) -> Iterator[Line]:
    """Yield the pieces of a line that wide space or a bar sets apart."""
    for piece in _COLUMN.finditer(line.text):
        yield Line(piece[0], line.start + piece.start())


_COLUMN = re.compile(r"[^\s|](?:[^\s|]|\s(?![\s|]))*")


def _is_law(text: str) -> bool:
    return bool(re.search(r"\b(?:ACT|Act|ORDINANCE|Ordinance)\b[^\n]{0,12}\b(?:NO|No)\b", text))


def _is_short(text: str) -> bool:
    return len(text) <= _MAX_BESIDE_CHARS and not _PROSE.search(text)


def _cut_value(value: str) -> str:
    """Return the code that a value begins with; empty where it begins with words, a date or a plain count."""
    end = _VALUE_END.search(value)
    tokens: list[str] = []
    cut = (value[: end.start()] if end else value).rstrip(" .,)]")
    for token in cut.split(" "):
        is_code = _VALUE_TOKEN.fullmatch(token) and (re.search(r"\d", token) or token.isupper() or "(" in token)
        if not is_code or len(tokens) == _MAX_VALUE_TOKENS:
            break
        tokens.append(token)
    code = " ".join(tokens).rstrip(" .,:")
    while tokens and not re.search(r"\d", tokens[-1]) and "(" not in tokens[-1]:
        code = code[: -len(tokens.pop())].rstrip()
    is_date = bool(find_dates(code, order="dmy")) and not re.search("[A-Z]{2}", code)
    has_form = re.search(r"\d", code) and re.search(r"[^\d.,]", code)
    return code if has_form and not is_date and "@" not in code else ""


_GAZETTE_LINE = re.compile(
    r"(?P<number>(?:No|NO|Nr|N°|Nº)\.?\s(?:[A-Z]{1,3}\.?\s?)?\d{1,6}(?:[/-]\d{2,4})?"
    r"|\[20\d\d\]\s[A-Z]{2,10}\s\d{1,5})(?P<rest>\W.{0,40})?"
)


def _find_gazette_line(line: Line) -> re.Match[str] | None:
    """Return the number of a line that is no more than it and a day: No. R. 5120     7 August 2026."""
    found = _GAZETTE_LINE.fullmatch(line.text)
    rest = (found["rest"] or "").strip(" .,()") if found else ""
    return found if found and (not rest or find_dates(rest, order="dmy")) else None


def _find_in_head(document: DocumentText, *, explains: bool) -> tuple[str, int, int] | None:
    """Return the number of the first line of the head that holds little else."""
    for line in document.lines[:_HEAD_LINES]:
        if numbered := _find_gazette_line(line):
            return _make(document, line.start, line.start + numbered.end("number"))
        if len(line.text) > _MAX_LINE_CHARS or _PROSE.search(_SHORTENED.sub(r"\1 ", line.text)):
            continue
        labelled = _LABELLED_LINE.match(line.text)
        if labelled and _LABEL_OF_OTHER.match(labelled["label"]):
            continue
        found = next((number for number in find_numbers(line.text) if not _is_foreign(number[0])), None)
        if found is None or (explains and found.start()):
            continue
        ahead, beside = line.text[: found.start()], line.text[: found.start()] + line.text[found.end() :]
        if len(beside.strip(" ()[]:;,.–-")) <= _MAX_BESIDE_CHARS and not _OF_ANOTHER.search(ahead):
            return _make(document, line.start + found.start(), line.start + found.end())
    return None


def _is_foreign(number: str) -> bool:
    """Whether a number is a docket's, a register's or a law's rather than the document's."""
    return bool(_FOREIGN.match(number) or _DOCKET.match(number) or _DOCKET_CODE.fullmatch(number))


def _find_in_title(document: DocumentText) -> tuple[str, int, int] | None:
    """Return the number that stands in the title outside the names of others."""
    quoted = [span.span() for span in re.finditer(r"[“\"][^”\"]*[”\"]", document.title)]
    for found in find_numbers(document.title):
        is_quoted = any(start < found.start() < end for start, end in quoted)
        if is_quoted or _OF_ANOTHER.search(document.title[: found.start()]) or _is_foreign(found[0]):
            continue
        return normalize_english_number(document.original_title[found.start() : found.end()]), -1, -1
    return None


def _find_leading(document: DocumentText, *, explains: bool) -> tuple[str, int, int] | None:
    """Return the code with which a title begins: DEA-407: Telehealth, 2026_7412 Treatment of a guarantee.

    One that explains another begins with that one's number, unless the code is of a series by year.
    """
    if question := _QUESTION_CODE.search(document.title):
        return document.original_title[question.start() : question.end()], -1, -1
    number = ENGLISH_NUMBER.match(document.title)
    leading = _LEADING_CODE.match(document.title)
    end = leading.end("code") if leading else 0
    if number and is_number(number[0]) and not _is_foreign(number[0]):
        is_led = _BEHIND_CODE.match(document.title, number.end())
        end = max(end, number.end()) if is_led else end
    written = document.original_title[:end]
    if not written or (explains and not (_OF_SERIES.search(written) or _EXPLAINING_KIND.search(written))):
        return None
    return normalize_english_number(written), -1, -1


_BEHIND_CODE = re.compile(r":|\s[-–—|]|\s(?:[A-Z]|on\b)|$")
_QUESTION_CODE = re.compile(r"\b20\d\d_\d{2,6}\b")
_EXPLAINING_KIND = re.compile(
    r"(?:Bulletin|Letter|Ruling|Advisory|Circular|Note|Opinion|Brief|Release|Interpretation|Sheet)s?\s", re.IGNORECASE
)
_OF_SERIES = re.compile(r"\d\d[/_-]\d|20\d\d\b")


_NAMES_ITSELF = re.compile(
    r"\bThis\s(?:instrument|order|notice|determination|regulation|standard|rule|direction|declaration|document"
    r"|circular|guideline)\s"
    r"(?:is|may\sbe\scited\sas)\s(?:the\s)?(?P<name>[A-Z][^.\n]{4,160})"
)
_CODE_LINES = 4


def _find_named_itself(document: DocumentText) -> tuple[str, int, int] | None:
    """Return the number in the name that an instrument gives itself: This instrument is the … Instrument 2026/240."""
    named = _NAMES_ITSELF.search(document.folded, 0, _MAX_NAMING_CHARS)
    numbers = [number for number in find_numbers(named["name"]) if not _is_foreign(number[0])] if named else []
    if not named or not numbers:
        return None
    start = named.start("name")
    return _make(document, start + numbers[-1].start(), start + numbers[-1].end())


def _find_code_line(document: DocumentText) -> tuple[str, int, int] | None:
    """Return the code that is a line of its own at the head, or of letters and many digits anywhere."""
    for line in document.lines[:_CODE_LINES]:
        if _CODE_LINE.fullmatch(line.text) and not _is_foreign(line.text) and not find_dates(line.text, order="dmy"):
            return _make(document, line.start, line.end)
    coded = next((line for line in document.lines if _FILING_LINE.fullmatch(line.text)), None)
    return _make(document, coded.start, coded.end) if coded else None


_DOCKET_VALUE = re.compile(
    r"(?:\[(?=[A-Z]{2,6}-)|(?:^|[\[(\s])(?P<lead>(?:[A-Z]{2,6}\s)?(?:Docket|DOCKET|Doc\.|File|FILE|Case|CASE|Matter"
    r"|Proceeding)\s(?:Nos?\.?|NO\.|Number|ID|numbers?):?\s))(?P<number>[A-Z0-9][A-Z0-9/-]{2,24})\b"
)


def _find_docket(document: DocumentText) -> tuple[str, int, int] | None:
    """Return the docket at the head of a document without another number."""
    for line in document.lines[:_HEAD_LINES]:
        docket = _DOCKET_VALUE.search(line.text) if _is_docket_line(line) else None
        if docket and re.search(r"\d", docket["number"]):
            at = docket.start("lead") if docket["lead"] and _CODE_OF_COURT.match(docket["lead"]) else None
            start = line.start + (docket.start("number") if at is None else at)
            return _make(document, start, line.start + docket.end("number"))
    return None


_CODE_OF_COURT = re.compile(r"[A-Z]{2,6}\s")


def _is_docket_line(line: Line) -> bool:
    return len(line.text) <= _MAX_LINE_CHARS and not _PROSE.search(_SHORTENED.sub(r"\1 ", line.text))
