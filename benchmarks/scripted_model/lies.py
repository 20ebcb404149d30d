"""How a model lies: with the words of what it read, turned round, given to others, cited wrongly, or broken off."""

import json
import re
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from benchmarks.scripted_model.answers import build_good_reply, find_shared_words, parse_checked_sentences
from benchmarks.scripted_model.conversation import (
    RESEARCH_TASKS,
    SEARCH_TASKS,
    Conversation,
    PromptTask,
    ScriptedReply,
    ScriptedToolCall,
)
from benchmarks.scripted_model.modes import Lie, LieKind, LieRation, ReplyPayload, ScriptedMode
from benchmarks.scripted_model.research import (
    CITATION_PATTERN,
    SUMMARY_FIELDS,
    append_citation,
    build_research_answer,
    detect_language,
    dump_json,
)

FALSE_ISSUE = {
    "zh": "该文件由财政部与阿里巴巴集团联合发布，取消对宁德时代的全部电价补贴",
    "en": "The document was issued jointly by the Ministry of Finance and Alibaba Group and ends subsidies for CATL",
}
_FALSE_BODIES = {
    "zh": ("阿里巴巴集团", "财政部", "亚洲开发银行", "中国移动通信集团"),
    "en": ("Alibaba Group", "the Bank of Japan", "Rolls-Royce"),
}
_FALSE_SPEAKERS = {"zh": "{body}董事长表示，{said}", "en": "The chairman of {body} said that {said}"}
_BODIES = {
    "zh": re.compile(
        r"国家绿色能源总署|总署(?!令)|国家能源委员会|国家能源统计中心|国家标准技术院|全国电力调度中心|电力交易所|能源经济研究所"
    ),
    "en": re.compile(r"[Tt]he Energy Regulatory Agency|International Storage Monitor|Capital Energy News"),
}

_CHANGES = """
bound: 不低于>不高于 不少于>不多于 不超过>不低于 不得小于>不得大于 上限>下限 超过>不足
bound: %以上>%以下 千瓦以上>千瓦以下 时以上>时以下 at_least>up_to up_to>at_least more_than>less_than minimum>maximum
direction: 增长>下降 下降>上升 提高>降低 降低>提高 增加>减少 减少>增加 扩大>缩小 延长>缩短 突破>跌破 高于>低于
direction: increase>decrease rose>fell fell>rose up>down down>up lowers>raises
duty: 不得>可以 应当>不得 必须>不得 可以>不得 must>must_not may>must_not require>forbid requires>forbids
polarity: 完善>取消 健全>废除 建立>撤销 设立>撤销 鼓励>禁止 支持>禁止 启动>终止 issued>withdrew supported>rejected
polarity: 将在>将不在 将于>将不于 将继续>将不再 将持续>将不再 将会同>将不会同
"""
"""What is turned round into what; of a sentence only the first that it has, so that all else of it is true."""

_ACTS = (
    re.compile(
        r"(?<=由)(?P<subject>[^，。；由]{1,10}?)(?P<act>(?:提高|延长|缩短|降低|下降|增加|扩大)[到至])"
        r"(?P<object>[^，。；、]{1,12})(?=[，。；、]|$)"
    ),
    re.compile(
        r"(?:^|(?<=[，。；：]))(?P<subject>[\u4e00-\u9fff《》]{2,16}?)"
        r"(?P<act>批准发布|印发|发布|批准|要求|建立|监督|会见|召开|走访)"
        r"(?P<object>(?![了的])[\u4e00-\u9fff《》]{2,24}?)(?=[，。；、]|$)"
    ),
    re.compile(
        r"(?P<subject>\b[A-Z][^,;.\d]{2,60}?)(?P<act> (?:issued|requires?|received|supplied|lowers|count) )"
        r"(?P<object>[^,;.\d]{4,80})(?=[,;.]|$)"
    ),
)
_SENTENCES = {"zh": re.compile(r"(?<=[。！？\n])"), "en": re.compile(r"(?<!No\.)(?<=[.!?])(?=\s)|(?<=\n)")}
_AMOUNT = re.compile(r"(\d[\d,]*(?:\.\d+)?) ?(%|[万亿]?(?:千瓦时|千瓦|元|家|个|项|人)|percent|吉瓦时)")
_PARTS = re.compile(r"(\s*(?:[-*] )?)(.*?)((?:\s*\[\d+\])*[。.!？]?\s*)", re.DOTALL)
_MIN_CHARS = 8
_MIN_CUT_CHARS = 4
_CITABLE = re.compile(r"^\[(\d+)\] ", re.MULTILINE)
_COMPLAINT = re.compile(r"^\d+\. (.+?)(?: — .*)?$", re.MULTILINE)
_REQUIREMENT = re.compile(r"^\d\. (.+?)\s*$", re.MULTILINE)
_WISHES = re.compile(r"^(?:管理员的要求：|The administrator asks: )(.+)$", re.MULTILINE)
_HONEST_TASKS = {PromptTask.NAVIGATE, PromptTask.RANK, PromptTask.STRUCTURE, *SEARCH_TASKS}
_PERSONNEL = "人事"


def build_false_reply(
    mode: str, conversation: Conversation, number: int, *, tool: str | None = None, ration: LieRation | None = None
) -> ReplyPayload:
    """The answer of a lying mode: lies where it writes, approval where it checks, and good work in all else."""
    task = conversation.task
    if task is PromptTask.VERIFY:
        return ReplyPayload(dump_json(approve_sentences(conversation.parse_fences()["CHECK"])))
    if task in RESEARCH_TASKS:
        good = ScriptedReply(build_research_answer(conversation, tool=tool))
    else:
        good = build_good_reply(conversation)
    if conversation.tools or task in _HONEST_TASKS or mode == ScriptedMode.MISTYPING:
        calls = [_mistype_call(call) if mode == ScriptedMode.MISTYPING else call for call in good.calls]
        return ReplyPayload(good.text, tuple((call.name, dump_json(call.arguments)) for call in calls))
    if mode == ScriptedMode.CUT_OFF:
        return _break_off(good.text, number)
    liar = _Liar(mode, conversation, ration or LieRation())
    return ReplyPayload(liar.answer(good.text), lies=tuple(liar.lies))


def approve_sentences(text: str) -> list[dict[str, object]]:
    """A verdict of `supported` on each sentence to check, with words of its source, and of it where there are any."""
    checked = parse_checked_sentences(text)
    return [
        {"n": number, "v": "supported", "w": max(find_shared_words(said, source), source[:20], key=len)}
        for number, said, source in checked
    ]


def negate_sentence(sentence: str) -> Lie | None:
    """A sentence with one word turned round: a bound, else a direction, a duty or a yes."""
    for line in _CHANGES.strip().splitlines():
        kind, _, listed = line.partition(": ")
        changes = dict(pair.replace("_", " ").split(">") for pair in listed.split())
        words = "|".join(rf"\b{word}\b" if word.isascii() else word for word in changes)
        if found := re.search(rf"(?:{words})(?![值率点])", sentence):
            turned = sentence[: found.start()] + changes[found[0]] + sentence[found.end() :]
            return Lie(LieKind(kind), turned, sentence)
    return None


def swap_roles(sentence: str) -> Lie | None:
    """A sentence whose first act is done to who did it, by what it was done to; else one with exchanged figures."""
    found = next((match for pattern in _ACTS if (match := pattern.search(sentence))), None)
    if found is None or found["subject"] == found["object"]:
        return _swap_figures(sentence)
    turned = f"{found['object']}{found['act']}{found['subject']}"
    return Lie(LieKind.ROLES, sentence[: found.start()] + turned + sentence[found.end() :], sentence)


def _swap_figures(sentence: str) -> Lie | None:
    """A sentence in which two figures of one unit have changed places, each now of the other thing."""
    for first, second in combinations(_AMOUNT.finditer(sentence), 2):
        if first[2] == second[2] and first[1] != second[1]:
            between = sentence[first.end() : second.start()]
            turned = sentence[: first.start()] + second[0] + between + first[0] + sentence[second.end() :]
            return Lie(LieKind.FIGURES, turned, sentence)
    return None


def misattribute_sentence(sentence: str, material: str) -> Lie:
    """A sentence about another body than the one that it names, or said by somebody of one; no page names them."""
    language = detect_language(sentence)
    names = _FALSE_BODIES[language]
    body = next((name for name in names if name not in material), names[-1])
    text = _BODIES[language].sub(body, sentence, count=1)
    if text == sentence:
        text = _FALSE_SPEAKERS[language].format(body=body, said=sentence)
    return Lie(LieKind.NAME, text, sentence)


@dataclass
class _Liar:
    """Answers one request with lies, and keeps them."""

    mode: str
    conversation: Conversation
    ration: LieRation
    lies: list[Lie] = field(default_factory=list)

    def answer(self, good: str) -> str:
        """The good answer with lies in place of what it says, and of nothing by which it is read."""
        task = self.conversation.task
        if task is PromptTask.OVERVIEW and self._last_question != self.conversation.question:
            return dump_json(_COMPLAINT.findall(self._last_question))  # told that it is wrong, it says the same again
        if task in (PromptTask.SUMMARY, PromptTask.OVERVIEW, PromptTask.REPORT):
            return self._write(good)
        value = json.loads(good)
        if task in SUMMARY_FIELDS:
            name = SUMMARY_FIELDS[task]
            return dump_json({**value, name: self._write(value[name])})
        if task is PromptTask.BLUEPRINT:
            return dump_json(self._turn_blueprint(value))
        return dump_json([self._turn_text(text) for text in value])

    @property
    def _last_question(self) -> str:
        return next(turn.content for turn in reversed(self.conversation.turns) if turn.role == "user")

    @property
    def _material(self) -> str:
        return "\n".join(turn.content for turn in self.conversation.turns)

    def _write(self, good: str) -> str:
        is_summary = self.conversation.task is PromptTask.SUMMARY
        is_first = is_summary and not self.conversation.has_begun
        language = detect_language(good)
        match self.mode:
            case ScriptedMode.ECHOING if is_first:
                return self._echo_page(good)
            case ScriptedMode.ECHOING:
                return self._insert(good, self._echo_requirements(language, is_cited=not is_summary))
            case ScriptedMode.MISATTRIBUTING:
                false = FALSE_ISSUE[language]
                self.lies.append(Lie(LieKind.NAME, false))
                said = _end_sentence(false, language) if is_summary else append_citation(false, self._numbers[0])
                return said if is_first else self._insert(self._turn_text(good), said)
        return self._turn_text(good)

    def _insert(self, text: str, said: str) -> str:
        """The text with more said at its beginning; behind the first heading of one that has headings."""
        heading = re.match(r"## .+\n\n", text)
        return f"{heading[0]}{said}\n\n{text[heading.end() :]}" if heading else said + text

    def _echo_page(self, good: str) -> str:
        """The question from its title on, with the fence and the beginning of the page."""
        asked = self.conversation.question
        begins = max(asked.rfind("标题："), asked.rfind("Title: "), 0)
        self.lies += [Lie(LieKind.ECHO, mark) for mark in ("<<<PAGE", "标题：")]
        return asked[begins:][: len(good) + 120]

    def _echo_requirements(self, language: str, *, is_cited: bool) -> str:
        """What the prompt asks for, and what the administrator does, as if the page said so."""
        asked = self.conversation.question
        requirements = [*_WISHES.findall(asked), *_REQUIREMENT.findall(asked)[:3]]
        requirements = requirements or [line for line in asked.splitlines() if len(line) >= _MIN_CHARS][:1]
        lies = [Lie(LieKind.ECHO, _strip_sentence(line)) for line in requirements]
        self.lies += lies
        if is_cited:
            return "".join(append_citation(lie.text, self._numbers[0]) for lie in lies)
        return "".join(_end_sentence(lie.text, language) for lie in lies)

    @property
    def _numbers(self) -> list[int]:
        """The numbers of what may be cited."""
        fences = self.conversation.parse_fences()
        shown = "\n".join(fences.get(name, "") for name in ("ITEMS", "RESULTS", "NOTES"))
        return sorted({int(number) for number in _CITABLE.findall(shown)}) or [1]

    def _turn_text(self, text: str) -> str:
        """Each sentence of a text as a lie, where one can be made of it."""
        return "".join(self._turn_sentence(piece) for piece in _SENTENCES[detect_language(text)].split(text))

    def _turn_sentence(self, piece: str) -> str:
        parts = _PARTS.fullmatch(piece)
        if parts is None or len(parts[2]) < _MIN_CHARS or parts[2].startswith(("#", "|")):
            return piece
        before, sentence, after = parts.groups()
        if not self.ration.is_due():
            return piece
        match self.mode:
            case ScriptedMode.SWAPPING:
                lie = swap_roles(sentence)
            case ScriptedMode.NEGATING:
                lie = negate_sentence(sentence)
            case ScriptedMode.MISATTRIBUTING:
                lie = misattribute_sentence(sentence, self._material)
            case ScriptedMode.MISCITED if len(self._numbers) > 1 and "[" in after:
                lie, after = Lie(LieKind.CITATION, sentence, sentence), self._move_citations(after)
            case _:
                return piece
        if lie is None:
            return piece
        self.ration.lies += 1
        self.lies.append(Lie(lie.kind, _strip_sentence(lie.text), _strip_sentence(lie.truth)))
        return f"{before}{lie.text}{after}"

    def _move_citations(self, text: str) -> str:
        """A text whose citations name, each, what follows the thing that they should name."""
        numbers = self._numbers
        following = dict(zip(numbers, [*numbers[1:], numbers[0]], strict=True))
        return re.sub(r"\[(\d+)\]", lambda found: f"[{following.get(int(found[1]), numbers[0])}]", text)

    def _turn_blueprint(self, value: dict[str, Any]) -> dict[str, Any]:
        for driver in value["coreDrivers"]:
            driver["description"] = self._turn_text(driver["description"])
            if self.mode == ScriptedMode.MISCITED:
                numbers = self._numbers
                driver["evidenceRefs"] = [
                    numbers[(numbers.index(ref) + 1) % len(numbers)] for ref in driver["evidenceRefs"] if ref in numbers
                ]
        for scenario in value["scenarios"]:
            for name in ("assumptions", "outcomes"):
                scenario[name] = [self._turn_text(text) for text in scenario[name]]
        if self.mode == ScriptedMode.SWAPPING:
            value["relationships"] = [
                {**entry, "from": entry["to"], "to": entry["from"]} for entry in value["relationships"]
            ]
        return value


def _break_off(text: str, number: int) -> ReplyPayload:
    """The first half of an answer, up to the middle of a sentence, and the reason that a server gives for that."""
    cut = text[: len(text) // 2]
    if re.match(r"\s*(?:\[\d+\])*[。.！？\n\"]", text[len(cut) :]) or cut.endswith(tuple("。.！？]\n ")):
        cut = cut.rstrip("。.！？]\n 0123456789[")[:-_MIN_CUT_CHARS]
    pieces = re.split(r"[。！？\n\"]|\.(?=\s)", cut)
    fragment = _strip_sentence(pieces[-1])
    lies = (Lie(LieKind.CUT_OFF, fragment),) if len(fragment) >= _MIN_CHARS else ()
    return ReplyPayload(cut, finish_reason="content_filter" if number % 3 == 2 else "length", lies=lies)


def _mistype_call(call: ScriptedToolCall) -> ScriptedToolCall:
    if call.name != "save_results_batch":
        return call
    items = [{**item, "type": _PERSONNEL} for item in call.arguments["items"]]
    return ScriptedToolCall(call.name, {"items": items})


def _strip_sentence(text: str) -> str:
    return CITATION_PATTERN.sub("", text).strip(" -。.!？\n")


def _end_sentence(text: str, language: str) -> str:
    return f"{text}。" if language == "zh" else f"{text}. "
