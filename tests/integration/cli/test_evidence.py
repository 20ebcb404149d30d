"""Proof and replay as they are typed, after the site is gone."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parents[3] / "monitor" / "evidence" / "verify_evidence.py"


async def check_export(here: Any, item_id: int, folder: Path, records: int) -> None:
    verified = (await here("evidence", "verify", "--json")).document
    assert (verified["ok"], verified["damaged"], verified["links"]) == (True, [], 0)
    exported = await here("evidence", "export", str(item_id), "--out", "item.wacz")
    assert exported.code == 0, exported.err
    verified = (await here("evidence", "verify", "--json")).document
    assert (verified["ok"], verified["problems"], verified["heads"], verified["unsigned"]) == (True, [], 1, 0)
    command = [sys.executable, "-I", str(SCRIPT), str(folder / "item.wacz"), verified["public_key"]]
    checked = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert checked.stdout.count("bytes kept, signed") == records
    doctor = (await here("doctor", "--json")).document
    (finding,) = [check for check in doctor["checks"] if check["check"] == "evidence"]
    assert (finding["level"], verified["public_key"] in finding["message"]) == ("ok", True)


async def check_damage(here: Any, record_id: str) -> None:
    damaged = await here("evidence", "verify")
    assert damaged.code == 1
    assert "DAMAGED (truncated)" in damaged.out
    assert record_id in damaged.out
    finding = next(
        check for check in (await here("doctor", "--json")).document["checks"] if check["check"] == "evidence"
    )
    assert finding["level"] == "warn"


async def test_an_item_is_proved_and_its_run_done_again_when_the_site_is_gone(
    monitor: Any, today: Any, site: Any, reply: Any, here: Any
) -> None:
    rows = "".join(
        f'<li><a href="/n/{number}.html">关于第{number}批绿色能源项目清单的通知</a><span>{today()}</span></li>'
        for number in range(1, 7)
    )
    page = "<html><head><title>{0}</title></head><body>{1}</body></html>"
    monitor.allow(site.on("/news/", page.format("通知公告", f"<ul>{rows}</ul>")))
    for number in range(1, 7):
        text = (
            f"<h1>关于第{number}批绿色能源项目清单的通知</h1><p>本批共{number + 20}个项目，总装机{number}20万千瓦。</p>"
        )
        site.on(
            f"/n/{number}.html", page.format("通知", text + "<p>请各有关单位认真组织实施，并按月报送进展情况。</p>" * 4)
        )
    section = f"通知公告={site.url('/news/')}"
    added = await monitor("sources", "add", site.url("/"), "--name", "bureau", "--section", section)
    assert added.code == 0, added.err
    swept = await monitor("sweep", "--json")
    assert swept.code == 0, swept.err
    run = swept.document["runs"][0]
    assert len(run["items"]) == 6
    site.forget()
    asked = len(site.asked)

    item = run["items"][0]
    output = (await here("items", "show", str(item["id"]), "--evidence", "--json")).document
    assert output["evidence"] == item["evidence"] == [record["id"] for record in output["records"]]
    figures = {claim["claim"]: claim["passage"] for claim in output["claims"] if claim["kind"] == "figure"}
    assert any(figure in passage for figure, passage in figures.items())
    shown = await here("items", "show", str(item["id"]), "--evidence")
    for record in output["records"]:
        assert all(record[name] in shown.out for name in ("id", "final_url", "sha256", "file"))

    replayed = await here("replay", run["run_id"], "--json", "--database", "again.db")
    assert (replayed.code, replayed.document["is_identical"]) == (0, True)
    assert replayed.document["is_briefing_identical"] is True
    assert [item["id"] for item in replayed.document["replayed"]["items"]] == [item["id"] for item in run["items"]]
    assert (monitor.folder / "again.db").is_file()
    again = await here("replay", run["run_id"])
    assert (again.code, again.err) == (0, "")
    assert "the same 6 items" in again.out
    assert len(site.asked) == asked, "nothing is fetched"

    await check_export(here, item["id"], monitor.folder, len(output["records"]))

    file = monitor.folder / output["records"][0]["file"]
    file.write_bytes(file.read_bytes()[:100])
    await check_damage(here, output["records"][0]["id"])
    altered = await here("replay", run["run_id"])
    assert altered.code == 1
    assert "was altered or damaged" in altered.complaint
    assert "PROBLEM" in (await here("items", "show", str(item["id"]), "--evidence")).out
