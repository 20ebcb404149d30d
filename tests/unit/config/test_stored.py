"""What was stored on the Settings page lies between the file and the environment."""

from typing import Any

import pytest

from monitor.config.model import Settings
from monitor.config.stored import (
    apply_stored_settings,
    find_storage_error,
    get_display_value,
    get_setting_infos,
    get_setting_origin,
    get_value,
    list_secret_readers,
    read_environment,
)
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message

TARGET = {"name": "hook", "url": "https://hook.example/x", "secret_env": "HOOK_SECRET"}
LAYERS = [
    ("llm.model", "MONITOR_LLM__MODEL", "env", "env", "stored", "file"),
    ("llm.temperature", "MONITOR_LLM__TEMPERATURE", "1.5", 1.5, 0.9, 0.1),
    ("llm.daily_token_budget", "MONITOR_LLM__DAILY_TOKEN_BUDGET", "30", 30, 20, 10),
    ("pages.respect_robots", "MONITOR_PAGES__RESPECT_ROBOTS", "false", False, True, False),
    ("llm.models", "MONITOR_LLM__MODELS__RANK", "env", {"rank": "env"}, {"rank": "stored"}, {"rank": "file"}),
    ("sweep.revisit_days", "MONITOR_SWEEP__REVISIT_DAYS", "[3]", [3], [2], [1]),
    ("timezone", "MONITOR_TIMEZONE", "Europe/Paris", "Europe/Paris", "Europe/Berlin", "Europe/Rome"),
    ("search.timeout_ms", "WEB_SEARCH_TIMEOUT_MS", "30", 30, 20, 10),
    ("search.backends.brave.daily_quota", "MONITOR_SEARCH__BACKENDS__BRAVE__DAILY_QUOTA", "30", 30, 20, 10),
    ("pages.browser.endpoint", "MONITOR_PAGES__BROWSER__ENDPOINT", "ws://env", "ws://env", "ws://stored", "ws://file"),
]


def _render(message: Message | None) -> str:
    return "" if message is None else render(message, "en")


def nested(path: str, value: Any) -> dict[str, Any]:
    for part in reversed(path.split(".")):
        value = {part: value}
    return dict(value)


@pytest.mark.parametrize(("path", "variable", "given", "of_environment", "stored", "of_file"), LAYERS)
def test_the_environment_comes_before_what_is_stored_and_that_before_the_file(
    path: str,
    variable: str,
    given: str,
    of_environment: Any,
    stored: Any,
    of_file: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def origin(base: Settings, rows: dict[str, Any]) -> str:
        return get_setting_origin(path, base, rows, read_environment())

    base = Settings(**nested(path, of_file))
    assert (get_value(base, path), origin(base, {})) == (of_file, "file")
    assert origin(Settings(), {}) == "default"
    assert get_value(apply_stored_settings(base, {path: stored}, {}).settings, path) == stored
    assert origin(base, {path: stored}) == "stored"
    monkeypatch.setenv(variable, given)
    environment = Settings(**nested(path, of_file))
    overlay = apply_stored_settings(environment, {path: stored}, {})
    assert (get_value(overlay.settings, path), overlay.errors) == (of_environment, {})
    assert origin(environment, {path: stored}) == "environment"
    assert "environment" in _render(find_storage_error(path, stored))


def test_what_is_stored_beside_other_values_of_its_group_leaves_them_alone() -> None:
    base = Settings(llm={"model": "file", "base_url": "http://file.example/v1"})
    llm = apply_stored_settings(base, {"llm.model": "stored"}, {}).settings.llm
    assert (llm.model, llm.base_url, llm.top_p) == ("stored", "http://file.example/v1", 0.85)
    assert base.llm.model == "file"


def test_a_value_that_spoils_its_group_is_left_out_and_the_others_hold() -> None:
    rows = {
        "llm.temperature": 9,
        "llm.model": "stored",
        "timezone": "Mars/Base",
        "search.weights.relevance": 0,
        "search.weights.freshness": 0,
        "search.weights.authority": 0,
        "nonsense": 1,
        "web.host": "0.0.0.0",
    }
    overlay = apply_stored_settings(Settings(), rows, {})
    assert overlay.settings.llm.model == "stored"
    assert (overlay.settings.llm.temperature, overlay.settings.timezone) == (0.3, "Asia/Shanghai")
    assert sum(overlay.settings.search.weights.model_dump().values()) > 0
    assert _render(overlay.errors["llm.temperature"]) == "It cannot be 9: input should be less than or equal to 2."
    assert {"timezone", "nonsense", "web.host"} < overlay.errors.keys()
    assert overlay.settings.web.host == "127.0.0.1"


@pytest.mark.parametrize(
    "path",
    [
        "database_url",
        "data_dir",
        "storage_url",
        "web.host",
        "web.port",
        "sources",
        "llm.api_key_env",
        "search.backends.brave.api_key_env",
        "pages.browser.path",
        "work.executor_id",
    ],
)
def test_what_decides_where_things_lie_and_what_is_started_or_read_is_not_stored(path: str) -> None:
    assert "cannot be stored" in _render(find_storage_error(path, "x"))
    assert get_setting_infos()[path].not_storable_reason


@pytest.mark.parametrize(
    ("path", "value", "word"),
    [
        ("llm.base_url", "http://me:secret@host/v1", "password"),
        ("network.ca_bundle", "certs.pem", "whole path"),
        ("llm.temperature", float("nan"), "cannot be kept"),
        ("llm.model", "a\x00b", "cannot be kept"),
        ("llm.model", "\ud800", "cannot be kept"),
        ("llm.modle", "x", "no such setting"),
    ],
)
def test_what_cannot_be_kept_is_refused_in_a_sentence(path: str, value: Any, word: str) -> None:
    assert word in _render(find_storage_error(path, value))


def test_an_address_is_shown_without_its_password_and_a_target_by_its_host() -> None:
    target = {"name": "mail", "url": "smtp://me:hidden@mail.example", "sender": "a@b.example", "to": ["c@d.example"]}
    settings = Settings(network={"proxy": "http://me:hidden@proxy.example:3128"}, deliver={"targets": [target]})
    assert get_display_value("network.proxy", settings) == "http://…@proxy.example:3128"
    assert get_display_value("deliver.targets", settings)[0]["url"] == "smtp://mail.example"


class TestSecrets:
    def test_the_environment_comes_before_a_stored_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        settings = apply_stored_settings(Settings(), {}, {"OPENAI_API_KEY": "stored"}).settings
        assert (settings.llm.api_key, settings.llm.is_on) == ("stored", True)
        monkeypatch.setenv("OPENAI_API_KEY", "environment")
        assert settings.llm.api_key == "environment"

    def test_search_services_and_targets_find_theirs(self) -> None:
        base = Settings(deliver={"targets": [TARGET]})
        settings = apply_stored_settings(base, {}, {"BRAVE_API_KEY": "b", "HOOK_SECRET": "h"}).settings
        assert settings.search.get_key("brave") == "b"
        assert settings.deliver.targets[0].load_secret() == b"h"
        assert {"OPENAI_API_KEY", "BRAVE_API_KEY", "HOOK_SECRET"} <= list_secret_readers(settings).keys()

    def test_a_stored_target_cannot_read_the_environment_of_the_process(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOOK_SECRET", "of the process")
        stored = apply_stored_settings(Settings(), {"deliver.targets": [TARGET]}, {"HOOK_SECRET": "stored"}).settings
        assert stored.deliver.targets[0].load_secret() == b"stored"
        of_file = apply_stored_settings(Settings(deliver={"targets": [TARGET]}), {}, {"HOOK_SECRET": "stored"}).settings
        assert of_file.deliver.targets[0].load_secret() == b"of the process"
        copied = apply_stored_settings(
            Settings(deliver={"targets": [TARGET]}), {"deliver.targets": [TARGET]}, {}
        ).settings
        assert copied.deliver.targets[0].load_secret() == b"of the process"

    def test_no_dump_and_no_message_holds_one(self) -> None:
        settings = apply_stored_settings(Settings(), {}, {"OPENAI_API_KEY": "sk-hidden"}).settings
        assert "sk-hidden" not in repr(settings) + settings.model_dump_json() + repr(settings.llm)
