"""The independent checker of researches passes what is true and sees each kind of fault."""

import asyncio
import copy
import importlib.util
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.research_world import ResearchWorld

CHECKER = Path(__file__).with_name("check_research.py")
SCALE = "http://energy.example/art/2026/10/12/art_101.html"
PLAN = "http://energy.example/art/2026/8/27/art_88.html"
GLOBAL = "http://monitor.example/2026/10/market.html"
PDF = "http://scenarios.example/files/outlook-2030.pdf"


def note(url: str, summary: str, *quotes: str) -> dict[str, Any]:
    evidence = [{"quote": quote, "source": url, "confidence": 0.7} for quote in quotes]
    return {"summary": summary, "evidence": evidence, "topic": "现状", "sourceUrl": url, "engine": "tavily"}


NOTES = [
    note(SCALE, "等效利用小时数约为816小时。", "等效利用小时数约为816小时，比上年同期增加 103 小时"),
    note(PLAN, "装机将达到1.8亿千瓦以上。", "到2027年底，全国新型储能装机规模达到1.8亿千瓦以上"),
    note(GLOBAL, "Capacity reached 412 GW.", "Global grid-scale energy storage capacity reached 412 GW"),
    note(PDF, "The outlook is 1,150 GW.", "The outlook expects global energy storage to reach 1,150 GW by 2030."),
]
MARKDOWN = """# 新型储能：1.36亿千瓦

> 本报告由程序按规则写成。

## 现状

截至2026年9月底，装机规模达到1.36亿千瓦，比2025年底增长38.2%[1]。全球容量为412 GW [3]. The outlook is 1150 GW [4].

- 2026年10月12日介绍了情况[1]。
- 国能规〔2026〕41号印发《新型储能规模化建设行动方案》[2]。

| 指标 | 数值 |
| --- | --- |
| 利用小时数 | 816小时[1] |

## 来源

1. [甲](http://energy.example/art/2026/10/12/art_101.html) — energy.example，2026-10-12
"""
ANSWER: dict[str, Any] = {
    "question": "储能如何？",
    "result": {
        "notes": NOTES,
        "blueprint": {
            "coreDrivers": [
                {"name": "规模", "description": "达到1.36亿千瓦", "evidenceRefs": [0]},
                {"name": "政策", "description": "21项措施", "evidenceRefs": [1]},
            ],
            "relationships": [{"from": "政策", "to": "规模", "type": "influence", "confidence": 0.5}],
            "scenarios": [{"name": "基准", "assumptions": ["达到1.8亿千瓦"], "outcomes": [], "confidence": 0.5}],
            "metrics": [{"name": "增长", "estimate": 38.2, "unit": "%", "confidence": 0.5}],
        },
        "report": {
            "markdown": MARKDOWN,
            "outline": [{"heading": "现状", "bullets": ["达到1.36亿千瓦[1]"]}],
            "sources": [
                {"title": "甲", "url": entry["sourceUrl"], "noteIndex": place} for place, entry in enumerate(NOTES)
            ],
        },
    },
}
CASES = Path(__file__).parents[1] / "unit" / "research" / "tricky" / "cases.json"
TRICKY = json.loads(CASES.read_text(encoding="utf-8"))
Judged = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


@pytest.fixture
async def judged() -> AsyncIterator[Judged]:
    world = ResearchWorld()
    async with world.serve() as values:

        async def judge(report: dict[str, Any]) -> dict[str, Any]:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                str(CHECKER),
                values["network"]["proxy"],
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
            out, _ = await process.communicate(json.dumps(report).encode())
            assert process.returncode == 0
            return json.loads(out)

        yield judge


async def test_what_stands_in_the_pages_is_passed(judged: Judged) -> None:
    verdict = await judged(ANSWER)
    assert verdict["problems"] == []
    assert (verdict["quotes"], verdict["quote_fidelity"], verdict["figure_fidelity"]) == (4, 1.0, 1.0)
    assert verdict["figures"] > 15
    assert verdict["cited"] == verdict["sentences"] == 6


def spoiled(path: str, value: Any) -> Any:
    def spoil(report: dict[str, Any]) -> None:
        *way, last = [int(part) if part.isdigit() else part for part in path.split("/")]
        place = report["result"]
        for number in way:
            place = place[number]
        place[last] = value(place[last]) if callable(value) else value

    return spoil


FAULTS = {
    "a quote with another figure": (
        "notes/0/evidence/0/quote",
        lambda old: old.replace("816", "817"),
        "does not stand in",
    ),
    "a quote of another page": ("notes/0/evidence/0/source", PLAN, "does not stand in"),
    "no quote at all": ("notes/0/evidence/0/quote", " ", "does not stand in"),
    "a figure beside the wrong citation": ("report/markdown", lambda old: old.replace("38.2%[1]", "38.2%[2]"), "38.2%"),
    "a share that is a number": ("report/markdown", lambda old: old.replace("816小时[1]", "816%[1]"), "816%"),
    "a part of a number": ("report/markdown", lambda old: old.replace("1.36亿千瓦，", "36亿千瓦，"), "36亿"),
    "a magnitude": ("report/markdown", lambda old: old.replace("1.36亿千瓦，", "1.36万千瓦，"), "1.36万"),
    "a date": ("report/markdown", lambda old: old.replace("10月12日", "10月13日"), "2026-10-13"),
    "a document number": ("report/markdown", lambda old: old.replace("41号", "14号"), "〔2026〕14号"),
    "a name": ("report/markdown", lambda old: old.replace("行动方案》[2]", "若干意见》[2]"), "若干意见》"),
    "a figure without citation": ("report/markdown", lambda old: old.replace("38.2%[1]", "38.2%"), "38.2%"),
    "a figure of a heading": ("report/markdown", lambda old: old.replace("## 现状", "## 增长87.3%"), "87.3%"),
    "a citation of nothing": ("report/markdown", lambda old: old.replace("[4]", "[9]"), "[9] is no source"),
    "an address": (
        "report/markdown",
        lambda old: old.replace("截至", "见 http://evil.example/x 。截至"),
        "no source of it",
    ),
    "a source that is not served": ("report/sources/0/url", "http://evil.example/", "is not served"),
    "a source of another note": ("report/sources/0/noteIndex", 1, "is from"),
    "a source without a note": ("report/sources/0/noteIndex", 4, "there is no note 4"),
    "a bullet of the outline": ("report/outline/0/bullets", ["达到2.36亿千瓦"], "2.36亿"),
    "a note's summary": ("notes/2/summary", "Capacity reached 413 GW.", "413"),
    "a driver without its note": ("blueprint/coreDrivers/0/evidenceRefs", [0, 4], "there is no note 4"),
    "a driver's figure": ("blueprint/coreDrivers/1/description", "22项措施", "22"),
    "a relationship": ("blueprint/relationships/0/to", "没有的", "no such driver"),
    "a scenario": ("blueprint/scenarios/0/outcomes", ["达到9.8亿千瓦"], "9.8亿"),
    "a metric": ("blueprint/metrics/0/estimate", 38.3, "no page has 38.3"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_each_fault_is_seen(judged: Judged, fault: str) -> None:
    path, value, said = FAULTS[fault]
    report = copy.deepcopy(ANSWER)
    spoiled(path, value)(report)
    problems = (await judged(report))["problems"]
    assert any(said in problem for problem in problems), problems


@pytest.mark.parametrize("case", TRICKY, ids=[entry["id"] for entry in TRICKY])
def test_figures_and_dates_count_however_they_are_written(case: dict[str, Any]) -> None:
    spec = importlib.util.spec_from_file_location("check_research", CHECKER)
    assert spec is not None
    assert spec.loader is not None
    checker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(checker)
    page = checker.text_of(case["html"].encode())
    lost = {entry: checker.lost(checker.CITATION.sub("", entry), [page]) for entry in (*case["stand"], *case["fall"])}
    assert [entry for entry, missing in lost.items() if missing] == case["fall"]
