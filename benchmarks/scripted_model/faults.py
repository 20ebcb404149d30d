"""How a bad model spoils the answers of a sweep, and which answer goes out in which mode."""

import json
import re
from dataclasses import replace

from benchmarks.scripted_model.answers import build_good_reply, build_save_call, rank_items
from benchmarks.scripted_model.conversation import (
    RESEARCH_TASKS,
    URL_PATTERN,
    BrowsedListPage,
    Conversation,
    PromptTask,
    ScriptedReply,
    ScriptedToolCall,
)
from benchmarks.scripted_model.lies import build_false_reply
from benchmarks.scripted_model.modes import LYING_MODES, LieRation, ReplyPayload, ScriptedMode
from benchmarks.scripted_model.research import build_research_reply, dump_json

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


def build_reply(
    mode: str, conversation: Conversation, number: int, *, tool: str | None = None, ration: LieRation | None = None
) -> ReplyPayload:
    """What the model answers to the `number`th request of its life (counted from 0) in this mode.

    `tool` is what the searches of a research choose; None leaves it to the mode. `ration` says how much of what it
    writes a lying mode turns into lies; None is all.
    """
    if mode in LYING_MODES:
        return build_false_reply(mode, conversation, number, tool=tool, ration=ration)
    if conversation.task in RESEARCH_TASKS:
        text = build_research_reply(mode, conversation, number, tool=tool)
        return ReplyPayload(text, finish_reason="length" if mode == ScriptedMode.TRUNCATED else None)
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
    return ReplyPayload(_cut_text(reply.text), calls, finish_reason="length")


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
    if task is PromptTask.HEADLINES:
        return ScriptedReply(dump_json([f"{line}{_INVENTED_FIGURES}" for line in json.loads(reply.text)]))
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
