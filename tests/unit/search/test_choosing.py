"""Which backends are asked."""

from pathlib import Path

import pytest

from monitor.config.model import BACKENDS, SearchSettings
from monitor.i18n.catalogue import render
from monitor.search import backends
from monitor.search.registry import (
    ARCHIVE_ONLY_WARNING,
    find_missing_setting,
    load_service_backend,
    select_backends,
    select_content_backends,
)


@pytest.mark.parametrize(
    ("backend", "names", "gathering"),
    [
        ("stub", ["stub"], ["archive"]),
        ("ddg_html", ["ddg_html"], ["ddg_html"]),
        ("brave, archive,", ["brave", "archive"], ["brave", "archive"]),
        (["stub", "tavily", "tavily"], ["stub", "tavily"], ["tavily"]),
        ("google", ["stub"], ["archive"]),
        (["google", "brave"], ["brave"], ["brave"]),
        ("", ["stub"], ["archive"]),
        ([], ["stub"], ["archive"]),
    ],
)
def test_the_stub_stands_in_for_nothing_and_is_never_gathered_from(
    backend: str | list[str], names: list[str], gathering: list[str]
) -> None:
    settings = SearchSettings(backend=backend)
    assert select_backends(settings).names == names
    assert select_content_backends(settings).names == gathering
    assert (ARCHIVE_ONLY_WARNING in select_content_backends(settings).warnings) == (gathering == ["archive"])
    assert bool(select_backends(settings).warnings) == ("google" in backend)


def test_a_warning_names_the_nearest_backend() -> None:
    warning = render(select_backends(SearchSettings(backend="braev")).warnings[0], "en")
    assert "did you mean brave?" in warning
    assert "the stub is used instead" in warning


def test_what_a_backend_lacks_is_told_with_the_place_where_it_belongs(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = SearchSettings(backends={"brave": {"api_key_env": "MY_KEY"}})
    missing = {name: find_missing_setting(settings, name) for name in BACKENDS}
    report = {name: render(message, "en") for name, message in missing.items() if message is not None}
    lacking = [
        name for name, info in BACKENDS.items() if info.is_service and (info.key == "required" or not info.base_url)
    ]
    assert list(report) == lacking
    assert {"searxng", "bocha", "brave", "tavily"} <= report.keys()
    assert "MY_KEY" in report["brave"]
    assert "TAVILY_API_KEY" in report["tavily"]
    assert "SEARXNG_BASE_URL" in report["searxng"]
    monkeypatch.setenv("MY_KEY", "x")
    assert find_missing_setting(settings, "brave") is None


def test_each_backend_is_one_module_and_one_line_of_the_table() -> None:
    (folder,) = backends.__path__
    assert {path.stem for path in Path(folder).glob("*.py")} - {"__init__"} == set(BACKENDS)
    for name, info in BACKENDS.items():
        if info.is_service:
            backend = load_service_backend(name)
            assert backend.name == name
