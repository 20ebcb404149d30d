"""What a document is, by the words of its title: the type of its item, and the kind that its summary depends on."""

import re

from monitor.vocabulary import DocumentKind, ItemType


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

_KINDS_BY_TYPE = {
    ItemType.INTERPRETATION: DocumentKind.INTERPRETATION,
    ItemType.PERSONNEL: DocumentKind.PERSONNEL,
    ItemType.MEETING: DocumentKind.MEETING,
    ItemType.STANDARD: DocumentKind.STANDARD,
    ItemType.DATA: DocumentKind.STATISTICS,
}

# In order: what a document asks for or does comes before its form, so that a draft standard is a consultation.
_KIND_WORDS = {
    kind: re.compile(words, re.IGNORECASE)
    for kind, words in {
        DocumentKind.INTERPRETATION: r"解读|答记者问|问答|一图读懂|图解|\b(?:Q ?& ?A|FAQs?|explained|factsheet)\b",
        DocumentKind.CONSULTATION: (
            r"(?:征求|征集|听取).{0,12}意见|\b(?:consult(?:ation|s|ing)|call for (?:evidence|views|input)"
            r"|proposed rules?|request for (?:comments?|information))\b"
        ),
        DocumentKind.ENFORCEMENT: (
            r"处罚|罚款|罚没|决定书|裁定书|判决|查处|违法违规|警示函|责令|监管措施|立案|曝光|典型案例"
            r"|\b(?:fine[sd]?|penalt(?:y|ies)|enforcement|sanction(?:s|ed)?|censure[sd]?|final notice|decision notice"
            r"|banned|charged|convicted|cease and desist)\b"
        ),
        DocumentKind.MEETING: r"讲话|致辞|演讲|发言|\b(?:speech|remarks|keynote|address by)\b",
    }.items()
}


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


def classify_document(title: str, item_type: ItemType) -> DocumentKind:
    """Return the kind of a document by the words of its title, else by its type."""
    by_words = (kind for kind, words in _KIND_WORDS.items() if words.search(title))
    return next(by_words, _KINDS_BY_TYPE.get(item_type, DocumentKind.POLICY))
