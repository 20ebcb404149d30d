"""The model workbench on the sample archive: one honest model, and one at half the price that lies now and then."""

import asyncio
import datetime as dt
import json
import math
import os
import shutil
import sqlite3
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import pytest_asyncio
import yaml
from selectolax.lexbor import LexborHTMLParser

from benchmarks.scripted_model.server import ScriptedModel
from monitor.bootstrap import open_app
from monitor.config.loading import load_settings
from monitor.demo.site import SampleSite
from monitor.errors import UsageError
from monitor.evaluation.document import EvaluationReport
from monitor.services.audit import COMMAND_LINE
from monitor.services.evaluation import EvaluationForm
from monitor.vocabulary import RankDirection
from tests.acceptance.conftest import TIMEOUT_S, Workplace

pytestmark = pytest.mark.asyncio(loop_scope="module")

KEY = "sk-evaluation-0123456789"
PRICES = {"honest": {"input": 2.0, "output": 8.0}, "liar": {"input": 1.0, "output": 4.0}}
SECTIONS = ("政策法规", "数据发布", "人事任免")


def build_model(**options: Any) -> ScriptedModel:
    return ScriptedModel(modes={"liar": "negating"}, lie_share=0.1, api_key=KEY, **options)


def configure(folder: Path, model_url: str) -> Workplace:
    place = Workplace(folder, yaml.safe_load((folder / "config.yaml").read_text("utf-8")))
    llm = {"base_url": model_url, "model": "honest", "api_key_env": "EVALUATION_KEY", "prices": PRICES}
    place.configure(llm=llm)
    return place


@pytest.fixture(autouse=True, scope="module")
def _key() -> Any:
    os.environ["EVALUATION_KEY"] = KEY
    yield
    del os.environ["EVALUATION_KEY"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def archive(tmp_path_factory: pytest.TempPathFactory, _key: None) -> Path:
    """A folder with the sample ministry as two sources saw it, one of them with pinned sections; the site is gone."""
    folder = tmp_path_factory.mktemp("archive")
    place = Workplace(folder)
    site = SampleSite(today=dt.datetime.now(ZoneInfo("Asia/Shanghai")).date())
    async with site.serve() as base_url, build_model().serve() as model_url:
        port = base_url.rstrip("/").rpartition(":")[2]
        pinned = [section for section in site.list_sections(base_url) if section["name"] in SECTIONS]
        sources = [
            {"name": "ministry", "url": base_url, "focus_areas": [entry["name"] for entry in site.focus_areas]},
            {"name": "pinned", "url": base_url, "sections": pinned[:1]},
        ]
        hosts = [f"127.0.0.1:{port}", f"localhost:{port}"]
        place.configure(
            pages={"delay_s": 0, "render": "never"},
            sources=sources,
            network={"allowed_private_hosts": hosts},
            database_url=f"sqlite:///{folder / 'monitor.db'}",
            data_dir=str(folder / "data"),
        )
        configure(folder, model_url)
        async with open_app(load_settings(folder / "config.yaml")) as app:
            for name in ("ministry", "pinned"):
                run = await app.sweeps.sweep(await app.sources.get(name), by=COMMAND_LINE)
            first, *_, last = await app.store.items.list_for_run(run.run_id)
            await app.marks.set_feedback(last.id or 0, RankDirection.HIGHER, by=COMMAND_LINE)
            await app.marks.set_feedback(first.id or 0, RankDirection.LOWER, by=COMMAND_LINE)
    return folder


def copy_archive(archive: Path, folder: Path, model_url: str) -> Workplace:
    shutil.copytree(archive, folder, dirs_exist_ok=True)
    text = (folder / "config.yaml").read_text("utf-8").replace(str(archive), str(folder))
    (folder / "config.yaml").write_text(text, "utf-8")
    return configure(folder, model_url)


@dataclass
class Finished:
    """A finished evaluation: its report, the same as files, and the model that was asked."""

    place: Workplace
    evaluation_id: str
    model: ScriptedModel
    report: dict[str, Any]
    html: LexborHTMLParser
    status: str


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def finished(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Finished]:
    model = build_model()
    folder = tmp_path_factory.mktemp("finished")
    async with model.serve() as model_url:
        place = copy_archive(archive, folder, model_url)
        answer = await place.monitor("eval", "--models", "honest,liar", "--out", "report", "--json")
        assert answer.code == 0, answer.err
        report = json.loads((folder / "report" / "report.json").read_text("utf-8"))
        html = LexborHTMLParser((folder / "report" / "report.html").read_text("utf-8"))
        yield Finished(place, report["id"], model, report, html, answer.err)


def rows_of(report: dict[str, Any], phase: str, contender: int) -> list[dict[str, Any]]:
    """The rows that are compared: what every contender has done."""
    things = Counter((row["run_id"], row["phase"], row["place"]) for row in report["rows"]["pieces"])
    return [
        row
        for row in report["rows"]["pieces"]
        if (row["phase"], row["contender"]) == (phase, contender)
        and things[row["run_id"], row["phase"], row["place"]] == len(report["rows"]["contenders"])
        and row["measured"].get("statements") != []
    ]


def is_refused(statement: dict[str, Any]) -> bool:
    return statement["verdict"] in ("contradicted", "unsupported") and not statement.get("is_open")


def score(row: dict[str, Any]) -> float:
    """How well a piece was done, from its row alone, by the definitions of docs/administrators/evaluation.md."""
    found = row["measured"]
    if row["phase"] in ("navigate", "crawl"):
        chosen = set(found.get("chosen", found.get("saved")))
        hits = len(chosen & set(found["wanted"]))
        total = len(chosen) + found.get("refused", 0)
        return 2 * hits / (total + len(set(found["wanted"]))) if hits else 0.0
    if row["phase"] == "summarise":
        return 1 - sum(map(is_refused, found["statements"])) / len(found["statements"])
    if row["phase"] == "verify":
        sides = defaultdict(list)
        for statement in found["statements"]:
            is_true, refused = statement["kind"] == "own", statement["verdict"] in ("contradicted", "unsupported")
            sides[is_true].append(refused != is_true)
        return statistics.mean(statistics.mean(side) for side in sides.values())
    wishes = found["wishes"]
    followed = [wish["moved"] > 0 if wish["wish"] == "higher" else wish["moved"] < 0 for wish in wishes]
    return statistics.mean(followed) if wishes else float(row["is_answered"])


def sign_test(wins: int, losses: int) -> float:
    total = wins + losses
    return min(1.0, sum(math.comb(total, k) for k in range(min(wins, losses) + 1)) / 2 ** (total - 1)) if total else 1.0


def tables_of(html: LexborHTMLParser) -> dict[str, list[list[str]]]:
    """The tables of the page by the headings above them, the later one of a phase with a 2 behind."""
    found: dict[str, list[list[str]]] = {}
    heading = ""
    for node in html.css("h2, h3, table"):
        if node.tag != "table":
            heading = node.text(strip=True)
            continue
        name = heading if heading not in found else f"{heading} 2"
        found[name] = [[cell.text(strip=True) for cell in row.css("th, td")] for row in node.css("tr")]
    return found


async def test_the_report_ranks_the_models_rightly(finished: Finished) -> None:
    taken = {each["phase"]: each["contender"] for each in finished.report["recommendations"]}
    # The liar lies where it writes and approves where it checks; elsewhere it is as good, and costs half.
    assert taken["summarise"] == taken["verify"] == 0
    assert taken["navigate"] == taken["crawl"] == 1
    assert finished.report["done"] == finished.report["total"] == len(finished.report["rows"]["pieces"])


async def test_the_report_names_the_lies(finished: Finished) -> None:
    written = [
        statement for row in rows_of(finished.report, "summarise", 1) for statement in row["measured"]["statements"]
    ]
    lies = {lie.text for lie in finished.model.lies}
    assert 0.05 < len(lies) / len(written) < 0.15
    refused = [(each["contender"], each["text"].strip(" 。.”")) for each in finished.report["refused"]]
    assert {contender for contender, _ in refused} == {1}
    assert {text for _, text in refused} <= {lie.strip("。”") for lie in lies}
    assert len(refused) >= 0.6 * len(lies)


async def test_every_figure_is_computed_from_the_rows(finished: Finished) -> None:
    report = finished.report
    for figures in report["figures"]:
        rows = rows_of(report, figures["phase"], figures["contender"])
        calls = [call for row in rows for call in row["calls"]]
        price = PRICES[report["rows"]["contenders"][figures["contender"]]["model"]]
        tokens = {name: sum(call[f"{name}_tokens"] for call in calls) for name in ("prompt", "completion")}
        latencies = sorted(call["latency_ms"] for call in calls if call["latency_ms"])
        assert figures["things"] == len(rows) > 0
        assert figures["by_rule"] == sum(not row["is_answered"] for row in rows)
        assert figures["quality"] == pytest.approx(statistics.mean(map(score, rows)))
        assert (figures["prompt_tokens"], figures["completion_tokens"]) == tuple(tokens.values())
        spent = (tokens["prompt"] * price["input"] + tokens["completion"] * price["output"]) / 1e6
        assert figures["cost"] == pytest.approx(spent)
        assert figures["latency_ms"] == latencies[math.ceil(len(latencies) / 2) - 1]
        assert figures["latency_p95_ms"] == latencies[math.ceil(len(latencies) * 0.95) - 1]
    summaries = [figures for figures in report["figures"] if figures["phase"] == "summarise"]
    for figures in summaries:
        found = [row["measured"] for row in rows_of(report, "summarise", figures["contender"])]
        said = [statement for summary in found for statement in summary["statements"]]
        settled = Counter(statement["verdict"] for statement in said if not statement["is_open"])
        assert figures["kept"] == sum(summary["is_kept"] for summary in found)
        assert figures["contradicted"] == settled["contradicted"]
        assert figures["supported"] + figures["contradicted"] + figures["unsupported"] + figures["unchecked"] == len(
            said
        )


async def test_the_page_has_the_figures_of_the_json(finished: Finished) -> None:
    report, tables = finished.report, tables_of(finished.html)
    quality: list[dict[str, str]] = []
    money = {}
    for table in tables.values():
        head = table[0]
        for row in table[1:]:
            cells = dict(zip(head, row, strict=True))
            if "quality" in cells:
                quality.append(cells)
            if "money" in cells:
                money[cells["tokens in"], cells["tokens out"], cells["money"]] = cells
    for figures in report["figures"]:
        rows = rows_of(report, figures["phase"], figures["contender"])
        share = f"{100 * statistics.mean(map(score, rows)):.1f}%"
        model = report["rows"]["contenders"][figures["contender"]]["model"]
        shown = [
            cells
            for cells in quality
            if (cells["model"], cells["quality"], cells["things"]) == (model, share, str(len(rows)))
        ]
        assert shown, (figures["phase"], model, share)
        calls = [call for row in rows for call in row["calls"]]
        tokens = [str(sum(call[f"{name}_tokens"] for call in calls)) for name in ("prompt", "completion")]
        assert (*tokens, f"{sum(call['cost'] for call in calls):.4f}") in money


async def test_the_sign_test_stands_behind_the_choice_of_a_model(finished: Finished) -> None:
    report = finished.report
    mine, others = ({row["place"]: score(row) for row in rows_of(report, "summarise", n)} for n in (0, 1))
    better, worse = (
        sum(compare(mine[place], others[place]) for place in mine) for compare in (float.__gt__, float.__lt__)
    )
    (args,) = [
        reason["text_args"]
        for each in report["recommendations"]
        if each["phase"] == "summarise"
        for reason in each["reasons"]
        if reason["text_code"] == "evaluation.why_other"
    ]
    p = sign_test(better, worse)
    assert (args["better"], args["worse"]) == (better, worse)
    assert args["p"] == ("<0.001" if p < 0.001 else f"{p:.3f}")
    assert p < 0.05


async def test_what_could_not_be_measured_is_said(finished: Finished) -> None:
    gaps = {(gap["source"], gap["phase"]): gap["reason_code"] for gap in finished.report["rows"]["gaps"]}
    assert gaps["pinned", "navigate"] == "evaluation.sections_pinned"


async def test_the_orders_are_held_against_what_people_wished(finished: Finished) -> None:
    ranked = [row["measured"] for row in finished.report["rows"]["pieces"] if row["phase"] == "rank"]
    assert sum(len(each["wishes"]) for each in ranked) == 4
    assert {each["tau_b"] for each in finished.report["agreements"] if each["second"] == 1} == {1.0}


async def test_nothing_of_prompts_answers_and_keys_is_logged(finished: Finished) -> None:
    said = [turn["content"] for asked in finished.model.requests for turn in asked["messages"] if turn.get("content")]
    said += [row["measured"]["summary"] for row in finished.report["rows"]["pieces"] if row["phase"] == "summarise"]
    assert KEY not in finished.status
    lines = {line.strip() for text in said for line in text.splitlines() if len(line.strip()) > 12}
    assert not [line for line in lines if line in finished.status]


async def test_blind_pairs_are_judged_on_the_command_line_and_tested(finished: Finished) -> None:
    place = finished.place
    judged = await place.monitor("eval", "--judge", "--json", stdin="0\nx\n1\n1\n2\nq\n")
    assert judged.code == 0, judged.err
    shown = judged.err
    assert "honest" not in shown
    assert "liar" not in shown
    (result,) = judged.json["pairs"]
    choices = judged.json["rows"]["choices"]
    assert 1 < len(choices) <= 4
    preferred = Counter(choice["preferred"] for choice in choices)
    assert (result["first_wins"], result["second_wins"], result["ties"]) == (preferred[0], preferred[1], 1)
    assert result["p"] == pytest.approx(sign_test(preferred[0], preferred[1]))


@pytest.mark.timeout(200)
async def test_a_killed_evaluation_goes_on_without_asking_again(archive: Path, tmp_path: Path) -> None:
    model = build_model(latency_s=0.05)
    words = ("eval", "--models", "honest,liar", "--items", "12", "--budget", "5", "--json")
    async with model.serve() as model_url:
        place = copy_archive(archive, tmp_path, model_url)
        killed = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "monitor", *words),
            cwd=tmp_path,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        async with asyncio.timeout(TIMEOUT_S):
            while len(model.requests) < 40:  # noqa: ASYNC110 -- no event of ours
                await asyncio.sleep(0.005)
        killed.kill()
        await killed.wait()
        asked = len(model.requests)
        kept = read_rows(tmp_path, "SELECT measured FROM evaluation_piece WHERE measured IS NOT NULL")
        calls_kept = sum(len(json.loads(measured)["calls"]) for (measured,) in kept)
        assert 0 < calls_kept <= asked
        answer = await place.monitor(*words)
    assert answer.code == 0, answer.err
    assert read_rows(tmp_path, "SELECT count(*), min(attempt) FROM evaluation") == [(1, 2)]
    report = answer.json
    assert report["done"] == report["total"] == len(report["rows"]["pieces"])
    # What was asked for pieces that were not kept is asked again, and nothing else.
    calls = sum(len(row["calls"]) for row in report["rows"]["pieces"])
    assert len(model.requests) == calls + asked - calls_kept
    finished = read_rows(tmp_path, "SELECT measured FROM evaluation_piece WHERE measured IS NOT NULL")
    assert set(kept) <= set(finished)
    # What the calls under way may have cost counts as spent.
    booked = read_rows(tmp_path, "SELECT sum(cost) FROM model_call WHERE run_id IN (SELECT id FROM evaluation)")[0][0]
    assert report["spent"] >= booked
    assert report["spent"] <= 5


async def test_the_budget_is_never_exceeded_and_a_larger_one_goes_on(archive: Path, tmp_path: Path) -> None:
    model = build_model()
    async with model.serve() as model_url:
        copy_archive(archive, tmp_path, model_url)
        async with open_app(load_settings(tmp_path / "config.yaml")) as app:
            done = [0]
            for budget in (0.02, 0.08, 0.1):
                form = EvaluationForm(models=["honest", "liar"], items=10, budget=budget)
                evaluation_id = await app.evaluations.run_in_process(form, by=COMMAND_LINE)
                state = await app.evaluations.get(evaluation_id, by=COMMAND_LINE)
                assert state.status == "stopped"
                assert state.reason is not None
                assert state.reason.code == "evaluation.budget_spent"
                assert 0 < bill(model) <= budget
                assert state.spent == pytest.approx(bill(model))
                assert state.done > done[-1]
                done.append(state.done)
            report = await app.evaluations.build_report(evaluation_id, by=COMMAND_LINE)
            counts = Counter(row.contender for row in report.rows.pieces)
            assert abs(counts[0] - counts[1]) <= 4, "where it stops, the models can be compared"


def bill(model: ScriptedModel) -> float:
    """What the server would charge for all calls."""
    return model.compute_bill(PRICES)


async def test_a_budget_needs_prices(archive: Path, tmp_path: Path) -> None:
    model = build_model()
    async with model.serve() as model_url:
        copy_archive(archive, tmp_path, model_url)
        async with open_app(load_settings(tmp_path / "config.yaml")) as app:
            with pytest.raises(UsageError) as refused:
                await app.evaluations.run_in_process(
                    EvaluationForm(models=["honest", "other"], budget=1), by=COMMAND_LINE
                )
    assert refused.value.message.code == "evaluation.no_price"
    assert not model.requests


async def test_wordings_of_prompts_are_compared_by_the_same_means(archive: Path, tmp_path: Path) -> None:
    model = build_model()
    async with model.serve() as model_url:
        copy_archive(archive, tmp_path, model_url)
        async with open_app(load_settings(tmp_path / "config.yaml")) as app:
            both = EvaluationForm(models=["honest"], prompts=["built-in", "current"], items=2)
            with pytest.raises(UsageError) as refused:
                await app.evaluations.run_in_process(both, by=COMMAND_LINE)
            assert refused.value.message.code == "evaluation.prompts_are_built_in"
            ours = (await app.prompts.get("summary.user.zh")).ours
            await app.prompts.put("summary.user.zh", f"请用平实的语言。{ours}", by=COMMAND_LINE)
            evaluation_id = await app.evaluations.run_in_process(both, by=COMMAND_LINE)
            report: EvaluationReport = await app.evaluations.build_report(evaluation_id, by=COMMAND_LINE)
    assert [contender.prompts for contender in report.rows.contenders] == ["built-in", "current"]
    asked = [asked["messages"][-1]["content"] for asked in model.requests]
    adjusted = [text for text in asked if text.startswith("请用平实的语言。")]
    summaries = [row for row in report.rows.pieces if row.phase == "summarise"]
    assert len(adjusted) == len([row for row in summaries if row.contender == 1]) > 0
    assert report.prompts == {"built-in": [], "current": ["summary.user.zh"]}


def read_rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "monitor.db")) as database:
        return database.execute(query).fetchall()
