"""The prompts for the three common jobs: brief me, answer a question, watch a site. In Chinese and English."""

from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts import Prompt
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from pydantic import Field

from monitor.mcp_server.toolset import describe_unknown_argument

Language = Annotated[Literal["zh", "en"], Field(description="The language to work in: zh or en")]

_BRIEF_ME = {
    "en": """\
Brief me on what is new{topic} in the last {days} day(s).
1. Call compose_briefing with days={days}{topic_argument} and language=en.
2. Call deadlines{deadline_topic} for what has to be done by when.
3. For each of the three most important items call read_evidence, and use only what its claims say.
Then write at most ten sentences: the most important first, each with the item's url and its date. Name what is due \
with its day. Say what was not verified, and where there is nothing new. Add nothing that the tools did not say.""",
    "zh": """\
请就最近 {days} 天的新内容{topic}作简报。
1. 调用 compose_briefing，days={days}{topic_argument}，language=zh。
2. 调用 deadlines{deadline_topic}，看哪些事项何时到期。
3. 对最重要的三条各调用一次 read_evidence，只采用其中各项陈述的内容。
然后写不超过十句话：最重要的在前，每句附上条目的网址和日期；截止日期要写明是哪一天。未经核实的要说明；没有新内容就直说。\
不得添加工具没有给出的内容。""",
}
_ANSWER = {
    "en": """\
Answer this question from what official sources say: {question}
1. Call search_items with the words of the question; with other words if nothing fits.
2. Call read_item for the items that bear on it, and read_evidence with a claim where the words matter.
3. Only if the archive does not answer it: start_research, then follow_research until it has ended.
Then answer. Each sentence names the url that bears it; quote figures and dates as the page has them. Keep your own \
assessment apart and call it one. Name what stays unanswered.""",
    "zh": """\
请依据官方来源回答这个问题：{question}
1. 用问题中的词调用 search_items；没有合适的结果就换词再查。
2. 对相关条目调用 read_item；措辞要紧的，再带 claim 调用 read_evidence。
3. 只有存档不能回答时才调用 start_research，再用 follow_research 等到结束。
然后作答。每句话注明所依据的网址；数字和日期照原页引用。自己的判断单独写，并标明是判断。没有答案的部分要写明。""",
}
_WATCH = {
    "en": """\
Set up monitoring of {url}{focus}.
1. Call list_sources with the host as text: if it is watched already, call source_health, say so and stop.
2. Call try_source with url={url}{focus_argument}. It stores nothing.
3. Show me the sections, how many entries each has, three titles with dates, and what was not read and why.
4. Ask me. Only after I agreed: add_source with the same url and the trial_id.
5. Call run_status with the run_id until the run has ended, then report what was saved and what fell back.""",
    "zh": """\
请为 {url} 设置监测{focus}。
1. 以主机名为 text 调用 list_sources；如果已在监测，就调用 source_health，说明情况并停止。
2. 调用 try_source，url={url}{focus_argument}。这一步不保存任何内容。
3. 告诉我有哪些栏目、各有多少条、三个带日期的标题，以及哪些没有读到、原因是什么。
4. 先问我。我同意之后，才用同一 url 和 trial_id 调用 add_source。
5. 用 run_id 调用 run_status，直到运行结束，再报告保存了什么、哪里降级处理。""",
}


class StrictPrompt(Prompt):
    """A prompt that says which argument is missing, or not one of its own."""

    async def render(self, arguments: dict[str, Any] | None, context: Context[Any, Any]) -> Any:
        known = {argument.name: argument.required for argument in self.arguments or ()}
        for name in arguments or {}:
            if name not in known:
                raise MCPError(code=INVALID_PARAMS, message=describe_unknown_argument(self.name, name, list(known)))
        for name, is_required in known.items():
            if is_required and not str((arguments or {}).get(name, "")).strip():
                raise MCPError(code=INVALID_PARAMS, message=f"{self.name} needs the argument '{name}'.")
        try:
            return await super().render(arguments, context)
        except ValueError as error:
            raise MCPError(code=INVALID_PARAMS, message=f"{self.name}: an argument cannot be used.") from error


def add_prompts(server: MCPServer[Any]) -> None:
    def brief_me(
        topic: Annotated[str, Field(max_length=100, description="For whom: a topic, as the tool topics names it")] = "",
        days: Annotated[int, Field(ge=1, le=366, description="So many days back, today included")] = 1,
        language: Language = "zh",
    ) -> str:
        """Tell me what is new, what matters in it and what is due, each sentence with its source."""
        is_chinese = language == "zh"
        return _BRIEF_ME[language].format(
            days=days,
            topic="" if not topic else f"（主题：{topic}）" if is_chinese else f" for the topic {topic}",
            topic_argument="" if not topic else f"，topic={topic}" if is_chinese else f", topic={topic}",
            deadline_topic="" if not topic else f"（topic={topic}）" if is_chinese else f" with topic={topic}",
        )

    def answer_question(
        question: Annotated[str, Field(max_length=2000, description="The question, in Chinese or English")],
        language: Language = "zh",
    ) -> str:
        """Answer a question from the archive, or by research, with the words of the pages that bear the answer."""
        return _ANSWER[language].format(question=question)

    def watch_site(
        url: Annotated[str, Field(max_length=2000, description="The address of the site")],
        focus: Annotated[str, Field(max_length=200, description="What to look for, as 通知 or consultations")] = "",
        language: Language = "zh",
    ) -> str:
        """Try a site, show what would be read, and watch it once I agreed."""
        is_chinese = language == "zh"
        return _WATCH[language].format(
            url=url,
            focus="" if not focus else f"（关注：{focus}）" if is_chinese else f", in particular {focus}",
            focus_argument=""
            if not focus
            else f'，focus_areas=["{focus}"]'
            if is_chinese
            else f' and focus_areas=["{focus}"]',
        )

    for function in (brief_me, answer_question, watch_site):
        server.add_prompt(StrictPrompt.from_function(function))
