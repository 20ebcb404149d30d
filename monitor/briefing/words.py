"""The words of a briefing, in Chinese and English."""

import re

from pydantic import BaseModel

from monitor.briefing.gaps import GapKind
from monitor.briefing.order import RankedBy
from monitor.causes import Cause, parse_cause
from monitor.db.tables.evidence import ChangeKind, EditOperation, PagePart
from monitor.page import PageErrorCode
from monitor.vocabulary import DateSource, ItemType, Phase, RankDirection, RunStatus, SummaryBy

_PAGE_ERROR = re.compile(r"(?P<code>[A-Z][A-Za-z]+)(?:/(?P<detail>\w+))?: (?P<message>.*)", re.DOTALL)

_MODEL_FAILURE = re.compile(r"(?P<outcome>[a-z]+)(?:_(?P<status>\d{3}))?: (?P<message>.*)", re.DOTALL)

# The figures of a page error: the status that the site answered with, a time-out, a size.
_FIGURE = re.compile(r"\((\d{3})\)|answered (\d{3})\b|\b(\d+(?:\.\d+)? (?:s|MB))\b")

_NUMBER = re.compile(r"\d+")


class CauseMessages(BaseModel):
    """The words of one language; `{}` takes a figure, a name, or a cause in these words.

    `pages` is by code, or by code and detail where the detail says more; `models` by the outcome of a call. `values`
    are words that stand for a value, `original` is said of what is none of these and stays as it is on record.
    """

    sentences: dict[Cause, str]
    pages: dict[str, str]
    models: dict[str, str]
    values: dict[str, str]
    original: str
    aside: str

    def translate(self, sentence: str) -> str:
        """A sentence of the record in these words; one that nobody foresaw as it is, marked as the original."""
        if not re.search("[A-Za-z]{2}", sentence):
            return sentence
        return self._translate_known(sentence) or self.original.format(sentence)

    def _translate_known(self, sentence: str) -> str | None:
        if found := parse_cause(sentence):
            cause, values = found
            return self.sentences[cause].format(
                *(self.values.get(value) or self._translate_known(value) or value for value in values)
            )
        return (
            self.values.get(sentence) or self._translate_page_error(sentence) or self._translate_model_failure(sentence)
        )

    def _translate_page_error(self, sentence: str) -> str | None:
        found = _PAGE_ERROR.fullmatch(sentence)
        if found is None or found["code"] not in set(PageErrorCode):
            return None
        words = self.pages.get(f"{found['code']}/{found['detail']}") or self.pages[found["code"]]
        figure = _FIGURE.search(found["message"])
        return self.aside.format(words, next(filter(None, figure.groups()))) if figure else words

    def _translate_model_failure(self, sentence: str) -> str | None:
        found = _MODEL_FAILURE.fullmatch(sentence)
        words = self.models.get(found["outcome"]) if found else None
        if found is None or words is None:
            return None
        number = found["status"] or next(iter(_NUMBER.findall(found["message"])), "")
        return words.format(number) if number or "{}" not in words else None


CHINESE_CAUSES = CauseMessages(
    sentences={
        Cause.NOTHING_READ: "没有一个栏目能够读取：{}",
        Cause.NOTHING_THERE: "没有一个栏目能够读取。",
        Cause.NO_LIST: "页面上找不到列表",
        Cause.NO_TEXT: "页面没有正文",
        Cause.NO_ARTICLE_DATE: "打不开正文，查不到日期：{}",
        Cause.CUT_SHORT: "读到{}为止",
        Cause.AGENT_CUT_SHORT: "模型读取中断：{}",
        Cause.LEFT_BY_AGENT: "模型漏下 {} 条范围内的条目，已按规则补收",
        Cause.NO_LINKS: "模型没有指出页面上的栏目，改按规则选取",
        Cause.NO_NUMBERS: "模型的回答里没有可用的序号",
        Cause.NEWEST_FIRST: "模型的回答里没有可用的序号，改按日期排列",
        Cause.NO_SENTENCE: "没有一句能与条目核对上",
        Cause.EXTRACT: "模型的摘要未被采用，改为摘录：{}",
        Cause.EMPTY: "没有内容",
        Cause.TOO_SHORT: "过短",
        Cause.TOO_LONG: "过长",
        Cause.TITLE_AGAIN: "只是重复标题",
        Cause.WEB_ADDRESS: "含有网址",
        Cause.NOT_ON_PAGE: "原文中没有 {}",
        Cause.DOWNLOAD: "文件 {} 下载失败：{}",
        Cause.DOCUMENT_OLD: "文件 {} 是旧格式 {}，不读取；可找其 {} 版本",
        Cause.DOCUMENT_KIND: "文件 {} 的格式不能读取",
        Cause.DOCUMENT_EMPTY: "文件 {} 里没有文字，可能是图片",
        Cause.DOCUMENT_LARGE: "文件 {} 超过 {} MB，不读取",
        Cause.DOCUMENT_SLOW: "文件 {} 在 {} 秒内没有读完",
        Cause.DOCUMENT_BROKEN: "文件 {} 读不出来：{}",
        Cause.ROBOTS: "robots.txt 读不出来：{}",
        Cause.LIST_GONE: "原来约有 {} 条的列表已找不到",
        Cause.LIST_FELL: "列表由约 {} 条减到 {} 条",
        Cause.DATES_LOST: "旁边有日期的只剩 {} 条（共 {} 条），以往几乎都有",
        Cause.SILENT: "自 {} 起没有新内容，以往约每 {} 天更新一次",
        Cause.GAP: "前几页上没有上次见过的最新内容，中间可能有遗漏；读了 {} 页，{}",
        Cause.NOT_READ: "最近 {} 次都没有读到：{}",
        Cause.BLOCKED_PAGE: "有一个网页不让读取：{}",
        Cause.BLOCKED_PAGES: "有 {} 个网页不让读取：{}",
        Cause.FAILING: "连续 {} 次采集失败：{}",
    },
    pages={
        "InvalidUrl": "网址无效",
        "NotFound": "网页不存在",
        "Timeout": "网站未按时应答",
        "NetworkError": "连接失败",
        "NetworkError/no_browser": "本机没有可用的浏览器",
        "BadGateway": "网站出错",
        "TooLarge": "网页超过大小上限",
        "UnsupportedType": "不是网页",
        "ParseError": "网页无法解析",
        "Forbidden": "该地址不许访问",
        "WebBlocked": "网站拒绝访问",
        "WebBlocked/captcha_required": "网站要求验证码",
        "WebBlocked/http_412": "网站只让浏览器访问",
        "WebBlocked/http_429": "网站认为访问过于频繁",
        "WebBlocked/http_403": "网站拒绝显示此页",
        "WebBlocked/robots": "网站的 robots.txt 不许读取此页",
        "WebBlocked/empty_shell": "网页的脚本没有显示出内容",
    },
    models={
        "timeout": "模型未按时应答",
        "network": "连不上模型",
        "auth": "模型的密钥无效",
        "malformed": "模型服务的应答不合规范",
        "error": "模型调用出错",
        "http": "模型服务返回 HTTP {}",
        "budget": "模型用量已到上限（{} 个词元）",
        "circuit": "模型连续 {} 次调用失败，本次不再调用",
    },
    values={
        "max_pages": "页数上限",
        "max_items": "条数上限",
        "max_turns": "轮次上限",
        "no_tool_call": "没有调用工具",
        "end": "读到了末页",
        "known": "读到了已知内容",
        "early": "读到了范围之外",
        "error": "读取出错",
        "no reason": "原因不明",
    },
    original="{}（原文）",
    aside="{}（{}）",
)


class BriefingMessages(BaseModel):
    """All that a briefing says by itself in one language; `{}` takes the number or name that belongs there.

    `causes` are the words for what the record says in English; None for the language of the record.
    """

    locale: str
    title: str
    overline: str
    period: str
    one_day: str
    generated: str
    online: str
    items: str
    sources: str
    extracts: str
    troubles: str
    alert: str
    baseline_alert: str
    contents: str
    overview: str
    entries: str
    themes: dict[int, str]
    more: str
    changes: str
    seen_on: str
    nothing: str
    nothing_seen: str
    source_states: str
    source: str
    state: str
    new_items: str
    remarks: str
    gaps: str
    no_gaps: str
    notes: str
    extract_note: str
    no_summary_note: str
    date_note: str
    rank_note: str
    ranked_notes: dict[RankedBy, str]
    fault_notes: dict[str, str]
    dropped_note: str
    overview_note: str
    edited_note: str
    left_out_note: str
    analyst_note: str
    note: str
    extract: str
    undated: str
    late: str
    moved: dict[RankDirection, str]
    repost: str
    attachments: str
    places: str
    interpretations: str
    baseline: str
    comma: str
    and_more: str
    aside: str
    date_sources: dict[DateSource, str]
    summary_makers: dict[SummaryBy, str]
    types: dict[ItemType, str]
    statuses: dict[RunStatus | None, str]
    phases: dict[Phase, str]
    gap_kinds: dict[GapKind, str]
    change_kinds: dict[ChangeKind, str]
    ops: dict[EditOperation, str]
    parts: dict[PagePart, str]
    causes: CauseMessages | None

    def translate(self, sentence: str) -> str:
        """A sentence of the record, in this language."""
        return sentence if self.causes is None else self.causes.translate(sentence)


_CHINESE = BriefingMessages(
    locale="zh-CN",
    title="官方动态简报",
    overline="政策简报",
    period="{} 至 {}",
    one_day="{}",
    generated="生成于 {}",
    online="在线查看",
    items="新条目",
    sources="监测来源",
    extracts="摘录式摘要",
    troubles="有异常的来源",
    alert="本期有来源未能完整读取：{}。未列入的内容不等于没有发布，详见文末。",
    baseline_alert="首次采集（基线）：{}。其条目按日期范围收录，并非都是新近出现的。",
    contents="目录",
    overview="概览",
    entries="条目",
    themes={
        1: "全局性政策与法律法规",
        2: "行业政策、监管与标准",
        3: "数据与报告",
        4: "地方文件与执行通知",
        5: "日常动态",
    },
    more="其余条目",
    changes="已发布内容的变更",
    seen_on="{} 发现",
    nothing="本期没有新条目。",
    nothing_seen="本期没有读到任何来源，因此没有条目；这不表示没有新内容发布。",
    source_states="来源情况",
    source="来源",
    state="状态",
    new_items="新条目",
    remarks="说明",
    gaps="未能看到的内容",
    no_gaps="没有记录到未读的栏目、失败或降级。",
    notes="阅读说明",
    extract_note="{} 条摘要是从原文逐句摘出的（标“摘录”），未经模型改写。",
    no_summary_note="{} 条没有摘要：原文无法读取，或没有可用的句子。",
    date_note="日期后注明其出处：列表、网址、正文、订阅源；查不到的写“日期未知”，不作推测。",
    rank_note="重要程度的次序：全局性政策与法律法规，行业政策、监管与标准，统计数据，地方性与执行层面的文件，日常动态。",
    ranked_notes={
        "run": "条目按采集时评定的重要程度排列。",
        "model": "各来源的条目合并后由模型评定重要程度。",
        "rule": "各来源的条目合并后按规则评定重要程度。",
    },
    fault_notes={
        "ranking": "模型未能给出合并次序，改按规则排列（{}）。",
        "overview": "模型未能写出可以核对的概览（{}）。",
    },
    dropped_note="概览中有 {} 句与所注条目核对不上，已删去。",
    overview_note="概览由模型撰写，方括号中的数字是所依据的条目；其中的数字、日期和引号内的名称均已与这些条目的原文核对。",
    edited_note="本简报经{}编辑：条目的次序、取舍与批注由人工决定，条目的标题、日期、网址和摘要未作改动。",
    left_out_note="编辑时有 {} 条未列入。",
    analyst_note="批注（{}）",
    note="批注",
    extract="摘录",
    undated="日期未知",
    late="迟到",
    moved={RankDirection.HIGHER: "按反馈上调", RankDirection.LOWER: "按反馈下调"},
    repost="外站",
    attachments="附件",
    places="亦见",
    interpretations="解读",
    baseline="首次采集（基线）",
    comma="、",
    and_more="{} 等 {} 处",
    aside="{}（{}）",
    date_sources={
        DateSource.LISTED: "列表",
        DateSource.URL: "网址",
        DateSource.PAGE: "正文",
        DateSource.FEED: "订阅源",
        DateSource.UNKNOWN: "未知",
    },
    summary_makers={SummaryBy.MODEL: "模型", SummaryBy.EXTRACT: "摘录", SummaryBy.NONE: "无"},
    types={item_type: str(item_type) for item_type in ItemType},
    statuses={
        RunStatus.QUEUED: "排队中",
        RunStatus.RUNNING: "进行中",
        RunStatus.SUCCEEDED: "正常",
        RunStatus.DEGRADED: "不完整",
        RunStatus.FAILED: "失败",
        RunStatus.CANCELLED: "已取消",
        None: "本期未采集",
    },
    phases={
        Phase.NAVIGATE: "导航",
        Phase.CRAWL: "采集",
        Phase.SUMMARISE: "摘要",
        Phase.RANK: "排序",
        Phase.PLAN: "研究计划",
        Phase.SEARCH: "深度搜索",
        Phase.MODELING: "主题建模",
        Phase.REPORT: "研究报告",
    },
    gap_kinds={
        "failed": "采集失败",
        "cancelled": "采集被取消",
        "degraded": "降级",
        "running": "采集尚未结束",
        "never_run": "本期未采集",
        "silent": "没有新条目",
        "unseen": "未读",
        "over_limit": "超出上限、留待下次（条）",
        "left": "有意未收（条）",
        "refused": "核对不符、未收（条）",
        "possible_gap": "可能有遗漏（列表已翻过上次所见）",
        "silence": "久无更新",
        "structure": "列表结构有变",
        "dates_lost": "列表日期缺失",
        "blocked": "被网站拒绝",
        "failing": "连续失败",
    },
    change_kinds={
        ChangeKind.CHANGED: "内容有改动",
        ChangeKind.ATTACHMENTS: "附件有变动",
        ChangeKind.WITHDRAWN: "已撤下",
        ChangeKind.MOVED: "网址已变",
        ChangeKind.RESTORED: "已恢复",
    },
    ops={
        EditOperation.CHANGED: "修改",
        EditOperation.ADDED: "新增",
        EditOperation.REMOVED: "删去",
        EditOperation.RENUMBERED: "改序号",
    },
    parts={
        PagePart.TITLE: "标题",
        PagePart.DATE: "日期",
        PagePart.ADDRESS: "网址",
        PagePart.ARTICLE: "条文",
        PagePart.PARAGRAPH: "正文段落",
        PagePart.ATTACHMENT: "附件",
    },
    causes=CHINESE_CAUSES,
)

_ENGLISH = BriefingMessages(
    locale="en",
    title="What public bodies published",
    overline="POLICY BRIEFING",
    period="{} to {}",
    one_day="{}",
    generated="Generated {}",
    online="Read online",
    items="new items",
    sources="sources watched",
    extracts="extracted summaries",
    troubles="sources with problems",
    alert="Not every source could be read in full: {}. What is missing may have been published; see the end.",
    baseline_alert="First run (baseline): {}. Items are those dated within the period, not all of them newly appeared.",
    contents="Contents",
    overview="Overview",
    entries="Items",
    themes={
        1: "National policy and law",
        2: "Industry policy, supervision, standards",
        3: "Statistics and reports",
        4: "Local documents and execution",
        5: "Daily business",
    },
    more="Further items",
    changes="Changes to what was published",
    seen_on="seen {}",
    nothing="There are no new items in this period.",
    nothing_seen="No source could be read, so there are no items; this does not mean that nothing was published.",
    source_states="State of the sources",
    source="Source",
    state="State",
    new_items="New items",
    remarks="Remarks",
    gaps="What could not be seen",
    no_gaps="No unread section, failure or fallback was recorded.",
    notes="How to read this",
    extract_note="{} summaries are sentences of the page, word for word (marked “extract”), not a model's words.",
    no_summary_note="{} items have no summary: the page could not be read or has no usable sentence.",
    date_note="Each date says where it was read: list, url, page or feed. One not found is “undated”, never guessed.",
    rank_note="The order of importance: national policy and law; industry policy, supervision and standards; "
    "statistics; local and executive documents; daily business.",
    ranked_notes={
        "run": "Items stand in the order that the run gave them.",
        "model": "A model put the items of all sources in one order of importance.",
        "rule": "Rules put the items of all sources in one order of importance.",
    },
    fault_notes={
        "ranking": "The model gave no common order, so the rules did ({}).",
        "overview": "The model wrote no overview that could be verified ({}).",
    },
    dropped_note="{} sentences of the overview did not agree with the items they name and were dropped.",
    overview_note="The overview is a model's; the numbers in brackets are the items it rests on. Its figures, dates "
    "and quoted names were checked against their text.",
    edited_note="Edited by {}: the order, the choice and the notes are by hand; titles, dates, addresses and summaries "
    "of the items are unchanged.",
    left_out_note="{} items were left out by the editor.",
    analyst_note="Note by {}",
    note="Note",
    extract="extract",
    undated="undated",
    late="late",
    moved={RankDirection.HIGHER: "moved up: feedback", RankDirection.LOWER: "moved down: feedback"},
    repost="other site",
    attachments="Attachments:",
    places="See also:",
    interpretations="Explained in:",
    baseline="first run (baseline)",
    comma=", ",
    and_more="{} and others, {} in all",
    aside="{} ({})",
    date_sources={
        DateSource.LISTED: "list",
        DateSource.URL: "url",
        DateSource.PAGE: "page",
        DateSource.FEED: "feed",
        DateSource.UNKNOWN: "unknown",
    },
    summary_makers={SummaryBy.MODEL: "model", SummaryBy.EXTRACT: "extract", SummaryBy.NONE: "none"},
    types={
        ItemType.POLICY: "policy",
        ItemType.LAW: "law",
        ItemType.STANDARD: "standard",
        ItemType.PLAN: "plan",
        ItemType.NOTICE: "notice",
        ItemType.ANNOUNCEMENT: "announcement",
        ItemType.INTERPRETATION: "interpretation",
        ItemType.DATA: "data",
        ItemType.NEWS: "news",
        ItemType.PERSONNEL: "personnel",
        ItemType.MEETING: "meeting",
        ItemType.OTHER: "other",
    },
    statuses={
        RunStatus.QUEUED: "queued",
        RunStatus.RUNNING: "running",
        RunStatus.SUCCEEDED: "complete",
        RunStatus.DEGRADED: "incomplete",
        RunStatus.FAILED: "failed",
        RunStatus.CANCELLED: "cancelled",
        None: "not run",
    },
    phases={
        Phase.NAVIGATE: "navigation",
        Phase.CRAWL: "crawl",
        Phase.SUMMARISE: "summaries",
        Phase.RANK: "ranking",
        Phase.PLAN: "research plan",
        Phase.SEARCH: "deep search",
        Phase.MODELING: "modelling",
        Phase.REPORT: "report",
    },
    gap_kinds={
        "failed": "run failed",
        "cancelled": "run cancelled",
        "degraded": "degraded",
        "running": "run not finished",
        "never_run": "not run in this period",
        "silent": "no new items",
        "unseen": "not read",
        "over_limit": "over the limit, left for the next run",
        "left": "left out on purpose",
        "refused": "refused because it did not match the page",
        "possible_gap": "possible gap: the list has moved past what was seen last",
        "silence": "silent for long",
        "structure": "list changed",
        "dates_lost": "dates lost",
        "blocked": "turned away by the site",
        "failing": "failing repeatedly",
    },
    change_kinds={
        ChangeKind.CHANGED: "changed",
        ChangeKind.ATTACHMENTS: "attachments changed",
        ChangeKind.WITHDRAWN: "withdrawn",
        ChangeKind.MOVED: "moved",
        ChangeKind.RESTORED: "restored",
    },
    ops={
        EditOperation.CHANGED: "changed:",
        EditOperation.ADDED: "added:",
        EditOperation.REMOVED: "removed:",
        EditOperation.RENUMBERED: "renumbered:",
    },
    parts={
        PagePart.TITLE: "title",
        PagePart.DATE: "date",
        PagePart.ADDRESS: "address",
        PagePart.ARTICLE: "articles",
        PagePart.PARAGRAPH: "paragraphs",
        PagePart.ATTACHMENT: "attachments",
    },
    causes=None,
)


def get_briefing_messages(language: str) -> BriefingMessages:
    """The words for a language: Chinese for any kind of it, English for all others."""
    return _CHINESE if language.lower().startswith("zh") else _ENGLISH
