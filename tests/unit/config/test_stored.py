"""What was stored on the Settings page lies between the file and the environment."""

from typing import Any

import pytest

from monitor.config.model import Settings
from monitor.config.secrets import StoredSecret
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
from monitor.errors import UsageError
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
    ("web.public_url", "MONITOR_WEB__PUBLIC_URL", "http://env", "http://env", "http://stored", "http://file"),
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


def test_what_version_0_1_0_stored_and_only_the_file_may_say_is_left_out_and_told_without_its_password() -> None:
    rows = {
        "network.proxy": "http://me:hidden@proxy.example:3128",
        "network.allowed_private_hosts": ["10.0.0.5"],
        "network.user_agent": "stored",
        "briefing.template": "/etc/firm.docx",
    }
    overlay = apply_stored_settings(Settings(), rows, {})
    network = overlay.settings.network
    assert (network.proxy, network.allowed_private_hosts, network.user_agent) == (None, [], "stored")
    assert overlay.errors.keys() == rows.keys() - {"network.user_agent"}
    assert "no longer used" in _render(overlay.errors["network.proxy"])
    assert "http://…@proxy.example:3128" in _render(overlay.errors["network.proxy"])
    assert "MONITOR_NETWORK__ALLOWED_PRIVATE_HOSTS" in _render(overlay.errors["network.allowed_private_hosts"])


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
        "pages.browser.endpoint",
        "pages.browser.recycle_after",
        "network.proxy",
        "network.proxy_suffixes",
        "network.ca_bundle",
        "network.allow_legacy_tls",
        "network.allowed_private_hosts",
        "briefing.template",
        "deliver.variables",
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
        ("llm.temperature", float("nan"), "cannot be stored"),
        ("llm.model", "a\x00b", "cannot be stored"),
        ("llm.model", "\ud800", "cannot be stored"),
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


def entered(value: str, *hosts: str) -> StoredSecret:
    return StoredSecret(value, frozenset(hosts))


def bound(base: Settings, stored: dict[str, Any] | None = None, **secrets: StoredSecret) -> Settings:
    return apply_stored_settings(base, stored or {}, secrets).settings


OPENAI = entered("stored", "api.openai.com")
ELSEWHERE = {"llm.base_url": "https://elsewhere.example/v1"}


class TestSecrets:
    @pytest.fixture(autouse=True)
    def no_keys(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "BRAVE_API_KEY", "SEARXNG_API_KEY", "HOOK_SECRET"):
            monkeypatch.delenv(name, raising=False)

    def test_the_environment_comes_before_a_stored_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        settings = bound(Settings(), OPENAI_API_KEY=OPENAI)
        assert (settings.llm.api_key, settings.llm.is_on) == ("stored", True)
        monkeypatch.setenv("OPENAI_API_KEY", "environment")
        assert settings.llm.api_key == "environment"

    def test_a_stored_key_stays_with_the_host_that_it_was_entered_for(self) -> None:
        llm = bound(Settings(), ELSEWHERE, OPENAI_API_KEY=OPENAI).llm
        assert llm.api_key is None
        assert (
            _render(llm.describe_key_problem())
            == "The key in OPENAI_API_KEY is for api.openai.com. Enter one for elsewhere.example."
        )
        back = bound(Settings(), {"llm.base_url": "https://API.openai.com:443/v2"}, OPENAI_API_KEY=OPENAI).llm
        assert (back.api_key, back.describe_key_problem()) == ("stored", None)

    def test_a_key_of_the_environment_is_for_the_host_that_file_or_environment_name(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "environment")
        of_file = Settings(llm={"base_url": "https://ours.example/v1"})
        assert bound(of_file).llm.api_key == "environment"
        assert bound(of_file, ELSEWHERE).llm.api_key is None
        assert "is for ours.example" in _render(bound(of_file, ELSEWHERE).llm.describe_key_problem())
        assert bound(Settings(), ELSEWHERE).llm.api_key is None
        entered_anew = bound(Settings(), ELSEWHERE, OPENAI_API_KEY=entered("new", "elsewhere.example"))
        assert entered_anew.llm.api_key == "new"
        monkeypatch.setenv("MONITOR_LLM__BASE_URL", "https://elsewhere.example/v1")
        assert bound(Settings()).llm.api_key == "environment"

    @pytest.mark.parametrize(
        "url",
        [
            "http://api.openai.com/v1",
            "http://api.openai.com:443/v1",
            "https://api.openai.com:8443/v1",
            "https://api.openai.com.elsewhere.example/v1",
            "https://elsewhere.example/api.openai.com",
            "https://api.openai.com@elsewhere.example/v1",
            "https://api.openai.com\\@elsewhere.example/v1",
            "https://elsewhere.example\\@api.openai.com/v1",
            "https://a@elsewhere.example@api.openai.com/v1",
            "https://elsewhere.example#@api.openai.com/v1",
            "https://elsewhere.example?@api.openai.com/v1",
            "https://api.openai.com\t.elsewhere.example/v1",
            "https://api.openai.com:443:80/v1",
            "https:///api.openai.com/v1",
            "https://[::1]api.openai.com/v1",
            "https://ａｐｉ.openai.com/v1",
            "https://api.openai.com%2eelsewhere.example/v1",
        ],
    )
    def test_no_spelling_of_an_address_gets_another_hosts_key(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "environment")
        assert bound(Settings(), {"llm.base_url": url}, OPENAI_API_KEY=OPENAI).llm.api_key is None

    def test_search_services_find_theirs_at_their_own_address_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        brave = entered("b", "api.search.brave.com")
        path = "search.backends.brave.base_url"
        assert bound(Settings(), BRAVE_API_KEY=brave).search.get_key("brave") == "b"
        assert (
            bound(Settings(), {path: "https://elsewhere.example"}, BRAVE_API_KEY=brave).search.get_key("brave") is None
        )
        monkeypatch.setenv("SEARXNG_API_KEY", "environment")
        search = bound(Settings(), {"search.backends.searxng.base_url": "https://elsewhere.example"}).search
        assert search.get_key("searxng") is None
        assert "is for no host" in _render(search.describe_key_problem("searxng"))
        monkeypatch.setenv("SEARXNG_BASE_URL", "https://ours.example")
        assert bound(Settings()).search.get_key("searxng") == "environment"

    def test_targets_find_theirs(self) -> None:
        settings = bound(Settings(deliver={"targets": [TARGET]}), HOOK_SECRET=entered("h", "hook.example"))
        assert settings.deliver.targets[0].load_secret() == b"h"
        names = {reader.variable for reader in list_secret_readers(settings)}
        assert {"OPENAI_API_KEY", "BRAVE_API_KEY", "HOOK_SECRET"} <= names

    def test_a_stored_target_reads_of_the_environment_what_the_file_lists_and_for_its_host(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOOK_SECRET", "of the process")
        base = Settings(deliver={"targets": [TARGET]})
        rows = {"deliver.targets": [TARGET]}
        assert bound(base).deliver.targets[0].load_secret() == b"of the process"
        assert bound(base, rows).deliver.targets[0].load_secret() == b"of the process"
        (unlisted,) = bound(Settings(), rows).deliver.targets
        with pytest.raises(UsageError, match="is not set"):
            unlisted.load_secret()
        moved = {"deliver.targets": [TARGET | {"url": "https://elsewhere.example/${HOOK_SECRET}"}]}
        (elsewhere,) = bound(base, moved, HOOK_SECRET=entered("h", "hook.example")).deliver.targets
        for read in (elsewhere.load_secret, elsewhere.expand_url):
            with pytest.raises(UsageError, match=r"HOOK_SECRET is for hook.example. Enter one for elsewhere.example"):
                read()
        listed = Settings(deliver={"variables": ["HOOK_SECRET@elsewhere.example"]})
        (allowed,) = bound(listed, moved).deliver.targets
        assert allowed.expand_url() == "https://elsewhere.example/of the process"

    def test_no_dump_and_no_message_holds_one(self) -> None:
        settings = bound(Settings(), OPENAI_API_KEY=entered("sk-hidden", "api.openai.com"))
        assert "sk-hidden" not in repr(settings) + settings.model_dump_json() + repr(settings.llm)
        assert "sk-hidden" not in repr(settings.llm.secrets)


def test_the_services_of_file_and_environment_are_known_by_host_and_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAIL_HOST", "mail.corp.example")
    monkeypatch.setenv("SEARXNG_BASE_URL", "http://10.0.0.7")
    mail = {"name": "mail", "url": "smtp://me:${PW}@${MAIL_HOST}", "sender": "a@b.example", "to": ["c@d.example"]}
    base = Settings(
        llm={"base_url": "http://10.0.0.5:8000/v1"},
        deliver={"targets": [TARGET, mail, {"name": "chat", "url": "wecombot://0123456789abcdef"}]},
    )
    rows = {"llm.base_url": "http://10.0.0.6/v1", "search.backends.bocha.base_url": "http://10.0.0.8"}
    assert bound(base, rows).network.service_hosts == {
        "10.0.0.5:8000",
        "10.0.0.7:80",
        "hook.example:443",
        "mail.corp.example:587",
    }
