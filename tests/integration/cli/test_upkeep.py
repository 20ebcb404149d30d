"""Health, costs and the database, as a person asks for them."""

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
async def swept(monitor: Any, ministry: Any, here: Any) -> Any:
    """An installation that has swept one section."""
    monitor.environment["MONITOR_PAGES__RENDER"] = "never"
    site, base_url = ministry
    section = next(section for section in site.list_sections(base_url) if section["name"] == "政策法规")
    assert (await here("init")).code == 0
    assert (await here("sources", "add", base_url, "--name", "总署", f"--section=政策法规={section['url']}")).code == 0
    assert (await monitor("sweep")).code == 0
    return monitor


@pytest.mark.timeout(300)
async def test_health_costs_backup_and_copy_of_an_installation(swept: Any, here: Any, tmp_path: Path) -> None:
    await _health_and_costs_are_shown_to_people_and_to_programs(here)
    await _a_backup_goes_back_and_a_copy_works_in_place_of_the_first(swept, here, tmp_path)


async def _health_and_costs_are_shown_to_people_and_to_programs(here: Any) -> None:
    output = await here("health")
    assert (output.code, "No alarm." in output.out, "政策法规" in output.out) == (0, True, True)
    document = (await here("health", "总署", "--past", "--json")).document
    (source,) = document["sources"]
    assert (source["source"], source["consecutive_failures"], document["alarms"]) == ("总署", 0, [])
    assert source["sections"][0]["last_new_on"] is not None
    assert (await here("health", "nobody")).code == 2
    assert "0 calls, 0 tokens, cost -" in (await here("costs")).out
    ledger = (await here("costs", "--days", "3", "--json")).document
    assert (ledger["costs"], ledger["calls"], ledger["cost"]) == ([], 0, None)


async def _a_backup_goes_back_and_a_copy_works_in_place_of_the_first(swept: Any, here: Any, tmp_path: Path) -> None:
    before = (await here("items", "list", "--json")).document
    kept = await here("db", "backup", "kept.bak", "--json")
    assert kept.document["bytes"] == (swept.folder / "kept.bak").stat().st_size
    assert (await here("sources", "remove", "总署")).code == 0
    refused = await here("db", "restore", "kept.bak")
    assert (refused.code, "not empty" in refused.complaint) == (2, True)
    restored = await here("db", "restore", "kept.bak", "--replace", "--json")
    assert restored.document["tables"]["item"] == len(before["items"]) > 0
    assert (await here("items", "list", "--json")).document == before

    other = f"sqlite:///{tmp_path / 'other.db'}"
    assert (await here("db", "copy", other)).code == 0
    swept.environment["MONITOR_DATABASE_URL"] = other
    moved = await swept("items", "list", "--json")
    assert json.loads(moved.out) == before
    pruned = await here("db", "prune", "--days", "1", "--json")
    assert pruned.document["runs"] == 0


@pytest.mark.timeout(300)
async def test_a_database_at_work_is_not_written_over(monitor: Any, here: Any) -> None:
    await here("init")
    await here("db", "backup", "kept.bak")
    service = await monitor.start("worker")
    try:
        while b"At work" not in (line := await service.stderr.readline()):
            assert line, "the service did not start"
        refused = await here("db", "restore", "kept.bak", "--replace")
        assert (refused.code, "in use by" in refused.complaint) == (2, True)
        while_at_work = await here("db", "backup", "another.bak")
        assert while_at_work.code == 0
    finally:
        service.terminate()
        await service.communicate()
