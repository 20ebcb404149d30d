"""The words by which titles of English documents name a stage in the life of a policy."""

from monitor.policies.title_signs import TitleSign, match_any
from monitor.vocabulary import PolicyStage

_WITHDRAWN = TitleSign(
    PolicyStage.REPEAL,
    match_any(
        r"\b(?:withdraw(?:al|n|s|ing)|rescission|terminat(?:ion|es))\b.{0,40}\b(?:proposed|proposal|consultation"
        r"|advance notice)",
        r"^withdrawn\b",
    ),
)
_COMMENCES = TitleSign(
    PolicyStage.FINAL,
    match_any(
        r"\(commencement\b[^)]*\) (?:notice|order|proclamation|regulations)\b",
        r"\bresponses? to (?:the )?(?:feedback|submissions|comments)\b|^statement:|\bconsultation conclusions\b",
        r"\b(?:government|our) response\b.{0,20}\bdecision\b|\bannounces? final\b.{0,60}\brules?\b",
        r"\border (?:approving|issuing)\b(?! stipulation)(?!.{0,30}\b(?:consent|settlement))",
        r"\bimmediate effectiveness\b|\bfinal determinations?\b|\bfinal rules and\b",
        r"\bfinali[sz]es?\b(?!.{0,40}\b(?:settlement|consent|order (?:against|with))\b)",
    ),
    match_any(r"\(?amendment\b.{0,40}\b(?:rules?|regulations|act|order) 20"),
)
_QUESTIONS = TitleSign(
    PolicyStage.QA,
    match_any(
        r"\brepl(?:y|ies) to (?:industry|questions from|queries|firms)",
        r"\bwe answer\b|\bin question form\b",
        r"\bwhat \w+ ask\b|\bqueries\b|\b(?:readers|customers|clients|firms|users|residents) ask\b|\bquestions: ",
        r"\bQ ?(?:&|and|\+) ?As?\b|\bquestions (?:and|&|with) answers\b|\bfrequently asked\b|\bFAQs?\b",
        r"\bquestions answered\b|\bhelpdesk\b",
        r"\bask us\b",
        r"\b(?:common|your|top|popular|key|typical|recurring|reader|member|industry|stakeholder|more"
        r"|new) questions?\b",
        r"\bquestions (?:we|you|from|of the|people|firms|\w+ ask)",
        r"\banswers (?:to|on|for|from (?:the )?(?:inspector|staff|team|regulator|experts?)|\d)",
        r"\b(?:publish(?:es|ed)|staff|consolidated|short|quick) answers\b",
        r"\bkeeps? asking\b|\bthings \w+ (?:ask|want to know)|\b(?:you|people|firms|clients) asked\b",
        r"\bnew question \d|\bdisclosure interpretations\b",
    ),
    match_any(r"\bquestions? (?:for|to) (?:consult|respon)|\bparliamentary questions?|\bquestions? time\b"),
)
_EVENTS = TitleSign(
    None,
    match_any(
        r"\bmonetary policy statement\b",
        r"\bsuspension of trading in\b|\btrading halt\b",
        r"\b(?:meets?|met) (?:with|counterpart|his|her|the|in)\b",
        r"\b(?:chairs?|hosts?|addresses|attends?|visits?|welcomes|congratulates|lays foundation|inaugurates|hails)\b",
        r"\bto host\b|\bholds? (?:talks|dialogue|meeting|call)|\btalks with\b|\bcall with\b|\bdiscuss(?:es|ed)?\b",
        r"\bsigns?\b|\banniversary\b",
        r"\b(?:weekly|meeting) agenda\b|\bagenda, \d|\bminutes of\b|\bsunshine act\b|\bmeeting of\b|\bawards\b",
        r"\bprizes?\b|\bshortlist\b|\bmemorandum of understanding\b|\bMoU\b|\bexhibition\b|\bfestival\b",
        r"\bopening hours\b|\boffice closure|\bpublic holiday|\b(?:scheduled|system|site|planned) maintenance\b",
        r"\btraining (?:course|session|day)|\bscholarship",
        r"\bannual (?:report|review)\b|\bstatistic(?:s|al)\b|\bunemployment\b|\binflation\b|\bprice index\b",
        r"\blabou?r force\b|\bflash estimate\b|\bforeign exchange reserves\b|\bGDP\b|\btrade balance\b",
        r"\bretail sales\b",
        r"\b(?:bank|cash|repo|policy|interest|exchange) rate\b.{0,40}\b(?:maintain|unchanged|held|at \d|hold|steady"
        r"|for)",
        r"\b(?:maintains?|holds?|keeps) .{0,20}\brates?\b",
        r"\b(?:auction|sale|tender|examination|exam) (?:results?|dates)\b|\btender(?:s)? (?:for|results?|notice)",
        r"\binvitation to (?:tender|bid)|\brequest for (?:proposals|quotations?)\b|\ballotment\b|\bcontract award",
        r"\bprocurement\b.{0,20}\bnotice",
        r"\bpublishes\b.{0,50}\b(?:report|review|data|figures|results|accounts|research|survey)\b",
        r"\b(?:listing|delisting|admission to trading|IPO|dividend (?:declaration|payment|dates?)|coupon"
        r"|treasury bills?)\b",
        r"\bGAO report\b|\bbulletin, (?:\w+ )?20\d\d\b|\b(?:monetary|employment) (?:policy |situation )?summary\b",
        r"\bopens? (?:new|offices?|a new)\b|\binvitation:|\bnotice of intent to grant\b.{0,30}\blicen[cs]e",
        r"\bEuropean citizens. initiative\b",
    ),
    match_any(
        r"\b(?:final|proposed|amend\w*|repeal\w*|consult\w*|draft|implement\w*|enforce\w*|fin(?:es|ed)|penalt\w+"
        r"|settle\w*|comments?|hearing on|revo\w+|withdraw\w*|rules?|regulations?|pilot|sandbox|requirements?"
        r"|guidance|standards?)\b",
        r"\bdata (?:protection|security)|\bact\b|\bhow to\b|\bexplain|\bwhat\b|\bplanned\b",
    ),
)
_SPEECH = TitleSign(
    None,
    match_any(r"^(?:\w+ ){0,3}?(?:speech|remarks|keynote|opening statement)\b(?:.{0,60}\b(?:by|at|to|before)\b|:)"),
)
_SPOKEN = TitleSign(
    None,
    match_any(
        r"\bcall for candidates\b",
        r"\bgraduate (?:programme|scheme|trainee)|\binternship",
        r"\b(?:speech|remarks|keynote|testimony|lecture|eulogy|opening statement)\b(?:.{0,12}\b(?:by|of|at"
        r"|to|before|on|for)\b|$|:|,)",
        r"\b\w+.s address\b|\baddress (?:to|at|by) the\b|\b(?:opening|keynote|welcome) address\b",
        r"\bfireside chat\b|\breadout\b|\b(?:minutes|summary) of (?:the )?(?:\w+ ){0,3}meeting",
        r"\bstatement (?:by|from) the\b|\bwelcom(?:es|ed)\b",
        r"\bappoint(?:s|ed|ment|ments)\b|\b(?:stands?|steps?|stepping|standing) down\b|\bto (?:retire|leave)\b",
        r"\bretires\b|\bjoins\b|\bnamed (?:as|chair|chief|head)\b|\bvacanc(?:y|ies)\b|\bcareers?\b",
        r"\bnominations? sought\b|\bnew (?:chair|chief|head|director|commissioner)\b",
        r"\bwebinar\b|\bworkshop\b|\bconference\b|\bsummit\b|\bseminar\b|\broundtable\b|\bopen day\b|\bceremony\b",
        r"\bdinner\b|\breception\b|\bphotos?\b|\bcelebrat|\bnewsletter\b|\bpodcast\b|\bblog\b",
        r"\bmedia (?:advisory|invitation|availability)\b|\bto make (?:an )?announcement\b|\bpublic schedule\b",
        r"\bsunshine act\b|\b(?:contract|quotation|tender|procurement|vacancy|award) notice\b",
        r"\btransfers? and postings?\b|\bnotice of filings\b|\boffice (?:counters|closure)",
    ),
    match_any(
        r"\b(?:proposed|consultation|comments?|draft|appointment of (?:auditors|representatives)"
        r"|appointed (?:representatives?|person)|appointed day)\b|\b(?:regulations|rules|order|act|code) 20\d\d"
        r"|\) (?:regulations|rules|order)\b"
    ),
)
_MORE_TIME = TitleSign(
    PolicyStage.CONSULTATION,
    match_any(
        r"\b(?:extension|extend(?:s|ed|ing)?|reopening|reopens)\b.{0,30}\b(?:comment|consultation|submission"
        r"|feedback)\b"
    ),
)
_PUNISHED = (
    r"\bcited for\b|\bshuts\b.{0,30}\billegal|\billegal\b.{0,40}\b(?:ring|operat|site|scheme|service)",
    r"\bcompensates?\b",
    r"\b(?:approval|certificate|licen[cs]e|registration)\b.{0,20}\b(?:pulled|put on hold|stripped|lost)\b",
    r"\bassurance of\b|\bdirection given to\b|\bremoval order\b|\bpanel decision\b|\bregulatory actions? against\b",
    r"\bprohibition: |\bnotice of suspension\b|\bwinds? up\b",
    r"\bnon-complian|\bspecial measures\b|\bagrees to (?:remediation|refund|compensate|redress)|\border to pay\b",
    r"\bto fine\b|\bloses .{0,20}licen[cs]e|\bstop order\b|\bdestroyed\b",
    r"\b(?:pharmacist|doctor|nurse|solicitor|broker|adviser|trader|dentist|firm|company)s? (?:is )?suspended\b",
    r"\bsuspended for \d|\bcompliance notice\b",
    r"\bloses (?:appeal|challenge)\b|\bin breach of\b|\borders recovery\b|\bclosed by\b|\bmisled\b|\bblacklist",
    r"\bwithdrawn from sale\b",
    r"\bwithdraw(?:s|al of)\b.{0,20}\b(?:registration|approval|licen[cs]e|authori[sz]ation) of\b",
    (
        r"\b(?:final|decision|penalty|prohibition|improvement|infringement|infraction|warning|supervisory"
        r"|stop[- ]sale"
        r"|stop[- ]work|show[- ]cause|suspension|disqualification) notices?\b"
    ),
    r"\bnotice of final decision\b",
    (
        r"\b(?:fin(?:es|ed)|penal(?:ty|ties|i[sz]es?|i[sz]ed)|censure[sd]?|reprimand(?:s|ed)?|admonish\w*"
        r"|sanction(?:s"
        r"|ed)|disciplin(?:es|ed|ary)|disqualif(?:ies|ied)|debar(?:s|red)|barred|bars)\b"
    ),
    r"\bcharged\b.{0,80}\b(?:with|over|for|in connection)\b|(?<=\w )charges .{1,80}\b(?:with|over|in connection)\b",
    r"\bsettle(?:s|d|ment)\b|\bcease[- ]and[- ]desist\b|\bin the matter of\b|\bconsent (?:order|decree|agreement)\b",
    r"\bwaiver,? and consent\b|\bagreed facts\b",
    r"\benforcement (?:action|order|notice|undertaking|release|proceeding)",
    r"\b(?:enforceable|court[- ]enforceable|interim) undertakings?\b|\bordered to\b|\bdebarment\b",
    r"\bstop[- ]work order|\bbanned\b|\bfine (?:following|for|against|on|over)\b|(?:million|billion|\d)m? fine\b",
    r"\borders .{2,60} to (?:stop|pay|cease|recall|divest|refund|compensate)\b|\blitigation release\b",
    r"\b(?:SEC|CFTC|FTC|FCA|ASIC|ACCC|SFC|MAS|CMA|EPA|DOJ|commission|authority) v\.? [A-Z]",
    r"\bprohibition orders\b|\bbans?\b.{0,30}\b(?:from|director|adviser|broker|trader|former|for)\b",
    r"\bconvict|\bprosecut|\bjailed\b|\bsentenced?\b|\bguilty\b|\bpleads?\b|\bindict|\bsue[sd]?\b|\blawsuit",
    r"\bcourt (?:orders?|fines|bans|rules)|\bjudge?ment\b(?: against| in)|\binjunction\b",
    r"\bobtains\b.{0,30}\b(?:order|judgment|relief)",
    r"\b(?:pays?|remit|forfeit(?:s|ed)?|refund)\b.{0,30}(?:million|\$|£|€|₹|¥)",
    (
        r"\b(?:cancel(?:s|led)|suspen(?:ds|ded)|revok(?:es|ed)|lift(?:s|ed)?)\b.{0,40}\b(?:licen[cs]e|registration"
        r"|permit|approval|authori[sz]ation|membership)"
    ),
    r"\b(?:licen[cs]e|registration|permit|approval)\b.{0,60}\b(?:suspended|cancelled|revoked|withdrawn)",
    r"\bwarning letters?\b|\bnotice of (?:violation|contravention|apparent liability|default|breach)",
    r"\bassessing civil\b|\bprohibition order\b|\binstitut(?:es|ing) proceedings|\bproceedings against\b",
    r"\bdirections? against\b|\bfindings? against\b|\bshow cause\b|\binterim order\b",
    r"\b(?:decision|ruling)\b.{0,30}\b(?:abuse|cartel)|\bruling on\b.{0,60}\b(?:Ltd|Limited|plc|Inc|LLC|Corp)",
    r"\border (?:imposing|instituting|against|assessing|subject to penalty)",
    r"\binfring(?:ed|ement)\b(?!.{0,20}\bprocedure)|\bimposes\b.{0,40}\b(?:penalty|fine|order|conditions)",
    r"\brecall(?:s|ed|ing)?\b(?!.{0,30}\b(?:rules?|regulations?|guidance|policy|process))|\bseiz(?:es|ed|ures?)\b",
    r"\bimport alert\b|\bstruck off\b|\bunlawful\b.{0,40}\bby\b",
    r"\b(?:breach|violation|failings?|misconduct|fraud|misleading)\b.{0,30}\bby [A-Z]|\bsurcharge\b.{0,40}\bemployer",
    r"\bcrackdown\b|\b(?:asset )?freez(?:e|es|ing) (?:order|assets)|\bwound up\b|\bexpel(?:s|led)\b",
    r"\bdetain(?:s|ed)\b|\bimpound|\bdisgorge|\brestitution\b|\bforfeiture\b|\bprice[- ]fixing\b|\bcartel\b",
    r"\babatement notice|\bcompliance order\b|\badjudication\b|\btrading ban\b|\bclosure order\b",
    (
        r"\b(?:revocation|cancellation|suspension|withdrawal) of .{0,60}\b(?:licen[cs]e|registration|permit"
        r"|authori[sz]ation|certificate)\b(?! for)"
    ),
    r"\b(?:takes?|taken|taking) (?:\w+ )?action against\b|\bhit with\b|\btold to\b|\barrest(?:s|ed)\b",
    r"\bappeal (?:dismissed|upheld)\b|\btribunal (?:upholds|dismisses|orders|finds)\b|\bfound (?:in|to have)\b",
    r"\bundertaking\b",
)
_ENFORCEMENT = TitleSign(
    PolicyStage.ENFORCEMENT,
    match_any(*_PUNISHED),
    match_any(
        r"\b(?:penalt(?:y|ies)|sanctions?|recall|enforcement|settlement|disciplinary"
        r"|sentencing)\b.{0,20}\b(?:framework|policy|guidelines?|rules?|regime|regulations?|guidance|act|code|bill"
        r"|order 20|finality|system|cycle)\b",
        r"^(?:proposed|draft|consultation|proposals?|review of) .{0,40}\b(?:penalt|sanction|settlement|fine)",
        r"\bpenalty units\b|\bsanctions list\b",
        r"\b(?:requests?|calls?) (?:for )?(?:public )?(?:comments?|evidence|input|views)\b",
        r"\bconsult(?:s|ation)\b|\b(?:cash|half-hourly|physical)[- ]settle|\bsentence(?:s)? of the\b",
        r"\btext settled\b|\bdiscount\b",
    ),
)
_CONSULTATION = TitleSign(
    PolicyStage.CONSULTATION,
    match_any(
        r"\boptions paper|\breform options\b|\btell government\b|\btargeted engagement\b",
        r"\binvitation for submissions\b",
        r"\byour (?:opinion|views?|say|feedback|thoughts)\b|\bout for (?:views|comments?|consultation)\b",
        r"\bhearing from you\b",
        r"\bshare your (?:views|thoughts)\b|\bgathering evidence\b|\bstakeholder survey\b",
        r"\bproposed rule ?making|\bproposed rules?\b|\bNPRM\b",
        r"\brequests? (?:for )?(?:public )?(?:comments?|information|input|feedback|views)",
        r"\bcalls? for (?:evidence|input|views|information|comments?|feedback|submissions)",
        r"\b(?:discussion|issues|concept|consultation|green|position) paper",
        r"\bhave your say|\btell us (?:what|your)|\bwhat do you think|\bmake a submission",
        r"\b(?:views|comments?|feedback|submissions|inputs?|opinions|responses) (?:are )?(?:invited|sought|wanted"
        r"|welcome|requested|needed|open|due)",
        r"\b(?:seeks?|seeking|wants?|invit(?:es|ing|ation to)|welcomes|gather(?:s|ing)) .{0,24}(?:comments?|views"
        r"|feedback|input|opinions|submissions)",
        r"\bpublic (?:comment|consultation|engagement|views)|\bnotice of (?:public )?consultation",
        r"\bproposed collection\b|\b[36]0-day notice\b",
        r"\bproposed? (?:[\w-]+ ){0,4}?(?:changes?|amendments?|revisions?|guidance|guidelines?|regulations?|order"
        r"|standards?|determination|policy|decision|directive|licence|reforms?|requirements?|ban|repeal|measures?"
        r"|rules?|scheme|framework|approach|listing|roadmap|variation|withdrawal|restrictions?|limits?|thresholds?"
        r"|levy|fees?|charges?|duties|rates?|tariffs?|closure)\b",
        r"\bproposals? (?:for|to|on)\b|\bproposes\b|\bDP\d\d/\d+|\bCP\d\d/\d+:",
        r"\bCP\d\d/\d+\b(?!.{0,60}(?:final|response|feedback))|\bconsult(?:s|ing)? on\b",
        r"\bdraft .{0,60}for (?:public )?(?:comment|consultation|feedback)|\bpre-decision\b|\bcomment request\b",
        r"\bcomments by\b|^CP ?\d+\b",
        r"\bconsultation(?:s)?\b(?! (?:response|conclusions?|outcome|summary|report|feedback"
        r"|statement))(?!.{0,50}\b(?:response|outcome|conclusions?|summary of responses|decision|closed)\b)",
    ),
    match_any(
        r"\bcommission proposes\b|^proposal for a (?:council )?(?:regulation|directive|decision)\b|^PS ?\d",
        r"\bfinal rules\b",
        r"\bresponse to [A-Z][\w ]{1,30}(?:'s)? .{0,30}consultation|^FR/\d",
    ),
)
_PLAN = TitleSign(
    PolicyStage.PLAN,
    match_any(
        r"\bforecast of (?:initiatives|legislat)",
        r"\b(?:legislative|strategic|regulatory|rulemaking) (?:review )?(?:forecast|agenda)\b",
        r"\bmedium-term programme|\bthematic (?:reviews|inspections) for 20|\btable of planned",
        r"\bwhat supervisors will\b",
        r"\bunder way and\b|\breview (?:calendar|programme|schedule)\b|\bmanagement plan\b|\bproject list\b",
        r"\bexpects to (?:bring|publish|make)\b|\bin preparation\b|\bmilestones$|\bstrategic direction\b",
        r"\bdirection statement\b|\b20\d\d(?:[-–/]\d+)? plan\b",
        r"\bwhat we (?:will|plan)\b|\bprogramme of (?:law )?reform\b|\blist of bills\b|\bking.s speech\b",
        r"\btimeline (?:for|of)\b|\bstatement of (?:regulatory )?intent\b|\bprogramme for review",
        r"\b(?:rulemaking|regulatory|legislative|standard-setting)\b.{0,30}\b(?:outlook|projects|pipeline|timeline"
        r"|timetable|programme|program)\b",
        r"\b(?:regulatory|unified|legislative|rulemaking|standards|policy|reform|work|annual|forward|business"
        r"|rule) (?:agenda|plans?|programme|program|roadmap|timetable|calendar|priorities|schedule|pipeline"
        r"|outlook)\b",
        r"\bwork ?plan\b|\bregulatory initiatives grid|\bforward (?:work|regulatory|look)",
        r"\b(?:work|supervisory|monetary|research) (?:programme|program|plan|priorities)\b",
        r"\b(?:supervisory|examination|supervision|enforcement|oversight|inspection|regulatory|strategic"
        r"|legislative) priorities\b",
        r"\bpriorities (?:for|in) 20\d\d|\b20\d\d(?:[-/–]\d+)? priorities\b|\bprogramme of work\b",
        r"\b(?:calendar|timetable|list|agenda) (?:of|for)\b.{0,40}\b(?:priorities|legislati|rule|guidelines?|reform"
        r"|initiatives|instruments|proposals)",
        r"\bplanned (?:through|for|rule|regulat|legislat|initiatives|instruments)|\bwhat.s coming\b",
        r"\breform timetable\b|\b(?:means|intends|plans) to (?:table|propose|issue|publish|bring|develop)",
        r"\b(?:rolling|delivery|operating|strategic|audit|inspection|multi-?annual|multi-?year|legislation"
        r"|standardi[sz]ation) (?:plan|programme|program|schedule|roadmap)\b",
        r"\b(?:upcoming|forthcoming) (?:rule|regulat|legislat|consult|publication|work|guid)|\byear ahead\b",
        r"\blook(?:ing)? ahead\b|\bhorizon scan|\bregulatory horizon\b|\broad ?map\b",
        r"\b(?:plans|agenda|programme) (?:for )?20\d\d|\bpriorities\b|\bnext (?:12|twelve|24) months\b",
        r"\bpreliminary plan\b|\bnotice of intent\b.{0,40}\b(?:to (?:develop|prepare|initiate|begin)|rulemaking)",
        r"\bcorporate plan\b|\bstatement of intent\b",
    ),
    match_any(
        r"\b(?:implementation|state|transition|recovery|pension|business continuity|action) plan\b|\bamend|\bapprov"
    ),
)
_DRAFT = TitleSign(
    PolicyStage.DRAFT,
    match_any(
        r"\bfinal draft\b|\bcommission proposes\b",
        r"\bcompromise (?:text|proposal)\b",
        r"\bdraft (?:ITS|RTS)\b|\bsubmits? (?:final )?draft\b|^(?:final|zero|working) draft\b",
        r"\bexposure draft\b|\bdiscussion draft\b|\bbill\b(?! of\b)",
        r"\bdraft (?:[\w-]+ ){0,3}?(?:delegated|implementing|regulations?|rules?|order|law|act|directive|standard"
        r"|ordinance|legislation|guidance|guidelines|instrument|bill|statement|opinion|report|code|text|circular"
        r"|notice|decision|determination|plan|policy|strategy|methodology)\b",
        r"^draft\b|\bdraft$|\bworking text\b|\bdraft(?:ing)? (?:text|committee)\b",
        r"\bprovisional (?:agreement|text|deal)\b|\btrilogue\b|/(?:F?DIS|CD)\b|\b(?:first|second|third) reading\b",
        r"\bmark-?up\b|\blegislative text\b|\bmodel (?:law|act|bill)\b.{0,30}\btext",
        r"\bcommittee\b.{0,40}\b(?:adopts|backs|votes on|endorses) (?:its )?(?:position|report|mandate|draft)",
        r"\bnegotiating (?:mandate|position)\b|\bgeneral approach\b|\bintroduces? (?:legislation|bill)",
        r"\btrailer bill\b|^proposal for a (?:council )?(?:regulation|directive|decision)\b",
    ),
)
_REPEAL = TitleSign(
    PolicyStage.REPEAL,
    match_any(
        r"\bremoved from\b.{0,20}(?:statute|book|code|rulebook)|\bspent (?:provisions|instruments)",
        r"\btaken down\b",
        r"\bend(?:s|ing)? of\b.{0,40}\b(?:scheme|regime|order|rule|restrictions|requirement|measures)|\blapses?\b",
        r"\brepeal(?:s|ing|ed)?\b|\brevo(?:cations?|kes?|king|ked)\b|\brescission|\brescind(?:s|ing|ed)?\b",
        r"\bwithdraw(?:al|s|ing|n)\b(?! of (?:cash|funds))|\bdisapprov(?:al|es|ing)\b|\bnullif|\babolish",
        r"\babolition\b|\bscrap(?:s|ped|ping)\b|\bannul(?:s|led|ment)",
        r"\bremoval of (?:obsolete|outdated)|\bceas(?:es|ing) to (?:apply|have effect)\b",
        r"\bcancellation of (?:the )?(?:circular|notice|guid|instruction)",
        r"\b(?:ending|terminating|discontinu(?:es|ing|ation of)|retir(?:es|ing|ement of)) (?:the |of )?(?:[A-Z]"
        r"|\w+ (?:order|guidance|scheme|rule|circular|policy))",
        r"\bno longer (?:appl(?:y|ies)|in force|required|has effect)\b|\bsunset(?:s|ting)?\b of",
        r"\bvacat(?:es|ed|ur)\b|\bsuperseded\b|\bobsolete\b|\bexpir(?:y|ation) of\b",
        r"\btermination of .{0,40}(?:order|emergency|program|rule|guidance|designation|agreement)",
        r"\bcancel(?:s|led|lation)?\b.{0,60}\b(?:circular|notice|guidance|order|standard|instructions?|bulletin"
        r"|policy|rule|notification)\b",
        r"\b(?:circulars?|notice|guidance|order|standards?|instructions?|bulletin|policy|rules?|notification|scheme"
        r"|exemption|relief|statement)\b.{0,60}\b(?:cancelled|withdrawn|ends|ended|lapses?|expires?|retired|archived"
        r"|discontinued|removed|abolished|scrapped)\b",
        r"\bremov(?:es|al of|ing)\b.{0,60}\b(?:regulation|rule|guidance|provisions?|standards?)\b",
    ),
    match_any(r"\bnot withdrawn\b|\bamendment and repeal\b|\bamend\w* and (?:repeal|revo)"),
)
_AMENDMENT = TitleSign(
    PolicyStage.AMENDMENT,
    match_any(
        r"\b(?:rate|schedule|table|annex|threshold)s?\b.{0,30}\b(?:revised|uprated|updated|adjusted)\b",
        r"\b(?:year|month)s? delay\b|\bstatement of changes\b|\bcorrected\b|\buprated\b",
        r"\border changed\b|^postponing\b|\b(?:kept|extended|prolonged) for\b|\brectification\b",
        r"\bby amending order\b|\bupdated under\b",
        r"\bdates?\b.{0,40}\b(?:moved|deferred|pushed back|put back|brought forward)\b",
        r"\b(?:heading|entry|paragraph|form|table|annex)\b.{0,30}\breplaced\b|\b(?:substituted|inserted) in\b",
        r"\bprolong|\bcorrected version\b|\b(?:partial )?stay of\b|\badding (?:paragraph|section|article)",
        r"\bdeadline\b.{0,50}\b(?:pushed|put) back\b|\btechnical (?:edits|changes)\b",
        r"\bsuspension of (?:certain )?(?:requirements|provisions|rules|the application)",
        r"\bamendments?\)?\b(?! (?:proposal|paper))|(?<!and )\bamend(?:s|ing|atory)\b",
        r"(?<!the )\bamended\b(?! (?:\w+ )?(?:regulation|rules?|directive|act|threshold))",
        r"\bcorrect(?:ion|ing)s?\b(?! (?:facility|institution|service|officer))|\bcorrigendum\b|\berrat(?:um|a)\b",
        r"\baddendum\b",
        r"\bvari(?:ation|ed|es|ance)\b(?: (?:to|of|for)\b|$)|\binstrument varied\b|\bmodif(?:ication|ies|ying)\b",
        r"\b(?:section|rule|paragraph|article|regulation|schedule|condition"
        r"|part)s? [\w. ]{1,20}(?:.{0,40})\b(?:inserted|replaced|substituted|omitted|deleted|varied)\b",
        r"^(?:\w+ )?changes to\b|\bdeadline (?:moved|extended|pushed|changed)|\bmore time\b",
        r"\bnew (?:date|deadline) for\b|\b(?:insertion|substitution|deletion) of\b",
        r"\bsupplement(?:al|ary)? (?:order|notice|circular|instrument|determination)|\brevision(?:s)? to\b",
        r"\badjust(?:ments?|s) to\b|\bupdates? to\b|\bsupplementary direction\b",
        r"\b(?:delay(?:s|ed|ing)?|exten(?:sion|ds|ded|ding)|postpone(?:s|d|ment)?|deferr?(?:al|s|ed)"
        r"|pushes back)\b.{0,50}\b(?:date|deadline|period|time|relief|until|transition|derogation|implementation"
        r"|compliance|applicability|commencement|by (?:one|two|\w+) (?:year|month))",
        r"\b(?<!closing )(?:date|deadline|period)s? (?:extension|extended|delay(?:ed)?|postponed|deferred)\b",
        r"\bfinal rule; (?:delay|correction)|\brehearing and clarification\b",
    ),
    match_any(r"\bdraft\b|\bhow\b|\bapplying\b"),
)
_GUIDANCE_FOR = TitleSign(
    PolicyStage.INTERPRETATION, match_any(r"^guidance (?:for|to|note for)\b(?!.{0,80}\b(?:consultation|comment)$)")
)
_GUIDE = TitleSign(
    PolicyStage.INTERPRETATION,
    match_any(
        r"\bin short\b|\bstaff accounting bulletin|\bcompanion\b|\bscope of the\b",
        r"\bposition of the (?:division|staff)\b|\bknow your\b|\bwhat .{2,40} says?\b|\bmeaning of\b",
        r"\bthe essentials\b|\bdemystified\b|\bwalk[- ]?through\b|\bnotes on (?:clauses|sections)\b|^video:",
        r"\bbackground to\b",
        r"\bexplain(?:ed|er|s|ing)\b|\bexplanatory (?:memorandum|notes?|statement|document|guide)|\bfact ?sheet\b",
        r"\bguidance note\b|\bguide (?:to|for|on)\b|\bguide$|\bshort guide\b",
        r"\binterpret(?:ation|ive|ative|ing|ations)\b(?! act)|\bat a glance\b|\bin (?:brief|a nutshell|plain)\b",
        r"\bstaff (?:bulletin|guidance|legal bulletin|statement)",
        r"\bcompliance guide",
        r"\bwhat (?:you need to know|the .{2,60} means?|.{2,80} means? for|.{2,60} (?:should|need to) know|is new"
        r"|to know|has changed)",
        r"\bregulatory guide\b|\binformation sheet\b|\bunderstand(?:ing)?\b|\b(?:good )?practice note",
        r"\bhow (?:to|.{2,40} (?:works?|appl(?:y|ies)))\b|\bclarif(?:y|ies|ication)|\bprimer\b|\bmyth|\binsight:",
        r"\bworked examples?\b|\billustrat",
        r"\badvisory opinion\b|\b(?:opinion|interpretive|comfort) letter\b",
        r"\b(?:companion|tax(?:ation)?|private letter|revenue|class|product|technical|public) ruling",
        r"\bchief counsel advice\b|\btechnical (?:interpretation|note|explanation)|\bplain[- ](?:language|english)\b",
        r"\breader.s guide|\b(?:three|four|five|six|seven|ten|\d+) (?:things|points|takeaways|changes)\b",
        r"\btracker note\b|\bkey points\b|\bsummary of the (?:rule|act|regulation|changes)|\boverview of\b",
        r"\bdecoded\b",
    ),
)
GUIDANCE = TitleSign(
    PolicyStage.INTERPRETATION,
    match_any(r"\bguidance (?:note )?(?:on|for|to|about)\b|\bfinali[sz]ed guidance\b|\bguidance:|^guidance\b"),
)
_PILOT = TitleSign(
    PolicyStage.PILOT,
    match_any(
        r"\btests?: |\b(?:lab|airlock) (?:opens|for)\b|\bjoin the .{0,20}(?:airlock|lab)|\btemporary permission\b",
        r"\bchosen for\b.{0,40}\btest",
        r"\btrial(?:l?ing|led)\b|\broll-in\b|\bproving ground\b|\bsmall-scale\b|\btest-and-learn\b",
        r"\bto test\b|\btry(?:ing)? out\b|\bcall for participants\b",
        r"\b(?:phase one|first phase|early phase|initial phase|limited launch)\b|\bdemonstration\b(?! of)",
        r"\bexperiment(?:al|ation)?\b|\blaborator(?:y|ies) (?:admits|opens|selects)",
        r"\bpilot(?:s|ing|ed)?\b(?! (?:licen[cs]|fatigue|whale|boat|training|certificat|error|age))",
        r"\bsandbox(?:es)?\b|\btrials?\b(?! (?:by|court|judge|date|balance|data|lawyer))|\btest ?beds?\b",
        r"\btest environment\b|\bpathfinders?\b|\bdemonstration (?:projects?|programmes?|programs?|sites?)",
        r"\bexperimental (?:regime|scheme|programme|program|framework)|\bearly adopters?\b|\blive testing\b",
        r"\bproof[- ]of[- ]concept\b|\bregulatory lab\b|\btest(?:ing)? (?:phase|scheme|ground|programme|program)\b",
        r"\bdemonstrator\b|\bfield test|\bbeta (?:phase|test)|\binnovation (?:pathway|testing|waiver)",
        r"\b(?:first|second|third|spring|autumn|\w+) cohort\b",
    ),
    match_any(
        r"\bclinical trials?\b|\bpilots and\b|\bspeech\b|\blearn from\b|\bevaluation (?:report|of)\b",
        r"\bremote[- ]pilots?\b",
    ),
)
_IMPLEMENTATION = TitleSign(
    PolicyStage.IMPLEMENTATION,
    match_any(
        r"\bunder the .{3,60}\b(?:regulations?|directive|code|scheme|order|agreement|convention|mandate|guidelines"
        r"|strategy|plan|programme|program|framework|rules)\b",
        r"\b(?:circular|memorandum|letter|directive|instructions|OM)\b.{0,80}\b(?:act|statute|regulations?)\b",
        r"\binto (?:local|domestic|national) law\b|\bpractical effect\b|\bcollection at\b|\bfor councils\b",
        r"\bdelegation (?:instrument|of)\b|\bguidance to (?:\w+ )?(?:courts|tribunals|registrars)",
        r"\badoption of (?:federal|national|EU|the model)\b|\badministrative steps\b|\bdisbursement of\b",
        r"\boperating memorandum\b",
        r"\bcomplying with the\b|\bon steps for\b|\bto carry out the\b|\bfollowing the .{0,40}\bAct\b",
        r"\bpending (?:full )?commencement\b|\badministration by\b|\bputting in(?:to)? force\b",
        r"\bto (?:\w+ )?officers\b|\badopting the\b.{0,40}\b(?:code|framework|permit|agreement|standard)",
        r"^(?:\w+ ){0,2}?(?:European Union|European Communities) \(|^statutory instrument: European",
        r"\b(?:operating|using) the\b.{0,60}\b(?:agreement|fund|scheme|act)\b",
        r"\b(?:bilateral|under the .{0,40}) agreement\b|\btransposed?\b|\btransposes\b",
        r"\bhow (?:regions|boards|banks|officers|combined authorities)\b",
        r"\bimplementing decision\b",
        r"\bhow (?:the )?(?:states?|councils|agencies|authorities|departments|trusts|schools|local) ",
        r"\bwill operate\b",
        r"\b(?:processing|handling|administering|delivering|carrying out|operating|collecting) (?:the|of|claims"
        r"|refunds|applications)\b",
        r"\badministrative instructions?\b|\bstate (?:health )?(?:official|medicaid|director)s? letter",
        r"\b(?:letter|circular|memo|memorandum) to (?:all )?(?:state|principal|chief|local|regional|field)",
        r"\blocal authority circular\b|\bfor (?:customs|field|enforcement|police) officers\b",
        r"\bimplementing (?:regulation|rules?|directive|act|measures?|technical)",
        r"\bimplementation (?:of|plan|guidance|measures?|regulations?|arrangements?|procedures?|notice|circular)\b",
        r"\btransposi(?:tion|ng)\b|\bimplement(?:s|ing)?\b",
        r"\bmeasures for implementing\b",
        r"\b(?:giving|gives?) (?:local )?effect to\b",
        r"\b(?:putting|puts|carrying|bringing)\b.{0,80}\binto (?:practice|operation|effect|force locally)",
        r"\b(?:administrative|local|operational|delivery|transitional|administering) (?:arrangements|instructions"
        r"|guidelines|procedures)\b",
        r"\barrangements (?:under|for)\b|\bapplication instructions\b|\broll-?out of\b|\benforcement steps\b",
        r"\badministration of (?:section|the|part)\b|\bfield (?:directive|offices?|instruction)",
        r"\bstate (?:implementation )?plan\b|\bnational (?:measures|procedure|application)\b",
        r"\bapplying the\b.{0,80}\b(?:regulation|directive|act|code)|\brelease of arrears\b",
        r"\b(?:standard operating|operating) procedures?\b",
        r"\bto all (?:states?|state|agencies|offices|departments|councils|trusts|schools|banks. nodal)\b",
        r"\b\((?:enforcement|EU exit|application)\) regulations\b|\bcompetent authorit",
        r"\bunder the (?:federal|national)\b",
        r"\b(?:delivery|application|administration|handling|enforcement) (?:instructions|arrangements|manual"
        r"|protocol|procedures?)\b",
        r"\binstructions? (?:to|for)\b|\bguidance to (?:states|local|councils|agencies|departments|schools)",
        r"\bmemorandum (?:to|for)\b|\bfederal\b.{0,60}\b(?:state|county|provinc)",
        r"\b(?:state|county|provincial|cantonal)\b.{0,60}\bfederal\b|\bdomestic (?:law|application)\b",
    ),
    match_any(
        r"\bimplementing (?:\w+ )?(?:regulation|decision)\b.{0,60}\b(?:granting|imposing|entering|authori[sz]\w+"
        r"|approving"
        r"|recogni[sz]ing|refusing|renewing)\b"
    ),
)
ENGLISH_SIGNS = (
    _WITHDRAWN,
    _QUESTIONS,
    _SPEECH,
    _SPOKEN,
    _COMMENCES,
    _MORE_TIME,
    _GUIDANCE_FOR,
    _EVENTS,
    _ENFORCEMENT,
    _CONSULTATION,
    _PLAN,
    _DRAFT,
    _REPEAL,
    _AMENDMENT,
    _PILOT,
    _GUIDE,
    _IMPLEMENTATION,
    GUIDANCE,
)
"""In order: the first mark that a title shows names its stage."""
