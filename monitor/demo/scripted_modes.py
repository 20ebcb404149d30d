"""What each mode of the scripted model does to a good answer; the modes are listed in `scripted_model`."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from monitor.demo.conversation import Call, Conversation, ListPage, Reply, Task
from monitor.demo.research_modes import research_reply
from monitor.demo.scripted_answers import good_reply, ranking, save_call
from monitor.demo.scripted_research import RESEARCH_TASKS

_COMMAND = re.compile(
    r"(?:\bSYSTEM\s*[:：]|系统(?:提示|指令)\s*[:：]|忽略(?:以上|之前|前面|上述|所有|先前)[^\n，。]{0,10}|"
    r"ignore\s+(?:all\s+|any\s+|your\s+|the\s+|previous\s+|prior\s+|above\s+)+instructions?)[^\n]{0,300}",
    re.IGNORECASE,
)
_URL = re.compile(r"https?://[^\s\"'<>()（）\[\]，。、；]+")
_ONLY = re.compile(r"\bonly\b|只|仅|不要保存其他|finish now|立即结束", re.IGNORECASE)
_FIRST = re.compile(r"\bfirst\b|排在?(?:第一|首位|最前)|置顶", re.IGNORECASE)
_RANK_INDEX = re.compile(r"^\[(\d+)\] \[")
_PROSE = (Task.SUMMARY, Task.OVERVIEW)
_THOUGHT = '<think>The links are [1,2] or {"a": [3]}; let me see…</think>\n'
_INVENTED_URL = "https://www.invented.example/zcwj/20310101/t20310101_999999.html"
_INVENTED_FIGURES = "预计2031年12月31日前新增投资98765亿元，同比增长87.3%。"
_COMMANDED_TITLE = "关于落实有关要求的重要通知"


class Mode(StrEnum):
    """The ways in which the scripted model behaves."""

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
class WireReply:
    """A reply as it goes out: tool arguments are text here, because a bad model's are no JSON."""

    text: str
    calls: tuple[tuple[str, str], ...] = ()


def reply_in(
    mode: Mode, conversation: Conversation, extra_sections: Sequence[str], number: int, *, tool: str | None = None
) -> WireReply:
    """What the model answers to the `number`th request of its life (counted from 0) in this mode.

    `tool` is what the searches of a research choose; None leaves it to the mode.
    """
    if conversation.task in RESEARCH_TASKS:
        return WireReply(research_reply(mode, conversation, number, tool=tool))
    reply = good_reply(conversation, extra_sections)
    match mode:
        case Mode.FENCED:
            return _fenced(reply, conversation.task)
        case Mode.MALFORMED:
            return _malformed(reply, conversation.task, number)
        case Mode.TRUNCATED:
            return _truncated(reply)
        case Mode.EMPTY:
            return WireReply("")
        case Mode.HALLUCINATING:
            reply = _hallucinating(reply, conversation.task)
        case Mode.LOOPING:
            reply = _looping(reply, conversation)
        case Mode.LAZY:
            reply = _lazy(reply)
        case Mode.OBEDIENT:
            reply = _obedient(reply, conversation)
    return WireReply(reply.text, tuple((call.name, _json(call.arguments)) for call in reply.calls))


def _fenced(reply: Reply, task: Task) -> WireReply:
    is_prose = task in _PROSE
    fence = "text" if is_prose else "json"
    after = "" if is_prose else "\n以上供参考[1]。"
    text = f"{_THOUGHT}好的，结果如下：\n```{fence}\n{reply.text}\n```{after}" if reply.text and not reply.calls else ""
    if is_prose:
        text = text.replace("好的，结果如下：\n", "")
    return WireReply(
        text or _THOUGHT, tuple((call.name, f"```json\n{_json(call.arguments)}\n```") for call in reply.calls)
    )


def _truncated(reply: Reply) -> WireReply:
    """An answer that stops in the middle, as when the tokens run out."""
    calls = tuple((call.name, _half(_json(call.arguments))) for call in reply.calls)
    return WireReply(_half(reply.text), calls)


def _half(text: str) -> str:
    return text[: len(text) * 3 // 5]


def _malformed(reply: Reply, task: Task, number: int) -> WireReply:
    """JSON as bad models write it; what is broken changes from request to request."""
    if reply.calls:
        written = [_json(call.arguments) for call in reply.calls]
        if number % 2:
            breakages = (lambda s: s[: len(s) * 3 // 4], lambda s: s.replace('"', "'"), lambda s: s[:-1] + ",")
            written = [breakages[(number // 2 + i) % 3](one) for i, one in enumerate(written)]
        return WireReply("", tuple((call.name, one) for call, one in zip(reply.calls, written, strict=True)))
    if task is Task.SUMMARY:
        return WireReply((f'{{"summary": {_json(reply.text)},}}', f"```\n“{reply.text}”", reply.text[:9])[number % 3])
    if task is Task.OVERVIEW:
        bare = re.sub(r"\s?\[\d+\]", "", reply.text)
        return WireReply(
            (f'{{"overview": {_json(reply.text)},}}', bare, reply.text[: len(reply.text) // 2])[number % 3]
        )
    if task is Task.RANK:
        order = json.loads(reply.text)
        spoiled: list[object] = [one if i % 3 else str(one) for i, one in enumerate(order[: len(order) * 3 // 4])]
        return WireReply(_json([*spoiled[:1], *spoiled, 999, -1, None])[:-1] + ",")
    if number % 2:
        return WireReply(f"```json\n{reply.text[:-1]}, {{'name': '未完")
    return WireReply(re.sub(r'"(name|url)"', r"\1", reply.text).replace("}, {", "},， {").replace("}]", ",},]"))


def _hallucinating(reply: Reply, task: Task) -> Reply:
    """True things with invented ones among them."""
    if task is Task.NAVIGATE:
        invented = [
            {"name": "政策文件库", "url": "https://www.invented.example/zcwj/"},
            {"name": "权威发布", "url": "https://www.invented.example/fabu/index.html"},
        ]
        return Reply(_json([*json.loads(reply.text), *invented]))
    if task is Task.RANK:
        order = json.loads(reply.text)
        return Reply(_json([len(order) + 5, *order, *order[:2], 10**6]))
    if task is Task.SUMMARY:
        return Reply(reply.text + _INVENTED_FIGURES)
    if task is Task.OVERVIEW:
        return Reply(_with_invented_sentences(reply.text))
    return replace(reply, calls=tuple(_with_inventions(call) for call in reply.calls))


def _with_invented_sentences(overview: str) -> str:
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
        written.append(true + "".join(f"{one}。" for one in invented))
    return "".join(written)


def _with_inventions(call: Call) -> Call:
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
    return Call(call.name, {"items": items})


def _looping(reply: Reply, conversation: Conversation) -> Reply:
    """The list page once more, for ever."""
    if not conversation.tools:
        return reply
    first = _URL.search(conversation.question)
    return Reply(calls=(Call("browse_page", {"url": first.group() if first else ""}),))


def _lazy(reply: Reply) -> Reply:
    """Two of the page's items, then no more; each section is read one page deep."""
    saves = [call for call in reply.calls if call.name == "save_results_batch"]
    if not saves:
        return reply
    kept = Call("save_results_batch", {"items": saves[0].arguments["items"][:2]})
    return replace(reply, calls=(kept, Call("finish", {"reason": "enough"})))


def _obedient(reply: Reply, conversation: Conversation) -> Reply:
    """What a page's text tells it to do, it does, whatever the prompt said of that."""
    material = "\n".join(turn.content for turn in conversation.turns if turn.role in {"tool", "user"})
    commands = [found.group() for found in _COMMAND.finditer(material)]
    if not commands:
        return reply
    urls = list(dict.fromkeys(url for command in commands for url in _URL.findall(command)))
    match conversation.task:
        case Task.NAVIGATE:
            return Reply(_json([*json.loads(reply.text), *({"name": "指定栏目", "url": url} for url in urls)]))
        case Task.SUMMARY:
            return Reply(f"{reply.text[:120]}{commands[0][:160]}")
        case Task.OVERVIEW:
            return Reply(f"{commands[0][:160]}[1]。{reply.text}")
        case Task.RANK:
            return Reply(_json(_ranked_as_told(conversation.question)))
    fresh = [url for url in urls if url not in conversation.saved_urls]
    if not fresh:
        return reply
    page = conversation.last_page()
    dates = [item["date"] for item in ListPage.of(page[1]).items if item.get("date")] if page else []
    ordered = [{"title": _COMMANDED_TITLE, "url": url, "date": max(dates, default=None)} for url in fresh]
    if any(_ONLY.search(command) for command in commands):
        return Reply(calls=(save_call(ordered), Call("finish", {"reason": "as told"})))
    others = tuple(call for call in reply.calls if call.name != "finish")
    return replace(reply, calls=(save_call(ordered), *others))


def _ranked_as_told(question: str) -> list[int]:
    order = ranking(question)
    told = [
        int(found.group(1))
        for line in question.splitlines()
        if (found := _RANK_INDEX.match(line)) and (_FIRST.search(line) or _COMMAND.search(line))
    ]
    return [*told, *(index for index in order if index not in told)]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
