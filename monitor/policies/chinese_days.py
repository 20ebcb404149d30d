"""The rules by which Chinese documents state their days."""

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitor.dates import WrittenDate, find_dates
from monitor.policies.day_mentions import add_period, read_count
from monitor.policies.day_rules import DayReading, StatedDay, Term
from monitor.policies.document_text import DAY, Sentence
from monitor.vocabulary import DeadlineKind

_D = rf"(?P<day>{DAY})"
_TIME = (
    r"(?:\s?\([^()]{1,12}\))?\s?(?:北京时间|上午|下午|中午|晚上?|凌晨)?\s?"
    r"(?:\d{1,2}(?::\d\d(?::\d\d)?|[时点](?:\d{1,2}分|整|半)?))?\s?(?:下班|午夜)?"
)
_BEGIN = r"(?:施行|实施|执行|生效|试行|适用|启用|实行|起用|开始(?:施行|实施|执行|适用)|启动实施)"
_MANNER = r"(?:\s|正式|全面|开始|在[^，。；]{2,16}内?|统一|同步|依法|陆续|组织|起|，|予以){0,4}"
_PERIOD_SIGN = r"\s?(?:[-—–~～]{1,2}|至|到)\s?"

_IN_FORCE = (
    re.compile(
        rf"(?:自|从|由|于|将于|将自|在)\s?{_D}\s?(?:零时|0时|0:00)?\s?(?:\([^()]{{1,12}}\))?(?:起|开始"
        rf"|后)?{_MANNER}(?P<verb>{_BEGIN})(?!的(?!通知|公告|规定。)|以来|至今|中)"
    ),
    re.compile(
        rf"{_D}\s?(?:零时|0时)?(?:起|开始)(?:正式|全面|开始|在全[国省市](?:范围内?)?)*(?P<verb>{_BEGIN})(?!的(?!通知|公告)|以来|至今)"
    ),
    re.compile(
        rf"(?:施行|实施|生效|执行|试行|启用)(?:日期|时间|之日)(?:为|是|定为|:|调整为|推迟至|延期至|延至|推迟到|提前至){{0,2}}\s?(?:自|从)?{_D}(?:起|。|$|\s"
        rf"|，|；|\))"
    ),
    re.compile(
        rf"(?:延至|推迟至|延期至|推迟到|延迟至|暂缓至|调整(?:为|至)|提前至|顺延至)\s?{_D}(?:起)?(?:正式|再)?(?P<verb>{_BEGIN})"
    ),
    re.compile(rf"(?:指定|订明|确定)\s?{_D}\s?为[^，。；]{{0,24}}?(?:实施|生效|施行)的?(?:日期|日)"),
    re.compile(rf"自\s?{_D}起?\s?至\s?{DAY}(?:止)?{_MANNER}(?P<verb>{_BEGIN})"),
    re.compile(
        rf"(?:有效期|执行期限?|实施期限?|试行期限?|试点(?:期限?|时间))(?:限|间)?(?:为|:|是)?\s?自?\s?{_D}起?{_PERIOD_SIGN}{DAY}"
    ),
)
_FROM_DAY = re.compile(
    rf"(?:(?<=^)|(?<=[，。；:]))(?:[一二三四五六七八九十\d]{{1,3}}[、.．])?\s?(?:自|从)\s?{_D}起(?:\s?至\s?{DAY}(?:止)?)?[，,]?\s?"
    r"(?P<verb>对|将|取消|停止|暂停|恢复|调整|免征|减征|减按|不再|全面|统一|执行|实行|征收|收取|提高|降低|按|启动|开展|凡|禁止|限制|允许|各|新|所有|在|由)"
)
_TITLED_CHANGE = re.compile(
    rf"(?:自|从)\s?{_D}起[，,]?(?:正式|全面)?(?P<verb>停止|终止|取消|暂停|恢复|废止|调整|免征|禁止|限制)"
)
_VALID = (
    re.compile(rf"自\s?{DAY}起?\s?至\s?{_D}(?:止)?[，,]\s?(?:对|将|免征|减征|减按|执行|暂停|按|继续|恢复|实行)"),
    re.compile(
        rf"(?:有效期|有效期限|执行期限?|实施期限?|试行期限?|施行期限?|实施时间|执行时间|政策期限|试点期限?)(?:限|间)?(?:为|:|是|自|截至|截止|延长|暂定"
        rf"|，){{0,3}}\s?(?:至|到|截止到?|截至)\s?{_D}"
    ),
    re.compile(
        rf"(?:有效期|有效期限|执行期限?|实施期限?|试行期限?|施行期限?|实施时间|执行时间|政策期限|试点(?:期限?|时间))(?:限|间)?(?:为|:|是"
        rf"|暂定){{0,2}}\s?自?\s?{DAY}起?{_PERIOD_SIGN}{_D}"
    ),
    re.compile(rf"自?\s?{DAY}起?{_PERIOD_SIGN}{_D}(?:止|期间)?{_MANNER}(?:{_BEGIN})"),
    re.compile(rf"{_BEGIN}(?:，|,)?(?:有效期|期限)?(?:为)?(?:至|到|截止到?|截至)\s?{_D}"),
    re.compile(rf"(?:执行|实施|延续|延长|延期|继续执行|继续有效|有效)(?:实施|执行)?(?:至|到)\s?{_D}"),
    re.compile(rf"(?:自|于|至)\s?{_D}(?:起|后)?(?:自动|自行|自然|同时)?(?:失效|废止(?!《)|停止执行|到期)"),
    re.compile(rf"(?:失效|废止)(?:日期|时间)(?:为|:|是)?\s?{_D}"),
)
_BY = re.compile(
    rf"{_D}{_TIME}(?:(?:当[日天])?(?:或|及)(?:之前|以前|前)|之前|以前|前(?!三|两|[\d一二三四五六七八九十]+[个年])|(?<=[时分整])?止|截止|为止|结束|内(?!容))"
)
_UNTIL = re.compile(
    rf"(?:截止|截至|止于|结束于?|延长|延期|延至|顺延|推迟)(?:申请|申报|报名|提交|递交|接收|收件)?(?:日期|时间|期限|日|到)?(?:为|是|:|到|至|于|延长至|延期至|顺延至|调整为|调整至|推迟至|由{DAY}{_TIME}(?:延长"
    rf"|延期|调整|顺延|推迟|延)(?:至|为|到)){{0,2}}\s?(?:{DAY}{_TIME}(?:延长|延期|调整|顺延|推迟|延)(?:至|为|到)\s?)?{_D}"
)
_PERIOD_TO = re.compile(
    rf"(?:咨询期|征询期|公示期|征求意见(?:时间|期限|期)|反馈(?:时间|期限)|征集(?:时间|期限))[^，。；{DAY[1:-1]}]{{0,6}}?(?:至|到)\s?{_D}"
)
_RANGE = re.compile(rf"{DAY}{_TIME}(?:起)?{_PERIOD_SIGN}{_D}")
_SINCE_COUNTED = re.compile(
    rf"(?:自|从)\s?{_D}\s?(?:起|开始)(?:，)?(?:为期|期限为?)?\s?(?P<n>\d{{1,3}}|[一二三四五六七八九十]{{1,4}})\s?个?(?P<unit>工作日|日|天|月)"
)

_COMMENT = re.compile(r"意见|回应|咨询|回复|异议|建议(?!书)|反馈|公示|函复|听证申请|提出书面|修改完善")
_STRONG_COMMENT = re.compile(
    r"征求意见|意见(?:建议|反馈|征集|和建议|、建议)|(?:修改|反馈|书面|修订|有关|相关|您的|宝贵|提交|递交|征询|提供)意见|提出意见|意见(?:以|通过|发送|返回|寄|发至|函)|异议|公示"
    r"|回应(?:本|该|此)?(?:咨询|征询)|咨询期|征询期|意见截止|征集(?:时间|截止|期)|反馈(?:至|给|到|截止|时间|意见)|函告|书面反馈"
)
_APPLY = re.compile(
    r"申报|申请|报名|报送|上报|呈报|提交|推荐|寄送|送达|投标|递交|受理|填报|参评|报至|报我|报省|报市|报国|汇总报|邮寄|发送至|登录.{0,20}系统|申领|申购|备案材料|抄送"
    r"|报.{0,12}(?:备案|审核|审批|委|部|局|厅|办|司)|征集"
)
_COMPLY = re.compile(
    r"完成|改正|结束业务|达到|整改|改造|建成|淘汰|退出|关停|停用|停止|更换|符合|办理|取得|落实|到位|补办|退还|返还|清退|补缴|结清|转换|清零|拆除|安装|接入|配备|升级|整治|清理|注销|变更|重新|履行|缴纳|报告|建立"
    r"|制定|出台|不得|应当|须|必须|过渡期|执行|换发|换证|登记|备案|披露|公开|培训|投入|并网|关闭|实现|合规"
)
_GOAL = re.compile(
    r"力争|目标|争取|有望|预计|计划(?:于|在|到)?|规划|拟于|拟在|将达|超过|左右|展望|愿景|基本形成|基本建立|进一步|显著"
)
_STATISTIC = re.compile(
    r"(?:累计|同比|环比|增长|下降|占比|共有|达\d|总量|余额|总计|全国共|合计|已(?:有|建成|完成|投产|发放|受理|收到|办理|处理|归集|查处)|装机(?:容量)?[\d达约为]|新增)"
)
_EVENT = re.compile(r"召开|举行|举办|会议|开幕|论坛|座谈|培训班|出席|调研|会见|颁奖|赛|展览|考试|开市|发布会")
_RECURRENT = re.compile(r"每年|每月|每季|次年|逐年|每半年|年度结束|每周")
_HEARSAY = re.compile(r"预计|有望|拟(?:于|自|从|将|在)|可能|计划(?:于|自|从|在)|据(?:悉|了解)|或将|尚未|争取|力争|力求")
_QUOTED_SUBJECT = re.compile(
    r"《(?P<title>[^《》]{2,100}(?:《[^《》]{1,60}》[^《》]{0,40})?)》(?:\([^()]{1,40}\))?[^《》，。；]{0,14}\Z"
)
_SELF = re.compile(
    r"本(?:办法|规定|通知|公告|条例|意见|决定|细则|规则|标准|规范|方案|通告|法|政策|措施|办法|目录|指引|指南|制度|文件|实施|暂行|修正|令|规程|准则|批复|函|清单|规划|计划|解释|修订"
    r"|预案|导则|章程|指导|若干)|此前|该(?:办法|规定|通知|公告|条例|意见|决定|细则|规则|标准|方案)|上述|新(?:办法|规定|规|标准|政策|版)|现(?:予|将|公布|印发)|以上"
)
_SHORT_NAME = re.compile(
    r"(?:暂行|管理|实施)?(?:办法|规定|通知|条例|意见|方案|细则|规则|公告|决定|指引|指南|规范|措施|标准)"
)
_OTHER_DOCUMENT = re.compile(r"《[^《》]{2,80}》")
_PAST = re.compile(r"(?:已|已经|曾|早)(?:于|自|从|在)?\s?\Z")
_LICENCE = re.compile(
    r"(?:许可证?|执照|证书?|证件|资质|资格|批件|批文|标志|标识|合同|协议|注册|备案号|认证|保函|发票|报价|投标|检测报告|检验报告|授权|牌照|药品|产品|食品|文号|签证|承诺|决定书|凭证"
    r"|核准|名单|认定|称号|聘期|任期)[^，。；]{0,10}\Z"
)
_PAPERS = re.compile(r"意见|申报|申请|报名|截止|反馈|征集|提交|受理|投标|公示")
_N = r"(?P<n>\d{1,3}|[一二两三四五六七八九十]{1,3})"
_TERM = (
    re.compile(
        rf"有效期(?:限)?(?:为|是|:|暂定|暂定为|限为|自[^，。；]{{1,20}}起(?:计算)?(?:为)?)?\s?{_N}\s?(?P<unit>年|个月)(?!内|以内|以上|前)"
    ),
    re.compile(rf"(?:试行|试用|暂行)(?:期限?)?(?:为|:|暂定|暂定为)?\s?{_N}\s?(?P<unit>年|个月)(?!内|以内|以上|前)"),
    re.compile(
        rf"(?:实施|执行|施行|试点)(?:期限?|时间|周期)(?:为|:|暂定|暂定为)\s?{_N}\s?(?P<unit>年|个月)(?!内|以内|以上|前)"
    ),
    re.compile(rf"试点(?:期限?|时间|周期)\s?{_N}\s?(?P<unit>年|个月)(?!内|以内|以上|前)"),
    re.compile(
        rf"(?:施行|实施|执行|试行)[，,](?:有效|暂定|为期|期限为?|执行期)\s?{_N}\s?(?P<unit>年|个月)(?!内|以内|以上|前)"
    ),
)
_CLAUSE_STOP = re.compile(rf"[。；！？]|{DAY}")
_TRANSITION = re.compile(rf"(?:过渡期|宽限期|整改期)(?:限|间)?[^，。；]{{0,14}}?(?:至|到|截止|为)\s?{_D}")
_REWORDED = re.compile(
    rf"[“\"‘「](?P<old>{DAY}){_TIME}(?:之前|以前|前)?[^”\"’」]{{0,10}}[”\"’」](?:统一|相应|均)?(?:修改|修订|调整|改|更改|变更)为[:：]?"
    rf"[“\"‘「]{_D}{_TIME}(?:之前|以前|前)"
)
_ORIGINAL = re.compile(r"(?:原定|原|此前|曾定|原计划|原为|由)(?:于|为|在)?\s?\Z")
_DEMAND = re.compile(r"应|须|请|需|务必|必须|可|要求|责令|限|确保")
_SET_APART = re.compile(r"\s?(?:已|尚未|曾|原有|仍)")
_ATTRIBUTIVE = re.compile(r"的(?:[\u4e00-\u9fff]{1,10})?\Z")
_ARTICLE = re.compile(r"第[一二三四五六七八九十百〇零\d]{1,5}条")
_ORDERED = re.compile(r"责令|改正|整改|缴纳|缴至|停止|拆除|恢复")
_TENDER = re.compile(r"(?:响应|投标|采购|招标|磋商|竞标)文件|开标|投标")
_WINDOW = re.compile(r"申报|报名|受理|申请|提交|报送|征集|填报|时间|公示|期限|窗口|日期")
_SUBJECT_DROP = re.compile(
    r"^(?:其中|此外|同时|另外|并且?|且|但|请|并请|现|特|为此|对于?|对|凡|各|由|将|要|确保|做到|原则上|[一二三四五六七八九十\d]{1,3}[、.．)]"
    r"|\([一二三四五六七八九十\d]{1,3}\)|第[一二三四五六七八九十百\d]{1,5}[条章款项]\s?)+|(?:应当?|须|需|必须|要|的|自|于|从|在|将|应于|可|请|前|截至|截止(?:时间"
    r"|日期)?|至|到|为|以|均|，|期限|时间|日期|:|\s)+$"
)
_BEHIND_DAY = re.compile(r"(?:之|以)?(?:前|起|内|后)|[至止]")
_ENACTED = re.compile(r"公布|发布|印发|通过|现予|予以|批准|审议")
_MAX_SUBJECT_CHARS = 24


def find_stated_days(sentences: Sequence[Sentence], reading: DayReading) -> Iterator[StatedDay]:
    """Yield the days that the sentences of a document state of it, in no order."""
    for place, sentence in enumerate(sentences):
        if not sentence.days:
            continue
        taken: set[str] = set()
        context = sentences[place - 1].text if place and sentences[place - 1].line >= sentence.line - 1 else ""
        for kind, found in () if reading.is_news else _match_validity(sentence, reading):
            taken.add(found["day"])
            stated = _state(sentence, kind, found)
            if stated:
                yield stated
        for found, kind in _match_due(sentence, context, reading, taken):
            stated = _state(sentence, kind, found)
            if stated:
                yield stated


def _state(sentence: Sentence, kind: DeadlineKind, found: re.Match[str]) -> StatedDay | None:
    mention = sentence.get_day(found["day"])
    if "n" in found.re.groupindex and found["n"]:
        # The first day counts: 自6月1日起5个工作日 ends on the fifth.
        eve = mention.day - dt.timedelta(days=1) if mention.day else None
        day = add_period(eve, read_count(found["n"]), found["unit"])
    else:
        day = mention.day
    if day is None:
        return None
    subject = "" if kind is DeadlineKind.COMMENTS_UNTIL else _find_subject(sentence.masked, found.start())
    return StatedDay(kind, day, subject, sentence.start, sentence.end)


def _match_validity(sentence: Sentence, reading: DayReading) -> Iterator[tuple[DeadlineKind, re.Match[str]]]:
    masked = sentence.masked
    changed: set[str] = set()
    for found in _TITLED_CHANGE.finditer(masked):
        if not reading.explains and reading.own_titles and found["verb"] in reading.own_titles[0]:
            changed.add(found["day"])
            yield DeadlineKind.IN_FORCE, found
    for kind, patterns in ((DeadlineKind.IN_FORCE, (*_IN_FORCE, _FROM_DAY)), (DeadlineKind.VALID_UNTIL, _VALID)):
        seen = set(changed)
        for pattern in patterns:
            for found in pattern.finditer(masked):
                if found["day"] not in seen and _is_own(masked, found, reading, kind):
                    seen.add(found["day"])
                    yield kind, found


def _is_own(masked: str, found: re.Match[str], reading: DayReading, kind: DeadlineKind) -> bool:
    """Whether a validity is said of the document itself, not of another that it names, and as certain."""
    before = masked[max(0, found.start() - 120) : found.start()]
    clause = before[max(before.rfind(mark) for mark in "。；！？") + 1 :]
    behind = masked[found.end() : found.end() + 2]
    if behind.startswith("的") and not re.match(r"的(?:通知|公告)", masked[found.end() : found.end() + 3]):
        return False
    if _PAST.search(before) and not reading.explains:
        return False
    if not reading.asks_comments and _HEARSAY.search(clause[-14:] + found[0]):
        return False
    if kind is DeadlineKind.VALID_UNTIL and (_LICENCE.search(clause) or _PAPERS.search(clause + found[0])):
        return False
    nearest = clause[max(clause.rfind(mark) for mark in "，,:") + 1 :]
    for piece in (nearest, clause):
        if _SELF.search(piece):
            return True
        if quoted := _QUOTED_SUBJECT.search(piece):
            return (
                reading.explains
                or bool(_SHORT_NAME.fullmatch(quoted["title"]))
                or any(_is_same(quoted["title"], own) for own in reading.own_titles)
            )
        if named := [*_OTHER_DOCUMENT.finditer(piece)]:
            return (
                reading.explains
                or any(_is_same(other[0][1:-1], own) for other in named for own in reading.own_titles)
                or bool(re.search(r"(?:印发|公布|发布|废止|修改|通过|制定)", piece))
            )
    return True


def _is_same(title: str, own: str) -> bool:
    plain, other = (re.sub(r"\([^()]*\)|[\s《》]", "", name) for name in (title, own))
    return plain == other or (len(plain) > 3 and plain in other) or (len(other) > 3 and other in plain)


@dataclass(frozen=True, slots=True)
class _Clause:
    """The words around a day: ahead of it and behind it in its clause, and next to it up to a comma."""

    ahead: str
    nearest: str
    immediate: str
    behind: str

    @property
    def whole(self) -> str:
        return self.ahead + self.behind


def _cut_clause(masked: str, found: re.Match[str]) -> _Clause:
    start = max((masked.rfind(mark, 0, found.start()) for mark in "。；！？"), default=-1) + 1
    stop = _CLAUSE_STOP.search(masked, found.end())
    ahead, behind = masked[start : found.start()], masked[found.end() : stop.start() if stop else len(masked)]
    nearest = ahead[max(ahead.rfind(mark) for mark in "，,") + 1 :]
    immediate = re.split("[，,:]", behind.lstrip("，, "))[0]
    return _Clause(ahead, nearest, immediate, behind)


def _match_due(
    sentence: Sentence, context: str, reading: DayReading, taken: set[str]
) -> Iterator[tuple[re.Match[str], DeadlineKind]]:
    masked = sentence.masked
    for found in _REWORDED.finditer(masked):
        taken.update(found.group("old", "day"))
        yield found, DeadlineKind.COMPLY_BY
    for pattern in (_TRANSITION, _PERIOD_TO, _UNTIL, _BY, _SINCE_COUNTED, _RANGE):
        for found in pattern.finditer(masked):
            if found["day"] in taken:
                continue
            clause = _cut_clause(masked, found)
            if _is_no_deadline(clause, found, is_until=pattern is _UNTIL) or _is_procedure(sentence, found, reading):
                continue
            kind = _SURE_KINDS.get(pattern) or _classify_due(clause, pattern, context, reading)
            if kind is not None and _may_state(kind, clause, reading):
                taken.add(found["day"])
                yield found, kind


def _is_no_deadline(clause: _Clause, found: re.Match[str], *, is_until: bool) -> bool:
    """Whether a day is that of a figure, of an event, of the past, of every year, or marks off a group of cases."""
    if _RECURRENT.search(clause.nearest[-12:]) or _PAST.search(clause.nearest) or _ORIGINAL.search(clause.nearest):
        return True
    if _STATISTIC.search(clause.immediate[:24]) or _EVENT.search(clause.immediate[:16]):
        return True
    if _EVENT.search(clause.nearest) and not _APPLY.search(clause.behind):
        return True
    is_demanded = _DEMAND.search(clause.nearest)
    if not is_demanded and (_SET_APART.match(clause.immediate) or _ATTRIBUTIVE.search(clause.immediate)):
        return True
    is_as_of = is_until and re.match(r"截[至止]", found[0]) and not re.search(r"时间|日期|期限|为|:", found[0])
    return bool(is_as_of and not clause.nearest.strip())  # 截至2026年5月底，全国…


_SURE_KINDS = {_TRANSITION: DeadlineKind.COMPLY_BY, _PERIOD_TO: DeadlineKind.COMMENTS_UNTIL}


def _is_procedure(sentence: Sentence, found: re.Match[str], reading: DayReading) -> bool:
    """Whether days count from a publication in a procedure that a document sets: 自结果公布之日起10日内."""
    mention = sentence.get_day(found["day"])
    if not mention.is_counted or re.search("施行|实施|生效", mention.written):
        return False
    return bool(_ARTICLE.match(sentence.text)) or not (reading.asks_comments or reading.is_news)


def _may_state(kind: DeadlineKind, clause: _Clause, reading: DayReading) -> bool:
    if reading.is_order:
        return kind is DeadlineKind.COMPLY_BY and bool(_ORDERED.search(clause.whole))
    if reading.is_news and (kind is DeadlineKind.COMPLY_BY or _TENDER.search(clause.whole)):
        return False
    return not (reading.is_plan and kind is DeadlineKind.COMPLY_BY)


def _classify_due(clause: _Clause, pattern: re.Pattern[str], context: str, reading: DayReading) -> DeadlineKind | None:
    """Return what is due by a day: the words next to it count before those of the whole clause."""
    is_range, is_until = pattern is _RANGE, pattern is _UNTIL
    if _STRONG_COMMENT.search(clause.whole):
        return DeadlineKind.COMMENTS_UNTIL
    if reading.asks_comments and (
        _COMMENT.search(clause.whole) or is_until or (is_range and _COMMENT.search(context + clause.ahead))
    ):
        return DeadlineKind.COMMENTS_UNTIL
    if is_range:
        is_window = _WINDOW.search(clause.ahead[-24:])
        return DeadlineKind.APPLY_BY if is_window and _APPLY.search(clause.whole + context) else None
    if _APPLY.search(clause.immediate):
        return DeadlineKind.APPLY_BY
    is_goal = _GOAL.search(clause.nearest + clause.immediate[:24])
    if _COMPLY.search(clause.immediate):
        return None if is_goal else DeadlineKind.COMPLY_BY
    if _APPLY.search(clause.nearest + clause.behind[:60]) or (is_until and _APPLY.search(clause.whole + context)):
        return DeadlineKind.APPLY_BY
    is_last = not clause.behind.strip('，。)" ”')
    if not is_goal and (_COMPLY.search(clause.behind[:60]) or (is_last and _COMPLY.search(clause.nearest))):
        return DeadlineKind.COMPLY_BY
    return None


def is_uncertain(sentence: Sentence, start: int, reading: DayReading) -> bool:
    """Whether the day at `start` is only hoped for or expected; a draft proposes all that it says."""
    return not reading.asks_comments and bool(_HEARSAY.search(sentence.text[max(0, start - 14) : start]))


def find_subject(sentence: Sentence, place: int) -> str:
    """Return what a day of a sentence holds for, by its place, where its clause names something but the document."""
    before = sentence.mask_before(place)
    return _find_subject(before, len(before))


def _find_subject(masked: str, start: int) -> str:
    head = masked[max(0, start - 80) : start]
    pieces = re.split(rf"[，。；;:！？\n]|{DAY}", head)
    for piece in reversed(pieces):
        if _BEHIND_DAY.match(piece):
            return ""  # what was due on the day before
        bare = _SUBJECT_DROP.sub("", _SUBJECT_DROP.sub("", piece.strip()))
        if len(bare) < 2:
            continue
        if (
            _SELF.search(bare)
            or "《" in bare
            or bare.endswith("决定")
            or _ENACTED.search(bare)
            or len(bare) > _MAX_SUBJECT_CHARS
        ):
            return ""
        return bare
    return ""


def find_terms(sentences: Sequence[Sentence]) -> Iterator[Term]:
    """Yield how long the document holds, where it says so in years or months; that of a licence is none."""
    for place, sentence in enumerate(sentences):
        masked = sentence.masked
        for pattern in _TERM:
            found = pattern.search(masked)
            if not found:
                continue
            before = masked[max(0, found.start() - 60) : found.start()]
            clause = before[max(before.rfind(mark) for mark in "。；！？") + 1 :]
            own = re.search(rf"{_BEGIN}|{_SELF.pattern}|试点", clause + found[0]) or (
                place and re.search(_BEGIN, sentences[place - 1].text) and not clause.strip("，")
            )
            nearest = clause[clause.rfind("，") + 1 :]
            if own and not _LICENCE.search(nearest) and not re.search(r"申请|取得|颁发|核发|产品|企业", nearest):
                yield Term(read_count(found["n"]), found["unit"], sentence.start, sentence.end)
                return


_COLUMN = re.compile(r"(?:批准|发布|公布|公告|备案|实施|施行|生效|起用)(?:日期|时间)")
_STARTS = re.compile(r"实施|施行|生效|起用")
_MIN_ROW_CHARS = 5


def _is_row(line: str, dates: Sequence[WrittenDate]) -> bool:
    """Whether a line says more than its dates: the date at the foot is no row."""
    return len(line.strip()) - sum(date.end - date.start for date in dates) >= _MIN_ROW_CHARS


def find_table_days(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the rows under a header with 实施日期, and which of their days stands in that column."""
    columns: list[str] = []
    for number, line in enumerate(lines):
        if (found := _COLUMN.findall(line)) and len(find_dates(line)) == 0 and any(map(_STARTS.match, found)):
            columns = found
        elif "，" in line or line.endswith(("。", ";", ":", "；", "：")):
            columns = []  # prose ends a table
        elif columns and len(dates := find_dates(line)) == len(columns) and _is_row(line, dates):
            yield number, next(place for place, name in enumerate(columns) if _STARTS.match(name))
