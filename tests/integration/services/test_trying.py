"""Trials that people watch: two at once, not for ever, and gone when the service ends."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from monitor.bootstrap import App, open_app
from monitor.config.model import Settings
from monitor.errors import Conflict, NotFound, UsageError
from monitor.i18n.message import Message
from monitor.services.audit import Actor
from monitor.services.sources.trials import MAX_UNFINISHED_TRIALS, TRIAL_RETENTION, TrialService
from monitor.vocabulary import Role


class Travelled:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.at = dt.datetime(2026, 11, 21, 8, tzinfo=dt.UTC)

    def now(self) -> dt.datetime:
        return self.at


@pytest.fixture
async def app(tmp_path: Path, sqlite_url: str, site: Any) -> AsyncIterator[App]:
    settings = Settings(
        data_dir=tmp_path,
        database_url=sqlite_url,
        pages={"delay_s": 0, "render": "never", "respect_robots": False},
        network={"allowed_private_hosts": [site.host]},
    )
    async with open_app(settings) as opened:
        yield opened


@pytest.fixture
def release(site: Any, reply: Any) -> asyncio.Event:
    """Until it is set, the page at /slow is not answered."""
    event = asyncio.Event()

    async def write(writer: asyncio.StreamWriter) -> None:
        await event.wait()
        writer.write(b"HTTP/1.1 404 Gone\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    site.on("/slow", lambda _: write)
    return event


def open_trials(app: App, clock: Any = None, **limits: float) -> TrialService:
    return TrialService(sources=app.sources, sweeps=app.sweeps, clock=clock or app.clock, **limits)


async def state(service: TrialService, trial_id: str, wanted: str) -> None:
    async with asyncio.timeout(20):
        while service.get(trial_id).state != wanted:  # noqa: ASYNC110 -- a trial tells nobody of its state
            await asyncio.sleep(0.01)


async def test_the_third_waits_for_its_turn_and_closing_ends_them_all(
    app: App, site: Any, release: asyncio.Event
) -> None:
    service = open_trials(app)
    trials = [
        await service.start({"name": f"t{n}", "url": site.url("/slow")}, by=Actor("anna", Role.EDITOR))
        for n in range(3)
    ]
    await state(service, trials[0].id, "running")
    await state(service, trials[1].id, "running")
    assert service.get(trials[2].id).state == "waiting"
    await service.cancel(trials[0].id)
    await state(service, trials[2].id, "running")
    await service.close()
    assert {service.get(trial.id).state for trial in trials} == {"cancelled"}
    assert await app.sources.list_sources() == []


async def test_one_that_takes_too_long_is_told_so(app: App, site: Any, release: asyncio.Event) -> None:
    service = open_trials(app, max_trial_s=0.2)
    trial = await service.start({"name": "t", "url": site.url("/slow")}, by=Actor("anna", Role.EDITOR))
    await state(service, trial.id, "failed")
    assert service.get(trial.id).error == Message.of("cause.trial_timeout", minutes="0")


async def test_what_ended_is_forgotten_after_half_an_hour(app: App, site: Any, release: asyncio.Event) -> None:
    clock = Travelled()
    service = open_trials(app, clock)
    release.set()
    trial = await service.start({"name": "t", "url": site.url("/slow")}, by=Actor("anna", Role.EDITOR))
    await state(service, trial.id, "done")
    clock.at += TRIAL_RETENTION
    assert service.get(trial.id).result is not None
    clock.at += dt.timedelta(seconds=1)
    with pytest.raises(NotFound):
        service.get(trial.id)


async def test_what_is_no_source_is_refused_at_once_and_so_is_a_crowd(
    app: App, site: Any, release: asyncio.Event
) -> None:
    service = open_trials(app)
    with pytest.raises(UsageError, match="not a web address"):
        await service.start({"name": "t", "url": "nowhere"}, by=Actor("anna", Role.EDITOR))
    with pytest.raises(NotFound):
        await service.start({}, by=Actor("anna", Role.EDITOR), source_id=9)
    for n in range(MAX_UNFINISHED_TRIALS):
        await service.start({"name": f"t{n}", "url": site.url("/slow")}, by=Actor("anna", Role.EDITOR))
    with pytest.raises(Conflict):
        await service.start({"name": "t", "url": site.url("/slow")}, by=Actor("anna", Role.EDITOR))
    await service.close()
