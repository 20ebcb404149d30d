"""What the model is told when it writes the report, and when it mends sentences of it."""

from collections.abc import Mapping, Sequence

from monitor.domain.chat import Message
from monitor.domain.prompts import Prompt, Prompts, in_both_languages
from monitor.research.prompts.fencing import MATERIAL, fenced
from monitor.research.shapes import ModelBlueprint, Note

_QUOTE_CHARS, _SUMMARY_CHARS, _MOST_QUOTES = 300, 500, 4

_REPORT_SYSTEM = in_both_languages(
    "research.report.system",
    zh="你是咨询公司的研究报告主笔，为企业高管撰写有据可查的研究报告。",
    en="You are the lead writer of a consultancy; in your reports for executives every claim has its source.",
)
_REPORT_USER = in_both_languages(
    "research.report.user",
    zh="""请根据下面的材料撰写研究报告，用 Markdown 输出。OUTLINE 是各段的标题和小结，NOTES 是编号的笔记及原文摘录。

要求：
1. 先写“## 执行摘要”，三到五句；然后 OUTLINE 的每一段各成一节，用它的标题作二级标题，一段也不遗漏；
2. 每一句都在句号之前用方括号注明依据的笔记编号，例如：……自明年起施行[1][3]。没有笔记支持的话不写，过渡句也不写；
3. 数字、日期、文号以及书名号和引号里的名称照抄所注笔记的摘录；摘录里没有的一概不写，不自行计算，不统计条目数量；
4. 同类数据较多时可以用表格，每一行都在最后一格注明编号；不重复同一句话；
5. 不写报告总标题、参考来源、时间线和网址，这些由程序补上；有用户意见（REMARK）就按它取舍；
6. 只输出报告正文，不要代码围栏，不要开场白。

{material}""",
    en="""Write the research report from the material below, as Markdown. OUTLINE has the title and summary of each \
paragraph, NOTES are numbered notes with excerpts.

Rules:
1. Begin with "## Executive summary", three to five sentences; then one section for each paragraph of OUTLINE, with \
its title as heading of level 2, none left out.
2. Every sentence names the notes that it rests on in square brackets before its full stop, as: ... from next year \
[1][3]. Write nothing that no note supports, and no linking sentences.
3. Figures, dates, document numbers and names in quotation marks exactly as the excerpts of the named notes write \
them; nothing that they do not say, nothing calculated, no counting of items.
4. Where there are many figures of a kind, use a table, each row with its numbers in the last cell; no sentence twice.
5. No title of the whole, no list of sources, no timeline, no web addresses: the program adds these. Follow the \
reader's remark (REMARK) where there is one.
6. Answer in English with the report alone: no code fence, no preamble.

{material}""",
    required="material",
)
_REWRITE_USER = in_both_languages(
    "research.rewrite.user",
    zh="""SENTENCES 里的句子与笔记不符，或者没有注明出处。请只依据 NOTES 逐句改写。

要求：
1. 数字、日期、文号和名称照抄所注笔记的摘录，摘录里没有的删去，不自行计算；
2. 每句在句号之前用方括号注明笔记编号；笔记说不出这句话的，给空字符串；
3. 只输出 JSON 字符串数组，与原句一一对应，形如 ["改写后的句子[2]。", ""]，不要写别的。

{material}""",
    en="""The sentences in SENTENCES do not agree with the notes, or name no source. Write each again from NOTES alone.

Rules:
1. Figures, dates, document numbers and names exactly as the excerpts of the named notes write them; leave out what \
they do not say; calculate nothing.
2. Each sentence names its notes in square brackets before its full stop; an empty string where no note can say it.
3. Answer in English with a JSON array of strings alone, one for each sentence, as ["The sentence written again [2].", \
""].

{material}""",
    required="material",
)

REPORTING_PROMPTS: tuple[Prompt, ...] = tuple(
    prompt for group in (_REPORT_SYSTEM, _REPORT_USER, _REWRITE_USER) for prompt in group.values()
)
"""The wordings of the report."""


class ReportWording:
    """The messages of the report, in one language, by the wordings that hold."""

    def __init__(self, language: str, prompts: Prompts) -> None:
        self._language = language
        self._prompts = prompts

    def report(
        self,
        question: str,
        sections: Sequence[tuple[str, str]],
        notes: Sequence[Note],
        *,
        model: ModelBlueprint,
        remark: str,
    ) -> list[Message]:
        """Asks for the report; `sections` are the paragraphs' titles and their summaries, which cite notes from 1."""
        outline = [line for title, text in sections for line in (f"## {title}", *text.splitlines())]
        blocks = [fenced("QUESTION", [question]), fenced("OUTLINE", outline), fenced("NOTES", _numbered(notes))]
        if lines := _model_lines(model):
            blocks.append(fenced("MODEL", lines))
        if remark:
            blocks.append(fenced("REMARK", remark.splitlines()))
        return self._messages(_REPORT_USER, blocks)

    def rewrite(self, question: str, sentences: Sequence[str], notes: Mapping[int, Note]) -> list[Message]:
        """Asks for sentences again, each from these notes by their numbers."""
        numbered = [f"{number}. {sentence}" for number, sentence in enumerate(sentences, start=1)]
        lines = [_line(number, note) for number, note in notes.items()]
        blocks = [fenced("QUESTION", [question]), fenced("SENTENCES", numbered), fenced("NOTES", lines)]
        return self._messages(_REWRITE_USER, blocks)

    def _messages(self, wording: Mapping[str, Prompt], blocks: Sequence[str]) -> list[Message]:
        system = self._prompts.text(_REPORT_SYSTEM[self._language]).rstrip() + MATERIAL[self._language]
        user = self._prompts.text(wording[self._language], material="\n".join(blocks))
        return [Message(role="system", content=system), Message(role="user", content=user)]


def _numbered(notes: Sequence[Note]) -> list[str]:
    return [_line(number, note) for number, note in enumerate(notes, start=1)]


def _line(number: int, note: Note) -> str:
    quotes = " ".join(f"“{one.quote[:_QUOTE_CHARS]}”" for one in note.evidence[:_MOST_QUOTES])
    return f"[{number}] {note.topic} | {note.summary[:_SUMMARY_CHARS]} | {quotes}"


def _model_lines(model: ModelBlueprint) -> list[str]:
    lines = [f"driver: {driver.name} – {driver.description}" for driver in model.core_drivers]
    lines += [
        f"relation: {relationship.from_} -> {relationship.to} ({relationship.type})"
        for relationship in model.relationships
    ]
    return lines + [
        f"scenario: {scenario.name} – {'; '.join([*scenario.assumptions, *scenario.outcomes])}"
        for scenario in model.scenarios
    ]
