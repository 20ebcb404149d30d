"""The settings of web.search, and the variables that tools of its kind share."""

from pathlib import Path
from typing import Any

import pytest

from monitor.config.loading import load_settings
from monitor.config.model import SHARED_VARIABLES, SearchSettings
from monitor.errors import SettingsError


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for variable in SHARED_VARIABLES:
        monkeypatch.delenv(variable, raising=False)

    def load(text: str = "", **environment: str) -> SearchSettings:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        file = tmp_path / "config.yaml"
        file.write_text(text, encoding="utf-8")
        return load_settings(file).search

    return load


def test_the_shared_variables_fill_the_settings(loaded: Any) -> None:
    settings = loaded(
        WEB_SEARCH_BACKEND="searxng",
        WEB_SEARCH_TIMEOUT_MS="4000",
        SEARXNG_BASE_URL="http://127.0.0.1:8888/",
        SEARXNG_TIMEOUT_MS="2500",
        BOCHA_BASE_URL="https://bocha.example",
        BOCHA_TIMEOUT_MS="3000",
        BOCHA_TOP_K_DEFAULT="8",
    )
    assert settings.backend_names == ["searxng"]
    assert settings.get_backend("searxng").base_url == "http://127.0.0.1:8888"
    assert (settings.get_backend("bocha").base_url, settings.get_backend("bocha").max_results) == (
        "https://bocha.example",
        8,
    )
    assert [settings.get_timeout_s(name) for name in ("searxng", "bocha", "brave")] == [2.5, 3.0, 4.0]


def test_our_own_variables_come_before_the_shared_ones_and_those_before_the_file(loaded: Any) -> None:
    file = "search: {backend: brave, backends: {searxng: {base_url: 'http://file:1', daily_quota: 5}}}"
    assert loaded(file).backend_names == ["brave"]
    settings = loaded(file, WEB_SEARCH_BACKEND="ddg_html", SEARXNG_BASE_URL="http://shared:1")
    assert (settings.backend_names, settings.get_backend("searxng").base_url) == (["ddg_html"], "http://shared:1")
    assert settings.get_backend("searxng").daily_quota == 5
    ours = {"MONITOR_SEARCH__BACKEND": "tavily", "MONITOR_SEARCH__BACKENDS__SEARXNG__BASE_URL": "http://ours:1"}
    settings = loaded(file, **ours)
    assert (settings.backend_names, settings.get_backend("searxng").base_url) == (["tavily"], "http://ours:1")


def test_an_empty_variable_says_nothing(loaded: Any) -> None:
    assert loaded("search: {backend: brave}", WEB_SEARCH_BACKEND=" ").backend_names == ["brave"]


def test_a_list_may_be_written_in_every_way(loaded: Any) -> None:
    assert loaded("search: {backend: [brave, tavily]}").backend_names == ["brave", "tavily"]
    assert loaded(MONITOR_SEARCH__BACKEND='["bocha", "archive"]').backend_names == ["bocha", "archive"]
    assert loaded(MONITOR_SEARCH__BACKEND="bocha,archive").backend_names == ["bocha", "archive"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("search: {backends: {braev: {timeout_ms: 5}}}", "did you mean brave"),
        ("search: {backends: {brave: {timeout: 5}}}", "did you mean `search.backends.brave.timeout_ms`"),
        ("search: {backends: {searxng: {base_url: 'localhost:8888'}}}", "http://127.0.0.1:8080"),
        ("search: {backends: {searxng: {base_url: 'ftp://x'}}}", "http://127.0.0.1:8080"),
        ("search: {backends: {brave: {max_results: 11}}}", "less than or equal to 10"),
        ("search: {cache_s: -1}", "greater than or equal to 0"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(loaded: Any, text: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        loaded(text)


def test_the_key_is_looked_for_where_the_settings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRAVE_API_KEY", "usual")
    monkeypatch.setenv("MY_KEY", "mine")
    assert SearchSettings().get_key("brave") == "usual"
    assert SearchSettings(backends={"brave": {"api_key_env": "MY_KEY"}}).get_key("brave") == "mine"
    assert SearchSettings().get_key("ddg_html") is None
