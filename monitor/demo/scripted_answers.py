"""How a good model reads the prompts of a sweep: by their structure, knowing nothing but what stands in them."""

import json
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from monitor.demo.conversation import RANK_LINE, URL, Call, Conversation, ListPage, Reply, Task

PLAN_MARK = "待访问："

_LINK = re.compile(r"\[([^\]\n]{1,80})\]\((https?://[^)\s]+)\)")
_RANGE = re.compile(r"(\d{4}-\d{2}-\d{2})\D{1,8}(\d{4}-\d{2}-\d{2})")
_AT_MOST = re.compile(r"(?:最多|at most)\D{0,8}(\d+)", re.IGNORECASE)
_ARTICLE_PATH = re.compile(r"\d{4,}|/\d+\.s?html?$|\.(?:pdf|docx?|xlsx?|zip)$", re.IGNORECASE)
_LIST_PATH = re.compile(r"(?:/|/(?:index|list|default)[^/\d]*\.\w+)$", re.IGNORECASE)
_NO_SECTION = re.compile(
    r"首页|联系|留言|互动|机构|职能|领导|简介|地图|关于|登录|注册|无障碍|邮箱|繁体|更多|返回|搜索|home|contact|about|sitemap|english|login|more|search",
    re.IGNORECASE,
)
_URL_DATES = (
    re.compile(r"/(\d{4})(\d{2})(\d{2})/"),
    re.compile(r"/(\d{4})-(\d{2})/(\d{2})/"),
    re.compile(r"/art/(\d{4})/(\d{1,2})/(\d{1,2})/"),
    re.compile(r"/t(\d{4})(\d{2})(\d{2})_"),
)
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
_WEIGHTY = re.compile(r"条例|办法|规划|意见|方案|行动计划|电价|碳市场|碳排放|补贴|准入")
_OVERVIEW_LINE = re.compile(r"^\[(\d+)\] (.+)$", re.MULTILINE)
_OVERVIEW_ITEMS = 4
_ROUTINE = re.compile(r"会议|座谈|调研|任免|慰问|开幕|培训|党")


def good_reply(conversation: Conversation, extra_sections: Sequence[str]) -> Reply:
    """What a careful model answers to the prompts of a sweep."""
    match conversation.task:
        case Task.NAVIGATE:
            return Reply(json.dumps(sections(conversation.question, extra_sections), ensure_ascii=False))
        case Task.RANK:
            return Reply(json.dumps(ranking(conversation.question)))
        case Task.OVERVIEW:
            return Reply(overview(conversation.question))
        case Task.SUMMARY:
            return Reply(summary(conversation.question))
        case Task.SECTION:
            return _section_reply(conversation)
        case _:
            return _general_reply(conversation, extra_sections)


def sections(text: str, extra_sections: Sequence[str]) -> list[dict[str, str]]:
    """The list pages among the links of a home page: short words, the url of a folder, the same host."""
    home = URL.search(text)
    host = urlsplit(home.group()).hostname if home else None
    found: dict[str, str] = {}
    for label, url in _LINK.findall(text):
        name, path = label.strip(), urlsplit(url).path
        is_list = _LIST_PATH.search(path) and not _ARTICLE_PATH.search(path) and path.count("/") > 1
        is_section = is_list and urlsplit(url).hostname == host and len(name) <= 14 and not _NO_SECTION.search(name)
        if is_section or any(extra in name for extra in extra_sections):
            found.setdefault(url, name)
    return [{"name": name, "url": url} for url, name in found.items()]


def ranking(text: str) -> list[int]:
    """All indexes, weighty words first, routine last, the newest first among equals."""
    lines = [(int(index), kind, date, title) for index, kind, date, title in RANK_LINE.findall(text)]
    newest_first = sorted(lines, key=lambda line: line[2], reverse=True)
    return [line[0] for line in sorted(newest_first, key=lambda line: _weight(line[1] + line[3]))]


def summary(text: str) -> str:
    """Two or three sentences of the material, those with figures before the others, in their order."""
    material = material_of(text)
    is_chinese = len(re.findall(r"[\u4e00-\u9fff]", material)) > len(material) / 5
    least, most = (15, 200) if is_chinese else (40, 700)
    pieces = re.findall(r"[^。！？\n]+[。！？]" if is_chinese else r"[^\n.]+(?:\.\d[^\n.]*)*\.(?=\s|$)", material)
    sentences = [piece.strip() for piece in pieces if least <= len(piece.strip()) <= most]
    by_worth = sorted(range(len(sentences)), key=lambda i: (not re.search(r"\d", sentences[i]), i))
    chosen: list[int] = []
    for i in by_worth:
        if len(chosen) < 3 and sum(len(sentences[one]) for one in chosen) + len(sentences[i]) <= most:
            chosen.append(i)
    return ("" if is_chinese else " ").join(sentences[i] for i in sorted(chosen)) or material.strip()[:most]


def overview(text: str) -> str:
    """One sentence for each of the first items, made of its title and the figures of its summary, with its number."""
    lines = [(number, line.split(" | ")) for number, line in _OVERVIEW_LINE.findall(text)][:_OVERVIEW_ITEMS]
    sentences = []
    for number, (title, *rest) in lines:
        is_chinese = re.search(r"[\u4e00-\u9fff]", title)
        pieces = re.split(r"(?<=[。！？])" if is_chinese else r"(?<=\.)\s", rest[-1]) if rest else []
        whole = (piece.strip(" 。.") for piece in pieces[:-1])
        telling = next((piece for piece in whole if re.search(r"\d", piece)), None)
        said = f"{title}：{telling}" if telling and is_chinese else telling or title
        sentences.append(f"{said}[{number}]。" if is_chinese else f"{said} [{number}]. ")
    return "".join(sentences)


def material_of(text: str) -> str:
    """The page text in a question: what follows its last heading 正文 or Text, without the lines that fence it."""
    after = re.split(r"^(?:正文|Text)[:：]\s*$", text, flags=re.MULTILINE)[-1]
    return "\n".join(line for line in after.splitlines() if not re.fullmatch(r"<<<PAGE|PAGE>>>", line.strip()))


def title_type(title: str) -> str:
    """The type of an item by the words of its title."""
    return next((kind for kind, words in _TYPES if re.search(words, title)), "新闻")


def _weight(words: str) -> int:
    return -1 if _WEIGHTY.search(words) else 1 if _ROUTINE.search(words) else 0


def _date_of(item: dict[str, Any]) -> str | None:
    if item.get("date"):
        return str(item["date"])
    url = str(item.get("url"))
    parts = next((found.groups() for form in _URL_DATES if (found := form.search(url))), None)
    return None if parts is None else f"{int(parts[0]):04}-{int(parts[1]):02}-{int(parts[2]):02}"


def _browse(url: str, offset: int | None = None) -> Call:
    return Call("browse_page", {"url": url} if offset is None else {"url": url, "offset": offset})


def _section_reply(conversation: Conversation) -> Reply:
    """Open, save what is in range, turn the page while it held something in range, finish."""
    page = conversation.last_page()
    if page is None:
        first = URL.search(conversation.question)
        has_begun = any(turn.role == "assistant" for turn in conversation.turns)
        return Reply(calls=(_browse(first.group()) if first and not has_begun else _finish(),))
    save, onward = _read_page(conversation, *page)
    calls = tuple(call for call in (save, onward) if call)
    return Reply(calls=calls or (_finish(),))


def _general_reply(conversation: Conversation, extra_sections: Sequence[str]) -> Reply:
    """The same for a whole site: the sections found at first are noted down, and opened one after another."""
    page = conversation.last_page()
    home = URL.search(conversation.question)
    has_begun = any(turn.role == "assistant" for turn in conversation.turns)
    if not has_begun and home:
        return Reply(calls=(_browse(home.group()),))
    notes = [turn.content for turn in conversation.turns if turn.role == "assistant" and PLAN_MARK in turn.content]
    plan = [url for note in notes for url in URL.findall(note)]
    text = ""
    if page and not notes:
        plan = [section["url"] for section in sections(f"{page[0]}\n{page[1]}", extra_sections)]
        text = PLAN_MARK + "\n" + "\n".join(plan)
    save, onward = _read_page(conversation, *page) if page else (None, None)
    visited = {str(call.arguments.get("url")) for call in conversation.calls("browse_page")}
    following = next((_browse(url) for url in plan if url not in visited), None)
    calls = tuple(call for call in (save, onward or following) if call)
    return Reply(text, calls or (_finish(),))


def _read_page(conversation: Conversation, url: str, text: str) -> tuple[Call | None, Call | None]:
    """What to save of a page and where to go on from it. Both at once: the page leaves the context with the save."""
    page = ListPage.of(text)
    question = conversation.question
    dates = _RANGE.search(question)
    since, until = (dates.group(1), dates.group(2)) if dates else ("", "9999")
    at_most = _AT_MOST.search(question)
    in_range = [item for item in page.items if (date := _date_of(item)) is None or since <= date <= until]
    held = conversation.saved_urls | set(URL.findall(question)[1:])
    fresh = [item for item in in_range if not item.get("known") and item.get("url") not in held]
    if conversation.task is Task.SECTION and at_most:
        fresh = fresh[: max(int(at_most.group(1)) - len(conversation.saved_urls), 0)]
    asked = [call.arguments for call in conversation.calls("browse_page")]
    onward = None
    if page.offset and _browse(url, page.offset).arguments not in asked:
        onward = _browse(url, page.offset)
    elif in_range and page.next_url and page.next_url not in {str(arguments.get("url")) for arguments in asked}:
        onward = _browse(page.next_url)
    return (save_call(fresh) if fresh else None), onward


def save_call(items: Sequence[dict[str, Any]]) -> Call:
    """One save of many items, with the type that their titles suggest."""
    records = [
        {
            "title": item.get("title"),
            "url": item.get("url"),
            "date": _date_of(item),
            "type": title_type(str(item.get("title"))),
        }
        for item in items
    ]
    return Call("save_results_batch", {"items": records})


def _finish() -> Call:
    return Call("finish", {"reason": "done"})
