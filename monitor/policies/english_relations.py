"""The rules by which English documents name others and say what they do to them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitor.document import Relation
from monitor.policies.document_text import DocumentText, Sentence
from monitor.policies.english_numbers import ENGLISH_NUMBER, find_numbers, is_number, normalize_english_number
from monitor.policies.numbers import NamedDocument
from monitor.vocabulary import PolicyStage, RelationType

_W = (
    r"(?:(?!(?:Amending|Repealing|Revoking|Implementing|Correcting|Replacing)\b)[A-Z][A-Za-z0-9'’&/-]*"
    r"|\([A-Z][A-Za-z0-9'’&,. -]{1,60}\))"
)
_FORM = (
    r"(?:Act|Regulations?|Rules?|Order|Directive|Code(?:\sof\s(?:Conduct|Practice))?|Ordinance|Guidelines?|Circular"
    r"|Standards?|Instrument|Statute|Law|Treaty|Scheme|Handbook|[Ss]ourcebook|Manual|Framework|Policy\sStatement"
    r"|Consultation\sPaper|Guidance|Notice|Decision|Bylaw|Decree|Agreement|Convention|Constitution|Charter)"
)
_TITLE = re.compile(
    rf"\b(?P<title>{_W}(?:,?\s(?:{_W}|of|and|for|on|to|the|in|by|with|from|or"
    rf"|&)){{0,14}}?\s{_FORM}(?:\s\([A-Z][A-Za-z ]{{1,30}}\))?"
    rf"(?:,?\s(?:of\s)?(?:19|20)\d\d)?(?:\s(?:of|on|for)\s(?:the\s)?{_W}(?:\s(?:{_W}|of|and|for|in|to|the"
    rf"|by)){{0,10}})?)(?![A-Za-z])"
    rf"|[“\"](?P<quoted>[A-Z][^”\"\n]{{6,140}})[”\"]"
    rf"|\b(?P<statement>(?:Statements?|Memorandum|Treaty|Convention|Circular|Guidance|Guidelines?|Notice"
    rf"|Consultation\sPaper"
    rf"|Code\sof\sPractice)\s(?:of|on|to|for)\s(?:(?:{_W}|of|and|for|in|on|to|by|the"
    rf"|[a-z]{{4,14}})\s){{0,9}}(?:{_W}|[a-z]{{4,14}}(?=[,.;)]|\s(?:is|are|issued|dated|was|will))))"
)
_LEAD = re.compile(
    r"^(?:The|This|That|In|Under|A|An|By|For|On|And|See|Our|To|Its|These|With|Does|Is|Are|Do|Can|May|What|When"
    r"|Where|How|Why|Which|If|Since|After|Before|Through|Following|As)\s"
)
_BODY = re.compile(
    r"(?:Commission|Authority|Office|Agency|Bureau|Board|Department|Ministry|Secretary|Council|Committee"
    r"|Institute)\s(?:for|of|on)\b"
)
_TRAIL = re.compile(r"(?:\s(?:of|and|for|the|in|by|to|on))+\Z")
_WEAK = re.compile(
    r"^(?:Policy|Consultation|Discussion|Proposed|Final|New|Draft|Commission|Notice|This|Executive|Public"
    r"|Federal|Interim|Supplementary)?\s?"
    r"(?:Act|Regulations?|Rules?|Order|Directive|Code|Guidelines?|Circular|Standards?|Instrument|Law|Scheme"
    r"|Policy Statement|Consultation Paper|Guidance|Notice|Decision|Framework|Agreement|Consultation)$"
)
_GAP = r"(?:[^.;]{0,70}?)"
_REPEAL = re.compile(
    r"\b(?:repeal(?:s|ing|ed)?|revok(?:es?|ing|ed)|rescind(?:s|ing|ed)?|withdraw(?:s|ing|n|al\sof)?|cancel(?:s"
    r"|ling|led)?|annul(?:s|ling|led)?|rescission\sof|revocation\sof|repeal\sof)\s(?:and\sreplac(?:es?"
    r"|ing)\s)?(?:the\s|our\s|its\s|in\sfull\s|entirely\s|following\s)*\Z",
    re.IGNORECASE,
)
_REPEALED = re.compile(
    r"[^.;]{0,60}?\b(?:is|are|was|were|be|been|stands?)\s(?:hereby\s|also\s|now\s|therefore\s|accordingly\s"
    r"|each\s)?(?:repealed|revoked|rescinded|withdrawn|cancelled|canceled|annulled)\b",
    re.IGNORECASE,
)
_REPLACE = re.compile(
    r"\b(?:replac(?:es?|ing|ement\sof|ement\sfor)|supersed(?:es?|ing)|takes?\sthe\splace\sof|in\splace\sof"
    r"|instead\sof|substitut(?:es?|ing)\sfor)\s(?:and\s(?:repeals?|supersedes?|replaces?|withdraws?)\s)?(?:the\s"
    r"|our\s|its\s|all\s|previous\s|earlier\s|existing\s|current\s|that\s)*\Z",
    re.IGNORECASE,
)
_REPLACED = re.compile(
    r"[^.;]{0,60}?\b(?:is|are|was|were|be|been)\s(?:hereby\s|now\s|thereby\s)?(?:replaced"
    r"|superseded)\b(?!\sby\s(?:the\sfollowing|[\"“]))",
    re.IGNORECASE,
)
_AMEND = re.compile(
    r"\b(?:amend(?:s|ing|ed|ments?\sto|ments?\sof)?|correct(?:s|ing|ions?\sto)|modif(?:y|ies|ying|ications?\sto)"
    r"|var(?:y|ies|ying|iations?\sto)|revis(?:es|ing|ions?\sto)|changes?\sto|updates?\sto"
    r"|inserts?\s[^.;]{3,60}\sinto)\s(?:the\s|our\s|its\s|certain\s|parts?\sof\s|final\srules\sset\sout\sin\s"
    r"|rules\sin\s|provisions\sof\s|rules\sset\sout\sin\s|requirements\s(?:in|of)\s|(?:section|regulation"
    r"|article|part|schedule|paragraph|rule)s?\s[\w.()-]{1,12}\s(?:of|to)\s)*\Z",
    re.IGNORECASE,
)
_AMENDED = re.compile(
    r"[^.;]{0,50}?\b(?:is|are|shall\sbe|will\sbe)\s(?:hereby\s|further\s|also\s)?(?:amended|corrected|modified"
    r"|varied|revised)\b",
    re.IGNORECASE,
)
_BASE = re.compile(
    r"\b(?:pursuant\sto|(?-i:Under)(?=\s(?:sub)?(?:section|article|regulation|paragraph)s?\s)|by\svirtue\sof"
    r"|authori[sz]ed\sby|powers?\s(?:conferred\s(?:by|under)|in|under|given\sby)"
    r"|in\sexercise\sof|having\sregard\sto|made\sunder|required\sby|mandated\sby|as\srequired\sby"
    r"|authority\s(?:of|in|under)|purposes\sof)\s(?P<gap>(?:[^.;]|\.(?=\d)){0,110}?)\Z",
    re.IGNORECASE,
)
_UNDER = re.compile(
    r"\b(?:mak(?:es?|ing)|made|issu(?:es?|ed|ing)|exercis|power|impos|accept|adopt|present|jurisdiction|notice"
    r"|prescrib|proposing|proposes"
    r"|approv|grant|determin|direct|authori[sz])"
    r"[^.;]{0,140}?\bunder\s[^.;]{0,60}\Z",
    re.IGNORECASE,
)
_FOLLOWS = re.compile(
    r"\b(?:follow(?:s|ing)|feedback\s(?:to|on)|respon(?:ses?|ds?|ding)\sto|respons\w*\s(?:received\s)?to"
    r"|proposals?\s(?:in|set\sout\sin|appeared\sin|published\sin|made\sin)|proposed\sin|set\sout\sin"
    r"|consult(?:ed|ation)\s(?:in|on|paper)|in\sresponse\sto|conclusions?\s(?:on|to)|outcome\sof|exposed\sas"
    r"|published\s(?:as|in)|adopts?\sthe\sproposals?\s(?:in|of)|appeared\sin|issued\s(?:as|in)"
    r"|after\sconsulting\son|based\son|finali[sz]es?|builds?\son)\s(?:the\s|our\s|a\s|its\s"
    r"|[Cc]onsultation\s(?:[Pp]aper\s)?|[Ee]xposure\s[Dd]raft\s|[Dd]iscussion\s[Pp]aper\s|proposals\sin\s"
    r"|comments\son\s|responses\sto\s)*\Z",
    re.IGNORECASE,
)
_IMPLEMENT = re.compile(
    r"\b(?:implement(?:s|ing|ation(?:\sin\s[A-Z]\w+)?\sof)?|transpos(?:es?|ing|ition\sof)|giv(?:es?"
    r"|ing)\s(?:full\s|further\s)?effect\sto|carr(?:y|ies|ying)\sout|appl(?:y|ies"
    r"|ying)\s(?:in\s[A-Z]\w+\s))\s(?:in\s[A-Z]\w+\s)?(?:the\s|certain\sprovisions\sof\s|parts?\sof\s"
    r"|requirements\sof\s|Commission\s)*(?P<gap>[^.;]{0,40}?)\Z",
    re.IGNORECASE,
)
_CONSULTATION_NUMBER = re.compile(r"^(?:CP|DP|ED|QCP|TD)\s?-?\d|^P\d{3}-20|Consultation Paper|^CRTC", re.IGNORECASE)
_EU_LAW = re.compile(r"\((?:EU|EC|EEC)\)|Directive|Regulation")
_LISTED = re.compile(
    r"\bfollowing\s[a-z ]{3,40}\s(?:is|are)\s(?:hereby\s)?(?:repealed|revoked|rescinded"
    r"|withdrawn)\b[^.;:]{0,60}:[^.]{0,160}\Z",
    re.IGNORECASE,
)
_SUBSTITUTES = re.compile(
    r",?\s(?:in\s[A-Z][^,]{2,30},\s)?for\s[\"“][^\"”]{1,80}[\"”],?\s(?:substitute|there\sshall)\b", re.IGNORECASE
)
_GIVES_EFFECT = re.compile(
    r"\b(?:giv(?:es?|ing)\s(?:full\s)?effect\sto|transpos(?:es?|ing))\s(?:the\s)?\Z", re.IGNORECASE
)
_LISTS = re.compile(
    r"\b(?:follow(?:ing|s)|listed|below)\b[^.\n]{0,80}\b(?:repealed|revoked|rescinded|withdrawn|cancelled)\b"
    r"|\b(?:rescinds?|revokes?|repeals?|withdraws?|cancels?|rescinding|withdrawing"
    r"|revoking)\b[^.\n]{0,80}\b(?:following|below|listed)\b|(?:Rescinded|Revoked|Withdrawn"
    r"|Repealed)[^.\n]{0,30}:?$",
    re.IGNORECASE,
)
_ENUMERATION = re.compile(r"^(?:[-•*–·]|\(?[a-z0-9]{1,3}[.)]|[A-Z]{2,}|\d)")


def find_english_named(document: DocumentText, start: int, end: int) -> list[NamedDocument]:
    """Return the documents that a span of the folded text names; a number and a title side by side are one."""
    text, original = document.folded[start:end], document.original[start:end]
    found: list[NamedDocument] = []
    spans: list[tuple[int, int]] = []
    for match in find_numbers(text):
        first, last = match.span()
        spans.append((first, last))
        written = normalize_english_number(original[first:last])
        found.append(NamedDocument(None, written, start + first, start + last))
    for match in _TITLE.finditer(text):
        name = "title" if match["title"] else "quoted" if match["quoted"] else "statement"
        first, last = match.span(name)
        if any(low < last and first < high for low, high in spans):
            continue
        title = " ".join(original[first:last].split())
        title = _TRAIL.sub("", title)
        while (shorter := _LEAD.sub("", title)) != title:
            title = shorter
        if len(title.split()) > 1 and not _WEAK.match(title) and not _BODY.match(title):
            found.append(NamedDocument(title, None, start + first, start + last))
    return _join(sorted(found, key=lambda named: named.start), document.folded)


def _join(found: Sequence[NamedDocument], text: str) -> list[NamedDocument]:
    """Join a number with the title beside it: AASB S4 Water Disclosures, “Title” (OCC Bulletin 2014-37)."""
    joined: list[NamedDocument] = []
    for named in found:
        last = joined[-1] if joined else None
        if last is not None and bool(last.title) != bool(named.title):
            between = text[last.end : named.start]
            if re.fullmatch(r"[\s,\"“”(–—-]{1,4}", between):
                joined[-1] = NamedDocument(
                    last.title or named.title, last.number or named.number, last.start, named.end
                )
                continue
        joined.append(named)
    return joined


_MAX_OPENING = 30


@dataclass(slots=True)
class _EnglishProgress:
    """Where in a document its sentences are read: at its opening, in a list of what is repealed."""

    is_opening: bool = True
    is_list: bool = False
    has_items: bool = False
    is_explained: bool = False


def iter_relations(
    document: DocumentText, sentences: Sequence[Sentence], stage: PolicyStage, own: str | None
) -> Iterator[Relation]:
    """Yield what the title and the sentences of a document say that it does to others."""
    titled = [relation for relation in _iter_by_title(document, stage) if not own or relation.number != own]
    yield from titled
    yield from _iter_laws_of_head(document, stage)
    progress = _EnglishProgress(is_explained=bool(titled))
    for place, sentence in enumerate(sentences):
        progress.is_opening = place < _MAX_OPENING
        is_item = bool(_ENUMERATION.match(sentence.text))
        progress.is_list = progress.is_list and (is_item or not progress.has_items)
        progress.has_items = progress.is_list and (is_item or progress.has_items)
        if _LISTS.search(sentence.text) and stage is PolicyStage.REPEAL:
            progress.is_list = True
        explained = progress.is_explained
        for named in find_english_named(document, sentence.start, sentence.end):
            if own and named.number and _is_number(own, named.number):
                continue
            kind = _classify(sentence, named, stage, progress)
            explained = explained or kind is RelationType.INTERPRETS
            if kind is not None:
                yield Relation(
                    type=kind,
                    number=named.number,
                    title=named.title,
                    passage=document.quote(sentence.start, sentence.end),
                )
        progress.is_explained = explained


_LAW_LINE = re.compile(
    r"(?P<law>[A-Z][A-Za-z'’&(),. -]{1,80}?\s(?:ACT|Act|ORDINANCE|Ordinance),?\s(?:19|20)\d\d)(?:\s\([^()]{3,40}\))?"
)
_MAX_HEAD_LINES = 8


def _iter_laws_of_head(document: DocumentText, stage: PolicyStage) -> Iterator[Relation]:
    """Yield the law under which an instrument is made, where it is a line of the head: BANKING ACT 1970."""
    if stage in (PolicyStage.QA, PolicyStage.INTERPRETATION, PolicyStage.DRAFT):
        return
    for line in document.lines[1:_MAX_HEAD_LINES]:
        law = _LAW_LINE.fullmatch(line.text)
        if law and law["law"].casefold() not in document.title.casefold():
            title = document.original[line.start : line.start + law.end("law")]
            yield Relation(
                type=RelationType.BASED_ON, number=None, title=title, passage=document.quote(line.start, line.end)
            )


def _iter_by_title(document: DocumentText, stage: PolicyStage) -> Iterator[Relation]:
    text = DocumentText("", document.original_title)
    for named in find_english_named(text, 0, len(text.folded)):
        ahead = text.folded[: named.start]
        kind: RelationType | None = None
        if stage in (PolicyStage.QA, PolicyStage.INTERPRETATION):
            kind = RelationType.INTERPRETS
        elif _AMEND.search(ahead):
            kind = RelationType.AMENDS
        elif _REPEAL.search(ahead):
            kind = RelationType.REPEALS
        elif _FOLLOWS.search(ahead) and named.number:
            kind = RelationType.BASED_ON
        elif _IMPLEMENT.search(ahead):
            kind = RelationType.IMPLEMENTS
        if kind is not None:
            yield Relation(type=kind, number=named.number, title=named.title, passage=document.original_title)


def _is_number(own: str, number: str) -> bool:
    """Whether a number is the document's own, be it without the words before it."""
    one, other = (re.sub(r"\W", "", name).casefold() for name in (own, number))
    return one.endswith(other) or other.endswith(one) or number in own.split()


def _classify(
    sentence: Sentence, named: NamedDocument, stage: PolicyStage, progress: _EnglishProgress
) -> RelationType | None:
    """Return what a sentence says that is done to a document, by the words ahead of its name and behind it."""
    text = sentence.text
    ahead, behind = text[: named.start - sentence.start][-180:], text[named.end - sentence.start :][:120]
    chain = _drop_names(ahead)
    repeal = _REPEAL.search(chain)
    if repeal and "replac" in repeal[0].lower():
        return RelationType.REPLACES
    if repeal or _REPEALED.match(behind) or _LISTED.search(ahead):
        return RelationType.REPEALS
    if _REPLACE.search(chain) or _REPLACED.match(behind):
        return RelationType.REPLACES
    if progress.is_list and _ENUMERATION.match(text):
        return RelationType.REPEALS
    if stage in (PolicyStage.QA, PolicyStage.INTERPRETATION):
        return RelationType.INTERPRETS if progress.is_opening and not progress.is_explained else None
    if stage is not PolicyStage.CONSULTATION and (
        _AMEND.search(chain) or _AMENDED.match(behind) or _SUBSTITUTES.match(behind)
    ):
        return RelationType.AMENDS
    return _classify_ground(chain, named, stage, progress)


def _classify_ground(
    chain: str, named: NamedDocument, stage: PolicyStage, progress: _EnglishProgress
) -> RelationType | None:
    """Return whether a document carries out another one, follows its consultation, or rests on a law."""
    if _GIVES_EFFECT.search(chain):
        return RelationType.IMPLEMENTS
    if _IMPLEMENT.search(chain):
        return RelationType.IMPLEMENTS if stage is PolicyStage.IMPLEMENTATION else RelationType.BASED_ON
    is_order = stage is PolicyStage.ENFORCEMENT
    is_consultation = bool(
        _CONSULTATION_NUMBER.match(named.number or "") or re.search("Consultation", named.title or "")
    )
    if is_consultation and stage is not PolicyStage.CONSULTATION and not is_order:
        return RelationType.BASED_ON
    is_followed = _FOLLOWS.search(chain) and (named.number or is_consultation)
    if is_followed and progress.is_opening and not is_order:
        return RelationType.BASED_ON
    is_law = named.title or _EU_LAW.search(named.number or "")
    is_ground = is_law and (_BASE.search(chain) or _UNDER.search(chain))
    return RelationType.BASED_ON if is_ground and (progress.is_opening or is_order) else None


def _drop_names(ahead: str) -> str:
    """Return the words ahead of a name without the other names of the same list."""
    dropped = ENGLISH_NUMBER.sub(_drop_number, _TITLE.sub("", ahead))
    return re.sub(r"(?:,?\s(?:and|or)\s(?:the\s)?|,\s(?:the\s)?)+\Z", " ", dropped.replace("  ", " "))


def _drop_number(found: re.Match[str]) -> str:
    return "" if is_number(found[0]) else found[0]
