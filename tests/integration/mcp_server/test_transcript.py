"""The three prompts, played against the sample bureau by an assistant that does what they say, step by step.

What was asked and answered is docs/users/mcp-transcript.md and its Chinese twin; `UPDATE_TRANSCRIPT=1` writes it anew.
"""

import datetime as dt
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client

from monitor.bootstrap import open_app
from monitor.config.model import Settings
from monitor.demo.site import SampleSite
from monitor.mcp_server.server import open_server
from monitor.services.audit import ASSISTANT

TRANSCRIPT = Path(__file__).parents[3] / "docs" / "users" / "mcp-transcript.md"
TODAY = dt.date(2026, 2, 3)
SITE = "http://bureau.example"
MAX_LINES = 14
MAX_LINE_CHARS = 160
HEAD = {
    "": """\
# Transcript of the prompts

[中文](mcp-transcript.zh.md)

An assistant follows each prompt step by step, against the sample bureau of the demo on 3 February 2026. Answers are
shown up to their first lines; the words in which a model would report to its person are not part of it. A test plays
this again and fails where an answer differs.
""",
    ".zh": """\
# 提示的实录

[English](mcp-transcript.md)

助手逐步执行每个提示，对象是演示用的示例机构，日期为 2026 年 2 月 3 日。回答只显示前几行；
模型最后向人报告的措辞不在其中。测试会重新执行一遍，回答不一致就算失败。
""",
}


class February:
    def now(self) -> dt.datetime:
        return dt.datetime(2026, 2, 3, 8, tzinfo=dt.UTC)


@dataclass
class Played:
    """A client whose calls are written down; ids of runs and trials are chance, and so is the port."""

    client: Client
    base: str
    lines: list[str] = field(default_factory=list)

    async def take_prompt(self, name: str, **arguments: str) -> str:
        prompt = await self.client.get_prompt(name, arguments | {"language": "en"})
        text = str(prompt.messages[0].content.text)
        given = ", ".join(f"{key}={value}" for key, value in arguments.items())
        self.lines += ["", f"## {name}", "", f"`{name}` ({self._clean(given)}):", "", "```text"]
        self.lines += [*self._clean(text).splitlines(), "```"]
        return text

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        answer = await self.client.call_tool(name, arguments)
        text = "\n".join(block.text for block in answer.content)
        assert not answer.is_error, text
        given = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
        shown = [line[:MAX_LINE_CHARS].rstrip() for line in self._clean(text).splitlines()]
        rest = [f"… {len(shown) - MAX_LINES} more lines"] if len(shown) > MAX_LINES else []
        self.lines += ["", f"`{name}` ({self._clean(given)})", "", "```text", *shown[:MAX_LINES], *rest, "```"]
        return dict(answer.structured_content or {})

    def _clean(self, text: str) -> str:
        text = text.replace(self.base, SITE).replace(self.base.removeprefix("http://"), SITE.removeprefix("http://"))
        text = text.replace("](<", "] (<")  # the page is no place for links to a made-up site
        text = re.sub(r"\bs1-\d{8}T\d{6}Z-[0-9a-f]+\b", "RUN", text)
        text = re.sub(r"(?<=trial_id=')[^']+|(?<=Trial )[\w-]{16}(?=:)", "TRIAL", text)
        return re.sub(r"\b[0-9a-f]{64}\b", "SHA-256", re.sub(r"(?<=[Rr]ecord )[^:\s,]+", "RECORD", text))


@asynccontextmanager
async def play(sqlite_url: str, tmp_path: Path) -> AsyncIterator[Played]:
    site = SampleSite("bureau", today=TODAY)
    async with site.serve() as base:
        settings = Settings(
            data_dir=tmp_path,
            database_url=sqlite_url,
            pages={"delay_s": 0},
            network={"allowed_private_hosts": [base.removeprefix("http://")]},
        )
        async with open_app(settings) as app:
            app.clock = February()
            async with open_server(app, ASSISTANT) as server, Client(server) as client:
                yield Played(client, base)


async def test_the_three_prompts_lead_to_the_recorded_answers(sqlite_url: str, tmp_path: Path) -> None:
    async with play(sqlite_url, tmp_path) as played:
        asked = await played.take_prompt("watch_site", url=played.base, focus="通知")
        assert steps_of(asked) == ["list_sources", "source_health", "try_source", "add_source", "run_status"]
        assert (await played.call("list_sources", text="bureau"))["sources"] == []
        trial = await played.call("try_source", url=played.base, focus_areas=["通知"])
        assert trial["would_save"]
        added = await played.call("add_source", url=played.base, focus_areas=["通知"], trial_id=trial["trial_id"])
        run = await played.call("run_status", run_id=added["run_id"], wait_s=120)
        assert len(run["items"]) == trial["would_save"]

        asked = await played.take_prompt("brief_me", days="7")
        assert steps_of(asked) == ["compose_briefing", "deadlines", "read_evidence"]
        briefing = await played.call("compose_briefing", days=7, language="en")
        assert briefing["items"] == trial["would_save"]
        await played.call("deadlines")
        best = await played.call("search_items", limit=1)
        proof = await played.call("read_evidence", item_id=best["items"][0]["id"])
        assert proof["evidence"]

        asked = await played.take_prompt("answer_question", question="哪些通知与储能有关？")
        assert steps_of(asked) == ["search_items", "read_item", "read_evidence", "start_research", "follow_research"]
        found = await played.call("search_items", query="储能", limit=3)
        assert found["items"]
        await played.call("read_item", item_id=found["items"][0]["id"], max_chars=300)

    for suffix, head in HEAD.items():
        file = TRANSCRIPT.with_suffix(f"{suffix}.md")
        text = head + "\n".join(played.lines) + "\n"
        if os.environ.get("UPDATE_TRANSCRIPT"):
            file.write_text(text, encoding="utf-8")
        assert text == file.read_text(encoding="utf-8"), "play it with UPDATE_TRANSCRIPT=1 and read what changed"


def steps_of(prompt: str) -> list[str]:
    """The tools that a prompt names, in its order."""
    return re.findall(r"\b(?:[a-z]+_[a-z]+|deadlines)\b(?=[ ,.;])(?<!focus_areas)(?<!trial_id)(?<!run_id)", prompt)
