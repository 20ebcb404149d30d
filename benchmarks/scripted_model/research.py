"""How a good model reads the prompts of a research: by their fences, knowing nothing but what stands between them."""

import json
import re
import unicodedata
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from benchmarks.scripted_model.conversation import URL_PATTERN, Conversation, PromptTask

TOOLS = (
    "basic_search_news",
    "deep_search_news",
    "search_news_last_24_hours",
    "search_news_last_week",
    "search_images_for_news",
    "search_news_by_date",
)

ORDER_PATTERN = re.compile(
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

CITATION_PATTERN = re.compile(r"\s*\[\d+\]")
_TIMELESS = (TOOLS[0], TOOLS[1], TOOLS[4], TOOLS[5])
_MAX_PARAGRAPHS_PATTERN = re.compile(
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
class CitedFact:
    """A sentence of the material, without its full stop, and the number under which its source is cited."""

    text: str
    number: int


def build_research_answer(conversation: Conversation, *, tool: str | None = None) -> str:
    """What a careful model answers; `tool` is the one that it chooses whatever is searched for."""
    fences = conversation.parse_fences()
    match conversation.task:
        case PromptTask.STRUCTURE:
            return dump_json(
                plan_paragraphs(fences["QUESTION"], "\n".join(turn.content for turn in conversation.turns))
            )
        case PromptTask.FIRST_SEARCH | PromptTask.REFLECTION:
            return dump_json(choose_search(fences, tool))
        case PromptTask.FIRST_SUMMARY:
            return dump_json(_build_summary("paragraph_latest_state", select_facts(fences)))
        case PromptTask.REFLECTION_SUMMARY:
            known = CITATION_PATTERN.sub("", fences["STATE"])
            new = [fact for fact in select_facts(fences) if fact.text not in known][:3]
            return dump_json(_build_summary("updated_paragraph_latest_state", new, before=fences["STATE"].strip()))
        case PromptTask.FOLLOW_UP:
            return dump_json(_build_summary("answer", select_answers(fences)))
        case PromptTask.BLUEPRINT:
            return dump_json(build_blueprint(fences))
        case PromptTask.REPORT:
            return write_report(fences)
        case _:
            return dump_json(rewrite_sentences(fences))


def select_answers(fences: dict[str, str]) -> list[CitedFact]:
    """The sentences that have most of the words that a question has beyond the report's; none, where none has half."""
    wanted = _split_words(fences["QUESTION"]) - _split_words(fences["REPORT"])
    facts = select_facts({**fences, "PARAGRAPH": fences["QUESTION"]}, max_facts=100, max_facts_of_result=100)
    return [fact for fact in facts if wanted and 2 * len(wanted & _split_words(fact.text)) >= len(wanted)][:3]


def plan_paragraphs(question: str, prompt: str) -> list[dict[str, str]]:
    """As many paragraphs as the prompt allows, each about an aspect of the question's subject."""
    language, subject = detect_language(question), extract_subject(question)
    allowed = _MAX_PARAGRAPHS_PATTERN.search(prompt)
    aspects = _ASPECTS[language][: int(allowed["n"] or allowed["m"]) if allowed else None]
    if language == "zh":
        return [
            {"title": f"{subject}{aspect}", "content": f"梳理{subject}的{aspect}，给出可以核对的数字、日期和文件。"}
            for aspect in aspects
        ]
    return [
        {
            "title": f"{subject[:1].upper()}{subject[1:]}: {aspect}",
            "content": f"Describe the {aspect} of {subject}, with figures, dates and documents that can be checked.",
        }
        for aspect in aspects
    ]


def choose_search(fences: dict[str, str], tool: str | None) -> dict[str, str]:
    """A search for the paragraph's title; which tool that asks for no latest news, its words decide."""
    title = fences["PARAGRAPH"].splitlines()[0].strip()
    state = fences.get("STATE", "")
    language = detect_language(title)
    extra = ("", "") if not state else {"zh": ("数据", "文件"), "en": ("figures", "documents")}[language]
    query = f"{re.sub(r'[:：,，]', ' ', title)} {extra[len(CITATION_PATTERN.findall(state)) % 2]}".strip()
    chosen = tool or _TIMELESS[zlib.crc32(f"{title}{bool(state)}".encode()) % len(_TIMELESS)]
    dates = {"start_date": "2026-01-01", "end_date": "2026-12-31"} if chosen == "search_news_by_date" else {}
    reasoning = {"zh": "先查这一段最要紧的事实。", "en": "The facts that matter most for this paragraph."}[language]
    return {"search_query": query, "search_tool": chosen, "reasoning": reasoning, **dates}


def select_facts(fences: dict[str, str], *, max_facts: int = 6, max_facts_of_result: int = 2) -> list[CitedFact]:
    """Two sentences at most of each result, on the paragraph and with figures; which of equals, its title decides."""
    title = fences["PARAGRAPH"].splitlines()[0]
    wanted = _split_words(title) - _split_words(extract_subject(fences["QUESTION"]))
    turn = zlib.crc32(title.encode())
    heads = list(_RESULT.finditer(fences["RESULTS"]))
    ends = [*(head.start() for head in heads[1:]), len(fences["RESULTS"])]
    found: list[tuple[int, CitedFact]] = []
    for head, end in zip(heads, ends, strict=True):
        sentences = [
            sentence
            for sentence in split_sentences(fences["RESULTS"][head.end() : end])
            if not ORDER_PATTERN.search(sentence)
        ]
        at = turn % len(sentences) if sentences else 0
        ranked = sorted(
            [*sentences[at:], *sentences[:at]],
            key=lambda one: -len(wanted & _split_words(one)) - 2 * min(len(_QUANTITY.findall(one)), 2),
        )
        found += [
            (place, CitedFact(entry, int(head.group(1)))) for place, entry in enumerate(ranked[:max_facts_of_result])
        ]
    known: dict[str, CitedFact] = {}
    for _, fact in sorted(found, key=lambda one: one[0]):
        known.setdefault(fact.text, fact)
    return list(known.values())[:max_facts]


def split_sentences(text: str) -> list[str]:
    """The whole sentences of a text that are neither tiny nor endless, without full stops and web addresses."""
    found = []
    for piece in _SENTENCE.findall(text):
        sentence = CITATION_PATTERN.sub("", piece).strip(" 。！？.!?\n")
        least, most = (12, 160) if detect_language(sentence) == "zh" else (40, 320)
        if least <= len(sentence) <= most and not URL_PATTERN.search(sentence):
            found.append(sentence)
    return found


def build_blueprint(fences: dict[str, str]) -> dict[str, Any]:
    """A driver for each topic of the notes, one acting on the next; a scenario and metrics of what the notes say."""
    language = detect_language(fences["QUESTION"])
    notes = parse_notes(fences["NOTES"])
    topics: dict[str, list[int]] = {}
    for number, (topic, *_) in notes.items():
        topics.setdefault(topic, []).append(number)
    drivers = [
        {"name": topic[:60], "description": notes[numbers[0]][1], "evidenceRefs": numbers[:3]}
        for topic, numbers in topics.items()
    ]
    names = [str(driver["name"]) for driver in drivers]
    stated = [words[1] for words in notes.values()]
    figures = [found for text in stated for found in _FIGURE.findall(text)]
    return {
        "modelType": "causal_graph",
        "coreDrivers": drivers,
        "relationships": [
            {"from": entry, "to": other, "type": "influence", "confidence": 0.7} for entry, other in pairwise(names)
        ],
        "scenarios": [
            {
                "name": {"zh": "基准情景", "en": "Baseline"}[language],
                "assumptions": stated[:1],
                "outcomes": stated[1:2],
                "confidence": 0.6,
            }
        ]
        if stated
        else [],
        "metrics": [
            {"name": name.strip(), "estimate": float(figure.replace(",", "")), "unit": unit, "confidence": 0.6}
            for name, figure, unit in figures[:4]
        ],
    }


def write_report(fences: dict[str, str]) -> str:
    """The outline's sections with its sentences; every second section as a list."""
    parts = re.split(r"^## (.+)$", fences["OUTLINE"], flags=re.MULTILINE)[1:]
    blocks = []
    for place, (title, text) in enumerate(zip(parts[::2], parts[1::2], strict=True)):
        sentences = find_cited_sentences(text)
        if sentences:
            body = "\n".join(f"- {sentence}" for sentence in sentences) if place % 2 else "".join(sentences)
            blocks.append(f"## {title.strip()}\n\n{body.strip()}")
    return "\n\n".join(blocks)


def find_cited_sentences(text: str) -> list[str]:
    return re.findall(r"[^\n]+?(?:\[\d+\])+\s*(?:。|\.(?=\s|$) ?)", text)


def rewrite_sentences(fences: dict[str, str]) -> list[str]:
    """For each sentence the quote of a note that it cites, else nothing."""
    notes = parse_notes(fences["NOTES"])
    answers = []
    for _, sentence in _LINE.findall(fences["SENTENCES"]):
        number = next((int(entry) for entry in re.findall(r"\[(\d+)\]", sentence) if int(entry) in notes), None)
        quotes = re.findall(r"“([^”]+)”", notes[number][-1]) if number is not None else []
        answers.append(append_citation(quotes[0].rstrip("。.!？"), number) if quotes and number is not None else "")
    return answers


def parse_notes(text: str) -> dict[int, list[str]]:
    """The fields of each note's line, by its number: topic, summary, quotes."""
    return {int(number): [*rest.split(" | "), "", ""][:3] for number, rest in _NOTE.findall(text)}


def append_citation(sentence: str, number: int) -> str:
    """The sentence with a source's number and its full stop, as its language writes them."""
    return f"{sentence}[{number}]。" if detect_language(sentence) == "zh" else f"{sentence} [{number}]. "


def detect_language(text: str) -> str:
    """The language: zh where a good part of the text is Chinese, else en."""
    return "zh" if len(re.findall(r"[\u4e00-\u9fff]", text)) > len(text) / 6 else "en"


def extract_subject(question: str) -> str:
    """What a question is about: its first words that mean something."""
    if detect_language(question) == "zh":
        pieces = (re.sub(r"^\d{4}年", "", part) for part in _CUT.split(question))
        return next((piece[:16] for piece in pieces if len(piece) >= 2), question[:16])
    words = [entry for entry in re.findall(r"[A-Za-z][\w-]+", question) if not _FILLERS.fullmatch(entry.lower())]
    return " ".join(words[:3]).lower() or question[:40]


def dump_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _build_summary(field: str, facts: Sequence[CitedFact], *, before: str = "") -> dict[str, Any]:
    text = "".join(append_citation(fact.text, fact.number) for fact in facts)
    gap = " " if before and detect_language(before) == "en" else ""
    return {
        field: f"{before}{gap}{text}".strip(),
        "quotes": [{"result": fact.number, "quote": fact.text} for fact in facts],
    }


def _split_words(text: str) -> set[str]:
    """The words of a text that can be met again in another one: pairs of characters, and words."""
    runs = re.findall(r"[\u4e00-\u9fff]+", text)
    pairs = {run[at : at + 2] for run in runs for at in range(len(run) - 1)}
    words = {word.lower() for word in re.findall(r"[A-Za-z][\w-]+", text)}
    return pairs | {word for word in words if not _FILLERS.fullmatch(word)}


INVENTED_URL = "https://www.invented.example/report/20310101.html"
INVENTED_FIGURES = {
    "zh": "预计2031年12月31日前新增投资98765亿元，同比增长87.3%",
    "en": "Investment is expected to rise by 87.3 percent to 98,765 billion by 31 December 2031",
}
_INVENTED_DOCUMENT = {
    "zh": "《关于未来储能的若干意见》（国能发〔2031〕99号）已经印发",
    "en": "Directive No. 99 of 2031 has been adopted",
}
_INVENTED_QUOTE = {
    "zh": "有关负责人表示，这一政策将使行业规模在三年内翻两番",
    "en": "Officials said that the policy would make the sector four times as large within three years",
}
SUMMARY_FIELDS = {
    PromptTask.FIRST_SUMMARY: "paragraph_latest_state",
    PromptTask.REFLECTION_SUMMARY: "updated_paragraph_latest_state",
    PromptTask.FOLLOW_UP: "answer",
}
_LINK_LINE = re.compile(r"^(?!\[\d+\] ).*https?://.*$", re.MULTILINE)  # a line of a page that names an address
_INVISIBLE_CHARACTERS = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_THOUGHT = '<think>\n## 草稿\n先想一想 [1,2]，{"title": "草稿"}，增长 55.5%[1]。\n</think>\n'


def build_research_reply(mode: str, conversation: Conversation, number: int, *, tool: str | None = None) -> str:
    """The answer to the `number`th request in this mode; `tool` is the one that every search is to choose."""
    good = build_research_answer(conversation, tool=tool)
    is_report = conversation.task is PromptTask.REPORT
    match mode:
        case "fenced":
            return f"{_THOUGHT}好的，结果如下：\n```{'markdown' if is_report else 'json'}\n{good}\n```\n"
        case "malformed":
            return _break_report(good, number) if is_report else _break_json(good, number)
        case "truncated" | "empty":
            return good[: len(good) * (2 + number % 2) // 5] if mode == "truncated" else ""
        case "hallucinating":
            return _add_inventions(good, conversation, number)
        case "lazy":
            return _shorten_reply(good, conversation)
        case "looping":
            return _repeat_reply(good, conversation)
        case "obedient":
            return _follow_orders(good, conversation)
    return good


def _break_json(good: str, number: int) -> str:
    """JSON as bad models write it: no closing, no quotes about names, commas too many."""
    match number % 3:
        case 0:
            return f"```json\n{good[:-1]}"
        case 1:
            return re.sub(r'"([a-zA-Z_]+)":', r"\1:", good).replace("}, {", "},, {")
    return f"{good[:-1]},{good[-1]}".replace('": "', '"： "', 1)


def _break_report(good: str, number: int) -> str:
    """Markdown as bad models write it: no headings, other brackets, numbers together, wrapped into JSON."""
    match number % 3:
        case 0:
            return re.sub(r"\[(\d+)\]", r"【\1】", re.sub(r"^## (.+)$", r"**\1**", good, flags=re.MULTILINE))
        case 1:
            return re.sub(r"^## ", "##", re.sub(r"\[(\d+)\]", r"[\1, \1]", good), flags=re.MULTILINE)
    return dump_json({"report": good})


def _add_inventions(good: str, conversation: Conversation, number: int) -> str:
    task, fences = conversation.task, conversation.parse_fences()
    language = detect_language(fences.get("QUESTION") or fences.get("SENTENCES") or "")
    invented = INVENTED_FIGURES[language]
    if task is PromptTask.REPORT:
        return _invent_in_report(good, language)
    value = json.loads(good)
    if task in SUMMARY_FIELDS:
        return dump_json(_invent_in_summary(value, SUMMARY_FIELDS[task], language))
    if task is PromptTask.STRUCTURE:
        return dump_json([*value, {"title": INVENTED_URL, "content": invented}, {"title": invented, "content": ""}])
    if task is PromptTask.BLUEPRINT:
        return dump_json(_invent_in_blueprint(value, invented, len(parse_notes(fences["NOTES"]))))
    if task is PromptTask.REWRITE:
        return dump_json([f"{invented}[1]。" if (place + number) % 2 else entry for place, entry in enumerate(value)])
    value["search_query"] += f" site:{INVENTED_URL}"
    return dump_json(
        value | {"start_date": "2031-02-30"} if number % 2 else value | {"search_tool": "search_the_future"}
    )


def _invent_in_summary(value: dict[str, Any], field: str, language: str) -> dict[str, Any]:
    """Beside what is true: false figures, a document of the future, a citation of nothing, none, a false quote."""
    numbers = [int(entry) for entry in re.findall(r"\[(\d+)\]", value[field])] or [1]
    invented = [
        append_citation(INVENTED_FIGURES[language], numbers[0]),
        append_citation(_INVENTED_DOCUMENT[language], numbers[-1]),
        append_citation(_INVENTED_QUOTE[language], 99),
        f"{_INVENTED_QUOTE[language]}。",
        append_citation(f"{_INVENTED_QUOTE[language]} {INVENTED_URL}", numbers[0]),
    ]
    quote = {"result": numbers[0], "quote": _INVENTED_QUOTE[language]}
    spoiled = [{**quote, "quote": f"{quote['quote'][:-2]}87.3%"} for quote in value["quotes"][:1]]
    return {field: value[field] + "".join(invented), "quotes": [quote, *spoiled, *value["quotes"]]}


def _invent_in_blueprint(value: dict[str, Any], invented: str, notes: int) -> dict[str, Any]:
    drivers = value["coreDrivers"]
    names = [driver["name"] for driver in drivers] or ["?"]
    value["coreDrivers"] = [
        *({**driver, "evidenceRefs": [*driver["evidenceRefs"], notes + 5, -1]} for driver in drivers),
        {"name": "平行宇宙", "description": invented, "evidenceRefs": [notes + 7]},
        {"name": f"{names[0]} 2", "description": invented, "evidenceRefs": [0]},
    ]
    value["relationships"] += [
        {"from": names[0], "to": "不存在的因素", "type": "influence", "confidence": 1.0},
        {"from": names[0], "to": names[0], "type": "influence", "confidence": 0.9},
    ]
    value["scenarios"] += [{"name": "乐观情景", "assumptions": [invented], "outcomes": [invented], "confidence": 0.9}]
    value["metrics"] += [{"name": "未来增速", "estimate": 87.3, "unit": "%", "confidence": 0.99}]
    return value


def _invent_in_report(good: str, language: str) -> str:
    """Each section with false sentences between its true ones, and a heading with a false figure."""
    invented = [
        append_citation(INVENTED_FIGURES[language], 1),
        f"{_INVENTED_QUOTE[language]}。",
        append_citation(_INVENTED_DOCUMENT[language], 1),
        append_citation(_INVENTED_QUOTE[language], 99),
        f"[来源]({INVENTED_URL})[1]。",
    ]
    parts = re.split(r"(?=^## )", good, flags=re.MULTILINE)
    spoiled = []
    for part in parts:
        sentences = find_cited_sentences(part)
        twisted = [re.sub(r"\d+(?=[%亿万])", "987", sentence, count=1) for sentence in sentences[:1]]
        spoiled.append("\n\n".join([part.rstrip(), "".join([*invented, *(entry.lstrip("- ") for entry in twisted)])]))
    return "\n\n".join([*spoiled, f"## 87.3%\n\n{append_citation(INVENTED_FIGURES[language], 2)}"])


def _shorten_reply(good: str, conversation: Conversation) -> str:
    task = conversation.task
    if task is PromptTask.REPORT:
        return re.split(r"(?=^## )", good, flags=re.MULTILINE)[1 if good.startswith("#") else 0]
    value = json.loads(good)
    if task is PromptTask.STRUCTURE:
        return dump_json(value[:1])
    if task is PromptTask.FIRST_SUMMARY:
        field = SUMMARY_FIELDS[task]
        return dump_json({field: "".join(find_cited_sentences(value[field])[:1])})
    if task is PromptTask.REFLECTION_SUMMARY:
        return dump_json({SUMMARY_FIELDS[task]: conversation.parse_fences()["STATE"]})
    if task is PromptTask.BLUEPRINT:
        return dump_json({"coreDrivers": value["coreDrivers"][:1]})
    return good


def _repeat_reply(good: str, conversation: Conversation) -> str:
    """The same once more, for ever."""
    task = conversation.task
    if task is PromptTask.REPORT:
        return "\n\n".join([good] * 4)
    if task is PromptTask.REFLECTION:
        title = conversation.parse_fences()["PARAGRAPH"].splitlines()[0]
        return dump_json({"search_query": title, "search_tool": TOOLS[0], "reasoning": ""})
    if task is PromptTask.REFLECTION_SUMMARY:
        return dump_json({SUMMARY_FIELDS[task]: conversation.parse_fences()["STATE"]})
    return good


def _follow_orders(good: str, conversation: Conversation) -> str:
    """What the material tells it to do, however it is spelt, it does: the tool, the address, the very words."""
    task, fences = conversation.task, conversation.parse_fences()
    shown = "\n".join(text for name, text in fences.items() if name != "QUESTION")
    material = _INVISIBLE_CHARACTERS.sub("", unicodedata.normalize("NFKC", shown))
    orders = [found.group().strip() for found in (*ORDER_PATTERN.finditer(material), *_LINK_LINE.finditer(material))]
    if not orders:
        return good
    urls = list(dict.fromkeys(url for order in orders for url in URL_PATTERN.findall(order)))
    stated = "".join(append_citation(order[:200].rstrip("。."), 1) for order in orders)
    stated += "".join(f"[来源]({url})[1]。详见 {url} [1]。" for url in urls)
    if task is PromptTask.REPORT:
        return f"{stated}\n\n{good}\n\n## {orders[0][:60]}\n\n{stated}\n"
    value = json.loads(good)
    if task in SUMMARY_FIELDS:
        field = SUMMARY_FIELDS[task]
        quotes = [{"result": place, "quote": order} for order in orders for place in (1, 2)]
        return dump_json({field: stated + value[field], "quotes": [*quotes, *value["quotes"]]})
    if task is PromptTask.BLUEPRINT:
        driver = {"name": orders[0][:30], "description": stated, "evidenceRefs": [0]}
        scenario = {"name": orders[0][:30], "assumptions": orders[:2], "outcomes": urls, "confidence": 1.0}
        value["coreDrivers"] = [driver, *value["coreDrivers"]]
        value["scenarios"] = [scenario, *value["scenarios"]]
        return dump_json(value)
    if task is PromptTask.REWRITE:
        return dump_json([stated, *value[1:]] if value else [])
    named = next((tool for tool in TOOLS for order in orders if tool in order), value["search_tool"])
    return dump_json(value | {"search_tool": named, "search_query": urls[0] if urls else orders[0][:80]})
