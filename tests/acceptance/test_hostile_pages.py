"""Pages that are made to keep their readers busy: the service answers, the other sources' runs finish."""

import asyncio
import datetime as dt
import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import httpx
import pytest

from benchmarks.scripted_model.server import ScriptedModel
from monitor.demo.serving import LoopbackRequest, LoopbackResponse, serve_loopback

MAX_ANSWER_S = 2.0  # where nothing else is at work: a freeze lasts for minutes, and a busy machine is no freeze
RUNS_END_WITHIN_S = 240
TODAY = dt.datetime.now(ZoneInfo("Asia/Shanghai")).date()
ENDED = {"succeeded", "degraded", "failed", "cancelled"}
PLAIN = "能源总署今天发布通知，自2026年7月1日起施行，涉及12家企业。各地应当在三个月之内完成备案，并报送材料。"


def get_answer_limit_s() -> float:
    """Return the limit on this machine now: processes that wait for a processor lengthen every answer."""
    return MAX_ANSWER_S * max(1.0, max(os.getloadavg()[:2]) / (os.cpu_count() or 1))


def build_list(titles: list[str]) -> str:
    rows = "".join(
        f'<li><a href="/n/{number}.html">{title}</a><span>{TODAY}</span></li>' for number, title in enumerate(titles)
    )
    return f"<html><head><title>通知公告</title></head><body><ul class='list'>{rows}</ul></body></html>"


def build_article(text: str) -> str:
    return f"<html><body><h1>关于印发管理办法的通知</h1><div class='article'><p>{text}</p></div></body></html>"


TITLES = [f"关于印发第{number}批管理办法的通知" for number in range(6)]
HOSTILE: dict[str, tuple[str, str]] = {
    "dates": (build_list(TITLES[:2]), build_article(PLAIN + "2024年1月、" * (586_000 // 12))),
    "titles": (build_list([f"{number} " + "Nov 1 " * (119_000 // 6) for number in range(6)]), build_article(PLAIN)),
    "nested": ("<html><body>" + "<div>" * 200_000 + build_list(TITLES), "<div>" * 200_000 + build_article(PLAIN)),
    "lists": (build_list(TITLES) + "<ul><li>" * 16_000, build_article(PLAIN) + "<ul><li>" * 16_000),
    "addresses": (build_list(TITLES[:2]), build_article(PLAIN + "http://a.b/" * (100_000 // 11))),
}
GOOD = {f"good{number}": (build_list(TITLES), build_article(PLAIN)) for number in range(2)}


@asynccontextmanager
async def serve_site(front: str, article: str) -> AsyncIterator[str]:
    def respond(request: LoopbackRequest) -> LoopbackResponse:
        path = urlsplit(request.target).path
        if path == "/robots.txt":
            return LoopbackResponse(404, "text/plain")
        body = article if path.startswith("/n/") else front
        return LoopbackResponse(200, "text/html; charset=utf-8", body.encode())

    async with serve_loopback(respond) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
async def hostile(workplace: Any, free_port: int) -> AsyncIterator[Any]:
    """A workplace whose sources are hostile sites and good ones, each on a host of its own, and a model."""
    async with AsyncExitStack() as stack:
        sites = {
            name: await stack.enter_async_context(serve_site(*pages)) for name, pages in {**HOSTILE, **GOOD}.items()
        }
        model = await stack.enter_async_context(ScriptedModel(latency_s=0.01).serve())
        workplace.configure(
            network={"allowed_private_hosts": [urlsplit(url).netloc for url in (*sites.values(), model)]},
            llm={"base_url": model, "timeout_s": 60},
            pages={"delay_s": 0, "render": "never"},
            web={"port": free_port},
            sources=[
                {"name": name, "url": url, "sections": [{"name": "通知公告", "url": f"{url}/list.html"}]}
                for name, url in sites.items()
            ],
        )
        yield workplace


class Watch:
    """Asks `/healthz` again and again, and remembers the slowest answer."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self.slowest_s = 0.0
        self.answers = 0

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._ask())
        try:
            yield
            assert not task.done(), task.exception()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _ask(self) -> None:
        while True:
            began = time.monotonic()
            answer = await self._client.get("/healthz")
            assert answer.status_code == 200
            self.slowest_s = max(self.slowest_s, time.monotonic() - began)
            self.answers += 1
            await asyncio.sleep(0.05)


async def wait_for_runs(client: httpx.AsyncClient, run_ids: Mapping[str, str]) -> dict[str, str]:
    """Return how the runs ended, by source; whatever has not ended in time is as it is then."""
    states: dict[str, str] = {}
    deadline = time.monotonic() + RUNS_END_WITHIN_S
    while time.monotonic() < deadline and not (len(states) == len(run_ids) and set(states.values()) <= ENDED):
        await asyncio.sleep(0.2)
        states = {
            name: (await client.get(f"/api/v1/runs/{run_id}")).json()["status"] for name, run_id in run_ids.items()
        }
    return states


async def start_runs(client: httpx.AsyncClient, names: list[str]) -> dict[str, str]:
    answer = await client.post("/api/v1/runs", json={"sources": names})
    assert answer.status_code == 202, answer.text
    return {run["source"]: run["run_id"] for run in answer.json()["runs"]}


@pytest.mark.timeout(600)
async def test_hostile_sources_freeze_neither_the_service_nor_the_runs_of_others(hostile: Any, serve: Any) -> None:
    service = await serve()
    token = (await hostile.monitor("users", "token", "tester", "--role", "editor")).out.strip()
    signed_in = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=service.address, headers=signed_in, timeout=60) as client:
        watch = Watch(client)
        async with watch.watching():
            bad = await start_runs(client, list(HOSTILE))
            good = await start_runs(client, list(GOOD))
            ended = await wait_for_runs(client, good)
            assert ended == dict.fromkeys(GOOD, "succeeded")
            # A run that is in the midst of a hostile page can be stopped.
            cancelled = await client.post(f"/api/v1/runs/{bad['dates']}/cancel")
            assert cancelled.status_code in (200, 202, 409), cancelled.text
            ended = await wait_for_runs(client, bad)
            assert set(ended.values()) <= ENDED, ended
        assert watch.answers > 20
        assert watch.slowest_s < get_answer_limit_s()
        metrics = (await client.get("/metrics")).text
    blocked_s = float(metrics.partition("\nmonitor_loop_blocked_seconds_total ")[2].split("\n")[0])
    assert blocked_s < 5 * get_answer_limit_s(), "in 0.1.0 it was 11 minutes"


@pytest.mark.soak
@pytest.mark.timeout(600)
async def test_a_service_that_was_killed_within_a_hostile_page_does_not_freeze_again(hostile: Any, serve: Any) -> None:
    service = await serve()
    token = (await hostile.monitor("users", "token", "tester", "--role", "editor")).out.strip()
    signed_in = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=service.address, headers=signed_in, timeout=60) as client:
        begun = await start_runs(client, ["dates"])
        async with asyncio.timeout(60):
            while not (await client.get("/api/v1/runs/" + begun["dates"])).json()["items"]:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    service.process.kill()
    await service.process.wait()
    service = await serve()
    async with httpx.AsyncClient(base_url=service.address, headers=signed_in, timeout=60) as client:
        watch = Watch(client)
        async with watch.watching():
            ended = await wait_for_runs(client, begun)
        assert set(ended.values()) <= ENDED, ended
        assert watch.slowest_s < get_answer_limit_s()
