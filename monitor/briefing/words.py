"""The words of a briefing, in Chinese and English."""

from pydantic import BaseModel

from monitor.briefing.gaps import GapKind
from monitor.briefing.order import RankedBy
from monitor.db.tables.evidence import ChangeKind, EditOperation, PagePart
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.vocabulary import DateSource, ItemType, Phase, RankDirection, RunStatus, SummaryBy


class BriefingMessages(BaseModel):
    """All that a briefing says by itself in one language; `{}` takes the number or name that belongs there."""

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

    def translate(self, reason: Message | None) -> str:
        """Return a reason of the record as a sentence in this language; none is the empty string."""
        return "" if reason is None else render(reason, "zh" if self.locale.startswith("zh") else "en")


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
)


def get_briefing_messages(language: str) -> BriefingMessages:
    """The words for a language: Chinese for any kind of it, English for all others."""
    return _CHINESE if language.lower().startswith("zh") else _ENGLISH
