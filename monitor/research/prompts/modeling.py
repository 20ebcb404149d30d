"""What the model is told when it makes a model of the topic out of the notes."""

from collections.abc import Sequence

from monitor.domain.chat import Message
from monitor.domain.prompts import OURS, Prompt, Prompts, in_both_languages
from monitor.research.prompts.fencing import MATERIAL, fenced
from monitor.research.shapes import Note

NOTES_CHARS = 24_000
"""How much of all notes together the prompt shows."""

_SUMMARY_SHARE = 0.6
_TOPIC_CHARS = 80

_SYSTEM = in_both_languages(
    "research.modeling.system",
    zh="你是策略分析师，擅长从证据中提炼驱动因素及其相互作用，不下证据之外的结论。",
    en="You are a strategy analyst who finds the drivers of a topic and how they act on each other, and you conclude "
    "nothing beyond the evidence.",
)
_USER = in_both_languages(
    "research.modeling.user",
    zh="""请根据下面的笔记，为这个问题建立因果模型。

要求：
1. 驱动因素 3 至 6 个，名称简短且各不相同；每个都在 evidenceRefs 里列出所依据的笔记编号（从 0 起）；
2. 说明、情景和指标里的数字、日期照抄笔记原文，笔记里没有的不写；
3. 关系只连接已列出的驱动因素，from 和 to 写它们的名称，type 用一个词（如 influence、constrain、enable）；
4. 情景写清前提和结果，没有依据就留空；指标的 estimate 只写数字，unit 照抄笔记里的单位；
5. 用中文；不写网址；只输出 JSON 对象，形如
{"modelType": "causal_graph", "coreDrivers": [{"name": "", "description": "", "evidenceRefs": [0]}], \
"relationships": [{"from": "", "to": "", "type": "influence"}], \
"scenarios": [{"name": "", "assumptions": [""], "outcomes": [""]}], \
"metrics": [{"name": "", "estimate": 0, "unit": ""}]}

{material}""",
    en="""Make a causal model for the question out of the notes below.

Rules:
1. Three to six drivers with short names, each a different one; each lists in evidenceRefs the numbers of the notes \
that it rests on (from 0).
2. Figures and dates in descriptions, scenarios and metrics exactly as the notes write them; none that they do not have.
3. Relationships only between these drivers: from and to are their names, type is one word (as influence, constrain, \
enable).
4. A scenario says what it assumes and what comes of it; none without a basis. A metric's estimate is a number alone, \
its unit as the notes write it.
5. In English, no web addresses; answer with a JSON object alone, as
{"modelType": "causal_graph", "coreDrivers": [{"name": "", "description": "", "evidenceRefs": [0]}], \
"relationships": [{"from": "", "to": "", "type": "influence"}], \
"scenarios": [{"name": "", "assumptions": [""], "outcomes": [""]}], \
"metrics": [{"name": "", "estimate": 0, "unit": ""}]}

{material}""",
    required="material",
)
_AGAIN = {
    "zh": "上一次的回答不能用：没有一个驱动因素带有存在的笔记编号，或者不是 JSON 对象。请重新作答，只输出 JSON 对象。",
    "en": "That answer cannot be used: no driver has the number of a note that exists, or it is no JSON object. Answer "
    "again with the JSON object alone.",
}

MODELING_PROMPTS: tuple[Prompt, ...] = (*_SYSTEM.values(), *_USER.values())
"""The wordings of the modelling."""


def blueprint_messages(query: str, notes: Sequence[Note], language: str, *, prompts: Prompts = OURS) -> list[Message]:
    """Asks for the blueprint: the question, and a line `[0] topic | summary | “quote” …` for each note, from 0."""
    room = NOTES_CHARS // max(len(notes), 1)
    lines = [f"[{place}] {_told(note, room)}" for place, note in enumerate(notes)]
    material = "\n".join([fenced("QUESTION", [query]), fenced("NOTES", lines)])
    user = prompts.text(_USER[language], material=material)
    system = prompts.text(_SYSTEM[language]).rstrip() + MATERIAL[language]
    return [Message(role="system", content=system), Message(role="user", content=user)]


def again(language: str) -> Message:
    """Asks once more, saying what was wrong."""
    return Message(role="user", content=_AGAIN[language])


def _told(note: Note, room: int) -> str:
    """A note in so many characters: its quotes as far as there is room beside its summary, none of them cut."""
    topic, summary = note.topic[:_TOPIC_CHARS], note.summary[: int(_SUMMARY_SHARE * room)]
    left = room - len(topic) - len(summary)
    quotes: list[str] = []
    for one in note.evidence:
        left -= len(one.quote) + 3
        if left >= 0:
            quotes.append(f"“{one.quote}”")
    return f"{topic} | {summary} | {' '.join(quotes)}"
