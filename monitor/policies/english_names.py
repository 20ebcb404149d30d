"""How English documents name others: by number, by title, in quotes, in lists."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitor.policies.document_text import DocumentText
from monitor.policies.english_numbers import find_listed_codes, find_numbers, normalize_english_number
from monitor.policies.numbers import NamedDocument

_W = (
    r"(?:(?!(?:Amending|Repealing|Revoking|Implementing|Correcting|Replacing|Supplementing"
    r"|Cancelling)\b)[A-Z][A-Za-z0-9'’&/-]{0,40}"
    r"|\([A-Z][A-Za-z0-9'’&,./;:–— -]{1,60}\))"
)
_FORM = (
    r"(?:Acts?|Regulations?|Rules?|Order|Directives?|Codes?(?:\sof\s(?:Conduct|Practice))?|Ordinance|Guidelines?"
    r"|Circular"
    r"|Standards?|Instrument|Statute|Law|Treaty|Scheme|Handbook|[Ss]ourcebook|Manual|Framework|Policy\sStatement"
    r"|(?:Consultation|Discussion|White|Green|Issues)\sPaper|Guidance|Notice|Decision|By-?laws?|Byelaws|Decree"
    r"|Agreement"
    r"|Convention|Constitution|Charter|Determination|Declaration|Directions?|Principles|Protocol|Proclamation"
    r"|Announcement"
    r"|Resolution|Licen[cs]e|Specifications?|Requirements|Criteria|Programme|Strategy|Measures|Methodology"
    r"|Recommendations?"
    r"|Opinion|Memorandum|Advisory|Bulletin|Bill|Statement|Policy|Rulebook|Exemption|Ruling|Exposure\sDraft|Accord"
    r"|Practices"
    r"|Procedures?|Compendium|Concordat)"
)
_YEAR = r"(?:,?\s(?:of\s)?(?:19|20)\d\d(?![-/\d]))"
_LED = (
    r"(?:Statements?|Memorandum|Treaty|Convention|Circular|Guidance|Guidelines?|Notice|Guide|Principles"
    r"|Recommendations?|Rules"
    r"|Regulations?|Standards?|Policy|Framework|Directions?|Manual|Handbook|Opinion|Methodology|Criteria|Protocol"
    r"|Agreement"
    r"|(?:[Ss]tatutory\s|[Pp]ublic\s|[Jj]oint\s)?[Cc]onsultation(?:\s[Pp]aper)?|[Dd]iscussion\s[Pp]aper"
    r"|[Cc]all\sfor\s(?:[Ii]nput|[Ee]vidence|[Vv]iews)"
    r"|Sound\s[Pp]ractices|Core\s[Pp]rinciples|Best\s[Pp]ractices|Technical\s[Ss]tandards|Exposure\s[Dd]raft"
    r"|Code\sof\s(?:Practice|Conduct)|Supervisory\s[Ss]tatement|Practice\s[Nn]ote|Information\s[Nn]ote"
    r"|Frequently\s[Aa]sked\s[Qq]uestions)"
)
_LOWER = r"[a-z][a-z'’-]{1,16}"
_TITLE = re.compile(
    r"(?<![\w/&’'-])(?!(?:The|This|That|These|Those|Our|Its|An?|In|On|By|Under|For|And|See|To|With|If|Since|After"
    r"|Before|As|Each"
    r"|Any|All"
    r"|Such|From|When|Where|Which|Pursuant|Having|Whereas|Following|Further|Considering|Subject|Regarding"
    r"|Notwithstanding)\s)"
    rf"(?P<title>{_W}(?:,?\s(?:{_W}|of|and|for|on|to|the|in|by|with|from|or|as"
    rf"|&)){{0,14}}?\s{_FORM}(?![A-Za-z-])(?!\s(?:{_W}\s){{0,2}}{_FORM}(?![A-Za-z]))(?:\s\([A-Z][A-Za-z ]{{1,30}}\))?"
    rf"(?:{_YEAR}|\s(?:of|on|for)\s(?:the\s)?{_W}(?:\s(?:{_W}|of|and|for|in|to|the|by)){{0,10}}{_YEAR}?)?)(?![A-Za-z])"
    r"|[“\"](?P<quoted>[A-Z][^”\"\n]{6,160})[”\"]"
    rf"|\b(?P<condition>(?:Standard\s"
    rf"|Special\s)?(?:Licen[cs]e\s)?Condition\s[A-Z]{{0,3}}\d{{1,3}}[A-Z]?(?:\s\([A-Z][A-Za-z ]{{2,50}}\))?)"
    rf"|\b(?P<law>(?:Law|Decree|Ordinance|Act|Order|Resolution|Decision|Instruction|Directive|Bill|Code)\s(?:on|for"
    rf"|of|concerning)\s(?:the\s)?"
    rf"{_W}(?:,?\s(?:{_W}|of|and|for|in|to|the|on|by)){{0,10}}{_YEAR}?)"
    rf"|\b(?P<statement>{_LED}\s(?:of|on|to|for|in|concerning|regarding)\s(?:(?:{_W}|{_LOWER})\s){{0,14}}?(?:{_W}"
    rf"|{_LOWER}))"
    r"(?=[,.;:)(]|\s(?:is|are|was|were|will|shall|has|have|that|which|dated|issued|published|we|it|from|as|came|by"
    r"|with\seffect)\b|$)"
)
_LEAD = re.compile(
    r"^(?:The|This|That|In|Under|A|An|By|For|On|And|See|Our|To|Its|These|With|Does|Is|Are|Do|Can|May|What|When"
    r"|Where|How|Why|Which|If|Since|After|Before|Through|Following|As|Both|Each|Any|All|Such|Pursuant|Having|Whereas"
    r"|Section"
    r"|Article|Cancellation\sof|Repeal\sof|Revocation\sof|Withdrawal\sof|Amendments?\s(?:to|of)|Changes\sto|Decision"
    r"|Effective"
    r"|Regarding|Re|Sub|Subject|Also|Existing|Current|Proposed)\s(?:the\s|to\s)?(?=[A-Z(])"
)
_SHORT_CODE = re.compile(
    r"\b(?!(?:COP|EU|UN|GDP|CO|PM|FY|NO|AD|BC|UTC|GMT|RM|RS|NT|HK|US|USD|EUR|GBP|INR|AUD|CAD|SGD|HKD|RMB|CNY|JPY|KRW"
    r"|NZD|CHF)\d)[A-Z]{2,5}\d{2,4}[A-Z]?\b(?![-/.]\w)"
    r"|(?<=\()(?!COVID)[A-Z]{2,6}-[A-Z]{0,2}\d{1,4}(?=\))"
)
_BODY = re.compile(
    r"(?:Commission|Authority|Office|Agency|Bureau|Board|Department|Ministry|Secretary|Council|Committee"
    r"|Institute)\s(?:for|of|on)\b(?!.*\b(?:Act|Regulations?|Rules?|Order|Ordinance|Directive|Law|Code)\b)"
)
_TRAIL = re.compile(r"(?:\s(?:of|and|for|the|in|by|to|on))+\Z")
_WITHIN = re.compile(r"\b(?:in|under|by|to|on|for|of) the [A-Z]\w+$")
_WEAK = re.compile(
    r"^(?:Code of Federal Regulations|(?:Interactive )?Single Rulebook|Official Journal|Federal Register"
    r"|Statutory Instruments?)"
    r"|^(?:(?:Policy|Consultation|Discussion|Proposed|Final|New|Draft|Commission|Notice|This|Executive|Public|Joint"
    r"|Revised|Amended"
    r"|Federal|Interim|Supplementary|Delegated|Implementing|Statutory|Single|Local|National|Regulatory|Supervisory"
    r"|Technical|Legal"
    r"|Financial|Model|Standard|Council|Authority|State|Annual|General|Guidance|Practice|Principal|Secondary|Primary"
    r"|Media|Press)\s)*"
    r"(?:Acts?|Regulations?|Rules?|Order|Directives?|Codes?|Guidelines?|Circular|Standards?|Instrument|Law|Scheme"
    r"|Statement|Policy"
    r"|Policy Statement|(?:Consultation|Discussion|Issues|White|Green) Paper|Guidance|Notice|Decision|Framework"
    r"|Agreement|Consultation"
    r"|Determination|Declaration|Directions?|Principles|Resolution|Licen[cs]e|Requirements|Criteria|Programme"
    r"|Strategy|Measures|Rulebook"
    r"|Recommendations?|Opinion|Memorandum|Advisory|Bulletin|Bill|Announcement|Exemption|Procedures?|Exposure Draft"
    r"|Methodology|Ruling"
    r"|By-?laws?|Handbook|Manual|Treaty|Charter|Convention|Constitution|Protocol|Proclamation|Ordinance|Decree|Order"
    r"|Practices)"
    r"(?:\s(?:for|to)\s(?:[Ii]ndustry|[Cc]omment|[Ff]irms|[Ss]taff))?$"
)
_OWN_FORM = re.compile(
    r"^(?:(?:[Ss]taff|[Jj]oint|[Ff]urther|[Uu]pdated|[Gg]eneral|[Dd]raft|[Ff]inali[sz]ed|[Rr]egulatory|[Pp]ractical"
    r"|[Ii]nterpretive)\s)*"
    r"(?:FAQs?|[Ff]requently [Aa]sked [Qq]uestions|[Qq]uestions (?:and|&) [Aa]nswers|Q ?& ?As?"
    r"|[Aa]nswers(?: to [Qq]uestions)?"
    r"|[Gg]uidance(?: [Nn]otes?)?|[Gg]uidelines|[Gg]uide|[Ee]xplanatory (?:[Nn]otes?|[Mm]emorandum|[Ss]tatement)"
    r"|[Ee]xplainer"
    r"|[Ii]nterpretations?|[Cc]larifications?|[Cc]ircular|[Nn]otes?|[Uu]nderstanding|[Oo]verview|[Ss]ummary"
    r"|[Ii]nformation(?: [Nn]ote)?"
    r"|[Pp]ractice [Nn]ote|[Hh]andbook|[Ii]nterpretive [Ll]etter|[Ee]xplanation|[Ii]ntroduction)"
    r"\s(?:on|to|about|for|of|regarding|concerning)\s(?:the\s)?"
)
_HAS_FORM = re.compile(rf"\b{_FORM}\b")
_OWN_AT_END = re.compile(
    r"^(?:Guidance|Guidelines|Guide|FAQs?|Frequently|Questions|Notes?|Circular|Explanatory|Statement|Practice)\b"
)
_CONNECTOR = re.compile(
    r"[\s,;()“”\"]*(?:(?:and|or|as\swell\sas|together\swith|along\swith|with|&)[\s,]*)?(?:(?:also|the|of|to|in|its|our"
    r"|both)\s|[“\"(])*"
    r"(?:(?:section|article|regulation|paragraph|part|schedule|rule|annex|appendix|chapter)s?\s[\w().-]{1,12}\s(?:of"
    r"|to|in)\s(?:the\s)?)?"
)
_OWN_KIND = re.compile(
    r"^(?:[A-Z][A-Za-z]+\s){0,2}(?:Decision|Opinion|Ruling|Bulletin|Advisory|Letter)(?:\s(?:on|about)\b|$)"
)
_MAX_BETWEEN = 60
_APPOSITION = re.compile(r"[\s,:\"“”(\[–—-]{1,4}")


@dataclass(frozen=True, slots=True)
class NamedGroup:
    """Documents that a sentence names in one list, and the span of the list."""

    members: tuple[NamedDocument, ...]

    @property
    def start(self) -> int:
        return self.members[0].start

    @property
    def end(self) -> int:
        return self.members[-1].end


def find_english_named(document: DocumentText, start: int, end: int) -> list[NamedDocument]:
    """Return the documents that a span of the folded text names; a number and a title side by side are one."""
    text, original = document.folded[start:end], document.original[start:end]
    found: list[NamedDocument] = []
    spans: list[tuple[int, int]] = []
    for match in find_numbers(text):
        first, last = match.span()
        if any(low < last and first < high for low, high in spans):
            continue
        listed = list(find_listed_codes(text, match)) or [(original[first:last], first, last)]
        for written, low, high in listed:
            spans.append((low, high))
            found.append(NamedDocument(None, normalize_english_number(written), start + low, start + high))
    for match in _SHORT_CODE.finditer(text):
        if not any(low < match.end() and match.start() < high for low, high in spans):
            spans.append(match.span())
            found.append(NamedDocument(None, match[0], start + match.start(), start + match.end()))
    for match in _TITLE.finditer(text):
        name = next(name for name in ("title", "quoted", "condition", "law", "statement") if match[name])
        first, last = match.span(name)
        last = min((low for low, high in spans if first < low < last), default=last)
        if any(low < last and first < high for low, high in spans):
            continue
        last = first + len(text[first:last].rstrip(" (["))
        title = _TRAIL.sub("", " ".join(original[first:last].split()))
        if name != "quoted":
            while (shorter := _LEAD.sub("", title)) != title:
                title = shorter
        if len(title.split()) > 1 and not _WITHIN.search(title) and not _WEAK.match(title) and not _BODY.match(title):
            found.append(NamedDocument(title.rstrip(" ,."), None, start + first, start + last))
    return _join(sorted(found, key=lambda named: named.start), document.folded)


def _join(found: Sequence[NamedDocument], text: str) -> list[NamedDocument]:
    """Join a number with the title or the other number beside it: AASB S4 Water Disclosures, “Title” (2014-37)."""
    joined: list[NamedDocument] = []
    for named in found:
        last = joined[-1] if joined else None
        between = text[last.end : named.start] if last else ""
        is_beside = last is not None and bool(_APPOSITION.fullmatch(between)) and not (last.title and ":" in between)
        if last and is_beside and bool(last.title) != bool(named.title) and not (last.number and last.title):
            joined[-1] = NamedDocument(last.title or named.title, last.number or named.number, last.start, named.end)
        elif last and between == " (" and last.number and named.number and text[named.end : named.end + 1] == ")":
            joined[-1] = NamedDocument(last.title, named.number, last.start, named.end)
        else:
            joined.append(named)
    return joined


def group_named(found: Sequence[NamedDocument], text: str, start: int) -> Iterator[NamedGroup]:
    """Yield the documents of a sentence in the lists in which it names them: A, B and C; section 2 of A and of B."""
    group: list[NamedDocument] = []
    for named in found:
        between = text[group[-1].end - start : named.start - start] if group else ""
        if group and (len(between) > _MAX_BETWEEN or not _CONNECTOR.fullmatch(between)):
            yield NamedGroup(tuple(group))
            group = []
        group.append(named)
    if group:
        yield NamedGroup(tuple(group))


def strip_own_form(title: str) -> str | None:
    """Return the document that an explanation's title names, FAQs on the Notice on Tools; None where it names none."""
    stripped = title
    while (shorter := _OWN_FORM.sub("", stripped)) != stripped:
        stripped = shorter
    if stripped != title:
        return stripped if _HAS_FORM.search(stripped) and len(stripped.split()) > 1 else None
    return (
        None
        if _OWN_KIND.match(title) or (_OWN_AT_END.match(title) and not _HAS_FORM.search(title.split(" ", 1)[-1]))
        else title
    )


def is_same_title(one: str, other: str) -> bool:
    return _fold(one) == _fold(other)


def _fold(name: str) -> str:
    return re.sub(r"\W|^the\s", "", name.casefold())
