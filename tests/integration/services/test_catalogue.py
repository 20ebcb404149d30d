"""Adding bodies of the catalogue: many at once, each with the sections that work, and the reason for the others."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from monitor.bootstrap import App, open_app
from monitor.catalogue.bodies import CatalogueFile
from monitor.config.model import Settings
from monitor.demo.site import SampleSite
from monitor.errors import Forbidden, NotFound, UsageError
from monitor.services.audit import COMMAND_LINE, Actor, AuditAction
from monitor.services.sources.catalogue import AdditionReport, CatalogueService
from monitor.vocabulary import BodyState, Role

EDITOR = Actor("anna", Role.EDITOR)
TODAY = dt.date(2026, 11, 21)
FEED = """<rss version="2.0"><channel><title>News</title>{}</channel></rss>"""
ENTRY = "<item><title>Notice {n} on grids</title><link>http://{host}/n/{n}</link></item>"


@dataclass
class Copies:
    """A catalogue of bodies whose sites are copies of the sample ministry, and the program that may ask them."""

    app: App
    service: CatalogueService
    ids: list[str]


def describe_body(number: int, base_url: str, *paths: str, **more: Any) -> dict[str, Any]:
    return {
        "id": f"xx-{number}",
        "name": f"第{number}署",
        "country": "CN",
        "level": "central",
        "url": f"{base_url}/",
        "language": "zh-Hans",
        "topics": ["energy"],
        "sections": [{"name": path.strip("/"), "url": base_url + path} for path in paths],
        "seen_in": ["owner/repo"],
        "confidence": "high",
        **more,
    }


@pytest.fixture
async def open_copies(
    tmp_path: Path, sqlite_url: str
) -> AsyncIterator[Callable[[list[dict[str, Any]]], Awaitable[Copies]]]:
    """Give it the bodies: their hosts may be asked."""
    async with AsyncExitStack() as stack:

        async def open_(bodies: list[dict[str, Any]]) -> Copies:
            settings = Settings(
                data_dir=tmp_path,
                database_url=sqlite_url,
                pages={"delay_s": 0, "render": "never"},
                network={"allowed_private_hosts": [urlsplit(body["url"]).netloc for body in bodies]},
            )
            app = await stack.enter_async_context(open_app(settings))
            topics = [{"slug": "energy", "zh": "能源与电力", "en": "Energy and power"}]
            catalogue = CatalogueFile.model_validate({"provenance": "copies", "topics": topics, "bodies": bodies})
            service = CatalogueService(sources=app.sources, clock=app.clock, loaders=app.loaders, catalogue=catalogue)
            app.push_close(service.close)
            return Copies(app, service, [body["id"] for body in bodies])

        yield open_


def list_states(report: AdditionReport) -> dict[str, int]:
    return {state: count for state in BodyState if (count := report.count(state))}


async def test_sixty_bodies_are_added_at_once_and_each_section_that_fails_says_why(
    open_copies: Callable[[list[dict[str, Any]]], Awaitable[Copies]],
) -> None:
    whole, partly, shut = (SampleSite(today=TODAY) for _ in range(3))
    partly.faults["/rsrm/"] = 403
    shut.faults["/"] = 403
    async with AsyncExitStack() as stack:

        async def serve(site: SampleSite) -> str:
            return await stack.enter_async_context(site.serve())

        bodies = [describe_body(n, await serve(whole), "/zcfg/") for n in range(35)]
        bodies += [describe_body(n, await serve(partly), "/zcfg/", "/gone/", "/rsrm/") for n in range(35, 50)]
        bodies += [describe_body(n, await serve(whole)) for n in range(50, 55)]
        bodies += [describe_body(n, await serve(shut), "/zcfg/") for n in range(55, 60)]
        bodies[54]["name"] = bodies[53]["name"]
        copies = await open_copies(bodies)
        begun = copies.service.start_adding(copies.ids, by=EDITOR, schedule="0 7 * * 1-5")
        assert begun.state == "running"
        assert list_states(begun) == {BodyState.WAITING: 60}
        async with asyncio.timeout(60):
            report = await copies.service.wait(begun.id)
    assert report.state == "done"
    assert list_states(report) == {BodyState.ADDED: 55, BodyState.FAILED: 5}
    by_id = {body.id: body for body in report.bodies}
    works, gone, refused = by_id["xx-40"].sections
    assert (works.entries > 5, works.reason) == (True, None)
    assert gone.reason is not None
    assert gone.reason.args["kind"] == "NotFound"
    assert refused.reason is not None
    assert refused.reason.args["detail"] == "http_403"
    assert by_id["xx-57"].source_id is None
    assert by_id["xx-57"].error == by_id["xx-57"].sections[0].reason

    sources = {source.name: source for source in await copies.app.sources.list_sources()}
    assert len(sources) == 55
    assert [section["name"] for section in sources["第40署"].sections] == ["zcfg"]
    assert (sources["第40署"].schedule, sources["第40署"].tags) == ("0 7 * * 1-5", ["Energy and power"])
    assert sources["第52署"].sections == [], "its home page leads to its sections"
    namesakes = [urlsplit(bodies[number]["url"]).netloc for number in (53, 54)]
    assert len(sources.keys() & {f"第53署 ({host})" for host in namesakes}) == 1, "each name once"
    recorded = await copies.app.audit.list_entries(action=AuditAction.SOURCE_ADD, limit=100)
    assert len(recorded) == 55
    assert {entry.person for entry in recorded} == {"anna"}


async def test_a_feed_is_a_section_and_a_body_that_is_watched_is_not_added_again(
    open_copies: Callable[[list[dict[str, Any]]], Awaitable[Copies]], site: Any, reply: Any
) -> None:
    entries = "".join(ENTRY.format(n=n, host=site.host) for n in range(5))
    site.on("/news.xml", reply(FEED.format(entries), headers={"content-type": "application/rss+xml"}))
    body = describe_body(1, f"http://{site.host}", "/news.xml")
    body["sections"][0]["kind"] = "feed"
    copies = await open_copies([body])
    team = await copies.app.teams.create("Energy", by=COMMAND_LINE)
    begun = copies.service.start_adding(copies.ids, by=EDITOR, team_id=team.id)
    (added,) = (await copies.service.wait(begun.id)).bodies
    assert (added.state, added.sections[0].entries) == (BodyState.ADDED, 5)
    again = copies.service.start_adding(copies.ids, by=EDITOR)
    (taken,) = (await copies.service.wait(again.id)).bodies
    assert (taken.state, taken.source_id) == (BodyState.TAKEN, added.source_id)
    (source,) = await copies.app.sources.list_sources()
    assert source.team_id == team.id
    assert (await copies.service.get("xx-1")).source_id == added.source_id


async def test_adding_can_be_stopped_and_what_was_added_stays(
    open_copies: Callable[[list[dict[str, Any]]], Awaitable[Copies]],
) -> None:
    site, slow = SampleSite(today=TODAY), SampleSite(today=TODAY)
    slow.holds["/zcfg/"] = asyncio.Event()
    done = asyncio.Event()
    async with site.serve() as quick_url, slow.serve() as slow_url:
        copies = await open_copies([describe_body(1, quick_url, "/zcfg/"), describe_body(2, slow_url, "/zcfg/")])
        begun = copies.service.start_adding(copies.ids, by=EDITOR, on_done=lambda _: done.set())
        await done.wait()
        report = await copies.service.cancel_addition(begun.id)
    assert report.state == "cancelled"
    assert [body.state for body in report.bodies] == [BodyState.ADDED, BodyState.CANCELLED]
    assert [source.name for source in await copies.app.sources.list_sources()] == ["第1署"]


async def test_sections_that_take_too_long_are_left_out_and_said_so(
    open_copies: Callable[[list[dict[str, Any]]], Awaitable[Copies]],
) -> None:
    site = SampleSite(today=TODAY)
    site.holds["/rsrm/"] = asyncio.Event()
    async with site.serve() as url:
        body = describe_body(1, url, "/rsrm/", "/zcfg/")
        copies = await open_copies([body])
        catalogue = copies.service.catalogue
        service = CatalogueService(
            sources=copies.app.sources,
            clock=copies.app.clock,
            loaders=copies.app.loaders,
            catalogue=catalogue,
            max_body_s=0.2,
        )
        (added,) = (await service.wait(service.start_adding(["xx-1"], by=EDITOR).id)).bodies
    assert added.state == BodyState.ADDED, "its home page works"
    assert [section.reason and section.reason.code for section in added.sections] == ["cause.not_tried_in_time"] * 2


async def test_who_may_not_add_and_what_is_not_there_are_refused_before_anything_is_asked(
    open_copies: Callable[[list[dict[str, Any]]], Awaitable[Copies]],
) -> None:
    copies = await open_copies([describe_body(1, "http://127.0.0.1:9")])
    with pytest.raises(Forbidden):
        copies.service.start_adding(copies.ids, by=Actor("bo", Role.READER))
    with pytest.raises(NotFound, match="nowhere"):
        copies.service.start_adding(["nowhere"], by=EDITOR)
    with pytest.raises(UsageError):
        copies.service.start_adding([], by=EDITOR)
    with pytest.raises(UsageError, match="schedule"):
        copies.service.start_adding(copies.ids, by=EDITOR, schedule="every day")
    with pytest.raises(NotFound):
        copies.service.get_addition("nothing")
    with pytest.raises(UsageError, match="Atlantis"):
        await copies.service.search(country="Atlantis")
    with pytest.raises(UsageError, match="gardening"):
        await copies.service.search(topic="gardening")
