"""What a document does, by the words of its title: make a rule, ask for comments, fine one firm, buy computers.

The rules are those of classes of documents, not of single regulators, and are tried in an order that goes from what a
title says unmistakably to what it says by its form alone. Titles in traditional characters are read as simplified ones.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from monitor.i18n.traditional import simplify

MAX_TITLE_CHARS = 400


class Act(StrEnum):
    """What a document does, the weightiest first."""

    LAW = "law"
    NATIONAL_PLAN = "national_plan"
    RULE = "rule"
    TERMS = "terms"
    DRAFT_LAW = "draft_law"
    BINDING_STANDARD = "binding_standard"
    CONSULTATION = "consultation"
    SUPERVISION = "supervision"
    EXTENSION = "extension"
    DRAFT_STANDARD = "draft_standard"
    POLICY = "policy"
    MAJOR_CASE = "major_case"
    APPLICATION = "application"
    STANDARD = "standard"
    REPEAL = "repeal"
    GUIDANCE = "guidance"
    INTERPRETATION = "interpretation"
    EXECUTION = "execution"
    DATA = "data"
    CORRECTION = "correction"
    REPORT = "report"
    LIST = "list"
    PRODUCT_RULE = "product_rule"
    RECALL = "recall"
    APPROVAL = "approval"
    PENALTY = "penalty"
    FILING = "filing"
    WARNING = "warning"
    UNCLEAR = "unclear"
    MEETING = "meeting"
    VISIT = "visit"
    CAMPAIGN = "campaign"
    PERSONNEL = "personnel"
    PROCUREMENT = "procurement"
    BULLETIN = "bulletin"


@dataclass(frozen=True)
class ActWeight:
    """The points of an act, 0 to 100, before anything else is known, and the tier of the seed in which it stands."""

    points: int
    tier: int


WEIGHTS: Mapping[Act, ActWeight] = {
    Act.LAW: ActWeight(96, 1),
    Act.NATIONAL_PLAN: ActWeight(94, 1),
    Act.RULE: ActWeight(88, 2),
    Act.TERMS: ActWeight(83, 2),
    Act.DRAFT_LAW: ActWeight(86, 1),
    Act.BINDING_STANDARD: ActWeight(88, 2),
    Act.CONSULTATION: ActWeight(81, 2),
    Act.SUPERVISION: ActWeight(72, 2),
    Act.EXTENSION: ActWeight(72, 2),
    Act.DRAFT_STANDARD: ActWeight(70, 2),
    Act.POLICY: ActWeight(67, 2),
    Act.MAJOR_CASE: ActWeight(64, 2),
    Act.APPLICATION: ActWeight(61, 4),
    Act.STANDARD: ActWeight(61, 2),
    Act.REPEAL: ActWeight(60, 2),
    Act.GUIDANCE: ActWeight(60, 2),
    Act.INTERPRETATION: ActWeight(53, 2),
    Act.EXECUTION: ActWeight(50, 4),
    Act.DATA: ActWeight(43, 3),
    Act.CORRECTION: ActWeight(42, 2),
    Act.REPORT: ActWeight(41, 3),
    Act.LIST: ActWeight(37, 4),
    Act.PRODUCT_RULE: ActWeight(36, 4),
    Act.RECALL: ActWeight(34, 4),
    Act.APPROVAL: ActWeight(29, 4),
    Act.PENALTY: ActWeight(27, 4),
    Act.FILING: ActWeight(23, 4),
    Act.WARNING: ActWeight(20, 4),
    Act.UNCLEAR: ActWeight(22, 5),
    Act.MEETING: ActWeight(16, 5),
    Act.VISIT: ActWeight(12, 5),
    Act.CAMPAIGN: ActWeight(11, 5),
    Act.PERSONNEL: ActWeight(6, 5),
    Act.PROCUREMENT: ActWeight(4, 5),
    Act.BULLETIN: ActWeight(4, 5),
}
"""The scale: fitted on titles that were labelled for the purpose (docs/decisions/0073-ranking.md)."""


@dataclass(frozen=True)
class _ActRule:
    """Titles that match are of this act, unless they also match `unless`."""

    act: Act
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None = None

    def matches(self, title: str) -> bool:
        return bool(self.pattern.search(title)) and not (self.unless and self.unless.search(title))


def _rule(act: Act, zh: str = "", en: str = "", *, unless: str = "") -> _ActRule:
    words = "|".join(part for part in (zh, rf"\b(?:{en})" if en else "") if part)
    return _ActRule(act, re.compile(words, re.IGNORECASE), re.compile(unless, re.IGNORECASE) if unless else None)


_FORM = r"(?:条例|办法|规定|规例|细则|规则|准则|守则|通则|章程|基准|程序|制度|规程|规范|标准|指引|指南)"
_LOOSE_FORM = r"(?:意见|方案|计划|规划|纲要|措施|政策|路线图|决定)"
_TAIL = (
    r"[）)》”」』\s]*(?:[（(〔\[][^（）()]{0,40}[）)〕\]]|(?:19|20)\d\d年?(?:版|第?\d+号)?|修订版?|试行|暂行|第.{1,4}号|[:：、—-])*"
    r"[）)》\s]*"
)
_OF_A_FORM = (
    rf"{_FORM}{_TAIL}(?:等\d*[件项份]?\w{{0,8}})?(?:的(?:通知|公告|通告|函|决定|命令|令))?{_TAIL}$|{_FORM}{_TAIL}[》」]"
    r"|\b(?:final|proposed|adopt(?:s|ed) (?:new |amended )?) ?rules?\b"
)
"""A title that ends in a form of rules is none of what its words are about: 政府采购管理办法 buys nothing."""

_MONEY_EN = r"(?:[£$€¥]|(?:USD|EUR|GBP|AUD|SGD|CAD|HKD|RMB)\s?)"
_LARGE_SUM = (
    r"\d[\d.,]*[多余]?亿|[千百]亿|\b[\d.,]{1,12}\s?(?:billion|bn)\b"
    rf"|{_MONEY_EN}\s?(?:[1-9]\d{{2,6}}|[3-9]\d)(?:[.,]\d{{1,6}})?\s?(?:m|mn|mln|million)\b"
)
_PENALTY_ZH = (
    r"行政处罚|处罚(?:决定|信息|公示|公开|情况|结果)|作出.{0,8}处罚|罚[决字款没]|被罚|处以|市场禁入|公开谴责|通报批评|监管警示|警示函|警告函"
    r"|(?:行政)?监管措施|责令|查处|立案(?:调查|告知)|纪律处分|曝光|典型案例|典型违法|约谈|吊销|判决|裁定书|告知书|失信|欺诈发行|财务造假|违法违规行为的|检控|谴责|罚款"
)
_PENALTY_EN = (
    r"final notice|(?:decision|supervisory|warning|infringement|penalty) notices?\b|fine[sd]\b|fined?\b(?=.{0,40}[£$€])|penalt(?:y|ies)|censure|bann?ed\b|"
    r"bans (?!on )|(?:SEC|CFTC|FTC|DOJ|FCA|ASIC|ACCC|EPA|commission|agency|regulator|grand jury) charges\b|charged with|sue[sd]\b|"
    r"settle[sd]? (?:charges|with|for|claims)|settlement (?:with|agreement|of)|(?:to|in) .{0,40}settlement|consent (?:order|decree|agreement)|"
    r"cease[- ]and[- ]desist|enforcement action|prohibition orders?|pays? [£$€]|ordered to pay|judgment against|convict|sentenced|jailed|disqualif|court orders|"
    r"(?:institut\w+|takes?|launch\w*) (?:legal |court |civil )?(?:proceedings|action) against|guilty|reprimand|"
    r"(?:cancels?|suspends?|revokes?) .{0,40}(?:licen[cs]e|registration|permission)|"
    r"antitrust: commission|statement of objections|warning letters?\b|composition penalt|insider (?:dealing|trading) case|enforceable undertaking"
)
_ASKS = r"(?:征求|征集|听取|征询|谘询|咨询|諮询).{0,14}意见|意见征[集求]|征求意见|意见稿|(?:展开|进行|开展|公众|公开|就.{2,60})[咨谘諮]询(?!热线|机构|委员|公司|电话)|[咨谘諮]询文件|草案"
_ASKS_EN = (
    r"(?:C?CP|DP) ?\d+/\d+|consult(?:s|ing|ation|ations)\b|proposed (?:rule|rules|rulemaking|regulation|regulations|amendments?|order|standard|changes|guidance|policy|"
    r"decision|determination)\b|propos(?:es|ing|al|als)\b|rulemaking|have your say|call for (?:evidence|input|inputs|views|information|comments?|feedback)|"
    r"discussion papers?|exposure draft|draft (?:\w+ ){0,4}(?:guid\w+|rules?|regulations?|standards?|act|bill|code|decision|determination|legislation|RTS|ITS|technical|opinion|order|"
    r"instrument|method\w+|network|plan)|requests? for (?:comments?|information|views|feedback)|feedback (?:open|period|sought|invited)|(?:seeks?|invites?|seeking|inviting) (?:\w+ ){0,2}"
    r"(?:views|comments?|feedback|input|submissions)|public comment|green paper|comment period|advance notice"
)
_ABOUT_RULES = r"办法|规定|细则|规则|规例|准则|制度|条例|令\b|法（|法\(|条件|机制|价格|电价|税|\bC?CP ?\d+/\d+|rules?\b|rulemaking|regulations?\b|regime|directive|requirements?|act\b|order\b|standards? for|amendments?"

_UNMISTAKABLE = (
    _rule(
        Act.BULLETIN,
        r"汇率中间价|公开市场业务(?:交易)?(?:公告|结果)|每日要闻|今日要闻|信息速递|工作简报|早报|晚报$|一周要闻",
        r"daily news\b|exchange rates\b|weekly (?:digest|round-?up|bulletin|agenda)|newsletter|daily (?:digest|bulletin|summary)"
        r"|week ahead|upcoming events|media advisory|diary of",
        unless=r"method|reform|办法|规定|形成机制",
    ),
    _rule(
        Act.PROCUREMENT,
        r"(?:采购|招标|中标|成交|磋商|询价|谈判|比选|投标|流标|废标)(?:项目|结果|意向|需求|候选人)?[^，。]{0,10}(?:公告|公示|结果|通知书?|更正|意向)$"
        r"|政府采购意向|采购项目|单一来源|竞争性(?:磋商|谈判)|供应商征集|采购.{0,4}(?:公告|公示|更正)",
        r"sources sought|contract awards?\b|contract award notice|invitations? to (?:tender|bid)|request for (?:quotations?|tenders?)"
        r"|call for tenders?|tender (?:notice|award)|procurement (?:notice|of|plan)|prior information notice|awards? (?:a |the )?contract",
        unless=rf"{_FORM}{_TAIL}的?(?:通知|公告)?$|征求意见|final rule|proposed rule",
    ),
    _rule(
        Act.INTERPRETATION,
        r"解读|答记者问|问答|一图读懂|一图看懂|图解|图说|(?:起草|修订|制定|编制|政策|立法)说明|十问|答疑|热点问题|有哪些变化|怎么看|常见问题",
        r"Q ?& ?As?\b|questions? (?:and|&) answers?|FAQs?\b|frequently asked questions|fact ?sheets?\b|explain(?:ed|er|ers)\b"
        r"|explanatory (?:note|memorandum|statement)|at a glance|what you need to know|what .{1,60} means? for|myths? and facts|questions & answers",
        unless=r"解读会|竞赛|(?<!政策)征集|意见稿.{0,8}(?:公开)?征求意见",
    ),
    _rule(Act.APPROVAL, r"(?:任职|从业|董事|监事|高管|高级管理人员)[^，。]{0,12}资格的?(?:批复|核准|决定|公示)"),
    _rule(
        Act.PERSONNEL,
        r"任免|任命|免去|拟任|拟聘|招聘|招录|录用|聘用|遴选公务员|公开遴选|公务员(?:考|面试|录|招|调)|面试(?:公告|名单|通知)|候选人|换届|任前公示"
        r"|同志任|任.{2,12}(?:局长|部长|司长|主任|书记|主席|行长|委员|院长)$|辞去|辞职|履新|逝世|讣告|离退休|职称评|(?:先进|优秀)(?:个人|集体|工作者|党员)|博士后|实习生|委任|获任"
        r"|(?<!市场)人事(?!部|司|处|制度)",
        r"(?:re-?)?appoint(?:s|ed|ment|ments|ing)?\b|nominat(?:es|ed|ion|ions)\b|vacanc(?:y|ies)|recruit(?:s|ing|ment)\b"
        r"|(?:names?|named|welcomes?|announces?) (?:new |its |a )*(?:\w+ ){0,3}(?:director|chair|chief|head|member|commissioner|secretary|officer"
        r"|counsel|advis[eo]r|deputy|governor)\b|step(?:s|ping)? down|resign(?:s|ed|ation)\b|retire(?:s|ment) of|new (?:chair|chief executive|ceo|"
        r"director|members?|board members?|non-executive)\b|jobs?(?: opening)?\b(?! creat)|joins? (?:the )?(?:board|agency|commission)|sworn in|internship"
        r"|fellowship|obituary|departure of|careers?\b",
        unless=r"任职(?:资格|条件|管理|回避|限制)|征求意见|招聘平台|(?:管理|监督|暂行)(?:办法|规定)|条例|final rule|proposed rule"
        r"|appointed (?:actuar|auditor|representative)|nominated (?:person|officer)|jobs (?:data|report|statistics)",
    ),
)

_OF_MEETINGS = (
    _rule(
        Act.MEETING,
        "",
        r"statement (?:on|regarding) .{0,80}(?:commissioner|chair(?:man|woman|person)?)\b|(?:commissioner|chair\w*) .{0,30}['’]?s? (?:dissent\w*|concurring) ?statement",
    ),
    _rule(
        Act.REPORT,
        "",
        r"monetary policy .{0,30}minutes|minutes of the .{0,30}monetary policy|federal open market committee, ",
    ),
    _rule(
        Act.NATIONAL_PLAN,
        r"国务院常务会议|政治局.{0,6}会议|中央(?:经济|金融|农村|城市)工作会议(?!精神)|中央全面深化改革|[二三四五六七]中全会(?!精神)|中央财经委",
        r"FOMC statement|monetary policy (?:decisions?|statement|summary)|(?:cash|bank|policy|interest|official) rate (?:decision|statement)"
        r"|(?:raises?|cuts?|holds?|maintains?|keeps?|lowers?) (?:the |its )?(?:official |target |key |benchmark )*(?:cash|bank|policy|interest|overnight) rates?",
        unless=r"传达|学习|贯彻|宣讲|座谈|落实|党组|党委|minutes|speech|remarks",
    ),
    _rule(
        Act.VISIT,
        r"会见|会谈|会晤|来访|拜会|接待|调研(?!报告)|考察|慰问|走访|督导|出访|视察|赴.{2,16}(?:开展|检查|指导)|一行(?:到|赴|来)|带队|访问",
        r"meets? with|met with|meeting between|readout|visits?\b|visited|delegation|courtesy call|phone call with|bilateral|travels? to",
        unless=_OF_A_FORM + r"|visitor|on-?site visit|的(?:通知|公告|意见)$|final rule|delegation of",
    ),
    _rule(
        Act.CAMPAIGN,
        r"党日|党建|机关党|工会|团委|妇联|运动会|培训班|志愿|宣传(?:月|周|日|活动|教育)|(?:活动|仪式).{0,6}(?:启动|举行|圆满|落幕|举办)"
        r"|启动仪式|大赛|竞赛|征文|征集(?:启事|活动)|主题征集|进(?:校园|社区|企业)|科普|公益|开放日|揭牌|签约|联欢|风采|纪实|侧记|巡礼|喜报|荣获|获奖|表彰|当选"
        r"|[（(【\[]转载|^\w{0,4}(?:日报|晚报|晨报|都市报|新华社|新华网|央视|光明网|人民网)\w{0,4}[:：丨｜|]",
        r"celebrat(?:es|ing|ion)|anniversary|volunteer|award(?:s|ed)? (?:winners?|ceremony|recipients?|nominations?)"
        r"|recogni[sz]es .{0,60}(?:winners?|leaders?|award|partners?|excellence)|(?:leadership|excellence|innovation|achievement|champion) awards?\b"
        r"|winners?\b|congratulat|condolence|(?:awareness|safety|prevention) (?:week|month|day)\b|blog\b|podcast|video:|photo|in pictures|open (?:day|house)"
        r"|students?\b(?! loan)|exhibition|year in review|behind the scenes|meet the team|tech ?sprint|hackathon|showcases?\b|launch(?:es|ed)? .{0,30}campaign",
        unless=_OF_A_FORM + r"|征求意见|(?:data|statistics|funding|rule|guidance)\b",
    ),
    _rule(
        Act.MEETING,
        r"(?:召开|举行|举办|主办|承办).{0,40}(?:会|论坛|活动|班)|(?:(?<!委员)会|会议|论坛|峰会|年会)(?:在.{1,10})?(?:召开|举行|举办|开幕|闭幕|落幕|强调|指出|要求"
        r"|纪要|综述|预告|顺利|圆满|成功|$)|会议(?:议程|日程|通知|讲话)|致辞|讲话(?!精神)|演讲|发言|出席|开幕|闭幕|党组|党委|传达学习|学习贯彻|深入学习|理论学习|听证会|吹风会"
        r"|记者会|发布会|高峰论坛|讲座",
        r"speech|keynote|remarks\b|address (?:by|to|at)|fireside|panel discussion|statement (?:by|from|of) (?:the )?(?:commissioner|chair|administrator|president|minister|governor)"
        r"|(?:chair\w*|commissioner|president|minister|governor|administrator|secretary)\b.{0,40} (?:outlines|urges|hails|speaks|says|highlights|reflects)|dissent(?:s|ing)"
        r"|minutes\b|board (?:meeting|minutes)|meeting (?:notice|agenda|minutes|summary)|(?:public|open|closed|sunshine act|annual|committee|regular|special|joint|of the) meetings?\b"
        r"|agenda\b|summit|conference|forum\b|round-?table|workshop|webinar|symposium|seminar|testimony|testifies|public hearing|notice of (?:meeting|hearing|listening session)"
        r"|\d+(?:st|nd|rd|th) (?:\w+ )?(?:meeting|session)|town hall|op-?ed\b|interview|foreword|opening statement|press (?:conference|briefing)",
        unless=_OF_A_FORM
        + r"|proposed rule|final rule|rulemaking|征求意见|regulatory agenda|rulemaking agenda|(?:办法|规定|条例|意见稿)",
    ),
)

_OF_CASES = (
    _rule(
        Act.EXTENSION,
        r"(?:延长|延期|延至|延后|顺延|推迟|推迟至|展期|延期至).{0,60}(?:意见|反馈|期限|截止|时间|申报)|(?:意见|反馈|截止|申报).{0,30}(?:延长|延期|延至|延后|顺延|推迟)",
        r"extension of .{0,50}(?:period|deadline|date)|(?:extends?|extended|extending) .{0,50}(?:period|deadline|consultation|closing)|re-?opening of .{0,30}comment period"
        r"|(?:consultation|deadline|period|closing date) .{0,60}(?:extended|now closes)|re-?opens? .{0,30}(?:comment|consultation)",
        unless=r"final rules?\b",
    ),
    _rule(
        Act.FILING,
        "",
        r"invit\w+ comments? on .{0,60}(?:merger|acquisition)|proposed .{0,30}(?:settlement|consent decree)|merger inquiry|information collection|paperwork reduction|submission to OMB"
        r"|self-regulatory organizations|combined notice of filings|notices? of filing|notice of application|applications? (?:for|to) (?!fund|grant)|petition(?:s)? for|surrender of|environmental (?:impact statement|assessment)"
        r"|prior notification|notice of intent to (?:prepare|grant)|candidate cases?|notice of availability|complaint;",
        unless=r"guidance|final rule|regulations?\b",
    ),
    _rule(
        Act.SUPERVISION,
        r"(?:反倾销|反补贴|保障措施|贸易(?:救济|壁垒)|国家安全).{0,40}(?:立案|调查|复审)(?!.{0,20}裁定)",
        r"market (?:investigation|study|inquiry)|anti-dumping .{0,30}(?:initiation|review)",
    ),
    _rule(Act.EXECUTION, r"下达.{0,60}(?:资金|预算|投资计划)"),
    _rule(Act.CORRECTION, r"更正|勘误", r"corrigend|errat(?:um|a)\b|correct(?:ion|ions|ing)\b|technical amendments?\b"),
    _rule(
        Act.REPEAL,
        r"废止|失效|停止执行|停止施行|撤销.{0,20}(?:文件|规定|通知|公告)",
        r"repeal(?:s|ed|ing)?\b|rescind(?:s|ed|ing)?|rescission|revo(?:kes?|ked|cation|king)\b|withdraw(?:al|s|n|ing)?\b|obsolete",
        unless=r"修改|修订|意见稿|征求意见|(?:licen|certificate|registration|authori[sz]ation|permission|application|order against)|proposed|consult|proposes",
    ),
    _rule(
        Act.PENALTY,
        _PENALTY_ZH,
        _PENALTY_EN,
        unless=_OF_A_FORM
        + r"|意见稿|征求意见|consultation|penalty (?:regime|policy|framework|guidelines)|policy on penalties|penalt\w+ (?:inflation|adjustment)",
    ),
    _rule(
        Act.PRODUCT_RULE,
        r"检验检疫要求|检疫卫生要求|农药.{0,10}残留|道路机动车辆生产企业及产品|地理标志",
        r"tolerances?\b|air plan|implementation plans?;|airworthiness directives?|safety zones?|drawbridge|special local regulation|placing on the market|protected (?:designation|geographical)"
        r"|geographical indication|entering a name|maximum residue|feed additive|novel food|deviation from drawbridge|air quality plan|class e airspace|active substances?\b|position to be taken on behalf",
    ),
)

_OF_FINAL_RULES = (
    _rule(
        Act.LAW,
        r"国务院令|主席令|中华人民共和国[^，。（(]{1,24}(?<!办|方|司|执)法(?:典)?(?:修正案|实施条例)?(?:全文)?(?:》|$|[（(](?!.{0,8}(?:草案|意见稿)))",
        r"(?:regulation|directive) \(EU\) .{0,12}of the european parliament|royal assent|signed into law|public law no|(?:^|the )[A-Z][\w ,'-]{3,80} Act 20\d\d\b(?!.{0,60}(?:order|regulations|rules|guid|consult|section))"
        r"|enact(?:s|ed|ment)\b",
        unless=r"贯彻|实施.{0,6}情况|宣传|draft|proposal|bill\b|征求|草案",
    ),
    _rule(
        Act.NATIONAL_PLAN,
        "",
        r"executive order|presidential (?:memorandum|proclamation|action)|proclamation \d|national (?:security |energy |industrial )?strategy|white paper|industrial strategy"
        r"|ministry .{0,40}five-year plan",
    ),
    _rule(
        Act.RULE,
        "",
        r"final rules?\b|^(?:FCA )?PS ?\d+/\d+|order no\. ?\d+|report and order|adopt(?:s|ed|ion of) (?:new |final |amended |the )*(?:rules?|amendments?|standards?|regulations?|reforms?|requirements?)"
        r"|(?:implementing|delegated|commission|council) regulation|regulation \(e[uc]\)|directive \(e[uc]\)|\(amendment(?: no\.? ?\d+)?\) (?:regulations?|rules?|order|instrument|bylaw|act|ordinance|notice)"
        r"|(?:regulations?|rules?|order|instrument|determination|legislative instrument|by-?laws?) (?:\(.{1,20}\) )?20\d\d\b(?!-)|regulations amending|final (?:decision|determination) on|ACER decision"
        r"|(?:regulatory|telecom|broadcasting) policy .{0,8}20\d\d|prudential standards? [A-Z]{3}|notice (?:\d{3}[A-Z]?|[A-Z]{2,4}-N\d+)|finali[sz](?:es|ed|ing) (?:new |its |the )*(?:rules?|standards?|regulations?|requirements?|changes)"
        r"|(?:definitive|provisional) (?:anti-dumping|countervailing)|final RTS|entity list|export controls?|section 301|section 232|emergency order",
        unless=r"draft|proposed|proposes|proposal|consult|implementing decision",
    ),
)

_OF_CONSULTATIONS = (
    _rule(
        Act.DRAFT_LAW,
        r"(?<![办方做])法[（(《]?(?:草案|修订草案|修正草案|征求意见稿|修订征求意见稿)|法律?草案|条例(?:草案|[（(][^）)]{0,8}(?:草案|意见稿))|法修[订正]草案",
        r"proposal for a (?:regulation|directive|decision)|commission proposes|proposes .{0,80}(?:directive|regulation|legislation|law|act)\b|bill (?:introduced|published|20\d\d)|\bbill\b.{0,30}(?:reading|introduced|gazetted)|draft (?:bill|legislation|act)\b",
    ),
    _rule(
        Act.DRAFT_STANDARD,
        rf"标准.{{0,40}}(?:{_ASKS})|(?:规范|规程|导则|技术要求|能效限定值|限值).{{0,20}}意见稿",
        unless=r"办法|规定",
    ),
    _rule(
        Act.POLICY,
        r"[咨谘諮]询总结",
        r"final report on .{0,40}(?:technical standards|guidelines|RTS|ITS)|consultation (?:conclusions?|outcome|response)|feedback statement|response to (?:the )?consultation|summary of responses|FS\d+/\d+",
    ),
    _rule(Act.CONSULTATION, _ASKS, _ASKS_EN, unless=r"座谈会|选题|(?:final|adopted) (?:report|guid)"),
)

_OF_ADMINISTRATION = (
    _rule(
        Act.WARNING,
        r"风险提示|警示名单|警惕|谨防|诈骗|可疑网站|虚假网站|仿冒|伪冒|提防|消费提示|消费警示|不法分子|非法集资",
        r"warning:|not authori[sz]ed|unauthori[sz]ed (?:firm|entit|business|compan)|clone (?:of|firm)|scams?\b|(?:investor|consumer|fraud) alert|fraudulent|beware|phishing|suspicious website"
        r"|fake (?:website|app)",
        unless=_OF_A_FORM,
    ),
    _rule(
        Act.RECALL,
        r"召回|不合格|监督抽[查检]|抽检",
        r"recalls?\b|safety alert|unsafe product|field safety",
        unless=_OF_A_FORM,
    ),
    _rule(Act.POLICY, r"^国务院关于.{2,80}的批复"),
    _rule(
        Act.APPROVAL,
        rf"(?:批复|核准|复函|准予|许可决定){_TAIL}$|核准(?:批复|决定)|同意.{{2,40}}(?:注册|设立|变更|开业|筹建|合并)|注销|许可证?.{{0,8}}(?:颁发|公告|公示|情况|核发)|上市(?:交易|仪式)?的?(?:公告|决定)"
        r"|终止.{2,40}(?:上市|挂牌)|经营者集中.{0,10}(?:案|公示|批准)|审批(?:决定|意见)|受理(?:公示|公告|情况|通知)|竣工|验收|(?:环评|环境影响).{0,24}(?:公示|公告|批复|受理|审批)|批准.{1,40}(?:上市|注册|进口|挂牌)|审议会议(?:结果|公告)|审核结果"
        r"|备案(?:信息|公告|公示|情况|名单)|上市批准|批准(?:上市|注册)|登记(?:信息)?公告|用地预审|(?:水土保持|节能审查|规划许可).{0,10}(?:公示|公告|决定)|颁发.{0,12}(?:证|牌照)|建议的?答复|提案的?答复|信访",
        r"mergers?: |clears? .{0,40}(?:acquisition|merger|deal)|(?:approves?|approval of|approving) .{0,60}(?:therapy|vaccine|acquisition|joint venture|merger|application|scheme|stipulation|licen[cs]e|plan of|drug|device|treatment|project|transfer)|state aid:|concentration\b|approves? (?:first|new)\b|(?:not|no longer) oppose|investigation into .{0,30}(?:acquisition|merger|deal)"
        r"|order (?:issuing|granting|approving|denying|on rehearing|accepting)|certificate|authori[sz]ing\b|authori[sz]es\b|licen[cs]es? (?:granted|issued|renewal|transfer)|grants? (?:a |an |its )?(?:licen|exempt|approval|waiver|banking|relief|permission)"
        r"|exemptive|exemption order|no-action|phase (?:1|2|one|two)\b|premarket|emergency use|consents? to|anticipated acquisition|completed acquisition|, (?:LLC|L\.?P\.?|Inc\.?|Ltd)\b.{0,6};",
        unless=_OF_A_FORM + r"|(?:条例|办法|规定|基准|标准|权限|改革)|(?:rules?|guidance|methodology|standards)\b",
    ),
)

_INNER = re.compile(r"《([^《》]{2,120}(?:《[^《》]{1,60}》[^《》]{0,60})?)》")
_ISSUES = re.compile(r"印发|发布|公布|颁布|批准|实施|施行|下发|转发|出台|审议通过|关于执行")

_OF_RULES = (
    _rule(
        Act.NATIONAL_PLAN,
        r"(?:国务院|中共中央|中央办公厅|国办|中办|全国人大|全国人民代表大会)[^，。]{0,80}(?:意见|规划|方案|纲要|计划|决定|措施|通知)|五年规划|中长期.{0,10}规划|现代化.{0,12}规划纲要|国家.{2,20}(?:战略|发展规划)"
        r"|“?十[五六]五”?.{0,30}规划",
        unless=r"国务院(?:国资委|办公厅秘书局|令)|贯彻|落实|批复|国资委",
    ),
    _rule(
        Act.TERMS,
        r"负面清单|产业结构调整指导目录|鼓励(?:外商投资|类)|(?:禁止|限制|管制).{0,12}(?:目录|清单|名录)|(?:医疗保险|医保).{0,6}目录|(?:上调|下调|提高|降低|下调金融机构).{0,20}(?:准备金率|利率|税率|电价|价格)|出口管制|不可靠实体|反倾销|反补贴|保障措施"
        r"|(?:税率|关税|税收|增值税|消费税|所得税|退税|电价|价格机制|定价|费率|收费标准|收费政策|收费|补贴政策|准备金|保证金|配额|资本金|存款利率|利率|风险权重|消纳责任权重|最低工资|缴费)[^，。]{0,40}(?:通知|公告|决定|政策|通告)"
        r"|(?:调整|完善|降低|提高|取消|减免|延续)[^，。]{0,40}(?:税|电价|价格机制|费率|收费|补贴|比例|标准|限额|额度|准入|认证)[^，。]{0,30}(?:通知|公告|决定|通告)",
        r"tariffs?\b|duties on|levy\b|price cap|tax (?:rates?|credits?|relief|changes)|capital requirements?|minimum wage|fee (?:rates|schedule|increase)|allowed (?:revenue|return)",
        unless=r"成品油|调查的公告|到期|statistics|国标委|标准.{0,6}(?:计划|编号)|report|analysis",
    ),
    _rule(
        Act.RULE,
        rf"令.{{0,4}}第.{{1,5}}号|公布.{{0,10}}令|修改.{{2,80}}(?:的)?决定|{_FORM.replace('|标准', '').replace('|规范', '').replace('|规程', '').replace('|指引|指南', '')}{_TAIL}(?:的(?:通知|公告|通告|决定|命令|令|函))?{_TAIL}$|(?:规则|办法|规定|准则|条例|细则)(?:第.{{1,5}}号)?(?:[（(][^）)》]{{0,30}}[）)])?[：:—-]{{0,2}}[^《》]{{0,30}}》|实施方案》",
        unless=r"标准化|举报|征文",
    ),
)

_OF_STANDARDS = (
    _rule(Act.EXECUTION, r"标准.{0,12}(?:计划|立项|制修订项目|复审)", unless=r"意见稿"),
    _rule(
        Act.BINDING_STANDARD,
        r"强制性(?:国家)?标准|强制性产品认证|(?<![A-Z/])GB ?\d{3,}|排放标准|(?:排放|能效)?限(?:定)?值|标准.{0,10}修改单|地方标准.{0,40}排放",
        r"(?:emission|conservation|efficiency|performance) standards\b",
        unless=r"废止|推荐性国家标准和",
    ),
    _rule(
        Act.STANDARD,
        r"(?:国家|行业|地方|团体)标准|标准(?!化|厅)|(?:技术|设计|验收|施工|操作|工作|服务|管理|检测|建设)规范|规范(?:[（(》]|$|的(?:公告|通知))|规程|导则|技术要求|评价方法|GB/T|[A-Z]{2}/T",
        r"(?:ISO|IEC|EN|BS|AASB|IFRS|IAS|ASTM) ?[A-Z]?\d|standards?\b|codes? of (?:practice|conduct)|technical specifications?",
    ),
)

_OF_WORK = (
    _rule(
        Act.LIST,
        r"名单|名录|入选|拟.{0,12}(?:公示|名单)|结果.{0,6}公示|公示{0,1}$|第[^，。]{1,4}批.{0,20}(?:公示|公告|目录)|目录(?:公示|公告|（第)|公示[（(]",
        r"list of|register of|updated? list|shortlist|successful (?:applicants|bidders)|selected (?:projects|applicants)|results of the .{0,30}(?:auction|round)|award(?:s|ed) .{0,40}(?:grants?|funding)|announces .{0,40}(?:grants?|funding) (?:to|for)",
    ),
    _rule(
        Act.APPLICATION,
        r"申报|试点|示范|揭榜|征集.{0,20}(?:项目|案例|单位|产品|需求)|专项资金|扶持|奖补|奖励资金|补贴申|申领|申请(?:指南|受理|工作)|报名|竞争性配置|竞价|资助|沙盒|招商",
        r"funding opportunit|grants?\b|call for (?:proposals|applications|projects|expressions)|auctions?\b|applications? (?:open|now open|invited|window)|open call|sandbox|pilots?\b|innovation fund|expressions? of interest"
        r"|subsid(?:y|ies)|funding (?:round|available|call|program)|incentives?\b|competition (?:opens|launched)",
    ),
    _rule(Act.EXECUTION, r"成品油价格|成品油.{0,4}调价|休市|放假|节假日", r"sanctions?\b|national emergency|reminder"),
    _rule(
        Act.GUIDANCE,
        "",
        r"guidance|guidelines?\b|FG ?\d+/\d+|policy statement on|commission notice|thematic review|multi-firm review|good (?:and poor )?practice|practice (?:note|statement)|information sheet|RG \d+|bulletin no|advisory opinion|opinion on|interpretive|staff (?:notice|bulletin)",
    ),
    _rule(
        Act.DATA,
        r"数据(?!安全|要素|中心|资源|出境|跨境|产业|基础|治理|知识|条例|流通|标注|集|管理)|统计|指数|排名|月报|季报|年报|公报|快报|运行情况|情况表|质量状况|合格率|发展情况|收支情况|完成情况|同比|环比|增长|下降|增速|[\d.]+[%％]|监测"
        r"|走势|报价利率|行情|成交信息|储备资产|预算执行|决算|CPI|PPI|PMI|存煤|可用天数|社会融资|进出口|(?:月份?|季度|上半年|全年|旬).{0,24}(?:情况|数据|形势)|突破[\d.]+[万亿]|累计|规模达|创.{0,4}新高",
        r"statistic|data\b(?! (?:storage|protection|sharing|act|privacy|cent|access|govern|breach|security|portab))|index\b|inflation|(?:production|sales|output|prices?|exports?|imports?|employment|spending|approvals|confidence|demand|volumes?|turnover|gdp)\b.{0,20} (?:up|down|rise|rises|fall|falls|fell|rose|grew|increase[ds]?|decrease[ds]?|unchanged)\b"
        r"|[\d.]+ ?(?:%|per cent|percent)|quarterly|monthly|half-yearly|figures\b|indicators|gdp|unemployment|retail sales|balance of payments|trends report|dashboard|(?:Q[1-4]|H[12]) 20\d\d|consolidated .{0,20}release",
        unless=_OF_A_FORM + r"|(?:关于|加强|做好).{2,60}(?:通知|意见)$|guidance",
    ),
    _rule(
        Act.REPORT,
        r"报告(?!制度|管理|规定|核查|指南|书|工作)|白皮书|蓝皮书|研究|展望|评估结果|形势",
        r"reports?\b|assessment\b|outlook|reviews?\b|surveys?\b|research|working paper|occasional paper|stud(?:y|ies)\b|findings|insights?\b|analysis|market watch|evaluation|annual plan|business plan",
        unless=_OF_A_FORM + r"|的(?:通知|公告|意见|通告)$|reporting",
    ),
    _rule(
        Act.SUPERVISION,
        "",
        r"dear (?:ceo|cfo|chair|colleague|board|sir|remco)|letter to (?:firms|boards|banks|insurers|ceos|chairs|all|the)|portfolio letter|circulars?\b|supervisory (?:statement|expectations?|priorities|policy|letter)|SS ?\d+/\d+|expectations\b"
        r"|handbook notice|regulatory (?:notice|guide)|notice to (?:industry|firms|all|licensees|importers|exporters)|(?:staged|delay|deferral|postpone\w*|transition\w*|no longer require|relief)\b|strategy|priorities|roadmap|framework|decision\b|plan\b|policy",
    ),
)

_OF_NOTICES = (
    _rule(
        Act.POLICY,
        r"(?:指导意见|实施意见|若干意见|意见|若干措施|措施|行动方案|行动计划|实施方案|工作方案|总体方案|方案|规划|计划|纲要|指引|指南|路线图)"
        rf"{_TAIL}(?:的(?:通知|公告|通告|函))?{_TAIL}$|通函|指引",
    ),
    _rule(
        Act.SUPERVISION,
        r"(?:规范|加强|严格|强化|进一步|完善|优化|改进|明确|调整|执行|实施|推进|促进|支持|深化|加快|健全|建立|推动|取消|暂停|降低|提高|限制|禁止|恢复|推行|实行|全面|有关事项|政策|适用|认定|权限|要求)[^。]{0,80}(?:通知|公告|通告|函|决定)|通函",
        unless=r"(?:专项)?(?:检查|核查|督查|抽查|排查|自查|普查|评估|整治)(?:工作)?的(?:通知|公告)|做好|休市",
    ),
    _rule(
        Act.EXECUTION,
        r"(?:通知|公告|通告|函|通报|决定|命令|令|通函)"
        + _TAIL
        + r"$|专项行动|整治|检查|核查|督查|部署|(?:通知|公告|通告)",
        r"notices?\b|announcement|reminder|order\b|rules?\b|regulations?\b|requirements?\b|amendments?\b",
    ),
)

_RULES = (
    *_UNMISTAKABLE,
    *_OF_MEETINGS,
    *_OF_CASES,
    *_OF_FINAL_RULES,
    *_OF_CONSULTATIONS,
    *_OF_ADMINISTRATION,
    *_OF_RULES,
    *_OF_STANDARDS,
    *_OF_WORK,
    *_OF_NOTICES,
)
_LARGE = re.compile(_LARGE_SUM, re.IGNORECASE)
_OF_THE_MARKET = re.compile(
    r"滥用市场支配地位|垄断协议|连续.{1,3}年.{0,6}造假|强制退市|\bcartel\b|abuse of dominan", re.IGNORECASE
)
_BODIES = re.compile(
    r"发展和?改革委(?:员会)?|标准化管理委员会|(?:市场|金融)(?:监督管理|监管)(?:总局|局)?|(?:卫生健康|国有资产监督管理|规划和自然资源|住房和城乡建设)(?:委员会|委|局|厅)|数据局|统计局"
    r"|(?:Financial )?Reporting Council|Competition and Consumer Commission|Securities and Exchange Commission|Standards Board|Competition and Markets Authority"
)
_NUMBER_AT_END = re.compile(
    r"(?<!令)[（(][^（）()令]{1,24}〔\d{4}〕\d+号[）)]$|[（(][^（）()令]{0,12}\d{4}年第?\d+号[）)]$"
)


@lru_cache(maxsize=4096)
def find_act(title: str) -> Act:
    """Return what a title says that its document does; `UNCLEAR` where it does not say."""
    plain = _leave_out_names(normalise_title(title))
    act = next((rule.act for rule in _RULES if rule.matches(plain)), Act.UNCLEAR)
    if act is Act.PENALTY and (_LARGE.search(plain) or _OF_THE_MARKET.search(plain)):
        return Act.MAJOR_CASE
    return act


def normalise_title(title: str) -> str:
    """Return a title as the rules read it: simplified characters, single spaces, at most 400 characters."""
    return re.sub(r"\s+", " ", simplify(title[: 2 * MAX_TITLE_CHARS])).strip()[:MAX_TITLE_CHARS]


def _leave_out_names(title: str) -> str:
    """Names of bodies hold words of what documents do (发展改革委, 标准化管理委员会): they say nothing here."""
    return _NUMBER_AT_END.sub("", _BODIES.sub("某委", title))
