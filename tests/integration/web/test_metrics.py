"""The figures for Prometheus, and the dashboard and alert rules that are shipped for them."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from monitor.metrics import serve_process_metrics

DEPLOY = Path(__file__).parents[3] / "deploy"


def parse(text: str) -> dict[str, Any]:
    return {family.name: family for family in text_string_to_metric_families(text)}


@pytest.fixture
async def figures(desk: Any) -> dict[str, Any]:
    browser = await desk.sign_in("reader")
    for path in ("/", "/api/items", "/items/17", "/no/such/page", "/nor/this"):
        await browser.get(path)
    return parse((await browser.get("/metrics")).text)


async def test_what_only_grows_is_a_counter(figures: dict[str, Any]) -> None:
    for name in ("runs", "deliveries", "model_calls", "tokens", "items", "statements", "loop_blocked"):
        family = figures[f"monitor_{name}"]
        assert family.type == "counter"
        assert {sample.name for sample in family.samples} <= {f"monitor_{name}_total"}
    assert not [name for name in figures if name.endswith("_created")]


async def test_requests_are_measured_by_route_and_never_by_path(figures: dict[str, Any]) -> None:
    samples = [sample for sample in figures["monitor_http_request_seconds"].samples if sample.name.endswith("_count")]
    routes = {(sample.labels["method"], sample.labels["route"], sample.labels["status"]) for sample in samples}
    assert {("GET", "/items/{item_id}", "4xx"), ("GET", "none", "4xx"), ("POST", "/sign-in", "3xx")} <= routes
    assert not [route for _, route, _ in routes if "17" in route or "such" in route]


@pytest.mark.parametrize("file", ["prometheus/alerts.yml", "grafana/monitor.json"])
async def test_dashboard_and_alert_rules_ask_for_figures_that_exist(figures: dict[str, Any], file: str) -> None:
    text = (DEPLOY / file).read_text(encoding="utf-8")
    asked = {*re.findall(r"\b(?:monitor|process)_[a-z_]+", text)}
    there = {
        name + suffix
        for name, family in figures.items()
        for suffix in {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}.get(family.type, [""])
    }
    assert asked <= there
    assert len(asked) > 8


def test_alert_rules_are_valid() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed; it comes with Debian's package prometheus")
    checked = subprocess.run(
        [promtool, "check", "rules", DEPLOY / "prometheus/alerts.yml"], capture_output=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


async def test_a_process_shows_what_it_measures_on_a_port_of_its_own(free_port: int) -> None:
    with serve_process_metrics("127.0.0.1", free_port):
        async with httpx.AsyncClient(trust_env=False) as client:
            shown = parse((await client.get(f"http://127.0.0.1:{free_port}/metrics")).text)
    assert shown["monitor_build_info"].samples[0].value == 1
    assert "monitor_items" not in shown, "whoever reaches the port needs no token: nothing of the database"
