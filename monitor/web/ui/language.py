"""The language of a page, and its sentences: English stands in the code, Chinese in `locale/zh/*.po`."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from babel.core import Locale, UnknownLocaleError, negotiate_locale
from babel.messages.pofile import read_po
from fastapi import Request

from monitor.i18n.catalogue import get_words

LANGUAGES = ("zh", "en")

LANGUAGE_COOKIE = "monitor_language"


def negotiate_language(request: Request, preferred: str | None) -> str:
    """What the person chose, else the browser, else Chinese."""
    if preferred in LANGUAGES:
        return str(preferred)
    cookie = request.cookies.get(LANGUAGE_COOKIE)
    if cookie in LANGUAGES:
        return str(cookie)
    wanted = [
        tag for part in request.headers.get("accept-language", "").split(",") if (tag := _parse_language_tag(part))
    ]
    return negotiate_locale(wanted, LANGUAGES, sep="-") or LANGUAGES[0]


def _parse_language_tag(part: str) -> str | None:
    """The language of one entry of Accept-Language, without its region."""
    tag = part.partition(";")[0].strip()
    try:
        return Locale.parse(tag, sep="-").language
    except (ValueError, UnknownLocaleError, TypeError):
        return None


@cache
def load_chinese_messages() -> dict[str, str]:
    """The Chinese of every English sentence; those of several numbers stand under their singular."""
    return dict(_iter_messages())


def _iter_messages() -> Iterator[tuple[str, str]]:
    folder = files("monitor.i18n").joinpath("locale/zh")
    for file in sorted(folder.iterdir(), key=lambda one: one.name):
        if not file.name.endswith(".po"):
            continue
        with file.open("rb") as opened:
            for message in read_po(opened, locale="zh"):
                if message.id and message.string:
                    singular = message.id if isinstance(message.id, str) else message.id[0]
                    yield singular, message.string if isinstance(message.string, str) else message.string[0]


def translate(language: str, english: str) -> str:
    """The sentence in the language; the English one where nobody translated it."""
    return load_chinese_messages().get(english, english) if language == "zh" else english


def translate_plural(language: str, singular: str, plural: str, number: int) -> str:
    """The sentence that fits the number."""
    if language == "zh":
        return load_chinese_messages().get(singular, plural)
    return singular if number == 1 else plural


_LABELS: dict[str, dict[str, tuple[str, str]]] = {
    "kind": {"site": ("网站", "site"), "feed": ("订阅源", "feed"), "query": ("固定检索", "standing search")},
    "role": {"admin": ("管理员", "administrator"), "editor": ("编辑", "editor"), "reader": ("读者", "reader")},
    "render": {"auto": ("自动", "automatic"), "always": ("总用浏览器", "always"), "never": ("不用浏览器", "never")},
    "ended": {
        "end": ("读到列表末尾", "reached the end"),
        "known": ("读到已知内容", "reached what is known"),
        "early": ("已越过日期范围", "passed the range of dates"),
        "max_pages": ("达到页数上限", "page limit"),
        "max_items": ("达到条目上限", "item limit"),
        "error": ("出错中断", "broke off"),
    },
    "disposition": {
        "saved": ("已收录", "saved"),
        "known": ("已知", "known"),
        "out_of_range": ("不在日期范围", "out of range"),
        "filtered": ("被关键词排除", "filtered"),
        "over_limit": ("超出上限，下次优先", "over the limit"),
        "refused": ("拒绝", "refused"),
        "left": ("未收录（附理由）", "left"),
    },
    "reason": {
        "undated": ("查不到日期", "no date found"),
        "undated_not_opened": ("未打开正文查日期", "article not opened for a date"),
        "undated_robots": ("正文不许读取，日期不明", "article closed to programs, no date"),
        "other_host": ("其他网站的链接", "on another host"),
        "keyword_excluded": ("含排除词", "holds an excluded word"),
        "no_keyword": ("不含所需关键词", "holds none of the words wanted"),
        "max_items": ("已达条目上限", "item limit reached"),
        "title_missing": ("没有标题", "no title"),
        "section_error": ("栏目读取中断", "the section broke off"),
        "agent": ("由模型选取", "chosen by the model"),
        "rule": ("按规则收录", "by rule"),
        "max_pages": ("达到页数上限", "page limit"),
    },
    "outcome": {
        "ok": ("成功", "ok"),
        "cut": ("中途中断", "cut off"),
        "empty": ("空回答", "empty"),
        "error": ("出错", "error"),
        "timeout": ("超时", "timed out"),
        "network": ("网络故障", "network"),
        "auth": ("密钥无效", "key refused"),
        "malformed": ("应答不合规范", "malformed"),
        "budget": ("用量已满", "budget spent"),
        "circuit": ("已停用", "given up"),
        "cancelled": ("已取消", "cancelled"),
    },
    "phase_state": {
        "waiting": ("等待", "waiting"),
        "now": ("进行中", "at work"),
        "done": ("完成", "done"),
        "stopped": ("停在这里", "stopped here"),
        "not_reached": ("未进行", "not reached"),
    },
    "by": {"agent": ("模型", "model"), "rule": ("规则", "rule")},
    "summary_by": {"model": ("模型摘要", "by the model"), "extract": ("摘录", "extract"), "none": ("无摘要", "none")},
    "alarm": {
        "silence": ("长期没有新内容", "silent"),
        "structure": ("列表结构变化", "list changed"),
        "dates_lost": ("日期缺失", "dates lost"),
        "blocked": ("被网站拦截", "blocked"),
        "failing": ("连续失败", "failing"),
        "gap": ("可能有遗漏", "possible gap"),
    },
    "block": {
        "captcha_required": ("要求验证码", "asks for a captcha"),
        "http_403": ("拒绝显示", "refuses (403)"),
        "http_412": ("只让浏览器访问", "wants a browser (412)"),
        "http_429": ("访问过于频繁", "too often (429)"),
        "robots": ("robots.txt 不许", "robots.txt forbids it"),
        "empty_shell": ("脚本没有显示内容", "shows nothing"),
    },
    "delivery": {
        "waiting": ("等待采集完成", "waiting for runs"),
        "queued": ("待发送", "queued"),
        "sent": ("已发送", "sent"),
        "quiet": ("无内容，未发送", "nothing to send"),
        "failed": ("失败", "failed"),
    },
    "delivery_kind": {
        "planned": ("定时", "planned"),
        "typed": ("手动", "by hand"),
        "alarm": ("告警", "alarm"),
        "test": ("测试", "test"),
    },
    "moved": {"higher": ("按反馈上调", "moved up: feedback"), "lower": ("按反馈下调", "moved down: feedback")},
    "channel": {"mail": ("邮件", "mail"), "webhook": ("Webhook", "webhook"), "chat": ("群聊", "chat")},
    "scope": {
        "read": ("读取", "read"),
        "write": ("修改", "write"),
        "run": ("启动采集", "run"),
        "admin": ("管理", "admin"),
    },
    "source_state": {
        "fine": ("正常", "fine"),
        "new": ("尚未采集", "not run yet"),
        "alarm": ("有告警", "alarm"),
        "failing": ("上次失败", "last run failed"),
        "resting": ("连续失败，暂缓", "resting"),
        "disabled": ("已停用", "disabled"),
    },
    "trial": {
        "waiting": ("排队中", "waiting"),
        "running": ("试采中", "under way"),
        "done": ("已完成", "done"),
        "failed": ("未成功", "failed"),
        "cancelled": ("已停止", "stopped"),
    },
    "newness": {"new": ("新增", "new"), "taken": ("已有同名来源", "name taken"), "wrong": ("有误", "wrong")},
    "claim": {
        "list": ("标题（列表页）", "title, on the list"),
        "page": ("原文网页", "its page"),
        "attachment": ("附件", "attachment"),
        "date": ("日期", "date"),
        "summary": ("摘要句", "sentence"),
        "figure": ("数字", "figure"),
    },
    "way": {
        "http": ("直接下载", "over HTTP"),
        "drawn": ("浏览器渲染", "drawn in a browser"),
        "document": ("文件下载", "as a document"),
    },
    "language": {
        "zh": ("中文", "Chinese"),
        "en": ("英文", "English"),
        "de": ("德文", "German"),
        "fr": ("法文", "French"),
        "es": ("西班牙文", "Spanish"),
        "ja": ("日文", "Japanese"),
        "ko": ("韩文", "Korean"),
        "ru": ("俄文", "Russian"),
    },
    "wish": {"higher": ("应更靠前", "should be higher"), "lower": ("应更靠后", "should be lower")},
    "op": {
        "changed": ("修改", "changed"),
        "added": ("新增", "added"),
        "removed": ("删去", "removed"),
        "renumbered": ("改编号", "renumbered"),
    },
    "part": {
        "title": ("标题", "title"),
        "date": ("日期", "date"),
        "address": ("网址", "address"),
        "article": ("条文", "article"),
        "paragraph": ("段落", "paragraph"),
        "attachment": ("附件", "attachment"),
    },
    "origin": {
        "default": ("默认值", "default"),
        "file": ("配置文件", "file"),
        "stored": ("在此设置", "set here"),
        "environment": ("环境变量", "environment"),
    },
    "phase": {"revisit": ("回访", "revisit")},
    "research_status": {
        "queued": ("排队中", "waiting"),
        "running": ("研究中", "under way"),
        "awaiting_plan": ("待确认计划", "plan to be confirmed"),
        "succeeded": ("已完成", "done"),
        "degraded": ("已完成，有降级", "done, with fallbacks"),
        "failed": ("失败", "failed"),
        "cancelled": ("已取消", "cancelled"),
    },
    "research_step": {
        "plan": ("研究计划", "Plan"),
        "deep_search": ("深度搜索", "Deep search"),
        "modeling": ("主题建模", "Model"),
        "reporting": ("撰写报告", "Report"),
    },
    "research_node": {
        "waiting": ("等待", "waiting"),
        "first_search": ("检索中", "searching"),
        "reflection": ("补充检索", "searching further"),
        "reading": ("阅读结果", "reading"),
        "first_summary": ("撰写小结", "summarising"),
        "reflection_summary": ("更新小结", "revising the summary"),
        "done": ("完成", "done"),
        "stopped": ("停在这里", "stopped here"),
    },
    "research_tool": {
        "basic_search_news": ("快速检索", "basic search"),
        "deep_search_news": ("深度检索", "deep search"),
        "search_news_last_24_hours": ("近 24 小时", "last 24 hours"),
        "search_news_last_week": ("近一周", "last week"),
        "search_images_for_news": ("图片检索", "images"),
        "search_news_by_date": ("按日期检索", "by date"),
    },
    "page_error": {
        "InvalidUrl": ("网址无效", "no address"),
        "NotFound": ("网页不存在", "not there"),
        "Timeout": ("网站未按时应答", "no answer in time"),
        "NetworkError": ("连接失败", "no connection"),
        "BadGateway": ("网站出错", "the site failed"),
        "TooLarge": ("网页过大", "too large"),
        "UnsupportedType": ("不是网页", "no web page"),
        "ParseError": ("无法解析", "not readable"),
        "Forbidden": ("该地址不许访问", "address not allowed"),
        "WebBlocked": ("网站拒绝访问", "the site refuses"),
    },
    "research_refused": {
        "quotes": ("原文中没有的引文", "quotes that stand in no page"),
        "figures": ("数字、日期或名称无出处的句子", "sentences with a figure, date or name that no source has"),
        "uncited": ("没有出处的句子", "sentences without a source"),
        "citations": ("不存在的引用编号", "citations of nothing"),
        "urls": ("来历不明的网址", "addresses of unknown origin"),
        "refs": ("不存在的笔记编号", "references to no note"),
        "metrics": ("无出处的指标", "metrics without a source"),
        "scenarios": ("无依据的情景", "scenarios without a basis"),
        "relationships": ("无依据的关系", "relations without a basis"),
        "rewritten": ("改写后保留的句子", "sentences kept after a rewrite"),
    },
    "action": {
        "briefing.archive": ("归档简报", "briefing archived"),
        "briefing.edit": ("编辑简报", "briefing edited"),
        "briefing.save": ("保存简报", "briefing saved"),
        "briefing.send": ("发送简报", "briefing sent"),
        "briefing.unarchive": ("取消归档", "briefing brought back"),
        "delivery.retry": ("重新发送", "delivery retried"),
        "item.feedback": ("排序反馈", "feedback on rank"),
        "item.hide": ("隐藏条目", "item hidden"),
        "item.note": ("添加批注", "note added"),
        "item.show": ("恢复显示", "item shown again"),
        "item.unnote": ("删除批注", "note removed"),
        "person.add": ("添加用户", "person added"),
        "person.let_in": ("恢复用户", "person let in"),
        "person.password": ("修改密码", "password changed"),
        "person.reset": ("重置密码", "password reset"),
        "person.role": ("更改角色", "role changed"),
        "person.shut_out": ("停用用户", "person shut out"),
        "prompt.back": ("恢复原提示词", "prompt put back"),
        "prompt.change": ("修改提示词", "prompt changed"),
        "research.cancel": ("取消研究", "research cancelled"),
        "research.plan": ("确认研究计划", "research plan approved"),
        "research.remark": ("研究留言", "remark made"),
        "research.start": ("开始研究", "research started"),
        "run.cancel": ("取消采集", "run cancelled"),
        "run.retry": ("重试采集", "run retried"),
        "run.start": ("启动采集", "run started"),
        "session.end": ("结束会话", "session ended"),
        "settings.change": ("修改设置", "settings changed"),
        "settings.forget": ("恢复设置", "settings put back"),
        "source.add": ("添加来源", "source added"),
        "source.disable": ("停用来源", "source disabled"),
        "source.enable": ("启用来源", "source enabled"),
        "source.tag": ("加标签", "source tagged"),
        "source.untag": ("去标签", "source untagged"),
        "source.edit": ("修改来源", "source edited"),
        "source.import": ("导入来源", "sources imported"),
        "source.remove": ("删除来源", "source removed"),
        "source.run": ("立即采集", "source run"),
        "source.sample": ("启用样例", "sample started"),
        "storage.prune": ("清理存储", "storage pruned"),
        "target.add": ("添加投递目标", "target added"),
        "target.edit": ("修改投递目标", "target edited"),
        "target.remove": ("删除投递目标", "target removed"),
        "target.send": ("立即投递", "target sent to"),
        "target.test": ("试发", "target tested"),
        "token.add": ("新建令牌", "token made"),
        "token.revoke": ("撤销令牌", "token revoked"),
    },
}


def get_label(language: str, kind: str, value: object) -> str:
    """The word for a value of a vocabulary: `kind` is status, type, tier, date_source, phase, change, or one of ours.

    A value that the vocabulary does not have is shown as it is.
    """
    return _load_labels(language, kind).get(str(value), "" if value is None else str(value))


def get_labels(language: str, kind: str) -> Mapping[str, str]:
    """All words of a vocabulary, by their values."""
    return _load_labels(language, kind)


@cache
def _load_labels(language: str, kind: str) -> Mapping[str, str]:
    words = dict(get_words(language, kind))
    place = 0 if language == "zh" else 1
    return words | {value: told[place] for value, told in _LABELS.get(kind, {}).items()}
