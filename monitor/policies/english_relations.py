"""The rules by which English documents name others and say what they do to them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitor.document import Relation
from monitor.policies.document_text import DocumentText, Sentence
from monitor.policies.english_names import NamedGroup, find_english_named, group_named, is_same_title, strip_own_form
from monitor.policies.numbers import NamedDocument
from monitor.vocabulary import PolicyStage, RelationType

_PART = (
    r"(?:sub)?(?:section|article|regulation|paragraph|part|schedule|rule|annex|appendix|chapter|point|clause"
    r"|condition|table"
    r"|guide|volume|book|module|division|subpart|item|heading|title|recital|provision|requirement)s?"
)
_DOCUMENT_NOUN = (
    r"guidance(?:\snotes?)?|policy|policies|guidelines?|notices?|circulars?|statements?(?:\sof\spolicy)?|rules?"
    r"|regulations?"
    r"|documents?|papers?|letters?|instruments?|orders?|directions?|determinations?|standards?|codes?|notes?|advice"
    r"|versions?"
    r"|editions?|bulletins?|memorand(?:um|a)|publications?|drafts?|directives?|decisions?|announcements?|laws?|acts?"
    r"|releases?"
    r"|manuals?|handbooks?|advisor(?:y|ies)|opinions?|frameworks?"
)
_FILL = (
    r"(?:(?:the|our|its|their|his|her|all|any|both|previous|previously|issued|published|earlier|existing|current"
    r"|that|those|this"
    r"|an?|following|certain|in|to|full|entirely|part|parts|final|interim|joint|old|former|superseded|national|general"
    r"|of|made"
    r"|supervisory|(?:19|20)\d\d|(?-i:[A-Z]{2,8})|(?-i:[A-Z][a-z]+)\s\([a-z][^()]{3,40}\)|dated|set|out|forth"
    r"|contained|entitled|titled|called|named|known|as|MAS|Commission|Council|SEC|EBA|text"
    rf"|{_DOCUMENT_NOUN}|provisions|requirements|aspects|(?i:{_PART})\s[\w.()-]{{1,14}})[\s,:“\"(]+)*"
)
_NOUN_FILL = r"(?:the|our|its|all|that|those|certain)?\s?"
_REPEAL = re.compile(
    r"\b(?:repeal(?:s|ing|ed|\sof)?|revok(?:es?|ing|ed)|rescind(?:s|ing|ed)?|withdraw(?:s|ing|n|al(?:\sof|:))?|withdrew"
    r"|cancel(?:s"
    r"|l?ing|l?ed|lation\sof)?|annul(?:s|ling|led|ment\sof)?|rescission\sof|revocation\sof|abolish(?:es|ing)?"
    r"|abrogat(?:es?|ing)"
    r"|terminat(?:es?|ing)|retir(?:es?|ing)|discontinu(?:es?|ing)|set(?:s|ting)?\saside|abolition\sof"
    r"|termination\sof)\s"
    rf"(?P<replace>and\s(?:replac(?:es?|ing)|supersed(?:es?|ing))\s)?{_FILL}\Z",
    re.IGNORECASE,
)
_ADVERBS = (
    r"(?:hereby\s|also\s|now\s|therefore\s|accordingly\s|each\s|all\s|both\s|further\s|thereby\s|consequently\s)*"
)
_BE = rf"(?:is|are|be|been|stands?|shall\sstand|being)\s{_ADVERBS}"
_REPEALED = re.compile(
    rf"[^.;]{{0,110}}?\b(?:{_BE}(?:repealed|revoked|rescinded|withdrawn|cancell?ed|annulled|abolished|abrogated"
    rf"|terminated|retired"
    r"|of\sno\s(?:further\s)?(?:force|effect)|discontinued|declared\sobsolete)"
    r"|(?:shall\s|will\s|hereby\s)?(?:cease(?:s|d)?\s(?:to\s(?:have\s(?:any\s)?effect|apply|be\s(?:in\sforce"
    r"|effective|valid))"
    r"|being\sin\sforce)|lapse[sd]?\b|(?<=shall\s)expire\b)|no\slonger\s(?:have|has|in|appl(?:y|ies))\b)",
    re.IGNORECASE,
)
_REPLACE = re.compile(
    r"\b(?:replac(?:es?|ing|ement\sof|ement\sfor)|supersed(?:es?|ing)|takes?\sthe\splace\sof|taking\sthe\splace\sof"
    r"|in\s(?:place|lieu)\sof|instead\sof|substitut(?:es?|ing)\sfor|supplants?|successor\sto|consolidates?)\s"
    rf"(?:and\s(?:repeals?|supersedes?|replaces?|withdraws?|revokes?|cancels?|rescinds?)\s)?{_FILL}\Z",
    re.IGNORECASE,
)
_REPLACED = re.compile(
    rf"[^.;]{{0,110}}?\b{_BE}(?:replaced|superseded|supplanted|consolidated\sinto)\b"
    r"(?!\sby\s(?:the\s(?:following|text|word|figure)|[\"“]))",
    re.IGNORECASE,
)
_AMEND = re.compile(
    r"\b(?:amend(?:s|ing|ed|ments?\s(?:to|of))?|correct(?:s|ing|ions?\s(?:to|of))|modif(?:y|ies|ying"
    r"|ications?\s(?:to|of))"
    r"|var(?:y|ies|ying|iations?\s(?:to|of))|revis(?:es|ing|ed|ions?\s(?:to|of))|changes?\sto|updates?\sto"
    r"|corrigendum\sto"
    r"|addendum\sto|inserts?\s[^.;]{3,60}\sinto|extend(?:s|ing)?|extension\sof|adds?\s[^.;]{3,60}\sto|supplements?)\s"
    rf"{_FILL}\Z",
    re.IGNORECASE,
)
_AMENDED = re.compile(
    rf"[^.;]{{0,110}}?\b(?:is|are|shall\sbe|will\sbe|be)\s{_ADVERBS}(?:amended|corrected|modified|varied|revised"
    rf"|extended"
    r"|supplemented)\b(?!\sby\s(?:the|regulation|section)\s[A-Z])",
    re.IGNORECASE,
)
_OF_PART = re.compile(
    rf"\b{_PART}\s[\w.()-]{{1,14}}(?:\s(?:and|or|to)\s[\w.()-]{{1,14}})?\s(?:of|to|in)\s(?:the\s)?\Z", re.IGNORECASE
)
_PART_CHANGED = re.compile(
    rf"(?:,?\s(?:dated|of)\s[^,;.]{{3,30}})?,?\s(?:in\s|(?:for\s)?the\s(?:definition|words?|following|figure|entry"
    rf"|text|table)|after"
    rf"\s|(?i:{_PART})\s)[^.;]{{0,140}}?\b(?:is|are|shall\sbe)\s(?:replaced|deleted|amended|inserted|added"
    rf"|substituted|omitted"
    r"|repealed|revoked)\b"
    r"|,?\s(?:in\s[A-Z][^,]{2,30},\s)?for\s[\"“][^\"”]{1,80}[\"”],?\s(?:substitute|there\sshall)\b"
)
_NOT_DONE = re.compile(
    r"(?:\b(?:not|nor|never|neither|without|whether|if|plans?|intends?|expects?|considering|consult(?:s|ing)?|asked"
    r"|calls?|called"
    r"|would|could|might|may|proposal|propos(?:es?|ed|ing)|seeks?|request(?:s|ed)?|wants?|future|later)\b[^,.;:]{0,40}"
    r"|\b(?:which|who|that|had)\s(?:has\s|have\s|had\s|was\s|were\s)|\bhad\s)\Z",
    re.IGNORECASE,
)
_BASE = re.compile(
    r"\b(?:pursuant\sto|(?-i:Under)(?=\s(?:sub)?(?:section|article|regulation|paragraph|clause|rule|part)s?\s)"
    r"|by\svirtue\sof"
    r"|authori[sz]ed\sby|powers?\s(?:conferred|vested|given|granted)?[^.;]{0,40}\b(?:by|under|in)|in\sterms\sof"
    r"|acting\sunder"
    r"|in\s(?:the\s)?exercise\sof|having\sregard\sto|made\sunder|required\sby|mandated\sby|as\srequired\sby"
    r"|as\s(?:provided|directed)"
    r"\s(?:by|in|for\sin)|authority\s(?:of|in|under|contained\sin)|purposes\sof"
    r"|in\saccordance\swith\s(?:sub)?(?:section|article)s?"
    r"|(?:based\son|on\sthe\s(?:legal\s)?basis\sof)\s(?:article|section|paragraph|clause)s?|as\senvisaged\s(?:in|by)"
    r"|empowered\sby|provided\s(?:for\s)?(?:by"
    r"|in)\s(?:section|article))"
    r"\s?(?P<gap>(?:[^.;]|\.(?=\d)){0,110}?)\Z",
    re.IGNORECASE,
)
_UNDER = re.compile(
    r"\b(?:mak(?:es?|ing)|made|issu(?:es?|ed|ing)|exercis\w*|power|impos\w*|accept\w*|adopt\w*|present\w*|jurisdiction"
    r"|giv(?:es?|en|ing)\snotice|given|serv(?:es?|ed|ing)|prescrib\w*|h[eo]ld|conduct\w*|proposing|proposes"
    r"|notif(?:y|ies|ied)|decided"
    r"|order(?:s|ed)|promulgat\w*|(?-i:Notice|Direction|Determination)"
    r"|(?:finali[sz]|amend|revis|introduc|agree|settl|sanction|suspend|cancel|revok|renew|extend|consult|invit"
    r"|launch|investigat|conclud"
    r"|appoint|repeal)(?:e?s|e?d)?|approv\w*|grant\w*|determin\w*|direct\w*|authori[sz]\w*|publish\w*|enter\w*"
    r"|charg\w*|designat\w*|declar\w*)\b"
    r"(?:(?!\b(?:that|which|who|whose|registered|licensed|established|defined|incorporated)\b)[^.;]){0,140}?\bunder\s"
    r"(?:(?!\b(?:that|which|who)\b)[^.;]){0,60}\Z",
    re.IGNORECASE,
)
_FOLLOWS = re.compile(
    r"\b(?:follow(?:s|ing|ed)|feedback\s(?:to|on|received\son)|respon(?:ses?|ds?|ding)\sto"
    r"|respons\w*\s(?:received\s)?to"
    r"|proposals?\s(?:in|set\sout\sin|appeared\sin|published\sin|made\sin|contained\sin|from)|proposed\sin|set\sout\sin"
    r"|consult(?:ed|ation)\s(?:in|on|paper|through|by)|in\sresponse\sto|conclusions?\s(?:on|to)|outcome\sof"
    r"|exposed\s(?:as|in)"
    r"|published\s(?:as|in)|adopts?\sthe\sproposals?\s(?:in|of)|appeared\sin|issued\s(?:as|in)|gave\snotice\sin"
    r"|invited\sin"
    r"|after\sconsulting\son|based\son|finali[sz]es?|finali[sz]ing|builds?\son|conclud(?:es?|ing)|relates?\sto"
    r"|arising\sfrom"
    r"|in\s(?:our|its|the|a)|sought\sin|consulted)\s(?:the\s|our\s|an?\s|its\s|that\s|earlier\s|draft\s|proposal\s"
    r"|paper\s"
    r"|document\s|consultation\s(?:paper\s|document\s|report\s)?|exposure\sdraft\s|discussion\spaper\s"
    r"|proposals\sin\s|titled\s"
    r"|entitled\s|call\sfor\s(?:input|evidence|views)\s|comments\son\s|responses\sto\s|called\s"
    r"|from\s[A-Z][^.;]{3,50},\s|[,“\"(]{1,2})*\Z",
    re.IGNORECASE,
)
_IS_PROPOSAL_AHEAD = re.compile(
    r"\b(?:consultation|paper|proposals?|proposed|draft|consulted|call\sfor\s(?:input|evidence|views)"
    r"|exposure\sdraft|comment)\b[^.;]{0,30}\Z",
    re.IGNORECASE,
)
_PROPOSAL_NAMED = re.compile(
    r"\b(?:consultation(?:\s(?:paper|document))?|discussion\spaper|issues\spaper|green\spaper|exposure\sdraft"
    r"|call\sfor\s(?:input|evidence"
    r"|views)|proposals?|draft\s(?:guidance|guidelines|rules|decision|determination))(?:,?\s(?:on|entitled|called"
    r"|titled))?,?\s"
    r"(?:[“\"]|(?:issued|published|released)?[^.;()“\"]{0,50}\()\Z",
    re.IGNORECASE,
)
_IMPLEMENT = re.compile(
    r"\b(?:implement(?:s|ing|ation(?:\sin\s[A-Z]\w+)?\sof)?|transpos(?:es?|ing|ition\sof|e)|giv(?:es?"
    r"|ing)\s(?:full\s|further\s)?effect\sto|carr(?:y|ies|ying)\s(?:out|into\seffect)|appl(?:y|ies"
    r"|ying)\s(?:in\s[A-Z]\w+\s)|for\sthe\sapplication\sof|bring(?:s|ing)?\sinto\s(?:effect|operation)"
    r"|executi(?:on\sof|ng)"
    r"|detailed\srules\s(?:for|under)|enforc(?:es?|ing)\sthe\srequirements\sof"
    r"|in\sfurtherance\sof)\s(?:in\s[A-Z]\w+\s)?(?:the\s|certain\sprovisions\sof\s"
    r"|parts?\sof\s|requirements\sof\s|Commission\s|recommendations\sof\s)*(?P<gap>[^.;]{0,40}?)\Z",
    re.IGNORECASE,
)
_GIVES_EFFECT = re.compile(
    r"\b(?:giv(?:es?|ing)\s(?:full\s|further\s)?effect\sto|transpos(?:es?|ing))\s(?:the\s)?"
    rf"(?:(?:requirements|provisions|{_PART}\s[\w.()-]{{1,14}})\s(?:of|to|in)\s(?:the\s)?)?\Z",
    re.IGNORECASE,
)
_CONSULTATION_NUMBER = re.compile(
    r"^(?:CP|DP|ED|QCP|TD|PRM|ERC)\s?-?\d|.*[/-](?:CP|DP|PCP)[/-]|^P\d{3}-20|Consultation Paper|Discussion Paper"
    r"|Exposure Draft|^CRTC|^COM\(|^Notice of",
    re.IGNORECASE,
)
_CONSULTATION_TITLE = re.compile(
    r"[Cc]onsultation|[Cc]all for (?:[Ii]nput|[Ee]vidence|[Vv]iews)|[Dd]iscussion [Pp]aper|Exposure Draft|Green Paper"
)
_LAW_NUMBER = re.compile(
    r"\((?:EU|EC|EEC|CFSP)[^)]*\)|Directive|Regulation|\b(?:Act|Plan\sNo|Law|Ordinance|Decree|Executive Order"
    r"|Public Law"
    r"|Charter)\b|\d/E"
)
_LAW_TITLE = re.compile(
    r"\b(?:Acts?|Ordinance|Regulations?|Directive|Code|Law|Laws|Treaty|Charter|Constitution|Convention|Agreement"
    r"|Order|Rules?|Statute"
    r"|Proclamation|Decree|Instrument|Bylaws?|Byelaws|Handbook|Sourcebook|Standards?|Scheme|Decision|Guidelines?"
    r"|Policy|Framework"
    r"|Statement|Protocol|Directions?|Notice|Procedures?|Strategy|Plan|Programme|Program|Accord|Memorandum"
    r"|Determination)\b",
    re.IGNORECASE,
)
_LISTED = re.compile(
    r"\bfollowing\s(?:[a-z ]{3,60}\s)?(?:is|are|shall\sbe|will\sbe|stand)\s(?:hereby\s)?(?:repealed|revoked|rescinded"
    r"|withdrawn|cancell?ed|superseded|annulled|no\slonger\s(?:in\s(?:force|effect)"
    r"|valid))\b[^.;:]{0,80}:[^.]{0,200}\Z",
    re.IGNORECASE,
)
_DONE_AWAY = r"(?:repealed|revoked|rescinded|withdrawn|cancell?ed|superseded|annulled|obsolete)"
_LISTS = re.compile(
    rf"\b(?:follow(?:ing|s)|listed|below|named|set\sout|specified)\b[^.\n]{{0,90}}\b{_DONE_AWAY}\b"
    r"|\b(?:rescinds?|revokes?|repeals?|withdraws?|cancels?|rescinding|withdrawing|supersedes?|replaces?"
    r"|revoking)\b[^.\n]{0,80}\b(?:following|below|listed)\b|^(?:Documents?\s|Guidance\s"
    r"|Instruments?\s)?(?:Rescinded|Revoked"
    r"|Withdrawn|Repealed|Superseded|Cancell?ed)[^.\n]{0,30}:?$",
    re.IGNORECASE,
)
_LIST_HEADING = re.compile(
    r"(?:(?:Schedule|Annex|Appendix|Part|Table|SCHEDULE|ANNEX"
    r"|APPENDIX)\s?[A-Z0-9]{0,4}\s?[-–—:.]?\s?)?(?:(?:List\sof\s|Consequential\s)?"
    r"(?:Repeals?|Revocations?|Rescissions?|Withdrawals?|Cancellations?|REPEALS?|REVOCATIONS?|Repealed|Revoked"
    r"|Withdrawn|Superseded"
    r"|Cancelled|Rescinded)(?:\s(?:and\s)?[A-Za-z]{3,14}){0,3}):?"
)
_ENUMERATION = re.compile(r"^(?:[-•*–·]|\(?[a-z0-9]{1,3}[.)]|[A-Z]{2,}|\d)")
_EXPLAINS = re.compile(
    r"(?:\b(?:explain\w*|clarif\w*|interpret\w*|about|answers?|questions?|guidance|summari[sz]\w*|reads?|concern\w*"
    r"|regarding"
    r"|understand\w*|appl(?:y|ies)|on|under|of|legal\sact:|regulation:|instrument:)\b[^.;]{0,60})\Z",
    re.IGNORECASE,
)
_EXPLAINING = (PolicyStage.QA, PolicyStage.INTERPRETATION)
_PROPOSING = (PolicyStage.CONSULTATION, PolicyStage.PLAN)
_MAX_OPENING, _AHEAD_CHARS, _BEHIND_CHARS = 30, 220, 260


@dataclass(slots=True)
class _EnglishProgress:
    """Where in a document its sentences are read: at its opening, in a list of what is repealed."""

    is_opening: bool = True
    is_list: bool = False
    has_items: bool = False
    is_explained: bool = False

    def enter(self, place: int, sentence: Sentence) -> bool:
        """Go on to a sentence; return whether it is an item of a list of what is repealed."""
        self.is_opening = place < _MAX_OPENING
        is_heading = bool(_LIST_HEADING.fullmatch(sentence.text))
        is_item = self.is_list and not is_heading and _is_item(sentence)
        if self.is_list and self.has_items and not is_item:
            self.is_list = False
        self.has_items = is_item
        if is_heading or _LISTS.search(sentence.text):
            self.is_list, self.has_items = True, False
        return is_item


def _is_item(sentence: Sentence) -> bool:
    """Whether a sentence is one of a list: it has a bullet or a number, or is nothing but a name."""
    if _ENUMERATION.match(sentence.text):
        return True
    named = find_english_named(DocumentText("", sentence.text), 0, len(sentence.text))
    return sum(each.end - each.start for each in named) > _MIN_NAMED_SHARE * len(sentence.text)


_MIN_NAMED_SHARE = 0.7


def iter_relations(
    document: DocumentText, sentences: Sequence[Sentence], stage: PolicyStage, own: str | None
) -> Iterator[Relation]:
    """Yield what the title and the sentences of a document say that it does to others."""
    known = {
        named.title.casefold(): named.number
        for sentence in sentences[:_MAX_OPENING]
        for named in find_english_named(document, sentence.start, sentence.end)
        if named.title and named.number
    }
    for relation in _iter_relations(document, sentences, stage, own):
        number = known.get(relation.title.casefold()) if relation.title and not relation.number else None
        yield relation.model_copy(update={"number": number}) if number else relation


def _iter_relations(
    document: DocumentText, sentences: Sequence[Sentence], stage: PolicyStage, own: str | None
) -> Iterator[Relation]:
    titled = [
        relation
        for relation in _iter_by_title(document, stage)
        if not _is_own(document, own, NamedDocument(relation.title, relation.number, 0, 0))
    ]
    yield from titled
    if stage is not PolicyStage.PLAN:
        yield from _iter_laws_of_head(document, stage)
    if stage in _EXPLAINING and not titled:
        yield from _find_explained(document, sentences, own)
    progress = _EnglishProgress()
    for place, sentence in enumerate(sentences):
        is_item = progress.enter(place, sentence)
        found = find_english_named(document, sentence.start, sentence.end)
        for group in group_named(found, sentence.text, sentence.start):
            kind = _classify(sentence, group, stage, progress, is_item=is_item)
            for named in group.members if kind is not None else ():
                if not _is_own(document, own, named) and not _PROVISION.match(named.number or named.title or ""):
                    yield Relation(
                        type=kind,
                        number=named.number,
                        title=named.title,
                        passage=document.quote(sentence.start, sentence.end),
                    )


def _is_own(document: DocumentText, own: str | None, named: NamedDocument) -> bool:
    """Whether a name is the document's own: its number, be it without the words before it, or its title."""
    if named.title and is_same_title(named.title, document.original_title):
        return True
    if not own or not named.number:
        return False
    one, other = (re.sub(r"\W", "", name).casefold() for name in (own, named.number))
    return one.endswith(other) or other.endswith(one) or ("(" not in own and named.number in own.split())


_PROVISION = re.compile(r"(?:[A-Z][a-z]+\s){0,2}Condition\s|\d{1,3}\s[A-Z.]{3,8}\s")
_LAW_LINE = re.compile(
    r"\(?(?:(?:[Mm]ade|[Ii]ssued|MADE|ISSUED)?\s?[Uu](?:nder|NDER)\s)?(?:[Tt]he\s"
    r"|THE\s)?(?P<law>[A-Z][A-Za-z'’&(),. -]{1,80}?\s(?:ACT|Act|ORDINANCE"
    r"|Ordinance|CODE|LAW|Law),?\s(?:19|20)\d\d)(?:\s\([^()]{3,40}\))?\)?"
)
_MAX_HEAD_LINES = 10


def _iter_laws_of_head(document: DocumentText, stage: PolicyStage) -> Iterator[Relation]:
    """Yield the law under which an instrument is made, where it is a line of the head: BANKING ACT 1970."""
    if stage in (*_EXPLAINING, PolicyStage.DRAFT):
        return
    for line in document.lines[1:_MAX_HEAD_LINES]:
        law = _LAW_LINE.fullmatch(line.text)
        if law and law["law"].casefold() not in document.title.casefold():
            title = document.original[line.start + law.start("law") : line.start + law.end("law")]
            yield Relation(
                type=RelationType.BASED_ON, number=None, title=title, passage=document.quote(line.start, line.end)
            )


def _iter_by_title(document: DocumentText, stage: PolicyStage) -> Iterator[Relation]:
    text = DocumentText("", document.original_title)
    for named in find_english_named(text, 0, len(text.folded)):
        ahead = text.folded[: named.start]
        kind: RelationType | None = None
        title = named.title
        if stage in _EXPLAINING:
            title = strip_own_form(named.title) if named.title else None
            is_other = (title or named.number) and not (title and is_same_title(title, document.original_title))
            kind = RelationType.INTERPRETS if is_other else None
        elif stage in _PROPOSING:
            kind = None
        elif done := _classify_verb(ahead, text.folded[named.end :]):
            kind = done
        elif _FOLLOWS.search(ahead) and named.number:
            kind = RelationType.BASED_ON
        elif _IMPLEMENT.search(ahead):
            kind = RelationType.IMPLEMENTS
        if kind is not None:
            yield Relation(type=kind, number=named.number, title=title, passage=document.original_title)


def _find_explained(document: DocumentText, sentences: Sequence[Sentence], own: str | None) -> Iterator[Relation]:
    """Yield the document that an explanation names first, where its words say so; else the first that it names."""
    others: list[tuple[bool, int, NamedDocument, Sentence]] = []
    for place, sentence in enumerate(sentences[:_MAX_OPENING]):
        for named in find_english_named(document, sentence.start, sentence.end):
            title = strip_own_form(named.title) if named.title else None
            ahead = sentence.text[: named.start - sentence.start]
            is_gone = _REPLACE.search(ahead) or _REPEAL.search(ahead)
            if (title or named.number) and not is_gone and not _is_own(document, own, named):
                is_subject = bool(_EXPLAINS.search(ahead))
                if ahead.endswith(("“", '"')) and not is_subject:
                    continue
                stripped = NamedDocument(title, named.number, named.start, named.end)
                others.append((not is_subject, place, stripped, sentence))
    for _, _, named, sentence in sorted(others, key=lambda other: other[:2])[:1]:
        yield Relation(
            type=RelationType.INTERPRETS,
            number=named.number,
            title=named.title,
            passage=document.quote(sentence.start, sentence.end),
        )


def _classify(
    sentence: Sentence, group: NamedGroup, stage: PolicyStage, progress: _EnglishProgress, *, is_item: bool
) -> RelationType | None:
    """Return what a sentence says that is done to documents, by the words ahead of their names and behind them."""
    text = sentence.text
    ahead = text[: group.start - sentence.start][-_AHEAD_CHARS:]
    behind = _BRACKETED.sub("", text[group.end - sentence.start :][:_BEHIND_CHARS])
    done = None if stage in _EXPLAINING or stage in _PROPOSING else _classify_change(ahead, behind)
    if done is not None:
        return done
    if stage in _EXPLAINING:
        return None
    if is_item and stage not in _PROPOSING and group.start - sentence.start < _MAX_ITEM_LEAD:
        return RelationType.REPEALS
    return _classify_ground(ahead, group, stage, progress)


_MAX_ITEM_LEAD = 60


def _classify_verb(ahead: str, behind: str) -> RelationType | None:
    """Return what the verb ahead of a name does to it: repeals the Rules, a notice amending section 2 of the Rules."""
    for pattern, kind in (
        (_REPEAL, RelationType.REPEALS),
        (_REPLACE, RelationType.REPLACES),
        (_AMEND, RelationType.AMENDS),
    ):
        found = pattern.search(ahead)
        is_past = (
            found and _PAST.match(found[0]) and (_OF_OTHER.search(ahead[: found.start()]) or _YEARS_AGO.match(behind))
        )
        if found and not is_past and not _NOT_DONE.search(ahead[: found.start()]):
            if _OF_PART.search(ahead) and pattern is _REPLACE:
                return RelationType.AMENDS
            return RelationType.REPLACES if pattern is _REPEAL and found["replace"] else kind
    return None


def _classify_change(ahead: str, behind: str) -> RelationType | None:
    """Return what a sentence does to the documents named between two pieces of it: repeal, replace or amend them."""
    if done := _classify_verb(ahead, behind):
        return done
    is_of_part = _OF_PART.search(ahead)
    if _LISTED.search(ahead):
        return RelationType.REPEALS
    if _PART_CHANGED.match(behind) or (is_of_part and _SUBSTITUTED.match(behind)):
        return RelationType.AMENDS
    if _MADE_UNDER.search(ahead):
        return None
    for pattern, kind in (
        (_REPEALED, RelationType.REPEALS),
        (_REPLACED, RelationType.REPLACES),
        (_AMENDED, RelationType.AMENDS),
    ):
        found = pattern.match(behind)
        if found and not _OTHER_SUBJECT.search(found[0]):
            return RelationType.AMENDS if is_of_part and kind is RelationType.REPLACES else kind
    return None


_PAST = re.compile(r"\w+ed\s|withdrew\s", re.IGNORECASE)
_YEARS_AGO = re.compile(r"\s(?:back\s)?in\s(?:[A-Z][a-z]{2,8}\s)?(?:19|20)\d\d\b")
_MADE_UNDER = re.compile(
    r"\b(?:under|pursuant\sto|by\svirtue\sof|by)\s(?:[^.;,]{1,40}\s(?:of|to)\s)?(?:the\s)?\Z", re.IGNORECASE
)
_SUBSTITUTED = re.compile(r"[^.;]{0,90}?[\s,](?:substitute|insert|omit|delete|add|leave\sout)\b")
_OF_OTHER = re.compile(r"\b(?:which|who|that|it|the|an?|as|each|any|newly|recently|so)\s\Z", re.IGNORECASE)
_BRACKETED = re.compile(r"\s?\([^()]{1,90}\)")
_OTHER_SUBJECT = re.compile(
    r"\b(?:not|until|when|where|if|unless|before|after|which|that\s(?:is|are)\snot|propos\w*|would|may\sbe|under"
    r"|pursuant|this|these"
    r"|condition|exemption|licen[cs]e|permit|approval|authori[sz]ation|registration|penalty|application|fees?|offer"
    r"|order\swas)\b",
    re.IGNORECASE,
)


def _classify_ground(
    ahead: str, group: NamedGroup, stage: PolicyStage, progress: _EnglishProgress
) -> RelationType | None:
    """Return whether a document carries out another one, follows its consultation, or rests on a law."""
    named = group.members[0]
    if stage is PolicyStage.PLAN:
        return None
    if _GIVES_EFFECT.search(ahead):
        return RelationType.IMPLEMENTS
    if progress.is_opening and (found := _IMPLEMENT.search(ahead)) and not _NOT_DONE.search(ahead[: found.start()]):
        return RelationType.IMPLEMENTS if stage is PolicyStage.IMPLEMENTATION else RelationType.BASED_ON
    is_order = stage is PolicyStage.ENFORCEMENT
    is_consultation = bool(
        _CONSULTATION_NUMBER.match(named.number or "") or _CONSULTATION_TITLE.search(named.title or "")
    )
    if is_consultation and stage is not PolicyStage.CONSULTATION and not is_order:
        return RelationType.BASED_ON
    if _PROPOSAL_NAMED.search(ahead) and stage is not PolicyStage.CONSULTATION and progress.is_opening and not is_order:
        return RelationType.BASED_ON
    is_proposal = named.number or is_consultation or _IS_PROPOSAL_AHEAD.search(ahead)
    if is_proposal and progress.is_opening and not is_order and _FOLLOWS.search(ahead):
        return RelationType.BASED_ON
    is_law = _LAW_TITLE.search(named.title or "") or _LAW_NUMBER.search(named.number or "")
    is_ground = is_law and (_BASE.search(ahead) or _UNDER.search(ahead))
    return RelationType.BASED_ON if is_ground and (progress.is_opening or is_order) else None
