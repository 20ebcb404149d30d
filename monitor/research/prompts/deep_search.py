"""What the model is told when it plans a report, searches for a paragraph, and sums up what was found."""

import datetime as dt
from collections.abc import Mapping, Sequence

from monitor.domain.chat import Message
from monitor.domain.prompts import Prompt, Prompts, in_both_languages
from monitor.research.prompts.fencing import MATERIAL, fenced

_STRUCTURE_SYSTEM = in_both_languages(
    "research.structure.system",
    zh="你是政策研究的负责人，擅长把一个问题拆成结构清楚、互不重复的研究提纲。",
    en="You lead policy research and break a question down into an outline whose parts do not overlap.",
)
_STRUCTURE_USER = in_both_languages(
    "research.structure.user",
    zh="""请为下面的问题设计研究报告的结构，最多 {max_paragraphs} 段。今天是 {today}。

要求：
1. 每段有标题和说明；说明写清这一段要查明什么，需要哪些事实、数据和出处；
2. 先背景与现状，再分析，最后影响与展望；各段不重复，合起来足以回答问题；
3. 不写网址，不写问题里没有的数字和日期；
4. 只输出 JSON 数组，形如 [{"title": "标题", "content": "说明"}]，不要写别的。

{question}""",
    en="""Design the structure of a research report on the question below, {max_paragraphs} paragraphs at most. \
Today is {today}.

Rules:
1. Each paragraph has a title, and a content that says what it is to find out: which facts, figures and sources.
2. Background and present state first, then analysis, effects and outlook last; no overlaps; together they answer the \
question.
3. No web addresses, and no figures or dates that the question does not have.
4. Answer in English with a JSON array alone, as [{"title": "title", "content": "what to find out"}].

{question}""",
    required="question",
    optional="max_paragraphs today",
)
_SEARCH_SYSTEM = in_both_languages(
    "research.search.system",
    zh="你是信息检索专家，为研究报告的每一段选择最合适的检索词和检索工具。",
    en="You are an expert in finding sources and choose query and tool for each paragraph of a research report.",
)
_SEARCH_USER = in_both_languages(
    "research.search.user",
    zh="""请为下面这一段选择第一次检索用的检索词和工具。今天是 {today}。

工具：
{tools}

要求：
1. 检索词用关键词，不超过 40 字，不用 site: 之类的检索指令，不写网址；
2. 只有指定日期范围的工具才填 start_date 和 end_date；
3. 只输出 JSON 对象，形如 {"search_query": "检索词", "search_tool": "工具名", "reasoning": "一句话理由", \
"start_date": "YYYY-MM-DD", "end_date": "YYYY-MM-DD"}，不要写别的。

{material}""",
    en="""Choose query and tool of the first search for the paragraph below. Today is {today}.

Tools:
{tools}

Rules:
1. Keywords, 15 words at most; no operators such as site:, no web addresses.
2. start_date and end_date only for the tool that takes a range of dates.
3. Answer with a JSON object alone, as {"search_query": "keywords", "search_tool": "name", "reasoning": "one \
sentence", "start_date": "YYYY-MM-DD", "end_date": "YYYY-MM-DD"}.

{material}""",
    required="tools material",
    optional="today",
)
_REFLECTION_USER = in_both_languages(
    "research.reflection.user",
    zh="""下面这一段已有初稿。请找出它还缺什么（关键事实、数据、不同来源的说法、最新变化），为补上缺口选择检索词和工具。\
今天是 {today}。

工具：
{tools}

要求：
1. 检索词针对缺口，不重复 SEARCHES 里已经查过的；用关键词，不超过 40 字，不用 site: 之类的检索指令，不写网址；
2. 只有指定日期范围的工具才填 start_date 和 end_date；
3. 只输出 JSON 对象，形如 {"search_query": "检索词", "search_tool": "工具名", "reasoning": "缺什么", \
"start_date": "YYYY-MM-DD", "end_date": "YYYY-MM-DD"}，不要写别的。

{material}""",
    en="""The paragraph below has a first draft. Find out what it still lacks (key facts, figures, what other sources \
say, latest changes), and choose query and tool to fill the gap. Today is {today}.

Tools:
{tools}

Rules:
1. Aim at the gap, with no query that SEARCHES has already; keywords, 15 words at most; no operators such as site:, \
no web addresses.
2. start_date and end_date only for the tool that takes a range of dates.
3. Answer with a JSON object alone, as {"search_query": "keywords", "search_tool": "name", "reasoning": "what is \
missing", "start_date": "YYYY-MM-DD", "end_date": "YYYY-MM-DD"}.

{material}""",
    required="tools material",
    optional="today",
)
_SUMMARY_SYSTEM = in_both_languages(
    "research.summary.system",
    zh="你是研究报告的撰稿人，只写有出处的内容。",
    en="You write research reports and state only what your sources say.",
)
_SUMMARY_USER = in_both_languages(
    "research.summary.user",
    zh="""请根据 RESULTS 里的检索结果撰写这一段，约 300 至 600 字。

要求：
1. 一句只说一件事，并在句号之前用方括号注明依据的结果编号，例如：……增长了两成[1][3]。
2. 只写所注结果的正文里有的内容，尽量用正文的说法；标题行里的日期和网址只供辨别来源，不作依据；
3. 数字、日期、文号以及书名号和引号里的名称照抄正文，正文没有的一概不写，也不自行计算；
4. 有多个来源时互相印证，说法不同的都写出来；有用户意见（REMARK）就按它取舍；
5. 只输出 JSON 对象，形如 {"paragraph_latest_state": "……[1]。", "quotes": [{"result": 1, "quote": \
"从该结果正文逐字摘出的原句"}]}，quotes 每个结果最多两条，不要写别的。

{material}""",
    en="""Write this paragraph from the search results in RESULTS, about 150 to 300 words.

Rules:
1. Every sentence makes one point, and names the results that it rests on in square brackets before its full stop, as: \
... grew by a fifth [1][3].
2. Only what the text of the named results says, close to its words; date and address in the head of a result are for \
telling sources apart and bear nothing.
3. Figures, dates, document numbers and names in quotation marks exactly as the text writes them; nothing that it does \
not say, nothing calculated.
4. Where there are several sources, compare them and tell where they differ; follow the reader's remark (REMARK) where \
there is one.
5. Answer in English with a JSON object alone, as {"paragraph_latest_state": "... [1].", "quotes": [{"result": 1, \
"quote": "a sentence copied letter by letter from that result"}]}, at most two quotes a result.

{material}""",
    required="material",
)
_REFLECTION_SUMMARY_USER = in_both_languages(
    "research.reflection_summary.user",
    zh="""STATE 是这一段的现有文字，RESULTS 是新找到的结果和现有文字引用的结果。请用新结果补充和修订这一段。

要求：
1. 保留现有文字里站得住的内容及其编号，补上新的事实、数据和不同说法，不重复；
2. 一句只说一件事，并在句号之前用方括号注明依据的结果编号，例如：……自明年起施行[2][5]。
3. 只写所注结果的正文里有的内容；数字、日期、文号以及书名号和引号里的名称照抄正文，不自行计算；\
标题行里的日期和网址不作依据；
4. 有用户意见（REMARK）就按它取舍；
5. 只输出 JSON 对象，形如 {"updated_paragraph_latest_state": "……[2]。", "quotes": \
[{"result": 2, "quote": "从该结果正文逐字摘出的原句"}]}，quotes 每个结果最多两条，不要写别的。

{material}""",
    en="""STATE is the paragraph as it stands; RESULTS are new results and those that it cites. Extend and revise the \
paragraph with what is new.

Rules:
1. Keep what is sound in the present text, with its numbers; add new facts, figures and differing accounts; no \
repetition.
2. Every sentence makes one point, and names the results that it rests on in square brackets before its full stop, as: \
... from next year [2][5].
3. Only what the text of the named results says; figures, dates, document numbers and names in quotation marks exactly \
as it writes them, nothing calculated; date and address in the head of a result bear nothing.
4. Follow the reader's remark (REMARK) where there is one.
5. Answer in English with a JSON object alone, as {"updated_paragraph_latest_state": "... [2].", "quotes": \
[{"result": 2, "quote": "a sentence copied letter by letter from that result"}]}, at most two quotes a result.

{material}""",
    required="material",
)
_CORRECTION = {
    "zh": "你的回答里没有一句能用：{fault}。请重写：每一句都注明结果编号，"
    "数字、日期和名称照抄该结果的正文，按要求的 JSON 格式输出。",
    "en": "No sentence of your answer can be used: {fault}. Write it again: every sentence names its results, figures, "
    "dates and names stand in the text of those results, and the answer is the JSON that was asked for.",
}
_FAULTS = {
    "zh": {
        "uncited": "没有注明结果编号",
        "citations": "编号不存在",
        "figures": "数字、日期或名称不在所注结果的正文里",
        "urls": "含有网址",
        "": "格式不是要求的 JSON，或内容为空",
    },
    "en": {
        "uncited": "no result is named",
        "citations": "a number names no result",
        "urls": "it holds web addresses",
        "figures": "figures, dates or names do not stand in the text of the named results",
        "": "it is not the JSON that was asked for, or says nothing",
    },
}
_NOTHING_YET = {"zh": "（还没有查到任何内容）", "en": "(nothing was found so far)"}

DEEP_SEARCH_PROMPTS: tuple[Prompt, ...] = tuple(
    prompt
    for group in (
        _STRUCTURE_SYSTEM,
        _STRUCTURE_USER,
        _SEARCH_SYSTEM,
        _SEARCH_USER,
        _REFLECTION_USER,
        _SUMMARY_SYSTEM,
        _SUMMARY_USER,
        _REFLECTION_SUMMARY_USER,
    )
    for prompt in group.values()
)
"""The wordings of plan and deep search."""


class Wording:
    """The messages of plan and deep search, in one language, by the wordings that hold."""

    def __init__(self, language: str, prompts: Prompts, today: dt.date) -> None:
        self._language = language
        self._prompts = prompts
        self._today = today.isoformat()

    def structure(self, question: str, *, max_paragraphs: int) -> list[Message]:
        """Asks for the structure of a report."""
        user = self._prompts.text(
            _STRUCTURE_USER[self._language],
            question=fenced("QUESTION", [question]),
            max_paragraphs=max_paragraphs,
            today=self._today,
        )
        return self._messages(_STRUCTURE_SYSTEM, user)

    def search(
        self,
        question: str,
        title: str,
        content: str,
        tools: Mapping[str, str],
        *,
        state: str | None = None,
        made: Sequence[str] = (),
    ) -> list[Message]:
        """Asks for the first search of a paragraph; with its text so far (`state`), for one that fills a gap.

        `made` are the queries that were searched for already.
        """
        blocks = [fenced("QUESTION", [question]), fenced("PARAGRAPH", [title, content])]
        if state is not None:
            blocks.append(fenced("STATE", state.splitlines() or [_NOTHING_YET[self._language]]))
            blocks.append(fenced("SEARCHES", made))
        user = self._prompts.text(
            (_SEARCH_USER if state is None else _REFLECTION_USER)[self._language],
            tools="\n".join(f"- {name}: {told}" for name, told in tools.items()),
            material="\n".join(blocks),
            today=self._today,
        )
        return self._messages(_SEARCH_SYSTEM, user)

    def summary(
        self, question: str, title: str, content: str, results: Sequence[str], *, state: str, remark: str
    ) -> list[Message]:
        """Asks for a paragraph's text; where there is one (`state`), for its revision."""
        blocks = [fenced("QUESTION", [question]), fenced("PARAGRAPH", [title, content])]
        if state:
            blocks.append(fenced("STATE", state.splitlines()))
        blocks.append(fenced("RESULTS", results))
        if remark:
            blocks.append(fenced("REMARK", remark.splitlines()))
        wording = (_REFLECTION_SUMMARY_USER if state else _SUMMARY_USER)[self._language]
        user = self._prompts.text(wording, material="\n".join(blocks))
        return self._messages(_SUMMARY_SYSTEM, user)

    def correction(self, refused: Mapping[str, int]) -> Message:
        """Asks for a paragraph's text once more, saying what was wrong with its sentences."""
        words = _FAULTS[self._language]
        faults = [words[kind] for kind in refused if kind in words] or [words[""]]
        told = ("；" if self._language == "zh" else "; ").join(faults)
        return Message(role="user", content=_CORRECTION[self._language].format(fault=told))

    def _messages(self, system: Mapping[str, Prompt], user: str) -> list[Message]:
        said = self._prompts.text(system[self._language]).rstrip() + MATERIAL[self._language]
        return [Message(role="system", content=said), Message(role="user", content=user)]
