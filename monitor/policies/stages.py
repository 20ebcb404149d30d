"""Tells what a document is and where it stands in the life of its policy, by its title, its head and its forms."""

import re
from dataclasses import dataclass

from monitor.policies.document_text import DocumentText
from monitor.vocabulary import DocumentKind, PolicyStage

_HEAD_CHARS = 1_500
_FIRST_CHARS = 600


@dataclass(frozen=True, slots=True)
class Classification:
    """The kind and stage of a document."""

    kind: DocumentKind
    stage: PolicyStage | None


def _compile(words: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(words, flags)


_END = r"(?:\s?[(《〔\[].{0,30}[)》〕\]]|全文|[》\s])*$"
_FORM = (
    r"通知|公告|通告|办法|规定|条例|细则|规则|意见|决定|方案|规划|纲要|计划|措施|政策|指引|指南|标准|规范|规程|导则|目录|制度|法|令|批复|复函"
    r"|函|准则|要求|清单|通则|章程|预案|解释|裁决|裁定|规章|若干条|倡议书|行动|大纲|名单|公报|指导原则"
)
_ZH_TITLES: tuple[tuple[PolicyStage | None, re.Pattern[str]], ...] = (
    (PolicyStage.DRAFT, _compile(r"(?:送审稿|草案)(?!.{0,4}征求意见).{0,6}(?:起草|编制|修订|制定)?的?说明")),
    (PolicyStage.CONSULTATION, _compile(r"征求意见稿.{0,8}(?:起草|编制|修订|制定)的?说明")),
    (
        PolicyStage.QA,
        _compile(
            r"答记者问|有关问题答|问答|[一二三四五六七八九十百\d]+问|常见问题|热点问题|Q&A|答疑|有问必答|释疑|回应关切"
        ),
    ),
    (
        PolicyStage.INTERPRETATION,
        _compile(
            r"解读|图解|一图|图说|读懂|看懂|政策说明|起草说明|编制说明|修订说明|制定说明|的说明$|说明$|要点解析|一问一图|政策简明|操作指引解析|详解|新旧对照"
        ),
    ),
    (
        None,
        _compile(
            r"意见(?:征集|采纳|反馈)?(?:情况|结果)|征求意见.{0,8}(?:反馈|采纳|情况|结果)|采纳情况|意见处理情况|意见汇总"
        ),
    ),
    (
        PolicyStage.CONSULTATION,
        _compile(
            r"征求意见|征集.{0,24}(?:意见|建议)|听取.{0,12}意见|意见征集|公开征询|咨询文件|谘询|咨询(?:公众|意见|期|业界)|(?:展开|就.{2,40})(?:公众)?咨询|征询"
            r"|意见建议的|征求.{0,30}(?:意见|建议)|提出意见|立法听证|听证"
        ),
    ),
    (
        PolicyStage.PLAN,
        _compile(
            r"(?:立法|规章(?:制定)?|标准(?:制修订|制定|制订|修订)?|制修订|制定|规范性文件(?:制定)?|行政决策事项)(?:工作|项目|年度)?(?:计划|目录|要点)|工作要点|工作计划"
            r"|立法规划|重大行政决策|修订计划|制订计划|立项计划|立法项目"
        ),
    ),
    (
        PolicyStage.ENFORCEMENT,
        _compile(
            r"处罚|警示函|责令|行政监管措施|监管措施|决定书|违法违规案|典型案例|查处|立案|罚款|罚没|告知书|约谈|纪律处分|公开谴责|监管函|吊销|撤销.{0,20}(?:许可|资质|资格|登记"
            r"|注册证)|行政强制|被罚|曝光|失信名单|裁决书|检控|定罪|判罚|谴责"
        ),
    ),
    (
        PolicyStage.REPEAL,
        _compile(
            r"(?<!和)(?:废止|失效|停止执行|宣布失效|取消|撤销|撤回)(?!和修改|或修改|、修改).{0,60}(?:决定|公告|通知|通告|令|目录|公布|的函)|(?:决定|宣布)?废止《"
            r"|废止.{0,40}(?:规章|规范性文件|文件|规定|办法|条例)|(?:文件|规章)(?:予以)?(?:废止|失效)|予以废止|废除"
        ),
    ),
    (
        PolicyStage.AMENDMENT,
        _compile(
            r"(?:修改|修订|修正)(?:和废止|、废止|或废止)?.{0,80}的?(?:决定|公告|通知|通告|令)|(?:的|和)?修改(?:决定|的决定)|修正案|(?:废止和修改|废止、修改)"
            r"|修改《|部分条款的|勘误|更正|(?:修改单|修改通知单)|作(?:出)?(?:如下)?修改|《[^《》]{2,60}》(?:的)?补充(?:通知|规定|公告)|补充规定|(?:延长|延期|调整"
            r"|延续).{0,60}(?:有效期|施行|实施期限|执行期限|过渡期)|(?:修订|修改|完善)部分|条例\)?\(修订\)|\(修订\)(?:条例|规则|令|规例)|修订(?:规例|规则|令)"
        ),
    ),
    (
        PolicyStage.PILOT,
        _compile(r"试点(?!.{0,6}(?:经验|成效|成果|总结|评估|情况))|沙盒|先行先试|监管沙箱|试运行|沙箱"),
    ),
    (
        PolicyStage.IMPLEMENTATION,
        _compile(
            r"实施细则|贯彻落实|贯彻(?!.{0,10}会)|实施意见|(?:关于)?(?:转发|落实)(?!.{0,8}情况)|实施办法|执行.{0,30}(?:有关|若干)(?:问题|事项|规定)的"
            r"|配套(?:措施|办法|细则)|操作(?:细则|规程|指南)"
        ),
    ),
    (PolicyStage.DRAFT, _compile(r"草案|送审稿|审议稿|讨论稿|报批稿|二次审议|初审|条例草案")),
)
_ZH_NEWS = _compile(
    r"召开|举行|举办|会见|会谈|出席|调研|考察|慰问|座谈|会议(?!纪要)|论坛|来访|访问|启动仪式|签约|签署|揭牌|开幕|闭幕|致辞|讲话|演讲|任免|任命|任职|免去|拟任|招聘|录用|名单公示|中标"
    r"|采购|学习|党组|党委|党建|主题教育"
    r"|表彰|先进|突破|同比|环比|增长|下降|运行情况|统计|数据|月报|季报|年报|月度|交易情况|指数|发展报告|白皮书|综述|纪实|动态|简讯|快讯|一线|侧记|聚焦|观察|成效|硕果|亮点|培训班"
    r"|宣传(?:周|月|日)|巡礼|专访|节目|值班|放假|情况通报|发布会|人事|公报$|首(?:个|次|家|批)|再创|圆满|顺利|成功|上线|投产|竣工|开工|贺信|悼念|讣告|新闻稿"
)
_ZH_ROUTINE = _compile(
    r"中标|采购|成交(?:结果|公告)|招标|招聘|录用|拟任|任免|任职前|拟认定|名单(?:的)?公示|(?:预算|决算)(?:公开|公告)?$|放假|中选|比选|遴选结果"
)
_ZH_BINDING_BODY = _compile(
    r"现(?:予|将|印发)[^。]{0,60}(?:公布|公告|印发|发布|通知|通告)|印发给你们|特此(?:通知|公告|通告)|第一条|(?:本(?:办法|规定|通知|公告|条例|意见|决定|细则|规则|标准"
    r"|方案))[^。]{0,40}(?:施行|实施|执行|生效)|之日起(?:施行|实施|执行|生效)|经[^。]{2,40}(?:审议通过|同意|批准)[^。]{0,20}(?:现予|公布|印发)|各省、自治区"
    r"|各有关单位:|你[局委厅省市]"
)
_ZH_ASKS = _compile(
    r"(?:公开|面向社会|向社会|现(?:就|将))[^。\n]{0,60}征求(?:[^。\n]{0,20})意见|征求意见(?:稿|的?截止|时间|期限|反馈)|(?:反馈"
    r"|提出)[^。\n]{0,20}(?:意见|建议)[^。\n]{0,60}(?:截止|日前|之前)|意见(?:反馈)?截止|公众可(?:以)?通过[^。\n]{0,40}(?:提出|反馈)"
)
_ZH_FORM_END = _compile(rf"(?:{_FORM}){_END}")
_ZH_ISSUED_TITLE = _compile(
    r"(?:印发|发布|出台|公布|颁布)[^，。]{0,6}《|(?:印发|发布|出台|公布|颁布|推出|施行).{2,40}(?:办法|规定|条例|细则|规则|意见|方案|标准|规范|目录|政策|措施|指引|通知)"
    r"|(?:正式|起|今起|将)(?:施行|实施|生效)"
)

_I = re.IGNORECASE
_EN_TITLES: tuple[tuple[PolicyStage | None, re.Pattern[str]], ...] = (
    (
        PolicyStage.INTERPRETATION,
        _compile(r"^guidance (?:for|to|note for)\b(?!.{0,80}\b(?:consultation|comment)$)", _I),
    ),
    (
        PolicyStage.FINAL,
        _compile(
            r"\(commencement\b[^)]*\) (?:notice|order|proclamation|regulations)\b"
            r"|\bresponses? to (?:the )?(?:feedback|submissions|comments)\b|^statement:",
            _I,
        ),
    ),
    (
        PolicyStage.QA,
        _compile(
            r"\bQ ?& ?As?\b|\bquestions and answers\b|\bfrequently asked questions\b|\bFAQs?\b"
            r"|\bquestions answered\b|\bpublish(?:es|ed) answers\b|\byour questions\b|\banswers (?:to|on)\b",
            _I,
        ),
    ),
    (PolicyStage.CONSULTATION, _compile(r"\bextension of (?:the )?comment period\b|\breopening of comment\b", _I)),
    (
        PolicyStage.ENFORCEMENT,
        _compile(
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
        _compile(
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
        _compile(
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
        _compile(
            r"\brepeal(?:s|ing|ed)?\b|\brevo(?:cations?|kes?|king|ked)\b|\brescission|\brescind(?:s|ing|ed)?\b"
            r"|\bwithdraw(?:al|s|ing|n)\b(?! of (?:cash|funds))|\bremoval of (?:obsolete|outdated)|\bceas(?:es"
            r"|ing) to apply\b|\bcancellation of (?:the )?(?:circular|notice|guid)",
            _I,
        ),
    ),
    (
        PolicyStage.AMENDMENT,
        _compile(
            r"\bamendments?\)?\b(?! (?:proposal|paper))|\bamend(?:s|ing|ed|atory)\b|\bcorrect(?:ion|ing)s?\b"
            r"|\bcorrigendum\b|\bvariation (?:to|of)\b|\bmodification of\b|\b(?:delay|extension"
            r"|postponement) of (?:the )?(?:effective|compliance|applicability|implementation|commencement) date"
            r"|\bfinal rule; (?:delay|correction)|\berratum\b",
            _I,
        ),
    ),
    (
        PolicyStage.INTERPRETATION,
        _compile(
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
        _compile(
            r"\bpilot(?:s|ing)?\b|\bsandbox\b|\btrial (?:scheme|programme|program|of)\b|\bregulatory (?:sandbox"
            r"|testbed)|\btestbed\b",
            _I,
        ),
    ),
    (
        PolicyStage.IMPLEMENTATION,
        _compile(
            r"\bimplementing (?:regulation|decision|rules?|directive|act|measures?|technical)"
            r"|\bimplementation (?:of|plan|guidance|measures?|regulations?)\b|\btransposi(?:tion|ng)"
            r"|\bimplement(?:s|ing)\b",
            _I,
        ),
    ),
    (
        PolicyStage.DRAFT,
        _compile(
            r"\bexposure draft\b|\bbill\b(?! of)|\bdraft (?:delegated|implementing|regulations?|rules?|order|law"
            r"|act|directive|standard|ordinance|legislation|guidance|guidelines|statutory instrument|bill)"
            r"|\bdraft$|\bintroduces? legislation",
            _I,
        ),
    ),
)
_EN_NEWS = _compile(
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
_EN_FINAL = _compile(
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
_EN_BINDING_BODY = _compile(
    r"\bfinal rules?\b|\bcomes? into force\b|\b(?:is|are|will be|takes?) effect(?:ive)?\b|\bhereby (?:makes?"
    r"|issues?|adopts?|directs?|orders?|amend)|\bmade (?:under|in exercise)|\bin (?:the )?exercise of (?:the"
    r"|its) powers|\bpolicy statement\b|\bHAS ADOPTED|\bmakes\b[^.\n]{3,90}\bunder\b|\bthis (?:standard"
    r"|regulation|order|rule|instrument|notice|circular|direction) applies|\bshall enter into force"
    r"|\bhas (?:today )?(?:issued|published|adopted|made|approved) (?:the |its |new |final |a )",
    _I,
)
_EN_ASKS = _compile(
    r"\b(?:comments?|responses?|views|feedback|submissions?|representations?|remarks)\b[^.\n]{0,80}\b(?:must|should|may"
    r"|can|are|is|by|within|before|until|no later than|on or before|due|invited|welcome)\b|\b(?:invit|seek|welcom"
    r"|request)(?:es|ed|ing|s)?\b[^.\n]{0,60}\b(?:comments?|views|feedback|responses?|submissions?)\b"
    r"|\bcomment period\b|\bconsultation (?:closes|ends|period|is open|runs)|\bplease (?:send|respond|submit)"
    r"|\bfeedback (?:open|period)|\bcalls? for comments|\bhear your views|\blet us (?:know|have) (?:your|what)",
    _I,
)
_EN_DRAFT_BODY = _compile(
    r"\b(?:proposed rule|ACTION: Proposed|notice of proposed rulemaking|consultation paper|discussion paper"
    r"|request for comments?|call for (?:evidence|input)|we (?:are )?(?:propos|consult)|we are seeking"
    r"|proposes? to|this consultation)\b",
    _I,
)
_EN_ACTIONS: tuple[tuple[PolicyStage, re.Pattern[str]], ...] = (
    (PolicyStage.REPEAL, _compile(r"\b(?:withdrawal|rescission|removal|repeal|revocation)\b", _I)),
    (
        PolicyStage.AMENDMENT,
        _compile(r"\b(?:delay|correct(?:ion|ing)|technical amendments?|correcting amendments?|partial stay)\b", _I),
    ),
    (
        PolicyStage.CONSULTATION,
        _compile(
            r"^(?!.*\b(?:final|temporary|direct)\b).*\b(?:proposed|comments?(?: period)?|petition|advance notice)\b", _I
        ),
    ),
    (PolicyStage.FINAL, _compile(r"\b(?:final|temporary|emergency)\b.{0,20}\b(?:rules?|orders?|determination)\b", _I)),
)
"""What the line ACTION: of the Federal Register says that a document does."""
_EN_ACTION = _compile(r"^ACTION:\s?(?P<value>[^\n]{3,160})", re.MULTILINE)
_EN_SUBTITLE = _compile(r"^(?:amending|extending|correcting|repealing|implementing|supplementing)\b", _I)
_EN_HEAD_LINES = 10
_EN_PILOT_BODY = _compile(
    r"\b[Pp]ilot notice\b|\b[Tt]he (?:pilot|trial|sandbox) (?:starts|runs|begins|will (?:start|run|begin))\b"
)
_EN_BILL = _compile(
    r"\bBill(?:,? 20\d\d)?$|^(?:H\. ?R\.|S\.|Bill [A-Z]{1,2}-) ?\d|\bBill\b.{0,12}\bexplanatory (?:memorandum|notes?)",
    _I,
)
_EN_BILL_BODY = _compile(r"^(?:A BILL|introduced the following bill\b)|\bBE IT ENACTED\b", re.MULTILINE)
_EN_FORMS: tuple[tuple[PolicyStage, re.Pattern[str]], ...] = (
    (
        PolicyStage.INTERPRETATION,
        _compile(
            r"\b(?:this|the) (?:letter|note|notice|statement|bulletin|circular|document|guide|paper|advisory|page)"
            r" (?:offers|provides|gives|sets out) (?:\w+ )?guidance\b|\bdoes not (?:impose|create|introduce|add)"
            r" (?:any )?(?:new |additional )?(?:requirements|obligations|duties)\b",
            _I,
        ),
    ),
    (
        PolicyStage.FINAL,
        _compile(
            r"^(?:general licen[cs]e|regulatory position statement|supervisory statement|policy statement|statement of"
            r" policy|public notice|industry letter|dear (?:ceo|chair|cfo|cro)|guideline|circular|directive|ordinance"
            r"|proclamation|no-action|exemptive relief|funding opportunity|competition (?:closes|opens)"
            r"|emergency rules?|code of practice)\b",
            _I | re.MULTILINE,
        ),
    ),
    (
        PolicyStage.FINAL,
        _compile(
            r"\b(?:window for (?:requests|applications|bids)|applications? (?:close|open|must|should|are (?:open"
            r"|invited))"
            r"|apply by|submission deadline for|deadline for (?:applications|proposals|bids))\b",
            _I,
        ),
    ),
)
"""Words of a head that show what a document is where its title does not say so."""
_EN_VIEWS = _compile(
    r"\b(?:sound|good|better) practices?\b.{0,200}\b(?:observed|identified|share|expect|illustrate)"
    r"|\bissued as guidance\b|\bgives our view\b"
    r"|\bcreates? no new (?:duty|duties|obligations?|requirements?)\b",
    _I,
)
_MIN_NORMS = 2
_EN_QUOTED = _compile(r"[“\"][^“”\"\n]{1,300}[”\"]")
_EN_NORMS = _compile(
    r"\b(?:must|shall|may not|(?:is|are) required to|(?:is|are) (?:revoked|repealed|prohibited))\b", _I
)
_EN_GIVES_EFFECT = _compile(
    r"\b(?:give|gives|giving) effect to (?:the )?(?:[A-Z]\w+ ){0,3}(?:Directive|Regulation)\b"
    r"|\btranspos(?:es?|ing) (?:the )?(?:[A-Z]\w+ ){0,3}Directive\b"
)
_SPOKEN_OF = (PolicyStage.PILOT, PolicyStage.IMPLEMENTATION, PolicyStage.DRAFT, PolicyStage.PLAN)
"""Stages that news speak of as well: 推进试点工作座谈会 is no pilot."""

_KIND_BY_STAGE = {
    PolicyStage.CONSULTATION: DocumentKind.CONSULTATION,
    PolicyStage.ENFORCEMENT: DocumentKind.ENFORCEMENT,
    PolicyStage.INTERPRETATION: DocumentKind.INTERPRETATION,
    PolicyStage.QA: DocumentKind.INTERPRETATION,
}
_PERSONNEL = _compile(
    r"任免|任命|任职|免去|拟任|招聘|录用|人事|\bappoint(?:s|ed|ment|ments)?\b|\bnominat|\bnamed as\b"
    r"|\bnew (?:chair|chief|head|director|commissioner)|\bsteps? down\b|\bretires?\b|\bjoins\b",
    _I,
)
_MEETING = _compile(
    r"召开|举行|举办|会见|会谈|会议|论坛|座谈|讲话|致辞|演讲|出席|调研|\bspeech\b|\bremarks\b|\bmeeting\b|\bconference\b|\bforum\b"
    r"|\bsummit\b|\bkeynote\b|\bhearing\b|\bmeets?\b",
    _I,
)
_DATA = _compile(
    r"统计|数据(?!安全|中心|要素|条例|管理|共享|出境)|运行情况|同比|环比|月报|季报|指数|交易情况|增长\d|公报|\bstatistics\b|\bstatistical\b|\bindex\b"
    r"|\bquarterly\b|\bmonthly\b|\bfigures\b|\bsurvey results|\bper ?cent\b|\bin (?:Q[1-4]|the (?:first|second"
    r"|third|fourth) quarter)",
    _I,
)
_STANDARD = _compile(
    r"标准(?!化|制修订)|技术规范|规程|GB(?:/T|Z)?\s?\d|(?<![A-Za-z])[A-Z]{2,4}/T\s?\d|\bstandard\b|\b(?:ISO|IEC|EN|BS|AS"
    r"|CSA)(?:/[A-Z]+)? \d{3,}"
)


def classify_document_text(document: DocumentText) -> Classification:
    """Return kind and stage of a document; the stage is None for news, meetings, personnel and data."""
    stage = _read_chinese_stage(document) if document.is_chinese else _read_english_stage(document)
    return Classification(_read_kind(document.title, stage), stage)


def asks_for_comments(document: DocumentText) -> bool:
    """Whether a document is out for comment, whatever its title says."""
    head = document.folded[: 4 * _HEAD_CHARS]
    return bool((_ZH_ASKS if document.is_chinese else _EN_ASKS).search(head))


def _read_kind(title: str, stage: PolicyStage | None) -> DocumentKind:
    if stage in _KIND_BY_STAGE:
        return _KIND_BY_STAGE[stage]
    if stage is None:
        for kind, words in (
            (DocumentKind.PERSONNEL, _PERSONNEL),
            (DocumentKind.STATISTICS, _DATA),
            (DocumentKind.MEETING, _MEETING),
        ):
            if words.search(title):
                return kind
    return DocumentKind.STANDARD if _STANDARD.search(title) else DocumentKind.POLICY


def _read_chinese_stage(document: DocumentText) -> PolicyStage | None:
    title = document.title
    stage, is_named = next(((stage, True) for stage, words in _ZH_TITLES if words.search(title)), (None, False))
    has_form = bool(_ZH_FORM_END.search(title))
    is_news = bool(_ZH_NEWS.search(title)) and not has_form
    if stage in _SPOKEN_OF and is_news:
        return None
    if stage is PolicyStage.DRAFT and not title.endswith("说明") and asks_for_comments(document):
        return PolicyStage.CONSULTATION
    if is_named:
        return stage
    if _ZH_ROUTINE.search(title):
        return None
    is_issued = bool(_ZH_ISSUED_TITLE.search(title))
    if is_news and not is_issued:
        return None
    if asks_for_comments(document) and re.search("征求意见|草案", document.folded[:_HEAD_CHARS]):
        return PolicyStage.CONSULTATION
    is_binding = has_form or is_issued or bool(_ZH_BINDING_BODY.search(document.folded))
    return PolicyStage.FINAL if is_binding else None


def _read_english_stage(document: DocumentText) -> PolicyStage | None:
    title, head = document.title, document.folded[:_HEAD_CHARS]
    if _EN_BILL.search(title) or _EN_BILL_BODY.search(head):
        return PolicyStage.DRAFT
    if acted := _read_action(document):
        return acted
    stage = next((stage for stage, words in _EN_TITLES if words.search(title)), None)
    first = head[:_FIRST_CHARS]
    if _is_proposal(title, first, stage) and asks_for_comments(document):
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
