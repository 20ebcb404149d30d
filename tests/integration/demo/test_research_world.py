"""The small web for researches: pages on hosts with names of their own, and a search over them."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.research_world import KEY_VARIABLE, ResearchWorld
from monitor.bootstrap import App, open_app
from monitor.config.model import Settings
from monitor.db.migrate import upgrade

SCALE = "http://energy.example/art/2026/10/12/art_101.html"


@pytest.fixture
def world() -> ResearchWorld:
    return ResearchWorld()


@pytest.fixture
async def app(world: ResearchWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[App]:
    monkeypatch.setenv(KEY_VARIABLE, "a-key-for-the-test")
    async with world.serve() as values:
        settings = Settings(data_dir=tmp_path, database_url=f"sqlite:///{tmp_path / 'monitor.db'}", **values)
        upgrade(settings.database_url)
        async with open_app(settings) as app:
            yield app


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("新型储能发展情况 前三季度", SCALE),
        ("energy storage market participation final rule", "http://agency.example/rules/2291.html"),
        ("Energy storage outlook to 2030", "http://scenarios.example/files/outlook-2030.pdf"),
    ],
    ids=["zh", "en", "pdf"],
)
async def test_the_search_finds_pages_by_their_words(app: App, world: ResearchWorld, query: str, first: str) -> None:
    found = await app.search.search({"query": query, "max_results": 5})
    assert found.errors == []
    assert found.items[0].url == first
    assert world.search_requests[0]["query"] == query


async def test_the_search_keeps_to_a_range_of_days(app: App) -> None:
    query: dict[str, Any] = {"query": "储能", "time_range": {"start": "2026-11-01", "end": "2026-11-30"}}
    found = await app.search.search(query)
    assert {str(item.published_at)[:7] for item in found.items} == {"2026-11"}


async def test_pages_are_reached_by_names_that_only_this_web_knows(world: ResearchWorld) -> None:
    async with world.serve() as values, httpx.AsyncClient(proxy=values["network"]["proxy"]) as client:
        answers = {url: await client.get(url) for url in world.urls}
        gone = await client.get("http://daily.example/2026/10/02/gone.html")
        assert (await client.get("http://wall.example/report/2026.html")).status_code == 403
        assert (await client.get("http://evil.example/steal")).status_code == 404
    assert {answer.status_code for answer in answers.values()} == {200}
    assert all(answer.content == world.get_body(url) for url, answer in answers.items())
    assert len(answers) >= 14
    assert gone.status_code == 404
    assert world.unknown_urls == ["http://evil.example/steal"]


def test_what_is_appended_stands_in_the_text_of_the_page(world: ResearchWorld) -> None:
    world.append_markup(SCALE, "<p>补充一句。</p>")
    assert "<p>补充一句。</p>\n</div>" in world.get_body(SCALE).decode()
    with pytest.raises(ValueError, match="no text"):
        world.append_markup("http://wall.example/report/2026.html", "<p>x</p>")
