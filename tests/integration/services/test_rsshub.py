"""Addresses of RSSHub: served by the instance that the file names, read as feeds, and refused in words without one."""

from pathlib import Path
from typing import Any

import pytest

from monitor.bootstrap import open_app
from monitor.config.model import Settings
from monitor.config.rsshub import RsshubSettings
from monitor.errors import UsageError
from monitor.i18n.catalogue import render
from monitor.services.audit import COMMAND_LINE
from monitor.vocabulary import RunStatus

ENTRY = "<item><title>关于第{n}批储能项目的通知</title><link>{url}</link><pubDate>{day}</pubDate></item>"


def build_settings(folder: Path, database_url: str, **more: Any) -> Settings:
    return Settings(
        data_dir=folder,
        database_url=database_url,
        pages={"delay_s": 0, "render": "never", "respect_robots": False},
        **more,
    )


async def test_a_source_and_a_section_of_rsshub_are_read_as_feeds_from_the_instance(
    tmp_path: Path, sqlite_url: str, site: Any, reply: Any
) -> None:
    entries = "".join(
        ENTRY.format(n=n, url=site.url(f"/n/{n}.html"), day="Thu, 01 Jan 2026 08:00:00 GMT") for n in range(4)
    )
    feed = f'<rss version="2.0"><channel><title>国家能源局</title>{entries}</channel></rss>'
    site.on("/hub/nea/sxzx", reply(feed, headers={"content-type": "application/xml"}))
    settings = build_settings(tmp_path, sqlite_url, rsshub={"base_url": site.url("/hub/")})
    async with open_app(settings) as app:
        source = await app.sources.add({"name": "能源局", "url": "rsshub://nea/sxzx?limit=4"}, by=COMMAND_LINE)
        assert (source.kind, source.url) == ("feed", "rsshub://nea/sxzx?limit=4")
        trial = await app.sweeps.run_trial(source)
        assert trial.status is RunStatus.SUCCEEDED
        assert [len(section.candidates) for section in trial.sections] == [4]
        report = await app.sweeps.sweep(source, by=COMMAND_LINE)
        assert (report.status, report.sections[0].candidates) == (RunStatus.SUCCEEDED, 4)
        pinned = await app.sources.add(
            {"name": "部", "url": site.url("/"), "sections": [{"name": "中心", "url": "rsshub://nea/sxzx"}]},
            by=COMMAND_LINE,
        )
        report = await app.sweeps.sweep(pinned, by=COMMAND_LINE)
        assert report.sections[0].candidates == 4
    assert "/hub/nea/sxzx?limit=4" in site.paths()


async def test_without_an_instance_the_run_says_which_setting_is_missing(tmp_path: Path, sqlite_url: str) -> None:
    async with open_app(build_settings(tmp_path, sqlite_url)) as app:
        source = await app.sources.add({"name": "能源局", "url": "rsshub://nea/sxzx"}, by=COMMAND_LINE)
        report = await app.sweeps.sweep(source, by=COMMAND_LINE)
        assert report.status is RunStatus.FAILED
        assert any("rsshub.base_url" in render(fallback.reason, "en") for fallback in report.fallbacks)
        with pytest.raises(UsageError):
            await app.sources.add({"name": "x", "url": "rsshub://"}, by=COMMAND_LINE)


def test_an_instance_has_a_web_address() -> None:
    settings = RsshubSettings(base_url=" http://hub.example:1200/ ")
    assert settings.resolve("rsshub://nea/sxzx") == "http://hub.example:1200/nea/sxzx"
    assert settings.resolve("https://a.example/") == "https://a.example/"
    with pytest.raises(ValueError, match="no_backend_address"):
        RsshubSettings(base_url="hub.example")
