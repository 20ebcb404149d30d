"""The service as people use it: they type, it works; what they stop ends, what broke off is told."""

import asyncio
import json
import signal
import time
from typing import Any

import httpx
import pytest

from monitor.bootstrap import open_service
from monitor.config.loading import load_settings
from monitor.errors import UsageError

LONG_S = 30.0


async def test_a_typed_sweep_is_handed_to_the_service_and_a_second_service_is_refused(trial: Any) -> None:
    await trial.start("serve")
    run = await trial.ministry.workplace.sweep("ministry")
    assert len(run["items"]) > 5
    ((executor, enqueued_at),) = trial.rows("SELECT executor, enqueued_at FROM run")
    assert "-worker-" in executor
    assert enqueued_at is not None
    answer = await trial.ministry.workplace.monitor("serve")
    assert answer.code == 2
    assert "SQLite allows only one" in answer.err
    settings = load_settings(trial.folder / "config.yaml")
    for is_worker in (True, False):
        with pytest.raises(UsageError, match="SQLite allows only one"):
            async with open_service(settings, worker=is_worker, scheduler=not is_worker):
                pass


async def test_the_web_part_says_how_the_service_fares_and_asks_for_a_token(trial: Any) -> None:
    place = trial.ministry.workplace
    await trial.start("serve")
    token = (await place.monitor("users", "token", "prometheus")).out.strip()
    address = f"http://127.0.0.1:{place.settings['web']['port']}"
    async with httpx.AsyncClient(base_url=address, timeout=60) as client:
        assert (await client.get("/healthz")).json() == {"status": "ok"}
        ready = await client.get("/readyz")
        assert (ready.status_code, ready.json()) == (200, {"is_ready": True})
        for path in ("/metrics", "/api/v1/me"):
            assert (await client.get(path)).status_code == 401
            assert (await client.get(path, headers={"Authorization": "Bearer no"})).status_code == 401
        signed_in = {"Authorization": f"Bearer {token}"}
        assert (await client.get("/api/v1/me", headers=signed_in)).json() == {"name": "prometheus", "role": "reader"}
        details = (await client.get("/readyz", headers=signed_in)).json()
        assert (details["database"], details["queue"]) == ("ok", "ok")
        metrics = (await client.get("/metrics", headers=signed_in)).text
    assert 'monitor_processes{kind="worker"} 1.0' in metrics
    assert "monitor_sources 1.0" in metrics
    assert 'monitor_alarms{kind="blocked"} 0.0' in metrics


async def test_a_run_is_cancelled_within_five_seconds_and_retried_from_there(trial: Any) -> None:
    place = trial.ministry.workplace
    trial.model.latency_s = 0.0
    await trial.start("serve")
    sweep = asyncio.create_task(place.monitor("sweep", "ministry", "--json"))
    await trial.asked(8, sweep)
    trial.model.latency_s = LONG_S  # from here on the model hangs
    await trial.asked(len(trial.model.requests) + 1, sweep)
    ((run_id,),) = trial.rows("SELECT id FROM run")
    finished, calls = trial.finished(), trial.calls()
    assert (await place.monitor("runs", "cancel", run_id)).code == 0
    began = time.monotonic()
    while trial.rows("SELECT status FROM run") != [("cancelled",)]:
        assert time.monotonic() - began < 5
        await asyncio.sleep(0.05)
    answer = await sweep
    assert (answer.code, json.loads(answer.out)["runs"][0]["status"]) == (1, "cancelled")
    trial.model.latency_s = 0.0
    again = await place.monitor("runs", "retry", run_id, "--json")
    assert again.code == 0, again.err
    (run,) = again.json["runs"]
    assert run["run_id"] == run_id
    assert run["status"] in ("succeeded", "degraded")
    assert all(item["rank"] for item in run["items"])
    assert finished
    after = trial.calls()
    assert {place: after[place] for place in finished} == {place: calls[place] for place in finished}


async def test_a_sweep_that_is_killed_in_the_plain_command_does_not_stay_running(trial: Any) -> None:
    place = trial.ministry.workplace
    trial.model.latency_s = LONG_S
    process = await trial.start_command("sweep", "ministry")
    await trial.asked(1, asyncio.create_task(process.wait()))
    assert trial.rows("SELECT status FROM run") == [("running",)]
    process.send_signal(signal.SIGKILL)
    await process.wait()
    listed = (await place.monitor("runs", "list", "--json")).json["runs"]
    assert [run["status"] for run in listed] == ["failed"]
    assert "ended unexpectedly" in listed[0]["error"]
