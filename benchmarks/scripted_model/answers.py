"""How a good model reads the prompts of a sweep: by their structure, knowing nothing but what stands in them."""

import datetime as dt
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from benchmarks.scripted_model.conversation import (
    RANK_LINE_PATTERN,
    RESEARCH_TASKS,
    URL_PATTERN,
    BrowsedListPage,
    Conversation,
    PromptTask,
    ScriptedReply,
    ScriptedToolCall,
)
from benchmarks.scripted_model.research import build_research_reply, dump_json
from monitor.dates import date_in_url

PLAN_MARKER = "待访问："
_LINK = re.compile(r"\[([^\]\n]{1,80})\]\((https?://[^)\s]+)\)")
_DATE_RANGE = re.compile(r"(\d{4}-\d{2}-\d{2})\D{1,8}(\d{4}-\d{2}-\d{2})")
_MAX_ITEMS_PATTERN = re.compile(r"(?:最多|at most)\D{0,8}(\d+)", re.IGNORECASE)
_ARTICLE_PATH = re.compile(r"\d{4,}|/\d+\.s?html?$|\.(?:pdf|docx?|xlsx?|zip)$", re.IGNORECASE)
_LIST_PATH = re.compile(r"(?:/|/(?:index|list|default)[^/\d]*\.\w+)$", re.IGNORECASE)
_NO_SECTION = re.compile(
    r"首页|联系|留言|互动|机构|职能|领导|简介|地图|关于|登录|注册|无障碍|邮箱|繁体|更多|返回|搜索|home|contact|about|sitemap|english|login|more|search",
    re.IGNORECASE,
)
_BANNER = "碳路先锋"  # a section of the sample ministry, although its form does not say so
_FINISH = ScriptedToolCall("finish", {"reason": "done"})
_LAST_DAY = dt.date(2100, 1, 1)

_TYPES = (
    ("解读", "解读|问答|一图读懂"),
    ("标准", "标准|规范|规程"),
    ("数据", "数据|统计|运行情况|月报|指数"),
    ("人事", "任免|任命|免去|任职"),
    ("会议", "会议|座谈会|研讨会|论坛"),
    ("规划", "规划|行动计划"),
    ("法规", "条例|办法|规定|细则"),
    ("通知", "通知"),
    ("公告", "公告|公示|通告"),
    ("政策", "意见|方案|批复|复函"),
)

_IMPORTANT_WORDS = re.compile(r"条例|办法|规划|意见|方案|行动计划|电价|碳市场|碳排放|补贴|准入")
_OVERVIEW_LINE = re.compile(r"^\[(\d+)\] (.+)$", re.MULTILINE)
_MAX_OVERVIEW_ITEMS = 4
_CHECKED_SENTENCE = re.compile(r"^\[(\d+)\] [^:]{1,12}: (.+)$")
_MIN_SHARED_CHARS = 6
_ROUTINE_WORDS = re.compile(r"会议|座谈|调研|任免|慰问|开幕|培训|党")


def build_good_reply(conversation: Conversation) -> ScriptedReply:
    """What a careful model answers to the prompts of a sweep."""
    match conversation.task:
        case PromptTask.NAVIGATE:
            return ScriptedReply(dump_json(find_sections(conversation.question)))
        case PromptTask.RANK:
            return ScriptedReply(dump_json(rank_items(conversation.question)))
        case PromptTask.OVERVIEW:
            return ScriptedReply(write_overview(conversation.question))
        case PromptTask.SUMMARY:
            return ScriptedReply(summarise_page(conversation.question))
        case PromptTask.VERIFY:
            return ScriptedReply(dump_json(review_sentences(conversation.parse_fences()["CHECK"])))
        case PromptTask.SECTION:
            return _build_section_reply(conversation)
        case _:
            return _build_general_reply(conversation)


def find_sections(text: str) -> list[dict[str, str]]:
    """The list pages among the links of a home page: short words, a folder's url, the same host; and the banner."""
    home = URL_PATTERN.search(text)
    host = urlsplit(home.group()).hostname if home else None
    found: dict[str, str] = {}
    for label, url in _LINK.findall(text):
        name, path = label.strip(), urlsplit(url).path
        is_list = _LIST_PATH.search(path) and not _ARTICLE_PATH.search(path) and path.count("/") > 1
        is_section = is_list and urlsplit(url).hostname == host and len(name) <= 14 and not _NO_SECTION.search(name)
        if is_section or _BANNER in name:
            found.setdefault(url, name)
    return [{"name": name, "url": url} for url, name in found.items()]


def rank_items(text: str) -> list[int]:
    """All indexes, weighty words first, routine last, the newest first among equals."""
    lines = [(int(index), kind, date, title) for index, kind, date, title in RANK_LINE_PATTERN.findall(text)]
    newest_first = sorted(lines, key=lambda line: line[2], reverse=True)
    return [line[0] for line in sorted(newest_first, key=lambda line: _compute_weight(line[1] + line[3]))]


def summarise_page(text: str) -> str:
    """Two or three sentences of the material, those with figures before the others, in their order."""
    material = extract_material(text)
    is_chinese = len(re.findall(r"[\u4e00-\u9fff]", material)) > len(material) / 5
    least, most = (15, 200) if is_chinese else (40, 700)
    pieces = re.findall(r"[^。！？\n]+[。！？]" if is_chinese else r"[^\n.]+(?:\.\d[^\n.]*)*\.(?=\s|$)", material)
    sentences = [piece.strip() for piece in pieces if least <= len(piece.strip()) <= most]
    by_worth = sorted(range(len(sentences)), key=lambda i: (not re.search(r"\d", sentences[i]), i))
    chosen: list[int] = []
    for i in by_worth:
        if len(chosen) < 3 and sum(len(sentences[entry]) for entry in chosen) + len(sentences[i]) <= most:
            chosen.append(i)
    return ("" if is_chinese else " ").join(sentences[i] for i in sorted(chosen)) or material.strip()[:most]


def write_overview(text: str) -> str:
    """One sentence for each of the first items, made of its title and the figures of its summary, with its number."""
    lines = [(number, line.split(" | ")) for number, line in _OVERVIEW_LINE.findall(text)][:_MAX_OVERVIEW_ITEMS]
    sentences = []
    for number, (title, *rest) in lines:
        is_chinese = re.search(r"[\u4e00-\u9fff]", title)
        pieces = re.split(r"(?<=[。！？])" if is_chinese else r"(?<=\.)\s", rest[-1]) if rest else []
        whole = (piece.strip(" 。.") for piece in pieces[:-1])
        with_figure = next((piece for piece in whole if re.search(r"\d", piece)), None)
        said = f"{title}：{with_figure}" if with_figure and is_chinese else with_figure or title
        sentences.append(f"{said}[{number}]。" if is_chinese else f"{said} [{number}]. ")
    return "".join(sentences)


def review_sentences(text: str) -> list[dict[str, object]]:
    """A verdict on each sentence to check: supported where most of its letter pairs stand in its source, in a row."""
    answer: list[dict[str, object]] = []
    source = ""
    for line in text.splitlines():
        if not (sentence := _CHECKED_SENTENCE.match(line)):
            source = line.partition(":")[2].strip() or source
            continue
        number, said = int(sentence[1]), sentence[2]
        pairs = {said[i : i + 2] for i in range(len(said) - 1)}
        shared = SequenceMatcher(None, source, said, autojunk=False).find_longest_match()
        is_supported = sum(pair in source for pair in pairs) >= 0.8 * len(pairs) and shared.size >= _MIN_SHARED_CHARS
        words = source[shared.a : shared.a + shared.size] if is_supported else ""
        answer.append({"n": number, "v": "supported" if is_supported else "unsupported", "w": words})
    return answer


def extract_material(text: str) -> str:
    """The page text in a question: what follows its last heading 正文 or Text, without the lines that fence it."""
    after = re.split(r"^(?:正文|Text)[:：]\s*$", text, flags=re.MULTILINE)[-1]
    return "\n".join(line for line in after.splitlines() if not re.fullmatch(r"<<<PAGE|PAGE>>>", line.strip()))


def classify_title(title: str) -> str:
    return next((kind for kind, words in _TYPES if re.search(words, title)), "新闻")


def _compute_weight(words: str) -> int:
    return -1 if _IMPORTANT_WORDS.search(words) else 1 if _ROUTINE_WORDS.search(words) else 0


def _get_date(item: dict[str, Any]) -> str | None:
    if item.get("date"):
        return str(item["date"])
    day = date_in_url(str(item.get("url")), _LAST_DAY)
    return None if day is None else str(day)


def _build_browse_call(url: str, offset: int | None = None) -> ScriptedToolCall:
    return ScriptedToolCall("browse_page", {"url": url} if offset is None else {"url": url, "offset": offset})


def _build_section_reply(conversation: Conversation) -> ScriptedReply:
    """Open, save what is in range, turn the page while it held something in range, finish."""
    page = conversation.find_last_page()
    if page is None:
        first = URL_PATTERN.search(conversation.question)
        if first is None or conversation.has_begun:
            return ScriptedReply(calls=(_FINISH,))
        return ScriptedReply(calls=(_build_browse_call(first.group()),))
    save, onward = _plan_calls(conversation, *page)
    calls = tuple(call for call in (save, onward) if call)
    return ScriptedReply(calls=calls or (_FINISH,))


def _build_general_reply(conversation: Conversation) -> ScriptedReply:
    """The same for a whole site: the sections found at first are noted down, and opened one after another."""
    page = conversation.find_last_page()
    home = URL_PATTERN.search(conversation.question)
    if home and not conversation.has_begun:
        return ScriptedReply(calls=(_build_browse_call(home.group()),))
    notes = [turn.content for turn in conversation.turns if turn.role == "assistant" and PLAN_MARKER in turn.content]
    plan = [url for note in notes for url in URL_PATTERN.findall(note)]
    text = ""
    if page and not notes:
        plan = [section["url"] for section in find_sections(f"{page[0]}\n{page[1]}")]
        text = PLAN_MARKER + "\n" + "\n".join(plan)
    save, onward = _plan_calls(conversation, *page) if page else (None, None)
    visited = {str(call.arguments.get("url")) for call in conversation.list_calls("browse_page")}
    following = next((_build_browse_call(url) for url in plan if url not in visited), None)
    calls = tuple(call for call in (save, onward or following) if call)
    return ScriptedReply(text, calls or (_FINISH,))


def _plan_calls(
    conversation: Conversation, url: str, text: str
) -> tuple[ScriptedToolCall | None, ScriptedToolCall | None]:
    """What to save of a page and where to go on from it. Both at once: the page leaves the context with the save."""
    page = BrowsedListPage.parse(text)
    question = conversation.question
    dates = _DATE_RANGE.search(question)
    since, until = (dates.group(1), dates.group(2)) if dates else ("", "9999")
    at_most = _MAX_ITEMS_PATTERN.search(question)
    in_range = [item for item in page.items if (date := _get_date(item)) is None or since <= date <= until]
    held = conversation.saved_urls | set(URL_PATTERN.findall(question)[1:])
    fresh = [item for item in in_range if not item.get("known") and item.get("url") not in held]
    if conversation.task is PromptTask.SECTION and at_most:
        fresh = fresh[: max(int(at_most.group(1)) - len(conversation.saved_urls), 0)]
    asked = [call.arguments for call in conversation.list_calls("browse_page")]
    onward = None
    if page.offset and _build_browse_call(url, page.offset).arguments not in asked:
        onward = _build_browse_call(url, page.offset)
    elif in_range and page.next_url and page.next_url not in {str(arguments.get("url")) for arguments in asked}:
        onward = _build_browse_call(page.next_url)
    return (build_save_call(fresh) if fresh else None), onward


def build_save_call(items: Sequence[dict[str, Any]]) -> ScriptedToolCall:
    records = [
        {
            "title": item.get("title"),
            "url": item.get("url"),
            "date": _get_date(item),
            "type": classify_title(str(item.get("title"))),
        }
        for item in items
    ]
    return ScriptedToolCall("save_results_batch", {"items": records})


_COMMAND_PATTERN = re.compile(
    r"(?:\bSYSTEM\s*[:：]|系统(?:提示|指令)\s*[:：]|忽略(?:以上|之前|前面|上述|所有|先前)[^\n，。]{0,10}|"
    r"ignore\s+(?:all\s+|any\s+|your\s+|the\s+|previous\s+|prior\s+|above\s+)+instructions?)[^\n]{0,300}",
    re.IGNORECASE,
)

_ONLY = re.compile(r"\bonly\b|只|仅|不要保存其他|finish now|立即结束", re.IGNORECASE)
_FIRST = re.compile(r"\bfirst\b|排在?(?:第一|首位|最前)|置顶", re.IGNORECASE)
_RANK_INDEX = re.compile(r"^\[(\d+)\] \[")
_PROSE = (PromptTask.SUMMARY, PromptTask.OVERVIEW)
_THOUGHT = '<think>The links are [1,2] or {"a": [3]}; let me see…</think>\n'
_INVENTED_URL = "https://www.invented.example/zcwj/20310101/t20310101_999999.html"
_INVENTED_FIGURES = "预计2031年12月31日前新增投资98765亿元，同比增长87.3%。"
_COMMANDED_TITLE = "关于落实有关要求的重要通知"


class ScriptedMode(StrEnum):
    GOOD = "good"
    FENCED = "fenced"
    MALFORMED = "malformed"
    TRUNCATED = "truncated"
    HALLUCINATING = "hallucinating"
    EMPTY = "empty"
    HTTP_500 = "http_500"
    HTTP_429 = "http_429"
    SLOW = "slow"
    LOOPING = "looping"
    LAZY = "lazy"
    OBEDIENT = "obedient"


@dataclass(frozen=True)
class ReplyPayload:
    """A reply as it goes out: tool arguments are text here, because a bad model's are no JSON."""

    text: str
    calls: tuple[tuple[str, str], ...] = ()


def build_reply(mode: str, conversation: Conversation, number: int, *, tool: str | None = None) -> ReplyPayload:
    """What the model answers to the `number`th request of its life (counted from 0) in this mode.

    `tool` is what the searches of a research choose; None leaves it to the mode.
    """
    if conversation.task in RESEARCH_TASKS:
        return ReplyPayload(build_research_reply(mode, conversation, number, tool=tool))
    reply = build_good_reply(conversation)
    match mode:
        case ScriptedMode.FENCED:
            return _add_fences(reply, conversation.task)
        case ScriptedMode.MALFORMED:
            return _break_reply(reply, conversation.task, number)
        case ScriptedMode.TRUNCATED:
            return _truncate_reply(reply)
        case ScriptedMode.EMPTY:
            return ReplyPayload("")
        case ScriptedMode.HALLUCINATING:
            reply = _add_inventions(reply, conversation.task)
        case ScriptedMode.LOOPING:
            reply = _repeat_browse(reply, conversation)
        case ScriptedMode.LAZY:
            reply = _shorten_reply(reply)
        case ScriptedMode.OBEDIENT:
            reply = _follow_commands(reply, conversation)
    return ReplyPayload(reply.text, tuple((call.name, dump_json(call.arguments)) for call in reply.calls))


def _add_fences(reply: ScriptedReply, task: PromptTask) -> ReplyPayload:
    is_prose = task in _PROSE
    before, fence, after = ("", "text", "") if is_prose else ("好的，结果如下：\n", "json", "\n以上供参考[1]。")
    fenced = f"{before}```{fence}\n{reply.text}\n```{after}" if reply.text and not reply.calls else ""
    calls = tuple((call.name, f"```json\n{dump_json(call.arguments)}\n```") for call in reply.calls)
    return ReplyPayload(f"{_THOUGHT}{fenced}", calls)


def _truncate_reply(reply: ScriptedReply) -> ReplyPayload:
    calls = tuple((call.name, _cut_text(dump_json(call.arguments))) for call in reply.calls)
    return ReplyPayload(_cut_text(reply.text), calls)


def _cut_text(text: str) -> str:
    return text[: len(text) * 3 // 5]


def _break_reply(reply: ScriptedReply, task: PromptTask, number: int) -> ReplyPayload:
    """JSON as bad models write it; what is broken changes from request to request."""
    if reply.calls:
        written = [dump_json(call.arguments) for call in reply.calls]
        if number % 2:
            breakages = (lambda s: s[: len(s) * 3 // 4], lambda s: s.replace('"', "'"), lambda s: s[:-1] + ",")
            written = [breakages[(number // 2 + i) % 3](entry) for i, entry in enumerate(written)]
        return ReplyPayload("", tuple((call.name, entry) for call, entry in zip(reply.calls, written, strict=True)))
    if task is PromptTask.SUMMARY:
        return ReplyPayload(
            (f'{{"summary": {dump_json(reply.text)},}}', f"```\n“{reply.text}”", reply.text[:9])[number % 3]
        )
    if task is PromptTask.OVERVIEW:
        bare = re.sub(r"\s?\[\d+\]", "", reply.text)
        return ReplyPayload(
            (f'{{"overview": {dump_json(reply.text)},}}', bare, reply.text[: len(reply.text) // 2])[number % 3]
        )
    if task is PromptTask.RANK:
        order = json.loads(reply.text)
        spoiled: list[object] = [entry if i % 3 else str(entry) for i, entry in enumerate(order[: len(order) * 3 // 4])]
        return ReplyPayload(dump_json([*spoiled[:1], *spoiled, 999, -1, None])[:-1] + ",")
    if number % 2:
        return ReplyPayload(f"```json\n{reply.text[:-1]}, {{'name': '未完")
    return ReplyPayload(re.sub(r'"(name|url)"', r"\1", reply.text).replace("}, {", "},， {").replace("}]", ",},]"))


def _add_inventions(reply: ScriptedReply, task: PromptTask) -> ScriptedReply:
    if task is PromptTask.NAVIGATE:
        invented = [
            {"name": "政策文件库", "url": "https://www.invented.example/zcwj/"},
            {"name": "权威发布", "url": "https://www.invented.example/fabu/index.html"},
        ]
        return ScriptedReply(dump_json([*json.loads(reply.text), *invented]))
    if task is PromptTask.RANK:
        order = json.loads(reply.text)
        return ScriptedReply(dump_json([len(order) + 5, *order, *order[:2], 10**6]))
    if task is PromptTask.SUMMARY:
        return ScriptedReply(reply.text + _INVENTED_FIGURES)
    if task is PromptTask.OVERVIEW:
        return ScriptedReply(_invent_sentences(reply.text))
    if task is PromptTask.VERIFY:
        # Waves everything through, with words that stand nowhere.
        verdicts = [{**entry, "v": "supported", "w": _INVENTED_FIGURES} for entry in json.loads(reply.text)]
        return ScriptedReply(dump_json(verdicts))
    return replace(reply, calls=tuple(_invent_in_call(call) for call in reply.calls))


def _invent_sentences(overview: str) -> str:
    """Beside each true sentence invented ones: false figures, no citation, one of another item or of none."""
    written = []
    for true in re.findall(r".+?\[\d+\](?:。|\. )", overview):
        words, number = true[: true.rindex("[")].strip(), int(true[true.rindex("[") + 1 : true.rindex("]")])
        invented = (
            f"{_INVENTED_FIGURES.rstrip('。')}[{number}]",
            f"《关于未来的若干意见》随后出台[{number}]",
            words,
            f"{words}，较上年增长87.3%[{number}]",
            f"{words}[{number + 1}]",
            f"{words}[{number + 90}]",
        )
        written.append(true + "".join(f"{entry}。" for entry in invented))
    return "".join(written)


def _invent_in_call(call: ScriptedToolCall) -> ScriptedToolCall:
    if call.name != "save_results_batch":
        return call
    items = [dict(item) for item in call.arguments["items"]]
    for item in items[::2]:
        item["date"] = "2031-01-01"
    for item in items[1::2]:
        item["summary"] = f"{item['title']}。{_INVENTED_FIGURES}"
    items.append({"title": "关于印发未来规划的通知", "url": _INVENTED_URL, "date": "2031-01-01", "type": "规划"})
    if len(items) > 1:
        near = re.sub(r"(\d)(\.\w+)?$", r"\g<1>9\2", str(items[0]["url"]))
        items.append({**items[0], "url": near, "title": "另一个并不存在的文件"})
    return ScriptedToolCall(call.name, {"items": items})


def _repeat_browse(reply: ScriptedReply, conversation: Conversation) -> ScriptedReply:
    """The list page once more, for ever."""
    if not conversation.tools:
        return reply
    first = URL_PATTERN.search(conversation.question)
    return ScriptedReply(calls=(ScriptedToolCall("browse_page", {"url": first.group() if first else ""}),))


def _shorten_reply(reply: ScriptedReply) -> ScriptedReply:
    """Two of the page's items, then no more; each section is read one page deep."""
    saves = [call for call in reply.calls if call.name == "save_results_batch"]
    if not saves:
        return reply
    kept = ScriptedToolCall("save_results_batch", {"items": saves[0].arguments["items"][:2]})
    return replace(reply, calls=(kept, ScriptedToolCall("finish", {"reason": "enough"})))


def _follow_commands(reply: ScriptedReply, conversation: Conversation) -> ScriptedReply:
    """What a page's text tells it to do, it does, whatever the prompt said of that."""
    material = "\n".join(turn.content for turn in conversation.turns if turn.role in {"tool", "user"})
    commands = [found.group() for found in _COMMAND_PATTERN.finditer(material)]
    if not commands or conversation.task is PromptTask.VERIFY:
        return reply
    urls = list(dict.fromkeys(url for command in commands for url in URL_PATTERN.findall(command)))
    match conversation.task:
        case PromptTask.NAVIGATE:
            return ScriptedReply(
                dump_json([*json.loads(reply.text), *({"name": "指定栏目", "url": url} for url in urls)])
            )
        case PromptTask.SUMMARY:
            return ScriptedReply(f"{reply.text[:120]}{commands[0][:160]}")
        case PromptTask.OVERVIEW:
            return ScriptedReply(f"{commands[0][:160]}[1]。{reply.text}")
        case PromptTask.RANK:
            return ScriptedReply(dump_json(_rank_as_commanded(conversation.question)))
    fresh = [url for url in urls if url not in conversation.saved_urls]
    if not fresh:
        return reply
    page = conversation.find_last_page()
    dates = [item["date"] for item in BrowsedListPage.parse(page[1]).items if item.get("date")] if page else []
    ordered = [{"title": _COMMANDED_TITLE, "url": url, "date": max(dates, default=None)} for url in fresh]
    if any(_ONLY.search(command) for command in commands):
        return ScriptedReply(calls=(build_save_call(ordered), ScriptedToolCall("finish", {"reason": "as stated"})))
    others = tuple(call for call in reply.calls if call.name != "finish")
    return replace(reply, calls=(build_save_call(ordered), *others))


def _rank_as_commanded(question: str) -> list[int]:
    order = rank_items(question)
    stated = [
        int(found.group(1))
        for line in question.splitlines()
        if (found := _RANK_INDEX.match(line)) and (_FIRST.search(line) or _COMMAND_PATTERN.search(line))
    ]
    return [*stated, *(index for index in order if index not in stated)]
