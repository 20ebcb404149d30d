"""The figures for Prometheus, and the dashboard and alert rules that are shipped for them."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from monitor.metrics import serve_process_metrics

DEPLOY = Path(__file__).parents[3] / "deploy"
DASHBOARD = json.loads((DEPLOY / "grafana/monitor.json").read_text(encoding="utf-8"))
GRAFANA_TYPES = ("@grafana/schema@13", "typescript@5")


def parse(text: str) -> dict[str, Any]:
    return {family.name: family for family in text_string_to_metric_families(text)}


@pytest.fixture
async def figures(desk: Any) -> dict[str, Any]:
    browser = await desk.sign_in("reader")
    for path in ("/", "/api/v1/items", "/items/17", "/no/such/page", "/nor/this"):
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


@pytest.fixture
def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not installed; it comes with Debian's package prometheus")
    return found


def check_rules(promtool: str, rules: Path) -> None:
    checked = subprocess.run([promtool, "check", "rules", rules], capture_output=True, check=False, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_alert_rules_are_valid(promtool: str) -> None:
    check_rules(promtool, DEPLOY / "prometheus/alerts.yml")


def test_prometheus_can_parse_what_the_dashboard_asks_for(promtool: str, tmp_path: Path) -> None:
    asked = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]
    rules = [{"record": f"panel:{number}", "expr": expression} for number, expression in enumerate(asked)]
    file = tmp_path / "rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    check_rules(promtool, file)
    assert len(rules) > 20


def test_the_dashboard_is_of_grafanas_own_schema(tmp_path: Path) -> None:
    """The types that Grafana publishes are the schema which its dashboards are loaded by."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", *GRAFANA_TYPES]
    (tmp_path / "package.json").write_text('{"private": true}')
    if subprocess.run(install, cwd=tmp_path, capture_output=True, check=False, timeout=120).returncode:
        pytest.skip("npm cannot install Grafana's types")
    typed = 'import type { Dashboard } from "@grafana/schema";\nexport const dashboard: Dashboard = '
    (tmp_path / "dashboard.ts").write_text(f"{typed}{json.dumps(DASHBOARD)};\n")
    compile_it = [tmp_path / "node_modules/.bin/tsc", "--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext"]
    checked = subprocess.run(
        [*compile_it, "dashboard.ts"], cwd=tmp_path, capture_output=True, check=False, text=True, timeout=120
    )
    assert checked.returncode == 0, checked.stdout


def test_the_dashboard_can_be_laid_out() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        columns = range(place["x"], place["x"] + place["w"])
        cells = {(x, y) for x in columns for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24, panel["title"]
        taken |= cells
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


async def test_a_process_shows_what_it_measures_on_a_port_of_its_own(free_port: int) -> None:
    with serve_process_metrics("127.0.0.1", free_port):
        async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
            shown = parse((await client.get(f"http://127.0.0.1:{free_port}/metrics")).text)
    assert shown["monitor_build_info"].samples[0].value == 1
    assert "monitor_items" not in shown, "whoever reaches the port needs no token: nothing of the database"
