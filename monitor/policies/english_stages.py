"""Tells where an English document stands in the life of its policy: its title, its action line, its first words."""

import re
from dataclasses import dataclass

from monitor.policies.document_text import DocumentText
from monitor.vocabulary import PolicyStage

_HEAD_CHARS, _FIRST_CHARS, _OPENING_CHARS = 1_500, 600, 420
_I = re.IGNORECASE


def _any(*words: str, flags: int = _I) -> re.Pattern[str]:
    """Return a pattern that finds any of some words."""
    return re.compile("|".join(words), flags)


@dataclass(frozen=True, slots=True)
class _Mark:
    """Words of a title that show a stage."""

    stage: PolicyStage | None
    words: re.Pattern[str]
    unless: re.Pattern[str] | None = None

    def shows(self, title: str) -> bool:
        return bool(self.words.search(title)) and not (self.unless and self.unless.search(title))


_BILL = _any(
    r"\bBill(?:,? 20\d\d)?$",
    r"^(?:H\. ?R\.|S\.|Bill [A-Z]{1,2}-) ?\d",
    r"\bBill\b.{0,12}\bexplanatory (?:memorandum|notes?)",
    r"\bBill\b(?! of\b).{0,30}\b(?:introduced|reading|reported|tabled|committee stage|passed by)",
)
_BILL_BODY = re.compile(r"^(?:A BILL|introduced the following bill\b)|\bBE IT ENACTED\b", re.MULTILINE)
_WITHDRAWN = _Mark(
    PolicyStage.REPEAL,
    _any(
        r"\b(?:withdraw(?:al|n|s|ing)|rescission|terminat(?:ion|es))\b.{0,40}\b(?:proposed|proposal|consultation|advance notice)",
        r"^withdrawn\b",
    ),
)
_COMMENCES = _Mark(
    PolicyStage.FINAL,
    _any(
        r"\(commencement\b[^)]*\) (?:notice|order|proclamation|regulations)\b",
        r"\bresponses? to (?:the )?(?:feedback|submissions|comments)\b|^statement:|\bconsultation conclusions\b",
        r"\b(?:government|our) response\b.{0,20}\bdecision\b|\bannounces? final\b.{0,60}\brules?\b|\border (?:approving|issuing)\b(?! stipulation)(?!.{0,30}\b(?:consent|settlement))|\bimmediate effectiveness\b|\bfinal determinations?\b|\bfinal rules and\b",
        r"\bfinali[sz]es?\b(?!.{0,40}\b(?:settlement|consent|order (?:against|with))\b)",
    ),
    _any(r"\(?amendment\b.{0,40}\b(?:rules?|regulations|act|order) 20"),
)
_QUESTIONS = _Mark(
    PolicyStage.QA,
    _any(
        r"\bwe answer\b|\bin question form\b",
        r"\bwhat \w+ ask\b|\bqueries\b|\b(?:readers|customers|clients|firms|users|residents) ask\b|\bquestions: ",
        r"\bQ ?(?:&|and|\+) ?As?\b|\bquestions (?:and|&|with) answers\b|\bfrequently asked\b|\bFAQs?\b|\bquestions answered\b|\bhelpdesk\b",
        r"\bask us\b|\b(?:common|your|top|popular|key|typical|recurring|reader|member|industry|stakeholder|more|new) questions?\b|\bquestions (?:we|you|from|of the|people|firms|\w+ ask)",
        r"\banswers (?:to|on|for|from|\d)|\b(?:publish(?:es|ed)|staff|consolidated|short|quick) answers\b|\bkeeps? asking\b|\bthings \w+ (?:ask|want to know)|\b(?:you|people|firms|clients) asked\b",
        r"\bnew question \d|\bdisclosure interpretations\b",
    ),
    _any(r"\bquestions? (?:for|to) (?:consult|respon)|\bparliamentary questions?|\bquestions? time\b"),
)
_EVENTS = _Mark(
    None,
    _any(
        r"\bsuspension of trading in\b|\btrading halt\b",
        r"\b(?:meets?|met) (?:with|counterpart|his|her|the|in)\b|\b(?:chairs?|hosts?|addresses|attends?|visits?|welcomes|congratulates|lays foundation|inaugurates|hails)\b|\bto host\b|\bholds? (?:talks|dialogue|meeting|call)|\btalks with\b|\bcall with\b|\bdiscuss(?:es|ed)?\b|\bsigns?\b|\banniversary\b",
        r"\b(?:weekly|meeting) agenda\b|\bagenda, \d|\bminutes of\b|\bsunshine act\b|\bmeeting of\b|\bawards\b|\bprizes?\b|\bshortlist\b|\bmemorandum of understanding\b|\bMoU\b|\bexhibition\b|\bfestival\b|\bopening hours\b|\boffice closure|\bpublic holiday|\b(?:scheduled|system|site|planned) maintenance\b|\btraining (?:course|session|day)|\bscholarship",
        r"\bannual (?:report|review)\b|\bstatistic(?:s|al)\b|\bunemployment\b|\binflation\b|\bprice index\b|\blabou?r force\b|\bflash estimate\b|\bforeign exchange reserves\b|\bGDP\b|\btrade balance\b|\bretail sales\b|\b(?:bank|cash|repo|policy|interest|exchange) rate\b.{0,40}\b(?:maintain|unchanged|held|at \d|hold|steady|for)|\b(?:maintains?|holds?|keeps) .{0,20}\brates?\b",
        r"\b(?:auction|sale|tender|examination|exam) (?:results?|dates)\b|\btender(?:s)? (?:for|results?|notice)|\binvitation to (?:tender|bid)|\brequest for (?:proposals|quotations?)\b|\ballotment\b|\bcontract award|\bprocurement\b.{0,20}\bnotice|\bpublishes\b.{0,50}\b(?:report|review|data|figures|results|accounts|research|survey)\b|\b(?:listing|delisting|admission to trading|IPO|dividend (?:declaration|payment|dates?)|coupon|treasury bills?)\b",
        r"\bGAO report\b|\bbulletin, (?:\w+ )?20\d\d\b|\b(?:monetary|employment) (?:policy |situation )?summary\b|\bopens? (?:new|offices?|a new)\b|\binvitation:|\bnotice of intent to grant\b.{0,30}\blicen[cs]e|\bEuropean citizens. initiative\b",
    ),
    _any(
        r"\b(?:final|proposed|amend\w*|repeal\w*|consult\w*|draft|implement\w*|enforce\w*|fin(?:es|ed)|penalt\w+|settle\w*|comments?|hearing on|revo\w+|withdraw\w*|rules?|regulations?|pilot|sandbox|requirements?|guidance|standards?)\b",
        r"\bdata (?:protection|security)|\bact\b|\bhow to\b|\bexplain|\bwhat\b|\bplanned\b",
    ),
)
_SPOKEN = _Mark(
    None,
    _any(
        r"\bgraduate (?:programme|scheme|trainee)|\binternship",
        r"\b(?:speech|remarks|keynote|testimony|address|lecture|eulogy|opening statement)\b(?:.{0,12}\b(?:by|of|at|to|before|on|for)\b|$|:|,)|\bfireside chat\b|\breadout\b|\b(?:minutes|summary) of (?:the )?(?:\w+ ){0,3}meeting|\bstatement (?:by|from) the\b|\bwelcom(?:es|ed)\b",
        r"\bappoint(?:s|ed|ment|ments)\b|\b(?:stands?|steps?|stepping|standing) down\b|\bto (?:retire|leave)\b|\bretires\b|\bjoins\b|\bnamed (?:as|chair|chief|head)\b|\bvacanc(?:y|ies)\b|\bcareers?\b|\bnominations? sought\b|\bnew (?:chair|chief|head|director|commissioner)\b",
        r"\bwebinar\b|\bworkshop\b|\bconference\b|\bsummit\b|\bseminar\b|\broundtable\b|\bopen day\b|\bceremony\b|\bdinner\b|\breception\b|\bphotos?\b|\bcelebrat|\bnewsletter\b|\bpodcast\b|\bblog\b|\bmedia (?:advisory|invitation|availability)\b|\bto make (?:an )?announcement\b|\bpublic schedule\b|\bsunshine act\b|\b(?:contract|quotation|tender|procurement|vacancy|award) notice\b|\btransfers? and postings?\b|\bnotice of filings\b|\boffice (?:counters|closure)",
    ),
    _any(r"\b(?:proposed|consultation|comments?|draft|appointment of (?:auditors|representatives)|appointed (?:representatives?|person)|appointed day)\b"),
)
_MORE_TIME = _Mark(
    PolicyStage.CONSULTATION,
    _any(r"\b(?:extension|extend(?:s|ed|ing)?|reopening|reopens)\b.{0,30}\b(?:comment|consultation|submission|feedback)\b"),
)
_PUNISHED = (
    r"\bnon-complian|\bspecial measures\b|\bagrees to (?:remediation|refund|compensate|redress)|\border to pay\b|\bto fine\b|\bloses .{0,20}licen[cs]e|\bstop order\b|\bdestroyed\b|\b(?:pharmacist|doctor|nurse|solicitor|broker|adviser|trader|dentist|firm|company)s? (?:is )?suspended\b|\bsuspended for \d|\bcompliance notice\b",
    r"\bloses (?:appeal|challenge)\b|\bin breach of\b|\borders recovery\b|\bclosed by\b|\bmisled\b|\bblacklist|\bwithdrawn from sale\b|\bwithdraw(?:s|al of)\b.{0,20}\b(?:registration|approval|licen[cs]e|authori[sz]ation) of\b",
    r"\b(?:final|decision|penalty|prohibition|improvement|infringement|infraction|warning|supervisory|stop[- ]sale|stop[- ]work|show[- ]cause|suspension|disqualification) notices?\b|\bnotice of final decision\b",
    r"\b(?:fin(?:es|ed)|penal(?:ty|ties|i[sz]es?|i[sz]ed)|censure[sd]?|reprimand(?:s|ed)?|admonish\w*|sanction(?:s|ed)|disciplin(?:es|ed|ary)|disqualif(?:ies|ied)|debar(?:s|red)|barred|bars)\b",
    r"\bcharged\b.{0,80}\b(?:with|over|for|in connection)\b|(?<=\w )charges .{1,80}\b(?:with|over|in connection)\b|\bsettle(?:s|d|ment)\b|\bcease[- ]and[- ]desist\b|\bin the matter of\b|\bconsent (?:order|decree|agreement)\b|\bwaiver,? and consent\b|\bagreed facts\b",
    r"\benforcement (?:action|order|notice|undertaking|release|proceeding)|\b(?:enforceable|court[- ]enforceable|interim) undertakings?\b|\bordered to\b|\bdebarment\b|\bstop[- ]work order|\bbanned\b|\bfine (?:following|for|against|on|over)\b|(?:million|billion|\d)m? fine\b|\borders .{2,60} to (?:stop|pay|cease|recall|divest|refund|compensate)\b|\blitigation release\b|\bv\. [A-Z]|\bprohibition orders\b|\bbans?\b.{0,30}\b(?:from|director|adviser|broker|trader|former|for)\b",
    r"\bconvict|\bprosecut|\bjailed\b|\bsentenced?\b|\bguilty\b|\bpleads?\b|\bindict|\bsue[sd]?\b|\blawsuit|\bcourt (?:orders?|fines|bans|rules)|\bjudge?ment\b(?: against| in)|\binjunction\b|\bobtains\b.{0,30}\b(?:order|judgment|relief)",
    r"\b(?:pays?|remit|forfeit(?:s|ed)?|refund)\b.{0,30}(?:million|\$|£|€|₹|¥)|\b(?:cancel(?:s|led)|suspen(?:ds|ded)|revok(?:es|ed)|lift(?:s|ed)?)\b.{0,40}\b(?:licen[cs]e|registration|permit|approval|authori[sz]ation|membership)|\b(?:licen[cs]e|registration|permit|approval)\b.{0,60}\b(?:suspended|cancelled|revoked|withdrawn)",
    r"\bwarning letters?\b|\bnotice of (?:violation|contravention|apparent liability|default|breach)|\bassessing civil\b|\bprohibition order\b|\binstitut(?:es|ing) proceedings|\bproceedings against\b|\bdirections? against\b|\bfindings? against\b|\bshow cause\b|\binterim order\b",
    r"\b(?:decision|ruling)\b.{0,30}\b(?:abuse|cartel)|\bruling on\b.{0,60}\b(?:Ltd|Limited|plc|Inc|LLC|Corp)|\border (?:imposing|instituting|against|assessing|subject to penalty)|\binfring(?:ed|ement)\b(?!.{0,20}\bprocedure)|\bimposes\b.{0,40}\b(?:penalty|fine|order|conditions)",
    r"\brecall(?:s|ed|ing)?\b(?!.{0,30}\b(?:rules?|regulations?|guidance|policy|process))|\bseiz(?:es|ed|ures?)\b|\bimport alert\b|\bstruck off\b|\bunlawful\b.{0,40}\bby\b|\b(?:breach|violation|failings?|misconduct|fraud|misleading)\b.{0,30}\bby [A-Z]|\bsurcharge\b.{0,40}\bemployer|\bcrackdown\b|\b(?:asset )?freez(?:e|es|ing) (?:order|assets)|\bwound up\b|\bexpel(?:s|led)\b|\bdetain(?:s|ed)\b|\bimpound|\bdisgorge|\brestitution\b|\bforfeiture\b|\bprice[- ]fixing\b|\bcartel\b|\babatement notice|\bcompliance order\b|\badjudication\b|\btrading ban\b|\bclosure order\b",
    r"\b(?:revocation|cancellation|suspension|withdrawal) of .{0,60}\b(?:licen[cs]e|registration|permit|authori[sz]ation|certificate)\b(?! for)|\b(?:takes?|taken|taking) (?:\w+ )?action against\b|\bhit with\b|\btold to\b|\barrest(?:s|ed)\b|\bappeal (?:dismissed|upheld)\b|\btribunal (?:upholds|dismisses|orders|finds)\b|\bfound (?:in|to have)\b|\bundertaking\b",
)
_ENFORCEMENT = _Mark(
    PolicyStage.ENFORCEMENT,
    _any(*_PUNISHED),
    _any(
        r"\b(?:penalt(?:y|ies)|sanctions?|recall|enforcement|settlement|disciplinary|sentencing)\b.{0,20}\b(?:framework|policy|guidelines?|rules?|regime|regulations?|guidance|act|code|bill|order 20|finality|system|cycle)\b",
        r"^(?:proposed|draft|consultation|proposals?|review of) .{0,40}\b(?:penalt|sanction|settlement|fine)",
        r"\bpenalty units\b|\b(?:requests?|calls?) (?:for )?(?:public )?(?:comments?|evidence|input|views)\b|\bconsult(?:s|ation)\b|\b(?:cash|half-hourly|physical)[- ]settle|\bsentence(?:s)? of the\b|\btext settled\b|\bdiscount\b",
    ),
)
_CONSULTATION = _Mark(
    PolicyStage.CONSULTATION,
    _any(
        r"\byour (?:opinion|views?|say|feedback|thoughts)\b|\bout for (?:views|comments?|consultation)\b|\bhearing from you\b",
        r"\bshare your (?:views|thoughts)\b|\bgathering evidence\b|\bstakeholder survey\b",
        r"\bproposed rule ?making|\bproposed rules?\b|\bNPRM\b|\brequests? (?:for )?(?:public )?(?:comments?|information|input|feedback|views)|\bcalls? for (?:evidence|input|views|information|comments?|feedback|submissions)|\b(?:discussion|issues|concept|consultation|green|position) paper",
        r"\bhave your say|\btell us (?:what|your)|\bwhat do you think|\bmake a submission|\b(?:views|comments?|feedback|submissions|inputs?|opinions|responses) (?:are )?(?:invited|sought|wanted|welcome|requested|needed|open|due)",
        r"\b(?:seeks?|seeking|wants?|invit(?:es|ing|ation to)|welcomes|gather(?:s|ing)) .{0,24}(?:comments?|views|feedback|input|opinions|submissions)|\bpublic (?:comment|consultation|engagement|views)|\bnotice of (?:public )?consultation|\bproposed collection\b|\b[36]0-day notice\b",
        r"\bproposed? (?:[\w-]+ ){0,4}?(?:changes?|amendments?|revisions?|guidance|guidelines?|regulations?|order|standards?|determination|policy|decision|directive|licence|reforms?|requirements?|ban|repeal|measures?|rules?|scheme|framework|approach|listing|roadmap|variation|withdrawal|restrictions?|limits?|thresholds?|levy|fees?|charges?|duties|rates?|tariffs?|closure)\b",
        r"\bproposals? (?:for|to|on)\b|\bproposes\b|\bDP\d\d/\d+|\bCP\d\d/\d+:|\bCP\d\d/\d+\b(?!.{0,60}(?:final|response|feedback))|\bconsult(?:s|ing)? on\b|\bdraft .{0,60}for (?:public )?(?:comment|consultation|feedback)|\bpre-decision\b|\bcomment request\b|\bcomments by\b|^CP ?\d+\b",
        r"\bconsultation(?:s)?\b(?! (?:response|conclusions?|outcome|summary|report|feedback|statement))(?!.{0,50}\b(?:response|outcome|conclusions?|summary of responses|decision|closed)\b)",
    ),
    _any(r"^proposal for a (?:council )?(?:regulation|directive|decision)\b|^PS ?\d|\bfinal rules\b|\bresponse to [A-Z][\w ]{1,30}(?:'s)? .{0,30}consultation|^FR/\d"),
)
_PLAN = _Mark(
    PolicyStage.PLAN,
    _any(
        r"\bunder way and\b|\breview (?:calendar|programme|schedule)\b|\bmanagement plan\b|\bproject list\b|\bexpects to (?:bring|publish|make)\b|\bin preparation\b|\bmilestones$|\bstrategic direction\b|\bdirection statement\b|\b20\d\d(?:[-–/]\d+)? plan\b",
        r"\bwhat we (?:will|plan)\b|\bprogramme of (?:law )?reform\b|\blist of bills\b|\bking.s speech\b|\btimeline (?:for|of)\b|\bstatement of (?:regulatory )?intent\b|\bprogramme for review|\b(?:rulemaking|regulatory|legislative|standard-setting)\b.{0,30}\b(?:outlook|projects|pipeline|timeline|timetable|programme|program)\b",
        r"\b(?:regulatory|unified|legislative|rulemaking|standards|policy|reform|work|annual|forward|business|rule) (?:agenda|plans?|programme|program|roadmap|timetable|calendar|priorities|schedule|pipeline|outlook)\b|\bwork ?plan\b|\bregulatory initiatives grid|\bforward (?:work|regulatory|look)",
        r"\b(?:work|supervisory|monetary|research) (?:programme|program|plan|priorities)\b|\b(?:supervisory|examination|supervision|enforcement|oversight|inspection|regulatory|strategic|legislative) priorities\b|\bpriorities (?:for|in) 20\d\d|\b20\d\d(?:[-/–]\d+)? priorities\b|\bprogramme of work\b",
        r"\b(?:calendar|timetable|list|agenda) (?:of|for)\b.{0,40}\b(?:priorities|legislati|rule|guidelines?|reform|initiatives|instruments|proposals)|\bplanned (?:through|for|rule|regulat|legislat|initiatives|instruments)|\bwhat.s coming\b|\breform timetable\b|\b(?:means|intends|plans) to (?:table|propose|issue|publish|bring|develop)",
        r"\b(?:rolling|delivery|operating|strategic|audit|inspection|multi-?annual|multi-?year|legislation|standardi[sz]ation) (?:plan|programme|program|schedule|roadmap)\b|\b(?:upcoming|forthcoming) (?:rule|regulat|legislat|consult|publication|work|guid)|\byear ahead\b|\blook(?:ing)? ahead\b|\bhorizon scan|\bregulatory horizon\b|\broad ?map\b|\b(?:plans|agenda|programme) (?:for )?20\d\d|\bpriorities\b|\bnext (?:12|twelve|24) months\b",
        r"\bpreliminary plan\b|\bnotice of intent\b.{0,40}\b(?:to (?:develop|prepare|initiate|begin)|rulemaking)|\bcorporate plan\b|\bstatement of intent\b",
    ),
    _any(r"\b(?:implementation|state|transition|recovery|pension|business continuity|action) plan\b|\bamend|\bapprov"),
)
_DRAFT = _Mark(
    PolicyStage.DRAFT,
    _any(
        r"\bdraft (?:ITS|RTS)\b|\bsubmits? (?:final )?draft\b|^(?:final|zero|working) draft\b",
        r"\bexposure draft\b|\bdiscussion draft\b|\bbill\b(?! of\b)|\bdraft (?:[\w-]+ ){0,3}?(?:delegated|implementing|regulations?|rules?|order|law|act|directive|standard|ordinance|legislation|guidance|guidelines|instrument|bill|statement|opinion|report|code|text|circular|notice|decision|determination|plan|policy|strategy|methodology)\b",
        r"^draft\b|\bdraft$|\bworking text\b|\bdraft(?:ing)? (?:text|committee)\b|\bprovisional (?:agreement|text|deal)\b|\btrilogue\b|/(?:F?DIS|CD)\b|\b(?:first|second|third) reading\b|\bmark-?up\b|\blegislative text\b|\bmodel (?:law|act|bill)\b.{0,30}\btext",
        r"\bcommittee\b.{0,40}\b(?:adopts|backs|votes on|endorses) (?:its )?(?:position|report|mandate|draft)|\bnegotiating (?:mandate|position)\b|\bgeneral approach\b|\bintroduces? (?:legislation|bill)|\btrailer bill\b|^proposal for a (?:council )?(?:regulation|directive|decision)\b",
    ),
)
_REPEAL = _Mark(
    PolicyStage.REPEAL,
    _any(
        r"\btaken down\b",
        r"\bend(?:s|ing)? of\b.{0,40}\b(?:scheme|regime|order|rule|restrictions|requirement|measures)|\blapses?\b",
        r"\brepeal(?:s|ing|ed)?\b|\brevo(?:cations?|kes?|king|ked)\b|\brescission|\brescind(?:s|ing|ed)?\b|\bwithdraw(?:al|s|ing|n)\b(?! of (?:cash|funds))|\bdisapprov(?:al|es|ing)\b|\bnullif|\babolish|\babolition\b|\bscrap(?:s|ped|ping)\b|\bannul(?:s|led|ment)",
        r"\bremoval of (?:obsolete|outdated)|\bceas(?:es|ing) to (?:apply|have effect)\b|\bcancellation of (?:the )?(?:circular|notice|guid|instruction)|\b(?:ending|terminating|discontinu(?:es|ing|ation of)|retir(?:es|ing|ement of)) (?:the |of )?(?:[A-Z]|\w+ (?:order|guidance|scheme|rule|circular|policy))|\bno longer (?:appl(?:y|ies)|in force|required|has effect)\b|\bsunset(?:s|ting)?\b of|\bvacat(?:es|ed|ur)\b|\bsuperseded\b|\bobsolete\b|\bexpir(?:y|ation) of\b|\btermination of .{0,40}(?:order|emergency|program|rule|guidance|designation|agreement)",
        r"\bcancel(?:s|led|lation)?\b.{0,60}\b(?:circular|notice|guidance|order|standard|instructions?|bulletin|policy|rule|notification)\b|\b(?:circulars?|notice|guidance|order|standards?|instructions?|bulletin|policy|rules?|notification|scheme|exemption|relief|statement)\b.{0,60}\b(?:cancelled|withdrawn|ends|ended|lapses?|expires?|retired|archived|discontinued|removed|abolished|scrapped)\b|\bremov(?:es|al of|ing)\b.{0,60}\b(?:regulation|rule|guidance|provisions?|standards?)\b",
    ),
    _any(r"\bnot withdrawn\b|\bamendment and repeal\b|\bamend\w* and (?:repeal|revo)"),
)
_AMENDMENT = _Mark(
    PolicyStage.AMENDMENT,
    _any(
        r"\border changed\b|^postponing\b|\b(?:kept|extended|prolonged) for\b|\brectification\b|\bby amending order\b|\bupdated under\b",
        r"\bdates?\b.{0,40}\b(?:moved|deferred|pushed back|put back|brought forward)\b|\b(?:heading|entry|paragraph|form|table|annex)\b.{0,30}\breplaced\b|\b(?:substituted|inserted) in\b|\bprolong|\bcorrected version\b|\b(?:partial )?stay of\b|\badding (?:paragraph|section|article)|\bdeadline\b.{0,50}\b(?:pushed|put) back\b|\btechnical (?:edits|changes)\b|\bsuspension of (?:certain )?(?:requirements|provisions|rules|the application)",
        r"\bamendments?\)?\b(?! (?:proposal|paper))|(?<!and )\bamend(?:s|ing|atory)\b|(?<!the )\bamended\b(?! (?:\w+ )?(?:regulation|rules?|directive|act|threshold))|\bcorrect(?:ion|ing)s?\b(?! (?:facility|institution|service|officer))|\bcorrigendum\b|\berrat(?:um|a)\b|\baddendum\b",
        r"\bvari(?:ation|ed|es|ance)\b(?: (?:to|of|for)\b|$)|\binstrument varied\b|\bmodif(?:ication|ies|ying)\b|\b(?:section|rule|paragraph|article|regulation|schedule|condition|part)s? [\w. ]{1,20}(?:.{0,40})\b(?:inserted|replaced|substituted|omitted|deleted|varied)\b|^(?:\w+ )?changes to\b|\bdeadline (?:moved|extended|pushed|changed)|\bmore time\b|\bnew (?:date|deadline) for\b|\b(?:insertion|substitution|deletion) of\b|\bsupplement(?:al|ary)? (?:order|notice|circular|instrument|determination)|\brevision(?:s)? to\b|\badjust(?:ments?|s) to\b|\bupdates? to\b|\bsupplementary direction\b",
        r"\b(?:delay(?:s|ed|ing)?|exten(?:sion|ds|ded|ding)|postpone(?:s|d|ment)?|deferr?(?:al|s|ed)|pushes back)\b.{0,50}\b(?:date|deadline|period|time|relief|until|transition|derogation|implementation|compliance|applicability|commencement|by (?:one|two|\w+) (?:year|month))|\b(?<!closing )(?:date|deadline|period)s? (?:extension|extended|delay(?:ed)?|postponed|deferred)\b|\bfinal rule; (?:delay|correction)|\brehearing and clarification\b",
    ),
    _any(r"\bdraft\b|\bhow\b|\bapplying\b"),
)
_GUIDANCE_FOR = _Mark(
    PolicyStage.INTERPRETATION, _any(r"^guidance (?:for|to|note for)\b(?!.{0,80}\b(?:consultation|comment)$)")
)
_GUIDE = _Mark(
    PolicyStage.INTERPRETATION,
    _any(
        r"\bposition of the (?:division|staff)\b|\bknow your\b|\bwhat .{2,40} says?\b|\bmeaning of\b",
        r"\bthe essentials\b|\bdemystified\b|\bwalk[- ]?through\b|\bnotes on (?:clauses|sections)\b|^video:|\bbackground to\b",
        r"\bexplain(?:ed|er|s|ing)\b|\bexplanatory (?:memorandum|notes?|statement|document|guide)|\bfact ?sheet\b|\bguidance note\b|\bguide (?:to|for|on)\b|\bguide$|\bshort guide\b|\binterpret(?:ation|ive|ative|ing|ations)\b(?! act)|\bat a glance\b|\bin (?:brief|a nutshell|plain)\b|\bstaff (?:bulletin|guidance|legal bulletin|statement)",
        r"\bcompliance guide|\bwhat (?:you need to know|the .{2,60} means?|.{2,80} means? for|.{2,60} (?:should|need to) know|is new|to know|has changed)|\bregulatory guide\b|\binformation sheet\b|\bunderstand(?:ing)?\b|\b(?:good )?practice note|\bhow (?:to|.{2,40} (?:works?|appl(?:y|ies)))\b|\bclarif(?:y|ies|ication)|\bprimer\b|\bmyth|\binsight:|\bworked examples?\b|\billustrat",
        r"\badvisory opinion\b|\b(?:opinion|interpretive|comfort) letter\b|\b(?:companion|tax(?:ation)?|private letter|revenue|class|product|technical|public) ruling|\bchief counsel advice\b|\btechnical (?:interpretation|note|explanation)|\bplain[- ](?:language|english)\b|\breader.s guide|\b(?:three|four|five|six|seven|ten|\d+) (?:things|points|takeaways|changes)\b|\btracker note\b|\bkey points\b|\bsummary of the (?:rule|act|regulation|changes)|\boverview of\b|\bdecoded\b",
    ),
)
_GUIDANCE = _Mark(PolicyStage.INTERPRETATION, _any(r"\bguidance (?:note )?(?:on|for|to|about)\b|\bfinali[sz]ed guidance\b|\bguidance:|^guidance\b"))
_PILOT = _Mark(
    PolicyStage.PILOT,
    _any(
        r"\btrial(?:l?ing|led)\b|\broll-in\b|\bproving ground\b|\bsmall-scale\b|\btest-and-learn\b",
        r"\bto test\b|\btry(?:ing)? out\b|\bcall for participants\b|\b(?:phase one|first phase|early phase|initial phase|limited launch)\b|\bdemonstration\b(?! of)|\bexperiment(?:al|ation)?\b|\blaborator(?:y|ies) (?:admits|opens|selects)",
        r"\bpilot(?:s|ing|ed)?\b(?! (?:licen[cs]|fatigue|whale|boat|training|certificat|error|age))|\bsandbox(?:es)?\b|\btrials?\b(?! (?:by|court|judge|date|balance|data|lawyer))|\btest ?beds?\b|\btest environment\b|\bpathfinders?\b|\bdemonstration (?:projects?|programmes?|programs?|sites?)|\bexperimental (?:regime|scheme|programme|program|framework)|\bearly adopters?\b|\blive testing\b|\bproof[- ]of[- ]concept\b|\bregulatory lab\b|\btest(?:ing)? (?:phase|scheme|ground|programme|program)\b|\bdemonstrator\b|\bfield test|\bbeta (?:phase|test)|\binnovation (?:pathway|testing|waiver)|\b(?:first|second|third|spring|autumn|\w+) cohort\b",
    ),
    _any(r"\bclinical trials?\b|\bpilots and\b|\bspeech\b|\blearn from\b|\bevaluation (?:report|of)\b|\bremote[- ]pilots?\b"),
)
_IMPLEMENTATION = _Mark(
    PolicyStage.IMPLEMENTATION,
    _any(
        r"\bcomplying with the\b|\bon steps for\b|\bto carry out the\b|\bfollowing the .{0,40}\bAct\b|\bpending (?:full )?commencement\b|\badministration by\b|\bputting in(?:to)? force\b|\bto (?:\w+ )?officers\b|\badopting the\b.{0,40}\b(?:code|framework|permit|agreement|standard)|^(?:\w+ ){0,2}?(?:European Union|European Communities) \(|^statutory instrument: European|\b(?:operating|using) the\b.{0,60}\b(?:agreement|fund|scheme|act)\b|\b(?:bilateral|under the .{0,40}) agreement\b|\btransposed?\b|\btransposes\b|\bhow (?:regions|boards|banks|officers|combined authorities)\b|\bimplementing decision\b(?!.{0,60}\b(?:granting|authoris|authoriz|approv|recogni|refus|renew))",
        r"\bhow (?:the )?(?:states?|councils|agencies|authorities|departments|trusts|schools|local) |\bwill operate\b|\b(?:processing|handling|administering|delivering|carrying out|operating|collecting) (?:the|of|claims|refunds|applications)\b|\badministrative instructions?\b|\bstate (?:health )?(?:official|medicaid|director)s? letter|\b(?:letter|circular|memo|memorandum) to (?:all )?(?:state|principal|chief|local|regional|field)|\blocal authority circular\b|\bfor (?:customs|field|enforcement|police) officers\b",
        r"\bimplementing (?:regulation|rules?|directive|act|measures?|technical)|\bimplementation (?:of|plan|guidance|measures?|regulations?|arrangements?|procedures?|notice|circular)\b|\btransposi(?:tion|ng)\b|\bimplement(?:s|ing)?\b(?! (?:\([A-Z]+\) )?decision)|\bmeasures for implementing\b",
        r"\b(?:giving|gives?) (?:local )?effect to\b|\b(?:putting|puts|carrying|bringing)\b.{0,80}\binto (?:practice|operation|effect|force locally)|\b(?:administrative|local|operational|delivery|transitional|administering) (?:arrangements|instructions|guidelines|procedures)\b|\barrangements (?:under|for)\b|\bapplication instructions\b|\broll-?out of\b|\benforcement steps\b",
        r"\badministration of (?:section|the|part)\b|\bfield (?:directive|offices?|instruction)|\bstate (?:implementation )?plan\b|\bnational (?:measures|procedure|application)\b|\bapplying the\b.{0,80}\b(?:regulation|directive|act|code)|\brelease of arrears\b|\b(?:standard operating|operating) procedures?\b|\bto all (?:states?|state|agencies|offices|departments|councils|trusts|schools|banks. nodal)\b|\b\((?:enforcement|EU exit|application)\) regulations\b|\bcompetent authorit|\bunder the (?:federal|national)\b|\b(?:delivery|application|administration|handling|enforcement) (?:instructions|arrangements|manual|protocol|procedures?)\b|\binstructions? (?:to|for)\b|\bguidance to (?:states|local|councils|agencies|departments|schools)|\bmemorandum (?:to|for)\b|\bfederal\b.{0,60}\b(?:state|county|provinc)|\b(?:state|county|provincial|cantonal)\b.{0,60}\bfederal\b|\bdomestic (?:law|application)\b",
    ),
)
_MARKS = (
    _WITHDRAWN, _QUESTIONS, _SPOKEN, _COMMENCES, _MORE_TIME, _GUIDANCE_FOR, _EVENTS, _ENFORCEMENT, _CONSULTATION, _PLAN, _DRAFT, _REPEAL, _AMENDMENT,
    _PILOT, _GUIDE, _IMPLEMENTATION, _GUIDANCE,
)
"""In order: the first mark that a title shows names its stage."""

_OPENINGS: tuple[tuple[PolicyStage | None, re.Pattern[str]], ...] = (
    (
        PolicyStage.FINAL,
        _any(
            r"\bHAS ADOPTED\b|\b(?:we have|has|have) decided to (?:impose|introduce|proceed|make|require|adopt)|\b(?:regulations?|rules?|standard|order) (?:has|have) (?:now )?been made\b|\bby variation order\b",
        ),
    ),
    (
        None,
        _any(
            r"^(?:remarks (?:of|by)|good (?:morning|afternoon|evening)|thank you|ladies and gentlemen|friends,|it is (?:a|my|so) )|\bseasonally adjusted\b|\bmedia advisory\b|\bour annual report\b|\bclosing date for applications\b|\bsalary range\b|\bwill begin trading\b|\bexclusive (?:patent )?licen[cs]e\b|\bwinners will be\b",
        ),
    ),
    (
        PolicyStage.QA,
        _any(r"(?:^|\n)\s*\W?(?:Q(?:uestion)?\s?\d*\s?[.:)]|Q\d)|\?[^?]{3,120}\?[^?]{3,120}\?|\bAnswer:|\bmost common questions\b"),
    ),
    (
        PolicyStage.CONSULTATION,
        _any(
            r"\bwould like to hear\b|\b(?:complete|take) (?:the|our) survey\b|\bwritten representations\b",
            r"\b(?:invit|seek|welcom|request|gather|ask)(?:es|ed|ing|s)?\b(?: for)?[^.\n]{0,50}\b(?:comments?|views|feedback|responses?|submissions?|opinions?)\b",
            r"\b(?:views|comments?|responses?|submissions?|feedback) (?:may|should|must|can|are|is)\b[^.\n]{0,80}\b(?:sent|submitted|received|made|delivered|in writing|welcome|invited|due|by|before)\b|\bcomments due\b|\bopen for comments?\b|\brespond by\b|\bfeedback period\b",
        ),
    ),
    (
        PolicyStage.ENFORCEMENT,
        _any(
            r"\b(?:will|agreed to|must|ordered to|to) pay\b[^.\n]{0,50}[$£€₹¥]|\b(?:fined|penalty of|(?<!liable to a )(?<!maximum )(?<!on conviction to a )fine of|imposed a|civil penalty|monetary penalty|fines totalling)\b|\brespondent\b|\bsuspended (?:the|its|his|her) (?:licen[cs]e|registration|service approval)|\bsentenced\b|\bconvicted\b|\brestrained from\b|\bcourt.s order\b|\bare being recalled\b|\bDecision: Upheld\b|\bapparent violations\b|\bpleaded guilty\b|\b(?:contravened|breached)\b|\bcourt (?:heard|found)\b|\bunlicensed\b[^.\n]{0,60}\b(?:found|ordered|closed)|\bconsents to\b|\bwas prohibited from\b",
        ),
    ),
    (
        PolicyStage.INTERPRETATION,
        _any(
            r"\b(?:is|are) not legally binding\b|\b(?:isn.t|is not|does not constitute) legal advice\b|\bno legal (?:standing|force|effect)\b|\b(?:not be|may not be) (?:used or )?cited\b|\bauthoritative interpretation\b|\b(?:does|do) not (?:create|impose|introduce|add|amend|replace)\b[^.\n]{0,40}\b(?:requirements?|obligations?|dut(?:y|ies)|rules?|code|law)|\bexplains how [^.\n]{0,60}\b(?:reads?|interprets?|appl(?:y|ies)|works?)\b",
            r"\b(?:this|the) (?:letter|note|notice|statement|bulletin|circular|document|guide|paper|advisory|page|ruling|sheet|guidance)\b[^.\n]{0,20}\b(?:explains(?! our reasons)|describes how|responds to your|walks you|summari[sz]es|clarifies|illustrates|offers (?:\w+ )?guidance|(?:provides|gives|sets out) (?:\w+ )?guidance)|\bresponds to your request\b|\bcommission's reading\b|\bin plain words\b|\bcreates? no new\b|\bit is clarified\b|\bhow we read\b",
        ),
    ),
    (
        PolicyStage.REPEAL,
        _any(r"^[^\n]{0,160}\b(?:hereby (?:revoked|repealed|rescinded|revokes|repeals|rescinds|cancelled)|nullif(?:y|ies)|(?:is|are|was|were|has been|have been) (?:revoked|repealed|rescinded|withdrawn|cancelled|archived)|no longer (?:appl(?:y|ies)|ha(?:s|ve) effect|in force|be relied)|shall have no force)\b"),
    ),
    (
        PolicyStage.AMENDMENT,
        _any(
            r"\b(?:further )?to amend\b|\bhas been (?:varied|altered|amended)\b|\b(?:is|are) amended\b|\bamends\b|\bhas (?:today )?varied\b|\b(?:hereby )?extends? (?:by \w+|the (?:due date|deadline|relief|period|transition|time))|\bshould read\b|\bin (?:section|regulation|article|annex|rule|schedule|paragraph)[^.\n]{1,40}\b(?:omit|substitute|insert|replace|is replaced|are replaced)",
        ),
    ),
    (
        PolicyStage.PILOT,
        _any(
            r"\bpilot notice\b|\bthe (?:pilot|trial|sandbox) (?:starts|runs|begins|will (?:start|run|begin))\b|\b(?:one-year|twelve-month|six-month|\w+-month) (?:pilot|trial)\b|\b(?:time-limited|controlled|live) testing\b|\b(?:pilot|trial|sandbox)\b[^\n]{0,250}\b(?:pilot|trial|sandbox|participants?|cohort)\b|\bpathfinder\b|\bto take part in (?:the|a) (?:pilot|trial)|\bin the (?:pilot|sandbox|trial)\b",
        ),
    ),
    (
        PolicyStage.IMPLEMENTATION,
        _any(
            r"\bgives? (?:further|full|legal) effect to\b|\bin line with (?:the )?federal\b|\bperform tasks under\b|\b(?:surveillance|competent) authorit\w+ (?:for|under)\b|\bso that the agreement\b|\bto satisfy the\b|\binto domestic (?:use|law)\b|\blocal rules that\b|\bannounced (?:in|by) the\b[^.\n]{0,60}\b(?:budget|chancellor)\b",
            r"\bto deliver the\b|\btells (?:offices|councils|colleges|trusts|agencies|schools|officers)\b|\b(?:officers|formations|operators in \w+) (?:are to|shall|will) (?:apply|process|follow)\b",
            r"\b(?:give|gives|giving|gave) (?:local )?effect to\b(?! (?:this|these|section|article|that|it))|\bto implement\b(?! (?:this|these))|\bin execution of\b|\bfor the application of\b|\bcarry\b[^.\n]{0,60}\binto\b|\b(?:put|puts|putting|brings?|bringing)\b[^.\n]{0,60}\binto (?:practice|operation|local)\b|\btranspos(?:es?|ing)\b|\bin continuation of\b|\bexecute the\b|\bwill (?:apply|administer)\b[^.\n]{0,60}\bas set out\b|\badminister the\b",
            r"\boperationali[sz]\w+|\bsets? out how\b[^.\n]{0,80}\b(?:will|must|should|are to|shall)\b[^.\n]{0,40}\b(?:apply|administer|carry|operate|deliver|implement|use|run|handle)\b|\binstructs\b|\bdirects? (?:regional|field|local|state|all|district)\b",
            r"\b(?:to (?:meet|comply with|discharge|fulfil|carry out)|as required by|for the purposes of|(?:adopt|incorporat)\w* by reference)\b[^.\n]{0,80}(?:\bRegulation \(E|\bDirective\b|\bfederal\b|\bConvention\b|\btreaty\b)",
            r"\b(?:further|pursuant) to the\b[^.\n]{0,60}\b(?:order|announcement|resolution|national act|policy note)\b|\bfollowing the\b[^.\n]{0,40}\bissued by\b|\bprovince.s part\b|\bunder the federal\b|\b(?:meets|fulfil(?:s|ling)) the federal\b|\brules? by which \w+ (?:meets|implements)|\bis directed to refer\b|(?<!member )\b(?:trusts|schools|councils|local authorities|agencies|(?:field|district|regional) offices?|states|counties|municipalities|colleges|universities|boards|administrators|police forces) (?:\w+ )?(?:are|must|should|shall|will) (?:now )?(?:to|required|asked|told|directed|begin|carry|apply|follow|put)\b|\b(?:local|national|state|provincial|county|municipal) (?:rules|measures|arrangements|procedures?|ordinance|decree|instructions)\b[^.\n]{0,80}\b(?:Regulation|Directive|Act|federal|law)\b|\bcarry out locally\b",
        ),
    ),
    (
        PolicyStage.PLAN,
        _any(
            r"\bexpects? to (?:propose|publish|issue|consult|make)\b|\bwill be introduced in this session\b|\bwork for next year\b|\bplanned outputs\b",
            r"\bintends? to (?:make|issue|publish|begin|amend|propose|consult)\b|\brulemakings? (?:it|he|she|they) (?:intends?|aims?|plans?)|\btentative timetable\b|\bquarter [1-4]:|\bQ[1-4]\)|\bstage [1-4],|\bplanned (?:for|regulatory)\b|\bfiles for adoption\b|\b(?:over|in) the next (?:two|twelve|\d+) (?:quarters|months)",
        ),
    ),
    (
        PolicyStage.DRAFT,
        _any(
            r"\bprovisional text\b|\bdiscussion draft\b|\bwill be (?:placed|laid|put) (?:before|to)\b|\bnot yet (?:been )?(?:introduced|adopted|in force)|\bas introduced\b|\bread (?:the|a) first time\b|\bvoted in plenary\b|\bgoes to plenary\b|\bdraft was laid\b",
        ),
    ),
)
"""What the first words show of a document whose title does not name its stage."""

_NEWS = _any(
    r"\bmeets?\b|\bmeeting\b|\bstatistics\b|\bdata\b(?! (?:protection|security|rules?|regulations?|standards?|privacy|act|sharing|cent|vendors?|access)|-)|\bfigures\b|\bindex\b(?! options)|\bsurvey\b|\bquarterly\b|\bmonthly\b|\bwelcom|(?<!policy )\bstatement (?:by|from|on)\b|\bevent\b|\bhearing\b|\bnamed\b",
    r"\bnew (?:chair|chief|head|director|commissioner)|\boutlook\b|\breport (?:on|shows|finds)|\bstudy\b|\bresearch\b|\bminutes\b|\bcongratulat|\brise[sn]?\b|\bfell\b|\bfalls?\b|\bgrew\b|\bprofile\b|\butili[sz]ation\b|\bbackground note\b|\bper ?cent\b|\b\d+%|\bretire|\bspring|\bupdate on\b|\bwrangles\b",
    r"\bcelebrat|\bspeech\b|\bremarks\b|\bvisits?\b|\bnewsletter\b|\bblog\b|\bpublishes [A-Z]\w+ \w+ 20\d\d$",
)
_FINAL = _any(
    r"\bfinal (?:rules?|regulations?|guidelines?|guidance|order|decision|determination|standards?|report|policy|text)\b|\bpolicy statement\b|\bPS\d\d/\d+|\bregulations?\b|\brules?\b|\bdirectives?\b|\bdirections?\b|\bact\b|\bordinance\b|\border\b|\bguidelines?\b|\bcircular\b|\bnotice\b|\bstandards?\b",
    r"\bcode of (?:practice|conduct)|\bdetermination\b|\bdecision\b|\binstrument\b|\bpolicy\b|\bstrategy\b|\bwhite paper\b|\bframework\b|\brequirements?\b|\bconsultation (?:conclusions?|response|outcome)|\bresponse to (?:the )?consultation|\bscheme\b|\bplan\b|\bby-?law|\bexecutive order|\blicen[cs]e conditions?",
    r"\badopt(?:s|ed|ion)\b|\bapproves?\b|\bissues?\b|\bguidance\b|\bpublishes\b|\bsupervisory (?:statement|letter)|\bSS\d+/\d\d|\btariff|\brelief\b|\bwaiver\b|\bexempt(?:s|ion)\b|\bproclamation\b|\bmanual\b|\brecommendation \(|\bnow applicable\b|\bin(?:to)? (?:force|effect)\b|\btakes effect\b|\bclosure of\b|\bgazett|\bfinali[sz]ed as\b|\b(?:dear|letter to) (?:ceo|industry|firms|trustees|banks|insurers)|\bno-action\b|\bposition statement\b|\blevel (?:for|from)\b|\bcompliance dates?\b",
    r"\b(?:interim|safeguard|emergency) measures\b|\bset at\b|\b(?:code|list|charges|fees|rates|rules|limits)\b.{0,40}\b(?:published|confirmed|announced)$",
    r"\b(?:fund|grants?|subsid(?:y|ies))\b.{0,60}\b(?:round|open|applications?|closing)|\bcall for (?:applications|proposals|tenders)|\binvit(?:es|ing) applications",
)
_BINDING = _any(
    r"\bfinal rules?\b|\bcomes? into force\b|\b(?:is|are|will be|takes?) effect(?:ive)?\b|\bhereby (?:makes?|issues?|adopts?|directs?|orders?|amend)|\bmade (?:under|in exercise)|\bin (?:the )?exercise of (?:the|its) powers|\bpolicy statement\b|\bHAS ADOPTED|\bmakes\b[^.\n]{3,90}\bunder\b|\bshall enter into force",
    r"\bthis (?:standard|regulation|order|rule|instrument|notice|circular|direction) applies|\bhas (?:today )?(?:issued|published|adopted|made|approved) (?:the |its |new |final |a )|^effective\b|\bapplicable (?:to|from)\b|\bshould follow it\b|\btakes effect\b|\bapplies to all\b|\bfrom (?:today|\w+ \d{1,2}|\d{1,2} \w+)\b[^.\n]{0,80}\b(?:will be|must|need|offence)\b|\b(?:businesses|firms|companies|employers|operators|traders) must\b|\bcommences on\b|\bguidelines issued under\b",
)
_OFFENCE = _any(
    r"\b(?:fine[sd]?|penalt(?:y|ies)|prosecut\w+|convict\w+|offen[cs]es?|guilty|infringements?|violat(?:ed|ions?)|misconduct|defraud\w*|misled|recall(?:ed)?|seized|disqualified|struck off|banned)\b"
)
"""What shows a case against a firm where neither the title nor the form speaks of a rule."""
_APPLIES = _any(
    r"\btakes effect\b|\bin(?:to)? (?:force|effect)\b|\bapplicable\b|\b(?:expected|required) to follow\b|\bissu(?:ing|es) this guidance\b|\bfinal guidance\b|\badopted\b|\bapplies (?:to|from)\b|\bit replaces\b|\bmust comply\b"
)
"""What shows that guidance binds or was issued to be followed, and does not only explain."""
ENGLISH_ASKS = _any(
    r"\b(?:comments?|responses?|views|feedback|submissions?|representations?|remarks)\b[^.\n]{0,80}\b(?:must|should|may"
    r"|can|are|is|by|within|before|until|no later than|on or before|due|invited|welcome)\b|\b(?:invit|seek|welcom"
    r"|request)(?:es|ed|ing|s)?\b[^.\n]{0,60}\b(?:comments?|views|feedback|responses?|submissions?)\b"
    r"|\bcomment period\b|\bconsultation (?:closes|ends|period|is open|runs)|\bplease (?:send|respond|submit)"
    r"|\bfeedback (?:open|period)|\bcalls? for comments|\bhear your views|\blet us (?:know|have) (?:your|what)",
)
_DRAFT_BODY = _any(
    r"\b(?:proposed rule|ACTION: Proposed|notice of proposed rulemaking|consultation paper|discussion paper"
    r"|request for comments?|call for (?:evidence|input)|we (?:are )?(?:propos|consult)|we are seeking"
    r"|proposes? to|this consultation)\b",
)
_ACTIONS: tuple[tuple[PolicyStage, re.Pattern[str]], ...] = (
    (PolicyStage.REPEAL, _any(r"\b(?:withdrawal|rescission|removal|repeal|revocation)\b")),
    (
        PolicyStage.AMENDMENT,
        _any(r"\b(?:delay|correct(?:ion|ing)|technical amendments?|correcting amendments?|partial stay|rehearing|amendment of final)\b"),
    ),
    (
        PolicyStage.CONSULTATION,
        _any(r"^(?!.*\b(?:final|temporary|direct)\b).*\b(?:proposed|comments?(?: period)?|petition|advance notice)\b"),
    ),
    (PolicyStage.FINAL, _any(r"\b(?:final|temporary|emergency)\b.{0,20}\b(?:rules?|orders?|determination)\b")),
)
"""What the line ACTION: of the Federal Register says that a document does."""
_ACTION = re.compile(r"^ACTION:\s?(?P<value>[^\n]{3,160})", re.MULTILINE)
_SUBTITLE = _any(r"^(?:amending|extending|correcting|repealing|implementing|supplementing)\b")
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
_VIEWS = _any(
    r"\b(?:sound|good|better) practices?\b.{0,200}\b(?:observed|identified|share|expect|illustrate)"
    r"|\bissued as guidance\b|\bgives our view\b",
)
_MIN_NORMS = 2
_QUOTED = re.compile(r"[“\"][^“”\"\n]{1,300}[”\"]")
_NORMS = _any(r"\b(?:must|shall|may not|(?:is|are) required to|(?:is|are) (?:revoked|repealed|prohibited))\b")


def read_english_stage(document: DocumentText) -> PolicyStage | None:
    title, head = document.title, document.folded[:_HEAD_CHARS]
    if _BILL.search(title) or _BILL_BODY.search(head):
        return PolicyStage.DRAFT
    if acted := _read_action(document):
        return acted
    mark = next((mark for mark in _MARKS if mark.shows(title)), None)
    stage = mark.stage if mark else None
    is_open = mark is None or stage in (PolicyStage.DRAFT, PolicyStage.AMENDMENT)
    if is_open and _is_proposal(title, head[:_FIRST_CHARS], stage) and _asks(document):
        return PolicyStage.CONSULTATION
    if stage is PolicyStage.IMPLEMENTATION and _is_amending(document):
        return PolicyStage.AMENDMENT
    pilots = next(words for stage, words in _OPENINGS if stage is PolicyStage.PILOT)
    if stage is PolicyStage.INTERPRETATION and pilots.search(head[:_OPENING_CHARS]):
        return PolicyStage.PILOT
    if mark is _GUIDANCE:
        return _read_guidance(document)
    return _read_opening(document, head) if mark is None else stage


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
    if not _FINAL.search(document.title) and _OFFENCE.search(opening):
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
        named = next((mark.stage for mark in _MARKS if mark.shows(document.title)), None)
        return named if named in (PolicyStage.AMENDMENT, PolicyStage.REPEAL) else stage
    return stage
