"""Tells where an English document stands in the life of its policy: its title, its action line, its first words."""

import re

from monitor.policies.document_text import DocumentText
from monitor.policies.english_stage_titles import ENGLISH_SIGNS, GUIDANCE
from monitor.policies.title_signs import match_any
from monitor.vocabulary import PolicyStage

_HEAD_CHARS, _FIRST_CHARS, _OPENING_CHARS = 1_500, 600, 420
_I = re.IGNORECASE
_BILL = match_any(
    r"\bBill(?:,? 20\d\d)?$",
    r"^(?:H\. ?R\.|S\.|Bill [A-Z]{1,2}-) ?\d",
    r"\bBill\b.{0,12}\bexplanatory (?:memorandum|notes?)",
    r"\bBill\b(?! of\b).{0,30}\b(?:introduced|reading|reported|tabled|committee stage|passed by)",
)
_BILL_BODY = re.compile(r"^(?:A BILL|introduced the following bill\b)|\bBE IT ENACTED\b", re.MULTILINE)
_OPENINGS: tuple[tuple[PolicyStage | None, re.Pattern[str]], ...] = (
    (
        PolicyStage.FINAL,
        match_any(
            r"\bHAS ADOPTED\b|\b(?:we have|has|have) decided to (?:impose|introduce|proceed|make|require|adopt)",
            r"\b(?:regulations?|rules?|standard|order) (?:has|have) (?:now )?been made\b|\bby variation order\b",
        ),
    ),
    (
        None,
        match_any(
            r"^(?:remarks (?:of|by)|good (?:morning|afternoon|evening)|thank you|ladies and gentlemen|friends,"
            r"|it is (?:a|my|so) )",
            r"\bseasonally adjusted\b|\bmedia advisory\b|\bour annual report\b|\bclosing date for applications\b",
            r"\bsalary range\b|\bwill begin trading\b|\bexclusive (?:patent )?licen[cs]e\b|\bwinners will be\b",
        ),
    ),
    (
        PolicyStage.QA,
        match_any(
            r"(?:^|\n)\s*\W?(?:Q(?:uestion)?\s?\d*\s?[.:)]|Q\d)",
            r"(?:\b(?:what|how|can|do|does|is|are|am|who|whom|when|which|may|must|will|should|where"
            r"|why)\b[^?.\n]{3,110}\?\s?){2}",
            r"\bAnswer:",
            r"\bmost common questions\b",
        ),
    ),
    (
        PolicyStage.CONSULTATION,
        match_any(
            r"\bwould like to hear\b|\b(?:complete|take) (?:the|our) survey\b|\bwritten representations\b",
            r"\b(?:invit|seek|welcom|request|gather|ask)(?:es|ed|ing|s)?\b(?: for)?[^.\n]{0,50}\b(?:comments?|views"
            r"|feedback|responses?|submissions?|opinions?)\b",
            r"\b(?:views|comments?|responses?|submissions?|feedback) (?:may|should|must|can|are"
            r"|is)\b[^.\n]{0,80}\b(?:sent|submitted|received|made|delivered|in writing|welcome|invited|due|by"
            r"|before)\b",
            r"\bcomments due\b|\bopen for comments?\b|\brespond by\b|\bfeedback period\b",
        ),
    ),
    (
        PolicyStage.ENFORCEMENT,
        match_any(
            r"\b(?:will|agreed to|must|ordered to|to) pay\b[^.\n]{0,50}[$£€₹¥]",
            r"\b(?:fined|penalty of|(?<!liable to a )(?<!maximum )(?<!on conviction to a )fine of|imposed a"
            r"|civil penalty|monetary penalty|fines totalling)\b",
            r"\brespondent\b|\bsuspended (?:the|its|his|her) (?:licen[cs]e|registration|service approval)",
            r"\bsentenced\b|\bconvicted\b|\brestrained from\b|\bcourt.s order\b|\bare being recalled\b",
            r"\bDecision: Upheld\b|\bapparent violations\b|\bpleaded guilty\b|\b(?:contravened|breached)\b",
            r"\bcourt (?:heard|found)\b|\bunlicensed\b[^.\n]{0,60}\b(?:found|ordered|closed)|\bconsents to\b",
            r"\bwas prohibited from\b",
        ),
    ),
    (
        PolicyStage.INTERPRETATION,
        match_any(
            r"\b(?:is|are) not legally binding\b|\b(?:isn.t|is not|does not constitute) legal advice\b",
            r"\bno legal (?:standing|force|effect)\b|\b(?:not be|may not be) (?:used or )?cited\b",
            r"\bauthoritative interpretation\b",
            r"\b(?:does|do) not (?:create|impose|introduce|add|amend|replace)\b[^.\n]{0,40}\b(?:requirements?"
            r"|obligations?|dut(?:y|ies)|rules?|code|law)",
            r"\bexplains how [^.\n]{0,60}\b(?:reads?|interprets?|appl(?:y|ies)|works?)\b",
            r"\b(?:this|the) (?:letter|note|notice|statement|bulletin|circular|document|guide|paper|advisory|page"
            r"|ruling|sheet|guidance)\b[^.\n]{0,20}\b(?:explains(?! our reasons)|describes how|responds to your"
            r"|walks you|summari[sz]es|clarifies|illustrates|offers (?:\w+ )?guidance|(?:provides|gives"
            r"|sets out) (?:\w+ )?guidance)",
            r"\bresponds to your request\b|\bcommission's reading\b|\bin plain words\b|\bcreates? no new\b",
            r"\bit is clarified\b|\bhow we read\b",
        ),
    ),
    (
        PolicyStage.REPEAL,
        match_any(
            r"^[^\n]{0,160}\b(?:hereby (?:revoked|repealed|rescinded|revokes|repeals|rescinds|cancelled)|nullif(?:y"
            r"|ies)|(?:is|are|was|were|has been|have been) (?:revoked|repealed|rescinded|withdrawn|cancelled"
            r"|archived)|no longer (?:appl(?:y|ies)|ha(?:s|ve) effect|in force|be relied)|shall have no force)\b"
        ),
    ),
    (
        PolicyStage.AMENDMENT,
        match_any(
            r"\b(?:further )?to amend\b|\bhas been (?:varied|altered|amended)\b|\b(?:is|are) amended\b|\bamends\b",
            r"\bhas (?:today )?varied\b",
            r"\b(?:hereby )?extends? (?:by \w+|the (?:due date|deadline|relief|period|transition|time))",
            r"\bshould read\b",
            r"\bin (?:section|regulation|article|annex|rule|schedule|paragraph)[^.\n]{1,40}\b(?:omit|substitute"
            r"|insert|replace|is replaced|are replaced)",
        ),
    ),
    (
        PolicyStage.PILOT,
        match_any(
            r"\bpilot notice\b|\bthe (?:pilot|trial|sandbox) (?:starts|runs|begins|will (?:start|run|begin))\b",
            r"\b(?:one-year|twelve-month|six-month|\w+-month) (?:pilot|trial)\b",
            r"\b(?:time-limited|controlled|live) testing\b",
            r"\b(?:pilot|trial|sandbox)\b[^\n]{0,250}\b(?:pilot|trial|sandbox|participants?|cohort)\b|\bpathfinder\b",
            r"\bto take part in (?:the|a) (?:pilot|trial)|\bin the (?:pilot|sandbox|trial)\b",
        ),
    ),
    (
        PolicyStage.IMPLEMENTATION,
        match_any(
            r"\bgives? (?:further|full|legal) effect to\b|\bin line with (?:the )?federal\b|\bperform tasks under\b",
            r"\b(?:surveillance|competent) authorit\w+ (?:for|under)\b|\bso that the agreement\b|\bto satisfy the\b",
            r"\binto domestic (?:use|law)\b|\blocal rules that\b",
            r"\bannounced (?:in|by) the\b[^.\n]{0,60}\b(?:budget|chancellor)\b",
            r"\bto deliver the\b|\btells (?:offices|councils|colleges|trusts|agencies|schools|officers)\b",
            r"\b(?:officers|formations|operators in \w+) (?:are to|shall|will) (?:apply|process|follow)\b",
            r"\b(?:give|gives|giving|gave) (?:local )?effect to\b(?! (?:this|these|section|article|that|it"
            r"|the memorandum))",
            r"\bto implement\b(?! (?:this|these))|\bin execution of\b|\bfor the application of\b",
            r"\bcarry\b[^.\n]{0,60}\binto\b",
            r"\b(?:put|puts|putting|brings?|bringing)\b[^.\n]{0,60}\binto (?:practice|operation|local)\b",
            r"\btranspos(?:es?|ing)\b|\bin continuation of\b|\bexecute the\b",
            r"\bwill (?:apply|administer)\b[^.\n]{0,60}\bas set out\b|\badminister the\b",
            r"\boperationali[sz]\w+",
            r"\bsets? out how\b[^.\n]{0,80}\b(?:will|must|should|are to|shall)\b[^.\n]{0,40}\b(?:apply|administer"
            r"|carry|operate|deliver|implement|use|run|handle)\b",
            r"\binstructs\b|\bdirects? (?:regional|field|local|state|all|district)\b",
            r"\b(?:to (?:meet|comply with|discharge|fulfil|carry out)|as required by|for the purposes of|(?:adopt"
            r"|incorporat)\w* by reference)\b[^.\n]{0,80}(?:\bRegulation \(E|\bDirective\b|\bfederal\b"
            r"|\bConvention\b|\btreaty\b)",
            r"\b(?:further|pursuant) to the\b[^.\n]{0,60}\b(?:order|announcement|resolution|national act"
            r"|policy note)\b",
            r"\bfollowing the\b[^.\n]{0,40}\bissued by\b|\bprovince.s part\b|\bunder the federal\b",
            r"\b(?:meets|fulfil(?:s|ling)) the federal\b|\brules? by which \w+ (?:meets|implements)",
            r"\bis directed to refer\b",
            r"(?<!member )\b(?:trusts|schools|councils|local authorities|agencies|(?:field|district"
            r"|regional) offices?|states|counties|municipalities|colleges|universities|boards|administrators"
            r"|police forces) (?:\w+ )?(?:are|must|should|shall|will) (?:now )?(?:to|required|asked|told|directed"
            r"|begin|carry|apply|follow|put)\b",
            r"\b(?:local|national|state|provincial|county|municipal) (?:rules|measures|arrangements|procedures?"
            r"|ordinance|decree|instructions)\b[^.\n]{0,80}\b(?:Regulation|Directive|Act|federal|law)\b",
            r"\bcarry out locally\b",
        ),
    ),
    (
        PolicyStage.PLAN,
        match_any(
            r"\bexpects? to (?:propose|publish|issue|consult|make)\b|\bwill be introduced in this session\b",
            r"\bwork for next year\b|\bplanned outputs\b",
            r"\bintends? to (?:make|issue|publish|begin|amend|propose|consult)\b",
            r"\brulemakings? (?:it|he|she|they) (?:intends?|aims?|plans?)|\btentative timetable\b|\bquarter [1-4]:",
            r"\bQ[1-4]\)|\bstage [1-4],|\bplanned (?:for|regulatory)\b|\bfiles for adoption\b",
            r"\b(?:over|in) the next (?:two|twelve|\d+) (?:quarters|months)",
        ),
    ),
    (
        PolicyStage.DRAFT,
        match_any(
            r"\bprovisional text\b|\bdiscussion draft\b|\bwill be (?:placed|laid|put) (?:before|to)\b",
            r"\bnot yet (?:been )?(?:introduced|adopted|in force)|\bas introduced\b|\bread (?:the|a) first time\b",
            r"\bvoted in plenary\b|\bgoes to plenary\b|\bdraft was laid\b",
        ),
    ),
)
"""What the first words show of a document whose title does not name its stage."""

_NEWS = match_any(
    r"\bmeets?\b|\bmeeting\b|\bstatistics\b",
    r"\bdata\b(?! (?:protection|security|rules?|regulations?|standards?|privacy|act|sharing|cent|vendors?|access)|-)",
    r"\bfigures\b|\bindex\b(?! options)|\bsurvey\b|\bquarterly\b|\bmonthly\b|\bwelcom",
    r"(?<!policy )\bstatement (?:by|from|on)\b|\bevent\b|\bhearing\b|\bnamed\b",
    r"\bnew (?:chair|chief|head|director|commissioner)|\boutlook\b|\breport (?:on|shows|finds)|\bstudy\b",
    r"\bresearch\b|\bminutes\b|\bcongratulat|\brise[sn]?\b|\bfell\b|\bfalls?\b|\bgrew\b|\bprofile\b",
    r"\butili[sz]ation\b|\bbackground note\b|\bper ?cent\b|\b\d+%|\bretire|\bspring|\bupdate on\b|\bwrangles\b",
    r"\bcelebrat|\bspeech\b|\bremarks\b|\bvisits?\b|\bnewsletter\b|\bblog\b|\bpublishes [A-Z]\w+ \w+ 20\d\d$",
)
_FINAL = match_any(
    r"\bnational emergency\b",
    r"\banti-(?:dumping|subsidy)\b|\bsafeguard investigation|\bnotification no\.",
    r"\bletter to \w+ (?:trustees|boards|ceos)|\bstatement of (?:supervisory|policy)|\brecommendations? for\b",
    r"\bfee rates\b|\b(?:increase in|schedule of) fees\b|\bpayment policies\b",
    r"\bban on\b.{0,40}\b(?:starts|begins)|\bthresholds?\b.{0,30}\bset\b|\breserve ratio\b",
    r"\bfinal (?:rules?|regulations?|guidelines?|guidance|order|decision|determination|standards?|report|policy"
    r"|text)\b",
    r"\bpolicy statement\b|\bPS\d\d/\d+|\bregulations?\b|\brules?\b|\bdirectives?\b|\bdirections?\b|\bact\b",
    r"\bordinance\b|\border\b|\bguidelines?\b|\bcircular\b|\bnotice\b|\bstandards?\b",
    r"\bcode of (?:practice|conduct)|\bdetermination\b|\bdecision\b|\binstrument\b|\bpolicy\b|\bstrategy\b",
    r"\bwhite paper\b|\bframework\b|\brequirements?\b|\bconsultation (?:conclusions?|response|outcome)",
    r"\bresponse to (?:the )?consultation|\bscheme\b|\bplan\b|\bby-?law|\bexecutive order|\blicen[cs]e conditions?",
    r"\badopt(?:s|ed|ion)\b|\bapproves?\b|\bissues?\b|\bguidance\b|\bpublishes\b|\bsupervisory (?:statement|letter)",
    r"\bSS\d+/\d\d|\btariff|\brelief\b|\bwaiver\b|\bexempt(?:s|ion)\b|\bproclamation\b|\bmanual\b",
    r"\brecommendation \(|\bnow applicable\b|\bin(?:to)? (?:force|effect)\b|\btakes effect\b|\bclosure of\b|\bgazett",
    r"\bfinali[sz]ed as\b|\b(?:dear|letter to) (?:ceo|industry|firms|trustees|banks|insurers)|\bno-action\b",
    r"\bposition statement\b|\blevel (?:for|from)\b|\bcompliance dates?\b",
    r"\b(?:interim|safeguard|emergency) measures\b|\bset at\b",
    r"\b(?:code|list|charges|fees|rates|rules|limits)\b.{0,40}\b(?:published|confirmed|announced)$",
    r"\b(?:fund|grants?|subsid(?:y|ies))\b.{0,60}\b(?:round|open|applications?|closing)",
    r"\bcall for (?:applications|proposals|tenders)|\binvit(?:es|ing) applications",
)
_BINDING = match_any(
    r"\bfinal rules?\b|\bcomes? into force\b|\b(?:is|are|will be|takes?) effect(?:ive)?\b",
    r"\bhereby (?:makes?|issues?|adopts?|directs?|orders?|amend)|\bmade (?:under|in exercise)",
    r"\bin (?:the )?exercise of (?:the|its) powers|\bpolicy statement\b|\bHAS ADOPTED|\bmakes\b[^.\n]{3,90}\bunder\b",
    r"\bshall enter into force",
    r"\bthis (?:standard|regulation|order|rule|instrument|notice|circular|direction) applies",
    r"\bhas (?:today )?(?:issued|published|adopted|made|approved) (?:the |its |new |final |a )|^effective\b",
    r"\bapplicable (?:to|from)\b|\bshould follow it\b|\btakes effect\b|\bapplies to all\b",
    r"\bfrom (?:today|\w+ \d{1,2}|\d{1,2} \w+)\b[^.\n]{0,80}\b(?:will be|must|need|offence)\b",
    r"\b(?:businesses|firms|companies|employers|operators|traders) must\b|\bcommences on\b",
    r"\bguidelines issued under\b",
)
_OFFENCE = match_any(
    r"\b(?:fine[sd]?|penalt(?:y|ies)|prosecut\w+|convict\w+|offen[cs]es?|guilty|infringements?|violat(?:ed|ions?)"
    r"|misconduct|defraud\w*|misled|recall(?:ed)?|seized|raided|found that|failed|breach(?:ed|es)?|suspended|ordered"
    r"|assessed|disqualified|struck off|banned)\b"
)
"""What shows a case against a firm where neither the title nor the form speaks of a rule."""
_APPLIES = match_any(
    r"\btakes effect\b|\bin(?:to)? (?:force|effect)\b|\bapplicable\b|\b(?:expected|required) to follow\b",
    r"\bissu(?:ing|es) this guidance\b|\bfinal guidance\b|\badopted\b|\bapplies (?:to|from)\b|\bit replaces\b",
    r"\bmust comply\b",
)
"""What shows that guidance binds or was issued to be followed, and does not only explain."""
ENGLISH_ASKS = match_any(
    r"\b(?:comments?|responses?|views|feedback|submissions?|representations?|remarks)\b[^.\n]{0,80}\b(?:must|should"
    r"|may"
    r"|can|are|is|by|within|before|until|no later than|on or before|due|invited|welcome)\b|\b(?:invit|seek|welcom"
    r"|request)(?:es|ed|ing|s)?\b[^.\n]{0,60}\b(?:comments?|views|feedback|responses?|submissions?)\b"
    r"|\bcomment period\b|\bconsultation (?:closes|ends|period|is open|runs)|\bplease (?:send|respond|submit)"
    r"|\bfeedback (?:open|period)|\bcalls? for comments|\bhear your views|\blet us (?:know|have) (?:your|what)"
)
_DRAFT_BODY = match_any(
    r"\b(?:proposed rule|ACTION: Proposed|notice of proposed rulemaking|consultation paper|discussion paper"
    r"|request for comments?|call for (?:evidence|input)|we (?:are )?(?:propos|consult)|we are seeking"
    r"|proposes? to|this consultation)\b"
)
_ACTIONS: tuple[tuple[PolicyStage, re.Pattern[str]], ...] = (
    (PolicyStage.REPEAL, match_any(r"\b(?:withdrawal|rescission|removal|repeal|revocation)\b")),
    (
        PolicyStage.AMENDMENT,
        match_any(
            r"\b(?:delay|correct(?:ion|ing)|technical amendments?|correcting amendments?|partial stay|rehearing"
            r"|amendment of final)\b"
        ),
    ),
    (
        PolicyStage.CONSULTATION,
        match_any(
            r"^(?!.*\b(?:final|temporary|direct)\b).*\b(?:proposed|comments?(?: period)?|petition|advance notice)\b"
        ),
    ),
    (PolicyStage.FINAL, match_any(r"\b(?:final|temporary|emergency)\b.{0,20}\b(?:rules?|orders?|determination)\b")),
)
"""What the line ACTION: of the Federal Register says that a document does."""
_ACTION = re.compile(r"^ACTION:\s?(?P<value>[^\n]{3,160})", re.MULTILINE)
_SUBTITLE = match_any(r"^(?:amending|extending|correcting|repealing|implementing|supplementing)\b")
_HEAD_LINES = 10
_FORMS = re.compile(
    r"^(?:general licen[cs]e|regulatory position statement|supervisory statement|policy statement|statement of"
    r" policy|public notice|industry letter|dear (?:ceo|chair|cfo|cro)|guideline|circular|directive|ordinance"
    r"|proclamation|no-action|exemptive relief|funding opportunity|competition (?:closes|opens)"
    r"|emergency rules?|code of practice)\b"
    r"|\b(?:window for (?:requests|applications|bids)|applications? (?:close|open|must|should|are (?:open|invited))"
    r"|apply by|submission deadline for|deadline for (?:applications|proposals|bids))\b",
    _I | re.MULTILINE,
)
"""Words of a head that show that a document was issued where its title does not say so."""
_VIEWS = match_any(
    r"\b(?:sound|good|better) practices?\b.{0,200}\b(?:observed|identified|share|expect|illustrate)"
    r"|\bissued as guidance\b|\bgives our view\b"
)
_MIN_NORMS = 2
_QUOTED = re.compile(r"[“\"][^“”\"\n]{1,300}[”\"]")
_NORMS = match_any(r"\b(?:must|shall|may not|(?:is|are) required to|(?:is|are) (?:revoked|repealed|prohibited))\b")


def read_english_stage(document: DocumentText) -> PolicyStage | None:
    title, head = document.title, document.folded[:_HEAD_CHARS]
    if _BILL.search(title) or _BILL_BODY.search(head):
        return PolicyStage.DRAFT
    if acted := _read_action(document):
        return acted
    sign = next((sign for sign in ENGLISH_SIGNS if sign.shows(title, title)), None)
    stage = sign.stage if sign else None
    is_open = sign is None or stage in (PolicyStage.DRAFT, PolicyStage.AMENDMENT)
    if is_open and _is_proposal(title, head[:_FIRST_CHARS], stage) and _asks(document):
        return PolicyStage.CONSULTATION
    if stage is PolicyStage.IMPLEMENTATION and _is_amending(document):
        return PolicyStage.AMENDMENT
    pilots = next(words for stage, words in _OPENINGS if stage is PolicyStage.PILOT)
    if stage is PolicyStage.INTERPRETATION and pilots.search(head[:_OPENING_CHARS]):
        return PolicyStage.PILOT
    if sign is GUIDANCE:
        return _read_guidance(document)
    return _read_opening(document, head) if sign is None else stage


def _asks(document: DocumentText) -> bool:
    return bool(ENGLISH_ASKS.search(document.folded, 0, 4 * _HEAD_CHARS))


def _is_proposal(title: str, first: str, stage: PolicyStage | None) -> bool:
    """Whether a document may be out for comment by its title's stage and its first words."""
    if stage is None:
        is_final = re.search(r"\bfinal rule\b|\bpolicy statement\b", first, _I)
        return bool(_DRAFT_BODY.search(first)) and not is_final
    if stage is PolicyStage.DRAFT:
        return not re.search(r"\bexposure draft\b|^proposal for a\b", title, _I)
    return bool(re.search(r"\bproposed\b|\bconsult", title + first, _I))


def _read_guidance(document: DocumentText) -> PolicyStage:
    explains = next(words for stage, words in _OPENINGS if stage is PolicyStage.INTERPRETATION)
    first = document.folded[:_FIRST_CHARS]
    is_applied = _APPLIES.search(f"{document.title}\n{first}") and not explains.search(first)
    return PolicyStage.FINAL if is_applied else PolicyStage.INTERPRETATION


def _read_opening(document: DocumentText, head: str) -> PolicyStage | None:
    """Return the stage of a document whose title names none, by its first words, its form and its duties."""
    if _is_amending(document):
        return PolicyStage.AMENDMENT
    opening = head[:_OPENING_CHARS]
    if found := next(((stage,) for stage, words in _OPENINGS if words.search(opening)), None):
        return found[0]
    if not _FINAL.search(document.title) and len(_OFFENCE.findall(opening)) >= _MIN_NORMS:
        return PolicyStage.ENFORCEMENT
    is_final = bool(_FINAL.search(document.title) or _BINDING.search(head))
    if _NEWS.search(document.title) and not re.search(
        r"\bfinal\b.{0,30}\brules?\b|\bregulations? (?:20\d\d|\()|\bguidelines\b|\bcircular\b", document.title, _I
    ):
        return None
    if _VIEWS.search(head):
        return PolicyStage.INTERPRETATION
    if _FORMS.search(head):
        return PolicyStage.FINAL
    is_binding = is_final or len(_NORMS.findall(_QUOTED.sub("", head))) >= _MIN_NORMS
    return PolicyStage.FINAL if is_binding else None


def _is_amending(document: DocumentText) -> bool:
    """Whether a line below the title says that it amends another one: amending Regulation (EU) 2019/1793."""
    return any(_SUBTITLE.match(line.text) for line in document.lines[:_HEAD_LINES])


def _read_action(document: DocumentText) -> PolicyStage | None:
    """Return the stage that the line ACTION: names; one that only says Final rule leaves an amendment to the title."""
    action = _ACTION.search(document.folded, 0, 4 * _HEAD_CHARS)
    stage = next((stage for stage, words in _ACTIONS if words.search(action["value"])), None) if action else None
    if stage is PolicyStage.FINAL:
        named = next((sign.stage for sign in ENGLISH_SIGNS if sign.shows(document.title, document.title)), None)
        return named if named in (PolicyStage.AMENDMENT, PolicyStage.REPEAL) else stage
    return stage
