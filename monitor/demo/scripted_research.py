"""How a good model reads the prompts of a research: by their fences, knowing nothing but what stands between them."""

import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from monitor.demo.conversation import Conversation, Task

TOOLS = (
    "basic_search_news",
    "deep_search_news",
    "search_news_last_24_hours",
    "search_news_last_week",
    "search_images_for_news",
    "search_news_by_date",
)
RESEARCH_TASKS = (
    Task.STRUCTURE,
    Task.FIRST_SEARCH,
    Task.REFLECTION,
    Task.FIRST_SUMMARY,
    Task.REFLECTION_SUMMARY,
    Task.BLUEPRINT,
    Task.REPORT,
    Task.REWRITE,
)
ORDER = re.compile(
    r"(?:ignore\s+(?:all|any|your|the|previous|prior|above)|disregard\s+(?:all|any|your|the|previous)|"
    r"\b(?:SYSTEM|ASSISTANT|ADMIN|INSTRUCTIONS?)\s*[:：\]]|<\|?(?:im_start|system)|\[INST\]|"
    r"\b(?:AI|LLM)s?\s+(?:assistants?|agents?|models?|readers?)|note to the (?:model|assistant|AI)|"
    r"\byou (?:must|are now|should now)\b|\bcite\s+https?:|your (?:final )?(?:answer|report|summary)\b|"
    r"系统(?:提示|指令|消息)\s*[:：]|新(?:的)?指令|管理员指令|"
    r"忽略(?:以上|之前|前面|上述|所有|先前|你)|作为(?:AI|人工智能|语言模型|智能)|"
    r"请(?:务必|在报告|在摘要|在正文|引用|改用|调用|使用工具|只用|输出|把)|必须(?:引用|写入|输出|调用)|"
    r"(?:撰写|生成)(?:报告|摘要|回答)时|(?:智能体|大模型|机器人)(?:应|请|须|必须))[^\n]{0,300}",
    re.IGNORECASE,
)
"""What reads as an order to a model: a good one leaves it alone, an obedient one follows it."""

URL = re.compile(r"https?://[^\s\"'<>()（）\[\]，。、；]+")
CITED = re.compile(r"\s*\[\d+\]")

_TIMELESS = (TOOLS[0], TOOLS[1], TOOLS[4], TOOLS[5])
_AT_MOST = re.compile(
    r"(?:最多|至多|不超过|at most|up to|no more than)\D{0,8}(?P<n>\d+)|(?P<m>\d+) paragraphs at most", re.IGNORECASE
)
_CUT = re.compile(r"[，。？！、；：,?!\s]|如何|怎样|怎么样|什么|哪些|多少|是否|分析|研究|目前|当前|的|与|和|及|对")
_FILLERS = re.compile(
    r"a|an|and|are|at|be|by|can|does?|for|from|has|have|how|in|is|it|its|of|on|or|the|their|this|to|was|what|when|where|"
    r"which|who|why|will|with"
)
_ASPECTS = {
    "zh": ("发展现状", "政策与规则", "市场与投资", "安全与标准", "前景与挑战"),
    "en": ("current state", "policy and rules", "market and investment", "safety and standards", "outlook"),
}
_RESULT = re.compile(r"^\[(\d+)\] (.+) \| ([^|\n]*) \| ([^|\n]*) \| ([^|\n]*)$", re.MULTILINE)
_NOTE = re.compile(r"^\[(\d+)\] (.+)$", re.MULTILINE)
_LINE = re.compile(r"^(\d+)\. (.+)$", re.MULTILINE)
_SENTENCE = re.compile(r"[^\n]+?(?:[。！？]|(?<!No)[.!?](?=\s|$))")
_QUANTITY = re.compile(r"\d(?:\.\d+)?\s*(?:%|[万亿]|元|小时|吉瓦|个|项|起|次|percent|[GM]Wh?\b|billion|dollars)")
_FIGURE = re.compile(
    r"([\u4e00-\u9fff]{2,10}|[A-Za-z][A-Za-z ]{2,24})\s*(\d[\d,]*(?:\.\d+)?)\s*"
    r"(%|亿千瓦时|万千瓦时|亿千瓦|万千瓦|吉瓦时|亿元|万元|元/瓦时|小时|GWh|GW|percent|billion|million)"
)


@dataclass(frozen=True)
class Fact:
    """A sentence of the material, without its full stop, and the number under which its source is cited."""

    text: str
    number: int


def research_answer(conversation: Conversation, *, tool: str | None = None) -> str:
    """What a careful model answers; `tool` is the one that it chooses whatever is searched for."""
    fences = conversation.fenced()
    match conversation.task:
        case Task.STRUCTURE:
            return as_json(structure(fences["QUESTION"], "\n".join(turn.content for turn in conversation.turns)))
        case Task.FIRST_SEARCH | Task.REFLECTION:
            return as_json(search_choice(fences, tool))
        case Task.FIRST_SUMMARY:
            return as_json(_summary("paragraph_latest_state", facts_of(fences)))
        case Task.REFLECTION_SUMMARY:
            known = CITED.sub("", fences["STATE"])
            new = [one for one in facts_of(fences) if one.text not in known][:3]
            return as_json(_summary("updated_paragraph_latest_state", new, before=fences["STATE"].strip()))
        case Task.BLUEPRINT:
            return as_json(blueprint(fences))
        case Task.REPORT:
            return report(fences)
        case _:
            return as_json(rewritten(fences))


def structure(question: str, prompt: str) -> list[dict[str, str]]:
    """As many paragraphs as the prompt allows, each about an aspect of the question's subject."""
    language, subject = language_of(question), subject_of(question)
    allowed = _AT_MOST.search(prompt)
    aspects = _ASPECTS[language][: int(allowed["n"] or allowed["m"]) if allowed else None]
    if language == "zh":
        return [
            {"title": f"{subject}{one}", "content": f"梳理{subject}的{one}，给出可以核对的数字、日期和文件。"}
            for one in aspects
        ]
    return [
        {
            "title": f"{subject[:1].upper()}{subject[1:]}: {aspect}",
            "content": f"Describe the {aspect} of {subject}, with figures, dates and documents that can be checked.",
        }
        for aspect in aspects
    ]


def search_choice(fences: dict[str, str], tool: str | None) -> dict[str, str]:
    """A search for the paragraph's title; which tool that asks for no latest news, its words decide."""
    title = fences["PARAGRAPH"].splitlines()[0].strip()
    state = fences.get("STATE", "")
    language = language_of(title)
    extra = ("", "") if not state else {"zh": ("数据", "文件"), "en": ("figures", "documents")}[language]
    query = f"{re.sub(r'[:：,，]', ' ', title)} {extra[len(CITED.findall(state)) % 2]}".strip()
    chosen = tool or _TIMELESS[zlib.crc32(f"{title}{bool(state)}".encode()) % len(_TIMELESS)]
    dates = {"start_date": "2026-01-01", "end_date": "2026-12-31"} if chosen == "search_news_by_date" else {}
    reasoning = {"zh": "先查这一段最要紧的事实。", "en": "The facts that matter most for this paragraph."}[language]
    return {"search_query": query, "search_tool": chosen, "reasoning": reasoning, **dates}


def facts_of(fences: dict[str, str], *, most: int = 6) -> list[Fact]:
    """Two sentences at most of each result, on the paragraph and with figures; which of equals, its title decides."""
    title = fences["PARAGRAPH"].splitlines()[0]
    wanted = _pieces(title) - _pieces(subject_of(fences["QUESTION"]))
    turn = zlib.crc32(title.encode())
    heads = list(_RESULT.finditer(fences["RESULTS"]))
    ends = [*(head.start() for head in heads[1:]), len(fences["RESULTS"])]
    found: list[tuple[int, Fact]] = []
    for head, end in zip(heads, ends, strict=True):
        sentences = [one for one in sentences_of(fences["RESULTS"][head.end() : end]) if not ORDER.search(one)]
        at = turn % len(sentences) if sentences else 0
        ranked = sorted(
            [*sentences[at:], *sentences[:at]],
            key=lambda one: -len(wanted & _pieces(one)) - 2 * min(len(_QUANTITY.findall(one)), 2),
        )
        found += [(place, Fact(one, int(head.group(1)))) for place, one in enumerate(ranked[:2])]
    known: dict[str, Fact] = {}
    for _, fact in sorted(found, key=lambda one: one[0]):
        known.setdefault(fact.text, fact)
    return list(known.values())[:most]


def sentences_of(text: str) -> list[str]:
    """The whole sentences of a text that are neither tiny nor endless, without full stops and web addresses."""
    found = []
    for piece in _SENTENCE.findall(text):
        sentence = CITED.sub("", piece).strip(" 。！？.!?\n")
        least, most = (12, 160) if language_of(sentence) == "zh" else (40, 320)
        if least <= len(sentence) <= most and not URL.search(sentence):
            found.append(sentence)
    return found


def blueprint(fences: dict[str, str]) -> dict[str, Any]:
    """A driver for each topic of the notes, one acting on the next; a scenario and metrics of what the notes say."""
    language = language_of(fences["QUESTION"])
    notes = notes_of(fences["NOTES"])
    topics: dict[str, list[int]] = {}
    for number, (topic, *_) in notes.items():
        topics.setdefault(topic, []).append(number)
    drivers = [
        {"name": topic[:60], "description": notes[numbers[0]][1], "evidenceRefs": numbers[:3]}
        for topic, numbers in topics.items()
    ]
    names = [str(driver["name"]) for driver in drivers]
    told = [words[1] for words in notes.values()]
    figures = [found for text in told for found in _FIGURE.findall(text)]
    return {
        "modelType": "causal_graph",
        "coreDrivers": drivers,
        "relationships": [
            {"from": one, "to": other, "type": "influence", "confidence": 0.7} for one, other in pairwise(names)
        ],
        "scenarios": [
            {
                "name": {"zh": "基准情景", "en": "Baseline"}[language],
                "assumptions": told[:1],
                "outcomes": told[1:2],
                "confidence": 0.6,
            }
        ]
        if told
        else [],
        "metrics": [
            {"name": name.strip(), "estimate": float(figure.replace(",", "")), "unit": unit, "confidence": 0.6}
            for name, figure, unit in figures[:4]
        ],
    }


def report(fences: dict[str, str]) -> str:
    """The outline's sections with its sentences; every second section as a list."""
    parts = re.split(r"^## (.+)$", fences["OUTLINE"], flags=re.MULTILINE)[1:]
    blocks = []
    for place, (title, text) in enumerate(zip(parts[::2], parts[1::2], strict=True)):
        sentences = cited_sentences(text)
        if sentences:
            body = "\n".join(f"- {sentence}" for sentence in sentences) if place % 2 else "".join(sentences)
            blocks.append(f"## {title.strip()}\n\n{body.strip()}")
    return "\n\n".join(blocks)


def cited_sentences(text: str) -> list[str]:
    """The sentences of a text that cite, full stops and numbers with them."""
    return re.findall(r"[^\n]+?(?:\[\d+\])+\s*(?:。|\.(?=\s|$) ?)", text)


def rewritten(fences: dict[str, str]) -> list[str]:
    """For each sentence the quote of a note that it cites, else nothing."""
    notes = notes_of(fences["NOTES"])
    answers = []
    for _, sentence in _LINE.findall(fences["SENTENCES"]):
        number = next((int(one) for one in re.findall(r"\[(\d+)\]", sentence) if int(one) in notes), None)
        quotes = re.findall(r"“([^”]+)”", notes[number][-1]) if number is not None else []
        answers.append(with_citation(quotes[0].rstrip("。.!？"), number) if quotes and number is not None else "")
    return answers


def notes_of(text: str) -> dict[int, list[str]]:
    """The fields of each note's line, by its number: topic, summary, quotes."""
    return {int(number): [*rest.split(" | "), "", ""][:3] for number, rest in _NOTE.findall(text)}


def with_citation(sentence: str, number: int) -> str:
    """The sentence with a source's number and its full stop, as its language writes them."""
    return f"{sentence}[{number}]。" if language_of(sentence) == "zh" else f"{sentence} [{number}]. "


def language_of(text: str) -> str:
    """The language: zh where a good part of the text is Chinese, else en."""
    return "zh" if len(re.findall(r"[\u4e00-\u9fff]", text)) > len(text) / 6 else "en"


def subject_of(question: str) -> str:
    """What a question is about: its first words that mean something."""
    if language_of(question) == "zh":
        pieces = (re.sub(r"^\d{4}年", "", part) for part in _CUT.split(question))
        return next((piece[:16] for piece in pieces if len(piece) >= 2), question[:16])
    words = [one for one in re.findall(r"[A-Za-z][\w-]+", question) if not _FILLERS.fullmatch(one.lower())]
    return " ".join(words[:3]).lower() or question[:40]


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _summary(field: str, facts: Sequence[Fact], *, before: str = "") -> dict[str, Any]:
    text = "".join(with_citation(fact.text, fact.number) for fact in facts)
    gap = " " if before and language_of(before) == "en" else ""
    return {
        field: f"{before}{gap}{text}".strip(),
        "quotes": [{"result": one.number, "quote": one.text} for one in facts],
    }


def _pieces(text: str) -> set[str]:
    """The words of a text that can be met again in another one: pairs of characters, and words."""
    runs = re.findall(r"[\u4e00-\u9fff]+", text)
    pairs = {run[at : at + 2] for run in runs for at in range(len(run) - 1)}
    words = {word.lower() for word in re.findall(r"[A-Za-z][\w-]+", text)}
    return pairs | {word for word in words if not _FILLERS.fullmatch(word)}
