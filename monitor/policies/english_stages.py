"""Tells where an English document stands in the life of its policy: its title, its action line, its form."""

import re

from monitor.policies.document_text import DocumentText
from monitor.vocabulary import PolicyStage

_HEAD_CHARS, _FIRST_CHARS = 1_500, 600
_I = re.IGNORECASE
_EN_TITLES: tuple[tuple[PolicyStage | None, re.Pattern[str]], ...] = (
    (
        PolicyStage.INTERPRETATION,
        re.compile(r"^guidance (?:for|to|note for)\b(?!.{0,80}\b(?:consultation|comment)$)", _I),
    ),
    (
        PolicyStage.FINAL,
        re.compile(
            r"\(commencement\b[^)]*\) (?:notice|order|proclamation|regulations)\b"
            r"|\bresponses? to (?:the )?(?:feedback|submissions|comments)\b|^statement:",
            _I,
        ),
    ),
    (
        PolicyStage.QA,
        re.compile(
            r"\bQ ?& ?As?\b|\bquestions and answers\b|\bfrequently asked questions\b|\bFAQs?\b"
            r"|\bquestions answered\b|\bpublish(?:es|ed) answers\b|\byour questions\b|\banswers (?:to|on)\b",
            _I,
        ),
    ),
    (PolicyStage.CONSULTATION, re.compile(r"\bextension of (?:the )?comment period\b|\breopening of comment\b", _I)),
    (
        PolicyStage.ENFORCEMENT,
        re.compile(
            r"\bfinal notice\b|\bdecision notice\b|\bnotice of final decision\b|\bfin(?:es|ed)\b|\bpenalt(?:y"
            r"|ies)\b(?!.{0,20}\b(?:framework"
            r"|policy|guidelines?|rules?|regime|regulations?))|\bcensur"
            r"|\bcharge[sd]\b.{1,80}\b(?:with|over|for|in connection)\b|\bsettle[sd]?\b"
            r"|\bcease[- ]and[- ]desist\b|\bin the matter of\b|\bconsent order\b|\benforcement (?:action|order"
            r"|notice|undertaking)|\bsanction(?:s|ed)\b(?! (?:regulations?|regime|order|act|list|\())"
            r"|\bordered to\b|\bbans?\b.{0,30}\b(?:from|director|adviser|broker|trader|former|for)\b|\bconvict"
            r"|\bprosecut|\binfringement notice\b|\bpublic reprimand|\breprimand|\bpays?\b.{0,30}(?:million|\$|£"
            r"|€)|\bcancel(?:s|led)\b.{0,30}\blicen[cs]e|\bsuspen(?:ds|ded)\b.{0,40}\b(?:licen[cs]e"
            r"|registration)|\bwarning letter\b|\bnotice of (?:violation|contravention)|\bassessing civil\b"
            r"|\bprohibition order\b|\binstitut(?:es|ing) proceedings|\bdirections? against\b"
            r"|\bdecision\b.{0,30}\b(?:abuse|cartel)|\bimprovement notice\b|\bcourt orders?\b"
            r"|\border (?:imposing|instituting|against|assessing)",
            _I,
        ),
    ),
    (
        PolicyStage.CONSULTATION,
        re.compile(
            r"\bnotice of proposed rule ?making|\bproposed rules?\b|\bNPRM\b|\brequest for (?:comments?"
            r"|information|input)|\bcall for (?:evidence|input|views|information)|\bdiscussion paper"
            r"|\bissues paper|\bconsultation paper|\bgreen paper|\bhave your say"
            r"|\bseeks? (?:public )?(?:comments?|views|feedback|input)|\binvit(?:es|ing"
            r"|ation to) .{0,20}(?:comments?|views|feedback)|\bpublic comment|\bproposed (?:changes|amendments?"
            r"|revisions?|guidance|guidelines?|regulations?|order|standard|determination|policy|decision"
            r"|directive|licence|reforms?|requirements?)|\bproposals? (?:for|to|on)\b|\bDP\d\d/\d+|\bCP\d\d/\d+:"
            r"|\bCP\d\d/\d+\b(?!.{0,60}(?:final|response|feedback))|\bconsult(?:s|ing)? on\b"
            r"|\bconsultation(?:s)?\b(?! (?:response|conclusions?|outcome|summary|report|feedback"
            r"|statement))(?!.{0,50}\b(?:response|outcome|conclusions?|summary of responses)\b)"
            r"|\bdraft .{0,60}for (?:comment|consultation)",
            _I,
        ),
    ),
    (
        PolicyStage.PLAN,
        re.compile(
            r"\bregulatory agenda|\bunified agenda|\bwork (?:programme|program|plan)\b|\bforward (?:work"
            r"|regulatory) (?:programme|program|plan)|\bregulatory initiatives grid|\brulemaking plan"
            r"|\blegislative (?:programme|program|plan|agenda)|\bannual plan\b|\bbusiness plan\b"
            r"|\bstandards plan\b|\bpriorities for 20\d\d|\bforward plan\b|\bregulatory (?:plan|priorities"
            r"|roadmap)|\bforward regulatory",
            _I,
        ),
    ),
    (
        PolicyStage.REPEAL,
        re.compile(
            r"\brepeal(?:s|ing|ed)?\b|\brevo(?:cations?|kes?|king|ked)\b|\brescission|\brescind(?:s|ing|ed)?\b"
            r"|\bwithdraw(?:al|s|ing|n)\b(?! of (?:cash|funds))|\bremoval of (?:obsolete|outdated)|\bceas(?:es"
            r"|ing) to apply\b|\bcancellation of (?:the )?(?:circular|notice|guid)",
            _I,
        ),
    ),
    (
        PolicyStage.AMENDMENT,
        re.compile(
            r"\bamendments?\)?\b(?! (?:proposal|paper))|\bamend(?:s|ing|ed|atory)\b|\bcorrect(?:ion|ing)s?\b"
            r"|\bcorrigendum\b|\bvariation (?:to|of)\b|\bmodification of\b|\b(?:delay|extension"
            r"|postponement) of (?:the )?(?:effective|compliance|applicability|implementation|commencement) date"
            r"|\bfinal rule; (?:delay|correction)|\berratum\b",
            _I,
        ),
    ),
    (
        PolicyStage.INTERPRETATION,
        re.compile(
            r"\bexplain(?:ed|er|s|ing)\b|\bexplanatory (?:memorandum|notes?|statement)|\bfact ?sheet\b"
            r"|\bguidance (?:note )?(?:on|for|to|about)\b|\bfinali[sz]ed guidance\b|\bguide to\b"
            r"|\binterpret(?:ation|ive|ative|ing)|\bat a glance\b|\bstaff (?:bulletin|guidance)"
            r"|\bcompliance guide|\bwhat (?:you need to know|the .{2,40} means?)|\bregulatory guide\b"
            r"|\binformation sheet\b|\bunderstanding the\b|\bgood practice note|\bguidance note\b|\bhow to\b"
            r"|\bclarif(?:y|ies|ication)",
            _I,
        ),
    ),
    (
        PolicyStage.PILOT,
        re.compile(
            r"\bpilot(?:s|ing)?\b|\bsandbox\b|\btrial (?:scheme|programme|program|of)\b|\bregulatory (?:sandbox"
            r"|testbed)|\btestbed\b",
            _I,
        ),
    ),
    (
        PolicyStage.IMPLEMENTATION,
        re.compile(
            r"\bimplementing (?:regulation|decision|rules?|directive|act|measures?|technical)"
            r"|\bimplementation (?:of|plan|guidance|measures?|regulations?)\b|\btransposi(?:tion|ng)"
            r"|\bimplement(?:s|ing)\b",
            _I,
        ),
    ),
    (
        PolicyStage.DRAFT,
        re.compile(
            r"\bexposure draft\b|\bbill\b(?! of)|\bdraft (?:delegated|implementing|regulations?|rules?|order|law"
            r"|act|directive|standard|ordinance|legislation|guidance|guidelines|statutory instrument|bill)"
            r"|\bdraft$|\bintroduces? legislation",
            _I,
        ),
    ),
)
_EN_NEWS = re.compile(
    r"\bspeech\b|\bremarks\b|\bmeets?\b|\bmeeting\b|\bvisits?\b|\bappoint|\bconference\b|\bstatistics\b"
    r"|\bdata\b(?! (?:protection|security|rules?|regulations?|standards?|privacy|act|sharing|cent))|\bfigures\b"
    r"|\bindex\b|\bsurvey\b|\bannual report\b|\bquarterly\b|\bmonthly\b|\bbulletin\b|\bwelcom|\bstatement (?:by"
    r"|from|on)\b|\bblog\b|\bnewsletter\b|\bwebinar|\bworkshop|\bevent\b|\bhearing\b|\bopens? new office"
    r"|\bmemorandum of understanding|\bMoU\b|\bcelebrat|\baward|\bjoins\b|\bnamed\b"
    r"|\bnew (?:chair|chief|head|director|commissioner)|\bcareers?\b|\bvacanc|\boutlook\b"
    r"|\breport (?:on|shows|finds)|\bstudy\b"
    r"|\bresearch\b|\bminutes\b|\breadout\b|\bcongratulat|\brise[sn]?\b|\bfell\b|\bfalls?\b|\bgrew\b"
    r"|\bprofile\b|\butili[sz]ation\b|\bbackground note\b|\bper ?cent\b|\b\d+%|\bretire|\btestimony\b|\bkeynote\b"
    r"|\bspring|\bupdate on\b",
    _I,
)
_EN_FINAL = re.compile(
    r"\bfinal (?:rules?|regulations?|guidelines?|guidance|order|decision|determination|standards?|report|policy"
    r"|text)\b|\bpolicy statement\b|\bPS\d\d/\d+|\bregulations?\b|\brules?\b|\bdirective\b|\bact\b|\bordinance\b"
    r"|\border\b|\bguidelines?\b|\bcircular\b|\bnotice\b|\bstandards?\b|\bcode of (?:practice|conduct)"
    r"|\bdetermination\b|\bdecision\b|\binstrument\b|\bpolicy\b|\bstrategy\b|\bwhite paper\b|\bframework\b"
    r"|\brequirements?\b|\bconsultation (?:conclusions?|response|outcome)|\bresponse to (?:the )?consultation"
    r"|\bscheme\b|\bplan\b|\bby-?law|\bexecutive order|\blicen[cs]e conditions?|\badopt(?:s|ed|ion)\b"
    r"|\bapproves?\b|\bissues?\b|\bguidance\b|\bpublishes\b|\bdirection\b|\bsupervisory statement|\bSS\d+/\d\d"
    r"|\btariff|\brelief\b|\bwaiver\b|\bexempt(?:s|ion)\b|\b(?:fund|grants?|subsid(?:y|ies))\b.{0,60}\b(?:round"
    r"|open|applications?|closing)|\bcall for (?:applications|proposals|tenders)|\binvit(?:es|ing) applications"
    r"|\bproclamation\b|\bmanual\b",
    _I,
)
_EN_BINDING_BODY = re.compile(
    r"\bfinal rules?\b|\bcomes? into force\b|\b(?:is|are|will be|takes?) effect(?:ive)?\b|\bhereby (?:makes?"
    r"|issues?|adopts?|directs?|orders?|amend)|\bmade (?:under|in exercise)|\bin (?:the )?exercise of (?:the"
    r"|its) powers|\bpolicy statement\b|\bHAS ADOPTED|\bmakes\b[^.\n]{3,90}\bunder\b|\bthis (?:standard"
    r"|regulation|order|rule|instrument|notice|circular|direction) applies|\bshall enter into force"
    r"|\bhas (?:today )?(?:issued|published|adopted|made|approved) (?:the |its |new |final |a )",
    _I,
)
ENGLISH_ASKS = re.compile(
    r"\b(?:comments?|responses?|views|feedback|submissions?|representations?|remarks)\b[^.\n]{0,80}\b(?:must|should|may"
    r"|can|are|is|by|within|before|until|no later than|on or before|due|invited|welcome)\b|\b(?:invit|seek|welcom"
    r"|request)(?:es|ed|ing|s)?\b[^.\n]{0,60}\b(?:comments?|views|feedback|responses?|submissions?)\b"
    r"|\bcomment period\b|\bconsultation (?:closes|ends|period|is open|runs)|\bplease (?:send|respond|submit)"
    r"|\bfeedback (?:open|period)|\bcalls? for comments|\bhear your views|\blet us (?:know|have) (?:your|what)",
    _I,
)
_EN_DRAFT_BODY = re.compile(
    r"\b(?:proposed rule|ACTION: Proposed|notice of proposed rulemaking|consultation paper|discussion paper"
    r"|request for comments?|call for (?:evidence|input)|we (?:are )?(?:propos|consult)|we are seeking"
    r"|proposes? to|this consultation)\b",
    _I,
)
_EN_ACTIONS: tuple[tuple[PolicyStage, re.Pattern[str]], ...] = (
    (PolicyStage.REPEAL, re.compile(r"\b(?:withdrawal|rescission|removal|repeal|revocation)\b", _I)),
    (
        PolicyStage.AMENDMENT,
        re.compile(r"\b(?:delay|correct(?:ion|ing)|technical amendments?|correcting amendments?|partial stay)\b", _I),
    ),
    (
        PolicyStage.CONSULTATION,
        re.compile(
            r"^(?!.*\b(?:final|temporary|direct)\b).*\b(?:proposed|comments?(?: period)?|petition|advance notice)\b", _I
        ),
    ),
    (
        PolicyStage.FINAL,
        re.compile(r"\b(?:final|temporary|emergency)\b.{0,20}\b(?:rules?|orders?|determination)\b", _I),
    ),
)
"""What the line ACTION: of the Federal Register says that a document does."""
_EN_ACTION = re.compile(r"^ACTION:\s?(?P<value>[^\n]{3,160})", re.MULTILINE)
_EN_SUBTITLE = re.compile(r"^(?:amending|extending|correcting|repealing|implementing|supplementing)\b", _I)
_EN_HEAD_LINES = 10
_EN_PILOT_BODY = re.compile(
    r"\b[Pp]ilot notice\b|\b[Tt]he (?:pilot|trial|sandbox) (?:starts|runs|begins|will (?:start|run|begin))\b"
)
_EN_BILL = re.compile(
    r"\bBill(?:,? 20\d\d)?$|^(?:H\. ?R\.|S\.|Bill [A-Z]{1,2}-) ?\d|\bBill\b.{0,12}\bexplanatory (?:memorandum|notes?)",
    _I,
)
_EN_BILL_BODY = re.compile(r"^(?:A BILL|introduced the following bill\b)|\bBE IT ENACTED\b", re.MULTILINE)
_EN_FORMS: tuple[tuple[PolicyStage, re.Pattern[str]], ...] = (
    (
        PolicyStage.INTERPRETATION,
        re.compile(
            r"\b(?:this|the) (?:letter|note|notice|statement|bulletin|circular|document|guide|paper|advisory|page)"
            r" (?:offers|provides|gives|sets out) (?:\w+ )?guidance\b|\bdoes not (?:impose|create|introduce|add)"
            r" (?:any )?(?:new |additional )?(?:requirements|obligations|duties)\b",
            _I,
        ),
    ),
    (
        PolicyStage.FINAL,
        re.compile(
            r"^(?:general licen[cs]e|regulatory position statement|supervisory statement|policy statement|statement of"
            r" policy|public notice|industry letter|dear (?:ceo|chair|cfo|cro)|guideline|circular|directive|ordinance"
            r"|proclamation|no-action|exemptive relief|funding opportunity|competition (?:closes|opens)"
            r"|emergency rules?|code of practice)\b",
            _I | re.MULTILINE,
        ),
    ),
    (
        PolicyStage.FINAL,
        re.compile(
            r"\b(?:window for (?:requests|applications|bids)|applications? (?:close|open|must|should|are (?:open"
            r"|invited))"
            r"|apply by|submission deadline for|deadline for (?:applications|proposals|bids))\b",
            _I,
        ),
    ),
)
"""Words of a head that show what a document is where its title does not say so."""
_EN_VIEWS = re.compile(
    r"\b(?:sound|good|better) practices?\b.{0,200}\b(?:observed|identified|share|expect|illustrate)"
    r"|\bissued as guidance\b|\bgives our view\b"
    r"|\bcreates? no new (?:duty|duties|obligations?|requirements?)\b",
    _I,
)
_MIN_NORMS = 2
_EN_QUOTED = re.compile(r"[“\"][^“”\"\n]{1,300}[”\"]")
_EN_NORMS = re.compile(
    r"\b(?:must|shall|may not|(?:is|are) required to|(?:is|are) (?:revoked|repealed|prohibited))\b", _I
)
_EN_GIVES_EFFECT = re.compile(
    r"\b(?:give|gives|giving) effect to (?:the )?(?:[A-Z]\w+ ){0,3}(?:Directive|Regulation)\b"
    r"|\btranspos(?:es?|ing) (?:the )?(?:[A-Z]\w+ ){0,3}Directive\b"
)


def read_english_stage(document: DocumentText) -> PolicyStage | None:
    title, head = document.title, document.folded[:_HEAD_CHARS]
    if _EN_BILL.search(title) or _EN_BILL_BODY.search(head):
        return PolicyStage.DRAFT
    if acted := _read_action(document):
        return acted
    stage = next((stage for stage, words in _EN_TITLES if words.search(title)), None)
    first = head[:_FIRST_CHARS]
    if _is_proposal(title, first, stage) and ENGLISH_ASKS.search(document.folded, 0, 4 * _HEAD_CHARS):
        return PolicyStage.CONSULTATION
    if stage is PolicyStage.IMPLEMENTATION and _is_amending(document):
        return PolicyStage.AMENDMENT
    if stage in (None, PolicyStage.INTERPRETATION) and _EN_PILOT_BODY.search(first):
        return PolicyStage.PILOT
    is_news = _EN_NEWS.search(title) and not re.search(r"\bfinal rules?\b|\bregulations? 20\d\d", title, _I)
    return stage if stage is not None or is_news else _read_english_form(document, head)


def _is_proposal(title: str, first: str, stage: PolicyStage | None) -> bool:
    """Whether a document may be out for comment by its title's stage and its first words."""
    if stage is None:
        is_final = re.search(r"\bfinal rule\b|\bpolicy statement\b", first, _I)
        return bool(_EN_DRAFT_BODY.search(first)) and not is_final
    if stage is PolicyStage.DRAFT:
        return not re.search(r"\bexposure draft\b", title, _I)
    return stage is PolicyStage.AMENDMENT and bool(re.search(r"\bproposed\b|\bconsult", title + first, _I))


def _read_english_form(document: DocumentText, head: str) -> PolicyStage | None:
    """Return the stage of a document whose title names none, by its form, its enacting words and its duties."""
    if _is_amending(document):
        return PolicyStage.AMENDMENT
    is_final = bool(_EN_FINAL.search(document.title) or _EN_BINDING_BODY.search(head))
    if is_final and _EN_GIVES_EFFECT.search(head):
        return PolicyStage.IMPLEMENTATION
    if re.search(r"\bcomments due\b|\bopen for comments?\b", head, _I):
        return PolicyStage.CONSULTATION
    if _EN_VIEWS.search(head):
        return PolicyStage.INTERPRETATION
    by_form = next((form for form, words in _EN_FORMS if words.search(head)), None)
    is_binding = is_final or len(_EN_NORMS.findall(_EN_QUOTED.sub("", head))) >= _MIN_NORMS
    return by_form or (PolicyStage.FINAL if is_binding else None)


def _is_amending(document: DocumentText) -> bool:
    """Whether a line below the title says that it amends another one: amending Regulation (EU) 2019/1793."""
    return any(_EN_SUBTITLE.match(line.text) for line in document.lines[:_EN_HEAD_LINES])


def _read_action(document: DocumentText) -> PolicyStage | None:
    """Return the stage that the line ACTION: names; one that only says Final rule leaves an amendment to the title."""
    action = _EN_ACTION.search(document.folded, 0, 4 * _HEAD_CHARS)
    stage = next((stage for stage, words in _EN_ACTIONS if words.search(action["value"])), None) if action else None
    if stage is PolicyStage.FINAL:
        named = next((stage for stage, words in _EN_TITLES if words.search(document.title)), None)
        return named if named in (PolicyStage.AMENDMENT, PolicyStage.REPEAL) else stage
    return stage
