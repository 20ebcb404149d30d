"""Tells what a document is and where it stands in the life of its policy, by its title, its head and its forms."""

import re
from dataclasses import dataclass

from monitor.policies.document_text import DocumentText
from monitor.policies.english_stages import ENGLISH_ASKS, read_english_stage
from monitor.vocabulary import DocumentKind, PolicyStage

_HEAD_CHARS, _FIRST_CHARS = 1_500, 600


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
    (PolicyStage.FINAL, _compile(r"\(生效日期\).{0,4}(?:公告|令)|(?:生效|实施)日期的?公告$")),
    (PolicyStage.DRAFT, _compile(r"(?:送审稿|草案)(?!.{0,4}征求意见).{0,6}(?:起草|编制|修订|制定)?的?说明")),
    (PolicyStage.CONSULTATION, _compile(r"征求意见稿.{0,8}(?:起草|编制|修订|制定)的?说明")),
    (
        PolicyStage.QA,
        _compile(
            r"答记者问|有关问题答|问答|即问即答|你问我答|问与答|[一二三四五六七八九十百\d]+问|常见问题|热点问题|Q&A|答疑|有问必答|释疑|回应关切"
        ),
    ),
    (
        PolicyStage.INTERPRETATION,
        _compile(
            r"解读|图解|一图|图说|读懂|看懂|政策说明|起草说明|编制说明|修订说明|制定说明|的说明$|说明$|要点解析|一问一图|政策简明|操作指引解析|详解|新旧对照"
            r"|(?:(?<!有关)(?<!相关)(?<!若干)问题|适用|效力|理解|认定|定性|界定|如何).{0,16}的?(?:复函|批复|答复|答复函|答复意见)$|咨询通告"
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
            r"处罚|警示函|责令|行政监管措施|监管措施|决定书|违法违规案|典型案例|查处|立案|罚款|罚没|告知书|(?:侵害|违规|违法|不合格|问题).{0,24}通报(?!会)|纪律处分|公开谴责|监管函|吊销|撤销.{0,20}(?:许可|资质|资格|登记"
            r"|注册证)|行政强制|被罚|曝光|失信名单|裁决书|检控|定罪|谴责"
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
            r"|修改《|^(?:修正|修订|增订)《|部分条款的|勘误|更正|(?:修改单|修改通知单)|作(?:出)?(?:如下)?修改|《[^《》]{2,60}》(?:的)?补充(?:通知|规定|公告)|补充(?:规定|通知|公告)|(?:延长|延期|调整|推迟|顺延).{0,40}(?:申报|报名|受理|申请|报送|提交|截止)(?:截止)?(?:时间|期限|日期)|(?:延长|延期|调整"
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
            r"|配套(?:措施|办法|细则)|实施《.{2,60}》的?(?:意见|办法|若干|细则|方案|规定|通知)|操作(?:细则|规程|指南)"
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
    r"中标|采购|成交(?:结果|公告)|招标|招聘|录用|拟任|任免|任职前|拟认定|名单(?:的)?公示|(?:预算|决算)(?:公开|公告)?$|放假|中选|比选|遴选结果|停牌|复牌|摘牌|付息|兑付|发行结果|竞价结果|操作结果"
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
    r"|(?:正式|起|今起|将)(?:施行|实施|生效)|(?:接受|开放|现正接受|开始)(?:申请|报名|申报)|申请(?:现已|现正)?(?:展开|开始|开放)"
)

_ZH_REPORTED_ISSUE = _compile(
    r"(?:近日|日前|今[日天]|昨[日天]|联合|正式)[^。\n《]{0,10}(?:印发|发布|出台|公布|颁布)了?《[^《》\n]{2,60}(?:办法|规定|条例|细则|规则|意见|方案|规范|指引|指南|通知|措施|标准)"
)

_I = re.IGNORECASE
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
    stage = _read_chinese_stage(document) if document.is_chinese else read_english_stage(document)
    return Classification(_read_kind(document.title, stage), stage)


def asks_for_comments(document: DocumentText) -> bool:
    """Whether a document is out for comment, whatever its title says."""
    head = document.folded[: 4 * _HEAD_CHARS]
    return bool((_ZH_ASKS if document.is_chinese else ENGLISH_ASKS).search(head))


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
    is_binding = (
        has_form
        or is_issued
        or bool(_ZH_BINDING_BODY.search(document.folded) or _ZH_REPORTED_ISSUE.search(document.folded, 0, _FIRST_CHARS))
    )
    return PolicyStage.FINAL if is_binding else None
