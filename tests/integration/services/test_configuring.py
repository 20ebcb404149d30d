"""Settings that administrators store: they take effect while the program runs, in every process, and stay secret."""

import datetime as dt
import hashlib
import json
import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import pytest

from benchmarks.scripted_model.server import ScriptedModel
from monitor.bootstrap import App, build_doctor, open_app
from monitor.config.llm import LlmSettings
from monitor.config.model import Settings
from monitor.db import migrate
from monitor.db.maintenance import create_backup
from monitor.demo.site import TIMEZONE, SampleSite, build_sample_settings
from monitor.errors import UsageError
from monitor.i18n.catalogue import render
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.services.settings import KEY_FILE, KEY_VARIABLE, InvalidSettings, SecretBox
from monitor.vocabulary import Role

SECRET = "sk-nobody-may-see-this"  # noqa: S105 -- it is looked for in all that is written
TARGET = {"name": "hook", "url": f"https://hook.example/{SECRET}", "secret_env": "HOOK", "schedule": "0 8 * * *"}


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", KEY_VARIABLE, "HOOK"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def settings(tmp_path: Path, sqlite_url: str) -> Settings:
    return Settings(data_dir=tmp_path / "data", database_url=sqlite_url)


@pytest.fixture
async def apps(settings: Settings) -> AsyncIterator[tuple[App, App]]:
    """Two processes over one database."""
    async with AsyncExitStack() as stack:
        yield await stack.enter_async_context(open_app(settings)), await stack.enter_async_context(open_app(settings))


async def test_a_change_holds_at_once_here_and_soon_elsewhere(apps: tuple[App, App]) -> None:
    here, there = apps
    changes = await here.settings_service.update(
        {"llm.model": "m", "work.retention_days": 30}, by=Actor("admin", Role.ADMIN)
    )
    assert [(change.path, change.before, change.after) for change in changes] == [
        ("llm.model", "gpt-5", "m"),
        ("work.retention_days", 400, 30),
    ]
    assert (here.settings.llm.model, there.settings.llm.model) == ("m", "gpt-5")
    await there.settings_service.reload_if_changed()
    assert (there.settings.llm.model, there.settings.work.retention_days) == ("m", 30)
    assert await here.settings_service.update({"llm.model": "m"}, by=Actor("admin", Role.ADMIN)) == []
    await here.settings_service.reset(["llm.model"], by=COMMAND_LINE)
    await there.settings_service.reload_if_changed()
    assert (here.settings.llm.model, there.settings.llm.model) == ("gpt-5", "gpt-5")


async def test_who_holds_a_group_goes_on_with_what_held_when_it_was_taken(apps: tuple[App, App]) -> None:
    limits_of_a_run = apps[0].settings.sweep
    await apps[0].settings_service.update({"sweep.max_items": 3}, by=Actor("admin", Role.ADMIN))
    assert (limits_of_a_run.max_items, apps[0].settings.sweep.max_items) == (20, 3)


async def test_what_needs_a_restart_waits_for_it(settings: Settings, apps: tuple[App, App]) -> None:
    await apps[0].settings_service.update(
        {"work.concurrency": 3, "timezone": "Europe/Berlin"}, by=Actor("admin", Role.ADMIN)
    )
    assert (apps[0].settings.work.concurrency, apps[0].settings.timezone) == (16, "Asia/Shanghai")
    waiting = {
        setting.path: setting.value for setting in apps[0].settings_service.list_settings() if setting.waits_for_restart
    }
    assert waiting == {"work.concurrency": 3, "timezone": "Europe/Berlin"}
    async with open_app(settings) as anew:
        assert (anew.settings.work.concurrency, anew.settings.timezone) == (3, "Europe/Berlin")
        assert not [entry for entry in anew.settings_service.list_settings() if entry.waits_for_restart]


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({"llm.model": "m", "llm.top_p": 7}, {"llm.top_p"}),
        ({"llm.model": "m", "llm.base_url": "ftp://host"}, {"llm.base_url"}),
        ({"llm.model": "m", "work.blackout": "night"}, {"work.blackout"}),
        ({"llm.models": {"rank": "m", "ranking": "m"}}, {"llm.models"}),
        ({"llm.model": " "}, {"llm.model"}),
        ({"network.proxy": f"http://me:{SECRET}@proxy.example"}, {"network.proxy"}),
        ({"network.ca_bundle": "/etc/ca.pem"}, {"network.ca_bundle"}),
        ({"network.allowed_private_hosts": ["10.0.0.5"]}, {"network.allowed_private_hosts"}),
        ({"network.user_agent": "Monitor\r\nX-Key: 1"}, {"network.user_agent"}),
        ({"search.backend": ["brave", "gogle"]}, {"search.backend"}),
        ({"web.public_url": "monitor"}, {"web.public_url"}),
        ({"briefing.template": "/etc/firm.docx"}, {"briefing.template"}),
        ({"pages.browser.endpoint": "ws://10.0.0.5"}, {"pages.browser.endpoint"}),
        ({"deliver.variables": ["OPENAI_API_KEY@elsewhere.example"]}, {"deliver.variables"}),
        ({"deliver.targets": [TARGET | {"schedule": "whenever"}]}, {"deliver.targets"}),
        ({"deliver.targets": [TARGET, TARGET]}, {"deliver.targets"}),
        ({"llm.model": "m", "secrets.BAD NAME": "x"}, {"secrets.BAD NAME"}),
        ({"llm.model": "m", "secrets.HOOK": "x"}, {"secrets.HOOK"}),
        ({"llm.api_key": "  "}, {"secrets.OPENAI_API_KEY"}),
        ({"llm.api_key": 7}, {"secrets.OPENAI_API_KEY"}),
        ({"llm.api_key": "sk-…"}, {"secrets.OPENAI_API_KEY"}),
        ({"search.backends.brave.api_key": "密钥"}, {"secrets.BRAVE_API_KEY"}),
    ],
)
async def test_of_a_change_with_something_wrong_nothing_is_stored(
    apps: tuple[App, App], values: dict[str, object], wrong: set[str]
) -> None:
    with pytest.raises(InvalidSettings) as refused:
        await apps[0].settings_service.update(values, by=Actor("admin", Role.ADMIN))
    assert refused.value.complaints.keys() == wrong
    assert SECRET not in str(refused.value)
    assert await apps[0].store.settings.list_all() == []
    assert apps[0].settings.llm.model == "gpt-5"


async def test_a_secret_is_at_hand_for_its_work_and_nowhere_else(
    settings: Settings, apps: tuple[App, App], caplog: pytest.LogCaptureFixture
) -> None:
    here = apps[0].settings_service
    values = {
        "llm.api_key": SECRET,
        "search.backends.brave.api_key": SECRET,
        "secrets.HOOK": SECRET,
        "deliver.targets": [TARGET],
    }
    changes = await here.update(values, by=Actor("admin", Role.ADMIN))
    await apps[1].settings_service.reload_if_changed()
    for app in apps:
        assert app.settings.llm.api_key == app.settings.search.get_key("brave") == SECRET
        assert app.settings.deliver.targets[0].load_secret() == SECRET.encode()
        assert app.target_editing.get("hook").url.endswith(SECRET)
    reported = [*changes, *here.list_settings(), *await here.list_secrets()]
    reported += await here.reset(["deliver.targets", "llm.api_key"], by=COMMAND_LINE)
    assert (
        SECRET
        not in "".join(base.model_dump_json() for base in reported) + render(here.describe_stored(), "en") + caplog.text
    )
    backup = settings.data_dir / "backup.db"
    create_backup(settings.database_url, backup)
    files = [
        path for path in (*settings.data_dir.rglob("*"), *settings.data_dir.parent.glob("*.db*")) if path.is_file()
    ]
    assert len(files) > 2
    assert not [file.name for file in files if SECRET.encode() in file.read_bytes()]


async def test_the_environment_comes_before_a_stored_key(
    apps: tuple[App, App], monkeypatch: pytest.MonkeyPatch
) -> None:
    await apps[0].settings_service.update({"llm.api_key": "stored"}, by=Actor("admin", Role.ADMIN))
    monkeypatch.setenv("OPENAI_API_KEY", "environment")
    assert apps[0].settings.llm.api_key == "environment"
    assert {secret.name: secret.origin for secret in await apps[0].settings_service.list_secrets()}[
        "OPENAI_API_KEY"
    ] == "environment"


async def test_the_audit_tells_secrets_apart_and_holds_none(settings: Settings, apps: tuple[App, App]) -> None:
    admin = Actor("admin", Role.ADMIN)
    for value in (SECRET, "another", SECRET):
        await apps[0].settings_service.update({"llm.api_key": value}, by=admin)
    await apps[0].settings_service.reset(["llm.api_key"], by=admin)
    await apps[0].settings_service.update({"deliver.targets": [TARGET], "secrets.HOOK": SECRET}, by=admin)
    entries = list(reversed(await apps[0].audit.list_entries()))
    changes = [(entry.detail["before"], entry.detail["after"]) for entry in entries]
    prints = [after["fingerprint"] for _, after in changes[:3]]
    assert prints[0] == prints[2] != prints[1]
    assert all(re.fullmatch("[0-9a-f]{8}", text) for text in prints)
    assert [(before or {}).get("fingerprint") for before, _ in changes[:4]] == [None, *prints]
    assert changes[3][1] is None
    assert changes[0][1]["hosts"] == ["api.openai.com"]
    kept = json.dumps([entry.detail for entry in entries])
    assert "url_fingerprint" in kept
    assert SECRET not in kept
    assert hashlib.sha256(SECRET.encode()).hexdigest()[:8] not in kept
    other_box = SecretBox(settings.data_dir / "elsewhere")
    assert other_box.compute_fingerprint(SECRET) not in prints


async def test_what_version_0_1_0_stored_is_bound_at_the_first_start_and_the_rest_is_told(
    settings: Settings, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/old.db"
    migrate.upgrade(url, "0017")
    encrypt = SecretBox(settings.data_dir).encrypt
    rows = {
        "secrets.OPENAI_API_KEY": encrypt(SECRET),
        "secrets.HOOK": encrypt(SECRET),
        "secrets.FORGOTTEN": encrypt(SECRET),
        "deliver.targets": encrypt(json.dumps([TARGET])),
        "network.proxy": encrypt(json.dumps(f"http://me:{SECRET}@proxy.example")),
        "llm.base_url": "https://ours.example/v1",
        "network.allowed_private_hosts": ["10.0.0.5"],
    }
    plain = ("llm.base_url", "network.allowed_private_hosts")
    insert = "INSERT INTO stored_setting (path, value, is_secret, by, at) VALUES (?, ?, ?, 'admin', '2026-11-01')"
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection, connection:
        values = [(path, json.dumps(value), path not in plain) for path, value in rows.items()]
        connection.executemany(insert, values)
    migrate.upgrade(url)
    for _ in range(2):
        async with open_app(settings.model_copy(update={"database_url": url})) as app:
            service = app.settings_service
            secrets = {secret.name: secret for secret in await service.list_secrets()}
            assert (app.settings.llm.api_key, secrets["OPENAI_API_KEY"].hosts) == (SECRET, ["ours.example"])
            assert app.settings.deliver.targets[0].load_secret() == SECRET.encode()
            assert secrets["FORGOTTEN"].hosts == []
            assert all(secrets[name].is_host_assumed for name in ("OPENAI_API_KEY", "HOOK", "FORGOTTEN"))
            assert app.settings.network.allowed_private_hosts == []
            complaints = {entry.path: entry.complaint for entry in service.list_settings() if entry.complaint}
            assert complaints.keys() == {"network.proxy", "network.allowed_private_hosts"}
            assert SECRET not in render(complaints["network.proxy"], "en")
    async with open_app(settings.model_copy(update={"database_url": url})) as app:
        admin = Actor("admin", Role.ADMIN)
        await app.settings_service.update({"llm.base_url": "https://elsewhere.example/v1"}, by=admin)
        assert app.settings.llm.api_key is None
        await app.settings_service.update({"llm.api_key": "new"}, by=admin)
        await app.settings_service.reset(["network.proxy", "network.allowed_private_hosts"], by=admin)
        secrets = {secret.name: secret for secret in await app.settings_service.list_secrets()}
        assert not secrets["OPENAI_API_KEY"].is_host_assumed
        assert not [entry for entry in app.settings_service.list_settings() if entry.complaint]


@pytest.mark.parametrize("what", ["another key", "open to others", "lost"])
async def test_with_a_key_that_does_not_fit_the_rest_works_and_it_is_said_why(
    settings: Settings, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_app(settings) as app:
        await app.settings_service.update({"llm.api_key": SECRET, "llm.model": "m"}, by=Actor("admin", Role.ADMIN))
    file = settings.data_dir / KEY_FILE
    if what == "another key":
        monkeypatch.setenv(KEY_VARIABLE, "a passphrase")
    elif what == "lost":
        file.unlink()
    else:
        file.chmod(0o644)
    async with open_app(settings) as app:
        assert (app.settings.llm.model, app.settings.llm.api_key) == ("m", None)
        found = {secret.name: secret for secret in await app.settings_service.list_secrets()}["OPENAI_API_KEY"]
        assert not found.is_set
        assert found.complaint
        with pytest.raises(UsageError, match="OPENAI_API_KEY"):
            app.settings_service.describe_stored()
        if what == "open to others":
            return
        await app.settings_service.update({"llm.api_key": "entered anew"}, by=Actor("admin", Role.ADMIN))
        assert app.settings.llm.api_key == "entered anew"


async def test_every_part_of_the_program_can_be_built(settings: Settings) -> None:
    async with open_app(settings) as app:
        app.build_all()


async def test_the_doctor_examines_what_holds(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(f"data_dir: {settings.data_dir}\ndatabase_url: {settings.database_url}\n")
    async with open_app(settings) as app:
        await app.settings_service.update(
            {"search.backend": "archive", "llm.api_key": SECRET, "llm.enabled": False}, by=Actor("a", Role.ADMIN)
        )
    found = {finding.check: finding for finding in await build_doctor(config).run_checks()}
    assert found["settings"].level == "ok"
    assert "llm.enabled, search.backend, the secret OPENAI_API_KEY" in render(found["settings"].message, "en")
    assert render(found["search"].message, "en") == "archive"
    assert render(found["model"].message, "en").startswith("off")
    monkeypatch.setenv(KEY_VARIABLE, "another")
    assert {entry.check: entry.level for entry in await build_doctor(config).run_checks()}["settings"] == "fail"


async def test_a_run_asks_the_model_that_is_set_when_it_begins_with_the_wording_that_holds(
    settings: Settings, tmp_path: Path
) -> None:
    site = SampleSite(today=dt.datetime.now(ZoneInfo(TIMEZONE)).date())
    model = ScriptedModel(api_key=SECRET)
    async with AsyncExitStack() as stack:
        base_url = await stack.enter_async_context(site.serve())
        address = await stack.enter_async_context(model.serve())
        data = build_sample_settings(settings, base_url, folder=tmp_path)
        hosts = [*data.network.allowed_private_hosts, urlsplit(address).netloc]
        network = data.network.model_copy(update={"allowed_private_hosts": hosts})
        data = data.model_copy(update={"llm": LlmSettings(max_retries=0), "network": network})
        app = await stack.enter_async_context(open_app(data))
        first = {"url": base_url, "sections": site.list_sections(base_url)[:1], "max_items": 2}
        await app.sweeps.sweep(await app.sources.add({"name": "before", **first}, by=COMMAND_LINE), by=COMMAND_LINE)
        assert model.requests == []
        await app.settings_service.update(
            {"llm.base_url": address, "llm.api_key": SECRET, "llm.model": "set"}, by=Actor("admin", Role.ADMIN)
        )
        wording = "只用一句话概括。{rules}标题：{title}\n{text}"
        await app.prompts.put("summary.user.zh", wording, by=Actor("admin", Role.ADMIN))
        report = await app.sweeps.sweep(
            await app.sources.add({"name": "after", **first}, by=COMMAND_LINE), by=COMMAND_LINE
        )
        assert {entry["model"] for entry in model.requests} == {"set"}
        asked = [request["messages"][1]["content"] for request in model.requests]
        assert len([entry for entry in asked if entry.startswith("只用一句话概括。")]) >= len(report.items) > 0
        assert not [entry for entry in asked if "为下面的文章写摘要" in entry]
        replay = await app.replays.replay(report.run_id)
        await app.prompts.reset("summary.user.zh", by=COMMAND_LINE)
        assert replay.is_identical
        assert (await app.replays.replay(report.run_id)).is_identical
