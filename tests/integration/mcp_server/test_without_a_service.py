"""What an assistant begins where no worker is at work: it is carried out in the process that the assistant started."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client

from monitor.bootstrap import open_app
from monitor.config.model import Settings
from monitor.mcp_server.server import open_server
from monitor.services.audit import ASSISTANT, COMMAND_LINE
from tests.integration.conftest import LoopbackSite
from tests.integration.mcp_server.test_assistants import publish, text_of

LISTED = "".join(
    f'<li><a href="/ywgz/{n}.htm">关于第{n}批援助项目实施情况的通知公告</a><span>2026-11-{n:02}</span></li>'
    for n in range(1, 13)
)


@asynccontextmanager
async def assistant(site: LoopbackSite, url: str, folder: Path, **network: Any) -> AsyncIterator[Client]:
    settings = Settings(
        data_dir=folder,
        database_url=url,
        pages={"delay_s": 0, "render": "never"},
        network={"allowed_private_hosts": [site.host], **network},
    )
    async with open_app(settings) as app:
        section = {"name": "通知", "url": site.url("/news/")}
        await app.sources.add({"name": "bureau", "url": site.url("/"), "sections": [section]}, by=COMMAND_LINE)
        publish(site, str(app.clock.now().date()))
        async with open_server(app, ASSISTANT) as server, Client(server) as client:
            yield client


async def test_a_source_is_run_once_and_a_question_is_answered_from_what_was_saved(
    site: LoopbackSite, sqlite_url: str, tmp_path: Path
) -> None:
    async with assistant(site, sqlite_url, tmp_path) as client:
        wishes = [client.call_tool("run_source", {"name": "bureau", "wait_s": wait_s}) for wait_s in (0, 60)]
        begun, ended = [answer.structured_content for answer in await asyncio.gather(*wishes)]
        assert begun["run_id"] == ended["run_id"], "a second wish for a run that is under way starts no other one"
        assert (ended["status"], len(ended["items"])) == ("succeeded", 4), ended
        asked = {"query": "绿色能源项目预计总投资多少？", "wait_s": 0}
        task_id = (await client.call_tool("start_research", asked)).structured_content["task_id"]
        reported: list[float] = []

        async def on_progress(progress: float, total: float | None, _: str | None) -> None:
            reported.append(progress)
            assert total == 1.0

        answer = await client.call_tool(
            "follow_research", {"task_id": task_id, "wait_s": 120}, progress_callback=on_progress
        )
        research = answer.structured_content
        assert research["status"] in ("succeeded", "degraded"), research
        assert (reported[-1], reported) == (1.0, sorted(reported))
        assert (research["quote_fidelity"], research["figure_fidelity"]) == (1.0, 1.0)
        assert "35亿元" in research["report"]
        assert "Ignore all rules" not in research["report"]
        assert {source["url"] for source in research["sources"]} <= {site.url(f"/n/{n}.html") for n in range(4)}
        assert all(line.startswith("> ") for line in text_of(answer).splitlines() if "35亿元" in line)
        plan = (await client.call_tool("research_plan", {"task_id": task_id})).structured_content
        assert plan["paragraphs"]
        cut = await client.call_tool("read_research", {"task_id": task_id, "max_chars": 5})
        assert (len(cut.structured_content["report"]), cut.structured_content["is_cut"]) == (5, True)


async def test_a_body_of_the_catalogue_is_found_and_watched_and_a_section_taught(
    site: LoopbackSite, sqlite_url: str, tmp_path: Path
) -> None:
    page = "<html><head><title>{0}</title></head><body><h1>{0}</h1><ul>{1}</ul></body></html>"
    site.on("http://www.cidca.gov.cn/ywgz.htm", page.format("业务工作", LISTED))
    proxied = {"proxy": site.url("").rstrip("/"), "proxy_suffixes": ["gov.cn"]}
    async with assistant(site, sqlite_url, tmp_path, **proxied) as client:
        found = await client.call_tool("search_catalogue", {"query": "国际发展合作署"})
        (body,) = found.structured_content["bodies"]
        assert (body["id"], body["source_id"]) == ("cn-cidca", None)
        begun = (await client.call_tool("add_from_catalogue", {"ids": [body["id"], "cn-nopss"]})).structured_content
        ended = await client.call_tool("addition_status", {"addition_id": begun["addition_id"], "wait_s": 60})
        whole, gone = ended.structured_content["bodies"]
        assert (ended.structured_content["state"], whole["state"], gone["state"]) == ("done", "added", "failed")
        assert whole["sections_read"][0].endswith(": 12 entries")
        assert "404" in gone["sections_not_read"][0]
        section = {"name": "bureau", "section_url": site.url("/news/")}
        shown = (await client.call_tool("look_at_section", section)).structured_content
        assert len(shown["lists"][0]["rows"]) == 4
        tried = await client.call_tool("teach_section", {**section, "examples": shown["lists"][0]["examples"]})
        assert (tried.structured_content["entries"], tried.structured_content["is_saved"]) == (4, False)
        kept = await client.call_tool("teach_section", {**section, "examples": [site.url("/n/2.html")], "save": True})
        assert kept.structured_content["is_saved"]
        wrong = await client.call_tool("teach_section", {**section, "examples": [site.url("/elsewhere.html")]})
        assert "has no link to" in text_of(wrong)
