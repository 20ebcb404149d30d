"""Words of titles that say without doubt what is no rule: purchases, people, meetings, single cases, corrections."""

from monitor.ranking.acts import FORM, OF_A_FORM, TAIL, Act, ActRule

_PENALTY_ZH = (
    r"行政处罚|处罚(?:决定|信息|公示|公开|情况|结果)|作出.{0,8}处罚|处罚$|实施.{0,12}处罚|罚[决字款没]|被罚|处以"
    r"|市场禁入|公开谴责|通报批评|监管警示|警示函|警告函"
    r"|(?:行政)?监管措施|责令|查处|立案(?:调查|告知)|纪律处分|曝光|(?:违规|违法|典型)案例|查获|破获"
    r"|典型违法|约谈|吊销|判决|裁定书|告知书|失信|欺诈发行|财务造假|违法违规行为的|检控|谴责|罚款|执法行动"
    r"|法庭命令|法院命令|冻结.{0,8}资产|通报.{1,3}起|侵害.{0,12}通报|起诉|事故调查"
)
_PENALTY_EN = (
    r"final notice|(?:decision|supervisory|warning|infringement|penalty) notices?\b|fine[sd]\b"
    r"|fined?\b(?=.{0,40}[£$€])|penalt(?:y|ies)|censure|bann?ed\b|"
    r"bans (?!on )|(?:SEC|CFTC|FTC|DOJ|FCA|ASIC|ACCC|EPA|commission|agency|regulator|grand jury) charges\b"
    r"|charged with|sue[sd]\b|"
    r"settle[sd]? (?:charges|with|for|claims)|settlement (?:with|agreement|of)|(?:to|in) .{0,40}settlement"
    r"|consent (?:order|decree|agreement)|"
    r"cease[- ]and[- ]desist|enforcement action|prohibition orders?|pays? [£$€]|ordered to pay"
    r"|judgment against|instituting .{0,30}proceedings|secures? .{0,30}(?:compensation|undertakings|redress"
    r"|refunds?)|takes? action against|show cause|in the matter of|litigation release|\bv\. |prosecut"
    r"|injunction|freez(?:es|ing)|\borders? (?:requires|bans|to pay)|in breach of"
    r"|infringement package|(?:refer|take)s? .{0,30} to (?:the )?court|undertakings in lieu"
    r"|accepts (?:binding )?(?:commitments|undertakings)|opens? .{0,40}investigation|convict|sentenced|jailed"
    r"|disqualif|court orders|"
    r"(?:institut\w+|takes?|launch\w*) (?:legal |court |civil )?(?:proceedings|action) against|guilty|reprimand|"
    r"(?:cancels?|suspends?|revokes?) .{0,40}(?:licen[cs]e|registration|permission)|"
    r"antitrust: commission|statement of objections|warning letters?\b|composition penalt|insider (?:dealing"
    r"|trading) case|enforceable undertaking"
)
_UNMISTAKABLE = (
    ActRule(
        Act.BULLETIN,
        r"汇率中间价|公开市场业务(?:交易)?(?:公告|结果)|每日要闻|今日要闻|信息速递|工作简报|早报|晚报$|一周要闻",
        r"daily news\b|exchange rates\b|weekly (?:digest|round-?up|bulletin|agenda)|newsletter"
        r"|daily (?:digest|bulletin|summary)"
        r"|week ahead|round-?up\b|calendar\b|FOI\b|freedom of information|gifts and hospitality|expenses\b"
        r"|spending over|upcoming events|media advisory|diary of",
        unless=r"method|reform|办法|规定|形成机制",
    ),
    ActRule(
        Act.PROCUREMENT,
        r"(?:采购|招标|中标|成交|磋商|询价|谈判|比选|投标|流标|废标)(?:项目|结果|意向|需求"
        r"|候选人)?[^，。]{0,10}(?:公告|公示|结果|通知书?|更正|意向)$"
        r"|政府采购意向|采购项目|单一来源|竞争性(?:磋商|谈判)|供应商征集|采购.{0,4}(?:公告|公示|更正)",
        r"sources sought|contract awards?\b|contract award notice|invitations? to (?:tender|bid)"
        r"|request for (?:quotations?|tenders?)"
        r"|call for tenders?|tender (?:notice|award)|procurement (?:notice|of|plan)|prior information notice"
        r"|awards? (?:a |the )?contract",
        unless=rf"{FORM}{TAIL}的?(?:通知|公告)?$|征求意见|带量采购|final rule|proposed rule",
    ),
    ActRule(
        Act.INTERPRETATION,
        r"解读|答记者问|问答|一图读懂|一图看懂|图解|图说|(?:起草|修订|制定|编制|政策|立法)说明|十问|答疑|热点问题"
        r"|有哪些变化|怎么看|常见问题",
        r"Q ?& ?As?\b|questions? (?:and|&) answers?|FAQs?\b|frequently asked questions|fact ?sheets?\b"
        r"|explain(?:ed|er|ers)\b"
        r"|explanatory (?:note|memorandum|statement)|at a glance|what you need to know"
        r"|what .{1,60} means? for|myths? and facts|questions & answers",
        unless=r"解读会|竞赛|(?<!政策)征集|意见稿.{0,8}(?:公开)?征求意见",
    ),
    ActRule(Act.FILING, r"(?:任职|从业|董事|监事|高管|高级管理人员)[^，。]{0,12}资格的?(?:批复|核准|决定|公示)"),
    ActRule(
        Act.PERSONNEL,
        r"任免|任命|免去|拟任|拟聘|招聘|招录|录用|聘用|遴选公务员|公开遴选|公务员(?:考|面试|录|招|调)|面试(?:公告"
        r"|名单|通知)|候选人|换届|任前公示"
        r"|同志任|任.{2,12}(?:局长|部长|司长|主任|书记|主席|行长|委员|院长)$|辞去|辞职|履新|逝世|讣告|离退休|职称评"
        r"|(?:先进|优秀)(?:个人|集体|工作者|党员)|博士后|实习生|委任|获任"
        r"|(?<!市场)人事(?!部|司|处|制度)",
        r"(?:re-?)?appoint(?:s|ed|ment|ments|ing)?\b|nominat(?:es|ed|ion|ions)\b|vacanc(?:y|ies)(?! 20\d\d| survey"
        r"| statistics| in )|recruit(?:s"
        r"|ing|ment)\b"
        r"|(?:names?|named|welcomes?|announces?) (?:new |its |a )*(?:\w+ ){0,3}(?:director|chair|chief|head"
        r"|member|commissioner|secretary|officer"
        r"|counsel|advis[eo]r|deputy|governor)\b|step(?:s|ping)? down|resign(?:s|ed|ation)\b|retire(?:s"
        r"|ment) of|new (?:chair|chief executive|ceo|"
        r"director|members?|board members?|non-executive)\b|jobs?(?: opening)?\b(?! (?:creat|vacanc|report|data))"
        r"|joins? (?:the )?(?:board|agency|commission)|sworn in|internship"
        r"|fellowship|obituary|departure of|careers?\b",
        unless=r"任职(?:资格|条件|管理|回避|限制)|征求意见|招聘平台|(?:管理|监督|暂行)(?:办法|规定)|条例"
        r"|final rule|proposed rule"
        r"|appointed (?:actuar|auditor|representative)|nominated (?:person|officer)|jobs (?:data|report|statistics)",
    ),
)

_OF_MEETINGS = (
    ActRule(
        Act.MEETING,
        "",
        r"statement (?:on|regarding) .{0,80}(?:commissioner|chair(?:man|woman|person)?)\b|(?:commissioner"
        r"|chair\w*) .{0,30}['’]?s? (?:dissent\w*|concurring) ?statement",
    ),
    ActRule(
        Act.REPORT,
        "",
        r"monetary policy .{0,30}minutes|minutes of the .{0,30}monetary policy|federal open market committee, ",
    ),
    ActRule(Act.POLICY, r"货币政策委员会.{0,12}例会"),
    ActRule(
        Act.NATIONAL_PLAN,
        r"国务院常务会议|政治局.{0,6}会议|中央(?:经济|金融|农村|城市)工作会议(?!精神)|中央全面深化改革"
        r"|[二三四五六七]中全会(?!精神)|中央财经委",
        r"FOMC statement|monetary policy (?:decisions?|statement|summary)|(?:cash|bank|policy|interest"
        r"|official) rate (?:decision|statement|.{0,20}(?:lowered|raised|unchanged|held|cut|increased))"
        r"|budget 20\d\d|(?:autumn|spring) (?:budget|statement)"
        r"|(?:raises?|cuts?|holds?|maintains?|keeps?|lowers?) (?:the |its )?(?:official |target |key "
        r"|benchmark )*(?:cash|bank|policy|interest|overnight) rates?",
        unless=r"传达|学习|贯彻|宣讲|座谈|落实|党组|党委|minutes|speech|remarks",
    ),
    ActRule(
        Act.VISIT,
        r"会见|会谈|会晤|来访|拜会|接待|调研(?!报告)|考察|慰问|走访|督导|出访|视察|赴.{2,16}(?:开展|检查|指导)"
        r"|一行(?:到|赴|来)|带队|访问",
        r"meets? with|met with|meeting between|readout|visits?\b|visited|delegation|courtesy call"
        r"|phone call with|bilateral|travels? to",
        unless=OF_A_FORM + r"|visitor|on-?site visit|的(?:通知|公告|意见)$|final rule|delegation of",
    ),
    ActRule(
        Act.CAMPAIGN,
        r"党日|党建|机关党|工会|团委|妇联|运动会|培训班|志愿|宣传(?:月|周|日|活动|教育)|(?:活动|仪式).{0,6}(?:启动"
        r"|举行|圆满|落幕|举办)"
        r"|启动仪式|大赛|竞赛|征文|征集(?:启事|活动)|主题征集|进(?:校园|社区|企业)|科普|公益|开放日|揭牌|签约|联欢"
        r"|风采|纪实|侧记|巡礼|喜报|荣获|获奖|表彰|当选"
        r"|[（(【\[]转载|^\w{0,4}(?:日报|晚报|晨报|都市报|新华社|新华网|央视|光明网|人民网)\w{0,4}[:：丨｜|]",
        r"celebrat(?:es|ing|ion)|anniversary|volunteer|award(?:s|ed)? (?:winners?|ceremony|recipients?|nominations?)"
        r"|recogni[sz]es .{0,60}(?:winners?|leaders?|award|partners?|excellence)|(?:leadership|excellence"
        r"|innovation|achievement|champion) awards?\b"
        r"|winners?\b|congratulat|condolence|(?:awareness|safety|prevention) (?:week|month|day)\b|blog\b"
        r"|podcast|video:|photo|in pictures|open (?:day|house)"
        r"|students?\b(?! loan)|exhibition|year in review|behind the scenes|meet the team|tech ?sprint"
        r"|hackathon|showcases?\b|launch(?:es|ed)? .{0,30}campaign",
        unless=OF_A_FORM
        + r"|征求意见|关于.{2,120}(?:意见|措施|方案|名单|通知)$|白名单|(?:data|statistics|funding|rule|guidance)\b",
    ),
    ActRule(
        Act.MEETING,
        r"(?:召开|举行|举办|主办|承办).{0,40}(?:会|论坛|活动|班)|(?:(?<!委员)会|会议|论坛|峰会"
        r"|年会)(?:[^，。]{0,8}在.{1,10})?(?:召开|举行|举办|开幕|闭幕|落幕|强调|指出|要求"
        r"|纪要|综述|预告|顺利|圆满|成功|$)|会议(?:议程|日程|通知|讲话)|致辞|讲话(?!精神)|演讲|发言|出席|开幕|闭幕"
        r"|党组|党委|传达学习|学习贯彻|深入学习|理论学习|听证会"
        r"|吹风会|合作备忘录|谅解备忘录"
        r"|记者会|发布会|高峰论坛|讲座",
        r"speech|keynote|remarks\b|address (?:by|to|at)|fireside|panel discussion|statement (?:by|from"
        r"|of) (?:the )?(?:commissioner|chair|administrator|president|minister|governor)"
        r"|(?:chair\w*|commissioner|president|minister|governor|administrator|secretary)\b.{0,40} (?:outlines"
        r"|urges|hails|speaks|says|highlights|reflects)|(?:applauds?|commends?|praises?|hails?|urges|touts"
        r"|votes)\b|dissent(?:s|ing)"
        r"|minutes\b|board (?:meeting|minutes)|meeting (?:notice|agenda|minutes|summary)|(?:public|open"
        r"|closed|sunshine act|annual|committee|regular|special|joint|of the) meetings?\b"
        r"|agenda\b|summit|conference|forum\b|round-?table|workshop|webinar|symposium|seminar|testimony"
        r"|^meetings? of|testifies|public hearing|notice of (?:meeting|hearing|listening session)"
        r"|\d+(?:st|nd|rd|th) (?:\w+ )?(?:meeting|session)|town hall|\bsigns? .{0,40}(?:agreement"
        r"|partnership|deal|declaration)|memorandum of understanding|\bMoU\b"
        r"|op-?ed\b|interview|foreword|opening statement|press (?:conference|briefing)",
        unless=OF_A_FORM + r"|proposed rule|final rule|rulemaking|征求意见|(?:regulatory|rulemaking) agenda"
        r"|(?:办法|规定|条例|意见稿)",
    ),
)

_OF_CASES = (
    ActRule(
        Act.EXTENSION,
        r"(?:延长|延期|延至|延后|顺延|推迟|推迟至|展期|延期至).{0,60}(?:意见|反馈|期限|截止|时间|申报)|(?:意见|反馈"
        r"|截止|申报).{0,30}(?:延长|延期|延至|延后|顺延|推迟)",
        r"extension of .{0,50}(?:period|deadline|date)|delay of (?:the )?(?:effective|compliance) date"
        r"|(?:extends?|extended|extending) .{0,50}(?:period|deadline|consultation|closing)"
        r"|re-?opening of .{0,30}comment period"
        r"|(?:consultation|deadline|period|closing date) .{0,60}(?:extended|now closes)"
        r"|re-?opens? .{0,30}(?:comment|consultation)",
        unless=r"final rules?\b",
    ),
    ActRule(
        Act.FILING,
        "",
        r"invit\w+ comments? on .{0,60}(?:merger|acquisition)|proposed .{0,30}(?:settlement|consent decree)"
        r"|merger inquiry|information collection|paperwork reduction|submission to OMB"
        r"|self-regulatory organizations|combined notice of filings|T-?bills?\b|treasury bills?|(?:bond"
        r"|bill) (?:tender|auction)|notices? of filing|notice of application"
        r"|applications? (?:for|to) (?!fund|grant)|petition(?:s)? for|surrender of"
        r"|environmental (?:impact statement|assessment)"
        r"|prior notification|notice of intent to (?:prepare|grant)|candidate cases?|notice of availability"
        r"|complaint;",
        unless=r"guidance|final rule|regulations?\b",
    ),
    ActRule(
        Act.SUPERVISION,
        r"(?:反倾销|反补贴|保障措施|贸易(?:救济|壁垒)|国家安全).{0,40}(?:立案|调查|复审)(?!.{0,20}裁定)",
        r"market (?:investigation|study|inquiry)|initiates? .{0,30}(?:anti-?dumping|countervailing)"
        r"|strategic market status|anti-dumping .{0,30}(?:initiation|review)",
    ),
    ActRule(Act.FILING, r"国债.{0,12}(?:发行|业务公告)|国库现金|央行票据"),
    ActRule(Act.TERMS, r"带量采购.{0,30}(?:结果|公告|通知)"),
    ActRule(Act.FILING, r"部门(?:预算|决算)"),
    ActRule(Act.EXECUTION, r"下达.{0,60}(?:资金|预算|投资计划)"),
    ActRule(
        Act.CORRECTION,
        r"更正|勘误|补正(?!预算)",
        r"corrigend|errat(?:um|a)\b|correct(?:ion|ions|ing)\b|technical amendments?\b",
    ),
    ActRule(
        Act.REPEAL,
        r"废止|失效|停止执行|停止施行|撤销.{0,20}(?:文件|规定|通知|公告)",
        r"repeal(?:s|ed|ing)?\b|rescind(?:s|ed|ing)?|rescission|revo(?:kes?|ked|cation|king)\b|withdraw(?:al"
        r"|s|n|ing)?\b|obsolete",
        unless=(
            r"修改|修订|意见稿|征求意见|(?:licen|certificate|registration|authori[sz]ation|permission|application"
            r"|order against)|proposed|consult|proposes"
        ),
    ),
    ActRule(
        Act.PENALTY,
        _PENALTY_ZH,
        _PENALTY_EN,
        unless=OF_A_FORM
        + (
            r"|意见稿|征求意见|consultation|penalty (?:regime|policy|framework|guidelines)|policy on penalties"
            r"|penalt\w+ (?:inflation|adjustment)"
        ),
    ),
    ActRule(
        Act.PRODUCT_RULE,
        r"检验检疫要求|(?:允许|准予|暂停|禁止|恢复).{2,30}(?:进口|输华)|检疫卫生要求|农药.{0,10}残留"
        r"|道路机动车辆生产企业及产品|地理标志",
        r"tolerances?\b|air plan|implementation plans?;|airworthiness directives?|safety zones?|drawbridge"
        r"|special local regulation|placing on the market|protected (?:designation|geographical)"
        r"|geographical indication|entering a name|maximum residue|feed additive"
        r"|^[\w ]{3,40}; classification of|novel food"
        r"|deviation from drawbridge|air quality plan|class e airspace|active substances?\b"
        r"|position to be taken on behalf",
    ),
)

FIRST_RULES = (*_UNMISTAKABLE, *_OF_MEETINGS, *_OF_CASES)
"""In order: the first that matches decides."""
