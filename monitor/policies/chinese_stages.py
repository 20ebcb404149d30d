"""Tells where a Chinese document stands in the life of its policy: its title, its first words, its form."""

import re

from monitor.policies.chinese_stage_titles import ANSWERS, CHINESE_SIGNS, DATA, EVENT, FORM_END, NUMBERED, remove_quoted
from monitor.policies.document_text import DocumentText
from monitor.policies.title_signs import match_any
from monitor.vocabulary import PolicyStage

_HEAD_CHARS, _FIRST_CHARS, _OPENING_CHARS = 1_500, 600, 260
_MIN_NORMS = 2
_ASKED = match_any(r"(?:^|\n)\s*(?:[【\[]问题?[】\]]|Q ?\d*\s*[:.、]|问 ?\d*\s*:|问题?[一二三\d]+\s*:)")
_HEADS: tuple[tuple[PolicyStage | None, re.Pattern[str]], ...] = (
    (
        None,
        match_any(
            r"潜在供应商|响应文件|评标|投标人须知|名额:|培训费|会期[一二三半\d]|同比(?:上涨|下降|增长|上升)|任前公示",
            r"(?:美元|欧元)对人民币\d",
        ),
    ),
    (PolicyStage.QA, _ASKED),
    (
        PolicyStage.ENFORCEMENT,
        match_any(
            r"经查(?:[,:实明]|.{0,10}(?:你|当事人))|(?:^|\n)\s*(?:被处罚)?当事人:",
            r"(?:^|[。\n])(?:(?!最高)[^。\n])*?(?:处以?|并处|被处|罚款|罚没|裁处"
            r"|罚锾)[^。\n]{0,24}[\d一二三四五六七八九十百千万][^。\n]{0,8}元",
            r"没收违法所得",
            r"裁定罪名成立|判处[^。]{0,12}(?:监禁|罚款)|(?:你公司|该公司|该企业|当事人)[^。]{0,60}违反",
            r"依法(?:依约)?(?:予以)?(?:关闭|禁言|下架|追缴)|处分注销",
        ),
    ),
    (
        PolicyStage.INTERPRETATION,
        match_any(
            r"仅供(?:.{0,8})?参考|不构成[^。\n]{0,30}(?:一部分|部分|补充|修改|意见|依据)|不具(?:有)?(?:法律|强制)",
            r"(?:协助|帮助)[^。\n]{0,20}(?:理解|了解)[^。\n]{0,30}(?:规定|要求|原则|政策|条文)",
            r"旨在(?:协助|帮助|阐明|说明|解释)",
        ),
    ),
    (
        PolicyStage.PLAN,
        match_any(
            r"(?:拟|计划)(?:制定|修订|出台|安排)[^。\n]{0,40}\d+(?:件|项|部)|第一类项目",
            r"[一二三四]季度[^。\n]{0,20}(?:形成|完成|报审|出台|启动)",
            r"牵头(?:单位|部门)\s?(?:完成|办理)?(?:时限|时间)",
        ),
    ),
    (
        PolicyStage.PILOT,
        match_any(
            r"(?:试点|试验|先行|测试|试行)期|(?:先行|先期)(?:开展|启动|探索|实施|纳入)",
            r"(?:试点|试行|试办|沙盒|先导)(?!.{0,8}(?:经验|以来|基础|成效|总结))[^第]{0,120}(?:试点|试行|试办|测试"
            r"|沙盒)(?!.{0,8}(?:经验|以来|基础|成效|总结))",
            r"(?:决定|同意|启动|开展|扩大|纳入|参与|参加|将)[^。\n]{0,40}(?:试点|试办|试行|先导计划|沙盒"
            r"|监管沙箱)(?!.{0,8}(?:经验|以来|基础|成效|总结))",
            r"试点(?:期|地区|银行|企业|工作|城市|任务|名单|项目|单位|方案)(?!.{0,8}(?:经验|以来|基础|成效|总结))",
        ),
    ),
    (
        PolicyStage.IMPLEMENTATION,
        match_any(
            r"(?:为|对照|依据|根据|按照)[^。]{0,12}(?:落实|贯彻|国家|国务院|部|总局|条例|办法"
            r"|省政府)[^。]{0,60}(?:我|本)(?:省|市|区|县|州|辖)(?!场)",
            r"为(?:配合|协助|便利|方便)[^。]{0,40}(?:实施|推行|落地|享惠|执行)",
            r"(?:贯彻|落实|执行|转发|根据|按照)[^。]{0,120}(?:结合(?:我|本)(?:省|市|区|县|州|局|行|地|院|辖)|就(?:我"
            r"|本)(?:省|市|区|县|州|辖)[^。]{0,30}(?:通知|如下))(?!.{0,16}制定本)",
            r"(?:贯彻|落实|执行|实施|承接)[^。]{0,60}(?:《|国务院|国家|部|总局|中央|省|上级)[^。]{0,120}(?:我|本"
            r"|全)(?:省|市|区|县|州|辖)(?!场|域|间)(?!.{0,16}制定本)",
            r"为(?:了)?(?:确保|做好|推动|抓好|保障|保证)[^。]{0,60}(?:落地|落实|平稳(?:实施|过渡|施行)|贯彻|执行到位"
            r"|统一执行|顺利(?:实施|施行))",
        ),
    ),
)
"""What the first words show of a document whose title does not name its stage."""
_EXPLAINS = match_any(
    r"本文(?:从|将|就|介绍|围绕|解|谈|拟|对)|主持人:|小编|我们来|一起来|举个例子|[带为][您你](?:了解|解读|梳理)",
    r"[?][^?]{0,80}[?]|的理解:|意味着",
    r"打个比方|简单(?:来)?说",
)
"""How a text speaks that explains a rule to readers."""
_DECREES = match_any(r"现(?:予|将)[^。\n]{0,40}(?:公布|印发|发布|公告)|印发给?你们|制定本(?:办法|规定|条例|细则)")
_DATED = match_any(r"(?:自|于|从)[^。,\n]{0,20}日?起(?:施行|实施|执行)|即日(?:起)?生效|\d日(?:起)?(?:生效|施行|实施)")
_NUMBERED_HEADS = (
    (PolicyStage.REPEAL, match_any(r"(?<!同时)(?:废止|停止(?:适用|执行|使用)|宣布失效)")),
    (
        PolicyStage.AMENDMENT,
        match_any(
            r"(?:决定|现)[^。\n]{0,60}(?:修改|修正|暂停|延长|推迟)|作(?:出)?如下(?:修改|调整)",
            r"关于修改[^。\n]{2,60}的决定",
        ),
    ),
)
_ADJUSTS = match_any(
    r"对《[^《》]{4,80}》[^。\n]{0,40}作(?:出)?如下(?:调整|修改)",
    r"(?:原文件|原通知|原公告)[^。\n]{0,40}(?:调整为|改为|顺延|修改为)",
)

_NEWS = match_any(
    r"召开|举行|举办|会谈|出席|调研|考察|慰问|座谈|会议(?!纪要)|论坛|讲话|演讲|任命|任职|免去|学习|党组|党委|党建",
    r"表彰|先进|突破|增长|下降|运行情况|统计|数据|指数",
    r"综述|简讯|一线|聚焦|观察|节目|情况通报|发布会|人事|公报$|首(?:个|次|家|批)|顺利|成功|新闻稿|提示$|预警|案件",
)
_BINDING = match_any(
    r"现(?:予|将|印发)[^。]{0,60}(?:公布|公告|印发|发布|通知|通告)|印发给?你们|特此(?:通知|公告|通告)|第一条"
    r"|(?:本(?:办法|规定|通知|公告|条例|意见|决定|细则|规则|标准"
    r"|方案|令|通函|指引))[^。]{0,40}(?:施行|实施|执行|生效)|之日起(?:施行|实施|执行|生效)|经[^。]{2,40}(?:审议通过"
    r"|同意|批准)[^。]{0,20}(?:现予|公布|印发)|各省、自治区"
    r"|各有关单位:|你[局委厅省市]"
)
CHINESE_ASKS = match_any(
    r"(?:欢迎|请|可).{0,30}(?:提出|反馈|提交).{0,10}(?:意见|建议)|公众意见",
    r"(?:公开|面向社会|向社会|现(?:就|将))[^。\n]{0,60}征求(?:[^。\n]{0,20})意见|征求意见(?:稿|的?截止|时间|期限"
    r"|反馈)|(?:反馈"
    r"|提出)[^。\n]{0,20}(?:意见|建议)[^。\n]{0,60}(?:截止|日前|之前)|意见(?:反馈)?截止"
    r"|公众可(?:以)?通过[^。\n]{0,40}(?:提出|反馈)",
    r"陈述意见|有任何意见|提交(?:书面)?意见|征集评议意见|咨询期[:为]",
)
_OUT_FOR_COMMENT = match_any(r"征求意见|草案|评议意见|咨询文件|公众咨询|公开咨询|预告")
_ISSUED = match_any(
    r"决定设立|作出指明|明确$|实施新|(?:新订|调整后).{0,10}(?:租金|收费|价格)",
    r"(?:上调|下调|提高|降低)(?:至|为|到|$)|执行(?:到|至)|(?:公布|发出|发表|签署|通过|获批|落地)(?:$|[ ,:])",
    r"(?:发出|发表|订立)《|范围扩大|扩大.{0,20}范围|样式$|范本$|版.{0,20}目录$",
    r"(?:印发|发布|出台|公布|颁布)[^,。]{0,6}《|(?:印发|发布|出台|公布|颁布|推出|施行|订定).{2,40}(?:办法|规定|条例"
    r"|细则|规则|意见|方案|标准|规范|目录|政策|措施|指引|通知|要点|金额|原则)"
    r"|(?:正式|起|今起|将|即日)(?:施行|实施|生效)|(?:接受|开放|现正接受|开始)(?:申请|报名|申报)|申请(?:现已"
    r"|现正)?(?:展开|开始|开放)"
    r"|^(?:公告|订定|核定|核备|订定发布)[「《]|(?:批准|正式)(?:发布|实施)|令第?\d+号|(?:昨|今)日生效|申请现正接受"
    r"|通函|新规.{0,12}(?:施行|实施|生效)"
    r"|《[^《》]+(?<!报告)(?<!白皮书)》.{0,30}(?:发布|出台|公布|印发|获批|施行|实施|刊宪)(?:$|[ ,])",
)
_REPORTED_ISSUE = match_any(
    r"(?:印发|发布|出台|公布|颁布|签署|发出)[^。\n《]{0,12}《[^《》\n]{2,60}(?:办法|规定|条例|细则|规则|意见|方案"
    r"|规范|指引|指南|通知|措施|标准|公告|守则|法)》",
    r"(?:印发|发布|出台)(?:通知|公告|意见|新规|规定)",
    r"(?:宣布|决定|批准|刊宪)[^。\n]{0,60}(?:生效|实施|施行|执行)",
)
_ON_TRIAL = match_any(r"(?:办法|规定|条例|规则|细则)(?:\([^()]*\))?$")
"""A rule on trial (试行办法) binds: it is no pilot."""
_NORMS = match_any(r"应当|不得|必须|须(?:遵守|在|于|按|向|备)|禁止")


def read_chinese_stage(document: DocumentText) -> PolicyStage | None:
    title, head = document.title, document.folded[:_OPENING_CHARS]
    bare = remove_quoted(title)
    sign = next((sign for sign in CHINESE_SIGNS if sign.shows(title, bare)), None)
    if sign in (EVENT, DATA) and _DECREES.search(head):
        return PolicyStage.FINAL
    if sign is not None and sign.stage not in (None, PolicyStage.CONSULTATION) and _ASKED.search(head):
        return PolicyStage.QA
    if sign is ANSWERS:
        return PolicyStage.INTERPRETATION
    if sign is not None:
        is_asking = sign.stage is PolicyStage.DRAFT and not title.endswith("说明") and asks_in_chinese(document)
        return PolicyStage.CONSULTATION if is_asking else sign.stage
    if NUMBERED.search(title):
        return next((stage for stage, words in _NUMBERED_HEADS if words.search(head)), PolicyStage.FINAL)
    found = next(((stage,) for stage, words in _HEADS if words.search(head)), None)
    if found and not (found[0] is PolicyStage.PILOT and _ON_TRIAL.search(title)):
        return found[0]
    if _ADJUSTS.search(document.folded, 0, _FIRST_CHARS):
        return PolicyStage.AMENDMENT
    return _read_form(document, bare)


def _read_form(document: DocumentText, bare: str) -> PolicyStage | None:
    """Return the stage of a document whose title and first words name none, by its form and its binding words."""
    has_form, is_issued = bool(FORM_END.search(document.title)), bool(_ISSUED.search(document.title))
    is_decreed = _DECREES.search(document.folded, 0, _OPENING_CHARS)
    is_dated = _DATED.search(document.folded, 0, _OPENING_CHARS)
    if _NEWS.search(bare) and not (has_form or is_issued or is_decreed or is_dated):
        return None
    if asks_in_chinese(document) and _OUT_FOR_COMMENT.search(document.folded, 0, _HEAD_CHARS):
        return PolicyStage.CONSULTATION
    if not has_form and not is_issued and _EXPLAINS.search(document.folded, 0, _OPENING_CHARS):
        return PolicyStage.INTERPRETATION
    is_reported = _REPORTED_ISSUE.search(document.folded, 0, _FIRST_CHARS)
    has_norms = len(_NORMS.findall(document.folded, 0, _OPENING_CHARS)) >= _MIN_NORMS
    is_binding = has_norms or has_form or is_issued or _BINDING.search(document.folded) or is_reported
    return PolicyStage.FINAL if is_binding else None


def asks_in_chinese(document: DocumentText) -> bool:
    return bool(CHINESE_ASKS.search(document.folded, 0, 4 * _HEAD_CHARS))
