"""The order of importance by rule: the tier of the seed (002, phase 3) and the type of a title."""

import datetime as dt
import re
from collections.abc import Sequence

from monitor.db.tables.collection import Item
from monitor.vocabulary import ItemType

_PROVINCES = (
    "北京|天津|上海|重庆|河北|山西|辽宁|吉林|黑龙江|江苏|浙江|安徽|福建|江西|山东|河南|湖北|湖南|广东|海南|四川|贵州|云南|陕西|"
    "甘肃|青海|内蒙古|广西|西藏|宁夏|新疆|深圳|大连|青岛|宁波|厦门"
)

LOCAL_ISSUER = re.compile(
    rf"(?:{_PROVINCES})|^[\u4e00-\u9fff]{{2,6}}(?:省|自治区|自治州|市|县)(?!场|域|级|区|政|属)"
    rf"|(?<![跨各全分])[\u4e00-\u9fff]{{2,4}}(?:省|自治区|自治州|市)"
    r"(?:人民政府|政府|能源|发展|生态|住房|市场|财政|工业|.{0,8}[局委厅])|\b(?:county|municipal(?:ity)?"
    r"|city council|borough|parish|"
    r"state of [A-Z]\w+|(?:Alabama|Arizona|California|Colorado|Florida|Georgia|Texas|New York|Ohio"
    r"|Virginia) (?:department|state))\b",
    re.IGNORECASE,
)

NATIONAL_ISSUER = re.compile(
    r"国务院|中共中央|中央(?:办公厅|军委|深改)|全国人(?:大|民代表大会)|最高人民|国办|国发|主席令|\b(?:state council"
    r"|european (?:commission|parliament|council)|council of the eu|president|prime minister|white house|parliament"
    r"|congress|cabinet|executive order|HM treasury)\b",
    re.IGNORECASE,
)

NATIONAL_NUMBER = re.compile(r"国发|国办发|国办函|中发|中办发|主席令|国务院令|国函")

NATIONAL_SUBJECT = re.compile(
    r"全国统一|国家(?:级|战略)|(?:五年|中长期|发展战略)规划|体制改革|机制改革|顶层设计|指导意见|总体方案|行动计划|强国"
    r"|现代化|\b(?:national|nationwide|federal|union-wide|single market|strategy|reform|white paper|green paper|act of"
    r"|directive|regulation \(eu\)|framework)\b",
    re.IGNORECASE,
)

SWEEPING_FORM = re.compile(
    r"(?<![办方做用语司执依])法(?:》|（|\(|$)|法（(?:修订|草案|修正)|(?<!用|方|做|办|语)法(?:修订|修正)?草案|条例"
    r"|规划(?!司|院|局|处|设计|展览|导则|环评)|纲要|指导意见|改革|总体方案|若干意见|的意见|实施意见|行动方案|行动计划"
    r"|战略|\b(?:act|bill|strategy|white paper|five-year plan|reform|executive order|directive|regulation \(eu\)"
    r"|budget)\b",
    re.IGNORECASE,
)

STATISTICS = re.compile(
    r"统计|数据|运行情况|指标|指数|增长[\d一二三四五六七八九十]|同比|环比|月报|季报|年报|公报(?!道)|监测(?:结果|报告)"
    r"|形势|投资完成|交易情况|突破[\d.]+[万亿]|累计|规模达|\b(?:statistics?|data|index|survey|figures|outlook"
    r"|indicators?|quarterly|monthly|report)\b",
    re.IGNORECASE,
)

PRESS_CONFERENCE = re.compile(r"新闻发布会|记者会|press conference", re.IGNORECASE)

ROUTINE = re.compile(
    r"任免|任命|免去|任职|拟任|拟聘|招聘|录用|遴选|同志|换届|逝世|退休|表彰|先进个人|会见|会谈|来访|拜会|接待|调研"
    r"|考察|慰问|走访|座谈|党组|党委|党建|主题教育|培训班|青年|工会|离退休|运动会|联欢|参观|揭牌|启动仪式|签约仪式"
    r"|开幕|闭幕|出席|致辞|贺信|(?:召开|举行|举办).{0,30}(?:会议|会|论坛|活动)|(?:会议|大会|座谈会|研讨会|推进会|论坛"
    r"|对话会).{0,8}(?:召开|举行|举办|综述|预告)|值班|放假|节假日|中标|成交公告|采购|预算公开|决算|\b(?:appoint(?:s|ed"
    r"|ment|ments)?|nominat(?:es|ed|ion)|visit(?:s|ed)?|meets? with|met with|delegation|ceremony|vacanc(?:y|ies)"
    r"|recruitment|welcom(?:es|ed)|readout|congratulat\w+|condolences?|award(?:s|ed)?|training course|obituary"
    r"|sunshine act meetings?)\b",
    re.IGNORECASE,
)

REGIME = re.compile(
    r"制度|办法|规定|规范性文件|废止|价格|电价|税|关税|准入|许可|监管|管理|市场|改革|促进|深化|试行|反垄断|处罚|召回"
    r"|\b(?:final rule|proposed rule|tariffs?|sanctions?|enforcement|antitrust|licen[cs]ing|prices?)\b",
    re.IGNORECASE,
)

PROCEDURE = re.compile(
    r"申报|报送|开展.{0,20}(?:工作|试点|检查|评选|遴选)|组织|做好|举办|名单|公示|结果|批复|复函|同意|下达|转发"
    r"|印发.{0,20}(?:细则|工作方案)|第[一二三四五六七八九十\d]+批|目录|受理|备案|注销|延期|更正|\b(?:applications?"
    r"|deadline|extension|correction|notice of (?:meeting|availability)|information collection|list of|call for)\b",
    re.IGNORECASE,
)


def _compile_rule(item_type: ItemType, words: str) -> tuple[ItemType, re.Pattern[str]]:
    return item_type, re.compile(words, re.IGNORECASE)


# In order: the first that matches decides. What a document does (explain, appoint) comes before what it is about.
TYPE_RULES = (
    _compile_rule(
        ItemType.INTERPRETATION,
        r"解读|答记者问|问答|一图读懂|图解|图说|政策说明|有关政策的说明|十问|看点|要点解析|有哪些变化|怎么(?:办"
        r"|看|定)|意味着什么|为什么要|"
        r"\b(?:explain(?:ed|er)|Q ?& ?A|questions and answers|FAQ|factsheet|fact sheet|guidance note|explanatory)\b",
    ),
    _compile_rule(
        ItemType.PERSONNEL,
        r"任免|任命|免去|任职|拟任|拟聘|招聘|录用|遴选|人事|换届|干部任|退休的?(?:通知|公告)|同志退休|先进个人"
        r"|.{2,4}任.{2,20}(?:局长|部长|司长|主任|总工程师|书记|主席|行长|委员)|\b(?:appoint(?:s|ed|ments?)?"
        r"|nominat(?:es|ed|ion)|recruitment|vacanc(?:y|ies)|resigns?)\b",
    ),
    _compile_rule(
        ItemType.NOTICE,
        r"(?:通知|通报|复函|批复|请示|的函|提示函)(?:[（(].*[）)])?(?:[》”]?)$|^关于.*的通知|\b(?:circular"
        r"|call for (?:evidence|proposals))\b",
    ),
    _compile_rule(
        ItemType.ANNOUNCEMENT,
        r"公告|公示|通告|启事|名单(?:公布)?$|结果(?:公布|的?公示)|\b(?:public notice|announcement|notices?)\b",
    ),
    _compile_rule(
        ItemType.MEETING,
        r"(?:召开|举行|举办).{0,40}(?:会|论坛)|(?:会|论坛).{0,12}(?:开幕|闭幕)"
        r"|(?:会议|大会|座谈会|研讨会|推进会|分析会|对话会|论坛)(?:综述|纪要|预告|在|召开|举行|顺利|$)",
    ),
    _compile_rule(ItemType.NEWS, r"会见|会谈|来访|拜会|调研|考察|慰问|走访"),
    _compile_rule(
        ItemType.STANDARD,
        r"标准(?!化)|(?:技术)?规范(?!性)|规程|导则|技术要求|限定值|试验方法|接口|(?-i:\b[A-Z]{2}(?:/T)? ?\d{3,})"
        r"|\b(?:standards?|specification|ISO \d+|IEC \d+)\b",
    ),
    _compile_rule(
        ItemType.DATA,
        r"统计|数据(?!中心|安全|平台|要素|条例)|运行情况|公报(?!道)|月报|季报|指数|(?:指标|情况)(?:发布)?$|监测(?:结果"
        r"|月报)|季度(?:报告|统计)|进展季度报告|规模突破|交易情况|\b(?:statistics|statistical|data release|index"
        r"|survey results?|monthly|quarterly|indicators)\b",
    ),
    _compile_rule(
        ItemType.LAW,
        r"条例|(?:管理|暂行|实施|试行|考核|评价|监督)?办法|(?:管理|安全|若干|暂行|监督)?规定(?!时)|细则|法(?:律法规"
        r"|规)|规章|修正案|(?:^|国|》)[^\s，]{2,20}法(?:》|（|\(|$|修订|修正|及其)|令第\d+号|\b(?:act|bill"
        r"|regulations?|rules?|directive|law|ordinance|statutory instrument|amendments?)\b",
    ),
    _compile_rule(
        ItemType.PLAN,
        r"(?<!新)规划(?!司|院|局|处|设计)|纲要|行动计划|行动方案|总体方案|实施方案|工作方案|路线图|中长期"
        r"|\b(?:plan|roadmap|strategy|programme of work)\b",
    ),
    _compile_rule(
        ItemType.POLICY,
        r"意见|措施|政策|决定|制度|改革方案|指引|指南|\b(?:policy|policies|guidelines?|guidance|white paper"
        r"|green paper|executive order|consultation|proposal|communication)\b",
    ),
    _compile_rule(ItemType.MEETING, r"会议|论坛|\b(?:meeting|conference|summit|forum|hearing|session)\b"),
    _compile_rule(
        ItemType.NEWS,
        r"新闻|要闻|动态|动向|会见|调研|来访|慰问|信息快报|报道|时讯|\b(?:news|press releases?|speech|statement"
        r"|remarks|blog|stories)\b",
    ),
)


_TITLE_END = (
    r"(?:(?<=[^（(])[（(][^（）()]*[）)]|征求意见稿|公开稿|送审稿|全文|草案|试行|暂行|修订(?:稿|版)?|[》”」』\s]|[（(]|[）)]"
    r"|第?[\d〔〕\[\]年第一二三四五六七八九十]+号)*$"
)

# What a title says of its own form: by its last word, or by words that have no other meaning.
_CLEAR_TYPE_RULES = (
    _compile_rule(
        ItemType.INTERPRETATION,
        r"解读|答记者问|一图读懂|图解|政策问答|\b(?:Q ?& ?A|questions and answers|FAQs?|factsheet|fact sheet)\b",
    ),
    _compile_rule(
        ItemType.PERSONNEL,
        r"任免|任命|免去|拟任|拟聘|任前公示|任职(?!资格|条件|管理|回避|限制)|\bappoint(?:s|ed|ment|ments)\b",
    ),
    _compile_rule(
        ItemType.NOTICE, rf"(?:通知|通报|复函|批复|请示|提示函|的函){_TITLE_END}|\bcircular (?:no\b|on\b|to\b)"
    ),
    _compile_rule(
        ItemType.ANNOUNCEMENT,
        rf"(?:公告|公示|通告|启事|决定书|裁定书|告知书|警示函){_TITLE_END}|决定书[（(《]"
        r"|^(?:public |final |decision |warning )?notice\b|\b(?:final|decision|warning) notice\b",
    ),
    _compile_rule(
        ItemType.STANDARD,
        rf"(?:标准|技术规范|规程|导则|技术要求|试验方法|限值){_TITLE_END}|(?-i:\b(?:GB|GBZ|[A-Z]{{2}}/T) ?\d{{3,}})"
        r"|(?-i:\b(?:ISO|IEC|EN) \d{3,})",
    ),
    _compile_rule(
        ItemType.DATA,
        rf"(?:统计公报|统计数据|统计月报|月报|季报|主要数据|运行情况){_TITLE_END}|\bstatistical (?:bulletin|release)\b",
    ),
    _compile_rule(
        ItemType.LAW,
        rf"(?:条例|办法|规定|细则|规章|修正案|(?:^|国|[^办方做用语司执依立守违看说想书])法){_TITLE_END}"
        r"|\b(?:regulation|directive) \((?:eu|ec)\)|\bact (?:19|20)\d\d\b",
    ),
    _compile_rule(
        ItemType.PLAN, rf"(?:(?<!新)规划|纲要|行动计划|(?:行动|总体|实施|工作)方案|路线图){_TITLE_END}|\broadmap$"
    ),
    _compile_rule(
        ItemType.POLICY,
        rf"(?<!征求)(?<!征集)(?<!听取)(?<!反馈)意见{_TITLE_END}|(?:指引|指南|若干措施|改革方案){_TITLE_END}"
        r"|\b(?:white|green) paper\b|\bexecutive order\b",
    ),
)


def sort_newest_first(items: Sequence[Item]) -> list[int]:
    """Return the order when the model gave none: the newest first, the undated last."""
    return sorted(range(len(items)), key=lambda n: (*_build_date_key(items[n].date), n))


def rank_by_rule(items: Sequence[Item]) -> list[int]:
    """Return the order without a model: by tier, then the newest first, the undated last."""
    return sorted(range(len(items)), key=lambda n: (classify_tier(items[n]), *_build_date_key(items[n].date), n))


def classify_tier(item: Item) -> int:
    """Return the tier of the seed in which an item's title, type and issuer place it, 1 the highest.

    1 national plans, laws, major reforms; 2 policy, supervision and standards of an industry, and what explains them;
    3 statistics and reports; 4 local documents and notices of execution; 5 daily business, personnel, meetings, visits.
    Words of routine outweigh a high issuer, a local issuer outweighs a grand form.
    """
    title = item.title
    issuer = item.issuer or ""
    if PRESS_CONFERENCE.search(title):
        return 3 if STATISTICS.search(title) else 4
    if item.type in (ItemType.PERSONNEL, ItemType.MEETING) or ROUTINE.search(title):
        return 5
    if item.type is ItemType.DATA:
        return 3
    if LOCAL_ISSUER.search(issuer) or (LOCAL_ISSUER.match(title) and not NATIONAL_ISSUER.search(issuer)):
        return 4
    return _classify_substantive_tier(item.type, title, issuer, item.document_number or "")


def find_clear_type(title: str) -> ItemType | None:
    """Return the type that a title says of itself by the form it names; None where its words leave room for doubt.

    What a document does (explains, appoints) outweighs its form, and the last form of a title those within: 关于印发
    《…办法》的通知 is a notice. 《…办法（征求意见稿）》 keeps the form of what is proposed.
    """
    plain = re.sub(r"\s+", " ", title).strip()
    return next((item_type for item_type, pattern in _CLEAR_TYPE_RULES if pattern.search(plain)), None)


def classify_item_type(title: str, section: str = "") -> ItemType:
    """Return the type by the words of the title, or by the section's name where the title says nothing.

    The form at the end of a title (…办法, …公告) outweighs words inside it; 关于…的通知 about a plan is a notice,
    《…办法》解读 an interpretation.
    """
    if clear := find_clear_type(title):
        return clear
    texts = (re.sub(r"\s+", " ", title).strip(), section.strip())
    matches = (item_type for text in texts for item_type, pattern in TYPE_RULES if pattern.search(text))
    return next(matches, ItemType.OTHER)


def _classify_substantive_tier(item_type: ItemType, title: str, issuer: str, number: str) -> int:
    """The tier of what is neither routine nor data nor local: by its form, its reach and its type."""
    is_national = bool(NATIONAL_SUBJECT.search(title) or NATIONAL_ISSUER.search(f"{issuer} {title}"))
    if item_type in (ItemType.LAW, ItemType.PLAN, ItemType.POLICY):
        return 1 if SWEEPING_FORM.search(title) or is_national or NATIONAL_NUMBER.search(number) else 2
    if item_type in (ItemType.STANDARD, ItemType.INTERPRETATION):
        return 2
    if item_type in (ItemType.NOTICE, ItemType.ANNOUNCEMENT):
        if REGIME.search(title) and not PROCEDURE.search(title):
            return 2
        return 3 if STATISTICS.search(title) else 4
    return 3 if STATISTICS.search(title) or is_national else 4


def _build_date_key(date: dt.date | None) -> tuple[bool, int]:
    return (date is None, -date.toordinal() if date else 0)
