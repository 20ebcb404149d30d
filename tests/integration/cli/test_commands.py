"""The commands as a person uses them, one after another, on the sample ministry."""

import asyncio
import csv
import io
import json
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.scripted_model.server import ScriptedModel
from monitor.config.model import Settings

RUN_FIELDS = {"run_id", "source", "status", "fallbacks", "sections", "items", "coverage", "usage"}
COVERAGE = {"saved", "known", "out_of_range", "filtered", "over_limit", "refused", "left", "unseen"}


class Requests(list[str]):
    """A log that says when so many requests have come."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.enough = asyncio.Event()
        self._count = count

    def append(self, request: str) -> None:
        super().append(request)
        if len(self) >= self._count:
            self.enough.set()


async def test_from_an_empty_folder_to_a_briefing(monitor: Any, ministry: Any, here: Any) -> None:
    site, base_url = ministry
    assert (await here("init")).code == 0
    assert (await here("doctor")).code == 0
    pinned = [
        f"--section={section['name']}={section['url']}"
        for section in site.list_sections(base_url)
        if section["name"] in ("政策法规", "地方动态")
    ]
    added = await here("sources", "add", f"{base_url}/", "--name", "总署", "--tag", "energy", *pinned, "--json")
    assert added.document["tags"] == ["energy"]

    tried = await monitor("sources", "try", "总署", "--json")
    assert tried.code == 0
    assert (await here("items", "list", "--json")).document == {"items": []}

    swept = await monitor("sweep", "--json")
    assert (swept.code, swept.err) == (0, "")
    run = swept.document["runs"][0]
    assert run.keys() >= RUN_FIELDS
    assert run["coverage"].keys() == COVERAGE
    assert run["coverage"]["saved"] == len(run["items"]) == tried.document["would_save"] > 0
    assert run["status"] == "degraded"
    assert [item["rank"] for item in run["items"]] == list(range(1, len(run["items"]) + 1))
    await _the_archive_holds(here, run)
    await _a_briefing_reports(here, monitor.folder, run)

    again = (await monitor("runs", "retry", run["run_id"], "--json")).document["runs"][0]
    assert again["items"] == []
    assert again["coverage"]["known"] > 0
    assert again["sections"][0]["ended"] == "known"
    listed = (await here("runs", "list", "--json")).document["runs"]
    assert [entry["run_id"] for entry in listed] == [again["run_id"], run["run_id"]]
    assert "items" not in listed[0]
    ended = await here("runs", "cancel", run["run_id"])
    assert (ended.code, "has ended already" in ended.complaint) == (2, True)


async def _the_archive_holds(here: Any, run: Any) -> None:
    listed = (await here("items", "list", "--source", "总署", "--tag", "energy", "--json")).document["items"]
    assert {entry["url"] for entry in listed} == {item["url"] for item in run["items"]}
    first = run["items"][0]
    shown = (await here("items", "show", str(first["id"]), "--json")).document
    assert shown["url"] == first["url"]
    assert shown["text"]
    found = (await here("items", "search", first["title"], "--json")).document["items"]
    assert first["id"] in [entry["id"] for entry in found]
    exported = await here("items", "export", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(exported.out)))
    assert {row["url"] for row in rows} == {item["url"] for item in run["items"]}


async def _a_briefing_reports(here: Any, folder: Path, run: Any) -> None:
    brief = json.loads((await here("brief", "--format", "json", "--top", "3")).out)
    assert [item["id"] for item in brief["items"]] == [item["id"] for item in run["items"][:3]]
    assert brief["baselines"] == ["总署"]
    assert "地方动态" in json.dumps(brief["gaps"], ensure_ascii=False)
    text = await here("brief")
    assert run["items"][0]["title"] in text.out
    assert (await here("brief", "--format", "html", "--out", "deep/er/b.html")).code == 0
    assert (folder / "deep" / "er" / "b.html").read_text().startswith("<!")
    assert (await here("brief", "--format", "json", "--out", "b.json")).code == 0
    again = await here("brief", "--from", "b.json", "--format", "json")
    assert again.out == (folder / "b.json").read_text()
    assert "finished briefing" in (await here("brief", "--from", "b.json", "--days", "2")).complaint
    assert "is not a briefing" in (await here("brief", "--from", "deep/er/b.html")).complaint


async def test_a_url_is_tried_without_being_stored(monitor: Any, ministry: Any, here: Any) -> None:
    _, base_url = ministry
    said = await monitor("sources", "try", f"{base_url}/", "--section", f"政策法规={base_url}/zcfg/", "--json")
    assert said.code == 0
    assert said.document["would_save"] > 0
    assert said.document["sections"][0]["candidates"]
    assert (await here("sources", "list", "--json")).document == {"sources": []}


async def test_sources_that_fail_do_not_stop_the_others_and_make_the_exit_code_1(
    monitor: Any, ministry: Any, here: Any
) -> None:
    _, base_url = ministry
    await here("sources", "add", "http://127.0.0.1:9/", "--name", "refused")
    await here("sources", "add", f"{base_url}/", "--name", "m", "--section", f"政策法规={base_url}/zcfg/")
    unclear = await here("sweep")
    assert (unclear.code, "refused, m" in unclear.complaint) == (2, True)
    said = await monitor("sweep", "--all", "--json")
    assert said.code == 1
    assert said.complaint.startswith("refused: No section could be read")
    assert [(run["source"], run["status"]) for run in said.document["runs"]] == [
        ("refused", "failed"),
        ("m", "succeeded"),
    ]


async def test_ctrl_c_ends_a_sweep_as_cancelled_and_still_prints_its_document(
    monitor: Any, ministry: Any, here: Any
) -> None:
    site, base_url = ministry
    await here("sources", "add", f"{base_url}/", "--name", "m")
    site.delay_s = 1.0
    site.requests = asked = Requests(3)
    process = await monitor.start("sweep", "m", "--json")
    async with asyncio.timeout(60):
        await asked.enough.wait()
    said = await monitor.interrupted(process)
    assert said.code == 130
    assert said.document["runs"][0]["status"] == "cancelled"
    assert "Traceback" not in said.err


async def test_another_process_can_cancel_a_run(monitor: Any, ministry: Any, here: Any) -> None:
    site, base_url = ministry
    await here("sources", "add", f"{base_url}/", "--name", "m")
    site.delay_s = 1.0
    site.requests = asked = Requests(3)
    process = await monitor.start("sweep", "m", "--json")
    async with asyncio.timeout(60):
        await asked.enough.wait()
    run_id = (await here("runs", "list", "--json")).document["runs"][0]["run_id"]
    assert (await here("runs", "cancel", run_id)).code == 0
    async with asyncio.timeout(60):
        out, _ = await process.communicate()
    assert json.loads(out)["runs"][0]["status"] == "cancelled"
    assert process.returncode == 1


def test_a_queued_run_is_cancelled_at_once(typed: Any, tmp_path: Any) -> None:
    assert typed(["init"]).code == 0
    with sqlite3.connect(tmp_path / "data" / "monitor.db") as database:
        database.execute(
            "INSERT INTO run (id, source, status, planned_at, is_baseline, is_cancel_requested)"
            " VALUES ('r1', 'm', 'queued', '2026-02-03 08:00:00', 0, 0)"
        )
    database.close()
    assert "is cancelled" in typed(["runs", "cancel", "r1"]).out
    assert typed(["runs", "show", "r1", "--json"]).document["status"] == "cancelled"


def test_sources_are_added_changed_exported_and_imported_again(typed: Any, tmp_path: Any) -> None:
    typed(
        [
            "sources",
            "add",
            "https://a.example/",
            "--name",
            "甲",
            "--focus",
            "碳",
            "--focus",
            "电",
            "--schedule",
            "0 7 * * 1-5",
        ]
    )
    typed(["sources", "add", "https://b.example/feed", "--kind", "feed", "--no-other-hosts", "--disabled"])
    changed = typed(["sources", "edit", "甲", "--clear", "focus_areas", "--name", "乙", "--max-items", "5", "--json"])
    assert (changed.document["focus_areas"], changed.document["max_items"]) == ([], 5)
    before = {form: typed(["sources", "export", "--format", form]).out for form in ("yaml", "opml", "csv")}
    for form, text in before.items():
        for name in ("乙", "b.example"):
            assert typed(["sources", "remove", name]).code == 0
        file = tmp_path / f"sources.{form}"
        file.write_text(text)
        assert "2 sources were added" in typed(["sources", "import", str(file)]).out
        assert typed(["sources", "export", "--format", form]).out == text
    assert typed(["sources", "enable", "b.example"]).code == 0
    with closing(sqlite3.connect(tmp_path / "data" / "monitor.db")) as database:
        noted = database.execute("SELECT person, action FROM audit_entry ORDER BY id").fetchall()
    assert [action for _, action in noted[:5]] == ["source.add", "source.add", "source.edit", *["source.remove"] * 2]
    assert noted[-1] == ("cli", "source.edit")
    shown = typed(["sources", "show", "b.example", "--json"]).document
    assert (shown["enabled"], shown["kind"], shown["allow_other_hosts"]) == (True, "feed", False)


def test_an_import_names_what_it_cannot_take_and_writes_it_with_the_reason(typed: Any, tmp_path: Any) -> None:
    file, rejected = tmp_path / "list.csv", tmp_path / "wrong.csv"
    file.write_text("name,url\n甲,https://a.example/\n乙,nowhere\n")
    tried = typed(["sources", "import", str(file), "--dry-run", "--json"])
    assert [entry["newness"] for entry in tried.document["entries"]] == ["new", "wrong"]
    imported = typed(["sources", "import", str(file), "--rejected", str(rejected)])
    assert (imported.code, imported.out) == (1, "1 sources were added: 甲.\n")
    assert imported.err.startswith("Entry 2 (乙): ")
    assert rejected.read_text("utf-8-sig").splitlines()[1].endswith(",乙,nowhere")
    assert "1 exist already" in typed(["sources", "import", str(file)]).out


def test_init_writes_a_file_that_loads_and_leaves_one_that_is_there(typed: Any, tmp_path: Any) -> None:
    assert typed(["--config", "deep/monitor.yaml", "init"]).code == 0
    written = (tmp_path / "deep" / "monitor.yaml").read_text()
    assert (tmp_path / "deep" / "data" / "monitor.db").is_file()
    assert "was left as it is" in typed(["--config", "deep/monitor.yaml", "init"]).out
    assert (tmp_path / "deep" / "monitor.yaml").read_text() == written
    assert typed(["--config", "deep/monitor.yaml", "db", "upgrade"]).code == 0
    assert Settings().timezone in written


async def test_a_reader_who_leaves_early_is_no_error(monitor: Any) -> None:
    (monitor.folder / "a.html").write_text("<title>x</title><p>" + "text " * 50_000)
    process = await monitor.start("page", "a.html", "--url", "https://a.example/", "--json")
    process.stdout._transport.close()
    async with asyncio.timeout(60):
        err = await process.stderr.read()
        await process.wait()
    assert err == b""


async def test_a_command_loads_no_library_that_it_does_not_need() -> None:
    program = "import sys, monitor.bootstrap; print(*{name.partition('.')[0] for name in sys.modules})"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
    loaded = (await process.communicate())[0].decode().split()
    assert "sqlalchemy" in loaded
    assert not {"playwright", "openai", "fastapi", "dbos", "docx", "openpyxl", "apprise", "pypdfium2"} & set(loaded)


async def test_help_comes_at_once_and_names_every_command(monitor: Any) -> None:
    said = await monitor("--help")
    assert said.code == 0
    names = ("init", "doctor", "page", "sources", "sweep", "items", "runs", "brief", "db", "demo", "users", "fetch")
    for name in (*names, "search", "research", "serve", "worker", "scheduler", "web"):
        assert f"\n  {name} " in said.out


def test_the_demo_prints_a_ranked_briefing_and_writes_it_as_a_page(typed: Any, tmp_path: Path) -> None:
    said = typed(["demo", "--out", "out"])
    assert said.code == 0
    assert said.out.count("（列表）") + said.out.count("（正文）") + said.out.count("（网址）") >= 20
    assert "monitor init" in said.out
    heads = re.findall(r"^\d+\. (.+?)(?: \[\w+\])*\n +http", said.out, re.MULTILINE)
    assert heads.count("国家绿色能源总署关于加快构建新型绿色能源体系的指导意见") == 1
    assert "亦见 国家绿色能源总署关于加快构建新型绿色能源体系的指导意见（东川省能源局" in said.out
    assert "东川省关于加快构建新型绿色能源体系的实施方案" in heads
    assert (tmp_path / "out" / "briefing.html").stat().st_size > 10_000


async def test_a_model_that_answers_is_used_and_its_cost_is_told(monitor: Any, ministry: Any, here: Any) -> None:
    _, base_url = ministry
    async with ScriptedModel().serve() as model_url:
        monitor.environment["MONITOR_LLM__BASE_URL"] = model_url
        await here("sources", "add", f"{base_url}/", "--name", "m", "--section", f"政策法规={base_url}/zcfg/")
        said = await monitor("sweep", "m")
    assert said.code == 0
    assert "calls" in said.out
    assert "coverage:" in said.out


async def test_an_address_is_enough_and_one_that_robots_txt_closes_is_refused_in_words(
    monitor: Any, site: Any, today: Any
) -> None:
    monitor.environment["MONITOR_NETWORK__ALLOWED_PRIVATE_HOSTS"] = json.dumps([site.host])
    day = f"{today():%a, %d %b %Y} 00:00:00 GMT"
    entry = f"<item><title>Notice on grid tariffs</title><link>/1.html</link><pubDate>{day}</pubDate></item>"
    site.on("/", "<html><head><link rel=alternate type=application/rss+xml href=/all></head><body>Hello</body></html>")
    site.on("/all", f"<rss><channel><title>Office</title>{entry}</channel></rss>")
    site.on("/robots.txt", "User-agent: *\nDisallow: /closed/\n")

    added = await monitor("sources", "add", site.host, "--name", "office")
    assert added.code == 0, added.err
    assert "The page shows no list; entries with a date here: 1." in added.out
    run = (await monitor("sweep", "--json")).document["runs"][0]
    assert [item["title"] for item in run["items"]] == ["Notice on grid tariffs"]

    refused = await monitor("sources", "add", site.url("/closed/"))
    assert (refused.code, "robots.txt" in refused.complaint) == (2, True)
    listed = (await monitor("sources", "list", "--json")).document["sources"]
    assert [(source["kind"], source["url"]) for source in listed] == [("feed", site.url("/all"))]
