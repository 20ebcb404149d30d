"""Wrong input: one clear line on stderr, the right exit code, and JSON on stdout where JSON was asked for."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from benchmarks.scripted_model.server import ScriptedModel


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("timezoen: Asia/Shanghai\n", "did you mean `timezone`?"),
        ("llm: {modle: x}\n", "did you mean `llm.model`?"),
        ("timezone: Mars/Olympus\n", "not a time zone"),
        ("pages: {max_concurrency: many}\n", "`pages.max_concurrency`"),
        ("pages: [\n", "line 2"),
        ("sources: [{name: a, url: 'https://a.example/', schedule: '61 7 * * *'}]\n", "schedule '61 7 * * *'"),
        ("sources: [{name: a, url: a.example}]\n", "'a.example' is not a web address"),
        ("sources: [{name: a, url: 'https://a.example/', shedule: x}]\n", "did you mean `schedule`?"),
    ],
)
def test_a_mistake_in_the_configuration_is_named_with_its_mend(
    typed: Any, tmp_path: Path, config: str, words: str
) -> None:
    (tmp_path / "config.yaml").write_text(config)
    said = typed(["sources", "list"])
    assert said.code == 2
    assert words in said.complaint
    assert said.out == ""


def test_a_database_that_cannot_be_reached_is_one_line_without_its_password(
    typed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    monkeypatch.setenv("MONITOR_DATABASE_URL", f"postgresql://u:geheim@127.0.0.1:{port}/monitor")
    said = typed(["items", "list", "--json"])
    assert said.code == 2
    assert "cannot be used" in said.complaint
    assert "geheim" not in said.err + said.out
    assert said.document["error"]["exit_code"] == 2


def test_dates_the_wrong_way_round_are_told_before_anything_runs(typed: Any) -> None:
    typed(["sources", "add", "https://a.example/", "--name", "a"])
    said = typed(["sweep", "a", "--since", "2026-11-20", "--until", "2026-11-01", "--json"])
    assert said.code == 2
    assert "date range is reversed" in said.complaint
    assert "date range is reversed" in said.document["error"]["message"]
    assert typed(["runs", "list", "--json"]).document == {"runs": []}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sources", "add", "notaurl"], "not a web address"),
        (["sources", "add", "https://a.example/", "--schedule", "7 * *"], "3 fields instead of five"),
        (["sources", "add", "https://a.example/", "--schedule", "0 25 * * *"], "0 25 * * *"),
        (["sources", "add", "https://a.example/", "--section", "nameonly"], "NAME=URL"),
        (["sources", "show", "nobody"], "no source 'nobody'"),
        (["sources", "try", "nobody"], "no source 'nobody'"),
        (["sweep", "nobody"], "no source 'nobody'"),
        (["sweep"], "No source is enabled"),
        (["sweep", "--since", "yesterday"], "write it as 2026-02-03"),
        (["swep"], "'sweep'"),
        (["brief", "--format", "doc"], "no format 'doc' here; choose one of md, html, docx, pdf"),
        (["items", "export", "--format", "docx"], "no format 'docx' here; choose one of csv, xlsx"),
        (["items", "list", "--source", "nobody"], "no source 'nobody'"),
        (["runs", "cancel", "nothing"], "no run 'nothing'"),
        (["page", "missing.html"], "no file missing.html"),
        (["page", "--batch", "x.html"], "on stdin"),
        (["--config", "missing.yaml", "sources", "list"], "no configuration file"),
    ],
)
def test_what_is_mistyped_is_one_line_and_exit_code_2(typed: Any, arguments: list[str], words: str) -> None:
    said = typed(arguments)
    assert said.code == 2
    assert words in said.complaint


def test_the_debug_option_shows_the_traceback(typed: Any) -> None:
    said = typed(["--debug", "sources", "show", "nobody"])
    assert said.code == 2
    assert "Traceback" in said.err


async def test_a_page_of_50_mb_is_refused_from_a_file_and_from_the_network(
    monitor: Any, here: Any, site: Any, reply: Any
) -> None:
    body = b"<html><body>" + b"<p>long</p>" * (50 * 2**20 // 11)
    saved = Path(monitor.folder) / "large.html"
    saved.write_bytes(body)
    monitor.allow(site.url(""))
    from_file = await here("page", "large.html", "--url", "https://a.example/", "--json")
    from_network = await monitor("page", site.on("/large", reply(body)), "--json")
    for said in (from_file, from_network):
        assert said.code == 1
        assert "TooLarge" in said.complaint
        assert said.document["error"]["code"] == "TooLarge"


async def test_without_a_browser_a_source_that_needs_one_fails_and_says_how_to_get_it(
    monitor: Any, ministry: Any, here: Any
) -> None:
    _, base_url = ministry
    nowhere = {"PATH": "/nonexistent", "PLAYWRIGHT_BROWSERS_PATH": "/nonexistent"}
    await here("sources", "add", f"{base_url}/", "--name", "m", "--render", "always")
    said = await monitor("sweep", "m", "--json", **nowhere)
    assert said.code == 1
    assert "no Chromium" in said.complaint
    assert said.document["runs"][0]["status"] == "failed"
    examined = await monitor("doctor", "--json", **nowhere)
    assert examined.code == 1
    assert {check["check"]: check["level"] for check in examined.document["checks"]}["browser"] == "fail"


async def test_a_wrong_key_is_told_by_the_doctor_and_by_a_sweep_that_goes_on_by_rule(
    monitor: Any, ministry: Any, here: Any
) -> None:
    _, base_url = ministry
    async with ScriptedModel(api_key="right").serve() as model_url:
        monitor.environment |= {"MONITOR_LLM__BASE_URL": model_url, "OPENAI_API_KEY": "wrong"}
        await here("init")
        examined = await monitor("doctor", "--json")
        await here("sources", "add", f"{base_url}/", "--name", "m", "--section", f"政策法规={base_url}/zcfg/")
        swept = await monitor("sweep", "m", "--json")
    assert examined.code == 1
    model = next(check for check in examined.document["checks"] if check["check"] == "model")
    assert model["level"] == "fail"
    assert "OPENAI_API_KEY" in model["message"]
    assert swept.code == 0
    assert "refused the key in OPENAI_API_KEY" in swept.complaint
    assert swept.document["runs"][0]["status"] == "degraded"
    assert swept.document["runs"][0]["items"]


def test_the_doctor_goes_on_where_the_configuration_is_broken(typed: Any, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("nonsense: 1\n")
    said = typed(["doctor", "--json"])
    levels = {check["check"]: check["level"] for check in said.document["checks"]}
    assert said.code == 1
    assert levels["configuration"] == "fail"
    assert levels["disk"] == "ok"
    assert levels["clock"] == "ok"
    assert list(levels) == [
        "configuration",
        "database",
        "settings",
        "browser",
        "model",
        "embeddings",
        "search",
        "template",
        "delivery",
        "storage",
        "files",
        "evidence",
        "disk",
        "clock",
    ]


async def test_a_batch_answers_every_line_in_order_whatever_it_holds(monitor: Any) -> None:
    (monitor.folder / "a.html").write_text("<title>甲</title><body><p>正文</p><a href='/x'>x</a>")
    lines = [
        json.dumps({"id": 1, "path": "a.html", "url": "https://a.example/"}),
        "{broken",
        "[1, 2]",
        json.dumps({"id": "4", "path": "missing.html", "url": "https://a.example/"}),
        json.dumps({"id": "5", "path": "a.html"}),
        json.dumps({"id": "6", "path": "a.html", "url": "javascript:alert(1)"}),
        json.dumps({"id": "7", "path": "a.html", "url": "https://a.example/", "fetched_at": "never"}),
        json.dumps({"id": "8", "path": "a\u0000.html", "url": "https://a.example/"}),
        '{"id": "9", "path": "a.html", "url": "https://a.example/\\ud800"}',
        "[" * 100_000,
        "",
        json.dumps({"path": "a.html", "url": "https://a.example/", "fetched_at": "2026-02-03T08:00:00"}),
    ]
    said = await monitor("page", "--batch", stdin="\n".join(lines).encode() + b"\n\xff\xfe\n")
    answers = [json.loads(line) for line in said.out.splitlines()]
    assert said.code == 0
    assert said.err == ""
    assert [answer.get("id", "none") for answer in answers] == [
        1,
        None,
        None,
        "4",
        "5",
        "6",
        "7",
        "8",
        "9",
        None,
        "none",
        None,
    ]
    failed = [answer["error"] and answer["error"]["code"] for answer in answers]
    assert failed == [
        None,
        "ParseError",
        "ParseError",
        "NotFound",
        "InvalidUrl",
        "InvalidUrl",
        "ParseError",
        "NotFound",
        "InvalidUrl",
        "ParseError",
        None,
        "ParseError",
    ]
    assert answers[0]["links"] == [{"text": "x", "url": "https://a.example/x"}]
    assert answers[-2]["fetched_at"] == "2026-02-03T08:00:00Z"
