"""`monitor search`, as a person or a script types it."""

from collections.abc import Callable
from typing import Any

import pytest

from monitor.config.model import BACKENDS, SHARED_VARIABLES


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (*SHARED_VARIABLES, *(f"{name.upper()}_API_KEY" for name in BACKENDS)):
        monkeypatch.delenv(variable, raising=False)


def test_a_fresh_install_answers_with_the_stub(typed: Callable[[list[str]], Any]) -> None:
    said = typed(["search", "光伏 装机", "--json", "--max", "2"])
    assert (said.code, said.err) == (0, "")
    assert [item["rank"] for item in said.document["items"]] == [1, 2]
    assert {item["provider"] for item in said.document["items"]} == {"stub"}
    shown = typed(["search", "光伏"])
    assert shown.code == 0
    assert "https://example.com/sample/1" in shown.out


def test_an_unknown_backend_of_the_environment_is_warned_of(
    typed: Callable[[list[str]], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEB_SEARCH_BACKEND", "braev")
    said = typed(["search", "x", "--json"])
    assert said.code == 0
    assert said.document["provider_meta"]["provider_name"] == "stub"
    assert "did you mean brave?" in said.complaint
    (finding,) = [check for check in typed(["doctor", "--json"]).document["checks"] if check["check"] == "search"]
    assert finding["level"] == "warn"


def test_a_search_that_failed_prints_its_answer_and_ends_with_1(typed: Callable[[list[str]], Any]) -> None:
    said = typed(["search", "x", "--backend", "brave", "--json"])
    assert said.code == 1
    assert said.document["items"] == []
    assert [error["type"] for error in said.document["errors"]] == ["AuthError"]
    assert "BRAVE_API_KEY" in said.complaint
    assert typed(["search", "x", "--backend", "brave"]).out == ""


def test_several_backends_are_asked_at_once_with_what_is_wished_for(typed: Callable[[list[str]], Any]) -> None:
    wishes = ["--lang", "zh-CN", "--time-range", "week", "--site", "gov.cn", "--summary", "--budget", "60000"]
    said = typed(["search", "x", "--backend", "stub, brave", *wishes, "--json"])
    assert said.code == 0
    assert {item["provider"] for item in said.document["items"]} == {"stub"}
    assert [error["type"] for error in said.document["errors"]] == ["AuthError"]


@pytest.mark.parametrize(
    "words",
    [
        ["x", "--max", "11"],
        ["x", "--max", "0"],
        [" "],
        ["x", "--backend", "braev"],
        ["x", "--backend", "stub,braev"],
        ["x", "--backend", "stub,"],
        ["x", "--budget", "0"],
        ["x", "--time-range", "decade"],
        ["x", "--lang", "?"],
    ],
)
def test_wrong_usage_ends_with_2(typed: Callable[[list[str]], Any], words: list[str]) -> None:
    said = typed(["search", *words, "--json"])
    assert said.code == 2
    assert [error["type"] for error in said.document["errors"]] == ["InvalidInput"]
    assert said.complaint


def test_nothing_found_in_the_archive_is_no_failure(typed: Callable[[list[str]], Any]) -> None:
    said = typed(["search", "光伏", "--backend", "archive"])
    assert (said.code, said.out) == (0, "Nothing was found.\n")


def test_the_doctor_says_what_a_backend_lacks(
    typed: Callable[[list[str]], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEB_SEARCH_BACKEND", "searxng,tavily")
    (finding,) = [check for check in typed(["doctor", "--json"]).document["checks"] if check["check"] == "search"]
    assert finding["level"] == "fail"
    assert "SEARXNG_BASE_URL" in finding["message"]
    assert "TAVILY_API_KEY" in finding["message"]


async def test_what_was_asked_of_a_service_stands_in_the_costs(
    here: Any, site: Any, reply: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEB_SEARCH_BACKEND", "searxng")
    monkeypatch.setenv("SEARXNG_BASE_URL", site.url(""))
    monkeypatch.setenv("MONITOR_NETWORK__ALLOWED_PRIVATE_HOSTS", f'["{site.host}"]')
    monkeypatch.setenv("MONITOR_SEARCH__BACKENDS__SEARXNG__PRICE", "0.5")
    body = '{"results": [{"title": "光伏", "url": "https://a.example/", "engine": "bing"}]}'
    site.on("/search", reply(body, 200, {"content-type": "application/json"}))
    assert "https://a.example/" in (await here("search", "光伏")).out
    assert "https://a.example/" in (await here("search", "光伏")).out
    assert len(site.asked) == 1  # the second answer is the first one's, from the database
    ledger = (await here("costs", "--json")).document
    assert [(search["backend"], search["requests"], search["cost"]) for search in ledger["searches"]] == [
        ("searxng", 1, 0.5)
    ]
    assert ledger["cost"] == 0.5
    assert "searxng" in (await here("costs")).out
