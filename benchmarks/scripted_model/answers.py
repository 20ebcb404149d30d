"""How a good model reads the prompts of a sweep: by their structure, knowing nothing but what stands in them."""

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any
from urllib.parse import urlsplit

from benchmarks.scripted_model.conversation import (
    RANK_LINE_PATTERN,
    URL_PATTERN,
    BrowsedListPage,
    Conversation,
    PromptTask,
    ScriptedReply,
    ScriptedToolCall,
)
from benchmarks.scripted_model.research import dump_json
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
        case PromptTask.OVERVIEW | PromptTask.SUMMARY as task:
            write = write_overview if task is PromptTask.OVERVIEW else summarise_page
            return ScriptedReply(write(conversation.question))
        case PromptTask.RANK:
            return ScriptedReply(dump_json(rank_items(conversation.question)))
        case PromptTask.HEADLINES:
            return ScriptedReply(dump_json(write_headlines(conversation.question)))
        case PromptTask.VERIFY:
            return ScriptedReply(dump_json(review_sentences(conversation.parse_fences()["CHECK"])))
        case PromptTask.TRIAL:
            return _build_trial_reply(conversation)
        case PromptTask.SECTION:
            return _build_section_reply(conversation)
        case _:
            return _build_general_reply(conversation)


def _build_trial_reply(conversation: Conversation) -> ScriptedReply:
    """What the questions of a trial ask for, each of which says it."""
    question, results = conversation.question, [turn.content for turn in conversation.turns if turn.role == "tool"]
    if results and (number := re.search(r"\d+", results[-1])):
        return ScriptedReply(number.group())
    if conversation.tools and (name := re.search(r"'(\w+)'", question)):
        return ScriptedReply(calls=(ScriptedToolCall("look_up", {"name": name.group(1), "year": None}),))
    if (wanted := re.search(r"\{.*\}", question)) is not None:
        return ScriptedReply(wanted.group())
    word = re.match(r"The word is (\w+)", question)
    return ScriptedReply(word.group(1) if word else "A ministry publishes a draft. Everybody may comment on it.")


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


def write_headlines(text: str) -> list[str]:
    """A line on each item: the first sentence of its summary, else its title."""
    rows = [line.split(" | ") for _, line in _OVERVIEW_LINE.findall(text)]
    return [re.split(r"(?<=[。！？])|(?<=\.)\s", row[-1].strip())[0] for row in rows]


def review_sentences(text: str) -> list[dict[str, object]]:
    """A verdict on each sentence to check: supported where most of its letter pairs stand in its source, in a row."""
    answer: list[dict[str, object]] = []
    for number, said, source in parse_checked_sentences(text):
        pairs = {said[i : i + 2] for i in range(len(said) - 1)}
        shared = find_shared_words(said, source)
        is_supported = sum(pair in source for pair in pairs) >= 0.8 * len(pairs) and len(shared) >= _MIN_SHARED_CHARS
        verdict, words = ("supported", shared) if is_supported else ("unsupported", "")
        answer.append({"n": number, "v": verdict, "w": words})
    return answer


def parse_checked_sentences(text: str) -> Iterator[tuple[int, str, str]]:
    """Number, words and source of each sentence that a second reader is to check."""
    source = ""
    for line in text.splitlines():
        if sentence := _CHECKED_SENTENCE.match(line):
            yield int(sentence[1]), sentence[2], source
        else:
            source = line.partition(":")[2].strip() or source


def find_shared_words(said: str, source: str) -> str:
    """The longest piece of the source that stands in a sentence too."""
    shared = SequenceMatcher(None, source, said, autojunk=False).find_longest_match()
    return source[shared.a : shared.a + shared.size]


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
